"""Qt Linguist's files have every text of the program, each with a whole translation."""

from __future__ import annotations

from pathlib import Path

import pytest

from installer import translations
from installer.translations import Entry, faults, program_texts, read_ts

FILES = sorted(translations.FOLDER.glob("sightline_*.ts"))
MOST_UNWRAPPED = 3
"""Texts of the window that are no literal inside `tr`; `--unwrapped` lists them."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_text_has_a_translation_and_no_other_is_kept(path: Path):
    texts, known = program_texts(), read_ts(path)
    again = "run `python installer/translations.py` and translate what is unfinished"
    assert not texts.keys() - known.keys(), again
    assert not known.keys() - texts.keys(), again
    wrong = {source: found for source, entry in known.items() if (found := faults(source, entry))}
    assert not wrong
    counted = {source for source, text in texts.items() if text.one}
    assert counted == {source for source, entry in known.items() if len(entry.forms) > 1}


def test_there_is_a_german_translation():
    assert "sightline_de" in [path.stem for path in FILES]


def test_the_window_s_texts_are_translatable():
    bare = [
        f"{path}:{line}: {text}"
        for path in translations.window_files()
        for line, text in translations.unwrapped(path)
    ]
    assert len(bare) <= MOST_UNWRAPPED, "\n".join(bare)


@pytest.mark.parametrize(
    ("source", "german", "fault"),
    [
        ("Close", "", "no translation"),
        ("{count} of {total}", "{count} von {gesamt}", "other {placeholders}"),
        ("&File", "Datei", "a mnemonic (&) in only one of both"),
        ("Open…", "Öffnen", "other spaces or dots at its ends"),
        (" tokens", "Tokens", "other spaces or dots at its ends"),
        ("Save & close", "Speichern & schließen", ""),
    ],
)
def test_a_fault_is_found(source: str, german: str, fault: str):
    assert faults(source, Entry([german])) == ([fault] if fault else [])


def program_with(tmp_path: Path, code: str) -> Path:
    """A program whose only file in views is this."""
    for file in translations.CONSTANTS:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("", "utf-8")
    for file, names in translations.TABLES.items():
        (tmp_path / "resources/tables").mkdir(parents=True, exist_ok=True)
        tables = "\n".join(f"[{name}]" for name in names)
        (tmp_path / "resources/tables" / file).write_text(tables, "utf-8")
    (tmp_path / "app/views").mkdir(parents=True, exist_ok=True)
    (tmp_path / "app/views/page.py").write_text(code, "utf-8")
    return tmp_path


def test_texts_are_collected_from_code_and_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(translations, "REMARKS", {})
    code = (
        'tr("One " "text")\ntr_n("%n image", "%n images", 2)\nA = translatable("Later")\n'
        'raise FileProblem("no file" if a else f"it has {b} of {c:.1f} bytes",'
        ' remedy="Look again")\n'
        "tr(known)"
    )
    found = program_texts(program_with(tmp_path, code))
    singulars = {source: text.one for source, text in found.items()}
    assert singulars == {
        "One text": "", "%n images": "%n image", "Later": "", "no file": "", "Look again": "",
        "it has {0} of {1} bytes": "",
    }  # fmt: skip


@pytest.mark.parametrize("code", ['tr(f"{count} images")', 'tr("a" + b)', 'tr_n("a", many, 2)'])
def test_a_text_put_together_in_the_code_is_an_error(tmp_path: Path, code: str):
    with pytest.raises(ValueError, match=r"page\.py:1"):
        program_texts(program_with(tmp_path, code))
