"""Finds the table of ratios for a text, by the disease that it asks for, else the complaint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.tools.diagnosis.table import Presentation
from app.tools.said_findings import clauses, states

_SUSPECTED = (
    r"suspected|suspecting|suspicion of|rule (?:in|out)|r/o"
    r"|verdacht auf(?: das vorliegen)?|v\.\s?a\.|va\b"
)
_LIKELY = (
    r"likely is|likely are|probable is|probability of|chances? of|odds of|likelihood of"
    r"|wahrscheinlich ist|wahrscheinlichkeit (?:für|einer|eines|von)"
)
_ENDS = r"(?=\s(?:with|given|if|because|but|bei|mit|wenn|aber)\s|[,;:.?!()\n]|$)"
_ASKED, _LIKELIHOOD = (
    re.compile(rf"(?<!\w)(?:{cue})\s+([^,;:.?!()\n]*?){_ENDS}")
    for cue in (f"{_SUSPECTED}|{_LIKELY}", _LIKELY)
)
_QUESTION = re.compile(  # "72 yo, swollen calf: PE?", "?PE"
    r"([^,;:.?!()\n–—]*)\?|(?<!\S)\?\s?([^\W\d][^,;:.?!()\n]*)"
)
_ABOUT = re.compile(r" (?:for|about)(?: an?| the| eine[nr]?)? $")
_NO_DISEASE = re.compile(  # "how likely is it now", "the probability of disease"
    r"(?:it|this|that|he|she|they|the (?:diagnosis|disease|patient)|(?:the )?disease|es|das|dies\w*"
    r"|die (?:diagnose|krankheit))\b.*|\W*"
)
_CHILD = re.compile(
    r"(?<!\w)(?:child|children|toddler|infant|schoolchild|kind|kinder|kleinkind|säugling"
    r"|(?:little )?(?:boy|girl)|junge|mädchen|(?:[1-9]|1[0-4])[\s-]*(?:years?|yrs?|y/?o|jährig\w*)"
    r"|\d{1,2}[\s-]*(?:months?|mo|monate)[\s-]*old)(?!\w)"
)
_LONG = 6


@dataclass(frozen=True, slots=True)
class TableMatch:
    """The tables that fit a text best.

    Attributes:
        tables: One, none, or several that fit equally.
        name: The name by which the text means them; "" for an id or a title.
        asked: Whether the text asks for that name ("suspected ...", "...?").
        unknown: A disease whose probability is asked for, and that no table has.
        others: Diseases that the text asks for as well, each with a table of its own.
    """

    tables: list[Presentation]
    name: str = ""
    asked: bool = False
    unknown: str = ""
    others: tuple[str, ...] = ()


def find_presentation(text: str, known: Mapping[str, Presentation]) -> list[Presentation]:
    """Return the presentations that a text names best: by id, title, words or a disease."""
    return match_tables(text, known).tables


def match_tables(text: str, known: Mapping[str, Presentation]) -> TableMatch:
    """Return the tables that a text means.

    What it asks for ("suspected PE", "calf swollen: PE?") goes before other names, and these only
    count if it says so of the patient ("denies chest pain" is no chest pain). A child's table goes
    before that of adults for the same disease if the text tells of a child.
    """
    wanted = text.casefold().replace("_", " ").strip()
    if exact := [one for key, one in known.items() if wanted in (key, one.title.casefold())]:
        return TableMatch(exact, asked=True)
    spelling = _spelling(known)
    asked = [_padded(part, spelling) for part in _ASKED.findall(wanted)]
    ending = [_padded(" ".join(part), spelling) for part in _QUESTION.findall(wanted)]
    padded = _padded(wanted, {})
    parts = clauses(text)
    best: list[tuple[Presentation, str]] = []
    highest = (False, 0, 0)
    questioned: list[tuple[Presentation, str, str]] = []
    for one in known.values():
        hits: list[tuple[bool, int, str]] = []
        for name, disease in _names(one):
            place, plain = padded.find(name), name.strip()
            is_asked = any(name in part for part in asked)
            is_asked |= bool(disease) and any(name in part for part in ending)
            is_asked |= place >= 0 and bool(_ABOUT.search(padded[: place + 1]))
            if is_asked or (place >= 0 and _is_said(plain, parts)):
                hits.append((is_asked, len(plain), plain))
                if is_asked and disease:
                    questioned.append((one, plain, disease))
        if not hits:
            continue
        # Of two tables of the disease, the one whose complaint is named as well.
        top, *others = sorted(hits, reverse=True)
        rank = (*top[:2], max((length for _, length, _ in others), default=0))
        if rank > highest:
            best, highest = [(one, top[2])], rank
        elif rank == highest:
            best.append((one, top[2]))
    tables = _for_child([one for one, _ in best], known, bool(_CHILD.search(wanted)))
    unknown = "" if highest[0] else _unknown(wanted)
    name = best[0][1] if best else ""
    known_keys = {key for one in tables for key in one.hypotheses}
    others = (
        disease
        for one, called, disease in questioned
        if called != name and not known_keys & set(one.hypotheses)
    )
    return TableMatch(tables, name, highest[0], unknown, tuple(dict.fromkeys(others)))


def tells_of_child(text: str) -> bool:
    """Return whether a text is about a child below 15 years."""
    return bool(_CHILD.search(text.casefold()))


def _unknown(wanted: str) -> str:
    """Return what a text without a known disease asks the probability of, else ""."""
    parts = (part.strip() for part in _LIKELIHOOD.findall(wanted))
    return next((part for part in parts if not _NO_DISEASE.fullmatch(part)), "")


def _names(one: Presentation) -> Iterator[tuple[str, str]]:
    """Yield the names of a table as `_padded` gives them, each with its disease, "" for none."""
    diseases = {
        name.casefold(): item.name
        for item in one.hypotheses.values()
        for name in (item.name, *item.other_names)
    }
    others = (*one.words, one.title.casefold(), one.id.replace("-", " "))
    for name, disease in {**dict.fromkeys(others, ""), **diseases}.items():
        yield _padded(name, {}), disease


def _is_said(name: str, parts: list[str]) -> bool:
    """Return whether a name is said of the patient; so it is if its words stand apart."""
    said = [state for part in parts for state in states(part, (name,))]
    return any(said) or (not said and not any(name in part for part in parts))


def _for_child(
    tables: list[Presentation], known: Mapping[str, Presentation], is_child: bool
) -> list[Presentation]:
    """Return the tables, of the same diseases those of children for a child, else of adults."""
    found: dict[str, Presentation] = {}
    for one in tables:
        same = [other for other in known.values() if set(other.hypotheses) & set(one.hypotheses)]
        fit = [other for other in same if other.id.endswith("-child") == is_child]
        wrong = one not in fit and (is_child or any(other in tables for other in fit))
        chosen = fit[0] if fit and wrong else one
        found[chosen.id] = chosen
    return list(found.values())


def _padded(text: str, spelling: Mapping[str, str]) -> str:
    plain = "".join(letter if letter.isalnum() else " " for letter in text)
    return f" {' '.join(spelling.get(_letters(word), word) for word in plain.split())} "


def _letters(word: str) -> str:
    return "".join(sorted(word)) if len(word) >= _LONG else ""


def _spelling(known: Mapping[str, Presentation]) -> dict[str, str]:
    """Return the long words of names by their letters: "embolsim" has those of "embolism"."""
    words = {word for one in known.values() for name, _ in _names(one) for word in name.split()}
    return {_letters(word): word for word in sorted(words) if len(word) >= _LONG}
