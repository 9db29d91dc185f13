"""The settings window: nothing blocks, keys stay with their host, what is entered is used."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QLocale, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QSpinBox,
    QWidget,
)
from shiboken6 import isValid

from app import settings
from app.agent.llm.probe import Probe, Report
from app.agent.llm.providers import ModelChoice, build
from app.agent.messages import Picture
from app.agent.policy import Grants, Policy, Rule
from app.agent.privacy.consents import Consents, Shown, Target
from app.errors import SightlineError
from app.secrets import Secrets, key_name
from app.settings import LimitSettings, ModelSettings, PolicySettings, ProviderSettings, Settings
from app.tools.api import CancelToken
from app.views.settings.fields import Amount, SettingsPage
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from tests.gui.hands import choose, click, open_page, retype, rule_text
from tests.support.fake_tools import FakeTool, Strict, ok
from tests.support.openai_server import OpenAIServer, text_reply

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
REMOTE = ModelSettings(
    kind="openai",
    openai=ProviderSettings(base_url="https://api.example.org/v1", model="gpt-x"),
)
REMOTE_KEY = "openai@api.example.org"
FINE = Report(True, ("✓ gpt-x answers after 0.4 s.",))


@dataclass
class Keys(Secrets):
    """A key store that notes on which threads it is asked."""

    kept: dict[str, str] = field(default_factory=dict)
    threads: set[threading.Thread] = field(default_factory=set)
    variable: str = ""
    stubborn: bool = False

    def get(self, name: str, *, chosen: bool = False) -> str:
        self.threads.add(threading.current_thread())
        return self.kept.get(name, "")

    def set(self, name: str, value: str) -> None:
        self.threads.add(threading.current_thread())
        self.kept[name] = value

    def forget(self, name: str) -> bool:
        self.threads.add(threading.current_thread())
        if not self.stubborn:
            self.kept.pop(name, None)
        return not self.stubborn

    def where(self, name: str) -> str:
        self.threads.add(threading.current_thread())
        return "the system keyring" if name in self.kept else ""

    def would_keep_in(self) -> str:
        return "memory, until Sightline closes"

    def variable_of(self, name: str) -> str:
        return self.variable


@dataclass
class FakeProbe(Probe):
    """Answers at once, and notes what it was asked and on which thread."""

    report: Report | SightlineError = FINE
    names: tuple[str, ...] = ("small", "large")
    gate: threading.Event | None = None
    asked: list[ModelChoice] = field(default_factory=list)
    tokens: list[CancelToken] = field(default_factory=list)
    threads: set[threading.Thread] = field(default_factory=set)

    def diagnose(self, wanted: ModelChoice, cancel: CancelToken) -> Report:
        self.asked.append(wanted)
        self.tokens.append(cancel)
        self.threads.add(threading.current_thread())
        if self.gate is not None:
            self.gate.wait(60)
        if isinstance(self.report, SightlineError):
            raise self.report
        return self.report

    def models(self, wanted: ModelChoice, cancel: CancelToken) -> tuple[str, ...]:
        self.asked.append(wanted)
        self.threads.add(threading.current_thread())
        return self.names

    def about_file(self, path: str) -> Report:
        self.threads.add(threading.current_thread())
        return Report(not path.endswith(".zip"), (f"about {path}",))


class Rig:
    """A window with settings, and what came of it."""

    def __init__(self, chosen: Settings, probe: Any, keys: Any = None) -> None:
        self.keys = keys if keys is not None else Keys()
        self.probe = probe
        self.consents = Consents()
        self.grants = Grants()
        self.applied: list[Settings] = []
        self.told: list[str] = []
        self.apply_threads: list[threading.Thread] = []
        self.refuse: SightlineError | None = None
        self._chosen = chosen
        self.dialog: SettingsDialog | None = None

    def open(self) -> SettingsDialog:
        sources = SettingsSources(self.keys, self.consents, self.grants, self.probe)
        self.dialog = SettingsDialog(self._chosen, sources, self._apply, self.told.append)
        self.dialog.show()
        return self.dialog

    def _apply(self, changed: Settings) -> str:
        self.apply_threads.append(threading.current_thread())
        if self.refuse is not None:
            raise self.refuse
        self.applied.append(changed)
        return "applied"


@pytest.fixture
def rig(qapp: object) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def make(llm: ModelSettings = REMOTE, probe: Any = None, keys: Any = None, **more: Any) -> Rig:
        made.append(Rig(Settings(llm=llm, **more), probe or FakeProbe(), keys))
        return made[-1]

    yield make
    for item in made:
        if item.dialog is not None and isValid(item.dialog):
            item.dialog.close()


def test_offline_asks_for_nothing_and_says_that_nothing_leaves(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig(ModelSettings())
    dialog = made.open()
    assert not any(field.isVisible() for field in dialog.model.findChildren(QLineEdit))
    assert not dialog.model.test_button.isVisible()
    assert dialog.model.privacy.plain() == "Nothing leaves this computer."
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.applied == [Settings()]
    assert threading.main_thread() not in made.apply_threads


def test_it_names_the_host_that_data_goes_to(rig: Callable[..., Rig]):
    dialog = rig().open()
    page = dialog.model
    assert "will be sent to api.example.org" in page.privacy.plain()
    assert "No pixels are sent." in page.privacy.plain()
    click_check(page.forms["openai"].images)
    assert "Pictures are sent only after you are asked again." in page.privacy.plain()
    retype(page.forms["openai"].url, "http://127.0.0.1:11434/v1")
    assert page.privacy.plain() == "The endpoint is on this computer; nothing leaves it."
    retype(page.forms["openai"].url, "http://far.example/v1")
    assert "not encrypted" in page.privacy.plain()


def click_check(box: QAbstractButton) -> None:
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))


@pytest.mark.parametrize(
    "address",
    [
        "api.example.org",
        "ftp://x/v1",
        "https://",
        "http://[",
        "https://me:secret@api.example.org/v1",
        "https://api.example.org/v1?api-key=secret",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_cannot_be_saved(
    rig: Callable[..., Rig], address: str
):
    made = rig()
    dialog = made.open()
    retype(dialog.model.forms["openai"].url, address)
    assert not dialog.save_button.isEnabled()
    assert not dialog.model.test_button.isEnabled()
    assert "address" in dialog.note.text()
    dialog.save()
    assert made.applied == []


def test_without_an_address_the_providers_own_is_meant(rig: Callable[..., Rig]):
    dialog = rig().open()
    retype(dialog.model.forms["openai"].url, "")
    assert "will be sent to api.openai.com" in dialog.model.privacy.plain()
    dialog.model.provider.choose("azure")
    assert not dialog.save_button.isEnabled(), "Azure has no address that all share"


def test_the_key_is_hidden_kept_for_its_host_and_never_on_the_gui_thread(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    dialog = made.open()
    key = dialog.model.forms["openai"].key
    wait_until(lambda: "memory, until Sightline closes" in key.note.text())
    assert "api.example.org only" in key.note.text()
    assert key.edit.echoMode() == QLineEdit.EchoMode.Password
    QTest.keyClicks(key.edit, "sk-secret")
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.keys.kept == {REMOTE_KEY: "sk-secret"}
    assert made.applied == [Settings(llm=REMOTE)]
    assert threading.main_thread() not in made.keys.threads


def test_a_key_typed_for_one_host_is_taken_out_when_the_host_changes(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    dialog = made.open()
    form = dialog.model.forms["openai"]
    QTest.keyClicks(form.key.edit, "sk-secret")
    QTest.keyClicks(form.url, "/")  # another path of the same host
    assert form.key.typed == "sk-secret"
    retype(form.url, "https://other.example/v1")
    assert form.key.typed == ""
    assert "typed for" in form.key.note.text()
    click(dialog.model.test_button)
    wait_until(lambda: made.probe.asked)
    assert made.probe.asked[0].key == ""
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.keys.kept == {}


def test_a_key_typed_for_one_provider_is_not_used_for_another(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    dialog = made.open()
    QTest.keyClicks(dialog.model.forms["openai"].key.edit, "sk-secret")
    dialog.model.provider.choose("anthropic")
    retype(dialog.model.forms["anthropic"].model, "claude")
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.applied[0].llm.kind == "anthropic"
    assert made.keys.kept == {}


@pytest.mark.parametrize("typed", ["sk secret", "schlüssel", "sk\u200b1"])
def test_what_can_be_no_key_is_not_sent_as_one(rig: Callable[..., Rig], typed: str):
    dialog = rig().open()
    dialog.model.forms["openai"].key.edit.setFocus()
    dialog.model.forms["openai"].key.edit.insert(typed)
    QTest.keyClick(dialog.model.forms["openai"].key.edit, Qt.Key.Key_Backspace)
    dialog.model.forms["openai"].key.edit.insert("ü")
    dialog.model.forms["openai"].key.edited.emit()
    assert not dialog.save_button.isEnabled()
    assert "copy it again" in dialog.note.text()


def test_a_kept_key_is_named_by_its_place_and_can_be_forgotten(
    rig: Callable[..., Rig], wait_until: Wait
):
    keys = Keys({REMOTE_KEY: "sk-kept"})
    dialog = rig(keys=keys).open()
    key = dialog.model.forms["openai"].key
    wait_until(lambda: "found in the system keyring" in key.note.text())
    click(key.forget_button)
    wait_until(lambda: "will be kept" in key.note.text())
    assert keys.kept == {}
    assert not key.forget_button.isVisible()


def test_a_key_that_the_keyring_keeps_is_not_said_to_be_forgotten(
    rig: Callable[..., Rig], wait_until: Wait
):
    dialog = rig(keys=Keys({REMOTE_KEY: "sk-kept"}, stubborn=True)).open()
    key = dialog.model.forms["openai"].key
    wait_until(key.forget_button.isVisible)
    click(key.forget_button)
    wait_until(lambda: "did not delete" in key.note.text())


def test_a_variable_that_would_be_sent_is_announced(rig: Callable[..., Rig], wait_until: Wait):
    dialog = rig(keys=Keys(variable="SIGHTLINE_OPENAI_KEY")).open()
    note = dialog.model.forms["openai"].key.note
    wait_until(lambda: "SIGHTLINE_OPENAI_KEY" in note.text())
    assert "sent to api.example.org when you test or save" in note.text()


@pytest.mark.parametrize("name", ["C", "en_US", "de_DE", "fr_FR", "de_CH"])
def test_a_number_is_read_as_it_is_shown_in_every_language(qapp: QApplication, name: str):
    tokens, minutes = Amount(1_024, 10**7, suffix=" tokens", decimals=0), Amount(0, 1_440)
    for amount in (tokens, minutes):
        amount.setLocale(QLocale(name))
    tokens.setValue(33_792)
    tokens.lineEdit().setText(tokens.text().replace("2 t", "3 t"))
    tokens.interpretText()
    assert tokens.value() == 33_793
    for value in (2.5, 10, 1_200):
        minutes.setValue(value)
        minutes.lineEdit().setText(minutes.text())
        minutes.interpretText()
        assert minutes.value() == value


def test_a_test_says_how_it_went(rig: Callable[..., Rig], wait_until: Wait):
    made = rig(keys=Keys({REMOTE_KEY: "kept key"}))
    page = made.open().model
    click(page.test_button)
    assert not page.test_button.isEnabled()
    wait_until(lambda: page.outcome.plain() == "This model can be used.")
    assert page.steps.isVisible()
    assert "answers after 0.4 s." in page.steps.plain()
    assert made.probe.asked == [ModelChoice("openai", REMOTE.openai, "kept key")]
    assert page.test_button.isEnabled()
    assert threading.main_thread() not in made.probe.threads


@pytest.mark.parametrize(
    "report",
    [
        Report(False, ("✓ found", "✕ <i>refused</i>", "Start it. <b>Now</b>")),
        SightlineError("<i>refused</i>", remedy="Start it. <b>Now</b>"),
    ],
)
def test_a_failed_test_gives_the_diagnosis_as_plain_text(
    rig: Callable[..., Rig], wait_until: Wait, report: Any
):
    page = rig(probe=FakeProbe(report=report)).open().model
    click(page.test_button)
    wait_until(lambda: page.outcome.plain().endswith("Start it. <b>Now</b>"))
    assert page.outcome.isVisible()
    assert "<i>refused</i>" in page.steps.plain() + page.outcome.plain()


def test_a_hanging_test_blocks_neither_typing_nor_close_and_is_cancelled(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig(probe=FakeProbe(gate=threading.Event(), report=Report(True, ("late",))))
    dialog = made.open()
    page = dialog.model
    click(page.test_button)
    wait_until(lambda: made.probe.asked)
    retype(page.forms["openai"].model, "another")
    assert made.probe.tokens[0].cancelled, "what was asked about is no longer what is entered"
    assert page.test_button.isEnabled()
    click(page.test_button)
    wait_until(lambda: len(made.probe.asked) == 2)
    dialog.close()
    assert made.probe.tokens[1].cancelled
    made.probe.gate.set()
    wait_until(lambda: not any(t.name == "sightline-settings" for t in threading.enumerate()))
    assert made.told == []


def test_pages_that_were_not_looked_at_change_nothing(rig: Callable[..., Rig], wait_until: Wait):
    limits, policy = LimitSettings(steps=3), PolicySettings(effects={"read": "deny"})
    made = rig(limits=limits, policy=policy)
    dialog = made.open()
    assert dialog.pages.count() == 1
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.applied == [Settings(llm=REMOTE, limits=limits, policy=policy)]


def test_going_back_to_a_page_keeps_what_was_entered(rig: Callable[..., Rig]):
    dialog = rig().open()
    open_page(dialog, "Limits")
    dialog.limits.fields["steps"].setValue(7)
    open_page(dialog, "Tools")
    open_page(dialog, "Limits")
    assert dialog.pages.count() == 3
    assert dialog.current().limits.steps == 7


def test_a_late_answer_is_not_shown(rig: Callable[..., Rig], wait_until: Wait):
    made = rig(probe=FakeProbe(gate=threading.Event(), report=Report(True, ("late",))))
    page = made.open().model
    click(page.test_button)
    wait_until(lambda: made.probe.asked)
    retype(page.forms["openai"].model, "another")
    made.probe.gate.set()
    wait_until(lambda: not any(t.name == "sightline-settings" for t in threading.enumerate()))
    assert "late" not in page.steps.plain() + page.outcome.plain()
    assert not page.outcome.isVisible()


def test_the_endpoints_models_are_listed_to_choose_from(rig: Callable[..., Rig], wait_until: Wait):
    made = rig()
    dialog = made.open()
    form = dialog.model.forms["openai"]
    click(form.list_button)
    wait_until(lambda: form.model.count() == 2)
    assert form.model.text == "gpt-x", "what was typed stays until one is chosen"
    wait_until(form.model.view().isVisible)
    QTest.keyClick(form.model.view(), Qt.Key.Key_Down)
    QTest.keyClick(form.model.view(), Qt.Key.Key_Return)
    assert form.model.text in ("small", "large")
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.applied[0].llm.openai.model in ("small", "large")


def test_a_longer_name_does_not_slip_in_while_typing(rig: Callable[..., Rig], wait_until: Wait):
    form = rig(probe=FakeProbe(names=("gpt-x-expensive",))).open().model.forms["openai"]
    click(form.list_button)
    wait_until(lambda: form.model.count() == 1)
    form.model.hidePopup()
    retype(form.model, "gpt-x")
    assert form.model.text == "gpt-x"


def test_every_providers_fields_are_what_is_saved(rig: Callable[..., Rig], wait_until: Wait):
    made = rig(ModelSettings())
    dialog = made.open()
    page = dialog.model
    choose(page.provider, "Azure OpenAI")
    form = page.forms["azure"]
    retype(form.url, "https://ward.openai.azure.com")
    retype(form.api_version, "2025-01-01")
    retype(form.model, "our-gpt")
    click_check(form.images)
    retype(form.input_price, "2,50")
    retype(form.output_price, "10")
    form.context.setFocus()
    form.context.selectAll()
    QTest.keyClicks(form.context, "128000")
    choose(form.tool_form, "JSON schema")
    choose(page.provider, "Model on this computer")
    retype(page.forms["local"].path, "/models/small.gguf")
    wait_until(lambda: page.forms["local"].file_note.text() == "about /models/small.gguf")
    click(dialog.save_button)
    wait_until(lambda: made.told)
    saved = made.applied[0].llm
    assert saved.kind == "local"
    assert saved.local.path == "/models/small.gguf"
    assert saved.azure == ProviderSettings(
        base_url="https://ward.openai.azure.com",
        model="our-gpt",
        api_version="2025-01-01",
        context_tokens=128_000,
        images=True,
        tool_form="json_schema",
        input_price=2.5,
        output_price=10,
    )
    assert saved.anthropic == ModelSettings().anthropic, "what was not touched is as it was"


@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_model_is_chosen_with_the_systems_own_dialog(
    rig: Callable[..., Rig], wait_until: Wait, tmp_path: Path, which: str
):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    (tmp_path / "folder").mkdir()
    wanted = tmp_path / ("small.gguf" if which == "file" else "folder")
    form = rig(ModelSettings(kind="local")).open().model.forms["local"]
    click(form.file_button if which == "file" else form.folder_button)
    (asked,) = form.findChildren(QFileDialog)
    asked.setDirectory(str(tmp_path))
    asked.selectFile(str(wanted))
    asked.accept()
    wait_until(lambda: Path(form.fields().path) == wanted)
    wait_until(lambda: form.file_note.text() == f"about {form.fields().path}")


@pytest.mark.parametrize("price", ["cheap", "-1", "nan", "1e9"])
def test_a_price_that_is_none_cannot_be_saved(rig: Callable[..., Rig], price: str):
    dialog = rig().open()
    retype(dialog.model.forms["openai"].input_price, price)
    assert not dialog.save_button.isEnabled()
    assert "price" in dialog.note.text()


def test_limits_are_entered_with_their_units_and_restored(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig(limits=LimitSettings(steps=3, cost=0))
    dialog = made.open()
    open_page(dialog, "Limits")
    page = dialog.limits
    fields = page.fields
    assert fields["steps"].text() == "3 requests"
    assert fields["cost"].text() == "no limit"
    click(page.restore)
    assert page.limits() == LimitSettings()
    for name, text in (("tool_calls", "7"), ("minutes", "2.5"), ("tokens", "0")):
        box = fields[name]
        box.setFocus()
        box.selectAll()
        QTest.keyClicks(box, text)
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.applied[0].limits == LimitSettings(tool_calls=7, minutes=2.5, tokens=0)


def test_rules_that_come_before_the_model_can_be_switched_off(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    dialog = made.open()
    open_page(dialog, "Limits")
    box = dialog.limits.rules_first
    assert box.isChecked()
    assert box.accessibleName() == "Rules first"
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Space)
    click(dialog.save_button)
    wait_until(lambda: made.told)
    assert made.applied[0].limits == LimitSettings(rules_first=False)


def test_the_wheel_over_a_field_changes_nothing(rig: Callable[..., Rig]):
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QWheelEvent

    dialog = rig().open()
    open_page(dialog, "Limits")
    box = dialog.limits.fields["steps"]
    at = QPointF(box.rect().center())
    none, up = Qt.MouseButton.NoButton, QPoint(0, 120)
    plain, phase = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    turn = QWheelEvent(at, box.mapToGlobal(at), up, up, none, plain, phase, False)
    QApplication.sendEvent(box, turn)
    assert dialog.limits.limits() == LimitSettings()


def test_a_consent_can_be_withdrawn(rig: Callable[..., Rig]):
    made = rig()
    made.consents.give("thread", "api.example.org", "m")
    seen = Shown(Picture(path="0.png", caption="image-1"), image="1.2.3")
    made.consents.allow(Target("thread", "api.example.org", "m"), seen)
    made.consents.give("thread", "other.example", "m")
    dialog = made.open()
    open_page(dialog, "Privacy")
    page = dialog.privacy
    assert sorted(page.hosts.buttons) == ["api.example.org", "other.example"]
    shown = [label.text() for label in page.findChildren(QLabel)]
    assert "text and results and pictures" in shown
    click(page.hosts.buttons["api.example.org"])
    assert made.consents.hosts() == ("other.example",)
    assert made.consents.hosts("pictures") == ()
    assert list(page.hosts.buttons) == ["other.example"]


def test_the_privacy_page_says_where_the_key_lies_and_what_never_leaves(
    rig: Callable[..., Rig], wait_until: Wait
):
    dialog = rig(keys=Keys({REMOTE_KEY: "sk-kept"})).open()
    open_page(dialog, "Privacy")
    wait_until(lambda: "the system keyring" in dialog.privacy.key_note.text())
    assert "sk-kept" not in dialog.privacy.key_note.text()
    assert "api.example.org" in dialog.privacy.where.plain()
    assert "DICOM" in dialog.privacy.never.plain()


def test_rules_for_tools_become_stricter_and_grants_are_withdrawn(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig(policy=PolicySettings(tools={"known": "deny"}))
    tool = FakeTool("computes", Strict, ok())
    made.grants.grant("thread", tool.spec, {})
    dialog = made.open()
    open_page(dialog, "Tools")
    page = dialog.tools
    assert rule_text(page.tools, "known") == "refused (your rule)"
    choose(page.rules["compute"], "Asks in the chat")
    assert page.rules["write"].findData("allow") < 0, "what acts cannot be set free"
    click(page.answers.withdraw_button)
    assert made.grants.active_grants() == ()
    click(dialog.save_button)
    wait_until(lambda: made.told)
    policy = made.applied[0].policy
    assert policy == PolicySettings(effects={"compute": "ask"}, tools={"known": "deny"})
    assert Policy.from_data(policy.model_dump()).rule(tool.spec) is Rule.ASK


def test_what_cannot_be_used_is_said_and_the_window_stays(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    made.refuse = SightlineError("the model is not there", remedy="Choose another.")
    dialog = made.open()
    click(dialog.save_button)
    wait_until(lambda: "not there" in dialog.note.text())
    assert dialog.isVisible()
    assert dialog.save_button.isEnabled()
    assert made.told == []


def test_settings_saved_while_the_window_is_closed_are_used_all_the_same(
    rig: Callable[..., Rig], wait_until: Wait
):
    made = rig()
    dialog = made.open()
    dialog.save()
    dialog.close()
    del dialog
    made.dialog = None  # nobody holds the window any more
    gc.collect()
    wait_until(lambda: made.told)
    assert len(made.applied) == 1


def test_every_field_is_reached_by_the_keyboard_and_named(rig: Callable[..., Rig]):
    dialog = rig().open()
    dialog.activateWindow()
    kinds = (QLineEdit, QComboBox, QSpinBox, QAbstractButton, QListWidget)
    for row in range(dialog.list.count()):
        dialog.list.setCurrentRow(row)
        page = dialog.pages.currentWidget()
        reachable: set[QWidget] = set()
        widget = dialog.list.nextInFocusChain()
        while widget is not None and widget is not dialog.list:
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible():
                reachable.add(widget)
            widget = widget.nextInFocusChain()
        for kind in kinds:
            for child in page.findChildren(kind):
                inner = child.objectName().startswith("qt_") or isinstance(
                    child.parent(), QComboBox | QSpinBox
                )
                if inner or not child.isVisible() or not child.isEnabled():
                    continue
                assert child in reachable, child
                named = child.accessibleName() or getattr(child, "text", str)()
                assert named, f"{child} has no name for a screen reader"


def test_tab_goes_down_the_page_and_then_to_the_buttons(rig: Callable[..., Rig]):
    dialog = rig(ModelSettings()).open()
    choose(dialog.model.provider, "Azure OpenAI")
    form = dialog.model.forms["azure"]
    retype(form.url, "https://ward.openai.azure.com")
    wanted = [form.url, form.api_version, form.model, form.list_button, form.key.edit]
    wanted += [form.context, form.images, form.input_price, dialog.cancel_button]
    order: list[QWidget] = []
    widget = dialog.model.provider.nextInFocusChain()
    while widget is not None and widget is not dialog.list:
        order.append(widget)
        widget = widget.nextInFocusChain()
    places = [order.index(field) for field in wanted]
    assert places == sorted(places)


def test_enter_in_a_field_saves_and_tests_nothing(rig: Callable[..., Rig], wait_until: Wait):
    made = rig(ModelSettings())
    dialog = made.open()
    choose(dialog.model.provider, "Model on this computer")
    path = dialog.model.forms["local"].path
    path.setFocus()
    QTest.keyClick(path, Qt.Key.Key_Return)
    assert not made.applied  # there is nothing to save yet
    QTest.keyClicks(path, "model.gguf")
    QTest.keyClick(path, Qt.Key.Key_Return)
    wait_until(lambda: made.applied)
    assert not made.probe.asked


def test_the_focus_comes_back_to_the_button_that_tests(rig: Callable[..., Rig], wait_until: Wait):
    dialog = rig().open()
    dialog.activateWindow()
    button = dialog.model.test_button
    wait_until(dialog.isActiveWindow)
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert not button.isEnabled()
    wait_until(button.isEnabled)
    assert button.hasFocus()


def test_the_list_of_a_choice_is_not_in_the_order_of_the_page(
    rig: Callable[..., Rig], capfd: pytest.CaptureFixture[str]
):
    dialog = rig(ModelSettings()).open()
    dialog.model.provider.showPopup()
    dialog.model.provider.hidePopup()
    for number in range(dialog.model.provider.count()):
        dialog.model.provider.setCurrentIndex(number)
    for number in range(dialog.list.count()):
        dialog.list.setCurrentRow(number)
    assert "setTabOrder" not in capfd.readouterr().err


def test_no_text_is_taken_for_rich_text(rig: Callable[..., Rig]):
    dialog = rig().open()
    for number in range(dialog.list.count()):
        dialog.list.setCurrentRow(number)
    for number in range(dialog.model.provider.count()):
        dialog.model.provider.setCurrentIndex(number)
    labels = dialog.findChildren(QLabel)
    assert len(labels) > 60
    assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}


def test_a_key_of_one_host_never_reaches_another_and_never_a_file(
    rig: Callable[..., Rig],
    wait_until: Wait,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    import keyring
    from keyring.backends.fail import Keyring as NoKeyring

    from app.secrets import Secrets

    for variable in ("SIGHTLINE_OPENAI_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    caplog.set_level(logging.DEBUG)
    try:
        with (
            OpenAIServer([text_reply("OK")] * 3) as mine,
            OpenAIServer([text_reply("OK")] * 3) as other,
        ):
            llm = ModelSettings(
                kind="openai", openai=ProviderSettings(base_url=mine.url, model="m")
            )
            made = rig(llm, Probe(build), Secrets())
            dialog = made.open()
            page = dialog.model
            QTest.keyClicks(page.forms["openai"].key.edit, "sk-very-secret")
            click(page.test_button)
            wait_until(lambda: mine.headers)
            wait_until(page.test_button.isEnabled)
            click(dialog.save_button)
            wait_until(lambda: made.told)
            dialog = made.open()
            page = dialog.model
            retype(page.forms["openai"].url, other.url)
            click(page.test_button)
            wait_until(lambda: other.headers)
            wait_until(page.test_button.isEnabled)
            assert all("sk-very-secret" in str(each) for each in mine.headers)
            assert "sk-very-secret" not in str(other.headers) + str(other.requests)
            dialog.close()
        assert made.keys.get(key_name("openai", mine.url)) == "sk-very-secret"
        settings.save(made.applied[0], tmp_path / "settings.json")
        assert "sk-very-secret" not in (tmp_path / "settings.json").read_text()
        assert "sk-very-secret" not in caplog.text
    finally:
        keyring.set_keyring(before)


def test_a_long_host_does_not_push_anything_out_of_the_window(
    rig: Callable[..., Rig], wait_until: Wait
):
    host = f"{'a' * 63}.{'b' * 63}.{'c' * 63}.example"
    fields = ProviderSettings(base_url=f"https://{host}/v1", model="m")
    made = rig(ModelSettings(kind="openai", openai=fields))
    made.consents.give("thread", host, "m")
    dialog = made.open()
    wait_until(lambda: host in dialog.model.forms["openai"].key.note.text())
    wait_until(lambda: host in dialog.privacy.key_note.text())
    for number in range(dialog.list.count()):
        dialog.list.setCurrentRow(number)
        page = dialog.pages.currentWidget()
        assert isinstance(page, SettingsPage)
        wait_until(lambda page=page: page.widget().width() <= page.viewport().width())
    button = dialog.privacy.hosts.buttons[host]
    right = button.mapTo(dialog, button.rect().topRight()).x()
    assert 0 < right < dialog.width()


def test_how_a_tested_model_calls_tools_best_is_saved_for_it(
    rig: Callable[..., Rig], wait_until: Wait
):
    found = replace(FINE, form="json_schema")
    made = rig(probe=FakeProbe(report=found))
    dialog = made.open()
    click(dialog.model.test_button)
    wait_until(lambda: dialog.model.outcome.plain() == "This model can be used.")
    assert dialog.save_button.isEnabled()
    click(dialog.save_button)
    wait_until(lambda: made.told)
    saved = made.applied[0].llm.openai
    assert (saved.tested_model, saved.tested_form) == (REMOTE.openai.model, "json_schema")
    assert saved.form_of_calls == "json_schema"
