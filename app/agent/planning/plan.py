"""The result of planning: a question's intent, and the plan of tool calls that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from app.agent.image_reference import image_reference
from app.agent.llm.base import ToolSchema
from app.agent.messages import Message
from app.agent.repeated_calls import results_of
from app.records.types import NoRecords, Records
from app.tools.finding_names import HERE, SELECTED, as_spelt, is_called, numbered
from app.tools.pack_plan import NO_PLANS, Plans


@dataclass(frozen=True, slots=True)
class OpenImage:
    """A source of an argument's value: the open image with this `id`; "" is the current image."""

    id: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """A source of an argument's value: part of an earlier step's output.

    Attributes:
        step: Number of that step, counted from 1.
        key: Key in the step's output.
        fallback: Whether the open image may be used if the step returned nothing, because both show
            the same (a DICOM file and the PNG converted from it).
    """

    step: int
    key: str
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class MissingValue:
    """A source without a value: no step and no earlier question provides `what`."""

    what: str


@dataclass(frozen=True, slots=True)
class EarlierOutput:
    """A source whose value is known: `path`, usually of a file made for an earlier question."""

    path: Any


Source = OpenImage | Output | EarlierOutput | MissingValue
_MADE = (Output, EarlierOutput)


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call to make.

    Attributes:
        arguments: The value of each argument: a literal, a `Source`, or a list of these.
        why: A few words for the plan shown to the user.
        skip: The reason why the step cannot run, if known beforehand; otherwise "".
        target: The image that the step works on, for "the same image" in a later step; None for no
            image.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    why: str = ""
    skip: str = ""
    target: Source | None = None

    def after(self) -> tuple[int, ...]:
        """Return the numbers, from 1, of the steps whose outputs this one takes."""
        return tuple(sorted({one.step for one in self.sources() if isinstance(one, Output)}))

    def behind(self, number: int) -> Step:
        """Return the step for a plan in which so many other steps come before all of its own."""

        def moved(value: Any) -> Any:
            if isinstance(value, list):
                return [moved(item) for item in value]
            return replace(value, step=value.step + number) if isinstance(value, Output) else value

        arguments = {name: moved(value) for name, value in self.arguments.items()}
        return replace(self, arguments=arguments, target=moved(self.target))

    def settable(self) -> dict[str, str | int | float]:
        """Return the arguments that a user may change: texts and numbers, no images or paths."""
        return {
            name: value
            for name, value in self.arguments.items()
            if type(value) in (str, int, float) and not name.endswith(("path", "id"))
        }

    def sources(self) -> Iterator[Source]:
        """Yield the sources among the arguments' values, including those inside lists."""
        for value in self.arguments.values():
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, (OpenImage, Output, EarlierOutput, MissingValue)):
                    yield item


def typed_value(arguments: type[BaseModel], name: str, text: str) -> tuple[Any, str]:
    """Return what a user typed for an argument as its tool takes it, and why it does not if so.

    A number may have a decimal comma. The reason is "" where the value suits.
    """
    field = arguments.model_fields.get(name)
    kind: Any = Any if field is None else Annotated[field.annotation, field]
    number = text.strip().replace(",", ".")
    for value in (text.strip(), number):
        try:
            return TypeAdapter(kind).validate_python(value), ""
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
    return text, problem


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """The decision to answer a question with tools.

    Attributes:
        topics: Names of the question's kinds, for the summary ("disease", "heart_size", ...).
        notes: Remarks for the user about the plan itself.
    """

    steps: tuple[Step, ...]
    topics: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The decision to answer a question with a fixed text, without tools.

    `certain` is True if the question asks for nothing but this text.
    """

    text: str
    certain: bool = False


@dataclass(frozen=True, slots=True)
class NoRule:
    """The decision that no rule matches the question, so that rules cannot answer it.

    `text` tells the user what could be asked instead.
    """

    text: str = ""


Decision = ToolPlan | Reply | NoRule


@dataclass(frozen=True, slots=True)
class Scene:
    """The circumstances in which a question is asked.

    Attributes:
        images: Notes on the open images, the current one first.
        tools: Schemas of the available tools, by name.
        earlier: Messages of earlier questions in the conversation.
        lacks: Returns whether a tool, given by name, lacks a model or package that it requires.
        records: The patients' records that are open.
        record_patient: The id of the patient whose record is in use; "" for none.
        shown: What the window shows (`tools.api.Viewer.state`); empty without a window.
    """

    images: tuple[Mapping[str, Any], ...]
    tools: Mapping[str, ToolSchema]
    earlier: tuple[Message, ...] = ()
    plans: Plans = NO_PLANS
    lacks: Callable[[str], bool] = lambda _: False
    records: Records = field(default_factory=NoRecords)
    record_patient: str = ""
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def is_missing(self, name: str, image: str = "") -> bool:
        """Return whether no finding on the shown images has a name; False without a window.

        With the id of an `image` in another viewport, its findings count.
        """
        if not self.shown or name in (*SELECTED, *HERE):
            return False
        if image:
            there = (o for o in self.shown.get("viewports", ()) if o.get("image") == image)
            labels = [str(label) for one in there for label in one.get("labels", ())]
        else:
            labels = [str(one.get("label", "")) for one in self.shown.get("findings", ())]
        names = (name, as_spelt(name, labels))
        if any(is_called(label, one) for label in labels for one in names):
            return False
        kind, number = numbered(name)  # "nodule 2" is the second of what is called so
        return not number or sum(is_called(label, kind) for label in labels) < number

    def has(self, name: str, image: str = "") -> bool:
        """Return whether a finding on the shown images has a name, or is selected for "this".

        With the id of an `image` in another viewport, its findings count.
        """
        if name in SELECTED:
            return any(one.get("selected") for one in self.shown.get("findings", ()))
        return bool(self.shown) and not self.is_missing(name, image)

    def note(self, image: OpenImage | None = None) -> Mapping[str, Any] | None:
        """Return the note on `image` (None: the current one), or None if that image is not open."""
        wanted = image.id if image else ""
        if not wanted:
            return self.images[0] if self.images else None
        return next((note for note in self.images if note.get("id") == wanted), None)

    def earlier_output(self, key: str, tool: str = "") -> Any | None:
        """Return the latest value for an output key in the conversation, or None if there is none.

        Only outputs of `tool` count; "" for any tool.
        """
        for message in reversed(self.earlier):
            if message.role == "tool" and message.ok and tool in ("", message.tool):
                value = _output(message, key)
                if value:
                    return value
        return None


@dataclass(frozen=True, slots=True)
class Intent:
    """The interpretation of a question, as determined by `Planner.interpret` once per run.

    Attributes:
        question: The user's text.
        scene: The open images, the tools and the earlier results.
        kinds: Names of the question's kinds, the most specific first, without those that another
            kind overrides.
        named: The tools that the question mentions by name or by one of their phrases.
        left_out: The tools that the question excludes, each with the words that exclude it ("don't
            classify").
        wanted: The fewest tools that suffice, in running order; never any that are in `left_out`.
        only: Whether the question forbids all other tools ("only segment the lungs").
        in_order: Whether it gives the order in which `wanted` run ("first ..., then ...").
        absent: Tools that would answer the question but are not installed.
        by_eye: The tools in `wanted` that a model can do without if it sees the picture.
        subjects: The tools that work on what the question mentions ("nuclei"), excluded or not.
        targets: Names of the packs' targets (`PackPlan.targets`) that the question mentions.
        certain: Whether every word is understood, so that rules alone may answer the question.
        expects_data: Whether an empty result would be suspicious.
        needs_image: Whether the question is about an open image.
        images: The ids of the open images that the question names; () if it names none, which means
            the current image.
        unclear_image: The question's words for several images, or for another image that could not
            be identified; "" if there are none.
        may_concern_other_images: Whether the question might be about an image other than the
            current one.
        corrections: Pairs of a misspelt word and the word it was corrected to.
        of_view: Whether it is about what the viewports show ("what is this?").
        viewer: One line that says how the user can do in the viewer what the question asks for and
            no tool can do; "" if it asks for nothing of the kind.
        plan: The tool calls with which rules answer the question, a reply without calls, or
            `NoRule`.
    """

    question: str = ""
    scene: Scene = field(default_factory=lambda: Scene((), {}))
    kinds: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    wanted: tuple[str, ...] = ()
    only: bool = False
    in_order: bool = False
    absent: tuple[str, ...] = ()
    by_eye: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    certain: bool = False
    expects_data: bool = False
    needs_image: bool = False
    images: tuple[str, ...] = ()
    unclear_image: str = ""
    may_concern_other_images: bool = False
    corrections: tuple[tuple[str, str], ...] = ()
    of_view: bool = False
    viewer: str = ""
    plan: Decision = field(default_factory=NoRule)

    def with_eyes(self) -> Intent:
        """Return the intent for a model that sees the picture: without the tools in `by_eye`."""
        left = tuple(tool for tool in self.wanted if tool not in self.by_eye)
        return replace(self, wanted=left, absent=()) if self.by_eye else self


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """The arguments for a step that can run.

    Attributes:
        arguments: Literal values by argument.
        notes: Remarks for the user on how the values were chosen.
    """

    arguments: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockedStep:
    """A step that cannot run, with the reason for the user."""

    reason: str


def _output(message: Message, key: str) -> Any:
    rows = [row.get("output") or {} for row in results_of(message)]
    return [row[key] for row in rows if row.get(key)] or message.output.get(key)


class _Missing(Exception):
    """A source without a value; its text is the reason for the user."""


def resolve(
    step: Step, steps: Sequence[Step], results: Mapping[int, Message], scene: Scene
) -> ReadyStep | BlockedStep:
    """Return a step's arguments with each source replaced by its value, or why the step cannot run.

    `steps` is the whole plan; `results` are the results so far, by the number of the step, from 1.
    """
    if step.skip:
        return BlockedStep(step.skip)
    notes: list[str] = []
    # Images that gave nothing: lists of images and of what was made of them must agree.
    sources = (source for source in step.sources() if isinstance(source, Output))
    given = (results.get(source.step) for source in sources)
    failed = {row["image"] for one in given if one for row in results_of(one) if "error" in row}

    def value_of(value: Any) -> Any:
        if isinstance(value, list):
            found: list[Any] = []
            for item in value:
                made = value_of(item)
                # A call on many images gives a list.
                found += made if isinstance(made, list) and isinstance(item, _MADE) else [made]
            return [item for item in found if item not in failed]
        if isinstance(value, (OpenImage, Output, EarlierOutput, MissingValue)):
            return _lookup(value, steps, results, scene, notes)
        return value

    try:
        arguments = {name: value_of(value) for name, value in step.arguments.items()}
    except _Missing as missing:
        return BlockedStep(str(missing))
    return ReadyStep(arguments, tuple(notes))


def _lookup(
    source: Source,
    steps: Sequence[Step],
    results: Mapping[int, Message],
    scene: Scene,
    notes: list[str],
) -> Any:
    """Return a source's value; raise `_Missing` if there is none."""
    match source:
        case OpenImage():
            note = scene.note(source)
            if note is None:
                raise _Missing(f"{source.id} is not open" if source.id else "no image is open")
            return image_reference(note)
        case EarlierOutput(path):
            return path
        case MissingValue(what):
            raise _Missing(f"there is no {what}: no step before makes one")
        case Output(number, key, fallback):
            tool = steps[number - 1].tool
            message = results.get(number)
            if message is not None and message.ok:
                value = _output(message, key)
                if value:
                    return value
                state = f"returned no {key}"
            else:
                state = "failed" if message is not None else "was not run"
            shown = steps[number - 1].target
            note = scene.note(shown if isinstance(shown, OpenImage) else None)
            if fallback and note is not None:
                if message is not None:
                    notes.append(
                        f"{tool} {state}, so the open image was used in place of its {key}"
                    )
                return image_reference(note)
            raise _Missing(f"it needs the result of {tool}, which {state}")
