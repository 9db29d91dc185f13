"""Permission to run the programs that come with a model's weights.

The permission is checked when a model is looked up, and again in the model process just before
programs run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from app.tools.models.digests import read_sha256
from app.tools.models.places import Place, files_below, is_program
from app.tools.models.records import Record

_LONGEST_SETTINGS = 1 << 23
_SETTINGS = "config.json"  # ends the names of all files in which transformers looks for programs
_LOCAL_REFERENCE = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*", re.ASCII)


def code_permission(place: Place, record: Record | None) -> str:
    """Return the permission as in `ModelStatus.code`, reading every program again."""
    if not place.card.trust_remote_code:
        return ""
    allowed = allowed_programs(record)
    if not allowed or _refers_elsewhere(place.base):
        return "not allowed"
    return "allowed" if _program_digests(place.base) == allowed else "changed"


def allowed_programs(record: Record | None) -> dict[str, str]:
    """Return the digest of each program that the user allowed to run, by the program's name.

    A permission covers only the programs that existed when it was given, and none added later.
    """
    if record is None or not record.code_allowed:
        return {}
    return {file.name: file.sha256 for file in record.files if is_program(file.name)}


def are_allowed(folder: Path, allowed: Mapping[str, str]) -> bool:
    """Return True if a folder holds exactly the programs with these digests by name."""
    unchanged = _program_digests(folder) == dict(allowed)
    return bool(allowed) and unchanged and not _refers_elsewhere(folder)


def _program_digests(folder: Path) -> dict[str, str]:
    names = (name for name in files_below(folder) if is_program(name))
    return {name: read_sha256(folder / name) for name in names}


def _refers_elsewhere(folder: Path) -> bool:
    """Return True if the settings name a program outside the folder, which nothing has pinned.

    transformers takes "owner/name--module.Class" from another repository, and joins any other name
    to the folder's path, so that a name that begins with "/" leads out of it.
    """
    for name in files_below(folder):
        path = folder / name
        if path.suffix.casefold() != ".json":
            continue
        if path.stat().st_size > _LONGEST_SETTINGS:
            if name.casefold().endswith(_SETTINGS):
                return True  # no real settings are that long
            continue  # a vocabulary
        try:
            data: Any = json.loads(path.read_bytes())
        except (ValueError, OSError):
            continue  # transformers cannot read it either
        except RecursionError:
            return True
        if any(not _LOCAL_REFERENCE.fullmatch(reference) for reference in _references(data)):
            return True
    return False


def _references(data: Any) -> Iterator[str]:
    """Yield every string below a key "auto_map", however deep."""
    waiting: list[tuple[Any, bool]] = [(data, False)]
    while waiting:
        value, in_auto_map = waiting.pop()
        if isinstance(value, dict):
            for key, inner in cast("dict[str, Any]", value).items():
                waiting.append((inner, in_auto_map or key == "auto_map"))
        elif isinstance(value, list):
            waiting += [(inner, in_auto_map) for inner in cast("list[Any]", value)]
        elif in_auto_map and isinstance(value, str):
            yield value
