"""Tells the audit log of what the command line does outside of a run of the assistant."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from app.agent.json_forms import plain
from app.agent.loop.audit_trail import ACTING
from app.audit import AuditFailed, AuditLog
from app.errors import SightlineError, printable
from app.tools.api import ToolContext, ToolSpec
from app.tools.images import RunImages


class ToolCall:
    """One call of `tool`, told before and after.

    Args:
        log: The audit log.
        spec: The tool.
        run_id: The call's id.
        arguments: Exactly what it is given.
    """

    def __init__(
        self, log: AuditLog, spec: ToolSpec, run_id: str, arguments: Mapping[str, Any]
    ) -> None:
        self._log = log
        self._spec = spec
        self._facts = {
            "run": run_id,
            "via": "command line",
            "tool": spec.name,
            "effect": spec.approval.value,
            "version": spec.version,
        }
        self._arguments = json.dumps(plain(arguments), sort_keys=True)

    def begin(self) -> None:
        """Tell that it is about to run; what only reads runs without the log too.

        Raises:
            AuditFailed: The log cannot be written, and the call would act.
        """
        acts = self._spec.approval in ACTING
        try:
            name = self._log.name("arguments", self._arguments)
            self._log.record("tool_started", {**self._facts, "arguments": name}, sync=acts)
        except SightlineError as error:
            if acts:
                raise AuditFailed(
                    f"{self._spec.name} was not run: {error.reason}", remedy=error.remedy
                ) from error
            print(f"sightline: {printable(error.text)}", file=sys.stderr)

    def refused(self) -> None:
        """Tell that the policy did not let it run."""
        with contextlib.suppress(SightlineError):
            name = self._log.name("arguments", self._arguments)
            facts = {**self._facts, "arguments": name, "status": "not_run"}
            self._log.record("tool_finished", facts)

    def end(self, status: str, images: list[dict[str, Any]]) -> None:
        """Tell how it ended, and which images it read."""
        with contextlib.suppress(SightlineError):
            uids = dict.fromkeys(str(facts["sop_instance_uid"]) for facts in images)
            names = [self._log.name("image", uid) for uid in uids]
            self._log.record("tool_finished", {**self._facts, "status": status, "images": names})


def images_used(context: ToolContext) -> list[dict[str, Any]]:
    """What a call read."""
    return context.images.used() if isinstance(context.images, RunImages) else []
