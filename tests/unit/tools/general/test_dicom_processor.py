"""dicom_processor: the picture, the metadata, and the faults of the original that stay away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydicom.dataelem import DataElement

from app.imaging.pixels import pipeline
from app.imaging.types import Window
from app.tools.api import ToolResult, ToolRetry
from app.tools.general.dicom_processor import DicomProcessor
from tests.unit.imaging.files import item
from tests.unit.tools.support import Bench, gradient, write_dicom

SEED_KEYS = {
    "PatientID",
    "StudyDate",
    "Modality",
    "PixelSpacing",
    "WindowCenter",
    "WindowWidth",
    "ImageOrientation",
    "ImagePosition",
    "BitsStored",
    "original_path",
    "output_path",
    "status",
}


def run(bench: Bench, **arguments: Any) -> tuple[ToolResult, np.ndarray]:
    result = bench.run(DicomProcessor(), **{"dicom_path": "image-1", **arguments})
    return result, np.asarray(Image.open(result.output["image_path"]))


def linear(values: np.ndarray, center: float, width: float) -> np.ndarray:
    """PS3.3 C.11.2.1.2.1, written down once more."""
    level = ((values - (center - 0.5)) / (width - 1) + 0.5) * 255
    return np.floor(np.clip(level, 0, 255) + 0.5)


def test_the_picture_is_what_the_viewer_shows_at_native_size(bench: Bench):
    pixels = gradient()
    image = bench.open(
        write_dicom(bench.folder / "a.dcm", pixels, WindowCenter=2000, WindowWidth=3000)
    )
    result, picture = run(bench)
    assert picture.shape == pixels.shape
    np.testing.assert_array_equal(picture, linear(pixels.astype(float), 2000, 3000))
    frame = bench.source.frame(image.instance, 0).result()
    np.testing.assert_array_equal(picture, pipeline.render(frame))
    assert result.artifacts[0].source == frame.ref


def test_the_seeds_metadata_is_there_and_is_json(bench: Bench):
    path = write_dicom(
        bench.folder / "ct.dcm",
        gradient().astype(np.int16),
        Modality="CT",
        PixelSpacing=[0.5, 0.25],
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        ImagePositionPatient=[-10, 20, 30.5],
        RescaleSlope=1,
        RescaleIntercept=-1024,
        WindowCenter=40,
        WindowWidth=400,
    )
    bench.open(path)
    result, _ = run(bench, dicom_path=str(path))
    metadata = result.metadata
    assert metadata.keys() >= SEED_KEYS
    assert json.loads(json.dumps(metadata, allow_nan=False)) == metadata
    assert metadata["PixelSpacing"] == [0.5, 0.25]
    assert metadata["PixelSpacingSource"] == "patient"
    assert metadata["ImageOrientation"] == [1, 0, 0, 0, 1, 0]
    assert metadata["ImagePosition"] == [-10, 20, 30.5]
    assert (metadata["WindowCenter"], metadata["WindowWidth"]) == (40, 400)
    assert (metadata["PatientID"], metadata["StudyDate"]) == ("SECRET-1", "20200102")
    assert metadata["original_path"] == str(path)
    assert metadata["output_path"] == result.output["image_path"]
    assert metadata["status"] == "completed"


def test_a_view_that_is_named_by_a_code_only_is_told(bench: Bench):
    code = item(CodeValue="399173006", CodingSchemeDesignator="SCT", CodeMeaning="of no matter")
    said = {"ViewPosition": None, "ViewCodeSequence": [code]}
    bench.open(write_dicom(bench.folder / "a.dcm", gradient(), **said))
    made = bench.run(DicomProcessor(), dicom_path="image-1")
    assert made.metadata["ViewPosition"] == "left lateral"


def test_of_several_windows_the_first_is_used(bench: Bench):
    pixels = gradient()
    bench.open(
        write_dicom(
            bench.folder / "a.dcm", pixels, WindowCenter=[1000, 3000], WindowWidth=[500, 900]
        )
    )
    result, picture = run(bench)
    np.testing.assert_array_equal(picture, linear(pixels.astype(float), 1000, 500))
    assert result.metadata["WindowCenter"] == 1000


def test_monochrome1_is_inverted(bench: Bench):
    pixels = gradient()
    bench.open(
        write_dicom(
            bench.folder / "a.dcm",
            pixels,
            PhotometricInterpretation="MONOCHROME1",
            WindowCenter=2000,
            WindowWidth=4000,
        )
    )
    _, picture = run(bench)
    assert picture[0, 0] > picture[-1, -1]


@pytest.mark.parametrize("value", [0, 700, 65535])
def test_a_constant_image_comes_out_constant(bench: Bench, value: int):
    bench.open(write_dicom(bench.folder / "a.dcm", np.full((20, 30), value, np.uint16)))
    result, picture = run(bench)
    assert picture.shape == (20, 30)
    assert len(np.unique(picture)) == 1
    assert result.metadata["status"] == "completed"


@pytest.mark.parametrize("spacing", [None, [0, 0], [-1, 0.2]])
def test_missing_or_impossible_spacing_is_unknown_never_a_guess(bench: Bench, spacing: Any):
    path = write_dicom(bench.folder / "a.dcm", gradient(), PixelSpacing=spacing)
    bench.open(path)
    result, _ = run(bench)
    assert result.metadata["PixelSpacing"] is None
    assert result.metadata["PixelSpacingSource"] == "none"


def test_the_spacing_lives_on_in_the_png(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient(), ImagerPixelSpacing=[0.143, 0.143]))
    result, _ = run(bench)
    spacing = bench.images.resolve(result.output["image_path"]).frame.spacing
    assert spacing.row_mm == 0.143
    again, _ = run(bench, dicom_path=result.output["image_path"])
    assert again.metadata["PixelSpacing"] == [0.143, 0.143]
    assert "detector" in again.metadata["PixelSpacingSource"]


def test_the_window_on_screen_is_the_default(bench: Bench):
    pixels = gradient()
    bench.open(write_dicom(bench.folder / "a.dcm", pixels), window=Window(500, 900))
    _, picture = run(bench)
    np.testing.assert_array_equal(picture, linear(pixels.astype(float), 500, 900))


@pytest.mark.parametrize(
    ("asked", "center", "width"),
    [
        ({"window_center": 700, "window_width": 800}, 700, 800),
        ({"window_center": 700}, 700, 900),
        ({"window_width": 800}, 500, 800),
    ],
)
def test_what_is_asked_of_the_window_wins_the_rest_is_the_shown_one(
    bench: Bench, asked: dict[str, float], center: float, width: float
):
    pixels = gradient()
    bench.open(write_dicom(bench.folder / "a.dcm", pixels), window=Window(500, 900))
    result, picture = run(bench, **asked)
    np.testing.assert_array_equal(picture, linear(pixels.astype(float), center, width))
    assert (result.metadata["WindowCenter"], result.metadata["WindowWidth"]) == (center, width)


@pytest.mark.parametrize(
    "asked",
    [
        {"window_width": 0},
        {"window_width": -5},
        {"window_width": float("nan")},
        {"window_center": float("inf"), "window_width": 100},
        {"window_center": 1e30, "window_width": 100},
    ],
)
def test_an_impossible_window_is_sent_back(bench: Bench, asked: dict[str, float]):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    with pytest.raises(ToolRetry, match=next(iter(asked))):
        run(bench, **asked)


def test_a_narrow_window_is_exact(bench: Bench):
    pixels = gradient()
    bench.open(write_dicom(bench.folder / "a.dcm", pixels))
    _, picture = run(bench, window_center=2000, window_width=0.5)
    assert set(np.unique(picture)) <= {0, 128, 255}


def test_a_colour_image_is_converted_and_has_no_window(bench: Bench):
    pixels = np.zeros((8, 9, 3), np.uint8)
    pixels[..., 0] = 250
    path = write_dicom(
        bench.folder / "us.dcm",
        pixels[..., 0],
        Modality="US",
        SamplesPerPixel=3,
        PhotometricInterpretation="RGB",
        PlanarConfiguration=0,
    )
    import pydicom

    dataset = pydicom.dcmread(path)
    dataset.PixelData = pixels.tobytes()
    dataset.save_as(path)
    bench.open(path)
    result, picture = run(bench)
    np.testing.assert_array_equal(picture, pixels)
    assert result.metadata["WindowCenter"] is None
    with pytest.raises(ToolRetry, match="no grey window"):
        run(bench, window_center=1, window_width=2)


def test_of_a_cine_the_shown_frame_is_converted(bench: Bench):
    frames = np.stack([gradient(), gradient()[::-1].copy()])
    bench.open(
        write_dicom(bench.folder / "a.dcm", frames, WindowCenter=2000, WindowWidth=4000),
        frame_index=1,
    )
    result, picture = run(bench)
    np.testing.assert_array_equal(picture, linear(frames[1].astype(float), 2000, 4000))
    assert (result.metadata["FrameNumber"], result.metadata["NumberOfFrames"]) == (2, 2)


def test_the_files_name_says_nothing_and_no_part_is_left(bench: Bench):
    path = write_dicom(bench.folder / "SECRET^NAME.dcm", gradient())
    bench.open(path)
    result, _ = run(bench)
    made = Path(result.output["image_path"])
    assert "SECRET" not in made.name.upper()
    assert [path for path in bench.out.iterdir() if path.suffix != ".jsonl"] == [made]
    assert made.parent == bench.out


def test_two_conversions_do_not_overwrite_each_other(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    assert run(bench)[0].output != run(bench)[0].output


def test_nothing_of_the_patient_is_in_the_summary(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    result, _ = run(bench)
    assert "Secret" not in result.summary
    assert "PatientName" not in result.metadata


def test_damaged_window_values_are_ignored(bench: Bench):
    import pydicom

    path = write_dicom(bench.folder / "a.dcm", gradient())
    dataset = pydicom.dcmread(path)
    dataset.add(DataElement("WindowCenter", "DS", "2000"))
    dataset.add(DataElement("WindowWidth", "DS", "0"))
    dataset.save_as(path)
    bench.open(path)
    result, picture = run(bench)
    assert picture.max() > picture.min()
    assert result.metadata["WindowWidth"] > 0


@pytest.mark.parametrize(
    ("header", "age"),
    [
        ({"PatientAge": "063Y", "PatientBirthDate": "19000101", "StudyDate": "20240517"}, "063Y"),
        ({"PatientBirthDate": "19610518", "StudyDate": "20240517"}, "062Y"),
        ({"PatientBirthDate": "19610517", "StudyDate": "20240517"}, "063Y"),
        ({"PatientBirthDate": "20240118", "StudyDate": "20240517"}, "003M"),
        ({"PatientBirthDate": "20250118", "StudyDate": "20240517"}, None),
        ({"StudyDate": "20240517"}, None),
    ],
)
def test_the_age_is_the_headers_or_that_between_birth_and_study(
    bench: Bench, header: dict[str, str], age: str | None
):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient(), SliceThickness="5", **header))
    metadata = run(bench)[0].metadata
    assert metadata["PatientAge"] == age
    assert metadata["SliceThickness"] == "5"
    assert metadata["WindowAsked"] is False
    assert run(bench, window_center=40, window_width=400)[0].metadata["WindowAsked"] is True
