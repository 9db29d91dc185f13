"""Finds the image that a step works on, from words such as "the converted PNG"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from app.agent.image_reference import as_value, image_argument, unsuitable_image
from app.agent.llm.base import ToolSchema
from app.agent.planning.image_choice import numbered_image
from app.agent.planning.plan import (
    EarlierOutput,
    MissingValue,
    OpenImage,
    Output,
    Scene,
    Source,
    Step,
)
from app.agent.planning.vocabulary import Match, Vocabulary, tokens_of
from app.tools.pack_plan import Feed, ToolRule

_PICTURE = r"(?:dicom|image|images|png|file|scan|picture|x-?ray|radiograph|film|jpe?g)"
_OF_STEP = re.compile(
    r"\b(?P<key>\w+_path|image|output|result|picture)\s+(?:of|from)\s+step\s+(?P<step>\d{1,2})\b",
    re.IGNORECASE,
)
_OTHER_KEY = re.compile(r"\b(?!(?:image|dicom)_paths?\b)([a-z]\w*_path)s?\b", re.IGNORECASE)
_SAME = re.compile(
    rf"\b(?:same|that|this)\s+(?:one\b|{_PICTURE}\b)|\bon\s+(?:it|that|the\s+same)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    rf"\b(?:uploaded|opened|open|current|original|source|loaded|given|input|my)\s+(?:chest\s+)?"
    rf"{_PICTURE}\b",
    re.IGNORECASE,
)
_CONVERTED = re.compile(
    r"(?<!\bto )(?<!\bas )(?<!\binto )\b(?:the|that|this|its|resulting)\s+(?:resulting\s+)?png\b"
    rf"|\b(?:converted|exported|resulting)\s+(?:dicom\s+)?{_PICTURE}\b",
    re.IGNORECASE,
)
IMAGE_ID = re.compile(r"\bimage-\d+\b", re.IGNORECASE)
_IMAGE_PATH = re.compile(r"\bimage_path\b", re.IGNORECASE)


def find_target(text: str, steps: Sequence[Step], scene: Scene) -> Source | None:
    """Return the source of the image or file that a text refers to, or None if it refers to none.

    The most specific wording wins: "that same generated image" is the one generated last.
    """
    of_step = _OF_STEP.search(text)
    if of_step:
        return _step_source(int(of_step["step"]), of_step["key"], steps, scene)
    made = _picture_match(text, scene)
    if made is not None:
        return _picture_source(made, text, steps, scene)
    other = _OTHER_KEY.search(text)
    if other:
        return output_source(other.group(1).lower(), steps, scene)
    named = numbered_image(text)
    if named:
        return OpenImage(named)
    if _OPEN.search(text):
        return OpenImage()
    if _SAME.search(text):
        return next((step.target for step in reversed(steps) if step.target), OpenImage())
    if _IMAGE_PATH.search(text):
        return latest_picture(steps, scene) or OpenImage()
    return None


def _picture_match(text: str, scene: Scene) -> Match | None:
    """Return the longest match of a name that a pack gives to a tool's picture, or None."""
    found = _picture_names(scene.plans.rules()).find(tokens_of(text))
    return max(found, key=lambda match: len(match.positions), default=None)


@lru_cache(maxsize=8)
def _picture_names(rules: tuple[ToolRule, ...]) -> Vocabulary:
    return Vocabulary((rule.tool, words) for rule in rules for words in rule.made)


def _picture_source(made: Match, text: str, steps: Sequence[Step], scene: Scene) -> Source:
    rule = scene.plans.rule(made.owner)
    for number in range(len(steps), 0, -1):
        if steps[number - 1].tool == rule.tool:
            return Output(number, rule.makes, fallback=rule.converts)
    if rule.converts:
        return OpenImage()  # the converted picture shows the same
    earlier = scene.earlier_output(rule.makes, rule.tool)
    return EarlierOutput(str(earlier)) if earlier else MissingValue(made.entry)


def output_source(key: str, steps: Sequence[Step], scene: Scene) -> Source:
    """Return the source of the value under an output key: the latest step that declares the key.

    If none does, it is the latest step that declares no key at all, or else the value from an
    earlier question, or else `MissingValue`.
    """
    for known in (True, False):
        for number in range(len(steps), 0, -1):
            produced = scene.plans.rule(steps[number - 1].tool).makes
            if produced == key if known else not produced:
                return Output(number, key)
    earlier = scene.earlier_output(key)
    return EarlierOutput(str(earlier)) if earlier else MissingValue(key)


def names_converted_picture(text: str) -> bool:
    """Return whether a text refers to a converted picture ("the PNG", "the converted image")."""
    return _CONVERTED.search(text) is not None


def latest_picture(steps: Sequence[Step], scene: Scene) -> Source | None:
    """Return the source of the last picture that a step converts or generates, or None."""
    for number in range(len(steps), 0, -1):
        rule = scene.plans.rule(steps[number - 1].tool)
        if rule.makes and (rule.converts or makes_from_nothing(rule, scene)):
            return Output(number, rule.makes, fallback=rule.converts)
    return None


def makes_from_nothing(rule: ToolRule, scene: Scene) -> bool:
    """Return whether the tool of `rule` makes a picture but, by its schema, takes no image."""
    schema = scene.tools.get(rule.tool)
    return bool(rule.makes) and (schema is None or not image_argument(schema))


def default_target(tool: str, steps: Sequence[Step], scene: Scene) -> Source:
    """Return the image that a tool works on if the user names none.

    A converting tool takes the current image. Others take the earlier output that their pack names
    (`ToolRule.feeds`), else the latest converted or generated image, else the current one.
    """
    rule = scene.plans.rule(tool)
    if rule.converts:
        return OpenImage()
    schema = scene.tools.get(tool)
    slot = image_argument(schema) if schema else ""
    return (
        feeding_source(rule, slot, steps, scene, earlier=False)
        or latest_picture(steps, scene)
        or OpenImage()
    )


def feeding_source(
    rule: ToolRule, argument: str, steps: Sequence[Step], scene: Scene, *, earlier: bool = True
) -> Source | None:
    """Return the source of an argument by `rule.feeds`: an earlier output; None if there is none.

    `steps` are the steps before. If `earlier`, results of earlier questions are used as well.
    """
    feeds = [feed for feed in rule.feeds if feed.argument == argument]
    for number in range(len(steps), 0, -1):
        for feed in feeds:
            key = _output_key(feed, steps[number - 1].tool, rule.tool, scene)
            if key:
                converts = scene.plans.rule(steps[number - 1].tool).converts
                return Output(number, key, fallback=converts)
    for message in reversed(scene.earlier) if earlier else ():
        if message.role != "tool" or not message.ok:
            continue
        for feed in feeds:
            key = _output_key(feed, message.tool, rule.tool, scene)
            value = message.output.get(key) if key else None
            if value:
                return EarlierOutput(value)
    return None


def title_of(
    rule: ToolRule, argument: str, steps: Sequence[Step], scene: Scene
) -> tuple[str, str] | None:
    """Return (argument for the title, title) for the picture that `argument` takes.

    The title is the packs' word for it. None if the tool takes no title, or there is no such word.
    """
    for feed in rule.feeds:
        if feed.argument == argument and feed.title:
            tools = [step.tool for step in steps]
            tools = [*tools[::-1], *(message.tool for message in reversed(scene.earlier))]
            made = (scene.plans.rule(tool).made for tool in tools if tool != rule.tool)
            name = next((words[0] for words in made if words), "")
            return (feed.title, name.capitalize()) if name else None
    return None


def _output_key(feed: Feed, tool: str, itself: str, scene: Scene) -> str:
    """Return the output key under which `tool` provides the value for a feed, or ""."""
    if tool == itself or (feed.tools and tool not in feed.tools):
        return ""
    return feed.key or scene.plans.rule(tool).makes


def feed_arguments(
    schema: ToolSchema, arguments: Mapping[str, Any], steps: Sequence[Step], scene: Scene
) -> dict[str, Any]:
    """Return the sources of those arguments missing in `arguments` that earlier outputs provide."""
    rule = scene.plans.rule(schema.name)
    known = schema.parameters.get("properties", {})
    found: dict[str, Any] = {}
    for feed in rule.feeds:
        name = feed.argument
        if name in known and name not in arguments and name not in found:
            source = feeding_source(rule, name, steps, scene)
            if source is not None:
                found[name] = as_value(schema, name, source)
    return found


def _step_source(number: int, key: str, steps: Sequence[Step], scene: Scene) -> Source:
    if not 1 <= number <= len(steps):
        return MissingValue(f"output of step {number}")
    rule = scene.plans.rule(steps[number - 1].tool)
    wanted = key.lower() if key.lower().endswith("_path") else rule.makes or "image_path"
    return Output(number, wanted, fallback=rule.converts)


def unsuitable_reason(
    tool: str, target: Source | None, before: Sequence[Step], scene: Scene
) -> str:
    """Return why a tool must not run on its target, after the steps in `before`; "" if it may."""
    shown = shown_image(target, before)
    note = scene.note(shown) if shown is not None else None
    return unsuitable_image(scene.plans.rule(tool).accepts, note) if note is not None else ""


def shown_image(target: Source | None, before: Sequence[Step]) -> OpenImage | None:
    """Return the open image that `target` is or was made from, by a step in `before`; else None."""
    if isinstance(target, Output) and target.fallback and target.step <= len(before):
        return shown_image(before[target.step - 1].target or OpenImage(), before)
    return target if isinstance(target, OpenImage) else None
