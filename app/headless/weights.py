"""`models`: which weights each tool needs, where they are, whether intact."""

from __future__ import annotations

import sys
from typing import Any

from app.audit import note
from app.headless.common import print_json, program_of


def models(action: str, target: Any, *, as_json: bool) -> int:
    """List, verify, install or download weights.

    Raises:
        SightlineError: The file is not what it should be, or cannot be had.
    """
    with program_of() as program:
        store = program.weights
        if action == "install":
            statuses = (store.install(target, host=program.host),)
        elif action == "get":
            known = {status.name for status in store.status()}
            note(program.audit, "weights_asked", {"weights": target if target in known else ""})
            statuses = (store.get(target, progress=_print_download),)
        elif action == "verify":
            statuses = store.verify(program.host)
        else:
            statuses = store.status()
    rows = [status.as_dict() for status in statuses]
    if as_json:
        print_json(rows)
    for status in () if as_json else statuses:
        print(f"{status.name}: {status.state}  ({', '.join(status.used_by)})")
        print(f"    {status.path or status.how_to_get}")
        if status.note:
            print(f"    {status.note}")
    broken = any(status.state == "broken" for status in statuses)
    return 1 if action == "verify" and broken else 0


def _print_download(fraction: float, text: str) -> None:
    print(f"\r  {fraction:4.0%} {text}", end="", file=sys.stderr, flush=True)
