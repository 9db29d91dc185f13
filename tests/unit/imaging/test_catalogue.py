"""From files to studies: nothing vanishes, and the order is the anatomical one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from app.imaging.catalogue import group, in_order
from app.imaging.decode import Decoder
from app.imaging.listing import list_files, natural_key
from app.imaging.types import Instance
from tests.unit.imaging.files import make_dicom, png_bytes


def instance(name: str, number: int = 0, **attributes: str) -> Instance:
    attributes.setdefault("StudyInstanceUID", "1")
    attributes.setdefault("SeriesInstanceUID", "1.1")
    return Instance(Path(name), name, "dicom", 4, 4, number=number, attributes=attributes)


def names(instances: list[Instance]) -> list[str]:
    return [one.path.name for one in instances]


def test_instance_numbers_order_a_series():
    assert names(in_order([instance("a", 10), instance("b", 9), instance("c", 1)])) == [
        "c",
        "b",
        "a",
    ]


def test_without_numbers_the_position_along_the_normal_orders():
    def slice_at(name: str, z: float) -> Instance:
        return instance(
            name,
            ImagePositionPatient=f"0\\0\\{z}",
            ImageOrientationPatient="1\\0\\0\\0\\1\\0",
        )

    assert names(in_order([slice_at("a", 5), slice_at("b", -5), slice_at("c", 0)])) == [
        "b",
        "c",
        "a",
    ]


def test_without_either_names_order_as_people_count():
    assert names(in_order([instance("im10"), instance("im2"), instance("im1")])) == [
        "im1",
        "im2",
        "im10",
    ]
    assert natural_key("a10") > natural_key("a9")


def test_series_and_studies_are_kept_apart_by_their_uids():
    result = group(
        [
            instance("a", StudyInstanceUID="1", SeriesInstanceUID="1.2", SeriesNumber="2"),
            instance("b", StudyInstanceUID="1", SeriesInstanceUID="1.1", SeriesNumber="1"),
            instance("c", StudyInstanceUID="2", SeriesInstanceUID="2.1"),
        ],
        [],
    )
    assert [study.uid for study in result.studies] == ["1", "2"]
    assert [series.uid for series in result.studies[0].series] == ["1.1", "1.2"]


def test_an_image_that_is_there_twice_is_listed_once_and_reported():
    twin = Instance(Path("b"), "a", "dicom", 4, 4)
    result = group([instance("a"), twin], [])
    assert len(result.studies[0].series[0].instances) == 1
    (problem,) = result.problems
    assert (problem.path, "same SOP Instance UID" in problem.reason) == (Path("b"), True)


def test_two_patients_in_one_study_are_not_merged_silently():
    result = group([instance("a", PatientID="P1"), instance("b", PatientID="P2")], [])
    assert "more than one patient" in result.problems[0].reason


def test_a_study_without_a_description_is_named_by_modality_and_body_part():
    result = group([instance("a", Modality="CR", BodyPartExamined="CHEST")], [])
    assert result.studies[0].title == "CR Chest"


def test_folders_are_walked_to_their_depths_whatever_the_files_are_called(
    decoder: Decoder, tmp_path: Path
):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    make_dicom(deep / "no_extension", SOPInstanceUID="1.5")
    make_dicom(tmp_path / "a" / "x.dcm", SOPInstanceUID="1.6")
    (tmp_path / "picture").write_bytes(png_bytes(np.zeros((4, 4), np.uint8)))
    (tmp_path / ".DS_Store").write_bytes(b"junk")
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    result = decoder.scan([tmp_path]).result(60)
    found = {i.path.name for study in result.studies for s in study.series for i in s.instances}
    assert found == {"no_extension", "x.dcm", "picture"}
    assert [problem.path.name for problem in result.problems] == ["notes.txt"]


def test_a_file_named_twice_is_read_once(decoder: Decoder, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm")
    result = decoder.scan([path, path, tmp_path]).result(60)
    assert len(result.studies) == 1
    assert result.problems == ()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_to_a_folder_is_not_followed(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    make_dicom(tmp_path / "sub" / "a.dcm")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    files, problems = list_files([tmp_path])
    assert [path.name for path in files] == ["a.dcm"]
    assert [problem.path.name for problem in problems] == ["loop"]


def test_pictures_of_a_folder_form_a_study_in_natural_order(decoder: Decoder, tmp_path: Path):
    for number in (10, 2, 1):
        pixels = np.full((4, 4), number, np.uint8)
        (tmp_path / f"im{number}.png").write_bytes(png_bytes(pixels))
    (study,) = decoder.scan([tmp_path]).result(60).studies
    assert study.title == tmp_path.name
    assert names(list(study.series[0].instances)) == ["im1.png", "im2.png", "im10.png"]
