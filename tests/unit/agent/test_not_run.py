"""A call that was not let run is told as such: nothing failed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from app.agent.events import ApprovalRequested, ToolFinished
from app.agent.json_forms import describe
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message
from app.agent.request import Decision
from app.agent.sessions import SessionStore, Thread
from app.agent.sessions.export import Form, export
from app.tools.api import Approval
from tests.support import cells_pack as cells
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok, request
from tests.support.scripted_model import ScriptedModel, call, says
from tests.unit.agent.test_enforcing import play, segment


def ended(events: Sequence[Any]) -> ToolFinished:
    return next(event for event in events if isinstance(event, ToolFinished))


def asked_for(thread: Thread, approve: Any, name: str = "save", **given: Any) -> list[Any]:
    """A run in which the model asks for a tool that writes."""
    model = ScriptedModel([call(name, image_path="image-1", **given)], says("I could not."))
    tool = FakeTool("save", ImageInput, ok("saved"), approval=Approval.WRITE)
    loop = AgentLoop(model, FakeRegistry(tool))
    wanted = request(thread.files_dir(), "Save it.", thread=thread, approve=approve)
    return asyncio.run(collect(loop, wanted))


async def refuses(event: ApprovalRequested) -> Decision:
    return Decision(granted=False, reason="not now")


@pytest.fixture
def thread(tmp_path: Path) -> Thread:
    return SessionStore(tmp_path / "s").new_thread()


def test_what_a_rule_left_out_was_not_run_and_its_reason_holds_no_order_to_the_model(
    tmp_path: Path,
):
    played = play(
        tmp_path, "Crop the cells, but don't segment them.", segment(), says("no"), says("no")
    )
    told = ended(played.events)
    assert told.status == "failed"
    assert told.refused == f'The question leaves {cells.CELLS} out ("don\'t segment").'
    assert describe(told) == f"  {cells.CELLS}: not run: {told.refused}"


def test_what_the_user_did_not_allow_was_not_run(thread: Thread):
    told = ended(asked_for(thread, refuses))
    assert (told.status, told.refused) == ("failed", "Not allowed: not now")


def test_a_call_with_wrong_arguments_and_a_tool_that_there_is_not_failed(thread: Thread):
    assert ended(asked_for(thread, refuses, colour="red")).refused == ""
    assert ended(asked_for(thread, refuses, "sav")).refused == ""


@pytest.mark.parametrize("form", get_args(Form))
def test_an_export_and_the_model_are_told_that_it_was_not_run(
    thread: Thread, tmp_path: Path, form: Form
):
    asked_for(thread, refuses)
    target = tmp_path / f"out.{form}"
    export(thread.content, form, target)
    text = target.read_text(encoding="utf-8")
    assert "save: failed" not in text
    assert (
        "Not allowed: not now" if form in ("json", "calls") else "save: not run: Not allowed"
    ) in text
    messages: Sequence[Message] = thread.history
    assert "did not allow save" in next(item.text for item in messages if item.role == "tool")
