"""Show PDF files as documents whose pages are frames. Runs in a worker process.

Pages are drawn at 150 dots per inch, form fields included. Scripts in a document are not run.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
from numpy.typing import NDArray
from pypdfium2 import raw

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow, attribute_row
from app.imaging.files import sources
from app.imaging.files.identity import content_uid, pixel_sha256
from app.imaging.formats.picture_file import read_bytes
from app.imaging.processes.memory_limit import limited_memory
from app.imaging.types import Content, Frame, ImageRef, Instance, Spacing

MAX_PAGES = 10_000
_DPI = 150
_POINTS_PER_INCH = 72
_MAX_SIDE = 4096
_MEMORY = 640 * 2**20
"""Bytes beyond what the worker holds: a colour page at 600 dots per inch takes a third of it."""
_NO_SCALE = "a page has no patient scale"


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return a PDF file as one instance; raise FileProblem if it is damaged or locked."""
    mtime_ns = sources.status(path).mtime_ns
    data = read_bytes(path)
    pages, rows, columns = pdf_extent(path, data)
    uid = content_uid(data)
    instance = Instance(
        path=path,
        sop_instance_uid=uid,
        kind="pdf",
        rows=rows,
        columns=columns,
        frames=pages,
        attributes={
            "Format": "PDF",
            "Modality": "DOC",
            "SeriesInstanceUID": content_uid(uid.encode()),
            "SeriesDescription": path.name,
            "DocumentTitle": pdf_title(path, data),
        },
        size_bytes=len(data),
        mtime_ns=mtime_ns,
        content=Content.DOCUMENT,
    )
    return (instance,)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Draw page `index` (from 0) of a PDF file, or raise FileProblem; `part` is not used."""
    data = read_bytes(path)
    return pdf_frame(path, data, index, content_uid(data))


def read_rows(path: Path) -> list[AttributeRow]:
    """Return rows for the attributes panel on a PDF; raise FileProblem if damaged or locked."""
    data = read_bytes(path)
    pages, rows, columns = pdf_extent(path, data)
    return [
        attribute_row("Format", "PDF"),
        attribute_row("Title", pdf_title(path, data)),
        attribute_row("Pages", pages),
        attribute_row("Rows", rows),
        attribute_row("Columns", columns),
        attribute_row("FileSize", f"{len(data):,} bytes"),
    ]


def pdf_extent(path: Path, data: bytes) -> tuple[int, int, int]:
    """Return the number of pages in a PDF, and the rows and columns of the first page in pixels.

    Raises:
        FileProblem: The document is damaged or locked.
    """
    with _document(path, data) as document:
        # By its number: to load a page is to go through all that is drawn on it.
        width, height = document.get_page_size(0)
        scale = _scale(width, height)
        # Rounded up, as the drawing does.
        return len(document), max(1, math.ceil(height * scale)), max(1, math.ceil(width * scale))


def pdf_frame(path: Path, data: bytes, index: int, uid: str) -> Frame:
    """Draw page `index` (from 0) of the PDF in `data` as a frame with SOP Instance UID `uid`.

    `path` is for error messages only.

    Raises:
        FileProblem: The page does not exist, or cannot be drawn.
    """
    with _document(path, data) as document:
        if not 0 <= index < len(document):
            raise guards.problem(path, f"it has {len(document)} pages, not {index + 1}")
        with limited_memory(_MEMORY):
            stored = _draw_page(document[index])
    return Frame(
        stored=stored,
        ref=ImageRef(uid, index, pixel_sha256(stored)),
        photometric="RGB",
        spacing=Spacing(note=_NO_SCALE),
    )


def pdf_title(path: Path, data: bytes) -> str:
    """Return the title stored in the PDF `data`, or ""; raise FileProblem if it is damaged."""
    with _document(path, data) as document:
        facts: dict[str, str] = document.get_metadata_dict()
        return " ".join(facts.get("Title", "").split())[:200]


def _scale(width: float, height: float) -> float:
    """Return pixels per point of a page, such that no side exceeds `_MAX_SIDE`."""
    return min(_DPI / _POINTS_PER_INCH, _MAX_SIDE / max(width, height, 1e-3))


def _draw_page(page: Any) -> NDArray[np.uint8]:
    """Return a page as uint8 [rows, columns, 3] RGB."""
    bitmap = page.render(scale=_scale(*page.get_size()), rev_byteorder=True)
    try:
        return bitmap.to_numpy().copy()
    finally:
        bitmap.close()


@contextmanager
def _document(path: Path, data: bytes) -> Generator[Any]:
    """Open a document with forms; raise FileProblem for errors in it and in the block."""
    document: Any = None
    try:
        document = pypdfium2.PdfDocument(data)
        # Without this the values that were filled into a form are not drawn.
        document.init_forms()
        pages = len(document)
        if not 0 < pages <= MAX_PAGES:
            reason = f"the PDF document has {pages} pages"
            raise guards.problem(path, reason, guards.COPY_AGAIN)
        yield document
    except (FileProblem, MemoryError):
        raise
    except Exception as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            reason = "the PDF document is locked with a password"
            raise guards.problem(path, reason, "Ask for a copy without one") from None
        reason = "the PDF document is damaged and cannot be shown"
        raise guards.problem(path, reason, guards.COPY_AGAIN, type(error).__name__) from None
    finally:
        if document is not None:
            document.close()
