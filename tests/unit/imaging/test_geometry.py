"""Scale and direction: a length in mm always rests on something, a letter on an orientation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.imaging.space.geometry import (
    angle,
    direction_letters,
    edge_letters,
    length,
)
from app.imaging.space.spacing import SpacingAttributes, UltrasoundRegion, image_spacing
from app.imaging.types import Frame, ImageRef, Orientation, Spacing, SpacingSource


def frame_with(spacing: Spacing) -> Frame:
    return Frame(np.zeros((4, 4), np.uint8), ImageRef("1", 0, ""), spacing=spacing)


def spacing(**attributes: Any) -> Spacing:
    return image_spacing(SpacingAttributes(**attributes))


@pytest.mark.parametrize(
    "pair",
    [
        (0, 0),
        (0, 0.2),
        (-0.1, 0.1),
        (math.nan, 0.1),
        (math.inf, 1),
        (1e-9, 1e-9),
        (500, 500),
        (0.01, 50),
        (0.1,),
    ],
)
def test_an_impossible_spacing_is_unknown_and_says_so(pair: tuple[float, ...]):
    for keyword in ("pixel", "imager", "nominal"):
        found = spacing(**{keyword: pair})
        assert not found.known
        assert found.source is SpacingSource.NONE
        assert found.aspect == 1.0
        assert "ignored as impossible" in found.note


def test_nothing_given_is_unknown_and_never_a_default():
    found = spacing()
    assert not found.known
    assert found.note


def test_the_pixel_spacing_of_a_slice_is_in_the_patient():
    found = spacing(pixel=(0.7, 0.5), cross_sectional=True)
    assert (found.row_mm, found.column_mm) == (0.7, 0.5)
    assert found.source is SpacingSource.PATIENT
    assert found.aspect == pytest.approx(1.4)


def test_a_radiograph_is_measured_on_its_detector():
    assert spacing(imager=(0.1, 0.1)).source is SpacingSource.DETECTOR
    assert spacing(imager=(0.1, 0.1), pixel=(0.1, 0.1)).source is SpacingSource.DETECTOR
    alone = spacing(pixel=(0.15, 0.15))
    assert alone.source is SpacingSource.DETECTOR
    assert alone.note


def test_a_calibrated_radiograph_says_so():
    assert spacing(pixel=(0.1, 0.1), calibration="FIDUCIAL").source is SpacingSource.CALIBRATED
    corrected = spacing(pixel=(0.08, 0.08), imager=(0.1, 0.1))
    assert corrected.source is SpacingSource.CALIBRATED
    assert corrected.row_mm == 0.08


def test_an_estimated_magnification_shrinks_the_detectors_pixels():
    found = spacing(imager=(0.15, 0.15), magnification=1.5)
    assert found.row_mm == pytest.approx(0.1)
    assert found.source is SpacingSource.CALIBRATED
    assert "1.5" in found.note
    absurd = spacing(imager=(0.15, 0.15), magnification=-2.0)
    assert absurd.row_mm == 0.15
    assert "magnification" in absurd.note


def test_a_scanned_film_has_the_scanners_spacing():
    assert "film" in spacing(nominal=(0.17, 0.17)).note


def test_ultrasound_regions_that_agree_give_a_spacing():
    region = UltrasoundRegion(1, (3, 3), (0.05, -0.04))
    doppler = UltrasoundRegion(3, (4, 7), (0.01, 0.5))
    found = spacing(regions=(region, region, doppler))
    assert (found.row_mm, found.column_mm) == (pytest.approx(0.4), pytest.approx(0.5))
    assert found.source is SpacingSource.REGION
    other = UltrasoundRegion(1, (3, 3), (0.1, 0.1))
    assert not spacing(regions=(region, other)).known
    assert not spacing(regions=(doppler,)).known


def test_an_aspect_ratio_shapes_the_pixels_and_gives_no_scale():
    found = spacing(aspect=(4, 3))
    assert not found.known
    assert found.aspect == pytest.approx(4 / 3)
    assert spacing(aspect=(0, 3)).aspect == 1.0


@given(
    row=st.floats(0.01, 5), column=st.floats(0.01, 5), dx=st.floats(-99, 99), dy=st.floats(-99, 99)
)
def test_a_length_respects_both_spacings(row: float, column: float, dx: float, dy: float):
    frame = frame_with(Spacing(row, column, SpacingSource.PATIENT))
    measured = length(frame, (3, 4), (3 + dx, 4 + dy))
    assert measured.value == pytest.approx(
        math.sqrt((dx * column) ** 2 + (dy * row) ** 2), abs=1e-9
    )
    assert measured.units == "mm"


def test_a_length_says_what_it_rests_on():
    for source in (SpacingSource.PATIENT, SpacingSource.CALIBRATED, SpacingSource.DETECTOR):
        measured = length(frame_with(Spacing(1, 1, source)), (0, 0), (3, 4))
        assert measured.text == f"5.0 mm ({source.value})"
        assert measured.source is source


def test_without_a_spacing_lengths_are_in_pixels():
    frame = frame_with(Spacing())
    assert length(frame, (0, 0), (3, 4)).text == "5.0 px"


def test_letters_name_the_strongest_direction_first_and_leave_out_the_weak():
    assert direction_letters((1, 0, 0)) == "L"
    assert direction_letters((-1, 0, 0)) == "R"
    assert direction_letters((0, 1, 0)) == "P"
    assert direction_letters((0, 0, -1)) == "F"
    assert direction_letters((0.9, -0.43, 0)) == "LA"
    assert direction_letters((0.9999, 0.01, 0)) == "L"
    assert direction_letters((math.nan, 0, 0)) == ""


def test_an_axial_slice_has_the_patients_right_on_the_left():
    axial = Orientation(cosines=(1, 0, 0, 0, 1, 0))
    assert edge_letters(axial) == ("R", "L", "A", "P")


def test_a_pa_radiograph_takes_its_letters_from_patient_orientation():
    assert edge_letters(Orientation("L", "F")) == ("R", "L", "H", "F")


def test_an_unknown_orientation_stays_without_letters():
    assert edge_letters(Orientation()) == ("", "", "", "")
    assert edge_letters(Orientation("L", "")) == ("R", "L", "", "")


AXES = [np.array(v) for v in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]


@pytest.mark.parametrize("flip_h", [False, True])
@pytest.mark.parametrize("flip_v", [False, True])
@pytest.mark.parametrize("turns", [0, 1, 2, 3, -1, 5])
def test_letters_follow_every_flip_and_rotation(flip_h: bool, flip_v: bool, turns: int):
    """Against matrices: screen right and down as vectors in the patient."""
    names: dict[tuple[int, ...], str] = {
        (1, 0, 0): "L",
        (-1, 0, 0): "R",
        (0, 1, 0): "P",
        (0, -1, 0): "A",
    }
    names |= {(0, 0, 1): "H", (0, 0, -1): "F"}
    for row, column in itertools.permutations(AXES, 2):
        if row @ column:
            continue
        cosines = tuple(float(part) for part in (*row, *column))
        right = row * (-1 if flip_h else 1)
        down = column * (-1 if flip_v else 1)
        for _ in range(turns % 4):
            # A clockwise turn carries what was at the top to the right, at the right to the bottom.
            right, down = -down, right
        expected = tuple(names[tuple(int(p) for p in v)] for v in (-right, right, -down, down))
        orientation = Orientation(cosines=cosines)  # pyright: ignore[reportArgumentType]
        assert edge_letters(orientation, flip_h, flip_v, turns) == expected


def test_a_slide_is_measured_on_the_specimen_in_micrometres():
    found = spacing(pixel=(0.0005, 0.0005), specimen=True, cross_sectional=True)
    assert found.source is SpacingSource.SPECIMEN
    measured = length(frame_with(found), (0, 0), (30, 40))
    assert measured.text == "25 µm (specimen)"
    assert measured.value == pytest.approx(0.025)


def test_an_enhanced_radiograph_is_measured_in_the_centre_of_the_beam():
    found = spacing(imager=(0.2, 0.2), object=(0.15, 0.15))
    assert (found.row_mm, found.source) == (0.15, SpacingSource.CALIBRATED)


@given(
    row=st.floats(0.05, 5),
    ratio=st.floats(0.2, 5),
    points=st.lists(
        st.tuples(st.floats(0, 500), st.floats(0, 500)), min_size=3, max_size=3, unique=True
    ),
)
def test_angles_and_lengths_of_anisotropic_pixels_equal_those_of_true_coordinates(
    row: float, ratio: float, points: list[tuple[float, float]]
):
    """The law of cosines in mm, as one would measure with a ruler on a print."""
    frame = frame_with(Spacing(row, row * ratio, SpacingSource.PATIENT, 1 / ratio))
    a, v, b = (np.array([x * row * ratio, y * row]) for x, y in points)
    sides = [float(np.linalg.norm(p - q)) for p, q in ((a, v), (v, b), (a, b))]
    measured = [
        length(frame, p, q).value
        for p, q in ((points[0], points[1]), (points[1], points[2]), (points[0], points[2]))
    ]
    assert measured == pytest.approx(sides, rel=1e-3)
    if min(sides) < 1e-3:
        return
    cosine = (sides[0] ** 2 + sides[1] ** 2 - sides[2] ** 2) / (2 * sides[0] * sides[1])
    found = angle(frame, points[0], points[1], points[2])
    assert found is not None
    expected = math.degrees(math.acos(min(1.0, max(-1.0, cosine))))
    # acos loses precision near 0 and 180 degrees.
    assert found.value == pytest.approx(expected, abs=0.05)


def test_an_angle_needs_only_the_shape_of_the_pixels():
    tall = frame_with(Spacing(aspect=2.0))
    found = angle(tall, (2, 0), (0, 0), (0, 1))
    assert found is not None
    assert (found.text, found.source) == ("90.0°", SpacingSource.NONE)
    diagonal = angle(tall, (2, 0), (0, 0), (2, 1))
    assert diagonal is not None
    assert diagonal.value == pytest.approx(45)
    assert angle(tall, (1, 1), (1, 1), (2, 2)) is None
