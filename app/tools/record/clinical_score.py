"""The tool `calculate_clinical_score`: a published score from values that the call gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from app.tools.api import JsonDict, ToolContext, ToolInput, ToolResult, ToolRetry, ToolSpec
from app.tools.record.scores.catalogue import (
    SCORES,
    NoSuchScore,
    find_score,
    input_text,
    read_inputs,
)
from app.tools.record.scores.engine import Result, Score, ScoredItem, evaluate, shown
from app.tools.record.scores.inputs import Quantity, Value, WrongInput, plain_number
from app.tools.record.scores.typed_values import TypedValues, typed_values

NAME = "calculate_clinical_score"
NAMES = ", ".join(score.name for score in SCORES)
_LIST = ("", "list", "all")


class ClinicalScoreInput(ToolInput):
    """Arguments of `calculate_clinical_score`."""

    score_name: str = Field(
        description=f'One of {NAMES}; or "list" for all of them with the inputs they need.'
    )
    inputs: dict[str, Any] = Field(
        default_factory=dict,
        description='Values by input name: true or false, a choice, or {"value": 1.2, "unit": '
        '"mg/dL"}. Leave out what is not known: it is then listed as missing, never taken as '
        "normal. Without any, the result lists the inputs.",
    )
    text: str = Field(
        default="",
        max_length=5_000,
        description='Values in words instead ("age 70, BP 88/50, urea 8 mmol/L, confused"), as the '
        "user wrote them; `inputs` go before them.",
    )


class ScoreOutput(BaseModel):
    """Output of the score tools.

    Attributes:
        score: Name of the score; "" for the list of scores.
        total: The total; None if what is missing leaves it open, or for a category.
        range: Least and greatest possible total, or None for a category.
        items: Each item's input, value, unit, points (or the possible `range`) and reason.
        missing: Inputs to ask for.
        band: The risk band or category; None if what is missing leaves it open.
        possible_bands: The bands that are possible.
        interpretation: What the band means, by its source.
        citation: The publications.
        limits: For whom the score holds.
        read: Values that were read from `text`, by input.
        unused: What was read in `text` and could not be used, and why.
        scores: For the list: each score's title and inputs.
    """

    score: str = ""
    title: str = ""
    total: float | None = None
    unit: str = ""
    range: list[float] | None = None
    items: list[JsonDict] = []
    missing: list[JsonDict] = []
    band: str | None = None
    possible_bands: list[str] = []
    interpretation: str = ""
    citation: list[str] = []
    limits: str = ""
    read: dict[str, str] = {}
    unused: list[str] = []
    scores: JsonDict = {}


SPEC = ToolSpec(
    name=NAME,
    title="Calculate a clinical score",
    icon="list",
    description=(
        "Calculates a published clinical score from values that you give: items with points and "
        "reasons, risk band, citation. Missing values are listed and give a range, never a total. "
        f"Scores: {NAMES}. To fill the values from the patient's record use "
        "calculate_patient_score."
    ),
    Input=ClinicalScoreInput,
    Output=ScoreOutput,
    timeout_s=20.0,
    pack="record",
    phrases=("clinical score", "calculate score"),
)


class ClinicalScore:
    """The tool `calculate_clinical_score`."""

    spec = SPEC

    def run(self, args: ClinicalScoreInput, context: ToolContext) -> ToolResult:
        """Return the score, or what it needs; for errors see `app.tools.api.Tool.run`."""
        del context
        if args.score_name.strip().casefold() in _LIST:
            return _list_of_scores()
        score = score_named(args.score_name)
        said = typed_values(score, args.text)
        values = said.values | checked_inputs(score, args.inputs)
        result = checked_result(score, values)
        return ToolResult(
            " ".join(filter(None, (summary_of(result), said_text(said)))),
            output_of(result, values) | said_json(said),
            {"status": "completed", "score": score.name},
        )


def said_json(said: TypedValues) -> JsonDict:
    """Return what was read from words, for the output."""
    read = {name: shown(value) for name, value in said.values.items()}
    return {"read": read, "unused": said.unused}


def said_text(said: TypedValues) -> str:
    """Return what was read from words and not used, for the summary."""
    return f"Not used: {'; '.join(said.unused)}." if said.unused else ""


def _list_of_scores() -> ToolResult:
    scores = {
        score.name: {
            "title": score.title,
            "inputs": [input_text(one) for one in score.inputs],
            "citation": str(score.papers[0]),
        }
        for score in SCORES
    }
    names = ", ".join(f"{score.name} ({score.title})" for score in SCORES)
    return ToolResult(
        f"{len(SCORES)} scores: {names}.", ScoreOutput(scores=scores).model_dump(), {}
    )


def score_named(name: str) -> Score:
    """Return the score with a name.

    Raises:
        ToolRetry: There is none; the text names the scores.
    """
    try:
        return find_score(name)
    except NoSuchScore as error:
        raise ToolRetry(str(error)) from error


def checked_inputs(score: Score, inputs: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values that a call gives.

    Raises:
        ToolRetry: A name or value is wrong; the text says how to give it.
    """
    try:
        return read_inputs(score, inputs)
    except WrongInput as error:
        raise ToolRetry(str(error)) from error


def checked_result(score: Score, values: Mapping[str, Value]) -> Result:
    """Return a score's result.

    Raises:
        ToolRetry: The score does not hold for the patient, or values contradict each other.
    """
    try:
        return evaluate(score, values)
    except WrongInput as error:
        raise ToolRetry(str(error)) from error


def output_of(result: Result, values: Mapping[str, Value]) -> JsonDict:
    """Return a result as the output of the tool; `values` are those it was computed from."""
    score = result.score
    span = None if result.low is None or result.high is None else [result.low, result.high]
    return ScoreOutput(
        score=score.name,
        title=score.title,
        total=result.total,
        unit=score.unit,
        range=span,
        items=[_item(one, values) for one in result.items],
        missing=[score.input(name).describe() for name in result.missing],
        band=result.band,
        possible_bands=list(result.possible_bands),
        interpretation=interpretation_of(result),
        citation=[str(paper) for paper in score.papers],
        limits=score.limits,
    ).model_dump()


def _item(item: ScoredItem, values: Mapping[str, Value]) -> JsonDict:
    given = {name: values[name] for name in item.inputs if name in values}
    told: JsonDict = {"item": item.title, "input": ", ".join(item.inputs)}
    if len(given) == 1:
        value = next(iter(given.values()))
        told["value"], told["unit"] = (
            (value.given, value.unit) if isinstance(value, Quantity) else (value, "")
        )
    elif given:
        told["value"] = {name: shown(value) for name, value in given.items()}
    told["points"] = item.points
    if item.low != item.high:
        told["range"] = [item.low, item.high]
    told["why"] = item.why
    return told


def interpretation_of(result: Result) -> str:
    """Return what a result means, with sources; what is open for missing inputs is not said."""
    score = result.score
    parts: list[str] = []
    if result.band is not None:
        meaning = f": {result.meaning}" if result.meaning else ""
        parts.append(f"{result.band}{meaning} ({score.schemes[0].source})")
    parts += result.other_bands
    if result.total is not None and result.total in score.rates:
        parts.append(f"{score.rates[result.total]}: {score.rates_source}")
    return "; ".join(parts)


def summary_of(result: Result) -> str:
    """Return a result in a few sentences."""
    parts = [statement_of(result)]
    if result.missing:
        asked = "; ".join(input_text(result.score.input(name)) for name in result.missing)
        parts.append(f"Missing, to be asked for: {asked}.")
    return " ".join((*parts, grounds_of(result.score)))


def grounds_of(score: Score) -> str:
    """Return for whom a score holds, and its source."""
    return f"{score.limits} Source: {score.papers[0]}"


def statement_of(result: Result) -> str:
    """Return the total or range, and what it means."""
    score = result.score
    if result.total is not None:
        head = f"{score.title}: {plain_number(result.total)} {_unit(score, result.total)}."
    elif result.low is not None and result.high is not None:
        head = (
            f"{score.title}: no total, since inputs are missing; between "
            f"{plain_number(result.low)} and {plain_number(result.high)} {score.unit}."
        )
    elif result.band is not None:
        head = f"{score.title}: {score.unit}: {result.band}."
    else:
        head = f"{score.title}: no {score.unit}, since inputs are missing."
    parts = [head]
    if meaning := interpretation_of(result):
        parts.append(f"{meaning[0].upper()}{meaning[1:]}.")
    if result.band is None:
        parts.append(f"Possible: {'; '.join(result.possible_bands)}.")
    return " ".join(parts)


def _unit(score: Score, total: float) -> str:
    return "point" if score.unit == "points" and abs(total) == 1 else score.unit
