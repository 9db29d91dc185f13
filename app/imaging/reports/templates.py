"""Report templates: TOML files of sections, shipped and the site's own (docs/report.md)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from app.errors import FileProblem
from app.imaging.reports.report_draft import KINDS, ReportSubject
from app.paths import config_dir, resources_dir
from app.user_files import read_regular

GENERAL = "general"
_LARGEST = 256 * 1024
_REMEDY = "Mend or delete the file; docs/report.md explains its keys."


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A section of a template: its title in the template's languages, and its findings' words.

    Attributes:
        terms: Words in lower case; a finding whose label or site holds one goes into the section.
    """

    key: str
    kind: str
    titles: tuple[tuple[str, str], ...]
    terms: tuple[str, ...] = ()

    def title(self, language: str) -> str:
        """Return its title in a language; in English if it has no other."""
        return _in(language, self.titles)


@dataclass(frozen=True, slots=True)
class Template:
    """A report template.

    Attributes:
        name: Name of its file without the ending.
        modalities: Modalities (CR, CT, ...) that it is for; () for any.
        words: Words of body part or description that it is for; () for any.
    """

    name: str
    titles: tuple[tuple[str, str], ...]
    modalities: tuple[str, ...]
    words: tuple[str, ...]
    sections: tuple[TemplateSection, ...]

    def title(self, language: str) -> str:
        """Return its title in a language; in English if it has no other."""
        return _in(language, self.titles)


def _in(language: str, texts: Iterable[tuple[str, str]]) -> str:
    known = dict(texts)
    return known.get(language) or known["en"]


def templates(folder: Path | None = None) -> tuple[list[Template], list[FileProblem]]:
    """Return the templates, and why files of the site's own cannot be used.

    One of the site's own replaces a shipped one with the same name.

    Args:
        folder: The site's own; by default `reports` in the settings folder.
    """
    own, problems = list[Template](), list[FileProblem]()
    for file in _files_in(folder or config_dir() / "reports"):
        try:
            own.append(parse_template(read_regular(file, _LARGEST).decode("utf-8"), file.stem))
        except (OSError, ValueError, RecursionError) as error:
            reason = f"not a report template: {' '.join(str(error).split())[:200]}"
            problems.append(FileProblem(reason, subject=str(file), remedy=_REMEDY))
    names = {one.name for one in own}
    shipped = (
        parse_template(file.read_text("utf-8"), file.stem)
        for file in _files_in(resources_dir() / "reports")
        if file.stem not in names
    )
    return [*own, *shipped], problems


def _files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml")) if folder.is_dir() else []


def template_for(subject: ReportSubject, known: Iterable[Template]) -> Template:
    """Return the template that fits a study best: by modality, then by body part.

    One that asks for words is taken only where one of them is there. The site's own come first.
    """
    fitting = [
        one
        for one in known
        if (not one.modalities or subject.modality in one.modalities)
        and (not one.words or any(word in subject.words for word in one.words))
    ]
    return max(fitting, key=lambda one: (bool(one.modalities), bool(one.words)))


def parse_template(text: str, name: str) -> Template:
    """Return the template of a TOML file.

    Raises:
        ValueError: It is not in the form; the text says where.
    """
    values = tomllib.loads(text)
    found = values.get("section")
    if not isinstance(found, list) or not found:
        raise ValueError("it has no [[section]]")
    items = cast("list[Any]", found)
    sections = tuple(_section(one) for one in items if isinstance(one, dict))
    keys = [one.key for one in sections]
    if len(set(keys)) < len(items):
        raise ValueError("two sections have the same key, or one is no table")
    return Template(
        name,
        _titles(values, "the template"),
        _texts(values, "modalities"),
        tuple(one.lower() for one in _texts(values, "words")),
        sections,
    )


def _section(values: dict[str, Any]) -> TemplateSection:
    key, kind = values.get("key"), values.get("kind")
    if not isinstance(key, str) or not key:
        raise ValueError("a section has no key")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f'the kind of section "{key}" is none of {", ".join(KINDS)}')
    terms = tuple(one.lower() for one in _texts(values, "terms"))
    return TemplateSection(key, kind, _titles(values, f'section "{key}"'), terms)


def _titles(values: dict[str, Any], what: str) -> tuple[tuple[str, str], ...]:
    english = values.get("title")
    if not isinstance(english, str) or not english:
        raise ValueError(f"{what} has no title")
    german = values.get("title_de")
    return (("en", english), *((("de", german),) if isinstance(german, str) and german else ()))


def _texts(values: dict[str, Any], key: str) -> tuple[str, ...]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(
        isinstance(one, str) for one in cast("list[Any]", found)
    ):
        raise ValueError(f'"{key}" must be a list of texts')
    return tuple(cast("list[str]", found))
