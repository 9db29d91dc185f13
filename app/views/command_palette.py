"""The command palette: every command of the window in one searchable list."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QMainWindow, QMenu

from app.views.layouts import column
from app.views.theme import SPACE
from app.views.translation import tr

_ACTION = Qt.ItemDataRole.UserRole
_WIDTH, _HEIGHT = 520, 420
_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CommandPalette(QDialog):
    """Lists the commands whose names contain all words of a search; Enter runs one."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self.setWindowTitle(tr("Find a command"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(_WIDTH, _HEIGHT)
        self._commands = list(commands_of(window))
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Type a command, such as “invert”"))
        self.search.setAccessibleName(tr("Search the commands"))
        self.search.textChanged.connect(self._fill)
        self.search.installEventFilter(self)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Commands"))
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemActivated.connect(self._run)
        self.list.itemClicked.connect(self._run)
        column(self.search, (self.list, 1), margins=SPACE.m, parent=self)
        self._fill("")

    def _fill(self, text: str) -> None:
        words = text.casefold().split()
        self.list.clear()
        for name, action in self._commands:
            if not all(word in name.casefold() for word in words):
                continue
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            item = QListWidgetItem(f"{name}   {keys}" if keys else name)
            item.setData(_ACTION, action)
            if not action.isEnabled():
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(item)
        usable = (
            number
            for number in range(self.list.count())
            if self.list.item(number).flags() & Qt.ItemFlag.ItemIsEnabled
        )
        self.list.setCurrentRow(next(usable, -1))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while the search has the focus, and Enter run."""
        if watched is self.search and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.KeyPress and event.key() in _KEYS:
                self.list.keyPressEvent(event)
                return True
            enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if event.type() == QEvent.Type.KeyPress and enter:
                self._run(self.list.currentItem())
                return True
        return False

    def _run(self, item: QListWidgetItem | None) -> None:
        action = item.data(_ACTION) if item is not None else None
        if isinstance(action, QAction) and action.isEnabled():
            self.accept()
            action.trigger()


def commands_of(window: QMainWindow) -> Iterator[tuple[str, QAction]]:
    """Yield the name and action of each command in the window's menus, with the menu's name."""
    for top in window.menuBar().actions():
        menu = top.menu()
        if isinstance(menu, QMenu):
            yield from _below(menu, _plain(top.text()))


def _below(menu: QMenu, path: str) -> Iterator[tuple[str, QAction]]:
    menu.aboutToShow.emit()  # some are filled only then
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            yield from _below(inner, f"{path} › {_plain(action.text())}")
        elif action.text() and action.isVisible() and not action.isSeparator():
            yield f"{path} › {_plain(action.text())}", action


def _plain(text: str) -> str:
    """Return a menu text without its mnemonic and what stands behind a tab."""
    return text.partition("\t")[0].replace("&&", "\0").replace("&", "").replace("\0", "&")
