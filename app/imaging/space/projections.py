"""Radiographic views by code, with the direction of the rays in the body (CID 4010, DX View).

DX images name their view by a code (View Code Sequence, PS3.3 C.8.11.5), CR images by a word
(View Position); a file may have either. Older files use SNOMED's former codes (PS3.16 8.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.imaging.types import Instance
from app.paths import shipped_table

KEYWORD = "ViewCodeSequence"
"""Key of `Instance.attributes` for the code: scheme and value, e.g. "SCT 399348003"."""
SCHEMES = frozenset({"SCT", "SRT", "SNM3", "99SDM"})
"""Coding schemes of these codes, SNOMED's former names included."""


class BeamDirection(StrEnum):
    """The direction in which the X-rays passed through the body: PA, AP, lateral, ..."""

    PA = "PA"
    AP = "AP"
    FRONTAL = "frontal"
    LATERAL = "lateral"
    OBLIQUE = "oblique"
    ALONG = "along the body"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Projection:
    """A radiographic view: its name (`words`), and the direction of the rays through the body."""

    words: str
    direction: BeamDirection


def _parse_table(rows: dict[str, str]) -> dict[str, Projection]:
    found: dict[str, Projection] = {}
    for code, row in rows.items():
        former, direction, words = row.split(maxsplit=2)
        found[code] = found[former] = Projection(words, BeamDirection[direction])
    return found


CODES = _parse_table(shipped_table("dicom", "projections"))
"""SNOMED CT's code, and the former one -> view."""


def coded_projection(instance: Instance) -> Projection | None:
    """Return the view given by an instance's view code; None if the code is missing or unknown."""
    return projection_for_code(instance.get(KEYWORD))


def projection_for_code(code: str) -> Projection | None:
    """Return the view for a code written as "scheme value"; None if the code is unknown."""
    scheme, _, value = code.partition(" ")
    return CODES.get(value) if scheme in SCHEMES else None


def projection_name(instance: Instance) -> str:
    """Return the view for display: View Position, else the name of the view code, else ""."""
    # The file's own term is what the user finds elsewhere, so it is shown unchanged.
    said, projection = instance.get("ViewPosition"), coded_projection(instance)
    if said or projection is None:
        return said
    short = projection.direction in (BeamDirection.PA, BeamDirection.AP)
    return projection.direction.value if short else projection.words
