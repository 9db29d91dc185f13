"""Runs a piece of work with a model that is loaded already, or is now (model process only).

A pack's entry calls `serve`; what is loaded, where, and what has to go for it is decided here. When
memory runs out all the same, the call goes down a ladder: other models go; the work is done in
smaller parts, where it can be; the model is loaded less precisely, where its results bear it; and
at the end the host is told, which tries the processor in place of an accelerator.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from app.errors import Cancelled
from app.tools.api import ToolFailed
from app.tools.hosting import protocol
from app.tools.model_process import memory
from app.tools.model_process.model_cache import Key, Shelf, as_found, need_of
from app.tools.model_process.placement import Placement, less_precise, place

Model = TypeVar("Model")
Progress = Callable[[float, str], None]

_LEAST_SHARE = 0.125
_OTHERS_WENT = "memory was too small: the other models were unloaded, and it was done once more"
_shelf = Shelf()
# Its own lock is one of several processes, which is left behind, with a warning on the user's
# terminal, when this process is ended.
tqdm.set_lock(threading.RLock())


@dataclass(slots=True)
class Work:
    """What a piece of work is given beside the model.

    Attributes:
        placement: Where the model is, and how precise.
        progress: `progress(fraction 0..1, text)`; raises `Cancelled` when the user has stopped it,
            so call it often.
        share: 1.0, or less after memory ran out: how much of the usual batch to do at once.
        notes: Sentences for the user, e.g. that memory ran out and what was done about it.
        source: The call's payload["model"]: name, path, sha256, files, programs.
    """

    placement: Placement
    progress: Progress
    share: float = 1.0
    notes: list[str] = field(default_factory=list[str])
    source: Mapping[str, Any] = field(default_factory=dict[str, Any])


class _Watched(Work):
    """Knows whether the work asks how much to do at once: only then a smaller share helps."""

    asked: bool = False

    def __getattribute__(self, name: str) -> Any:
        if name == "share":
            object.__setattr__(self, "asked", True)
        return object.__getattribute__(self, name)


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
        work: What is done with it, in `torch.inference_mode` of its own. It may be called again
            from the start when memory ran out.
        exact: See `place`.

    Returns:
        What `work` returned, with "device", "dtype" and "notes" added.

    Raises:
        protocol.OutOfMemory: Memory is too small here, whatever was tried.
    """
    source = source_of(payload)
    usual = place(str(payload.get("device", "auto")), exact=exact)
    doing = _Watched(usual if exact else _as_loaded(source, usual), progress, 1.0)
    doing.source = source
    others_went = False
    while True:
        doing.notes = []
        try:
            answer = _once(doing, load, work)
        except BaseException as error:
            if not memory.is_exhausted(error):
                _tidy(doing, error)
                raise
            detail = f"{type(error).__name__}: {error}"
        else:
            return {
                **answer,
                "device": doing.placement.device,
                "dtype": doing.placement.dtype,
                "notes": [*_done_about_memory(doing, usual, others_went), *doing.notes],
            }
        # Out here the error is gone, and with its traceback all that the call had made.
        memory.give_back()
        try:
            step = _step_down(doing, exact=exact, detail=detail)
        finally:  # models went for it, and the host shows what is here
            with suppress(Cancelled):
                progress(0.02, protocol.event_text(protocol.LOADED, models=_shelf.told()))
        others_went = others_went or step == _OTHERS_WENT
        with suppress(Cancelled):
            progress(0.02, step[:1].upper() + step[1:])


def source_of(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call's payload["model"]; of one that names a single file only, made from that."""
    return payload.get("model") or {"path": payload["weights"]}


def unload(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Let go of a model, or of all.

    Args:
        payload: "model": its card's name, or None for all.
        progress: Told what is loaded then.
    """
    name = payload.get("model")
    count = _shelf.drop(lambda key: name is None or key.name == name)
    progress(1.0, protocol.event_text(protocol.LOADED, models=_shelf.told()))
    return {"unloaded": count}


def report(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What is loaded, and the memory that this process holds; for measurements."""
    del payload
    return {"models": _shelf.told(), "resident": memory.resident()}


def _as_found(source: Mapping[str, Any], load: Callable[[], Model]) -> Model:
    """A model of the files that were looked at, and of no others.

    Another program may put a new version in place at any moment: half of each could be loaded, and
    the answer would name the digest of what was there before.
    """
    try:
        model = load()
    except Exception as error:
        if memory.is_exhausted(error) or isinstance(error, Cancelled) or as_found(source):
            raise
        raise _replaced() from error
    if not as_found(source):
        raise _replaced()
    return model


def _replaced() -> ToolFailed:
    return ToolFailed(
        "the model's files were replaced or removed while it was being loaded",
        remedy="Ask again: it is then done with the files that are there now.",
    )


def _once(doing: _Watched, load: Callable[[Path, Work], Any], work: Callable[..., Any]) -> Any:
    """Load if need be, and work."""
    try:
        key = Key.of(doing.source, doing.placement)
    except OSError as error:
        raise _replaced() from error
    model = _shelf.get(key)
    if model is None:
        model = _load(key, doing, load)
    doing.progress(0.02, protocol.event_text(protocol.WORKING))
    doing.asked = False
    return work(model, doing)


def _load(key: Key, doing: Work, load: Callable[[Path, Work], Any]) -> Any:
    """Load a model, after what has to go for it; it is kept only when it is loaded whole."""
    doing.progress(0.02, protocol.event_text(protocol.LOADING))
    doing.progress(0.02, "Loading the model")
    # One that was exchanged, or is loaded at another precision, serves nobody any more.
    _shelf.drop(lambda other: other.path == key.path)
    need, device = need_of(doing.source, key.placement.dtype), key.placement.device
    if not _shelf.make_room(need, device):
        free = memory.room(device, _shelf.held(device)).alone
        raise memory.Exhausted(f"it needs {_gigabytes(need)} and {_gigabytes(free)} are free")
    before = memory.in_use(device)
    model = _as_found(doing.source, lambda: load(Path(key.path), doing))
    # Its tensors where they can be counted: a first load also imports what it needs.
    _shelf.put(key, model, memory.size_of(model) or memory.in_use(device) - before)
    doing.progress(0.02, protocol.event_text(protocol.LOADED, models=_shelf.told()))
    return model


def _step_down(doing: _Watched, *, exact: bool, detail: str) -> str:
    """The next step of the ladder, prepared; returns what the user is told of it.

    Raises:
        protocol.OutOfMemory: There is none.
    """
    key = Key.of(doing.source, doing.placement)
    if _shelf.drop(lambda other: other != key):
        return _OTHERS_WENT
    asked, doing.asked = doing.asked, False
    share = doing.share
    if asked and share > _LEAST_SHARE:
        doing.share = share / 2
        return _in_parts(doing.share)
    _shelf.drop(lambda other: other == key)
    lower = None if exact else less_precise(doing.placement)
    if lower is not None:
        doing.placement, doing.share = lower, 1.0
        return _less_precisely(lower)
    here = doing.placement.device == "cpu"
    where = "this computer's" if here else "the accelerator's"
    raise (protocol.ProcessorOutOfMemory if here else protocol.OutOfMemory)(
        f"{where} memory is too small for this model now",
        remedy="Close other programs and images, or choose another device in the settings.",
        detail=detail,
    )


def _as_loaded(source: Mapping[str, Any], usual: Placement) -> Placement:
    """Where a model is at present, if it is less precise than usual and there is no room for more.

    Else each further call would read the files twice, to end where the first one did.
    """
    lower = less_precise(usual)
    with suppress(OSError):
        if lower is not None and _shelf.get(Key.of(source, lower)) is not None:
            free = memory.room(usual.device, _shelf.held(usual.device)).alone
            return lower if need_of(source, usual.dtype) > free else usual
    return usual


def _done_about_memory(doing: Work, usual: Placement, others_went: bool) -> list[str]:
    """What holds of the answer: of the steps that led to it those that were not enough do not."""
    notes = [_OTHERS_WENT] if others_went else []
    if doing.placement != usual:
        notes.append(_less_precisely(doing.placement))
    return [*notes, _in_parts(doing.share)] if doing.share < 1 else notes


def _in_parts(share: float) -> str:
    return f"memory was too small: it was done in parts of 1/{round(1 / share)} of the usual size"


def _less_precisely(placement: Placement) -> str:
    return f"memory was too small: computed in {placement.dtype}, less precisely than usual"


def _tidy(doing: Work, error: BaseException) -> None:
    """After a failure: nothing half loaded stays, and the host knows what is there.

    A cancelled call must be done with quickly, so memory is looked through only where a load broke
    off.
    """
    try:
        there = _shelf.get(Key.of(doing.source, doing.placement)) is not None
    except OSError:  # its files are gone
        there = False
    if not there:
        memory.forget_locals(error)
        memory.give_back()
    with suppress(Cancelled):
        doing.progress(0.0, protocol.event_text(protocol.LOADED, models=_shelf.told()))


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
