"""All attributes of a file as rows for the searchable side panel. Runs in a worker process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset

from app.imaging.attributes import AttributeRow
from app.imaging.dicom.dicom_file import read_header, value_text
from app.imaging.reading.sniffing import reader_of, sniff

MAX_ROWS = 10_000
"""Read in half a second; they are there to be looked through."""

_MORE = f"(the first {MAX_ROWS:,} attributes: there are more, which are not listed)"
MAX_TEXT = 512
MAX_DEPTH = 16
_BINARY = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "UN"})


def read_attributes(path: Path) -> list[AttributeRow]:
    """The file's attributes; pixels are not read.

    Raises:
        FileProblem: It cannot be read.
    """
    kind = sniff(path)
    return read_rows(path) if kind == "dicom" else reader_of(path).read_rows(path)


def read_rows(path: Path) -> list[AttributeRow]:
    """A DICOM file's attributes, file meta information first.

    Raises:
        FileProblem: It cannot be read.
    """
    header = read_header(path)
    found: list[AttributeRow] = []
    for dataset in (getattr(header.dataset, "file_meta", None), header.dataset):
        if dataset is not None:
            for row in _rows(dataset, 0):
                found.append(row)
                if len(found) >= MAX_ROWS:
                    found.append(AttributeRow("", "", "", _MORE))
                    return found
    if header.pixels is not None:
        length = f"{header.pixels.length:,} bytes"
        found.append(AttributeRow("(7fe0,0010)", header.pixels.keyword, header.pixels.vr, length))
    return found


def _rows(dataset: Dataset, depth: int) -> Iterator[AttributeRow]:
    for tag in sorted(dataset.keys()):
        text = f"({tag.group:04x},{tag.element:04x})"
        try:
            element = dataset[tag]
            row, items = _row(text, element, depth)
        except Exception:
            # pydicom converts on access; one damaged value must not hide the others.
            yield AttributeRow(text, "", "", "(cannot be read)", depth)
            continue
        yield row
        for number, item in enumerate(items, start=1):
            if depth + 1 >= MAX_DEPTH:
                break
            yield AttributeRow("", f"Item {number}", "", "", depth + 1)
            yield from _rows(item, depth + 2)


def _row(tag: str, element: DataElement, depth: int) -> tuple[AttributeRow, list[Dataset]]:
    keyword = element.keyword or f"[{element.name.strip('[]')}]"
    vr = str(element.VR)
    if vr == "SQ":
        items = list(element.value or [])
        count = "1 item" if len(items) == 1 else f"{len(items)} items"
        return AttributeRow(tag, keyword, vr, count, depth), items
    return AttributeRow(tag, keyword, vr, _text(vr, element.value), depth), []


def _text(vr: str, value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        if vr in _BINARY or len(value) > MAX_TEXT:
            return f"{len(value):,} bytes"
        return value.decode("latin-1")
    text = value_text(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
