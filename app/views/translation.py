"""Translates the texts of the window. The code holds them in English; Qt Linguist's files the rest.

Every text that a user reads is a plain literal inside one of three functions, where
`installer/translations.py` finds it:

    tr("Open files…")
    tr("{count} slices of {total}").format(count=count, total=total)   # values after translation
    tr_n("%n image", "%n images", count)                               # what can be counted
    tr_report(error.reason)                                            # what a lower room says

A literal in a table of a module is marked by `translatable`, since modules are imported before the
language is known, and translated where it is shown: `tr(text)`. Never an f-string, a sum or a
changed text (`.lower()`) inside `tr`. Identifiers, log texts and texts of files are not translated;
numbers keep their decimal point, as in DICOM and in reports. See docs/translation.md.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app import paths

CONTEXT = "Sightline"
"""The context of all texts in the files of Qt Linguist."""

SYSTEM = "system"
"""The choice of the language of the computer."""

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Each language's code and its own name, which is not translated."""

_loaded: list[QTranslator] = []
"""The translators in use, that of our own texts first; empty for English."""


def tr(text: str) -> str:
    """Return a text in the language of the window; one without a translation is unchanged."""
    return QCoreApplication.translate(CONTEXT, text) if _loaded and text else text


def language() -> str:
    """Return the code of the window's language."""
    return Path(_loaded[0].filePath()).stem.rpartition("_")[2] if _loaded else "en"


def tr_n(one: str, many: str, count: int) -> str:
    """Return "1 image", "2,000 images" by `one`, `many`; files hold other languages' forms."""
    if not _loaded:
        return (one if count == 1 else many).replace("%n", f"{count:,}")
    # A comma would be read as that of decimals: a thin space, which ISO 80000-1 recommends.
    figures = f"{count:,}".replace(",", "\u202f")
    found = _loaded[0].translate(CONTEXT, many, None, count)
    return (found or (one if count == 1 else many)).replace("%n", figures)


@lru_cache(maxsize=1000)
def tr_report(text: str) -> str:
    """Return what a lower room reports, such as an error's reason, in the language of the window.

    A text with values is found by its pattern in the file of Qt Linguist, "it has {0} frames"; one
    that is not found is unchanged.
    """
    if not _loaded or not text:
        return text
    whole = tr(text)
    if whole != text:
        return whole
    for source, pieces in _patterns(Path(_loaded[0].filePath()).with_suffix(".ts")):
        if not all(piece in text for piece in pieces):
            continue
        if found := re.fullmatch("(.+?)".join(map(re.escape, pieces)), text):
            values = (tr_report(value) if " " in value else value for value in found.groups())
            return tr(source).format(*values)
    parts = text.split("; ")
    return "; ".join(map(tr_report, parts)) if len(parts) > 1 else text


_SOURCE = re.compile(r"<source>([^<]*\{0\}[^<]*)</source>")


@cache
def _patterns(file: Path) -> list[tuple[str, list[str]]]:
    """Return the sources with values in a .ts file and their pieces between; the fullest first."""
    try:
        found = map(html.unescape, _SOURCE.findall(file.read_text("utf-8")))
    except OSError:
        return []
    sources = sorted(found, key=len, reverse=True)
    return [(source, re.split(r"\{\d+\}", source)) for source in sources]


def translatable(text: str) -> str:
    """Return the text itself, marked as one that `tr` translates where it is shown."""
    return text


@dataclass(frozen=True, slots=True)
class LanguageSetting:
    """The language in the settings: `chosen` returns its code or SYSTEM.

    `choose` saves another one, used from the next start on, and returns whether it was saved.
    """

    chosen: Callable[[], str]
    choose: Callable[[str], bool]


def use_language(choice: str) -> str:
    """Show the window's texts, and Qt's own, in a language; return its code.

    Call it before widgets are made: their texts do not change afterwards. The environment variable
    SIGHTLINE_LANGUAGE goes before `choice`.

    Args:
        choice: A key of LANGUAGES; anything else is the computer's language, or English if there is
            no translation into it.
    """
    wanted = os.environ.get("SIGHTLINE_LANGUAGE") or choice
    code = wanted if wanted in LANGUAGES else _language_of_computer()
    for old in _loaded:
        QCoreApplication.removeTranslator(old)
    _loaded.clear()
    tr_report.cache_clear()
    if code == "en":
        return code
    own = QTranslator()
    if not own.load(f"sightline_{code}.qm", str(paths.resources_dir() / "translations")):
        return "en"
    qt = QTranslator()  # buttons of Qt's own dialogs; a package may lack the file
    qt.load(f"qtbase_{code}.qm", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
    for translator in (own, qt):
        QCoreApplication.installTranslator(translator)
        _loaded.append(translator)
    return code


def _language_of_computer() -> str:
    """Return the code of the first language that the user prefers and that there is; else "en"."""
    wanted = (name.partition("-")[0] for name in QLocale.system().uiLanguages())
    return next((code for code in wanted if code in LANGUAGES), "en")
