"""The consent dialogue shows the very pictures that would be sent; no slip of a key is a yes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.agent.events import ApprovalRequested, ApprovalResolved
from app.agent.messages import Picture
from app.agent.privacy.consents import Shown, consent_request, picture_request, risky_request
from app.agent.privacy.model_pictures import encode
from app.agent.request import Decision
from app.views.chat import consent
from app.views.chat.consent import ConsentCard, ConsentDialog, PictureWindow
from tests.gui.chat_support import Chat, ask, opened

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
LEFT = Qt.MouseButton.LeftButton
Key = Qt.Key
HOST = "api.example.org:8443"
RISK = "The file does not say whether text is burnt into this image."


@pytest.fixture
def chat(qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.setattr(consent, "QUIET_MS", 150)
    yield from opened(tmp_path / "sessions")


def drawn(folder: Path, number: int = 1, risk: str = RISK) -> Shown:
    """A picture as `app.agent.privacy.model_pictures` keeps it: named by its own bytes."""
    rows, columns = np.indices((300, 400))
    data = encode(((rows * number + columns) % 256).astype(np.uint8), 400, 300)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:24]}.png"
    path.write_bytes(data)
    caption = f"image-{number}: DX, view PA. Full size, 400 x 300 pixels (columns x rows)."
    return Shown(Picture(path=str(path), caption=caption, image_id=f"image-{number}"), "1", risk)


def asked(
    chat: Chat, wait_until: Wait, fields: dict[str, Any], *, armed: bool = True
) -> ConsentDialog:
    """Ask for a consent, and wait for its dialogue."""
    ask(chat, wait_until)
    chat.runner.say(ApprovalRequested, approval_id="a1", **fields)
    wait_until(lambda: chat.run.approvals)
    card = consent_card(chat)
    wait_until(lambda: card.dialog is not None and card.dialog.isVisible())
    assert card.dialog is not None
    if armed:
        wait_until(card.dialog.yes.isEnabled)
    return card.dialog


def consent_card(chat: Chat) -> ConsentCard:
    card = chat.run.approvals["a1"]
    assert isinstance(card, ConsentCard)
    return card


def gone(chat: Chat) -> bool:
    return not any(
        isinstance(widget, ConsentDialog) and widget.isVisible()
        for widget in QApplication.topLevelWidgets()
    )


# -- what is shown


def test_host_model_and_kinds_of_data_are_shown(chat: Chat, wait_until: Wait):
    dialog = asked(chat, wait_until, consent_request("gpt-x", HOST))
    facts = {name: view.plain() for name, view in dialog.view.facts.items()}
    assert facts["Host"] == HOST
    assert facts["Model"] == "gpt-x"
    assert len(facts["What"].splitlines()) == 4
    assert "Your notes" in facts["What"]
    assert "Your question" in facts["What"]
    assert dialog.windowTitle() == "Send to another computer?"
    assert dialog.no.isDefault()
    assert not dialog.yes.isDefault()


def test_a_way_that_is_not_encrypted_is_warned_of(chat: Chat, wait_until: Wait):
    dialog = asked(chat, wait_until, consent_request("gpt-x", HOST, encrypted=False))
    assert dialog.view.warning.isVisible()
    assert "not encrypted (http, not https)" in dialog.view.warning.plain()
    assert HOST in dialog.view.warning.plain()


def test_an_encrypted_way_is_not_warned_of(chat: Chat, wait_until: Wait):
    dialog = asked(chat, wait_until, consent_request("gpt-x", HOST))
    assert not dialog.view.warning.isVisible()


def test_the_pictures_are_the_files_that_would_be_sent(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    shown = [drawn(tmp_path, number) for number in (1, 2)]
    dialog = asked(chat, wait_until, picture_request("gpt-x", HOST, shown))
    for item, widget in zip(shown, dialog.view.pictures, strict=True):
        assert widget.sent is not None
        raw = np.asarray(widget.sent.image.constBits()).reshape(300, 400, 4)[..., 0]
        rows, columns = np.indices((300, 400))
        assert np.array_equal(raw, (rows * int(item.picture.image_id[-1]) + columns) % 256)
        assert widget.risk.text() == RISK
        name = f"Image {item.picture.image_id[-1]}"
        assert widget.button.accessibleName() == f"{name} as it would be sent: enlarge"


@pytest.mark.parametrize("key", [False, True])
def test_a_picture_opens_in_full_size(chat: Chat, wait_until: Wait, tmp_path: Path, key: bool):
    dialog = asked(chat, wait_until, picture_request("gpt-x", HOST, [drawn(tmp_path)]))
    button = dialog.view.pictures[0].button
    if key:
        button.setFocus()
        QTest.keyClick(button, Key.Key_Space)
    else:
        QTest.mouseClick(button, LEFT)
    wait_until(lambda: dialog.findChildren(PictureWindow))
    (large,) = dialog.findChildren(PictureWindow)
    assert large.picture.pixmap().deviceIndependentSize().toSize().toTuple() == (400, 300)
    QTest.keyClick(large, Key.Key_Escape)
    wait_until(lambda: not dialog.findChildren(PictureWindow))
    assert dialog.isVisible(), "Escape closed the picture, and answered nothing"
    assert chat.runner.answers == []


@pytest.mark.parametrize("how", ["gone", "another", "foreign"])
def test_what_cannot_be_shown_cannot_be_allowed(
    chat: Chat, wait_until: Wait, tmp_path: Path, how: str
):
    good, bad = drawn(tmp_path, 1), drawn(tmp_path, 2)
    path = Path(bad.picture.path)
    if how == "gone":
        path.unlink()
    elif how == "another":
        path.write_bytes(Path(good.picture.path).read_bytes())
    else:
        path.write_bytes(b"not a picture")
    fields = picture_request("gpt-x", HOST, [good, bad])
    dialog = asked(chat, wait_until, fields, armed=False)
    wait_until(lambda: dialog.view.failed and dialog.view.pictures[0].sent)
    wait_until(lambda: dialog._armed)
    assert not dialog.yes.isEnabled()
    QTest.mouseClick(dialog.yes, LEFT)
    assert chat.runner.answers == []
    assert "cannot be shown" in dialog._state.text()
    QTest.mouseClick(dialog.no, LEFT)
    assert chat.runner.answers == [("a1", Decision(granted=False))]


@pytest.mark.parametrize("key", [False, True])
def test_a_picture_that_was_not_scrolled_into_view_cannot_be_allowed(
    chat: Chat, wait_until: Wait, tmp_path: Path, key: bool
):
    shown = [drawn(tmp_path, number) for number in (1, 2, 3, 4)]
    fields = picture_request("gpt-x", HOST, shown)
    dialog = asked(chat, wait_until, fields, armed=False)
    dialog.resize(620, 420)
    wait_until(lambda: dialog._armed and dialog.view.complete and dialog._state.text())
    wait_until(lambda: "Scroll down" in dialog._state.text())
    assert not dialog.yes.isEnabled()
    bar = dialog.area.verticalScrollBar()
    for _ in range(60):
        if key:
            QTest.keyClick(dialog.area, Key.Key_Down)
        else:
            bar.setValue(bar.value() + 60)
        QApplication.processEvents()
    wait_until(dialog.yes.isEnabled)
    assert bar.value() == bar.maximum()
    QTest.mouseClick(dialog.yes, LEFT)
    assert chat.runner.answers == [("a1", Decision(granted=True))]


def test_the_second_question_says_why_for_each_picture(
    chat: Chat, wait_until: Wait, tmp_path: Path
):
    dialog = asked(chat, wait_until, risky_request("gpt-x", HOST, [drawn(tmp_path)]))
    assert f"image-1: {RISK}" in dialog.view.detail.plain()
    assert dialog.yes.text() == "Send anyway"


# -- answers


@pytest.mark.parametrize(
    ("how", "granted"),
    [
        ("yes by mouse", True),
        ("yes by keys", True),
        ("no by mouse", False),
        ("enter", False),
        ("escape", False),
        ("closed", False),
    ],
)
def test_an_answer_reaches_the_runner_once(chat: Chat, wait_until: Wait, how: str, granted: bool):
    dialog = asked(chat, wait_until, consent_request("gpt-x", HOST))
    match how:
        case "yes by mouse":
            QTest.mouseClick(dialog.yes, LEFT)
        case "yes by keys":
            press_tab_to(dialog, dialog.yes)
            QTest.keyClick(dialog.yes, Key.Key_Return)
        case "no by mouse":
            QTest.mouseClick(dialog.no, LEFT)
        case "enter":
            QTest.keyClick(dialog.area, Key.Key_Return)
        case "escape":
            QTest.keyClick(dialog.area, Key.Key_Escape)
        case _:
            dialog.close()
    assert chat.runner.answers == [("a1", Decision(granted=granted))]
    wait_until(lambda: gone(chat))
    chat.runner.say(ApprovalResolved, approval_id="a1", granted=granted)
    wait_until(lambda: consent_card(chat).state.full)
    said = "The conversation may be sent to " + HOST if granted else "Not allowed"
    assert consent_card(chat).state.full == said
    assert chat.runner.answers == [("a1", Decision(granted=granted))]


def press_tab_to(dialog: QWidget, wanted: QWidget) -> None:
    for _ in range(20):
        focused = dialog.focusWidget()
        if focused is wanted:
            return
        QTest.keyClick(focused, Key.Key_Tab)
    raise AssertionError("Tab does not lead there")


def test_keys_that_were_meant_for_the_question_field_answer_nothing(
    chat: Chat, wait_until: Wait, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(consent, "QUIET_MS", 60_000)
    dialog = asked(chat, wait_until, consent_request("gpt-x", HOST), armed=False)
    for key in (Key.Key_A, Key.Key_Space, Key.Key_Return, Key.Key_Escape):
        QTest.keyClick(dialog.area, key)
    QTest.mouseClick(dialog.yes, LEFT)
    assert dialog.isVisible()
    assert chat.runner.answers == []
    dialog._quiet.start(0)
    wait_until(dialog.yes.isEnabled)
    QTest.keyClick(dialog.area, Key.Key_Space)
    assert chat.runner.answers == []


def test_enter_sends_nothing(chat: Chat, wait_until: Wait):
    dialog = asked(chat, wait_until, consent_request("gpt-x", HOST))
    assert (dialog.no.isDefault(), dialog.yes.isDefault()) == (True, False)
    QTest.keyClick(dialog.area, Key.Key_Return)
    wait_until(lambda: gone(chat))
    assert [decision.granted for _, decision in chat.runner.answers] == [False]


def test_a_run_that_ends_closes_the_question_without_an_answer(chat: Chat, wait_until: Wait):
    asked(chat, wait_until, consent_request("gpt-x", HOST))
    chat.runner.finish("Stopped.")
    wait_until(lambda: gone(chat))
    assert chat.runner.answers == []
    assert "nothing was done" in consent_card(chat).state.full


def test_another_conversation_takes_the_question_off_the_screen(chat: Chat, wait_until: Wait):
    asked(chat, wait_until, consent_request("gpt-x", HOST))
    chat.dock.new_thread()
    wait_until(lambda: gone(chat))
    assert chat.runner.answers == []


def test_a_question_that_went_with_its_window_comes_back_from_the_card(
    chat: Chat, wait_until: Wait
):
    asked(chat, wait_until, consent_request("gpt-x", HOST))
    chat.dock.hide()
    wait_until(lambda: gone(chat))
    assert chat.runner.answers == []
    chat.dock.show()
    card = consent_card(chat)
    card.ask.setFocus()
    QTest.keyClick(card.ask, Key.Key_Space)
    wait_until(lambda: card.dialog is not None and card.dialog.yes.isEnabled())
    assert card.dialog is not None
    QTest.mouseClick(card.dialog.yes, LEFT)
    assert chat.runner.answers == [("a1", Decision(granted=True))]


def test_the_card_tells_afterwards_what_was_asked(chat: Chat, wait_until: Wait, tmp_path: Path):
    fields = risky_request("gpt-x", HOST, [drawn(tmp_path)])
    dialog = asked(chat, wait_until, fields)
    QTest.mouseClick(dialog.yes, LEFT)
    chat.runner.say(ApprovalResolved, approval_id="a1", granted=True)
    card = consent_card(chat)
    wait_until(lambda: card.state.full == f"Pictures may be sent to {HOST}")
    QTest.mouseClick(card._show, LEFT)
    view = card.view
    assert view is not None
    wait_until(lambda: view.complete)
    assert view.facts["Host"].plain() == HOST


@pytest.mark.parametrize("risk", ["", RISK])
def test_a_yes_to_risky_pictures_is_told_as_half_a_yes(
    chat: Chat, wait_until: Wait, tmp_path: Path, risk: str
):
    fields = picture_request("gpt-x", HOST, [drawn(tmp_path, risk=risk)])
    QTest.mouseClick(asked(chat, wait_until, fields).yes, LEFT)
    chat.runner.say(ApprovalResolved, approval_id="a1", granted=True)
    card = consent_card(chat)
    wait_until(lambda: card.state.full)
    assert ("asked again about" in card.state.full) == bool(risk)
    assert (f"may be sent to {HOST}" in card.state.full) == (not risk)


def test_the_card_says_no_as_well(chat: Chat, wait_until: Wait):
    asked(chat, wait_until, consent_request("gpt-x", HOST))
    card = consent_card(chat)
    card.deny.setFocus()
    QTest.keyClick(card.deny, Key.Key_Space)
    assert chat.runner.answers == [("a1", Decision(granted=False))]
    wait_until(lambda: gone(chat))


def test_html_shows_literally(chat: Chat, wait_until: Wait):
    evil = "<h1>api.openai.com</h1>"
    dialog = asked(chat, wait_until, consent_request(evil, evil))
    assert dialog.view.facts["Host"].plain() == evil
    assert dialog.view.facts["Model"].plain() == evil
