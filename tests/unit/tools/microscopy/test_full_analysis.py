"""From images to the comparison of groups, by the tools themselves and in their own process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from app.tools.hosting.host import ProcessHost
from app.tools.microscopy.analysis_visualizer import AnalysisVisualizer
from app.tools.microscopy.cell_state_analyzer import CellStateAnalyzer
from app.tools.needs import is_installed
from app.tools.tables import read_table
from tests.support.cell_states import LONG, experiment
from tests.unit.tools.microscopy.support import cropped, truth
from tests.unit.tools.support import Bench, call

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("umap"), reason="umap-learn is not installed"),
]
WITNESS = "tests.unit.tools.microscopy.states_witness"


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("method", ["features", "network"])
def test_the_states_and_the_difference_between_the_groups_are_found(
    bench: Bench, model_process: ProcessHost, seed: int, method: str
):
    bench.host = model_process
    images = experiment(seed)
    crops = cropped(bench, images)
    made = bench.run(CellStateAnalyzer(), crops_paths=[crops], method=method, epochs=6, seed=seed)
    path = made.output["table_path"]
    table = read_table(Path(path))
    states, clusters = truth(table, images), table.column("cluster")
    rand = call(model_process, f"{WITNESS}:agreement", truth=states, found=clusters)["rand"]
    assert rand >= 0.8
    shown = bench.run(AnalysisVisualizer(), table_paths=[path])
    long = [c for c, state in zip(clusters, states, strict=True) if state == LONG]
    cluster = max(set(long), key=long.count)
    one = next(o for o in shown.output["clusters"] if o["subject"] == str(cluster))
    assert one["p_adjusted"] < 0.05
    assert one["difference"] > 0.15
    assert (one["group"], one["reference"]) == ("treatment", "control")
    low, high = one["interval"]
    assert low < 0.35 < high


def test_experiments_without_an_effect_are_found_no_more_often_than_stated(
    tmp_path: Path, model_process: ProcessHost
):
    """The whole way from pixels, 40 times; 200 simulated ones are in test_composition."""
    found = 0
    for seed in range(40):
        images = experiment(1000 + seed, control=0.4, treated=0.4, side=4)
        (folder := tmp_path / str(seed)).mkdir()
        bench = Bench(folder, model_process)
        crops = read_table(Path(cropped(bench, images)))
        asked: dict[str, Any] = {
            "crop_files": [str(bench.out / str(name)) for name in crops.column("crop_file")],
            "mask_files": [str(bench.out / str(name)) for name in crops.column("mask_file")],
            "indexes": crops.column("index"),
            "seed": seed,
            "method": "features",
            "truth": truth(crops, images),
        }
        labels = call(model_process, f"{WITNESS}:states", **asked)["labels"]
        answer = call(
            model_process,
            "app.tools.microscopy.composition:entry",
            groups=crops.column("group"),
            replicates=crops.column("replicate"),
            clusters=[str(label) for label in labels],
            features={},
        )
        found += any(
            one["p_adjusted"] is not None and one["p_adjusted"] < 0.05 for one in answer["clusters"]
        )
    assert found <= stats.binom.ppf(0.975, 40, 0.05)
