"""Microscopy annotations over slides: each shape where the file puts it.

Witness: highdicom, which reads the coordinates as the file counts them (0, 0 is a corner there, the
first pixel's centre here).
"""

from __future__ import annotations

import shutil
import subprocess
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import highdicom
import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.uid import generate_uid

from app.imaging.decode import Decoder
from app.imaging.findings import Point, Polygon, Polyline
from app.imaging.layers import LayerFrame
from app.imaging.objects.layer_reading import read_layer
from app.imaging.reading.image_entries import read_instance
from app.imaging.types import Content, Instance
from tests.unit.imaging.files import item, make_dicom
from tests.unit.imaging.layer_files import ANNOTATIONS, drawn

SLIDE_UID = "1.2.826.0.1.3680043.9.7433.3.12857516184849951143044513877282227"


def whole(slide: Path) -> Instance:
    """A level of a slide as one image: as it is listed."""
    found = read_instance(slide)
    assert (found.rows, found.columns, found.frames) == (50, 50, 1)
    return found


def tiles(slide: Path) -> Instance:
    """Its 25 tiles as frames of their own: as a level too large to be opened."""
    return replace(read_instance(slide), rows=10, columns=10, frames=25)


@pytest.fixture
def slide(shared_data: Path) -> Path:
    return shared_data / "dicom" / "objects" / "sm_image.dcm"


def group(number: int, graphic: str, shapes: list[Any], **over: Any) -> Dataset:
    """An annotation group; `shapes` are [n, 2] or [n, 3] points each, stored as doubles."""
    points = np.concatenate([np.atleast_2d(shape) for shape in shapes]).astype(float)
    one = item(
        AnnotationGroupNumber=number,
        AnnotationGroupLabel=f"group {number}",
        GraphicType=graphic,
        NumberOfAnnotations=len(shapes),
        DoublePointCoordinatesData=points.astype("<f8").tobytes(),
    )
    if graphic in ("POLYGON", "POLYLINE"):
        lengths = [np.atleast_2d(shape).size for shape in shapes]
        firsts = np.cumsum([1, *lengths[:-1]]).astype("<u4")
        one.LongPrimitivePointIndexList = firsts.tobytes()
    for keyword, value in over.items():
        if value is None:
            del one[keyword]
        else:
            setattr(one, keyword, value)
    return one


def make_annotations(path: Path, groups: list[Dataset], **over: Any) -> Path:
    elements: dict[str, Any] = {
        "SOPClassUID": ANNOTATIONS,
        "SOPInstanceUID": generate_uid(),
        "PatientID": "AA01",
        "Modality": "ANN",
        "Rows": None,
        "Columns": None,
        "PixelData": None,
        "AnnotationCoordinateType": "2D",
        "PixelOriginInterpretation": "VOLUME",
        "ReferencedImageSequence": [item(ReferencedSOPInstanceUID=SLIDE_UID)],
        "AnnotationGroupSequence": groups,
    }
    return make_dicom(path, **(elements | over))


def points_of(frame: LayerFrame) -> list[Any]:
    found: list[Any] = []
    for shape in frame.shapes:
        geometry = shape.geometry
        if isinstance(geometry, Point):
            found.append([(geometry.x, geometry.y)])
        else:
            assert isinstance(geometry, Polygon | Polyline)
            found.append(list(geometry.points))
    return found


def test_the_nuclei_of_the_sample_as_highdicom_reads_them(shared_data: Path, slide: Path):
    path = shared_data / "dicom" / "objects" / "sm_annotations.dcm"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = highdicom.ann.annread(path).get_annotation_group(number=1)
    expected = np.concatenate(truth.get_graphic_data("2D")) - 0.5
    frame = drawn(path, whole(slide))
    np.testing.assert_allclose(np.concatenate(points_of(frame)), expected)
    assert all(shape.by_reference and shape.item == 1 for shape in frame.shapes)
    assert frame.warnings == ()
    (nuclei,) = read_layer(read_instance(path)).items
    assert nuclei.label == truth.label == "nuclei"
    assert nuclei.detail == "Anatomical Stucture: Nucleus. Made: manual"


def test_each_kind_of_shape(tmp_path: Path, slide: Path):
    box = [(10, 10), (20, 10), (20, 16), (10, 16)]
    triangle = [(1, 1), (5, 1), (5, 4)]
    path = make_annotations(
        tmp_path / "a.dcm",
        [
            group(1, "POINT", [(3, 4), (5.5, 6.25)]),
            group(2, "POLYLINE", [triangle, [(7, 7), (8, 9)]]),
            group(3, "POLYGON", [triangle, [(7, 7), (8, 9), (9, 7), (8, 6)]]),
            group(4, "RECTANGLE", [box]),
            group(5, "ELLIPSE", [[(10, 20), (30, 20), (20, 15), (20, 25)]]),
        ],
    )
    frame = drawn(path, whole(slide))
    points = points_of(frame)
    assert points[:2] == [[(2.5, 3.5)], [(5.0, 5.75)]]
    assert [type(shape.geometry) for shape in frame.shapes] == [
        *[Point] * 2,
        *[Polyline] * 2,
        *[Polygon] * 4,
    ]
    assert points[3] == [(6.5, 6.5), (7.5, 8.5)]
    np.testing.assert_allclose(points[4], np.array(triangle) - 0.5)
    assert len(points[5]) == 4
    np.testing.assert_allclose(points[6], np.array(box) - 0.5)
    ellipse = np.array(points[7]) - (19.5, 19.5)
    np.testing.assert_allclose((ellipse[:, 0] / 10) ** 2 + (ellipse[:, 1] / 5) ** 2, 1)
    assert [shape.item for shape in frame.shapes] == [1, 1, 2, 2, 3, 3, 4, 5]


def test_single_floats(tmp_path: Path, slide: Path):
    floats = np.array([[3, 4], [5.5, 6.25]]).astype("<f4").tobytes()
    one = group(1, "POINT", [(0, 0)], DoublePointCoordinatesData=None, PointCoordinatesData=floats)
    path = make_annotations(tmp_path / "a.dcm", [one])
    assert points_of(drawn(path, whole(slide))) == [[(2.5, 3.5)], [(5.0, 5.75)]]


def test_a_big_endian_file_as_dcmtk_writes_it(tmp_path: Path, slide: Path):
    dcmconv = shutil.which("dcmconv")
    if dcmconv is None:
        pytest.skip("dcmtk is not installed")
    shapes = [[(1, 1), (5, 1), (5, 4)], [(7, 7), (8, 9)]]
    little = make_annotations(tmp_path / "a.dcm", [group(1, "POLYLINE", shapes)])
    big = tmp_path / "b.dcm"
    subprocess.run([dcmconv, "+tb", little, big], check=True)
    expected = points_of(drawn(little, whole(slide)))
    assert expected[0] == [(0.5, 0.5), (4.5, 0.5), (4.5, 3.5)]
    assert points_of(drawn(big, whole(slide))) == expected


def test_on_tiles_by_themselves_each_has_its_own_part(tmp_path: Path, slide: Path):
    path = make_annotations(tmp_path / "a.dcm", [group(1, "POINT", [(3, 4), (33, 14)])])
    found = {index: points_of(drawn(path, tiles(slide), index)) for index in range(25)}
    assert {index: points for index, points in found.items() if points} == {
        0: [[(2.5, 3.5)]],
        8: [[(2.5, 3.5)]],  # second row of tiles, fourth column: 33 - 30, 14 - 10
    }


def test_coordinates_of_one_frame(tmp_path: Path, slide: Path):
    path = make_annotations(
        tmp_path / "a.dcm",
        [group(1, "POINT", [(3, 4)])],
        PixelOriginInterpretation="FRAME",
        ReferencedImageSequence=[item(ReferencedSOPInstanceUID=SLIDE_UID, ReferencedFrameNumber=9)],
    )
    assert points_of(drawn(path, whole(slide))) == [[(32.5, 13.5)]]
    assert points_of(drawn(path, tiles(slide), 8)) == [[(2.5, 3.5)]]
    assert points_of(drawn(path, tiles(slide), 0)) == []


@pytest.mark.parametrize("common_z", [True, False])
def test_millimetres_on_the_slide_as_highdicom_maps_them(
    tmp_path: Path, slide: Path, common_z: bool
):
    image = pydicom.dcmread(slide)
    origin = image.TotalPixelMatrixOriginSequence[0]
    position = (
        origin.XOffsetInSlideCoordinateSystem,
        origin.YOffsetInSlideCoordinateSystem,
        float(origin.get("ZOffsetInSlideCoordinateSystem", 0)),
    )
    measures = image.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
    mapping = highdicom.spatial.ImageToReferenceTransformer(
        image_position=position,
        image_orientation=image.ImageOrientationSlide,
        pixel_spacing=measures.PixelSpacing,
    )
    wanted = np.array([[3.0, 4.0], [25.5, 40.25]])
    mm = mapping(wanted)
    one = group(1, "POINT", list(mm[:, :2] if common_z else mm))
    if common_z:
        one.CommonZCoordinateValue = float(mm[0, 2])
    path = make_annotations(
        tmp_path / "a.dcm",
        [one],
        AnnotationCoordinateType="3D",
        PixelOriginInterpretation=None,
        FrameOfReferenceUID=image.FrameOfReferenceUID,
        ReferencedImageSequence=None,
    )
    frame = drawn(path, whole(slide))
    np.testing.assert_allclose(np.concatenate(points_of(frame)), wanted - 0.5, atol=1e-6)
    assert not any(shape.by_reference for shape in frame.shapes)


@pytest.mark.parametrize(
    "over",
    [
        {"ReferencedImageSequence": [item(ReferencedSOPInstanceUID="1.2.9")]},
        {"AnnotationCoordinateType": "3D", "FrameOfReferenceUID": "1.2.9"},
        {"PatientID": "somebody else"},
        {
            "ReferencedImageSequence": [
                item(ReferencedSOPInstanceUID=SLIDE_UID),
                item(ReferencedSOPInstanceUID="1.2.9"),
            ]
        },
    ],
)
def test_nothing_is_drawn_on_another_image(tmp_path: Path, slide: Path, over: dict[str, Any]):
    path = make_annotations(tmp_path / "a.dcm", [group(1, "POINT", [(3, 4, 0)])], **over)
    assert drawn(path, whole(slide)).shapes == ()


def test_what_is_damaged_is_told_and_the_rest_drawn(tmp_path: Path, slide: Path):
    triangle = [(1, 1), (5, 1), (5, 4)]
    index = np.array([1, 99], "<u4").tobytes()
    backwards = np.array([7, 1], "<u4").tobytes()
    groups = [
        group(1, "POINT", [(3, 4), (np.nan, 1)]),
        group(2, "POINT", [(3, 4)], DoublePointCoordinatesData=b"\0" * 12),
        group(3, "POLYGON", [triangle], LongPrimitivePointIndexList=index),
        group(4, "POLYGON", [triangle, triangle], LongPrimitivePointIndexList=backwards),
        group(5, "POLYGON", [triangle], LongPrimitivePointIndexList=None),
        group(6, "RECTANGLE", [triangle]),
        group(7, "BLOB", [(3, 4)]),
        group(8, "POINT", [(3, 4)], DoublePointCoordinatesData=None),
        group(9, "POINT", [(3, 4), (300, 4)]),
    ]
    path = make_annotations(tmp_path / "a.dcm", groups)
    frame = drawn(path, whole(slide))
    assert [shape.item for shape in frame.shapes] == [9]
    for number in range(1, 9):
        assert sum(f"group {number}:" in text for text in frame.warnings) == 1
    assert "1 shapes lie outside the image: not drawn" in frame.warnings
    layer = read_layer(read_instance(path))
    assert len(layer.items) == 9
    assert layer.warnings == ("group 7: its kind of shape is unknown; not drawn",)


def test_ten_thousand_polygons_through_the_worker(tmp_path: Path, slide: Path, decoder: Decoder):
    rng = np.random.default_rng(3)
    centres = rng.uniform(2, 48, (10_000, 1, 2))
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    path = make_annotations(tmp_path / "a.dcm", [group(1, "POLYGON", list(centres + ring))])
    instance = read_instance(path)
    assert instance.content is Content.STRUCTURES
    start = time.perf_counter()
    frame = decoder.layer_frame(instance, whole(slide), 0).result(60)
    assert time.perf_counter() - start < 30
    assert len(frame.shapes) == 10_000
    last = points_of(frame)[-1]
    np.testing.assert_allclose(last, centres[-1] + ring - 0.5)


def test_more_shapes_than_can_be_drawn_are_told(
    tmp_path: Path, slide: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.imaging.objects.layer_reading.MAX_SHAPES", 3)
    path = make_annotations(tmp_path / "a.dcm", [group(1, "POINT", [(3, 4)] * 5)])
    frame = drawn(path, whole(slide))
    assert len(frame.shapes) == 3
    assert frame.warnings == ("only the first 3 shapes are drawn",)
