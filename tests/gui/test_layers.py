"""Objects over images in the real window: read by worker processes, drawn, switched, applied."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom.uid import generate_uid
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Mask, Polygon, Polyline
from app.imaging.layers import LayerFrame, Shape
from app.imaging.report import nodes_of
from app.imaging.types import Content, Plane, Series, Window
from app.views.browser.study_list import SeriesRow
from app.views.canvas.corner_text import Detail
from app.views.canvas.layer_graphics import build
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from app.workspace.layers import LayerRequest, key_of
from tests.conformance import kinds
from tests.gui.viewer_support import WaitUntil
from tests.unit.imaging.files import item
from tests.unit.imaging.layer_files import CT, frame_group, make_seg, make_slice

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]


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
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 1)
    assert window.docks["Layers"].isVisible()
    assert window.arrangement.rail.buttons["Layers"].count == 1
    window.resize(1000, 900)
    wait_until(lambda: window.arrangement.narrow)
    assert not window.docks["Layers"].isVisible(), "another panel may be in use"
    window.resize(1400, 900)
    wait_until(window.docks["Layers"].isVisible)
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
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 0)
    red, green, blue = pixel(window, float(points[0, 0]), float(points[0, 1]))
    assert red == green == blue


def test_a_presentation_state_is_applied_with_a_click_and_taken_away_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    window.canvas.set_detail(Detail.NONE)  # a text lies over the corner
    opened(window, kinds.presentation_state(tmp_path), wait_until)
    before = pixel(window, 2, 2)
    assert len(window.canvas.layer_drawing.graphics) == 0
    click(window, series(window, Content.PRESENTATION))
    wait_until(lambda: window.workspace.viewport.presentation is not None and not window.busy)
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 1)
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
    wait_until(lambda: not window.busy and len(window.canvas.layer_drawing.graphics) == 0)
    assert window.workspace.viewport.presentation is None
    assert pixel(window, 2, 2) == before


def test_a_segmentation_is_drawn_over_the_slice_that_it_names(
    window: MainWindow, shared_data: Path, wait_until: WaitUntil
):
    folder = shared_data / "dicom" / "objects"
    window.open_paths([folder / "ct-3slice", folder / "ct-3slice-liver-seg.dcm"])
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 1)
    click(window, series(window, Content.SEGMENTATION))
    wait_until(lambda: not window.busy)
    assert window.workspace.viewport.instance.content is Content.IMAGE
    assert len(window.canvas.layer_drawing.graphics) == 1


def open_objects(window: MainWindow, wait_until: WaitUntil, *paths: Path) -> None:
    window.open_paths(list(paths))
    wait_until(lambda: bool(window.workspace.studies.all) and not window.busy)


def test_a_reports_region_is_drawn_when_the_reader_goes_to_its_image(
    window: MainWindow, shared_data: Path, wait_until: WaitUntil
):
    folder = shared_data / "dicom" / "objects"
    open_objects(window, wait_until, folder / "ct_image.dcm", folder / "sr_document.dcm")
    click(window, series(window, Content.REPORT))
    page = window.documents.report
    wait_until(lambda: page.report is not None and not window.busy)
    assert window.workspace.layers.entries == () or not len(window.canvas.layer_drawing.graphics)
    (link,) = {link for node in nodes_of(page.report.root) for link in node.links}
    page.text.link_clicked.emit(link)
    wait_until(lambda: not window.busy and len(window.canvas.layer_drawing.graphics) == 1)
    (entry,) = window.workspace.layers.entries
    assert entry.layer.instance.content is Content.REPORT
    assert entry.items[0].label == "Planar ROI Measurements"
    (shape,) = entry.shapes()
    # The file says: a circle about (58, 52) through (58, 41), corners of pixels.
    region = next(
        item
        for group in pydicom.dcmread(folder / "sr_document.dcm").ContentSequence[-1].ContentSequence
        for item in group.ContentSequence
        if item.ValueType == "SCOORD"
    )
    center_x, center_y, edge_x, edge_y = map(float, region.GraphicData)
    assert isinstance(shape.geometry, Polygon | Polyline)
    points = np.array(shape.geometry.points) + 0.5
    radii = np.hypot(points[:, 0] - center_x, points[:, 1] - center_y)
    assert np.abs(radii - np.hypot(edge_x - center_x, edge_y - center_y)).max() < 0.02


def test_the_image_says_in_which_presentation_state_it_is_shown(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    opened(window, kinds.presentation_state(tmp_path), wait_until)
    assert not any("Presentation" in line for line in window.canvas.overlay.corners.state)
    click(window, series(window, Content.PRESENTATION))
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 1 and not window.busy)
    assert window.canvas.overlay.corners.state == ("Presentation: EXAMPLE",)
    window.canvas.set_window(Window(0, 100))
    wait_until(lambda: not window.busy)
    assert window.canvas.overlay.corners.state == ("Presentation: EXAMPLE (changed by hand)",)
    window.canvas.reset()
    wait_until(lambda: not window.busy)
    assert window.canvas.overlay.corners.state == ("Presentation: EXAMPLE",)
    assert window.canvas.shown_window.width == 350


def flipped_state(folder: Path, frames: list[int]) -> Path:
    """A cine of three frames and a state that flips those with the given numbers."""
    kinds.presentation_state(folder)
    image = pydicom.dcmread(folder / "ct.dcm")
    image.NumberOfFrames = 3
    image.PixelData = image.PixelData * 3
    image.save_as(folder / "ct.dcm")
    state = pydicom.dcmread(folder / "state.dcm")
    state.ImageHorizontalFlip, state.ImageRotation = "Y", 0
    state.ReferencedSeriesSequence[0].ReferencedImageSequence[0].ReferencedFrameNumber = frames
    area = state.DisplayedAreaSelectionSequence[0]
    area.DisplayedAreaTopLeftHandCorner = [33, 1]
    area.DisplayedAreaBottomRightHandCorner = [64, 32]
    del state.GraphicAnnotationSequence
    state.save_as(folder / "state.dcm")
    return folder


def test_frames_that_a_state_says_nothing_of_are_not_flipped_by_it(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    opened(window, flipped_state(tmp_path, [2, 3]), wait_until)
    canvas, viewport = window.canvas, window.workspace.viewport
    before = canvas.grab().toImage()
    click(window, series(window, Content.PRESENTATION))
    # It is not about the first frame: the first that it is about is shown.
    wait_until(lambda: viewport.frame_index == 1 and not window.busy)
    assert canvas.turn.flip_h
    assert canvas.overlay.corners.state[0] == "Presentation: EXAMPLE"
    assert canvas.overlay.sides.left == "L"
    middle = canvas.to_image(QPointF(canvas.viewport().rect().center()))
    assert abs(middle.x() - 47.5) < 1  # the displayed area: columns 33 to 64 from 1
    assert abs(middle.y() - 15.5) < 1
    viewport.scroll_to(0)
    wait_until(lambda: not window.busy)
    assert not canvas.turn.flip_h
    assert canvas.overlay.sides.left == "R"
    assert canvas.overlay.corners.state == ("Presentation EXAMPLE: does not apply to this frame",)
    window.workspace.viewport.present(None)
    wait_until(lambda: not window.busy)
    assert canvas.grab().toImage() == before


def heat_folder(folder: Path) -> Path:
    """A CT slice and a fractional segmentation of two segments, each of one value."""
    image = make_slice(folder / "ct.dcm", 0.0, (64, 64), PatientID="p", PixelSpacing=[1.0, 1.0])
    one = pydicom.dcmread(image)
    values = np.zeros((2, 64, 64), np.uint8)
    values[0, 10:20, 10:20] = 255
    values[1, 40:50, 40:50] = 64
    groups = [frame_group(n, (-30.0, 40.0, 0.0), [(one.SOPInstanceUID, None)]) for n in (1, 2)]
    measures = item(PixelSpacing=[1.0, 1.0], SliceThickness=3.0)
    shared = item(
        PlaneOrientationSequence=[item(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])],
        PixelMeasuresSequence=[measures],
    )
    make_seg(
        folder / "seg.dcm",
        values,
        groups,
        PatientID="p",
        StudyInstanceUID=one.StudyInstanceUID,
        SeriesInstanceUID=generate_uid(),
        SharedFunctionalGroupsSequence=[shared],
    )
    return folder


def test_heat_maps_have_their_segments_colour_by_value_and_follow_the_opacity(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    opened(window, heat_folder(tmp_path), wait_until)
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 2)
    grey = np.array(pixel(window, 30, 30), float)
    colors = [item.color for item in window.workspace.layers.entries[0].items]
    for percent in (35, 10, 100, 0):
        window.layers_panel.opacity.setValue(percent)
        dense = min(1.0, 2 * percent / 100)
        for color, at, value in zip(colors, (15, 45), (1.0, 64 / 255), strict=True):
            expected = grey + (np.array(color) - grey) * dense * value
            assert np.abs(np.array(pixel(window, at, at)) - expected).max() <= 3


def test_a_segmentations_menu_shows_one_segment_only_and_all_again(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    opened(window, heat_folder(tmp_path), wait_until)
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 2)
    tree = window.layers_panel.tree
    second = tree.topLevelItem(0).child(1)
    assert second is not None
    actions = {one.text(): one for one in window.layers_panel.menu_of(second).actions()}
    actions["Show only this"].trigger()
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 1)
    assert tree.topLevelItem(0).child(0).checkState(0) == Qt.CheckState.Unchecked
    first = tree.topLevelItem(0).child(0)
    assert first is not None
    tree.setCurrentItem(first)
    QTest.keyClick(tree, Qt.Key.Key_Space)
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 2)
    assert tree.currentItem() is tree.topLevelItem(0).child(0)


def test_what_is_not_drawn_is_said_in_the_panel(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    heat_folder(tmp_path)
    seg = pydicom.dcmread(tmp_path / "seg.dcm")
    seg.FrameOfReferenceUID = "1.2.3.4"
    seg.save_as(tmp_path / "seg.dcm")
    opened(window, tmp_path, wait_until)
    wait_until(lambda: "another frame of reference" in window.layers_panel.notes.text())
    assert window.layers_panel.notes.isVisible()
    assert len(window.canvas.layer_drawing.graphics) == 0


def test_an_object_opened_alone_says_what_it_needs_and_works_once_it_is_there(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    kinds.structure_set(tmp_path)
    open_objects(window, wait_until, tmp_path / "structures.dcm")
    wait_until(lambda: window.documents.currentWidget() is window.documents.note)
    assert "Open" in window.documents.note.text.text()
    open_objects(window, wait_until, tmp_path / "ct.dcm")
    wait_until(lambda: not window.busy)
    click(window, series(window, Content.STRUCTURES))
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 1)


def test_requests_for_frames_that_are_gone_are_cancelled(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    opened(window, heat_folder(tmp_path), wait_until)
    wait_until(lambda: len(window.canvas.layer_drawing.graphics) == 2)
    layers, loading = window.workspace.layers, window.layer_loading
    never: Future[LayerFrame] = Future()
    monkeypatch.setattr(loading._decoder, "layer_frame", lambda *_: never)
    image = window.workspace.viewport.instance
    assert image is not None
    seg = series(window, Content.SEGMENTATION).instances[0]
    layers.frame_wanted.emit(LayerRequest(key_of(seg), seg, image, 7))
    window.canvas.picture_changed.emit()
    assert never.cancelled()
    wait_until(lambda: not window.busy)


def test_an_outline_within_another_is_a_hole_and_one_within_that_an_island():
    def ring(start: float, end: float) -> Shape:
        corners = ((start, start), (end, start), (end, end), (start, end))
        return Shape(1, Polygon(corners), filled=True)

    drawing = build((ring(1.5, 31.5), ring(6.5, 26.5), ring(11.5, 16.5)))
    expected = np.zeros((40, 40), bool)
    expected[2:32, 2:32] = True
    expected[7:27, 7:27] = False
    expected[12:17, 12:17] = True
    inside = [[drawing.filled.contains(QPointF(x, y)) for x in range(40)] for y in range(40)]
    assert np.array_equal(inside, expected)


def test_each_page_of_a_document_is_fitted_whatever_its_size(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    pages = [Image.new("RGB", size, "white") for size in ((600, 300), (300, 900))]
    pages[0].save(tmp_path / "two.pdf", save_all=True, append_images=pages[1:], resolution=100)
    made = kinds.new_object("1.2.840.10008.5.1.4.1.1.104.1", "DOC", pydicom.Dataset())
    made.MIMETypeOfEncapsulatedDocument = "application/pdf"
    data = (tmp_path / "two.pdf").read_bytes()
    made.EncapsulatedDocument = data + b"\0" * (len(data) % 2)
    made.StudyInstanceUID = generate_uid()
    made.save_as(tmp_path / "two.dcm", enforce_file_format=True)
    opened(window, tmp_path / "two.dcm", wait_until)
    canvas = window.canvas
    canvas.zoom_by(3.0)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    wait_until(lambda: window.workspace.viewport.frame_index == 1 and not window.busy)
    columns, rows = canvas.image_size
    assert rows > columns
    top, bottom = canvas.to_widget(0, -0.5), canvas.to_widget(0, rows - 0.5)
    assert abs(top.y()) < 1.5
    assert abs(bottom.y() - canvas.viewport().height()) < 1.5


def test_a_segmentation_is_drawn_on_sections_too(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path
):
    """A bar along the slices, which only names their files: column 5, row 3 of slices 1 and 2."""
    uids = [generate_uid() for _ in range(4)]
    for k, uid in enumerate(uids):
        make_slice(tmp_path / f"{k}.dcm", 3.0 * k, SOPInstanceUID=uid, Modality="CT")
    bar = np.zeros((2, 10, 12), np.uint8)
    bar[:, 3, 5] = 255
    names = [item(ReferencedSOPClassUID=CT, ReferencedSOPInstanceUID=uid) for uid in uids]
    make_seg(
        tmp_path / "seg.dcm",
        bar,
        [frame_group(1, names=[(uids[k], None)]) for k in (1, 2)],
        SegmentationType="BINARY",
        FrameOfReferenceUID=None,
        SharedFunctionalGroupsSequence=None,
        Modality="SEG",
        SeriesInstanceUID="1.2.3.9",
        ReferencedSeriesSequence=[
            item(SeriesInstanceUID="1.2.3.4", ReferencedInstanceSequence=names)
        ],
    )
    opened(window, tmp_path, wait_until)
    wait_until(lambda: len(window.planes.possible) == 4)
    window.planes.choose(Plane.CORONAL)
    wait_until(lambda: window.planes.plane is Plane.CORONAL and not window.busy)
    found: dict[int, list[list[int]]] = {}
    for section in range(10):
        window.workspace.viewport.scroll_to(section)
        wait_until(
            lambda at=section: (
                window.canvas.picture is not None
                and window.canvas.picture.job.frame_index == at
                and all(one.frame is not None for one in window.workspace.layers.entries)
            )
        )
        for entry in window.workspace.layers.entries:
            for shape in entry.shapes():
                assert isinstance(shape.geometry, Mask)
                found[section] = np.argwhere(shape.geometry.pixels).tolist()
    # The head is at the top: slice 3 is row 0.
    assert found == {3: [[1, 5], [2, 5]]}
    click(window, series(window, Content.SEGMENTATION))
    wait_until(lambda: not window.busy)
    assert window.planes.plane is Plane.CORONAL
    wait_until(lambda: window.canvas.layer_drawing.ready)


def test_an_image_that_a_note_withdraws_says_so_and_is_no_key_image(
    window: MainWindow, tmp_path: Path, wait_until: WaitUntil
):
    kinds.key_objects(tmp_path)
    opened(window, tmp_path, wait_until)
    assert window.documents.key_images.links
    assert not window.canvas.overlay.corners.series_warning
    note = pydicom.dcmread(tmp_path / "key.dcm")
    title = note.ConceptNameCodeSequence[0]
    title.CodeValue, title.CodeMeaning = "113001", "Rejected for Quality Reasons"
    note.save_as(tmp_path / "key.dcm")
    window.close_study()
    opened(window, tmp_path, wait_until)
    warning = "WITHDRAWN, not to be used: Rejected for Quality Reasons"
    assert warning in window.canvas.overlay.corners.series_warning
    assert not window.documents.key_images.links
