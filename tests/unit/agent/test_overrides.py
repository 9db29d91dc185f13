"""Who may overrule a tool's gate, for what, and for how long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import ApprovalRequested
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.audit_trail import AuditTrail
from app.agent.loop.limits import WaitClock, WallClock
from app.agent.policy import Grants, Policy
from app.agent.policy.approvals import Gate
from app.agent.request import Decision
from app.agent.sessions import Thread
from app.audit import AuditLog
from app.audit.entries import read_entries
from app.imaging.types import ImageRef
from app.tools.api import CancelToken, ToolContext, ToolFailed, ToolResult
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, request
from tests.support.scripted_model import ScriptedModel, call, says

HEAD = ImageRef("1.2.840.1", 0, "a" * 64)
HAND = ImageRef("1.2.840.2", 0, "b" * 64)
TITLE, DETAIL = "Use this image all the same?", "This image is CT."


class _Images:
    def used(self) -> list[dict[str, Any]]:
        return [{"id": "image-1", "sop_instance_uid": HEAD.sop_instance_uid, "frame": 0}]

    def studies(self) -> list[str]:
        return []

    def names(self) -> tuple[str, ...]:
        return ("image-1",)


class Asked:
    """A user who answers, and what they were asked."""

    def __init__(self, granted: bool = True) -> None:
        self.granted = granted
        self.events: list[ApprovalRequested] = []

    async def __call__(self, event: ApprovalRequested) -> Decision:
        self.events.append(event)
        await asyncio.sleep(0)
        return Decision(granted=self.granted)


def guarded(name: str = "guarded", image: ImageRef | None = HEAD, detail: str = DETAIL) -> FakeTool:
    def run(_args: Any, context: ToolContext) -> ToolResult:
        if not context.confirm(TITLE, detail, image=image):
            raise ToolFailed("this image is CT")
        return ToolResult("done", {}, {})

    return FakeTool(name, ImageInput, run)


def play(folder: Path, user: Any, tools: FakeRegistry, turns: list[Any], **more: Any) -> list[Any]:
    gate = Gate(Policy.standard(), more.pop("grants", Grants()))
    audit = more.pop("audit", None)
    with ScriptedModel(*turns, says("done")) as model:
        loop = AgentLoop(model, tools, approvals=gate, audit=audit)
        asked = request(folder, approve=user, images=_Images(), **more)
        return asyncio.run(collect(loop, asked))


def ended(events: list[Any]) -> list[str]:
    return [event.status for event in events if event.kind == "tool_finished"]


def one(name: str = "guarded") -> list[Any]:
    return [call(name, image_path="image-1")]


def test_the_user_is_asked_in_the_tools_own_words_and_may_say_yes(tmp_path: Path):
    user = Asked()
    events = play(tmp_path, user, FakeRegistry(guarded()), [one()])
    assert ended(events) == ["ok"]
    (asked,) = user.events
    assert (asked.about, asked.title, asked.detail) == ("override", TITLE, DETAIL)
    assert (asked.image, asked.tool) == ("image-1", "guarded")
    assert asked.arguments == {}  # a model writes those
    assert asked.scopes == ["once"]


@pytest.mark.parametrize("answer", [False, None, "yes", 1])
def test_anything_but_a_plain_yes_is_a_no(tmp_path: Path, answer: Any):
    async def user(_event: ApprovalRequested) -> Any:
        return answer

    events = play(tmp_path, user, FakeRegistry(guarded()), [one()])
    assert ended(events) == ["failed"]
    resolved = [event for event in events if event.kind == "approval_resolved"]
    assert [event.granted for event in resolved] == [False]


def test_three_tools_on_one_image_ask_once_side_by_side(tmp_path: Path):
    names = ("first", "second", "third")
    tools = FakeRegistry(*(guarded(name) for name in names))
    turn = [item for name in names for item in one(name)]
    for granted, status in ((True, "ok"), (False, "failed")):
        user = Asked(granted)
        events = play(tmp_path, user, tools, [turn])
        assert ended(events) == [status] * 3
        assert len(user.events) == 1


def test_a_yes_holds_for_this_conversation_image_and_objection_only(tmp_path: Path):
    grants, thread = Grants(), Thread.in_memory()

    def asked(tool: FakeTool, in_thread: Thread) -> int:
        user = Asked()
        play(tmp_path, user, FakeRegistry(tool), [one()], grants=grants, thread=in_thread)
        return len(user.events)

    assert asked(guarded(), thread) == 1
    assert asked(guarded(), thread) == 0
    assert asked(guarded(image=HAND), thread) == 1
    assert asked(guarded(detail="A lateral view."), thread) == 1
    assert asked(guarded(image=None), thread) == 1
    assert asked(guarded(image=None), thread) == 1
    assert asked(guarded(), Thread.in_memory()) == 1


def test_a_no_ends_with_the_run(tmp_path: Path):
    grants, thread = Grants(), Thread.in_memory()
    tools = FakeRegistry(guarded())
    for user in (Asked(granted=False), Asked(granted=True)):
        play(tmp_path, user, tools, [one()], grants=grants, thread=thread)
        assert len(user.events) == 1


def test_what_was_overruled_is_forgotten_with_what_was_allowed():
    grants = Grants()
    for thread in ("a", "b"):
        grants.accept_objection(thread, HEAD, "CT")
    grants.withdraw(tool="other")
    assert grants.is_objection_accepted("a", HEAD, "CT")
    grants.withdraw(thread_id="a")
    assert not grants.is_objection_accepted("a", HEAD, "CT")
    assert grants.is_objection_accepted("b", HEAD, "CT")
    grants.withdraw()
    assert not grants.is_objection_accepted("b", HEAD, "CT")


def test_the_waiting_is_not_the_tools_time(tmp_path: Path):
    class Clock:
        now = 0.0

    clock = Clock()
    waited = WaitClock(lambda: clock.now)
    with waited.waiting():
        clock.now = 300.0
        assert waited.seconds == 300.0
    clock.now = 400.0
    assert waited.seconds == 300.0

    async def slow(_event: ApprovalRequested) -> bool:
        await asyncio.sleep(0.15)
        return True

    tool = guarded()
    tool.spec = replace(tool.spec, timeout_s=0.05)
    assert ended(play(tmp_path, slow, FakeRegistry(tool), [one()])) == ["ok"]


def test_a_stop_ends_the_waiting(tmp_path: Path):
    cancel = CancelToken()
    ends: list[str] = []

    async def user(_event: ApprovalRequested) -> bool:
        cancel.cancel()
        await asyncio.Event().wait()
        return True

    def run(args: Any, context: ToolContext) -> ToolResult:
        try:
            return guarded().run(args, context)
        except BaseException as error:
            ends.append(type(error).__name__)
            raise

    with ScriptedModel(one()) as model:
        loop = AgentLoop(model, FakeRegistry(FakeTool("guarded", ImageInput, run)))
        asked = request(tmp_path, approve=user, images=_Images(), cancel=cancel)
        events = asyncio.run(collect(loop, asked))
    assert events[-1].kind == "run_cancelled"
    _until(lambda: bool(ends))
    assert ends == ["Cancelled"]


def _until(true: Callable[[], bool]) -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("tool "):
            thread.join(60)
    assert true()


def test_question_and_answer_stand_in_the_audit_log_without_words_of_the_file(tmp_path: Path):
    log = AuditLog(tmp_path / "audit", b"s" * 32)
    tools = FakeRegistry(guarded(detail="The file says: Doe^Jane"))
    play(tmp_path / "out", Asked(), tools, [one()], audit=AuditTrail(log, tools))
    entries = list(read_entries(tmp_path / "audit"))
    (asked,) = [dict(item.facts) for item in entries if item.action == "approval_asked"]
    (answered,) = [dict(item.facts) for item in entries if item.action == "approval_answered"]
    assert asked["about"] == answered["about"] == "override"
    assert asked["tool"] == answered["tool"] == "guarded"
    assert asked["images"] == answered["images"] == [log.name("image", HEAD.sop_instance_uid)]
    assert answered["granted"] is True
    written = b"".join(p.read_bytes() for p in (tmp_path / "audit").rglob("*") if p.is_file())
    assert b"Doe" not in written


def test_a_question_that_outlives_its_run_raises_nothing():
    async def play() -> None:
        clock = WallClock(60)
        async with clock.running():
            pause = clock.paused()
            pause.__enter__()
        pause.__exit__(None, None, None)

    asyncio.run(play())
