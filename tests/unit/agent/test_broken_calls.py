"""Rules and calls that cannot be read: nothing runs in their place, on whatever image."""

from __future__ import annotations

from pathlib import Path

from app.agent.llm.base import Call
from app.agent.messages import ToolCall
from app.tools.pack_plan import AnyOf, PackPlan, Priority, Successor, ToolRule
from tests.support.fake_tools import FakeTool, ImageInput, ok
from tests.support.scripted_model import Turn, call, says
from tests.unit.agent.test_enforcing import play_fakes

NOTES = tuple(
    {"id": f"image-{n}", "path": f"/in/{n}.dcm", "kind": "dicom", "modality": "CR"} for n in (1, 2)
)
PLAN = PackPlan(
    "p",
    tools=(
        ToolRule("poor", priority=Priority.LOW),
        ToolRule("good"),
        ToolRule("last", requires=(AnyOf(("good",)),)),
    ),
    alternatives=(AnyOf(("poor", "good")),),
    successors=(Successor(("good",), "show", reason="it is to be seen"),),
)


def broken(tool: str) -> Turn:
    raw = '{"image_path": image-2'
    return [Call(ToolCall(id=f"broken-{tool}", name=tool, arguments={}, raw=raw))]


def test_a_call_that_cannot_be_read_is_not_made_by_a_better_tool_or_prepared(tmp_path: Path):
    tools = [FakeTool(name, ImageInput, ok()) for name in ("poor", "good", "last", "show")]
    turns = (broken("poor"), broken("last"), says("I could not"))
    played = play_fakes(tmp_path, PLAN, tools, *turns, notes=NOTES)
    assert not played.ran
    assert not played.overrides
    assert "JSON" in played.failed("poor")


def test_what_follows_a_call_follows_it_on_its_own_image(tmp_path: Path):
    tools = [FakeTool(name, ImageInput, ok()) for name in ("poor", "good", "last", "show")]
    both: Turn = [call("good", image_path="image-2"), call("poor", image_path="image-1")]
    played = play_fakes(tmp_path, PLAN, tools, both, says("a"), says("b"), says("c"), notes=NOTES)
    started = [e for e in played.events if e.kind == "tool_started"]
    shown = [e.arguments["image_path"] for e in started if e.tool == "show"]
    assert sorted(shown) == ["/in/1.dcm", "/in/2.dcm"]


def test_nothing_is_prepared_on_the_current_image_for_one_that_is_not_open(tmp_path: Path):
    tools = [FakeTool(name, ImageInput, ok()) for name in ("poor", "good", "last", "show")]
    turns: list[Turn] = [[call("last", image_path=name)] for name in ("image-9", "/tmp/9.png")]
    played = play_fakes(tmp_path, PLAN, tools, *turns, says("there is none"), notes=NOTES)
    assert not played.ran
    assert "the image that it names is not open" in played.failed("last")
