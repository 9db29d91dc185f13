"""Names of files that come from elsewhere (archives, hubs, manifests): only harmless ones pass."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from app.errors import SightlineError, printable

MOST_FILES = 10_000
_LONGEST = 400
_LONGEST_PART = 200
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.I)


def is_sha256(text: str) -> bool:
    """Whether it is a digest as cards, hubs and manifests write it."""
    return _SHA256.fullmatch(text) is not None


def is_revision(text: str) -> bool:
    """Whether it is a commit of a repository."""
    return _REVISION.fullmatch(text) is not None


class Hostile(SightlineError):
    """What was given could do harm, by intent or by mistake; nothing of it was written."""


def safe_name(raw: str) -> str:
    """A path below a folder, with "/", the same on all systems.

    Raises:
        Hostile: It leads elsewhere, or cannot be a file's name everywhere.
    """
    name = raw.removeprefix("./")
    parts = name.split("/")
    wrong = (
        _FORBIDDEN.search(name)
        or any(part in ("", ".", "..") for part in parts)
        or any(part.endswith((".", " ")) or _RESERVED.fullmatch(part) for part in parts)
        or any(len(part) > _LONGEST_PART for part in parts)
        or len(name) > _LONGEST
        or any(0xD800 <= ord(sign) <= 0xDFFF for sign in name)
    )
    if wrong:
        raise refused(f"it holds a file with a name that is not taken: {printable(raw[:120])!r}")
    return name


def check_together(names: Iterable[str]) -> None:
    """Whether files of these names can lie in one folder on every system.

    Raises:
        Hostile: Two would be one file, or one is also another's folder; or there are too many.
    """
    seen: set[str] = set()
    folders: set[str] = set()
    for count, name in enumerate(names, 1):
        if count > MOST_FILES:
            raise refused(f"it holds more than {MOST_FILES:,} files")
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            raise refused(f"it holds two files that are one on some systems: {printable(name)!r}")
        seen.add(key)
        folders.update(parent.as_posix() for parent in PurePosixPath(key).parents)
    if both := seen & folders:
        raise refused(f"it holds a file and a folder of one name: {printable(min(both))!r}")


def refused(reason: str) -> Hostile:
    """The error for what is not taken."""
    return Hostile(
        reason,
        remedy="Nothing of it was written. Get it again from a place that you trust.",
    )
