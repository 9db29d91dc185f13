"""The second window, for a second monitor: viewports only, with the commands of the main window."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QByteArray, QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QWidget

from app.views.layouts import column
from app.views.translation import tr
from app.views.viewports.viewport_area import ScreenArea

_SIZE = QSize(900, 700)  # where there is one monitor only
_WHOLE = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen


class SecondWindow(QWidget):
    """Shows the layout's second screen, maximised on another monitor, else beside the main window.

    The keys of `actions` work here too; `geometry` is from `saveGeometry`, empty for none.
    """

    close_wanted = Signal()

    def __init__(
        self, main: QWidget, area: ScreenArea, actions: Iterable[QAction], geometry: QByteArray
    ) -> None:
        super().__init__()
        self.setWindowTitle(tr("Sightline: second window"))
        self.setWindowIcon(main.windowIcon())
        self.area = area
        column(area, spacing=0, parent=self)
        self.addActions(list(actions))
        self.resize(_SIZE)
        others = [one for one in QGuiApplication.screens() if one is not main.screen()]
        known = not geometry.isEmpty() and self.restoreGeometry(geometry)
        if known and not others and self.windowState() & _WHOLE:
            # Its monitor is gone: it would hide the main window.
            self.setWindowState(Qt.WindowState.WindowNoState)
            self.resize(_SIZE)
            known = False
        if not known:
            if (monitor := next(iter(others), None)) is not None:
                self.setGeometry(monitor.availableGeometry())
                self.setWindowState(Qt.WindowState.WindowMaximized)
            else:
                self.move(main.frameGeometry().topLeft() + main.rect().center() / 4)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.close_wanted.emit()
