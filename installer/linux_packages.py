"""The packages for Linux: an archive to unpack anywhere, and a Debian package."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from app import __version__
from installer.console import SetupError

FILES = Path(__file__).resolve().parent / "linux"
ICON = Path(__file__).resolve().parents[1] / "resources" / "icons" / "sightline.svg"

CONTROL = """\
Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: Sightline <sightline@localhost>
Installed-Size: {size}
{others}Depends: libc6 (>= {libc}), libgl1, libegl1, fontconfig, ca-certificates
Recommends: xdg-utils, fonts-dejavu-core
Section: science
Priority: optional
Description: viewer for medical images with an assistant
 Opens radiographs, CT, MR, ultrasound and microscopy images; an assistant
 answers questions with models that run on this machine, and draws what they
 find on the image. Not for diagnosis.
"""


def make(folder: Path, out: Path, time: int) -> list[Path]:
    """Write the archive and, where dpkg-deb is at hand, the Debian package.

    Args:
        folder: The frozen program; gets install.sh and the desktop's files.
        out: Where to write.
        time: Time of all files, in seconds since 1970.
    """
    share = folder / "share"
    share.mkdir()
    for name in ("sightline.desktop", "sightline.xml"):
        shutil.copy(FILES / name, share)
    shutil.copy(ICON, share)
    shutil.copy(FILES / "install.sh", folder)
    # The name of the folder in which install.sh puts it: each version and flavour has its own.
    title = f"{__version__}-viewer" if _is_viewer(folder) else __version__
    (folder / "VERSION").write_text(f"{title}\n", encoding="utf-8")
    made = [_archive(folder, out / f"{folder.name}.tar.gz", time)]
    if shutil.which("dpkg-deb"):
        made.append(_debian(folder, out, time))
    return made


def _archive(folder: Path, target: Path, time: int) -> Path:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = time
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=time) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.add(folder, folder.name, recursive=False, filter=plain)
        for path in sorted(folder.rglob("*")):
            inside = f"{folder.name}/{path.relative_to(folder)}"
            archive.add(path, inside, recursive=False, filter=plain)
    return target


def _is_viewer(folder: Path) -> bool:
    return folder.name.endswith("-viewer")


def _debian(folder: Path, out: Path, time: int) -> Path:
    """Write a package that puts the program into /opt/sightline.

    The flavours are packages of two names that replace each other, as versions of one do.
    """
    root = out / f"{folder.name}.deb-root"
    shutil.rmtree(root, ignore_errors=True)
    program = root / "opt" / "sightline"
    shutil.copytree(folder, program, symlinks=True, copy_function=os.link)
    (program / "install.sh").unlink()  # dpkg installs and removes this one
    for source, place in (
        ("sightline.desktop", "usr/share/applications"),
        ("sightline.xml", "usr/share/mime/packages"),
        ("sightline.svg", "usr/share/icons/hicolor/scalable/apps"),
    ):
        (root / place).mkdir(parents=True)
        shutil.copy(folder / "share" / source, root / place / source)
    (root / "usr" / "bin").mkdir()
    (root / "usr" / "bin" / "sightline").symlink_to("/opt/sightline/sightline")
    for path in (root, *root.rglob("*")):  # whoever made them may keep files from others
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    control = root / "DEBIAN"
    control.mkdir()
    control.chmod(0o755)
    size = sum(path.lstat().st_size for path in program.rglob("*")) // 1024
    name, other = "sightline", "sightline-viewer"
    if _is_viewer(folder):
        name, other = other, name
    text = CONTROL.format(
        name=name,
        version=__version__,
        architecture=_architecture(),
        size=size,
        libc=_libc(),
        others=f"Conflicts: {other}\nReplaces: {other}\n",
    )
    (control / "control").write_text(text, encoding="utf-8")
    target = out / f"{folder.name}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", str(root), str(target)]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(time)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    shutil.rmtree(root)
    if done.returncode != 0:
        raise SetupError(f"dpkg-deb failed: {done.stderr.strip()[-300:]}", "see the message above")
    return target


def _architecture() -> str:
    command = ["dpkg", "--print-architecture"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _libc() -> str:
    """Return the version of the C library that the collected libraries of this system need."""
    return os.confstr("CS_GNU_LIBC_VERSION").split()[1]  # pyright: ignore[reportOptionalMemberAccess]
