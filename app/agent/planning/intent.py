"""The intent of a question: all that the other rooms know of what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.agent.planning.plan import Decision, NoRule, Scene


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question asks for. `Planner.interpret` makes it, once a run.

    Attributes:
        question: The user's text.
        scene: What it was asked about.
        kinds: Names of the kinds of question that it is, the most specific first; those that
            another one overrides are not among them.
        named: The tools that it names, by name or by one of their phrases.
        left_out: The tools that it leaves out, each with the words that do ("don't classify").
        wanted: The fewest tools that suffice, in order; none of those left out.
        absent: Tools that would answer it and are not installed.
        by_eye: Those of `wanted` that a model which sees the picture can do without.
        subjects: The tools whose subjects it speaks of ("nuclei"), left out or not.
        certain: It says nothing else, so rules alone may answer it.
        expects_data: An empty result would be suspicious.
        needs_image: It is about an open image.
        images: The open images that it names, by the app's id; () for the current one.
        unclear_image: Its words for another image, or for several, that no image could be found
            for; "" where it has none.
        may_concern_other_images: It may be about another image besides the current one.
        corrections: Misspelt words, each with what it was read as.
        plan: The calls that answer it by rules, a reply that needs none, or that no rule matches.
    """

    question: str = ""
    scene: Scene = field(default_factory=lambda: Scene((), {}))
    kinds: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    wanted: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    by_eye: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    certain: bool = False
    expects_data: bool = False
    needs_image: bool = False
    images: tuple[str, ...] = ()
    unclear_image: str = ""
    may_concern_other_images: bool = False
    corrections: tuple[tuple[str, str], ...] = ()
    plan: Decision = field(default_factory=NoRule)

    def with_eyes(self) -> Intent:
        """Return the intent for a model that sees the picture, without tools it can do without."""
        left = tuple(tool for tool in self.wanted if tool not in self.by_eye)
        return replace(self, wanted=left, absent=()) if self.by_eye else self
