"""What a site or a user adds to the policy, as data. All of it can only make rules stricter.

    {"effects": {"compute": "ask"},
     "tools": {"NAME": "deny"},
     "arguments": {"NAME": {"ARGUMENT": {"rule": "ask", "longest": 500, "most": 10,
                                         "least": 0, "greatest": 100, "values": ["a", "b"]}}},
     "hosts": {"allow": ["*.hospital.example", "10.0.0.0/8"], "deny": ["evil.example"]},
     "folders": {"allow": ["/data/exports"], "deny": ["/data/exports/old"]},
     "sizes": {"text": 20000, "items": 200, "number": 1e6},
     "remember": false}

"*" as NAME means every tool. `remember: false` takes "for this conversation" out of the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from app.agent.policing.verdicts import STRICTNESS, Rule
from app.errors import UsageError

EVERY = "*"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bounds for every argument of every tool.

    Attributes:
        text: Characters of one text.
        items: Items of one list or table.
        number: The largest absolute value.
        whole: Characters of all texts together.
    """

    text: int = 100_000
    items: int = 1_000
    number: float = 1e15
    whole: int = 1_000_000


SIZES = Sizes()


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """A rule for one argument; () and None say nothing.

    Attributes:
        rule: What happens to a call that gives it another value than its default.
        longest: Characters of a text.
        most: Items of a list.
        least: The smallest number.
        greatest: The largest number.
        values: The only values that it may have.
    """

    rule: Rule = Rule.ALLOW
    longest: int | None = None
    most: int | None = None
    least: float | None = None
    greatest: float | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hosts:
    """Where tools may send to: names, "*.name" for those below it, networks ("10.0.0.0/8").

    Attributes:
        allow: Where it is not empty, nothing else may be sent to; asking is not saved by it.
        deny: Never, whatever `allow` says.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folders:
    """Where tools may write outside the run's folder, below; as in `Hosts`."""

    only: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def allow(self, path: Path) -> bool:
        """Whether a resolved path may be written at all; the user is asked all the same."""
        if any(_lies_in(path, folder) for folder in self.deny):
            return False
        return not self.only or any(_lies_in(path, folder) for folder in self.only)

    def offer(self) -> str:
        """Which may be."""
        return f"Folders are {', '.join(self.only)}." if self.only else "Choose another folder."


@dataclass(frozen=True, slots=True)
class Additions:
    """What a site adds besides rules for effects and tools.

    Attributes:
        arguments: By tool ("*" for every one) and argument.
        hosts: Where tools may send to.
        folders: Where they may write.
        sizes: How large arguments may be.
        remember: Whether a yes for the conversation is offered.
    """

    arguments: Mapping[str, Mapping[str, ArgumentRule]] = field(
        default_factory=dict[str, Mapping[str, ArgumentRule]]
    )
    hosts: Hosts = Hosts()
    folders: Folders = Folders()
    sizes: Sizes = SIZES
    remember: bool = True

    def rules_for(self, tool: str) -> list[tuple[str, ArgumentRule]]:
        """The rules for the arguments of a tool."""
        return [
            (name, rule)
            for subject in (EVERY, tool)
            for name, rule in self.arguments.get(subject, {}).items()
        ]


PARTS = ("arguments", "hosts", "folders", "sizes", "remember")


def additions(data: Mapping[str, Any]) -> Additions:
    """Parse the parts named in `PARTS`.

    Raises:
        UsageError: Something in it is not understood.
    """
    hosts, folders = _lists(data, "hosts"), _lists(data, "folders")
    remember = data.get("remember", True)
    if not isinstance(remember, bool):
        raise wrong(f"remember is {remember!r}", "Write true or false.")
    for folder in (*folders[0], *folders[1]):
        if not Path(folder).expanduser().is_absolute():
            raise wrong(f"{folder!r} is no whole path", "Write folders from the root on.")
    return Additions(
        {
            tool: {name: _argument(name, item) for name, item in table(rules, tool).items()}
            for tool, rules in table(data, "arguments").items()
            for rules in ({tool: rules},)
        },
        Hosts(*hosts),
        Folders(*folders),
        _sizes(table(data, "sizes")),
        remember,
    )


def table(data: Mapping[str, Any], part: str) -> dict[str, Any]:
    """A part that is a table; empty where it is not there.

    Raises:
        UsageError: It is something else.
    """
    value = data.get(part, {})
    if not isinstance(value, Mapping):
        raise wrong(f"{part} is not a table", "Write one line a rule: NAME: ask.")
    return {str(key): item for key, item in cast("Mapping[Any, Any]", value).items()}


def rule_of(name: str, value: Any) -> Rule:
    """A rule by its name.

    Raises:
        UsageError: There is no such rule.
    """
    try:
        return Rule(value)
    except ValueError:
        listed = ", ".join(item.value for item in Rule)
        raise wrong(f"{value!r} is no rule (of {name})", f"Rules are {listed}.") from None


def wrong(reason: str, remedy: str) -> UsageError:
    """Something in the rules is not understood."""
    return UsageError(reason, subject="the policy for tools", remedy=remedy)


def stricter(one: Rule, other: Rule) -> Rule:
    """The stricter of two rules."""
    return max(one, other, key=STRICTNESS.__getitem__)


def _argument(name: str, data: Any) -> ArgumentRule:
    known = ("rule", "longest", "most", "least", "greatest", "values")
    fields = {key: item for key, item in table({name: data}, name).items() if item is not None}
    unknown = [key for key in fields if key not in known]
    if unknown:
        raise wrong(f"{unknown[0]!r} is no rule for {name}", f"There are {', '.join(known)}.")
    values = fields.get("values", [])
    if not isinstance(values, list | tuple):
        raise wrong(f"values of {name} is no list", 'Write them as ["a", "b"].')
    least = {key: _number(key, fields.get(key)) for key in ("least", "greatest")}
    counts = {key: _count(key, fields.get(key)) for key in ("longest", "most")}
    return ArgumentRule(
        rule=rule_of(name, fields.get("rule", Rule.ALLOW)),
        longest=counts["longest"],
        most=counts["most"],
        least=least["least"],
        greatest=least["greatest"],
        values=tuple(str(item) for item in cast("list[Any]", values)),
    )


def _sizes(data: Mapping[str, Any]) -> Sizes:
    unknown = [key for key in data if key not in ("text", "items", "number", "whole")]
    if unknown:
        raise wrong(f"{unknown[0]!r} is no size", "Sizes are text, items, number and whole.")
    number = _number("number", data.get("number"))
    counts = {key: _count(key, data.get(key)) for key in ("text", "items", "whole")}
    # A site can only lower them.
    return Sizes(
        text=min(SIZES.text, _or(counts["text"], SIZES.text)),
        items=min(SIZES.items, _or(counts["items"], SIZES.items)),
        number=min(SIZES.number, SIZES.number if number is None else abs(number)),
        whole=min(SIZES.whole, _or(counts["whole"], SIZES.whole)),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _lists(data: Mapping[str, Any], part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lists = table(data, part)
    unknown = [key for key in lists if key not in ("allow", "deny")]
    if unknown:
        raise wrong(f"{unknown[0]!r} is not a part of {part}", "The parts are allow and deny.")
    return _texts(part, lists.get("allow", ())), _texts(part, lists.get("deny", ()))


def _texts(part: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise wrong(f"{part} holds something that is no list", 'Write ["one", "two"].')
    items = cast("list[Any]", value)
    if not all(isinstance(item, str) and item.strip() for item in items):
        raise wrong(f"{part} holds something that is no text", 'Write ["one", "two"].')
    return tuple(str(item).strip() for item in items)


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise wrong(f"{name} is {value!r}", "Write a whole number, 0 or above.")
    return value


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise wrong(f"{name} is {value!r}", "Write a number.")
    return float(value)


def _lies_in(path: Path, folder: str) -> bool:
    return path.is_relative_to(Path(folder).expanduser().resolve())
