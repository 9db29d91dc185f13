"""What the gate lets in with a caveat keeps it when a later answer needs no tool."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from app.agent.loop.agent_loop import AgentLoop
from app.agent.sessions import Thread
from app.imaging.types import Orientation
from app.tools.api import ToolContext, ToolResult
from app.tools.chest import image_suitability
from app.tools.chest.model_pictures import Hanging
from app.tools.registry import load_packs
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, request
from tests.support.scripted_model import ScriptedModel, call, says
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import FRONTAL, LOOK, Bench, write_dicom

PLANS = load_packs([]).plans
HANDS = {"Modality": "CR", "BodyPartExamined": "HAND", "ViewPosition": "LL"}


class Mirrored:
    """A model process whose look at the picture says that it is mirrored."""

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        assert entry == LOOK, payload
        return {**FRONTAL, "mirrored": 0.9}


def gated(args: Any, context: ToolContext) -> ToolResult:
    """As the chest tools do: the gate's warnings stand in the result."""
    snapshot = context.images.resolve(args.image_path)
    suitable = image_suitability.check(snapshot, context)
    warnings = [*suitable.warnings, *Hanging.of(snapshot.frame.orientation).warnings]
    return ToolResult("Looked.", {"Effusion": 0.7}, {"warnings": warnings})


def second_answer(bench: Bench) -> str:
    """The user says yes to all; the model runs the tool, and is asked once more."""
    tool = FakeTool("chest_xray_classifier", ImageInput, gated)
    events: list[Any] = []
    thread, asked = Thread.in_memory(), ("Go on.", "And on which side is it?")
    turns = [call("chest_xray_classifier", image_path="image-1")], says("An effusion [1].")
    with ScriptedModel(*turns, says("On the left.")) as model:
        loop = AgentLoop(model, FakeRegistry(tool), plans=PLANS)
        for number, question in enumerate(asked):
            one = request(
                bench.out,
                question=question,
                notes=bench.images.notes(remote=False),
                thread=thread,
                run_id=f"run-{number}",
                images=bench.images,
                host=bench.host,
            )
            events = asyncio.run(collect(loop, one))
    return events[-1].answer


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"Modality": "CT"}, "used at your request, although this image is CT"),
        (HANDS, "shows the hand, not the chest; the file says that this is a lateral view"),
        ({"PatientOrientation": ["R", "F"]}, "the image is stored mirrored"),
    ],
)
def test_what_speaks_against_the_file_is_told(bench: Bench, attributes: dict[str, Any], told: str):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    assert told in second_answer(bench).split("Image warnings")[1]


def test_a_film_that_looks_mirrored_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Another test may have looked at the same pixels, and each picture is looked at once.
    monkeypatch.setattr(image_suitability, "_judgements", OrderedDict())
    bench = Bench(tmp_path, Mirrored())
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    assert "the film looks mirrored" in second_answer(bench).split("Image warnings")[1]


def test_a_sound_film_has_none(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), BodyPartExamined=None))
    assert "Image warnings" not in second_answer(bench)


def test_what_was_turned_for_a_model_counts_as_mirrored():
    (note,) = Hanging.of(Orientation("R", "F")).warnings
    assert any(word in note for word in PLANS.caveats("chest_xray_classifier"))
