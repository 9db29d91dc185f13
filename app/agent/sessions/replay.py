"""Makes a thread's tool calls again and lists what differs from the recorded results.

With the same tools, arguments and pixels, the results must be the same. A call that writes, sends
or executes is never made again.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image
from pydantic import BaseModel

from app.agent.context import read_result_tool as read_result
from app.agent.enforcement import update_plan_tool as plan_tool
from app.agent.json_forms import finding_json, plain
from app.agent.loop.tool_execution import Outcome, Tools, failed, parse_arguments, run_tool
from app.agent.messages import ToolCall
from app.agent.policy import Policy, Rule, Scope
from app.agent.sessions.content import Content
from app.agent.sessions.session_file import Entry
from app.tools import picture_sources
from app.tools.api import Approval, Tool, ToolContext

_MAX_DIFFERENCES = 20
_SHOWN_CHARS = 80
_FINDING = ("image", "geometry", "label", "score", "units", "value", "description", "approximate")
_ARTIFACT = ("path", "role", "title", "description")
_OUTPUTS = ("output", "metadata")
_MADE_BY = ("tool", "tool_version", "model", "weights_sha256")

Status = Literal["same", "differs", "left out"]
_OWN = (plan_tool.SPEC.name, read_result.SPEC.name)
_REPLAYED = (Approval.READ, Approval.COMPUTE)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call as recorded in the session file, with the "run" entry of its run as `facts`."""

    call_id: str
    run_id: str
    tool: str
    arguments: dict[str, Any]
    result: dict[str, Any]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """The outcome of making a call again.

    Attributes:
        status: "same", "differs", or "left out" if the call was not made again.
        reasons: The differences, or why the call was left out.
        harmless: Whether the call was left out on purpose (it writes or sends, or was stopped or
            refused when it was recorded), not because something is missing.
    """

    call_id: str
    tool: str
    status: Status
    reasons: list[str] = field(default_factory=list[str])
    harmless: bool = False


ContextOf = Callable[[RecordedCall], ToolContext | str]
"""Returns the context for a call, or why it cannot be made again (an image is missing)."""


def _recorded(entry: Entry, content: Content) -> RecordedCall:
    run_id = str(entry.get("run_id", ""))
    arguments: Any = entry.get("arguments")
    return RecordedCall(
        str(entry["id"]),
        run_id,
        str(entry.get("name", "")),
        arguments if isinstance(arguments, dict) else {},
        entry["result"],
        content.run_facts.get(run_id, {}),
    )


@dataclass(slots=True)
class Replay:
    """Repeats the recorded tool calls of a thread with the current tools.

    Args:
        context_of: Returns the context for a call, or the reason why the call cannot be made.
        old_dir: The thread's output folder; a run's own `out_dir` takes precedence.
        new_dir: The folder that the repeated calls write to.
        renamed: Maps old names of files and images to the current ones.
        policy: The current rules; a call that would require asking the user is refused.
    """

    tools: Tools
    context_of: ContextOf
    old_dir: Path
    new_dir: Path
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    policy: Policy = field(default_factory=Policy.standard)

    async def run(self, content: Content) -> AsyncIterator[ReplayedCall]:
        """Make every call again, one after the other, and yield each outcome."""
        for entry in content.calls.values():
            yield await self.call(_recorded(entry, content))

    async def call(self, call: RecordedCall) -> ReplayedCall:
        """Make one call again and compare its result with the recorded one."""
        tool = self.tools.get(call.tool)
        if call.result.get("status") == "cancelled":
            return _skipped(call, "it was stopped then", harmless=True)
        if call.tool in _OWN:
            return _skipped(call, "it is the loop's own and computes nothing", harmless=True)
        if call.result.get("refused"):
            return _skipped(call, "rules refused it then", harmless=True)
        if tool is None and call.result.get("status") == "failed":
            return ReplayedCall(call.call_id, call.tool, "same")  # the tool was missing then, too
        if tool is None:
            return _skipped(call, "there is no tool of this name here")
        if tool.spec.approval not in _REPLAYED:
            why = f"it would {tool.spec.approval.value}: never made again"
            return _skipped(call, why, harmless=True)
        context = self.context_of(call)
        if isinstance(context, str):
            return _skipped(call, context)
        old_dir = Path(str(call.facts.get("out_dir") or self.old_dir))
        arguments = self._with_new_names(call.arguments, old_dir)
        asked = ToolCall(id=call.call_id, name=call.tool, arguments=arguments)
        args = parse_arguments(tool.spec, asked)
        outcome = args if isinstance(args, Outcome) else await self._run(tool, args, context)
        comparison = _Comparison(old_dir, self.new_dir, self.renamed)
        reasons = comparison.results(call.result, _result_entry(outcome, self.new_dir))
        return ReplayedCall(call.call_id, call.tool, "differs" if reasons else "same", reasons)

    async def _run(self, tool: Tool, args: BaseModel, context: ToolContext) -> Outcome:
        """Run it if the policy allows: anyone may have written the session's file."""
        scope = Scope.for_run(context.images, (), context.out_dir)
        judged = self.policy.judge(tool.spec, args, scope)
        if judged.rule is Rule.DENY:
            return failed(judged.reason, judged.remedy)
        if judged.rule is Rule.ASK:
            return failed(f"{tool.spec.name} was not run: it asks first, by the rules set here.")
        return await run_tool(tool, args, context)

    def _with_new_names(self, value: Any, old_dir: Path) -> Any:
        """Return arguments with recorded file names replaced by the new ones."""
        match value:
            case dict():
                return {key: self._with_new_names(item, old_dir) for key, item in value.items()}
            case list():
                return [self._with_new_names(item, old_dir) for item in value]
            case str() if value in self.renamed:
                return self.renamed[value]
            case str():
                path = _path_inside(value, old_dir)
                return value if path is None else str(self._copy_of(path, old_dir))
            case _:
                return value

    def _copy_of(self, path: Path, old_dir: Path) -> Path:
        """Return a copy of a recorded file, with its lineage, unless a repeated call made it."""
        name = path.relative_to(old_dir)
        target = self.new_dir / name
        if self._is_tool_file(path, old_dir) and path.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            origin = picture_sources.find(old_dir, name.as_posix())
            if origin is not None:
                picture_sources.record(self.new_dir, name.as_posix(), origin)
        self.renamed[str(path)] = str(target)
        return target

    def _is_tool_file(self, path: Path, old_dir: Path) -> bool:
        """Return whether a tool made a file, by its folder or lineage note, and not a link."""
        if not path.resolve().is_relative_to(old_dir.resolve()):
            return False
        if old_dir.resolve().is_relative_to(self.old_dir.resolve()):
            return True
        return picture_sources.find(old_dir, path.relative_to(old_dir).as_posix()) is not None


def _skipped(call: RecordedCall, why: str, *, harmless: bool = False) -> ReplayedCall:
    return ReplayedCall(call.call_id, call.tool, "left out", [why], harmless)


def _result_entry(outcome: Outcome, out_dir: Path) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "output": outcome.output,
        "metadata": outcome.metadata,
        "error": outcome.error_text,
        "findings": [finding_json(item, out_dir) for item in outcome.findings],
        "artifacts": [plain(item) for item in outcome.artifacts],
    }


# -- comparing results ------------------------------------------------------------------------


@dataclass(slots=True)
class _Comparison:
    """Compares recorded results with new ones.

    Files and findings get a new name each time, so their contents are compared; once a file was
    found equal, its old name counts as equal to the new one.
    """

    old_dir: Path
    new_dir: Path
    renamed: dict[str, str] = field(default_factory=dict[str, str])

    def results(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return the differences of two results, as `Thread.result` gives them, as sentences."""
        if old.get("status") != new.get("status"):
            error = f" ({_text(new.get('error'))})" if new.get("error") else ""
            return [f"status: {old.get('status')} then, {new.get('status')} now{error}"]
        if old.get("status") != "ok":
            return []
        findings = list(self._findings(old.get("findings") or [], new.get("findings") or []))
        parts = [self._values(key, old[key], new.get(key)) for key in _OUTPUTS if key in old]
        shown = self._artifacts(old.get("artifacts") or [], new.get("artifacts") or [])
        found = [*findings, *chain.from_iterable(parts), *shown]
        more = len(found) - _MAX_DIFFERENCES
        return [*found[:_MAX_DIFFERENCES], f"and {more} more"] if more > 0 else found

    def _findings(self, old: list[Any], new: list[Any]) -> Iterator[str]:
        if len(old) != len(new):
            yield f"findings: {len(old)} then, {len(new)} now"
        for number, (before, after) in enumerate(zip(old, new, strict=False)):
            where = f"findings[{number}]"
            self.renamed[str(before.get("id"))] = str(after.get("id"))
            yield from self._fields(where, _FINDING, before, after)
            made, now = _mapping(before.get("provenance")), _mapping(after.get("provenance"))
            yield from self._fields(where, _MADE_BY, made, now)

    def _artifacts(self, old: list[Any], new: list[Any]) -> Iterator[str]:
        if len(old) != len(new):
            yield f"artifacts: {len(old)} then, {len(new)} now"
        for number, (before, after) in enumerate(zip(old, new, strict=False)):
            yield from self._fields(f"artifacts[{number}]", _ARTIFACT, before, after)

    def _fields(
        self, where: str, keys: Sequence[str], old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[str]:
        for key in keys:
            yield from self._values(f"{where}.{key}", old.get(key), new.get(key))

    def _values(self, where: str, old: Any, new: Any) -> Iterator[str]:
        match old, new:
            case dict(), dict():
                for key in sorted({*old, *new}, key=str):
                    if key not in new:
                        yield f"{where}.{key}: missing now"
                    elif key not in old:
                        yield f"{where}.{key}: new"
                    else:
                        yield from self._values(f"{where}.{key}", old[key], new[key])
            case list(), list():
                if len(old) != len(new):
                    yield f"{where}: {len(old)} entries then, {len(new)} now"
                for number, (before, after) in enumerate(zip(old, new, strict=False)):
                    yield from self._values(f"{where}[{number}]", before, after)
            case str(), str():
                yield from self._strings(where, old, new)
            case (int() | float(), int() | float()) if type(old) is not bool is not type(new):
                if old != new:
                    by = abs(new - old)
                    size = f" (by {by:.3g})" if math.isfinite(by) else ""
                    yield f"{where}: {old} then, {new} now{size}"
            case _ if old != new or type(old) is not type(new):
                yield f"{where}: {_text(old)} then, {_text(new)} now"
            case _:
                return

    def _strings(self, where: str, old: str, new: str) -> Iterator[str]:
        if old == new or self.renamed.get(old) == new:
            return
        before, after = _path_inside(old, self.old_dir), _path_inside(new, self.new_dir)
        if before is not None and after is not None:
            difference = _files_differ(before, after)
            if difference:
                yield f"{where}: {difference}"
            else:
                self.renamed[old] = new
            return
        if self._with_current_names(old) != new:
            yield f"{where}: {_text(old)} then, {_text(new)} now"

    def _with_current_names(self, text: str) -> str:
        """Return a text (a summary with a path in it, say) with the new names."""
        for old, new in self.renamed.items():
            text = text.replace(old, new)
        return text.replace(str(self.old_dir), str(self.new_dir))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _path_inside(text: str, folder: Path) -> Path | None:
    """Return `text` as a path if it is one inside `folder`, else None."""
    path = Path(text) if text and "\0" not in text else None
    if path is None or not path.is_absolute() or ".." in path.parts:
        return None
    return path if path.is_relative_to(folder) and path != folder else None


def _files_differ(old: Path, new: Path) -> str:
    try:
        before, after = old.read_bytes(), new.read_bytes()
    except OSError as error:
        which = "the recorded file" if not old.is_file() else "the file made now"
        return f"{which} cannot be read ({error.strerror or type(error).__name__})"
    if before == after:
        return ""
    if old.suffix.lower() != ".png" or new.suffix.lower() != ".png":
        return f"{old.name} holds something else now"
    try:
        with Image.open(old) as first, Image.open(new) as second:
            pixels, others = np.asarray(first), np.asarray(second)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        return f"{old.name} cannot be compared ({type(error).__name__})"
    if pixels.shape != others.shape:
        return f"{old.name} is {pixels.shape[:2]} then, {others.shape[:2]} now (rows, columns)"
    count = int(np.count_nonzero(pixels != others))
    return f"{old.name}: {count} of {pixels.size} pixel values differ" if count else ""


def _text(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[: _SHOWN_CHARS - 1]}…"
