"""Finds the open image that a question names by its viewport, its year or its age.

"On the right one", "in viewport 2", "on the film of 2022", "on the prior", "on the other one".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.paths import resources_dir

NOUN = (
    r"(?:images?|pictures?|films?|scans?|stud(?:y|ies)|exams?|radiographs?|x-?rays?|cxrs?|slides?|"
    r"files?|micrographs?|\w*bild(?:e[rsn]{0,2}|s)?|\w*aufnahmen?|untersuchung(?:en)?|ones?)"
)
OF = (
    r"(?:in|on|of|for|from|im|auf|bei|von|vom|des|der|fuer|für|aus)\s+"
    r"(?:(?:the|dem|der|den)\s+)?"
)
ELSE = (
    r"(?:other|another|second|2nd|third|3rd|fourth|4th|previous|prior|earlier|next|preceding|"
    r"ander\w*|vorherig\w*|vorig\w*|zweit\w*|dritt\w*|viert\w*|nächst\w*|naechst\w*|früher\w*|"
    r"frueher\w*|vor)"
)
_FILM = r"(?:film|study|exam|radiograph|x-?ray|cxr|\w*aufnahme|untersuchung|studie)"
_PLACES = ("side", "number", "bare", "down")
_SIDE_BY_SIDE = 2
_END = r"(?=\s*(?:[,.;?!]|$|(?:and|und|then|dann|please|pls|bitte|too|also|auch|as)\b))"
_OTHER = re.compile(
    rf"\b{OF}{ELSE}\s?(?:chest\s|thorax)?{NOUN}(?!\w)|\b{OF}prior(?!\w)"
    rf"|\b{OF}(?:other|anderen){_END}",
    re.IGNORECASE,
)
_PLACED = re.compile(
    rf"\b{OF}(?P<side>left|right|linken?|rechten?)(?:[ -]hand)?\s+"
    rf"(?:one|viewport|view|pane|ansicht|{NOUN})(?!\w)"
    r"|\b(?:the\s+)?(?P<bare>left|right|linke[ns]?|rechte[ns]?)(?:[ -]hand)?\s+"
    r"(?:viewport|pane|ansicht|image|film|radiograph|x-?ray|bild|aufnahme|thorax)(?!\w)"
    r"|\b(?:the|das|die|dem|der)\s+(?:other|andere[nr]?)\s+"
    r"(?:viewport|pane|ansicht|image|film|radiograph|x-?ray|bild|aufnahme)(?!\w)"
    r"|\b(?:the|das|die|dem|der)\s+(?:older|old|prior|earlier|alten?|älteren?|aelteren?|frühere[ns]?)"
    r"\s+(?:film|study|radiograph|x-?ray|cxr|aufnahme|studie)(?!\w)"
    rf"|\b{OF}(?:viewport|ansicht)\s+(?P<number>\d)"
    rf"|\b{OF}(?:old|older|alten|älteren|aelteren)(?:\s+{NOUN}(?!\w)|{_END})"
    rf"|\b{OF}(?P<new>new|newer|newest|latest|current|neueren|neuesten|neuen|aktuellen)"
    rf"(?:\s+{NOUN}(?!\w)|{_END})"
    rf"|\b(?:{OF})?(?:{_FILM}\s+(?:{OF})?|{NOUN}\s+{OF})(?P<year>(?:19|20)\d\d)(?!\w)"
    r"|\b(?:19|20)\d\d\s+(?:and|und|&)\s+(?:19|20)\d\d\b"
    r"|\bin\s+(?P<in>(?:19|20)\d\d)(?=[\s,.;?!]*$)"
    r"|(?<=[^\W\d])\s+(?P<asked>(?:19|20)\d\d)(?=\s*\?\s*$)"
    r"|\b(?:was|were|war|waren|had|hatte)\b[^,;.]*\s(?P<then>(?:19|20)\d\d)(?=[\s.!]*$)"
    rf"|\b(?:{OF})?(?P<of>(?:19|20)\d\d)(?:er)?\s+(?:{_FILM}|one|image|bild)(?!\w)",
    re.IGNORECASE,
)
_CORNER = re.compile(
    rf"\b(?:{OF})?(?:the\s+)?(?P<down>top|upper|bottom|lower|oben|unten)[ -]"
    r"(?P<across>left|right|links|rechts)"
    rf"(?:\s+(?:viewport|view|pane|ansicht|corner|ecke|{NOUN}))?"
    r"(?!\s+(?:lung|lobe|zone|field|quadrant|lappen|feld|lunge|oberfeld|unterfeld))(?!\w)",
    re.IGNORECASE,
)
"""A viewport of a layout of several rows: "top right"."""
_SIDES = r"left|right|links|rechts"
_BARE_SIDE = re.compile(
    rf"(?:\bon\s+(?:the\s+)?|\s)(?P<side>{_SIDES})(?:\s+(?:and|und)\s+(?P<too>{_SIDES}))?"
    rf"(?:{_END}|(?=\s+(?-i:[a-zäöü]+en)\b))",
    re.IGNORECASE,
)
"""A side after something in the midline, which names a film: "the heart on the right"."""
_SIDE_FIRST = re.compile(
    rf"(?:^|[,;]|\b(?:and|und|then|dann)\b)\s*(?P<side>{_SIDES})\s+(?=(?:die|das|den|der|the)\b)",
    re.IGNORECASE,
)
"""As in "Herz rechts messen, links die Lungen umranden"."""
_HERE = re.compile(
    r"\b(?:here|hier|(?:on|in) this (?:one|film|image)|(?:auf|in) diese[mr] (?:bild|aufnahme))\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:than|als|compar\w*|versus|vs|vergl\w*|unlike|anders|chang\w*|progress\w*|gr[eo]wn?|"
    r"in?creas\w*|decreas\w*|wors\w*|better|improv\w*|larger|smaller|bigger|denser|same|differ\w*|"
    r"new|since|still|veränder\w*|veraender\w*|zugenommen|abgenommen|größer\w*|groesser\w*|kleiner\w*|"
    r"dichter\w*|gewachsen|neue?[snmr]?|seit|schlechter|besser|gleich\w*)\b",
    re.IGNORECASE,
)
"""Words of a comparison, which is of two images whichever one it names."""
_AGAIN = re.compile(
    r"(?:[\s,.;:?!]|\b(?:the|same|do|that|it|this|check|measure|as|well|too|also|again|next|please|pls"
    r"|erst|auch|bitte|dasselbe|das|gleiche|noch|einmal|mal|die|es)\b)*",
    re.IGNORECASE,
)
"""The words around an image on which the same is to be done as on the one before."""
_FOLLOW_UP = re.compile(
    r"(?:(?:and|und|now|jetzt|ok|okay|then|dann|so|the same|same|dasselbe|das gleiche|what about"
    r"|how about|was ist mit)[ ,]+)*(?:(?:on|in|for|auf|im|in) )?(?:(?:the|die|das|der|den|dem) )?"
    r"(?P<what>other|andere[nrsm]?|prior|old(?:er)?|current|newer|left|right|links|rechts"
    r"|linke[nrs]?|rechte[nrs]?|alte[nrs]?|aktuelle[nrs]?|neue[nrs]?|voraufnahme|(?:19|20)\d\d)(?:er)?"
    r"(?: (?:one|film|image|study|bild|aufnahme|side))?"
    r"(?: (?:too|as well|also|auch|please|pls|bitte))*[ .?!]*",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^(?:and|und|now|jetzt|the same|same|dasselbe|das gleiche|what about|how about|was ist mit)\b"
    r"|\b(?:too|as well|also|auch)[ .?!]*$",
    re.IGNORECASE,
)
_IN_ENGLISH = (
    ("ander", "other"),
    ("link", "left"),
    ("recht", "right"),
    ("voraufnahme", "prior"),
    ("alt", "old"),
    ("aktuell", "current"),
    ("neu", "current"),
    ("newer", "current"),
)
_LAST_SIDE = re.compile(
    r"(?:\bon )?(?:\bthe )?\b(left|right|links|rechts)(?= *(?:too|also|auch)?[ ?.!]*$)",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"\b(?:what about|how about|now|wie (?:ist|sieht) es|was ist mit|jetzt|aus|sieht)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;?.]|\b(?:and|und|then|dann|danach)\b", re.IGNORECASE)


@cache
def _midline() -> re.Pattern[str]:
    """Return the pattern of words for what lies in the midline."""
    lines = (resources_dir() / "words" / "midline.txt").read_text("utf-8").splitlines()
    words = (re.escape(line).replace(r"\*", r"\w*") for line in lines if not line.startswith("#"))
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """An image that is named by its viewport, year or age.

    Attributes:
        ids: The image's id; () if it is not clear which is meant; several if the same is to be done
            on each: "measure the heart on the left one, then on the other one".
        said: The words for it.
        spans: Where they stand in the question.
        by_place: Whether they name a viewport, which shows something else in another layout.
    """

    ids: tuple[str, ...]
    said: str
    spans: tuple[tuple[int, int], ...]
    by_place: bool

    def blanked(self, text: str) -> str:
        """Return a question of the same length without these words.

        "The left lung on the right one" has one side.
        """
        return _blanked(text, self.spans)


def may_be_the_patients_side(text: str, before: str) -> bool:
    """Return whether the side in "and on the right?" may be the patient's.

    `before` is the question before. What lies in the midline is on no side of the patient.
    """
    return _LAST_SIDE.search(text) is not None and _midline().search(before) is None


def as_follow_up(text: str) -> str:
    """Return a question that only names an image in plain words: "on the other one".

    "Die andere auch?" and "and the other one too" are that.
    Any other text is returned as it is.
    """
    found = _FOLLOW_UP.fullmatch(text.strip())
    if found is None:
        return text
    said = found["what"].casefold()
    return f"on the {next((word for stem, word in _IN_ENGLISH if said.startswith(stem)), said)} one"


def only_goes_on(text: str) -> bool:
    """Return whether a text only goes on from one before: "and the other one", "links auch"."""
    return _GOES_ON.search(text) is not None and _FOLLOW_UP.fullmatch(text.strip()) is not None


def says_the_same(blank: str, placed: PlacedImage) -> bool:
    """Return whether a question only asks for the same on another image: "and on the prior?"."""
    rest = _CLAUSE.sub(" ", _FOLLOWS.sub(" ", placed.blanked(blank)))
    return _AGAIN.fullmatch(rest) is not None


def placed_image(
    blank: str,
    images: Sequence[Mapping[str, Any]],
    shown: Mapping[str, Any],
    named: Sequence[str] = (),
) -> PlacedImage | None:
    """Return the image that a question names by its viewport, year or age; None if it names none.

    Args:
        blank: The question, without quotations.
        images: The notes on the open images, the current one first.
        shown: What the window shows (`tools.api.Viewer.state`); empty without a window.
        named: The ids of the images that were named before: "the other one" is another.
    """
    found = [*_OTHER.finditer(blank), *_PLACED.finditer(blank)]
    many = len(images) > 1
    if len(shown.get("viewports", ())) > _SIDE_BY_SIDE:
        found = [*_CORNER.finditer(blank)] or found
    if not found and many and shown:
        found = [one for one in _BARE_SIDE.finditer(blank) if _is_of_midline(blank, one)]
        found += [*_SIDE_FIRST.finditer(blank)] if found else []
    # With one image open, "on the left image" may be about the left side of it.
    found = [one for one in found if many or not one.groupdict().get("new")]
    if not many and not shown:
        found = [one for one in found if one.re is _OTHER]
    if not found:
        return None
    found.sort(key=lambda one: (one.start(), -one.end()))
    found = [
        one for n, one in enumerate(found) if not any(one.start() < o.end() for o in found[:n])
    ]
    spans = tuple(one.span("then" if one.groupdict().get("then") else 0) for one in found)
    ids: tuple[str, ...] = ()
    for one in found:
        ids += _meant(one, images, shown, ids or named)
    ids = tuple(dict.fromkeys(ids))
    again = _done_again(blank, spans) if 0 < len(ids) <= 2 else None
    both = any(one.groupdict().get("too") for one in found)
    if again is not None and len(found) == 1 and not both:  # "..., and on the prior?"
        ids = tuple(dict.fromkeys((str(images[0].get("id")), *ids)))
    clear = all(ids) and (len(ids) == 1 or again is not None or both)
    spans = spans if again is None else (*spans, again)
    if not clear or _COMPARES.search(_blanked(blank, spans)) or _is_here_too(blank, spans):
        ids = ()
    by_place = any(
        one.groupdict().get(name) for one in found for name in ("side", "number", "bare")
    )
    return PlacedImage(ids, " ".join(found[0][0].split()), spans, by_place)


def _is_of_midline(blank: str, side: re.Match[str]) -> bool:
    """Return whether the clause of a side is about what lies in the midline."""
    starts = [0, *(one.end() for one in _CLAUSE.finditer(blank, 0, side.start()))]
    return _midline().search(blank, starts[-1], side.start()) is not None


def _is_here_too(blank: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether other work is wanted "here": "measure it on the prior, outline it here"."""
    rest = _blanked(blank, spans)
    here = _HERE.search(rest)
    clauses = [one for one in _CLAUSE.split(_HERE.sub(" ", rest)) if not _AGAIN.fullmatch(one)]
    return here is not None and len(clauses) > 1


def _done_again(blank: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the last clause of a question, if it only says to do the same on another image."""
    before = 0 if len(spans) == 1 else spans[0][1]
    starts = [one.start() for one in _CLAUSE.finditer(blank, before, spans[-1][0])]
    starts = starts[-1:] if len(spans) == 1 else starts
    if not starts:
        return None
    if _AGAIN.fullmatch(_CLAUSE.sub(" ", _blanked(blank, spans)[: starts[0]])):
        return None  # nothing is asked before
    # "..., and then on the other one" has several of these words.
    clause = _blanked(blank, spans)[starts[0] :]
    return (starts[0], len(blank)) if _AGAIN.fullmatch(_CLAUSE.sub(" ", clause)) else None


def image_in(viewport: str, shown: Mapping[str, Any]) -> str:
    """Return the id of the image in a viewport, given by number, place or time; "" if unclear."""
    words = set(viewport.split())
    viewports = shown.get("viewports", ())
    if viewport == "other":
        others = [one for one in viewports if one.get("image") and not one.get("active")]
        return str(others[0]["image"]) if len(others) == 1 else ""
    return _only(
        str(one.get("image") or "")
        for one in viewports
        if viewport in (str(one.get("viewport")), one.get("study"))
        or (words and words <= set(str(one.get("place", "")).split()))
    )


def viewport_of(image: str, shown: Mapping[str, Any]) -> str:
    """Return the number of the viewport that shows an image; "" if none or several do."""
    viewports = shown.get("viewports", ())
    return _only(str(one.get("viewport")) for one in viewports if one.get("image") == image)


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _only(values: Iterable[str]) -> str:
    """Return the one value, or "" if there are none or several."""
    found = set(values)
    return found.pop() if len(found) == 1 else ""


def _meant(
    match: re.Match[str],
    images: Sequence[Mapping[str, Any]],
    shown: Mapping[str, Any],
    named: Sequence[str],
) -> tuple[str, ...]:
    """Return the ids of the images that the words for one mean, "" for one that is not clear.

    `named` are those of the words before: "the other one" is another than these.
    """
    said, text = match.groupdict(), match[0].casefold()
    if number := said.get("number"):
        return (image_in(number, shown),)
    if down := said.get("down"):
        place = "top" if down.casefold() in ("top", "upper", "oben") else "bottom"
        return (image_in(f"{place} {_across(said['across'])}", shown),)
    if side := said.get("side") or said.get("bare"):
        sides = [side, *filter(None, [said.get("too")])]
        return tuple(image_in(_across(one), shown) for one in sides)
    years = (said.get(name) for name in ("year", "in", "of", "then", "asked"))
    if year := next(filter(None, years), ""):
        return (_only(str(one["id"]) for one in images if _date(one).startswith(year)),)
    if said.get("new"):
        return (image_in("current", shown) or _of_age(images, newest=True),)
    if re.search(r"\b(?:other|ander\w*)", text):
        others = [str(one["id"]) for one in images if one["id"] not in (named or [images[0]["id"]])]
        return (others[0] if len(others) == 1 and len(images) == 2 else "",)
    if re.search(r"\b(?:prior|prev|earl|preced|old|alt|ält|ael|vor|fr[üu]e?h)", text):
        return (image_in("prior", shown) or _of_age(images, newest=False),)
    return ("",)


def _across(side: str) -> str:
    return "left" if side[0].casefold() == "l" else "right"


def _date(note: Mapping[str, Any]) -> str:
    return str(note.get("study_date") or "")


def _of_age(images: Sequence[Mapping[str, Any]], *, newest: bool) -> str:
    """Return the id of the one image of the first or last of several dates; "" if there is none."""
    dates = sorted(map(_date, images))
    if not dates or not dates[0] or dates[0] == dates[-1]:
        return ""
    wanted = dates[-1 if newest else 0]
    return _only(str(one["id"]) for one in images if _date(one) == wanted)
