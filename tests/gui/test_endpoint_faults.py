"""Whatever an endpoint does, the chat says so and the window stays alive: real loop, real sockets.

Every test here is measured by the heartbeat of `conftest.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.agent.llm.endpoint import Bounds, load
from app.agent.llm.openai_model import OpenAIModel
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.loop.runner import AgentRunner
from app.agent.request import Question
from app.agent.sessions import SessionStore, Thread
from app.views.agent_thread import AgentThread
from app.views.chat.dock import ChatDock
from app.workspace.workspace import Workspace
from tests.support.fake_tools import FakeRegistry, NoHost, NoImages
from tests.support.fault_server import FaultServer

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.agent.events import RunEvent

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
SHORT = Bounds(
    connect_s=0.5, first_s=0.6, silence_s=0.4, answer_s=1.2, note_s=60, body_bytes=2 * 2**20
)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """The endpoint's package, which the program loads on the agent's thread."""
    load("openai")


class Rig:
    """A chat whose model is at an endpoint."""

    def __init__(self, url: str, folder: Path, bounds: Bounds) -> None:
        self.events: list[RunEvent] = []
        model = OpenAIModel(url, "test-model", bounds=bounds)
        loop = AgentLoop(model, FakeRegistry(), retry=Retry(attempts=2, base_s=0.05))
        workspace = Workspace()

        def question(text: str, thread: Thread) -> Question:
            return Question(text, thread, NoImages(), [], folder / "out", NoHost(), folder)

        self.agent = AgentThread(lambda take: AgentRunner(loop, take), question, workspace)
        self.agent.run_event.connect(self.events.append)
        store = SessionStore(folder / "sessions")
        self.dock = ChatDock(self.agent, workspace, store, model=model.name)
        self.dock.resize(420, 800)
        self.dock.show()

    @property
    def ended(self) -> str:
        """The kind of the terminal event that the chat has shown."""
        runs = self.dock.conversation.runs
        return runs[-1].ended if runs else ""

    def close(self) -> None:
        """Put it away."""
        self.agent.close()
        self.dock.close_models()
        self.dock.close()
        self.dock.deleteLater()


@contextmanager
def opened(url: str, folder: Path, bounds: Bounds = SHORT) -> Generator[Rig]:
    """A chat on screen."""
    rig = Rig(url, folder, bounds)
    try:
        yield rig
    finally:
        rig.close()


@pytest.mark.parametrize(
    "fault",
    [
        "reset_in_stream",
        "stall_in_stream",
        "drip",
        "429",
        "500",
        "bad_json",
        "endless",
        "endless_line",
        "endless_comments",
        "redirect_loop",
        "gzip_bomb",
        "tls_cut_in_handshake",
    ],
)
def test_the_run_ends_with_a_reason_and_the_window_stays_alive(
    qapp: object, wait_until: Wait, tmp_path: Path, fault: str
):
    with FaultServer(fault) as server, opened(server.url, tmp_path) as rig:
        rig.dock.submit("Where are the lungs?")
        wait_until(lambda: rig.ended)
        last = rig.events[-1]
        assert last.kind == "run_failed"
        assert "127.0.0.1" in last.error
        assert last.remedy


def test_what_is_repeated_is_shown_once(qapp: object, wait_until: Wait, tmp_path: Path):
    server = FaultServer("reset_in_stream", good_from=2)
    with server, opened(server.url, tmp_path, Bounds()) as rig:
        rig.dock.submit("Where are the lungs?")
        wait_until(lambda: rig.ended == "run_finished")
        shown = " ".join(view.view.plain() for view in rig.dock.conversation.runs[-1].answers)
        assert [event.kind for event in rig.events].count("model_retry") == 1
    assert shown.strip() == "all is well"


@pytest.mark.timed
@pytest.mark.parametrize("fault", ["stall_before_headers", "drip", "endless_comments"])
def test_stop_takes_less_than_a_second(qapp: object, wait_until: Wait, tmp_path: Path, fault: str):
    with FaultServer(fault) as server, opened(server.url, tmp_path, Bounds()) as rig:
        rig.dock.submit("Where are the lungs?")
        wait_until(server.reached.is_set)
        begin = time.monotonic()
        rig.agent.stop()
        wait_until(lambda: rig.ended)
        assert time.monotonic() - begin < 1.0
        assert rig.ended == "run_cancelled"
        wait_until(server.gone.is_set)
