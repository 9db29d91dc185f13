"""Scan results as bytes for the index; restoring one does not create all instances at once."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np

from app.imaging.processes.records import pack, unpack
from app.imaging.studies.instance_lists import (
    PER_BLOCK,
    StoredInstances,
    TableError,
    TableReader,
    frame_count,
    pack_block,
    uid_hashes_of,
    unpack_block,
)
from app.imaging.types import Problem, ScanResult, Series, Study


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The result of a scan of `files` files, in the form in which the index stores it.

    Attributes:
        mark: Result of `FolderState.mark` when the files were read.
        pages: Compressed lines of JSON: one for the problems, then one for each study.
        blocks: Instances packed by `instance_lists.pack_block`: for each study the first instance
            of each series, then for each series the others.
        uids: Hashes (`uid_hashes`) of all SOP Instance UIDs, in series order.
    """

    mark: str
    files: int
    pages: bytes
    blocks: bytes
    uids: bytes

    def to_bytes(self) -> bytes:
        """Return the snapshot as a file's content: SHA-256, a line of JSON, pages, blocks, uids."""
        head = json.dumps([self.mark, self.files, len(self.pages), len(self.blocks)]).encode()
        content = b"".join((head, b"\n", self.pages, self.blocks, self.uids))
        return sha256(content).digest() + content

    @classmethod
    def from_bytes(cls, data: bytes) -> Snapshot:
        """Return the snapshot written by `to_bytes`; raise TableError if it is damaged."""
        checksum, content = data[:32], data[32:]
        if sha256(content).digest() != checksum:
            raise TableError("a damaged snapshot")
        head, _, parts = content.partition(b"\n")
        mark, files, pages, blocks = json.loads(head)
        blocks += pages
        return cls(mark, files, parts[:pages], parts[pages:blocks], parts[blocks:])


def pack_result(result: ScanResult, mark: str, files: int) -> Snapshot:
    """Pack the result of a scan of `files` files whose `FolderState.mark` is `mark`."""
    lines: list[Any] = [pack(result.problems)]
    blocks: list[bytes] = []
    uids: list[bytes] = []
    for study in result.studies:
        firsts = pack_block([one.instances[0] for one in study.series])
        blocks.append(firsts)
        page = pack(replace(study, series=())) | {"firsts": len(firsts), "series": []}
        for series in study.series:
            others = range(1, len(series.instances), PER_BLOCK)
            own = [pack_block(series.instances[at : at + PER_BLOCK]) for at in others]
            blocks += own
            uids.append(uid_hashes_of(series.instances).tobytes())
            page["series"].append(
                pack(replace(series, instances=()))
                | {
                    "count": len(series.instances),
                    "frames": frame_count(series.instances),
                    "blocks": [len(one) for one in own],
                }
            )
        lines.append(page)
    text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    pages = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
    return Snapshot(mark, files, pages, b"".join(blocks), b"".join(uids))


def restore(snapshot: Snapshot) -> ScanResult:
    """Restore a packed result, with only each series' first instance, or raise TableError."""
    try:
        # A page a study, so that parsing holds up no other thread for long.
        lines = zlib.decompress(snapshot.pages).splitlines()
        problems = tuple(unpack(Problem, one) for one in json.loads(lines[0]))
        reader = _SnapshotReader(snapshot)
        studies = tuple(reader.study(json.loads(line)) for line in lines[1:])
    except (zlib.error, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise TableError("not the result of a scan") from error
    if not reader.at_end:
        raise TableError("more instances than series")
    return ScanResult(studies, problems)


class _SnapshotReader:
    """Reads the instances of a snapshot from its beginning to its end."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._blocks = memoryview(snapshot.blocks)
        self._marks = np.frombuffer(snapshot.uids, "<u8")
        self._reader = TableReader()

    @property
    def at_end(self) -> bool:
        """Whether all blocks and marks were taken."""
        return not len(self._blocks) and not len(self._marks)

    def study(self, page: dict[str, Any]) -> Study:
        firsts = unpack_block(self._take(page.pop("firsts")), self._reader)
        series = tuple(
            self._series(one, first) for one, first in zip(page.pop("series"), firsts, strict=True)
        )
        return replace(unpack(Study, page | {"series": ()}), series=series)

    def _series(self, page: dict[str, Any], first: Any) -> Series:
        count, frames = page.pop("count"), page.pop("frames")
        blocks = [self._take(size) for size in page.pop("blocks")]
        marks, self._marks = self._marks[:count], self._marks[count:]
        if count < 1 or len(blocks) != -(-(count - 1) // PER_BLOCK) or len(marks) != count:
            raise TableError("a series that is not whole")
        instances = StoredInstances(first, blocks, count, frames, marks, self._reader)
        return replace(unpack(Series, page | {"instances": ()}), instances=instances)

    def _take(self, size: int) -> memoryview:
        block, self._blocks = self._blocks[:size], self._blocks[size:]
        if len(block) != size:
            raise TableError("a block that is not whole")
        return block
