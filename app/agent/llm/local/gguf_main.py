"""Serves a GGUF file by llama.cpp (package xllamacpp). Runs only in the model's own process.

Measured with xllamacpp 2026.10: JSON schemas are enforced, `tool_choice` is not. Tools are silently
left out if the model's chat template has no place for them (`chat_template_caps` tells). A template
that cannot be parsed keeps the server from starting.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xllamacpp

from app.agent.llm.local.chat_template import BROKEN, CALLED, CHATML, HELLO, MISSING, TOOL
from app.agent.llm.local.server_main import (
    OUT_OF_MEMORY,
    EngineFailed,
    ServerConfig,
    Serving,
    Stage,
    native_output,
)

_llama: Any = xllamacpp  # it carries no types
_PROMPT_CACHE_MIB = 512
_BATCH = 512
"""Tokens of a question that are read before a cancel is noticed."""
_HEADER_BYTES = 64 * 2**20
_PRINTING_S = 1.5

_CAUSES = (
    (
        r"insufficient memory|failed to allocate|out of memory|OutOfMemory",
        *OUT_OF_MEMORY,
    ),
    (
        r"unknown model architecture|unknown (pre-)?tokenizer|unsupported model",
        "this kind of model is not known to the version of llama.cpp that is installed",
        "Choose another model in the settings, or update Sightline.",
    ),
    (
        r"not within the file bounds|corrupted|bad GGUF|invalid magic|gguf_init|GGUF",
        "the file is damaged, incomplete, or not a GGUF file",
        "Download it again and compare its size, or choose another file in the settings.",
    ),
)


def serve(config: ServerConfig, stage: Stage) -> Serving:
    """Load the GGUF file and serve it on a free port of 127.0.0.1, or raise EngineFailed.

    `stage` is called with a description of each loading step.
    """
    size = Path(config.path).stat().st_size
    stage(f"{size / 1e9:.1f} GB are being read")
    template, notes = config.chat_template, list[str]()
    if not template and b"tokenizer.chat_template" not in _header(config.path):
        template, notes = CHATML, [MISSING]
    server = _start_server(config, template)
    if server is None or _render(server, config.key, {"messages": HELLO}) is None:
        del server  # its memory is needed for the next
        template, notes = CHATML, [BROKEN]
        stage("its chat template is broken: it is loaded once more with a general one")
        server = _start_server(config, template)
        if server is None:
            raise _load_failure(config)
    facts = _request(server, config.key, "/props", None)
    context = int(facts["default_generation_settings"]["n_ctx"])
    return Serving(
        url=f"{server.listening_address}/v1",
        context_tokens=context,
        tools=_shows_tools(server, config.key, facts),
        constrained=True,
        notes=tuple(notes),
        keep=server,
    )


def _start_server(config: ServerConfig, template: str) -> Any:
    """Return the server, None if it refuses the template; other reasons raise EngineFailed."""
    try:
        return _llama.Server(_parameters(config, template))
    except RuntimeError as error:
        if template != CHATML and "chat template" in _reason(config, "chat template"):
            return None
        raise _load_failure(config) from error


def _parameters(config: ServerConfig, template: str) -> Any:
    parameters: Any = _llama.CommonParams()
    parameters.model.path = config.path
    parameters.model_alias = {config.name}
    parameters.offline = True
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [config.key]
    # No web page, no view of other requests, no change of settings from outside.
    parameters.ui = parameters.endpoint_slots = parameters.endpoint_props = False
    parameters.n_ctx = config.context_tokens
    parameters.n_predict = config.output_tokens
    parameters.n_parallel = 1
    parameters.n_batch = _BATCH
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    parameters.cpuparams.n_threads = config.threads
    parameters.cpuparams_batch.n_threads = config.threads
    parameters.use_jinja = True
    parameters.chat_template = template
    parameters.sampling.temp = config.temperature
    if config.seed is not None:
        parameters.sampling.seed = config.seed
    return parameters


def _load_failure(config: ServerConfig) -> EngineFailed:
    said = _reason(config)
    for pattern, reason, remedy in _CAUSES:
        if re.search(pattern, said):
            return EngineFailed(reason, remedy)
    return EngineFailed(
        "llama.cpp cannot load this model",
        "Choose another file in the settings; the log has the details.",
    )


def _reason(config: ServerConfig, *also: str) -> str:
    """Return what was printed, once it holds a known cause: llama.cpp prints in its own thread."""
    # A version line names GGUF as well, long before a template is looked at.
    causes = [pattern.removesuffix("|GGUF") if also else pattern for pattern, _, _ in _CAUSES]
    known = "|".join([*causes, *also])
    given_up = time.monotonic() + _PRINTING_S
    said = native_output(config.path)
    while not re.search(known, said) and time.monotonic() < given_up:
        time.sleep(0.05)
        said = native_output(config.path)
    return said


def _header(path: str) -> bytes:
    """Return the beginning of the file, where names and values stand before the weights."""
    with Path(path).open("rb") as file:
        return file.read(_HEADER_BYTES)


def _shows_tools(server: Any, key: str, facts: Mapping[str, Any]) -> bool:
    """Return whether the template can show tools, calls and results, and does so without error."""
    able = facts.get("chat_template_caps", {})
    if not able.get("supports_tools") or not able.get("supports_tool_calls"):
        return False
    shown = _render(server, key, {"messages": CALLED, "tools": [TOOL]})
    return shown is not None and TOOL["function"]["description"] in shown and "seen" in shown


def _render(server: Any, key: str, request: Mapping[str, Any]) -> str | None:
    """Return the prompt that the template makes of messages, None if it fails."""
    try:
        return str(_request(server, key, "/apply-template", request)["prompt"])
    except (urllib.error.HTTPError, KeyError):
        return None


def _request(server: Any, key: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
    request = urllib.request.Request(
        server.listening_address + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    # A proxy from the environment is not for this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)
