"""A pipe in place of one of the program's own files holds nothing up."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app import log, paths, settings
from app.agent.messages import Message
from app.agent.policy.policy import site_policies
from app.agent.sessions import SessionStore
from app.audit import AuditLog
from app.audit.entries import HEAD_NAME, read_entries, segment_path
from app.audit.log import audit_key
from app.audit.verification import verify
from app.errors import SightlineError
from app.secrets import Secrets
from app.settings import Settings
from app.tools.hosting.states import Durations
from app.tools.models import records

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX")
SECRET = b"a secret of thirty-two bytes....."


def pipe(path: Path) -> Path:
    """A pipe that nobody writes into."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def soon(function: Callable[[], Any]) -> Any:
    """The result of a function that must not wait for ever; None if it refuses the file."""
    results: list[Any] = []

    def call() -> None:
        with contextlib.suppress(OSError, SightlineError):
            results.append(function())

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "it waits for ever"
    return results[0] if results else None


def test_settings_are_the_defaults_and_the_pipe_is_set_aside(tmp_path: Path, caplog: Any):
    path = pipe(tmp_path / "settings.json")
    assert soon(lambda: settings.load(path)) == Settings()
    caplog.clear()
    assert not path.exists()


def test_a_sites_policy_is_told_as_one_that_cannot_be_used(tmp_path: Path, caplog: Any):
    path = pipe(tmp_path / "policy.json")
    notices: list[str] = []
    assert len(soon(lambda: site_policies([path], notices))) == 1
    caplog.clear()
    assert notices


def test_the_log_goes_to_the_console_only(tmp_path: Path):
    pipe(tmp_path / "sightline.log")
    try:
        soon(lambda: log.set_up(tmp_path))
    finally:
        soon(log.set_up)


def test_a_conversation_is_passed_over_and_refused(tmp_path: Path):
    store = SessionStore(tmp_path)
    kept, lost = store.new_thread(), store.new_thread()
    for thread in (kept, lost):
        thread.append(Message(role="user", text="What is this?"))
        thread.close()
    pipe(tmp_path / lost.thread_id / "thread.jsonl")
    again = SessionStore(tmp_path)
    assert [info.thread_id for info in soon(again.threads)] == [kept.thread_id]
    assert soon(lambda: again.open(lost.thread_id)) is None


@pytest.mark.parametrize("name", [HEAD_NAME, segment_path(Path(), 1).name])
def test_the_audit_log_is_written_elsewhere_or_says_that_it_is_not(
    tmp_path: Path, name: str, caplog: Any
):
    AuditLog(tmp_path, SECRET).record("opened")
    pipe(tmp_path / name)
    soon(lambda: AuditLog(tmp_path, SECRET).record("opened"))
    caplog.clear()
    soon(lambda: list(read_entries(tmp_path)))
    report = soon(lambda: verify(tmp_path, SECRET))
    assert report is None or report.problems


def test_the_key_of_the_audit_log_is_refused(tmp_path: Path):
    path = pipe(tmp_path / "audit.key")
    assert soon(lambda: audit_key(path, Secrets())) is None


def test_caches_are_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    known = Durations(lambda: pipe(paths.cache_dir() / "durations.json"))
    assert soon(lambda: (known.median("x"),)) == (None,)
    pipe(paths.cache_dir() / records._FILE)
    records._digests.cache_clear()
    assert soon(records._digests) == {}
    records._digests.cache_clear()


@pytest.mark.parametrize("content", ["[" * 100_000, '{"x": [1e999, 1' + "0" * 400 + "]}", "\xff"])
def test_caches_that_are_damaged_are_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    path = tmp_path / "durations.json"
    path.write_text(content, encoding="latin-1")
    assert Durations(lambda: path).median("x") is None
    rows = content.replace("{", "[").replace("}", "]").replace('"x": [', '["x", ')
    (paths.cache_dir() / records._FILE).write_text(rows, encoding="latin-1")
    records._digests.cache_clear()
    assert records._digests() == {}
    records._digests.cache_clear()
