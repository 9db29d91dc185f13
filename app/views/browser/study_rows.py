"""The rows of the study list: a study's heading, its warnings, its series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import Qt

from app.imaging.space import projections
from app.imaging.types import Content, Instance, Series, Study
from app.views import wording
from app.views.canvas import synthetic_band
from app.views.translation import tr, tr_report
from app.views.wording import CONTENT_NAMES, ContentName, amount
from app.workspace.studies import key_of

ROW = Qt.ItemDataRole.UserRole
KEYS = Qt.ItemDataRole.UserRole + 1
"""Role of the number of key images in a series."""

"""Qt item role for which the model returns a row's `StudyRow`, `WarningRow` or `SeriesRow`."""


@dataclass(frozen=True)
class StudyRow:
    """The heading row of a study in the study list.

    Attributes:
        age: How long before the patient's latest study it was made, "2 y before"; else "".
    """

    study: Study
    age: str = ""

    @property
    def key(self) -> str:
        """Key that is unique among all rows."""
        return key_of(self.study)

    @cached_property
    def patient(self) -> str:
        """The patient's name or "Unknown patient"; the study's title if `is_plain`."""
        named = wording.person_name(self.study.patient)
        return named or (
            wording.one_line(self.study.title) if self.is_plain else tr("Unknown patient")
        )

    @cached_property
    def is_plain(self) -> bool:
        """Whether the study consists of files without patient data, such as pictures."""
        first = next((item for one in self.study.series for item in one.instances), None)
        known = self.study.patient or self.study.patient_id
        return first is not None and first.kind != "dicom" and not known

    @cached_property
    def detail(self) -> str:
        """Age, Patient ID and study date, or a remark that the file has no patient data."""
        if self.is_plain:
            return tr("No patient data in the file")
        ident = wording.one_line(self.study.patient_id)
        parts = [
            self.age,
            tr("ID {ident}").format(ident=ident) if ident else "",
            wording.date(self.study.date),
        ]
        return "  ·  ".join(part for part in parts if part)

    @cached_property
    def title(self) -> str:
        """The study's title; "" if `is_plain`, since `patient` then shows it."""
        return "" if self.is_plain else wording.one_line(self.study.title)

    @property
    def tip(self) -> str:
        lines = (self.patient, self.title, self.detail, *_marked(self.study.warnings))
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class WarningRow:
    """The row below a study's heading that shows its warnings."""

    study: Study

    @property
    def key(self) -> str:
        """Key that is unique among all rows."""
        return f"{key_of(self.study)}\0warning"

    @cached_property
    def text(self) -> str:
        texts = (wording.sentence(tr_report(text)).rstrip(".") for text in self.study.warnings)
        return " ".join(f"{text}." for text in texts if text)

    @property
    def tip(self) -> str:
        return "\n".join(wording.one_line(tr_report(text)) for text in self.study.warnings)


@dataclass(frozen=True)
class SeriesRow:
    """A row of the study list that shows one series, below its study's heading."""

    study: Study
    series: Series

    @property
    def key(self) -> str:
        return f"{key_of(self.study)}\0{self.series.key}"

    @cached_property
    def title(self) -> str:
        """Description, else body part and view, else number; plus the part of a split series."""
        part = wording.one_line(self.series.split)
        return f"{self._name}, {part}" if part else self._name

    @property
    def _name(self) -> str:
        series, first = self.series, self.first
        if series.description:
            return wording.one_line(series.description)
        texts = (first.get("BodyPartExamined"), projections.projection_name(first)) if first else ()
        known = [wording.one_line(text) for text in texts]
        number = (
            tr("Series {number}").format(number=series.number) if series.number else tr("Series")
        )
        return " ".join(part for part in known if part) or number

    @cached_property
    def detail(self) -> str:
        """Modality and image count; begins "SYNTHETIC, no patient" if a model made the images."""
        modality = wording.one_line(self.series.modality)
        made = tr("SYNTHETIC, no patient") if synthetic_band.model_title(self.first) else ""
        return "  ·  ".join(part for part in (made, modality, amount(self.series)) if part)

    @property
    def content_name(self) -> ContentName:
        """The icon and the nouns for what the series contains, e.g. images or a report."""
        return CONTENT_NAMES[self.series.content]

    @property
    def displayable(self) -> bool:
        return self.series.content is not Content.OTHER

    @property
    def first(self) -> Instance | None:
        return self.series.instances[0] if self.series.instances else None

    @property
    def middle(self) -> Instance | None:
        """The middle instance or None; used as thumbnail, since a stack's ends are mostly empty."""
        instances = self.series.instances
        return instances[len(instances) // 2] if instances else None

    @property
    def tip(self) -> str:
        """The tooltip, one fact per line: title, details, number, sort order and warnings."""
        series, first = self.series, self.first
        number = tr("Series {number}").format(number=series.number) if series.number else ""
        order = tr("Sorted by {order}").format(order=tr(series.order)) if series.order else ""
        note = wording.one_line(tr_report(first.note)) if first else ""
        lines = (self.title, self.detail, number, order, note, *_marked(series.warnings))
        return "\n".join(line for line in lines if line)


Row = StudyRow | WarningRow | SeriesRow


def rows_of(study: Study, age: str = "") -> list[Row]:
    """Return the rows for a study: heading (see `StudyRow.age`), warnings and series."""
    head: list[Row] = [StudyRow(study, age)]
    if study.warnings:
        head.append(WarningRow(study))
    return [*head, *(SeriesRow(study, series) for series in study.series)]


def matching(rows: Sequence[Row], wanted: str) -> list[Row]:
    """Return a study's rows with all words; all if the heading has them."""
    words = wanted.casefold().split()
    head = rows[0].tip.casefold()
    missing = [word for word in words if word not in head]
    if not missing:
        return list(rows)
    found = [
        row
        for row in rows[1:]
        if isinstance(row, SeriesRow) and all(word in row.tip.casefold() for word in missing)
    ]
    return [rows[0], *found] if found else []


def _marked(warnings: tuple[str, ...]) -> list[str]:
    return [f"⚠ {wording.one_line(tr_report(text))}" for text in warnings]
