"""What the user answered for a conversation: each answer can be withdrawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.views.chat.plain_text import one_line
from app.views.chat.widgets import row
from app.views.pack_texts import PackTexts
from app.views.settings.parts import wrapped
from app.views.theme import SPACE
from app.views.widgets import ElidedLabel, label


class Granted(Protocol):
    """The user's answers for a conversation and the session: `app.agent.policy.Grants`."""

    strict: Any

    def listed(self, thread_id: str = "") -> tuple[Any, ...]:
        """What is allowed now, in all conversations."""
        ...

    def withdraw(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget what was allowed."""
        ...

    def refusals(self, thread_id: str = "") -> tuple[Any, ...]:
        """What is refused now, in all conversations."""
        ...

    def ask_again(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget what was refused."""
        ...


class Answers(QWidget):
    """A row for each tool that was allowed or refused, with a button that forgets it.

    Args:
        granted: The answers.
        texts: Titles of the tools.
    """

    def __init__(self, granted: Granted, texts: PackTexts) -> None:
        super().__init__()
        self._texts = texts
        self._granted = granted
        self.buttons: dict[tuple[str, str], QPushButton] = {}
        self._rows = QVBoxLayout()
        self._rows.setSpacing(SPACE.s)
        self.withdraw_button = QPushButton("Withdraw all")
        self.withdraw_button.setToolTip("Every call is asked about again")
        self.withdraw_button.clicked.connect(lambda _checked=False: self._all())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.s)
        column.addLayout(self._rows)
        column.addLayout(row(1, self.withdraw_button))
        self._lines: dict[tuple[str, str], QWidget] = {}
        self._none = wrapped("None: every call that asks is asked about.", "muted")
        self._rows.addWidget(self._none)
        given = Counter(item.tool for item in granted.listed())
        refused = Counter(item.tool for item in granted.refusals())
        for tool, count in sorted(given.items()):
            calls = "one call" if count == 1 else f"{count} calls"
            self._add("allowed", tool, f"allowed: {calls}, exactly as asked", "Withdraw")
        for tool, count in sorted(refused.items()):
            where = "one conversation" if count == 1 else f"{count} conversations"
            self._add("refused", tool, f"refused in {where}", "Ask again")
        self._update()

    def _update(self) -> None:
        self._none.setVisible(not self.buttons)
        self.withdraw_button.setEnabled(bool(self.buttons))

    def _add(self, kind: str, tool: str, what: str, action: str) -> None:
        shown = one_line(tool, 80)
        button = QPushButton(action)
        button.setAccessibleName(f"{action}: {shown} ({what})")
        button.setToolTip("Asked about again from the next call on")
        button.clicked.connect(self._forgetter(kind, tool))
        self.buttons[kind, tool] = button
        line = self._lines[kind, tool] = QWidget()
        name = ElidedLabel(self._texts.title(tool), "strong")
        name.setToolTip(shown)
        parts = row(name, label(what, "muted"), button)
        parts.setStretch(0, 1)
        line.setLayout(parts)
        self._rows.addWidget(line)

    def _forgetter(self, kind: str, tool: str) -> Callable[[], None]:
        def forget(_checked: bool = False) -> None:
            if kind == "allowed":
                self._granted.withdraw(tool=tool)
            else:
                self._granted.ask_again(tool=tool)
            self._drop(kind, tool)
            self._update()

        return forget

    def _drop(self, kind: str, tool: str) -> None:
        """Take one row out. The others stay as they are, and so does the order of the Tab key."""
        places = list(self.buttons)
        at = places.index((kind, tool))
        button, line = self.buttons.pop((kind, tool)), self._lines.pop((kind, tool))
        if button.hasFocus() and self.buttons:
            left = list(self.buttons.values())
            left[min(at, len(left) - 1)].setFocus()
        line.hide()
        line.deleteLater()

    def _all(self) -> None:
        self._granted.withdraw()
        self._granted.ask_again()
        for kind, tool in list(self.buttons):
            self._drop(kind, tool)
        self._update()
