"""Which view a film's file says that it is: by View Position, its view code, how it lies.

A file may have any one of the three, and they may contradict each other: View Position is typed or
a preset, Patient Orientation is often the same preset for every film of a machine. Nothing that
calls a film a lateral is outvoted; that the others say otherwise is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.imaging.space.projections import Course, coded_projection
from app.imaging.types import Orientation
from app.tools.api import ImageSnapshot

Position: TypeAlias = Literal["PA", "AP", "lateral", "unknown"]
View: TypeAlias = Course | Literal["decubitus"]

ONLY_FRONTAL = "only frontal chest radiographs (PA or AP) can be used"
_LATERAL = r"[LR]?LAT|LATERAL|LATERO\w*|SEITLICH|PROFIL|X-?TABLE"
_POSITIONS: tuple[tuple[re.Pattern[str], View], ...] = (
    # A lateral decubitus film is taken from the front.
    (re.compile(r"LLD|RLD|(.*[^A-Z])?DECUB(ITUS)?([^A-Z].*)?"), "decubitus"),
    (re.compile(rf"LL|RL|LLO|RLO|(.*[^A-Z])?(?:{_LATERAL})([^A-Z].*)?"), Course.LATERAL),
    (re.compile(r"LAO|RAO|LPO|RPO|(.*[^A-Z])?OBL(IQUE)?([^A-Z].*)?"), Course.OBLIQUE),
    (re.compile(r"PA([^A-Z].*)?"), Course.PA),
    (re.compile(r"AP.*"), Course.AP),
)
"""View Position, whose terms few machines keep to -> what it means."""
_FRONTAL = frozenset({Course.PA, Course.AP, Course.FRONTAL, "decubitus"})
_AGAINST: tuple[tuple[View, str], ...] = (
    (Course.LATERAL, f"this is a lateral view; {ONLY_FRONTAL}"),
    (Course.ALONG, "it was taken along the body, not from the front"),
    (Course.OBLIQUE, f"this is an oblique view; {ONLY_FRONTAL}"),
    (Course.OTHER, f"this is another view than one from the front; {ONLY_FRONTAL}"),
)
_DECUBITUS = "a decubitus view: free fluid and air lie elsewhere than upright"


@dataclass(frozen=True, slots=True)
class StatedView:
    """What a file says of the view.

    Attributes:
        position: PA, AP or lateral; "unknown" where it does not say, or says both PA and AP.
        frontal: Whether something in it calls the film frontal, and nothing anything else.
        objection: Why it cannot be used as a frontal film, or "".
        doubts: What the user is to know.
    """

    position: Position
    frontal: bool
    objection: str
    doubts: tuple[str, ...]


def stated_view(snapshot: ImageSnapshot) -> StatedView:
    """The view of an image by all that its file says of it."""
    said = _said(snapshot)
    views = set(said.values())
    for view, text in _AGAINST:
        if view in views:
            position: Position = "lateral" if view is Course.LATERAL else "unknown"
            also = _otherwise(said, view)
            return StatedView(position, False, f"the file says that {text}{also}", ())
    if "decubitus" in views:
        return StatedView("unknown", True, "", (_DECUBITUS,))
    if {Course.PA, Course.AP} <= views:
        return StatedView("unknown", True, "", (f"the file contradicts itself: {_list(said)}",))
    known: Position = "PA" if Course.PA in views else "AP" if Course.AP in views else "unknown"
    return StatedView(known, bool(views), "", ())


def _said(snapshot: ImageSnapshot) -> dict[str, View]:
    """What says something -> which view it says."""
    code = coded_projection(snapshot.instance)
    found: dict[str, View | None] = {
        "ViewPosition": _by_position(snapshot.instance.get("ViewPosition")),
        "view code": code.course if code else None,
        "orientation": _by_orientation(snapshot.frame.orientation),
    }
    return {source: view for source, view in found.items() if view is not None}


def _by_position(text: str) -> View | None:
    term = " ".join(text.upper().split())
    return next((view for form, view in _POSITIONS if form.fullmatch(term)), None)


def _by_orientation(orientation: Orientation) -> View | None:
    """Rows of a lateral run to the patient's front or back, columns of an axial view do."""
    row, column = orientation.row[:1], orientation.column[:1]
    if row in ("A", "P"):
        return Course.LATERAL
    if column in ("A", "P"):
        return Course.ALONG
    return Course.FRONTAL if row and column else None


def _otherwise(said: Mapping[str, View], view: View) -> str:
    """Which of a file's statements call a film frontal that another one calls something else."""
    frontal: dict[str, View] = {name: told for name, told in said.items() if told in _FRONTAL}
    # An oblique film's rows still run to the left or right for the most part.
    if view is Course.OBLIQUE:
        frontal.pop("orientation", None)
    if not frontal:
        return ""
    against: dict[str, View] = {name: told for name, told in said.items() if told not in _FRONTAL}
    return f"; but it contradicts itself: {_list(against | frontal)}"


def _list(said: Mapping[str, View]) -> str:
    return ", ".join(f"its {source} says {view}" for source, view in said.items())
