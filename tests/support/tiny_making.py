"""Creation of tiny models in the model process, which has torch; the tests' process needs none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from app.tools.api import CancelToken, ModelHost
from app.tools.models.store import ModelStore


def entry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Run `tests.support.tiny.<tool>.build(folder, **options)`."""
    from app.tools.model_process import memory

    build = import_module(f"tests.support.tiny.{payload['tool']}").build
    build(Path(payload["folder"]), **payload["options"])
    if payload["options"].get("size") == "full":
        memory.free_unused()  # a GPU has it for the process that is measured
    return {}


def make(host: ModelHost, tool: str, folder: Path, **options: Any) -> None:
    """Make the tiny model of `tool` in `folder`, in the host's process for the CPU."""
    payload = {"tool": tool, "folder": str(folder), "options": options, "device": "cpu"}
    host.call(f"{__name__}:entry", payload, cancel=CancelToken(), timeout_s=120)


def install(host: ModelHost, tool: str, models: Path, card: str, **options: Any) -> None:
    """Make it where the store looks for it, and accept its terms.

    Args:
        host: The model process.
        tool: Module in `tests.support.tiny`.
        models: The models folder.
        card: Name of its card.
        options: For `build`.
    """
    store = ModelStore(models)
    place = store.paths_of(store.card(card))
    make(host, tool, place.path, **options)
    store.accept(card)
