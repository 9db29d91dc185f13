"""Loaded by every Python process of a faults run: notes what files it opens and where it writes.

`SIGHTLINE_WATCH` names the log; `SIGHTLINE_WATCH_ROOTS` the folders where writing is allowed, and
`SIGHTLINE_WATCH_FORBIDDEN` the folders of which nothing may be opened at all, separated by colons.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_log = os.environ.get("SIGHTLINE_WATCH")
_roots = tuple(filter(None, os.environ.get("SIGHTLINE_WATCH_ROOTS", "").split(":")))
_forbidden = tuple(filter(None, os.environ.get("SIGHTLINE_WATCH_FORBIDDEN", "").split(":")))
_ALLOWED = ("/dev/null", "/dev/shm/", "/proc/self/")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NAMES = ("mkdir", "rename", "remove", "rmdir", "symlink", "link", "truncate", "chmod", "utime")
_CHANGES = frozenset(f"os.{name}" for name in _NAMES)


# Opened at once: a decode worker may not open it later.
_handle = os.open(_log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if _log else -1


def _note(what: str, path: str) -> None:
    os.write(_handle, f"{what} {path!r}\n".encode("utf-8", "replace"))


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open":
        path, flags = args[0], args[2] or 0
        writes = flags & _WRITES
    elif event in _CHANGES:
        # A name relative to an open folder (as `shutil.rmtree` gives) is below that folder.
        if args[-1] != -1 and event in ("os.remove", "os.rmdir"):
            return
        path, writes = args[0], True
    else:
        return
    if not isinstance(path, str | bytes) or path == _log:
        return
    text = str(Path(os.fsdecode(path)).absolute())
    if _forbidden and os.path.realpath(text).startswith(_forbidden):
        _note("read", text)
    if writes and not text.startswith((*_ALLOWED, *_roots)):
        _note("wrote", text)


if _log:
    sys.addaudithook(_hook)
