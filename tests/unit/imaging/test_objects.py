"""Every DICOM object is listed with what it is; which of them draw over an image."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom._uid_dict import UID_dictionary
from pydicom.data import get_testdata_file
from pydicom.uid import UID, generate_uid

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.findings import Mask
from app.imaging.layers import layers_for
from app.imaging.reading.dicom_objects import content_of_class, is_image_class, object_words
from app.imaging.reading.image_entries import read_instance
from app.imaging.types import Content, Instance
from tests.unit.imaging.files import item, make_dicom
from tests.unit.imaging.layer_files import SPACE, frame_group, make_seg, make_slice

NO_PIXELS: dict[str, Any] = {"Rows": None, "Columns": None, "PixelData": None}
STORED = "1.2.840.10008.5.1.4.1.1."


def listed(path: Path, sop_class: str | None, **elements: Any) -> Instance:
    return read_instance(make_dicom(path, SOPClassUID=sop_class, **(NO_PIXELS | elements)))


@pytest.mark.parametrize(
    ("sop_class", "content"),
    [
        ("66.4", Content.SEGMENTATION),
        ("66.7", Content.SEGMENTATION),
        ("481.3", Content.STRUCTURES),
        ("91.1", Content.STRUCTURES),
        ("11.1", Content.PRESENTATION),
        ("11.12", Content.PRESENTATION),
        ("88.59", Content.KEY_OBJECTS),
        ("88.11", Content.REPORT),
        ("88.67", Content.REPORT),
        ("79.1", Content.REPORT),
        ("104.1", Content.DOCUMENT),
        ("9.1.1", Content.WAVEFORM),
        ("9.7.1", Content.WAVEFORM),
        ("66", Content.OTHER),
        ("66.1", Content.OTHER),
        ("481.5", Content.OTHER),
        ("104.3", Content.OTHER),
        ("2", Content.IMAGE),
        ("1.1", Content.IMAGE),
        ("30", Content.IMAGE),
        ("128.1", Content.IMAGE),
        ("77.1.6", Content.IMAGE),
    ],
)
def test_what_an_object_holds_is_told_by_its_sop_class(sop_class: str, content: Content):
    assert content_of_class(STORED + sop_class, has_pixels=False, has_rows=False) is content


def test_every_storage_class_of_the_standard_has_a_place_and_those_only_listed_have_words():
    storage = [
        uid
        for uid, (name, kind, *_) in UID_dictionary.items()
        if kind == "SOP Class" and "Storage" in name and uid.startswith("1.2.840.10008.5.1.4.")
    ]
    assert len(storage) > 150
    for uid in storage:
        content = content_of_class(uid, has_pixels=False, has_rows=False)
        name = UID(uid).name
        assert (content is Content.IMAGE) == is_image_class(uid)
        if "Image Storage" in name:
            assert content is Content.IMAGE, name
        if content is Content.OTHER:
            words = object_words(uid)
            assert words.endswith(": not displayable")
            assert "Storage" not in words
            assert uid not in words


@pytest.mark.parametrize(
    ("sop_class", "words"),
    [
        (STORED + "481.5", "RT Plan: not displayable"),
        (STORED + "66", "Raw data of a scanner: not displayable"),
        (STORED + "4.2", "MR spectroscopy (spectra, no image): not displayable"),
        ("1.3.12.2.1107.5.9.1", "Siemens private data (CSA non-image): not displayable"),
        ("1.2.3.4.5", "unknown kind (SOP Class 1.2.3.4.5): not displayable"),
    ],
)
def test_what_cannot_be_shown_is_listed_with_its_name(tmp_path: Path, sop_class: str, words: str):
    instance = listed(tmp_path / "a.dcm", sop_class)
    assert instance.content is Content.OTHER
    assert words in instance.note
    assert not instance.has_frames
    assert (instance.rows, instance.columns, instance.frames) == (0, 0, 1)


def test_spectroscopy_has_rows_but_is_no_image(tmp_path: Path):
    path = tmp_path / "a.dcm"
    assert listed(path, STORED + "4.2", Rows=16, Columns=16).content is Content.OTHER


def test_a_private_class_with_pixels_is_an_image(tmp_path: Path):
    instance = read_instance(make_dicom(tmp_path / "a.dcm", SOPClassUID="1.2.3.4.5"))
    assert instance.content is Content.IMAGE
    assert instance.note == ""


def test_an_image_without_its_pixels_is_a_damaged_file_not_another_kind_of_object(tmp_path: Path):
    for elements in ({"Rows": 3, "Columns": 4}, {}):
        with pytest.raises(FileProblem, match="it contains no pixels"):
            listed(tmp_path / "a.dcm", STORED + "2", **elements)


def test_a_report_has_the_name_of_its_class_where_its_series_has_none(tmp_path: Path):
    instance = listed(tmp_path / "a.dcm", STORED + "88.33")
    assert instance.get("SeriesDescription") == "Comprehensive SR"


def test_references_are_images_in_the_files_order_each_once(tmp_path: Path):
    def names(*uids: str) -> list[pydicom.Dataset]:
        return [item(ReferencedSOPInstanceUID=uid) for uid in uids]

    instance = listed(
        tmp_path / "a.dcm",
        STORED + "88.59",
        ReferencedStudySequence=names("1.1"),
        ReferencedPerformedProcedureStepSequence=names("1.2"),
        CurrentRequestedProcedureEvidenceSequence=[
            item(ReferencedSeriesSequence=[item(ReferencedSOPSequence=names("2.9", "2.1", "2.9"))])
        ],
        ContentSequence=[item(ReferencedSOPSequence=names("2.5"))],
    )
    assert tuple(instance.references) == ("2.9", "2.1", "2.5")


def test_a_damaged_element_does_not_hide_the_references(tmp_path: Path):
    path = tmp_path / "a.dcm"
    before = item(ReferencedSOPInstanceUID="2.1")
    after = item(ReferencedSOPInstanceUID="2.2")
    listed(
        path,
        STORED + "66.1",
        SourceImageSequence=[before],
        ReferencedImageSequence=[after],
        OtherPatientIDsSequence=[item(PatientID="x")],
    )
    tag = b"\x10\x00\x02\x10SQ"
    data = path.read_bytes()
    assert data.count(tag) == 1
    path.write_bytes(data.replace(tag, tag[:4] + b"S\x01"))
    assert tuple(read_instance(path).references) == ("2.2", "2.1")


def test_the_study_that_a_structure_set_names_is_no_image(tmp_path: Path):
    series = item(ContourImageSequence=[item(ReferencedSOPInstanceUID="2.1")])
    study = item(ReferencedSOPInstanceUID="1.1", RTReferencedSeriesSequence=[series])
    frame = item(FrameOfReferenceUID="3.1", RTReferencedStudySequence=[study])
    instance = listed(
        tmp_path / "a.dcm", STORED + "481.3", ReferencedFrameOfReferenceSequence=[frame]
    )
    assert tuple(instance.references) == ("2.1",)
    assert instance.get("FrameOfReferenceUID") == "3.1"


@pytest.mark.slow
def test_a_segmentation_of_thousands_of_frames_is_listed_quickly_and_completely(tmp_path: Path):
    uids = [f"1.2.{number}" for number in range(3000)]
    groups = [frame_group(1, (0, 0, n), [(uid, None)]) for n, uid in enumerate(uids)]
    frames = np.zeros((3000, 2, 2), np.uint8)
    images = [item(ReferencedSOPInstanceUID=uid) for uid in uids]
    series = [item(SeriesInstanceUID="1.2", ReferencedInstanceSequence=images)]
    summed_up = make_seg(tmp_path / "a.dcm", frames, groups, ReferencedSeriesSequence=series)
    not_summed_up = make_seg(tmp_path / "b.dcm", frames, groups)
    for path in (summed_up, not_summed_up):
        start = time.perf_counter()
        assert tuple(read_instance(path).references) == tuple(uids)
        assert time.perf_counter() - start < 10  # quadratic work would take minutes


def test_which_objects_may_draw_over_an_image(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm"))
    frames = np.zeros((1, 10, 12), np.uint8)

    def seg(name: str, uid: str | None, **over: Any) -> Instance:
        group = frame_group(1, (0, 0, 0), [(uid, None)] if uid else None)
        return read_instance(make_seg(tmp_path / f"{name}.dcm", frames, [group], **over))

    other_uid = generate_uid()
    naming = seg("naming", image.sop_instance_uid)
    same_space = seg("space", other_uid)
    objects = [
        same_space,
        seg("elsewhere", other_uid, FrameOfReferenceUID="9.9"),
        seg("nowhere", None, FrameOfReferenceUID=None),
        seg("stranger", image.sop_instance_uid, PatientID="P2"),
        seg("other study", other_uid, StudyInstanceUID="7.7", PatientID=None),
        image,
        naming,
    ]
    assert layers_for(image, objects) == [naming, same_space]
    assert same_space.get("FrameOfReferenceUID") == SPACE


def test_through_the_worker_processes(decoder: Decoder, shared_data: Path):
    folder = shared_data / "dicom" / "objects"
    names = ("ct-3slice", "ct-3slice-liver-seg.dcm", "sm_annotations.dcm")
    paths = [folder / name for name in names]
    found = decoder.scan(paths).result(60)
    every = [one for study in found.studies for series in study.series for one in series.instances]
    segmentation = next(one for one in every if one.content is Content.SEGMENTATION)
    annotations = next(one for one in every if one.content is Content.STRUCTURES)
    images = [one for one in every if one.is_image]
    assert layers_for(images[0], every) == [segmentation]
    layer = decoder.layer(segmentation).result(60)
    assert [(one.number, one.label) for one in layer.items] == [(1, "Liver")]
    for image in images:
        frame = decoder.layer_frame(segmentation, image, 0).result(60)
        (shape,) = frame.shapes
        assert isinstance(shape.geometry, Mask)
        assert shape.geometry.pixels.shape == (image.rows, image.columns)
        assert shape.by_reference
    assert decoder.layer(annotations).result(60).items[0].label == "nuclei"
    assert decoder.layer_frame(annotations, images[0], 0).result(60).shapes == ()
    with pytest.raises(FileProblem, match="draws nothing"):
        decoder.layer(images[0]).result(60)
    with pytest.raises(FileProblem, match="no frame 2"):
        decoder.layer_frame(segmentation, images[0], 1).result(60)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("priv_SQ.dcm", "MR Image whose header is not complete: not displayable"),
        ("UN_sequence.dcm", "CT Image whose header is not complete: not displayable"),
        ("no_meta_group_length.dcm", "RT Image whose header is not complete: not displayable"),
        ("nested_priv_SQ.dcm", "A DICOM object that does not say what it is: not displayable"),
        (
            "meta_missing_tsyntax.dcm",
            "A DICOM object that does not say what it is: not displayable",
        ),
    ],
)
def test_a_dicom_file_without_sop_class_and_matrix_is_listed_by_the_best_name(
    name: str, words: str
):
    found = read_instance(Path(str(get_testdata_file(name))))
    assert (found.content, found.note) == (Content.OTHER, words)


def test_the_prefix_alone_makes_no_dicom_object(tmp_path: Path):
    path = tmp_path / "a.dcm"
    path.write_bytes(bytes(128) + b"DICM" + b"\x99\x77\x01\x00LO\x04\x00text" * 8)
    with pytest.raises(FileProblem, match="not a DICOM file"):
        read_instance(path)
