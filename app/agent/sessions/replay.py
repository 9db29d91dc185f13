"""Runs a thread's tool calls again and says what came out differently.

Same tools, same arguments, same pixels: what a tool computed must come out the same. A call that
writes, sends or executes is never made again.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from app.agent.context import read_result_tool as read_result
from app.agent.enforcement import update_plan_tool as plan_tool
from app.agent.json_forms import artifact_json, finding_json
from app.agent.loop.tool_execution import Outcome, Tools, failed, parse_arguments, run_tool
from app.agent.messages import ToolCall
from app.agent.policy import Policy, Rule, Scope
from app.agent.sessions.comparing import Comparison, inside
from app.agent.sessions.lines import Entry
from app.agent.sessions.reading import Content
from app.tools import lineage
from app.tools.api import Approval, Tool, ToolContext

Status = Literal["same", "differs", "left out"]
_OWN = (plan_tool.SPEC.name, plan_tool.CHECK, read_result.SPEC.name)
_REPLAYED = (Approval.READ, Approval.COMPUTE)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A tool call as the session file has it.

    Attributes:
        call_id: Its id.
        run_id: Its run; "" in a version 1 file.
        tool: The tool's name.
        arguments: As they were given.
        result: As `Thread.result` gives it.
        facts: What its run rests on.
    """

    call_id: str
    run_id: str
    tool: str
    arguments: dict[str, Any]
    result: dict[str, Any]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a call.

    Attributes:
        call_id: Its id.
        tool: The tool's name.
        status: "left out" for a call that was not made again.
        reasons: The differences, or why it was left out.
        harmless: It was left out by rule (it writes or sends, or was stopped then), not for want
            of something.
    """

    call_id: str
    tool: str
    status: Status
    reasons: list[str] = field(default_factory=list[str])
    harmless: bool = False


ContextOf = Callable[[Recorded], ToolContext | str]
"""A context for a call to be made again, or why it cannot be made (an image is missing)."""


def recorded_calls(content: Content) -> list[Recorded]:
    """The calls of a thread in the order in which they ended."""
    return [_recorded(entry, content) for entry in content.calls.values()]


def _recorded(entry: Entry, content: Content) -> Recorded:
    run_id = str(entry.get("run_id", ""))
    arguments: Any = entry.get("arguments")
    return Recorded(
        str(entry["id"]),
        run_id,
        str(entry.get("name", "")),
        arguments if isinstance(arguments, dict) else {},
        entry["result"],
        content.run_facts.get(run_id, {}),
    )


@dataclass(slots=True)
class Replay:
    """Makes calls again.

    Args:
        tools: The tools there are now.
        context_of: Gives each call its images and output folder.
        old_dir: The thread's output folder; a run's own `out_dir` overrules it.
        new_dir: Where the calls write now.
        renamed: What names of then are called now: files, and images that lie elsewhere.
        policy: The rules that hold now; no question can be asked.
    """

    tools: Tools
    context_of: ContextOf
    old_dir: Path
    new_dir: Path
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    policy: Policy = field(default_factory=Policy.standard)

    async def run(self, content: Content) -> AsyncIterator[Replayed]:
        """Every call, one after the other."""
        for call in recorded_calls(content):
            yield await self.call(call)

    async def call(self, call: Recorded) -> Replayed:
        """Make one call again and compare."""
        tool = self.tools.get(call.tool)
        if call.result.get("status") == "cancelled":
            return _left_out(call, "it was stopped then", harmless=True)
        if call.tool in _OWN:
            return _left_out(call, "it is the loop's own and computes nothing", harmless=True)
        if call.result.get("refused"):
            return _left_out(call, "rules refused it then", harmless=True)
        if tool is None and call.result.get("status") == "failed":
            return Replayed(call.call_id, call.tool, "same")  # there was none then either
        if tool is None:
            return _left_out(call, "there is no tool of this name here")
        if tool.spec.approval not in _REPLAYED:
            why = f"it would {tool.spec.approval.value}: never made again"
            return _left_out(call, why, harmless=True)
        context = self.context_of(call)
        if isinstance(context, str):
            return _left_out(call, context)
        old_dir = Path(str(call.facts.get("out_dir") or self.old_dir))
        arguments = self._translated(call.arguments, old_dir)
        asked = ToolCall(id=call.call_id, name=call.tool, arguments=arguments)
        args = parse_arguments(tool.spec, asked)
        outcome = args if isinstance(args, Outcome) else await self._run(tool, args, context)
        comparison = Comparison(old_dir, self.new_dir, self.renamed)
        reasons = comparison.results(call.result, _as_logged(outcome, self.new_dir))
        return Replayed(call.call_id, call.tool, "differs" if reasons else "same", reasons)

    async def _run(self, tool: Tool, args: BaseModel, context: ToolContext) -> Outcome:
        """Run it, if the policy lets it: a session's file may have been written by anybody."""
        scope = Scope.of(context.images, (), context.out_dir)
        judged = self.policy.judge(tool.spec, args, scope)
        if judged.rule is Rule.DENY:
            return failed(judged.reason, judged.remedy)
        if judged.rule is Rule.ASK:
            return failed(f"{tool.spec.name} was not run: it asks first, by the rules set here.")
        return await run_tool(tool, args, context)

    def _translated(self, value: Any, old_dir: Path) -> Any:
        """Arguments that name a file of then name that of now."""
        match value:
            case dict():
                return {key: self._translated(item, old_dir) for key, item in value.items()}
            case list():
                return [self._translated(item, old_dir) for item in value]
            case str() if value in self.renamed:
                return self.renamed[value]
            case str():
                path = inside(value, old_dir)
                return value if path is None else str(self._brought(path, old_dir))
            case _:
                return value

    def _brought(self, path: Path, old_dir: Path) -> Path:
        """A file that no call made again made: the recorded one, with what it shows."""
        name = path.relative_to(old_dir)
        target = self.new_dir / name
        if self._was_made(path, old_dir) and path.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            origin = lineage.find(old_dir, name.as_posix())
            if origin is not None:
                lineage.record(self.new_dir, name.as_posix(), origin)
        self.renamed[str(path)] = str(target)
        return target

    def _was_made(self, path: Path, old_dir: Path) -> bool:
        """Whether a tool made that file then: anybody may have written the session's file.

        It says itself where its files lie. Outside of its own folder only what Sightline noted
        beside the file counts, and nothing counts that a link leads to.
        """
        if not path.resolve().is_relative_to(old_dir.resolve()):
            return False
        if old_dir.resolve().is_relative_to(self.old_dir.resolve()):
            return True
        return lineage.find(old_dir, path.relative_to(old_dir).as_posix()) is not None


def _left_out(call: Recorded, why: str, *, harmless: bool = False) -> Replayed:
    return Replayed(call.call_id, call.tool, "left out", [why], harmless)


def _as_logged(outcome: Outcome, out_dir: Path) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "output": outcome.output,
        "metadata": outcome.metadata,
        "error": outcome.error_text,
        "findings": [finding_json(item, out_dir) for item in outcome.findings],
        "artifacts": [artifact_json(item) for item in outcome.artifacts],
    }
