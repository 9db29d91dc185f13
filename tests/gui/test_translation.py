"""The window in German: what menus, start page and dialogs say, and that nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialogButtonBox,
    QLabel,
    QPushButton,
    QWidget,
)

from app import paths
from app.views import translation
from app.views.main_window import MainWindow
from app.views.translation import LanguageSetting, tr, tr_n, use_language
from app.workspace.workspace import Workspace
from installer.translations import read_ts
from tests.gui.viewer_support import FakeDecoder, WaitUntil

pytestmark = pytest.mark.gui


@pytest.fixture
def german(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Widgets that are made now speak German."""
    monkeypatch.setenv("SIGHTLINE_LANGUAGE", "de")
    assert use_language("en") == "de", "the variable goes before the settings"
    yield
    monkeypatch.setenv("SIGHTLINE_LANGUAGE", "en")
    use_language("en")


def made_window(chosen: list[str]) -> MainWindow:
    def choose(code: str) -> bool:
        chosen.append(code)
        return code != "en"

    language = LanguageSetting(lambda: "de", choose)
    return MainWindow(Workspace(), FakeDecoder(), QLabel("chat"), language=language)


@pytest.fixture
def window(german: None, wait_until: WaitUntil) -> Iterator[MainWindow]:
    made = made_window([])
    made.resize(1280, 800)
    made.show()
    wait_until(lambda: not made.busy)
    yield made
    made.quit()
    made.deleteLater()


def test_the_compiled_file_is_that_of_qt_linguist_s():
    folder = paths.resources_dir() / "translations"
    for code in translation.LANGUAGES.keys() - {"en"}:
        compiled = QTranslator()
        assert compiled.load(str(folder / f"sightline_{code}.qm"))
        for source, entry in read_ts(folder / f"sightline_{code}.ts").items():
            numbers = (1, 2) if len(entry.forms) == 2 else (-1,)
            got = [
                compiled.translate(translation.CONTEXT, source, None, number) for number in numbers
            ]
            assert got == entry.forms, "run `python installer/translations.py`"


def test_without_a_translation_texts_are_english(qapp: QApplication):
    assert use_language("xx") == "en"
    assert (tr("Close"), tr("")) == ("Close", "")
    counted = [tr_n("%n image", "%n images", count) for count in (0, 1, 2000)]
    assert counted == ["0 images", "1 image", "2,000 images"]


def test_german_counts_and_qt_s_own_buttons(german: None):
    counted = [tr_n("%n image", "%n images", count) for count in (0, 1, 2000)]
    assert counted == ["0 Bilder", "1 Bild", "2,000 Bilder"]
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    assert box.buttons()[0].text().replace("&", "") == "Abbrechen"
    assert QCoreApplication.translate("QMenuBar", "Corner") != ""


def test_the_window_speaks_german(window: MainWindow, wait_until: WaitUntil):
    titles = [action.text().replace("&", "") for action in window.menuBar().actions()]
    assert titles == ["Datei", "Ansicht", "Bild", "Befunde", "Werkzeuge", "Hilfe"]
    shown = {label.text() for label in window.placeholder.findChildren(QLabel)}
    assert "Öffnen Sie eine Studie" in shown
    buttons = {button.text() for button in window.placeholder.findChildren(QPushButton)}
    assert "Dateien öffnen…" in buttons
    assert window.docks["Findings"].windowTitle() == "Befunde"
    decoder = window.loader.decoder if hasattr(window.loader, "decoder") else None
    del decoder


def cut_off(root: QWidget) -> list[str]:
    """The texts of visible buttons that have less room than they need."""
    return [
        f"{button.text()}: {button.width()} < {button.sizeHint().width()}"
        for button in root.findChildren(QAbstractButton)
        if button.isVisible() and button.text() and button.width() < button.sizeHint().width()
    ]
