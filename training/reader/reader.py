"""A learned reader: one linear classifier a tool, and code for names, values, sides and order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from app.agent.planning import Scene
from app.tools.pack_plan import ValueWords
from tests.routing.table import Got, Row, plan, scene_of
from training.reader.features import Features, clauses, negated_words, prepared

_OUTLINES = "chest_xray_segmentation"
_COMPARES = "chest_xray_compare"
_LEFT = frozenset(("left", "l", "lt", "linke", "linken", "linker", "linkes", "links", "li"))
_RIGHT = frozenset(("right", "r", "rt", "rechte", "rechten", "rechter", "rechtes", "rechts", "re"))
_WITHOUT_IMAGE = frozenset(("chest_xray_generator", "llava_med_qa", "medgemma_qa"))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which a tool runs: the likeliest one, any other; and from which none does."""

    first: float = -0.5
    other: float = -0.2
    nothing: float = 0.1


class Reader:
    """Plans the tools of a question; `tests.routing.table.judge` takes `plan` as a planner.

    Args:
        features: Of a question.
        thresholds: See `Thresholds`.
        penalty: Weight of the training errors against the size of the weights (a linear SVM's C).
    """

    def __init__(
        self, features: Features, thresholds: Thresholds | None = None, *, penalty: float = 1.0
    ) -> None:
        self.thresholds = thresholds or Thresholds()
        self._features = features
        self._penalty = penalty
        self.tools: list[str] = []
        self.weights: NDArray[np.floating[Any]] = np.empty((0, 0))
        self._follows: Mapping[tuple[str, str], int] = {}
        self._scores: dict[str, NDArray[np.floating[Any]]] = {}

    def fit(self, rows: Sequence[Row]) -> None:
        """Learn each tool from the rows in which it could run, by their first answers.

        The last column of the weights is for rows that no tool answers.
        """
        rows = [row for row in rows if not names_tools(row)]
        texts = [prepared(row.text) for row in rows]
        self._features.fit(texts)
        found = _with_constant(self._features(texts))
        self._follows = Counter(
            (first, then)
            for row in rows
            if not row.any_order
            for number, first in enumerate(row.answers[0])
            for then in row.answers[0][number + 1 :]
        )
        self.tools = sorted({tool for row in rows for tool in row.answers[0]})
        columns: list[NDArray[np.floating[Any]]] = []
        for tool in self.tools:
            known = [
                number
                for number, row in enumerate(rows)
                if tool in row.answers[0]
                or (_can_run(tool, scene_of(row)) and not any(tool in one for one in row.answers))
            ]
            wanted = [tool in rows[number].answers[0] for number in known]
            columns.append(_fitted(found[known], wanted, self._penalty))
        able = [
            number
            for number, row in enumerate(rows)
            if any(_can_run(tool, scene_of(row)) for tool in self.tools)
        ]
        nothing = [not rows[number].answers[0] for number in able]
        columns.append(_fitted(found[able], nothing, self._penalty))
        self.weights = np.stack(columns, axis=1)
        self._scores.clear()

    def plan(self, row: Row, *, prior: bool = True) -> Got:
        """Return the tools that would run, and the structures that would be outlined."""
        if names_tools(row):
            return plan(row, prior=prior)
        scene = scene_of(row, prior=prior)
        text = prepared(row.text)
        if text not in self._scores:
            found = _with_constant(self._features([text, *clauses(text)]))
            self._scores[text] = found @ self.weights
        scores = self._scores[text]
        if scores[0, -1] > self.thresholds.nothing:
            return Got((), None)
        able = [number for number, tool in enumerate(self.tools) if _can_run(tool, scene)]
        best = max(able, key=lambda number: scores[0, number], default=-1)
        wanted = [
            number
            for number in able
            if scores[0, number]
            > (self.thresholds.first if number == best else self.thresholds.other)
            and not (self.tools[number] == _COMPARES and len(scene.images) < 2)
        ]
        # A tool is due in the clause that speaks for it most.
        due = {self.tools[number]: int(np.argmax(scores[1:, number])) for number in wanted}
        tools = tuple(sorted(due, key=cmp_to_key(lambda a, b: self._order(a, b, due))))
        return Got(tools, _outlined(row, scene) if _OUTLINES in tools else None)

    def _order(self, one: str, other: str, due: Mapping[str, int]) -> int:
        """Return a value below 0 if `one` runs first: in a learned chain, else by their clauses."""
        before, after = self._follows.get((one, other), 0), self._follows.get((other, one), 0)
        always = max(before, after) >= 5 and not min(before, after)
        return after - before if always or due[one] == due[other] else due[one] - due[other]


def names_tools(row: Row) -> bool:
    """Return whether the question spells a tool's name: the code for explicit names reads it."""
    return "_" in prepared(row.text)


def _can_run(tool: str, scene: Scene) -> bool:
    """Return whether a tool is installed and takes the image that is open."""
    if tool not in scene.tools:
        return False
    if not scene.images:
        return tool in _WITHOUT_IMAGE
    accepts, image = scene.plans.rule(tool).accepts, scene.images[0]
    modality = image["modality"]
    return (not accepts.kinds or image["kind"] in accepts.kinds) and (
        not (accepts.modalities and modality) or modality in accepts.modalities
    )


def _outlined(row: Row, scene: Scene) -> frozenset[str]:
    """Return the structures that a question names by the pack's label list, or the usual ones."""
    rule = scene.plans.rule(_OUTLINES)
    words = " ".join(negated_words(prepared(row.text)))
    found = {name for item in rule.values for name in _named(item, words)}
    return frozenset(found) or frozenset(dict(rule.usual)["organs"])


def _named(item: ValueWords, text: str) -> set[str]:
    """Return a label that a text names, for each side that stands near it, or for both."""
    found: set[str] = set()
    for entry in item.words:
        words = [word.replace("*", r"\w*") for word in prepared(entry).split()]
        pattern = r"[\s-]+(?:the |a )?".join(rf"(?:{word})s?" for word in words)
        for match in re.finditer(rf"(?<![\w_])(?:{pattern})(?!\w)", text.replace(" .. ", " ")):
            before, after = text[: match.start()].split()[-3:], text[match.end() :].split()[:3]
            near = {*before} if {*before} & (_LEFT | _RIGHT) else {*after}
            sides = [
                side
                for side, said in (("Left", _LEFT), ("Right", _RIGHT))
                if not near.isdisjoint(said)
            ]
            found |= {item.value.format(side=side) for side in sides or ("Left", "Right")}
    return found


def _with_constant(found: Any) -> Any:
    return sparse.csr_matrix(sparse.hstack([found, np.ones((found.shape[0], 1))]))


def _fitted(found: Any, wanted: Sequence[bool], penalty: float) -> NDArray[np.floating[Any]]:
    """Return the weights of a linear SVM with squared hinge loss."""
    signs = np.where(wanted, 1.0, -1.0)

    def loss(weights: NDArray[np.floating[Any]]) -> tuple[Any, NDArray[np.floating[Any]]]:
        short = np.maximum(0.0, 1.0 - signs * (found @ weights))
        slope = weights - 2 * penalty * (found.T @ (signs * short))
        return 0.5 * weights @ weights + penalty * short @ short, slope

    return optimize.minimize(loss, np.zeros(found.shape[1]), jac=True, method="L-BFGS-B").x
