"""Segmentations over images: which pixels, which colours, and never on the wrong image.

Witnesses: highdicom and pydicom for the pixels, SimpleITK for where they lie, LittleCMS for the
colours.
"""

from __future__ import annotations

import math
import warnings
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
from PIL import Image, ImageCms

from app.errors import FileProblem
from app.imaging.dicom.palette import color_from_cielab
from app.imaging.findings import Heatmap, Mask
from app.imaging.layers import LayerFrame
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_reading import read_layer
from app.imaging.reading.image_entries import read_instance
from app.imaging.types import Instance
from tests.unit.imaging.files import item, make_dicom
from tests.unit.imaging.layer_files import (
    LABEL_MAP,
    drawn,
    frame_group,
    make_seg,
    make_slice,
)

Array = NDArray[Any]


def masks(frame: LayerFrame) -> dict[int, Array]:
    """Segment -> mask, or values of a heat map."""
    found: dict[int, Array] = {}
    for shape in frame.shapes:
        assert isinstance(shape.geometry, Mask | Heatmap)
        geometry = shape.geometry
        found[shape.item] = geometry.pixels if isinstance(geometry, Mask) else geometry.values
    assert len(found) == len(frame.shapes)
    return found


def objects(shared_data: Path) -> Path:
    return shared_data / "dicom" / "objects"


def dicomdir_ct(folder: str = "CT2") -> list[Path]:
    from pydicom.data import get_testdata_file

    readme = get_testdata_file("DICOMDIR")
    if readme is None:
        pytest.skip("pydicom's DICOMDIR is not here")
    return sorted((Path(str(readme)).parent / "77654033" / folder).iterdir())


def highdicom_seg(path: Path) -> highdicom.seg.Segmentation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return highdicom.seg.segread(str(path))


@pytest.mark.parametrize(
    "name",
    [
        "objects/ct-3slice-liver-seg.dcm",
        "syntaxes/liver.dcm",
        "syntaxes/liver_expb.dcm",
        "syntaxes/liver_deflate.dcm",
        "syntaxes/liver_j2k.dcm",
        "syntaxes/liver_rle.dcm",
    ],
)
def test_the_liver_on_its_three_slices_in_every_syntax(shared_data: Path, name: str):
    truth = pydicom.dcmread(objects(shared_data) / "ct-3slice-liver-seg.dcm")
    pixels = truth.pixel_array
    by_source = {
        group.DerivationImageSequence[0].SourceImageSequence[0].ReferencedSOPInstanceUID: plane
        for group, plane in zip(truth.PerFrameFunctionalGroupsSequence, pixels, strict=True)
    }
    for path in sorted((objects(shared_data) / "ct-3slice").iterdir()):
        image = read_instance(path)
        frame = drawn(shared_data / "dicom" / name, image)
        (shape,) = frame.shapes
        assert shape.by_reference
        assert frame.warnings == ()
        expected = by_source[image.sop_instance_uid] != 0
        assert expected.any()
        np.testing.assert_array_equal(masks(frame)[1], expected)


@pytest.mark.parametrize(
    "name", ["seg_image_ct_binary", "seg_image_ct_binary_overlap", "seg_image_ct_true_fractional"]
)
def test_small_segmentations_as_highdicom_reads_them(shared_data: Path, name: str):
    path = objects(shared_data) / f"{name}.dcm"
    witness = highdicom_seg(path)
    numbers = list(witness.segment_numbers)
    sources = [uid for _, _, uid in witness.get_source_image_uids()]
    truth = witness.get_pixels_by_source_instance(
        sources, segment_numbers=numbers, ignore_spatial_locations=True
    )
    seen = 0
    images = [read_instance(one) for one in dicomdir_ct()]
    by_uid = {image.sop_instance_uid: image for image in images}
    assert set(sources) <= set(by_uid)
    for uid, planes in zip(sources, truth, strict=True):
        found = masks(drawn(path, by_uid[uid]))
        for position, number in enumerate(numbers):
            plane = planes[..., position]
            if plane.any():
                seen += 1
                np.testing.assert_allclose(found[number].astype(float), plane, atol=1e-6)
            else:
                assert number not in found
    assert seen >= 3


def test_values_of_a_fractional_segmentation_are_a_heat_map_from_0_to_1(shared_data: Path):
    path = objects(shared_data) / "seg_image_ct_true_fractional.dcm"
    raw = pydicom.dcmread(path)
    values: set[float] = set()
    for one in dicomdir_ct():
        for values_here in masks(drawn(path, one)).values():
            assert values_here.dtype == np.float32
            values |= set(np.unique(values_here).tolist())
    expected = np.unique(raw.pixel_array) / raw.MaximumFractionalValue
    np.testing.assert_allclose(sorted(values), expected, atol=1e-6)
    assert "probability" in read_layer(read_instance(path)).items[0].detail


def test_a_radiograph_without_geometry_is_drawn_on_by_reference_alone(
    shared_data: Path, tmp_path: Path
):
    path = objects(shared_data) / "seg_image_cr_binary.dcm"
    raw = pydicom.dcmread(path)
    uid = raw.ReferencedSeriesSequence[0].ReferencedInstanceSequence[0].ReferencedSOPInstanceUID
    own = {"SOPInstanceUID": uid, "PatientID": raw.PatientID}
    image = make_dicom(tmp_path / "a.dcm", np.zeros((16, 16), np.uint16), **own)
    np.testing.assert_array_equal(masks(drawn(path, image))[1], raw.pixel_array != 0)
    larger = make_dicom(tmp_path / "b.dcm", np.zeros((16, 17), np.uint16), **own)
    frame = drawn(path, larger)
    assert frame.shapes == ()
    assert "neither pixel grid nor position" in frame.warnings[0]
    stranger = make_dicom(
        tmp_path / "c.dcm", np.zeros((16, 16), np.uint16), SOPInstanceUID=uid, PatientID="other"
    )
    frame = drawn(path, stranger)
    assert frame.shapes == ()
    assert "another patient" in frame.warnings[0]


@pytest.mark.parametrize(
    "name",
    [
        "seg_image_sm_control",
        "seg_image_sm_control_labelmap",
        "seg_image_sm_control_labelmap_palette_color",
        "seg_image_sm_numbers",
        "seg_image_sm_dots",
        "seg_image_sm_dots_tiled_full",
    ],
)
def test_tiles_over_a_whole_slide_as_highdicom_puts_them_together(shared_data: Path, name: str):
    path = objects(shared_data) / f"{name}.dcm"
    witness = highdicom_seg(path)
    matrix = witness.get_total_pixel_matrix(combine_segments=True)
    whole = as_whole(read_instance(objects(shared_data) / "sm_image_control.dcm"))
    found = masks(drawn(path, whole))
    assert set(found) == set(np.unique(matrix)) - {0}
    assert len(found) >= 19
    for number, mask in found.items():
        np.testing.assert_array_equal(mask, matrix == number)


def as_whole(slide: Instance) -> Instance:
    """A slide's level as one image of its total pixel matrix: as it is listed."""
    assert (slide.rows, slide.columns, slide.frames) == (50, 50, 1)
    return slide


def as_tiles(slide: Instance) -> Instance:
    """The same level, its 25 tiles as frames of their own: as a level too large to be opened."""
    return replace(slide, rows=10, columns=10, frames=25)


def test_tiles_over_single_tiles_of_the_slide(shared_data: Path):
    path = objects(shared_data) / "seg_image_sm_control.dcm"
    slide = read_instance(objects(shared_data) / "sm_image_control.dcm")
    whole = masks(drawn(path, as_whole(slide)))
    tiles = as_tiles(slide)
    for index in range(25):
        row, column = 10 * (index // 5), 10 * (index % 5)
        part = {
            number: mask[row : row + 10, column : column + 10] for number, mask in whole.items()
        }
        expected = {number for number, mask in part.items() if mask.any()}
        found = masks(drawn(path, tiles, index))
        assert set(found) == expected
        for number, mask in found.items():
            np.testing.assert_array_equal(mask, part[number])


def test_another_level_of_the_slide_through_its_coordinates(shared_data: Path, tmp_path: Path):
    path = objects(shared_data) / "seg_image_sm_control_labelmap.dcm"
    raw = pydicom.dcmread(path, stop_before_pixels=True)
    whole = masks(drawn(path, read_instance(objects(shared_data) / "sm_image_control.dcm")))
    spacing = raw.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].PixelSpacing
    measures = item(PixelSpacing=[2 * float(v) for v in spacing], SliceThickness=0.01)
    level = {
        "PatientID": raw.PatientID,
        "FrameOfReferenceUID": raw.FrameOfReferenceUID,
        "TotalPixelMatrixRows": 25,
        "TotalPixelMatrixColumns": 25,
        "TotalPixelMatrixOriginSequence": raw.TotalPixelMatrixOriginSequence,
        "ImageOrientationSlide": raw.ImageOrientationSlide,
        "SharedFunctionalGroupsSequence": [item(PixelMeasuresSequence=[measures])],
    }
    image = make_dicom(tmp_path / "l.dcm", np.zeros((25, 25), np.uint8), **level)
    frame = drawn(path, image)
    found = masks(frame)
    expected = {number: mask[::2, ::2] for number, mask in whole.items() if mask[::2, ::2].any()}
    assert set(found) == set(expected)
    for number, mask in found.items():
        np.testing.assert_array_equal(mask, expected[number])
    assert frame.warnings == ("resampled from another pixel grid (nearest neighbour)",)
    assert not any(shape.by_reference for shape in frame.shapes)
    other = make_dicom(
        tmp_path / "o.dcm",
        np.zeros((25, 25), np.uint8),
        **(level | {"FrameOfReferenceUID": "1.2.9"}),
    )
    assert drawn(path, other) == LayerFrame()


def test_tiles_over_an_image_that_is_not_tiled_itself(tmp_path: Path):
    image = read_instance(make_dicom(tmp_path / "i.dcm", np.zeros((10, 12), np.uint8)))
    frames = np.zeros((4, 5, 6), np.uint8)
    frames[3, 1, 2] = 255
    seg = make_seg(
        tmp_path / "s.dcm",
        frames,
        [frame_group(1) for _ in range(4)],
        DimensionOrganizationType="TILED_FULL",
        TotalPixelMatrixRows=10,
        TotalPixelMatrixColumns=12,
        FrameOfReferenceUID=None,
        SourceImageSequence=[item(ReferencedSOPInstanceUID=image.sop_instance_uid)],
    )
    assert where(drawn(seg, image)) == [[5 + 1, 6 + 2]]


def test_a_label_maps_background_is_no_segment_and_its_palette_gives_the_colours(shared_data: Path):
    plain, colored = (
        read_layer(read_instance(objects(shared_data) / f"seg_image_sm_control_labelmap{end}.dcm"))
        for end in ("", "_palette_color")
    )
    raw = pydicom.dcmread(colored.instance.path)
    red, green, blue = (
        np.frombuffer(raw[f"{name}PaletteColorLookupTableData"].value, np.uint8)
        for name in ("Red", "Green", "Blue")
    )
    assert [one.number for one in plain.items] == list(range(1, 21))
    assert [one.color for one in plain.items] == [palette_color(n) for n in range(1, 21)]
    assert [one.color for one in colored.items] == [
        (int(red[n]), int(green[n]), int(blue[n])) for n in range(1, 21)
    ]


# Where it lies: made files, 2 mm between rows and 0.5 mm between columns, slabs of 3 mm.


def one_pixel(row: int, column: int, shape: tuple[int, int] = (10, 12)) -> Array:
    frames = np.zeros((1, *shape), np.uint8)
    frames[0, row, column] = 255
    return frames


def where(frame: LayerFrame) -> list[list[int]]:
    return np.argwhere(masks(frame)[1]).tolist()


@pytest.mark.parametrize(("z", "shown"), [(0, True), (1.4, True), (-1.4, True), (1.6, False)])
def test_without_a_reference_the_plane_decides_within_half_a_slab(
    tmp_path: Path, z: float, shown: bool
):
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    frame = drawn(seg, make_slice(tmp_path / "i.dcm", z))
    assert frame.warnings == ()
    assert bool(frame.shapes) is shown
    if shown:
        assert where(frame) == [[3, 4]]
        assert not frame.shapes[0].by_reference


def test_the_nearest_of_several_frames_is_drawn(tmp_path: Path):
    frames = np.concatenate([one_pixel(1, 1), one_pixel(2, 2), one_pixel(3, 3)])
    groups = [frame_group(1, (-30, 40, z)) for z in (-1.0, 0.2, 1.2)]
    frame = drawn(make_seg(tmp_path / "s.dcm", frames, groups), make_slice(tmp_path / "i.dcm"))
    assert where(frame) == [[2, 2]]


@pytest.mark.parametrize("space", [None, "1.2.3.4.9"])
def test_another_or_no_frame_of_reference_is_another_place(tmp_path: Path, space: str | None):
    image = make_slice(tmp_path / "i.dcm", FrameOfReferenceUID=space)
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    assert drawn(seg, image) == LayerFrame()


def test_a_reference_does_not_reach_into_another_frame_of_reference(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm", FrameOfReferenceUID="1.2.3.4.9"))
    group = frame_group(1, (-30, 40, 0), [(image.sop_instance_uid, None)])
    frame = drawn(make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group]), image)
    assert frame.shapes == ()
    assert "another frame of reference" in frame.warnings[0]


def test_another_patient_in_the_same_frame_of_reference_is_not_drawn_on(tmp_path: Path):
    image = make_slice(tmp_path / "i.dcm", PatientID="P2")
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    assert drawn(seg, image).shapes == ()


def test_geometry_wins_where_the_reference_contradicts_it(tmp_path: Path):
    named, true = (read_instance(make_slice(tmp_path / f"{z}.dcm", z)) for z in (0.0, 9.0))
    group = frame_group(1, (-30, 40, 9.0), [(named.sop_instance_uid, None)])
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group])
    frame = drawn(seg, named)
    assert frame.shapes == ()
    assert "reference and its position disagree" in frame.warnings[0]
    frame = drawn(seg, true)
    assert where(frame) == [[3, 4]]
    assert not frame.shapes[0].by_reference


def test_a_frame_shifted_against_the_image_that_it_names_is_drawn_where_it_lies(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm"))
    group = frame_group(1, (-29, 44, 0), [(image.sop_instance_uid, None)])
    frame = drawn(make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group]), image)
    assert where(frame) == [[3 + 2, 4 + 2]]
    assert "reference and its position disagree" in frame.warnings[0]


def test_a_segmentation_of_a_part_of_the_image_is_moved_not_resampled(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm"))
    group = frame_group(1, (-28.5, 46, 0), [(image.sop_instance_uid, None)])
    frame = drawn(make_seg(tmp_path / "s.dcm", one_pixel(1, 2, (4, 5)), [group]), image)
    assert where(frame) == [[1 + 3, 2 + 3]]
    assert frame.warnings == ()
    assert frame.shapes[0].by_reference


def test_frames_of_several_sources_are_drawn_on_the_one_in_their_plane(tmp_path: Path):
    images = [read_instance(make_slice(tmp_path / f"{z}.dcm", z)) for z in (0.0, 3.0, 6.0)]
    everything = [(image.sop_instance_uid, None) for image in images]
    frames = np.concatenate([one_pixel(n, n) for n in range(3)])
    groups = [frame_group(1, (-30, 40, 3.0 * n), list(everything)) for n in range(3)]
    seg = make_seg(tmp_path / "s.dcm", frames, groups)
    for number, image in enumerate(images):
        frame = drawn(seg, image)
        assert where(frame) == [[number, number]]
        assert frame.warnings == ()
        assert frame.shapes[0].by_reference


def test_overlapping_slices_each_keep_what_was_made_for_them(tmp_path: Path):
    images = [read_instance(make_slice(tmp_path / f"{z}.dcm", z)) for z in (0.0, 1.0)]
    group = frame_group(1, (-30, 40, 0), [(images[0].sop_instance_uid, None)])
    other = frame_group(2, (-30, 40, 1), [(images[1].sop_instance_uid, None)])
    frames = np.concatenate([one_pixel(3, 4), one_pixel(5, 6)])
    seg = make_seg(tmp_path / "s.dcm", frames, [group, other])
    assert [set(masks(drawn(seg, image))) for image in images] == [{1}, {2}]


def test_frames_of_a_multi_frame_image_by_their_numbers(tmp_path: Path):
    image = make_dicom(tmp_path / "i.dcm", np.zeros((3, 10, 12), np.uint8), NumberOfFrames=3)
    instance = read_instance(image)
    uid = instance.sop_instance_uid
    frames = np.concatenate([one_pixel(1, 1), one_pixel(2, 2)])
    groups = [frame_group(1, None, [(uid, 3)]), frame_group(1, None, [(uid, 1)])]
    seg = make_seg(tmp_path / "s.dcm", frames, groups, FrameOfReferenceUID=None)
    assert [where(drawn(seg, instance, n)) for n in (0, 2)] == [[[2, 2]], [[1, 1]]]
    assert drawn(seg, instance, 1) == LayerFrame()
    groups = [frame_group(1, None, [(uid, None)]), frame_group(1, None, [(uid, None)])]
    vague = make_seg(tmp_path / "v.dcm", frames, groups, FrameOfReferenceUID=None)
    frame = drawn(vague, instance, 1)
    assert frame.shapes == ()
    assert "not which of its frames" in frame.warnings[0]


def enhanced(path: Path, depths: list[float], **over: Any) -> Instance:
    """A multi-frame image with a plane of its own for each frame."""
    measures = [item(PixelSpacing=[2.0, 0.5], SliceThickness=3.0)]
    return read_instance(
        make_slice(
            path,
            shape=(len(depths), 10, 12),
            NumberOfFrames=len(depths),
            SOPClassUID="1.2.840.10008.5.1.4.1.1.2.1",
            ImagePositionPatient=None,
            ImageOrientationPatient=None,
            PixelSpacing=None,
            SliceThickness=None,
            SharedFunctionalGroupsSequence=[
                item(
                    PlaneOrientationSequence=[item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])],
                    PixelMeasuresSequence=measures,
                )
            ],
            PerFrameFunctionalGroupsSequence=[frame_group(None, (-30, 40, z)) for z in depths],
            **over,
        )
    )


@pytest.mark.parametrize("named", [True, False])
def test_an_enhanced_image_by_its_frames_planes_also_where_no_frame_is_named(
    tmp_path: Path, named: bool
):
    image = enhanced(tmp_path / "i.dcm", [6.0, 0.0, 3.0])
    frames = np.concatenate([one_pixel(n, n) for n in range(3)])
    names = [(image.sop_instance_uid, None)] if named else None
    groups = [frame_group(1, (-30, 40, 3.0 * n), names) for n in range(3)]
    seg = make_seg(tmp_path / "s.dcm", frames, groups)
    found = [drawn(seg, image, index) for index in range(3)]
    assert [where(frame) for frame in found] == [[[2, 2]], [[0, 0]], [[1, 1]]]
    assert [frame.warnings for frame in found] == [(), (), ()]


def test_frame_numbers_and_planes_of_an_enhanced_image_that_disagree(tmp_path: Path):
    image = enhanced(tmp_path / "i.dcm", [0.0, 9.0])
    group = frame_group(1, (-30, 40, 9.0), [(image.sop_instance_uid, 1)])
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group])
    first, second = (drawn(seg, image, index) for index in range(2))
    assert first.shapes == ()
    assert "disagree" in first.warnings[0]
    assert where(second) == [[3, 4]]
    assert not second.shapes[0].by_reference


def test_frames_of_which_only_the_first_ones_place_is_known_are_not_drawn_on(tmp_path: Path):
    image = read_instance(make_slice(tmp_path / "i.dcm", shape=(3, 10, 12), NumberOfFrames=3))
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    assert [drawn(seg, image, index) for index in range(3)] == [LayerFrame()] * 3


def test_frames_of_a_dose_grid_by_their_offsets(tmp_path: Path):
    dose: dict[str, Any] = {
        "SOPClassUID": "1.2.840.10008.5.1.4.1.1.481.2",
        "NumberOfFrames": 3,
        "GridFrameOffsetVector": [0, 3, 9],
    }
    image = make_slice(tmp_path / "i.dcm", shape=(3, 10, 12), **dose)
    group = frame_group(1, (-30, 40, 9))
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group])
    found = [drawn(seg, image, index) for index in range(3)]
    assert [bool(frame.shapes) for frame in found] == [False, False, True]
    assert where(found[2]) == [[3, 4]]


def test_two_series_in_one_frame_of_reference_each_by_what_they_are(tmp_path: Path):
    named = read_instance(make_slice(tmp_path / "i.dcm"))
    other = read_instance(make_slice(tmp_path / "j.dcm", SeriesInstanceUID="1.2.9"))
    group = frame_group(1, (-30, 40, 0), [(named.sop_instance_uid, None)])
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group])
    for image, by_reference in ((named, True), (other, False)):
        frame = drawn(seg, image)
        assert where(frame) == [[3, 4]]
        assert [shape.by_reference for shape in frame.shapes] == [by_reference]


def itk_image(array: Array, origin: Any, spacing: Any, direction: Any) -> SimpleITK.Image:
    image = SimpleITK.GetImageFromArray(array)
    image.SetOrigin([float(v) for v in origin])
    image.SetSpacing([float(v) for v in spacing])
    image.SetDirection([float(v) for v in np.ravel(direction)])
    return image


def _invertible(angle: float) -> bool:
    return angle == 0 or abs(angle) > 1e-9


@settings(max_examples=25, deadline=None)
@given(
    # SimpleITK cannot invert a direction with subnormal numbers in it.
    angle=st.floats(-math.pi, math.pi, allow_subnormal=False).filter(_invertible),
    tilt=st.floats(-1.0, 1.0, allow_subnormal=False).filter(_invertible),
    scale=st.sampled_from([(1.0, 1.0), (0.7, 1.9), (2.3, 0.6)]),
    offset=st.tuples(*[st.floats(-6, 6)] * 2),
)
def test_another_pixel_grid_is_resampled_as_simpleitk_does(
    tmp_path_factory: pytest.TempPathFactory,
    angle: float,
    tilt: float,
    scale: tuple[float, float],
    offset: tuple[float, float],
):
    folder = tmp_path_factory.mktemp("grids")
    rng = np.random.default_rng(1)
    plane = (rng.random((9, 11)) > 0.5).astype(np.uint8)
    # Both lie in one oblique plane; the image is turned in it, moved and of another spacing.
    row = np.array([math.cos(tilt), 0.0, math.sin(tilt)])
    column = np.array([0.0, 1.0, 0.0])
    normal = np.cross(row, column)
    turned_row = math.cos(angle) * row + math.sin(angle) * column
    turned_column = np.cross(normal, turned_row)
    origin = np.array([5.0, -7.0, 11.0])
    start = origin + offset[0] * row + offset[1] * column
    group = frame_group(1, tuple(origin.tolist()))
    group.PlaneOrientationSequence = [
        item(ImageOrientationPatient=[f"{v:.9f}" for v in [*row, *column]])
    ]
    group.PixelMeasuresSequence = [item(PixelSpacing=[1.1, 0.8], SliceThickness=1)]
    seg = make_seg(folder / "s.dcm", plane[None] * 255, [group])
    image = make_slice(
        folder / "i.dcm",
        shape=(13, 10),
        ImagePositionPatient=[f"{v:.9f}" for v in start],
        ImageOrientationPatient=[f"{v:.9f}" for v in [*turned_row, *turned_column]],
        PixelSpacing=[f"{v:.9f}" for v in scale],
    )
    found = masks(drawn(seg, image)).get(1, np.zeros((13, 10), np.float32)) > 0.5
    moving = itk_image(plane[None], origin, (0.8, 1.1, 1), np.stack([row, column, normal], 1))
    fixed = itk_image(
        np.zeros((1, 13, 10), np.uint8),
        start,
        (scale[1], scale[0], 1),
        np.stack([turned_row, turned_column, normal], 1),
    )
    certain = np.ones((13, 10), bool)
    expected = np.zeros((13, 10), bool)
    for y in range(13):
        for x in range(10):
            at = moving.TransformPhysicalPointToContinuousIndex(
                fixed.TransformIndexToPhysicalPoint((x, y, 0))
            )
            i, j = at[0], at[1]
            near_edge = min(abs(i - math.floor(i) - 0.5), abs(j - math.floor(j) - 0.5))
            certain[y, x] = near_edge > 1e-4
            inside = -0.5 <= i < 10.5 and -0.5 <= j < 8.5
            if inside and certain[y, x]:
                expected[y, x] = plane[round(j), round(i)] != 0
    np.testing.assert_array_equal(found[certain], expected[certain])


def test_a_resampled_frame_says_so(tmp_path: Path):
    image = make_slice(tmp_path / "i.dcm", PixelSpacing=[1.0, 1.0])
    group = frame_group(1, (-30, 40, 0))
    frame = drawn(make_seg(tmp_path / "s.dcm", one_pixel(1, 2), [group]), image)
    assert frame.warnings == ("resampled from another pixel grid (nearest neighbour)",)
    # Row 1 is 42 mm, within half of its 2 mm are rows 1 and 2 or 2 and 3 of 1 mm; column 2 is 1 mm.
    assert {column for _, column in where(frame)} == {1}
    assert len(where(frame)) == 2


def test_planes_at_an_angle_are_not_drawn(tmp_path: Path):
    tilted = [math.cos(0.02), 0.0, math.sin(0.02), 0.0, 1.0, 0.0]
    image = make_slice(tmp_path / "i.dcm", ImageOrientationPatient=[f"{v:.9f}" for v in tilted])
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    assert drawn(seg, image).shapes == ()


def test_sections_through_a_volume_are_not_taken_for_their_first_plane(tmp_path: Path):
    first = read_instance(make_slice(tmp_path / "i.dcm"))
    sections = replace(first, sop_instance_uid="2.25.1", kind="reformat", frames=5)
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    for index in range(5):
        frame = drawn(seg, sections, index)
        assert frame.shapes == ()
        assert "only on acquired images" in frame.warnings[0]
        several = replace(sections, kind="volume")
        assert drawn(seg, several, index) == LayerFrame()
    alone = replace(sections, kind="volume", frames=1)
    assert where(drawn(seg, alone)) == [[3, 4]]


# Damage.


def test_a_segment_without_a_description_is_drawn_and_named_by_its_number(tmp_path: Path):
    group = frame_group(7, (-30, 40, 0))
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group], SegmentSequence=None)
    layer = read_layer(read_instance(seg))
    assert [(one.number, one.label) for one in layer.items] == [(7, "Segment 7")]
    assert layer.warnings == ("segment 7: no description in the file",)
    assert set(masks(drawn(seg, make_slice(tmp_path / "i.dcm")))) == {7}


def test_a_label_maps_undescribed_values_are_not_drawn_but_told(tmp_path: Path):
    frames = np.zeros((1, 10, 12), np.uint8)
    frames[0, 1, 1], frames[0, 2, 2] = 3, 9
    seg = make_seg(
        tmp_path / "s.dcm",
        frames,
        [frame_group(None, (-30, 40, 0))],
        SOPClassUID=LABEL_MAP,
        SegmentationType="LABELMAP",
        SegmentSequence=[item(SegmentNumber=3, SegmentLabel="kidney")],
    )
    frame = drawn(seg, make_slice(tmp_path / "i.dcm"))
    assert {number: np.argwhere(mask).tolist() for number, mask in masks(frame).items()} == {
        3: [[1, 1]]
    }
    assert frame.warnings == ("segment 9: no description in the file, not drawn",)


def test_frames_that_name_nothing_and_lie_nowhere_are_told(tmp_path: Path):
    groups = [frame_group(1), frame_group(2)]
    frames = np.concatenate([one_pixel(1, 1), one_pixel(2, 2)])
    seg = make_seg(tmp_path / "s.dcm", frames, groups)
    assert read_layer(read_instance(seg)).warnings == (
        "2 frames with neither a source image nor a position: not drawn",
    )
    assert drawn(seg, make_slice(tmp_path / "i.dcm")) == LayerFrame()


@pytest.mark.parametrize(
    "position", [[math.nan, 40.0, 0.0], [1.0, 2.0], ["a", "b", "c"], [1e308, 1e308, 1e308]]
)
def test_a_damaged_position_is_no_position(tmp_path: Path, position: list[Any]):
    group = frame_group(1, (-30, 40, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = group.PlanePositionSequence[0]
        place.ImagePositionPatient = None
        text = "\\".join(str(v) for v in position)
        place.add_new(0x00200032, "LO", text)
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [group])
    assert drawn(seg, make_slice(tmp_path / "i.dcm")).shapes == ()


def test_too_few_frame_descriptions_are_told(tmp_path: Path):
    frames = np.concatenate([one_pixel(1, 1), one_pixel(2, 2)])
    seg = make_seg(tmp_path / "s.dcm", frames, [frame_group(1, (-30, 40, 0))])
    assert "it describes only 1 of its 2 frames" in read_layer(read_instance(seg)).warnings
    assert where(drawn(seg, make_slice(tmp_path / "i.dcm"))) == [[1, 1]]


def test_a_frame_that_cannot_be_decoded_is_a_warning(tmp_path: Path):
    seg = make_seg(
        tmp_path / "s.dcm",
        np.concatenate([one_pixel(1, 1), one_pixel(2, 2)]),
        [frame_group(1, (-30, 40, 0)), frame_group(1, (-30, 40, 9))],
    )
    seg.write_bytes(seg.read_bytes()[:-20])
    assert where(drawn(seg, make_slice(tmp_path / "i.dcm"))) == [[1, 1]]
    frame = drawn(seg, make_slice(tmp_path / "j.dcm", 9))
    assert frame.shapes == ()
    assert "cut short" in frame.warnings[0]


def test_a_frame_that_the_image_does_not_have_is_refused(tmp_path: Path):
    seg = make_seg(tmp_path / "s.dcm", one_pixel(3, 4), [frame_group(1, (-30, 40, 0))])
    with pytest.raises(FileProblem, match="no frame 2"):
        drawn(seg, make_slice(tmp_path / "i.dcm"), 1)


def test_a_position_of_the_whole_segmentation_is_not_that_of_each_frame(tmp_path: Path):
    frames = np.concatenate([one_pixel(1, 1), one_pixel(2, 2)])
    groups = [frame_group(1), frame_group(1)]
    seg = make_seg(tmp_path / "s.dcm", frames, groups, ImagePositionPatient=[-30, 40, 0])
    assert drawn(seg, make_slice(tmp_path / "i.dcm")) == LayerFrame()
    assert "2 frames with neither" in read_layer(read_instance(seg)).warnings[0]


# Names and colours.


def test_segments_have_their_names_and_makers(shared_data: Path):
    layer = read_layer(read_instance(objects(shared_data) / "ct-3slice-liver-seg.dcm"))
    (liver,) = layer.items
    assert liver.label == "Liver"
    assert liver.detail == "Tissue: Liver. Made by SlicerEditor (semiautomatic)"
    assert layer.title == "Liver Segmentation"


def test_cielab_colours_as_littlecms_converts_them():
    to_srgb = ImageCms.buildTransform(
        ImageCms.createProfile("LAB", 5000),
        ImageCms.createProfile("sRGB"),
        "LAB",
        "RGB",
        ImageCms.Intent.RELATIVE_COLORIMETRIC,
        ImageCms.Flags.NOOPTIMIZE,
    )
    axis = range(-60, 61, 20)
    labs = [(lightness, a, b) for lightness in range(25, 250, 38) for a in axis for b in axis]
    pixels = bytes(part % 256 for lab in labs for part in lab)
    converted = ImageCms.applyTransform(Image.frombytes("LAB", (len(labs), 1), pixels), to_srgb)
    expected = np.asarray(converted).reshape(-1, 3).astype(int)
    found = [color_from_cielab([257 * x, 257 * (a + 128), 257 * (b + 128)]) for x, a, b in labs]
    # What sRGB cannot show is clipped by both, but not by the same rule.
    shown = (expected.min(axis=1) > 3) & (expected.max(axis=1) < 252)
    assert shown.sum() > 50
    assert np.abs(np.array(found) - expected)[shown].max() <= 2


def test_slicers_liver_colour_is_what_slicer_shows(shared_data: Path):
    # 3D Slicer's GenericAnatomyColors: liver 221 130 101, written with a white point of D65.
    layer = read_layer(read_instance(objects(shared_data) / "ct-3slice-liver-seg.dcm"))
    assert np.abs(np.subtract(layer.items[0].color, (221, 130, 101))).max() <= 6


def test_a_damaged_colour_is_none():
    assert color_from_cielab([1, 2]) is None
    assert color_from_cielab([math.nan, 0, 0]) is None
    assert color_from_cielab([70000, 0, 0]) is None
    assert color_from_cielab([65535, 0x8080, 0x8080]) == (255, 255, 255)
    assert color_from_cielab([0, 0x8080, 0x8080]) == (0, 0, 0)


def test_a_segmentation_without_uids_still_has_a_layer(tmp_path: Path):
    group = frame_group(1, (-30, 40, 0))
    seg = make_seg(
        tmp_path / "s.dcm", one_pixel(3, 4), [group], SOPInstanceUID=None, SeriesInstanceUID=None
    )
    assert read_layer(read_instance(seg)).items[0].label == "part 1"


def test_tiles_whose_places_in_pixels_and_mm_disagree_say_so(shared_data: Path):
    folder = shared_data / "dicom" / "objects"
    # Its file gives tile 3 column 41, row 1, but mm and a source frame of column 1, row 41.
    layer = read_layer(read_instance(folder / "seg_image_sm_control.dcm"))
    assert any("in pixels and in mm disagree" in text for text in layer.warnings)
