"""`export --as report-...`: accepted findings become reports, whatever else is in the file."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pydicom
import pypdfium2
import pypdfium2.raw
import pytest
from fhir.resources.R4B.diagnosticreport import DiagnosticReport

from app.agent.json_forms import finding_json
from app.cli import main
from app.headless.common import open_program
from app.headless.export import ExportRequest
from app.headless.export import _subject as subject_of_request
from app.headless.reports import report_file
from app.imaging.findings import Finding, Measurement, State
from app.imaging.reading.image_entries import read_frame
from app.wiring import Program
from tests.unit.imaging.export_sets import source_files
from tests.unit.imaging.report_cases import own_length, ratio_lines, tool_finding

FHIR = Path(__file__).parents[1] / "fhir"
Export = Callable[..., bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a CT series' folder and a JSON file of findings in each state on its second slice."""
    folder = tmp_path_factory.mktemp("ct")
    path = source_files(folder, "CT", 4)[1]
    ref = read_frame(path, 0).ref
    states = {
        "Right Nodule": State.ACCEPTED,
        "Effusion": State.EDITED,
        "Zebra mass": State.REJECTED,
        "Yak lesion": State.PROPOSED,
    }
    findings = [
        tool_finding(label, image=ref, state=state, id=f"{number:032x}")
        for number, (label, state) in enumerate(states.items(), 1)
    ]
    findings.append(own_length(image=ref, id=f"{9:032x}"))
    beside = tmp_path_factory.mktemp("findings")
    file = beside / "findings.json"
    file.write_text(json.dumps([finding_json(one, beside) for one in findings]))
    return folder, file


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    """One program for all exports of this module: its workers take seconds to start."""
    with open_program() as opened:
        yield opened


@pytest.fixture
def export(made: tuple[Path, Path], program: Program) -> Export:
    """Return a function that makes the file of a form, signed by a name or not."""

    def run(form: str, name: str = "", *, proposed: bool = False) -> bytes:
        folder, file = made
        request = ExportRequest(
            folder,
            form,
            Path("none"),
            file,
            proposed=proposed,
            verified_by=name,
            organization="Ward",
        )
        return report_file(subject_of_request(program, request).report)

    return run


def told(text: str) -> None:
    """Check that a report tells of what was accepted, and of nothing else."""
    for word in ("Right Nodule", "Effusion", "23.0 mm", "12.3 mm"):
        assert word in text, word
    for word in ("Zebra", "Yak"):
        assert word.lower() not in text.lower(), word


def test_the_text_tells_what_was_accepted(export: Export) -> None:
    text = export("report-text").decode()
    told(text)
    assert "Draft, not signed" in text
    assert "(series 3, image 2)" in text
    assert "Müller, Änne" in text
    assert "Draft" not in export("report-text", "Dr Roe").decode()


def test_proposed_findings_are_in_no_report_even_when_asked_for(export: Export) -> None:
    told(export("report-text", proposed=True).decode())


def pdf_text(data: bytes) -> str:
    """Return the text of a PDF, as another program reads it, without line ends."""
    pages = pypdfium2.PdfDocument(data)
    found = "".join(page.get_textpage().get_text_range() for page in pages)
    return " ".join(found.split())


def validated(data: bytes, folder: Path) -> pydicom.Dataset:
    """Return a DICOM file in which other programs find no error."""
    path = folder / "made.dcm"
    path.write_bytes(data)
    for program in ("dcmdump", "dciodvfy"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
        done = subprocess.run([program, str(path)], capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
        wrong = [one for one in said if one.startswith(("Error", "E:"))]
        assert wrong == []
        assert program != "dcmdump" or done.returncode == 0
    return pydicom.dcmread(path)


def test_the_pdf_has_its_text_and_a_picture(export: Export) -> None:
    data = export("report-pdf", "Dr Roe")
    assert re.search(
        r"Signed by Dr Roe, \d{4}-\d\d-\d\d \d\d:\d\d \(UTC[+-]\d\d:\d\d\)", pdf_text(data)
    )
    data = export("report-pdf")
    text = pdf_text(data)
    told(text)
    assert "Draft, not signed" in text
    document = pypdfium2.PdfDocument(data)
    wanted = [pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]
    pictures = [one for page in document for one in page.get_objects(filter=wanted)]
    assert len(pictures) == 1
    for number, page in enumerate(document, 1):
        foot = page.get_textpage().get_text_range()[-80:]
        assert "Müller, Änne" in foot
        assert f"{number} / {len(document)}" in foot
    assert "Müller" not in str(document.get_metadata_dict())


@pytest.mark.parametrize("name", ["", "Dr Jane Roe"])
def test_the_pdf_in_dicom_is_the_pdf(
    export: Export, made: tuple[Path, Path], name: str, tmp_path: Path
) -> None:
    file = validated(export("encapsulated-pdf", name), tmp_path)
    source = pydicom.dcmread(sorted(made[0].iterdir())[1])
    assert file.SOPClassUID.name == "Encapsulated PDF Storage"
    assert file.StudyInstanceUID == source.StudyInstanceUID
    assert file.PatientName == source.PatientName
    [item] = file.SourceInstanceSequence
    assert item.ReferencedSOPInstanceUID == source.SOPInstanceUID
    assert file.VerificationFlag == ("VERIFIED" if name else "UNVERIFIED")
    text = pdf_text(file.EncapsulatedDocument[: file.EncapsulatedDocumentLength])
    told(text)
    assert ("Draft, not signed" in text) == (not name)
    assert ("Dr Jane Roe" in text) == bool(name)
    assert ("draft, not signed" in file.SeriesDescription) == (not name)


@pytest.mark.parametrize("name", ["", "Dr Jane Roe"])
def test_the_structured_report_refers_to_the_image(
    export: Export, made: tuple[Path, Path], name: str, tmp_path: Path
) -> None:
    file = validated(export("report-sr", name), tmp_path)
    source = pydicom.dcmread(sorted(made[0].iterdir())[1])
    texts = [str(one.value) for one in file.iterall() if one.VR in ("UT", "LO", "PN", "ST")]
    told("\n".join(texts))
    assert file.ConceptNameCodeSequence[0].CodeValue == "18748-4"
    assert file.VerificationFlag == ("VERIFIED" if name else "UNVERIFIED")
    assert file.CompletionFlag == ("COMPLETE" if name else "PARTIAL")
    [findings] = [
        one
        for one in file.ContentSequence
        if one.ConceptNameCodeSequence[0].CodeMeaning == "Findings"
    ]
    first = findings.ContentSequence[0]
    kinds = {one.ValueType: one for one in first.ContentSequence}
    assert str(kinds["NUM"].MeasuredValueSequence[0].NumericValue) == "12.3"
    [reference] = kinds["IMAGE"].ReferencedSOPSequence
    assert reference.ReferencedSOPInstanceUID == source.SOPInstanceUID
    if shutil.which("dsrdump"):
        done = subprocess.run(
            ["dsrdump", str(tmp_path / "made.dcm")], capture_output=True, check=False
        )
        assert done.returncode == 0
        assert b"Zebra" not in done.stdout
        assert b'(,,"Length")="23.0"' in done.stdout


def test_files_round_as_the_text_and_name_the_plane_of_lengths(
    made: tuple[Path, Path], program: Program, tmp_path: Path
) -> None:
    folder, _ = made
    ref = read_frame(sorted(folder.iterdir())[1], 0).ref
    now = Measurement("Longer side", 21.043, "mm", "detector plane")
    then = replace(now, name="Longer side, prior", value=16.026, date="20230405")
    pair = tool_finding("Prior, mass 1 (larger)", image=ref, measurements=(now, then))
    lines = [replace(one, image=ref) for one in ratio_lines(143.24, 275.0)]
    file = tmp_path / "findings.json"
    findings = [*lines, replace(pair, rests_on=("Mass",))]
    file.write_text(json.dumps([finding_json(one, tmp_path) for one in findings]))

    def written(form: str) -> bytes:
        request = ExportRequest(folder, form, Path("none"), file, proposed=False)
        return report_file(subject_of_request(program, request).report)

    text = written("report-text").decode()
    values = json.loads(written("diagnostic-report"))
    figures = {
        one["code"]["text"]: one["valueQuantity"]["value"]
        for finding in values["contained"][1:]
        for one in finding["component"]
    }
    assert figures == {
        "Cardiothoracic ratio": 0.52,
        "Heart width": 143.2,
        "Thorax width": 275.0,
        "Longer side": 21.0,
        "Longer side, prior 2023-04-05": 16.0,
    }
    made_sr = validated(written("report-sr"), tmp_path)
    said: dict[str, list[str]] = {}
    for item in made_sr.iterall():
        for number in item.value if item.VR == "SQ" else ():
            if number.get("ValueType") == "NUM":
                name = number.ConceptNameCodeSequence[0].CodeMeaning
                value = str(number.MeasuredValueSequence[0].NumericValue)
                more = number.get("ContentSequence", ())
                told = [
                    str(one.Date)
                    if one.ValueType == "DATE"
                    else one.ConceptCodeSequence[0].CodeMeaning
                    for one in more
                ]
                said[name] = [value, *told]
    plane = "detector plane"
    assert said == {
        "Cardiothoracic ratio": ["0.52"],
        "Heart width": ["143.2", plane],
        "Thorax width": ["275.0", plane],
        "Longer side": ["21.0", plane],
        "Longer side, prior": ["16.0", plane, "20230405"],
    }
    for value in ("0.52", f"143.2 mm ({plane})", f"16.0 mm ({plane}) on 2023-04-05"):
        assert value in text


@pytest.mark.parametrize("name", ["", "Dr Jane Roe"])
def test_the_diagnostic_report_is_valid_fhir(
    export: Export, made: tuple[Path, Path], name: str
) -> None:
    values = json.loads(export("diagnostic-report", name))
    checked = DiagnosticReport.model_validate(values)
    source = pydicom.dcmread(sorted(made[0].iterdir())[1])
    assert values["status"] == ("final" if name else "preliminary")
    assert ("issued" in values) == bool(name)
    study, *findings = values["contained"]
    assert study["identifier"][0]["value"] == f"urn:oid:{source.StudyInstanceUID}"
    [series] = study["series"]
    assert series["uid"] == source.SeriesInstanceUID
    assert series["instance"][0]["uid"] == source.SOPInstanceUID
    figures = {one["code"]["text"]: one["valueQuantity"]["value"] for one in findings}
    assert figures == {"Right Nodule": 12.3, "Effusion": 12.3, "Length": 23.0}
    ids = {one["reference"] for one in values["result"]}
    assert ids == {f"#{one['id']}" for one in findings}
    assert set(values["conclusion"].split("\n")) == {"Right Nodule.", "Effusion."}
    told(base64.b64decode(values["presentedForm"][0]["data"]).decode())
    told(values["text"]["div"])
    assert "zebra" not in json.dumps(values).lower()
    assert checked.subject.identifier.value == "4711"


@pytest.fixture(scope="module")
def fhir_problems(tmp_path_factory: pytest.TempPathFactory) -> Callable[[object], list[str]]:
    """Return a function that returns what Medplum's validator finds wrong in a FHIR resource.

    It comes from npm, with HL7's own definitions of R4.
    """
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("fhir")
    if npm is None:
        pytest.skip("npm is not installed, and the FHIR validator is a package of its registry")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(FHIR / name, folder)
    command = [npm, "ci", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install the FHIR validator: {done.stderr[-200:]}")

    def run(resource: object) -> list[str]:
        file = folder / "resource.json"
        file.write_text(json.dumps(resource))
        command = ["node", str(FHIR / "validate.mjs"), str(file)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert not done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "Dr Jane Roe"])
def test_a_validator_of_fhir_finds_no_fault_in_the_diagnostic_report(
    export: Export, name: str, fhir_problems: Callable[[object], list[str]]
) -> None:
    values = json.loads(export("diagnostic-report", name))
    assert fhir_problems(values) == []
    [_, first, *_] = values["contained"]
    del first["code"]
    [contained, alone] = fhir_problems({**values, "status": "preliminary"})
    assert "code" in contained
    assert "Observation.code: Missing required property" in alone
    [wrong] = fhir_problems(
        {"resourceType": "DiagnosticReport", "status": "x", "code": {"text": "y"}}
    )
    assert "“x” is none of" in wrong


def test_without_an_accepted_finding_there_is_no_report(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = made
    path = sorted(folder.iterdir())[0]
    ref = read_frame(path, 0).ref
    assert pydicom.dcmread(path).Modality == "CT"
    one: Finding = replace(tool_finding(image=ref), state=State.REJECTED)
    file = tmp_path / "rejected.json"
    file.write_text(json.dumps([finding_json(one, tmp_path / "out")]))
    command = ["export", "--findings", str(file), "--image", str(folder), "--as", "report-text"]
    out = tmp_path / "none.txt"
    assert main([*command, "--out", str(out)]) == 0
    assert "Nodule" not in out.read_text("utf-8")
    one = replace(one, state=State.PROPOSED)
    file.write_text(json.dumps([finding_json(one, tmp_path / "out")]))
    assert main([*command, "--out", str(tmp_path / "x.txt"), "--proposed"]) == 1
    assert "no mark or accepted finding" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Roe\\Jane", "A=B=C=D", "أحمد Roe", "x" * 90])
def test_any_name_that_signs_is_valid_in_a_structured_report(
    export: Export, tmp_path: Path, name: str
) -> None:
    dataset = validated(export("report-sr", name), tmp_path)
    verifier = dataset.VerifyingObserverSequence[0]
    assert verifier.VerifyingOrganization == "Ward"
    told = str(verifier.VerifyingObserverName)
    assert told == name.replace("\\", "/").replace("=", "-")[:64]
