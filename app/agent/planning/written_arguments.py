"""Reads arguments that a question spells out (`key=value`, lists, ...), by the tools' schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from app.agent.image_reference import image_arguments, made_arguments, made_by
from app.agent.llm.base import ToolSchema
from app.agent.planning.argument_values import as_argument, find_numbers, find_values
from app.agent.planning.classify import words_in
from app.agent.planning.plan import Scene, Step
from app.agent.planning.question_text import read_value
from app.agent.planning.targets import find_target
from app.tools.pack_plan import NO_PLANS, Plans

NEEDS_PREFIX = "it still needs"
"""Start of the message for a tool that needs more arguments than the question gives."""
ASSIGNMENT = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*=(?!=)")

_NO_VALUES = frozenset(("and", "or", "on", "for", "with", "then", "the", "a", "of", "to", "in"))
# Options that are also ordinary words, so that their presence in a sentence means nothing.
_COMMON = _NO_VALUES | {
    *("all", "any", "auto", "default", "image", "it", "no", "none", "off", "one", "this", "yes"),
}
# A number by itself: not a step's number, and not part of a path, a ratio or a word.
_NUMBER = re.compile(r"(?<!step )(?<![\w./\\:-])-?\d+(?:\.\d+)?(?![\w/\\.)]*[\w/\\)])")
_STRING = re.compile(r"\"[^\"]*\"|(?<=[\s=(\[,:])'[^'\n]*'(?=[\s,.;)\]?!]|$)")
_YES = r"on|yes|true|enabled"
_NO = r"off|no|false|disabled"


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument that a tool takes.

    Attributes:
        kind: Its JSON type; "" if there are several or none.
        options: Its allowed values; () if the schema does not list them.
        items: The allowed values of a list's items; () if the schema does not list them.
        required: Whether a call without it is refused.
    """

    name: str
    kind: str
    options: tuple[Any, ...]
    items: tuple[Any, ...]
    required: bool
    description: str


def slots_of(schema: ToolSchema) -> list[Slot]:
    """Return the arguments that a tool takes."""
    parameters = schema.parameters
    needed = parameters.get("required", ())
    found: list[Slot] = []
    for name, field in parameters.get("properties", {}).items():
        node = _resolved_schema(field, parameters)
        kind = node.get("type")
        items = _resolved_schema(node.get("items") or {}, parameters) if kind == "array" else {}
        found.append(
            Slot(
                name,
                kind if isinstance(kind, str) else "",
                _options(node),
                _options(items),
                name in needed,
                str(field.get("description") or ""),
            )
        )
    return found


def read_arguments(
    schema: ToolSchema, text: str, blank: str, before: Sequence[Step], scene: Scene
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments that a clause gives for a tool, and remarks for the user.

    The remarks are about unknown and ambiguous arguments. `text` is the clause, `blank` the same
    clause with quoted contents blanked; `before` are the plan's steps before this one.
    """
    properties: dict[str, Any] = schema.parameters.get("properties", {})
    found: dict[str, Any] = {}
    unknown: list[str] = []
    notes: list[str] = []
    for match in ASSIGNMENT.finditer(blank):
        value = read_value(text[match.end() :])
        name = _property_name(match.group(1), properties)
        if name is None:
            unknown.append(match.group(1))
        elif value is not None:
            found[name] = _assigned_value(name, value, before, scene)
    if unknown:
        notes.append(f"{schema.name} has no argument {', '.join(unknown)}: left out.")
    images = image_arguments(schema)
    for slot in slots_of(schema):
        if slot.name in found or slot.name in images:
            continue
        named = _options_in(slot.options, blank)
        if len(named) > 1:
            choice = " or ".join(map(str, named))
            notes.append(f"{schema.name}: {slot.name} may be {choice}, so I left it out.")
            continue
        value = _worded_value(slot, text, blank)
        value = (
            _unnamed_value(slot, named, blank) if value is None else _converted_value(slot, value)
        )
        if value is not None:
            found[slot.name] = value
    _add_pack_values(schema, blank, found, scene)
    _add_lone_values(schema, text, blank, found)
    return found, notes


def _add_pack_values(schema: ToolSchema, blank: str, found: dict[str, Any], scene: Scene) -> None:
    """Add the values that the pack's words and numbers name: "collarbones", "window 40/400"."""
    rule = scene.plans.rule(schema.name)
    if not (rule.values or rule.numbers or rule.dates):
        return
    tokens, denied = words_in(blank, scene.plans)
    for name, values in find_values(rule, tokens, denied).items():
        if name in found and not isinstance(found[name], list):
            found[name] = [found[name]]
        field = schema.parameters.get("properties", {}).get(name)
        if values and field is not None:
            found.setdefault(name, as_argument(values, field))
    for name, number in find_numbers(rule, blank, schema).items():
        found.setdefault(name, number)


def missing_arguments(
    schema: ToolSchema, arguments: Mapping[str, Any], plans: Plans = NO_PLANS
) -> str:
    """Return a message on what a call still needs and how to write it; "" if nothing is missing."""
    missing = [slot for slot in slots_of(schema) if slot.required and slot.name not in arguments]
    if not missing:
        return ""
    kinds = made_arguments(schema)
    needed = "; ".join(
        f"**{slot.name}** ({made_by(schema.name, slot.name, kinds[slot.name], plans)})"
        if slot.name in kinds
        else f"**{slot.name}**{_slot_hint(slot)}"
        for slot in missing
    )
    images = image_arguments(schema)
    examples = ", ".join(
        f"{slot.name}=image-{images.index(slot.name) + 1}"
        if slot.name in images
        else f"{slot.name}={_example(slot)}"
        for slot in missing
        if slot.name not in kinds
    )
    told = f"{NEEDS_PREFIX} {needed}"
    return f"{told}. Write for example: Run {schema.name} with: {examples}" if examples else told


def _example(slot: Slot) -> str:
    options = slot.options or slot.items
    if options:
        value = f'"{options[0]}"' if isinstance(options[0], str) else str(options[0]).lower()
        return f"[{value}]" if slot.items else value
    shown = {"integer": "1", "number": "0.5", "boolean": "true", "array": "[...]"}
    return shown.get(slot.kind, '"..."')


def _slot_hint(slot: Slot) -> str:
    """Return an argument's description and options in brackets."""
    about = [slot.description.rstrip(".")] if slot.description else []
    options = slot.options or slot.items
    if options:
        about.append(f"one of {', '.join(map(str, options))}")
    return f" ({'; '.join(about)})" if about else ""


def _add_lone_values(schema: ToolSchema, text: str, blank: str, found: dict[str, Any]) -> None:
    """Assign a lone number or quotation to the only argument that still needs such a value."""
    images = image_arguments(schema)
    free = [
        slot
        for slot in slots_of(schema)
        if slot.required and slot.name not in found and slot.name not in images
        if not (slot.options or slot.items)
    ]
    numeric = [slot for slot in free if slot.kind in ("integer", "number")]
    texts = [slot for slot in free if slot.kind == "string"]
    outside = ASSIGNMENT.split(blank)[0]
    numbers = _NUMBER.findall(outside)
    if len(numeric) == 1 and len(numbers) == 1:
        value = _converted_value(numeric[0], float(numbers[0]))
        if value is not None:
            found[numeric[0].name] = value
    quoted = [match.group()[1:-1] for match in _STRING.finditer(text[: len(outside)])]
    if len(texts) == 1 and len(quoted) == 1 and quoted[0].strip():
        found[texts[0].name] = quoted[0]


def _assigned_value(name: str, value: tuple[Any, str], before: Sequence[Step], scene: Scene) -> Any:
    """Return the value written after "=".

    For an image argument, words such as <uploaded image path> are a source; any other value is the
    path or id as written.
    """
    parsed, source = value
    if not name.endswith(("_path", "_paths")):
        return parsed
    target = find_target(source.strip("<>[]"), before, scene)
    if target is None:
        return parsed
    return [target] if name.endswith("s") else target


def _worded_value(slot: Slot, text: str, blank: str) -> Any | None:
    """Return a value given in words: title "Overlay", for organs [...], cmap: gray."""
    name, listed = slot.name, slot.kind == "array"
    words = name.replace("_", r"[_\s]")
    for match in re.finditer(rf"(?<!\w){words}(?!\w)\s*(?:named|called|of|to|:)?\s*", blank, re.I):
        rest = text[match.end() :]
        if rest[:1] in ('"', "'", "[", "(") or match.group().rstrip().endswith(":"):
            value = read_value(rest)
            if value is not None and not (listed and rest[:1] not in ("[", '"', "'")):
                return value[0]
        number = re.match(r"[-+]?\d+(?:\.\d+)?(?![\w).])", rest)
        if number:
            return float(number.group()) if "." in number.group() else int(number.group())
        # An unquoted word counts only after "with" or "and": "with title Overlay and cmap gray".
        given = re.search(r"(?:\bwith|\band|,)\s*(?:a|the)?\s*$", blank[: match.start()], re.I)
        word = re.match(r"[A-Za-z][\w-]*", rest)
        if given and word and not listed and word.group().lower() not in _NO_VALUES:
            return word.group()
    return None


def _unnamed_value(slot: Slot, named: Sequence[Any], blank: str) -> Any | None:
    """Return a value written without the argument's name: an option, or a switch's state."""
    if slot.kind == "boolean":
        return _switch_value(slot, blank)
    if slot.items:
        return _options_in(slot.items, blank) or None
    return named[0] if named else None


def _options_in(options: Sequence[Any], blank: str) -> list[Any]:
    """Return the options that occur in the text, in its order; a longer one wins over its parts."""
    found: list[tuple[int, int, Any]] = []
    words = [item for item in options if isinstance(item, str) and item.lower() not in _COMMON]
    for option in sorted(words, key=len, reverse=True):
        pattern = r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", option)))
        match = (
            re.search(rf"(?<![\w=]){pattern}(?![\w=])", blank, re.IGNORECASE) if option else None
        )
        if match and not any(
            start < match.end() and match.start() < end for start, end, _ in found
        ):
            found.append((match.start(), match.end(), option))
    return [option for _, _, option in sorted(found, key=lambda item: item[0])]


def _switch_value(slot: Slot, blank: str) -> bool | None:
    """Return whether a switch is turned on or off; None if neither or both are said."""
    words = re.sub(r"^(?:with|show|draw|use|include)_", "", slot.name).replace("_", r"[\s_-]+")
    article = r"(?:the\s+|an?\s+|any\s+)?"
    yes = rf"\b(?:with|including|plus)\s+{article}{words}\b|\b{words}\s+(?:is\s+)?(?:{_YES})\b"
    no = (
        rf"\b(?:without|no|not|skip|omit|excluding|hide)\s+{article}{words}\b"
        rf"|\b{words}\s+(?:is\s+)?(?:{_NO})\b"
    )
    wanted, refused = (re.search(rule, blank, re.IGNORECASE) is not None for rule in (yes, no))
    return wanted if wanted != refused else None


def _converted_value(slot: Slot, value: Any) -> Any | None:
    if slot.options:
        for option in slot.options:
            if isinstance(option, str) and option.lower() == str(value).lower():
                return option
        return value
    if slot.kind == "string" and isinstance(value, (int, float)):
        return str(value)
    if slot.kind == "integer" and isinstance(value, float):
        return int(value) if value.is_integer() else None
    if slot.kind == "boolean" and isinstance(value, str):
        word = value.lower()
        switch = re.fullmatch(_YES, word), re.fullmatch(_NO, word)
        return None if not any(switch) else switch[0] is not None
    return value


def _property_name(written: str, properties: dict[str, Any]) -> str | None:
    if written in properties:
        return written
    return next((name for name in properties if name.lower() == written.lower()), None)


def _resolved_schema(field: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a property's schema without references, and without null as an alternative."""
    for _ in range(8):
        reference = field.get("$ref")
        choices = field.get("anyOf") or field.get("oneOf") or field.get("allOf")
        if isinstance(reference, str):
            field = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        elif isinstance(choices, list):
            real = [item for item in cast("list[Any]", choices) if item.get("type") != "null"]
            if len(real) != 1:
                return {}
            field = real[0]
        else:
            break
    return field


def _options(node: Mapping[str, Any]) -> tuple[Any, ...]:
    if "const" in node:
        return (node["const"],)
    return tuple(node.get("enum") or ())
