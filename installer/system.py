"""What the operating system must provide: shared libraries, a font, a display, test programs."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from installer.console import Console, SetupError


class Need(NamedTuple):
    """A library or program that the system should have, and the packages that contain it."""

    name: str
    debian: str
    fedora: str


# Read off `ldd` on PySide6 6.11: what QtGui and QtWidgets link to, so needed offscreen too.
DRAWING = (
    Need("libGL.so.1", "libgl1", "libglvnd-glx"),
    Need("libEGL.so.1", "libegl1", "libglvnd-egl"),
    Need("libX11.so.6", "libx11-6", "libX11"),
    Need("libxkbcommon.so.0", "libxkbcommon0", "libxkbcommon"),
    Need("libfontconfig.so.1", "libfontconfig1", "fontconfig"),
    Need("libfreetype.so.6", "libfreetype6", "freetype"),
    Need("libglib-2.0.so.0", "libglib2.0-0", "glib2"),
    Need("libdbus-1.so.3", "libdbus-1-3", "dbus-libs"),
    Need("libzstd.so.1", "libzstd1", "libzstd"),
    Need("libpulse.so.0", "libpulse0", "pulseaudio-libs"),  # Qt Multimedia, for MP4 movies
)
# The same for Qt's xcb platform plugin, which opens windows.
WINDOW = (
    Need("libX11-xcb.so.1", "libx11-xcb1", "libX11-xcb"),
    Need("libxcb-cursor.so.0", "libxcb-cursor0", "xcb-util-cursor"),
    Need("libxcb-icccm.so.4", "libxcb-icccm4", "xcb-util-wm"),
    Need("libxcb-image.so.0", "libxcb-image0", "xcb-util-image"),
    Need("libxcb-keysyms.so.1", "libxcb-keysyms1", "xcb-util-keysyms"),
    Need("libxcb-randr.so.0", "libxcb-randr0", "libxcb"),
    Need("libxcb-render-util.so.0", "libxcb-render-util0", "xcb-util-renderutil"),
    Need("libxcb-shape.so.0", "libxcb-shape0", "libxcb"),
    Need("libxcb-sync.so.1", "libxcb-sync1", "libxcb"),
    Need("libxcb-xfixes.so.0", "libxcb-xfixes0", "libxcb"),
    Need("libxcb-xkb.so.1", "libxcb-xkb1", "libxcb"),
    Need("libxkbcommon-x11.so.0", "libxkbcommon-x11-0", "libxkbcommon-x11"),
)
FONT = Need("a font", "fonts-dejavu-core", "dejavu-sans-fonts")
SCREENLESS_X = Need("Xvfb", "xvfb", "xorg-x11-server-Xvfb")
WITNESS = Need("dcm2pnm", "dcmtk", "dcmtk")
"""DCMTK's programs, with which tests compare our pixels; without them those tests skip."""
VALIDATOR = Need("dciodvfy", "dicom3tools", "dicom3tools")
"""Checks the DICOM objects that are written; without it those tests skip."""
TRACER = Need("strace", "strace", "strace")
"""Shows a test from outside that no connection is made; without it that test skips."""
BUBBLEWRAP = Need("bwrap", "bubblewrap", "bubblewrap")
"""One of the two sandboxes for generated code; without it its tests skip."""
OBJDUMP = Need("objdump", "binutils", "binutils")
"""PyInstaller reads libraries with it."""
TITLES = (Need("xprop", "x11-utils", "xprop"), Need("xwininfo", "x11-utils", "xwininfo"))
"""Read the titles of windows for a test; without them that test skips."""
PROGRAMS = (SCREENLESS_X, WITNESS, VALIDATOR, TRACER, BUBBLEWRAP, OBJDUMP, *TITLES)
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
APT_GET = ["apt-get", "-y", "-o", "DPkg::Lock::Timeout=120"]


def on_linux() -> bool:
    """Return whether this is Linux, where the needs above apply."""
    return sys.platform.startswith("linux")


def missing(needs: Sequence[Need]) -> list[Need]:
    """Return those of `needs` that this machine lacks; none outside Linux."""
    return [need for need in needs if not _present(need)] if on_linux() else []


def _present(need: Need) -> bool:
    if need is FONT:
        folders = [Path(folder).expanduser() for folder in FONT_FOLDERS]
        return any(next(f.rglob("*.[ot]tf"), None) is not None for f in folders if f.is_dir())
    if need in PROGRAMS:
        return shutil.which(need.name) is not None
    if ".so." not in need.name:
        return importlib.util.find_spec(need.name) is not None
    try:
        ctypes.CDLL(need.name)
    except OSError:
        return False
    return True


def venv_need() -> Need:
    """Return the need for the module of virtual environments, which Debian packages separately."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Need("ensurepip", f"{python}-venv", python)


def install_command(lacking: Sequence[Need]) -> str:
    """Return the exact command that installs what is missing."""
    sudo = "" if _is_root() else "sudo "
    if shutil.which("apt-get"):
        return f"{sudo}apt-get install -y {' '.join(_names(n.debian for n in lacking))}"
    if shutil.which("dnf"):
        return f"{sudo}dnf install -y {' '.join(_names(n.fedora for n in lacking))}"
    names = ", ".join(need.name for need in lacking)
    return f"your package manager, for: {names} (Debian calls the packages " + (
        f"{' '.join(_names(n.debian for n in lacking))})"
    )


def provide(needs: Sequence[Need], console: Console) -> list[Need]:
    """Install what is missing if that is allowed (Debian or Ubuntu, as root).

    Returns:
        What is still missing; the user has then been shown the command.
    """
    lacking = missing(needs)
    if lacking and _is_root() and shutil.which("apt-get"):
        packages = _names(need.debian for need in lacking)
        console.say(f"installing system packages: {' '.join(packages)}")
        _apt_get(packages, console)
        lacking = missing(needs)
    if lacking:
        console.say(f"this system lacks {', '.join(need.name for need in lacking)}; install with:")
        console.say(f"  {install_command(lacking)}")
    return lacking


def _apt_get(packages: list[str], console: Console) -> None:
    """Install packages, first with the package lists at hand: updating them takes a while."""
    install = [*APT_GET, "install", "--no-install-recommends", *packages]
    for command in (install, [*APT_GET, "update"], install):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        console.detail(f"$ {' '.join(command)}\n{(done.stdout + done.stderr).decode()}")
        if done.returncode == 0 and command is install:
            return
    console.say("apt-get could not install them (is another one running, or the network down?)")


def _names(packages: Iterable[str]) -> list[str]:
    return sorted(set(packages))


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def has_display(environment: dict[str, str]) -> bool:
    """Return whether a window can be shown: a Wayland display, or an X display that answers."""
    if not on_linux():
        return True
    platform = environment.get("QT_QPA_PLATFORM", "")
    if platform and not platform.startswith(("xcb", "wayland")):
        return True  # The person has chosen one that needs no display server.
    if environment.get("WAYLAND_DISPLAY"):
        return True
    display = environment.get("DISPLAY", "")
    host, _, screen = display.rpartition(":")
    number = screen.split(".")[0]
    if not number.isdigit():
        return False
    if host not in ("", "unix"):
        return True  # Forwarded from another machine: only Qt can tell.
    return _answers(f"/tmp/.X11-unix/X{number}") or _answers(f"\0/tmp/.X11-unix/X{number}")


def _answers(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(address)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def virtual_display(console: Console) -> Generator[dict[str, str]]:
    """Run an X server without a screen, and yield the variables that show windows on it."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1920x1200x24"]
    command += ["-nolisten", "tcp", "-noreset"]
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as runtime:
        server = subprocess.Popen(
            command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=errors
        )
        os.close(writing)
        try:
            # The server picks a free number and writes it once it takes connections; a server
            # that dies closes the pipe, so this read always ends.
            with os.fdopen(reading) as pipe:
                number = pipe.readline().strip()
            if not number:
                errors.seek(0)
                console.detail(errors.read().decode(errors="replace"))
                raise SetupError("Xvfb did not start", "see the log; run Xvfb by hand to try it")
            yield {
                "DISPLAY": f":{number}",
                "QT_QPA_PLATFORM": "xcb",
                "WAYLAND_DISPLAY": "",
                "XDG_SESSION_TYPE": "x11",
                "XDG_RUNTIME_DIR": runtime,
                "LIBGL_ALWAYS_SOFTWARE": "1",
            }
        finally:
            server.terminate()
            server.wait()
