"""NIfTI, NRRD, MetaImage: SimpleITK agrees on every value and every place in the patient."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - as everybody calls it
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging.pixels.greys import modality_values
from app.imaging.pixels.pipeline import render
from app.imaging.pixels.windows import default_window
from app.imaging.reading.image_entries import (
    read_attributes,
    read_frame,
    read_instance,
    read_instances,
)
from app.imaging.space.geometry import edge_letters, length
from app.imaging.space.reformat import available_planes, section
from app.imaging.types import Frame, Plane, SpacingSource
from tests.unit.imaging.mutations import assert_only_problems, assert_refused
from tests.unit.imaging.stack_files import assemble

Array = NDArray[Any]

SUFFIXES = [".nii", ".nii.gz", ".hdr", ".nrrd", ".nhdr", ".mha", ".mhd"]
SIZE = (7, 6, 5)


def voxels(dtype: Any = np.int16, size: tuple[int, int, int] = SIZE) -> Array:
    """[k, j, i], every value its own."""
    return np.arange(np.prod(size), dtype=dtype).reshape(size[::-1])


def image(
    direction: Array | None = None, array: Array | None = None, spacing: Any = (0.7, 0.8, 0.9)
) -> sitk.Image:
    made = sitk.GetImageFromArray(voxels() if array is None else array)
    made.SetSpacing(spacing)
    made.SetOrigin((-12.5, 30.25, 101.0))
    if direction is not None:
        made.SetDirection(np.asarray(direction, float).ravel().tolist())
    return made


def saved(made: sitk.Image, path: Path) -> Path:
    sitk.WriteImage(made, str(path))
    return path


def rotation(a: float, b: float, c: float) -> Array:
    turn = sitk.Euler3DTransform()
    turn.SetRotation(a, b, c)
    return np.array(turn.GetMatrix()).reshape(3, 3)


def point_of(frame: Frame, x: float, y: float) -> Array:
    """Patient mm of a pixel, PS3.3 C.7.6.2.1.1."""
    cosines, position = frame.orientation.cosines, frame.orientation.position
    assert cosines is not None
    assert position is not None
    column_mm, row_mm = frame.spacing.column_mm or 0.0, frame.spacing.row_mm or 0.0
    across, down = np.array(cosines[:3]) * column_mm, np.array(cosines[3:]) * row_mm
    return np.array(position) + x * across + y * down


def assert_every_voxel_in_its_place(path: Path, witness: sitk.Image, tolerance: float) -> None:
    """Each voxel is shown once, and where SimpleITK says that it lies."""
    instance = read_instance(path)
    seen: list[float] = []
    for index in range(instance.frames):
        frame = read_frame(path, index)
        assert frame.stored.shape == (instance.rows, instance.columns)
        seen += modality_values(frame, frame.stored).ravel().tolist()
        for y in range(frame.rows):
            for x in range(frame.columns):
                place = point_of(frame, x, y)
                at = witness.TransformPhysicalPointToIndex(place.tolist())
                shown = modality_values(frame, frame.stored[y : y + 1, x : x + 1])[0, 0]
                assert shown == pytest.approx(witness[at], rel=1e-6)
                expected = witness.TransformIndexToPhysicalPoint(at)
                np.testing.assert_allclose(place, expected, atol=tolerance)
    everything = sitk.GetArrayViewFromImage(witness).astype(float).ravel()
    np.testing.assert_allclose(sorted(seen), sorted(everything.tolist()))


OBLIQUE = rotation(0.2, -0.3, 0.4)
DIRECTIONS = {
    "identity": np.eye(3),
    "RAS": np.diag((-1, -1, 1)),
    "left-handed": np.diag((1, -1, 1)),
    "sagittal": [[0, 0, 1], [1, 0, 0], [0, -1, 0]],
    "coronal, left-handed": [[1, 0, 0], [0, 0, 1], [0, 1, 0]],
    "oblique": OBLIQUE,
    "oblique, left-handed": OBLIQUE @ np.diag((1, 1, -1)),
    "oblique sagittal": OBLIQUE @ np.array([[0, 0, -1], [1, 0, 0], [0, -1, 0]]),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", DIRECTIONS)
def test_every_voxel_lies_where_simpleitk_says(tmp_path: Path, suffix: str, name: str):
    made = image(np.array(DIRECTIONS[name]))
    path = saved(made, tmp_path / f"a{suffix}")
    # NIfTI keeps its geometry in 32 bits; the others write it out in decimals.
    assert_every_voxel_in_its_place(path, made, 1e-4)


@settings(max_examples=15, deadline=None)
@given(
    angles=st.tuples(*[st.integers(-320, 320)] * 3),
    mirrored=st.booleans(),
    thick=st.integers(0, 2),
)
def test_any_direction_matrix_is_kept(
    tmp_path_factory: pytest.TempPathFactory,
    angles: tuple[int, int, int],
    mirrored: bool,
    thick: int,
):
    mirror = np.diag((1, 1, -1 if mirrored else 1))
    direction = rotation(*(angle / 100 for angle in angles)) @ mirror
    spacing = [0.7, 0.8, 0.9]
    spacing[thick] = 4.0
    made = image(direction, voxels(size=(4, 3, 2)), spacing)
    path = saved(made, tmp_path_factory.mktemp("any") / "a.mha")
    assert_every_voxel_in_its_place(path, made, 1e-6)
    frame = read_frame(path, 0)
    # The picture is cut across the thick slices, whichever axis they lie along.
    shown = sorted((frame.spacing.row_mm or 0.0, frame.spacing.column_mm or 0.0))
    assert shown == pytest.approx(sorted(set(spacing) - {4.0}), abs=1e-9)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_volume_in_the_patient_says_so(tmp_path: Path, suffix: str):
    frame = read_frame(saved(image(np.diag((-1, -1, 1))), tmp_path / f"a{suffix}"), 0)
    assert frame.spacing.source is SpacingSource.PATIENT
    assert edge_letters(frame.orientation) == ("R", "L", "A", "P")


@pytest.mark.parametrize(
    ("thick", "letters"),
    [(0, ("A", "P", "H", "F")), (1, ("R", "L", "H", "F")), (2, ("R", "L", "A", "P"))],
)
def test_slices_stand_as_a_radiologist_expects(tmp_path: Path, thick: int, letters: Any):
    spacing = [1.0, 1.0, 1.0]
    spacing[thick] = 5.0
    path = saved(image(np.diag((-1, -1, 1)), spacing=spacing), tmp_path / "a.nii")
    assert edge_letters(read_frame(path, 0).orientation) == letters


def test_slices_follow_the_normal(tmp_path: Path):
    for thick in range(3):
        spacing = [1.0, 1.0, 1.0]
        spacing[thick] = 5.0
        path = saved(image(OBLIQUE @ np.diag((1, -1, -1)), spacing=spacing), tmp_path / "a.nrrd")
        first, second = (read_frame(path, index) for index in (0, 1))
        cosines = np.array(first.orientation.cosines)
        step = np.array(second.orientation.position) - np.array(first.orientation.position)
        normal = np.cross(cosines[:3], cosines[3:])
        np.testing.assert_allclose(step, normal * 5.0, atol=1e-6)


@pytest.mark.parametrize("suffix", [".nii", ".nrrd", ".mha"])
@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64]
)
def test_every_kind_of_number(tmp_path: Path, suffix: str, dtype: Any):
    array = voxels(dtype)
    array.flat[0] = np.iinfo(dtype).max if array.dtype.kind in "iu" else 1.5
    frame = read_frame(saved(image(array=array), tmp_path / f"a{suffix}"), 0)
    assert frame.stored.dtype == dtype
    np.testing.assert_array_equal(frame.stored, array[0])


def test_64_bit_labels_become_32_bits_where_they_fit(tmp_path: Path):
    path = saved(image(array=voxels(np.int64)), tmp_path / "a.nrrd")
    assert read_frame(path, 0).stored.dtype == np.int32
    huge = saved(image(array=voxels(np.int64) * 2**40), tmp_path / "b.nrrd")
    np.testing.assert_array_equal(read_frame(huge, 2).stored, voxels(np.float64)[2] * 2**40)


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".nrrd", ".mha"])
def test_time_points_are_instances(tmp_path: Path, suffix: str):
    series = [image(array=voxels() + 1000 * time) for time in range(3)]
    path = saved(sitk.JoinSeries(series), tmp_path / f"a{suffix}")
    instances = read_instances(path)
    assert [one.part for one in instances] == [0, 1, 2]
    assert len({one.sop_instance_uid for one in instances}) == 3
    assert instances[1].note.endswith("2 of 3")
    for time, one in enumerate(instances):
        frame = read_frame(path, 2, time)
        np.testing.assert_array_equal(frame.stored, voxels()[2] + 1000 * time)
        assert frame.ref.sop_instance_uid == one.sop_instance_uid
        if suffix.startswith(".nii"):
            assert frame.orientation.position == pytest.approx((-12.5, 30.25, 102.8))


@pytest.mark.parametrize("suffix", [".nii", ".nrrd", ".mha"])
def test_colour_voxels_are_colour(tmp_path: Path, suffix: str):
    rgb = np.random.default_rng(1).integers(0, 256, (*SIZE[::-1], 3), np.uint8)
    made = sitk.GetImageFromArray(rgb, isVector=True)
    path = saved(made, tmp_path / f"a{suffix}")
    instances = read_instances(path)
    if suffix == ".nii":
        # SimpleITK writes NIfTI's RGB as a vector: the components are volumes of their own.
        shown = np.stack([read_frame(path, 1, part).stored for part in range(3)], axis=-1)
    else:
        assert len(instances) == 1
        shown = read_frame(path, 1).stored
        assert read_frame(path, 1).photometric == "RGB"
        assert available_planes(instances[0]) == (Plane.ACQUIRED,)
    if suffix == ".nii" or read_frame(path, 1).orientation.cosines:
        np.testing.assert_array_equal(shown, rgb[1])


def test_compressed_and_detached_and_written_out(tmp_path: Path):
    made = image()
    for name, compress in (("a.nrrd", True), ("a.mha", True), ("b.mhd", True), ("b.nhdr", True)):
        sitk.WriteImage(made, str(tmp_path / name), compress)
        assert_every_voxel_in_its_place(tmp_path / name, made, 1e-6)
    plain = (
        "NRRD0004\ntype: short\ndimension: 3\nsizes: 7 6 5\nspace: LPS\nencoding: ascii\n"
        "space directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n\n"
    )
    path = tmp_path / "text.nrrd"
    path.write_bytes(plain.encode() + b" ".join(b"%d" % value for value in voxels().ravel()))
    np.testing.assert_array_equal(read_frame(path, 3).stored, voxels()[3])
    path.write_bytes(
        plain.replace("ascii", "hex\nendian: big").encode()
        + (voxels().astype(">i2").tobytes().hex().encode())
    )
    np.testing.assert_array_equal(read_frame(path, 3).stored, voxels()[3])


def nifti(path: Path, **fields: tuple[str, int, Any]) -> Path:
    """A NIfTI by SimpleITK with some header fields overwritten: name -> (format, offset, value)."""
    saved(image(np.diag((-1, -1, 1))), path)
    data = bytearray(path.read_bytes())
    for form, offset, value in fields.values():
        values = value if isinstance(value, tuple) else (value,)
        struct.pack_into(f"<{form}", data, offset, *values)
    path.write_bytes(bytes(data))
    return path


@pytest.mark.parametrize("highest", [8.8e12, 3e38, float("inf"), float("nan")])
def test_an_absurd_window_of_the_file_is_not_used(tmp_path: Path, highest: float):
    path = nifti(tmp_path / "a.nii", cal=("2f", 124, (highest, 0.0)))
    frame = read_frame(path, 0)
    assert frame.voi.windows == ()
    assert np.ptp(render(frame)) > 0


def test_slope_and_intercept_give_real_values(tmp_path: Path):
    path = nifti(tmp_path / "a.nii", slope=("f", 112, 0.5), inter=("f", 116, -100.0))
    frame = read_frame(path, 1)
    assert frame.stored.dtype == np.int16
    witness = sitk.GetArrayFromImage(sitk.ReadImage(str(path)))
    # The volume lies with right and anterior first in the file: both axes are turned round.
    np.testing.assert_allclose(modality_values(frame, frame.stored), witness[1, ::-1, ::-1])
    none = nifti(tmp_path / "b.nii", slope=("f", 112, 0.0), inter=("f", 116, 7.0))
    assert read_frame(none, 0).rescale.intercept == 0
    bad = nifti(tmp_path / "c.nii", slope=("f", 112, float("nan")))
    assert read_frame(bad, 0).rescale.slope == 1


@pytest.mark.parametrize(("code", "scale"), [(1, 1000.0), (3, 0.001)])
def test_metres_and_micrometres(tmp_path: Path, code: int, scale: float):
    path = nifti(tmp_path / "a.nii", units=("B", 123, code))
    frame = read_frame(path, 0)
    if scale == 1000:
        # Voxels of 0.7 m cannot be.
        assert not frame.spacing.known
        return
    assert frame.spacing.column_mm == pytest.approx(0.7 * scale)
    witness = sitk.ReadImage(str(path))
    corner = witness.TransformIndexToPhysicalPoint((SIZE[0] - 1, SIZE[1] - 1, 0))
    assert frame.orientation.position == pytest.approx(corner, rel=1e-4)
    assert frame.spacing.row_mm == pytest.approx(witness.GetSpacing()[1])


def test_without_codes_there_is_no_patient(tmp_path: Path):
    path = nifti(tmp_path / "a.nii", codes=("hh", 252, (0, 0)))
    frame = read_frame(path, 0)
    assert frame.orientation.cosines is None
    assert edge_letters(frame.orientation) == ("", "", "", "")
    assert frame.spacing.source is SpacingSource.CALIBRATED
    assert frame.spacing.column_mm == pytest.approx(0.7)
    assert "does not give its orientation" in frame.spacing.note


def test_a_standard_space_is_not_the_patients_own(tmp_path: Path):
    frame = read_frame(nifti(tmp_path / "a.nii", codes=("hh", 252, (1, 4))), 0)
    assert frame.spacing.source is SpacingSource.STANDARD
    assert "MNI" in frame.spacing.note
    assert edge_letters(frame.orientation) == ("R", "L", "A", "P")
    assert length(frame, (0, 0), (3, 0)).text == "2.1 mm (standard space)"


def test_a_volume_in_a_standard_space_has_sections_that_say_so(tmp_path: Path):
    path = nifti(tmp_path / "a.nii", codes=("hh", 252, (1, 4)))
    witness = sitk.ReadImage(str(path))
    voxels = sitk.GetArrayFromImage(witness)
    (instance,) = read_instances(path)
    assert available_planes(instance) == tuple(Plane)
    volume = assemble([read_frame(path, index) for index in range(instance.frames)])
    assert volume.spacing == pytest.approx(witness.GetSpacing(), rel=1e-6)
    edges = {
        Plane.AXIAL: ("R", "L", "A", "P"),
        Plane.CORONAL: ("R", "L", "H", "F"),
        Plane.SAGITTAL: ("A", "P", "H", "F"),
    }
    for plane, letters in edges.items():
        cut = section(volume, plane, 1)
        assert edge_letters(cut.orientation) == letters
        assert cut.spacing.source is SpacingSource.STANDARD
        assert "MNI" in cut.spacing.note
        for x, y in ((0, 0), (cut.columns - 1, 1)):
            k, j, i = (int(part) for part in np.argwhere(voxels == cut.stored[y, x])[0])
            expected = witness.TransformIndexToPhysicalPoint((i, j, k))
            assert point_of(cut, x, y) == pytest.approx(expected, abs=1e-4)


def test_an_sform_of_other_voxels_than_the_header_s_is_told(tmp_path: Path):
    assert read_frame(nifti(tmp_path / "a.nii"), 0).note == ""
    # pixdim[1], mm along the rows of the file: 0.7 as the sform has it
    path = nifti(tmp_path / "b.nii", codes=("hh", 252, (0, 1)), x=("f", 80, 1.4))
    frame = read_frame(path, 0)
    assert frame.spacing.column_mm == pytest.approx(0.7)
    assert "0.7 x 0.8 x 0.9 mm" in frame.note
    assert "1.4 x 0.8 x 0.9 mm" in frame.note


def test_sform_and_qform_that_disagree_are_told(tmp_path: Path):
    assert read_frame(nifti(tmp_path / "a.nii"), 0).note == ""
    path = nifti(tmp_path / "b.nii", x=("f", 292, 77.0))
    frame = read_frame(path, 0)
    assert "disagree" in frame.note
    # The first pixel shown is the file's last one along x, since x runs to the right there.
    assert frame.orientation.position[0] == pytest.approx(-77.0 - 6 * 0.7)


def test_a_sheared_sform_gives_way_to_the_qform(tmp_path: Path):
    sheared = ("4f", 280, (0.7, 0.4, 0.0, 12.5))
    frame = read_frame(nifti(tmp_path / "a.nii", srow=sheared), 0)
    assert "not perpendicular" in frame.note
    assert frame.spacing.known
    only = nifti(tmp_path / "b.nii", srow=sheared, codes=("hh", 252, (0, 1)))
    alone = read_frame(only, 0)
    assert not alone.spacing.known
    assert alone.orientation.cosines is None
    assert alone.orientation.row == "L"


def test_a_negative_first_pixdim_mirrors_the_slices(tmp_path: Path):
    """qfac, nifti1.h: ITK reads it the same way."""
    path = nifti(tmp_path / "a.nii", qfac=("f", 76, -1.0), codes=("hh", 252, (1, 0)))
    assert_every_voxel_in_its_place(path, sitk.ReadImage(str(path)), 1e-4)


def test_big_endian_nifti(tmp_path: Path):
    """Written by hand: SimpleITK writes little endian only, but reads both."""
    header = bytearray(352)
    struct.pack_into(">i", header, 0, 348)
    struct.pack_into(">8h", header, 40, 3, *SIZE, 1, 1, 1, 1)
    struct.pack_into(">hh", header, 70, 4, 16)
    struct.pack_into(">8f", header, 76, 1, 0.7, 0.8, 0.9, 1, 1, 1, 1)
    struct.pack_into(">f", header, 108, 352)
    struct.pack_into(">B", header, 123, 2)
    struct.pack_into(">hh", header, 252, 1, 0)
    struct.pack_into(">6f", header, 256, 0.1, 0.2, 0.3, 4, 5, 6)
    header[344:348] = b"n+1\0"
    path = tmp_path / "a.nii"
    path.write_bytes(bytes(header) + voxels().astype(">i2").tobytes())
    assert_every_voxel_in_its_place(path, sitk.ReadImage(str(path)), 1e-4)


def test_nrrd_in_ras_and_las(tmp_path: Path):
    for space in ("right-anterior-superior", "left-anterior-superior"):
        path = saved(image(OBLIQUE), tmp_path / "a.nrrd")
        data = path.read_bytes().replace(b"left-posterior-superior", space.encode())
        path.write_bytes(data)
        assert_every_voxel_in_its_place(path, sitk.ReadImage(str(path)), 1e-4)


def test_nrrd_without_a_space_has_no_letters(tmp_path: Path):
    path = tmp_path / "a.nrrd"
    path.write_bytes(
        b"NRRD0001\ntype: uint8\ndimension: 3\nsizes: 4 3 2\nspacings: 0.5 0.25 1\n"
        b'units: "mm" "mm" "mm"\nencoding: raw\n\n' + bytes(24)
    )
    frame = read_frame(path, 1)
    assert frame.stored.shape == (3, 4)
    assert (frame.spacing.row_mm, frame.spacing.column_mm) == (0.25, 0.5)
    assert frame.spacing.source is SpacingSource.CALIBRATED
    assert frame.orientation.cosines is None


def test_meta_image_of_unknown_orientation(tmp_path: Path):
    path = saved(image(), tmp_path / "a.mha")
    path.write_bytes(path.read_bytes().replace(b"= RAI", b"= ???"))
    frame = read_frame(path, 0)
    assert edge_letters(frame.orientation) == ("", "", "", "")
    assert frame.spacing.source is SpacingSource.CALIBRATED


def test_a_label_map_shows_its_first_label(tmp_path: Path):
    labels = np.zeros(SIZE[::-1], np.uint8)
    labels[2, 2:4, 2:4] = 1
    labels[2, 4, 4] = 3
    path = saved(image(array=labels), tmp_path / "a.nii.gz")
    frame = read_frame(path, 2)
    assert default_window(frame).explanation == "labels"
    shown = render(frame)
    assert sorted({int(value) for value in shown.ravel()}) == [0, 85, 255]


def test_the_files_own_window(tmp_path: Path):
    path = nifti(tmp_path / "a.nii", cal=("ff", 124, (150.0, 50.0)))
    window = default_window(read_frame(path, 0))
    assert (window.center, window.width) == (100.0, 100.0)


def test_attributes_name_the_header(tmp_path: Path):
    for suffix, word in ((".nii", "sform_code"), (".nrrd", "space directions"), (".mha", "ndims")):
        rows = read_attributes(saved(image(), tmp_path / f"a{suffix}"))
        assert word in {one.keyword for one in rows}
        assert rows[0].keyword == "Format"


def test_the_uid_is_made_of_the_whole_content(tmp_path: Path):
    one, two = voxels(), voxels()
    two[2, 2, 2] += 1
    uids = [
        read_instance(saved(image(array=array), tmp_path / f"{n}.nii")).sop_instance_uid
        for n, array in enumerate((one, two, one))
    ]
    assert uids[0] == uids[2] != uids[1]


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.raw", "sub/a.raw", "..\\a.raw", ""])
def test_voxels_of_another_folder_are_not_opened(tmp_path: Path, name: str):
    header = "ObjectType = Image\nNDims = 2\nDimSize = 4 4\nElementType = MET_UCHAR\n"
    path = tmp_path / "a.mhd"
    path.write_text(f"{header}ElementDataFile = {name}\n")
    with pytest.raises(FileProblem):
        read_instances(path)
    nrrd = tmp_path / "a.nhdr"
    nrrd.write_text(
        f"NRRD0004\ntype: uchar\ndimension: 2\nsizes: 4 4\nencoding: raw\ndata file: {name}\n\n"
    )
    with pytest.raises(FileProblem):
        read_instances(nrrd)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "out.raw").write_bytes(bytes(16))
    (folder / "a.raw").symlink_to(tmp_path / "out.raw")
    path = folder / "a.mhd"
    path.write_text(
        "ObjectType = Image\nNDims = 2\nDimSize = 4 4\nElementType = MET_UCHAR\n"
        "ElementDataFile = a.raw\n"
    )
    assert_refused(lambda: read_instances(path), "another folder")


def test_the_pixels_of_a_pair_name_their_header(tmp_path: Path):
    saved(image(), tmp_path / "a.hdr")
    assert_refused(lambda: read_instances(tmp_path / "a.img"), "Open a.hdr")
    (tmp_path / "a.img").unlink()
    assert_refused(lambda: read_instances(tmp_path / "a.hdr"), "a.img, which is missing")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (("8h", 40), (3, 30000, 30000, 30000, 1, 1, 1, 1), "too large"),
        (("8h", 40), (3, 700, 600, 500, 1, 1, 1, 1), "cut short"),
        (("8h", 40), (3, -7, 6, 5, 1, 1, 1, 1), "damaged"),
        (("8h", 40), (9, 7, 6, 5, 1, 1, 1, 1), "damaged"),
        (("h", 70), (32,), "complex"),
        (("h", 70), (99,), "unknown type"),
        (("f", 108), (float("nan"),), "damaged"),
        (("f", 108), (1e30,), "damaged"),
    ],
)
def test_absurd_headers(tmp_path: Path, field: Any, value: Any, words: str):
    path = nifti(tmp_path / "a.nii", it=(*field, value))
    assert_refused(lambda: read_instances(path), words)


def test_a_gzip_file_that_declares_more_than_it_can_hold(tmp_path: Path):
    plain = nifti(tmp_path / "a.nii", it=("8h", 40, (3, 800, 800, 400, 1, 1, 1, 1)))
    path = tmp_path / "a.nii.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    assert_refused(lambda: read_instances(path), "more voxels than a file of its size")
    path.write_bytes(gzip.compress(saved(image(), tmp_path / "b.nii").read_bytes())[:-60])
    assert read_instances(path)
    assert_refused(lambda: read_frame(path, 4), "damaged")


@pytest.mark.parametrize(("suffix", "head"), [(".nii", 352), (".nii.gz", 400), (".nrrd", 500),
                                              (".mha", 400)])  # fmt: skip
def test_damage_never_gives_anything_but_a_named_problem(tmp_path: Path, suffix: str, head: int):
    source = saved(image(OBLIQUE), tmp_path / f"good{suffix}").read_bytes()
    assert assert_only_problems(source, tmp_path / f"bad{suffix}", head) > 5


def test_the_brain_and_its_tumour(shared_data: Path):
    """The real pair: its slices are axial, and SimpleITK finds each voxel where we show it."""
    folder = shared_data / "volumes"
    witness = sitk.ReadImage(str(folder / "brain1_image.nrrd"))
    array = sitk.GetArrayViewFromImage(witness)
    frame = read_frame(folder / "brain1_image.nrrd", 12)
    assert edge_letters(frame.orientation) == ("R", "L", "A", "P")
    for x, y in ((0, 0), (255, 10), (128, 200)):
        i, j, k = witness.TransformPhysicalPointToIndex(point_of(frame, x, y).tolist())
        assert frame.stored[y, x] == array[k, j, i]
    label = read_frame(folder / "brain1_label.nrrd", 12)
    assert label.orientation == frame.orientation
    assert default_window(label).explanation == "labels"
