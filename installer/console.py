"""Output of the bootstrap: lines for the user, and all details in a log file."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path


class SetupError(Exception):
    """Set-up cannot go on.

    Attributes:
        remedy: What the user can do about it, in one line.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class Console:
    """Writes to stderr: stdout belongs to the program that is started in the end.

    On a terminal, progress overwrites its own line; elsewhere only whole lines are written.
    """

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._open_line = False
        self._log: Path | None = None

    def log_to(self, path: Path) -> None:
        """Append details to this file from now on."""
        self._log = path
        self.detail(f"---- {time.strftime('%Y-%m-%d %H:%M:%S')} {' '.join(sys.argv)}")

    def detail(self, text: str) -> None:
        """Write a line to the log only."""
        if self._log is None:
            return
        try:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(text.rstrip("\n") + "\n")
        except OSError:
            # A full disk is reported by what needs the disk, not by its log.
            self._log = None

    def say(self, text: str) -> None:
        """Write a line for the user."""
        self._close_line()
        print(f"sightline: {text}", file=sys.stderr, flush=True)
        self.detail(text)

    def progress(self, text: str) -> None:
        """Show a temporary line, on a terminal only."""
        if self._live:
            width = max(20, shutil.get_terminal_size().columns - 1)
            print(f"\r\x1b[K{text[:width]}", end="", file=sys.stderr, flush=True)
            self._open_line = True

    def step(self, text: str) -> None:
        """Show a finished step: a temporary line on a terminal, a lasting one elsewhere."""
        if self._live:
            self.progress(text)
        else:
            self.say(text)

    def problem(self, error: SetupError) -> None:
        """Show an error, its remedy, and the path of the log."""
        self.say(f"error: {error}")
        self.say(f"  what to do: {error.remedy}")
        if self._log is not None and self._log.exists():
            self.say(f"  details: {self._log}")

    def _close_line(self) -> None:
        if self._open_line:
            print("\r\x1b[K", end="", file=sys.stderr)
            self._open_line = False
