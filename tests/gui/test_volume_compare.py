"""A CT and its prior in the window: asked in words, registered, paired, tabled and linked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from app.imaging.findings import Finding, Polyline, Provenance, State, new_id
from app.imaging.space.planes import instance_plane
from app.imaging.types import FramePlane, Instance
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


def draw(room: Room, date: str, place: tuple[float, float, float], mm: float) -> None:
    """Measure a line of so many mm through a place, on the slice that is nearest."""
    image = min(slices(room, date), key=lambda one: abs(_plane(one).pixel(place)[2]))
    plane = _plane(image)
    x, y, _ = plane.pixel(place)
    half = mm / 2 / plane.spacing[1]
    frame = _frame(room, image)
    made = Provenance("ruler", "1", "", "", "", "")
    line = Polyline(((x - half, y), (x + half, y)))
    mark = Finding(new_id(), frame.ref, line, "Nodule", None, "", made, state=State.ACCEPTED)
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
    """mm from the middle of the current image, where it really lies before, to the prior image."""
    assert current is not None
    assert prior is not None
    middle = _plane(current).point((NOW.size[0] - 1) / 2, (NOW.size[1] - 1) / 2)
    return abs(_plane(prior).pixel(at(MOVED, middle))[2])


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
    assert _away_from(left.acquired, right.acquired) <= THEN.spacing[2] / 2 + 1


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
