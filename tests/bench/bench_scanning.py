"""How fast folders open, against a plain loop of pydicom over the same headers in the same run.

Run: `python -m tests.bench.bench_scanning [FILES]` (2,000 by default). Also tells how soon the
first study is there, and what an instance costs in resident memory.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pydicom
from pydicom.data import get_testdata_file

from app.imaging.decode import Decoder
from app.imaging.types import ScanResult
from app.workspace.studies import Studies
from tests.bench.bench_imaging import line

PER_SERIES = 200
LONG_AGO_NS = 10**18
"""Files that were written just now are not remembered."""


def make_files(folder: Path, count: int) -> None:
    """Small CT images with pydicom's example header, `PER_SERIES` in a series."""
    ds = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    ds.Rows = ds.Columns = 16
    ds.PixelData = np.zeros((16, 16), np.int16).tobytes()
    for number in range(count):
        series, place = divmod(number, PER_SERIES)
        ds.StudyInstanceUID = f"1.2.{series // 4}"
        ds.SeriesInstanceUID = f"1.2.{series // 4}.{series}"
        ds.SOPInstanceUID = f"1.2.{series // 4}.{series}.{place}"
        ds.PatientID = ds.PatientName = f"P{series // 4}"
        ds.InstanceNumber = place + 1
        ds.ImagePositionPatient = [0, 0, place * 2.5]
        path = folder / f"series{series}" / f"{place}.dcm"
        path.parent.mkdir(exist_ok=True)
        ds.save_as(path)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def plainly(folder: Path) -> float:
    """Seconds of pydicom in one process over the same files."""
    started = time.perf_counter()
    for path in sorted(folder.rglob("*.dcm")):
        pydicom.dcmread(path, stop_before_pixels=True)
    return time.perf_counter() - started


def scan(decoder: Decoder, folder: Path) -> tuple[float, float, ScanResult]:
    """Seconds of a scan, seconds to its first study, and its result."""
    started = time.perf_counter()
    first: list[float] = []

    def found(_: ScanResult) -> None:
        first.append(time.perf_counter() - started)

    result = decoder.scan([folder], found=found).result()
    return time.perf_counter() - started, first[0], result


def resident_mb() -> float:
    """Resident memory of this process (Linux), MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory_and_index(before_mb: float, result: ScanResult, index_files: Path) -> None:
    """What an instance costs, in this process and on disk."""
    instances = sum(len(one.instances) for study in result.studies for one in study.series)
    grown = resident_mb() - before_mb
    size = sum(path.stat().st_size for path in index_files.parent.glob(f"{index_files.name}*"))
    print(f"memory {grown:.0f} MB: {grown * 1e3 / instances:.1f} kB an instance", end="; ")
    print(f"index {size / 1e6:.1f} MB")


def workspace(result: ScanResult) -> None:
    """How long the GUI's thread takes over a result."""
    studies = Studies()
    started = time.perf_counter()
    studies.add(result)
    studies.series_of(result.studies[-1].series[-1].instances[-1])
    taken = time.perf_counter() - started
    print(f"taken into the workspace and looked up in {taken * 1e3:.1f} ms")


def main() -> None:
    """Print one line a measurement."""
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {count} files")
    with tempfile.TemporaryDirectory() as temporary:
        folder, index = Path(temporary) / "images", Path(temporary) / "index.sqlite"
        folder.mkdir()
        make_files(folder, count)
        theirs = plainly(folder)
        decoder = Decoder(2, index=index)
        before = resident_mb()
        for what in ("workers not started", "indexed"):
            ours, first, result = scan(decoder, folder)
            line(f"scan, {what}", ours, "pydicom, one process", theirs)
            line(f"  first study, {what}", first, "the whole scan", ours)
            if what != "indexed":
                memory_and_index(before, result, index)
        decoder.close()
        decoder = Decoder(2)
        decoder.warm()
        decoder.scan([Path(temporary) / "nothing"]).result()
        ours, first, result = scan(decoder, folder)
        line("scan, workers started, no index", ours, "pydicom, one process", theirs)
        line("  first study, workers started", first, "the whole scan", ours)
        decoder.close()
        workspace(result)


if __name__ == "__main__":
    main()
