"""Each kind of mark: what it measures, how its points move, and by what scale."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.data import get_testdata_file

from app.imaging.findings import (
    XY,
    Finding,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
)
from app.imaging.reading.image_entries import read_frame
from app.imaging.space.planes import FramePlane
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    Rescale,
    ScanResult,
    Series,
    Spacing,
    SpacingSource,
    Study,
)
from app.workspace import calibration, drawing, plane_marks
from app.workspace.workspace import Workspace

TALL = Spacing(0.8, 0.5, SpacingSource.PATIENT, 1.6)
FRAME = Frame(
    stored=np.arange(6000, dtype=np.int16).reshape(60, 100),
    ref=ImageRef("1.2", 0, "sha"),
    rescale=Rescale(1.0, -1000.0, "HU"),
    spacing=TALL,
)


def figures(finding: Finding) -> dict[str, float]:
    return {one.name: one.value for one in finding.measurements}


def in_mm(points: tuple[XY, ...]) -> np.ndarray:
    return np.array(points) * (0.5, 0.8)


def axes(finding: Finding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert isinstance(finding.geometry, Segments)
    a, b, c, d = in_mm(finding.geometry.points)
    return b - a, d - c, c


@pytest.mark.parametrize("place", range(4))
def test_the_axes_of_two_diameters_stay_perpendicular_in_mm(place: int):
    made = drawing.draw(drawing.BIDIRECTIONAL, FRAME, [(20, 20), (60, 40)])
    long, short, _ = axes(made)
    assert float(long @ short) == pytest.approx(0, abs=1e-9)
    assert figures(made)["Long axis"] == pytest.approx(math.hypot(20, 16))
    assert figures(made)["Short axis"] == pytest.approx(math.hypot(20, 16) / 2)
    x, y = drawing.points_of(made)[place]
    moved = drawing.move_point(made, FRAME, place, (x + 3.5, y - 4.2))
    long, short, start = axes(moved)
    assert float(long @ short) == pytest.approx(0, abs=1e-9)
    lengths = sorted((float(np.linalg.norm(long)), float(np.linalg.norm(short))))
    assert figures(moved)["Long axis"] == pytest.approx(lengths[1])
    assert figures(moved)["Short axis"] == pytest.approx(lengths[0])
    assert moved.id == made.id
    # They still cross.
    a = in_mm(drawing.points_of(moved))[0]
    share = float((start - a) @ long / (long @ long))
    assert 0 <= share <= 1


def test_the_ratio_by_hand_is_that_of_the_two_widths():
    points = [(30, 30), (55, 32), (10, 50), (90, 50)]
    made = drawing.draw(drawing.CTR, FRAME, points)
    heart = math.hypot(25 * 0.5, 2 * 0.8)
    assert made.value == pytest.approx(heart / 40)
    assert figures(made)["Heart width"] == pytest.approx(heart)
    assert figures(made)["Thorax width"] == pytest.approx(40)
    assert drawing.headline(made).startswith(f"{heart / 40:.2f} · heart")


def test_a_tool_s_ratio_that_is_corrected_is_computed_anew_and_keeps_the_earlier_one():
    hand = drawing.draw(drawing.CTR, FRAME, [(30, 30), (55, 30), (10, 50), (90, 50)])
    now, then = hand.measurements[0], Measurement("Earlier", 0.4, "ratio", date="20230405")
    made = Provenance("chest_xray_compare", "1", "net", "", "run", "call")
    found = replace(
        hand, provenance=made, measurements=(now, then), state=State.PROPOSED, approximate=True
    )
    moved = drawing.move_point(found, FRAME, 1, (70, 30))
    assert (moved.value, moved.units, moved.state) == (pytest.approx(0.5), "ratio", State.EDITED)
    assert [(one.value, one.date) for one in moved.measurements] == [
        (pytest.approx(0.5), ""),
        (0.4, "20230405"),
    ]
    assert moved.approximate


def test_a_probe_has_the_value_of_its_pixel_and_takes_the_next_one_s_with_it():
    made = drawing.draw(drawing.PROBE, FRAME, [(12.4, 7.6)])
    assert (made.value, made.units) == (8 * 100 + 12 - 1000, "HU")
    moved = drawing.move_point(made, FRAME, 0, (13.2, 8.0))
    assert moved.value == 8 * 100 + 13 - 1000
    assert isinstance(moved.geometry, Point)


def test_a_polyline_is_as_long_as_its_parts():
    made = drawing.draw(drawing.POLYLINE, FRAME, [(0, 0), (40, 0), (40, 20), (10, 20)])
    assert made.value == pytest.approx(20 + 16 + 15)
    assert made.units == "mm (patient)"


def test_a_name_that_the_user_gave_stays_when_a_point_moves():
    made = replace(drawing.draw(drawing.RULER, FRAME, [(0, 0), (40, 0)]), label="Nodule")
    moved = drawing.move_point(made, FRAME, 1, (20, 0))
    assert (moved.label, moved.value) == ("Nodule", pytest.approx(10))


def test_a_known_length_scales_every_mark_of_the_image():
    plain = replace(FRAME, spacing=Spacing(aspect=1.6))
    line = drawing.draw(drawing.RULER, plain, [(10, 10), (60, 10)])
    assert line.units == "px"
    known = calibration.with_known_length(line, 100.0)
    scaled = calibration.calibrated(plain, known)
    assert scaled.spacing.column_mm == pytest.approx(2.0)
    assert scaled.spacing.row_mm == pytest.approx(3.2)
    own = drawing.remeasured(known, scaled)
    assert (own.value, own.units) == (pytest.approx(100.0), "mm (calibrated by hand)")
    box = drawing.with_statistics(drawing.draw(drawing.ELLIPSE, plain, [(0, 0), (20, 10)]), plain)
    again = drawing.remeasured(box, scaled)
    assert again.value == pytest.approx(math.pi * 20 * 16)
    assert figures(again)["Mean"] == figures(box)["Mean"]
    assert drawing.remeasured(again, scaled) == again
    assert drawing.remeasured(again, plain) == box


def test_marks_of_a_section_are_on_coinciding_planes_and_on_nothing_else():
    own = FramePlane((0, 0, 10.0), (1, 0, 0), (0, 1, 0), (0.8, 0.5), "1.9")
    made = replace(drawing.draw(drawing.RULER, FRAME, [(10, 10), (30, 20)]), plane=own)
    there = ImageRef("7.7", 0, "other")

    def shown(**changes: object) -> Finding | None:
        return plane_marks.on_plane(made, there, replace(own, **changes), 4.0)

    # The same plane with finer pixels, turned by a quarter, 1.9 mm further.
    turned = shown(
        origin=(60.0, -4.0, 11.9), row=(0, 1, 0), column=(-1, 0, 0), spacing=(0.25, 0.25)
    )
    assert turned is not None
    assert isinstance(turned.geometry, Polyline)
    assert turned.image == there
    expected = [((y * 0.8 + 4) / 0.25, (60 - x * 0.5) / 0.25) for x, y in ((10, 10), (30, 20))]
    assert np.array(turned.geometry.points) == pytest.approx(np.array(expected))
    assert shown(origin=(0, 0, 12.0)) is None  # half a slice: neither of the two
    assert shown(origin=(0, 0, 14.0)) is None
    assert shown(frame_of_reference="1.8") is None
    assert shown(frame_of_reference="") is None
    tilt = math.radians(3)
    assert shown(column=(0, math.cos(tilt), math.sin(tilt))) is None
    box = replace(drawing.draw(drawing.BOX, FRAME, [(10, 10), (30, 20)]), plane=own)
    askew = replace(
        own, row=(math.cos(0.3), math.sin(0.3), 0), column=(-math.sin(0.3), math.cos(0.3), 0)
    )
    found = plane_marks.on_plane(box, there, askew, 4.0)
    assert found is not None
    assert isinstance(found.geometry, Polygon)
    points = found.geometry.points
    pulled = drawing.move_point(found, FRAME, 1, (50.0, 20.0)).geometry
    assert isinstance(pulled, Polygon)  # askew, it is no box any more
    assert pulled.points == pytest.approx(np.array([points[0], (50.0, 20.0), *points[2:]]))


def delta_mm(path: str, number: int) -> tuple[float, float]:
    region = pydicom.dcmread(path, stop_before_pixels=True).SequenceOfUltrasoundRegions[number]
    return float(region.PhysicalDeltaX) * 10, float(region.PhysicalDeltaY) * 10


@pytest.mark.parametrize("number", [0, 60])
def test_the_ultrasound_cine_of_pydicom_is_measured_by_its_own_region(number: int):
    """Against the header: Physical Delta in cm per pixel."""
    path = get_testdata_file("color3d_jpeg_baseline.dcm")
    assert isinstance(path, str)
    frame = read_frame(Path(path), number)
    across, down = delta_mm(path, 0)
    line = drawing.draw(drawing.RULER, frame, [(200, 100), (300, 250)])
    assert line.value == pytest.approx(math.hypot(100 * across, 150 * down), rel=1e-6)
    assert line.units == "mm (region)"
    round_one = drawing.draw(drawing.ELLIPSE, frame, [(200, 100), (300, 250)])
    assert round_one.value == pytest.approx(math.pi / 4 * 100 * across * 150 * down, rel=1e-6)
    assert round_one.units == "mm² (region)"
    beyond = drawing.draw(drawing.POLYGON, frame, [(10, 10), (300, 10), (300, 250)])
    assert beyond.units == "px²"  # partly on the texts beside the image
    assert "not within one ultrasound region" in beyond.description


def test_a_mark_astride_two_regions_of_pydicom_s_ultrasound_says_so():
    path = get_testdata_file("OBXXXX1A.dcm")
    assert isinstance(path, str)
    frame = read_frame(Path(path), 0)
    across, down = delta_mm(path, 0)
    line = drawing.draw(drawing.POLYLINE, frame, [(200, 100), (300, 250)])
    assert line.value == pytest.approx(math.hypot(100 * across, 150 * down), rel=1e-6)
    astride = drawing.draw(drawing.POLYLINE, frame, [(300, 400), (300, 550)])
    assert (astride.value, astride.units) == (pytest.approx(150), "px")
    assert "Not within one ultrasound region" in astride.description
    trace = drawing.draw(drawing.COBB, frame, [(200, 530), (300, 540), (200, 560), (300, 530)])
    assert trace.value is None
    assert "different units" in trace.description


def test_a_known_length_of_the_series_is_not_that_of_an_image_of_another_size():
    first, second, localizer = (
        Instance(Path(uid), uid, "dicom", *size)
        for uid, size in (("1.2", (60, 100)), ("1.3", (60, 100)), ("1.4", (120, 200)))
    )
    workspace = Workspace()
    series = Series("1.1", "", "CR", 1, (first, second, localizer))
    workspace.add(ScanResult((Study("1", "", "", "", "", (series,)),), ()))
    line = drawing.draw(drawing.RULER, FRAME, [(10, 10), (60, 10)])
    workspace.annotations.put(line, "Measure")
    workspace.calibrate(line, FRAME, 100.0, series=True)
    beside = replace(FRAME, ref=ImageRef("1.3", 0, "sha"))
    assert workspace.scaled(second, beside).spacing.source is SpacingSource.MANUAL
    large = Frame(np.zeros((120, 200), np.int16), ImageRef("1.4", 0, "sha"), spacing=TALL)
    assert workspace.scaled(localizer, large) is large


def plate(x: float, y: float, degrees: float, tall: float) -> tuple[XY, XY]:
    """The ends of an end plate of 30 pixels' width about a place; `tall`: a pixel's height."""
    a = math.radians(degrees)
    return (
        (x - 15 * math.cos(a), y - 15 * math.sin(a) / tall),
        (x + 15 * math.cos(a), y + 15 * math.sin(a) / tall),
    )


@pytest.mark.parametrize("upper", [2, 20, 45, 60, 70])
@pytest.mark.parametrize("lower", [0, 15, 44, 65])
def test_a_cobb_angle_is_that_of_the_curve_however_its_plates_are_drawn(upper: int, lower: int):
    """The spine runs down; its plates are tilted by both angles, whose sum is Cobb's angle."""
    first, second = plate(50, 12, upper, 1.6), plate(50, 45, -lower, 1.6)
    for one in (first, first[::-1]):
        for other in (second, second[::-1]):
            for points in ((*one, *other), (*other, *one)):
                for flip in (False, True):
                    there = [(99 - x, y) if flip else (x, y) for x, y in points]
                    made = drawing.draw(drawing.COBB, FRAME, there)
                    assert made.value == pytest.approx(upper + lower, abs=1e-6)
    large = upper + lower > 90
    assert (
        f"smaller angle between the lines is {180 - upper - lower:.1f}°" in made.description
    ) is (large)


def test_lines_that_cross_in_their_middles_have_the_smaller_angle():
    lines = (*plate(50, 30, 50, 1.6), *plate(50, 30, -60, 1.6))
    assert drawing.draw(drawing.COBB, FRAME, lines).value == pytest.approx(70)


def test_a_section_s_mark_has_the_mean_of_the_image_that_it_is_shown_on():
    own = FramePlane((0, 0, 10.0), (1, 0, 0), (0, 1, 0), (0.8, 0.5), "1.9")
    made = replace(drawing.draw(drawing.ELLIPSE, FRAME, [(10, 10), (50, 40)]), plane=own)
    made = drawing.with_statistics(made, FRAME)
    pet = replace(
        FRAME,
        stored=np.full((60, 100), 7, np.int16),
        ref=ImageRef("2.1", 0, "pet"),
        rescale=Rescale(0.5, 0.0, "SUVbw"),
    )
    there = plane_marks.on_plane(made, pet.ref, own, 4.0)
    assert there is not None
    here = plane_marks.measured_on(there, pet)
    found = {one.name: (one.value, one.units) for one in here.measurements}
    assert found["Mean"] == (3.5, "SUVbw")
    assert found["Standard deviation"][0] == 0
    assert "SUVbw" in here.description
    assert "HU" not in here.description
    assert figures(made)["Mean"] != 3.5
    assert figures(here)["Area"] == pytest.approx(figures(made)["Area"])
