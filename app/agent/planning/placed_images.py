"""Finds the open image that a question names by its viewport, its year or its age.

"On the right one", "in viewport 2", "on the film of 2022", "on the prior", "on the other one".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
_OTHER = re.compile(
    rf"\b{OF}{ELSE}\s?(?:chest\s|thorax)?{NOUN}(?!\w)|\b{OF}prior(?!\w)", re.IGNORECASE
)
_PLACED = re.compile(
    rf"\b{OF}(?P<side>left|right|linken?|rechten?)(?:[ -]hand)?\s+"
    rf"(?:one|viewport|view|pane|ansicht|{NOUN})(?!\w)"
    rf"|\b{OF}(?:viewport|ansicht)\s+(?P<number>\d)"
    rf"|\b{OF}(?:old|older|alten|älteren|aelteren)(?:\s+{NOUN}(?!\w)|(?=[\s,.;?!]*$))"
    rf"|\b{OF}(?P<new>newer|newest|latest|current|neueren|neuesten|neuen|aktuellen)\s+{NOUN}(?!\w)"
    rf"|\b(?:{OF})?{NOUN}\s+(?:{OF})?(?P<year>(?:19|20)\d\d)(?!\w)"
    r"|\bin\s+(?P<in>(?:19|20)\d\d)(?=[\s,.;?!]*$)"
    rf"|\b(?:{OF})?(?P<of>(?:19|20)\d\d)(?:er)?\s+{NOUN}(?!\w)",
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


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """An image that is named by its viewport, year or age.

    Attributes:
        id: The image's id; "" if it is not clear which is meant.
        said: The words for it.
        spans: Where they stand in the question.
        by_place: Whether they name a viewport, which shows something else in another layout.
    """

    id: str
    said: str
    spans: tuple[tuple[int, int], ...]
    by_place: bool

    def blanked(self, text: str) -> str:
        """Return a question of the same length without these words.

        "The left lung on the right one" has one side.
        """
        for start, end in self.spans:
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
        return text


def placed_image(
    blank: str, images: Sequence[Mapping[str, Any]], shown: Mapping[str, Any]
) -> PlacedImage | None:
    """Return the image that a question names by its viewport, year or age; None if it names none.

    Args:
        blank: The question, without quotations.
        images: The notes on the open images, the current one first.
        shown: What the window shows (`tools.api.Viewer.state`); empty without a window.
    """
    found = [*_OTHER.finditer(blank), *_PLACED.finditer(blank)]
    many = len(images) > 1
    # With one image open, "on the left image" may be about the left side of it.
    found = [one for one in found if many or not one.groupdict().get("new")]
    if not many and not shown:
        found = [one for one in found if one.re is _OTHER]
    if not found:
        return None
    ids = {_meant(one, images, shown) for one in found}
    known = ids.pop() if len(ids) == 1 and not _COMPARES.search(_outside(blank, found)) else ""
    said = " ".join(found[0][0].split())
    spans = tuple(one.span() for one in found)
    by_place = any(one.groupdict().get("side") or one.groupdict().get("number") for one in found)
    return PlacedImage(known, said, spans, by_place)


def image_in(viewport: str, shown: Mapping[str, Any]) -> str:
    """Return the id of the image in a viewport, given by number, place or time; "" if unclear."""
    words = set(viewport.split())
    return _only(
        str(one.get("image") or "")
        for one in shown.get("viewports", ())
        if viewport in (str(one.get("viewport")), one.get("study"))
        or (words and words <= set(str(one.get("place", "")).split()))
    )


def viewport_of(image: str, shown: Mapping[str, Any]) -> str:
    """Return the number of the viewport that shows an image; "" if none or several do."""
    viewports = shown.get("viewports", ())
    return _only(str(one.get("viewport")) for one in viewports if one.get("image") == image)


def _outside(blank: str, found: Iterable[re.Match[str]]) -> str:
    return PlacedImage("", "", tuple(one.span() for one in found), False).blanked(blank)


def _only(values: Iterable[str]) -> str:
    """Return the one value, or "" if there are none or several."""
    found = set(values)
    return found.pop() if len(found) == 1 else ""


def _meant(
    match: re.Match[str], images: Sequence[Mapping[str, Any]], shown: Mapping[str, Any]
) -> str:
    """Return the id of the image that the words for one mean; "" if that is not clear."""
    said, text = match.groupdict(), match[0].casefold()
    if number := said.get("number"):
        return image_in(number, shown)
    if side := said.get("side"):
        return image_in("left" if side[0].casefold() == "l" else "right", shown)
    if year := said.get("year") or said.get("in") or said.get("of"):
        return _only(str(one["id"]) for one in images if _date(one).startswith(year))
    if said.get("new"):
        return image_in("current", shown) or _of_age(images, newest=True)
    if re.search(r"\b(?:other|ander\w*)", text):
        return str(images[1]["id"]) if len(images) == 2 else ""
    if re.search(r"\b(?:prior|prev|earl|preced|old|alt|ält|ael|vor|fr[üu]e?h)", text):
        return image_in("prior", shown) or _of_age(images, newest=False)
    return ""


def _date(note: Mapping[str, Any]) -> str:
    return str(note.get("study_date") or "")


def _of_age(images: Sequence[Mapping[str, Any]], *, newest: bool) -> str:
    """Return the id of the one image of the first or last of several dates; "" if there is none."""
    dates = sorted(map(_date, images))
    if not dates or not dates[0] or dates[0] == dates[-1]:
        return ""
    wanted = dates[-1 if newest else 0]
    return _only(str(one["id"]) for one in images if _date(one) == wanted)
