"""Where the audit log's key is: in the system keyring, else in a file of the user's own.

The file beside the settings says which: it holds the word "keyring", or the key. So a keyring that
does not answer is not taken for one that never had the key.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import Protocol

from app.audit import files
from app.errors import SightlineError

NAME = "audit-log"
"""The key's name in the keyring."""

_IN_KEYRING = "keyring"
_HEX = re.compile(r"[0-9a-f]{64}")


class Ring(Protocol):
    """The system keyring; `app.secrets.Secrets` is one."""

    @property
    def has_keyring(self) -> bool:
        """Whether there is one."""
        ...

    def get(self, name: str) -> str:
        """What is kept by that name, else ""."""
        ...

    def set(self, name: str, value: str) -> None:
        """Keep it; in memory only where the keyring refuses."""
        ...

    def where(self, name: str) -> str:
        """Where it is kept, in words."""
        ...


def audit_key(file: Path, ring: Ring) -> bytes:
    """The key, made when there is none yet. May take seconds where a keyring is slow.

    Args:
        file: Says where it is, or holds it.
        ring: The keyring.

    Raises:
        SightlineError: It is there and cannot be had, or cannot be kept.
    """
    try:
        found = _known(file, ring)
        if found is None:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with files.locked(file.parent):
                found = _known(file, ring) or _made(file, ring)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SightlineError(
            f"its key cannot be read or kept ({reason})",
            remedy="Ask whoever looks after this computer for the right to the settings folder.",
        ) from error
    return found


def _known(file: Path, ring: Ring) -> bytes | None:
    try:
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return None
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    value = ring.get(NAME) if text == _IN_KEYRING else ""
    if _HEX.fullmatch(value):
        return bytes.fromhex(value)
    if text == _IN_KEYRING:
        raise SightlineError(
            "its key is in the system keyring, which does not give it out",
            remedy="Unlock the keyring and start Sightline again.",
        )
    raise SightlineError(
        "the file of its key is damaged",
        remedy="Put the file audit.key back from a backup. Without it a new log must be begun: "
        "move the folder of the audit log and that file away.",
    )


def _made(file: Path, ring: Ring) -> bytes:
    """A new key, or one that the keyring has and whose note was lost."""
    value = ring.get(NAME) if ring.has_keyring else ""
    if not _HEX.fullmatch(value):
        value = secrets.token_hex(32)
        if ring.has_keyring:
            ring.set(NAME, value)
    kept = ring.has_keyring and "keyring" in ring.where(NAME)
    _write(file, _IN_KEYRING if kept else value)
    return bytes.fromhex(value)


def _write(file: Path, text: str) -> None:
    half = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(f"{text}\n")
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            half.unlink()
        raise
