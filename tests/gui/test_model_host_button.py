"""The status bar says where the language model runs, at once, and names the host while sending."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.agent.events import DataSent, ModelRetry, Noted, RunEvent, RunFailed, TextDelta
from app.views import main_window
from app.views.main_window import ModelHostButton

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
HOST = "api.example.org:8443"


@pytest.fixture
def mark(qapp: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHostButton]:
    monkeypatch.setattr(main_window, "LEAST_SENDING_MS", 60)
    made = ModelHostButton()
    made.show()
    yield made
    made.close()
    made.deleteLater()


def event(kind: Callable[..., RunEvent], **fields: Any) -> RunEvent:
    return kind(run_id="r", seq=0, time="", **fields)


def sent(host: str = HOST) -> RunEvent:
    return event(DataSent, host=host, model="m", characters=10)


def test_a_model_on_this_machine_is_local(mark: ModelHostButton):
    mark.set_model("offline", "")
    assert mark.text().strip() == "Local"
    assert "nothing leaves it" in mark.toolTip()
    assert mark.accessibleName() == "Where the language model runs: Local"
    assert "nothing leaves it" in mark.accessibleDescription()


def test_a_remote_model_is_named_by_its_host_and_a_change_shows_at_once(mark: ModelHostButton):
    mark.set_model("gpt-x", HOST)
    assert mark.text().strip() == HOST
    assert mark.property("state") == "remote"
    assert f"gpt-x at {HOST}" in mark.accessibleDescription()
    mark.set_model("offline", "")
    assert mark.text().strip() == "Local"
    assert mark.property("state") == "local"


def test_the_host_is_named_once(mark: ModelHostButton):
    mark.set_model("gpt-x at api.example.org", HOST)
    assert f"Questions go to gpt-x at {HOST}." in mark.toolTip().replace("&nbsp;", " ")


def test_a_request_on_its_way_is_shown_until_it_is_answered(
    mark: ModelHostButton, wait_until: Wait
):
    mark.set_model("gpt-x", HOST)
    mark.follow(sent())
    assert mark.text().strip() == f"Sending to {HOST}…"
    mark.follow(event(Noted, text="Waiting for the model.", passing=True))
    wait_until(lambda: not mark._least.isActive())
    assert mark.property("state") == "sending", "a notice is no answer"
    mark.follow(event(TextDelta, text="It"))
    assert mark.text().strip() == HOST


@pytest.mark.parametrize(
    "last",
    [
        event(TextDelta, text="It"),
        event(RunFailed, error="down"),
        event(ModelRetry, attempt=2, attempts=3, wait_s=1.0, reason="reset"),
    ],
)
def test_an_answer_at_once_does_not_hide_that_something_was_sent(
    mark: ModelHostButton, wait_until: Wait, last: RunEvent
):
    mark.set_model("gpt-x", HOST)
    mark.follow(sent())
    mark.follow(last)
    assert mark.property("state") == "sending"
    wait_until(lambda: mark.property("state") != "sending")
    assert mark.text().strip() == HOST


def test_a_request_of_a_model_that_is_no_longer_chosen_names_its_own_host(
    mark: ModelHostButton, wait_until: Wait
):
    mark.set_model("gpt-x", HOST)
    mark.follow(sent())
    mark.set_model("offline", "")
    assert mark.text().strip() == f"Sending to {HOST}…"
    mark.follow(event(TextDelta, text="It"))
    wait_until(lambda: mark.text().strip() == "Local")


def test_mouse_space_and_enter_lead_to_the_settings(mark: ModelHostButton):
    pressed: list[int] = []
    mark.clicked.connect(lambda: pressed.append(1))
    QTest.mouseClick(mark, Qt.MouseButton.LeftButton)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Return):
        QTest.keyClick(mark, key)
    assert len(pressed) == 3


def test_a_long_host_and_html_neither_spread_nor_render(mark: ModelHostButton):
    host = f"<b>{'a' * 60}</b>.{'b' * 63}.example"
    mark.set_model("m", host)
    assert mark.sizeHint().width() < 380
    assert host in mark.accessibleName()
    assert "<b>" not in mark.toolTip()
