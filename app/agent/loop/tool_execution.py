"""Execution of one tool call: find the tool, check its arguments, run it in a thread."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from app.agent.context.model_messages import error_message, result_message
from app.agent.json_forms import plain
from app.agent.loop.limits import WaitClock
from app.agent.messages import MEND, Message, RecordContent, ToolCall
from app.agent.planning import near_names
from app.errors import Cancelled, SightlineError, unexpected
from app.imaging.findings import Finding
from app.tools.api import (
    Approval,
    Artifact,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
    ToolRetry,
    ToolSpec,
)

_SHORTEST_S = 0.05
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Tools(Protocol):
    """The interface to a run's tools, which `app.tools.registry` implements."""

    def get(self, name: str) -> Tool | None:
        """Return the tool with that name, or None."""
        ...

    def all(self) -> tuple[Tool, ...]:
        """Return every tool, in the order in which they are listed to the model."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call, with everything needed for the event, the model and the session file.

    `wrong_arguments` says that other arguments might have worked (ToolRetry). `kept` holds findings
    and artifacts in the form used in the session file. `refused` tells the user why the call was
    not run. `record` says what it holds of patients' records.
    """

    status: Literal["ok", "failed", "cancelled"]
    summary: str
    output: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    findings: tuple[Finding, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    error: str = ""
    remedy: str = ""
    wrong_arguments: bool = False
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    refused: str = ""
    record: RecordContent | None = None

    @property
    def error_text(self) -> str:
        """Return the error and its remedy in one line."""
        return f"{self.error} {self.remedy}".strip()

    def message(self, call: ToolCall) -> Message:
        """Return the message for the model: summary, output and metadata, or the error."""
        if self.status == "ok":
            data: dict[str, Any] = {
                "summary": self.summary,
                "output": self.output,
                "metadata": self.metadata,
            }
            files = [_file(item) for item in self.artifacts if item.role in TOLD_FILES]
            if files:
                data["files"] = files[:MOST_FILES]
            message = result_message(call.id, call.name, data)
        else:
            message = error_message(call.id, call.name, self.error, self.remedy)
        return message.model_copy(update={"record": self.record})


TOLD_FILES = ("table", "plot", "mask")
"""Roles of files that the model and the answer are told of, by their titles."""
MOST_FILES = 8


def _file(artifact: Artifact) -> dict[str, Any]:
    rows = artifact.options.get("rows")
    told = {"kind": artifact.role, "title": artifact.title, "path": str(artifact.path)}
    return {**told, "rows": rows} if isinstance(rows, int) else told


def failed(error: str, remedy: str = "") -> Outcome:
    """Return the outcome of a failed call."""
    return Outcome("failed", error, error=error, remedy=remedy)


def not_run(error: str, remedy: str = "", why: str = "") -> Outcome:
    """Return the outcome for a call that was refused by a rule, the policy or the user.

    `error` and `remedy` are for the model; `why` is for the user, if it is worded differently.
    """
    return Outcome("failed", error, error=error, remedy=remedy, refused=why or error)


def find_tool(tools: Tools, call: ToolCall) -> Tool | Outcome:
    """Return the tool that a call names, or a failed outcome that lists similar names."""
    tool = tools.get(call.name)
    if tool is not None:
        return tool
    names = [item.spec.name for item in tools.all()]
    near = near_names(call.name, names)
    hint = f"Did you mean {' or '.join(near)}?" if near else ""
    listed = f"Tools: {', '.join(names)}." if names else "No tools are available."
    return failed(f'No such tool: "{call.name[:80]}".', f"{hint} {listed}".strip())


def parse_arguments(spec: ToolSpec, call: ToolCall) -> BaseModel | Outcome:
    """Return the validated arguments, or a failed outcome that explains what is wrong with them."""
    if call.raw:
        return failed(
            f"The arguments of {spec.name} are not a JSON object.",
            f"Call again with a JSON object. {_expected(spec)}",
        )
    try:
        return spec.Input.model_validate(call.arguments)
    except ValidationError as error:
        complaints = "; ".join(_complaint(item) for item in error.errors(include_url=False))
        return failed(f"Wrong arguments for {spec.name}: {complaints}.", _expected(spec))


def in_thread(work: Callable[[], T], name: str) -> asyncio.Future[tuple[T | None, object]]:
    """Run the blocking function `work` in a new thread; the future's result is (value, error).

    The thread is a daemon and is never joined. Unlike a pool's thread, it cannot delay the end of
    the run or of the program if a tool ignores its cancel token.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[T | None, object]] = loop.create_future()

    def deliver(value: T | None, error: object) -> None:
        if not future.done():
            future.set_result((value, error))

    def main() -> None:
        value: T | None = None
        caught: object = None
        try:
            value = work()
        except BaseException as error:
            caught = error
        try:
            loop.call_soon_threadsafe(deliver, value, caught)
        except RuntimeError:
            _log.debug("A tool's thread ended after its loop was closed")

    threading.Thread(target=main, name=f"tool {name}", daemon=True).start()
    return future


async def run_tool(
    tool: Tool,
    args: BaseModel,
    context: ToolContext,
    timeout_s: float | None = None,
    keep: Callable[[ToolResult], dict[str, Any]] | None = None,
    waited: WaitClock | None = None,
) -> Outcome:
    """Run a tool with a time limit, and turn any result or error into an outcome.

    `context.cancel` is set when the time is up, so that the abandoned work stops. `keep` converts a
    result to `Outcome.kept`; it is called in the tool's thread, as it may write pictures. `waited`
    measures the time spent waiting for the user, which does not count towards the limit.
    """
    spec = tool.spec
    limit_s = timeout_s
    if limit_s is None:
        limit_s = own_limit_s(tool, args, context) or spec.timeout_s
    future = in_thread(lambda: _checked(spec, tool.run(args, context), keep), spec.name)
    # Not wait_for: where the result and a cancel come together, that one loses the cancel.
    ends = time.monotonic() + limit_s
    left_s = limit_s
    while not future.done() and left_s > 0:
        await asyncio.wait((future,), timeout=max(left_s, _SHORTEST_S))
        left_s = ends - time.monotonic() + (waited.seconds if waited is not None else 0.0)
    if not future.done():
        future.cancel()
        context.cancel.cancel()
        return failed(
            f"{spec.name} did not finish within {limit_s:g} s and was stopped.",
            half_done(spec) or "Try again, or use a smaller image.",
        )
    outcome, error = future.result()
    return outcome if outcome is not None else _judge(spec, error)


def own_limit_s(tool: Tool, args: BaseModel, context: ToolContext) -> float | None:
    """Return the time limit of a call that works on many images; None for any other tool."""
    limit = getattr(tool, "time_limit_s", None)
    return None if limit is None else float(limit(args, context))


def half_done(spec: ToolSpec) -> str:
    """Return a warning for a call that was stopped midway; "" if its tool has no side effects."""
    if spec.approval in (Approval.READ, Approval.COMPUTE):
        return ""
    return "It may have done part of its work: look before you call it again."


def log_unexpected(what: str, error: BaseException) -> None:
    """Log what went wrong and where, but not the error's text, which may contain patient data."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{item.filename}:{item.lineno}" for item in reversed(frames[-6:]))
    _log.error("%s: %s at %s", what, type(error).__name__, where or "unknown place")


def _judge(spec: ToolSpec, error: object) -> Outcome:
    if isinstance(error, Cancelled):
        return Outcome("cancelled", "Stopped.", error="Stopped.")
    if isinstance(error, ToolRetry):
        parts = (error.remedy, MEND, error.for_model, _expected(spec))
        told = failed(_reason(error), " ".join(filter(None, parts)))
        return dataclasses.replace(told, wrong_arguments=True)
    if isinstance(error, SightlineError):
        if not isinstance(error, ToolFailed) and error.detail:
            _log.info("%s failed: %s", spec.name, type(error).__name__)
        return failed(_reason(error), error.remedy)
    if isinstance(error, BaseException):
        log_unexpected(f"{spec.name} raised", error)
        told = unexpected(error)
        if type(error).__name__ not in told.reason:  # the computer lacks something
            return failed(f"{spec.name} failed. {told.reason}.", told.remedy)
    return failed(
        f"{spec.name} failed unexpectedly ({type(error).__name__}).",
        "Please report it; the log has the details.",
    )


def _reason(error: SightlineError) -> str:
    head = f"{error.subject}: {error.reason}" if error.subject else error.reason
    return head if head.endswith((".", "?", "!")) else f"{head}."


def _checked(
    spec: ToolSpec, value: object, keep: Callable[[ToolResult], dict[str, Any]] | None
) -> Outcome:
    if not isinstance(value, ToolResult):
        _log.error("%s returned %s instead of a ToolResult", spec.name, type(value).__name__)
        return failed(f"{spec.name} returned no result.", "Please report it.")
    if not (_all_are(Finding, value.findings) and _all_are(Artifact, value.artifacts)):
        _log.error("%s returned findings or artifacts of the wrong type", spec.name)
        return failed(f"{spec.name} returned a broken result.", "Please report it.")
    return Outcome(
        "ok",
        str(value.summary),
        output=plain(value.output),
        metadata=plain(value.metadata),
        findings=tuple(value.findings),
        artifacts=tuple(value.artifacts),
        kept=keep(value) if keep is not None else {},
    )


def _all_are(kind: type, parts: object) -> bool:
    """Return whether all parts are of a type, since packs of others may ignore annotations."""
    return isinstance(parts, (tuple, list)) and all(isinstance(part, kind) for part in parts)


def _complaint(item: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"]) or "arguments"
    match item["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where} is not an argument of it"
        case _:
            return f"{where}: {item['msg']}, got {str(item.get('input'))[:60]!r}"


@cache
def schema_of(input_type: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments. It is cached, so do not modify it."""
    return input_type.model_json_schema()


def _expected(spec: ToolSpec) -> str:
    schema = schema_of(spec.Input)
    required = set(schema.get("required", ()))
    described = [
        f"{name} ({_type_text(part)}{', required' if name in required else ''})"
        for name, part in schema.get("properties", {}).items()
    ]
    return f"It takes: {', '.join(described)}." if described else "It takes no arguments."


def _type_text(part: Mapping[str, Any]) -> str:
    if "anyOf" in part:
        return " or ".join(_type_text(item) for item in part["anyOf"] if item != {"type": "null"})
    if part.get("type") == "array" and "items" in part:
        return f"list of {_type_text(part['items'])}"
    return str(part.get("type", "any"))
