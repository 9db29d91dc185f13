"""Closed sections that open one under the other: arguments and results of a call."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.views.chat.textview import TextView
from app.views.chat.widgets import Flow, link_button
from app.views.icons import icon

_MAX_HEIGHT = 260


class Disclosures(QWidget):
    """Buttons in a row; each opens a monospaced text that is made when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        self._row = Flow(2)
        # Buttons have inner margins; moved out so that their text lines up with the card's.
        self._row.setContentsMargins(0, 0, 0, 0)
        self._layout.addLayout(self._row)
        self._texts: dict[str, Callable[[], str]] = {}
        self._views: dict[str, TextView] = {}
        self._buttons: dict[str, QPushButton] = {}

    def add(self, title: str, text: Callable[[], str]) -> None:
        """Add a closed section."""
        button = link_button(title, "chevron-right", lambda: self.toggle(title))
        button.setIconSize(QSize(12, 12))
        button.setAccessibleDescription("closed")
        self._texts[title] = text
        self._buttons[title] = button
        self._row.addWidget(button)

    def toggle(self, title: str) -> None:
        """Open or close a section."""
        opened = self.view(title) is not None and not self._views[title].isHidden()
        if title not in self._views:
            view = TextView(max_height=_MAX_HEIGHT)
            view.setProperty("tone", "mono")
            view.setAccessibleName(title)
            view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self._views[title] = view
            self._layout.addWidget(view)
            view.set_plain(self._texts[title]())
        self._views[title].setVisible(not opened)
        self._buttons[title].setIcon(icon("chevron-right" if opened else "chevron-down"))
        self._buttons[title].setAccessibleDescription("closed" if opened else "open")

    def view(self, title: str) -> TextView | None:
        """The text of a section, once it was opened."""
        return self._views.get(title)

    def button(self, title: str) -> QPushButton:
        """The button of a section.

        Raises:
            KeyError: There is no such section.
        """
        return self._buttons[title]
