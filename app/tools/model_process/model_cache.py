"""The cache of loaded models; the least recently used is unloaded for another one (torch)."""

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
"""Memory of a model without figures on its card, as a multiple of its files' size."""
_MOST_OF_FILES = 6
"""Limit of a model's memory, as a multiple of its files' size, unless it is small."""
_SMALL = 256 * 2**20
_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class ModelKey:
    """The identity of a loaded model; with other files it is another model.

    Attributes:
        name: Name of its card, or of its file.
        path: Its file or folder.
        version: Digest, size and modification time.
        placement: Its device and precision.
    """

    name: str
    path: str
    version: str
    placement: Placement

    @classmethod
    def of(cls, source: Mapping[str, Any], placement: Placement) -> ModelKey:
        """Return the key of a call's payload["model"].

        Raises:
            OSError: Its file or folder does not exist.
        """
        path = Path(source["path"])
        stat = path.stat()
        version = f"{source.get('sha256', '')}|{stat.st_size}|{stat.st_mtime_ns}"
        return cls(str(source.get("name") or path.stem), str(path), version, placement)


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A loaded model and the bytes that it takes."""

    model: Any
    size: int


class ModelCache:
    """The loaded models of this process, the least recently used first."""

    def __init__(self) -> None:
        self._models: OrderedDict[ModelKey, CachedModel] = OrderedDict()

    def get(self, key: ModelKey) -> Any:
        """Return the model and mark it as used last; None if it is not loaded."""
        found = self._models.get(key)
        if found is None:
            return None
        self._models.move_to_end(key)
        return found.model

    def put(self, key: ModelKey, model: Any, size: int) -> None:
        """Add a loaded model that takes `size` bytes."""
        self._models[key] = CachedModel(model, size)

    def entries(self) -> list[dict[str, Any]]:
        """Return the loaded models as JSON-able tables for the host."""
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
        """Return the bytes of all models on a device."""
        return sum(one.size for key, one in self._models.items() if key.placement.device == device)

    def drop(self, wanted: Callable[[ModelKey], bool]) -> int:
        """Unload all models for which `wanted` is true; return how many."""
        dropped = [key for key in self._models if wanted(key)]
        for key in dropped:
            del self._models[key]
        if dropped:
            memory.free_unused()
            if not self._models:
                memory.freeze_garbage_collector()
        return len(dropped)

    def make_room(self, need: int, device: str) -> bool:
        """Unload the least recently used until `need` bytes fit; return whether they do."""
        while True:
            room = memory.room(device, self.held(device))
            if need <= room.beside:
                return True
            oldest = next((key for key in self._models if key.placement.device == device), None)
            if oldest is None:
                return need <= room.alone
            self.drop(lambda key, oldest=oldest: key == oldest)


def files_unchanged(source: Mapping[str, Any]) -> bool:
    """Return True if the files still have the size and time of when their digest was determined.

    Args:
        source: The call's payload["model"].
    """
    path = Path(source["path"])
    known: Mapping[str, Any] = source.get("files") or {}
    for name, expected in known.items():
        try:
            found = (path / name if path.is_dir() else path).stat()
        except OSError:
            return False
        if [found.st_size, found.st_mtime_ns] != list(expected):
            return False
    return True


def memory_need(source: Mapping[str, Any], dtype: str) -> int:
    """Return the bytes that a model will need, by its card, or else by its files' size.

    A figure for another dtype is converted.

    Args:
        source: The call's payload["model"].
        dtype: Name of the torch dtype in which it will be loaded.
    """
    path = Path(source["path"])
    files = [path] if path.is_file() else [p for p in path.rglob("*") if _is_weights(p)]
    size = sum(file.stat().st_size for file in files)
    figures: Mapping[str, Any] = source.get("memory") or {}
    known = {dtype: int(figures[dtype])} if dtype in figures else figures
    for other, figure in known.items():
        if other in _WIDTHS:
            need = int(figure) * _WIDTHS[dtype] // _WIDTHS[other]
            # A smaller model may lie in a card's folder, so the card's figure is limited.
            return need if path.is_file() else min(need, max(size * _MOST_OF_FILES, _SMALL))
    return round(size * _LEARNT)


def _is_weights(path: Path) -> bool:
    return path.is_file() and bool(re.search(r"\.(safetensors|bin|pt|pth|ckpt)$", path.name))
