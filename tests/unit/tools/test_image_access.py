"""What tools are given of an image: a channel, a volume, a region, at full bit depth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
import tifffile

from app.agent.privacy.model_pictures import caption
from app.errors import Cancelled, FileProblem
from app.imaging.decode import Decoder
from app.imaging.types import Instance, Window
from app.tools.api import CancelToken, ToolFailed, ToolRetry
from app.tools.images import OpenImage, RunImages
from app.workspace.studies import instances_of
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.usefixtures("forked")

STACK = (np.arange(2 * 3 * 4 * 30 * 40) % 65521).astype(np.uint16).reshape(2, 3, 4, 30, 40)
"""T Z C Y X"""
NAMES = ["DAPI", "GFP", "RFP", "Cy5"]


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    made = Decoder(workers=1)
    yield made
    made.close()


def run_images(decoder: Decoder, out: Path, *paths: Path, frame: int = 0, **more: Any) -> RunImages:
    studies = decoder.scan(list(paths)).result(60).studies
    found = [
        OpenImage(f"image-{n}", one, frame if one.frames > frame else 0, **more)
        for n, one in enumerate(instances_of(studies), start=1)
    ]
    out.mkdir(exist_ok=True)
    return RunImages(found, out, decoder)


@pytest.fixture
def stack(decoder: Decoder, tmp_path: Path) -> RunImages:
    path = tmp_path / "a.ome.tif"
    metadata = {"axes": "TZCYX", "PhysicalSizeX": 0.25, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 2.0,
                "Channel": {"Name": NAMES}}  # fmt: skip
    tifffile.imwrite(path, STACK, ome=True, metadata=metadata)
    # Shown: channel 2 (RFP), depth 1, time 1.
    return run_images(decoder, tmp_path / "out", path, frame=(1 * 3 + 1) * 4 + 2,
                      window=Window(100.0, 50.0))  # fmt: skip


def test_the_shown_channel_by_default_and_any_other_by_number_or_name(stack: RunImages):
    shown = stack.resolve("image-1")
    np.testing.assert_array_equal(shown.frame.stored, STACK[1, 1, 2])
    assert shown.frame.stored.dtype == np.uint16
    assert shown.channel_names == tuple(NAMES)
    assert shown.channel == 2
    assert shown.window == Window(100.0, 50.0)
    for channel in (0, "DAPI", "dapi", "0"):
        other = stack.resolve("image-1", channel=channel)
        np.testing.assert_array_equal(other.frame.stored, STACK[1, 1, 0])
        assert other.channel == 0
        assert other.window != shown.window  # set for the shown channel only
    there = stack.resolve("image-1", channel="Cy5", z=2, time=0)
    np.testing.assert_array_equal(there.frame.stored, STACK[0, 2, 3])
    np.testing.assert_array_equal(stack.resolve("image-1", 5).frame.stored, STACK[0, 1, 1])


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"channel": "YFP"}, "no channel YFP"),
        ({"channel": 4}, "no channel 4"),
        ({"z": 3}, "3 depths, numbered 0 to 2; there is no 3"),
        ({"time": -1}, "2 time points, numbered 0 to 1"),
    ],
)
def test_a_wrong_place_names_those_that_there_are(
    stack: RunImages, place: dict[str, Any], said: str
):
    with pytest.raises(ToolRetry) as error:
        stack.resolve("image-1", **place)
    assert said in str(error.value.reason)
    if "channel" in place:
        assert "0 (DAPI), 1 (GFP), 2 (RFP), 3 (Cy5)" in error.value.remedy


def test_a_dye_names_its_channel(decoder: Decoder, tmp_path: Path):
    path = tmp_path / "a.ome.tif"
    metadata = {"axes": "CYX", "Channel": {"Name": ["GFP-Actin", "Doe DAPI", "own"]}}
    tifffile.imwrite(path, STACK[0, 0, :3], ome=True, metadata=metadata, photometric="minisblack")
    images = run_images(decoder, tmp_path / "out", path)
    for name, channel in (("dapi", 1), ("GFP", 0), ("gfp-actin", 0), ("channel 3", 2), ("own", 2)):
        assert images.resolve("image-1", channel=name).channel == channel
    with pytest.raises(ToolRetry) as error:
        images.resolve("image-1", channel="YFP")
    assert "0 (GFP), 1 (DAPI), 2 (Channel 3)" in error.value.remedy
    assert "Doe" not in str(error.value)
    sent = caption("image-1", images.resolve("image-1", channel=1), 40, 30)
    assert "channel 1 (DAPI) of 3, counted from 0" in sent


def test_notes_say_what_there_is(stack: RunImages):
    (note,) = stack.notes(remote=True)
    assert (note["channels"], note["depths"], note["times"]) == (NAMES, 3, 2)


def test_depths_as_a_volume(stack: RunImages):
    volume = stack.volume("image-1", channel="GFP", time=0)
    np.testing.assert_array_equal(volume.voxels, STACK[0, :, 1])
    assert volume.voxels.dtype == np.uint16
    assert volume.spacing == pytest.approx((2e-3, 0.5e-3, 0.25e-3))
    for z, (name, frame) in enumerate(volume.slices):
        np.testing.assert_array_equal(stack.resolve(name, frame).frame.stored, STACK[0, z, 1])
    np.testing.assert_array_equal(stack.volume("image-1").voxels, STACK[1, :, 2])


def test_a_volume_may_not_take_all_memory_and_can_be_cancelled(
    stack: RunImages, monkeypatch: pytest.MonkeyPatch
):
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        stack.volume("image-1", cancel=cancel)
    monkeypatch.setattr("app.tools.images.MAX_VOLUME_BYTES", 30 * 40 * 2 * 3 - 1)
    with pytest.raises(ToolFailed, match="memory"):
        stack.volume("image-1")


def test_slices_of_a_scan_as_a_volume(decoder: Decoder, tmp_path: Path):
    """The same voxels and spacing as SimpleITK reads from the same files."""
    folder = tmp_path / "scan"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for z in range(5):
        make_dicom(
            folder / f"{z}.dcm",
            rng.integers(-1000, 1000, (12, 14)).astype(np.int16),
            Modality="CT",
            SOPInstanceUID=f"1.2.3.{z + 1}",
            SeriesInstanceUID="1.2.3",
            StudyInstanceUID="1.2",
            FrameOfReferenceUID="1.2.9",
            PixelRepresentation=1,
            PixelSpacing=[0.5, 0.75],
            ImagePositionPatient=[0.0, 0.0, 2.5 * z],
            ImageOrientationPatient=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            RescaleSlope=1,
            RescaleIntercept=-24,
            InstanceNumber=z + 1,
        )
    images = run_images(decoder, tmp_path / "out", folder)
    volume = images.volume("image-3")
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    witness = reader.Execute()
    real = volume.voxels * volume.rescale.slope + volume.rescale.intercept
    np.testing.assert_array_equal(real, sitk.GetArrayFromImage(witness))
    assert volume.spacing == pytest.approx(tuple(reversed(witness.GetSpacing())))
    for z, (name, frame) in enumerate(volume.slices):
        np.testing.assert_array_equal(images.resolve(name, frame).frame.stored, volume.voxels[z])


def test_single_pictures_are_no_volume(decoder: Decoder, tmp_path: Path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, STACK[0, 0, 0])
    images = run_images(decoder, tmp_path / "out", path)
    with pytest.raises(ToolRetry, match="one depth"):
        images.volume("image-1")
    with pytest.raises(ToolRetry, match="one channel"):
        images.resolve("image-1", channel=1)


LARGE = np.random.default_rng(2).integers(0, 255, (300, 420, 3), np.uint8)


def pyramid(path: Path, **options: Any) -> Path:
    with tifffile.TiffWriter(path, ome=True) as writer:
        writer.write(LARGE, subifds=2, photometric="rgb",
                     metadata={"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}, **options)  # fmt: skip
        writer.write(LARGE[::2, ::2], photometric="rgb", subfiletype=1, **options)
        writer.write(LARGE[::4, ::4], photometric="rgb", subfiletype=1, **options)
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"tile": (64, 48)},
        {"tile": (64, 48), "compression": "deflate", "predictor": 2},
        {"rowsperstrip": 7},
        {"tile": (64, 48), "planarconfig": "separate"},
    ],
)
def test_regions_of_a_pyramid(decoder: Decoder, tmp_path: Path, options: dict[str, Any]):
    if options.get("planarconfig"):
        path = tmp_path / "a.ome.tif"
        options = dict(options)
        tifffile.imwrite(path, np.moveaxis(LARGE, -1, 0), photometric="rgb", **options)
        levels = [LARGE]
    else:
        path = pyramid(tmp_path / "a.ome.tif", **options)
        levels = [LARGE, LARGE[::2, ::2], LARGE[::4, ::4]]
    images = run_images(decoder, tmp_path / "out", path)
    for level, array in enumerate(levels):
        region = images.region("image-1", 37, 51, 60, 20, level)
        np.testing.assert_array_equal(region.frame.stored, array[51:71, 37:97])
        assert region.levels == tuple((one.shape[1], one.shape[0]) for one in levels)
        if len(levels) > 1:
            assert region.frame.spacing.row_mm == pytest.approx(0.5e-3 * 2**level, rel=0.02)
    beyond = images.region("image-1", 400, 290, 1000, 1000, 0)
    np.testing.assert_array_equal(beyond.frame.stored, LARGE[290:, 400:])
    assert (beyond.x, beyond.y) == (400, 290)
    whole = images.region("image-1", 0, 0, 420, 300)
    np.testing.assert_array_equal(whole.frame.stored, LARGE)


def test_a_region_of_one_channel_and_of_a_turned_picture(stack: RunImages, decoder: Decoder,
                                                         tmp_path: Path):  # fmt: skip
    region = stack.region("image-1", 3, 4, 10, 5)
    np.testing.assert_array_equal(region.frame.stored, STACK[1, 1, 2][4:9, 3:13])
    turned = tmp_path / "b.tif"
    tifffile.imwrite(turned, STACK[0, 0, 0], extratags=[(274, "H", 1, 6, True)])
    images = run_images(decoder, tmp_path / "out", turned)
    part = images.region("image-1", 2, 3, 7, 9)
    np.testing.assert_array_equal(part.frame.stored, np.rot90(STACK[0, 0, 0], -1)[3:12, 2:9])


@pytest.mark.parametrize(
    ("box", "level", "said"),
    [
        ((0, 0, 10, 10), 3, "levels 0 to 2"),
        ((500, 0, 10, 10), 0, "outside level 0"),
        ((0, 0, 0, 10), 0, "outside"),
    ],
)
def test_a_region_that_is_not_there(
    decoder: Decoder, tmp_path: Path, box: tuple[int, int, int, int], level: int, said: str
):
    images = run_images(decoder, tmp_path / "out", pyramid(tmp_path / "a.ome.tif"))
    with pytest.raises(FileProblem, match=said):
        images.region("image-1", *box, level)


def test_a_region_that_is_too_large(
    decoder: Decoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((9000, 9000), np.uint8), compression="deflate", tile=(512, 512))
    images = run_images(decoder, tmp_path / "out", path)
    with pytest.raises(FileProblem, match="too large"):
        images.region("image-1", 0, 0, 9000, 9000)
    assert images.region("image-1", 100, 100, 50, 60).frame.stored.shape == (60, 50)


SM = "1.2.840.10008.5.1.4.1.1.77.1.6"


def dicom_slide(path: Path, matrix: Any, uid: str, **more: Any) -> Path:
    """Tiles of 32 x 32, TILED_FULL."""
    rows, columns = matrix.shape[:2]
    down, across = -(-rows // 32), -(-columns // 32)
    padded = np.zeros((down * 32, across * 32, 3), np.uint8)
    padded[:rows, :columns] = matrix
    tiles = padded.reshape(down, 32, across, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)
    return make_dicom(
        path,
        tiles,
        **{
            "SOPClassUID": SM, "Modality": "SM", "NumberOfFrames": len(tiles),
            "SOPInstanceUID": uid, "SeriesInstanceUID": "1.5", "StudyInstanceUID": "1.4",
            "SamplesPerPixel": 3, "PhotometricInterpretation": "RGB", "PlanarConfiguration": 0,
            "Rows": 32, "Columns": 32, "BitsAllocated": 8, "BitsStored": 8, "HighBit": 7,
            "TotalPixelMatrixRows": rows, "TotalPixelMatrixColumns": columns,
            "DimensionOrganizationType": "TILED_FULL",
        } | more,
    )  # fmt: skip


def test_levels_of_a_dicom_slide_are_files(decoder: Decoder, tmp_path: Path):
    folder = tmp_path / "slide"
    folder.mkdir()
    dicom_slide(folder / "a.dcm", LARGE[::4, ::4], "1.6.1")
    dicom_slide(folder / "b.dcm", LARGE, "1.6.2")
    dicom_slide(folder / "label.dcm", LARGE[:60, :60], "1.6.3")
    images = run_images(decoder, tmp_path / "out", folder)
    region = images.region("image-1", 100, 90, 70, 50, 0)
    np.testing.assert_array_equal(region.frame.stored, LARGE[90:140, 100:170])
    assert region.levels == ((420, 300), (105, 75))
    small = images.region("image-1", 10, 20, 30, 40, 1)
    np.testing.assert_array_equal(small.frame.stored, LARGE[::4, ::4][20:60, 10:40])


def test_a_slide_too_large_to_be_stitched_has_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from app.imaging.reading.dicom_image import read_frame, read_region

    path = dicom_slide(tmp_path / "a.dcm", LARGE, "1.6.4")
    monkeypatch.setattr("app.imaging.guards.MAX_SAMPLES", 32 * 32 * 3)
    assert read_frame(path, 0, 3).stored.shape == (32, 32, 3)
    region = read_region(path, 0, 0, 0, (50, 60, 120, 130))
    np.testing.assert_array_equal(region.frame.stored, LARGE[60:130, 50:120])


def test_any_other_image_is_cropped(decoder: Decoder, tmp_path: Path):
    pixels = np.arange(20 * 30, dtype=np.uint16).reshape(20, 30)
    path = make_dicom(tmp_path / "a.dcm", pixels)
    images = run_images(decoder, tmp_path / "out", path)
    np.testing.assert_array_equal(
        images.region("image-1", 5, 6, 7, 8).frame.stored, pixels[6:14, 5:12]
    )


def test_a_frame_shows_findings_of_its_sister_channels_only(stack: RunImages):
    shown = stack.resolve("image-1").frame
    same = stack.resolve("image-1", channel=0).ref
    elsewhere = stack.resolve("image-1", channel=0, z=0).ref
    assert shown.shows(same)
    assert shown.shows(shown.ref)
    assert not shown.shows(elsewhere)
    changed = type(same)(same.sop_instance_uid, shown.ref.frame, "0" * 64)
    assert not shown.shows(changed)


def test_instances_have_no_axes_where_none_are_known():
    assert Instance(Path("a"), "1", "dicom", 1, 1).axes is None
