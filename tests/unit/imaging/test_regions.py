"""Ultrasound regions: a length has the scale of the region it lies in, or none."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pydicom
import pytest

from app.imaging.decode import Decoder
from app.imaging.space.geometry import angle, length
from app.imaging.space.spacing import UltrasoundRegion, image_regions
from app.imaging.types import Frame, ImageRef, Spacing, SpacingSource


def pydicom_data(name: str) -> Path:
    """A file of the pydicom-data package; skips where it is not installed."""
    store = pytest.importorskip("data_store", reason="pydicom-data is not installed")
    return Path(store.__file__).parent / "data" / name


def frame_with(spacing: Spacing) -> Frame:
    return Frame(np.zeros((4, 4), np.uint8), ImageRef("1", 0, ""), spacing=spacing)


CM, SECONDS, CM_S, NO_UNITS = 3, 4, 7, 0


def region(
    box: tuple[int, int, int, int],
    delta: tuple[float, float] = (0.02, 0.02),
    units: tuple[int, int] = (CM, CM),
    form: int = 1,
    low: bool = True,
) -> UltrasoundRegion:
    return UltrasoundRegion(form, units, delta, box, low)


def ultrasound(*items: UltrasoundRegion, rows: int = 480, columns: int = 640) -> Frame:
    found, _ = image_regions(items, rows, columns)
    return replace(frame_with(Spacing()), regions=found)


def test_a_length_in_a_region_has_that_regions_scale():
    frame = ultrasound(region((0, 0, 99, 99)), region((200, 0, 299, 99), (0.05, 0.04)))
    # cm per pixel -> mm: 0.02 -> 0.2; 0.05 and 0.04 -> 0.5 and 0.4
    assert length(frame, (10, 10), (40, 50)).value == pytest.approx(math.hypot(30, 40) * 0.2)
    other = length(frame, (210, 10), (240, 50))
    assert other.value == pytest.approx(math.hypot(30 * 0.5, 40 * 0.4))
    assert other.text == "21.9 mm (region)"


def test_a_length_across_regions_or_beside_them_is_in_pixels():
    frame = ultrasound(region((0, 0, 99, 99)), region((100, 0, 199, 99)))
    for p0, p1 in (((10, 10), (150, 10)), ((300, 10), (310, 10)), ((99, 10), (100, 10))):
        measured = length(frame, p0, p1)
        assert (measured.units, measured.source) == ("px", SpacingSource.NONE)


def test_the_edge_pixels_of_a_region_belong_to_it():
    frame = ultrasound(region((10, 10, 20, 20)))
    assert length(frame, (9.5, 9.5), (20.5, 20.5)).units == "mm"
    assert length(frame, (9.4, 10), (20, 20)).units == "px"


def test_a_doppler_trace_gives_time_and_speed_and_no_distance():
    trace = region((0, 100, 599, 299), (0.005, -0.25), (SECONDS, CM_S), 3)
    frame = ultrasound(region((0, 0, 599, 99)), trace)
    measured = length(frame, (100, 150), (184, 164))
    # 84 columns of 5 ms; 14 rows of 2.5 mm/s
    assert measured.text == "0.42 s, 35.0 mm/s (region)"
    assert (measured.value, measured.units) == (pytest.approx(35.0), "mm/s")
    assert angle(frame, (100, 150), (120, 160), (140, 150)) is None


def test_a_trace_with_a_scale_in_time_only_gives_that():
    ecg = region((0, 100, 599, 199), (0.01, 0.0), (SECONDS, NO_UNITS), 4)
    measured = length(ultrasound(ecg), (100, 110), (200, 190))
    assert (measured.text, measured.units) == ("1.00 s (region)", "s")


def test_where_regions_overlap_the_one_with_high_priority_holds():
    """Region Flags bit 0 (PS3.3 C.8.5.5.1.3): a colour bar drawn over the image has no scale."""
    image = region((0, 0, 599, 399))
    bar = region((32, 40, 63, 103), (0.0, 0.0), (NO_UNITS, NO_UNITS), 0, low=False)
    frame = ultrasound(image, bar)
    assert length(frame, (40, 50), (40, 60)).units == "px"
    assert length(frame, (40, 50), (40, 200)).units == "px"
    assert length(frame, (100, 50), (100, 60)).units == "mm"
    # Within one priority the smaller region goes first: a zoomed inset.
    inset = ultrasound(image, region((400, 300, 599, 399), (0.01, 0.01)))
    assert length(inset, (410, 310), (420, 310)).value == pytest.approx(1.0)
    assert length(inset, (10, 310), (20, 310)).value == pytest.approx(2.0)
    assert length(inset, (10, 310), (410, 310)).units == "px"


def test_a_colour_box_with_the_images_own_scale_does_not_stop_a_length():
    frame = ultrasound(region((0, 0, 599, 399)), region((100, 100, 199, 199), low=False))
    assert length(frame, (50, 150), (150, 150)).value == pytest.approx(100 * 0.2)


def test_regions_of_an_image_that_was_scaled_afterwards_give_no_millimetres():
    found, reason = image_regions([region((84, 31, 595, 414))], rows=240, columns=320)
    assert found == ()
    assert "scaled" in reason


def test_regions_of_an_image_that_was_cropped_keep_their_scale(decoder: Decoder):
    """examples_palette: 350 of 600 rows are left; its calipers read "Cist Mag 1.06 cm"."""
    path = Path(pydicom.__file__).parent / "data/test_files/examples_palette.dcm"
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    frame = decoder.frame(instance).result(60)
    measured = length(frame, (460, 291), (499, 302))
    assert measured.value == pytest.approx(10.6, abs=0.15)
    assert measured.text == "10.6 mm (region)"


@pytest.mark.parametrize(
    ("code", "units", "factor"),
    [
        (1, "%", 1),
        (2, "dB", 1),
        (3, "mm", 10),
        (4, "s", 1),
        (5, "Hz", 1),
        (6, "dB/s", 1),
        (7, "mm/s", 10),
        (8, "mm²", 100),
        (9, "mm²/s", 100),
        (10, "mm³", 1000),
        (12, "°", 1),
    ],
)
def test_units_are_those_of_the_standard(code: int, units: str, factor: float):
    (found,), _ = image_regions([region((0, 0, 9, 9), (0.5, 0.5), (code, code))], 10, 10)
    assert (found.x_units, found.dx) == (units, pytest.approx(0.5 * factor))


def test_regions_of_a_real_ultrasound_image(decoder: Decoder):
    """gdcm-US-ALOKA-16: two images side by side, and a colour bar without a scale."""
    path = pydicom_data("gdcm-US-ALOKA-16.dcm")
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    frame = decoder.frame(instance).result(60)
    assert length(frame, (100, 200), (200, 200)).value == pytest.approx(100 * 0.3826530650258064)
    assert length(frame, (40, 50), (60, 50)).units == "px"
    assert length(frame, (300, 200), (400, 200)).units == "px"


def test_regions_of_a_cine_that_was_halved_are_not_used(decoder: Decoder):
    """examples_ybr_color: 320 x 240 pixels, its region calibrated on 640 x 480."""
    path = Path(pydicom.__file__).parent / "data/test_files/examples_ybr_color.dcm"
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    frame = decoder.frame(instance).result(60)
    assert length(frame, (100, 100), (200, 100)).units == "px"
    assert "scaled" in frame.spacing.note


def test_an_angle_in_a_region_has_its_pixels_shape():
    frame = ultrasound(region((0, 0, 99, 99), (0.05, 0.10)), region((200, 0, 299, 99)))
    found = angle(frame, (30, 10), (10, 10), (30, 20))
    assert found is not None
    # 20 columns of 0.5 mm across, 10 rows of 1 mm down
    assert (found.value, found.source) == (pytest.approx(45), SpacingSource.REGION)
    across = angle(frame, (30, 10), (10, 10), (210, 210))
    assert across is not None
    assert across.source is SpacingSource.NONE
