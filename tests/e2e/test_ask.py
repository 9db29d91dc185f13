"""The two seed prompts, offline, on the demo study, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.imaging.demo import demo_paths
from tests.e2e.conftest import Run

pytestmark = pytest.mark.e2e

NATURAL = (
    "In this image, what type of disease do we have, and where is it located? "
    "Use all available tools for diagnosis and localization."
)
ORDERED = """Run tools in this order:
1) dicom_processor on the uploaded DICOM path
2) chest_xray_classifier on the converted PNG image_path
3) chest_xray_segmentation on the converted PNG for organs ["Left Lung","Right Lung","Heart"]
4) chest_xray_report_generator on the converted PNG
5) image_visualizer on segmentation_image_path with title "Segmentation Overlay"
Then summarize all outputs."""
TERMINAL = {"run_finished", "run_failed", "run_cancelled"}


def events_of(stdout: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in stdout.splitlines()]
    assert [event["seq"] for event in events] == list(
        range(events[0]["seq"], events[0]["seq"] + len(events))
    )
    assert [event["kind"] in TERMINAL for event in events] == [False] * (len(events) - 1) + [True]
    return events


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


@pytest.mark.slow
def test_the_natural_prompt_finds_lungs_and_heart_on_the_demo(sightline: Run, tmp_path: Path):
    pytest.importorskip("torch")
    done = sightline(
        "ask", NATURAL, "--image", demo_paths()[0], "--json", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    assert events[-1]["kind"] == "run_finished"
    segmentation = next(
        e for e in of_kind(events, "tool_finished") if e["tool"] == "chest_xray_segmentation"
    )
    assert segmentation["status"] == "ok"
    labels = {finding["label"] for finding in segmentation["findings"]}
    assert labels >= {"Right Lung", "Left Lung", "Heart"}
    for finding in segmentation["findings"]:
        assert finding["image"]["sop_instance_uid"]
        assert len(finding["image"]["pixel_sha256"]) == 64
        assert finding["provenance"]["tool"] == "chest_xray_segmentation"
        assert len(finding["provenance"]["weights_sha256"]) == 64
        mask = np.asarray(Image.open(finding["geometry"]["path"]))
        assert mask.shape == (1955, 1841)
        assert set(np.unique(mask)) == {0, 255}
    # The patient's right lung lies left on a standard display of a PA film.
    columns = {
        f["label"]: np.asarray(Image.open(f["geometry"]["path"])).nonzero()[1].mean()
        for f in segmentation["findings"]
    }
    assert columns["Right Lung"] < columns["Heart"] < columns["Left Lung"]


@pytest.mark.slow
def test_the_ordered_prompt_runs_the_tools_as_asked(sightline: Run, tmp_path: Path):
    pytest.importorskip("torch")
    done = sightline(
        "ask", ORDERED, "--image", demo_paths()[0], "--json", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    started = of_kind(events, "tool_started")
    called = [event["tool"] for event in started]
    assert called == [
        "dicom_processor",
        "chest_xray_classifier",
        "chest_xray_segmentation",
        "chest_xray_report_generator",
        "image_visualizer",
    ]
    finished = {event["tool"]: event for event in of_kind(events, "tool_finished")}
    converted = finished["dicom_processor"]["output"]["image_path"]
    arguments = {event["tool"]: event["arguments"] for event in started}
    assert arguments["chest_xray_classifier"]["image_path"] == converted
    assert arguments["chest_xray_segmentation"]["image_path"] == converted
    assert arguments["chest_xray_segmentation"]["organs"] == ["Left Lung", "Right Lung", "Heart"]
    overlay = finished["chest_xray_segmentation"]["output"]["segmentation_image_path"]
    assert arguments["image_visualizer"]["image_path"] == overlay
    assert arguments["image_visualizer"]["title"] == "Segmentation Overlay"
    # Found on the converted PNG, drawn on the DICOM image itself.
    uid = next(iter(finished["chest_xray_segmentation"]["findings"]))["image"]["sop_instance_uid"]
    assert not uid.startswith("2.25.")
    assert "Draft report" in events[-1]["answer"]


def test_without_weights_the_classifier_says_at_once_which_file_and_where_and_the_run_goes_on(
    sightline: Run, tmp_path: Path
):
    done = sightline(
        "ask",
        "Run tools in this order: 1) chest_xray_classifier on the image 2) image_visualizer on it",
        "--image",
        demo_paths()[0],
        "--json",
        "--out",
        tmp_path / "out",
        SIGHTLINE_MODELS=str(tmp_path / "no-models"),
    )
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    classifier, visualizer = of_kind(events, "tool_finished")
    assert classifier["status"] == "failed"
    assert classifier["duration_s"] < 1
    assert "models get densenet121" in classifier["error"]
    assert visualizer["status"] == "ok"


def test_plan_only_prints_the_calls_and_runs_none(sightline: Run, tmp_path: Path):
    done = sightline(
        "ask",
        ORDERED,
        "--image",
        demo_paths()[0],
        "--plan-only",
        "--json",
        "--out",
        tmp_path / "out",
    )
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)
    assert calls[0]["tool"] == "dicom_processor"
    assert not (tmp_path / "out").exists()


def test_an_endpoint_that_is_down_ends_the_run_with_one_clear_line(sightline: Run, tmp_path: Path):
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "settings.json").write_text(
        json.dumps(
            {
                "llm": {
                    "kind": "openai",
                    "openai": {"base_url": "http://127.0.0.1:9/v1", "model": "m"},
                }
            }
        )
    )
    done = sightline("ask", "hello", "--json")
    assert done.returncode == 1
    last = events_of(done.stdout)[-1]
    assert last["kind"] == "run_failed"
    assert "127.0.0.1" in last["error"]
    assert last["remedy"]
    assert "Traceback" not in done.stderr


def test_a_remote_host_is_not_spoken_to_without_consent(sightline: Run, tmp_path: Path):
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "settings.json").write_text(
        json.dumps(
            {
                "llm": {
                    "kind": "openai",
                    "openai": {"base_url": "https://api.invalid/v1", "model": "m"},
                }
            }
        )
    )
    done = sightline("ask", "hello", "--json")
    assert done.returncode == 1
    events = events_of(done.stdout)
    assert of_kind(events, "approval_resolved")[0]["granted"] is False
    assert "api.invalid" in events[-1]["error"]
