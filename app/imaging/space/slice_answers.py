"""What the workers answer about slices of a volume (`reading.volume_entries`), as objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.processes.records import unpack
from app.imaging.space.plain_slices import PlainLayout, PlainSpan
from app.imaging.types import Frame, ImageRef, Instance

Message = dict[str, Any]
Slice = tuple[Instance, int]


@dataclass(frozen=True, slots=True)
class SliceAnswer:
    """One slice.

    Attributes:
        frame: Its description, without pixels.
        span: Where its pixels are to be read, or None.
        pixels: Its stored values, or None.
    """

    frame: Frame
    span: PlainSpan | None = None
    pixels: NDArray[Any] | None = None


def question_of(slices: Sequence[Slice]) -> Message:
    """What the entries of `volume_entries` are asked."""
    return {
        "slices": [
            [str(one.path), one.size_bytes, one.mtime_ns, one.part, index, one.kind]
            for one, index in slices
        ]
    }


def answers_of(slices: Sequence[Slice], message: Message) -> list[SliceAnswer | None]:
    """The slices of an answer; None for those that must be decoded.

    Args:
        slices: What was asked for.
        message: The answer.

    Raises:
        FileProblem: In a file's place there is another image than the one that was scanned.
    """
    frames = [unpack(Frame, frame) for frame in message["frames"]]
    layouts = [unpack(PlainLayout, layout) for layout in message["layouts"]]
    pixels: list[NDArray[Any]] = message["pixels"]
    answers: list[SliceAnswer | None] = []
    for place, (asked, found) in enumerate(zip(slices, message["slices"], strict=True)):
        if not found:
            answers.append(None)
            continue
        instance, index = asked
        number, uid, position, *where = found
        if uid != instance.sop_instance_uid:
            raise guards.changed(instance.path)
        frame = _placed(frames[number], uid, index, position)
        if where:
            size, time_ns = instance.size_bytes, instance.mtime_ns
            span = PlainSpan(instance.path, size, time_ns, where[1], layouts[where[0]])
            answers.append(SliceAnswer(frame, span))
        else:
            answers.append(SliceAnswer(frame, pixels=pixels[place]))
    return answers


def _placed(frame: Frame, uid: str, index: int, position: list[float] | None) -> Frame:
    """A description with a slice's own place, where all else is another's."""
    if position is None:
        return frame
    x, y, z = position
    orientation = replace(frame.orientation, position=(x, y, z))
    return replace(frame, ref=ImageRef(uid, index, ""), orientation=orientation)
