"""The models that are loaded, and which goes first when another needs its place (torch)."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.tools.model_process import memory
from app.tools.model_process.placement import Placement

_LEARNT = 1.1
"""What a model of unknown need takes beside the bytes of its files."""
_MOST_OF_FILES = 6
"""No model takes more than so many times its files, unless it is small."""
_SMALL = 256 * 2**20
_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class Key:
    """Which model it is: one whose files were exchanged is another.

    Attributes:
        name: Of its card, or of its file.
        path: Its file or folder.
        version: Digest, size and time of change.
        placement: Where it is, and how precise.
    """

    name: str
    path: str
    version: str
    placement: Placement

    @classmethod
    def of(cls, source: Mapping[str, Any], placement: Placement) -> Key:
        """The key of a call's payload["model"].

        Raises:
            OSError: It is not there.
        """
        path = Path(source["path"])
        stat = path.stat()
        version = f"{source.get('sha256', '')}|{stat.st_size}|{stat.st_mtime_ns}"
        return cls(str(source.get("name") or path.stem), str(path), version, placement)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory and the bytes that it takes."""

    model: Any
    size: int


class Shelf:
    """The loaded models of this process, the least recently used first."""

    def __init__(self) -> None:
        self._models: OrderedDict[Key, Loaded] = OrderedDict()

    def get(self, key: Key) -> Any:
        """The model, which becomes the last to go; None when it is not loaded."""
        found = self._models.get(key)
        if found is None:
            return None
        self._models.move_to_end(key)
        return found.model

    def put(self, key: Key, model: Any, size: int) -> None:
        """Keep a model."""
        self._models[key] = Loaded(model, size)

    def told(self) -> list[dict[str, Any]]:
        """What is loaded, for the host."""
        return [
            {
                "model": key.name,
                "device": key.placement.device,
                "dtype": key.placement.dtype,
                "memory": loaded.size,
            }
            for key, loaded in self._models.items()
        ]

    def held(self, device: str) -> int:
        """Bytes of all models on a device."""
        return sum(one.size for key, one in self._models.items() if key.placement.device == device)

    def drop(self, wanted: Callable[[Key], bool]) -> int:
        """Let go of all models for which `wanted` holds; returns how many."""
        going = [key for key in self._models if wanted(key)]
        for key in going:
            del self._models[key]
        if going:
            memory.give_back()
            if not self._models:
                memory.spare_what_stays()
        return len(going)

    def make_room(self, need: int, device: str) -> bool:
        """Let go of the least recently used until `need` bytes fit; whether they do then."""
        while True:
            room = memory.room(device, self.held(device))
            if need <= room.beside:
                return True
            oldest = next((key for key in self._models if key.placement.device == device), None)
            if oldest is None:
                return need <= room.alone
            self.drop(lambda key, oldest=oldest: key == oldest)


def as_found(source: Mapping[str, Any]) -> bool:
    """Whether the files are those whose digest was told: by size and time, where these are known.

    Args:
        source: The call's payload["model"].
    """
    path = Path(source["path"])
    known: Mapping[str, Any] = source.get("files") or {}
    for name, told in known.items():
        try:
            found = (path / name if path.is_dir() else path).stat()
        except OSError:
            return False
        if [found.st_size, found.st_mtime_ns] != list(told):
            return False
    return True


def need_of(source: Mapping[str, Any], dtype: str) -> int:
    """Bytes that a model will need: its card's figure, else from another dtype's, else its files'.

    Args:
        source: The call's payload["model"].
        dtype: In which it is to be loaded.
    """
    path = Path(source["path"])
    files = [path] if path.is_file() else [p for p in path.rglob("*") if _is_weights(p)]
    size = sum(file.stat().st_size for file in files)
    figures: Mapping[str, Any] = source.get("memory") or {}
    known = {dtype: int(figures[dtype])} if dtype in figures else figures
    for other, figure in known.items():
        if other in _WIDTHS:
            need = int(figure) * _WIDTHS[dtype] // _WIDTHS[other]
            # A smaller model may lie in a card's folder: it is not refused for the card's figure.
            return need if path.is_file() else min(need, max(size * _MOST_OF_FILES, _SMALL))
    return round(size * _LEARNT)


def _is_weights(path: Path) -> bool:
    return path.is_file() and bool(re.search(r"\.(safetensors|bin|pt|pth|ckpt)$", path.name))
