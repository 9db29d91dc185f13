"""Records a run in the audit log: calls, approvals, what is sent, and how it ended.

The log contains no text of questions, answers, arguments or results. Images are identified by a
keyed hash of their SOP Instance UID, arguments and pictures by a hash of their content. A tool's
name is recorded only if the tool exists, because a model may make up any name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from app.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    DataSent,
    RunCancelled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from app.agent.json_forms import plain
from app.agent.llm.base import LOCAL
from app.agent.loop.tool_execution import Tools, log_unexpected
from app.agent.request import RunRequest
from app.audit import AuditLog
from app.audit.exports import AT_ONCE
from app.errors import SightlineError
from app.tools.api import Approval

ACTING = frozenset((Approval.WRITE, Approval.SEND, Approval.EXECUTE))
"""Effects that cannot be undone; such a call runs only once its log entry is on disk."""

UNKNOWN = "(no such tool)"
_MOST_REACHED = 10  # files and hosts of one call
_REMEDY = "Make room on the disk, or ask this computer's administrator."
Facts = dict[str, Any]


class AuditTrail:
    """Writes the events of runs to the audit log."""

    def __init__(self, log: AuditLog, tools: Tools) -> None:
        self.log = log
        self.tools = tools
        self.pictured: dict[str, str] = {}
        """The SOP Instance UID of what a picture shows, by the name of its file."""

    def of(self, request: RunRequest) -> Callable[[RunEvent], str]:
        """Return a function that records one event of this run in the audit log, and never raises.

        The function returns, for the user, why the log is incomplete, or "" if it is complete.
        """
        return _RunTrail(self, request)

    def name(self, kind: str, value: str) -> str:
        """Return a keyed hash of a value, or "" if the log's key is not available.

        `kind` says what the value identifies ("image"); it is hashed together with the value.
        """
        try:
            return self.log.name(kind, value)
        except SightlineError:
            return ""


class _RunTrail:
    def __init__(self, audit: AuditTrail, request: RunRequest) -> None:
        self._audit = audit
        self._request = request
        self._run = {"run": request.run_id, "thread": request.thread.thread_id}
        self._questions: dict[str, tuple[ApprovalRequested, Facts]] = {}
        self._read: set[str] = set()  # UIDs that the log knows of

    def __call__(self, event: RunEvent) -> str:
        try:
            for action, facts, sync in self._actions(event):
                self._audit.log.record(action, self._run | facts, sync=sync)
        except SightlineError:
            pass  # `problem` says it
        except Exception as error:
            log_unexpected("An event could not be told to the audit log", error)
            return f"The audit log cannot be written ({type(error).__name__}). {_REMEDY}"
        return self._audit.log.problem

    def _actions(self, event: RunEvent) -> Iterator[tuple[str, Facts, bool]]:
        match event:
            case RunStarted():
                facts = {"model": self._model(event.model), "open_images": len(event.images)}
                yield "run_started", facts, False
            case ToolStarted():
                facts = self._call(event.call_id, event.tool)
                facts |= self._arguments(event.arguments)
                yield "tool_started", facts, self._acts(event.tool)
            case ToolFinished():
                yield "tool_finished", self._finished(event), self._acts(event.tool)
            case ApprovalRequested():
                yield "approval_asked", self._asked(event), False
            case ApprovalResolved():
                yield "approval_answered", self._answered(event), event.granted
            case DataSent():
                yield from self._sent(event)
            case RunFinished() | RunFailed() | RunCancelled():
                yield from self._ended(event)
            case _:
                return

    def _model(self, name: str) -> str:
        """Return what the log says of a model; a local one has the name of its file."""
        return f"local {self._audit.name('model', name)}" if name.endswith(LOCAL) else name

    def _call(self, call_id: str, tool: str) -> Facts:
        found = self._audit.tools.get(tool)
        call = self._audit.name("call", call_id)  # a model may make it of whatever it likes
        if found is None:
            return {"call": call, "tool": UNKNOWN}
        spec = found.spec
        return {
            "call": call,
            "tool": spec.name,
            "effect": spec.approval.value,
            "version": spec.version,
        }

    def _acts(self, tool: str) -> bool:
        found = self._audit.tools.get(tool)
        return found is not None and found.spec.approval in ACTING

    def _arguments(self, arguments: Mapping[str, Any]) -> Facts:
        exact = json.dumps(plain(arguments), sort_keys=True)
        return {"arguments": self._audit.name("arguments", exact)}

    def _finished(self, event: ToolFinished) -> Facts:
        facts = self._call(event.call_id, event.tool)
        status = "not_run" if event.refused else event.status
        facts |= {"status": status, "seconds": event.duration_s}
        facts |= {"findings": len(event.findings), "files": len(event.artifacts)}
        new = self._newly_read()
        # More than fit into a line are told at the end of the run.
        if len(new) > AT_ONCE:
            return facts
        self._read.update(new)
        return facts | {"images": self._named(new)}

    def _newly_read(self) -> list[str]:
        return [uid for uid in dict.fromkeys(self._uids().values()) if uid not in self._read]

    def _named(self, uids: list[str]) -> list[str]:
        return [self._audit.name("image", uid) for uid in uids]

    def _asked(self, event: ApprovalRequested) -> Facts:
        facts: Facts = {"approval": event.approval_id, "about": event.about}
        if event.about == "tool":
            facts |= self._call(event.call_id, event.tool) | self._arguments(event.arguments)
            reached = [item.get("shown", "") for item in event.touches[:_MOST_REACHED]]
            if reached:
                facts["reaches"] = [self._audit.name("reaches", item) for item in reached]
        elif event.about == "plan":
            facts["tools"] = [item["tool"] for item in event.calls]
            exact = [self._arguments(item["arguments"])["arguments"] for item in event.calls]
            facts["arguments"] = exact
            if event.touches:
                reached = [item.get("shown", "") for item in event.touches[:_MOST_REACHED]]
                facts["reaches"] = [self._audit.name("reaches", item) for item in reached]
        elif event.about == "override":
            uid = self._uids().get(event.image)
            facts |= self._call(event.call_id, event.tool)
            facts["images"] = [self._audit.name("image", uid)] if uid else []
        else:
            shown = {
                _stem(item.get("path", "")): item.get("image_id", "") for item in event.pictures
            }
            facts |= {"host": event.host, "model": event.model} | self._shown(list(shown), shown)
        self._questions[event.approval_id] = (event, facts)
        return facts

    def _answered(self, event: ApprovalResolved) -> Facts:
        facts: Facts = {"approval": event.approval_id, "granted": event.granted}
        facts["scope"] = event.scope
        if event.approval_id in self._questions:
            asked, told = self._questions[event.approval_id]
            facts |= {key: told[key] for key in ("about", "tool", "tools", "host") if key in told}
            if asked.about == "override":
                facts["images"] = told["images"]
            hosts = [item.get("shown", "")[:100] for item in asked.touches if _is_host(item)]
            # Only what the user let out: a model may write anything into the name of a host.
            if event.granted and hosts:
                facts["hosts"] = hosts[:_MOST_REACHED]
        return facts

    def _sent(self, event: DataSent) -> Iterator[tuple[str, Facts, bool]]:
        facts = {"host": event.host, "model": event.model, "characters": event.characters}
        known = _latest(self._request)
        for few in _chunks(event.pictures) or [[]]:
            yield "data_sent", facts | self._shown(few, known), True

    def _shown(self, stems: list[str], image_ids: Mapping[str, str]) -> Facts:
        """Return facts on pictures, and on the images that they show."""
        audit, uids = self._audit, self._uids()
        for stem, image_id in image_ids.items():
            if image_id in uids:
                audit.pictured[stem] = uids[image_id]
        images = [audit.pictured[stem] for stem in stems if stem in audit.pictured]
        return {
            "pictures": [audit.name("picture", stem) for stem in stems],
            "images": [audit.name("image", uid) for uid in dict.fromkeys(images)],
        }

    def _uids(self) -> dict[str, str]:
        """Return SOP Instance UIDs of the images read so far, by the app's id."""
        used = getattr(self._request.images, "used", None)
        found: list[dict[str, Any]] = used() if used is not None else []
        return {str(fact["id"]): str(fact["sop_instance_uid"]) for fact in found}

    def _ended(self, event: RunEvent) -> Iterator[tuple[str, Facts, bool]]:
        for few in _chunks(self._named(self._newly_read())):
            yield "images_read", {"images": few}, False
        stopped_by = event.stopped_by if isinstance(event, RunFinished) else ""
        yield event.kind, {"stopped_by": stopped_by} if stopped_by else {}, False


def _latest(request: RunRequest) -> dict[str, str]:
    for message in reversed(request.thread.history):
        if message.role == "user":
            return {_stem(picture.path): picture.image_id for picture in message.pictures}
    return {}


def _is_host(touch: Mapping[str, str]) -> bool:
    return touch.get("what") == "sends to"


def _stem(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].partition(".")[0]


def _chunks(items: list[str]) -> list[list[str]]:
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]
