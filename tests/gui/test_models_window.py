"""The models window: listed, installed, downloaded, verified, removed, by mouse and keys."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QStyleOptionViewItem, QWidget
from shiboken6 import isValid

from app.tools.hosting.states import ModelState, State
from app.tools.models.status import ModelStatus
from app.tools.models.store import ModelStore
from app.views.models.consent_dialog import ConsentDialog, Question
from app.views.models.models_table import LICENCE, STATE, TITLE, TitleDelegate
from app.views.models.models_window import ModelsWindow, close_models, show_models
from app.views.theme import THEME
from tests.gui.hands import click
from tests.gui.models_support import CARDS, PLAIN, STRICT, FakeHost, Hub, folder_of, weights

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton


@dataclass
class Room:
    """The window and what is around it."""

    window: ModelsWindow
    store: ModelStore
    host: FakeHost
    wait: Wait
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list[Any])

    def state(self, name: str) -> str:
        number = self.window.model.find(name)
        return str(self.window.model.index(number, STATE).data())

    def question(self) -> ConsentDialog:
        self.wait(lambda: self.window.findChildren(ConsentDialog))
        dialog = self.window.findChildren(ConsentDialog)[-1]
        self.wait(lambda: dialog.windowHandle() is not None and dialog.windowHandle().isExposed())
        return dialog

    def rest(self) -> None:
        self.wait(lambda: not self.window.tasks.busy)

    @property
    def said(self) -> str:
        return self.window.tasks.bar.text.text()


@pytest.fixture
def room(qapp: object, tmp_path: Path, wait_until: Wait) -> Iterator[Room]:
    store, host = ModelStore(tmp_path / "models", known=CARDS), FakeHost()
    notes: list[tuple[str, dict[str, Any]]] = []
    window = ModelsWindow(store, host, lambda action, **facts: notes.append((action, facts)))
    window.show()
    wait_until(lambda: window.model.rowCount() == 2)
    yield Room(window, store, host, wait_until, notes)
    window.shut_down()
    window.deleteLater()


def test_each_model_is_listed_and_all_that_is_known_of_it_told(room: Room):
    window = room.window
    titles = [window.model.index(row, TITLE).data() for row in range(2)]
    assert titles == ["Plain net", "Strict net"]
    assert room.state("plain-net") == "Not installed"
    assert window.model.index(0, LICENCE).data() == "Apache 2.0"
    window.table.setFocus()
    QTest.keyClick(window.table, Qt.Key.Key_Down)
    assert window.chosen == "strict-net"
    told = {name: view.plain() for name, (_head, view) in window.details.parts.items()}
    assert window.details.title.text() == "Strict net"
    assert "You shall not use it on patients." in told["Terms"]
    assert "modeling_strict.py" in told["Files"]
    assert "program code" in told["Files"]
    assert told["Memory"] == "1.2 GB (32 bit), 600 MB (bfloat16)"
    assert told["Tested here"] == "Nothing with real weights."
    assert "It knows nothing." in told["Limits"]
    assert "someone/strict-net" in told["Source"]
    assert told["Self-check"] == ""
    assert not window.verify_button.isEnabled()
    assert not window.remove_button.isEnabled()
    assert not window.unload_button.isEnabled()


def test_the_self_check_and_where_facts_were_read_stand_on_the_models_page(room: Room):
    status = room.window.model.status(0)
    card = replace(status.card, sources={"licence": "Second hand: a copy of its page."})
    shown = replace(status, card=card, self_check="failed: 3 of 18 scores differ")
    room.window.details.show_model(shown)
    told = {name: view.plain() for name, (_head, view) in room.window.details.parts.items()}
    assert told["Self-check"] == "Failed: 3 of 18 scores differ"
    assert "Licence: Second hand: a copy of its page." in told["Sources"]
    assert not room.window.details.parts["Self-check"][0].isHidden()


@pytest.mark.stall_limit(150)
def test_a_folder_is_installed_after_a_yes_verified_and_removed(room: Room, tmp_path: Path):
    window = room.window
    window.inspect(folder_of(PLAIN, tmp_path / "brought"))
    question = room.question()
    assert "Install Plain net?" in question.accessibleName()
    assert question.focusWidget() is question.cancel, "no slip of the Enter key installs it"
    click(question.yes)
    room.wait(lambda: room.state("plain-net") == "Installed")
    assert room.said == "Plain net: installed."
    assert room.notes == [
        ("model_installed", {"model": "plain-net", "revision": "", "terms": False, "code": False})
    ]
    assert room.host.forgotten == ["plain-net"]
    room.rest()
    click(window.verify_button)
    room.wait(lambda: room.state("plain-net") == "Installed, intact")
    assert "as it was installed on" in room.said
    (room.store.folder / "plain-net" / "model.safetensors").write_bytes(b"other")
    click(window.verify_button)
    room.wait(lambda: room.state("plain-net") == "Damaged")
    room.rest()
    click(window.remove_button)
    click(room.question().yes)
    room.wait(lambda: room.state("plain-net") == "Not installed")
    assert not (room.store.folder / "plain-net").exists()
    assert room.notes[-1] == ("model_removed", {"model": "plain-net"})


def test_terms_and_code_are_each_asked_for_and_nothing_is_installed_without(
    room: Room, tmp_path: Path
):
    brought = folder_of(STRICT, tmp_path / "brought")
    room.window.inspect(brought)
    question = room.question()
    assert not question.yes.isEnabled()
    QTest.keyClick(question, Qt.Key.Key_Return)
    room.wait(lambda: not room.window.findChildren(ConsentDialog))
    assert room.state("strict-net") == "Not installed"
    room.window.inspect(brought)
    question = room.question()
    (terms,) = question.terms
    assert question.code is not None
    terms.click()
    assert not question.yes.isEnabled(), "the code of this model is needed"
    QTest.keyClick(question.code, Qt.Key.Key_Space)
    assert question.yes.isEnabled()
    click(question.yes)
    room.wait(lambda: room.state("strict-net") == "Installed")
    installed = room.store.find(STRICT)
    assert installed is not None
    assert installed.accepted
    assert installed.code_allowed
    facts = {"model": "strict-net", "revision": "", "terms": True, "code": True}
    assert room.notes == [("model_installed", facts)]


def test_terms_of_many_models_leave_the_buttons_on_the_screen(room: Room):
    terms = [(f"Model {number}", "You shall not.\n" * 20) for number in range(12)]
    asked = Question("Install them?", ("A pack.",), "Install", terms=terms)
    ConsentDialog(asked, lambda _yes: None, room.window).open()
    question = room.question()
    screen = question.screen().availableGeometry()
    assert question.height() <= screen.height()
    assert question.rect().contains(question.yes.geometry())
    question.terms[-1].setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(question.terms[-1], Qt.Key.Key_Backtab)
    QTest.keyClick(question.focusWidget() or question, Qt.Key.Key_Tab)
    room.wait(lambda: not question.terms[-1].visibleRegion().isEmpty())
    for check in question.terms:
        assert not question.yes.isEnabled()
        check.click()
    assert question.yes.isEnabled()
    question.reject()


def test_what_was_copied_there_by_hand_waits_for_its_terms(room: Room):
    folder_of(STRICT, room.store.folder)
    room.window.refresh()
    room.wait(lambda: room.state("strict-net") == "Terms not accepted")
    room.window.choose("strict-net")
    assert room.window.agree_button.isVisible()
    click(room.window.agree_button)
    question = room.question()
    for check in (*question.terms, question.code):
        assert check is not None
        check.click()
    click(question.yes)
    room.wait(lambda: room.state("strict-net") == "Installed")
    assert room.store.status(STRICT).code == "allowed"
    assert not room.window.agree_button.isVisible()
    room.rest()
    (room.store.folder / "strict-net" / "modeling_strict.py").write_bytes(b"x = 2\n")
    room.window.refresh()
    room.wait(lambda: room.state("strict-net") in ("Code changed", "Damaged"))


def test_what_is_still_done_while_the_window_closes_is_noted(
    room: Room, monkeypatch: pytest.MonkeyPatch
):
    folder_of(PLAIN, room.store.folder)
    began, go_on, remove = threading.Event(), threading.Event(), room.store.remove

    def slowly(name: str) -> ModelStatus:
        began.set()
        assert go_on.wait(60)
        return remove(name)

    monkeypatch.setattr(room.store, "remove", slowly)
    room.window.tasks.remove("plain-net")
    room.wait(began.is_set)
    room.window.tasks.close()
    go_on.set()
    room.wait(lambda: room.notes == [("model_removed", {"model": "plain-net"})], timeout=10)


def test_files_that_nothing_is_known_of_are_not_said_to_be_what_they_should_be(room: Room):
    folder_of(PLAIN, room.store.folder)
    room.window.refresh()
    room.wait(lambda: room.state("plain-net") == "Installed")
    room.window.choose("plain-net")
    click(room.window.verify_button)
    room.wait(lambda: "there is nothing to compare it with" in room.said)
    assert "what they should be" not in room.said
    assert THEME.warning in room.window.tasks.bar.text.styleSheet()


def test_a_file_that_says_nothing_of_itself_is_told_and_offered_as_the_chosen_one(
    room: Room, tmp_path: Path
):
    brought = folder_of(PLAIN, tmp_path / "brought").rename(tmp_path / "nameless")
    room.window.choose("plain-net")
    room.window.inspect(brought)
    question = room.question()
    assert question.accessibleName() == "Is it Plain net?"
    click(question.yes)
    room.wait(
        lambda: [q for q in room.window.findChildren(ConsentDialog) if q.yes.text() == "Install"]
    )
    click(room.question().yes)
    room.wait(lambda: room.state("plain-net") == "Installed")


def test_a_model_pack_is_installed_and_a_damaged_one_refused_with_what_to_do(
    room: Room, tmp_path: Path
):
    folder_of(PLAIN, room.store.folder)
    pack = tmp_path / "pack.tar"
    room.store.pack([PLAIN.name], pack)
    room.store.remove(PLAIN.name)
    broken = tmp_path / "broken.tar"
    whole = pack.read_bytes()
    spot = whole.index(weights(2_000)) + 500
    broken.write_bytes(whole[:spot] + b"x" + whole[spot + 1 :])
    room.window.inspect(broken)
    click(room.question().yes)
    room.wait(lambda: "damaged" in room.said)
    room.rest()
    assert room.state("plain-net") == "Not installed"
    room.wait(lambda: not room.window.findChildren(ConsentDialog))
    room.window.inspect(pack)
    click(room.question().yes)
    room.wait(lambda: room.state("plain-net") == "Installed")


def test_an_error_says_what_and_what_to_do(room: Room, tmp_path: Path):
    brought = folder_of(PLAIN, tmp_path / "brought")
    (brought / "model.safetensors").unlink()
    room.window.inspect(brought)
    room.wait(lambda: "model.safetensors" in room.said)
    room.rest()
    assert not room.window.findChildren(ConsentDialog)
    assert room.state("plain-net") == "Not installed"


def test_what_has_no_address_cannot_be_downloaded(room: Room):
    assert room.window.get_button.isEnabled()
    nowhere = replace(PLAIN, repository="")
    room.window.model.put(room.store.status(nowhere))
    room.window._update()
    assert not room.window.get_button.isEnabled()
    assert room.window.get_button.toolTip()


def test_a_download_says_host_and_terms_before_anything_is_asked_of_anyone(
    room: Room, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    made = folder_of(PLAIN, tmp_path / "published")
    hub = Hub({file.name: file.read_bytes() for file in made.iterdir()})
    monkeypatch.setenv("SIGHTLINE_HUB", hub.url)
    try:
        click(room.window.get_button)
        question = room.question()
        assert hub.url.removeprefix("http://") in question.accessibleDescription()
        assert hub.asked == []
        click(question.cancel)
        room.wait(lambda: not room.window.findChildren(ConsentDialog))
        assert hub.asked == []
        click(room.window.get_button)
        click(room.question().yes)
        room.wait(lambda: room.state("plain-net") == "Installed, intact")
        assert room.store.status(PLAIN).revision == "a" * 40
        host = hub.url.removeprefix("http://")
        assert room.notes[0] == ("weights_asked", {"weights": "plain-net", "host": host})
        assert room.notes[1][0] == "model_installed"
    finally:
        hub.close()


@pytest.mark.stall_limit(150)
def test_a_download_shows_how_far_it_is_and_stops_when_it_is_told_to(
    room: Room, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    made = folder_of(PLAIN, tmp_path / "published", size=3_000_000)
    hub = Hub({file.name: file.read_bytes() for file in made.iterdir()})
    monkeypatch.setenv("SIGHTLINE_HUB", hub.url)
    try:
        hub.go_on.clear()
        click(room.window.get_button)
        click(room.question().yes)
        bar = room.window.tasks.bar
        room.wait(lambda: len(hub.asked) > 1)
        room.wait(lambda: room.said.startswith("Downloading"))
        assert bar.bar.isVisible()
        assert not room.window.get_button.isEnabled()
        assert not room.window.install_button.isEnabled()
        click(bar.cancel)
        hub.go_on.set()
        room.rest()
        assert room.state("plain-net") == "Not installed"
        assert room.said.startswith("Stopped")
        assert not bar.bar.isVisible()
        assert room.window.get_button.isEnabled()
    finally:
        hub.close()


def test_what_the_host_does_is_seen_at_once(room: Room, tmp_path: Path):
    room.window.inspect(folder_of(PLAIN, tmp_path / "brought"))
    click(room.question().yes)
    room.wait(lambda: room.state("plain-net") == "Installed")
    room.rest()
    board = room.host.board

    def tell(state: ModelState) -> None:
        thread = threading.Thread(target=board.set, args=("cpu", state))
        thread.start()
        thread.join()

    tell(ModelState("plain-net", State.LOADING))
    room.wait(lambda: room.state("plain-net") == "Loading")
    tell(ModelState("plain-net", State.BUSY, "cpu", "float32", fraction=0.4, left_s=12.0))
    room.wait(lambda: room.state("plain-net") == "Busy 40%, about 12 s left")
    assert room.window.details.state.text() == "Busy 40%, about 12 s left"
    tell(ModelState("plain-net", State.READY, "cpu", "float32", memory=1_300_000_000))
    room.wait(lambda: room.state("plain-net") == "Ready")
    assert room.window.details.state_more.text() == "Loaded on the processor, 32 bit, 1.3 GB"
    click(room.window.unload_button)
    room.wait(lambda: room.state("plain-net") == "Installed")
    assert room.host.unloaded == ["plain-net"]
    tell(ModelState("plain-net", State.FAILED, why="the memory is too small"))
    room.wait(lambda: room.state("plain-net") == "Failed")
    assert room.window.details.state_more.text() == "The memory is too small"


def test_every_button_has_a_name_and_tab_reaches_table_details_and_buttons(room: Room):
    window = room.window
    for button in window.findChildren(QPushButton):
        assert button.text() or button.accessibleName()
        assert not button.autoDefault(), "Enter in the table is no click"
    window.activateWindow()
    room.wait(window.isActiveWindow)
    window.table.setFocus()
    reached: set[QWidget | None] = set()
    for _ in range(20):
        QTest.keyClick(window.focusWidget() or window, Qt.Key.Key_Tab)
        reached.add(window.focusWidget())
    assert {
        window.details,
        window.install_button,
        window.get_button,
        window.close_button,
    } <= reached


@pytest.mark.parametrize("size", [(1240, 760), (760, 480)], ids=["usual", "least"])
def test_titles_and_states_are_seen_and_nothing_is_cut_off_at_the_side(
    room: Room, size: tuple[int, int]
):
    window = room.window
    window.resize(*size)
    table, header = window.table, window.table.horizontalHeader()
    room.wait(lambda: window.width() == size[0] and header.length() <= table.viewport().width())
    assert not table.isColumnHidden(STATE)
    assert header.sectionSize(TITLE) >= 150
    assert table.isColumnHidden(LICENCE) == (size[0] < 1000), "the details have it"
    for button in window.findChildren(QPushButton):
        assert not button.isVisible() or window.rect().contains(
            button.mapTo(window, button.rect().bottomRight())
        )


def test_of_two_long_titles_the_end_is_seen(room: Room):
    table, option = room.window.table, QStyleOptionViewItem()
    delegate = table.itemDelegateForColumn(TITLE)
    assert isinstance(delegate, TitleDelegate)
    delegate.initStyleOption(option, room.window.model.index(0, TITLE))
    assert option.textElideMode == Qt.TextElideMode.ElideMiddle  # pyright: ignore
    assert table.textElideMode() == Qt.TextElideMode.ElideRight, "a state begins with what it is"


def test_closing_hides_it_and_what_is_asked_for_is_chosen_when_it_opens(room: Room):
    parent = QWidget()
    window = show_models(room.store, room.host, lambda *a, **k: None, parent, "strict-net")
    room.wait(lambda: window.chosen == "strict-net")
    click(window.close_button)
    assert not window.isVisible()
    again = show_models(room.store, room.host, lambda *a, **k: None, parent, "plain-net")
    assert again is window
    room.wait(lambda: window.chosen == "plain-net")
    window.shut_down()
    parent.deleteLater()


def test_from_the_settings_it_can_be_used_above_them_and_stays_when_they_close(room: Room):
    parent, settings = QWidget(), QDialog()
    settings.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    settings.open()
    room.wait(lambda: QApplication.activeModalWidget() is settings)
    window = show_models(room.store, room.host, lambda *a, **k: None, parent, "strict-net")
    room.wait(lambda: window.model.rowCount() == 2)
    assert window.parent() is settings
    settings.reject()
    room.wait(lambda: not isValid(settings))
    assert isValid(window)
    assert window.isVisible()
    assert window.parent() is parent
    close_models(parent)
    assert not window.isVisible()
    parent.deleteLater()
