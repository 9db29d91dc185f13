from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.agent.context.model_messages import result_message
from app.agent.llm.base import ModelFailed, ModelInfo
from app.agent.llm.endpoint import Bounds, is_loopback
from app.agent.llm.openai_model import OpenAIModel, wire_message
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.messages import Message, ToolCall
from app.agent.sessions import Thread
from app.errors import UsageError
from tests.support import fake_tools
from tests.support.fake_tools import check_promises, collect, request
from tests.support.hang import HANG_S
from tests.support.openai_server import OpenAIServer, call_reply, text_reply


def model_at(server: OpenAIServer, **changes: Any) -> OpenAIModel:
    return OpenAIModel(server.url, "test-model", "test-key", **changes)


async def at_once(_wait_s: float) -> None:
    """Instead of waiting between two attempts."""


def run(model: OpenAIModel, out_dir: Path, **changes: Any) -> list[Any]:
    loop = AgentLoop(model, fake_tools.pack(), system="Be brief.", retry=Retry(sleep=at_once))
    return asyncio.run(collect(loop, request(out_dir, **changes)))


def test_a_run_with_streamed_tool_calls(tmp_path: Path):
    replies = [
        call_reply("cardiothoracic_ratio", {"image_path": "image-1"}),
        text_reply("The ratio is 0.47 [1]."),
    ]
    with OpenAIServer(replies) as server:
        events = run(model_at(server), tmp_path)
    assert events[-1].kind == "run_finished"
    assert events[-1].answer == "The ratio is 0.47 [1]. "
    assert [e.arguments for e in events if e.kind == "tool_started"] == [{"image_path": "image-1"}]
    assert [e.input_tokens for e in events if e.kind == "usage"] == [11, 11]
    first, second = server.requests
    assert first["model"] == "test-model"
    assert first["messages"][0] == {"role": "system", "content": "Be brief."}
    assert first["messages"][-1]["content"] == "question"
    assert {tool["function"]["name"] for tool in first["tools"]} >= {"cardiothoracic_ratio"}
    assistant, result = second["messages"][-2:]
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] == "call_1"
    assert result["content"].startswith("<data>")
    assert server.headers[0]["authorization"] == "Bearer test-key"


def test_several_calls_in_one_answer_also_when_all_have_index_0(tmp_path: Path):
    reply = call_reply("dicom_processor", {"dicom_path": "image-1"}, "a")
    reply["calls"] += [("b", "cardiothoracic_ratio", {"image_path": "image-1"})]
    with OpenAIServer([reply, text_reply("done")]) as server:
        events = run(model_at(server), tmp_path)
    started = [e.tool for e in events if e.kind == "tool_started"]
    assert started == ["dicom_processor", "cardiothoracic_ratio"]


def test_arguments_of_broken_json_go_back_to_the_model(tmp_path: Path):
    replies = [call_reply("cardiothoracic_ratio", '{"image_path": "image'), text_reply("sorry")]
    with OpenAIServer(replies) as server:
        events = run(model_at(server), tmp_path)
    assert events[-1].kind == "run_finished"
    assert "not a JSON object" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("mode", "said", "remedy"),
    [
        ("401", "the key was refused", "Check the key"),
        ("404", 'no model "test-model"', "Check the model's name"),
        ("429", "too many requests", "Ask again in 7 s."),
        ("500", "server failed (HTTP 500)", "ask again"),
        ("400", "refused (HTTP 400): no luck (400)", "Start a new conversation"),
        ("broken_json", "cannot be read", "/v1"),
        ("html", "leads to a web page", "/v1"),
        ("empty", "cannot be read", "/v1"),
        ("cut", "broke in the middle", "Ask again"),
        ("no_finish", "broke in the middle", "Ask again"),
        ("error_event", "reported an error: model crashed", "Ask again"),
        ("redirect", "redirects to another address", "final address"),
    ],
)
def test_each_fault_ends_the_run_with_host_reason_and_remedy(
    tmp_path: Path, mode: str, said: str, remedy: str, caplog: pytest.LogCaptureFixture
):
    with OpenAIServer([text_reply("one two three")], mode) as server:
        events = run(model_at(server), tmp_path)
    last = events[-1]
    assert last.kind == "run_failed"
    assert said in last.error
    assert "127.0.0.1" in last.error
    assert remedy in last.remedy
    assert "Traceback" not in last.error
    assert "test-key" not in last.error + last.remedy + caplog.text


def test_an_endpoint_that_is_down(tmp_path: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        events = run(OpenAIModel(url, "m"), tmp_path)
    assert events[-1].kind == "run_failed"
    assert "cannot be reached" in events[-1].error
    assert "offline planner" in events[-1].remedy


@pytest.mark.parametrize(
    ("mode", "said"),
    [("stall", "in the middle of its answer"), ("silent", "did not answer in time")],
)
def test_a_silent_endpoint_times_out(tmp_path: Path, mode: str, said: str):
    with OpenAIServer([text_reply("one two three")], mode) as server:
        events = run(model_at(server, bounds=Bounds(silence_s=0.2, first_s=0.2)), tmp_path)
    assert events[-1].kind == "run_failed"
    assert said in events[-1].error


@pytest.mark.parametrize("mode", ["stall", "silent"])
def test_cancel_is_quick_while_the_endpoint_is_silent(tmp_path: Path, mode: str):
    asked = request(tmp_path)

    async def main(server: OpenAIServer) -> tuple[list[Any], float]:
        cancelled = asyncio.create_task(asyncio.to_thread(cancel, server))
        loop = AgentLoop(model_at(server), fake_tools.pack())
        events = [event async for event in loop.run(asked)]
        return events, time.monotonic() - await cancelled

    def cancel(server: OpenAIServer) -> float:
        assert server.stalled.wait(60)
        asked.cancel.cancel()
        return time.monotonic()

    with OpenAIServer([text_reply("one two three")], mode) as server:
        events, took_s = asyncio.run(main(server))
    check_promises(events)
    assert events[-1].kind == "run_cancelled"
    assert took_s < HANG_S


def test_a_slow_drip_is_read_to_its_end(tmp_path: Path):
    with OpenAIServer([text_reply("drop by drop, größer")], "slow") as server:
        events = run(model_at(server), tmp_path)
    assert events[-1].kind == "run_finished"
    assert events[-1].answer == "drop by drop, größer "


def test_an_endpoint_on_this_machine_needs_no_consent_and_gets_paths_whole(tmp_path: Path):
    with OpenAIServer([text_reply("fine")]) as server:
        events = run(model_at(server), tmp_path)
    assert "approval_requested" not in [event.kind for event in events]
    sent = server.requests[0]["messages"][1]["content"]
    assert "/studies/DOE_JANE/RG1.dcm" in sent.partition("<data>")[2]


class Disguised(OpenAIModel):
    """The loopback server, taken for a remote one."""

    @property
    def remote_host(self) -> str:
        return "api.example.org"


def test_consent_denied_sends_nothing(tmp_path: Path):
    asked: list[Any] = []

    async def no(event: Any) -> bool:
        asked.append(event)
        return False

    with OpenAIServer() as server:
        model = Disguised(server.url, "m")
        events = run(model, tmp_path, approve=no)
        assert not server.requests
    assert events[-1].kind == "run_failed"
    assert "Nothing was sent" in events[-1].error
    assert "api.example.org" in asked[0].title
    assert "No pixels" in asked[0].detail


def test_consent_is_asked_once_a_thread_and_identifiers_stay_here(tmp_path: Path):
    asked: list[Any] = []

    async def yes(event: Any) -> bool:
        asked.append(event)
        return True

    replies = [
        call_reply("dicom_processor", {"dicom_path": "image-1"}, "a"),
        call_reply("image_visualizer", {"image_path": "result-1.png"}, "b"),
        text_reply("done"),
        text_reply("again"),
        text_reply("other thread"),
    ]
    thread = Thread.in_memory()
    with OpenAIServer(replies) as server:
        loop = AgentLoop(Disguised(server.url, "m"), fake_tools.pack())

        def ask(question: str, where: Thread) -> list[Any]:
            made = request(tmp_path, question, thread=where, approve=yes, identifiers=("DOE^JANE",))
            return asyncio.run(collect(loop, made))

        events = ask("Is Jane Doe well? See /home/doe/a.txt", thread)
        ask("and now?", thread)
        assert len(asked) == 1
        ask("new", Thread.in_memory())
        assert len(asked) == 2
    sent = str(server.requests)
    for secret in (
        "DOE",
        "Jane",
        "JANE",
        "SECRET-ID-77",
        "20240131",
        "/studies",
        "RG1.dcm",
        str(tmp_path),
        "/home",
    ):
        assert secret not in sent, secret
    assert "image_path: image-1" in sent
    # The tool itself gets the real path back.
    shown = [e.arguments for e in events if e.kind == "tool_started"][1]
    assert shown == {"image_path": str(tmp_path / "processed.png")}
    # The thread on this machine keeps everything.
    assert "SECRET-ID-77" in str(thread.history)


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("http://127.0.0.1:1234/v1", ""),
        ("http://127.8.9.1/v1", ""),
        ("http://[::1]:8080/v1", ""),
        ("http://LOCALHOST:11434/v1", ""),
        ("http://[::ffff:127.0.0.1]/v1", ""),
        ("", "api.openai.com"),
        ("https://api.example.org/v1", "api.example.org"),
        ("https://api.example.org:443/v1", "api.example.org"),
        ("https://api.example.org:8443/v1", "api.example.org:8443"),
        ("http://192.168.1.5:8000/v1", "192.168.1.5:8000"),
        ("https://[2001:db8::1]:8000/v1", "[2001:db8::1]:8000"),
        ("http://localhost.example.org/v1", "localhost.example.org:80"),
        ("https://127.0.0.1.example.org/v1", "127.0.0.1.example.org"),
        ("https://127.0.0.1@evil.example/v1", "evil.example"),
        ("https://0.0.0.0/v1", "0.0.0.0"),
        ("https://\u0430pi.openai.com/v1", "xn--pi-6kc.openai.com"),
    ],
)
def test_the_remote_host_is_told_with_its_port(url: str, remote: str):
    assert OpenAIModel(url, "m").remote_host == remote


@pytest.mark.parametrize("url", ["ftp://a/b", "api.example.org/v1", "http://", "http://[::1"])
def test_a_wrong_address_is_a_usage_error(url: str):
    with pytest.raises(UsageError, match="not a web address"):
        OpenAIModel(url, "m")


def test_a_missing_key_never_becomes_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-endpoint")
    with OpenAIServer([text_reply("hi")]) as server:
        run(OpenAIModel(server.url, "m", None), tmp_path)
    assert "sk-of-another-endpoint" not in str(server.headers)


def test_a_proxy_in_the_environment_gets_nothing_meant_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with OpenAIServer() as proxy, OpenAIServer([text_reply("hi")]) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        events = run(model_at(server), tmp_path)
        assert events[-1].kind == "run_finished"
        assert not proxy.requests


def test_a_proxy_in_the_environment_is_used_for_other_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def yes(_event: Any) -> bool:
        return True

    with OpenAIServer(mode="401") as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        model = OpenAIModel("http://api.example.invalid/v1", "m", "test-key")
        events = run(model, tmp_path, approve=yes)
        assert proxy.paths == ["http://api.example.invalid/v1/chat/completions"]
    assert "key was refused" in events[-1].error


def test_a_wrong_tool_name_is_sent_back_in_allowed_characters():
    call = ToolCall(id="1", name="no such/tool", arguments={})
    wire = wire_message(Message(role="assistant", tool_calls=[call]))
    assert wire["tool_calls"][0]["function"]["name"] == "no_such_tool"


def test_is_loopback_of_odd_text():
    assert not is_loopback("")
    assert not is_loopback("127.0.0")
    assert isinstance(ModelFailed("x"), Exception)


# -- a context that is smaller than the settings say ------------------------------------------


TOO_LONG = [
    {"code": "context_length_exceeded", "type": "invalid_request_error", "message":
     "This model's maximum context length is 4096 tokens. However, your messages resulted in "
     "{used} tokens. Please reduce the length of the messages."},
    {"code": 400, "type": "BadRequestError", "message":
     "This model's maximum context length is 4096 tokens. However, you requested {used} tokens "
     "({used} in the messages, 0 in the completion)."},
    {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 1, "n_ctx": 4096,
     "message": "the request exceeds the available context size, try increasing it"},
    {"type": "invalid_request_error", "message":
     "prompt is too long: {used} tokens > 4096 maximum"},
    {"message": "Trying to keep the first {used} tokens when context the overflows. However, the "
     "model is loaded with context length of only 4096 tokens"},
    {"message": "input exceeds the context window of this model"},
]  # fmt: skip


@pytest.mark.parametrize("words", TOO_LONG, ids=lambda words: str(words["message"])[:24])
def test_a_request_that_the_endpoint_finds_too_long_is_made_again_smaller(
    tmp_path: Path, words: dict[str, Any]
):
    def refuse(asked: dict[str, Any]) -> dict[str, Any] | None:
        used = len(json.dumps(asked["messages"])) // 3
        if used <= 4_000:
            return None
        error = {**words, "message": words["message"].replace("{used}", str(used))}
        return error | ({"n_prompt_tokens": used} if "n_ctx" in words else {})

    thread = Thread.in_memory()
    for number in range(8):
        called = ToolCall(id=str(number), name="t", arguments={})
        thread.append(Message(role="user", text=f"question {number}"))
        thread.append(Message(role="assistant", tool_calls=[called]))
        data = {"summary": f"Result {number}.", "output": {"text": "seen in the lung " * 150}}
        thread.append(result_message(str(number), "t", data))
        thread.append(Message(role="assistant", text="It is so."))
    with OpenAIServer(refuse=refuse) as server:
        model = model_at(server, info=ModelInfo(context_tokens=32_768))
        loop = AgentLoop(model, fake_tools.FakeRegistry())
        events = asyncio.run(collect(loop, request(tmp_path, "And now?", thread=thread)))
        assert events[-1].kind == "run_finished"
        assert len(server.requests) in (2, 3)
        assert server.requests[-1]["messages"][-1]["content"] == "And now?"
        told = len(server.requests)
        asyncio.run(collect(loop, request(tmp_path, "More?", thread=thread, run_id="2")))
        assert len(server.requests) == told + 1  # learnt


def test_one_that_stays_too_long_however_small_ends_with_what_the_endpoint_said(tmp_path: Path):
    with OpenAIServer(refuse=lambda _asked: TOO_LONG[0]) as server:
        loop = AgentLoop(model_at(server), fake_tools.FakeRegistry(), system="Be brief. " * 50)
        events = asyncio.run(collect(loop, request(tmp_path, "why " * 50)))
    assert events[-1].kind == "run_failed"
    assert len(server.requests) <= 3


@pytest.mark.parametrize(
    ("url", "encrypted"),
    [("http://10.0.0.7:8000/v1", False), ("https://10.0.0.7/v1", True), ("", True)],
)
def test_it_says_whether_the_way_is_encrypted(url: str, encrypted: bool):
    assert OpenAIModel(url, "m").encrypted is encrypted


def test_a_name_below_localhost_is_another_machine():
    # Many systems ask the network for it, which may answer what it likes.
    assert OpenAIModel("http://a.localhost:1/v1", "m").remote_host == "a.localhost:1"
    assert OpenAIModel("http://LOCALHOST.:1/v1", "m").remote_host == ""


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        # Ollama; FastAPI (vLLM's own checks), a text and a list; OpenAI's form; a proxy's page
        (500, {"error": "model requires more system memory (5.6 GiB)"}, "requires more system"),
        (404, {"error": {"message": "model 'm' not found, try pulling it first"}}, 'model "m"'),
        (503, {"detail": "The engine is starting."}, "The engine is starting."),
        (422, {"detail": [{"msg": "field required", "loc": ["body"]}]}, "field required"),
        (500, {"error": {"message": "out of memory", "code": 500}}, "out of memory"),
        (200, {"error": "the runner has terminated"}, "the runner has terminated"),
        (200, {"error": {"message": "no slot is free"}}, "no slot is free"),
        (502, "<html><body>Bad gateway</body></html>", "failed (HTTP 502) "),
    ],
)
def test_the_servers_own_words_are_in_the_message(
    tmp_path: Path, status: int, body: Any, said: str
):
    data = body if isinstance(body, str) else json.dumps(body)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            kind = "text/html" if isinstance(body, str) else "application/json"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data.encode())

        def log_message(self, *_args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        model = OpenAIModel(url, "m", "test-key-123")
        with pytest.raises(ModelFailed) as raised:
            asyncio.run(_drained(model))
        server.shutdown()
    assert said in f"{raised.value.reason} "
    assert "<html>" not in raised.value.reason


async def _drained(model: OpenAIModel) -> None:
    async for _item in model.stream([Message(role="user", text="hello")], []):
        pass


def test_a_silent_endpoint_is_asked_once_and_for_two_minutes_at_most(tmp_path: Path):
    assert Bounds().first_s <= 120
    with OpenAIServer([text_reply("one")], "silent") as server:
        events = run(model_at(server, bounds=Bounds(first_s=0.2)), tmp_path)
        assert len(server.requests) == 1
    assert events[-1].kind == "run_failed"
    assert not any(event.kind == "model_retry" for event in events)
