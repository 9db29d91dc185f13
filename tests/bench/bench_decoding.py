"""How fast frames come through the decode workers, as ratios against named baselines.

Run: `python -m tests.bench.bench_decoding`. A CT of 500 slices of 512 x 512, in JPEG 2000 lossless
and uncompressed (`series_files`). Each figure and its baseline are measured in the same run, in
turns, best of several: other work on the machine only ever slows one down.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pydicom
from pydicom.encaps import generate_frames

from app.imaging.decode import Decoder
from app.imaging.processes.worker_pool import Priority
from app.imaging.types import Instance
from tests.bench.series_files import ct_series

ROUNDS = 3


def codec_alone(paths: Sequence[Path]) -> float:
    """Seconds in which OpenJPEG decodes code streams that lie in memory; nothing else."""
    from openjpeg.utils import decode

    streams = [
        next(generate_frames(pydicom.dcmread(path).PixelData, number_of_frames=1)) for path in paths
    ]
    started = time.perf_counter()
    for stream in streams:
        decode(stream)
    return time.perf_counter() - started


def pydicom_alone(paths: Sequence[Path]) -> float:
    """Seconds of a plain loop: pydicom reads each file and decodes it, with the same codec."""
    started = time.perf_counter()
    for path in paths:
        ds = pydicom.dcmread(path)
        ds.pixel_array_options(decoding_plugin="pylibjpeg")
        assert ds.pixel_array.shape == (512, 512)
    return time.perf_counter() - started


def numpy_alone(paths: Sequence[Path]) -> float:
    """Seconds of a plain loop: pydicom reads each uncompressed file and shapes it."""
    started = time.perf_counter()
    for path in paths:
        assert int(np.max(pydicom.dcmread(path).pixel_array)) >= 0
    return time.perf_counter() - started


BASELINES = {"codec": codec_alone, "pydicom": pydicom_alone, "numpy": numpy_alone}


def in_a_plain_process(name: str, folder: Path, count: int) -> float:
    """A baseline in a process of its own, without any of ours."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__]
    done = subprocess.run(
        [*command, "--baseline", name, str(folder), str(count)],
        capture_output=True,
        check=True,
        text=True,
    )
    return float(done.stdout)


def frames_through(decoder: Decoder, instances: Sequence[Instance], *, ahead: int = 8) -> float:
    """Seconds until all frames have come, a few of them asked for at a time."""
    started = time.perf_counter()
    line = [decoder.frame(one, 0, Priority.NEIGHBOUR) for one in instances[:ahead]]
    for one in instances[ahead:]:
        line.append(decoder.frame(one, 0, Priority.NEIGHBOUR))
        line.pop(0).result()
    wait(line)
    return time.perf_counter() - started


def forget(decoder: Decoder) -> None:
    """Empty the cache."""
    decoder._cache.clear()


def throughput(decoder: Decoder, folder: Path, names: Sequence[str], count: int) -> None:
    """Frames a second, and the ratio to each baseline."""
    instances = instances_of(decoder, folder)[:count]
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            theirs[name].append(in_a_plain_process(name, folder, count))
        forget(decoder)
        ours.append(frames_through(decoder, instances))
    best = min(ours)
    print(f"{folder.name}: {count / best:.0f} frames/s, {best / count * 1e3:.2f} ms a frame")
    for name in names:
        other = min(theirs[name])
        what = BASELINES[name].__doc__ or ""
        print(f"   {other / best:5.2f}x of {other / count * 1e3:.2f} ms, {name}: {what[11:]}")


def first_frame(decoder: Decoder, folder: Path) -> None:
    """How long the first image takes with workers that have started."""
    instances = instances_of(decoder, folder)
    times: list[float] = []
    for one in instances[:20]:
        forget(decoder)
        started = time.perf_counter()
        decoder.frame(one).result()
        times.append(time.perf_counter() - started)
    first, rest = times[0] * 1e3, np.median(times[1:]) * 1e3
    print(f"{folder.name}: one frame, idle workers: {first:.1f} ms, then {rest:.1f} ms (median)")


def amid_prefetch(decoder: Decoder, folder: Path) -> None:
    """What is looked at while 500 requests for later are in line and all workers decode."""
    instances = instances_of(decoder, folder)
    forget(decoder)
    line = [decoder.frame(one, 0, Priority.PREFETCH) for one in instances]
    wait(line[:4])
    times: list[float] = []
    for one in reversed(instances[-20:]):
        started = time.perf_counter()
        decoder.frame(one).result()
        times.append((time.perf_counter() - started) * 1e3)
    waiting = sum(not future.done() for future in line)
    for future in line:
        future.cancel()
    print(
        f"{folder.name}: one frame amid {len(line)} prefetched ({waiting} still waited): "
        f"{np.median(times):.1f} ms, at most {max(times):.1f} ms"
    )


def instances_of(decoder: Decoder, folder: Path) -> Sequence[Instance]:
    """The slices of a made series."""
    return decoder.scan([folder]).result().studies[0].series[0].instances


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--baseline", nargs=3, metavar=("NAME", "FOLDER", "COUNT"))
    parser.add_argument("--count", type=int, default=120, help="slices for the throughput")
    options = parser.parse_args()
    if options.baseline:
        name, folder, count = options.baseline
        print(BASELINES[name](sorted(Path(folder).glob("*.dcm"))[: int(count)]))
        return
    raw, packed = ct_series(), ct_series(compressed=True)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    decoder = Decoder(2)
    decoder.warm()
    for folder in (raw, packed):
        first_frame(decoder, folder)
        amid_prefetch(decoder, folder)
    throughput(decoder, packed, ("codec", "pydicom"), options.count)
    throughput(decoder, raw, ("numpy",), 500)
    decoder.close()


if __name__ == "__main__":
    main()
