"""Checks sentences that compare two sizes of one result: "the left lung is larger than the right".

English and German. A size is the number of an item that names what it measures ("Left Lung area
609998 px"). Where an item for one of the two is missing, nothing is said of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from app.agent.answers.facts import sides_of, words_in
from app.agent.answers.figures import figures_in_text

_MEASURES = {
    "size": r"area|volume",
    "width": r"width",
    "height": r"height",
}
"""Words of items for each measure."""
_MORE = {
    "size": r"larger|bigger|greater|more|größere?|grössere?|mehr",
    "width": r"wider|broader|breitere?",
    "height": r"taller|higher|longer|höhere?|längere?",
}
_LESS = {
    "size": r"smaller|less|kleinere?|weniger",
    "width": r"narrower|schm[aä]lere?",
    "height": r"shorter|lower|niedrigere?|kürzere?",
}
_NOUNS = {
    "size": r"area|size|volume|fläche|größe|volumen|gro(?:ß|ss)|large|big",
    "width": r"width|breite?|wide|broad",
    "height": r"height|höhe|hoch|high|tall|long|length|länge|lang",
}
"""Words of sentences for each measure: "has a larger area than", "half as wide as"."""
_BE = r"(?:is|are|was|appears?|looks?|seems?|ist|sind|war|erscheint|wirkt)"
_HAS = r"(?:has|have|had|covers?|occup(?:y|ies)|takes? up|spans?|hat|haben|bedeckt|belegt)"
_NOUN = "|".join(_NOUNS.values())
_WORD = rf"(?P<word>{'|'.join((*_MORE.values(), *_LESS.values()))})"
_HOW = r"(?P<how>(?:[\w-]{1,20}\s){0,3}?)"
_PHRASE = r"[^,;:.()\[\]]{1,200}"
_THAN = re.compile(
    rf"\b(?:{_BE}|{_HAS})\s{_HOW}{_WORD}(?:\s(?:in\s)?(?P<noun>{_NOUN}))?\s(?:than|als)\s"
    rf"(?P<other>{_PHRASE})",
    re.IGNORECASE,
)
_OF_TWO = re.compile(
    rf"\b{_BE}\s{_HOW}(?:(?:the|die|der|das)\s)?{_WORD}\b(?P<noun>)"
    rf"(?=\s*(?:one|lung|of the (?:two|pair)|lunge|von beiden)?\s*(?:$|[,;:.()\[\]]))",
    re.IGNORECASE,
)
"""The left lung is the larger one: the other one lies on the other side."""
_IS_SIDE = re.compile(
    rf"\b(?:the|die|der|das)\s{_WORD}(?P<noun>)\s(?P<kind>\w+\s)?(?:of the two (?:\w+\s)?)?{_BE}\s"
    r"(?P<how>)(?:the|die|der|das|on the)\s(?P<side>left|right|linke|rechte)\b",
    re.IGNORECASE,
)
"""The larger lung is the left one."""
_PARTS = {
    r"half|halbe?|die hälfte": 1 / 2,
    r"(?:a|one) third|ein drittel": 1 / 3,
    r"two[- ]thirds|zwei drittel": 2 / 3,
    r"(?:a|one) quarter|ein viertel": 1 / 4,
    r"three[- ]quarters|drei viertel": 3 / 4,
    r"twice|double|two times|doppelt|zweimal": 2,
    r"three times|dreimal": 3,
}
_PART = re.compile(
    rf"\b(?:{_BE}|{_HAS}|nimmt|measures|misst)\s(?P<how>(?:[\w-]{{1,20}}\s){{0,2}}?)"
    rf"(?P<times>{'|'.join(_PARTS)})\s"
    rf"(?:(?:as|so)\s(?P<as>{_NOUN})\s(?:as|wie)|(?:of\s)?the\s(?P<of>{_NOUN})\sof"
    rf"|that\sof|(?:der\s)?(?P<von>{_NOUN}))\s(?P<other>{_PHRASE})",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:not|no|n[ei]ver|hardly|nicht|kaum|kein\w*|neither|weder)\b", re.IGNORECASE)
_BEHIND = re.compile(
    r"\s(?:by|with|um|mit|at|and|und|in|im|on|auf|is|was|ist|war|ein)\b.*", re.IGNORECASE
)
_FILL = re.compile(
    rf"\b(?:one|ones|counterpart|pendant|its|that|those|both|each|andere\w*|des|of|{_NOUN})\b|['’]s?\b",
    re.IGNORECASE,
)
"""Words that name nothing of what is compared: "than that of its right counterpart"."""
_SUBJECT = re.compile(r"[^,;:.()\[\]]{0,200}\Z")
_NEAR = 0.1  # of a part that is told: "half" is 0.45 to 0.55


def compared_wrongly(sentence: str, items: Mapping[str, str]) -> str | None:
    """Return the sizes that a sentence compares wrongly; "" if rightly, None if it compares none.

    `items` are the texts of the items that it may rest on, by their ids.
    """
    found = next(
        filter(None, (one.search(sentence) for one in (_PART, _THAN, _IS_SIDE, _OF_TWO))), None
    )
    if found is None:
        return None
    before = _SUBJECT.search(sentence, 0, found.start())
    subject = before[0] if before is not None else ""
    if _NO.search(subject + found["how"]):
        return None
    if found.re is _PART:
        return _part_against(subject, found, items)
    measure, less = _measure(found["word"], found["noun"] or subject)
    one, sides = _named(subject)
    if found.re is _THAN:
        other, there = _named(_BEHIND.sub("", found["other"]))
        other = other or (one if there else frozenset[str]())  # "than the right"
    else:
        if found.re is _IS_SIDE:
            one, sides = words_in(found["kind"] or ""), sides_of(found["side"])
        one = one or words_in(_FILL.sub(" ", sentence))
        if len(sides) != 1:
            return None
        other, there = one, frozenset({"left", "right"}) - sides
    for kind in (measure,) if measure != "size" else ("size", "width height"):
        pairs = [
            (first != last and (first > last) != less, f"{text}; {against}")
            for each in kind.split()
            for (first, unit, text) in _sizes(one, sides, each, items)
            for (last, same, against) in _sizes(other, there, each, items)
            if unit == same and text != against
        ]
        if pairs:
            return "" if any(right for right, _ in pairs) else pairs[0][1]
    return None


def _named(words: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return what words name, but for measures and the like, and the sides that they name."""
    return words_in(_FILL.sub(" ", words)), sides_of(words)


def _part_against(subject: str, found: re.Match[str], items: Mapping[str, str]) -> str | None:
    noun = found["as"] or found["of"] or found["von"] or subject
    measure = next((one for one, words in _NOUNS.items() if _has(words, noun)), "")
    times = next(one for word, one in _PARTS.items() if re.fullmatch(word, found["times"], re.I))
    wrong: list[str] = []
    for first, unit, text in _sizes(*_named(subject), measure, items):
        for last, same, against in _sizes(*_named(_BEHIND.sub("", found["other"])), measure, items):
            if unit != same or not last or text == against:
                continue
            if abs(first / last - times) <= _NEAR * times:
                return ""
            wrong.append(f"{text}; {against}")
    return wrong[0] if wrong else None


def _has(pattern: str, words: str) -> bool:
    return re.search(rf"\b(?:{pattern})\b", words, re.IGNORECASE) is not None


def _measure(word: str, noun: str) -> tuple[str, bool]:
    """Return the measure that a word of a comparison, or a noun beside it, names; if it is less."""
    measure, less = next(
        (one, table is _LESS)
        for table in (_MORE, _LESS)
        for one, words in table.items()
        if re.fullmatch(words, word, re.IGNORECASE)
    )
    named = next((one for one, words in _NOUNS.items() if _has(words, noun)), measure)
    return named if measure == "size" else measure, less


def _sizes(
    words: Collection[str], sides: Collection[str], measure: str, items: Mapping[str, str]
) -> Iterator[tuple[float, str, str]]:
    """Yield the numbers of the items that measure what words name, with their units and texts."""
    if not words or not measure:
        return
    for text in items.values():
        figures = [*figures_in_text(text)]
        fits = re.search(rf"\b(?:{_MEASURES[measure]})\b", text, re.IGNORECASE)
        if (
            len(figures) == 1
            and fits
            and words_in(text).issuperset(words)
            and sides_of(text) == frozenset(sides)
        ):
            yield abs(figures[0].value), figures[0].unit, text
