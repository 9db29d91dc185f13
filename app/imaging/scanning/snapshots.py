"""The result of a whole scan as bytes for the index, and back without making all its instances."""

from __future__ import annotations

from collections.abc import Iterator
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
from app.imaging.types import Instance, Problem, ScanResult, Series, Study

_STUDY = tuple(one.name for one in fields(Study) if one.name != "series")
_SERIES = tuple(one.name for one in fields(Series) if one.name != "instances")
_WHOLE = frozenset({"number", "part"})


def pack_result(result: ScanResult, mark: str, files: int) -> Snapshot:
    """A result as a snapshot.

    Args:
        result: Of a scan.
        mark: Stands for all files behind what was scanned.
        files: How many there were.
    """
    every = [series for study in result.studies for series in study.series]
    blocks: list[bytes] = []
    described: list[dict[str, Any]] = []
    for series in every:
        rest = range(1, len(series.instances), PER_BLOCK)
        own = [block_bytes(series.instances[at : at + PER_BLOCK]) for at in rest]
        described.append(
            {name: getattr(series, name) for name in _SERIES}
            | {"count": len(series.instances), "frames": frames_in(series.instances)}
            | {"sizes": [len(block) for block in own]}
        )
        blocks += own
    meta = {
        "studies": [
            {name: getattr(study, name) for name in _STUDY} | {"series": len(study.series)}
            for study in result.studies
        ],
        "series": described,
        "first": block_of([series.instances[0] for series in every]),
        "problems": [[str(p.path), p.reason, p.remedy, p.remark] for p in result.problems],
    }
    uids = b"".join(marks_of(series.instances).tobytes() for series in every)
    return Snapshot(mark, files, to_bytes(meta), b"".join(blocks), uids)


def restore(snapshot: Snapshot) -> ScanResult:
    """The result of `pack_result`; of each series only the first instance is made.

    Raises:
        TableError: It is damaged.
    """
    meta = from_bytes(snapshot.meta)
    reader = TableReader()
    try:
        firsts = iter(read_block(meta["first"], reader))
        series = _series(meta["series"], firsts, snapshot, reader)
        studies = tuple(
            Study(
                **_plain(one, _STUDY),
                series=tuple(next(series) for _ in range(one["series"])),
            )
            for one in meta["studies"]
        )
        problems = tuple(
            Problem(Path(path), str(reason), str(remedy), bool(remark))
            for path, reason, remedy, remark in meta["problems"]
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise TableError("not the result of a scan") from error
    if next(series, None) is not None:
        raise TableError("a series without a study")
    return ScanResult(studies, problems)


def _plain(one: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Fields of a study or series, which are texts, whole numbers and warnings."""
    made = {name: one[name] for name in names}
    warnings = made["warnings"] = tuple(made["warnings"])
    for name, value in made.items():
        expected = int if name in _WHOLE else tuple if name == "warnings" else str
        if type(value) is not expected:
            raise TableError("a field of another type")
    if not all(isinstance(text, str) for text in warnings):
        raise TableError("warnings that are no texts")
    return made


def _series(
    described: list[dict[str, Any]],
    firsts: Iterator[Instance],
    snapshot: Snapshot,
    reader: TableReader,
) -> Iterator[Series]:
    blocks, marks = memoryview(snapshot.blocks), np.frombuffer(snapshot.uids, "<u8")
    at = seen = 0
    for one in described:
        count = int(one["count"])
        own: list[memoryview] = []
        for size in one["sizes"]:
            own.append(blocks[at : at + size])
            at += size
        needed = -(-(count - 1) // PER_BLOCK)
        if count < 1 or len(own) != needed or at > len(blocks) or seen + count > len(marks):
            raise TableError("a series that is not whole")
        instances = StoredInstances(
            next(firsts), own, count, int(one["frames"]), marks[seen : seen + count], reader
        )
        seen += count
        yield Series(
            **_plain(one, _SERIES),
            instances=instances,
        )
