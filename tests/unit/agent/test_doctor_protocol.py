"""The doctor who says what is uncertain: one call a turn, its text is the answer."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import Noted, RunFinished, ToolFinished
from app.agent.llm.base import ModelInfo, Text
from app.agent.profiles import AgentProfile, load_profile
from app.agent.sessions import Thread
from app.errors import FileProblem, UsageError
from app.tools.diagnosis.protocol import split_differential
from app.tools.diagnosis.session import (
    append_step,
    clear_session,
    get_accumulated_notes,
    load_session,
    session_file,
)
from app.wiring import Program
from tests.support.scripted_model import ScriptedModel, call, says

PROFILE = "uncertainty_aware_doctor"

COSTOCHONDRITIS = [
    (
        "Patient presents with chest pain for 2 hours, sharp quality",
        "MI (acute onset), PE (sharp pain), costochondritis, pleurisy",
        "REQUEST TEST: Vital Signs",
        "REQUEST TEST: Vital Signs",
    ),
    (
        "BP 120/80, HR 78, RR 16, SpO2 98%, temp 37.0°C - all normal",
        "costochondritis (likely - stable vitals), muscle strain, anxiety",
        "REQUEST TEST: Chest examination",
        "REQUEST TEST: Chest examination",
    ),
    (
        "Pain reproducible on palpation of left chest wall at 4th rib",
        "costochondritis (most likely - reproducible pain), muscle strain",
        "ASK PATIENT: Any recent trauma, heavy lifting, or new exercise?",
        "Any recent trauma, heavy lifting, or new exercise?",
    ),
    (
        "Patient started weight training 3 days ago, first time in years",
        "costochondritis (trauma + reproducible pain confirms)",
        "DIAGNOSIS READY",
        "I'm ready to provide a diagnosis. Let me finalize my assessment.",
    ),
]
"""The seed's example: what the doctor calls, and what is said."""


def turn(
    program: Program, model: ScriptedModel, session_id: str, agent: AgentProfile | None = None
) -> tuple[str, list[Any]]:
    """Make one turn of the doctor in a conversation of its own; return what is said, and events."""
    import asyncio

    from app.agent.request import Decision

    async def approve(event: object) -> Decision:
        raise AssertionError("nothing has to be approved")

    thread = Thread(session_id)
    request = program.request(
        "The patient says: it hurts.", [], thread=thread, approve=approve, out_dir=Path.cwd()
    )

    async def run() -> list[Any]:
        loop = program.loop(model, agent or load_profile(PROFILE))
        return [event async for event in loop.run(request)]

    events = asyncio.run(run())
    finished = events[-1]
    assert isinstance(finished, RunFinished), finished
    return finished.answer, events


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    monkeypatch.chdir(tmp_path)
    made = Program()
    yield made
    made.close()


def test_the_seed_s_five_steps(program: Program) -> None:
    session_id = "scenario_12345_1706123456"
    clear_session(session_id)
    for new, uncertain, action, said in COSTOCHONDRITIS:
        step = call(
            "diagnosis_step",
            new_information=new,
            current_uncertainties=uncertain,
            next_step_action=action,
        )
        with ScriptedModel([step]) as model:
            assert turn(program, model, session_id)[0] == said
        sent = json.dumps([message.model_dump(mode="json") for message in model.requests[0]])
        assert session_id not in sent  # the session is not the model's business
        assert [schema.name for schema in model.schemas[0]] == ["diagnosis_step", "final_diagnosis"]
    final = call("final_diagnosis", reason_ready="All serious causes ruled out.")
    with ScriptedModel([final], says("Costochondritis.")) as model:
        answer, _ = turn(program, model, session_id)
    assert answer == "DIAGNOSIS READY: Costochondritis"
    # The synthesis is a fresh request: facts and differential, no conversation, no tools.
    asked = model.requests[1]
    assert model.schemas[1] == []
    prompt = asked[-1].text
    assert all(new in prompt for new, *_ in COSTOCHONDRITIS)
    assert "costochondritis (trauma + reproducible pain confirms)" in prompt
    assert "The patient says" not in prompt

    data = json.loads(session_file(session_id).read_text("utf-8"))
    assert data["session_id"] == session_id
    assert [step["step_number"] for step in data["steps"]] == [1, 2, 3, 4]
    assert data["steps"][0]["current_uncertainties"] == [
        "MI (acute onset)",
        "PE (sharp pain)",
        "costochondritis",
        "pleurisy",
    ]
    assert data["accumulated_notes"].startswith(
        "[Step 1]\nNew Info: Patient presents with chest pain for 2 hours, sharp quality\n"
        "Differential: MI (acute onset), PE (sharp pain), costochondritis, pleurisy\n"
    )
    assert "\n\n[Step 2]\n" in data["accumulated_notes"]
    left = ["costochondritis (trauma + reproducible pain confirms)"]
    assert data["current_uncertainties"] == left
    assert data["final_diagnosis"]["diagnosis"] == "Costochondritis"
    assert data["final_diagnosis"]["synthesis_prompt"] == prompt


def step_call(**change: Any) -> Any:
    arguments = {
        "new_information": "Fever for two days",
        "current_uncertainties": ["flu", "cold"],
        "next_step_action": "ASK PATIENT: Do you cough?",
    }
    return call("diagnosis_step", **(arguments | change))


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ([[step_call(), step_call()]], "Do you cough?"),
        ([[Text("I think so. "), step_call()]], "Do you cough?"),
        ([[step_call(next_step_action="ask patient:  Do you cough?  ")]], "Do you cough?"),
        ([[step_call(next_step_action="REQUEST IMAGES")]], "REQUEST IMAGES"),
        ([[step_call(next_step_action="REQUEST TEST: Chest_X-Ray")]], "REQUEST TEST: Chest_X-Ray"),
        ([[step_call(current_uncertainties="pneumonia, flu")]], "Do you cough?"),
        ([[step_call(current_uncertainties="1. flu\n2. cold")]], "Do you cough?"),
        ([[step_call(current_uncertainties=["flu"])]], "1 diseases"),
        ([[step_call(current_uncertainties=["flu", "Flu"])]], "1 diseases"),
        ([[step_call(current_uncertainties=["unknown", "none"])]], "0 diseases"),
        ([[step_call(current_uncertainties=[])]], "0 diseases"),
        ([[step_call(current_uncertainties="a, b, c, d, e")]], "5 diseases"),
        ([[step_call(next_step_action="Let me think")]], "no next step"),
        ([[step_call(next_step_action="ASK PATIENT:")]], "ASK PATIENT without a text"),
        ([[step_call(next_step_action="REQUEST TEST: ")]], "REQUEST TEST without a text"),
        ([[step_call(session_id="scenario_1")]], "session_id"),
        ([[step_call(new_information="")]], "new_information"),
        ([[call("final_diagnosis", reason_ready="sure")]], "no step was recorded"),
        ([says("DIAGNOSIS READY")], "DIAGNOSIS READY"),
        ([[step_call(next_step_action="**ASK PATIENT:** Do you cough?")]], "Do you cough?"),
        ([[step_call(next_step_action='"ASK PATIENT: Do you cough?"')]], "Do you cough?"),
        ([[step_call(next_step_action="ASK PATIENT: Pain?\nREQUEST TEST: CRP")]], "two steps"),
        ([[step_call(next_step_action="ASK PATIENT: ...")]], "ASK PATIENT without a text"),
        ([[step_call(new_information="  ")]], "new_information is empty"),
        ([[step_call(new_information=None)]], "new_information"),
        ([[step_call(new_information="x" * 25_000)]], "at most 20000 characters"),
        ([[step_call(current_uncertainties=["flu", "x" * 60_000])]], "at most 1000 characters"),
        ([[step_call(current_uncertainties={"flu": 0.4, "cold": 0.6})]], "current_uncertainties"),
        ([[call("prescribe_drug", drug="x")]], "No such tool"),
        ([[call("diagnosis_step")]], "new_information is missing"),
        ([[call("final_diagnosis", reason_ready="x"), step_call()]], "no step was recorded"),
    ],
)
def test_turns_that_break_the_protocol_end_in_a_clear_state(
    program: Program, turns: Sequence[Any], said: str
) -> None:
    session_id = f"broken_{abs(hash(said)) % 1000}_{os.getpid()}"
    clear_session(session_id)
    with ScriptedModel(*turns) as model:
        answer, events = turn(program, model, session_id)
    assert said in answer
    calls = [event for event in events if isinstance(event, ToolFinished)]
    assert len(calls) <= 1
    if len(turns[0]) == 2 and not isinstance(turns[0][0], Text):
        assert [event.text for event in events if isinstance(event, Noted)] == [
            "Only the first of 2 calls was made: this agent makes one a turn."
        ]
    steps = load_session(session_id).steps
    assert len(steps) == sum(event.status == "ok" for event in calls)


def test_a_profile_offers_its_tools_and_none_of_the_loop(program: Program) -> None:
    info = ModelInfo(own_tools=True, metered=False)  # as every real model says of itself
    with ScriptedModel([step_call()], info=info) as model:
        turn(program, model, "own_tools")
    assert [schema.name for schema in model.schemas[0]] == ["diagnosis_step", "final_diagnosis"]
    assert "update_plan" not in model.requests[0][0].text
    alone = AgentProfile(prompt="Be brief.", tools=(), max_turns=1)
    with ScriptedModel([call("update_plan", steps=[])], info=info) as model:
        answer, _ = turn(program, model, "own_tools", alone)
    assert model.schemas == [[]]
    assert "update_plan" in answer


@pytest.mark.parametrize(
    "said",
    [
        *("DIAGNOSIS READY", "Diagnosis: ", "unknown", "**Ready.**"),
        *("I don't know.", "No diagnosis", "Undetermined"),
    ],
)
def test_a_synthesis_that_names_no_disease_is_not_accepted(program: Program, said: str) -> None:
    session_id = "nothing_named"
    clear_session(session_id)
    append_step(session_id, "Fever", ["flu", "cold"], "DIAGNOSIS READY")
    with ScriptedModel([call("final_diagnosis", reason_ready="sure")], says(said)) as model:
        answer, events = turn(program, model, session_id)
    assert "named no disease" in answer
    assert [event.status for event in events if isinstance(event, ToolFinished)] == ["failed"]
    assert load_session(session_id).final_diagnosis is None


def test_a_step_takes_back_the_final_diagnosis_before_it(program: Program) -> None:
    session_id = "reopened"
    clear_session(session_id)
    append_step(session_id, "Fever", ["flu", "cold"], "DIAGNOSIS READY")
    with ScriptedModel([call("final_diagnosis", reason_ready="sure")], says("Flu")) as model:
        turn(program, model, session_id)
    assert load_session(session_id).final_diagnosis is not None
    with ScriptedModel([step_call(new_information="Koplik spots")]) as model:
        turn(program, model, session_id)
    assert load_session(session_id).final_diagnosis is None
    with ScriptedModel([call("final_diagnosis", reason_ready="sure")], says("Measles")) as model:
        turn(program, model, session_id)
    final = load_session(session_id).final_diagnosis
    assert final is not None
    assert (final.diagnosis, "Koplik spots" in final.synthesis_prompt) == ("Measles", True)


def test_two_roles_can_have_two_models(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = "two_roles"
    clear_session(session_id)
    append_step(session_id, "Fever", ["flu", "cold"], "DIAGNOSIS READY")
    writer = ScriptedModel(says("Influenza"))
    writer.name = "writer"
    monkeypatch.setattr(program, "language_model", lambda name: {"writer": writer}[name])
    agent = load_profile(PROFILE).model_copy(update={"synthesis_model": "writer"})
    with ScriptedModel([call("final_diagnosis", reason_ready="sure")]) as model, writer:
        answer, _ = turn(program, model, session_id, agent)
    assert answer == "DIAGNOSIS READY: Influenza"
    final = load_session(session_id).final_diagnosis
    assert final is not None
    assert final.model == "writer"


def test_sessions_side_by_side_do_not_mix() -> None:
    def work(number: int) -> None:
        session_id = f"side_{number}"
        clear_session(session_id)
        for step in range(20):
            append_step(session_id, f"{number}: fact {step}", [f"d{number}", "x"], "REQUEST IMAGES")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for number in range(8):
        session = load_session(f"side_{number}")
        assert [step.step_number for step in session.steps] == list(range(1, 21))
        assert all(step.new_information.startswith(f"{number}: ") for step in session.steps)
        assert f"{number}: fact 19" in get_accumulated_notes(f"side_{number}")


def _write_steps(home: str) -> None:
    os.environ["SIGHTLINE_HOME"] = home
    number = 0
    while True:
        number += 1
        append_step("killed", f"fact {number} " + "x" * 20_000, ["a", "b"], "REQUEST IMAGES")


def test_a_kill_at_any_write_leaves_a_readable_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    clear_session("killed")
    most = 0
    for wait_ms in (5, 17):
        process = multiprocessing.get_context("spawn").Process(
            target=_write_steps, args=(str(tmp_path),), daemon=True
        )
        process.start()
        begun = time.monotonic()
        before = len(load_session("killed").steps)
        while len(load_session("killed").steps) == before and time.monotonic() < begun + 20:
            time.sleep(0.002)
        time.sleep(wait_ms / 1000)
        os.kill(process.pid or 0, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        process.join()
        steps = load_session("killed").steps
        assert [step.step_number for step in steps] == list(range(1, len(steps) + 1))
        assert len(steps) > most
        most = len(steps)


def test_a_file_that_is_no_session_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    session_file("odd").parent.mkdir(parents=True)
    session_file("odd").write_text('{"steps": 3}')
    with pytest.raises(FileProblem, match="not the file of a diagnosis session"):
        load_session("odd")
    for name in ("../x", "", ".x", "a/b"):
        with pytest.raises(ValueError, match="not the id"):
            session_file(name)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("MI, PE", ["MI", "PE"]),
        ("MI (acute, chest), PE; strain", ["MI (acute, chest)", "PE", "strain"]),
        ("1. MI\n2) PE\n- strain", ["MI", "PE", "strain"]),
        ("", []),
        (" , ,", []),
    ],
)
def test_a_differential_in_words_is_split(text: str, parts: list[str]) -> None:
    assert split_differential(text) == parts


def test_profiles_are_files(tmp_path: Path) -> None:
    shipped = load_profile(PROFILE)
    assert shipped.max_turns == 1
    assert shipped.tools == ("diagnosis_step", "final_diagnosis")
    assert shipped.terminal_tools == ("final_diagnosis",)
    own = tmp_path / "mine.toml"
    own.write_text('prompt = "Be brief."\ntools = ["diagnosis_step"]\nmodel = "offline"\n')
    assert load_profile(str(own)).tools == ("diagnosis_step",)
    own.write_text('prompt = "Be brief."\ntempo = 3\n')
    with pytest.raises(FileProblem, match="tempo"):
        load_profile(str(own))
    with pytest.raises(UsageError, match=PROFILE):
        load_profile("nobody")


def test_the_command_sessions_shows_the_steps(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    from app.headless.sessions import show

    thread = program.sessions.new_thread()
    append_step(thread.thread_id, "Fever", ["flu", "cold"], "ASK PATIENT: Do you cough?")
    thread.close()
    assert show(thread.thread_id, as_json=False) == 0
    assert "[Step 1]\nNew Info: Fever\nDifferential: flu, cold" in capsys.readouterr().out
