"""Conversations are found again, named, and deleted with all that is kept of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.agent.messages import Message
from app.agent.sessions import SessionStore, Thread, ThreadInUse
from app.agent.sessions.writer import ThreadLock
from app.errors import FileProblem


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def asked(store: SessionStore, question: str, answer: str = "Yes.") -> Thread:
    thread = store.new_thread()
    thread.append(Message(role="user", text=question))
    data = {"summary": "x", "output": {"text": "Oberhuber"}}
    result = {"status": "ok", **data, "metadata": {}}
    thread.log_call("c1", "tool", {}, result, "2026-01-01", "2026-01-01")
    thread.append(Message(role="assistant", text=answer))
    (thread.files_dir() / "result-1.png").write_bytes(b"pixels")
    thread.flush()
    return thread


def everything(store: SessionStore, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_deleted_conversation_leaves_nothing_on_disk(store: SessionStore, tmp_path: Path):
    thread, other = asked(store, "Is it big?"), asked(store, "And this?")
    store.rename(thread.thread_id, "Oberhuber, first film")
    assert thread.folder is not None
    thread.close()
    store.delete(thread.thread_id)
    assert not thread.folder.exists()
    left = [path for path in everything(store, tmp_path) if other.thread_id not in str(path)]
    assert left == []
    assert [info.thread_id for info in store.threads()] == [other.thread_id]
    with pytest.raises(FileProblem, match="no such conversation"):
        store.open(thread.thread_id)


def test_the_open_conversation_is_closed_first_and_writes_nothing_more(store: SessionStore):
    thread = asked(store, "Is it big?")
    store.delete(thread.thread_id)
    thread.append(Message(role="assistant", text="late"))
    assert thread.folder is not None
    assert not thread.folder.exists()
    with pytest.raises(FileProblem):
        thread.files_dir()
    assert not thread.folder.exists()


def test_what_another_program_writes_is_not_deleted(store: SessionStore):
    thread = asked(store, "Is it big?")
    thread.close()
    assert thread.folder is not None
    lock = ThreadLock(thread.folder)
    with pytest.raises(ThreadInUse):
        store.delete(thread.thread_id)
    lock.release()
    assert thread.folder.is_dir()


@pytest.mark.parametrize("name", ["..", ".", "", "../sessions", "no-such", "a/b"])
def test_only_a_conversation_is_deleted(store: SessionStore, tmp_path: Path, name: str):
    asked(store, "Is it big?")
    (tmp_path / "thread.jsonl").write_text("{}")
    before = everything(store, tmp_path)
    with pytest.raises(FileProblem):
        store.delete(name)
    with pytest.raises(FileProblem):
        store.rename(name, "x")
    assert everything(store, tmp_path) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may remove everything")
def test_what_cannot_be_removed_is_told(store: SessionStore):
    thread = asked(store, "Is it big?")
    thread.close()
    assert thread.folder is not None
    (thread.folder / "files").chmod(0o500)
    with pytest.raises(FileProblem, match="could not be deleted"):
        store.delete(thread.thread_id)


def test_a_name_of_its_own_is_listed_in_place_of_the_first_question(store: SessionStore):
    thread = asked(store, "Is it big?")
    store.rename(thread.thread_id, "  Follow-up\nof the  nodule ")
    assert [info.title for info in store.threads()] == ["Follow-up of the nodule"]
    assert SessionStore(thread.folder.parent).threads()[0].title == "Follow-up of the nodule"  # type: ignore[union-attr]
    store.rename(thread.thread_id, " ")
    assert [info.title for info in store.threads()] == ["Is it big?"]


def test_conversations_are_found_by_their_name_and_by_what_was_said(store: SessionStore):
    heart = asked(store, "Is it big?", "The heart is 12 px wide.")
    lungs = asked(store, "Segment the lungs", 'Both lungs, "outlined" below.')
    named = asked(store, "hello")
    store.rename(named.thread_id, "Film of Tuesday")

    def found(words: str) -> set[str]:
        return {info.thread_id for info in store.threads(words)}

    assert found("HEART px") == {heart.thread_id}
    assert found("lungs") == {lungs.thread_id}
    assert found('"outlined"') == {lungs.thread_id}
    assert found("tuesday") == {named.thread_id}
    assert found("heart lungs") == set()
    assert found("  ") == {heart.thread_id, lungs.thread_id, named.thread_id}
    assert found("role") == set(), "what only the file's format says is not found"
