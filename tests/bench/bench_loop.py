"""What a step of the agent loop costs beside the model and the tool, against LangGraph.

Run: `python -m tests.bench.bench_loop [--langgraph PYTHON]`. LangGraph is no dependency of ours:
PYTHON is an interpreter that has the packages of `WANTED`; without it a virtual environment is made
once in the user's cache folder, which needs the network.

Both run the same graph side by side, in turns: `process` asks for one call of a tool that only
formats a number, `execute` runs it, N times. A step is both. Ours keeps every event in the thread's
file before it is shown and syncs it (fsync) with each result before that is shown. LangGraph's
SQLite checkpointer does as it does by default: WAL and synchronous=FULL, so an fsync a commit, on
a thread that runs behind; `durability="sync"` waits for each commit, as ours does.

The last line is what open images cost: a question with a CT of 2,000 beside one with one image.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from app.agent.llm.base import Call, ModelEvent, ModelInfo, Text, ToolSchema
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.messages import Message, ToolCall
from app.agent.sessions import SessionStore, Thread
from app.tools.api import ToolContext, ToolResult
from tests.bench.loop_langgraph import MODES
from tests.support.fake_tools import FakeRegistry, FakeTool, Strict, request

WANTED = ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2")
REPEATS = 7  # at least; short runs more often, since the disk is not for us alone
LEAST_STEPS = 600
STEPS = (20, 200)
NO_LIMIT = Limits(
    steps=10**6, tool_calls=10**6, calls_per_task=10**6, tokens=0, cost=0.0, wall_s=0.0
)


class Number(Strict):
    """What `look` takes."""

    x: int


def look(args: Any, context: ToolContext) -> ToolResult:
    """The tool."""
    return ToolResult(f"seen {args.x}", {"x": args.x}, {})


class Scripted:
    """Asks for one call a request until `steps` have a result."""

    name = "scripted"
    remote_host = ""
    info = ModelInfo(context_tokens=10**9)

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.asked = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """The next call, or the answer."""
        number = self.asked
        self.asked += 1
        if number >= self._steps:
            yield Text("done")
        else:
            yield Call(ToolCall(id=f"c{number}", name="look", arguments={"x": number}))


def ours(steps: int, thread: Thread, folder: Path, images: int = 0) -> float:
    """Milliseconds of one run, with so many open images."""
    loop = AgentLoop(Scripted(steps), FakeRegistry(FakeTool("look", Number, look)), limits=NO_LIMIT)
    notes = [
        {"id": f"image-{number}", "path": f"/ct/{number}.dcm", "kind": "dicom", "modality": "CT"}
        for number in range(1, images + 1)
    ]
    asked = request(folder, "q", thread=thread, notes=notes)

    async def main() -> float:
        started = time.perf_counter()
        last = ""
        async for event in loop.run(asked):
            last = event.kind
        took = time.perf_counter() - started
        assert last == "run_finished"
        return took

    took = asyncio.run(main())
    assert len(thread.history) == 2 * steps + 2
    return took * 1e3


class LangGraph:
    """The other side, in its own interpreter."""

    def __init__(self, python: Path) -> None:
        script = Path(__file__).with_name("loop_langgraph.py")
        self._process = subprocess.Popen(
            [str(python), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Tracing to LangSmith would be theirs to lose, and a network's.
            env={**os.environ, "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"},
        )
        self.pragmas = self._line()

    def run(self, steps: int, mode: str) -> float:
        """Milliseconds of one run."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps} {mode}\n")
        self._process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise SystemExit("LangGraph's process ended: see its error above")
        return line


def measure(steps: int, other: LangGraph, folder: Path) -> dict[str, float]:
    """Milliseconds a step of each, interleaved, medians."""
    store = SessionStore(folder / "sessions")
    times: dict[str, list[float]] = {}
    for turn in range(_repeats(steps) + 1):
        kept = store.new_thread()
        taken = {
            "ours, in memory": ours(steps, Thread.in_memory(), folder / "memory"),
            "ours, every event on disk": ours(steps, kept, kept.files_dir()),
            **{f"LangGraph, {mode}": other.run(steps, mode) for mode in MODES},
        }
        kept.close()
        for name, took in taken.items() if turn else ():  # the first warms everything up
            times.setdefault(name, []).append(took / steps)
    return {name: statistics.median(values) for name, values in times.items()}


def _repeats(steps: int) -> int:
    return max(REPEATS, LEAST_STEPS // steps)


def environment() -> Path:
    """An interpreter with LangGraph, made on the first call."""
    folder = Path(platformdirs.user_cache_dir("sightline")) / "bench" / "-".join(WANTED)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "complete").exists():
        print(f"making {folder} with {', '.join(WANTED)} ...", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *WANTED]
        subprocess.run(command, check=True)
        (folder / "complete").touch()
    return python


def main() -> int:
    """Print the table; 1 when ours costs more than LangGraph with SQLite."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--langgraph", type=Path, metavar="PYTHON", help="an interpreter with it")
    options = parser.parse_args()
    other = LangGraph(options.langgraph or environment())
    print(f"{platform.platform()}, {os.cpu_count()} cores; SQLite: {other.pragmas}")
    slower = False
    with tempfile.TemporaryDirectory() as name:
        for steps in STEPS:
            found = measure(steps, other, Path(name))
            base = found["LangGraph, sqlite"]
            print(
                f"\n{steps} steps, median of {_repeats(steps)}, ms a step (1.0 = LangGraph, sqlite)"
            )
            for what, value in found.items():
                print(f"  {what:36} {value:8.3f}  {value / base:5.2f}")
            slower |= found["ours, every event on disk"] > base
        took = {
            images: min(ours(1, Thread.in_memory(), Path(name), images) for _ in range(REPEATS))
            for images in (1, 2000)
        }
        print(f"\na question with 1 open image {took[1]:.0f} ms, with 2,000 {took[2000]:.0f} ms")
    other.close()
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
