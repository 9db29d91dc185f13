"""A new thread from what an earlier one held before one of its questions."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.agent.loop.emitter import utc_now
from app.agent.sessions import beside
from app.agent.sessions.lines import FILE, FORMAT, VERSION, Entry, encode, entries
from app.agent.sessions.reading import read
from app.errors import FileProblem
from app.tools import lineage

_PARTIAL = ".partial"
_LEFT_BEHIND_S = 3600.0


def branch(source: Path, question_index: int, target: Path) -> None:
    """Make `target` a thread with all that `source` held before a question.

    The files that it refers to are copied, and named by their new paths, so that either thread may
    be deleted without harm to the other.

    Args:
        source: A thread's folder; it is only read, and another program may be writing it.
        question_index: Of `Thread.runs()`, from 0; their number for a copy of everything.
        target: The new thread's folder; it is there as a whole or not at all.

    Raises:
        FileProblem: There is no such question, or something cannot be read or written.
    """
    runs = read(source / FILE).runs
    if not 0 <= question_index <= len(runs):
        raise FileProblem(
            f"there is no question {question_index + 1} to branch from", subject=source.name
        )
    lines = [item for item in entries(source / FILE, []) if item.get("type") != "header"]
    origin: Entry = {"thread_id": source.name, "question": question_index}
    if question_index < len(runs):
        start = runs[question_index].start
        lines, origin["run_id"] = lines[:start], runs[question_index].run_id
    names = _names(source, target)
    header = {"type": "header", "format": FORMAT, "version": VERSION, "thread_id": target.name}
    header |= {"created": utc_now(), "branched_from": origin}
    _sweep(target.parent)
    partial = target.with_name(f".{target.name}{_PARTIAL}")
    try:
        partial.mkdir(parents=True, mode=0o700)
        results: list[bytes] = []
        moved = [encode(_with_results(entry, source, partial, names, results)) for entry in lines]
        text = b"".join((encode(header), *moved))
        _copy_named(source / "files", partial / "files", b"".join((text, *results)))
        (partial / FILE).write_bytes(text)
        (partial / FILE).chmod(0o600)
        partial.rename(target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise FileProblem(
            f"the branch cannot be written ({error.strerror or type(error).__name__})",
            subject=str(target),
            remedy="Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.",
        ) from error


def _sweep(root: Path) -> None:
    """Remove what a kill in the middle of a branching left: patients' data that nobody sees.

    Only after an hour: another program may be branching now.
    """
    for folder in root.glob(f".*{_PARTIAL}"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _LEFT_BEHIND_S:
                shutil.rmtree(folder, ignore_errors=True)


def _with_results(
    entry: Entry, source: Path, target: Path, names: Mapping[str, str], results: list[bytes]
) -> Entry:
    """An entry by the new names; its large results are copied, and added to `results`."""
    made: Entry = _moved(entry, names)
    files: Any = made.get("beside")
    if isinstance(files, dict):
        kept: dict[str, str] = {}
        for key, name in files.items():
            kept[key], text = beside.move(source, target, name, names)
            results.append(text)
        made["beside"] = kept
    return made


def _names(source: Path, target: Path) -> Mapping[str, str]:
    """What names the folder, as it is and inside the JSON text of a message."""
    old, new = str(source), str(target)
    return {json.dumps(old)[1:-1]: json.dumps(new)[1:-1], old: new}


def _moved(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        case dict():
            return {key: _moved(item, names) for key, item in value.items()}
        case list():
            return [_moved(item, names) for item in value]
        case _:
            return value


def _copy_named(source: Path, target: Path, text: bytes) -> None:
    """Copy the files whose names are in `text`, and the note of what each picture shows."""
    if not source.is_dir():
        return
    for path in source.rglob("*"):
        known = path.name.encode("utf-8", "surrogatepass") in text or path.name == lineage.FILE
        if known and path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copy2(path, copy)
