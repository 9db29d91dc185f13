"""Messages for the language model: system prompt, notes about open images, history."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.agent.answers.evidence import number_line
from app.agent.context.shortening import to_text
from app.agent.messages import Message
from app.errors import FileProblem
from app.paths import resources_dir
from app.tools.pack_plan import AnyOf, Plans, Priority, QuestionKind

_HEADER = re.compile(r"^\[([A-Z][A-Z0-9_]*)\]\s*$", re.MULTILINE)


USUAL_PROMPT = "MEDICAL_ASSISTANT"
_TOOL = "TOOL_"


def load_prompts(path: Path | None = None) -> dict[str, str]:
    """Return the text of every section of a prompts file, by name; by default, of the shipped file.

    Raises:
        FileProblem: The file cannot be read.
    """
    source = path or _shipped()
    try:
        parts = _HEADER.split(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = "the system prompts cannot be read"
        raise _broken(source, reason, type(error).__name__) from error
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def load_prompt(name: str, path: Path | None = None) -> str:
    """Return the text of the section `name` of a prompts file, by default the shipped one.

    Raises:
        FileProblem: The file cannot be read or the section is missing or empty.
    """
    sections = load_prompts(path)
    text = sections.get(name, "")
    if not text:
        there = ", ".join(f"[{key}]" for key in sections) or "none"
        reason = f"section [{name}] is missing or empty; sections there: {there}"
        raise _broken(path or _shipped(), reason)
    return text


def _shipped() -> Path:
    return resources_dir() / "prompts" / "system_prompts.txt"


def _broken(path: Path, reason: str, detail: str = "") -> FileProblem:
    remedy = "Restore the file, or reinstall Sightline."
    return FileProblem(reason, subject=str(path), remedy=remedy, detail=detail)


_MOST = 40  # lines


def planning_text(plans: Plans, tools: Collection[str], kinds: Collection[str] = ()) -> str:
    """Return the planning section of the system prompt; "" if `plans` have nothing to say.

    Only the tools in `tools`, those offered to the model, are mentioned. If `kinds` is not empty,
    only these kinds of question (names of `QuestionKind`s) are mentioned.
    """
    lines = [*_kinds(plans, tools, kinds), *_chains(plans, tools), *_priorities(plans, tools)]
    if not lines:
        return ""
    head = load_prompt("PLANNING")
    return "\n".join([head, *dict.fromkeys(lines[:_MOST])])


def _kinds(plans: Plans, tools: Collection[str], kinds: Collection[str]) -> Iterator[str]:
    named: dict[str, list[str]] = {}
    for _, kind in plans.kinds():
        chain = _chain(kind, tools)
        if chain and (not kinds or kind.name in kinds):
            named.setdefault(chain, []).append(kind.name.replace("_", " "))
    for chain, names in named.items():
        yield f"- {', '.join(dict.fromkeys(names))}: {chain}"


def _chain(kind: QuestionKind, tools: Collection[str]) -> str:
    links: list[str] = []
    for need in kind.tools:
        names = need.tools if isinstance(need, AnyOf) else (need,)
        there = [name for name in names if name in tools]
        if there:
            links.append(" or ".join(there))
    return " -> ".join(links)


def _chains(plans: Plans, tools: Collection[str]) -> Iterator[str]:
    for rule in plans.rules():
        if rule.tool not in tools:
            continue
        for need in rule.requires:
            there = [name for name in need.tools if name in tools]
            if there:
                joined = (" or " if isinstance(need, AnyOf) else " and ").join(there)
                yield f"- {rule.tool} needs a result of {joined} first"
    for pack in plans.packs:
        for item in pack.successors:
            after = [name for name in item.after if name in tools]
            if after and item.then in tools:
                how = "comes" if item.mandatory else "is recommended"
                when = f" (in: {', '.join(item.kinds)})" if item.kinds else ""
                yield f"- after {' or '.join(after)} {how} {item.then}{when}"


def _priorities(plans: Plans, tools: Collection[str]) -> Iterator[str]:
    rules = [rule for rule in plans.rules() if rule.tool in tools]
    low = [rule.tool for rule in rules if rule.priority is Priority.LOW]
    never = [rule.tool for rule in rules if rule.priority is Priority.EXCLUDED]
    if low:
        yield f"- only where nothing better is there, or the user names it: {', '.join(low)}"
    if never:
        yield f"- never: {', '.join(never)}"


_MARK = re.compile(r"(?:<|&lt;)\s*(/?)\s*data", re.IGNORECASE)
_UNSEEN = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0001-\U000e01ef]"
)
OWN_WORDS = "Sightline:"
"""Prefix of a line in which the program itself asks the model to do something."""
NOTES = 20  # images that a shortened note tells of
INTERRUPTED = "The run was stopped before this call gave a result."


def system_prompt(name: str = "", path: Path | None = None) -> str:
    """Return the system prompt: the assistant's instructions, then rules on text in <data> marks.

    `name` is the section with the instructions, "" for the usual one; `path` is a prompts file of
    the user's own, which need not have the rules: they are always the shipped ones.

    Raises:
        FileProblem: The prompts file is missing or invalid, or lacks a required section.
    """
    return f"{load_prompt(name or USUAL_PROMPT, path)}\n\n{load_prompt('DATA_RULES')}"


def memory_text(notes: str) -> str:
    """Return the section of the system prompt with the user's notes, as data; "" for none."""
    return f"{load_prompt('MEMORY')}\n{as_data(notes)}" if notes else ""


def tool_texts(path: Path) -> dict[str, str]:
    """Return what a prompts file adds to tools' descriptions, by the tool's name in lower case.

    Raises:
        FileProblem: The file cannot be read.
    """
    sections = load_prompts(path)
    return {
        name.removeprefix(_TOOL).lower(): text
        for name, text in sections.items()
        if name.startswith(_TOOL) and text
    }


def prompt_names(path: Path | None = None) -> list[str]:
    """Return the names of the instructions that a prompts file offers.

    Raises:
        FileProblem: The file cannot be read.
    """
    own = ("DATA_RULES", "MEMORY", "PLANNING", "PICTURES")
    return [n for n in load_prompts(path) if n not in own and not n.startswith(_TOOL)]


def marked_result(message: Message) -> Message:
    """Return a tool message with its text in <data> marks, then its citation number and advice."""
    advice = f"{OWN_WORDS} {_one_line(message.advice)}" if message.advice else ""
    parts = (as_data(message.text), number_line(message), advice)
    text = "\n".join(part for part in parts if part)
    return message.model_copy(update={"text": text})


def marked(
    history: Sequence[Message], result: Callable[[Message], Message] = marked_result
) -> Iterator[tuple[Message, bool]]:
    """Yield the history's messages as a model receives them, each with a flag: (message, is_note).

    is_note is True for notes on the open images, inserted before a question if these have changed.
    Every tool message is passed through `result`, which marks it as data. A call without a result
    (after a crash or a cancel) is given one, as endpoints refuse a transcript without it.
    """
    noted: list[dict[str, Any]] | None = None
    for message in complete(history):
        if message.role == "user" and message.images != noted:
            noted = message.images
            if noted:
                yield Message(role="user", text=image_notes_text(noted), images=noted), True
        if message.role == "tool":
            yield result(message), False
        else:
            yield message, False


def complete(history: Sequence[Message]) -> list[Message]:
    """Return the history with a result for every call, right after the message with the call.

    Empty answers, which some endpoints refuse, are left out.
    """
    results = {message.call_id: message for message in history if message.role == "tool"}
    messages: list[Message] = []
    for message in history:
        if message.role == "tool":
            continue
        if message.role == "assistant" and not (message.text.strip() or message.tool_calls):
            continue
        messages.append(message)
        messages.extend(
            results.get(call.id) or error_message(call.id, call.name, INTERRUPTED)
            for call in message.tool_calls
        )
    return messages


def error_message(call_id: str, tool: str, error: str, remedy: str = "") -> Message:
    """Return a tool message that says why there is no result."""
    data = {"error": error, "remedy": remedy} if remedy else {"error": error}
    return Message(role="tool", call_id=call_id, tool=tool, ok=False, data=data, text=to_text(data))


def result_message(call_id: str, tool: str, data: dict[str, Any]) -> Message:
    """Return a tool message with the result `data`: {"summary", "output", "metadata"}."""
    return Message(role="tool", call_id=call_id, tool=tool, data=data, text=to_text(data))


def with_note(message: Message, note: str, advice: str = "") -> Message:
    """Return a tool message with Sightline's own remarks added.

    Args:
        message: The result.
        note: What happened. It becomes part of the data, because it may quote a file or a tool.
        advice: What the model is asked to do. It is placed outside the data, so it must contain
            nothing that was written by a file, a tool or a model.
    """
    data = {**message.data, "sightline": note} if note else message.data
    changed = {"data": data, "text": to_text(data), "advice": advice}
    return message.model_copy(update=changed)


def _one_line(text: str) -> str:
    return " ".join(_harmless(text).split())


def as_data(text: str) -> str:
    """Return `text` between <data> marks; such marks within the text are made harmless."""
    return f"<data>\n{_harmless(text)}\n</data>"


def readable(text: str) -> str:
    """Return a text without invisible characters, in Unicode form NFKC (no full-width letters)."""
    return text if text.isascii() else _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


def _harmless(text: str) -> str:
    """Return a text without marks; in its readable form if one is in wide or unseen signs."""
    read = readable(text)
    if len(_MARK.findall(read)) > len(_MARK.findall(text)):
        text = read
    return _MARK.sub(r"<\\\1data", text)


def image_notes_text(notes: Sequence[Mapping[str, Any]], most: int | None = None) -> str:
    """Return the note about open images: the current one's `image_path`, then a line per image.

    Only the first `most` images (None: all) have a line; a last line says how many more there are.
    """
    current = notes[0]
    lines = [_note_line(note, index == 0) for index, note in enumerate(notes[:most])]
    if len(notes) > len(lines):
        last = notes[-1].get("id", "")
        lines.append(f"and {len(notes) - len(lines)} more, up to {last}")
    groups = Counter(str(note["group"]) for note in notes if note.get("group"))
    if groups:
        told = "; ".join(f"{name}: {count} images" for name, count in groups.items())
        lines.insert(0, f"groups: {told}")
    # Outside the marks stands nothing that is named by a file or a folder.
    return f"image_path: {current.get('id', '')}\n{as_data(chr(10).join(lines))}"


def result_ids(history: Sequence[Message]) -> dict[str, str]:
    """Return {id: short id} for all calls; a model can easily copy the short id.

    The short id is the number by which the call's result is cited or, without one, "call-N" for the
    Nth call of the conversation. The ids stay the same while the thread grows.
    """
    numbers = {item.call_id: item.evidence for item in history if item.evidence}
    calls = (call.id for message in history for call in message.tool_calls)
    return {
        call_id: str(numbers.get(call_id) or f"call-{place}")
        for place, call_id in enumerate(calls, start=1)
    }


def _note_line(note: Mapping[str, Any], current: bool) -> str:
    fields = {key: value for key, value in note.items() if key != "id" and value not in ("", None)}
    mark = " (current)" if current else ""
    return f"{note.get('id', 'image')}{mark}: {to_text(fields)}"
