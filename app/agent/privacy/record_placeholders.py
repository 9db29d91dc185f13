"""What stands for dates, patients and entries of a record in what a remote model receives.

A date becomes "date-N", which counts days from a day that is the conversation's own: order and
distance stay, the date does not. A patient becomes "patient-N" and an entry "entry-N". In the
model's calls and answers the real ones are put back, so that people read dates and names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache
from typing import Any

from app.agent.privacy.confidentiality_profile import word_tables
from app.agent.privacy.record_content import ENTRY_ID

RULES = (
    "What a patient's record says reaches you without what identifies anybody: dates are written "
    'date-N (N counts days, so differences are days; "date-N/month" and "date-N/year" are less '
    "exact), patients patient-N, entries entry-N. Use these as they are, in calls and answers, "
    "and cite entries as [entry-N]: Sightline puts the real ones back. [removed] and [held back] "
    "stay so: say that it is missing."
)
"""What a remote model is told of them."""

_ISO = re.compile(
    r"(?<![\d.-])((?:18|19|20)\d\d)-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01])"
    r"(?:[T ]([01]\d|2[0-3]):?([0-5]\d)(?::?\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?(?![\d-])"
)
_YEAR = re.compile(r"(?:18|19|20)\d\d")
_OTHER = re.compile(
    r"(?<![\d.])\d{1,2}\s?[./-]\s?\d{1,2}\s?[./-]\s?(?:18|19|20)?\d\d(?![\d.])"
    r"|(?<!\d)(?:18|19|20)\d\d[/.](?:0?[1-9]|1[0-2])[/.](?:0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<!\d)(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
)
PLACEHOLDER = re.compile(r"(?:date-\d+(?:/month|/year|\s\d\d:\d\d)?|(?:patient|entry)-\d+)")
_BACK = re.compile(r"\bdate-(\d+)(/month|/year)?\b|\b(patient|entry)-(\d+)\b")
_PARTIAL = re.compile(r"\b(?:[a-z]{1,7}|(?:date|patient|entry)-\d*(?:/[a-z]{0,5})?)\Z")
_STARTS = ("date-", "patient-", "entry-")


class RecordPlaceholders:
    """The placeholders of one conversation; the same for the same id of the conversation."""

    def __init__(self, conversation: str) -> None:
        digest = hashlib.sha256(f"record {conversation}".encode()).digest()
        self._epoch = 640_000 + int.from_bytes(digest[:4], "big") % 30_000
        self._patients: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._entries: dict[str, str] = {}

    def add_patient(self, patient_id: str, name: str) -> None:
        """Give a patient a placeholder."""
        if patient_id and patient_id not in self._patients:
            self._patients[patient_id] = f"patient-{len(self._patients) + 1}"
            self._names[self._patients[patient_id]] = name or patient_id

    def without(self, text: str) -> str:
        """Return a text with placeholders in place of entries, patients' ids and dates."""
        if "/" in text:
            text = ENTRY_ID.sub(lambda found: self._entry(found[0]), text)
        for patient_id, placeholder in self._patients.items():
            if patient_id in text:
                text = re.sub(rf"(?<![\w-]){re.escape(patient_id)}(?![\w-])", placeholder, text)
        for placeholder, name in self._names.items():
            if name in text:
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", placeholder, text)
        text = _ISO.sub(self._day, text)
        text = _OTHER.sub("[removed]", text)
        return _written_dates().sub("[removed]", text)

    def year(self, text: str) -> str:
        """Return the placeholder of a year that stands alone, or the text."""
        if not _YEAR.fullmatch(text):
            return text
        return f"date-{date(int(text), 7, 1).toordinal() - self._epoch}/year"

    def restored(self, text: str, *, names: bool) -> str:
        """Return a text with the real dates, entries and patients.

        `names`: whether a patient's name is put in, for people; else the id, for tools.
        """

        def real(found: re.Match[str]) -> str:
            if found[1]:
                return self._date(int(found[1]), found[2] or "") or found[0]
            if found[3] == "entry":
                return next(
                    (one for one, name in self._entries.items() if name == found[0]), found[0]
                )
            if names:
                return self._names.get(found[0], found[0])
            ids = (one for one, name in self._patients.items() if name == found[0])
            return next(ids, found[0])

        return _BACK.sub(real, text)

    def restored_value(self, value: Any) -> Any:
        """Return a call's arguments with the real values, at any depth."""
        if isinstance(value, str):
            return self.restored(value, names=False)
        if isinstance(value, Mapping):
            return {name: self.restored_value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.restored_value(item) for item in value]
        return value

    def _entry(self, entry_id: str) -> str:
        kind, _, own = entry_id.partition("/")
        if kind == "Patient" and own in self._patients:
            return self._patients[own]
        return self._entries.setdefault(entry_id, f"entry-{len(self._entries) + 1}")

    def _day(self, found: re.Match[str]) -> str:
        year, month, day, hour, minute = found.groups()
        try:
            moment = date(int(year), int(month), int(day or 15))
        except ValueError:
            return "[removed]"
        if day and moment == datetime.now().astimezone().date():
            return "today"  # whose date everybody knows
        number = moment.toordinal() - self._epoch
        if day is None:
            return f"date-{number}/month"
        return f"date-{number}" + (f" {hour}:{minute}" if hour else "")

    def _date(self, number: int, part: str) -> str:
        try:
            day = date.fromordinal(number + self._epoch)
        except (ValueError, OverflowError):
            return ""
        text = day.isoformat()
        return {"/month": text[:7], "/year": text[:4]}.get(part, text)


class RestoredStream:
    """Restores placeholders in a text that comes in pieces."""

    def __init__(self, placeholders: RecordPlaceholders) -> None:
        self._placeholders = placeholders
        self._held = ""

    def take(self, text: str, *, whole: bool = False) -> str:
        """Return what can be shown of the text so far; all of it if the text is `whole`."""
        text = self._held + text
        self._held = ""
        if not whole:
            end = _PARTIAL.search(text)
            if end and any(one.startswith(end[0]) or end[0].startswith(one) for one in _STARTS):
                text, self._held = text[: end.start()], end[0]
        return self._placeholders.restored(text, names=True)


@cache
def _written_dates() -> re.Pattern[str]:
    """Return what finds dates with the month as a word, in the languages of the names' table."""
    lines = word_tables("names.txt")["MONTHS"].splitlines()
    names = {one for line in lines for one in re.split(r"[ |]", line) if one.isalpha()}
    months = "|".join(sorted(names, key=lambda one: (-len(one), one)))
    day = r"\d{1,2}(?:st|nd|rd|th)?\.?"
    year = r"['\u2019]?(?:(?:18|19|20)\d\d|\d\d)"
    return re.compile(
        rf"(?<!\d){day}[\s-](?:of\s|de\s)?(?:{months})\b\.?(?:,?[\s-]{year})?(?!\d)"
        rf"|\b(?:{months})\b\.?\s{day}(?:,?\s{year})?(?!\d)",
        re.IGNORECASE,
    )
