"""The undo stack, and the findings on the open images with colour, visibility and selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from app.imaging.findings import Finding, Mask
from app.imaging.label_colors import LabelColors
from app.imaging.types import ImageRef
from app.workspace import drawing
from app.workspace.signals import Signal

LIMIT = 200  # commands kept; older ones can no longer be undone


@dataclass(frozen=True, slots=True)
class Command:
    """An undoable change: a menu label, and functions that make and reverse the change."""

    label: str
    do: Callable[[], None]
    undo: Callable[[], None]


class CommandStack:
    """The changes that can be undone and redone."""

    def __init__(self) -> None:
        self._done: list[Command] = []
        self._undone: list[Command] = []
        self.changed: Signal[()] = Signal()

    def push(self, command: Command) -> None:
        """Perform a command and remember it for undo; commands that could be redone are dropped."""
        command.do()
        self._done.append(command)
        del self._done[:-LIMIT]
        self._undone.clear()
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last command, if there is one."""
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
    """A finding, its visibility, and its `color`: an index into the theme's annotation colours."""

    finding: Finding
    color: int
    visible: bool = True


class Annotations:
    """All annotations in order of arrival; adding, changing or removing findings can be undone.

    `labels` have fixed colours, whatever is found; `selected` is the selected finding's id, or "".
    """

    def __init__(self, commands: CommandStack, labels: Sequence[str] = ()) -> None:
        self._commands = commands
        self._items: dict[str, Annotation] = {}
        self._colors = LabelColors(labels)
        self.selected: str = ""
        self.changed: Signal[()] = Signal()
        self.selection_changed: Signal[str] = Signal()

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

    def add(self, findings: Sequence[Finding], label: str = "Add findings") -> None:
        """Add findings from a tool as one undoable step, which the menu names `label`.

        A finding replaces one from an earlier run of the same tool on the same image with the same
        label. The earlier one stays if the user has corrected it, or if both are masks that do not
        overlap: such masks outline different things.
        """
        if not findings:
            return
        before = dict(self._items)
        after = dict(before)
        made: dict[tuple[ImageRef, str, str], list[Finding]] = {}
        for finding in findings:
            made.setdefault(_same(finding), []).append(finding)
        for finding_id, item in before.items():
            newer = () if item.finding.corrected else made.get(_same(item.finding), ())
            if any(not _apart(item.finding, finding) for finding in newer):
                del after[finding_id]
        for finding in findings:
            after[finding.id] = Annotation(finding, self._colors.take(finding.label))
        self._push(label, before, after)

    def put(self, finding: Finding, label: str) -> None:
        """Add or change a finding drawn or corrected by the user; `label` names the undo step.

        Unlike `add`, this replaces only the finding with the same id, since the user may measure
        many lengths on one image. Findings computed from a corrected one are marked as outdated.
        """
        before = dict(self._items)
        after = dict(before)
        known = before.get(finding.id)
        color = known.color if known else self._colors.take(finding.label)
        after[finding.id] = Annotation(finding, color)
        if finding.corrected:
            others = [item.finding for item in self.on_image(finding.image)]
            others = [one for one in others if one.id != finding.id]
            for one in drawing.after_correction(finding, others):
                after[one.id] = replace(after[one.id], finding=one)
        self._push(label, before, after)

    def remove(self, finding_ids: Iterable[str]) -> None:
        """Remove findings as one undoable step; unknown ids are ignored."""
        gone = set(finding_ids) & set(self._items)
        if gone:
            before = dict(self._items)
            after = {key: item for key, item in before.items() if key not in gone}
            what = "finding" if len(gone) == 1 else f"{len(gone)} findings"
            self._push(f"Remove {what}", before, after)

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

    def select(self, finding_id: str) -> None:
        """Select a finding ("" for none), so that the list, canvas and chat highlight it."""
        if finding_id != self.selected:
            self.selected = finding_id
            self.selection_changed.emit(finding_id)

    def color_of(self, label: str) -> int:
        """Return the colour index that a finding with this label has or would get."""
        return self._colors.of(label)

    def _push(
        self, label: str, before: dict[str, Annotation], after: dict[str, Annotation]
    ) -> None:
        self._commands.push(
            Command(label, do=lambda: self._set(after), undo=lambda: self._set(before))
        )

    def _set(self, items: dict[str, Annotation]) -> None:
        self._items = dict(items)
        if self.selected and self.selected not in items:
            self.select("")
        self.changed.emit()


def _apart(one: Finding, other: Finding) -> bool:
    """Return whether two findings are masks that share no pixel; large ones by every 8th pixel."""
    first, second = one.geometry, other.geometry
    if not (isinstance(first, Mask) and isinstance(second, Mask)):
        return False
    for step in (_STEP, 1):
        a, b = first.pixels[::step, ::step], second.pixels[::step, ::step]
        if a.any() and b.any():
            return not bool((a & b).any())
    return False


def _same(finding: Finding) -> tuple[ImageRef, str, str]:
    return finding.image, finding.provenance.tool, finding.label
