"""Limits of a run: counts steps, calls, tokens, money and time, and notices repeated calls.

Nothing here ends a run: a check returns None or a `Stop`, and the loop does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from typing import Any

from app.agent.llm.base import ModelInfo
from app.agent.messages import ToolCall
from app.agent.request import Limits

_PER_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Stop:
    """A limit that was reached.

    Attributes:
        by: The limit's name, as in `RunFinished.stopped_by`.
        text: A clause for the user and the model: "the limit of 20 steps is reached".
    """

    by: str
    text: str


class Meter:
    """Counts the steps, calls, tokens and cost of one run, and compares them with its limits."""

    def __init__(self, limits: Limits, info: ModelInfo) -> None:
        self._limits = limits
        self._info = info
        self._steps = 0
        self._calls = 0
        self._asked: Counter[str] = Counter()
        self._last: deque[str] = deque(maxlen=6)
        self._tasks: Counter[str] = Counter()
        self.input_tokens = 0
        self.output_tokens = 0

    @property
    def cost(self) -> float | None:
        """Return the cost so far in US dollars, or None if the model's prices are unknown."""
        return self._price(self.input_tokens, self.output_tokens)

    def used(self, input_tokens: int, output_tokens: int) -> None:
        """Count the tokens of one request to the model and of its answer."""
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens

    def step(self, prompt_tokens: int) -> Stop | None:
        """Count a request of this size and return None, or return the limit that forbids it."""
        if self._steps >= self._limits.steps:
            return _reached("steps", self._limits.steps, "step")
        stop = self.spent(prompt_tokens) if self._steps else self.spent(0)
        if stop is None:
            self._steps += 1
        return stop

    def spent(self, further_tokens: int = 0) -> Stop | None:
        """Return the token or cost limit that has been reached, or None.

        `further_tokens` are input tokens about to be used, which are counted as if used.
        """
        limits = self._limits
        total = self.input_tokens + self.output_tokens + further_tokens
        if limits.tokens and total >= limits.tokens:
            return Stop("tokens", f"the limit of {limits.tokens:,} tokens is reached")
        cost = self._price(self.input_tokens + further_tokens, self.output_tokens)
        if limits.cost and cost is not None and cost >= limits.cost:
            return Stop("cost", f"the limit of {limits.cost:.2f} US dollars is reached")
        return None

    def call(self, call: ToolCall, *, counted: bool = True) -> Stop | None:
        """Count a tool call; return the limit that forbids the call, or None.

        `counted` is False for the loop's own tools, which are only checked for repetition.
        """
        stop = self._circle(call)
        if stop is None and counted:
            if self._calls >= self._limits.tool_calls:
                stop = _reached("tool_calls", self._limits.tool_calls, "tool call")
            else:
                self._calls += 1
        return stop

    def task_call(self, task: str) -> str:
        """Count a call for the plan step `task`; return why the call may not run, or "".

        Without a plan, `task` is "", and nothing is counted.
        """
        if not task:
            return ""
        self._tasks[task] += 1
        most = self._limits.calls_per_task
        if self._tasks[task] <= most:
            return ""
        return f"Not run: this step of the plan has used its {most} calls."

    def _circle(self, call: ToolCall) -> Stop | None:
        action = action_key(call)
        self._asked[action] += 1
        if self._asked[action] >= self._limits.same_call:
            times = f"{self._asked[action]} times"
            return Stop("repeated_call", f"{call.name} was asked for {times}, always the same way")
        self._last.append(action)
        last = list(self._last)
        for period, word in ((2, "two"), (3, "three")):
            turn = last[-period:]
            if len(set(turn)) > 1 and last[-2 * period : -period] == turn:
                return Stop(
                    "cycle", f"the same {word} calls were asked for in turn, again and again"
                )
        return None

    def _price(self, input_tokens: int, output_tokens: int) -> float | None:
        info = self._info
        if info.input_price is None or info.output_price is None:
            return None
        dollars = input_tokens * info.input_price + output_tokens * info.output_price
        return dollars / _PER_MILLION


def _reached(by: str, most: int, what: str) -> Stop:
    return Stop(by, f"the limit of {most} {what}{'' if most == 1 else 's'} is reached")


def action_key(call: ToolCall) -> str:
    """Return a key that is equal for calls to the same tool with equal arguments."""
    arguments: Any = call.raw or call.arguments
    return f"{call.name} {json.dumps(arguments, sort_keys=True, default=str)}"


class WallClock:
    """Limits the time that a run may take, not counting the time spent waiting for the user.

    A limit of 0 means no limit.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timeout: asyncio.Timeout | None = None

    @property
    def over(self) -> bool:
        """Return whether the time is up."""
        return self._timeout is not None and self._timeout.expired()

    def stop(self) -> Stop:
        """Return the time limit as a `Stop`, for use once the time is up."""
        return Stop("wall_time", f"the limit of {self._limit_s:g} seconds is reached")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Context manager: when the time is up, cancel the block and raise TimeoutError."""
        async with asyncio.timeout(self._limit_s or None) as self._timeout:
            yield

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Context manager: stop the clock while the block runs."""
        timeout = self._timeout
        ends = timeout.when() if timeout is not None else None
        if timeout is None or ends is None or timeout.expired():
            yield  # none is set, or it is over already and cannot stand still any more
            return
        loop = asyncio.get_running_loop()
        left_s = ends - loop.time()
        timeout.reschedule(None)
        try:
            yield
        finally:
            # A question may outlive its run by a moment: then there is no time left to go on.
            with contextlib.suppress(RuntimeError):
                timeout.reschedule(loop.time() + left_s)


class WaitClock:
    """Measures how long a call has waited for the user, which does not count as the tool's time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """Return the seconds waited so far, including for a question that is still open."""
        since = self._since
        return self._total + (self._clock() - since if since is not None else 0.0)

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Context manager: count the time of the block as time spent waiting for the user."""
        self._since = self._clock()
        try:
            yield
        finally:
            self._total, self._since = self.seconds, None
