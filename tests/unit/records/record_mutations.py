"""Damaged bundles, and the count that shows that nothing of them was lost in silence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.records.record_library import RecordLibrary
from tests.unit.records.record_files import patient_bundle

Json = dict[str, Any]
_VALUES: list[Any] = [
    None,
    "",
    0,
    -1,
    True,
    [],
    {},
    "x" * 1000,
    1e308,
    "2020-13-45",
    [None],
    {"a": {}},
]


def damaged_bundle(seed: int) -> bytes:
    """Return a bundle of one patient with one to three faults, the same for the same seed."""
    rng = random.Random(seed)
    bundle = patient_bundle(seed + 100_000, visits=2)
    if rng.random() < 0.6:
        for _ in range(rng.randint(1, 3)):
            rng.choice(_STRUCTURE)(rng, bundle)
    data = json.dumps(bundle).encode()
    if rng.random() < 0.5:
        data = rng.choice(_BYTES)(rng, data)
    return data


def _set_a_value(rng: random.Random, bundle: Json) -> None:
    holder, key = rng.choice(_places(bundle))
    holder[key] = rng.choice(_VALUES)


def _delete_a_value(rng: random.Random, bundle: Json) -> None:
    holder, key = rng.choice(_places(bundle))
    del holder[key]


def _swap_two_values(rng: random.Random, bundle: Json) -> None:
    (one, first), (other, second) = rng.sample(_places(bundle), 2)
    one[first], other[second] = other[second], one[first]


def _repeat_an_entry(rng: random.Random, bundle: Json) -> None:
    entries = bundle.get("entry")
    if isinstance(entries, list) and entries:
        entries.append(rng.choice(entries))


def _nest(rng: random.Random, bundle: Json) -> None:
    holder, key = rng.choice(_places(bundle))
    value: Any = holder[key]
    for _ in range(rng.choice([3, 200])):
        value = [value]
    holder[key] = value


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return all (container, key) below a value but the bundle's own."""
    found: list[tuple[Any, Any]] = []
    waiting = [value["entry"]] if isinstance(value.get("entry"), list) else [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found or [(value, "type")]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _drop(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 300) :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + rng.randbytes(rng.randint(1, 20)) + data[start:]


def _odd_numbers(rng: random.Random, data: bytes) -> bytes:
    odd = rng.choice([b"NaN", b"Infinity", b"1e999", b"9" * 5000, b"-0.0"])
    return data.replace(b'"value": 1', b'"value": ' + odd)


_STRUCTURE: list[Callable[[random.Random, Json], None]] = [
    _set_a_value,
    _delete_a_value,
    _swap_two_values,
    _repeat_an_entry,
    _nest,
]
_BYTES: list[Callable[[random.Random, bytes], bytes]] = [_cut, _flip, _drop, _insert, _odd_numbers]


def write_damaged(folder: Path, count: int) -> list[Path]:
    """Write `count` damaged bundles, a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"damaged_{seed:04}.json" for seed in range(count)]
    for seed, path in enumerate(paths):
        path.write_bytes(damaged_bundle(seed))
    return paths


def silent_losses(library: RecordLibrary, paths: list[Path]) -> list[str]:
    """Return where a resource is neither in the record nor in a problem; [] if nowhere.

    The number of entries is counted by Python's own JSON reader. Of a file that this cannot read,
    only a problem is asked for.
    """
    (connection,) = library._open_connections()
    query = "SELECT f.path, COUNT(*) FROM resource r JOIN file f ON f.id=r.file GROUP BY f.path"
    read = dict(connection.execute(query))
    told = dict(
        connection.execute(
            "SELECT f.path, SUM(p.count) FROM problem p JOIN file f ON f.id=p.file "
            "WHERE p.late=0 GROUP BY f.path"
        )
    )
    lost: list[str] = []
    for path in paths:
        name = str(path)
        there, problems = read.get(name, 0), told.get(name, 0)
        try:
            bundle = json.loads(path.read_bytes())
            entries = bundle["entry"] if bundle["resourceType"] == "Bundle" else [bundle]
        except (ValueError, KeyError, TypeError, RecursionError):
            entries = None
        if not isinstance(entries, list):
            if there == 0 and problems == 0:
                lost.append(f"{path.name}: nothing is read and nothing is told")
        elif there + problems < len(entries):
            lost.append(f"{path.name}: {len(entries)} entries, {there} read, {problems} told")
    # Of what was read, each belongs to a patient, is a copy, or is told.
    nobody = connection.execute(
        "SELECT COUNT(*) FROM resource r WHERE r.role='entry' AND r.patient IS NULL AND NOT EXISTS("
        "SELECT 1 FROM resource s WHERE s.id != r.id AND s.type=r.type AND s.rid=r.rid "
        "AND s.digest=r.digest AND s.patient IS NOT NULL)"
    ).fetchone()[0]
    late = connection.execute("SELECT COALESCE(SUM(count), 0) FROM problem WHERE late=1").fetchone()
    if nobody > late[0]:
        lost.append(f"{nobody} entries of nobody, {late[0]} told")
    return lost
