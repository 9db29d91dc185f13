"""When the frames of an object were taken, and what tells them apart. Runs in a worker process.

PS3.3 C.7.6.5 (cine), C.7.6.16.2.2 (frame content), C.8.4.8 (frame vectors of nuclear medicine).
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime
from typing import Any

from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers

MAX_STEP_MS = 60_000.0
_VECTORS = {
    0x00540010: ("EnergyWindowVector", "energy window"),
    0x00540020: ("DetectorVector", "detector"),
    0x00540030: ("PhaseVector", "phase"),
    0x00540050: ("RotationVector", "rotation"),
    0x00540060: ("RRIntervalVector", "R-R interval"),
    0x00540070: ("TimeSlotVector", "time slot"),
    0x00540080: ("SliceVector", "slice"),
    0x00540090: ("AngularViewVector", "view"),
    0x00540100: ("TimeSliceVector", "time slice"),
}


def first_number(header: Header, keyword: str) -> float | None:
    """The first value of a top-level attribute, when it is a finite number."""
    values = numbers(header.value(keyword))
    return values[0] if values and math.isfinite(values[0]) else None


def frame_time(header: Header) -> float | None:
    """Milliseconds between frames, PS3.3 C.7.6.5."""
    time = first_number(header, "FrameTime")
    if time is None:
        times = [t for t in numbers(header.value("FrameTimeVector"))[1:] if math.isfinite(t)]
        time = sum(times) / len(times) if times else None
    if time is None:
        rate = first_number(header, "RecommendedDisplayFrameRate")
        rate = rate or first_number(header, "CineRate")
        time = 1000 / rate if rate else None
    return time if time is not None and 0 < time < MAX_STEP_MS else None


def frame_times(header: Header, frames: int) -> tuple[float, ...]:
    """Time of every frame from the first by FrameTimeVector, ms; () where it gives none.

    The vector holds the increments, the first of them 0 (PS3.3 C.7.6.5.1.2).
    """
    steps = numbers(header.value("FrameTimeVector"))[1:]
    if frames < 2 or len(steps) != frames - 1 or not all(0 <= step < MAX_STEP_MS for step in steps):
        return ()
    return tuple(itertools.accumulate(steps, initial=0.0))


def time_of(attributes: FrameAttributes, frames: int) -> float | None:
    """Time of a frame from the start of its cine, ms; None when unknown."""
    if frames < 2:
        return None
    header, index = attributes.header, attributes.index
    times = frame_times(header, frames)
    if times:
        return times[index]
    step = first_number(header, "FrameTime")
    if step is not None and 0 < step < MAX_STEP_MS:
        return step * index
    offset = attributes.number("TemporalPositionTimeOffset")
    if offset is not None:
        return offset * 1000
    for keyword in ("FrameReferenceDateTime", "FrameAcquisitionDateTime"):
        start = _moment(FrameAttributes(header, 0).text(keyword))
        now = _moment(attributes.text(keyword))
        if start is not None and now is not None:
            return (now - start).total_seconds() * 1000
    return None


def _moment(text: str) -> datetime | None:
    """A DICOM date and time, without its offset from UTC: only differences are asked for."""
    digits = text.split("+")[0].split("-")[0].strip()
    whole, _, fraction = digits.partition(".")
    try:
        moment = datetime.strptime(whole[:14], "%Y%m%d%H%M%S")  # noqa: DTZ007
        return moment.replace(microsecond=int(fraction[:6].ljust(6, "0")) if fraction else 0)
    except ValueError:
        return None


def vector_note(header: Header, index: int) -> str:
    """Which detector, energy window, phase... a frame of nuclear medicine is of, or ""."""
    pointer = header.value("FrameIncrementPointer")
    tags: list[Any] = [pointer] if isinstance(pointer, int) else list(pointer or ())
    parts: list[str] = []
    for tag in tags:
        keyword, name = _VECTORS.get(int(tag), ("", "")) if isinstance(tag, int) else ("", "")
        values = numbers(header.value(keyword)) if keyword else ()
        if index < len(values) and len(set(values)) > 1 and math.isfinite(values[index]):
            parts.append(f"{name} {values[index]:g}")
    return ", ".join(parts)
