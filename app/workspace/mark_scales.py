"""What the marks of each image are measured with, kept right for every image, shown or not.

A mark is measured with the scale of its own image, or with that of a line of known length. The own
scale of an image is known once it was read; until then nothing is said that may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

import numpy as np

from app.imaging.findings import Finding
from app.imaging.types import Frame, ImageRef, Instance
from app.workspace import calibration, drawing
from app.workspace.annotations import Annotations
from app.workspace.signals import Signal
from app.workspace.studies import Studies
from app.workspace.viewport import REFORMAT

_Key = tuple[str, int]
_CLOSED, _OTHER = "not open", "other pixels"  # their marks stay as they are
_UNREAD, _GIVEN_UP = "not read yet", "cannot be read"
_DOUBTFUL, _GIVEN_UP_DOUBTFUL = "not read, and perhaps calibrated", "nor can it be read"
_SAME_SHAPE = 1e-3  # between heights of pixels, divided by their widths


class MarkScales:
    """Measures marks anew whenever their scale changes, and knows which pixels images have.

    Args:
        image_of: Returns the open image or sections with a SOP Instance UID, or None.
        study_of: Returns the Study Instance UID of such an image; "" if unknown.

    Attributes:
        wanted: Emitted when images must be read; see `next_wanted`.
    """

    def __init__(
        self,
        annotations: Annotations,
        studies: Studies,
        image_of: Callable[[str], Instance | None],
        study_of: Callable[[str], str],
    ) -> None:
        self._annotations, self._studies = annotations, studies
        self._image_of, self._study_of = image_of, study_of
        self._own: dict[ImageRef, Frame] = {}  # what was read, without pixels
        self._study: dict[ImageRef, str] = {}
        self._read: set[_Key] = set()
        self._seen: dict[_Key, ImageRef] = {}  # of tools' findings: only the pixels are known
        self._unreadable: set[_Key] = set()
        self._not_open: set[str] = set()
        self._wanted: dict[_Key, Instance] = {}
        # Marks as they were until their image is read; also deleted ones, which undo brings back.
        self._waiting: dict[str, Finding] = {}
        self._looked_at: dict[str, tuple[Finding, object, object]] = {}  # as what, when, scale
        self._known: list[Finding] = []  # the lines of known length
        self._time = object()  # another one as soon as anything is known that was not
        self.wanted: Signal[()] = Signal()
        annotations.changed.connect(self.measure)
        studies.changed.connect(self._follow_studies)

    # What is known of images

    def learn(self, frame: Frame) -> None:
        """Take over the pixels and the own scale of a frame that was read."""
        key = _key(frame.ref)
        known = self._own.get(frame.ref)
        if known is not None and _scale(known) == _scale(frame):
            return
        self._time = object()
        # Of the pixels only their number, so that they can be dropped from memory.
        self._own[frame.ref] = Frame(
            np.broadcast_to(np.uint8(0), (frame.rows, frame.columns)),
            frame.ref,
            spacing=frame.spacing,
            regions=frame.regions,
            calibration=frame.calibration,
        )
        self._study[frame.ref] = self._study_of(key[0])
        self._read.add(key)
        self._unreadable.discard(key)
        self._wanted.pop(key, None)
        if any(one.finding.image.sop_instance_uid == key[0] for one in self._annotations.all()):
            self.measure()

    def cannot_read(self, instance: Instance, index: int) -> None:
        """Give up on a frame: what its marks measure is not told."""
        key = (instance.sop_instance_uid, index)
        self._unreadable.add(key)
        self._wanted.pop(key, None)
        self._time = object()
        self.measure()

    def trust_measured(self, findings: Sequence[Finding], scaled: Frame) -> None:
        """Take over that marks, not added yet, are measured with the scale of `scaled`."""
        for one in findings:
            self._looked_at[one.id] = one, None, _scale(scaled)

    def trust(self, findings: Sequence[Finding]) -> None:
        """Take over which pixels images have from findings on what a tool has read just now."""
        for one in findings:
            self._seen[_key(one.image)] = one.image

    def is_of(self, ref: ImageRef) -> bool | None:
        """Return whether an open image has the pixels of `ref`; None until it is read."""
        key = _key(ref)
        if ref in self._own or self._seen.get(key) == ref:
            return True
        return False if key in self._read or key in self._seen else None

    def is_waiting(self, finding: Finding) -> bool:
        """Return whether a mark is not measured until its image is read, which is under way."""
        return finding.id in self._waiting and _key(finding.image) not in self._unreadable

    def is_unread(self, ref: ImageRef) -> bool:
        """Return whether it is still to be found out if an open image has the pixels of `ref`."""
        return _key(ref) in self._wanted and self.is_of(ref) is None

    def next_wanted(self) -> tuple[Instance, int] | None:
        """Return an image and frame to read next, for `learn` or `cannot_read`; or None."""
        for (_uid, index), instance in self._wanted.items():
            return instance, index
        return None

    def forget(self, studies: Container[str]) -> None:
        """Forget the images of studies, by Study Instance UID, as they may have other pixels."""
        for ref in [ref for ref, study in self._study.items() if study in studies or not study]:
            del self._own[ref], self._study[ref]
        self._read = {_key(ref) for ref in self._own}
        self._seen.clear()
        self._unreadable.clear()
        self._follow_studies()

    def _follow_studies(self) -> None:
        there = {item.finding.id for item in self._annotations.all()}
        self._looked_at = {key: one for key, one in self._looked_at.items() if key in there}
        self._not_open.clear()
        self._wanted.clear()
        self._time = object()
        self.measure()

    # Measuring

    def scaled(self, instance: Instance, frame: Frame) -> Frame:
        """Return a frame with the scale that its marks are measured with, by hand or its own."""
        lines = self._lines()
        return calibration.calibrated(frame, self._line_for(instance, frame, lines))

    def measure(self) -> None:
        """Measure every mark anew that does not fit the scale of its image any more."""
        lines = self._lines()
        if len(lines) != len(self._known) or any(
            one is not other for one, other in zip(lines, self._known, strict=True)
        ):
            self._known, self._time = lines, object()
        # Removed marks stay in it, as undo brings them back as they were.
        before = self._looked_at
        scaled: dict[ImageRef, Frame | str] = {}
        anew: list[Finding] = []
        for item in self._annotations.all():
            one = item.finding
            looked = before.get(one.id)
            same = looked is not None and looked[0] is one
            if same and looked is not None and looked[1] is self._time:
                continue
            found = scaled.get(one.image)
            if found is None:
                found = scaled[one.image] = self._scaled_for(one.image, lines)
            scale = _scale(found) if isinstance(found, Frame) else found
            if not (same and looked is not None and looked[2] == scale):
                new = self._as_it_must_be(one, found)
                if new != one:
                    anew.append(new)
                    one = new
            self._looked_at[one.id] = one, self._time, scale
        self._annotations.refresh(anew)
        if self._wanted:
            self.wanted.emit()

    def _as_it_must_be(self, one: Finding, found: Frame | str) -> Finding:
        """Return a mark as it is measured on its image; see `_scaled_for`."""
        if not drawing.by_hand(one):
            return one
        if isinstance(found, Frame):
            self._waiting.pop(one.id, None)
            return drawing.remeasured(one, found)
        if found == _OTHER:
            kept = self._waiting.pop(one.id, None)
            if kept is None or not drawing.is_unmeasured(one):
                return one
            return replace(
                one,
                value=kept.value,
                units=kept.units,
                description=kept.description,
                measurements=kept.measurements,
            )
        by_line = drawing.rests_on_hand(one) or drawing.is_unmeasured(one)
        if found == _CLOSED or (found in (_UNREAD, _GIVEN_UP) and not by_line):
            return one
        self._waiting.setdefault(one.id, one)
        given_up = found in (_GIVEN_UP, _GIVEN_UP_DOUBTFUL)
        return drawing.unmeasured(one, drawing.UNREADABLE if given_up else drawing.MEASURED_AGAIN)

    def _scaled_for(self, ref: ImageRef, lines: Sequence[Finding]) -> Frame | str:
        """Return an image with the scale of its marks, or why that is not known."""
        key = _key(ref)
        own = self._own.get(ref)
        if own is None and key in self._read:
            return _OTHER
        if own is not None and not lines:
            return own
        image = self._open(ref.sop_instance_uid)
        if image is None:
            return _CLOSED
        if own is None:
            self._want(key, image)
            doubtful = any(self._may_be_for(line, ref, image) for line in lines)
            if key in self._unreadable:
                return _GIVEN_UP_DOUBTFUL if doubtful else _GIVEN_UP
            return _DOUBTFUL if doubtful else _UNREAD
        if any(self._is_unread(line) and self._may_be_for(line, ref, image) for line in lines):
            return _DOUBTFUL
        return calibration.calibrated(own, self._line_for(image, own, lines))

    def _want(self, key: _Key, image: Instance) -> None:
        # Sections are known while they are shown; reading them would make their whole volume.
        if key not in self._unreadable and image.kind != REFORMAT and image.frames > key[1]:
            self._wanted.setdefault(key, image)

    def _open(self, uid: str) -> Instance | None:
        if uid in self._not_open:
            return None
        found = self._image_of(uid)
        if found is None:
            self._not_open.add(uid)
        return found

    def _lines(self) -> list[Finding]:
        every = (item.finding for item in self._annotations.all())
        return [
            one
            for one in every
            if calibration.known_length(one) is not None and calibration.can_calibrate(one)
        ]

    def _is_unread(self, line: Finding) -> bool:
        key = _key(line.image)
        return key not in self._read and key not in self._unreadable

    def _line_for(self, image: Instance, frame: Frame, lines: Sequence[Finding]) -> Finding | None:
        def in_series(line: Finding) -> bool:
            own = self._own.get(line.image)
            if own is None or not self._beside(line, image):
                return False
            # An image with other pixels, such as a localizer, has another scale.
            size = (own.rows, own.columns) == (frame.rows, frame.columns)
            return size and abs(own.spacing.aspect - frame.spacing.aspect) < _SAME_SHAPE

        return calibration.calibrating(lines, frame, in_series)

    def _may_be_for(self, line: Finding, ref: ImageRef, image: Instance) -> bool:
        """Return whether a line may calibrate an image, by what headers say."""
        if _key(line.image) == _key(ref):
            return True
        other = self._open(line.image.sop_instance_uid)
        return (
            other is not None
            and calibration.is_for_series(line)
            and self.is_of(line.image) is not False
            and (other.rows, other.columns) == (image.rows, image.columns)
            and self._beside(line, image)
        )

    def _beside(self, line: Finding, image: Instance) -> bool:
        """Return whether a line is on an image of the same series."""
        other = self._open(line.image.sop_instance_uid)
        series = self._studies.series_of(image)
        return (
            series is not None and other is not None and (self._studies.series_of(other) is series)
        )


def _key(ref: ImageRef) -> _Key:
    return ref.sop_instance_uid, ref.frame


def _scale(frame: Frame) -> tuple[object, ...]:
    return frame.rows, frame.columns, frame.spacing, frame.regions
