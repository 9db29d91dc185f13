"""Every model at full size, with random weights, through its real tool on an accelerator.

    python -m pytest tests/gpu -s     (prints a line of JSON a model)

Its own logic runs with tiny models on the processor in `tests/unit/tools/test_gpu_trial.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.tools.hosting.host import ProcessHost, likely_device
from tests.gpu.trial import MODELS, Trial

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(likely_device() != "cuda", reason="no CUDA device on this machine"),
]
GIGABYTE = 10**9


@pytest.fixture(scope="module")
def host() -> Iterator[ProcessHost]:
    made = ProcessHost()
    yield made
    made.close()


@pytest.fixture
def trial(tmp_path: Path, host: ProcessHost) -> Iterator[Trial]:
    yield Trial(tmp_path, host, "cuda")
    host.unload()


@pytest.mark.parametrize("tool", sorted(MODELS))
def test_it_loads_answers_and_stops_at_full_size(tool: str, trial: Trial):
    trial.install(tool, "full")
    figures = trial.measure(tool)
    print(f"\n{json.dumps(figures.told())}")  # noqa: T201 - the figures for docs/performance.md
    assert figures.memory > 0
    assert figures.again_s < figures.first_s
    assert figures.stop_s < 1.0


def test_one_model_of_seven_billion_parameters_makes_room_for_another(trial: Trial):
    for tool in ("llava_med_qa", "xray_phrase_grounding"):
        trial.install(tool, "full")
    trial.limit("22G")
    try:
        trial.run("llava_med_qa")
        first = trial.used()
        assert [one["model"] for one in first["models"]] == list(MODELS["llava_med_qa"])
        trial.run("xray_phrase_grounding")
        second = trial.used()
        print(f"\n{first['now'] / GIGABYTE:.1f} GB, then {second['now'] / GIGABYTE:.1f} GB")  # noqa: T201
        assert MODELS["llava_med_qa"][0] not in trial.loaded()
        assert second["now"] < 22 * GIGABYTE
    finally:
        trial.limit("")
