"""The record of an installation: which files exactly, and what the user agreed to.

It lies with the model: `<models>/<name>/installed.toml`, or `<models>/<file>.installed.toml` for a
model of one file.
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

from app.tools.models.digests import file_key
from app.tools.models.durable_files import publish, retry_while_in_use

RECORD = "installed.toml"


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as it was when it was installed.

    Attributes:
        name: Path below the model's folder, with "/".
        size: Size in bytes.
        sha256: SHA-256 digest in hexadecimal.
        modified: Modification time in ns; a file whose time is unchanged need not be read again.
    """

    name: str
    size: int
    sha256: str
    modified: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """A model as it was installed; texts are "" for what is not known or was not given.

    Attributes:
        name: The card's name.
        revision: Commit in the model's repository.
        source: Origin: a pack's or folder's name, an address, or "the models folder".
        installed: Time of the installation, ISO 8601 in UTC.
        files: The installed files.
        terms_sha256: Digest of the text of the accepted terms.
        terms_accepted: Time at which the terms were accepted.
        code_allowed: Time at which the user allowed the programs among the files to run.
        self_check: The outcome of its self-check; see `installation.self_check`.
    """

    name: str
    revision: str
    source: str
    installed: str
    files: tuple[RecordedFile, ...]
    terms_sha256: str = ""
    terms_accepted: str = ""
    code_allowed: str = ""
    self_check: str = ""

    def file(self, name: str) -> RecordedFile | None:
        """Return the recorded file with that name; None if there is none."""
        return next((file for file in self.files if file.name == name), None)


def recorded_file(path: Path, name: str, sha256: str) -> RecordedFile:
    """Return a record's entry for the file `name` of a model as it is at `path` now."""
    _, size, modified = file_key(path)
    return RecordedFile(name, size, sha256, modified)


def read_record(path: Path) -> Record | None:
    """Read a record; return None if it does not exist or cannot be read."""
    try:
        text = retry_while_in_use(lambda: path.read_text(encoding="utf-8"))
        data: dict[str, Any] = tomllib.loads(text)
        return _adapter().validate_python(data)
    except (OSError, ValueError, ValidationError):
        return None


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def write_record(path: Path, record: Record) -> None:
    """Write a record completely or not at all, even if the power fails.

    Raises:
        OSError: The record cannot be written.
    """
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(to_toml(asdict(record)), encoding="utf-8", newline="\n")
        publish(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def to_toml(data: Mapping[str, Any]) -> str:
    """Return a table of strings, ints, bools and lists of such tables as TOML."""
    return "\n".join(_lines(data, ""))


def _lines(data: Mapping[str, Any], prefix: str) -> list[str]:
    tables = {k: v for k, v in data.items() if isinstance(v, list | tuple)}
    lines = [f"{key} = {_value(value)}" for key, value in data.items() if key not in tables]
    for key, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{prefix}{key}]]", *_lines(row, f"{prefix}{key}.")]
    return lines if prefix else [*lines, ""]


def _value(value: Any) -> str:
    if isinstance(value, bool | int):
        return str(value).lower()
    # JSON's escapes are TOML's; JSON leaves DEL as it is, which TOML does not take.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
