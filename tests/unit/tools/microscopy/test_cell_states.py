"""cell_state_analyzer on experiments of known truth; scikit-learn's Rand index is the witness."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from app.errors import Cancelled
from app.tools.api import ToolFailed, ToolRetry
from app.tools.hosting.host import ProcessHost
from app.tools.microscopy.cell_state_analyzer import AnalyzerInput, CellStateAnalyzer, has_fallen
from app.tools.needs import is_installed
from app.tools.tables import Table, read_table, write_table
from tests.support.cell_states import LONG, experiment
from tests.unit.tools.microscopy.support import cropped, truth
from tests.unit.tools.support import Bench, call

pytestmark = pytest.mark.skipif(
    not all(map(is_installed, ("sklearn", "skimage", "umap", "anndata", "graspologic_native"))),
    reason="the packages of the analysis are not installed",
)

WITNESS = "tests.unit.tools.microscopy.states_witness"


@pytest.fixture
def ready(bench: Bench, model_process: ProcessHost) -> Bench:
    bench.host = model_process
    return bench


def payload(bench: Bench, crops: str, **more: Any) -> dict[str, Any]:
    table = read_table(Path(crops))
    return {
        "crop_files": [str(bench.out / str(name)) for name in table.column("crop_file")],
        "mask_files": [str(bench.out / str(name)) for name in table.column("mask_file")],
        "indexes": table.column("index"),
        "seed": 0,
        "method": "features",
        **more,
    }


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_two_morphologies_are_told_apart_by_measured_features(ready: Bench, seed: int):
    images = experiment(seed)
    crops = cropped(ready, images)
    states = truth(read_table(Path(crops)), images)
    found = call(ready.host, f"{WITNESS}:states", **payload(ready, crops, seed=seed, truth=states))
    assert found["count"] == 2
    assert found["rand"] >= 0.8


def test_a_network_trained_here_tells_them_apart_and_is_the_same_again(ready: Bench):
    images = experiment(4, side=4)
    crops = cropped(ready, images)
    asked = payload(ready, crops, method="network", epochs=8)
    asked["truth"] = truth(read_table(Path(crops)), images)
    found = call(ready.host, f"{WITNESS}:states", **asked)
    assert found["rand"] >= 0.8
    assert len(found["losses"]) == 8
    assert found["losses"][-1] < found["losses"][0]
    first, again, other = (
        call(ready.host, f"{WITNESS}:states", **{**asked, "seed": seed, "epochs": 1})["embedding"]
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_higher_resolution_gives_more_clusters(ready: Bench):
    images = experiment(0, side=5)
    crops = cropped(ready, images)
    states = truth(read_table(Path(crops)), images)
    counts = [
        call(
            ready.host,
            f"{WITNESS}:states",
            **payload(ready, crops, truth=states, resolution=resolution),
        )["count"]
        for resolution in (0.01, 3.0)
    ]
    assert counts[0] < counts[1]


def test_features_are_scikit_image_s(ready: Bench):
    crops = cropped(ready, experiment(0, side=3, replicates=1))
    found = call(ready.host, f"{WITNESS}:features", **payload(ready, crops))
    for name, values in found["theirs"].items():
        np.testing.assert_allclose(found["ours"][name], values, rtol=1e-5)
    assert len(found["names"]) == found["columns"]
    assert len(set(found["names"])) == found["columns"]


def test_three_cells_are_refused_with_the_reason(bench: Bench):
    path = bench.out / "crops.csv"
    columns = ("image", "label", "crop_file", "index")
    write_table(path, Table(columns, tuple(("a", n, "c.tif", n) for n in range(3))), "Crops")
    with pytest.raises(ToolFailed, match=r"3 cells cannot be grouped.*at least 20") as error:
        bench.run(CellStateAnalyzer(), crops_paths=str(path))
    assert "Open more images" in error.value.remedy


def test_another_table_is_refused(bench: Bench):
    path = bench.out / "cells.csv"
    write_table(path, Table(("image", "area"), (("a", 1),)), "Cells")
    with pytest.raises(ToolRetry, match="no column crop_file, index, label"):
        bench.run(CellStateAnalyzer(), crops_paths=[str(path)])


def test_dinov3_without_its_weights_says_how_to_get_them(bench: Bench):
    path = bench.out / "crops.csv"
    columns = ("image", "label", "crop_file", "index")
    write_table(path, Table(columns, tuple(("a", n, "c.tif", n) for n in range(30))), "Crops")
    with pytest.raises(ToolFailed, match="DINOv3"):
        bench.run(CellStateAnalyzer(), crops_paths=[str(path)], method="dinov3")


def test_a_table_cannot_name_files_elsewhere(bench: Bench):
    path = bench.out / "crops.csv"
    columns = ("image", "label", "crop_file", "index")
    rows = tuple(("a", n, "../secret.tif", n) for n in range(30))
    write_table(path, Table(columns, rows), "Crops")
    (bench.folder / "secret.tif").write_bytes(b"x")
    with pytest.raises(ToolRetry, match="names no file of this run"):
        bench.run(CellStateAnalyzer(), crops_paths=[str(path)])


def same_cells(bench: Bench, count: int) -> str:
    """Write crops that are all the same, and their table."""
    with tifffile.TiffWriter(bench.out / "c.tif") as crops:
        for _ in range(count):
            crops.write(np.full((12, 12), 700, np.uint16), contiguous=False, metadata=None)
    columns = ("image", "label", "crop_file", "mask_file", "index")
    rows = tuple(("a", n + 1, "c.tif", "", n) for n in range(count))
    return str(write_table(bench.out / "crops.csv", Table(columns, rows), "Crops").path)


@pytest.mark.parametrize("method", ["features", "network"])
def test_cells_that_are_all_the_same_have_no_states(ready: Bench, method: str):
    path = same_cells(ready, 30)
    with pytest.raises(ToolFailed, match="all cells are exactly alike"):
        ready.run(CellStateAnalyzer(), crops_paths=[path], method=method, epochs=1)
    assert not list(ready.out.glob("*.h5ad"))


def test_training_stops_within_a_second_of_a_cancel(ready: Bench):
    images = experiment(0, side=4)
    crops = cropped(ready, images)
    at: list[float] = []

    def heard(fraction: float, text: str) -> None:
        if text.startswith("Training") and not at:
            at.append(time.perf_counter())
            ready.cancel.cancel()

    context = replace(ready.context(), progress=heard)
    args = AnalyzerInput(crops_paths=[crops], method="network", epochs=500)
    with pytest.raises(Cancelled):
        CellStateAnalyzer().run(args, context)
    assert time.perf_counter() - at[0] < 1.0
    assert not list(ready.out.glob("*.h5ad*"))


def test_the_generator_makes_the_shares_it_is_asked_for():
    images = experiment(0, control=0.2, treated=0.7)
    means = {
        group: np.mean([np.mean([s == LONG for s in i.states]) for i in images if i.group == group])
        for group in ("control", "treatment")
    }
    assert means["control"] == pytest.approx(0.2, abs=0.1)
    assert means["treatment"] == pytest.approx(0.7, abs=0.1)


@pytest.mark.slow
def test_the_whole_analysis_as_files(ready: Bench):
    """With the map, whose library compiles for half a minute at its first use."""
    import warnings

    images = experiment(0, side=5)
    crops = cropped(ready, images)
    runs = [ready.run(CellStateAnalyzer(), crops_paths=[crops], epochs=3) for _ in range(2)]
    table, again = (read_table(Path(run.output["table_path"])) for run in runs)
    assert table.rows == again.rows
    assert runs[0].output["epochs"] == 3
    assert "small network trained here" in runs[0].output["method"]
    assert [one["cells"] for one in runs[0].output["clusters"]] == [
        table.column("cluster").count(number)
        for number in range(1, len(runs[0].output["clusters"]) + 1)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import anndata

        read = anndata.read_h5ad(runs[0].output["analysis_path"])
    assert read.shape == (len(table.rows), 128 + 24)
    np.testing.assert_allclose(
        read.obsm["X_umap"][:, 0], [float(str(v)) for v in table.column("umap_1")], atol=1e-4
    )
    assert read.obs["cluster"].astype(int).tolist() == table.column("cluster")
    assert set(read.obs["group"]) == {"control", "treatment"}
    assert read.uns["parameters"]["method"] == "network"
    assert read.uns["parameters"]["seed"] == 0
    assert len(read.uns["loss"]) == 3
    [plot] = [one for one in runs[0].artifacts if one.role == "plot"]
    assert plot.title == "Loss of the training"
    # The states are near each other in the map, too.
    from scipy.spatial import KDTree

    places = np.array([table.column("umap_1"), table.column("umap_2")], float).T
    states = np.array(truth(table, images))
    near: Any = KDTree(places).query(places, k=6)[1]
    assert np.mean(states[near[:, 1:]] == states[:, None]) > 0.9


@pytest.mark.parametrize(
    ("losses", "fell"),
    [
        ((), True),
        ((3.0,), True),
        ((4.0, 3.0), True),
        ((3.0, 3.0), False),
        ((3.0, 4.0, 2.9, 3.5, 3.1, 3.2, 3.3, 3.4), True),
        ((3.0, 3.0, 2.0, 3.0, 3.0, 3.0, 3.2, 3.2), False),
    ],
)
def test_a_loss_that_does_not_fall_is_noticed(losses: tuple[float, ...], fell: bool):
    assert has_fallen(losses) is fell


@pytest.mark.slow
def test_a_training_that_does_not_learn_gives_a_warning(ready: Bench):
    crops = cropped(ready, experiment(0, side=4))
    real = ready.host

    class Stuck:
        def call(self, entry: str, payload: Any, **more: Any) -> Any:
            return {**real.call(entry, payload, **more), "losses": [3.5, 3.6, 3.6, 3.7]}

    ready.host = Stuck()
    result = ready.run(CellStateAnalyzer(), crops_paths=[crops], method="features")
    (told,) = [one for one in result.metadata["warnings"] if "loss" in one]
    assert "did not fall (3.50 in the first epoch, 3.70 in the last)" in told
    assert told in result.summary
