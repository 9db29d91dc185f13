"""Offline, "here" is the region that is attached to the question, or the place clicked last."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pydicom
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.agent.events import ToolStarted
from app.imaging.findings import Box, Ellipse, Finding, Point, Polyline
from app.views.canvas.canvas import Canvas
from app.views.canvas.finding_items import ArrowItem
from app.views.chat.dock import ChatDock
from app.workspace import drawing
from tests.gui.canvas_scene import move
from tests.gui.test_viewer_commands import look
from tests.gui.test_viewer_pointed import click
from tests.gui.viewer_scenes import Room

pytestmark = pytest.mark.gui

LEFT = Qt.MouseButton.LeftButton
X, Y = (100, 179), (60, 109)
"""First and last columns and rows of the region that the tests attach: 80 x 50 pixels."""


def again(room: Room, *texts: str) -> Iterator[str]:
    """Yield each text, with the room as it begins: what is said differs, what is done does not."""
    for text in texts:
        chat_of(room).attachments.clear()
        room.begin({})
        print(f"said: {text}")  # noqa: T201 - tells which of them failed
        yield text


def canvas_of(room: Room, number: int = 0) -> Canvas:
    viewport = room.workspace.layout.viewports[number]
    return room.window.viewports.frame_of(viewport).canvas


def chat_of(room: Room) -> ChatDock:
    assert isinstance(room.window.chat, ChatDock)
    return room.window.chat


def attach(room: Room, number: int = 0, x: tuple[int, int] = X, y: tuple[int, int] = Y) -> Finding:
    """Draw a box around pixels for the next question, by the mouse; returns it."""
    chat, canvas = chat_of(room), canvas_of(room, number)
    before = {item.finding.id for item in room.workspace.annotations.all()}
    QTest.mouseClick(chat.composer.region, LEFT)
    room.wait(lambda: room.window.actions_.mark_box.isChecked())
    start, end = (canvas.to_widget(*at).toPoint() for at in zip(x, y, strict=True))
    start, end = start - QPoint(1, 1), end + QPoint(1, 1)
    QTest.mousePress(canvas.viewport(), LEFT, pos=start)
    for at in (start + (end - start) / 2, end):
        move(canvas.viewport(), at, LEFT)
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=end)
    room.wait(chat.attachments.isVisible)
    items = {item.finding.id: item.finding for item in room.workspace.annotations.all()}
    (made,) = (one for key, one in items.items() if key not in before)
    assert isinstance(made.geometry, Box)
    return made


def send(room: Room, text: str) -> None:
    """Type a question into the chat and send it with what is attached; waits for the answer."""
    chat = chat_of(room)
    room.said, room.failed, room.asked, room._ended = "", [], [], []
    chat.composer.edit.setPlainText(text)
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    room.wait(lambda: room._ended)
    room.wait(chat.is_idle)
    room.settle()


def stored(room: Room, finding: Finding) -> np.ndarray:
    """Return the values of the file in a finding's box, rescaled as the file says: our witness."""
    shape = finding.geometry
    assert isinstance(shape, Box)
    image = room.workspace.instance_of(finding.image.sop_instance_uid)
    assert image is not None
    file = pydicom.dcmread(image.path)
    rows = np.frombuffer(file.PixelData, "<u2").reshape(file.Rows, file.Columns)
    # Pixel centres are integers: a box from 99.5 to 179.5 has the columns 100 to 179.
    part = rows[
        round(shape.y0 + 0.5) : round(shape.y1 + 0.5), round(shape.x0 + 0.5) : round(shape.x1 + 0.5)
    ]
    return part * float(file.get("RescaleSlope", 1)) + float(file.get("RescaleIntercept", 0))


def made_by_assistant(room: Room) -> list[Finding]:
    every = (item.finding for item in room.workspace.annotations.all())
    return [one for one in every if one.provenance.tool == "viewer_place"]


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_the_mean_of_a_region_is_that_of_its_pixels_in_the_file(room: Room):
    for text in again(
        room,
        "HU here",
        "mean value in this region",
        "what is the mean HU?",
        "Mittelwert in dieser Region",
        "Wie hoch ist der HU-Wert in diesem Bereich?",
    ):
        click(room, 0, 250, 250)
        room.workspace.annotations.select("id-D")
        region = attach(room)
        send(room, text)
        values = stored(room, region)
        assert room.failed == []
        assert values.size == pytest.approx(80 * 50, abs=200)
        german = "Mittelwert" in text or "Wie" in text
        said = re.sub(r"(?<=\d),(?=\d)", "." if german else "", room.said)
        mean, deviation, low, high, count, *_ = numbers(said)
        assert mean == pytest.approx(values.mean(), abs=0.06)
        assert deviation == pytest.approx(values.std(ddof=1), abs=0.06)
        assert (low, high, count) == (values.min(), values.max(), values.size)
        assert "HU" in room.said
        assert room.said.startswith("Mittelwert" if german else "Mean")


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_values_without_a_unit_are_said_to_be_stored_values_and_sizes_to_be_pixels(room: Room):
    region = attach(room)
    send(room, "What is the mean value here? Measure this region.")
    values = stored(room, region)
    shape = region.geometry
    assert isinstance(shape, Box)
    assert f"Mean {values.mean():.1f} (stored value)" in room.said
    assert f"{shape.x1 - shape.x0:.0f} × {shape.y1 - shape.y0:.0f} px" in room.said
    assert "scale of this image is not known" in room.said


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_the_size_of_a_region_is_in_mm_where_the_scale_is_known(room: Room):
    for text in again(room, "measure this region", "Wie groß ist dieser Bereich?"):
        shape = attach(room).geometry
        send(room, text)
        assert isinstance(shape, Box)
        # Pixels of 1 mm.
        size = f"{shape.x1 - shape.x0:.1f} × {shape.y1 - shape.y0:.1f} mm"
        assert size in room.said.replace(",", ".")


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_zoom_shows_the_region_and_is_undone_in_one_step(room: Room):
    canvas = canvas_of(room)
    for text in again(
        room, "zoom here", "zoom to this region", "Zoom auf diesen Bereich", "zoom in"
    ):
        click(room, 0, 250, 250)
        shape = attach(room).geometry
        room.workspace.commands.clear()
        before = look(room)
        send(room, text)
        assert isinstance(shape, Box)
        assert room.failed == []
        assert canvas.zoom > 1.5 * before.zoom
        middle = canvas.to_image(canvas.viewport().rect().center().toPointF())
        assert (middle.x(), middle.y()) == pytest.approx((139.5, 84.5), abs=2)
        seen = canvas.viewport().rect()
        for corner in ((shape.x0, shape.y0), (shape.x1, shape.y1)):
            assert seen.contains(canvas.to_widget(*corner).toPoint())
        assert look(room).steps == 1
        room.workspace.commands.undo()
        room.settle()
        room.wait(lambda zoom=before.zoom: abs(canvas.zoom - zoom) < 0.01)


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_the_region_is_moved_to_the_middle_at_the_same_zoom(room: Room):
    canvas = canvas_of(room)
    for text in again(room, "centre here", "hier zentrieren"):
        attach(room)
        zoom = canvas.zoom
        send(room, text)
        middle = canvas.to_image(canvas.viewport().rect().center().toPointF())
        assert (middle.x(), middle.y()) == pytest.approx((139.5, 84.5), abs=2)
        assert canvas.zoom == pytest.approx(zoom, rel=0.01)


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_mark_is_drawn_in_the_region_and_undone_in_one_step(room: Room):
    kinds = {
        "mark this": Box,
        "put a box here": Box,
        "markiere diese Region": Box,
        "draw an ellipse here": Ellipse,
        "zeichne hier eine Ellipse": Ellipse,
        "put a point here": Point,
        "put an arrow here": Polyline,
    }
    for text in again(room, *kinds):
        click(room, 0, 250, 250)
        shape = attach(room).geometry
        room.workspace.commands.clear()
        send(room, text)
        (made,) = made_by_assistant(room)
        drawn = made.geometry
        assert isinstance(shape, Box)
        assert isinstance(drawn, kinds[text])
        assert made.state.value == "proposed"
        if isinstance(drawn, Box | Ellipse):
            corners = drawn.x0, drawn.y0, drawn.x1, drawn.y1
            assert corners == (shape.x0, shape.y0, shape.x1, shape.y1)
        else:
            middle = (shape.x0 + shape.x1) / 2, (shape.y0 + shape.y1) / 2
            assert drawing.points_of(made)[0] == pytest.approx(middle)
        assert look(room).steps == 1
        room.workspace.commands.undo()
        assert made_by_assistant(room) == []


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_the_region_is_worked_on_in_its_own_viewport_whichever_is_active(room: Room):
    region = attach(room, 1)
    click(room, 0, 250, 250)
    assert room.workspace.layout.viewports.index(room.workspace.viewport) == 0
    before = [canvas_of(room, number).zoom for number in (0, 1)]
    send(room, "zoom here, mark it and tell me the mean value")
    assert room.failed == []
    assert canvas_of(room, 0).zoom == before[0]
    assert canvas_of(room, 1).zoom > 1.5 * before[1]
    (made,) = made_by_assistant(room)
    assert made.image.sop_instance_uid == region.image.sop_instance_uid
    assert f"Mean {stored(room, region).mean():.1f} (stored value)" in room.said
    attach(room, 1, (110, 150), (70, 100))
    click(room, 0, 250, 250)
    send(room, "invert this")
    assert [one.display.invert for one in room.workspace.layout.screen.viewports] == [False, True]


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_other_tools_look_at_the_image_of_the_region(room: Room):
    started: list[ToolStarted] = []
    room.agent.run_event.connect(
        lambda event: started.append(event) if isinstance(event, ToolStarted) else None
    )
    region = attach(room, 1)
    click(room, 0, 250, 250)
    send(room, "what is abnormal here?")
    image = room.workspace.instance_of(region.image.sop_instance_uid)
    assert image is not None
    first, *_, last = started
    assert str(first.arguments["image_path"]).endswith(image.path.name)
    assert last.tool == "viewer_place"
    assert "the whole image, not only at the region" in room.said


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_region_of_an_image_that_is_not_shown_any_more_is_said_to_be_gone(room: Room):
    for text in ("zoom here", "HU here", "mark this"):
        canvas_of(room).scroller.to(20)
        room.settle()
        region = attach(room)
        canvas_of(room).scroller.to(30)
        room.settle()
        before = look(room)
        send(room, text)
        assert "the image of the region is not shown any more" in " ".join(room.failed)
        assert look(room) == before
        room.workspace.annotations.forget([region.id])


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_what_a_region_shows_is_told_with_what_is_drawn_there(room: Room):
    for text in again(room, "what is here?", "what is abnormal here?", "Was ist hier?"):
        attach(room, 0, (80, 115), (95, 140))  # a corner of the nodule, and the right lung
        send(room, text)
        german = text.startswith("Was")
        assert ("das ganze Bild" if german else "the whole image") in room.said
        head = "Im Bereich eingezeichnet: " if german else "in the region: "
        told = room.said.partition(head)[2]
        both = "Rundherd rechts, Rechte Lunge" if german else "Right nodule, Right lung"
        assert told.partition("[")[0].strip() == both


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_several_questions_in_one_message_are_about_the_region(room: Room):
    region = attach(room)
    send(room, "Zoom here. What is the mean HU?\n\nMark this, please. How big is this?")
    assert room.failed == []
    assert len(made_by_assistant(room)) == 1
    assert f"Mean {stored(room, region).mean():.1f} HU" in room.said
    assert "× height of the region" in room.said


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_nothing_is_decided_or_hidden_because_of_a_region(room: Room):
    before = look(room)
    room.workspace.annotations.select("id-A")
    for text in ("accept this", "reject it", "delete this", "hide this", "accept the nodule"):
        region = attach(room)
        send(room, text)
        assert room.asked == []
        assert "Nothing was changed" in room.said, text
        now = look(room)
        assert before.states.items() <= now.states.items()
        assert all(now.visible[key] for key in before.states)
        room.workspace.annotations.forget([region.id])
        room.workspace.annotations.select("id-A")


# A place that was clicked


@pytest.mark.parametrize("room", ["pointed"], indirect=True)
def test_the_value_where_the_user_clicked_is_that_of_the_file(room: Room):
    for text in again(
        room,
        "what is the HU value here?",
        "what's the density at this spot?",
        "Wie ist der HU-Wert hier?",
        "HU-Wert an dieser Stelle",
    ):
        before = look(room)
        room.ask(text)
        x, y = numbers(room.said)[:2]
        at = room.window.canvas.clicked[-1]
        assert (x, y) == (np.floor(at[0] + 0.5), np.floor(at[1] + 0.5))
        image = room.workspace.acquired
        assert image is not None
        file = pydicom.dcmread(image.path)
        rows = np.frombuffer(file.PixelData, "<u2").reshape(file.Rows, file.Columns)
        value = rows[int(y), int(x)] * float(file.RescaleSlope) + float(file.RescaleIntercept)
        assert f"{value:.0f} HU" in room.said.replace(",", "").replace(".", "")
        assert look(room) == before


@pytest.mark.parametrize("room", ["pointed"], indirect=True)
def test_an_arrow_points_at_the_place_that_was_clicked(room: Room):
    for text in again(room, "put an arrow here", "setz hier einen Pfeil"):
        before = look(room)
        room.ask(text)
        (made,) = made_by_assistant(room)
        assert drawing.points_of(made)[0] == pytest.approx((260, 240), abs=1.5)
        items = room.window.canvas.annotation_items()
        assert any(isinstance(item, ArrowItem) for item in items)
        assert look(room).steps == 1
        assert room.window.canvas.drawing_tool.tool == ""
        room.workspace.commands.undo()
        assert look(room).states == before.states


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_without_a_place_the_tool_is_taken_in_hand(room: Room):
    for text, tool in (
        ("put an arrow here", drawing.ARROW),
        ("what is the HU value here?", drawing.PROBE),
    ):
        room.ask(text)
        assert room.window.canvas.drawing_tool.tool == tool
        assert "in hand" in room.said
        room.window.canvas.drawing_tool.set_tool("")
    click(room, 0, 150, 100)
    canvas_of(room).scroller.to(30)  # it was on another image
    room.settle()
    room.ask("put an arrow here")
    assert made_by_assistant(room) == []
    assert "in hand" in room.said


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_values_of_the_selected_box_are_told_without_attaching_it(room: Room):
    room.ask("mean value in this region")
    assert "no region is attached to the question" in " ".join([room.said, *room.failed])
    region = attach(room)
    chat_of(room).attachments.clear()
    room.workspace.annotations.select(region.id)
    room.ask("mean HU in this box")
    assert f"Mean {stored(room, region).mean():.1f} HU" in room.said
