"""The intent of a question: everything that other packages know about what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.agent.planning.plan import Decision, NoRule, Scene


@dataclass(frozen=True, slots=True)
class Intent:
    """The interpretation of a question, as determined by `Planner.interpret` once per run.

    Attributes:
        question: The user's text.
        scene: The open images, the tools and the earlier results.
        kinds: Names of the question's kinds, the most specific first, without those that another
            kind overrides.
        named: The tools that the question mentions by name or by one of their phrases.
        left_out: The tools that the question excludes, each with the words that exclude it ("don't
            classify").
        wanted: The fewest tools that suffice, in running order; never any that are in `left_out`.
        absent: Tools that would answer the question but are not installed.
        by_eye: The tools in `wanted` that a model does not need if it sees the picture.
        subjects: The tools whose subjects the question mentions ("nuclei"), excluded or not.
        targets: What the question mentions of the packs' `PackPlan.targets`, by name.
        certain: Whether every word is understood, so that rules alone may answer the question.
        expects_data: Whether an empty result would be suspicious.
        needs_image: Whether the question is about an open image.
        images: The ids of the open images that the question names; () if it names none, which means
            the current image.
        unclear_image: The question's words for several images, or for another image that could not
            be identified; "" if there are none.
        may_concern_other_images: Whether the question might be about an image other than the
            current one.
        corrections: Pairs of a misspelt word and the word it was corrected to.
        plan: The tool calls with which rules answer the question, a reply without calls, or
            `NoRule`.
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
    targets: frozenset[str] = frozenset()
    certain: bool = False
    expects_data: bool = False
    needs_image: bool = False
    images: tuple[str, ...] = ()
    unclear_image: str = ""
    may_concern_other_images: bool = False
    corrections: tuple[tuple[str, str], ...] = ()
    plan: Decision = field(default_factory=NoRule)

    def with_eyes(self) -> Intent:
        """Return a copy without the tools that a model does not need if it sees the picture."""
        left = tuple(tool for tool in self.wanted if tool not in self.by_eye)
        return replace(self, wanted=left, absent=()) if self.by_eye else self
