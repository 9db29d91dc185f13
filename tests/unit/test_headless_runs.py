"""`ask` without a window: what is printed where, and that nothing acts unasked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.agent.events import ModelRetry, Noted, TextDelta, ToolFinished
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import MEND
from app.cli import main
from app.errors import SightlineError, UsageError
from app.headless.runs import _print_for_people, allowed_tools, approver, ask, run_tool
from app.imaging.demo import demo_paths
from app.tools.api import Approval
from tests.support.fake_tools import FakeRegistry, FakeTool, Strict, collect, ok, request
from tests.support.scripted_model import ScriptedModel, call, says

pytestmark = pytest.mark.usefixtures("forked")

FIELDS: dict[str, Any] = {"run_id": "r", "seq": 0, "time": ""}


def test_the_answer_goes_to_stdout_and_what_led_to_it_to_stderr(
    capsys: pytest.CaptureFixture[str],
):
    events = (
        Noted(text="The model is being loaded.", **FIELDS),
        TextDelta(text="Half an ans", **FIELDS),
        ModelRetry(
            attempt=2, attempts=3, wait_s=1.5, reason="it broke\x1b[2J", withdrawn=True, **FIELDS
        ),
        TextDelta(text="The\tanswer\x1b[2J.", **FIELDS),
    )
    streaming = False
    for event in events:
        streaming = _print_for_people(event, streaming)
    printed = capsys.readouterr()
    assert printed.out.startswith("Half an ans\n[What the model wrote last does not count")
    assert printed.out.endswith("The answer\\x1b[2J.")
    assert "The model is being loaded." in printed.err
    assert "it broke\\x1b[2J: asked again in 1.5 s" in printed.err, "nothing steers the terminal"


def test_what_a_model_is_told_of_arguments_is_not_told_to_people(
    capsys: pytest.CaptureFixture[str],
):
    failed = ToolFinished(
        call_id="1",
        tool="count",
        status="failed",
        summary="",
        error=f"There is no channel 7. Name one of two. {MEND} It takes: channel (integer).",
        duration_s=1.0,
        **FIELDS,
    )
    _print_for_people(failed, False)
    assert capsys.readouterr().err.rstrip().endswith("There is no channel 7. Name one of two.")


def test_settings_that_were_not_understood_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.json").write_text(json.dumps({"limits": {"steps": -1}}))
    assert ask("What can you do?") == 0
    printed = capsys.readouterr()
    assert printed.out.strip(), "the offline planner says what it can do"
    assert 'settings: "steps" had an unusable value' in printed.err


@pytest.mark.parametrize("effect", [Approval.WRITE, Approval.SEND, Approval.EXECUTE])
def test_what_acts_is_not_run_and_the_model_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: Approval
):
    monkeypatch.setenv("SIGHTLINE_ALLOW_REMOTE", "api.example.org")
    tool = FakeTool("act", Strict, ok(), approval=effect)
    with ScriptedModel([call("act")], says("Then not."), remote_host="api.example.org") as model:
        run = request(tmp_path, approve=approver(model))
        events = asyncio.run(collect(AgentLoop(model, FakeRegistry(tool)), run))
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.status == "failed"
    assert tool.calls == []
    assert "Nobody can be asked here" in model.requests[1][-1].text
    assert events[-1].kind == "run_finished"


@pytest.mark.parametrize("effect", [Approval.WRITE, Approval.SEND, Approval.EXECUTE])
def test_what_acts_runs_if_it_is_allowed_by_effect_and_name(
    tmp_path: Path, effect: Approval, capsys: pytest.CaptureFixture[str]
):
    tool = FakeTool("act", Strict, ok(), approval=effect)
    other = FakeTool("act_too", Strict, ok(), approval=effect)
    registry = FakeRegistry(tool, other)
    allowed = allowed_tools(registry, [f"{effect}:act"])
    with ScriptedModel([call("act")], [call("act_too")], says("Done.")) as model:
        run = request(tmp_path, approve=approver(model, allowed))
        events = asyncio.run(collect(AgentLoop(model, registry), run))
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert [event.status for event in finished] == ["ok", "failed"]
    assert (len(tool.calls), len(other.calls)) == (1, 0)
    printed = capsys.readouterr().err
    assert "Allow act? Allowed by --allow." in printed
    assert f"--allow {effect}:act_too allows it by name" in printed


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("send:nothing", "there is no tool 'nothing'"),
        ("execute:act", "the effect of act is not 'execute'. Write send:act if you mean it"),
        ("act", "there is no tool ''"),
    ],
)
def test_a_tool_is_allowed_with_its_own_effect_only(name: str, told: str):
    registry = FakeRegistry(FakeTool("act", Strict, ok(), approval=Approval.SEND))
    with pytest.raises(UsageError) as raised:
        allowed_tools(registry, [name])
    assert told in raised.value.text


def test_a_wrong_name_ends_the_command_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    assert main(["ask", "What can you do?", "--allow", "send:nothing"]) == 2
    assert "there is no tool 'nothing'" in capsys.readouterr().err


def test_what_the_policy_refuses_is_not_run_by_hand_either(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    (tmp_path / "policy.json").write_text('{"tools": {"image_visualizer": "deny"}}')
    monkeypatch.setenv("SIGHTLINE_POLICY", str(tmp_path / "policy.json"))
    picture = tmp_path / "a.png"
    Image.new("L", (8, 8)).save(picture)
    with pytest.raises(SightlineError, match="does not allow image_visualizer"):
        run_tool("image_visualizer", {}, (picture,), tmp_path / "out", as_json=False)
    planted = {"dicom_path": "/etc/passwd"}
    with pytest.raises(UsageError, match="dicom_path names neither an open image"):
        run_tool("dicom_processor", planted, (picture,), tmp_path / "out", as_json=False)


TWO_STEPS = """Run tools in this order:
1) dicom_processor on the uploaded DICOM path
2) image_visualizer on the converted PNG
Then summarize all outputs."""


def results(printed: str) -> dict[str, str]:
    events = [json.loads(line) for line in printed.splitlines()]
    return {e["tool"]: e["status"] for e in events if e["kind"] == "tool_finished"}


def test_a_relative_out_folder_serves_a_chain_of_tools(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert ask(TWO_STEPS, demo_paths()[:1], "offline", out=Path("results"), as_json=True) == 0
    printed = capsys.readouterr().out
    assert results(printed) == {"dicom_processor": "ok", "image_visualizer": "ok"}
    assert list((tmp_path / "results").glob("*.png"))


def test_a_session_goes_on_with_what_it_said_and_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The seed's stable thread_id, on the command line."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))

    def asked(prompt: str, *options: str) -> list[dict[str, Any]]:
        assert main(["ask", prompt, "--llm", "offline", "--json", *options]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    film = ("--image", str(demo_paths()[0]))
    first = asked("Convert the DICOM to PNG", *film)
    thread = first[0]["thread_id"]
    (made,) = [event["output"]["image_path"] for event in first if event["kind"] == "tool_finished"]
    asked(f'Run image_visualizer with image_path="{made}".', "--session", thread, *film)
    last = asked("Summarize.", "--session", thread)
    assert last[0]["thread_id"] == thread
    assert not [event for event in last if event["kind"] == "tool_started"]
    assert "earlier in this conversation" in last[-1]["answer"]
    (kept,) = (tmp_path / "home").rglob("thread.jsonl")
    assert kept.parent.name == thread
    assert main(["ask", "Why?", "--llm", "offline", "--session", "none"]) == 1
    assert "no such conversation" in capsys.readouterr().err
    assert main(["ask", "Why?", "--plan-only", "--session", thread]) == 2


def test_a_run_in_which_no_tool_worked_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    (tmp_path / "policy.json").write_text('{"tools": {"dicom_processor": "deny"}}')
    monkeypatch.setenv("SIGHTLINE_POLICY", str(tmp_path / "policy.json"))
    assert ask("Convert the DICOM to PNG", demo_paths()[:1], "offline", as_json=True) == 1
    assert results(capsys.readouterr().out) == {"dicom_processor": "failed"}


def test_a_german_question_is_answered_in_german_also_where_nothing_could_be_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    ask("Merke dir, dass ich kurze Antworten mag", [], "offline")
    printed = capsys.readouterr()
    allowed = "Hier kann niemand gefragt werden. --allow write:remember_note erlaubt es mit Namen"
    assert allowed in printed.out
    assert (
        f"Ziel nicht erreicht: remember_note: remember_note ist nicht erlaubt: {allowed}"
        in printed.err
    )


def test_what_lies_in_the_out_folder_already_is_no_file_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    out = tmp_path / "results"
    (out / "other").mkdir(parents=True)
    film = Image.new("L", (8, 8))
    film.save(tmp_path / "a.png")
    for other in (out / "other.png", out / "other" / "b.png"):
        film.save(other)
        for name in (str(other), str(other.relative_to(out))):
            given = {"image_path": name}
            with pytest.raises(UsageError, match="names neither an open image nor a file"):
                run_tool("image_visualizer", given, (tmp_path / "a.png",), out, as_json=False)
