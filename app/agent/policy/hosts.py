"""Network addresses as a connection would really use them.

An address is shown with its port and without "user@" before it. Numbers such as 2130706433 are
shown as an IP address, and letters of other alphabets as "xn--...".
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

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
        raise AmbiguousHost("it contains blank or invisible characters")
    if "\\" in text:
        raise AmbiguousHost("it contains a backslash")
    notes: list[str] = []
    name, port = _name_and_port(text, notes)
    if "%" in name:
        raise AmbiguousHost("its name contains percent signs")
    name = _ascii(name.removesuffix("."), notes)
    address = _ip_address(name, notes)
    if address is not None:
        return Host(str(address), port, (*notes, *_address_notes(address)))
    if not name or len(name) > 253 or not all(map(_LABEL.fullmatch, name.split("."))):
        raise AmbiguousHost("it is not a host name")
    if name.rpartition(".")[2].isdigit():
        raise AmbiguousHost("it is not an address")
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
            raise AmbiguousHost("it contains more than one @")
        notes.append("it contains a user name or password")
    if not name:
        raise AmbiguousHost("it is not a host name")
    return name, port


def _ascii(name: str, notes: list[str]) -> str:
    lowered = name.lower()
    if lowered.isascii():
        if "xn--" in lowered:
            notes.append("stands for letters of another alphabet")
        return lowered
    try:
        encoded = unicodedata.normalize("NFKC", lowered).encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise AmbiguousHost("it does not encode a host name") from None
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
