"""`eval chestagentbench`: fresh memory a question, a letter or none, and figures a category."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.agent.llm.base import ModelFailed, ModelInfo, Text
from app.cli import main
from app.errors import FileProblem
from app.headless.eval_chestagentbench import FORCE, read_questions, run
from app.headless.eval_runs import read_results
from tests.support.scripted_model import ScriptedModel, says

pytestmark = pytest.mark.usefixtures("forked")

SEES = ModelInfo(own_tools=False, metered=False, images=True)


def question(number: int, **change: Any) -> dict[str, Any]:
    """Return a made question in the published form."""
    asked: dict[str, Any] = {
        "case_id": "7",
        "question_id": f"7_{number}",
        "full_question_id": f"7_{number}",
        "question": f"Question {number}: what is it? A) one B) two C) three D) four E) five F) six",
        "answer": "C",
        "categories": "detection,reasoning",
        "images": [f"figures/7/{number}.png"],
    }
    return asked | change


def write(folder: Path, *questions: dict[str, Any]) -> Path:
    """Write questions and an image for each."""
    figures = folder / "figures" / "7"
    figures.mkdir(parents=True)
    for number in range(len(questions)):
        Image.new("L", (32, 24), 40 * number).save(figures / f"{number}.png")
    text = "".join(f"{json.dumps(one)}\n" for one in questions)
    (folder / "metadata.jsonl").write_text(text, "utf-8")
    return folder


def test_questions_are_asked_one_by_one_with_fresh_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(
        tmp_path / "data",
        question(0),
        question(1, categories=["detection"], images="figures/7/1.png"),
        question(2, answer="D", images=[["figures/7/2.png"]]),
        question(3, images=["figures/7/missing.png"]),
        question(4),
    )
    out = tmp_path / "out"
    model = ScriptedModel(
        says("The answer is (C)."),
        says("A chest X-ray shows an effusion."),
        says("B"),
        says("It could be B or D."),
        says("I cannot tell."),
        [ModelFailed("the endpoint is gone", subject="model")],
        info=SEES,
    )
    with model:
        assert run(data=data, llm="", out=out, model=model) == 1, "two failed"
    rows = {row["id"]: row for row in read_results(out / "results.jsonl")}
    assert [(row["state"], row["answer"]) for row in rows.values()] == [
        ("correct", "C"),
        ("wrong", "B"),
        ("no answer", ""),
        ("failed", ""),
        ("failed", ""),
    ]
    assert rows["7_3"]["reason"] == "its image is missing"
    assert "the endpoint is gone" in rows["7_4"]["reason"]

    texts = ["\n".join(message.text for message in request) for request in model.requests]
    assert [text.count(FORCE) for text in texts] == [0, 0, 1, 0, 1, 0]
    assert "A chest X-ray shows an effusion." in texts[2], "the follow-up goes on with the talk"
    assert "Question 0" not in texts[1], "each question has a conversation of its own"
    assert "Question 1" not in texts[3]
    pictures = [sum(len(one.pictures) for one in request) for request in model.requests]
    assert pictures[0] == 1, "the model sees the image"

    page = (out / "report.html").read_text("utf-8")
    assert "<td>detection</td><td>1 of 5</td>" in page
    assert "<td>reasoning</td><td>1 of 4</td>" in page
    assert "MedRAX</td><td>63.1%" in page
    assert "1 of 5 right: 20.0%" in capsys.readouterr().out

    Image.new("L", (32, 24)).save(data / "figures" / "7" / "missing.png")
    with ScriptedModel(says("C"), says("**C**"), info=SEES) as again:
        assert run(data=data, llm="", out=out, model=again, resume=True) == 0
    states = {row["id"]: row["state"] for row in read_results(out / "results.jsonl")}
    assert states == {
        "7_0": "correct",
        "7_1": "wrong",
        "7_2": "no answer",
        "7_3": "correct",
        "7_4": "correct",
    }


def test_only_the_questions_that_are_named(tmp_path: Path) -> None:
    data = write(tmp_path / "data", question(0), question(1), question(2))
    with ScriptedModel([Text("C")], info=SEES) as model:
        assert run(data=data, llm="", out=tmp_path / "out", model=model, ids=["7_1"]) == 0
    assert [row["id"] for row in read_results(tmp_path / "out" / "results.jsonl")] == ["7_1"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"answer": "G"}, "no question"),
        ({"answer": ""}, "no question"),
        ({"answer": "Answer: C"}, "no question"),
        ({"images": ["figures/../../secret.png"]}, "no question"),
        ({"images": ["/etc/passwd"]}, "no question"),
        ({"full_question_id": "7_0"}, "two questions have the id 7_0"),
    ],
)
def test_a_file_of_another_form_is_told(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    data = write(tmp_path / "data", question(0), question(1, **change))
    with pytest.raises(FileProblem, match=why):
        read_questions(data)


def test_the_form_without_a_full_id(tmp_path: Path) -> None:
    one = question(0, question_id="3", answer='"C"', metadata={"categories": ["diagnosis"]})
    del one["full_question_id"], one["categories"]
    [read] = read_questions(write(tmp_path / "data", one))
    assert (read.id, read.categories, read.answer) == ("7_3", ("diagnosis",), "C")


def test_the_command_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "chestagentbench", "--data", str(tmp_path)]
    assert main(command) != 0
    assert "metadata.jsonl" in capsys.readouterr().err
    data = write(tmp_path / "data", question(0))
    assert main(["eval", "chestagentbench", "--data", str(data), "--llm", "offline"]) == 2
    assert "needs a language model" in capsys.readouterr().err
    (data / "metadata.jsonl").write_text("\n")
    assert main(["eval", "chestagentbench", "--data", str(data)]) == 1
    assert "there is no question" in capsys.readouterr().err
