"""Runs whose memory is measured, each in a process of its own: `python -m tests.gui.memory_runs`.

A process that has run other tests has grown already, and what it holds cannot be told from what a
run left behind.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import io
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import pydicom
from pydicom.uid import UID
from PySide6.QtCore import QEvent, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.imaging.decode import Decoder
from app.imaging.types import Instance
from app.views.application import create_application, needs_offscreen, use_offscreen
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.bench.series_files import ct_series

WARM_UP = 40
"""Rounds before the start is measured: fonts, caches of text, pools and the allocator's arenas."""

ROUNDS = 200
LAST = 15
SLICES = 2000
SLICES_EACH = 4
OWN = "66666{:05d}"
SMALL = 64 * 2**20
IMAGE, PLACE, HEIGHT = "1.5.99999{:05d}", "8888{:05d}", "7777{:05d}"
DIFFERENT = 100
"""Files that are made; the others are copies of them under other names."""


@dataclass(frozen=True, slots=True)
class State:
    """What a process holds.

    Attributes:
        resident: Bytes in memory of its own, and its share of what it has with others.
        objects: Objects of the program's own classes, by class.
        threads: Threads.
        files: Open file descriptors.
        segments: Shared memory in the system.
        children: Processes that it started.
    """

    resident: int
    objects: dict[str, int]
    threads: int
    files: int
    segments: int
    children: int


def resident_bytes() -> int:
    """Memory of its own, and its share of what it has with others (Linux).

    What the allocator keeps for the next request is given back first: it is nobody's. Files in
    memory (libraries) are left out: how much of them is this process's share goes up and down with
    the other processes on the machine.
    """
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    rows = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    sizes = {name: rest.split()[0] for name, _, rest in (row.partition(":") for row in rows[1:])}
    return 1024 * (int(sizes["Pss_Anon"]) + int(sizes["Pss_Shmem"]))


def state(resident: Sequence[int]) -> State:
    """What this process holds now, what waits to be collected excluded.

    Args:
        resident: `resident_bytes` after each round; the median of the last few counts, since it
            goes up and down by a few per cent from round to round.
    """
    gc.collect()
    gc.unfreeze()  # what stood when the window was shown counts too
    names = (f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    own = Counter(name for name in names if name.startswith("app."))
    task = Path("/proc/self/task")
    children = sum(len((one / "children").read_text().split()) for one in task.iterdir())
    shared = [one for one in Path("/dev/shm").iterdir() if one.name.startswith("sl")]
    threads, files = len(list(task.iterdir())), len(list(Path("/proc/self/fd").iterdir()))
    median = round(statistics.median(resident[-LAST:]))
    return State(median, dict(own), threads, files, len(shared), children)


def wait(until: Callable[[], object], limit_s: float = 120.0) -> None:
    """Run the event loop until something holds."""
    loop = QEventLoop()
    look = QTimer(interval=1)
    look.timeout.connect(lambda: loop.quit() if until() else None)
    look.start()
    limit = QTimer(singleShot=True, interval=round(limit_s * 1000))
    limit.timeout.connect(loop.quit)
    limit.start()
    while not until() and limit.isActive():
        loop.exec()
    look.stop()
    if not until():
        raise TimeoutError(f"nothing within {limit_s} s")


def studies(folder: Path, count: int) -> Iterator[Path]:
    """Folders with a small study each, of four slices, all of other patients."""
    slices = [_small_slice(index) for index in range(SLICES_EACH)]
    for number in range(count):
        place = folder / str(number)
        place.mkdir()
        for index, data in enumerate(slices):
            made = data.replace(OWN.format(0).encode(), OWN.format(number).encode())
            (place / f"{index}.dcm").write_bytes(made)
        yield place


def _small_slice(index: int) -> bytes:
    """A file of the first study; its names hold a number in which those of others differ."""
    ds = pydicom.dcmread(ct_series(8, 128) / "0000.dcm")
    ds.StudyInstanceUID, ds.SeriesInstanceUID = f"1.2.{OWN.format(0)}", f"1.3.{OWN.format(0)}"
    ds.PatientID = ds.PatientName = f"P{OWN.format(0)}"
    ds.SOPInstanceUID = UID(f"1.4.{OWN.format(0)}.{index}")
    ds.file_meta.MediaStorageSOPInstanceUID = ds.SOPInstanceUID
    ds.InstanceNumber = index + 1
    ds.ImagePositionPatient = [0, 0, float(index)]
    stream = io.BytesIO()
    ds.save_as(stream)
    return stream.getvalue()


def open_and_close(window: MainWindow, folder: Path) -> None:
    """As a reader does: open a study, look at its images, close it."""
    window.open_paths([folder])
    wait(lambda: not window.opening.busy and window.canvas.picture is not None)
    for _ in range(3):
        shown = window.canvas.picture
        window.canvas.scroller.step(1)
        wait(lambda shown=shown: window.canvas.picture is not shown)
    window.actions_.close_study.trigger()
    wait(lambda: not window.busy and not window.workspace.studies.all)
    shutil.rmtree(folder)


def many_studies(rounds: int = ROUNDS) -> dict[str, object]:
    """Open and close many studies in a real window; what is held before and after."""
    if needs_offscreen():
        use_offscreen()
    create_application()
    with tempfile.TemporaryDirectory() as home:
        os.environ["SIGHTLINE_HOME"] = home
        program = Program()
        window = build_window(program, ViewRequest())
        window.show()
        try:
            before: State | None = None
            resident: list[int] = []
            total = WARM_UP + rounds
            folders = studies(Path(home), total)
            for number, folder in enumerate(folders):
                if number == WARM_UP:
                    before = state(resident)
                open_and_close(window, folder)
                if number >= total - LAST or WARM_UP - LAST <= number < WARM_UP:
                    resident.append(resident_bytes())
            assert before is not None
            after = state(resident)
            return {"before": asdict(before), "after": asdict(after), "rounds": rounds}
        finally:
            window.close()
            program.close()


def long_series(folder: Path, count: int) -> None:
    """A compressed series of many slices, most of them copies of a few with other names."""
    source = ct_series(DIFFERENT, 256, compressed=True)
    made: list[bytes] = []
    for path in sorted(source.glob("*.dcm")):
        ds = pydicom.dcmread(path)
        ds.SOPInstanceUID = IMAGE.format(0)
        ds.file_meta.MediaStorageSOPInstanceUID = UID(IMAGE.format(0))
        ds.InstanceNumber, ds.ImagePositionPatient = PLACE.format(0), [0, 0, HEIGHT.format(0)]
        stream = io.BytesIO()
        ds.save_as(stream)
        made.append(stream.getvalue())
    for number in range(count):
        data = made[number % len(made)]
        for text in (IMAGE, PLACE, HEIGHT):  # of one length each: quicker than to write them anew
            data = data.replace(text.format(0).encode(), text.format(number).encode())
        (folder / f"{number:04d}.dcm").write_bytes(data)


def scrolled(count: int = SLICES, budget: int = SMALL) -> dict[str, object]:
    """Go from end to end of a long compressed series with a small cache; the most that was held."""
    with tempfile.TemporaryDirectory() as folder:
        long_series(Path(folder), count)
        decoder = Decoder(cache_bytes=budget)
        try:
            found = decoder.scan([Path(folder)]).result()
            (series,) = found.studies[0].series
            images: Sequence[Instance] = series.instances
            assert len(images) == count
            decoder.frame(images[0]).result()
            gc.collect()
            gc.freeze()  # what stands now is not gone through at each look
            before, peak, kept, total = resident_bytes(), 0, 0, 0
            started = time.perf_counter()
            for number, image in enumerate(images):
                ahead = [decoder.frame(one, 0, 1) for one in images[number + 1 : number + 4]]
                frame = decoder.frame(image).result()
                assert frame.ref.sop_instance_uid == IMAGE.format(number)
                total += int(frame.stored.max())  # as whoever draws it: only then is it in memory
                kept = max(kept, decoder.cache_bytes[0])
                if number % 20 == 0:
                    peak = max(peak, resident_bytes())
                del ahead
            seconds = time.perf_counter() - started
        finally:
            decoder.close()
    assert total > count
    numbers = {"before": before, "peak": peak, "kept": kept, "budget": budget}
    return {**numbers, "slices": count, "seconds": seconds, "frame": 256 * 256 * 2}


def main() -> None:
    """Do one run and print what it measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", choices=("studies", "scrolled"))
    parser.add_argument("--count", type=int)
    wanted = parser.parse_args()
    if wanted.run == "studies":
        result = many_studies(wanted.count or ROUNDS)
    else:
        result = scrolled(wanted.count or SLICES)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
