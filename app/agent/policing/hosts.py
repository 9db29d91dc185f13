"""Hosts in arguments: a tool that does not send is given none; where one sends to is shown plainly.

A host is found by the argument's name ("url", "host"), by the schema's format, or in any text that
holds a URL. It is shown as a connection would really be made: without the user name that may stand
before it, numbers as an address, letters of other alphabets written out, and with its port.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from app.agent.policing.data import Hosts
from app.agent.policing.verdicts import Judgement, Rule, Touch
from app.agent.policing.walk import Piece
from app.tools.api import Approval, ToolSpec

_KEYS = frozenset(
    (
        *("url", "urls", "uri", "uris", "host", "hosts", "hostname", "hostnames", "endpoint"),
        *("endpoints", "server", "servers", "webhook", "webhooks", "proxy", "ip", "fqdn", "peer"),
        *("peers", "broker", "gateway"),
    )
)
_FORMATS = frozenset(("uri", "url", "hostname", "ipv4", "ipv6", "idn-hostname", "iri", "email"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_URL = re.compile(
    r"""
    (?<![A-Za-z0-9])(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]{0,30})\s{0,3}:[\\/]{2,}(?P<rest>[^\s"'<>]*)
    | (?<![A-Za-z0-9])(?P<plain>https?|wss?|s?ftps?|ssh|smb|ldaps?|mailto|javascript|data):
      (?P<after>[^\s"'<>]+)
    | (?<![\w.@])(?P<www>www\.[\w-]+\.[^\s"'<>]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_BARE = re.compile(r"(?:[\w-]{1,63}\.)+[^\W\d_]{2,63}\.?(?::\d{1,5})?")
_MAIL = re.compile(r"[^\s@<>]+@(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
_PUBLIC = re.compile(
    r"(?:[\w-]{1,63}\.)+(?:com|org|net|io|edu|gov|mil|int|info|biz|dev|app|cloud|onion|eu|uk|de|at|"
    r"ch|fr|us|ru|cn|example|test|local|lan|internal|intranet|localdomain|localhost)\.?"
    r"(?::\d{1,5})?",
    re.IGNORECASE,
)
"""A host alone in a text, for tools that are given none: its ending is no file's."""
_BESIDE = re.compile(
    r"(?:[^\s@/:]{1,64}@)?(?P<host>[^\s@/:\[\]]{1,253}|\[[0-9A-Fa-f:.]+\])(?P<port>:\d{1,5})?"
    r"(?:[:/]\S*)?"
)
_LOCAL = (".local", ".lan", ".internal", ".intranet", ".home", ".corp", ".localdomain")


@dataclass(frozen=True, slots=True)
class Host:
    """Where a connection would go.

    Attributes:
        name: In small letters, ASCII; an address in its usual spelling.
        port: 0 where none is given.
        notes: What is odd about it or its spelling.
    """

    name: str
    port: int = 0
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Name and port."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{name}:{self.port}" if self.port else name


class Unclear(ValueError):
    """It is not clear which host is meant; two programs may read it differently."""


def judge(spec: ToolSpec, pieces: Sequence[Piece], hosts: Hosts) -> list[Judgement]:
    """A judgement for each argument that names a host, and for the tool's own hosts."""
    if spec.approval is not Approval.SEND:
        return [
            _refused(spec, piece.where, "names another machine, and this tool sends nothing")
            for piece in pieces
            if not piece.default and any(_named(spec, piece))
        ]
    found: list[Judgement] = []
    named = False
    for where, raw in _all(spec, pieces):
        named = True
        found.append(_send(spec, where, raw, hosts))
    if not named and hosts.allow:
        why = (
            "does not say where it sends to, and this installation lists the hosts that are allowed"
        )
        found.append(Judgement(Rule.DENY, f"{spec.name} was not run: it {why}.", "", _ELSE))
    return found


_ELSE = "Go on without it."


def _all(spec: ToolSpec, pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    for host in spec.hosts:
        yield "", host
    for piece in pieces:
        for raw in _named(spec, piece):
            yield piece.where, raw


def _send(spec: ToolSpec, where: str, raw: str, hosts: Hosts) -> Judgement:
    try:
        host = parse(raw)
    except Unclear as error:
        return _refused(spec, where, f"does not name a host plainly: {error}", "Write it plainly.")
    if _listed(host, hosts.deny):
        return _refused(spec, where, f"names {host.shown}, which this installation blocks")
    if hosts.allow and not _listed(host, hosts.allow):
        return _refused(spec, where, f"names {host.shown}, which this installation does not allow")
    touch = Touch("sends to", where, host.shown, "; ".join(host.notes))
    return Judgement(Rule.ASK, f"It sends to {host.shown}.", where, touches=(touch,))


def _refused(spec: ToolSpec, where: str, why: str, remedy: str = "") -> Judgement:
    subject = f"its argument {where}" if where else "it"
    reason = f"{spec.name} was not run: {subject} {why}."
    return Judgement(Rule.DENY, reason, where, remedy or _ELSE)


def _named(spec: ToolSpec, piece: Piece) -> Iterator[str]:
    """Every host or URL in a text, as it is written there."""
    if not isinstance(piece.value, str | int):
        return
    text = str(piece.value).strip()
    if isinstance(piece.value, int) and not any(_is_host_key(name) for name in piece.names):
        return  # 2130706433 is an address only where an address is asked for
    if not text:
        return
    if _FORMATS & piece.formats or any(_is_host_key(name) for name in piece.names):
        yield text  # whole: what stands before or behind an address is part of it
        return
    found = False
    for form in dict.fromkeys((text, unicodedata.normalize("NFKC", unquote(text)))):
        for match in _URL.finditer(form):
            if (match["scheme"] or "").lower() == "file":
                continue  # a path: judged there
            found = True
            yield match[0]
        if found:
            return
    sends = spec.approval is Approval.SEND
    alone = _BARE if sends else _PUBLIC
    if alone.fullmatch(text) or (sends and _MAIL.fullmatch(text)) or _is_address(text):
        yield text
        return
    # A port, a user or a path beside it: "evil.example.org:22/x", "me@evil.example.org:/data".
    for form in dict.fromkeys((text, unicodedata.normalize("NFKC", text).replace("\u3002", "."))):
        beside = _BESIDE.fullmatch(form)
        host = beside["host"] if beside is not None else ""
        if host and (alone.fullmatch(host) or _is_address(host) or host.lower() == "localhost"):
            yield host + (beside["port"] or "" if beside is not None else "")
            return


def _is_host_key(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if words[-1:] in (["name"], ["address"]):
        words.pop()  # server_address
    return bool(words) and words[-1] in _KEYS


def _is_address(text: str) -> bool:
    # Only what is written as one: 0.5 is a number, 1.2.840.10008 a UID.
    if text.count(".") != 3 and ":" not in text:
        return False
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True


# -- reading one -----------------------------------------------------------------------------


def parse(raw: str) -> Host:
    """The host that a URL, "name:port" or an address leads to.

    Raises:
        Unclear: Programs may read it differently, or it names none.
    """
    notes: list[str] = []
    authority = _authority(raw.strip(), notes)
    name, port = _split(authority)
    if "%" in name:
        raise Unclear("there are percent signs in the name")
    name = _ascii(name.rstrip("."), notes)
    address = _address(name, notes)
    if address is not None:
        notes += _kind_of(address)
        return Host(str(address), port, tuple(notes))
    if not name or len(name) > 253 or not all(map(_NAME.fullmatch, name.split("."))):
        raise Unclear("that is no name of a host")
    if name.rpartition(".")[2].isdigit():
        raise Unclear("that is no address")
    if name == "localhost":
        notes.append("this computer")
    elif "." not in name or name.endswith(_LOCAL):
        notes.append("a name of the local network")
    return Host(name, port, tuple(notes))


def _authority(text: str, notes: list[str]) -> str:
    """The part between the slashes, without user name and password."""
    if any(unicodedata.category(sign)[0] in "CZ" for sign in text):
        raise Unclear("there are blank or invisible signs in it")
    if "\\" in text:
        raise Unclear("there is a backslash in it")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):(//)?", text)
    if scheme and (scheme[2] or scheme[1].lower() in ("mailto", "http", "https")):
        rest = text[scheme.end() :]
        if scheme[1].lower() != "mailto" and (not scheme[2] or rest.startswith("/")):
            raise Unclear("two slashes must follow the colon")
        if scheme[1].lower() in ("http", "ftp", "ws"):
            notes.append("not encrypted")
        text = rest
    authority = re.split(r"[/?#]", text, maxsplit=1)[0]
    before, at, host = authority.rpartition("@")
    if at:
        if "@" in before:
            raise Unclear("there is more than one @ in it")
        notes.append("a user name or password stands before the host")
    return host


def _split(authority: str) -> tuple[str, int]:
    found = re.fullmatch(
        r"\[([0-9A-Fa-f:.]+)\](?::(\d{1,5}))?|([^\[\]:]*)(?::(\d{1,5}))?", authority
    )
    if found is None:
        try:
            return str(ipaddress.IPv6Address(authority)), 0
        except ValueError:
            raise Unclear("name and port cannot be told apart") from None
    port = int(found[2] or found[4] or 0)
    if port > 65_535:
        raise Unclear("there is no such port")
    return found[1] or found[3] or "", port


def _ascii(name: str, notes: list[str]) -> str:
    """The name as it goes over the wire; other alphabets are named."""
    lowered = name.lower()
    if lowered.isascii():
        if "xn--" in lowered:
            notes.append("stands for letters of another alphabet")
        return lowered
    try:
        wired = unicodedata.normalize("NFKC", lowered).encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise Unclear("its letters stand for no host") from None
    notes.append("written in letters of another alphabet or width")
    return wired


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(name: str, notes: list[str]) -> Address | None:
    """An address in any spelling that connects: 127.1, 0x7f000001, 2130706433, 0177.0.0.1."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    parts = name.split(".")
    if not 1 <= len(parts) <= 4 or not all(
        re.fullmatch(r"0[xX][0-9a-fA-F]*|\d+", p) for p in parts
    ):
        return None
    try:
        numbers = [_whole(part) for part in parts]
    except ValueError:
        raise Unclear("that is no address") from None
    last = 256 ** (5 - len(numbers))
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= last:
        raise Unclear("that is no address")
    value = numbers[-1] + sum(n << (24 - 8 * place) for place, n in enumerate(numbers[:-1]))
    notes.append(f"an unusual spelling: {name}")
    return ipaddress.IPv4Address(value)


def _whole(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") and text != "0" else int(text)


def _kind_of(address: Address) -> list[str]:
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return [f"stands for {mapped}", *_kind_of(mapped)]
    if address.is_loopback or address.is_unspecified:
        return ["this computer"]
    if address.is_link_local:
        return ["an address of this machine's own link, where clouds keep their secrets"]
    return ["an address of the local network"] if address.is_private else []


def _listed(host: Host, patterns: Sequence[str]) -> bool:
    return any(_matches(host, pattern.lower()) for pattern in patterns)


def _matches(host: Host, pattern: str) -> bool:
    try:
        network = ipaddress.ip_network(pattern, strict=False)
        address = ipaddress.ip_address(host.name)
    except ValueError:
        pass
    else:
        return address in network
    name, colon, port = pattern.rpartition(":")
    if colon and port.isdigit():
        return int(port) == host.port and _matches(host, name)
    try:
        name = _ascii(pattern.rstrip("."), [])
    except Unclear:
        return False
    if name.startswith("*."):
        return host.name.endswith(name[1:])
    return host.name == name
