"""Plans for questions that name tools: "Run in this order: 1) ... 2) ...", "Run X with: k=v"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.agent.image_reference import as_value, image_argument, image_arguments
from app.agent.llm.base import ToolSchema
from app.agent.planning import written_arguments
from app.agent.planning.argument_values import find_texts
from app.agent.planning.classify import read_question
from app.agent.planning.mentions import Mention, grouped, with_phrases
from app.agent.planning.plan import (
    EarlierOutput,
    MissingValue,
    OpenImage,
    Output,
    Reply,
    Scene,
    Source,
    Step,
    ToolPlan,
)
from app.agent.planning.question_text import masked
from app.agent.planning.spelling import edit_distance, near_names
from app.agent.planning.targets import (
    IMAGE_ID,
    default_target,
    feed_arguments,
    find_target,
    makes_from_nothing,
    output_source,
    unsuitable_reason,
)
from app.agent.planning.tool_choice import prerequisites
from app.tools.pack_plan import Priority, ToolRule

_CLOSING = re.compile(
    r"(?:(?<=[.;\n])|(?<=\n)|\b(?:then|finally|lastly|afterwards|and)\b,?)\s*(?:please\s+)?"
    r"\b(?:summari[sz]e|compare|explain|describe|conclude|finish|discuss|tell\s+me|comment)\b",
    re.IGNORECASE,
)
_THEN = re.compile(r"\b(?:then|afterwards|finally|lastly)\b,?\s*", re.IGNORECASE)
_ITEM = re.compile(r"(?:(?<=^)|(?<=[\n;:.,)\]\s]))(?:step\s*)?(\d{1,2})\s*[).:]\s+", re.IGNORECASE)
_STEP = re.compile(r"\bstep\s+\d", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\s*(?:then|finally|and|please|\s)*(?:summari[sz]e|compare|explain|describe|conclude|finish|"
    r"discuss|tell|comment|report\s+back)\b",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"(?<![\w.])(\w+)\s*=(?!=)\s*(?:<[^>]*>|[^\s,;]+)")
_COMPARE = re.compile(r"\b(?:compare|agree|disagreement|contrast)\b", re.IGNORECASE)


def plan_named_tools(
    question: str, scene: Scene, before: Sequence[Step], named: Sequence[Mention]
) -> ToolPlan | Reply | None:
    """Return the plan or reply for a question that names tools, or None if it names none to run.

    `named` are the mentions by name; those by a phrase are found here. The steps in `before` answer
    the rest of the question, and run first.
    """
    blank = masked(question)
    mentions = with_phrases(blank, list(named), scene.tools)
    if not before and (mentions or len(_ITEM.findall(blank)) > 1):
        mentions = _with_described_items(blank, mentions, scene)
    about = [item for item in mentions if item.about_tool and item.known]
    if about and len(about) == len(mentions):
        return Reply("\n".join(_tool_description(scene.tools[item.name]) for item in about))
    # A numbered list is followed exactly: mistakes in it are reported, not corrected.
    listed = len(_ITEM.findall(blank)) > 1
    wanted = [item for item in mentions if not item.negated and not item.about_tool]
    wanted = wanted if listed else [_with_corrected_name(item, scene) for item in wanted]
    if not wanted:
        return None
    steps: list[Step] = [*before]
    notes: list[str] = [] if before else _unknown_item_notes(question, blank, mentions)
    notes += [
        f'I read "{blank[item.start : item.end]}" as {item.name}.'
        for item in wanted
        if item not in mentions
    ]
    groups = grouped(blank, wanted)
    numbered = _STEP.search(blank) is not None  # added steps would shift the numbers
    for index, group in enumerate(groups):
        limit = groups[index + 1][0].start if index + 1 < len(groups) else len(question)
        start, end = group[-1].end, _clause_end(blank, group[-1].end, limit)
        # "In the red channel, count the cells": the words before the first tool concern it as well.
        lead = slice(_sentence_start(blank, group[0].start), group[0].start)
        for mention in group:
            clause = (question[start:end], blank[start:end])
            if index == 0:
                clause = (f"{clause[0]} ; {question[lead]}", f"{clause[1]} ; {blank[lead]}")
            if not numbered:
                _add_prerequisites(mention, clause, steps, scene)
            spelt = "_" in blank[mention.start : mention.end]
            whole = None if spelt else (question, blank) if len(wanted) == 1 else clause
            steps.append(_step(mention, clause, steps, scene, notes, whole))
    lacking = [step for step in steps if step.skip.startswith(written_arguments.NEEDS_PREFIX)]
    if len(lacking) == len(steps):
        return Reply(" ".join(f"I did not run {step.tool}: {step.skip}" for step in lacking))
    topics = {"explicit"} | ({"compare"} if _COMPARE.search(blank) else set())
    return ToolPlan(tuple(steps), frozenset(topics), tuple(notes))


def _with_corrected_name(mention: Mention, scene: Scene) -> Mention:
    """Return the mention with a misspelt name corrected, if only one tool's name is similar."""
    if mention.known:
        return mention
    written = mention.name.lower()
    near = [name for name in scene.tools if edit_distance(written, name.lower(), most=2) <= 2]
    return replace(mention, name=near[0], known=True) if len(near) == 1 else mention


def _exclusion_reason(rule: ToolRule) -> str:
    never = rule.priority == Priority.EXCLUDED
    return "its pack says that it is not to be run for a question" if never else ""


def _add_prerequisites(
    mention: Mention, clause: tuple[str, str], steps: list[Step], scene: Scene
) -> None:
    """Append steps for the tools that this one requires and that have not run yet."""
    for tool in prerequisites(mention.name, [step.tool for step in steps], scene):
        needed = Mention(tool, mention.start, mention.start, known=True)
        step = _step(needed, clause, steps, scene, [])
        steps.append(replace(step, why=f"{mention.name} needs it"))


def _step(
    mention: Mention,
    clause: tuple[str, str],
    before: Sequence[Step],
    scene: Scene,
    notes: list[str],
    whole: tuple[str, str] | None = None,
) -> Step:
    """Return a step for a tool that the question names.

    `clause` is the text about the tool, as written and with the contents of quoted strings blanked;
    `whole` is, in the same two forms, the request to a tool that is named in plain words. `notes`
    receives remarks for the user.
    """
    text, blank = clause
    target = _target(mention.name, text, blank, before, scene)
    rule = scene.plans.rule(mention.name)
    if isinstance(target, MissingValue) and target.what in (rule.makes, *rule.made):
        target = None  # in "run a, then b on what a makes" the picture is for b
    if makes_from_nothing(rule, scene):
        target = Output(len(before) + 1, rule.makes)
    schema = scene.tools.get(mention.name)
    if schema is None:
        near = near_names(mention.name, list(scene.tools), likeness=0.8)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return Step(mention.name, skip=f"there is no such tool here{hint}", target=target)
    arguments, remarks = written_arguments.read_arguments(schema, text, blank, before, scene)
    notes.extend(remarks)
    if whole is not None:
        arguments = find_texts(rule, whole[1], whole[0]) | arguments
    slot = image_argument(schema)
    if slot and slot not in arguments and _needs_target(schema, slot, target, scene):
        target = target or default_target(mention.name, before, scene)
        arguments = {slot: as_value(schema, slot, target), **arguments}
    arguments |= feed_arguments(schema, arguments, before, scene)
    _set_files(schema, blank, arguments, before, scene)
    found = _first_source(arguments, slot) if slot else None
    target = found or target
    skip = _exclusion_reason(rule)
    if whole is not None or not rule.accepts.asks:
        skip = skip or unsuitable_reason(mention.name, target, before, scene)
    skip = skip or written_arguments.missing_arguments(schema, arguments, scene.plans)
    return Step(mention.name, arguments, "as you asked", skip, target)


def _set_files(
    schema: ToolSchema, blank: str, arguments: dict[str, Any], before: Sequence[Step], scene: Scene
) -> None:
    """Set the images of a tool that needs several: the named ones, or those from earlier steps.

    Files of other kinds (masks, tables) come from earlier steps only, by the name of the output.
    """
    needed = schema.parameters.get("required", ())
    names = [name for name in image_arguments(schema) if name in needed]
    named = list(dict.fromkeys(match.lower() for match in IMAGE_ID.findall(blank)))
    if len(names) > 1 and len(named) == len(names):
        arguments.update({name: OpenImage(one) for name, one in zip(names, named, strict=True)})
    made = [name for name in needed if name not in names and name.endswith(("_path", "_paths"))]
    for name in [*(names if len(names) > 1 else ()), *made]:
        source = output_source(name, before, scene) if name not in arguments else MissingValue(name)
        if not isinstance(source, MissingValue):
            arguments[name] = source


def _target(
    tool: str, text: str, blank: str, before: Sequence[Step], scene: Scene
) -> Source | None:
    """Return the source that a clause names for a tool, or its default; None for no image."""
    schema = scene.tools.get(tool)
    slot = image_argument(schema) if schema else ""
    # A value assigned to another argument is not the image that the tool works on.
    blank = _ASSIGNED.sub(lambda m: m.group() if m.group(1).lower() == slot else " ", blank)
    outside = written_arguments.ASSIGNMENT.split(blank)[0] if "=" in blank else blank
    found = find_target(outside, before, scene) or find_target(blank, before, scene)
    if found is not None:
        return found
    quoted = re.search(r"\bon\s+[\"']([^\"']+)[\"']", text)
    if quoted:
        return EarlierOutput(quoted.group(1))
    path = re.search(r"\bon\s+(?:the\s+file\s+)?([^\s,;]*[/\\.][^\s,;]*[^\s,;.])", blank)
    if path:
        return EarlierOutput(path.group(1))
    takes_none = schema is not None and not slot
    return None if takes_none else default_target(tool, before, scene)


def _needs_target(schema: ToolSchema, name: str, target: Source | None, scene: Scene) -> bool:
    """Return whether to set an image argument; an optional one only if there is an image for it."""
    if name in schema.parameters.get("required", ()):
        return True
    if isinstance(target, OpenImage) and not scene.images:
        return False
    return target is not None or name.startswith("image_path")


def _first_source(arguments: dict[str, Any], slot: str) -> Source | None:
    value = arguments.get(slot)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, (OpenImage, Output, EarlierOutput)):
        return first
    return EarlierOutput(first) if isinstance(first, str) and first else None


def _sentence_start(blank: str, position: int) -> int:
    return max(blank.rfind(mark, 0, position) for mark in ".?!;\n") + 1


def _clause_end(blank: str, start: int, limit: int) -> int:
    """Return where the clause about a tool ends, at most `limit`."""
    ends = [
        found.start() for rule in (_CLOSING, _THEN) if (found := rule.search(blank, start, limit))
    ]
    return min(ends, default=limit)


def _list_items(blank: str) -> list[tuple[str, int, int]]:
    """Return list items, or the texts after each "then", as (label, start, end)."""
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


def _with_described_items(blank: str, mentions: list[Mention], scene: Scene) -> list[Mention]:
    """Return the mentions with one for each list item that only describes its tool."""
    added = list(mentions)
    for _, start, end in _list_items(blank):
        item = blank[start:end]
        if any(start <= mention.start < end for mention in mentions) or _SUMMARY.match(item):
            continue
        asked = read_question(item, scene.plans, scene.tools).intent
        already = {mention.name for mention in added if mention.start < start}
        tools = [tool for tool in asked.wanted if tool not in already] or asked.wanted[-1:]
        # Steps follow the numbers, wherever the words stand within the item.
        added += [Mention(tool, start, start, known=True) for tool in tools]
    return sorted(added, key=lambda mention: mention.start)


def _unknown_item_notes(question: str, blank: str, mentions: list[Mention]) -> list[str]:
    return [
        f'{label}"{" ".join(question[start:end].split()).rstrip(" .")[:80]}" names no tool that I '
        "know: left out."
        for label, start, end in _list_items(blank)
        if not any(start <= mention.start < end for mention in mentions)
        and not _SUMMARY.match(blank[start:end])
    ]


def _tool_description(schema: ToolSchema) -> str:
    names = ", ".join(schema.parameters.get("properties", {})) or "none"
    return f"**{schema.name}**: {schema.description} Arguments: {names}."
