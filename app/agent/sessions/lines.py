"""The lines of a session file: how one is written, and how one that was written is read.

A file is append-only JSONL. A line counts once its newline is there: what follows the last newline
is what a crash cut off, and nobody was shown it, since a line is written before it is shown.

    header     {thread_id, created, version, branched_from}: always the first
    message    an entry of the transcript
    event      an event of a run; `count` of them where deltas were put together
    run        what a run rests on: model, images, studies
    tool_call  arguments, whole result, when it started and ended, the weights' sha256

Version 2 has all of these; version 1 had header, message and tool_call only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from app.agent.json_forms import plain
from app.errors import FileProblem

FORMAT = "sightline-session"
VERSION = 2
FILE = "thread.jsonl"

Entry = dict[str, Any]


def encode(entry: Entry) -> bytes:
    """An entry as a line. Never raises: what JSON cannot hold is written as its text."""
    try:
        return to_json(entry, fallback=str, inf_nan_mode="null") + b"\n"
    except (PydanticSerializationError, ValueError, RecursionError):
        # Half a surrogate pair (a file name that is no text), or something that contains itself.
        return json.dumps(_bounded(entry), default=str).encode("ascii") + b"\n"


def _bounded(value: Any) -> Any:
    try:
        return plain(value)
    except RecursionError:
        return {"type": "lost", "reason": "an entry that contains itself"}


def entries(path: Path, problems: list[str]) -> Iterator[Entry]:
    """The entries of a file, the header first; lines that cannot be read go to `problems`.

    Raises:
        FileProblem: The file cannot be read, or a newer Sightline wrote it.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or type(error).__name__})"
        raise FileProblem(reason, subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        entry = parsed(line)
        if entry is None:
            if line.strip() and number < len(lines):
                problems.append(f"line {number}: not readable")
            continue
        if number == 1:
            check_header(entry, path.parent.name)
        yield entry


def parsed(line: bytes) -> Entry | None:
    """A line as an entry, None when it is none."""
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def whole_size(data: bytes) -> int:
    """How much of a file's end counts: what follows the last newline only if it is an entry."""
    tail = data.rfind(b"\n") + 1
    return len(data) if parsed(data[tail:]) is not None else tail


def check_header(entry: Entry, thread_id: str) -> None:
    """Refuse what a newer program wrote.

    A damaged header is let through: the messages below it are still worth having.

    Raises:
        FileProblem: The version is above ours.
    """
    version = entry.get("version")
    if entry.get("format") == FORMAT and isinstance(version, int) and version > VERSION:
        raise FileProblem(
            f"a newer version of Sightline wrote this conversation (format {version})",
            subject=thread_id,
            remedy="Update Sightline to open it.",
        )
