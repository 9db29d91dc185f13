"""Overlay planes: own bits and bits inside the pixel data; their place, their frames."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from PIL import Image

from app.imaging.pixels.pipeline import draw_overlays, render
from app.imaging.pixels.windows import default_window
from app.imaging.reading.image_entries import read_frame
from tests.unit.imaging.files import make_dicom
from tests.unit.imaging.image_files import PYDICOM_FILES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

Bits = NDArray[np.bool_]
WHITE = (255, 255, 255)


def add_overlay(
    path: Path, bits: Bits, group: int = 0x6000, origin: tuple[int, int] = (1, 1), **more: Any
) -> Path:
    """Overlay data of its own; [frames, rows, columns] where `bits` has three axes."""
    ds = pydicom.dcmread(path)
    data = np.packbits(bits.reshape(-1), bitorder="little").tobytes()
    ds.add_new((group, 0x0010), "US", bits.shape[-2])
    ds.add_new((group, 0x0011), "US", bits.shape[-1])
    ds.add_new((group, 0x0040), "CS", more.get("kind", "G"))
    ds.add_new((group, 0x0050), "SS", list(origin))
    ds.add_new((group, 0x0100), "US", 1)
    ds.add_new((group, 0x0102), "US", 0)
    if bits.ndim == 3:
        ds.add_new((group, 0x0015), "IS", bits.shape[0])
        ds.add_new((group, 0x0051), "US", more.get("frame_origin", 1))
    if "label" in more:
        ds.add_new((group, 0x1500), "LO", more["label"])
    ds.add_new((group, 0x3000), "OW", data + b"\0" * (len(data) % 2))
    ds.save_as(path)
    return path


def by_dcmtk(path: Path, *options: str) -> NDArray[np.int64]:
    if shutil.which("dcm2pnm") is None:
        pytest.skip("dcmtk is not installed (dcm2pnm)")
    out = path.with_suffix(".pnm")
    command = ["dcm2pnm", "+opb", *options, str(path), str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return np.asarray(Image.open(out)).astype(int)


def blob(rows: int = 5, columns: int = 7, seed: int = 0) -> Bits:
    return np.random.default_rng(seed).random((rows, columns)) > 0.5


PIXELS = np.arange(20 * 30, dtype=np.uint16).reshape(20, 30)


@pytest.mark.parametrize("origin", [(1, 1), (4, 9), (-2, -3), (18, 27)])
def test_an_overlay_lies_where_its_origin_says_as_in_dcmtk(origin: tuple[int, int], tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PIXELS, WindowCenter=1000, WindowWidth=4000)
    add_overlay(path, blob(), origin=origin, label="marks")
    frame = read_frame(path, 0)
    (plane,) = frame.overlays
    assert (plane.row, plane.column) == (origin[0] - 1, origin[1] - 1)
    assert (plane.kind, plane.label, plane.group) == ("G", "marks", 0x6000)
    np.testing.assert_array_equal(plane.pixels, blob())
    drawn = draw_overlays(render(frame), frame, WHITE)
    theirs = by_dcmtk(path, "+Wi", "1", "+Omr")
    assert np.abs(drawn[..., 0] - theirs).max() <= 1
    assert np.abs(render(frame) - by_dcmtk(path, "+Wi", "1", "-O")).max() <= 1


def test_an_overlay_that_lies_outside_the_image_draws_nothing(tmp_path: Path):
    for origin in ((100, 1), (1, 100), (-50, 1), (1, -50)):
        path = make_dicom(tmp_path / "a.dcm", PIXELS)
        frame = read_frame(add_overlay(path, blob(), origin=origin), 0)
        plain = render(frame)
        np.testing.assert_array_equal(draw_overlays(plain, frame)[..., 1], plain)


def test_up_to_sixteen_groups_are_read(tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", PIXELS)
    for number in range(16):
        add_overlay(path, blob(seed=number), group=0x6000 + 2 * number)
    planes = read_frame(path, 0).overlays
    assert [plane.group for plane in planes] == [0x6000 + 2 * n for n in range(16)]
    for number, plane in enumerate(planes):
        np.testing.assert_array_equal(plane.pixels, blob(seed=number))


@pytest.mark.parametrize("signed", [False, True])
def test_bits_beside_the_value_are_an_overlay_and_not_part_of_the_value(
    signed: bool, tmp_path: Path
):
    """Retired since 2004, and still in archives: the overlay lies in the pixels' unused bits."""
    mask = blob(20, 30)
    values = (PIXELS.astype(np.int32) - (300 if signed else 0)).astype(np.int16)
    words = (values.astype(np.uint16) & 0xFFF) | mask.astype(np.uint16) << 14
    path = make_dicom(
        tmp_path / "a.dcm",
        words.view(np.int16) if signed else words,
        BitsStored=12,
        HighBit=11,
        WindowCenter=1000,
        WindowWidth=4000,
    )
    ds = pydicom.dcmread(path)
    for element, vr, value in (
        (0x0010, "US", 20),
        (0x0011, "US", 30),
        (0x0040, "CS", "G"),
        (0x0050, "SS", [1, 1]),
        (0x0100, "US", 16),
        (0x0102, "US", 14),
    ):
        ds.add_new((0x6000, element), vr, value)
    ds.save_as(path)
    frame = read_frame(path, 0)
    np.testing.assert_array_equal(frame.stored, values)
    (plane,) = frame.overlays
    np.testing.assert_array_equal(plane.pixels, mask)
    drawn = draw_overlays(render(frame), frame, WHITE)
    assert np.abs(drawn[..., 0] - by_dcmtk(path, "+Wi", "1", "+Omr")).max() <= 1


@pytest.mark.parametrize(
    ("position", "overlay"), [(2, True), (3, False), (8, False), (12, False), (13, True)]
)
def test_a_position_among_the_values_own_bits_is_no_overlay(
    position: int, overlay: bool, tmp_path: Path
):
    """Ten bits below and with High Bit 12 are those from 3 to 12."""
    path = make_dicom(tmp_path / "a.dcm", PIXELS, BitsStored=10, HighBit=12)
    ds = pydicom.dcmread(path)
    ds.add_new((0x6000, 0x0100), "US", 16)
    ds.add_new((0x6000, 0x0102), "US", position)
    ds.save_as(path)
    assert len(read_frame(path, 0).overlays) == overlay


def test_a_multi_frame_overlay_lies_on_the_frames_it_names(tmp_path: Path):
    bits = np.stack((blob(3, 3, 1), blob(3, 3, 2)))
    path = make_dicom(tmp_path / "a.dcm", np.stack([PIXELS] * 4), NumberOfFrames=4)
    add_overlay(path, bits, frame_origin=2)
    found = [read_frame(path, index).overlays for index in range(4)]
    assert [len(planes) for planes in found] == [0, 1, 1, 0]
    np.testing.assert_array_equal(found[1][0].pixels, bits[0])
    np.testing.assert_array_equal(found[2][0].pixels, bits[1])


@pytest.mark.parametrize("damage", ["short", "no rows", "no data"])
def test_a_damaged_overlay_is_left_out_and_the_image_is_shown(damage: str, tmp_path: Path):
    path = add_overlay(make_dicom(tmp_path / "a.dcm", PIXELS), blob(20, 30))
    ds = pydicom.dcmread(path)
    if damage == "short":
        ds[0x6000, 0x3000].value = b"\xff\xff"
    elif damage == "no rows":
        del ds[0x6000, 0x0010]
    else:
        ds[0x6000, 0x3000].value = b""
    ds.save_as(path)
    frame = read_frame(path, 0)
    assert frame.overlays == ()
    np.testing.assert_array_equal(frame.stored, PIXELS)


def test_real_overlays_are_drawn_as_dcmtk_draws_them(shared_data: Path, tmp_path: Path):
    siemens = shared_data / "dicom" / "syntaxes" / "MR-SIEMENS-DICOM-WithOverlays.dcm"
    for source in (siemens, PYDICOM_FILES / "examples_overlay.dcm"):
        frame = read_frame(source, 0)
        assert frame.overlays
        window = default_window(frame)
        assert window is not None
        copy = tmp_path / source.name
        copy.write_bytes(source.read_bytes())
        shown = ["+Ww", str(window.center), str(window.width)]
        drawn = draw_overlays(render(frame), frame, WHITE)
        assert np.abs(drawn[..., 0] - by_dcmtk(copy, "+Omr", *shown)).max() <= 1
        assert np.abs(render(frame) - by_dcmtk(copy, "-O", *shown)).max() <= 1
