"""The assistant works the viewer: 100 commands as people say them, in the real window, offline.

What each must do stands in `blind_commands_*.toml`, by people who didn't know the rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic import ValidationError
from PySide6.QtCore import QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.agent.loop.runner import AgentRunner
from app.imaging.findings import Box, Finding, Point, Polyline, Provenance, State
from app.imaging.types import ImageRef, Window
from app.settings import LimitSettings, Settings
from app.tools.api import ToolContext, ToolFailed, ToolRetry
from app.tools.images import RunImages
from app.tools.viewer.commands import ASKED
from app.tools.viewer.commands import COMMANDS as COMMANDS_OF
from app.tools.viewer.tools import TOOLS, ViewerTool
from app.views.canvas.corner_text import Detail
from app.views.chat.dock import ChatDock
from app.wiring import Program, ViewRequest, build_window
from app.workspace import drawing
from app.workspace.viewport import Viewport
from tests.gui.viewer_scenes import Room
from tests.gui.viewer_support import WaitUntil, activate

pytestmark = pytest.mark.gui


SETS = [
    tomllib.loads(path.read_text("utf-8"))["command"]
    for path in sorted(Path(__file__).parent.glob("blind_commands_*.toml"))
]
COMMANDS: list[dict[str, Any]] = SETS[0]
EVERY = [one for each in SETS for one in each]
SCENES = tuple(dict.fromkeys(one["context"] for one in COMMANDS))
_SETS = [
    pytest.param(COMMANDS, id="first"),
    *(
        pytest.param(
            [one for each in SETS[at : at + 9] for one in each],
            id=f"from {at + 1}",
            marks=pytest.mark.slow,
        )
        for at in range(1, len(SETS), 9)
    ),
]
_PRESETS = {"lung": (-600, 1500), "soft tissue": (40, 400), "bone": (480, 2500)}
"""As the viewer's own table has them; the file's scenes allow these."""
_WRONG = frozenset(
    [
        "Export the findings to a spreadsheet",  # asks back: there is no such command
        "hide that lung outline",  # hides both
        "viewport 2 to slice 80",  # done; the active viewport is checked
        "rechts auf Schicht 100 bitte",  # done; the active viewport is checked
        "im rechten Fenster Lungenfenster, und beide koppeln beim Scrollen",  # done, as above
        "lowest slice of the heart",  # it lies on one slice of the scene
        "letzte Schicht, auf der der Erguss noch drauf ist",  # it lies on one slice of the scene
        "where does the effusion start? go to its first slice",  # others are asked
        "don't need the 2022 film any more, take it off the screen",  # nothing is selected
        "alle annehmen außer dem Rundherd, den ablehnen",  # refused
        "this one's fine, accept",  # refused
        "Rechteck aufziehen, die zwei Klicks sind die Ecken",  # the tool is in hand
        "die Lunge ausblenden",  # hides both
        "Blende den einen Lungenflügel aus.",  # hides both
        "I can't see the vessels under the heart contour, turn it off",  # asks which finding
        "nimm den letzten Schritt zurück und stell ihn dann wieder her",  # undone, not redone
        "thats not an effusion, reject it",  # asks to click it
        "just flip it",  # flips it left-right, where the user is to be asked which way
        "mark this",  # marks the place clicked last, where the user is to be asked which
        "den Rundherd doch wieder auf offen stellen, weder ja noch nein",  # refused as unclear
        "Rundherd doch wieder auf Vorschlag, da bin ich mir unsicher",  # asks the chest pack
        "Den Erguss links übernehme ich, Herz auch",  # refused as unclear
        "scrap all my fiddling, I want this picture as it was when it loaded",  # asks back
        "Voraufnahme von 2022 daneben, die alte nach links",  # shown beside, at the right
        "send it over to PACS with my marks",  # not understood: there is no such command
        "doch kein Schlüsselbild, Markierung wieder raus",  # not understood
        "die andere kann wieder zu",  # not understood
        "nur noch die linke, dafür groß",  # not understood
        "den Rundherd doch nicht verwerfen, wieder auf Vorschlag setzen",  # asks the chest pack
        "bring the side panels back please",  # while others are shown, nothing
        "wieder verkleinern, ich brauche beide Serien nebeneinander",  # zooms out
        "Rechteck hier hin, meine zwei Klicks sind die Ecken",  # the tool in hand
        "turn it the other way round",  # turns it, where the user is to be asked how
        "come in closer on where I clicked last",  # asks the chest pack
        "I agree with the effusion, but the nodule is a nipple shadow - accept the first, reject "
        "the second.",  # asks the chest pack
        "push my findings over to PACS",  # refused: nothing is sent to a PACS
        "sagittals on bone for the thoracic spine",  # the plane only
        "I agree with the effusion, accept it. The nodule is a vessel end-on, reject.",  # refused
        "hide the lung on that side",  # hides both
        "accept all five",  # refused: there is no finding “five”
        "2022 on the left, 2024 on the right",  # refused: there is one viewport
        "send this study over to the PACS please",  # refused: nothing is sent to a PACS
        "widen the grey scale somewhat, the calcifications are clipping",  # not understood
        "put the greys back the way the scanner sent them",  # is taken for a question
        "Could you take the patient's name and all that text off the image, I've got students "
        "here.",  # the names only
        "Start this image over, everything the way it came in.",  # asks back
        "I've made up my own mind now, let me see all of the software's findings again",
        "What is the lowest slice where there's still fluid? Take me there",  # asks the chest pack
        "I'm happy with all of them except the nodule, accept the others",  # refused as unclear
        "true size pls, 1:1 pixels",  # true size, which is to be calibrated first
        "patient data off the picture please, I've got visitors",  # the names only
        "take me to the nod you will",  # not understood: the “nodule”, as it was heard
        "Erguss verwerfen, ist keienr",  # refused as unclear
        "lösch alles raus, was die Software eingezeichnet hat",  # refused as unclear
        "alle Befunde hier löschen",  # refused as unclear: of the slice or of the study
        "exportier mir das linke Bild für die Vorlesung",  # asks for the file's attributes
        "go to the nodule, make it a key image and print it",  # goes there before it asks
        "Lungenfenster, zum Rundherd und dann drucken",  # goes there before it asks
        "Seitenleisten weg und die Texte auch",  # the panels only
        "geh auf Bild 40 und stell auf 10 Bilder pro Sekunde",  # plays it from there
        "undo the last two steps and zoom in",  # right, but the zoom is a step again
        "die letzten zwei Schritte rückgängig und dann Knochenfenster",  # right, as above
        "blende den Lungenflügel aus",  # hides both
        "Zur untersten Schicht vom linken Lungenflügel",  # it lies on one slice of the scene
        "blende die Lunge aus, aber nur die eine Seite",  # hides both
    ]
)
"""Commands that are known not to do what is asked, each of them without harm."""


@dataclass
class Before:
    """What was shown before a command."""

    window: Window | None
    zoom: float
    place: int
    states: dict[str, str]
    visible: dict[str, bool]
    shown: list[str]
    steps: int
    marks: int
    display: Any
    layout: str
    of_ct: bool


def look(room: Room) -> Before:
    """Return what the room shows now."""
    workspace, canvas = room.workspace, room.window.canvas
    items = {item.finding.id: item for item in workspace.annotations.all()}
    return Before(
        canvas.shown_window,
        canvas.zoom,
        canvas.scroller.place[0],
        {key: item.finding.state.value for key, item in items.items()},
        {key: item.visible for key, item in items.items()},
        [_date(one.acquired) for one in workspace.layout.viewports],
        len(workspace.commands._done),
        len(items),
        canvas.model.display,
        workspace.layout.name,
        room.scene in ("ct", "ct_pair", "pointed", "worked"),
    )


def _date(instance: Any) -> str:
    return instance.get("StudyDate") if instance is not None else ""


def wrong(room: Room, before: Before, expect: dict[str, Any]) -> list[str]:
    """Return what is not as expected."""
    if "nothing" in expect:
        return [] if look(room) == before and not room.asked else [_now(room)]
    if "any" in expect:
        each = [wrong(room, before, one) for one in expect["any"]]
        return [] if any(not one for one in each) else [f"none of: {each}"]
    found: list[str] = []
    for name, value in expect.items():
        if name == "about":
            continue
        if not _holds(room, before, name, value):
            found.append(f"{name} = {value}, but {_now(room)}")
    return found


def _now(room: Room) -> str:
    return f"asked {room.asked}, failed {room.failed}, said {room.said[:160]!r}"


def _holds(room: Room, before: Before, name: str, value: Any) -> bool:
    now = look(room)
    window, canvas, workspace = room.window, room.window.canvas, room.workspace
    display = canvas.model.display
    unchanged = (now.states, now.visible, now.shown, now.display, now.place) == (
        *(before.states, before.visible, before.shown),
        *(before.display, before.place),
    )
    match name:
        case "preset":
            return now.window is not None and (now.window.center, now.window.width) == _PRESETS.get(
                value
            )
        case "window":
            opened = (50, 350) if before.of_ct else (2048, 4096)
            wanted = opened if value == "file" else (value["center"], value["width"])
            return now.window is not None and (now.window.center, now.window.width) == wanted
        case "center" | "width":
            assert now.window is not None
            assert before.window is not None
            one, other = getattr(now.window, name), getattr(before.window, name)
            return one < other if value == "lower" else one > other
        case "slice" | "frame":
            return now.place + 1 == value
        case "slice_right":
            right = window.viewports.frame_of(workspace.layout.viewports[1])
            return right.canvas.scroller.place[0] + 1 == value
        case "series":
            assert workspace.acquired is not None
            series = workspace.studies.series_of(workspace.acquired)
            return series is not None and series.number == value
        case "plane":
            return window.planes.plane.value in (value, "acquired" if value == "axial" else value)
        case "inverted":
            return display.invert is value
        case "flipped" if not value:
            return not display.turn_text
        case "flipped":
            wanted = "Flipped left-right" if value == "horizontal" else "Flipped top-bottom"
            return display.turn_text == wanted
        case "rotated":
            return (display.quarter_turns * 90, display.flip_h, display.flip_v) == (
                *(value, False),
                False,
            )
        case "reset":
            return display.turn_text == "" and not display.invert and canvas.fitted
        case "zoom":
            return {
                "fit": canvas.fitted,
                "actual": abs(canvas.zoom - 1) < 1e-6,
                "in": now.zoom > before.zoom,
                "out": now.zoom < before.zoom,
            }[value]
        case "zoomed_to":
            return now.zoom > before.zoom and _all_seen(room, value)
        case "layout":
            return now.layout == f"{value[0]}x{value[1]}"
        case "maximised":
            return workspace.layout.maximised is value
        case "viewports":
            years = {"current": "20240131", "prior": "20220131"}
            if "both" in value:
                return sorted(now.shown) == sorted(years.values())
            return now.shown == [years[value[side]] for side in ("left", "right") if side in value]
        case "both":
            return sorted(now.shown) == ["20220131", "20240131"]
        case "closed":
            return "20220131" not in now.shown
        case "linked":
            return window.links.scroll is value
        case "playing":
            return canvas.scroller.playing is value
        case "fps":
            if value in ("lower", "higher"):
                return (canvas.scroller.rate < 15) is (value == "lower")
            return abs(canvas.scroller.rate - value) < 0.5
        case "tool":
            tools = {
                "length": drawing.RULER,
                "cobb": drawing.COBB,
                "box": drawing.BOX,
                "point": drawing.POINT,
            }
            return canvas.drawing_tool.tool == tools[value]
        case "mark":
            return _is_marked(room, before, value)
        case "state":
            wanted = dict(before.states) | {f"id-{key}": state for key, state in value.items()}
            return now.states == wanted
        case "hidden" | "shown":
            shown = name == "shown"
            return all(now.visible[f"id-{one}"] is shown for one in value)
        case "texts":
            return (canvas.detail is not Detail.NONE) is value
        case "panels":
            names = ("Studies", "Findings") if value else window.docks
            return all(window.docks[name].isVisible() is value for name in names)
        case "key_image":
            frame = workspace.viewport.frame
            return frame is not None and workspace.key_marks.is_own(frame.ref) is value
        case "inverted_of":
            return {side: one.display.invert for side, one in _sides(room)} == value
        case "window_of":
            wanted = {
                side: (50, 350) if one == "file" else _PRESETS[one] for side, one in value.items()
            }
            return {side: _window_of(room, one) for side, one in _sides(room)} == wanted
        case "selected_other":
            return workspace.annotations.selected not in ("", f"id-{value}")
        case "undone":
            return len(workspace.commands._undone) == value
        case "redone":
            return len(workspace.commands._undone) == 0
        case "asks":
            return bool(room.asked) and unchanged
        case "clarifies" | "refused":
            return bool(room.failed or room.said) and unchanged and now.marks == before.marks
        case _:
            raise AssertionError(f"nothing checks {name}")


def _sides(room: Room) -> list[tuple[str, Viewport]]:
    return list(zip(("left", "right"), room.workspace.layout.viewports, strict=False))


def _window_of(room: Room, viewport: Viewport) -> tuple[float, float] | None:
    window = room.window.viewports.frame_of(viewport).canvas.shown_window
    return None if window is None else (window.center, window.width)


def _all_seen(room: Room, name: str) -> bool:
    canvas = room.window.canvas
    selected = room.findings[name]
    item = next(one for one in canvas.findings_layer.items if one.finding.id == selected.id)
    assert item.outline is not None
    bounds = item.outline.path.boundingRect()
    corners = [canvas.to_widget(p.x(), p.y()) for p in (bounds.topLeft(), bounds.bottomRight())]
    seen = QRectF(canvas.viewport().rect())
    return all(seen.contains(corner) for corner in corners)


def _is_marked(room: Room, before: Before, value: dict[str, Any]) -> bool:
    new = [
        item.finding
        for item in room.workspace.annotations.all()
        if item.finding.id not in before.states
    ]
    if len(new) != 1:
        return False
    at = value["at"]
    wanted = [(260, 240)] if isinstance(at, str) else [tuple(point) for point in at]
    kinds = {"box": Box, "length": Polyline, "point": Point, "arrow": Polyline}
    if not isinstance(new[0].geometry, kinds[value["kind"]]):
        return False
    points = drawing.points_of(new[0])
    if isinstance(new[0].geometry, Box):
        points = points[0], points[2]
    return all(
        abs(x - a) <= 1.5 and abs(y - b) <= 1.5
        for (x, y), (a, b) in zip(points, wanted, strict=True)
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("room", SCENES, indirect=True)
@pytest.mark.parametrize("commands", _SETS)
def test_the_commands_do_what_is_said(commands: Sequence[dict[str, Any]], room: Room):
    failed: dict[str, str] = {}
    for command in (one for one in commands if one["context"] == room.scene):
        room.begin(command.get("start", {}))
        before = look(room)
        room.ask(command["text"])
        if problems := wrong(room, before, command["expect"]):
            failed[command["text"]] = f"{command['id']} {command['text']!r}: {problems}"
            print(failed[command["text"]], flush=True)  # noqa: T201
    assert not failed.keys() - _WRONG, "\n".join(failed.values())


def test_at_least_92_of_the_100_do_exactly_what_is_said():
    assert [len(each) for each in SETS] == [100, 90, 50, *[100] * (len(SETS) - 3)]
    assert all(sum(one["text"] in _WRONG for one in each) <= 8 for each in SETS)
    assert {one["text"] for one in EVERY} >= _WRONG


@pytest.mark.parametrize("room", ["pointed"], indirect=True)
def test_a_run_that_hangs_windows_zooms_and_measures_is_undone_in_one_step(
    room: Room, wait_until: WaitUntil
):
    canvas = room.window.canvas
    for x, y in ((60, 60), (90, 100)):
        canvas.drawing_tool.set_tool(drawing.POINT)
        at = canvas.to_widget(x, y).toPoint()
        QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=at)
    canvas.drawing_tool.set_tool("")
    room.workspace.commands.clear()
    before = look(room)
    room.ask("2x2, then bone window, then zoom 3x, then measure between the two points")
    assert room.failed == []
    now = look(room)
    assert now.layout == "2x2"
    assert now.window is not None
    assert (now.window.center, now.window.width) == (480, 2500)
    assert now.zoom > before.zoom
    (made,) = [
        item.finding
        for item in room.workspace.annotations.all()
        if item.finding.id not in before.states
    ]
    # 30 and 40 pixels of 1 mm, to the pixel that was clicked.
    assert made.value == pytest.approx(50, abs=2)
    assert made.units.startswith("mm")
    assert made.state.value == "proposed"
    assert made.provenance.tool == "viewer_measure"
    assert now.steps == 1
    activate(room.window, wait_until)
    QTest.keyClick(room.window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    room.settle()
    room.wait(lambda: abs(room.window.canvas.zoom - before.zoom) < 0.01)
    assert look(room) == replace(before, steps=0)
    room.workspace.commands.redo()
    room.settle()
    again = look(room)
    assert (again.layout, again.window, again.marks) == (now.layout, now.window, now.marks)


@pytest.mark.parametrize("room", ["prior"], indirect=True)
def test_a_run_that_hangs_the_prior_is_undone_in_one_step(room: Room, wait_until: WaitUntil):
    before = look(room)
    room.ask("show the prior beside it, then invert the prior, then zoom 3x")
    assert room.failed == []
    now = look(room)
    assert sorted(now.shown) == ["20220131", "20240131"]
    inverted = {_date(one.acquired): one.display.invert for _, one in _sides(room)}
    assert inverted == {"20220131": True, "20240131": False}
    assert now.steps == 1
    activate(room.window, wait_until)
    QTest.keyClick(room.window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    room.settle()
    after = look(room)
    assert (after.shown, after.layout, after.steps) == (before.shown, before.layout, 0)
    assert not room.workspace.viewport.display.invert


@pytest.mark.parametrize("room", ["ct_pair"], indirect=True)
def test_a_run_that_links_plays_and_switches_is_undone_in_one_step(room: Room):
    actions = room.window.actions_.shortcuts_.actions
    linked, panel = actions["link_menu.choices.scroll"], actions["dock.Attributes"]

    def state() -> tuple[bool, bool, Detail, bool]:
        canvas = room.window.canvas
        return linked.isChecked(), panel.isChecked(), canvas.detail, canvas.scroller.playing

    room.workspace.commands.clear()
    before = state()
    assert before == (False, False, Detail.ALL, False)
    room.ask("link scrolling, then open the attributes panel, then hide the image texts")
    assert room.failed == []
    assert state() == (True, True, Detail.NONE, False)
    assert look(room).steps == 1
    room.workspace.commands.undo()
    room.settle()
    room.wait(lambda: state() == before)
    room.workspace.commands.redo()
    room.settle()
    room.wait(lambda: state() == (True, True, Detail.NONE, False))


@pytest.mark.parametrize("room", ["prior"], indirect=True)
def test_a_run_in_the_background_leaves_the_study_alone_that_is_read_meanwhile(
    room: Room, tmp_path: Path
):
    viewer = room.program.viewer
    images = RunImages(room.workspace.open_images(), tmp_path, room.program.decoder, ())
    context = replace(room.program.tool_context("run", "call", images, tmp_path), viewer=viewer)
    other = room.workspace.studies.all[0].series[0].instances[0]
    room.workspace.viewport.show(other)
    room.settle()
    before = look(room)
    tool = next(one for one in TOOLS if one.spec.name == "viewer_command")
    done: list[str] = []
    _in_thread(room, tool, tool.spec.Input.model_validate({"command": "invert"}), context, done)
    assert done == []
    assert look(room) == before
    room.begin({})
    _in_thread(room, tool, tool.spec.Input.model_validate({"command": "invert"}), context, done)
    assert done == ["viewer_command"]
    assert room.window.canvas.model.display.invert


@pytest.mark.parametrize("room", ["prior"], indirect=True)
def test_a_prior_of_the_same_modality_is_hung_and_an_image_is_shown_by_its_uid(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A later study of another modality is no prior to compare with."""
    workspace = room.workspace
    images = RunImages(workspace.open_images(), tmp_path, room.program.decoder, ())
    context = room.program.tool_context("run", "call", images, tmp_path)
    context = replace(context, viewer=room.program.viewer)
    current, prior = sorted(workspace.studies.all, key=lambda one: one.date, reverse=True)
    (series,) = [one for one in prior.series if one.instances][:1]
    ultrasound = replace(prior, series=(replace(series, modality="US", instances=()),))
    monkeypatch.setattr(type(workspace), "priors", lambda _self, study: (
        [ultrasound, prior] if study is current else []
    ))  # fmt: skip
    layout, show = (
        next(one for one in TOOLS if one.spec.name == name)
        for name in ("viewer_layout", "viewer_show")
    )
    done: list[str] = []
    given = layout.spec.Input.model_validate({"layout": "prior"})
    _in_thread(room, layout, given, context, done)
    hung = workspace.layout.screen.viewports[1].acquired
    assert hung is not None
    assert hung in series.instances
    last = series.instances[-1]
    wanted = {"what": last.sop_instance_uid, "viewport": "right"}
    _in_thread(room, show, show.spec.Input.model_validate(wanted), context, done)
    assert done == ["viewer_layout", "viewer_show"]
    assert workspace.layout.screen.viewports[1].acquired is last


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_what_is_shown_is_told_and_changes_with_it(room: Room):
    viewer = room.program.viewer
    assert viewer is not None
    (shown,) = viewer.state()["viewports"]
    assert shown["position"] == "20 of 40"
    assert shown["window"] == {"center": 50, "width": 350}
    room.ask("lung window and slice 12, invert")
    room.ask("select the nodule")
    state = viewer.state()
    (shown,) = state["viewports"]
    assert shown["position"] == "12 of 40"
    assert shown["window"] == {"center": -600, "width": 1500}
    assert shown["inverted"] is True
    selected = [one["label"] for one in state["findings"] if one.get("selected")]
    assert selected == ["Nodule"]
    assert "Doe" not in str(state)
    assert "4711" not in str(state)
    for _ in range(2):
        room.ask("un-invert it")
        assert room.window.canvas.model.display.invert is False


def test_every_command_is_in_the_window_and_every_other_is_left_out_on_purpose(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    program = Program()
    window = build_window(program, ViewRequest(llm="offline"))
    try:
        actions = window.actions_.shortcuts_.actions
        assert set(COMMANDS_OF.values()) <= set(actions)
        left_out = set(actions) - set(COMMANDS_OF.values())
        assert {name for name in left_out if not name.startswith(_LEFT_OUT)} == set()
    finally:
        window.close()
        program.close()


_HOSTILE = ("../../etc/passwd", "<img src=x onerror=alert(1)>", "all; rm -rf /", "x" * 5000, "\0")
_NUMBERS = (-1, 0, 10**12, float("nan"), float("inf"), -float("inf"), "12", None, [], {})


def _hostile_calls(tool: ViewerTool) -> Iterator[dict[str, Any]]:
    """Yield arguments that nobody in his senses would give: each field with each odd value."""
    fields = tool.spec.Input.model_fields
    usual: dict[str, Any] = {"what": "prior", "layout": "2x2", "action": "hide", "which": "all"}
    usual |= {"command": "invert"}
    base = {name: value for name, value in usual.items() if name in fields}
    for name in fields:
        for value in (*_HOSTILE, *_NUMBERS):
            yield {**base, name: value}
    yield {**base, "path": "/etc/passwd"}
    if "command" in fields:
        every = (*COMMANDS_OF, "quit", "edit_keys", "theme_menu.choices.dark", "__class__")
        yield from ({"command": name} for name in every)
    if "action" in fields:
        yield from (
            {"action": action, "which": which}
            for action in ("accept", "reject", "delete", "export", "run")
            for which in ("all", "selected", "Nodule", "masks", "*")
        )


@pytest.mark.timeout(400)
@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_a_model_that_asks_for_every_command_with_hostile_arguments_does_nothing_unasked(
    room: Room, tmp_path: Path
):
    """The user says no to everything; what needs no question changes the view only."""
    asked: list[str] = []

    def confirm(title: str, detail: str, *, image: ImageRef | None = None) -> bool:
        asked.append(title)
        return False

    viewer = room.program.viewer
    files = {path: path.read_bytes() for path in room.folder.iterdir()}
    before = look(room)
    images = RunImages((), tmp_path, room.program.decoder, ())
    plain = room.program.tool_context("run", "call", images, tmp_path)
    context = replace(plain, viewer=viewer, confirm=confirm, model=AnyModel())
    done: list[str] = []
    for tool in TOOLS:
        for given in _hostile_calls(tool):
            try:
                arguments = tool.spec.Input.model_validate(given)
            except ValidationError:
                continue
            _in_thread(room, tool, arguments, context, done)
    room.settle()
    after = look(room)
    assert len(done) > 30, "many a call must get through, or this shows nothing"
    assert after.states == before.states, "nothing was accepted, rejected or deleted"
    assert len(room.workspace.studies.all) == 1, "nothing was closed"
    assert room.window.isVisible()
    began = {one.partition(":")[0].rstrip("?") for one in asked}
    assert began >= {"Accept 5 findings", "Reject 5 findings", "Delete 5 findings"}
    shown = {"Histogram", "Keyboard and mouse"}  # nothing can be changed there
    assert set(room.asked) <= shown, "no other dialogue opened without a yes"
    now = {path: path.read_bytes() for path in room.folder.iterdir()}
    assert now == files, "nothing was written"
    room.workspace.commands.undo()
    room.settle()
    assert look(room).window == before.window, "all of the run is one step"
    room.begin({})
    asked.clear()
    actions = room.window.actions_.shortcuts_.actions
    command = next(tool for tool in TOOLS if tool.spec.name == "viewer_command")
    usable = [one for one in ASKED if actions[COMMANDS_OF[one]].isEnabled()]
    for one in ASKED:
        given = command.spec.Input.model_validate({"command": one})
        _in_thread(room, command, given, context, done)
    texts = {one: actions[COMMANDS_OF[one]].text().replace("&", "").rstrip("…") for one in usable}
    begins = {one: "Export: " if one.startswith("export") else "" for one in usable}
    assert asked == [f"{begins[one]}{text}?" for one, text in texts.items()]
    assert len(asked) > 10


class AnyModel:
    """A language model that is chosen; the tools ask it nothing."""

    name, sees, remote = "scripted", False, False

    def ask(self, prompt: str, *, system: str = "", images: Sequence[str] = ()) -> str:
        raise AssertionError("nothing to ask")


def _in_thread(
    room: Room, tool: ViewerTool, arguments: Any, context: ToolContext, done: list[str]
) -> None:
    """Run a tool as the agent does, on a thread; only errors for a model may come out."""
    ended: list[BaseException | None] = []

    def work() -> None:
        try:
            tool.run(arguments, context)
            done.append(tool.spec.name)
            ended.append(None)
        except BaseException as error:
            ended.append(error)

    thread = Thread(target=work)
    thread.start()
    room.wait(lambda: ended)
    thread.join()
    assert isinstance(ended[0], ToolRetry | ToolFailed | None), f"{arguments!r}: {ended[0]!r}"


_LEFT_OUT = (
    # With a tool of their own, or by the tools' arguments
    *("next", "previous", "play", "texts", "show_findings", "hide_findings", "delete_finding"),
    *("review.", "layout_menu.", "layout_menu.choices", "heat.strengths", "mark_menu."),
    # A person's own affairs: what the assistant must not change or quit
    *("quit", "theme_menu.", "language_menu.", "edit_", "palette", "about", "calibrate", "snap"),
    *("pointer_", "last_session", "saved_marks", "report_marks", "lay_labels", "open_demo"),
    *("export_result", "segment", "fill", "region", "mark_outside", "text_mark", "polyline"),
    *("polygon", "freehand", "link_menu.member", "colormaps.choices", "dock.", "claims"),
)


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_what_is_decided_is_passed_over_on_the_way_to_the_next_undecided_finding(room: Room):
    annotations = room.workspace.annotations
    ids = [item.finding.id for item in annotations.all()]
    assert len(ids) > 3
    annotations.decide(ids[:1], State.ACCEPTED)
    annotations.decide(ids[2:3], State.REJECTED)
    undecided = [one for one in ids if one not in (ids[0], ids[2])]
    annotations.select("")
    seen: list[str] = []
    for text in ("go to the first undecided finding", *["next undecided one"] * len(undecided)):
        room.ask(text)
        assert room.failed == []
        seen.append(annotations.selected)
    assert sorted(seen[:-1]) == sorted(undecided)
    assert seen[-1] == seen[0]  # all were seen: from the first again
    annotations.select(ids[0])
    room.ask("zum nächsten Befund, den ich noch nicht beurteilt habe")
    assert annotations.selected in undecided
    annotations.decide(undecided, State.ACCEPTED)
    room.ask("next undecided finding")
    assert "accepted or rejected" in " ".join(room.failed) or "accepted or rejected" in room.said


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_a_picture_that_a_tool_made_is_taken_back_by_undo(room: Room):
    room.ask("visualise the image")
    workspace = room.workspace
    assert (len(workspace.panes.all), len(workspace.layout.visible)) == (1, 2)
    workspace.commands.undo()
    room.settle()
    assert (len(workspace.panes.all), len(workspace.layout.visible)) == (0, 1)
    workspace.commands.redo()
    room.settle()
    assert (len(workspace.panes.all), len(workspace.layout.visible)) == (1, 2)


@pytest.mark.parametrize("room", ["ct_pair"], indirect=True)
def test_the_current_image_of_one_study_is_the_active_one(room: Room):
    room.ask("invert the current image")
    assert [one.display.invert for _, one in _sides(room)] == [True, False]


def said(room: Room, text: str) -> str:
    room.ask(text)
    return re.sub(r" \[\d+\]", "", room.said)


@pytest.mark.parametrize("room", ["ct_pair"], indirect=True)
def test_what_was_done_is_told_where_the_viewports_look_the_same(room: Room):
    assert said(room, "mark this as key image") == "Viewport 1: now a key image."
    assert said(room, "mark the right one as key image") == "Viewport 2: now a key image."
    assert said(room, "mark the right one as key image") == "Viewport 2: a key image already."
    assert said(room, "maximise the right one") == "Viewport 2 fills the screen."
    assert said(room, "put the scout in the left one") == "Viewport 1: series 1, not in view now."
    assert said(room, "lung window") == "Viewport 2: window C -600 W 1500."
    assert said(room, "lung window") == "Nothing changed in the view."
    assert said(room, "colours hot iron") == "Done."
    assert said(room, "colours hot iron") == "Nothing changed in the view."
    assert said(room, "copy the picture") == "Done: “Copy picture”."


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_finding_that_is_shown_by_its_name_is_visible(room: Room):
    visible = {item.finding.label: item for item in room.workspace.annotations.all()}
    assert visible["Heart"].visible
    room.ask("hide everything")
    assert said(room, "show the heart") == "Selected: Heart."
    now = {item.finding.label: item.visible for item in room.workspace.annotations.all()}
    assert now["Heart"]
    assert not now["Nodule"]
    room.workspace.commands.undo()
    assert not any(item.visible for item in room.workspace.annotations.all())
    for text in ("select the heart", "zoom to the nodule"):
        room.ask(text)
    now = {item.finding.label: item.visible for item in room.workspace.annotations.all()}
    assert [label for label, visible in now.items() if visible] == ["Nodule", "Heart"]


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_what_is_so_already_is_not_told_as_done(room: Room):
    assert said(room, "hide the right heart") == "Hidden: Heart."
    assert said(room, "hide the right heart") == "Hidden already: Heart."
    assert said(room, "set everything back to proposed").startswith("Proposed already: ")
    assert said(room, "accept the nodule") == "Accepted: Nodule."
    assert said(room, "accept the nodule") == "Accepted already: Nodule."
    assert said(room, "set everything back to proposed") == "Set back to proposed: Nodule."


@pytest.mark.parametrize("room", ["ct"], indirect=True)
@pytest.mark.parametrize("text", ["delete the first one", "remove the last finding"])
def test_what_is_to_be_deleted_by_its_place_is_not_gone_to_only(room: Room, text: str):
    before = look(room)
    assert "Nothing was changed: name the finding" in said(room, text)
    assert look(room) == before


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_of_findings_of_one_name_that_of_which_viewport_is_told(room: Room):
    frames = [frame.canvas.frame for frame in room.window.viewports.frames]
    given = Provenance("finder", "1", "net", "", "earlier", "call")
    box, found = Box(60, 80, 84, 104), State.PROPOSED
    room.workspace.annotations.add(
        [
            Finding(f"id-{n}", frame.ref, box, "Nodule", None, "", given, state=found)
            for n, frame in enumerate(frames)
            if frame is not None
        ]
    )
    assert said(room, "accept the nodule") == "Accepted: Nodule (viewport 1)."
    assert said(room, "hide the nodule in the right viewport") == "Hidden: Nodule (viewport 2)."


@pytest.mark.parametrize("room", ["cine"], indirect=True)
def test_the_speed_of_the_cine_is_told(room: Room):
    assert said(room, "play") == "The cine plays at 15 images a second."
    assert said(room, "faster") == "The cine plays at 30 images a second."
    said(room, "stop")
    assert said(room, "slower").endswith("will play at 15 images a second.")


@pytest.mark.parametrize("room", ["prior"], indirect=True)
def test_images_are_named_by_their_time(room: Room):
    room.ask("compare with the prior")
    of = {_date(one.acquired)[:4]: one for one in room.workspace.layout.viewports if one.acquired}
    room.ask("invert the prior")
    assert (of["2022"].display.invert, of["2024"].display.invert) == (True, False)
    room.ask("drehe die aktuelle Aufnahme")
    assert room.failed == []
    assert (of["2022"].display.quarter_turns, of["2024"].display.quarter_turns) == (0, 1)


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_plan_waits_until_it_was_seen_if_the_user_wants_that(room: Room):
    room.program.change_settings(Settings(limits=LimitSettings(plan_first=True)))
    runner = room.agent._runner
    assert isinstance(runner, AgentRunner)
    runner.use(room.program.loop(runner._agent.model))
    chat = room.window.chat
    assert isinstance(chat, ChatDock)
    before = look(room)
    ended = len(room._ended)
    chat.submit("lung window, then slice 12, then invert")
    room.wait(lambda: (run := chat.conversation.runs[-1:]) and run[0].plan and run[0].plan.editing)
    plan = chat.conversation.runs[-1].plan
    assert plan is not None
    QTest.qWait(200)
    assert look(room) == before
    assert plan.edit.text().strip() == "Go on"
    QTest.mouseClick(plan.steps.rows[2].edits["remove"], Qt.MouseButton.LeftButton)
    QTest.mouseClick(plan.edit, Qt.MouseButton.LeftButton)
    room.wait(lambda: len(room._ended) > ended)
    room.settle()
    now = look(room)
    assert now.window is not None
    assert (now.window.center, now.window.width) == (-600, 1500)
    assert now.place + 1 == 12
    assert not now.display.invert
