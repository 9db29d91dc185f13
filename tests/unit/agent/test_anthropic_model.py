"""Anthropic's API: its events become ours, our transcript becomes its messages."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import time
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm import anthropic_model
from app.agent.llm.anthropic_model import AnthropicModel, wire_messages
from app.agent.llm.base import (
    Call,
    Claimed,
    ModelFailed,
    ModelInfo,
    Reasoning,
    StatedClaim,
    Text,
    Tokens,
    ToolSchema,
)
from app.agent.llm.endpoint import Bounds, load
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.messages import Message, Picture, ToolCall
from app.errors import UsageError
from tests.support import fake_tools
from tests.support.anthropic_server import AnthropicServer, start, stop, text, thinking, tool_use
from tests.support.fake_tools import check_promises, collect, request
from tests.support.fault_server import FaultServer
from tests.support.hang import HANG_S

KEY = "sk-ant-test"
PNG = b"\x89PNG\r\n\x1a\n" + b"rest"


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    load("anthropic")


def model_at(url: str, **changes: Any) -> AnthropicModel:
    return AnthropicModel("claude-test", KEY, base_url=url, **changes)


def drain(model: AnthropicModel, *messages: Message, tools: Any = ()) -> list[Any]:
    async def main() -> list[Any]:
        asked = messages or (Message(role="user", text="hello"),)
        return [event async for event in model.stream(asked, tools)]

    return asyncio.run(main())


def test_a_run_with_reasoning_two_calls_at_once_and_an_answer(tmp_path: Path):
    first = [
        start(),
        *thinking(0, "First the file, ", "then the ratio."),
        *text(1, "I look."),
        *tool_use(2, "dicom_processor", '{"dicom_path": "image-1"}', "toolu_1"),
        *tool_use(3, "cardiothoracic_ratio", '{"image_path": "image-1"}', "toolu_2"),
        *stop("tool_use"),
    ]
    second = [start(), *text(0, "The ratio ", "is 0.47."), *stop()]
    with AnthropicServer(first, second) as server:
        loop = AgentLoop(model_at(server.url), fake_tools.pack(), system="Be brief.")
        events = asyncio.run(collect(loop, request(tmp_path)))
    check_promises(events)
    assert events[-1].kind == "run_finished"
    assert events[-1].answer == "The ratio is 0.47."
    thought = "".join(e.text for e in events if e.kind == "reasoning_delta")
    assert thought == "First the file, then the ratio."
    started = {e.tool: e.arguments for e in events if e.kind == "tool_started"}
    assert started["dicom_processor"] == {"dicom_path": "image-1"}
    assert started["cardiothoracic_ratio"] == {"image_path": "image-1"}
    usage = [(e.input_tokens, e.output_tokens) for e in events if e.kind == "usage"]
    assert usage == [(25, 9), (25, 9)], "what the cache held was sent as well"
    asked, again = server.requests
    assert asked["system"].startswith("Be brief.")
    assert asked["max_tokens"] == ModelInfo().output_tokens
    names = {tool["name"]: tool for tool in asked["tools"]}
    assert names["dicom_processor"]["input_schema"]["type"] == "object"
    assistant, results = again["messages"][-2:]
    kinds = [block["type"] for block in assistant["content"]]
    assert kinds == ["text", "tool_use", "tool_use"]
    assert results["role"] == "user"
    ids = [block["tool_use_id"] for block in results["content"]]
    assert ids == [block["id"] for block in assistant["content"][1:]] == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize("refuses", ["", "output_config"])
def test_the_statements_of_an_answer_are_asked_for_once_there_are_results(
    refuses: str, monkeypatch: pytest.MonkeyPatch
):
    told = '{"answer": "It is 0.47 [1].", "claims": [{"statement": "The ratio is 0.47", "value": '
    told += '0.47, "unit": "", "side": "", "evidence": "1"}]}'
    hello, answer = [start(), *text(0, "Hi."), *stop()], [start(), *text(0, told[:30], told[30:])]
    asked = Message(role="user", text="hello")
    ratio = ToolCall(id="a", name="measure", arguments={})
    called = Message(role="assistant", tool_calls=[ratio])
    result = Message(role="tool", text="0.47", tool="measure", call_id="a", evidence=1)
    tool = ToolSchema("measure", "Measures.", {"type": "object", "properties": {}})
    with AnthropicServer(hello, answer + stop(), answer + stop(), refuses=refuses) as server:
        monkeypatch.setattr(anthropic_model, "ANTHROPIC_URL", server.url)
        model = model_at(server.url)
        assert drain(model, asked, tools=[tool])[0] == Text("Hi.")
        both = [drain(model, asked, called, result, tools=[tool]) for _ in range(2)]
    claim = StatedClaim("The ratio is 0.47", 0.47, "", "", "1")
    for events in both:
        assert "".join(event.text for event in events if isinstance(event, Text)) == (
            told if refuses and events is both[1] else "It is 0.47 [1]."
        )
        if not refuses:
            assert Claimed((claim,)) in events
    shapes = [bool(sent.get("output_config")) for sent in server.requests]
    # Refused once, it is not asked for again.
    assert shapes == ([False, True, False, False] if refuses else [False, True, True])
    assert all(sent["tools"] for sent in server.requests)
    if refuses:
        assert '"claims"' not in str(server.requests[2:])
    else:
        schema = server.requests[1]["output_config"]["format"]["schema"]
        assert schema["required"] == ["answer", "claims"]
        assert '"claims"' in server.requests[1]["system"]


def test_the_key_goes_into_its_header_and_nothing_of_this_machine_with_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-another")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: radiology")
    with AnthropicServer([start(), *text(0, "hi"), *stop()]) as server:
        drain(model_at(server.url + "/v1"))
    (headers,) = server.headers
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"]
    told = str(headers)
    assert "token-of-another" not in told
    assert "radiology" not in told
    assert "x-stainless" not in told


def test_the_models_that_the_key_may_use():
    with AnthropicServer() as server:
        assert asyncio.run(model_at(server.url).models()) == ["claude-b", "claude-a"]


def test_messages_of_one_role_are_joined_and_blank_ones_left_out(tmp_path: Path):
    png = tmp_path / "a.png"
    png.write_bytes(PNG)
    fake = tmp_path / "b.png"
    fake.write_bytes(b"\0" * 128 + b"DICM")
    pictures = [
        Picture(path=str(png), caption="image-1, lung window"),
        Picture(path=str(fake), caption="image-2"),
    ]
    call = ToolCall(id="call:1", name="no such tool", arguments={"a": 1})
    messages = [
        Message(role="system", text="Be brief."),
        Message(role="user", text="Look.", pictures=pictures),
        Message(role="assistant", text=" ", tool_calls=[call]),
        Message(role="tool", text="no such tool", call_id="call:1", ok=False),
        Message(role="assistant", text=""),
        Message(role="user", text="And now?"),
    ]
    wire = wire_messages(messages, images=True)
    assert [item["role"] for item in wire] == ["user", "assistant", "user"]
    look, caption, picture, missing = wire[0]["content"]
    assert look["text"] == "Look."
    assert caption["text"] == "image-1, lung window"
    assert picture["source"]["media_type"] == "image/png"
    assert base64.b64decode(picture["source"]["data"]) == PNG
    assert missing["text"].startswith("[A picture is not shown")
    (use,) = wire[1]["content"]
    assert (use["id"], use["name"]) == ("call_1", "no_such_tool")
    result, question = wire[2]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("call_1", True)
    assert question["text"] == "And now?"
    unseen = wire_messages(messages, images=False)[0]["content"]
    assert [block["type"] for block in unseen] == ["text"] * 3


def test_an_answer_at_its_length_limit_says_so_and_makes_no_half_call():
    tool = ToolSchema("t", "A tool.", {"type": "object"})
    cut_call = [start(), *tool_use(0, "t", '{"a": 1, "b', "x"), *stop("max_tokens")]
    cut_text = [start(), *text(0, "It is"), *stop("max_tokens")]
    with AnthropicServer(cut_call, cut_text) as server:
        model = model_at(server.url)
        (call, _tokens) = drain(model, tools=[tool])
        said = drain(model)
    assert isinstance(call, Call)
    assert call.call.raw == '{"a": 1, "b'
    assert call.call.arguments == {}
    assert "length limit" in said[1].text


@pytest.mark.parametrize(
    ("error", "said", "retryable"),
    [
        ((401, "authentication_error", f"invalid {KEY}"), "key was refused", False),
        ((404, "not_found_error", "model: x"), 'no model "claude-test"', False),
        ((400, "invalid_request_error", f"bad: {KEY}"), "refused (HTTP 400): bad: [key]", False),
        ((400, "invalid_request_error", "Your credit balance is too low"), "quota", False),
        ((413, "request_too_large", "too large"), "refused (HTTP 413)", False),
        ((429, "rate_limit_error", "slow down"), "too many requests", True),
        ((500, "api_error", "oh"), "failed (HTTP 500)", True),
        ((529, "overloaded_error", "Overloaded"), "failed (HTTP 529)", True),
    ],
)
def test_errors_in_the_same_words_as_other_endpoints(
    error: tuple[int, str, str], said: str, retryable: bool
):
    with AnthropicServer(error=error) as server, pytest.raises(ModelFailed) as caught:
        drain(model_at(server.url))
    assert said in caught.value.reason
    assert caught.value.retryable is retryable
    assert caught.value.remedy
    assert KEY not in caught.value.text
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("kind", "retryable"), [("overloaded_error", True), ("invalid_request_error", False)]
)
def test_an_error_in_the_middle_of_the_stream(kind: str, retryable: bool):
    error = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
    said = pytest.raises(ModelFailed, match="reported an error: Overloaded")
    with AnthropicServer([start(), *text(0, "It"), error]) as server, said as caught:
        drain(model_at(server.url))
    assert caught.value.retryable is retryable


def test_a_stream_without_its_end_is_cut_and_asked_for_again(tmp_path: Path):
    async def at_once(_wait_s: float) -> None:
        return

    half = [start(), *text(0, "half an ")]
    with AnthropicServer(half, [start(), *text(0, "all is well"), *stop()]) as server:
        loop = AgentLoop(model_at(server.url), fake_tools.pack(), retry=Retry(sleep=at_once))
        events = asyncio.run(collect(loop, request(tmp_path)))
    assert [e.withdrawn for e in events if e.kind == "model_retry"] == [True]
    assert events[-1].answer == "all is well"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("reset_in_headers", "broke before the answer began"),
        ("stall_before_headers", "did not answer in time"),
        ("drip_of_bytes", "did not answer in time"),
        ("redirect_loop", "redirects"),
        ("gzip_bomb", "compressed"),
        ("endless_comments", "larger than any"),
        ("endless_line", "larger than any"),
        ("web_page", "web page"),
        ("nothing", "cannot be read"),
    ],
)
def test_faults_of_the_connection_end_in_time(fault: str, said: str):
    bounds = Bounds(
        connect_s=0.5, first_s=0.8, silence_s=0.4, note_s=60, body_bytes=2**20, line_bytes=2**18
    )
    begin = time.monotonic()
    with FaultServer(fault) as server, pytest.raises(ModelFailed, match=said):
        drain(model_at(server.url, bounds=bounds))
    assert time.monotonic() - begin < HANG_S


@pytest.mark.parametrize("fault", ["stall_before_headers", "drip_of_bytes"])
def test_a_cancel_closes_the_connection(fault: str):
    async def main(server: FaultServer) -> float:
        async def read() -> None:
            stream = model_at(server.url).stream([Message(role="user", text="x")], ())
            assert not [event async for event in stream]

        task = asyncio.create_task(read())
        assert await asyncio.to_thread(server.reached.wait, 20)
        begin = time.monotonic()
        task.cancel()
        await asyncio.wait({task})
        assert await asyncio.to_thread(server.gone.wait, 5)
        return time.monotonic() - begin

    with FaultServer(fault) as server:
        assert asyncio.run(main(server)) < 1.0


def test_without_its_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch):
    def found(name: str) -> None:
        assert name == "anthropic"

    monkeypatch.setattr(importlib.util, "find_spec", found)
    with pytest.raises(UsageError, match='package "anthropic"') as caught:
        model_at("")
    assert "sightline[anthropic]" in caught.value.remedy


def test_where_it_runs():
    assert AnthropicModel("m", None).remote_host == "api.anthropic.com"
    assert model_at("http://127.0.0.1:9").remote_host == ""
    assert model_at("http://127.0.0.1:9").name == "claude-test at 127.0.0.1"


def test_text_and_usage_as_they_come():
    with AnthropicServer([start(), *thinking(0, "Hm."), *text(1, "a ", "b"), *stop()]) as server:
        events = drain(model_at(server.url))
    assert events == [Reasoning("Hm."), Text("a "), Text("b"), Tokens(25, 9)]
