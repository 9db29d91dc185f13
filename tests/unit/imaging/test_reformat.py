"""Sections through a volume: hung as a radiologist expects, every pixel at its true place."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import SimpleITK

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.space import reformat
from app.imaging.space.geometry import edge_letters, length
from app.imaging.space.planes import patient_point
from app.imaging.space.reformat import available_planes, section, section_at
from app.imaging.types import Content, Instance, Orientation, Plane, Series, Volume
from tests.unit.imaging.files import make_dicom
from tests.unit.imaging.stack_files import assemble, slice_frame
from tests.unit.imaging.test_splitting import slice_at
from tests.unit.imaging.test_volumes import series_in

SECTIONS = (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL)
EDGES = {
    Plane.AXIAL: ("R", "L", "A", "P"),
    Plane.CORONAL: ("R", "L", "H", "F"),
    Plane.SAGITTAL: ("A", "P", "H", "F"),
}
AXES = [np.array(v) for v in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
ORIENTATIONS = [
    tuple(float(v) for v in (*row, *column))
    for row, column in itertools.permutations(AXES, 2)
    if not row @ column
]


def numbered_volume(cosines: tuple[float, ...]) -> Volume:
    """3 slices of 4 x 5 pixels of 2 x 3 mm, 7 mm apart; every voxel has another value."""
    normal = np.cross(cosines[:3], cosines[3:])
    values = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    return assemble(
        [
            slice_frame(values[k], cosines, (7.0 * k * normal + (10, 20, 30)).tolist(), (2.0, 3.0))
            for k in range(3)
        ]
    )


@pytest.mark.parametrize("plane", SECTIONS)
def test_sections_of_every_orientation_hang_in_the_radiological_convention(plane: Plane):
    assert len(ORIENTATIONS) == 24
    for cosines in ORIENTATIONS:
        assert edge_letters(section(numbered_volume(cosines), plane, 0).orientation) == EDGES[plane]


@pytest.mark.parametrize("plane", SECTIONS)
def test_every_pixel_of_every_section_is_the_voxel_at_its_place(plane: Plane):
    for cosines in ORIENTATIONS:
        volume = numbered_volume(cosines)
        inverse = np.linalg.inv(volume.affine)
        seen: list[int] = []
        for index in itertools.count():
            try:
                frame = section(volume, plane, index)
            except IndexError:
                break
            for y, x in np.ndindex(frame.stored.shape):
                point = patient_point(frame, x, y)
                assert point is not None
                i, j, k = np.rint((inverse @ (*point, 1))[:3]).astype(int)
                assert inverse @ (*point, 1) == pytest.approx((i, j, k, 1), abs=1e-9)
                assert frame.stored[y, x] == volume.voxels[k, j, i]
                seen.append(int(frame.stored[y, x]))
        assert sorted(seen) == list(range(60))


@pytest.mark.parametrize("plane", SECTIONS)
def test_the_section_at_a_point_and_the_slice_there_are_those_that_hold_it(plane: Plane):
    for cosines in ORIENTATIONS:
        volume = numbered_volume(cosines)
        series = Series("1", "", "MR", 1, ())
        for index in range(3):
            frame = section(volume, plane, index)
            inside = patient_point(frame, 1, 2)
            assert inside is not None
            assert section_at(volume, plane, inside) == index
            k = int(np.argwhere(volume.voxels == frame.stored[2, 1])[0][0])
            assert reformat.slice_at(series, volume, inside) == volume.slices[k]


def test_the_slice_at_a_point_is_found_where_the_volume_was_resampled(
    decoder: Decoder, shared_data: Path
):
    series = series_in(decoder, shared_data / "series/ct-head")
    volume = decoder.volume(series).result(60)
    assert not volume.slices
    for place in (0, 3, 15, 27):
        there = patient_point(decoder.frame(series.instances[place]).result(60), 100, 200)
        assert there is not None
        assert reformat.slice_at(series, volume, there) == place


@pytest.mark.parametrize("plane", SECTIONS)
def test_lengths_on_a_section_are_those_between_the_patients_points(plane: Plane):
    for cosines in ORIENTATIONS:
        frame = section(numbered_volume(cosines), plane, 0)
        ends = ((0.0, 0.0), (frame.columns - 1.0, frame.rows - 1.0))
        first, last = (np.array(patient_point(frame, x, y)) for x, y in ends)
        measured = length(frame, *ends)
        expected = float(np.linalg.norm(last - first))
        assert (measured.value, measured.units) == (pytest.approx(expected), "mm")


def test_mr_t1_sections_have_simpleitks_values_at_their_places(decoder: Decoder, shared_data: Path):
    folder = shared_data / "series/mr-t1"
    series = series_in(decoder, folder)
    assert available_planes(series) == (Plane.ACQUIRED, *SECTIONS)
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    rng = np.random.default_rng(4)
    for plane in SECTIONS:
        instance = decoder.reformat(series, plane).result(60)
        frame = decoder.frame(instance, instance.frames // 3).result(60)
        assert frame.stored.shape == (instance.rows, instance.columns)
        assert tuple(edge[:1] for edge in edge_letters(frame.orientation)) == EDGES[plane]
        for _ in range(100):
            x, y = int(rng.integers(0, frame.columns)), int(rng.integers(0, frame.rows))
            there = image.TransformPhysicalPointToIndex(patient_point(frame, x, y))
            assert frame.stored[y, x] == image.GetPixel(there)
    counts = [decoder.reformat(series, plane).result(60).frames for plane in SECTIONS]
    assert counts == [96, 384, 274]


def test_an_oblique_section_says_so(decoder: Decoder, shared_data: Path):
    series = series_in(decoder, shared_data / "series/ct-head")
    instance = decoder.reformat(series, Plane.CORONAL).result(60)
    frame = decoder.frame(instance, 0).result(60)
    assert "oblique: 19° from coronal" in frame.note  # 18.5 degrees of tilt
    assert "resampled to a slice distance of 1.08 mm" in frame.note
    assert frame.note == instance.note


def made(decoder: Decoder, folder: Path) -> tuple[Series, Instance]:
    for z in range(4):
        make_dicom(
            folder / f"{z}.dcm",
            np.full((8, 6), 100 * z, np.uint16),
            SOPInstanceUID=f"1.6.{z}",
            Modality="CT",
            SeriesDescription="Thorax",
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            ImagePositionPatient=[0, 0, 2.5 * z],
            PixelSpacing=[1, 0.5],
            InstanceNumber=z + 1,
        )
    series = series_in(decoder, folder)
    return series, decoder.reformat(series, Plane.CORONAL).result(60)


def test_an_instance_of_sections_is_an_image_of_its_patient(decoder: Decoder, tmp_path: Path):
    series, instance = made(decoder, tmp_path)
    assert (instance.kind, instance.content) == ("reformat", Content.IMAGE)
    assert (instance.rows, instance.columns, instance.frames) == (4, 6, 8)
    assert instance.get("PatientName") == series.instances[0].get("PatientName")
    assert instance.get("SeriesDescription") == "Thorax (coronal)"
    assert instance.get("PixelSpacing") == "2.5\\0.5"
    again = decoder.reformat(series, Plane.CORONAL).result(60)
    assert again.sop_instance_uid == instance.sop_instance_uid
    assert again.sop_instance_uid not in {one.sop_instance_uid for one in series.instances}
    frame = decoder.frame(instance, 3).result(60)
    assert frame.ref.sop_instance_uid == instance.sop_instance_uid
    assert frame.stored[:, 0].tolist() == [300, 200, 100, 0]  # the head is at the top
    assert decoder.thumbnail(instance, 10).result(60).shape == (10, 3)  # 10 mm x 3 mm


def test_sections_that_are_not_there_are_refused(decoder: Decoder, tmp_path: Path):
    _, instance = made(decoder, tmp_path)
    with pytest.raises(FileProblem, match="8 sections"):
        decoder.frame(instance, 8).result(60)
    other = Decoder(1)
    try:
        with pytest.raises(FileProblem, match="no longer open"):
            other.frame(instance, 0).result(60)
    finally:
        other.close()


def test_sections_of_an_animal_have_its_letters():
    values = np.zeros((3, 4), np.uint8)
    frames = [slice_frame(values, (1, 0, 0, 0, 1, 0), (0, 0, z)) for z in range(3)]
    dog = Orientation("Le", "D")
    volume = assemble(
        [
            replace(frame, orientation=replace(frame.orientation, row=dog.row, column=dog.column))
            for frame in frames
        ]
    )
    found = edge_letters(section(volume, Plane.CORONAL, 0).orientation)
    assert found == ("RT", "LE", "CR", "CD")


def test_what_has_no_volume_has_only_its_acquired_images():
    radiograph = Instance(Path("a"), "1", "dicom", 64, 64, attributes={"Modality": "CR"})
    assert available_planes(radiograph) == (Plane.ACQUIRED,)
    one_slice = Series("1", "", "CT", 1, (slice_at(0),))
    assert available_planes(one_slice) == (Plane.ACQUIRED,)


def test_a_stack_in_colour_is_offered_no_planes_that_would_then_be_refused():
    slices = tuple(slice_at(z) for z in (0, 3, 6))
    grey = Series("1", "", "CT", 1, slices)
    assert available_planes(grey) == tuple(Plane)
    for photometric in ("RGB", "YBR_FULL_422", "PALETTE COLOR"):
        coloured = tuple(
            replace(one, attributes={**one.attributes, "PhotometricInterpretation": photometric})
            for one in slices
        )
        assert available_planes(replace(grey, instances=coloured)) == (Plane.ACQUIRED,)
