"""Whatever a model asks for, in whatever order: the packs' rules hold in what really ran."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.agent.llm.base import Call, ModelEvent, ModelInfo, Text, ToolSchema
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.messages import Message, ToolCall
from app.agent.sessions import Thread
from app.tools.api import ToolFailed
from app.tools.pack_plan import AllOf, AnyOf, PackPlan, Plans, Priority, Successor, ToolRule
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, fails, ok, request
from tests.unit.agent.test_enforcing import check_transcript

TOOLS = "abcdef"
NOTES = tuple(
    {"id": f"image-{n}", "path": f"/in/{n}.dcm", "kind": "dicom", "modality": "CR"} for n in (1, 2)
)


class Restless:
    """A model that asks for what it was told to, message by message, and then answers."""

    name, remote_host = "restless", ""
    info = ModelInfo(own_tools=False, metered=False)

    def __init__(self, messages: Sequence[Sequence[tuple[str, int]]]) -> None:
        self._messages = list(messages)
        self._calls = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """The next message."""
        wanted = self._messages.pop(0) if self._messages else ()
        for name, image in wanted:
            self._calls += 1
            arguments = {"image_path": f"image-{image}"}
            yield Call(ToolCall(id=f"m{self._calls}", name=name, arguments=arguments))
        if not wanted:
            yield Text("That is all.")


names = st.sampled_from(TOOLS)
groups = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)
needs = st.builds(AnyOf, groups) | st.builds(AllOf, groups)
rules = st.lists(
    st.builds(
        ToolRule,
        tool=names,
        priority=st.sampled_from([*Priority, Priority.NORMAL, Priority.NORMAL]),
        requires=st.lists(needs, max_size=2).map(tuple),
    ),
    max_size=6,
    unique_by=lambda rule: rule.tool,
)
successors = st.lists(
    st.builds(Successor, after=groups, then=names, mandatory=st.booleans()), max_size=4
)
packs = st.builds(
    PackPlan,
    pack=st.just("any"),
    tools=rules.map(tuple),
    alternatives=st.lists(st.builds(AnyOf, groups), max_size=2).map(tuple),
    successors=successors.map(tuple),
)
asked = st.lists(
    st.lists(st.tuples(names, st.sampled_from([1, 2])), min_size=1, max_size=4), max_size=5
)
broken = st.frozensets(names, max_size=2)


def play(
    folder: Path, pack: PackPlan, messages: Sequence[Sequence[tuple[str, int]]], bad: frozenset[str]
) -> tuple[list[Any], Thread]:
    tools = [
        FakeTool(name, ImageInput, fails(ToolFailed("not today")) if name in bad else ok(name))
        for name in TOOLS
    ]
    thread = Thread.in_memory()
    loop = AgentLoop(
        Restless(messages),
        FakeRegistry(*tools),
        plans=Plans((pack,)),
        limits=Limits(steps=40, tool_calls=60, same_call=50, calls_per_task=60),
    )
    question = request(folder, "Look at it", thread=thread, notes=NOTES)
    return asyncio.run(collect(loop, question)), thread


@dataclass(frozen=True)
class Ran:
    """A call that ended well."""

    tool: str
    image: str
    began: int
    ended: int
    by_model: bool


def ran(events: Sequence[Any]) -> list[Ran]:
    """The calls that ended well, in the order in which they began."""
    ends = {e.call_id: e.seq for e in events if e.kind == "tool_finished" and e.status == "ok"}
    return [
        # By id or by path: what rules put in names an image by its path.
        Ran(
            e.tool,
            e.arguments["image_path"].removesuffix(".dcm")[-1],
            e.seq,
            ends[e.call_id],
            e.call_id.startswith("m"),
        )
        for e in events
        if e.kind == "tool_started" and e.call_id in ends and e.tool in TOOLS
    ]


@settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(pack=packs, messages=asked, bad=broken)
def test_rules_hold_whatever_a_model_asks_for(
    tmp_path: Path, pack: PackPlan, messages: list[list[tuple[str, int]]], bad: frozenset[str]
):
    events, thread = play(tmp_path, pack, messages, bad)
    plans = Plans((pack,))
    assert events[-1].kind == "run_finished", json.dumps(str(events[-1]))
    check_transcript(thread.history)
    done = ran(events)
    for item in done:
        rule = plans.rule(item.tool)
        assert rule.priority is not Priority.EXCLUDED
        before = {o.tool for o in done if o.image == item.image and o.ended < item.began}
        for need in rule.requires:
            held = [name in before for name in need.tools]
            assert any(held) if isinstance(need, AnyOf) else all(held), (item, need, done)
    if not events[-1].stopped_by:
        check_successors(plans, done, bad)
    told = [event for event in events if event.kind == "plan_updated"]
    if told:
        overrides = [item.model_dump_json() for item in told[-1].overrides]
        assert len(set(overrides)) == len(overrides)
        assert all(item.reason for item in told[-1].overrides)
        assert told[-1].goal in ("done", "incomplete")


def check_successors(plans: Plans, done: Sequence[Ran], bad: frozenset[str]) -> None:
    """What must follow a call of the model's, and can, did follow it."""
    for item in done:
        for following in plans.successors(item.tool, ()):
            rule = plans.rule(following.then)
            able = following.then not in {*bad, *following.after} and not rule.requires
            if not (item.by_model and following.mandatory and able) or _never(rule):
                continue
            later = [o for o in done if o.tool == following.then and o.began > item.ended]
            assert any(other.image == item.image for other in later), (item, following, done)


def _never(rule: ToolRule) -> bool:
    return rule.priority is Priority.EXCLUDED
