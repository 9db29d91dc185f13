"""Cards of models that do not exist, and their files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from app.tools.models.cards import CardFile, ModelCard
from app.tools.models.store import ModelStore

_VALUES = bytes(range(256)) * 5000
_HEADER = b'{"a":{"dtype":"U8","shape":[1280000],"data_offsets":[0,1280000]}}'
CONTENT = len(_HEADER).to_bytes(8, "little") + _HEADER + _VALUES
"""A safetensors file."""
TERMS = "You may look at it."
FILES = {
    "config.json": b'{"model_type": "net"}',
    "model.safetensors": CONTENT,
    "tokenizer/vocab.txt": b"a\nb\n",
}
CODE = {"modeling_net.py": b"print('hello')\n"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def single(url: str = "https://example.invalid/weights.pt", content: bytes = CONTENT) -> ModelCard:
    """A model of one file, pinned."""
    file = CardFile("test-net.pt", len(content), digest(content), url)
    return ModelCard(
        "test-net", "A test", ("a_tool",), (file,), False, check="app.tools.chest.densenet:check"
    )


def foldered(*, code: bool = False, terms: str = "", pinned: bool = False) -> ModelCard:
    """A model of a folder with a repository."""
    files = tuple(
        CardFile(name, len(data), digest(data)) if pinned else CardFile(name)
        for name, data in FILES.items()
    )
    return ModelCard(
        "test-folder",
        "A folder",
        ("a_tool",),
        files,
        repository="owner/Test-Folder",
        trust_remote_code=code,
        terms=terms,
    )


def store(folder: Path, *known: ModelCard) -> ModelStore:
    """A store of these cards, with a models folder of its own."""
    models = folder / "models"
    models.mkdir(exist_ok=True)
    cards = {card.name: card for card in known or (single(),)}
    return ModelStore(models, shipped=folder / "shipped", known=cards)


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    """The files below a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def only(card: ModelCard, *names: str) -> ModelCard:
    """The card with these files only."""
    return replace(card, files=tuple(file for file in card.files if file.name in names))
