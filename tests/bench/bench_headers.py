"""CPU time a header takes in a worker, against pydicom reading the same one in the same process.

Run: `python -m tests.bench.bench_headers`. Both read the files once before, so that no disk counts;
ours begins with nothing remembered in each run. Means of a file, best of three runs.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydicom

from app.imaging.dicom import dicom_file, header_walk
from app.imaging.dicom.dicom_file import silence_pydicom
from app.imaging.reading.image_entries import read_instances
from tests.bench.bench_imaging import line
from tests.bench.bench_scanning import make_files
from tests.bench.series_files import ct_series
from tests.conformance.files import SHARED

_RUNS = 3
_MADE = 1000


def forget() -> None:
    """Empty the memories of the quick reader, as if the worker had just been started."""
    header_walk._groups.clear()
    header_walk._head.cache_clear()
    dicom_file._raw_text.cache_clear()
    dicom_file._shared_value.cache_clear()


def is_ordinary(path: Path) -> bool:
    """Return whether the quick reader takes a file."""
    with path.open("rb") as file:
        return header_walk.read_ordinary(file) is not None


def seconds(call: Callable[[Path], Any], files: list[Path]) -> float:
    """CPU time a file."""
    best = float("inf")
    for _ in range(_RUNS):
        forget()
        started = time.process_time()
        for path in files:
            call(path)
        best = min(best, time.process_time() - started)
    return best / len(files)


def compare(name: str, files: list[Path]) -> None:
    """Print one line for the quick reader and one for pydicom behind the same door."""
    theirs = seconds(lambda path: pydicom.dcmread(path, stop_before_pixels=True), files)
    ordinary = sum(map(is_ordinary, files))
    what = f"{name}, {ordinary} of {len(files)} ordinary"
    line(what, seconds(read_instances, files), "pydicom", theirs)
    quick = dicom_file.read_ordinary
    try:
        dicom_file.read_ordinary = lambda file: None
        line("  without the quick reader", seconds(read_instances, files), "pydicom", theirs)
    finally:
        dicom_file.read_ordinary = quick


def main() -> None:
    """Print two lines a folder."""
    warnings.simplefilter("ignore")
    silence_pydicom()
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), _MADE)
        compare("made for the scan", sorted(Path(folder).rglob("*.dcm")))
    for compressed in (False, True):
        made = ct_series(compressed=compressed)
        compare(made.name, sorted(made.glob("*.dcm")))
    for name in ("ct-head", "mr-t1"):
        if (SHARED / "series" / name).is_dir():
            compare(name, sorted((SHARED / "series" / name).glob("*.dcm")))


if __name__ == "__main__":
    main()
