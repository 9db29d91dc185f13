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
    r"\b(?:has|had|(?:they|we) have(?! (?:many|few|no|only|patients)\b)|suffer\w*"
    r"|shows|showed|hat|hatte|zeigte?|leidet|litt"
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
_TELL = re.compile(  # what a report is to say of a finding is a statement, too
    r"\W*(?:(?:always|please|immer|bitte)\s)*(?:(?:say|write|state|remember|note|tell\s(?!the\b)\w+"
    r"|schreib\w?|sag\w?|notier\w?|merk\w?\sdir)\b,?(?:\s(?:that|dass))?"
    r"|(?:report|mention|berichte?|erwähne?),?\s(?:that|dass))\s(?=\w)",
    re.IGNORECASE,
)
_CALL = re.compile(  # "Call the left nodule a granuloma", "Mention the 8 mm nodule"
    r"\W*(?:always\s|immer\s)?(?:(?:call|nenne?)\s(?:the|this|that|den|die|das)\s.*\s(?:an?|eine?n?)\s\w"
    r"|(?:mention|erwähne?)\s(?:the|den|die|das)\s\d+(?:[.,]\d+)?\s?(?:mm|cm)\b)",
    re.IGNORECASE,
)
_IN_PROGRAM = (  # what the program, a report or a language has
    r"(?:lists?|templates?|tables?|colou?rs?|box(?:es)?|masks?|outlines?|words?|terms?|thresholds?"
    r"|cut-?offs?|headings?|points?|items?|liste|vorlage|tabelle|farbe|rahmen|maske|umriss"
    r"|wort|begriff|schwelle|grenzwert|überschrift|punkt)"
)
_COLOUR = (
    r"(?:red|green|blue|yellow|orange|purple|violet|pink|cyan|magenta|rot|grün|blau|gelb|lila"
    r"|violett|türkis)"
)
_PREFERENCE = re.compile(
    rf"^\W*(?:(?:the|our|my|this|der|die|das|unsere?|meine?|there is an?|es gibt eine?)\s)?"
    rf"(?:(?!{_VERB.pattern})[\w-]+\s){{0,2}}{_IN_PROGRAM}\b"
    rf"|\b(?:is|are|ist|sind)\s(?:the|our|my|der|die|das|unser|mein)\s(?:\w+\s)?{_IN_PROGRAM}\b"
    rf"|\b(?:is|are|be|ist|sind)\s(?:\w+\s)?{_COLOUR}\W*(?:$|,|and\b|und\b)"
    r"|^\W*(?:an?|eine?)\s(?:(?!left|right|link|recht)\w+\s){1,2}(?:is|ist)\s"
    r"(?:larger|smaller|bigger|more|less|größer|kleiner|mehr|weniger)\s(?:than|als)\s\d"
    r"|\b(?:left|leave|stays?|kept|keep) out\b|\bneeds? no\b|\bnot need\b"
    r"|\b(?:of|no|little) interest\b|\b(?:not |un)?interesting\b|\birrelevant|\buninteressant"
    r"|\b(?:un)?(?:important|wichtig)|\b(?:my topic|mein thema)\b"
    r"|\bgehör(?:t|en) (?:nicht )?(?:in|an|unter|zu)\b|\bke?inen? grund\b|\bzu erwähnen\b",
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
_OFTEN = r"(?:(?:always|often|still|also|now|never|immer|oft|noch|auch|jetzt|nie)\s)?"
_DOES = (  # "smokes", "refused"; not "patient names", "the patient comes first"
    r"(?!(?:address|base|cent[er]{2}|coordinat|detail|dose|focus|folder|group|imag|initial|letter|list"
    r"|name|note|position|record|relate|report|result|setting|status|film|stud|comes|goes|stays)\w*)"
    r"(?:\w{2,}(?:[^s\W]s|ed)|can|will|must|took|got|went|came|fell)\b"
)
_TUT = (  # "raucht", "nimmt"
    r"(?:(?!(?:mit|nicht|wird|steht|heißt|kommt|liegt|bleibt|gehört|erscheint|sollt|chart|list"
    r"|height|weight|consent|text|print|report|comfort)\b)(?:\w{2,}t|kann|will|muss|nahm))\b"
)
_PERSON = re.compile(
    r"\b(?:he|she)\s(?!or\b)\w+"
    rf"|^\W*(?:(?:dass|weil)\s)?(?:er|sie)\s{_OFTEN}{_TUT}"
    r"|^\W*(?:seine?|ihre?)\s(?!antwort|bericht|text|befund|stil|form|sprache|vorschl)\w+"
    r"\s(?:ist|war|hat|hatte|wurde)\b"
    r"|^\W*(?:(?:the|our|my|that|dass|der|die|mein\w?|unser\w?)\s){0,2}"
    rf"(?:(?:patient|lady|woman|man)\s{_OFTEN}{_DOES}|(?:patient(?:in)?|frau|mann|dame)\s{_OFTEN}{_TUT})"
    r"|\bpatient['’]s\s(?:wife|husband|daughter|son|mother|father|doctor)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(  # "COPD since 2010", "Bypass in 2018"
    r"^(?!.*\b(?:we|our|i|my|wir|unser\w*|ich|mein\w*)\b)\W*(?:[\w-]+\s){1,4}(?:since|seit)\s"
    r"(?:(?:19|20)\d\d\b|(?:last|letzte\w)\s|(?-i:[A-ZÄÖÜ][a-zäöü]+)\b)"
    r"|^\W*(?:[\w-]+\s){1,2}(?:in|im)\s(?:19|20)\d\d\W*$",
    re.IGNORECASE,
)
_HISTORY = re.compile(  # an illness, a drug or an operation of somebody, in few words
    r"^\W*(?:(?:known|ex|heavy|bekannte\w?|starker?)[\s-])?(?:non-?)?(?:smoker|(?:nicht)?raucher(?:in)?)"
    r"(?:\W*$|,|\s(?:since|for|with|seit|mit|\d))"
    r"|\bpack[- ]?years?\b|\b\d+\spy\b|^\W*(?:allergic to|allergisch (?:auf|gegen))\b"
    r"|^\W*(?:(?:known|contrast|iodine|penicillin|latex|bekannte)\s)*\w*allerg(?:y|ie)"
    r"(?:\s(?:known|bekannt))?\W*$"
    r"|^\W*(?:zustand nach|status post|s/p|history of (?!(?:the|illness|present|disease)\b))"
    r"|\b(?:biops|histolog|cytolog|zytolog)\w*\W+(?:(?:was|is|war|ist)\W+)?(?:positiv|negativ|benign"
    r"|malign|gutartig|bösartig|adeno|\w*carcino|\w*karzino)"
    r"|\b(?:creatinine|kreatinin|e?gfr|inr|crp)\W{1,3}(?:(?:is|was|ist|war)\s)?\d",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\bz\.\s?n\.(?:\s\w+)*", re.IGNORECASE)  # "Z.n. Bypass"
_KNOWN = re.compile(r"\W*(?:known|bekannte\w?)\s\w+\W*", re.IGNORECASE)
_YESTERDAY = re.compile(r"\b(?:yesterday(?!['’])|gestern)\b", re.IGNORECASE)
_IT_IS = re.compile(
    r"\W*(?:this|that|it|das|dies|es)\s(?P<is>is|was|ist|war)\s(?:an?\s|eine?\s)?(?:\w+\s)?",
    re.IGNORECASE,
)
_HERD = re.compile(r"\bherd(?:e[sn]?)?\b", re.IGNORECASE)
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
    left = _AFTER.sub(REMOVED, left)
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
    """Return whether a sentence says what a finding or a person is like, and no wish or rule."""
    said = _QUOTED.sub(" ", text)
    if _RULE.search(said):
        return False
    if _PERSON.search(said) or _HISTORY.search(said):
        return True
    if told := _TELL.match(said):
        rest = said[told.end() :]
        return _VERB.search(rest) is not None and _tells_a_finding(rest)
    places = [*findings_in(said), *(one.start() for one in _HERD.finditer(said))]
    if places and _CALL.match(said) and _FACT.search(said):
        return True
    fact, verb, order = (one.search(said) for one in (_FACT, _VERB, _ORDER))
    if _WISH.search(said) or _PREFERENCE.search(said) or (order and not (fact and verb)):
        return False
    if _SINCE.search(said) or (places and any(one.search(said) for one in (_THERE, _YESTERDAY))):
        return True
    if places and _KNOWN.fullmatch(said):
        return True
    if (one := _IT_IS.match(said)) and any(one.end("is") <= at <= one.end() for at in places):
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
