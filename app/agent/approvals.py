"""Asks the user: before anything is sent to a remote model, and before a tool that acts."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

from app.agent.context import to_text
from app.agent.emitter import Emitter
from app.agent.events import ApprovalRequested, ApprovalResolved, RunEvent
from app.agent.messages import ToolCall
from app.agent.request import Approve, Decision
from app.tools.api import Approval, ToolSpec

_log = logging.getLogger(__name__)

_DOES = {
    Approval.WRITE: "writes outside the run's own folder",
    Approval.SEND: "sends data to another machine",
    Approval.EXECUTE: "runs a program",
}


class Consents:
    """Which remote hosts the user allowed in which thread.

    Kept in memory only, so that a new start of the program asks again.
    """

    def __init__(self) -> None:
        self._given: set[tuple[str, str]] = set()

    def given(self, thread_id: str, host: str) -> bool:
        """Whether sending to `host` was allowed in this thread."""
        return (thread_id, host) in self._given

    def give(self, thread_id: str, host: str) -> None:
        """Remember a yes."""
        self._given.add((thread_id, host))

    def withdraw(self, host: str) -> None:
        """Forget every yes to `host`."""
        self._given = {item for item in self._given if item[1] != host}


def consent_request(model: str, host: str) -> dict[str, str]:
    """Title and detail of the question whether data may be sent to a remote model."""
    return {
        "title": f"Send this conversation to {host}?",
        "detail": (
            f"The model {model} runs on {host}, outside this machine. Sent are: your question and "
            "the earlier ones of this conversation with their answers, the names and descriptions "
            "of the tools, and the tools' results without identifying attributes (names, ids, "
            "dates, institutions, file paths). No pixels are sent. Write no patient data into the "
            "question. Your answer holds for this conversation until Sightline is closed."
        ),
    }


def tool_request(spec: ToolSpec, call: ToolCall) -> dict[str, str]:
    """Title and detail of the question whether a call may run, with its exact arguments."""
    return {
        "title": f"Allow {spec.name}?",
        "detail": f"This tool {_DOES.get(spec.approval, 'acts')}. "
        f"Arguments: {to_text(call.arguments)}",
        "call_id": call.id,
    }


async def ask(emitter: Emitter, approve: Approve, wanted: dict[str, Any]) -> Decision:
    """Emit the request, wait for the answer, emit it. No answer counts as no."""
    approval_id = uuid4().hex
    requested: list[ApprovalRequested] = []

    def keep(**fields: Any) -> RunEvent:
        requested.append(ApprovalRequested(**fields))
        return requested[0]

    emitter.emit(keep, approval_id=approval_id, **wanted)
    decision = Decision(granted=False)
    try:
        answer = await approve(requested[0]) if requested else False
        decision = answer if isinstance(answer, Decision) else Decision(granted=bool(answer))
    except Exception as error:
        _log.warning("An approval could not be asked for (%s)", type(error).__name__)
        decision = Decision(granted=False, reason="The question could not be asked.")
    emitter.emit(
        ApprovalResolved,
        approval_id=approval_id,
        granted=decision.granted,
        reason=decision.reason,
        scope=decision.scope,
    )
    return decision
