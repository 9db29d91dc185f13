"""The learned reader of commands to the viewer: what it knows, and what it never does."""

from __future__ import annotations

import re
import time
import tomllib

import pytest

from app.agent.messages import Message
from app.agent.planning import Planner, Reply, Scene, ToolPlan, schema_of
from app.paths import resources_dir
from app.tools.registry import load_packs
from app.tools.viewer import intents, reading
from app.tools.viewer.commands import COMMANDS, TEXTS
from app.tools.viewer.intents import guess
from app.tools.viewer.reading import read
from app.tools.viewer.tools import TOOLS

INTENTS = tomllib.loads((resources_dir() / "words" / "viewer_intents.toml").read_text("utf-8"))
SLOTS = {
    "preset": "lung",
    "c": "40",
    "w": "400",
    "n": "3",
    "z": "-20",
    "name": "heart",
    "text": "kernel",
    "year": "2022",
    "rows": "2",
    "cols": "3",
    "f": "2",
    "fps": "10",
    "which": "effusion",
    "a": "nodule",
    "b": "heart",
}


def test_each_intent_has_a_call_that_its_tool_takes_and_is_one_that_was_learned():
    tools = {tool.spec.name: tool.spec.Input for tool in TOOLS}
    for name, entry in INTENTS.items():
        (call, *_) = reading._call(entry["tool"], entry["arguments"], SLOTS)
        arguments = tools[call.tool].model_validate(call.arguments)
        command = getattr(arguments, "command", "undo")
        assert command in {**COMMANDS, **TEXTS}, name
    assert {*intents._model().intents} == {*INTENTS, intents.NONE}


@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize("name", INTENTS)
def test_what_the_user_is_asked_about_is_understood_as_that(name: str, language: str):
    """“Did you mean ...?” and a yes do what the words say."""
    entry = INTENTS[name]
    slots = {slot: SLOTS[slot] for slot in re.findall(r"{(\w+)}", entry[language])}
    text = entry[language].format_map(slots)
    spoken = read(text)
    assert spoken is not None, text
    (call, *_) = reading._call(entry["tool"], entry["arguments"], slots)
    (said, *_) = spoken.calls
    assert (said.tool, said.arguments.keys()) == (call.tool, call.arguments.keys()), text


@pytest.mark.parametrize(
    ("text", "count", "rest"),
    [
        ("zoom to the heart\ninvert", 2, ""),
        ("1. zoom to the heart\n2. invert\n3. accept the heart", 3, ""),
        ("- Lungenfenster\n- Schicht 12", 2, ""),
        ("go to slice 5\ngo to slice 9", 2, ""),
        ("zoom to the left lung and then lung window, and segment the nodule", 2, "segment"),
        ("zoom to the heart and invert. What is this?", 3, ""),
    ],
)
def test_no_command_of_several_is_dropped(text: str, count: int, rest: str):
    spoken = read(text)
    assert spoken is not None
    assert len(spoken.calls) == count
    assert spoken.rest.startswith(rest)
    assert bool(spoken.rest) is bool(rest)


@pytest.mark.parametrize("text", ["go to slice 12.7", "Schicht 12,7", "slice 12-15", "slice -3"])
def test_an_image_has_a_whole_number(text: str):
    spoken = read(text)
    assert spoken is not None
    assert spoken.calls == ()
    assert "whole number" in spoken.told


@pytest.mark.parametrize(
    "text",
    [
        "I would not accept the effusion before the prior is here",
        "please don't close the study while I am still reading",
        "noch nicht drucken, ich bin noch nicht fertig",
        "kein Knochenfenster bei diesem Patienten",
        "is the heart enlarged?",
        "how do I export a picture?",
        "wie groß ist der Rundherd?",
    ],
)
def test_what_is_denied_or_asked_is_no_command(text: str):
    spoken = read(text)
    assert spoken is None or all(one.arguments["action"] == "describe" for one in spoken.calls)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("a width of 1500 would be better, level -600", {"center": -600, "width": 1500}),
        ("go to image forty-two", {"slice": 42}),
        ("bring the heart up larger", {"to": "heart"}),
        ("zoom to 200 percent", {"percent": 200.0}),
    ],
)
def test_numbers_and_names_are_read(text: str, arguments: dict[str, object]):
    spoken = read(text)
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments == arguments


def test_nothing_is_lost_of_two_commands_or_of_a_command_and_a_question():
    both = read("give me the lungs window and hop to image 42")
    assert both is not None
    assert [call.tool for call in both.calls] == ["viewer_window", "viewer_go_to"]


def test_a_text_that_may_mean_a_command_is_asked_about_and_done_after_a_yes(
    monkeypatch: pytest.MonkeyPatch,
):
    registry = load_packs()
    tools = {tool.spec.name: schema_of(tool) for tool in registry.all()}
    monkeypatch.setattr(reading, "_LIKELY", 1.1)  # sure of nothing
    planner = Planner(registry.plans)
    scene = Scene((), tools, shown={"viewports": []})
    text = "negativ wäre mir lieber hier"
    asked = planner.interpret(text, scene).plan
    assert asked == Reply("Not understood, and not done. Did you mean “Bild invertieren”?")
    german = "Nicht verstanden und nicht getan. Meinten Sie „Bild invertieren“?"
    said = Scene((), scene.tools, (Message(role="assistant", text=german),), shown=scene.shown)
    for yes in ("ja", "Ja, genau", "yes please"):
        done = planner.interpret(yes, said).plan
        assert isinstance(done, ToolPlan)
        assert [step.arguments for step in done.steps] == [{"command": "invert"}]
    written = f"I would look at the lung bases first. {german}"
    by_model = Scene((), tools, (Message(role="assistant", text=written),), shown=scene.shown)
    assert not isinstance(planner.interpret("ja", by_model).plan, ToolPlan)
    for no in ("nein", "ja, aber erst den Herd zeigen", "yes and no"):
        assert not isinstance(planner.interpret(no, said).plan, ToolPlan)


def test_the_model_is_quick():
    guess("x")  # loads it
    text = "könnten Sie mir bitte das rechte Bild etwas heller und die Lunge größer zeigen"
    start = time.perf_counter()
    for _ in range(20):
        guess(text)
    assert (time.perf_counter() - start) / 20 < 0.05
