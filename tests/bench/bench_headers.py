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

from app.imaging.dicom import plain_instance, plain_walk
from app.imaging.dicom.dicom_file import be_quiet
from app.imaging.dicom.plain_header import plain_header
from app.imaging.reading import dicom_image
from app.imaging.reading.image_entries import read_instances
from tests.bench.bench_imaging import line
from tests.bench.bench_scanning import make_files
from tests.bench.series_files import ct_series
from tests.conformance.files import SHARED

_RUNS = 3
_MADE = 1000


def forget() -> None:
    """As if the worker had just been started."""
    for implicit in (False, True):
        plain_walk._memories[implicit] = plain_walk.new_memory(implicit=implicit)
    for name in ("_explicit_texts", "_implicit_texts", "_sizes", "_b_values"):
        getattr(plain_instance, name).clear()


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
    """One line for the way that most files go, one for that of the others."""
    theirs = seconds(lambda path: pydicom.dcmread(path, stop_before_pixels=True), files)
    plain = sum(plain_header(path) is not None for path in files)
    what = f"{name}, {plain} of {len(files)} plain"
    line(what, seconds(read_instances, files), "pydicom", theirs)
    line("  the same by the parser", seconds(dicom_image.read_instances, files), "pydicom", theirs)


def main() -> None:
    """Print two lines a folder."""
    warnings.simplefilter("ignore")
    be_quiet()
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
