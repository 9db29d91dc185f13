"""System prompts, shipped as one text file; each section begins with a line `[NAME]`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from app.errors import FileProblem
from app.paths import resources_dir
from app.tools.pack_plan import AnyOf, Plans, Priority, QuestionKind

_HEADER = re.compile(r"^\[([A-Z][A-Z0-9_]*)\]\s*$", re.MULTILINE)


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
    """Return the planning section of the system prompt; "" if no pack has rules.

    `tools` are those that are offered to the model; others are not mentioned. `kinds` are those of
    the question, if it is understood; other kinds are not mentioned then.
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
