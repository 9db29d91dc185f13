"""The format of a session on disk: the lines of its file, and files for its large results.

A session file is append-only JSONL. A line counts once its newline is there: what follows the last
newline was cut off by a crash, and was never shown, since a line is written before it is shown.

    header     {thread_id, created, version, branched_from}: always the first
    message    an entry of the transcript
    event      an event of a run; `count` is how many deltas were joined into it
    run        what a run rests on: model, images, studies
    tool_call  arguments, whole result, start and end times, the weights' sha256

A result above `RESULT_LIMIT` lies in a file of its own in the folder "results", named by its
SHA-256; the line's field "beside" gives the file of each key that was taken out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from app.agent.json_forms import plain
from app.errors import FileProblem
from app.settings import read_regular, write_atomic

FORMAT = "sightline-session"
VERSION = 2
FILE = "thread.jsonl"

RESULTS = "results"
RESULT_LIMIT = 32 * 1024
"""Maximum size in bytes, as JSON, of a value that is stored in its line."""
_RESULT_KEYS = ("output", "metadata")

Entry = dict[str, Any]


def encode(entry: Entry) -> bytes:
    """Return an entry as a line. Never raises: values that JSON cannot represent become text."""
    try:
        return to_json(entry, fallback=str, inf_nan_mode="null") + b"\n"
    except (PydanticSerializationError, ValueError, RecursionError):
        pass
    # Half a surrogate pair (a file name that is no text), or something that contains itself.
    try:
        made = plain(entry)
    except RecursionError:
        made = {"type": "lost", "reason": "an entry that contains itself"}
    return json.dumps(made, default=str).encode("ascii") + b"\n"


def entries(path: Path, problems: list[str]) -> Iterator[Entry]:
    """Yield the entries in a file, the header first.

    `problems` receives a sentence for each line that cannot be read.

    Raises:
        FileProblem: The file cannot be read, or was written by a newer version of the program.
    """
    try:
        lines = read_regular(path).split(b"\n")
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or type(error).__name__})"
        raise FileProblem(reason, subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        entry = parse_line(line)
        if entry is None:
            if line.strip() and number < len(lines):
                problems.append(f"line {number}: not readable")
            continue
        if number == 1:
            _check_version(entry, path.parent.name)
        yield entry


def parse_line(line: bytes) -> Entry | None:
    """Return the entry in a line, or None if the line is not a valid entry."""
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def complete_size(data: bytes) -> int:
    """Return the size in bytes of a file's complete lines; a valid last entry needs no newline."""
    tail = data.rfind(b"\n") + 1
    return len(data) if parse_line(data[tail:]) is not None else tail


def _check_version(entry: Entry, thread_id: str) -> None:
    # A damaged header is let through: the messages below it are still worth having.
    version = entry.get("version")
    if entry.get("format") == FORMAT and isinstance(version, int) and version > VERSION:
        raise FileProblem(
            f"a newer version of Sightline wrote this conversation (format {version})",
            subject=thread_id,
            remedy="Update Sightline to open it.",
        )


def save_large_values(
    folder: Path, data: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write to separate files those values of a result that are too large for one line.

    The files are named by their SHA-256, so that a message and a call with the same value share one
    file.

    Returns:
        The values that stay in the line, and the name of the file for each key that was taken out.
        A value whose file cannot be written stays in the line.
    """
    kept, files = dict(data), dict[str, str]()
    for key in _RESULT_KEYS:
        if key not in kept:
            continue
        text = to_json(kept[key], fallback=str, inf_nan_mode="null")
        if len(text) <= RESULT_LIMIT:
            continue
        name = _file_name(text)
        with suppress(OSError):
            _write_result(folder / RESULTS / name, text)
            files[key] = name
            kept[key] = None
    return kept, files


def load_large_values(
    folder: Path, data: dict[str, Any], files: Mapping[str, Any], problems: list[str]
) -> dict[str, Any]:
    """Return `data` with values read from `files` (key -> name); add lost files to `problems`."""
    whole = dict(data)
    for key, name in files.items():
        try:
            whole[key] = json.loads(_read_result(folder, name))
        except (OSError, ValueError, RecursionError):
            problems.append(f"results/{Path(str(name)).name}: missing or damaged")
            whole[key] = {"lost": "this result was kept in a file that is missing or damaged"}
    return whole


def copy_large_value(
    source: Path, target: Path, name: object, names: Mapping[str, str]
) -> tuple[str, bytes]:
    """Copy the file `name` of a large value to another thread's folder; replace `names` in it.

    Returns:
        The name of the new file, and its content; `name` and no content if the file is missing.

    Raises:
        OSError: The new file cannot be written.
    """
    try:
        text = _read_result(source, name)
    except (OSError, ValueError):
        return str(name), b""
    for old, new in names.items():
        text = text.replace(
            old.encode("utf-8", "surrogatepass"), new.encode("utf-8", "surrogatepass")
        )
    _write_result(target / RESULTS / _file_name(text), text)
    return _file_name(text), text


def _file_name(text: bytes) -> str:
    return f"{hashlib.sha256(text).hexdigest()}.json"


def _read_result(folder: Path, name: object) -> bytes:
    text = read_regular(folder / RESULTS / Path(str(name)).name)
    if _file_name(text) != name:
        raise ValueError("it was changed")
    return text


def _write_result(path: Path, text: bytes) -> None:
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, text)
