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
import sysconfig
import uuid
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from installer.cpu_torch import of_cuda, stand_ins
from installer.environment import read_locks

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
    """

    sets: tuple[str, ...]
    metadata: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()


_VIEWER_METADATA = ("keyring", "pydicom-data", "pylibjpeg-openjpeg")

FLAVOURS = {
    "viewer": Flavour(("viewer",), _VIEWER_METADATA),
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
        LookupError: A library belongs to no package, so its licence is not known.
    """
    text = json.dumps(facts, indent=1, sort_keys=True)
    (folder / "lib" / "resources" / "build.json").write_text(text + "\n", encoding="utf-8")
    packages = system_packages(held["system"])
    _write_licences(folder / "THIRD-PARTY", held["distributions"], packages)
    shutil.copy(REPO / "LICENSE", folder)
    (folder / "sbom.cdx.json").write_text(
        list_of_contents(held["distributions"], packages, facts), encoding="utf-8"
    )
    if sys.platform.startswith("linux") and shutil.which("strip"):
        _strip(folder / "lib")
    torch = find_spec("torch") if facts["flavour"] == "full" else None
    if torch is not None and torch.origin and system_name() == "linux-x86_64":
        stand_ins(Path(torch.origin).parents[1], folder / "lib")


_STRIPPED = ("torch", "xllamacpp", "numcodecs", "llvmlite", "imagecodecs")


def _strip(folder: Path) -> None:
    """Take the symbols for debuggers out of the libraries that have many: 330 MB of all.

    Others are left as they are: strip spoils some whose parts were moved about by their makers'
    tools, such as Qt's FFmpeg and numba's ("ELF load command address/offset not page-aligned").
    """
    for name in _STRIPPED:
        for library in (folder / name).rglob("*.so*"):
            if library.is_file() and not library.is_symlink():
                subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)


def system_packages(libraries: Iterable[str]) -> dict[str, str]:
    """Return the Debian packages, with versions, that these libraries belong to.

    Raises:
        LookupError: A library belongs to none.
    """
    found: dict[str, str] = {}
    for library in libraries:
        path = library.removeprefix("/usr") if Path("/lib").is_symlink() else library
        for one in (path, library, f"/usr{path}"):
            done = subprocess.run(["dpkg", "-S", one], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                name = done.stdout.split(":")[0]
                found[name] = _debian_version(name)
                break
        else:
            raise LookupError(f"{library} belongs to no package of this system")
    return found


@cache
def _debian_version(name: str) -> str:
    command = ["dpkg-query", "-W", "-f=${Version}\n", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


_LICENCE = re.compile(r"(^|/)(licen[cs]e|copying|notice|copyright|authors)[^/]*$", re.IGNORECASE)


def _write_licences(target: Path, names: Iterable[str], packages: dict[str, str]) -> None:
    """Write each licence text, and a page that lists all parts with their licences."""
    lines = ["Sightline contains these parts of others. Their licences lie in the folders.\n"]
    target.mkdir()
    python = Path(sysconfig.get_paths()["stdlib"], "LICENSE.txt")
    if python.is_file():
        (target / "Python").mkdir()
        shutil.copy(python, target / "Python")
    lines.append(f"Python {sys.version.split()[0]}: PSF-2.0")
    for name in names:
        found = importlib.metadata.distribution(name)
        place = target / f"{found.name}-{found.version}"
        texts = [file for file in found.files or () if _LICENCE.search(str(file))]
        for text in texts:
            if (source := Path(str(text.locate()))).is_file() and ".py" not in source.suffix:
                place.mkdir(exist_ok=True)
                shutil.copy(source, place / str(text).replace("/", "_").lstrip("._"))
        lines.append(f"{found.name} {found.version}: {licence(found)}")
    for name, version in sorted(packages.items()):
        place = target / f"debian-{name}"
        place.mkdir()
        shutil.copy(f"/usr/share/doc/{name}/copyright", place)
        lines.append(f"{name} {version} (Debian): see its folder")
    (target / "README.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def licence(found: importlib.metadata.Distribution) -> str:
    """Return what a distribution says of its licence, in a line."""
    stated = found.metadata
    named = ", ".join(stated.get_all("License-Expression") or [])
    classifiers = [
        c.split(" :: ")[-1] for c in stated.get_all("Classifier") or [] if "License" in c
    ]
    whole = "".join(stated.get_all("License") or []).strip().partition("\n")[0]
    return named or ", ".join(classifiers) or whole or "see its folder"


def list_of_contents(names: Iterable[str], packages: dict[str, str], facts: dict[str, Any]) -> str:
    """Return the software bill of materials, as CycloneDX 1.6 in JSON."""
    model, part = import_module("cyclonedx.model.bom"), import_module("cyclonedx.model.component")
    terms_of: Any = import_module("cyclonedx.model.license").DisjunctiveLicense
    address_of: Any = import_module("packageurl").PackageURL
    component: Any = part.Component

    title, version = "sightline", str(facts["version"])
    # It misses what depends on what; the lock files have that.
    warnings.filterwarnings("ignore", message=".*no defined dependencies", category=UserWarning)
    bom: Any = model.Bom()
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(facts, sort_keys=True))
    bom.metadata.timestamp = datetime.fromtimestamp(int(facts["time"]), UTC)
    bom.metadata.component = component(
        name=title, version=version, type=part.ComponentType.APPLICATION, bom_ref=title
    )
    python = sys.version.split()[0]
    bom.components.add(component(name="python", version=python, bom_ref=f"python@{python}"))
    for name in names:
        found = importlib.metadata.distribution(name)
        address = address_of("pypi", name=_normal(found.name), version=found.version)
        terms = licence(found)
        bom.components.add(
            component(
                name=found.name,
                version=found.version,
                purl=address,
                bom_ref=str(address),
                licenses=[terms_of(name=terms)],
            )
        )
    for name, package in packages.items():
        address = address_of("deb", "debian", name, package)
        bom.components.add(
            component(name=name, version=package, purl=address, bom_ref=str(address))
        )
    written: Any = import_module("cyclonedx.output.json").JsonV1Dot6(bom)
    return str(written.output_as_string(indent=1)) + "\n"


def system_name() -> str:
    """Return the system and processor as in the packages' names: "linux-x86_64"."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
    return f"{system}-{platform.machine().lower().replace('amd64', 'x86_64')}"


def version() -> str:
    """Return the version of the program."""
    from app import __version__

    return __version__
