"""A real language model of 135 million parameters, loaded from its file and asked."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import (
    ModelRetry,
    Noted,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from app.agent.llm.base import ModelEvent, ModelFailed, Note, Text
from app.agent.llm.local.chat_template import BROKEN, MISSING
from app.agent.llm.local.model import LocalModel
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.messages import Message
from app.settings import ToolForm
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, ok, request
from tests.support.hang import HANG_S
from tests.support.small_model import Form, gguf, template
from tests.unit.agent.test_local_server import gone_within

Make = Callable[..., LocalModel]
SECRET = "SECRETPATIENT"
FORMS_BY_TEXT = ("json_schema", "text")


@pytest.fixture(scope="module")
def file() -> Path:
    return gguf()


@pytest.fixture
def make(file: Path) -> Iterator[Make]:
    """Makes models that always choose the likeliest word; closes them."""
    made: list[LocalModel] = []

    def new(path: Path = file, **changes: Any) -> LocalModel:
        options: dict[str, Any] = {
            "context_tokens": 2048,
            "output_tokens": 60,
            "temperature": 0.0,
            "seed": 1,
        }
        made.append(LocalModel(path, **{**options, **changes}))
        return made[-1]

    yield new
    for model in made:
        model.close()


@pytest.fixture
def copy_with(file: Path, tmp_path: Path) -> Callable[[bytes, bytes], Path]:
    """Makes a copy of the file in which some bytes of its header are others."""
    if file.stat().st_size > 500e6:
        pytest.skip("this model's file is too large to be copied in a test")

    def make(old: bytes, new: bytes) -> Path:
        content = file.read_bytes()
        at = content.find(old)
        if at < 0:
            pytest.skip(f"this model's file has no {old!r}")
        path = tmp_path / "changed.gguf"
        path.write_bytes(content[:at] + new + content[at + len(old) :])
        return path

    return make


def ask(model: LocalModel, text: str = "Say hello.") -> list[ModelEvent]:
    async def collect() -> list[ModelEvent]:
        return [event async for event in model.stream([Message(role="user", text=text)], ())]

    return asyncio.run(collect())


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def notes_of(events: list[ModelEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Note)]


def test_it_says_that_it_loads_streams_an_answer_and_stays_loaded(make: Make):
    model = make()
    first = ask(model)
    assert isinstance(first[0], Note)
    assert "is being loaded" in first[0].text
    assert len([event for event in first if isinstance(event, Text)]) > 3
    pid = model.pid
    second = ask(model)
    assert notes_of(second) == []
    assert text_of(second) == text_of(first), "the same words for the same question"
    assert model.pid == pid
    model.close()
    assert gone_within(pid or 0, HANG_S)
    assert model.remote_host == ""
    assert model.name.endswith("(this computer)")


@pytest.mark.parametrize(
    "form", ["native", *(pytest.param(one, marks=pytest.mark.slow) for one in FORMS_BY_TEXT)]
)
def test_it_calls_a_tool_in_each_form_and_answers_with_the_result(
    make: Make, tmp_path: Path, form: Form
):
    tool = FakeTool("image_facts", ImageInput, ok("16 bits, 512 rows"))
    wanted: ToolForm = "auto" if form == "native" else form
    model = make(tool_form=wanted, chat_template=template(form, "image_facts", "image_path"))
    loop = AgentLoop(model, FakeRegistry(tool))

    async def run() -> list[Any]:
        asked = request(tmp_path, "Read the facts of image-1.", notes=())
        return [event async for event in loop.run(asked)]

    events = asyncio.run(run())
    (started,) = [event for event in events if isinstance(event, ToolStarted)]
    assert (started.tool, started.arguments) == ("image_facts", {"image_path": "image-1"})
    by_the_server = not started.call_id.startswith("call-")  # the loop names the other calls
    assert by_the_server == (form == "native")
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.status == "ok"
    assert isinstance(events[-1], RunFinished)
    assert "bits" in events[-1].answer or "512" in events[-1].answer
    assert any(isinstance(event, Usage) for event in events)
    assert any("is being loaded" in event.text for event in events if isinstance(event, Noted))


@pytest.mark.slow
def test_without_a_form_for_tools_calls_are_schema_constrained_and_it_is_said(make: Make):
    (note,) = [text for text in notes_of(ask(make())) if "no form for tools" in text]
    assert "JSON that a schema enforces" in note


@pytest.mark.slow
def test_a_missing_or_broken_chat_template_is_replaced_and_it_is_said(
    make: Make, copy_with: Callable[[bytes, bytes], Path]
):
    missing = copy_with(b"tokenizer.chat_template", b"tokenizer.chat_templatX")
    events = ask(make(missing))
    assert MISSING in notes_of(events)
    assert text_of(events)
    broken = copy_with(b"{% for message in", b"{% fox message in")
    events = ask(make(broken))
    assert BROKEN in notes_of(events)
    assert text_of(events)


def test_a_damaged_file_is_refused_with_a_remedy(make: Make, file: Path, tmp_path: Path):
    with file.open("rb") as whole:
        beginning = whole.read(30_000_000)
    said: set[str] = set()
    for name, content in (
        ("cut", beginning),
        ("noise", os.urandom(4096)),
        ("zeros", b"GGUF" + bytes(4096)),
        ("empty", b""),
    ):
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(content)
        with pytest.raises(ModelFailed) as caught:
            ask(make(path))
        said.add(caught.value.reason)
        assert "Download it again" in caught.value.remedy
        assert str(tmp_path) not in caught.value.detail
    assert said == {"the file is damaged, incomplete, or not a GGUF file"}
    with pytest.raises(ModelFailed, match="the model's file is missing"):
        ask(make(tmp_path / "gone.gguf"))


@pytest.mark.slow
def test_too_little_memory_is_said(make: Make):
    with pytest.raises(ModelFailed) as caught:
        ask(make(context_tokens=20_000_000))
    assert caught.value.reason == "there is not enough memory for this model"
    assert "a smaller context" in caught.value.remedy


def test_a_context_beyond_the_model_s_own_is_cut_and_it_is_said(make: Make):
    model = make(context_tokens=20_000)
    events = ask(model)
    if model.info.context_tokens == 20_000:
        pytest.skip("this model knows so many")
    assert f"The model knows {model.info.context_tokens} tokens at a time, not 20000." in notes_of(
        events
    )


@pytest.mark.slow
def test_killed_in_the_middle_of_an_answer_it_says_so_and_the_next_question_works(make: Make):
    model = make(output_tokens=1000)

    async def kill_after_some_text() -> None:
        story = [Message(role="user", text="Tell a long story about a lighthouse.")]
        async for event in model.stream(story, ()):
            if isinstance(event, Text):
                os.kill(model.pid or 0, signal.SIGTERM)

    with pytest.raises(ModelFailed) as caught:
        asyncio.run(kill_after_some_text())
    assert "the model's process " in caught.value.text
    assert "in the middle of its answer. Ask again: it is started anew." in caught.value.text
    assert caught.value.retryable
    events = ask(model)
    assert "is being loaded" in notes_of(events)[0]
    assert text_of(events)


@pytest.mark.slow
def test_a_run_goes_on_when_the_process_is_killed_once(make: Make, tmp_path: Path):
    model = make(output_tokens=200)
    loop = AgentLoop(model, FakeRegistry(), retry=Retry(base_s=0.01))
    killed: list[int] = []

    async def run() -> list[Any]:
        events: list[Any] = []
        asked = request(tmp_path, "Tell a long story about a lighthouse.", notes=())
        async for event in loop.run(asked):
            events.append(event)
            if isinstance(event, TextDelta) and not killed:
                killed.append(model.pid or 0)
                os.kill(killed[0], signal.SIGTERM)
        return events

    events = asyncio.run(run())
    (again,) = [event for event in events if isinstance(event, ModelRetry)]
    assert again.withdrawn, "the streamed half is taken back"
    assert isinstance(events[-1], RunFinished)
    after = events[events.index(again) :]
    answer = "".join(event.text for event in after if isinstance(event, TextDelta))
    assert events[-1].answer == answer != ""
    assert model.pid not in (None, *killed)
    notes = [event.text for event in events if isinstance(event, Noted) and not event.passing]
    assert len(notes) == len(set(notes)) > 0, "what is so of the model is told once"


def test_a_cancel_ends_the_answer_and_leaves_the_model_loaded(make: Make):
    model = make(output_tokens=2000)

    async def cancelled() -> float:
        started = asyncio.Event()

        async def read() -> None:
            story = [Message(role="user", text="Tell a long story about a lighthouse.")]
            async for event in model.stream(story, ()):
                if isinstance(event, Text):
                    started.set()

        reading = asyncio.ensure_future(read())
        await started.wait()
        pid, at = model.pid, time.monotonic()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        # The server has stopped too: the next answer does not wait for the rest of this one.
        async with aclosing(model.stream([Message(role="user", text="Hi")], ())) as events:
            async for event in events:
                if isinstance(event, Text):
                    break
        assert model.pid == pid
        return time.monotonic() - at

    assert asyncio.run(cancelled()) < 5.0, "the whole answer takes far longer"


def test_only_who_knows_the_key_is_answered_and_only_on_this_machine(make: Make):
    model = make()
    ask(model)
    ready = asyncio.run(model._server.ready())
    assert ready.url.startswith("http://127.0.0.1:")
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}).encode()
    status: dict[str, int] = {}
    for key in ("", "wrong", ready.key):
        for path in ("models", "chat/completions"):
            asked = urllib.request.Request(
                f"{ready.url}/{path}",
                data=body if path != "models" else None,
                headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(asked, timeout=20) as answer:
                    status[f"{path} {key == ready.key}"] = answer.status
            except urllib.error.HTTPError as error:
                status[f"{path} {key == ready.key}"] = error.code
                error.close()
    assert status == {
        "models False": 401,
        "chat/completions False": 401,
        "models True": 200,
        "chat/completions True": 200,
    }


@pytest.mark.slow
def test_what_is_asked_and_answered_is_in_no_log(
    make: Make, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG, logger="app"):
        model = make()
        ask(model, f"Say {SECRET}.")
        model.close()
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err
    assert not any(SECRET in line.getMessage() for line in caplog.records if "app" in line.name)
