"""NVIDIA's CUDA libraries for a packaged program, which comes without them.

Its torch is the CUDA build; small stand-ins in place of NVIDIA's libraries let it run on the
processor. A CUDA pack (`bootstrap.py package --cuda`) is a ZIP file with the real libraries, and is
installed outside the program's folder, once for all versions with the same torch. A process that
will use torch loads them first: the system's loader then takes them wherever torch asks for a
library of that name, and opens the stand-ins no more.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app import paths
from app.errors import FileProblem, SightlineError, UsageError, writing
from app.log import get_logger

MANIFEST = "cuda-pack.json"
"""File in a pack: the torch that it fits, its libraries in the order to load them, digests."""

_log = get_logger(__name__)


def installed() -> Path | None:
    """Return the folder of the installed CUDA pack that fits this program's torch, or None."""
    torch = paths.packaged_torch()
    if not torch:
        return None
    folders = [folder / torch for folder in paths.cuda_dirs()]
    return next((folder for folder in folders if (folder / MANIFEST).is_file()), None)


def load() -> None:
    """Load the libraries of the installed pack, if there is one, into this process.

    Call it before anything imports torch. If a library cannot be loaded, models run on the
    processor, and a warning is logged.
    """
    folder = installed()
    if folder is None:
        return
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        for name in manifest["load"]:
            ctypes.CDLL(str(folder / name))
    except (OSError, ValueError, KeyError) as error:
        _log.warning("models run on the processor: the CUDA pack is damaged (%s)", error)


def install(archive: Path, progress: Callable[[float], None] = lambda _: None) -> Path:
    """Unpack a CUDA pack for this program's torch; return its folder.

    The folder gets the rights of the one in which it is made, so that other users can read it
    there. `progress` is called with the fraction that is done.

    Raises:
        UsageError: This program has no torch, or is run from source.
        FileProblem: The pack is damaged or for another torch, or the folder cannot be written.
    """
    torch = paths.packaged_torch()
    if not torch:
        raise UsageError(
            "a CUDA pack is for packaged programs with the AI packages",
            remedy="Install the full build. From source, set up with SIGHTLINE_TORCH=cuda.",
        )
    try:
        with zipfile.ZipFile(archive) as pack:
            manifest = json.loads(pack.read(MANIFEST))
            _check_fit(archive, manifest, torch)
            return _unpack(pack, manifest, archive, paths.cuda_dirs()[0] / torch, progress)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise _damaged(archive) from error
    except FileNotFoundError:
        raise FileProblem("there is no such file", subject=str(archive)) from None


def _check_fit(archive: Path, manifest: Mapping[str, Any], torch: str) -> None:
    if manifest["torch"] != torch:
        raise FileProblem(
            f"it is for torch {manifest['torch']}, and this Sightline has torch {torch}",
            subject=str(archive),
            remedy="Take the CUDA pack that was made with this version of Sightline.",
        )


def _unpack(
    pack: zipfile.ZipFile,
    manifest: Mapping[str, Any],
    archive: Path,
    target: Path,
    progress: Callable[[float], None],
) -> Path:
    """Unpack to a folder beside `target`, compare the digests, and give it its name."""
    partial = target.with_name(f"{target.name}.partial")
    entries = pack.infolist()
    whole = sum(entry.file_size for entry in entries) or 1
    done = 0
    digests: Mapping[str, str] = manifest["sha256"]
    if {entry.filename for entry in entries} != {MANIFEST, *digests}:
        raise _damaged(archive)
    with writing(target.parent, "the CUDA pack"):
        target.parent.mkdir(parents=True, exist_ok=True)
        rights = target.parent.stat().st_mode & 0o777
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            if shutil.disk_usage(partial).free < whole:
                raise FileProblem(
                    f"there is not enough space: it takes {whole / 1e9:.1f} GB",
                    subject=str(target.parent),
                    remedy="Set SIGHTLINE_CUDA to a folder with space.",
                )
            for entry in entries:
                path = Path(pack.extract(entry, partial))
                done += entry.file_size
                if entry.filename != MANIFEST and _digest(path) != digests[entry.filename]:
                    raise _damaged(archive)
                progress(done / whole)
            for path in (partial, *partial.rglob("*")):
                path.chmod(rights if path.is_dir() else rights & 0o666)
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(archive: Path) -> SightlineError:
    return FileProblem(
        "it is damaged or no CUDA pack", subject=str(archive), remedy="Copy it again."
    )
