"""The program in the sandbox: gives up its rights, then runs generated code and sends the result.

It runs on a copy of this file and a few others, with the standard library, numpy and pandas.
Whatever it sends may be forged by the code: the app takes it for what the code returned, no more.
"""

from __future__ import annotations

import importlib
import json
import linecache
import math
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME = "<analysis>"
"""What tracebacks call the generated code."""
_DEEPEST = 60
_TRACEBACK = 8_000


def main(folder: str) -> None:
    """Run the job in a folder: job.json, code.py and data/; see `app.tools.sandbox.jobs`."""
    job = json.loads(Path(folder, "job.json").read_text("utf-8"))
    code = Path(folder, "code.py").read_text("utf-8")
    channel = _opened(job["channel"])
    sys.path += job["packages"]
    _limit(job["limits"])
    if sys.platform == "linux":
        from app.tools.sandbox import guest_linux

        guest_linux.confine(job["files"], job["calls"], job["landlock"])
    # From here on the process has the rights of generated code, whatever it imports.
    channel.write(_answer(code, job).encode())
    channel.close()
    sys.stdout.flush()
    os._exit(0)  # nothing that the code left behind (threads, exit functions) runs


def _opened(number: int) -> Any:
    if sys.platform == "win32":
        import msvcrt

        number = msvcrt.open_osfhandle(number, os.O_WRONLY)
    return os.fdopen(number, "wb")


def _limit(limits: Mapping[str, int]) -> None:
    if sys.platform == "win32":
        return  # the job object has them
    import resource

    values = {
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in values.items():
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    os.nice(5)


def _answer(code: str, job: Mapping[str, Any]) -> str:
    """Return the JSON text that is sent: what `analyze()` returned, or the traceback."""
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    names: dict[str, Any] = {"__name__": "analysis", "__builtins__": __builtins__}
    pictures: Mapping[str, str] = {}
    try:
        if job["primitives"]:
            primitives = importlib.import_module(job["primitives"])
            names |= primitives.names(job["data"])
            pictures = primitives.pictures
        if "pd" in code or "pandas" in code:  # half a second
            names["pd"] = importlib.import_module("pandas")
        exec(compile(code, NAME, "exec"), names)  # noqa: S102 - this is what the sandbox is for
        analyze = names.get("analyze")
        if not callable(analyze):
            return json.dumps({"raised": "The code defines no function analyze()."})
        returned = analyze()
        if not isinstance(returned, dict):
            kind = type(returned).__name__
            return json.dumps({"raised": f"analyze() must return a dict, and returned {kind}."})
        return json.dumps({"returned": plain(returned, pictures)}, allow_nan=False)
    except BaseException as error:
        return json.dumps({"raised": _told(error)})


def _told(error: BaseException) -> str:
    """Return the traceback, of the generated code's own lines only."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == NAME]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)]
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines if frames else lines[1:])[-_TRACEBACK:].strip()


def plain(value: Any, pictures: Mapping[str, str] | None = None, depth: int = 0) -> Any:
    """Return a value as JSON: of numpy and pandas too, dates as texts, no number as None.

    A text that is one of `pictures` (base64 -> name) becomes {"picture": name}.

    Raises:
        TypeError: It holds something else, or is nested too deeply.
    """
    if depth > _DEEPEST:
        raise TypeError("analyze() returned something nested too deeply")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        name = (pictures or {}).get(value) if len(value) > 64 else None
        return {"picture": name} if name else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_key(key): plain(item, pictures, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, pictures, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item, pictures, depth + 1) for item in sorted(value, key=str)]
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' own for a missing value
        return None
    if hasattr(value, "isoformat"):  # date, datetime, Timestamp
        return value.isoformat()
    if hasattr(value, "columns"):  # a DataFrame: rows, with an index that has a name
        table = value.reset_index() if any(value.index.names) else value
        return plain(table.to_dict("records"), pictures, depth + 1)
    if hasattr(value, "to_dict"):  # a Series
        return plain(value.to_dict(), pictures, depth + 1)
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist(), pictures, depth + 1)
    raise TypeError(f"analyze() returned a {type(value).__name__}, which JSON cannot hold")


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(key)
