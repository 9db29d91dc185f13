"""No example in what a model reads has clinical content: a small model gives it as its answer."""

from __future__ import annotations

import re

import pytest

from app.agent.context.model_messages import load_prompts
from app.agent.enforcement.update_plan_tool import SPEC as UPDATE_PLAN
from app.agent.llm.schema_calls import INSTRUCTION, TEXT_INSTRUCTION
from app.agent.loop.tool_execution import schema_of
from app.tools.chest import plan_words
from app.tools.registry import load_packs

_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^'\n]+)'(?!\w)")
_EXAMPLE = re.compile(r"(?:\bas in|\bsuch as|\be\.g\.|\bfor example|\blike:)\s*([^.\n]+)", re.I)
_CLINICAL = (
    *plan_words.DISEASES,
    *plan_words.FINDINGS,
    *plan_words.STATES,
    *plan_words.ANATOMY,
    *("cardiomegal*", "enlarg*", "effusion*", "carcinoma*", "no finding"),
)


def prompts() -> dict[str, str]:
    texts = {f"[{name}]": text for name, text in load_prompts().items()}
    texts |= {"INSTRUCTION": INSTRUCTION, "TEXT_INSTRUCTION": TEXT_INSTRUCTION}
    for spec in (UPDATE_PLAN, *(tool.spec for tool in load_packs([]).all())):
        fields = schema_of(spec.Input).get("properties", {}).values()
        told = [str(field.get("description", "")) for field in fields]
        texts[spec.name] = "\n".join([spec.description, *told])
    return texts


def clinical_examples(text: str) -> list[str]:
    """The clinical words in the examples of a text: what it quotes, and what follows "as in"."""
    line = " ".join(text.split())
    examples = [part for found in _QUOTED.findall(line) for part in found if part]
    examples += _EXAMPLE.findall(line)
    words = [
        re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"[\s-]+")
        for word in _CLINICAL
        if " .. " not in word
    ]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)
    return [example for example in examples if pattern.search(example)]


@pytest.mark.parametrize("name", prompts())
def test_examples_in_prompts_carry_no_clinical_content(name: str):
    assert clinical_examples(prompts()[name]) == []


@pytest.mark.parametrize(
    "text",
    [
        'with its number, as in "The heart is not enlarged [2]."',
        "with its number, as in The lungs are clear [1]",
        "as a report would say it: 'a large left pleural effusion'",
    ],
)
def test_a_clinical_example_is_seen(text: str):
    assert clinical_examples(text)
