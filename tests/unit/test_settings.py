"""Settings: what is saved comes back, old files open, and no file keeps the app from starting."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app import settings
from app.agent.policy import Policy
from app.settings import (
    FolderSettings,
    HostSettings,
    LimitSettings,
    ModelSettings,
    PolicySettings,
    ProviderSettings,
    Settings,
)
from app.user_files import write_atomic

in_one_folder = hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
prices = st.none() | st.floats(0, 10_000)
providers = st.builds(
    ProviderSettings,
    base_url=texts,
    model=texts,
    api_version=texts,
    path=texts,
    context_tokens=st.integers(1_024, 10_000_000),
    images=st.booleans(),
    tool_form=st.sampled_from(["auto", "native", "json_schema", "text"]),
    input_price=prices,
    output_price=prices,
)
rules = st.sampled_from(["ask", "deny"])
listed = st.lists(texts.filter(str.strip), max_size=2)
ALL_EFFECTS = ("read", "compute", "write", "send", "execute")
whole = st.builds(
    Settings,
    llm=st.builds(
        ModelSettings,
        kind=st.sampled_from(["offline", "openai", "azure", "anthropic", "local"]),
        openai=providers,
        azure=providers,
        anthropic=providers,
        local=providers,
    ),
    limits=st.builds(
        LimitSettings,
        steps=st.integers(1, 200),
        tool_calls=st.integers(1, 500),
        calls_per_task=st.integers(1, 100),
        tokens=st.integers(0, 100_000_000),
        cost=st.floats(0, 1_000),
        minutes=st.floats(0, 1_440),
    ),
    policy=st.builds(
        PolicySettings,
        effects=st.dictionaries(st.sampled_from(["read", "send"]), rules),
        tools=st.dictionaries(texts, rules),
        hosts=st.builds(HostSettings, allow=listed, deny=listed),
        folders=st.builds(FolderSettings, allow=st.just(["/data/exports"]), deny=st.just([])),
        remember=st.booleans(),
    ),
    device=texts,
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


def fields_of(model: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with a model's own names, and anything as their values."""
    return st.dictionaries(st.sampled_from(sorted(model.model_fields)), anything, max_size=8)


@given(whole)
@in_one_folder
def test_what_is_saved_comes_back_without_a_notice(tmp_path: Path, chosen: Settings):
    path = tmp_path / "settings.json"
    settings.save(chosen, path)
    notices: list[str] = []
    assert settings.load(path, notices) == chosen
    assert notices == []
    left = {entry.name for entry in tmp_path.iterdir()} - {"settings.lock"}
    assert left == {"settings.json"}


@given(
    anything
    | fields_of(Settings)
    | st.fixed_dictionaries({"policy": fields_of(PolicySettings)})
    | st.fixed_dictionaries({"llm": fields_of(ModelSettings), "limits": fields_of(LimitSettings)})
)
@in_one_folder
def test_no_json_keeps_the_program_from_starting_and_what_loads_can_be_saved(
    tmp_path: Path, data: Any
):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    loaded = settings.load(path)
    settings.save(loaded, path)
    Policy.from_data(loaded.policy.model_dump())  # and its rules can be used
    notices: list[str] = []
    assert settings.load(path, notices) == loaded
    assert notices == []


@pytest.mark.parametrize(
    "text", ["{not json", "[1]", "", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}", "\x00"]
)
def test_a_broken_file_is_kept_aside_and_the_defaults_hold(tmp_path: Path, text: str):
    path = tmp_path / "settings.json"
    path.write_text(text)
    notices: list[str] = []
    assert settings.load(path, notices) == Settings()
    assert (tmp_path / "settings.json.broken").read_text() == text
    assert not path.exists()
    assert any("settings.json.broken" in notice for notice in notices)


def test_bytes_that_are_no_text_are_kept_aside_too(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_bytes(b"\xff\xfe{")
    assert settings.load(path) == Settings()
    assert (tmp_path / "settings.json.broken").read_bytes() == b"\xff\xfe{"


def test_a_file_saved_by_a_windows_editor_is_read(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"device": "cpu"}), encoding="utf-8-sig")
    assert settings.load(path).device == "cpu"


def test_one_value_out_of_range_takes_only_its_own_default_and_says_so(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"device": "cpu", "limits": {"steps": 0, "tool_calls": 7, "cost": NaN}}')
    notices: list[str] = []
    loaded = settings.load(path, notices)
    assert loaded.limits == LimitSettings(tool_calls=7)
    assert loaded.device == "cpu"
    assert len(notices) == 2
    assert '"steps"' in notices[0]
    assert '"cost"' in notices[1]


def test_a_value_is_not_repeated_in_its_notice(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"llm": {"kind": "sk-a-key-in-the-wrong-place"}}))
    notices: list[str] = []
    settings.load(path, notices)
    assert len(notices) == 1
    assert "sk-a-key" not in notices[0]


def test_in_code_a_value_out_of_range_is_an_error():
    with pytest.raises(ValidationError):
        LimitSettings(steps=0)
    with pytest.raises(ValidationError):
        ProviderSettings(input_price=float("inf"))


def test_settings_of_a_later_version_do_not_break_an_older_program(tmp_path: Path):
    path = tmp_path / "settings.json"
    later = {"version": 9, "unheard_of": 1, "device": "cpu", "llm": {"kind": "telepathy"}}
    path.write_text(json.dumps(later))
    loaded = settings.load(path)
    assert loaded.device == "cpu"
    assert loaded.llm.kind == "offline"


def test_each_provider_keeps_its_fields_while_another_is_chosen():
    mine = ProviderSettings(base_url="http://127.0.0.1:1/v1", model="mine")
    chosen = ModelSettings().with_provider("openai", mine).with_provider("offline")
    assert chosen.kind == "offline"
    assert chosen.with_provider("openai").of("openai") == mine


def test_a_rule_that_cannot_be_read_asks_and_leaves_the_others_alone(tmp_path: Path):
    path = tmp_path / "settings.json"
    rules = {"effects": {"compute": "ask", "write": "allow"}, "tools": {"a": "deny", "b": 7}}
    path.write_text(json.dumps({"policy": rules}))
    notices: list[str] = []
    policy = settings.load(path, notices).policy
    assert policy.effects == {"compute": "ask", "write": "ask"}
    assert policy.tools == {"a": "deny", "b": "ask"}
    assert len(notices) == 2


@pytest.mark.parametrize("wrong", [5, [], {"effects": "all"}, {"effects": {"network": "deny"}}])
def test_rules_that_nobody_understands_make_every_tool_ask(tmp_path: Path, wrong: Any):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"policy": wrong}))
    notices: list[str] = []
    policy = settings.load(path, notices).policy
    assert set(policy.effects.values()) == {"ask"}
    assert len(policy.effects) == 5
    assert len(notices) == 1


@pytest.mark.parametrize(
    ("part", "effects", "tools"),
    [
        ({"hosts": {"deny": "evil.example"}}, {"send": "deny"}, {}),
        ({"hosts": {"block": ["evil.example"]}}, {"send": "deny"}, {}),
        ({"folders": {"allow": ["exports"]}}, {"write": "deny"}, {}),
        ({"host": {}}, dict.fromkeys(ALL_EFFECTS, "ask"), {}),
    ],
)
def test_a_part_of_the_rules_that_is_not_understood_makes_them_stricter(
    tmp_path: Path, part: dict[str, Any], effects: dict[str, str], tools: dict[str, str]
):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"policy": part}))
    notices: list[str] = []
    policy = settings.load(path, notices).policy
    assert (policy.effects, policy.tools) == (effects, tools)
    assert notices


def test_the_settings_of_the_version_before_without_rules_of_ones_own_ask_no_more(tmp_path: Path):
    path = tmp_path / "settings.json"
    sizes: dict[str, int | None] = dict.fromkeys(("text", "items", "number", "whole"))
    before: dict[str, Any] = {"arguments": {}, "sizes": sizes}
    path.write_text(json.dumps({"policy": PolicySettings().model_dump() | before}))
    notices: list[str] = []
    assert settings.load(path, notices).policy == PolicySettings()
    assert not notices
    sizes["text"] = 500
    path.write_text(json.dumps({"policy": before}))
    assert set(settings.load(path, notices).policy.effects.values()) == {"ask"}
    assert notices


def test_whoever_writes_nonsense_for_remember_is_asked_each_time(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"policy": {"remember": "sometimes"}}')
    assert settings.load(path).policy.remember is False


def test_two_programs_keep_each_other_s_changes(tmp_path: Path):
    file = tmp_path / "settings.json"
    settings.save(Settings(), file)
    mine = theirs = settings.load(file)
    changed = theirs.model_copy(
        update={
            "limits": theirs.limits.model_copy(update={"steps": 7}),
            "policy": PolicySettings(tools={"send": "deny", "crop": "ask"}),
        }
    )
    settings.save(changed, file, theirs)
    own = mine.model_copy(
        update={
            "theme": "light",
            "limits": mine.limits.model_copy(update={"minutes": 3.0}),
            "policy": PolicySettings(tools={"crop": "deny"}),
        }
    )
    settings.save(own, file, mine)
    found = settings.load(file)
    assert (found.theme, found.limits.steps, found.limits.minutes) == ("light", 7, 3.0)
    assert found.policy.tools == {"send": "deny", "crop": "deny"}


def test_many_programs_at_once_lose_no_change(tmp_path: Path):
    file = tmp_path / "settings.json"
    before = Settings()
    settings.save(before, file)

    def change(number: int) -> None:
        tools = {f"tool{number}": "deny"}
        after = before.model_copy(
            update={"policy": PolicySettings.model_validate({"tools": tools})}
        )
        settings.save(after, file, before)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(16)))
    assert sorted(settings.load(file).policy.tools) == sorted(f"tool{n}" for n in range(16))
    file.write_text("{")
    settings.save(before.model_copy(update={"theme": "light"}), file, before)
    assert settings.load(file).theme == "light", "there was nothing to keep"


def test_what_a_kill_left_is_removed_at_the_next_write(tmp_path: Path):
    path = tmp_path / "notes[1].json"
    old, fresh = tmp_path / ".notes[1].json.k1", tmp_path / ".notes[1].json.k2"
    other = tmp_path / ".other.json.k1"
    for one in (old, fresh, other):
        one.write_text("a patient's")
    for one in (old, other):
        os.utime(one, (1, 1))
    write_atomic(path, b"{}")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [fresh.name, other.name, path.name]
    )
