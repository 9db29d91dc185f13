"""Model cards: what each model is, which files exactly, whose terms, how much memory it needs.

One TOML file a model in `resources/models`, read strictly. A figure that could not be had when the
card was written (a digest of a file behind a login) is left out of it, never guessed: such files
are pinned when they are first installed.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from app import paths

DTYPES = ("float32", "bfloat16", "float16")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class CardFile:
    """One file of a model, or several alike.

    Attributes:
        name: Path below the model's folder, with "/"; of a model of one file, its file name. With
            "*" it stands for all files that match ("model-*.safetensors"), at least one of which
            must be there.
        size: Bytes; 0 where it is not known.
        sha256: Of the published file; "" where it is not known.
        url: Where it is published; "" for the repository's own.
        optional: The model works without it.
        code: It is a program, which is run with the model (`trust_remote_code`).
    """

    name: str
    size: int = 0
    sha256: str = ""
    url: str = ""
    optional: bool = False
    code: bool = False

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for files that it does not name."""
        return "*" in self.name

    def covers(self, name: str) -> bool:
        """Whether a file of that name is meant."""
        return fnmatchcase(name, self.name)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model before it is installed.

    Attributes:
        name: What `models get` and `Need` call it, also its folder's name.
        title: For people.
        tools: Names of the tools that use it.
        files: Its files. Those of a model of one file lie in the models folder itself.
        folder: Whether it is a folder of files (transformers, diffusers) rather than one file.
        repository: "owner/name" on the Hugging Face hub, or "".
        revision: The commit that is meant; "" where it is not known: it is pinned at the install.
        url: Where people read about it.
        licence: Its licence, short.
        terms: What the user must accept before it is installed; "" for nothing.
        gated: The hub gives it only to those who have accepted its terms there (needs a token).
        trust_remote_code: Its code lies with its weights, and is run after the user's yes only.
        packages: Python packages that it needs.
        memory: Bytes that it needs, by torch dtype ("float32", "bfloat16", "float16").
        intended_use: For what it was made.
        limits: Its known limits, a sentence each.
        tried: What of it was run here: with real weights, with tiny ones, on a GPU; what was not.
        check: Entry that says in the model process whether files can be loaded.
        embedded: It is shipped with the program, in `resources/models/<name>`; its file's digest
            stands in the `card.json` beside it, which training writes.
    """

    name: str
    title: str
    tools: tuple[str, ...]
    files: tuple[CardFile, ...]
    folder: bool = True
    repository: str = ""
    revision: str = ""
    url: str = ""
    licence: str = ""
    terms: str = ""
    gated: bool = False
    trust_remote_code: bool = False
    packages: tuple[str, ...] = ()
    memory: Mapping[str, int] = field(default_factory=dict[str, int])
    intended_use: str = ""
    limits: tuple[str, ...] = ()
    tried: str = ""
    check: str = ""
    embedded: bool = False

    @property
    def size(self) -> int:
        """Bytes of the published files as far as the card knows them."""
        return sum(file.size for file in self.files)

    @property
    def terms_sha256(self) -> str:
        """Which text was accepted; "" where there is none."""
        return hashlib.sha256(self.terms.strip().encode()).hexdigest() if self.terms else ""

    @property
    def pinned(self) -> bool:
        """Whether the card has the digest of every file that is needed."""
        return all(file.sha256 for file in self.files if not file.optional)

    def file_of(self, name: str) -> CardFile | None:
        """What the card says of a file: by its name, else by a pattern."""
        exact = next((file for file in self.files if file.name == name), None)
        return exact or next((f for f in self.files if f.is_pattern and f.covers(name)), None)


def card(name: str) -> ModelCard:
    """The shipped card of that name.

    Raises:
        KeyError: There is none.
    """
    return cards()[name]


@cache
def cards() -> Mapping[str, ModelCard]:
    """All shipped cards by name."""
    folder = paths.resources_dir() / "models"
    read = (read_card(path) for path in sorted(folder.glob("*.toml")))
    return {found.name: found for found in read}


def read_card(path: Path) -> ModelCard:
    """A card from its TOML file.

    Raises:
        ValueError: It has a key that cards do not have, lacks one, or says what cannot be.
    """
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        _only_known(data, ModelCard, "")
        for number, entry in enumerate(data.get("files", ())):
            _only_known(entry, CardFile, f"files[{number}].")
        made = _adapter().validate_python(data)
        if made.name != path.stem:
            raise ValueError(f"its name is {made.name!r}, its file's is {path.stem!r}")
        _check(made)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{path.name} is no model card: {where}: {first['msg']}") from error
    except ValueError as error:
        raise ValueError(f"{path.name} is no model card: {error}") from error
    return made


@cache
def _adapter() -> TypeAdapter[ModelCard]:
    return TypeAdapter(ModelCard)


def _only_known(data: Any, kind: type[Any], where: str) -> None:
    if not isinstance(data, dict):
        raise ValueError(f"{where or 'it'} is no table")
    unknown = cast("dict[str, Any]", data).keys() - {item.name for item in fields(kind)}
    if unknown:
        raise ValueError(f"no card has {', '.join(where + key for key in sorted(unknown))}")


def _check(made: ModelCard) -> None:
    """What the types do not say.

    Raises:
        ValueError: Something cannot be.
    """
    if not _NAME.fullmatch(made.name):
        raise ValueError(f"{made.name!r} is no name: small letters, digits, '.', '_', '-'")
    if not made.files:
        raise ValueError("files is empty")
    if not made.folder and (len(made.files) != 1 or "/" in made.files[0].name):
        raise ValueError("a model that is no folder has one file, which lies in no folder")
    if made.revision and not _REVISION.fullmatch(made.revision):
        raise ValueError("revision is no commit: 40 hexadecimal digits, or nothing")
    if made.repository and not _REPOSITORY.fullmatch(made.repository):
        raise ValueError("repository is not owner/name")
    if unknown := made.memory.keys() - set(DTYPES):
        raise ValueError(f"memory: unknown dtype {', '.join(sorted(unknown))}")
    for file in made.files:
        _check_file(file, made)
    if len({file.name.casefold() for file in made.files}) != len(made.files):
        raise ValueError("files names one twice")


def _check_file(file: CardFile, made: ModelCard) -> None:
    parts = PurePosixPath(file.name).parts
    if not parts or file.name.startswith("/") or ".." in parts or "\\" in file.name:
        raise ValueError(f"{file.name!r} is no path below the model's folder")
    if file.sha256 and not _SHA256.fullmatch(file.sha256):
        raise ValueError(f"{file.name}: sha256 is not 64 hexadecimal digits")
    if file.is_pattern and (file.sha256 or file.size or file.url):
        raise ValueError(f"{file.name}: a pattern has neither size, digest nor address")
    if file.size < 0:
        raise ValueError(f"{file.name}: its size is negative")
    if (file.code or file.name.endswith(".py")) and not made.trust_remote_code:
        raise ValueError(f"{file.name} is code, but the card has no trust_remote_code")
    if file.url and not file.url.startswith("https://"):
        raise ValueError(f"{file.name}: url is not https")
