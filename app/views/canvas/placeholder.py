"""What the canvas shows while it has no image: a way to begin, a wait, or an error."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from app.imaging.openable import CONTAINERS, OPENABLE
from app.views.canvas.canvas import Canvas
from app.views.theme import SPACE, THEME
from app.views.widgets import IconLabel, label, push_button
from app.workspace.viewport import Viewport

PATIENCE_MS = 200  # a wait shorter than this is not worth a flicker


class Placeholder(QWidget):
    """Lies over the canvas and hides itself when there is an image.

    Args:
        canvas: The canvas.
        viewport: Its model.
        actions: (text, what it does) of the buttons shown while nothing is open, the first primary.
    """

    def __init__(
        self,
        canvas: Canvas,
        viewport: Viewport,
        actions: list[tuple[str, Callable[[], object]]],
    ) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._viewport = viewport
        self._wait = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._wait.timeout.connect(self.refresh)
        self._waited = False
        self.error_text = label("", "muted", wrap=True)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(_begin_page(actions))
        self._pages.addWidget(
            _page(IconLabel("loader-circle", 28, THEME.text_faint), [label("Loading…", "muted")])
        )
        self._pages.addWidget(
            _page(
                IconLabel("image-off", 36, THEME.error),
                [label("This image cannot be shown", "title"), self.error_text],
            )
        )
        canvas.installEventFilter(self)
        canvas.status_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Follow the canvas."""
        page = self._wanted_page()
        if page == 1 and not self._waited:
            self._waited = True
            self._wait.start()
            self.hide()
            return
        if page != 1:
            self._waited = False
            self._wait.stop()
        self.setVisible(page >= 0)
        if page >= 0:
            self._pages.setCurrentIndex(page)
            self.setGeometry(self._canvas.rect())
            self.raise_()

    def _wanted_page(self) -> int:
        if self._viewport.instance is None:
            return 0
        if self._canvas.error:
            self.error_text.setText(self._canvas.error)
            return 2
        return 1 if self._canvas.picture is None else -1

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._canvas and event.type() == QEvent.Type.Resize:
            self.setGeometry(self._canvas.rect())
        return False


def _page(icon: QWidget, labels: list[QLabel], below: QWidget | None = None) -> QWidget:
    page = QWidget()
    inner = QWidget()
    inner.setMaximumWidth(460)
    column = QVBoxLayout(inner)
    column.setContentsMargins(SPACE.xl, 0, SPACE.xl, 0)
    column.setSpacing(SPACE.m)
    column.addWidget(icon, 0, Qt.AlignmentFlag.AlignHCenter)
    for text in labels:
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(text)
    if below is not None:
        column.addSpacing(SPACE.s)
        column.addWidget(below)
    outer = QVBoxLayout(page)
    outer.addStretch(1)
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(inner, 4)
    row.addStretch(1)
    outer.addLayout(row)
    outer.addStretch(1)
    return page


def _begin_page(actions: list[tuple[str, Callable[[], object]]]) -> QWidget:
    buttons = _Buttons(
        [
            push_button(text, run, primary=number == 0, icon_name="" if number else "folder-open")
            for number, (text, run) in enumerate(actions)
        ]
    )
    labels = [
        label("Open a study to begin", "heading"),
        label(
            f"Drop {OPENABLE} files, or {CONTAINERS} of them, anywhere on this window. "
            "Images stay on this computer.",
            "muted",
            wrap=True,
        ),
    ]
    return _page(IconLabel("sightline", 72), labels, buttons)


class _Buttons(QWidget):
    """Buttons in a row, or one below the other where a row would cut their texts."""

    def __init__(self, buttons: list[QPushButton]) -> None:
        super().__init__()
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(SPACE.s)
        self._row.addStretch(1)
        for button in buttons:
            self._row.addWidget(button)
        self._row.addStretch(1)
        self._buttons = buttons

    def minimumSizeHint(self) -> QSize:
        # Of the column: the row's own would keep the page too wide for it ever to be needed.
        return QSize(max(button.sizeHint().width() for button in self._buttons), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        widths = [button.sizeHint().width() for button in self._buttons]
        needed = sum(widths) + SPACE.s * (len(widths) + 1)
        directions = QBoxLayout.Direction
        fits = needed <= event.size().width()
        self._row.setDirection(directions.LeftToRight if fits else directions.TopToBottom)
