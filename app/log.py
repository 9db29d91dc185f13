"""The log: technical details for support, never patient data, pixels, prompts or paths.

The console shows warnings, the file in `paths.log_dir()` everything from INFO on. Absolute paths
are removed from every record, since names of folders often contain patients' names.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import re
import sys
from pathlib import Path

_NAME = "app"  # the package: every module logs as logging.getLogger(__name__)
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# Anything that looks like an absolute path of two or more parts, POSIX or Windows, up to its end.
# A source file keeps its name: tracebacks stay useful and name no patient's folder.
_PATH = re.compile(
    r"""(?:(?<![\w.])(?:[A-Za-z]:)?[\\/](?:[^\\/\n"'<>|:*?]+[\\/])+)"""
    r"""(?P<last>[^\\/\n"'<>|:*?\s,;)]+)"""
)


def get_logger(name: str) -> logging.Logger:
    """Return the logger of module `name`, a descendant of the program's logger "app"."""
    return logging.getLogger(name if name.startswith(_NAME) else f"{_NAME}.{name}")


class _Scrub(logging.Formatter):
    """Removes paths from messages and tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's text with paths removed; of a source file the name is kept."""
        return _PATH.sub(_short, super().format(record))


def _short(match: re.Match[str]) -> str:
    last = match.group("last")
    return last if last.endswith(".py") else "<path>"


def set_up(folder: Path | None = None) -> None:
    """Log warnings to stderr and, if `folder` is given, INFO and above to a file there."""
    root = logging.getLogger(_NAME)
    root.setLevel(logging.INFO)
    root.propagate = False
    logging.raiseExceptions = False  # a full disk would print a traceback for every line
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    console = logging.StreamHandler(sys.stderr)
    console.setLevel(logging.WARNING)
    handlers: list[logging.Handler] = [console]
    if folder is not None:
        path = folder / "sightline.log"
        # A read-only home, or a pipe, must not keep the viewer from starting; stderr remains.
        with contextlib.suppress(OSError):
            if path.is_file() or not path.exists():
                path.touch(0o600)
                path.chmod(0o600)
                file = logging.handlers.RotatingFileHandler(
                    path, maxBytes=2_000_000, backupCount=3, encoding="utf-8"
                )
                handlers.append(file)
    for handler in handlers:
        handler.setFormatter(_Scrub(_FORMAT))
        root.addHandler(handler)
