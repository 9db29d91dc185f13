"""The demo study: a chest radiograph and an ultrasound cine of the pydicom-data package (MIT)."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from app.errors import FileProblem

CHEST = "RG1_UNCR.dcm"
"""Chest radiograph (CR), PA, 1955 x 1841, MONOCHROME1, 15 bits; its PixelSpacing is zero."""

ULTRASOUND = "color3d_jpeg_baseline.dcm"
"""Colour ultrasound, 120 frames of 640 x 480, JPEG baseline."""


def demo_paths() -> tuple[Path, Path]:
    """Return the paths of the demo files: first the chest radiograph, then the ultrasound.

    Nothing is downloaded.

    Raises:
        FileProblem: The pydicom-data package is not installed; the error says how to get it.
    """
    chest, ultrasound = (_find(name) for name in (CHEST, ULTRASOUND))
    if chest is None or ultrasound is None:
        raise FileProblem(
            "the demo study is not installed",
            remedy="Run `python3 installer/bootstrap.py run` once, or `pip install pydicom-data`",
        )
    return chest, ultrasound


def _find(name: str) -> Path | None:
    """Return a file of the package, wherever it is installed, also in a frozen app."""
    spec = find_spec("data_store")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    candidates = [Path(folder) / "data" / name for folder in folders]
    try:
        files = metadata.files("pydicom-data") or []
    except metadata.PackageNotFoundError:
        files = []
    candidates += [Path(str(file.locate())) for file in files if file.name == name]
    return next((path for path in candidates if path.is_file()), None)
