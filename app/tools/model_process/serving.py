"""Runs work with a model, and loads the model first if necessary (model process only).

A pack's function calls `serve`, which loads the model and unloads others to make room for it. If
memory still runs out, the work is repeated, each time with one more saving: without the other
models; in smaller parts, if the work allows; with less precision, if the results allow. If this
does not help on an accelerator, the host is told and repeats the call on the CPU.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
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
from app.tools.model_process.memory import Placement, choose_placement, less_precise

_LEARNT = 1.1
"""Assumed memory for a model whose card gives no figures, as a multiple of its files' size."""
_MOST_OF_FILES = 6
"""Upper limit for a model's memory, as a multiple of its files' size, unless it is small."""
_SMALL = 256 * 2**20
_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class ModelKey:
    """The identity of a loaded model; if the model's files change, its key changes.

    `name` is that of the model's card; without a card, that of its file. `version` holds the
    digest of its files, and the size and modification time of `path`.
    """

    name: str
    path: str
    version: str
    placement: Placement

    @classmethod
    def of(cls, source: Mapping[str, Any], placement: Placement) -> ModelKey:
        """Return the key of the model in a call's payload["model"] (`source`) at this placement.

        Raises:
            OSError: The model's file or folder does not exist.
        """
        path = Path(source["path"])
        stat = path.stat()
        version = f"{source.get('sha256', '')}|{stat.st_size}|{stat.st_mtime_ns}"
        return cls(str(source.get("name") or path.stem), str(path), version, placement)


class ModelCache:
    """The loaded models of this process and their sizes, the least recently used first."""

    def __init__(self) -> None:
        self._models: OrderedDict[ModelKey, tuple[Any, int]] = OrderedDict()

    def get(self, key: ModelKey) -> Any:
        """Return the model and mark it as the most recently used; None if it is not loaded."""
        if key not in self._models:
            return None
        self._models.move_to_end(key)
        return self._models[key][0]

    def put(self, key: ModelKey, model: Any, size: int) -> None:
        """Add a loaded model that takes `size` bytes of memory."""
        self._models[key] = (model, size)

    def entries(self) -> list[dict[str, Any]]:
        """Return a dict for each loaded model for the host: its name, device, dtype and bytes."""
        return [
            {
                "model": key.name,
                "device": key.placement.device,
                "dtype": key.placement.dtype,
                "memory": size,
            }
            for key, (_model, size) in self._models.items()
        ]

    def held(self, device: str) -> int:
        """Return the bytes of memory that all models on a device take."""
        loaded = self._models.items()
        return sum(size for key, (_model, size) in loaded if key.placement.device == device)

    def drop(self, wanted: Callable[[ModelKey], bool]) -> int:
        """Unload all models for whose key `wanted` returns True; return how many were unloaded."""
        dropped = [key for key in self._models if wanted(key)]
        for key in dropped:
            del self._models[key]
        if dropped:
            memory.free_unused()
            if not self._models:
                memory.freeze_garbage_collector()
        return len(dropped)

    def make_room(self, need: int, device: str) -> bool:
        """Unload least recently used models until `need` bytes fit; return False if they cannot."""
        while True:
            beside, alone = memory.model_budget(device, self.held(device))
            if need <= beside:
                return True
            oldest = next((key for key in self._models if key.placement.device == device), None)
            if oldest is None:
                return need <= alone
            self.drop(lambda key, oldest=oldest: key == oldest)


def files_unchanged(source: Mapping[str, Any]) -> bool:
    """Return True if the size and time of each file in `source["files"]` are still those given."""
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
    """Return the bytes of memory that a model will need, from its card or else its files' size.

    If the card only has a figure for another dtype, that figure is converted.
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


Model = TypeVar("Model")
Progress = Callable[[float, str], None]

_LEAST_SHARE = 0.125
_OTHERS_UNLOADED = "memory was too small: the other models were unloaded, and it was repeated"
_cache = ModelCache()
# tqdm's own lock is shared between processes; it would leave a warning on the user's terminal when
# this process is ended.
tqdm.set_lock(threading.RLock())


@dataclass(slots=True)
class Work:
    """The settings and functions that `serve` passes to a function that works with a model.

    Attributes:
        placement: The model's device and precision.
        progress: Function to report `progress(fraction 0..1, text)`; it raises `Cancelled` once the
            call is cancelled, so call it often.
        share: Fraction of the usual batch size to process at once; below 1.0 after memory ran out.
        notes: Sentences on the result for the user; the function may append some.
        source: Facts on the model from payload["model"]: name, path, sha256, files, programs.
    """

    placement: Placement
    progress: Progress
    share: float = 1.0
    notes: list[str] = field(default_factory=list[str])
    source: Mapping[str, Any] = field(default_factory=dict[str, Any])


class _ShareWatch(Work):
    """Notes whether the work reads its `share`, since only then a smaller one helps."""

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
    """Load a model if it is not loaded yet, run `work` with it and return the result.

    Args:
        payload: "model" and "device" from `InstalledModel.payload`.
        progress: The progress function that the calling function was given.
        load: A function that loads the model from a path, with `Work.placement`.
        work: A function that does the work. It must enter `torch.inference_mode` itself, and is
            called again from the start if memory runs out.
        exact: Whether to use float32 everywhere; see `choose_placement`.

    Returns:
        The result of `work`, with "device", "dtype" and "notes" added.

    Raises:
        protocol.OutOfMemory: There is not enough memory, even after other models were unloaded and
            the work was tried in smaller parts and with less precision.
    """
    source = source_of(payload)
    usual = choose_placement(str(payload.get("device", "auto")), exact=exact)
    doing = _ShareWatch(usual if exact else _usable_placement(source, usual), progress, 1.0)
    doing.source = source
    others_unloaded = False
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
                "notes": [*_memory_notes(doing, usual, others_unloaded), *doing.notes],
            }
        # Outside the handler the error is gone, and with its traceback everything the call held.
        memory.free_unused()
        try:
            step = _step_down(doing, exact=exact, detail=detail)
        finally:  # the host shows which models are left
            with suppress(Cancelled):
                progress(0.02, protocol.event_text(protocol.LOADED, models=_cache.entries()))
        others_unloaded = others_unloaded or step == _OTHERS_UNLOADED
        with suppress(Cancelled):
            progress(0.02, step[:1].upper() + step[1:])


def source_of(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts on a call's model: payload["model"], else {"path": payload["weights"]}."""
    return payload.get("model") or {"path": payload["weights"]}


def unload(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Unload the model named payload["model"], or all if that is None; "unloaded" says how many."""
    name = payload.get("model")
    count = _cache.drop(lambda key: name is None or key.name == name)
    progress(1.0, protocol.event_text(protocol.LOADED, models=_cache.entries()))
    return {"unloaded": count}


def report(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loaded "models" and the "resident" bytes of this process, for measurements."""
    del payload
    return {"models": _cache.entries(), "resident": memory.resident_bytes()}


def _load_unchanged(source: Mapping[str, Any], load: Callable[[], Model]) -> Model:
    """Load a model, and check that its files are those whose digest was determined.

    Another program may replace them at any moment: the model could be a mixture.
    """
    try:
        model = load()
    except Exception as error:
        if memory.is_exhausted(error) or isinstance(error, Cancelled) or files_unchanged(source):
            raise
        raise _replaced() from error
    if not files_unchanged(source):
        raise _replaced()
    return model


def _replaced() -> ToolFailed:
    return ToolFailed(
        "the model's files were replaced or removed while it was being loaded",
        remedy="Ask again: the present files are then used.",
    )


def _once(doing: _ShareWatch, load: Callable[[Path, Work], Any], work: Callable[..., Any]) -> Any:
    try:
        key = ModelKey.of(doing.source, doing.placement)
    except OSError as error:
        raise _replaced() from error
    model = _cache.get(key)
    if model is None:
        model = _load(key, doing, load)
    doing.progress(0.02, protocol.event_text(protocol.WORKING))
    doing.asked = False
    return work(model, doing)


def _load(key: ModelKey, doing: Work, load: Callable[[Path, Work], Any]) -> Any:
    """Unload models to make room, load a model, and keep it if that succeeds."""
    doing.progress(0.02, protocol.event_text(protocol.LOADING))
    doing.progress(0.02, "Loading the model")
    # The same model with earlier files or another precision is not needed any more.
    _cache.drop(lambda other: other.path == key.path)
    need, device = memory_need(doing.source, key.placement.dtype), key.placement.device
    if not _cache.make_room(need, device):
        _beside, free = memory.model_budget(device, _cache.held(device))
        raise memory.MemoryExhausted(f"it needs {_gigabytes(need)} and {_gigabytes(free)} are free")
    before = memory.in_use(device)
    model = _load_unchanged(doing.source, lambda: load(Path(key.path), doing))
    # Its tensors are counted if possible: memory also grows by the modules of a first load.
    _cache.put(key, model, memory.size_of(model) or memory.in_use(device) - before)
    doing.progress(0.02, protocol.event_text(protocol.LOADED, models=_cache.entries()))
    return model


def _step_down(doing: _ShareWatch, *, exact: bool, detail: str) -> str:
    """Take the next step against lack of memory; return a sentence on it for the user."""
    key = ModelKey.of(doing.source, doing.placement)
    if _cache.drop(lambda other: other != key):
        return _OTHERS_UNLOADED
    asked, doing.asked = doing.asked, False
    share = doing.share
    if asked and share > _LEAST_SHARE:
        doing.share = share / 2
        return _in_parts(doing.share)
    _cache.drop(lambda other: other == key)
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


def _usable_placement(source: Mapping[str, Any], usual: Placement) -> Placement:
    """Return a less precise placement if the model is loaded so and has no room for the usual one.

    Otherwise each further call would load the files twice, with the same end as the first.
    """
    lower = less_precise(usual)
    with suppress(OSError):
        if lower is not None and _cache.get(ModelKey.of(source, lower)) is not None:
            _beside, free = memory.model_budget(usual.device, _cache.held(usual.device))
            return lower if memory_need(source, usual.dtype) > free else usual
    return usual


def _memory_notes(doing: Work, usual: Placement, others_unloaded: bool) -> list[str]:
    """Return the notes that apply to the answer, without steps that were not enough."""
    notes = [_OTHERS_UNLOADED] if others_unloaded else []
    if doing.placement != usual:
        notes.append(_less_precisely(doing.placement))
    return [*notes, _in_parts(doing.share)] if doing.share < 1 else notes


def _in_parts(share: float) -> str:
    return f"memory was too small: it was done in parts of 1/{round(1 / share)} of the usual size"


def _less_precisely(placement: Placement) -> str:
    return f"memory was too small: computed in {placement.dtype}, less precisely than usual"


def _tidy(doing: Work, error: BaseException) -> None:
    """Free a half-loaded model after a failure, and tell the host what is loaded.

    A cancelled call must end quickly, so memory is collected only if loading was interrupted.
    """
    try:
        there = _cache.get(ModelKey.of(doing.source, doing.placement)) is not None
    except OSError:  # its files are gone
        there = False
    if not there:
        memory.clear_traceback(error)
        memory.free_unused()
    with suppress(Cancelled):
        doing.progress(0.0, protocol.event_text(protocol.LOADED, models=_cache.entries()))


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
