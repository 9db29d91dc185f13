"""Presentation states: greys, polarity, rotation, shutters, overlays and graphics (PS3.3 A.33)."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging import presenting
from app.imaging.decode import Decoder
from app.imaging.findings import Point, Polygon, Polyline
from app.imaging.layer_colors import color_from_cielab
from app.imaging.layers import Label
from app.imaging.pipeline import render
from app.imaging.presentation import (
    ImagePresentation,
    PresentationState,
    presentation_from,
    presentation_message,
)
from app.imaging.presentation_graphics import Placement
from app.imaging.presentation_reading import read_presentation
from app.imaging.reading import read_frame, read_instance
from app.imaging.types import Content, Frame
from tests.unit.imaging.files import item, lut_item, make_dicom
from tests.unit.imaging.presentation_files import (
    add_overlay,
    area,
    dcmtk_render,
    make_state,
    reference,
)

Bytes = NDArray[np.uint8]
HOUNSFIELD = {"RescaleSlope": 1, "RescaleIntercept": -1024, "RescaleType": "HU"}


def voi(center: float = 0, width: float = 1000, **elements: Any) -> list[pydicom.Dataset]:
    return [item(WindowCenter=center, WindowWidth=width, **elements)]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """8 rows, 12 columns, every pixel another value; its own window is not the states'."""
    pixels = np.arange(96, dtype=np.int16).reshape(8, 12) * 40
    return make_dicom(
        tmp_path / "image.dcm",
        pixels,
        RescaleSlope=1,
        RescaleIntercept=-1024,
        WindowCenter=300,
        WindowWidth=50,
    )


def read(path: Path) -> PresentationState:
    return read_presentation(read_instance(path))


def state_of(image: Path, **elements: Any) -> Path:
    return make_state(image.parent / "state.dcm", [pydicom.dcmread(image)], **elements)


def presented(image: Path, state: Path, index: int = 0) -> tuple[Frame, ImagePresentation]:
    frame = read_frame(image, index)
    found = read(state).of(frame.ref.sop_instance_uid, index)
    assert found is not None
    return presenting.apply(frame, found), found


def turned(pixels: Bytes, flip: bool, quarters: int) -> Bytes:
    """Our convention, by numpy: flip first, then clockwise quarter turns."""
    return np.rot90(pixels[:, ::-1] if flip else pixels, -quarters)


def shown(image: Path, state: Path, index: int = 0) -> Bytes:
    frame, presentation = presented(image, state, index)
    return turned(render(frame), *presenting.rotation(presentation))


def assert_as_dcmtk(image: Path, state: Path, frame: int = 1) -> None:
    ours = shown(image, state, frame - 1).astype(int)
    theirs = dcmtk_render(image, state, image.parent, frame).astype(int)
    assert ours.shape == theirs.shape
    assert abs(ours - theirs).max() <= 1


GREYS: dict[str, dict[str, Any]] = {
    "window": HOUNSFIELD | {"SoftcopyVOILUTSequence": voi()},
    "no modality transformation": {"SoftcopyVOILUTSequence": voi(1000, 3000)},
    "slope": {
        "RescaleSlope": 2.5,
        "RescaleIntercept": -100,
        "RescaleType": "US",
        "SoftcopyVOILUTSequence": voi(400, 900),
    },
    "no window": HOUNSFIELD,
    "nothing": {},
    "inverse": HOUNSFIELD | {"SoftcopyVOILUTSequence": voi(), "PresentationLUTShape": "INVERSE"},
    "VOI LUT": HOUNSFIELD
    | {
        "SoftcopyVOILUTSequence": [
            item(VOILUTSequence=[lut_item(-1000, 12, [i * i // 977 for i in range(2000)], True)])
        ]
    },
    "modality LUT": {
        "ModalityLUTSequence": [lut_item(0, 12, [4095 - i for i in range(4000)])],
        "SoftcopyVOILUTSequence": voi(2000, 4096),
    },
}


@pytest.mark.parametrize("name", GREYS)
def test_greys_are_those_that_dcmtk_renders(image: Path, name: str):
    assert_as_dcmtk(image, state_of(image, **GREYS[name]))


def test_presentation_lut_is_that_of_dcmtk(image: Path):
    roots = [round(math.sqrt(i / 255) * 255) for i in range(256)]
    state = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        PresentationLUTShape=None,
        PresentationLUTSequence=[lut_item(0, 8, roots)],
    )
    frame, _ = presented(image, state)
    assert frame.presentation_lut is not None
    assert frame.presentation_lut.data.tolist() == roots
    assert_as_dcmtk(image, state)


@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize("shape", ["IDENTITY", "INVERSE"])
def test_polarity_is_the_states_alone(tmp_path: Path, photometric: str, shape: str):
    image = make_dicom(
        tmp_path / "i.dcm",
        np.arange(96, dtype=np.uint16).reshape(8, 12),
        PhotometricInterpretation=photometric,
    )
    state = state_of(image, SoftcopyVOILUTSequence=voi(48, 96), PresentationLUTShape=shape)
    assert_as_dcmtk(image, state)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("flip", ["N", "Y"])
def test_turned_as_dcmtk_turns(image: Path, degrees: int, flip: str):
    state = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        ImageRotation=degrees,
        ImageHorizontalFlip=flip,
    )
    assert_as_dcmtk(image, state)


@pytest.mark.parametrize(("degrees", "flip"), list(product((0, 90, 180, 270), "NY")))
def test_turned_as_the_standards_matrices(image: Path, degrees: int, flip: str):
    """C.10.6: clockwise rotation, then flip; as matrices on (x right, y down)."""
    found = read(state_of(image, ImageRotation=degrees, ImageHorizontalFlip=flip))
    mirrored, quarters = presenting.rotation(next(iter(found.images.values())))
    clockwise = np.array([[0, -1], [1, 0]])
    mirror = np.diag([-1, 1])
    standard = np.linalg.matrix_power(clockwise, degrees // 90)
    standard = mirror @ standard if flip == "Y" else standard
    ours = np.linalg.matrix_power(clockwise, quarters)
    ours = ours @ mirror if mirrored else ours
    assert (ours == standard).all()


REAL = (
    "dicom/wg04/CT1_UNC",
    "dicom/wg04/MR1_UNC",
    "dicom/wg04/NM1_UNC",
    "dicom/syntaxes/mlut_18.dcm",
    "dicom/syntaxes/MR-SIEMENS-DICOM-WithOverlays.dcm",
    "dicom/objects/ct_image.dcm",
)


@pytest.mark.parametrize("name", REAL)
def test_a_state_made_by_dcmtk_shows_the_image_as_dcmtk_does(
    shared_data: Path, tmp_path: Path, name: str
):
    program = shutil.which("dcmpsmk")
    if program is None:
        pytest.skip("dcmpsmk of dcmtk is not installed")
    source = tmp_path / "image.dcm"
    shutil.copyfile(shared_data / name, source)
    state = tmp_path / "state.dcm"
    run = subprocess.run([program, "-q", str(source), str(state)], timeout=60, check=False)
    assert run.returncode == 0
    assert_as_dcmtk(source, state)


def test_only_the_images_that_it_names(image: Path, tmp_path: Path):
    other = make_dicom(tmp_path / "other.dcm")
    state = read(state_of(image))
    assert state.of(str(pydicom.dcmread(image).SOPInstanceUID), 0) is not None
    assert state.of(str(pydicom.dcmread(other).SOPInstanceUID), 0) is None
    assert list(state.images) == [(str(pydicom.dcmread(image).SOPInstanceUID), -1)]


def test_frames_have_their_own_windows(tmp_path: Path):
    path = make_dicom(
        tmp_path / "m.dcm", np.arange(48, dtype=np.uint16).reshape(4, 3, 4), NumberOfFrames=4
    )
    ds = pydicom.dcmread(path)
    state = make_state(
        tmp_path / "s.dcm",
        [ds],
        SoftcopyVOILUTSequence=[
            item(WindowCenter=10, WindowWidth=20, ReferencedImageSequence=[reference(ds, 2, 3)]),
            item(WindowCenter=30, WindowWidth=60),
        ],
    )
    centers = [presented(path, state, index)[0].voi.windows[0].center for index in range(4)]
    assert centers == [30, 10, 10, 30]
    for frame in (1, 2, 3, 4):
        assert_as_dcmtk(path, state, frame)


def test_frames_that_are_not_named_are_left_alone(tmp_path: Path):
    path = make_dicom(
        tmp_path / "m.dcm", np.arange(48, dtype=np.uint16).reshape(4, 3, 4), NumberOfFrames=4
    )
    ds = pydicom.dcmread(path)
    series = item(SeriesInstanceUID="1.2", ReferencedImageSequence=[reference(ds, 2)])
    state = read(make_state(tmp_path / "s.dcm", [ds], ReferencedSeriesSequence=[series]))
    uid = str(ds.SOPInstanceUID)
    assert [state.of(uid, frame) is not None for frame in range(4)] == [False, True, False, False]


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
    applied = presenting.apply(replace(frame, overlays=planes), own)
    assert [(plane.group, plane is own.overlays[0]) for plane in applied.overlays] == [
        (0x6000, True),
        (0x6002, False),
    ]


def annotation(*objects: pydicom.Dataset, **elements: Any) -> pydicom.Dataset:
    return item(GraphicLayer="L1", GraphicObjectSequence=list(objects), **elements)


def graphic(kind: str, *data: float, units: str = "PIXEL", filled: str = "N") -> pydicom.Dataset:
    return item(
        GraphicAnnotationUnits=units,
        GraphicDimensions=2,
        NumberOfGraphicPoints=len(data) // 2,
        GraphicData=list(data),
        GraphicType=kind,
        GraphicFilled=filled,
    )


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
    assert presentation.size_mode == "TRUE SIZE"
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


def test_a_colour_image_keeps_its_colours(tmp_path: Path):
    rgb = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    path = make_dicom(tmp_path / "c.dcm", rgb)
    state = state_of(path, PresentationLUTShape="INVERSE", SoftcopyVOILUTSequence=voi())
    frame, _ = presented(path, state)
    assert (render(frame) == rgb).all()


@pytest.mark.parametrize(
    ("uid", "words"),
    [
        ("1.2.840.10008.5.1.4.1.1.11.4", "blending"),
        ("1.2.840.10008.5.1.4.1.1.11.8", "blending"),
        ("1.2.840.10008.5.1.4.1.1.11.6", "partly understood"),
        ("1.2.840.10008.5.1.4.1.1.11.9", "partly understood"),
    ],
)
def test_states_that_are_only_partly_understood_say_so(image: Path, uid: str, words: str):
    found = read(state_of(image, SOPClassUID=uid))
    assert any(words in warning for warning in found.warnings)
    frame, _ = presented(image, state_of(image, SOPClassUID=uid))
    assert frame.voi == read_frame(image, 0).voi


def test_nothing_is_written_into_the_frame(image: Path):
    frame = read_frame(image, 0)
    frame.stored.flags.writeable = False
    before = render(frame)
    state = read(state_of(image, PresentationLUTShape="INVERSE", SoftcopyVOILUTSequence=voi()))
    presenting.apply(frame, next(iter(state.images.values())))
    assert (render(frame) == before).all()


def test_a_lut_written_without_vrs_may_start_below_zero(image: Path):
    """Implicit VR reads -1000 as 64536 (US); the image's values tell which is meant."""
    table = [i * i // 977 for i in range(2000)]
    explicit = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=[item(VOILUTSequence=[lut_item(-1000, 12, table, True)])],
    )
    wrapped = image.parent / "implicit.dcm"
    ds = pydicom.dcmread(explicit)
    lut = ds.SoftcopyVOILUTSequence[0].VOILUTSequence[0]
    del lut[0x00283002]
    lut.add_new(0x00283002, "US", [2000, 65536 - 1000, 12])
    ds.save_as(wrapped)
    assert (shown(image, wrapped) == shown(image, explicit)).all()


def test_a_message_gives_the_same_state(image: Path):
    state = read(
        state_of(
            image,
            SoftcopyVOILUTSequence=voi(),
            GraphicAnnotationSequence=[annotation(graphic("CIRCLE", 5, 4, 8, 8))],
        )
    )
    back = presentation_from(presentation_message(state))
    assert back.images.keys() == state.images.keys()
    assert back.layer == state.layer
    assert [s.geometry for i in back.images.values() for s in i.shapes] == [
        s.geometry for i in state.images.values() for s in i.shapes
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


DAMAGED: tuple[dict[str, Any], ...] = (
    {"ReferencedSeriesSequence": None},
    {"DisplayedAreaSelectionSequence": []},
    {"DisplayedAreaSelectionSequence": [item(PresentationPixelAspectRatio=[0, -1])]},
    {"ImageRotation": 45, "ImageHorizontalFlip": "MAYBE"},
    {"SoftcopyVOILUTSequence": [item()]},
    {"SoftcopyVOILUTSequence": voi(0, 0)},
    {"SoftcopyVOILUTSequence": voi(0, -5)},
    {"ModalityLUTSequence": [item()]},
    {"PresentationLUTSequence": [item(LUTExplanation="none")], "PresentationLUTShape": "ODD"},
    {"ShutterShape": "RECTANGULAR", "ShutterLeftVerticalEdge": 9},
    {"ShutterShape": "BITMAP", "ShutterOverlayGroup": 0x6000},
    {"ShutterShape": "CIRCULAR", "CenterOfCircularShutter": [1, 1], "RadiusOfCircularShutter": -3},
    {"GraphicAnnotationSequence": [annotation(graphic("CIRCLE", 1, 1))]},
    {"GraphicAnnotationSequence": [annotation(graphic("POLYLINE", math.nan, 1, 2, 3))]},
    {"GraphicAnnotationSequence": [annotation(graphic("SPIRAL", 1, 1, 2, 2))]},
    {"GraphicAnnotationSequence": [annotation(graphic("POINT", 1, 1, units="FURLONG"))]},
    {"GraphicAnnotationSequence": [item(TextObjectSequence=[item(UnformattedTextValue="x")])]},
)


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_damaged_states_warn_and_never_fail(image: Path, number: int):
    state = read(state_of(image, **DAMAGED[number]))
    for presentation in state.images.values():
        render(presenting.apply(read_frame(image, 0), presentation))
        assert not presentation.shapes
        assert presentation.shutter is None
    assert state.warnings


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(400, 2200), noise=st.binary(min_size=1, max_size=24), at=st.floats(0, 1))
def test_mutated_files_never_raise_what_is_no_file_problem(
    image: Path, cut: int, noise: bytes, at: float
):
    from app.errors import FileProblem

    path = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        GraphicAnnotationSequence=[annotation(graphic("CIRCLE", 5, 4, 8, 8))],
        ShutterShape="CIRCULAR",
        CenterOfCircularShutter=[4, 7],
        RadiusOfCircularShutter=3,
    )
    instance = read_instance(path)
    data = path.read_bytes()[:cut]
    start = 132 + int(at * max(len(data) - 132, 0))
    path.write_bytes(data[:start] + noise + data[start + len(noise) :])
    try:
        state = read_presentation(instance)
    except FileProblem:
        return
    for presentation in state.images.values():
        presenting.apply(read_frame(image, 0), presentation)
    presentation_from(presentation_message(state))


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


def test_showing_a_state_or_a_report_needs_no_parser():
    """The window's process applies and draws; only the worker processes parse files."""
    modules = "app.imaging.presenting, app.imaging.report, app.imaging.presentation"
    code = f"import sys, {modules}; sys.exit('pydicom' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_through_the_worker_processes(decoder: Decoder, image: Path):
    path = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        GraphicAnnotationSequence=[annotation(graphic("POINT", 0.5, 0.5))],
    )
    scan = decoder.scan([path, image]).result(timeout=60)
    instances = [one for s in scan.studies for series in s.series for one in series.instances]
    state_file = next(one for one in instances if one.content is Content.PRESENTATION)
    picture = next(one for one in instances if one.is_image)
    state = decoder.presentation(state_file).result(timeout=60)
    presentation = state.of(picture.sop_instance_uid, 0)
    assert presentation is not None
    assert [shape.geometry for shape in presentation.shapes] == [Point(0, 0)]
    applied = presenting.apply(decoder.frame(picture).result(timeout=60), presentation)
    assert applied.voi.windows[0].width == 1000
    assert state.layer.title == "STATE"
    assert state.description == "What was seen. Reader, Ann 2024-01-02"
