"""Generated code in the window: it is shown and asked about, runs sandboxed, and is stopped."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.runner import AgentRunner
from app.agent.request import Limits, Question
from app.agent.sessions import SessionStore, Thread
from app.tools.record.generated_analysis import NAME, GeneratedAnalysis
from app.tools.sandbox.sandbox import find_sandbox
from app.views.agent_thread import AgentThread
from app.views.chat.approval import ApprovalCard
from app.views.chat.dock import ChatDock
from app.workspace.workspace import Workspace
from tests.gui.heartbeat import Heartbeat, stall_ms
from tests.support.fake_tools import FakeRegistry, NoHost, NoImages
from tests.support.made_record import MadeRecords
from tests.support.scripted_model import ScriptedModel, call, says

pytestmark = [
    pytest.mark.gui,
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes of Linux"),
]

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


class Rig:
    """A dock around the real loop and the real tool, with Anna's and Bert's record open."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        tools: Any = FakeRegistry(GeneratedAnalysis())  # pyright: ignore[reportArgumentType]
        loop = AgentLoop(model, tools, limits=Limits())
        self.out = folder / "out"
        self.out.mkdir()

        def make_request(text: str, thread: Thread) -> Question:
            return Question(
                text, thread, NoImages(), [], self.out, NoHost(), folder, records=MadeRecords()
            )

        self.agent = AgentThread(lambda on_event: AgentRunner(loop, on_event), make_request)
        self.dock = ChatDock(self.agent, Workspace(), SessionStore(folder / "sessions"))
        self.dock.resize(460, 900)
        self.dock.show()

    def ask_and_allow(self, wait_until: Wait) -> ApprovalCard:
        self.dock.submit("How many?")
        wait_until(lambda: self.dock.conversation.runs and self.run.approvals)
        (card,) = self.run.approvals.values()
        assert isinstance(card, ApprovalCard)
        wait_until(card.allow.isEnabled)
        QTest.mouseClick(card.allow, LEFT)
        return card

    @property
    def run(self) -> Any:
        return self.dock.conversation.runs[-1]

    def close(self) -> None:
        self.dock.close_models()
        self.dock.close()
        self.dock.deleteLater()


@pytest.fixture
def make(qapp: object, tmp_path: Path) -> Iterator[Callable[[ScriptedModel], Rig]]:
    find_sandbox()  # its self-test, which the first call waits for
    made: list[Rig] = []

    def build(model: ScriptedModel) -> Rig:
        made.append(Rig(tmp_path, model))
        return made[-1]

    yield build
    for rig in made:
        rig.close()


Make = Callable[[ScriptedModel], Rig]


def result_sent(model: ScriptedModel) -> Any:
    """What the model is told that the code returned."""
    sent = next(one.text for one in model.requests[-1] if one.role == "tool")
    return json.loads(sent[sent.index("{") : sent.rindex("}") + 1])["output"]["result"]


def test_the_user_reads_the_code_and_allows_it(make: Make, wait_until: Wait):
    code = "def analyze():\n    return {'labs': len(get_labs('anna')), 'who': get_patients()}\n"
    with ScriptedModel([call(NAME, code=code)], says("Three.")) as model:
        rig = make(model)
        card = rig.ask_and_allow(wait_until)
        wait_until(lambda: rig.run.ended)
    assert [view.plain() for view in card.programs] == [code]
    assert [one.status for one in rig.run.cards.values()] == ["ok"]
    assert result_sent(model) == {"labs": 3, "who": ["anna", "bert"]}


ENDLESS = "def analyze():\n    open('begun', 'w').close()\n    while True: pass\n"
HOSTILE = (
    "import os, threading\n"
    "def attempt(action):\n"
    "    try:\n        action()\n"
    "    except BaseException as error:\n        return type(error).__name__\n"
    "def many(action):\n    while True: action()\n"
    "def grow():\n    x = []\n    while True: x.append(bytearray(2 ** 24))\n"
    "def fill():\n    with open('large', 'wb') as file:\n"
    "        while True: file.write(bytes(2 ** 24))\n"
    "def analyze():\n"
    "    return {'fork': attempt(lambda: many(os.fork)), 'memory': attempt(grow),\n"
    "            'file': attempt(fill),\n"
    "            'thread': attempt(lambda: many(threading.Thread(target=print).start))}\n"
)


def test_an_endless_loop_is_stopped_within_a_second_and_the_window_lives(
    make: Make, wait_until: Wait, heartbeat: Heartbeat
):
    with ScriptedModel([call(NAME, code=ENDLESS)]) as model:
        rig = make(model)
        rig.ask_and_allow(wait_until)
        wait_until(lambda: list(rig.out.glob("generated-analysis-*/scratch/begun")))
        assert not rig.run.ended
        stopped = time.monotonic()
        QTest.keyClick(rig.dock.composer.edit, Qt.Key.Key_Escape)
        wait_until(lambda: rig.run.ended)
        took = time.monotonic() - stopped
        assert rig.run.ended == "run_cancelled"
    assert took < 1
    wait_until(lambda: not list(rig.out.glob("generated-analysis-*")))  # nothing is left behind
    assert heartbeat.computed_ms < stall_ms()


def test_code_that_uses_all_it_can_does_not_hold_the_window(
    make: Make, wait_until: Wait, heartbeat: Heartbeat
):
    with ScriptedModel([call(NAME, code=HOSTILE)], says("All were refused.")) as model:
        rig = make(model)
        rig.ask_and_allow(wait_until)
        wait_until(lambda: rig.run.ended)
    assert result_sent(model) == {
        "fork": "PermissionError",
        "memory": "MemoryError",
        "file": "OSError",
        "thread": "RuntimeError",
    }
    assert heartbeat.computed_ms < stall_ms()
