"""Finds the deeds that a sentence claims: "I zoomed to the heart", "the nodule is accepted".

Talk of what can, should or will be done claims nothing, nor does what somebody else did. What the
deeds are called is the packs' (`tools.pack_plan.Deed`); here are the forms of sentences, English
and German.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from app.tools.pack_plan import Deed

_BOUNDARY = re.compile(
    r"[;:!?|\n]|\.(?=\s|$)|\s[-\u2013\u2014]\s"
    r"|\b(?:but|because|since|so that|which|where|who|if|when|whether"
    r"|(?<!see )(?<!notice )(?<!assume )(?<!think )that (?:you|the|is|was)|while"
    r"|unless|you|they|the user|aber|weil|dass|damit|sodass|wenn|ob|während|Sie)\b"
)
_SUBJECT = re.compile(r"\b(?:I|we)\b(?:['’]ve\b)?", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:after|once|if|had|when|until|before|as soon as|unless|whether|that|as though)\s*$", re.I
)
"""Stands before a subject of which nothing is claimed: "once I have set a window"."""
_SUBORDINATE = re.compile(
    r".*\b(?:if|when|whenever|whether|once|after|before|until|unless|as soon as|as (?:it|they)"
    r"|wenn|falls|ob"
    r"|sobald|nachdem|bevor|bis)\b",
    re.IGNORECASE,
)
"""Stands before what is not said to be so: "if the nodule is accepted"."""
_ADVERBS = (
    r"(?:\s+(?:have|has|['’]ve|also|now|just|already|then|first|next|again|both|gone ahead and"
    r"|went ahead and|therefore|for you|\w+ly))*\s+"
)
_HAVE_I = re.compile(
    r"\b(?:(?:ich|wir)\s+(?:habe|haben|hab|bin|sind)|(?:habe|haben|hab|bin|sind)\s+(?:ich|wir))\b"
    r"|^\W*habe\b",
    re.IGNORECASE,
)
_BE = re.compile(
    r"\b(?P<past>was|were|has been|have been|wurden?)\b|\b(?P<now>is|are|ist|sind)\b", re.IGNORECASE
)
_NO_DEED = re.compile(
    r"\b(?:can|could|will|would|shall|should|may|might|must|cannot|do|did|does|to|let|want|need"
    r"|going|able|unable|never|not|hope|failed|tried|no|none|nothing|neither|nor|almost|nearly"
    r"|without|before|instead"
    r"|nicht|kein\w*|nie|nichts|weder|kann|können|könnte\w*|soll\w*|würde\w*|möchte\w*|ohne|bevor"
    r"|versucht|beinahe|fast|statt)\b|n['’]t\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?:by(?! \d)|from|(?:see|notice|assume|think|understand) that|yourself|user|you|your"
    r"|radiologist|physician|doctor|according|(?:in|to|per) (?:\w+ ){0,2}(?:report|record)\w*"
    r"|von|vom|durch|laut|anwender\w*|nutzer\w*|ihnen|ihre\w*|im (?:bericht|befund)|akte"
    r"|arzt|ärztin"
    r"|(?:in|on|am|im) (?:\d|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)"
    r"|(?:already|earlier|previously|originally|yesterday|still|during|since|bereits|schon|früher"
    r"|zuvor|vorher|ursprünglich|gestern|noch|beim|während)\b)",
    re.IGNORECASE,
)
"""Words of sentences in the passive voice by which somebody else did it, or not now."""
_WISHED = re.compile(
    r"\b(?:as you \w+|for you|as (?:requested|asked|wished)|wie (?:gewünscht|gewollt)|für sie)\b",
    re.IGNORECASE,
)
_IN_TEXT = re.compile(
    r"\b(?:table|list|summary|answer|wording|draft|sentence|paragraph|bold|html|below|above|values"
    r"|scores|numbers|results?|remarks?|comments?|notes?|question mark|star|message|dates?"
    r"|aside|weight|emphasis|set out"
    r"|tabelle\w*|liste|zusammenfassung|antwort|formulierung|satz|absatz|entwurf|unten|oben stehend"
    r"|werte|zahlen|ergebnisse?|bemerkung\w*|hinweise?|nachricht"
    r"|beiseite)\b"
    r"|\bas (?:uncertain|unclear|unreliable|possible|probable)\b",
    re.IGNORECASE,
)
"""Words of deeds on the answer's own text, or of thought: "I put the scores in a table"."""
_AGAIN = re.compile(r"(?:,|\band|\bthen|\bund|\bdann|&)(?:\s+(?:then|also|now|\w+ly))*\s*$", re.I)
"""Stands before a second verb of the same subject: "I opened the prior and hung it"."""
_NEXT_VERB = re.compile(
    r",?\s(?:and|und)\s(?=(?:then |also )?(?:\w+ed|set|hung|put|went|drew|hid|shown?)\b)", re.I
)
_NOW = re.compile(
    r"\b(?:now|done|as (?:you )?(?:asked|requested|wished|wanted)|jetzt|nun|erledigt|wie gewünscht"
    r"|wie gewollt)\b",
    re.IGNORECASE,
)
_IS_DONE = re.compile(
    r"\W*(?:the|this|these|those|both|all|your|it|they|der|die|das|diese\w*|beide|alle|es|sie)\b"
    r"(?:\s[\w-]+){0,4}?\s(?:is|are|ist|sind)\s\Z",
    re.IGNORECASE,
)
"""Stands before the verb of a report in the present tense that says no more: "the window is set".

With more words it is how the image looks, or how it is done: "the window is set too wide".
"""
_ENDS = re.compile(r"\W*(?:\Z|[,(]|(?:und|sowie|oder)\b)", re.IGNORECASE)
"""Stands behind the verb of a German sentence in the perfect tense."""
_NONE = re.compile(r"\w+\s(?:none|nothing|no|neither)\b", re.IGNORECASE)
_START = re.compile(
    r"\W*(?:(?:done|ok(?:ay)?|sure|certainly|yes|all right|right|great|of course|erledigt|gut|ja"
    r"|gerne?|fertig)\b\W*)*",
    re.IGNORECASE,
)
_OBJECT_FOLLOWS = r"\s+(?:the|a|an|it|them|all|both|to|into|this|that|these|those|your|out|in)\b"
_IMPERATIVE = re.compile(r"(?:set|put|reset|split|hid|shown?|taken)\b", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:I|we|you|is|are|was|were|has|have|had|can|could|will|would|may|might|should|do|does|did"
    r"|shows?|ich|wir|sie|ist|sind|war|waren|wurden?|wird|werden|hat|habe|haben|kann|können|zeigt|please|bitte"
    r"|to|zu)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“„»«][^\"”“»«\n]{3,300}[\"”“«»]")
_REACH = 160  # characters of a clause in which what a deed is done to may stand


def claimed(
    sentence: str, deeds: Sequence[Deed], *, cited: bool, state_asked: bool = False
) -> Iterator[tuple[Deed, str]]:
    """Yield the deeds that a sentence claims to be done here, each with the word that tells it.

    A sentence in the passive voice that cites results (`cited`) tells of what they say. With
    `state_asked`, the present tense without "now" answers how something is shown.
    """
    if not deeds or not _verbs(tuple(deeds)).search(sentence) or sentence.rstrip().endswith("?"):
        return
    sentence = _QUOTED.sub(" ", sentence)
    now = _NOW.search(sentence) is not None
    clauses = _clauses(sentence)
    for deed in deeds:
        words = [_first_person(one, deed) or _begun(one, deed) for one in clauses]
        if not cited:
            words += [_passive(one, deed, now=now, state_asked=state_asked) for one in clauses]
            words.append(_fragment(sentence, deed, now=now))
        if word := next(filter(None, words), ""):
            yield deed, word


def _clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence; a conjunction begins the one that it stands before."""
    cuts = [0, *(one.start() for one in _BOUNDARY.finditer(sentence)), len(sentence)]
    return [
        re.sub(r"\A\W+", "", sentence[start:end])
        # A sign that ends a clause belongs to it.
        + re.sub(r"\w.*", "", sentence[end : end + 1] or ".")
        for start, end in itertools.pairwise(cuts)
    ]


def _first_person(clause: str, deed: Deed) -> str:
    """Return the verb by which the model says that it did a deed; "" for none."""
    for one in _SUBJECT.finditer(clause):
        if _CONDITION.search(clause, 0, one.start()):
            continue
        for verb in _verb(deed).finditer(clause, one.end()):
            between = clause[one.end() : verb.start()]
            head = re.fullmatch(_ADVERBS, between) is not None
            again = _AGAIN.search(between) is not None and not _SUBJECT.search(between)
            if (
                (head or again)
                and not _NO_DEED.search(between)
                and _is_done_to(_NEXT_VERB.split(clause[verb.start() :])[0], deed)
            ):
                return verb[0]
    have = _HAVE_I.search(clause)
    if have is not None and not _NO_DEED.search(clause):
        for verb in _verb(deed).finditer(clause, have.end()):
            if _ENDS.match(clause, verb.end()) and _is_done_to(clause, deed):
                return verb[0]
    return ""


def _begun(clause: str, deed: Deed) -> str:
    """Return the verb with which a clause without a subject begins: "Zoomed to the heart"."""
    start = _START.match(clause)
    verb = _verb(deed).match(clause, start.end() if start is not None else 0)
    if verb is None or _IMPERATIVE.match(verb[0]):
        return ""
    follows = re.match(_OBJECT_FOLLOWS, clause[verb.end() :], re.IGNORECASE)
    return verb[0] if follows and _is_done_to(clause[verb.start() :], deed) else ""


def _passive(clause: str, deed: Deed, *, now: bool, state_asked: bool) -> str:
    """Return the verb by which a clause in the passive voice claims a deed; "" for none."""
    clause = _WISHED.sub(" ", clause)
    others = _OF_OTHERS.search(clause) or _SUBORDINATE.match(clause)
    if deed.told_of_state is None or others:
        return ""
    for be in _BE.finditer(clause):
        verb = _verb(deed).search(clause, be.end())
        if verb is None or _NO_DEED.search(clause, 0, verb.end()):
            continue
        is_done = not state_asked and _IS_DONE.match(clause[: verb.start()])
        report = be["past"] or (is_done and re.fullmatch(r"\s*[^\w\s]+\s*", clause[verb.end() :]))
        if not (now or (deed.told_of_state and report)):
            continue
        german = be[0].casefold() in ("wurde", "wurden", "ist", "sind")
        near = german or re.fullmatch(r"(?:\s+[\w-]+){0,2}\s+", clause[be.end() : verb.start()])
        # Where a thing is put may tell what is done: "is now shown beside the other study".
        whole = german or deed.told_of_state is False
        if near and _is_done_to(clause if whole else clause[: be.start()], deed):
            return verb[0]
    return ""


def _fragment(sentence: str, deed: Deed, *, now: bool) -> str:
    """Return the verb with which a sentence without a finite verb ends: "Lung window set."."""
    if deed.told_of_state is None or "|" in sentence or sentence.rstrip().endswith(":"):
        return ""
    if _FINITE.search(sentence) or _NO_DEED.search(sentence) or _OF_OTHERS.search(sentence):
        return ""
    if not (now or deed.told_of_state):
        return ""
    for verb in _verb(deed).finditer(sentence):
        ends = re.match(r"(?:\s+(?:now|jetzt|nun))?\W*(?:$|[,;.](?=\s|$))", sentence[verb.end() :])
        if ends and _is_done_to(sentence[: verb.end()], deed):
            return verb[0]
    return ""


def _is_done_to(words: str, deed: Deed) -> bool:
    other = _IN_TEXT.search(words) or _NONE.match(words)
    return not other and bool(_object(deed).search(words[:_REACH]))


@lru_cache(maxsize=256)
def _verb(deed: Deed) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{deed.done})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=256)
def _object(deed: Deed) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{deed.to})(?!\w)" if deed.to else "", re.IGNORECASE)


@lru_cache(maxsize=8)
def _verbs(deeds: tuple[Deed, ...]) -> re.Pattern[str]:
    every = "|".join(deed.done for deed in deeds)
    return re.compile(rf"\b(?:{every})(?!\w)", re.IGNORECASE)


def may_claim(text: str, deeds: tuple[Deed, ...]) -> bool:
    """Return whether the beginning of a sentence has a word that may claim a deed."""
    return bool(deeds) and _verbs(deeds).search(text) is not None
