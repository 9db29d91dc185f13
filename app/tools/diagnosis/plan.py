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


_COMPLAINTS = _WORDS["SIGNS"] + _WORDS["DISEASES"]


def _kind(
    name: str, section: str, *tools: str, beats: tuple[str, ...] = (), of_complaint: bool = False
) -> QuestionKind:
    """Return a kind of question; `of_complaint`, if it must name a complaint and no image."""
    return QuestionKind(
        name,
        _WORDS[section],
        with_kinds=("complaint",) if of_complaint else (),
        tools=tools,
        beats=beats,
        unless=_WORDS["OF_IMAGES"] if of_complaint else (),
        needs_image=False,
        beyond_images=True,
        greedy=True,
    )


def _case(
    name: str, words: tuple[str, ...], *others: str, after: tuple[str, ...] = ()
) -> QuestionKind:
    """Return the kind of a case as it is told: "swollen calf after a flight: PE?".

    It counts only if the words ask nothing of an open image or record.
    """
    return QuestionKind(
        name,
        words,
        with_kinds=others,
        tools=(COMPUTE,),
        after=after,
        unless=_WORDS["OF_IMAGES"],
        needs_image=False,
        beyond_images=True,
        fallback=True,
    )


def _lines(output: Data, metadata: Data) -> Sequence[Sentence]:
    patient = metadata.get("patient")
    lines = said_lines(output)
    if patient:
        lines.append(f"Measurements are from the record of {patient['name']}.")
    return [*cited(lines), Sentence(NOT_FOR_DIAGNOSIS, cites=False)]


def _tables(output: Data, metadata: Data) -> Sequence[Sentence]:
    """Return the tables one a line, each with its diseases."""
    del metadata
    rows = output["presentations"]
    told = [f"{row['title']} ({', '.join(row['diseases'])})." for row in rows]
    return cited([f"{len(rows)} tables of published likelihood ratios.", *told]) if rows else ()


def _unanswered(told: AnswerContext) -> list[str]:
    if COMPUTE not in told.ran:
        return []
    return ["Which disease it is: probabilities weigh published figures, a physician decides."]


PLAN = PackPlan(
    pack="diagnosis",
    title="Diagnosis",
    icon="git-branch",
    kinds=(
        QuestionKind("complaint", _COMPLAINTS, needs_image=False),
        QuestionKind("sign", _WORDS["SIGNS"], needs_image=False),
        _case("case", _WORDS["DISEASES"] + _WORDS["ALSO_SEEN"], "sign"),
        _case("suspicion", _WORDS["SUSPICION"], "complaint"),
        _case("told later", _COMPLAINTS + _WORDS["TOLD_LATER"], after=(COMPUTE,)),
        _kind("likelihood", "LIKELIHOOD", COMPUTE, of_complaint=True),
        _kind("differential", "DIFFERENTIAL", COMPUTE, of_complaint=True),
        _kind("ratios", "RATIOS", COMPUTE),
        _kind("next test", "NEXT", COMPUTE),
        _kind("tables of ratios", "TABLES", LIST, beats=("ratios", "likelihood")),
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
        ResultWording(LIST, "Tables of likelihood ratios", _tables),
        ResultWording(STEP, "Diagnosis step"),
        ResultWording(FINAL, "Final diagnosis"),
    ),
    unanswered=_unanswered,
    prompt=pack_prompt("diagnosis"),
)
