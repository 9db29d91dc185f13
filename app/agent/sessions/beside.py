"""Large results in files of their own beside the session file, named by what they hold."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_json

FOLDER = "results"
LIMIT = 32 * 1024  # bytes of JSON that a line may hold of one value
_KEYS = ("output", "metadata")


def put(folder: Path, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the large values of a result beside the session file.

    Named by their sha256, so that the message and the call that share a value share its file, and
    nothing is written twice.

    Args:
        folder: The thread's.
        data: A result; its "output" and "metadata" may be large.

    Returns:
        What stays in the line, and the file's name for each key that was taken out. A value whose
        file cannot be written stays.
    """
    kept, files = dict(data), dict[str, str]()
    for key in _KEYS:
        if key not in kept:
            continue
        text = to_json(kept[key], fallback=str, inf_nan_mode="null")
        if len(text) <= LIMIT:
            continue
        name = _named(text)
        with contextlib.suppress(OSError):
            _write(folder / FOLDER / name, text)
            files[key] = name
            kept[key] = None
    return kept, files


def get(
    folder: Path, data: dict[str, Any], files: Mapping[str, Any], problems: list[str]
) -> dict[str, Any]:
    """`data` with the values that lie beside; those lost are told in `problems`."""
    whole = dict(data)
    for key, name in files.items():
        try:
            whole[key] = json.loads(_read(folder, name))
        except (OSError, ValueError, RecursionError):
            problems.append(f"results/{Path(str(name)).name}: missing or damaged")
            whole[key] = {"lost": "this result was kept in a file that is missing or damaged"}
    return whole


def move(source: Path, target: Path, name: object, names: Mapping[str, str]) -> tuple[str, bytes]:
    """Copy a value to another thread, with what it names called by its new name.

    Args:
        source: The folder of the thread that has it.
        target: The other's.
        name: Its file.
        names: Old names and new ones, as they stand in JSON.

    Returns:
        Its file there and what is in it; a value that is lost stays lost under its name.

    Raises:
        OSError: It cannot be written.
    """
    try:
        text = _read(source, name)
    except (OSError, ValueError):
        return str(name), b""
    for old, new in names.items():
        text = text.replace(_utf8(old), _utf8(new))
    _write(target / FOLDER / _named(text), text)
    return _named(text), text


def _utf8(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _named(text: bytes) -> str:
    return f"{hashlib.sha256(text).hexdigest()}.json"


def _read(folder: Path, name: object) -> bytes:
    text = (folder / FOLDER / Path(str(name)).name).read_bytes()
    if _named(text) != name:
        raise ValueError("it was changed")
    return text


def _write(path: Path, text: bytes) -> None:
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    partial = path.with_name(f"{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
