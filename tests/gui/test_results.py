"""Tables and plots of tools beside the image: sorted, filtered, exported, and linked to objects."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel

from app.errors import FileProblem
from app.imaging.findings import Instances, State
from app.tools.api import Artifact
from app.tools.plots import Plot, write_plot
from app.tools.tables import Table, table_of, write_table
from app.views import theme
from app.views.main_window import MainWindow
from app.views.results.exporting import write_result
from app.views.results.plot_pane import PlotPane
from app.views.results.table_pane import TablePane, arranged, matching
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, activate, finding, found, frame, instance, study

pytestmark = pytest.mark.gui

LEFT = Qt.MouseButton.LeftButton
Wait = Callable[[Callable[[], object]], None]
CELLS = "finder-Nuclei"


def cells() -> Table:
    """Objects 1 to 6 of `labels`, and one row about none."""
    rows: list[dict[str, Any]] = [
        {
            "image": "a.tif",
            "label": n,
            "area": float(10 * n % 35),
            "kind": "round" if n % 2 else "long",
        }
        for n in range(1, 7)
    ]
    return table_of([*rows, {"image": "a.tif", "label": None, "area": None, "kind": "=cmd()"}])


def labels() -> np.ndarray:
    made = np.zeros((80, 100), np.uint16)
    for number in range(1, 7):
        made[20 : 30 + number, 14 * number : 14 * number + 8] = number
    return made


@pytest.fixture
def window(tmp_path: Path, wait_until: Wait) -> Iterator[MainWindow]:
    decoder = FakeDecoder()
    for uid in ("1.1", "1.2"):
        decoder.frames[uid, 0] = frame(uid)
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    made.resize(1300, 800)
    made.show()
    activate(made, wait_until)
    made.workspace.add(found(study(instance("1.1"), instance("1.2"))))
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    cell = finding(
        made.canvas.frame.ref,
        Instances(labels()),
        "Nuclei",
        value=6.0,
        units="objects",
        state=State.ACCEPTED,
    )
    made.workspace.take_results("finder", [cell], [])
    wait_until(lambda: not made.canvas.busy)
    yield made
    made.quit()
    made.deleteLater()


def table_artifact(folder: Path) -> Artifact:
    return write_table(
        folder / "cells.csv",
        replace(cells(), units={"area": "µm²"}),
        "Nuclei",
        image_column="image",
        label_column="label",
        findings={"a.tif": CELLS},
    )


def opened(window: MainWindow, artifact: Artifact, wait_until: Wait) -> Any:
    window.workspace.open_artifact("finder", artifact)
    wait_until(lambda: not window.viewports.panes.busy and not window.busy)
    return window.viewports.panes.currentWidget()


def shown(pane: TablePane, name: str) -> list[str]:
    model = pane.model
    assert model is not None
    place = model.table.columns.index(name)
    return [model.index(row, place).data() for row in range(model.rowCount())]


def click_row(pane: TablePane, row: int) -> None:
    view = pane.view
    assert view is not None
    at = view.visualRect(view.model().index(row, 1)).center()
    QTest.mouseClick(view.viewport(), LEFT, pos=at)


def test_a_table_is_sorted_by_its_header_and_filtered(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    pane = opened(window, table_artifact(tmp_path), wait_until)
    assert isinstance(pane, TablePane)
    assert pane.isVisible()
    assert pane.title.text() == "Nuclei"
    assert pane.count.text() == "7 of 7 rows"
    header = pane.view.horizontalHeader()
    assert pane.model.headerData(2, Qt.Orientation.Horizontal) == "area (µm²)"
    at = QPoint(header.sectionViewportPosition(2) + 20, header.height() // 2)
    QTest.mouseClick(header.viewport(), LEFT, pos=at)
    wait_until(lambda: shown(pane, "area")[0] == "5")
    assert shown(pane, "area") == ["5", "10", "15", "20", "25", "30", ""]
    QTest.mouseClick(header.viewport(), LEFT, pos=at)
    wait_until(lambda: shown(pane, "area")[0] == "30")
    assert shown(pane, "area") == ["30", "25", "20", "15", "10", "5", ""]
    QTest.keyClicks(pane.filter, "round area>12")
    wait_until(lambda: pane.count.text() == "2 of 7 rows")
    assert shown(pane, "label") == ["3", "5"]
    pane.filter.clear()
    wait_until(lambda: pane.count.text() == "7 of 7 rows")


def test_filters_and_orders_of_any_table():
    table = cells()
    assert matching(table, "") == list(range(7))
    assert matching(table, "LONG") == [1, 3, 5]
    assert matching(table, "label>=3 label<5") == [2, 3]
    assert matching(table, "lab=2") == [1]
    assert matching(table, "nothing>3") == []
    assert matching(table, "area>x") == []
    words = table.columns.index("kind")
    order = arranged(table, "", words, descending=False)
    assert [table.rows[row][words] for row in order] == ["=cmd()", *["long"] * 3, *["round"] * 3]
    assert arranged(table, "", 1, descending=True) == [5, 4, 3, 2, 1, 0, 6]


def test_a_row_selects_its_object_and_an_object_its_row(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    pane = opened(window, table_artifact(tmp_path), wait_until)
    annotations = window.workspace.annotations
    click_row(pane, 3)
    assert (annotations.selected, annotations.selected_object) == (CELLS, 4)
    assert pane.isVisible(), "the image must not take the table's place"
    QTest.keyClick(pane.view, Qt.Key.Key_Down)
    assert annotations.selected_object == 5
    assert pane.view.hasFocus(), "the keys go on in the table"
    canvas = next(one.canvas for one in window.viewports.frames if one.canvas.picture is not None)
    wait_until(lambda: not canvas.busy)
    at = canvas.to_widget(16, 25).toPoint()
    QTest.mouseClick(canvas.viewport(), LEFT, pos=at)
    assert annotations.selected_object == 1
    assert [index.row() for index in pane.view.selectionModel().selectedRows()] == [0]
    QTest.mouseClick(canvas.viewport(), LEFT, pos=canvas.to_widget(5, 70).toPoint())
    assert pane.view.selectionModel().selectedRows() == []


def test_a_row_about_another_image_shows_it(window: MainWindow, tmp_path: Path, wait_until: Wait):
    workspace = window.workspace
    other = finding(frame("1.2").ref, Instances(labels()), "Nuclei", id="other", value=6.0)
    workspace.take_results("finder", [other], [])
    table = table_of([{"image": "a.tif", "label": 2}, {"image": "b.tif", "label": 3}])
    artifact = write_table(
        tmp_path / "two.csv",
        table,
        "Both",
        image_column="image",
        label_column="label",
        findings={"a.tif": CELLS, "b.tif": "other"},
    )
    pane = opened(window, artifact, wait_until)
    click_row(pane, 1)
    images = [one for one in workspace.layout.viewports if one is not workspace.layout.pictures]
    wait_until(
        lambda: any(one.instance and one.instance.sop_instance_uid == "1.2" for one in images)
    )
    assert (workspace.annotations.selected, workspace.annotations.selected_object) == ("other", 3)
    assert pane.isVisible()
    workspace.annotations.remove([CELLS])
    click_row(pane, 0)
    assert "no longer on the image" in pane.note.text()


def test_a_table_is_saved_whole_or_as_filtered(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    pane = opened(window, table_artifact(tmp_path), wait_until)
    assert window.actions_.export_result.isEnabled()
    assert not pane.export_shown.isEnabled()
    window.results.save(pane, tmp_path / "all.csv")
    wait_until((tmp_path / "all.csv").exists)
    rows = list(csv.reader((tmp_path / "all.csv").read_text("utf-8-sig").splitlines()))
    assert rows[0] == ["image", "label", "area (µm²)", "kind"]
    assert len(rows) == 8
    assert rows[-1] == ["a.tif", "", "", "'=cmd()"], "a spreadsheet must not run it"
    pane.filter.setText("round")
    wait_until(lambda: pane.export_shown.isEnabled())
    window.results.save(pane, tmp_path / "some.csv", shown=True)
    wait_until((tmp_path / "some.csv").exists)
    some = list(csv.DictReader((tmp_path / "some.csv").read_text("utf-8-sig").splitlines()))
    assert [one["label"] for one in some] == ["1", "3", "5"]


def test_the_menu_asks_for_a_file_and_saves_there(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    assert not window.actions_.export_result.isEnabled()
    opened(window, table_artifact(tmp_path), wait_until)
    window.actions_.export_result.trigger()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, QFileDialog)
    dialog.selectFile(str(tmp_path / "by-menu"))
    dialog.accept()
    wait_until((tmp_path / "by-menu.csv").exists)


def test_a_damaged_table_or_plot_is_told(window: MainWindow, tmp_path: Path, wait_until: Wait):
    (tmp_path / "bad.csv").write_bytes(b"a,a\n1,2\n")
    pane = opened(window, Artifact(tmp_path / "bad.csv", "table", "Bad"), wait_until)
    assert "the table cannot be read (two columns have the same name)" in pane.note.text()
    assert not pane.export_button.isEnabled()
    (tmp_path / "bad.json").write_text("{}")
    pane = opened(window, Artifact(tmp_path / "bad.json", "plot", "Bad"), wait_until)
    assert "the plot cannot be read" in pane.note.text()
    pane = opened(window, Artifact(tmp_path / "gone.csv", "table", "Gone"), wait_until)
    assert "the table cannot be read" in pane.note.text()


def plot_of(folder: Path, kind: Any, **fields: Any) -> Artifact:
    table_artifact(folder)
    links: dict[str, Any] = {
        "image_column": "image",
        "label_column": "label",
        "findings": {"a.tif": CELLS},
    }
    made = Plot(kind=kind, title=f"{kind} of cells", table="cells.csv", **(links | fields))
    return write_plot(folder / f"{kind}.json", made)


def test_a_point_selects_its_object_and_an_object_its_point(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    artifact = plot_of(tmp_path, "scatter", x="label", y="area", color="kind", y_title="A < B")
    pane = opened(window, artifact, wait_until)
    assert isinstance(pane, PlotPane)
    assert pane.chart.getAxis("bottom").labelText == "label"
    assert pane.chart.getAxis("left").labelText == "A &lt; B"
    assert [label.text for _sample, label in pane._legend.items] == ["round", "long"]
    QApplication.processEvents()
    box = pane.chart.getPlotItem().vb
    scene = box.mapViewToScene(pane.chart.getPlotItem().vb.viewRect().center())
    scene = box.mapViewToScene(type(scene)(4.0, 5.0))
    at = pane.chart.mapFromScene(scene)
    QTest.mouseClick(pane.chart.viewport(), LEFT, pos=at)
    annotations = window.workspace.annotations
    wait_until(lambda: annotations.selected_object == 4)
    assert annotations.selected == CELLS
    assert pane.marked == (4.0, 5.0)
    annotations.select(CELLS, 2)
    assert pane.marked == (2.0, 20.0)
    annotations.select("")
    assert pane.marked is None


def test_numbers_of_groups_have_their_column_s_name_in_the_legend(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    rows = [{"label": n, "area": 10.0 * n, "cluster": str(1 + n % 2)} for n in range(1, 9)]
    write_table(tmp_path / "cells.csv", table_of(rows), "Cells")
    made = Plot(kind="scatter", title="a", table="cells.csv", x="label", y="area", color="cluster")
    artifact = write_plot(tmp_path / "a.json", made)
    pane = opened(window, artifact, wait_until)
    assert isinstance(pane, PlotPane)
    assert sorted(label.text for _, label in pane._legend.items) == ["cluster 1", "cluster 2"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("line", {"x": "label", "y": "area"}),
        ("bar", {"x": "kind", "y": "area"}),
        ("box", {"x": "kind", "y": "area"}),
        ("violin", {"x": "kind", "y": "area"}),
        ("histogram", {"x": "area"}),
    ],
)
def test_every_kind_of_plot_is_drawn(
    window: MainWindow, tmp_path: Path, wait_until: Wait, kind: str, fields: dict[str, str]
):
    if kind in ("bar", "box", "violin"):  # a row without a value has a category all the same
        fields = {**fields, "note": "p = 0.04"}
    pane = opened(window, plot_of(tmp_path, kind, **fields), wait_until)
    assert pane.note.text() == ""
    assert pane.description.text() == fields.get("note", "")
    area = pane.chart.grab().toImage()
    inks = {area.pixel(x, y) for x in range(0, area.width(), 3) for y in range(0, area.height(), 3)}
    assert len(inks) > 3
    ticks = [name for _place, name in (pane.chart.getAxis("bottom")._tickLevels or [[]])[0]]
    assert ticks == ({"bar": ["round", "long", "=cmd()"]}.get(kind) or ticks)
    if kind in ("line", "box", "violin"):
        window.workspace.annotations.select(CELLS, 3)
        assert pane.marked is not None
        assert pane.marked[1] == 30.0


def test_a_gallery_shows_pictures_and_links_them(
    window: MainWindow, tmp_path: Path, wait_until: Wait
):
    (tmp_path / "crops").mkdir()
    rows: list[dict[str, Any]] = []
    for number in range(1, 4):
        Image.new("L", (20, 20), 80 * number).save(tmp_path / "crops" / f"{number}.png")
        path = "/etc/hostname" if number == 3 else f"crops/{number}.png"
        rows.append({"path": path, "label": number, "image": "a.tif", "cluster": f"C{number}"})
    write_table(tmp_path / "crops.csv", table_of(rows), "Crops")
    made = Plot(
        kind="gallery",
        title="Crops",
        table="crops.csv",
        x="path",
        color="cluster",
        image_column="image",
        label_column="label",
        findings={"": CELLS},
    )
    pane = opened(window, write_plot(tmp_path / "crops.json", made), wait_until)
    gallery = pane.gallery
    wait_until(lambda: not gallery.item(1).icon().isNull())
    assert [gallery.item(n).text() for n in range(3)] == ["C1", "C2", "C3"]
    assert gallery.item(2).icon().isNull(), "no file outside the run's folder is read"
    QTest.mouseClick(gallery.viewport(), LEFT, pos=gallery.visualItemRect(gallery.item(1)).center())
    assert window.workspace.annotations.selected_object == 2
    window.workspace.annotations.select(CELLS, 1)
    assert gallery.currentRow() == 0


def test_a_result_is_written_whole_to_a_file_only(tmp_path: Path):
    write_result(lambda: b"<svg/>", tmp_path / "a.svg", "plot", None)
    assert (tmp_path / "a.svg").read_bytes() == b"<svg/>"
    with pytest.raises(FileProblem, match="it is a folder"):
        write_result(lambda: b"<svg/>", tmp_path, "plot", None)


def test_the_shown_theme_colours_the_plot(window: MainWindow, tmp_path: Path, wait_until: Wait):
    pane = opened(window, plot_of(tmp_path, "box", x="kind", y="area"), wait_until)
    before = pane.chart.backgroundBrush().color()
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    theme.show(application, "light")
    try:
        assert pane.chart.backgroundBrush().color() != before
    finally:
        theme.show(application, "dark")
    assert pane.chart.backgroundBrush().color() == before
