"""What speaks against asking a model about several images at once, as if of one patient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from app.imaging.studies.patients import conflict, identity_of
from app.tools.api import ImageSnapshot
from app.tools.chest.comparing import is_newer


def doubts_together(snapshots: Sequence[ImageSnapshot]) -> list[str]:
    """Warnings about images that are asked about together, by their numbers from 1.

    A model is told neither whose images they are nor when they were taken: it speaks of a change
    between two patients, or of one that runs backwards, as readily as of any other.
    """
    return [*_patients(snapshots), *_order(snapshots)]


def _patients(snapshots: Sequence[ImageSnapshot]) -> Iterator[str]:
    said = [identity_of(snapshot.instance) for snapshot in snapshots]
    for (number, one), (other_number, other) in combinations(enumerate(said, 1), 2):
        if conflict(one, other):
            yield (
                f"image {number} and image {other_number} name different patients: what the model "
                "says of a change means nothing"
            )


def _order(snapshots: Sequence[ImageSnapshot]) -> Iterator[str]:
    for number, (first, second) in enumerate(pairwise(snapshots), 1):
        one, other = (item.instance.get("SeriesInstanceUID") for item in (first, second))
        # Slices of one series are of one time, whatever order they are named in.
        if one != other and is_newer(first.instance, second.instance):
            yield (
                f"image {number} was taken after image {number + 1}: a change that the model tells "
                "of may run the other way"
            )
