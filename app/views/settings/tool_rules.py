"""Every tool with what it does, and a rule that can be made stricter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.agent.policy import DEFAULTS, Policy, Rule
from app.tools.api import ToolSpec
from app.views.chat.plain_text import one_line
from app.views.pack_texts import PackTexts
from app.views.settings.parts import Choice, Form
from app.views.theme import SPACE

_SAYS = {"allow": "runs freely", "ask": "asks", "deny": "refused"}
_DOES = {
    "read": "reads",
    "compute": "computes",
    "write": "writes",
    "send": "sends",
    "execute": "runs programs",
}
_ORDER = ("allow", "ask", "deny")
_STRICTER = (("ask", "Asks in the chat"), ("deny", "Is refused"))
_ROW, _HEAD, _MOST_ROWS = 24, 42, 10
_NAME = Qt.ItemDataRole.UserRole


class ToolRules(QWidget):
    """A list of the tools, and below it the rule of the one that is chosen there.

    A list and one choice, not a choice a row: fifty tools are shown as quickly as five.

    Args:
        specs: The tools that are installed.
        chosen: Rules by the tool's name, for tools that are not installed as well.
        site: Policies of this computer, which hold whatever is chosen here.

    Attributes:
        list: The tools: title, what it does, its rule.
        choice: The rule of the chosen tool.
        changed: A rule was chosen.
    """

    changed = Signal()

    def __init__(
        self, specs: Sequence[ToolSpec], chosen: Mapping[str, str], site: Sequence[Policy]
    ) -> None:
        super().__init__()
        self._chosen = {tool: rule for tool, rule in chosen.items() if rule in ("ask", "deny")}
        self._specs = {spec.name: spec for spec in specs}
        self._texts = PackTexts(specs)
        self._site = tuple(site)
        self._effects: Mapping[str, str] = {}
        self.list = _tree()
        self.choice = Choice(())
        self.choice.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.setMinimumContentsLength(12)
        form = Form()
        form.put("Rule for it", self.choice)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.s)
        column.addWidget(self.list)
        column.addLayout(form)
        gone = sorted(name for name in self._chosen if name not in self._specs)
        for name in (*self._specs, *gone):
            self._add(name)
        shown = min(max(self.list.topLevelItemCount(), 1), _MOST_ROWS)
        self.list.setFixedHeight(shown * max(self.list.sizeHintForRow(0), _ROW) + _HEAD)
        self.list.currentItemChanged.connect(lambda _now, _before: self._offer())
        self.list.itemActivated.connect(lambda _item, _column: self._open())
        self.choice.currentIndexChanged.connect(self._choose)
        for first in self._items()[:1]:
            self.list.setCurrentItem(first)

    def rules(self) -> dict[str, str]:
        """The rules that are chosen; a tool without one is left out."""
        return dict(self._chosen)

    def show_base(self, effects: Mapping[str, str]) -> None:
        """Show which rule holds for each tool, and offer what is stricter.

        Args:
            effects: The rule for each effect.
        """
        self._effects = dict(effects)
        for item in self._items():
            self._show_rule(item)
        self._offer()

    def said(self, name: str) -> str:
        """What the list says of a tool's rule."""
        return next(item.text(2) for item in self._items() if item.data(0, _NAME) == name)

    def _items(self) -> list[QTreeWidgetItem]:
        found = map(self.list.topLevelItem, range(self.list.topLevelItemCount()))
        return [item for item in found if item is not None]

    def _add(self, name: str) -> None:
        spec = self._specs.get(name)
        effect = "not installed" if spec is None else _DOES.get(str(spec.approval), "acts")
        title = self._texts.title(name)
        if name == "*":
            title, effect = "Every tool", "whatever it does"
        item = QTreeWidgetItem([title, effect, ""])
        item.setData(0, _NAME, name)
        item.setToolTip(0, one_line(name, 80))
        self.list.addTopLevelItem(item)

    def _show_rule(self, item: QTreeWidgetItem) -> None:
        name = str(item.data(0, _NAME))
        base, whose = self._base(name)
        own = self._chosen.get(name, "")
        stricter = bool(own) and _ORDER.index(own) > _ORDER.index(base)
        rule, source = (own, "your rule") if stricter else (base, whose)
        item.setText(2, f"{_SAYS[rule]} ({source})" if source else _SAYS[rule])
        item.setData(
            0,
            Qt.ItemDataRole.AccessibleTextRole,
            f"{item.text(0)}: {item.text(1)}, {item.text(2)}",
        )

    def _offer(self) -> None:
        """Offer the rules for the chosen tool that are stricter than what holds anyway."""
        item = self.list.currentItem()
        self.choice.blockSignals(True)
        self.choice.clear()
        if item is not None:
            name = str(item.data(0, _NAME))
            base, whose = self._base(name)
            rank = _ORDER.index(base)
            because = f" ({whose})" if whose else ""
            self.choice.addItem(f"None of its own: {_SAYS[base]}{because}", "")
            for rule, text in _STRICTER:
                if _ORDER.index(rule) > rank:
                    self.choice.addItem(text, rule)
            self.choice.choose(self._chosen.get(name, ""))
            self.choice.setAccessibleName(f"Rule for {item.text(0)}")
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
        self.changed.emit()

    def _open(self) -> None:
        """Enter or a double click on a tool goes on to its rule."""
        if self.choice.isEnabled():
            self.choice.setFocus()
            self.choice.showPopup()

    def _base(self, name: str) -> tuple[str, str]:
        """The rule that holds without one of its own, and whose it is."""
        spec = self._specs.get(name)
        if spec is None:
            return "allow", "as long as it is not there" if name != "*" else ""
        standard = str(DEFAULTS.get(spec.approval, Rule.ASK))
        ranked = [
            (standard, ""),
            (self._effects.get(str(spec.approval), standard), "as above"),
            *((str(policy.rule(spec)), "this computer's policy") for policy in self._site),
        ]
        return max(ranked, key=lambda item: _ORDER.index(item[0]))


class _Tools(QTreeWidget):
    """The list; Enter on a tool is its alone."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep Enter: a dialogue that it reaches clicks its first button, here Save, and closes."""
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()


def _tree() -> QTreeWidget:
    made = _Tools()
    made.setObjectName("toolRules")
    made.setAccessibleName("Tools and their rules")
    made.setHeaderLabels(["Tool", "What it does", "Rule"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAllColumnsShowFocus(True)
    made.setTabKeyNavigation(False)
    made.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    made.header().setSectionsMovable(False)
    made.header().setStretchLastSection(True)
    made.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
    made.setColumnWidth(0, 190)
    made.setColumnWidth(1, 110)
    return made
