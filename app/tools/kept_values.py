"""A small store of JSON values that lasts as long as a conversation, in one file of its folder."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, cast

from app.errors import writing
from app.tools.api import ToolFailed
from app.user_files import write_atomic

MOST_BYTES = 1024 * 1024
_FILE = "kept_values.json"


class KeptValues:
    """JSON values by key; implements `app.tools.api.Store`. Thread-safe.

    Args:
        folder: The conversation's output folder; None to keep the values in memory only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = folder / _FILE if folder is not None else None
        self._lock = threading.Lock()
        self._values: dict[str, Any] | None = None if folder is not None else {}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value under `key`, or `default` if there is none."""
        with self._lock:
            values = self._read()
            return json.loads(json.dumps(values[key])) if key in values else default

    def put(self, key: str, value: Any) -> None:
        """Keep a JSON value under `key`, at once on disk; None removes it.

        Raises:
            ToolFailed: The value is no JSON, or all values together exceed 1 MiB.
            FileProblem: The file cannot be written.
        """
        with self._lock:
            values = {name: item for name, item in self._read().items() if name != key}
            if value is not None:
                values[key] = value
            try:
                text = json.dumps(values, allow_nan=False)
            except (TypeError, ValueError, RecursionError) as error:
                raise ToolFailed(f"what is to be kept as {key!r} is no JSON value") from error
            if len(text) > MOST_BYTES:
                raise ToolFailed(
                    "the values kept for a conversation exceed 1 MiB together",
                    remedy="Keep large data in files, and their paths here.",
                )
            if self._path is not None:
                with writing(self._path):
                    write_atomic(self._path, text.encode())
            self._values = json.loads(text)

    def keys(self) -> tuple[str, ...]:
        """Return the keys, in the order in which they were first kept."""
        with self._lock:
            return tuple(self._read())

    def _read(self) -> dict[str, Any]:
        if self._values is None:
            self._values = {}
            assert self._path is not None
            try:
                found: Any = json.loads(self._path.read_text("utf-8"))
                self._values = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
            except (OSError, ValueError):
                pass  # there is none yet, or it is damaged: nothing depends on it but tools
        return self._values
