"""Runs generated code in the strongest sandbox that a self-test on this machine proves."""

from __future__ import annotations

import json
import logging
import math
import re
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from app.tools.api import CancelToken, ToolFailed
from app.tools.sandbox import self_test
from app.tools.sandbox.backends import Backend, candidates
from app.tools.sandbox.jobs import Job, Limits, Outcome

_log = logging.getLogger(__name__)

_LOOK_S = 0.05
"""Time between two looks at a running process."""
_MAX_VALUES = 200_000
"""Lists and mappings in a result; each takes much more memory here than its two characters."""
_TRACEBACK = 8_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_MEMORY_SIGNS = ("MemoryError", "Unable to allocate", "can't allocate")

_lock = threading.Lock()
_found: list[Backend | str] = []


def find_sandbox() -> Backend:
    """Return this machine's sandbox; the first call tests it, in about a second.

    Raises:
        ToolFailed: There is none that holds; then no generated code may run.
    """
    with _lock:
        if not _found:
            _found.append(_search(candidates()))
        found = _found[0]
    if isinstance(found, str):
        raise ToolFailed(
            f"Generated code cannot run on this computer: {found}",
            remedy="On Linux, install bubblewrap (package bubblewrap) or use a kernel with "
            "Landlock (5.13 and later); then start Sightline again. Without a sandbox that holds, "
            "the tool stays off.",
        )
    return found


def _search(backends: Sequence[Backend]) -> Backend | str:
    """Return the first that the self-test proves, or why there is none."""
    reasons: list[str] = []
    for backend in backends:
        weakness = prove(backend)
        if not weakness:
            _log.info("generated code runs in a sandbox: %s", backend.name)
            return backend
        reasons.append(f"{backend.name}: {weakness}")
    for reason in reasons:
        _log.warning("a sandbox failed its self-test: %s", reason)
    return "; ".join(reasons) or "this system has no sandbox that Sightline can use"


def prove(backend: Backend) -> str:
    """Run harmless attacks in a sandbox; return "" if all were blocked, else what was not."""
    with tempfile.TemporaryDirectory(prefix="sightline-test-") as folder:
        with self_test.attacks(Path(folder)) as job:
            try:
                outcome = run_job(backend, job, Limits(seconds=20))
            except OSError as error:
                return f"it cannot be started ({error.strerror or error})"
        return self_test.weakness(outcome)


def run_job(
    backend: Backend, job: Job, limits: Limits, cancel: CancelToken | None = None
) -> Outcome:
    """Run a job to its end; blocks.

    Raises:
        Cancelled: `cancel` was set; the process was killed.
        OSError: The process cannot be started.
    """
    cancel = cancel or CancelToken()
    cancel.check()
    running = backend.start(job, limits)
    result = _Reader(running.result, limits.result_bytes)
    printed = _Reader(running.printed, limits.printed_bytes)
    stopped = ""
    try:
        end = time.monotonic() + limits.seconds
        while (code := running.wait(_LOOK_S)) is None and not stopped:
            cancel.check()
            if time.monotonic() > end:
                stopped = f"it took longer than {limits.seconds:g} s"
            elif result.overflowed:
                stopped = f"its result is longer than {limits.result_bytes // 1024:,} KB"
            elif printed.overflowed:
                stopped = f"it printed more than {limits.printed_bytes // 1024:,} KB"
            else:
                stopped = job.scratch_excess(limits) or running.excess()
    finally:
        running.kill()
        result.finish()
        printed.finish()
    cancel.check()
    text = printed.data.decode("utf-8", "replace")
    if not stopped and result.overflowed:
        stopped = f"its result is longer than {limits.result_bytes // 1024:,} KB"
    if not stopped and not result.data:
        stopped = _death(code, text, limits)
    if stopped:
        return Outcome("stopped", reason=stopped, printed=text)
    return _outcome(result.data, text)


def _death(code: int | None, printed: str, limits: Limits) -> str:
    if code in (-24, -9):  # SIGXCPU, or SIGKILL, which follows it
        return f"it computed for longer than {limits.cpu_s} s, or used too much memory"
    if any(sign in printed for sign in _MEMORY_SIGNS):
        return "it used too much memory"
    return f"its process ended without an answer (exit code {code})"


def _outcome(data: bytes, printed: str) -> Outcome:
    """Return what the process sent; anything but the two known forms is no answer."""
    with suppress(ValueError, RecursionError):
        if data.count(b"[") + data.count(b"{") <= _MAX_VALUES:
            sent: Any = _without_surrogates(json.loads(data, parse_constant=_no_constant))
            match sent:
                case {"returned": dict(value), **rest} if not rest:
                    return Outcome("returned", value=value, printed=printed)
                case {"raised": str(error), **rest} if not rest:
                    return Outcome("raised", error=error[-_TRACEBACK:], printed=printed)
                case _:
                    pass
    return Outcome("stopped", reason="its answer cannot be read", printed=printed)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _without_surrogates(value: Any) -> Any:
    """Return a JSON value without halves of characters, which no file can hold, or infinity."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_without_surrogates(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value).items()
        return {_without_surrogates(key): _without_surrogates(item) for key, item in found}
    return value


class _Reader:
    """Reads a stream in a thread, up to a limit; then it closes it."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self.data = b""
        self.overflowed = False
        self._stream, self._limit = stream, limit
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        with suppress(OSError, ValueError):
            while part := self._stream.read1(65_536):  # pyright: ignore[reportAttributeAccessIssue]
                size += len(part)
                if size > self._limit:
                    parts.append(part[: self._limit - size])
                    self.overflowed = True
                    break
                parts.append(part)
        self.data = b"".join(parts)

    def finish(self) -> None:
        self._thread.join(5)
        self._stream.close()
