"""`export --as report-...`: accepted findings become reports, whatever else is in the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pydicom
import pytest

from app.agent.json_forms import finding_json
from app.cli import main
from app.imaging.findings import Finding, State
from app.imaging.reading.image_entries import read_frame
from tests.unit.imaging.export_sets import source_files
from tests.unit.imaging.report_cases import own_length, tool_finding

Export = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """Return a CT series' folder and a JSON file of findings in each state on its second slice."""
    folder = tmp_path / "ct"
    folder.mkdir()
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
    file = tmp_path / "findings.json"
    file.write_text(json.dumps([finding_json(one, tmp_path / "out") for one in findings]))
    return folder, file


@pytest.fixture
def export(made: tuple[Path, Path], tmp_path: Path) -> Export:
    """Return a function that exports the findings in a form, with more options, to a file."""
    folder, file = made

    def run(form: str, *options: str) -> Path:
        out = tmp_path / f"{form}{len(options)}"
        command = ["export", "--findings", str(file), "--image", str(folder), "--as", form]
        assert main([*command, "--out", str(out), *options]) == 0
        return out

    return run


def told(text: str) -> None:
    """Check that a report tells of what was accepted, and of nothing else."""
    for word in ("Right Nodule", "Effusion", "23.0 mm", "12.3 mm"):
        assert word in text, word
    for word in ("Zebra", "Yak"):
        assert word.lower() not in text.lower(), word


def test_the_text_tells_what_was_accepted(export: Export) -> None:
    text = export("report-text").read_text("utf-8")
    told(text)
    assert "Draft, not signed" in text
    assert "(series 3, image 2)" in text
    assert "Müller, Änne" in text
    assert "Draft" not in export("report-text", "--verified-by", "Dr Roe").read_text("utf-8")


def test_proposed_findings_are_in_no_report_even_when_asked_for(export: Export) -> None:
    told(export("report-text", "--proposed").read_text("utf-8"))


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
