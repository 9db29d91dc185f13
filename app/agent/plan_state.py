"""The plan as a live checklist: which step is pending, running, done, failed or skipped.

A plan comes from a planner, whose steps are calls of tools and follow what becomes of those calls,
or from the model itself by `update_plan`: its steps have titles and the states that it gives them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class PlanState:
    """Steps with states, each {"tool", "why", "state"}; a model's own step has its title as "tool".

    Attributes:
        changed: Something changed since `told` was last called.
    """

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._current: int | None = None
        self.changed = False

    def set(self, steps: Iterable[tuple[str, str]]) -> None:
        """Take a planner's plan of (tool, why); steps that were already run keep their state."""
        kept = [step for step in self._steps if step["state"] != "pending"]
        self._steps = [{"tool": tool, "why": why, "state": "pending"} for tool, why in steps]
        for index, old in enumerate(kept[: len(self._steps)]):
            if old["tool"] == self._steps[index]["tool"]:
                self._steps[index] = old  # the same object: the call that runs still finds it
        self._current = self._first("running")
        self.changed = True

    def write(self, steps: Iterable[tuple[str, str]]) -> None:
        """Take the model's own plan of (title, state)."""
        self._steps = [{"tool": title, "why": "", "state": state} for title, state in steps]
        running = self._first("running")
        self._current = running if running is not None else self._first("pending")
        self.changed = True

    def start(self, call_id: str, tool: str) -> str:
        """A call starts. Pending steps before its own were passed over.

        Returns:
            The step that it is made for: its own, else the one under way; "" without any.
        """
        for index, step in enumerate(self._steps):
            if step["tool"] == tool and step["state"] == "pending":
                for passed in self._steps[:index]:
                    if passed["state"] == "pending":
                        passed["state"] = "skipped"
                step["state"] = "running"
                self._calls[call_id] = step
                self._current = index
                self.changed = True
                break
        if self._current is None:
            return ""
        return f"{self._current} {self._steps[self._current]['tool']}"

    def finish(self, call_id: str, ok: bool) -> None:
        """A call ended."""
        step = self._calls.pop(call_id, None)
        if step is not None:
            step["state"] = "done" if ok else "failed"
            self.changed = True

    def close(self, ok: bool) -> None:
        """The run ends: what was under way is done if the run is; all else that is open is skipped.

        Args:
            ok: Whether the model ended the run with an answer.
        """
        for step in self._steps:
            if step["state"] in ("pending", "running"):
                step["state"] = "done" if ok and step["state"] == "running" else "skipped"
                self.changed = True

    def open(self) -> list[str]:
        """The tools, or titles, of the steps that are not done yet."""
        return [step["tool"] for step in self._steps if step["state"] in ("pending", "running")]

    def told(self) -> list[dict[str, Any]]:
        """The steps, to be shown now."""
        self.changed = False
        return [dict(step) for step in self._steps]

    def _first(self, state: str) -> int | None:
        return next((i for i, step in enumerate(self._steps) if step["state"] == state), None)
