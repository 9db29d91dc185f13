"""The seed's four prompts from `ask`: offline planner and scripted model, with models and without.

`ask` runs in this process, all prompts with one set of worker processes: starting the model process
and importing its packages costs more than all prompts together.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.agent.llm.base import ModelEvent, Text, ToolSchema
from app.agent.messages import Message
from app.headless import runs
from app.imaging.demo import demo_paths
from app.tools.hosting.host import ProcessHost
from app.tools.models.cards import card as card_of
from app.tools.models.store import ModelStore
from app.wiring import Program
from tests.support import four_prompts as seed
from tests.support.four_prompts import MODELS, TOOLS, Following, script
from tests.support.scripted_model import call

pytestmark = pytest.mark.e2e

DICOM = demo_paths()[0]
Events = list[dict[str, Any]]
Ask = Callable[..., Events]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("four-prompts")


@pytest.fixture(scope="module")
def program(home: Path) -> Iterator[Program]:
    pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_HOME", str(home / "home"))
        made = Program()
        made.__dict__["host"] = ProcessHost()
        yield made
        made.close()


@pytest.fixture(scope="module")
def models(program: Program, home: Path) -> Path:
    """A models folder with a tiny model for each tool of the four prompts."""
    return seed.install(program.host, home / "models").folder


@pytest.fixture(scope="module")
def locating(program: Program, home: Path) -> Path:
    """A models folder with what prompt 3 needs: all eight take fifteen seconds to make."""
    return seed.install(program.host, home / "locating", "xray_phrase_grounding").folder


@pytest.fixture(scope="module")
def png(program: Program, home: Path) -> Path:
    """The demo film as a picture, as a user might upload it."""
    from app.imaging.pixels import pipeline

    scan = program.decoder.scan([DICOM]).result()
    instance = scan.studies[0].series[0].instances[0]
    shown = pipeline.render(program.decoder.frame(instance, 0).result())
    path = home / "film.png"
    Image.fromarray(np.asarray(shown)).save(path)
    return path


@pytest.fixture
def ask(program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> Ask:
    """`ask --json`; the events that it printed."""

    @contextmanager
    def shared() -> Generator[Program]:
        yield program

    def run(
        prompt: str, *images: Path, folder: Path, model: Following | None = None, code: int = 0
    ) -> Events:
        monkeypatch.setenv("SIGHTLINE_MODELS", str(folder))
        monkeypatch.setattr(runs, "open_program", shared)
        if model is not None:
            monkeypatch.setattr(program, "language_model", lambda *_named: model)
        capsys.readouterr()
        assert runs.ask(prompt, images, "offline", tmp_path / "out", as_json=True) == code
        assert model is None or model.used_up
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def of(events: Events, kind: str) -> Events:
    return [event for event in events if event["kind"] == kind]


def called(events: Events) -> tuple[str, ...]:
    return tuple(event["tool"] for event in of(events, "tool_started"))


def arguments(events: Events) -> dict[str, dict[str, Any]]:
    return {event["tool"]: event["arguments"] for event in of(events, "tool_started")}


def phrases(events: Events) -> list[str]:
    """Return what was asked to be shown on the image, in the order of the calls."""
    given = [event["arguments"] for event in of(events, "tool_started")]
    return [one.get("phrase") or one["prompt"] for one in given if "phrase" in one or "task" in one]


def finished(events: Events) -> dict[str, dict[str, Any]]:
    found = {event["tool"]: event for event in of(events, "tool_finished")}
    assert {tool: item["error"] for tool, item in found.items() if item["status"] != "ok"} == {}
    return found


def answer(events: Events) -> str:
    assert events[-1]["kind"] == "run_finished"
    return events[-1]["answer"]


BOTH = pytest.mark.parametrize("scripted", [False, True], ids=["offline", "scripted"])


def model_for(number: int, image: Path, *, scripted: bool) -> Following | None:
    return script(number, str(image)) if scripted else None


@pytest.mark.slow
@BOTH
def test_prompt_1_reads_scores_outlines_reports_and_shows(ask: Ask, models: Path, scripted: bool):
    model = model_for(1, DICOM, scripted=scripted)
    events = ask(seed.PROMPT_1, DICOM, folder=models, model=model)
    assert called(events) == TOOLS[1]
    done, given = finished(events), arguments(events)
    converted = done["dicom_processor"]["output"]["image_path"]
    for tool in TOOLS[1][1:4]:
        assert given[tool]["image_path"] == converted
    assert given["chest_xray_segmentation"]["organs"] == seed.ORGANS
    overlay = done["chest_xray_segmentation"]["output"]["segmentation_image_path"]
    assert given["image_visualizer"] == {"image_path": overlay, "title": "Segmentation Overlay"}
    assert len(done["chest_xray_classifier"]["output"]) == 18
    assert done["chest_xray_classifier"]["output"]["Effusion"] > 0.5
    metrics = done["chest_xray_segmentation"]["output"]["metrics"]
    masks = done["chest_xray_segmentation"]["findings"]
    assert {item["label"] for item in masks} == set(metrics) <= set(seed.ORGANS)
    assert masks
    for item in masks:
        # Found on the converted PNG, drawn on the DICOM image in its own pixels.
        assert item["image"]["sop_instance_uid"] == masks[0]["image"]["sop_instance_uid"]
        assert not item["image"]["sop_instance_uid"].startswith("2.25.")
        assert np.asarray(Image.open(item["geometry"]["path"])).shape == (1955, 1841)
    report = done["chest_xray_report_generator"]["output"]
    assert "effusion" in report["findings"]
    assert report["impression"]
    assert [item["role"] for item in done["image_visualizer"]["artifacts"]] == ["show"]
    if not scripted:
        assert "Effusion" in answer(events)
        assert report["findings"] in answer(events)
        assert "diagnosis" not in answer(events).replace("diagnoses", "")


@pytest.mark.slow
def test_prompt_1_in_plain_words_runs_all_that_there_is(ask: Ask, models: Path):
    events = ask(seed.PROMPT_1_NATURAL, DICOM, folder=models)
    assert set(called(events)) == {*TOOLS[1], "cardiothoracic_ratio", GROUNDING}
    done = {event["tool"]: event for event in of(events, "tool_finished")}
    scores = done["chest_xray_classifier"]["output"]
    highest = max(scores, key=scores.__getitem__)
    assert highest == "Effusion"
    # Each finding that was scored above the cut-off is looked for, the highest first.
    assert phrases(events) == SOUGHT
    assert done[GROUNDING]["findings"]
    assert done[TOOLS[1][2]]["status"] == "ok"
    assert "“cardiomegaly” (the model's words: “left pleural effusion”)" in answer(events)
    assert "Which disease" in answer(events)
    assert "Nothing installed here" not in answer(events)
    assert events[-1]["missing"] == []


WHERE = "In this image, what type of disease do we have, and where is it located?"
GROUNDING = "xray_phrase_grounding"
SOUGHT = ["pleural effusion", "cardiomegaly", "enlarged cardiomediastinum"]
"""What the tiny classifier scores above 0.5, the highest first."""


def without(models: Path, folder: Path, *cards: str) -> Path:
    """Return a copy of a models folder without some models."""
    left_out = [ModelStore(models).paths_of(card_of(name)).path.name for name in cards]
    shutil.copytree(models, folder, ignore=shutil.ignore_patterns(*left_out))
    return folder


class Scoring(Following):
    """A scripted model that plays its turns, and afterwards only says that it is done."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Play the next turn."""
        if self.used_up:
            yield Text("Done.")
            return
        async for event in super().stream(messages, tools):
            yield event


@pytest.mark.slow
@BOTH
def test_where_a_disease_is_is_asked_of_what_can_locate_it(
    ask: Ask, models: Path, tmp_path: Path, scripted: bool
):
    def model() -> Following | None:
        turn = [call("chest_xray_classifier", image_path=str(DICOM))]
        return Scoring(lambda _: turn) if scripted else None

    events = ask(WHERE, DICOM, folder=models, model=model())
    assert phrases(events) == SOUGHT
    assert finished(events)[GROUNDING]["findings"]
    assert "Nothing installed here" not in answer(events)

    expert = without(models, tmp_path / "expert", "maira-2")
    events = ask(WHERE, DICOM, folder=expert, model=model())
    assert GROUNDING not in called(events)
    assert arguments(events)["chest_xray_expert"]["task"] == "locate"
    assert phrases(events) == SOUGHT

    neither = without(models, tmp_path / "neither", "maira-2", "chexagent-2-3b")
    events = ask(WHERE, DICOM, folder=neither, model=model())
    assert not {GROUNDING, "chest_xray_expert"} & set(called(events))
    (told,) = [line for line in answer(events).splitlines() if "Nothing installed here" in line]
    assert "MAIRA-2" in told
    assert "`" not in told
    assert events[-1]["missing"] == ["maira-2"]


@pytest.mark.slow
def test_the_labels_of_a_question_are_passed_to_the_classifier(ask: Ask, models: Path):
    events = ask("Is there an effusion or a mass, and where is it?", DICOM, folder=models)
    assert arguments(events)["chest_xray_classifier"]["labels"] == ["Effusion", "Mass"]
    assert phrases(events) == ["pleural effusion", "mass"]


@pytest.mark.slow
@BOTH
def test_prompt_2_asks_two_models_and_shows_both_answers(
    ask: Ask, models: Path, png: Path, scripted: bool
):
    model = model_for(2, png, scripted=scripted)
    events = ask(seed.PROMPT_2, png, folder=models, model=model)
    assert called(events) == TOOLS[2]
    given, done = arguments(events), finished(events)
    assert given["chest_xray_expert"] == {
        "image_paths": [str(png)],
        "prompt": seed.ABNORMALITIES,
    }
    first = done["chest_xray_expert"]["output"]["response"]
    # The second model remembers nothing: it is given the text that it is asked about.
    question = given["llava_med_qa"]["question"]
    assert question.endswith(f"\n\n{seed.AGREE}")
    assert " ".join(first.split()) in question
    assert given["llava_med_qa"]["image_path"] == str(png)
    second = done["llava_med_qa"]["output"]["answer"]
    assert first
    assert second == "I partly agree: the heart is enlarged."
    if not scripted:
        assert second in answer(events)
        assert " ".join(first.split()) in answer(events)
        assert "comparing them needs a language model" in answer(events)


@BOTH
def test_prompt_3_draws_the_phrase_and_shows_it(
    ask: Ask, locating: Path, png: Path, scripted: bool
):
    model = model_for(3, png, scripted=scripted)
    events = ask(seed.PROMPT_3, png, folder=locating, model=model)
    assert called(events) == TOOLS[3]
    given, done = arguments(events), finished(events)
    assert given["xray_phrase_grounding"] == {
        "image_path": str(png),
        "phrase": seed.PHRASE,
        "max_new_tokens": 300,
    }
    output = done["xray_phrase_grounding"]["output"]
    (prediction,) = output["predictions"]
    (box,) = prediction["bounding_boxes"]["image_coordinates"]
    (found,) = done["xray_phrase_grounding"]["findings"]
    drawn = [found["geometry"][name] for name in ("x0", "y0", "x1", "y1")]
    assert drawn == pytest.approx(box, abs=0.5)
    # The patient's left is on the viewer's right.
    assert 1841 / 2 < drawn[0] < drawn[2] <= 1841
    assert given["image_visualizer"] == {
        "image_path": output["visualization_path"],
        "title": "Grounded Finding",
    }
    if not scripted:
        assert "box on the patient's left, lower third of the film" in answer(events)


@pytest.mark.slow
@BOTH
def test_prompt_4_draws_a_film_that_shows_no_patient_and_looks_at_it(
    ask: Ask, models: Path, scripted: bool
):
    model = model_for(4, Path(), scripted=scripted)
    events = ask(seed.PROMPT_4, folder=models, model=model)
    assert sorted(called(events)) == sorted(TOOLS[4])
    assert called(events)[:2] == TOOLS[4][:2]
    given, done = arguments(events), finished(events)
    assert given["chest_xray_generator"] == seed.DRAWN
    made = done["chest_xray_generator"]["output"]["image_path"]
    for tool in TOOLS[4][1:]:
        assert given[tool]["image_path"] == made
        warnings = " ".join(done[tool]["metadata"].get("warnings", []))
        assert tool == "image_visualizer" or "synthetic image" in warnings
    for tool in TOOLS[4]:
        for item in done[tool]["findings"]:
            assert "Synthetic" in item["description"]
    if not scripted:
        assert "A synthetic image was made; it shows no patient" in answer(events)


@pytest.mark.parametrize(
    ("number", "prompt", "works"),
    [
        (1, seed.PROMPT_1, {"dicom_processor", "chest_xray_segmentation", "image_visualizer"}),
        (2, seed.PROMPT_2, set[str]()),
        (3, seed.PROMPT_3, set[str]()),
        (4, seed.PROMPT_4, set[str]()),
    ],
)
def test_without_models_each_missing_one_is_named_once_and_the_rest_works(
    ask: Ask, png: Path, tmp_path: Path, number: int, prompt: str, works: set[str]
):
    images = {1: [DICOM], 2: [png], 3: [png], 4: list[Path]()}[number]
    program_models = tmp_path / "no-models"
    # A run in which no tool worked did not do what was asked.
    events = ask(prompt, *images, folder=program_models, code=0 if works else 1)
    done = {event["tool"]: event for event in of(events, "tool_finished")}
    assert {tool for tool, event in done.items() if event["status"] == "ok"} == works
    told = answer(events)
    for tool, cards in MODELS.items():
        if tool not in done or tool in works:
            continue
        for name in cards:
            assert told.count(card_of(name).title) == 1, (name, told)
            assert f"models get {name}" in done[tool]["error"]
    assert "`" not in told
    if number == 1:
        labels = {item["label"] for item in done["chest_xray_segmentation"]["findings"]}
        assert labels == set(seed.ORGANS)


def test_a_head_ct_is_refused_and_nobody_can_say_otherwise_here(
    ask: Ask, models: Path, tmp_path: Path
):
    from tests.unit.tools.chest.synthetic import radiograph
    from tests.unit.tools.support import write_dicom

    head = write_dicom(tmp_path / "ct.dcm", radiograph(), Modality="CT", BodyPartExamined="HEAD")
    events = ask("Run chest_xray_classifier.", head, folder=models, code=1)
    (asked,) = of(events, "approval_requested")
    (resolved,) = of(events, "approval_resolved")
    (done,) = of(events, "tool_finished")
    assert asked["about"] == "override"
    assert "This image is CT" in asked["detail"]
    assert resolved["granted"] is False
    assert done["status"] == "failed"
    assert "This image is CT, not a chest radiograph" in answer(events)


def test_llava_med_answers_without_an_image(ask: Ask, models: Path):
    question = 'Run llava_med_qa with: question="What does Kerley B mean?"'
    events = ask(question, folder=models)
    assert arguments(events) == {"llava_med_qa": {"question": "What does Kerley B mean?"}}
    assert finished(events)["llava_med_qa"]["output"]["answer"]


def test_what_a_tool_writes_is_never_run(ask: Ask, models: Path, png: Path, tmp_path: Path):
    """The seed's interface passed tools' texts to `eval`; here they are data to the end."""
    trap = tmp_path / "evaluated"
    code = f"(__import__('pathlib').Path({str(trap)!r}).touch(), {{}})"
    events = ask(f'Run xray_phrase_grounding with: phrase="{code}"', png, folder=models, code=1)
    (done,) = of(events, "tool_finished")
    assert code[:40] in json.dumps(done, ensure_ascii=False) or done["status"] == "failed"
    assert not trap.exists()


def test_a_dicom_file_reaches_a_model_as_pixels_never_as_a_jpeg_that_it_is_not(
    ask: Ask, models: Path, program: Program, monkeypatch: pytest.MonkeyPatch
):
    given: list[bytes] = []
    through = program.host.call

    def seen(entry: str, payload: Any, **more: Any) -> dict[str, Any]:
        given.extend(Path(path).read_bytes() for path in payload.get("paths", ()))
        assert not any(str(value).endswith((".dcm", ".jpg", ".jpeg")) for value in payload.values())
        return through(entry, payload, **more)

    monkeypatch.setattr(program.host, "call", seen)
    events = ask(seed.PROMPT_2, DICOM, folder=models)
    finished(events)
    assert [data[:8] for data in given] == [b"\x89PNG\r\n\x1a\n"]
