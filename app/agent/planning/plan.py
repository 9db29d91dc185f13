"""The plan of tool calls that answers a question, made of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agent.image_reference import image_reference
from app.agent.llm.base import ToolSchema
from app.agent.messages import Message
from app.tools.pack_plan import NO_PLANS, Plans


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
class ToolPlan:
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
    """No rule matches: not the same as having nothing left to do.

    Attributes:
        text: Says so to the user, with what could be asked instead.
    """

    text: str = ""


Decision = ToolPlan | Reply | NoRule


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


@dataclass(frozen=True, slots=True)
class Ready:
    """A step with all its arguments, and what to tell the user about them."""

    arguments: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a step cannot be run."""

    reason: str


class _Missing(Exception):
    pass


def resolve(
    step: Step, steps: Sequence[Step], results: Mapping[int, Message], scene: Scene
) -> Ready | Blocked:
    """The step's arguments, from the results of earlier steps by number."""
    if step.skip:
        return Blocked(step.skip)
    notes: list[str] = []

    def value_of(value: Any) -> Any:
        if isinstance(value, list):
            return [value_of(item) for item in value]
        if isinstance(value, (OpenImage, Output, Earlier, Absent)):
            return _lookup(value, steps, results, scene, notes)
        return value

    try:
        arguments = {name: value_of(value) for name, value in step.arguments.items()}
    except _Missing as missing:
        return Blocked(str(missing))
    return Ready(arguments, tuple(notes))


def _lookup(
    source: Source,
    steps: Sequence[Step],
    results: Mapping[int, Message],
    scene: Scene,
    notes: list[str],
) -> Any:
    match source:
        case OpenImage():
            note = scene.note(source)
            if note is None:
                raise _Missing(f"{source.id} is not open" if source.id else "no image is open")
            return image_reference(note)
        case Earlier(path):
            return path
        case Absent(what):
            raise _Missing(f"there is no {what}: no step before makes one")
        case Output(number, key, fallback):
            tool = steps[number - 1].tool
            message = results.get(number)
            if message is not None and message.ok:
                value = message.data.get("output", {}).get(key)
                if value:
                    return value
                state = f"returned no {key}"
            else:
                state = "failed" if message is not None else "was not run"
            note = scene.note()
            if fallback and note is not None:
                if message is not None:
                    notes.append(
                        f"{tool} {state}, so the open image was used in place of its {key}"
                    )
                return image_reference(note)
            raise _Missing(f"it needs {key} from {tool}, which {state}")
