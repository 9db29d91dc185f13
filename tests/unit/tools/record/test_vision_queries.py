"""Document 003's four vision queries, run by a scripted model that accepts pictures."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.agent.events import RunFinished, ToolFinished
from app.agent.llm.base import ModelEvent, ModelInfo, Text, ToolSchema
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message
from tests.support import fake_tools
from tests.support.scripted_model import call
from tests.unit.records.record_files import SNOMED, coding
from tests.unit.tools.record.charts import REGISTRY, Charts, Json
from tests.unit.tools.record.conftest import Opens
from tests.unit.tools.record.test_ecg import ecg, sampled
from tests.unit.tools.support import gradient, write_dicom

OWN = "76bc2bcd-3074-46b9-bc18-18daf50825a2"
Turn = Callable[[Sequence[Message]], Sequence[ModelEvent]]


class Eyes:
    """A model with eyes that plays turns, each made of what it has read so far."""

    name, remote_host = "eyes", ""
    info = ModelInfo(own_tools=False, metered=False, images=True)

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.looked: list[str] = []

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Play the next turn; a request with a picture and without tools is a look at it."""
        if not tools:
            self.looked += [picture.path for picture in messages[-1].pictures]
            yield Text("An old infarct on the left is possible.")
            return
        for event in self.turns.pop(0)(messages):
            yield event


def calls(name: str, **arguments: Any) -> Turn:
    return lambda _messages: [call(name, **arguments)]


def looks(question: str) -> Turn:
    """Look at the picture that was loaded last."""

    def turn(messages: Sequence[Message]) -> Sequence[ModelEvent]:
        paths = re.findall(r'"image_path":\s*"([^"]+)"', messages[-1].text)
        return [call("analyze_medical_image", image_path=paths[-1], question=question)]

    return turn


def answers(text: str) -> Turn:
    return lambda _messages: [Text(text)]


def condition(own: str, code: str, name: str) -> Json:
    active = {"coding": [{"code": "active"}]}
    return {
        "resourceType": "Condition",
        "id": own,
        "clinicalStatus": active,
        "code": coding(SNOMED, code, name),
        "onsetDateTime": "2019-01-02",
    }


@pytest.fixture
def charts(opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charts:
    """A patient with stroke, fibrillation and COPD, a brain MRI called OT, a chest CT, an ECG."""
    folder = tmp_path / "dicom"
    folder.mkdir()
    brain = {"Modality": "OT", "BodyPartExamined": "Unknown", "SeriesDescription": "Brain MRI"}
    write_dicom(folder / f"John_Okafor_{OWN}[1.2.3].dcm", gradient(), **brain, PatientID=OWN)
    write_dicom(folder / "ct.dcm", gradient(), Modality="CT", PatientID=OWN)
    monkeypatch.setenv("COHERENT_DICOM_PATH", str(folder))
    rng = np.random.default_rng(3)
    signal = ecg(rng.uniform(0.5, 1.1, 20), p=0.0, f=0.08)
    return opens(
        condition("c1", "230690007", "Stroke"),
        condition("c2", "49436004", "Atrial fibrillation"),
        condition("c3", "185086009", "Chronic obstructive bronchitis"),
        sampled("e1", {"II": signal}),
        own=OWN,
    )


QUERIES: dict[str, tuple[Turn, ...]] = {
    "Analyze stroke patients with brain MRI scans and identify imaging findings": (
        calls("analyze_batch_conditions", condition="stroke"),
        calls("scan_dicom_directory"),
        calls("get_dicom_metadata", patient_id=OWN, modality="OT"),
        calls("load_dicom_image", patient_id=OWN, image_index=0),
        looks("Signs of an infarct?"),
        answers("1 patient has a stroke [1]; the model sees a possible old infarct [5]."),
    ),
    "Review ECG waveforms for patients with atrial fibrillation": (
        calls("analyze_batch_conditions", condition="atrial fibrillation"),
        calls("load_ecg", patient_id=OWN),
        calls("analyze_ecg_for_rhythm", patient_id=OWN),
        answers("1 patient has it on record [1]; the rhythm was measured [3]."),
    ),
    "Find patients with chest CT scans and correlate with respiratory conditions": (
        calls("scan_dicom_directory"),
        calls("get_dicom_metadata", modality="CT"),
        calls("get_patient_conditions", patient_id=OWN, text="obstructive"),
        answers("1 CT is there [2], of a patient with chronic obstructive bronchitis [3]."),
    ),
    "Analyze brain imaging for patients diagnosed with cerebrovascular accident": (
        calls("get_patient_conditions", patient_id=OWN, text="stroke"),
        calls("find_patient_images", patient_id=OWN),
        calls("scan_dicom_directory"),
        calls("load_dicom_image", patient_id=OWN, image_index=0),
        looks("Signs of a cerebrovascular accident?"),
        answers("The stroke is on record [1]; the picture may show an old infarct [5]."),
    ),
}


@pytest.mark.parametrize("question", QUERIES)
def test_a_vision_query_of_document_003_runs(charts: Charts, question: str):
    model = Eyes(*QUERIES[question], answers("That is all that the tools say."))
    loop = AgentLoop(model, REGISTRY, plans=REGISTRY.plans)
    asked = fake_tools.request(
        charts.bench.out,
        question,
        notes=(),
        images=charts.bench.images,
        host=charts.bench.host,
        records=charts.library,
        record_patient=OWN,
    )
    events = asyncio.run(fake_tools.collect(loop, asked))
    ended = [event for event in events if isinstance(event, ToolFinished)]
    assert [(one.tool, one.error) for one in ended if one.status != "ok"] == []
    assert isinstance(events[-1], RunFinished)
    wanted = [turn for turn in QUERIES[question] if turn.__qualname__.startswith("looks")]
    assert len(model.looked) == len(wanted)
    assert all(Path(path).is_file() for path in model.looked)
    ran = [one.tool for one in ended]
    if "get_dicom_metadata" in ran:  # discover first, then filter
        assert ran.index("scan_dicom_directory") < ran.index("get_dicom_metadata")
    whose = [one.output["patient"]["id"] for one in ended if one.output.get("patient")]
    assert set(whose) <= {OWN}


def test_a_filter_without_a_look_first_gets_the_look_put_in(charts: Charts):
    """The two DICOM tasks: what a model forgets, rules put in."""
    model = Eyes(
        calls("get_dicom_metadata", modality="MR"), answers("No MR, but OT [1]."), answers("So.")
    )
    loop = AgentLoop(model, REGISTRY, plans=REGISTRY.plans)
    asked = fake_tools.request(
        charts.bench.out,
        "Find all brain MRI in the DICOM archive and list their studies",
        notes=(),
        images=charts.bench.images,
        host=charts.bench.host,
        records=charts.library,
        record_patient=OWN,
    )
    events = asyncio.run(fake_tools.collect(loop, asked))
    ran = [event.tool for event in events if isinstance(event, ToolFinished)]
    assert ran[:2] == ["scan_dicom_directory", "get_dicom_metadata"]
    texts = [item.text for item in asked.thread.history if item.role == "tool"]
    assert any("OT" in text and "no file fits" in text for text in texts)
