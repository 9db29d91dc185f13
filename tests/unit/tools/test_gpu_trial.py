"""What measures models on an accelerator, tried with tiny ones on the processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.tools.hosting.host import ProcessHost
from tests.gpu.trial import ARGUMENTS, MODELS, Trial
from tests.unit.tools.test_serving import empty

pytest.importorskip("transformers")


@pytest.fixture
def trial(tmp_path: Path, model_process: ProcessHost) -> Iterator[Trial]:
    empty(model_process)
    made = Trial(tmp_path, model_process, "cpu")
    yield made
    made.limit("")


def test_every_tool_with_a_tiny_model_has_a_trial():
    tiny = Path(__file__).parents[2] / "support" / "tiny"
    modules = {path.stem for path in tiny.glob("*.py")} - {"__init__"}
    assert modules == set(MODELS) == set(ARGUMENTS)


def test_a_tool_is_measured_cold_warm_and_stopped(trial: Trial):
    trial.install("medsam2_segment", "tiny")
    figures = trial.measure("medsam2_segment")
    assert figures.outcome == "completed"
    assert figures.memory > 0
    assert 0 < figures.load_s < figures.first_s
    assert figures.parameters > 100_000
    assert figures.again_s > 0
    assert 0 <= figures.stop_s < 1.0
    assert figures.stayed


def test_a_limit_makes_one_model_go_for_another(trial: Trial):
    for tool in ("medsam2_segment", "llava_med_qa"):
        trial.install(tool, "tiny")
    trial.run("medsam2_segment")
    assert trial.loaded() == ["medsam2"]
    trial.limit("1K")
    trial.run("llava_med_qa")
    assert "medsam2" not in trial.loaded()


def test_a_cancel_while_it_loads_is_timed(trial: Trial):
    trial.install("llava_med_qa", "tiny")
    assert 0 <= trial.stop_loading("llava_med_qa", after_s=0) < 1.0
    assert trial.loaded() == []


def test_a_convolution_in_float32_is_held_to_float64(trial: Trial):
    assert 1e-8 < trial.convolution_error() < 2e-5
    assert trial.used()["tf32"] is False
