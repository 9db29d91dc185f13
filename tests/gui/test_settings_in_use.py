"""Changed settings in the real window: the next question goes to the chosen model."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.process
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.agent.events import Noted, RunEvent
from app.settings import ProviderSettings
from app.views.agent_thread import AgentThread
from app.views.application import show_theme
from app.views.chat.consent import ConsentDialog
from app.views.chat.dock import ChatDock
from app.views.main_window import MainWindow
from app.views.settings.settings_dialog import SettingsDialog
from app.views.theme import DARK, LIGHT, THEME
from app.wiring import Program, ViewRequest, build_window
from tests.gui.hands import choose, click, open_page, retype
from tests.support.openai_server import OpenAIServer, text_reply
from tests.support.small_model import gguf

pytestmark = pytest.mark.gui

Wait = Callable[..., None]


class Opened:
    """The program with its window."""

    def __init__(self, home: Path, wait_until: Wait) -> None:
        self.home = home
        self.wait_until = wait_until
        self.program = Program()
        self.window: MainWindow = build_window(self.program, ViewRequest())
        self.window.show()
        chat = self.window.findChild(ChatDock)
        assert isinstance(chat, ChatDock)
        self.chat = chat

    def settings(self) -> SettingsDialog:
        """Open the settings by the model's badge."""
        click(self.chat.header.badge)
        (dialog,) = [item for item in self.window.findChildren(SettingsDialog) if item.isVisible()]
        return dialog

    def save(self, dialog: SettingsDialog) -> None:
        click(dialog.save_button)
        gone: list[object] = []
        dialog.destroyed.connect(lambda: gone.append(True))
        self.wait_until(lambda: gone)

    @property
    def agent(self) -> AgentThread:
        """What runs the questions."""
        return self.chat._agent

    def ask(self, text: str) -> None:
        """Ask a question and wait for its end."""
        self.begin(text)
        self.wait_until(self.chat.is_idle, timeout=30)

    def begin(self, text: str) -> None:
        """Ask a question."""
        edit = self.chat.composer.edit
        edit.setFocus()
        QTest.keyClicks(edit, text)
        QTest.keyClick(edit, Qt.Key.Key_Return)
        self.wait_until(lambda: not self.chat.is_idle())

    def close(self) -> None:
        self.window.quit()
        self.program.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    for variable in ("SIGHTLINE_OPENAI_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "config").mkdir()
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield tmp_path
    keyring.set_keyring(before)


@pytest.fixture
def opened(home: Path, qapp: QApplication, wait_until: Wait) -> Iterator[Callable[[], Opened]]:
    made: list[Opened] = []

    def make() -> Opened:
        made.append(Opened(home, wait_until))
        return made[-1]

    yield make
    for item in made:
        item.close()


def test_the_next_question_goes_to_the_model_that_was_chosen_with_the_typed_key(
    opened: Callable[[], Opened], home: Path
):
    with OpenAIServer([text_reply("From the endpoint.")] * 2) as server:
        here = opened()
        dialog = here.settings()
        choose(dialog.model.provider, "OpenAI-compatible endpoint")
        form = dialog.model.forms["openai"]
        retype(form.url, server.url)
        retype(form.model, "test-model")
        QTest.keyClicks(form.key.edit, "sk-typed")
        open_page(dialog, "Limits")
        dialog.limits.fields["steps"].setFocus()
        dialog.limits.fields["steps"].selectAll()
        QTest.keyClicks(dialog.limits.fields["steps"], "3")
        here.save(dialog)
        assert "test-model" in here.chat.header.badge.accessibleName()
        here.ask("Hello")
        assert [each["model"] for each in server.requests] == ["test-model"]
        assert server.headers[0]["authorization"] == "Bearer sk-typed"
    saved = json.loads((home / "config" / "settings.json").read_text())
    assert saved["llm"]["openai"]["base_url"] == server.url
    assert saved["limits"]["steps"] == 3
    leaked = [
        path for path in home.rglob("*") if path.is_file() and b"sk-typed" in path.read_bytes()
    ]
    assert leaked == []


def test_the_mark_follows_the_model_and_nothing_is_sent_there_unasked(
    opened: Callable[[], Opened], wait_until: Wait
):
    here = opened()
    assert here.window.model_host.text().strip() == "Local"
    dialog = here.settings()
    choose(dialog.model.provider, "OpenAI-compatible endpoint")
    form = dialog.model.forms["openai"]
    retype(form.url, "https://llm.example.org:8443/v1")
    retype(form.model, "test-model")
    QTest.keyClicks(form.key.edit, "sk-typed")
    here.save(dialog)
    assert here.window.model_host.text().strip() == "llm.example.org:8443"
    here.begin("Hello")
    wait_until(lambda: here.window.findChildren(ConsentDialog))
    (question,) = here.window.findChildren(ConsentDialog)
    assert question.view.facts["Host"].plain() == "llm.example.org:8443"
    wait_until(question.yes.isEnabled)
    QTest.keyClick(question.area, Qt.Key.Key_Escape)
    wait_until(here.chat.is_idle)
    run = here.chat.conversation.runs[-1]
    assert run.ended == "run_failed"
    assert run.notice is not None
    assert "Nothing was sent." in run.notice.view.plain()
    assert run.notice.property("tone") == "muted", "a no of the user's is no error"
    assert here.window.model_host.property("state") != "sending"
    click(here.window.model_host)
    (settings,) = [item for item in here.window.findChildren(SettingsDialog) if item.isVisible()]
    assert settings.pages.currentWidget() is settings.privacy
    settings.close()


def test_the_menu_opens_the_settings_too(opened: Callable[[], Opened]):
    here = opened()
    action = here.window.actions_.open_settings
    assert action.isVisible()
    assert action.shortcut().toString() == "Ctrl+,"
    action.trigger()
    (dialog,) = here.window.findChildren(SettingsDialog)
    assert dialog.isVisible()
    dialog.close()


def test_what_a_limit_leads_to_is_the_page_of_the_limits(opened: Callable[[], Opened]):
    here = opened()
    here.chat.limits_wanted.emit()
    (dialog,) = here.window.findChildren(SettingsDialog)
    assert dialog.pages.currentWidget() is dialog.limits
    dialog.close()


def test_settings_that_do_not_work_leave_the_window_open_and_say_so(
    opened: Callable[[], Opened], home: Path
):
    llm = {"kind": "azure", "azure": {"base_url": "not an address", "model": "m"}}
    (home / "config" / "settings.json").write_text(json.dumps({"llm": llm, "limits": {"steps": 0}}))
    here = opened()
    shown = [notice.accessibleName() + notice_text(notice) for notice in here.window.notices.all()]
    assert any("not a web address" in text for text in shown)
    assert any("steps" in text for text in shown)
    assert "Offline" in here.chat.header.badge.accessibleName()
    dialog = here.settings()
    assert dialog.model.kind == "azure", "what was written can be mended"
    assert not dialog.save_button.isEnabled()
    dialog.close()


def notice_text(notice: object) -> str:
    from PySide6.QtWidgets import QLabel, QWidget

    assert isinstance(notice, QWidget)
    return " ".join(label.text() for label in notice.findChildren(QLabel))


def test_a_local_model_that_is_no_longer_chosen_is_ended(
    opened: Callable[[], Opened], tmp_path: Path, wait_until: Wait
):
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    here = opened()
    dialog = here.settings()
    choose(dialog.model.provider, "Model on this computer")
    retype(dialog.model.forms["local"].path, str(file))
    here.save(dialog)
    fields = ProviderSettings(path=str(file), context_tokens=8_192)
    (model,) = here.program.models._local.values()
    assert list(here.program.models._local) == [fields]
    assert "small" in here.chat.header.badge.accessibleName()
    dialog = here.settings()
    choose(dialog.model.provider, "Offline planner")
    here.save(dialog)
    wait_until(lambda: not here.program.models.is_cached(model))


@pytest.mark.slow
@pytest.mark.timeout(600)  # a minute and a half alone
def test_a_real_model_on_this_computer_is_tried_chosen_asked_and_ended(
    opened: Callable[[], Opened], wait_until: Wait
):
    file = gguf()
    here = opened()
    dialog = here.settings()
    choose(dialog.model.provider, "Model on this computer")
    form = dialog.model.forms["local"]
    retype(form.path, str(file))
    wait_until(lambda: "of memory" in form.file_note.text())
    click(dialog.model.test_button)
    assert "half a minute" in dialog.model.outcome.plain()
    wait_until(lambda: dialog.model.outcome.plain() == "This model can be used.")
    assert "is loaded and answers" in dialog.model.steps.plain()
    wait_until(lambda: not servers())
    here.save(dialog)
    assert not servers(), "nothing runs before the first question"
    events: list[RunEvent] = []
    here.agent.run_event.connect(events.append)
    here.begin("Say hello.")
    wait_until(lambda: any(event.kind == "text_delta" for event in events), timeout=600)
    assert len(servers()) == 1
    here.agent.stop()  # so small a model may go on for two thousand words
    wait_until(here.chat.is_idle)
    assert next(event.text for event in events if isinstance(event, Noted)).endswith(
        "The first answer can take half a minute and more."
    )
    dialog = here.settings()
    choose(dialog.model.provider, "Offline planner")
    here.save(dialog)
    wait_until(lambda: not servers())


def servers() -> list[multiprocessing.process.BaseProcess]:
    """The processes of language models that this one started."""
    return [each for each in multiprocessing.active_children() if "language" in each.name]


@pytest.mark.stall_limit(4000)  # Qt restyles what every test of this process has left, too
def test_a_theme_chosen_in_the_settings_or_the_menu_is_kept(
    opened: Callable[[], Opened], home: Path
):
    here = opened()
    file = home / "config" / "settings.json"
    try:
        dialog = here.settings()
        open_page(dialog, "Appearance")
        choose(dialog.appearance.theme, "Light")
        here.save(dialog)
        assert THEME.panel == LIGHT.panel
        assert json.loads(file.read_text())["theme"] == "light"
        here.close()
        show_theme("dark")
        again = opened()
        assert THEME.panel == LIGHT.panel, "as it was left"
        again.window.actions_.theme_menu.choices["dark"].trigger()
        assert THEME.panel == DARK.panel
        again.wait_until(lambda: json.loads(file.read_text())["theme"] == "dark")
    finally:
        show_theme("dark")
