"""Model cards: each model's files, origin, licence, terms, memory and limits.

Each is a TOML file in `resources/models`, read strictly. A value that was not available when the
card was written, such as the digest of a file behind a login, is left out and never guessed: the
digests of such files are recorded when they are first installed.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath

from pydantic import ConfigDict, TypeAdapter, ValidationError

from app import paths
from app.tools.models.durable_files import is_revision, is_sha256
from app.user_files import read_regular

# A misspelt key would silently leave its default, such as "no terms to accept".
_STRICT = ConfigDict(extra="forbid")
DTYPES = ("float32", "bfloat16", "float16")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
SOURCED = ("licence", "revision", "size")
_ORIGINS = ("Here: ", "Second hand: ", "None: ")


@dataclass(frozen=True, slots=True)
class CardFile:
    """One file of a model, or several files that match a pattern.

    Attributes:
        name: Path relative to the model's folder, with "/"; for a model with a single file, the
            file's name. A name with "*" is a pattern for all files that match
            ("model-*.safetensors"), at least one of which must exist.
        size: Size in bytes; 0 if not known.
        sha256: Digest of the published file; "" if not known.
        url: Address of the published file; "" for a file in the card's repository.
        optional: Whether the model also works without the file.
        code: Whether the file is a program that runs with the model (`trust_remote_code`).
    """

    __pydantic_config__ = _STRICT

    name: str
    size: int = 0
    sha256: str = ""
    url: str = ""
    optional: bool = False
    code: bool = False

    @property
    def is_pattern(self) -> bool:
        """True if the name contains "*" and so stands for several files."""
        return "*" in self.name

    def covers(self, name: str) -> bool:
        """Return True if a file's name is this entry's name or matches its pattern."""
        return fnmatchcase(name, self.name)


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """A comparison of an installed model with published figures or files.

    Attributes:
        entry: "module:function" that compares in the model process; see `installation.self_check`.
        file: A file to run the model on or to compare it with, in the models folder's "self-check".
        fetched: Whether that file is downloaded with the model.
        expected: The published figures by name; empty if only files are compared.
        tolerance: The largest difference from the published figures that passes.
    """

    __pydantic_config__ = _STRICT

    entry: str
    file: CardFile
    fetched: bool = False
    expected: Mapping[str, float] = field(default_factory=dict[str, float])
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Sensitivity and specificity of a model for one label, as a publication gives them."""

    __pydantic_config__ = _STRICT

    sensitivity: float
    specificity: float
    source: str


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The description of a model, installed or not; a text that is not known is "".

    Attributes:
        files: The model's files. The file of a single-file model is in the models folder itself.
        folder: True for a folder of files (transformers, diffusers), False for a single file.
        repository: "owner/name" on the Hugging Face hub.
        revision: The commit to use; if "", an installation takes the newest and records it.
        url: Address of a page about the model.
        licence: Short name of the model's licence.
        terms: Text that the user must accept before the model is installed.
        gated: Whether the hub gives it only to accounts that accepted its terms (with a token).
        trust_remote_code: Whether programs come with its weights; they run only with permission.
        packages: Import names of the Python packages that the model needs.
        memory: Bytes of memory that the model needs, by torch dtype (see `DTYPES`).
        tried: How it was tested here: with real weights, with tiny ones, on a GPU, or not at all.
        check: "module:function" that checks the model's files in the model process.
        published_bytes: Total size of the published files; 0 if the sizes in `files` are used.
        sources: For "licence", "revision" and "size": a sentence on where its value was read. It
            begins with "Here: " (in the original), "Second hand: " (in a copy or another project)
            or "None: " (there is none, or it is not known).
        self_check: The comparison to make once the model is installed; None for none.
        operating_points: By label in lower case, how well the model detects it; only what was
            published for these weights.
        embedded: Whether it ships in `resources/models/<name>`, its digest in `card.json` there.
    """

    __pydantic_config__ = _STRICT

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
    published_bytes: int = 0
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    self_check: SelfCheck | None = None
    embedded: bool = False
    operating_points: Mapping[str, OperatingPoint] = field(
        default_factory=dict[str, OperatingPoint]
    )

    @property
    def size(self) -> int:
        """Total bytes of the published files; a file of unknown size counts as 0."""
        return self.published_bytes or sum(file.size for file in self.files)

    @property
    def terms_sha256(self) -> str:
        """Digest of the terms, which identifies the accepted text; "" if there are no terms."""
        return hashlib.sha256(self.terms.strip().encode()).hexdigest() if self.terms else ""

    @property
    def pinned(self) -> bool:
        """True if the card states the digest of every required file."""
        return all(file.sha256 for file in self.files if not file.optional)

    def file_of(self, name: str) -> CardFile | None:
        """Return the entry with this file name, else the pattern that matches it, else None."""
        exact = next((file for file in self.files if file.name == name), None)
        return exact or next((f for f in self.files if f.is_pattern and f.covers(name)), None)


def card(name: str) -> ModelCard:
    """Return the shipped card with that name.

    Raises:
        KeyError: There is no such card.
    """
    return cards()[name]


@cache
def cards() -> Mapping[str, ModelCard]:
    """Return all shipped cards by name."""
    folder = paths.resources_dir() / "models"
    read = (read_card(path) for path in sorted(folder.glob("*.toml")))
    return {found.name: found for found in read}


def read_card(path: Path) -> ModelCard:
    """Return the card that a TOML file contains.

    Raises:
        ValueError: A key is unknown or missing, or a value is not valid.
    """
    try:
        made = _adapter().validate_python(tomllib.loads(read_regular(path).decode()))
        if made.name != path.stem:
            raise ValueError(f"its name is {made.name!r}, its file's is {path.stem!r}")
        _check(made)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise ValueError(f"{path.name} is not a valid model card: {'; '.join(wrong)}") from error
    except ValueError as error:
        raise ValueError(f"{path.name} is not a valid model card: {error}") from error
    return made


@cache
def _adapter() -> TypeAdapter[ModelCard]:
    return TypeAdapter(ModelCard)


def _check(made: ModelCard) -> None:
    """Check what the types do not express."""
    if not _NAME.fullmatch(made.name):
        raise ValueError(f"{made.name!r} is no name: small letters, digits, '.', '_', '-'")
    if not made.files:
        raise ValueError("files is empty")
    if not made.folder and (len(made.files) != 1 or "/" in made.files[0].name):
        raise ValueError("a model that is no folder has one file, which lies in no folder")
    if made.revision and not is_revision(made.revision):
        raise ValueError("revision is no commit: 40 hexadecimal digits, or nothing")
    if made.repository and not _REPOSITORY.fullmatch(made.repository):
        raise ValueError("repository is not owner/name")
    if unknown := made.memory.keys() - set(DTYPES):
        raise ValueError(f"memory: unknown dtype {', '.join(sorted(unknown))}")
    for fact, text in made.sources.items():
        if fact not in SOURCED or not text.startswith(_ORIGINS):
            raise ValueError(f"sources: {fact} is unknown, or does not begin with its origin")
    for file in (*made.files, *([made.self_check.file] if made.self_check else [])):
        _check_file(file, made)
    if len({file.name.casefold() for file in made.files}) != len(made.files):
        raise ValueError("files names one twice")


def _check_file(file: CardFile, made: ModelCard) -> None:
    parts = PurePosixPath(file.name).parts
    if not parts or file.name.startswith("/") or ".." in parts or "\\" in file.name:
        raise ValueError(f"{file.name!r} is no path below the model's folder")
    if file.sha256 and not is_sha256(file.sha256):
        raise ValueError(f"{file.name}: sha256 is not 64 hexadecimal digits")
    if file.is_pattern and (file.sha256 or file.size or file.url):
        raise ValueError(f"{file.name}: a pattern has neither size, digest nor address")
    if file.size < 0:
        raise ValueError(f"{file.name}: its size is negative")
    if (file.code or file.name.endswith(".py")) and not made.trust_remote_code:
        raise ValueError(f"{file.name} is code, but the card has no trust_remote_code")
    if file.url and not file.url.startswith("https://"):
        raise ValueError(f"{file.name}: url is not https")


def cards_table() -> str:
    """Return a Markdown table of the shipped cards for the documentation."""
    head = (
        "| model | tools | from | size | licence | terms | code | tried here |",
        "|---|---|---|---|---|---|---|---|",
    )
    rows = (_table_row(card) for card in cards().values())
    return "\n".join([*head, *rows])


def _table_row(card: ModelCard) -> str:
    if card.embedded:
        source = "shipped"
    elif card.repository:
        pinned = f" at `{card.revision[:12]}`" if card.revision else ""
        source = f"[{card.repository}](https://huggingface.co/{card.repository}){pinned}"
    else:
        source = f"[{card.url.partition('://')[2]}]({card.url})" if card.url else ""
    cells = (
        f"`{card.name}`<br>{card.title}",
        ", ".join(f"`{tool}`" for tool in card.tools),
        source,
        _table_size(card),
        card.licence,
        ("to accept, gated" if card.gated else "to accept") if card.terms else "none",
        "after a yes" if card.trust_remote_code else "none",
        card.tried,
    )
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _table_size(card: ModelCard) -> str:
    size = card.size
    if card.embedded:
        folder = paths.resources_dir() / "models" / card.name
        size = sum((folder / file.name).stat().st_size for file in card.files)
    if not size:
        return "not known"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
