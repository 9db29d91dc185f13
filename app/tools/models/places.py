"""Where a model's files are, which of them exist, and which programs among them may run.

The permission to run programs is checked when a model is looked up, and again in the model process
just before they run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

from app.tools.models.cards import ModelCard
from app.tools.models.records import RECORD, Record, file_key, read_record, read_sha256, sha256_of
from app.user_files import read_regular

_TAKEN = (".json", ".jsonl", ".txt", ".model", ".jinja", ".md", ".yaml", ".yml", ".safetensors")
"""Endings of files that are not programs. Other files are used only if the card names them."""

_WEIGHTS = (".safetensors",)
_PROSE = (".md", "")
"""Endings of files that are meant for people and not read by any model."""

_LONGEST_SETTINGS = 1 << 23
_SETTINGS = "config.json"  # ends the names of all files in which transformers looks for programs
_LOCAL_REFERENCE = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelPaths:
    """The folders and files of one model on the disk, which need not exist.

    Attributes:
        models: The user's models folder.
        shipped: The folder that contains the embedded models.
    """

    card: ModelCard
    models: Path
    shipped: Path

    @property
    def base(self) -> Path:
        """The folder to which the names of the model's files are relative."""
        if self.card.embedded:
            return self.shipped / self.card.name
        return self.models / self.card.name if self.card.folder else self.models

    @property
    def path(self) -> Path:
        """The path to load: the model's folder or its single file; it need not exist."""
        if self.card.folder:
            return self.base
        existing = (self.base / name for name in self.file_names)
        return next((p for p in existing if p.is_file()), self.base / self.card.files[0].name)

    @property
    def file_names(self) -> tuple[str, str]:
        """The two possible file names of a single-file model: as published, or as safetensors."""
        return (self.card.files[0].name, f"{self.card.name}.safetensors")

    @property
    def record_path(self) -> Path:
        """The path of the model's installation record."""
        if self.card.folder:
            return self.base / RECORD
        return self.path.with_name(f"{self.path.name}.{RECORD}")

    @property
    def self_check_file(self) -> Path | None:
        """The path of the file that the model's self-check needs; None without a self-check."""
        check = self.card.self_check
        return self.models / "self-check" / check.file.name if check else None

    def record(self) -> Record | None:
        """Return the model's installation record; None if it has none that can be read."""
        # A record of another model means that its folder was renamed by hand: it does not count.
        found = None if self.card.embedded else read_record(self.record_path)
        return found if found is not None and found.name == self.card.name else None

    def present_files(self, record: Record | None) -> tuple[str, ...]:
        """Return the names of existing files in `record`, or on the card if `record` is None."""
        if not self.card.folder:
            return (self.path.name,) if self.path.is_file() else ()
        found = [name for name in files_below(self.base) if name != RECORD]
        if record is None:
            return tuple(split_files(self.card, found)[0])
        recorded = {file.name for file in record.files}
        return tuple(name for name in found if name in recorded)

    def unrecorded_files(self, record: Record | None) -> tuple[str, ...]:
        """Return the files that would be loaded with the model but are not in its record.

        Such a file (an index of other weights, a chat template, a setting) changes a model's
        results as much as its weights do. Programs, which `code_permission` checks, are left out.
        If `record` is None, the result is empty.
        """
        if record is None or not self.card.folder:
            return ()
        recorded = {file.name for file in record.files} | {RECORD}
        new = [name for name in files_below(self.base) if name not in recorded]
        read = split_files(self.card, new)[0]
        return tuple(n for n in read if not is_program(n) and PurePosixPath(n).suffix not in _PROSE)

    def missing(self) -> tuple[str, ...]:
        """Return the files (or patterns) that the card requires and that do not exist."""
        if not self.card.folder:
            return () if self.path.is_file() else (self.card.files[0].name,)
        needed = [file for file in self.card.files if not file.optional]
        if not any(file.is_pattern for file in needed):
            return tuple(file.name for file in needed if not (self.base / file.name).is_file())
        existing = files_below(self.base)
        return tuple(f.name for f in needed if not any(f.covers(name) for name in existing))

    def programs(self) -> tuple[str, ...]:
        """Return the names of all Python files in the model's folder, recorded or not."""
        if not self.card.folder:
            return ()
        return tuple(name for name in files_below(self.base) if is_program(name))

    def file(self, name: str) -> Path:
        """Return the path of the model's file with that name."""
        return self.base / name

    def digest(self, name: str, record: Record | None) -> str:
        """Return a file's SHA-256, from `record` if its size and time are as given there."""
        noted = record.file(name) if record else None
        _, size, modified = file_key(self.file(name))
        if noted and modified and (noted.size, noted.modified) == (size, modified):
            return noted.sha256
        return sha256_of(self.file(name))

    def published_sha256(self, name: str) -> str:
        """Return the SHA-256 of the published file with that name, or "" if it is not known."""
        if self.card.embedded:
            try:
                card = json.loads(read_regular(self.base / "card.json"))
                return str(card["sha256"])
            except (OSError, ValueError, KeyError, TypeError):
                return ""
        known = self.card.file_of(name)
        return known.sha256 if known else ""


def files_below(folder: Path) -> tuple[str, ...]:
    """Return the sorted relative paths of all files below a folder, except hidden ones."""
    found: list[str] = []
    for path in folder.rglob("*") if folder.is_dir() else ():
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            found.append(name.as_posix())
    return tuple(sorted(found))


def is_program(name: str) -> bool:
    """Return True if a file with that name is code that Python could run."""
    return PurePosixPath(name).suffix.casefold() in (".py", ".pyc", ".pyd", ".so", ".pyw", ".dll")


def split_files(card: ModelCard, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Divide file names into (those that belong to a model, those that do not).

    If the card names weight files, no other weight files (in another format or precision) belong to
    the model. Python files belong to it only if the card has `trust_remote_code`.
    """
    names = list(names)
    names_weights = any(file.name.endswith(_WEIGHTS) for file in card.files)
    taken: list[str] = []
    for name in names:
        suffix = PurePosixPath(name).suffix.casefold()
        if is_program(name):
            take = card.trust_remote_code and suffix == ".py"
        elif card.file_of(name) is not None:
            take = True
        elif suffix in _WEIGHTS:
            take = not names_weights
        else:
            take = suffix in _TAKEN or "." not in PurePosixPath(name).name
        if take:
            taken.append(name)
    return taken, [name for name in names if name not in set(taken)]


def code_permission(place: ModelPaths, record: Record | None) -> str:
    """Return the permission to run a model's programs: one of the values of `ModelStatus.code`."""
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
    """Return True if a folder's programs are exactly those in `allowed` (name -> digest)."""
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
            data: Any = json.loads(read_regular(path))
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
