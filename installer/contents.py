"""What goes into the package, and the record of what did: versions, licences and origins."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from installer import third_party
from installer.cpu_torch import of_cuda, stand_ins
from installer.environment import read_locks
from installer.third_party import normal

REPO = Path(__file__).resolve().parents[1]
IDENTIFIER = "org.sightline.Sightline"
SETS = ("viewer", "ai", "test", "package")


@dataclass(frozen=True)
class Flavour:
    """One of the packages that can be made.

    Attributes:
        sets: Sets of locked packages (`requirements/NAME.txt`) that may be in it.
        metadata: Distributions whose metadata is read at run time: plug-ins by entry point, and
            packages that check each other's versions.
        submodules: Packages that import their own modules by name; all of them are taken.
        unused: Packages in the sets that only tools with torch use.
    """

    sets: tuple[str, ...]
    metadata: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


_VIEWER_METADATA = ("keyring", "pydicom-data", "pylibjpeg-openjpeg")

FLAVOURS = {
    # SimpleITK registers two films by their lungs, which torch outlines: 260 MB.
    "viewer": Flavour(("viewer",), _VIEWER_METADATA, unused=("SimpleITK",)),
    "full": Flavour(
        ("viewer", "ai"),
        (
            *_VIEWER_METADATA,
            *("diffusers", "requests", "transformers", "torchxrayvision"),
            *("anndata", "pandas", "umap-learn"),
        ),
        (
            "transformers.models",
            "diffusers.pipelines.stable_diffusion",
            "xllamacpp",
            "torchvision",
            "torchxrayvision",
        ),
    ),
}
"""The two packages: without torch, and with it."""


@cache
def _files() -> dict[str, str]:
    """Return the path of each installed file -> the name of its distribution."""
    owners: dict[str, str] = {}
    for found in importlib.metadata.distributions():
        root = os.path.realpath(str(found.locate_file("")))
        for file in found.files or ():
            owners[os.path.normpath(f"{root}/{file}")] = found.name
    return owners


def _locked(sets: Iterable[str]) -> set[str]:
    folder = REPO / "installer" / "requirements"
    return set(read_locks([folder / f"{name}.txt" for name in sets]))


def excluded(flavour: Flavour) -> list[str]:
    """Return the top-level modules of all locked packages that the flavour leaves out."""
    out = _locked(SETS) - _locked(flavour.sets)
    return sorted(
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if module in flavour.unused
        or (module.isidentifier() and all(normal(owner) in out for owner in owners))
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


# Parts of Qt and torch that nothing uses: the GTK theme alone brings 40 libraries of the system.
_DROPPED = re.compile(
    r"PySide6/Qt/(translations|qml)/"
    r"|PySide6/Qt/plugins/(networkinformation|tls|qmltooling|virtualkeyboard|position|egldevice)"
    r"|platforms/libq(eglfs|linuxfb|vnc|minimalegl)|plugins/egl|platformthemes/libqgtk3"
    r"|imageformats/libqpdf|platforminputcontexts/libqtvirtualkeyboard"
    # torch's compiler of message formats; torchvision's codecs, with CUDA's among them.
    r"|torch/bin/protoc|torchvision/image_|torchvision\.libs/"
)


def drop(analysis: Any) -> None:
    """Take files that nothing opens out of a PyInstaller analysis.

    PyInstaller collects each plug-in of a Qt module with all libraries it is linked to. Where some
    plug-ins are left out, so are the libraries that only they are linked to.
    """
    kept = [entry for entry in analysis.binaries if not _DROPPED.search(entry[0])]
    if sys.platform.startswith("linux"):
        needed = _linked(entry[1] for entry in kept if not _is_library(entry))
        kept = [e for e in kept if not _is_library(e) or os.path.realpath(e[1]) in needed]
    left = {entry[0] for entry in kept}
    datas = [entry for entry in analysis.datas if not _DROPPED.search(entry[0])]
    # The folder of the program has a link to each library that lies further down.
    kept = [entry for entry in kept if not of_cuda(entry[0])]
    datas = [entry for entry in datas if not of_cuda(entry[0])]
    analysis.datas = [e for e in datas if e[2] != "SYMLINK" or _target(e) in left]
    analysis.binaries = [e for e in kept if e[2] != "SYMLINK" or _target(e) in left]


def _target(link: tuple[str, str, str]) -> str:
    return os.path.normpath(Path(link[0]).parent / link[1])


def _is_library(entry: tuple[str, str, str]) -> bool:
    """Return whether an entry of `binaries` is a library that others are linked to."""
    inside = Path(entry[0])
    folder = inside.parent.as_posix()
    if entry[2] != "BINARY" or inside.name.startswith("libpython"):
        return False
    return folder in (".", "PySide6/Qt/lib") and ".cpython-" not in inside.name


def _linked(paths: Iterable[str]) -> set[str]:
    """Return the paths of all libraries that these files are linked to, directly or not."""
    # One process for all; where a library of them is found, it says "name => path (address)".
    done = subprocess.run(["ldd", *sorted(set(paths))], capture_output=True, text=True, check=False)
    return set(map(os.path.realpath, re.findall(r"=> (/.+) \(0x", done.stdout)))


def record(analysis: Any, target: Path) -> None:
    """Write which distributions, and which libraries of the system, an analysis holds."""
    names: set[str] = {"pyinstaller"}  # its start-up code is in every package
    system: set[str] = set()
    for kind in ("pure", "binaries", "datas"):
        for _, source, form in getattr(analysis, kind):
            path = os.path.realpath(source) if source and form != "SYMLINK" else ""
            if owner := _files().get(path):
                names.add(owner)
            elif form == "BINARY" and not Path(path).is_relative_to(sys.base_prefix):
                system.add(path)
    target.write_text(json.dumps({"distributions": sorted(names), "system": sorted(system)}))


def finish(folder: Path, held: dict[str, list[str]], facts: dict[str, Any]) -> None:
    """Add licences, the list of contents and the facts of the build to a frozen program.

    Args:
        folder: The frozen program.
        held: What `record` wrote.
        facts: Facts of the build, kept in the program's resources: `sightline --version` tells.

    Raises:
        LookupError: A library belongs to no package, or a package has no licence text.
    """
    text = json.dumps(facts, indent=1, sort_keys=True)
    (folder / "lib" / "resources" / "build.json").write_text(text + "\n", encoding="utf-8")
    parts = third_party.system_parts(held["system"])
    third_party.write_licences(folder / "THIRD-PARTY", held["distributions"], parts)
    shutil.copy(REPO / "LICENSE", folder)
    (folder / "sbom.cdx.json").write_text(
        third_party.list_of_contents(held["distributions"], parts, facts), encoding="utf-8"
    )
    if sys.platform.startswith("linux") and shutil.which("strip"):
        _strip(folder / "lib")
    torch = find_spec("torch") if facts["flavour"] == "full" else None
    if torch is not None and torch.origin and system_name() == "linux-x86_64":
        stand_ins(Path(torch.origin).parents[1], folder / "lib")


def _strip(folder: Path) -> None:
    """Take the symbols for debuggers out of libraries: 380 MB with torch, 50 MB without.

    A library is left as it is where `strip` would move the table that the loader reads first: it
    spoils those whose parts their makers' tools moved about, such as Qt's FFmpeg and OpenBLAS
    ("ELF load command address/offset not page-aligned").
    """
    for library in folder.rglob("*.so*"):
        if library.is_symlink() or not library.is_file():
            continue
        lean = library.with_name(f"{library.name}.lean")
        command = ["strip", "--strip-unneeded", "-o", str(lean), str(library)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0 and _dynamic_table(lean) == _dynamic_table(library):
            lean.chmod(library.stat().st_mode & 0o777)
            lean.replace(library)
        lean.unlink(missing_ok=True)


def _dynamic_table(library: Path) -> bytes:
    done = subprocess.run(["readelf", "-dW", str(library)], capture_output=True, check=False)
    return done.stdout + done.stderr


def system_name() -> str:
    """Return the system and processor as in the packages' names: "linux-x86_64"."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
    return f"{system}-{platform.machine().lower().replace('amd64', 'x86_64')}"


def version() -> str:
    """Return the version of the program."""
    from app import __version__

    return __version__
