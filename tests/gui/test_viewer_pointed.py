""" "This", "here" and "the one on the right" mean what the user pointed at; what a model sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.events import ToolStarted
from app.imaging.findings import Box, Finding, Mask, Provenance, State
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.layout import LAYOUTS
from tests.gui.test_viewer_commands import look
from tests.gui.viewer_scenes import Room, loop

pytestmark = pytest.mark.gui


def click(room: Room, number: int, x: float, y: float) -> None:
    """Click a pixel of the image in a viewport, by the mouse."""
    viewport = room.workspace.layout.viewports[number]
    canvas = room.window.viewports.frame_of(viewport).canvas
    at = canvas.to_widget(x, y).toPoint()
    QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=at)


def inverted(room: Room) -> list[bool]:
    return [one.display.invert for one in room.workspace.layout.screen.viewports]


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_with_two_viewports_this_one_is_the_one_that_was_clicked(room: Room):
    click(room, 1, 100, 100)
    room.ask("invert this one")
    assert inverted(room) == [False, True]
    room.ask("invert the one on the left")
    assert inverted(room) == [True, True]
    click(room, 1, 120, 90)
    room.ask("mark this here")
    marks = room.workspace.annotations.all()
    assert [drawing.points_of(one.finding)[0] for one in marks] == [
        pytest.approx((120, 90), abs=1.5)
    ]
    (acquired,) = {one.finding.image.sop_instance_uid for one in marks}
    shown = room.workspace.layout.viewports[1].acquired
    assert shown is not None
    assert acquired == shown.sop_instance_uid
    room.ask("invert both")
    assert inverted(room) == [False, False]


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_with_four_viewports_a_place_that_two_have_is_asked_back(room: Room):
    layout = room.workspace.layout
    layout.arrange(LAYOUTS["2x2"])
    series = room.workspace.studies.all[0].series[1].instances
    for viewport, instance in zip(layout.viewports, series[4:8], strict=True):
        viewport.show(instance)
    room.settle()
    click(room, 0, 100, 100)
    room.ask("invert the one on the right")
    assert inverted(room) == [False] * 4
    assert "viewport 2 or 4" in room.said
    room.ask("invert the bottom right one")
    assert inverted(room) == [False, False, False, True]
    click(room, 1, 100, 100)
    room.ask("invert the one on the right")
    assert inverted(room) == [False, True, False, True]
    room.ask("invert viewport 3")
    assert inverted(room) == [False, True, True, True]
    click(room, 0, 60, 70)
    room.ask("zoom in here")
    canvas = room.window.viewports.frame_of(layout.viewports[0]).canvas
    middle = canvas.to_image(canvas.viewport().rect().center().toPointF())
    assert (middle.x(), middle.y()) == pytest.approx((60, 70), abs=3)


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_a_picture_of_a_viewport_has_window_and_marks_and_no_text_of_a_person(room: Room):
    window, annotations = room.window, room.workspace.annotations
    viewer = room.program.viewer
    assert viewer is not None
    (bare,) = viewer.pictures()
    plain = bare.draw()
    room.ask("window 4000 width 2000 level")
    click(room, 0, 150, 170)
    annotations.set_visible([one.finding.id for one in annotations.all()], False)
    (shown,) = viewer.pictures()
    without = shown.draw()
    annotations.set_visible(["id-C"], True)
    (shown,) = viewer.pictures()
    with_box = shown.draw()
    assert with_box.shape == without.shape
    # The box around pixels (60, 80) to (84, 104) is there, and nothing else changed far from it.
    canvas, density = window.canvas, window.canvas.devicePixelRatioF()
    one = canvas.to_widget(60, 80) * density
    changed = np.argwhere((with_box != without).any(2))
    assert len(changed) > 100
    near = changed[
        (changed[:, 0] > one.y() - 40) & (changed[:, 1] > one.x() - 40) & (changed[:, 1] < 400)
    ]
    assert len(near) > 100
    assert (plain != without).any()
    for text in ("Doe", "4711", "1960", "2024"):
        assert text not in shown.caption
    assert "x 150, y 170" in shown.caption
    assert "patient's R at the left edge, patient's L at the right edge" in shown.caption
    assert "center 4000" not in bare.caption
    # A label that a person wrote is not drawn, whatever it says; a tool's own is.
    box = next(one.finding for one in annotations.all() if one.finding.id == "id-C")
    assert canvas.frame is not None
    mine = drawing.draw(drawing.BOX, canvas.frame, [(60, 80), (84, 104)])
    tools = replace(box, provenance=replace(box.provenance, run_id="0" * 32))
    for made, same in ((mine, True), (tools, False)):
        drawn: list[NDArray[np.uint8]] = []
        for label in ("Frau Doe, Zimmer 7", "x"):
            annotations.forget([one.finding.id for one in annotations.all()])
            item = Annotation(replace(made, id="made", label=label), 0, tint="#ff0000")
            annotations.put_all([item], "put")
            drawn.append(viewer.pictures()[0].draw())
        assert bool((drawn[0] == drawn[1]).all()) is same


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_the_active_viewport_comes_first_and_each_says_where_it_stands(room: Room):
    click(room, 1, 100, 100)
    viewer = room.program.viewer
    assert viewer is not None
    right, left = viewer.pictures()
    assert right.caption.startswith("Viewport 2 of 2 (right), active, as the user sees it: image-1")
    assert left.caption.startswith("Viewport 1 of 2 (left), as the user sees it: image-2")
    assert right.image != left.image
    question = room.program.question("what is this?", room.workspace.open_images(), room.thread)
    assert [one.image_id for one in question.views] == ["image-1", "image-2"]


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_back_to_axials_is_back_to_the_images_with_their_numbers_and_marks(room: Room):
    room.ask("coronal")
    assert room.window.planes.plane.value == "coronal"
    room.ask("back to axials")
    assert room.window.planes.plane.value == "acquired"
    assert room.window.canvas.scroller.place == (19, 40)
    assert room.said.startswith("As acquired. Image 20 of 40")
    room.ask("hide the masks")
    assert room.workspace.commands.undo_label == "Hide findings"
    room.ask("undo")
    assert room.said.startswith("Undone: “Hide findings”")


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_a_prior_that_is_shown_is_said_to_be(room: Room):
    room.ask("open the prior")
    assert room.said == "The prior is in viewport 2 already [1]."
    assert room.workspace.layout.viewports.index(room.workspace.viewport) == 1


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_a_drawn_finding_is_described_by_what_is_known_of_it(room: Room):
    """Sizes are in pixels, since the film gives no spacing."""
    room.workspace.annotations.select("id-B")
    room.ask("what is this?")
    effusion = "Left pleural effusion: proposed. Made by Finder · net. 70 × 50 px across"
    assert room.said.startswith(effusion)
    room.ask("Wie groß ist das?")
    assert "Pleuraerguss links: vorgeschlagen." in room.said
    assert "70 × 50 px groß" in room.said
    room.workspace.annotations.decide(["id-C"], State.REJECTED)
    room.ask("has the nodule been rejected?")
    assert room.said.startswith("Right nodule: rejected.")
    room.ask("which findings are undecided?")
    assert "Heart: proposed." in room.said
    assert "nodule" not in room.said
    room.workspace.annotations.select("")
    room.ask("which findings are accepted?")
    assert "No finding on the shown images is accepted" in room.said


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_the_size_of_a_finding_is_in_mm_where_its_series_is_shown(room: Room):
    room.ask("go to the effusion")
    room.ask("how big is the effusion?")
    assert "60.0 × 40.0 mm (patient) across" in room.said  # pixels of 1 mm
    assert "Area 24.0 cm² (patient)" in room.said
    room.ask("go to slice 1")
    room.ask("how big is the effusion?")
    assert "60.0 × 40.0 mm (patient) across" in room.said
    assert "Mean" not in room.said, "no other image's values are told"
    room.ask("show series 3")  # of other thickness, so of another scale for all that is known
    room.ask("how big is the effusion?")
    assert "60 × 40 px across" in room.said


@pytest.mark.parametrize("room", ["pointed"], indirect=True)
def test_where_a_finding_is_and_how_far_it_is_from_here(room: Room):
    room.ask("where is the nodule?")
    assert room.window.canvas.scroller.place[0] == 11
    room.ask("Wo ist der Erguss?")
    assert room.window.canvas.scroller.place[0] == 24
    click(room, 0, 250, 180)  # the middle of the effusion is at (249.5, 259.5)
    room.ask("measure from here to the effusion")
    made = [item.finding for item in room.workspace.annotations.all()][-1]
    assert made.value == pytest.approx(79.5, abs=2)


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_this_is_the_place_that_was_clicked_last_not_an_earlier_mark(room: Room):
    canvas = room.window.canvas
    for x, y in ((20, 30), (30, 50)):
        canvas.drawing_tool.set_tool(drawing.POINT)
        click(room, 0, x, y)
    canvas.drawing_tool.set_tool("")
    click(room, 0, 150, 100)
    room.ask("mark this")
    every = [item.finding for item in room.workspace.annotations.all()]
    (made,) = [one for one in every if one.provenance.tool == "viewer_mark"]
    assert drawing.points_of(made)[0] == pytest.approx((150, 100), abs=1.5)


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_what_is_shown_is_told_in_words(room: Room):
    room.ask("what is shown?")
    assert "Viewport 1: current study" in room.said
    assert "Viewport 2: prior study" in room.said
    room.ask("Was wird gezeigt?")
    assert "Ansicht 2: Voruntersuchung" in room.said


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_an_open_study_is_shown_by_its_kind_or_as_the_other_one(room: Room, tmp_path: Path):
    folder = tmp_path / "loop"
    folder.mkdir()
    loop(folder)
    film = room.workspace.acquired
    room.window.open_paths([folder])
    room.wait(lambda: not room.window.busy and len(room.workspace.studies.all) == 2)
    assert film is not None
    room.workspace.viewport.show(film)
    room.settle()

    def shown() -> str:
        image = room.workspace.acquired
        return image.get("Modality") if image is not None else ""

    for text, modality in (
        ("open the US study", "US"),
        ("show the other study", "DX"),
        ("nächste Untersuchung", "US"),
        ("zeig das Röntgenbild", "DX"),
        ("open the chest pa study", "DX"),
    ):
        room.ask(text)
        assert (shown(), room.failed) == (modality, []), text
        assert not room.asked
    room.ask("put the US study on the right")
    assert [one.acquired.get("Modality") for one in room.workspace.layout.viewports] == ["DX", "US"]
    room.ask("open the CT")
    assert room.failed == ["no open study is “ct”."]


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_report_of_a_ct_is_drafted_in_the_report_panel(room: Room):
    room.ask("draft a report")
    assert room.said.startswith("The Report panel is open")
    assert room.window.docks["Report"].isVisible()


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_what_is_only_perhaps_to_be_rejected_stays(room: Room):
    room.ask("maybe reject the effusion")
    assert room.said.startswith("Nothing was changed")
    assert room.failed == []


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_marks_at_two_places_are_two_and_one_at_the_same_place_is_one(room: Room):
    def marks() -> int:
        every = (item.finding for item in room.workspace.annotations.all())
        return sum(one.provenance.tool == "viewer_mark" for one in every)

    click(room, 0, 100, 100)
    room.ask("mark this")
    room.ask("mark this")
    assert marks() == 1
    click(room, 0, 200, 150)
    room.ask("mark this")
    assert marks() == 2


@pytest.mark.parametrize("room", ["worked"], indirect=True)
def test_several_steps_or_all_are_undone_and_redone(room: Room):
    commands = room.workspace.commands
    assert len(commands._done) == 3
    room.ask("undo the last three steps")
    assert (len(commands._done), len(commands._undone)) == (0, 3)
    room.ask("die letzten zwei Schritte wiederholen")
    assert (len(commands._done), len(commands._undone)) == (2, 1)
    room.ask("alles rückgängig machen")
    assert len(commands._done) == 0
    assert room.said.startswith("Rückgängig gemacht: 2 Schritte")


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_both_viewports_are_back_after_one_was_maximised(room: Room):
    room.ask("left one full screen")
    assert room.workspace.layout.maximised
    room.ask("show both films again")
    assert not room.workspace.layout.maximised


@pytest.mark.parametrize("room", ["cine"], indirect=True)
def test_a_cine_plays_at_twice_its_speed(room: Room):
    before = room.window.canvas.scroller.rate
    room.ask("play it, but twice as fast")
    assert room.window.canvas.scroller.playing
    assert room.window.canvas.scroller.rate == pytest.approx(2 * before)
    room.ask("stop")


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_a_finding_on_the_other_side_is_not_accepted(room: Room):
    room.ask("right sided effusion is real, accept")
    states = {item.finding.state.value for item in room.workspace.annotations.all()}
    assert states == {"proposed"}


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_a_flipped_image_is_flipped_back_and_another_stays(room: Room):
    room.ask("undo the flip, I mean the mirroring")
    room.ask("Spiegelung wieder rausnehmen")
    assert room.window.canvas.model.display.turn_text == ""
    room.ask("flip it top to bottom")
    assert room.window.canvas.model.display.flip_v
    room.ask("unflip it")
    assert room.window.canvas.model.display.turn_text == ""


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_the_side_of_a_finding_that_is_decided_on_is_that_of_its_place(room: Room):
    nodule = room.findings["A"].id  # columns 60 to 84 of 320, and rows run to the left
    room.ask("reject the nodule on the left")
    assert room.workspace.annotations.get(nodule).finding.state is State.PROPOSED
    assert "lies on the right" in room.failed[0]
    room.ask("reject the nodule on the right")
    assert room.workspace.annotations.get(nodule).finding.state is State.REJECTED


DENIED = """
    please do not, under any circumstances, accept the nodule
    never, ever, reject the heart
    bitte auf keinen Fall, wirklich nicht, den Rundherd annehmen
    reject the nodule, no, the effusion
    accept the nodule, sorry, effusion
    accept the left lung, no, the right one
    accept the nodule and the effusion, sorry, only the nodule
    accept the nodule, or rather don't
    accept the nodule ... NOT
    reject the heart, never mind
    Herz verwerfen. Stopp!
    Herz übernehmen, oder lieber doch nicht
    Rundherd ablehnen, äh, annehmen
    Rundherd akzeptiert?
    nodule false positive?
    it would be wrong to reject the nodule
    remind me to reject the heart
    ich habe den Rundherd abgelehnt
    accept the nodule, although I am not sure
    accept heart, lungs no
    sign it as Dr. Smith
"""


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_what_is_denied_taken_back_asked_or_supposed_decides_nothing(room: Room):
    """From a review of what is said and not meant; a tool's finding is selected."""
    before = {item.finding.id: item.finding.state for item in room.workspace.annotations.all()}
    room.workspace.annotations.select(room.findings["A"].id)
    for text in DENIED.strip().splitlines():
        room.ask(text.strip())
        now = {item.finding.id: item.finding.state for item in room.workspace.annotations.all()}
        assert now == before, text


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_the_prior_goes_to_the_other_side_and_the_current_film_stays(room: Room):
    room.ask("show the prior on the left")
    dates = [one.acquired.get("StudyDate") for one in room.workspace.layout.viewports]
    assert dates == ["20220131", "20240131"]


@pytest.mark.parametrize("room", ["pointed"], indirect=True)
def test_two_marks_of_one_sentence_are_two_and_a_mark_has_its_name(room: Room):
    def marks() -> list[tuple[str, list[float]]]:
        every = (item.finding for item in room.workspace.annotations.all())
        made = (one for one in every if one.provenance.tool == "viewer_mark")
        return [(one.label, [round(x, -1) for x in drawing.points_of(one)[0]]) for one in made]

    room.ask("mark both points")
    assert marks() == [("Point", [210, 180]), ("Point", [260, 240])]
    room.ask("mark at 50,60 and at 100,120")
    assert marks()[2:] == [("Point", [50, 60]), ("Point", [100, 120])]
    room.ask("mark this as nodule and go to slice 5")
    assert marks()[4] == ("Nodule", [260, 240])
    assert room.window.canvas.scroller.place[0] == 4


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_a_zoom_in_percent_is_what_the_window_then_shows(room: Room):
    room.ask("zoom to 200 percent")
    assert room.window.canvas.zoom == pytest.approx(2)


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_what_is_here_tells_what_is_drawn_at_the_place_that_was_clicked(room: Room):
    boxes = [
        item.finding
        for item in room.workspace.annotations.all()
        if isinstance(item.finding.geometry, Box) and "odule" in item.finding.label
    ]
    assert len(boxes) == 1
    box = boxes[0].geometry
    assert isinstance(box, Box)
    click(room, 0, (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    room.workspace.annotations.select("")
    for text in ("what is here?", "was ist hier?"):
        room.ask(text)
        assert "odule" in room.said or "Rundherd" in room.said
        assert "effusion" not in room.said
    click(room, 0, 2, 2)
    room.ask("what is here?")
    assert "nothing is drawn at the place that was clicked" in room.said.casefold()


def nodules(room: Room) -> tuple[str, str]:
    """Put a nodule on the image of each of two viewports; returns their ids, left one first."""
    made: list[Finding] = []
    for number, size in enumerate((10, 20)):
        viewport = room.workspace.layout.viewports[number]
        frame = room.window.viewports.frame_of(viewport).canvas.frame
        assert frame is not None
        box = Box(60, 80, 60 + size, 80 + size)
        by = Provenance("finder", "1", "net", "", "earlier", str(number))
        made.append(
            Finding(f"id-{number}", frame.ref, box, "Nodule", None, "", by, state=State.PROPOSED)
        )
    room.workspace.annotations.add(made)
    return made[0].id, made[1].id


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_a_finding_is_that_of_the_image_that_is_named_with_it(room: Room):
    left, right = nodules(room)
    workspace = room.workspace
    room.ask("how big is the nodule on the right one?")
    assert "20 × 20" in room.said
    room.ask("wie groß ist der Rundherd im linken Bild?")
    assert "10 × 10" in room.said
    room.ask("hide the nodule in viewport 2")
    items = {item.finding.id: item for item in workspace.annotations.all()}
    assert (items[left].visible, items[right].visible) == (True, False)
    room.ask("accept the nodule on the prior")
    items = {item.finding.id: item for item in workspace.annotations.all()}
    states = items[left].finding.state, items[right].finding.state
    assert states == (State.PROPOSED, State.ACCEPTED)
    assert workspace.layout.active is workspace.layout.viewports[0]
    room.ask("go to the nodule on the right one")
    assert workspace.layout.active is workspace.layout.viewports[1]
    assert workspace.annotations.selected == right
    room.ask("zoom to the nodule on the left one")
    assert workspace.layout.active is workspace.layout.viewports[0]
    assert workspace.annotations.selected == left
    room.ask("accept the nodule in viewport 3")
    items = {item.finding.id: item for item in workspace.annotations.all()}
    assert items[left].finding.state is State.PROPOSED
    assert "no viewport" in " ".join((room.said, *room.failed))


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_a_tool_works_on_the_image_that_is_named(room: Room):
    used: list[str] = []
    room.agent.run_event.connect(
        lambda event: (
            used.append(str(event.arguments.get("image_path")))
            if isinstance(event, ToolStarted)
            else None
        )
    )
    for text in ("measure the heart on the right one", "miss das Herz auf der Voraufnahme"):
        room.ask(text)
    old = room.workspace.layout.viewports[1].acquired
    assert old is not None
    assert used == [str(old.path)] * 2


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_findings_of_one_name_are_told_apart_by_their_numbers(room: Room):
    first = room.findings["A"]
    shown = room.workspace.acquired
    assert shown is not None
    series = room.workspace.studies.series_of(shown)
    assert series is not None
    second = replace(
        first,
        id="id-2",
        image=room._ref(series.instances[24]),
        geometry=Box(60, 80, 100, 120),
    )
    room.workspace.annotations.add([second])
    room.ask("accept the nodule")
    said = " ".join((room.said, *room.failed))
    assert "Nodule 1 (image 12), Nodule 2 (image 25)" in said
    room.ask("accept nodule 2")
    items = {item.finding.id: item for item in room.workspace.annotations.all()}
    states = items[first.id].finding.state, items["id-2"].finding.state
    assert states == (State.PROPOSED, State.ACCEPTED)
    room.ask("geh zum zweiten Rundherd")
    assert room.workspace.annotations.selected == "id-2"
    assert room.window.canvas.scroller.place[0] == 24
    room.ask("how big is nodule 1?")
    assert "24.0 × 24.0" in room.said or "24 × 24 px" in room.said
    room.ask("how big are the nodules?")
    assert "Nodule 1: proposed" in room.said
    assert "Nodule 2: accepted" in room.said


def states(room: Room) -> dict[str, str]:
    every = room.workspace.annotations.all()
    return {item.finding.id: item.finding.state.value for item in every}


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_it_is_what_was_spoken_of_last_and_is_asked_where_that_is_another(room: Room):
    room.ask("zoom to the heart")
    room.ask("hide the right nodule")
    room.ask("reject it")
    assert states(room)["id-C"] == "rejected"
    assert states(room)["id-A"] == "proposed"
    room.ask("zoom to the heart")
    room.ask("what about the nodule?")
    room.ask("accept it")
    assert states(room)["id-A"] == "proposed"
    assert "say by name" in room.said
    room.ask("zoom to the heart")
    room.ask("lung window")
    room.ask("invert")
    room.ask("accept it")
    assert states(room)["id-A"] == "accepted"
    room.ask("what is the weather like?")
    room.ask("reject it")
    assert states(room)["id-A"] == "accepted"
    room.workspace.annotations.select("id-D")  # as a click does
    room.ask("what is the weather like?")
    room.ask("reject it")
    assert states(room)["id-D"] == "rejected"
    room.ask("zoom to the heart")
    room.workspace.annotations.select("id-E")  # what is clicked is meant, whatever was named before
    room.ask("accept this one")
    assert states(room)["id-E"] == "accepted"
    room.workspace.annotations.select("id-D")
    room.ask("what about the nodule?")
    room.ask("accept it")
    assert states(room)["id-D"] == "rejected"


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_what_several_films_have_is_not_decided_on_one_of_them_unasked(room: Room):
    left, right = nodules(room)
    room.ask("accept the nodule on the right")
    assert set(states(room).values()) == {"proposed"}
    assert "in viewport 2" in " ".join((room.said, *room.failed))
    room.ask("hide the nodule on the right")
    visible = {item.finding.id: item.visible for item in room.workspace.annotations.all()}
    assert visible == {left: True, right: False}
    room.ask("reject it")
    assert states(room) == {left: "proposed", right: "rejected"}
    room.ask("alles einblenden")
    room.ask("blende rechts den Rundherd aus")
    visible = {item.finding.id: item.visible for item in room.workspace.annotations.all()}
    assert visible == {left: True, right: False}
    room.ask("accept both nodules")
    assert set(states(room).values()) == {"accepted"}
    room.ask("zoom to the nodule on the right")
    assert room.workspace.layout.active is room.workspace.layout.viewports[1]
    assert room.workspace.annotations.selected == right


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_the_other_one_is_the_viewport_that_is_not_active(room: Room):
    layout = room.workspace.layout
    for text in ("and on the left one", "now the other one", "the same for the prior"):
        before = room.workspace.arrangement(), room.workspace.commands.undo_count
        room.ask(text)  # nothing was asked before that could be done there
        assert (room.workspace.arrangement(), room.workspace.commands.undo_count) == before
    room.ask("invert the other one")
    assert inverted(room) == [False, True]
    room.ask("go to the left one")
    assert layout.active is layout.viewports[0]
    assert room.said.startswith("Viewport 1 is the active one")
    room.ask("invert the other one and flip it")
    assert inverted(room) == [False, False]
    assert [one.display.flip_h for one in layout.viewports] == [False, True]
    layout.arrange(LAYOUTS["1x1"])
    shown = inverted(room)
    room.ask("invert the other one")
    assert inverted(room) == shown
    assert "no other viewport shows an image" in room.said.casefold()


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_what_is_of_the_window_is_done_once(room: Room):
    room.ask("invert the left one")
    room.ask("flip the right one")
    room.ask("undo both")
    display = [one.display for one in room.workspace.layout.viewports]
    assert [(one.invert, one.flip_h) for one in display] == [(True, False), (False, False)]
    room.ask("export the pictures of both")
    assert room.asked == []
    assert "Name one" in room.said


@pytest.mark.parametrize("room", ["two"], indirect=True)
def test_the_prior_alone_lies_in_the_viewport_that_has_it(room: Room):
    layout = room.workspace.layout
    there = [one.acquired for one in layout.viewports]
    room.ask("show only the prior")
    assert layout.maximised
    assert layout.active is layout.viewports[1]
    assert [one.acquired for one in layout.viewports] == there
    layout.maximise(False)
    room.ask("go to the left one")
    layout.arrange(LAYOUTS["1x1"])
    assert layout.active.acquired is there[0]
    room.ask("only the 2022 one")
    assert [one.acquired for one in layout.viewports] == [there[1]]


@pytest.mark.parametrize("room", ["ct_pair"], indirect=True)
def test_a_series_is_worked_on_where_it_is_shown(room: Room):
    layout = room.workspace.layout
    room.ask("abdomen window for the lung series")
    room.ask("lung window for series 2")
    room.ask("go to image 12 of series 3")
    windows = [one.display.window for one in layout.viewports]
    assert [(one.center, one.width) for one in windows if one] == [(-600, 1500), (50, 400)]
    lung = room.window.viewports.frame_of(layout.viewports[1]).canvas.scroller
    assert lung.place[0] == 11
    room.ask("lung window for series 9")
    assert "no viewport shows the series" in room.said.casefold()
    room.ask("window 400 40 right and 1500 -600 left")
    windows = [one.display.window for one in layout.viewports]
    assert [(one.center, one.width) for one in windows if one] == [(-600, 1500), (40, 400)]


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_as_before_takes_back_only_what_was_said_last(room: Room):
    room.ask("accept the heart")
    room.ask("where is the heart?")
    room.ask("invert")
    room.ask("as before")
    assert not look(room).display.invert
    assert states(room)["id-A"] == "accepted"
    room.ask("how large is the heart?")
    room.ask("as before")
    assert states(room)["id-A"] == "accepted"
    room.ask("rotate right")
    room.workspace.annotations.decide(["id-C"], State.REJECTED)  # by hand
    room.ask("as before")
    assert states(room)["id-C"] == "rejected"
    assert "another came after it" in " ".join(room.failed)


@pytest.mark.parametrize("room", ["cxr"], indirect=True)
def test_what_was_undone_is_not_done_again_by_what_may_mean_something_else(room: Room):
    room.answer = True
    room.ask("delete the heart")
    room.ask("undo")
    for text in ("bring it back", "show it again", "get it back", "back"):
        room.ask(text)
        assert "id-A" in states(room), text


@pytest.mark.parametrize("room", ["ct"], indirect=True)
def test_the_mean_of_a_finding_is_told_in_hu(room: Room):
    room.ask("what is the mean HU of the heart?")
    region = room.findings["C"].geometry
    assert isinstance(region, Mask)
    stored = pydicom.dcmread(room.folder / "2-019.dcm")  # of the file itself, rescaled by hand
    values = stored.pixel_array[region.pixels].astype(float) - 1024
    assert f"Mean {values.mean():.1f} HU, SD {values.std(ddof=1):.1f}" in room.said
    room.ask("how big is the nodule?")  # on another slice of the same series
    assert "24.0 × 24.0 mm" in room.said
