"""Every model at full size, with random weights, through its real tool on an accelerator.

    python -m pytest tests/gpu --all -s     (prints a line of JSON a model)

It writes 50 GB of models (`--basetemp` says where). Its own logic runs with tiny models on the
processor in `tests/unit/tools/test_gpu_trial.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

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
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    host, builder = ProcessHost(), ProcessHost()
    yield Trial(tmp_path_factory.mktemp("trial"), host, "cuda", builder)
    host.close()
    builder.close()


@pytest.mark.parametrize("tool", sorted(MODELS))
def test_it_loads_answers_and_stops_at_full_size(tool: str, trial: Trial):
    trial.install(tool, "full")
    trial.unload()
    figures = trial.measure(tool)
    print(f"\n{json.dumps(figures.told())}")  # noqa: T201 - the figures for docs/performance.md
    assert figures.memory > 0
    assert figures.again_s < figures.first_s
    assert figures.stop_s < 1.0


def test_one_model_of_seven_billion_parameters_makes_room_for_another(trial: Trial):
    for tool in ("llava_med_qa", "xray_phrase_grounding"):
        trial.install(tool, "full")
    trial.unload()
    trial.limit("22G")
    trial.run("llava_med_qa")
    first = trial.used()
    assert [one["model"] for one in first["models"]] == list(MODELS["llava_med_qa"])
    trial.run("xray_phrase_grounding")
    second = trial.used()
    print(f"\n{first['now'] / GIGABYTE:.1f} GB, then {second['now'] / GIGABYTE:.1f} GB")  # noqa: T201
    assert MODELS["llava_med_qa"][0] not in trial.loaded()
    assert second["now"] < 22 * GIGABYTE
    trial.limit("")


@pytest.mark.parametrize("tool", ["llava_med_qa", "xray_phrase_grounding"])
def test_loading_seven_billion_parameters_stops_within_a_second(tool: str, trial: Trial):
    trial.install(tool, "full")
    trial.unload()
    stop_s = trial.stop_loading(tool, after_s=1.0)
    print(f"\n{tool}: stopped {stop_s:.2f} s after the cancel")  # noqa: T201
    assert stop_s < 1.0
    assert trial.loaded() == []


def test_what_is_computed_exactly_is_so_on_an_accelerator(trial: Trial):
    # The same in float32 on a processor is off by about 1e-6, with TF32 by about 1e-3.
    assert trial.convolution_error() < 2e-5
