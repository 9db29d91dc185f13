"""The chat shows a run as it happens: text, a card a call, plan, approvals, queue, stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from app.agent.events import (
    ApprovalRequested,
    PlanUpdated,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    Usage,
)
from app.agent.messages import MEND
from app.imaging.types import Content, Instance
from app.tools.api import Artifact
from app.tools.chest.plan import PLAN
from app.tools.plots import Plot, write_plot
from app.tools.tables import table_of, write_table
from app.views.chat.approval import ApprovalCard
from app.views.text_view import TextView
from tests.gui.chat_support import Chat, ask, finding, open_image, opened, picture
from tests.gui.heartbeat import stall_ms

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def test_streamed_text_is_shown_in_order_as_it_comes(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="First **bo")
    wait_until(lambda: chat.run.answers)
    assert chat.run.answers[0].view.plain() == "First **bo"
    chat.runner.say(TextDelta, text="ld** word\n- an item\n\nand `co")
    chat.runner.say(TextDelta, text="de`\n")
    chat.runner.finish()
    wait_until(lambda: chat.run.ended)
    assert chat.run.answers[0].view.plain() == "First bold word\n•\tan item\nand code"
    assert chat.run.bubble.view.plain() == "Where are the lungs?"


def test_an_answer_that_was_not_streamed_is_shown_once(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.finish("The whole answer.")
    wait_until(lambda: chat.run.ended)
    assert [view.view.plain() for view in chat.run.answers] == ["The whole answer."]
    ask(chat, wait_until, "again")
    chat.runner.say(TextDelta, text="The whole ")
    chat.runner.say(TextDelta, text="answer.")
    chat.runner.finish("The whole answer.")
    wait_until(lambda: chat.run.ended)
    assert [view.view.plain() for view in chat.run.answers] == ["The whole answer."]


def test_one_card_a_call_with_arguments_progress_duration_and_result(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    overlay = picture(tmp_path / "overlay.png")
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="I will look.")
    chat.runner.say(
        ToolStarted, call_id="c1", tool="chest_xray_segmentation", arguments={"organs": ["Heart"]}
    )
    chat.runner.say(ToolProgress, call_id="c1", tool="x", fraction=0.25, text="Outlining")
    wait_until(lambda: chat.run.cards and chat.run.cards["c1"].progress.fraction == 0.25)
    card = chat.run.cards["c1"]
    assert card.progress_text.full == "Outlining"
    assert card.running
    wait_until(lambda: card._duration.text().endswith(" s"))
    details = card._details
    QTest.mouseClick(details.button("Details"), LEFT)
    shown = details.view("Details")
    assert shown is not None
    assert '"organs"' in shown.plain()
    chat.runner.say(
        ToolFinished,
        call_id="c1",
        tool="chest_xray_segmentation",
        status="ok",
        summary="The heart was outlined.",
        output={"metrics": {"Heart": {"area_pixels": 1234, "confidence_score": 0.87}}},
        metadata={"status": "completed"},
        findings=[finding("Heart")],
        artifacts=[Artifact(overlay, title="Overlay")],
        duration_s=1.26,
    )
    wait_until(lambda: not card.running)
    assert card._duration.text() == "1.3 s"
    assert card.summary is not None
    assert card.summary.plain() == "The heart was outlined."
    QTest.mouseClick(details.button("Figures"), LEFT)
    figures = details.view("Figures")
    assert figures is not None
    row = figures.plain().splitlines()[1]
    assert row.startswith("Heart")
    assert [part.strip() for part in row.split("  ") if part.strip()][1:] == ["1\u2009234", "0.87"]
    wait_until(lambda: card.thumbnails[0].image is not None)
    QTest.mouseClick(details.button("Result"), LEFT)
    result = details.view("Result")
    assert result is not None
    assert '"area_pixels": 1234' in result.plain()
    QTest.mouseClick(card.thumbnails[0], LEFT)
    assert [pane.path for pane in chat.workspace.panes.all] == [overlay]
    assert list(chat.run.cards) == ["c1"]


def test_a_failed_call_says_why_and_what_to_do(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="chest_xray_classifier", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c",
        tool="chest_xray_classifier",
        status="failed",
        summary="",
        error="The weights are missing. Put them into the models folder.",
        duration_s=0.1,
    )
    wait_until(lambda: chat.run.cards and not chat.run.cards["c"].running)
    card = chat.run.cards["c"]
    assert card.status == "failed"
    assert card.error is not None
    assert card.error.plain() == "The weights are missing. Put them into the models folder."


def test_what_only_a_language_model_can_do_is_not_told_on_the_card(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="medsam2_segment", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="medsam2_segment", status="failed", summary="",
        error=f"nothing is marked. Draw a box. {MEND} It takes: box (list of number).",
    )  # fmt: skip
    wait_until(lambda: chat.run.cards and not chat.run.cards["c"].running)
    error = chat.run.cards["c"].error
    assert error is not None
    assert error.plain() == "nothing is marked. Draw a box."


def test_what_a_tool_warns_of_is_on_its_card(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="cardiothoracic_ratio", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="cardiothoracic_ratio", status="ok", summary="About 0.50.",
        output={"ratio": 0.5, "warnings": ["the patient is rotated", "<b>supine</b>"]},
    )  # fmt: skip
    wait_until(lambda: chat.run.cards and not chat.run.cards["c"].running)
    warning = chat.run.cards["c"].warning
    assert warning is not None
    assert warning.plain() == "⚠ the patient is rotated\n⚠ <b>supine</b>"


def test_a_warning_that_ends_the_summary_is_on_the_card_once(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="cardiothoracic_ratio", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="cardiothoracic_ratio", status="ok",
        summary="About 0.50. Warnings: rotated; supine.",
        metadata={"warnings": ["rotated", "supine"]},
    )  # fmt: skip
    wait_until(lambda: chat.run.cards and not chat.run.cards["c"].running)
    card = chat.run.cards["c"]
    assert card.summary is not None
    assert card.summary.plain() == "About 0.50."
    assert card.warning is not None
    assert card.warning.plain() == "⚠ rotated\n⚠ supine"


def test_a_card_shows_no_figure_that_the_offline_answer_says(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="cardiothoracic_ratio", arguments={})
    warned = ["unstable: the ratio varies by 0.07", "the scale is that of the detector"]
    width = finding("Heart width", value=1794.0, units="px", call_id="c")
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="cardiothoracic_ratio", status="ok", summary="Ratio about 0.50.",
        output={"ratio": 0.5, "warnings": warned}, findings=[width], evidence=1,
    )  # fmt: skip
    wait_until(lambda: chat.run.cards and chat.run.cards["c"].chips)
    card = chat.run.cards["c"]

    def read() -> str:
        chips = [chip.text() for chip in card.chips if chip.isVisible()]
        labels = [part.text() for part in card.findChildren(QLabel) if part.isVisible()]
        views = [part.plain() for part in card.findChildren(TextView) if part.isVisible()]
        return "\n".join([*chips, *labels, *views])

    wait_until(lambda: "about 0.50" in read())
    assert "1794 px" in read()
    answer = "**Ratio about 0.50**, varies by 0.07 [1]. Heart 1,794 px [1]."
    chat.runner.say(RunFinished, answer=answer, cited=[1])
    wait_until(lambda: chat.run.ended and "0.50" not in read())
    assert not any(figure in read() for figure in ("0.5", "0.07", "1794"))
    assert "the scale is that of the detector" in read()
    assert "Heart width" in read()
    chat.workspace.annotations.add([width])
    chat.workspace.annotations.put(width, "Move")
    assert "1794" not in read()
    card._details.toggle("Summary")
    assert "about 0.50" in read()


@pytest.mark.parametrize("answer", ["Ratio 0.50 [1].", "Ratio 0.50, seen in 1 of 3 crops."])
def test_a_warning_that_the_answer_does_not_tell_stays_on_its_card(
    chat: Chat, wait_until: Wait, answer: str
):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    warned = ["1 of 14 structures was not found"]
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="t", status="ok", summary="", output={"warnings": warned}, evidence=1,
    )  # fmt: skip
    chat.runner.say(RunFinished, answer=answer, cited=[1])
    wait_until(lambda: chat.run.ended)
    warning = chat.run.cards["c"].warning
    assert warning is not None
    assert warning.plain() == "⚠ 1 of 14 structures was not found"


def test_a_german_answer_tells_its_warnings_once_and_the_rest_is_german_too(
    chat: Chat, wait_until: Wait
):
    ask(chat, wait_until, "Ist das Herz vergrößert?")
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    warned = ["the heart was not found", "the file does not say its modality"]
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="t", status="ok", summary="", output={"warnings": warned}, evidence=1,
    )  # fmt: skip
    answer = "**Warnungen**\n- Das Herz wurde nicht gefunden [1]"
    chat.runner.say(RunFinished, answer=answer, cited=[1])
    wait_until(lambda: chat.run.ended and chat.dock.is_idle())
    warning = chat.run.cards["c"].warning
    assert warning is not None
    wait_until(lambda: warning.plain() == "⚠ die Datei nennt ihre Modalität nicht")


def test_a_card_keeps_its_figures_beside_the_words_of_a_language_model(
    chat: Chat, wait_until: Wait
):
    ask(chat, wait_until)
    chat.runner.say(RunStarted, thread_id="t", question="q", model="gpt")
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    chat.runner.say(
        ToolFinished, call_id="c", tool="t", status="ok", summary="Ratio 0.50.", evidence=1
    )
    chat.runner.say(RunFinished, answer="The ratio is 0.50 [1].", cited=[1])
    wait_until(lambda: chat.run.ended)
    summary = chat.run.cards["c"].summary
    assert summary is not None
    assert summary.isVisible()


def test_a_picture_that_cannot_be_read_leaves_the_card_whole(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    broken = tmp_path / "broken.png"
    broken.write_text("no picture")
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c", tool="t", status="ok", summary="made", artifacts=[Artifact(broken)],
    )  # fmt: skip
    wait_until(lambda: chat.run.cards and chat.run.cards["c"].thumbnails)
    thumbnail = chat.run.cards["c"].thumbnails[0]
    wait_until(lambda: not thumbnail.isEnabled())
    assert "not a PNG or JPEG" in thumbnail.toolTip()


def test_the_plan_is_a_list_of_steps_with_their_states(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    steps = [
        {"tool": "dicom_processor", "why": "a PNG", "state": "done"},
        {"tool": "cardiothoracic_ratio", "why": "heart size", "state": "running"},
    ]
    chat.runner.say(PlanUpdated, steps=steps)
    wait_until(lambda: chat.run.plan)
    plan = chat.run.plan
    assert plan is not None
    assert plan.steps.text.splitlines() == [
        "Convert DICOM image: done (a PNG)",
        "Measure heart size: running (heart size)",
    ]
    assert not plan.steps.isHidden()
    chat.runner.finish("Done.")
    wait_until(lambda: chat.run.ended)
    assert plan.steps.isHidden()


def test_an_approval_nobody_answered_is_closed_with_the_run(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ApprovalRequested, approval_id="a1", title="May I?", detail="")
    wait_until(lambda: chat.run.approvals)
    chat.agent.stop()
    wait_until(lambda: chat.run.ended)
    card = chat.run.approvals["a1"]
    assert isinstance(card, ApprovalCard)
    assert not card.allow.isVisible()
    assert "nothing was done" in card.state.full


@pytest.mark.timed
def test_stop_shows_that_it_stops_and_that_it_has_stopped(chat: Chat, wait_until: Wait):
    chat.runner.obeys = False
    ask(chat, wait_until)
    assert not chat.dock.composer.stop.isHidden()
    began = time.perf_counter()
    QTest.mouseClick(chat.dock.composer.stop, LEFT)
    assert chat.run.activity.text == "Stopping…"
    assert not chat.dock.composer.stop.isEnabled()
    chat.runner.obeys = True
    chat.runner.cancel("run-1")
    wait_until(lambda: chat.run.ended)
    took = time.perf_counter() - began
    assert chat.run.notice is not None
    assert chat.run.notice.view.plain() == "Stopped"
    assert chat.dock.composer.stop.isHidden()
    assert took < 1.0


def test_queued_questions_are_seen_kept_in_order_and_can_be_removed(chat: Chat, wait_until: Wait):
    ask(chat, wait_until, "one")
    for text in ("two", "three", "four"):
        chat.dock.submit(text)
    pending = chat.dock.pending
    assert len(pending._numbers) == 3
    assert not pending.isHidden()
    chat.dock.pending.removed.emit(pending._numbers[1])
    assert [item.text for item in chat.agent.pending] == ["two", "four"]
    for answer in ("1", "2", "4"):
        done = len([run for run in chat.dock.conversation.runs if run.ended])
        chat.runner.finish(answer)
        wait_until(
            lambda done=done: len([r for r in chat.dock.conversation.runs if r.ended]) > done
        )
    assert [run.question for run in chat.dock.conversation.runs] == ["one", "two", "four"]
    answers = [run.answers[0].view.plain() for run in chat.dock.conversation.runs]
    assert answers == ["1", "2", "4"]
    assert pending.isHidden()
    assert chat.dock.is_idle()


def test_a_question_is_about_what_was_open_when_it_was_asked(chat: Chat, wait_until: Wait):
    ask(chat, wait_until, "one")
    open_image(chat.workspace)
    chat.dock.submit("two")
    chat.workspace.viewport.show(None)
    chat.runner.finish("1")
    wait_until(lambda: len(chat.runner.asked) == 2)
    assert [asked.image for _, asked in chat.runner.asked] == ["", "chest.dcm"]


def test_a_failed_run_says_why_and_can_be_asked_again(chat: Chat, wait_until: Wait):
    ask(chat, wait_until, "one")
    chat.runner.say(RunFailed, error="The endpoint is down.", remedy="Start it.")
    wait_until(lambda: chat.run.ended)
    notice = chat.run.notice
    assert notice is not None
    assert notice.view.plain() == "The endpoint is down.\nStart it."
    again = notice.findChildren(QPushButton)[0]
    QTest.mouseClick(again, LEFT)
    wait_until(lambda: len(chat.runner.asked) == 2)
    assert chat.runner.asked[1][1].text == "one"


def test_every_answer_says_who_wrote_it_and_that_it_is_not_for_diagnosis(
    chat: Chat, wait_until: Wait
):
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="Fine.")
    chat.runner.say(
        Usage, input_tokens=1200, output_tokens=34, run_input_tokens=1200, run_output_tokens=34
    )
    chat.runner.finish("Fine.")
    wait_until(lambda: chat.run.ended)
    note, usage = chat.run.answers[0].note, chat.run.answers[0].usage
    assert note is not None
    assert note.full == "Offline planner"
    assert usage is not None
    assert usage.full == "1,200 tokens in, 34 out, on this computer: no cost"


def shown(**header: str) -> Instance:
    return Instance(Path("a.dcm"), "1.2", "dicom", 8, 8, attributes=header)


def test_a_suggestion_asks_with_one_click(chat: Chat, wait_until: Wait):
    chat.dock.empty.set_image(shown(Modality="DX", BodyPartExamined="CHEST"))
    QTest.mouseClick(chat.dock.empty.buttons[0], LEFT)
    wait_until(lambda: chat.runner.asked)
    assert chat.runner.asked[0][1].text == PLAN.suggestions[0]
    assert chat.dock.empty.isHidden()


@pytest.mark.parametrize(
    ("header", "lungs"),
    [
        ({"Modality": "DX", "BodyPartExamined": "CHEST"}, True),
        ({"Modality": "CR", "StudyDescription": "Chest PA"}, True),
        ({"Modality": "CR"}, False),
        ({"BodyPartExamined": "CHEST"}, False),
        ({"Modality": "CR", "StudyDescription": "Knee"}, False),
        ({"Modality": "CR", "BodyPartExamined": "KNEE"}, False),
        ({"Modality": "MR", "BodyPartExamined": "BRAIN"}, False),
        ({"Modality": "MG"}, False),
    ],
)
def test_the_questions_offered_fit_the_image(chat: Chat, header: dict[str, str], lungs: bool):
    invitation = chat.dock.empty
    invitation.set_image(shown(**header))
    offered = [button.accessibleName() for button in invitation.buttons if not button.isHidden()]
    assert any("lung" in text for text in offered) is lungs
    assert "Ask: What can you do?" in offered
    assert len(offered) >= 2
    report = replace(shown(**header), content=Content.REPORT)
    for nothing in (None, report):
        invitation.set_image(nothing)
        left = [one.accessibleName() for one in invitation.buttons if not one.isHidden()]
        assert left == ["Ask: What can you do?"], "nothing about an image where none is shown"


def test_copy_takes_plain_text(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.finish("Some **bold** text")
    wait_until(lambda: chat.run.ended)
    view = chat.run.answers[0].view
    view.selectAll()
    view.copy()
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == "Some bold text"
    assert not data.hasHtml()


def test_the_end_of_a_run_is_told_once_it_is_shown(chat: Chat, wait_until: Wait):
    told: list[Any] = []
    chat.dock.run_ended.connect(
        lambda run, kind: told.append((run, kind, chat.run.answers[-1].view.plain()))
    )
    ask(chat, wait_until)
    chat.runner.finish("Answer.")
    wait_until(lambda: told)
    assert told == [("run-1", "run_finished", "Answer.")]
    assert chat.dock.is_idle()


def test_a_burst_of_2000_deltas_does_not_stall_the_window(
    chat: Chat, wait_until: Wait, gui_heartbeat: Any
):
    ask(chat, wait_until)
    words = [f"word{index} " + ("\n- " if index % 12 == 0 else "") for index in range(2000)]
    events = [chat.runner.make(TextDelta, text=word) for word in words]
    events.append(chat.runner.make(RunFinished, answer="".join(words)))
    gui_heartbeat.restart()
    chat.runner.say_elsewhere(events)
    wait_until(lambda: chat.run.ended)
    shown = chat.run.answers[0].view.plain().replace("•\t", "").split()
    assert shown == "".join(words).replace("\n- ", " ").split()
    assert gui_heartbeat.longest_ms < stall_ms()


def test_a_reader_above_is_left_alone(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(TextDelta, text="line\n\n" * 80)
    bar = chat.dock.conversation.verticalScrollBar()
    wait_until(lambda: bar.maximum() > 500)
    bar.setValue(100)
    before = bar.maximum()
    chat.runner.say(TextDelta, text="more\n\n" * 20)
    wait_until(lambda: bar.maximum() > before)
    assert bar.value() == 100
    assert not chat.dock.conversation._jump.isHidden()
    chat.dock.conversation._jump.click()
    assert bar.value() == bar.maximum()
    before = bar.maximum()
    chat.runner.say(TextDelta, text="more\n\n" * 20)
    wait_until(lambda: bar.maximum() > before)
    assert bar.value() == bar.maximum()


def test_a_long_answer_is_followed_until_its_beginning_would_leave(chat: Chat, wait_until: Wait):
    for index in range(4):
        ask(chat, wait_until, f"q{index}")
        chat.runner.finish("a short answer\n\n" * 4)
        wait_until(lambda: chat.run.ended)
    conversation = chat.dock.conversation
    bar, height = conversation.verticalScrollBar(), conversation.viewport().height()
    ask(chat, wait_until, "a long one")
    wait_until(lambda: bar.maximum() and bar.value() == bar.maximum())
    chat.runner.say(TextDelta, text="line\n\n" * 80)
    wait_until(lambda: bar.maximum() > 1000)
    chat.runner.finish("")
    wait_until(lambda: chat.run.ended)
    wait_until(lambda: 0 < _top(chat) < height / 2)
    assert bar.value() < bar.maximum()
    assert not conversation._jump.isHidden()


def test_opening_a_section_later_moves_nothing_else(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={"a": list(range(40))})
    chat.runner.say(ToolFinished, call_id="c", tool="t", status="ok", summary="s")
    chat.runner.finish("line\n\n" * 40)
    wait_until(lambda: chat.run.ended)
    until = time.perf_counter() + 0.7
    wait_until(lambda: time.perf_counter() > until)
    bar = chat.dock.conversation.verticalScrollBar()
    before, high = bar.value(), bar.maximum()
    chat.run.cards["c"]._details.toggle("Details")
    wait_until(lambda: bar.maximum() > high)
    assert bar.value() == before


def _top(chat: Chat) -> int:
    """Where the last answer begins in the view."""
    return chat.run.answers[-1].mapTo(chat.dock.conversation.viewport(), QPoint(0, 0)).y()


def test_a_long_conversation_stays_quick(chat: Chat, wait_until: Wait, gui_heartbeat: Any):
    stalls: list[float] = []
    for index in range(48):
        if index > 40:
            gui_heartbeat.restart()
        ask(chat, wait_until, f"question {index}")
        call_id = f"c{index}"
        chat.runner.say(ToolStarted, call_id=call_id, tool="t", arguments={"path": "x"})
        chat.runner.say(
            ToolFinished,
            call_id=call_id, tool="t", status="ok", summary="Outlined. " * 12,
            output={"ratio": 0.5, "width": 10.0}, findings=[finding("Heart", call_id=call_id)],
        )  # fmt: skip
        chat.runner.say(TextDelta, text="The Heart is **there**.\n- one\n- two\n")
        chat.runner.finish("The Heart is **there**.\n- one\n- two\n")
        wait_until(lambda: chat.run.ended)
        if index > 40:
            gui_heartbeat.look()
            stalls.append(gui_heartbeat.longest_ms)
    # Each takes as long; other programs on the machine can only lengthen a stall.
    assert min(stalls) < stall_ms()


def test_a_card_opens_the_tables_and_plots_of_its_call(
    chat: Chat, tmp_path: Path, wait_until: Wait
):
    ask(chat, wait_until)
    table = write_table(tmp_path / "t.csv", table_of([{"a": 1}, {"a": 2}]), "Nuclei")
    plot = write_plot(
        tmp_path / "p.json", Plot(kind="histogram", title="Areas", table="t.csv", x="a")
    )
    chat.runner.say(ToolStarted, call_id="c1", tool="finder", arguments={})
    chat.runner.say(
        ToolFinished,
        call_id="c1",
        tool="finder",
        status="ok",
        summary="done",
        artifacts=[table, plot],
    )
    wait_until(lambda: chat.run.cards and not chat.run.cards["c1"].running)
    card = chat.run.cards["c1"]
    assert [one.accessibleName() for one in card.results] == [
        "Table: Nuclei (2 rows)",
        "Plot: Areas",
    ]
    for button in card.results:
        QTest.mouseClick(button, LEFT)
    assert [(one.path, one.role) for one in chat.workspace.panes.all] == [
        (table.path, "table"),
        (plot.path, "plot"),
    ]
    assert chat.workspace.panes.all[0].options["rows"] == 2
