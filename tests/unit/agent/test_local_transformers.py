"""A folder of transformers files is served by a process of its own: streamed, cancelled, refused.

The model is a tiny one with random weights, of the classes that real ones have.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import ModelEvent, ModelFailed, Note, Text, Tokens, ToolSchema
from app.agent.llm.local.chat_template import BROKEN, CHATML, MISSING
from app.agent.llm.local.model import TRANSFORMERS, LocalModel
from app.agent.llm.local.server_main import EngineFailed, ServerConfig, Serving
from app.agent.messages import Message
from tests.support.local_language_model import build

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

transformers_main = pytest.importorskip("app.agent.llm.local.transformers_main")

LONGEST = 300
SHOWN = "{{ tool.function.name }}: {{ tool.function.description }}"
WITH_TOOLS = "{% for tool in tools or [] %}" + SHOWN + "{% endfor %}" + CHATML
LOOK = ToolSchema("look", "Look at it", {"type": "object", "properties": {}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "Tiny-Llama"
    build(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[LocalModel]:
    """It, with a process that several tests ask."""
    made = LocalModel(folder, context_tokens=2048, temperature=0, seed=1, output_tokens=LONGEST)
    yield made
    made.close()


def changed(folder: Path, target: Path, **values: Any) -> Path:
    """A copy with other values in its tokenizer_config.json."""
    shutil.copytree(folder, target)
    (target / "chat_template.jinja").unlink(missing_ok=True)
    path = target / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}), encoding="utf-8")
    return target


def ask(model: LocalModel, text: str, tools: tuple[ToolSchema, ...] = ()) -> list[ModelEvent]:
    async def collect() -> list[ModelEvent]:
        question = [Message(role="user", text=text)]
        return [event async for event in model.stream(question, tools)]

    return asyncio.run(collect())


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


@pytest.mark.slow
def test_it_streams_an_answer_of_the_length_asked_for(model: LocalModel) -> None:
    events = ask(model, "What do you see?", (LOOK,))
    pieces = [event for event in events if isinstance(event, Text)]
    assert len(pieces) > 3, "it came in pieces"
    counted = next(event for event in events if isinstance(event, Tokens))
    assert counted.output_tokens == LONGEST
    assert counted.input_tokens > 10
    assert model.name == "Tiny-Llama (this computer)"
    assert model.remote_host == ""


@pytest.mark.slow
def test_a_cancel_ends_the_answer(model: LocalModel) -> None:
    async def cancelled_after_some_text() -> float:
        started = asyncio.Event()

        async def read() -> None:
            async for event in model.stream([Message(role="user", text="Hello")], ()):
                if isinstance(event, Text):
                    started.set()

        reading = asyncio.ensure_future(read())
        await started.wait()
        at = time.monotonic()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        # The next answer waits for no more than the token that is being made.
        async with aclosing(model.stream([Message(role="user", text="Hi")], ())) as events:
            async for event in events:
                if isinstance(event, Text):
                    break
        return time.monotonic() - at

    assert asyncio.run(cancelled_after_some_text()) < 5.0


@pytest.mark.slow
def test_a_long_question_is_refused_and_the_next_answered(model: LocalModel) -> None:
    with pytest.raises(ModelFailed, match="exceeds the context of 1024"):
        ask(model, "lungs and heart " * 400)
    assert text_of(ask(model, "Hello"))


@pytest.mark.slow
def test_what_it_cannot_do_is_said(folder: Path, tmp_path: Path) -> None:
    bare = changed(folder, tmp_path / "bare", chat_template=None)
    asked = LocalModel(bare, context_tokens=2048, output_tokens=4, tool_form="json_schema")
    try:
        events = ask(asked, "Hello")
    finally:
        asked.close()
    notes = [event.text for event in events if isinstance(event, Note)]
    assert MISSING in notes
    assert "Schemas are not enforced here: calls are read from the text." in notes
    assert "The model knows 1024 tokens at a time, not 2048." in notes
    assert asked.info.context_tokens == 1024
    assert text_of(events)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (
            lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"),
            "no safetensors weights",
        ),
    ],
)
def test_a_folder_that_is_no_model_is_refused_before_a_process_starts(
    folder: Path, tmp_path: Path, spoil: Any, said: str
) -> None:
    spoilt = tmp_path / "spoilt"
    shutil.copytree(folder, spoilt)
    spoil(spoilt)
    asked = LocalModel(spoilt)
    with pytest.raises(ModelFailed, match=said):
        ask(asked, "Hello")
    assert asked.pid is None


def served_here(folder: Path) -> Serving:
    """The engine in this process, where torch is loaded already."""
    config = ServerConfig(
        engine=TRANSFORMERS,
        path=str(folder),
        name="Tiny",
        key="secret",
        context_tokens=512,
        output_tokens=8,
        threads=1,
    )
    return transformers_main.serve(config, lambda _text: None)


def test_a_broken_template_is_replaced_and_one_with_tools_is_used(
    folder: Path, tmp_path: Path
) -> None:
    told: list[tuple[tuple[str, ...], bool]] = []
    for name, template in (("broken", "{% fox %}"), ("tools", WITH_TOOLS)):
        serving = served_here(changed(folder, tmp_path / name, chat_template=template))
        told.append((serving.notes, serving.tools))
        serving.keep.shutdown()
        serving.keep.server_close()
    assert told == [((BROKEN,), False), ((), True)]


def test_only_who_knows_the_key_is_answered(folder: Path) -> None:
    serving = served_here(folder)
    status: dict[str, int] = {}
    for key in ("wrong", "secret"):
        request = urllib.request.Request(
            f"{serving.url}/chat/completions",
            data=json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode(),
            headers={"Authorization": f"Bearer {key}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                status[key] = answer.status
        except urllib.error.HTTPError as error:
            status[key] = error.code
            error.close()
    serving.keep.shutdown()
    serving.keep.server_close()
    assert status == {"wrong": 401, "secret": 200}
    assert serving.url.startswith("http://127.0.0.1:")


def test_damaged_weights_and_code_in_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    damaged, coded = tmp_path / "damaged", tmp_path / "coded"
    for copy in (damaged, coded):
        shutil.copytree(folder, copy)
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:2_000])
    path = coded / "config.json"
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    path.write_text(json.dumps({**json.loads(path.read_text()), **own}), encoding="utf-8")
    (coded / "own.py").write_text("raise SystemExit('this code ran')\n", encoding="utf-8")
    said: list[str] = []
    for copy in (damaged, coded):
        with pytest.raises(EngineFailed) as caught:
            served_here(copy)
        said.append(caught.value.reason)
    assert said == [
        "its files are damaged or incomplete",
        "this model needs program code from its own folder, which is never run here",
    ]
