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
from app.settings import LARGEST, UserFile, read_regular

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

_SOMEBODY = re.compile(
    r"\b\d{1,4}([./-])\d{1,2}\1\d{2,4}\b"  # a date
    r"|\b\d{1,2}\.?\s?(?:of\s)?(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])\w*"
    r"\.?,?\s\d{4}\b"
    r"|\d{5,}|\b\d{2,4}-\d{2,}-\d{2,}\b"  # numbers of a patient, a visit, an order
    r"|\b(?:MRN|DOB|PID|accession|born|geb(?:oren)?|birth\s?da(?:te|y)|geburtsdatum)\b"
    r"|\b(?:this|that|current|today's|dies\w{1,2}|heutige\w?|aktuelle\w?)\s"
    r"(?:patient|stud(?:y|ie)|case|fall|man|woman|mann|frau)\w{0,2}\b"
    r"|\b(?:the|der|die)\s(?:patient|patientin)\s(?:is|was|has|had|ist|war|hat|hatte)\b"
    r"|\b(?:he|she|er)\s(?:is|was|has|had|ist|war|hat|hatte)\b"
    r"|\bpatient(?:in)?\s(?-i:[A-ZÄÖÜ][a-zäöüß]+)",
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

    def told(self) -> str:
        """Return the notes that a language model is told, a line each; "" for none."""
        return "\n".join(told((*self.site_notes(), *self.notes())))


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
