"""Numbers in texts and results: units, decimals, roundings, and whether two are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from app.agent.answers.german import is_german
from app.agent.planning import Vocabulary, tokens_of
from app.paths import resources_dir

_SPELLED = {
    "times": "x",
    "mal": "x",
    "×": "x",
    "mcg": "µg",
    "millimet": "mm",
    "centimet": "cm",
    "zentimet": "cm",
    "per": "%",
    "prozent": "%",
    "millilit": "ml",
    "mililit": "ml",
    "lit": "l",
    "degree": "°",
    "grad": "°",
    "pixel": "px",
    "year": "years",
    "jahr": "years",
    "day": "days",
    "tag": "days",
    "week": "weeks",
    "woche": "weeks",
    "month": "months",
    "monat": "months",
    "zoll": "inch",
    "ml/min": "ml/min",
    "hounsfield": "hu",
    "he": "hu",
    "inch": "inch",
}
"""Beginnings of units that are written out."""
_UNITS = (
    r"mm²|mm2|cm²|cm2|mm³|mm3|cm³|cm3|cc|mm(?!Hg)|cm|px|pixels?|%|HU|HE|µm|um(?!\s+\d)"
    r"|(?i:ml/min(?:/1[.,]73 ?m[2²])?)|mL|ml|L"
    r"|(?i:(?:m|µ|n|p|k)?g/(?:d|m)?l|(?:m|µ|n|p)?mol/l|i?u/l|bq/ml|mmhg|kpa|bpm|ms|suv\w*|°c?)"
    r"|(?i:mcg|µg|mg|kg)|g|x(?! ?\d)|times|mal|×(?! ?\d)|years?|days?|weeks?|months?"
    r"|Jahre?n?|Tagen?|Wochen?|Monaten?"
    r"|(?i:millimet(?:er|re)[sn]?|[cz]entimet(?:er|re)[sn]?|per ?cent|prozent|milli?lit(?:er|re)s?"
    r"|lit(?:er|re)s?|degrees?|grad|inch(?:es)?|zoll|pixeln|hounsfield[ -](?:units?|einheiten))"
)
NUMBER = re.compile(
    rf"(?<![\w.,])(?<![A-Za-z][-/_])(?P<sign>[-+\u2212](?=\d))?"
    rf"(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?!\w|[.,]\d)"
    rf"(?:[\s-]?(?P<unit>{_UNITS})(?!\w))?"
    rf"|(?<![\w.,])(?P<tight>\d+(?:\.\d+)?)(?P<tight_unit>{_UNITS})(?!\w)"
)
SCALES = {
    "mm": ("mm", 1.0),
    "cm": ("mm", 10.0),
    "µm": ("mm", 0.001),
    "um": ("mm", 0.001),
    "mm2": ("mm2", 1.0),
    "cm2": ("mm2", 100.0),
    "ml": ("ml", 1.0),
    "l": ("ml", 1000.0),
    "cm3": ("ml", 1.0),
    "cc": ("ml", 1.0),
    "mm3": ("ml", 0.001),
    "mg": ("mg", 1.0),
    "g": ("mg", 1000.0),
    "µg": ("mg", 0.001),
    "kg": ("mg", 1_000_000.0),
}
_ABOUT = re.compile(
    r"(?:about|approximately|roughly|around|nearly|almost|ca\.?|circa|etwa|rund|~|≈)\W*$", re.I
)
_UNITLESS = ("score", "probability", "confidence", "slice", "frame", "index")
"""Keys of numbers to which a "unit" beside them does not belong."""
_THOUSANDS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3})+(?![\w.,])")
_FACTORS = {"tho": 1000, "tau": 1000, "mil": 1_000_000}
_BIG = re.compile(
    r"(?<![\w.,])(\d+(?:[.,]\d+)?) (thousand|tausend|million(?:en)?)(?!\w)", re.I | re.A
)
_OFTEN = {
    "once": 1,
    "twice": 2,
    "thrice": 3,
    "three times": 3,
    "four times": 4,
    "einmal": 1,
    "zweimal": 2,
    "dreimal": 3,
    "viermal": 4,
}
_TIMES = re.compile(
    rf"\b(?P<word>{'|'.join(_OFTEN)})"
    r"(?=\s+(?:daily|a\s|per\s|every|weekly|täglich|am\s+tag|pro\s|wöchentlich))",
    re.IGNORECASE,
)
_OF = re.compile(r"\s+(?:out\s)?(?:of|von)\s")
_PARTS = re.compile(rf"(?<![\d.,])(\d+){_OF.pattern}+(\d+)(?![\d.,])")
_OF_THOUSAND = 3  # zeros
_MOST = 20_000  # figures looked at in one result
_SHORT = 4_000  # characters of a text whose figures are kept


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a result, a question or an image's note.

    Attributes:
        unit: Its unit, "" if none is given.
        source: Number of the result that holds it; 0 for a question, a note or a failed call.
    """

    value: float
    unit: str = ""
    source: int = 0


def value_of(found: re.Match[str]) -> tuple[float, int]:
    """Return a number in a text and its decimals; "0,72" is 0.72."""
    digits = found["number"] or found["tight"]
    if re.fullmatch(r"\d+,\d{1,2}|0,\d+", digits):
        digits = digits.replace(",", ".")
    digits = digits.replace(",", "")
    sign = -1.0 if (found["sign"] or "+") in "-\u2212" else 1.0
    return sign * float(digits), len(digits.partition(".")[2])


def rounded(found: re.Match[str], before: str) -> tuple[float, int]:
    """Return a number in a text and its decimals; these are less than 0 in "about 840".

    Thousands of at least two figures, such as 148,000, are taken as rounded without that word.
    """
    said, decimals = value_of(found)
    digits = f"{abs(said):.0f}"
    zeros = len(digits) - len(digits.rstrip("0"))
    thousands = zeros >= _OF_THOUSAND and len(digits) > zeros + 1
    if not decimals and said and (thousands or _ABOUT.search(before)):
        decimals = -min(zeros, _OF_THOUSAND)
    return said, decimals


_SPACED = re.compile(
    r"(?<![\d.,])(\d{1,3})[ \u00a0\u202f](\d{3})(?=\s*(?:px|pixels?)\b)", re.IGNORECASE
)
"""A number of pixels with a space after its thousands."""


def in_digits(text: str, vocabulary: Vocabulary | None) -> str:
    """Return a text of the same length with numbers in words as digits, where they count.

    They count before a unit ("ten millimetres") and before a finding ("three small nodules"), or
    without a vocabulary before any word, and in "three of ten".
    Dots in German thousands become commas.
    """
    values = _number_words()
    word = "|".join(values)
    text = _SPACED.sub(r"\1,\2", text)
    text = _BIG.sub(
        lambda one: (
            f"{float(one[1].replace(',', '.')) * _FACTORS[one[2][:3].casefold()]:.0f}".rjust(
                len(one[0])
            )
        ),
        _times_in_digits(text),
    )
    if _THOUSANDS.search(text) and is_german([text]):
        text = _THOUSANDS.sub(lambda one: one[0].replace(".", ","), text)

    def digits(found: re.Match[str]) -> str:
        behind = text[found.end() :]
        words = re.match(r"(?:\s+(?!(?:of|in|on|and|is|are)\b)[\w-]+){1,3}", behind)
        counted = words is not None and any(
            vocabulary is None or subjects_in(word, vocabulary) for word in words[0].split()
        )
        counted = counted or (vocabulary is None and _OF.match(behind) is not None)
        if not counted and not re.match(rf"[\s-](?:{_UNITS})(?!\w)", behind):
            return found[0]
        value = sum(values[part] for part in found[0].lower().split("-"))
        return str(value).rjust(len(found[0]))

    return re.sub(rf"(?<![\w-])(?:{word})(?:-(?:{word}))?(?!\w)", digits, text, flags=re.IGNORECASE)


def _times_in_digits(text: str) -> str:
    """Return a text of the same length with "twice" and the like as "2x"."""
    return _TIMES.sub(lambda m: f"{_OFTEN[m['word'].casefold()]}x".ljust(len(m[0])), text)


@lru_cache(maxsize=1)
def _number_words() -> Mapping[str, int]:
    lines = (resources_dir() / "words" / "numbers.txt").read_text("utf-8").splitlines()
    return {word: int(line.split()[-1]) for line in lines for word in line.split()[:-1]}


@lru_cache(maxsize=4096)
def unit_of(written: str) -> str:
    """Return a unit as it is compared: in lower case, with "2" for "²"."""
    lower = written.casefold()
    for beginning, unit in _SPELLED.items():
        if lower.startswith(beginning):
            return unit
    return lower.replace("²", "2").replace("³", "3").replace("pixels", "px").replace("pixel", "px")


def same_figure(
    said: float, decimals: int, unit: str, known: Figure, *, units: bool = True
) -> bool:
    """Return whether a figure as written is the known one, rounded or in another unit."""
    values = [(known.value, known.unit)]
    if unit == "%" and known.unit in ("", "%"):
        share = not known.unit and abs(known.value) <= 1
        values = [(known.value * 100, "%")] if share else [(known.value, "%")]
    elif unit in SCALES and known.unit in SCALES:
        base, factor = SCALES[unit]
        other, scale = SCALES[known.unit]
        values = [(known.value * scale / factor, unit)] if base == other else []
    slack = 0.5 * 10.0**-decimals * 1.0001
    return any(
        abs(abs(value) - abs(said)) <= slack
        and (
            not units or not unit or unit == own or (not own and unit not in SCALES and unit != "x")
        )
        for value, own in values
    )


def figures_in_text(text: str, source: int = 0) -> Iterator[Figure]:
    """Yield the numbers in a text."""
    read = _read if len(text) <= _SHORT else _read.__wrapped__
    for value, unit in read(text[: 10 * _MOST]):
        yield Figure(value, unit, source)


# A conversation's results are looked through for every answer.
@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[tuple[float, str], ...]:
    return tuple(
        (value_of(found)[0], unit_of(found["unit"] or found["tight_unit"] or ""))
        for found in NUMBER.finditer(in_digits(text, None))
    )


def parts_of(text: str) -> dict[str, str]:
    """Return what a text tells as "two of eleven": how many, by the whole."""
    return {one[2]: one[1] for one in _PARTS.finditer(in_digits(text, None))}


def name_and_unit_of(key: str) -> tuple[str, str]:
    """Return the name of a number by its key, and the unit that the key ends with."""
    name, _, last = key.lower().rpartition("_")
    unit = unit_of(last)
    if name and (unit in SCALES or unit in ("px", "hu", "kg", "bpm", "ms", "°")):
        return name, unit
    return key.lower(), "mm" if "spacing" in key.lower() else ""


def figures_in(value: Any, source: int = 0, unit: str = "") -> Iterator[Figure]:
    """Yield the numbers in JSON with their units, as far as keys or a "units" beside them tell."""
    left: list[tuple[Any, str]] = [(value, unit)]
    for _ in range(_MOST):
        if not left:
            return
        match left.pop():
            case bool(), _:
                pass
            case (int() | float()) as number, given:
                yield Figure(float(number), given, source)
            case str() as text, given:
                whole = NUMBER.fullmatch(text)  # "value": "6.3" beside "unit": "mmol/L"
                for one in figures_in_text(text, source):
                    yield replace(one, unit=one.unit or given) if whole else one
            case dict() as table, given:
                entries = cast("Mapping[str, Any]", table)
                told = str(entries.get("unit") or entries.get("units") or "").split()
                beside = unit_of(told[0]) if told else given
                left += [
                    (item, "" if key in _UNITLESS else name_and_unit_of(key)[1] or beside)
                    for key, item in entries.items()
                ]
            case (list() | tuple()) as items, given:
                left += [(item, given) for item in cast("Sequence[Any]", items)]
            case _:
                pass


def subjects_in(text: str, vocabulary: Vocabulary) -> set[str]:
    """Return the owners of the words of a vocabulary that a text has."""
    return {found.owner for found in vocabulary.find(tokens_of(text))}
