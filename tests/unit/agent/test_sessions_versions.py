"""Versions of a conversation, pins, and what a search finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.events import RunFinished, RunStarted
from app.agent.messages import Message
from app.agent.sessions import SessionStore, Thread
from app.errors import FileProblem


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path)


def add(thread: Thread, run_id: str, question: str, answer: str = "ok", minute: int = 0) -> None:
    when = f"2026-01-01T00:{minute:02}:00.000+00:00"
    thread.record(
        RunStarted(
            run_id=run_id, seq=0, time=when, thread_id=thread.thread_id, question=question,
            model="offline",
        )
    )  # fmt: skip
    thread.append(Message(role="user", text=question))
    thread.append(Message(role="assistant", text=answer))
    thread.record(RunFinished(run_id=run_id, seq=1, time=when, answer=answer))


def test_versions_of_versions_lead_to_each_other(store: SessionStore):
    first = store.new_thread()
    add(first, "a", "one", minute=0)
    add(first, "b", "two", minute=1)
    second = store.branch(first.thread_id, 1, replaces=True)  # "two" is changed
    add(second, "c", "two!", minute=2)
    add(second, "d", "three", minute=3)
    third = store.branch(second.thread_id, 2, replaces=True)  # "three" is changed
    add(third, "e", "three!", minute=4)
    fourth = store.branch(second.thread_id, 1, replaces=True)  # "two" once more
    add(fourth, "f", "two?", minute=5)
    found = {
        run: [one.run_id for one in all_] for run, all_ in store.versions(first.thread_id).items()
    }
    assert found == {"b": ["b", "c", "f"]}
    found = store.versions(third.thread_id)
    assert [(one.run_id, one.thread_id) for one in found["e"]] == [
        ("d", second.thread_id), ("e", third.thread_id),
    ]  # fmt: skip
    # "c" stands in two conversations: from the others one gets to the newer of them.
    assert store.versions(fourth.thread_id)["f"][1].thread_id == third.thread_id
    assert "a" not in found


def test_a_call_is_found_by_its_run_in_the_conversation_that_has_it(store: SessionStore):
    first, second = store.new_thread(), store.new_thread()
    for thread, run_id in ((first, "a"), (second, "b")):
        started = RunStarted(
            run_id=run_id, seq=0, time="", thread_id=thread.thread_id, question="q", model="offline"
        )
        thread.record(started)
        thread.append(Message(role="user", text="q"))
        thread.log_call("1", "finder", {"of": run_id}, {"status": "ok"}, "", "")
        thread.record(RunFinished(run_id=run_id, seq=1, time="", answer="ok"))
    assert store.find_call("a", "1") == (first.thread_id, {"of": "a"})
    assert store.find_call("b", "1") == (second.thread_id, {"of": "b"})
    assert store.find_call("a", "2") is None
    store.delete(first.thread_id)
    assert store.find_call("a", "1") is None


def test_the_list_has_the_newest_version_and_a_branch_of_its_own(store: SessionStore):
    first = store.new_thread()
    add(first, "a", "one")
    branched = store.branch(first.thread_id, 1)
    add(branched, "b", "two")
    newer = store.branch(first.thread_id, 0, replaces=True)
    assert {info.thread_id for info in store.threads()} == {first.thread_id, branched.thread_id}
    add(newer, "c", "one!")
    assert {info.thread_id for info in store.threads()} == {newer.thread_id, branched.thread_id}
    assert {info.thread_id for info in store.threads("one")} == {
        first.thread_id, branched.thread_id, newer.thread_id,
    }  # fmt: skip


def test_a_newer_version_keeps_name_and_pins(store: SessionStore):
    first = store.new_thread()
    add(first, "a", "one")
    add(first, "b", "two")
    store.rename(first.thread_id, "Film of Tuesday")
    store.pin(first.thread_id)
    store.pin(first.thread_id, "a")
    newer = store.branch(first.thread_id, 1, replaces=True)
    add(newer, "c", "two!")
    (info,) = store.threads()
    assert (info.thread_id, info.title, info.pinned) == (newer.thread_id, "Film of Tuesday", True)
    assert info.answers == (("a", "one"),)
    store.pin(newer.thread_id, pinned=False)
    store.pin(newer.thread_id, "a", pinned=False)
    assert store.pins(newer.thread_id) == frozenset()
    assert store.pins(first.thread_id) == {"", "a"}


def test_deleting_takes_the_versions_with_it_and_no_branch(store: SessionStore):
    first = store.new_thread()
    add(first, "a", "one")
    newer = store.branch(first.thread_id, 0, replaces=True)
    add(newer, "b", "one!")
    branched = store.branch(newer.thread_id, 1)
    add(branched, "c", "two")
    assert store.version_ids(newer.thread_id) == (newer.thread_id, first.thread_id)
    store.delete(newer.thread_id)
    assert [info.thread_id for info in store.threads()] == [branched.thread_id]
    with pytest.raises(FileProblem):
        store.read(first.thread_id)


def test_a_hit_says_where_the_word_stands(store: SessionStore):
    thread = store.new_thread()
    add(thread, "a", "hello", "Nothing. " * 50)
    add(thread, "b", "And now?", "Long before it " * 9 + "a Gallstone " + "and after it " * 9)
    (info,) = store.threads("GALLSTONE now")
    assert info.hit_run == "b"
    assert "a Gallstone and" in info.hit
    assert info.hit.startswith("…")
    assert len(info.hit) <= 72
    assert store.threads("now")[0].hit == "", "its title has the word"


def test_a_hit_is_plain_text(store: SessionStore):
    thread = store.new_thread()
    said = "## Heart\n- **Cardiothoracic ratio about 0.50**: *3 * 4* `px`\n\n| a | b |\n|---|:--|"
    add(thread, "a", "one", said)
    (info,) = store.threads("cardiothoracic ratio")
    assert info.hit == "Heart Cardiothoracic ratio about 0.50: 3 * 4 px a b"


def test_a_hit_is_where_the_words_stand_together(store: SessionStore):
    """Not where the first of them stands: "left" is said all the time, "left hilum" once."""
    thread = store.new_thread()
    add(thread, "a", "one", "The left lung is clear.")
    add(thread, "b", "two", "The hilum is left out here.")
    add(thread, "c", "three", "The left hilum is larger.")
    add(thread, "d", "four", "The left side, and the hilum of it.")
    (info,) = store.threads("left hilum")
    assert (info.hit_run, info.hit) == ("c", "The left hilum is larger.")
    (info,) = store.threads("hilum out")
    assert info.hit_run == "b"


def test_a_thread_that_is_not_there_has_no_versions(store: SessionStore):
    with pytest.raises(FileProblem):
        store.versions("../elsewhere")
