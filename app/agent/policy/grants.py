"""The user's answers to approval questions, and the exact arguments that an answer holds for."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from app.agent.policy.judgements import Touch
from app.imaging.types import ImageRef
from app.tools.api import ToolSpec


def exact(arguments: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as plain JSON, exactly as the tool will get them, with its defaults."""
    if isinstance(arguments, BaseModel):
        return _plain_value(arguments)
    # A copy through JSON: a later change of the object must not change what the user allowed.
    return json.loads(_canonical(dict(arguments)))


def fingerprint(
    spec: ToolSpec,
    arguments: BaseModel | Mapping[str, Any],
    touches: Sequence[Touch] = (),
) -> str:
    """Return the SHA-256 (hex) of a call: tool, version, effect, exact arguments and `touches`.

    `touches`, the files and hosts that the call would reach, are included because the same path may
    lead elsewhere tomorrow.
    """
    whole = [spec.name, spec.version, str(spec.approval), exact(arguments)]
    whole += [[item.what, item.argument, item.shown] for item in touches]
    return hashlib.sha256(_canonical(whole).encode("utf-8", "surrogatepass")).hexdigest()


Strict = Literal["", "ask", "deny"]
"""Rule for the session: "" follows the policy, "ask" always asks, "deny" refuses what acts."""


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """The user's permission for one exact call, valid for the rest of a conversation."""

    thread_id: str
    tool: str
    fingerprint: str


@dataclass(frozen=True, slots=True, order=True)
class ToolRefusal:
    """The user's refusal of a tool for the rest of a conversation, whatever the arguments."""

    thread_id: str
    tool: str


class Grants:
    """Remembers the user's answers that hold for a conversation or until the program ends.

    A yes is valid for one version of a tool with exactly the same arguments, reaching the same
    files and hosts; a no is valid for the tool whatever its arguments. Answers are kept in memory
    only, so the user is asked again after the program restarts. Thread-safe.

    Attributes:
        on_withdraw: Called with the tool's name ("" for all tools) when permissions are withdrawn.
        on_change: Called with (tool, its new rule), both as text: ("every tool", "deny") when
            `strict` changes, ("send_mail", "asks again") when refusals are withdrawn.
    """

    def __init__(self) -> None:
        # The GUI's thread and the agent's use these: each method replaces or reads one whole set.
        self._given: set[Grant] = set()
        self._refused: set[ToolRefusal] = set()
        self._overridden: set[tuple[str, ImageRef, str]] = set()
        self._strict: Strict = ""
        self.on_change: Callable[[str, str], object] = lambda _what, _to: None
        self.on_withdraw: Callable[[str], object] = lambda _tool: None

    @property
    def strict(self) -> Strict:
        """The user's rule for all tools until the program ends: "ask", "deny", or "" for none.

        Both make every tool ask; "deny" also refuses those that do more than read and compute.
        """
        return self._strict

    @strict.setter
    def strict(self, rule: Strict) -> None:
        if rule != self._strict:
            self._strict = rule
            self.on_change("every tool", rule or "as the rules say")

    def grant(
        self,
        thread_id: str,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        touches: Sequence[Touch] = (),
    ) -> None:
        """Remember the user's permission for exactly this call."""
        self._given.add(Grant(thread_id, spec.name, fingerprint(spec, arguments, touches)))

    def is_granted(
        self,
        thread_id: str,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        touches: Sequence[Touch] = (),
    ) -> bool:
        """Return whether exactly this call was allowed in the thread."""
        return Grant(thread_id, spec.name, fingerprint(spec, arguments, touches)) in self._given

    def refuse(self, thread_id: str, tool: str) -> None:
        """Remember that the user refused a tool, and forget earlier permissions for it."""
        self._refused.add(ToolRefusal(thread_id, tool))
        self._given = {
            item for item in tuple(self._given) if (item.thread_id, item.tool) != (thread_id, tool)
        }

    def is_refused(self, thread_id: str, tool: str) -> bool:
        """Return whether the user refused the tool in the thread."""
        return ToolRefusal(thread_id, tool) in self._refused

    def accept_objection(self, thread_id: str, image: ImageRef, objection: str) -> None:
        """Remember that the user accepted an image despite a tool's `objection` to it."""
        self._overridden = {*self._overridden, (thread_id, image, objection)}

    def is_objection_accepted(self, thread_id: str, image: ImageRef, objection: str) -> bool:
        """Return whether the user accepted this objection for this image in the thread."""
        return (thread_id, image, objection) in self._overridden

    def active_grants(self, thread_id: str = "") -> tuple[Grant, ...]:
        """Return the permissions in one thread, or in all threads if `thread_id` is ""."""
        return tuple(
            sorted(item for item in tuple(self._given) if thread_id in ("", item.thread_id))
        )

    def active_refusals(self, thread_id: str = "") -> tuple[ToolRefusal, ...]:
        """Return the refusals in one thread, or in all threads if `thread_id` is ""."""
        found = (item for item in tuple(self._refused) if thread_id in ("", item.thread_id))
        return tuple(sorted(found))

    def withdraw(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget the permissions for `tool` in `thread_id`; "" means all tools or all threads.

        If `tool` is "", accepted objections are forgotten, too.
        """
        self._given = _others(self._given, thread_id, tool)
        if not tool:
            kept = self._overridden if thread_id else set[tuple[str, ImageRef, str]]()
            self._overridden = {item for item in kept if item[0] != thread_id}
        self.on_withdraw(tool)

    def ask_again(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget the refusals of `tool` in `thread_id`; "" means all tools or all threads."""
        before = self._refused
        self._refused = _others(before, thread_id, tool)
        if self._refused != before:
            self.on_change(tool or "every tool", "asks again")


_Answer = TypeVar("_Answer", Grant, ToolRefusal)


def _others(answers: Collection[_Answer], thread_id: str, tool: str) -> set[_Answer]:
    """Return the answers of other threads or about other tools."""
    return {
        item
        for item in tuple(answers)
        if (thread_id and item.thread_id != thread_id) or (tool and item.tool != tool)
    }


def _plain_value(value: Any) -> Any:
    """Return the value as plain JSON with everything that a tool may act on.

    `model_dump` would not do: a class at any depth can leave a field out of it (`exclude`,
    `__iter__`), mask it (SecretStr), or write it as something else (a serializer).
    """
    match value:
        case BaseModel():
            held: dict[str, Any] = object.__getattribute__(value, "__dict__")
            extra: dict[str, Any] = object.__getattribute__(value, "__pydantic_extra__") or {}
            # An extra one may bear the name of a field that is given by another (an alias).
            more = {f"{name} (extra)" if name in held else name: extra[name] for name in extra}
            return {str(name): _plain_value(item) for name, item in (*held.items(), *more.items())}
        case Secret() | SecretStr() | SecretBytes():
            return _plain_value(value.get_secret_value())
        case Mapping():
            items = cast("Mapping[Any, Any]", value)
            return {str(_plain_value(name)): _plain_value(item) for name, item in items.items()}
        case bytes() | bytearray() | memoryview():
            return _text_of_bytes(bytes(value))
        case list() | tuple() | deque():
            return [_plain_value(item) for item in cast("Sequence[Any]", value)]
        case set() | frozenset():
            return sorted(map(_plain_value, cast("Collection[Any]", value)), key=_canonical)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {item.name: _plain_value(getattr(value, item.name)) for item in fields(value)}
        case _:
            return to_jsonable_python(value, bytes_mode="base64", fallback=_fields_of)


def _text_of_bytes(value: bytes) -> str:
    """Return bytes as their text, since a tool may open a file by them, else also in base64."""
    whole = base64.urlsafe_b64encode(value).decode()
    if b"\0" in value:
        return whole  # no path holds a NUL
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"{value.decode('latin-1')} (no UTF-8, in base64 {whole})"


def _fields_of(value: Any) -> Any:
    """Return the fields of an object of a pack's own type."""
    return _plain_value(vars(value)) if hasattr(value, "__dict__") else repr(value)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
