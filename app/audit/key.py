"""The audit log's key: in the system keyring, else in a file that only the user can read.

The file beside the settings holds the word "keyring", or the key itself. So a keyring that does not
answer is not mistaken for one that never had the key.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from app.audit.log import folder_lock
from app.errors import SightlineError
from app.secrets import Secrets
from app.settings import write_atomic

KEYRING_NAME = "audit-log"
"""The key's name in the keyring."""

_IN_KEYRING = "keyring"
_HEX = re.compile(r"[0-9a-f]{64}")


def audit_key(file: Path, keyring: Secrets) -> bytes:
    """Return the key, 32 bytes; create it if there is none. May take seconds with a slow keyring.

    Args:
        file: Holds the key, or says that the keyring has it.
        keyring: The system keyring.

    Raises:
        SightlineError: The key exists and cannot be read, or a new one cannot be stored.
    """
    try:
        found = _stored_key(file, keyring)
        if found is None:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with folder_lock(file.parent):
                found = _stored_key(file, keyring) or _new_key(file, keyring)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SightlineError(
            f"its key cannot be read or kept ({reason})",
            remedy="Ask whoever looks after this computer for the right to the settings folder.",
        ) from error
    return found


def _stored_key(file: Path, keyring: Secrets) -> bytes | None:
    try:
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return None
    value = keyring.get(KEYRING_NAME) if text == _IN_KEYRING else text
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


def _new_key(file: Path, keyring: Secrets) -> bytes:
    """Store a new key, or note one that the keyring still has after the file was lost."""
    value = keyring.get(KEYRING_NAME) if keyring.has_keyring else ""
    if not _HEX.fullmatch(value):
        value = secrets.token_hex(32)
        if keyring.has_keyring:
            keyring.set(KEYRING_NAME, value)
    in_keyring = keyring.has_keyring and "keyring" in keyring.where(KEYRING_NAME)
    write_atomic(file, f"{_IN_KEYRING if in_keyring else value}\n".encode("ascii"))
    return bytes.fromhex(value)
