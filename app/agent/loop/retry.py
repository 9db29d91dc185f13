"""Retries of failed requests to the language model.

A request has no side effects, so it may be repeated; a tool call never is. This is the only place
that retries: the providers' packages are told not to.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.agent.llm.base import ModelFailed


def _local_now() -> datetime:
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Retry:
    """Decides how long to wait before a failed request is repeated: exponential back-off, jitter.

    Attributes:
        attempts: Maximum number of requests for one answer, including the first.
        base_s: The longest wait before the second request; it doubles with each attempt.
        cap_s: The longest wait, unless the endpoint asks for a longer one by Retry-After.
        patience_s: The longest Retry-After to wait for; a request with a longer one is given up.
        random: Returns a number from 0 to 1; each wait lasts 50 to 100 % of its full time, so that
            many clients do not retry at once.
        sleep: Waits; returns early when the run is cancelled.
        now: Returns the local time, used to say when to ask again.
    """

    attempts: int = 4
    base_s: float = 1.0
    cap_s: float = 20.0
    patience_s: float = 60.0
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    now: Callable[[], datetime] = _local_now

    def wait_s(self, attempt: int, error: ModelFailed) -> float | None:
        """Return the seconds to wait after attempt `attempt` (from 1), or None to give up."""
        if not error.retryable or attempt >= self.attempts:
            return None
        asked_s = _asked(error)
        if asked_s > self.patience_s:
            return None
        own_s = min(self.cap_s, self.base_s * 2 ** (attempt - 1))
        return max(own_s * (0.5 + 0.5 * self.random()), asked_s)

    def given_up(self, attempt: int, error: ModelFailed) -> ModelFailed:
        """Return `error`, reworded for the user: the number of attempts, or when to ask again."""
        asked_s = _asked(error)
        if error.retryable and asked_s > self.patience_s:
            remedy = f"It asks to be left alone until {self._clock(asked_s)}: ask again then."
            return _with(error, error.reason, remedy)
        if attempt > 1:
            return _with(error, f"{error.reason.rstrip('.')} (asked {attempt} times)", error.remedy)
        return error

    def _clock(self, wait_s: float) -> str:
        # Rounded up to a minute: a minute early would be refused again.
        now = self.now()
        then = now + timedelta(seconds=min(wait_s, 366 * 86_400) + 59)
        return f"{then:%H:%M}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M}"


def _asked(error: ModelFailed) -> float:
    asked_s = error.retry_after_s
    return asked_s if asked_s is not None and asked_s > 0 and not math.isnan(asked_s) else 0.0


def _with(error: ModelFailed, reason: str, remedy: str) -> ModelFailed:
    told = ModelFailed(reason, subject=error.subject, remedy=remedy, detail=error.detail)
    told.retryable, told.retry_after_s = error.retryable, error.retry_after_s
    told.too_long = error.too_long
    return told
