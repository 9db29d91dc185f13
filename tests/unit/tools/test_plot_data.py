"""The numbers behind plots, against scipy, matplotlib and formulas; and plots as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import FileProblem
from app.tools.plot_data import (
    MOST_CATEGORIES,
    PALETTE,
    Bars,
    Distribution,
    Gallery,
    Histogram,
    Points,
    data_of,
    titles_of,
)
from app.tools.plot_files import FORMS, drawn_apart, drawn_plot
from app.tools.plots import Plot, pictures_of, write_plot
from app.tools.tables import Table, table_of, write_table

CELLS = table_of(
    [
        {"label": n, "area": float(area), "kind": kind, "cluster": n % 2, "sd": 0.5}
        for n, (area, kind) in enumerate(
            [(3, "b"), (1, "a"), (4, "a"), (1, "b"), (5, "a"), (9, "a"), (2, "b"), (60, "a")], 1
        )
    ],
    {"area": "µm²"},
)


def plot(kind: Any, **fields: Any) -> Plot:
    return Plot(kind=kind, title="T", table="t.csv", **fields)


def test_a_scatter_has_a_group_for_each_colour_and_knows_its_rows():
    data = data_of(plot("scatter", x="label", y="area", color="kind", error="sd"), CELLS)
    assert isinstance(data, Points)
    assert [(one.name, one.color) for one in data.groups] == [("b", PALETTE[0]), ("a", PALETTE[1])]
    one = data.groups[0]
    assert one.rows.tolist() == [0, 3, 6]
    assert one.x.tolist() == [1, 4, 7]
    assert one.y.tolist() == [3, 1, 2]
    assert one.error is not None
    assert one.error.tolist() == [0.5] * 3
    assert titles_of(plot("scatter", x="label", y="area"), CELLS) == ("label", "area (µm²)")


def test_rows_without_a_value_are_left_out_and_words_become_places():
    table = table_of([{"x": "one", "y": 1}, {"x": "two", "y": None}, {"x": "two", "y": 3}])
    data = data_of(plot("scatter", x="x", y="y"), table)
    assert isinstance(data, Points)
    assert data.x_names == ("one", "two")
    assert data.groups[0].rows.tolist() == [0, 2]
    assert data.groups[0].x.tolist() == [0, 1]


def test_many_numbers_are_coloured_by_a_scale():
    table = table_of([{"x": n, "y": n, "value": n / 7} for n in range(40)])
    data = data_of(plot("scatter", x="x", y="y", color="value"), table)
    assert isinstance(data, Points)
    assert data.shade is not None
    np.testing.assert_allclose(data.shade, np.arange(40) / 7)


def test_a_line_is_sorted_along_x():
    table = table_of([{"epoch": n, "loss": 10 - n} for n in (3, 1, 2)])
    data = data_of(plot("line", x="epoch", y="loss"), table)
    assert isinstance(data, Points)
    assert data.groups[0].x.tolist() == [1, 2, 3]
    assert data.groups[0].y.tolist() == [9, 8, 7]


def test_bars_are_stacked_by_colour():
    table = table_of(
        [
            {"group": "control", "cluster": 2, "share": 0.25, "sd": 0.1},
            {"group": "control", "cluster": 1, "share": 0.75, "sd": 0.2},
            {"group": "treated", "cluster": 1, "share": 0.5, "sd": 0.3},
        ]
    )
    data = data_of(plot("bar", x="group", y="share", color="cluster", error="sd"), table)
    assert isinstance(data, Bars)
    assert data.names == ("control", "treated")
    assert [(name, heights.tolist()) for name, _color, heights in data.parts] == [
        ("1", [0.75, 0.5]),
        ("2", [0.25, 0.0]),
    ]
    assert data.errors is not None
    assert data.errors.tolist() == [0.2, 0.3]


def test_boxes_are_those_of_matplotlib_and_violins_those_of_scipy():
    cbook = pytest.importorskip("matplotlib.cbook")
    stats = pytest.importorskip("scipy.stats")
    data = data_of(plot("box", x="kind", y="area"), CELLS)
    assert isinstance(data, tuple)
    for one in data:
        assert isinstance(one, Distribution)
        (witness,) = cbook.boxplot_stats(one.values)
        assert one.quartiles == pytest.approx((witness["q1"], witness["med"], witness["q3"]))
        assert one.whiskers == pytest.approx((witness["whislo"], witness["whishi"]))
        assert one.values[one.outliers].tolist() == witness["fliers"].tolist()
        expected = stats.gaussian_kde(one.values)(one.grid)
        np.testing.assert_allclose(one.density, expected / expected.max())
    assert [one.name for one in data] == ["b", "a"]
    assert data[1].rows[data[1].outliers].tolist() == [7]


def test_a_single_value_has_no_violin():
    table = table_of([{"kind": "a", "area": 3.0}])
    data = data_of(plot("violin", x="kind", y="area"), table)
    assert isinstance(data, tuple)
    assert data[0].quartiles == (3.0, 3.0, 3.0)
    assert not len(data[0].grid)


def test_a_histogram_counts_every_value_once():
    values = np.random.default_rng(1).normal(size=500)
    table = table_of([{"v": float(one)} for one in values])
    data = data_of(plot("histogram", x="v"), table)
    assert isinstance(data, Histogram)
    counts, edges = np.histogram(values, "auto")
    np.testing.assert_allclose(data.edges, edges)
    assert data.counts.tolist() == counts.tolist()


def test_a_gallery_shows_no_file_outside_the_plots_folder(tmp_path: Path):
    paths = ["crops/a.png", str(tmp_path / "b.png"), "/etc/passwd", "../c.png"]
    table = table_of([{"path": one, "cluster": n} for n, one in enumerate(paths)])
    data = data_of(plot("gallery", x="path", color="cluster"), table)
    assert isinstance(data, Gallery)
    found = pictures_of(tmp_path / "plot.json", data.pictures)
    assert [file for _row, file, _caption in found] == [
        tmp_path / "crops/a.png",
        tmp_path / "b.png",
        None,
        None,
    ]
    assert [caption for _row, _file, caption in found] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (plot("scatter", x="nothing", y="area"), "no column 'nothing'"),
        (plot("histogram", x="kind"), "words in place of numbers"),
        (plot("box", x="kind", y="kind"), "words in place of numbers"),
    ],
)
def test_a_plot_that_does_not_fit_its_table_is_told(made: Plot, told: str):
    with pytest.raises(FileProblem, match=told):
        data_of(made, CELLS)


def test_too_many_categories_are_told():
    table = table_of([{"x": f"c{n}", "y": 1} for n in range(MOST_CATEGORIES + 1)])
    with pytest.raises(FileProblem, match="201 categories are too many"):
        data_of(plot("bar", x="x", y="y"), table)


def written(folder: Path, made: Plot, table: Table = CELLS) -> Path:
    write_table(folder / "t.csv", table, "Cells")
    return write_plot(folder / "plot.json", made).path


KINDS = (
    plot("scatter", x="label", y="area", color="kind", error="sd", note="p = 0.04"),
    plot("line", x="label", y="area"),
    plot("bar", x="kind", y="area", color="cluster"),
    plot("box", x="kind", y="area"),
    plot("violin", x="kind", y="area"),
    plot("histogram", x="area"),
)


@pytest.mark.parametrize("made", KINDS, ids=lambda one: one.kind)
def test_every_kind_is_written_as_a_vector_file_with_its_titles(tmp_path: Path, made: Plot):
    pytest.importorskip("matplotlib")
    data = drawn_plot(written(tmp_path, made), "svg").decode()
    assert data.startswith("<?xml")
    for text in (made.title, made.x, made.note):
        assert f">{text}<" in data or not text
    assert drawn_plot(tmp_path / "plot.json", "svg").decode() == data


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_process_of_its_own_draws_a_file(tmp_path: Path, form: str):
    pytest.importorskip("matplotlib")
    data = drawn_apart(written(tmp_path, KINDS[0]), form)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert data.startswith(starts[form])
    (tmp_path / "plot.json").write_text("{}")
    with pytest.raises(FileProblem, match="the plot cannot be read"):
        drawn_apart(tmp_path / "plot.json", form)
