"""A real language model on this machine answers in the chat: streamed, with a tool, and stopped.

Everything is real but the tool: dock, agent thread, runner, loop, llama.cpp and its process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import (
    Noted,
    RunCancelled,
    RunEvent,
    RunFinished,
    TextDelta,
    ToolFinished,
)
from app.agent.llm.local.model import LocalModel
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.runner import AgentRunner
from app.agent.request import Question
from app.agent.sessions import SessionStore, Thread
from app.views.agent_thread import AgentThread
from app.views.chat.dock import ChatDock
from app.workspace.workspace import Workspace
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, NoHost, NoImages, ok
from tests.support.small_model import gguf, template
from tests.unit.agent.test_local_server import gone_within

pytestmark = [pytest.mark.gui, pytest.mark.slow]

Wait = Callable[..., None]


class Room:
    """The chat with a language model of its own."""

    def __init__(self, model: LocalModel, folder: Path, *tools: FakeTool) -> None:
        self.model = model
        self.events: list[RunEvent] = []
        workspace = Workspace()

        def make_request(text: str, thread: Thread) -> Question:
            return Question(text, thread, NoImages(), [], folder, NoHost(), folder)

        def make_runner(on_event: Callable[[RunEvent], None]) -> AgentRunner:
            return AgentRunner(AgentLoop(model, FakeRegistry(*tools)), on_event)

        self.agent = AgentThread(make_runner, make_request, workspace)
        self.agent.run_event.connect(self.events.append)
        store = SessionStore(folder / "sessions")
        self.dock = ChatDock(self.agent, workspace, store, model=model.name)
        self.dock.resize(420, 800)
        self.dock.show()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.of(TextDelta))

    def close(self) -> None:
        self.agent.close()
        self.model.close()
        self.dock.close_models()
        self.dock.close()
        self.dock.deleteLater()


@pytest.fixture
def open_room(qapp: object, tmp_path: Path) -> Iterator[Callable[..., Room]]:
    rooms: list[Room] = []

    def make(*tools: FakeTool, **options: Any) -> Room:
        fixed: dict[str, Any] = {"context_tokens": 2048, "temperature": 0.0, "seed": 1}
        rooms.append(Room(LocalModel(gguf(), **{**fixed, **options}), tmp_path, *tools))
        return rooms[-1]

    yield make
    for room in rooms:
        room.close()


def test_the_model_is_loaded_answers_with_a_tool_and_is_gone_afterwards(
    open_room: Callable[..., Room], wait_until: Wait
):
    shown = template("native", "image_facts", "image_path")
    tool = FakeTool("image_facts", ImageInput, ok("16 bits, 512 rows"))
    room = open_room(tool, chat_template=shown, output_tokens=60)
    room.dock.submit("Read the facts of image-1.")
    wait_until(lambda: room.of(RunFinished), timeout=60)
    (loading,) = [event.text for event in room.of(Noted) if "is being loaded" in event.text]
    assert "half a minute" in loading
    (called,) = room.of(ToolFinished)
    assert (called.tool, called.status) == ("image_facts", "ok")
    assert len(room.of(TextDelta)) > 1, "the answer streamed into the chat"
    if folder := os.environ.get("SIGHTLINE_SHOTS"):
        room.dock.grab().save(str(Path(folder) / "local-model.png"))
    (finished,) = room.of(RunFinished)
    # So small a model may name another figure than the tool's, which the answer then marks.
    assert re.sub(r" \[check: [^\]]*\]", "", finished.answer).strip() == room.text.strip() != ""
    assert room.dock.conversation.runs[-1].run_id == finished.run_id
    pid = room.model.pid
    assert pid is not None, "it stays loaded for the next question"
    room.close()
    assert gone_within(pid, 10)


@pytest.mark.timed
def test_a_long_answer_is_stopped_within_a_second_and_the_next_question_answered(
    open_room: Callable[..., Room], wait_until: Wait
):
    room = open_room(output_tokens=1500)
    room.dock.submit("Tell a very long story about a lighthouse.")
    wait_until(lambda: len(room.text) > 40, timeout=60)
    room.agent.stop()
    wait_until(lambda: room.of(RunCancelled), timeout=1)
    before = len(room.text)
    room.dock.submit("Say hello.")
    wait_until(lambda: len(room.text) > before, timeout=30)
    room.agent.stop()
    wait_until(lambda: len(room.of(RunCancelled)) == 2 or room.of(RunFinished), timeout=1)
