"""The content of a session file: the transcript, the calls, and the runs with their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from app.agent import events
from app.agent.answers.evidence import unmarked
from app.agent.context.model_messages import INTERRUPTED, error_message, result_message, to_text
from app.agent.events import RunEvent
from app.agent.messages import Message
from app.agent.sessions.session_file import RESULT_KEYS, Entry, entries
from app.tools.api import Artifact

RunState = Literal["running", "finished", "failed", "cancelled", "interrupted"]
INTERRUPTED_RUN = "Sightline ended before this question was answered"
INTERRUPTED_REMEDY = "What was found so far is kept. Ask again to go on."

_LISTS: Mapping[str, type] = {
    "findings": dict,
    "artifacts": dict,
    "used": dict,
    "studies": str,
    "weights": str,
}
_EVENT: TypeAdapter[RunEvent] = TypeAdapter(RunEvent)
_STATES: Mapping[str, RunState] = {
    "run_finished": "finished",
    "run_failed": "failed",
    "run_cancelled": "cancelled",
}


@dataclass(slots=True)
class PastRun:
    """A question in a thread and the events of its run.

    Attributes:
        events: The events in order. Streamed pieces that were joined are one event, so `seq` may
            skip numbers. Unless `state` is "running", the last event is terminal and every started
            call has finished.
        state: How the run ended; "interrupted" if the program ended first.
        next_seq: The number for the next event.
        start: Index of the run's first entry in the file, not counting the header.
    """

    run_id: str
    question: str
    events: list[RunEvent] = field(default_factory=list[RunEvent])
    state: RunState = "running"
    next_seq: int = 0
    start: int = 0


@dataclass(slots=True)
class Content:
    """The content of a session file.

    Attributes:
        messages: The transcript as it was written; calls may lack a result.
        calls: The tool calls that ended, with their complete results, by call id.
        run_facts: The "run" entry for each run (model, images, output folder), by run id.
        runs: The questions with their events, the oldest first.
        problems: Sentences for the user about what could not be read.
        folder: The folder that contains the file; None for a thread in memory.
    """

    header: Entry = field(default_factory=dict[str, Any])
    messages: list[Message] = field(default_factory=list[Message])
    calls: dict[str, Entry] = field(default_factory=dict[str, Entry])
    run_facts: dict[str, Entry] = field(default_factory=dict[str, Entry])
    runs: list[PastRun] = field(default_factory=list[PastRun])
    problems: list[str] = field(default_factory=list[str])
    folder: Path | None = None


def read(path: Path) -> Content:
    """Return the content of a session file; runs without an end have the state "running"."""
    content = Content(folder=path.parent)
    _Reader(content).take(entries(path, content.problems))
    return content


class _Reader:
    def __init__(self, content: Content) -> None:
        self._content = content
        self._answered: set[str] = set()
        self._by_id: dict[str, PastRun] = {}
        self._first: dict[str, int] = {}  # index of each run's first entry

    def take(self, lines: Iterable[Entry]) -> None:
        number = 0
        for entry in lines:
            if entry.get("type") != "header":
                self._first.setdefault(str(entry.get("run_id", "")), number)
                number += 1
            match entry.get("type"):
                case "header":
                    self._content.header = self._content.header or entry
                case "message":
                    self._message(entry)
                case "tool_call":
                    self._call(entry)
                case "event":
                    self._event(entry, number - 1)
                case "run":
                    run_id = str(entry.get("run_id", ""))
                    known = self._content.run_facts.setdefault(run_id, {})
                    known.update(_well_formed(entry))
                case _:
                    pass

    def _message(self, entry: Entry) -> None:
        raw: Any = entry.get("message")
        try:
            message = Message.model_validate(raw)
        except ValidationError:
            self._content.problems.append("a line that is no message")
            return
        if message.role == "tool":
            if message.call_id in self._answered:
                return
            self._answered.add(message.call_id)
            message = self._whole(message, with_text="text" in raw)
        self._content.messages.append(message)

    def _whole(self, message: Message, *, with_text: bool) -> Message:
        result = self._content.calls.get(message.call_id, {}).get("result", {})
        data = {
            key: result.get(key, {}) if value is None and key in RESULT_KEYS else value
            for key, value in message.data.items()
        }
        text = message.text if with_text else to_text(data)
        return message.model_copy(update={"data": data, "text": text})

    def _call(self, entry: Entry) -> None:
        result: Any = entry.get("result")
        call_id: Any = entry.get("id")
        if not isinstance(result, dict) or not isinstance(call_id, str):
            self._content.problems.append("a line that is no tool call")
            return
        whole = {**_well_formed(entry), "result": _well_formed(result)}
        self._content.calls.setdefault(call_id, whole)

    def _event(self, entry: Entry, number: int) -> None:
        raw: Any = entry.get("event")
        if isinstance(raw, dict) and raw.get("kind") == "tool_finished":
            logged = self._content.calls.get(str(raw.get("call_id")), {})
            raw = {**raw, **_call_fields(logged.get("result", {}))}
        try:
            event = _EVENT.validate_python(raw)
        except ValidationError:
            self._content.problems.append("a line that is no event")
            return
        run = self._by_id.get(event.run_id)
        if run is None:
            question = event.question if isinstance(event, events.RunStarted) else ""
            run = PastRun(event.run_id, question, start=self._first.get(event.run_id, number))
            self._by_id[event.run_id] = run
            self._content.runs.append(run)
        if event.seq < run.next_seq or run.state != "running":
            return  # a duplicate
        run.events.append(event)
        count: Any = entry.get("count")
        run.next_seq = event.seq + (max(1, count) if isinstance(count, int) else 1)
        if event.kind in events.TERMINAL:
            run.state = "interrupted" if entry.get("interrupted") else _STATES[event.kind]


def _artifact(raw: Any) -> Artifact | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("path"), str):
        return None
    title, text = str(raw.get("title", "")), str(raw.get("description", ""))
    options: Any = raw.get("options")
    return Artifact(
        Path(raw["path"]),
        str(raw.get("role", "image")),
        title,
        text,
        options=options if isinstance(options, dict) else {},
    )


def _well_formed(entry: Entry) -> Entry:
    """Return an entry without values of the wrong type, as a damaged or foreign line has."""

    def is_well(key: str, value: Any) -> bool:
        if key in RESULT_KEYS:
            return isinstance(value, dict)
        kind = _LISTS.get(key)
        items: list[Any] = value if isinstance(value, list) else []
        return kind is None or (items is value and all(isinstance(one, kind) for one in items))

    return {key: value for key, value in entry.items() if is_well(key, value)}


def close_runs(content: Content, time: str) -> list[Entry]:
    """End the calls and runs that a crash left open in `content`; return the entries to append.

    Every call gets a result: that of its `tool_call` entry, or else an error. Streamed text that
    was not yet saved becomes a message, and every run gets its terminal event. The new entries have
    the `time` given, as ISO 8601 in UTC.
    """
    from app.agent.loop.transcript import INTERRUPTED_ANSWER  # it imports Thread

    added: list[Entry] = []
    for message in _missing_results(content):
        added.append({"type": "message", "time": time, "run_id": "closed", "message": message})
        content.messages.append(message)
    for run in content.runs:
        if run.state != "running":
            continue
        partial = _unsaved_text(run, content.messages) if run is content.runs[-1] else ""
        if partial:
            text = f"{partial.rstrip()}\n\n{INTERRUPTED_ANSWER}"
            message = Message(role="assistant", text=text)
            added.append(
                {"type": "message", "time": time, "run_id": run.run_id, "message": message}
            )
            content.messages.append(message)
        for event in _closing_events(run, content.calls, time):
            mark = {"interrupted": True} if event.kind in events.TERMINAL else {}
            added.append({"type": "event", **mark, "event": event})
            run.events.append(event)
            run.next_seq += 1
        run.state = "interrupted"
    return added


def _missing_results(content: Content) -> list[Message]:
    answered = {item.call_id for item in content.messages if item.role == "tool"}
    missing: list[Message] = []
    for call in (call for item in content.messages for call in item.tool_calls):
        if call.id not in answered:
            result = content.calls.get(call.id, {}).get("result")
            missing.append(_result_message(call.id, call.name, result))
            answered.add(call.id)
    return missing


def _result_message(call_id: str, tool: str, result: Entry | None) -> Message:
    if result is None:
        return error_message(call_id, tool, INTERRUPTED)
    if result.get("status") != "ok":
        return error_message(call_id, tool, str(result.get("error") or INTERRUPTED))
    keys = ("summary", "output", "metadata")
    return result_message(call_id, tool, {key: result.get(key, {}) for key in keys})


def _closing_events(run: PastRun, calls: Mapping[str, Entry], time: str) -> list[RunEvent]:
    closing: list[RunEvent] = []
    for started in _unfinished_calls(run):
        seq = run.next_seq + len(closing)
        fields = _call_end(started, calls.get(started.call_id))
        closing.append(events.ToolFinished(run_id=run.run_id, seq=seq, time=time, **fields))
    closing.append(
        events.RunFailed(
            run_id=run.run_id,
            seq=run.next_seq + len(closing),
            time=time,
            error=INTERRUPTED_RUN,
            remedy=INTERRUPTED_REMEDY,
        )
    )
    return closing


def _unfinished_calls(run: PastRun) -> list[events.ToolStarted]:
    finished = {item.call_id for item in run.events if isinstance(item, events.ToolFinished)}
    started = [item for item in run.events if isinstance(item, events.ToolStarted)]
    return [item for item in started if item.call_id not in finished]


def _call_end(started: events.ToolStarted, logged: Entry | None) -> dict[str, Any]:
    """Return the fields of the missing end of a call, by its result if that was written."""
    head = {"call_id": started.call_id, "tool": started.tool}
    result: Entry = (logged or {}).get("result", {})
    if result.get("status") not in ("ok", "failed"):
        return {**head, "status": "cancelled", "summary": INTERRUPTED, "error": INTERRUPTED}
    texts = {key: str(result.get(key, "")) for key in ("status", "summary", "error")}
    return {**head, **texts, "refused": str(result.get("not_run", "")), **_call_fields(result)}


def _call_fields(result: Entry) -> Entry:
    """Return the fields that a tool_finished line leaves to the line of its call."""
    found = {key: result[key] for key in RESULT_KEYS if key in result}
    artifacts = [_artifact(item) for item in result.get("artifacts") or ()]
    return {**found, "artifacts": [item for item in artifacts if item is not None]}


def _unsaved_text(run: PastRun, messages: list[Message]) -> str:
    """Return the text that the run streamed and that no message holds."""
    streamed = ""
    since = 0
    for event in run.events:
        if isinstance(event, events.TextDelta):
            streamed += event.text
        elif isinstance(event, events.ModelRetry):
            streamed = streamed[:since]
        elif event.kind != "reasoning_delta":
            since = len(streamed)
    asked = [index for index, item in enumerate(messages) if item.role == "user"]
    held = "".join(
        item.text for item in messages[asked[-1] if asked else 0 :] if item.role == "assistant"
    )
    streamed = unmarked(streamed)
    rest = streamed[len(held) :] if streamed.startswith(held) else ""
    return rest if rest.strip() else ""
