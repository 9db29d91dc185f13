"""Tries a language model before it is used, for the settings page. Blocks; no Qt.

`Probe` answers what the page asks: does it work, which models are there, what about this file.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from app.agent.llm.base import LanguageModel, ModelFailed, Note, Reasoning, Text
from app.agent.llm.providers import Wanted
from app.agent.messages import Message
from app.errors import Cancelled, SightlineError
from app.tools.api import CancelToken
from app.tools.needs import is_installed, missing_package

GIB = 2**30
_BESIDE = 1.2
"""Memory that a model takes, in sizes of its file: the weights, and what computing needs."""
_MAGIC = b"GGUF"
LIST_S = 30.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, a line a step. `ok` says whether it can be used."""

    ok: bool
    lines: tuple[str, ...]


class Probe:
    """Asks endpoints and files.

    Args:
        build: Makes the model that is wanted.
        in_use: Whether a model answers questions now, so that it must not be closed.
        told: Is told which endpoint is about to be asked.
    """

    def __init__(
        self,
        build: Callable[[Wanted], LanguageModel],
        in_use: Callable[[LanguageModel], bool] = lambda _model: False,
        told: Callable[[Wanted], object] = lambda _wanted: None,
    ) -> None:
        self._build = build
        self._in_use = in_use
        self._told = told

    def diagnose(self, wanted: Wanted, cancel: CancelToken) -> Report:
        """Try it, and say step by step how it went; unless it is fine, the last line is a remedy.

        Raises:
            Cancelled: It was cancelled.
            SightlineError: It cannot even be tried.
        """
        if wanted.kind == "local":
            return run(self._one_word(wanted), cancel)
        from app.agent.llm.diagnosis import examine

        self._told(wanted)
        fields = wanted.fields
        tried = examine(
            wanted.kind, wanted.url, fields.model, wanted.key, api_version=fields.api_version
        )
        found = run(tried, cancel)
        return Report(found.ok, found.lines)

    def models(self, wanted: Wanted, cancel: CancelToken) -> tuple[str, ...]:
        """The names of an endpoint's models.

        Raises:
            Cancelled: It was cancelled.
            SightlineError: The endpoint does not say.
        """
        self._told(wanted)
        fields = wanted.fields
        if not fields.model.strip():  # not chosen yet; it is not needed to be told which there are
            fields = fields.model_copy(update={"model": "any"})
        model = self._build(Wanted(wanted.kind, fields, wanted.key))
        listed = getattr(model, "models", None)
        return tuple(run(_in_time(listed()), cancel)) if listed is not None else ()

    def about_file(self, path: str) -> Report:
        """What there is to say about a model file before it is started."""
        return about_file(path)

    async def _one_word(self, wanted: Wanted) -> Report:
        """Start a model on this computer for one word."""
        model = self._build(wanted)
        began = time.monotonic()
        lines: list[str] = []
        said = False
        try:
            question = [Message(role="user", text="Say OK.")]
            async with aclosing(model.stream(question, ())) as events:  # type: ignore[type-var] - a generator
                async for event in events:
                    if isinstance(event, Note) and not event.passing:
                        lines.append(event.text)
                    said = isinstance(event, Text | Reasoning)
                    if said:
                        break  # a small model may go on for thousands of words
        except ModelFailed as error:
            reason = f"{error.subject}: {error.reason}" if error.subject else error.reason
            return Report(False, (*lines, f"✕ {reason}.", error.remedy or "Choose another model."))
        finally:
            close = getattr(model, "close", None)
            if close is not None and not self._in_use(model):
                await asyncio.to_thread(close)
        took = time.monotonic() - began
        if not said:
            failed = f"✕ {model.name} ended its answer without a word."
            return Report(False, (*lines, failed, "Test again, or choose another model."))
        lines.append(f"✓ {model.name} is loaded and answers: {took:.1f} s.")
        return Report(True, tuple(lines))


async def _in_time(listing: Awaitable[list[str]]) -> list[str]:
    try:
        async with asyncio.timeout(LIST_S):
            return await listing
    except TimeoutError as error:
        raise ModelFailed(
            f"the endpoint did not list its models within {LIST_S:.0f} s",
            remedy="Type the model's name, or test the connection to see what is wrong.",
        ) from error


def run(work: Coroutine[Any, Any, T], cancel: CancelToken) -> T:
    """Run a coroutine on a loop of its own; a cancel ends it soon.

    Raises:
        Cancelled: It was cancelled.
    """

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def stop() -> None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # the loop has ended
                return

        cancel.on_cancel(stop)
        return await task

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise Cancelled from None


def about_file(path: str) -> Report:
    """Size, memory, and what is missing to run a model file."""
    if not path.strip():
        return Report(True, ("Choose a GGUF file, or a folder with safetensors.",))
    file = Path(path)
    try:
        whole = _size(file)
    except OSError as error:
        return Report(False, (f"It cannot be read ({error.strerror or type(error).__name__}).",))
    except SightlineError as error:
        return Report(False, (error.reason,))
    lines = [_memory_line(whole)]
    package = "transformers" if file.is_dir() else "xllamacpp"
    if not is_installed(package):
        lines.append(missing_package("A model on this computer", package).text)
        return Report(False, tuple(lines))
    memory = memory_bytes()
    return Report(not memory or whole * _BESIDE < memory, tuple(lines))


def _size(file: Path) -> int:
    """Bytes of weights.

    Raises:
        OSError: It cannot be read.
        SightlineError: It is no model.
    """
    if file.is_dir():
        weights = [item.stat().st_size for item in file.glob("*.safetensors")]
        if not weights or not (file / "config.json").is_file():
            raise SightlineError(
                "The folder holds no transformers model: config.json and safetensors are needed."
            )
        return sum(weights)
    with file.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise SightlineError("This is no GGUF file.")
    return file.stat().st_size


def _memory_line(whole: int) -> str:
    needs = f"{_in_words(whole)}; needs about {_in_words(round(whole * _BESIDE))} of memory"
    memory = memory_bytes()
    if not memory:
        return f"{needs}."
    enough = "" if whole * _BESIDE < memory else " This is too little: choose a smaller model."
    return f"{needs}, this computer has {_in_words(memory)}.{enough}"


def _in_words(size: int) -> str:
    return f"{size / GIB:.1f} GB" if size >= GIB else f"{max(1, round(size / 2**20))} MB"


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((f"value_{index}", ctypes.c_uint64) for index in range(7)),
    )


def memory_bytes() -> int:
    """The memory of this computer, 0 where it is not known."""
    if sys.platform == "win32":
        status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
        found = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return int(status.value_0) if found else 0
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
