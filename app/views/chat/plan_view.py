"""The plan of a run as a live checklist, with the changes that the tool packs' rules made to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QGridLayout, QLineEdit, QToolButton, QWidget

from app.agent.enforcement.plan_checklist import TAKEN_OUT
from app.agent.events import Override, PlanUpdated
from app.agent.request import PlanEdit
from app.views.chat import missing_models
from app.views.chat.widgets import WrappedText, link_button, show_open
from app.views.icons import icon
from app.views.layouts import Flow, column, row
from app.views.plain_text import one_line
from app.views.theme import SPACE, THEME
from app.views.translation import tr, tr_n, translatable
from app.views.widgets import IconLabel, label, tool_button
from app.views.wording import PackTexts

_LONGEST = 2_000  # characters of a reason: it is shown in full
_ICON = 14
# state -> (word, icon, colour): colour alone would not tell them apart for everyone
_STATES = {
    "pending": (translatable("waiting"), "square", THEME.text_faint),
    "running": (translatable("running"), "loader-circle", THEME.accent),
    "done": (translatable("done"), "circle-check", THEME.ok),
    "incomplete": (translatable("incomplete"), "circle-alert", THEME.warning),
    "failed": (translatable("failed"), "circle-x", THEME.error),
    "skipped": (translatable("left out"), "ban", THEME.text_faint),
}
_PLANNERS = {
    "rules": (translatable("Planned by rules"), translatable("planned by rules")),
    "model": (
        translatable("Planned by the language model"),
        translatable("planned by the language model"),
    ),
}
"""What is said of who planned all steps, and of who planned one."""

_ENFORCED = "enforced"
EditKind = Literal["up", "down", "remove"]
_EDITS: dict[EditKind, tuple[str, str]] = {
    "up": ("chevron-up", translatable("Do this step earlier")),
    "down": ("chevron-down", translatable("Do this step later")),
    "remove": ("x", translatable("Take this step out of the plan")),
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A checklist line: a step with its state (`word`), a rule's change, or a goal not reached."""

    title: str
    details: str = ""  # reasons, verdict, who planned it
    word: str = ""  # state of a step
    icon: str = "shield-check"
    tint: str = THEME.warning

    @property
    def text(self) -> str:
        """All texts of the line joined into one line."""
        if not self.word:
            return f"{self.title}. {self.details}" if self.details else self.title
        more = f" ({self.details.replace(' · ', '; ')})" if self.details else ""
        return f"{self.title}: {self.word}{more}"


class PlanView(QWidget):
    """Shows a plan, folded at the run's end; heading and missed goal stay visible."""

    def __init__(self, texts: PackTexts, edit: Callable[[PlanEdit], object] | None = None) -> None:
        super().__init__()
        self._texts = texts
        self._edit = edit  # None for a run that has ended
        self._event: PlanUpdated | None = None
        self._ended = False
        self.editing = False
        self.head = link_button(tr("Plan"), action=self.toggle)
        show_open(self.head, True)
        self.changed = link_button("", "shield-check", lambda: self.fold(False))
        self.changed.setObjectName("chatBadge")
        self.changed.setIcon(icon("shield-check", THEME.warning))
        self.changed.setToolTip(tr("What the packs' rules changed, and why"))
        self.changed.hide()
        self.edit = link_button("", action=self._toggle_editing)
        self.edit.hide()
        self.hint = label(
            tr("No further step begins until you go on. What has begun is finished."),
            "caption",
            wrap=True,
        )
        self.hint.hide()
        heads = Flow(SPACE.s, self.head, self.changed, self.edit)
        self.goal = PlanLineView()
        self.goal.hide()
        self.steps = Checklist()
        column(heads, self.hint, self.goal, self.steps, spacing=SPACE.xs, parent=self)

    def end_editing(self) -> None:
        """Offer no more changes, since the run has ended; nothing runs or waits any more."""
        self._edit, self.editing, self._ended = None, False, True
        if self._event is not None:
            self.show_plan(self._event)

    def _toggle_editing(self) -> None:
        for line in self.steps.rows:
            line.take_typed()
        self.editing = not self.editing
        self.fold(False)
        if self._edit is not None:
            self._edit(PlanEdit("hold" if self.editing else "go"))
        if self._event is not None:
            self.show_plan(self._event)

    def _show_editing(self, event: PlanUpdated) -> None:
        """Offer to edit steps that have not begun; rules decide on those that they put in."""
        open_ = [
            index
            for index, step in enumerate(event.steps)
            if step.get("state") == "pending" and step.get("by") != _ENFORCED
        ]
        offered = self._edit is not None and (self.editing or (len(event.steps) > 1 and open_))
        self.edit.setVisible(bool(offered))
        text = tr("Go on") if self.editing else tr("Edit plan")
        self.edit.setText(f" {text}")
        self.edit.setAccessibleName(text)
        self.edit.setIcon(icon("play" if self.editing else "pen-line"))
        self.hint.setVisible(self.editing)
        for index, view in enumerate(self.steps.rows):
            kinds: list[EditKind] = []
            if self.editing and index in open_:
                if index != open_[0]:
                    kinds.append("up")
                if index != open_[-1]:
                    kinds.append("down")
                kinds.append("remove")
            step = event.steps[index] if kinds else {}
            tool = str(step.get("tool", ""))
            view.offer(kinds, partial(self._change, index, tool))
            view.offer_arguments(
                step.get("arguments") or {},
                str(step.get("problem") or ""),
                partial(self._set_argument, index, tool),
            )

    def _change(self, index: int, tool: str, kind: EditKind) -> None:
        if self._edit is not None:
            self._edit(PlanEdit(kind, index, tool))

    def _set_argument(self, index: int, tool: str, argument: str, value: str) -> None:
        if self._edit is not None:
            self._edit(PlanEdit("change", index, tool, argument, value))

    def show_plan(self, event: PlanUpdated) -> None:
        if self._event is None and event.held and self._edit is not None:
            self.editing = True  # it waits for the reader
        self._event = event
        reader = _Reader(event, self._texts, ended=self._ended)
        steps, changes = reader.steps(), reader.changes()
        done = sum(1 for step in event.steps if step.get("state") == "done")
        head = tr("Plan")
        if steps:
            head = (
                tr("Plan · {done} of {count} done · goal reached")
                if event.goal == "done"
                else tr("Plan · {done} of {count} done")
            ).format(done=done, count=len(steps))
        self.head.setText(head)
        self.head.setAccessibleName(head)
        count = tr_n("%n change by rules", "%n changes by rules", len(changes))
        self.changed.setText(f" {count}")
        self.changed.setAccessibleName(tr("{count}: show them").format(count=count))
        self.changed.setVisible(bool(changes))
        unreached = reader.unreached_goal()
        self.goal.show_line(PlanLine(unreached, icon="triangle-alert"))
        self.goal.setVisible(bool(unreached))
        self.steps.show_lines(reader.planned_by, steps, changes)
        self._show_editing(event)
        goal = tr("Goal reached") if event.goal == "done" else unreached
        whole = [*(line.text for line in (*steps, *changes)), *([goal] if goal else [])]
        self.steps.text = "\n".join(whole)
        self.setAccessibleName(tr("Plan, {text}").format(text=self.steps.text))

    def toggle(self) -> None:
        self.fold(not self.steps.isHidden())

    def fold(self, folded: bool) -> None:
        self.steps.setVisible(not folded)
        show_open(self.head, not folded)


class Checklist(QWidget):
    """Shows a plan's steps and changes; line widgets are reused, since a plan changes often."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.rows: list[PlanLineView] = []
        self.changes: list[PlanLineView] = []
        self._planner = label("", "faint")
        self._planner.hide()
        self._layouts = (column(spacing=6), column(spacing=6))
        column(self._planner, *self._layouts, spacing=6, margins=(SPACE.s, 0, 0, 0), parent=self)

    def show_lines(
        self, planned_by: str, steps: Sequence[PlanLine], changes: Sequence[PlanLine]
    ) -> None:
        """Show the steps and changes below `planned_by` (who made the plan), hidden if it is ""."""
        self._planner.setText(planned_by)
        self._planner.setVisible(bool(planned_by))
        parts = ((self.rows, steps), (self.changes, changes))
        for (views, lines), layout in zip(parts, self._layouts, strict=True):
            for view in views[len(lines) :]:
                view.hide()
                view.setParent(None)
                view.deleteLater()
            del views[len(lines) :]
            while len(views) < len(lines):
                views.append(PlanLineView())
                layout.addWidget(views[-1])
            for place, (view, line) in enumerate(zip(views, lines, strict=True), 1):
                number = (
                    tr("Step {place} of {count}: ").format(place=place, count=len(lines))
                    if line.word
                    else ""
                )
                view.show_line(line, number)


class PlanLineView(QWidget):
    """Shows a `PlanLine`: icon, title and state in a row, the details below."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: PlanLine | None = None
        self._mark = IconLabel("square", _ICON)
        self._mark.setFixedHeight(_ICON + 4)
        self.title = WrappedText()
        self.word = label("", "caption")
        self.word.setContentsMargins(0, 2, 0, 0)
        self.details = WrappedText("caption")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE.s)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._mark, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self.word, 0, 2, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.details, 1, 1, 1, 2)
        self.edits: dict[EditKind, QToolButton] = {}
        self._act: Callable[[EditKind], object] = lambda _kind: None
        self._set: Callable[[str, str], object] = lambda _argument, _value: None
        self.arguments: dict[str, QLineEdit] = {}
        self._form: QWidget | None = None
        self.problem = WrappedText("caption")
        self.problem.hide()
        grid.addWidget(self.problem, 3, 1, 1, 2)
        self._grid = grid

    def offer(self, kinds: Sequence[EditKind], act: Callable[[EditKind], object]) -> None:
        """Show a button for each change of the step that is possible."""
        self._act = act
        if kinds and not self.edits:
            for kind, (name, text) in _EDITS.items():
                button = tool_button(name, tr(text), partial(self._press, kind), 14)
                button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
                self.edits[kind] = button
            buttons = QWidget()
            row(*self.edits.values(), spacing=0, parent=buttons)
            self._grid.addWidget(buttons, 0, 3, 2, 1, Qt.AlignmentFlag.AlignTop)
            buttons.show()  # now, not with the next event: Tab goes to them
        for kind, button in self.edits.items():
            button.setVisible(bool(kinds))
            button.setEnabled(kind in kinds)

    def _press(self, kind: EditKind) -> None:
        self._act(kind)

    def offer_arguments(
        self,
        values: Mapping[str, object],
        problem: str,
        set_value: Callable[[str, str], object],
    ) -> None:
        """Show a field for each argument of the step that the user may change, with its value."""
        self._set = set_value
        if list(values) != list(self.arguments):
            if self._form is not None:
                self._form.hide()
                self._form.deleteLater()
            self.arguments, self._form = {}, QWidget() if values else None
            if self._form is not None:
                form = QFormLayout(self._form)
                form.setContentsMargins(0, SPACE.xs, 0, 0)
                for name in values:
                    self.arguments[name] = field = QLineEdit()
                    shown = name.replace("_", " ").capitalize()
                    field.setAccessibleName(shown)
                    field.editingFinished.connect(partial(self._typed, name))
                    form.addRow(shown, field)
                self._grid.addWidget(self._form, 2, 1, 1, 3)
                self._form.show()  # now, as the buttons
        for name, field in self.arguments.items():
            if not (field.isModified() or problem):
                field.setText(str(values[name]))
        self.problem.set_full(problem, _LONGEST)
        self.problem.setVisible(bool(problem))

    def take_typed(self) -> None:
        """Set the values that were typed and not yet confirmed."""
        for name in [*self.arguments]:
            self._typed(name)

    def _typed(self, name: str) -> None:
        field = self.arguments[name]
        if field.isModified():
            field.setModified(False)
            self._set(name, field.text())

    def show_line(self, line: PlanLine, number: str = "") -> None:
        self.setAccessibleName(f"{number}{line.text}")
        if line == self._shown:
            return
        self._shown = line
        self._mark.set_icon(line.icon, line.tint)
        self._mark.setAccessibleName(line.word)
        self.title.set_full(line.title, 4 * _LONGEST)
        self.word.setText(line.word)
        self.word.setVisible(bool(line.word))
        self.details.set_full(line.details, 4 * _LONGEST)
        self.details.setVisible(bool(line.details))


class _Reader:
    """Puts an event into words."""

    def __init__(self, event: PlanUpdated, texts: PackTexts, *, ended: bool) -> None:
        self._event = event
        self._ended = ended
        self._texts = texts
        named = {str(step.get("tool", "")) for step in event.steps}
        named.update(name for item in event.overrides for name in (item.tool, item.instead))
        # A step in the model's own words names no tool.
        self._tools = {name for name in named if name.isidentifier()}
        planners = {str(step.get("by", "")) for step in event.steps} - {_ENFORCED}
        one = next(iter(planners)) if len(planners) == 1 else ""
        # Who planned all steps but those that rules added; "" where that differs.
        self.planned_by = tr(_PLANNERS[one][0]) if one in _PLANNERS else ""

    def steps(self) -> list[PlanLine]:
        return [self._step(step) for step in self._event.steps]

    def changes(self) -> list[PlanLine]:
        return [
            PlanLine(
                tr("Changed by a rule: {change}").format(change=self._change(item)),
                self._sentence(item.reason),
            )
            for item in self._event.overrides
        ]

    def unreached_goal(self) -> str:
        """Return why the goal was not reached; "" if it was or is still worked on."""
        if self._event.goal != "incomplete":
            return ""
        why = self._event.goal_why
        for step in self._event.steps:  # its card says why it failed
            verdict = str(step.get("verdict") or "").rstrip(".")
            why = why.replace(f": {verdict}", "") if verdict else why
        why = self._sentence(why)
        return tr("Goal not reached: {why}").format(why=why) if why else tr("Goal not reached.")

    def _step(self, step: Mapping[str, Any]) -> PlanLine:
        state, by = str(step.get("state", "")), str(step.get("by", ""))
        state = state if state in _STATES else "pending"
        if self._ended:  # a kill of the program told no more of these
            state = {"running": "failed", "pending": "skipped"}.get(state, state)
        # Why a step was not run stands in full at the rule's change, so not here as well.
        at_change = {f"Not run: {item.reason}" for item in self._event.overrides}
        reasons = [str(step.get(key) or "") for key in ("why", "verdict")]
        reasons = [tr("you took it out of the plan") if r == TAKEN_OUT else r for r in reasons]
        details = [self._sentence(text) for text in reasons if text not in at_change]
        if state == "pending":
            details.append(self._waits_for(step.get("after") or ()))
        if by == _ENFORCED and state != "skipped":
            details.append(tr("put in by a rule"))
        elif not self.planned_by and by in _PLANNERS:
            details.append(tr(_PLANNERS[by][1]))
        shown = dict.fromkeys(item for item in details if item)
        word, icon, tint = _STATES[state]
        return PlanLine(self._title(step.get("tool")), " · ".join(shown), tr(word), icon, tint)

    def _title(self, tool: Any) -> str:
        """Return a tool's title; a step in the model's own words stays as it is."""
        text = one_line(str(tool or ""), 200)
        return text[:1].upper() + text[1:] if " " in text else self._texts.title(text)

    def _waits_for(self, after: Any) -> str:
        steps = self._event.steps
        numbers = [number for number in after if isinstance(number, int)]
        earlier = [steps[number - 1] for number in numbers if 1 <= number <= len(steps)]
        open_ = [step for step in earlier if step.get("state") in ("pending", "running")]
        names = [self._title(step.get("tool")) for step in open_]
        return tr("waits for: {names}").format(names=", ".join(names)) if names else ""

    def _sentence(self, text: str) -> str:
        text = one_line(missing_models.without_files(text), _LONGEST)
        return self._texts.with_titles(text, self._tools)

    def _change(self, item: Override) -> str:
        tool, instead = (
            self._texts.title(one_line(name, 80)) if name else ""
            for name in (item.tool, item.instead)
        )
        known = {
            "dependency": tr("{instead} runs first").format(instead=instead)
            if instead
            else tr("{tool} cannot run yet").format(tool=tool),
            "successor": tr("{instead} follows").format(instead=instead),
            "excluded": tr("{tool} is not used").format(tool=tool),
            "left_out": tr("{tool} is left out, as you asked").format(tool=tool),
            "low_priority": tr("{instead} instead of {tool}").format(instead=instead, tool=tool),
            "unsuitable": tr("{tool} is not for this image").format(tool=tool),
            "incomplete": tr("the model is asked once more"),
            "empty_result": tr("{instead} lists what there is").format(instead=instead)
            if instead
            else tr("{tool} found nothing").format(tool=tool),
        }
        return known.get(item.rule) or tr("{tool} is changed").format(
            tool=tool or instead or tr("a step")
        )
