"""Checks of names from archives, hubs and manifests: file names, digests and commits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from app.errors import SightlineError, printable

MOST_FILES = 10_000
_LONGEST = 400
_LONGEST_PART = 200
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|\ud800-\udfff]')
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}")
# Device names that Windows opens whatever extension follows.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.I)


class Hostile(SightlineError):
    """The error for files that could do harm, by intent or by mistake; nothing was written."""


def is_sha256(text: str) -> bool:
    """Return True if `text` is a SHA-256 digest in lower-case hexadecimal digits."""
    return _SHA256.fullmatch(text) is not None


def is_revision(text: str) -> bool:
    """Return True if `text` is the full id of a commit in a repository."""
    return _REVISION.fullmatch(text) is not None


def safe_name(raw: str) -> str:
    """Return `raw`, a path with "/", if it is valid and means the same file on all systems.

    Raises:
        Hostile: The path leads out of its folder, or is not valid on some system.
    """
    name = raw.removeprefix("./")
    parts = name.split("/")
    wrong = (
        _FORBIDDEN.search(name)
        or len(name) > _LONGEST
        or any(part in ("", ".", "..") or len(part) > _LONGEST_PART for part in parts)
        or any(part.endswith((".", " ")) or _RESERVED.fullmatch(part) for part in parts)
    )
    if wrong:
        raise hostile(f"it contains a file with an unusable name: {printable(raw[:120])!r}")
    return name


def check_names(names: Iterable[str]) -> None:
    """Check that files with these names can be in one folder on every operating system.

    Raises:
        Hostile: Two names would mean the same file on a system that does not distinguish case or
            Unicode forms, a name is used for both a file and a folder, or there are more than
            `MOST_FILES`.
    """
    seen: set[str] = set()
    folders: set[str] = set()
    for count, name in enumerate(names, 1):
        if count > MOST_FILES:
            raise hostile(f"it contains more than {MOST_FILES:,} files")
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            raise hostile(
                f"it contains two files that are one on some systems: {printable(name)!r}"
            )
        seen.add(key)
        folders.update(parent.as_posix() for parent in PurePosixPath(key).parents)
    if both := seen & folders:
        raise hostile(f"it contains a file and a folder of the same name: {printable(min(both))!r}")


def hostile(reason: str) -> Hostile:
    """Return the error for files that are refused for `reason`."""
    return Hostile(reason, remedy="Nothing was written. Get it again from a source that you trust.")
