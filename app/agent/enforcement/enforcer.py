"""Enforcement of the packs' rules on each call, no matter who requested it.

    left out, excluded, unsuitable: the call is refused
    low priority: a better tool runs in its place
    mandatory successor, dependency: another tool runs first

Decisions are based on the packs' data, the user's question and the calls that really ran; never on
what a model says about itself, nor on the text of a result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.agent.call_log import CallLog, LoggedCall, output_of
from app.agent.enforcement.eligibility import Eligibility
from app.agent.enforcement.rulings import (
    GO_ON_WITHOUT,
    INSERTED,
    PendingSuccessor,
    Proceed,
    Refusal,
    Ruling,
    RunFirst,
    listed,
    new_id,
)
from app.agent.events import Override
from app.agent.image_reference import image_argument, image_arguments, image_reference
from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import schema_of
from app.agent.messages import ToolCall
from app.tools.api import Tool, ToolSpec
from app.tools.pack_plan import AllOf, AnyOf, Plans, Priority, Successor


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments for a call that rules make.

    Attributes:
        arguments: The arguments that are known.
        missing: Required arguments that are unknown or invalid; () if the call can be made.
        fed: Names of the arguments taken from earlier results.
    """

    arguments: dict[str, Any]
    missing: tuple[str, ...] = ()
    fed: tuple[str, ...] = ()


def bind(
    spec: ToolSpec,
    plans: Plans,
    record: CallLog,
    images: Collection[str],
    *,
    given: Mapping[str, Any] | None = None,
    fresh: Collection[str] = (),
) -> Bound:
    """Return the arguments for a call to this tool.

    Args:
        spec: The tool.
        plans: The packs' rules, which say which outputs provide the tool's arguments.
        record: The earlier calls.
        images: References of the images that the call is about.
        given: Arguments that are already known; those that the tool does not take are left out.
        fresh: Names of tools whose results are newer than `given` and therefore replace its values.
    """
    schema = schema_of(spec.Input)
    properties: dict[str, Any] = schema.get("properties", {})
    arguments = {name: value for name, value in (given or {}).items() if name in properties}
    fed = feed(arguments, properties, spec.name, plans, record, images, fresh)
    _show(arguments, spec, record, images)
    for name, values in plans.rule(spec.name).usual:
        if name in properties and values and arguments.get(name) is None:
            arguments[name] = list(values) if _many(properties[name]) else values[0]
    try:
        spec.Input.model_validate(arguments)
    except ValidationError as error:
        named = (str(item["loc"][0]) if item["loc"] else "" for item in error.errors())
        return Bound(arguments, tuple(dict.fromkeys(filter(None, named))) or ("arguments",), fed)
    return Bound(arguments, (), fed)


def feed(
    arguments: dict[str, Any],
    properties: Mapping[str, Any],
    tool: str,
    plans: Plans,
    record: CallLog,
    images: Collection[str],
    fresh: Collection[str] = (),
) -> tuple[str, ...]:
    """Set arguments from earlier results if they are not given or the result is newer.

    Args:
        arguments: The call's arguments; changed in place.
        properties: The properties in the tool's schema, by argument.
        tool: The tool's name.
        plans: The packs' rules.
        record: The earlier calls.
        images: References of the images that the call is about.
        fresh: Names of tools whose results are newer than the given arguments.

    Returns:
        The names of the arguments that were set.
    """
    fed: list[str] = []
    for item in plans.rule(tool).feeds:
        sources = item.tools or tuple(rule.tool for rule in plans.rules() if rule.makes)
        if item.argument not in properties:
            continue
        newer = item.argument not in fed and bool(set(sources) & set(fresh))
        if arguments.get(item.argument) not in (None, "", []) and not newer:
            continue
        last = record.latest(set(sources) & set(fresh) if newer else sources, images)
        value = output_of(last, item.key or plans.rule(last.call.name).makes) if last else None
        if value is None:
            continue
        if _many(properties[item.argument]) and not isinstance(value, list):
            value = [value]
        arguments[item.argument] = value
        fed.append(item.argument)
    return tuple(fed)


def _show(
    arguments: dict[str, Any], spec: ToolSpec, record: CallLog, images: Collection[str]
) -> None:
    """Set the argument that takes the image, if nothing is given for it."""
    schema = ToolSchema(spec.name, "", schema_of(spec.Input))
    name = next(iter(image_arguments(schema)), "")
    if not name or arguments.get(name) not in (None, "", []):
        return
    chosen = record.current if record.current in images or not images else min(images)
    note = record.note(chosen)
    if note is None or image_reference(note) == "":
        return
    many = _many(schema.parameters["properties"][name])
    arguments[name] = [image_reference(note)] if many else image_reference(note)


def _many(field: Mapping[str, Any]) -> bool:
    """Return whether an argument takes a list, or a list or null."""
    kinds = {item.get("type") for item in (field, *field.get("anyOf", ()))} - {None, "null"}
    return kinds == {"array"}


class Enforcer:
    """Decides, for each call in a run, whether it proceeds, waits for another call, or is refused.

    Args:
        eligible: Decides which tools may run.
    """

    def __init__(self, eligible: Eligibility) -> None:
        self.plans = eligible.plans
        self.intent = eligible.intent
        self.record = eligible.record
        self._tools = eligible.tools
        self._eligible = eligible
        self._forced: set[tuple[str, str, str]] = set()
        self._fed_by: dict[str, set[str]] = {}
        self._roots: dict[str, str] = {}  # a call that rules put in -> the model's that led to it

    def judge(self, call: ToolCall, coming: Sequence[ToolCall] = ()) -> Ruling:
        """Return the ruling on a call that is about to run.

        Args:
            call: The call.
            coming: The calls that were requested together with it and will run after it.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            return Proceed(call)  # an unknown one is answered with near names; the loop's own run
        refused = self._eligible.barred(call)
        if refused is not None:
            return refused
        if call.raw:
            return Proceed(call)  # it does not run: nobody knows which image it means
        better = self._better(call, tool)
        if isinstance(better, Refusal):
            return better
        ruled = better or Proceed(call)
        unsuitable = self._eligible.unsuitable(ruled.call, self.images_of(ruled.call))
        if unsuitable is not None:
            return unsuitable
        waits = self._successor_before(ruled.call) or self._dependency(
            ruled.call, self.images_of(ruled.call), coming
        )
        if waits is not None:
            return waits
        return self._fed(ruled)

    def may_run_beside(self, call: ToolCall, beside: Sequence[ToolCall]) -> bool:
        """Return whether a call may run in parallel with others because it depends on none of them.

        Args:
            call: The call.
            beside: The calls that run at that time.
        """
        rule, names = self.plans.rule(call.name), {other.name for other in beside}
        images = self.images_of(call)
        for need in rule.requires:
            if not names.isdisjoint(need.tools) or self._lacking(need, images):
                return False
        given = call.arguments
        if any(names & set(f.tools) and not given.get(f.argument) for f in rule.feeds):
            return False
        following = [rule for name in names for rule in self._follow(name)]
        following += [item.rule for item in self.pending()]
        return all(call.name in self._leading_to(item) for item in following)

    def before_answer(self) -> RunFirst | Refusal | None:
        """Return the mandatory successor that must run before the answer, or None if there is none.

        A `Refusal` is returned if the successor's arguments are unknown, so that the model has to
        call it.
        """
        for item in self.pending():
            ruling = self._force(item, "")
            if ruling is not None:
                return ruling
        return None

    def pending(self) -> Iterator[PendingSuccessor]:
        """Yield the mandatory successors that have not run since the call they must follow."""
        seen: set[tuple[str, frozenset[str]]] = set()
        for cause in self.record.of_this_run():
            if not cause.message.ok:
                continue
            for rule in self._follow(cause.call.name):
                last = self.record.latest((rule.then,), cause.images, ok=False)
                ran = last is not None and last.number > cause.number
                if not ran and (rule.then, cause.images) not in seen:
                    seen.add((rule.then, cause.images))
                    yield PendingSuccessor(rule, self._latest(rule, cause))

    def recommended(self, tool: str) -> tuple[Successor, ...]:
        """Return the rules for tools that the packs recommend after this one, for this question."""
        return tuple(
            rule
            for rule in self.plans.successors(tool, self.intent.kinds)
            if not rule.mandatory and self._eligible.may(rule.then)
        )

    def images_of(self, call: ToolCall) -> frozenset[str]:
        """Return the open images that a call is about; the current image if the call names none."""
        named = self.record.images_of(call.arguments)
        return named or frozenset(filter(None, (self.record.current,)))

    def bound(self, tool: Tool, images: Collection[str], **given: Any) -> Bound:
        """Return the arguments for a call that rules make.

        Args:
            tool: The tool.
            images: References of the images that the call is about.
            **given: Further arguments of `bind`.
        """
        return bind(tool.spec, self.plans, self.record, images, **given)

    def _follow(self, tool: str) -> list[Successor]:
        """Return the rules that say what must follow this tool after it succeeded."""
        after = self.plans.successors(tool, self.intent.kinds)
        # Nothing follows itself: that would never end.
        return [r for r in after if r.mandatory and r.then != tool and self._eligible.may(r.then)]

    def _latest(self, rule: Successor, cause: LoggedCall) -> LoggedCall:
        return self.record.latest(rule.after, cause.images) or cause

    def _better(self, call: ToolCall, tool: Tool) -> Proceed | Refusal | None:
        """Return the better tool that replaces one of low priority which the user did not name."""
        name = call.name
        chosen = name in self.intent.named or call.id.startswith(INSERTED)
        if self.plans.rule(name).priority is not Priority.LOW or chosen:
            return None
        images = self.images_of(call)
        others = (other for other in self.plans.alternatives(name) if other != name)
        for other in others:
            if self.plans.rule(other).priority <= Priority.LOW or not self._eligible.fit(
                other, images
            ):
                continue
            better = self._tools.get(other)
            assert better is not None
            reason = f"{other} does the same work as {name} and is better at it."
            override = Override(rule="low_priority", tool=name, instead=other, reason=reason)
            bound = self.bound(better, images, given=call.arguments)
            if bound.missing:
                needs = ", ".join(bound.missing)
                return Refusal(call, override, f"Call {other} instead; it needs {needs}.")
            changed = call.model_copy(
                update={"name": other, "arguments": bound.arguments, "raw": ""}
            )
            return Proceed(changed, override, f"Run in place of {name}: {reason}")
        return None

    def _successor_before(self, call: ToolCall) -> RunFirst | Refusal | None:
        """Return the successor of an earlier call that must run before this call."""
        for item in self.pending():
            if call.name == item.rule.then or call.name in self._leading_to(item.rule):
                continue
            ruling = self._force(item, call.name, call)
            if ruling is not None:
                return ruling
        return None

    def _leading_to(self, rule: Successor) -> set[str]:
        """Return the tools that prepare a successor: those it follows, and what those need."""
        found: set[str] = set()
        left = [*rule.after, rule.then]
        while left:
            for need in self.plans.rule(left.pop()).requires:
                left.extend(name for name in need.tools if name not in found)
                found.update(need.tools)
        return {*found, *rule.after} - {rule.then}

    def _force(
        self, item: PendingSuccessor, wanted: str, call: ToolCall | None = None
    ) -> RunFirst | Refusal | None:
        """Return the successor's own call; None where it was inserted for this cause already."""
        then, cause = item.rule.then, item.cause
        if not self._eligible.fit(then, cause.images):
            return None
        tool = self._tools.get(then)
        assert tool is not None
        root = self._roots.get(cause.call.id, cause.call.id)
        deeper = self._dependency(self._inserted(then, root), cause.images)
        if isinstance(deeper, RunFirst):
            return deeper
        if deeper or not self._once("successor", then, f"{root} {cause.call.name}"):
            return None
        bound = self.bound(tool, cause.images)
        why = item.rule.reason.strip().rstrip(".")
        reason = f"After {cause.call.name} comes {then}{f': {why}' if why else ''}."
        override = Override(
            rule="successor", tool=wanted, instead="" if bound.missing else then, reason=reason
        )
        if bound.missing:
            asked = call or self._inserted(then, root, bound.arguments)
            return Refusal(
                asked, override, f"Call {then} first; it needs {', '.join(bound.missing)}."
            )
        if call is not None:
            self._fed_by.setdefault(call.id, set()).add(then)
        return RunFirst(self._inserted(then, root, bound.arguments), override)

    def _dependency(
        self,
        call: ToolCall,
        images: Collection[str],
        coming: Sequence[ToolCall] = (),
        above: tuple[str, ...] = (),
    ) -> RunFirst | Refusal | None:
        """Return the call that this one depends on, to run first if its arguments are known."""
        for need in self.plans.rule(call.name).requires:
            lacking = self._lacking(need, images)
            if lacking:
                return self._run_first(call, need, lacking, images, coming, (*above, call.name))
        return None

    def _lacking(self, need: AnyOf | AllOf, images: Collection[str]) -> list[str]:
        lacking = [name for name in need.tools if self.record.latest((name,), images) is None]
        return [] if isinstance(need, AnyOf) and len(lacking) < len(need.tools) else lacking

    def _run_first(
        self,
        call: ToolCall,
        need: AnyOf | AllOf,
        lacking: Sequence[str],
        images: Collection[str],
        coming: Sequence[ToolCall],
        above: tuple[str, ...],
    ) -> RunFirst | Refusal:
        if images and self._names_no_image(call):
            what = f"{call.name} needs a result of {listed(need)}"
            reason = f"{what}, and the image that it names is not open."
            override = Override(rule="dependency", tool=call.name, reason=reason)
            return Refusal(call, override, "Name an open image.")
        later = next((other for other in coming if self._serves(other, lacking, above)), None)
        if later is not None:
            return self._before(call, later, f"{call.name} needs a result of {later.name}")
        unmet = ""
        for name in self._eligible.preferred(lacking, images):
            tool = self._tools.get(name)
            if tool is None or name in above:
                continue
            deeper = self._dependency(
                ToolCall(id=call.id, name=name, arguments={}), images, (), above
            )
            if isinstance(deeper, RunFirst):
                return deeper
            bound = self.bound(tool, images)
            if deeper is None and bound.missing:
                unmet = unmet or f"Call {name} first; it needs {', '.join(bound.missing)}."
            elif deeper is None and self._once("dependency", name, "|".join(sorted(images))):
                root = self._roots.get(call.id, call.id)
                first = self._inserted(name, root, bound.arguments)
                return self._before(call, first, f"{call.name} needs a result of {listed(need)}")
        return self._refused(call, need, lacking, images, unmet)

    def _names_no_image(self, call: ToolCall) -> bool:
        """Return whether the image named by a call is neither open nor made from an open one."""
        tool = self._tools.get(call.name)
        schema = ToolSchema(call.name, "", schema_of(tool.spec.Input)) if tool else None
        name = image_argument(schema) if schema else ""
        given = call.arguments.get(name) if "image" in name else None
        named = isinstance(given, str) and bool(given.strip())
        return named and not self.record.images_of(given)

    def _serves(self, other: ToolCall, lacking: Collection[str], above: Collection[str]) -> bool:
        """Return whether a call that the model requested anyway provides what is needed."""
        if other.name not in lacking or other.name in above:
            return False
        return (
            self._eligible.barred(other) is None
            and self._eligible.unsuitable(other, self.images_of(other)) is None
        )

    def _before(self, call: ToolCall, first: ToolCall, why: str) -> RunFirst:
        self._fed_by.setdefault(call.id, set()).add(first.name)
        reason = f"{why}, so {first.name} runs first."
        return RunFirst(
            first, Override(rule="dependency", tool=call.name, instead=first.name, reason=reason)
        )

    def _refused(
        self,
        call: ToolCall,
        need: AnyOf | AllOf,
        lacking: Sequence[str],
        images: Collection[str],
        unmet: str,
    ) -> Refusal:
        reason = f"{call.name} needs a result of {listed(need)}, and there is none"
        blocks = list(filter(None, (self._eligible.blocked(name, images) for name in lacking)))
        reason += f" ({'; '.join(blocks)})." if blocks else "."
        override = Override(rule="dependency", tool=call.name, reason=reason)
        return Refusal(call, override, unmet or GO_ON_WITHOUT)

    def _fed(self, ruled: Proceed) -> Proceed:
        """Set arguments that are not given, or for which an inserted call has newer values."""
        call = ruled.call
        tool, rule = self._tools.get(call.name), self.plans.rule(call.name)
        fresh = self._fed_by.pop(call.id, set())
        if tool is None or not rule.feeds or call.raw:
            return ruled
        arguments = dict(call.arguments)
        properties = schema_of(tool.spec.Input).get("properties", {})
        images = self.images_of(call)
        fed = feed(arguments, properties, call.name, self.plans, self.record, images, fresh)
        if not fed or arguments == call.arguments:
            return ruled
        told = f"{', '.join(fed)} was set from the result before it."
        changed = call.model_copy(update={"arguments": arguments})
        return Proceed(changed, ruled.override, f"{ruled.note} {told}".strip())

    def _inserted(
        self, tool: str, root: str, arguments: Mapping[str, Any] | None = None
    ) -> ToolCall:
        """Return a call that rules insert because of the model's call `root`."""
        call = ToolCall(id=new_id(), name=tool, arguments=dict(arguments or {}))
        self._roots[call.id] = root
        return call

    def _once(self, rule: str, tool: str, cause: str) -> bool:
        """Return whether a rule inserts this tool for the first time for this cause."""
        key = (rule, tool, cause)
        if key in self._forced:
            return False
        self._forced.add(key)
        return True
