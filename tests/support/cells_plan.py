"""The microscopy pack's plan, for the made-up tools of `cells_tools`, under the seed's names.

Two more tools take part: one of low priority, and one that the pack excludes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from app.tools.microscopy import names
from app.tools.microscopy import plan as microscopy
from app.tools.pack_plan import Accepts, AnyOf, Discovery, Feed, PackPlan, Priority, ToolRule

_SEED: Mapping[str, str] = {name: others[0] for name, others in names.OTHER_NAMES.items()}

PREPROCESSOR = _SEED[names.PREPROCESSOR]
CELLS = _SEED[names.CELLS]
NUCLEI = _SEED[names.NUCLEI]
ORGANOIDS = _SEED[names.ORGANOIDS]
THRESHOLD = "Threshold_Segmenter_Tool"
CROPPER = _SEED[names.CROPPER]
ANALYZER = _SEED[names.ANALYZER]
VISUALIZER = _SEED[names.VISUALIZER]
CAPTIONER = _SEED[names.CAPTIONER]
INFO = _SEED[names.INFO]
GENERALIST = "Generalist_Solution_Generator_Tool"

SEGMENTERS = (CELLS, NUCLEI, ORGANOIDS)
CHAIN = (CELLS, CROPPER, ANALYZER, VISUALIZER, CAPTIONER)
"""A full analysis of cells, the recommended caption included."""
COUNTING = microscopy.COUNTING
FULL = microscopy.FULL

_OUTLINED_BY = (*SEGMENTERS, THRESHOLD)
_MICROGRAPH = Accepts(modalities=("SM", "GM", "XC"), what="a micrograph (a picture, SM, GM)")


def _renamed(value: Any) -> Any:
    """Return a part of a plan with the seed's names of tools."""
    if isinstance(value, str):
        return _SEED.get(value, value)
    if isinstance(value, tuple):
        return tuple(_renamed(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    if is_dataclass(value) and not isinstance(value, type):
        changed = {item.name: _renamed(getattr(value, item.name)) for item in fields(value)}
        return replace(value, **changed)
    return value


_CLEANED = Feed("image_path", (PREPROCESSOR,), "image_path")
_FEEDS: dict[str, tuple[Feed, ...]] = {
    CROPPER: (_CLEANED, Feed("mask_path", _OUTLINED_BY, "mask_path")),
    ANALYZER: (Feed("crops_path", (CROPPER,), "crops_path"),),
    VISUALIZER: (
        Feed("data_path", (ANALYZER,), "analysis_path"),
        Feed("data_path", _OUTLINED_BY, "mask_path"),
    ),
}
_FEEDS[CAPTIONER] = ()
_EMPTY = {CROPPER: ("crops",), ANALYZER: ("states",)}
_MAKES = {VISUALIZER: "picture_path"}


def _rule(rule: ToolRule) -> ToolRule:
    name = rule.tool
    return replace(
        rule,
        accepts=_MICROGRAPH,
        feeds=_FEEDS.get(name, rule.feeds),
        empty=_EMPTY.get(name, rule.empty),
        makes=_MAKES.get(name, rule.makes),
        requires=(AnyOf(_OUTLINED_BY),) if name == CROPPER else rule.requires,
    )


_SEEDED: PackPlan = _renamed(microscopy.PLAN)
_THRESHOLD = ToolRule(
    THRESHOLD,
    "outlines what is bright",
    priority=Priority.LOW,
    accepts=_MICROGRAPH,
    feeds=(_CLEANED,),
    empty=("count",),
    leave_out=next(rule for rule in _SEEDED.tools if rule.tool == CELLS).leave_out[:0],
)
PLAN = replace(
    _SEEDED,
    pack="cells",
    tools=(
        *map(_rule, _SEEDED.tools),
        _THRESHOLD,
        ToolRule(GENERALIST, why="guesses", priority=Priority.EXCLUDED, accepts=_MICROGRAPH),
    ),
    alternatives=(AnyOf(_OUTLINED_BY),),
)
assert Discovery(INFO, "channels", "channel") in [rule.discovery for rule in PLAN.tools]
