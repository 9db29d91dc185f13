"""How fast volumes are assembled and cut, and series grouped, as ratios against SimpleITK.

Run: `python -m tests.bench.bench_volumes` (the first run makes two series of 500 slices, 0.4 GB).
Of the made CT, "from its folder" has nothing indexed on either side; elsewhere both know the files'
order beforehand. The sample series need the shared data; there ours undoes the gantry's tilt and
resamples where the slices are uneven (ct-head), which SimpleITK's reader does not. JPEG 2000 is
compared with one process that decodes all slices with the same library. Worker processes have
started before the clock does.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import SimpleITK
from numpy.typing import NDArray

from app.imaging.decode import Decoder
from app.imaging.studies.catalogue import group
from app.imaging.types import Instance, Plane, Series, Volume
from tests.bench.bench_imaging import best, line
from tests.bench.series_files import ct_series
from tests.conftest import REPO

DATA = REPO.parent / "shared" / "data" / "series"

_LOOK_EVERY_S = 0.2


def assembling(decoder: Decoder, folder: Path) -> Series:
    """All slices of a series to one volume."""
    series = series_in(decoder, folder)

    def ours() -> object:
        decoder._volumes.clear()
        return decoder.volume(series).result()

    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    what = f"volume of {folder.name}, {len(series.instances)} slices"
    line(what, best(ours, 5), "SimpleITK ImageSeriesReader", best(reader.Execute, 5))
    return series


def large_plain(decoder: Decoder) -> None:
    """500 uncompressed slices: known already, and from nothing but the folder."""
    folder = ct_series()
    reader = SimpleITK.ImageSeriesReader()
    names = reader.GetGDCMSeriesFileNames(str(folder))
    reader.SetFileNames(names)
    series = series_in(decoder, folder)

    def ours() -> Volume:
        decoder._volumes.clear()
        return decoder.volume(series).result()

    def ours_from_folder() -> object:
        decoder._volumes.clear()
        return decoder.volume(series_in(decoder, folder)).result()

    def theirs_from_folder() -> object:
        fresh = SimpleITK.ImageSeriesReader()
        fresh.SetFileNames(fresh.GetGDCMSeriesFileNames(str(folder)))
        return fresh.Execute()

    theirs = SimpleITK.GetArrayFromImage(reader.Execute()) + 1024
    same = np.array_equal(ours().voxels, theirs)
    print(f"  the voxels are the same: {same}")
    what = f"volume of {len(names)} slices of 512 x 512"
    line(what, best(ours, 5), "SimpleITK ImageSeriesReader", best(reader.Execute, 3))
    both = best(ours_from_folder, 3), best(theirs_from_folder, 3)
    line("the same from its folder, scanned", both[0], "SimpleITK, names and reader", both[1])


def large_compressed(decoder: Decoder) -> None:
    """500 slices in JPEG 2000 lossless, and an image that is looked at meanwhile."""
    series = series_in(decoder, ct_series(compressed=True))
    count = len(series.instances)
    paths = [one.path for one in series.instances]
    decoder.frame(series.instances[0]).result()
    _decoded(paths[0])

    def ours() -> object:
        decoder._volumes.clear()
        return decoder.volume(series).result()

    # In turns, so that other work on the machine slows both down.
    turns = [(best(lambda: [_decoded(path) for path in paths], 1), best(ours, 1)) for _ in "ab"]
    alone, together = (min(taken) for taken in zip(*turns, strict=True))
    line(f"volume of {count} slices, JPEG 2000", together, "one process, OpenJPEG", alone)
    few = replace(series, instances=series.instances[: count // 2])
    decoder._volumes.clear()
    volume = decoder.volume(few)
    waits: list[float] = []
    for instance in series.instances[count // 2 :]:
        time.sleep(_LOOK_EVERY_S)
        if volume.done():
            break
        started = time.perf_counter()
        decoder.frame(instance).result()
        waits.append(time.perf_counter() - started)
    volume.result()
    line("an image meanwhile, median", statistics.median(waits), "one image alone", alone / count)
    line("an image meanwhile, slowest", max(waits), "one image alone", alone / count)


def _decoded(path: Path) -> NDArray[Any]:
    dataset = pydicom.dcmread(path)
    dataset.pixel_array_options(decoding_plugin="pylibjpeg")
    return dataset.pixel_array


def series_in(decoder: Decoder, folder: Path) -> Series:
    """The one series of a folder."""
    return decoder.scan([folder]).result().studies[0].series[0]


def cutting(decoder: Decoder, series: Series) -> None:
    """One sagittal section of an assembled volume."""
    instance = decoder.reformat(series, Plane.SAGITTAL).result()
    volume = decoder.volume(series).result()
    image = SimpleITK.GetImageFromArray(volume.voxels)
    indices = iter(range(instance.frames))

    def theirs() -> object:
        return SimpleITK.GetArrayFromImage(image[100, :, :])

    ours = best(lambda: decoder.frame(instance, next(indices)).result())
    line("one sagittal section", ours, "SimpleITK slicing", best(theirs))


def grouping(count: int) -> None:
    """Instances of one study in series of 200 slices; nothing to compare with but their number."""
    instances = [
        Instance(
            Path(f"/data/{n // 200}/{n}.dcm"),
            f"1.2.{n}",
            "dicom",
            512,
            512,
            number=n % 200 + 1,
            attributes={
                "StudyInstanceUID": f"1.{n // 2000}",
                "SeriesInstanceUID": f"1.{n // 200}.1",
                "Modality": "CT",
                "ImageOrientationPatient": "1\\0\\0\\0\\1\\0",
                "ImagePositionPatient": f"0\\0\\{n % 200}",
                "PixelSpacing": "0.5\\0.5",
            },
        )
        for n in range(count)
    ]
    tenth = instances[: count // 10]
    ours = best(lambda: group(instances, []), 2)
    line(
        f"grouping {count} instances",
        ours,
        "a tenth of them, times 10",
        10 * best(lambda: group(tenth, []), 2),
    )


def main() -> None:
    """Print one line a measurement."""
    warnings.simplefilter("ignore")
    SimpleITK.ProcessObject.GlobalWarningDisplayOff()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    decoder = Decoder(2)
    decoder.warm()
    large_plain(decoder)
    large_compressed(decoder)
    if DATA.is_dir():
        assembling(decoder, DATA / "ct-head")
        cutting(decoder, assembling(decoder, DATA / "mr-t1"))
    else:
        print(f"no sample data at {DATA}")
    decoder.close()
    grouping(50_000)


if __name__ == "__main__":
    main()
