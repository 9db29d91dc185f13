"""Steps that wait for no other run together; the user takes steps out, moves them, or holds all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from app.agent.enforcement.plan_checklist import TAKEN_OUT, PlannedStep, PlanState
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.planning import Intent, Planner, Step, ToolPlan
from app.agent.planning.plan import OpenImage, Output, Scene
from app.agent.request import PlanEdit, PlanEdits
from app.agent.sessions import Thread
from app.tools.api import ToolFailed, ToolInput
from app.tools.pack_plan import PackPlan, Plans, Spoken, SpokenCall, ToolRule
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, ok, request
from tests.support.scripted_model import ScriptedModel, call, says

IMAGE = {"id": "image-1", "path": "/x/a.dcm", "name": "a.dcm"}


class Planned(Planner):
    """Plans what the test says."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__()
        self.steps = tuple(steps)

    def interpret(self, question: str, scene: Scene) -> Intent:
        scene = replace(scene, images=(IMAGE,))
        return Intent(question, scene, plan=ToolPlan(self.steps))


def step(tool: str, needs: int = 0) -> Step:
    source = Output(needs, "path") if needs else OpenImage()
    return Step(tool, {"image_path": source})


async def watch(
    steps: Sequence[Step], tools: FakeRegistry, tmp_path: Path, edits: PlanEdits
) -> AsyncIterator[Any]:
    model = OfflineModel()
    model.planner = Planned(steps)
    asked = request(tmp_path, thread=Thread.in_memory(), edits=edits, image_notes=(IMAGE,))
    async for event in AgentLoop(model, tools).run(asked):
        yield event


def play(
    tmp_path: Path,
    steps: Sequence[Step],
    tools: FakeRegistry,
    on_plan: Sequence[PlanEdit] = (),
) -> list[Any]:
    """Run a plan; the edits come when the first tool has begun."""

    async def main() -> list[Any]:
        edits, events = PlanEdits(), list[Any]()
        async for event in watch(steps, tools, tmp_path, edits):
            events.append(event)
            if event.kind == "tool_started" and [e.kind for e in events].count(event.kind) == 1:
                for edit in on_plan:
                    edits.take(edit)
        return events

    return asyncio.run(main())


def started(events: Sequence[Any]) -> list[str]:
    return [event.tool for event in events if event.kind == "tool_started"]


class Meeting:
    """Tools that return once so many of them run."""

    def __init__(self, count: int) -> None:
        self._barrier = threading.Barrier(count)

    def __call__(self, args: Any, context: Any) -> Any:
        self._barrier.wait(10)
        return ok("met", {"path": "/x/a.dcm"})(args, context)


def test_steps_that_do_not_need_each_other_run_together(tmp_path: Path):
    both = Meeting(2)
    tools = FakeRegistry(
        FakeTool("outline", ImageInput, both), FakeTool("classify", ImageInput, both),
        FakeTool("measure", ImageInput, ok()),
    )  # fmt: skip
    steps = [step("outline"), step("measure", needs=1), step("classify")]
    events = play(tmp_path, steps, tools)
    assert events[-1].kind == "run_finished"
    assert started(events) == ["outline", "classify", "measure"]
    plans = [event.steps for event in events if event.kind == "plan_updated"]
    assert [item["state"] for item in plans[-1]] == ["done"] * 3
    assert plans[0][1]["after"] == [1]
    numbers = {event.tool: event.evidence for event in events if event.kind == "tool_finished"}
    assert numbers == {"outline": 1, "classify": 2, "measure": 3}


def test_rules_in_place_of_a_model_run_steps_together_and_answer_in_the_order_of_the_plan(
    tmp_path: Path,
):
    first = threading.Event()

    def slow(args: Any, context: Any) -> Any:
        assert first.wait(10), "the other does not run beside it"
        return ok("slow")(args, context)

    def quick(args: Any, context: Any) -> Any:
        first.set()
        return ok("quick")(args, context)

    plans, _ = commands("go", "see")
    tools = FakeRegistry(FakeTool("go", Going, slow), FakeTool("see", Going, quick))
    with ScriptedModel() as model:
        events = run_of(tmp_path, plans, tools, ["do go town, see sun"], model=model)
    assert events[-1].answer.index("slow") < events[-1].answer.index("quick")


def test_a_sequential_tool_keeps_its_place(tmp_path: Path):
    tools = FakeRegistry(
        *(FakeTool(name, ImageInput, ok()) for name in ("a", "b")),
        FakeTool("view", ImageInput, ok(), sequential=True),
    )
    events = play(tmp_path, [step("a"), step("view"), step("b"), step("view")], tools)
    assert started(events) == ["a", "view", "b", "view"]
    ended = [e.kind for e in events if e.kind in ("tool_started", "tool_finished")]
    assert ended == ["tool_started", "tool_finished"] * 4


def chain() -> tuple[list[Step], FakeRegistry]:
    made = ok("made", {"path": "/x/a.dcm"})
    names = ("a", "b", "c", "d")
    tools = FakeRegistry(*(FakeTool(n, ImageInput, made, sequential=True) for n in names))
    return [step(name) for name in names], tools


def test_a_step_that_the_user_takes_out_does_not_run_and_is_told(tmp_path: Path):
    steps, tools = chain()
    events = play(tmp_path, steps, tools, [PlanEdit("remove", 2, "c")])
    assert started(events) == ["a", "b", "d"]
    last = [event.steps for event in events if event.kind == "plan_updated"][-1]
    assert [(item["state"], item.get("verdict")) for item in last][2] == ("skipped", TAKEN_OUT)
    assert "**C** was not run: you took it out of the plan" in events[-1].answer


def commands(*tools: str) -> tuple[Plans, FakeRegistry]:
    """A pack whose commands are said as "do a, b", each of which can fail."""

    def read(text: str) -> Spoken | None:
        said = text.removeprefix("do ").split(", ")
        calls = tuple(SpokenCall(one.split()[0], {"to": one.split()[1]}) for one in said)
        return Spoken(calls) if text.startswith("do ") else None

    def act(args: Any, context: Any) -> Any:
        if args.to == "moon":
            raise ToolFailed("it is too far")
        return ok(args.to)(args, context)

    plan = PackPlan("acts", tools=tuple(ToolRule(name, why="goes") for name in tools), spoken=read)
    registry = FakeRegistry(*(FakeTool(name, Going, act, sequential=True) for name in tools))
    return Plans([plan]), registry


class Going(ToolInput):
    """Where to."""

    to: str = Field(max_length=20)


def run_of(tmp_path: Path, plans: Plans, tools: FakeRegistry, asked: Sequence[str], **on: Any):
    """What came of the last of several questions in one conversation."""

    async def main() -> list[Any]:
        thread, events = Thread.in_memory(), list[Any]()
        for text in asked:
            edits, events = PlanEdits(), list[Any]()
            model = on.get("model") or OfflineModel(plans)
            loop = AgentLoop(model, tools, plans=plans, rules_first=True)
            async for event in loop.run(request(tmp_path, text, thread=thread, edits=edits)):
                events.append(event)
                if event.kind == "tool_started" and "edit" in on:
                    edits.take(on["edit"])
        return events

    return asyncio.run(main())


@pytest.mark.parametrize("asked", [["do go town", "do go moon"], ["do go town, go moon"]])
def test_a_command_that_failed_is_no_goal_reached_whatever_else_was_done(
    tmp_path: Path, asked: Sequence[str]
):
    events = run_of(tmp_path, *commands("go"), asked)
    last = [event for event in events if event.kind == "plan_updated"][-1]
    assert (last.goal, last.goal_why) == ("incomplete", "go: it is too far.")


def test_what_the_user_took_out_is_no_goal_missed(tmp_path: Path):
    out = PlanEdit("remove", 1, "see")
    events = run_of(tmp_path, *commands("go", "see"), ["do go town, see moon"], edit=out)
    last = [event for event in events if event.kind == "plan_updated"][-1]
    assert [item["state"] for item in last.steps] == ["done", "skipped"]
    assert last.goal == "done"


@pytest.mark.parametrize("certain", [False, True])
def test_each_of_two_commands_of_one_tool_is_carried_out(tmp_path: Path, certain: bool):
    """Also where rules answer in place of a language model, which shows their plan as well."""
    plans, tools = commands("go")
    said = ["do go town, go home"]
    with ScriptedModel() as model:
        events = run_of(tmp_path, plans, tools, said, model=model if certain else None)
    assert [e.arguments["to"] for e in events if e.kind == "tool_started"] == ["town", "home"]
    plan = next(event for event in events if event.kind == "plan_updated")
    assert [item["state"] for item in plan.steps] == ["pending", "pending"]
    assert events[-1].by_rules is certain


def test_a_step_taken_out_of_a_plan_that_rules_follow_for_a_model_asks_no_model(tmp_path: Path):
    out = PlanEdit("remove", 1, "see")
    said = ["do go town, see moon, go home"]
    with ScriptedModel() as model:
        events = run_of(tmp_path, *commands("go", "see"), said, edit=out, model=model)
    assert started(events) == ["go", "go"]
    assert "**See** was not run: you took it out of the plan" in events[-1].answer


def test_a_model_goes_on_where_rules_failed_and_its_success_is_the_goal_reached(tmp_path: Path):
    turn = [call("go", to="town"), call("see", to="sun")]
    with ScriptedModel(turn, says("There.")) as model:
        said = ["do go moon, see sun"]
        events = run_of(tmp_path, *commands("go", "see"), said, model=model)
    assert started(events) == ["go", "go", "see"]
    last = [event for event in events if event.kind == "plan_updated"][-1]
    shown = {(item["tool"], item["state"]) for item in last.steps}
    assert shown == {("go", "failed"), ("go", "done"), ("see", "done")}
    assert last.goal == "done"


def test_commands_are_told_with_what_they_are_given(tmp_path: Path):
    events = run_of(tmp_path, *commands("go"), ["do go town, go home"])
    plan = next(event for event in events if event.kind == "plan_updated")
    assert [item["why"] for item in plan.steps] == ["goes: town", "goes: home"]


@pytest.mark.parametrize(
    ("edit", "went", "problem"),
    [
        (PlanEdit("change", 1, "see", "to", " sun "), ["town", "sun"], ""),
        (PlanEdit("change", 1, "go", "to", "sun"), ["town", "stars"], ""),  # another step
        (PlanEdit("change", 0, "go", "to", "sun"), ["town", "stars"], ""),  # it has begun
        (PlanEdit("change", 1, "see", "from", "sun"), ["town", "stars"], ""),
        (
            PlanEdit("change", 1, "see", "to", "x" * 50),
            ["town", "stars"],
            "String should have at most 20 characters",
        ),
    ],
)
def test_an_argument_is_changed(tmp_path: Path, edit: PlanEdit, went: list[str], problem: str):
    events = run_of(tmp_path, *commands("go", "see"), ["do go town, see stars"], edit=edit)
    assert [e.arguments["to"] for e in events if e.kind == "tool_started"] == went
    plans = [event.steps for event in events if event.kind == "plan_updated"]
    assert {one[1].get("problem", "") for one in plans} == {"", problem}
    assert plans[-1][1]["why"] == f"goes: {went[1]}"


def test_what_needs_a_step_that_was_taken_out_is_not_run_either(tmp_path: Path):
    steps, tools = chain()
    steps[3] = step("d", needs=3)
    events = play(tmp_path, steps, tools, [PlanEdit("remove", 2, "c")])
    assert started(events) == ["a", "b"]
    assert "it needs the result of c, which was not run" in events[-1].answer


@pytest.mark.parametrize(
    ("edits", "order"),
    [
        ([PlanEdit("up", 3, "d")], ["a", "b", "d", "c"]),
        ([PlanEdit("down", 1, "b"), PlanEdit("down", 2, "b")], ["a", "c", "d", "b"]),
        ([PlanEdit("up", 1, "b")], ["a", "b", "c", "d"]),  # what runs stays where it is
        ([PlanEdit("remove", 1, "c")], ["a", "b", "c", "d"]),  # the plan was another
        ([PlanEdit("remove", 0, "a")], ["a", "b", "c", "d"]),  # it has begun
        ([PlanEdit("remove", n, t) for n, t in ((1, "b"), (2, "c"), (3, "d"))], ["a"]),
    ],
)
def test_steps_are_moved(tmp_path: Path, edits: list[PlanEdit], order: list[str]):
    steps, tools = chain()
    events = play(tmp_path, steps, tools, edits)
    assert started(events) == order
    assert events[-1].kind == "run_finished"


def test_a_step_that_is_moved_before_what_it_needs_still_waits(tmp_path: Path):
    steps, tools = chain()
    steps[3] = step("d", needs=3)
    events = play(tmp_path, steps, tools, [PlanEdit("up", 3, "d")])
    assert started(events) == ["a", "b", "c", "d"]


def test_nothing_begins_while_the_user_edits(tmp_path: Path):
    steps, tools = chain()

    async def main() -> list[str]:
        edits, seen = PlanEdits(), list[str]()
        stream = watch(steps, tools, tmp_path, edits)
        async for event in stream:
            if event.kind == "tool_started":
                seen.append(event.tool)
            if event.kind == "tool_started" and event.tool == "a":
                edits.take(PlanEdit("hold"))
            if event.kind == "plan_updated" and event.steps[0]["state"] == "done":
                break
        rest = asyncio.ensure_future(anext(stream))
        done, _ = await asyncio.wait({rest}, timeout=0.2)
        assert not done, "something went on"
        edits.take(PlanEdit("remove", 1, "b"))
        edits.take(PlanEdit("go"))
        await rest
        seen += [event.tool async for event in stream if event.kind == "tool_started"]
        return seen

    assert asyncio.run(main()) == ["a", "c", "d"]


def test_a_models_step_that_is_taken_out_is_refused_and_stays_out(tmp_path: Path):
    tools = FakeRegistry(*(FakeTool(name, ImageInput, ok()) for name in "ab"))
    plan = [{"title": "Find it", "tools": ["a"]}, {"title": "Measure it", "tools": ["b"]}]
    edits = PlanEdits()
    model = ScriptedModel(
        [call("update_plan", steps=plan)],
        [call("a", image_path="x")],
        [call("b", image_path="x"), call("update_plan", steps=plan)],
        says("done"),
        info=replace(ScriptedModel().info, own_tools=True),
    )

    async def main() -> list[Any]:
        events = list[Any]()
        asked = request(tmp_path, thread=Thread.in_memory(), edits=edits)
        async for event in AgentLoop(model, tools).run(asked):
            events.append(event)
            if event.kind == "tool_started" and event.tool == "a":
                edits.take(PlanEdit("remove", 1, "Measure it"))
        return events

    events = asyncio.run(main())
    model.assert_used_up()
    ends = {e.tool: e for e in events if e.kind == "tool_finished"}
    assert ends["b"].refused == "You took it out of the plan."
    last = [event.steps for event in events if event.kind == "plan_updated"][-1]
    assert [(s["tool"], s["state"]) for s in last][1] == ("Measure it", "skipped")
    told = [item.text for item in model.requests[2] if item.role == "tool"][-1]
    assert 'The user took "Measure it" out of the plan' in told


def test_a_tool_that_another_step_needs_stays_allowed():
    plan = PlanState()
    plan.write([PlannedStep("one", tools=("a", "b")), PlannedStep("two", tools=("b",))])
    assert plan.edit("remove", 0, "one")
    assert plan.is_taken_out(0, "a")
    assert not plan.is_taken_out(0, "b")
