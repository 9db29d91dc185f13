"""The page of the tools: what runs freely, what asks, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.agent.policy import Policy
from app.agent.policy.site_rules import ALWAYS, describe
from app.settings import PolicySettings, Settings
from app.tools.api import ToolSpec
from app.views.chat.textview import TextView
from app.views.pack_texts import PackTexts
from app.views.settings.answers import Answers, Granted
from app.views.settings.models_part import ModelsPart
from app.views.settings.parts import Check, Choice, Column, Form
from app.views.settings.tool_rules import ToolRules

_FREE = (("allow", "Runs freely"), ("ask", "Asks in the chat"), ("deny", "Is refused"))
_EFFECTS = (
    ("read", "Reads", "Attributes and reports of the open study.", _FREE),
    (
        "compute",
        "Computes",
        "Runs an imaging model; writes into the conversation's own folder.",
        _FREE,
    ),
    ("write", "Writes", "Files outside the conversation's own folder.", _FREE[1:]),
    ("send", "Sends", "Data to another machine.", _FREE[1:]),
    ("execute", "Runs programs", "Anything else that acts on this computer.", _FREE[1:]),
)
_STRICT = (
    ("", "By the rules below"),
    ("ask", "Every call asks, whatever was allowed"),
    ("deny", "What writes, sends or runs programs is refused"),
)

__all__ = ["Granted", "PermissionsPage"]


class PermissionsPage(Column):
    """Rules for the session, for each effect and each tool, and the answers that hold now.

    What is chosen for the session, and answers that are withdrawn, hold at once; the rest with
    "Save".

    Args:
        policy: The user's rules in use.
        granted: The answers since the program was started.
        tools: The tools that are installed.
        site: The rules of this computer, which hold beside the user's own.
        settings: Where models run, and how long they stay in memory.
        show_models: Opens the models that tools use; None leaves the button out.
    """

    def __init__(
        self,
        policy: PolicySettings,
        granted: Granted,
        tools: Sequence[ToolSpec] = (),
        site: Sequence[Policy] = (),
        settings: Settings | None = None,
        show_models: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._policy = policy
        self._granted = granted
        self.rules: dict[str, Choice] = {}
        self.heading(
            "What may tools do?",
            "These rules are kept outside the language model: it can neither see nor change them.",
        )
        self._add_session()
        self._add_effects({**policy.effects})
        self.section("Each tool")
        self.tools = ToolRules(tools, dict(policy.tools), site)
        self.column.addWidget(self.tools)
        self._show_base()
        self.section("What arguments may name")
        self.words = TextView()
        self.words.setProperty("tone", "muted")
        self.words.set_plain(_listed(policy, site))
        self.column.addWidget(self.words)
        self.section("Answers for a conversation")
        self.answers = Answers(granted, PackTexts(tools))
        self.withdraw_button = self.answers.withdraw_button
        self.column.addWidget(self.answers)
        self.section("Their models")
        self.models = ModelsPart(settings or Settings(), show_models)
        self.column.addWidget(self.models)
        self.column.addStretch(1)

    def policy(self) -> PolicySettings:
        """The rules that are chosen; those that are the default are not kept."""
        effects = {
            effect: self.rules[effect].value
            for effect, _title, _hint, rules in _EFFECTS
            if self.rules[effect].value != rules[0][0]
        }
        chosen = {
            "effects": effects,
            "tools": self.tools.rules(),
            "remember": self.remember.isChecked(),
        }
        checked = PolicySettings.model_validate(chosen)
        return self._policy.model_copy(update={name: getattr(checked, name) for name in chosen})

    def _add_session(self) -> None:
        form = Form()
        self.strict = Choice(_STRICT)
        self.strict.choose(str(self._granted.strict))
        self.strict.currentIndexChanged.connect(self._make_stricter)
        form.put("This session", self.strict)
        form.note("Holds at once, and until Sightline is closed.", self.strict)
        self.remember = Check("Offer an answer for the whole conversation")
        self.remember.setChecked(self._policy.remember)
        form.put("Answers", self.remember)
        self.column.addLayout(form)

    def _add_effects(self, chosen: Mapping[Any, str]) -> None:
        self.section("By what a tool does")
        form = Form()
        for effect, title, hint, rules in _EFFECTS:
            choice = Choice(rules)
            choice.choose(chosen.get(effect, rules[0][0]))
            choice.currentIndexChanged.connect(lambda _index: self._show_base())
            self.rules[effect] = choice
            form.put(title, choice)
            form.note(hint, choice)
        self.column.addLayout(form)

    def _show_base(self) -> None:
        self.tools.show_base({effect: choice.value for effect, choice in self.rules.items()})

    def _make_stricter(self, _index: int) -> None:
        self._granted.strict = self.strict.value


def _listed(policy: PolicySettings, site: Sequence[Policy]) -> str:
    """All rules about arguments, one a line, and who made them."""
    own = describe(policy)
    lines = [*ALWAYS, *(f"From your settings file. {text}" for text in own)]
    for one in site:
        lines += (f"By whoever looks after this computer. {text}" for text in describe(one.rules))
    return "\n".join(f"•  {line}." for line in lines)
