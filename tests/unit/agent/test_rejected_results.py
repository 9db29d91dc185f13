"""What the user has rejected is no result that a later question may rest on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from app.agent.enforcement.director import Director
from app.agent.loop.agent_loop import AgentLoop
from app.agent.sessions import Thread
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok, request
from tests.support.scripted_model import ScriptedModel, call, says


def test_a_call_whose_findings_are_all_rejected_is_no_earlier_result(tmp_path: Path):
    thread = Thread.in_memory()
    model = ScriptedModel([call("find", image_path="image-1")], says("a nodule"))
    loop = AgentLoop(model, FakeRegistry(FakeTool("find", ImageInput, ok("a nodule", {"n": 1}))))
    asked = request(tmp_path, "What?", thread=thread)
    events = asyncio.run(collect(loop, asked))
    (call_id,) = [event.call_id for event in events if event.kind == "tool_finished"]
    seen: list[int] = []
    begin = Director.begin

    def look(self: Director, *args: object, **more: object) -> object:
        intent = begin(self, *args, **more)  # pyright: ignore[reportArgumentType]
        seen.append(len([*self.record.earlier()]))
        return intent

    Director.begin = look  # pyright: ignore[reportAttributeAccessIssue]
    try:
        for rejected in ((), (call_id,)):
            again = AgentLoop(ScriptedModel(says("done")), FakeRegistry())
            later = replace(asked, run_id=f"run-{rejected}", rejected_calls=rejected)
            asyncio.run(collect(again, later))
    finally:
        Director.begin = begin
    assert seen == [1, 0]
    assert all(message.ok for message in thread.history if message.role == "tool")
