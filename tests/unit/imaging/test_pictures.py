"""PNG, JPEG and kin: known by content, upright, in full depth, without a patient scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest
from PIL import Image

from app.imaging.decode import Decoder
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import Frame, SpacingSource
from tests.unit.imaging.files import jpeg_bytes, png_bytes
from tests.unit.imaging.mutations import assert_only_problems, assert_refused


def shown(path: Path, data: bytes) -> Frame:
    path.write_bytes(data)
    return read_frame(path, 0)


def grey(dtype: Any = np.uint8) -> Any:
    top = np.iinfo(dtype).max
    return np.linspace(0, top, 20 * 30).astype(dtype).reshape(20, 30)


def test_the_content_counts_not_the_name(tmp_path: Path):
    frame = shown(tmp_path / "scan.dcm", png_bytes(grey()))
    np.testing.assert_array_equal(frame.stored, grey())
    assert frame.photometric == "MONOCHROME2"


def test_16_bits_stay_16_bits(tmp_path: Path):
    frame = shown(tmp_path / "a.png", png_bytes(grey(np.uint16)))
    np.testing.assert_array_equal(frame.stored, grey(np.uint16))
    assert frame.bits == 16
    colour = np.random.default_rng(0).integers(0, 65535, (8, 9, 3), np.uint16)
    frame = shown(tmp_path / "b.png", bytes(imagecodecs.png_encode(colour)))
    np.testing.assert_array_equal(frame.stored, colour)


def test_colour_with_equal_channels_is_grey_and_can_be_windowed(tmp_path: Path):
    frame = shown(tmp_path / "a.png", png_bytes(np.repeat(grey()[..., None], 3, axis=2)))
    np.testing.assert_array_equal(frame.stored, grey())


def test_transparent_parts_are_white_as_pillow_puts_them_over_white(tmp_path: Path):
    pixels = np.random.default_rng(3).integers(0, 256, (9, 11, 4), np.uint8)
    pixels[0, :, 3], pixels[1, :, 3] = 0, 255
    frame = shown(tmp_path / "a.png", png_bytes(pixels))
    white = Image.new("RGBA", (11, 9), "white")
    expected = np.asarray(Image.alpha_composite(white, Image.fromarray(pixels)))[..., :3]
    assert np.abs(frame.stored.astype(int) - expected).max() <= 1
    assert (frame.stored[0] == 255).all()
    np.testing.assert_array_equal(frame.stored[1], pixels[1, :, :3])


def test_transparent_parts_of_16_bits_are_white(tmp_path: Path):
    pixels = np.full((1, 3, 4), 40_000, np.uint16)
    pixels[0, :, 3] = (0, 65_535, 32_768)
    frame = shown(tmp_path / "a.png", bytes(imagecodecs.png_encode(pixels)))
    half = round(40_000 * 32_768 / 65_535 + 65_535 * (1 - 32_768 / 65_535))
    assert frame.stored.tolist() == [[65_535, 40_000, half]]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_and_the_header_agrees(tmp_path: Path, orientation: int):
    pixels = np.zeros((16, 24), np.uint8)
    pixels[:8, :8] = 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "a.png"
    frame = shown(path, png_bytes(pixels, exif=exif.tobytes()))
    with Image.open(path) as image:
        from PIL import ImageOps

        expected = np.asarray(ImageOps.exif_transpose(image))
    np.testing.assert_array_equal(frame.stored, expected)
    instance = read_instance(path)
    assert (instance.rows, instance.columns) == expected.shape


def test_the_resolution_of_a_picture_is_no_patient_spacing(tmp_path: Path):
    for name, data in (
        ("a.png", png_bytes(grey(), dpi=(300, 300))),
        ("a.jpg", jpeg_bytes(grey(), dpi=(300, 300))),
    ):
        spacing = shown(tmp_path / name, data).spacing
        assert not spacing.known
        assert spacing.source is SpacingSource.NONE


def test_the_uid_is_made_of_the_content(tmp_path: Path):
    data = png_bytes(grey())
    first = shown(tmp_path / "a.png", data).ref
    second = shown(tmp_path / "b.png", data).ref
    assert first == second
    assert first.sop_instance_uid.startswith("2.25.")
    assert int(first.sop_instance_uid[5:]) < 2**128
    assert len(first.sop_instance_uid) <= 64
    assert read_instance(tmp_path / "a.png").sop_instance_uid == first.sop_instance_uid
    assert shown(tmp_path / "a.png", png_bytes(grey()[::-1].copy())).ref != first


@pytest.mark.parametrize("mode", ["1", "P", "LA", "CMYK"])
def test_other_kinds_of_pixels_are_read(tmp_path: Path, mode: str):
    path = tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
    picture = Image.fromarray(np.repeat(grey()[..., None], 3, axis=2)).convert(mode)
    picture.save(path)
    frame = read_frame(path, 0)
    assert frame.stored.shape[:2] == (20, 30)
    assert frame.stored.dtype == np.uint8


def test_a_jpeg_is_marked_as_lossy(tmp_path: Path):
    assert shown(tmp_path / "a.jpg", jpeg_bytes(grey())).lossy == "Lossy JPEG"


@pytest.mark.parametrize("name", ["a.bmp", "a.gif", "a.webp"])
def test_other_formats_are_shown_as_pillow_wrote_them(tmp_path: Path, name: str):
    path = tmp_path / name
    Image.fromarray(grey()).save(path, lossless=True)
    frame = read_frame(path, 0)
    np.testing.assert_array_equal(frame.stored, grey())
    assert frame.lossy == ""
    assert not frame.spacing.known
    assert read_instance(path).kind == "picture"


def test_a_webp_of_42_million_pixels_is_opened(tmp_path: Path, decoder: Decoder):
    Image.new("RGB", (6500, 6500)).save(tmp_path / "a.webp", lossless=True, method=0, quality=0)
    # In a worker, as the program does: how much it may take depends on what its process holds.
    result = decoder.scan([tmp_path / "a.webp"]).result()
    assert not result.problems
    (study,) = result.studies
    assert study.series[0].instances[0].columns == 6500


def test_a_webp_with_loss_says_so(tmp_path: Path):
    Image.fromarray(grey()).save(tmp_path / "a.webp", quality=50)
    assert read_frame(tmp_path / "a.webp", 0).lossy == "Lossy WebP"


@pytest.mark.parametrize("name", ["a.gif", "a.webp"])
def test_an_animation_is_a_cine(tmp_path: Path, name: str):
    pictures = [Image.fromarray(np.full((8, 9), level, np.uint8)) for level in (10, 200, 90)]
    path = tmp_path / name
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=40, lossless=True)
    instance = read_instance(path)
    assert instance.frames == 3
    if name == "a.gif":
        assert instance.frame_time_ms == 40
    for index, level in ((2, 90), (0, 10), (1, 200)):
        frame = read_frame(path, index)
        assert (frame.stored == level).all()
        assert frame.ref.frame == index
    assert_refused(lambda: read_frame(path, 3), "3 frames")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.bmp", "a.gif", "a.webp"])
def test_damage_never_gives_anything_but_a_named_problem(tmp_path: Path, name: str):
    Image.fromarray(grey()).save(tmp_path / name)
    source = (tmp_path / name).read_bytes()
    assert_only_problems(source, tmp_path / f"bad-{name}", len(source))
