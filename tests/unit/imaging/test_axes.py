"""Axes, colours and wavelengths as OME-XML, ImageJ and Micro-Manager state them."""

from __future__ import annotations

import json
import struct
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - as everybody calls it
import tifffile

from app.imaging.axes import Axes, Channel, channel_colors
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.studies.instance_lists import TableError, TableReader, instance_table

STACK = np.arange(2 * 3 * 4 * 5 * 6, dtype=np.uint16).reshape(2, 3, 4, 5, 6)
"""T Z C Y X"""
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def rgba(red: int, green: int, blue: int) -> int:
    """OME's Color: a signed 32-bit number, red in the highest byte."""
    return struct.unpack(">i", bytes((red, green, blue, 255)))[0]


def ome(path: Path, **more: Any) -> Path:
    metadata = {
        "axes": "TZCYX",
        "PhysicalSizeZ": 1.5,
        "PhysicalSizeZUnit": "µm",
        "TimeIncrement": 2.0,
        "TimeIncrementUnit": "min",
        "Channel": {
            "Name": ["DAPI", "b", "c", "d"],
            "Color": [rgba(0, 0, 255), rgba(255, 128, 0), rgba(255, 0, 255), rgba(0, 255, 255)],
            "EmissionWavelength": [461, 519, 617, 668],
            "EmissionWavelengthUnit": ["nm"] * 4,
            "ExcitationWavelength": [0.405, 0.488, 0.561, 0.64],
            "ExcitationWavelengthUnit": ["µm"] * 4,
        },
    } | more
    tifffile.imwrite(path, STACK, ome=True, metadata=metadata)
    return path


def test_every_frame_is_where_its_axes_say(tmp_path: Path):
    path = ome(tmp_path / "a.ome.tif")
    axes = read_instance(path).axes
    assert axes is not None
    assert (len(axes.channels), axes.depths, axes.times) == (4, 3, 2)
    for time, z, channel in product(range(2), range(3), range(4)):
        index = axes.index(channel, z, time)
        assert axes.place(index) == (channel, z, time)
        frame = read_frame(path, index)
        np.testing.assert_array_equal(frame.stored, STACK[time, z, channel])
        assert frame.time_ms == time * 120_000
        assert len(frame.same_grid) == 4
        places = [axes.place(other) for other in frame.same_grid]
        assert places == [(number, z, time) for number in range(4)]


def test_ome_names_colours_wavelengths_and_steps(tmp_path: Path):
    axes = read_instance(ome(tmp_path / "a.ome.tif")).axes
    assert axes is not None
    assert axes.z_step_mm == pytest.approx(1.5e-3)
    assert axes.time_step_ms == pytest.approx(120_000)
    first, second, *_ = axes.channels
    assert (first.name, first.color, first.emission_nm) == ("DAPI", BLUE, 461)
    assert first.excitation_nm == pytest.approx(405)
    assert second.color == (255, 128, 0)
    text = "channel 2 of 4 (b), depth 3 of 3 at 3 µm, time point 2 of 2 at 2 min"
    assert axes.text(axes.index(1, 2, 1)) == text
    assert read_frame(tmp_path / "a.ome.tif", 21).note == text
    assert axes.text(21, channel=False) == "depth 3 of 3 at 3 µm, time point 2 of 2 at 2 min"


def test_the_interval_by_the_times_of_the_planes(tmp_path: Path):
    plane = {"DeltaT": [10.0 * (n // 12) + 0.1 * (n % 12) for n in range(24)]}
    path = ome(tmp_path / "a.ome.tif", TimeIncrement=0.0, Plane=plane)
    axes = read_instance(path).axes
    assert axes is not None
    assert axes.time_step_ms == pytest.approx(10_000)


def test_white_everywhere_is_no_choice_of_colour(tmp_path: Path):
    channel = {"Name": ["x", "y", "z", "w"], "Color": [-1] * 4}
    axes = read_instance(ome(tmp_path / "a.ome.tif", Channel=channel)).axes
    assert axes is not None
    assert {one.color for one in axes.channels} == {None}


def lut(red: int, green: int, blue: int) -> Any:
    ramp = np.arange(256) / 255
    return np.stack([np.rint(ramp * part) for part in (red, green, blue)]).astype(np.uint8)


@pytest.mark.parametrize(("mode", "first"), [("composite", RED), ("grayscale", None)])
def test_imagej_colours_names_and_steps(tmp_path: Path, mode: str, first: Any):
    path = tmp_path / "a.tif"
    metadata = {
        "axes": "TZCYX", "unit": "um", "spacing": 0.5, "finterval": 30.0, "mode": mode,
        "LUTs": [lut(255, 0, 0), lut(0, 255, 0), lut(0, 0, 255), lut(255, 255, 255)],
        "Labels": ["actin", "golgi", "DAPI", "phase"] * 6,
    }  # fmt: skip
    tifffile.imwrite(path, STACK, imagej=True, resolution=(4.0, 4.0), metadata=metadata)
    axes = read_instance(path).axes
    assert axes is not None
    assert (len(axes.channels), axes.depths, axes.times) == (4, 3, 2)
    assert axes.z_step_mm == pytest.approx(0.5e-3)
    assert axes.time_step_ms == pytest.approx(30_000)
    assert axes.names == ("actin", "golgi", "DAPI", "phase")
    assert axes.channels[0].color == first


def test_micromanager_s_summary_is_read(tmp_path: Path):
    """As micro-manager.org/Micro-Manager_File_Formats describes the start of its stacks."""
    summary = {
        "Channels": 2, "ChNames": ["Cy5", "FITC"], "ChColors": [0xFF0000, 0x00FF00],
        "z-step_um": 0.75, "Interval_ms": 5000, "PixelSize_um": 0.1,
    }  # fmt: skip
    text = json.dumps(summary).encode()
    plain = tmp_path / "plain.tif"
    tag = (51123, "s", 0, json.dumps({"Channel": "Cy5"}), True)
    tifffile.imwrite(
        plain, STACK[0, :, :2], imagej=True, metadata={"axes": "ZCYX"}, extratags=[tag]
    )
    data = bytearray(plain.read_bytes())
    order = ">" if data[:2] == b"MM" else "<"
    (first,) = struct.unpack_from(f"{order}I", data, 4)
    # The first directory moves to the end, which leaves room for the header after it.
    head = struct.pack(f"{order}IIIIIIII", 54773648, 0, 483765892, 0, 0, 0, 2355492, len(text))
    with tifffile.TiffFile(plain) as tif:
        assert tif.is_micromanager
    assert first == 8
    (entries,) = struct.unpack_from(f"{order}H", data, first)
    block = bytes(data[first : first + 2 + 12 * entries + 4])
    moved = len(data) + len(data) % 2
    data += bytes(moved - len(data)) + block
    struct.pack_into(f"{order}I", data, 4, moved)
    assert 40 + len(text) <= first + len(block)  # nothing but the old directory is lost
    data[8 : 40 + len(text)] = head + text
    path = tmp_path / "a.tif"
    path.write_bytes(bytes(data))
    axes = read_instance(path).axes
    assert axes is not None
    assert axes.names == ("Cy5", "FITC")
    assert [one.color for one in axes.channels] == [RED, GREEN]
    assert axes.z_step_mm == pytest.approx(0.75e-3)
    assert axes.time_step_ms == 5000
    assert read_frame(path, 0).spacing.column_mm == pytest.approx(1e-4)


def test_a_stack_without_names_has_depths(tmp_path: Path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, STACK[0, :, 0], photometric="minisblack")
    axes = read_instance(path).axes
    assert axes == Axes((Channel(),), 3, 1)
    picture = tmp_path / "b.tif"
    tifffile.imwrite(picture, np.zeros((8, 9, 3), np.uint8), photometric="rgb")
    assert read_instance(picture).axes == Axes()


@pytest.mark.parametrize(
    ("channels", "colors"),
    [
        ([Channel()], [WHITE]),
        ([Channel("DAPI"), Channel()], [BLUE, GREEN]),
        ([Channel(), Channel("Hoechst 33342")], [GREEN, BLUE]),
        ([Channel("GFP"), Channel("mCherry"), Channel("Cy5")], [GREEN, RED, (255, 0, 255)]),
        ([Channel(emission_nm=461), Channel(emission_nm=525)], [BLUE, GREEN]),
        ([Channel()] * 4, [GREEN, RED, (255, 0, 255), (0, 255, 255)]),
        ([Channel("DAPI", (1, 2, 3)), Channel("brightfield")], [(1, 2, 3), WHITE]),
    ],
)
def test_colours_of_the_file_else_of_the_dye_else_in_order(channels: Any, colors: Any):
    assert list(channel_colors(channels)) == colors


def test_names_are_never_the_same_twice():
    names = Axes((Channel("A"), Channel("A"), Channel())).names
    assert names == ("A", "A (2)", "Channel 3")


def test_axes_survive_the_index(tmp_path: Path):
    instance = read_instance(ome(tmp_path / "a.ome.tif"))
    table = json.loads(json.dumps(instance_table([instance])))
    assert TableReader().instances(table, [instance.path])[0].axes == instance.axes
    row = table["rows"][0]
    row[row.index(24)] = 23
    with pytest.raises(TableError):
        TableReader().instances(table, [instance.path])


def test_the_real_stack_is_depths_as_other_readers_have_them(shared_data: Path):
    path = shared_data / "microscopy" / "nuclei" / "img3d.tif"
    axes = read_instance(path).axes
    assert axes == Axes((Channel(),), 31, 1)
    whole, itk = tifffile.imread(path), sitk.GetArrayFromImage(sitk.ReadImage(str(path)))
    np.testing.assert_array_equal(whole, itk)
    for z in (0, 17, 30):
        np.testing.assert_array_equal(read_frame(path, axes.index(0, z, 0)).stored, whole[z])
    assert read_instance(path.with_name("img2d.tif")).axes == Axes()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float32])
def test_all_depths_of_bits_have_channels(tmp_path: Path, dtype: Any):
    array = np.arange(3 * 8 * 9).reshape(3, 8, 9).astype(dtype)
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, array, ome=True, metadata={"axes": "CYX"}, photometric="minisblack")
    axes = read_instance(path).axes
    assert axes is not None
    assert axes.names == ("Channel 1", "Channel 2", "Channel 3")
    for channel in range(3):
        frame = read_frame(path, channel)
        assert frame.stored.dtype == dtype
        np.testing.assert_array_equal(frame.stored, array[channel])


def test_colour_stacks_have_depths_and_one_channel(tmp_path: Path):
    array = np.random.default_rng(3).integers(0, 255, (4, 8, 9, 3), np.uint8)
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, array, ome=True, metadata={"axes": "ZYXS"}, photometric="rgb")
    axes = read_instance(path).axes
    assert axes == Axes((Channel(),), 4, 1)
    np.testing.assert_array_equal(read_frame(path, 2).stored, array[2])
