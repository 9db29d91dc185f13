"""How fast volumes are assembled and cut, and series grouped, as ratios against SimpleITK.

Run: `python -m tests.bench.bench_volumes`. Needs the shared sample data. Both sides know the files'
order beforehand; ours passes every slice through a worker process, undoes the gantry's tilt and
resamples where the slices are uneven (ct-head), which SimpleITK's reader does not.
"""

from __future__ import annotations

import os
import platform
import warnings
from pathlib import Path

import SimpleITK

from app.imaging.decode import Decoder
from app.imaging.studies.catalogue import group
from app.imaging.types import Instance, Series
from app.imaging.volume import Plane
from tests.bench.bench_imaging import best, line
from tests.conftest import REPO

DATA = REPO.parent / "shared" / "data" / "series"


def assembling(decoder: Decoder, folder: Path) -> Series:
    """All slices of a series to one volume."""
    series = decoder.scan([folder]).result().studies[0].series[0]

    def ours() -> object:
        decoder._volumes.clear()
        return decoder.volume(series).result()

    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    what = f"volume of {folder.name}, {len(series.instances)} slices"
    line(what, best(ours, 5), "SimpleITK ImageSeriesReader", best(reader.Execute, 5))
    return series


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
    if DATA.is_dir():
        assembling(decoder, DATA / "ct-head")
        cutting(decoder, assembling(decoder, DATA / "mr-t1"))
    else:
        print(f"no sample data at {DATA}")
    decoder.close()
    grouping(50_000)


if __name__ == "__main__":
    main()
