"""Rules that a user or a site adds to the policy, as data. They can only make it stricter.

    {"effects": {"compute": "ask"},
     "tools": {"NAME": "deny"},
     "hosts": {"allow": ["*.hospital.example", "10.0.0.0/8"], "deny": ["evil.example"]},
     "folders": {"allow": ["/data/exports"], "deny": ["/data/exports/old"]},
     "remember": false}

"*" as NAME means every tool. With `remember: false`, no answer is valid for a whole conversation.
The settings file holds the same fields, so `app.settings.PolicySettings` is their one definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from app.agent.policy.hosts import Host, is_listed
from app.agent.policy.judgements import Rule
from app.errors import UsageError
from app.settings import FolderSettings, HostSettings, PolicySettings

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
    if part not in ("effects", "tools") or not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[Any, Any]", value)
    return {key: _restrictive(item, part) for key, item in entries.items() if item != Rule.ALLOW}


def _misunderstood(reason: str, remedy: str) -> UsageError:
    return UsageError(reason, subject="the policy for tools", remedy=remedy)


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
    """Return the rules about hosts, folders and remembered answers, one sentence for each."""
    sentences: list[str] = []
    for what, lists in (
        ("Hosts: tools may send", rules.hosts),
        ("Folders: tools may write", rules.folders),
    ):
        if lists.allow:
            sentences.append(f"{what} only to {', '.join(lists.allow)}")
        if lists.deny:
            sentences.append(f"{what} never to {', '.join(lists.deny)}")
    if not rules.remember:
        sentences.append("Answers: a yes counts for one call, never for a whole conversation")
    return sentences
