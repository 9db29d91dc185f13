"""The result of a whole scan as bytes for the index, and back without making all its instances.

Studies and series stand in pages of some hundred series, so that no page holds up other threads;
each page has the first instance of each series, which lists and checks look at. The others are in
blocks, which are opened when somebody asks for one of theirs (`studies.instance_lists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from app.imaging.scanning.index import Snapshot
from app.imaging.studies.instance_lists import (
    PER_BLOCK,
    StoredInstances,
    block_bytes,
    block_of,
    frames_in,
    marks_of,
    read_block,
)
from app.imaging.studies.tables import TableError, TableReader, from_bytes, to_bytes
from app.imaging.types import Problem, ScanResult, Series, Study

_STUDY = tuple(one.name for one in fields(Study) if one.name != "series")
_SERIES = tuple(one.name for one in fields(Series) if one.name != "instances")
_WHOLE = frozenset({"number", "part", "series", "count", "frames"})
_LISTS = frozenset({"warnings", "sizes", "pages"})
_PER_PAGE = 256


def pack_result(result: ScanResult, mark: str, files: int) -> Snapshot:
    """A result as a snapshot.

    Args:
        result: Of a scan.
        mark: Stands for all files behind what was scanned.
        files: How many there were.
    """
    pages: list[bytes] = []
    blocks: list[bytes] = []
    for studies in _pages(result.studies):
        every = [series for study in studies for series in study.series]
        sizes: list[list[int]] = []
        for series in every:
            rest = range(1, len(series.instances), PER_BLOCK)
            own = [block_bytes(series.instances[at : at + PER_BLOCK]) for at in rest]
            sizes.append([len(block) for block in own])
            blocks += own
        page = {
            "studies": {name: [getattr(one, name) for one in studies] for name in _STUDY}
            | {"series": [len(one.series) for one in studies]},
            "series": {name: [getattr(one, name) for one in every] for name in _SERIES}
            | {"count": [len(one.instances) for one in every]}
            | {"frames": [frames_in(one.instances) for one in every], "sizes": sizes},
            "first": block_of([one.instances[0] for one in every]),
        }
        pages.append(to_bytes(page))
    problems = [[str(p.path), p.reason, p.remedy, p.remark] for p in result.problems]
    meta = {"pages": [len(page) for page in pages], "problems": problems}
    lists = (one.instances for study in result.studies for one in study.series)
    uids = b"".join(marks_of(own).tobytes() for own in lists)
    return Snapshot(mark, files, to_bytes(meta), b"".join((*pages, *blocks)), uids)


def _pages(studies: Sequence[Study]) -> Iterator[list[Study]]:
    page: list[Study] = []
    room = _PER_PAGE
    for study in studies:
        page.append(study)
        room -= len(study.series)
        if room <= 0:
            yield page
            page, room = [], _PER_PAGE
    if page:
        yield page


def restore(snapshot: Snapshot) -> ScanResult:
    """The result of `pack_result`; of each series only the first instance is made.

    Raises:
        TableError: It is damaged.
    """
    meta = from_bytes(snapshot.meta)
    try:
        opened = _Opened(snapshot, sum(_checked("pages", [meta["pages"]])[0]))
        at, studies = 0, list[Study]()
        for size in meta["pages"]:
            studies += opened.studies(from_bytes(opened.body[at : at + size]))
            at += size
        problems = tuple(
            Problem(Path(path), str(reason), str(remedy), bool(remark))
            for path, reason, remedy, remark in meta["problems"]
        )
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise TableError("not the result of a scan") from error
    if not opened.is_through:
        raise TableError("more instances than series")
    return ScanResult(tuple(studies), problems)


class _Opened:
    """A snapshot that is read from its begin to its end."""

    def __init__(self, snapshot: Snapshot, pages_end: int) -> None:
        self.body = memoryview(snapshot.blocks)
        self._marks = np.frombuffer(snapshot.uids, "<u8")
        self._reader = TableReader()
        self._at = pages_end
        self._seen = 0

    @property
    def is_through(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self.body) and self._seen == len(self._marks)

    def studies(self, page: Any) -> Iterator[Study]:
        """The studies of a page."""
        every = self._series(page)
        columns = [_checked(name, page["studies"][name]) for name in (*_STUDY, "series")]
        for *values, count in zip(*columns, strict=True):
            series = tuple(next(every) for _ in range(count))
            yield Study(**dict(zip(_STUDY, values, strict=True)), series=series)
        if next(every, None) is not None:
            raise TableError("a series without a study")

    def _series(self, page: Any) -> Iterator[Series]:
        names = (*_SERIES, "count", "frames", "sizes")
        columns = [_checked(name, page["series"][name]) for name in names]
        firsts = read_block(page["first"], self._reader)
        for first, *values, count, frames, sizes in zip(firsts, *columns, strict=True):
            blocks = [self._block(size) for size in sizes]
            marks = self._marks[self._seen : self._seen + count]
            if count < 1 or len(blocks) != -(-(count - 1) // PER_BLOCK) or len(marks) != count:
                raise TableError("a series that is not whole")
            self._seen += count
            instances = StoredInstances(first, blocks, count, frames, marks, self._reader)
            yield Series(**dict(zip(_SERIES, values, strict=True)), instances=instances)

    def _block(self, size: int) -> memoryview:
        block = self.body[self._at : self._at + size]
        self._at += size
        return block


def _checked(name: str, values: list[Any]) -> list[Any]:
    """A column whose values are whole numbers, texts or lists of one of them."""
    if name in _LISTS:
        inner = str if name == "warnings" else int
        if any(type(one) is not list or set(map(type, one)) - {inner} for one in values):
            raise TableError("a field of another type")
        return [tuple(one) for one in values]
    if set(map(type, values)) - {int if name in _WHOLE else str}:
        raise TableError("a field of another type")
    return values
