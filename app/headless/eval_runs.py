"""Shared parts of the benchmarks: asking a role's model, results on disk, resuming, the summary."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from app.agent.events import (
    RunCancelled,
    RunFailed,
    RunFinished,
    TextDelta,
    ToolFinished,
    Usage,
)
from app.agent.llm.base import LanguageModel
from app.agent.profiles import AgentProfile
from app.agent.sessions import Thread
from app.errors import FileProblem, SightlineError, printable
from app.headless.common import print_json
from app.headless.runs import approver
from app.tools.images import OpenImage
from app.user_files import write_atomic
from app.wiring import Program

Json = dict[str, Any]
T = TypeVar("T")
MOST_SAID = 1_000
"""Characters that a role without tools may say; then it is cut off. AgentClinic: 200 tokens."""


class RoleFailed(SightlineError):
    """The error for a role whose language model failed; it ends the case, not the benchmark."""


@dataclass(slots=True)
class Spending:
    """Tokens and dollars of one role in one case; `cost` None if the model has no price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0


@dataclass(slots=True)
class Role:
    """One role of a case: its model, and what it has spent.

    Attributes:
        folder: Where runs put their files.
        thread_id: The conversation's id in each run, by which a doctor's session is found.
    """

    program: Program
    model: LanguageModel
    folder: Path
    thread_id: str
    spent: Spending = field(default_factory=Spending)

    async def ask(
        self,
        agent: AgentProfile | None,
        text: str,
        images: Sequence[OpenImage] = (),
        thread: Thread | None = None,
    ) -> tuple[str, str]:
        """Return the answer to one request, and why it breaks the protocol ("" if it does not).

        Without a `thread` nothing of earlier requests is remembered. What a role without tools
        says is cut off at `MOST_SAID`; the tokens of that answer are not counted.

        Raises:
            RoleFailed: The model failed, or nothing may be sent to it.
        """
        thread = thread or Thread(self.thread_id)
        request = self.program.request(
            text, images, thread=thread, out_dir=self.folder, approve=approver(self.model)
        )
        loop = self.program.loop(self.model, agent)
        brief = agent is not None and agent.tools == ()
        answer, problem, calls = "", "", 0
        used: Usage | None = None
        async for event in loop.run(request):
            match event:
                case Usage():
                    used = event
                case ToolFinished() if event.status != "ok":
                    problem = event.error or event.summary
                case ToolFinished():
                    calls += 1
                case RunFinished():
                    answer = event.answer
                case RunFailed():
                    self._count(used)
                    raise RoleFailed(event.error, remedy=event.remedy)
                case TextDelta() if brief:
                    answer += event.text
                    if len(answer) > MOST_SAID:
                        request.cancel.cancel()
                case RunCancelled() if len(answer) <= MOST_SAID:
                    raise RoleFailed("the run was stopped")
                case _:
                    pass
        self._count(used)
        if agent is not None and agent.tools and not calls and not problem:
            problem = "no tool was called"
        return answer[:MOST_SAID].strip() if brief else answer, problem

    def _count(self, used: Usage | None) -> None:
        if used is not None:
            self.spent.input_tokens += used.run_input_tokens
            self.spent.output_tokens += used.run_output_tokens
            self.spent.cost = _sum(self.spent.cost, used.cost)


class Results:
    """The results of a benchmark: one JSON object a line, written as each case ends.

    Args:
        folder: Created if missing.
        settings: What the run depends on; a folder with other settings is not gone on with.
        resume: Whether to go on with what is there.

    Raises:
        FileProblem: There are results already, or those of other settings.
    """

    def __init__(self, folder: Path, settings: Json, *, resume: bool) -> None:
        self.folder = folder
        self.path = folder / "results.jsonl"
        self._lock = asyncio.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        header = folder / "settings.json"
        if self.path.exists() and not resume:
            remedy = "Add --resume to go on with them, or choose another folder."
            raise FileProblem("there are results already", subject=str(folder), remedy=remedy)
        text = json.dumps(settings, indent=1)
        if resume and header.exists() and header.read_text("utf-8") != text:
            remedy = "Use the same options, or choose another folder."
            reason = "the results there were made with other options"
            raise FileProblem(reason, subject=str(folder), remedy=remedy)
        write_atomic(header, text.encode())
        # What failed (a model, an image that is missing) is tried again.
        self.rows = [row for row in read_results(self.path) if row["state"] != "failed"]
        # A line that a kill tore goes, so that the next begins on a line of its own.
        write_atomic(self.path, "".join(f"{json.dumps(row)}\n" for row in self.rows).encode())

    @property
    def done(self) -> set[str]:
        """The ids of the cases with a result."""
        return {str(row["id"]) for row in self.rows}

    async def add(self, row: Json) -> None:
        """Append a result, and have it on the disk before anything else."""
        async with self._lock:
            self.rows.append(row)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(f"{json.dumps(row)}\n")
                stream.flush()
                os.fsync(stream.fileno())


async def run_cases(
    cases: Iterable[T],
    work: Callable[[T], Awaitable[tuple[Json, Json]]],
    results: Results,
    jobs: int,
    said: Callable[[Json], str] | None,
) -> None:
    """Work on cases, `jobs` at the same time, until all are done or Ctrl+C; keep each result.

    Args:
        cases: The cases.
        work: Returns a case's row, with its "id", and what else its transcript's file has.
        results: Where rows go; transcripts lie beside them.
        jobs: Cases at the same time.
        said: Returns the line about a row for stderr; None to print the row as JSON.
    """
    free = asyncio.Semaphore(max(1, jobs))
    folder = results.folder / "transcripts"
    folder.mkdir(exist_ok=True)

    async def one(case: T) -> None:
        async with free:
            row, more = await work(case)
        kept = json.dumps({**row, **more}, indent=1, ensure_ascii=False)
        write_atomic(folder / f"{file_name(str(row['id']))}.json", kept.encode())
        await results.add(row)
        if said is None:
            print_json(row)
        else:
            print(printable(said(row)), file=sys.stderr, flush=True)

    with contextlib.suppress(asyncio.CancelledError):  # Ctrl+C
        await asyncio.gather(*map(one, cases))


def read_results(path: Path) -> list[Json]:
    """Return the results in a file; a last line that was not written whole is left out."""
    rows: list[Json] = []
    if path.exists():
        for line in path.read_text("utf-8", errors="replace").split("\n"):
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    return rows


def wilson(successes: int, total: int) -> tuple[float, float]:
    """Return the 95% confidence interval of a proportion (Wilson 1927); (0, 1) for no cases."""
    if not total:
        return 0.0, 1.0
    from scipy.stats import binomtest  # takes half a second, which other commands need not wait

    found = binomtest(successes, total).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def accuracy(rows: Sequence[Mapping[str, Any]]) -> Json:
    """Return cases, correct ones, their share and its 95% interval."""
    right = sum(row["state"] == "correct" for row in rows)
    low, high = wilson(right, len(rows))
    share = right / len(rows) if rows else 0.0
    return {"cases": len(rows), "correct": right, "accuracy": share, "low": low, "high": high}


def summary_of(rows: Sequence[Mapping[str, Any]]) -> Json:
    """Return accuracy, the states, and the tokens and dollars of each role."""
    spent: dict[str, Json] = {}
    for row in rows:
        for role, used in row.get("spent", {}).items():
            total = spent.setdefault(role, dict.fromkeys(used, 0))
            for key, value in used.items():
                total[key] = _sum(total[key], value)
    return {
        **accuracy(rows),
        "states": dict(Counter(str(row["state"]) for row in rows).most_common()),
        "spent": spent,
    }


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one + other, 6)


def spent_text(used: Mapping[str, Any]) -> str:
    """Return what a role spent, for people."""
    cost = "price unknown" if used["cost"] is None else f"${used['cost']:.4f}"
    return f"{used['input_tokens']:,} + {used['output_tokens']:,} tokens, {cost}"


def exit_code(rows: Sequence[Mapping[str, Any]], wanted: int) -> int:
    """Return 0 if all cases have ended without a failure, else 1, and say how to go on."""
    failed = sum(row["state"] == "failed" for row in rows)
    if left := wanted - len(rows):
        print(f"sightline: stopped; {left} cases are left: --resume goes on.", file=sys.stderr)
    if failed:
        text = f"sightline: {failed} of {wanted} failed: --resume tries them again."
        print(text, file=sys.stderr)
    return int(bool(left or failed))


def file_name(case: str) -> str:
    """Return the name of a case's file."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", case)[:100]


def most_common(diagnoses: Iterable[str]) -> tuple[str, int, int]:
    """Return the commonest diagnosis, how often it is, and how many there are.

    Whoever always says it is right that often: the baseline of every doctor.
    """
    counts = Counter(" ".join(re.findall(r"\w+", item.casefold())) for item in diagnoses)
    name, count = counts.most_common(1)[0]
    return name, count, sum(counts.values())
