"""Earlier questions of a thread as events, so that they look like they did when they ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.agent.events import (
    RunCancelled,
    RunEvent,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from app.agent.messages import Message
from app.imaging.findings import Finding
from app.tools.api import Artifact

FindingsOf = Callable[[str], list[Finding]]


@dataclass(slots=True)
class PastRun:
    """A question and the messages that answered it."""

    question: str
    messages: list[Message] = field(default_factory=list[Message])


def past_runs(history: Sequence[Message]) -> list[PastRun]:
    """The questions of a thread, the oldest first."""
    runs: list[PastRun] = []
    for message in history:
        if message.role == "user":
            runs.append(PastRun(message.text))
        elif runs:
            runs[-1].messages.append(message)
    return runs


def events(run: PastRun, folder: Path | None, findings_of: FindingsOf) -> list[RunEvent]:
    """The events that show `run` again.

    Args:
        run: What was asked and answered.
        folder: The thread's folder; pictures elsewhere are not shown.
        findings_of: Findings of a call that are still open, by call_id.
    """
    made: list[RunEvent] = []

    def head() -> dict[str, Any]:
        return {"run_id": "history", "seq": len(made), "time": ""}

    for message in run.messages:
        if message.role == "assistant":
            if message.text:
                made.append(TextDelta(**head(), text=message.text))
            made.extend(
                ToolStarted(**head(), call_id=call.id, tool=call.name, arguments=call.arguments)
                for call in message.tool_calls
            )
        elif message.role == "tool":
            made.append(_finished(message, head(), folder, findings_of))
    last = run.messages[-1] if run.messages else None
    if last is not None and last.role == "assistant" and last.text and not last.tool_calls:
        made.append(RunFinished(**head(), answer=last.text))
    else:
        made.append(RunCancelled(**head()))
    return made


def _finished(
    message: Message, head: dict[str, Any], folder: Path | None, findings_of: FindingsOf
) -> ToolFinished:
    output = _mapping(message.data.get("output"))
    remedy = str(message.data.get("remedy", ""))
    error = str(message.data.get("error", ""))
    return ToolFinished(
        **head,
        call_id=message.call_id,
        tool=message.tool,
        status="ok" if message.ok else "failed",
        summary=str(message.data.get("summary", "")),
        output=output,
        metadata=_mapping(message.data.get("metadata")),
        findings=findings_of(message.call_id) if message.ok else [],
        artifacts=_pictures(output, folder) if message.ok else [],
        error=f"{error} {remedy}".strip(),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _pictures(output: Mapping[str, Any], folder: Path | None) -> list[Artifact]:
    """Pictures that the output names and that the run itself made."""
    found: list[Artifact] = []
    for key, value in output.items():
        if folder is None or not (isinstance(value, str) and str(key).endswith("image_path")):
            continue
        path = Path(value)
        if path.is_absolute() and ".." not in path.parts and path.is_relative_to(folder):
            found.append(Artifact(path))
    return found
