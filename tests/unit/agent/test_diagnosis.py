"""Test connection: each thing that can be wrong is named, with what to do as the last line."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from app.agent.llm import transport
from app.agent.llm.endpoint import load
from app.agent.llm.openai_model import OpenAIModel
from app.agent.llm.probe import Report, examine
from app.agent.llm.providers import ModelChoice, build
from app.errors import SightlineError
from app.settings import Kind, ProviderSettings
from tests.support.anthropic_server import AnthropicServer, start, stop, text, tool_use
from tests.support.fault_server import CERTIFICATE, FaultServer
from tests.support.openai_server import OpenAIServer, Reply, call_reply, text_reply

KEY = "sk-secret-key"


@pytest.fixture(autouse=True)
def _loaded() -> Iterator[None]:
    load("openai")
    yield
    transport.tls_context.cache_clear()


def tried(url: str, model: str = "test-model", kind: Kind = "openai", **changes: Any) -> Report:
    fields = ProviderSettings(base_url=url, model=model, **changes)
    found = asyncio.run(examine(ModelChoice(kind, fields, KEY)))
    assert KEY not in str(found)
    assert found.lines
    if not found.ok:
        assert found.lines[-1].endswith(".")
        assert found.lines[-1][0] not in "✓✕–", "the last line says what to do"
    return found


def able(request: dict[str, Any]) -> Reply:
    """A model that can do everything."""
    content = request["messages"][-1]["content"]
    if isinstance(content, list):
        assert any(part["type"] == "image_url" for part in content)
        return text_reply("Red.")
    if "response_format" in request:
        return text_reply(json.dumps({"tool": "note_number", "arguments": {"value": 7}}))
    if "tools" in request:
        return call_reply("note_number", {"value": 7})
    return text_reply("OK.")


def unable(_request: dict[str, Any]) -> Reply:
    """A model that only talks."""
    return text_reply("Sure, the number is 7.")


def test_an_endpoint_that_can_do_everything():
    with OpenAIServer(answer=able) as server:
        found = tried(server.url)
    assert found.ok
    assert [line[0] for line in found.lines] == ["✓"] * 5
    said = " ".join(found.lines)
    assert 'The model "test-model" is there' in said
    assert "the first word came after" in said
    assert "calls tools" in said
    assert "sees pictures" in said


def test_a_model_that_only_talks_is_usable_and_its_limits_are_named():
    with OpenAIServer(answer=unable, mode="no_counts") as server:
        found = tried(server.url)
    assert found.ok
    said = " ".join(found.lines)
    assert "✕ It did not call a tool: choose another model" in said
    assert "– It does not see pictures" in said


def test_a_model_that_calls_only_by_schema_gets_the_advice():
    def answer(request: dict[str, Any]) -> Reply:
        return able(request) if "response_format" in request else unable(request)

    with OpenAIServer(answer=answer) as server:
        found = tried(server.url, tool_form="native")
        left_open = tried(server.url)
    assert any('choose "JSON schema"' in line for line in found.lines)
    assert any("is asked so from now on" in line for line in left_open.lines)
    assert left_open.form == "json_schema"


def in_order(request: dict[str, Any]) -> int:
    """How many results the request already holds, as a native call or as plain text."""
    return sum(
        item["role"] == "tool" or "Result of note_number" in str(item["content"])
        for item in request["messages"]
    )


def test_a_model_that_does_more_in_order_by_schema_is_asked_so_from_now_on():
    def answer(request: dict[str, Any]) -> Reply:
        value = 7 + in_order(request)
        named = request.get("response_format", {}).get("json_schema", {}).get("name")
        if named == "reply" and value <= 9:
            call = {"tool": "note_number", "arguments": {"value": value}}
            return text_reply(json.dumps(call))
        if "tools" in request and value == 7:
            return call_reply("note_number", {"value": 7})
        return text_reply("All three are noted.")

    with OpenAIServer(answer=answer) as server:
        found = tried(server.url)
        fields = ProviderSettings(base_url=server.url, model="test-model")
    assert found.form == "json_schema"
    kept = fields.tested(found.form)
    assert kept.form_of_calls == "json_schema"
    assert build(ModelChoice("openai", kept, KEY))._form == "json_schema"  # type: ignore[attr-defined]
    other = kept.model_copy(update={"model": "another"})
    assert other.form_of_calls == "auto", "it was found out for one model"
    chosen = kept.model_copy(update={"tool_form": "native"})
    assert chosen.form_of_calls == "native", "what the user chose holds"


def test_a_model_that_calls_all_natively_is_not_asked_by_schema():
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> Reply:
        asked.append(request)
        if "tools" in request:
            return call_reply("note_number", {"value": 7 + in_order(request)})
        return able(request)

    with OpenAIServer(answer=answer) as server:
        assert tried(server.url).form == "native"
    assert not any("response_format" in item for item in asked)


def test_a_wrong_model_gets_near_names():
    def refuse(_request: dict[str, Any]) -> Reply:
        return text_reply("OK.")

    names = ["llama3.2:latest", "qwen3:8b", "mistral"]
    with OpenAIServer(models=names, answer=refuse) as server:
        found = tried(server.url, "lama3.2")
        assert asyncio.run(OpenAIModel(server.url, "", KEY).models()) == names
        latest = tried(server.url, "llama3.2")
    (line,) = [item for item in found.lines if "not in the list" in item]
    assert "near it: llama3.2:latest" in line
    assert any('"llama3.2" is there' in item for item in latest.lines)


@pytest.mark.parametrize("pasted", ["", "/api", "/v1/chat/completions"])
def test_an_address_without_v1_gets_the_right_one(pasted: str):
    with OpenAIServer() as server:
        root = server.url.removesuffix("/v1")
        found = tried(root + pasted)
    assert not found.ok
    assert found.lines[-1] == f"Use {server.url} as the address."


@pytest.mark.parametrize(
    ("mode", "said", "remedy"),
    [
        ("401", "key was refused", "Check the key"),
        ("500", "server failed (HTTP 500)", "Wait a moment"),
        ("html", "web page", "log-in"),
        ("empty", "cannot be read", "/v1"),
        ("redirect", "redirects", "final address"),
    ],
)
def test_what_the_server_refuses(mode: str, said: str, remedy: str):
    with OpenAIServer(mode=mode) as server:
        found = tried(server.url)
    assert not found.ok
    assert said in found.lines[-2]
    assert remedy in found.lines[-1]


def test_a_server_without_a_list_of_models_is_tried_all_the_same():
    with OpenAIServer(models=None, answer=able) as server:
        found = tried(server.url)
        with pytest.raises(SightlineError, match="no list of models"):
            asyncio.run(OpenAIModel(server.url, "", KEY).models())
    assert found.ok
    assert any(line.startswith("– It has no list of models") for line in found.lines)


def test_nobody_listens():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = tried(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    assert not found.ok
    assert found.lines[0] == "✕ The language model cannot be reached."
    assert "Check that it is running" in found.lines[-1]


def test_a_name_that_does_not_exist():
    found = tried("http://no-such-host.invalid/v1")
    assert not found.ok
    assert "✕" in found.lines[-2]


def test_tls_where_there_is_none_and_a_certificate_that_nobody_trusts(
    monkeypatch: pytest.MonkeyPatch,
):
    with OpenAIServer() as server:
        plain = tried(server.url.replace("http", "https"))
    assert not plain.ok
    assert 'Begin the address with "http://"' in plain.lines[-1]
    with FaultServer("tls_truncated") as server:
        unknown = tried(server.url)
    assert "certificate is not trusted" in unknown.lines[-2]
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    transport.tls_context.cache_clear()
    with FaultServer("tls_truncated") as server:
        trusted = tried(server.url)
    assert not trusted.ok
    assert "certificate" not in " ".join(trusted.lines)


def test_azure_asks_the_deployment_with_its_version_and_its_header():
    with OpenAIServer(answer=able) as server:
        root = server.url.removesuffix("/v1")
        found = tried(f"{root}/openai", "my-deployment", "azure", api_version="2024-10-21")
        posts = [path for path in server.paths if "chat" in path]
    assert found.ok
    path = "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    assert set(posts) == {path}
    assert server.headers[0]["api-key"] == KEY
    assert "authorization" not in server.headers[0]
    assert any("not deployments" in line for line in found.lines)


def test_anthropic():
    replies = [
        [start(), *text(0, "OK."), *stop()],
        [start(), *tool_use(0, "note_number", '{"value": 7}', "a"), *stop("tool_use")],
        [start(), *text(0, "It is red."), *stop()],
    ]
    with AnthropicServer(*replies) as server:
        found = tried(server.url, "claude-a", "anthropic")
    assert found.ok
    assert [line[0] for line in found.lines] == ["✓"] * 5
    with AnthropicServer(error=(401, "authentication_error", KEY)) as server:
        refused = tried(server.url, "claude-a", "anthropic")
    assert not refused.ok
    assert "key was refused" in refused.lines[-2]


@pytest.mark.parametrize(
    ("kind", "url", "model"),
    [
        ("openai", "api.example.org", "m"),
        ("openai", "http://[::1", "m"),
        ("azure", "", "m"),
        ("other", "http://127.0.0.1:9/v1", "m"),
    ],
)
def test_what_cannot_even_be_tried_is_no_exception(kind: Any, url: str, model: str):
    assert not tried(url, model, kind).ok


def test_without_a_model_the_list_is_still_shown():
    with OpenAIServer(models=["a", "b"]) as server:
        found = tried(server.url, "")
    assert not found.ok
    assert any("there are a, b" in line for line in found.lines)
    assert "Choose one of the endpoint's models" in found.lines[-1]
