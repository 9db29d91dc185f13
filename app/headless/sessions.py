"""The command `sessions`: list, show and export conversations, and run their tool calls again."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app import paths
from app.agent.call_log import strings
from app.agent.loop.audit_trail import UNKNOWN
from app.agent.request import make_folder
from app.agent.sessions import SessionStore
from app.agent.sessions.content import Content
from app.agent.sessions.export import DISCLAIMER, WARNING, Form, as_text, shown_images
from app.agent.sessions.export import as_json as as_json_form
from app.agent.sessions.export import export as write_export
from app.agent.sessions.replay import RecordedCall, Replay, ReplayedCall
from app.audit.exports import record_deletion, record_export
from app.errors import FileProblem, SightlineError, printable
from app.headless.common import is_agreed, open_program, print_json, scan_source
from app.imaging.types import Instance
from app.tools import picture_sources
from app.tools.api import ToolContext
from app.tools.diagnosis.session import load_session
from app.tools.images import OpenImage, RunImages
from app.wiring import Program
from app.workspace.studies import instances_of


def list_all(words: str = "", *, as_json: bool) -> int:
    """Print id, time and title of the conversations with all of `words`, newest first; return 0."""
    threads = SessionStore(paths.sessions_dir()).threads(words)
    if as_json:
        print_json([asdict(info) for info in threads])
        return 0
    for info in threads:
        print(f"{info.thread_id}  {info.updated[:16]}  {printable(info.title)}")
    if not threads:
        none = "No conversation has these words." if words else "There are no conversations yet."
        print(none, file=sys.stderr)
    return 0


def rename(thread_id: str, title: str) -> int:
    """Set the title of a conversation and return 0."""
    SessionStore(paths.sessions_dir()).rename(thread_id, title)
    return 0


def delete(thread_id: str, *, agreed: bool) -> int:
    """Delete a conversation after asking, unless `agreed`; return 1 if the user did not agree."""
    store = SessionStore(paths.sessions_dir())
    title = printable(store.read(thread_id).title)
    if not agreed and not is_agreed(f'Delete "{title}" with all that is kept of it?'):
        print("Nothing was deleted. Without a terminal, agree with --yes.", file=sys.stderr)
        return 1
    with open_program() as program, record_deletion(program.audit, *store.version_ids(thread_id)):
        store.delete(thread_id)
    return 0


def show(thread_id: str, *, as_json: bool) -> int:
    """Print one conversation as text or JSON; return the exit code."""
    content = _content(thread_id)
    if as_json:
        print_json(as_json_form(content))
        return 0
    print(printable(as_text(content), lines=True))
    diagnosis = load_session(_id(content)) if _id(content) else None
    if diagnosis is not None and diagnosis.steps:
        print("\nDiagnosis, step by step (not for diagnosis by itself):\n")
        print(printable(diagnosis.accumulated_notes, lines=True))
        if diagnosis.final_diagnosis is not None:
            print(f"\nFinal: {printable(diagnosis.final_diagnosis.diagnosis)}")
    return 0


def export(thread_id: str, form: Form, target: Path, *, replace: bool = False) -> int:
    """Write a conversation in format `form` to a file; it may exist only if `replace`; return 0."""
    content = _content(thread_id)
    with (
        open_program() as program,
        record_export(
            program.audit,
            "conversation",
            target,
            images=shown_images(content),
            replace=replace,
            thread=_id(content),
        ),
    ):
        write_export(content, form, target)
    print(f"{target}: {DISCLAIMER} {WARNING}", file=sys.stderr)
    return 0


def replay(thread_id: str, images: Sequence[Path], out: Path | None, *, as_json: bool) -> int:
    """Run a conversation's tool calls again; return 1 if any result differs or is missing.

    `images` are files or folders to search for images that are no longer at their recorded paths.
    Files that the calls make are written to `out`, or to a temporary folder.
    """
    store = SessionStore(paths.sessions_dir())
    thread = store.read(thread_id)
    assert thread.folder is not None
    with contextlib.ExitStack() as stack:
        folder = make_folder(
            out
            or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sightline-replay-")))
        )
        program = stack.enter_context(open_program())
        content = thread.content
        renamed: dict[str, str] = {}
        found = _ReplayImages(program, images, folder, renamed)
        old = thread.folder / "files"
        again = Replay(program.registry, found.context, old, folder, renamed, program.policy())
        return asyncio.run(_run_again(again, content, program, as_json=as_json))


async def _run_again(again: Replay, content: Content, program: Program, *, as_json: bool) -> int:
    count = 0
    wrong = 0
    async for call in again.run(content):
        tool = call.tool if program.registry.get(call.tool) else UNKNOWN
        facts = {
            "thread": _id(content),
            "tool": tool,
            "call": program.audit_trail.name("call", call.call_id),
        }
        program.audit.note("tool_replayed", {**facts, "status": call.status})
        count += 1
        wrong += call.status != "same" and not call.harmless
        _print_call(call, as_json=as_json)
    if not as_json:
        summary = f"{count - wrong} of {count} calls are as they were" if count else "No calls"
        print(f"{summary}.", file=sys.stderr)
    return int(wrong > 0)


def _print_call(call: ReplayedCall, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(call))
        return
    print(f"{call.tool} ({call.call_id}): {call.status}", flush=True)
    for reason in call.reasons:
        print(f"    {printable(reason)}", flush=True)


def _content(thread_id: str) -> Content:
    return SessionStore(paths.sessions_dir()).read(thread_id).content


def _id(content: Content) -> str:
    return str(content.header.get("thread_id", ""))


@dataclass
class _ReplayImages:
    """Finds the images of each recorded run, by their UID and their pixels.

    Attributes:
        renamed: Recorded path -> path at which the image was found; filled on the way.
    """

    program: Program
    sources: Sequence[Path]
    folder: Path
    renamed: dict[str, str]
    _scans: dict[Path, tuple[Instance, ...]] = field(
        default_factory=dict[Path, "tuple[Instance, ...]"]
    )
    _images: dict[str, RunImages] = field(default_factory=dict[str, RunImages])
    _missing: dict[str, dict[str, str]] = field(default_factory=dict[str, "dict[str, str]"])

    def context(self, call: RecordedCall) -> ToolContext | str:
        """Return the context of a call, or why an image that it names is missing."""
        if call.run_id not in self._images:
            self._open(call)
        named = set(strings(call.arguments))
        for name, why in self._missing[call.run_id].items():
            if name in named:
                return why
        images = self._images[call.run_id]
        return self.program.tool_context(call.run_id or "replay", call.call_id, images, self.folder)

    def _open(self, call: RecordedCall) -> None:
        """Open the images that the call's run read."""
        opened: list[OpenImage] = []
        missing: dict[str, str] = {}
        used: Any = call.facts.get("used") or ()
        for facts in used:
            name, path = str(facts.get("id")), str(facts.get("path"))
            instance = self._instance(facts)
            if instance is None:
                why = (
                    f"{name} was not found: no file with its UID and its pixels lies where it "
                    "was. Give its location with --image"
                )
                missing |= {name: why, path: why}
                continue
            if str(instance.path) != path:
                self.renamed[path] = str(instance.path)
            shown = int(facts.get("shown_frame", 0))
            window = picture_sources.window_of(facts.get("window"))
            opened.append(OpenImage(name, instance, shown, window, bool(facts.get("invert"))))
        self._missing[call.run_id] = missing
        self._images[call.run_id] = RunImages(opened, self.folder, self.program.decoder)

    def _instance(self, facts: Mapping[str, Any]) -> Instance | None:
        """Return the instance with the recorded UID and pixels, or None."""
        recorded = Path(str(facts.get("path")))
        places = [*_existing(recorded), *self.sources]
        for instance in (item for place in places for item in self._scan(place)):
            if instance.part == facts.get("part", 0) and self._matches(instance, facts):
                return instance
        return None

    def _matches(self, instance: Instance, facts: Mapping[str, Any]) -> bool:
        uid, frame = str(facts.get("sop_instance_uid")), int(facts.get("frame", 0))
        if instance.sop_instance_uid not in ("", uid) or not 0 <= frame < instance.frames:
            return False
        try:
            ref = self.program.decoder.frame(instance, frame).result().ref
        except SightlineError:
            return False
        return (ref.sop_instance_uid, ref.pixel_sha256) == (uid, facts.get("pixel_sha256"))

    def _scan(self, place: Path) -> tuple[Instance, ...]:
        if place not in self._scans:
            self._scans[place] = ()
            with contextlib.suppress(FileProblem):
                found = instances_of(scan_source(self.program.decoder, place).studies)
                self._scans[place] = tuple(item for item in found if item.is_image)
        return self._scans[place]


def _existing(path: Path) -> list[Path]:
    """Return what can be scanned of a recorded path: the file, or the archive that holds it."""
    return next(([place] for place in (path, *path.parents[:-1]) if place.is_file()), [])
