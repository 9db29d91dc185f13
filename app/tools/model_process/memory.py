"""How much memory there is for models on a device, and giving it back (torch; model process only).

The budget for all loaded models together is SIGHTLINE_MODEL_MEMORY ("8G") where that is set. Else,
on an accelerator, it is what is free there less a margin for what runs beside the weights; on the
processor a share of what is free, since the window, its images and other programs live there too.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

LIMIT = "SIGHTLINE_MODEL_MEMORY"
_SHARE = 0.6
"""Of the processor's free memory, for all models together."""
_MOST = 0.95
"""Of it, for one model alone: more would make the system swap or end programs."""
_MARGIN = 512 * 2**20
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_EXHAUSTED = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad allocation"
    r"|bad_alloc",
    re.IGNORECASE,
)
_DEEP = 4
"""How far a model's modules may lie inside what was loaded."""


class Exhausted(Exception):
    """A model does not fit, as its card or its files say."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is left for one more model.

    Attributes:
        beside: Bytes that it may take beside those that are loaded.
        alone: Bytes that it may take if nothing else were loaded.
    """

    beside: int
    alone: int


def room(device: str, held: int) -> Room:
    """What a device has for one more model.

    Args:
        device: "cuda", "mps" or "cpu".
        held: Bytes that loaded models take there now.
    """
    limit = parsed(os.environ.get(LIMIT, ""))
    free = free_bytes(device)
    if device == "cpu":
        beside, alone = round(_SHARE * (free + held)) - held, round(_MOST * (free + held))
    else:
        beside, alone = free - _MARGIN, free + held - _MARGIN
    if limit is not None:
        beside, alone = min(limit - held, beside), min(limit, alone)
    return Room(max(0, beside), max(0, alone))


def parsed(text: str) -> int | None:
    """Bytes of "8G", "500M", "1.5GB" or "8000000"; None of anything else."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    return round(float(found[1]) * _UNITS[found[2].upper()]) if found else None


def free_bytes(device: str) -> int:
    """Bytes that are free for us on a device, without those that others hold."""
    if device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        # What torch keeps for later is ours to use.
        return free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if device == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()
    return min(_free_here(), _free_in_container(), _free_addresses())


def is_exhausted(error: BaseException) -> bool:
    """Whether an error says that memory ran out."""
    if isinstance(error, Exhausted | MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and bool(_EXHAUSTED.search(str(error)))


def give_back() -> None:
    """Return to the system what nothing uses any more."""
    gc.collect()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()
    if sys.platform == "linux":
        # The C library keeps freed memory for later; a model's is worth a walk through it.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def spare_what_stays() -> None:
    """Take what stands while no model is loaded out of the garbage collector's later rounds.

    It is the modules of torch and its kin, which stay anyway: to go through them took longer than
    to let go of a model. To be called after `give_back`, or garbage would stay, too.
    """
    gc.freeze()


def forget_locals(error: BaseException) -> None:
    """Empty the frames that an error came through: half a model may hang there."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        one = one.__cause__ or one.__context__


def in_use(device: str) -> int:
    """Bytes in use on a device; on the processor by this whole process."""
    if device == "cuda":
        return torch.cuda.memory_allocated()
    return torch.mps.current_allocated_memory() if device == "mps" else resident()


def size_of(model: Any) -> int:
    """Bytes of all parameters and buffers of the modules in what was loaded."""
    storages: dict[int, int] = {}
    for module in _modules(model, _DEEP, set()):
        for tensor in (*module.parameters(), *module.buffers()):
            with suppress(RuntimeError, NotImplementedError):
                storage = tensor.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def _modules(value: Any, depth: int, seen: set[int]) -> Iterable[nn.Module]:
    """The modules in an object: itself, or in what it holds."""
    if isinstance(value, nn.Module):
        yield value
        return
    if depth == 0 or id(value) in seen or isinstance(value, str | bytes | int | float | type):
        return
    seen.add(id(value))
    parts: Iterable[Any]
    if isinstance(value, Mapping):
        parts = list(value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    elif isinstance(value, list | tuple):
        parts = value  # pyright: ignore[reportUnknownVariableType]
    else:
        slots = [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
        parts = [*slots, *getattr(value, "__dict__", {}).values()]
    for part in parts:
        yield from _modules(part, depth - 1, seen)


def resident() -> int:
    """Bytes that this process holds in memory (Linux); 0 where nobody says."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _free_here() -> int:
    """The computer's free memory, with what the system gives up at once (file caches)."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            text = Path("/proc/meminfo").read_text(encoding="ascii")
            found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
            if found:
                return int(found[1]) * 1024
    if sys.platform == "win32":
        return _free_on_windows()
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return total // 2  # macOS compresses memory and names no such figure


def _free_on_windows() -> int:
    """From GlobalMemoryStatusEx."""

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "a", "b", "c", "d", "e")),
        )

    status = Status()
    status.length = ctypes.sizeof(status)
    windll: Any = getattr(ctypes, "windll")  # noqa: B009 - it is there on Windows only
    windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.free)


def _free_in_container() -> int:
    """What the control group still gives (version 2); without limit a figure that never binds."""
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        found = re.search(
            r"^inactive_file (\d+)", (folder / "memory.stat").read_text(encoding="ascii"), re.M
        )
        return max(0, limit - used + (int(found[1]) if found else 0))
    return sys.maxsize


def _free_addresses() -> int:
    """What a limit on this process's address space leaves; without limit one that never binds."""
    if sys.platform != "linux":
        return sys.maxsize
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return max(0, soft - pages * os.sysconf("SC_PAGE_SIZE"))
