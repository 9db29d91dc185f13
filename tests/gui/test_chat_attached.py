"""What a question is about besides its words, and pictures in answers, by mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QToolButton

from app.agent.events import RunFinished, ToolFinished, ToolStarted
from app.agent.sessions import Thread
from app.imaging.findings import Box
from app.views.chat.dock import ChatDock
from app.views.chat.thumbnails import PictureButton
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.gui.canvas_scene import move
from tests.gui.chat_support import FakeRunner
from tests.gui.viewer_support import WaitUntil, finding

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A picture with a bright square in the dark; no other test has its pixels, nor its marks."""
    pixels = np.random.default_rng().integers(0, 40, (200, 300), np.uint8)
    pixels[50:90, 100:160] = 220
    path = tmp_path / "film.png"
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def window(qapp: QApplication, film: Path, wait_until: WaitUntil) -> Iterator[MainWindow]:
    program = Program()
    built = build_window(program, ViewRequest(paths=[film]))
    built.resize(1300, 800)
    built.show()
    wait_until(lambda: built.canvas.frame is not None and not built.busy)
    yield built
    built.close()
    program.close()


def dock(window: MainWindow) -> ChatDock:
    assert isinstance(window.chat, ChatDock)
    return window.chat


def answered_by_hand(window: MainWindow) -> FakeRunner:
    """Put a runner into the window that says what the test writes."""
    agent = dock(window)._agent
    runner = FakeRunner(agent.receive)
    agent._runner = runner
    return runner


def drag_box(window: MainWindow) -> None:
    """Drag with the left button around the square."""
    view = window.canvas.viewport()
    corners = ((100, 50), (130, 70), (160, 90))
    start, middle, end = (window.canvas.to_widget(x, y).toPoint() for x, y in corners)
    QTest.mousePress(view, LEFT, pos=start)
    for at in (middle, end):
        move(view, at, LEFT)
    QTest.mouseRelease(view, LEFT, pos=end)


def test_a_box_drawn_for_a_question_is_named_in_it(window: MainWindow, wait_until: WaitUntil):
    runner, chat = answered_by_hand(window), dock(window)
    QTest.mouseClick(chat.composer.region, LEFT)
    wait_until(lambda: window.actions_.mark_box.isChecked())
    drag_box(window)
    wait_until(chat.attachments.isVisible)
    QTest.keyClicks(chat.composer.edit, "What is this?")
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    wait_until(lambda: runner.asked)
    asked = runner.asked[0][1].text
    head, _, region = asked.partition("\n\nRegion: ")
    assert head == "What is this?"
    assert region.endswith(" px of film.png")
    figures = [int(one) for one in region.replace(",", "").split() if one.isdigit()]
    assert np.abs(np.subtract(figures, [100, 160, 50, 90])).max() <= 1
    assert not chat.attachments.isVisible(), "the next question is about something else"
    (mark,) = (one.finding for one in window.workspace.annotations.all())
    assert mark.provenance.tool == "mark_box"
    runner.finish("A square.")
    wait_until(chat.is_idle)


def test_a_mark_that_is_deleted_is_attached_no_more(window: MainWindow, wait_until: WaitUntil):
    chat = dock(window)
    QTest.mouseClick(chat.composer.region, LEFT)
    wait_until(lambda: window.actions_.mark_box.isChecked())
    drag_box(window)
    wait_until(chat.attachments.isVisible)
    window.actions_.undo.trigger()
    wait_until(lambda: not chat.attachments.isVisible())


def test_a_finding_that_is_cited_by_its_item_is_shown_too(
    window: MainWindow, wait_until: WaitUntil
):
    runner, chat, frame = answered_by_hand(window), dock(window), window.canvas.frame
    assert frame is not None
    chat.submit("Was ist hell?")
    wait_until(lambda: runner.asked and chat.conversation.runs[-1].run_id)
    boxes = (Box(100, 50, 160, 90), Box(5, 5, 20, 20))
    found = [finding(frame.ref, box, f"Thing {n}", id=f"f{n}") for n, box in enumerate(boxes)]
    runner.say(ToolStarted, call_id="c1", tool="t", arguments={})
    runner.say(
        ToolFinished, call_id="c1", tool="t", status="ok", summary="s", findings=found, evidence=1
    )
    runner.say(RunFinished, answer="Es misst 12.1 mm [1.2, 1.3].", cited=[1])
    wait_until(lambda: chat.conversation.runs[-1].ended and chat.is_idle())
    crops = chat.conversation.runs[-1].answers[-1].findChildren(PictureButton)
    assert [crop.accessibleName() for crop in crops] == ["Show Thing 1 on the image"]


def test_of_many_cited_findings_all_can_be_shown(window: MainWindow, wait_until: WaitUntil):
    runner, chat, frame = answered_by_hand(window), dock(window), window.canvas.frame
    assert frame is not None
    chat.submit("What is bright?")
    wait_until(lambda: runner.asked and chat.conversation.runs[-1].run_id)
    boxes = [Box(20 * n, 20, 20 * n + 12, 40) for n in range(6)]
    found = [finding(frame.ref, box, f"Thing {n}", id=f"f{n}") for n, box in enumerate(boxes)]
    runner.say(ToolStarted, call_id="c1", tool="t", arguments={})
    runner.say(
        ToolFinished, call_id="c1", tool="t", status="ok", summary="s", findings=found, evidence=1
    )
    runner.say(RunFinished, answer="Six [1.1, 1.2, 1.3, 1.4, 1.5, 1.6].", cited=[1])
    wait_until(lambda: chat.conversation.runs[-1].ended and chat.is_idle())
    view = chat.conversation.runs[-1].answers[-1]
    assert len(view.findChildren(PictureButton)) == 4
    [more] = [one for one in view.findChildren(QPushButton) if one.text() == "Show all 6"]
    chat.conversation.reveal(more)
    wait_until(more.isVisible)
    QTest.mouseClick(more, LEFT)
    names = [crop.accessibleName() for crop in view.findChildren(PictureButton)]
    assert names == [f"Show Thing {n} on the image" for n in range(6)]
    wait_until(lambda: not [one for one in view.findChildren(QPushButton) if "all" in one.text()])
    wait_until(lambda: all(crop.image for crop in view.findChildren(PictureButton)))


@pytest.mark.parametrize("good", [True, False])
def test_a_file_is_opened_and_named_in_the_question(
    window: MainWindow,
    wait_until: WaitUntil,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    good: bool,
):
    runner, chat = answered_by_hand(window), dock(window)
    other = tmp_path / "prior.png"
    if good:
        Image.fromarray(np.full((50, 60), 90, np.uint8)).save(other)
    else:
        other.write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(other)], ""))
    QTest.mouseClick(chat.composer.file, LEFT)
    assert chat.attachments.opening
    QTest.keyClicks(chat.composer.edit, "Compare")
    assert not chat.composer.send.isEnabled(), "the file is not open yet"
    wait_until(lambda: chat.composer.send.isEnabled() and not window.busy)
    assert (other in window.workspace.opened_files()) is good
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    wait_until(lambda: runner.asked)
    text = runner.asked[0][1].text
    assert text == ("Compare\n\nAttached file: prior.png" if good else "Compare")
    runner.finish("Done.")
    wait_until(chat.is_idle)


def test_an_attached_file_can_be_left_out_again(
    window: MainWindow, wait_until: WaitUntil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chat, other = dock(window), tmp_path / "prior.png"
    Image.fromarray(np.full((50, 60), 90, np.uint8)).save(other)
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(other)], ""))
    QTest.mouseClick(chat.composer.file, LEFT)
    wait_until(lambda: not chat.attachments.opening and not window.busy)
    QTest.mouseClick(chat.attachments.findChildren(QToolButton)[0], LEFT)
    wait_until(lambda: not chat.attachments.isVisible())
    assert chat.attachments.words() == ""


def test_a_cited_finding_is_shown_below_the_answer_and_leads_to_the_image(
    window: MainWindow, wait_until: WaitUntil
):
    runner, chat = answered_by_hand(window), dock(window)
    frame = window.canvas.frame
    assert frame is not None
    chat.composer.set_text("What is bright?")
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    wait_until(lambda: runner.asked and chat.conversation.runs[-1].run_id)
    assert isinstance(runner.asked[0][1].thread, Thread)
    found = finding(frame.ref, Box(100, 50, 160, 90), "Bright square", id="f1")
    other = finding(frame.ref, Box(5, 5, 20, 20), "Something else", id="f2")
    runner.say(ToolStarted, call_id="c1", tool="t", arguments={})
    runner.say(
        ToolFinished, call_id="c1", tool="t", status="ok", summary="s",
        findings=[found, other], evidence=1,
    )  # fmt: skip
    answer = "The bright square [1]."
    runner.say(RunFinished, answer=answer, cited=[1])
    wait_until(lambda: chat.conversation.runs[-1].ended and chat.is_idle())
    view = chat.conversation.runs[-1].answers[-1]
    crops = view.findChildren(PictureButton)
    assert len(crops) == 1, "only what the answer names or cites"
    wait_until(lambda: crops[0].image is not None)
    image = crops[0].image
    assert image is not None
    middle = image.pixelColor(image.rect().center())
    assert middle.lightness() > 150, "the middle of the crop is the middle of the finding"
    window.workspace.annotations.select("")
    chat.conversation.reveal(crops[0])
    wait_until(crops[0].isVisible)
    QTest.mouseClick(crops[0], LEFT, pos=QPoint(8, 8))
    wait_until(lambda: window.workspace.annotations.selected == found.id)
