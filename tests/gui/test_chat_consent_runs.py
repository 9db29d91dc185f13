"""With the real loop: what the dialogues were answered is what a remote model gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.events import RunEvent
from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.runner import AgentRunner
from app.agent.request import Question
from app.agent.sessions import SessionStore, Thread
from app.views.agent_thread import AgentThread
from app.views.chat import consent
from app.views.chat.consent import ConsentCard, ConsentDialog
from app.views.chat.dock import ChatDock
from app.views.main_window import ModelHostButton
from app.workspace.workspace import Workspace
from tests.support.fake_tools import FakeRegistry, NoHost
from tests.support.scripted_model import ScriptedModel, says
from tests.unit.agent.test_pictures import opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
HOST = "api.example.org"


class Rig:
    """A dock around the real loop, with one radiograph open that says nothing of burnt-in text."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        loop = AgentLoop(model, FakeRegistry())
        images, _ = opened(folder, (300, 400))

        def make_request(text: str, thread: Thread) -> Question:
            notes = images.notes(remote=False)
            return Question(text, thread, images, notes, folder / "files", NoHost(), folder)

        self.agent = AgentThread(lambda on_event: AgentRunner(loop, on_event), make_request)
        self.mark = ModelHostButton()
        self.mark.set_model(model.name, model.remote_host)
        self.marked: list[str] = []
        self.agent.run_event.connect(self._mark)
        self.dock = ChatDock(self.agent, Workspace(), SessionStore(folder / "sessions"))
        self.dock.resize(420, 800)
        self.dock.show()

    def dialog(self, wait_until: Wait, number: int) -> ConsentDialog:
        """The dialogue of the question with that number, once it can be answered with yes."""
        runs = self.dock.conversation
        wait_until(lambda: runs.runs and len(runs.runs[-1].approvals) == number)
        card = list(runs.runs[-1].approvals.values())[-1]
        assert isinstance(card, ConsentCard)
        dialog = card.dialog
        assert dialog is not None
        wait_until(dialog.yes.isEnabled)
        return dialog

    def _mark(self, event: RunEvent) -> None:
        self.mark.follow(event)
        if self.mark.text().strip() not in self.marked[-1:]:
            self.marked.append(self.mark.text().strip())

    def close(self) -> None:
        self.mark.deleteLater()
        self.dock.close_models()
        self.dock.close()
        self.dock.deleteLater()


def eyes(*texts: str) -> ScriptedModel:
    info = ModelInfo(own_tools=False, metered=False, images=True)
    return ScriptedModel(*(says(text) for text in texts), remote_host=HOST, info=info)


@pytest.fixture
def make(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[ScriptedModel], Rig]]:
    monkeypatch.setattr(consent, "QUIET_MS", 100)
    made: list[Rig] = []

    def build(model: ScriptedModel) -> Rig:
        made.append(Rig(tmp_path, model))
        return made[-1]

    yield build
    for rig in made:
        rig.close()


def test_three_times_yes_sends_the_picture_that_was_shown_and_asks_no_more(
    make: Callable[[ScriptedModel], Rig], wait_until: Wait
):
    with eyes("Seen.", "Still seen.") as model:
        rig = make(model)
        rig.dock.submit("What is it?")
        QTest.mouseClick(rig.dialog(wait_until, 1).yes, Qt.MouseButton.LeftButton)
        second = rig.dialog(wait_until, 2)
        assert model.requests == [], "nothing leaves while a question is open"
        second.yes.setFocus()
        QTest.keyClick(second.yes, Qt.Key.Key_Space)
        third = rig.dialog(wait_until, 3)
        (shown,) = third.view.pictures
        assert shown.sent is not None
        image = shown.sent.image
        QTest.keyClick(third, Qt.Key.Key_Tab)
        third.yes.setFocus()
        QTest.keyClick(third.yes, Qt.Key.Key_Return)
        wait_until(rig.dock.is_idle)
        (picture,) = [item for message in model.requests[0] for item in message.pictures]
        with Image.open(picture.path) as sent:
            assert sent.convert("RGBA").tobytes() == bytes(image.constBits())
        assert rig.marked[:2] == [HOST, f"Sending to {HOST}…"]
        rig.dock.submit("And now?")
        wait_until(lambda: len(model.requests) == 2)
        wait_until(rig.dock.is_idle)
        assert rig.dock.conversation.runs[-1].approvals == {}


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_the_first_no_keeps_back_what_was_asked_and_all_behind_it(
    make: Callable[[ScriptedModel], Rig], wait_until: Wait, refused: int
):
    with eyes(*(["Text alone."] if refused > 1 else [])) as model:
        rig = make(model)
        rig.dock.submit("What is it?")
        for number in range(1, refused):
            QTest.mouseClick(rig.dialog(wait_until, number).yes, Qt.MouseButton.LeftButton)
        QTest.keyClick(rig.dialog(wait_until, refused).area, Qt.Key.Key_Return)
        wait_until(rig.dock.is_idle)
        run = rig.dock.conversation.runs[-1]
        assert len(run.approvals) == refused
        assert run.ended == ("run_failed" if refused == 1 else "run_finished")
        assert (f"Sending to {HOST}…" in rig.marked) == (refused > 1)
        assert [item for sent in model.requests for each in sent for item in each.pictures] == []
