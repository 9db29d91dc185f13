"""What the workers answer about slices of a volume (`reading.volume_entries`), as objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.processes.records import unpack
from app.imaging.space.plain_slices import PlainLayout, PlainSpan
from app.imaging.types import Frame, Instance

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
    answers: list[SliceAnswer | None] = []
    for (instance, _), found in zip(slices, message["slices"], strict=True):
        if not found:
            answers.append(None)
            continue
        frame = unpack(Frame, found["frame"])
        if frame.ref.sop_instance_uid != instance.sop_instance_uid:
            raise guards.changed(instance.path)
        if "layout" in found:
            layout = unpack(PlainLayout, found["layout"])
            size, time_ns = instance.size_bytes, instance.mtime_ns
            span = PlainSpan(instance.path, size, time_ns, found["offset"], layout)
            answers.append(SliceAnswer(frame, span))
        else:
            answers.append(SliceAnswer(frame, pixels=found["pixels"]))
    return answers
