"""The audit log's lines and its signed head: how they are encoded, signed and read.

A line is `{"n":NUMBER,"t":TIME,"a":ACTION,"f":FACTS,"mac":MAC}`. MAC is the HMAC-SHA256 of the MAC
of the line before it and of all bytes of this line up to `,"mac":`.

The head is a file of 4096 bytes that is overwritten in place: one signed line that says where the
log ends, and below it the line that is being appended, if any. If the program is killed while it
appends, the next program completes that line from the head.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.user_files import open_regular

Facts = Mapping[str, Any]

HEAD_NAME = "head"
HEAD_BYTES = 4096
"""Size of the head's file: one page, so a kill cannot leave it half written."""

MAX_LINE_BYTES = 3_500
GENESIS = "0" * 64
"""The MAC that is used as the previous one for the first line."""

SEGMENT = "segment"
"""The action of the first line of each file."""

_SEGMENT_NAME = re.compile(r"audit-([0-9]{6,9})\.jsonl")
_MAC = re.compile(rb',"mac":"([0-9a-f]{64})"\}')
_MAC_BYTES = 74
_NUMBER = re.compile(rb'\{"n":([0-9]{1,15}),')
_HEAD = re.compile(
    rb'(\{"n":([0-9]{1,15}),"segment":([0-9]{1,9}),"size":([0-9]{1,15}),"last":"([0-9a-f]{64})",'
    rb'"key":"([0-9a-f]{16})"),"mac":"([0-9a-f]{64})"\}( *)'
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One action in the log.

    Attributes:
        number: Number of the action, from 1, without gaps across all files.
        time: ISO 8601 in UTC, to the millisecond.
        action: The kind of action, one word.
        facts: Details of the action; no patient data.
        segment: Number of the file that contains it.
        line: Number of the line in that file, from 1.
    """

    number: int
    time: str
    action: str
    facts: Facts
    segment: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The recorded end of the log.

    Attributes:
        number: Number of the last line.
        segment: Number of the file that contains the last line.
        size: Size of that file in bytes.
        last: MAC of the last line.
        pending: The line that is being appended, with its newline; empty if there is none.
    """

    number: int = 0
    segment: int = 0
    size: int = 0
    last: str = GENESIS
    pending: bytes = b""

    @property
    def pending_place(self) -> tuple[int, int]:
        """The place where the pending line begins: number of the file, and offset in bytes."""
        entry = decode(self.pending)
        if entry is not None and entry.action == SEGMENT:
            return int(entry.facts["segment"]), 0
        return self.segment, self.size


class Keys:
    """Computes the log's MACs and hashes, with keys derived from its secret of 16 bytes or more.

    Attributes:
        id: 16 hexadecimal digits that identify the secret without revealing anything about it.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:
            raise ValueError("the secret of the audit log needs at least 16 bytes")
        self._line = _derived(secret, b"line")
        self._head = _derived(secret, b"head")
        self._name = _derived(secret, b"name")
        self.id = _derived(secret, b"id").hex()[:16]

    def line_mac(self, previous: str, text: bytes) -> str:
        """Return the MAC for a line's text, where `previous` is the MAC of the line before it."""
        return hmac.digest(self._line, bytes.fromhex(previous) + text, "sha256").hex()

    def head_mac(self, text: bytes) -> str:
        """Return the MAC for `text`: a head's text, followed by its pending line."""
        return hmac.digest(self._head, text, "sha256").hex()

    def name(self, kind: str, value: str | bytes) -> str:
        """Return the keyed hash (24 hex digits) of a value and its kind, e.g. "image" and a UID."""
        data = value.encode() if isinstance(value, str) else value
        return hmac.digest(self._name, kind.encode() + b"\0" + data, "sha256").hex()[:24]


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, b"sightline audit " + purpose, hashlib.sha256)


def encode(number: int, time: str, action: str, facts: Facts) -> bytes:
    """Return a line's text without its MAC; facts too long for one line are shortened."""
    text = _encoded(number, time, action, dict(facts))
    if len(text) > MAX_LINE_BYTES - _MAC_BYTES - 1:
        text = _encoded(number, time, action, _shortened(facts))
    return text


def _encoded(number: int, time: str, action: str, facts: dict[str, Any]) -> bytes:
    line = {"n": number, "t": time, "a": action, "f": facts}
    whole = json.dumps(line, separators=(",", ":"), ensure_ascii=True, default=str)
    return whole[:-1].encode("ascii")


def _shortened(facts: Facts) -> dict[str, Any]:
    """Return the facts with long texts cut and lists replaced by their length."""
    short: dict[str, Any] = {"shortened": True}
    for key, value in facts.items():
        if isinstance(value, list | tuple | dict):
            short[key] = f"({len(value)} items)"  # pyright: ignore[reportUnknownArgumentType]
        else:
            short[key] = value if isinstance(value, int | float | None) else str(value)[:200]
    return short if len(json.dumps(short)) < MAX_LINE_BYTES // 2 else {"shortened": True}


def signed(text: bytes, mac: str) -> bytes:
    """Return a complete line, including its newline, from its text and MAC."""
    return text + b',"mac":"' + mac.encode("ascii") + b'"}\n'


def mac_of(line: bytes) -> str:
    """Return the MAC at the end of a line (without newline), unchecked; "" if there is none."""
    found = _MAC.fullmatch(line[-_MAC_BYTES:])
    return found[1].decode("ascii") if found else ""


def number_of(line: bytes) -> int:
    """Return the number at the start of a line, unchecked; -1 if there is none."""
    found = _NUMBER.match(line)
    return int(found[1]) if found else -1


def is_genuine(keys: Keys, previous: str, line: bytes) -> bool:
    """Return whether a line (without newline) is genuine, given the MAC of the line before it."""
    mac = mac_of(line)
    return bool(mac) and hmac.compare_digest(mac, keys.line_mac(previous, line[:-_MAC_BYTES]))


def decode(line: bytes, segment: int = 0, place: int = 0) -> Entry | None:
    """Return the entry of line `place` of file number `segment`, unchecked; None if malformed."""
    try:
        found: Any = json.loads(line)
        number, facts = int(found["n"]), found["f"]
        if not isinstance(facts, dict):
            return None
        time, action = str(found["t"]), str(found["a"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Entry(number, time, action, facts, segment, place)  # pyright: ignore[reportUnknownArgumentType]


def encode_head(keys: Keys, head: Head) -> bytes:
    """Return the content of the head's file, signed with `keys`."""
    text = (
        f'{{"n":{head.number},"segment":{head.segment},"size":{head.size},"last":"{head.last}",'
        f'"key":"{keys.id}"'
    ).encode("ascii")
    return (signed(text, keys.head_mac(text + head.pending)) + head.pending).ljust(HEAD_BYTES)


def decode_head(keys: Keys, data: bytes) -> tuple[Head | None, str]:
    """Return the head in a file's bytes, and the `Keys.id` that the file gives for its signer.

    The head is None unless `keys` signed it; the id is "" if the bytes are not a head.
    """
    first, _, rest = data.partition(b"\n")
    found = _HEAD.fullmatch(first)
    if found is None or len(data) != HEAD_BYTES:
        return None, ""
    pending = rest.rstrip(b" ")
    if found[8]:
        # Earlier versions padded this line, signed it alone, and kept the last line below it.
        pending = b""
    key = found[6].decode("ascii")
    if not hmac.compare_digest(found[7].decode("ascii"), keys.head_mac(found[1] + pending)):
        return None, key
    last = found[5].decode("ascii")
    return Head(int(found[2]), int(found[3]), int(found[4]), last, pending), key


def segment_path(folder: Path, segment: int) -> Path:
    """Return the path of a segment, one of the files that hold the lines."""
    return folder / f"audit-{segment:06d}.jsonl"


def segments(folder: Path) -> list[int]:
    """Return the numbers of the segments in a folder, sorted; empty if there is no folder."""
    try:
        found = [_SEGMENT_NAME.fullmatch(path.name) for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for match in found if match)


def read_lines(folder: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield (segment, line, bytes) for each line in the log, the oldest first, unchecked."""
    for segment in segments(folder):
        with open_regular(segment_path(folder, segment)) as file:
            for place, line in enumerate(file, start=1):
                yield segment, place, line


def read_entries(folder: Path) -> Iterator[Entry]:
    """Yield the log's entries, the oldest first, unchecked; skip lines that cannot be read."""
    for segment, place, line in read_lines(folder):
        entry = decode(line, segment, place) if line.endswith(b"\n") else None
        if entry is not None:
            yield entry
