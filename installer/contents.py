"""What goes into the package, and the record of what did: versions, licences and origins."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from installer.environment import read_locks

REPO = Path(__file__).resolve().parents[1]
IDENTIFIER = "org.sightline.Sightline"
SETS = ("viewer", "ai", "test", "package")


@dataclass(frozen=True)
class Flavour:
    """One of the packages that can be made.

    Attributes:
        sets: Sets of locked packages (`requirements/NAME.txt`) that may be in it.
        modules: Modules that are imported by name, beyond those that the app's source tells of.
        metadata: Distributions whose metadata is read at run time: plug-ins by entry point, and
            packages that check each other's versions.
        whole: Packages of which every module and data file is taken.
        as_source: Packages whose source is read at run time (`inspect.getsource`, TorchScript).
    """

    sets: tuple[str, ...]
    modules: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    as_source: tuple[str, ...] = ()


_VIEWER_MODULES = ("data_store",)
_VIEWER_METADATA = ("keyring", "pydicom-data", "pylibjpeg-openjpeg")

FLAVOURS = {
    "viewer": Flavour(("viewer",), _VIEWER_MODULES, _VIEWER_METADATA),
}


@cache
def _files() -> dict[str, str]:
    """Return the path of each installed file -> the name of its distribution."""
    return {
        str(Path(str(file.locate())).resolve()): found.name
        for found in importlib.metadata.distributions()
        for file in found.files or ()
    }


def _locked(sets: Iterable[str]) -> set[str]:
    folder = REPO / "installer" / "requirements"
    return set(read_locks([folder / f"{name}.txt" for name in sets]))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def excluded(flavour: Flavour) -> list[str]:
    """Return the top-level modules of all locked packages that the flavour leaves out."""
    out = _locked(SETS) - _locked(flavour.sets)
    return sorted(
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if module.isidentifier() and all(_normal(owner) in out for owner in owners)
    )


def demo_files() -> list[tuple[str, str]]:
    """Return the paths of the demo study's files and of its list, each with its folder."""
    from app.imaging.demo import demo_paths

    spec = find_spec("data_store")
    if spec is None or not spec.submodule_search_locations:
        raise LookupError("pydicom-data is not installed")
    folder = Path(spec.submodule_search_locations[0])
    lists = [str(path) for path in folder.glob("*.json")]
    return [(str(path), "data_store/data") for path in demo_paths()] + [
        (path, "data_store") for path in lists
    ]


# Qt's parts that nothing here imports, though a library that is imported links to them.
_DROPPED = re.compile(
    r"PySide6/Qt/(translations|qml)/|PySide6/Qt/plugins/(networkinformation|tls|qmltooling)/"
)


def drop(analysis: Any) -> None:
    """Take files that nothing opens out of a PyInstaller analysis."""
    for name in ("binaries", "datas"):
        kept = [entry for entry in getattr(analysis, name) if not _DROPPED.search(entry[0])]
        setattr(analysis, name, kept)


def record(analysis: Any, target: Path) -> None:
    """Write which distributions, and which of the system's libraries, an analysis holds."""
    names: set[str] = set()
    system: set[str] = set()
    for kind in ("pure", "binaries", "datas"):
        for inside, source, _ in getattr(analysis, kind):
            path = str(Path(source).resolve()) if source else ""
            if owner := _files().get(path):
                names.add(owner)
            elif kind == "binaries" and not _part_of_python(path):
                system.add(f"{inside}\t{path}")
    target.write_text(json.dumps({"distributions": sorted(names), "system": sorted(system)}))


def _part_of_python(path: str) -> bool:
    return Path(path).is_relative_to(sys.base_prefix)
