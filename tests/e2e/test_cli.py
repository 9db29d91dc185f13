"""The command line's promises: exit codes, one-line errors, JSON on stdout."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydicom.data import get_testdata_file

from app import __version__
from app.cli import main
from app.imaging.demo import demo_paths
from app.tools.general import dicom_processor
from tests.e2e.conftest import Run

pytestmark = pytest.mark.e2e


def test_version_and_help_answer_at_once(sightline_process: Run):
    assert __version__ in sightline_process("--version").stdout
    assert "render SRC --out PNG" in sightline_process("--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-such-option",),
        ("render", "x.dcm"),
        ("tool", "no_such_tool", "--args", "{}"),
        ("tool", "dicom_processor", "--args", "{not json"),
        ("tool", "dicom_processor", "--args", '{"nonsense": 1}'),
        ("ask", "hello", "--llm", "no-such-model"),
        ("ask", " "),
        ("models", "install", "tests"),
    ],
)
def test_wrong_usage_is_exit_code_2_with_one_line_and_no_traceback(
    sightline: Run, arguments: tuple[str, ...]
):
    done = sightline(*arguments)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_render_writes_the_canvas_picture_at_native_size(sightline: Run, tmp_path: Path):
    out = tmp_path / "ct.png"
    source = str(get_testdata_file("CT_small.dcm"))
    assert sightline("render", source, "--out", out).returncode == 0
    picture = Image.open(out)
    assert picture.size == (128, 128)
    wide = tmp_path / "wide.png"
    assert sightline("render", source, "--out", wide, "--window", "-600,1500").returncode == 0
    assert not np.array_equal(np.asarray(picture), np.asarray(Image.open(wide)))


def test_render_says_which_frames_there_are(sightline: Run, tmp_path: Path):
    source = str(get_testdata_file("CT_small.dcm"))
    done = sightline("render", source, "--out", tmp_path / "x.png", "--frame", 3)
    assert done.returncode == 2
    assert "single frame" in done.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [("empty.dcm", b""), ("letter.dcm", b"Dear colleague, thank you for the referral.\n" * 40)],
)
def test_a_file_that_is_no_image_fails_with_its_name_reason_and_remedy(
    sightline: Run, tmp_path: Path, name: str, content: bytes
):
    path = tmp_path / name
    path.write_bytes(content)
    done = sightline("render", path, "--out", tmp_path / "x.png")
    assert done.returncode == 1
    assert name in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_info_lists_what_is_there_and_each_problem(sightline: Run, tmp_path: Path):
    (tmp_path / "empty.dcm").write_bytes(b"")
    done = sightline("info", demo_paths()[0], tmp_path / "empty.dcm", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    instance = listed["studies"][0]["series"][0]["instances"][0]
    assert (instance["rows"], instance["columns"]) == (1955, 1841)
    assert listed["problems"][0]["path"].endswith("empty.dcm")
    assert listed["problems"][0]["reason"]


def test_a_folder_without_images_is_reported(sightline: Run, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing here")
    done = sightline("info", tmp_path)
    assert done.returncode == 1


def test_tools_are_listed_with_their_arguments(sightline: Run):
    listed = {tool["name"]: tool for tool in json.loads(sightline("tools", "--json").stdout)}
    assert listed.keys() >= {
        "dicom_processor",
        "image_visualizer",
        "chest_xray_segmentation",
        "chest_xray_classifier",
        "cardiothoracic_ratio",
    }
    assert set(listed["dicom_processor"]["input"]["properties"]) == {
        "dicom_path",
        "window_center",
        "window_width",
    }


def test_a_tool_runs_alone_and_refuses_paths_outside_what_is_open(sightline: Run, tmp_path: Path):
    done = sightline(
        "tool", "dicom_processor", "--image", demo_paths()[0], "--out", tmp_path, "--json"
    )
    assert done.returncode == 0, done.stderr
    assert Path(json.loads(done.stdout)["output"]["image_path"]).is_relative_to(tmp_path)
    outside = sightline(
        "tool",
        "image_visualizer",
        "--image",
        demo_paths()[0],
        "--args",
        json.dumps({"image_path": "/etc/passwd"}),
    )
    assert outside.returncode == 2
    assert "Traceback" not in outside.stderr


def test_models_says_which_weights_are_missing_and_how_to_get_them(sightline: Run, tmp_path: Path):
    done = sightline("models", "--json", SIGHTLINE_MODELS=str(tmp_path / "models"))
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    missing = [row for row in rows.values() if row["state"] == "not installed"]
    assert {tool for row in missing for tool in row["used_by"]} >= {"chest_xray_classifier"}
    assert all(row["how_to_get"] for row in missing)
    verified = sightline("models", "verify", SIGHTLINE_MODELS=str(tmp_path / "models"))
    assert verified.returncode == 0, verified.stderr


def unwritable(tmp_path: Path) -> str:
    """A profile folder that nobody can make, root neither: its parent is a file."""
    (tmp_path / "file").write_text("")
    return str(tmp_path / "file" / "home")


@pytest.mark.slow
def test_a_home_that_cannot_be_written_keeps_nothing_from_working(sightline: Run, tmp_path: Path):
    home = unwritable(tmp_path)
    asked = ("ask", "Show the image", "--image", get_testdata_file("CT_small.dcm"))
    done = sightline(*asked, "--out", tmp_path / "out", SIGHTLINE_HOME=home)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").glob("view-*.png"))
    assert "this run is not recorded" in done.stderr
    assert sightline("models", "verify", SIGHTLINE_HOME=home).returncode == 0
    done = sightline(*asked, SIGHTLINE_HOME=home)
    assert done.returncode == 1
    assert "SIGHTLINE_HOME" in done.stderr, "the remedy is named"
    assert "Traceback" not in done.stderr


def test_a_terminal_without_unicode_gets_escapes_and_the_same_json(sightline_process: Run):
    prompt = "Zeige das Bild, Größe 胸 😀"
    done = sightline_process("ask", prompt, "--json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["kind"] == "run_finished"
    assert done.stdout.isascii()
    done = sightline_process("info", "Größe-胸.dcm", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_tool_run_alone_is_held_to_its_time_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    spec = dataclasses.replace(dicom_processor.SPEC, timeout_s=0.0)
    monkeypatch.setattr(dicom_processor.DicomProcessor, "spec", spec)
    code = main(["tool", "dicom_processor", "--image", str(demo_paths()[0])])
    assert code == 1
    assert "did not finish within 0 s" in capsys.readouterr().err
