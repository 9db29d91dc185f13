"""The window is shown before the assistant is there; what is asked of it meanwhile is not lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from PySide6.QtWidgets import QApplication

from app.settings import Language, Scheme, Settings
from app.views.main_window import MainWindow
from app.views.settings.settings_dialog import SettingsDialog
from app.wiring import Program, ViewRequest
from app.wiring.assistant import Preparation
from app.wiring.program import LANGUAGES, THEMES, USUAL
from app.wiring.window_builder import finish_when_shown, first_window
from tests.gui.viewer_support import WaitUntil

pytestmark = pytest.mark.gui

LATER = ("pydantic", "pyqtgraph", "app.settings", "app.agent", "app.tools", "app.views.chat.dock")
FIRST_WINDOW = f"""
import sys
import app.cli
from app.wiring import Program, ViewRequest
from app.wiring.window_builder import first_window, start_actions
from app.views.application import create_application

application = create_application()
program = Program()
window, _prepare = first_window(program, ViewRequest())
start_actions(program, window, ViewRequest())
window.show()
application.processEvents()
late = [name for name in {LATER!r} if name in sys.modules]
window.quit()
program.close()
print(late)
"""


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.close()


@pytest.fixture
def first(
    qapp: QApplication, program: Program
) -> Iterator[tuple[MainWindow, Callable[[], Preparation]]]:
    made = first_window(program, ViewRequest(llm="offline"))
    yield made
    made[0].quit()


def test_the_first_window_imports_neither_agent_nor_tools():
    done = subprocess.run(
        [sys.executable, "-c", FIRST_WINDOW],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    assert done.stdout.strip() == "[]"


def test_the_assistant_comes_by_itself_once_the_window_is_shown(
    first: tuple[MainWindow, Callable[[], Preparation]], wait_until: WaitUntil
):
    window, prepare = first
    dock = window.docks["Assistant"]
    before = dock.widget()
    finish_when_shown(window, prepare)
    window.show()
    assert window.busy
    assert window.model_host.isHidden()  # not known yet
    wait_until(lambda: not window.busy)
    assert dock.widget() is window.chat is window.assistant is not before
    assert not window.model_host.isHidden()


def test_who_asks_for_the_assistant_before_it_is_there_gets_it_at_once(
    first: tuple[MainWindow, Callable[[], Preparation]],
):
    window, prepare = first
    finish_when_shown(window, prepare)
    window.show()
    settings = window.actions_.open_settings
    assert settings is not None
    assert settings.isEnabled()
    settings.trigger()
    dialog = window.findChild(SettingsDialog)
    assert dialog is not None
    dialog.close()
    assert not window.model_host.isHidden()


def test_closing_the_window_at_once_waits_for_nothing_that_is_not_begun(
    first: tuple[MainWindow, Callable[[], Preparation]],
):
    window, prepare = first
    finish_when_shown(window, prepare)
    window.show()
    began = time.monotonic()
    window.quit()
    assert time.monotonic() - began < 1
    assert window.chat is None


def test_an_assistant_that_cannot_be_made_is_told_and_can_be_asked_for_again(
    first: tuple[MainWindow, Callable[[], Preparation]],
    program: Program,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
):
    window, prepare = first

    def fail(*_: Any) -> Any:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(program, "language_model", fail)
        finish_when_shown(window, prepare)
        window.show()
        wait_until(lambda: window.notices.all)
    assert window.assistant is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", USUAL),
        ("[1]", USUAL),
        ("{", USUAL),
        ('{"language": ["de"], "theme": "dark"}', USUAL),
        ('{"language": "de", "theme": "pink"}', USUAL),
        ('{"language": "de"}', USUAL._replace(language="de")),
        (
            json.dumps({"language": "en", "theme": "light", "reviewer": "Dr. Roth"}),
            ("en", "light", "Dr. Roth"),
        ),
    ],
)
def test_the_first_window_looks_as_the_settings_say(
    program: Program, text: str, expected: tuple[str, str, str]
):
    program.settings_path.write_text(text)
    assert program.appearance == expected


def test_the_usual_appearance_is_that_of_the_settings():
    usual = Settings()
    assert (usual.language, usual.theme, usual.reviewer) == USUAL
    assert set(get_args(Language)) == set(LANGUAGES)
    assert set(get_args(Scheme)) == set(THEMES)
