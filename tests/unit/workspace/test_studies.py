from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from app.imaging.studies.catalogue import Catalogue, group
from app.imaging.types import ImageRef, Instance, Problem, ScanResult, Series, Study
from app.tools.api import Artifact
from app.workspace.studies import Studies, key_of
from app.workspace.workspace import Workspace


def an_instance(name: str, number: int = 1, **attributes: str) -> Instance:
    return Instance(Path(name), name, "dicom", 2, 2, number=number, attributes=attributes)


def a_study(uid: str, *instances: Instance, series: str = "s") -> Study:
    return Study(uid, "", "", "", "", (Series(series, "", "CR", 1, instances),))


def a_slice(place: int, folder: str = "/a", **attributes: str) -> Instance:
    """A CT slice as the scanner gives it."""
    given = {
        "StudyInstanceUID": "1",
        "SeriesInstanceUID": "1.1",
        "Modality": "CT",
        "PatientID": "P1",
        "PatientName": "Doe^Jane",
        "ImageOrientationPatient": "1\\0\\0\\0\\1\\0",
        "ImagePositionPatient": f"0\\0\\{place}",
        "PixelSpacing": "1\\1",
    } | attributes
    path = Path(folder) / f"{place}.dcm"
    return Instance(path, f"1.1.{place}", "dicom", 4, 4, number=1000 - place, attributes=given)


def shown(studies: Studies) -> list[list[str]]:
    return [[i.path.stem for s in study.series for i in s.instances] for study in studies.all]


def test_what_is_known_of_a_study_is_replaced_by_what_a_scan_knows_later():
    studies, catalogue = Studies(), Catalogue()
    for places in ([5, 1], [3], [2, 4]):
        catalogue.add(a_slice(place) for place in places)
        studies.add(ScanResult(catalogue.changed(), ()))
    assert shown(studies) == [shown_by(group([a_slice(n) for n in range(1, 6)], []))]
    assert shown(studies)[0] in (["1", "2", "3", "4", "5"], ["5", "4", "3", "2", "1"])


def shown_by(result: ScanResult) -> list[str]:
    return [i.path.stem for study in result.studies for s in study.series for i in s.instances]


def test_a_study_from_two_folders_is_ordered_as_if_it_were_opened_at_once():
    """By the catalogue's order, whatever the numbers say."""
    odd = [a_slice(number, "/odd") for number in (1, 3, 5)]
    even = [a_slice(number, "/even") for number in (2, 4, 6)]
    studies = Studies()
    studies.add(group(odd, []))
    studies.add(group(even, []))
    assert shown(studies) == [shown_by(group(odd + even, []))]
    assert len(shown(studies)[0]) == 6


def test_opening_a_part_of_an_open_study_loses_nothing():
    whole = [a_slice(number) for number in range(5)]
    studies = Studies()
    studies.add(group(whole, []))
    before = studies.all
    studies.add(group([a_slice(2)], []))
    assert studies.all == before


def test_a_file_that_changed_takes_its_old_entrys_place():
    studies = Studies()
    studies.add(group([a_slice(1), a_slice(2)], []))
    changed = Instance(Path("/a/1.dcm"), "9.9", "dicom", 8, 8, attributes=a_slice(1).attributes)
    studies.add(group([changed], []))
    assert sorted(i.sop_instance_uid for part in studies.instances() for i in part) == [
        "1.1.2",
        "9.9",
    ]


def test_a_second_patient_under_the_same_study_uid_is_a_second_study():
    studies = Studies()
    other = a_slice(2, "/b", PatientID="P2", PatientName="Roe^Richard")
    studies.add(group([a_slice(1)], []))
    studies.add(group([a_slice(1, "/c", StudyInstanceUID="7")], []))
    studies.add(group([other], []))
    assert shown(studies) == [["1"], ["2"], ["1"]]
    assert len({study.key for study in studies.all}) == 3
    assert all("same Study Instance UID" in one.warnings[0] for one in studies.all[:2])
    assert studies.study_of(other) is studies.all[1]
    studies.close(studies.all[1].key)
    assert shown(studies) == [["1"], ["1"]]


def test_a_second_patient_who_turns_up_while_a_scan_goes_on_leaves_no_ghost_of_the_first():
    studies, catalogue = Studies(), Catalogue()
    catalogue.add([a_slice(1), a_slice(2)])
    studies.add(ScanResult(catalogue.changed(), ()))
    shown_image = studies.instances()[0][0]
    catalogue.add([a_slice(3, PatientID="P2", PatientName="Roe^Richard")])
    studies.add(ScanResult(catalogue.changed(), ()))
    studies.add(catalogue.result())
    assert [sorted(names) for names in shown(studies)] == [["1", "2"], ["3"]]
    assert len(studies.all) == len({study.key for study in studies.all}) == 2
    assert studies.series_of(shown_image) is not None


def test_a_third_patient_takes_no_others_key():
    """The study list keeps thumbnails by it: they would be those of another patient."""
    studies, catalogue = Studies(), Catalogue()
    keys: dict[str, set[str]] = {}
    for patient in ("P5", "P6", "P1", "P9"):
        catalogue.add([a_slice(int(patient[1]), PatientID=patient, PatientName="")])
        studies.add(ScanResult(catalogue.changed(), ()))
        for study in studies.all if len(studies.all) > 1 else ():
            keys.setdefault(study.key, set()).add(study.patient_id)
    assert sorted(map(sorted, keys.values())) == [["P1"], ["P5"], ["P6"], ["P9"]]


def test_two_patients_with_one_id_in_two_openings_are_warned_of_once_and_while_both_are_open():
    studies = Studies()
    studies.add(group([a_slice(1)], []))
    assert studies.all[0].warnings == ()
    twin = a_slice(1, "/b", StudyInstanceUID="2", PatientName="Roe^Richard")
    studies.add(group([twin], []))
    studies.add(group([twin], []))
    assert [len(study.warnings) for study in studies.all] == [1, 1]
    assert "same Patient ID" in studies.all[0].warnings[0]
    studies.close(studies.all[1].key)
    assert studies.all[0].warnings == ()


def test_copies_of_open_images_are_not_listed_again_and_the_scan_is_who_tells_them():
    studies = Studies()
    studies.add(group([a_slice(1)], []))
    for _ in range(2):
        studies.add(group([a_slice(1, "/copy")], []))
    assert [item.path for part in studies.instances() for item in part] == [Path("/a/1.dcm")]
    assert studies.problems == ()


def test_another_image_under_an_open_ones_uid_is_listed_and_told_once():
    studies = Studies()
    studies.add(group([a_slice(1)], []))
    for _ in range(2):
        studies.add(group([a_slice(1, "/b", ContentDigest="7")], []))
    assert [item.path.parent.name for part in studies.instances() for item in part] == ["a", "b"]
    (problem,) = studies.problems
    assert (problem.path, "another image" in problem.reason) == (Path("/b/1.dcm"), True)


def test_an_image_is_told_from_another_with_its_uid_by_its_file():
    first = a_slice(1)
    second = Instance(
        Path("/b/1.dcm"), first.sop_instance_uid, "dicom", 4, 4,
        attributes={**first.attributes, "SeriesInstanceUID": "1.2"}, size_bytes=9,
    )  # fmt: skip
    studies = Studies()
    studies.add(group([first, second], []))
    for instance in (first, second):
        series = studies.series_of(instance)
        assert series is not None
        assert series.uid == instance.get("SeriesInstanceUID")
        found = studies.place_of(instance)
        assert found is not None
        assert found[0].instances[found[1]].path == instance.path
    stranger = Instance(Path("/c"), first.sop_instance_uid, "dicom", 4, 4)
    assert studies.series_of(stranger) is None
    assert studies.with_uid(first.sop_instance_uid)
    assert studies.with_uid("none") is None
    assert studies.with_uid("none") is None


def test_the_shown_image_keeps_its_place_when_a_scan_learns_more_about_it():
    """What is shown is from the scan's beginning; its series has a newer entry of the same file."""
    workspace = Workspace()
    early = a_slice(2)
    workspace.add(group([early, a_slice(1)], []))
    workspace.viewport.show(early)
    later = replace(early, note="it has the same SOP Instance UID as another")
    workspace.add(group([a_slice(1), later, a_slice(3)], []), show=False)
    found = workspace.studies.place_of(early)
    assert found is not None
    assert found[0].instances[found[1]] is later
    assert workspace.next_instance(1) is not None


class Counted(tuple[Instance, ...]):
    """Instances that count how often someone walks through them."""

    walks = 0

    def __iter__(self) -> Iterator[Instance]:
        Counted.walks += 1
        return super().__iter__()


def test_looking_up_an_image_does_not_walk_through_all_the_others():
    images = Counted(an_instance(f"i{number}", number) for number in range(100))
    studies = Studies()
    studies.add(ScanResult((Study("1", "", "", "", "", (Series("s", "", "CR", 1, images),)),), ()))
    plain = tuple(images)
    assert studies.with_uid(plain[0].sop_instance_uid) is plain[0]
    assert studies.series_of(plain[0]) is not None
    before = Counted.walks
    for image in plain:
        assert studies.series_of(image) is not None
        assert studies.study_of(image) is not None
        assert studies.with_uid(image.sop_instance_uid)
        assert studies.with_uid(image.sop_instance_uid) is image
    assert Counted.walks == before


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


def test_a_picture_that_is_shown_again_without_its_source_stays_beside_its_own_study(
    tmp_path: Path,
):
    workspace = Workspace()
    a, b = an_instance("a"), an_instance("b")
    workspace.add(ScanResult((a_study("1", a), a_study("2", b)), ()))
    prior = Artifact(tmp_path / "prior.png", role="show", source=ImageRef("a", 0, "00"))
    workspace.take_results("chest_xray_compare", (), (prior,))
    workspace.viewport.show(b)
    workspace.take_results("image_visualizer", (), (Artifact(prior.path, role="show"),))
    assert workspace.panes.all == (), "another patient's picture beside this one"
    workspace.viewport.show(a)
    assert [pane.path for pane in workspace.panes.all] == [prior.path]


def test_a_pane_names_the_patient_of_the_prior_it_shows_not_of_the_image_beside_it(tmp_path: Path):
    workspace = Workspace()
    a, b = an_instance("a"), an_instance("b")
    workspace.add(ScanResult((a_study("1", a), a_study("2", b)), ()))
    options = {"shows": "b", "sides": ["R", "L", "H", "F"]}
    prior = Artifact(tmp_path / "p.png", "show", source=ImageRef("a", 0, "00"), options=options)
    workspace.take_results("chest_xray_compare", (), (prior,))
    (pane,) = workspace.panes.all
    assert pane.instance is b
    assert pane.sides == ("R", "L", "H", "F")
    again = Artifact(prior.path, "show", "Again", options={"cmap": "rgb"})
    workspace.take_results("image_visualizer", (), (again,))
    (pane,) = workspace.panes.all
    assert (pane.title, pane.instance, pane.sides) == ("Again", b, ("R", "L", "H", "F"))


def test_a_pane_of_unknown_source_names_no_patient(tmp_path: Path):
    workspace = Workspace()
    workspace.add(ScanResult((a_study("1", an_instance("a")),), ()))
    workspace.take_results("generator", (), (Artifact(tmp_path / "made.png", "show"),))
    (pane,) = workspace.panes.all
    assert pane.instance is None
    assert pane.sides == ("", "", "", "")


def test_nothing_is_kept_of_a_study_whose_key_changed_while_it_was_open():
    """Two patients with one Study Instance UID: the key of the first tells them apart from then on.

    When the second is closed, the first has its old key again.
    """
    studies = Studies()
    first, second = a_slice(1), a_slice(2, "/b", PatientID="P2", PatientName="Roe^Dick")
    for order in ((first, second), (second, first)):
        for one in order:
            studies.add(group([one], []))
            assert all(studies.study_of(other) for other in order[: order.index(one) + 1])
        assert len(studies.all) == 2
        assert studies._tables.keys() == {key_of(study) for study in studies.all}
        while studies.all:
            studies.close(key_of(studies.all[0]))
            for study in studies.all:
                assert studies.study_of(study.series[0].instances[0]) is study
        assert not studies._tables
