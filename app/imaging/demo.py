"""The demo study: a chest radiograph and an ultrasound cine of the pydicom-data package (MIT)."""

from __future__ import annotations

from pathlib import Path

from app.errors import FileProblem

CHEST = "RG1_UNCR.dcm"
"""Chest radiograph (CR), PA, 1955 x 1841, MONOCHROME1, 15 bits; its PixelSpacing is zero."""

ULTRASOUND = "color3d_jpeg_baseline.dcm"
"""Colour ultrasound, 120 frames of 640 x 480, JPEG baseline."""


def demo_paths() -> tuple[Path, Path]:
    """Return the paths of the demo's chest radiograph and ultrasound; nothing is downloaded.

    Raises:
        FileProblem: The pydicom-data package is not installed; the error says how to get it.
    """
    from pydicom.data import get_testdata_file

    chest, ultrasound = (
        get_testdata_file(name, read=False, download=False) for name in (CHEST, ULTRASOUND)
    )
    if not (isinstance(chest, str) and isinstance(ultrasound, str)):
        raise FileProblem(
            "the demo study is not installed",
            remedy="Run `python3 installer/bootstrap.py run` once, or `pip install pydicom-data`",
        )
    return Path(chest), Path(ultrasound)
