"""Parts of a result that several tools of this pack have alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.imaging.findings import Finding, Geometry, Provenance, new_id
from app.imaging.types import ImageRef
from app.tools.models.store import InstalledModel


def with_warnings(text: str, warnings: Sequence[str]) -> str:
    """A summary, and behind it what makes it doubtful."""
    return f"{text} Warnings: {'; '.join(warnings)}." if warnings else text


def by_image(warnings: Sequence[Sequence[str]]) -> list[str]:
    """Warnings about each of several images, with its number; about a single one as they are."""
    return [
        f"image {number}: {text}" if len(warnings) > 1 else text
        for number, texts in enumerate(warnings, 1)
        for text in texts
    ]


def made_by(model: InstalledModel, answer: Mapping[str, Any]) -> dict[str, Any]:
    """For the metadata: which model answered, read by which program, and on what."""
    engine = {"engine": answer["engine"]} if "engine" in answer else {}
    return {
        "model": model.card.title,
        "weights_sha256": model.sha256,
        **engine,
        "device": answer.get("device", ""),
    }


def placed(
    shapes: Iterable[tuple[str, Geometry]],
    image: ImageRef,
    provenance: Provenance,
    description: str,
    group: str,
) -> tuple[Finding, ...]:
    """Findings of one group from shapes that have a label and no score.

    Args:
        shapes: Label and geometry.
        image: What they lie on.
        provenance: What made them.
        description: Of each.
        group: What they are shown and hidden by.
    """
    return tuple(
        Finding(
            id=new_id(),
            image=image,
            geometry=geometry,
            label=label,
            score=None,
            units="",
            provenance=provenance,
            description=description,
            group=group,
        )
        for label, geometry in shapes
    )
