"""The conversations under one folder, each in its own subfolder, and copies that branch off."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from app.agent.context.model_messages import complete
from app.agent.loop.emitter import utc_now
from app.agent.messages import has_subject
from app.agent.sessions.content import close_runs, read
from app.agent.sessions.session_file import (
    FILE,
    FORMAT,
    VERSION,
    Entry,
    encode,
    entries,
    parse_line,
)
from app.agent.sessions.thread import Thread, folder_error, short_title
from app.agent.sessions.writer import LineWriter, ThreadLock, in_use
from app.errors import FileProblem
from app.tools import picture_sources
from app.user_files import open_regular, read_regular, write_atomic

_PARTIAL = ".partial"
_TITLE = "title.txt"  # in a thread's folder, if the user has given it a name
_PINS = "pins.txt"  # in a thread's folder: what is pinned, a line each; see `SessionStore.pins`
_WHOLE = "conversation"  # the line of `_PINS` that pins the thread itself
_HIT_CHARS = 70  # of the text around a word that was found
_STALE_S = 3600.0


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread's entry in the list of threads.

    Its title is the name given by the user, else the first question that is more than a greeting.

    Attributes:
        created: When the thread was started, as ISO 8601 in UTC.
        updated: When the thread's file was last written, as ISO 8601 in UTC.
        pinned: Whether the user has pinned the whole conversation.
        answers: The runs whose answers the user has pinned, each with its question.
        hit: What stands around the word that was searched for; "" if the title has it.
        hit_run: The run in which that was said; "" if it is not known.
        origin: The thread that it was branched off; "" for none.
        replaces: Whether it is a newer version of `origin`; see `SessionStore.branch`.
    """

    thread_id: str
    title: str
    created: str
    updated: str
    pinned: bool = False
    answers: tuple[tuple[str, str], ...] = ()
    hit: str = ""
    hit_run: str = ""
    origin: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """One of several runs with which conversations go on from the same point."""

    thread_id: str
    run_id: str


class SessionStore:
    """Creates, lists and opens the threads (conversations) in a folder. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._live: WeakValueDictionary[str, Thread] = WeakValueDictionary()
        self._guard = threading.Lock()

    def new_thread(self) -> Thread:
        """Start a thread in a folder of its own, whose name contains no patient data."""
        thread_id = new_id()
        folder = self._root / thread_id
        try:
            folder.mkdir(parents=True, mode=0o700)
            _write_header(folder)
        except OSError as error:
            raise folder_error(folder, error) from error
        thread = Thread(thread_id, folder, read(folder / FILE), ThreadLock(folder))
        with self._guard:
            self._live[thread_id] = thread
        return thread

    def threads(self, words: str = "") -> tuple[ThreadInfo, ...]:
        """Return every readable thread in which something was asked: pinned ones, then the newest.

        Of the versions of a conversation (`branch` with `replaces`) only the latest is listed. If
        there are `words`, only threads with all of them in their name or in what was said are
        listed, every version, and with what was found (`ThreadInfo.hit`).
        """
        found = [info for info in self._infos() if info.title]
        wanted = words.casefold().split()
        if wanted:
            found = [hit for info in found if (hit := self._search(info, wanted)) is not None]
        else:
            found = _latest(found)
        found.sort(key=lambda info: info.updated, reverse=True)
        return tuple(sorted(found, key=lambda info: not info.pinned))

    def versions(self, thread_id: str) -> dict[str, tuple[Version, ...]]:
        """Return the runs that stand in place of runs of a thread, in it and in its branches.

        Keys are the ids of the thread's runs; values are the runs, itself included, that follow
        the same runs as it does, the earliest first. Runs without another version are left out.

        Raises:
            FileProblem: There is no such thread.
        """
        self._folder(thread_id)
        infos = self._infos()
        family = _families(infos).get(thread_id, {thread_id})
        runs: dict[str, list[tuple[str, str]]] = {}  # (run id, time) of each run, by thread
        for info in sorted(infos, key=lambda one: one.updated):
            if info.thread_id in family:
                self._flush(info.thread_id)
                begun = _run_events(self._root / info.thread_id)
                runs[info.thread_id] = [(str(e.get("run_id")), str(e.get("time"))) for e in begun]
        mine = runs.get(thread_id, [])
        found: dict[str, tuple[Version, ...]] = {}
        for place, own in enumerate(mine):
            alike = (
                {
                    its[place]: other
                    for other, its in runs.items()  # of those with the same run, the latest
                    if its[:place] == mine[:place] and place < len(its)
                }
                | {own: thread_id}
            )
            if len(alike) > 1:
                found[own[0]] = tuple(
                    Version(alike[one], one[0]) for one in sorted(alike, key=lambda one: one[1])
                )
        return found

    def version_ids(self, thread_id: str) -> tuple[str, ...]:
        """Return a thread and the others that are versions of it, which are deleted with it.

        Raises:
            FileProblem: There is no such thread.
        """
        self._folder(thread_id)
        family = _families(self._infos(), edits_only=True).get(thread_id, {thread_id})
        others = sorted(one for one in family - {thread_id} if (self._root / one).is_dir())
        return (thread_id, *others)

    def find_call(self, run_id: str, call_id: str) -> tuple[str, dict[str, Any]] | None:
        """Return the latest thread with a tool call and the call's arguments; None if none has."""
        for info in sorted(self._infos(), key=lambda one: one.updated, reverse=True):
            self._flush(info.thread_id)
            with suppress(OSError), open_regular(self._root / info.thread_id / FILE) as file:
                for line in file:
                    entry = (parse_line(line) or {}) if run_id.encode() in line else {}
                    call = entry.get("type"), entry.get("run_id"), entry.get("id")
                    arguments: Any = entry.get("arguments")
                    if call == ("tool_call", run_id, call_id) and isinstance(arguments, dict):
                        return info.thread_id, arguments
        return None

    def pins(self, thread_id: str) -> frozenset[str]:
        """Return the ids of the runs whose answers are pinned; "" stands for the whole thread."""
        return _pins(self._folder(thread_id))

    def pin(self, thread_id: str, run_id: str = "", *, pinned: bool = True) -> None:
        """Pin or unpin the answer of a run; if `run_id` is "", the whole thread.

        Raises:
            FileProblem: There is no such thread, or its pins cannot be written.
        """
        folder = self._folder(thread_id)
        kept = _pins(folder) | {run_id} if pinned else _pins(folder) - {run_id}
        try:
            write_atomic(
                folder / _PINS, "".join(f"{one or _WHOLE}\n" for one in sorted(kept)).encode()
            )
        except OSError as error:
            raise folder_error(folder, error) from error

    def rename(self, thread_id: str, title: str) -> None:
        """Set a thread's title; if it is empty, the thread is listed by its first question again.

        Raises:
            FileProblem: There is no such thread, or its name cannot be written.
        """
        folder = self._folder(thread_id)
        try:
            write_atomic(folder / _TITLE, short_title(title).encode())
        except OSError as error:
            raise folder_error(folder, error) from error

    def delete(self, thread_id: str) -> None:
        """Delete a thread, and the versions of it, with everything on disk that belongs to them.

        Raises:
            ThreadInUse: Another program has one of them open; nothing is deleted then.
            FileProblem: There is no such thread, or some of it could not be deleted.
        """
        folders = [self._root / one for one in self.version_ids(thread_id)]
        with self._guard:
            for folder in folders:
                live = self._live.pop(folder.name, None)
                if live is not None:
                    live.close()
                ThreadLock(folder).release()
        for folder in folders:
            self._delete_folder(folder)

    def _delete_folder(self, folder: Path) -> None:
        # No list shows it from now on; what a crash leaves of it is swept away like a branch.
        doomed = folder.with_name(f".{folder.name}{_PARTIAL}")
        try:
            folder.rename(doomed)
            shutil.rmtree(doomed)
        except OSError as error:
            raise FileProblem(
                f"some of the conversation could not be deleted ({error.strerror})",
                subject=str(doomed if doomed.exists() else folder),
                remedy="Delete that folder by hand.",
            ) from error

    def open(self, thread_id: str) -> Thread:
        """Open a thread with its history so that it can be continued.

        While a thread is open, the same object is returned. After a crash, every unfinished call
        gets a result and every unfinished run an end. A broken last line is dropped; other
        unreadable lines are listed in `Thread.problems`.

        Raises:
            ThreadInUse: Another program has the thread open; `read` and `branch` still work.
            FileProblem: There is no such thread, or a newer version of the program wrote it.
        """
        with self._guard:
            live = self._live.get(thread_id)
            if live is not None and not live.closed:
                return live
            folder = self._folder(thread_id)
            lock = ThreadLock(folder)
            content = read(folder / FILE)
            repairs = close_runs(content, utc_now())
            content.messages = complete(content.messages)
            thread = Thread(thread_id, folder, content, lock)
            thread.repair(repairs)
            self._live[thread_id] = thread
            return thread

    def read(self, thread_id: str) -> Thread:
        """Return a thread for reading only; it may even be open for writing in another program."""
        folder = self._folder(thread_id)
        self._flush(thread_id)
        content = read(folder / FILE)
        busy = in_use(folder)
        if not busy:
            close_runs(content, utc_now())
        content.messages = complete(content.messages)
        return Thread(thread_id, folder, content, in_use=busy)

    def branch(self, thread_id: str, question_index: int, *, replaces: bool = False) -> Thread:
        """Return a new thread that copies a thread up to, but not including, one of its questions.

        `question_index` is an index in `Thread.runs()`; the index after the last copies everything.
        With `replaces`, the copy is a newer version of the thread: it has its name and pins, and
        is listed in its place; `versions` leads to either.

        Raises:
            FileProblem: There is no such thread or question, or the branch cannot be written.
        """
        source = self._folder(thread_id)
        self._flush(thread_id)
        target = self._root / new_id()
        _copy_until(source, question_index, target, replaces=replaces)
        return self.open(target.name)

    def _infos(self) -> list[ThreadInfo]:
        found = (_info(folder) for folder in self._root.glob("[!.]*"))
        return [info for info in found if info is not None]

    def _search(self, info: ThreadInfo, words: Sequence[str]) -> ThreadInfo | None:
        """Return a thread with its hit if its name and messages together have all words."""
        said = info.title.casefold()
        wanted = {word for word in words if word not in said}
        missing, whole, best = set(wanted), " ".join(words), 0
        hit = run_id = running = ""
        with suppress(FileProblem):
            for entry in entries(self._root / info.thread_id / FILE, []) if wanted else ():
                running = str(entry.get("run_id") or running)
                event, message = entry.get("event"), entry.get("message")
                if isinstance(event, dict):
                    running = str(event.get("run_id") or running)
                if not isinstance(message, dict):
                    continue
                text = str(message.get("text", ""))
                there = [word for word in words if word in wanted and word in text.casefold()]
                missing.difference_update(there)
                together = whole in text.casefold()
                rank = len(there) + together  # the words as they stand, else most of them
                if rank > best and message.get("role") in ("user", "assistant"):
                    best, run_id = rank, running
                    hit = _around(text, whole if together else there[0])
        if missing:
            return None
        return replace(info, hit=hit, hit_run=run_id)

    def _flush(self, thread_id: str) -> None:
        with self._guard:
            live = self._live.get(thread_id)
        if live is not None:
            live.flush()

    def _folder(self, thread_id: str) -> Path:
        folder = self._root / thread_id
        try:
            whole = Path(thread_id).name == thread_id and not thread_id.startswith(".")
            known = whole and (folder / FILE).is_file()
        except OSError:  # no file can have such a name
            known = False
        if not known:
            raise FileProblem("there is no such conversation", subject=thread_id[:80])
        return folder


def new_id() -> str:
    """Return a new thread id, which contains no private data."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex}"


def _write_header(folder: Path) -> None:
    """Begin a thread's file with its header; raise OSError if it cannot be written."""
    writer = LineWriter(folder / FILE)
    writer.put(_header(folder), sync=True)
    writer.close()
    if writer.error is not None:
        raise writer.error


def _header(folder: Path, **more: Any) -> bytes:
    head = {"type": "header", "format": FORMAT, "version": VERSION, "thread_id": folder.name}
    return encode({**head, "created": utc_now(), **more})


_UNREADABLE = "(a conversation whose first question is damaged)"


def _info(folder: Path) -> ThreadInfo | None:
    path = folder / FILE
    title = created = ""
    origin: dict[str, Any] = {}
    asked = False
    try:
        with open_regular(path) as file:
            updated = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC).isoformat()
            for number, line in enumerate(file):
                # Damage may hide the question, but not that there was one.
                asked = asked or (number > 0 and line.endswith(b"\n"))
                entry = parse_line(line) or {}
                message = entry.get("message")
                if entry.get("type") == "header":
                    created = str(entry.get("created", ""))
                    branched: Any = entry.get("branched_from")
                    origin = branched if isinstance(branched, dict) else {}
                elif isinstance(message, dict) and message.get("role") == "user":
                    question = str(message.get("text", ""))
                    title = title or short_title(question)
                    if has_subject(question):
                        title = short_title(question)
                        break
    except OSError:
        return None
    with suppress(OSError):
        named = short_title(read_regular(folder / _TITLE).decode(errors="replace"))
        title = title and (named or title)
    title = title or (_UNREADABLE if asked else "")
    pins = _pins(folder)
    asked_in = _questions(folder) if pins - {""} else {}
    answers = tuple((run_id, asked_in[run_id]) for run_id in asked_in if run_id in pins)
    return ThreadInfo(
        folder.name,
        title,
        created or updated,
        updated,
        "" in pins,
        answers,
        origin=str(origin.get("thread_id", "")),
        replaces=origin.get("replaces") is True,
    )


def _families(infos: Iterable[ThreadInfo], *, edits_only: bool = False) -> dict[str, set[str]]:
    """Return for each thread all those related to it by branching; `edits_only`: as versions."""
    families: dict[str, set[str]] = {}
    for info in infos:
        related = {info.thread_id}
        if info.origin and (info.replaces or not edits_only):
            related.add(info.origin)
        whole = related.union(*(families.get(one, ()) for one in related))
        families.update(dict.fromkeys(whole, whole))
    return families


def _pins(folder: Path) -> frozenset[str]:
    with suppress(OSError):
        lines = read_regular(folder / _PINS).decode(errors="replace").split()
        return frozenset("" if line == _WHOLE else line for line in lines)
    return frozenset()


_MARKUP = re.compile(
    r"^[ \t]*(?:#{1,6}|[-*>])[ \t]+|\*\*|`+|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)", re.MULTILINE
)
"""Signs of Markdown: headings, bullets, quotations, emphasis and code."""
_TABLE = re.compile(r"^[ \t]*\|[-:| \t]+\|[ \t]*$|\|", re.MULTILINE)


def _around(text: str, word: str) -> str:
    """Return the text around a word, on one line and without the signs of Markdown."""
    text = _TABLE.sub(" ", _MARKUP.sub("", text))
    at = text.casefold().find(word)
    start = max(0, at - _HIT_CHARS // 3)
    cut = " ".join(text[start : start + _HIT_CHARS].split())
    before, after = "…" if start else "", "…" if start + _HIT_CHARS < len(text) else ""
    return f"{before}{cut}{after}"


def _run_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the events with which the runs of a thread began, read without the rest of it."""
    with suppress(OSError), open_regular(folder / FILE) as file:
        for line in file:
            if b"run_started" in line:
                event: Any = (parse_line(line) or {}).get("event")
                if isinstance(event, dict) and event.get("kind") == "run_started":
                    yield event


def _questions(folder: Path) -> dict[str, str]:
    """Return the questions of a thread by the ids of their runs."""
    return {str(one.get("run_id")): str(one.get("question")) for one in _run_events(folder)}


def _latest(infos: Sequence[ThreadInfo]) -> list[ThreadInfo]:
    """Return the threads without those that have a later version."""
    families = _families(infos, edits_only=True)
    newest: dict[str, ThreadInfo] = {}
    for info in infos:
        key = min(families.get(info.thread_id, {info.thread_id}))
        if key not in newest or info.updated > newest[key].updated:
            newest[key] = info
    return list(newest.values())


# -- branching --------------------------------------------------------------------------------


def _copy_until(source: Path, question_index: int, target: Path, *, replaces: bool) -> None:
    """Make `target` a thread with everything that `source` held before a question; see `branch`.

    The files that it refers to are copied and named by their new paths, so that either thread can
    be deleted without harm to the other. The target is there as a whole or not at all.
    """
    runs = read(source / FILE).runs
    if not 0 <= question_index <= len(runs):
        raise FileProblem(
            f"there is no question {question_index + 1} to branch from", subject=source.name
        )
    lines = [item for item in entries(source / FILE, []) if item.get("type") != "header"]
    origin: Entry = {"thread_id": source.name, "question": question_index}
    if replaces:
        origin["replaces"] = True
    if question_index < len(runs):
        start = runs[question_index].start
        lines, origin["run_id"] = lines[:start], runs[question_index].run_id
    old, new = str(source), str(target)
    names = {json.dumps(old)[1:-1]: json.dumps(new)[1:-1], old: new}  # also inside JSON text
    _sweep(target.parent)
    partial = target.with_name(f".{target.name}{_PARTIAL}")
    try:
        partial.mkdir(parents=True, mode=0o700)
        moved = [encode(_replaced(entry, names)) for entry in lines]
        text = b"".join((_header(target, branched_from=origin), *moved))
        _copy_named(source / "files", partial / "files", text)
        (partial / FILE).write_bytes(text)
        (partial / FILE).chmod(0o600)
        for name in (_TITLE, _PINS) if replaces else ():
            with suppress(FileNotFoundError):
                shutil.copy2(source / name, partial / name)
        partial.rename(target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise FileProblem(
            f"the branch cannot be written ({error.strerror or type(error).__name__})",
            subject=str(target),
            remedy="Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.",
        ) from error


def _sweep(root: Path) -> None:
    """Remove unfinished branches, which hold patients' data that no list shows, after an hour."""
    for folder in root.glob(f".*{_PARTIAL}"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        case dict():
            return {key: _replaced(item, names) for key, item in value.items()}
        case list():
            return [_replaced(item, names) for item in value]
        case _:
            return value


def _copy_named(source: Path, target: Path, text: bytes) -> None:
    """Copy the files whose names are in `text`, and the notes of what each picture shows."""
    if not source.is_dir():
        return
    for path in source.rglob("*"):
        known = (
            path.name.encode("utf-8", "surrogatepass") in text or path.name == picture_sources.FILE
        )
        if known and path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copy2(path, copy)
