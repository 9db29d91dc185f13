"""The diagnosis pack's plan: the words by which questions ask for its tools, and its texts."""

from __future__ import annotations

from collections.abc import Sequence

from app.tools.diagnosis.differential_tool import COMPUTE, LIST, NOT_FOR_DIAGNOSIS, said_lines
from app.tools.diagnosis.protocol import FINAL, STEP
from app.tools.pack_plan import (
    PackPlan,
    QuestionKind,
    TextWords,
    ToolRule,
    pack_prompt,
    phrases,
    word_lists,
)
from app.tools.result_wording import AnswerContext, Data, ResultWording, Sentence, cited

_WORDS = {section: phrases(words) for section, words in word_lists("diagnosis").items()}


def _kind(name: str, section: str, *tools: str, beats: tuple[str, ...] = ()) -> QuestionKind:
    return QuestionKind(
        name,
        _WORDS[section],
        tools=tools,
        beats=beats,
        unless=_WORDS["OF_IMAGES"] if section == "LIKELIHOOD" else (),
        needs_image=False,
        beyond_images=True,
        greedy=True,
    )


def _lines(output: Data, metadata: Data) -> Sequence[Sentence]:
    patient = metadata.get("patient")
    lines = said_lines(output)
    if patient:
        lines.append(f"Measurements are from the record of {patient['name']}.")
    return [*cited(lines), Sentence(NOT_FOR_DIAGNOSIS, cites=False)]


def _unanswered(told: AnswerContext) -> list[str]:
    if COMPUTE not in told.ran:
        return []
    return ["Which disease it is: probabilities weigh published figures, a physician decides."]


PLAN = PackPlan(
    pack="diagnosis",
    title="Diagnosis",
    icon="git-branch",
    kinds=(
        _kind("likelihood", "LIKELIHOOD", COMPUTE),
        _kind("next test", "NEXT", COMPUTE),
        _kind("tables of ratios", "TABLES", LIST, beats=("likelihood",)),
        # Only a profile's language model calls these; they answer no question of their own.
        _kind("doctor's protocol", "PROTOCOL", STEP, FINAL),
    ),
    tools=(
        ToolRule(
            COMPUTE,
            why="weighs diseases by published likelihood ratios",
            texts=(TextWords("text"),),
        ),
        ToolRule(LIST, why="lists the tables of likelihood ratios"),
        ToolRule(STEP, why="records a step of a diagnosis"),
        ToolRule(FINAL, why="ends a diagnosis"),
    ),
    wordings=(
        ResultWording(COMPUTE, "Differential diagnosis", _lines),
        ResultWording(LIST, "Tables of likelihood ratios"),
        ResultWording(STEP, "Diagnosis step"),
        ResultWording(FINAL, "Final diagnosis"),
    ),
    unanswered=_unanswered,
    prompt=pack_prompt("diagnosis"),
)
