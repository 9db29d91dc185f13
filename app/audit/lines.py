"""A line of the audit log, and the signed head that says where the log ends.

A line is `{"n":1,"t":TIME,"a":ACTION,"f":FACTS,"mac":MAC}` and a newline. MAC is the HMAC-SHA256
of the MAC of the line before it and all bytes of the line up to `,"mac":`, so that a line counts
only where it stands, byte by byte.

The head is a file of 4096 bytes that is written in place: 512 bytes of signed head, then the line
that was written last or is just being written. A kill in the middle of a line leaves a part of
exactly that line; the next writer finishes it. Any other remains are somebody else's work.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]

HEAD_BYTES = 512
FILE_BYTES = 4096  # one page: written by one call that a kill cannot tear
MOST_BYTES = FILE_BYTES - HEAD_BYTES - 64  # of a line; the rest is room for a longer number
GENESIS = "0" * 64
SEGMENT = "segment"
"""The action of the first line of each file."""

_MAC = re.compile(rb',"mac":"([0-9a-f]{64})"\}')
_MAC_BYTES = 74
_NUMBER = re.compile(rb'\{"n":([0-9]{1,15}),')
_HEAD = re.compile(
    rb'(\{"n":([0-9]{1,15}),"segment":([0-9]{1,9}),"size":([0-9]{1,15}),"last":"([0-9a-f]{64})",'
    rb'"key":"([0-9a-f]{16})"),"mac":"([0-9a-f]{64})"\} *\n'
)
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One action, as the log tells it.

    Attributes:
        number: From 1, without gaps through all files.
        time: ISO 8601, UTC, milliseconds.
        action: What was done.
        facts: More about it; no patient data.
        segment: Number of the file.
        line: Line in that file, from 1.
    """

    number: int
    time: str
    action: str
    facts: Facts
    segment: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log ends.

    Attributes:
        number: Of the last line; 0 for none.
        segment: The file that it is in.
        size: Bytes of that file.
        last: The last line's MAC.
        key: Which key signed: `Keys.id`.
    """

    number: int = 0
    segment: int = 0
    size: int = 0
    last: str = GENESIS
    key: str = ""


class Keys:
    """What is made from the secret: one key for lines, one for the head, one for names.

    Args:
        secret: At least 16 random bytes.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:
            raise ValueError("the secret of the audit log needs at least 16 bytes")
        # Copied for each use: twice as quick as a new one.
        self._line = hmac.new(_derived(secret, b"line"), digestmod=hashlib.sha256)
        self._head = hmac.new(_derived(secret, b"head"), digestmod=hashlib.sha256)
        self._name = _derived(secret, b"name")
        self.id = _derived(secret, b"id").hex()[:16]

    def line(self, before: str, text: bytes) -> str:
        """The MAC of a line's text behind the line with the MAC `before`."""
        made = self._line.copy()
        made.update(bytes.fromhex(before))
        made.update(text)
        return made.hexdigest()

    def head(self, text: bytes) -> str:
        """The MAC of a head."""
        made = self._head.copy()
        made.update(text)
        return made.hexdigest()

    def name(self, kind: str, value: str | bytes) -> str:
        """A keyed hash that stands for an image's UID or a file's content; 24 hex digits."""
        data = value.encode() if isinstance(value, str) else value
        return hmac.digest(self._name, kind.encode() + b"\0" + data, "sha256").hex()[:24]


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, b"sightline audit " + purpose, "sha256")


def encode(number: int, time: str, action: str, facts: Facts) -> bytes:
    """A line up to its MAC. Facts that are too long are shortened, never refused."""
    text = _encoded(number, time, action, dict(facts))
    if len(text) > MOST_BYTES - _MAC_BYTES - 1:
        text = _encoded(number, time, action, _shortened(facts))
    return text


def _encoded(number: int, time: str, action: str, facts: dict[str, Any]) -> bytes:
    line = {"n": number, "t": time, "a": action, "f": facts}
    whole = json.dumps(line, separators=(",", ":"), ensure_ascii=True, default=str)
    return whole[:-1].encode("ascii")


def _shortened(facts: Facts) -> dict[str, Any]:
    """Texts cut, lists left out but for their length."""
    short: dict[str, Any] = {"shortened": True}
    for key, value in list(facts.items())[:20]:
        match value:
            case bool() | int() | float() | None:
                short[key[:40]] = value
            case list() | tuple() | dict():
                short[key[:40]] = f"({len(value)} items)"  # pyright: ignore[reportUnknownArgumentType]
            case _:
                short[key[:40]] = str(value)[:_LONGEST_TEXT].encode("ascii", "replace").decode()
    short_enough = len(json.dumps(short)) < MOST_BYTES // 2
    return short if short_enough else {"shortened": True}


def signed(text: bytes, mac: str) -> bytes:
    """A whole line."""
    return text + b',"mac":"' + mac.encode("ascii") + b'"}\n'


def mac_of(line: bytes) -> str:
    """The MAC that a line (without its newline) ends with, unchecked; "" where it has none."""
    found = _MAC.fullmatch(line[-_MAC_BYTES:])
    return found[1].decode("ascii") if found else ""


def number_of(line: bytes) -> int:
    """The number that a line begins with, unchecked; -1 where it has none."""
    found = _NUMBER.match(line)
    return int(found[1]) if found else -1


def is_genuine(keys: Keys, before: str, line: bytes) -> bool:
    """Whether a line (without its newline) was written behind the one with the MAC `before`."""
    mac = mac_of(line)
    return bool(mac) and hmac.compare_digest(mac, keys.line(before, line[:-_MAC_BYTES]))


def decode(line: bytes, segment: int = 0, place: int = 0) -> Entry | None:
    """A line as an entry; None where it is none. Says nothing about whether it is genuine."""
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
    """The first 512 bytes of the head's file."""
    text = (
        f'{{"n":{head.number},"segment":{head.segment},"size":{head.size},"last":"{head.last}",'
        f'"key":"{keys.id}"'
    ).encode("ascii")
    return signed(text, keys.head(text))[:-1].ljust(HEAD_BYTES - 1) + b"\n"


def decode_head(keys: Keys | None, data: bytes) -> Head | None:
    """The head in a file's bytes; None where it is none, or (with keys) is not signed by them."""
    found = _HEAD.fullmatch(data[:HEAD_BYTES])
    if found is None:
        return None
    if keys is not None and not hmac.compare_digest(found[7].decode(), keys.head(found[1])):
        return None
    last, key = found[5].decode("ascii"), found[6].decode("ascii")
    return Head(int(found[2]), int(found[3]), int(found[4]), last, key)


def encode_journal(line: bytes) -> bytes:
    """What stands behind the head: the line that is about to be written, with its newline."""
    return line.ljust(FILE_BYTES - HEAD_BYTES)


def decode_journal(data: bytes) -> bytes | None:
    """The line behind the head, with its newline; b"" before the first; None for anything else."""
    room = data[HEAD_BYTES:]
    if len(room) != FILE_BYTES - HEAD_BYTES:
        return None
    line, newline, rest = room.partition(b"\n")
    if rest.strip(b" ") or (not newline and line.strip(b" ")):
        return None
    return line + newline if newline else b""
