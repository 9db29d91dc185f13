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

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import ValidationError

from app.agent.policy.policy import Rule
from app.errors import UsageError
from app.settings import (
    ArgumentSettings,
    FolderSettings,
    HostSettings,
    PolicySettings,
    SizeSettings,
)

_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://|(mailto|https?):", re.IGNORECASE)
_UNENCRYPTED = ("http", "ftp", "ws")
_LOCAL = (".local", ".lan", ".internal", ".intranet", ".home", ".corp", ".localdomain")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Host:
    """The host that a connection would go to.

    Attributes:
        name: The host name in lower-case ASCII, or an IP address in its usual spelling.
        port: The port; 0 if none is given.
        notes: Warnings for the user about the host or its spelling.
    """

    name: str
    port: int = 0
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The name, followed by the port if there is one."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{name}:{self.port}" if self.port else name


class AmbiguousHost(ValueError):
    """An address that two programs may read differently, or that does not name a host."""


def parse_host(raw: str) -> Host:
    """Return the host to which a URL, a mail address, "name:port" or an IP address leads.

    Raises:
        AmbiguousHost: Programs may read the address differently, or it does not name a host.
    """
    text = raw.strip()
    if any(unicodedata.category(sign)[0] in "CZ" for sign in text):
        raise AmbiguousHost("there are blank or invisible signs in it")
    if "\\" in text:
        raise AmbiguousHost("there is a backslash in it")
    notes: list[str] = []
    name, port = _name_and_port(text, notes)
    if "%" in name:
        raise AmbiguousHost("there are percent signs in the name")
    name = _ascii(name.removesuffix("."), notes)
    address = _ip_address(name, notes)
    if address is not None:
        return Host(str(address), port, (*notes, *_address_notes(address)))
    if not name or len(name) > 253 or not all(map(_LABEL.fullmatch, name.split("."))):
        raise AmbiguousHost("that is no name of a host")
    if name.rpartition(".")[2].isdigit():
        raise AmbiguousHost("that is no address")
    if name == "localhost":
        notes.append("this computer")
    elif "." not in name or name.endswith(_LOCAL):
        notes.append("a name of the local network")
    return Host(name, port, tuple(notes))


def _name_and_port(text: str, notes: list[str]) -> tuple[str, int]:
    try:
        return str(ipaddress.IPv6Address(text)), 0
    except ValueError:
        pass
    scheme = _SCHEME.match(text)
    if scheme and (scheme[2] or "").lower().startswith("http"):
        raise AmbiguousHost("two slashes must follow the colon")
    if scheme and (scheme[1] or "").lower() in _UNENCRYPTED:
        notes.append("not encrypted")
    try:
        parts = urlsplit(f"//{text[scheme.end() :] if scheme else text}")
        name, port = parts.hostname or "", parts.port or 0
    except ValueError:
        raise AmbiguousHost("name and port cannot be told apart") from None
    if parts.username is not None:
        if "@" in parts.username + (parts.password or ""):
            raise AmbiguousHost("there is more than one @ in it")
        notes.append("a user name or password stands before the host")
    if not name:
        raise AmbiguousHost("that is no name of a host")
    return name, port


def _ascii(name: str, notes: list[str]) -> str:
    """Return the name as it goes over the wire (IDNA)."""
    lowered = name.lower()
    if lowered.isascii():
        if "xn--" in lowered:
            notes.append("stands for letters of another alphabet")
        return lowered
    try:
        encoded = unicodedata.normalize("NFKC", lowered).encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise AmbiguousHost("its letters stand for no host") from None
    notes.append("written in letters of another alphabet or width")
    return encoded


def _ip_address(name: str, notes: list[str]) -> Address | None:
    """Return the IP address in any spelling that connects: 127.1, 0x7f000001, 0177.0.0.1."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    try:
        address = ipaddress.IPv4Address(socket.inet_aton(name))
    except OSError:
        return None
    notes.append(f"an unusual spelling: {name}")
    return address


def _address_notes(address: Address) -> list[str]:
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return [f"stands for {mapped}", *_address_notes(mapped)]
    if address.is_loopback or address.is_unspecified:
        return ["this computer"]
    if address.is_link_local:
        return ["an address of this machine's own link, where clouds keep their secrets"]
    return ["an address of the local network"] if address.is_private else []


def is_listed(host: Host, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns matches the host.

    A pattern is a host name, "*.name" for all hosts below a name, or a network ("10.0.0.0/8"); a
    name may be followed by a port.
    """
    return any(_matches(host, pattern.strip().lower()) for pattern in patterns)


def _matches(host: Host, pattern: str) -> bool:
    try:
        return ipaddress.ip_address(host.name) in ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        pass
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdigit():
        return int(port) == host.port and _matches(host, name)
    try:
        name = _ascii(pattern.removesuffix("."), [])
    except AmbiguousHost:
        return False
    return host.name.endswith(name[1:]) if name.startswith("*.") else host.name == name


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
            f"{where} is {first['input']!r}, which is not understood",
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
        sentences.append("Answers: a yes holds for one call, never for a whole conversation")
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
