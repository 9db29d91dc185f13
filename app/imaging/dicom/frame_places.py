"""Where the frames of one object lie, and what makers hide in private elements. In a worker."""

from __future__ import annotations

import math
from typing import Any

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.placement import numbers, orientation_of, spacing_and_calibration
from app.imaging.space.planes import FramePlane, plane_of
from app.imaging.space.stacks import (
    NotAStackError,
    first_at_each_position,
    geometry_of,
    geometry_text,
    stack_of,
)

MAX_FRAMES = 5000
"""Frames whose places are looked at while scanning."""

B_VALUES = (
    ("SIEMENS MR HEADER", 0x0019, 0x0C),
    ("GEMS_PARM_01", 0x0043, 0x39),
    ("Philips Imaging DD 001", 0x2001, 0x03),
)
_GE_OFFSET = 1_000_000_000


def frames_geometry(header: Header) -> str:
    """The volume of a multi-frame object as the text of `stacks.STACK_KEYWORD`; "" for none."""
    count = numbers(header.value("NumberOfFrames"))[:1]
    if not count or not 1 < count[0] <= MAX_FRAMES or not _has_places(header):
        return ""
    size = [numbers(header.value(keyword))[:1] for keyword in ("Rows", "Columns")]
    if not all(value and math.isfinite(value[0]) and value[0] > 0 for value in size):
        return ""
    planes: list[FramePlane] = []
    reference = header.text("FrameOfReferenceUID")
    spacing, _ = spacing_and_calibration(FrameAttributes(header, 0))
    each = _own_spacings(header)
    for index in range(int(count[0])):
        attributes = FrameAttributes(header, index)
        if each:
            spacing, _ = spacing_and_calibration(attributes)
        plane = plane_of(orientation_of(attributes), spacing, reference)
        if plane is None:
            return ""
        planes.append(plane)
    try:
        own = [planes[index] for index in first_at_each_position(planes)]
        stack = stack_of(own, int(size[0][0]), int(size[1][0]))
        # A mask cannot be resampled as an image can.
        if header.text("Modality") == "SEG" and not stack.regular:
            return ""
        return geometry_text(geometry_of(stack))
    except NotAStackError:
        return ""


def _has_places(header: Header) -> bool:
    keywords = (
        "PerFrameFunctionalGroupsSequence",
        "GridFrameOffsetVector",
        "DetectorInformationSequence",
    )
    return any(keyword in header.dataset for keyword in keywords)


def _own_spacings(header: Header) -> bool:
    """Whether each frame has its own pixel measures: a macro is shared, or in every frame."""
    try:
        first = header.value("PerFrameFunctionalGroupsSequence")[0]
    except (TypeError, IndexError, KeyError):
        return False
    return "PixelMeasuresSequence" in first


def private_b_value(header: Header) -> str:
    """The diffusion b-value of Siemens, GE and Philips images in s/mm², or ""."""
    if header.text("Modality") != "MR":
        return ""
    groups = {int(tag) >> 16 for tag in header.dataset.keys()}  # noqa: SIM118 - not parsed
    for creator, group, element in B_VALUES:
        if group not in groups:
            continue
        try:
            value: Any = header.dataset.private_block(group, creator)[element].value
        except Exception:
            continue  # absent, or damaged in one of many ways
        found = _number(value)
        # GE adds a constant that says that the b-value is meant.
        if found is not None and found >= _GE_OFFSET:
            found -= _GE_OFFSET
        if found is not None and 0 <= found < 100_000:
            return f"{found:g}"
    standard = value_of(header.dataset, "MRDiffusionSequence")
    try:
        values = numbers(value_of(standard[0], "DiffusionBValue")) if standard else ()
    except (TypeError, IndexError, KeyError):
        return ""
    return f"{values[0]:g}" if values and math.isfinite(values[0]) else ""


def _number(value: Any) -> float | None:
    """The first number of a private value, which may be raw text where its VR is unknown."""
    if isinstance(value, bytes):
        value = value.decode("ascii", "replace").strip("\0 ").split("\\")
    found = numbers(value)[:1]
    return found[0] if found and math.isfinite(found[0]) else None
