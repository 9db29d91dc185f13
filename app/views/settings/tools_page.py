"""The settings page of the tools: which may run without asking, which ask, which are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QTreeWidgetItem,
    QWidget,
)

from app.agent.context.model_messages import USUAL_PROMPT
from app.agent.policy import DEFAULTS, Grants, Policy, Rule
from app.agent.policy.grants import Strict
from app.agent.policy.site_rules import ALWAYS, describe
from app.settings import PolicySettings, ProfileSettings, Settings, bounds
from app.tools.api import ToolSpec
from app.views.layouts import column, row
from app.views.plain_text import one_line
from app.views.settings.fields import (
    Amount,
    Choice,
    Form,
    GrantList,
    RowTree,
    SettingsPage,
    wrapped_label,
)
from app.views.text_view import TextView
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import ElidedLabel, push_button
from app.views.wording import PackTexts

_FREE = (
    ("allow", translatable("Runs freely")),
    ("ask", translatable("Asks in the chat")),
    ("deny", translatable("Is refused")),
)
_EFFECTS = (
    (
        "read",
        translatable("Reads"),
        translatable("Attributes and reports of the open study."),
        _FREE,
    ),
    (
        "compute",
        translatable("Computes"),
        translatable("Runs an imaging model; writes into the conversation's own folder."),
        _FREE,
    ),
    (
        "write",
        translatable("Writes"),
        translatable("Files outside the conversation's own folder."),
        _FREE[1:],
    ),
    ("send", translatable("Sends"), translatable("Data to another machine."), _FREE[1:]),
    (
        "execute",
        translatable("Runs programs"),
        translatable("Anything else that acts on this computer."),
        _FREE[1:],
    ),
)
_STRICT: tuple[tuple[Strict, str], ...] = (
    ("", translatable("By the rules below")),
    ("ask", translatable("Every call asks, whatever was allowed")),
    ("deny", translatable("What writes, sends or runs programs is refused")),
)
_DEVICES = (
    ("auto", translatable("The graphics card where there is one")),
    ("cpu", translatable("The processor")),
    ("cuda", translatable("The graphics card (CUDA)")),
    ("mps", translatable("The graphics unit (Apple)")),
)
_RULE_TEXTS = {
    "allow": translatable("runs freely"),
    "ask": translatable("asks"),
    "deny": translatable("refused"),
}
_EFFECT_TEXTS = {
    "read": translatable("reads"),
    "compute": translatable("computes"),
    "write": translatable("writes"),
    "send": translatable("sends"),
    "execute": translatable("runs programs"),
}
_ORDER = ("allow", "ask", "deny")
_STRICTER = (("ask", translatable("Asks in the chat")), ("deny", translatable("Is refused")))
_ROW, _HEAD, _MOST_ROWS = 24, 42, 10
_NAME = Qt.ItemDataRole.UserRole


class ToolsPage(SettingsPage):
    """The page with the rules for tools, and with what the user allowed or refused so far.

    The rule for this session, and the removal of an answer, take effect at once; rules for an
    effect or a tool when they are saved. `site` are this computer's rules, which apply in addition.
    Without `show_models`, the button that opens the models window is left out. `packs` are names
    and titles of the tool packs that can be switched off.
    """

    def __init__(
        self,
        settings: Settings,
        grants: Grants,
        tools: Sequence[ToolSpec] = (),
        site: Sequence[Policy] = (),
        show_models: Callable[[], object] | None = None,
        packs: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        policy = self._policy = settings.policy
        self._profile = settings.profile
        self._clean_notes = settings.clean_notes
        self._grants = grants
        self.rules: dict[str, Choice] = {}
        self.add_heading(
            tr("What may tools do?"),
            tr(
                "These rules are kept outside the language model: it can neither see nor change "
                "them."
            ),
        )
        self._add_session()
        self._add_effects(policy.effects)
        self.add_section(tr("Each tool"))
        self.tools = ToolRuleList(tools, dict(policy.tools), site)
        self.column.addWidget(self.tools)
        self._show_effect_rules()
        self.add_section(tr("What arguments may name"))
        self.argument_rules = TextView()
        self.argument_rules.setProperty("tone", "muted")
        self.argument_rules.set_plain(_argument_rules_text(policy, site))
        self.column.addWidget(self.argument_rules)
        self.add_section(tr("Answers for a conversation"))
        self.answers = AnswerList(grants, PackTexts(tools))
        self.column.addWidget(self.answers)
        self.add_section(tr("Tool packs and instructions"))
        self._add_profile(packs)
        self.add_section(tr("Their models"))
        self._add_models(settings, show_models)
        self.column.addStretch(1)

    def policy(self) -> PolicySettings:
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

    def profile(self) -> ProfileSettings:
        """Return the chosen packs and prompt; packs that are not installed here stay off."""
        off = [name for name in self._profile.packs_off if name not in self.packs]
        off += [name for name, box in self.packs.items() if not box.isChecked()]
        texts = {"prompt": self.prompt.text().strip(), "prompt_file": self.prompts.text().strip()}
        return self._profile.model_copy(update={"packs_off": off, **texts})

    def device_values(self) -> dict[str, str | float]:
        """Return the device, idle time and choice for notes, keyed by field names of `Settings`."""
        return {
            "device": self.device.value,
            "idle_minutes": self.idle.value(),
            "clean_notes": self.clean_notes.isChecked(),
        }

    def _add_session(self) -> None:
        form = Form()
        self.strict = Choice(_STRICT)
        self.strict.choose(str(self._grants.strict))
        self.strict.currentIndexChanged.connect(self._apply_session_rule)
        note = tr("Takes effect at once, until Sightline is closed.")
        form.add_row(tr("This session"), self.strict, note=note)
        self.remember = QCheckBox(tr("Offer an answer for the whole conversation"))
        self.remember.setChecked(self._policy.remember)
        form.add_row(tr("Answers"), self.remember)
        self.clean_notes = QCheckBox(tr("Send them to a remote model, without names"))
        self.clean_notes.setChecked(self._clean_notes)
        note = tr("Notes and reports of records. Otherwise they stay on this computer.")
        form.add_row(tr("Notes"), self.clean_notes, note=note)
        self.column.addLayout(form)

    def _add_effects(self, chosen: Mapping[Any, str]) -> None:
        self.add_section(tr("By what a tool does"))
        form = Form()
        for effect, title, hint, rules in _EFFECTS:
            choice = Choice(rules)
            choice.choose(chosen.get(effect, rules[0][0]))
            choice.currentIndexChanged.connect(lambda _index: self._show_effect_rules())
            self.rules[effect] = choice
            form.add_row(tr(title), choice, note=tr(hint))
        self.column.addLayout(form)

    def _add_profile(self, packs: Sequence[tuple[str, str]]) -> None:
        form = Form()
        self.packs: dict[str, QCheckBox] = {}
        for name, title in packs:
            box = self.packs[name] = QCheckBox(tr("Use its tools and rules"))
            box.setChecked(name not in self._profile.packs_off)
            form.add_row(tr(title), box)
        self.prompts = QLineEdit(self._profile.prompt_file)
        self.prompts.setMaxLength(2_000)
        note = tr("A text file with sections such as [TEACHER]. Empty: the program's own.")
        form.add_row(tr("Instructions from"), self.prompts, note=note)
        self.prompt = QLineEdit(self._profile.prompt)
        self.prompt.setMaxLength(80)
        self.prompt.setPlaceholderText(USUAL_PROMPT)
        note = tr("The section that a language model is given. Fixed rules need none.")
        form.add_row(tr("Prompt"), self.prompt, note=note)
        self.column.addLayout(form)

    def _add_models(self, settings: Settings, show_models: Callable[[], object] | None) -> None:
        form = Form()
        self.device = Choice(_DEVICES)
        self.device.choose(settings.device)
        note = tr("A device that this computer does not have is not used.")
        form.add_row(tr("They run on"), self.device, note=note)
        self.idle = Amount(*bounds(Settings, "idle_minutes"), suffix=tr(" minutes"))
        self.idle.setValue(settings.idle_minutes)
        note = tr("How long an idle model stays loaded before its memory is freed.")
        form.add_row(tr("In memory"), self.idle, note=note)
        self.column.addLayout(form)
        about = tr("The installed and loaded models, licences and limits; install, verify, remove.")
        self.models_button = push_button(tr("Models…"), show_models or self.close)
        self.models_button.setAutoDefault(False)
        self.column.addLayout(row((wrapped_label(about, "muted"), 1), self.models_button))
        self.models_button.setVisible(show_models is not None)

    def _show_effect_rules(self) -> None:
        self.tools.show_effect_rules(
            {effect: choice.value for effect, choice in self.rules.items()}
        )

    def _apply_session_rule(self, _index: int) -> None:
        self._grants.strict = _STRICT[self.strict.currentIndex()][0]


def _argument_rules_text(policy: PolicySettings, site: Sequence[Policy]) -> str:
    """Return all rules about arguments, one a line, and their source."""
    own = describe(policy)
    lines = [*ALWAYS, *(tr("From your settings file. {text}").format(text=text) for text in own)]
    for one in site:
        lines += (
            tr("By this computer's administrator. {text}").format(text=text)
            for text in describe(one.rules)
        )
    return "\n".join(f"•  {line}." for line in lines)


class ToolRuleList(QWidget):
    """The tools and one field for the chosen one's rule; `chosen` may name missing tools."""

    def __init__(
        self, specs: Sequence[ToolSpec], chosen: Mapping[str, str], site: Sequence[Policy]
    ) -> None:
        super().__init__()
        self._chosen = {tool: rule for tool, rule in chosen.items() if rule in ("ask", "deny")}
        self._specs = {spec.name: spec for spec in specs}
        self._texts = PackTexts(specs)
        self._site = tuple(site)
        self._effects: Mapping[str, str] = {}
        heads = (tr("Tool"), 190), (tr("What it does"), 110), (tr("Rule"), 0)
        self.list = RowTree("toolRules", tr("Tools and their rules"), *heads)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.choice = Choice(())
        self.choice.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.setMinimumContentsLength(12)
        form = Form()
        form.add_row(tr("Rule for it"), self.choice)
        column(self.list, form, parent=self)
        gone = sorted(name for name in self._chosen if name not in self._specs)
        for name in (*self._specs, *gone):
            self._add(name)
        shown = min(max(self.list.topLevelItemCount(), 1), _MOST_ROWS)
        self.list.setFixedHeight(shown * max(self.list.sizeHintForRow(0), _ROW) + _HEAD)
        self.list.currentItemChanged.connect(lambda _now, _before: self._offer_choices())
        self.list.itemActivated.connect(lambda _item, _column: self._open())
        self.choice.currentIndexChanged.connect(self._choose)
        for first in self._items()[:1]:
            self.list.setCurrentItem(first)

    def rules(self) -> dict[str, str]:
        return dict(self._chosen)

    def show_effect_rules(self, effects: Mapping[str, str]) -> None:
        """Show each tool's rule under `effects` (rules by effect); offer only stricter rules."""
        self._effects = dict(effects)
        for item in self._items():
            self._show_rule(item)
        self._offer_choices()

    def _items(self) -> list[QTreeWidgetItem]:
        found = map(self.list.topLevelItem, range(self.list.topLevelItemCount()))
        return [item for item in found if item is not None]

    def _add(self, name: str) -> None:
        spec = self._specs.get(name)
        effect = tr("not installed") if spec is None else tr(_EFFECT_TEXTS[str(spec.approval)])
        title = self._texts.title(name)
        if name == "*":
            title, effect = tr("Every tool"), tr("whatever it does")
        item = QTreeWidgetItem([title, effect, ""])
        item.setData(0, _NAME, name)
        item.setToolTip(0, one_line(name, 80))
        self.list.addTopLevelItem(item)

    def _show_rule(self, item: QTreeWidgetItem) -> None:
        name = str(item.data(0, _NAME))
        base, source = self._base(name)
        own = self._chosen.get(name, "")
        stricter = bool(own) and _ORDER.index(own) > _ORDER.index(base)
        rule, source = (own, tr("your rule")) if stricter else (base, source)
        text = tr(_RULE_TEXTS[rule])
        item.setText(2, f"{text} ({source})" if source else text)
        spoken = f"{item.text(0)}: {item.text(1)}, {item.text(2)}"
        item.setData(0, Qt.ItemDataRole.AccessibleTextRole, spoken)

    def _offer_choices(self) -> None:
        """Offer the rules for the selected tool that are stricter than what holds anyway."""
        item = self.list.currentItem()
        self.choice.blockSignals(True)
        self.choice.clear()
        if item is not None:
            name = str(item.data(0, _NAME))
            base, source = self._base(name)
            rank = _ORDER.index(base)
            rule_text = tr(_RULE_TEXTS[base]) + (f" ({source})" if source else "")
            self.choice.addItem(tr("None of its own: {rule}").format(rule=rule_text), "")
            for rule, text in _STRICTER:
                if _ORDER.index(rule) > rank:
                    self.choice.addItem(tr(text), rule)
            self.choice.choose(self._chosen.get(name, ""))
            self.choice.setAccessibleName(tr("Rule for {tool}").format(tool=item.text(0)))
        self.choice.setEnabled(self.choice.count() > 1)
        self.choice.blockSignals(False)

    def _choose(self, _index: int) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        name = str(item.data(0, _NAME))
        self._chosen.pop(name, None)
        if self.choice.value:
            self._chosen[name] = self.choice.value
        self._show_rule(item)

    def _open(self) -> None:
        """Open the list of rules, on Enter or a double click on a tool."""
        if self.choice.isEnabled():
            self.choice.setFocus()
            self.choice.showPopup()

    def _base(self, name: str) -> tuple[str, str]:
        """Return the rule that holds without a rule of the tool's own, and its source."""
        spec = self._specs.get(name)
        if spec is None:
            return "allow", tr("while it is not installed") if name != "*" else ""
        standard = str(DEFAULTS.get(spec.approval, Rule.ASK))
        ranked = [
            (standard, ""),
            (self._effects.get(str(spec.approval), standard), tr("as above")),
            *((str(policy.rule(spec)), tr("this computer's policy")) for policy in self._site),
        ]
        return max(ranked, key=lambda item: _ORDER.index(item[0]))


class AnswerList(GrantList):
    """A list of the tools allowed or refused in a conversation, each with a button to undo that."""

    def __init__(self, grants: Grants, texts: PackTexts) -> None:
        super().__init__(tr("None: you are asked about every such call."))
        self._texts = texts
        self._grants = grants
        self.withdraw_button = push_button(tr("Withdraw all"), self._undo_all)
        self.withdraw_button.setToolTip(tr("Every call is asked about again"))
        self.column.addLayout(row(1, self.withdraw_button))
        given = Counter(item.tool for item in grants.active_grants())
        refused = Counter(item.tool for item in grants.active_refusals())
        for tool, count in sorted(given.items()):
            what = tr_n(
                "allowed: one call, exactly as asked",
                "allowed: %n calls, exactly as asked",
                count,
            )
            self._add_tool("allowed", tool, what, tr("Withdraw"), grants.withdraw)
        for tool, count in sorted(refused.items()):
            what = tr_n("refused in one conversation", "refused in %n conversations", count)
            self._add_tool("refused", tool, what, tr("Ask again"), grants.ask_again)
        self.update_none()

    def update_none(self) -> None:
        super().update_none()
        self.withdraw_button.setEnabled(bool(self.buttons))

    def _add_tool(
        self, kind: str, tool: str, what: str, action: str, undo: Callable[..., object]
    ) -> None:
        shown = one_line(tool, 80)
        name = ElidedLabel(self._texts.title(tool), "strong")
        name.setToolTip(shown)
        button = self.add((kind, tool), name, what, action, lambda: undo(tool=tool))
        button.setAccessibleName(f"{action}: {shown} ({what})")
        button.setToolTip(tr("Asked about again from the next call on"))

    def _undo_all(self) -> None:
        self._grants.withdraw()
        self._grants.ask_again()
        for key in list(self.buttons):
            self.remove(key)
