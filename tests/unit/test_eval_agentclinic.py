"""`eval agentclinic`: each case ends in a clear state, and no case knows of another."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import Call, ModelEvent, ModelFailed, ModelInfo, Text, Tokens, ToolSchema
from app.agent.messages import Message
from app.cli import main
from app.errors import FileProblem
from app.headless.agentclinic import (
    BIASES,
    RuleMeasurement,
    RuleModerator,
    RulePatient,
    read_scenarios,
    read_verdict,
)
from app.headless.eval_agentclinic import Options, run
from app.headless.eval_runs import MOST_SAID, read_results, spent_text, summary_of, wilson
from app.paths import data_dir
from tests.support.scripted_model import ScriptedModel, call, says

Json = dict[str, Any]
Play = Callable[[str, Sequence[ToolSchema]], Sequence[Any]]
PRICED = ModelInfo(own_tools=False, metered=True, input_price=2.0, output_price=20.0)
STATES = {"correct", "wrong", "declined", "undecided", "no diagnosis", "protocol", "failed"}


class Player:
    """A language model that answers each request by a function of the request's text."""

    def __init__(self, play: Play, remote_host: str = "", info: ModelInfo | None = None) -> None:
        self.name = "player"
        self.remote_host = remote_host
        self.info = info or ModelInfo(own_tools=False, metered=False)
        self.heard: list[str] = []
        self._play = play

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Play."""
        text = "\n".join(message.text for message in messages)
        self.heard.append(text)
        for item in self._play(text, tools):
            await asyncio.sleep(0.001)
            if isinstance(item, BaseException):
                raise item
            yield item


def case(diagnosis: str = "Deep vein thrombosis", **change: Any) -> Json:
    """Return a made scenario in AgentClinic's form."""
    osce: Json = {
        "Objective_for_Doctor": "Assess the patient with pain in the calf.",
        "Patient_Actor": {
            "Demographics": "50-year-old man",
            "History": "My left calf hurts. It began after a long flight. I take no medicines.",
            "Symptoms": {"Primary_Symptom": "Calf pain", "Secondary_Symptoms": ["Warm skin"]},
        },
        "Physical_Examination_Findings": {"Vital_Signs": {"Temperature": "37.2 C"}},
        "Test_Results": {"Blood_Tests": {"D-Dimer": "2,400 ng/mL"}, "Leg_Ultrasound": "Clot"},
        "Correct_Diagnosis": diagnosis,
    }
    return {"OSCE_Examination": osce | change}


def write(folder: Path, *cases: Json, name: str = "made") -> Path:
    """Write scenarios as a file of JSON lines."""
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in cases), "utf-8")
    return path


def options(path: Path, doctor: str = "plain", **change: Any) -> Options:
    """Return the options of a run in which only the doctor is a language model."""
    chosen: Json = {
        "scenarios": str(path),
        "llm": "" if doctor == "offline" else "doctor",
        "doctor": doctor,
        "profile": "uncertainty_aware_doctor",
        "patient_llm": "rules",
        "measurement_llm": "rules",
        "moderator_llm": "rules",
        "turns": 20,
        "doctor_bias": "",
        "patient_bias": "",
    }
    return Options(**(chosen | change))


def examined(path: Path, out: Path, model: Any = None, **change: Any) -> list[Json]:
    """Run the benchmark with a doctor's model; return the rows of the results."""
    more = {name: change.pop(name) for name in ("jobs", "resume", "limit", "ids") if name in change}
    code = run(options(path, **change), out=out, make_model=lambda _: model, **more)
    rows = read_results(out / "results.jsonl")
    assert code == any(row["state"] == "failed" for row in rows)
    return rows


def transcript(out: Path, name: str = "made-0") -> list[tuple[str, str]]:
    """Return what was said in a case, as (role, text)."""
    kept = json.loads((out / "transcripts" / f"{name}.json").read_text("utf-8"))
    return [(item["role"], item["text"]) for item in kept["transcript"]]


def step(action: str, *diseases: str, new: str = "The calf hurts", **more: Any) -> Call:
    """Return a call of `diagnosis_step`."""
    listed = list(diseases or ("thrombosis", "muscle strain"))
    arguments = {"new_information": new, "current_uncertainties": listed}
    return call("diagnosis_step", **arguments, next_step_action=action, **more)


FINAL = call("final_diagnosis", reason_ready="The ultrasound shows a clot.")


def test_a_case_from_start_to_end_with_four_language_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write(tmp_path, case()), tmp_path / "out"
    models = {
        "doctor": ScriptedModel(
            says("Where does it hurt?"),
            says("REQUEST TEST: Chest_X-Ray"),
            says("REQUEST IMAGES"),
            [Text("DIAGNOSIS READY: **DVT of the leg.**\n\nBecause of the clot.")],
        ),
        "patient": ScriptedModel([Text("In my calf."), Tokens(40, 5)], info=PRICED),
        "ward": ScriptedModel(says("RESULTS: not available")),
        "judge": ScriptedModel(says("Maybe."), says("Yes, they are.")),
    }
    chosen = options(path, patient_llm="patient", measurement_llm="ward", moderator_llm="judge")
    assert run(chosen, out=out, make_model=models.__getitem__) == 0
    for model in models.values():
        model.assert_used_up()
    assert transcript(out) == [
        ("doctor", "Where does it hurt?"),
        ("patient", "In my calf."),
        ("doctor", "REQUEST TEST: Chest_X-Ray"),
        ("measurement", "RESULTS: not available"),
        ("doctor", "REQUEST IMAGES"),
        ("measurement", "RESULTS: images are not available"),
        ("doctor", "DIAGNOSIS READY: **DVT of the leg.**\n\nBecause of the clot."),
    ]
    [row] = read_results(out / "results.jsonl")
    assert (row["state"], row["turns"]) == ("correct", 4)
    assert row["diagnosis"] == "DVT of the leg"
    assert row["spent"]["patient"] == {"input_tokens": 40, "output_tokens": 5, "cost": 0.00018}

    def asked(role: str, number: int = -1) -> str:
        return "\n".join(message.text for message in models[role].requests[number])

    assert all(model.schemas == [[]] * len(model.schemas) for model in models.values())
    assert "20 turns are left" in asked("doctor", 0)
    assert "17 turns are left" in asked("doctor")
    assert "In my calf." in asked("doctor")
    assert "long flight" not in asked("doctor"), "what the patient knows is the patient's"
    assert "2,400" not in asked("doctor")
    for role in ("doctor", "patient", "ward"):
        assert "Deep vein thrombosis" not in asked(role), "nobody is told the diagnosis"
    assert "long flight" in asked("patient")
    assert "2,400" not in asked("patient")
    assert "not available" in asked("ward")
    assert "Yes or No only" in asked("judge"), "a moderator who says neither is asked once more"
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["correct"], summary["cases"], summary["states"]) == (1, 1, {"correct": 1})
    assert summary["baseline"] == {"always": "deep vein thrombosis", "correct": 1, "cases": 1}
    printed = capsys.readouterr().out
    assert "1 of 1 right: 100.0%" in printed
    assert "patient (scripted): 40 + 5 tokens, $0.0002" in printed


def test_a_case_from_start_to_end_with_the_profile_s_doctor(tmp_path: Path) -> None:
    path, out = write(tmp_path, case()), tmp_path / "out"
    said = [
        [step("ASK PATIENT: When did it begin?")],
        [step("REQUEST TEST: D-Dimer", new="It began after a long flight")],
        [step("DIAGNOSIS READY", "thrombosis", new="D-dimer is 2,400 ng/mL")],
        [FINAL],
        says("Deep vein thrombosis"),
    ]
    with ScriptedModel(*said) as model:
        [row] = examined(path, out, model, doctor="profile")
    assert (row["state"], row["diagnosis"]) == ("correct", "Deep vein thrombosis")
    assert transcript(out)[0] == ("doctor", "When did it begin?")
    assert transcript(out)[3] == ("measurement", "RESULTS: Blood Tests D-Dimer: 2,400 ng/mL")
    third = model.requests[2][-1].text
    assert "New Info: It began after a long flight" in third, "the notes are what is remembered"
    assert "RESULTS: Blood Tests D-Dimer" in third
    session = json.loads((out / "sessions" / "made-0.json").read_text("utf-8"))
    assert [one["step_number"] for one in session["steps"]] == [1, 2, 3]
    assert session["final_diagnosis"]["diagnosis"] == "Deep vein thrombosis"
    assert not list((data_dir() / "diagnosis_sessions").glob("made-0*")), "kept in one place"
    sent = "\n".join(message.text for request in model.requests for message in request)
    assert session["session_id"] not in sent


APPENDICITIS = {
    "Objective_for_Doctor": "Assess the patient with right lower quadrant pain.",
    "Patient_Actor": {"History": "I have no appetite. The pain migrated to the right lower side."},
    "Physical_Examination_Findings": {
        "Vital_Signs": {"Temperature": "febrile"},
        "Palpation_of_the_abdomen": "rebound tenderness, rigid abdomen",
    },
    "Test_Results": {"CT_of_the_abdomen": "CT shows appendicitis"},
}


def test_the_offline_doctor_asks_by_information_and_names_what_is_sure(tmp_path: Path) -> None:
    path, out = write(tmp_path, case("Acute appendicitis", **APPENDICITIS)), tmp_path / "out"
    [row] = examined(path, out, doctor="offline", llm="")
    said = transcript(out)
    assert (row["state"], row["diagnosis"]) == ("correct", "Acute appendicitis")
    assert row["spent"] == {}
    tests = [text for _, text in said if text.startswith("REQUEST TEST")]
    # CT (ratios 9.29 and 0.10: rates 0.91 and 0.10) tells most of the table's findings; with the
    # migrated pain (3.18) and no appetite (1.27) odds of 1/3 become 12.5, which is 92.6%.
    assert tests == ["REQUEST TEST: CT of the abdomen"]
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert set(summary["roles"].values()) == {"rules"}, "it is said that no model played a role"


@pytest.mark.parametrize(
    ("objective", "why"),
    [
        ("Assess the patient with a blue toenail.", "no table of published ratios"),
        ("Assess the patient with right lower quadrant pain.", "the likeliest is Acute appendic"),
    ],
)
def test_the_offline_doctor_says_when_it_cannot_know(
    tmp_path: Path, objective: str, why: str
) -> None:
    nothing: Json = {"Patient_Actor": {}, "Test_Results": {}, "Physical_Examination_Findings": {}}
    path = write(tmp_path, case("Acute appendicitis", Objective_for_Doctor=objective, **nothing))
    [row] = examined(path, tmp_path / "out", doctor="offline", llm="")
    assert (row["state"], row["diagnosis"]) == ("declined", "")
    assert why in row["reason"]


def fails(reason: str = "the endpoint is gone") -> list[BaseException]:
    return [ModelFailed(reason, subject="doctor")]


ASK = "ASK PATIENT: Does it hurt?"
BARE = says("DIAGNOSIS READY")
BREAKERS: dict[str, tuple[str, Any, str, str]] = {
    # name: doctor, what it says in every turn (or turn by turn), state, reason
    "plain: endless asking": ("plain", says("Does it hurt?"), "no diagnosis", "in 6 turns"),
    "plain: endless tests": ("plain", says("REQUEST TEST: MRI"), "no diagnosis", "in 6 turns"),
    "plain: endless images": ("plain", says("REQUEST IMAGES"), "no diagnosis", "in 6 turns"),
    "plain: bare ready": ("plain", BARE, "protocol", "the disease is missing"),
    "plain: ready with a colon": ("plain", says("DIAGNOSIS READY: "), "protocol", "is missing"),
    "plain: ready, none": ("plain", says("DIAGNOSIS READY: none"), "protocol", "is missing"),
    "plain: ready, unknown": ("plain", says("Diagnosis ready: Unknown."), "protocol", "missing"),
    "plain: ready, stars": ("plain", says("**DIAGNOSIS READY**"), "protocol", "is missing"),
    "plain: nothing": ("plain", [], "failed", ""),
    "plain: blanks": ("plain", [Text(" \n ")], "failed", ""),
    "plain: the endpoint fails": ("plain", fails(), "failed", "the endpoint is gone"),
    "plain: fails in the middle": ("plain", [says("Hm?"), fails("torn")], "failed", "torn"),
    "plain: talks for ever": ("plain", [Text("and " * 99)] * 99, "no diagnosis", "in 6 turns"),
    "plain: a tool that is not there": ("plain", [call("shell", command="ls")], "protocol", ""),
    "plain: the loop's own tool": ("plain", [call("update_plan", steps=[])], "protocol", ""),
    "profile: no call": ("profile", says("Does it hurt?"), "protocol", "no tool was called"),
    "profile: ready as text": ("profile", says("DIAGNOSIS READY: gout"), "protocol", "no tool"),
    "profile: bare ready as text": ("profile", BARE, "protocol", "no tool was called"),
    "profile: two calls, endless": ("profile", [step(ASK), step(ASK)], "no diagnosis", "6 turns"),
    "profile: endless ready": ("profile", [step("DIAGNOSIS READY")], "no diagnosis", "in 6 turns"),
    "profile: endless asking": ("profile", [step(ASK)], "no diagnosis", "in 6 turns"),
    "profile: one disease": ("profile", [step(ASK, "gout")], "protocol", "1 diseases"),
    "profile: five diseases": ("profile", [step(ASK, *"abcde")], "protocol", "5 diseases"),
    "profile: no differential": (
        "profile",
        [call("diagnosis_step", new_information="x", next_step_action=ASK)],
        "protocol",
        "current_uncertainties",
    ),
    "profile: empty differential": ("profile", [step(ASK, " ", " ")], "protocol", "0 diseases"),
    "profile: no such action": ("profile", [step("PONDER")], "protocol", "no next step"),
    "profile: session id as argument": (
        "profile",
        [step(ASK, session_id="made-0_1")],
        "protocol",
        "session_id",
    ),
    "profile: session id in text": (
        "profile",
        [Text("session made-0_1: "), step("ASK PATIENT: Are you in session made-0_1?")],
        "no diagnosis",
        "in 6 turns",
    ),
    "profile: final without a step": ("profile", [FINAL], "protocol", "no step was recorded"),
    "profile: another tool": ("profile", [call("deidentify")], "protocol", "deidentify"),
    "profile: a synthesis without a disease": (
        "profile",
        [[step("DIAGNOSIS READY")], *[[FINAL], says("unknown")] * 3],
        "protocol",
        "named no disease",
    ),
    "profile: the endpoint fails": ("profile", fails(), "failed", "the endpoint is gone"),
    "profile: the synthesis fails": (
        "profile",
        [[step("DIAGNOSIS READY")], *[[FINAL], fails()] * 3],
        "protocol",
        "the endpoint is gone",
    ),
}


@pytest.mark.parametrize("name", BREAKERS)
def test_a_doctor_who_breaks_the_protocol_ends_in_a_clear_state(tmp_path: Path, name: str) -> None:
    kind, said, state, reason = BREAKERS[name]
    turns: list[Any] = list(said) if said and isinstance(said[0], list) else []

    def play(text: str, tools: Sequence[ToolSchema]) -> Sequence[Any]:
        if turns:
            return turns.pop(0)
        fresh = [call(one.call.name, **one.call.arguments) if isinstance(one, Call) else one
                 for one in said]  # fmt: skip
        return fresh if not isinstance(said[0] if said else "", list) else fails("script over")

    out = tmp_path / "out"
    model = Player(play, info=ModelInfo(own_tools=True, metered=False))
    [row] = examined(write(tmp_path, case()), out, model, doctor=kind, turns=6)
    assert (row["state"], row["diagnosis"]) == (state, ""), row["reason"]
    assert reason in row["reason"]
    assert row["reason"]
    assert row["turns"] <= 6
    assert all(len(text) <= MOST_SAID for role, text in transcript(out) if role == "doctor")
    assert (out / "report.html").exists()


def test_there_are_thirty_doctors_who_break_the_protocol() -> None:
    assert len(BREAKERS) >= 30


def test_a_case_that_fails_keeps_what_was_said_and_the_others_go_on(tmp_path: Path) -> None:
    path, out = write(tmp_path, case(), case("Gout")), tmp_path / "out"
    turns = [says("Where?"), fails(), says("DIAGNOSIS READY: Gout")]
    rows = examined(path, out, Player(lambda *_: turns.pop(0)))
    assert [row["state"] for row in rows] == ["failed", "correct"]
    assert transcript(out)[0] == ("doctor", "Where?")


def test_a_break_is_told_and_a_doctor_who_mends_it_goes_on(tmp_path: Path) -> None:
    path, out = write(tmp_path, case()), tmp_path / "out"
    said = [BARE, BARE, says("DIAGNOSIS READY: Deep venous thrombosis")]
    with ScriptedModel(*said) as model:
        [row] = examined(path, out, model)
    assert row["state"] == "correct", "a name that the tables know for the same disease"
    assert "That cannot be used: the disease is missing" in model.requests[2][-1].text


def test_eight_cases_side_by_side_never_mix(tmp_path: Path) -> None:
    words = [f"word{number}x" for number in range(8)]
    cases = [
        case(word, Objective_for_Doctor=f"Find {word}.", Patient_Actor={"History": f"I am {word}."})
        for word in words
    ]
    path, out = write(tmp_path, *cases), tmp_path / "out"

    def play(text: str, tools: Sequence[ToolSchema]) -> Sequence[Any]:
        known = [word for word in words if word in text]
        assert len(known) == 1, f"a request knows of {known}"
        if not tools:  # the synthesis
            return says(known[0])
        steps = text.count("[Step ")
        if steps < 3:
            return [step(f"ASK PATIENT: {known[0]}?", new=f"{known[0]}: fact {steps}")]
        return [FINAL]

    rows = examined(path, out, Player(play), doctor="profile", jobs=8)
    assert len(rows) == 8
    for number, word in enumerate(words):
        name = f"made-{number}"
        [row] = [row for row in rows if row["id"] == name]
        assert (row["state"], row["diagnosis"], row["turns"]) == ("correct", word, 4)
        texts = [
            (out / folder / f"{name}.json").read_text("utf-8")
            for folder in ("transcripts", "sessions")
        ]
        assert all(word in text for text in texts)
        assert not [other for other in words if other != word and any(other in t for t in texts)]
    assert len({row["id"] for row in rows}) == 8


def test_resuming_keeps_what_is_there_and_mends_a_torn_line(tmp_path: Path) -> None:
    cases = [case(f"Disease {number}\u2028") for number in range(5)]
    path, out = write(tmp_path, *cases), tmp_path / "out"
    doctor = Player(lambda *_: says("DIAGNOSIS READY: Disease 3"))
    first = examined(path, out, doctor, limit=3)
    with (out / "results.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"id": "made-3", "state": "corr')
    assert read_results(out / "results.jsonl") == first, "a torn last line is survived"
    with pytest.raises(FileProblem, match="results already"):
        examined(path, out, doctor)
    with pytest.raises(FileProblem, match="other options"):
        examined(path, out, doctor, resume=True, turns=3)
    rows = examined(path, out, doctor, resume=True)
    assert rows[:3] == first
    assert [row["id"] for row in rows] == [f"made-{number}" for number in range(5)]
    assert len(doctor.heard) == 5, "what is done is not asked again"
    assert [row["state"] for row in rows].count("correct") == 1
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["cases"] == 5


def test_what_failed_is_tried_again_on_resuming(tmp_path: Path) -> None:
    path, out = write(tmp_path, case(), case("Gout")), tmp_path / "out"
    turns = [fails(), says("DIAGNOSIS READY: Gout"), says("DIAGNOSIS READY: DVT")]
    doctor = Player(lambda *_: turns.pop(0))
    assert [row["state"] for row in examined(path, out, doctor)] == ["failed", "correct"]
    rows = examined(path, out, doctor, resume=True)
    assert [(row["id"], row["state"]) for row in rows] == [
        ("made-1", "correct"),
        ("made-0", "correct"),
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, getattr(signal, "SIGKILL", signal.SIGTERM)])
def test_a_stop_loses_no_result_that_was_written(tmp_path: Path, stop: signal.Signals) -> None:
    path = write(tmp_path, *[case("Acute appendicitis", **APPENDICITIS)] * 400)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "app", "eval", "agentclinic", "--scenarios", str(path)]
    command += ["--doctor", "offline", "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    results = out / "results.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end and (not results.exists() or results.stat().st_size < 5_000):
        time.sleep(0.01)
    os.kill(process.pid, stop)
    code = process.wait()
    before = read_results(results)
    if stop == signal.SIGINT:
        assert code == 1, "not all cases have ended"
        assert json.loads((out / "summary.json").read_text("utf-8"))["cases"] == len(before)
    assert 0 < len(before) < 400, "the kill came in the middle"
    assert main([*command[3:], "--resume"]) == 0
    rows = read_results(results)
    assert rows[: len(before)] == before
    assert len({row["id"] for row in rows}) == len(rows) == 400


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and where it points."""
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "onload")]


def test_the_page_shows_each_case_and_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u202e"
    patient = {"History": evil}
    cases = [
        case(evil, Objective_for_Doctor=evil, Patient_Actor=patient),
        case("Gout"),
        case(),
    ]
    path, out = write(tmp_path, *cases), tmp_path / "out"
    turns = [
        says(f"What? {evil}"),
        says(f"DIAGNOSIS READY: {evil}"),
        *[says("DIAGNOSIS READY: Gout")] * 2,
    ]
    rows = examined(path, out, Player(lambda *_: turns.pop(0)))
    assert [row["state"] for row in rows] == ["correct", "correct", "wrong"]
    page = (out / "report.html").read_text("utf-8")
    parsed = _Tags()
    parsed.feed(page)
    assert "script" not in parsed.tags
    assert "img" not in parsed.tags
    assert parsed.links == [], "self-contained"
    assert parsed.tags.count("details") == len(cases)
    assert parsed.tags.count("svg") == 2
    assert page.index("Not right: 1") < page.index("made-2: wrong") < page.index("Right: 2")
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page, "no text turns round what stands beside it"
    (out / "report.html").unlink()
    assert main(["eval", "page", str(out)]) == 0
    assert (out / "report.html").read_text("utf-8") == page
    assert str(out / "report.html") in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Yes", True),
        ("yes.", True),
        ("YES, both are gout.", True),
        ("**Yes**", True),
        ("No", False),
        ("no, they are not", False),
        (" \nNo.", False),
        ("", None),
        ("Maybe", None),
        ("Yes and no", None),
        ("Yes, but only partly.", None),
        ("Yes, although they are not of one kind", None),
        ("No, but close", None),
        ("No. Well, yes.", None),
        ("They are the same: yes", None),
        ("Yesterday", None),
        ("None", None),
        ("Nope", None),
        ("Not the same", None),
        ("The answer is no", None),
    ],
)
def test_a_moderator_is_read_strictly(text: str, verdict: bool | None) -> None:
    assert read_verdict(text) is verdict


def test_a_moderator_who_never_says_yes_or_no_leaves_the_case_undecided(tmp_path: Path) -> None:
    models = {
        "doctor": ScriptedModel(says("DIAGNOSIS READY: Gout")),
        "judge": ScriptedModel(says("Hard to say."), says("It depends.")),
    }
    path, out = write(tmp_path, case()), tmp_path / "out"
    assert run(options(path, moderator_llm="judge"), out=out, make_model=models.__getitem__) == 0
    [row] = read_results(out / "results.jsonl")
    assert (row["state"], row["diagnosis"]) == ("undecided", "Gout")
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["states"] == {"undecided": 1}, "shown, and neither right nor wrong"


@pytest.mark.parametrize(
    ("own", "right", "same"),
    [
        ("Gout", "gout", True),
        ("Acute gout", "Gout", True),
        ("Hirschsprung disease", "Hirschsprung\u2019s disease", True),
        ("PML", "Progressive multifocal encephalopathy (PML)", True),
        ("Lateral epicondylitis", "Tennis elbow (lateral epicondylitis)", True),
        ("DVT", "Deep vein thrombosis", True),
        ("Iron deficiency anemia", "Iron-deficiency anaemia", True),
        ("Hypertension", "Pulmonary hypertension", False),
        ("Pulmonary hypertension", "Hypertension", False),
        ("Aplastic anemia", "Anemia", False),
        ("Gout or septic arthritis", "Gout", False),
        ("Not gout", "Gout", False),
        ("Type 1 diabetes", "Type 2 diabetes", False),
        ("Chronic pancreatitis", "Acute pancreatitis", False),
        ("Pancreatitis", "Acute pancreatitis", True),
        ("", "Gout", False),
        ("Disease", "Syndrome", False),
    ],
)  # fmt: skip
def test_rules_call_only_the_same_disease_the_same(own: str, right: str, same: bool) -> None:
    assert asyncio.run(RuleModerator().same(own, right)) is same


@pytest.mark.parametrize(
    ("request_", "result"),
    [
        ("REQUEST TEST: D-dimer", "RESULTS: Blood Tests D-Dimer: 2,400 ng/mL"),
        ("REQUEST TEST: Leg ultrasound", "RESULTS: Leg Ultrasound: Clot"),
        ("REQUEST TEST: Temperature", "RESULTS: Vital Signs Temperature: 37.2 C"),
        ("REQUEST TEST: Chest_X-Ray", "RESULTS: not available"),
        ("REQUEST TEST: Troponin", "RESULTS: not available"),
        ("REQUEST TEST: ", "RESULTS: not available"),
    ],
)
def test_a_test_that_the_scenario_lacks_is_not_available(
    tmp_path: Path, request_: str, result: str
) -> None:
    [scenario] = read_scenarios(write(tmp_path, case()))
    assert asyncio.run(RuleMeasurement(scenario).answer(request_)).text == result


def test_the_patient_of_rules_says_what_shares_words_with_the_question(tmp_path: Path) -> None:
    [scenario] = read_scenarios(write(tmp_path, case()))

    async def talk() -> list[str]:
        patient = RulePatient(scenario)
        asked = ("What brings you here?", "Did you take a long flight?", "Do you smoke cigars?")
        return [(await patient.answer(text)).text for text in asked]

    assert asyncio.run(talk()) == [
        "50-year-old man My left calf hurts. It began after a long flight.",
        "It began after a long flight.",
        "I don't know.",
    ]


@pytest.mark.parametrize(("right", "total"), [(0, 70), (1, 3), (35, 70), (70, 70), (12, 200)])
def test_the_interval_of_an_accuracy_is_wilson_s(right: int, total: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    known = stats.binomtest(right, total).proportion_ci(method="wilson")
    assert wilson(right, total) == pytest.approx((known.low, known.high), abs=1e-9)


def test_a_price_that_is_not_known_is_not_nought() -> None:
    spent = [{"input_tokens": 1_000, "output_tokens": 5, "cost": cost} for cost in (0.25, None)]
    rows = [{"state": "wrong", "spent": {"doctor": one}} for one in spent]
    assert spent_text(summary_of(rows[:1])["spent"]["doctor"]) == "1,000 + 5 tokens, $0.2500"
    assert spent_text(summary_of(rows)["spent"]["doctor"]) == "2,000 + 10 tokens, price unknown"


def test_nothing_is_sent_to_a_host_that_is_not_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, case("Gout"))
    doctor = Player(lambda *_: says("DIAGNOSIS READY: Gout"), remote_host="far.example")
    monkeypatch.delenv("SIGHTLINE_ALLOW_REMOTE", raising=False)
    [row] = examined(path, tmp_path / "a", doctor)
    assert row["state"] == "failed"
    assert doctor.heard == []
    monkeypatch.setenv("SIGHTLINE_ALLOW_REMOTE", "far.example")
    [row] = examined(path, tmp_path / "b", doctor)
    assert row["state"] == "correct"


def test_a_bias_colours_the_role_that_has_it(tmp_path: Path) -> None:
    models = {
        "doctor": ScriptedModel(says("Where?"), says("DIAGNOSIS READY: Gout")),
        "patient": ScriptedModel(says("There.")),
    }
    path = write(tmp_path, case())
    chosen = options(path, patient_llm="patient", doctor_bias="recency", patient_bias="education")
    assert run(chosen, out=tmp_path / "out", make_model=models.__getitem__) == 0
    doctor, patient = (
        "\n".join(message.text for message in models[role].requests[0])
        for role in ("doctor", "patient")
    )
    assert BIASES["recency"] in doctor
    assert BIASES["education"] not in doctor
    assert BIASES["education"] in patient
    assert BIASES["recency"] not in patient


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, case())
    command = ["eval", "agentclinic", "--scenarios", str(path), "--out", str(tmp_path / "out")]
    for none in (["--llm", "offline"], []):  # nor is one in the settings
        assert main([*command, "--doctor", "plain", *none]) == 2
        assert "is no language model" in capsys.readouterr().err
    assert main([*command, "--doctor", "plain", "--llm", "rules"]) == 2, "a doctor by rules"
    assert "no language model 'rules'" in capsys.readouterr().err
    for wrong in (["--limit", "-3"], ["--turns", "-1"], ["--jobs", "two"]):
        assert main([*command, "--doctor", "offline", *wrong]) == 2
        assert "a whole number" in capsys.readouterr().err
    assert not (tmp_path / "out" / "results.jsonl").exists(), "so that it can be tried again"
    assert main([*command, "--doctor", "offline", "--id", "made-9"]) == 2
    assert "made-9" in capsys.readouterr().err
    assert main([*command, "--doctor-bias", "weather"]) == 2
    assert "recency" in capsys.readouterr().err
    assert main([*command, "--doctor", "offline", "--json"]) == 0
    row, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert (row["id"], summary["cases"]) == ("made-0", 1)
    path.write_text('{"OSCE_Examination": {}}\n')
    with pytest.raises(FileProblem, match="line 1 is no scenario"):
        read_scenarios(path)
    path.write_text("\n")
    with pytest.raises(FileProblem, match="there is no scenario"):
        read_scenarios(path)


def _seventy(shared_data: Path) -> Path:
    path = shared_data / "scenarios" / "agentclinic_medqa_first70.jsonl"
    if not path.exists():
        pytest.skip(f"no scenarios at {path}")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["offline", "plain", "profile"])
def test_the_seventy_scenarios_run_to_an_end(tmp_path: Path, shared_data: Path, kind: str) -> None:
    path, out = _seventy(shared_data), tmp_path / "out"

    def play(text: str, tools: Sequence[ToolSchema]) -> Sequence[Any]:
        if kind == "plain":
            ready = text.count("Where does it hurt?") >= 2
            return says(
                "DIAGNOSIS READY: Pancreatic adenocarcinoma" if ready else "Where does it hurt?"
            )
        if not tools:
            return says("Pancreatic adenocarcinoma")
        return [FINAL] if "[Step 2]" in text else [step("ASK PATIENT: Where does it hurt?")]

    rows = examined(path, out, Player(play), doctor=kind, jobs=8)
    assert len(rows) == 70
    assert {row["state"] for row in rows} <= STATES - {"failed", "protocol"}
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["baseline"]["correct"] == 2
    if kind != "offline":  # both say the commonest diagnosis always
        assert summary["correct"] == 2
        assert all(row["turns"] == 3 for row in rows)
