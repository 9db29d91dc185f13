"""The main window: opening, notices, layout, menus, and what its title may not say."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QRect, Qt, QTimer, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QGuiApplication, QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton

from app.errors import FileProblem
from app.imaging.findings import Mask
from app.imaging.types import Instance, Problem, Voi, Window
from app.views import help_dialogs, startup_actions
from app.views.canvas.corner_text import Sides
from app.views.canvas.image_view import ImageView
from app.views.main_window import MainWindow
from app.views.theme import THEME, part_sheet
from app.workspace.viewport import Pane
from app.workspace.workspace import Workspace
from tests.gui.settling import settled
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    activate,
    finding,
    found,
    frame,
    instance,
    picture_panes,
    study,
)

CONTROL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier

pytestmark = pytest.mark.gui


@pytest.fixture
def decoder() -> FakeDecoder:
    return FakeDecoder()


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(
        Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "layout" / "window.ini"
    )
    (tmp_path / "layout").mkdir()
    made.resize(1280, 800)
    made.show()
    wait_until(lambda: not made.busy)
    yield made
    made.close()
    made.deleteLater()


def open_study(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, *images: Instance
) -> None:
    decoder.result = found(study(*(images or (instance(),))))
    window.open_paths([Path("/images")])
    wait_until(lambda: window.canvas.picture is not None and not window.busy)


def test_opening_shows_the_first_image(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    assert window.placeholder.isVisible()
    open_study(window, decoder, wait_until)
    assert decoder.scans == [(Path("/images"),)]
    assert not window.placeholder.isVisible()
    assert window.canvas.frame.ref.sop_instance_uid == "1.1"


def test_the_title_and_the_task_list_carry_no_patient_data(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until)
    assert window.windowTitle() == "Sightline"
    assert window.windowFilePath() == ""


def drop(window: MainWindow, data: QMimeData) -> None:
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(300, 300), Qt.DropAction.CopyAction, data, buttons, keys)
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        event = QDropEvent(QPointF(300, 300), Qt.DropAction.CopyAction, data, buttons, keys)
        QApplication.sendEvent(window, event)


def test_dropped_files_and_folders_are_opened(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    decoder.result = found(study(instance()))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path)), QUrl.fromLocalFile("/images/a b.dcm")])
    drop(window, data)
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    assert decoder.scans == [(tmp_path, Path("/images/a b.dcm"))]


def test_a_dropped_text_or_web_address_opens_nothing(window: MainWindow, decoder: FakeDecoder):
    data = QMimeData()
    data.setText("hello")
    data.setUrls([QUrl("https://example.org/x.dcm")])
    drop(window, data)
    assert decoder.scans == []


def test_a_bad_file_is_told_with_reason_and_remedy_and_the_window_goes_on(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    bad = Problem(Path("/x/<img src=a>.dcm"), "the file is <b>empty</b>", "Export it again")
    decoder.result = found(problems=[bad])
    window.open_paths([Path("/x")])
    wait_until(window.notices.all)
    (notice,) = window.notices.all()
    assert notice.title.text() == "<img src=a>.dcm"
    assert notice.text.text() == "the file is <b>empty</b>. Export it again"
    for label in notice.findChildren(QLabel):
        assert label.textFormat() in (Qt.TextFormat.PlainText, Qt.TextFormat.AutoText)
        assert label.textFormat() == Qt.TextFormat.PlainText or not label.text()
    open_study(window, decoder, wait_until)
    assert window.canvas.picture is not None


def test_notices_lie_over_the_canvas_and_clear_of_its_corner_text(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until)
    for number in range(5):
        window.notices.show_notice("error", f"file {number}", "a reason " * 12)
    wait_until(lambda: window.notices.height() > 60)
    assert len(window.notices.all()) == 3
    assert window.notices.geometry().bottom() < window.centralWidget().height() - 80
    for notice in window.notices.all():
        assert notice.height() >= notice.heightForWidth(notice.width()), "its text is cut off"
        notice.findChildren(QToolButton)[0].click()
    assert not window.notices.isVisible()


def test_a_folder_without_images_says_so(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    window.open_paths([Path("/empty")])
    wait_until(window.notices.all)
    assert window.notices.all()[0].title.text() == "No images in empty"


def test_an_image_that_cannot_be_decoded_is_explained_on_the_canvas(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.broken = FileProblem(
        "its pixel data is cut off after <b>12</b> rows", subject="/x/a.dcm", remedy="Export again"
    )
    decoder.result = found(study(instance()))
    window.open_paths([Path("/x")])
    wait_until(lambda: window.canvas.error and not window.busy)
    assert window.placeholder.isVisible()
    assert "cut off after <b>12</b> rows" in window.placeholder.error_text.text()
    assert window.placeholder.error_text.textFormat() == Qt.TextFormat.PlainText
    decoder.broken = None
    open_study(window, decoder, wait_until, instance("2.2"))
    assert not window.placeholder.isVisible()


def test_removing_a_finding_offers_undo(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until)
    area = np.zeros((80, 100), bool)
    area[20:40, 20:40] = True
    window.workspace.annotations.add([finding(window.canvas.frame.ref, Mask(area))])
    wait_until(lambda: not window.busy)
    window.findings_list.remove(["finder-Nodule"])
    assert window.canvas.annotation_items() == []
    (notice,) = window.notices.all()
    notice.findChildren(QPushButton)[0].click()
    wait_until(lambda: not window.busy)
    assert len(window.canvas.annotation_items()) == 1


def test_choosing_a_finding_of_another_image_goes_there(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until, instance("1.1"), instance("1.2"))
    window.workspace.annotations.add([finding(frame("1.2").ref, Mask(np.ones((80, 100), bool)))])
    assert window.canvas.annotation_items() == []
    window.findings_list.shown.emit("finder-Nodule")
    wait_until(lambda: len(window.canvas.annotation_items()) == 1)
    wait_until(lambda: not window.busy)
    assert window.canvas.frame.ref.sop_instance_uid == "1.2"


def test_the_preset_menu_offers_the_file_s_windows_and_sets_them(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.frames[("1.1", 0)] = frame(
        voi=Voi((Window(40, 400, explanation="SOFT"), Window(300, 1500, explanation="BONE & co")))
    )
    open_study(window, decoder, wait_until)
    menu = window.actions_.presets
    menu.aboutToShow.emit()
    texts = [action.text().split("\t")[0] for action in menu.actions()]
    assert texts[:2] == ["&1  SOFT", "&2  BONE && co"]
    assert any(text.endswith("  Lung") for text in texts)
    assert menu.actions()[0].isChecked()
    menu.actions()[1].trigger()
    wait_until(lambda: not window.busy)
    assert window.canvas.shown_window == Window(300, 1500, explanation="BONE & co")


def test_letters_typed_into_a_field_are_text_not_shortcuts(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until)
    window.docks["Attributes"].show()
    window.attributes.search.setFocus()
    QTest.keyClicks(window.attributes.search, "fir1")
    assert window.attributes.search.text() == "fir1"
    assert not window.workspace.viewport.display.invert
    wait_until(lambda: not window.busy)


def test_shortcuts_act_on_the_image(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until)
    activate(window, wait_until)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_I)
    wait_until(lambda: not window.busy)
    assert window.workspace.viewport.display.invert
    assert window.actions_.invert.isChecked()


def test_a_pane_shows_the_tool_s_picture_and_closes(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    open_study(window, decoder, wait_until)
    path = tmp_path / "overlay.png"
    picture = QImage(60, 40, QImage.Format.Format_RGB888)
    picture.fill(QColor(10, 200, 30))
    assert picture.save(str(path))
    window.workspace.panes.show(Pane(path, "Overlay <b>", "About it", "image_visualizer", {}))
    wait_until(lambda: not window.busy)
    (view,) = picture_panes(window)
    assert view.view.image_size == (60, 40)
    assert view.title.text() == "Overlay <b>"
    assert view.title.textFormat() == Qt.TextFormat.PlainText
    window.workspace.panes.show(Pane(tmp_path / "gone.png", "Gone", "", "image_visualizer", {}))
    wait_until(lambda: not window.busy)
    assert "cannot be read" in picture_panes(window)[1].note.text()
    for pane in window.workspace.panes.all:
        window.workspace.panes.close(pane)
    assert not window.viewports.panes.isVisible()


def test_a_pane_of_a_prior_shows_name_date_and_side(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    open_study(window, decoder, wait_until)
    path = tmp_path / "prior.png"
    assert QImage(400, 300, QImage.Format.Format_Grayscale8).save(str(path))
    prior = instance("2.1", StudyDate="20230211", PatientName="Roe^Richard")
    sides = {"sides": ["R", "L", "H", "F"]}
    window.workspace.panes.show(Pane(path, "Prior", "", "compare", sides, "1.1", prior))
    wait_until(lambda: not window.busy)
    (view,) = picture_panes(window)
    told = " ".join(view.view.overlay.corners.top_left)
    assert "Roe" in told
    assert "2023" in told
    assert view.view.overlay.sides == Sides("R", "L", "H", "F")
    assert view.view.overlay.isVisible()
    assert view.view.overlay.size() == view.view.viewport().size()


def drag_in(view: ImageView, button: Qt.MouseButton, dx: int, dy: int) -> None:
    start, none = QPoint(60, 60), Qt.KeyboardModifier.NoModifier
    QTest.mousePress(view.viewport(), button, none, start)
    for part in (2, 1):
        at = QPointF(start + QPoint(dx // part, dy // part))
        move = QMouseEvent(QEvent.Type.MouseMove, at, at, Qt.MouseButton.NoButton, button, none)
        QApplication.sendEvent(view.viewport(), move)
    QTest.mouseRelease(view.viewport(), button, none, start + QPoint(dx, dy))


def test_the_mouse_in_a_pane_does_what_it_does_on_the_canvas(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    open_study(window, decoder, wait_until)
    path = tmp_path / "prior.png"
    picture = QImage(400, 300, QImage.Format.Format_Grayscale8)
    picture.fill(100)
    assert picture.save(str(path))
    window.workspace.panes.show(Pane(path, "Prior", "", "compare"))
    wait_until(lambda: not window.busy)
    left, middle, right = (
        Qt.MouseButton.LeftButton,
        Qt.MouseButton.MiddleButton,
        Qt.MouseButton.RightButton,
    )

    def grey(view: ImageView) -> int:
        spot = view.viewport().mapTo(view, view.viewport().rect().center())
        return view.grab().toImage().pixelColor(spot).red()

    QTest.qWait(100)  # the layout settles
    pane = picture_panes(window)[0].view
    for view in (pane, window.canvas):
        view.setFocus()
        zoom, corner, before = view.zoom, view.to_widget(0, 0), grey(view)
        drag_in(view, left, 0, 80)
        wait_until(lambda: not window.busy)
        assert (view.zoom, view.to_widget(0, 0)) == (zoom, corner), "left pans"
        assert grey(view) < before, "left does not window"
        drag_in(view, middle, 20, 10)
        assert (view.to_widget(0, 0) - corner).toPoint() == QPoint(20, 10)
        QTest.keyPress(view, Qt.Key.Key_Space)
        drag_in(view, left, -20, -10)
        QTest.keyRelease(view, Qt.Key.Key_Space)
        assert (view.to_widget(0, 0) - corner).toPoint() == QPoint(0, 0)
        drag_in(view, right, 0, -50)
        assert view.zoom > zoom * 1.2
        if view is pane:  # a double click on one of several images maximises it
            QTest.mouseDClick(view.viewport(), left)
            assert view.zoom == pytest.approx(zoom)
    assert grey(pane) == 100


def test_tools_pictures_have_a_viewport_that_is_one_of_the_layout(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    open_study(window, decoder, wait_until)
    path = tmp_path / "overlay.png"
    assert QImage(60, 40, QImage.Format.Format_RGB888).save(str(path))
    pane = Pane(path, "Overlay", "", "image_visualizer", {}, "1.1")
    window.workspace.panes.show(pane)
    wait_until(lambda: not window.busy)
    image, pictures = window.viewports.frames
    assert pictures.isAncestorOf(window.viewports.panes)
    assert window.viewports.panes.isVisible()
    assert pictures.x() > image.geometry().right(), "there is more room beside it than below"
    assert window.viewports.active is image, "the assistant still works on the image"
    activate(window, wait_until)
    QTest.mouseClick(picture_panes(window)[0].view.viewport(), Qt.MouseButton.LeftButton)
    assert window.viewports.active is pictures
    images = window.workspace.open_images()
    assert images[0].instance.sop_instance_uid == "1.1", "the picture is no image to work on"
    QTest.keyClick(window, Qt.Key.Key_X)
    assert not image.isVisible()
    assert pictures.width() > 0.95 * window.viewports.width()
    QTest.keyClick(picture_panes(window)[0].view, Qt.Key.Key_Escape)
    assert image.isVisible()
    QTest.keyClick(window, Qt.Key.Key_N, CONTROL_ALT)  # to the other monitor
    window.workspace.layout.swap(pictures.viewport, window.workspace.viewport)
    assert window.viewports.panes.window() is window.second
    assert window.viewports.panes.isVisible()
    window.workspace.panes.close(pane)
    assert not window.viewports.panes.isVisible()
    assert window.second is not None, "it closes with its last viewport, not with a picture"
    assert len(window.viewports.frames) == 3


def test_pictures_close_with_their_viewport_and_an_image_takes_their_place(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    open_study(window, decoder, wait_until)
    path = tmp_path / "overlay.png"
    assert QImage(60, 40, QImage.Format.Format_RGB888).save(str(path))
    pane = Pane(path, "Overlay", "", "image_visualizer", {}, "1.1")
    window.workspace.panes.show(pane)
    window.workspace.layout.close(window.viewports.frames[1].viewport)
    assert window.workspace.panes.all == ()
    window.viewports.show_layout("1x2")
    empty = window.viewports.frames[1]
    window.workspace.panes.show(pane)
    assert empty.isAncestorOf(window.viewports.panes), "an empty viewport is taken first"
    empty.viewport.show(window.workspace.instance_of("1.1"))
    wait_until(lambda: not window.busy)
    assert not window.viewports.panes.isVisible()
    assert empty.canvas.isVisible()
    assert empty.canvas.picture is not None
    assert window.workspace.panes.all == ()


def test_the_buttons_of_an_empty_canvas_are_never_cut(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    made = MainWindow(
        Workspace(), decoder, open_demo=lambda: None, layout_file=tmp_path / "window.ini"
    )
    made.show()
    buttons = made.placeholder.findChildren(QPushButton)
    assert len(buttons) == 3
    for width in (1280, 820, 1280):
        made.docks["Attributes"].setVisible(width == 820)
        made.resize(width, 700)
        wait_until(
            lambda below=width == 820: (
                all(b.width() >= b.sizeHint().width() for b in buttons)
                and (len({b.y() for b in buttons}) > 1) == below
            )
        )
    made.close()
    made.deleteLater()


def test_the_layout_is_remembered(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    file = tmp_path / "window.ini"
    for visible in (True, False):
        made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=file)
        made.show()
        assert made.docks["Findings"].isVisible() is visible
        made.docks["Findings"].close()
        wait_until(lambda w=made: not w.busy)
        made.close()
        made.deleteLater()


def test_the_study_list_is_as_wide_as_before_once_the_attributes_are_gone(
    window: MainWindow, wait_until: WaitUntil
):
    studies, attributes = window.docks["Studies"], window.docks["Attributes"]
    QTest.qWait(50)  # the docks get their sizes after the window is shown
    drag_right_edge(window, "Studies", 310 - studies.width())
    wait_until(lambda: studies.width() == 310)
    attributes.show()
    wait_until(lambda: attributes.width() == 310)  # in the same place
    attributes.close()
    wait_until(lambda: studies.x() == 0)
    assert studies.width() == 310


def test_the_width_that_the_attributes_were_given_is_remembered(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    def shown() -> MainWindow:
        made = MainWindow(Workspace(), decoder, layout_file=tmp_path / "window.ini")
        made.resize(1280, 800)
        made.show()
        passed: list[bool] = []
        QTimer.singleShot(0, made, lambda: passed.append(True))  # after what the window put off
        wait_until(lambda: passed)
        return made

    first = shown()
    attributes = first.docks["Attributes"]
    attributes.show()
    wait_until(lambda: attributes.width() == 260)
    first.resizeDocks([attributes], [380], Qt.Orientation.Horizontal)
    wait_until(lambda: attributes.width() == 380)
    first.close()
    again = shown()
    assert again.docks["Attributes"].width() == 380
    again.close()
    for made in (first, again):
        made.deleteLater()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00garbage",
        b"[window]\ngeometry = !!!\nstate = ???\n",
        b"[window]\ngeometry = %s\n" % base64.b64encode(b"x" * 50),
        b"[window]\ngeometry = AAAA\nstate = AAAA\n",
    ],
)
def test_a_broken_layout_is_ignored(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, content: bytes, wait_until: WaitUntil
):
    file = tmp_path / "window.ini"
    file.write_bytes(content)
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=file)
    made.show()
    assert made.docks["Studies"].isVisible()
    wait_until(lambda: not made.busy)
    made.close()
    made.deleteLater()


def test_it_works_without_a_chat_and_at_a_small_size(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
):
    made = MainWindow(Workspace(), decoder, None, layout_file=tmp_path / "window.ini")
    made.resize(1024, 700)
    made.show()
    wait_until(lambda: not made.busy)
    assert "Assistant" not in made.docks
    assert made.width() == 1024
    assert made.canvas.width() > 300
    made.close()
    made.deleteLater()


def test_closing_the_study_empties_the_canvas(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    open_study(window, decoder, wait_until)
    window.actions_.close_study.trigger()
    wait_until(lambda: not window.busy)
    assert window.canvas.picture is None
    assert window.placeholder.isVisible()
    assert window.canvas.overlay.corners.top_left == ()


def test_a_screenshot_has_the_image_and_the_asked_density(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
):
    decoder.frames[("1.1", 0)] = frame(stored=np.full((80, 100), 3000, np.int16))
    open_study(window, decoder, wait_until)
    assert settled(lambda: window.busy)
    startup_actions.save_window(window, tmp_path / "shot.png", 2.0)
    shot = QImage(str(tmp_path / "shot.png"))
    assert (shot.width(), shot.height()) == (2 * window.width(), 2 * window.height())
    middle = window.canvas.mapTo(window, window.canvas.to_widget(20, 60).toPoint())
    assert QColor(shot.pixel(middle * 2)).red() == 255


def test_help_windows_open_and_close(window: MainWindow, wait_until: WaitUntil):
    key_of = window.actions_.shortcuts_.key_of
    for make in (help_dialogs.about, partial(help_dialogs.shortcuts, key_of=key_of)):
        dialog = make(window)
        dialog.open()
        texts = " ".join(label.text() for label in dialog.findChildren(QLabel))
        assert "Sightline" in dialog.windowTitle() or "Keyboard" in dialog.windowTitle()
        if make is help_dialogs.about:
            assert "Not for diagnosis" in texts
            assert "0.1.0" in texts
        dialog.accept()


def test_every_token_of_the_style_sheet_is_filled_in():
    text = part_sheet("sightline")
    assert "${" not in text
    assert THEME.accent in text


def test_widgets_name_no_colour_of_their_own():
    views = Path(__file__).resolve().parents[2] / "app" / "views"
    for file in [*views.glob("*.py"), *views.glob("canvas/*.py"), *views.glob("browser/*.py")]:
        if file.name != "theme.py":
            found_colors = re.findall(r"[\"']#[0-9a-fA-F]{6}[\"']", file.read_text())
            assert not found_colors, (file.name, found_colors)


@pytest.mark.parametrize("room", [QRect(0, 0, 1366, 728), QRect(64, 27, 911, 485)])
def test_the_first_window_fits_on_a_small_screen(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: QRect
):
    screen = SimpleNamespace(availableGeometry=lambda: room)
    monkeypatch.setattr(MainWindow, "screen", lambda self: screen)
    monkeypatch.setattr(QGuiApplication, "platformName", staticmethod(lambda: "xcb"))
    fresh = MainWindow(Workspace(), FakeDecoder(), layout_file=tmp_path / "none.ini")
    with_frame = fresh.geometry().adjusted(-2, -30, 2, 2)
    assert room.contains(with_frame), with_frame
    fresh.shut_down()


def drag_right_edge(window: MainWindow, dock: str, dx: int) -> None:
    handle, left, none = (
        window.windowHandle(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    edge = QPoint(window.docks[dock].geometry().right() + 2, 300)
    QTest.mousePress(handle, left, none, edge)
    for step in (dx // 3, dx):
        QTest.mouseMove(handle, edge + QPoint(step, 0), 20)
    QTest.mouseRelease(handle, left, none, edge + QPoint(dx, 0))


def dock_widths(window: MainWindow) -> dict[str, int]:
    QTest.qWait(50)
    return {name: window.docks[name].width() for name in ("Studies", "Assistant")}


def test_docks_that_a_narrow_window_has_narrowed_widen_again(window: MainWindow):
    window.chat.setMinimumWidth(300)  # as the real chat has
    window.resize(1400, 600)
    wide = dock_widths(window)
    for width in (820, 1000, 1400):
        window.resize(width, 600)
        QTest.qWait(50)
    assert dock_widths(window) == wide
    drag_right_edge(window, "Studies", -60)
    dragged = dock_widths(window)
    assert dragged["Studies"] == wide["Studies"] - 60
    for width in (820, 1400):
        window.resize(width, 600)
        QTest.qWait(50)
    assert dock_widths(window) == dragged


def test_docks_restored_from_a_narrow_window_widen_with_the_next(
    qapp: QApplication, window: MainWindow, tmp_path: Path
):
    window.resize(820, 600)
    dock_widths(window)
    window.close()
    again = MainWindow(
        Workspace(), FakeDecoder(), QLabel("chat"), layout_file=tmp_path / "layout" / "window.ini"
    )
    again.show()
    assert dock_widths(again)["Studies"] < 250
    again.resize(1400, 600)
    assert dock_widths(again)["Studies"] >= 236  # as much as a window of this width gives it
    again.close()


def test_after_opening_the_demo_space_pans_and_closes_no_panel(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.result = found(study(instance()))
    activate(window, wait_until)
    button = next(one for one in window.placeholder.findChildren(QPushButton) if one.isVisible())
    button.setFocus()
    assert QApplication.focusWidget() is button
    window.open_paths([Path("/images")])
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    assert QApplication.focusWidget() is window.canvas
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Space)
    assert all(window.docks[name].isVisible() for name in ("Studies", "Findings"))


def test_space_after_closing_a_panel_by_its_button_closes_no_other(
    window: MainWindow, wait_until: WaitUntil
):
    activate(window, wait_until)
    close = window.docks["Findings"].titleBarWidget().findChild(QToolButton)
    assert close is not None
    close.setFocus()
    QTest.keyClick(close, Qt.Key.Key_Space)
    assert not window.docks["Findings"].isVisible()
    assert QApplication.focusWidget() is window.canvas


def test_page_down_scrolls_the_series_that_was_clicked(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    one = study(*(instance(f"1.{number}") for number in range(1, 30)), uid="a")
    decoder.result = found(one, study(*(instance(f"2.{n}") for n in range(1, 30)), uid="b"))
    window.open_paths([Path("/images")])
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    view = window.study_list.view
    view.setFocus()
    series = window.study_list.model.index_of(decoder.result.studies[1].series[0].instances[0])
    place = view.visualRect(series).center()
    QTest.mouseClick(
        view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place
    )
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_PageDown)
    wait_until(lambda: not window.busy)
    assert window.canvas.frame.ref.sop_instance_uid == "2.11"
