"""Model cards: what each model is, which files exactly, whose terms, how much memory it needs.

One TOML file a model in `resources/models`. A figure that could not be had when the card was
written (a digest of a file behind a login) is left out of it, never guessed: such files are pinned
when they are first installed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from app import paths


@dataclass(frozen=True, slots=True)
class CardFile:
    """One file of a model.

    Attributes:
        name: Path below the model's folder, with "/"; of a model of one file, its file name.
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
        embedded: It is shipped with the program.
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
        ValueError: It has a key that cards do not have, or lacks one.
    """
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        files = tuple(CardFile(**entry) for entry in data.pop("files"))
        for name in ("tools", "packages", "limits"):
            if name in data:
                data[name] = tuple(data[name])
        return ModelCard(files=files, **data)
    except (TypeError, KeyError) as error:
        raise ValueError(f"{path.name} is no model card: {error}") from error
