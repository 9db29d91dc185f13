"""The app's side of a local model's process: starting it, waiting for it, ending it."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from app.agent.llm.base import ModelFailed
from app.agent.llm.local.server_main import ServerConfig, run
from app.imaging.processes.worker_process import death
from app.log import get_logger
from app.tools.needs import missing_package

IDLE_S = 15 * 60.0
START_TIMEOUT_S = 600.0
_POLL_S = 0.03
_END_S = 2.0
_MESSAGE_BYTES = 64_000

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ready:
    """A server that answers; see `server_main.Serving`."""

    url: str
    key: str
    context_tokens: int
    tools: bool
    constrained: bool
    notes: tuple[str, ...]


class LocalServer:
    """One model's process. Started when it is needed, again after a crash; ended when idle.

    Safe to use from several threads.

    Args:
        config: What it serves; its key is replaced at each start.
        title: The model's name in messages.
        idle_s: How long it may be without a request before its memory is given back; None: ever.
        start_timeout_s: How long a load may take.
    """

    def __init__(
        self,
        config: ServerConfig,
        title: str,
        *,
        idle_s: float | None = IDLE_S,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._config = config
        self._title = title
        self._idle_s = idle_s
        self._start_timeout_s = start_timeout_s
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._users = 0
        self._timer: threading.Timer | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None when none runs."""
        with self._lock:
            return self._child.pid if self._child and self._child.alive else None

    @property
    def stage(self) -> str:
        """What it is doing while it loads, in words; "" once it serves."""
        child = self._child
        return child.stage if child else ""

    async def ready(self) -> Ready:
        """Start it unless it runs, and wait until it answers requests.

        A cancel ends the wait only: the load goes on, and the next question finds it done.

        Raises:
            ModelFailed: It cannot be started or loaded.
        """
        child = self._running()
        while True:
            try:
                ready = child.poll()
            except ModelFailed:
                self._drop(child)
                raise
            if ready is not None:
                return ready
            if time.monotonic() - child.started > self._start_timeout_s:
                self._drop(child)
                raise ModelFailed(
                    f"the model was not loaded within {self._start_timeout_s:g} s",
                    subject=self._title,
                    remedy="Choose a smaller model in the settings, or one on a faster disk.",
                )
            await asyncio.sleep(_POLL_S)

    async def died(self, within_s: float = 0.5) -> str:
        """How the process ended, "" if it still runs; a broken connection comes before its end."""
        child = self._child
        if child is None:
            return "was ended"
        deadline = time.monotonic() + within_s
        while child.alive:
            if time.monotonic() > deadline:
                return ""
            await asyncio.sleep(_POLL_S)
        return death(child.exitcode)

    @contextmanager
    def in_use(self) -> Generator[None]:
        """While a request runs: it is not idle."""
        with self._lock:
            self._users += 1
            self._stop_timer()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._idle_s is not None and not self._closed:
                    self._timer = threading.Timer(self._idle_s, self._end_idle)
                    self._timer.daemon = True
                    self._timer.start()

    def close(self) -> None:
        """End the process for good. Idempotent."""
        with self._lock:
            self._closed = True
            self._stop_timer()
            child, self._child = self._child, None
        if child is not None:
            child.end()

    def _running(self) -> _Child:
        with self._lock:
            if self._closed:
                raise ModelFailed(
                    "the local model was closed", subject=self._title, remedy="Ask again."
                )
            if self._child is not None and not self._child.alive:
                self._child.end()
                self._child = None
            if self._child is None:
                config = replace(self._config, key=secrets.token_urlsafe(32))
                try:
                    self._child = _Child(config, self._title)
                except OSError as error:
                    raise ModelFailed(
                        f"the model's process could not be started ({error.strerror})",
                        subject=self._title,
                        remedy="Close other programs and ask again.",
                    ) from error
            return self._child

    def _drop(self, child: _Child) -> None:
        with self._lock:
            if self._child is child:
                self._child = None
        child.end()

    def _end_idle(self) -> None:
        with self._lock:
            if self._users:
                return
            child, self._child = self._child, None
        if child is not None:
            _log.info("local model: ended after %g s without a question", self._idle_s)
            child.end()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Child:
    """A started process, its pipe and what it has said."""

    def __init__(self, config: ServerConfig, title: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._title = title
        self._key = config.key
        self._pipe: Connection
        self._pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=run,
            args=(theirs, config, os.getpid()),
            name="sightline-language-model",
            daemon=True,
        )
        self._lock = threading.Lock()
        self._ready: Ready | None = None
        self._ended = False
        self._exitcode: int | None = None
        self.stage = ""
        self.started = time.monotonic()
        try:
            self._process.start()
        except OSError:
            self._pipe.close()
            raise
        finally:
            # Without our copy of its end, the pipe reports the process's death.
            theirs.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def alive(self) -> bool:
        with self._lock:
            return not self._ended and self._process.is_alive()

    @property
    def exitcode(self) -> int | None:
        with self._lock:
            return self._exitcode if self._ended else self._process.exitcode

    def poll(self) -> Ready | None:
        """What it says: ready, not yet (None), or that it failed.

        Raises:
            ModelFailed: It failed or is gone.
        """
        with self._lock:
            if self._ready is not None:
                return self._ready
            if self._ended:
                raise self._lost("was ended")
            try:
                while self._ready is None and self._pipe.poll():
                    self._take(json.loads(self._pipe.recv_bytes(_MESSAGE_BYTES)))
            except (EOFError, OSError, ValueError, KeyError):
                self._process.join(_END_S)
                raise self._lost(death(self._process.exitcode)) from None
            return self._ready

    def _take(self, message: dict[str, Any]) -> None:
        match message["kind"]:
            case "stage":
                self.stage = str(message["text"])
            case "ready":
                self.stage = ""
                self._ready = Ready(
                    url=str(message["url"]),
                    key=self._key,
                    context_tokens=int(message["context_tokens"]),
                    tools=bool(message["tools"]),
                    constrained=bool(message["constrained"]),
                    notes=tuple(str(note) for note in message["notes"]),
                )
            case _:
                raise self._failed(message)

    def _failed(self, message: dict[str, Any]) -> ModelFailed:
        reason, remedy = str(message["reason"]), str(message["remedy"])
        detail = str(message.get("detail", ""))
        if package := str(message.get("package", "")):
            missing = missing_package("A model on this computer", package)
            reason, remedy = missing.reason, missing.remedy
        _log.info("local model: not loaded\n%s", detail)
        return ModelFailed(reason, subject=self._title, remedy=remedy, detail=detail)

    def _lost(self, how: str) -> ModelFailed:
        return ModelFailed(
            f"the model's process {how} while it loaded the model",
            subject=self._title,
            remedy="Close other programs, or choose a smaller model in the settings; then ask "
            "again.",
        )

    def end(self) -> None:
        """End it at once: it keeps nothing that would have to be saved."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            with suppress(OSError, ValueError):
                self._process.kill()
            self._process.join(_END_S)
            self._exitcode = self._process.exitcode
            self._pipe.close()
            # Refused while it still runs (it sleeps in a driver): then it is left to the system.
            with suppress(ValueError):
                self._process.close()
