"""Rules that a user or a site adds to the policy, as data. They can only make it stricter.

    {"effects": {"compute": "ask"},
     "tools": {"NAME": "deny"},
     "arguments": {"NAME": {"ARGUMENT": {"rule": "ask", "longest": 500, "most": 10,
                                         "least": 0, "greatest": 100, "values": ["a", "b"]}}},
     "hosts": {"allow": ["*.hospital.example", "10.0.0.0/8"], "deny": ["evil.example"]},
     "folders": {"allow": ["/data/exports"], "deny": ["/data/exports/old"]},
     "sizes": {"text": 20000, "items": 200, "number": 1e6},
     "remember": false}

"*" as NAME means every tool. `remember: false` takes "for this conversation" out of the answers.
The settings file holds the same fields, so `app.settings.PolicySettings` is their one definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from app.agent.policy.hosts import Host, is_listed
from app.agent.policy.judgements import Rule
from app.errors import UsageError
from app.settings import (
    ArgumentSettings,
    FolderSettings,
    HostSettings,
    PolicySettings,
    SizeSettings,
)

EVERY = "*"
"""The name that stands for every tool."""

ALWAYS = (
    "Files: a tool is given the open images and files of the run's own folder, no other, whatever "
    "it says it does. One that writes elsewhere shows the whole path, with links followed, and "
    "asks; it never overwrites an open image",
    "Hosts: only a tool that sends is given one, shown as it is really reached; it is asked about",
    "Sizes: at most 100,000 characters in a text, 1,000 items in a list and 1,000,000 characters "
    "in all; arguments that could not be shown whole are not asked about but refused",
)
"""The program's own rules for every tool, as sentences for the settings page."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Upper bounds for the arguments of every tool.

    Attributes:
        text: Number of characters in one text.
        items: Number of items in one list or table.
        number: Absolute value of a number.
        whole: Number of characters in all texts of a call together.
    """

    text: int = 100_000
    items: int = 1_000
    number: float = 1e15
    whole: int = 1_000_000


def parse_rules(data: Mapping[str, Any]) -> PolicySettings:
    """Return the rules in the data of a user or a site, in the form that this module describes.

    Raises:
        UsageError: Part of the data is not understood. The rest is not returned, since the rest
            alone would be weaker than the site intended.
    """
    unknown = [str(key) for key in data if key not in PolicySettings.model_fields]
    if unknown:
        *parts, last = PolicySettings.model_fields
        raise _misunderstood(
            f"{unknown[0]!r} is not a part of it", f"The parts are {', '.join(parts)} and {last}."
        )
    try:
        return PolicySettings.model_validate({key: _restrictive(data[key], key) for key in data})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise _misunderstood(
            f"{where} is {first['input']!r}, which cannot be read",
            f"{first['msg']}. All fields are in docs/privacy.md.",
        ) from None


def _restrictive(value: Any, part: str) -> Any:
    """Return a part without its entries of "allow", which say nothing."""
    if part not in ("effects", "tools", "arguments") or not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[Any, Any]", value)
    return {key: _restrictive(item, part) for key, item in entries.items() if item != Rule.ALLOW}


def _misunderstood(reason: str, remedy: str) -> UsageError:
    return UsageError(reason, subject="the policy for tools", remedy=remedy)


def size_limits(settings: SizeSettings) -> Sizes:
    """Return the bounds in effect: for each, the lower of the program's and the site's."""
    own = settings.model_dump(exclude_none=True)
    standard = asdict(Sizes())
    return Sizes(**{name: min(abs(own.get(name, most)), most) for name, most in standard.items()})


def argument_rules(rules: PolicySettings, tool: str) -> list[tuple[str, ArgumentSettings]]:
    """Return (argument, rule) for each rule that concerns the arguments of a tool."""
    return [pair for name in (EVERY, tool) for pair in rules.arguments.get(name, {}).items()]


def host_allowed(hosts: HostSettings, host: Host) -> bool:
    """Return whether the rules let tools send to a host if the user agrees."""
    if is_listed(host, hosts.deny):
        return False
    return not hosts.allow or is_listed(host, hosts.allow)


def folder_allowed(folders: FolderSettings, path: Path) -> bool:
    """Return whether the rules let tools write to a resolved path if the user agrees."""
    if any(_is_below(path, folder) for folder in folders.deny):
        return False
    return not folders.allow or any(_is_below(path, folder) for folder in folders.allow)


def _is_below(path: Path, folder: str) -> bool:
    return path.is_relative_to(Path(folder).resolve())


def describe(rules: PolicySettings) -> list[str]:
    """Return the rules about arguments, hosts, folders, sizes and answers, a sentence for each."""
    sentences = [
        f"{'Every tool' if tool == EVERY else tool}: {name} {_argument_in_words(rule)}"
        for tool, arguments in rules.arguments.items()
        for name, rule in arguments.items()
    ]
    for what, lists in (
        ("Hosts: tools may send", rules.hosts),
        ("Folders: tools may write", rules.folders),
    ):
        if lists.allow:
            sentences.append(f"{what} only to {', '.join(lists.allow)}")
        if lists.deny:
            sentences.append(f"{what} never to {', '.join(lists.deny)}")
    sizes = size_limits(rules.sizes)
    if sizes != Sizes():
        sentences.append(
            f"Sizes: at most {sizes.text:,} characters in a text, {sizes.items:,} items "
            f"in a list, numbers up to {sizes.number:,.12g}"
        )
    if not rules.remember:
        sentences.append("Answers: a yes counts for one call, never for a whole conversation")
    return sentences


def _argument_in_words(rule: ArgumentSettings) -> str:
    parts: list[str] = []
    if rule.rule == Rule.DENY:
        parts.append("may not be given")
    if rule.rule == Rule.ASK:
        parts.append("asks where it is given")
    if rule.longest is not None:
        parts.append(f"has {rule.longest:,} characters at most")
    if rule.most is not None:
        parts.append(f"has {rule.most:,} items at most")
    if rule.least is not None:
        parts.append(f"is at least {rule.least:g}")
    if rule.greatest is not None:
        parts.append(f"is at most {rule.greatest:g}")
    if rule.values:
        parts.append(f"is one of {', '.join(rule.values)}")
    return " and ".join(parts) or "has no rule"
