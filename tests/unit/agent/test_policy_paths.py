"""No tool is given a file that is not of its run, however it is named; writes show where to."""

from __future__ import annotations

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

from app.agent.policy import Rule, Scope
from app.tools.api import Approval
from tests.support.fake_tools import NoImages
from tests.support.policy_scope import WRITER, Typed, denied, judge, open_scope, spec


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return open_scope(tmp_path)


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


def test_a_path_is_declared_where_its_name_says_nothing(scope: Scope):
    typed = spec(given=Typed, paths=dict.fromkeys(("place", "places", "deep"), "read"))
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
    with_home = replace(scope, protected=Scope.for_run(_NoNames(), [], tmp_path).protected)
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


@given(st.lists(PARTS, min_size=1, max_size=7))
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_written_lies_in_the_runs_folder_or_is_shown_as_it_is(
    scope: Scope, tmp_path: Path, parts: list[str]
):
    out, image = tmp_path / "run 1", tmp_path / "study of DOE JANE" / "chest.dcm"
    known = {"{base}": str(tmp_path), "{out}": str(out), "{image}": str(image)}
    text = "".join(known.get(part, part) for part in parts)
    judged = judge({"path": text}, scope, WRITER)
    if judged.rule is Rule.DENY or not text.strip():
        return
    for way in (out / text, out / Path(os.path.expandvars(text)), out / os.path.expanduser(text)):  # noqa: PTH111
        written = way.resolve()
        shown = [touch.shown for touch in judged.touches]
        assert written.is_relative_to(out) or [str(written)] == shown, (text, written)
        assert written != image


def test_a_scope_is_renewed_by_what_was_made_since_and_is_the_same_where_nothing_was(
    tmp_path: Path,
):
    class Made(NoImages):
        made: tuple[str, ...] = ()

        def names(self) -> tuple[str, ...]:
            return self.made

    images = Made()
    before = Scope.for_run(images, [], tmp_path)
    assert before.refreshed(images, []) is before
    images.made = ("made-1",)
    after = before.refreshed(images, [])
    assert (before.holds("made-1"), after.holds("made-1")) == (False, True)
    assert after.protected == before.protected
