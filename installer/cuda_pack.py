"""The CUDA pack: NVIDIA's libraries for torch on a GPU, which packages come without.

One ZIP file for Linux x86-64: there alone the package index has torch in its CUDA build (for
Windows it has the CPU's, which no library turns into the other). `sightline cuda PACK.zip` installs
it; `app/tools/hosting/cuda_pack.py` has the rest of the story.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.tools.hosting.cuda_pack import MANIFEST
from installer.console import Console, SetupError
from installer.contents import REPO, system_name
from installer.cpu_torch import cuda_files
from installer.environment import read_locks
from installer.third_party import LICENCE


def make(out: Path, time: int, console: Console) -> Path:
    """Download NVIDIA's locked packages and write the pack; return its path.

    Args:
        out: Where to write; downloads take 6 GB there meanwhile.
        time: Time of all files, in seconds since 1970.
        console: Output of progress.

    Raises:
        SetupError: It is not for this system, or the download failed.
    """
    torch = torch_version()
    if system_name() != "linux-x86_64":
        raise SetupError(
            f"the package index has no CUDA build of torch for {system_name()}",
            "make the CUDA pack on Linux x86-64, for Linux x86-64",
        )
    target = out / f"sightline-cuda-torch{torch}-{system_name()}.zip"
    folder = out / f"{target.stem}.work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    console.say("fetching NVIDIA's CUDA libraries: 2 GB")
    _fetch(folder)
    _write(target, folder, torch, time)
    shutil.rmtree(folder)
    return target


def torch_version() -> str:
    """Return the version and build of the installed torch, e.g. "2.14.1+cu130"; "" without one."""
    folder = _torch_folder()
    if folder is None:
        return ""
    text = (folder / "version.py").read_text(encoding="utf-8")
    found = re.search(r"^__version__ = '([^']+)'", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"torch does not say its version: {text[:200]}")
    return found[1]


def _torch_folder() -> Path | None:
    spec = find_spec("torch")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _fetch(folder: Path) -> None:
    """Install the locked packages of NVIDIA into a folder."""
    locked = read_locks([REPO / "installer" / "requirements" / "ai.txt"])
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join(locked[name] for name in locked if name.startswith("nvidia-")))
    command = [sys.executable, "-I", "-m", "pip", "install", "--no-input", "--no-deps"]
    command += ["--require-hashes", "--only-binary=:all:", "--no-cache-dir", "--no-compile"]
    command += ["--quiet", "--target", str(folder), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(
            f"pip could not fetch them: {done.stderr.strip()[-300:]}", "check the network"
        )


def _write(target: Path, folder: Path, torch: str, time: int) -> None:
    """Write the libraries and licences in `folder` to a ZIP file; the manifest comes first."""
    torch_folder = _torch_folder()
    assert torch_folder is not None
    linked, opened = cuda_files(torch_folder.parent, folder)
    files = [*linked, *opened]
    packages: list[importlib.metadata.Distribution] = []
    for package in importlib.metadata.distributions(path=[str(folder)]):
        own = [Path(str(file)) for file in package.files or ()]
        if not set(own) & {*linked, *opened}:
            continue
        packages.append(package)
        texts = [path for path in own if LICENCE.search(path.as_posix())]
        if not texts:
            raise LookupError(f"{package.name} has no licence text")
        files += texts
    manifest: dict[str, Any] = {
        "torch": torch,
        "system": system_name(),
        "packages": {package.name: package.version for package in packages},
        "load": [path.as_posix() for path in linked],
        "sha256": {path.as_posix(): _digest(folder / path) for path in files},
    }
    day = datetime.fromtimestamp(max(time, 315_532_800), UTC)  # a ZIP file begins with 1980
    when = (day.year, day.month, day.day, day.hour, day.minute, day.second)
    partial = target.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as pack:
        pack.writestr(_entry(MANIFEST, when), json.dumps(manifest, indent=1, sort_keys=False))
        for path in files:
            entry = _entry(path.as_posix(), when)
            with (
                (folder / path).open("rb") as source,
                pack.open(entry, "w", force_zip64=True) as copy,
            ):
                shutil.copyfileobj(source, copy, 2**20)
    partial.replace(target)


def _entry(name: str, when: tuple[int, int, int, int, int, int]) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, when)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
