"""What a model that is shown the pictures need not run, and when it is shown them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.agent.sessions import Thread
from app.imaging.types import Orientation
from app.tools.pack_plan import PackPlan, Plans, QuestionKind, ToolRule
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok
from tests.support.scripted_model import ScriptedModel, Turn, says
from tests.unit.agent.test_context_in_runs import User
from tests.unit.agent.test_director import approvals
from tests.unit.agent.test_enforcing import Played, check_transcript
from tests.unit.agent.test_pictures import opened, request

NOTE = {"id": "image-1", "path": "/in/1.dcm", "kind": "dicom", "modality": "DX"}
EYES = QuestionKind("visible", words=("what do you see",), tools=("look",), by_eye=True)
COUNTS = QuestionKind("count", words=("count",), tools=("look",), certain=True)


def shown(
    folder: Path, kind: QuestionKind, question: str, *turns: Turn, found: int = 1, **more: Any
) -> Played:
    """A model with eyes, and a tool that finds something, or nothing."""
    thread, out_dir = Thread.in_memory(), folder / "out"
    out_dir.mkdir(parents=True)
    images, source = opened(folder, (20, 20), BurnedInAnnotation="NO")
    for path, frame in source.frames.items():
        row = more.get("row", "L")
        source.frames[path] = replace(frame, orientation=Orientation(row, "F"))
    more.pop("row", None)
    plan = PackPlan("p", kinds=(kind,), tools=(ToolRule("look", empty=("found",)),))
    tools = FakeRegistry(FakeTool("look", ImageInput, ok("", {"found": found})))
    remote, user = more.pop("remote_host", ""), more.pop("approve", None)
    info = ModelInfo(own_tools=False, metered=False, images=more.pop("eyes", True))
    with ScriptedModel(*turns, remote_host=remote, info=info) as model:
        loop = AgentLoop(model, tools, plans=Plans((plan,)), **more)
        asked = request(images, out_dir, question, approve=user)
        events = asyncio.run(collect(loop, replace(asked, thread=thread, image_notes=[NOTE])))
    check_transcript(thread.history)
    return Played(events, thread, model)


def test_a_model_that_sees_the_picture_need_not_run_tools_to_say_what_is_visible(tmp_path: Path):
    played = shown(tmp_path, EYES, "What do you see?", says("a square"))
    told = "a square [check: no evidence in this session, an impression from a reduced picture]"
    assert played.events[-1].answer.strip() == told
    assert not played.plan


def test_a_model_without_eyes_is_asked_for_what_it_would_need(tmp_path: Path):
    played = shown(tmp_path, EYES, "What do you see?", says("a square"), says("!"), eyes=False)
    assert [rule for rule, _, _ in played.overrides] == ["incomplete"]


@pytest.mark.parametrize(("row", "told"), [("R", True), ("RP", True), ("L", False), ("", False)])
def test_that_it_saw_a_mirrored_film_is_told_behind_its_answer(
    tmp_path: Path, row: str, told: bool
):
    """Tools turn a mirrored film for their models; its picture is what the viewer shows."""
    played = shown(tmp_path, EYES, "What do you see?", says("a device on the left"), row=row)
    behind = "- the model saw 1.dcm as stored, mirrored: what it calls left or right"
    assert (behind in played.events[-1].answer) is told


def test_a_model_without_eyes_saw_nothing_mirrored(tmp_path: Path):
    turns = (says("a square"), says("!"))
    played = shown(tmp_path, EYES, "What do you see?", *turns, eyes=False, row="R")
    assert "mirrored" not in played.events[-1].answer


def test_where_the_user_sends_no_picture_the_model_sees_none(tmp_path: Path):
    user = User(True, False)
    turns = (says("a square"), says("!"))
    asked = "What do you see?"
    played = shown(tmp_path, EYES, asked, *turns, remote_host="cloud.example", approve=user)
    assert [rule for rule, _, _ in played.overrides] == ["incomplete"]


def test_a_model_that_goes_on_where_rules_gave_up_sees_the_pictures(tmp_path: Path):
    played = shown(tmp_path, COUNTS, "Count", says("none"), found=0, rules_first=True)
    assert played.ran == ["look"]
    assert sum(len(message.pictures) for message in played.model.requests[0]) == 1


def test_a_remote_model_that_goes_on_is_sent_only_what_the_user_allows_then(tmp_path: Path):
    for answers, sent in (((True, True), 1), ((True, False), 0)):
        user = User(*answers)
        folder = tmp_path / str(sent)
        played = shown(
            folder,
            COUNTS,
            "Count",
            says("none"),
            found=0,
            rules_first=True,
            remote_host="cloud.example",
            approve=user,
        )
        kinds = [event.kind for event in played.events]
        assert approvals(played)[:2] == ["conversation", "pictures"]
        assert kinds.index("tool_finished") < kinds.index("approval_requested")
        assert sum(len(message.pictures) for message in played.model.requests[0]) == sent


def test_a_remote_model_that_may_not_be_asked_is_sent_nothing_where_rules_gave_up(tmp_path: Path):
    played = shown(
        tmp_path,
        COUNTS,
        "Count",
        found=0,
        rules_first=True,
        remote_host="cloud.example",
        approve=User(False),
    )
    assert approvals(played) == ["conversation"]
    assert not played.model.requests
    assert "Nothing was sent" in played.events[-1].error
