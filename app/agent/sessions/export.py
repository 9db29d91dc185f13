"""Writes a thread as Markdown, HTML or JSON for a person's records, or only its tool calls.

The export may hold patient data: the caller says so to the user. Text of the thread never becomes
markup; the HTML has no script, loads nothing, and contains its pictures.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from app.agent import events
from app.agent.answers.evidence import unmarked
from app.agent.answers.items import told
from app.agent.events import RunEvent
from app.agent.json_forms import plain
from app.agent.sessions.content import Content, PastRun
from app.errors import writing
from app.paths import resources_dir
from app.tools import picture_sources
from app.tools.api import Artifact
from app.user_files import write_atomic

Form = Literal["md", "html", "json", "calls"]
"""Forms of exported conversations; "calls" is MedRAX's log of tool calls (`tool_calls_*.json`)."""
DISCLAIMER = "AI results are not for diagnosis."
WARNING = "This file may contain patient data: names in paths, images and findings. Keep it safe."
_MAX_PICTURE_BYTES = 8 * 1024**2  # of one picture that is embedded
_MAX_RESULT_CHARS = 20_000  # of one result; all of it is in the JSON export


def export(
    content: Content,
    form: Form,
    target: Path,
    decisions: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write the thread to `target` in a `form`, all or nothing; an existing file is replaced.

    `decisions` are the fields state, reviewer and reviewed of findings by id, as they are now.
    """
    content = _reviewed(content, decisions or {})
    match form:
        case "json":
            text = json.dumps(as_json(content), ensure_ascii=False, indent=1, allow_nan=False)
        case "calls":
            text = json.dumps(as_calls(content), ensure_ascii=False, indent=4, allow_nan=False)
        case "html":
            text = as_html(content)
        case "md":
            text = as_markdown(content)
    with writing(target, "the export"):
        write_atomic(target, text.encode("utf-8", "replace"))


def _reviewed(content: Content, decisions: Mapping[str, Mapping[str, Any]]) -> Content:
    """Return a copy whose findings say what the user has made of them since."""
    calls = dict(content.calls)
    for call_id, call in calls.items():
        result = call.get("result") or {}
        findings = [
            {**one, **decisions.get(str(one.get("id")), {})} if isinstance(one, dict) else one
            for one in result.get("findings") or ()
        ]
        if findings:
            calls[call_id] = {**call, "result": {**result, "findings": findings}}
    return replace(content, calls=calls)


def as_json(content: Content) -> dict[str, Any]:
    """Return the thread as plain data: runs with their events, calls with complete results."""
    runs = [
        {
            "run_id": run.run_id,
            "question": run.question,
            "state": run.state,
            "rests_on": content.run_facts.get(run.run_id, {}),
            "events": [_event(event) for event in run.events],
        }
        for run in content.runs
    ]
    return plain(
        {
            "format": "sightline-export",
            "version": 1,
            "disclaimer": DISCLAIMER,
            "warning": WARNING,
            "header": content.header,
            "runs": runs,
            "messages": content.messages,
            "tool_calls": list(content.calls.values()),
            "problems": content.problems,
        }
    )


def as_calls(content: Content) -> list[dict[str, Any]]:
    """Return the thread's tool calls with the keys of MedRAX's log, in the order of their ends.

    `content` is a JSON text: [output, metadata], or [{"error": ...}, {"status": ...}].
    """
    return plain([_logged_call(call) for call in content.calls.values()])


def _logged_call(call: Mapping[str, Any]) -> dict[str, Any]:
    result: Mapping[str, Any] = call.get("result") or {}
    status = result.get("status", "")
    said = [result.get("output"), result.get("metadata")]
    if status != "ok":
        not_run = result.get("not_run", "")
        why = not_run or result.get("error") or result.get("summary", "")
        said = [{"error": why}, {"status": "not run" if not_run else status}]
    return {
        "tool_call_id": call.get("id", ""),
        "name": call.get("name", ""),
        "args": call.get("arguments") or {},
        "content": json.dumps(plain(said), ensure_ascii=False, allow_nan=False),
        "timestamp": call.get("ended", ""),
    }


def _event(event: RunEvent) -> dict[str, Any]:
    return {"kind": event.kind, **plain({key: value for key, value in event if key != "kind"})}


def as_markdown(content: Content) -> str:
    """Return the thread as CommonMark, with its text escaped."""
    return _as_lines(content, _escaped)


def as_text(content: Content) -> str:
    """Return the thread for a terminal: as Markdown, but without escapes and pictures."""
    return _as_lines(content, str, pictures=False)


def conversation_text(content: Content) -> str:
    """Return only questions and answers, as Markdown, to be copied; answers are as written."""
    said = [(run.question, _answer(run)) for run in content.runs]
    if not content.runs:  # a conversation that is kept in memory only
        for message in content.messages:
            if message.role == "user":
                said.append((message.text, ""))
            elif message.role == "assistant" and message.text.strip() and said:
                said[-1] = said[-1][0], f"{said[-1][1]}\n\n{message.text}".strip()
    asked = ("\n".join(f"> {line}" for line in question.splitlines()) for question, _ in said)
    parts = (f"{question}\n\n{answer}" for question, (_, answer) in zip(asked, said, strict=True))
    return "\n\n".join(part.strip() for part in parts)


def _answer(run: PastRun) -> str:
    """Return the answer of a run, or what was written of one that has none."""
    texts = _TextCollector()
    for event in run.events:
        match event:
            case events.RunFinished() if event.answer.strip():
                return event.answer.strip()
            case events.TextDelta():
                texts.text += event.text
            case events.ModelRetry():
                texts.text = ""
            case _:
                texts.end()
    texts.end()
    return "\n\n".join(part.text for part in texts.parts)


def _as_lines(content: Content, escaped: Callable[[str], str], *, pictures: bool = True) -> str:
    lines = [f"# {escaped(_title(content))}", "", f"**{DISCLAIMER}** {WARNING}", ""]
    for part in _document_parts(content):
        match part.kind:
            case "heading":
                lines += ["", f"## {escaped(part.text)}", ""]
            case "question" | "answer":
                lines += ["", *(f"> {escaped(line)}" for line in part.text.splitlines()), ""]
            case "line":
                lines.append(f"- {escaped(' '.join(part.text.split()))}")
            case "code":
                fence = "`" * max(3, 1 + max(map(len, re.findall("`+", part.text)), default=0))
                lines += ["", f"{escaped(part.label)}:", "", f"{fence}json", part.text, fence, ""]
            case "picture":
                uri = _data_uri(part.path) if pictures else ""
                lines += ["", f"![{escaped(part.text)}]({uri})" if uri else escaped(part.text), ""]
    return "\n".join(lines) + "\n"


def as_html(content: Content) -> str:
    """Return the thread as one HTML file without scripts; nothing is loaded from elsewhere."""
    title = html.escape(_title(content))
    body: list[str] = []
    for part in _document_parts(content):
        text = html.escape(part.text)
        match part.kind:
            case "heading":
                body.append(f"<h2>{text}</h2>")
            case "question" | "answer":
                body.append(f'<p class="{part.kind}">{text}</p>')
            case "line":
                body.append(f'<p class="line">{text}</p>')
            case "code":
                label = html.escape(part.label)
                body.append(f"<details><summary>{label}</summary><pre>{text}</pre></details>")
            case "picture":
                uri = _data_uri(part.path)
                image = f'<img alt="{text}" src="{uri}">' if uri else ""
                body.append(f"<figure>{image}<figcaption>{text}</figcaption></figure>")
    page = (resources_dir() / "words" / "page.html").read_text("utf-8")
    return page.format(
        title=title, notice=html.escape(f"{DISCLAIMER} {WARNING}"), body="\n".join(body)
    )


def _title(content: Content) -> str:
    question = next((run.question for run in content.runs if run.question), "")
    return " ".join(question.split())[:120] or "Conversation"


def _data_uri(path: Path | None) -> str:
    """Return a PNG or JPEG as a data URI, "" for anything else."""
    if path is None:
        return ""
    try:
        if path.stat().st_size > _MAX_PICTURE_BYTES:
            return ""
        data = path.read_bytes()
    except (OSError, ValueError):  # also a name that no file can have
        return ""
    kinds = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}
    kind = next((name for magic, name in kinds.items() if data.startswith(magic)), "")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}" if kind else ""


def _escaped(text: str) -> str:
    """Return a line of text escaped for Markdown and the HTML inside it."""
    escaped = re.sub(r"([\\`*_\[\]#|~!])", r"\\\1", " ".join(text.splitlines()))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A list or a rule begins a line; indented text would be code.
    return re.sub(r"^\s*(\d+(?=[.)])|(?=[-+=]))", r"\1\\", escaped)


# -- the pieces of a document -----------------------------------------------------------------

_PartKind = Literal["heading", "question", "answer", "line", "code", "picture"]


@dataclass(slots=True)
class _Part:
    """A piece of a document: its kind and text, for a picture also its file."""

    kind: _PartKind
    text: str
    path: Path | None = None
    label: str = ""


@dataclass(slots=True)
class _TextCollector:
    """Collects streamed text into parts; text that a retry withdrew is dropped."""

    text: str = ""
    parts: list[_Part] = field(default_factory=list[_Part])

    def end(self) -> None:
        if self.text.strip():
            self.parts.append(_Part("answer", self.text.strip()))
        self.text = ""

    def settle(self, answer: str) -> None:
        """Replace the last text by the final answer, whose citations are resolved."""
        last = next((part for part in reversed(self.parts) if part.kind == "answer"), None)
        if last is not None and unmarked(answer).strip() == unmarked(last.text).strip():
            last.text = answer.strip()


def _document_parts(content: Content) -> Iterator[_Part]:
    """Yield the pieces of a conversation in order."""
    header = content.header
    yield _Part("line", f"Conversation {header.get('thread_id', '')}")
    yield _Part("line", f"Begun {header.get('created', 'at an unknown time')}")
    origin: Any = header.get("branched_from")
    if isinstance(origin, dict):
        number: Any = origin.get("question")
        before = f" before question {number + 1}" if isinstance(number, int) else ""
        yield _Part("line", f"Branched from {origin.get('thread_id')}{before}")
    for number, run in enumerate(content.runs, start=1):
        yield _Part("heading", f"Question {number}")
        yield _Part("question", run.question)
        yield from _facts(content, run)
        yield from _events(content, run)
    for problem in content.problems:
        yield _Part("line", f"Could not be read: {problem}")


def shown_images(content: Content) -> list[str]:
    """Return the SOP Instance UIDs of the images that a conversation's runs and calls used."""
    used = [one for facts in content.run_facts.values() for one in facts.get("used") or ()]
    found = [str(one.get("sop_instance_uid", "")) for one in used if isinstance(one, dict)]
    for call in content.calls.values():
        found += map(str, call.get("sop_instance_uids") or ())
    return list(dict.fromkeys(found))


def _facts(content: Content, run: PastRun) -> Iterator[_Part]:
    facts = content.run_facts.get(run.run_id, {})
    began = run.events[0].time if run.events else ""
    model = next((event.model for event in run.events if isinstance(event, events.RunStarted)), "")
    if began:
        yield _Part("line", f"Asked {began}")
    if facts.get("model") or model:
        host = f" at {facts['host']}" if facts.get("host") else " (on this machine)"
        yield _Part("line", f"Language model: {facts.get('model') or model}{host}")
    for uid in facts.get("studies") or ():
        yield _Part("line", f"Study {uid}")
    for used in facts.get("used") or ():
        yield _Part(
            "line",
            f"Image {used.get('id')}: SOP instance {used.get('sop_instance_uid')}, frame "
            f"{used.get('frame')}, pixels sha256 {used.get('pixel_sha256')}",
        )


def _events(content: Content, run: PastRun) -> Iterator[_Part]:
    texts = _TextCollector()
    plan: events.PlanUpdated | None = None
    for event in run.events:
        if isinstance(event, events.PlanUpdated):
            plan = event
        elif event.kind in events.TERMINAL and plan is not None:
            texts.end()
            texts.parts.extend(_plan_parts(plan))
        match event:
            case events.TextDelta():
                texts.text += event.text
                continue
            case events.ModelRetry():
                texts.text = ""
            case _:
                texts.end()
        if isinstance(event, events.RunFinished):
            texts.settle(event.answer)
        texts.parts.extend(_event_parts(content, event))
    texts.end()
    yield from texts.parts


def _event_parts(content: Content, event: RunEvent) -> Iterator[_Part]:
    match event:
        case events.ToolStarted():
            arguments = _json(event.arguments)
            yield _Part("code", arguments, label=f"Tool {event.tool}, called {event.time} with")
        case events.ToolFinished():
            yield _Part("line", _result_line(event))
            yield from _call_parts(content, event)
        case events.ApprovalRequested():
            sent = f" To be sent: {'; '.join(event.sent)}." if event.sent else ""
            yield _Part("line", f"Asked for permission: {event.title} {event.detail}{sent}")
        case events.ApprovalResolved():
            answer = "allowed" if event.granted else "denied"
            yield _Part("line", f"You {answer} it. {event.reason}".strip())
        case events.ModelRetry():
            yield _Part("line", f"{event.reason}: asked again (attempt {event.attempt})")
        case events.Noted():
            yield _Part("line", event.text)
        case events.Usage():
            cost = "" if event.cost is None else f", {event.cost:.4f} US dollars so far"
            yield _Part("line", f"Tokens: {event.input_tokens} + {event.output_tokens}{cost}")
        case events.RunFinished():
            why = f" (stopped by its limit: {event.stopped_by})" if event.stopped_by else ""
            yield _Part("line", f"Finished {event.time}{why}")
        case events.RunFailed():
            yield _Part("line", f"Failed {event.time}: {event.error}. {event.remedy}".rstrip())
        case events.RunCancelled():
            yield _Part("line", f"Stopped {event.time}")
        case _:
            return


def _result_line(event: events.ToolFinished) -> str:
    if event.refused:
        return f"{event.tool}: not run: {event.refused}"
    summary = event.error if event.status != "ok" and event.error else event.summary
    number = f"[{event.evidence}] " if event.evidence else ""
    return f"{number}{event.tool}: {event.status} after {event.duration_s:g} s: {summary}"


def _plan_parts(plan: events.PlanUpdated) -> Iterator[_Part]:
    """Return the plan at the end of a run: its steps, what rules changed, and the goal."""
    for number, step in enumerate(plan.steps, start=1):
        why = step.get("verdict") or step.get("why") or ""
        by = f", by {step['by']}" if step.get("by") else ""
        state = f"{step.get('tool', '')} ({step.get('state', 'pending')}{by}) {why}"
        yield _Part("line", f"Plan, step {number}: {state.strip()}")
    for item in plan.overrides:
        yield _Part("line", f"Changed by rule ({item.rule}): {item.reason}")
    if plan.goal:
        yield _Part("line", f"Goal: {plan.goal}. {plan.goal_why}".strip())


def _call_parts(content: Content, event: events.ToolFinished) -> Iterator[_Part]:
    call = content.calls.get(event.call_id, {})
    result: dict[str, Any] = call.get("result", {})
    for sha in call.get("weights") or ():
        yield _Part("line", f"Weights sha256 {sha}")
    models = {
        f"{made.get('model')} ({made.get('tool')} {made.get('tool_version')})"
        for item in result.get("findings") or ()
        if isinstance(made := item.get("provenance"), dict) and made.get("model")
    }
    for model in sorted(models):
        yield _Part("line", f"Model {model}")
    items = told(event.evidence, event.items)
    if items:
        listed = "; ".join(f"[{key}] {text}" for key, text in items.items())
        yield _Part("line", f"Items: {listed}")
    if event.output:
        yield _Part("code", _json(event.output), label=f"Result of {event.tool}")
    findings: list[Any] = list(result.get("findings") or ())
    for item in findings:
        if item.get("state", "proposed") != "proposed":
            who = f"{item.get('state')} by {item.get('reviewer')}, {item.get('reviewed')}"
            yield _Part("line", f"{item.get('label')}: {who}")
    if findings:
        yield _Part("code", _json(findings), label=f"{len(findings)} findings")
    for artifact in event.artifacts:
        path = artifact.path if _is_own_picture(content, event.run_id, artifact.path) else None
        yield _Part("picture", _caption(artifact), path)


def _caption(artifact: Artifact) -> str:
    title = artifact.title or artifact.path.name
    if artifact.role in ("table", "plot"):
        return f"{artifact.role.capitalize()}: {title} ({artifact.path.name})"
    if not artifact.options.get("synthetic"):
        return title
    model = artifact.options.get("model") or "a model"
    return f"SYNTHETIC, made by {model}: not a patient. {title}"


def _is_own_picture(content: Content, run_id: str, path: Path) -> bool:
    """Return whether a picture was made in the conversation and may go into the document.

    A tool, or the author of the session's file, may have named any file. In a folder of the user's
    own, only pictures with a lineage note count.
    """
    try:
        real = path.resolve()
        if content.folder is not None and real.is_relative_to(content.folder.resolve()):
            return True
        made_in = Path(str(content.run_facts.get(run_id, {}).get("out_dir") or "")).resolve()
        name = real.relative_to(made_in).as_posix() if real.is_relative_to(made_in) else ""
    except (OSError, RuntimeError, ValueError):
        return False
    return bool(name) and picture_sources.find(made_in, name) is not None


def _json(value: Any) -> str:
    text = json.dumps(plain(value), ensure_ascii=False, indent=1, allow_nan=False)
    if len(text) <= _MAX_RESULT_CHARS:
        return text
    more = len(text) - _MAX_RESULT_CHARS
    return f"{text[:_MAX_RESULT_CHARS]}\n... {more} more characters: see the JSON export"
