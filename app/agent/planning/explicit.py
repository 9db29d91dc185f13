"""Questions that name tools: "Run tools in this order: 1) ... 2) ...", "Run X with: key=value"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from app.agent.execute import near_names
from app.agent.llm.base import ToolSchema
from app.agent.planning.mentions import Mention, find_mentions, grouped
from app.agent.planning.organs import find_organs
from app.agent.planning.steps import (
    CHEST_TOOLS,
    DICOM,
    GENERATOR,
    Earlier,
    OpenImage,
    Output,
    Reply,
    Scene,
    Source,
    Step,
    Steps,
    image_argument,
    is_dicom,
    not_chest,
)
from app.agent.planning.targets import default_target, find_target
from app.agent.planning.text import masked, read_value

_CLOSING = re.compile(
    r"(?:(?<=[.;\n])|(?<=\n)|\b(?:then|finally|lastly|afterwards|and)\b,?)\s*(?:please\s+)?"
    r"\b(?:summari[sz]e|compare|explain|describe|conclude|finish|discuss|tell\s+me|comment)\b",
    re.IGNORECASE,
)
_THEN = re.compile(r"\b(?:then|afterwards|finally|lastly)\b,?\s*", re.IGNORECASE)
_ITEM = re.compile(r"(?:(?<=^)|(?<=[\n;:.,)\]\s]))(?:step\s*)?(\d{1,2})\s*[).:]\s+", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\s*(?:then|finally|and|please|\s)*(?:summari[sz]e|compare|explain|describe|conclude|finish|"
    r"discuss|tell|comment|report\s+back)\b",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*=(?!=)")
_COMPARE = re.compile(r"\b(?:compare|agree|disagreement|contrast)\b", re.IGNORECASE)

_NO_VALUES = frozenset(("and", "or", "on", "for", "with", "then", "the", "a", "of", "to", "in"))

# Steps of a numbered list that describe what to do instead of naming the tool.
_DESCRIBED: tuple[tuple[str, str], ...] = (
    (r"convert\w*|dicom", DICOM),
    (r"classif\w*", "chest_xray_classifier"),
    (r"segment\w*|outline\w*", "chest_xray_segmentation"),
    (r"cardiothoracic|ctr|heart\s+size", "cardiothoracic_ratio"),
    (r"report", "chest_xray_report_generator"),
    (r"visuali[sz]\w*|show|display", "image_visualizer"),
)


def read_explicit(question: str, scene: Scene) -> Steps | Reply | None:
    """The steps of a question that names tools, or None when it names none.

    Args:
        question: Normalised text.
        scene: Images, tools and earlier results.
    """
    blank = masked(question)
    mentions = find_mentions(blank, scene.tools)
    if mentions or len(_ITEM.findall(blank)) > 1:
        mentions = _with_described(blank, mentions, scene)
    about = [item for item in mentions if item.about and item.known]
    if about and len(about) == len(mentions):
        return Reply("\n".join(_about(scene.tools[item.name]) for item in about))
    wanted = [item for item in mentions if not item.negated and not item.about]
    if not wanted:
        return None
    steps: list[Step] = []
    notes: list[str] = [*_not_understood(question, blank, mentions)]
    groups = grouped(blank, wanted)
    for index, group in enumerate(groups):
        limit = groups[index + 1][0].start if index + 1 < len(groups) else len(question)
        start, end = group[-1].end, _clause_end(blank, group[-1].end, limit)
        for mention in group:
            clause = (question[start:end], blank[start:end])
            steps.append(_step(mention, clause, steps, scene, notes))
    topics = {"explicit"} | ({"compare"} if _COMPARE.search(blank) else set())
    return Steps(tuple(steps), frozenset(topics), tuple(notes))


def _step(
    mention: Mention,
    clause: tuple[str, str],
    before: Sequence[Step],
    scene: Scene,
    notes: list[str],
) -> Step:
    text, blank = clause
    target = _target(mention.name, text, blank, before, scene)
    if mention.name == GENERATOR:
        target = Output(len(before) + 1, "image_path")
    schema = scene.tools.get(mention.name)
    if schema is None:
        near = near_names(mention.name, list(scene.tools), likeness=0.8)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return Step(mention.name, skip=f"there is no such tool here{hint}", target=target)
    arguments, unknown = _arguments(schema, text, blank, before, scene)
    if unknown:
        notes.append(f"{mention.name} has no argument {', '.join(unknown)}: left out.")
    slot = image_argument(schema)
    if slot and slot not in arguments and (target is not None or _required(schema, slot)):
        target = target or default_target(mention.name, before)
        arguments = {slot: [target] if slot.endswith("s") else target, **arguments}
    found = _first_source(arguments, slot) if slot else None
    target = found or target
    skip = unsuitable(mention.name, target, before, scene)
    return Step(mention.name, arguments, "as you asked", skip, target)


def unsuitable(tool: str, target: Source | None, before: Sequence[Step], scene: Scene) -> str:
    """Why a tool must not be run on that image, or ""."""
    shown = _shown_image(target, before)
    note = scene.note(shown) if shown is not None else None
    if note is None:
        return ""
    if tool in CHEST_TOOLS:
        reason = not_chest(note)
        return f"{reason}; this tool is for chest radiographs only" if reason else ""
    if tool == DICOM and not is_dicom(note):
        return f"{note.get('id') or 'the open image'} is a picture, not DICOM; it is used as it is"
    return ""


def _shown_image(target: Source | None, before: Sequence[Step]) -> OpenImage | None:
    """The open image that a target shows, directly or converted."""
    if isinstance(target, Output) and target.fallback and target.step <= len(before):
        return _shown_image(before[target.step - 1].target or OpenImage(), before)
    return target if isinstance(target, OpenImage) else None


def _target(
    tool: str, text: str, blank: str, before: Sequence[Step], scene: Scene
) -> Source | None:
    outside = _ASSIGNMENT.split(blank)[0] if "=" in blank else blank
    found = find_target(outside, before, scene) or find_target(blank, before, scene)
    if found is not None:
        return found
    quoted = re.search(r"\bon\s+[\"']([^\"']+)[\"']", text)
    if quoted:
        return Earlier(quoted.group(1))
    path = re.search(r"\bon\s+(?:the\s+file\s+)?([^\s,;]*[/\\.][^\s,;]*[^\s,;.])", blank)
    if path:
        return Earlier(path.group(1))
    return None if image_argument_missing(tool, scene) else default_target(tool, before)


def image_argument_missing(tool: str, scene: Scene) -> bool:
    """Whether a known tool takes no image."""
    schema = scene.tools.get(tool)
    return schema is not None and not image_argument(schema)


def _arguments(
    schema: ToolSchema, text: str, blank: str, before: Sequence[Step], scene: Scene
) -> tuple[dict[str, Any], list[str]]:
    properties: dict[str, Any] = schema.parameters.get("properties", {})
    found: dict[str, Any] = {}
    unknown: list[str] = []
    for match in _ASSIGNMENT.finditer(blank):
        value = read_value(text[match.end() :])
        name = _property(match.group(1), properties)
        if name is None:
            unknown.append(match.group(1))
        elif value is not None:
            found[name] = _given(name, value, before, scene)
    for name in properties:
        if name not in found and not name.endswith(("_path", "_paths")):
            value = _worded(name, text, blank)
            if value is not None:
                found[name] = value
    if "organs" in properties and not isinstance(found.get("organs", []), list):
        found["organs"] = [found["organs"]]
    if "organs" in properties and "organs" not in found:
        organs = find_organs(blank)
        if organs:
            found["organs"] = organs
    return found, unknown


def _given(name: str, value: tuple[Any, str], before: Sequence[Step], scene: Scene) -> Any:
    """An assigned value.

    For an image argument, words such as <uploaded image path> are a source; anything else is the
    path or id that was written.
    """
    parsed, source = value
    if not name.endswith(("_path", "_paths")):
        return parsed
    target = find_target(source.strip("<>[]"), before, scene)
    if target is None:
        return parsed
    return [target] if name.endswith("s") else target


def _worded(name: str, text: str, blank: str) -> Any | None:
    """A value given in words: title "Overlay", for organs [...], cmap: gray."""
    words = name.replace("_", r"[_\s]")
    for match in re.finditer(rf"(?<!\w){words}(?!\w)\s*(?:named|called|of|to|:)?\s*", blank, re.I):
        rest = text[match.end() :]
        if rest[:1] in ('"', "'", "[", "(") or match.group().rstrip().endswith(":"):
            value = read_value(rest)
            if value is not None and not (name == "organs" and rest[:1] not in ("[", '"', "'")):
                return value[0]
        number = re.match(r"[-+]?\d+(?:\.\d+)?(?![\w).])", rest)
        if number:
            return float(number.group()) if "." in number.group() else int(number.group())
        # A bare word only where it is clearly given: "with title Overlay and cmap gray".
        given = re.search(r"(?:\bwith|\band|,)\s*(?:a|the)?\s*$", blank[: match.start()], re.I)
        word = re.match(r"[A-Za-z][\w-]*", rest)
        if given and word and name != "organs" and word.group().lower() not in _NO_VALUES:
            return word.group()
    return None


def _property(written: str, properties: dict[str, Any]) -> str | None:
    if written in properties:
        return written
    return next((name for name in properties if name.lower() == written.lower()), None)


def _required(schema: ToolSchema, name: str) -> bool:
    return name in schema.parameters.get("required", ()) or name.startswith("image_path")


def _first_source(arguments: dict[str, Any], slot: str) -> Source | None:
    value = arguments.get(slot)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, (OpenImage, Output, Earlier)):
        return first
    return Earlier(first) if isinstance(first, str) and first else None


def _clause_end(blank: str, start: int, limit: int) -> int:
    ends = [
        found.start() for rule in (_CLOSING, _THEN) if (found := rule.search(blank, start, limit))
    ]
    return min(ends, default=limit)


def _items(blank: str) -> list[tuple[str, int, int]]:
    """The numbered items as ("Step 1", start, end); without numbers what follows each "then"."""
    marks = list(_ITEM.finditer(blank))
    if len(marks) < 2:
        marks = list(_THEN.finditer(blank))
    ends = [mark.start() for mark in marks[1:]] + [len(blank)] if marks else []
    return [
        (
            f"Step {mark.group(1)} " if mark.re is _ITEM else "",
            mark.end(),
            _clause_end(blank, mark.end(), end),
        )
        for mark, end in zip(marks, ends, strict=True)
        if blank[mark.end() : end].strip()
    ]


def _with_described(blank: str, mentions: list[Mention], scene: Scene) -> list[Mention]:
    """Adds the items of a numbered list that say what to do without naming the tool."""
    added = list(mentions)
    for _, start, end in _items(blank):
        item = blank[start:end]
        if any(start <= mention.start < end for mention in mentions) or _SUMMARY.match(item):
            continue
        for pattern, tool in _DESCRIBED:
            match = re.search(rf"(?<!\w)(?:{pattern})(?!\w)", item, re.IGNORECASE)
            if match and tool in scene.tools:
                at = start + match.start()
                added.append(Mention(tool, at, start + match.end(), known=True))
                break
    return sorted(added, key=lambda mention: mention.start)


def _not_understood(question: str, blank: str, mentions: list[Mention]) -> list[str]:
    return [
        f'{label}"{" ".join(question[start:end].split()).rstrip(" .")[:80]}" names no tool that I '
        "know: left out."
        for label, start, end in _items(blank)
        if not any(start <= mention.start < end for mention in mentions)
        and not _SUMMARY.match(blank[start:end])
    ]


def _about(schema: ToolSchema) -> str:
    names = ", ".join(schema.parameters.get("properties", {})) or "none"
    return f"**{schema.name}**: {schema.description} Arguments: {names}."
