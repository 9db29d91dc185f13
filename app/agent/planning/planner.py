"""The offline planner: from a question to tool calls by rules, without a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.agent.llm.base import ToolSchema
from app.agent.planning.explicit import read_explicit
from app.agent.planning.mentions import Mention, find_mentions, with_phrases, without_phrases
from app.agent.planning.natural import no_image_text, read_natural
from app.agent.planning.steps import (
    Absent,
    Decision,
    Earlier,
    OpenImage,
    Output,
    Reply,
    Scene,
    Step,
    Steps,
    path_of,
)
from app.agent.planning.text import MAX_QUESTION, masked, normalised
from app.agent.planning.which import Which, about, certain_of_image, which_image
from app.tools.api import Tool
from app.tools.planning import NO_PLANS, AnyOf, Plans


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that would be made; `<image_path of step 1>` stands for what is not known yet."""

    step: int
    tool: str
    arguments: dict[str, Any]
    why: str


def decide(question: str, scene: Scene) -> Decision:
    """What to do about a question: run steps, answer at once, or admit that no rule matches."""
    text = normalised(question)
    which = which_image(text, scene.images)
    scene = about(scene, which)
    return certain_of_image(_decide(question, text, which, scene), which, scene)


def _decide(question: str, text: str, which: Which, scene: Scene) -> Decision:
    blank = masked(text)
    mentions = find_mentions(blank, scene.tools)
    plain = scene
    scene = replace(scene, tools=_with_phrases(scene))
    rest = without_phrases(blank, scene.tools) if not mentions else None
    # What is said besides a tool's phrase may be for the rules: "count the cells and show it".
    besides = (
        read_natural(rest, scene, image=which_image(rest, scene.images).one)
        if rest is not None
        else None
    )
    before = besides.steps if isinstance(besides, Steps) else ()
    explicit = read_explicit(text, scene, before)
    if explicit is None:
        said = with_phrases(blank, mentions, scene.tools)
        denied = {item.name for item in said if item.negated}
        return read_natural(blank, plain, denied, image=which.one, text=text)
    wider = _in_words(blank, text, mentions, explicit, scene, which.one)
    if wider is not None:
        return wider
    if isinstance(explicit, Steps) and not scene.images and _needs_image(explicit):
        return Reply(no_image_text())
    if isinstance(explicit, Steps) and len(question) > MAX_QUESTION:
        cut = f"Only the first {MAX_QUESTION:,} characters of the question were read."
        explicit = replace(explicit, notes=(cut, *explicit.notes))
    if isinstance(explicit, Steps) and isinstance(besides, Steps):
        return replace(explicit, topics=explicit.topics | besides.topics)
    return explicit


def _with_phrases(scene: Scene) -> Mapping[str, ToolSchema]:
    """The tools, those without their phrases whose pack says by which words they are asked for."""
    planned = {
        name
        for _, kind in scene.plans.kinds()
        for need in kind.tools
        for name in (need.tools if isinstance(need, AnyOf) else (need,))
    }
    return {
        name: replace(tool, phrases=()) if name in planned else tool
        for name, tool in scene.tools.items()
    }


def _in_words(
    blank: str,
    text: str,
    mentions: Sequence[Mention],
    explicit: Decision,
    scene: Scene,
    image: str,
) -> Steps | None:
    """The plan of a plain question where it only happens to say a tool's name in words.

    "Measure the cardiothoracic ratio and outline the heart" asks for more than that tool.
    """
    spelt = any("_" in blank[item.start : item.end] or "-" in item.name for item in mentions)
    if spelt or not mentions or not isinstance(explicit, Steps):
        return None
    denied = {item.name for item in mentions if item.negated}
    natural = read_natural(blank, scene, denied, image=image, text=text)
    named = {step.tool for step in explicit.steps}
    if isinstance(natural, Steps) and named < {step.tool for step in natural.steps}:
        return natural
    return None


def plan_only(
    question: str,
    image_notes: Sequence[Mapping[str, Any]],
    tools: Sequence[Tool] | Sequence[ToolSchema],
    plans: Plans = NO_PLANS,
) -> list[PlannedCall]:
    """The calls that `decide` plans, none of them run; steps that cannot run are left out."""
    schemas = [tool if isinstance(tool, ToolSchema) else schema_of(tool) for tool in tools]
    named = {schema.name: schema for schema in schemas}
    scene = Scene(tuple(image_notes), named, plans=plans)
    decision = decide(question, scene)
    if not isinstance(decision, Steps):
        return []
    numbers: dict[int, int] = {}
    calls: list[PlannedCall] = []
    for index, step in enumerate(decision.steps, start=1):
        arguments = _shown(step, numbers, scene)
        if arguments is not None:
            numbers[index] = len(calls) + 1
            calls.append(PlannedCall(len(calls) + 1, step.tool, arguments, step.why))
    return calls


def schema_of(tool: Tool) -> ToolSchema:
    """A tool as the model sees it."""
    spec = tool.spec
    return ToolSchema(spec.name, spec.description, spec.Input.model_json_schema(), spec.phrases)


def _needs_image(plan: Steps) -> bool:
    """Whether no step can run without an open image."""
    runnable = [step for step in plan.steps if not step.skip]
    first = runnable[0] if runnable else None
    return first is not None and any(isinstance(item, OpenImage) for item in first.sources())


def _shown(step: Step, numbers: Mapping[int, int], scene: Scene) -> dict[str, Any] | None:
    """The step's arguments for display, or None when it cannot run."""
    if step.skip:
        return None
    shown: dict[str, Any] = {}
    for name, value in step.arguments.items():
        items = [_shown_value(item, numbers, scene) for item in _as_list(value)]
        if None in items and value is not None:
            return None
        shown[name] = items if isinstance(value, list) else items[0]
    return shown


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _shown_value(value: Any, numbers: Mapping[int, int], scene: Scene) -> Any:
    match value:
        case OpenImage():
            note = scene.note(value)
            return path_of(note) if note else None
        case Output(step, key, fallback):
            if step in numbers:
                return f"<{key} of step {numbers[step]}>"
            note = scene.note() if fallback else None
            return path_of(note) if note else None
        case Earlier(path):
            return path
        case Absent():
            return None
        case _:
            return value
