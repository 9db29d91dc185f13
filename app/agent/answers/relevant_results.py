"""Which results of a conversation an answer may rest on: its run's own, and earlier ones.

A follow-up question is often answered from what stands in the conversation, and no tool runs again.
What was to be minded about an earlier result is to be minded then as well: where the answer cites
it, and where the question is about the same image.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.call_log import CallLog, LoggedCall
from app.agent.image_reference import image_reference, name_of
from app.agent.messages import Message
from app.agent.planning import Intent

Notes = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Concerned:
    """What an answer may rest on.

    Attributes:
        results: The results, in the order in which they came.
        rested_on: The numbers (`LoggedCall.number`) of those that it does rest on: the run's own
            and those it cites. All of them, where a model's answer cites nothing.
        seen: The open images that are shown or that the question is about, the current one first.
        mirrored: Names of the images that the model itself saw as their files have them: mirrored.
        open: Each open image by its name, with its sources (`CallLog.sources`), the current first.
    """

    results: tuple[LoggedCall, ...] = ()
    rested_on: frozenset[int] = frozenset()
    seen: Notes = ()
    mirrored: tuple[str, ...] = ()
    open: tuple[tuple[str, frozenset[str]], ...] = ()

    def where(self, item: LoggedCall) -> str:
        """On which image a result is, "" where that is the current one, or not known."""
        if not item.sources or not self.open or not item.sources.isdisjoint(self.open[0][1]):
            return ""
        others = (name for name, sources in self.open if not item.sources.isdisjoint(sources))
        return next(others, "an image that is not open now")


def concerned_by(
    record: CallLog,
    intent: Intent,
    cited: Collection[int],
    history: Sequence[Message] = (),
    *,
    by_rules: bool,
) -> Concerned:
    """What an answer may rest on.

    Args:
        record: The calls of the conversation that have ended.
        intent: What was asked, of which open images.
        cited: Numbers of the results that the answer cites.
        history: The conversation, with the pictures that the model was shown.
        by_rules: Rules gave the answer: it cites all that it rests on.
    """
    notes = intent.scene.images
    unclear = bool(intent.unclear_image) or intent.may_concern_other_images
    asked = [note for note in notes if unclear or note.get("id") in intent.images]
    asked = asked or list(notes[:1])
    ended = [item for item in record.all() if item.message.ok]
    named = [item for item in ended if item.here or item.message.evidence in cited]
    # Rules that cite nothing of an image say nothing of it; of a model nobody knows.
    about = [] if by_rules else [record.sources(note) for note in asked]
    images = frozenset[str]().union(*about, *(item.sources for item in named))
    anywhere = not by_rules and (unclear or not notes)
    earlier = [item for item in ended if item.sources and (anywhere or item.sources & images)]
    results = {item.number: item for item in (*named, *earlier)}
    certain = by_rules or bool(cited)
    seen = [note for note in notes if note in asked or note is notes[0]]
    keys = frozenset() if by_rules else _seen_mirrored(history)
    return Concerned(
        tuple(results[number] for number in sorted(results)),
        frozenset(item.number for item in named) if certain else frozenset(results),
        seen,
        tuple(name_of(note, notes) for note in seen if image_reference(note) in keys),
        tuple((name_of(note, notes), record.sources(note)) for note in notes),
    )


def _seen_mirrored(history: Sequence[Message]) -> frozenset[str]:
    """The images, by `image_reference`, of which the model was shown a mirrored picture."""
    found: set[str] = set()
    for message in history:
        mirrored = {picture.image_id for picture in message.pictures if picture.mirrored}
        found |= {image_reference(note) for note in message.images if note.get("id") in mirrored}
    return frozenset(found)
