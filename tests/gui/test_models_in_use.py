"""Models and marks in the real window: menus, settings, a marked box that is asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from app.tools.chest.plan import PLAN
from app.views.models.models_window import ModelsWindow
from app.workspace import drawing
from tests.gui import test_settings_in_use
from tests.gui.canvas_scene import move
from tests.gui.chat_support import picture
from tests.gui.hands import choose, click, open_page
from tests.gui.test_settings_in_use import Opened

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]

Wait = Callable[..., None]
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
home, opened = test_settings_in_use.home, test_settings_in_use.opened


@pytest.fixture
def made(opened: Callable[[], Opened]) -> Opened:
    return opened()


def shown(made: Opened) -> list[ModelsWindow]:
    return [one for one in made.window.findChildren(ModelsWindow) if one.isVisible()]


def test_the_tools_menu_opens_the_models_and_closing_the_window_ends_them(
    made: Opened, wait_until: Wait
):
    made.window.actions_.models.trigger()
    wait_until(lambda: shown(made))
    (window,) = shown(made)
    wait_until(lambda: window.model.rowCount() > 0)
    assert window.model.find("thorax-net") >= 0, "the shipped cards"
    made.window.close()
    assert not window.isVisible()


def test_the_settings_page_of_the_tools_opens_them_above_itself(made: Opened, wait_until: Wait):
    dialog = made.settings()
    open_page(dialog, "Tools")
    click(dialog.tools.models_button)
    wait_until(lambda: shown(made))
    (window,) = shown(made)
    assert window.parent() is dialog
    wait_until(lambda: window.model.rowCount() > 0)
    window.close()
    dialog.close()


def test_where_models_run_and_how_long_they_stay_is_kept_and_in_use_at_once(
    made: Opened, monkeypatch: pytest.MonkeyPatch
):
    told: list[float | None] = []
    monkeypatch.setattr(made.program.host, "end_when_idle", told.append)
    dialog = made.settings()
    open_page(dialog, "Tools")
    part = dialog.tools
    assert (part.device.value, part.idle.value()) == ("auto", 10)
    choose(part.device, "The processor")
    part.idle.setFocus()
    part.idle.selectAll()
    QTest.keyClicks(part.idle, "3")
    made.save(dialog)
    assert (made.program.settings.device, made.program.settings.idle_minutes) == ("cpu", 3)
    assert told == [180]


def test_a_marked_box_is_asked_about_and_the_card_leads_to_the_model_that_is_not_there(
    made: Opened, wait_until: Wait, tmp_path: Path
):
    window, actions = made.window, made.window.actions_
    window.open_paths([picture(tmp_path / "film.png", 300)])
    wait_until(lambda: window.canvas.picture is not None and not window.busy, timeout=30)
    assert not actions.segment.isEnabled()
    actions.mark_box.trigger()
    assert actions.mark_box.isChecked()
    _drag(made, (60, 60), (200, 180))
    assert actions.segment.isEnabled()
    (drawn,) = window.workspace.shown_marks()
    assert drawn.provenance.tool == drawing.BOX
    actions.mark_box.trigger()
    menu = _menu(made, wait_until)
    assert actions.segment in menu.actions()
    menu.setActiveAction(actions.segment)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    wait_until(lambda: made.chat.conversation.runs)
    run = made.chat.conversation.runs[-1]
    assert run.question == PLAN.marked_question
    wait_until(made.chat.is_idle, timeout=30)
    (card,) = run.cards.values()
    assert card.tool == "medsam2_segment"
    assert card.missing == ("medsam2",)
    assert card.models_button is not None
    click(card.models_button)
    wait_until(lambda: shown(made) and shown(made)[0].chosen == "medsam2")


def _drag(made: Opened, start: tuple[float, float], end: tuple[float, float]) -> None:
    canvas = made.window.canvas
    view = canvas.viewport()
    first, last = (canvas.to_widget(*place).toPoint() for place in (start, end))
    QTest.mousePress(view, LEFT, pos=first)
    for part in (1, 2, 3):
        move(view, first + (last - first) * part / 3, LEFT)
    QTest.mouseRelease(view, LEFT, pos=last)


def _menu(made: Opened, wait_until: Wait) -> QMenu:
    canvas = made.window.canvas
    middle: QPoint = canvas.to_widget(150, 150).toPoint()
    QTest.mouseClick(canvas.viewport(), RIGHT, pos=middle)
    place = canvas.to_image(QPointF(middle))
    assert place.x() == pytest.approx(150, abs=2)

    def menus() -> list[QMenu]:
        found = made.window.findChildren(QMenu)
        return [menu for menu in found if menu.isVisible()]

    wait_until(menus)
    return menus()[0]
