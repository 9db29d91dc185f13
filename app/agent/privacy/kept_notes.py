"""Finds what may be about a patient in a note that is to be kept for all conversations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from app.agent.answers.facts import findings_in
from app.agent.messages import Message
from app.agent.privacy.record_content import WatchedRecords, identifiers_of
from app.agent.privacy.redaction import REMOVED, Redactor
from app.records.types import Records
from app.tools.memory import as_note, without_somebody

_HAS = re.compile(
    r"\b(?:has|had|(?:they|we) have|suffer\w*|shows|showed|hat|hatte|zeigte?|leidet|litt"
    r"|(?P<is>is|was|ist|war))\b(?P<what>(?:\W+(?!(?:for|in|on|to|about|für|im|zum?)\b)\w+){1,4})",
    re.IGNORECASE,
)
_RULE = re.compile(r"\b(?:if|when|whenever|unless|who|which|wenn|falls|sobald)\b", re.IGNORECASE)
REFUSED = (
    "It seems to be about a patient, and nothing about patients is kept. Without that it is: “{}”"
)


def without_patients(
    text: str, identifiers: Sequence[str], texts: Sequence[str], records: Records
) -> str:
    """Return a note with a mark for what may be about a patient; unchanged if there is nothing.

    Args:
        text: The note.
        identifiers: Names, ids and dates of the patients whose images are or were open.
        texts: Remarks and descriptions in these images.
        records: The open records; may be slow to read.
    """
    found = {*identifiers}
    watch = WatchedRecords(records)
    watch.patients()
    content = watch.content([text])
    for patient_id, _name in content.patients if content is not None else ():
        patient = records.patient(patient_id)
        found.update(identifiers_of(patient) if patient is not None else (patient_id,))
    asked = Message(role="user", identifiers=sorted(found), texts=list(texts))
    plain = as_note(unicodedata.normalize("NFKC", text))
    left = without_somebody(Redactor([asked]).text(plain), REMOVED)
    left = _HAS.sub(lambda found: REMOVED if _tells_of_somebody(found) else found[0], left)
    return text if left == plain else left


def _tells_of_somebody(found: re.Match[str]) -> bool:
    """Return whether words say what one person has ("has a nodule"), and no rule for all."""
    if _RULE.search(found.string, 0, found.start()):
        return False
    concepts = findings_in(found["what"]).values()
    return any(not found["is"] or key.startswith("C") for key in concepts)


def told_in(history: Sequence[Message]) -> tuple[list[str], list[str]]:
    """Return the identifiers of patients that a conversation's messages hold, and remarks."""
    identifiers = [one for message in history for one in message.identifiers]
    for message in history:
        if message.record is not None:
            identifiers += [*message.record.identifiers]
            identifiers += [one for patient in message.record.patients for one in patient]
    return identifiers, [one for message in history for one in message.texts]
