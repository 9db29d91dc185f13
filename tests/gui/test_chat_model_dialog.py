"""The language model's settings: nothing blocks, keys are named by their place, tests diagnose."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.errors import SightlineError
from app.views.chat.model_dialog import ModelChoice, ModelDialog

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
REMOTE = ModelChoice("openai", "https://api.example.org/v1", "gpt-x")


@dataclass
class Keys:
    """A key store that notes on which threads it is asked."""

    kept: dict[str, str] = field(default_factory=dict)
    threads: set[threading.Thread] = field(default_factory=set)

    def get(self, name: str) -> str:
        self.threads.add(threading.current_thread())
        return self.kept.get(name, "")

    def set(self, name: str, value: str) -> None:
        self.threads.add(threading.current_thread())
        self.kept[name] = value

    def where(self, name: str) -> str:
        self.threads.add(threading.current_thread())
        return "the system keyring" if name in self.kept else ""

    def would_keep_in(self) -> str:
        return "memory, until Sightline closes"


class Rig:
    """A dialog and what came of it."""

    def __init__(self, choice: ModelChoice, check: Callable[[ModelChoice, str], str]) -> None:
        self.keys = Keys()
        self.applied: list[ModelChoice] = []
        self.checked: list[tuple[ModelChoice, str]] = []

        def noted(choice: ModelChoice, key: str) -> str:
            self.checked.append((choice, key))
            return check(choice, key)

        self.dialog = ModelDialog(choice, self.keys, noted, self.applied.append)
        self.dialog.show()


def fine(choice: ModelChoice, key: str) -> str:
    return f"{choice.model} answered in 0.4 s."


@pytest.fixture
def rig(qapp: object) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def make(choice: ModelChoice = REMOTE, check: Any = fine) -> Rig:
        made.append(Rig(choice, check))
        return made[-1]

    yield make
    for item in made:
        if item.dialog and not item.applied:
            item.dialog.close()


def test_offline_asks_for_nothing_and_says_that_nothing_leaves(rig: Callable[..., Rig]):
    made = rig(ModelChoice())
    dialog = made.dialog
    assert dialog.offline.isChecked()
    assert dialog.url.isHidden() or not dialog.url.isVisible()
    assert dialog.privacy.plain() == "Nothing leaves this computer."
    dialog.apply()
    assert made.applied == [ModelChoice()]


def test_it_names_the_host_that_data_goes_to(rig: Callable[..., Rig]):
    dialog = rig().dialog
    assert "will be sent to api.example.org" in dialog.privacy.plain()
    dialog.url.clear()
    QTest.keyClicks(dialog.url, "http://127.0.0.1:11434/v1")
    assert dialog.privacy.plain() == "The endpoint is on this computer; nothing leaves it."
    dialog.url.clear()
    QTest.keyClicks(dialog.url, "http://far.example/v1")
    assert "not encrypted" in dialog.privacy.plain()


@pytest.mark.parametrize("address", ["", "api.example.org", "ftp://x/v1", "https://", "http://["])
def test_a_wrong_address_cannot_be_used(rig: Callable[..., Rig], address: str):
    made = rig(ModelChoice("openai", address, "gpt-x"))
    assert "http" in made.dialog.problem()
    assert not made.dialog.save.isEnabled()
    made.dialog.apply()
    assert made.applied == []


def test_the_key_is_hidden_kept_by_the_store_and_never_on_the_gui_thread(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    dialog = made.dialog
    wait_until(lambda: "memory, until Sightline closes" in dialog.key_note.text())
    assert dialog.key.echoMode() == QLineEdit.EchoMode.Password
    QTest.keyClicks(dialog.key, "sk-secret")
    dialog.apply()
    wait_until(lambda: made.applied)
    assert made.keys.kept == {"openai": "sk-secret"}
    assert made.applied == [REMOTE]
    assert threading.main_thread() not in made.keys.threads


def test_a_test_says_how_it_went(rig: Callable[..., Rig], wait_until: Wait):
    made = rig()
    made.keys.kept["openai"] = "kept key"
    made.dialog.test()
    assert not made.dialog.test_button.isEnabled()
    wait_until(lambda: "answered" in made.dialog.outcome.plain())
    assert made.checked == [(REMOTE, "kept key")]
    assert made.dialog.test_button.isEnabled()


def test_a_failed_test_gives_the_diagnosis(rig: Callable[..., Rig], wait_until: Wait):
    def refused(choice: ModelChoice, key: str) -> str:
        raise SightlineError("connection refused", remedy="Start the server. <b>Now</b>")

    made = rig(check=refused)
    made.dialog.test()
    wait_until(lambda: "refused" in made.dialog.outcome.plain())
    assert made.dialog.outcome.plain() == "✕ connection refused. Start the server. <b>Now</b>"


def test_a_hanging_test_blocks_neither_window_nor_close(rig: Callable[..., Rig], wait_until: Wait):
    gate = threading.Event()

    def hangs(choice: ModelChoice, key: str) -> str:
        gate.wait(10)
        return "late"

    made = rig(check=hangs)
    made.dialog.test()
    wait_until(lambda: made.checked)
    made.dialog.model.setText("")
    QTest.keyClicks(made.dialog.model, "another")  # what was tested is no longer what is entered
    gate.set()
    wait_until(lambda: not any(t.name == "sightline-settings" for t in threading.enumerate()))
    assert "late" not in made.dialog.outcome.plain()
