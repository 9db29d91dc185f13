"""The dark and the light theme: readable, chosen in the menu, shown at once in every window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QMenu, QWidget

from app.views import help_dialogs, icons
from app.views.application import show_theme
from app.views.chat.markdown import MarkdownWriter
from app.views.main_window import MainWindow
from app.views.text_view import TextView
from app.views.theme import DARK, LIGHT, THEME, Theme, current, current_sheet
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, activate, found, instance, study

pytestmark = pytest.mark.gui

GROUNDS = ("window", "panel", "raised", "hover", "selected")
INKS = ("text", "text_muted", "accent", "ok", "warning", "error")


@pytest.fixture
def window(qapp: QApplication, tmp_path: Path, wait_until: WaitUntil) -> Iterator[MainWindow]:
    decoder = FakeDecoder()
    decoder.result = found(study(instance("1.1")))
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    made.resize(1280, 800)
    made.show()
    made.open_paths([Path("/images")])
    wait_until(lambda: made.canvas.picture is not None and not made.busy)
    activate(made, wait_until)
    yield made
    show_theme("dark")
    made.quit()
    made.deleteLater()


def luminance(value: str) -> float:
    """Relative luminance of sRGB (WCAG 2.2)."""
    parts = [int(value[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(share * one for share, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_every_text_is_readable_on_what_it_stands_on(theme: Theme):
    pairs = [(ink, ground) for ink in INKS for ground in GROUNDS]
    pairs += [("text_faint", ground) for ground in ("window", "panel", "raised")]
    pairs += [("accent_text", "accent"), ("accent_text", "accent_hover")]
    pairs += [("overlay_text", "canvas"), ("synthetic_text", "synthetic")]
    low = {
        (ink, ground): round(ratio, 2)
        for ink, ground in pairs
        if (ratio := contrast(getattr(theme, ink), getattr(theme, ground))) < 4.5
    }
    assert low == {}


def test_a_colour_stands_for_one_token_so_that_it_can_be_translated():
    names = [one.name for one in fields(Theme) if one.name != "annotation"]
    differing = [name for name in names if getattr(DARK, name) != getattr(LIGHT, name)]
    known = [getattr(theme, name) for theme in (DARK, LIGHT) for name in differing]
    same = [getattr(DARK, name) for name in names if name not in differing]
    assert len(known) == len(set(known))
    assert not set(known) & set(same)
    assert "canvas" not in differing
    assert "overlay_text" not in differing


def choose(window: MainWindow, scheme: str) -> None:
    """Click an entry of View > Theme."""
    menu: QMenu = window.actions_.theme_menu
    menu.popup(window.mapToGlobal(QPoint(60, 60)))
    place = menu.actionGeometry(menu.actions()[["system", "dark", "light"].index(scheme)])
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=place.center())


def ground(widget: QWidget, x: int = 3, y: int = 3) -> str:
    return QColor(widget.grab().toImage().pixel(x, y)).name()


def test_every_open_window_changes_at_once_and_images_stay_on_black(window: MainWindow):
    dialog: QDialog = help_dialogs.shortcuts(window, window.actions_.shortcuts_.key_of)
    dialog.show()
    answer = TextView()
    MarkdownWriter(answer.document()).append("Plain and **bold**")
    corner = window.canvas.grab().toImage()
    assert ground(dialog) == DARK.window
    choose(window, "light")
    assert THEME.window == LIGHT.window
    assert ground(dialog) == LIGHT.window
    assert ground(window.findings_list) == LIGHT.panel
    assert ground(window.menuBar()) == LIGHT.panel
    assert window.canvas.grab().toImage() == corner
    block = answer.document().begin()
    assert {one.format.foreground().color().name() for one in block.textFormats()} == {LIGHT.text}
    choose(window, "dark")
    assert ground(dialog) == DARK.window
    assert {one.format.foreground().color().name() for one in block.textFormats()} == {DARK.text}
    dialog.close()
    answer.close()


def test_icons_and_own_style_sheets_follow(window: MainWindow):
    icon = icons.icon("search", DARK.text)
    label = QLabel("said", window)
    label.setStyleSheet(f"color: {DARK.warning};")
    before = icon.pixmap(16, 16).toImage()
    choose(window, "light")
    assert icon.pixmap(16, 16).toImage() != before
    assert label.styleSheet() == f"color: {LIGHT.warning};"
    assert current(DARK.error) == LIGHT.error
    assert current_sheet(f"a {{ color: {DARK.ok}; image: url(check-dark.svg); }}") == (
        f"a {{ color: {LIGHT.ok}; image: url(check-light.svg); }}"
    )


def test_the_choice_is_told_once_so_that_it_is_kept(window: MainWindow):
    told: list[str] = []
    window.theme_chosen.connect(told.append)
    choose(window, "light")
    assert told == ["light"]
    menu = window.actions_.theme_menu
    menu.aboutToShow.emit()
    assert [one.isChecked() for one in menu.actions()] == [False, False, True]


def test_the_system_s_theme_is_followed_only_where_that_is_chosen(window: MainWindow):
    desktop = QApplication.styleHints().colorSchemeChanged
    choose(window, "system")
    desktop.emit(Qt.ColorScheme.Light)
    assert THEME.window == LIGHT.window
    desktop.emit(Qt.ColorScheme.Dark)
    assert THEME.window == DARK.window
    choose(window, "dark")
    desktop.emit(Qt.ColorScheme.Light)
    assert THEME.window == DARK.window
