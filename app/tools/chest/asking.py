"""An installed model, asked in the model process: what each tool of this pack with a model does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.tools.api import Need, ToolContext
from app.tools.models.store import InstalledModel, ModelStore
from app.tools.needs import require_packages


def needs_of(name: str, packages: tuple[str, ...]) -> tuple[Need, ...]:
    """For the spec: the packages that run the model of that name, and its weights."""
    return (*(Need("package", package) for package in packages), Need("weights", name))


def required(
    name: str, feature: str, packages: tuple[str, ...], context: ToolContext
) -> InstalledModel:
    """The installed model of that name, with the packages that run it.

    Args:
        name: Its card's.
        feature: What needs it, for the message ("The report generator").
        packages: By their import names.
        context: The call's.

    Raises:
        ToolFailed: It or a package is not installed, or its terms are not accepted.
    """
    model = ModelStore(context.models_dir).require(name, feature)
    require_packages(feature, *packages)
    return model


def ask(
    entry: str,
    model: InstalledModel,
    payload: Mapping[str, Any],
    context: ToolContext,
    timeout_s: float,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """The answer of a model's entry in the model process.

    Args:
        entry: "app.tools.chest.maira:entry".
        model: Which model; the entry is told where it lies.
        payload: What else it is given.
        context: The call's, whose cancel stops it.
        timeout_s: After this it is stopped and has failed.
        progress: Told how far it is; None for the call's own.

    Raises:
        Cancelled: The run was stopped.
        ToolFailed: It failed; see `app.tools.api.ModelHost.call`.
    """
    return context.host.call(
        entry,
        {**model.payload(context.device), **payload},
        cancel=context.cancel,
        timeout_s=timeout_s,
        progress=progress or context.progress,
    )
