"""The undo stack, and the findings on the open images with colour, visibility and selection."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from app.imaging.findings import Finding, Instances, Mask, Provenance, State
from app.imaging.label_colors import LabelColors
from app.imaging.types import Frame, ImageRef
from app.workspace import drawing, review
from app.workspace.signals import Signal

LIMIT = 200  # commands kept; older ones can no longer be undone


@dataclass(frozen=True, slots=True)
class Command:
    """An undoable change: a menu label, and functions that make and reverse the change."""

    label: str
    do: Callable[[], None]
    undo: Callable[[], None]
    run_id: str = ""
    """The run of the assistant that made it; "" for a change by the user."""


class CommandStack:
    """The changes that can be undone and redone."""

    def __init__(self) -> None:
        self._joint = ""  # what the last command may be joined with
        self._run_id = ""
        self._done: list[Command] = []
        self._undone: list[Command] = []
        self.changed: Signal[()] = Signal()

    def push(self, command: Command, joint: str = "", *, performed: bool = False) -> None:
        """Perform a command and remember it for undo; commands that could be redone are dropped.

        Commands in a row with the same non-empty `joint` are undone at once, as the steps of a key
        that is held down. One that was `performed` already is only remembered.
        """
        if not performed:
            command.do()
        if self._run_id:
            command = replace(command, run_id=self._run_id)
        if joint and joint == self._joint and self._done and not self._undone:
            command = replace(command, undo=self._done.pop().undo)
        self._joint = joint
        self._done.append(command)
        del self._done[:-LIMIT]
        self._undone.clear()
        self.changed.emit()

    @contextmanager
    def of_run(self, run_id: str) -> Generator[None]:
        """Let commands that are pushed meanwhile belong to a run of the assistant."""
        before, self._run_id = self._run_id, run_id
        try:
            yield
        finally:
            self._run_id = before

    def join_run(self, run_id: str, label: str) -> None:
        """Make one step of the run's commands that lie on top of the stack; it is undone at once.

        What the user did in between stays a step of its own, and so does what the run did before.
        """
        count = len(self._done)
        while count and self._done[count - 1].run_id == run_id:
            count -= 1
        steps = self._done[count:]
        if not run_id or len(steps) < 2:
            return

        def do() -> None:
            for step in steps:
                step.do()

        def undo() -> None:
            for step in reversed(steps):
                step.undo()

        self._done[count:] = [Command(label, do, undo, run_id)]
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last command, if there is one."""
        self._joint = ""
        if self._done:
            command = self._done[-1]
            command.undo()
            self._undone.append(self._done.pop())
            self.changed.emit()

    def redo(self) -> None:
        """Redo the last undone command, if there is one."""
        if self._undone:
            command = self._undone.pop()
            command.do()
            self._done.append(command)
            self.changed.emit()

    def clear(self) -> None:
        """Forget all commands, e.g. when the objects that they refer to are closed."""
        self._done.clear()
        self._undone.clear()
        self.changed.emit()

    @property
    def undo_step(self) -> Command | None:
        """The command that `undo` would undo, if there is one."""
        return self._done[-1] if self._done else None

    @property
    def undo_count(self) -> int:
        """How many commands can be undone."""
        return len(self._done)

    @property
    def redo_step(self) -> Command | None:
        """The command that `redo` would redo, if there is one."""
        return self._undone[-1] if self._undone else None

    @property
    def undo_label(self) -> str:
        """Label of the command that `undo` would undo, or "" if there is none."""
        return self._done[-1].label if self._done else ""

    @property
    def redo_label(self) -> str:
        """Label of the command that `redo` would redo, or "" if there is none."""
        return self._undone[-1].label if self._undone else ""


_STEP = 8


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding, its visibility, and its `color`: an index into the theme's annotation colours.

    Attributes:
        kept: When it was saved (ISO 8601, UTC), if in an earlier session and not looked at since.
        tint: A colour of its own (#rrggbb) in place of `color`; "" for none.
        locked: Whether it is kept from being moved, changed or deleted.
        folder: Name of the group that a person has put it in; "" for none.
    """

    finding: Finding
    color: int
    visible: bool = True
    kept: str = ""
    tint: str = ""
    locked: bool = False
    folder: str = ""


class Annotations:
    """All annotations in order of arrival; adding, changing or removing findings can be undone.

    `labels` have fixed colours, whatever is found; `selected` is the selected finding's id, or "",
    and `selected_object` the number of the selected object if it is one of an `Instances`, else 0.

    Attributes:
        commands: The undo stack that gets each change.
        originals_shown: Whether the originals of edited findings are drawn beside them.
        rejected_shown: Whether rejected findings are drawn.
        reviewer: Name of the user, who accepts, edits and rejects findings.
        decided: Emitted with the tools' findings whose state has changed, also by undo.
        object_changed: Emitted with the finding's id and the number of the selected object, after
            `selection_changed`; with ("", 0) when none is selected any more.
        found_again: Emitted with the findings of earlier runs, accepted or rejected, that a tool
            has found again.
        refused: Tells that locked findings were not changed or deleted; carries how many.
        pointed: Ids of the findings that a link under the pointer leads to; highlighted.
        pointed_changed: Emitted when these have changed.
        region_wanted: Emitted with the id of a finding that is to be brought into view.
    """

    def __init__(self, commands: CommandStack, labels: Sequence[str] = ()) -> None:
        self.commands = commands
        self._items: dict[str, Annotation] = {}
        self._order: dict[str, int] = {}  # of arrival, also of those that were removed
        self._colors = LabelColors(labels)
        self.selected: str = ""
        self.selected_object: int = 0
        self.reviewer: str = ""
        self.originals_shown = False
        self.rejected_shown = True
        self.decided: Signal[tuple[Finding, ...]] = Signal()
        self.found_again: Signal[tuple[Finding, ...]] = Signal()
        self.changed: Signal[()] = Signal()
        self.selection_changed: Signal[str] = Signal()
        self.object_changed: Signal[str, int] = Signal()
        self.refused: Signal[int] = Signal()
        self.pointed: frozenset[str] = frozenset()
        self.pointed_changed: Signal[()] = Signal()
        self.region_wanted: Signal[str] = Signal()

    def __len__(self) -> int:
        return len(self._items)

    def all(self) -> tuple[Annotation, ...]:
        """Return all annotations in order of arrival."""
        return tuple(self._items.values())

    def get(self, finding_id: str) -> Annotation | None:
        """Return the annotation for a finding, or None if there is none with this id."""
        return self._items.get(finding_id)

    def on_image(self, ref: ImageRef) -> tuple[Annotation, ...]:
        """Return the annotations on `ref`, i.e. on the same frame with the same pixels."""
        return tuple(item for item in self._items.values() if item.finding.image == ref)

    def on_frame(self, frame: Frame) -> tuple[Annotation, ...]:
        """Return the annotations on a frame, and on other channels at the same place and time."""
        return tuple(item for item in self._items.values() if frame.shows(item.finding.image))

    def add(self, findings: Sequence[Finding], label: str = "Add findings") -> None:
        """Add findings from a tool as one undoable step, which the menu names `label`.

        A finding replaces a proposed one from an earlier run of the same tool on the same image
        with the same label, unless both are masks that do not overlap or marks that the user had
        set at different places: those are different things. Accepted, edited and rejected ones
        stay, and the new one is proposed beside them; but one that is the same as an accepted or
        rejected one is not added. `found_again` says so.
        """
        if not findings:
            return
        before = dict(self._items)
        after = dict(before)
        made: dict[tuple[ImageRef, str, str], list[Finding]] = {}
        for finding in findings:
            made.setdefault(_same(finding), []).append(finding)
        again: list[Finding] = []
        settled: set[str] = set()
        for finding_id, item in before.items():
            newer = [
                finding
                for finding in made.get(_same(item.finding), ())
                if not _apart(item.finding, finding)
            ]
            if newer and item.finding.state is State.PROPOSED and not item.locked:
                del after[finding_id]
            elif newer:
                again.append(item.finding)
                settled.update(one.id for one in newer if _equal(one, item.finding))
        for finding in findings:
            if finding.id not in settled:
                after[finding.id] = Annotation(finding, self._colors.take(finding.label))
        if after != before:
            self._push(label, before, after)
        if again:
            self.found_again.emit(tuple(again))

    def put(self, finding: Finding, label: str, joint: str = "") -> None:
        """Add or change a finding drawn or corrected by the user; `label` names the undo step.

        Steps with the same `joint` are undone at once; see `CommandStack.push`. Unlike `add`, this
        replaces only the finding with the same id, since the user may measure many lengths on one
        image. A drawing is accepted by the user from the start; a finding of a tool becomes edited
        if its geometry, label or code changes, and keeps its original. Findings computed from a
        corrected one are marked as outdated.
        """
        before = dict(self._items)
        after = dict(before)
        known = before.get(finding.id)
        if known is not None and known.locked:
            self.refused.emit(1)
            return
        finding = review.by_person(finding, known.finding if known else None, self.reviewer)
        if known is not None:
            after[finding.id] = replace(known, finding=finding, visible=True)
        else:
            after[finding.id] = Annotation(finding, self._colors.take(finding.label))
        if finding.corrected:
            others = [item.finding for item in self.on_image(finding.image)]
            others = [one for one in others if one.id != finding.id]
            for one in drawing.after_correction(finding, others):
                after[one.id] = replace(after[one.id], finding=one)
        self._push(label, before, after, joint)

    def of_call(self, made: Provenance) -> tuple[str, ...]:
        """Return the ids of the findings of the tool call that made a finding.

        They are () for the user's own drawings. Ids of calls are unique within their run only.
        """
        call = (made.run_id, made.call_id)
        items = self._items.values() if all(call) else ()
        return tuple(
            item.finding.id
            for item in items
            if (item.finding.provenance.run_id, item.finding.provenance.call_id) == call
            and not drawing.by_hand(item.finding)
        )

    def proposed(self, finding_ids: Iterable[str]) -> list[str]:
        """Return those of these ids whose findings are a tool's that nobody has decided on."""
        found = (self._items.get(finding_id) for finding_id in finding_ids)
        return [one.finding.id for one in found if one and review.unverified(one.finding)]

    def show_originals(self, shown: bool) -> None:
        """Draw the originals of edited findings beside them, or not; cannot be undone."""
        self.originals_shown = shown
        self.changed.emit()

    def show_rejected(self, shown: bool) -> None:
        """Draw rejected findings, or not; cannot be undone."""
        self.rejected_shown = shown
        self.changed.emit()

    def decisions(self) -> dict[str, dict[str, str]]:
        """Return state, reviewer and time of the tools' findings that were decided on, by id."""
        made = (item.finding for item in self._items.values())
        return {
            one.id: {"state": one.state.value, "reviewer": one.reviewer, "reviewed": one.reviewed}
            for one in made
            if not drawing.by_hand(one) and not review.unverified(one)
        }

    def decide(self, finding_ids: Iterable[str], state: State) -> None:
        """Accept, reject or set back tools' findings as one undoable step.

        Findings that a person has changed become edited where `state` is accepted. Drawings, ids
        that are unknown, and findings that have the state already are passed over.
        """
        before = dict(self._items)
        after = dict(before)
        changed: list[Finding] = []
        for finding_id in finding_ids:
            item = before.get(finding_id)
            if item is None or drawing.by_hand(item.finding):
                continue
            one = review.decided(item.finding, state, self.reviewer)
            if one.state is not item.finding.state:
                after[finding_id] = replace(item, finding=one)
                changed.append(one)
        if changed:
            self._push(review.step_label(state, changed), before, after)

    def restore(self, finding_ids: Iterable[str]) -> None:
        """Put the originals of edited findings in their place, proposed, as one undoable step.

        Locked ones stay as they are.
        """
        before = dict(self._items)
        edited = [before[key] for key in finding_ids if key in before]
        edited = [item for item in edited if item.finding.original is not None]
        if locked := sum(item.locked for item in edited):
            self.refused.emit(locked)
        edited = [item for item in edited if not item.locked]
        if edited:
            originals = {
                item.finding.id: replace(item, finding=review.restored(item.finding))
                for item in edited
            }
            what = f"Restore {edited[0].finding.label.lower()}"
            what = what if len(edited) == 1 else f"Restore {len(edited)} findings"
            self._push(what, before, before | originals)

    def put_all(self, items: Sequence[Annotation], label: str) -> None:
        """Add marks with their colours and groups as one undoable step; each has a new id."""
        before = dict(self._items)
        if items:
            added = {item.finding.id: item for item in items}
            self._push(label, before, before | added)

    def alter(
        self, finding_ids: Iterable[str], label: str, change: Callable[[Annotation], Annotation]
    ) -> None:
        """Change annotations as one undoable step; locked ones can be unlocked, hidden and shown.

        `change` returns the annotation in place of the given one; it keeps the finding's id.
        """
        before, after, refused = dict(self._items), dict(self._items), 0
        for finding_id in finding_ids:
            item = before.get(finding_id)
            if item is None:
                continue
            changed = change(item)
            free = replace(item, locked=changed.locked, visible=changed.visible)
            if item.locked and free != changed:
                refused += 1
            else:
                after[finding_id] = changed
        if any(after[key] is not before[key] for key in before):
            self._push(label, before, after)
        if refused:
            self.refused.emit(refused)

    def is_locked(self, finding_id: str) -> bool:
        """Return whether a finding must not be changed, and if so tell that it is locked."""
        item = self._items.get(finding_id)
        if item is not None and item.locked:
            self.refused.emit(1)
            return True
        return False

    def remove(self, finding_ids: Iterable[str], label: str = "") -> int:
        """Remove findings as one undoable step; return how many. Locked ones stay.

        Unknown ids are ignored; `label` names the step, by default "Remove finding".
        """
        known = set(finding_ids) & set(self._items)
        gone = {key for key in known if not self._items[key].locked}
        if gone:
            before = dict(self._items)
            after = {key: item for key, item in before.items() if key not in gone}
            what = "finding" if len(gone) == 1 else f"{len(gone)} findings"
            self._push(label or f"Remove {what}", before, after)
        if len(gone) < len(known):
            self.refused.emit(len(known) - len(gone))
        return len(gone)

    def set_visible(self, finding_ids: Iterable[str], visible: bool) -> None:
        """Show or hide findings; cannot be undone."""
        for finding_id in finding_ids:
            if finding_id in self._items:
                self._items[finding_id] = replace(self._items[finding_id], visible=visible)
        self.changed.emit()

    def change(self, findings: Sequence[Finding], label: str) -> None:
        """Change known findings as one undoable step, which the menu names `label`."""
        before = dict(self._items)
        after = dict(before)
        for finding in findings:
            if finding.id in after:
                after[finding.id] = replace(after[finding.id], finding=finding)
        self._push(label, before, after)

    def refresh(self, findings: Iterable[Finding]) -> None:
        """Replace known findings by the same ones measured anew; no step of its own to undo."""
        changed = {one.id: one for one in findings if one.id in self._items}
        for finding_id, finding in changed.items():
            self._items[finding_id] = replace(self._items[finding_id], finding=finding)
        if changed:
            self.changed.emit()

    def select(self, finding_id: str, number: int = 0) -> None:
        """Select a finding ("" for none), so that the list, canvas and chat highlight it.

        With `number`, one object of an `Instances` is selected, so that tables and plots show it.
        """
        had_object, self.selected_object = self.selected_object, number
        other = finding_id != self.selected
        if other:
            self.selected = finding_id
            self.selection_changed.emit(finding_id)
            item = self._items.get(finding_id)
            if item is not None and item.kept:
                self._items[finding_id] = replace(item, kept="")
                self.changed.emit()
        if number != had_object or (number and other):
            self.object_changed.emit(finding_id if number else "", number)

    def point_at(self, finding_ids: Iterable[str]) -> None:
        """Highlight findings while the pointer is on a link to them; none ends this."""
        pointed = frozenset(finding_ids)
        if pointed != self.pointed:
            self.pointed = pointed
            self.pointed_changed.emit()

    def color_of(self, label: str) -> int:
        """Return the colour index that a finding with this label has or would get."""
        return self._colors.of(label)

    def fix_colors(self, labels: Sequence[str]) -> None:
        """Give these labels fixed colours (see `LabelColors`)."""
        self._colors = LabelColors(labels)
        self.bring_back(self.all())

    def bring_back(self, items: Sequence[Annotation]) -> None:
        """Add annotations of an earlier session; no step to undo."""
        colors = {
            one.finding.id: replace(one, color=self._colors.take(one.finding.label))
            for one in items
        }
        self._apply(colors)

    def forget(self, finding_ids: Iterable[str]) -> None:
        """Remove findings for good: no step brings them back, and the undo stack is emptied."""
        self.commands.clear()  # also of steps that would bring back what was deleted before
        gone = dict.fromkeys(set(finding_ids) & set(self._items))
        if gone:
            self._apply(gone)

    def _push(
        self,
        label: str,
        before: dict[str, Annotation],
        after: dict[str, Annotation],
        joint: str = "",
    ) -> None:
        # Only what differs: marks that are brought back in between must stay.
        keys = [key for key in before | after if before.get(key) is not after.get(key)]
        old = {key: before.get(key) for key in keys}
        new = {key: after.get(key) for key in keys}
        command = Command(
            label,
            do=lambda: self._apply(self._seen_as_now(new, old)),
            undo=lambda: self._apply(self._seen_as_now(old, new)),
        )
        self.commands.push(command, joint)

    def _seen_as_now(
        self, changes: Mapping[str, Annotation | None], others: Mapping[str, Annotation | None]
    ) -> dict[str, Annotation | None]:
        """Return changes without hiding or showing what a step did not hide or show.

        The eye in the list is no step: what was shown again since must not vanish by undo.
        """
        result = dict(changes)
        for key, item in changes.items():
            known, other = self._items.get(key), others.get(key)
            if item is None or known is None or other is None:
                continue
            if item.visible == other.visible != known.visible:
                result[key] = replace(item, visible=known.visible)
        return result

    def _apply(self, changes: Mapping[str, Annotation | None]) -> None:
        """Set findings by id, and remove those with None; the order of arrival stays."""
        was = self._items
        items = dict(was)
        for finding_id, item in changes.items():
            if item is None:
                items.pop(finding_id, None)
            else:
                self._order.setdefault(finding_id, len(self._order))
                items[finding_id] = item
        self._items = dict(sorted(items.items(), key=lambda one: self._order[one[0]]))
        if self.selected and self.selected not in items:
            self.select("")
        self.changed.emit()
        changed = tuple(
            item.finding
            for finding_id, item in items.items()
            if (old := was.get(finding_id)) is not None
            and old.finding.state is not item.finding.state
            and not drawing.by_hand(item.finding)
        )
        if changed:
            self.decided.emit(changed)


def _apart(one: Finding, other: Finding) -> bool:
    """Return whether two findings are different things.

    They are marks set at different places, or masks that share no pixel: large ones by every 8th.
    """
    first, second = one.geometry, other.geometry
    if one.provenance.tool in drawing.SET_BY_COMMAND:
        return first != second
    if not (isinstance(first, Mask) and isinstance(second, Mask)):
        return False
    for step in (_STEP, 1):
        a, b = first.pixels[::step, ::step], second.pixels[::step, ::step]
        if a.any() and b.any():
            return not bool((a & b).any())
    return False


def _equal(one: Finding, other: Finding) -> bool:
    """Return whether two findings say the same of the same place."""
    first, second = one.geometry, other.geometry
    if isinstance(first, Mask) and isinstance(second, Mask):
        same = np.array_equal(first.pixels, second.pixels)
    elif isinstance(first, Instances) and isinstance(second, Instances):
        same = np.array_equal(first.labels, second.labels)
    else:
        same = first == second
    said = (one.value, one.score) == (other.value, other.score)
    return same and said and other.original is None


def _same(finding: Finding) -> tuple[ImageRef, str, str]:
    return finding.image, finding.provenance.tool, finding.label
