"""What a run says of itself while it goes on, and how it ended: nothing twice, nothing hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget

from app.agent.events import (
    ModelRetry,
    Noted,
    ReasoningDelta,
    RunCancelled,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    Usage,
)
from app.agent.llm.endpoint import WAITING_NOTE
from app.views.chat.run_view import NoteLine
from tests.gui.chat_support import Chat, ask, opened
from tests.gui.heartbeat import Heartbeat, stall_ms

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
Key = Qt.Key


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def order(chat: Chat) -> list[str]:
    """The kinds of what is shown in the last run, from top to bottom."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    parts = chat.run.findChildren(QWidget, options=direct)
    shown = [item for item in parts if item.isVisible()]
    return [type(item).__name__ for item in sorted(shown, key=lambda item: item.y())]


def link(root: QWidget, text: str) -> QPushButton:
    """The button of that text."""
    return next(item for item in root.findChildren(QPushButton) if item.text() == text)


# -- thinking


def test_thinking_is_folded_above_the_answer_and_no_part_of_it(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    for piece in ("First the <b>lungs</b>, ", "then the heart.\n", "The ratio is 0.47."):
        chat.runner.say(ReasoningDelta, text=piece)
    chat.runner.say(TextDelta, text="All is normal.")
    wait_until(lambda: chat.run.answers)
    thought = chat.run.thoughts[0]
    assert not thought.opened
    wait_until(lambda: order(chat) == ["UserBubble", "ReasoningView", "AnswerView"])
    QTest.mouseClick(thought.button, LEFT)
    assert thought.opened
    assert thought.view is not None
    whole = "First the <b>lungs</b>, then the heart.\nThe ratio is 0.47."
    assert thought.view.plain() == whole
    chat.runner.finish("All is normal.")
    wait_until(lambda: chat.run.ended)
    QTest.mouseClick(link(chat.run.answers[0], "Copy"), LEFT)
    assert QGuiApplication.clipboard().text() == "All is normal."
    thought.button.setFocus()
    QTest.keyClick(thought.button, Key.Key_Space)
    assert not thought.opened


def test_open_thinking_grows_while_it_streams(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ReasoningDelta, text="one ")
    wait_until(lambda: chat.run.thoughts)
    QTest.mouseClick(chat.run.thoughts[0].button, LEFT)
    chat.runner.say(ReasoningDelta, text="two")
    view = chat.run.thoughts[0].view
    assert view is not None
    wait_until(lambda: view.plain() == "one two")
    wait_until(lambda: chat.run.thoughts[0]._time.text() == "1 s")


def test_each_turn_has_its_own_thinking(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ReasoningDelta, text="I call a tool.")
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    chat.runner.say(ToolFinished, call_id="c", tool="t", status="ok", summary="s")
    chat.runner.say(ReasoningDelta, text="Now I answer.")
    chat.runner.finish("Done.")
    wait_until(lambda: chat.run.ended)
    assert [item.text for item in chat.run.thoughts] == ["I call a tool.", "Now I answer."]
    wanted = ["UserBubble", "ReasoningView", "ToolCard", "ReasoningView", "AnswerView"]
    wait_until(lambda: order(chat) == wanted)


def test_a_book_of_thinking_opens_without_a_stall(
    chat: Chat, wait_until: Wait, heartbeat: Heartbeat
):
    text = "I weigh whether the density is a nodule or a vessel seen end-on. " * 3000
    ask(chat, wait_until)
    chat.runner.say(ReasoningDelta, text=text)
    wait_until(lambda: chat.run.thoughts)
    chat.run.thoughts[0].toggle()
    view = chat.run.thoughts[0].view
    assert view is not None
    wait_until(lambda: view.complete)
    assert heartbeat.computed_ms < stall_ms()
    assert view.plain().replace("\n", "") == text


# -- notices


def test_a_notice_is_written_anew_in_place_and_gone_when_the_model_answers(
    chat: Chat, wait_until: Wait
):
    ask(chat, wait_until)
    for text in (
        WAITING_NOTE,
        "The model is still being loaded (10 s): reading 40%.",
        WAITING_NOTE,
    ):
        chat.runner.say(Noted, text=text, passing=True)
        wait_until(lambda text=text: chat.run.activity.text == text)  # beside a bar that moves
        assert order(chat) == ["UserBubble", "ActivityBar"]
    chat.runner.say(TextDelta, text="Hello.")
    wait_until(lambda: order(chat) == ["UserBubble", "AnswerView"])
    chat.runner.finish("Hello.")
    wait_until(lambda: chat.run.ended)
    assert [view.text for view in chat.run.answers] == ["Hello."]


def test_a_notice_that_holds_stays_and_the_run_is_seen_to_go_on(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(Noted, text="Older <i>results</i> were shortened.")
    wait_until(lambda: order(chat) == ["UserBubble", "NoteLine", "ActivityBar"])
    assert chat.run.activity.text == "Thinking…"
    chat.runner.say(Noted, text=WAITING_NOTE, passing=True)
    chat.runner.finish("Hello.")
    wait_until(lambda: chat.run.ended)
    wait_until(lambda: order(chat) == ["UserBubble", "NoteLine", "AnswerView"])


def test_what_a_notice_says_does_not_decide_whether_it_stays(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    kept = "No file while waiting, loading, starting…"
    chat.runner.say(Noted, text="Reading.", passing=True)
    chat.runner.say(Noted, text=kept)
    wait_until(lambda: order(chat) == ["UserBubble", "NoteLine", "ActivityBar"])
    assert chat.run.activity.text == "Thinking…"
    chat.runner.say(Noted, text="Reading once more.", passing=True)
    chat.runner.finish("Hello.")
    wait_until(lambda: chat.run.ended)
    wait_until(lambda: order(chat) == ["UserBubble", "NoteLine", "AnswerView"])
    (line,) = chat.run.findChildren(NoteLine)
    assert line.text == kept


# -- an endpoint that is asked again


def test_a_retry_counts_down_and_takes_the_half_answer_back(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ReasoningDelta, text="half a thought")
    chat.runner.say(TextDelta, text="half an ans")
    wait_until(lambda: chat.run.answers)
    busy = {"attempts": 4, "wait_s": 2.0, "reason": "the endpoint is busy", "withdrawn": True}
    chat.runner.say(ModelRetry, attempt=2, **busy)
    line = chat.run.activity
    wait_until(lambda: "asking again" in line.text)
    assert chat.run.answers == []
    assert chat.run.thoughts == []
    assert line.text == "The endpoint is busy: asking again in 2\u00a0s (2\u00a0of\u00a04)"
    wait_until(lambda: "in 1\u00a0s" in line.text)
    wait_until(lambda: "asking again now" in line.text)
    chat.runner.say(ModelRetry, attempt=3, **busy)
    wait_until(lambda: "(3\u00a0of\u00a04)" in line.text)
    assert order(chat) == ["UserBubble", "ActivityBar"]
    chat.runner.say(TextDelta, text="The whole answer.")
    chat.runner.finish("The whole answer.")
    wait_until(lambda: chat.run.ended)
    assert [view.view.plain() for view in chat.run.answers] == ["The whole answer."]
    wait_until(lambda: order(chat) == ["UserBubble", "AnswerView"])


def test_what_came_before_another_event_is_not_withdrawn(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    say = chat.runner.say
    say(ReasoningDelta, text="Kept thought. ")
    say(TextDelta, text="Kept text. ")
    say(Usage, input_tokens=1, output_tokens=1)
    say(ReasoningDelta, text="void")
    say(TextDelta, text="void **void")
    say(ModelRetry, attempt=2, attempts=4, wait_s=0.0, reason="Reset", withdrawn=True)
    say(TextDelta, text="And **more**.")
    wait_until(lambda: chat.run.answers and "more" in chat.run.answers[0].text)
    assert [item.text for item in chat.run.thoughts] == ["Kept thought. "]
    assert [item.view.plain() for item in chat.run.answers] == ["Kept text. And more."]
    chat.runner.finish("")
    wait_until(lambda: chat.run.ended)


def test_open_thinking_is_taken_back_too(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ReasoningDelta, text="Kept. ")
    chat.runner.say(Noted, text="Something to know.")
    chat.runner.say(ReasoningDelta, text="void")
    wait_until(lambda: chat.run.thoughts and chat.run.thoughts[0].text == "Kept. void")
    chat.run.thoughts[0].toggle()
    chat.runner.say(ModelRetry, attempt=2, attempts=4, wait_s=0.0, reason="Reset", withdrawn=True)
    view = chat.run.thoughts[0].view
    assert view is not None
    wait_until(lambda: view.plain() == "Kept. ")


# -- what it took, and limits


@pytest.mark.parametrize(
    ("cost", "estimated", "shown"),
    [
        (0.0041, False, "1,204 tokens in, 86 out, about $0.004"),
        (None, True, "1,204 tokens in, 86 out (estimated), on this computer: no cost"),
        (0.0002, False, "1,204 tokens in, 86 out, under $0.001"),
        (1.5, True, "1,204 tokens in, 86 out (estimated), about $1.50"),
        (0.0, False, "1,204 tokens in, 86 out, no cost"),
    ],
)
def test_tokens_and_cost_of_the_run_are_under_the_answer(
    chat: Chat, wait_until: Wait, cost: float | None, estimated: bool, shown: str
):
    ask(chat, wait_until)
    chat.runner.say(Usage, input_tokens=900, output_tokens=50, run_input_tokens=900)
    chat.runner.say(
        Usage,
        input_tokens=304, output_tokens=36, run_input_tokens=1204, run_output_tokens=86,
        cost=cost, estimated=estimated,
    )  # fmt: skip
    chat.runner.finish("Fine.")
    wait_until(lambda: chat.run.ended)
    usage = chat.run.answers[0].usage
    assert usage is not None
    assert usage.full == shown


@pytest.mark.parametrize(
    ("stopped_by", "words", "settings"),
    [
        ("steps", "The limit of steps", True),
        ("tool_calls", "The limit of tool calls", True),
        ("tokens", "The limit of tokens", True),
        ("cost", "The limit of cost", True),
        ("wall_time", "The time limit", True),
        ("repeated_call", "the same tool call", False),
        ("cycle", "in a loop", False),
        ("<b>new</b>", "(<b>new</b>)", True),
    ],
)
def test_a_limit_says_which_it_was_and_how_to_go_on(
    chat: Chat, wait_until: Wait, stopped_by: str, words: str, settings: bool
):
    wanted: list[bool] = []
    chat.dock.limits_wanted.connect(lambda: wanted.append(True))
    ask(chat, wait_until)
    thread = chat.dock.thread
    chat.runner.say(RunFinished, answer="So far: nothing.", stopped_by=stopped_by)
    wait_until(lambda: chat.run.ended)
    notice = chat.run.notice
    assert notice is not None
    assert words in notice.view.plain()
    assert "is above" in notice.view.plain()
    assert chat.run.answers[0].view.plain() == "So far: nothing."
    if settings:
        QTest.mouseClick(link(notice, "Limits…"), LEFT)
    assert wanted == ([True] if settings else [])
    QTest.mouseClick(link(notice, "Continue"), LEFT)
    wait_until(lambda: len(chat.runner.asked) == 2)
    assert chat.runner.asked[1][1].text == "Go on with this answer."
    assert chat.runner.asked[1][1].thread is thread
    assert len(chat.dock.conversation.runs) == 2


# -- several tools at once


def test_parallel_calls_are_cards_in_call_order_whatever_ends_first(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    names = [f"tool_{index}" for index in range(4)]
    for index, name in enumerate(names):
        chat.runner.say(ToolStarted, call_id=name, tool=name, arguments={"n": index})
    for index, name in enumerate(names):
        chat.runner.say(ToolProgress, call_id=name, tool=name, fraction=index / 4, text=name)
    wait_until(lambda: len(chat.run.cards) == 4 and chat.run.cards["tool_3"].progress.fraction)
    shown = [(card.progress.fraction, card.progress_text.full) for card in chat.run.cards.values()]
    assert shown == [(index / 4, name) for index, name in enumerate(names)]
    for name in ("tool_2", "tool_0"):
        chat.runner.say(ToolFinished, call_id=name, tool=name, status="ok", summary=name)
    wait_until(lambda: not chat.run.cards["tool_0"].running)
    states = [chat.run.cards[name].status for name in names]
    assert states == ["ok", "running", "ok", "running"]
    assert chat.run.activity.text == ""  # the running cards say that it goes on
    for name in ("tool_3", "tool_1"):
        chat.runner.say(ToolFinished, call_id=name, tool=name, status="ok", summary=name)
    wait_until(lambda: chat.run.activity.text == "Thinking…")
    cards = sorted(chat.run.cards.values(), key=lambda card: card.y())
    assert [card.tool for card in cards] == names


# -- stopping


def running_tools(chat: Chat, wait_until: Wait, count: int) -> None:
    chat.runner.obeys = False
    ask(chat, wait_until)
    for index in range(count):
        chat.runner.say(ToolStarted, call_id=f"c{index}", tool="t", arguments={})
    wait_until(lambda: len(chat.run.cards) == count)


def test_stop_after_this_tool_by_the_menu_then_a_second_press_stops_at_once(
    chat: Chat, wait_until: Wait
):
    running_tools(chat, wait_until, 1)
    composer = chat.dock.composer
    QTest.mouseClick(composer.stop_more, LEFT)
    wait_until(composer.stop_menu.isVisible)
    assert composer.stop_menu.activeAction().text().startswith("Stop after this tool")
    QTest.keyClick(composer.stop_menu, Key.Key_Return)
    assert chat.runner.cancelled == ["run-1 after tool"]
    assert chat.run.activity.text == "Stopping after this tool…"
    assert chat.run.cards["c0"].running
    assert composer.stop.isEnabled()
    assert not composer.stop_more.isEnabled()
    QTest.mouseClick(composer.stop, LEFT)
    assert chat.runner.cancelled == ["run-1 after tool", "run-1"]
    assert chat.run.activity.text == "Stopping…"
    assert not composer.stop.isEnabled()
    chat.runner.say(ToolFinished, call_id="c0", tool="t", status="cancelled", summary="Stopped.")
    wait_until(lambda: not chat.run.cards["c0"].running)
    assert chat.run.activity.text == "Stopping…"
    chat.runner.say(RunCancelled)
    wait_until(lambda: chat.run.ended)
    assert not composer.stop_more.isVisible()


def test_shift_escape_stops_after_the_tools_and_escape_at_once(chat: Chat, wait_until: Wait):
    running_tools(chat, wait_until, 2)
    edit = chat.dock.composer.edit
    QTest.keyClick(edit, Key.Key_Escape, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(edit, Key.Key_Escape, Qt.KeyboardModifier.ShiftModifier)
    assert chat.runner.cancelled == ["run-1 after tool"]
    assert chat.run.activity.text == "Stopping after these tools…"
    chat.runner.say(TextDelta, text="still talking")
    wait_until(lambda: chat.run.answers)
    assert chat.run.activity.text == "Stopping after these tools…"
    QTest.keyClick(chat.dock.header.new, Key.Key_Escape)
    assert chat.runner.cancelled == ["run-1 after tool", "run-1"]
    assert chat.run.cards["c0"].accessibleName().endswith("stopping")
    chat.runner.say(RunCancelled)
    wait_until(lambda: chat.run.ended)


def test_the_ways_to_stop_are_reached_by_tab(chat: Chat, wait_until: Wait):
    chat.runner.obeys = False
    ask(chat, wait_until)
    chat.dock.activateWindow()
    chat.dock.focus_composer()
    wait_until(lambda: chat.dock.composer.edit.hasFocus())
    composer = chat.dock.composer
    for reached in (composer.file, composer.stop):  # no image is shown to draw a region on
        QTest.keyClick(chat.dock.focusWidget(), Key.Key_Tab)
        assert chat.dock.focusWidget() is reached
    QTest.keyClick(chat.dock.focusWidget(), Key.Key_Tab)
    assert chat.dock.focusWidget() is chat.dock.composer.stop_more
    QTest.keyClick(chat.dock.focusWidget(), Key.Key_Space)
    menu = chat.dock.composer.stop_menu
    wait_until(menu.isVisible)
    QTest.keyClick(menu, Key.Key_Escape)
    assert chat.runner.cancelled == []
    chat.runner.say(RunCancelled)
    wait_until(lambda: chat.run.ended)
    assert chat.dock.focusWidget() is chat.dock.composer.edit  # not lost with the buttons


# -- the model changes, questions wait


def test_another_model_in_the_middle_of_a_run_signs_only_what_it_says(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="One.")
    chat.dock.submit("a queued question")
    chat.dock.set_model("gpt-x at host", "host")
    chat.runner.finish("One.")
    wait_until(lambda: len(chat.runner.asked) == 2)
    note = chat.dock.conversation.runs[0].answers[0].note
    assert note is not None
    assert note.full.endswith("Offline planner")
    assert "gpt-x" in chat.dock.header.badge.accessibleName()
    chat.runner.finish("Two.")
    wait_until(chat.dock.is_idle)
    assert [run.question for run in chat.dock.conversation.runs][1] == "a queued question"
