"""What is meant to be done, as a live checklist, and what rules changed in it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.agent.events import PlanUpdated
from app.views.chat.plan_text import Changed, PlanText, StepText, read_plan
from app.views.chat.widgets import Flow, Wrapped, label, link_button
from app.views.icons import icon, pixmap
from app.views.pack_texts import PackTexts
from app.views.theme import SPACE, THEME

_ICON = 14
# state -> (icon, colour); what is told apart by colour is told apart by shape and word too.
_MARKS = {
    "pending": ("square", THEME.text_faint),
    "running": ("loader-circle", THEME.accent),
    "done": ("circle-check", THEME.ok),
    "incomplete": ("circle-alert", THEME.warning),
    "failed": ("circle-x", THEME.error),
    "skipped": ("ban", THEME.text_faint),
}


class PlanView(QWidget):
    """The plan: open while it is worked on, folded when the run has ended.

    What rules changed is counted in the head, and an unreached goal stands below it: both are seen
    also when it is folded.
    """

    def __init__(self, texts: PackTexts) -> None:
        super().__init__()
        self._texts = texts
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE.xs)
        self.head = link_button("Plan", "chevron-down", self.toggle)
        self.head.setAccessibleDescription("open")
        self.changed = link_button("", "shield-check", lambda: self.fold(False))
        self.changed.setObjectName("chatBadge")
        self.changed.setIcon(icon("shield-check", THEME.warning))
        self.changed.setToolTip("What the packs' rules changed, and why")
        self.changed.hide()
        heads = Flow(SPACE.s)
        heads.addWidget(self.head)
        heads.addWidget(self.changed)
        layout.addLayout(heads)
        self.goal = _Line("triangle-alert", THEME.warning)
        self.goal.hide()
        layout.addWidget(self.goal)
        self.steps = Checklist()
        layout.addWidget(self.steps)

    def show_plan(self, event: PlanUpdated) -> None:
        """Show how the plan stands."""
        text = read_plan(event, self._texts)
        self.head.setText(text.head)
        self.head.setAccessibleName(text.head)
        self.changed.setText(f" {text.changed}")
        self.changed.setAccessibleName(f"{text.changed}: show them")
        self.changed.setVisible(bool(text.changed))
        self.goal.say(text.unreached, "")
        self.goal.setVisible(bool(text.unreached))
        self.steps.show_plan(text)
        self.setAccessibleName(f"Plan, {text.whole}")

    def toggle(self) -> None:
        """Fold or unfold."""
        self.fold(not self.steps.isHidden())

    def fold(self, folded: bool) -> None:
        """Hide the steps, or show them."""
        self.steps.setVisible(not folded)
        self.head.setIcon(icon("chevron-right" if folded else "chevron-down"))
        self.head.setAccessibleDescription("closed" if folded else "open")


class Checklist(QWidget):
    """The steps and the changes. Lines are kept and written anew: a plan changes often."""

    def __init__(self) -> None:
        super().__init__()
        self._text = PlanText()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE.s, 0, 0, 0)
        layout.setSpacing(6)
        self._planner = label("", "faint")
        self._planner.hide()
        self._steps = QVBoxLayout()
        self._steps.setSpacing(6)
        self._changes = QVBoxLayout()
        self._changes.setSpacing(6)
        layout.addWidget(self._planner)
        layout.addLayout(self._steps)
        layout.addLayout(self._changes)
        self.rows: list[StepRow] = []
        self.changes: list[_Line] = []

    def show_plan(self, text: PlanText) -> None:
        """Write what is different now."""
        if text == self._text:
            return
        self._text = text
        self._planner.setText(text.planned_by)
        self._planner.setVisible(bool(text.planned_by))
        for place, step in enumerate(text.steps):
            if place == len(self.rows):
                self.rows.append(StepRow())
                self._steps.addWidget(self.rows[-1])
            self.rows[place].show_step(step, f"Step {place + 1} of {len(text.steps)}")
        for place, change in enumerate(text.changes):
            if place == len(self.changes):
                self.changes.append(_Line("shield-check", THEME.warning))
                self._changes.addWidget(self.changes[-1])
            _show_change(self.changes[place], change)
        for old in (*self.rows[len(text.steps) :], *self.changes[len(text.changes) :]):
            old.hide()
            old.setParent(None)
            old.deleteLater()
        del self.rows[len(text.steps) :]
        del self.changes[len(text.changes) :]

    def as_text(self) -> str:
        """A line a step and a change, and the goal."""
        return self._text.whole


class StepRow(QWidget):
    """A step: its state as sign and word, its title, and below it what there is to say."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: StepText | None = None
        self._mark = _mark()
        self.title = Wrapped()
        self.word = label("", "caption")
        self.word.setContentsMargins(0, 2, 0, 0)
        self.details = Wrapped("caption")
        grid = _grid(self)
        grid.addWidget(self._mark, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self.word, 0, 2, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.details, 1, 1, 1, 2)

    def show_step(self, step: StepText, place: str) -> None:
        """Show a step; `place` says which one it is, for who does not see the others."""
        self.setAccessibleName(f"{place}: {step.whole}")
        if step == self._shown:
            return
        self._shown = step
        name, tint = _MARKS[step.state]
        self._mark.setPixmap(pixmap(name, _ICON, tint, 2.0))
        self._mark.setAccessibleName(step.word)
        self.title.set_full(step.title)
        self.word.setText(step.word)
        details = " · ".join(step.details)
        self.details.set_full(details, _LONGEST)
        self.details.setVisible(bool(details))


class _Line(QWidget):
    """A sign, a title and a text on as many lines as it takes."""

    def __init__(self, name: str, tint: str) -> None:
        super().__init__()
        mark = _mark()
        mark.setPixmap(pixmap(name, _ICON, tint, 2.0))
        self.title = Wrapped()
        self.text = Wrapped("caption")
        grid = _grid(self)
        grid.addWidget(mark, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self.text, 1, 1)

    def say(self, title: str, text: str) -> None:
        """Show a title and a text; either may be empty."""
        self.title.set_full(title, _LONGEST)
        self.title.setVisible(bool(title))
        self.text.set_full(text, _LONGEST)
        self.text.setVisible(bool(text))
        self.setAccessibleName(f"{title}. {text}".strip(". "))


_LONGEST = 8_000


def _show_change(line: _Line, change: Changed) -> None:
    line.say(f"Changed by a rule: {change.what}", change.reason)


def _mark() -> QLabel:
    mark = QLabel()
    mark.setFixedSize(_ICON, _ICON + 4)
    return mark


def _grid(box: QWidget) -> QGridLayout:
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(SPACE.s)
    grid.setVerticalSpacing(1)
    grid.setColumnStretch(1, 1)
    return grid
