"""Calls that have ended, and on which open images each of them rests.

A file that a call made rests on the images of that call: a PNG converted from a CT is a CT.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from app.agent.image_reference import image_reference
from app.agent.messages import Message, ToolCall

_MADE = re.compile(r"[^\n]{0,500}[/\\.][^\n]{0,500}")  # what may be the name of a file
_PATHS = ("_path", "_paths")  # how names of arguments and of outputs end
_STRINGS = 2_000  # of one result, or of one call's arguments, that are looked at


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call with its result.

    Attributes:
        call: The call.
        message: Its result.
        images: References of the open images that it rests on; empty where not known.
        sources: The same with pictures that tools made from nothing; see `CallLog.sources`.
        here: It was made in this run.
        number: In the order in which results came.
    """

    call: ToolCall
    message: Message
    images: frozenset[str]
    here: bool
    number: int
    sources: frozenset[str] = frozenset()

    def about(self, images: Collection[str]) -> bool:
        """Whether it may rest on one of these images; what is not known does not rule it out."""
        return not images or not self.images or not self.images.isdisjoint(images)


class CallLog:
    """The ended calls of a conversation, those of the run that goes on among them.

    Args:
        history: The conversation before the run.
        notes: What is open now, the current image first.
        folder: The run's output folder: names in it may be relative.
    """

    def __init__(
        self,
        history: Sequence[Message] = (),
        notes: Sequence[Mapping[str, Any]] = (),
        folder: Path | None = None,
    ) -> None:
        self._folder = folder
        self._ended: list[LoggedCall] = []
        self._names: dict[str, str] = {}
        self._made: dict[str, frozenset[str]] = {}
        self._made_of: dict[str, frozenset[str]] = {}
        self._notes: dict[str, Mapping[str, Any]] = {}
        self._read(history)
        self._open(notes)
        self.current = image_reference(notes[0]) if notes else ""

    def _read(self, history: Sequence[Message]) -> None:
        calls: dict[str, ToolCall] = {}
        for message in history:
            if message.role == "user" and message.images:
                self._open(message.images)
            calls |= {call.id: call for call in message.tool_calls}
            if message.role == "tool" and message.call_id in calls:
                self.add(calls[message.call_id], message, here=False)

    def _open(self, notes: Iterable[Mapping[str, Any]]) -> None:
        for note in notes:
            key = image_reference(note)
            self._notes[key] = note
            self._names |= {_id(str(note["id"])): key} if note.get("id") else {}
            path = str(note.get("path") or "")
            if path:
                self._names[self._path(path)] = key
                # A file name means an image only where one alone has it.
                base = _id(Path(path).name)
                self._names[base] = key if self._names.get(base, key) == key else ""

    def add(self, call: ToolCall, message: Message, *, here: bool = True) -> LoggedCall:
        """Take a result."""
        images = self.images_of(call.arguments)
        made = [*self._made_by(message)]
        sources = self._sources(call.arguments) or self._named_in(message.data.get("output"))
        ended = LoggedCall(call, message, images, here, len(self._ended), sources)
        self._ended.append(ended)
        self._made |= dict.fromkeys(made, images) if images else {}
        self._made_of |= dict.fromkeys(made, sources)
        return ended

    def _made_by(self, message: Message) -> Iterator[str]:
        """The files that a call made, as far as its result names them."""
        # Each text once: the rows of a large output name the same file again and again.
        for text in dict.fromkeys(_strings(message.data.get("output") if message.ok else None)):
            if not _MADE.fullmatch(text):
                continue
            path = self._path(text)
            if not (self._names.get(_id(text)) or self._names.get(path)):
                yield path

    def _sources(self, arguments: Mapping[str, Any]) -> frozenset[str]:
        """What arguments name: open, made of what is, or else their files as they stand."""
        found: set[str] = set()
        for text in _strings(arguments):
            name = self._open_image(text)
            made = self._made_of.get(self._path(text), frozenset())
            found |= {self._path(name)} if name else made
        return frozenset(found) or self._named_in(arguments)

    def _named_in(self, table: Any) -> frozenset[str]:
        """The files that are named by keys that say so, of arguments or an output."""
        entries = cast("dict[str, Any]", table).items() if isinstance(table, Mapping) else ()
        texts = (text for key, value in entries if key.endswith(_PATHS) for text in _strings(value))
        return frozenset(self._path(text) for text in texts)

    def sources(self, note: Mapping[str, Any]) -> frozenset[str]:
        """Return an open image, and what it was made from, as in `LoggedCall.sources`."""
        own = self._path(image_reference(note))
        return self._made_of.get(own, frozenset()) | {own}

    def all(self) -> tuple[LoggedCall, ...]:
        """All of them, in the order in which their results came."""
        return tuple(self._ended)

    def note(self, key: str) -> Mapping[str, Any] | None:
        """The note on an image."""
        return self._notes.get(key)

    def images_of(self, arguments: Any) -> frozenset[str]:
        """The open images that are named by arguments, as such or by what was made of them."""
        found: set[str] = set()
        for text in _strings(arguments):
            name = self._open_image(text)
            found |= {name} if name else self._made.get(self._path(text), frozenset())
        return frozenset(found)

    def _open_image(self, text: str) -> str:
        """The image that a text names, as tools read it: by id, path or file name; "" for none."""
        return self._names.get(_id(text)) or self._names.get(self._path(text), "")

    def _path(self, text: str) -> str:
        """A path with "." and ".." taken out; a relative one lies in the run's folder."""
        # Not by pathlib, which takes six times as long: a result may hold thousands of texts.
        return os.path.normcase(os.path.normpath(os.path.join(self._folder or "", text.strip())))  # noqa: PTH118

    def here(self) -> Iterator[LoggedCall]:
        """Those of this run."""
        return (item for item in self._ended if item.here)

    def earlier(self, images: Collection[str] = ()) -> Iterator[LoggedCall]:
        """Those of earlier questions that ended well and may be about these images.

        Args:
            images: () for the current one.
        """
        images = frozenset(images or filter(None, (self.current,)))
        return (i for i in self._ended if not i.here and i.message.ok and i.about(images))

    def of(self, call_id: str) -> LoggedCall | None:
        """The call of that id."""
        return next((i for i in reversed(self._ended) if i.message.call_id == call_id), None)

    def elsewhere(self, images: Collection[str]) -> Iterator[LoggedCall]:
        """Those that rest on other images than these, as far as that is known."""
        return (item for item in self._ended if not item.about(images))

    def latest(
        self, tools: Collection[str], images: Collection[str] = (), *, ok: bool = True
    ) -> LoggedCall | None:
        """The last call of any of these tools that may be about these images.

        Args:
            tools: Names.
            images: () for any.
            ok: It ended well; otherwise however it ended, in this run.
        """
        for item in reversed(self._ended):
            if item.call.name not in tools or not item.about(images):
                continue
            if item.message.ok if ok else item.here:
                return item
        return None

    def failed_here(self, tool: str, images: Collection[str] = ()) -> bool:
        """Whether this tool was tried in this run for these images and gave nothing."""
        last = self.latest((tool,), images, ok=False)
        return last is not None and not last.message.ok


def output_of(ended: LoggedCall, key: str) -> Any | None:
    """The value of a key of a call's output, or None where there is nothing."""
    output: Any = ended.message.data.get("output")
    value: Any = cast("dict[str, Any]", output).get(key) if isinstance(output, dict) else None
    return None if value in ("", [], {}) else value


def _id(text: str) -> str:
    return text.strip().lower()


def _strings(value: Any) -> Iterator[str]:
    """The strings in JSON, at any depth."""
    left = [value]
    for _ in range(_STRINGS):
        if not left:
            return
        match left.pop():
            case str() as text:
                yield text
            case dict() as table:
                left.extend(cast("dict[str, Any]", table).values())
            case list() | tuple() as items:
                left.extend(cast("Sequence[Any]", items))
            case _:
                pass
