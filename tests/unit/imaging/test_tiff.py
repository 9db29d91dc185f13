"""TIFF, OME-TIFF and ImageJ stacks: every value, axis and spacing as the writer meant it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from PIL import Image

from app.imaging.pixels.pipeline import render
from app.imaging.pixels.windows import default_window
from app.imaging.reading.image_entries import (
    read_attributes,
    read_frame,
    read_instance,
    read_instances,
)
from app.imaging.types import SpacingSource
from tests.unit.imaging.mutations import assert_only_problems, assert_refused

Array = NDArray[Any]


def written(path: Path, array: Array, **options: Any) -> Path:
    tifffile.imwrite(path, array, **options)
    return path


def noise(shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
    rng = np.random.default_rng(3)
    if np.dtype(dtype).kind == "f":
        return rng.normal(0, 10, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


KINDS = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float32, np.float64]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_every_kind_of_number(tmp_path: Path, dtype: Any, order: str):
    array = noise((5, 7), dtype)
    frame = read_frame(written(tmp_path / "a.tif", array, byteorder=order), 0)
    np.testing.assert_array_equal(frame.stored, array)
    assert frame.stored.dtype == dtype
    assert frame.photometric == "MONOCHROME2"


def test_half_floats_and_64_bits(tmp_path: Path):
    half = noise((5, 7), np.float16)
    frame = read_frame(written(tmp_path / "a.tif", half), 0)
    assert frame.stored.dtype == np.float32
    np.testing.assert_array_equal(frame.stored, half.astype(np.float32))
    labels = np.arange(35, dtype=np.int64).reshape(5, 7)
    assert read_frame(written(tmp_path / "b.tif", labels), 0).stored.dtype == np.int32


CODES = ["lzw", "deflate", "packbits", "zstd", "jpeg2000", "lzma", "png"]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("tile", [None, (16, 16)])
def test_every_lossless_compression(tmp_path: Path, code: str, tile: Any):
    array = noise((40, 50), np.uint16)
    path = written(tmp_path / "a.tif", array, compression=code, tile=tile)
    np.testing.assert_array_equal(read_frame(path, 0).stored, array)


@pytest.mark.parametrize(("dtype", "predictor"), [(np.uint16, 2), (np.float32, 3)])
def test_predictors(tmp_path: Path, dtype: Any, predictor: int):
    array = noise((20, 30), dtype)
    path = written(tmp_path / "a.tif", array, compression="deflate", predictor=predictor)
    np.testing.assert_array_equal(read_frame(path, 0).stored, array)


@pytest.mark.parametrize(
    ("mode", "compression"),
    [
        ("1", "group3"),
        ("1", "group4"),
        ("1", "tiff_lzw"),
        ("L", "jpeg"),
        ("RGB", "jpeg"),
        ("RGB", "tiff_deflate"),
        ("RGBA", None),
        ("P", None),
        ("I;16", None),
        ("F", None),
    ],
)
def test_pillow_agrees_on_what_it_wrote(tmp_path: Path, mode: str, compression: Any):
    """Pillow reads by libtiff, which shares nothing with our reader."""
    base = Image.fromarray(np.outer(np.arange(32), np.arange(48)).astype(np.uint8))
    if mode in ("RGB", "RGBA", "P"):
        base = Image.merge("RGB", (base, base.rotate(180), base.transpose(Image.Transpose(0))))
    picture = base if mode in ("I;16", "F") else base.convert(mode)
    if mode in ("I;16", "F"):
        dtype = np.uint16 if mode == "I;16" else np.float32
        picture = Image.fromarray(np.asarray(base).astype(dtype))
    path = tmp_path / "a.tif"
    picture.save(path, compression=compression)
    with Image.open(path) as witness:
        if mode in ("I;16", "F"):
            np.testing.assert_array_equal(read_frame(path, 0).stored, np.asarray(witness))
            return
        expected = np.asarray(witness.convert("RGB" if mode != "L" else "L"))
    frame = read_frame(path, 0)
    shown = render(frame, default_window(frame))
    if mode == "1":
        shown = np.repeat((frame.stored.astype(int) * 255)[..., None], 3, axis=2)
        shown = 255 - shown if frame.photometric == "MONOCHROME1" else shown
    difference = np.abs(shown.astype(int) - expected.astype(int)).max()
    # JPEG decoders may round their inverse transforms differently.
    assert difference <= (2 if compression == "jpeg" else 0)
    assert frame.lossy == ("Lossy JPEG" if compression == "jpeg" else "")


def test_min_is_white_is_monochrome1(tmp_path: Path):
    array = noise((5, 7))
    frame = read_frame(written(tmp_path / "a.tif", array, photometric="miniswhite"), 0)
    assert frame.photometric == "MONOCHROME1"
    np.testing.assert_array_equal(frame.stored, array)


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_colour_however_it_is_laid(tmp_path: Path, planar: str, dtype: Any):
    rgb = noise((9, 8, 3), dtype)
    array = rgb if planar == "contig" else np.moveaxis(rgb, -1, 0)
    path = written(tmp_path / "a.tif", array, photometric="rgb", planarconfig=planar)
    frame = read_frame(path, 0)
    assert frame.photometric == "RGB"
    np.testing.assert_array_equal(frame.stored, rgb)
    assert frame.bits == 8 * rgb.dtype.itemsize


def test_cmyk_as_pillow_converts_it(tmp_path: Path):
    cmyk = noise((9, 8, 4))
    path = tmp_path / "a.tif"
    Image.fromarray(cmyk, "CMYK").save(path)
    with Image.open(path) as witness:
        expected = np.asarray(witness.convert("RGB"))
    frame = read_frame(path, 0)
    assert np.abs(frame.stored.astype(int) - expected).max() <= 1
    assert "without a colour profile" in frame.note


@pytest.mark.parametrize("kind", ["unassalpha", "assocalpha"])
def test_transparent_parts_are_white(tmp_path: Path, kind: str):
    rgba = noise((4, 4, 4))
    rgba[:2, :, 3], rgba[2:, :, 3] = 0, 255
    if kind == "assocalpha":
        rgba[:2] = 0  # colours are stored times their alpha
    path = written(tmp_path / "a.tif", rgba, photometric="rgb", extrasamples=[kind])
    shown = read_frame(path, 0).stored
    assert (shown[:2] == 255).all()
    np.testing.assert_array_equal(shown[2:], rgba[2:, :, :3])


def test_lab_colour_is_refused_by_name(tmp_path: Path):
    path = written(tmp_path / "a.tif", noise((4, 4, 3)), photometric="cielab")
    assert_refused(lambda: read_instances(path), "L*a*b*")


def test_an_unknown_compression_is_named(tmp_path: Path):
    path = written(tmp_path / "a.tif", noise((4, 4)), compression="lzw")
    data = path.read_bytes().replace(struct.pack("<HHIHH", 259, 3, 1, 5, 0),
                                     struct.pack("<HHIHH", 259, 3, 1, 32809, 0))  # fmt: skip
    path.write_bytes(data)
    assert_refused(lambda: read_instances(path), "THUNDERSCAN")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_orientation_tag_is_applied(tmp_path: Path, orientation: int):
    """TIFF 6.0: where row 0 and column 0 of the file lie; the same numbers as in EXIF."""
    array = noise((5, 7))
    path = written(tmp_path / "a.tif", array, extratags=[(274, "H", 1, orientation)])
    flips = {1: array, 2: array[:, ::-1], 3: array[::-1, ::-1], 4: array[::-1], 5: array.T,
             6: np.rot90(array, -1), 7: array[::-1, ::-1].T, 8: np.rot90(array)}  # fmt: skip
    np.testing.assert_array_equal(read_frame(path, 0).stored, flips[orientation])
    instance = read_instance(path)
    assert (instance.rows, instance.columns) == flips[orientation].shape


STACK = noise((2, 3, 4, 6, 7), np.uint16)
"""T Z C Y X"""


def channel_z_time(index: int) -> tuple[int, int, int]:
    """Channels fastest, then depth, then time."""
    time, rest = divmod(index, 12)
    depth, channel = divmod(rest, 4)
    return time, depth, channel


@pytest.mark.parametrize("axes", ["TZCYX", "TCZYX", "CTZYX", "ZCTYX"])
@pytest.mark.parametrize("compression", [None, "deflate"])
def test_ome_axes_in_any_order(tmp_path: Path, axes: str, compression: Any):
    order = ["TZCYX".index(axis) for axis in axes]
    metadata = {"axes": axes, "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm",
                "PhysicalSizeY": 500.0, "PhysicalSizeYUnit": "nm",
                "Channel": {"Name": ["DAPI", "GFP", "RFP", "Cy5"]}}  # fmt: skip
    path = tmp_path / "a.ome.tif"
    written(path, STACK.transpose(order), ome=True, metadata=metadata, compression=compression)
    instance = read_instance(path)
    assert instance.frames == 24
    for index in (0, 1, 5, 12, 23):
        frame = read_frame(path, index)
        time, depth, channel = channel_z_time(index)
        np.testing.assert_array_equal(frame.stored, STACK[time, depth, channel])
        name = ("DAPI", "GFP", "RFP", "Cy5")[channel]
        expected = (
            f"channel {channel + 1} of 4 ({name}), depth {depth + 1} of 3, "
            f"time point {time + 1} of 2"
        )
        assert frame.note == expected
        assert frame.spacing.column_mm == pytest.approx(0.25e-3)
        assert frame.spacing.row_mm == pytest.approx(0.5e-3)
        assert frame.spacing.source is SpacingSource.CALIBRATED
        assert frame.spacing.note == "stated by the file (OME PhysicalSize)"
        assert frame.orientation.cosines is None


@pytest.mark.parametrize("unit", ["um", "\\u00B5m", "micron"])
def test_imagej_hyperstacks(tmp_path: Path, unit: str):
    path = tmp_path / "a.tif"
    written(path, STACK, imagej=True, resolution=(4.0, 2.0),
            metadata={"axes": "TZCYX", "unit": unit, "min": 100.0, "max": 900.0})  # fmt: skip
    assert read_instance(path).frames == 24
    for index in (0, 7, 23):
        frame = read_frame(path, index)
        np.testing.assert_array_equal(frame.stored, STACK[channel_z_time(index)])
        assert frame.spacing.column_mm == pytest.approx(0.25e-3)
        assert frame.spacing.row_mm == pytest.approx(0.5e-3)
        assert frame.spacing.source is SpacingSource.CALIBRATED
    window = default_window(read_frame(path, 0))
    assert (window.center, window.width, window.explanation) == (500.0, 800.0, "file")


def test_imagej_planes_behind_a_single_page(tmp_path: Path):
    """ImageJ writes stacks over 4 GB like this: one directory, and the planes behind each other."""
    array = noise((5, 6, 7), np.uint16)
    path = written(tmp_path / "a.tif", array, imagej=True, metadata={"axes": "ZYX"})
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as tif:
        first = tif.pages.first
        end = first.offset + 2 + 12 * len(first.tags)
    order = ">" if data[:2] == b"MM" else "<"
    struct.pack_into(f"{order}I", data, end, 0)
    path.write_bytes(bytes(data))
    assert read_instance(path).frames == 5
    for index in range(5):
        np.testing.assert_array_equal(read_frame(path, index).stored, array[index])
    with tifffile.TiffFile(path) as tif:
        planes = tif.pages.first.dataoffsets[0]
    path.write_bytes(bytes(data[: planes + 4 * 84 + 10]))
    assert read_instance(path).note == "the file is cut short: it contains 1 of 5 planes"


def test_depth_inside_a_page(tmp_path: Path):
    array = noise((5, 32, 48), np.uint16)
    path = written(tmp_path / "a.tif", array, volumetric=True, tile=(16, 16, 16))
    assert read_instance(path).frames == 5
    np.testing.assert_array_equal(read_frame(path, 3).stored, array[3])


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_samples_that_are_no_colour_are_frames(tmp_path: Path, planar: str):
    array = noise((5, 6, 7))
    data = array if planar == "separate" else np.moveaxis(array, 0, -1)
    path = written(tmp_path / "a.tif", data, photometric="minisblack", planarconfig=planar)
    assert read_instance(path).frames == 5
    np.testing.assert_array_equal(read_frame(path, 4).stored, array[4])


def test_several_images_are_instances_and_pyramids_are_one(tmp_path: Path):
    path = tmp_path / "a.ome.tif"
    big, label = noise((64, 96, 3)), noise((20, 30))
    with tifffile.TiffWriter(path, ome=True) as writer:
        writer.write(big, subifds=2, photometric="rgb", tile=(32, 32),
                     metadata={"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5})  # fmt: skip
        writer.write(big[::2, ::2], photometric="rgb", subfiletype=1, tile=(32, 32))
        writer.write(big[::4, ::4], photometric="rgb", subfiletype=1, tile=(32, 32))
        writer.write(label)
    instances = read_instances(path)
    assert [(one.rows, one.columns, one.part) for one in instances] == [(64, 96, 0), (20, 30, 1)]
    assert len({one.sop_instance_uid for one in instances}) == 2
    np.testing.assert_array_equal(read_frame(path, 0, 0).stored, big)
    np.testing.assert_array_equal(read_frame(path, 0, 1).stored, label)
    assert read_frame(path, 0, 0).spacing.column_mm == pytest.approx(0.5e-3)
    assert not read_frame(path, 0, 1).spacing.known


def test_of_a_huge_pyramid_the_largest_level_that_fits_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.ome.tif"
    big = noise((64, 96))
    with tifffile.TiffWriter(path, ome=True) as writer:
        writer.write(big, subifds=1, tile=(32, 32),
                     metadata={"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5})  # fmt: skip
        writer.write(big[::2, ::2], subfiletype=1, tile=(32, 32))
    monkeypatch.setattr("app.imaging.guards.MAX_SAMPLES", 3000)
    instance = read_instance(path)
    assert (instance.rows, instance.columns) == (32, 48)
    assert "96 x 64 is too large" in instance.note
    frame = read_frame(path, 0)
    np.testing.assert_array_equal(frame.stored, big[::2, ::2])
    assert frame.spacing.row_mm == pytest.approx(1e-3)


def test_a_print_resolution_is_no_patient_scale(tmp_path: Path):
    path = written(tmp_path / "a.tif", noise((5, 7)), resolution=(300, 300), resolutionunit="inch")
    spacing = read_frame(path, 0).spacing
    assert not spacing.known
    assert "print resolution" in spacing.note
    fax = written(tmp_path / "b.tif", noise((5, 7)), resolution=(204, 98), resolutionunit="inch")
    assert read_frame(fax, 0).spacing.aspect == pytest.approx(204 / 98)


def test_ome_that_names_another_file_does_not_open_it(tmp_path: Path):
    other = written(tmp_path / "other.tif", noise((6, 7)))
    xml = (
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:1">'
        '<Image ID="Image:0"><Pixels ID="P" DimensionOrder="XYCZT" Type="uint8" SizeX="7"'
        ' SizeY="6" SizeZ="2" SizeC="1" SizeT="1"><TiffData IFD="0">'
        f'<UUID FileName="{other.name}">urn:uuid:2</UUID></TiffData></Pixels></Image></OME>'
    )
    path = written(tmp_path / "a.ome.tif", np.zeros((6, 7), np.uint8), description=xml)
    frames = [
        read_frame(path, index, one.part)
        for one in read_instances(path)
        for index in range(one.frames)
    ]
    assert not any(frame.stored.any() for frame in frames)
    assert "names other files" in frames[0].note


def test_ome_with_entities_is_refused(tmp_path: Path):
    xml = '<?xml version="1.0"?><!DOCTYPE OME [<!ENTITY a "aaaa">]><OME>&a;</OME>'
    path = written(tmp_path / "a.ome.tif", noise((6, 7)), description=xml)
    assert_refused(lambda: read_instances(path), "not safe")


def test_a_palette_is_shown_in_its_colours_and_a_grey_one_as_grey(tmp_path: Path):
    index = noise((6, 7))
    colours = noise((3, 256), np.uint16)
    frame = read_frame(written(tmp_path / "a.tif", index, colormap=colours), 0)
    np.testing.assert_array_equal(render(frame), (colours.T >> 8)[index])
    ramp = np.tile(np.arange(256, dtype=np.uint16)[::-1] * 257, (3, 1))
    grey = read_frame(written(tmp_path / "b.tif", index, colormap=ramp), 0)
    assert grey.photometric == "MONOCHROME2"
    np.testing.assert_array_equal(grey.stored, 255 - index)


def test_attributes_list_tags_and_ome(tmp_path: Path):
    path = tmp_path / "a.ome.tif"
    written(path, STACK, ome=True, metadata={"axes": "TZCYX", "PhysicalSizeX": 0.25})
    rows = {row.keyword: row.value for row in read_attributes(path)}
    assert rows["ImageWidth"] == "7"
    assert rows["OME PhysicalSizeX"] == "0.25"
    assert rows["OME DimensionOrder"]


def test_absurd_sizes_are_refused_at_once(tmp_path: Path):
    path = written(tmp_path / "a.tif", noise((4, 4)))
    with tifffile.TiffFile(path, mode="r+") as tif:
        for name in ("ImageWidth", "ImageLength"):
            tif.pages.first.tags[name].overwrite(65535)
    assert_refused(lambda: read_instances(path), "too large")


def test_a_tile_far_larger_than_its_image_is_refused(tmp_path: Path):
    path = written(tmp_path / "a.tif", noise((32, 32)), tile=(16, 16), compression="deflate")
    with tifffile.TiffFile(path, mode="r+") as tif:
        for name in ("TileWidth", "TileLength"):
            tif.pages.first.tags[name].overwrite(65520)
    assert_refused(lambda: read_frame(path, 0), "too large")


def test_truncated(tmp_path: Path):
    path = written(tmp_path / "a.tif", noise((64, 64)), compression="lzw", rowsperstrip=8)
    data = path.read_bytes()
    for length in (3, 8, 100, len(data) - 500):
        path.write_bytes(data[:length])
        assert_refused(lambda: read_frame(path, 0), "")


@pytest.mark.parametrize("compression", [None, "lzw", "jpeg2000"])
def test_damage_never_gives_anything_but_a_named_problem(tmp_path: Path, compression: Any):
    metadata = {"axes": "CZYX"}
    options: dict[str, Any] = {"compression": compression, "ome": True, "metadata": metadata}
    good = written(tmp_path / "good.tif", noise((2, 3, 32, 32), np.uint16), **options)
    assert assert_only_problems(good.read_bytes(), tmp_path / "bad.tif", 600) > 5


def test_the_real_ones(shared_data: Path):
    """tifffile's own whole-file reading, and Pillow's, agree on each."""
    files = sorted((shared_data / "microscopy").glob("*/*.tif*"))
    assert files
    for path in files:
        array = np.atleast_3d(tifffile.imread(path))
        instance = read_instance(path)
        if instance.frames > 1:
            np.testing.assert_array_equal(read_frame(path, 7).stored, array[7])
            continue
        with Image.open(path) as witness:
            pixels = np.atleast_3d(np.asarray(witness))
        np.testing.assert_array_equal(read_frame(path, 0).stored, pixels[..., 0])


@pytest.mark.parametrize("end", ["min", "max"])
def test_one_end_of_an_imagej_range_makes_no_window(tmp_path: Path, end: str):
    path = tmp_path / "a.tif"
    pixels = np.arange(256, dtype=np.uint16).reshape(16, 16)
    value = -5.0 if end == "min" else 50.0
    tifffile.imwrite(path, pixels, imagej=True, metadata={end: value})
    assert read_frame(path, 0, 0).voi.windows == ()
