"""Display shutters hide what the standard says, in the grey or colour it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging.pixels.pipeline import grey_at, hidden_pixels, render
from app.imaging.reading.image_entries import read_frame
from app.imaging.types import Frame, Shutter, Window
from tests.unit.imaging.files import item, make_dicom
from tests.unit.imaging.test_overlays import add_overlay

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

PIXELS = np.full((40, 50), 100, np.uint8)
FULL = Window(128, 256)
GRAY_50 = 0x8000


def shown(path: Path) -> tuple[Frame, NDArray[np.uint8]]:
    frame = read_frame(path, 0)
    return frame, render(frame, FULL)


def grid() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column of each pixel, counted from 1 as DICOM does."""
    rows, columns = np.mgrid[1:41, 1:51]
    return rows, columns


def test_a_rectangle_shows_its_edges_and_what_lies_between(tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        PIXELS,
        ShutterShape="RECTANGULAR",
        ShutterLeftVerticalEdge=5,
        ShutterRightVerticalEdge=20,
        ShutterUpperHorizontalEdge=7,
        ShutterLowerHorizontalEdge=30,
        ShutterPresentationValue=GRAY_50,
    )
    rows, columns = grid()
    seen = (columns >= 5) & (columns <= 20) & (rows >= 7) & (rows <= 30)
    frame, picture = shown(path)
    np.testing.assert_array_equal(picture, np.where(seen, 100, 128))
    hidden = grey_at(frame, 0, 0)
    assert hidden is not None
    assert (hidden.stored, hidden.text) == ((100.0,), "100, behind the shutter")


@pytest.mark.parametrize("aspect", [None, (2, 1), (1, 3)])
def test_a_circle_is_round_on_the_screen_whatever_the_pixels_shape(
    aspect: tuple[int, int] | None, tmp_path: Path
):
    path = make_dicom(
        tmp_path / "a.dcm",
        PIXELS,
        ShutterShape="CIRCULAR",
        CenterOfCircularShutter=[20, 25],
        RadiusOfCircularShutter=12,
        ShutterPresentationValue=0,
        PixelAspectRatio=list(aspect) if aspect else None,
    )
    rows, columns = grid()
    height = aspect[0] / aspect[1] if aspect else 1.0
    seen = np.hypot(columns - 25, (rows - 20) * height) <= 12
    np.testing.assert_array_equal(shown(path)[1], np.where(seen, 100, 0))


def test_a_polygon_and_a_rectangle_show_what_lies_in_both(tmp_path: Path):
    path = make_dicom(
        tmp_path / "a.dcm",
        PIXELS,
        ShutterShape=["POLYGONAL", "RECTANGULAR"],
        VerticesOfThePolygonalShutter=[5, 5, 5, 45, 35, 5],
        ShutterLeftVerticalEdge=1,
        ShutterRightVerticalEdge=25,
        ShutterUpperHorizontalEdge=1,
        ShutterLowerHorizontalEdge=40,
        ShutterPresentationValue=0xFFFF,
    )
    rows, columns = grid()
    in_triangle = (rows >= 5) & (columns >= 5) & ((columns - 5) * 30 + (rows - 5) * 40 <= 1200)
    np.testing.assert_array_equal(shown(path)[1], np.where(in_triangle & (columns <= 25), 100, 255))


@settings(deadline=None, max_examples=80)
@given(
    corners=st.lists(
        st.tuples(st.integers(-3, 22), st.integers(-3, 22)), min_size=3, max_size=6, unique=True
    )
)
def test_a_polygons_inside_is_that_of_the_winding_crossings(corners: list[tuple[int, int]]):
    """Each pixel on its own: on an edge, or an odd number of edges to its right."""
    polygon = tuple((float(x), float(y)) for x, y in corners)
    found = ~hidden_pixels(Shutter(polygon=polygon), range(20), 20)
    edges = list(zip(corners, corners[1:] + corners[:1], strict=True))
    for y in range(20):
        for x in range(20):
            on_edge = any(
                (x - ax) * (by - ay) == (y - ay) * (bx - ax)
                and min(ax, bx) <= x <= max(ax, bx)
                and min(ay, by) <= y <= max(ay, by)
                for (ax, ay), (bx, by) in edges
            )
            crossings = sum(
                (ay <= y) != (by <= y)
                and (by - ay) * ((y - ay) * (bx - ax) - (x - ax) * (by - ay)) > 0
                for (ax, ay), (bx, by) in edges
            )
            assert found[y, x] == (on_edge or crossings % 2 == 1)


def test_a_bitmap_hides_its_set_bits_and_is_no_overlay_any_more(tmp_path: Path):
    bits = np.random.default_rng(0).random((40, 50)) > 0.5
    path = make_dicom(
        tmp_path / "a.dcm",
        PIXELS,
        ShutterShape="BITMAP",
        ShutterOverlayGroup=0x6002,
        ShutterPresentationValue=0,
    )
    add_overlay(path, bits, group=0x6002)
    add_overlay(path, ~bits, group=0x6000)
    frame, picture = shown(path)
    np.testing.assert_array_equal(picture, np.where(bits, 0, 100))
    assert [plane.group for plane in frame.overlays] == [0x6000]


def test_colour_images_have_the_shutters_colour(tmp_path: Path):
    image = np.full((40, 50, 3), 90, np.uint8)
    # CIELab of pure blue (L 29.57, a 68.30, b -112.03 for D50) as PS3.3 C.10.7.1.1 stores it.
    lab = [round(29.57 / 100 * 65535), round((68.30 + 128) / 255 * 65535)]
    lab.append(round((-112.03 + 128) / 255 * 65535))
    path = make_dicom(
        tmp_path / "a.dcm",
        image,
        ShutterShape="RECTANGULAR",
        ShutterLeftVerticalEdge=2,
        ShutterRightVerticalEdge=50,
        ShutterUpperHorizontalEdge=1,
        ShutterLowerHorizontalEdge=40,
        ShutterPresentationColorCIELabValue=lab,
    )
    picture = render(read_frame(path, 0))
    assert (picture[:, 1:] == 90).all()
    np.testing.assert_allclose(picture[0, 0], [0, 0, 255], atol=6)


def test_an_enhanced_frame_has_its_own_shutter(tmp_path: Path):
    def group(left: int) -> pydicom.Dataset:
        return item(
            FrameDisplayShutterSequence=[
                item(
                    ShutterShape="RECTANGULAR",
                    ShutterLeftVerticalEdge=left,
                    ShutterRightVerticalEdge=50,
                    ShutterUpperHorizontalEdge=1,
                    ShutterLowerHorizontalEdge=40,
                )
            ]
        )

    path = make_dicom(
        tmp_path / "a.dcm",
        np.stack((PIXELS, PIXELS)),
        NumberOfFrames=2,
        PerFrameFunctionalGroupsSequence=[group(3), group(9)],
    )
    for index, first in enumerate((2, 8)):
        picture = render(read_frame(path, index), FULL)
        assert not picture[:, :first].any()
        assert (picture[:, first:] == 100).all()


@pytest.mark.parametrize(
    "elements",
    [
        {"ShutterShape": "RECTANGULAR"},
        {"ShutterShape": "CIRCULAR", "CenterOfCircularShutter": [20, 20]},
        {"ShutterShape": "POLYGONAL", "VerticesOfThePolygonalShutter": [1, 2, 3]},
        {"ShutterShape": "BITMAP"},
        {"ShutterShape": "HEXAGONAL"},
    ],
)
def test_a_damaged_shutter_hides_nothing(elements: dict[str, Any], tmp_path: Path):
    frame, picture = shown(make_dicom(tmp_path / "a.dcm", PIXELS, **elements))
    assert frame.shutter is None
    assert (picture == 100).all()
