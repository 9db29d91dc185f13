"""Planted identifiers turn up nowhere: not in what is sent, nor in logs, settings, titles, files.

The real program on a study full of them, with a "cloud" on this machine that is allowed everything,
pictures too; run to its end, killed in the middle, and ended by an error that names the patient.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from installer.console import Console
from installer.system import virtual_display
from tests.conftest import REPO
from tests.support import anthropic_server as anthropic
from tests.support.anthropic_server import AnthropicServer
from tests.support.canary import (
    ATTRIBUTES,
    IDENTIFIERS,
    found_below,
    found_in,
    study,
    written_in_every_way,
)
from tests.support.openai_server import OpenAIServer, call_reply, text_reply

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform == "win32", reason="kills process groups, sets TMPDIR"),
]

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_letter", {}),  # first: only the open file's header says which of its words are names
    ("dicom_processor", {"dicom_path": "image-1"}),
    ("image_visualizer", {"image_path": "result-1.png", "title": "Bríděna Qwrtzell"}),
    ("read_header", {}),
    ("read_result", {"id": "1"}),
    ("read_result", {"id": "4", "path": "output.header"}),
    ("fail", {}),
    ("no_such_tool", {"patient": "Qwrtzell"}),
    ("update_plan", {"steps": [{"title": "Look at Žůžková"}]}),
]
QUESTION = (
    "Is Bríděna Žůžková-O'Qwrtzell (born November 27, 1943, QX-7741903-Z, Dr. Håkklebrandt) well?"
)


@dataclass
class Place:
    """A profile, a folder for temporary files and a study, all of this test's own."""

    root: Path
    image: Path
    report: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def sessions(self) -> Path:
        return self.home / "data" / "sessions"

    @property
    def index(self) -> list[Path]:
        """Of opened files: it holds names by design; SIGHTLINE_NO_INDEX=1 keeps none."""
        return [self.home / "cache" / "index"]

    def use(self, kind: str, url: str) -> None:
        """Choose the endpoint, as the settings dialog does."""
        (self.home / "config").mkdir(parents=True)
        chosen = {"base_url": url, "model": "test-model", "images": True, "context_tokens": 200_000}
        settings = {"llm": {"kind": kind, kind: chosen}}
        (self.home / "config" / "settings.json").write_text(json.dumps(settings))

    def start(self, *arguments: str, url: str = "", **env: str) -> subprocess.Popen[str]:
        """Start the program; its children are killed with it."""
        host = urlsplit(url).netloc
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.canary_run", *arguments],
            cwd=REPO,
            env={
                **os.environ,
                "SIGHTLINE_HOME": str(self.home),
                "TMPDIR": str(self.temporary),
                "XDG_CACHE_HOME": str(self.root / "xdg"),
                "QT_QPA_PLATFORM": "offscreen",
                "SIGHTLINE_ALLOW_REMOTE": host,
                "SIGHTLINE_ALLOW_PICTURES": host,
                "SIGHTLINE_ALLOW_RISKY_PICTURES": host,
                "SIGHTLINE_OPENAI_KEY": "k",
                "SIGHTLINE_ANTHROPIC_KEY": "k",
                **env,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ask(self, url: str, *options: str, **env: str) -> subprocess.Popen[str]:
        return self.start("ask", QUESTION, "--image", str(self.image), *options, url=url, **env)

    def assert_nothing_is_left_about(self) -> None:
        """Nothing in temporary files, settings, logs, the audit log, or anything else but these."""
        assert found_below(self.temporary) == {}
        assert found_below(self.home, without=(self.sessions, *self.index)) == {}
        assert self.log().is_file()

    def log(self) -> Path:
        return self.home / "log" / "sightline.log"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("home", "tmp", "study"):
        (tmp_path / name).mkdir()
    return Place(tmp_path, *study(tmp_path / "study"))


def replies(kind: str) -> list[Any]:
    if kind == "openai":
        calls = [call_reply(name, given, f"c{n}") for n, (name, given) in enumerate(CALLS)]
        return [*calls, text_reply("Žůžková is well.")]
    made = [
        [
            anthropic.start(),
            *anthropic.tool_use(0, name, json.dumps(given), f"toolu_{n}"),
            *anthropic.stop("tool_use"),
        ]
        for n, (name, given) in enumerate(CALLS)
    ]
    last = [anthropic.start(), *anthropic.text(0, "Žůžková is well."), *anthropic.stop()]
    return [*made, last]


def served(kind: str) -> OpenAIServer | AnthropicServer:
    made = replies(kind)
    return OpenAIServer(made) if kind == "openai" else AnthropicServer(*made)


def sent(server: OpenAIServer | AnthropicServer) -> bytes:
    """Every byte that reached the endpoint: bodies, headers, addresses."""
    heads = json.dumps([server.headers, getattr(server, "paths", [])], ensure_ascii=False)
    return b"\n".join([*server.bodies, heads.encode()])


def pictures_in(data: bytes) -> int:
    return len(re.findall(rb"iVBORw0KGgo", data))


# The search itself


@pytest.mark.parametrize("name", ["PatientName", "PatientAddress", "PatientID", "PatientBirthDate"])
def test_the_search_finds_an_identifier_however_it_is_written(name: str):
    hidden = f"before {ATTRIBUTES[name].replace('^', ' ')} after"
    for way, data in written_in_every_way(hidden).items():
        assert name in found_in(data), way


def test_there_are_sixty_identifiers_and_the_study_holds_each(place: Place):
    assert len(IDENTIFIERS) >= 60
    assert all(IDENTIFIERS.values())
    held = found_below(place.root / "study")
    assert set.union(*held.values()) == set(IDENTIFIERS)


def test_the_search_finds_nothing_in_the_programs_own_files():
    own = [REPO / "README.md", *(REPO / "app" / "agent").glob("*.py"), *REPO.glob("docs/*.md")]
    assert {
        path.name: found_in(path.read_bytes()) for path in own if found_in(path.read_bytes())
    } == {}


# The runs


def test_a_whole_run_sends_and_leaves_none_of_them(place: Place):
    """To Anthropic's endpoint; the window's run below goes to the other kind."""
    pytest.importorskip("anthropic")
    with served("anthropic") as server:
        place.use("anthropic", server.url)
        run = place.ask(server.url, "--json")
        output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert len(server.bodies) == len(CALLS) + 1
    data = sent(server)
    assert found_in(data) == set()
    assert pictures_in(data) >= 1, "pictures went, too"
    assert b"letter" in data
    assert b"[removed]" in data
    place.assert_nothing_is_left_about()
    assert "RuntimeError" in place.log().read_text(), "the tool's failure was logged"
    assert list((place.home / "data" / "audit").glob("*.jsonl")), "the audit log was searched"
    kept = found_below(place.sessions)
    assert len(set.union(*kept.values())) >= 60, "on this machine the conversation is whole"
    assert json.loads(output.splitlines()[-1])["kind"] == "run_finished"


def test_without_the_cleaning_they_would_be_sent(place: Place):
    """The search can fail: the same run, with nothing removed, sends nearly all of them."""
    with served("openai") as server:
        place.use("openai", server.url)
        run = place.ask(server.url, "--json", CANARY="bare")
        _, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert len(found_in(sent(server))) >= 60


@pytest.mark.slow
def test_a_kill_in_the_middle_leaves_none_of_them_about(place: Place):
    stalled = threading.Event()

    def answer(request: dict[str, Any]) -> Any:
        done = sum(message["role"] == "tool" for message in request["messages"])
        if done < 5:
            return call_reply(*CALLS[done], f"c{done}")
        stalled.set()
        server.release.wait(60)
        return text_reply("too late")

    with OpenAIServer(answer=answer) as server:
        place.use("openai", server.url)
        run = place.ask(server.url, "--json")
        assert stalled.wait(90), run.poll()
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=30)
        server.release.set()
    assert found_in(sent(server)) == set()
    place.assert_nothing_is_left_about()
    assert found_below(place.sessions) != {}


def test_an_error_that_names_the_patient_gets_into_no_log(place: Place):
    with served("openai") as server:
        place.use("openai", server.url)
        run = place.ask(server.url, CANARY="crash")
        _, errors = run.communicate(timeout=120)
    assert run.returncode != 0
    assert "RuntimeError" in errors, "it did end by that error"
    assert found_in(sent(server)) == set()
    place.assert_nothing_is_left_about()


# The window


@pytest.fixture
def display() -> Iterator[dict[str, str]]:
    for program in ("Xvfb", "xwininfo", "xprop"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with virtual_display(Console()) as variables:
        yield variables


def windows(display: dict[str, str]) -> str:
    """What the X server knows of every window: titles, icon titles, classes, commands."""
    env = {**os.environ, **display}
    tree = _told(["xwininfo", "-root", "-tree"], env)
    ids = re.findall(r"^\s+(0x[0-9a-f]+)", tree, re.MULTILINE)
    asked = [["-root"], *(["-id", window] for window in ids)]
    return tree + "".join(_told(["xprop", *which], env) for which in asked)


def _told(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=30)
    return done.stdout.decode("utf-8", "replace")


def until(wanted: Callable[[], bool], run: subprocess.Popen[str]) -> None:
    """Wait for what another process does; it can tell us in no other way."""
    for _ in range(600):
        if wanted():
            return
        assert run.poll() is None, run.communicate()[1]
        threading.Event().wait(0.1)
    raise AssertionError("it did not happen within a minute")


def test_a_title_that_names_somebody_would_be_found(display: dict[str, str]):
    name = ["-root", "-format", "WM_NAME", "8u", "-set", "WM_NAME", "Qwrtzell, Bríděna"]
    _told(["xprop", *name], {**os.environ, **display})
    assert "PatientName" in found_in(windows(display).encode())


def test_the_window_sends_shows_and_leaves_none_of_them_through_a_kill(
    place: Place, display: dict[str, str]
):
    """The same run in the window: what its titles say while it is sent, and when it is killed."""
    told: list[str] = []
    stalled, go_on = threading.Event(), threading.Event()

    def answer(request: dict[str, Any]) -> Any:
        done = sum(message["role"] == "tool" for message in request["messages"])
        if done == 2:
            stalled.set()
            go_on.wait(60)
        if done < len(CALLS):
            return call_reply(*CALLS[done], f"c{done}")
        return text_reply("Žůžková is well.")

    with OpenAIServer(answer=answer) as server:
        place.use("openai", server.url)
        folder = str(place.image.parent)
        run = place.start(folder, "--ask", QUESTION, CANARY="agreed", **display)
        try:
            until(stalled.is_set, run)
            told.append(windows(display))
            go_on.set()
            until(lambda: "run_finished" in _sessions_text(place), run)
            told.append(windows(display))
        finally:
            go_on.set()
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate(timeout=30)
    assert all("Sightline" in text for text in told)
    assert found_in("".join(told).encode()) == set()
    data = sent(server)
    assert len(server.bodies) == len(CALLS) + 1
    assert pictures_in(data) >= 1
    assert found_in(data) == set()
    place.assert_nothing_is_left_about()
    assert len(set.union(*found_below(place.sessions).values())) >= 60


@pytest.mark.slow
def test_a_window_that_is_closed_in_order_leaves_none_of_them_about(place: Place):
    picture = str(place.root / "x.png")
    run = place.start(str(place.image.parent), "--screenshot", picture)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert Path(picture).is_file()
    place.assert_nothing_is_left_about()


def _sessions_text(place: Place) -> str:
    files = place.sessions.rglob("*.jsonl") if place.sessions.is_dir() else ()
    return "".join(path.read_text(encoding="utf-8") for path in files)
