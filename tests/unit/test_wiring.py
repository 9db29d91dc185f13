"""The wiring: which model, which key, which limits and rules a run gets. No window."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from app.agent.events import ApprovalRequested, RunFinished
from app.agent.llm.base import LanguageModel, ModelFailed, ModelInfo, model_info
from app.agent.llm.providers import ModelChoice
from app.agent.loop.agent_loop import Limits
from app.agent.loop.offline_model import OfflineModel
from app.agent.messages import Message
from app.agent.policy import Rule
from app.agent.request import Decision, ImageNotes
from app.agent.sessions import Thread
from app.errors import UsageError
from app.headless.runs import ALLOW_PICTURES, ALLOW_REMOTE, ALLOW_RISKY_PICTURES, approver
from app.secrets import key_name
from app.settings import LimitSettings, ModelSettings, PolicySettings, ProviderSettings, Settings
from app.tools.api import Approval
from app.wiring import Program
from tests.support.fake_tools import FakeTool, Strict, collect, ok, request
from tests.support.openai_server import OpenAIServer, text_reply
from tests.support.scripted_model import ScriptedModel, call

KEYS = ("SIGHTLINE_OPENAI_KEY", "OPENAI_API_KEY", "SIGHTLINE_AZURE_KEY", "AZURE_OPENAI_API_KEY")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Program]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    for variable in KEYS:
        monkeypatch.delenv(variable, raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    made = Program()
    yield made
    made.close()
    keyring.set_keyring(before)


def endpoint(kind: str, url: str, **fields: Any) -> Settings:
    provider = ProviderSettings.model_validate({"base_url": url, "model": "m", **fields})
    return Settings(llm=ModelSettings.model_validate({"kind": kind, kind: provider}))


def ask(model: LanguageModel) -> None:
    async def whole() -> list[Any]:
        return [event async for event in model.stream([Message(role="user", text="Hi")], ())]

    assert asyncio.run(whole())


@pytest.mark.parametrize("name", [None, "offline"])
def test_without_settings_the_offline_planner_answers(program: Program, name: str | None):
    assert isinstance(program.language_model(name), OfflineModel)


def test_a_name_on_the_command_line_changes_only_what_it_names(program: Program):
    program.change_settings(endpoint("openai", "http://127.0.0.1:9/v1", context_tokens=9_000))
    model = program.language_model("openai:llama3:8b")
    assert model.name == "llama3:8b at 127.0.0.1"
    assert model_info(model).context_tokens == 9_000
    assert program.settings.llm.openai.model == "m"


def test_a_model_that_the_command_line_chose_is_in_use_but_not_kept(program: Program):
    program.change_settings(endpoint("openai", "http://127.0.0.1:9/v1"))
    program.use_model("local:/models/small.gguf")
    assert program.settings.llm.kind == "local", "as the settings window shows it"
    assert "small" in program.language_model().name
    assert program.settings.llm.openai.model == "m"
    kept = json.loads(program.settings_path.read_text())
    assert kept["llm"]["kind"] == "openai"


@pytest.mark.parametrize("name", ["telepathy", "", "openai", "azure:m", "local"])
def test_what_is_unknown_or_not_configured_says_what_to_do(program: Program, name: str):
    with pytest.raises(UsageError) as raised:
        program.language_model(name)
    assert raised.value.remedy


def test_a_path_on_windows_keeps_its_colon(program: Program):
    model = program.language_model(r"local:C:\models\small.gguf")
    assert "small" in model.name
    assert model.remote_host == ""


def test_the_settings_say_what_the_loop_must_know_of_a_model(program: Program):
    changed = endpoint(
        "openai", "http://127.0.0.1:9/v1", context_tokens=2_048, images=True, input_price=3.0
    )
    program.change_settings(changed)
    info = model_info(program.language_model())
    assert info == ModelInfo(
        context_tokens=2_048, output_tokens=512, images=True, input_price=3.0, output_price=None
    )


def test_each_endpoint_gets_its_own_key_and_no_other(program: Program):
    with OpenAIServer([text_reply("OK")]) as mine, OpenAIServer([text_reply("OK")]) as other:
        program.secrets.set(key_name("openai", mine.url), "sk-mine")
        for server in (mine, other):
            program.change_settings(endpoint("openai", server.url))
            ask(program.language_model())
        assert mine.headers[0]["authorization"] == "Bearer sk-mine"
        assert "sk-mine" not in str(other.headers)


def test_azure_gets_its_key_as_azure_wants_it(program: Program):
    with OpenAIServer([text_reply("OK")]) as server:
        url = server.url.removesuffix("/v1")
        program.secrets.set(key_name("azure", url), "sk-azure")
        program.secrets.set(key_name("openai", url), "sk-openai")
        program.change_settings(endpoint("azure", url, api_version="2024-10-21"))
        ask(program.language_model())
        assert server.headers[0]["api-key"] == "sk-azure"
        assert "sk-openai" not in str(server.headers)


def test_anthropics_models_are_built_with_their_own_key(program: Program):
    pytest.importorskip("anthropic")
    with OpenAIServer() as server:
        program.secrets.set(key_name("anthropic", server.url), "sk-ant")
        program.change_settings(endpoint("anthropic", server.url, images=True))
        model = program.language_model()
        assert model_info(model).images
        with pytest.raises(ModelFailed):  # the server speaks another language
            ask(model)
        assert "sk-ant" in str(server.headers)


def test_the_variable_is_for_the_endpoint_of_the_settings(
    program: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_OPENAI_KEY", "sk-env")
    with OpenAIServer([text_reply("OK")]) as server:
        program.change_settings(endpoint("openai", server.url))
        ask(program.language_model())
        assert server.headers[0]["authorization"] == "Bearer sk-env"


def test_no_key_is_in_the_settings_file_or_the_log(
    program: Program, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("DEBUG")
    with OpenAIServer([text_reply("OK")]) as server:
        program.secrets.set(key_name("openai", server.url), "sk-secret")
        program.change_settings(endpoint("openai", server.url))
        ask(program.language_model())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert program.settings_path in files
    assert not [path for path in files if b"sk-secret" in path.read_bytes()]
    assert "sk-secret" not in caplog.text


def test_the_limits_of_the_settings_reach_the_loop(program: Program, tmp_path: Path):
    limits = LimitSettings(
        steps=2, tool_calls=3, calls_per_task=4, tokens=90_000, cost=0.5, minutes=1.5
    )
    program.change_settings(Settings(limits=limits))
    turns = [[call("no_such_tool", number=number)] for number in range(2)]
    with ScriptedModel(*turns) as model:
        loop = program.loop(model)
        assert loop.limits == Limits(
            steps=2, tool_calls=3, calls_per_task=4, tokens=90_000, cost=0.5, wall_s=90.0
        )
        events = asyncio.run(collect(loop, request(tmp_path, thread=Thread.in_memory())))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].stopped_by == "steps"


def test_the_defaults_of_the_settings_are_those_of_the_loop(program: Program):
    assert program.loop(OfflineModel()).limits == Limits()


def test_whether_rules_come_before_the_model_is_in_the_settings(program: Program):
    assert program.loop(OfflineModel()).rules_first
    program.change_settings(Settings(limits=LimitSettings(rules_first=False)))
    assert not program.loop(OfflineModel()).rules_first


def test_the_rules_of_the_settings_reach_the_gate(program: Program):
    tool = FakeTool("looks", Strict, ok(), approval=Approval.READ)
    assert program.loop(OfflineModel()).approvals.policy.rule(tool.spec) is Rule.ALLOW
    program.change_settings(Settings(policy=PolicySettings(effects={"read": "deny"})))
    assert program.loop(OfflineModel()).approvals.policy.rule(tool.spec) is Rule.DENY


def test_the_rules_of_the_computer_reach_the_gate_beside_the_users_own(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    site = tmp_path / "policy.json"
    site.write_text('{"tools": {"looks": "ask", "gone": "deny"}}')
    monkeypatch.setenv("SIGHTLINE_POLICY", str(site))
    tool = FakeTool("looks", Strict, ok(), approval=Approval.READ)
    assert program.loop(OfflineModel()).approvals.policy.rule(tool.spec) is Rule.ASK
    program.change_settings(Settings(policy=PolicySettings(effects={"read": "deny"})))
    assert program.loop(OfflineModel()).approvals.policy.rule(tool.spec) is Rule.DENY


def test_rules_that_name_nothing_and_files_that_cannot_be_used_are_told(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert program.notices() == []
    other = Program()
    (tmp_path / "policy.json").write_text("{")
    monkeypatch.setenv("SIGHTLINE_POLICY", str(tmp_path / "policy.json"))
    rules = PolicySettings.model_validate({"tools": {"dicom_procesor": "deny"}})
    other.settings = Settings(policy=rules)
    told = other.notices()
    assert any("policy for tools of this computer cannot be used" in text for text in told)
    assert any("Is dicom_processor meant?" in text for text in told)
    other.close()


def test_loops_of_one_program_share_consents_and_grants(program: Program):
    one, other = program.loop(OfflineModel()), program.loop(OfflineModel())
    assert one.consents is other.consents is program.consents
    assert one.approvals.grants is other.approvals.grants is program.grants


def test_a_model_on_this_computer_is_made_once_and_closed_with_the_program(program: Program):
    fields = ProviderSettings(path="/models/small.gguf")
    one = program.models.get(ModelChoice("local", fields))
    assert program.models.get(ModelChoice("local", fields)) is one
    assert program.models.trial_model(ModelChoice("local", fields)) is one, (
        "not loaded a second time"
    )
    assert program.models.is_cached(one)
    other = program.models.get(ModelChoice("local", ProviderSettings(path="/models/large.gguf")))
    tried = program.models.trial_model(
        ModelChoice("local", ProviderSettings(path="/models/other.gguf"))
    )
    assert not program.models.is_cached(tried), "whoever tried it closes it"
    program.models.close([one])
    assert not program.models.is_cached(one)
    assert program.models.is_cached(other)
    program.close()
    assert not program.models.is_cached(other)


def asked(title: str, **fields: Any) -> ApprovalRequested:
    return ApprovalRequested(
        run_id="r", seq=0, time="", approval_id="a", title=title, detail="", **fields
    )


def answer(model: LanguageModel, event: ApprovalRequested) -> Decision:
    async def decide() -> Decision | bool:
        return await approver(model)(event)

    decision = asyncio.run(decide())
    assert isinstance(decision, Decision)
    return decision


class Far(ScriptedModel):
    """A model on another machine."""

    def __init__(self) -> None:
        super().__init__(remote_host="api.example.org")


QUESTIONS = {
    "conversation": ALLOW_REMOTE,
    "pictures": ALLOW_PICTURES,
    "risky_pictures": ALLOW_RISKY_PICTURES,
}


def consent(about: Any, host: str = "api.example.org") -> ApprovalRequested:
    return asked("May this be sent?", about=about, host=host)


@pytest.mark.parametrize("about", QUESTIONS)
def test_without_a_window_only_hosts_named_beforehand_get_anything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], about: str
):
    for name in QUESTIONS.values():
        monkeypatch.delenv(name, raising=False)
    refused = answer(Far(), consent(about))
    assert not refused.granted
    variable = QUESTIONS[about]
    assert f"{variable}=api.example.org" in refused.reason
    assert variable in capsys.readouterr().err
    for listed in ("example.org", "api.example", "org,a,.", "api.example.org.evil.example"):
        monkeypatch.setenv(variable, listed)
        assert not answer(Far(), consent(about)).granted, "a part of the name is another host"
    monkeypatch.setenv(variable, "other.example, API.example.org")
    assert answer(Far(), consent(about)).granted
    assert not answer(Far(), consent(about, "other.example")).granted, "that is not this model's"


@pytest.mark.parametrize("about", QUESTIONS)
def test_each_kind_of_data_has_a_word_of_its_own(monkeypatch: pytest.MonkeyPatch, about: str):
    for kind, name in QUESTIONS.items():
        monkeypatch.setenv(name, "" if kind == about else "api.example.org")
    assert not answer(Far(), consent(about)).granted


def test_without_a_window_what_acts_is_denied_and_the_model_is_told_why(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv(ALLOW_REMOTE, "api.example.org")
    wanted = asked(
        "Send this conversation to api.example.org?", call_id="c", tool="mail", effect="send"
    )
    decision = answer(Far(), wanted)
    assert not decision.granted
    assert "Nobody can be asked here" in decision.reason


def test_notes_on_images_are_made_when_they_are_first_read_and_once():
    """Making them reads tables beside the images, which is not for the window's thread."""
    made: list[int] = []

    def make() -> list[dict[str, str]]:
        made.append(1)
        return [{"id": "image-1"}, {"id": "image-2"}]

    notes = ImageNotes(make)
    assert made == []
    assert len(notes) == 2
    assert [note["id"] for note in notes] == ["image-1", "image-2"]
    assert notes[1:] == ({"id": "image-2"},)
    assert made == [1]
