"""The plan in the chat: a live checklist that says what rules changed, by mouse and by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.agent.events import Override, PlanUpdated, RunFinished, TextDelta, ToolStarted
from app.agent.request import PlanEdit
from app.views.chat.plan_view import PlanView
from tests.gui.chat_support import Chat, ask, opened
from tests.gui.test_chat_threads import recorded

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
REASON = (
    "Measure heart size needs an outline of the heart and of both lungs, and none was made in this "
    "conversation; so that is done first, although the model did not ask for it."
)
DEPENDENCY = Override(
    rule="dependency",
    tool="cardiothoracic_ratio",
    instead="chest_xray_segmentation",
    reason=REASON,
)
LEFT_OUT = Override(rule="left_out", tool="image_visualizer", reason="You said “don't show it”.")


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def step(tool: str, state: str, **fields: Any) -> dict[str, Any]:
    return {"tool": tool, "why": "", "state": state, **fields}


def plan_of(chat: Chat, wait_until: Wait, *steps: dict[str, Any], **fields: Any) -> PlanView:
    """The plan after an event."""
    if not chat.dock.conversation.runs:
        ask(chat, wait_until)
    before = chat.run.plan.steps.text if chat.run.plan else ""
    chat.runner.say(PlanUpdated, steps=list(steps), **fields)
    wait_until(lambda: chat.run.plan and chat.run.plan.steps.text != before)
    plan = chat.run.plan
    assert plan is not None
    lines = [*plan.steps.rows, *plan.steps.changes]
    wait_until(lambda: all(line.isVisible() and line.width() > 100 for line in lines))
    return plan


def end(chat: Chat, wait_until: Wait) -> None:
    chat.runner.finish("Done.")
    wait_until(lambda: chat.run.ended)


def texts(box: Any) -> list[str]:
    """What is seen in a part, in no order."""
    return [item.text() for item in box.findChildren(QLabel) if item.isVisible() and item.text()]


def cut_off(plan: PlanView) -> list[str]:
    """Texts that have less room than they need."""
    return [
        item.text()
        for item in plan.findChildren(QLabel)
        if item.isVisible()
        and item.text()
        and item.height()
        < (item.heightForWidth(item.width()) if item.wordWrap() else item.sizeHint().height())
    ]


def test_every_state_has_a_sign_a_word_and_a_reason(chat: Chat, wait_until: Wait):
    states = {
        "pending": "waiting",
        "running": "running",
        "done": "done",
        "incomplete": "incomplete",
        "failed": "failed",
        "skipped": "left out",
    }
    steps = [step(f"tool_{name}", name, verdict=f"why {name}") for name in states]
    plan = plan_of(chat, wait_until, *steps)
    assert [row.word.text() for row in plan.steps.rows] == list(states.values())
    assert [row.details.full for row in plan.steps.rows] == [f"why {name}" for name in states]
    signs = {bytes(row._mark.grab().toImage().constBits()) for row in plan.steps.rows}
    assert len(signs) == len(states), "two states have the same sign"
    assert [row._mark.accessibleName() for row in plan.steps.rows] == list(states.values())
    assert plan.head.text() == "Plan · 1 of 6 done"


def test_the_checklist_lives(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "running"), step("b", "pending", after=[1]))
    assert [row.details.full for row in plan.steps.rows] == ["", "waits for: A"]
    rows = list(plan.steps.rows)
    plan_of(chat, wait_until, step("a", "done"), step("b", "running"), step("c", "pending"))
    assert plan.steps.rows[:2] == rows, "lines are written anew, not made anew"
    assert [row.word.text() for row in plan.steps.rows] == ["done", "running", "waiting"]
    plan_of(chat, wait_until, step("c", "done"))
    assert [row.title.full for row in plan.steps.rows] == ["C"]
    assert plan.head.text() == "Plan · 1 of 1 done"


@pytest.mark.parametrize(("by", "told"), [("rules", "rules"), ("model", "the language model")])
def test_who_planned_is_told_once(chat: Chat, wait_until: Wait, by: str, told: str):
    forced = step("b", "done", by="enforced", why="needed before c")
    plan = plan_of(chat, wait_until, step("a", "done", by=by), forced, step("c", "done", by=by))
    wait_until(lambda: f"Planned by {told}" in texts(plan))
    assert texts(plan).count(f"Planned by {told}") == 1
    assert [row.details.full for row in plan.steps.rows] == [
        "",
        "needed before c · put in by a rule",
        "",
    ]


def test_the_plan_stands_above_what_is_done_also_when_it_comes_late(chat: Chat, wait_until: Wait):
    ask(chat, wait_until)
    chat.runner.say(ToolStarted, call_id="c", tool="a", arguments={})
    plan = plan_of(chat, wait_until, step("a", "running"))
    card = chat.run.cards["c"]
    wait_until(lambda: card.y() > plan.y() > chat.run.bubble.y())


def test_who_planned_is_told_of_each_step_where_it_differs(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "done", by="rules"), step("b", "done", by="model"))
    assert [row.details.full for row in plan.steps.rows] == [
        "planned by rules",
        "planned by the language model",
    ]


@pytest.mark.parametrize("width", [320, 480])
def test_an_override_is_a_line_of_its_own_with_its_whole_reason(
    chat: Chat, wait_until: Wait, width: int
):
    chat.dock.resize(width, 800)
    long = step("Compare with the prior film of the same patient, if there is any", "running")
    weights = "nih_pc_chex_mimic_ch_google_openi_kaggle_densenet121" * 3
    plan = plan_of(
        chat,
        wait_until,
        step("cardiothoracic_ratio", "incomplete", verdict="The patient is rotated. " * 8),
        long,
        step("chest_xray_classifier", "failed", verdict=f"no weights: {weights}, {'9' * 90}"),
        overrides=[DEPENDENCY, LEFT_OUT],
    )
    wait_until(lambda: plan.width() > width - 60)
    assert [line.title.full for line in plan.steps.changes] == [
        "Changed by a rule: Outline chest organs runs first",
        "Changed by a rule: Show image is left out, as you asked",
    ]
    assert [line.details.full for line in plan.steps.changes] == [
        REASON,
        "You said “don't show it”.",
    ]
    wait_until(lambda: not cut_off(plan))
    room = plan.width()
    for line in [*plan.steps.rows, *plan.steps.changes]:
        assert line.mapTo(plan, line.rect().topRight()).x() <= room
    assert weights in plan.steps.rows[2].accessibleName()
    for text in plan.findChildren(QLabel):
        flags = Qt.TextFlag.TextWordWrap
        needed = text.fontMetrics().boundingRect(text.contentsRect(), flags, text.text()).width()
        assert needed <= text.width(), text.text()
    assert plan.steps.changes[0].details.height() > 2 * plan.steps.changes[1].details.height()


def test_an_override_is_seen_when_the_plan_is_folded_and_leads_to_its_reason(
    chat: Chat, wait_until: Wait
):
    plan = plan_of(chat, wait_until, step("a", "done"), overrides=[DEPENDENCY])
    end(chat, wait_until)
    assert plan.steps.isHidden()
    assert plan.changed.isVisible()
    assert plan.changed.text().strip() == "1 change by rules"
    QTest.mouseClick(plan.changed, LEFT)
    assert plan.steps.isVisible()
    assert plan.steps.changes[0].details.isVisible()


def test_a_plan_without_overrides_counts_none(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "done"))
    assert not plan.changed.isVisible()
    assert "rule" not in " ".join(texts(plan)).casefold()


def test_an_unreached_goal_is_seen_when_the_plan_is_folded(chat: Chat, wait_until: Wait):
    why = "the prior film was not compared, since none is open."
    plan = plan_of(chat, wait_until, step("a", "done"), goal="incomplete", goal_why=why)
    end(chat, wait_until)
    assert plan.steps.isHidden()
    assert plan.goal.isVisible()
    assert plan.goal.title.full == f"Goal not reached: {why}"
    assert "goal reached" not in plan.head.text()


def test_a_missing_model_is_told_by_its_title_without_its_file(chat: Chat, wait_until: Wait):
    why = "The classifier needs a model: DenseNet-121 (nih-pc_ch-rot45-best.pt)."
    failed = step("chest_xray_classifier", "failed", verdict=why)
    plan = plan_of(chat, wait_until, failed, goal="incomplete", goal_why=why)
    assert ".pt" not in plan.steps.text
    assert plan.steps.text.count("needs a model: DenseNet-121.") == 2
    end(chat, wait_until)


def test_a_reached_goal_stands_in_the_head(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "done"), goal="done")
    assert plan.head.text() == "Plan · 1 of 1 done · goal reached"
    assert not plan.goal.isVisible()


def test_the_plan_is_folded_by_click_and_by_keys(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "running"), overrides=[DEPENDENCY])
    QTest.mouseClick(plan.head, LEFT)
    assert plan.steps.isHidden()
    assert plan.head.accessibleDescription() == "closed"
    chat.dock.focus_composer()
    for _ in range(12):  # back up from the question field
        focused = chat.dock.window().focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Backtab)
        if chat.dock.window().focusWidget() is plan.changed:
            break
    assert chat.dock.window().focusWidget() is plan.changed
    QTest.keyClick(plan.changed, Qt.Key.Key_Space)
    assert plan.steps.isVisible()
    QTest.keyClick(plan.changed, Qt.Key.Key_Backtab)
    assert chat.dock.window().focusWidget() is plan.head
    QTest.keyClick(plan.head, Qt.Key.Key_Space)
    assert plan.steps.isHidden()
    QTest.keyClick(plan.head, Qt.Key.Key_Return)
    assert plan.steps.isVisible()
    assert plan.head.accessibleDescription() == "open"


def test_names_tell_it_to_who_does_not_see_it(chat: Chat, wait_until: Wait):
    plan = plan_of(
        chat, wait_until, step("a", "done", verdict="12 cells"), overrides=[LEFT_OUT], goal="done"
    )
    assert plan.steps.rows[0].accessibleName() == "Step 1 of 1: A: done (12 cells)"
    assert plan.changed.accessibleName() == "1 change by rules: show them"
    for part in ("A: done (12 cells)", "left out, as you asked. You said", "Goal reached"):
        assert part in plan.accessibleName()


def test_what_a_model_writes_is_shown_literally(chat: Chat, wait_until: Wait):
    hostile = "<b>look</b> &amp; <img src='http://far.example/x.png'>\u202edone"
    forged = Override(rule="<i>x</i>", tool=hostile, reason=hostile)
    plan = plan_of(
        chat,
        wait_until,
        step(hostile, "no such state", verdict=hostile, after=["x", 99, -1]),
        overrides=[forged],
    )
    assert plan.steps.rows[0].word.text() == "waiting"
    shown = texts(plan)
    assert any("<b>look</b> &amp; <img" in text for text in shown)
    assert not any("\u202e" in text for text in shown)
    assert all(
        item.textFormat() is Qt.TextFormat.PlainText
        for item in plan.steps.findChildren(QLabel)
        if item.text()
    )


def test_a_reopened_conversation_shows_the_plan_as_it_ended(chat: Chat, wait_until: Wait):
    thread_id = recorded(
        chat,
        "q",
        (PlanUpdated, {"steps": [step("a", "running")]}),
        (PlanUpdated, {"steps": [step("a", "done")], "overrides": [DEPENDENCY], "goal": "done"}),
        (TextDelta, {"text": "Done."}),
        (RunFinished, {"answer": "Done."}),
    )
    chat.dock.open_thread(thread_id)
    wait_until(lambda: chat.dock.conversation.runs and chat.run.plan)
    plan = chat.run.plan
    assert plan is not None
    wait_until(lambda: plan.changed.isVisible() and plan.steps.isHidden())
    assert plan.head.text() == "Plan · 1 of 1 done · goal reached"
    assert plan.steps.changes[0].details.full == REASON


def test_a_long_plan_that_changes_often_costs_little(chat: Chat, wait_until: Wait):
    steps = [step(f"tool {place}", "pending", why="a reason " * 10) for place in range(25)]
    plan = plan_of(chat, wait_until, *steps)
    for place in range(25):
        steps[place] = step(f"tool {place}", "done")
        chat.runner.say(PlanUpdated, steps=list(steps), overrides=[DEPENDENCY] * (place % 5))
    wait_until(lambda: plan.head.text() == "Plan · 25 of 25 done")
    assert len(plan.steps.changes) == 4


def test_a_plan_is_edited_by_mouse(chat: Chat, wait_until: Wait):
    steps = [step("a", "running"), step("b", "pending"), step("c", "pending", by="enforced")]
    plan = plan_of(chat, wait_until, *steps, step("d", "pending"))
    assert plan.edit.isVisible()
    assert plan.edit.text().strip() == "Edit plan"
    QTest.mouseClick(plan.edit, LEFT)
    assert chat.runner.edits == [PlanEdit("hold")]
    assert plan.hint.isVisible()
    rows = plan.steps.rows
    offered = [[k for k, b in r.edits.items() if b.isVisible() and b.isEnabled()] for r in rows]
    assert offered == [[], ["down", "remove"], [], ["up", "remove"]]
    wait_until(lambda: rows[3].edits["up"].width() > 5)
    QTest.mouseClick(rows[3].edits["up"], LEFT)
    QTest.mouseClick(rows[1].edits["remove"], LEFT)
    assert chat.runner.edits[1:] == [PlanEdit("up", 3, "d"), PlanEdit("remove", 1, "b")]
    out = step("b", "skipped", verdict="you took it out of the plan")
    plan_of(chat, wait_until, step("a", "done"), out, step("d", "pending"))
    assert rows[1].details.full == "you took it out of the plan"
    assert not any(button.isVisible() for button in rows[1].edits.values())
    assert cut_off(plan) == []
    QTest.mouseClick(plan.edit, LEFT)
    assert chat.runner.edits[-1] == PlanEdit("go")
    assert not plan.hint.isVisible()


def test_a_plan_is_edited_by_keys_and_not_after_its_end(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "running"), step("b", "pending"))
    plan.edit.setFocus()
    QTest.keyClick(plan.edit, Qt.Key.Key_Return)
    remove = plan.steps.rows[1].edits["remove"]
    remove.setFocus()
    QTest.keyClick(remove, Qt.Key.Key_Space)
    assert chat.runner.edits == [PlanEdit("hold"), PlanEdit("remove", 1, "b")]
    end(chat, wait_until)
    assert plan.edit.isHidden()
    assert plan.hint.isHidden()


def test_an_argument_of_a_step_is_changed(chat: Chat, wait_until: Wait):
    zoom = step("zoom", "pending", arguments={"factor": 2.0, "to": "heart"})
    plan = plan_of(chat, wait_until, step("a", "running"), zoom, step("b", "pending"))
    QTest.mouseClick(plan.edit, LEFT)
    row = plan.steps.rows[1]
    factor = row.arguments["factor"]
    assert factor.isVisible()
    assert (factor.text(), row.arguments["to"].text()) == ("2.0", "heart")
    assert not plan.steps.rows[2].arguments
    factor.selectAll()
    QTest.keyClicks(factor, "many")
    QTest.keyClick(factor, Qt.Key.Key_Return)
    assert chat.runner.edits[1:] == [PlanEdit("change", 1, "zoom", "factor", "many")]
    said = {**zoom, "problem": "Input should be a valid number", "why": "x"}
    plan_of(chat, wait_until, step("a", "running"), said, step("b", "pending"))
    assert row.problem.isVisible()
    assert factor.text() == "many"
    factor.selectAll()
    QTest.keyClicks(factor, "3,5")
    QTest.mouseClick(plan.edit, LEFT)  # what was typed counts, and comes first
    assert chat.runner.edits[2:] == [PlanEdit("change", 1, "zoom", "factor", "3,5"), PlanEdit("go")]
    assert not row.arguments


def test_a_plan_that_is_held_says_that_it_waits(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "done"), step("b", "pending"))
    QTest.mouseClick(plan.edit, LEFT)
    assert chat.run.activity.text == "The plan waits for you."
    QTest.mouseClick(plan.edit, LEFT)
    assert chat.run.activity.text == "Thinking…"


def test_nothing_runs_or_waits_in_the_plan_of_a_run_that_was_cut(chat: Chat, wait_until: Wait):
    fields = {"steps": [step("a", "done"), step("b", "running"), step("c", "pending")]}
    chat.dock.open_thread(recorded(chat, "q", (PlanUpdated, fields)))
    wait_until(lambda: chat.dock.conversation.runs and chat.run.plan and chat.run.ended)
    plan = chat.run.plan
    assert plan is not None
    assert [row.word.text() for row in plan.steps.rows] == ["done", "failed", "left out"]


def test_a_plan_of_one_step_or_without_open_steps_is_not_edited(chat: Chat, wait_until: Wait):
    plan = plan_of(chat, wait_until, step("a", "pending"))
    assert plan.edit.isHidden()
    plan_of(chat, wait_until, step("a", "done"), step("b", "running"))
    assert plan.edit.isHidden()
