r"""Judges the arguments of a call: the files and hosts that they name, and how large they are.

An argument is a path if the tool declares it as one (`ToolSpec.paths`) or if a key on the way to it
says so ("image_path", "files"). It is a network address if its key says so ("url", "host").

Every other text is judged by one rule: it may contain no path to a file outside the run (/etc/x,
~/x, ../x, C:\x, \\server\share, file:) and, unless the tool is declared to send data, no URL. The
check itself opens nothing outside the run's folder.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import BaseModel

from app.agent.policy import site_rules
from app.agent.policy.hosts import AmbiguousHost, parse_host
from app.agent.policy.judgements import Judgement, Rule, Touch, strictest
from app.agent.policy.scope import Scope
from app.agent.privacy.key_words import is_path_key, words_of
from app.settings import HostSettings, PolicySettings
from app.tools.api import Approval, PathUse, ToolSpec

_log = logging.getLogger(__name__)

DEEPEST = 40
"""Maximum number of nested levels; deeper arguments are refused."""

_IMAGE_WORDS = frozenset(("image", "images", "dicom", "dicoms", "picture", "pictures"))
_HOST_WORDS = frozenset(
    (
        *("url", "urls", "uri", "uris", "host", "hosts", "hostname", "hostnames", "endpoint"),
        *("endpoints", "server", "servers", "webhook", "webhooks", "proxy", "ip", "fqdn", "peer"),
        *("peers", "broker", "gateway", "email", "emails", "mail", "recipient", "recipients"),
    )
)
_URL = re.compile(
    r"""
    (?<![A-Za-z0-9])(?!file:)[A-Za-z][A-Za-z0-9+.\-]{0,30}\s{0,3}:[\\/]{2,}[^\s"'<>]*
    | (?<![A-Za-z0-9])(?:https?|wss?|s?ftps?|ssh|smb|ldaps?|mailto|javascript|data):[^\s"'<>]+
    | (?<![\w.@])www\.[\w-]+\.[^\s"'<>]+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PATH_LENGTH = 4_096  # PATH_MAX on Linux
_ELSEWHERE = re.compile(
    r"""
    (?<!\w)file:\S
    | (?<!\w)[A-Za-z]:[\\/]                                 # a drive
    | ^\s*\\ | (?<![\w:\\])\\\\[\w.?] | (?<![\w:/])//[\w.-]+/    # a device or share
    | (?:^|[\\/\s"'=(])\.\.(?:[\\/]|$)                      # a folder above
    | ^\s*~\s*$ | (?<!\w)~(?:[A-Za-z_][\w.-]*)?[\\/]        # a home folder; not "~2/3 of it"
    | [$]\{?[A-Za-z_]\w*\}?[\\/] | %\w+%[\\/]               # a variable
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Spellings of a path that leads out of the folder where it is read."""
_ROOTED = re.compile(r"""(?:(?<![\w:./\\*])|(?<=:))/(?!/)([^\s"'<>|;,)/]+)""")
"""An absolute path anywhere in a text, by its first folder."""
_REPLACED = re.compile(r"^\s*file:|^\s*~|[$][\w{]|%\w+%|%[0-9a-f]{2}", re.IGNORECASE)
"""Parts of a path for which some programs would put something else when they write there."""
_OWN_PATH = "\ue000"  # stands for a path of the run
_PATH_END = r"(?=$|[\s\"',;:)]|\.(?:\s|$))"

_TEXT = 100_000
_ITEMS = 1_000
_NUMBER = 1e15
_WHOLE = 1_000_000
"""Most characters of all texts of a call together."""
_GO_ON = "Go on without it."
_PLAIN_PATH = "Write the whole path, without ~, .., variables or a file:// address."


class NestedTooDeeply(ValueError):
    """Arguments are nested deeper than `DEEPEST`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One text, number, list or table (JSON object) in the arguments of a call.

    Attributes:
        value: The value itself.
        where: Its place in the arguments, e.g. "files[2].name".
        argument: Name of the top-level argument that contains it.
        keys: All keys on the path to it, the argument first; empty if the value is a table's key.
        default: Whether the whole argument that contains it has the tool's default value.
    """

    value: str | int | float | Sequence[Any] | Mapping[str, Any]
    where: str
    argument: str
    keys: tuple[str, ...]
    default: bool = False

    @property
    def pattern(self) -> str:
        """`where` without list indices ("files.name"), the form that `ToolSpec.paths` uses."""
        return re.sub(r"\[\d+\]", "", self.where)


def judge_arguments(
    spec: ToolSpec, arguments: Mapping[str, Any], scope: Scope, rules: PolicySettings
) -> Judgement:
    """Return the judgement of a call's exact arguments, plain JSON as returned by `grants.exact`.

    Raises:
        NestedTooDeeply: The arguments are nested deeper than `DEEPEST`.
        RecursionError: The arguments are nested so deeply that they cannot be examined at all.
    """
    found = pieces(spec.Input, arguments)
    sizes = list(_judge_sizes(spec, found))
    if sizes:
        return strictest(sizes)  # searching what is too large could take long
    paths = (
        _judge_path(spec, piece, piece.value, scope, rules)
        for piece in found
        if isinstance(piece.value, str) and not _is_program(spec, piece)
    )
    hosts = _judge_hosts(spec, found, rules.hosts)
    return strictest([*(item for item in paths if item is not None), *hosts])


def _refused(spec: ToolSpec, where: str, why: str, remedy: str) -> Judgement:
    # The value is not repeated: it may be a patient's folder, or an instruction to the model.
    subject = f"its argument {where}" if where else "it"
    return Judgement(Rule.DENY, f"{spec.name} was not run: {subject} {why}.", where, remedy)


# -- taking arguments apart -------------------------------------------------------------------


def pieces(input_type: type[BaseModel], arguments: Mapping[str, Any]) -> list[Piece]:
    """Return every text, number, list and table in arguments (plain JSON), and the tables' keys.

    `input_type` is the tool's argument type, which holds the default values.
    """
    found: list[Piece] = []
    for name, value in arguments.items():
        field = input_type.model_fields.get(name)
        default = field is not None and not field.is_required() and _is_default(field, value)
        found += _walk(Piece(value, name, name, (name,), default))
    return found


def _walk(piece: Piece, depth: int = 1) -> Iterator[Piece]:
    if depth > DEEPEST:
        raise NestedTooDeeply
    value = piece.value
    if isinstance(value, bool) or not isinstance(value, str | int | float | Mapping | list):
        return
    yield piece
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield replace(piece, value=key, where=f"{piece.where} (a name in it)", keys=())
            inner = replace(
                piece, value=item, where=f"{piece.where}.{key}", keys=(*piece.keys, key)
            )
            yield from _walk(inner, depth + 1)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            inner = replace(piece, value=item, where=f"{piece.where}[{number}]")
            yield from _walk(inner, depth + 1)


def _is_default(field: Any, value: Any) -> bool:
    try:
        default = field.get_default(call_default_factory=True)
    except Exception:  # made of other arguments or by a pack's code: judged like any value
        return False
    if isinstance(default, str | int | float | bool | None):
        return type(default) is type(value) and default == value
    # A path's default is written as its text; lists and tables compare as JSON.
    return str(default) == value if isinstance(value, str) else not default and not value


# -- sizes ------------------------------------------------------------------------------------


def _judge_sizes(spec: ToolSpec, found: Sequence[Piece]) -> Iterator[Judgement]:
    whole = sum(len(piece.value) for piece in found if isinstance(piece.value, str))
    if whole > _WHOLE:
        why = f"contain more than {_WHOLE:,} characters together"
        yield Judgement(
            Rule.DENY, f"{spec.name} was not run: its arguments {why}.", "", "Use less."
        )
    for piece in found:
        why = _excess(piece.value)
        if why:
            yield _refused(spec, piece.where, why, "Use less.")


def _excess(value: Any) -> str:
    match value:
        case str() as text if len(text) > _TEXT:
            return f"is longer than {_TEXT:,} characters"
        # Compared as they are: a whole number may be larger than any float.
        case float() as number if not math.isfinite(number):
            return "is not a finite number"
        case int() | float() as number if abs(number) > _NUMBER:
            return f"is beyond {_NUMBER:,.0f}"
        case Mapping() | list() as items if len(items) > _ITEMS:
            return f"has more than {_ITEMS:,} items"
        case _:
            return ""


# -- files ------------------------------------------------------------------------------------


def _judge_path(
    spec: ToolSpec, piece: Piece, text: str, scope: Scope, rules: PolicySettings
) -> Judgement | None:
    use = _path_use(spec, piece)
    if not text.strip() or (piece.default and use != "write"):
        return None  # nothing at all, or the tool's own choice of what it reads
    if "\0" in text:
        why = "contains a NUL character"
    elif use == "write":
        return _judge_target(spec, piece, text, scope, rules)
    elif scope.holds(text):
        return None
    elif use == "read":
        if _is_unknown_name(text, scope):
            return None  # the tool itself says which images there are
        why = "names neither an open image nor a file of this run"
    elif not leads_elsewhere(text, scope):
        return None
    else:
        why = "contains the path of a file that is not of this run"
    return _refused(spec, piece.where, why, scope.hint())


def _path_use(spec: ToolSpec, piece: Piece) -> PathUse | None:
    """Return what the tool does with the path there; None if it is not known to be one."""
    declared = spec.paths.get(piece.pattern) or spec.paths.get(piece.argument)
    if declared is not None:
        return declared if declared in ("read", "write") else None
    named = any(
        is_path_key(key) or not _IMAGE_WORDS.isdisjoint(words_of(key)[-1:]) for key in piece.keys
    )
    return "read" if named else None


def _judge_target(
    spec: ToolSpec, piece: Piece, text: str, scope: Scope, rules: PolicySettings
) -> Judgement | None:
    """Judge a file to write: one outside the run's folder is asked about with its whole path."""
    remote = text.startswith(("\\\\", "//")) or (os.name != "nt" and re.match(r"[A-Za-z]:", text))
    plain = not remote and not _REPLACED.search(text) and text == text.strip()
    path = scope.target(text) if plain else None
    remedy = "Choose another folder."
    if path is None:
        why, remedy = "is not a plain path to write to", _PLAIN_PATH
    elif scope.contains_resolved(path):
        return None
    elif not Path(text).is_absolute():
        why, remedy = "leads out of this run's folder", _PLAIN_PATH
    elif spec.approval in (Approval.READ, Approval.COMPUTE):
        why = f"names a file to write, and {spec.name} is not declared to write"
        remedy = "Leave it out."
    elif scope.is_protected(path):
        why = "would overwrite an open image or a file of Sightline itself"
    elif not site_rules.folder_allowed(rules.folders, path):
        why = "names a folder that this installation lets no tool write to"
        if rules.folders.allow:
            remedy = f"Folders are {', '.join(rules.folders.allow)}."
    else:
        link = "" if Path(os.path.normpath(text)) == path else "a link leads there; "
        touch = Touch("writes", piece.where, str(path), link + _replacement_note(path))
        return Judgement(Rule.ASK, f"It writes to {path}.", piece.where, touches=(touch,))
    return _refused(spec, piece.where, why, remedy)


def _replacement_note(path: Path) -> str:
    if path.is_dir():
        return "a folder that is there already"
    return "replaces the file that is there" if path.exists() else "a new file"


def leads_elsewhere(text: str, scope: Scope) -> bool:
    """Return whether a text, not declared to be a path, contains a path to files outside the run.

    Absolute paths within a sentence count only if their first folder exists on this computer: in
    "normal /unclear", "/unclear" is not a path.
    """
    for form in _decoded(_without_own_paths(text, scope)):
        whole = form.strip()
        if _ELSEWHERE.search(form) or any(_at_root(name) for name in _ROOTED.findall(form)):
            return True
        # Without a blank it can be nothing else; with one, its first folder may have a blank.
        rooted = whole.startswith("/") and len(whole) <= _PATH_LENGTH
        if rooted and (not re.search(r"\s", whole) or _at_root(whole.split("/")[1])):
            return True
    return bool(re.search(r"[./]", text)) and _exists_relative(text, scope)


def _at_root(name: str) -> bool:
    name = name.rstrip(".:!?]}")
    return bool(name) and os.path.lexists(f"/{name}")


def _without_own_paths(text: str, scope: Scope) -> str:
    """Return the text without the paths of the run, which may hold spaces."""
    known = [name for name in scope.paths if name in text]
    for name in sorted(known, key=len, reverse=True):
        text = re.sub(re.escape(name) + _PATH_END, _OWN_PATH, text)
    folder = str(scope.folder) if scope.folder is not None else ""
    if not folder or folder not in text:
        return text

    def hide(found: re.Match[str]) -> str:
        path = found[0].rstrip(".:!?")
        return _OWN_PATH if path == folder or scope.contains(path) else found[0]

    return re.sub(re.escape(folder) + r"(?:[\\/][^\s\"']*|" + _PATH_END + ")", hide, text)


def _is_unknown_name(text: str, scope: Scope) -> bool:
    """Return whether a text is a plain name that leads to no file, however it is opened."""
    if len(text) > 255 or any(
        re.search(r"[\\/:\n~$%]|^\.", form.strip()) for form in _decoded(text)
    ):
        return False
    return not _exists_relative(text, scope)


def _exists_relative(text: str, scope: Scope) -> bool:
    """Return whether a text names a file at the start or run folder; a run's own passed before."""
    if len(text) > 3 * _PATH_LENGTH or "\n" in text.strip():
        return False
    folders = [Path(), *([scope.folder] if scope.folder is not None else [])]
    for form in _decoded(text):
        name = form.strip().replace("\\", "/").rstrip("/")
        if name in ("", ".") or len(name) > _PATH_LENGTH:
            continue
        with suppress(OSError, ValueError):
            if any(os.path.lexists(folder / name) for folder in folders):
                return True
    return False


def _decoded(text: str) -> Iterator[str]:
    """Yield the text as it is, and with percent signs decoded and wide letters narrowed."""
    seen = {text}
    yield text
    form = text
    for _ in range(3):  # a percent sign may itself be encoded
        form = unicodedata.normalize("NFKC", unquote(form))
        if form in seen:
            return
        seen.add(form)
        yield form


# -- hosts ------------------------------------------------------------------------------------


def _judge_hosts(
    spec: ToolSpec, found: Sequence[Piece], hosts: HostSettings
) -> Iterator[Judgement]:
    if spec.approval is not Approval.SEND:
        for piece in found:
            if not piece.default and not _is_program(spec, piece) and _addresses(piece):
                why = "names another machine, and this tool sends nothing"
                yield _refused(spec, piece.where, why, _GO_ON)
        return
    named = [("", host) for host in spec.hosts]
    named += [(piece.where, address) for piece in found for address in _addresses(piece)]
    for where, address in named:
        yield _judge_host(spec, where, address, hosts)
    if not named and hosts.allow:
        why = "does not say where it sends to, and this installation lists the allowed hosts"
        yield _refused(spec, "", why, _GO_ON)


def _is_program(spec: ToolSpec, piece: Piece) -> bool:
    """Return whether a text is a program, or about one.

    Code names paths and code systems. Its sandbox reaches neither files nor hosts, whatever it
    says, and the user is asked about it and sees it whole.
    """
    return spec.approval is Approval.EXECUTE and spec.paths.get(piece.argument) == "text"


def _judge_host(spec: ToolSpec, where: str, address: str, hosts: HostSettings) -> Judgement:
    try:
        host = parse_host(address)
    except AmbiguousHost as error:
        return _refused(spec, where, f"does not name a host plainly: {error}", "Write it plainly.")
    if not site_rules.host_allowed(hosts, host):
        why = f"names {host.shown}, which this installation does not allow"
        return _refused(spec, where, why, _GO_ON)
    touch = Touch("sends to", where, host.shown, "; ".join(host.notes))
    return Judgement(Rule.ASK, f"It sends to {host.shown}.", where, touches=(touch,))


def _addresses(piece: Piece) -> list[str]:
    """Return the addresses in a piece: all of it if it is declared as one, else its URLs."""
    declared = any(map(_is_host_key, piece.keys))
    if isinstance(piece.value, int | float):
        # 2130706433 is an address only where an address is asked for.
        return [str(piece.value)] if declared else []
    text = piece.value.strip() if isinstance(piece.value, str) else ""
    if not text:
        return []
    if declared or _is_ip_address(text):
        return [text]
    for form in _decoded(text):
        urls = [found[0] for found in _URL.finditer(form)]
        if urls:
            return urls
    return []


def _is_host_key(key: str) -> bool:
    words = words_of(key)
    if words[-1:] in (["name"], ["address"]):
        words.pop()  # "server_address", "host_name"
    return bool(words) and words[-1] in _HOST_WORDS


def _is_ip_address(text: str) -> bool:
    # In its usual spelling only: 0.5 is a number, 1.2.840.10008 a UID.
    if text.count(".") != 3 and ":" not in text:
        return False
    with suppress(ValueError):
        ipaddress.ip_address(text.strip("[]"))
        return True
    return False
