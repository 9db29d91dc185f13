"""From files to studies: nothing vanishes, and the order is the anatomical one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.imaging.decode import Decoder
from app.imaging.files.natural_order import natural_key
from app.imaging.studies.catalogue import Catalogue, group
from app.imaging.studies.ordering import display_order
from app.imaging.types import Content, Instance
from tests.unit.imaging.files import list_files, make_dicom, png_bytes


def instance(name: str, number: int = 0, /, **attributes: str) -> Instance:
    attributes.setdefault("StudyInstanceUID", "1")
    attributes.setdefault("SeriesInstanceUID", "1.1")
    return Instance(Path(name), name, "dicom", 4, 4, number=number, attributes=attributes)


def names(instances: list[Instance]) -> list[str]:
    return [one.path.name for one in instances]


def test_instance_numbers_order_what_has_no_position():
    assert names(display_order([instance("a", 10), instance("b", 9), instance("c", 1)])[0]) == [
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

    assert names(display_order([slice_at("a", 5), slice_at("b", -5), slice_at("c", 0)])[0]) == [
        "b",
        "c",
        "a",
    ]


def test_without_either_names_order_as_people_count():
    assert names(display_order([instance("im10"), instance("im2"), instance("im1")])[0]) == [
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


def test_a_copy_is_listed_once_and_reported():
    twin = replace(instance("a"), path=Path("b"))
    result = group([twin, instance("a")], [])
    (kept,) = result.studies[0].series[0].instances
    assert kept.path == Path("a")
    (problem,) = result.problems
    assert problem.path == Path("b")
    assert "copy of a" in problem.reason


def test_other_content_under_the_same_uid_is_listed_too_with_a_warning():
    other = replace(instance("a", ContentTime="1200"), path=Path("b"))
    result = group([other, instance("a")], [])
    first, second = result.studies[0].series[0].instances
    assert (first.note, "same SOP Instance UID as a" in second.note) == ("", True)
    assert "SOP Instance UID of another" in result.studies[0].series[0].warnings[0]
    assert len(result.problems) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"PatientID": "P2"},
        {"PatientName": "Roe^Richard"},
        {"PatientBirthDate": "19800102"},
        {"IssuerOfPatientID": "OTHER CLINIC"},
    ],
)
def test_two_patients_who_share_a_study_uid_are_two_studies(other: dict[str, str]):
    one = {
        "PatientID": "P1",
        "PatientName": "Doe^Jane",
        "PatientBirthDate": "19700101",
        "IssuerOfPatientID": "CLINIC",
    }
    studies = group([instance("a", **one), instance("b", **(one | other))], []).studies
    assert len(studies) == 2
    assert len({study.key for study in studies}) == 2
    assert {study.uid for study in studies} == {"1"}
    for study in studies:
        assert "another patient has the same Study Instance UID" in study.warnings[0]
        assert len(study.series[0].instances) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Doe^Jane", "DOE^JANE"),
        ("Doe^Jane", "Doe Jane"),
        ("Doe^Jane", "doe^jane^^^"),
        ("Doe^Jane", "Jane Doe"),
        ("Müller^Jörg", "MULLER^JORG"),
        ("Müller^Jörg", "Mueller^Joerg"),
        ("Sørensen^Åse", "SOERENSEN^AASE"),
        ("O'Neil^Pat", "ONEIL^PAT"),
        ("O’Neil^Pat", "O'Neil^Pat"),
        ("Doe^Jane", "Doe^Jane^Maria"),
        ("Yamada^Tarou=山田^太郎=やまだ^たろう", "山田^太郎"),
        ("Doe^Jane", ""),
    ],
)
def test_the_formatting_of_a_name_makes_no_second_patient(first: str, second: str):
    found = group(
        [
            instance("a", PatientID="P1", PatientName=first),
            instance("b", PatientID="p1 ", PatientName=second),
        ],
        [],
    )
    (study,) = found.studies
    assert study.warnings == ()
    assert len(study.series[0].instances) == 2


def test_a_file_that_names_no_patient_stays_alone_between_two():
    instances = [instance("a", PatientID="P1"), instance("b", PatientID="P2"), instance("c")]
    studies = group(instances, []).studies
    assert sorted(len(study.series[0].instances) for study in studies) == [1, 1, 1]
    (study,) = group([instance("a", PatientID="P1"), instance("c")], []).studies
    assert len(study.series[0].instances) == 2


def test_two_patients_who_share_a_patient_id_are_warned_of():
    found = group(
        [
            instance("a", StudyInstanceUID="1", PatientID="P1", PatientName="Doe^Jane"),
            instance("b", StudyInstanceUID="2", PatientID="P1", PatientName="Roe^Richard"),
            instance("c", StudyInstanceUID="3", PatientID="P3", PatientName="Poe^Edgar"),
        ],
        [],
    )
    warned = {study.uid: bool(study.warnings) for study in found.studies}
    assert warned == {"1": True, "2": True, "3": False}
    assert "same Patient ID" in found.studies[0].warnings[0]


def test_a_patient_whose_first_file_is_silent_is_compared_by_the_others():
    found = group(
        [
            instance("a", 1, StudyInstanceUID="1", SeriesNumber="1", PatientID="P1"),
            instance(
                "b", 1, StudyInstanceUID="1", SeriesInstanceUID="1.2", SeriesNumber="2",
                PatientID="P1", PatientName="Doe^Jane",
            ),
            instance("c", StudyInstanceUID="2", PatientID="P1", PatientName="Roe^Richard"),
        ],
        [],
    )  # fmt: skip
    assert [("same Patient ID" in str(study.warnings)) for study in found.studies] == [True, True]
    assert found.studies[0].patient == "Doe^Jane"


def test_a_growing_catalogue_builds_again_only_what_has_grown():
    catalogue = Catalogue()
    catalogue.add([instance("a", StudyInstanceUID="1"), instance("b", StudyInstanceUID="2")])
    assert {study.uid for study in catalogue.changed()} == {"1", "2"}
    untouched = catalogue.result().studies[0].series[0]
    catalogue.add([instance("c", StudyInstanceUID="2")])
    (grown,) = catalogue.changed()
    assert (grown.uid, len(grown.series[0].instances)) == ("2", 2)
    assert catalogue.changed() == ()
    assert catalogue.result().studies[0].series[0] is untouched


@given(order=st.permutations(range(12)))
def test_the_order_of_the_files_changes_nothing(order: list[int]):
    instances = [
        instance(
            f"im{n}",
            n % 5,
            StudyInstanceUID=str(n % 2),
            PatientID=f"P{n % 3}",
            SeriesInstanceUID=f"1.{n % 4}",
            ImageOrientationPatient="1\\0\\0\\0\\1\\0" if n % 4 else "",
            ImagePositionPatient=f"0\\0\\{n // 2}",
            Modality="CT",
        )
        for n in range(12)
    ]
    expected = group(instances, [])
    assert group([instances[n] for n in order], []) == expected
    copies = [replace(one, path=Path("z") / one.path.name) for one in instances]
    assert group([instances[n] for n in order] + copies, []).studies == expected.studies


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


def test_unrelated_pictures_of_a_folder_are_not_one_series_to_scroll_through(
    decoder: Decoder, tmp_path: Path
):
    """Two patients' films in one stack: the wheel would go from one to the other unnoticed."""
    square, wide = np.zeros((4, 4), np.uint8), np.zeros((4, 6), np.uint8)
    related = {"00013_000.png": square, "00013_001.png": square}
    files = related | {"00042_000.png": square, "normal.png": square}
    for number, (name, pixels) in enumerate(files.items()):
        (tmp_path / name).write_bytes(png_bytes(pixels + np.uint8(number)))
    (tmp_path / "00013_002.png").write_bytes(png_bytes(wide))
    (study,) = decoder.scan([tmp_path]).result(60).studies
    assert [names(list(one.instances)) for one in study.series] == [
        ["00013_000.png", "00013_001.png"],
        ["00013_002.png"],
        ["00042_000.png"],
        ["normal.png"],
    ]
    assert study.series[0].description == "00013_000.png to 00013_001.png"


def test_a_study_is_named_by_its_images_and_lists_what_has_no_number_after_them():
    """A segmentation and a selection of images have no series number: they are no examination."""
    ct = instance("ct", 1, Modality="CT", SeriesNumber="3", SeriesInstanceUID="1.1")
    scout = instance("scout", 1, Modality="CT", SeriesNumber="1", SeriesInstanceUID="1.4")
    bare = instance("bare", 1, Modality="CT", SeriesInstanceUID="1.5")
    others = [
        replace(
            instance(kind.value, 1, Modality=modality, SeriesInstanceUID=f"1.{20 + n}"),
            content=kind,
        )
        for n, (kind, modality) in enumerate(
            [(Content.SEGMENTATION, "SEG"), (Content.KEY_OBJECTS, "KO"), (Content.DOCUMENT, "DOC")]
        )
    ]
    described = replace(others[0], attributes={**others[0].attributes, "BodyPartExamined": "HEAD"})
    (study,) = group([described, *others[1:], bare, ct, scout], []).studies
    assert study.title == "CT"
    assert [one.instances[0].path.name for one in study.series] == [
        "scout", "ct", "bare", "segmentation", "key objects", "document",
    ]  # fmt: skip
    (only,) = group(others, []).studies
    assert only.title == "SEG KO DOC"


def test_a_study_is_described_by_whichever_series_does():
    (study,) = group(
        [
            instance("a", 1),
            instance(
                "b",
                2,
                SeriesInstanceUID="2",
                StudyDescription="Brain",
                StudyDate="20200102",
                PatientName="Doe",
            ),
        ],
        [],
    ).studies
    assert (study.title, study.date, study.patient) == ("Brain", "20200102", "Doe")


def test_two_exports_of_one_stack_that_differ_in_their_pixels_are_two_stacks_and_one_line():
    """As when a study is opened beside its processed copy, which kept all UIDs."""

    def slice_of(folder: str, z: int) -> Instance:
        one = instance(
            f"/{folder}/{z}",
            z + 1,
            Modality="CT",
            ImageOrientationPatient="1\\0\\0\\0\\1\\0",
            ImagePositionPatient=f"0\\0\\{z}",
            PixelSpacing="1\\1",
            ContentDigest=folder,
        )
        return replace(one, sop_instance_uid=f"1.1.{z}")

    result = group([slice_of(folder, z) for z in range(8) for folder in "ab"], [])
    (study,) = result.studies
    assert [len(one.instances) for one in study.series] == [8, 8]
    assert [one.order for one in study.series] == ["position along the normal"] * 2
    assert [one.instances[0].path.parent.name for one in study.series] == ["a", "b"]
    assert study.series[1].split == "with UIDs of other images"
    assert study.series[1].warnings == ("8 images have the SOP Instance UID of another one",)
    (problem,) = result.problems
    assert (problem.path, "other images" in problem.reason) == (Path("/b"), True)
