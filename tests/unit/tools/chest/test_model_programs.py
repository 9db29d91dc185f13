"""The program that lies with a model's weights: run after the user's yes, and only then."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.tools.api import ToolFailed
from app.tools.chest.expert import ChestXRayExpert
from app.tools.chest.grounding import XRayPhraseGrounding
from app.tools.chest.report import ChestXRayReportGenerator
from app.tools.hosting.host import ProcessHost
from app.tools.models.store import ModelStore
from tests.support.tiny_making import install
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, write_dicom

pytest.importorskip("transformers")

OWN = "the model's own program"
TOOLS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "expert": ("chexagent-2-3b", ChestXRayExpert(), {"image_paths": ["image-1"], "prompt": "a?"}),
    "grounding": (
        "maira-2",
        XRayPhraseGrounding(),
        {"image_path": "image-1", "phrase": "left pleural effusion"},
    ),
}
BOXES = {"expert": (115.5, 143.5, 167.5, 210.7), "grounding": (120.5, 130.31, 170.5, 196.38)}


@pytest.fixture(scope="session")
def tiny(model_process: ProcessHost, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Models folders with a copy that needs its own program, made once; not allowed yet."""

    @cache
    def made(which: str, more: str = "") -> Path:
        card, tool, _ = TOOLS[which]
        models = tmp_path_factory.mktemp(f"program-{which}")
        install(model_process, tool.spec.name, models, card, program=more)
        return models

    return made


@pytest.fixture
def opened(bench: Bench, model_process: ProcessHost) -> Bench:
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    bench.host = model_process
    return bench


def ask(bench: Bench, which: str) -> Any:
    _, tool, arguments = TOOLS[which]
    return bench.run(tool, **arguments)


def allow(bench: Bench, which: str) -> None:
    ModelStore(bench.models).accept(TOOLS[which][0], code=True)


@pytest.mark.parametrize("which", list(TOOLS))
def test_without_the_user_s_yes_no_line_of_it_is_run(
    opened: Bench, tiny: Any, which: str, tmp_path: Path
):
    trace = tmp_path / "ran"
    opened.models = tiny(which, f"\nopen({str(trace)!r}, 'w').close()\n")
    with pytest.raises(ToolFailed) as caught:
        ask(opened, which)
    assert "has not been allowed" in caught.value.reason
    assert "--allow-code" in caught.value.remedy
    assert not trace.exists()
    allow(opened, which)
    ask(opened, which)
    assert trace.exists()  # so the trace would have shown it


@pytest.mark.parametrize("which", list(TOOLS))
def test_after_the_yes_it_answers_through_its_published_interface(
    opened: Bench, tiny: Any, which: str
):
    opened.models = tiny(which)
    allow(opened, which)
    result = ask(opened, which)
    assert result.metadata["engine"] == OWN
    [finding] = result.findings
    box = finding.geometry
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(BOXES[which], abs=0.02)
    assert finding.label == "left pleural effusion"
    assert json.loads(json.dumps(result.metadata)) == result.metadata


def test_a_report_is_asked_for_through_its_published_interface_too(opened: Bench, tiny: Any):
    opened.models = tiny("grounding")
    allow(opened, "grounding")
    result: Any = opened.run(ChestXRayReportGenerator(), image_path="image-1")
    assert result.output["findings"] == "left pleural effusion"
    box = result.findings[0].geometry
    corners = (box.x0, box.y0, box.x1, box.y1)
    assert corners == pytest.approx(BOXES["grounding"], abs=0.02)


@pytest.mark.parametrize("which", list(TOOLS))
def test_a_program_that_does_not_run_here_is_said_to_be_at_fault(
    opened: Bench, tiny: Any, which: str
):
    opened.models = tiny(
        which, "\nassert __import__('transformers').__version__ == '4.40.0', 'install 4.40.0'\n"
    )
    allow(opened, which)
    with pytest.raises(ToolFailed) as caught:
        ask(opened, which)
    assert "does not run here" in caught.value.reason
    assert "install 4.40.0" in caught.value.reason


def test_weights_that_the_program_does_not_know_are_not_replaced_by_random_ones(
    opened: Bench, tiny: Any
):
    # transformers would: it says "newly initialized" in its log, and the model answers.
    opened.models = tiny("grounding", "\n# with other weights\n")
    index = opened.models / "maira-2" / "model.safetensors.index.json"
    shards = json.loads(index.read_text("utf-8"))
    del shards["weight_map"]["lm_head.weight"]
    index.write_text(json.dumps(shards), encoding="utf-8")
    allow(opened, "grounding")
    with pytest.raises(ToolFailed) as caught:
        ask(opened, "grounding")
    assert "does not fit its weights" in caught.value.reason
    assert "lm_head.weight" in caught.value.detail


def test_a_program_that_was_changed_after_the_yes_is_not_run(
    opened: Bench, tiny: Any, tmp_path: Path
):
    trace = tmp_path / "ran"
    opened.models = tiny("grounding", "\n# to be changed\n")
    allow(opened, "grounding")
    program = opened.models / "maira-2" / "processing_maira2.py"
    program.write_text(f"open({str(trace)!r}, 'w').close()\n" + program.read_text("utf-8"))
    with pytest.raises(ToolFailed, match="has not been allowed"):
        ask(opened, "grounding")
    assert not trace.exists()


def test_a_program_that_is_changed_while_the_model_waits_to_be_loaded_is_not_run(
    opened: Bench, tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    trace = tmp_path / "ran"
    opened.models = tiny("grounding", "\n# to be changed later\n")
    allow(opened, "grounding")
    program = opened.models / "maira-2" / "processing_maira2.py"
    program.write_text(f"open({str(trace)!r}, 'w').close()\n" + program.read_text("utf-8"))
    # As if the viewer had looked before that: it gives the digests of the programs as they were.
    monkeypatch.setattr("app.tools.models.status.code_permission", lambda place, record: "allowed")
    with pytest.raises(ToolFailed, match="has changed since it was allowed"):
        ask(opened, "grounding")
    assert not trace.exists()
