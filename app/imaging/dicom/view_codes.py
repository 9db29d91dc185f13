"""The code of the view that stands in a header. Runs in a worker process."""

from __future__ import annotations

import re

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_items import first_item, text_of
from app.imaging.space.projections import KEYWORD

_PART = re.compile(r"[A-Za-z0-9._-]{1,16}")
"""Of a Coding Scheme Designator or a Code Value (both SH): no words of a file's own."""


def view_code(dataset: Dataset) -> str:
    """Scheme and value of View Code Sequence with a space between; "" where there is none."""
    item = first_item(dataset, KEYWORD)
    parts = [text_of(item, name) for name in ("CodingSchemeDesignator", "CodeValue")]
    return " ".join(parts) if all(map(_PART.fullmatch, parts)) else ""
