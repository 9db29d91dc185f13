"""Tools for the user's notes: keep one, list them, delete one; and how people ask for that.

What is kept or deleted is asked about first (`Approval.WRITE`). The program refuses a note that
names a patient before the user is asked (`ToolSpec.memory`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from app.tools.api import (
    Approval,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.memory import LONGEST, Note, NoteKind, as_note, user_memory, without_somebody
from app.tools.pack_plan import PackPlan, Spoken, SpokenCall, ToolRule
from app.tools.result_wording import Data, ResultWording, Sentence, cited

REMEMBER, REMEMBERED, FORGET = "remember_note", "list_notes", "forget_note"
_UNUSED = "Only language models use notes; the rules that answer offline do not."

_KEEP = re.compile(
    r"(?:please |can you |could you |hey,? )?"
    r"(?:remember|keep in mind|don't forget|memori[sz]e)"
    r"(?: that\b|:| for (?:me|later|next time)[:,]?|(?= (?:I|we|our|my)\b))\s*(?P<a>.+)"
    r"|(?:bitte )?(?:merke?|behalte?) (?:es )?dir(?: bitte)?(?:,? dass\b|[:,])\s*(?P<b>.+)"
    r"|(?:bitte )?(?:merken|nicht vergessen)(?:,? dass\b|:)\s*(?P<c>.+)",
    re.IGNORECASE | re.DOTALL,
)
_LIST = re.compile(
    r"what (?:do|did|have) you (?:remember(?:ed)?|noted?|kept|keep in mind)(?: (?:about|of) me)?"
    r"|what do you know about me|what(?:'s| is) in your memory|do you remember anything about me"
    r"|(?:show|list)(?: me)? (?:your memory|(?:all )?(?:my|your|the) (?:notes|memories))"
    r"|forget everything|(?:forget|delete) all(?: my| your)? notes"
    r"|vergiss alles|(?:vergiss|lösche) alle(?: meine| deine)? notizen"
    r"|was (?:hast|weißt|weisst) du (?:dir )?(?:gemerkt|(?:noch )?(?:über mich|von mir))"
    r"|was merkst du dir|was steht in deinem gedächtnis"
    r"|(?:zeig|liste)e?(?: mir)? (?:meine|deine|die) notizen(?: auf)?",
    re.IGNORECASE,
)
_DROP = re.compile(
    r"(?:please |can you |bitte )?(?:forget|vergiss|lösche)(?P<note> (?:the|my|die|meine) "
    r"(?:note|notiz)(?: (?:that|about|on|über|zu|dass))?)?(?: (?:that|about)|,? dass)?[: ]\s*"
    r"(?P<what>.+)",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:report|impression|befund|beurteilung|bericht|konjunktiv|sentence|satz)", re.IGNORECASE
)
_SITE = re.compile(
    r"\b(?:we|our|us|here|site|department|hospital|clinic|wir|uns|unser\w*|abteilung|klinik|haus)\b",
    re.IGNORECASE,
)


class RememberInput(ToolInput):
    """A note to keep."""

    text: str = Field(max_length=LONGEST, description="The user's wish in one sentence.")
    kind: NoteKind = Field("preference", description="What it is about.")


class RememberedInput(ToolInput):
    """No arguments."""


class ForgetInput(ToolInput):
    """The note to delete."""

    text: str = Field(max_length=LONGEST, description="The note's exact text.")


class NotesOutput(BaseModel):
    """The notes that are kept now."""

    notes: list[dict[str, Any]]


def _result(summary: str) -> ToolResult:
    memory = user_memory()
    kept = [
        {"text": note.text, "kind": note.kind, "on": note.on, "by": by}
        for by, notes in (("administrator", memory.site_notes()), ("user", memory.notes()))
        for note in notes
    ]
    return ToolResult(summary, {"notes": kept}, {})


def _write(before: Sequence[Note], after: Sequence[Note]) -> None:
    try:
        user_memory().replace(before, after)
    except OSError as error:
        raise ToolFailed(
            f"the notes cannot be written ({error.strerror or type(error).__name__})",
            remedy="Check that the settings folder can be written to.",
        ) from error


_WRITING: dict[str, Any] = {
    "Output": NotesOutput,
    "approval": Approval.WRITE,
    "pack": "notes",
    "sequential": True,
}


class Remember:
    """Keeps a note."""

    spec = ToolSpec(
        name=REMEMBER,
        description="Keeps a note for all conversations, only when the user asks to remember a "
        "preference, a convention of the site or a style of reports; never anything about a "
        "patient.",
        Input=RememberInput,
        **_WRITING,
        title="Remember a note",
        icon="pin",
        memory="keeps",
    )

    def run(self, args: RememberInput, context: ToolContext) -> ToolResult:
        """Keep the note; raise ToolFailed if it seems to be about a patient."""
        del context
        text = as_note(args.text)
        if not text:
            raise ToolRetry("the note has no text")
        if (without := without_somebody(text, "…")) != text:
            raise ToolFailed(f"the note seems to be about a patient: “{without}” is what is left")
        same = [note for note in user_memory().notes() if note.text.casefold() == text.casefold()]
        _write(same, (Note(text, args.kind),))
        return _result(
            f"Kept as a {args.kind}: “{text}”. {_UNUSED} Edit notes in Settings > Assistant memory."
        )


class Remembered:
    """Lists the notes."""

    spec = ToolSpec(
        name=REMEMBERED,
        description="Lists the notes that are kept for all conversations.",
        Input=RememberedInput,
        Output=NotesOutput,
        approval=Approval.READ,
        pack="notes",
        title="List notes",
        icon="list",
        memory="uses",
    )

    def run(self, args: RememberedInput, context: ToolContext) -> ToolResult:
        """List the notes of the user and of this computer's administrator."""
        del args, context
        listed = _result("")
        told = " ".join(one.text for one in _listed(listed.output, {}))
        return ToolResult(told, listed.output, {})


def _listed(output: Data, metadata: Data) -> list[Sentence]:
    """Return a line for each note, and where they are edited."""
    del metadata
    lines = [
        f"{note['kind'].capitalize()}{'' if note['on'] else ', off'}"
        f"{', set by your administrator' if note['by'] != 'user' else ''}: “{note['text']}”."
        for note in output["notes"]
    ]
    where = f"{_UNUSED} Edit notes in Settings > Assistant memory."
    told = cited(lines or ["No note is kept."])
    return [*told, Sentence(where, cites=False)]


class Forget:
    """Deletes a note."""

    spec = ToolSpec(
        name=FORGET,
        description="Deletes one of the user's notes, only when the user asks to.",
        Input=ForgetInput,
        **_WRITING,
        title="Delete a note",
        icon="trash-2",
        memory="uses",
    )

    def run(self, args: ForgetInput, context: ToolContext) -> ToolResult:
        """Delete the note; raise ToolRetry if there is none with this text."""
        del context
        gone = tuple(note for note in user_memory().notes() if note.text == args.text.strip())
        if not gone:
            raise ToolRetry("the user has no note with exactly this text", remedy="List the notes.")
        _write(gone, ())
        return _result(f"Deleted the note “{gone[0].text}”.")


def read(text: str) -> Spoken | None:
    """Return the call that a question about notes asks for; None for any other question."""
    said = " ".join(text.split()).rstrip(" .!")
    if _LIST.fullmatch(said.rstrip("? ")):
        return Spoken((SpokenCall(REMEMBERED, {}),))
    if "?" in said:
        return None
    if found := _KEEP.fullmatch(said):
        wish = as_note(found["a"] or found["b"] or found["c"])
        report, site = _REPORT.search(wish), _SITE.search(wish)
        kind = "report style" if report else "site convention" if site else "preference"
        return Spoken((SpokenCall(REMEMBER, {"text": wish, "kind": kind}),))
    if found := _DROP.fullmatch(said):
        meant = [note.text for note in user_memory().notes() if _means(found["what"], note.text)]
        if len(meant) == 1:
            return Spoken((SpokenCall(FORGET, {"text": meant[0]}),))
        if meant or found["note"]:  # which of them? they are listed
            return Spoken((SpokenCall(REMEMBERED, {}),))
    return None


def _means(what: str, note: str) -> bool:
    """Return whether all words of a description but the shortest stand in a note."""
    words = [word for word in re.findall(r"\w+", what.casefold()) if len(word) > 3]
    return bool(words) and all(word in note.casefold() for word in words)


PLAN = PackPlan(
    "notes",
    title="Notes",
    icon="pin",
    tools=(
        ToolRule(REMEMBER, why="keeps a note"),
        ToolRule(REMEMBERED, why="lists your notes"),
        ToolRule(FORGET, why="deletes a note"),
    ),
    wordings=(ResultWording(REMEMBERED, lines=_listed),),
    spoken=read,
)
