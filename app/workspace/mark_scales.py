"""What the marks of each image are measured with, kept right for every image, shown or not.

A mark is measured with the scale of its own image, or with that of a line of known length. The own
scale of an image is known once it was read; until then nothing is said that may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from app.imaging.findings import Finding
from app.imaging.types import Frame, ImageRef, Instance
from app.workspace import calibration, drawing
from app.workspace.annotations import Annotations
from app.workspace.signals import Signal
from app.workspace.studies import Studies

_Key = tuple[str, int]
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
        self._own: dict[_Key, Frame] = {}  # without pixels
        self._study: dict[_Key, str] = {}
        self._seen: dict[_Key, ImageRef] = {}  # of tools' findings: only the pixels are known
        self._unreadable: set[_Key] = set()
        self._not_open: set[str] = set()
        self._wanted: dict[_Key, Instance] = {}
        self._waiting: dict[str, Finding] = {}  # marks as they were, until their image is read
        self._fits: dict[str, tuple[Finding, object]] = {}  # measured, and with which scale
        self.wanted: Signal[()] = Signal()
        annotations.changed.connect(self.measure)
        studies.changed.connect(self._follow_studies)

    # What is known of images

    def learn(self, frame: Frame) -> None:
        """Take over the pixels and the own scale of a frame that was read."""
        key = (frame.ref.sop_instance_uid, frame.ref.frame)
        known = self._own.get(key)
        if known is not None and known.ref == frame.ref and _scale(known) == _scale(frame):
            return
        # Of the pixels only their number, so that they can be dropped from memory.
        self._own[key] = Frame(
            np.broadcast_to(np.uint8(0), (frame.rows, frame.columns)),
            frame.ref,
            spacing=frame.spacing,
            regions=frame.regions,
            calibration=frame.calibration,
        )
        self._study[key] = self._study_of(key[0])
        self._unreadable.discard(key)
        self._wanted.pop(key, None)
        if any(one.finding.image.sop_instance_uid == key[0] for one in self._annotations.all()):
            self.measure()

    def cannot_read(self, instance: Instance, index: int) -> None:
        """Give up on a frame: what its marks measure is not told."""
        key = (instance.sop_instance_uid, index)
        self._unreadable.add(key)
        self._wanted.pop(key, None)
        self.measure()

    def trust(self, findings: Sequence[Finding]) -> None:
        """Take over which pixels images have from findings on what a tool has read just now."""
        for one in findings:
            key = (one.image.sop_instance_uid, one.image.frame)
            if key not in self._own:
                self._seen[key] = one.image

    def is_of(self, ref: ImageRef) -> bool | None:
        """Return whether an open image has the pixels of `ref`; None until it is read."""
        key = (ref.sop_instance_uid, ref.frame)
        known = self._own.get(key)
        seen = known.ref if known is not None else self._seen.get(key)
        return None if seen is None else seen == ref

    def is_waiting(self, finding: Finding) -> bool:
        """Return whether a mark is not measured until its image is read, which is under way."""
        key = (finding.image.sop_instance_uid, finding.image.frame)
        return finding.id in self._waiting and key not in self._unreadable

    def is_unread(self, ref: ImageRef) -> bool:
        """Return whether it is still to be found out if an open image has the pixels of `ref`."""
        wanted = (ref.sop_instance_uid, ref.frame) in self._wanted
        return wanted and self.is_of(ref) is None

    def next_wanted(self) -> tuple[Instance, int] | None:
        """Return an image and frame to read next, for `learn` or `cannot_read`; or None."""
        for (_uid, index), instance in self._wanted.items():
            return instance, index
        return None

    def forget(self, studies: Container[str]) -> None:
        """Forget the images of studies, by Study Instance UID, as they may have other pixels."""
        for key in [key for key, study in self._study.items() if study in studies]:
            del self._own[key], self._study[key]
        self._seen.clear()
        self._unreadable.clear()
        self._follow_studies()

    def _follow_studies(self) -> None:
        self._not_open.clear()
        self._wanted.clear()
        self.measure()

    # Measuring

    def scaled(self, instance: Instance, frame: Frame) -> Frame:
        """Return a frame with the scale that its marks are measured with, by hand or its own."""
        lines = self._lines()
        return calibration.calibrated(frame, self._line_for(instance, frame, lines))

    def measure(self) -> None:
        """Measure every mark anew that does not fit the scale of its image any more."""
        lines = self._lines()
        anew: list[Finding] = []
        ids: set[str] = set()
        for item in self._annotations.all():
            one = item.finding
            ids.add(one.id)
            found = self._look_at(one, lines)
            if found is not None and found != one:
                anew.append(found)
        for known in (self._waiting, self._fits):
            for key in known.keys() - ids:
                del known[key]
        self._annotations.refresh(anew)
        if self._wanted:
            self.wanted.emit()

    def _look_at(self, one: Finding, lines: Sequence[Finding]) -> Finding | None:
        """Return a mark as it must be now; None where it stays."""
        key = (one.image.sop_instance_uid, one.image.frame)
        own = self._own.get(key)
        hand = drawing.by_hand(one)
        if own is None:
            image = self._open(key[0])
            if image is None:
                return None
            self._want(key, image)
            doubtful = hand and (
                one.id in self._waiting
                or drawing.rests_on_hand(one)
                or any(self._may_be_for(x, one, image) for x in lines)
            )
            return self._without_figures(one, key) if doubtful else None
        if not hand:
            return None
        if own.ref != one.image:  # other pixels than it was drawn on: it stays as it was
            return self._waiting.pop(one.id, None)
        scaled = own
        if lines:
            image = self._open(key[0])
            if image is None:
                return None
            if any(self._is_unread(line) and self._may_be_for(line, one, image) for line in lines):
                return self._without_figures(one, key)
            scaled = calibration.calibrated(own, self._line_for(image, own, lines))
        fits = self._fits.get(one.id)
        if fits is not None and fits[0] is one and fits[1] == _scale(scaled):
            return None
        self._waiting.pop(one.id, None)
        new = drawing.remeasured(one, scaled)
        self._fits[one.id] = (new if new != one else one), _scale(scaled)
        return new

    def _without_figures(self, one: Finding, key: _Key) -> Finding:
        self._waiting.setdefault(one.id, one)
        self._fits.pop(one.id, None)
        if key in self._unreadable:
            return drawing.unmeasured(one, drawing.UNREADABLE)
        return drawing.unmeasured(one, drawing.MEASURED_AGAIN)

    def _want(self, key: _Key, image: Instance) -> None:
        # Sections are known while they are shown; reading them would make their whole volume.
        if key not in self._unreadable and image.kind != "reformat" and image.frames > key[1]:
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
        key = (line.image.sop_instance_uid, line.image.frame)
        return key not in self._own and key not in self._unreadable

    def _line_for(self, image: Instance, frame: Frame, lines: Sequence[Finding]) -> Finding | None:
        def in_series(line: Finding) -> bool:
            own = self._own.get((line.image.sop_instance_uid, line.image.frame))
            if own is None or own.ref != line.image or not self._beside(line, image):
                return False
            # An image with other pixels, such as a localizer, has another scale.
            size = (own.rows, own.columns) == (frame.rows, frame.columns)
            return size and abs(own.spacing.aspect - frame.spacing.aspect) < _SAME_SHAPE

        return calibration.calibrating(lines, frame, in_series)

    def _may_be_for(self, line: Finding, one: Finding, image: Instance) -> bool:
        """Return whether a line may calibrate the image of a mark, by what headers say."""
        place = (line.image.sop_instance_uid, line.image.frame)
        if place == (one.image.sop_instance_uid, one.image.frame):
            return True
        other = self._open(place[0])
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


def _scale(frame: Frame) -> tuple[object, ...]:
    return frame.rows, frame.columns, frame.spacing, frame.regions
