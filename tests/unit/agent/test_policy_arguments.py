"""Arguments are judged whatever a tool says it does: files, hosts, sizes, a site's own rules."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from app import paths
from app.agent.approvals import Gate, Verdict, tool_request
from app.agent.emitter import Emitter
from app.agent.events import ApprovalRequested
from app.agent.messages import ToolCall
from app.agent.policing import hosts as host_rules
from app.agent.policing.site import site_policies
from app.agent.policy import Grants, Judgement, Policy, Rule, Scope
from app.agent.request import Decision
from app.errors import UsageError
from app.imaging.types import Instance
from app.tools.api import Approval, PathUse, ToolSpec
from app.tools.images import OpenImage, RunImages
from tests.support.fake_tools import Anything


class Free(BaseModel):
    """Any arguments under any name."""

    model_config = ConfigDict(extra="allow")


class Typed(BaseModel):
    """Paths and addresses by type alone; their names say nothing."""

    place: Path = Path("start")
    places: list[Path] = []
    deep: dict[str, list[Path | None]] = {}
    link: str = Field(default="", json_schema_extra={"format": "uri"})
    count: int = 1
    note: str = ""


def spec(
    effect: Approval = Approval.READ,
    given: type[BaseModel] = Free,
    paths: dict[str, PathUse] | None = None,
    **more: Any,
) -> ToolSpec:
    return ToolSpec(
        "tool", "Made for tests.", given, Anything, approval=effect, paths=paths or {}, **more
    )


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    """An open image, a run's folder with one file, and a secret beside them."""
    study, out = tmp_path / "study of DOE JANE", tmp_path / "run 1"
    study.mkdir()
    out.mkdir()
    (study / "chest.dcm").write_bytes(b"DICM")
    (study / "other.dcm").write_bytes(b"DICM")
    (out / "overlay.png").write_bytes(b"PNG")
    (tmp_path / "secret.txt").write_text("secret")
    (out / "way-out").symlink_to(tmp_path)
    instance = Instance(study / "chest.dcm", "1.2.3", "dicom", 4, 4)
    opened = [OpenImage("image-1", instance)]
    images = RunImages(opened, out, None)  # type: ignore[arg-type]
    return Scope.of(images, images.notes(remote=False), out)


def judge(
    given: dict[str, Any], scope: Scope, wanted: ToolSpec | None = None, **site: Any
) -> Judgement:
    wanted = wanted or spec()
    return Policy.from_data(site).judge(wanted, wanted.Input.model_validate(given), scope)


def denied(arguments: dict[str, Any], scope: Scope, wanted: ToolSpec | None = None) -> bool:
    return judge(arguments, scope, wanted).rule is Rule.DENY


# -- files that may be named ------------------------------------------------------------------


def test_an_open_image_and_the_runs_own_files_may_be_named(scope: Scope, tmp_path: Path):
    out = tmp_path / "run 1"
    for name in (
        "image-1",
        "IMAGE-1",
        " image-1 ",
        str(tmp_path / "study of DOE JANE" / "chest.dcm"),
        f"{tmp_path}/study of DOE JANE/../study of DOE JANE/chest.dcm",
        "chest.dcm",
        "overlay.png",
        str(out / "overlay.png"),
        str(out / "not there yet.png"),
    ):
        for argument in ("image_path", "image", "files", "note"):
            value: Any = [name] if argument == "files" else name
            assert judge({argument: value}, scope).rule is Rule.ALLOW, (argument, name)


def elsewhere(tmp_path: Path) -> list[str]:
    """Ways to name a file that is not the run's."""
    secret, out = tmp_path / "secret.txt", tmp_path / "run 1"
    return [
        str(secret),
        f" {secret} ",
        f"{out}/../secret.txt",
        "../secret.txt",
        f"{out}/way-out/secret.txt",
        "way-out/secret.txt",
        f"{tmp_path}/study of DOE JANE/other.dcm",
        f"{tmp_path}/study of DOE JANE",
        f"file://{secret}",
        f"FILE:{secret}",
        f"file:///{secret}",
        f"//localhost{secret}",
        "/etc/passwd",
        "/proc/self/environ",
        "/",
        "~",
        "~/.ssh/id_rsa",
        "~root/x",
        "$HOME/.ssh/id_rsa",
        "${HOME}/.ssh/id_rsa",
        "%USERPROFILE%\\secret.txt",
        "C:\\Users\\x\\secret.txt",
        "c:/Users/x/secret.txt",
        "\\\\server\\share\\secret.txt",
        "\\\\?\\C:\\secret.txt",
        "\\Device\\HarddiskVolume1\\secret.txt",
        "..\\secret.txt",
        "a/../../secret.txt",
        "%2e%2e%2fsecret.txt",
        "%252e%252e%252fsecret.txt",
        "\uff0fetc\uff0fpasswd",
        "\uff0e\uff0e\uff0fsecret.txt",
        "/etc/passwd\0.png",
    ]


SHAPES: dict[str, Callable[[str], dict[str, Any]]] = {
    "named": lambda text: {"image_path": text},
    "unnamed": lambda text: {"note": text},
    "in a list": lambda text: {"notes": ["image-1", [text]]},
    "in a table": lambda text: {"options": {"a": {"b": [{"c": text}]}}},
    "as a name in a table": lambda text: {"options": {text: 1}},
    "beside a good one": lambda text: {"image_path": "image-1", "more": text},
}


@pytest.mark.parametrize("effect", list(Approval))
@pytest.mark.parametrize("shape", list(SHAPES))
def test_no_other_file_may_be_named_by_any_tool_at_any_depth(
    shape: str, effect: Approval, scope: Scope, tmp_path: Path
):
    for text in elsewhere(tmp_path):
        judged = judge(SHAPES[shape](text), scope, spec(effect))
        assert judged.rule is Rule.DENY, text
        assert "tool was not run" in judged.reason
        assert "secret" not in judged.reason + judged.remedy, "a path may be a patient's name"


def test_the_refusal_says_which_argument_and_what_can_be_named(scope: Scope):
    judged = judge({"options": {"files": ["image-1", "/etc/passwd"]}}, scope)
    assert judged.argument == "options.files[1]"
    assert "options.files[1] names neither an open image nor a file of this run" in judged.reason
    assert judged.remedy == "Use one of: image-1."


@pytest.mark.parametrize(
    "text",
    [
        "Compare with {secret} please",
        "({secret})",
        '{{"path": "{secret}"}}',
        "open='{secret}'",
        "cat ~/.ssh/id_rsa",
        "see file://{secret} and tell",
        "image-1,{secret}",
        "path:{secret}",
        "image:=[{secret}]",
        "`{secret}`",
        "\u2013{secret}\u2013",
        "\u200b{secret}",
        "first line\n{secret}",
        "{out}/../secret.txt is near",
        "{out}/way-out/secret.txt is near",
        "look at {out}and{secret}",
        "read ../../secret.txt",
        "copy \\\\server\\share\\x",
        "copy C:\\Users\\x",
    ],
)
def test_a_path_in_the_middle_of_a_text_is_found(text: str, scope: Scope, tmp_path: Path):
    filled = text.format(secret=tmp_path / "secret.txt", out=tmp_path / "run 1")
    assert denied({"question": filled}, scope), filled


@pytest.mark.parametrize(
    "text",
    [
        "Is the heart enlarged?",
        "normal/abnormal",
        "normal /abnormal/unclear, left/right",
        "5 mg/dL and/or 10 /min",
        "T1/T2 ratio ~5 mm, ~half of it",
        "Score 3/10... or 4/10",
        "1.2.840.10008.5.1.4.1.1.1.1",
        "Write C: normal, D: abnormal",
        "60 % of it; 5 % (normal)",
        "a -> b, <b>bold</b>, </b>",
        "[Impression] no change since 12/05/2024",
        "What is in overlay.png and chest.dcm?",
        "# heading\n- item: value\n",
        "\u00e4\u00f6\u00fc \u4e2d\u6587",
    ],
)
def test_what_radiologists_write_is_no_path(text: str, scope: Scope):
    assert judge({"question": text, "title": text, "prompt": text}, scope).rule is Rule.ALLOW


def test_the_runs_own_paths_may_stand_in_a_text_spaces_included(scope: Scope, tmp_path: Path):
    image, out = tmp_path / "study of DOE JANE" / "chest.dcm", tmp_path / "run 1"
    text = f"Made from {image}, kept as {out}/overlay.png."
    assert judge({"description": text}, scope).rule is Rule.ALLOW
    assert denied({"description": text + f" And {image}.bak/../other.dcm"}, scope)


def test_a_path_is_known_by_its_type_where_its_name_says_nothing(scope: Scope):
    typed = spec(given=Typed)
    assert judge({}, scope, typed).rule is Rule.ALLOW, "the tool's own default"
    for arguments in (
        {"place": "/etc"},
        {"place": "sub/folder"},
        {"places": ["image-1", ".hidden"]},
        {"deep": {"a": [None, "/etc/passwd"]}},
    ):
        assert denied(arguments, scope, typed), arguments
    assert judge({"place": "overlay.png"}, scope, typed).rule is Rule.ALLOW


def test_a_file_where_the_program_was_started_is_not_the_runs(
    scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for argument in ("image_path", "note", "files"):
        assert denied({argument: "secret.txt"}, scope), argument
    assert judge({"image_path": "nothing-of-that-name.png"}, scope).rule is Rule.ALLOW
    (tmp_path / "heart").write_text("x")
    assert judge({"organs": ["heart"]}, scope).rule is Rule.ALLOW, "a word is no file name"


def test_where_nothing_is_open_nothing_may_be_named(tmp_path: Path):
    for text in elsewhere(tmp_path):
        assert denied({"image_path": text}, Scope())


def test_an_argument_that_is_only_called_like_a_path_can_be_declared_a_text(scope: Scope):
    wanted = spec(paths={"path": "text"})
    assert judge({"path": "output.items[2].name"}, scope, wanted).rule is Rule.ALLOW
    assert judge({"path": ".items"}, scope, wanted).rule is Rule.ALLOW
    assert denied({"path": "/etc/passwd"}, scope, wanted), "but not to be one"


SIGNS = st.text(st.sampled_from("/\\.~:%$ aA2f\0\n\u202e\uff0f\"'"), max_size=25)


@given(SIGNS)
@example("/..//../etc/passwd")
@example("....//etc")
def test_whatever_passes_leads_to_no_file_outside(text: str):
    judged = judge({"image_path": text, "note": text}, Scope())
    if judged.rule is Rule.ALLOW and text.strip():
        assert not Path(text.strip()).is_absolute()
        assert not os.path.lexists(text.strip()) or not set("./\\") & set(text)


def test_a_long_text_is_judged_in_no_time(scope: Scope):
    import time

    texts = ["/" * 90_000, "~" * 90_000, "../" * 30_000, "a/" * 45_000, "%25" * 30_000]
    texts += [
        "/a" * 45_000,
        "\\" * 90_000,
        "http:" * 18_000,
        "a." * 45_000,
        "x" * 90_000,
        "1:" * 45_000,
    ]
    for text in texts:
        begun = time.process_time()
        judge({"note": text}, scope)
        assert time.process_time() - begun < 2.0, text[:6]


# -- files that would be written --------------------------------------------------------------

WRITER = spec(Approval.WRITE, paths={"path": "write", "into.file": "write"})


def test_a_declared_target_is_asked_for_with_its_whole_path(scope: Scope, tmp_path: Path):
    target = tmp_path / "exports" / "a.png"
    judged = judge({"path": str(target)}, scope, WRITER)
    assert judged.rule is Rule.ASK
    (touch,) = judged.touches
    assert (touch.what, touch.argument, touch.shown) == ("writes", "path", str(target))
    assert touch.note == "a new file"


def test_links_are_followed_before_the_user_is_asked(scope: Scope, tmp_path: Path):
    (tmp_path / "safe").symlink_to("/etc")
    judged = judge({"path": str(tmp_path / "safe" / "passwd")}, scope, WRITER)
    (touch,) = judged.touches
    assert touch.shown == str(Path("/etc/passwd").resolve())
    assert "a link leads there" in touch.note
    assert "replaces the file that is there" in touch.note


def test_a_relative_target_lies_in_the_runs_folder_or_nowhere(scope: Scope):
    assert judge({"path": "new.png"}, scope, WRITER).touches == ()
    assert judge({"path": "sub/new.png"}, scope, WRITER).rule is Rule.ASK, "a write always asks"
    for text in ("../new.png", "way-out/new.png", "sub/../../x"):
        assert denied({"path": text}, scope, WRITER), text


@pytest.mark.parametrize(
    "text",
    ["~/x.png", "file:///tmp/x", "$HOME/x", "\\\\server\\share\\x", "//server/share/x", " /tmp/x"]
    + (["C:\\x.png"] if sys.platform != "win32" else []),
)
def test_a_target_is_written_plainly_or_refused(text: str, scope: Scope):
    assert denied({"path": text}, scope, WRITER)


def test_an_open_image_and_the_programs_own_files_are_never_overwritten(
    scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "home"
    monkeypatch.setenv("SIGHTLINE_HOME", str(home))
    image = tmp_path / "study of DOE JANE" / "chest.dcm"
    (tmp_path / "alias.dcm").symlink_to(image)
    with_home = replace(scope, protected=Scope.of(_NoNames(), [], tmp_path).protected)
    for target in (
        image,
        tmp_path / "alias.dcm",
        home / "config" / "settings.json",
        home / "data" / "sessions" / "x" / "session.jsonl",
    ):
        assert denied({"path": str(target)}, with_home, WRITER), target


class _NoNames:
    def names(self) -> tuple[str, ...]:
        return ()


def test_a_tool_that_is_not_declared_to_write_gets_no_target(scope: Scope, tmp_path: Path):
    for effect in (Approval.READ, Approval.COMPUTE):
        wanted = replace(WRITER, approval=effect)
        assert denied({"path": str(tmp_path / "x.png")}, scope, wanted)
        assert judge({"path": "x.png"}, scope, wanted).rule is Rule.ALLOW


def test_an_undeclared_path_of_a_tool_that_writes_is_refused(scope: Scope, tmp_path: Path):
    assert denied({"path": str(tmp_path / "x.png")}, scope, spec(Approval.WRITE))
    nested = {"into": [{"file": str(tmp_path / "x.png")}]}
    assert judge(nested, scope, WRITER).rule is Rule.ASK
    assert denied({"into": [{"other": str(tmp_path / "x.png")}]}, scope, WRITER)


def test_a_site_says_where_may_be_written(scope: Scope, tmp_path: Path):
    folders = {"allow": [str(tmp_path / "exports")], "deny": [str(tmp_path / "exports" / "old")]}
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "link").symlink_to(tmp_path)
    for below, rule in (
        ("exports/a.png", Rule.ASK),
        ("exports/old/a.png", Rule.DENY),
        ("other/a.png", Rule.DENY),
        ("exports/link/a.png", Rule.DENY),
    ):
        judged = judge({"path": str(tmp_path / below)}, scope, WRITER, folders=folders)
        assert judged.rule is rule, below


# -- hosts ------------------------------------------------------------------------------------

SENDER = spec(Approval.SEND)


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


def test_an_address_is_known_by_its_type(scope: Scope):
    assert denied({"link": "evil"}, scope, spec(given=Typed))


@pytest.mark.parametrize(
    ("raw", "shown", "note"),
    [
        ("https://api.example.org/x?y=1", "api.example.org", ""),
        ("http://api.example.org", "api.example.org", "not encrypted"),
        ("https://API.Example.ORG.:8443/x", "api.example.org:8443", ""),
        ("https://hospital.example@evil.example/x", "evil.example", "stands before the host"),
        ("https://a:b@evil.example", "evil.example", "stands before the host"),
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
        ("https://a.localhost", "a.localhost", "this computer"),
        ("https://pacs", "pacs", "local network"),
        ("https://pacs.lan", "pacs.lan", "local network"),
        ("pacs.example.org:104", "pacs.example.org:104", ""),
        ("8.8.8.8", "8.8.8.8", ""),
        ("mailto:me@mail.example", "mail.example", "stands before the host"),
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
        host = host_rules.parse(raw)
    except host_rules.Unclear:
        return
    assert host.shown.isascii()
    assert "@" not in host.shown
    assert host_rules.parse(f"https://{host.shown}/").shown == host.shown


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
        ({"a": float("inf")}, "no finite number"),
        ({"a": float("nan")}, "no finite number"),
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


def test_a_site_makes_sizes_smaller_and_never_larger(scope: Scope):
    small = {"text": 10, "items": 2, "number": 5}
    assert judge({"a": "x" * 11}, scope, sizes=small).rule is Rule.DENY
    assert judge({"a": [1, 2, 3]}, scope, sizes=small).rule is Rule.DENY
    assert judge({"a": 6}, scope, sizes=small).rule is Rule.DENY
    assert judge({"a": ["x" * 10, 5]}, scope, sizes=small).rule is Rule.ALLOW
    large = {"text": 10**9, "items": 10**9, "number": 1e30}
    assert judge({"a": "x" * 100_001}, scope, sizes=large).rule is Rule.DENY


# -- a site's rules for arguments -------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "arguments", "outcome"),
    [
        ({"rule": "ask"}, {"count": 2}, Rule.ASK),
        ({"rule": "ask"}, {"count": 1}, Rule.ALLOW),  # its default
        ({"rule": "deny"}, {"count": 2}, Rule.DENY),
        ({"greatest": 10}, {"count": 11}, Rule.DENY),
        ({"greatest": 10}, {"count": 10}, Rule.ALLOW),
        ({"least": 0}, {"count": -1}, Rule.DENY),
        ({"values": ["2", "3"]}, {"count": 4}, Rule.DENY),
        ({"values": ["2", "3"]}, {"count": 3}, Rule.ALLOW),
    ],
)
def test_a_site_has_rules_for_an_argument(
    rule: dict[str, Any], arguments: dict[str, Any], outcome: Rule, scope: Scope
):
    for tool in ("tool", "*"):
        rules = {tool: {"count": rule}}
        assert judge(arguments, scope, spec(given=Typed), arguments=rules).rule is outcome
    other = {"other": {"count": rule}}
    assert judge(arguments, scope, spec(given=Typed), arguments=other).rule is Rule.ALLOW


def test_a_rule_for_an_argument_holds_at_any_depth(scope: Scope):
    rules = {"tool": {"parts.text": {"longest": 3}, "list": {"most": 1}}}
    deep = {"parts": [{"text": "abcd"}]}
    assert judge(deep, scope, arguments=rules).rule is Rule.DENY
    assert judge({"parts": [{"text": "abc"}]}, scope, arguments=rules).rule is Rule.ALLOW
    assert judge({"list": [1, 2]}, scope, arguments=rules).rule is Rule.DENY


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"argument": {}}, "is not a part"),
        ({"arguments": []}, "is not a table"),
        ({"arguments": {"t": 1}}, "is not a table"),
        ({"arguments": {"t": {"a": "deny"}}}, "is not a table"),
        ({"arguments": {"t": {"a": {"max": 1}}}}, "is no rule for a"),
        ({"arguments": {"t": {"a": {"longest": -1}}}}, "longest is -1"),
        ({"arguments": {"t": {"a": {"least": float("nan")}}}}, "least is nan"),
        ({"arguments": {"t": {"a": {"values": "x"}}}}, "no list"),
        ({"hosts": {"allowed": []}}, "is not a part of hosts"),
        ({"hosts": {"deny": "evil"}}, "no list"),
        ({"hosts": {"deny": [1]}}, "no text"),
        ({"folders": {"allow": ["exports"]}}, "no whole path"),
        ({"sizes": {"texts": 1}}, "is no size"),
        ({"sizes": {"text": True}}, "text is True"),
        ({"remember": "no"}, "remember is 'no'"),
    ],
)
def test_what_a_site_writes_is_understood_or_refused(data: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        Policy.from_data(data)


def test_rules_that_name_what_there_is_not_are_told():
    policy = Policy.from_data(
        {
            "tools": {"tool": "ask", "toool": "deny", "*": "ask"},
            "arguments": {
                "tool": {"cuont": {}, "count": {}},
                "*": {"nowhere": {}},
                "gone": {"x": {}},
            },
        }
    )
    told = policy.unknown([spec(given=Typed)])
    assert told == [
        'A rule names the tool "toool", which is not installed. Is tool meant?',
        'A rule names the tool "gone", which is not installed.',
        'A rule names the argument "cuont", which tool has not. Is count meant?',
        'A rule names the argument "nowhere", which no tool has.',
    ]
    assert Policy.standard().unknown([spec()]) == []


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


# -- asking, and what is remembered -----------------------------------------------------------


class Case:
    """A gate that asks somebody who may do something meanwhile."""

    def __init__(self, *answers: Any, policy: Policy | None = None) -> None:
        self.gate = Gate(policy or Policy.standard(), Grants())
        self.answers = list(answers)
        self.asked: list[ApprovalRequested] = []

    def admit(self, wanted: ToolSpec, scope: Scope, /, thread: str = "t", **given: Any) -> Verdict:
        args = wanted.Input.model_validate(given)

        async def approve(event: ApprovalRequested) -> Any:
            self.asked.append(event)
            answer = self.answers.pop(0)
            return answer() if callable(answer) else answer

        return asyncio.run(
            self.gate.admit(
                wanted,
                ToolCall(id="c", name=wanted.name, arguments=given),
                args,
                thread_id=thread,
                emitter=Emitter("run", lambda event: None),
                approve=approve,
                scope=scope,
            )
        )


def test_the_question_shows_the_real_path_and_the_real_host(scope: Scope, tmp_path: Path):
    case = Case(True, True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert case.admit(WRITER, scope, path=f"{tmp_path}/link/a\u202egnp.exe").granted
    (asked,) = case.asked
    real = f"{tmp_path}/real/a\\u202egnp.exe"
    assert [item["shown"] for item in asked.touches] == [real]
    assert f"It writes {real} (a link leads there; a new file)." in asked.detail
    assert json.loads(asked.detail.split("Arguments: ", 1)[1]) == asked.arguments
    assert case.admit(SENDER, scope, url="https://a@2130706433:1/").granted
    assert case.asked[1].touches[0]["shown"] == "127.0.0.1:1"
    assert "It sends to 127.0.0.1:1 (" in case.asked[1].detail


def test_a_send_that_names_no_host_says_so():
    judged = Policy.standard().judge(SENDER, {"text": "x"})
    wanted = tool_request(SENDER, ToolCall(id="1", name="tool", arguments={}), {}, judged)
    assert "It does not say to which host." in wanted["detail"]


def test_a_link_that_changes_while_the_user_thinks_voids_the_yes(scope: Scope, tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")

    def turn() -> bool:
        link.unlink()
        link.symlink_to("/etc")
        return True

    case = Case(turn)
    verdict = case.admit(WRITER, scope, path=str(link / "passwd"))
    assert not verdict.granted
    assert "changed while the user was asked" in verdict.error


def test_a_yes_for_the_conversation_does_not_follow_a_link_that_was_turned(
    scope: Scope, tmp_path: Path
):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    case = Case(Decision(True, "session"), False)
    assert case.admit(WRITER, scope, path=str(link / "a.png")).granted
    assert case.admit(WRITER, scope, path=str(link / "a.png")).granted
    assert len(case.asked) == 1
    link.unlink()
    link.symlink_to("/etc")
    assert not case.admit(WRITER, scope, path=str(link / "a.png")).granted
    assert len(case.asked) == 2


def test_a_no_for_the_conversation_holds_for_the_tool_in_this_thread(scope: Scope):
    case = Case(Decision(True, "session"), Decision(False, "session", "no need"), True, True)
    assert case.admit(WRITER, scope, note="a").granted
    verdict = case.admit(WRITER, scope, note="b")
    assert verdict.error == 'The user did not allow tool in this conversation and said: "no need".'
    for note in ("a", "b", "c"):
        again = case.admit(WRITER, scope, note=note)
        assert not again.granted
        assert "does not want tool to be used" in again.error
    assert len(case.asked) == 2
    assert case.gate.grants.listed() == (), "what was allowed before does not hold any more"
    assert case.admit(WRITER, scope, thread="other", note="b").granted
    case.gate.grants.ask_again(thread_id="t")
    assert case.admit(WRITER, scope, note="b").granted


def test_a_no_for_the_conversation_stops_a_tool_that_otherwise_runs_freely(scope: Scope):
    case = Case()
    case.gate.grants.refuse("t", "tool")
    assert not case.admit(spec(), scope, note="a").granted
    assert case.admit(spec(), scope, thread="other", note="a").granted


def test_the_session_can_be_made_stricter_and_no_earlier_yes_counts(scope: Scope):
    case = Case(Decision(True, "session"), False, False)
    assert case.admit(WRITER, scope, note="a").granted
    case.gate.grants.strict = "ask"
    assert not case.admit(WRITER, scope, note="a").granted
    assert case.asked[-1].scopes == ["once"], "what would not hold is not offered"
    assert not case.admit(spec(), scope, note="a").granted, "reads ask as well"
    case.gate.grants.strict = "deny"
    verdict = case.admit(WRITER, scope, note="a")
    assert "switched off all tools that act" in verdict.error
    assert case.gate.needs_question(spec(), Free(), "t", scope), "and reads still ask"
    case.gate.grants.strict = ""
    assert case.admit(WRITER, scope, note="a").granted, "what was allowed is not forgotten"


def test_a_site_takes_the_yes_for_the_conversation_away(scope: Scope):
    case = Case(Decision(True, "session"), False, policy=Policy.from_data({"remember": False}))
    assert case.admit(WRITER, scope, note="a").granted
    assert case.asked[0].scopes == ["once"]
    assert not case.admit(WRITER, scope, note="a").granted


# -- tools that lie ---------------------------------------------------------------------------


class Hiding(BaseModel):
    """Goes round its own fields without the one that matters."""

    shown: str = ""
    target: str = ""

    def __iter__(self) -> Any:
        yield "shown", self.shown

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"shown": self.shown}


def test_arguments_that_hide_from_iteration_are_judged_and_shown(scope: Scope):
    args = Hiding(shown="a", target="/etc/passwd")
    assert Policy.standard().judge(spec(given=Hiding), args, scope).rule is Rule.DENY
    wanted = tool_request(spec(), ToolCall(id="1", name="tool", arguments={}), args)
    assert wanted["arguments"] == {"shown": "a", "target": "/etc/passwd"}


def test_a_spec_that_answers_twice_differently_does_not_pass_what_it_was_not_asked_for(
    scope: Scope,
):
    wavering = spec(Approval.EXECUTE)
    case = Case()
    verdict = case.admit(replace(wavering, approval=Approval.COMPUTE), scope)
    assert verdict.granted
    assert not verdict.covers(wavering, Free()), "the effect is part of what was allowed"


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
    assert policy.unknown([]) == ['A rule names the tool "tool", which is not installed.']


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


# -- what an honest tool could reach ----------------------------------------------------------

PARTS = st.sampled_from(
    [
        *(
            "{base}",
            "{out}",
            "{image}",
            "~",
            "$HOME",
            "${HOME}",
            "file://",
            "file:",
            "%2e%2e",
            "..",
        ),
        *(".", "secret.txt", "overlay.png", "way-out", "run 1", "other.dcm", "image-1", "x", ""),
        *("/", "/", "/", "//", "%2f", "\uff0f", " ", "\\", "|", ":", "a"),
    ]
)


def readings(text: str, out: Path) -> list[Path]:
    """Every way in which an honest tool might open what it was given."""
    ways = [text, text.strip(), os.path.expandvars(text), unquote(text), unquote(unquote(text))]
    ways += [unicodedata.normalize("NFKC", text), text.replace("\\", "/")]
    ways += [way.removeprefix("file://").removeprefix("file:") for way in ways]
    found: list[Path] = []
    for way in ways:
        if "\0" not in way and way.strip():
            found += [Path(way), out / way, Path(os.path.expanduser(way))]  # noqa: PTH111
    return found


@given(st.lists(PARTS, min_size=1, max_size=7))
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_passes_no_honest_way_of_opening_it_reads_another_file(
    scope: Scope, tmp_path: Path, parts: list[str]
):
    out, image = tmp_path / "run 1", tmp_path / "study of DOE JANE" / "chest.dcm"
    known = {"{base}": str(tmp_path), "{out}": str(out), "{image}": str(image)}
    text = "".join(known.get(part, part) for part in parts)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        for argument in ("image_path", "note"):
            if judge({argument: text}, scope).rule is Rule.DENY:
                continue
            for path in readings(text, out):
                inside = path.resolve().is_relative_to(out) or path.resolve() == image
                assert inside or not path.is_file(), (argument, text, path)
    finally:
        os.chdir(before)
