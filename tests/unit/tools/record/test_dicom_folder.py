"""The DICOM folder: its real values first, whose a file is, and nothing outside it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from app.agent.messages import Message
from app.agent.privacy.redaction import Redactor
from app.tools.api import ToolFailed, ToolRetry
from app.tools.record.dicom_folder import validate_paths
from tests.unit.tools.record.charts import Charts, lab
from tests.unit.tools.record.conftest import Opens
from tests.unit.tools.support import gradient, write_dicom

OWN = "76bc2bcd-3074-46b9-bc18-18daf50825a2"
OTHER = "dd2c219c-59dc-481c-bbcc-cc16744c2a18"
POTASSIUM = lab("k1", "2823-3", "Potassium", "4.2", "mmol/L", "2020-01-02")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files as Coherent has them: MRI called OT, body part Unknown, ids in the names."""
    made = tmp_path / "dicom"
    made.mkdir()
    volume = np.stack([gradient()] * 5)
    volume[2] = gradient()[::-1]
    brain = {"Modality": "OT", "BodyPartExamined": "Unknown", "SeriesDescription": "Brain MRI"}
    write_dicom(made / f"John_Okafor_{OWN}[1.2.3].dcm", volume, **brain, PatientID="x")
    write_dicom(made / f"Ana_Pereira_{OTHER}[1.2.4].dcm", gradient(), **brain, PatientID=OTHER)
    write_dicom(made / "chest.dcm", gradient(), PatientID="MRN-7", PatientBirthDate="19500615")
    (made / "broken.dcm").write_bytes(b"no DICOM at all")
    (tmp_path / "secret.dcm").write_bytes((made / "chest.dcm").read_bytes())
    (made / "link.dcm").symlink_to(tmp_path / "secret.dcm")
    monkeypatch.setenv("COHERENT_DICOM_PATH", str(made))
    return made


@pytest.fixture
def charts(opens: Opens, folder: Path) -> Charts:
    return opens(POTASSIUM, own=OWN, identifier=[{"system": "urn:x", "value": "MRN-7"}])


def test_the_scan_counts_the_values_that_really_occur(charts: Charts):
    result = charts.run("scan_dicom_directory")
    assert result.output["counts"]["modality"] == {"OT": 2, "DX": 1}
    assert result.output["body_parts"] == [
        {"body_part": "Unknown", "files": 2},
        {"body_part": "CHEST", "files": 1},
    ]
    assert result.output["values"]["modality"] == ["OT", "DX"]
    assert result.output["folders"]["dicom"] == "ok"
    (problem,) = result.output["problems"]
    assert problem["problem"]
    assert "1 file cannot be read" in result.summary


def test_a_filter_that_fits_nothing_gives_the_values_there_are(charts: Charts):
    nothing = charts.run("get_dicom_metadata", modality="MR")
    assert nothing.output["images"] == []
    assert nothing.output["values"]["modality"] == ["OT", "DX"]
    assert "OT 2" in nothing.summary
    found = charts.run("get_dicom_metadata", modality="OT", description="brain").output
    assert (found["total"], found["images"][0]["dimensions"][1:]) == (2, [40, 30])


def test_names_of_people_and_files_are_in_the_users_table_only(charts: Charts):
    result = charts.run("scan_dicom_directory")
    assert "Okafor" not in f"{result.output}{result.summary}"
    with result.artifacts[0].path.open(newline="", encoding="utf-8") as file:
        names = {row["name"] for row in csv.DictReader(file)}
    assert f"John_Okafor_{OWN}[1.2.3].dcm" in names


def test_a_patients_images_are_found_by_identifier_only(charts: Charts):
    output = charts.run("find_patient_images").output
    paths = {found.partition("-")[2] for found in output["dicom_files"]}
    assert (output["dicom_count"], len(paths)) == (2, 2)
    metadata = [
        charts.run("get_dicom_metadata_from_path", dicom_path=one).output
        for one in output["dicom_files"]
    ]
    assert {one["metadata"]["modality"] for one in metadata} == {"OT", "DX"}
    assert {one["patient"]["id"] for one in metadata} == {OWN}


def test_another_date_of_birth_contradicts(opens: Opens, folder: Path):
    charts = opens(
        POTASSIUM, own="p1", birthDate="1951-06-15", identifier=[{"system": "u", "value": "MRN-7"}]
    )
    assert charts.run("find_patient_images").output["dicom_count"] == 0


def pixels_of(path: str) -> NDArray[np.float64]:
    with Image.open(path) as picture:
        return np.asarray(picture, np.float64)


def test_the_middle_frame_becomes_a_picture_that_others_can_look_at(charts: Charts):
    result = charts.run("load_dicom_image", patient_id=OWN, image_index=0)
    output = result.output
    shown = [output]
    if output["metadata"]["modality"] != "OT":
        shown = [charts.run("load_dicom_image", image_index=1).output]
    (one,) = shown
    assert (one["frame"], one["frames"], one["patient"]["id"]) == (2, 5, OWN)
    pixels = pixels_of(one["image_path"])
    # The middle frame is upside down: as bright as the file, whatever the window.
    expected = gradient()[::-1].astype(float)
    assert np.corrcoef(pixels.ravel(), expected.ravel())[0, 1] > 0.99
    assert "Okafor" not in Path(one["image_path"]).name
    assert charts.bench.images.resolve(one["image_path"]).path == Path(one["image_path"])
    first = charts.run("load_dicom_image", file=one["file"], frame=0).output
    correlation = np.corrcoef(pixels_of(first["image_path"]).ravel(), gradient().ravel())
    assert correlation[0, 1] > 0.99


@pytest.mark.parametrize(
    "name",
    ["../secret.dcm", "/etc/passwd", "link.dcm", "nothing", "dicom-99", "broken/../chest.dcm"],
)
def test_nothing_outside_the_folder_is_read(charts: Charts, name: str):
    for tool, argument in (
        ("get_dicom_metadata_from_path", "dicom_path"),
        ("load_dicom_image", "file"),
    ):
        with pytest.raises(ToolRetry, match="names no open DICOM file"):
            charts.run(tool, **{argument: name})


def test_an_unreadable_file_and_a_missing_frame_are_explained(charts: Charts):
    with pytest.raises(ToolFailed, match="cannot be read"):
        charts.run("get_dicom_metadata_from_path", dicom_path="broken.dcm")
    with pytest.raises(ToolRetry, match="1 frame"):
        charts.run("load_dicom_image", file="chest.dcm", frame=3)
    with pytest.raises(ToolRetry, match="2 images, numbered from 0"):
        charts.run("load_dicom_image", image_index=7)


def test_open_files_are_scanned_without_a_folder(opens: Opens, tmp_path: Path):
    charts = opens(POTASSIUM)
    charts.bench.open(write_dicom(tmp_path / "film.dcm", gradient(), PatientID="p1"))
    output = charts.run("scan_dicom_directory").output
    assert [one["file"] for one in output["images"]] == ["image-1"]
    found = charts.run("load_dicom_image").output
    assert found["image_path"] == "image-1"


def test_without_files_the_reason_and_remedy_are_given(opens: Opens):
    with pytest.raises(ToolFailed, match="no DICOM folder") as caught:
        opens(POTASSIUM).run("scan_dicom_directory")
    assert "COHERENT_DICOM_PATH" in caught.value.remedy


def test_the_data_folders_are_checked(tmp_path: Path):
    found = validate_paths({"COHERENT_DATA_PATH": str(tmp_path), "COHERENT_CSV_PATH": "/nowhere"})
    assert found["fhir"] == "ok"
    assert found["csv"] == "COHERENT_CSV_PATH names no folder"
    assert found["dna"] == "COHERENT_DNA_PATH is not set"


def test_free_text_of_files_is_kept_from_a_remote_model(opens: Opens, folder: Path):
    secret = {"BodyPartExamined": "KOWALCZYK KNEE", "SeriesDescription": "Zbigniew t1"}
    write_dicom(folder / "more.dcm", gradient(), StudyDescription="Kowalczyk follow-up", **secret)
    charts = opens(POTASSIUM)
    for tool, arguments in (
        ("scan_dicom_directory", {}),
        ("scan_dicom_directory", {"modality": "OT", "limit": 1}),
        ("get_dicom_metadata", {"modality": "XX"}),
    ):
        result = charts.run(tool, **arguments)
        data = {"summary": result.summary, "output": result.output, "metadata": result.metadata}
        message = Message(role="tool", tool=tool, text=json.dumps(data), data=data)
        (sent,) = Redactor([message]).messages([message])
        told = f"{sent.text}{sent.data}".casefold()
        assert "kowalczyk" not in told
        assert "zbigniew" not in told
        assert "OT" in sent.text  # codes are told
