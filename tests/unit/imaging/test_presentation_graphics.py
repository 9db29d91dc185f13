"""What a presentation state draws: graphics, texts, overlays, shutters (PS3.3 C.10, C.11.7)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.imaging.dicom.palette import color_from_cielab
from app.imaging.findings import Point, Polygon, Polyline
from app.imaging.layers import Label
from app.imaging.objects.presentation_states import Placement
from app.imaging.pixels import presentation_pipeline
from app.imaging.reading.image_entries import read_frame
from app.imaging.types import Shutter
from tests.unit.imaging.files import item
from tests.unit.imaging.presentation_files import (
    HOUNSFIELD,
    add_overlay,
    annotation,
    area,
    assert_as_dcmtk,
    graphic,
    grey_image,
    presented,
    read,
    state_of,
    voi,
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return grey_image(tmp_path)


def shapes_of(image: Path, *annotations: pydicom.Dataset, **elements: Any) -> list[Any]:
    state = read(state_of(image, GraphicAnnotationSequence=list(annotations), **elements))
    return [shape.geometry for shape in next(iter(state.images.values())).shapes]


def test_pixel_units_start_at_the_corner_of_the_first_pixel(image: Path):
    """C.10.5: its corner is 0.0\\0.0 and its far corner 1.0\\1.0, so its centre is 0.5\\0.5."""
    found = shapes_of(
        image,
        annotation(
            graphic("POINT", 0.5, 0.5),
            graphic("POLYLINE", 0, 0, 12, 8),
            graphic("POLYLINE", 1, 1, 4, 1, 4, 3, 1, 1),
        ),
    )
    assert found == [
        Point(0, 0),
        Polyline(((-0.5, -0.5), (11.5, 7.5))),
        Polygon(((0.5, 0.5), (3.5, 0.5), (3.5, 2.5))),
    ]


def test_circles_and_ellipses_lie_on_their_equations(image: Path):
    circle, ellipse = shapes_of(
        image,
        annotation(
            graphic("CIRCLE", 5, 4, 8, 8),
            graphic("ELLIPSE", 1, 1, 9, 7, 3.5, 6, 6.5, 2, filled="Y"),
        ),
    )
    distances = [math.dist(point, (4.5, 3.5)) for point in circle.points]
    assert distances == pytest.approx([5.0] * len(distances))
    center = np.array([4.5, 3.5])
    major, minor = np.array([4.0, 3.0]), np.array([1.5, -2.0])
    for point in ellipse.points:
        a, b = np.linalg.solve(np.stack([major, minor]).T, np.array(point) - center)
        assert a * a + b * b == pytest.approx(1)


def test_an_interpolated_line_passes_through_its_points(image: Path):
    (line,) = shapes_of(image, annotation(graphic("INTERPOLATED", 1, 1, 4, 6, 9, 2)))
    assert isinstance(line, Polyline)
    assert {(0.5, 0.5), (3.5, 5.5), (8.5, 1.5)} <= set(line.points)
    assert len(line.points) > 10


@pytest.mark.parametrize(("degrees", "flip"), list(product((0, 90, 180, 270), "NY")))
def test_display_units_are_a_fraction_of_what_is_shown(image: Path, degrees: int, flip: str):
    """The marked pixel of the turned, cropped picture, found by numpy, is where the point is."""
    left, top, right, bottom = 2, 1, 10, 7  # columns and rows from 1, inclusive
    marks = np.zeros((8, 12), np.uint8)
    marks[4, 6] = 1
    cropped = marks[top - 1 : bottom, left - 1 : right]
    picture = np.rot90(cropped, -degrees // 90)
    picture = picture[:, ::-1] if flip == "Y" else picture
    (row,), (column,) = np.nonzero(picture)
    u, v = (column + 0.5) / picture.shape[1], (row + 0.5) / picture.shape[0]
    (point,) = shapes_of(
        image,
        annotation(graphic("POINT", u, v, units="DISPLAY")),
        ImageRotation=degrees,
        ImageHorizontalFlip=flip,
        DisplayedAreaSelectionSequence=[area(pydicom.dcmread(image), (left, top, right, bottom))],
    )
    assert (point.x, point.y) == pytest.approx((6, 4), abs=1e-5)


def test_displayed_area_counts_pixels_from_one_and_may_lie_outside(image: Path):
    ds = pydicom.dcmread(image)
    # Turned by 90 degrees the top left pixel that is shown is the image's bottom left one.
    for corners, box in (
        ((1, 1, 12, 8), (-0.5, -0.5, 11.5, 7.5)),
        ((1, 8, 12, 1), (-0.5, -0.5, 11.5, 7.5)),
        ((-3, 3, 4, 20), (-4.5, 1.5, 3.5, 19.5)),
    ):
        state = read(state_of(image, DisplayedAreaSelectionSequence=[area(ds, corners)]))
        assert next(iter(state.images.values())).displayed_area == box


def test_size_modes_and_spacing_of_the_displayed_area(image: Path):
    ds = pydicom.dcmread(image)
    true_size = area(
        ds,
        PresentationSizeMode="TRUE SIZE",
        PresentationPixelSpacing=[0.4, 0.2],
        PresentationPixelAspectRatio=None,
    )
    frame, presentation = presented(
        image, state_of(image, DisplayedAreaSelectionSequence=[true_size])
    )
    assert presentation.pixel_spacing == (0.4, 0.2)
    assert frame.spacing.aspect == pytest.approx(2)
    assert not frame.spacing.known, "a spacing for display measures nothing"


def test_texts_with_lines_boxes_and_anchors(image: Path):
    text = item(
        UnformattedTextValue="nodule\r\n8 mm",
        BoundingBoxAnnotationUnits="PIXEL",
        BoundingBoxTopLeftHandCorner=[1.0, 2.0],
        BoundingBoxBottomRightHandCorner=[5.0, 4.0],
        AnchorPointAnnotationUnits="PIXEL",
        AnchorPoint=[9.0, 3.0],
        AnchorPointVisibility="Y",
    )
    label, line = shapes_of(image, item(GraphicLayer="L1", TextObjectSequence=[text]))
    assert label == Label("nodule\n8 mm", (0.5, 1.5), (0.5, 1.5, 4.5, 3.5))
    assert line == Polyline(((4.5, 2.5), (8.5, 2.5)))


def test_layers_in_their_order_with_their_colours(image: Path):
    layers = [
        item(
            GraphicLayer="UPPER",
            GraphicLayerOrder=2,
            GraphicLayerRecommendedDisplayGrayscaleValue=0xFFFF,
        ),
        item(
            GraphicLayer="LOWER",
            GraphicLayerOrder=1,
            GraphicLayerRecommendedDisplayCIELabValue=[0x8A16, 0xD0D0, 0xC3C3],
        ),
    ]
    found = read(
        state_of(
            image,
            GraphicLayerSequence=layers,
            GraphicAnnotationSequence=[
                item(GraphicLayer="UPPER", GraphicObjectSequence=[graphic("POINT", 1, 1)]),
                item(GraphicLayer="LOWER", GraphicObjectSequence=[graphic("POINT", 2, 2)]),
                item(GraphicLayer="OTHER", GraphicObjectSequence=[graphic("POINT", 3, 3)]),
            ],
        )
    )
    assert [entry.label for entry in found.layer.items] == ["LOWER", "UPPER", "OTHER"]
    assert found.layer.items[1].color == (255, 255, 255)
    assert [shape.item for shape in next(iter(found.images.values())).shapes] == [1, 2, 3]


@pytest.mark.parametrize(
    ("lab", "rgb"),
    [
        # CIELab (D50) of the sRGB corners, from Bruce Lindbloom's published tables.
        ((100, 0, 0), (255, 255, 255)),
        ((0, 0, 0), (0, 0, 0)),
        ((54.29, 80.81, 69.89), (255, 0, 0)),
        ((87.82, -79.29, 80.99), (0, 255, 0)),
        ((29.57, 68.30, -112.03), (0, 0, 255)),
    ],
)
def test_recommended_colours_are_cielab(lab: tuple[float, ...], rgb: tuple[int, ...]):
    stored = [lab[0] * 655.35, (lab[1] + 128) * 257, (lab[2] + 128) * 257]
    found = color_from_cielab(stored)
    assert found is not None
    assert max(abs(a - b) for a, b in zip(found, rgb, strict=True)) <= 2


def test_compound_graphics_are_drawn_once(image: Path):
    """Their plain equivalent has the same id; one without is drawn itself (C.10.5.1.3)."""
    plain = graphic("POLYLINE", 1, 1, 5, 1)
    plain.CompoundGraphicInstanceID = 1
    ruler, box = (
        item(
            CompoundGraphicInstanceID=number,
            CompoundGraphicUnits="PIXEL",
            CompoundGraphicType=kind,
            GraphicDimensions=2,
            NumberOfGraphicPoints=2,
            GraphicData=[1.0, 1.0, 5.0, 3.0],
        )
        for number, kind in ((1, "RULER"), (2, "RECTANGLE"))
    )
    found = shapes_of(image, annotation(plain, CompoundGraphicSequence=[ruler, box]))
    assert found == [
        Polyline(((0.5, 0.5), (4.5, 0.5))),
        Polygon(((0.5, 0.5), (4.5, 0.5), (4.5, 2.5), (0.5, 2.5))),
    ]


def test_highdicoms_state_is_read(shared_data: Path, tmp_path: Path):
    pr = pytest.importorskip("highdicom").pr
    source = shared_data / "dicom" / "objects" / "ct_image.dcm"
    ds = pydicom.dcmread(source)
    layer = pr.GraphicLayer(layer_name="LAYER1", order=1, description="Lines")
    lines = pr.GraphicObject(
        graphic_type="POLYLINE",
        graphic_data=np.array([[10.0, 20.0], [30.5, 40.5]]),
        units="PIXEL",
    )
    text = pr.TextObject(text_value="here", units="PIXEL", anchor_point=(10.0, 20.0))
    state = pr.GrayscaleSoftcopyPresentationState(
        referenced_images=[ds],
        series_instance_uid="1.2.3",
        series_number=1,
        sop_instance_uid="1.2.3.4",
        instance_number=1,
        manufacturer="M",
        manufacturer_model_name="M",
        software_versions="1",
        device_serial_number="1",
        content_label="LABEL",
        graphic_layers=[layer],
        graphic_annotations=[
            pr.GraphicAnnotation(
                referenced_images=[ds],
                graphic_layer=layer,
                graphic_objects=[lines],
                text_objects=[text],
            )
        ],
        concept_name=None,
        institution_name=None,
        voi_lut_transformations=[
            pr.SoftcopyVOILUTTransformation(window_center=40.0, window_width=400.0)
        ],
    )
    path = tmp_path / "pr.dcm"
    state.save_as(path)
    frame, found = presented(source, path)
    assert [shape.geometry for shape in found.shapes] == [
        Polyline(((9.5, 19.5), (30.0, 40.0))),
        Label("here", (9.5, 19.5)),
    ]
    assert frame.voi.windows[0].center == 40
    assert read(path).layer.items[0].label == "LAYER1"


@given(
    u=st.floats(0, 1),
    v=st.floats(0, 1),
    flip=st.booleans(),
    turns=st.integers(0, 3),
)
def test_display_units_stay_within_the_displayed_area(u: float, v: float, flip: bool, turns: int):
    placed = Placement((-4.5, 1.5, 3.5, 19.5), flip, turns).pixel((u, v), "DISPLAY")
    assert placed is not None
    assert -4.5 <= placed[0] <= 3.5
    assert 1.5 <= placed[1] <= 19.5


def test_bitmap_shutter_hides_what_dcmtk_hides(image: Path):
    bits = np.zeros((8, 12), np.bool_)
    bits[2:4, 5:9] = True
    state = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        ShutterShape="BITMAP",
        ShutterOverlayGroup=0x6000,
        ShutterPresentationValue=0x8000,
    )
    add_overlay(state, 0x6000, bits)
    frame, presentation = presented(image, state)
    assert frame.shutter is not None
    assert (frame.shutter.bitmap == bits).all()
    assert frame.shutter.level == pytest.approx(0.5, abs=1e-4)
    assert not presentation.overlays, "the shutter's overlay is not drawn as well"
    assert_as_dcmtk(image, state)


def test_geometric_shutters_count_rows_and_columns_from_one(image: Path):
    state = state_of(
        image,
        ShutterShape=["RECTANGULAR", "CIRCULAR", "POLYGONAL"],
        ShutterLeftVerticalEdge=3,
        ShutterRightVerticalEdge=10,
        ShutterUpperHorizontalEdge=2,
        ShutterLowerHorizontalEdge=6,
        CenterOfCircularShutter=[4, 7],  # row, column
        RadiusOfCircularShutter=3,
        VerticesOfThePolygonalShutter=[1, 1, 1, 12, 8, 12],
        ShutterPresentationValue=0xFFFF,
    )
    frame, _ = presented(image, state)
    assert frame.shutter is not None
    assert frame.shutter.rectangle == (2, 9, 1, 5)
    assert frame.shutter.circle == (6, 3, 3)
    assert frame.shutter.polygon == ((0, 0), (11, 0), (11, 7))
    assert frame.shutter.level == 1.0


def test_a_shutter_of_the_image_is_not_used_where_the_state_has_none(image: Path):
    """PS3.4 N.2: what a state lacks is an identity, and the image's own shall not be used."""
    frame = replace(read_frame(image, 0), shutter=Shutter(rectangle=(2, 9, 1, 5)))
    found = read(state_of(image)).of(frame.ref.sop_instance_uid, 0)
    assert found is not None
    assert presentation_pipeline.apply_presentation(frame, found).shutter is None


def test_overlays_that_the_state_activates(image: Path):
    """C.11.7: the state's own; else the image's; one that is not activated is not shown."""
    bits = np.eye(4, 6, dtype=np.bool_)
    layers = [item(GraphicLayer="L1", GraphicLayerOrder=1)]
    for group in (0x6000, 0x6002, 0x6004):
        add_overlay(image, group, ~bits, (1, 1))
    state = add_overlay(state_of(image, GraphicLayerSequence=layers), 0x6000, bits, (3, 2), "L1")
    ds = pydicom.dcmread(state)
    ds.add_new(0x60021001, "CS", "L1")
    ds.save_as(state)
    frame = read_frame(image, 0)
    own = read(state).of(frame.ref.sop_instance_uid, 0)
    assert own is not None
    assert [plane.group for plane in own.overlays] == [0x6000]
    assert (own.overlays[0].pixels == pydicom.dcmread(state).overlay_array(0x6000)).all()
    assert (own.overlays[0].row, own.overlays[0].column) == (2, 1)
    planes = tuple(replace(own.overlays[0], group=group) for group in (0x6000, 0x6002, 0x6004))
    applied = presentation_pipeline.apply_presentation(replace(frame, overlays=planes), own)
    assert [(plane.group, plane is own.overlays[0]) for plane in applied.overlays] == [
        (0x6000, True),
        (0x6002, False),
    ]
