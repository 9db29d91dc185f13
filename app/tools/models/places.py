"""Where the files of a model lie in the models folder, and which of them are there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.tools.models.cards import ModelCard
from app.tools.models.digests import Told, key_of, sha256_of
from app.tools.models.records import RECORD, Record, RecordedFile, read_record

_TAKEN = (".json", ".jsonl", ".txt", ".model", ".jinja", ".md", ".yaml", ".yml", ".safetensors")
"""Kinds of files that hold no program. Others are taken only where the card names them."""

_WEIGHTS = (".safetensors",)
_PROSE = (".md", "")
"""Kinds of files that people read, and no model."""


@dataclass(frozen=True, slots=True)
class Place:
    """One model's place.

    Attributes:
        card: Its card.
        models: The user's models folder.
        shipped: Where embedded models lie.
    """

    card: ModelCard
    models: Path
    shipped: Path

    @property
    def base(self) -> Path:
        """The folder below which its files are named."""
        if self.card.embedded:
            return self.shipped / self.card.name
        return self.models / self.card.name if self.card.folder else self.models

    @property
    def path(self) -> Path:
        """What is loaded: the folder, or the one file (whether it is there or not)."""
        if self.card.folder:
            return self.base
        there = (self.base / name for name in self.file_names)
        return next((p for p in there if p.is_file()), self.base / self.card.files[0].name)

    @property
    def file_names(self) -> tuple[str, ...]:
        """Of a model of one file: the published name, then a safetensors of the same tensors."""
        return (self.card.files[0].name, f"{self.card.name}.safetensors")

    @property
    def record_path(self) -> Path:
        """Where its record lies."""
        if self.card.folder:
            return self.base / RECORD
        return self.path.with_name(f"{self.path.name}.{RECORD}")

    def record(self) -> Record | None:
        """What was written down when it was installed, or None."""
        found = None if self.card.embedded else read_record(self.record_path)
        return found if found is not None and found.name == self.card.name else None

    def names(self, record: Record | None) -> tuple[str, ...]:
        """The model's files that are there, by name.

        Args:
            record: Its record: what it lists belongs to the model. Without one the card says.
        """
        if not self.card.folder:
            return (self.path.name,) if self.path.is_file() else ()
        wanted = {file.name for file in record.files} if record else set[str]()
        found = [name for name in files_below(self.base) if name != RECORD]
        if record is None:
            return tuple(wanted_files(self.card, found)[0])
        return tuple(name for name in found if name in wanted)

    def strange(self, record: Record | None) -> tuple[str, ...]:
        """Files that would be read with the model, and that came after its record was written.

        An index of other weights, a chat template or a setting changes what a model says as much
        as its weights do. Programs have an answer of their own, `programs.code`.
        """
        if record is None or not self.card.folder:
            return ()
        noted = {file.name for file in record.files} | {RECORD}
        new = [name for name in files_below(self.base) if name not in noted]
        read = wanted_files(self.card, new)[0]
        return tuple(n for n in read if not is_program(n) and PurePosixPath(n).suffix not in _PROSE)

    def missing(self) -> tuple[str, ...]:
        """Files (or patterns) of the card that are needed and not there."""
        if not self.card.folder:
            return () if self.path.is_file() else (self.card.files[0].name,)
        needed = [file for file in self.card.files if not file.optional]
        if not any(file.is_pattern for file in needed):
            return tuple(file.name for file in needed if not (self.base / file.name).is_file())
        there = files_below(self.base)
        return tuple(f.name for f in needed if not any(f.covers(name) for name in there))

    def programs(self) -> tuple[str, ...]:
        """Code that lies in its folder, whoever put it there."""
        if not self.card.folder:
            return ()
        return tuple(name for name in files_below(self.base) if is_program(name))

    def file(self, name: str) -> Path:
        """The file of that name."""
        return self.base / name

    def digest(self, name: str, record: Record | None, told: Told | None = None) -> str:
        """Of a file as it is now; one that has kept size and time since the install is not read."""
        noted = record.file(name) if record else None
        _, size, modified = key_of(self.file(name))
        if noted and modified and (noted.size, noted.modified) == (size, modified):
            if told is not None:
                told(size)
            return noted.sha256
        return sha256_of(self.file(name), told)

    def expected(self, name: str) -> str:
        """Digest of the published file; "" where it is not known."""
        if self.card.embedded:
            try:
                card = json.loads((self.base / "card.json").read_text(encoding="utf-8"))
                return str(card["sha256"])
            except (OSError, ValueError, KeyError, TypeError):
                return ""
        known = self.card.file_of(name)
        return known.sha256 if known else ""

    def recorded(self, name: str, sha256: str) -> RecordedFile:
        """A file as a record has it."""
        _, size, modified = key_of(self.file(name))
        return RecordedFile(name, size, sha256, modified)


def files_below(folder: Path) -> tuple[str, ...]:
    """Names of all files below a folder, with "/"; hidden ones are left out."""
    found: list[str] = []
    if not folder.is_dir():
        return ()
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            found.append(PurePosixPath(*name.parts).as_posix())
    return tuple(sorted(found))


def is_program(name: str) -> bool:
    """Whether a file of that name is code that Python could run."""
    return PurePosixPath(name).suffix.casefold() in (".py", ".pyc", ".pyd", ".so", ".pyw", ".dll")


def wanted_files(wanted: ModelCard, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Which files belong to a model, and which are left out.

    Where its card names weights, other weights (a second format, a second precision) are left out.
    """
    names = list(names)
    exact = any(file.name.endswith(_WEIGHTS) for file in wanted.files)
    taken: list[str] = []
    for name in names:
        suffix = PurePosixPath(name).suffix.casefold()
        if is_program(name):
            take = wanted.trust_remote_code and suffix == ".py"
        elif wanted.file_of(name) is not None:
            take = True
        elif suffix in _WEIGHTS:
            take = not exact
        else:
            take = suffix in _TAKEN or "." not in PurePosixPath(name).name
        if take:
            taken.append(name)
    return taken, [name for name in names if name not in set(taken)]
