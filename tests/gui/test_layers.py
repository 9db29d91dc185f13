"""Objects over images in the real window: read by worker processes, drawn, switched, applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Polygon, Polyline
from app.imaging.types import Content, Series
from app.views.browser.study_model import SeriesRow
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.conformance import kinds
from tests.gui.viewer_support import WaitUntil

pytestmark = pytest.mark.gui


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()


@pytest.fixture
def window(qapp: QApplication, program: Program) -> Iterator[MainWindow]:
    built = build_window(program, ViewRequest())
    built.resize(1400, 900)
    built.show()
    yield built
    built.close()


def opened(window: MainWindow, folder: Path, wait_until: WaitUntil) -> None:
    window.open_paths([folder])
    wait_until(lambda: window.canvas.picture is not None and not window.busy)


def series(window: MainWindow, content: Content) -> Series:
    (study,) = window.workspace.studies.all
    return next(one for one in study.series if one.content is content)


def click(window: MainWindow, wanted: Series) -> None:
    """Click a series' card in the study list."""
    view, model = window.study_list.view, window.study_list.model
    for number in range(model.rowCount()):
        row = model.row(model.index(number))
        if isinstance(row, SeriesRow) and row.series.key == wanted.key:
            view.scrollTo(model.index(number))
            place = view.visualRect(model.index(number)).center()
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
            return
    raise AssertionError("no such card")


def pixel(window: MainWindow, x: float, y: float) -> tuple[int, int, int]:
    """The colour on the screen at an image point."""
    image = window.canvas.grab().toImage()
    at = window.canvas.to_widget(x, y) * window.canvas.devicePixelRatioF()
    color = image.pixelColor(round(at.x()), round(at.y()))
    return color.red(), color.green(), color.blue()


def test_contours_are_drawn_on_their_image_and_switched_off_in_the_panel(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    opened(window, kinds.structure_set(tmp_path), wait_until)
    wait_until(lambda: window.canvas.layer_drawing.count == 1)
    assert window.docks["Layers"].isVisible()
    (entry,) = window.workspace.layers.entries
    assert entry.items[0].label == "Circle of 12 mm"
    (shape,) = entry.shapes()
    assert isinstance(shape.geometry, Polygon)
    spacing = window.canvas.frame.spacing
    points = np.array(shape.geometry.points)
    radii = np.hypot((points[:, 0] - 64) * spacing.column_mm, (points[:, 1] - 64) * spacing.row_mm)
    assert np.abs(radii - 12).max() < 0.01
    red, green, blue = pixel(window, float(points[0, 0]), float(points[0, 1]))
    assert green > red + 40
    assert green > blue + 40
    tree = window.layers_panel.tree
    tree.topLevelItem(0).child(0).setCheckState(0, Qt.CheckState.Unchecked)
    wait_until(lambda: window.canvas.layer_drawing.count == 0)
    red, green, blue = pixel(window, float(points[0, 0]), float(points[0, 1]))
    assert red == green == blue


def test_a_presentation_state_is_applied_with_a_click_and_taken_away_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    opened(window, kinds.presentation_state(tmp_path), wait_until)
    before = pixel(window, 2, 2)
    assert window.canvas.layer_drawing.count == 0
    click(window, series(window, Content.PRESENTATION))
    wait_until(lambda: window.workspace.viewport.presentation is not None and not window.busy)
    wait_until(lambda: window.canvas.layer_drawing.count == 1)
    assert window.canvas.shown_window.center == 40
    assert window.canvas.shown_window.width == 350
    assert pixel(window, 2, 2) == (0, 0, 0)  # outside the circular shutter
    (entry,) = window.workspace.layers.entries
    line = next(s.geometry for s in entry.shapes() if isinstance(s.geometry, Polyline))
    assert line.points == ((29.5, 39.5), (59.5, 61.5))  # PS3.3 C.10.5.1.2, minus half a pixel
    states = window.layers_panel.states
    assert states.currentText() == "EXAMPLE"
    states.setCurrentIndex(0)
    states.activated.emit(0)
    wait_until(lambda: not window.busy and window.canvas.layer_drawing.count == 0)
    assert window.workspace.viewport.presentation is None
    assert pixel(window, 2, 2) == before


def test_a_segmentation_is_drawn_over_the_slice_that_it_names(
    window: MainWindow, shared_data: Path, wait_until: WaitUntil
):
    folder = shared_data / "dicom" / "objects"
    window.open_paths([folder / "ct-3slice", folder / "ct-3slice-liver-seg.dcm"])
    wait_until(lambda: window.canvas.layer_drawing.count == 1)
    click(window, series(window, Content.SEGMENTATION))
    wait_until(lambda: not window.busy)
    assert window.workspace.viewport.instance.content is Content.IMAGE
    assert window.canvas.layer_drawing.count == 1
