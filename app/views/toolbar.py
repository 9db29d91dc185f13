"""The toolbar: where the window is narrow its buttons lose their words, then go behind an arrow."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolBar, QToolButton, QWidget

from app.views import icons
from app.views.theme import SPACE
from app.views.widgets import plain_tip

_BESIDE = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_BARE = Qt.ToolButtonStyle.ToolButtonIconOnly


class Toolbar(QToolBar):
    """Nothing on it is ever out of reach.

    Args:
        parent: The window.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__("Toolbar", parent)
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(SPACE.icon, SPACE.icon))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._worded: list[tuple[QToolButton, int]] = []
        self._width = 0  # px that it takes with words
        # Qt's own arrow cannot be seen on a dark ground.
        self._more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if self._more is not None:
            self._more.setIcon(icons.icon("chevron-down"))
            self._more.setToolTip(plain_tip("More tools"))
            self._more.setAccessibleName("More tools")

    def add_worded(self, text: str, icon: str, tip: str) -> QToolButton:
        """Add a button that has a word beside its icon."""
        button = QToolButton()
        button.setText(f" {text}")  # Qt sets the icon too close to the text
        button.setIcon(icons.icon(icon))
        button.setToolButtonStyle(_BESIDE)
        button.setToolTip(tip)
        self.addWidget(button)
        return button

    def add_groups(self, *groups: Sequence[QAction]) -> None:
        """Add actions; a line stands between groups."""
        for number, group in enumerate(groups):
            if number:
                self.addSeparator()
            self.addActions(group)

    def add_space(self) -> None:
        """What is added next lies at the right end."""
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(spacer)

    def settle(self) -> None:
        """All buttons are there: remember which have words, and how wide they are so."""
        buttons = self.findChildren(QToolButton)
        self._worded = [
            (button, button.minimumWidth())
            for button in buttons
            if button is not self._more and button.toolButtonStyle() == _BESIDE
        ]
        self._width = self.sizeHint().width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        narrow = event.size().width() < self._width
        for button, width in self._worded:
            style = _BARE if narrow else _BESIDE
            if button.toolButtonStyle() != style:
                button.setMinimumWidth(0 if narrow else width)
                button.setToolButtonStyle(style)
        super().resizeEvent(event)
