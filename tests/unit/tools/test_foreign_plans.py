"""A pack from elsewhere rules over its own tools, and takes no question by everyday words."""

from __future__ import annotations

from typing import Any

import pytest

from app.tools.pack_plan import PackPlan, Priority, QuestionKind, ToolRule
from app.tools.registry import Registry, load_packs
from tests.support.fake_tools import FakeTool, ImageInput, ok
from tests.support.intents import intent_of

MINE = "grade_tumour"


class Foreign:
    """An entry point of a pack with one tool."""

    name = "foreign"

    def __init__(
        self, *kinds: QuestionKind, rules: tuple[ToolRule, ...] = (), caveats: tuple[str, ...] = ()
    ) -> None:
        self._plan = PackPlan("foreign", kinds=kinds, tools=rules, caveats=caveats)

    def load(self) -> Any:
        def register(registry: Any) -> None:
            registry.register(FakeTool(MINE, ImageInput, ok("graded")))
            registry.plan(self._plan)

        return register


def loaded(*kinds: QuestionKind, rules: tuple[ToolRule, ...] = ()) -> Registry:
    return load_packs([Foreign(*kinds, rules=rules)])  # type: ignore[list-item]


def wanted(registry: Registry, question: str) -> tuple[str, ...]:
    return intent_of(question, registry.plans, {tool.spec.name for tool in registry.all()}).wanted


@pytest.mark.parametrize("words", [("is",), ("the image",), ("*",), ("Bild", "ist das"), ("the*",)])
def test_everyday_words_make_no_question_one_for_a_packs_tool(words: tuple[str, ...]):
    registry = loaded(QuestionKind("greedy", words=words, tools=(MINE,)))
    assert registry.problems == ()
    assert wanted(registry, "What is the weather? Ist das ein Bild?") == ()


def test_the_other_words_of_a_kind_stay():
    registry = loaded(QuestionKind("grading", words=("is", "grade", "how bad"), tools=(MINE,)))
    assert wanted(registry, "Please grade it.") == (MINE,)
    assert wanted(registry, "What is new?") == ()


def test_a_pack_rules_over_no_tool_of_another():
    rule = ToolRule("chest_xray_classifier", priority=Priority.EXCLUDED)
    registry = loaded(rules=(rule,))
    assert "rules for tools of others: chest_xray_classifier" in registry.problems[0].reason
    assert registry.get(MINE) is None
    ruled = registry.plans.rule("chest_xray_classifier")
    assert ruled.priority is not Priority.EXCLUDED


def test_it_rules_over_its_own():
    registry = loaded(rules=(ToolRule(MINE, priority=Priority.EXCLUDED),))
    assert registry.problems == ()
    assert registry.plans.rule(MINE).priority is Priority.EXCLUDED


def test_its_caveats_are_telling_words_of_its_own_tools_warnings():
    rules, caveats = (ToolRule(MINE),), ("the image", "*", "upside down")
    registry = load_packs([Foreign(rules=rules, caveats=caveats)])  # type: ignore[list-item]
    assert registry.plans.caveats(MINE) == ("upside down",)
    assert "upside down" not in registry.plans.caveats("chest_xray_classifier")
