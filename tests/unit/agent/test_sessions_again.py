"""A thread that is opened again, branched, or opened twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import RunFailed, RunStarted, TextDelta, ToolFinished, ToolStarted
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message, ToolCall
from app.agent.sessions import SessionStore, Thread, ThreadInUse
from app.errors import FileProblem
from app.tools.api import ToolContext, ToolResult
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok, pack, request
from tests.support.scripted_model import ScriptedModel, call, says


def ask(thread: Thread, question: str, *turns: Any, tools: FakeRegistry | None = None) -> list[Any]:
    """One run of the thread, its events."""
    loop = AgentLoop(ScriptedModel(*turns), tools or pack())
    run_id = f"run-{len(thread.history)}"
    asked = request(thread.files_dir(), question, thread=thread, run_id=run_id)
    return asyncio.run(collect(loop, asked))


def lines(thread: Thread) -> list[dict[str, Any]]:
    assert thread.folder is not None
    text = (thread.folder / "thread.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def after_a_crash(thread: Thread) -> Thread:
    """What the next program finds."""
    assert thread.folder is not None
    thread.close()
    return SessionStore(thread.folder.parent).open(thread.thread_id)


def head(seq: int) -> dict[str, Any]:
    return {"run_id": "r", "seq": seq, "time": "2026-01-01T00:00:00.000+00:00"}


def test_past_runs_are_shown_as_they_were(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    first = ask(
        thread,
        "Where are the lungs?",
        [call("chest_xray_segmentation", image_path="image-1")],
        says("There they are [1]."),
    )
    ask(thread, "And now?", says("Nothing new."))
    runs = after_a_crash(thread).runs()
    assert [run.question for run in runs] == ["Where are the lungs?", "And now?"]
    assert [run.state for run in runs] == ["finished", "finished"]
    kinds = [event.kind for event in runs[0].events]
    shown = [event.kind for event in first]
    squeezed = [
        kind for i, kind in enumerate(shown) if kind != "text_delta" or shown[i - 1] != kind
    ]
    assert kinds == squeezed
    assert runs[0].next_seq == len(first)
    finished = next(event for event in runs[0].events if isinstance(event, ToolFinished))
    before = next(event for event in first if isinstance(event, ToolFinished))
    assert finished.output == before.output
    assert finished.summary == before.summary


def test_a_run_that_a_crash_cut_off_is_interrupted_and_the_thread_goes_on(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    thread.record(RunStarted(**head(0), thread_id=thread.thread_id, question="q", model="m"))
    thread.append(Message(role="user", text="q"))
    calls = [ToolCall(id="a", name="one", arguments={}), ToolCall(id="b", name="two", arguments={})]
    thread.append(Message(role="assistant", tool_calls=calls))
    thread.record(ToolStarted(**head(1), call_id="a", tool="one", arguments={}))
    thread.record(ToolStarted(**head(2), call_id="b", tool="two", arguments={}))
    done = {"status": "ok", "summary": "seen", "output": {"n": 7}, "metadata": {}}
    thread.log_call("b", "two", {}, done, "t0", "t1")
    again = after_a_crash(thread)
    assert [item.call_id for item in again.history if item.role == "tool"] == ["a", "b"]
    assert [item.ok for item in again.history if item.role == "tool"] == [False, True]
    assert again.history[-1].data["output"] == {"n": 7}
    (run,) = again.runs()
    assert run.state == "interrupted"
    ends = {e.call_id: e.status for e in run.events if isinstance(e, ToolFinished)}
    assert ends == {"a": "cancelled", "b": "ok"}
    assert [event.seq for event in run.events] == list(range(6))
    assert isinstance(run.events[-1], RunFailed)
    again.append(Message(role="user", text="and?"))
    third = after_a_crash(again)
    assert third.history[:-1] == again.history[:-1]
    assert [event.kind for event in third.runs()[0].events] == [e.kind for e in run.events]
    assert third.runs()[0].state == "interrupted"


@pytest.mark.parametrize("result", [{"output": 7}, {"metadata": "x"}, {"summary": [1]}])
def test_a_crash_after_a_damaged_result_is_opened_all_the_same(
    tmp_path: Path, result: dict[str, Any]
):
    thread = SessionStore(tmp_path).new_thread()
    thread.record(RunStarted(**head(0), thread_id="t", question="q", model="m", images=[]))
    thread.append(Message(role="user", text="q"))
    asked = ToolCall(id="c", name="look", arguments={})
    thread.append(Message(role="assistant", tool_calls=[asked]))
    thread.record(ToolStarted(**head(1), call_id="c", tool="look", arguments={}))
    thread.log_call("c", "look", {}, {"status": "ok", "summary": "s", **result}, "", "")
    again = after_a_crash(thread)
    assert [run.state for run in again.runs()] == ["interrupted"]
    assert again.history[-1].call_id == "c"


def test_text_that_was_streamed_before_a_crash_stays_in_the_transcript(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    thread.record(RunStarted(**head(0), thread_id=thread.thread_id, question="q", model="m"))
    thread.append(Message(role="user", text="q"))
    for seq, word in enumerate(("The ", "heart ", "is "), start=1):
        thread.record(TextDelta(**head(seq), text=word))
    again = after_a_crash(thread)
    assert again.history[-1].role == "assistant"
    assert again.history[-1].text == "The heart is\n\n[This answer was interrupted.]"
    assert after_a_crash(again).history == again.history


def test_reading_alone_changes_no_file(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    thread.record(RunStarted(**head(0), thread_id=thread.thread_id, question="q", model="m"))
    thread.append(Message(role="user", text="q"))
    thread.record(TextDelta(**head(1), text="half"))
    assert thread.folder is not None
    path = thread.folder / "thread.jsonl"
    reader = SessionStore(tmp_path)
    assert reader.read(thread.thread_id).runs()[0].state == "running", "another program is at it"
    thread.close()
    before = path.read_bytes()
    assert reader.read(thread.thread_id).runs()[0].state == "interrupted"
    assert path.read_bytes() == before


def test_a_large_result_is_written_once_and_is_whole_after_reopening(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    rows = [{"row": index, "text": "x" * 50} for index in range(2000)]
    tools = FakeRegistry(FakeTool("big", ImageInput, ok("many", {"rows": rows})))
    asked = call("big", image_path="a")
    ask(thread, "q", [asked], says("Done."), tools=tools)
    assert thread.folder is not None
    assert (thread.folder / "thread.jsonl").read_bytes().count(b'"row":7,') == 1
    again = after_a_crash(thread)
    result = again.result(asked.call.id)
    assert result is not None
    assert result["output"] == {"rows": rows}
    assert again.history == thread.history


def test_the_large_results_of_the_version_before_are_whole_also_in_a_branch(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    tools = FakeRegistry(FakeTool("big", ImageInput, ok("many", {"rows": [1, 2]})))
    asked = call("big", image_path="a")
    ask(thread, "q", [asked], says("Done."), tools=tools)
    assert thread.folder is not None
    (thread.folder / "results").mkdir()
    kept = lines(thread)
    for entry in kept:  # as it was: the value in a file named by its SHA-256
        message = entry.get("message", {})
        result = message.get("data") if message.get("role") == "tool" else entry.get("result")
        if result is not None:
            text = b'{"rows":[1,2]}'
            name = f"{hashlib.sha256(text).hexdigest()}.json"
            (thread.folder / "results" / name).write_bytes(text)
            result["output"] = None
            entry["beside"] = {"output": name}
    whole = thread.history
    written = "".join(f"{json.dumps(entry)}\n" for entry in kept)
    (thread.folder / "thread.jsonl").write_text(written, encoding="utf-8")
    again = after_a_crash(thread)
    assert again.history == whole
    assert not again.problems
    branch = SessionStore(tmp_path).branch(again.thread_id, 1)
    for one in (again, branch):
        result = one.result(asked.call.id)
        assert result is not None
        assert result["output"] == {"rows": [1, 2]}
    next((thread.folder / "results").iterdir()).write_bytes(b"{}")
    assert after_a_crash(again).problems, "a damaged result is told"


def test_streamed_text_is_written_as_one_before_what_follows(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    ask(thread, "q", says("one two three four five six"))
    deltas = [
        e for e in lines(thread) if e["type"] == "event" and e["event"]["kind"] == "text_delta"
    ]
    assert "".join(e["event"]["text"] for e in deltas) == "one two three four five six "
    assert sum(e.get("count", 1) for e in deltas) == 6
    assert len(deltas) < 6


def test_every_event_is_in_the_file_before_it_is_shown(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    loop = AgentLoop(
        ScriptedModel([call("cardiothoracic_ratio", image_path="a")], says("Done.")), pack()
    )
    asked = request(thread.files_dir(), thread=thread)

    async def main() -> None:
        async for event in loop.run(asked):
            if event.kind not in ("text_delta", "tool_progress"):
                kept = [e["event"] for e in lines(thread) if e["type"] == "event"]
                assert any(e["kind"] == event.kind and e["seq"] == event.seq for e in kept)

    asyncio.run(main())


def test_a_second_program_may_read_or_branch_but_not_write(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    ask(thread, "q", says("The answer."))
    assert store.open(thread.thread_id) is thread, "the same program gets the same thread"
    script = tmp_path / "second.py"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from app.agent.sessions import SessionStore, ThreadInUse\n"
        "store = SessionStore(Path(sys.argv[1]))\n"
        "try:\n"
        "    store.open(sys.argv[2])\n"
        "except ThreadInUse as error:\n"
        "    print(error.text)\n"
        "print(store.read(sys.argv[2]).runs()[0].question)\n"
        "print(store.branch(sys.argv[2], 1).history[-1].text)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), thread.thread_id],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    said, question, answer = done.stdout.splitlines()
    assert "another Sightline program" in said
    assert "branch" in said
    assert (question, answer.strip()) == ("q", "The answer.")
    thread.close()
    SessionStore(tmp_path).open(thread.thread_id)


def test_a_thread_that_is_only_read_is_never_written(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    ask(thread, "q", says("a"))
    other = SessionStore(tmp_path)
    with pytest.raises(ThreadInUse):
        other.open(thread.thread_id)
    looked = other.read(thread.thread_id)
    assert looked.read_only
    before = lines(thread)
    looked.append(Message(role="user", text="not kept"))
    assert lines(thread) == before


def test_a_branch_has_all_before_the_question_and_its_own_files(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    asked = call("chest_xray_segmentation", image_path="image-1")
    ask(thread, "Where are the lungs?", [asked], says("There."))
    ask(thread, "Is it large?", says("No."))
    ask(thread, "Sure?", says("Yes."))
    made = store.branch(thread.thread_id, 1)
    assert [run.question for run in made.runs()] == ["Where are the lungs?"]
    assert [item.text for item in made.history if item.role == "user"] == ["Where are the lungs?"]
    result = made.result(asked.call.id)
    assert result is not None
    mask = Path(result["findings"][0]["geometry"]["path"])
    assert made.folder is not None
    assert mask.is_file()
    assert mask.is_relative_to(made.folder)
    assert lines(made)[0]["branched_from"]["thread_id"] == thread.thread_id
    assert lines(made)[0]["branched_from"]["question"] == 1
    ask(made, "Something else?", says("Here."))
    assert [run.question for run in after_a_crash(made).runs()][-1] == "Something else?"
    assert len(thread.runs()) == 3, "the other thread is as it was"
    assert len(store.branch(thread.thread_id, 0).history) == 0
    with pytest.raises(FileProblem, match="no question 5"):
        store.branch(thread.thread_id, 4)
    assert not list(tmp_path.glob(".*")), "nothing half made is left"


def test_a_branch_has_its_own_files_also_where_a_large_result_names_them(tmp_path: Path):
    def many(args: Any, context: ToolContext) -> ToolResult:
        path = context.out_dir / "mask.png"
        path.write_bytes(b"mask")
        return ToolResult("many", {"path": str(path), "rows": ["x" * 100] * 1000}, {})

    store = SessionStore(tmp_path)
    thread = store.new_thread()
    turns = ([call("many", image_path="a")], says("done"))
    ask(thread, "q", *turns, tools=FakeRegistry(FakeTool("many", ImageInput, many)))
    branched = after_a_crash(store.branch(thread.thread_id, 1))
    assert thread.folder is not None
    thread.close()
    shutil.rmtree(thread.folder)
    result = next(item.data["output"] for item in branched.history if item.role == "tool")
    assert len(result["rows"]) == 1000
    assert Path(result["path"]).read_bytes() == b"mask"
    (made,) = branched.content.calls.values()
    assert made["result"]["output"] == result
    assert branched.problems == ()


def test_what_a_kill_left_of_a_branching_is_removed_by_a_later_one(tmp_path: Path):
    store = SessionStore(tmp_path)
    thread = store.new_thread()
    ask(thread, "q", says("a"))
    left, fresh = tmp_path / ".old.partial", tmp_path / ".fresh.partial"
    for folder in (left, fresh):
        folder.mkdir()
        (folder / "thread.jsonl").write_text("half")
    os.utime(left, (0, 0))
    store.branch(thread.thread_id, 1)
    assert not left.exists()
    assert fresh.exists(), "another program may be at it"


def test_a_full_disk_is_told_once_and_loses_nothing_once_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    thread = SessionStore(tmp_path).new_thread()
    real, room = os.write, [60]

    def write(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = real(handle, data[: room[0]])
        room[0] -= taken
        return taken

    monkeypatch.setattr("app.agent.sessions.writer.os.write", write)
    ask(thread, "one", says("1"))
    assert "No space left" in thread.take_notice()
    assert thread.take_notice() == ""
    room[0] = 10**9
    ask(thread, "two", says("2"))
    again = after_a_crash(thread)
    assert again.history == thread.history
    assert [run.state for run in again.runs()] == ["finished", "finished"]
    assert again.problems == ()


def test_what_a_full_disk_did_not_take_is_written_when_there_is_space_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    thread = SessionStore(tmp_path).new_thread()
    real, full = os.write, [True]

    def write(handle: int, data: bytes) -> int:
        if full[0]:
            raise OSError(28, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr("app.agent.sessions.writer.os.write", write)
    ask(thread, "one", says("1"))
    assert "Free space" in thread.unsaved
    full[0] = False
    again = after_a_crash(thread)
    assert again.history == thread.history
    assert [run.state for run in again.runs()] == ["finished"]


def test_a_disk_that_was_full_for_a_moment_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    thread = SessionStore(tmp_path).new_thread()
    real, failing = os.write, [2]

    def write(handle: int, data: bytes) -> int:
        failing[0] -= 1
        if failing[0] >= 0:
            raise OSError(28, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr("app.agent.sessions.writer.os.write", write)
    ask(thread, "one", says("1"))
    assert thread.unsaved == "", "all of it is on disk"


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
def test_a_conversation_that_is_deleted_while_it_is_open_is_told(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    ask(thread, "one", says("1"))
    assert thread.folder is not None
    shutil.rmtree(thread.folder)
    ask(thread, "two", says("2"))
    assert "its file was deleted" in thread.take_notice()


def test_a_conversation_that_was_closed_is_saved_again_once_it_is_opened_again(tmp_path: Path):
    store = SessionStore(tmp_path)
    before = store.new_thread()
    ask(before, "one", says("1"))
    before.close()
    thread = store.open(before.thread_id)
    ask(thread, "two", says("2"))
    assert [run.question for run in after_a_crash(thread).runs()] == ["one", "two"]


def test_a_list_of_threads_reads_only_the_head_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from app.agent.sessions import store as module

    store = SessionStore(tmp_path)
    for index in range(20):
        thread = store.new_thread()
        for turn in range(5):
            ask(thread, f"title {index} {turn}", says("word " * 50))
        thread.close()
    read: list[bytes] = []

    def parsed(line: bytes) -> Any:
        read.append(line)
        return json.loads(line)

    monkeypatch.setattr(module, "parse_line", parsed)
    listed = SessionStore(tmp_path).threads()
    assert {info.title for info in listed} == {f"title {index} 0" for index in range(20)}
    assert len(read) <= 5 * 20


def test_results_and_ends_are_synced_before_they_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    thread = SessionStore(tmp_path).new_thread()
    assert thread.folder is not None
    path = thread.folder / "thread.jsonl"
    safe = [0]
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        safe[0] = path.stat().st_size

    monkeypatch.setattr("app.agent.sessions.writer.os.fsync", fsync)
    model = ScriptedModel([call("cardiothoracic_ratio", image_path="a")], says("Done."))
    asked = request(thread.files_dir(), thread=thread)

    async def main() -> None:
        async for event in AgentLoop(model, pack()).run(asked):
            if event.kind in ("tool_finished", "run_finished"):
                kept = path.read_bytes()[: safe[0]].splitlines()
                last = [json.loads(line) for line in kept if b'"event":{' in line]
                assert any(e["event"]["seq"] == event.seq for e in last)

    asyncio.run(main())
