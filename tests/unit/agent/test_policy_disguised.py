"""Arguments that are not what they seem: bytes, secrets, own types, aliases, numbers, defaults."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, Secret

from app.agent.messages import ToolCall
from app.agent.policy import Rule, Scope, fingerprint
from app.agent.policy.approvals import tool_request
from app.tools.api import Approval
from tests.support.policy_scope import denied, judge, open_scope, spec


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return open_scope(tmp_path)


class Place:
    """A pack's own type, made of what the model wrote."""

    def __init__(self, where: str) -> None:
        self.where = where


class Bytes(BaseModel):
    path: bytes = b""


class Many(BaseModel):
    parts: deque[bytes] = deque()


class Masked(BaseModel):
    path: Secret[str] = Secret("")


class Own(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    place: Place | None = None


class Aliased(BaseModel):
    model_config = ConfigDict(extra="allow")

    path: str = Field("", alias="p")


class Address(BaseModel):
    host: int = 0


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (Bytes, {"path": "/etc/passwd"}),
        (Bytes, {"path": b"/etc/pass\xff"}),
        (Many, {"parts": ["/etc/passwd"]}),
        (Masked, {"path": "/etc/passwd"}),
        (Own, {"place": Place("/etc/passwd")}),
        (Aliased, {"p": "/etc/passwd", "path": "image-1"}),
        (Address, {"host": 2130706433}),
    ],
)
def test_no_type_hides_what_a_tool_is_given(
    given: type[BaseModel], arguments: dict[str, Any], scope: Scope
):
    assert denied(arguments, scope, spec(given=given))


def test_what_is_asked_about_is_what_the_tool_reads_whatever_else_bears_its_name():
    wanted = spec(Approval.SEND, Aliased)
    args = Aliased.model_validate({"p": "all of it", "path": "a little"})
    asked = tool_request(wanted, ToolCall(id="1", name="tool", arguments={}), args)
    assert asked["arguments"] == {"path": "all of it", "path (extra)": "a little"}


def test_other_bytes_need_another_yes():
    wanted = spec(Approval.WRITE, Bytes)
    prints = {fingerprint(wanted, Bytes(path=value)) for value in (b"\xff", "ÿ".encode(), b"y")}
    assert len(prints) == 3


def test_a_number_is_an_address_where_one_is_asked_for(scope: Scope):
    judged = judge({"host": 2130706433}, scope, spec(Approval.SEND, Address))
    assert [touch.shown for touch in judged.touches] == ["127.0.0.1"]
    assert judge({"count": 2130706433}, scope).rule is Rule.ALLOW


@pytest.mark.parametrize(
    "arguments",
    [{"peer": "evil"}, {"server_address": "evil"}, {"host_name": "evil"}, {"anything": ["::1"]}],
)
def test_a_bare_host_is_given_to_no_tool_that_does_not_send(
    arguments: dict[str, Any], scope: Scope
):
    assert denied(arguments, scope)


@pytest.mark.parametrize(
    "text", ["mask.png", "v1.2.beta", "Left.Lung", "See chest.com. Then go.", "1.2.3.4.5", "1:80"]
)
def test_what_only_looks_a_little_like_a_host_is_none(text: str, scope: Scope):
    assert judge({"text": text}, scope).rule is Rule.ALLOW


class Addressed(BaseModel):
    recipient: str = ""


def test_the_host_of_a_mail_address_is_held_against_the_list(scope: Scope):
    sender = spec(Approval.SEND, Addressed)
    hosts = {"allow": ["*.hospital.example"]}
    good = judge({"recipient": "ward@mail.hospital.example"}, scope, sender, hosts=hosts)
    assert [touch.shown for touch in good.touches] == ["mail.hospital.example"]
    for bad in ("me@evil.example.org", "me@evil.example.org:/data", "evil.museum:22/x"):
        assert judge({"recipient": bad}, scope, sender, hosts=hosts).rule is Rule.DENY


class Usual(BaseModel):
    target: str = "/srv/exports/report.txt"


def test_the_usual_target_of_a_write_is_judged_and_shown_like_any(scope: Scope):
    writer = spec(Approval.WRITE, Usual, {"target": "write"})
    assert [touch.shown for touch in judge({}, scope, writer).touches] == [Usual().target]
    assert judge({}, scope, writer, folders={"allow": ["/data"]}).rule is Rule.DENY
    assert denied({}, scope, spec(Approval.COMPUTE, Usual, {"target": "write"}))


class Made(BaseModel):
    first: str = "x"
    path: str = Field(default_factory=lambda given: given["first"])


def test_a_default_that_is_made_of_other_arguments_is_judged_as_any_value(scope: Scope):
    wanted = spec(given=Made)
    assert judge({}, scope, wanted).rule is Rule.ALLOW
    assert denied({"first": "/etc/passwd"}, scope, wanted)


def test_a_link_in_the_runs_folder_that_leads_out_is_no_plain_name(scope: Scope):
    assert denied({"file": "way-out"}, scope)
    assert judge({"file": "nothing"}, scope).rule is Rule.ALLOW


@pytest.mark.parametrize("text", ["/Patient Data/x.dcm", " /Patient Data"])
def test_a_first_folder_with_a_blank_in_its_name_is_seen(
    text: str, scope: Scope, monkeypatch: pytest.MonkeyPatch
):
    there = os.path.lexists
    monkeypatch.setattr(
        os.path, "lexists", lambda path: str(path) == "/Patient Data" or there(path)
    )
    assert denied({"text": text}, scope)
    assert judge({"text": "normal/Patient Data sheet"}, scope).rule is Rule.ALLOW


class Undeclared(BaseModel):
    """Texts that no declaration, format or key calls a path or an address."""

    text: str = ""
    parts: list[str] = []


@pytest.mark.parametrize(
    "text", ["/etc/passwd", "https://evil.example.org/x", "file:///etc/passwd"]
)
def test_an_undeclared_text_may_be_neither_a_path_elsewhere_nor_a_url(text: str, scope: Scope):
    wanted = spec(given=Undeclared)
    assert denied({"text": text}, scope, wanted)
    assert denied({"parts": ["left", text]}, scope, wanted)
    assert judge({"text": "left", "parts": ["a / b"]}, scope, wanted).rule is Rule.ALLOW


def test_a_url_in_an_undeclared_text_of_a_tool_that_sends_is_shown_and_asked_about(scope: Scope):
    judged = judge({"text": "to https://a.example:8443/x"}, scope, spec(Approval.SEND, Undeclared))
    assert (judged.rule, [touch.shown for touch in judged.touches]) == (
        Rule.ASK,
        ["a.example:8443"],
    )
