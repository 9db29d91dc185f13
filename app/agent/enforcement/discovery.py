"""Discovery of existing names (modalities, field values) after a call unexpectedly found nothing.

`listing_call` returns a call that lists the existing names; `adapted_retry` returns the only retry,
with an argument set to the nearest of these names. If no name is near, nothing is guessed: the
answer then says what exists. These functions are pure; whether a call may run is decided by the
policy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.enforcement.verdicts import doubt_of, found_nothing, listing
from app.agent.image_reference import image_arguments
from app.agent.llm.base import ToolSchema
from app.agent.messages import Message, ToolCall
from app.agent.planning import Intent, edit_distance
from app.tools.pack_plan import ToolRule
from app.tools.result_wording import CallResult

LOOK = "-look"
"""Suffix of the id of a call that lists what exists."""
AGAIN = "-again"
"""Suffix of the id of an adapted retry. There is never a second retry."""

_EDITS = ((9, 2), (5, 1))
"""Pairs of a minimum word length and the number of letters that may be wrong in such a word."""
_PREFIXES = (
    *("hyper", "hypo", "inter", "intra", "extra", "pre", "post", "supra", "infra", "super"),
    *("sub", "micro", "macro", "endo", "exo", "ab", "ad"),
)
"""Prefixes that change a word's meaning:

words that differ only in such a prefix are never taken for each other.
"""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_NEGATIONS = frozenset(("no", "non", "not", "un", "without", "ohne", "nicht", "kein", "keine"))
_NAMED_BY = ("name", "label", "value", "id")


@dataclass(frozen=True, slots=True)
class AdaptedRetry:
    """The only retry of a call that found nothing, or the reason why there is none.

    Attributes:
        call: The same call with one argument set to the nearest existing name; None for no retry.
        why: What was changed, or what exists instead, for the plan and the answer.
    """

    call: ToolCall | None
    why: str


def listing_call(
    rule: ToolRule,
    call: ToolCall,
    message: Message,
    asked: Intent,
    tools: Mapping[str, ToolSchema],
    others: Sequence[CallResult] = (),
) -> ToolCall | None:
    """Return a call that lists existing names (such as field values), as `call` found nothing.

    `rule` names the listing tool, `message` is the result of `call`. None if the question expects
    no data, `message` is neither empty nor in doubt (beside `others`, the conversation's other
    results), or that tool cannot be called.
    """
    seek = rule.discovery
    if seek is None or not seek.tool:
        return None
    empty = asked.expects_data and found_nothing(rule, message)
    if not empty and not doubt_of(rule, message, others):
        return None
    if call.id.endswith((LOOK, AGAIN)) or seek.tool in asked.left_out or seek.tool == call.name:
        return None
    schema = tools.get(seek.tool)
    if schema is None:
        return None
    arguments = _shared(call, tools.get(call.name), schema)
    if arguments is None:
        return None
    return ToolCall(id=f"{call.id}{LOOK}", name=seek.tool, arguments=arguments)


def adapted_retry(rule: ToolRule, call: ToolCall, found: Message) -> AdaptedRetry:
    """Return `call` with an argument set to the nearest existing name, or why it is not repeated.

    `rule` says which argument; `found` is the result of the call made by `listing_call`.
    """
    seek = rule.discovery
    if seek is None or call.id.endswith(AGAIN):
        return AdaptedRetry(None, "it was tried again once already")
    lister = seek.tool or call.name
    if not found.ok:
        return AdaptedRetry(None, f"{lister} could not tell what there is")
    names = _names(found.output.get(seek.key), seek.argument)
    what = seek.argument.replace("_", " ")
    if not names:
        return AdaptedRetry(None, f"{lister} lists no {what} either")
    there = f"there is: {listing(names)}"
    given = call.arguments.get(seek.argument)
    if not given:
        return AdaptedRetry(None, f"no {what} was given; {there}")
    several = isinstance(given, list)
    wanted = [str(value) for value in given] if several else [str(given)]
    chosen: list[str] = []
    for value in wanted:
        near = nearest(value, names)
        if not near or (len(near) > 1 and not several):
            says = f"{value!r} may be {' or '.join(near)}" if near else f"there is no {value!r}"
            return AdaptedRetry(None, f"{what}: {says}; {there}")
        chosen += near
    chosen = list(dict.fromkeys(chosen))
    if chosen == wanted:
        return AdaptedRetry(None, f"{what} {listing(chosen)} exists, and nothing is in it; {there}")
    arguments = {**call.arguments, seek.argument: chosen if several else chosen[0]}
    again = ToolCall(id=f"{call.id}{AGAIN}", name=call.name, arguments=arguments)
    old = ", ".join(wanted)
    return AdaptedRetry(again, f"{what} {old!r} does not exist; the nearest is {listing(chosen)}")


def nearest(wanted: str, names: Sequence[str]) -> list[str]:
    """Return the existing names that `wanted` may mean: one, several equally near, or none.

    These are the names that differ only in case, accents and punctuation; if there are none, the
    names that contain all words of `wanted`, or all of whose words are in `wanted`; if there are
    none, the names in which a letter or two differ, or those of one word in them. A name with
    different digits is a different name ("T1", "T2"), and so is one with a negating prefix
    ("asymmetric").
    """
    folded = _folded(wanted)
    if not folded:
        return []
    for same in (_equal, _contained):
        exact = [name for name in names if same(folded, _folded(name))]
        if exact:
            return exact
    wrong = {name: _edits(folded, _folded(name)) for name in names}
    if not any(distance is not None for distance in wrong.values()) and len(folded) == 1:
        wrong = {name: _word_edits(folded[0], _folded(name)) for name in names}
    near = {name: distance for name, distance in wrong.items() if distance is not None}
    least = min(near.values(), default=0)
    return [name for name, distance in near.items() if distance == least]


def _shared(call: ToolCall, caller: ToolSchema | None, schema: ToolSchema) -> dict[str, Any] | None:
    """Return the call's arguments that the listing tool takes too; None if it needs others."""
    properties: Mapping[str, Any] = schema.parameters.get("properties", {})
    arguments = {name: value for name, value in call.arguments.items() if name in properties}
    given = image_arguments(caller) if caller else []
    pictures = [name for name in given if name in call.arguments]
    for name in image_arguments(schema)[:1]:
        # The same image under another name: image_path, dicom_path.
        if name not in arguments and pictures:
            arguments[name] = call.arguments[pictures[0]]
    if any(name not in arguments for name in schema.parameters.get("required", ())):
        return None
    return arguments


def _names(value: Any, argument: str) -> list[str]:
    if isinstance(value, Mapping):
        inner: Any = value.get(argument)
        items: list[Any] = inner if isinstance(inner, list) else list(value)
    else:
        items = list(value) if isinstance(value, list | tuple) else [value]
    found: list[str] = []
    for item in items:
        if isinstance(item, Mapping):
            item = next((item[key] for key in _NAMED_BY if item.get(key)), None)
        if item is not None and not isinstance(item, bool) and str(item).strip():
            found.append(str(item))
    return list(dict.fromkeys(found))


def _folded(name: str) -> tuple[str, ...]:
    text = unicodedata.normalize("NFC", name).casefold().translate(_UMLAUTS)
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return tuple(re.findall(r"[^\W\d_]+|\d+", text))


def _equal(one: Sequence[str], other: Sequence[str]) -> bool:
    return "".join(one) == "".join(other) and _digits(one) == _digits(other)


def _contained(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether one name contains all words of the other, with none that negates it."""
    few, many = sorted((frozenset(one), frozenset(other)), key=len)
    besides = many - few
    telling = any(len(word) > 2 for word in few)
    return bool(telling and few < many and not besides & _NEGATIONS and _digits_agree(one, other))


def _edits(one: Sequence[str], other: Sequence[str]) -> int | None:
    """Return the number of wrong letters in all words; None where a word has too many."""
    if len(one) != len(other):
        return None
    total = 0
    for a, b in zip(one, other, strict=True):
        wrong = edit_distance(a, b)
        allowed = next((most for least, most in _EDITS if max(len(a), len(b)) >= least), 0)
        if wrong > allowed or (wrong and (_prefix(a) != _prefix(b) or _turned(a, b))):
            return None
        total += wrong
    return total


def _word_edits(word: str, name: Sequence[str]) -> int | None:
    if word.isdigit() or _NEGATIONS.intersection(name):
        return None
    found = (_edits((word,), (part,)) for part in name if not part.isdigit())
    return min((one for one in found if one), default=None)  # equal words were compared before


def _prefix(word: str) -> str:
    return next((prefix for prefix in _PREFIXES if word.startswith(prefix)), "")


def _turned(a: str, b: str) -> bool:
    """Return whether one word is the other with a prefix, which may negate it."""
    return a.endswith(b) or b.endswith(a)


def _digits(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word.isdigit())


def _digits_agree(one: Sequence[str], other: Sequence[str]) -> bool:
    a, b = _digits(one), _digits(other)
    return a == b or not a or not b
