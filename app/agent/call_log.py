"""Log of a conversation's finished calls, with the open images that each result is based on.

A file made by a call counts as that call's image: a PNG converted from a CT counts as the CT.
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
from app.agent.repeated_calls import inner_call, inner_message, results_of

_MADE = re.compile(r"[^\n]{0,500}[/\\.][^\n]{0,500}")  # what may be the name of a file
_PATHS = ("_path", "_paths")  # how names of arguments and of outputs end
_STRINGS = 2_000  # of one result, or of one call's arguments, that are looked at


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A finished call with its result; one that repeats a tool stands as one of the inner tool.

    Attributes:
        images: The images, open now or earlier, that the result is based on, by the reference that
            `image_reference` returns; empty if unknown.
        sources: Paths of these images. If there are none: paths of the files named in the call's
            arguments or, failing that, in its output.
        here: Whether the call was made in the current run.
        number: Position of the result in the order in which results arrived, from 0.
    """

    call: ToolCall
    message: Message
    images: frozenset[str]
    here: bool
    number: int
    sources: frozenset[str] = frozenset()

    def may_concern(self, images: Collection[str]) -> bool:
        """Return whether the result is, or may be, based on one of these images.

        True if the result's images are unknown, or if `images` is empty.
        """
        return not images or not self.images or not self.images.isdisjoint(images)


class CallLog:
    """The finished calls of a conversation, including those of the current run.

    Args:
        history: The messages of the earlier runs.
        notes: Notes on the open images, the current one first, as in `RunRequest.image_notes`.
        folder: The run's output folder, to which relative file names refer.
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
            if self._notes.get(key) == note:
                continue  # each question of a conversation brings them again
            self._notes[key] = note
            self._names |= {_id(str(note["id"])): key} if note.get("id") else {}
            path = str(note.get("path") or "")
            if path:
                self._names[self._path(path)] = key
                # A file name means an image only where one alone has it.
                base = _id(Path(path).name)
                self._names[base] = key if self._names.get(base, key) == key else ""

    def add(self, call: ToolCall, message: Message, *, here: bool = True) -> LoggedCall:
        """Add a finished call, made in this run if `here` is True, and return its log entry."""
        inner = inner_call(call, [*self._notes.values()])
        if inner is not None:
            call, message = inner, inner_message(message)
            named = [row["image"] for row in results_of(message)] or call.arguments["images"]
            call = call.model_copy(update={"arguments": {**call.arguments, "images": named}})
        images = self.images_of(call.arguments)
        made = [*self._made_by(message)]
        sources = self._sources(call.arguments) or self._named_in(message.output)
        ended = LoggedCall(call, message, images, here, len(self._ended), sources)
        self._ended.append(ended)
        self._made |= dict.fromkeys(made, images) if images else {}
        self._made_of |= dict.fromkeys(made, sources)
        for row in results_of(message):  # a mask is of its own image
            own = [*self._files_in(row.get("output"))]
            self._made |= dict.fromkeys(own, self.images_of(row["image"]))
            self._made_of |= dict.fromkeys(own, self._sources({"image": row["image"]}))
        return ended

    def _made_by(self, message: Message) -> Iterator[str]:
        """Yield the files that a call made, as far as its result names them."""
        yield from self._files_in(message.data.get("output") if message.ok else None)

    def _files_in(self, output: Any) -> Iterator[str]:
        # Each text once: the rows of a large output name the same file again and again.
        for text in dict.fromkeys(strings(output)):
            if not _MADE.fullmatch(text):
                continue
            path = self._path(text)
            if not (self._names.get(_id(text)) or self._names.get(path)):
                yield path

    def _sources(self, arguments: Mapping[str, Any]) -> frozenset[str]:
        """Return the open images that arguments name, or that made the files they name."""
        found: set[str] = set()
        for text in strings(arguments):
            name = self._open_image(text)
            made = self._made_of.get(self._path(text), frozenset())
            found |= {self._path(name)} if name else made
        return frozenset(found) or self._named_in(arguments)

    def _named_in(self, table: Any) -> frozenset[str]:
        """Return the files named under keys that end with `_path` or `_paths`."""
        entries = cast("dict[str, Any]", table).items() if isinstance(table, Mapping) else ()
        texts = (text for key, value in entries if key.endswith(_PATHS) for text in strings(value))
        return frozenset(self._path(text) for text in texts)

    def sources(self, note: Mapping[str, Any]) -> frozenset[str]:
        """Return the path of the image in `note` and the paths of images it was made from."""
        own = self._path(image_reference(note))
        return self._made_of.get(own, frozenset()) | {own}

    def all(self) -> tuple[LoggedCall, ...]:
        """Return all calls, in the order in which their results arrived."""
        return tuple(self._ended)

    def note(self, key: str) -> Mapping[str, Any] | None:
        """Return the note on the open image with the reference `key`, or None if it is not open."""
        return self._notes.get(key)

    def images_of(self, arguments: Any) -> frozenset[str]:
        """Return the references of the open images that a call's arguments name.

        Naming a file that was made from an image counts as naming the image.
        """
        found: set[str] = set()
        for text in strings(arguments):
            name = self._open_image(text)
            found |= {name} if name else self._made.get(self._path(text), frozenset())
        return frozenset(found)

    def _open_image(self, text: str) -> str:
        """Return the image that a text names by id, path or file name; "" for none."""
        return self._names.get(_id(text)) or self._names.get(self._path(text), "")

    def _path(self, text: str) -> str:
        """Return a normalised path; a relative one is taken to lie in the run's folder."""
        # Not by pathlib, which takes six times as long: a result may hold thousands of texts.
        return os.path.normcase(os.path.normpath(os.path.join(self._folder or "", text.strip())))  # noqa: PTH118

    def of_this_run(self) -> Iterator[LoggedCall]:
        """Yield the calls of this run."""
        return (item for item in self._ended if item.here)

    def earlier(self, images: Collection[str] = ()) -> Iterator[LoggedCall]:
        """Yield the successful calls of earlier questions that may be about these images.

        If `images` is empty, the current image is meant.
        """
        images = frozenset(images or filter(None, (self.current,)))
        return (i for i in self._ended if not i.here and i.message.ok and i.may_concern(images))

    def by_id(self, call_id: str) -> LoggedCall | None:
        """Return the latest call with that id, or None."""
        return next((i for i in reversed(self._ended) if i.message.call_id == call_id), None)

    def on_other_images(self, images: Collection[str]) -> Iterator[LoggedCall]:
        """Yield the calls known to be based on none of `images`; nothing if that is empty."""
        return (item for item in self._ended if not item.may_concern(images))

    def latest(
        self, tools: Collection[str], images: Collection[str] = (), *, ok: bool = True
    ) -> LoggedCall | None:
        """Return the last call to any of these tools that may be about these images, or None.

        With `ok`, successful calls of any run count; without it, calls of the current run with any
        outcome. If `images` is empty, calls about any image count.
        """
        for item in reversed(self._ended):
            if item.call.name not in tools or not item.may_concern(images):
                continue
            if item.message.ok if ok else item.here:
                return item
        return None

    def failed_here(self, tool: str, images: Collection[str] = ()) -> bool:
        """Return whether this run called `tool` for these images, and it failed the last time."""
        last = self.latest((tool,), images, ok=False)
        return last is not None and not last.message.ok


def output_of(
    ended: LoggedCall, key: str, images: Collection[str] = (), *, many: bool = False
) -> Any | None:
    """Return the value of `key` in the output of the call `ended`; None if missing or empty.

    Of a call on many images: the value for the one in `images`, or with `many` a list of the values
    for all of them (if empty, for all images). A table of them all has the rows of all tables.
    """
    rows = [row for row in results_of(ended.message) if not images or row["image"] in images]
    values = [(row.get("output") or {}).get(key) for row in rows]
    values = [value for value in values if value not in (None, "", [], {})]
    if values and (many or len(images) == 1):
        return values if many else values[0]
    output = ended.message.output
    joined = output.get("objects_table_path") if values and key == "table_path" else None
    value = joined or output.get(key)
    return None if value in ("", [], {}) else value


def _id(text: str) -> str:
    return text.strip().lower()


def strings(value: Any) -> Iterator[str]:
    """Yield the string values in JSON data at any depth, without the keys of objects."""
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
