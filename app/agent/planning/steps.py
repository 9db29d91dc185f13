"""What a plan is made of: steps, and arguments that come from earlier steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.agent.llm.base import ToolSchema
from app.agent.messages import Message
from app.tools.planning import NO_PLANS, Plans

_IMAGE_ARGUMENTS = ("image_path", "dicom_path", "image_paths", "image", "image_id", "images")
_IMAGE_ENDINGS = ("_path", "_paths", "_image", "_image_id")
_OTHER_FILES = ("output", "out_", "save", "model", "weights", "config", "log")


@dataclass(frozen=True, slots=True)
class OpenImage:
    """An image that is open: the one of that id, or the current one."""

    id: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """A value from an earlier step's output.

    Attributes:
        step: Number of that step, from 1.
        key: Key in its output.
        fallback: Whether the open image serves as well when the step gave nothing (a DICOM file
            and the PNG converted from it show the same).
    """

    step: int
    key: str
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """A value that nothing gives: no step before makes it, nor did an earlier question."""

    what: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier question of the thread made, most often a file."""

    path: Any


Source = OpenImage | Output | Earlier | Absent


@dataclass(frozen=True, slots=True)
class Step:
    """One call to make.

    Attributes:
        tool: The tool's name.
        arguments: Literals, sources, or lists of them.
        why: A few words for the plan shown to the user.
        skip: Why it cannot be run, known beforehand; "" when it can.
        target: The image it works on, for "the same image" in a later step.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    why: str = ""
    skip: str = ""
    target: Source | None = None

    def sources(self) -> Iterator[Source]:
        """The arguments that are not literals."""
        for value in self.arguments.values():
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, (OpenImage, Output, Earlier, Absent)):
                    yield item


@dataclass(frozen=True, slots=True)
class Steps:
    """Tools answer the question.

    Attributes:
        steps: In the order in which they run.
        topics: What is asked, for the summary ("disease", "where", "heart_size", ...).
        notes: What to tell the user about the plan itself.
    """

    steps: tuple[Step, ...]
    topics: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A rule answers the question without a tool."""

    text: str


@dataclass(frozen=True, slots=True)
class NoRule:
    """No rule matches: not the same as having nothing left to do."""


Decision = Steps | Reply | NoRule


@dataclass(frozen=True, slots=True)
class Scene:
    """What a question is asked about.

    Attributes:
        images: Notes on the open images, the current one first.
        tools: The tools there are, by name.
        earlier: Messages of earlier questions in the thread.
        plans: What the packs tell of their tools.
    """

    images: tuple[Mapping[str, Any], ...]
    tools: Mapping[str, ToolSchema]
    earlier: tuple[Message, ...] = ()
    plans: Plans = NO_PLANS

    def note(self, image: OpenImage | None = None) -> Mapping[str, Any] | None:
        """The note on an image, or None when it is not open."""
        wanted = image.id if image else ""
        if not wanted:
            return self.images[0] if self.images else None
        return next((note for note in self.images if note.get("id") == wanted), None)

    def earlier_output(self, key: str, tool: str = "") -> Any | None:
        """The latest value of that output key in the thread, or None."""
        for message in reversed(self.earlier):
            if message.role == "tool" and message.ok and tool in ("", message.tool):
                value = message.data.get("output", {}).get(key)
                if value:
                    return value
        return None


def path_of(note: Mapping[str, Any]) -> str:
    """How a tool is told which image: its path, else the app's id."""
    return str(note.get("path") or note.get("id") or "")


def image_argument(schema: ToolSchema) -> str:
    """The argument that takes the image, or ""."""
    return next(iter(image_arguments(schema)), "")


def image_arguments(schema: ToolSchema) -> list[str]:
    """The arguments that take images, the one for the image itself first."""
    properties: Mapping[str, Any] = {
        name: field
        for name, field in schema.parameters.get("properties", {}).items()
        if field.get("type") not in ("boolean", "integer", "number")
    }
    found = [name for name in _IMAGE_ARGUMENTS if name in properties]
    found += [name for name in properties if name not in found and _takes_path(name)]
    return found


def _takes_path(name: str) -> bool:
    return name.endswith(_IMAGE_ENDINGS) and not name.startswith(_OTHER_FILES)
