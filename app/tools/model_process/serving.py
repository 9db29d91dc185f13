"""Runs a piece of work with a model that is loaded already, or is now (model process only).

A pack's entry calls `serve`; what is loaded, where, and what has to go for it is decided here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from app.tools.model_process.placement import Placement, place

Model = TypeVar("Model")
Progress = Callable[[float, str], None]

_KEPT = 2
_loaded: OrderedDict[tuple[str, str, Placement], Any] = OrderedDict()


@dataclass(slots=True)
class Work:
    """What a piece of work is given beside the model.

    Attributes:
        placement: Where the model is, and how precise.
        progress: `progress(fraction 0..1, text)`; raises `Cancelled` when the user has stopped it,
            so call it often.
        share: 1.0, or less after memory ran out: how much of the usual batch to do at once.
        notes: Sentences for the user, e.g. that memory ran out and what was done about it.
        source: The call's payload["model"]: name, path, sha256, trust_remote_code.
    """

    placement: Placement
    progress: Progress
    share: float = 1.0
    notes: list[str] = field(default_factory=list[str])
    source: Mapping[str, Any] = field(default_factory=dict[str, Any])


def serve(
    payload: Mapping[str, Any],
    progress: Progress,
    *,
    load: Callable[[Path, Work], Model],
    work: Callable[[Model, Work], dict[str, Any]],
    exact: bool = False,
) -> dict[str, Any]:
    """Load the model where it is not loaded yet, and do the work with it.

    Args:
        payload: "model" as of `InstalledModel.payload`, and "device".
        progress: The entry's own.
        load: Makes the model ready to run at `Work.placement`; called when it is not there yet.
        work: What is done with it, in `torch.inference_mode` of its own.
        exact: See `place`.

    Returns:
        What `work` returned, with "device", "dtype" and "notes" added.
    """
    placement = place(str(payload.get("device", "auto")), exact=exact)
    source: Mapping[str, Any] = payload["model"]
    doing = Work(placement, progress, source=source)
    key = (str(source["path"]), str(source["sha256"]), placement)
    if key not in _loaded:
        progress(0.02, "Loading the model")
        while len(_loaded) >= _KEPT:
            _loaded.popitem(last=False)
        _loaded[key] = load(Path(source["path"]), doing)
    _loaded.move_to_end(key)
    answer = work(_loaded[key], doing)
    return {
        **answer,
        "device": placement.device,
        "dtype": placement.dtype,
        "notes": doing.notes,
    }
