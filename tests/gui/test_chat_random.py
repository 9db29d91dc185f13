"""Random sequences of what a user does while runs go on; results go where they belong.

Two studies are read by turns while questions are asked, queued, stopped, held, edited, undone and
redone, and conversations changed. The loop, its runner and the window are real; the tools sleep.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import ApprovalRequested, PlanUpdated, RunEvent, RunStarted
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.loop.runner import AgentRunner
from app.agent.planning import Intent, Planner, Step, ToolPlan
from app.agent.planning.plan import OpenImage, Scene
from app.agent.request import PlanEdit, Question
from app.agent.sessions import SessionStore, Thread
from app.imaging.findings import Box, Finding, Provenance, new_id
from app.imaging.types import ImageRef, Instance
from app.tools.api import Approval, ToolContext, ToolResult
from app.tools.viewer import tools as named
from app.views.agent_thread import AgentThread
from app.views.chat.dock import ChatDock
from app.views.main_window import MainWindow
from app.views.viewer_commands.viewer import ViewerCommands
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, found, instance, study
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, NoHost, NoImages

pytestmark = pytest.mark.gui

SEED = int(os.environ.get("SIGHTLINE_SEED", "20"))
SEQUENCES = 50
STEPS = 20
TOOLS = ("outline", "measure", "invert", "keep")
FIRST, SECOND = instance("2.25.7"), instance("2.25.8")
Wait = Callable[..., None]


class Images(NoImages):
    """The one image that a question is about."""

    def __init__(self, shown: Instance) -> None:
        self.shown = shown

    def instances(self) -> dict[str, Instance]:
        return {"image-1": self.shown}


class Planned(Planner):
    """Plans what the question spells: "q7: outline measure"."""

    def interpret(self, question: str, scene: Scene) -> Intent:
        tools = question.partition(": ")[2].split()
        steps = tuple(Step(tool, {"image_path": OpenImage()}) for tool in tools)
        return Intent(question, scene, plan=ToolPlan(steps))


class Rig:
    """The window with a real runner, and what its runs said."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.workspace = Workspace()
        self.events: list[RunEvent] = []
        self.about: dict[str, str] = {}  # UID of the image, by question
        self.thread_of: dict[str, str] = {}
        tools = FakeRegistry(
            FakeTool("outline", ImageInput, self._find),
            FakeTool("measure", ImageInput, self._find),
            FakeTool("invert", ImageInput, self._invert, sequential=True),
            FakeTool("keep", ImageInput, self._find, approval=Approval.WRITE),
        )
        model = OfflineModel()
        model.planner = Planned()
        self.loop = AgentLoop(model, tools)
        self.folder = folder
        self.agent = AgentThread(self._runner, self._question, self.workspace)
        self.store = SessionStore(folder / "sessions")
        self.dock = ChatDock(self.agent, self.workspace, self.store)
        layout = folder / "window.ini"
        self.window = MainWindow(self.workspace, FakeDecoder(), self.dock, layout_file=layout)
        self.viewer = ViewerCommands(self.window, lambda: self.agent.caught_up)
        self.agent.run_ended.connect(lambda run_id, _kind: self.viewer.end_run(run_id))
        self.agent.run_event.connect(self._hear)
        self.window.resize(1100, 800)
        self.window.show()
        self.workspace.add(found(study(FIRST, uid="a"), study(SECOND, uid="b")))
        self.workspace.viewport.show(FIRST)

    def close(self) -> None:
        self.window.close()
        self.window.deleteLater()

    # The agent's side

    def _runner(self, on_event: Callable[[RunEvent], None]) -> AgentRunner:
        return AgentRunner(self.loop, on_event)

    def _question(self, text: str, thread: Thread) -> Question:
        shown = self.workspace.acquired
        assert shown is not None
        self.about[text], self.thread_of[text] = shown.sop_instance_uid, thread.thread_id
        note = {"id": "image-1", "path": str(shown.path), "name": shown.path.name}
        out, host = self.folder / "out", NoHost()
        images = Images(shown)
        return Question(*(text, thread, images, [note], out, host, self.folder), viewer=self.viewer)

    def _find(self, _args: Any, context: ToolContext) -> ToolResult:
        for _ in range(hash(context.call_id) % 5):
            context.cancel.check()
            time.sleep(0.005)
        (shown,) = context.images.instances().values()
        ref = ImageRef(shown.sop_instance_uid, 0, f"sha-{shown.sop_instance_uid}-0")
        made = Provenance("outline", "1", "net", "", context.run_id, context.call_id)
        box = Finding(new_id(), ref, Box(1, 1, 9, 9), "Box", None, "", made)
        return ToolResult("Found.", {"path": str(shown.path)}, {}, (box,))

    def _invert(self, _args: Any, context: ToolContext) -> ToolResult:
        assert context.viewer is not None
        answer = context.viewer.do(named.COMMAND, {"command": "invert"}, context)
        return ToolResult(answer.summary, {}, {})

    def _hear(self, event: RunEvent) -> None:
        self.events.append(event)
        if isinstance(event, ApprovalRequested):
            self.agent.resolve(event.approval_id, self.chance.random() < 0.7)

    # The user's side

    def act(self) -> str:
        """Do something at random; return what."""
        chance, commands = self.chance, self.workspace.commands
        often = ("ask", "ask", "show", "show", "show", "hold", "go", "go", "edit", "edit")
        often += ("undo", "undo", "redo", "after", "drop")
        what = chance.choice(("stop", "new", "back") if chance.random() < 0.1 else often)
        match what:
            case "ask":
                tools = " ".join(chance.choices(TOOLS, k=chance.randint(2, 6)))
                self.dock.submit(f"q{len(self.about)}-{chance.random()}: {tools}")
            case "show":
                self.workspace.viewport.show(chance.choice((FIRST, SECOND)))
            case "hold" | "go":
                self.agent.edit_plan(PlanEdit(what))
            case "edit":
                plans = [one for one in self.events if isinstance(one, PlanUpdated)]
                steps = plans[-1].steps if plans else []
                if steps:
                    at = chance.randrange(len(steps))
                    kind = chance.choice(("remove", "up", "down"))
                    self.agent.edit_plan(PlanEdit(kind, at, steps[at]["tool"]))
            case "stop" | "after":
                self.agent.stop(after_tool=what == "after")
            case "undo":
                commands.undo()
            case "redo":
                commands.redo()
            case "new":
                self.dock.new_thread()
            case "back":
                threads = self.store.threads()
                if threads:
                    self.dock.open_thread(chance.choice(threads).thread_id)
            case _:
                for one in self.agent.pending[:1]:
                    self.agent.remove(one.number)
        return what

    def seen(self) -> tuple[bool, list[str]]:
        """What is shown of FIRST, and the marks on both."""
        self.workspace.viewport.show(FIRST)
        inverted = self.window.canvas.model.display.invert
        return inverted, sorted(one.finding.id for one in self.workspace.annotations.all())

    def check(self, wait_until: Wait) -> None:
        """Let all end, then compare what is there with what was asked."""

        def ended() -> bool:
            self.agent.edit_plan(PlanEdit("go"))
            return self.dock.is_idle()

        wait_until(ended, 30)
        starts = [one for one in self.events if isinstance(one, RunStarted)]
        question_of = {one.run_id: one.question for one in starts}
        for one in starts:
            assert one.thread_id == self.thread_of[one.question]
        for item in self.workspace.annotations.all():
            made = item.finding.provenance.run_id
            assert item.finding.image.sop_instance_uid == self.about[question_of[made]]
        for info in self.store.threads():
            if self.dock.thread is None or info.thread_id != self.dock.thread.thread_id:
                thread = self.store.open(info.thread_id)
                said = [one.text for one in thread.history if one.role == "user"]
                thread.close()
                assert {self.thread_of[text] for text in said} <= {info.thread_id}
        if self.dock.thread is not None:
            shown = {one.run_id for one in self.dock.conversation.runs}
            shown.discard("")  # a run that was stopped before it started
            assert shown <= {*self.dock.thread.run_ids}
        commands, after = self.workspace.commands, self.seen()
        count = len(commands._done)
        while commands.undo_label:
            commands.undo()
        assert self.seen() == (False, [])
        for _ in range(count):
            commands.redo()
        assert self.seen() == after


@pytest.fixture
def rig(qapp: object, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    made = Rig(tmp_path, random.Random(SEED * 1000 + request.param))
    yield made
    made.close()


_MANY = [pytest.param(number, marks=pytest.mark.slow) for number in range(3, SEQUENCES)]


@pytest.mark.parametrize("rig", [0, 1, 2, *_MANY], indirect=True)
def test_whatever_is_done_meanwhile_results_go_where_they_belong(rig: Rig, wait_until: Wait):
    for _ in range(STEPS):
        rig.act()
        until = time.monotonic() + rig.chance.random() * 0.06
        wait_until(lambda until=until: time.monotonic() >= until)
    rig.check(wait_until)
