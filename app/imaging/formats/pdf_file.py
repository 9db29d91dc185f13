"""Show PDF files as documents whose pages are frames. Runs in a worker process.

Pages are drawn at 150 dots per inch, form fields included. Scripts in a document are not run.
"""

from __future__ import annotations

import re
import zlib
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
from app.imaging.attributes import AttributeRow
from app.imaging.files import sources
from app.imaging.files.identity import content_uid, pixel_sha256
from app.imaging.files.one_entry_cache import OneEntryCache
from app.imaging.formats.picture_file import read_bytes
from app.imaging.processes.memory_limit import limited_memory
from app.imaging.types import Content, Frame, ImageRef, Instance, Spacing

MAX_PAGES = 10_000
_DPI = 150
_POINTS_PER_INCH = 72
_MAX_SIDE = 4096
_MAX_STREAM_BYTES = 2**27
"""Inflated bytes of one stream: a colour page at 600 dots per inch has 104 million."""

_MEMORY = 640 * 2**20
"""Bytes beyond what the worker holds: a colour page at 600 dots per inch takes a third of it."""

_MOST_BYTES_A_BYTE = 1032
_CHUNK = 2**22
_PART = 2**16
_STREAM = re.compile(rb"stream\r?\n")
_DOUBLE_DEFLATE = re.compile(rb"/F(ilter)?\s*\[[^\]]{0,200}/Fl[^\]]{0,200}/Fl")
_NO_SCALE = "a page has no patient scale"

_bomb_checks = OneEntryCache()


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
    """Draw a page of a PDF file; raise FileProblem if the page is missing or cannot be drawn."""
    data = read_bytes(path)
    return pdf_frame(path, data, index, content_uid(data))


def read_rows(path: Path) -> list[AttributeRow]:
    """Return the title, page count and page size as rows for the attributes panel.

    Raises:
        FileProblem: The file is damaged or locked.
    """
    data = read_bytes(path)
    pages, rows, columns = pdf_extent(path, data)
    return [
        AttributeRow("", "Format", "", "PDF"),
        AttributeRow("", "Title", "", pdf_title(path, data)),
        AttributeRow("", "Pages", "", str(pages)),
        AttributeRow("", "Rows", "", str(rows)),
        AttributeRow("", "Columns", "", str(columns)),
        AttributeRow("", "FileSize", "", f"{len(data):,} bytes"),
    ]


def pdf_extent(path: Path, data: bytes) -> tuple[int, int, int]:
    """Return the number of pages in a PDF, and the rows and columns of the first page in pixels.

    Raises:
        FileProblem: The document is damaged or locked.
    """
    with _document(path, data) as document:
        # By its number: to load a page is to go through all that is drawn on it.
        rows, columns = _page_pixels(document.get_page_size(0))
        return len(document), rows, columns


def pdf_frame(path: Path, data: bytes, index: int, uid: str) -> Frame:
    """Draw a page of a PDF.

    Args:
        path: Path of the document, used only in error messages.
        data: Content of the document.
        index: Page number, from 0.
        uid: SOP Instance UID to put into the frame's reference.

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
    """Return the title stored in the document, or "" if it has none.

    Raises:
        FileProblem: The document is damaged or locked.
    """
    with _document(path, data) as document:
        facts: dict[str, str] = document.get_metadata_dict()
        return " ".join(facts.get("Title", "").split())[:200]


def _scale(size: tuple[float, float]) -> float:
    """Return pixels per point of a page, such that no side exceeds `_MAX_SIDE`."""
    width, height = size
    longest = max(float(width), float(height), 1e-3)
    return min(_DPI / _POINTS_PER_INCH, _MAX_SIDE / longest)


def _page_pixels(size: tuple[float, float]) -> tuple[int, int]:
    """Return rows and columns of a page of this (width, height) in points."""
    width, height = size
    scale = _scale(size)
    # Rounded up, as the drawing does.
    return max(1, int(np.ceil(height * scale))), max(1, int(np.ceil(width * scale)))


def _draw_page(page: Any) -> NDArray[np.uint8]:
    """Return a page as uint8 [rows, columns, 3] RGB."""
    bitmap = page.render(scale=_scale(page.get_size()), rev_byteorder=True, prefer_bgrx=False)
    try:
        pixels: NDArray[np.uint8] = bitmap.to_numpy()
        if pixels.ndim == 2:
            pixels = pixels[..., None]
        rgb = pixels[..., :3] if pixels.shape[2] >= 3 else np.repeat(pixels[..., :1], 3, axis=2)
        return np.ascontiguousarray(rgb).copy()
    finally:
        bitmap.close()


@contextmanager
def _document(path: Path, data: bytes) -> Generator[Any]:
    """Open a document with its form fields.

    Raises:
        FileProblem: It is locked, damaged or empty; also for any error raised inside the block.
    """
    document: Any = None
    if _bomb_checks.get((len(data), zlib.adler32(data)), lambda: _inflates_too_far(data)):
        reason = "the PDF document inflates to more than a page needs"
        raise guards.problem(path, reason, "Ask for a copy from its source")
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
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            reason = "the PDF document is locked with a password"
            raise guards.problem(path, reason, "Ask for a copy without one") from None
        raise _damaged_document(path, error) from None
    except Exception as error:
        raise _damaged_document(path, error) from None
    finally:
        if document is not None:
            document.close()


def _inflates_too_far(data: bytes) -> bool:
    """Return whether a stream of the document is a decompression bomb.

    The PDF library inflates a stream as a whole, so its size is measured before.
    """
    # Twice deflated, a few kilobytes may become terabytes.
    if _DOUBLE_DEFLATE.search(data):
        return True
    for found in _STREAM.finditer(data):
        begin = found.end()
        end = data.find(b"endstream", begin)
        end = len(data) if end < 0 else end
        is_zlib = data[begin : begin + 1] == b"\x78"
        # Short streams cannot exceed the limit: deflate gains a factor of 1032 at most.
        may = is_zlib and (end - begin) * _MOST_BYTES_A_BYTE > _MAX_STREAM_BYTES
        if may and _inflated_size(memoryview(data)[begin:end]) > _MAX_STREAM_BYTES:
            return True
    return False


def _inflated_size(source: memoryview) -> int:
    """Return the inflated size of a stream, counted only until it exceeds the limit."""
    stream = zlib.decompressobj()
    size = 0
    place = 0
    try:
        while not stream.eof and size <= _MAX_STREAM_BYTES:
            part = stream.unconsumed_tail
            if not part:
                part = source[place : place + _PART]
                place += _PART
                if not part:
                    break
            size += len(stream.decompress(part, _CHUNK))
    except zlib.error:
        pass  # damaged: the PDF library stops here too
    return size


def _damaged_document(path: Path, error: Exception) -> FileProblem:
    reason = "the PDF document is damaged and cannot be shown"
    return guards.problem(path, reason, guards.COPY_AGAIN, type(error).__name__)
