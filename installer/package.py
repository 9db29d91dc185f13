"""Makes the package of the system that this runs on; `bootstrap.py package` sets up and calls it.

    python installer/package.py [--viewer-only] [--out DIR] [--sign KEY]
    python installer/package.py --cuda [--out DIR]
    python installer/package.py --bundle DIR [--models PACK.zip ...] [--out DIR]

Writes to DIR (`dist` if not given), where PLATFORM is such as linux-x86_64:

- `sightline-VERSION-PLATFORM[-viewer]/`: the program as one folder, with `THIRD-PARTY/` (licences)
  and `sbom.cdx.json` (its contents, CycloneDX);
- Linux: `.tar.gz` of it, with `install.sh`, and a `.deb`; Windows: an installer, by Inno Setup;
  macOS: `Sightline.app` and a `.dmg`;
- `SHA256SUMS`.

`--cuda` makes the CUDA pack alone, `sightline-cuda-torchVERSION-PLATFORM.zip`: NVIDIA's libraries,
which a program with torch needs for a GPU (`cuda_pack`).

`--bundle` makes nothing new: it copies the packages in --out, model packs, the demo study and the
docs to a stick, with SHA256SUMS, for machines without a network.

From the same commit and the same packages the same files come, but for PyInstaller's own changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from app import __version__
from app.imaging.demo import demo_paths
from installer import contents, cuda_pack, linux_packages, macos_packages, windows_packages
from installer.console import Console, SetupError


def main() -> int:
    """Make the package and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--viewer-only", action="store_true", help="leave out torch and its kin")
    parser.add_argument("--cuda", action="store_true", help="make the CUDA pack, nothing else")
    parser.add_argument("--out", type=Path, default=REPO / "dist", help="where to write (dist)")
    parser.add_argument("--sign", default="", metavar="KEY", help="sign with this key or identity")
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="fill a stick from --out")
    parser.add_argument("--models", type=Path, nargs="+", default=[], metavar="PACK")
    options = parser.parse_args()
    console = Console()
    try:
        if options.bundle:
            bundle(options.out, options.models, options.bundle)
            print(options.bundle)
            return 0
        if options.cuda:
            options.out.mkdir(parents=True, exist_ok=True)
            made = [cuda_pack.make(options.out, int(build_facts("full")["time"]), console)]
            write_sums(options.out, made)
            print(made[0])
            return 0
        made = make("viewer" if options.viewer_only else "full", options.out, options.sign, console)
    except SetupError as error:
        console.problem(error)
        return 1
    for path in made:
        print(path)
    return 0


def make(name: str, out: Path, key: str, console: Console) -> list[Path]:
    """Make the package of a flavour and return the paths of what was written.

    Raises:
        SetupError: A step failed; its output is in a log in `out`.
    """
    title = f"sightline-{__version__}-{contents.system_name()}" + (
        "-viewer" if name == "viewer" else ""
    )
    out.mkdir(parents=True, exist_ok=True)
    work = out / f"{title}.work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    facts = build_facts(name)
    console.say(f"freezing {title}: takes some minutes")
    freeze(name, work, facts)
    folder = out / title
    shutil.rmtree(folder, ignore_errors=True)
    shutil.move(work / "sightline", folder)
    contents.finish(folder, json.loads((work / "contents.json").read_text()), facts)
    if sys.platform == "win32":
        made = windows_packages.make(folder, out, key, console)
    elif sys.platform == "darwin":
        made = macos_packages.make(work / "Sightline.app", folder, out, key, console)
    else:
        made = linux_packages.make(folder, out, int(facts["time"]))
    shutil.rmtree(work)
    write_sums(out, made)
    return [folder, *made, out / "SHA256SUMS"]


def build_facts(flavour: str) -> dict[str, str | int]:
    """Return version, commit, its time (seconds since 1970) and what the package is built with."""
    commit, time = "unknown", 0
    done = subprocess.run(
        ["git", "log", "-1", "--format=%H %ct"], cwd=REPO, capture_output=True, text=True
    )
    if done.returncode == 0 and done.stdout.strip():
        commit, stamp = done.stdout.split()
        time = int(stamp)
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", "app", "resources", "installer"],
        cwd=REPO,
        capture_output=True,
        text=True,
    )
    if changed.stdout.strip():
        commit += " with changes"
    return {
        "version": __version__,
        "flavour": flavour,
        "torch": cuda_pack.torch_version() if flavour == "full" else "",
        "commit": commit,
        "time": time,
        "python": platform.python_version(),
        "system": f"{contents.system_name()}, {platform.platform(terse=True)}",
    }


def freeze(flavour: str, work: Path, facts: dict[str, str | int]) -> None:
    """Run PyInstaller; the program's folder is `work/sightline` afterwards.

    Raises:
        SetupError: It failed.
    """
    log = work.with_suffix(".log")
    variables = {
        **os.environ,
        "SIGHTLINE_FLAVOUR": flavour,
        "SIGHTLINE_ICON": icon(work),
        "SIGHTLINE_CONTENTS": str(work / "contents.json"),
        "SOURCE_DATE_EPOCH": str(facts["time"] or 1),
        "PYTHONHASHSEED": "1",
        "QT_QPA_PLATFORM": "offscreen",
        "PYTHONPATH": str(REPO),
    }
    command = [sys.executable, "-P", "-m", "PyInstaller", str(REPO / "installer/sightline.spec")]
    command += ["--noconfirm", "--distpath", str(work), "--workpath", str(work / "pyinstaller")]
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            command, cwd=REPO, env=variables, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode != 0:
        raise SetupError("PyInstaller failed", f"see the end of {log}")
    log.unlink()


def icon(work: Path) -> str:
    """Write the program's icon in the form that Windows or macOS wants; "" on Linux."""
    if sys.platform not in ("win32", "darwin"):
        return ""
    from PIL import Image
    from PySide6.QtGui import QGuiApplication, QPixmap

    _application = QGuiApplication([])
    picture = work / "icon.png"
    svg = QPixmap(str(REPO / "resources" / "icons" / "sightline.svg"))
    svg.scaled(1024, 1024).save(str(picture))
    target = picture.with_suffix(".ico" if sys.platform == "win32" else ".icns")
    Image.open(picture).save(target)
    return str(target)


def bundle(out: Path, models: list[Path], stick: Path) -> None:
    """Copy packages, model packs, the demo study and the docs to a folder, with SHA256SUMS.

    Raises:
        SetupError: No package is there, or one of the files is damaged or missing.
    """
    sums = out / "SHA256SUMS"
    if not sums.is_file():
        raise SetupError(f"no package is in {out}", "make one first: bootstrap.py package")
    for line in sums.read_text(encoding="utf-8").splitlines():
        known, _, name = line.partition("  ")
        if not (out / name).is_file() or digest(out / name) != known:
            raise SetupError(f"{out / name} is not as it was made", "make the package again")
        _copy(out / name, stick / name)
    for path in models:
        if not path.is_file():
            raise SetupError(f"the model pack {path} is missing", "see `sightline models pack`")
        _copy(path, stick / "models" / path.name)
    for path in demo_paths():
        _copy(path, stick / "demo" / path.name)
    for path in (REPO / "docs").rglob("*"):
        if path.is_file():
            _copy(path, stick / "docs" / path.relative_to(REPO / "docs"))
    for name in ("README.md", "LICENSE"):
        _copy(REPO / name, stick / name)
    files = sorted(
        path for path in stick.rglob("*") if path.is_file() and path != stick / sums.name
    )
    lines = [f"{digest(path)}  {path.relative_to(stick).as_posix()}\n" for path in files]
    (stick / sums.name).write_text("".join(lines), encoding="utf-8", newline="\n")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def write_sums(out: Path, made: list[Path]) -> None:
    """Write SHA256SUMS, as `sha256sum -c` reads it, of all package files in a folder."""
    kept = {path.name: path for path in made}
    sums = out / "SHA256SUMS"
    if sums.is_file():  # the other flavour's, made earlier
        for line in sums.read_text(encoding="utf-8").splitlines():
            name = line.partition("  ")[2]
            if (out / name).is_file():
                kept.setdefault(name, out / name)
    lines = [f"{digest(path)}  {name}\n" for name, path in sorted(kept.items())]
    sums.write_text("".join(lines), encoding="utf-8", newline="\n")


def digest(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
