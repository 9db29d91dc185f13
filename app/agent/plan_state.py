"""The plan as a live checklist: which step is pending, running, done, failed or skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class PlanState:
    """Steps with states. Each change says whether anything changed, so that it is shown once."""

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []

    def set(self, steps: Iterable[tuple[str, str]]) -> None:
        """Take a new plan of (tool, why); steps that were already run keep their state."""
        ended = {"done", "failed", "skipped", "running"}
        kept = [step for step in self._steps if step["state"] in ended]
        self._steps = [{"tool": tool, "why": why, "state": "pending"} for tool, why in steps]
        for old, new in zip(kept, self._steps, strict=False):
            if old["tool"] == new["tool"]:
                new["state"] = old["state"]

    def start(self, tool: str) -> bool:
        """A call of `tool` starts: pending steps before it were passed over."""
        for index, step in enumerate(self._steps):
            if step["tool"] == tool and step["state"] == "pending":
                for passed in self._steps[:index]:
                    if passed["state"] == "pending":
                        passed["state"] = "skipped"
                step["state"] = "running"
                return True
        return False

    def finish(self, tool: str, ok: bool) -> bool:
        """The running call of `tool` ended."""
        for step in self._steps:
            if step["tool"] == tool and step["state"] == "running":
                step["state"] = "done" if ok else "failed"
                return True
        return False

    def close(self) -> bool:
        """The run ends: what is still pending was skipped."""
        pending = [step for step in self._steps if step["state"] == "pending"]
        for step in pending:
            step["state"] = "skipped"
        return bool(pending)

    def steps(self) -> list[dict[str, Any]]:
        """The steps as {"tool", "why", "state"}."""
        return [dict(step) for step in self._steps]
