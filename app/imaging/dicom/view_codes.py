"""The code of the view that stands in a header. Runs in a worker process."""

from __future__ import annotations

import re

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_items import items_of, text_of
from app.imaging.space.projections import KEYWORD, Course, projection_for_code

_PART = re.compile(r"[A-Za-z0-9._-]{1,16}")
"""Of a Coding Scheme Designator or a Code Value (both SH): no words of a file's own."""
_MOST = 16


def view_code(dataset: Dataset) -> str:
    """Scheme and value of View Code Sequence with a space between; "" where there is none.

    Where there are several items, against the standard, the first that names no frontal view.
    """
    found = [code for item in items_of(dataset, KEYWORD)[:_MOST] if (code := _code(item))]
    return next(filter(_not_frontal, found), found[0] if found else "")


def _code(item: Dataset) -> str:
    parts = [text_of(item, name) for name in ("CodingSchemeDesignator", "CodeValue")]
    return " ".join(parts) if all(map(_PART.fullmatch, parts)) else ""


def _not_frontal(code: str) -> bool:
    view = projection_for_code(code)
    return view is not None and view.course not in (Course.PA, Course.AP, Course.FRONTAL)
