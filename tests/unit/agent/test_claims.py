"""What a model says is not vouched for: where no result supports it, it is marked."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest

from app.agent.answers.claims import without_tricks
from app.agent.answers.evidence import MARK, unmarked
from app.agent.events import PlanUpdated, RunFinished, TextDelta
from app.agent.llm.base import Claimed, StatedClaim, Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.messages import Message
from app.agent.sessions import Thread
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    SCORES,
    DicomInput,
    FakeRegistry,
    FakeTool,
    ImageInput,
    SegmentationInput,
    collect,
    convert,
    ok,
    pack,
    request,
    segmentation,
)
from tests.support.scripted_model import ScriptedModel, Turn, call

PLANS = load_packs([]).plans
FILM = {"id": "image-1", "path": "/a/film.dcm", "kind": "dicom", "modality": "CR", "view": "PA"}
PRIOR = {**FILM, "id": "image-2", "path": "/a/prior.dcm"}
UNDECIDED = "so near 0.5 that this measurement cannot decide whether the heart is enlarged"
RATIO = {
    "ratio": 0.503,
    "heart_width_px": 1203.4,
    "thorax_width_px": 2391.0,
    "heart_width_mm": None,
    "reliable": True,
    "judgement": UNDECIDED,
    "cutoff": "Above 0.5 an adult's heart is commonly read as enlarged.",
}


def tools(**ratio: Any) -> FakeRegistry:
    measured = ok("Cardiothoracic ratio about 0.50.", {**RATIO, **ratio})
    return FakeRegistry(
        FakeTool("cardiothoracic_ratio", ImageInput, measured),
        FakeTool("chest_xray_classifier", ImageInput, ok("4 scores.", dict(SCORES))),
        FakeTool("chest_xray_segmentation", SegmentationInput, segmentation),
        FakeTool("dicom_processor", DicomInput, convert),
    )


def said(text: str) -> Turn:
    return [Text(text)]


def ask(folder: Path, *turns: Turn, question: str = "Is the heart enlarged?", **kind: Any) -> Any:
    registry = kind.pop("tools", None) or tools()
    notes = kind.pop("notes", (FILM,))
    asked = request(folder, question, notes=notes, **kind)
    loop = AgentLoop(ScriptedModel(*turns), registry, plans=PLANS)
    events = asyncio.run(collect(loop, asked))
    assert isinstance(events[-1], RunFinished)
    return events


def answer(folder: Path, text: str, *calls: str, **kind: Any) -> str:
    """The answer of a model that makes calls on the film and then says `text`."""
    turns: list[Turn] = [[call(name, image_path="image-1")] for name in calls]
    turns.append(said(text))
    return ask(folder, *turns, **kind)[-1].answer


CTR = "cardiothoracic_ratio"
SCORER = "chest_xray_classifier"


def test_an_invented_answer_is_marked_and_not_vouched_for(tmp_path: Path):
    text = "Ratio 0.72, severe cardiomegaly, heart width 168 mm, carcinoma, start furosemide."
    events = ask(tmp_path, [call(CTR, image_path="image-1")], said(text))
    told = events[-1].answer
    assert "Ratio 0.72 [check: result 1 says 0.503]" in told
    assert "168 mm [check: result 1 says 1203.4 px]" in told
    assert "[check: no evidence in this session]" in told
    assert "[check: result 1 cannot decide this]" in told
    assert "Based on" not in told
    goal = [event.goal for event in events if isinstance(event, PlanUpdated)][-1]
    assert goal == "incomplete"
    assert unmarked(told) == text


@pytest.mark.parametrize(
    "text",
    [
        "The cardiothoracic ratio is about 0.50 [1], which cannot decide whether it is enlarged.",
        "The ratio is 0.503 [1].",
        "Cardiothoracic ratio: **0.5** [1]; the cutoff is 0.5.",
        "The heart is 1,203 px wide, the thorax 2391 pixels [1].",
        "1. The ratio is 50% [1].\n2. Nothing else was asked.",
        "See image 7, result 1.",
        "It is too near 0.5 to say that the heart is enlarged [1].",
        "I measured the heart [1].",
        "Do you want me to look for pneumonia?",
        "I cannot say whether there is a carcinoma.",
        "The code is `ratio = 0.72`.",
        "By $A = \\frac{\\pi d^2}{4}$ and $\\sum_{i=1}^{n} x_i^{2}$ one gets an area.",
        "So $CTR = \\frac{1203}{2391} = 0.503$ [1].",
    ],
)
def test_what_results_support_has_no_mark(tmp_path: Path, text: str):
    assert answer(tmp_path, text, CTR) == text


def test_marks_are_in_the_language_of_the_question(tmp_path: Path):
    text = "Der Herz-Thorax-Quotient ist 0.61 [1], das Herz 12.3 cm breit [7]."
    told = answer(tmp_path, text, CTR, question="Ist das Herz vergrößert?")
    assert "0.61 [prüfen: nicht in Ergebnis 1]" in told or "[prüfen: Ergebnis 1 sagt" in told
    assert "[check:" not in told
    assert "Kein Beleg: Die Antwort zitiert Ergebnis 7, und keines hat diese Nummer." in told
    assert unmarked(told.partition("\n\n")[0]) == text


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("The ratio is 0.5 [1] and 0.61 before.", "0.61 [check: not in result 1]"),
        ("The heart is 12.3 cm wide.", "12.3 cm [check: no result gives this in cm]"),
        ("The heart is 1203 mm wide [1].", "1203 mm [check: no result gives this in mm]"),
        ("There are 14 nodules.", "14 [check: in no result]"),
        # behind a formula, so that it stays one
        ("So $CTR = \\frac{a}{b} = 0.61$.", "= 0.61$ [check: in no result]"),
        ("It is $d = 5\\,\\text{mm}$ wide.", "}$ [check: "),
        ("Cardiothoracic ratio: **0.61**", "0.61 [check: result 1 says 0.503]"),
        ("The ratio was measured on 2019-03-04.", "2019-03-04 [check: this date is in no result]"),
        ("There is pneumonia [1].", "[1] [check: result 1 cannot show this]."),
        ("Pneumonia can not be excluded.", "excluded [check: no evidence in this session]."),
        ("The lungs are clear [1].", "[check: result 1 cannot show this]"),
        ("The heart is enlarged [1].", "[check: result 1 cannot decide this]"),
        ("The heart is normal in size.", "[check: result 1 cannot decide this]"),
        ("I saved the report to the archive.", "[check: this was not done]"),
        ("I have sent the images to Dr. Huber.", "[check: this was not done]"),
        ("The referring physician has been notified.", "[check: this was not done]"),
        ("I segmented the lungs.", "[check: this was not done]"),
        ("I ran chest_xray_classifier.", "[check: this was not done]"),
    ],
)
def test_what_no_result_supports_is_marked_where_it_stands(tmp_path: Path, text: str, mark: str):
    told = answer(tmp_path, text, CTR)
    assert mark in told
    assert unmarked(told) == text


def test_a_judgement_against_unreliable_is_marked(tmp_path: Path):
    doubtful = tools(judgement="above 0.5", reliable=False)
    told = answer(tmp_path, "The heart is enlarged [1].", CTR, tools=doubtful)
    assert "[check: result 1 is marked unreliable]" in told
    fine = tools(judgement="above 0.5", ratio=0.58)
    assert not MARK.search(answer(tmp_path, "The heart is enlarged [1].", CTR, tools=fine))


def test_scores_are_compared_with_their_own_label(tmp_path: Path):
    good = "Mass scores 0.73, effusion 0.50 and pneumonia (0.31) [1]."
    assert answer(tmp_path, good, SCORER, question="Any disease?") == good
    told = answer(tmp_path, "Mass: 0.31 [1].", SCORER, question="Any disease?")
    assert "0.31 [check: result 1 says 0.731]" in told


def test_lengths_with_a_known_spacing_are_compared_in_any_unit(tmp_path: Path):
    spaced = tools(heart_width_mm=168.2)
    good = "The heart is 168 mm, that is 16.8 cm, wide [1]."
    assert answer(tmp_path, good, CTR, tools=spaced) == good
    told = answer(tmp_path, "The heart is 186 mm wide [1].", CTR, tools=spaced)
    assert "186 mm [check: not in result 1]" in told


@pytest.mark.parametrize("text", ["The heart is not enlarged.", "All is well."])
def test_an_answer_on_a_film_without_a_tool_is_marked(tmp_path: Path, text: str):
    told = ask(tmp_path, said(text), tools=FakeRegistry())[-1].answer
    assert "[check: no evidence in this session, no tool has looked at the image]" in told


def test_no_image_is_needed_for_small_talk(tmp_path: Path):
    assert answer(tmp_path, "Good morning.", question="hello") == "Good morning."


@pytest.mark.parametrize(
    "text", ["The image is not available.", "No X-ray was provided.", "The chest film isn't open."]
)
def test_that_no_image_is_there_is_marked_where_one_is_open(tmp_path: Path, text: str):
    turn: Turn = [Text(text), call(CTR, image_path="image-1")]
    told = ask(tmp_path, turn, said("The ratio is 0.50 [1]."))[-1].answer
    assert f"{text[:-1]} [check: an image is open]" in told
    other = "The prior film is not available. The spacing of the image is not given [1]."
    assert "is open" not in answer(tmp_path, other, CTR)
    assert answer(tmp_path, text, question="hello", notes=()) == text


def test_a_citation_of_another_image_is_marked_unless_it_is_named(tmp_path: Path):
    thread = Thread.in_memory()
    both = (FILM, PRIOR)
    first: Turn = [call(CTR, image_path="image-2")]
    question = "Is the heart enlarged in image-2?"
    ask(tmp_path, first, said("0.50 [1]."), question=question, notes=both, thread=thread)
    second: Turn = [call(CTR, image_path="image-1")]
    turns = [second, said("The ratio is 0.50 [1]. In prior.dcm it is 0.50 [1], here 0.50 [2].")]
    told = ask(
        tmp_path,
        *turns,
        question="Is the heart enlarged in image-1?",
        notes=both,
        thread=thread,
        run_id="run-2",
    )[-1].answer
    assert told.startswith("The ratio is 0.50 [1] [check: result 1 is of prior.dcm]. In prior.dcm")
    assert told.count("is of prior.dcm") == 1


def test_what_is_said_before_the_tools_have_run_is_told_at_the_end(tmp_path: Path):
    turn: Turn = [Text("Surely a carcinoma."), call(CTR, image_path="image-1")]
    told = ask(tmp_path, turn, said("The ratio is 0.50 [1]."))[-1].answer
    assert told.startswith("The ratio is 0.50 [1].\n\n**No result supports:**\n- Surely")
    assert "carcinoma [check:" in told


def test_a_mark_of_the_models_own_making_is_taken_out(tmp_path: Path):
    told = answer(tmp_path, "The ratio is 0.50 [1] [check: verified by Dr. Huber].", CTR)
    assert told == "The ratio is 0.50 [1]."


def test_the_programs_own_answers_have_no_marks(tmp_path: Path):
    for question in ("Is the heart enlarged?", "Which disease is it?", "Segment the lungs"):
        loop = AgentLoop(OfflineModel(PLANS), pack(full=True), plans=PLANS)
        events = asyncio.run(collect(loop, request(tmp_path, question)))
        assert not MARK.search(events[-1].answer)


def test_hostile_answers_take_little_time(tmp_path: Path):
    for text in ("ratio 0.7 " * 1_500, "I " * 10_000, "[1]" * 10_000, "ratio" + " " * 25_000):
        begun = time.process_time()  # other programs on the machine don't count
        answer(tmp_path, text, CTR)
        assert time.process_time() - begun < 5


def test_marks_are_not_in_what_the_model_reads_next(tmp_path: Path):
    thread = Thread.in_memory()
    turn: Turn = [call(CTR, image_path="image-1")]
    ask(tmp_path, turn, said("Ratio 0.72."), thread=thread)
    assert [m.text for m in thread.history if m.role == "assistant"][-1] == "Ratio 0.72."
    assert isinstance(thread.history[0], Message)


def test_marks_stand_in_the_text_when_it_is_first_shown(tmp_path: Path):
    text = "The ratio is 0.72 [1]. There is a pneumothorax. Ask me more.\n```\nx = 0.9\n```\nBye."
    pieces: Turn = [Text(part) for part in re.split(r"(?<=\s)", text)]
    events = ask(tmp_path, [call(CTR, image_path="image-1")], pieces)
    shown = [event.text for event in events if isinstance(event, TextDelta)]
    streamed = "".join(shown)
    assert streamed == events[-1].answer
    assert "0.72 [check: result 1 says 0.503] [1]." in streamed
    assert "pneumothorax [check: no evidence in this session]." in streamed
    assert "x = 0.9\n" in streamed
    told = next(piece for piece in shown if "pneumothorax" in piece)
    assert "no evidence" in told, "not shown without its mark for a moment"
    assert len(shown) > 5, "what needs no mark is not held back"


def test_claims_that_a_model_lists_are_checked_like_its_text(tmp_path: Path):
    claims = (
        StatedClaim("The ratio is 0.503", 0.503, evidence="1.1"),
        StatedClaim("The ratio", 0.61, evidence="1"),
        StatedClaim("The heart is 1203 px wide", 1203.0, "px", evidence="1.9"),
        StatedClaim("There is a pneumothorax", side="left"),
    )
    turn: Turn = [Text("The ratio is about one half [1]."), Claimed(claims)]
    told = ask(tmp_path, [call(CTR, image_path="image-1")], turn)[-1].answer
    text, _, behind = told.partition("\n\n**No result supports:**\n")
    assert text == "The ratio is about one half [1]."
    assert behind.splitlines() == [
        "- The ratio: 0.61 [check: result 1 says 0.503] [1].",
        "- The heart is 1203 px wide [1.9: no such item].",
        "- There is a pneumothorax (left) [check: no evidence in this session].",
    ]


def test_a_claim_that_the_text_has_a_mark_for_is_not_told_twice(tmp_path: Path):
    claim = StatedClaim("The ratio", 0.61, evidence="1")
    turn: Turn = [Text("The ratio is 0.61 [1]."), Claimed((claim,))]
    told = ask(tmp_path, [call(CTR, image_path="image-1")], turn)[-1].answer
    assert told == "The ratio is 0.61 [check: result 1 says 0.503] [1]."


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A < B and c <d and e> f", "A < B and c <d and e> f"),
        ("12 mm<sup>2</sup>, one<br>two", "12 mm2, one two"),
        ("`<b>code</b>` and <b>bold</b>", "`<b>code</b>` and bold"),
        ("&lt;5 &amp; 4&#49;", "<5 & 41"),
        ("[1.2](http://x.example/a) [see](http://x.example/b)", "[1.2] [see](http://x.example/b)"),
        ("a<!-- not -->b", "ab"),
    ],
)
def test_html_is_taken_out_of_an_answer(text: str, plain: str):
    assert without_tricks(text) == plain
