"""Errors that a radiologist can read: what failed, why, and what to do about it."""

from __future__ import annotations


class SightlineError(Exception):
    """An error with a text for the user.

    Args:
        reason: Why it failed, in plain words, without patient data.
        subject: What it failed on: usually a file's path. Shown to the user, never logged.
        remedy: What the user can do.
        detail: Technical detail for the log only.
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
        """One line: subject, reason, remedy."""
        head = f"{self.subject}: {self.reason}" if self.subject else self.reason
        head = head.rstrip(".")
        return f"{head}. {self.remedy}" if self.remedy else f"{head}."


class UsageError(SightlineError):
    """The command line or an argument is wrong."""

    exit_code = 2


class FileProblem(SightlineError):
    """A file cannot be read, decoded or shown."""


class WorkerDied(SightlineError):
    """A worker process crashed, hung or ran out of memory; the viewer goes on."""


class Cancelled(Exception):
    """The user stopped the work. Not a failure: nothing is reported as one."""


def printable(text: str, *, lines: bool = False) -> str:
    """Text for a terminal: what stands in files and names must not steer it.

    Args:
        text: Anything, e.g. a file's name or a series description.
        lines: Whether it may have several lines.

    Returns:
        Control characters written as escapes.
    """
    if text.isprintable():
        return text
    return "".join(
        sign
        if sign.isprintable() or sign in _UNCONTROLLED or (lines and sign == "\n")
        else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


_UNCONTROLLED = frozenset(map(chr, range(0xDC80, 0xDD00))) | {"\u00a0", "\u00ad"}
"""Bytes of names that are no text, which the output escapes itself, and harmless spaces."""
