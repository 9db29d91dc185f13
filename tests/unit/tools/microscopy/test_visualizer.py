"""analysis_visualizer: plots that link to cells, and comparisons whose unit is the replicate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from app.tools.api import ToolResult, ToolRetry
from app.tools.hosting.host import ProcessHost
from app.tools.microscopy import analysis_visualizer
from app.tools.microscopy.analysis_visualizer import AnalysisVisualizer, _sample_names
from app.tools.plots import read_plot
from app.tools.tables import Value, read_table, table_of, write_table
from tests.support.cell_states import experiment
from tests.unit.tools.microscopy.support import cropped, truth, welch_p
from tests.unit.tools.support import Bench


@pytest.fixture
def ready(bench: Bench, model_process: ProcessHost) -> Bench:
    bench.host = model_process
    return bench


def cells(
    shares: dict[str, list[float]], *, replicates: bool = True, each: int = 100
) -> list[dict[str, Value]]:
    """A table of cells whose replicates have these shares of cluster 2."""
    dice = np.random.default_rng(0)
    rows: list[dict[str, Value]] = []
    for group, own in shares.items():
        for number, share in enumerate(own, 1):
            for label in range(1, each + 1):
                cluster = 2 if label <= round(share * each) else 1
                rows.append(
                    {
                        "image": f"{group}{number}.tif",
                        "label": label,
                        "group": group,
                        "replicate": f"{group}{number}" if replicates else "",
                        "cluster": cluster,
                        "umap_1": float(dice.normal(cluster * 5)),
                        "umap_2": float(dice.normal()),
                        "area_px": float(dice.normal(100 * cluster, 10)),
                    }
                )
    return rows


SHARES = {"control": [0.18, 0.2, 0.16], "treatment": [0.41, 0.45, 0.37]}


def shown(bench: Bench, rows: list[dict[str, Value]], **asked: Any) -> ToolResult:
    path = bench.out / "states.csv"
    write_table(path, table_of(rows), "Cells")
    return bench.run(AnalysisVisualizer(), table_paths=str(path), **asked)


def test_the_difference_in_composition_is_told_in_numbers(ready: Bench):
    result = shown(ready, cells(SHARES))
    one = next(item for item in result.output["clusters"] if item["subject"] == "2")
    assert one["means"] == pytest.approx([0.41, 0.18])
    counts = np.array([[41, 45, 37], [18, 20, 16]])
    logits = np.log((counts + 0.5) / (100 - counts + 0.5))
    assert one["p"] == pytest.approx(welch_p(*logits))
    assert "41% of cells in treatment, 18% in control; difference +23 points" in result.summary
    assert "3 and 3 replicates" in result.summary
    assert "The unit is the replicate, not the cell" in result.summary
    assert result.output["unit"] == "replicate"
    table = read_table(Path(result.output["statistics_path"]))
    assert table.column("of") == ["cluster", "cluster", "feature"]
    assert table.column("p")[:2] == [item["p"] for item in result.output["clusters"]]


def test_images_are_the_unit_where_no_replicate_is_named(ready: Bench):
    result = shown(ready, cells(SHARES, replicates=False))
    assert result.output["unit"] == "image"
    assert result.output["clusters"][0]["replicates"] == [3, 3]
    assert "each image counts as one" in result.output["statistics_note"]


def test_a_single_image_per_group_is_drawn_and_not_tested(ready: Bench):
    result = shown(ready, cells({"control": [0.2], "treatment": [0.8]}))
    assert all(one["p"] is None for one in result.output["clusters"])
    assert "not tested: group" in result.output["statistics_note"].lower()
    assert "80% of cells in treatment" in result.summary
    assert len(result.output["plots"]) >= 4


def test_the_plots_draw_columns_that_are_there_and_link_to_cells(ready: Bench):
    result = shown(ready, cells(SHARES))
    plots = [read_plot(Path(path)) for path in result.output["plots"]]
    assert [plot.kind for plot in plots] == ["scatter", "box", "bar", "bar"]
    for plot in plots:
        columns = read_table(ready.out / plot.table).columns
        used = {plot.x, plot.y, plot.color} - {""}
        assert used <= set(columns)
    assert (plots[0].image_column, plots[0].label_column) == ("image", "label")
    shares = read_table(ready.out / plots[3].table)
    sums: dict[Any, float] = {}
    for sample, share in zip(shares.column("sample"), shares.column("share"), strict=True):
        sums[sample] = sums.get(sample, 0) + float(str(share))
    assert len(sums) == 6
    assert all(total == pytest.approx(1) for total in sums.values())


def test_violins_and_colours_by_group_can_be_asked_for(ready: Bench):
    asked = {"distribution": "violin", "color_by": "group", "features": ["area_px", "umap_1"]}
    result = shown(ready, cells(SHARES), **asked)
    plots = [read_plot(Path(path)) for path in result.output["plots"]]
    assert [plot.kind for plot in plots] == ["scatter", "violin", "violin", "bar", "bar"]
    assert plots[0].color == "group"


def test_a_segmenter_s_table_is_drawn_without_clusters_or_groups(ready: Bench):
    rows: list[dict[str, Value]] = [
        {"image": "a.tif", "label": n, "area_um2": n * 1.5, "area_px": n} for n in range(1, 9)
    ]
    result = shown(ready, rows)
    assert "No groups are known" in result.output["statistics_note"]
    [plot] = [read_plot(Path(path)) for path in result.output["plots"]]
    assert (plot.kind, plot.y) == ("box", "area_um2")
    assert result.output["montage_path"] is None


def test_two_tables_are_drawn_as_one(ready: Bench):
    rows = cells(SHARES)
    for name, group in (("a.csv", "control"), ("b.csv", "treatment")):
        own = [row for row in rows if row["group"] == group]
        write_table(ready.out / name, table_of(own), "Cells")
    result = ready.run(AnalysisVisualizer(), table_paths=["a.csv", "b.csv"])
    assert result.output["clusters"][0]["replicates"] == [3, 3]
    plot = read_plot(Path(result.output["plots"][0]))
    assert len(read_table(ready.out / plot.table).rows) == len(rows)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"features": ["colour"]}, "no numbers called colour"),
        ({"reference": "placebo"}, "no group 'placebo'"),
    ],
)
def test_what_is_not_there_is_named(ready: Bench, asked: dict[str, Any], why: str):
    with pytest.raises(ToolRetry, match=why):
        shown(ready, cells(SHARES), **asked)


def test_the_montage_shows_cells_of_each_cluster_in_its_row(ready: Bench):
    pytest.importorskip("skimage")
    images = experiment(0, side=4, replicates=1)
    path = Path(cropped(ready, images))
    table = read_table(path)
    states = truth(table, images)
    rows: list[dict[str, Value]] = [
        {**dict(zip(table.columns, row, strict=True)), "cluster": 1 if state == "round" else 2}
        for row, state in zip(table.rows, states, strict=True)
    ]
    result = shown(ready, rows)
    picture = np.asarray(Image.open(result.output["montage_path"]))
    assert picture.shape == (2 * 76 + 4, 10 * 76 + 4, 3)
    [artifact] = [one for one in result.artifacts if one.role == "image"]
    assert artifact.description == "row 1: cluster 1, row 2: cluster 2"
    # A round cell fills its crop more evenly than a long one: the rows differ.
    upper, lower = picture[4:76].std(), picture[80:152].std()
    assert upper != lower


def test_three_groups_are_compared_with_the_control(ready: Bench):
    shares = {**SHARES, "washout": [0.2, 0.25, 0.22]}
    result = shown(ready, cells(shares))
    pairs = {(one["group"], one["reference"]) for one in result.output["clusters"]}
    assert pairs == {("treatment", "control"), ("washout", "control")}
    p = [one["p"] for one in result.output["clusters"]]
    expected = stats.false_discovery_control(p)
    assert [one["p_adjusted"] for one in result.output["clusters"]] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "text"), [(1600.4816, "1,600"), (-0.00783, "-0.00783"), (12.34, "12.3")]
)
def test_means_are_written_without_powers_of_ten(value: float, text: str):
    assert analysis_visualizer._figure(value) == text


def test_replicates_are_named_shortly_unless_two_would_have_one_name():
    assert _sample_names([("control", "control-1.tif"), ("drug", "drug_1.TIFF")]) == {
        ("control", "control-1.tif"): "control-1",
        ("drug", "drug_1.TIFF"): "drug_1",
    }
    same = [("con", "control-1"), ("control", "control-1")]
    assert set(_sample_names(same).values()) == {"con: control-1", "control: control-1"}
    assert _sample_names([("control", "1"), ("drug", "1")])["drug", "1"] == "drug: 1"
