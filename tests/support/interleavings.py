"""Random runs that are cancelled, lose their model process or are killed, and their invariants.

As a program (`python -m tests.support.interleavings FOLDER SEED`) it runs questions without end and
prints each event when it is shown, until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from app.agent.events import TERMINAL, ModelRetry, RunEvent, RunStarted, TextDelta, ToolFinished
from app.agent.llm.base import ModelEvent, ModelFailed, Reasoning, Text, Tokens
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.messages import Message
from app.agent.sessions import SessionStore, Thread, writer
from app.tools.api import CancelToken, ToolContext, ToolFailed, ToolResult
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, box, request
from tests.support.scripted_model import ScriptedModel, call, says

HELD_BACK = ("text_delta", "reasoning_delta", "tool_progress")
"""Events written shortly after display, so that a kill may lose the last of them."""

Shown = tuple[str, int, str]  # run id, seq, kind


async def _at_once(wait_s: float) -> None:
    await asyncio.sleep(0)


@dataclass
class Story:
    """One question with a random answer and a random fault."""

    chance: random.Random
    name: str
    turns: list[Any] = field(default_factory=list[Any])
    cancel_at: int = -1
    after_tool: bool = False

    def __post_init__(self) -> None:
        """Write the script."""
        chance = self.chance
        for turn in range(chance.randint(0, 3)):
            self.turns.append([*self._words(f"t{turn}"), *self._calls()])
        self.turns.append([*self._words("end", 1), Text(f"<{self.name}.done>")])
        fault = chance.choice(["none", "cancel", "cancel", "model", "retry"])
        if fault == "cancel":
            self.cancel_at = chance.randint(0, 12)
            self.after_tool = chance.random() < 0.5
        elif fault != "none":
            dead = ModelFailed("the model process died", remedy="Ask again.")
            dead.retryable = fault == "retry"
            where = chance.randrange(len(self.turns))
            turn = self.turns[where]
            half = [*turn[: chance.randint(0, len(turn))], dead]
            if fault == "retry":
                again = [Text(f"<{self.name}.again>"), *turn]
                self.turns[where : where + 1] = [half, again]
            else:
                self.turns[where:] = [half]

    def _words(self, part: str, least: int = 0) -> list[ModelEvent]:
        count = self.chance.randint(least, 4)
        words: list[ModelEvent] = [Text(f"<{self.name}.{part}.{n}> ") for n in range(count)]
        if self.chance.random() < 0.3:
            words.insert(0, Reasoning("hm "))
        if self.chance.random() < 0.3:
            words.append(Tokens(10, 5))
        return words

    def _calls(self) -> list[ModelEvent]:
        names = self.chance.choices(["quick", "big", "slow", "lost", "asks_nothing"], k=3)
        return [
            call(name, image_path=f"{self.name}-{self.chance.random()}")
            for name in names[: self.chance.randint(1, 3)]
        ]


def tools(host_call: Callable[[ToolContext], object] | None = None) -> FakeRegistry:
    """Return tools that are quick, slow, large, or lose their model process."""

    def quick(args: Any, context: ToolContext) -> ToolResult:
        context.progress(0.5, "half")
        return ToolResult("seen", {"value": 1.5, "path": args.image_path}, {}, (box(context),))

    def big(args: Any, context: ToolContext) -> ToolResult:
        return ToolResult("many", {"rows": [args.image_path] * 2000}, {"n": 2000})

    def slow(args: Any, context: ToolContext) -> ToolResult:
        for step in range(4):
            context.progress(step / 4, "slow")
            if context.cancel.wait(0.0005):
                context.cancel.check()
        return ToolResult("slow", {"n": 1}, {})

    def lost(args: Any, context: ToolContext) -> ToolResult:
        if host_call is not None:
            host_call(context)
        raise ToolFailed("the model process ended unexpectedly", remedy="Try again.")

    def run_of(name: str) -> Any:
        return {"quick": quick, "big": big, "slow": slow, "lost": lost}.get(name, quick)

    names = ("quick", "big", "slow", "lost", "asks_nothing")
    return FakeRegistry(*(FakeTool(name, ImageInput, run_of(name)) for name in names))


async def play(
    story: Story,
    thread: Thread,
    registry: FakeRegistry,
    on_event: Callable[[RunEvent], None],
) -> None:
    """Run the story's question in `thread` until the run ends."""
    cancel, stop = CancelToken(), CancelToken()
    asked = request(
        thread.files_dir(),
        f"Question {story.name}?",
        thread=thread,
        run_id=story.name,
        cancel=cancel,
        stop_after_tool=stop,
    )
    model = ScriptedModel(*story.turns)
    shown = 0
    async for event in AgentLoop(model, registry, retry=Retry(sleep=_at_once)).run(asked):
        on_event(event)
        if shown == story.cancel_at:
            (stop if story.after_tool else cancel).cancel()
        shown += 1


def check_thread(thread: Thread, shown: Sequence[Shown]) -> None:
    """Check the invariants of a thread that was opened again.

    Args:
        thread: Opened again.
        shown: What the user saw before, in order.
    """
    assert not thread.problems, thread.problems
    _check_lines(thread)
    check_transcript(thread.history)
    for message in thread.history:
        kept_result = thread.result(message.call_id) if message.role == "tool" else None
        if kept_result is not None and kept_result.get("status") == "ok":
            assert message.ok, "a call that ended is told as lost"
            assert message.data["output"] == kept_result["output"]
    runs = thread.runs()
    assert len({run.run_id for run in runs}) == len(runs), "a run is shown twice"
    for run in runs:
        assert run.question == f"Question {run.run_id}?"
        assert isinstance(run.events[0], RunStarted)
        ends = [event.kind for event in run.events if event.kind in TERMINAL]
        assert ends == [run.events[-1].kind], ends
        assert run.state != "running"
        started = Counter(e.call_id for e in run.events if e.kind == "tool_started")
        finished = Counter(e.call_id for e in run.events if e.kind == "tool_finished")
        assert started == finished, "each call that started is finished once"
        assert not started or max(started.values()) == 1
        _check_seq(run.events, run.next_seq)
        for event in run.events:
            if isinstance(event, ToolFinished) and event.status == "ok":
                result = thread.result(event.call_id)
                assert result is not None
                assert result["output"] == event.output, "the whole result is there"
                assert event.output
    _check_once(thread, runs)
    kept = {(run.run_id, event.seq, event.kind) for run in runs for event in run.events}
    missing = [one for one in shown if one[2] not in HELD_BACK and one not in kept]
    assert not missing, f"shown, but not kept: {missing}"


def _check_lines(thread: Thread) -> None:
    """Check that the file contains every event of its run exactly once."""
    assert thread.folder is not None
    numbers: dict[str, list[int]] = {}
    for line in (thread.folder / "thread.jsonl").read_bytes().split(b"\n")[:-1]:
        entry: dict[str, Any] = json.loads(line)
        if entry["type"] == "event":
            event = entry["event"]
            first = event["seq"]
            of_run = numbers.setdefault(event["run_id"], [])
            of_run.extend(range(first, first + entry.get("count", 1)))
    for of_run in numbers.values():
        assert of_run == list(range(len(of_run)))


def _check_seq(events: Sequence[RunEvent], next_seq: int) -> None:
    """Check that numbers rise and that only streamed text and progress were merged."""
    for before, after in pairwise(events):
        step = after.seq - before.seq
        assert step == 1 or (step > 1 and before.kind in HELD_BACK), (before.seq, after.seq)
    assert events[0].seq == 0
    assert next_seq == events[-1].seq + 1


def _check_once(thread: Thread, runs: Sequence[Any]) -> None:
    """Check that no piece of an answer appears twice, in the transcript or in the window."""
    said = "".join(item.text for item in thread.history if item.role == "assistant")
    streamed = "".join(_left_of(run.events) for run in runs)
    for mark in {piece.split(">")[0] for piece in said.split("<")[1:]}:
        assert said.count(f"<{mark}>") == 1, f"{mark} is in the transcript twice"
    for mark in {piece.split(">")[0] for piece in streamed.split("<")[1:]}:
        assert streamed.count(f"<{mark}>") == 1, f"{mark} is shown twice"
    asked = Counter(item.text for item in thread.history if item.role == "user")
    assert not asked or max(asked.values()) == 1, "a question is in the transcript twice"


def _left_of(events: Sequence[RunEvent]) -> str:
    """Return the displayed text of a run, without what a retry withdrew."""
    text = whole = ""
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ModelRetry):
            text = whole
        elif event.kind != "reasoning_delta":
            whole = text
    return text


def check_transcript(messages: Sequence[Message]) -> None:
    """Check that each call's result directly follows its message, and only once."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message.role == "tool":
            assert waiting, "a result without its call"
            assert message.call_id == waiting.pop(0)
            continue
        assert not waiting, "a call without its result"
        waiting = [item.id for item in message.tool_calls]
        assert not seen & set(waiting), "two calls of one id"
        seen.update(waiting)
    assert not waiting, "a call without its result"


def check_next_question(
    thread: Thread, name: str, on_event: Callable[[RunEvent], None] = lambda event: None
) -> None:
    """Check that the thread continues: the next request is valid and is answered."""

    async def main() -> None:
        model = ScriptedModel(says(f"<{name}.fine>"))
        asked = request(thread.files_dir(), f"Question {name}?", thread=thread, run_id=name)
        last = ""
        async for event in AgentLoop(model, tools()).run(asked):
            on_event(event)
            last = event.kind
        assert last == "run_finished"
        (sent,) = model.requests
        check_transcript(sent)
        assert sent[-1].role == "user"
        assert sent[-1].text.endswith(f"Question {name}?")

    asyncio.run(main())
    _check_closed(thread)


def _check_closed(thread: Thread) -> None:
    """Check that the file alone shows the result of each call and the end of each run."""
    assert thread.folder is not None
    text = (thread.folder / "thread.jsonl").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    asked = Counter(item["id"] for message in messages for item in message["tool_calls"])
    results = Counter(item["call_id"] for item in messages if item["role"] == "tool")
    assert asked == results
    events = [entry["event"] for entry in entries if entry["type"] == "event"]
    ended = Counter(event["run_id"] for event in events if event["kind"] in TERMINAL)
    assert ended == Counter({event["run_id"] for event in events})


def without_waiting_for_the_disk() -> None:
    """Disable fsync, which only matters for a power cut: writes survive a killed program."""
    writer.os = _Unsynced()  # pyright: ignore[reportAttributeAccessIssue]


class _Unsynced:
    """The module `os` without fsync."""

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fsync(self, handle: int) -> None:
        """Do nothing."""


async def _endless(root: Path, seed: int) -> None:
    without_waiting_for_the_disk()
    chance = random.Random(seed)
    store = SessionStore(root)
    registry = tools()
    for number in range(10_000):
        thread = store.new_thread()
        for turn in range(chance.randint(1, 3)):
            story = Story(chance, f"k{seed}-{number}-{turn}")

            def tell(event: RunEvent, thread_id: str = thread.thread_id) -> None:
                line = [thread_id, event.run_id, event.seq, event.kind]
                sys.stdout.write(json.dumps(line) + "\n")
                sys.stdout.flush()

            await play(story, thread, registry, tell)


if __name__ == "__main__":
    asyncio.run(_endless(Path(sys.argv[1]), int(sys.argv[2])))
