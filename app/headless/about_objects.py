"""What `info` says of objects that are drawn over images: their parts, by name."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.layers import Layer
from app.imaging.presentation import PresentationState
from app.imaging.types import Content, Instance, ScanResult

_PARTS = {
    Content.SEGMENTATION: ("segment", "segments"),
    Content.STRUCTURES: ("region", "regions"),
    Content.PRESENTATION: ("graphic layer", "graphic layers"),
}


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What one object is.

    Attributes:
        title: Its label or description.
        parts: (number, name) of its segments, regions or graphic layers.
        warnings: What a reader must know of it, or why it cannot be read.
        noun: What a part and parts are called.
    """

    title: str
    parts: tuple[tuple[int, str], ...]
    warnings: tuple[str, ...]
    noun: tuple[str, str]

    @property
    def lines(self) -> list[str]:
        """For a terminal."""
        one, many = self.noun
        count = len(self.parts)
        lines = [self.title] if self.title else []
        if count:
            names = ", ".join(f"{number} {name}" for number, name in self.parts)
            lines.append(f"{count} {one if count == 1 else many}: {names}")
        return lines


def facts_of(decoder: Decoder, result: ScanResult) -> dict[int, ObjectFacts]:
    """The facts of all such objects that were found, by `id` of their instance."""
    items = [
        item
        for study in result.studies
        for series in study.series
        if series.content in _PARTS
        for item in series.instances
    ]
    # All are asked for first, so that the workers read them side by side.
    asked = [(item, _ask(decoder, item)) for item in items]
    return {id(item): _facts(item, answer) for item, answer in asked}


def _ask(decoder: Decoder, item: Instance) -> Future[PresentationState] | Future[Layer]:
    if item.content is Content.PRESENTATION:
        return decoder.presentation(item)
    return decoder.layer(item)


def _facts(item: Instance, answer: Future[PresentationState] | Future[Layer]) -> ObjectFacts:
    noun = _PARTS[item.content]
    try:
        found = answer.result()
    except FileProblem as problem:
        return ObjectFacts("", (), (problem.reason,), noun)
    layer = found.layer if isinstance(found, PresentationState) else found
    parts = tuple((part.number, _plain(part.label)) for part in layer.items)
    warnings = tuple(dict.fromkeys((*layer.warnings, *found.warnings)))
    return ObjectFacts(_plain(layer.title), parts, warnings, noun)


def _plain(text: str) -> str:
    return " ".join(text.split())


def json_of(facts: Iterable[tuple[int, str]]) -> list[dict[str, object]]:
    """Parts for `--json`."""
    return [{"number": number, "label": name} for number, name in facts]
