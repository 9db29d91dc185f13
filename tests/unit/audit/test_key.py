"""The audit log's key: in the keyring, else in a file of the user's own, never made twice."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.audit.log import KEYRING_NAME, audit_key
from app.errors import SightlineError
from app.secrets import Secrets


@dataclass
class Ring(Secrets):
    """A keyring that may be missing, locked or refusing."""

    there: bool = True
    locked: bool = False
    refuses: bool = False
    kept: dict[str, str] = field(default_factory=dict)
    memory: dict[str, str] = field(default_factory=dict)

    @property
    def has_keyring(self) -> bool:
        return self.there

    def get(self, name: str) -> str:
        return "" if self.locked else self.memory.get(name) or self.kept.get(name, "")

    def set(self, name: str, value: str) -> None:
        (self.memory if self.refuses else self.kept)[name] = value

    def where(self, name: str) -> str:
        if name in self.memory:
            return "memory, until Sightline closes"
        return "the system keyring" if name in self.kept else ""


def test_without_a_keyring_the_key_is_in_a_file_that_nobody_else_reads(tmp_path: Path):
    file = tmp_path / "config" / "audit.key"
    key = audit_key(file, Ring(there=False))
    assert len(key) == 32
    assert file.read_text().strip() == key.hex()
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o777 == 0o600
    assert audit_key(file, Ring()) == key, "a keyring that comes later changes nothing"


def test_with_a_keyring_the_file_holds_no_key(tmp_path: Path):
    ring = Ring()
    key = audit_key(tmp_path / "audit.key", ring)
    assert ring.kept == {KEYRING_NAME: key.hex()}
    assert (tmp_path / "audit.key").read_text() == "keyring\n"
    assert audit_key(tmp_path / "audit.key", ring) == key


def test_a_keyring_that_refuses_to_keep_it_is_not_relied_upon(tmp_path: Path):
    key = audit_key(tmp_path / "audit.key", Ring(refuses=True))
    assert (tmp_path / "audit.key").read_text().strip() == key.hex()


def test_a_locked_keyring_is_an_error_and_no_new_key(tmp_path: Path):
    ring = Ring()
    key = audit_key(tmp_path / "audit.key", ring)
    ring.locked = True
    with pytest.raises(SightlineError, match="keyring") as caught:
        audit_key(tmp_path / "audit.key", ring)
    assert caught.value.remedy
    ring.locked = False
    assert audit_key(tmp_path / "audit.key", ring) == key


def test_a_lost_note_does_not_lose_the_key_of_the_keyring(tmp_path: Path):
    ring = Ring()
    key = audit_key(tmp_path / "audit.key", ring)
    (tmp_path / "audit.key").unlink()
    assert audit_key(tmp_path / "audit.key", ring) == key


def test_a_damaged_file_is_an_error_and_no_new_key(tmp_path: Path):
    (tmp_path / "audit.key").write_bytes(b"\xff half a key")
    with pytest.raises(SightlineError, match="damaged"):
        audit_key(tmp_path / "audit.key", Ring(there=False))


def test_programs_that_start_at_once_agree_on_one_key(tmp_path: Path):
    file = tmp_path / "audit.key"
    keys: list[bytes] = []
    ring = Ring(there=False)
    threads = [
        threading.Thread(target=lambda: keys.append(audit_key(file, ring))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1


def test_a_folder_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path):
    (tmp_path / "config").write_text("a file")
    with pytest.raises(SightlineError, match="cannot be read or kept") as caught:
        audit_key(tmp_path / "config" / "audit.key", Ring(there=False))
    assert caught.value.remedy
