"""Which calls may run, which must be asked for: code and data, out of the model's reach.

A rule stands for each effect that a tool declares, and a site may set stricter ones, for an effect
or for one tool. Nothing that a model, a tool or a file says is looked at here: a decision rests on
the tool's declaration, this table and the user's own answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any, cast

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from app.errors import UsageError
from app.tools.api import Approval, ToolSpec


class Rule(StrEnum):
    """What happens when a call is made."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_STRICTNESS = {Rule.ALLOW: 0, Rule.ASK: 1, Rule.DENY: 2}
DEFAULTS: Mapping[Approval, Rule] = {
    Approval.READ: Rule.ALLOW,
    Approval.COMPUTE: Rule.ALLOW,
    Approval.WRITE: Rule.ASK,
    Approval.SEND: Rule.ASK,
    Approval.EXECUTE: Rule.ASK,
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules. They can only be stricter than `DEFAULTS`: a changed settings file frees nothing.

    Attributes:
        effects: Rule of an effect.
        tools: Rule of a tool, by its name.
    """

    effects: Mapping[Approval, Rule]
    tools: Mapping[str, Rule]

    @classmethod
    def standard(cls) -> Policy:
        """Reads and computing run freely, the rest asks."""
        return cls({}, {})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Policy:
        """Rules as a site writes them: {"effects": {"compute": "ask"}, "tools": {NAME: "deny"}}.

        Raises:
            UsageError: Something in it is not understood. Rules that are only half understood
                would be weaker than the site means them to be.
        """
        unknown = [str(key) for key in data if key not in ("effects", "tools")]
        if unknown:
            raise _wrong(f"{unknown[0]!r} is not a part of it", "The parts are effects and tools.")
        effects: dict[Approval, Rule] = {}
        for name, value in _mapping(data, "effects").items():
            try:
                effects[Approval(name)] = _rule(name, value)
            except ValueError:
                listed = ", ".join(item.value for item in Approval)
                raise _wrong(f"{name!r} is no effect", f"Effects are {listed}.") from None
        tools = {name: _rule(name, value) for name, value in _mapping(data, "tools").items()}
        return cls(effects, tools)

    def rule(self, spec: ToolSpec) -> Rule:
        """The strictest rule that applies; a tool of an unknown effect asks."""
        rules = (
            DEFAULTS.get(spec.approval, Rule.ASK),
            self.effects.get(spec.approval, Rule.ALLOW),
            self.tools.get(spec.name, Rule.ALLOW),
        )
        return max(rules, key=_STRICTNESS.__getitem__)


def exact(arguments: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they will be used: validated ones with their defaults, as plain JSON."""
    if isinstance(arguments, BaseModel):
        return _whole(arguments)
    # A copy through JSON: what was asked about must not change with the object it came from.
    return json.loads(_canonical(dict(arguments)))


def fingerprint(spec: ToolSpec, arguments: BaseModel | Mapping[str, Any]) -> str:
    """SHA-256 (hex) of the tool's name, its version and the exact arguments."""
    whole = [spec.name, spec.version, str(spec.approval), exact(arguments)]
    return hashlib.sha256(_canonical(whole).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Grant:
    """A yes for the rest of the conversation, as the settings page lists it."""

    thread_id: str
    tool: str
    fingerprint: str


class Grants:
    """The user's yes for a conversation: this tool in this version with these arguments, no other.

    Kept in memory only, so that a new start of the program asks again.
    """

    def __init__(self) -> None:
        self._given: set[Grant] = set()

    def give(
        self, thread_id: str, spec: ToolSpec, arguments: BaseModel | Mapping[str, Any]
    ) -> None:
        """Remember a yes."""
        self._given.add(Grant(thread_id, spec.name, fingerprint(spec, arguments)))

    def given(
        self, thread_id: str, spec: ToolSpec, arguments: BaseModel | Mapping[str, Any]
    ) -> bool:
        """Whether exactly this was allowed in this thread."""
        return Grant(thread_id, spec.name, fingerprint(spec, arguments)) in self._given

    def listed(self, thread_id: str = "") -> tuple[Grant, ...]:
        """What is allowed now, in one thread or ("") in all."""
        found = (item for item in self._given if thread_id in ("", item.thread_id))
        return tuple(sorted(found, key=lambda item: (item.thread_id, item.tool, item.fingerprint)))

    def withdraw(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget what was allowed in that thread, for that tool; with neither, everything."""
        self._given = {
            item
            for item in self._given
            if (thread_id and item.thread_id != thread_id) or (tool and item.tool != tool)
        }


def _whole(value: Any) -> Any:
    """The value as plain JSON, with all that a tool may act on.

    Not `model_dump`: a model at any depth can leave a field out of that (`exclude`), mask it
    (SecretStr), or write it as something else (a serializer).
    """
    match value:
        case BaseModel():
            return {name: _whole(item) for name, item in value}
        case SecretStr() | SecretBytes():
            return _whole(value.get_secret_value())
        case Mapping():
            items = cast("Mapping[Any, Any]", value)
            return {str(_whole(name)): _whole(item) for name, item in items.items()}
        case list() | tuple():
            return [_whole(item) for item in cast("Sequence[Any]", value)]
        case set() | frozenset():
            return sorted(map(_whole, cast("Collection[Any]", value)), key=_canonical)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {item.name: _whole(getattr(value, item.name)) for item in fields(value)}
        case _:
            return to_jsonable_python(value, bytes_mode="base64", fallback=repr)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _mapping(data: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    value = data.get(part, {})
    if not isinstance(value, Mapping):
        raise _wrong(f"{part} is not a table", "Write one line a rule: NAME: ask.")
    return {str(key): item for key, item in value.items()}


def _rule(name: str, value: Any) -> Rule:
    try:
        return Rule(value)
    except ValueError:
        listed = ", ".join(item.value for item in Rule)
        raise _wrong(f"{value!r} is no rule (of {name})", f"Rules are {listed}.") from None


def _wrong(reason: str, remedy: str) -> UsageError:
    return UsageError(reason, subject="the policy for tools", remedy=remedy)
