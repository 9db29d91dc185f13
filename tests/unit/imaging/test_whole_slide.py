"""A slide's tiles are one image; highdicom stitches the real ones the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.reading.image_entries import read_frame, read_instance
from tests.unit.imaging import oracle
from tests.unit.imaging.files import item, make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

Array = NDArray[Any]
SM = "1.2.840.10008.5.1.4.1.1.77.1.6"
# 5 rows x 7 columns of a matrix in tiles of 2 x 3: the last ones reach beyond it.
MATRIX = np.arange(35, dtype=np.uint16).reshape(5, 7) + 100
ROWS, COLUMNS = 2, 3


def tiles(matrix: Array) -> list[tuple[int, int, Array]]:
    """(row, column, pixels) of each tile, along the rows."""
    rows, columns = matrix.shape[:2]
    padded = np.zeros((rows + ROWS, columns + COLUMNS, *matrix.shape[2:]), matrix.dtype)
    padded[:rows, :columns] = matrix
    return [
        (y, x, padded[y : y + ROWS, x : x + COLUMNS])
        for y in range(0, rows, ROWS)
        for x in range(0, columns, COLUMNS)
    ]


def slide(path: Path, frames: list[Array], **more: Any) -> Path:
    return make_dicom(
        path,
        np.stack(frames),
        **{
            "SOPClassUID": SM,
            "Modality": "SM",
            "NumberOfFrames": len(frames),
            "SamplesPerPixel": 1,
            "PlanarConfiguration": None,
            "PhotometricInterpretation": "MONOCHROME2",
            "Rows": ROWS,
            "Columns": COLUMNS,
            "TotalPixelMatrixRows": MATRIX.shape[0],
            "TotalPixelMatrixColumns": MATRIX.shape[1],
        }
        | more,
    )


def place(y: int, x: int, z: float = 0.0, path: str = "1") -> pydicom.Dataset:
    return item(
        PlanePositionSlideSequence=[
            item(
                ColumnPositionInTotalImagePixelMatrix=x + 1,
                RowPositionInTotalImagePixelMatrix=y + 1,
                ZOffsetInSlideCoordinateSystem=z,
            )
        ],
        OpticalPathIdentificationSequence=[item(OpticalPathIdentifier=path)],
    )


def test_full_tiles_are_one_image_of_the_matrix_size(tmp_path: Path):
    path = slide(
        tmp_path / "a.dcm",
        [pixels for _, _, pixels in tiles(MATRIX)],
        DimensionOrganizationType="TILED_FULL",
    )
    instance = read_instance(path)
    assert (instance.rows, instance.columns, instance.frames) == (5, 7, 1)
    frame = read_frame(path, 0)
    np.testing.assert_array_equal(frame.stored, MATRIX)
    assert frame.note == ""
    with pytest.raises(FileProblem, match="1 frames"):
        read_frame(path, 1)


def test_optical_paths_and_focal_planes_are_frames(tmp_path: Path):
    """PS3.3 C.7.6.17.3: tiles, then focal planes, then optical paths."""
    matrices = [MATRIX + 1000 * n for n in range(4)]
    path = slide(
        tmp_path / "a.dcm",
        [pixels for matrix in matrices for _, _, pixels in tiles(matrix)],
        DimensionOrganizationType="TILED_FULL",
        TotalPixelMatrixFocalPlanes=2,
        OpticalPathSequence=[
            item(OpticalPathIdentifier="1", OpticalPathDescription="DAPI"),
            item(OpticalPathIdentifier="2"),
        ],
    )
    assert read_instance(path).frames == 4
    notes = ["DAPI, focal plane 1", "DAPI, focal plane 2"]
    notes += ["optical path 2, focal plane 1", "optical path 2, focal plane 2"]
    for index, matrix in enumerate(matrices):
        frame = read_frame(path, index)
        np.testing.assert_array_equal(frame.stored, matrix)
        assert frame.note == notes[index]
        assert frame.ref.frame == index


def test_sparse_tiles_lie_where_their_positions_say_in_any_order(tmp_path: Path):
    placed = tiles(MATRIX)
    order = np.random.default_rng(0).permutation(len(placed))
    path = slide(
        tmp_path / "a.dcm",
        [placed[n][2] for n in order],
        DimensionOrganizationType="TILED_SPARSE",
        PerFrameFunctionalGroupsSequence=[place(*placed[n][:2]) for n in order],
    )
    np.testing.assert_array_equal(read_frame(path, 0).stored, MATRIX)


def test_missing_tiles_of_a_colour_slide_are_glass_and_it_says_so(tmp_path: Path):
    matrix = np.random.default_rng(1).integers(0, 200, (5, 7, 3)).astype(np.uint8)
    placed = tiles(matrix)[:4]
    path = slide(
        tmp_path / "a.dcm",
        [pixels for _, _, pixels in placed],
        PerFrameFunctionalGroupsSequence=[place(y, x) for y, x, _ in placed],
        SamplesPerPixel=3,
        PlanarConfiguration=0,
        PhotometricInterpretation="RGB",
    )
    frame = read_frame(path, 0)
    np.testing.assert_array_equal(frame.stored[:2], matrix[:2])
    assert (frame.stored[4] == 255).all()
    assert "no tiles for parts" in frame.note


def test_sparse_sections_are_told_apart_by_path_and_depth(tmp_path: Path):
    sections = [("b", 0.002), ("b", 0.001), ("a", 0.001)]
    frames, groups = [], []
    for number, (name, z) in enumerate(sections):
        for y, x, pixels in tiles(MATRIX + 1000 * number):
            frames.append(pixels)
            groups.append(place(y, x, z, name))
    path = slide(tmp_path / "a.dcm", frames, PerFrameFunctionalGroupsSequence=groups)
    assert read_instance(path).frames == 3
    found = [read_frame(path, n) for n in range(3)]
    assert [int(frame.stored[0, 0]) // 1000 for frame in found] == [1, 0, 2]
    assert found[0].note == "optical path b, focal plane 1"


def test_a_matrix_that_is_too_large_stays_in_tiles_that_say_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    placed = tiles(MATRIX)
    path = slide(
        tmp_path / "a.dcm",
        [pixels for _, _, pixels in placed],
        PerFrameFunctionalGroupsSequence=[place(y, x) for y, x, _ in placed],
    )
    monkeypatch.setattr(guards, "MAX_SAMPLES", 30)
    instance = read_instance(path)
    assert (instance.rows, instance.columns, instance.frames) == (2, 3, 9)
    frame = read_frame(path, 4)
    np.testing.assert_array_equal(frame.stored, placed[4][2])
    assert "the tile at column 4, row 3" in frame.note


@pytest.mark.parametrize("rows", [0, -4, 2**31])
def test_an_absurd_matrix_leaves_the_frames_as_they_are(rows: int, tmp_path: Path):
    path = slide(tmp_path / "a.dcm", [MATRIX[:2, :3]] * 4)
    ds = pydicom.dcmread(path)
    ds["TotalPixelMatrixRows"].VR = "SL" if rows < 0 else "UL"
    ds.TotalPixelMatrixRows = rows
    ds.save_as(path)
    assert read_instance(path).frames == 4


def test_real_slides_are_stitched_as_highdicom_stitches_them(shared_data: Path):
    pytest.importorskip("highdicom")
    found = sorted((shared_data / "dicom" / "objects").glob("sm_image*.dcm"))
    assert len(found) >= 6
    for path in found:
        frame = read_frame(path, 0)
        expected = oracle.stored_pixels(path, oracle.read(path), 0)
        np.testing.assert_array_equal(frame.stored, expected)
        assert read_instance(path).rows == frame.rows


def test_a_part_of_a_concatenation_is_not_taken_for_a_whole_slide(tmp_path: Path):
    """PS3.3 C.7.6.16.2.2.4: its frames continue those of another file."""
    path = slide(
        tmp_path / "a.dcm",
        [pixels for _, _, pixels in tiles(MATRIX)],
        DimensionOrganizationType="TILED_FULL",
        ConcatenationUID="1.2.3.9",
        InConcatenationNumber=2,
        ConcatenationFrameOffsetNumber=4,
    )
    assert read_instance(path).frames == 9
    np.testing.assert_array_equal(read_frame(path, 1).stored, MATRIX[:2, 3:6])
