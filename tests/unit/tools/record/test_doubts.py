"""Results about a record that cannot be all there is lead to one more try, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from app.agent.events import RunEvent, ToolFinished
from app.agent.loop.agent_loop import AgentLoop
from app.tools.api import ToolContext, ToolInput, ToolResult, ToolSpec
from app.tools.record import doubts
from app.tools.record.plan import PLAN
from app.tools.registry import Registry
from app.tools.result_wording import CallResult
from tests.support import fake_tools
from tests.support.made_record import MadeRecords
from tests.support.scripted_model import ScriptedModel, call, says

SCAN = CallResult(
    "scan_dicom_directory", {}, {"total": 298, "counts": {"modality": {"OT": 298}}}, {}
)


def test_zero_images_contradict_the_files_that_were_counted():
    """Document 003: "no DICOM files" when 298 exist."""
    assert "298" in doubts.of_images({"dicom_count": 0}, [SCAN])
    assert doubts.of_images({"dicom_count": 0}, []) == ""
    assert doubts.of_images({"dicom_count": 2}, [SCAN]) == ""


def test_a_named_study_without_an_image_is_a_failed_cross_reference():
    said = doubts.of_images(
        {"dicom_count": 0, "imaging_studies": [{"entry": "ImagingStudy/1"}]}, []
    )
    assert "names 1 imaging studies" in said


def test_a_filter_by_a_textbook_value_is_in_doubt():
    assert "298" in doubts.of_metadata({"total": 0, "counts": {"modality": {"OT": 298}}}, [])
    assert "298" in doubts.of_metadata({"total": 0}, [SCAN])
    assert doubts.of_metadata({"total": 0}, []) == ""


@pytest.mark.parametrize(
    ("output", "doubtful"),
    [
        ({"patients_analyzed": 0, "patients_in_record": 12, "conditions": []}, True),
        ({"patients_analyzed": 13, "patients_in_record": 12, "conditions": []}, True),
        (
            {"patients_analyzed": 2, "patients_in_record": 9, "conditions": [{"patients": 3}]},
            True,
        ),
        (
            {"patients_analyzed": 3, "patients_in_record": 9, "conditions": [{"patients": 3}]},
            False,
        ),
        ({"patients_analyzed": 0, "patients_in_record": 0, "conditions": []}, False),
    ],
)
def test_counts_that_cannot_be_are_in_doubt(output: dict[str, Any], doubtful: bool):
    assert bool(doubts.of_batch(output, [])) is doubtful


class Labs(ToolInput):
    """Arguments of the stand-in."""

    tests: list[str] | None = None


class Anything(BaseModel):
    """Any output."""


class StandIn:
    """A tool that answers by a table from its first argument's value."""

    def __init__(self, name: str, outputs: dict[str, dict[str, Any]]) -> None:
        self.spec = ToolSpec(name, f"Does {name}.", Labs, Anything, pack="record")
        self.outputs = outputs
        self.asked: list[str] = []

    def run(self, args: Labs, context: ToolContext) -> ToolResult:
        """Return the output for the asked test."""
        asked = ", ".join(args.tests or ())
        self.asked.append(asked)
        return ToolResult("Read.", self.outputs.get(asked, self.outputs[""]), {})


def run(tmp_path: Path, tool: StandIn, *turns: Any, question: str) -> list[RunEvent]:
    registry = Registry()
    registry.register(tool)
    registry.plan(PLAN)
    loop = AgentLoop(ScriptedModel(*turns), registry, plans=registry.plans)
    asked = fake_tools.request(
        tmp_path, question, notes=(), records=MadeRecords(), record_patient="anna"
    )
    return asyncio.run(fake_tools.collect(loop, asked))


def test_a_name_that_is_not_there_is_tried_once_more_by_the_nearest(tmp_path: Path):
    nothing = {"entries": [], "total": 0, "recorded": {"Creatinine [Mass/volume] in Serum": 3}}
    found = {"entries": [{"entry": "Observation/1"}], "total": 1, "recorded": {}}
    name = "Creatinine [Mass/volume] in Serum"
    tool = StandIn("get_patient_labs", {"": nothing, name: found})
    turns = ([call("get_patient_labs", tests=["creatinnine"])], says("It was 1.4 [2]."))
    events = run(tmp_path, tool, *turns, question="What was her last creatinine?")
    assert tool.asked == ["creatinnine", name]
    assert [one.status for one in events if isinstance(one, ToolFinished)] == ["ok", "ok"]


def test_there_is_never_a_second_retry(tmp_path: Path):
    nothing = {"entries": [], "total": 0, "recorded": {"Creatinine in Serum": 3}}
    tool = StandIn("get_patient_labs", {"": nothing})
    turns = (
        [call("get_patient_labs", tests=["creatinnine"])],
        [call("get_patient_labs", tests=["creatinine in blood"])],
        says("Nothing was found."),
        says("Nothing was found."),
    )
    run(tmp_path, tool, *turns[:3], question="What was her last creatinine?")
    assert len(tool.asked) == 3  # the model's two, and one that rules put in


def test_the_model_is_told_to_try_once_more_where_no_rule_can(tmp_path: Path):
    tool = StandIn(
        "analyze_batch_conditions",
        {"": {"patients_analyzed": 0, "patients_in_record": 12, "conditions": []}},
    )
    model = ScriptedModel(
        [call("analyze_batch_conditions")], [call("analyze_batch_conditions")], says("None.")
    )
    registry = Registry()
    registry.register(tool)
    registry.plan(PLAN)
    loop = AgentLoop(model, registry, plans=registry.plans)
    asked = fake_tools.request(
        tmp_path,
        "How many of our patients have gout?",
        notes=(),
        records=MadeRecords(),
        record_patient="anna",
    )
    asyncio.run(fake_tools.collect(loop, asked))
    told = [item.advice for item in asked.thread.history if item.role == "tool"]
    assert [("try once more" in one) for one in told] == [True, False]
