"""Sizes of arguments, a site's rules for them, and the site's own file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import paths
from app.agent.policy import Policy, Rule, Scope
from app.agent.policy.policy import site_policies
from app.errors import UsageError
from app.tools.api import Approval
from tests.support.policy_scope import SENDER, Typed, judge, open_scope, spec


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return open_scope(tmp_path)


# -- sizes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"a": "x" * 100_001}, "longer than 100,000 characters"),
        ({"a": {"b": ["x" * 100_001]}}, "longer than 100,000 characters"),
        ({"a": [0] * 1_001}, "more than 1,000 items"),
        ({"a": {str(n): 0 for n in range(1_001)}}, "more than 1,000 items"),
        ({"a": [["x" * 90_000] * 12]}, "more than 1,000,000 characters together"),
        ({"a": 1e16}, "beyond"),
        ({"a": -(10**400)}, "beyond"),
        ({"a": float("inf")}, "not a finite number"),
        ({"a": float("nan")}, "not a finite number"),
    ],
)
def test_nothing_may_be_larger_than_any_tool_needs(
    arguments: dict[str, Any], why: str, scope: Scope
):
    judged = judge(arguments, scope)
    assert judged.rule is Rule.DENY
    assert why in judged.reason


def test_what_is_nested_too_deeply_is_refused(scope: Scope):
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    assert "nested too deeply" in judge({"a": deep}, scope).reason


@pytest.mark.parametrize("rule", ["ask", "deny"])
def test_a_site_has_a_rule_for_every_tool(rule: str, scope: Scope):
    assert judge({"count": 1}, scope, spec(given=Typed), tools={"*": rule}).rule is Rule(rule)
    assert judge({"count": 1}, scope, spec(given=Typed), tools={"other": rule}).rule is Rule.ALLOW


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"argument": {}}, "is not a part"),
        ({"hosts": {"allowed": []}}, "hosts.allowed is"),
        ({"hosts": {"deny": "evil"}}, "hosts.deny is 'evil'"),
        ({"hosts": {"deny": [1]}}, "hosts.deny.0 is 1"),
        ({"folders": {"allow": ["exports"]}}, "folders.allow.0 is 'exports'"),
        ({"remember": "no"}, "remember is 'no'"),
    ],
)
def test_what_a_site_writes_is_understood_or_refused(data: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        Policy.from_data(data)


def test_rules_that_name_what_there_is_not_are_told():
    policy = Policy.from_data(
        {
            "tools": {"tool": "ask", "toool": "deny", "*": "ask", "gone": "ask"},
        }
    )
    told = policy.unknown_names([spec(given=Typed)])
    assert told == [
        'A rule names the tool "toool", which is not installed. Is tool meant?',
        'A rule names the tool "gone", which is not installed.',
    ]
    assert Policy.standard().unknown_names([spec()]) == []


@given(
    st.sampled_from(list(Approval)),
    st.dictionaries(
        st.sampled_from([item.value for item in Approval]), st.sampled_from(list(Rule))
    ),
    st.sampled_from([{}, {"tool": "allow"}, {"tool": "deny"}, {"*": "ask"}]),
)
def test_no_site_makes_anything_freer(effect: Approval, effects: Any, tools: Any):
    order = {Rule.ALLOW: 0, Rule.ASK: 1, Rule.DENY: 2}
    site = Policy.from_data({"effects": effects, "tools": tools, "hosts": {"allow": ["x.example"]}})
    for arguments in ({"note": "x"}, {"url": "https://x.example"}, {"image_path": "/etc/passwd"}):
        freer = site.judge(spec(effect), arguments).rule
        standard = Policy.standard().judge(spec(effect), arguments).rule
        assert order[freer] >= order[standard]


# -- a site's own file ------------------------------------------------------------------------


def test_the_files_of_a_site_hold_beside_the_users_own_rules(tmp_path: Path, scope: Scope):
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text('{"effects": {"compute": "ask"}, "hosts": {"allow": ["a.example"]}}')
    other.write_text('\ufeff{"tools": {"tool": "deny"}, "remember": false}', encoding="utf-8")
    notices: list[str] = []
    missing = tmp_path / "missing.json"
    also = site_policies((missing, one), notices)
    policy = replace(Policy.from_data({"hosts": {"allow": ["*.example"]}}), also=also)
    assert policy.rule(spec(Approval.COMPUTE)) is Rule.ASK
    for url, rule in (("https://a.example", Rule.ASK), ("https://b.example", Rule.DENY)):
        assert policy.judge(SENDER, {"url": url}, scope).rule is rule
    assert policy.remember
    policy = replace(policy, also=site_policies((one, other), notices))
    assert policy.rule(spec()) is Rule.DENY
    assert not policy.remember
    assert notices == []
    assert policy.unknown_names([]) == ['A rule names the tool "tool", which is not installed.']


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, '{"efects": {}}', '{"tools": {"a": "maybe"}}', "\xff"]
)
def test_a_site_file_that_cannot_be_used_lets_nothing_act(tmp_path: Path, text: str):
    file = tmp_path / "policy.json"
    file.write_bytes(text.encode("latin-1"))
    notices: list[str] = []
    policy = replace(Policy.standard(), also=site_policies([file], notices))
    assert "cannot be used" in notices[0]
    for effect in Approval:
        acts = effect not in (Approval.READ, Approval.COMPUTE)
        assert policy.rule(spec(effect)) is (Rule.DENY if acts else Rule.ASK)


def test_no_variable_takes_the_site_file_away(monkeypatch: pytest.MonkeyPatch):
    (own,) = paths.site_policies()
    monkeypatch.setenv("SIGHTLINE_HOME", "/tmp/elsewhere")
    monkeypatch.setenv("SIGHTLINE_POLICY", "/tmp/more.json")
    assert paths.site_policies() == (own, Path("/tmp/more.json"))
