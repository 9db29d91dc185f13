from __future__ import annotations

import json
import logging
import os
import stat
import sys
from pathlib import Path

import pytest

from app.agent.messages import Message, ToolCall
from app.agent.sessions import SessionStore, Thread
from app.errors import FileProblem


def file_of(thread: Thread) -> Path:
    assert thread.folder is not None
    return thread.folder / "thread.jsonl"


def reopened(thread: Thread) -> Thread:
    """As another program would open it after this one has ended."""
    thread.close()
    assert thread.folder is not None
    return SessionStore(thread.folder.parent).open(thread.thread_id)


def test_a_thread_is_opened_again_with_its_history(tmp_path: Path):
    store = SessionStore(tmp_path / "sessions")
    thread = store.new_thread()
    call = ToolCall(id="1", name="tool", arguments={"x": "größer"})
    messages = [
        Message(role="user", text="What is\nthis?", images=[{"id": "image-1"}]),
        Message(role="assistant", tool_calls=[call]),
        Message(role="tool", call_id="1", tool="tool", data={"output": {"a": 1}}),
        Message(role="assistant", text="A chest."),
    ]
    for message in messages:
        thread.append(message)
    thread.log_call("1", "tool", {"x": 1}, {"status": "ok"}, "t0", "t1")
    again = reopened(thread)
    assert list(again.history) == messages
    assert again.problems == ()
    assert again.title == "What is this?"
    entry = json.loads(file_of(thread).read_text(encoding="utf-8").splitlines()[-1])
    assert entry["type"] == "tool_call"
    assert {"id", "name", "arguments", "result", "started", "ended"} <= entry.keys()
    header = json.loads(file_of(thread).read_text(encoding="utf-8").splitlines()[0])
    assert (header["format"], header["version"]) == ("sightline-session", 2)


def test_sessions_of_the_same_second_never_overwrite_each_other(tmp_path: Path):
    store = SessionStore(tmp_path)
    threads = [store.new_thread() for _ in range(50)]
    for index, thread in enumerate(threads):
        thread.append(Message(role="user", text=f"question {index}"))
    assert len({thread.folder for thread in threads}) == 50
    assert {info.title for info in store.threads()} == {f"question {i}" for i in range(50)}


def test_threads_are_listed_newest_first_without_empty_ones(tmp_path: Path):
    store = SessionStore(tmp_path)
    old, new = store.new_thread(), store.new_thread()
    store.new_thread()
    for thread, title, when in ((old, "old", 1000), (new, "new", 2000)):
        thread.append(Message(role="user", text=title))
        os.utime(file_of(thread), (when, when))
    assert [info.title for info in store.threads()] == ["new", "old"]
    assert store.threads()[0].thread_id == new.thread_id


@pytest.mark.parametrize("wrong", [b"\x00", b"\xff", b'"'])
def test_one_damaged_byte_hides_no_conversation(tmp_path: Path, wrong: bytes):
    thread = SessionStore(tmp_path).new_thread()
    thread.append(Message(role="user", text="one"))
    thread.append(Message(role="assistant", text="A chest."))
    thread.close()
    data = file_of(thread).read_bytes()
    for place in range(len(data)):
        file_of(thread).write_bytes(data[:place] + wrong + data[place + 1 :])
        (info,) = SessionStore(tmp_path).threads()
        assert info.title


def test_a_line_cut_off_by_a_crash_is_dropped_and_the_next_is_not_glued_to_it(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    thread.append(Message(role="user", text="one"))
    with file_of(thread).open("ab") as file:
        file.write(b'{"type": "message", "message": {"role": "assistant", "te')
    again = reopened(thread)
    assert [item.text for item in again.history] == ["one"]
    assert again.problems == ()
    again.append(Message(role="user", text="two"))
    third = reopened(again)
    assert [item.text for item in third.history] == ["one", "two"]
    assert third.problems == ()


def test_corrupt_lines_are_reported_not_fatal(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    with file_of(thread).open("ab") as file:
        file.write(b'\xff\xfe\n[1, 2]\n{"type": "message", "message": {"role": "nobody"}}\n')
        file.write(b'{"type": "from the future"}\n')
    thread.append(Message(role="user", text="still here"))
    again = reopened(thread)
    assert [item.text for item in again.history] == ["still here"]
    assert len(again.problems) == 3
    assert store.threads()[0].title == "still here"


def test_a_call_without_a_result_gets_one_after_a_crash(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    thread.append(Message(role="user", text="q"))
    thread.append(
        Message(role="assistant", tool_calls=[ToolCall(id="1", name="tool", arguments={})])
    )
    again = reopened(thread)
    assert again.history[-1].role == "tool"
    assert again.history[-1].call_id == "1"
    assert not again.history[-1].ok


def test_a_file_of_a_newer_version_is_refused_with_a_remedy(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    text = file_of(thread).read_text(encoding="utf-8").replace('"version":2', '"version":3')
    file_of(thread).write_text(text, encoding="utf-8")
    with pytest.raises(FileProblem, match=r"newer version.*Update"):
        reopened(thread)


@pytest.mark.parametrize("name", ["missing", "../other", "", ".", "a" * 5000])
def test_a_thread_that_is_not_there(tmp_path: Path, name: str):
    with pytest.raises(FileProblem, match="no such conversation"):
        SessionStore(tmp_path).open(name)


def test_a_full_disk_warns_once_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    thread = SessionStore(tmp_path).new_thread()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.agent.sessions.writer.os.write", full)
    with caplog.at_level(logging.WARNING):
        thread.append(Message(role="user", text="secret one"))
        thread.append(Message(role="user", text="two"))
    assert len(thread.history) == 2
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_files_are_for_the_user_alone(tmp_path: Path):
    thread = SessionStore(tmp_path / "s").new_thread()
    assert thread.folder is not None
    assert stat.S_IMODE(file_of(thread).stat().st_mode) == 0o600
    assert stat.S_IMODE(thread.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(thread.files_dir().stat().st_mode) == 0o700


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path):
    (tmp_path / "sessions").write_text("a file")
    with pytest.raises(FileProblem, match="cannot be made"):
        SessionStore(tmp_path / "sessions").new_thread()


def test_a_thread_in_memory_leaves_nothing_on_disk(tmp_path: Path):
    thread = Thread.in_memory()
    thread.append(Message(role="user", text="q"))
    with pytest.raises(FileProblem):
        thread.files_dir()


def test_a_conversation_is_called_by_what_it_is_about_not_by_its_greeting(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    thread.append(Message(role="user", text="hello"))
    assert thread.title == "hello"
    for text in ("What can you do?", "thanks", "Is the heart enlarged?", "And the lungs?"):
        thread.append(Message(role="user", text=text))
    assert thread.title == "Is the heart enlarged?"
    thread.close()
    assert [info.title for info in store.threads()] == ["Is the heart enlarged?"]
