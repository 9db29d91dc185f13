"""What is written down when a model is installed: which files exactly, and what the user agreed to.

The record lies with the model: `<models>/<name>/installed.toml`, of a model of one file
`<models>/<file>.installed.toml`.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.tools.models.durable import patiently, rename, settle, settle_names

RECORD = "installed.toml"


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as it was when it was installed.

    Attributes:
        name: Path below the model's folder, with "/".
        size: Bytes.
        sha256: Hex digest.
        modified: Its time then, nanoseconds: one that still has it need not be read again.
    """

    name: str
    size: int
    sha256: str
    modified: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """A model as it was installed.

    Attributes:
        name: Its card's.
        revision: Commit of its repository; "" where that could not be told.
        source: Where it came from: a pack's or folder's name, an address, "the models folder".
        installed: When, ISO 8601 in UTC.
        files: What was installed.
        terms_sha256: Of the terms' text that was accepted; "" for none.
        terms_accepted: When.
        code_allowed: When the user said yes to running the code among the files; "" for never.
    """

    name: str
    revision: str
    source: str
    installed: str
    files: tuple[RecordedFile, ...]
    terms_sha256: str = ""
    terms_accepted: str = ""
    code_allowed: str = ""

    def file(self, name: str) -> RecordedFile | None:
        """The file of that name."""
        return next((file for file in self.files if file.name == name), None)


def read_record(path: Path) -> Record | None:
    """The record, or None where there is none that can be read."""
    try:
        text = patiently(lambda: path.read_text(encoding="utf-8"))
        data: dict[str, Any] = tomllib.loads(text)
        return _adapter().validate_python(data)
    except (OSError, ValueError, ValidationError):
        return None


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def write_record(path: Path, record: Record) -> None:
    """Write it, at once or not at all, also where the power fails.

    Raises:
        OSError: It cannot be written.
    """
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(to_toml(asdict(record)), encoding="utf-8", newline="\n")
        settle(partial)
        rename(partial, path)
        settle_names(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def to_toml(data: Mapping[str, Any]) -> str:
    """TOML of a table that holds texts, whole numbers, truths, and lists of such tables."""
    return "\n".join(_lines(data, ""))


def _lines(data: Mapping[str, Any], where: str) -> list[str]:
    tables = {k: v for k, v in data.items() if isinstance(v, list | tuple)}
    lines = [f"{key} = {_value(value)}" for key, value in data.items() if key not in tables]
    for key, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{where}{key}]]", *_lines(row, f"{where}{key}.")]
    return lines if where else [*lines, ""]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # JSON's escapes are TOML's; it leaves DEL as it is, which TOML does not take.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
