"""Errors with texts for the user: cause and remedy; and what stops work on the user's wish."""

from __future__ import annotations

import contextlib
import errno
import re
import threading
from collections.abc import Callable, Generator
from os import PathLike

_NO_MEMORY = re.compile(
    r"can't start new thread|failed to map segment|cannot allocate memory", re.IGNORECASE
)
"""Too little memory, as threads, the loader of libraries and the C library word it."""


class SightlineError(Exception):
    """An error whose text is shown to the user.

    Args:
        reason: Cause of the failure, in plain words, without patient data.
        subject: What the error is about, usually a file's path. It is shown to the user, never
            logged.
        remedy: What the user can do about it.
        detail: Technical detail that is only written to the log.
    """

    exit_code = 1

    def __init__(
        self, reason: str, *, subject: str = "", remedy: str = "", detail: str = ""
    ) -> None:
        self.reason = reason
        self.subject = subject
        self.remedy = remedy
        self.detail = detail
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """The subject, reason and remedy as one line of text."""
        head = f"{self.subject}: {self.reason}" if self.subject else self.reason
        head = head.rstrip(".")
        return f"{head}. {self.remedy}" if self.remedy else f"{head}."


class UsageError(SightlineError):
    """Raised when the command line or an argument of a tool is wrong."""

    exit_code = 2


class FileProblem(SightlineError):
    """Raised when a file cannot be read, decoded, shown or written."""


@contextlib.contextmanager
def writing(
    path: str | PathLike[str],
    what: str = "it",
    remedy: str = "Choose a folder with free space that you may write to.",
) -> Generator[None]:
    """Turn an OSError in the body of the `with` statement into a FileProblem about `path`.

    Raises:
        FileProblem: `what` cannot be written.
    """
    try:
        yield
    except OSError as error:
        reason = f"{what} cannot be written ({error.strerror or type(error).__name__})"
        raise FileProblem(reason, subject=str(path), remedy=remedy) from error


class WorkerDied(SightlineError):
    """Raised when a worker process has crashed, hung or run out of memory."""


class Cancelled(Exception):
    """Raised when the user cancels work; not reported as a failure."""


class CancelToken:
    """A thread-safe flag that tells running work, such as a tool call, to stop."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` has been called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Set the flag and run the functions given to `on_cancel`; later calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` (quick, thread-safe) when the flag is set; at once if it already is."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def check(self) -> None:
        """Raise `Cancelled` if the flag is set."""
        if self._event.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the flag; return True if it is set, False if it is not."""
        return self._event.wait(seconds)


def is_memory_text(text: str) -> bool:
    """Return True if an error's text says that memory ran out, whatever the error's type."""
    return bool(_NO_MEMORY.search(text))


def unexpected(error: BaseException) -> SightlineError:
    """Return the error that is shown to the user in place of an exception not meant for users."""
    if isinstance(error, MemoryError) or is_memory_text(str(error)):
        remedy = "Close other programs, or open fewer and smaller images; then try again."
        return SightlineError("This computer has too little free memory for it", remedy=remedy)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SightlineError("The disk is full", remedy="Make room on it, then try again.")
    return SightlineError(
        f"Something unexpected went wrong ({type(error).__name__})",
        remedy="Please try again, or report it; the log has the details.",
    )


def printable(text: str, *, lines: bool = False) -> str:
    """Return a text with control characters escaped, so that it cannot control a terminal.

    Args:
        text: Text from a file, e.g. its name or a series description.
        lines: Whether to keep line breaks.
    """
    if text.isprintable():
        return text
    return "".join(
        sign
        if sign.isprintable() or sign in _HARMLESS or (lines and sign == "\n")
        else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


_HARMLESS = frozenset(map(chr, range(0xDC80, 0xDD00))) | {"\u00a0", "\u00ad"}
"""Kept characters: surrogates of undecodable bytes (escaped on output) and special spaces."""
