"""Whether the programs that lie with a model's weights are those that the user has said yes to.

Asked by whoever looks for a model, and once more in the model process just before they are run.
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
_OWN = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*", re.ASCII)


def code(place: Place, record: Record | None) -> str:
    """See `ModelStatus.code`; each program is read anew, since what ran once is no promise."""
    if not place.card.trust_remote_code:
        return ""
    allowed = allowed_programs(record)
    if not allowed or _leads_elsewhere(place.base):
        return "not allowed"
    return "allowed" if _programs(place.base) == allowed else "changed"


def allowed_programs(record: Record | None) -> dict[str, str]:
    """Digests of the programs that the user has said yes to, by name; none where there was no yes.

    A yes is one to programs that were there: it covers none that is put there later.
    """
    if record is None or not record.code_allowed:
        return {}
    return {file.name: file.sha256 for file in record.files if is_program(file.name)}


def are_allowed(folder: Path, allowed: Mapping[str, str]) -> bool:
    """Whether a model's folder would run these programs as they were, and no others."""
    return bool(allowed) and not _leads_elsewhere(folder) and _programs(folder) == dict(allowed)


def _programs(folder: Path) -> dict[str, str]:
    names = (name for name in files_below(folder) if is_program(name))
    return {name: read_sha256(folder / name) for name in names}


def _leads_elsewhere(folder: Path) -> bool:
    """Whether its settings name a program that does not lie beside them, which nobody has pinned.

    transformers takes "owner/name--module.Class" from another repository, and joins any other name
    to the folder's path: one that begins with "/" then leads out of it.
    """
    for name in files_below(folder):
        path = folder / name
        if path.suffix.casefold() != ".json":
            continue
        if path.stat().st_size > _LONGEST_SETTINGS:
            if name.casefold().endswith(_SETTINGS):
                return True  # nobody has settings of that length
            continue  # a vocabulary
        try:
            data: Any = json.loads(path.read_bytes())
        except (ValueError, OSError):
            continue  # what cannot be read here cannot be read there
        except RecursionError:
            return True
        if any(not _OWN.fullmatch(reference) for reference in _references(data)):
            return True
    return False


def _references(data: Any) -> Iterator[str]:
    """All that settings say of programs, however deep."""
    waiting: list[tuple[Any, bool]] = [(data, False)]
    while waiting:
        value, of_programs = waiting.pop()
        if isinstance(value, dict):
            for key, inner in cast("dict[str, Any]", value).items():
                waiting.append((inner, of_programs or key == "auto_map"))
        elif isinstance(value, list):
            waiting += [(inner, of_programs) for inner in cast("list[Any]", value)]
        elif of_programs and isinstance(value, str):
            yield value
