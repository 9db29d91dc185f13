"""llava_med_qa and medgemma_qa: what holds of each tool whose model answers in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from app.tools.api import Tool, ToolFailed, ToolRetry
from app.tools.chest import llava_med, medgemma
from app.tools.hosting.host import ProcessHost
from app.tools.models.cards import card
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

QUESTION = "What do you see?"


@dataclass(frozen=True)
class Kind:
    """A tool, its model's card, what the tiny model says, and how the tool is given an image."""

    tool: Tool
    model: str
    says: str
    begins: str
    images: str
    one: Any


KINDS = {
    "llava_med": Kind(
        llava_med.LlavaMed(),
        llava_med.MODEL,
        "I partly agree: the heart is enlarged.",
        "I partly agree:",
        "image_path",
        "image-1",
    ),
    "medgemma": Kind(
        medgemma.MedGemma(),
        medgemma.MODEL,
        "There is cardiomegaly with a small left effusion.",
        "There is cardiomegaly",
        "image_paths",
        ["image-1"],
    ),
}


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def ask(kind: Kind, bench: Bench, tiny_models: Any, model_process: ProcessHost) -> Any:
    """Asks about a film, or what else is given."""
    bench.models = tiny_models(kind.tool.spec.name, kind.model, says=kind.says)
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))

    def asked(host: FakeHost | None = None, **arguments: Any) -> Any:
        bench.host = host or model_process
        return bench.run(kind.tool, **{"question": QUESTION, kind.images: kind.one, **arguments})

    return asked


def test_it_answers_about_an_image_and_says_who_does(ask: Any, kind: Kind):
    result = ask()
    assert result.output == {"answer": kind.says}
    assert result.metadata["question"] == QUESTION
    assert result.metadata[kind.images] == kind.one
    assert result.metadata["model"] == card(kind.model).title
    assert len(result.metadata["weights_sha256"]) == 64
    assert result.metadata["device"] == "cpu"
    assert result.metadata["status"] == "completed"
    assert card(kind.model).title in result.summary
    assert "Written by a model, unchecked." in result.summary
    assert result.findings == ()


def test_it_answers_a_general_question_without_an_image(ask: Any, kind: Kind):
    result = ask(question="What is an air bronchogram?", **{kind.images: None})
    assert result.output == {"answer": kind.says}
    assert result.metadata[kind.images] is None


def test_an_answer_that_was_cut_off_says_so(ask: Any, kind: Kind):
    result = ask(max_new_tokens=3)
    assert result.output == {"answer": kind.begins}
    assert result.metadata["finished"] is False
    assert "cut off at the limit of 3 tokens" in result.summary


def test_a_question_that_does_not_fit_is_to_be_asked_shorter(ask: Any):
    with pytest.raises(ToolRetry, match=r"too long: with .* tokens; ask it shorter"):
        ask(question="ß中語 " * 990)


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "the model wrote nothing"), ("-- ** -- ** --", "what the model wrote is not text")],
)
def test_an_answer_that_is_no_text_is_no_answer(ask: Any, kind: Kind, text: str, why: str):
    with pytest.raises(ToolFailed) as caught:
        ask(FakeHost({"text": text, "finished": True}))
    assert caught.value.reason == f"{card(kind.model).title} gave no usable answer: {why}"


def test_without_weights_it_says_what_is_missing_and_how_to_get_it(bench: Bench, kind: Kind):
    with pytest.raises(ToolFailed) as caught:
        bench.run(kind.tool, question=QUESTION)
    assert card(kind.model).title in caught.value.reason
    assert f"models get {kind.model}" in caught.value.remedy
