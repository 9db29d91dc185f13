"""`info`, `ask` and `tool` with a patient's record, as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import cli
from app.errors import FileProblem, SightlineError
from app.headless.record_sources import open_records
from app.imaging.types import Instance
from app.tools.images import OpenImage
from app.wiring import Program
from tests.unit.records.record_files import patient_bundle, write_bundles

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture
def program() -> Program:
    return Program()


def _image(**attributes: str) -> tuple[OpenImage, ...]:
    made = Instance(Path("/a.dcm"), "1.1", "dicom", 1, 1, attributes=attributes)
    return (OpenImage("image-1", made, 0, None, False),)


def test_info_counts_the_resources_of_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bundles(tmp_path, 2, visits=1)
    (tmp_path / "cut.json").write_text('{"resourceType": "Bundle", "entry": [')
    assert cli.main(["info", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    resources = [one["resource"]["resourceType"] for one in patient_bundle(0, 1)["entry"]]
    assert "2 patients, 3 files" in printed
    assert f"{2 * resources.count('Observation')}  Observation" in printed
    assert "cut.json" in printed
    assert "breaks off" in printed
    assert cli.main(["info", str(tmp_path / "patient_0000.json"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["record"]
    assert sum(record["counts"].values()) == len(resources)


def test_the_record_of_the_image_is_in_use(program: Program, tmp_path: Path) -> None:
    write_bundles(tmp_path, 2, visits=1)
    open_records(program, [str(tmp_path)], _image(PatientID="MRN000001"))
    assert program.record.patient_id == patient_bundle(1, 1)["entry"][0]["resource"]["id"]
    program.close()


def test_a_record_of_somebody_else_is_not_in_use(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bundles(tmp_path, 1, visits=1)
    open_records(program, [str(tmp_path)], _image(PatientID="4711"))
    assert program.record.is_open
    assert program.record.patient_id == ""
    assert "No patient of the record" in capsys.readouterr().err
    program.close()


def test_the_only_record_is_in_use_without_an_image(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundles(tmp_path, 1, visits=1)
    monkeypatch.setenv("COHERENT_DATA_PATH", str(tmp_path))
    open_records(program, [], ())
    assert program.record.patient_id == patient_bundle(0, 1)["entry"][0]["resource"]["id"]
    program.close()


def test_what_cannot_be_opened_is_told(program: Program, tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="no such file"):
        open_records(program, [str(tmp_path / "missing.json")], ())
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(FileProblem, match="empty"):
        open_records(program, [str(tmp_path / "empty.json")], ())
    program.close()


def test_a_server_is_not_asked_without_a_yes(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "open_server", lambda _query: pytest.fail("it was asked"))
    with pytest.raises(SightlineError, match=r"SIGHTLINE_ALLOW_FHIR=hospital\.example"):
        open_records(program, ["https://hospital.example/fhir/Patient/1"], ())
