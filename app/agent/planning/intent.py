"""The intent of a question: everything that other packages know about what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.agent.planning.plan import Decision, NoRule, Scene


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question asks for, as `Planner.interpret` determines it once for each run.

    Attributes:
        question: The user's text.
        scene: The open images, the tools and the earlier results.
        kinds: Names of the kinds of question that it is, the most specific first, without those
            that another kind overrides.
        named: The tools that it mentions by name or by one of their phrases.
        left_out: The tools that it excludes, each with the words that do so ("don't classify").
        wanted: The fewest tools that suffice, in running order; none of `left_out`.
        absent: Tools that would answer it but are not installed.
        by_eye: Those of `wanted` that a model can do without if it sees the picture.
        subjects: The tools whose subjects it mentions ("nuclei"), excluded or not.
        certain: Every word is understood, so rules alone may answer it.
        expects_data: An empty result would be suspicious.
        needs_image: It is about an open image.
        images: The ids of the open images that it names; () for the current one.
        unclear_image: Its words for several images, or for another one that could not be
            identified; else "".
        may_concern_other_images: It might be about another image besides the current one.
        corrections: Pairs of a misspelt word and the word that it was read as.
        plan: The tool calls that answer it by rules, a reply without calls, or `NoRule`.
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
        """Return the intent without the tools that a model does not need if it sees the picture."""
        left = tuple(tool for tool in self.wanted if tool not in self.by_eye)
        return replace(self, wanted=left, absent=()) if self.by_eye else self
