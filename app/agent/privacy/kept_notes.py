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
_QUOTED = re.compile(r"„[^“”]*[“”]|“[^”]*”|\"[^\"]*\"|(?<!\w)['‘‚][^'’]*['’](?!\w)")
_STATEMENT = re.compile(r"[^.;\n]+(?:\.(?=\d)[^.;\n]+)*")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|had|have|looks?|seems?|appears?|lies|sits|measures|shows?|grew|means"
    r"|ist|sind|war|waren|hat|hatte|liegt|liegen|sitzt|misst|zeigt|wirkt|wuchs|bedeutet)\b|['’]s\b",
    re.IGNORECASE,
)
_WISH = re.compile(  # what is to be done, or when it holds
    r"\b(?:say|write|call\w*|name\w*|report\w*|tell|told|describ\w*|given?|measured|shown|listed|drawn"
    r"|mention\w*|marked|written|abbreviat\w*|above|below|over|under|section|every|each|any"
    r"|counts?|genannt|heißt|heißen|bezeichnet|beschrieben|angegeben|gemessen|gezeigt|erwähnt"
    r"|geschrieben|abgekürzt|über|unter|oberhalb|unterhalb|jede[rnms]?|zählt|gilt|gelten)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?:in|of|on|at|near|im|am|an|auf|bei|von)\b", re.IGNORECASE)
_VERB_LAST = re.compile(rf".*(?:{_VERB.pattern})\W*$", re.IGNORECASE)
_THE = re.compile(
    r"\b(?:the|this|that|these|der|die|das|den|dem|des|dies\w{1,2})\s(?:[^\W\d]+\s){0,2}$",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"\b(?:there(?:'s|’s)|there (?:is|are|was|were)|(?:es|da) (?:gibt|gab|ist|sind|war)"
    r"|findet sich|zeigt sich)\b",
    re.IGNORECASE,
)
_FACT = re.compile(  # a place, a kind, a size or a change
    r"\b(?:left|right|bilateral|links|rechts|link[ens]+|recht[ens]+|beidseit\w*|segment \d+|s\d+"
    r"|(?:upper|lower|middle) lobe|(?:ober|unter|mittel)lappen|(?:benign|malignant)|gutartig\w*"
    r"|bösartig\w*|harmless|harmlos\w*|old|new|alt|neu|known|bekannt|stable|stabil|unchanged"
    r"|unverändert|gone|weg|larger|smaller|größer|kleiner|resolved|calcified|verkalkt"
    r"|\d+(?:[.,]\d+)?\s?(?:mm|cm|ml))\b",
    re.IGNORECASE,
)
_BARE = re.compile(  # "Benign nodule in segment 6"
    r"\W*(?:(?:an?|the|der|die|das|ein\w?|small|large|klein\w*|groß\w*|left|right|link\w+|recht\w+"
    r"|benign|malignant|gutartig\w*|bösartig\w*|old|alt\w?|new|neu\w?|pleural|known|bekannt\w*)\W+)*",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\b(?:first|last|before|then|zuerst|zuletzt|dann|vor|in (?:mm|cm|ml))\b", re.I)
REFUSED = (
    "It seems to be about a patient or what an image shows, and nothing about patients is kept. "
    "A note may say how you want things done. Without that it is: “{}”"
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
    left = _STATEMENT.sub(lambda found: REMOVED if _tells_a_finding(found[0]) else found[0], left)
    return text if left == plain else left


def _tells_of_somebody(found: re.Match[str]) -> bool:
    """Return whether words say what one person has ("has a nodule"), and no rule for all."""
    if _RULE.search(found.string, 0, found.start()):
        return False
    concepts = findings_in(found["what"]).values()
    return any(not found["is"] or key.startswith("C") for key in concepts)


def _tells_a_finding(text: str) -> bool:
    """Return whether a sentence says what a finding is like ("the nodule is benign"), no wish."""
    said = _QUOTED.sub(" ", text)
    fact, verb, order = (one.search(said) for one in (_FACT, _VERB, _ORDER))
    if _RULE.search(said) or _WISH.search(said) or (order and not (fact and verb)):
        return False
    places = [*findings_in(said)]
    if places and _THERE.search(said):
        return True
    if not verb:
        bare = bool(places) and _BARE.fullmatch(said, 0, min(places)) is not None
        return bare and fact is not None
    return any(fact or (_THE.search(said[:at]) and _is_subject(said, at)) for at in places)


def _is_subject(said: str, place: int) -> bool:
    """Return whether a verb or a preposition follows a name: not "the nodule colour is red"."""
    rest = re.sub(r"^\w+\W*", "", said[place:])
    return any(pattern.match(rest) for pattern in (_VERB, _WHERE, _VERB_LAST))


def told_in(history: Sequence[Message]) -> tuple[list[str], list[str]]:
    """Return the identifiers of patients that a conversation's messages hold, and remarks."""
    identifiers = [one for message in history for one in message.identifiers]
    for message in history:
        if message.record is not None:
            identifiers += [*message.record.identifiers]
            identifiers += [one for patient in message.record.patients for one in patient]
    return identifiers, [one for message in history for one in message.texts]
