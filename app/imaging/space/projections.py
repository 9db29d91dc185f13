"""Radiographic view by its code: the course of the rays through the body (CID 4010, DX View).

DX images name their view by a code (View Code Sequence, PS3.3 C.8.11.5), CR images by a term
(View Position); a file may have either. Older files use SNOMED's former codes (PS3.16 8.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.imaging.types import Instance

KEYWORD = "ViewCodeSequence"
"""Key of `Instance.attributes` for the code: scheme and value, e.g. "SCT 399348003"."""
SCHEMES = frozenset({"SCT", "SRT", "SNM3", "99SDM"})
"""Coding schemes of these codes, SNOMED's former names included."""


class Course(StrEnum):
    """Direction of the X-rays through the body, as far as it matters for what an image shows."""

    PA = "PA"
    AP = "AP"
    FRONTAL = "frontal"
    LATERAL = "lateral"
    OBLIQUE = "oblique"
    ALONG = "along the body"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Projection:
    """A radiographic view: its name, and the direction of the X-rays through the body."""

    words: str
    course: Course


def _parse_table(rows: str) -> dict[str, Projection]:
    found: dict[str, Projection] = {}
    for row in rows.strip().splitlines():
        code, former, course, words = row.split(maxsplit=3)
        found[code] = found[former] = Projection(words, Course[course])
    return found


CODES = _parse_table("""
    399348003 R-10206 AP antero-posterior
    272479007 R-40888 PA postero-anterior
    399033003 R-10202 FRONTAL frontal
    399067008 R-102CD LATERAL lateral
    399173006 R-10236 LATERAL left lateral
    399198007 R-10232 LATERAL right lateral
    399352003 R-10228 LATERAL lateral-medial
    399260004 R-10224 LATERAL medial-lateral
    30730003 G-A145 LATERAL sagittal
    399182000 R-102C1 OBLIQUE oblique
    399184004 R-10238 OBLIQUE left oblique
    399236003 R-10234 OBLIQUE right oblique
    399135007 R-10220 OBLIQUE left anterior oblique
    399356000 R-40985 OBLIQUE right anterior oblique
    399006002 R-10212 OBLIQUE left posterior oblique
    399038007 R-10210 OBLIQUE right posterior oblique
    399312000 R-10208 OBLIQUE antero-posterior oblique
    399059000 R-10216 OBLIQUE postero-anterior oblique
    399160007 R-10204 OBLIQUE frontal oblique
    260427002 R-40783 OBLIQUE lateral oblique
    260426006 R-40782 OBLIQUE medial oblique
    399099002 R-10230 OBLIQUE latero-medial oblique
    399368009 R-10226 OBLIQUE medio-lateral oblique
    399132005 R-10252 OBLIQUE frontal-oblique axial
    399325008 R-10254 OBLIQUE sagittal-oblique axial
    399004004 R-10246 OBLIQUE oblique axial
    399225005 R-10250 OBLIQUE oblique caudo-cranial
    399288005 R-10248 OBLIQUE oblique cranio-caudal
    399061009 R-10241 ALONG axial
    399162004 R-10242 ALONG cranio-caudal
    399196006 R-10244 ALONG caudo-cranial
    399110001 R-102C2 OTHER tangential
    399335002 R-102C4 OTHER dorsoplantar
    399071006 R-102C3 OTHER plantodorsal
    260499007 R-40810 OTHER occlusal
    399242004 R-102C6 OTHER acanthioparietal
    399272005 R-102C5 OTHER parietoacanthial
    399351005 R-102C7 OTHER orbitoparietal
    399316002 R-102C8 OTHER parieto-orbital
    399255003 R-10256 OTHER submentovertical
    399360002 R-10257 OTHER verticosubmental
    119376003 G-8300 OTHER tissue specimen
""")
"""SNOMED CT's code, and the former one -> view."""


def coded_projection(instance: Instance) -> Projection | None:
    """Return the view given by an instance's view code; None if the code is missing or unknown."""
    return projection_for_code(instance.get(KEYWORD))


def projection_for_code(code: str) -> Projection | None:
    """Return the view for a code written as "scheme value"; None if the code is unknown."""
    scheme, _, value = code.partition(" ")
    return CODES.get(value) if scheme in SCHEMES else None


def projection_name(instance: Instance) -> str:
    """Return the view's name for display: the file's View Position, else the view code's name."""
    # The file's own term is what the user finds elsewhere, so it is shown unchanged.
    said, projection = instance.get("ViewPosition"), coded_projection(instance)
    if said or projection is None:
        return said
    short = projection.course in (Course.PA, Course.AP)
    return projection.course.value if short else projection.words
