"""PDF files as documents: their pages are frames. Runs in a worker process."""

from __future__ import annotations

from pathlib import Path

from app.imaging.attributes import AttributeRow
from app.imaging.files import sources
from app.imaging.files.identity import content_uid
from app.imaging.formats.pdf_pages import pdf_extent, pdf_frame, pdf_title
from app.imaging.formats.pictures import read_bytes
from app.imaging.types import Content, Frame, Instance


def read_instances(path: Path) -> tuple[Instance, ...]:
    """A document is one instance; raises FileProblem when it is damaged or locked."""
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
    """The picture of a page; raises FileProblem when there is none or it cannot be drawn."""
    data = read_bytes(path)
    return pdf_frame(path, data, index, content_uid(data))


def read_rows(path: Path) -> list[AttributeRow]:
    """What it says of itself, for the side panel; raises FileProblem when it is damaged."""
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
