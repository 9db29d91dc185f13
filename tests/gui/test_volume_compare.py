"""A CT and its prior in the window: asked in words, registered, paired, tabled and linked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from app.imaging.findings import Finding, Polyline, Provenance, State, new_id
from app.imaging.space.planes import instance_plane
from app.imaging.types import FramePlane, Instance
from app.workspace.report import OpenReport, ReportStore
from tests.gui.viewer_scenes import Room
from tests.gui.viewer_support import WaitUntil
from tests.support.volume_pair import Grid, at, rigid, trunk, write_series

NOW = Grid((80, 60, 36), (3.0, 3.0, 5.0), (-120.0, -90.0, -90.0))
THEN = Grid((70, 56, 32), (3.2, 3.2, 6.0), (-105.0, -95.0, -75.0))
PLACE = (-50.0, 0.0, 10.0)
MOVED = rigid((4, -3, 5), (12, -9, 22))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trunk")
    write_series(folder / "now", NOW, partial(trunk, spheres=[(PLACE, 15.0)]), date="20240131")
    write_series(
        folder / "then",
        THEN,
        partial(trunk, spheres=[(PLACE, 10.0)]),
        date="20230131",
        moved=MOVED,
        seed=1,
    )
    return folder


@pytest.fixture
def room(
    files: Path,
    forked: None,
    tmp_path: Path,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Room]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made = Room("trunk", files, partial(wait_until, timeout=120))
    yield made
    made.close()


def slices(room: Room, date: str) -> list[Instance]:
    (study,) = [one for one in room.workspace.studies.all if one.date.startswith(date)]
    return list(study.series[0].instances)


def show(room: Room, date: str, number: int) -> None:
    room.workspace.layout.viewports[0].show(slices(room, date)[number])
    room.settle()


def draw(
    room: Room, date: str, place: tuple[float, float, float], mm: float, found: State | None = None
) -> None:
    """Measure a line of so many mm through a place, on the slice that is nearest.

    With `found`, a tool has, and a person has decided on it.
    """
    image = min(slices(room, date), key=lambda one: abs(_plane(one).pixel(place)[2]))
    plane = _plane(image)
    x, y, _ = plane.pixel(place)
    half = mm / 2 / plane.spacing[1]
    frame = _frame(room, image)
    made = Provenance("ruler", "1", "", "", "", "")
    made = made if found is None else Provenance("measurer", "1", "net", "", "run", "call")
    state = found or State.ACCEPTED
    line = Polyline(((x - half, y), (x + half, y)))
    mark = Finding(new_id(), frame.ref, line, "Nodule", None, "mm", made, state=state)
    room.workspace.scales.learn(frame)
    room.workspace.annotations.add([mark])


def _frame(room: Room, image: Instance):
    frame = room.program.decoder.frame(image)
    room.wait(frame.done)
    return frame.result()


def _plane(image: Instance) -> FramePlane:
    plane = instance_plane(image)
    assert plane is not None
    return plane


def _away_from(current: Instance | None, prior: Instance | None) -> float:
    """mm from where `PLACE` is on the current image, where it really lies before, to the prior."""
    assert current is not None
    assert prior is not None
    x, y, _ = _plane(current).pixel(PLACE)
    return abs(_plane(prior).pixel(at(MOVED, _plane(current).point(x, y)))[2])


def test_a_question_registers_pairs_tables_and_links(room: Room):
    show(room, "2024", 18)
    draw(room, "2024", PLACE, 15)
    draw(room, "2023", at(MOVED, PLACE), 10)
    room.ask("compare with the prior")
    assert room.failed == []
    assert "365 days earlier" in room.said
    assert "1 pair of marks" in room.said
    assert "| Nodule 1, Length | 10.0 mm | 15.0 mm | +5.00 mm (+50.0 %) |" in room.said
    labels = {one.finding.label for one in room.workspace.annotations.all()}
    assert labels == {"Nodule", "Prior, Nodule 1", "Now, Nodule 1"}
    left, right = room.workspace.layout.screen.viewports
    dates = [one.acquired.get("StudyDate") if one.acquired else "" for one in (left, right)]
    assert dates == ["20240131", "20230131"]
    assert _away_from(left.acquired, right.acquired) <= THEN.spacing[2] / 2 + 1
    # Scrolling one leads the other to the same place of the body, in its own coordinates.
    assert room.window.links.scroll
    room.workspace.layout.activate(left)
    room.window.canvas.scroller.step(4)
    room.settle()
    assert _away_from(left.acquired, right.acquired) <= (THEN.spacing[2] + NOW.spacing[2]) / 2 + 1


@pytest.mark.parametrize(
    ("question", "head"),
    [
        ("Has the effusion changed?", "**Effusion: change not determined:** neither study has a"),
        ("Hat sich der Erguss verändert?", "**Erguss: Veränderung nicht bestimmt:** in keiner der"),
    ],
)
def test_what_is_not_marked_is_said_before_what_is(room: Room, question: str, head: str):
    show(room, "2024", 18)
    draw(room, "2024", PLACE, 15)
    draw(room, "2023", at(MOVED, PLACE), 10)
    room.ask(question)
    assert room.failed == []
    assert room.said.startswith(head)
    assert "365" in room.said
    assert "| Nodule 1, " in room.said


def test_the_report_tells_a_nodule_and_its_change_as_one(room: Room, tmp_path: Path):
    """Two nodules, one of them with an accepted change, are two lines of the impression."""
    show(room, "2024", 18)
    for place, mm in ((PLACE, 15), ((40.0, 20.0, -30.0), 12)):
        draw(room, "2024", place, mm, State.ACCEPTED)
    draw(room, "2023", at(MOVED, PLACE), 10, State.ACCEPTED)
    room.ask("compare with the prior")
    annotations = room.workspace.annotations
    (change,) = [one.finding for one in annotations.all() if one.finding.label[:5] == "Prior"]
    annotations.decide([change.id], State.ACCEPTED)
    report = OpenReport(room.workspace, ReportStore(tmp_path / "reports"))
    report.use()
    assert report.draft is not None
    (told,) = [one.sentences for one in report.draft.sections if one.kind == "impression"]
    assert [one.text for one in told] == ["Nodule.", "Nodule: 15.0 mm, 10.0 mm on 2023-01-31."]
    assert change.partners[0] in told[1].findings
    assert report.checks == ()


def test_a_rejected_partner_is_named_and_no_change(room: Room):
    show(room, "2024", 18)
    draw(room, "2024", PLACE, 15)
    draw(room, "2023", at(MOVED, PLACE), 10, State.REJECTED)
    room.ask("compare with the prior")
    assert "0 pairs of marks; 0 only now, 0 only before" in room.said
    assert "Not compared: Nodule 1, Length: the mark on the prior study was rejected" in room.said
    assert "Only in the" not in room.said
    labels = [one.finding.label for one in room.workspace.annotations.all()]
    assert labels == ["Nodule", "Nodule"]


def test_a_comparison_is_offered_with_findings_until_there_is_one(room: Room):
    offer = "Ask “Compare with the prior”"
    show(room, "2024", 18)
    room.ask("lung window")
    assert offer not in room.said
    room.ask("what is abnormal here?")
    assert offer in room.said
    for question in ("compare with the prior", "lung window", "what is abnormal here?"):
        room.ask(question)
        assert offer not in room.said, question


def test_the_prior_hangs_at_its_mark_and_linked_scrolling_keeps_the_pair_together(room: Room):
    """The marks lie far from the middle, where the tilt shifts a slice, and 8 mm apart."""
    before = at(MOVED, PLACE)
    drawn = (before[0], before[1], before[2] - 8)
    image = min(slices(room, "2023"), key=lambda one: abs(_plane(one).pixel(drawn)[2]))
    show(room, "2024", 30)
    draw(room, "2024", PLACE, 15)
    draw(room, "2023", drawn, 10)
    room.ask("compare with the prior")
    assert "1 pair of marks" in room.said
    left, right = room.workspace.layout.screen.viewports
    assert right.acquired is image
    shown = left.acquired
    room.workspace.layout.activate(left)
    room.window.canvas.scroller.step(4)
    room.settle()
    assert right.acquired is not image
    room.window.canvas.scroller.step(-4)
    room.settle()
    assert (left.acquired, right.acquired) == (shown, image)
    # The prior leads the current study as well.
    room.workspace.layout.activate(right)
    room.window.canvas.scroller.step(3)
    room.settle()
    room.window.canvas.scroller.step(-3)
    room.settle()
    assert (left.acquired, right.acquired) == (shown, image)


@pytest.mark.parametrize("question", ["has it grown?", "vergleiche mit der Voraufnahme"])
def test_without_marks_it_is_shown_and_said_how_to_make_them(room: Room, question: str):
    show(room, "2024", 18)
    room.ask(question)
    assert room.failed == []
    german = question.startswith("vergleiche")
    assert (
        "Auf keiner der beiden Serien ist eine Markierung" if german else "no mark on either series"
    ) in room.said
    assert len(room.workspace.layout.screen.viewports) == 2
    assert room.workspace.annotations.all() == ()
