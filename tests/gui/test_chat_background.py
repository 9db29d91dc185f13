"""A question about one study is answered while the user reads another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from app.agent.events import ApprovalRequested, RunFailed, TextDelta, ToolFinished, ToolStarted
from app.views.main_window import MainWindow
from tests.gui.chat_support import Chat, ask, finding, make_chat
from tests.gui.viewer_support import FakeDecoder, found, instance, study

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
FIRST, SECOND = instance("2.25.7"), instance("2.25.8")


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    made = make_chat(tmp_path / "sessions")
    file = tmp_path / "layout" / "window.ini"
    window = MainWindow(made.workspace, FakeDecoder(), made.dock, layout_file=file)
    window.resize(1400, 900)
    window.show()
    studies = study(FIRST, uid="a", title="CT head"), study(SECOND, uid="b", title="CT chest")
    made.workspace.add(found(*studies))
    made.workspace.viewport.show(FIRST)
    yield made
    window.close()
    window.deleteLater()


def window_of(chat: Chat) -> MainWindow:
    window = chat.dock.window()
    assert isinstance(window, MainWindow)
    return window


def notices(chat: Chat) -> list[str]:
    return [f"{one.title.text()}: {one.text.text()}" for one in window_of(chat).notices.all()]


def press_show(chat: Chat) -> None:
    (notice,) = window_of(chat).notices.all()
    (show,) = [one for one in notice.findChildren(QPushButton) if one.text() == "Show"]
    QTest.mouseClick(show, LEFT)


def test_it_reports_back_where_it_was_asked(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.workspace.viewport.show(SECOND)
    assert chat.runner.cancelled == []
    chat.runner.say(ToolStarted, call_id="c1", tool="chest_xray_segmentation", arguments={})
    outlined = replace(finding("Left Lung"), image=replace(finding("x").image))
    fields = {"tool": "chest_xray_segmentation", "status": "ok", "summary": "", "evidence": 1}
    chat.runner.say(ToolFinished, call_id="c1", findings=[outlined], **fields)
    chat.runner.say(TextDelta, text="Both lungs [1].")
    chat.runner.finish("Both lungs [1].")
    wait_until(lambda: chat.run.ended and notices(chat))
    assert notices(chat) == [
        "The assistant has finished: The question was about the study “CT head”."
    ]
    (item,) = chat.workspace.annotations.all()
    assert item.finding.image.sop_instance_uid == FIRST.sop_instance_uid
    assert chat.workspace.acquired is SECOND, "what the user reads stays where it is"
    window_of(chat).docks["Assistant"].hide()
    wait_until(lambda: window_of(chat).notices.all()[0].width() > 50)
    press_show(chat)
    assert chat.workspace.acquired is FIRST
    wait_until(lambda: chat.run.isVisible())
    assert notices(chat) == []


def test_show_leads_to_the_run_that_was_told_of_not_to_a_later_one(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    first, thread = chat.run, chat.dock.thread
    assert thread is not None
    chat.workspace.viewport.show(SECOND)
    chat.dock.submit("And here?")
    chat.runner.say(TextDelta, text="Both lungs.\n" * 60)
    chat.runner.finish("Both lungs.\n" * 60)
    wait_until(lambda: len(chat.runner.asked) == 2)
    chat.runner.finish("Nothing.\n" * 60)
    wait_until(lambda: not chat.agent.busy and notices(chat))
    assert chat.run is not first
    press_show(chat)
    wait_until(lambda: not first.answers[0].visibleRegion().isEmpty())
    # and from another conversation
    chat.workspace.viewport.show(SECOND)
    ask(chat, wait_until, "Once more?")
    chat.workspace.viewport.show(FIRST)
    chat.runner.finish("Nothing.")
    wait_until(lambda: notices(chat))
    chat.dock.new_thread()
    press_show(chat)
    wait_until(lambda: chat.dock.thread and chat.dock.thread.thread_id == thread.thread_id)


def test_a_failure_is_told_as_one_and_a_stop_by_the_user_is_not(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.workspace.viewport.show(SECOND)
    chat.agent.stop()
    wait_until(lambda: not chat.agent.busy)
    assert notices(chat) == []
    chat.workspace.viewport.show(FIRST)
    ask(chat, wait_until)
    chat.workspace.viewport.show(SECOND)
    chat.runner.say(RunFailed, error="The disk is full.", remedy="")
    wait_until(lambda: notices(chat))
    assert notices(chat)[0].startswith("The assistant could not finish: ")


def test_a_question_of_it_is_told_and_led_to(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.workspace.viewport.show(SECOND)
    fields = {"title": "Allow keep?", "detail": "", "tool": "keep", "effect": "write"}
    chat.runner.say(ApprovalRequested, approval_id="a1", **fields)
    wait_until(lambda: notices(chat))
    assert notices(chat)[0].startswith("The assistant asks something: ")
    wait_until(lambda: window_of(chat).notices.all()[0].width() > 50)
    press_show(chat)
    assert chat.workspace.acquired is FIRST
    wait_until(lambda: not chat.run.approvals["a1"].visibleRegion().isEmpty())


def test_a_question_about_the_second_study_waits_and_says_why(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.workspace.viewport.show(SECOND)
    chat.dock.submit("And here?")
    wait_until(lambda: chat.dock.pending.isVisible())
    assert chat.dock.pending.why.isVisible()
    assert "Queued until the question about the other study" in chat.dock.pending.why.text()
    chat.workspace.viewport.show(FIRST)
    assert chat.dock.pending.why.isHidden()
    chat.workspace.viewport.show(SECOND)
    chat.runner.finish("Done.")
    wait_until(lambda: len(chat.runner.asked) == 2)
    assert chat.runner.asked[1][1].image == SECOND.path.name, "it is about what was shown"
    chat.runner.finish("Done.")
    wait_until(lambda: not chat.agent.busy)
    assert len(notices(chat)) == 1, "the second one is where the user is"


def test_nothing_is_told_of_the_study_that_is_shown(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.finish("Done.")
    wait_until(lambda: chat.run.ended)
    assert notices(chat) == []
