"""A tool that does not send is given no host; where one sends to is shown as it is reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent.policy import Rule, Scope
from app.agent.policy import hosts as host_rules
from app.tools.api import Approval
from tests.support.policy_scope import SENDER, denied, judge, open_scope, spec


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return open_scope(tmp_path)


@pytest.mark.parametrize("effect", [item for item in Approval if item is not Approval.SEND])
@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "evil.example.org"},
        {"host": "evil"},
        {"callbackUrl": "evil"},
        {"note": "https://evil.example.org/x"},
        {"note": "see HTTPS://evil.example.org"},
        {"note": "http:/evil.example.org"},
        {"note": "http:\\\\evil.example.org"},
        {"note": "mailto:a@evil.example.org"},
        {"note": "data:text/html;base64,AAAA"},
        {"note": "s3://bucket/key"},
        {"note": "go to www.evil.org/x"},
        {"note": "\uff48\uff54\uff54\uff50\uff53://evil.example.org"},
        {"note": "https%3A%2F%2Fevil.example.org"},
        {"note": "10.0.0.1"},
        {"note": "::1"},
        {"deep": {"list": [{"endpoint": "evil"}]}},
        {"names": {"https://evil.example.org": 1}},
    ],
)
def test_a_tool_that_does_not_send_is_given_no_host(
    effect: Approval, arguments: dict[str, Any], scope: Scope
):
    judged = judge(arguments, scope, spec(effect))
    assert judged.rule is Rule.DENY
    assert "sends nothing" in judged.reason
    assert "evil" not in judged.reason


@pytest.mark.parametrize(
    ("raw", "shown", "note"),
    [
        ("https://api.example.org/x?y=1", "api.example.org", ""),
        ("http://api.example.org", "api.example.org", "not encrypted"),
        ("https://API.Example.ORG.:8443/x", "api.example.org:8443", ""),
        ("https://hospital.example@evil.example/x", "evil.example", "contains a user name"),
        ("https://a:b@evil.example", "evil.example", "contains a user name"),
        ("https://evil.example#@good.example", "evil.example", ""),
        ("https://evil.example?@good.example", "evil.example", ""),
        ("https://xn--80ak6aa92e.com", "xn--80ak6aa92e.com", "another alphabet"),
        ("https://\u0430\u0440\u0440\u04cf\u0435.com", "xn--80ak6aa92e.com", "another alphabet"),
        ("https://\uff45vil.example", "evil.example", "alphabet or width"),
        ("https://2130706433/", "127.0.0.1", "this computer"),
        ("https://0x7f000001/", "127.0.0.1", "unusual spelling: 0x7f000001"),
        ("https://0177.0.0.1/", "127.0.0.1", "this computer"),
        ("https://127.1:80/", "127.0.0.1:80", "unusual spelling: 127.1"),
        ("https://0/", "0.0.0.0", "this computer"),
        ("https://[::1]:9/", "[::1]:9", "this computer"),
        ("https://[::ffff:10.0.0.1]/", "[::ffff:a00:1]", "stands for 10.0.0.1"),
        ("https://10.1.2.3", "10.1.2.3", "local network"),
        ("https://192.168.1.1", "192.168.1.1", "local network"),
        ("https://169.254.169.254/latest", "169.254.169.254", "secrets"),
        ("https://localhost:1", "localhost:1", "this computer"),
        ("https://a.localhost", "a.localhost", ""),
        ("https://pacs", "pacs", "local network"),
        ("https://pacs.lan", "pacs.lan", "local network"),
        ("pacs.example.org:104", "pacs.example.org:104", ""),
        ("8.8.8.8", "8.8.8.8", ""),
        ("mailto:me@mail.example", "mail.example", "contains a user name"),
    ],
)
def test_a_host_is_shown_as_it_is_really_reached(raw: str, shown: str, note: str, scope: Scope):
    judged = judge({"url": raw}, scope, SENDER)
    assert judged.rule is Rule.ASK
    (touch,) = judged.touches
    assert (touch.what, touch.shown) == ("sends to", shown)
    assert note in touch.note
    assert bool(note) == bool(touch.note)


@pytest.mark.parametrize(
    "raw",
    [
        "https://good.example\\@evil.example",
        "https:\\\\evil.example",
        "https:/evil.example",
        "https:evil.example",
        "https:///evil.example",
        "https://a@b@c.example",
        "https://evil.example:99999",
        "https://evil.example:80:90",
        "https://ev%69l.example",
        "https://evil\u200b.example",
        "https://evil .example",
        "https://256.1.1.1",
        "https://1.2.3.4.5/",
        "https://09.1.1.1/",
        "https://-evil.example",
        "https://",
        "javascript:alert(1)",
        "evil.example/x y",
    ],
)
def test_a_host_that_programs_read_differently_is_refused(raw: str, scope: Scope):
    assert denied({"url": raw}, scope, SENDER)


@given(st.text(st.sampled_from("http:/\\@.[]%?#0123456789abcx \u200b\u0430"), max_size=30))
def test_no_spelling_of_a_host_breaks_the_reader(raw: str):
    try:
        host = host_rules.parse_host(raw)
    except host_rules.AmbiguousHost:
        return
    assert host.shown.isascii()
    assert "@" not in host.shown
    assert host_rules.parse_host(f"https://{host.shown}/").shown == host.shown


def test_a_site_lists_hosts(scope: Scope):
    hosts = {
        "allow": ["*.hospital.example", "10.0.0.0/8", "pacs:104"],
        "deny": ["old.hospital.example"],
    }
    for raw, rule in (
        ("https://a.hospital.example", Rule.ASK),
        ("https://hospital.example", Rule.DENY),
        ("https://old.hospital.example", Rule.DENY),
        ("https://a.hospital.example.evil.org", Rule.DENY),
        ("https://a.hospital.example@evil.org", Rule.DENY),
        ("https://10.9.9.9", Rule.ASK),
        ("https://167772161", Rule.ASK),  # 10.0.0.1
        ("https://11.0.0.1", Rule.DENY),
        ("pacs:104", Rule.ASK),
        ("pacs:105", Rule.DENY),
    ):
        assert judge({"url": raw}, scope, SENDER, hosts=hosts).rule is rule, raw
    assert judge({"text": "hello"}, scope, SENDER, hosts=hosts).rule is Rule.DENY
    fixed = replace(SENDER, hosts=("a.hospital.example",))
    judged = judge({"text": "hello"}, scope, fixed, hosts=hosts)
    assert [touch.shown for touch in judged.touches] == ["a.hospital.example"]
