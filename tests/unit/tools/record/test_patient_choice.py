"""Whose record a tool reads: the one named, else the one in use, never a guess."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.loop.tool_execution import run_tool
from app.agent.messages import for_people
from app.records.record_library import RecordLibrary
from app.records.types import NoRecords
from app.tools.api import ToolFailed, ToolRetry
from tests.support import fake_tools
from tests.unit.tools.record.charts import REGISTRY, Charts, bundles, lab, write
from tests.unit.tools.record.conftest import Opens
from tests.unit.tools.support import gradient, write_dicom

POTASSIUM = lab("k1", "2823-3", "Potassium", "4.2", "mmol/L", "2020-01-02")
PATIENT_TOOLS = [
    tool.spec.name
    for tool in REGISTRY.all()
    if tool.spec.pack == "record"
    and tool.spec.name.startswith(("get_", "find_", "load_", "analyze_ecg", "check_"))
    and tool.spec.name not in ("get_dicom_metadata", "get_dicom_metadata_from_path")
]


@pytest.mark.parametrize("tool", PATIENT_TOOLS)
def test_without_a_record_a_tool_says_how_to_open_one(tmp_path: Path, tool: str):
    charts = Charts(tmp_path, NoRecords())  # type: ignore[arg-type]
    with pytest.raises(ToolFailed, match="no patient's record is open") as caught:
        charts.run(tool)
    assert "--record" in caught.value.remedy


def test_the_patient_in_use_is_the_default_and_is_named(opens: Opens):
    charts = opens(POTASSIUM)
    result = charts.run("get_patient_labs")
    assert result.output["patient"] == {"id": "p1", "name": "John Okafor"}
    assert "John Okafor (born 1950-06-15)" in result.summary
    assert "[Observation/k1]" in result.summary


def test_the_only_patient_is_taken_unless_a_film_is_open(opens: Opens):
    charts = opens(POTASSIUM)
    charts.patient = ""
    assert charts.run("get_patient_labs").output["patient"]["id"] == "p1"
    charts.bench.open(write_dicom(charts.bench.folder / "film.dcm", gradient()))
    with pytest.raises(ToolRetry, match="no open record is linked to the shown study") as caught:
        charts.run("get_patient_labs")
    remedy = "Choose the patient in the record panel, or name the patient in the question: "
    assert caught.value.remedy == f"{remedy}John Okafor (born 1950-06-15)."
    tool = REGISTRY.get("get_patient_labs")
    assert tool is not None
    arguments = tool.spec.Input.model_validate({})
    told = asyncio.run(run_tool(tool, arguments, charts.context())).remedy
    assert for_people(told) == caught.value.remedy
    assert "John Okafor (p1)" in told


@pytest.mark.parametrize("named", ["p1", "John Okafor", "okafor, JOHN", "MRN-7"])
def test_a_patient_is_named_by_id_full_name_or_number(opens: Opens, named: str):
    charts = opens(POTASSIUM, identifier=[{"system": "urn:x", "value": "MRN-7"}])
    charts.patient = ""
    assert charts.run("get_patient_labs", patient_id=named).output["total"] == 1


@pytest.mark.parametrize("named", ["Okafor", "John", "MRN", "p", "Jon Okafor"])
def test_a_part_of_a_name_is_no_patient_but_a_suggestion(opens: Opens, named: str):
    charts = opens(POTASSIUM, identifier=[{"system": "urn:x", "value": "MRN-7"}])
    with pytest.raises(ToolRetry, match="no patient with that id or full name") as caught:
        charts.run("get_patient_labs", patient_id=named)
    assert "John Okafor (p1)" in caught.value.for_model
    assert "John Okafor (born 1950-06-15)" in caught.value.remedy
    assert "p1" not in caught.value.text


def test_of_many_namesakes_at_most_ten_are_listed(tmp_path: Path):
    for number in range(13):
        write(tmp_path / "fhir", own=f"p{number:02}")
    library = RecordLibrary(tmp_path / "index", workers=1)
    library.open([tmp_path / "fhir"])
    (tmp_path / "run").mkdir()
    charts = Charts(tmp_path / "run", library)
    with pytest.raises(ToolRetry, match="13 patients") as caught:
        charts.run("get_patient_labs", patient_id="John Okafor")
    assert caught.value.for_model.count("John Okafor (p") == 10
    assert caught.value.remedy.count("John Okafor (born 1950-06-15)") == 10
    assert "3 more" in caught.value.remedy
    assert "3 more" in caught.value.for_model
    library.close()


def test_results_of_one_patient_never_hold_another_ones(twelve: RecordLibrary, tmp_path: Path):
    charts = Charts(tmp_path, twelve)
    owners = {
        f"{one['resourceType']}/{one['id']}": patient["id"]
        for patient, resources in bundles()
        for one in resources
    }
    tools = ("get_patient_labs", "get_vital_signs", "get_patient_conditions")
    for patient, _ in bundles():
        for tool in tools:
            output = charts.run(tool, patient_id=patient["id"], limit=1000).output
            assert {owners[one["entry"]] for one in output["entries"]} <= {patient["id"]}


@pytest.mark.parametrize("wrong", ["yesterday", "2020/01/02", "20-1-1"])
def test_a_wrong_date_is_explained(opens: Opens, wrong: str):
    with pytest.raises(ToolRetry, match="since is not a date"):
        opens(POTASSIUM).run("get_patient_labs", since=wrong)


def test_a_chosen_record_of_another_than_the_shown_study_says_so_first(opens: Opens):
    charts = opens(POTASSIUM)
    said = "You chose this record; it is not linked to the shown study."
    tool = REGISTRY.get("get_patient_labs")
    assert tool is not None
    for unlinked, patient in ((True, "p1"), (True, ""), (False, "p1")):
        context = replace(charts.context(), record_unlinked=unlinked, record_patient=patient)
        result = tool.run(tool.spec.Input.model_validate({"patient_id": "p1"}), context)
        assert result.summary.startswith(said) == (unlinked and patient == "p1")


def test_the_answer_from_an_unlinked_record_begins_with_it(opens: Opens, tmp_path: Path):
    charts = opens(POTASSIUM)
    loop = AgentLoop(OfflineModel(REGISTRY.plans), REGISTRY, plans=REGISTRY.plans)
    asked = fake_tools.request(
        tmp_path / "out",
        "last potassium of this patient",
        notes=(),
        records=charts.library,
        record_patient="p1",
        record_unlinked=True,
    )
    asyncio.run(fake_tools.collect(loop, asked))
    answer = asked.thread.history[-1].text
    first = "You chose this record; it is not linked to the shown study."
    assert answer.startswith(f"**Laboratory results**\n- {first}"), answer
    assert "4.2 mmol/L" in answer
