"""Which calls may run, which must be asked for: code and data, out of the model's reach.

A rule stands for each effect that a tool declares, and for what its arguments name: files, hosts,
sizes. A site may set stricter ones, for an effect, a tool or an argument. What a model, a tool or a
file says is never a reason: a decision rests on the tool's declaration, on this table, on what the
arguments would reach, and on the user's own answers.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from app.agent.enforcement.update_plan_tool import OWN
from app.agent.policing import hosts, paths, sizes
from app.agent.policing.data import EVERY, PARTS, Additions, additions, rule_of, table, wrong
from app.agent.policing.scope import NO_SCOPE, Scope
from app.agent.policing.verdicts import STRICTNESS, Judgement, Rule, Touch, strictest
from app.agent.policing.walk import TooDeep, pieces
from app.imaging.types import ImageRef
from app.tools.api import Approval, ToolSpec

__all__ = [
    "DEFAULTS",
    "NO_SCOPE",
    "Grant",
    "Grants",
    "Judgement",
    "Policy",
    "Refusal",
    "Rule",
    "Scope",
    "Touch",
    "exact",
    "fingerprint",
]

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
        more: Rules for arguments, hosts, folders and sizes.
        also: Further policies that hold as well, such as the site's beside the user's own.
    """

    effects: Mapping[Approval, Rule]
    tools: Mapping[str, Rule]
    more: Additions = field(default_factory=Additions)
    also: tuple[Policy, ...] = ()

    @classmethod
    def standard(cls) -> Policy:
        """Reads and computing run freely, the rest asks."""
        return cls({}, {})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Policy:
        """Rules as a site writes them; see `app.agent.policing.data`.

        Raises:
            UsageError: Something in it is not understood. Rules that are only half understood
                would be weaker than the site means them to be.
        """
        known = ("effects", "tools", *PARTS)
        unknown = [str(key) for key in data if key not in known]
        if unknown:
            listed = f"{', '.join(known[:-1])} and {known[-1]}"
            raise wrong(f"{unknown[0]!r} is not a part of it", f"The parts are {listed}.")
        effects: dict[Approval, Rule] = {}
        for name, value in table(data, "effects").items():
            try:
                effects[Approval(name)] = rule_of(name, value)
            except ValueError:
                listed = ", ".join(item.value for item in Approval)
                raise wrong(f"{name!r} is no effect", f"Effects are {listed}.") from None
        tools = {name: rule_of(name, value) for name, value in table(data, "tools").items()}
        return cls(effects, tools, additions(data))

    def rule(self, spec: ToolSpec) -> Rule:
        """The strictest rule that applies whatever the arguments; an unknown effect asks."""
        effect = spec.approval  # once: what is asked twice may answer twice
        rules = (
            *(policy.rule(spec) for policy in self.also),
            DEFAULTS.get(effect, Rule.ASK),
            self.effects.get(effect, Rule.ALLOW),
            self.tools.get(spec.name, Rule.ALLOW),
            self.tools.get(EVERY, Rule.ALLOW),
        )
        return max(rules, key=STRICTNESS.__getitem__)

    @property
    def remember(self) -> bool:
        """Whether a yes for a whole conversation is offered, and holds."""
        return self.more.remember and all(policy.remember for policy in self.also)

    def judge(
        self,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        scope: Scope = NO_SCOPE,
    ) -> Judgement:
        """Whether a call may run with these arguments: the strictest of all rules that apply.

        Args:
            spec: The tool.
            arguments: The exact ones.
            scope: What the run may touch.
        """
        rule = self.rule(spec)
        if rule is Rule.DENY:
            reason = f"The policy of this installation does not allow {spec.name}."
            return Judgement(rule, reason, remedy="Go on without it.")
        by_effect = Judgement(rule)
        if spec.pack == OWN:
            return by_effect  # the loop's own: it reaches nothing but the conversation
        try:
            found = pieces(spec.Input, exact(arguments))
        except (TooDeep, RecursionError):
            reason = f"{spec.name} was not run: its arguments are nested too deeply."
            return Judgement(Rule.DENY, reason, remedy="Use a flatter form.")
        too_large = sizes.judge(spec, found, self.more)
        if any(item.rule is Rule.DENY for item in too_large):
            return strictest(too_large)  # nothing is looked for in what is too large
        return strictest(
            [
                by_effect,
                *too_large,
                *paths.judge(spec, found, scope, self.more.folders),
                *hosts.judge(spec, found, self.more.hosts),
                *(policy.judge(spec, arguments, scope) for policy in self.also),
            ]
        )

    def unknown(self, specs: Collection[ToolSpec]) -> list[str]:
        """A sentence for each rule that names a tool or an argument that there is not."""
        known = {spec.name: frozenset(spec.Input.model_fields) for spec in specs}
        known[EVERY] = frozenset(name for names in known.values() for name in names)
        told = [
            f'A rule names the tool "{name}", which is not installed.{_near(name, known)}'
            for name in dict.fromkeys((*self.tools, *self.more.arguments))
            if name not in known
        ]
        told += (
            f'A rule names the argument "{name}", which {_who(tool)}.{_near(name, known[tool])}'
            for tool, rules in self.more.arguments.items()
            for name in rules
            if tool in known and name.split(".")[0] not in known[tool]
        )
        told += (sentence for policy in self.also for sentence in policy.unknown(specs))
        return list(dict.fromkeys(told))


def _who(tool: str) -> str:
    return "no tool has" if tool == EVERY else f"{tool} has not"


def _near(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" Is {near[0]} meant?" if near else ""


def exact(arguments: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they will be used: validated ones with their defaults, as plain JSON."""
    if isinstance(arguments, BaseModel):
        return _whole(arguments)
    # A copy through JSON: what was asked about must not change with the object it came from.
    return json.loads(_canonical(dict(arguments)))


def fingerprint(
    spec: ToolSpec,
    arguments: BaseModel | Mapping[str, Any],
    touches: Sequence[Touch] = (),
) -> str:
    """SHA-256 (hex) of the tool's name, its version, effect, the exact arguments and their reach.

    Args:
        spec: The tool.
        arguments: Its arguments.
        touches: What they would reach: the same path may lead elsewhere tomorrow.
    """
    whole = [spec.name, spec.version, str(spec.approval), exact(arguments)]
    whole += [[item.what, item.argument, item.shown] for item in touches]
    return hashlib.sha256(_canonical(whole).encode("utf-8", "surrogatepass")).hexdigest()


Strict = Literal["", "ask", "deny"]
"""Until Sightline is closed: as the rules say, each call asks, or what acts is refused."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A yes for the rest of the conversation, as the settings page lists it."""

    thread_id: str
    tool: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A no to a tool for the rest of the conversation, whatever its arguments."""

    thread_id: str
    tool: str


class Grants:
    """The user's answers for a conversation, and for the session.

    A yes is for this tool in this version with these arguments and what they reach, a no is for the
    tool. Kept in memory only, so that a new start of the program asks again. Read and written from
    the GUI's thread and the agent's: each method takes or makes one whole set.

    Attributes:
        withdrawn: Is told which tool's yeses were taken back.
        changed: Is told of a rule for the session, or of a no that was taken back.
    """

    def __init__(self) -> None:
        self._given: set[Grant] = set()
        self._refused: set[Refusal] = set()
        self._overridden: set[tuple[str, ImageRef, str]] = set()
        self._strict: Strict = ""
        self.changed: Callable[[str, str], object] = lambda _what, _to: None
        self.withdrawn: Callable[[str], object] = lambda _tool: None  # is told of it

    @property
    def strict(self) -> Strict:
        """What holds for every tool for the rest of the session."""
        return self._strict

    @strict.setter
    def strict(self, rule: Strict) -> None:
        if rule != self._strict:
            self._strict = rule
            self.changed("every tool", rule or "as the rules say")

    def give(
        self,
        thread_id: str,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        touches: Sequence[Touch] = (),
    ) -> None:
        """Remember a yes."""
        self._given.add(Grant(thread_id, spec.name, fingerprint(spec, arguments, touches)))

    def given(
        self,
        thread_id: str,
        spec: ToolSpec,
        arguments: BaseModel | Mapping[str, Any],
        touches: Sequence[Touch] = (),
    ) -> bool:
        """Whether exactly this was allowed in this thread."""
        return Grant(thread_id, spec.name, fingerprint(spec, arguments, touches)) in self._given

    def refuse(self, thread_id: str, tool: str) -> None:
        """Remember a no to a tool; what was allowed of it before does not hold any more."""
        self._refused.add(Refusal(thread_id, tool))
        self._given = {
            item for item in tuple(self._given) if (item.thread_id, item.tool) != (thread_id, tool)
        }

    def refused(self, thread_id: str, tool: str) -> bool:
        """Whether the user does not want that tool in this thread."""
        return Refusal(thread_id, tool) in self._refused

    def override(self, thread_id: str, image: ImageRef, objection: str) -> None:
        """Remember a yes to using an image although something speaks against it."""
        self._overridden = {*self._overridden, (thread_id, image, objection)}

    def overridden(self, thread_id: str, image: ImageRef, objection: str) -> bool:
        """Whether the user said yes to exactly this, for this image in this thread."""
        return (thread_id, image, objection) in self._overridden

    def listed(self, thread_id: str = "") -> tuple[Grant, ...]:
        """What is allowed now, in one thread or ("") in all."""
        found = (item for item in tuple(self._given) if thread_id in ("", item.thread_id))
        return tuple(sorted(found, key=lambda item: (item.thread_id, item.tool, item.fingerprint)))

    def refusals(self, thread_id: str = "") -> tuple[Refusal, ...]:
        """What is refused now, in one thread or ("") in all."""
        found = (item for item in tuple(self._refused) if thread_id in ("", item.thread_id))
        return tuple(sorted(found, key=lambda item: (item.thread_id, item.tool)))

    def withdraw(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget what was allowed in that thread, for that tool; with neither, everything."""
        self._given = {
            item
            for item in tuple(self._given)
            if (thread_id and item.thread_id != thread_id) or (tool and item.tool != tool)
        }
        if not tool:
            kept = self._overridden if thread_id else set[tuple[str, ImageRef, str]]()
            self._overridden = {item for item in kept if item[0] != thread_id}
        self.withdrawn(tool)

    def ask_again(self, *, thread_id: str = "", tool: str = "") -> None:
        """Forget what was refused in that thread, for that tool; with neither, everything."""
        before = self._refused
        self._refused = {
            item
            for item in tuple(before)
            if (thread_id and item.thread_id != thread_id) or (tool and item.tool != tool)
        }
        if self._refused != before:
            self.changed(tool or "every tool", "asks again")


def _whole(value: Any) -> Any:
    """The value as plain JSON, with all that a tool may act on.

    Not `model_dump`, nor going through the model: a class at any depth can leave a field out of
    that (`exclude`, `__iter__`), mask it (SecretStr), or write it as something else (a serializer).
    """
    match value:
        case BaseModel():
            held: dict[str, Any] = object.__getattribute__(value, "__dict__")
            extra: dict[str, Any] = object.__getattribute__(value, "__pydantic_extra__") or {}
            # An extra one may bear the name of a field that is given by another (an alias).
            more = {f"{name} (extra)" if name in held else name: extra[name] for name in extra}
            return {str(name): _whole(item) for name, item in (*held.items(), *more.items())}
        case Secret() | SecretStr() | SecretBytes():
            return _whole(value.get_secret_value())
        case Mapping():
            items = cast("Mapping[Any, Any]", value)
            return {str(_whole(name)): _whole(item) for name, item in items.items()}
        case bytes() | bytearray() | memoryview():
            return _text_of(bytes(value))
        case list() | tuple() | deque():
            return [_whole(item) for item in cast("Sequence[Any]", value)]
        case set() | frozenset():
            return sorted(map(_whole, cast("Collection[Any]", value)), key=_canonical)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {item.name: _whole(getattr(value, item.name)) for item in fields(value)}
        case _:
            return to_jsonable_python(value, bytes_mode="base64", fallback=_taken_apart)


def _text_of(value: bytes) -> str:
    """Bytes as the text that they are, since a tool may open a file by them; else in base64."""
    whole = base64.urlsafe_b64encode(value).decode()
    if b"\0" in value:
        return whole  # that can be no path
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"{value.decode('latin-1')} (no UTF-8, in base64 {whole})"


def _taken_apart(value: Any) -> Any:
    """An object of a pack's own type, by all that it holds."""
    kinds = type(value).__mro__
    slots = [name for kind in kinds for name in _names(getattr(kind, "__slots__", ()))]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    held |= getattr(value, "__dict__", {})
    held.pop("__dict__", None)
    held.pop("__weakref__", None)
    return _whole(held) if held else repr(value)


def _names(slots: str | Iterable[str]) -> Iterable[str]:
    return (slots,) if isinstance(slots, str) else slots


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
