"""Large series for the benchmarks, made once and kept in a folder of the system's own.

A CT of 500 slices of 512 x 512: a body, two lungs, a spine and noise like a real one's, with the
header of pydicom's own CT example, which a scanner wrote.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.data import get_testdata_file
from pydicom.encaps import encapsulate
from pydicom.uid import UID, ExplicitVRLittleEndian, JPEG2000Lossless

LONG_AGO_NS = 10**18
"""Files that were written just now are not remembered by the index of scanned files."""


def kept_folder() -> Path:
    """Where made series stay between runs."""
    folder = Path(tempfile.gettempdir()) / "sightline-bench"
    folder.mkdir(exist_ok=True)
    return folder


def ct_series(slices: int = 500, size: int = 512, *, compressed: bool = False) -> Path:
    """A folder with a CT series, uncompressed or in JPEG 2000 lossless; made if need be."""
    name = f"ct-{slices}-{size}-{'j2k' if compressed else 'raw'}"
    folder = kept_folder() / name
    done = folder.with_name(f"{name}.done")
    if not done.exists():
        folder.mkdir(exist_ok=True)
        make = partial(_write_slice, folder, slices, size, compressed)
        with ProcessPoolExecutor() as pool:
            list(pool.map(make, range(slices), chunksize=8))
        done.touch()
    return folder


def slice_pixels(index: int, slices: int, size: int) -> NDArray[np.int16]:
    """Stored values of one slice, int16 [size, size], 0 being -1024 HU."""
    rng = np.random.default_rng(index)
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    z = 2 * index / max(slices - 1, 1) - 1
    hu = np.full((size, size), -1000.0)
    hu[(x / 0.85) ** 2 + (y / 0.65) ** 2 < 1] = 40
    for side in (-1, 1):
        lung = ((x - 0.38 * side) / 0.3) ** 2 + (y / 0.45) ** 2 < 1 - z**2
        hu[lung] = -850
    hu[x**2 + ((y - 0.45) / 1.2) ** 2 < 0.012] = 700
    noise = rng.normal(0, 25, (size, size))
    noise = (noise + np.roll(noise, 1, 0) + np.roll(noise, 1, 1)) / 1.7
    return np.clip(np.rint(hu + noise + 1024), 0, 4095).astype(np.int16)


def _write_slice(folder: Path, slices: int, size: int, compressed: bool, index: int) -> None:
    ds = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    pixels = slice_pixels(index, slices, size)
    ds.Rows = ds.Columns = size
    ds.RescaleIntercept, ds.RescaleSlope = -1024, 1
    ds.PixelSpacing = [0.7, 0.7]
    ds.SliceThickness = 1
    ds.SOPInstanceUID = UID(f"1.2.826.1.{slices}.{index + 1}")
    ds.file_meta.MediaStorageSOPInstanceUID = ds.SOPInstanceUID
    ds.SeriesInstanceUID = f"1.2.826.2.{slices}.{int(compressed)}"
    ds.StudyInstanceUID = f"1.2.826.3.{slices}.{int(compressed)}"
    ds.InstanceNumber = index + 1
    ds.ImagePositionPatient = [-180, -180, index * 1.0]
    ds.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
    ds.SliceLocation = index * 1.0
    if compressed:
        from openjpeg.utils import encode_array

        ds.file_meta.TransferSyntaxUID = JPEG2000Lossless
        ds.PixelData = encapsulate([encode_array(pixels, photometric_interpretation=2)])
        ds["PixelData"].is_undefined_length = True
    else:
        ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        ds.PixelData = pixels.tobytes()
    path = folder / f"{index:04d}.dcm"
    ds.save_as(path)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
