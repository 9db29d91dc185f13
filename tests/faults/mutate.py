"""Seeded damage: the same (seed, number) gives the same file for ever.

Half of the damage aims: at lengths, offsets and figures that a reader believes; the other half is
what disks and networks do. Nothing here knows how the readers work.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.faults.seeds import Seed

Random = np.random.Generator

_FIGURES = (
    (0x0028, 0x0002), (0x0028, 0x0004), (0x0028, 0x0006), (0x0028, 0x0008), (0x0028, 0x0010),
    (0x0028, 0x0011), (0x0028, 0x0100), (0x0028, 0x0101), (0x0028, 0x0102), (0x0028, 0x0103),
    (0x0028, 0x0030), (0x0028, 0x1050), (0x0028, 0x1051), (0x0028, 0x1052), (0x0028, 0x1053),
    (0x0028, 0x1101), (0x0028, 0x1201), (0x0020, 0x0032), (0x0020, 0x0037), (0x0018, 0x1063),
    (0x0002, 0x0010), (0x0002, 0x0002), (0x0008, 0x0016), (0x0008, 0x0005), (0x0020, 0x000D),
    (0x7FE0, 0x0010), (0x7FE0, 0x0001), (0x3006, 0x0050), (0x5200, 0x9230), (0x0040, 0xA730),
    (0x0004, 0x1400), (0x0004, 0x1420), (0x0004, 0x1500), (0x0070, 0x0022), (0x6000, 0x0010),
)  # fmt: skip
_TEXTS = (b"-1", b"0", b"65535", b"4294967296", b"1e308", b"nan", b"", b"abc", b"9" * 16, b"1\\2")
_WORDS = (0, 1, 2, 7, 8, 0x7F, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF)
_LONGS = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x10000, 0xFFFF)
_PIXELS = b"\xe0\x7f\x10\x00"
_ITEM = b"\xfe\xff\x00\xe0"
_MARKERS = (
    b"\xff\x4f", b"\xff\x51", b"\xff\x52", b"\xff\x5c", b"\xff\x90", b"\xff\x93", b"\xff\xc0",
    b"\xff\xc1", b"\xff\xc3", b"\xff\xc4", b"\xff\xda", b"\xff\xdb", b"\xff\xf7", b"\xff\x50",
    b"IHDR", b"IDAT", b"PLTE", b"\x2c\0", b"VP8", b"ANMF", b"\xff\x0a", b"PK\x01\x02",
    b"PK\x05\x06", b"/Length", b"/Kids", b"stream", b"sizes", b"DimSize", b"ElementType",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged file.

    Attributes:
        number: Which.
        seed: What it was.
        how: What was done to it, in order.
        data: What it is now.
    """

    number: int
    seed: Seed
    how: tuple[str, ...]
    data: bytes


def mutant(files: dict[str, list[Seed]], master: int, number: int) -> Mutant:
    """Mutant `number` of run `master`: kinds take turns, so that each gets as many."""
    names = list(files)
    random = np.random.default_rng([master, number])
    choices = files[names[number % len(names)]]
    seed = choices[int(random.integers(len(choices)))]
    data = bytearray(seed.data)
    how: list[str] = []
    for _ in range(int(random.choice((1, 1, 1, 2, 2, 3, 5)))):
        name, change = _CHANGES[int(random.integers(len(_CHANGES)))]
        if len(data) > 16:
            change(random, data, seed)
            how.append(name)
    if bytes(data) == seed.data:
        data[int(random.integers(len(data)))] ^= 0x40
        how.append("bits")
    return Mutant(number, seed, tuple(how), bytes(data))


def _somewhere(random: Random, data: bytearray) -> int:
    """A place in the file: in the pixels, in its first quarter, or anywhere past a preamble."""
    low = 128 if data[128:132] == b"DICM" else 0
    pixels = data.rfind(_PIXELS) if low else -1
    if 0 < pixels < len(data) - 24 and random.random() < 0.6:
        # Near the front of the code streams, where their headers are, as often as anywhere.
        end = len(data) if random.random() < 0.5 else min(len(data), pixels + 200)
        return int(random.integers(pixels + 12, end))
    high = len(data) if random.random() < 0.6 else max(low + 2, len(data) // 4)
    return int(random.integers(min(low, len(data) - 1), min(high, len(data))))


def _bits(random: Random, data: bytearray, _seed: Seed) -> None:
    for _ in range(int(random.integers(1, 20))):
        data[_somewhere(random, data)] ^= 1 << int(random.integers(8))


def _bytes(random: Random, data: bytearray, _seed: Seed) -> None:
    for _ in range(int(random.integers(1, 12))):
        data[_somewhere(random, data)] = int(random.integers(256))


def _run(random: Random, data: bytearray, _seed: Seed) -> None:
    """A stretch of one value, or of noise."""
    start = _somewhere(random, data)
    size = min(int(random.integers(1, 600)), len(data) - start)
    kind = int(random.integers(3))
    noise = random.integers(0, 256, size, np.uint8).tobytes()
    data[start : start + size] = (b"\0" * size, b"\xff" * size, noise)[kind]


def _truncate(random: Random, data: bytearray, _seed: Seed) -> None:
    keep = max(1, _somewhere(random, data))
    if random.random() < 0.5:
        keep = max(1, len(data) - int(random.integers(1, 64)))
    del data[keep:]


def _insert(random: Random, data: bytearray, _seed: Seed) -> None:
    start, source = _somewhere(random, data), _somewhere(random, data)
    size = int(random.integers(1, 300))
    data[start:start] = data[source : source + size]


def _remove(random: Random, data: bytearray, _seed: Seed) -> None:
    start = _somewhere(random, data)
    del data[start : start + int(random.integers(1, 300))]


def _exchange(random: Random, data: bytearray, _seed: Seed) -> None:
    """Two blocks change places: fragments, tiles, chunks out of order."""
    size = int(random.choice((2, 4, 8, 64, 500)))
    one, two = sorted((_somewhere(random, data), _somewhere(random, data)))
    if one + size <= two and two + size <= len(data):
        data[one : one + size], data[two : two + size] = (
            data[two : two + size],
            data[one : one + size],
        )


def _long(random: Random, data: bytearray, _seed: Seed) -> None:
    """A number that breaks arithmetic where a length or an offset may be."""
    place = min(_somewhere(random, data), len(data) - 4)
    if random.random() < 0.5:
        place &= ~1
    value = int(random.choice(_LONGS))
    data[place : place + 4] = struct.pack("<L" if random.random() < 0.5 else ">L", value)


def _element(random: Random, data: bytearray, seed: Seed) -> None:
    """The value or length of an element that readers rest on."""
    places: list[int] = []
    for group, element in _FIGURES:
        place = data.find(struct.pack("<HH", group, element), 128)
        if place > 0:
            places.append(place)
    if not places:
        _long(random, data, seed)
        return
    place = places[int(random.integers(len(places)))]
    long_form = bytes(data[place + 4 : place + 6]) in (b"OB", b"OW", b"SQ", b"UN", b"UT", b"OF")
    kind = int(random.integers(4))
    if kind == 0:  # its length
        at, form = (place + 8, "<L") if long_form else (place + 6, "<H")
        value = int(random.choice(_LONGS if long_form else _WORDS))
        data[at : at + struct.calcsize(form)] = struct.pack(form, value)
    elif kind == 1:  # its VR
        data[place + 4 : place + 6] = (b"SQ", b"UN", b"OB", b"IS", b"DS", b"FD", b"\0\0")[
            int(random.integers(7))
        ]
    elif kind == 2:  # a binary value
        data[place + 8 : place + 10] = struct.pack("<H", int(random.choice(_WORDS)))
    else:  # a text
        size = int(struct.unpack("<H", bytes(data[place + 6 : place + 8]))[0])
        text = _TEXTS[int(random.integers(len(_TEXTS)))]
        if size <= 64:
            data[place + 8 : place + 8 + size] = text[:size].ljust(size)


def _marker(random: Random, data: bytearray, seed: Seed) -> None:
    """Figures behind a marker of a code stream, a chunk of a picture, a key of a header."""
    places = [place for sign in _MARKERS if (place := _nth(random, data, sign)) >= 0]
    if not places:
        _long(random, data, seed)
        return
    place = places[int(random.integers(len(places)))] + 2 + int(random.integers(0, 24))
    size = int(random.choice((1, 2, 4)))
    if place + size <= len(data):
        value = int(random.choice(_LONGS)) if size == 4 else int(random.choice(_WORDS))
        data[place : place + size] = (value & (256**size - 1)).to_bytes(size, "big")


def _nth(random: Random, data: bytearray, sign: bytes) -> int:
    place = data.find(sign)
    for _ in range(int(random.integers(3))):
        later = data.find(sign, place + 1)
        if place < 0 or later < 0:
            break
        place = later
    return place


def _fragments(random: Random, data: bytearray, seed: Seed) -> None:
    """Offset table and fragments: lengths, order, an item more or less."""
    pixels = data.find(_PIXELS, 128)
    places: list[int] = []
    place = data.find(_ITEM, pixels) if pixels > 0 else -1
    while place >= 0 and len(places) < 40:
        places.append(place)
        place = data.find(_ITEM, place + 4)
    if len(places) < 2:
        _exchange(random, data, seed)
        return
    chosen = int(random.integers(len(places)))
    start = places[chosen]
    end = places[chosen + 1] if chosen + 1 < len(places) else len(data)
    kind = int(random.integers(5))
    if kind == 0:
        data[start + 4 : start + 8] = struct.pack("<L", int(random.choice(_LONGS)))
    elif kind == 1:
        del data[start:end]
    elif kind == 2:
        data[end:end] = data[start:end]
    elif kind == 3:  # the offset table says anything
        table = random.integers(0, 2**32, 3, np.uint32).tobytes()
        data[places[0] : places[1]] = _ITEM + struct.pack("<L", len(table)) + table
    else:
        data[start:start] = _ITEM + b"\0\0\0\0"


def _splice(random: Random, data: bytearray, seed: Seed) -> None:
    """The second half of one place behind the first half of another."""
    one, two = _somewhere(random, data), _somewhere(random, data)
    kept = bytes(data[max(one, two) :])
    del data[min(one, two) :]
    data += kept
    if random.random() < 0.2:
        data += seed.data[: int(random.integers(1, 200))]


_CHANGES: tuple[tuple[str, Callable[[Random, bytearray, Seed], None]], ...] = (
    ("bits", _bits),
    ("bytes", _bytes),
    ("run", _run),
    ("truncate", _truncate),
    ("insert", _insert),
    ("remove", _remove),
    ("exchange", _exchange),
    ("long", _long),
    ("element", _element),
    ("element", _element),
    ("marker", _marker),
    ("marker", _marker),
    ("fragments", _fragments),
    ("splice", _splice),
)
