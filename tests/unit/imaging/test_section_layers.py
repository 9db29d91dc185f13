"""Segmentations and contours on sections: SimpleITK finds the same labels at the same mm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import highdicom
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - as everybody calls it
from numpy.typing import NDArray

from app.imaging.decode import Decoder
from app.imaging.findings import Heatmap, Mask
from app.imaging.layers import LayerFrame
from app.imaging.types import Frame, Instance, Plane, Series
from tests.unit.imaging.files import item
from tests.unit.imaging.layer_files import (
    SPACE,
    contour,
    frame_group,
    make_seg,
    make_slice,
    make_structures,
)

Array = NDArray[Any]
COUNT, ROWS, COLUMNS, STEP = 5, 10, 12, 3.0
SECTIONS = (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL)
DIRECTIONS = {
    "axial": ((1, 0, 0), (0, 1, 0)),
    "coronal, upside down": ((-1, 0, 0), (0, 0, 1)),
    "sagittal": ((0, 1, 0), (0, 0, -1)),
    "oblique": ((0.8, 0.6, 0.0), (-0.48, 0.64, 0.6)),
}


def scanned(decoder: Decoder, folder: Path) -> tuple[Series, Instance]:
    """The images, and the object that draws over them."""
    every = [one for study in decoder.scan([folder]).result().studies for one in study.series]
    images = next(one for one in every if one.instances[0].is_image)
    return images, next(one for one in every if one is not images).instances[0]


def stack(folder: Path, row: Any, column: Any) -> Array:
    """Slices with files in no order; returns their origins, [count, 3]."""
    normal = np.cross(row, column)
    origins = np.array([np.array([-30.0, 40.0, 7.0]) + STEP * k * normal for k in range(COUNT)])
    for k in (3, 0, 4, 1, 2):
        make_slice(
            folder / f"{(k * 7) % 5}.dcm",
            Modality="CT",
            SOPInstanceUID=f"1.2.{k + 1}",
            InstanceNumber=9 - k,
            ImagePositionPatient=[f"{v:.9g}" for v in origins[k]],
            ImageOrientationPatient=[f"{v:.9g}" for v in (*row, *column)],
        )
    return origins


def segmentation(path: Path, labels: Array, origins: Array, row: Any, column: Any) -> Path:
    """Two segments, one frame a slice each: 255 where `labels` has their number."""
    places = [tuple(f"{v:.9g}" for v in origin) for origin in origins]
    groups = [frame_group(n, place) for n in (1, 2) for place in places]  # type: ignore[arg-type]
    shared = item(
        PlaneOrientationSequence=[
            item(ImageOrientationPatient=[f"{v:.9g}" for v in (*row, *column)])
        ],
        PixelMeasuresSequence=[item(PixelSpacing=[2.0, 0.5], SliceThickness=STEP)],
    )
    frames = np.concatenate([(labels == n) * 255 for n in (1, 2)])
    return make_seg(
        path,
        frames,
        groups,
        SegmentationType="BINARY",
        SharedFunctionalGroupsSequence=[shared],
        SeriesInstanceUID="1.2.3.9",
        Modality="SEG",
    )


def witness_of(labels: Array, origins: Array, row: Any, column: Any) -> sitk.Image:
    image = sitk.GetImageFromArray(labels.astype(np.uint8))
    image.SetSpacing((0.5, 2.0, STEP))
    image.SetOrigin(tuple(map(float, origins[0])))
    direction = np.stack([row, column, np.cross(row, column)], axis=1)
    image.SetDirection(direction.ravel().astype(float).tolist())
    return image


def labels_of(drawn: LayerFrame, shape: tuple[int, int]) -> Array:
    found = np.zeros(shape, np.uint8)
    for shape_ in drawn.shapes:
        assert isinstance(shape_.geometry, Mask)
        found[shape_.geometry.pixels] = shape_.item
    return found


def labels_there(frame: Frame, witness: sitk.Image) -> Array:
    """The witness's label at the patient's mm of each pixel of a section."""
    cosines, position = frame.orientation.cosines, frame.orientation.position
    assert cosines is not None
    assert position is not None
    across = np.array(cosines[:3]) * (frame.spacing.column_mm or 0)
    down = np.array(cosines[3:]) * (frame.spacing.row_mm or 0)
    found = np.zeros((frame.rows, frame.columns), np.uint8)
    for y, x in np.ndindex(found.shape):
        point = np.array(position) + x * across + y * down
        found[y, x] = witness[witness.TransformPhysicalPointToIndex(point.tolist())]
    return found


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_segmentation_lies_on_sections_where_simpleitk_has_it(
    decoder: Decoder, tmp_path: Path, direction: str
):
    row, column = (np.array(part, float) for part in DIRECTIONS[direction])
    origins = stack(tmp_path, row, column)
    labels = np.random.default_rng(7).integers(0, 3, (COUNT, ROWS, COLUMNS))
    segmentation(tmp_path / "seg.dcm", labels, origins, row, column)
    witness = witness_of(labels, origins, row, column)
    images, seg = scanned(decoder, tmp_path)
    for plane in SECTIONS:
        sections = decoder.reformat(images, plane).result()
        for index in range(sections.frames):
            frame = decoder.frame(sections, index).result()
            drawn = decoder.layer_frame(seg, sections, index).result()
            assert drawn.warnings == ()
            found = labels_of(drawn, (frame.rows, frame.columns))
            np.testing.assert_array_equal(found, labels_there(frame, witness))


def test_a_contour_lies_on_sections_on_the_slices_that_it_names(decoder: Decoder, tmp_path: Path):
    """A block of 3 x 2 pixels on two slices: columns 4 to 6 (0.5 mm), rows 2 and 3 (2 mm)."""
    row, column = (np.array(part, float) for part in DIRECTIONS["axial"])
    origins = stack(tmp_path, row, column)
    xs, ys = -30 + 0.5 * np.array([3.5, 6.5]), 40 + 2 * np.array([1.5, 3.5])
    own = [
        contour(
            np.array([(xs[0], ys[0], z), (xs[1], ys[0], z), (xs[1], ys[1], z), (xs[0], ys[1], z)]),
            names=[f"1.2.{k + 1}"],
        )
        for k, z in ((1, origins[1][2]), (2, origins[2][2]))
    ]
    make_structures(tmp_path / "rt.dcm", {4: own}, SeriesInstanceUID="1.2.3.9")
    labels = np.zeros((COUNT, ROWS, COLUMNS), np.uint8)
    labels[1:3, 2:4, 4:7] = 4
    witness = witness_of(labels, origins, row, column)
    images, rt = scanned(decoder, tmp_path)
    for plane in SECTIONS:
        sections = decoder.reformat(images, plane).result()
        for index in range(sections.frames):
            frame = decoder.frame(sections, index).result()
            drawn = decoder.layer_frame(rt, sections, index).result()
            found = labels_of(drawn, (frame.rows, frame.columns))
            np.testing.assert_array_equal(found, labels_there(frame, witness))


def test_a_hole_of_a_region_stays_a_hole_on_sections(decoder: Decoder, tmp_path: Path):
    """A block of 7 x 6 pixels without its middle of 3 x 2 (PS3.3 C.8.8.6.3)."""
    row, column = (np.array(part, float) for part in DIRECTIONS["axial"])
    origins = stack(tmp_path, row, column)

    def block(x0: float, x1: float, y0: float, y1: float) -> Array:
        xs, ys = -30 + 0.5 * np.array([x0, x1]), 40 + 2 * np.array([y0, y1])
        corners = [(xs[0], ys[0]), (xs[1], ys[0]), (xs[1], ys[1]), (xs[0], ys[1])]
        return np.array([(x, y, origins[2][2]) for x, y in corners])

    rings = [block(1.5, 8.5, 1.5, 7.5), block(3.5, 6.5, 3.5, 5.5)]
    own = [contour(ring, names=["1.2.3"]) for ring in rings]
    make_structures(tmp_path / "rt.dcm", {4: own}, SeriesInstanceUID="1.2.3.9")
    labels = np.zeros((COUNT, ROWS, COLUMNS), np.uint8)
    labels[2, 2:8, 2:9] = 4
    labels[2, 4:6, 4:7] = 0
    witness = witness_of(labels, origins, row, column)
    images, rt = scanned(decoder, tmp_path)
    for plane in SECTIONS:
        sections = decoder.reformat(images, plane).result()
        for index in range(sections.frames):
            frame = decoder.frame(sections, index).result()
            drawn = decoder.layer_frame(rt, sections, index).result()
            found = labels_of(drawn, (frame.rows, frame.columns))
            np.testing.assert_array_equal(found, labels_there(frame, witness))


def test_fractions_keep_their_values(decoder: Decoder, tmp_path: Path):
    row, column = (np.array(part, float) for part in DIRECTIONS["axial"])
    origins = stack(tmp_path, row, column)
    values = np.random.default_rng(7).integers(0, 256, (COUNT, ROWS, COLUMNS))
    groups = [frame_group(1, tuple(origin)) for origin in origins]
    make_seg(tmp_path / "seg.dcm", values, groups, SeriesInstanceUID="1.2.3.9", Modality="SEG")
    images, seg = scanned(decoder, tmp_path)
    sections = decoder.reformat(images, Plane.CORONAL).result()
    (shape,) = decoder.layer_frame(seg, sections, 3).result().shapes
    assert isinstance(shape.geometry, Heatmap)
    # Coronal sections follow each other from the front back, as rows do; the head is on top.
    np.testing.assert_allclose(shape.geometry.values, values[::-1, 3] / 255, atol=1e-6)


def test_the_liver_of_a_real_file_is_highdicom_s(decoder: Decoder, shared_data: Path):
    folder = shared_data / "dicom/objects"
    seg_file = folder / "ct-3slice-liver-seg.dcm"
    images, seg = scanned_both(decoder, [folder / "ct-3slice", seg_file])
    volume = decoder.volume(images).result()
    theirs = highdicom.seg.segread(seg_file).get_volume(combine_segments=True)
    direction = np.array(theirs.affine)
    for plane in (Plane.CORONAL, Plane.SAGITTAL, Plane.AXIAL):
        sections = decoder.reformat(images, plane).result()
        seen = 0
        for index in range(0, sections.frames, 1 if plane is Plane.AXIAL else 41):
            frame = decoder.frame(sections, index).result()
            drawn = decoder.layer_frame(seg, sections, index).result()
            found = labels_of(drawn, (frame.rows, frame.columns))
            assert frame.orientation.cosines is not None
            y, x = np.mgrid[: frame.rows, : frame.columns].reshape(2, -1)
            across = np.array(frame.orientation.cosines[:3]) * (frame.spacing.column_mm or 0)
            down = np.array(frame.orientation.cosines[3:]) * (frame.spacing.row_mm or 0)
            points = np.array(frame.orientation.position) + x[:, None] * across + y[:, None] * down
            at = np.linalg.solve(direction[:3, :3], (points - direction[:3, 3]).T)
            place = np.rint(at).astype(int)
            inside = ((place >= 0).T & (theirs.array.shape[:3] > place.T)).all(axis=1)
            expected = np.zeros(len(points), np.uint8)
            expected[inside] = theirs.array[tuple(place[:, inside])]
            np.testing.assert_array_equal(found.ravel() > 0, expected > 0)
            seen += int(expected.any())
        assert seen > 0
    assert volume.slices


def scanned_both(decoder: Decoder, paths: list[Path]) -> tuple[Series, Instance]:
    every = [one for study in decoder.scan(paths).result().studies for one in study.series]
    images = next(one for one in every if one.instances[0].is_image)
    return images, next(one for one in every if one is not images).instances[0]


def test_what_lies_on_another_grid_or_a_resampled_stack_is_not_drawn(
    decoder: Decoder, tmp_path: Path
):
    row, column = (np.array(part, float) for part in DIRECTIONS["axial"])
    origins = stack(tmp_path, row, column)
    shifted = origins + np.array([0.2, 0.0, 0.0])
    labels = np.ones((COUNT, ROWS, COLUMNS), int)
    segmentation(tmp_path / "seg.dcm", labels, shifted, row, column)
    images, seg = scanned(decoder, tmp_path)
    for plane in SECTIONS:
        sections = decoder.reformat(images, plane).result()
        frame = decoder.layer_frame(seg, sections, 1).result()
        assert frame.shapes == ()
        assert "another pixel grid" in frame.warnings[0]
    uneven = replace(images, instances=(*images.instances[:2], *images.instances[3:]))
    sections = decoder.reformat(uneven, Plane.CORONAL).result()
    frame = decoder.layer_frame(seg, sections, 1).result()
    assert frame.shapes == ()
    assert "resampled" in frame.warnings[0]


def test_an_object_of_another_patient_is_not_drawn(decoder: Decoder, tmp_path: Path):
    row, column = (np.array(part, float) for part in DIRECTIONS["axial"])
    origins = stack(tmp_path, row, column)
    labels = np.ones((COUNT, ROWS, COLUMNS), int)
    segmentation(tmp_path / "seg.dcm", labels, origins, row, column)
    images, seg = scanned(decoder, tmp_path)
    other = replace(seg, attributes={**seg.attributes, "PatientID": "somebody else"})
    sections = decoder.reformat(images, Plane.CORONAL).result()
    assert sections.get("FrameOfReferenceUID") == SPACE
    assert decoder.layer_frame(seg, sections, 1).result().shapes
    assert decoder.layer_frame(other, sections, 1).result().shapes == ()
