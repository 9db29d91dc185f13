"""All DICOM images that packages ship, and those of `../shared/data` where it is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import pydicom
import pydicom.data

from tests.conformance.files import SHARED, data_store

PYDICOM_FILES = Path(pydicom.data.__file__).parent / "test_files"
DAMAGED = {
    "JPEG2000-embedded-sequence-delimiter.dcm": "its code stream has lost its size",
}
"""Files that are refused."""
CUT_SHORT = {"MR_truncated.dcm": "MR_small.dcm"}
"""Files of which only a part is there -> the whole."""
_NO_PIXELS = "TINY_ALPHA"
"""A folder of headers."""


def roots() -> list[Path]:
    """The folders, the same files not twice."""
    return [PYDICOM_FILES, data_store(), *([SHARED / "dicom"] if SHARED.is_dir() else [])]


def images() -> dict[str, Path]:
    """Name for a test -> file, each content once; the damaged ones left out."""
    found: dict[str, Path] = {}
    seen: set[tuple[str, int]] = set()
    for root in roots():
        for path in sorted(root.rglob("*")):
            known = (path.name, path.stat().st_size)
            wanted = (
                path.is_file()
                and _NO_PIXELS not in path.parts
                and path.name not in {*DAMAGED, *CUT_SHORT}
            )
            if wanted and known not in seen and _is_image(path):
                seen.add(known)
                found[str(path.relative_to(root))] = path
    return found


def sample(files: Mapping[str, Path]) -> set[str]:
    """Return the names of the smallest image of each transfer syntax, photometric and modality."""
    smallest: dict[tuple[str, str, str], tuple[int, str]] = {}
    for name, path in files.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tags = ["PhotometricInterpretation", "Modality"]
            ds = pydicom.dcmread(path, stop_before_pixels=True, force=True, specific_tags=tags)
        syntax = str(ds.file_meta.get("TransferSyntaxUID", ""))
        kind = (syntax, str(ds.get(tags[0], "")), str(ds.get(tags[1], "")))
        found = (path.stat().st_size, name)
        smallest[kind] = min(found, smallest.get(kind, found))
    return {name for _, name in smallest.values()}


def _is_image(path: Path) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # By force, since some files are bare data sets.
            ds = pydicom.dcmread(
                path, stop_before_pixels=True, force=True, specific_tags=["Rows", "SOPClassUID"]
            )
        except Exception:
            return False  # no DICOM file
    return "Rows" in ds and "SOPClassUID" in ds
