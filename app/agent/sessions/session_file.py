"""The format of a session on disk: the lines of its file.

A session file is append-only JSONL. Anything after the last newline that is not a whole entry was
cut off by a crash. It was never shown, since a line is written before it is shown.

    header     {thread_id, created, version, branched_from}: always the first
    message    an entry of the transcript, without the output that the tool_call line has
    event      an event of a run; `count` is how many deltas were joined into it
    run        what a run is based on: model, images, studies
    tool_call  arguments, whole result, start and end times, the weights' sha256
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from app.agent.json_forms import plain
from app.errors import FileProblem
from app.user_files import read_regular

FORMAT = "sightline-session"
VERSION = 2
FILE = "thread.jsonl"

RESULT_KEYS = ("output", "metadata")
"""Keys of a result that stand in the line of its call alone."""

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
        _rejoin(entry, path.parent, problems)
        yield entry


def _rejoin(entry: Entry, folder: Path, problems: list[str]) -> None:
    """Put back the large values that versions before wrote to files of their own, by SHA-256."""
    files: Any = entry.pop("beside", None)
    message: Any = entry.get("message")
    result: Any = message.get("data") if isinstance(message, dict) else entry.get("result")
    if not isinstance(files, dict) or not isinstance(result, dict):
        return
    for key, name in files.items():
        file = folder / "results" / Path(str(name)).name
        try:
            text = read_regular(file)
            if hashlib.sha256(text).hexdigest() != file.stem:
                raise ValueError("it was changed")
            result[key] = json.loads(text)
        except (OSError, ValueError, RecursionError):
            problems.append(f"results/{file.name}: missing or damaged")
            result[key] = {"lost": "this result was kept in a file that is missing or damaged"}


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
