"""Where a model runs, and which are loaded (torch; model process only)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

Model = TypeVar("Model")

_KEPT = 2


def pick_device(wanted: str) -> str:
    """The torch device for "auto", "cpu", "cuda" or "mps"; the CPU where it is not there."""
    has_mps = torch.backends.mps.is_available()
    if wanted in ("auto", "cuda") and torch.cuda.is_available():
        return "cuda"
    if wanted in ("auto", "mps") and has_mps:
        return "mps"
    return "cpu"


class LoadedModels(Generic[Model]):
    """Models by file and device; the least recently used goes when there are more than two.

    A file that was replaced is loaded anew.
    """

    def __init__(self) -> None:
        self._models: OrderedDict[tuple[str, int, int, str], Any] = OrderedDict()

    def get(self, weights: str, device: str, load: Callable[[Path], Model]) -> Model:
        """The model of a weights file on a device, loaded with `load` when it is not there yet."""
        stat = Path(weights).stat()
        key = (weights, stat.st_size, stat.st_mtime_ns, device)
        if key not in self._models:
            loaded: Any = load(Path(weights))
            self._models[key] = loaded.to(device)
            while len(self._models) > _KEPT:
                self._models.popitem(last=False)
        self._models.move_to_end(key)
        return self._models[key]
