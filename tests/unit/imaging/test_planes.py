"""Where pixels lie in the patient, and the letters of any direction, flip and rotation."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
import SimpleITK

from app.imaging.decode import Decoder
from app.imaging.space.geometry import edge_letters
from app.imaging.space.planes import frame_plane, patient_point
from app.imaging.types import Frame, ImageRef, Orientation, Spacing, SpacingSource
from tests.unit.imaging.files import make_dicom

AXES = [np.array(v) for v in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]


def frame_with(spacing: Spacing) -> Frame:
    return Frame(np.zeros((4, 4), np.uint8), ImageRef("1", 0, ""), spacing=spacing)


def oracle_matrix(
    cosines: tuple[float, ...], position: tuple[float, ...], spacing: tuple[float, float]
) -> np.ndarray:
    """Equation C.7.6.2.1-1 as the standard prints it: spacing[0] is between rows."""
    x, y = np.array(cosines[:3]), np.array(cosines[3:])
    matrix = np.zeros((4, 4))
    matrix[:3, 0] = x * spacing[1]
    matrix[:3, 1] = y * spacing[0]
    matrix[:3, 3] = position
    matrix[3, 3] = 1
    return matrix


def orthonormal(rng: np.random.Generator) -> tuple[float, ...]:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return tuple(float(v) for v in (*q[:, 0], *q[:, 1]))


def axis_aligned() -> list[tuple[float, ...]]:
    """All 24 ways to lay rows and columns along the patient's axes."""
    return [
        tuple(float(v) for v in (*row, *column))
        for row, column in itertools.permutations(AXES, 2)
        if not row @ column
    ]


def test_patient_coordinates_of_24_orientations_and_obliques_equal_the_standards_matrix():
    rng = np.random.default_rng(3)
    orientations = axis_aligned() + [orthonormal(rng) for _ in range(50)]
    assert len(axis_aligned()) == 24
    for cosines in orientations:
        position = tuple(float(v) for v in rng.uniform(-300, 300, 3))
        row_mm, column_mm = (float(v) for v in rng.uniform(0.1, 3, 2))
        frame = replace(
            frame_with(Spacing(row_mm, column_mm, SpacingSource.PATIENT)),
            orientation=Orientation(cosines=cosines, position=position),  # pyright: ignore
        )
        matrix = oracle_matrix(cosines, position, (row_mm, column_mm))
        plane = frame_plane(frame, "1.2")
        assert plane is not None
        for x, y in rng.uniform(-10, 600, (5, 2)):
            expected = matrix @ (x, y, 0, 1)
            assert patient_point(frame, x, y) == pytest.approx(tuple(expected[:3]), abs=1e-9)
            normal = np.cross(cosines[:3], cosines[3:])
            away = expected[:3] + 7.5 * normal
            assert plane.pixel(tuple(away)) == pytest.approx((x, y, 7.5), abs=1e-6)


@pytest.mark.parametrize("flip_h", [False, True])
@pytest.mark.parametrize("flip_v", [False, True])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_letters_of_obliques_follow_every_flip_and_rotation(flip_h: bool, flip_v: bool, turns: int):
    """Screen directions as 2 x 2 matrices, then the patient's directions they stand for."""
    rng = np.random.default_rng(5)
    mirror = np.diag([-1 if flip_h else 1, -1 if flip_v else 1])
    clockwise = np.array([[0, -1], [1, 0]])  # right -> down, down -> left (y grows downwards)
    screen = np.linalg.matrix_power(clockwise, turns) @ mirror
    for cosines in axis_aligned() + [orthonormal(rng) for _ in range(40)]:
        axes = np.array(cosines).reshape(2, 3)  # patient directions of image x and y
        expected: list[str] = []
        for direction in ((-1, 0), (1, 0), (0, -1), (0, 1)):  # left, right, top, bottom
            inside = np.linalg.inv(screen) @ direction
            expected.append(named(inside @ axes))
        orientation = Orientation(cosines=cosines)  # pyright: ignore
        assert edge_letters(orientation, flip_h, flip_v, turns) == tuple(expected)


def named(direction: np.ndarray) -> str:
    """Letters by PS3.3 C.7.6.1.1.1: of each axis with a share above 3 degrees, largest first."""
    letters = [("L", "R"), ("P", "A"), ("H", "F")]
    pairs = zip(direction, letters, strict=True)
    shares = [(abs(v), pair[0] if v > 0 else pair[1]) for v, pair in pairs]
    return "".join(letter for share, letter in sorted(shares, reverse=True) if share > 0.05)


def test_a_projection_image_has_no_place_in_the_patient():
    placed = Orientation(cosines=(1, 0, 0, 0, 1, 0), position=(0, 0, 0))
    for source in (SpacingSource.DETECTOR, SpacingSource.NONE, SpacingSource.SPECIMEN):
        frame = replace(frame_with(Spacing(1, 1, source)), orientation=placed)
        assert patient_point(frame, 0, 0) is None
    unknown = replace(frame_with(Spacing(1, 1, SpacingSource.PATIENT)), orientation=Orientation())
    assert patient_point(unknown, 0, 0) is None


@pytest.mark.parametrize(
    "name",
    [
        "package:CT_small.dcm",
        "package:MR_small.dcm",
        "series/ct-head/15.dcm",
        "series/mr-t1/N2D_0041.dcm",
        "dicom/objects/ct-3slice/02.dcm",
    ],
)
def test_physical_points_equal_simpleitks(decoder: Decoder, request: Any, name: str):
    if name.startswith("package:"):
        path = Path(pydicom.__file__).parent / "data/test_files" / name.removeprefix("package:")
    else:
        path = request.getfixturevalue("shared_data") / name
    image = SimpleITK.ReadImage(str(path))
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    frame = decoder.frame(instance).result(60)
    for x, y in ((0, 0), (17, 0), (0, 31), (frame.columns - 1, frame.rows - 1)):
        expected = image.TransformIndexToPhysicalPoint((x, y, 0))
        assert patient_point(frame, x, y) == pytest.approx(expected, abs=1e-6)


def test_every_frame_of_an_enhanced_object_has_its_own_plane(decoder: Decoder, shared_data: Path):
    """eCT_Supplemental: SimpleITK gives the first frame's place, pydicom the others'."""
    path = shared_data / "dicom/syntaxes/eCT_Supplemental.dcm"
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    dataset = pydicom.dcmread(path, stop_before_pixels=True)
    groups = dataset.PerFrameFunctionalGroupsSequence
    for index, group in enumerate(groups):
        frame = decoder.frame(instance, index).result(60)
        expected = group.PlanePositionSequence[0].ImagePositionPatient
        assert patient_point(frame, 0, 0) == pytest.approx([float(v) for v in expected])


def orientation_in(tmp_path: Path, decoder: Decoder, **elements: Any) -> Orientation:
    path = make_dicom(tmp_path / "a.dcm", **elements)
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    return decoder.frame(instance).result(60).orientation


@pytest.mark.parametrize(
    ("letters", "edges"),
    [
        (["LE", "CD"], ("RT", "LE", "CR", "CD")),
        (["CR", "V"], ("CD", "CR", "D", "V")),
        (["PR", "LE"], ("DI", "PR", "RT", "LE")),
        (["CDLE", "V"], ("CRRT", "CDLE", "D", "V")),
        (["R", "D"], ("", "R", "V", "D")),
        (["XX", "V"], ("", "", "D", "V")),
    ],
)
def test_an_animal_has_the_letters_of_a_quadruped(
    decoder: Decoder, tmp_path: Path, letters: list[str], edges: tuple[str, ...]
):
    found = orientation_in(
        tmp_path, decoder, PatientOrientation=letters, AnatomicalOrientationType="QUADRUPED"
    )
    assert edge_letters(found) == edges


@pytest.mark.parametrize(
    ("part", "edges"),
    [
        ("ABDOMEN", ("RT", "LE", "V", "D")),
        # Of a head z is rostral, of a limb y and z have other names: better none than a wrong one.
        ("HEAD", ("", "", "", "")),
        ("", ("", "", "", "")),
    ],
)
def test_an_animals_slice_has_letters_where_its_axes_are_sure(
    decoder: Decoder, tmp_path: Path, part: str, edges: tuple[str, ...]
):
    found = orientation_in(
        tmp_path,
        decoder,
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        AnatomicalOrientationType="QUADRUPED",
        BodyPartExamined=part,
    )
    assert edge_letters(found) == edges
    assert edge_letters(found, flip_h=True, quarter_turns=1)[0] in ("", "D")


@pytest.mark.parametrize("letters", [["L", "R"], ["LR", "F"], ["E", "F"], ["L"], ["PR", "P"]])
def test_impossible_letters_stay_unlabelled(decoder: Decoder, tmp_path: Path, letters: list[str]):
    found = orientation_in(tmp_path, decoder, PatientOrientation=letters)
    assert edge_letters(found) == ("", "", "", "")


@pytest.mark.parametrize("first", [0.0, -50.0])
def test_each_frame_of_a_dose_grid_lies_where_its_offset_says(
    decoder: Decoder, tmp_path: Path, first: float
):
    """PS3.3 C.8.8.3.2: offsets relative to the first frame, or z coordinates."""
    offsets = [first, first + 3.0, first + 7.0]
    path = make_dicom(
        tmp_path / "dose.dcm",
        np.zeros((3, 4, 4), np.uint16),
        Modality="RTDOSE",
        SOPClassUID="1.2.840.10008.5.1.4.1.1.481.2",
        NumberOfFrames=3,
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        ImagePositionPatient=[1, 2, -50],
        PixelSpacing=[2, 2],
        GridFrameOffsetVector=offsets,
    )
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    heights = [
        decoder.frame(instance, index).result(60).orientation.position[2] for index in range(3)
    ]
    assert heights == pytest.approx([-50.0, -47.0, -43.0])


def test_offsets_of_a_dose_grid_that_contradict_its_position_give_no_place(
    decoder: Decoder, tmp_path: Path
):
    path = make_dicom(
        tmp_path / "dose.dcm",
        np.zeros((2, 4, 4), np.uint16),
        Modality="RTDOSE",
        NumberOfFrames=2,
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        ImagePositionPatient=[1, 2, -50],
        PixelSpacing=[2, 2],
        GridFrameOffsetVector=[10, 13],
    )
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    first, second = (decoder.frame(instance, index).result(60) for index in range(2))
    assert first.orientation.position == (1, 2, -50)
    assert second.orientation.position is None
