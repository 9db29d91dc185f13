"""What the chat's tests share: a runner that says what the test writes, and events by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PySide6.QtWidgets import QWidget

from app.agent.events import RunCancelled, RunEvent, RunFinished, RunStarted
from app.agent.request import Decision, PlanEdit
from app.agent.sessions import SessionStore, Thread
from app.imaging.findings import Box, Finding, Mask, Polyline, Provenance, new_id
from app.imaging.types import ImageRef, Instance, ScanResult, Series, Study
from app.tools.registry import load_packs
from app.views.agent_thread import AgentThread
from app.views.application import freeze_startup_objects
from app.views.chat.dock import ChatDock
from app.views.chat.run_view import RunView
from app.views.wording import PackTexts
from app.workspace.workspace import Workspace

REF = ImageRef("2.25.7", 0, "0" * 64)
TIME = "2026-01-01T00:00:00.000+00:00"


@dataclass
class Asked:
    """What `make_request` froze."""

    text: str
    thread: Thread
    image: str


@dataclass
class FakeRunner:
    """Keeps what it is asked; the test says what it answers, from a thread if it likes."""

    on_event: Callable[[RunEvent], None]
    asked: list[tuple[str, Asked]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    answers: list[tuple[str, Decision]] = field(default_factory=list)
    edits: list[PlanEdit] = field(default_factory=list)
    started: int = 0
    closed: int = 0
    obeys: bool = True
    seq: int = 0

    def start(self) -> None:
        self.started += 1

    def ask(self, question: Any) -> str:
        run_id = f"run-{len(self.asked) + 1}"
        self.asked.append((run_id, question))
        self.seq = 0
        self.say(
            RunStarted,
            thread_id=question.thread.thread_id,
            question=question.text,
            model="offline",
        )
        return run_id

    def cancel(self, run_id: str, *, after_tool: bool = False) -> None:
        self.cancelled.append(f"{run_id} after tool" if after_tool else run_id)
        if self.obeys and not after_tool:
            self.say(RunCancelled)

    def resolve(self, approval_id: str, decision: Decision | bool) -> None:
        assert isinstance(decision, Decision)
        self.answers.append((approval_id, decision))

    def edit_plan(self, run_id: str, edit: PlanEdit) -> None:
        self.edits.append(edit)

    def close(self) -> None:
        self.closed += 1

    def make(self, kind: Callable[..., RunEvent], **fields: Any) -> RunEvent:
        run_id = f"run-{max(1, len(self.asked))}"
        event = kind(run_id=run_id, seq=self.seq, time=TIME, **fields)
        self.seq += 1
        return event

    def say(self, kind: Callable[..., RunEvent], **fields: Any) -> None:
        self.on_event(self.make(kind, **fields))

    def say_elsewhere(self, events: Sequence[RunEvent]) -> threading.Thread:
        """Say them on another thread, as the real runner does."""
        thread = threading.Thread(target=lambda: [self.on_event(event) for event in events])
        thread.start()
        return thread

    def finish(self, answer: str = "") -> None:
        self.say(RunFinished, answer=answer)


@dataclass
class Chat:
    """A dock and everything around it."""

    dock: ChatDock
    agent: AgentThread
    runner: FakeRunner
    workspace: Workspace
    store: SessionStore

    @property
    def run(self) -> RunView:
        """The last run."""
        return self.dock.conversation.runs[-1]


def make_chat(folder: Path, parent: QWidget | None = None) -> Chat:
    """A chat with a fake runner."""
    registry = load_packs([])
    texts = PackTexts([tool.spec for tool in registry.all()], registry.plans)
    workspace = Workspace(registry.labels)
    runners: list[FakeRunner] = []

    def make_runner(on_event: Callable[[RunEvent], None]) -> FakeRunner:
        runners.append(FakeRunner(on_event))
        return runners[0]

    def make_request(text: str, thread: Thread) -> Asked:
        shown = workspace.viewport.instance
        return Asked(text, thread, shown.path.name if shown else "")

    agent = AgentThread(make_runner, make_request, workspace)
    store = SessionStore(folder)
    dock = ChatDock(agent, workspace, store, texts=texts, parent=parent)
    return Chat(dock, agent, runners[0], workspace, store)


def opened(folder: Path) -> Iterator[Chat]:
    """A chat on screen, put away afterwards; for a fixture to `yield from`."""
    freeze_startup_objects()  # as the window does; else what a test process holds is gone through
    chat = make_chat(folder)
    chat.dock.resize(420, 800)
    chat.dock.show()
    yield chat
    chat.dock.close_models()
    chat.dock.close()
    chat.dock.deleteLater()


def ask(chat: Chat, wait_until: Callable[..., None], text: str = "Where are the lungs?") -> None:
    """Ask, and wait until the run is shown."""
    before = len(chat.runner.asked)
    chat.dock.submit(text)
    wait_until(lambda: len(chat.runner.asked) > before and chat.run.run_id)


def open_image(workspace: Workspace, path: Path = Path("chest.dcm")) -> Instance:
    """Show an image in the workspace."""
    instance = Instance(
        path,
        REF.sop_instance_uid,
        "dicom",
        64,
        64,
        attributes={"Modality": "CR", "BodyPartExamined": "CHEST", "ViewPosition": "PA"},
    )
    series = Series("1.2", "Chest", "CR", 1, (instance,))
    workspace.add(ScanResult((Study("1.1", "Chest", "", "", "", (series,)),), ()))
    return instance


def finding(
    label: str, *, value: float | None = None, units: str = "", call_id: str = "c1"
) -> Finding:
    """A finding on the image."""
    shape: Mask | Polyline | Box
    if "width" in label:
        shape = Polyline(((1, 1), (5, 1)))
    elif "Lung" in label or label == "Heart":
        pixels = np.zeros((64, 64), bool)
        pixels[4:30, 4:20] = True
        shape = Mask(pixels)
    else:
        shape = Box(1, 1, 9, 9)
    made = Provenance("chest_xray_segmentation", "0.1.0", "thorax-net 1.0", "", "run-1", call_id)
    return Finding(new_id(), REF, shape, label, None, units, made, value=value, approximate=True)


def picture(path: Path, size: int = 400) -> Path:
    """A PNG file."""
    ramp = np.linspace(0, 255, size * size).reshape(size, size).astype(np.uint8)
    Image.fromarray(ramp).save(path)
    return path
