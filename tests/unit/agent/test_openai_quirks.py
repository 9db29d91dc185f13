"""One format, many servers: what each really sends becomes the same events."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

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
from app.agent.llm.failures import Endpoint, retry_after
from app.agent.llm.openai_model import OpenAIModel, wire_message
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message, Picture, ToolCall
from app.agent.privacy.consents import Consents
from tests.support.fake_tools import FakeRegistry, collect, request
from tests.support.openai_server import OpenAIServer, call_reply, delta_reply, text_reply

TOOL = ToolSchema("measure", "Measures.", {"type": "object", "properties": {"a": {}}})
OTHER = ToolSchema("show", "Shows.", {"type": "object", "properties": {"b": {}}})
PNG = b"\x89PNG\r\n\x1a\n" + b"rest"


def drain(model: OpenAIModel, *messages: Message, tools: Any = (TOOL, OTHER)) -> list[Any]:
    async def main() -> list[Any]:
        asked = messages or (Message(role="user", text="hello"),)
        return [event async for event in model.stream(asked, tools)]

    return asyncio.run(main())


def answer(*deltas: dict[str, Any], finish: str = "stop", **changes: Any) -> list[Any]:
    with OpenAIServer([delta_reply(*deltas, finish=finish)]) as server:
        return drain(OpenAIModel(server.url, "m", **changes))


def piece(**fields: Any) -> dict[str, Any]:
    """A delta with one piece of a call."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {"tool_calls": [{**fields, "function": function}]}


def calls(events: list[Any]) -> list[tuple[str, str, dict[str, Any]]]:
    found = [event.call for event in events if isinstance(event, Call)]
    return [(call.id, call.name, call.arguments) for call in found]


@pytest.mark.parametrize(
    "deltas",
    [
        [{"reasoning_content": "Hm, "}, {"reasoning_content": "yes."}, {"content": "Done."}],
        [
            {"reasoning": "Hm, yes.", "reasoning_details": [{"text": "Hm, yes."}]},
            {"content": "Done."},
        ],
        [{"thinking": "Hm, yes."}, {"content": "Done."}],
        [
            {"content": "<thi"},
            {"content": "nk>Hm, "},
            {"content": "yes.</th"},
            {"content": "ink>\n\nDone."},
        ],
        [
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm, yes."}]}]},
            {"content": [{"type": "text", "text": "Done."}]},
        ],
    ],
    ids=["deepseek", "openrouter", "thinking", "tags", "mistral"],
)
def test_reasoning_wherever_it_stands(deltas: list[dict[str, Any]]):
    events = answer(*deltas)
    assert "".join(e.text for e in events if isinstance(e, Reasoning)) == "Hm, yes."
    assert "".join(e.text for e in events if isinstance(e, Text)) == "Done."


def test_a_tag_in_the_middle_of_the_text_is_text():
    assert answer({"content": "Use <think> tags."}) == [Text("Use <think> tags.")]
    assert answer({"content": "<thin"}) == [Text("<thin")]


@pytest.mark.parametrize(
    "deltas",
    [
        [
            piece(index=0, id="1", name="measure", arguments=""),
            piece(index=1, id="2", name="show", arguments=""),
            piece(index=0, arguments='{"a": 1}'),
            piece(index=1, arguments='{"b": 2}'),
        ],
        [
            piece(index=0, id="1", name="measure", arguments='{"a": 1}'),
            piece(index=0, id="2", name="show", arguments='{"b": 2}'),
        ],
        [
            piece(index=0, id="1", name="measure", arguments='{"a"'),
            piece(index=0, id="1", name="measure", arguments=": 1}"),
            piece(index=0, id="2", name="show", arguments='{"b": 2}'),
        ],
        [
            piece(id="1", name="measure", arguments='{"a": '),
            piece(arguments="1}"),
            piece(id="2", name="show", arguments='{"b": 2}'),
        ],
        [
            piece(index=0, id="1", name="measure", arguments={"a": 1}),
            piece(index=0, id="2", name="show", arguments={"b": 2}),
        ],
    ],
    ids=["interleaved", "all index 0, whole (Ollama)", "name again", "no index", "objects"],
)
def test_several_calls_however_they_are_cut(deltas: list[dict[str, Any]]):
    found = calls(answer(*deltas, finish="tool_calls"))
    assert found == [("1", "measure", {"a": 1}), ("2", "show", {"b": 2})]


def test_calls_without_ids_and_with_one_index_are_told_apart():
    found = calls(
        answer(
            piece(index=0, name="measure", arguments='{"a": 1}'),
            piece(index=0, name="measure", arguments='{"a": 2}'),
        )
    )
    assert found == [("", "measure", {"a": 1}), ("", "measure", {"a": 2})]


def test_arguments_are_repaired_only_if_the_answer_was_complete():
    broken = piece(index=0, id="1", name="measure", arguments='{"a": [1, 2')
    # Cut inside a number: it may have been 25.
    (call,) = answer(broken)
    assert call.call.raw == '{"a": [1, 2'
    trailing = piece(index=0, id="1", name="measure", arguments='{"a": 1,}')
    assert calls(answer(trailing)) == [("1", "measure", {"a": 1})]
    closers = piece(index=0, id="1", name="measure", arguments='{"a": "x"')
    assert calls(answer(closers)) == [("1", "measure", {"a": "x"})]
    (cut,) = answer(closers, finish="length")
    assert cut.call.raw
    assert cut.call.arguments == {}


def test_a_length_limit_and_a_content_filter_are_said():
    assert "length limit" in answer({"content": "It"}, finish="length")[-1].text
    assert "content filter" in answer({"content": "It"}, finish="content_filter")[-1].text
    assert answer({"refusal": "I cannot."}) == [Text("I cannot.")]


def test_a_call_in_the_text_counts_unless_the_form_is_native():
    said = {"content": 'I measure.\n{"name": "measure", "arguments": {"a": 1}}'}
    assert calls(answer(said, tool_form="auto")) == [("", "measure", {"a": 1})]
    assert calls(answer(said, tool_form="text")) == [("", "measure", {"a": 1})]
    assert calls(answer(said)) == []


def test_a_call_that_the_server_read_and_left_in_the_text_is_made_once():
    events = answer(
        {"content": '<tool_call>{"name": "measure", "arguments": {"a": 1}}</tool_call>'},
        piece(index=0, id="1", name="measure", arguments='{"a": 1}'),
        tool_form="auto",
    )
    assert calls(events) == [("1", "measure", {"a": 1})]


def test_the_schema_form_asks_for_json_and_reads_answer_and_call():
    replies = [
        text_reply('{"tool": "measure", "arguments": {"a": 1}}'),
        text_reply('{"answer": "It is 5."}'),
    ]
    made = ToolCall(id="x", name="measure", arguments={"a": 1})
    earlier = [
        Message(role="system", text="Be brief."),
        Message(role="user", text="Measure."),
        Message(role="assistant", tool_calls=[made]),
        Message(role="tool", text="5", call_id="x", tool="measure"),
    ]
    with OpenAIServer(replies) as server:
        model = OpenAIModel(server.url, "m", tool_form="json_schema")
        assert calls(drain(model)) == [("", "measure", {"a": 1})]
        told = drain(model, *earlier)
    assert "".join(event.text for event in told if isinstance(event, Text)) == "It is 5."
    first, second = server.requests
    assert first["response_format"]["type"] == "json_schema"
    assert "tools" not in first
    assert first["messages"][0]["role"] == "system"
    assert "- measure: Measures." in first["messages"][0]["content"]
    assert second["messages"][0]["content"].startswith("Be brief.\n\n")
    assert [item["role"] for item in second["messages"]] == ["system", "user", "assistant", "user"]
    assert json.loads(second["messages"][2]["content"]) == {
        "tool": "measure",
        "arguments": {"a": 1},
    }


def test_the_text_form_tells_the_tools_and_asks_for_no_format():
    with OpenAIServer() as server:
        drain(OpenAIModel(server.url, "m", tool_form="text"))
    (request,) = server.requests
    assert "tools" not in request
    assert "response_format" not in request
    assert "- show: Shows." in request["messages"][0]["content"]


def test_an_endpoint_that_refuses_to_count_is_asked_without_and_remembered():
    with OpenAIServer(mode="no_counts") as server:
        model = OpenAIModel(server.url, "m")
        drain(model)
        drain(model)
    counted = ["stream_options" in request for request in server.requests]
    assert counted == [True, False, False]


class Away(OpenAIModel):
    """As if the endpoint ran on another machine."""

    @property
    def remote_host(self) -> str:
        return "cloud.example"


class Withdrawn(Consents):
    """The user takes the consent back after it was asked for so often."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    def given(self, thread_id: str, host: str, model: str) -> bool:
        self._left -= 1
        return self._left >= 0


def sent_and_told(folder: Path, consents: Consents) -> tuple[int, int]:
    """Requests that an endpoint that refuses the first one got, and events that tell of one."""
    with OpenAIServer(mode="no_counts") as server:
        loop = AgentLoop(Away(server.url, "m"), FakeRegistry(), consents=consents)
        events = asyncio.run(collect(loop, request(folder, "hello")))
    return len(server.requests), [event.kind for event in events].count("data_sent")


def test_a_request_that_is_sent_once_more_is_told_once_more(tmp_path: Path):
    assert sent_and_told(tmp_path, Withdrawn(after=99)) == (2, 2)


def test_it_is_not_sent_once_more_where_the_consent_was_withdrawn(tmp_path: Path):
    assert sent_and_told(tmp_path, Withdrawn(after=2)) == (1, 1)


def test_of_several_counts_the_last_one_holds():
    with OpenAIServer([text_reply("a")]) as server:
        events = drain(OpenAIModel(server.url, "m"))
    assert [event for event in events if isinstance(event, Tokens)] == [Tokens(11, 3)]


def test_pictures_are_sent_as_png_and_what_is_none_is_said(tmp_path: Path):
    png = tmp_path / "a.png"
    png.write_bytes(PNG)
    dicom = tmp_path / "b.png"
    dicom.write_bytes(b"\0" * 128 + b"DICM")
    gone = str(tmp_path / "gone.png")
    pictures = [
        Picture(path=str(png), caption="image-1, frame 3"),
        Picture(path=str(dicom), caption="image-2"),
        Picture(path=gone, caption="image-3"),
    ]
    message = Message(role="user", text="Look.", pictures=pictures)
    with OpenAIServer() as server:
        drain(OpenAIModel(server.url, "m", info=ModelInfo(images=True)), message)
    look, caption, picture, second, third = server.requests[0]["messages"][0]["content"]
    assert (look["text"], caption["text"]) == ("Look.", "image-1, frame 3")
    head, _, data = picture["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == PNG
    assert "image-2" in second["text"]
    assert third["text"] == "[A picture is not shown, it is not there any more: image-3]"
    assert "DICM" not in json.dumps(server.requests)
    assert base64.b64encode(b"DICM").decode()[:4] not in json.dumps(server.requests)
    unseen = wire_message(message)["content"]
    assert isinstance(unseen, str)
    assert "this model takes no pictures: image-1, frame 3" in unseen


def test_azure_in_its_own_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "token-of-another")
    with OpenAIServer([call_reply("measure", {"a": 1}, "x"), text_reply("hi")]) as server:
        root = server.url.removesuffix("/v1")
        for url in (root, f"{root}/openai/deployments/gpt/chat/completions?api-version=1"):
            drain(OpenAIModel(url, "gpt", "azure-key", api_version="2024-10-21"))
    path = "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert server.paths == [path, path]
    assert [headers["api-key"] for headers in server.headers] == ["azure-key"] * 2
    assert "token-of-another" not in str(server.headers)


@pytest.mark.parametrize("refuses", [False, True])
def test_the_statements_of_an_answer_are_asked_for_once_there_are_results(refuses: bool):
    """Azure and OpenAI take a schema for answers beside tools; models before it refuse it."""
    told = '{"answer": "It is 0.47 [1].", "claims": [{"statement": "The ratio is 0.47", "value": '
    told += '0.47, "unit": "", "side": "", "evidence": "1"}]}'

    def refuse(sent: dict[str, Any]) -> dict[str, Any] | None:
        why = "Invalid parameter: 'response_format' of type 'json_schema' is not supported."
        return {"message": why} if refuses and "response_format" in sent else None

    asked = Message(role="user", text="hello")
    call = ToolCall(id="a", name="measure", arguments={})
    called = Message(role="assistant", tool_calls=[call])
    result = Message(role="tool", text="0.47", tool="measure", call_id="a", evidence=1)
    tool = ToolSchema("measure", "Measures.", {"type": "object", "properties": {}})
    replies = [text_reply("Hi."), text_reply(told), text_reply("It is 0.47.")]
    with OpenAIServer(replies, refuse=refuse) as server:
        root = server.url.removesuffix("/v1")
        model = OpenAIModel(root, "gpt", "key", api_version="2024-10-21")
        assert drain(model, asked, tools=[tool])[0].text.strip() == "Hi."
        events = drain(model, asked, called, result, tools=[tool])
        drain(model, asked, called, result, tools=[tool])
    assert "".join(event.text for event in events if isinstance(event, Text)) == "It is 0.47 [1]."
    assert Claimed((StatedClaim("The ratio is 0.47", 0.47, "", "", "1"),)) in events
    shapes = ["response_format" in sent for sent in server.requests]
    # Refused once, it is not asked for again.
    assert shapes == ([False, True, False, False] if refuses else [False, True, True])
    assert all(sent["tools"] for sent in server.requests)
    assert '"claims"' in server.requests[1]["messages"][0]["content"]
    assert '"claims"' not in str(server.requests[-1]["messages"][0]) or not refuses
    # A server that is neither gets no schema beside its tools.
    with OpenAIServer([text_reply("Fine.")]) as server:
        drain(OpenAIModel(server.url, "m", "key"), asked, called, result, tools=[tool])
    assert "response_format" not in server.requests[0]


def test_what_the_environment_holds_for_another_endpoint_stays_here(
    monkeypatch: pytest.MonkeyPatch,
):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer of-another\nX-A: of-another")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with OpenAIServer() as server:
        drain(OpenAIModel(server.url, "m"))
        drain(OpenAIModel(server.url, "m", "own-key"))
    assert "of-another" not in str(server.headers)
    assert "authorization" not in server.headers[0]
    assert server.headers[1]["authorization"] == "Bearer own-key"
    assert "x-stainless-os" not in server.headers[0]
    assert server.headers[0]["accept-encoding"] == "identity"


def test_the_list_of_models():
    with OpenAIServer(models=["b", "a"]) as server:
        assert asyncio.run(OpenAIModel(server.url, "").models()) == ["b", "a"]
    with OpenAIServer(mode="401") as server, pytest.raises(ModelFailed, match="key was refused"):
        asyncio.run(OpenAIModel(server.url, "").models())


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *((status, False) for status in (402, 403, 413, 418, 422)),
        *((status, True) for status in (408, 409, 425, 429, 500, 502, 503, 599)),
    ],
)
def test_which_refusals_may_get_better(status: int, retryable: bool):
    with OpenAIServer(mode=str(status)) as server, pytest.raises(ModelFailed) as caught:
        drain(OpenAIModel(server.url, "m"))
    assert caught.value.retryable is retryable
    assert caught.value.retry_after_s == (7.0 if status == 429 else None)
    assert len(server.requests) == 1, "only the loop repeats a request"


def test_a_server_whose_model_calls_no_tools_gets_the_advice_for_that():
    with OpenAIServer(mode="no_tools") as server, pytest.raises(ModelFailed) as caught:
        drain(OpenAIModel(server.url, "gemma:2b"))
    found = caught.value
    assert "calls no tools by itself: the model does not support tools" in found.reason
    assert "another form of tool calls" in found.remedy


def test_how_long_an_endpoint_asks_to_wait():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": "7"}) == 7.0
    assert retry_after({"retry-after": "7", "retry-after-ms": "250"}) == 0.25
    waited = retry_after({"retry-after": soon})
    assert waited is not None
    assert 85 < waited <= 90
    assert retry_after({"retry-after": past}) == 0.0
    for odd in ("", "soon", "-1", "nan", "inf", "Thu, 99 Foo 2026 99:99:99 GMT"):
        assert retry_after({"retry-after": odd}) is None


def test_a_key_is_struck_from_the_endpoints_own_words():
    at = Endpoint("h", "m", "sk-1234567890")
    assert at.without_secret("bad key sk-1234567890!") == "bad key [key]!"
    assert Endpoint("h", "m", "k").without_secret("ok") == "ok"
