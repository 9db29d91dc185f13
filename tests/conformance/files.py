"""Which files the table lists: those that packages ship, and `../shared/data` where it is."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

import pydicom.data

REPO = Path(__file__).resolve().parents[2]
SHARED = REPO.parent / "shared" / "data"
_NO_IMAGES = frozenset(
    ".py .pyc .txt .md .json .sh .yaml .yml .html .xml .dump .icc .hashes".split()  # noqa: SIM905
) | {"README"}


@dataclass(frozen=True, slots=True)
class Source:
    """A collection of files.

    Attributes:
        name: In the table.
        root: Its folder; paths are shown relative to it.
        files: All its files, in order.
    """

    name: str
    root: Path
    files: tuple[Path, ...]


def sources() -> tuple[Source, ...]:
    """All collections that are here; the shared data are left out where they are missing."""
    pydicom_root = Path(pydicom.data.__file__).parent
    found = (
        _folder("pydicom", pydicom_root / "test_files"),
        _folder("pydicom charsets", pydicom_root / "charset_files"),
        _folder("pydicom palettes", pydicom_root / "palettes"),
        _folder("pydicom-data", data_store()),
    )
    here = (
        n for n in ("dicom", "series", "volumes", "chest", "microscopy") if (SHARED / n).is_dir()
    )
    return (*found, *(_folder(f"shared {name}", SHARED / name) for name in here))


def _folder(name: str, root: Path) -> Source:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    kept = tuple(p for p in files if not {p.suffix.lower(), p.name} & _NO_IMAGES)
    return Source(name, root, kept)


def data_store() -> Path:
    """Where pydicom-data keeps its files."""
    for file in importlib.metadata.files("pydicom-data") or ():
        path = Path(str(file.locate()))
        if path.name == "RG1_UNCR.dcm":
            return path.parent
    raise FileNotFoundError("pydicom-data has no RG1_UNCR.dcm")
