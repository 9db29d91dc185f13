"""The strips and tiles of a TIFF page, looked at before they are decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.imaging import guards
from app.imaging.files.code_stream_checks import declared_by

MAX_SEGMENTS = 100_000
"""A strip of each row, and tiles of 64 x 64 of the largest plane; each costs some microseconds."""
_PADDING = 64
_WITH_SIZES = frozenset({6, 7, 33003, 33004, 33005, 33007, 34712, 50002, 52546})
"""Compressions whose strips and tiles are JPEG, JPEG 2000 or JPEG XL code streams."""


def check_segments(path: Path, page: Any) -> None:
    """Refuse a page of absurdly many strips or tiles, or one that is larger than the page says.

    Raises:
        FileProblem: See above.
        ValueError: What a code stream says of itself cannot be right.
    """
    places = list(zip(page.dataoffsets, page.databytecounts, strict=False))
    if len(places) > MAX_SEGMENTS:
        reason = f"a plane of it is cut into {len(places):,} pieces, too many to be opened"
        raise guards.problem(path, reason, "Export it with larger tiles")
    if int(page.compression) not in _WITH_SIZES:
        return
    if page.is_tiled:
        rows, columns = int(page.tilelength), int(page.tilewidth)
    else:
        rows, columns = min(int(page.rowsperstrip), int(page.imagelength)), int(page.imagewidth)
    handle = page.parent.filehandle
    for offset, size in places:
        handle.seek(int(offset))
        coded = declared_by(handle.read(int(size))) if size else None
        if coded is None:
            continue
        turned = coded.turned and coded.columns <= rows + _PADDING
        if not turned and (coded.rows > rows + _PADDING or coded.columns > columns + _PADDING):
            raise guards.problem(
                path,
                f"a part of {columns} x {rows} pixels holds {coded.columns} x {coded.rows}",
                guards.COPY_AGAIN,
            )
