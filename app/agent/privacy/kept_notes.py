"""Finds what may name a patient in a note that is to be kept for all conversations."""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.messages import Message
from app.agent.privacy.record_content import WatchedRecords, identifiers_of
from app.agent.privacy.redaction import REMOVED, Redactor
from app.records.types import Records
from app.tools.memory import without_somebody

REFUSED = "It seems to name a patient, and nothing about patients is kept. Without that it is: “{}”"


def without_patients(
    text: str, identifiers: Sequence[str], texts: Sequence[str], records: Records
) -> str:
    """Return a note with a mark for whatever may name a patient; unchanged if there is nothing.

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
    return without_somebody(Redactor([asked]).text(text), REMOVED)


def told_in(history: Sequence[Message]) -> tuple[list[str], list[str]]:
    """Return the identifiers of patients that a conversation's messages hold, and remarks."""
    identifiers = [one for message in history for one in message.identifiers]
    for message in history:
        if message.record is not None:
            identifiers += [*message.record.identifiers]
            identifiers += [one for patient in message.record.patients for one in patient]
    return identifiers, [one for message in history for one in message.texts]
