"""The command `export`, with findings in the JSON form of `ask --json`."""

from __future__ import annotations

import csv
import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from PIL import Image
from scipy import ndimage

from app.agent.json_forms import finding_json
from app.cli import main
from app.errors import FileProblem
from app.headless.export import findings_csv
from app.imaging.finding_files import read_findings
from app.imaging.findings import Box, Finding, Heatmap, Instances, Mask, State
from app.imaging.reading.image_entries import read_frame
from app.imaging.types import ImageRef
from tests.unit.imaging.export_sets import random_findings, source_files

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture
def findings(tmp_path: Path) -> tuple[Path, Path, tuple[Finding, ...]]:
    """Return a CT slice, a JSON file of findings on it, and the findings, all accepted."""
    path = source_files(tmp_path, "CT", 4)[0]
    image = pydicom.dcmread(path)
    ref = read_frame(path, 0).ref
    made = random_findings(4, [ref], image.Rows, image.Columns, masks=True)
    made = tuple(replace(one, state=State.ACCEPTED) for one in made)
    file = tmp_path / "findings.json"
    file.write_text(json.dumps([finding_json(one, tmp_path / "out") for one in made]))
    return path, file, made


def test_findings_come_back_from_json(
    tmp_path: Path, findings: tuple[Path, Path, tuple[Finding, ...]]
) -> None:
    _, file, made = findings
    back = read_findings(file)
    assert len(back) == len(made)
    for one, other in zip(back, made, strict=True):
        if isinstance(other.geometry, Mask):
            assert isinstance(one.geometry, Mask)
            assert np.array_equal(one.geometry.pixels, other.geometry.pixels)
            one, other = (replace(item, geometry=other.geometry) for item in (one, other))
        assert one == other
    events = [{"kind": "run_started"}, {"kind": "tool_finished", "findings": []}]
    events[1]["findings"] = json.loads(file.read_text())
    lines = tmp_path / "events.jsonl"
    lines.write_text("\n".join(map(json.dumps, events)))
    assert [one.id for one in read_findings(lines)] == [one.id for one in made]


def test_an_edited_finding_keeps_its_original(tmp_path: Path) -> None:
    heat = Heatmap(np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4))
    [one, *_] = random_findings(8, [ImageRef("1", 0, "")], 9, 9, masks=True)
    edited = replace(one, original=replace(one, geometry=heat))
    file = tmp_path / "one.json"
    file.write_text(json.dumps(finding_json(edited, tmp_path)))
    [back] = read_findings(file)
    assert back.original is not None
    assert isinstance(back.original.geometry, Heatmap)
    np.testing.assert_allclose(back.original.geometry.values, heat.values, atol=1 / 255)


@pytest.mark.parametrize("numbers", [300, 70_000, 2**32 - 1])
def test_numbered_objects_come_back_from_json(tmp_path: Path, numbers: int) -> None:
    labels: Any = np.zeros((6, 9), np.uint16 if numbers < 2**16 else np.uint32)
    labels[1:3, 2:4], labels[4, 5] = 1, numbers
    [one, *_] = random_findings(8, [ImageRef("1", 0, "")], 9, 9, masks=True)
    one = replace(one, geometry=Instances(labels))
    file = tmp_path / "one.json"
    file.write_text(json.dumps(finding_json(one, tmp_path)))
    [back] = read_findings(file)
    assert isinstance(back.geometry, Instances)
    assert back.geometry.labels.dtype == labels.dtype
    np.testing.assert_array_equal(back.geometry.labels, labels)


def test_each_numbered_object_has_a_row_in_the_table() -> None:
    y, x = np.mgrid[:40, :50]
    labels = np.zeros((40, 50), np.uint16)
    labels[(x - 12) ** 2 + (y - 10) ** 2 <= 36] = 7
    labels[20:25, 30:40] = 3
    [one, *_] = random_findings(8, [ImageRef("1", 0, "")], 40, 50, masks=True)
    one = replace(one, geometry=Instances(labels), measurements=(), value=2.0, units="objects")
    rows = list(csv.DictReader(findings_csv((one,)).decode("utf-8-sig").splitlines()))
    assert [(row["value"], row["units"], row["object"]) for row in rows[:1]] == [
        ("2.0", "objects", "")
    ]
    assert [row["object"] for row in rows[1:]] == ["3", "7"]
    for row in rows[1:]:
        number = int(row["object"])
        assert float(row["value"]) == np.count_nonzero(labels == number)
        down, across = ndimage.center_of_mass(labels == number)
        assert [float(one) for one in row["points"].split(",")] == pytest.approx([across, down])


def test_objects_of_another_size_than_the_image_are_refused(
    tmp_path: Path,
    findings: tuple[Path, Path, tuple[Finding, ...]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    image, file, (one, *_) = findings
    one = replace(one, label="Nuclei", geometry=Instances(np.ones((7, 9), np.uint16)))
    file.write_text(json.dumps(finding_json(one, tmp_path / "out")))
    command = ["export", "--findings", str(file), "--image", str(image), "--as", "csv"]
    assert main([*command, "--out", str(tmp_path / "made.csv")]) == 1
    size = pydicom.dcmread(image)
    told = f"Nuclei covers 9 x 7 pixels, but its image has {size.Columns} x {size.Rows}"
    assert told in capsys.readouterr().err
    assert not (tmp_path / "made.csv").exists()


@pytest.mark.parametrize("text", ["[1]", '{"geometry": 3}', "{", '[{"geometry": {}}]', "null"])
def test_other_json_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(FileProblem, match="no findings in the known JSON form"):
        read_findings(file)


@pytest.mark.parametrize("form", ["sr", "seg", "gsps", "ko", "sc", "csv"])
def test_each_form_is_written_once(
    tmp_path: Path,
    findings: tuple[Path, Path, tuple[Finding, ...]],
    form: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    image, file, made = findings
    out = tmp_path / f"made.{form}"
    command = ["export", "--findings", str(file), "--image", str(image), "--as", form]
    assert main([*command, "--out", str(out)]) == 0, capsys.readouterr().err
    if form == "csv":
        rows = list(csv.DictReader(out.read_text("utf-8-sig").splitlines()))
        assert {row["id"] for row in rows} == {one.id for one in made}
        values = [float(row["value"]) for row in rows if row["measurement"]]
        assert values == [m.value for one in made for m in one.measurements]
    else:
        wanted = {"sr": "SR", "seg": "SEG", "gsps": "PR", "ko": "KO", "sc": "CT"}
        assert pydicom.dcmread(out).Modality in (wanted[form], "OT")


def test_no_file_is_overwritten_unasked(
    tmp_path: Path,
    findings: tuple[Path, Path, tuple[Finding, ...]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    image, _, _ = findings
    out = tmp_path / "there.csv"
    out.write_text("mine")
    command = ["export", "--image", str(image), "--as", "csv", "--out"]
    assert main([*command, str(out)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*command, str(image), "--force"]) == 1
    assert "is open here" in capsys.readouterr().err


def test_a_png_gets_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = tmp_path / "film.png"
    Image.fromarray(np.zeros((8, 9), np.uint8)).save(image)
    out = tmp_path / "made.dcm"
    assert main(["export", "--image", str(image), "--as", "sr", "--out", str(out)]) == 1
    told = capsys.readouterr().err
    assert "no DICOM image" in told
    assert "secondary capture" in told
    assert not out.exists()
    assert main(["export", "--image", str(image), "--as", "sc", "--out", str(out)]) == 0
    assert pydicom.dcmread(out).SOPClassUID.name == "Secondary Capture Image Storage"


def test_what_is_only_proposed_is_left_out(
    tmp_path: Path,
    findings: tuple[Path, Path, tuple[Finding, ...]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    image, _, made = findings
    [tool, *_] = [one for one in made if one.provenance.model] or [made[0]]
    origin = replace(tool.provenance, model="net", tool_version="1")
    proposed = replace(tool, state=State.PROPOSED, provenance=origin)
    file = tmp_path / "proposed.json"
    file.write_text(json.dumps({"findings": [finding_json(proposed, tmp_path / "p")]}))
    command = ["export", "--findings", str(file), "--image", str(image), "--as", "sr", "--out"]
    assert main([*command, str(tmp_path / "a.dcm")]) == 1
    assert "no mark or accepted finding" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "b.dcm"), "--proposed"]) == 0
    report = pydicom.dcmread(tmp_path / "b.dcm")
    assert report.VerificationFlag == "UNVERIFIED"
    assert "unverified" in report.SeriesDescription


def test_a_report_is_taken_in_place_of_json(
    tmp_path: Path,
    findings: tuple[Path, Path, tuple[Finding, ...]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    image, _, made = findings
    mask = made[0]
    box = replace(mask, id="f" * 32, geometry=Box(2.5, 3.5, 15.5, 20.5), label="Zyste")
    file = tmp_path / "both.json"
    file.write_text(json.dumps([finding_json(one, tmp_path / "both") for one in (box, mask)]))
    report, table = tmp_path / "made.dcm", tmp_path / "made.csv"
    command = ["export", "--image", str(image), "--findings"]
    assert main([*command, str(file), "--as", "sr", "--out", str(report)]) == 0
    assert main([*command, str(report), "--as", "csv", "--out", str(table)]) == 0
    rows = list(csv.DictReader(table.read_text("utf-8-sig").splitlines()))
    assert {(row["id"], row["label"], row["geometry"], row["points"]) for row in rows} == {
        ("f" * 32, "Zyste", "Box", "2.5,3.5 15.5,20.5")
    }
    assert "1 finding is left out: the report holds no outline of it" in capsys.readouterr().err
    assert main([*command, str(image), "--as", "csv", "--out", str(tmp_path / "x.csv")]) == 1
    assert "no structured report" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["csv", "sr"])
def test_findings_on_other_pixels_are_listed_and_left_out(
    tmp_path: Path,
    findings: tuple[Path, Path, tuple[Finding, ...]],
    capsys: pytest.CaptureFixture[str],
    form: str,
) -> None:
    image, file, made = findings
    other, *rest = made
    changed = replace(other, image=replace(other.image, pixel_sha256="0" * 64), label="Other one")
    file.write_text(json.dumps([finding_json(one, tmp_path / "o") for one in (changed, *rest)]))
    out = tmp_path / f"made.{form}"
    command = ["export", "--findings", str(file), "--image", str(image), "--as", form]
    assert main([*command, "--out", str(out)]) == 0
    told = capsys.readouterr().err
    assert "made on other pixels: Other one" in told
    assert "1 finding is left out" in told
    if form == "csv":
        rows = list(csv.DictReader(out.read_text("utf-8-sig").splitlines()))
        assert {row["id"] for row in rows} == {one.id for one in rest}
    else:
        assert "Other one" not in str(pydicom.dcmread(out))
    file.write_text(json.dumps([finding_json(changed, tmp_path / "p")]))
    assert main([*command, "--out", str(tmp_path / "none")]) == 1
    assert "other pixels" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_full_disk_names_the_file_that_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.views.pictures import picture_files

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(picture_files, "save_picture", full)
    image = source_files(tmp_path, "CT", 4)[0]
    out = tmp_path / "out.png"
    assert main(["export", "--image", str(image), "--as", "png", "--out", str(out)]) == 1
    told = capsys.readouterr().err
    assert f"{out}: it cannot be written" in told
    assert ".sightline-" not in told
    assert not [one for one in tmp_path.iterdir() if one.suffix != ".dcm" and one.is_file()]
