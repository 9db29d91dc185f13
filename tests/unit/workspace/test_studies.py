from __future__ import annotations

from pathlib import Path

from app.imaging.types import ImageRef, Instance, Problem, ScanResult, Series, Study
from app.tools.api import Artifact
from app.workspace.studies import Studies
from app.workspace.workspace import Workspace


def an_instance(name: str, number: int = 1) -> Instance:
    return Instance(Path(name), name, "dicom", 2, 2, number=number)


def a_study(uid: str, *instances: Instance, series: str = "s") -> Study:
    return Study(uid, "", "", "", "", (Series(series, "", "CR", 1, instances),))


def test_opening_the_same_study_twice_lists_it_once_with_all_its_images():
    studies = Studies()
    first, second = an_instance("a", 2), an_instance("b", 1)
    studies.add(ScanResult((a_study("1", first),), ()))
    studies.add(ScanResult((a_study("1", first, second),), ()))
    assert [study.uid for study in studies.all] == ["1"]
    assert studies.instances() == (second, first)


def test_problems_stay_until_they_were_read():
    studies = Studies()
    studies.add(ScanResult((), (Problem(Path("x"), "empty file"),)))
    studies.add(ScanResult((a_study("1", an_instance("a")),), ()))
    assert [problem.reason for problem in studies.problems] == ["empty file"]
    studies.clear_problems()
    assert studies.problems == ()


def test_the_shown_image_is_the_first_that_a_run_may_touch():
    workspace = Workspace()
    a, b = an_instance("a", 1), an_instance("b", 2)
    workspace.add(ScanResult((a_study("1", a, b),), ()))
    workspace.viewport.show(b)
    images = workspace.open_images()
    assert [(image.id, image.instance) for image in images] == [("image-1", b), ("image-2", a)]


def test_closing_the_shown_study_empties_the_viewport_and_closing_another_does_not():
    workspace = Workspace()
    a, b = an_instance("a"), an_instance("b")
    workspace.add(ScanResult((a_study("1", a), a_study("2", b)), ()))
    workspace.close_study("2")
    assert workspace.viewport.instance == a
    workspace.close_study("1")
    assert workspace.viewport.instance is None


def test_stepping_through_a_series_stops_at_its_ends():
    workspace = Workspace()
    a, b = an_instance("a", 1), an_instance("b", 2)
    workspace.add(ScanResult((a_study("1", a, b),), ()))
    assert workspace.next_instance(1) == b
    assert workspace.next_instance(-1) is None


def test_a_picture_stands_only_beside_the_study_it_was_made_from(tmp_path: Path):
    workspace = Workspace()
    a, b = an_instance("a"), an_instance("b")
    workspace.add(ScanResult((a_study("1", a), a_study("2", b)), ()))
    overlay = Artifact(tmp_path / "o.png", role="show", source=ImageRef("a", 0, "00"))
    workspace.take_results("image_visualizer", (), (overlay,))
    assert [pane.path for pane in workspace.panes.all] == [overlay.path]
    workspace.viewport.show(b)
    assert workspace.panes.all == (), "another patient's picture beside this one"
    workspace.open_artifact("image_visualizer", overlay)
    assert workspace.viewport.instance == a, "asked for, it comes with its own image"
    assert [pane.path for pane in workspace.panes.all] == [overlay.path]
    workspace.close_study("1")
    workspace.viewport.show(b)
    assert workspace.panes.all == ()
