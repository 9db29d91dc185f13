"""Several calls that need a yes are asked about once, and the yes covers exactly these."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import ApprovalRequested, RunEvent
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.planning import Intent, Planner, Step, ToolPlan
from app.agent.planning.plan import Output, Scene
from app.agent.policy import Grants, Policy
from app.agent.policy.approvals import Gate
from app.agent.request import Decision
from app.agent.sessions import Thread
from app.tools.api import Approval
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    LlavaInput,
    collect,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, Turn, call, says

ALL = Decision(granted=True)
NONE = Decision(granted=False, reason="not today")
EACH = Decision(granted=False, scope="each")


class Person:
    """Answers questions from a list, and keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequested] = []

    async def __call__(self, event: ApprovalRequested) -> Any:
        self.asked.append(event)
        return self.answers.pop(0)


def writer(name: str = "keep", effect: Approval = Approval.WRITE) -> FakeTool:
    return FakeTool(name, ImageInput, ok(), approval=effect)


def play(tmp_path: Path, person: Person, *turns: Turn, tools: FakeRegistry) -> list[RunEvent]:
    with ScriptedModel(*turns) as model:
        loop = AgentLoop(model, tools)
        asked = request(tmp_path, thread=Thread.in_memory(), approve=person)
        return asyncio.run(collect(loop, asked))


def paths(tool: FakeTool) -> list[str]:
    return [one.model_dump()["image_path"] for one in tool.calls]


def refused(events: list[RunEvent]) -> list[str]:
    return [one.refused for one in events if one.kind == "tool_finished"]


def test_one_yes_lets_all_calls_run_in_their_order(tmp_path: Path):
    keep, mail = writer(), writer("mail", Approval.SEND)
    person = Person(ALL)
    free = FakeTool("free", ImageInput, ok())
    turn: Turn = [
        call("keep", image_path="a"), call("free", image_path="b"), call("mail", image_path="c")
    ]  # fmt: skip
    events = play(tmp_path, person, turn, says("done"), tools=FakeRegistry(keep, mail, free))
    (asked,) = person.asked
    assert asked.about == "plan"
    assert [(one["tool"], one["arguments"], one["effect"]) for one in asked.calls] == [
        ("keep", {"image_path": "a"}, "write"),
        ("mail", {"image_path": "c"}, "send"),
    ]
    assert '"image_path": "a"' in asked.detail
    assert '"image_path": "c"' in asked.detail
    started = [one.tool for one in events if one.kind == "tool_started"]
    assert started == ["keep", "free", "mail"]
    assert (paths(keep), paths(mail)) == (["a"], ["c"])


def test_no_runs_none_of_them_and_the_model_is_told_why(tmp_path: Path):
    keep, free = writer(), FakeTool("free", ImageInput, ok())
    turn: Turn = [
        call("keep", image_path="a"), call("free", image_path="b"), call("keep", image_path="c")
    ]  # fmt: skip
    person = Person(NONE)
    events = play(tmp_path, person, turn, says("done"), tools=FakeRegistry(keep, free))
    assert len(person.asked) == 1
    assert not keep.calls
    assert paths(free) == ["b"]
    assert refused(events) == ["Not allowed: not today", "", "Not allowed: not today"]


def test_one_by_one_asks_about_each(tmp_path: Path):
    keep = writer()
    person = Person(EACH, True, False)
    turn: Turn = [call("keep", image_path="a"), call("keep", image_path="b")]
    play(tmp_path, person, turn, says("done"), tools=FakeRegistry(keep))
    assert [one.about for one in person.asked] == ["plan", "tool", "tool"]
    assert paths(keep) == ["a"]


@pytest.mark.parametrize("path", ["x", "a"])
def test_other_arguments_and_a_second_time_are_asked_anew(tmp_path: Path, path: str):
    keep = writer()
    person = Person(ALL, False)
    turn: Turn = [call("keep", image_path="a"), call("keep", image_path="b")]
    later: Turn = [call("keep", image_path=path)]
    play(tmp_path, person, turn, later, says("done"), tools=FakeRegistry(keep))
    assert [one.about for one in person.asked] == ["plan", "tool"]
    assert paths(keep) == ["a", "b"]


def test_a_single_call_and_calls_that_need_no_yes_are_asked_about_as_before(tmp_path: Path):
    keep, free = writer(), FakeTool("free", ImageInput, ok())
    person = Person(True)
    turn: Turn = [call("free", image_path="a"), call("keep", image_path="b")]
    play(tmp_path, person, turn, says("done"), tools=FakeRegistry(keep, free))
    assert [one.about for one in person.asked] == ["tool"]


def test_more_than_can_be_shown_is_not_asked_about_together(tmp_path: Path):
    keep = FakeTool("keep", LlavaInput, ok(), approval=Approval.WRITE)
    person = Person(True, True)
    turn: Turn = [call("keep", question=sign * 30_000) for sign in "ab"]
    play(tmp_path, person, turn, says("done"), tools=FakeRegistry(keep))
    assert [one.about for one in person.asked] == ["tool", "tool"]


def test_a_call_with_wrong_arguments_is_not_in_the_question(tmp_path: Path):
    keep = writer()
    person = Person(True)
    turn: Turn = [call("keep", image_path="a"), call("keep", other=1)]
    play(tmp_path, person, turn, says("done"), tools=FakeRegistry(keep))
    assert [one.about for one in person.asked] == ["tool"]
    assert paths(keep) == ["a"]


def test_a_yes_does_not_outlive_its_run(tmp_path: Path):
    keep, thread = writer(), Thread.in_memory()
    gate = Gate(Policy.standard(), Grants())
    person = Person(ALL, NONE)
    for _ in range(2):
        turn: Turn = [call("keep", image_path="a"), call("keep", image_path="b")]
        with ScriptedModel(turn, says("done")) as model:
            loop = AgentLoop(model, FakeRegistry(keep), approvals=gate)
            asyncio.run(collect(loop, request(tmp_path, thread=thread, approve=person)))
    assert paths(keep) == ["a", "b"]
    assert [one.about for one in person.asked] == ["plan", "plan"]
    assert not gate.grants.active_grants()


class Planned(Planner):
    """Plans two steps that write, one after the other, and one that needs what they give."""

    def interpret(self, question: str, scene: Scene) -> Intent:
        a, b = ({"image_path": path} for path in "ab")
        later = Step("keep", {"image_path": Output(1, "path")})
        return Intent(question, scene, plan=ToolPlan((Step("keep", a), Step("mail", b), later)))


@pytest.mark.parametrize(
    ("answers", "about", "ran"),
    [
        ([ALL, True], ["plan", "tool"], (["a", "c"], ["b"])),
        ([NONE], ["plan"], ([], [])),
        ([EACH, True, False, True], ["plan", "tool", "tool", "tool"], (["a", "c"], [])),
    ],
)
def test_a_plan_made_by_rules_is_asked_about_before_its_first_step(
    tmp_path: Path, answers: list[Any], about: list[str], ran: tuple[list[str], list[str]]
):
    result = ok("Kept.", {"path": "c"})
    keep = FakeTool("keep", ImageInput, result, approval=Approval.WRITE, sequential=True)
    mail = FakeTool("mail", ImageInput, ok(), approval=Approval.SEND, sequential=True)
    person = Person(*answers)
    model = OfflineModel()
    model.planner = Planned()
    asked = request(tmp_path, thread=Thread.in_memory(), approve=person)
    asyncio.run(collect(AgentLoop(model, FakeRegistry(keep, mail)), asked))
    assert [one.about for one in person.asked] == about
    assert (paths(keep), paths(mail)) == ran


class Converted(Planner):
    """Plans to send what the first step makes; if that fails, the open image would do."""

    def interpret(self, question: str, scene: Scene) -> Intent:
        mail = Step("mail", {"image_path": Output(1, "path", fallback=True)})
        steps = (Step("convert", {"image_path": "a"}), mail, Step("keep", {"image_path": "b"}))
        return Intent(question, scene, plan=ToolPlan(steps))


def test_a_step_is_not_asked_about_with_what_it_only_takes_if_another_fails(tmp_path: Path):
    convert = FakeTool("convert", ImageInput, ok("Done.", {"path": "c"}), sequential=True)
    keep, mail = writer(), writer("mail", Approval.SEND)
    person = Person(True, True)
    model = OfflineModel()
    model.planner = Converted()
    asked = request(tmp_path, thread=Thread.in_memory(), approve=person)
    asyncio.run(collect(AgentLoop(model, FakeRegistry(convert, keep, mail)), asked))
    told = [(each["tool"], each["arguments"]) for one in person.asked for each in one.calls]
    assert ("mail", {"image_path": "c"}) in told
    assert ("mail", {"image_path": "a"}) not in told
    assert paths(mail) == ["c"]
    assert paths(keep) == ["b"]
