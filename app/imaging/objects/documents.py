"""Encapsulated PDF documents (PS3.3 A.45.1, C.24.2). Runs in a worker process."""

from __future__ import annotations

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.files.identity import content_uid
from app.imaging.formats.pdf_file import pdf_extent, pdf_frame
from app.imaging.types import Frame


def extent(header: Header) -> tuple[int, int, int]:
    """Return the number of pages in an encapsulated PDF, and rows and columns of the first page.

    Raises:
        FileProblem: The document is damaged, locked, or not a PDF.
    """
    return pdf_extent(header.path, document_bytes(header))


def read_frame(header: Header, index: int) -> Frame:
    """Draw one page as a frame.

    Raises:
        FileProblem: The page does not exist, or cannot be drawn.
    """
    path = str(header.path).encode("utf-8", "replace")
    uid = header.text("SOPInstanceUID") or content_uid(path)
    return pdf_frame(header.path, document_bytes(header), index, uid)


def document_bytes(header: Header) -> bytes:
    """Return the embedded PDF, without the byte that pads it to an even length.

    Raises:
        FileProblem: The object does not contain a PDF.
    """
    data = header.value("EncapsulatedDocument")
    # PDF readers accept up to 1 KB of other bytes before the signature.
    if not isinstance(data, bytes) or b"%PDF-" not in data[:1024]:
        kind = header.text("MIMETypeOfEncapsulatedDocument")[:40]
        reason = "it holds no PDF document" + (f" (it declares {kind})" if kind else "")
        raise guards.problem(header.path, reason, guards.COPY_AGAIN)
    length = header.value("EncapsulatedDocumentLength")
    if isinstance(length, int) and 0 < length <= len(data):
        return data[:length]
    return data
