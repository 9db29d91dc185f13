"""What a document on a conversation says: its questions, answers, calls, plans and pictures.

How that is written, as Markdown or HTML, is `export.py`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.agent.answers.evidence import unmarked
from app.agent.events import (
    TERMINAL,
    ApprovalRequested,
    ApprovalResolved,
    ModelRetry,
    Noted,
    PlanUpdated,
    RunCancelled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from app.agent.json_forms import plain
from app.agent.sessions.reading import Content, PastRun
from app.tools import lineage
from app.tools.api import Artifact

_LONGEST = 20_000  # characters of one result; all of it is in the JSON

PartKind = Literal["heading", "question", "answer", "line", "code", "picture"]


@dataclass(slots=True)
class Part:
    """A piece of a document: what it is, its text, and for a picture its file."""

    kind: PartKind
    text: str
    path: Path | None = None
    label: str = ""


@dataclass(slots=True)
class _Texts:
    """Streamed text until something else comes; what a retry withdrew is taken back."""

    text: str = ""
    parts: list[Part] = field(default_factory=list[Part])

    def end(self) -> None:
        if self.text.strip():
            self.parts.append(Part("answer", self.text.strip()))
        self.text = ""

    def settle(self, answer: str) -> None:
        """The run ended: what the answer cites was looked up, and is told so."""
        last = next((part for part in reversed(self.parts) if part.kind == "answer"), None)
        if last is not None and unmarked(answer).strip() == last.text:
            last.text = answer.strip()


def parts_of(content: Content) -> Iterator[Part]:
    """The pieces of a conversation, in the order in which they came."""
    header = content.header
    yield Part("line", f"Conversation {header.get('thread_id', '')}")
    yield Part("line", f"Begun {header.get('created', 'at an unknown time')}")
    origin: Any = header.get("branched_from")
    if isinstance(origin, dict):
        number: Any = origin.get("question")
        before = f" before question {number + 1}" if isinstance(number, int) else ""
        yield Part("line", f"Branched from {origin.get('thread_id')}{before}")
    for number, run in enumerate(content.runs, start=1):
        yield Part("heading", f"Question {number}")
        yield Part("question", run.question)
        yield from _facts(content, run)
        yield from _events(content, run)
    for problem in content.problems:
        yield Part("line", f"Could not be read: {problem}")


def _facts(content: Content, run: PastRun) -> Iterator[Part]:
    facts = content.run_facts.get(run.run_id, {})
    began = run.events[0].time if run.events else ""
    model = next((event.model for event in run.events if isinstance(event, RunStarted)), "")
    if began:
        yield Part("line", f"Asked {began}")
    if facts.get("model") or model:
        host = f" at {facts['host']}" if facts.get("host") else " (on this machine)"
        yield Part("line", f"Language model: {facts.get('model') or model}{host}")
    for uid in facts.get("studies") or ():
        yield Part("line", f"Study {uid}")
    for used in facts.get("used") or ():
        yield Part(
            "line",
            f"Image {used.get('id')}: SOP instance {used.get('sop_instance_uid')}, frame "
            f"{used.get('frame')}, pixels sha256 {used.get('pixel_sha256')}",
        )


def _events(content: Content, run: PastRun) -> Iterator[Part]:
    texts = _Texts()
    plan: PlanUpdated | None = None
    for event in run.events:
        if isinstance(event, PlanUpdated):
            plan = event
        elif event.kind in TERMINAL and plan is not None:
            texts.end()
            texts.parts.extend(_plan_parts(plan))
        match event:
            case TextDelta():
                texts.text += event.text
                continue
            case ModelRetry():
                texts.text = ""
            case _:
                texts.end()
        if isinstance(event, RunFinished):
            texts.settle(event.answer)
        texts.parts.extend(_event_parts(content, event))
    texts.end()
    yield from texts.parts


def _event_parts(content: Content, event: RunEvent) -> Iterator[Part]:
    match event:
        case ToolStarted():
            arguments = _json(event.arguments)
            yield Part("code", arguments, label=f"Tool {event.tool}, called {event.time} with")
        case ToolFinished():
            yield Part("line", _ended(event))
            yield from _call_parts(content, event)
        case ApprovalRequested():
            sent = f" To be sent: {'; '.join(event.sent)}." if event.sent else ""
            yield Part("line", f"Asked for permission: {event.title} {event.detail}{sent}")
        case ApprovalResolved():
            answer = "allowed" if event.granted else "denied"
            yield Part("line", f"You {answer} it. {event.reason}".strip())
        case ModelRetry():
            yield Part("line", f"{event.reason}: asked again (attempt {event.attempt})")
        case Noted():
            yield Part("line", event.text)
        case Usage():
            cost = "" if event.cost is None else f", {event.cost:.4f} US dollars so far"
            yield Part("line", f"Tokens: {event.input_tokens} + {event.output_tokens}{cost}")
        case RunFinished():
            why = f" (stopped by its limit: {event.stopped_by})" if event.stopped_by else ""
            yield Part("line", f"Finished {event.time}{why}")
        case RunFailed():
            yield Part("line", f"Failed {event.time}: {event.error}. {event.remedy}".rstrip())
        case RunCancelled():
            yield Part("line", f"Stopped {event.time}")
        case _:
            return


def _ended(event: ToolFinished) -> str:
    if event.refused:
        return f"{event.tool}: not run: {event.refused}"
    told = event.error if event.status != "ok" and event.error else event.summary
    number = f"[{event.evidence}] " if event.evidence else ""
    return f"{number}{event.tool}: {event.status} after {event.duration_s:g} s: {told}"


def _plan_parts(plan: PlanUpdated) -> Iterator[Part]:
    """How the plan stood at the end: its steps, what rules changed, and the goal."""
    for number, step in enumerate(plan.steps, start=1):
        why = step.get("verdict") or step.get("why") or ""
        by = f", by {step['by']}" if step.get("by") else ""
        told = f"{step.get('tool', '')} ({step.get('state', 'pending')}{by}) {why}"
        yield Part("line", f"Plan, step {number}: {told.strip()}")
    for item in plan.overrides:
        yield Part("line", f"Changed by rule ({item.rule}): {item.reason}")
    if plan.goal:
        yield Part("line", f"Goal: {plan.goal}. {plan.goal_why}".strip())


def _call_parts(content: Content, event: ToolFinished) -> Iterator[Part]:
    call = content.calls.get(event.call_id, {})
    result: dict[str, Any] = call.get("result", {})
    for sha in call.get("weights") or ():
        yield Part("line", f"Weights sha256 {sha}")
    models = {
        f"{made.get('model')} ({made.get('tool')} {made.get('tool_version')})"
        for item in result.get("findings") or ()
        if isinstance(made := item.get("provenance"), dict) and made.get("model")
    }
    for model in sorted(models):
        yield Part("line", f"Model {model}")
    if event.output:
        yield Part("code", _json(event.output), label=f"Result of {event.tool}")
    findings: list[Any] = list(result.get("findings") or ())
    if findings:
        yield Part("code", _json(findings), label=f"{len(findings)} findings")
    for artifact in event.artifacts:
        path = artifact.path if _was_made(content, event.run_id, artifact.path) else None
        yield Part("picture", _caption(artifact), path)


def _caption(artifact: Artifact) -> str:
    """A picture's title; what a model made says so here too."""
    title = artifact.title or artifact.path.name
    if not artifact.options.get("synthetic"):
        return title
    model = artifact.options.get("model") or "a model"
    return f"SYNTHETIC, made by {model}: not a patient. {title}"


def _was_made(content: Content, run_id: str, path: Path) -> bool:
    """Whether a picture is the conversation's own: only then it goes into the document.

    A tool, and whoever wrote the session's file, may have named any file. What lies in a folder of
    the user's own counts where Sightline noted it beside the picture.
    """
    try:
        real = path.resolve()
        if content.folder is not None and real.is_relative_to(content.folder.resolve()):
            return True
        made_in = Path(str(content.run_facts.get(run_id, {}).get("out_dir") or "")).resolve()
        name = real.relative_to(made_in).as_posix() if real.is_relative_to(made_in) else ""
    except (OSError, RuntimeError, ValueError):
        return False
    return bool(name) and lineage.find(made_in, name) is not None


def _json(value: Any) -> str:
    text = json.dumps(plain(value), ensure_ascii=False, indent=1, allow_nan=False)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n... {len(text) - _LONGEST} more characters: see the JSON export"
