"""The window in German: what menus, start page and dialogs say, and that nothing is cut off."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from PySide6.QtCore import QLocale, QTranslator
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialogButtonBox,
    QLabel,
    QPushButton,
    QWidget,
)

from app import paths
from app.agent.answers.german import is_german
from app.agent.events import ToolFinished, ToolStarted
from app.agent.llm.probe import Probe
from app.agent.messages import Picture
from app.agent.planning import Planner, Scene, ToolPlan, schema_of
from app.agent.policy import Grants
from app.agent.privacy.consents import (
    Consents,
    Shown,
    consent_request,
    picture_request,
    risky_request,
)
from app.agent.privacy.model_pictures import risk_of
from app.imaging.deidentify import copying
from app.imaging.deidentify.options import BURNT_IN
from app.secrets import Secrets
from app.settings import Settings as SettingsFile
from app.tools.registry import load_packs
from app.views import help_dialogs, wording
from app.views.browser.study_rows import ROW as LIST_ROLE
from app.views.chat.conversation import GENERAL_SUGGESTION
from app.views.main_window import MainWindow
from app.views.settings.fields import SettingsPage
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from app.views.translation import (
    CONTEXT,
    LANGUAGES,
    LanguageSetting,
    tr,
    tr_n,
    tr_report,
    use_language,
)
from app.views.viewports.protocol_dialog import ProtocolDialog
from app.views.widgets import ElidedLabel
from app.workspace.hanging import PRIOR_IS_OPEN, Arrangement, Hung
from app.workspace.viewport import Display
from app.workspace.workspace import Workspace
from installer.translations import read_ts
from tests.gui.chat_support import ask, opened
from tests.gui.viewer_support import FakeDecoder, WaitUntil, found, instance, study
from tests.routing.table import SCENES
from tests.unit.imaging.test_stacks import told

pytestmark = pytest.mark.gui


@pytest.fixture
def german(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Widgets that are made now speak German."""
    monkeypatch.setenv("SIGHTLINE_LANGUAGE", "de")
    assert use_language("en") == "de", "the variable goes before the settings"
    yield
    monkeypatch.setenv("SIGHTLINE_LANGUAGE", "en")
    use_language("en")


NARROW = 300
"""The least width of the chat, in px."""

KINDS = (
    {"Modality": "CT", "BurnedInAnnotation": "YES"},
    *({"Modality": name} for name in ("US", "SC", "OT", "XC", "CT")),
)
"""Attributes of images that may show who the patient is, each for another reason."""


class Settings:
    """What the menu reads and changes; a disk that is full from the second choice on."""

    def __init__(self) -> None:
        self.code = "system"

    def choose(self, code: str) -> bool:
        saved, self.code = self.code == "system", code
        return saved


@pytest.fixture
def decoder() -> FakeDecoder:
    return FakeDecoder()


@pytest.fixture
def window(
    german: None, decoder: FakeDecoder, wait_until: WaitUntil, tmp_path: Path
) -> Iterator[MainWindow]:
    known = Settings()
    language = LanguageSetting(lambda: known.code, known.choose)
    layout = tmp_path / "window.ini"
    made = MainWindow(Workspace(), decoder, QLabel("chat"), language=language, layout_file=layout)
    made.resize(1280, 800)
    made.show()
    wait_until(lambda: not made.busy)
    yield made
    made.quit()
    made.deleteLater()


def test_the_compiled_file_is_that_of_qt_linguist_s():
    folder = paths.resources_dir() / "translations"
    for code in LANGUAGES.keys() - {"en"}:
        compiled = QTranslator()
        assert compiled.load(str(folder / f"sightline_{code}.qm"))
        for source, entry in read_ts(folder / f"sightline_{code}.ts").items():
            numbers = range(30) if len(entry.forms) > 1 else (-1,)
            got = {compiled.translate(CONTEXT, source, None, number) for number in numbers}
            assert got == set(entry.forms), "run `python installer/translations.py`"


def test_without_a_translation_texts_are_english(qapp: QApplication):
    assert use_language("xx") == "en"
    assert (tr("Close"), tr("")) == ("Close", "")
    counted = [tr_n("%n image", "%n images", count) for count in (0, 1, 2000)]
    assert counted == ["0 images", "1 image", "2,000 images"]


def test_counts_and_qt_s_own_buttons_are_german(german: None):
    counted = [tr_n("%n image", "%n images", count) for count in (0, 1, 2000)]
    assert counted == ["0 Bilder", "1 Bild", "2\u202f000 Bilder"]
    assert (tr("Close"), tr(""), tr("A series' own name")) == (
        "Schließen", "", "A series' own name",
    )  # fmt: skip
    opened = (Path("/a/1.dcm"), Path("/a/2.dcm"), Path("/a/3.dcm"))
    assert wording.opening_text(opened) == "1.dcm und 2 weitere"
    assert wording.opening_text(opened[:1]) == "1.dcm"
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    assert box.buttons()[0].text().replace("&", "") == "Abbrechen"


@pytest.mark.parametrize(
    ("said", "german_text"),
    [
        ("the file is empty", "die Datei ist leer"),
        ("it has 3 frames; there is no 7th", "es hat 3 Frames; ein 7. gibt es nicht"),
        (
            "this series is not a volume: its images are not parallel",
            "diese Serie ist kein Volumen: die Bilder sind nicht parallel",
        ),
        ("a file's own {0} text", "a file's own {0} text"),
        ("a file's own text; the file is empty", "a file's own text; die Datei ist leer"),
    ],
)
def test_what_lower_rooms_report_is_german(german: None, said: str, german_text: str):
    assert tr_report(said) == german_text


@pytest.mark.parametrize(
    ("warnings", "german_text"),
    [
        (
            told([0, 5, 15, 20, 25, 30]),
            "1 Schicht fehlt nach Schicht 2: 10.00 statt 5.00 mm",
        ),
        (
            told([0, 5, 10, 15, 30, 35, 40, 45, 50]),
            "2 Schichten fehlen nach Schicht 4: 15.00 statt 5.00 mm",
        ),
        (
            told([0, 4, 8, 9.08, 10.16, 17.16, 24.16, 31.16]),
            "der Schichtabstand wechselt von 4.00 auf 1.08 mm nach Schicht 3, "
            "auf 7.00 mm nach Schicht 5",
        ),
        (
            told([0, 2, 4, 6], 0.5, tilt="27"),
            "die Gantry war um 26.6° gekippt: Jede Schicht ist gegen die vorige verschoben",
        ),
    ],
)
def test_warnings_of_a_stack_are_german(german: None, warnings: tuple[str, ...], german_text: str):
    assert [tr_report(warning) for warning in warnings] == [german_text]


def test_how_an_image_is_turned_is_german(german: None):
    turned = {
        Display(flip_h=flip_h, flip_v=flip_v, quarter_turns=turns).turn_text
        for flip_h in (False, True)
        for flip_v in (False, True)
        for turns in range(4)
    } - {""}
    assert {text for text in turned if tr_report(text) == text} == set()


def test_what_is_asked_before_anything_is_sent_is_german(german: None):
    plain = Shown(Picture(path="/a.png", caption="CT", image_id="image-1"), "1.2 0 sha")
    reasons = {risk_of(replace(instance(), attributes=of)) for of in KINDS}
    risky = [replace(plain, risk=reason) for reason in reasons]
    asked = [
        consent_request("m", "a.example", pictures=True, encrypted=False),
        consent_request("m", "a.example"),
        picture_request("m", "a.example", [plain]),
        picture_request("m", "a.example", [plain, *risky]),
        risky_request("m", "a.example", risky[:1]),
    ]
    texts = [
        text
        for one in asked
        for text in (one["title"], one["detail"], one.get("warning", ""), *one["sent"])
        if text
    ]
    assert len(reasons) == 6
    same = [text for text in (*texts, *reasons) if tr_report(text) == text]
    assert not same
    english = [text for text in map(tr_report, texts) if re.search(r"\b(the|and|with|is)\b", text)]
    assert not english


@pytest.mark.parametrize(
    ("preferred", "code"),
    [(["de-AT", "de", "en"], "de"), (["fr-FR", "fr", "de"], "de"), (["fr"], "en"), (["C"], "en")],
)
def test_the_computer_s_language_is_the_first_there_is(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, preferred: list[str], code: str
):
    monkeypatch.delenv("SIGHTLINE_LANGUAGE", raising=False)
    monkeypatch.setattr(QLocale, "uiLanguages", lambda _locale: preferred)
    try:
        assert use_language("system") == code
        assert use_language("en") == "en"
    finally:
        use_language("en")


def texts(root: QWidget, kind: type[QLabel] | type[QPushButton]) -> set[str]:
    return {one.text() for one in root.findChildren(kind)}


def test_the_window_speaks_german(window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil):
    titles = [action.text().replace("&", "") for action in window.menuBar().actions()]
    assert titles == ["Datei", "Ansicht", "Bild", "Befunde", "Werkzeuge", "Hilfe"]
    page = window.placeholder
    assert "Öffnen Sie eine Studie" in texts(page, QLabel)
    assert {"Dateien öffnen…", "Ordner öffnen…"} <= texts(page, QPushButton)
    assert window.docks["Findings"].windowTitle() == "Befunde"
    keys = window.actions_.texts.toolTip(), window.actions_.open_files.toolTip()
    assert "Bildtexte" in keys[0]
    assert "Strg+O" in keys[1]
    decoder.result = found(study(instance("1.1"), instance("1.2")))
    window.open_paths([Path("/images")])
    wait_until(lambda: window.canvas.picture is not None and not window.busy)
    corners = window.canvas.overlay.corners
    assert "Bild 1 / 2" in corners.top_right
    assert any("Pixelabstand unbekannt" in line for line in corners.scale)
    status = window.statusBar()
    assert {"1 Studie geöffnet", "Nicht zur Diagnose"} <= texts(status, QLabel)
    assert "2 Bilder" in window.study_list.model.index(1).data(LIST_ROLE).detail


def test_nothing_in_the_toolbar_and_the_dialogs_is_cut_off(
    window: MainWindow, wait_until: WaitUntil
):
    window.resize(1920, 1000)
    window.viewports.show_layout("2x2")
    wait_until(lambda: not window.busy)
    assert not cut_off(window)
    window.resize(1280, 800)
    wait_until(lambda: not window.busy)
    assert not cut_off(window)
    keys = window.actions_.shortcuts_.key_of
    for dialog in (help_dialogs.about(window), help_dialogs.shortcuts(window, keys)):
        dialog.open()
        wait_until(dialog.isVisible)
        assert not cut_off(dialog)
        assert "Schließen" in texts(dialog, QPushButton)
        dialog.close()
    sources = SettingsSources(Secrets(), Consents(), Grants(), Probe(no_model, lambda _: False))
    dialog = SettingsDialog(SettingsFile(), sources, lambda _changed: None, lambda _: None, window)
    dialog.open()
    for page in ("model", "limits", "tools", "memory", "privacy"):
        dialog.show_page(page)
        shown = dialog.pages.currentWidget()
        wait_until(shown.isVisible)
        assert not cut_off(dialog)
        assert isinstance(shown, SettingsPage)
        inside = shown.widget()
        assert inside.minimumSizeHint().width() <= shown.viewport().width(), page
    dialog.reject()


def test_the_chat_fits_a_narrow_dock_in_german(german: None, tmp_path: Path):
    for chat in opened(tmp_path):
        chat.dock.resize(NARROW, 700)
        inside = chat.dock.conversation.widget()
        assert inside.minimumSizeHint().width() <= chat.dock.conversation.viewport().width()
        chat.workspace.add(found(study(instance())))
        assert inside.minimumSizeHint().width() <= chat.dock.conversation.viewport().width()
        assert not cut_off(chat.dock)


def test_what_the_chat_offers_to_ask_is_asked_in_german(german: None, tmp_path: Path):
    """And means what the English question does: the same tools are planned."""
    registry = load_packs([])
    tools = {tool.spec.name: schema_of(tool) for tool in registry.all()}

    def planned(question: str) -> list[str]:
        notes = SCENES["cells_png" if "cell" in question or "Zell" in question else "cxr_dicom"]
        plan = Planner(registry.plans).interpret(question, Scene(notes, tools)).plan
        return [step.tool for step in plan.steps] if isinstance(plan, ToolPlan) else [plan.text]

    for chat in opened(tmp_path):
        asks = "Fragen: "
        offered = [one.accessibleName().removeprefix(asks) for one in chat.dock.empty.buttons]
        english = [text for text, _ in chat.dock.texts.suggestions] + [GENERAL_SUGGESTION]
        assert len(offered) == len(english) > 5
        for asked, meant in zip(offered, english, strict=True):
            assert asked != meant
            assert is_german([asked])
            assert planned(asked) == planned(meant)


def test_a_card_says_in_german_why_a_tool_failed_and_what_it_warns_of(
    german: None, tmp_path: Path, wait_until: WaitUntil
):
    for chat in opened(tmp_path):
        ask(chat, wait_until, "Is the heart enlarged?")
        said = {
            "a": {"status": "failed", "error": "no patient's record is open", "summary": ""},
            "b": {
                "status": "ok",
                "summary": "Record of Ann Lee (born 1950-02-03): no notes.",
                "output": {"warnings": ["the heart was not found"]},
            },
        }
        for call, fields in said.items():
            chat.runner.say(ToolStarted, call_id=call, tool="t", arguments={})
            chat.runner.say(ToolFinished, call_id=call, tool="t", **fields)
        wait_until(lambda chat=chat: [c.running for c in chat.run.cards.values()] == [False] * 2)
        failed, done = chat.run.cards["a"], chat.run.cards["b"]
        shown = (failed.error, done.warning, done.summary)
        german_texts = [
            "keine Patientenakte ist offen",
            "⚠ das Herz wurde nicht gefunden",
            "Akte von Ann Lee (geboren 1950-02-03): keine Notizen.",
        ]
        for one, text in zip(shown, german_texts, strict=True):
            assert one is not None
            wait_until(lambda one=one, text=text: one.plain() == text)
        chat.runner.finish("Fertig.")
        wait_until(lambda chat=chat: chat.run.ended and chat.dock.is_idle())


def no_model(_choice: object) -> NoReturn:
    raise AssertionError("no model is tested here")


def cut_off(root: QWidget) -> list[str]:
    """The texts of visible buttons, and of labels of one line, that have too little room."""
    widgets = [*root.findChildren(QAbstractButton), *root.findChildren(QLabel)]
    return [
        f"{one.text()}: {one.width()} < {one.minimumSizeHint().width()}"
        for one in widgets
        if one.isVisible()
        and one.text()
        and not isinstance(one, ElidedLabel)
        and not (isinstance(one, QLabel) and one.wordWrap())
        and one.width() < one.minimumSizeHint().width()
    ]


def test_the_language_is_chosen_in_the_menu(window: MainWindow, wait_until: WaitUntil):
    menu = window.actions_.language_menu
    menu.aboutToShow.emit()
    checked = [action.text() for action in menu.actions() if action.isChecked()]
    assert [action.text() for action in menu.actions()] == [
        "Wie der Computer",
        "English",
        "Deutsch",
    ]
    assert checked == ["Wie der Computer"]
    menu.choices["de"].trigger()
    wait_until(lambda: window.notices.all())
    (notice,) = window.notices.all()
    assert notice.title.text() == "Sprache gewählt"
    assert "ab dem nächsten Start" in notice.text.text()
    menu.aboutToShow.emit()
    assert menu.choices["de"].isChecked()
    notice.dismiss()
    menu.choices["en"].trigger()
    wait_until(lambda: window.notices.all())
    assert (
        window.notices.all()[0].title.text() == "Die Einstellungen konnten nicht gespeichert werden"
    )


def test_a_hanging_protocol_tells_in_german_what_it_is_and_how_to_undo_it(
    window: MainWindow, wait_until: WaitUntil
):
    hanging = window.hanging
    hanging.protocols.load()
    protocol = next(one for one in hanging.protocols.all if one.match.prior)
    hanging.hang(
        Arrangement(protocol, tuple(Hung(None) for _ in protocol.slots), f"CT, {PRIOR_IS_OPEN}")
    )
    texts = [one.text() for told in window.notices.all() for one in told.findChildren(QLabel)]
    assert any("CT, eine Voruntersuchung des Patienten ist geöffnet" in text for text in texts)
    assert any("Strg+Z" in text for text in texts)
    dialog = ProtocolDialog(hanging.protocols, lambda: None, window)
    names = [dialog.list.item(row).text() for row in range(dialog.list.count())]
    assert "CT: aktuell neben Voruntersuchung" in names
    dialog.deleteLater()


def test_what_a_de_identified_copy_tells_is_german(german: None) -> None:
    texts = (*(copying.LIKELY, copying.FACE, copying.VIDEO, copying.HIDDEN_OVERLAY), BURNT_IN)
    texts = (*texts, copying.BLANKED, copying.HIGH_BITS, *left_out_reasons())
    assert [text for text in texts if tr_report(text) == text] == []


def left_out_reasons() -> list[str]:
    """Return every reason and remedy with which a file is left out."""
    tree = ast.parse(Path(copying.__file__).read_text("utf-8"))
    found = [text for text in copying._LEFT_OUT.values() if text]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_LeftOut", "_problem"):
            found += [
                one.value
                for one in node.args
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
    assert len(found) > 12
    return found
