"""info and render on every kind of source and content, against pydicom and SimpleITK."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
import SimpleITK
from PIL import Image
from pydicom.data import get_testdata_file
from pydicom.uid import UID

from app.cli import main
from app.imaging.types import Content

pytestmark = pytest.mark.e2e
REPORT = "reportsi.dcm"


def listed(capsys: pytest.CaptureFixture[str], *sources: Path) -> dict[str, Any]:
    assert main(["info", *map(str, sources), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def all_series(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [series for study in found["studies"] for series in study["series"]]


def picture(*arguments: object, out: Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    assert main(["render", *map(str, arguments), "--out", str(out)]) == 0
    with Image.open(out) as opened:
        return np.asarray(opened)


@pytest.fixture(scope="module")
def ct_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five slices of 3 mm, each of another grey, and their names shuffled."""
    folder = tmp_path_factory.mktemp("ct")
    base = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    for number, name in enumerate("dbeac"):
        base.SOPInstanceUID = UID(f"1.2.3.{number + 1}")
        base.file_meta.MediaStorageSOPInstanceUID = base.SOPInstanceUID
        base.InstanceNumber = number + 1
        base.ImagePositionPatient = [0, 0, 3.0 * number]
        base.SliceLocation = 3.0 * number
        base.PixelData = np.full((128, 128), 1000 * number, np.int16).tobytes()
        base.save_as(folder / f"{name}.dcm")
    return folder


def object_file(path: Path, uid: str, **attributes: Any) -> Path:
    """A file of a SOP class without pixels."""
    shutil.copy(str(get_testdata_file(REPORT)), path)
    made = pydicom.dcmread(path)
    del made.ContentSequence
    made.SOPClassUID = made.file_meta.MediaStorageSOPClassUID = UID(uid)
    for name, value in attributes.items():
        setattr(made, name, value)
    made.save_as(path)
    return path


def test_info_tells_the_volume_as_simpleitk_has_it(
    ct_folder: Path, capsys: pytest.CaptureFixture[str]
):
    (series,) = all_series(listed(capsys, ct_folder))
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(ct_folder)))
    volume = reader.Execute()
    stack = series["stack"]
    assert stack["size"] == list(volume.GetSize())
    np.testing.assert_allclose(stack["spacing"], volume.GetSpacing(), rtol=1e-6)
    np.testing.assert_allclose(stack["origin"], volume.GetOrigin(), atol=1e-6)
    np.testing.assert_allclose(np.ravel(stack["direction"]), volume.GetDirection(), atol=1e-6)
    assert stack["regular"] is True
    assert series["content"] == "image"
    assert [item["number"] for item in series["instances"]] == [1, 2, 3, 4, 5]


def test_info_for_people_names_content_order_volume_and_syntax(
    ct_folder: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["info", str(ct_folder)]) == 0
    text = capsys.readouterr().out
    assert "image, 5 files" in text
    assert "sorted by" in text
    assert "volume of 128 x 128 x 5 voxels" in text
    assert "128 x 128, Explicit VR Little Endian" in text


def test_a_zip_is_a_folder(ct_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    archive = tmp_path / "ct.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in ct_folder.iterdir():
            packed.write(file, f"inner/{file.name}")
    (series,) = all_series(listed(capsys, archive))
    assert len(series["instances"]) == 5
    assert series["stack"]["size"] == [128, 128, 5]
    window = ("--window", "2000,4000")
    same = picture(archive, *window, out=tmp_path / "a.png")
    assert (same == picture(ct_folder, *window, out=tmp_path / "b.png")).all()


def test_a_dicomdir_is_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    directory = Path(str(get_testdata_file("DICOMDIR", read=False)))
    found = listed(capsys, directory)
    wanted = {
        record.ReferencedSOPInstanceUIDInFile
        for record in pydicom.dcmread(directory).DirectoryRecordSequence
        if record.DirectoryRecordType == "IMAGE"
    }
    uids = {i["sop_instance_uid"] for one in all_series(found) for i in one["instances"]}
    assert uids == wanted
    assert picture(directory, out=tmp_path / "x.png").size > 0


def test_a_report_that_is_named_is_printed_as_text(capsys: pytest.CaptureFixture[str]):
    path = Path(str(get_testdata_file(REPORT)))
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    values = [
        item.TextValue
        for item in pydicom.dcmread(path).ContentSequence
        if item.ValueType == "TEXT" and item.TextValue
    ]
    assert "report, 1 file" in text
    for value in values:
        assert value in text
    assert "Completion: Partial" in text


def test_a_report_is_rendered_as_a_page(tmp_path: Path):
    page = picture(get_testdata_file(REPORT), out=tmp_path / "page.png")
    assert page.shape[1] >= 1000
    assert page.shape[2] == 3
    assert np.ptp(page.astype(int)) > 150, "there is text on it"


@pytest.mark.parametrize(
    ("uid", "content", "words"),
    [
        ("1.2.840.10008.5.1.4.1.1.481.3", Content.STRUCTURES, ("contours", "with its images")),
        pytest.param(
            *("1.2.840.10008.5.1.4.1.1.11.1", Content.PRESENTATION, ("presentation", "its images")),
            marks=pytest.mark.slow,
        ),
        ("1.2.840.10008.5.1.4.1.1.66", Content.OTHER, ("not displayable", "attributes")),
    ],
)
def test_what_has_no_picture_of_its_own_says_what_to_do(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    uid: str,
    content: Content,
    words: tuple[str, ...],
):
    path = object_file(tmp_path / "object.dcm", uid)
    (series,) = all_series(listed(capsys, path))
    assert series["content"] == content.value
    assert main(["render", str(path), "--out", str(tmp_path / "x.png")]) == 1
    told = capsys.readouterr().err
    assert len(told.strip().splitlines()) == 1
    assert "object.dcm" in told
    for word in words:
        assert word in told
    assert not (tmp_path / "x.png").exists()


def test_a_tool_is_not_run_on_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(get_testdata_file(REPORT))
    for command in (["tool", "dicom_processor"], ["ask", "Where are the lungs?"]):
        assert main([*command, "--image", path, "--out", str(tmp_path)]) == 1
        assert "it contains a report, not an image" in capsys.readouterr().err


# Series and planes

GREYS = ("--window", "2000.5,4001")


def grey(number: int) -> int:
    """What a slice of 1000 * number is shown as, CT_small's intercept of -1024 taken off."""
    low, wide = 2000.5 - 0.5 - 4000 / 2, 4000
    return round(min(max((1000 * number - 1024 - low) / wide, 0), 1) * 255)


@pytest.mark.slow
def test_frames_count_through_a_named_series(ct_folder: Path, tmp_path: Path):
    for number in range(5):
        shown = picture(
            ct_folder, "--series", 1, "--frame", number, *GREYS, out=tmp_path / f"{number}.png"
        )
        assert abs(int(shown[64, 64]) - grey(number)) <= 1
        assert np.ptp(shown) == 0


def test_a_frame_or_series_that_is_not_there_is_wrong_usage(
    ct_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    base = ["render", str(ct_folder), "--out", str(tmp_path / "x.png")]
    for wrong in (["--series", "1", "--frame", "5"], ["--series", "99"], ["--frame", "-1"]):
        assert main([*base, *wrong]) == 2
    told = capsys.readouterr().err
    assert "Choose one from 0 to 4." in told
    assert "Name one of: 1." in told


@pytest.mark.parametrize("plane", ["coronal", pytest.param("sagittal", marks=pytest.mark.slow)])
def test_a_plane_through_the_volume_shows_all_slices_the_head_above(
    ct_folder: Path, tmp_path: Path, plane: str
):
    shown = picture(
        ct_folder, "--plane", plane, "--frame", 64, *GREYS, out=tmp_path / f"{plane}.png"
    )
    assert shown.shape == (5, 128)
    expected = [grey(number) for number in (4, 3, 2, 1, 0)]
    assert np.abs(shown[:, 64].astype(int) - expected).max() <= 1


def test_a_series_without_a_volume_refuses_a_plane_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = str(get_testdata_file("CT_small.dcm"))
    out = str(tmp_path / "x.png")
    assert main(["render", path, "--plane", "coronal", "--out", out]) == 1
    told = capsys.readouterr().err
    assert len(told.strip().splitlines()) == 1
    assert "Traceback" not in told
