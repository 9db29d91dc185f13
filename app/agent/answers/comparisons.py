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
    "size": (r"area|volume", r"large\w*|big\w*|size|area|gr(?:ö|oe)(?:ß|ss)\w*|gro(?:ß|ss)|fläche"),
    "width": (r"width", r"wid(?:e|th)\w*|broad\w*|breit\w*"),
    "height": (r"height", r"tall\w*|high\w*|height|hoch|höh\w*"),
}
"""Words of items and words of sentences for each measure; see also `_LESS`."""
_LESS = {
    "size": r"smaller|kleiner\w*",
    "width": r"narrower|schm[aä]ler\w*",
    "height": r"shorter|niedriger\w*|kürzer\w*",
}
_BE = r"(?:is|are|was|appears?|looks?|ist|sind|war|erscheint|wirkt)"
_MORE = (
    r"larger|bigger|wider|broader|taller|higher|größere?|grössere?|breitere?|höhere?"
    r"|smaller|narrower|shorter|kleinere?|schm[aä]lere?|niedrigere?|kürzere?"
)
_PHRASE = r"[^,;:.()\[\]]+"
_THAN = re.compile(
    rf"(?P<one>{_PHRASE}?)\b{_BE}\s(?P<how>(?:[\w-]+\s){{0,3}}?)(?P<word>{_MORE})\s(?:than|als)\s"
    rf"(?P<other>{_PHRASE})",
    re.IGNORECASE,
)
_OF_TWO = re.compile(
    rf"(?P<one>{_PHRASE}?)\b{_BE}\s(?P<how>)(?:the|die|der|das)\s(?P<word>{_MORE})\b"
    rf"(?!\s(?:than|als))(?P<kind>{_PHRASE})?",
    re.IGNORECASE,
)
"""The left lung is the larger one: the other one lies on the other side."""
_PARTS = {
    r"half|halb": 1 / 2,
    r"(?:a|one) third|ein drittel": 1 / 3,
    r"two[- ]thirds|zwei drittel": 2 / 3,
    r"(?:a|one) quarter|ein viertel": 1 / 4,
    r"three[- ]quarters|drei viertel": 3 / 4,
    r"twice|double|two times|doppelt|zweimal": 2,
    r"three times|dreimal": 3,
}
_PART = re.compile(
    rf"(?P<one>{_PHRASE}?)\b(?:{_BE}|has|hat|takes up|spans|measures)\s"
    rf"(?P<how>(?:[\w-]+\s){{0,2}}?)(?P<times>{'|'.join(_PARTS)})\s"
    r"(?:(?:as|so)\s(?P<word>\w+)\s(?:as|wie)|(?:of\s)?the\s(?P<noun>\w+)\sof|der\s(?P<wort>\w+))\s"
    rf"(?P<other>{_PHRASE})",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:not|no|n[ei]ver|hardly|nicht|kaum|kein\w*|neither|weder)\b", re.IGNORECASE)
_BEHIND = re.compile(
    r"\s(?:by|with|um|mit|at|and|und|in|im|on|auf|is|was|ist|war)\b.*", re.IGNORECASE
)
_NEAR = 0.1  # of a part that is told: "half" is 0.45 to 0.55


def compared_wrongly(sentence: str, items: Mapping[str, str]) -> str | None:
    """Return the sizes that a sentence compares wrongly; "" if rightly, None if it compares none.

    `items` are the texts of the items that it may rest on, by their ids.
    """
    if (found := _PART.search(sentence)) is not None:
        return _part_against(found, items)
    found = _THAN.search(sentence) or _OF_TWO.search(sentence)
    if found is None or _NO.search(found["one"] + found["how"]):
        return None
    measure, less = _measure(found["word"])
    one, sides = words_in(found["one"]), sides_of(found["one"])
    if "kind" in found.groupdict():
        one |= words_in(re.sub(r"\bone\b|of the two\b", " ", found["kind"] or ""))
        if len(sides) != 1:
            return None
        other, there = one, frozenset({"left", "right"}) - sides
    else:
        told = _BEHIND.sub("", found["other"])
        other, there = words_in(told), sides_of(told)
        other = other or (one if there else frozenset[str]())  # "than the right"
    pairs: list[tuple[bool, str]] = []
    for kind in (measure,) if measure != "size" else ("size", "width height"):
        pairs = [
            ((first > last) != less if first != last else False, f"{text}; {against}")
            for each in kind.split()
            for (first, unit, text) in _sizes(one, sides, each, items)
            for (last, same, against) in _sizes(other, there, each, items)
            if unit == same and text != against
        ]
        if pairs:
            break
    if not pairs:
        return None
    return "" if any(right for right, _ in pairs) else pairs[0][1]


def _part_against(found: re.Match[str], items: Mapping[str, str]) -> str | None:
    if _NO.search(found["one"] + found["how"]):
        return None
    measure, _ = _measure(found["word"] or found["noun"] or found["wort"])
    times = next(one for word, one in _PARTS.items() if re.fullmatch(word, found["times"], re.I))
    told = _BEHIND.sub("", found["other"])
    wrong: list[str] = []
    for first, unit, text in _sizes(words_in(found["one"]), sides_of(found["one"]), measure, items):
        for last, same, against in _sizes(words_in(told), sides_of(told), measure, items):
            if unit != same or not last or text == against:
                continue
            if abs(first / last - times) <= _NEAR * times:
                return ""
            wrong.append(f"{text}; {against}")
    return wrong[0] if wrong else None


def _measure(word: str) -> tuple[str, bool]:
    """Return the measure that a word of a comparison is about, "" for none, and if it says less."""
    for measure, (_, more) in _MEASURES.items():
        if re.fullmatch(_LESS[measure], word, re.IGNORECASE):
            return measure, True
        if re.fullmatch(more, word, re.IGNORECASE):
            return measure, False
    return "", False


def _sizes(
    words: Collection[str], sides: Collection[str], measure: str, items: Mapping[str, str]
) -> Iterator[tuple[float, str, str]]:
    """Yield the numbers of the items that measure what words name, with their units and texts."""
    if not words or not measure:
        return
    for text in items.values():
        figures = [*figures_in_text(text)]
        fits = re.search(rf"\b(?:{_MEASURES[measure][0]})\b", text, re.IGNORECASE)
        if len(figures) == 1 and fits and words_in(text).issuperset(words):
            if sides_of(text) == frozenset(sides):
                yield abs(figures[0].value), figures[0].unit, text
