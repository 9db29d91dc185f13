"""Notes that the user keeps for all conversations: preferences, conventions, the style of reports.

They are kept in one file, seen and edited on a page of the settings. An administrator's own stand
in a file of the computer's and are read only. None may be about a patient.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from app import paths
from app.user_files import LARGEST, UserFile, read_regular

NoteKind = Literal["preference", "site convention", "report style"]
KINDS: tuple[NoteKind, ...] = get_args(NoteKind)
LONGEST = 300
"""Characters of the longest note."""
MOST = 1_500
"""Characters of all notes that a language model is told; later ones are left out."""

ABOUT = re.compile(
    r"\b(?:remember|memor|forget|notes?\b|always|from now on|in future|prefer"
    r"|merk|vergiss|notiz|immer|künftig|ab jetzt|gedächtnis)",
    re.IGNORECASE,
)
"""Finds words of questions that may concern notes; for others no model is offered their tools."""

_MONTH = (
    "(?-i:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|März?|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli"
    "|Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)"
)
_PERSON = r"(?:patient(?:in)?|man|woman|boy|girl|baby|child|mann|frau|junge|mädchen|kind)"
_SOMEBODY = re.compile(
    r"\b\d{1,4}([./-])\d{1,2}\1\d{2,4}\b"  # a date
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.)?\s?(?:of\s)?{_MONTH}\b|\b{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?\b"
    r"|\b\d{1,2}\.\d{1,2}\.(?!\d)"
    r"|\d{5,}|\b\d{2,4}-\d{2,}-\d{2,}\b|\b\d+(?:\.\d{2,}){2,}"  # of a patient, a visit, an order
    r"|\b(?:patient|patienten|pat|case|fall)[ .:-]{0,2}(?:(?:id|no|nr|number|nummer)[ .:]{0,2}"
    r"(?-i:[A-Z]{0,3})-?\d|(?=\d{3}))[\w-]*"
    r"|\b(?:room|bed|ward|zimmer|bett)\s\d+"
    r"|\b(?:MRN|DOB|PID|accession|born|geb(?:oren)?|birth\s?da(?:te|y)|geburtsdatum)\b"
    r"|\b\d{1,3}[- ](?:year|month|week|day)[- ]old\b|\b\d{1,3} ?(?:yo|y/o)\b"
    r"|\b\d{1,3}[- ]?jährige[rnms]?\b"
    r"|\b(?:this|that|current|today's|dies\w{1,2}|heutige\w?|aktuelle\w?)\s"
    rf"(?:{_PERSON}|stud(?:y|ie)|case|fall|image|picture|film|scan|bild|aufnahme)\w{{0,2}}\b"
    rf"|\b(?:my|his|her|last|yesterday's|mein\w*|letzte\w?|vorige\w?)\s{_PERSON}\b"
    r"|(?<!\ba )(?<!any )(?<!(?:if|en) the )(?<!wenn die )(?<!wenn der )\bpatient(?:in)?\s"
    r"(?:is|was|ist|war|(?:[\w'’]+\s){0,3}(?:has|had|hat|hatte))\b"
    r"|\b(?:he|she|er|sie)(?:\s(?:is|was|has|had|ist|war|hat|hatte)\b|['’]s\b)|\b(?:his|her)\b"
    r"|\bpatient(?:in)?\s(?-i:[A-ZÄÖÜ](?:[a-zäöüß]+|\.))|\w\^\w"
    r"|\b(?:patient(?:en)?)?name\w?(?:\sis|\sist|\s?[:=])\s?(?-i:[A-ZÄÖÜ])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Note:
    """A note of at most `LONGEST` characters in one line; language models are told it if `on`."""

    text: str
    kind: NoteKind = "preference"
    on: bool = True


class Memory:
    """The notes of the user and, read only, of the computer's administrator. Safe for threads.

    Args:
        path: The user's file; None to keep them in memory only.
        site: The administrator's files, which may be missing.
    """

    def __init__(self, path: Path | None = None, site: Sequence[Path] = ()) -> None:
        self._site = tuple(site)
        empty: tuple[Note, ...] = ()
        self._file = UserFile(path, "Your notes", empty, _parsed, lambda n: [*map(asdict, n)])

    def notes(self) -> tuple[Note, ...]:
        """Return the user's notes; none if the file is unusable, which is then set aside."""
        return self._file.read()

    def site_notes(self) -> tuple[Note, ...]:
        """Return the administrator's notes; a file that cannot be used has none."""
        found: list[Note] = []
        for path in self._site:
            try:
                found += _parsed(json.loads(read_regular(path, LARGEST).decode("utf-8-sig")))
            except (OSError, ValueError, TypeError, AttributeError, RecursionError):
                continue
        return tuple(found)

    def replace(self, before: Sequence[Note], after: Sequence[Note]) -> None:
        """Keep `after` in place of `before`; what was kept meanwhile stays.

        Raises:
            OSError: The file cannot be written.
        """
        if tuple(before) != tuple(after):
            known = {*before, *after}
            self._file.change(lambda now: (*after, *(one for one in now if one not in known)))

    def told(self, *kinds: NoteKind) -> str:
        """Return the notes that a language model is told, a line each; "" for none.

        Only those of these kinds; of all without any.
        """
        notes = (*self.site_notes(), *self.notes())
        return "\n".join(told(note for note in notes if note.kind in (kinds or KINDS)))

    @property
    def problem(self) -> str:
        """A sentence for the user if the file that was read last could not be used; else ""."""
        return self._file.problem


def user_memory() -> Memory:
    """Return the memory in the settings folder, with the notes of this computer's administrator."""
    return Memory(paths.config_dir() / "memory.json", paths.site_memory())


def told(notes: Iterable[Note]) -> list[str]:
    """Return the lines of those notes that are on and, in their order, fit into `MOST`."""
    lines: list[str] = []
    for note in notes:
        line = f"- {note.kind}: {note.text}"
        if note.on and sum(map(len, lines)) + len(lines) + len(line) <= MOST:
            lines.append(line)
    return lines


def as_note(text: str) -> str:
    """Return a note's text in one line, without what surrounds it, cut to `LONGEST` characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST].strip()


def without_somebody(text: str, mark: str) -> str:
    """Return a text with `mark` for what looks like a date, a number or a word of one patient."""
    return _SOMEBODY.sub(mark, text)


def _parsed(data: Any) -> tuple[Note, ...]:
    notes: list[Note] = []
    for item in cast("list[dict[str, Any]]", data):
        text, kind = as_note(str(item["text"])), item.get("kind", KINDS[0])
        if kind not in KINDS:
            raise ValueError(kind)
        if text:
            notes.append(Note(text, kind, item.get("on", True) is True))
    return tuple(notes)
