"""What marks measure fits the scale of their image at every moment, whether it is shown or not."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.imaging.findings import Ellipse, Finding, Polyline, Provenance
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    ScanResult,
    Series,
    Spacing,
    SpacingSource,
    Study,
)
from app.workspace import calibration, drawing
from app.workspace.annotations import Annotation
from app.workspace.mark_store import MarkStore
from app.workspace.workspace import Workspace

SPACINGS = {  # mm between columns of each image: its own, and not that of the one beside it
    "1.1": Spacing(0.5, 0.5, SpacingSource.PATIENT),
    "1.2": Spacing(0.25, 0.25, SpacingSource.DETECTOR),
    "1.3": Spacing(),
}


def frame(uid: str, sha: str = "") -> Frame:
    pixels = np.arange(6000, dtype=np.int16).reshape(60, 100)
    return Frame(pixels, ImageRef(uid, 0, sha or f"sha-{uid}"), spacing=SPACINGS[uid])


def opened() -> Workspace:
    workspace = Workspace()
    images = tuple(Instance(Path(uid), uid, "dicom", 60, 100) for uid in SPACINGS)
    series = Series("1", "", "DX", 1, images)
    workspace.add(ScanResult((Study("9", "", "", "", "", (series,)),), ()), show=False)
    return workspace


def shown() -> Workspace:
    """A workspace all of whose images have been shown."""
    workspace = opened()
    for uid in SPACINGS:
        workspace.scales.learn(frame(uid))
    return workspace


def draw(workspace: Workspace, uid: str, x0: float, x1: float) -> Finding:
    made = drawing.draw(drawing.RULER, frame(uid), [(x0, 10), (x1, 10)])
    workspace.annotations.put(made, "Measure length")
    return made


def now(workspace: Workspace, mark: Finding) -> Finding:
    item = workspace.annotations.get(mark.id)
    assert item is not None
    return item.finding


def figures(workspace: Workspace, mark: Finding) -> tuple[float, str]:
    one = now(workspace, mark)
    assert one.value is not None
    return round(one.value, 6), one.units


OWN = [(20.0, "mm (patient)"), (10.0, "mm (detector plane)"), (40.0, "px")]
BY_HAND = [(80.0, "mm (calibrated by hand)")] * 3


@pytest.mark.parametrize("way", ["removed", "undone", "ended"])
def test_without_its_line_a_series_has_each_image_s_own_scale_at_once(way: str):
    workspace = shown()
    marks = [draw(workspace, uid, 10, 50) for uid in SPACINGS]
    line = draw(workspace, "1.1", 0, 50)
    workspace.calibrate(line, frame("1.1"), 100.0, series=True)
    assert [figures(workspace, one) for one in marks] == BY_HAND
    if way == "removed":
        workspace.annotations.remove([line.id])
    elif way == "undone":
        workspace.commands.undo()
    else:
        workspace.calibrate(now(workspace, line), frame("1.1"), None)
    assert [figures(workspace, one) for one in marks] == OWN
    workspace.commands.redo() if way == "undone" else workspace.commands.undo()
    assert [figures(workspace, one) for one in marks] == BY_HAND


def test_an_ended_series_calibration_leaves_no_other_image_this_one_s_spacing():
    workspace = shown()
    line, other = draw(workspace, "1.1", 0, 50), draw(workspace, "1.2", 10, 50)
    workspace.calibrate(line, frame("1.1"), 100.0, series=True)
    workspace.calibrate(now(workspace, line), frame("1.1"), None, series=True)
    assert figures(workspace, other) == OWN[1]


def expected(workspace: Workspace, one: Finding) -> tuple[float, str]:
    """A length by hand from the definition: of the image's last line, else of the series'."""
    assert isinstance(one.geometry, Polyline)
    (ax, ay), (bx, by) = one.geometry.points
    pixels = math.hypot(bx - ax, by - ay)
    scale = None
    for whole in (True, False):
        for item in workspace.annotations.all():
            line = item.finding
            known = {value.name: value.value for value in line.measurements}
            assert isinstance(line.geometry, Polyline)
            of_series = drawing.SERIES_LENGTH in known
            own = line.image == one.image
            mm = known.get(drawing.SERIES_LENGTH, known.get(drawing.KNOWN_LENGTH))
            if mm is not None and ((whole and of_series and not own) or (not whole and own)):
                scale = mm / math.dist(*line.geometry.points)
    if scale is not None:
        return round(pixels * scale, 6), "mm (calibrated by hand)"
    spacing = SPACINGS[one.image.sop_instance_uid]
    if spacing.column_mm is None:
        return round(pixels, 6), "px"
    return round(pixels * spacing.column_mm, 6), f"mm ({spacing.source.value})"


@pytest.mark.parametrize("seed", range(4))
def test_every_length_is_right_after_each_of_many_random_steps(seed: int):
    rng = random.Random(seed)
    workspace = shown()
    for _ in range(120):
        marks = [item.finding for item in workspace.annotations.all()]
        step = rng.choice("ddmccsserruu") if marks else "d"
        one = rng.choice(marks) if marks else None
        if step == "d" or one is None:
            draw(workspace, rng.choice(list(SPACINGS)), rng.uniform(0, 40), rng.uniform(50, 99))
        elif step == "m":
            uid = one.image.sop_instance_uid
            to = rng.uniform(0, 40), rng.uniform(0, 59)
            workspace.annotations.put(drawing.move_point(one, frame(uid), 0, to), "Change")
        elif step in "cse":
            mm = None if step == "e" else rng.uniform(5, 200)
            uid = one.image.sop_instance_uid
            workspace.calibrate(one, frame(uid), mm, series=step == "s")
        elif step == "r":
            workspace.annotations.remove([one.id])
        else:
            workspace.commands.undo() if rng.random() < 0.6 else workspace.commands.redo()
        for item in workspace.annotations.all():
            if (known := calibration.known_length(item.finding)) is not None:
                lines = [
                    other.finding
                    for other in workspace.annotations.all()
                    if calibration.known_length(other.finding) is not None
                    and other.finding.image == item.finding.image
                ]
                if lines[-1].id == item.finding.id:
                    assert item.finding.value == pytest.approx(known)
            assert figures(workspace, item.finding) == expected(workspace, item.finding)


def test_after_any_reopening_a_length_is_right_or_is_being_measured_again(tmp_path: Path):
    waits = [reopened_often(seed, tmp_path / f"{seed}.sqlite") for seed in range(6)]
    assert sum(waits) > 10


def reopened_often(seed: int, file: Path) -> int:
    """Return how often a mark waited: images are read in any order, and marks changed before."""
    rng = random.Random(seed)
    store = MarkStore(file)
    workspace, known = shown(), set(SPACINGS)
    waited = 0
    for _ in range(60):
        marks = [item.finding for item in workspace.annotations.all()]
        at_hand = [one for one in marks if one.image.sop_instance_uid in known]
        one = rng.choice(at_hand) if at_hand else None
        step = rng.choice("dddccsseroolllu")
        if step == "d" and known:
            uid = rng.choice(sorted(known))
            draw(workspace, uid, rng.uniform(0, 40), rng.uniform(50, 99))
        elif step in "cse" and one is not None:
            mm = None if step == "e" else rng.uniform(5, 200)
            workspace.calibrate(one, frame(one.image.sop_instance_uid), mm, series=step == "s")
        elif step == "r" and marks:
            workspace.annotations.remove([rng.choice(marks).id])
        elif step == "u":
            workspace.commands.undo() if rng.random() < 0.7 else workspace.commands.redo()
        elif step == "l":
            uid = rng.choice(list(SPACINGS))
            workspace.scales.learn(frame(uid))
            known.add(uid)
        elif step == "o":
            saved = [
                item
                for item in workspace.annotations.all()
                if not workspace.scales.is_waiting(item.finding)  # as `MarkKeeping` does
            ]
            before = {item.finding.id for item in store.load(SPACINGS)[0]}
            gone = before - {item.finding.id for item in workspace.annotations.all()}
            store.save({"9": saved}, gone)
            workspace, known = opened(), set()
            workspace.annotations.bring_back(store.load(SPACINGS)[0])
        for item in workspace.annotations.all():
            mark = item.finding
            if mark.value is None:
                assert mark.description == "being measured again"
                assert workspace.scales.is_waiting(mark)
                waited += 1
            else:
                assert figures(workspace, mark) == expected(workspace, mark)
    for uid in SPACINGS:
        workspace.scales.learn(frame(uid))
    for item in workspace.annotations.all():
        assert figures(workspace, item.finding) == expected(workspace, item.finding)
    return waited


def kept(tmp_path: Path, *, with_line: bool = True) -> tuple[list[Annotation], Finding, Finding]:
    """Marks of an earlier session that were measured by a line for the series."""
    workspace = shown()
    mark, line = draw(workspace, "1.2", 10, 50), draw(workspace, "1.1", 0, 50)
    workspace.calibrate(line, frame("1.1"), 100.0, series=True)
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"9": workspace.annotations.all()}, [] if with_line else [line.id])
    return store.load(["1.1", "1.2"])[0], mark, line


def read_wanted(workspace: Workspace, sha: str = "") -> list[str]:
    read: list[str] = []
    while (wanted := workspace.scales.next_wanted()) is not None:
        read.append(wanted[0].sop_instance_uid)
        workspace.scales.learn(frame(wanted[0].sop_instance_uid, sha))
    return read


def test_a_kept_mark_brings_no_old_calibration_back(tmp_path: Path):
    items, mark, _line = kept(tmp_path, with_line=False)
    workspace = opened()
    asked: list[int] = []
    workspace.scales.wanted.connect(lambda: asked.append(1))
    workspace.annotations.bring_back(items)
    one = now(workspace, mark)
    assert (one.value, one.units, one.description) == (None, "", "being measured again")
    assert all(not value.rests_on for value in one.measurements)
    assert workspace.scales.is_waiting(one)
    assert asked
    assert read_wanted(workspace) == ["1.2"]
    assert figures(workspace, mark) == OWN[1]
    assert not workspace.scales.is_waiting(now(workspace, mark))


def test_a_kept_calibration_holds_once_its_image_is_read(tmp_path: Path):
    items, mark, _line = kept(tmp_path)
    workspace = opened()
    workspace.annotations.bring_back(items)
    assert now(workspace, mark).value is None
    workspace.scales.learn(frame("1.2"))
    assert now(workspace, mark).value is None, "its line may be on other pixels"
    assert read_wanted(workspace) == ["1.1"]
    assert figures(workspace, mark) == BY_HAND[0]


def test_a_line_on_other_pixels_calibrates_nothing_and_is_left_as_it_was(tmp_path: Path):
    items, mark, line = kept(tmp_path)
    workspace = opened()
    workspace.annotations.bring_back(items)
    workspace.annotations.change([replace(now(workspace, line), label="Renamed")], "Rename")
    workspace.scales.learn(frame("1.1", "other pixels"))
    workspace.scales.learn(frame("1.2"))
    assert figures(workspace, mark) == OWN[1]
    assert now(workspace, line).label == "Renamed"
    assert figures(workspace, line) == (100.0, "mm (calibrated by hand)")
    assert workspace.scaled(workspace.instance_of("1.2"), frame("1.2")).spacing == SPACINGS["1.2"]  # pyright: ignore[reportArgumentType]


def test_a_mark_whose_image_cannot_be_read_says_so(tmp_path: Path):
    items, mark, _line = kept(tmp_path, with_line=False)
    workspace = opened()
    workspace.annotations.bring_back(items)
    image, index = workspace.scales.next_wanted() or (None, 0)
    assert image is not None
    workspace.scales.cannot_read(image, index)
    one = now(workspace, mark)
    assert (one.value, one.description) == (None, "not measured: its image cannot be read")
    assert workspace.scales.next_wanted() is None


def test_statistics_stay_while_a_region_is_measured_again(tmp_path: Path):
    workspace = shown()
    region = drawing.draw(drawing.ELLIPSE, frame("1.2"), [(10, 10), (50, 40)])
    region = drawing.with_statistics(region, frame("1.2"))
    workspace.annotations.put(region, "Measure ellipse")
    mean = {one.name: one.value for one in region.measurements}["Mean"]
    bare = drawing.unmeasured(region, drawing.MEASURED_AGAIN)
    assert {one.name: one.value for one in bare.measurements}["Mean"] == mean
    assert "Area" not in {one.name for one in bare.measurements}
    assert isinstance(bare.geometry, Ellipse)
    assert drawing.remeasured(bare, frame("1.2")) == region


def test_tools_get_what_was_found_on_these_very_pixels():
    workspace = opened()
    shape = Ellipse(1, 1, 9, 9)
    made = Provenance("finder", "1", "net", "", "run", "call")
    here, there = (
        Finding(sha, ImageRef("1.1", 0, sha), shape, "Mass", 0.9, "", made)
        for sha in ("sha-1.1", "of another version")
    )
    box = drawing.draw(drawing.BOX, frame("1.1", "of another version"), [(1, 1), (9, 9)])
    box = replace(box, id="box")
    workspace.annotations.bring_back([Annotation(one, 0) for one in (here, there, box)])
    given = {one.instance.sop_instance_uid: one for one in workspace.open_images()}
    assert given["1.1"].findings == (), "nobody has compared the pixels"
    workspace.scales.learn(frame("1.1"))
    given = {one.instance.sop_instance_uid: one for one in workspace.open_images()}
    assert [one.id for one in given["1.1"].findings] == ["sha-1.1"]
    assert given["1.1"].drawn == ()


def test_what_a_tool_found_just_now_is_given_to_the_next():
    workspace = opened()
    made = Provenance("finder", "1", "net", "", "run", "call")
    found = Finding("a", ImageRef("1.3", 0, "x"), Ellipse(1, 1, 9, 9), "Mass", 0.9, "", made)
    workspace.take_results("finder", [found], [])
    given = {one.instance.sop_instance_uid: one for one in workspace.open_images()}
    assert [one.id for one in given["1.3"].findings] == ["a"]
    workspace.close_study("9")
    assert workspace.scales.is_of(found.image) is None, "it may come back with other pixels"
