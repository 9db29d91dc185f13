"""RT structure sets over images: contours where they lie, holes as holes, nothing elsewhere.

Witnesses: SimpleITK's physical points, the matrix of PS3.3 C.7.6.2.1.1, and Pillow's polygons.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging.findings import Point, Polygon, Polyline
from app.imaging.layers import LayerFrame
from app.imaging.objects.layer_reading import read_layer
from app.imaging.reading.image_entries import read_instance
from tests.unit.imaging.files import item
from tests.unit.imaging.layer_files import contour, drawn, make_slice, make_structures

Array = NDArray[Any]


def square(x: float, y: float, size: float, z: float = 0.0) -> Array:
    corners = [(0, 0), (size, 0), (size, size), (0, size)]
    return np.array([(x + dx, y + dy, z) for dx, dy in corners])


def pixels_of(frame: LayerFrame) -> Array:
    (shape,) = frame.shapes
    assert isinstance(shape.geometry, Polygon | Polyline)
    return np.array(shape.geometry.points)


@settings(max_examples=25, deadline=None)
@given(
    turn=st.tuples(*[st.floats(-3, 3)] * 3),
    spacing=st.tuples(*[st.floats(0.2, 4)] * 2),
    origin=st.tuples(*[st.floats(-300, 300)] * 3),
)
def test_contours_of_any_plane_as_simpleitk_places_them(
    tmp_path_factory: pytest.TempPathFactory,
    turn: tuple[float, float, float],
    spacing: tuple[float, float],
    origin: tuple[float, float, float],
):
    folder = tmp_path_factory.mktemp("planes")
    euler = SimpleITK.Euler3DTransform()
    euler.SetRotation(*turn)
    axes = np.round(np.array(euler.GetMatrix()).reshape(3, 3), 9)
    texts: dict[str, Any] = {
        "ImagePositionPatient": [f"{v:.8f}" for v in origin],
        "ImageOrientationPatient": [f"{v:.9f}" for v in [*axes[:, 0], *axes[:, 1]]],
        "PixelSpacing": [f"{v:.8f}" for v in spacing],
    }
    image = make_slice(folder / "i.dcm", shape=(40, 50), **texts)
    grid = SimpleITK.Image(50, 40, 1, SimpleITK.sitkUInt8)
    grid.SetOrigin([float(v) for v in texts["ImagePositionPatient"]])
    row_mm, column_mm = (float(v) for v in texts["PixelSpacing"])
    grid.SetSpacing([column_mm, row_mm, 1.0])
    grid.SetDirection(axes.ravel().tolist())
    wanted = np.array([(3.25, 4.5), (20.0, 7.75), (12.5, 30.125)])
    points = np.array(
        [grid.TransformContinuousIndexToPhysicalPoint((x, y, 0.0)) for x, y in wanted.tolist()]
    )
    rounded = np.round(points, 6)
    expected = [grid.TransformPhysicalPointToContinuousIndex(p)[:2] for p in rounded.tolist()]
    structures = make_structures(folder / "s.dcm", {1: [contour(rounded)]})
    found = pixels_of(drawn(structures, image))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_the_matrix_of_the_standard_with_anisotropic_pixels(tmp_path: Path):
    # C.7.6.2.1.1: P = S + X * di * i + Y * dj * j, here with X = x, Y = y, di = 0.5, dj = 2.
    image = make_slice(tmp_path / "i.dcm")
    points = np.array([(-30 + 0.5 * i, 40 + 2.0 * j, 0) for i, j in [(1, 2), (9, 2), (5, 8)]])
    found = drawn(make_structures(tmp_path / "s.dcm", {4: [contour(points)]}), image)
    np.testing.assert_allclose(pixels_of(found), [(1, 2), (9, 2), (5, 8)], atol=1e-9)
    assert found.shapes[0].item == 4
    assert not found.shapes[0].by_reference
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("kind", "points", "expected"),
    [
        ("POINT", [(-30, 40, 0)], Point(0, 0)),
        ("OPEN_PLANAR", [(-30, 40, 0), (-29, 44, 0)], Polyline(((0, 0), (2, 2)))),
        ("CLOSED_PLANAR", [(-30, 40, 0)], Point(0, 0)),
        ("CLOSED_PLANAR", [(-30, 40, 0), (-29, 44, 0)], Polyline(((0, 0), (2, 2)))),
        (
            "CLOSEDPLANAR_XOR",
            [(-30, 40, 0), (-29, 44, 0), (-30, 44, 0)],
            Polygon(((0, 0), (2, 2), (0, 2))),
        ),
    ],
)
def test_kinds_of_contours(tmp_path: Path, kind: str, points: list[Any], expected: Any):
    image = make_slice(tmp_path / "i.dcm")
    structures = make_structures(tmp_path / "s.dcm", {1: [contour(np.array(points), kind)]})
    (shape,) = drawn(structures, image).shapes
    assert shape.geometry == expected


def test_regions_have_their_names_colours_and_kinds(tmp_path: Path):
    path = make_structures(
        tmp_path / "s.dcm",
        {3: [contour(square(-28, 42, 2))], 9: []},
        RTROIObservationsSequence=[
            item(ReferencedROINumber=3, RTROIInterpretedType="ORGAN"),
            item(ReferencedROINumber=9, RTROIInterpretedType="PTV"),
        ],
    )
    layer = read_layer(read_instance(path))
    assert layer.title == "plan 1"
    assert [(one.number, one.label, one.color, one.detail) for one in layer.items] == [
        (3, "organ 3", (255, 3, 0), "Organ"),
        (9, "organ 9", (255, 9, 0), "Ptv"),
    ]
    assert layer.warnings == ()


# Which frame.


@pytest.mark.parametrize(("z", "shown"), [(0.0, True), (1.4, True), (-1.4, True), (1.6, False)])
def test_without_a_reference_half_the_slice_decides(tmp_path: Path, z: float, shown: bool):
    structures = make_structures(tmp_path / "s.dcm", {1: [contour(square(-28, 42, 2))]})
    assert bool(drawn(structures, make_slice(tmp_path / "i.dcm", z)).shapes) is shown


def test_close_contour_planes_narrow_that(tmp_path: Path):
    contours = [contour(square(-28 + z, 42, 2, z)) for z in (-1.0, 0.0, 1.0)]
    structures = make_structures(tmp_path / "s.dcm", {1: contours})
    for z in (-1.0, 0.0, 1.0):
        found = pixels_of(drawn(structures, make_slice(tmp_path / "i.dcm", z + 0.2)))
        assert found[0, 0] == pytest.approx((-28 + z + 30) / 0.5)


def test_a_contour_of_one_of_two_overlapping_slices_stays_on_it(tmp_path: Path):
    first, second = (read_instance(make_slice(tmp_path / f"{z}.dcm", z)) for z in (0.0, 1.0))
    structures = make_structures(
        tmp_path / "s.dcm",
        {
            1: [contour(square(-28, 42, 2, 0.0), names=[first.sop_instance_uid])],
            2: [contour(square(-28, 42, 2, 1.0), names=[second.sop_instance_uid])],
        },
    )
    for image, roi in ((first, 1), (second, 2)):
        frame = drawn(structures, image)
        assert [(shape.item, shape.by_reference) for shape in frame.shapes] == [(roi, True)]
        assert frame.warnings == ()


def test_geometry_wins_where_a_contour_names_an_image_that_lies_elsewhere(tmp_path: Path):
    named, true = (read_instance(make_slice(tmp_path / f"{z}.dcm", z)) for z in (0.0, 9.0))
    structures = make_structures(
        tmp_path / "s.dcm",
        {1: [contour(square(-28, 42, 2, 9.0), names=[named.sop_instance_uid])]},
    )
    frame = drawn(structures, named)
    assert frame.shapes == ()
    assert frame.warnings == ("1 contour named for this image but elsewhere: not drawn on it",)
    assert [shape.by_reference for shape in drawn(structures, true).shapes] == [False]


def test_another_frame_of_reference_is_another_place(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm", FrameOfReferenceUID="1.9"))
    uid = image.sop_instance_uid
    silent = make_structures(tmp_path / "s.dcm", {1: [contour(square(-28, 42, 2))]})
    assert drawn(silent, image) == LayerFrame()
    named = make_structures(tmp_path / "n.dcm", {1: [contour(square(-28, 42, 2), names=[uid])]})
    frame = drawn(named, image)
    assert frame.shapes == ()
    assert "another frame of reference" in frame.warnings[0]


def test_without_a_frame_of_reference_only_a_reference_counts(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm", FrameOfReferenceUID=None))
    silent = make_structures(tmp_path / "s.dcm", {1: [contour(square(-28, 42, 2))]})
    assert drawn(silent, image).shapes == ()
    names = [image.sop_instance_uid]
    named = make_structures(tmp_path / "n.dcm", {1: [contour(square(-28, 42, 2), names=names)]})
    assert len(drawn(named, image).shapes) == 1


def test_another_patient_is_not_drawn_on(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm", PatientID="P2"))
    names = [image.sop_instance_uid]
    structures = make_structures(
        tmp_path / "s.dcm", {1: [contour(square(-28, 42, 2), names=names)]}
    )
    frame = drawn(structures, image)
    assert frame.shapes == ()
    assert "another patient" in frame.warnings[0]


def test_an_image_without_a_position_is_not_drawn_on_and_says_so(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm", ImagePositionPatient=None))
    names = [image.sop_instance_uid]
    structures = make_structures(
        tmp_path / "s.dcm", {1: [contour(square(-28, 42, 2), names=names)]}
    )
    frame = drawn(structures, image)
    assert frame.shapes == ()
    assert "no position" in frame.warnings[0]


def test_contours_across_the_image_are_counted_not_drawn(tmp_path: Path):
    upright = square(-28, 42, 2)[:, [0, 2, 1]] + np.array([0, 42, -43])
    tilted = square(-28, 42, 2)
    tilted[:, 2] = (tilted[:, 0] + 27) * math.tan(math.radians(20))
    structures = make_structures(
        tmp_path / "s.dcm", {1: [contour(upright), contour(tilted), contour(square(-28, 42, 2))]}
    )
    frame = drawn(structures, make_slice(tmp_path / "i.dcm"))
    assert len(frame.shapes) == 1
    assert frame.warnings == ("2 contours in a plane across this one: not drawn",)
    far = drawn(structures, make_slice(tmp_path / "j.dcm", 50.0))
    assert far == LayerFrame()


# Holes.


def test_contours_within_others_stay_where_they_are_and_are_filled_together(
    tmp_path: Path,
):
    image = make_slice(tmp_path / "i.dcm", shape=(40, 40), PixelSpacing=[1.0, 1.0])
    nested = [square(-28.5, 41.5, 30), square(-23.5, 46.5, 20), square(-18.5, 51.5, 5)]
    structures = make_structures(tmp_path / "s.dcm", {1: [contour(one) for one in nested]})
    shapes = drawn(structures, image).shapes
    assert all(shape.filled and shape.item == 1 for shape in shapes)
    for shape, points in zip(shapes, nested, strict=True):
        assert isinstance(shape.geometry, Polygon)
        # x = (mm + 30) / 1, y = mm - 40: nothing is rounded to pixels.
        np.testing.assert_allclose(shape.geometry.points, points[:, :2] - (-30, 40), atol=1e-9)


def test_contours_side_by_side_are_outlines(tmp_path: Path):
    image = make_slice(tmp_path / "i.dcm", shape=(40, 40), PixelSpacing=[1.0, 1.0])
    apart = [square(-28.5, 41.5, 5), square(-18.5, 41.5, 5), square(-18.5, 51.5, 5)]
    structures = make_structures(tmp_path / "s.dcm", {1: [contour(one) for one in apart]})
    shapes = drawn(structures, image).shapes
    assert [type(shape.geometry) for shape in shapes] == [Polygon] * 3


def test_contours_of_two_regions_do_not_cut_each_other(tmp_path: Path):
    image = make_slice(tmp_path / "i.dcm", shape=(40, 40), PixelSpacing=[1.0, 1.0])
    structures = make_structures(
        tmp_path / "s.dcm",
        {1: [contour(square(-28.5, 41.5, 30))], 2: [contour(square(-23.5, 46.5, 20))]},
    )
    shapes = drawn(structures, image).shapes
    assert [(shape.item, type(shape.geometry)) for shape in shapes] == [(1, Polygon), (2, Polygon)]


# Damage.


def test_damaged_contours_are_counted_and_the_others_drawn(tmp_path: Path):
    good = square(-28, 42, 2)
    contours = [
        contour(good),
        contour(good, ContourData=["1", "2"]),
        contour(good, ContourData=[]),
        contour(good * 1e30),
        contour(good, "SPIRAL"),
        contour(good, NumberOfContourPoints=7),
    ]
    broken = contour(good)
    del broken["ContourData"]
    broken.add_new(0x30060050, "LO", "1\\x\\3")
    not_a_number = contour(good)
    del not_a_number["ContourData"]
    not_a_number.add_new(0x30060050, "LO", "nan\\1\\3")
    path = make_structures(tmp_path / "s.dcm", {1: [*contours, broken, not_a_number]})
    assert read_layer(read_instance(path)).warnings == (
        "5 contours with damaged coordinates: not drawn",
        "1 contour of an unknown kind: not drawn",
        "1 contour with more or fewer points than stated",
    )
    assert len(drawn(path, make_slice(tmp_path / "i.dcm")).shapes) >= 1


def test_a_region_that_is_not_described_has_its_number_as_name(tmp_path: Path):
    path = make_structures(
        tmp_path / "s.dcm",
        {5: [contour(square(-28, 42, 2))]},
        StructureSetROISequence=None,
        FrameOfReferenceUID="1.2.826.0.1.5.1",
    )
    layer = read_layer(read_instance(path))
    assert [(one.number, one.label) for one in layer.items] == [(5, "Region 5")]
    assert layer.warnings == ("1 region without a name in the file",)
    assert len(drawn(path, make_slice(tmp_path / "i.dcm")).shapes) == 1


def test_an_empty_structure_set_draws_nothing(tmp_path: Path):
    path = make_structures(tmp_path / "s.dcm", {}, ROIContourSequence=None)
    assert read_layer(read_instance(path)).items == ()
    assert drawn(path, make_slice(tmp_path / "i.dcm")) == LayerFrame()


def test_scrolling_through_thousands_of_contours_parses_them_once(tmp_path: Path):
    angles = np.linspace(0, 2 * math.pi, 60, endpoint=False)
    circle = np.stack([5 * np.cos(angles) - 27, 5 * np.sin(angles) + 50, 0 * angles], axis=1)
    regions = {
        roi: [contour(np.round(circle + np.array([0, 0, 3.0 * n]), 3)) for n in range(100)]
        for roi in range(1, 21)
    }
    structures = read_instance(make_structures(tmp_path / "s.dcm", regions))
    images = [read_instance(make_slice(tmp_path / f"{n}.dcm", 3.0 * n)) for n in range(20)]
    drawn(structures, images[0])
    start = time.perf_counter()
    for image in images:
        assert len(drawn(structures, image).shapes) == 20
    assert time.perf_counter() - start < 10  # parsing 120,000 points for each takes far longer
