"""Encapsulated PDF documents (PS3.3 A.45.1, C.24.2). Runs in a worker process."""

from __future__ import annotations

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.instance_attributes import uid_of
from app.imaging.formats.pdf_file import pdf_extent, pdf_frame
from app.imaging.types import Frame


def extent(header: Header) -> tuple[int, int, int]:
    """Return the number of pages, and rows and columns of the first; raises as `pdf_extent`."""
    return pdf_extent(header.path, _document_bytes(header))


def read_frame(header: Header, index: int) -> Frame:
    """Draw one page as a frame; raises as `pdf_frame`."""
    return pdf_frame(header.path, _document_bytes(header), index, uid_of(header))


def _document_bytes(header: Header) -> bytes:
    """Return the embedded PDF, without the byte that pads it to an even length."""
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
