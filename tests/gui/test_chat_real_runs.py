"""The chat around the real runner and loop, with a scripted model: what is asked is what runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.agent.llm.base import ModelFailed, Note, Reasoning, Text, Tokens
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.runner import AgentRunner
from app.agent.request import Limits, Question
from app.agent.sessions import SessionStore, Thread
from app.tools.api import Approval, ToolContext, ToolResult
from app.views.agent_thread import AgentThread
from app.views.chat.approval import ApprovalCard
from app.views.chat.dock import ChatDock
from app.views.chat.run_view import RunView
from app.workspace.workspace import Workspace
from tests.support.fake_tools import Anything, FakeRegistry, FakeTool, NoHost, NoImages, ok
from tests.support.scripted_model import ScriptedModel, call, says

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


class Rig:
    """A dock around the real thing."""

    def __init__(self, folder: Path, model: ScriptedModel, *tools: FakeTool, **limits: int) -> None:
        loop = AgentLoop(model, FakeRegistry(*tools), limits=Limits(**limits))

        def make_request(text: str, thread: Thread) -> Question:
            return Question(text, thread, NoImages(), [], folder / "out", NoHost(), folder)

        self.agent = AgentThread(lambda on_event: AgentRunner(loop, on_event), make_request)
        self.store = SessionStore(folder / "sessions")
        self.dock = ChatDock(self.agent, Workspace(), self.store)
        self.dock.resize(420, 800)
        self.dock.show()

    @property
    def run(self) -> RunView:
        return self.dock.conversation.runs[-1]

    def ask(self, wait_until: Wait, text: str = "q") -> None:
        before = len(self.dock.conversation.runs)
        self.dock.submit(text)
        wait_until(lambda: len(self.dock.conversation.runs) > before and self.run.run_id)

    def close(self) -> None:
        self.dock.close_models()
        self.dock.close()
        self.dock.deleteLater()


Make = Callable[..., Rig]


@pytest.fixture
def make(qapp: object, tmp_path: Path) -> Iterator[Make]:
    made: list[Rig] = []

    def build(model: ScriptedModel, *tools: FakeTool, **limits: int) -> Rig:
        made.append(Rig(tmp_path, model, *tools, **limits))
        return made[-1]

    yield build
    for rig in made:
        rig.close()


class ReportInput(BaseModel):
    """Where the report goes."""

    path: str


def writer() -> FakeTool:
    return FakeTool("write_report", ReportInput, ok("Written."), approval=Approval.WRITE)


def test_denied_with_a_reason_then_allowed_then_not_asked_again(make: Make, wait_until: Wait):
    turn = [call("write_report", path="a.pdf")]
    tool = writer()
    with ScriptedModel(turn, turn, turn, says("Done.")) as model:
        rig = make(model, tool, same_call=9)
        rig.ask(wait_until)
        wait_until(lambda: len(rig.run.approvals) == 1)
        first = next(iter(rig.run.approvals.values()))
        assert isinstance(first, ApprovalCard)
        assert first.arguments is not None
        assert json.loads(first.arguments.plain()) == {"path": "a.pdf"}
        QTest.keyClicks(first.reason, "not there")
        QTest.keyClick(first.reason, Qt.Key.Key_Return)
        wait_until(lambda: len(rig.run.approvals) == 2)
        assert first.state.full == "Not allowed: not there"
        second = list(rig.run.approvals.values())[1]
        assert isinstance(second, ApprovalCard)
        wait_until(second.allow_session.isEnabled)
        QTest.mouseClick(second.allow_session, LEFT)
        wait_until(lambda: rig.run.ended)
    assert second.state.full == "Allowed in this conversation"
    assert len(rig.run.approvals) == 2
    assert len(tool.calls) == 2
    assert [card.status for card in rig.run.cards.values()] == ["refused", "ok", "ok"]


def test_a_retried_answer_is_shown_once_and_comes_back_once(make: Make, wait_until: Wait):
    reset = ModelFailed("the connection was reset")
    reset.retryable = True
    with ScriptedModel(
        [
            Note("The model is being loaded.", passing=True),
            Reasoning("I thi"),
            Text("Half an a"),
            reset,
        ],
        [Reasoning("I think."), Text("The whole answer."), Tokens(12, 3)],
    ) as model:
        rig = make(model)
        rig.ask(wait_until)
        wait_until(lambda: rig.run.ended)
    assert [view.text for view in rig.run.answers] == ["The whole answer."]
    assert [view.text for view in rig.run.thoughts] == ["I think."]
    usage = rig.run.answers[0].usage
    assert usage is not None
    assert usage.full.startswith("12 tokens in, 3 out")
    assert rig.dock.thread is not None
    thread_id = rig.dock.thread.thread_id
    rig.dock.new_thread()
    rig.dock.open_thread(thread_id)
    wait_until(lambda: rig.dock.conversation.runs)
    wait_until(rig.dock.is_idle)
    assert [view.text for view in rig.run.answers] == ["The whole answer."]
    assert [view.text for view in rig.run.thoughts] == ["I think."]


def test_calls_side_by_side_are_cards_in_call_order(make: Make, wait_until: Wait):
    seen: dict[str, threading.Event] = {name: threading.Event() for name in ("a", "b", "c")}

    def run(name: str, after: str) -> Callable[[Any, ToolContext], ToolResult]:
        def work(args: Any, context: ToolContext) -> ToolResult:
            if after:
                assert seen[after].wait(60)  # they do run at the same time
            seen[name].set()
            return ok(name)(args, context)

        return work

    tools = [
        FakeTool(n, Anything, run(n, after)) for n, after in (("a", "b"), ("b", "c"), ("c", ""))
    ]
    turn = [call("a"), call("b"), call("c")]
    with ScriptedModel(turn, says("All three.")) as model:
        rig = make(model, *tools)
        rig.ask(wait_until)
        wait_until(lambda: rig.run.ended)
    assert [card.tool for card in rig.run.cards.values()] == ["a", "b", "c"]
    assert [card.status for card in rig.run.cards.values()] == ["ok"] * 3


def test_stop_after_this_tool_keeps_its_result(make: Make, wait_until: Wait):
    started, go_on = threading.Event(), threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        started.set()
        assert go_on.wait(60)
        return ok("Measured.")(args, context)

    with ScriptedModel([call("slow")], says("and now?"), says("Hello again.")) as model:
        rig = make(model, FakeTool("slow", Anything, run))
        rig.ask(wait_until)
        wait_until(lambda: started.is_set() and rig.run.cards)
        modifier = Qt.KeyboardModifier.ShiftModifier
        QTest.keyClick(rig.dock.composer.edit, Qt.Key.Key_Escape, modifier)
        assert rig.run.activity.text == "Stopping after this tool…"
        go_on.set()
        wait_until(lambda: rig.run.ended)
        assert rig.run.ended == "run_cancelled"
        assert [card.status for card in rig.run.cards.values()] == ["ok"]
        rig.ask(wait_until, "go on")
        wait_until(lambda: rig.run.ended == "run_finished")
        rig.ask(wait_until, "once more")
        wait_until(lambda: rig.run.ended == "run_finished")


def test_a_limit_ends_with_what_was_found_and_continue_goes_on(make: Make, wait_until: Wait):
    turns = [[call("t", n=index)] for index in range(2)]
    with ScriptedModel(*turns, says("Now I am done.")) as model:
        rig = make(model, FakeTool("t", Anything, ok("Found a lung.")), steps=2)
        rig.ask(wait_until)
        wait_until(lambda: rig.run.ended)
        notice = rig.run.notice
        assert notice is not None
        assert notice.view.plain().startswith("The limit of steps")
        assert "Found a lung [1]." in rig.run.answers[-1].view.plain()
        QTest.mouseClick(notice.findChildren(QPushButton)[0], LEFT)
        wait_until(lambda: len(rig.dock.conversation.runs) == 2 and rig.run.ended)
    assert rig.run.question == "Go on with this answer."
    assert [view.text.strip() for view in rig.run.answers] == ["Now I am done."]
