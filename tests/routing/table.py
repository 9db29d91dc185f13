"""The table of phrasings, and the tools that the offline planner would run for each.

A row says what a user writes, which image is open, and what should run:

    id         unique over all parts
    group      "plain", "terse", "misspelt", "multi-part", "negated", "out of scope", the same in
               German, "explicit" (tools by name), "injection" (orders in quotes)
    scene      what is open, see `SCENES`
    packs      which packs are installed, see `PACKS`
    text       what the user writes
    tools      what should run, in order; [] for nothing
    any_order  the order does not matter
    or         other answers that are as right
    organs     what a segmentation should outline, where it matters

A comparison needs a second film, and no scene has one. So a row that wants one is asked twice. With
an earlier film open beside, the tools of the row must run. With the one film alone, the comparison
must not run and nothing in its place: it is planned with what is missing, or the planner says so.

The box that `medsam2_segment` needs is drawn in the window, not written; the tool itself looks for
it. Such a row is right where the tool is chosen.

`regression.toml` is a sample of the phrasings that the rules were written for; the others are
in `training/viewer_commands/questions.toml`. Nobody wrote rules by `held_out.toml`, nor by
`strangers.toml`, whose authors knew what the tools do and nothing of the rules. The rules are
frozen and no more phrasings are collected.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from app.agent.planning import MissingValue, Planner, Scene, Step, ToolPlan, schema_of
from app.tools import chest, general
from app.tools.registry import Registry
from tests.support import cells_pack

REGRESSION = "regression"
HELD_OUT = "held_out"
STRANGERS = "strangers"
PARTS = (REGRESSION, HELD_OUT, STRANGERS)

_FOLDER = Path(__file__).parent
_ORGANS = "chest_xray_segmentation"


def _note(name: str, kind: str, modality: str = "", view: str = "") -> dict[str, Any]:
    return {
        "id": "image-1",
        "path": f"/open/{name}",
        "kind": kind,
        "content": "image",
        "modality": modality,
        "view": view,
        "rows": 1024,
        "columns": 1024,
        "frames": 1,
    }


_COMPARE = "chest_xray_compare"
_PRIOR = {**_note("0.dcm", "dicom", "DX", "PA"), "id": "image-2"}
"""The earlier film, beside the one that is shown."""

SCENES: Mapping[str, tuple[dict[str, Any], ...]] = {
    "cxr_dicom": (_note("1.dcm", "dicom", "DX", "PA"),),
    "cxr_png": (_note("1.png", "picture"),),
    "ct_dicom": (_note("2.dcm", "dicom", "CT"),),
    "cells_png": (_note("3.png", "picture"),),
    "none": (),
}
"""Notes on what is open, as a run has them."""

PACKS = ("chest", "cells", "all")
"""The built-in packs; the made-up microscopy pack alone; both."""


@dataclass(frozen=True, slots=True)
class Row:
    """A phrasing and what should run for it; see the module."""

    id: str
    part: str
    group: str
    scene: str
    packs: str
    text: str
    answers: tuple[tuple[str, ...], ...]
    any_order: bool
    organs: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Got:
    """What the planner would run: the tools in order, and what it would outline."""

    tools: tuple[str, ...]
    organs: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A row, what the planner made of it, and whether that is right."""

    row: Row
    got: Got
    right: bool


class PlanRow(Protocol):
    """Plans a row; see `plan`."""

    def __call__(self, row: Row, *, prior: bool = True) -> Got:
        """Return what would run for the row."""
        ...


def rows(*parts: str) -> list[Row]:
    """The table's rows.

    Args:
        parts: Of these parts; all without any.
    """
    return [row for part in parts or PARTS for row in rows_in(_FOLDER / f"{part}.toml")]


def rows_in(file: Path) -> list[Row]:
    """The rows of a file; its name without the suffix is their part."""
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return [_row(file.stem, item) for item in data["rows"]]


def judge(row: Row, plan_row: PlanRow | None = None) -> Judged:
    """Plan a row, by the rules unless `plan_row` is given, and judge the plan. No tool runs."""
    plan_row = plan_row or plan
    got = plan_row(row)
    right = any(_same(row, answer, got.tools) for answer in row.answers)
    if right and _COMPARE in got.tools:
        rest = tuple(tool for tool in got.tools if tool != _COMPARE)
        right = plan_row(row, prior=False).tools in (rest, ())
    if right and row.organs is not None and _ORGANS in got.tools:
        right = got.organs == row.organs
    return Judged(row, got, right)


def plan(row: Row, *, prior: bool = True) -> Got:
    """Return what the offline planner would run for a row.

    Args:
        row: The row.
        prior: Whether an earlier film is open where the row wants a comparison.
    """
    decision = Planner().interpret(row.text, scene_of(row, prior=prior)).plan
    steps = (
        [step for step in decision.steps if _runs(step)] if isinstance(decision, ToolPlan) else []
    )
    organs = [step.arguments.get("organs") for step in steps if step.tool == _ORGANS]
    outlined = frozenset(organs[0]) if organs and organs[0] else None
    return Got(tuple(step.tool for step in steps), outlined)


def scene_of(row: Row, *, prior: bool = True) -> Scene:
    """Return the images and the tools of a row, as a planner is given them."""
    images = SCENES[row.scene]
    if prior and any(_COMPARE in answer for answer in row.answers):
        images = (*images, _PRIOR)
    return Scene(images, _schemas(row.packs), plans=registry_of(row.packs).plans)


@cache
def _schemas(packs: str) -> Mapping[str, Any]:
    registry = registry_of(packs)
    return {tool.spec.name: schema_of(tool) for tool in registry.all()}


@cache
def registry_of(packs: str) -> Registry:
    """The packs of a row. The made-up pack stands for the microscopy pack, whose plan it has."""
    registry = Registry()
    if packs in ("chest", "all"):
        general.register(registry)
        chest.register(registry)
    if packs in ("cells", "all"):
        cells_pack.register(registry)
    return registry


def score(judged: Sequence[Judged]) -> float:
    """Share of the rows that are right, 0..1."""
    return sum(item.right for item in judged) / len(judged)


def _row(part: str, item: Mapping[str, Any]) -> Row:
    organs = item.get("organs")
    return Row(
        id=item["id"],
        part=part,
        group=item["group"],
        scene=item["scene"],
        packs=item["packs"],
        text=item["text"],
        answers=tuple(tuple(tools) for tools in (item["tools"], *item.get("or", ()))),
        any_order=item.get("any_order", False),
        organs=frozenset(organs) if organs else None,
    )


def _same(row: Row, answer: tuple[str, ...], got: tuple[str, ...]) -> bool:
    return sorted(answer) == sorted(got) if row.any_order else answer == got


def _runs(step: Step) -> bool:
    """Whether a step can run as planned: nothing it needs is known to be absent."""
    return not step.skip and not any(isinstance(source, MissingValue) for source in step.sources())
