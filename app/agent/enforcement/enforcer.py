"""Enforcement of the packs' rules on each call, no matter who requested it.

    left out by the question, excluded by its pack, unsuitable for the image: the call is refused
    low priority: a better tool runs in its place
    required by an earlier call as its successor, or by this call: that tool runs first

Decisions are based on the packs' data, the user's question and the calls that really ran; never on
what a model says about itself, nor on the text of a result.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from app.agent.call_log import CallLog, LoggedCall, output_of
from app.agent.enforcement.rulings import (
    GO_ON_WITHOUT,
    INSERTED,
    Proceed,
    Refusal,
    Ruling,
    RunFirst,
    need_text,
    new_id,
)
from app.agent.events import Override
from app.agent.image_reference import (
    image_argument,
    image_arguments,
    image_reference,
    resource_of,
    takes_list,
    unsuitable_image,
)
from app.agent.llm.base import ToolSchema
from app.agent.loop.tool_execution import Tools, schema_of
from app.agent.messages import ToolCall
from app.agent.planning import Intent, ToolPlan, Vocabulary, tokens_of
from app.agent.repeated_calls import as_repeated, inner_call
from app.tools.api import Resource, Tool
from app.tools.pack_plan import AllOf, AnyOf, Plans, Priority, Successor

_log = logging.getLogger(__name__)


_QUOTED = 1500  # characters of another tool's text in a question
_KNOWN = 40  # characters of it by which a question that quotes it already is recognised


def _arguments_after(rule: Successor, cause: LoggedCall) -> Sequence[Mapping[str, Any]]:
    """Return the arguments that a result gives each call of the tool after it; () for none."""
    if rule.arguments is None:
        return ()
    try:
        return rule.arguments(cause.message.output, cause.message.metadata)
    except Exception as error:  # a pack's own code, on whatever its tools returned
        _log.warning("A pack could not read a result of %s (%s)", cause.call.name, type(error))
        return ()


class Enforcer:
    """Decides for each call in a run whether it proceeds, waits for another or is refused.

    It never inserts a tool that its pack or the question excludes, or that does not suit the image.
    """

    def __init__(self, plans: Plans, intent: Intent, tools: Tools, record: CallLog) -> None:
        self._plans = plans
        self._intent = intent
        self._tools = tools
        self._record = record
        self._forced: set[tuple[str, str, str]] = set()
        self._fed_by: dict[str, set[str]] = {}
        self._roots: dict[str, str] = {}  # a call that rules put in -> the model's that led to it

    def judge(self, call: ToolCall, coming: Sequence[ToolCall] = ()) -> Ruling:
        """Return the ruling on a call that is about to run.

        `coming` are the calls that were requested together with it and will run after it.
        """
        inner = inner_call(call, self._intent.scene.images)
        if inner is not None:
            return self._judge_repeated(call, inner, coming)
        tool = self._tools.get(call.name)
        if tool is None:
            return Proceed(call)  # an unknown one is answered with near names; the loop's own run
        refused = self._barred(call)
        if refused is not None:
            return refused
        if call.raw:
            return Proceed(call)  # it does not run: nobody knows which image it means
        better = self._better(call, tool)
        if isinstance(better, Refusal):
            return better
        ruled = better or Proceed(call)
        unsuitable = self._unsuitable(ruled.call, self._images_of(ruled.call))
        if unsuitable is not None:
            return unsuitable
        waits = (
            self._successor_before(ruled.call)
            or self._dependency(ruled.call, self._images_of(ruled.call), coming)
            or self._before_in_order(ruled.call, coming)
        )
        if waits is not None:
            return waits
        return self._quoted(self._fed(ruled))

    def _judge_repeated(
        self, call: ToolCall, inner: ToolCall, coming: Sequence[ToolCall]
    ) -> Ruling:
        """Return the ruling on `inner` for each image; unsuitable images are left to `bind`."""
        tool = self._tools.get(inner.name)
        if tool is None:
            return Proceed(call)
        refused = self._barred(inner)
        if refused is not None:
            return replace(refused, call=call)
        better = self._better(inner, tool)
        if isinstance(better, Refusal):
            return replace(better, call=call)
        ruled = Proceed(call)
        own = image_arguments(ToolSchema(inner.name, "", schema_of(tool.spec.Input)))
        if better is not None:
            inner = better.call
            ruled = replace(better, call=as_repeated(inner, call, [*own, "images"]))
        images = self._images_of(inner)
        whys = [self._mismatch(inner.name, (image,)) for image in sorted(images)]
        if whys and all(whys) and not self._plans.rule(inner.name).accepts.asks:
            reason = whys[0]
            override = Override(rule="unsuitable", tool=inner.name, reason=f"{reason}.")
            return Refusal(call, override, "Choose a tool that is for these images, or say so.")
        waits = self._successor_before(inner) or self._dependency(inner, images, coming)
        if isinstance(waits, Refusal):
            return replace(waits, call=call)
        if waits is not None and inner_call(waits.call) is None:
            first = self._tools.get(waits.call.name)
            schema = ToolSchema("", "", schema_of(first.spec.Input) if first else {})
            if waits.override.rule == "dependency" and image_argument(schema):
                drop = image_arguments(schema)
                return replace(waits, call=as_repeated(waits.call, ruled.call, drop))
        return waits or ruled

    def bind(
        self, tool: Tool, arguments: Mapping[str, Any], image: str
    ) -> tuple[dict[str, Any], str]:
        """Return the arguments of a call on one of many images, and why it may not be made or "".

        `image` is the reference of the image.
        """
        name = tool.spec.name
        call = ToolCall(id=INSERTED, name=name, arguments={})
        refused = self._barred(call) or self._unsuitable(call, (image,))
        if refused is not None:
            return {}, refused.override.reason
        for need in self._plans.rule(name).requires:
            if self._lacking(need, (image,)):
                return {}, f"{name} needs a result of {need_text(need)} on this image"
        given, missing = self._bound(tool, (image,), arguments)
        return {**arguments, **given}, f"{name} needs {missing}" if missing else ""

    def bars(self, call: ToolCall) -> bool:
        """Return whether the question or the packs exclude a call, whatever has run before it."""
        return self._barred(inner_call(call, self._intent.scene.images) or call) is not None

    def may_run_beside(self, call: ToolCall, beside: Sequence[ToolCall]) -> bool:
        """Return whether a call may run at the same time as the calls in `beside`."""
        if any(inner_call(other) is not None for other in (call, *beside)):
            return False
        rule, names = self._plans.rule(call.name), {other.name for other in beside}
        if self._intent.in_order and names != {call.name} and call.name in self._intent.wanted:
            return False
        images = self._images_of(call)
        for need in rule.requires:
            if not names.isdisjoint(need.tools) or self._lacking(need, images):
                return False
        given = call.arguments
        if any(tool in names for tool, _ in self._referred(call)):
            return False
        if any(names & set(f.tools) and not given.get(f.argument) for f in rule.feeds):
            return False
        following = [rule for name in names for rule in self._follow(name)]
        following = [rule for rule in following if rule.arguments is None]
        following += [pending for pending, _ in self._pending()]
        return all(call.name in self._leading_to(item) for item in following)

    def before_answer(self) -> RunFirst | Refusal | None:
        """Return the ruling on the next call that packs still require before the answer, or None.

        It is a `Refusal` if only the model can make the call, because its arguments are unknown.
        """
        for rule, cause in self._pending():
            ruling = self._force(rule, cause)
            if ruling is not None:
                return ruling
        return None

    def unmet(self) -> list[tuple[str, str]]:
        """Return (tool, sentence for the answer) for each needed tool that lacks its model."""
        found: list[tuple[str, str]] = []
        for pack in self._plans.packs:
            for rule in pack.successors:
                if not rule.otherwise or not set(rule.kinds) & set(self._intent.kinds):
                    continue
                others = (item for item in pack.successors if item.unless == rule.then)
                if self._ready(rule.then) or any(self._ready(item.then) for item in others):
                    continue
                causes = [item for item in self._record.all() if item.call.name in rule.after]
                ended = [item for item in causes if item.here and item.message.ok]
                if not ended and self._mismatch(rule.then, {self._record.current} - {""}):
                    continue
                if rule.then not in self._intent.left_out and (
                    not ended or any(_arguments_after(rule, item) for item in ended)
                ):
                    found.append((rule.then, rule.otherwise))
        return found

    def _ready(self, tool: str) -> bool:
        return self._tools.get(tool) is not None and not self._intent.scene.lacks(tool)

    def _due(self, rule: Successor, cause: LoggedCall) -> bool:
        """Return whether a successor follows this result."""
        if rule.arguments is None:
            return True
        if rule.then in self._intent.wanted or not self._ready(rule.then):
            return False
        if rule.unless and self._ready(rule.unless):
            return False
        return bool(_arguments_after(rule, cause))

    def _next_arguments(self, rule: Successor, cause: LoggedCall) -> Mapping[str, Any] | None:
        """Return the arguments of the next call that must follow a result; None for no call.

        A call that the model chose, or that failed, ends the row.
        """
        made = [
            item
            for item in self._record.of_this_run()
            if item.call.name == rule.then and item.number > cause.number
            if item.may_concern(cause.images)
        ]
        left = [dict(one) for one in _arguments_after(rule, cause)] or [{}]
        for item in made:
            given = item.call.arguments
            done = [one for one in left if one and all(given.get(k) == v for k, v in one.items())]
            if not done or not item.message.ok:
                return None
            left = [one for one in left if one not in done]
        return left[0] if left else None

    def _pending(self, *, before_others: bool = False) -> Iterator[tuple[Successor, LoggedCall]]:
        """Yield each mandatory successor that has not run, with the call that it must follow.

        With `before_others`, also those that are recommended before any other tool.
        """
        seen: set[tuple[str, frozenset[str]]] = set()
        for cause in self._record.of_this_run():
            if not cause.message.ok:
                continue
            for rule in self._follow(cause.call.name, before_others=before_others):
                if not self._due(rule, cause):
                    continue
                left = self._next_arguments(rule, cause)
                if left is not None and (rule.then, cause.images) not in seen:
                    seen.add((rule.then, cause.images))
                    yield rule, self._record.latest(rule.after, cause.images) or cause

    def recommended(self, tool: str) -> tuple[Successor, ...]:
        """Return the packs' rules that recommend (not require) another tool after `tool`."""
        return tuple(
            rule
            for rule in self._plans.successors(tool, self._intent.kinds)
            if not rule.mandatory and self._may(rule.then)
        )

    def _images_of(self, call: ToolCall) -> frozenset[str]:
        """Return the open images that a call is about; the current image if the call names none."""
        named = self._record.images_of(call.arguments)
        tool = self._tools.get(call.name)
        if named or (tool is not None and not self._takes_image(tool)):
            return named  # what is made of tables alone is of none but the tables' images
        return frozenset(filter(None, (self._record.current,)))

    def _takes_image(self, tool: Tool) -> bool:
        return bool(image_argument(ToolSchema(tool.spec.name, "", schema_of(tool.spec.Input))))

    def _bound(
        self, tool: Tool, images: Collection[str], given: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], str]:
        """Return arguments for a rule's call and names of missing ones; what `given` has stays."""
        spec, schema = tool.spec, schema_of(tool.spec.Input)
        properties: dict[str, Any] = schema.get("properties", {})
        arguments = {name: value for name, value in (given or {}).items() if name in properties}
        self._feed(arguments, properties, spec.name, images)
        name = image_argument(ToolSchema(spec.name, "", schema))
        current = self._record.current
        chosen = current if current in images or not images else min(images)
        shown = image_reference(self._record.note(chosen) or {})
        if name and shown and arguments.get(name) in (None, "", []):
            field = properties[name]
            all_ = [item for item in sorted(images) if self._record.note(item)]
            if resource_of(field) is not Resource.IMAGES or "maxItems" in str(field):
                all_ = [shown]
            arguments[name] = (all_ or [shown]) if takes_list(field) else shown
        for name, values in self._plans.rule(spec.name).usual_values(self._intent.kinds):
            if name in properties and values and arguments.get(name) is None:
                arguments[name] = list(values) if takes_list(properties[name]) else values[0]
        try:
            spec.Input.model_validate(arguments)
        except ValidationError as error:
            named = (str(item["loc"][0]) if item["loc"] else "arguments" for item in error.errors())
            return arguments, ", ".join(dict.fromkeys(named))
        return arguments, ""

    def _feed(
        self,
        arguments: dict[str, Any],
        properties: Mapping[str, Any],
        tool: str,
        images: Collection[str],
        fresh: Collection[str] = (),
    ) -> list[str]:
        fed: list[str] = []
        for item in self._plans.rule(tool).feeds:
            sources = item.tools or tuple(rule.tool for rule in self._plans.rules() if rule.makes)
            if item.argument not in properties:
                continue
            newer = item.argument not in fed and bool(set(sources) & set(fresh))
            if arguments.get(item.argument) not in (None, "", []) and not newer:
                continue
            last = self._record.latest(set(sources) & set(fresh) if newer else sources, images)
            key = item.key or (self._plans.rule(last.call.name).makes if last else "")
            many = takes_list(properties[item.argument])
            value = output_of(last, key, images, many=many) if last else None
            if value is None:
                continue
            if takes_list(properties[item.argument]) and not isinstance(value, list):
                value = [value]
            arguments[item.argument] = value
            fed.append(item.argument)
        return fed

    def _follow(self, tool: str, *, before_others: bool = False) -> list[Successor]:
        """Return rules of what must follow this tool; also what should come `before_others`."""
        after = self._plans.successors(tool, self._intent.kinds)
        # Nothing follows itself: that would never end.
        due = [r for r in after if r.mandatory or (before_others and r.before_others)]
        return [r for r in due if r.then != tool and self._may(r.then)]

    def _better(self, call: ToolCall, tool: Tool) -> Proceed | Refusal | None:
        """Return the better tool that replaces one of low priority which the user did not name."""
        name = call.name
        chosen = name in self._intent.named or call.id.startswith(INSERTED)
        if self._plans.rule(name).priority is not Priority.LOW or chosen:
            return None
        images = self._images_of(call)
        others = (other for other in self._plans.alternatives(name) if other != name)
        for other in others:
            if self._plans.rule(other).priority <= Priority.LOW or not self._fit(other, images):
                continue
            better = self._tools.get(other)
            assert better is not None
            reason = f"{other} does the same work as {name} and is better at it."
            override = Override(rule="low_priority", tool=name, instead=other, reason=reason)
            arguments, needs = self._bound(better, images, call.arguments)
            if needs:
                return Refusal(call, override, f"Call {other} instead; it needs {needs}.")
            changed = call.model_copy(update={"name": other, "arguments": arguments, "raw": ""})
            return Proceed(changed, override, f"Run in place of {name}: {reason}")
        return None

    def _successor_before(self, call: ToolCall) -> RunFirst | Refusal | None:
        for rule, cause in self._pending(before_others=True):
            if call.name == rule.then or call.name in self._leading_to(rule):
                continue
            ruling = self._force(rule, cause, call)
            if ruling is not None:
                return ruling
        return None

    def _leading_to(self, rule: Successor) -> set[str]:
        """Return the tools that prepare a successor: those it follows, and what those need."""
        found: set[str] = set()
        left = [*rule.after, rule.then]
        while left:
            for need in self._plans.rule(left.pop()).requires:
                left.extend(name for name in need.tools if name not in found)
                found.update(need.tools)
        return {*found, *rule.after} - {rule.then}

    def _force(
        self, rule: Successor, cause: LoggedCall, call: ToolCall | None = None
    ) -> RunFirst | Refusal | None:
        """Return the successor's own call; None where it was inserted for this cause already."""
        then = rule.then
        if not self._fit(then, cause.images):
            return None
        tool = self._tools.get(then)
        assert tool is not None
        root = self._roots.get(cause.call.id, cause.call.id)
        deeper = self._dependency(self._inserted(then, root), cause.images)
        if isinstance(deeper, RunFirst):
            return deeper
        given = self._next_arguments(rule, cause) or {}
        if deeper or not self._once("successor", then, f"{root} {cause.call.name} {given}"):
            return None
        arguments, needs = self._bound(tool, cause.images, given)
        why = rule.reason.strip().rstrip(".")
        reason = f"After {cause.call.name} comes {then}{f': {why}' if why else ''}."
        override = Override(
            rule="successor",
            tool=call.name if call else "",
            instead="" if needs else then,
            reason=reason,
        )
        if needs:
            asked = call or self._inserted(then, root, arguments)
            return Refusal(asked, override, f"Call {then} first; it needs {needs}.")
        if call is not None:
            self._fed_by.setdefault(call.id, set()).add(then)
        return RunFirst(self._inserted(then, root, arguments), override)

    def _dependency(
        self,
        call: ToolCall,
        images: Collection[str],
        coming: Sequence[ToolCall] = (),
        above: tuple[str, ...] = (),
    ) -> RunFirst | Refusal | None:
        """Return the call that this one depends on, to run first if its arguments are known."""
        for need in self._plans.rule(call.name).requires:
            lacking = self._lacking(need, images)
            if lacking:
                return self._run_first(call, need, lacking, images, coming, (*above, call.name))
        return None

    def _before_in_order(self, call: ToolCall, coming: Sequence[ToolCall]) -> RunFirst | None:
        """Return the call that the question wants before this one and that has not been made."""
        plan = self._intent.plan
        steps = tuple(step.tool for step in plan.steps) if isinstance(plan, ToolPlan) else ()
        wanted = tuple(dict.fromkeys(steps)) or self._intent.wanted
        if not self._intent.in_order or call.name not in wanted:
            return None
        images = self._images_of(call)
        why = f"The question wants it before {call.name}"
        for name in wanted[: wanted.index(call.name)]:
            if any(item.call.name == name for item in self._record.of_this_run()):
                continue
            later = next((other for other in coming if other.name == name), None)
            if later is not None:
                return self._before(call, later, why)
            tool = self._tools.get(name)
            if tool is None or not self._fit(name, images):
                continue
            arguments, needs = self._bound(tool, images)
            if not needs and self._once("order", name, call.name):
                return self._before(call, self._inserted(name, call.id, arguments), why)
        return None

    def _lacking(self, need: AnyOf | AllOf, images: Collection[str]) -> list[str]:
        lacking = [name for name in need.tools if self._record.latest((name,), images) is None]
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
            what = f"{call.name} needs a result of {need_text(need)}"
            reason = f"{what}, and the image that it names is not open."
            override = Override(rule="dependency", tool=call.name, reason=reason)
            return Refusal(call, override, "Name an open image.")
        later = next((other for other in coming if self._serves(other, lacking, above)), None)
        if later is not None:
            return self._before(call, later, f"{call.name} needs a result of {later.name}")
        unmet = ""
        for name in self._preferred(lacking, images):
            tool = self._tools.get(name)
            if tool is None or name in above:
                continue
            deeper = self._dependency(
                ToolCall(id=call.id, name=name, arguments={}), images, (), above
            )
            if isinstance(deeper, RunFirst):
                return deeper
            arguments, needs = self._bound(tool, images)
            if deeper is None and needs:
                unmet = unmet or f"Call {name} first; it needs {needs}."
            elif deeper is None and self._once("dependency", name, "|".join(sorted(images))):
                root = self._roots.get(call.id, call.id)
                first = self._inserted(name, root, arguments)
                return self._before(call, first, f"{call.name} needs a result of {need_text(need)}")
        return self._refused(call, need, lacking, images, unmet)

    def _names_no_image(self, call: ToolCall) -> bool:
        """Return whether the image named by a call is neither open nor made from an open one."""
        tool = self._tools.get(call.name)
        schema = ToolSchema(call.name, "", schema_of(tool.spec.Input)) if tool else None
        name = image_argument(schema) if schema else ""
        given = call.arguments.get(name)
        named = isinstance(given, str) and bool(given.strip())
        return named and not self._record.images_of(given)

    def _serves(self, other: ToolCall, lacking: Collection[str], above: Collection[str]) -> bool:
        """Return whether a call that the model requested anyway provides what is needed."""
        if other.name not in lacking or other.name in above:
            return False
        return (
            self._barred(other) is None and self._unsuitable(other, self._images_of(other)) is None
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
        reason = f"{call.name} needs a result of {need_text(need)}, and there is none"
        blocks = list(filter(None, (self._blocked(name, images) for name in lacking)))
        reason += f" ({'; '.join(blocks)})." if blocks else "."
        override = Override(rule="dependency", tool=call.name, reason=reason)
        return Refusal(call, override, unmet or GO_ON_WITHOUT)

    def _fed(self, ruled: Proceed) -> Proceed:
        """Set arguments that are not given, or for which an inserted call has newer values."""
        call = ruled.call
        tool, rule = self._tools.get(call.name), self._plans.rule(call.name)
        fresh = self._fed_by.pop(call.id, set())
        if tool is None or not rule.feeds or call.raw:
            return ruled
        arguments = dict(call.arguments)
        properties = schema_of(tool.spec.Input).get("properties", {})
        images = self._images_of(call)
        fed = self._feed(arguments, properties, call.name, images, fresh)
        if not fed or arguments == call.arguments:
            return ruled
        told = f"{', '.join(fed)} was set from the result before it."
        changed = call.model_copy(update={"arguments": arguments})
        return Proceed(changed, ruled.override, f"{ruled.note} {told}".strip())

    def _referred(self, call: ToolCall) -> tuple[tuple[str, str], ...]:
        """Return the (tool, key) pairs of texts to which an argument of the call may refer."""
        quotes = self._plans.rule(call.name).quotes
        text = call.arguments.get(quotes.argument) if quotes else None
        if quotes is None or not isinstance(text, str):
            return ()
        named = Vocabulary(("", words) for words in quotes.words).find(tokens_of(text))
        others = tuple(item for item in quotes.texts if item[0] != call.name)
        return others if named else ()

    def _quoted(self, ruled: Proceed) -> Proceed:
        """Put the text to which a question to a tool without memory refers before the question."""
        call, quotes = ruled.call, self._plans.rule(ruled.call.name).quotes
        texts = self._referred(call)
        last = self._record.latest([tool for tool, _ in texts], self._images_of(call))
        said = output_of(last, dict(texts)[last.call.name]) if last else None
        if quotes is None or not isinstance(said, str):
            return ruled
        question = call.arguments[quotes.argument]
        # The mark that models' own programs read as an order of theirs.
        text = " ".join(said.replace("<|", "< |").split())
        if text[:_KNOWN] in " ".join(question.split()):
            return ruled
        cut = text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
        whole = f'Another model wrote about this image: "{cut}"\n\n{question}'
        changed = call.model_copy(update={"arguments": {**call.arguments, quotes.argument: whole}})
        told = "The text that it refers to was put before the question."
        return Proceed(changed, ruled.override, f"{ruled.note} {told}".strip())

    def _inserted(
        self, tool: str, root: str, arguments: Mapping[str, Any] | None = None
    ) -> ToolCall:
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

    def _may(self, tool: str) -> bool:
        excluded = self._plans.rule(tool).priority is Priority.EXCLUDED
        there = self._tools.get(tool) is not None
        return there and not excluded and tool not in self._intent.left_out

    def _barred(self, call: ToolCall) -> Refusal | None:
        """Return a refusal if a call may not run on any image; None if it may."""
        name = call.name
        if self._plans.rule(name).priority is Priority.EXCLUDED:
            reason = f"{name} is excluded by its pack: it never runs for a question."
            return Refusal(call, Override(rule="excluded", tool=name, reason=reason), GO_ON_WITHOUT)
        words = self._intent.left_out.get(name)
        if words is not None:
            said = f' ("{words}")' if words else ""
            reason = f"The question leaves {name} out{said}."
            return Refusal(call, Override(rule="left_out", tool=name, reason=reason), GO_ON_WITHOUT)
        asked = {*self._intent.wanted, *self._intent.named}
        inserted = call.id.startswith(INSERTED)
        if self._intent.only and asked and not inserted and not self._serves_one(name, asked):
            reason = f"The question asks for nothing but {' and '.join(sorted(asked))}."
            return Refusal(call, Override(rule="left_out", tool=name, reason=reason), GO_ON_WITHOUT)
        return None

    def _serves_one(self, name: str, asked: Collection[str]) -> bool:
        """Return whether a tool is one of these, does their work, or makes what they need."""
        return any(
            name in self._plans.alternatives(tool)
            or any(name in need.tools for need in self._plans.rule(tool).requires)
            or any(name in feed.tools for feed in self._plans.rule(tool).feeds)
            for tool in asked
        )

    def _unsuitable(self, call: ToolCall, images: Collection[str]) -> Refusal | None:
        """Return a refusal if the tool is unsuitable for one of these images, else None."""
        if self._plans.rule(call.name).accepts.asks:
            return None  # it refuses by itself, unless the user wants it
        reason = self._mismatch(call.name, images)
        if not reason:
            return None
        override = Override(rule="unsuitable", tool=call.name, reason=f"{reason}.")
        return Refusal(call, override, "Choose a tool that is for this image, or say so.")

    def _mismatch(self, name: str, images: Collection[str]) -> str:
        """Return why a tool is not for one of these images, as a clause; "" if it is."""
        accepts = self._plans.rule(name).accepts
        notes = filter(None, map(self._record.note, sorted(images)))
        why = next(filter(None, (unsuitable_image(accepts, note) for note in notes)), "")
        return f"{name} is not for this image: {why}" if why else ""

    def _blocked(self, name: str, images: Collection[str]) -> str:
        if self._tools.get(name) is None:
            return f"{name} is not installed"
        if name in self._intent.left_out:
            return f"the question leaves {name} out"
        if self._record.failed_here(name, images):
            return f"{name} failed"
        return self._mismatch(name, images)

    def _preferred(self, names: Sequence[str], images: Collection[str]) -> list[str]:
        """Return the tools that may run, the one that best matches the question first."""

        def rank(name: str) -> tuple[bool, bool, bool, int]:
            rule = self._plans.rule(name)
            meant = name in self._intent.subjects
            asked = self._intent
            return (name not in asked.wanted, name not in asked.named, not meant, -rule.priority)

        fit = (name for name in names if self._fit(name, images))
        return sorted(fit, key=rank)

    def _fit(self, name: str, images: Collection[str]) -> bool:
        """Return whether rules may insert this tool for these images."""
        return self._may(name) and not self._blocked(name, images)
