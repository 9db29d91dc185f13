"""The attributes of an instance that are copied from its header. Runs in a worker process."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, read_header
from app.imaging.dicom.dicom_items import (
    finite_numbers,
    first_item,
    items_of,
    text_of,
    whole_number,
)
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.placement import numbers, orientation_of, spacing_and_calibration
from app.imaging.files import sources
from app.imaging.files.identity import content_uid
from app.imaging.space import projections, stacks
from app.imaging.space.planes import FramePlane, image_plane
from app.imaging.space.projections import KEYWORD, BeamDirection, projection_for_code
from app.paths import shipped_table

ATTRIBUTES: tuple[str, ...] = tuple(shipped_table("dicom", "attributes")["keywords"].split())
"""Keywords of the attributes in `Instance.attributes`, to which TransferSyntaxUID is added."""
MAX_TEXT = 1024
"""Characters kept of one attribute."""


def attribute_texts(header: Header) -> dict[str, str]:
    """Return the texts for `Instance.attributes` by keyword; those that are empty are left out."""
    texts = {keyword: header.text(keyword) for keyword in ATTRIBUTES}
    attributes = FrameAttributes(header, 0)
    for keyword in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing"):
        texts[keyword] = texts.get(keyword) or attributes.text(keyword)
    texts["DiffusionBValue"] = texts.get("DiffusionBValue") or b_value(header)
    texts[stacks.STACK_KEYWORD] = frames_geometry(header)
    texts[projections.KEYWORD] = view_code(header.dataset)
    texts["TransferSyntaxUID"] = str(header.syntax)
    return {keyword: text[:MAX_TEXT] for keyword, text in texts.items() if text}


def uid_of(header: Header) -> str:
    """Return the SOP Instance UID, or one derived from the path if the file has none."""
    return header.text("SOPInstanceUID") or content_uid(str(header.path).encode("utf-8", "replace"))


@lru_cache(maxsize=4)
def cached_header(path: Path, status: sources.FileStatus) -> Header:
    """Return a file's header, cached by path and `status`; the last four headers are kept."""
    return read_header(path)


_PART = re.compile(r"[A-Za-z0-9._-]{1,16}")
"""Pattern of a Coding Scheme Designator or Code Value (both SH) without spaces or free text."""
_MOST = 16


def view_code(dataset: Dataset) -> str:
    """Return the view code as its coding scheme and value, with a space between; "" if none.

    If there are several items, which the standard forbids, the first one that is not a frontal view
    is used; if all are frontal, the first one.
    """
    found = [code for item in items_of(dataset, KEYWORD)[:_MOST] if (code := _code(item))]
    return next(filter(_not_frontal, found), found[0] if found else "")


def _code(item: Dataset) -> str:
    parts = [text_of(item, name) for name in ("CodingSchemeDesignator", "CodeValue")]
    return " ".join(parts) if all(map(_PART.fullmatch, parts)) else ""


def _not_frontal(code: str) -> bool:
    view = projection_for_code(code)
    return view is not None and view.direction not in (
        BeamDirection.PA,
        BeamDirection.AP,
        BeamDirection.FRONTAL,
    )


MAX_FRAMES = 5000
"""Frames whose positions are compared while scanning."""

B_VALUES = (
    ("SIEMENS MR HEADER", 0x0019, 0x0C),
    ("GEMS_PARM_01", 0x0043, 0x39),
    ("Philips Imaging DD 001", 0x2001, 0x03),
)
_GE_OFFSET = 1_000_000_000


def frames_geometry(header: Header) -> str:
    """Return the geometry of a file's volume as text (`stacks.geometry_text`); "" if no volume."""
    count = whole_number(header.dataset, "NumberOfFrames") or 0
    if not 1 < count <= MAX_FRAMES or not _has_places(header):
        return ""
    rows, columns = (whole_number(header.dataset, keyword) or 0 for keyword in ("Rows", "Columns"))
    if rows <= 0 or columns <= 0:
        return ""
    planes: list[FramePlane] = []
    reference = header.text("FrameOfReferenceUID")
    spacing, _ = spacing_and_calibration(FrameAttributes(header, 0))
    each = _own_spacings(header)
    for index in range(count):
        attributes = FrameAttributes(header, index)
        if each:
            spacing, _ = spacing_and_calibration(attributes)
        plane = image_plane(orientation_of(attributes), spacing, reference)
        if plane is None:
            return ""
        planes.append(plane)
    try:
        own = [planes[index] for index in stacks.first_at_each_position(planes)]
        stack = stacks.sort_stack(own, rows, columns)
        # Unlike an image, a mask cannot be resampled by interpolation.
        if header.text("Modality") == "SEG" and not stack.regular:
            return ""
        return stacks.geometry_text(stacks.volume_geometry(stack))
    except stacks.NotAStackError:
        return ""


def _has_places(header: Header) -> bool:
    keywords = (
        "PerFrameFunctionalGroupsSequence",
        "GridFrameOffsetVector",
        "DetectorInformationSequence",
    )
    return any(keyword in header.dataset for keyword in keywords)


def _own_spacings(header: Header) -> bool:
    """Return whether each frame has pixel measures of its own."""
    first = first_item(header.dataset, "PerFrameFunctionalGroupsSequence")
    return first is not None and "PixelMeasuresSequence" in first


def b_value(header: Header) -> str:
    """Return an MR image's b-value (s/mm²) as text, or ""; private elements are tried first."""
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
        # GE adds a constant to mark the value as a b-value.
        if found is not None and found >= _GE_OFFSET:
            found -= _GE_OFFSET
        if found is not None and 0 <= found < 100_000:
            return f"{found:g}"
    values = finite_numbers(first_item(header.dataset, "MRDiffusionSequence"), "DiffusionBValue", 1)
    return f"{values[0]:g}" if values else ""


def _number(value: Any) -> float | None:
    """Return the first number of a private value, which may be raw text of unknown VR, or None."""
    if isinstance(value, bytes):
        value = value.decode("ascii", "replace").strip("\0 ").split("\\")
    found = numbers(value)[:1]
    return found[0] if found and math.isfinite(found[0]) else None
