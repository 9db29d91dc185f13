"""`python -m tests.support.call_count ARGS`: runs `app` with ARGS and counts what it enters.

Prints as JSON on standard error how many modules of `app/` were entered in this process by a call
of a named function, and how many such calls there were. Left out are calls that importing a module
makes, comprehensions and lambdas, and the polls with which threads wait for another process: they
count the time, not the work.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from app.cli import main

APP = str(Path(__file__).resolve().parents[2] / "app") + "/"
POLLS = {"_receive", "_readable", "cancelled"}
_FUNCTION = 1  # inspect.CO_OPTIMIZED: a function's code, not a class's body

calls: Counter[tuple[str, str]] = Counter()
_importing = threading.local()
_known: dict[CodeType, str] = {}


def _module_of(code: CodeType) -> str:
    """Return the module of a named function of app/; "import" for a module's code, else ""."""
    if code.co_name == "<module>":
        return "import"
    named = code.co_flags & _FUNCTION and not code.co_name.startswith("<")
    own = code.co_filename.startswith(APP) and named and code.co_name not in POLLS
    return code.co_filename[len(APP) :] if own else ""


def profile(frame: FrameType, event: str, _argument: Any) -> None:
    """Count one call; given to `sys.setprofile`."""
    if event not in ("call", "return"):
        return
    code = frame.f_code
    module = _known.get(code)
    if module is None:
        module = _known[code] = _module_of(code)
    depth = getattr(_importing, "depth", 0)
    if module == "import":
        _importing.depth = max(0, depth + (1 if event == "call" else -1))
    elif module and event == "call" and not depth:
        calls[module, code.co_qualname] += 1


if __name__ == "__main__":
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        code = main(sys.argv[1:])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    counted = {"modules": len({module for module, _ in calls}), "calls": sum(calls.values())}
    sys.stderr.write(json.dumps(counted) + "\n")
    sys.exit(code)
