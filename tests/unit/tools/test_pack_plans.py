from __future__ import annotations

import itertools

import pytest

from app.tools.chest import organs
from app.tools.pack_plan import AnyOf, PackPlan
from app.tools.registry import load_packs

REGISTRY = load_packs([])
PACKS = REGISTRY.plans.packs
# Spoken of by the chest pack for whoever brings them.
BROUGHT = {
    "chest_xray_report_generator",
    "chest_xray_expert",
    "xray_phrase_grounding",
    "chest_xray_generator",
    "chest_xray_compare",
    "llava_med_qa",
    "medgemma_qa",
    "medsam2_segment",
}


def entries(pack: PackPlan) -> list[str]:
    words = [
        [(*kind.words, *kind.unless) for kind in pack.kinds],
        [(*rule.words, *rule.leave_out, *rule.made) for rule in pack.tools],
        [item.words for rule in pack.tools for item in (*rule.values, *rule.numbers)],
    ]
    return list(itertools.chain.from_iterable(itertools.chain.from_iterable(words)))


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.pack)
def test_words_are_written_as_the_planner_reads_them(pack: PackPlan):
    for entry in entries(pack):
        assert entry == entry.lower().strip(), entry
        assert entry.strip("* ."), entry
        assert not entry.startswith(".."), entry
        assert not entry.endswith(".."), entry
        assert "_" not in entry, entry


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.pack)
def test_kinds_speak_of_kinds_and_tools_that_there_are(pack: PackPlan):
    names = [kind.name for kind in pack.kinds]
    assert len(names) == len(set(names))
    known = {tool.spec.name for tool in REGISTRY.all()} | BROUGHT
    for kind in pack.kinds:
        assert {*kind.with_kinds, *kind.beats, *filter(None, [kind.counts_as])} <= set(names)
        assert kind.words or kind.with_kinds
        for need in kind.tools:
            assert set(need.tools if isinstance(need, AnyOf) else [need]) <= known
    assert {rule.tool for rule in pack.tools} <= known


def test_every_structure_of_the_segmentation_can_be_named():
    rule = REGISTRY.plans.rule("chest_xray_segmentation")
    values = {
        item.value.format(side=side)
        for item in rule.values
        for side in (("Left", "Right") if item.sided else ("",))
    }
    assert values == set(organs.ALL)


def test_every_tool_of_the_built_in_packs_says_why_it_runs():
    for tool in REGISTRY.all():
        assert REGISTRY.plans.rule(tool.spec.name).why, tool.spec.name
