"""The page of the tools: what runs freely, what asks, what is refused."""

from __future__ import annotations

from typing import Any, Protocol

from PySide6.QtWidgets import QPushButton

from app.settings import PolicySettings
from app.views.chat.widgets import row
from app.views.settings.parts import Choice, Column, Form, wrapped
from app.views.theme import SPACE

_FREE = (("allow", "Runs freely"), ("ask", "Asks in the chat"), ("deny", "Is refused"))
_EFFECTS = (
    ("read", "Reads", "Attributes and reports of the open study.", _FREE),
    ("compute", "Computes", "Runs an imaging model; writes into the run's own folder.", _FREE),
    ("write", "Writes", "Files outside the run's own folder.", _FREE[1:]),
    ("send", "Sends", "Data to another machine.", _FREE[1:]),
    ("execute", "Runs programs", "Anything else that acts on this computer.", _FREE[1:]),
)


class Granted(Protocol):
    """Calls that were allowed for a conversation: `app.agent.policy.Grants`."""

    def listed(self, thread_id: str = "") -> tuple[Any, ...]:
        """What is allowed now, in all conversations."""
        ...

    def withdraw(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget everything."""
        ...


class PermissionsPage(Column):
    """A rule for each effect, and the calls that were allowed for a conversation.

    Args:
        policy: The rules in use.
        granted: What was allowed since the program was started.
    """

    def __init__(self, policy: PolicySettings, granted: Granted) -> None:
        super().__init__()
        self._policy = policy
        self._granted = granted
        self.heading(
            "What may tools do?",
            "These rules are kept outside the language model: it can neither see nor change them.",
        )
        form = Form()
        self.rules: dict[str, Choice] = {}
        chosen: dict[str, str] = {**policy.effects}
        for effect, title, hint, rules in _EFFECTS:
            choice = Choice(rules)
            choice.choose(chosen.get(effect, rules[0][0]))
            self.rules[effect] = choice
            form.put(title, choice)
            form.note(hint, choice)
        self.column.addLayout(form)
        if policy.tools:
            self.section("Rules for single tools, from the settings file")
            listed = ", ".join(f"{name}: {rule}" for name, rule in sorted(policy.tools.items()))
            self.column.addWidget(wrapped(listed, "muted"))
        self.section("Calls allowed for a conversation")
        self.grants = wrapped("", "muted")
        self.withdraw_button = QPushButton("Withdraw all")
        line = row(self.grants, self.withdraw_button, spacing=SPACE.m)
        line.setStretch(0, 1)
        self.column.addLayout(line)
        self.withdraw_button.clicked.connect(lambda _checked=False: self._withdraw())
        self.column.addStretch(1)
        self._show_grants()

    def policy(self) -> PolicySettings:
        """The rules that are chosen; those that are the default are not kept."""
        effects = {
            effect: self.rules[effect].value
            for effect, _title, _hint, rules in _EFFECTS
            if self.rules[effect].value != rules[0][0]
        }
        return PolicySettings.model_validate({"effects": effects, "tools": self._policy.tools})

    def _show_grants(self) -> None:
        grants = self._granted.listed()
        tools = ", ".join(sorted({item.tool for item in grants}))
        text = f"{len(grants)} with exact arguments: {tools}." if grants else "None."
        self.grants.setText(text)
        self.withdraw_button.setEnabled(bool(grants))

    def _withdraw(self) -> None:
        self._granted.withdraw()
        self._show_grants()
