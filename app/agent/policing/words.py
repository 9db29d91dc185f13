"""The rules for arguments in plain words, for the settings page."""

from __future__ import annotations

from app.agent.policing.data import EVERY, Additions, ArgumentRule
from app.agent.policing.verdicts import Rule
from app.agent.policy import Policy

ALWAYS = (
    "Files: a tool is given the open images and files of the run's own folder, no other, whatever "
    "it says it does. One that writes elsewhere shows the whole path, with links followed, and "
    "asks; it never overwrites an open image",
    "Hosts: only a tool that sends is given one, shown as it is really reached; it is asked about",
    "Sizes: at most 100,000 characters in a text, 1,000 items in a list and 1,000,000 characters "
    "in all; arguments that could not be shown whole are not asked about but refused",
)
"""What holds for every tool, by the program itself."""


def in_words(policy: Policy) -> list[str]:
    """A sentence for each rule about arguments, hosts, folders and sizes of one policy."""
    more = policy.more
    told = [
        f"{'Every tool' if tool == EVERY else tool}: {name} {_rule(rule)}"
        for tool, rules in more.arguments.items()
        for name, rule in rules.items()
    ]
    told += _places(more)
    standard = Additions().sizes
    if more.sizes != standard:
        told.append(
            f"Sizes: at most {more.sizes.text:,} characters in a text, {more.sizes.items:,} items "
            f"in a list, numbers up to {more.sizes.number:,.12g}"
        )
    if not more.remember:
        told.append("Answers: a yes holds for one call, never for a whole conversation")
    return told


def _places(more: Additions) -> list[str]:
    told: list[str] = []
    for what, only, never in (
        ("Hosts: tools may send", more.hosts.allow, more.hosts.deny),
        ("Folders: tools may write", more.folders.only, more.folders.deny),
    ):
        if only:
            told.append(f"{what} only to {', '.join(only)}")
        if never:
            told.append(f"{what} never to {', '.join(never)}")
    return told


def _rule(rule: ArgumentRule) -> str:
    parts: list[str] = []
    if rule.rule is Rule.DENY:
        parts.append("may not be given")
    if rule.rule is Rule.ASK:
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
