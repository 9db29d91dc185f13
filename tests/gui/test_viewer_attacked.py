"""What a language model can't do with the viewer's tools, whatever it asks for, and when."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QDialog

from app.imaging.findings import State
from app.imaging.types import ImageRef
from app.tools.api import ToolContext, ToolFailed, ToolResult, ToolRetry
from app.tools.images import RunImages
from app.tools.viewer.tools import TOOLS
from app.views.background import gui_calls
from app.workspace import drawing
from app.workspace.layout import LAYOUTS
from tests.gui.test_viewer_commands import AnyModel, look
from tests.gui.viewer_scenes import Room, image

pytestmark = [pytest.mark.gui, pytest.mark.parametrize("room", ["cxr"], indirect=True)]

THEIRS = "Region: x 5 to 90, y 5 to 90 px of other.dcm"
"""A region that a model makes up, of a file that it was told of."""
BY_NAME = {tool.spec.name: tool for tool in TOOLS}


class Attacker:
    """A language model that calls the viewer's tools in a room, and what the user answers."""

    def __init__(self, room: Room, folder: Path) -> None:
        self.room, self.folder = room, folder
        self.questions: list[str] = []
        self.answer: Callable[[], bool] = lambda: True
        images = RunImages(room.workspace.open_images(), folder, room.program.decoder, ())
        plain = room.program.tool_context("run", "call", images, folder)
        self.context: ToolContext = replace(
            plain, viewer=room.program.viewer, confirm=self._confirm, model=AnyModel()
        )

    def _confirm(self, title: str, detail: str, *, image: ImageRef | None = None) -> bool:
        self.questions.append(title)
        return self.answer()

    def call(self, tool: str, **arguments: Any) -> ToolResult | ToolRetry | ToolFailed:
        """Run a tool on a thread, as the agent does; returns its result or error."""
        ended: list[Any] = []

        def work() -> None:
            try:
                given = BY_NAME[tool].spec.Input.model_validate(arguments)
                ended.append(BY_NAME[tool].run(given, self.context))
            except Exception as error:
                ended.append(error)

        thread = Thread(target=work)
        thread.start()
        self.room.wait(lambda: ended)
        thread.join()
        assert isinstance(ended[0], ToolResult | ToolRetry | ToolFailed), repr(ended[0])
        return ended[0]


def while_asked(do: Callable[[], object]) -> bool:
    """Let the user do something before they say yes."""
    done: list[bool] = []
    gui_calls().send(lambda: (do(), done.append(True)))
    until = time.monotonic() + 10
    while not done and time.monotonic() < until:
        time.sleep(0.005)
    return True


def test_a_yes_is_for_the_finding_that_was_asked_about_though_another_is_selected_meanwhile(
    room: Room, tmp_path: Path
):
    annotations = room.workspace.annotations
    annotations.select("id-C")
    model = Attacker(room, tmp_path)
    model.answer = lambda: while_asked(lambda: annotations.select("id-B"))
    model.call("viewer_findings", action="accept", which="selected")
    assert model.questions == ["Accept Right nodule?"]
    states = look(room).states
    assert {key for key, state in states.items() if state == "accepted"} == {"id-C"}


def test_a_question_about_many_findings_names_them(room: Room, tmp_path: Path):
    model = Attacker(room, tmp_path)
    model.answer = lambda: False
    model.call("viewer_findings", action="delete", which="masks")
    assert model.questions == ["Delete 3 findings: Heart, Left lung, Right lung?"]
    assert len(look(room).states) == 5


def test_a_yes_to_undo_is_for_the_step_that_was_asked_about(room: Room, tmp_path: Path):
    annotations, commands = room.workspace.annotations, room.workspace.commands
    annotations.remove(["id-A"])
    model = Attacker(room, tmp_path)
    mine = partial(annotations.remove, ["id-B"])
    model.answer = lambda: while_asked(mine)
    answer = model.call("viewer_command", command="undo")
    assert isinstance(answer, ToolFailed)
    assert "meanwhile" in str(answer)
    assert set(look(room).states) == {"id-C", "id-D", "id-E"}, "the user's own step stays"
    assert len(commands._done) == 2


def test_the_question_before_all_is_undone_says_how_many_steps(room: Room, tmp_path: Path):
    annotations, commands = room.workspace.annotations, room.workspace.commands
    annotations.remove(["id-A"])
    annotations.remove(["id-B"])
    model = Attacker(room, tmp_path)
    model.answer = lambda: False
    model.call("viewer_command", command="undo everything")
    assert len(model.questions) == 1
    assert "(× 2)" in model.questions[0]
    assert len(commands._done) == 2


def test_steps_of_a_run_around_the_users_own_are_undone_one_by_one_and_nothing_is_lost(
    room: Room, tmp_path: Path
):
    model, commands = Attacker(room, tmp_path), room.workspace.commands
    before = look(room)
    model.call("viewer_command", command="invert")
    model.call("viewer_window", center=1000, width=300)
    room.workspace.annotations.remove(["id-A"])  # the user
    model.call("viewer_command", command="flip left-right")
    assert len(commands._done) == 3
    commands.undo()
    room.settle()
    now = look(room)
    assert now.display.invert
    assert not now.display.flip_h
    assert set(now.states) == {"id-B", "id-C", "id-D", "id-E"}
    commands.undo()
    room.settle()
    assert set(look(room).states) == set(before.states)
    commands.undo()
    room.settle()
    assert look(room).display == before.display


def test_a_locked_finding_is_not_said_to_be_deleted(room: Room, tmp_path: Path):
    room.workspace.annotations.alter(["id-A"], "lock", lambda one: replace(one, locked=True))
    model = Attacker(room, tmp_path)
    assert isinstance(model.call("viewer_findings", action="delete", which="heart"), ToolFailed)
    answer = model.call("viewer_findings", action="delete", which="masks")
    assert isinstance(answer, ToolResult)
    assert answer.summary == "Deleted: Left lung, Right lung."
    assert set(look(room).states) == {"id-A", "id-B", "id-C"}


def test_no_second_dialogue_opens_over_an_open_one(room: Room, tmp_path: Path):
    room._watch.stop()
    dialog = QDialog(room.window)
    dialog.setModal(True)
    dialog.show()
    model = Attacker(room, tmp_path)
    answer = model.call("viewer_command", command="settings")
    others = [one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog)]
    shown = [one for one in others if one.isVisible()]
    dialog.close()
    assert isinstance(answer, ToolFailed)
    assert shown == [dialog]


def test_after_the_window_is_closed_a_call_ends_with_an_error(room: Room, tmp_path: Path):
    model = Attacker(room, tmp_path)
    room.window.close()
    for tool in ("viewer_state", "viewer_zoom", "viewer_command"):
        given = {"command": "invert"} if tool == "viewer_command" else {}
        answer = model.call(tool, **given)
        assert isinstance(answer, ToolFailed)
        assert "closed" in str(answer)


def test_another_patients_study_is_neither_changed_nor_told_of(room: Room, tmp_path: Path):
    """The user opens it at the right, and reads there while the run goes on."""
    model = Attacker(room, tmp_path)
    other = image(
        "DX",
        "1.2.9.1",
        "1.2.9.1.1",
        1,
        PatientID="0815",
        PatientName="Roe^Richard",
        PatientBirthDate="19500505",
        Modality="CR",
    )
    other.save_as(tmp_path / "other.dcm", enforce_file_format=True)
    window, layout = room.window, room.workspace.layout
    window.open_paths([tmp_path / "other.dcm"])
    room.wait(lambda: not window.busy and len(room.workspace.studies.all) == 2)
    theirs = next(one for one in room.workspace.studies.all if one.uid == "1.2.9.1")
    own = next(one for one in room.workspace.studies.all if one is not theirs)
    layout.arrange(LAYOUTS["1x2"])
    layout.viewports[0].show(own.series[0].instances[0])
    layout.viewports[1].show(theirs.series[0].instances[0])
    layout.activate(layout.viewports[1])
    room.settle()
    before = window.canvas.model.display, window.canvas.shown_window
    frame = window.canvas.frame
    assert frame is not None
    drawn = drawing.draw(drawing.POINT, frame, [(100, 100)])
    room.workspace.annotations.add([replace(drawn, id="theirs", label="Secret finding")])
    for tool, given in (
        ("viewer_command", {"command": "invert"}),
        ("viewer_window", {"center": 100, "width": 100}),
        ("viewer_window", {"center": 100, "width": 100, "viewport": "all"}),
        ("viewer_zoom", {"factor": 3, "viewport": "right"}),
        ("viewer_findings", {"action": "delete", "which": "all"}),
        ("viewer_mark", {"points": [(5, 5)]}),
        ("viewer_place", {"action": "value"}),
        *(
            ("viewer_place", {"action": action, "region": THEIRS})
            for action in ("statistics", "findings", "zoom", "box")
        ),
        ("viewer_window", {"center": 100, "width": 100, "viewport": THEIRS}),
    ):
        answer = model.call(tool, **given)
        assert isinstance(answer, ToolFailed), tool
        assert "another study" in str(answer)
    assert (window.canvas.model.display, window.canvas.shown_window) == before
    assert model.questions == []
    told = model.call("viewer_state")
    assert isinstance(told, ToolResult)
    assert "Secret" not in str(told.output)
    assert told.output["viewports"][1] == {"viewport": 2, "active": True, "other_study": True}
    left = model.call("viewer_window", center=100, width=100, viewport="left")
    assert isinstance(left, ToolResult)
    assert "Secret" not in str(left.output)
    assert "window" not in left.output["viewports"][1]


def test_a_yes_to_close_closes_the_study_that_was_asked_about_and_no_other(
    room: Room, tmp_path: Path
):
    model = Attacker(room, tmp_path)
    model.answer = lambda: False
    assert isinstance(model.call("viewer_command", command="close study"), ToolFailed)
    assert len(room.workspace.studies.all) == 1
    model.answer = lambda: True
    model.call("viewer_command", command="close study")
    room.wait(lambda: not room.workspace.studies.all)
    assert model.questions == ["Close study?"] * 2


def test_nobody_is_asked_about_what_cannot_be_done_now(room: Room, tmp_path: Path):
    model = Attacker(room, tmp_path)
    for command in ("undo", "redo", "close patient record"):
        answer = model.call("viewer_command", command=command)
        assert isinstance(answer, ToolFailed)
        assert "cannot be used now" in str(answer)
    assert model.questions == []


@pytest.mark.parametrize("agreed", [False, True])
def test_steps_that_need_a_yes_are_asked_about_together_before_any_is_made(
    room: Room, agreed: bool
):
    room.answer = agreed
    room.ask("reject the effusion, then delete the nodule, then delete the heart")
    (question,) = room.asked
    assert "Delete Right nodule?" in question
    assert "Delete Heart?" in question
    states = {one.finding.id: one.finding.state for one in room.workspace.annotations.all()}
    assert states["id-B"] is State.REJECTED, "nobody is asked about what the user says plainly"
    assert ({"id-A", "id-C"} & states.keys() == set()) is agreed
