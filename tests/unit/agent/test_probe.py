"""Trying a model before it is used: what the settings page says of endpoints and files."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from app.agent.llm import probe
from app.agent.llm.base import LanguageModel, ModelEvent, Note, Text
from app.agent.llm.probe import Probe, Report
from app.agent.llm.providers import ModelChoice, build
from app.errors import Cancelled, SightlineError
from app.settings import ProviderSettings
from app.tools.api import CancelToken
from tests.support.openai_server import OpenAIServer, text_reply
from tests.support.scripted_model import ScriptedModel, call, says


def wanted(url: str, model: str = "m") -> ModelChoice:
    return ModelChoice("openai", ProviderSettings(base_url=url, model=model), "sk-1")


def test_an_endpoint_that_answers_is_fine():
    with OpenAIServer([text_reply("OK")] * 9) as server:
        report = Probe(build).diagnose(wanted(server.url), CancelToken())
        assert server.headers[0]["authorization"] == "Bearer sk-1"
    assert report.ok
    assert any("streams" in line for line in report.lines)
    assert "sk-1" not in "".join(report.lines)


@pytest.mark.parametrize("mode", ["401", "404", "500", "html", "cut", "empty"])
def test_one_that_fails_is_diagnosed_with_a_remedy(mode: str):
    with OpenAIServer([text_reply("OK then")] * 9, mode) as server:
        report = Probe(build).diagnose(wanted(server.url), CancelToken())
    assert not report.ok
    assert report.lines[-2].startswith("✕")
    assert report.lines[-1], "the last line is what to do"


@pytest.mark.parametrize("kind", ["openai", "azure"])
def test_an_endpoint_without_a_list_is_told_of_as_such(kind: Any):
    with OpenAIServer([text_reply("OK")], "404") as server:
        asked = ModelChoice(kind, ProviderSettings(base_url=server.url), "sk-1")
        with pytest.raises(SightlineError, match="has no list of models at this address"):
            Probe(build).models(asked, CancelToken())


def test_a_silent_endpoint_is_left_at_once_when_the_window_closes():
    cancel = CancelToken()
    ended: list[Any] = []

    def work(url: str) -> None:
        with pytest.raises(Cancelled):
            Probe(build).diagnose(wanted(url), cancel)
        ended.append(True)

    with OpenAIServer([text_reply("OK")], "silent") as server:
        thread = threading.Thread(target=work, args=(server.url,))
        thread.start()
        assert server.stalled.wait(60)
        cancel.cancel()
        thread.join(60)
        assert ended


def test_a_report_tells_what_stays_true_and_not_what_was_waited_for():
    notes = (Note("The model is being loaded.", passing=True), Note("It knows 512 tokens."))
    with ScriptedModel([*notes, Text("OK")]) as model:
        report = Probe(lambda _wanted: model).diagnose(
            ModelChoice("local", ProviderSettings()), CancelToken()
        )
    assert report.lines[0] == "It knows 512 tokens."
    assert "is loaded and answers" in report.lines[1]
    assert len(report.lines) == 2


def test_one_word_is_enough_of_a_model_that_goes_on_for_ever():
    class Talking:
        name = "talking"
        said = 0
        left = False

        async def stream(self, _messages: object, _tools: object) -> AsyncGenerator[ModelEvent]:
            try:
                while self.said < 100:
                    self.said += 1
                    yield Text("OK ")
            finally:
                self.left = True

    model = Talking()
    trying = Probe(lambda _wanted: cast("LanguageModel", model))
    assert trying.diagnose(ModelChoice("local", ProviderSettings()), CancelToken()).ok
    assert (model.said, model.left) == (1, True), "its answer is ended, and not waited for"


def test_a_tried_model_is_closed_and_one_in_use_is_not():
    class Closing(ScriptedModel):
        closed = False

        def close(self) -> None:
            self.closed = True

    for kept in (False, True):
        model = Closing(says("OK"))
        with model:
            trying = Probe(lambda _wanted, it=model: it, lambda _model, yes=kept: yes)
            assert trying.diagnose(ModelChoice("local", ProviderSettings()), CancelToken()).ok
        assert model.closed is not kept


def test_without_a_name_the_models_are_listed_all_the_same():
    class Listing:
        async def models(self) -> list[str]:
            return ["small", "large"]

    asked: list[ModelChoice] = []

    def make(each: ModelChoice) -> Any:
        asked.append(each)
        return Listing()

    names = Probe(make).models(wanted("http://127.0.0.1:9/v1", ""), CancelToken())
    assert names == ("small", "large")
    assert asked[0].fields.model, "models are built with a name only"
    with pytest.raises(SightlineError):
        Probe(build).models(wanted("http://127.0.0.1:1/v1", ""), CancelToken())


def test_a_file_is_described_by_its_size_and_the_memory_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("xllamacpp")
    file = tmp_path / "small.gguf"
    with file.open("wb") as stream:
        stream.write(b"GGUF")
        stream.truncate(3 * 2**30)
    monkeypatch.setattr(probe, "memory_bytes", lambda: 16 * 2**30)
    assert Probe.about_file(str(file)) == Report(
        True, ("3.0 GB; needs about 3.6 GB of memory, this computer has 16.0 GB.",)
    )
    monkeypatch.setattr(probe, "memory_bytes", lambda: 3 * 2**30)
    assert not Probe.about_file(str(file)).ok
    assert "too little" in Probe.about_file(str(file)).lines[0]


def test_this_computers_memory_is_known():
    assert probe.memory_bytes() > 2**28


def test_a_missing_package_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(probe, "is_installed", lambda _package: False)
    report = Probe.about_file(str(file))
    assert not report.ok
    assert "xllamacpp" in report.lines[-1]
    assert "install" in report.lines[-1]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.gguf", b"PK\x03\x04", "not a GGUF"),
        ("empty.gguf", b"", "not a GGUF"),
        ("missing.gguf", None, "cannot be read"),
        ("folder", "", "no transformers model"),
    ],
)
def test_what_is_no_model_is_said_to_be_none(
    tmp_path: Path, name: str, content: bytes | str | None, said: str
):
    file = tmp_path / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        file.mkdir()
    report = Probe.about_file(str(file))
    assert not report.ok
    assert said in report.lines[0]


def test_a_folder_of_transformers_files_is_described(tmp_path: Path):
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(bytes(2**20))
    report = Probe.about_file(str(tmp_path))
    assert report.ok
    assert report.lines[0].startswith("1 MB")


def test_a_local_model_is_tried_in_both_forms_and_the_better_is_told():
    class Local(ScriptedModel):
        form = "auto"

        def in_form(self, form: str) -> Local:
            self.form = form
            return self

        async def stream(self, messages: Any, tools: Any) -> AsyncGenerator[ModelEvent]:
            self.requests.append(list(messages))
            done = sum(item.role == "tool" for item in messages)
            if not tools or self.form != "json_schema":
                yield Text("OK")
            else:
                yield call("note_number", value=7 + done)

    model = Local()
    report = Probe(lambda _wanted: model).diagnose(
        ModelChoice("local", ProviderSettings(path="/m.gguf")), CancelToken()
    )
    assert report.form == "json_schema"
    assert "as JSON that a schema enforces" in report.lines[-1]
    assert [len(item) for item in model.requests] == [1, 1, 1, 3, 5]
    set_by_hand = ProviderSettings(path="/m.gguf", tool_form="native")
    asked = Probe(lambda _wanted: model).diagnose(ModelChoice("local", set_by_hand), CancelToken())
    assert asked.form == "auto"
