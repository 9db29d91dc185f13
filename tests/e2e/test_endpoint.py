"""The real process against an OpenAI-compatible endpoint on the loopback interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.imaging.demo import demo_paths
from tests.e2e.conftest import Run
from tests.e2e.test_ask import events_of, of_kind
from tests.support.fault_server import FaultServer
from tests.support.openai_server import OpenAIServer, call_reply, text_reply

pytestmark = pytest.mark.e2e


def use_endpoint(home: Path, url: str) -> None:
    """Choose the endpoint in the profile's settings, as the settings dialog does."""
    (home / "config").mkdir(parents=True)
    llm = {"kind": "openai", "openai": {"base_url": url, "model": "test-model"}}
    (home / "config" / "settings.json").write_text(json.dumps({"llm": llm}))


def test_a_model_calls_a_tool_with_the_images_id_and_answers(sightline: Run, tmp_path: Path):
    replies = [
        call_reply("dicom_processor", {"dicom_path": "image-1"}),
        text_reply("It is a chest radiograph [1]."),
    ]
    with OpenAIServer(replies) as server:
        use_endpoint(tmp_path / "home", server.url)
        done = sightline(
            "ask", "What is this?", "--image", demo_paths()[0], "--json", "--out", tmp_path / "out"
        )
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2
        content = server.requests[1]["messages"][-1]["content"]
        # Marked as data: nothing in a result is an instruction. Its number stands outside.
        data, _, number = content.removeprefix("<data>").partition("</data>")
        assert number == "\nCite this result as [1]."
        told = json.loads(data)
    events = events_of(done.stdout)
    (finished,) = of_kind(events, "tool_finished")
    assert finished["status"] == "ok"
    assert Path(finished["output"]["image_path"]).is_relative_to(tmp_path / "out")
    assert set(told) == {"summary", "output", "metadata"}
    assert events[-1]["answer"].strip() == "It is a chest radiograph [1]."


def test_an_unknown_tool_and_wrong_arguments_go_back_to_the_model(sightline: Run, tmp_path: Path):
    replies = [
        call_reply("chest_xray_segmentatoin", {"image_path": "image-1"}, "a"),
        call_reply("image_visualizer", {"picture": "image-1"}, "b"),
        call_reply("image_visualizer", {"image_path": "/etc/passwd"}, "c"),
        text_reply("I could not."),
    ]
    with OpenAIServer(replies) as server:
        use_endpoint(tmp_path / "home", server.url)
        done = sightline("ask", "Show it", "--image", demo_paths()[0], "--json")
        answered = [request["messages"][-1]["content"] for request in server.requests[1:]]
    assert done.returncode == 1, "no tool worked"
    assert "chest_xray_segmentation" in answered[0], "the near name is offered"
    assert "image_path" in answered[1], "the schema's error is told"
    assert "image-1" in answered[2], "what may be named is told"
    assert "root:" not in done.stdout
    statuses = [event["status"] for event in of_kind(events_of(done.stdout), "tool_finished")]
    assert statuses == ["failed"] * 3


def test_what_broke_half_way_is_asked_for_again_and_printed_once(sightline: Run, tmp_path: Path):
    with FaultServer("reset_in_stream", good_from=3) as server:
        use_endpoint(tmp_path / "home", server.url)
        done = sightline("ask", "Hello", "--json")
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    retries = of_kind(events, "model_retry")
    assert [event["attempt"] for event in retries] == [2, 3]
    assert "broke in the middle" in retries[0]["reason"]
    assert events[-1]["answer"] == "all is well"


# One that is retried and one that is not; all others: tests/unit/agent/test_fault_server.py.
@pytest.mark.parametrize("mode", [pytest.param("cut", marks=pytest.mark.slow), "401"])
def test_a_faulty_endpoint_ends_the_run_with_a_reason_and_a_remedy(
    sightline: Run, tmp_path: Path, mode: str
):
    with OpenAIServer([text_reply("Hello there, this is an answer.")] * 3, mode) as server:
        use_endpoint(tmp_path / "home", server.url)
        done = sightline("ask", "Hello", "--json")
    assert done.returncode == 1
    last = events_of(done.stdout)[-1]
    assert last["kind"] == "run_failed"
    assert "127.0.0.1" in last["error"]
    assert last["remedy"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("by_variable", [False, True])
def test_an_endpoint_is_named_on_the_command_line(
    sightline: Run, monkeypatch: pytest.MonkeyPatch, by_variable: bool
):
    with OpenAIServer([text_reply("Hello.")]) as server:
        if by_variable:
            monkeypatch.setenv("SIGHTLINE_BASE_URL", server.url)
            done = sightline("ask", "Say hello", "--llm", "openai:test-model", "--json")
        else:
            named = ("--llm", "openai:test-model", "--base-url", server.url)
            done = sightline("ask", "Say hello", *named, "--json")
    assert done.returncode == 0, done.stderr
    assert server.requests[0]["model"] == "test-model"
