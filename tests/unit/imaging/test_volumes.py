"""Volumes: voxels and place as SimpleITK has them, or resampled, said so, and exact."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import highdicom
import numpy as np
import pydicom
import pytest
import SimpleITK
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.space.planes import FramePlane
from app.imaging.space.stacks import StackGeometry, sort_stack, stack_geometry, voxel_grid
from app.imaging.space.volumes import Assembly, resample
from app.imaging.types import Frame, RealWorldMap, Rescale, Series, Volume
from tests.unit.imaging.files import item, make_dicom
from tests.unit.imaging.stack_files import assemble, enhanced_mr, sampled_slice, slice_frame

AXIAL = (1, 0, 0, 0, 1, 0)
Array = NDArray[Any]


def series_in(decoder: Decoder, *paths: Path) -> Series:
    (study,) = decoder.scan(paths).result(60).studies
    (series,) = study.series
    return series


def same(first: Volume, second: Volume) -> bool:
    return bool(
        np.array_equal(first.voxels, second.voxels) and np.array_equal(first.affine, second.affine)
    )


def test_slices_shifted_by_whole_pixels_keep_every_row_in_spite_of_rounding():
    """0.1 + 0.2 mm are 3.0000000000000004 pixels of 0.1 mm."""
    planes = [
        FramePlane((0, y, z), (1, 0, 0), (0, 1, 0), (0.1, 0.1)) for y, z in ((0, 0), (0.1 + 0.2, 1))
    ]
    stack = sort_stack(planes, 4, 4)
    assert stack.aside[1, 1] > 3
    sevens = np.full((2, 4, 4), 7, np.int16)
    found = resample(sevens, stack, voxel_grid(stack), -1)
    assert found[:, :, 0].tolist() == [[7, 7, 7, 7, -1, -1, -1], [-1, -1, -1, 7, 7, 7, 7]]


def test_mr_t1_equals_simpleitks_volume(decoder: Decoder, shared_data: Path):
    folder = shared_data / "series/mr-t1"
    volume = decoder.volume(series_in(decoder, folder)).result(60)
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    assert volume.warnings == ()
    assert volume.spacing == pytest.approx(image.GetSpacing(), abs=1e-6)
    assert volume.direction.ravel() == pytest.approx(image.GetDirection(), abs=1e-6)
    assert volume.affine[:3, 3] == pytest.approx(image.GetOrigin(), abs=1e-6)
    assert volume.template.rescale == Rescale()
    np.testing.assert_array_equal(volume.voxels, SimpleITK.GetArrayFromImage(image))
    point = volume.affine @ (100, 200, 50, 1)
    assert point[:3] == pytest.approx(image.TransformIndexToPhysicalPoint((100, 200, 50)), abs=1e-6)


@pytest.mark.parametrize("folder", ["series/mr-t1", "series/ct-head"])
def test_reversed_shuffled_and_duplicated_files_give_the_same_volume(
    decoder: Decoder, shared_data: Path, tmp_path: Path, folder: str
):
    files = sorted(path for path in (shared_data / folder).iterdir() if path.suffix == ".dcm")
    files = files[:24] if "mr" in folder else files
    expected = decoder.volume(series_in(decoder, *files)).result(60)
    assert same(decoder.volume(series_in(decoder, *files[::-1])).result(60), expected)
    shuffled = random.Random(1).sample(files, len(files))
    assert same(decoder.volume(series_in(decoder, *shuffled)).result(60), expected)
    copies = [tmp_path / f"{path.name}" for path in files[::3]]
    for source, copy in zip(files[::3], copies, strict=True):
        shutil.copy2(source, copy)
    assert same(decoder.volume(series_in(decoder, *copies, *shuffled)).result(60), expected)


def test_ct_head_is_resampled_to_what_simpleitk_finds_between_its_slices(
    decoder: Decoder, shared_data: Path
):
    """Each slice is a SimpleITK image of its own; a voxel lies between two of them."""
    series = series_in(decoder, shared_data / "series/ct-head")
    volume = decoder.volume(series).result(60)
    gap, tilt = volume.warnings
    assert "resampled to a slice distance of 1.08 mm" in gap
    assert "18.5°" in tilt
    assert volume.voxels.dtype == np.int16
    slices = [SimpleITK.ReadImage(str(one.path)) for one in series.instances]
    slope, intercept = volume.template.rescale.slope, volume.template.rescale.intercept
    normal = np.array(slices[0].GetDirection()).reshape(3, 3)[:, 2]
    depths = np.array([np.dot(one.GetOrigin(), normal) for one in slices])
    arrays = [SimpleITK.GetArrayFromImage(one)[0].astype(float) for one in slices]
    rng = np.random.default_rng(1)
    checked = 0
    for _ in range(400):
        k, j, i = (int(rng.integers(0, size)) for size in volume.voxels.shape)
        point = (volume.affine @ (i, j, k, 1))[:3]
        depth = float(point @ normal)
        below = int(np.clip(np.searchsorted(depths, depth + 1e-6) - 1, 0, len(depths) - 2))
        part = (depth - depths[below]) / (depths[below + 1] - depths[below])
        values = [
            in_slice(slices[n], arrays[n], point - (depth - depths[n]) * normal)
            for n in (below, below + 1)
        ]
        if any(np.isnan(value) for value in values):
            continue
        expected = (1 - part) * values[0] + part * values[1]
        found = volume.voxels[k, j, i] * slope + intercept
        assert found == pytest.approx(expected, abs=0.51)
        checked += 1
    assert checked > 200


def in_slice(image: SimpleITK.Image, pixels: Array, point: Array) -> float:
    """Bilinear by hand at SimpleITK's continuous index; NaN outside the pixel centres."""
    x, y, _ = image.TransformPhysicalPointToContinuousIndex([float(v) for v in point])
    x, y = (round(v) if abs(v - round(v)) < 1e-5 else v for v in (x, y))
    rows, columns = pixels.shape
    if not (0 <= x <= columns - 1 and 0 <= y <= rows - 1):
        return float("nan")
    x0, y0 = min(int(x), columns - 2), min(int(y), rows - 2)
    u, v = x - x0, y - y0
    top = (1 - u) * pixels[y0, x0] + u * pixels[y0, x0 + 1]
    bottom = (1 - u) * pixels[y0 + 1, x0] + u * pixels[y0 + 1, x0 + 1]
    return float((1 - v) * top + v * bottom)


@settings(deadline=None, max_examples=40)
@given(
    gaps=st.lists(st.floats(0.5, 6), min_size=2, max_size=8),
    drift=st.tuples(st.floats(-0.1, 0.1), st.floats(-0.1, 0.1)),
    angle=st.floats(-3, 3),
    spacing=st.tuples(st.floats(0.4, 2), st.floats(0.4, 2)),
    order=st.randoms(use_true_random=False),
)
def test_resampling_keeps_a_linear_function_of_the_patient_exactly(
    gaps: list[float],
    drift: tuple[float, float],
    angle: float,
    spacing: tuple[float, float],
    order: random.Random,
):
    """Linear interpolation is exact on it: a voxel off by a tenth of a millimetre is seen."""

    def field(points: Array) -> Array:
        return (points @ (3.0, -2.0, 5.0) + 100).astype(np.float32)

    c, s = np.cos(angle), np.sin(angle)
    cosines = (c, s, 0, -s, c, 0)
    heights = np.concatenate([[0], np.cumsum(gaps)])
    frames = [
        sampled_slice(field, (20, 24), cosines, (drift[0] * z, drift[1] * z, z), spacing)
        for z in heights
    ]
    order.shuffle(frames)
    volume = assemble(frames)
    k, j, i = np.indices(volume.voxels.shape)
    points = np.stack([i, j, k, np.ones_like(i)], axis=-1) @ volume.affine.T
    lowest = min(float(frame.stored.min()) for frame in frames)
    filled = volume.voxels == np.float32(lowest)
    # What lies a pixel inside every slice has been seen by its two neighbours.
    inverse = np.linalg.inv(np.array([[*cosines[:3]], [*cosines[3:]], [0, 0, 1]]).T)
    inside = np.ones(volume.voxels.shape, bool)
    for z in heights:
        local = (points[..., :3] - (drift[0] * z, drift[1] * z, 0)) @ inverse.T
        column, row = local[..., 0] / spacing[1], local[..., 1] / spacing[0]
        inside &= (column > 1) & (column < 22) & (row > 1) & (row < 18)
    assert not (filled & inside).any()
    difference = np.abs(volume.voxels - field(points[..., :3]))
    # 0.01 mm or 1% of sideways shift and distance count as none, see `stacks`.
    assert difference[~filled].max() <= 0.35
    assert points[..., 2].max() <= heights[-1] + 1e-6
    assert points[..., 2].min() >= -1e-6


def test_slices_with_their_own_rescale_become_modality_values():
    frames = [
        slice_frame(
            np.full((4, 4), 100, np.int16), AXIAL, (0, 0, z), rescale=Rescale(1.0 + z, -z, "BQML")
        )
        for z in range(3)
    ]
    volume = assemble(frames)
    assert volume.voxels.dtype == np.float32
    assert volume.voxels[:, 0, 0].tolist() == [100, 199, 298]
    assert volume.template.rescale == Rescale(units="BQML")


def test_slices_of_one_rescale_keep_their_stored_values():
    frames = [
        slice_frame(
            np.full((4, 4), z, np.uint16), AXIAL, (0, 0, z), rescale=Rescale(2.0, -1024.0, "HU")
        )
        for z in range(3)
    ]
    volume = assemble(frames)
    assert volume.voxels.dtype == np.uint16
    assert volume.voxels[:, 0, 0].tolist() == [0, 1, 2]
    assert volume.template.rescale == Rescale(2.0, -1024.0, "HU")


@pytest.mark.parametrize("odd", [{"photometric": "MONOCHROME1"}, {"inverse": True}])
def test_slices_of_which_some_show_high_values_dark_are_refused(odd: dict[str, Any]):
    frames = [slice_frame(np.full((4, 4), z, np.uint16), AXIAL, (0, 0, z)) for z in range(3)]
    assemble([replace(frame, **odd) for frame in frames])
    with pytest.raises(FileProblem, match="some of its images show high values bright"):
        assemble([frames[0], frames[1], replace(frames[2], **odd)])


@pytest.mark.parametrize(
    ("field", "both"),
    [
        ("rescale", (Rescale(2, 0, "HU"), Rescale(2, 0, "HU_MOD"))),
        ("padding", ((0.0, 0.0), (9.0, 9.0))),
        ("real_world", ((RealWorldMap(0, 9, 2.0, units="ml"),), (RealWorldMap(0, 9, 3.0),))),
        ("real_world", tuple((RealWorldMap(0, 1, lut=np.array([1.0, x])),) for x in (1, 2))),
    ],
)
def test_what_holds_for_some_slices_only_is_not_said_of_all(field: str, both: tuple[Any, Any]):
    frames = [slice_frame(np.full((4, 4), z, np.uint16), AXIAL, (0, 0, z)) for z in range(3)]
    first, second = both
    for values, expected in (
        ((first, first, first), first),
        ((first, first, second), Rescale(2, 0) if field == "rescale" else type(first)()),
        ((second, first, first), Rescale(2, 0) if field == "rescale" else type(first)()),
    ):
        changed = [replace(f, **{field: v}) for f, v in zip(frames, values, strict=True)]
        volume = assemble(changed)
        found = getattr(volume.template, field)
        assert found == expected or (not found and not expected)
        assert volume.voxels[:, 0, 0].tolist() == [0, 1, 2]


def test_copies_of_a_slice_are_left_out_and_other_images_there_refused():
    frames = [slice_frame(np.full((4, 4), z, np.uint8), AXIAL, (0, 0, z)) for z in range(3)]
    assert assemble([*frames, frames[1]]).voxels.shape == (3, 4, 4)
    other = slice_frame(np.full((4, 4), 9, np.uint8), AXIAL, (0, 0, 1))
    with pytest.raises(FileProblem, match="same position"):
        assemble([*frames, other])


def test_of_several_phases_in_one_object_the_first_is_taken_and_said():
    frames = [
        slice_frame(np.full((4, 4), 10 * phase + z, np.uint8), AXIAL, (0, 0, z))
        for phase in range(2)
        for z in range(3)
    ]
    volume = assemble(frames)
    assert volume.voxels[:, 0, 0].tolist() == [0, 1, 2]
    assert volume.warnings == ("the first of 2 images at each position",)


def plain(z: float, **changes: Any) -> Frame:
    return slice_frame(np.zeros((4, 4), np.uint8), AXIAL, (0, 0, z), **changes)


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([plain(0)], "fewer than two slices"),
        ([plain(0), replace(plain(1), stored=np.zeros((4, 5), np.uint8))], "different sizes"),
        ([plain(0), replace(plain(1), stored=np.zeros((4, 4, 3), np.uint8))], "in colour"),
        ([plain(0), slice_frame(np.zeros((4, 4)), (0, 1, 0, 0, 0, 1), (0, 0, 1))], "not parallel"),
        ([plain(0), replace(plain(1), orientation=plain(1).orientation.__class__())], "where they"),
        ([plain(0), plain(1, spacing=(0.5, 1))], "pixel spacings"),
    ],
)
def test_what_is_no_volume_is_refused_in_words(frames: list[Frame], reason: str):
    with pytest.raises(FileProblem, match=reason):
        assemble(frames, Path("a.dcm"))


def test_labels_are_never_interpolated():
    assembly = Assembly(Path("a.dcm"), 3, labels=True)
    for place, z in enumerate((0, 1, 3)):
        assembly.put(place, plain(z))
    with pytest.raises(FileProblem, match="not evenly spaced"):
        assembly.volume()


def test_a_volume_that_would_not_fit_into_memory_is_refused_before_it_is_made():
    assembly = Assembly(Path("a.dcm"), 1_000_000, max_bytes=2**20)
    with pytest.raises(FileProblem, match="GB of memory"):
        assembly.put(0, plain(0))


def test_the_decoder_refuses_what_is_no_volume(decoder: Decoder, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm")
    series = series_in(decoder, path)
    with pytest.raises(FileProblem, match="fewer than two slices"):
        decoder.volume(series).result(60)


def made_stack(folder: Path, count: int = 4) -> Path:
    for z in range(count):
        make_dicom(
            folder / f"{z}.dcm",
            np.full((8, 6), z, np.uint16),
            SOPInstanceUID=f"1.5.{z}",
            Modality="CT",
            ImageOrientationPatient=list(AXIAL),
            ImagePositionPatient=[0, 0, 2.5 * z],
            PixelSpacing=[1, 1],
            InstanceNumber=z + 1,
        )
    return folder


def test_a_volume_is_made_once_and_its_progress_told(decoder: Decoder, tmp_path: Path):
    series = series_in(decoder, made_stack(tmp_path))
    told: list[tuple[int, int]] = []
    volume = decoder.volume(series, progress=lambda done, total: told.append((done, total)))
    assert told[-1:] in ([], [(4, 4)]) or volume.result(60)
    assert volume.result(60).voxels[:, 0, 0].tolist() == [0, 1, 2, 3]
    assert told[-1] == (4, 4)
    assert told == sorted(set(told))
    assert decoder.volume(series).result(60) is volume.result(60)
    assert not volume.result(60).voxels.flags.writeable


class Token:
    """A cancel token as `CancelLike` asks for."""

    def __init__(self) -> None:
        self.cancelled = False
        self._callbacks: list[Any] = []

    def on_cancel(self, callback: Any) -> None:
        self._callbacks.append(callback)

    def cancel(self) -> None:
        self.cancelled = True
        for callback in self._callbacks:
            callback()


def test_a_cancelled_request_ends_and_leaves_others_theirs(decoder: Decoder, tmp_path: Path):
    series = series_in(decoder, made_stack(tmp_path))
    started, token = threading.Event(), Token()
    first = decoder.volume(series, token, lambda done, total: started.set())
    second = decoder.volume(series)
    token.cancel()
    assert first.cancelled() or first.done()
    assert second.result(60).voxels.shape == (4, 8, 6)


@pytest.mark.parametrize("name", ["rtdose.dcm", "rtdose_rle.dcm"])
def test_a_dose_grid_equals_simpleitks_volume(decoder: Decoder, name: str):
    path = Path(pydicom.__file__).parent / "data/test_files" / name
    instance = series_in(decoder, path).instances[0]
    volume = decoder.volume(instance).result(60)
    image = SimpleITK.ReadImage(str(path))
    assert volume.spacing == pytest.approx(image.GetSpacing(), abs=1e-6)
    assert volume.affine[:3, 3] == pytest.approx(image.GetOrigin(), abs=1e-6)
    # SimpleITK reads stored values: it does not know DoseGridScaling.
    np.testing.assert_array_equal(volume.voxels, SimpleITK.GetArrayFromImage(image))
    dose = pydicom.dcmread(path).DoseGridScaling
    assert volume.template.rescale.slope == pytest.approx(float(dose))


@pytest.mark.parametrize("name", ["volumes/brain1_image.nrrd", "volumes/brain1_label.nrrd"])
def test_a_volume_file_has_simpleitks_value_at_every_place(
    decoder: Decoder, shared_data: Path, name: str
):
    path = shared_data / name
    series = series_in(decoder, path)
    volume = decoder.volume(series.instances[0]).result(60)
    assert stack_geometry(series) == geometry_of_volume(volume)
    image = SimpleITK.ReadImage(str(path))
    rng = np.random.default_rng(2)
    for _ in range(200):
        index = [int(rng.integers(0, size)) for size in volume.voxels.shape[::-1]]
        point = volume.affine @ (*index, 1)
        there = image.TransformPhysicalPointToIndex([float(v) for v in point[:3]])
        assert volume.voxels[tuple(index[::-1])] == pytest.approx(image.GetPixel(there))


@pytest.mark.parametrize("order", [range(5), (4, 3, 2, 1, 0), (3, 0, 4, 1, 2)])
def test_an_enhanced_object_equals_highdicoms_volume(
    decoder: Decoder, tmp_path: Path, order: Sequence[int]
):
    cosines = (0.8, 0.6, 0, -0.36, 0.48, -0.8)
    path = enhanced_mr(tmp_path / "a.dcm", order, cosines)
    same_as_highdicom(decoder, path)


def test_a_real_enhanced_object_equals_highdicoms_volume(decoder: Decoder, shared_data: Path):
    same_as_highdicom(decoder, shared_data / "dicom/syntaxes/eCT_Supplemental.dcm")


def same_as_highdicom(decoder: Decoder, path: Path) -> None:
    """Every voxel of highdicom's volume is ours at the same place, and there are no others."""
    volume = decoder.volume(series_in(decoder, path).instances[0]).result(60)
    image: Any = highdicom.imread(path)
    stages = ("real_world_transform", "modality_transform", "voi_transform")
    stages += ("palette_color_lut", "icc_profile")
    theirs: Any = image.get_volume(dtype=np.float64, **{f"apply_{one}": False for one in stages})
    assert theirs.shape == volume.voxels.shape
    inverse = np.linalg.inv(volume.affine) @ theirs.affine
    index = np.stack([*np.indices(theirs.shape), np.ones(theirs.shape)], axis=-1)
    ours = index @ inverse.T
    nearest = np.rint(ours[..., :3]).astype(int)
    np.testing.assert_allclose(ours[..., :3], nearest, atol=1e-3)
    i, j, k = np.moveaxis(nearest, -1, 0)
    np.testing.assert_array_equal(volume.voxels[k, j, i], theirs.array)


def test_the_first_of_an_enhanced_objects_phases_is_its_volume(decoder: Decoder, tmp_path: Path):
    path = enhanced_mr(tmp_path / "a.dcm", range(4), AXIAL, phases=3)
    instance = series_in(decoder, path).instances[0]
    volume = decoder.volume(instance).result(60)
    assert volume.voxels[:, 0, 0].tolist() == [0, 1000, 2000, 3000]
    assert volume.warnings == ("the first of 3 images at each position",)
    assert stack_geometry(instance) is not None


def test_a_reconstructed_nm_volume_lies_where_its_detector_says(decoder: Decoder, tmp_path: Path):
    """PS3.3 C.8.4.15: the spacing between slices may be negative there."""
    path = make_dicom(
        tmp_path / "nm.dcm",
        np.arange(3 * 16, dtype=np.uint16).reshape(3, 4, 4),
        Modality="NM",
        SOPClassUID="1.2.840.10008.5.1.4.1.1.20",
        ImageType=["ORIGINAL", "PRIMARY", "RECON TOMO", "EMISSION"],
        NumberOfFrames=3,
        PixelSpacing=[4, 4],
        SpacingBetweenSlices=-4,
        SliceVector=[1, 2, 3],
        DetectorInformationSequence=[
            item(ImageOrientationPatient=list(AXIAL), ImagePositionPatient=[1, 2, 300])
        ],
    )
    volume = decoder.volume(series_in(decoder, path).instances[0]).result(60)
    assert volume.affine[:3, 3] == pytest.approx((1, 2, 292))
    assert volume.spacing == pytest.approx((4, 4, 4))
    assert volume.voxels[:, 0, 0].tolist() == [32, 16, 0]


def geometry_of_volume(volume: Volume) -> StackGeometry:
    """What a header should have told of a regular volume."""
    slices, rows, columns = volume.voxels.shape
    lines = tuple((float(a), float(b), float(c)) for a, b, c in volume.direction)
    x, y, z = volume.affine[:3, 3].tolist()
    return StackGeometry((columns, rows, slices), volume.spacing, lines, (x, y, z), True)


def test_closing_the_decoder_ends_a_volume_under_way(tmp_path: Path):
    decoder = Decoder(1)
    series = series_in(decoder, made_stack(tmp_path, 40))
    volume = decoder.volume(series)
    decoder.close()
    with pytest.raises((CancelledError, FileProblem)):
        volume.result(60)
