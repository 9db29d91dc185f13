"""The keys of the window's commands: which ones the user has changed, and the dialog for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QFont, QKeySequence
from PySide6.QtWidgets import QDialog, QHeaderView, QKeySequenceEdit, QMenu, QWidget

from app.user_files import UserFile
from app.views.layouts import column, row
from app.views.theme import SPACE, restyle
from app.views.translation import tr, translatable
from app.views.widgets import Index, RowModel, RowTable, label, plain_tip, push_button, search_field

_MOST = 1000  # of a file's entries, and characters of each
_PORTABLE = QKeySequence.SequenceFormat.PortableText
_NATIVE = QKeySequence.SequenceFormat.NativeText

FIXED_KEYS: dict[str, tuple[str, ...]] = {
    translatable("scroll through the images"): (
        *("Up", "Down", "Left", "Right", "PgUp", "PgDown", "Home", "End"),
    ),
    translatable("choose a window preset"): tuple("123456789"),
    translatable("zoom"): ("+", "-", "="),
    translatable("pan with the left mouse button"): ("Space",),
    translatable("leave a tool, or stop the assistant"): ("Esc", "Shift+Esc"),
    translatable("move the focus"): ("Tab", "Shift+Tab"),
    translatable("press the button that has the focus, or end a line"): ("Return", "Enter"),
    translatable("take the last point of a drawing back"): ("Backspace",),
    translatable("copy, paste and select text"): ("Ctrl+C", "Ctrl+V", "Ctrl+X"),
    translatable("search in a report"): ("Ctrl+F",),
}
"""Keys that belong to the image or to fields, and what they do there."""


def names_of(owner: object, prefix: str = "") -> Iterator[tuple[str, QAction]]:
    """Yield the actions that an object and its menus hold, each with a name that stays the same.

    The name is that of the attribute: "open_files", "layout_menu.choices.2x2". A text would change
    with the language.
    """
    held = {f"{prefix}{name}": value for name, value in vars(owner).items()}
    for path, value in held.items():
        if isinstance(value, QAction):
            yield path, value
    for path, value in held.items():
        if isinstance(value, dict):
            for key, one in value.items():
                if isinstance(one, QAction):
                    yield f"{path}.{getattr(key, 'value', key)}", one
        elif isinstance(value, QMenu):
            yield from names_of(value, f"{path}.")


class Shortcuts(QObject):
    """The keys of commands: the shipped ones, and in their place the user's own.

    Args:
        file: The file with the user's own keys; None to keep none.

    Attributes:
        problem: A sentence for the user if the file could not be used; else "".
    """

    changed = Signal()

    def __init__(self, file: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file = UserFile[dict[str, str]](
            file, "Your keyboard shortcuts", {}, _parse, lambda own: {"version": 1, "keys": own}
        )
        self._own = self._file.read()
        self.problem = self._file.problem
        self._actions: dict[str, QAction] = {}
        self._shipped: dict[str, str] = {}
        self._tips: dict[str, str] = {}  # of commands with a tooltip of their own
        self._suspended: frozenset[str] = frozenset()

    def take(self, actions: Iterable[tuple[str, QAction]]) -> None:
        """Take over the keys of actions, which have those that are shipped."""
        for name, action in actions:
            if action not in self._actions.values():
                self._actions[name] = action
                self._shipped[name] = action.shortcut().toString(_PORTABLE)
                if action.toolTip() != _tip(action, action.shortcut()):
                    self._tips[name] = action.toolTip()
        self._apply()

    @property
    def actions(self) -> Mapping[str, QAction]:
        return self._actions

    def key_of(self, name: str) -> str:
        """Return the key of a command, as "Ctrl+O"; "" if it has none."""
        return self._keys()[name]

    def is_own(self, name: str) -> bool:
        """Return whether the user has changed the key of a command."""
        return self._keys()[name] != self._shipped[name]

    def owner_of(self, key: str, but: str = "") -> str:
        """Return the name of the command that has a key, other than `but`; "" for none."""
        found = (name for name, own in self._keys().items() if key and own == key and name != but)
        return next(found, "")

    def set_key(self, name: str, key: str) -> bool:
        """Give a command a key, "" for none, and take it from any other; False if not saved."""
        wanted = QKeySequence(key).toString(_PORTABLE)
        loser = self.owner_of(wanted, name)

        def change(own: dict[str, str]) -> dict[str, str]:
            result = {one: said for one, said in own.items() if one != name}
            if wanted != self._shipped[name]:
                result[name] = wanted
            if loser:
                result[loser] = ""
            return result

        return self._change(change)

    def reset(self, name: str = "") -> bool:
        """Give a command its shipped key back, or all commands; return False if not saved."""
        if name:
            return self.set_key(name, self._shipped[name])
        return self._change(lambda _own: {})

    def shipped(self, name: str) -> str:
        return self._shipped[name]

    def suspend(self, keys: Iterable[str]) -> None:
        """Let the commands with these keys go without them until the next call."""
        wanted = frozenset(keys)
        if wanted != self._suspended:
            self._suspended = wanted
            self._apply()

    def _change(self, change: Callable[[dict[str, str]], dict[str, str]]) -> bool:
        saved = True
        try:
            self._own = self._file.change(change)
        except OSError:
            self._own = change(self._own)
            saved = False
        self._apply()
        self.changed.emit()
        return saved

    def _keys(self) -> dict[str, str]:
        """Return the key of each command: of two with the same, one of the user's own has it."""
        keys: dict[str, str] = {}
        taken: set[str] = set()
        for name in sorted(self._actions, key=lambda one: one not in self._own):
            key = self._own.get(name, self._shipped[name])
            keys[name] = "" if key in taken else key
            taken.add(key)
        return keys

    def _apply(self) -> None:
        for name, key in self._keys().items():
            action = self._actions[name]
            action.setShortcut(QKeySequence("" if key in self._suspended else key))
            action.setToolTip(self._tips.get(name) or _tip(action, QKeySequence(key)))


def _tip(action: QAction, key: QKeySequence) -> str:
    """Return the tooltip of a command: its name, and its key if it has one."""
    text = action.text().replace("&", "").rstrip("…")
    return plain_tip(f"{text}  ({key.toString(_NATIVE)})" if not key.isEmpty() else text)


def _parse(data: Any) -> dict[str, str]:
    keys = data["keys"]
    if not isinstance(keys, dict) or len(keys) > _MOST:
        raise ValueError("keys by the names of commands")
    for name, key in keys.items():
        if not isinstance(key, str) or len(name) + len(key) > _MOST:
            raise ValueError("a key is a text")
        if key and QKeySequence(key).toString(_PORTABLE) == "":
            raise ValueError("no key")
    return dict(keys)


class _CommandModel(RowModel):
    """The commands with their keys; a changed key is bold."""

    columns = (translatable("Command"), translatable("Shortcut"))

    def __init__(self, shortcuts: Shortcuts, parent: QObject) -> None:
        super().__init__(parent)
        self._shortcuts = shortcuts

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        name, title = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            key = QKeySequence(self._shortcuts.key_of(name))
            return title if index.column() == 0 else key.toString(_NATIVE)
        if role == Qt.ItemDataRole.FontRole and self._shortcuts.is_own(name):
            font = QFont()
            font.setBold(True)
            return font
        return None


class ShortcutsDialog(QDialog):
    """The dialog in which the keys of commands are changed; a change takes effect at once.

    Args:
        titles: Name of each command -> what the menus call it.
    """

    def __init__(self, shortcuts: Shortcuts, titles: Mapping[str, str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self._shortcuts = shortcuts
        self._titles = titles
        self.search = search_field(tr("Search a command or a key"), tr("Search the commands"))
        self.search.textChanged.connect(lambda _text: self._fill())
        self.model = _CommandModel(shortcuts, self)
        name = tr("Commands and their keys")
        self.table = RowTable(self.model, name, row_height=28, widths={1: 160})
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.setSelectionMode(RowTable.SelectionMode.SingleSelection)
        self.table.selectionModel().currentRowChanged.connect(lambda _now, _old: self._show())
        self.key = QKeySequenceEdit()
        self.key.setMaximumSequenceLength(1)
        self.key.setAccessibleName(tr("New key"))
        self.key.keySequenceChanged.connect(lambda _key: self._typed())
        self.note = label("", "muted", wrap=True)
        self.use = push_button(tr("Set"), self._use, primary=True)
        self.remove = push_button(tr("No key"), lambda: self._set(""))
        self.reset = push_button(tr("Reset"), self._reset)
        self.reset_all = push_button(tr("Reset all"), self._reset_all)
        close = push_button(tr("Close"), self.accept)
        for button in (self.use, self.remove, self.reset, self.reset_all, close):
            button.setAutoDefault(False)
        column(
            self.search,
            (self.table, 1),
            row(label(tr("New key"), "muted"), (self.key, 1), self.use, self.remove, self.reset),
            self.note,
            row(self.reset_all, 1, close),
            margins=SPACE.l,
            parent=self,
        )
        self.resize(620, 640)
        self._fill()

    @property
    def chosen(self) -> str:
        """The name of the selected command; "" for none."""
        number = self.table.currentIndex().row()
        return self.model.rows[number][0] if 0 <= number < len(self.model.rows) else ""

    def _fill(self) -> None:
        chosen, words = self.chosen, self.search.text().casefold().split()
        rows: list[tuple[str, str]] = []
        for name, title in self._titles.items():
            key = QKeySequence(self._shortcuts.key_of(name)).toString(_NATIVE)
            if all(word in f"{title} {key}".casefold() for word in words):
                rows.append((name, title))
        self.model.show_rows(rows)
        names = [name for name, _title in rows]
        if names:
            self.table.selectRow(names.index(chosen) if chosen in names else 0)
        self._show()

    def _show(self) -> None:
        name = self.chosen
        self.key.setKeySequence(QKeySequence(self._shortcuts.key_of(name) if name else ""))
        self.key.setEnabled(bool(name))
        self._typed()

    @property
    def _key(self) -> str:
        return self.key.keySequence().toString(_PORTABLE)

    def _typed(self) -> None:
        """Say whose the key in the field is, and enable what can be done."""
        name, key = self.chosen, self._key
        uses = next((what for what, keys in FIXED_KEYS.items() if key in keys), "")
        other = self._shortcuts.owner_of(key, name) if name else ""
        shown = self.key.keySequence().toString(_NATIVE)
        text = ""
        if uses:
            text = tr("{key} cannot be used: it serves to {use}.").format(key=shown, use=tr(uses))
        elif other:
            text = tr("{key} is the key of “{command}”, which would lose it.").format(
                key=shown, command=self._titles.get(other, other)
            )
        self.note.setText(text)
        self.note.setProperty("role", "warning" if text else "muted")
        restyle(self.note)
        self.use.setText(tr("Take the key") if other and not uses else tr("Set"))
        self.use.setAccessibleDescription(text)
        now = self._shortcuts.key_of(name) if name else ""
        self.use.setEnabled(bool(name and key) and key != now and not uses)
        self.remove.setEnabled(bool(now))
        self.reset.setEnabled(bool(name) and self._shortcuts.is_own(name))

    def _use(self) -> None:
        self._set(self._key)

    def _set(self, key: str) -> None:
        if self.chosen:
            self._changed(self._shortcuts.set_key(self.chosen, key))

    def _reset(self) -> None:
        if self.chosen:
            self._changed(self._shortcuts.reset(self.chosen))

    def _reset_all(self) -> None:
        self._changed(self._shortcuts.reset())

    def _changed(self, saved: bool) -> None:
        self._fill()
        if not saved:
            self.note.setText(
                tr(
                    "The keys could not be saved: they hold until Sightline is closed. Ask for the "
                    "right to write into the settings folder."
                )
            )
