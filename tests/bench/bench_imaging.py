"""How fast images open and change their window, as ratios against named baselines.

Run: `python -m tests.bench.bench_imaging`. Every figure and its baseline are measured in the same
run, best of several, since other work on the machine only ever slows one down.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pydicom
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut
from pydicom.pixels.utils import pixel_array

from app.imaging.decode import Decoder
from app.imaging.demo import demo_paths
from app.imaging.pixels.pipeline import render
from app.imaging.types import Window


def best(function: Callable[[], object], repeats: int = 9) -> float:
    """Seconds of the fastest of several calls."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def line(what: str, ours: float, baseline: str, theirs: float) -> None:
    ratio = theirs / ours
    print(f"{what:<44} {ours * 1e3:9.2f} ms   {theirs * 1e3:9.2f} ms {baseline:<28} {ratio:6.1f}x")


def window_change(decoder: Decoder, path: Path) -> None:
    """A new window on the demo radiograph (1955 x 1841, 15 bits), to an 8-bit picture."""
    instance = decoder.scan([path]).result().studies[0].series[0].instances[0]
    frame = decoder.frame(instance).result()
    ds = pydicom.dcmread(path)
    array = ds.pixel_array
    centers = iter(range(10_000, 20_000))

    def theirs() -> object:
        ds.WindowCenter = next(centers)
        values = apply_voi_lut(apply_modality_lut(array, ds), ds)
        low, high = values.min(), values.max()
        return 255 - np.round((values - low) / (high - low) * 255).astype(np.uint8)

    ours = best(lambda: render(frame, Window(next(centers), 30_000)))
    line("window change, 1955 x 1841", ours, "pydicom apply_voi_lut", best(theirs, 3))


def one_frame_of_a_cine(decoder: Decoder, path: Path) -> None:
    """The last frame of the 120-frame colour cine, header known."""
    instance = decoder.scan([path]).result().studies[0].series[0].instances[0]
    decoder.frame(instance, 0).result()
    indices = iter(range(119, 60, -1))
    ours = best(lambda: decoder.frame(instance, next(indices)).result())
    whole = best(lambda: pydicom.dcmread(path).pixel_array, 1)
    line("one frame of a 120-frame cine", ours, "pydicom, all frames", whole)
    single = best(lambda: pixel_array(path, index=119), 3)
    line("one frame of a 120-frame cine", ours, "pydicom, that frame", single)


def cached_frame(decoder: Decoder, path: Path) -> None:
    """The radiograph again, from the cache; first opened through the worker."""
    instance = decoder.scan([path]).result().studies[0].series[0].instances[0]
    decoder.frame(instance).result()
    ours = best(lambda: decoder.frame(instance).result())
    theirs = best(lambda: pydicom.dcmread(path).pixel_array)
    line("frame from the cache, 1955 x 1841", ours, "pydicom pixel_array", theirs)

    def uncached() -> object:
        decoder._cache.clear()
        return decoder.frame(instance).result()

    line("frame through a worker, 1955 x 1841", best(uncached), "pydicom pixel_array", theirs)


def main() -> None:
    """Print one line a measurement."""
    warnings.simplefilter("ignore")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    chest, cine = demo_paths()
    decoder = Decoder(2)
    window_change(decoder, chest)
    cached_frame(decoder, chest)
    one_frame_of_a_cine(decoder, cine)
    decoder.close()


if __name__ == "__main__":
    main()
