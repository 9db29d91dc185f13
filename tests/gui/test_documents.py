"""Reports, key objects and objects that cannot be shown, in the image's place of a real window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QGuiApplication, QMouseEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from app.errors import FileProblem
from app.imaging.report import ImageLink, Report, ReportNode
from app.imaging.types import Content, Instance, Series, Study
from app.views.documents.report_document import href, read_href, report_picture_offscreen
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, Heartbeat, WaitUntil, activate, found, instance

pytestmark = pytest.mark.gui
EVIL = "<img src='file:///etc/passwd'><b>bold</b>"


def node(kind: str, name: str = "", value: str = "", *children: ReportNode, **rest: object):
    return replace(ReportNode(kind, name, value, "CONTAINS", children), **rest)


def link(uid: str, *frames: int) -> ImageLink:
    return ImageLink(uid, frames)


def image_node(uid: str, *frames: int, value: str = "CT image") -> ReportNode:
    return node("IMAGE", "", value, links=(link(uid, *frames),))


REPORT = Report(
    "CT Abdomen Report",
    (("Completion", "Complete"), ("Observer", "Foo^Bar")),
    node(
        "CONTAINER",
        "CT Abdomen Report",
        "",
        node("PNAME", "Observer", "Foo^Bar", relationship="HAS OBS CONTEXT"),
        node(
            "CONTAINER",
            "Findings",
            "",
            node("TEXT", "Impression", EVIL),
            node("NUM", "Longest diameter", "12.4 mm", image_node("1.2", 3)),
            node("SCOORD", "Region", "circle", links=(link("9.9"),)),
        ),
        node("CONTAINER", "Image Library", "", *(image_node(f"7.{n}") for n in range(40))),
    ),
    ("one item could not be read",),
)
KEYS = Report(
    "For Teaching",
    (),
    node(
        "CONTAINER",
        "For Teaching",
        "",
        node("TEXT", "Key Object Description", "see slice 2"),
        image_node("1.1"),
        image_node("1.2", 3),
        image_node("9.9"),
    ),
)


def an_object(uid: str, content: Content, *references: str, note: str = "") -> Instance:
    made = replace(instance(uid, size=(0, 0)), content=content, references=references, note=note)
    return replace(made, attributes={**made.attributes, "SeriesDescription": f"the {content}"})


@pytest.fixture
def decoder() -> FakeDecoder:
    made = FakeDecoder()
    made.reports = {"5.1": REPORT, "6.1": KEYS}
    return made


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(Workspace(), decoder, None, layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    images = (replace(instance("1.1"), number=1), replace(instance("1.2", frames=5), number=2))
    objects = {
        "SR": (an_object("5.1", Content.REPORT), an_object("5.2", Content.REPORT)),
        "KO": (an_object("6.1", Content.KEY_OBJECTS, "1.1", "1.2", "9.9"),),
        "RAW": (an_object("8.1", Content.OTHER, note="Raw data: not displayable"),),
        "RT": (an_object("8.2", Content.STRUCTURES, "gone"),),
    }
    series = [Series("CT", "Axial", "CT", 1, images)]
    series += [Series(name, name, name, 2, held) for name, held in objects.items()]
    study = Study("s", "CT", "Doe^Jane", "1", "", tuple(series), "s")
    made.workspace.add(found(study))
    wait_until(lambda: not made.busy)
    yield made
    made.close()
    made.deleteLater()


def choose(window: MainWindow, name: str, wait_until: WaitUntil) -> None:
    """Click a card of the study list."""
    panel = window.study_list
    rect = panel.view.visualRect(panel.model.place_of(f"s\0{name}"))
    panel.view.scrollTo(panel.model.place_of(f"s\0{name}"))
    rect = panel.view.visualRect(panel.model.place_of(f"s\0{name}"))
    QTest.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    wait_until(lambda: not window.busy)


def anchors(window: MainWindow) -> dict[str, str]:
    """Text of every link in the report -> its address."""
    document = window.documents.report.text.document()
    links: dict[str, str] = {}
    block = document.begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            if fragment.charFormat().isAnchor():
                links[fragment.text()] = fragment.charFormat().anchorHref()
            iterator += 1
        block = block.next()
    return links


def click_link(window: MainWindow, text: str) -> None:
    """Click in the middle of a text of the report."""
    view = window.documents.report.text
    cursor = view.document().find(text)
    cursor.setPosition((cursor.selectionStart() + cursor.selectionEnd()) // 2)
    view.setTextCursor(cursor)
    view.ensureCursorVisible()
    place = view.cursorRect(cursor).center() + QPoint(1, 0)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_files_dropped_on_the_search_field_of_a_report_are_opened(
    window: MainWindow, wait_until: WaitUntil
):
    choose(window, "SR", wait_until)
    search = window.documents.report.search
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/images/a.dcm")])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(search, event)
    assert event.isAccepted()
    assert not search.acceptDrops()  # where a line edit inserts the file's address
    assert search.text() == ""


def test_a_report_is_read_in_the_place_of_the_image(window: MainWindow, wait_until: WaitUntil):
    assert window.documents.currentWidget() is window.canvas
    choose(window, "SR", wait_until)
    page = window.documents.report
    assert window.documents.currentWidget() is page
    text = page.text.toPlainText()
    for part in ("CT Abdomen Report", "Complete", "Findings", "Longest diameter: 12.4 mm"):
        assert part in text
    assert "one item could not be read" in text
    assert text.count("Foo^Bar") == 1, "the observer of the facts is not said again"
    choose(window, "CT", wait_until)
    assert window.documents.currentWidget() is window.canvas
    assert window.canvas.frame is not None


def test_what_a_file_says_is_text_never_markup(window: MainWindow, wait_until: WaitUntil):
    choose(window, "SR", wait_until)
    view = window.documents.report.text
    assert EVIL in view.toPlainText()
    assert view.loadResource(2, QUrl("file:///etc/passwd")) is None
    for label in window.documents.report.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or not label.text()


def test_a_link_shows_the_image_and_frame_and_what_is_not_open_is_no_link(
    window: MainWindow, wait_until: WaitUntil
):
    choose(window, "SR", wait_until)
    assert anchors(window) == {"Axial, image 2, frame 4": "image:1.2/3"}
    assert "an image that is not open" in window.documents.report.text.toPlainText()
    click_link(window, "Axial, image 2, frame 4")
    wait_until(lambda: not window.busy)
    viewport = window.workspace.viewport
    assert (viewport.instance.sop_instance_uid, viewport.frame_index) == ("1.2", 3)  # type: ignore[union-attr]
    assert window.documents.currentWidget() is window.canvas


def test_a_link_comes_alive_when_its_image_is_opened(window: MainWindow, wait_until: WaitUntil):
    choose(window, "SR", wait_until)
    later = Study("t", "CT", "", "1", "", (Series("L", "Late", "CT", 1, (instance("9.9"),)),), "t")
    window.workspace.add(found(later), show=False)
    wait_until(lambda: not window.busy)
    assert anchors(window).get("Late") == "image:9.9/-1"


def test_a_library_of_images_is_one_paragraph(window: MainWindow, wait_until: WaitUntil):
    choose(window, "SR", wait_until)
    lines = window.documents.report.text.toPlainText().splitlines()
    assert "CT image (40): not open" in [line.strip() for line in lines]
    assert len(lines) < 25


def test_search_finds_steps_and_says_when_there_is_nothing(
    window: MainWindow, wait_until: WaitUntil
):
    choose(window, "SR", wait_until)
    page = window.documents.report
    activate(window, wait_until)
    page.text.setFocus()
    QTest.keyClick(page.text, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    wait_until(page.search.hasFocus)
    QTest.keyClicks(page.search, "image")
    first = page.text.textCursor().position()
    count = page.text.toPlainText().casefold().count("image")
    assert page.found.text() == f"1 of {count}"
    QTest.keyClick(page.search, Qt.Key.Key_Return)
    assert page.found.text() == f"2 of {count}"
    assert page.text.textCursor().position() > first
    QTest.keyClicks(page.search, "xyz")
    assert page.found.text() == "Not found"
    QTest.keyClick(page.search, Qt.Key.Key_Escape)
    assert page.found.text() == ""


def test_what_is_copied_is_plain_text(window: MainWindow, wait_until: WaitUntil):
    choose(window, "SR", wait_until)
    view = window.documents.report.text
    view.moveCursor(QTextCursor.MoveOperation.Start)
    view.selectAll()
    assert view.createMimeDataFromSelection().formats() == ["text/plain"]
    view.copy_all()
    assert EVIL in QGuiApplication.clipboard().text()


def test_the_reports_of_a_series_are_read_one_after_the_other(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    decoder.reports["5.2"] = replace(REPORT, title="The second one")
    choose(window, "SR", wait_until)
    page = window.documents.report
    assert page.place.text() == "1 of 2"
    page.next.click()
    wait_until(lambda: not window.busy)
    assert page.text.toPlainText().startswith("The second one")
    assert page.place.text() == "2 of 2"


def test_a_report_that_cannot_be_read_says_why(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    choose(window, "SR", wait_until)

    def broken(_instance: Instance):
        from concurrent.futures import Future

        future: Future[Report] = Future()
        future.set_exception(FileProblem("it has <b>no</b> content", remedy="Export it again"))
        return future

    monkeypatch.setattr(decoder, "report", broken)
    choose(window, "KO", wait_until)
    message = window.documents.report.message
    assert message.isVisible()
    assert "it has <b>no</b> content. Export it again" in message.text()
    assert not window.documents.report.text.isVisible()


def test_key_images_are_shown_small_and_gone_through(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    choose(window, "KO", wait_until)
    page = window.documents.report
    text = page.text.toPlainText()
    assert "3 key images" in text
    assert "see slice 2" in text
    assert text.count("\N{OBJECT REPLACEMENT CHARACTER}") == 3, (
        "a picture each, also of what is not open"
    )
    assert {"1.1", "1.2"} <= set(decoder.thumbnails)
    assert window.actions_.next_key.isEnabled()
    window.actions_.next_key.trigger()
    wait_until(lambda: not window.busy)
    viewport = window.workspace.viewport

    def shown() -> tuple[str, int]:
        assert viewport.instance is not None
        return viewport.instance.sop_instance_uid, viewport.frame_index

    assert shown() == ("1.1", 0)
    window.actions_.next_key.trigger()
    assert shown() == ("1.2", 3)
    window.actions_.next_key.trigger()
    assert shown() == ("1.1", 0), "what is not open is passed over"
    window.actions_.previous_key.trigger()
    assert shown() == ("1.2", 3)
    wait_until(lambda: not window.busy)


def test_what_cannot_be_shown_is_named_and_its_attributes_are_at_hand(
    window: MainWindow, wait_until: WaitUntil
):
    choose(window, "RAW", wait_until)
    note = window.documents.note
    assert window.documents.currentWidget() is note
    assert note.title.text() == "the other"
    assert note.text.text() == "Raw data: not displayable."
    window.docks["Attributes"].show()
    wait_until(lambda: not window.busy)
    shown = window.workspace.viewport.instance
    assert shown is not None
    assert shown.sop_instance_uid == "8.1"
    choose(window, "RT", wait_until)
    assert "are not open" in note.text.text()


@pytest.mark.parametrize("name", ["SR", "RAW"])
def test_a_page_has_the_same_bar_as_an_image(window: MainWindow, wait_until: WaitUntil, name: str):
    def point(y: int) -> None:
        assert page is not None
        top = page.mapToGlobal(QPoint(page.width() // 2, y))
        under = QApplication.widgetAt(top) or page
        at = QPointF(under.mapFromGlobal(top))
        buttons, none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
        move = QMouseEvent(QEvent.Type.MouseMove, at, QPointF(top), buttons, buttons, none)
        QApplication.sendEvent(under, move)

    choose(window, name, wait_until)
    frame = window.viewports.active
    page = window.documents.currentWidget()
    assert page is not window.canvas
    point(20)
    assert not frame.bar.isVisible(), "it is the only one"
    window.viewports.show_layout("1x2")
    wait_until(lambda: not window.busy)
    frame = next(one for one in window.viewports.frames if one.documents.currentWidget() is page)
    point(page.height() - 20)
    assert not frame.bar.isVisible()
    point(20)
    assert frame.bar.isVisible()
    QTest.mouseClick(frame.bar.maximise, Qt.MouseButton.LeftButton)
    assert window.workspace.layout.maximised
    point(20)
    QTest.mouseClick(frame.bar.maximise, Qt.MouseButton.LeftButton)
    assert not window.workspace.layout.maximised
    point(20)
    QTest.mouseClick(frame.bar.close_button, Qt.MouseButton.LeftButton)
    assert len(window.viewports.frames) == 1


def test_addresses_of_links_are_read_back_and_others_refused():
    for one in (link("1.2.3", 4), link("1.2.3")):
        assert read_href(href(one)) == one
    for text in ("http://x/1", "image:", "image:1.2/x", "file:///etc/passwd", "image:/3"):
        assert read_href(text) is None


def test_a_report_as_a_picture_has_its_text_and_its_key_images(qapp: QApplication):
    study = Study("s", "", "", "", "", (Series("A", "A", "CT", 1, (instance("1.1"),)),), "s")
    asked: list[str] = []

    def thumbnail(image: Instance, size: int) -> np.ndarray:
        asked.append(image.sop_instance_uid)
        return np.full((size, size), 255, np.uint8)

    picture = report_picture_offscreen(KEYS, found(study), thumbnail, pictures=True)
    plain = report_picture_offscreen(KEYS, found(study), thumbnail, pictures=False)
    assert asked == ["1.1"]
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    white = (picture == 255).all(axis=2).sum()
    assert white > 200 * 200, "the open key image"
    assert (plain == 255).all(axis=2).sum() < white / 10
    assert np.ptp(plain[:120].astype(int)) > 100, "the title is drawn"


def test_an_old_report_that_comes_late_is_not_shown(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    choose(window, "SR", wait_until)
    page = window.documents.report
    stale = window.workspace.studies.all[0].series[1].instances[1]
    page._take(stale, replace(REPORT, title="Stale"))
    assert not page.text.toPlainText().startswith("Stale")


@pytest.mark.parametrize(
    ("content", "name", "plays"),
    [
        (Content.IMAGE, "Frame 2 / 3", True),
        (Content.DOCUMENT, "Page 2 / 3", False),
        (Content.WAVEFORM, "Plot 2 / 3", False),
    ],
)
def test_pages_and_plots_are_called_so_and_are_no_cine(
    window: MainWindow, wait_until: WaitUntil, content: Content, name: str, plays: bool
):
    made = replace(instance("4.4", frames=3), content=content)
    window.workspace.viewport.show(made, 1)
    wait_until(lambda: not window.busy)
    corners = window.canvas.overlay.corners
    assert name in corners.top_right
    assert window.actions_.play.isEnabled() is plays
    spacing = [line for line in corners.scale if "spacing" in line]
    assert bool(spacing) is (content is Content.IMAGE)


def test_a_report_of_thousands_of_items_does_not_stall_the_window(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil, gui_heartbeat: Heartbeat
):
    items = tuple(
        node("CONTAINER", f"Group {n}", "", *(node("NUM", f"Size {i}", "12 mm") for i in range(20)))
        for n in range(400)
    )
    decoder.reports["5.1"] = Report("Large", (), node("CONTAINER", "Large", "", *items))
    gui_heartbeat.restart()
    choose(window, "SR", wait_until)
    gui_heartbeat.stop()
    assert "Group 399" in window.documents.report.text.toPlainText()
    assert gui_heartbeat.longest_ms < 100
