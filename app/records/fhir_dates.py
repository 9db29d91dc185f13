"""FHIR dates and times of any precision as spans of time, to sort and to compare them.

A partial date is a span: "2012-02" is that whole month. Spans are in microseconds from the year 1,
the end excluded. Source: FHIR R4, "Data Types", date, dateTime and instant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_FORM = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:T(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?)?)?"
)
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_DAY = 24 * 60 * _MINUTE


@dataclass(frozen=True, slots=True)
class DateSpan:
    """The time that a FHIR date means.

    Attributes:
        low: First moment in UTC; a date without a zone is taken as UTC.
        high: The moment after the last one.
        wall_low: The first moment as a clock on the wall showed it, whatever the zone.
        wall_high: The moment after the last one, so too.
        zoned: Whether the text gives a zone.
    """

    low: int
    high: int
    wall_low: int
    wall_high: int
    zoned: bool


def date_span(text: str) -> DateSpan | None:
    """Return the span of a FHIR date, dateTime or instant; None if it is no such text."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    found = {name: value for name, value in match.groupdict().items() if value is not None}
    try:
        low, length = _start(found)
        shift = _zone_shift(found.get("zone", ""))
    except ValueError:
        return None
    return DateSpan(low - shift, low - shift + length, low, low + length, "zone" in found)


def _start(found: dict[str, str]) -> tuple[int, int]:
    """Return the first moment and the length of a date's parts, whatever its zone."""
    year, month = int(found["year"]), int(found.get("month", "1"))
    day = date(year, month, int(found.get("day", "1"))).toordinal()
    if "month" not in found:
        return day * _DAY, (date(year, 12, 31).toordinal() + 1 - day) * _DAY
    if "day" not in found:
        last = date(year, 12, 31) if month == 12 else date(year, month + 1, 1)
        return day * _DAY, (last.toordinal() + (month == 12) - day) * _DAY
    if "hour" not in found:
        return day * _DAY, _DAY
    hour, minute = int(found["hour"]), int(found["minute"])
    second = int(found.get("second", "0"))
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError("no time of day")
    low = day * _DAY + (hour * 60 + minute) * _MINUTE + second * _SECOND
    if "second" not in found:
        return low, _MINUTE
    fraction = found.get("fraction", "")
    if not fraction:
        return low, _SECOND
    digits = fraction[:6]
    return low + int(digits.ljust(6, "0")), 10 ** (6 - len(digits))


def _zone_shift(zone: str) -> int:
    if zone in ("", "Z"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 14 or minutes > 59:
        raise ValueError("no zone")
    return (hours * 60 + minutes) * _MINUTE * (-1 if zone[0] == "-" else 1)
