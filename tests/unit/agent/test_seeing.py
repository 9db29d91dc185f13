"""What a model that is shown the pictures need not run, and when it is shown them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Picture
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.imaging.types import Orientation
from app.tools.api import ViewPicture
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
    plan = PackPlan(
        "p",
        kinds=(kind,),
        tools=(ToolRule("look", empty=("found",)),),
        of_view=lambda text: "this" in text,
    )
    views = more.pop("views", ())
    tools = FakeRegistry(FakeTool("look", ImageInput, ok("", {"found": found})))
    remote, user = more.pop("remote_host", ""), more.pop("approve", None)
    info = ModelInfo(own_tools=False, metered=False, images=more.pop("eyes", True))
    with ScriptedModel(*turns, remote_host=remote, info=info) as model:
        loop = AgentLoop(model, tools, plans=Plans((plan,)), **more)
        asked = request(images, out_dir, question, approve=user)
        events = asyncio.run(
            collect(loop, replace(asked, thread=thread, image_notes=[NOTE], views=views))
        )
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


def view(brightness: int = 90, risk: str = "") -> ViewPicture:
    """A viewport of one brightness, 30 columns x 20 rows."""
    pixels = np.full((20, 30, 3), brightness, np.uint8)
    where = "Viewport 1 of 1 (whole)."
    return ViewPicture("image-1", "1.2.3 0 abc", risk, where, lambda: pixels)


def sent(played: Played) -> list[Picture]:
    """The pictures in the model's first request."""
    return [one for message in played.model.requests[0] for one in message.pictures]


def test_a_question_about_what_is_shown_brings_the_viewports_as_the_user_sees_them(tmp_path: Path):
    asked = "What do you see in this?"
    played = shown(tmp_path, EYES, asked, says("a square"), views=(view(),))
    plain, seen = sent(played)
    assert plain.caption.startswith("image-1: ")
    assert (seen.caption, seen.image_id) == ("Viewport 1 of 1 (whole).", "image-1")
    picture = Image.open(seen.path)
    assert picture.size == (30, 20)
    assert picture.getpixel((15, 10)) == (90, 90, 90)
    assert not picture.info, "no text blocks"


def test_any_other_question_brings_the_image_alone(tmp_path: Path):
    played = shown(tmp_path, EYES, "What do you see?", says("a square"), views=(view(),))
    assert len(sent(played)) == 1


def test_at_most_four_viewports_are_sent(tmp_path: Path):
    views = tuple(view(number) for number in range(9))
    played = shown(tmp_path, EYES, "What do you see in this?", says("a square"), views=views)
    assert len(sent(played)) == 5


def test_viewports_are_sent_only_where_the_user_sends_pictures(tmp_path: Path):
    asked = "What do you see in this?"
    for answers, count in (((True, True), 2), ((True, False), 0)):
        user = User(*answers)
        played = shown(
            tmp_path / str(count),
            EYES,
            asked,
            *(says("a square"), says("!"))[: 1 if count else 2],
            views=(view(),),
            remote_host="cloud.example",
            approve=user,
        )
        assert len(sent(played)) == count
        (request_,) = [e for e in played.events if getattr(e, "about", "") == "pictures"]
        assert [one["caption"] for one in request_.pictures][1:] == ["Viewport 1 of 1 (whole)."]


def test_a_viewport_that_may_show_a_name_needs_a_second_yes(tmp_path: Path):
    played = shown(
        tmp_path,
        EYES,
        "What do you see in this?",
        says("a square"),
        views=(view(risk="a screenshot"),),
        remote_host="cloud.example",
        approve=User(True, True, False),
    )
    assert [one.caption[:8] for one in sent(played)] == ["image-1:"]


def test_a_viewport_that_cannot_be_drawn_leaves_the_image(tmp_path: Path):
    def fail() -> Any:
        raise FileProblem("the file is gone", subject="x.dcm")

    views = (replace(view(), draw=fail),)
    played = shown(tmp_path, EYES, "What do you see in this?", says("a square"), views=views)
    assert len(sent(played)) == 1
