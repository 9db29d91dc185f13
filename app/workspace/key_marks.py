"""Key images: which the user has marked, and which are named by open key object selections."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.imaging.report import ImageLink
from app.imaging.types import ImageRef
from app.workspace.annotations import Command, CommandStack
from app.workspace.signals import Signal


class KeyMarks:
    """The images marked as key images, in the order of marking, and those of key objects.

    Attributes:
        changed: Emitted when either has changed.
    """

    def __init__(self, commands: CommandStack) -> None:
        self._commands = commands
        self._own: dict[ImageRef, None] = {}
        self._named: dict[str, tuple[ImageLink, ...]] = {}  # by UID of the key object selection
        self._frames: dict[str, list[tuple[int, ...]]] = {}  # of the same, by image
        self.changed: Signal[()] = Signal()

    @property
    def own(self) -> tuple[ImageRef, ...]:
        """The frames that the user has marked."""
        return tuple(self._own)

    def toggle(self, ref: ImageRef) -> None:
        """Mark a frame as a key image, or take the mark off; can be undone."""
        on = ref not in self._own
        label = "Mark a key image" if on else "Unmark a key image"
        do, undo = (lambda one=on: self._set(ref, one)), (lambda one=on: self._set(ref, not one))
        self._commands.push(Command(label, do, undo))

    def _set(self, ref: ImageRef, on: bool) -> None:
        if on:
            self._own[ref] = None
        else:
            self._own.pop(ref, None)
        self.changed.emit()

    def bring_back(self, refs: Iterable[ImageRef]) -> None:
        """Add marks of an earlier session; no step to undo."""
        self._own |= dict.fromkeys(refs)
        self.changed.emit()

    def forget(self, images: Collection[str]) -> None:
        """Remove the marks of images, by SOP Instance UID, for good."""
        self._own = {one: None for one in self._own if one.sop_instance_uid not in images}
        self.changed.emit()

    def name(self, key_objects: dict[str, tuple[ImageLink, ...]]) -> None:
        """Take what all open key object selections name, by their SOP Instance UIDs."""
        if key_objects == self._named:
            return
        self._named = key_objects
        self._frames = {}
        for links in key_objects.values():
            for link in links:
                self._frames.setdefault(link.sop_instance_uid, []).append(link.frames)
        self.changed.emit()

    def is_own(self, ref: ImageRef) -> bool:
        """Return whether the user has marked a frame."""
        return ref in self._own

    def is_named(self, uid: str, frame: int) -> bool:
        """Return whether an open key object selection names a frame."""
        return any(not frames or frame in frames for frames in self._frames.get(uid, ()))

    def images(self) -> set[str]:
        """Return the SOP Instance UIDs of all key images."""
        return {*(one.sop_instance_uid for one in self._own), *self._frames}
