"""How fast folders open, against a plain loop of pydicom over the same headers in the same run.

Run: `python -m tests.bench.bench_scanning [FILES]` (10,000 by default; 100,000 takes some minutes).
Also tells how soon the first study is there, what an instance costs in resident memory of a
process that does nothing else, and how much of its time goes into a scan.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from pydicom.data import get_testdata_file
from pydicom.uid import UID

from app.imaging.decode import Decoder
from app.imaging.types import ScanResult
from app.workspace.studies import Studies
from tests.bench.bench_imaging import line

PER_SERIES = 200
SERIES_PER_STUDY = 4
LONG_AGO_NS = 10**18
"""Files that were written just now are not remembered."""
_RUNS = 3
_LOOP_FILES = 10_000
"""Of more files, the plain loop reads so many, and its time is scaled."""


def make_files(folder: Path, count: int) -> None:
    """Small CT images with pydicom's example header, `PER_SERIES` in a series.

    Written once; the others are copies of those bytes with UIDs, places and names of equal length.
    """
    ds = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    ds.Rows = ds.Columns = 16
    ds.PixelData = np.zeros((16, 16), np.int16).tobytes()
    ds.StudyInstanceUID, ds.SeriesInstanceUID, ds.SOPInstanceUID = (
        f"1.2.826.0.1.3680043.8.498.{kind}0000000" for kind in (1, 2, 3)
    )
    ds.file_meta.MediaStorageSOPInstanceUID = UID(ds.SOPInstanceUID)
    ds.PatientID = ds.PatientName = "P0000000"
    ds.InstanceNumber = "99999999"
    ds.ImagePositionPatient = ["0", "0", "1000.000"]
    begin = folder / "begin.dcm"
    ds.save_as(begin)
    data = begin.read_bytes()
    begin.unlink()
    for number in range(count):
        series, place = divmod(number, PER_SERIES)
        study = series // SERIES_PER_STUDY
        made = data
        for kind, value in ((1, study), (2, series), (3, number)):
            uid = f"1.2.826.0.1.3680043.8.498.{kind}"
            made = made.replace(f"{uid}0000000".encode(), f"{uid}{value:07}".encode())
        made = made.replace(b"P0000000", f"P{study:07}".encode())
        made = made.replace(b"99999999", f"{place + 1:<8}".encode())
        made = made.replace(b"1000.000", f"{1000 + place * 2.5:.3f}".encode())
        path = folder / f"series{series}" / f"{place}.dcm"
        if place == 0:
            path.parent.mkdir()
        path.write_bytes(made)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def plainly(folder: Path, count: int) -> float:
    """Seconds of pydicom in one process over the same files."""
    paths = sorted(folder.rglob("*.dcm"))[:_LOOP_FILES]
    started = time.perf_counter()
    for path in paths:
        pydicom.dcmread(path, stop_before_pixels=True)
    return (time.perf_counter() - started) * count / len(paths)


def scan(decoder: Decoder, folder: Path) -> tuple[float, float, ScanResult, float]:
    """Seconds of a scan, to its first study, its result, and this process's own seconds."""
    started, own = time.perf_counter(), time.process_time()
    first: list[float] = []

    def found(_: ScanResult) -> None:
        first.append(time.perf_counter() - started)

    result = decoder.scan([folder], found=found).result()
    taken = time.perf_counter() - started
    return taken, (first or [taken])[0], result, time.process_time() - own


def resident_mb() -> float:
    """Resident memory of this process (Linux), MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def report(folder: Path, index: Path) -> None:
    """Open the folder in this process, which does nothing else, and tell what that took."""
    decoder = Decoder(2, index=index)
    decoder.warm()
    decoder.scan([folder / "nothing"]).result()
    before = resident_mb()
    taken, first, result, own = scan(decoder, folder)
    after = resident_mb()
    instances = sum(len(one.instances) for study in result.studies for one in study.series)
    studies = Studies()
    started = time.perf_counter()
    studies.add(result)
    last = result.studies[-1].series[-1].instances[-1]
    assert studies.series_of(last) is not None
    added = time.perf_counter() - started
    figures = {"taken": taken, "first": first, "own": own, "before": before, "after": after}
    figures |= {"open": resident_mb(), "instances": instances, "added": added}
    decoder.close()
    print(json.dumps(figures))


def in_a_process(folder: Path, index: Path) -> dict[str, Any]:
    """What `report` tells, run in a fresh process."""
    command = [sys.executable, "-m", "tests.bench.bench_scanning", "--report", folder, index]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def memory(what: str, figures: dict[str, Any]) -> None:
    """One line on memory, and one on the process's own time."""
    count, grown = figures["instances"], figures["open"] - figures["before"]
    print(
        f"{what}: {figures['open']:.0f} MB resident in all, {grown:.0f} MB of them for {count:,}"
        f" instances, {grown * 1e3 / count:.2f} kB each"
    )
    print(
        f"  this process's own time {figures['own'] * 1e6 / count:.1f} us an instance; taken into"
        f" the workspace and looked up in {figures['added'] * 1e3:.1f} ms"
    )


def main() -> None:
    """Print one line a measurement."""
    if sys.argv[1:2] == ["--report"]:
        report(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    runs = _RUNS if count <= _LOOP_FILES else 1
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {count} files")
    print(f"best of {runs}, one after the other with the baseline")
    with tempfile.TemporaryDirectory() as temporary:
        folder, index = Path(temporary) / "images", Path(temporary) / "index"
        folder.mkdir()
        make_files(folder, count)
        theirs: list[float] = []
        ours: dict[str, list[tuple[float, float]]] = {}
        for _ in range(runs):
            theirs.append(plainly(folder, count))
            decoder = Decoder(2)
            ours.setdefault("workers not started", []).append(scan(decoder, folder)[:2])
            ours.setdefault("workers started", []).append(scan(decoder, folder)[:2])
            decoder.close()
            figures = in_a_process(folder, Path(temporary) / f"{len(theirs)}")
            ours.setdefault("and remembered", []).append((figures["taken"], figures["first"]))
        decoder = Decoder(2, index=index)
        scan(decoder, folder)
        for _ in range(runs + 1):
            ours.setdefault("indexed", []).append(scan(decoder, folder)[:2])
        decoder.close()
        for what, times in ours.items():
            line(f"scan, {what}", min(times)[0], "pydicom, one process", min(theirs))
            first = min(one for _, one in times)
            line("  its first study", first, "the whole scan", min(times)[0])
        memory("read", in_a_process(folder, Path(temporary) / "another"))
        memory("indexed", in_a_process(folder, index))
        size = sum(path.stat().st_size for path in index.rglob("*"))
        print(f"index {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
