"""Place models on a device, measure their memory and free it (torch; model process only).

The budget for all loaded models together is SIGHTLINE_MODEL_MEMORY ("8G") if that variable is set.
It is never more than an accelerator's free memory minus a margin for computing, or on the CPU a
fraction of the free memory, since the window, its images and other programs need some too.
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

from app.imaging.processes.memory_limit import memory_bytes, windows_memory

# By default torch rounds the inputs of float32 convolutions to 10 bits (TF32) on NVIDIA's GPUs.
torch.backends.cudnn.allow_tf32 = False

LIMIT = "SIGHTLINE_MODEL_MEMORY"
_SHARE = 0.6
"""Fraction of the computer's free memory that all models together may take."""
_MOST = 0.95
"""Fraction that a single model may take; with more, the system would swap or end programs."""
_MARGIN = 512 * 2**20
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_EXHAUSTED = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad allocation"
    r"|bad_alloc",
    re.IGNORECASE,
)
_DEEP = 4
"""Number of levels of attributes in which a loaded object is searched for torch modules."""


class MemoryExhausted(Exception):
    """The error for a model that, by its card or file size, will not fit into memory."""


def model_budget(device: str, held: int) -> tuple[int, int]:
    """Return (bytes free for one more model, bytes free after unloading all loaded models).

    `held` are the bytes that the loaded models take on the device ("cuda", "mps" or "cpu").
    """
    limit = parse_bytes(os.environ.get(LIMIT, ""))
    free = free_bytes(device)
    if device == "cpu":
        beside, alone = round(_SHARE * (free + held)) - held, round(_MOST * (free + held))
    else:
        beside, alone = free - _MARGIN, free + held - _MARGIN
    if limit is not None:
        beside, alone = min(limit - held, beside), min(limit, alone)
    return max(0, beside), max(0, alone)


def parse_bytes(text: str) -> int | None:
    """Return the number of bytes in "8G", "500M", "1.5GB" or "8000000"; None for other texts."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    return round(float(found[1]) * _UNITS[found[2].upper()]) if found else None


def free_bytes(device: str) -> int:
    """Return the bytes on a device that this process can still allocate."""
    if device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        # Torch reuses what it has reserved.
        return free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if device == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()
    return min(_free_on_computer(), _free_in_container(), _free_addresses())


def is_exhausted(error: BaseException) -> bool:
    """Return True if an error, from torch or Python, says that memory ran out."""
    if isinstance(error, MemoryExhausted | MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and bool(_EXHAUSTED.search(str(error)))


def free_unused() -> None:
    """Collect garbage and give unused memory back to the operating system."""
    gc.collect()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()
    if sys.platform == "linux":
        # The C library keeps freed memory; returning a model's is worth the time.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def freeze_garbage_collector() -> None:
    """Exclude all objects that exist now, such as torch's, from later garbage collections.

    Each collection would check all these objects, which takes longer than unloading a model. Call
    `free_unused` first, because garbage that exists now is never collected.
    """
    gc.freeze()


def clear_traceback(error: BaseException) -> None:
    """Clear local variables in an error's traceback: they may keep part of a model in memory."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        one = one.__cause__ or one.__context__


def in_use(device: str) -> int:
    """Return the bytes that torch uses on a device; for "cpu", the process's resident bytes."""
    if device == "cuda":
        return torch.cuda.memory_allocated()
    return torch.mps.current_allocated_memory() if device == "mps" else resident_bytes()


def size_of(model: Any) -> int:
    """Return the total bytes of parameters and buffers of all torch modules in `model`."""
    storages: dict[int, int] = {}
    for module in _modules(model, _DEEP, set()):
        for tensor in (*module.parameters(), *module.buffers()):
            with suppress(RuntimeError, NotImplementedError):
                storage = tensor.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def _modules(value: Any, depth: int, seen: set[int]) -> Iterable[nn.Module]:
    """Yield the torch modules in an object: itself, or those in its attributes and items."""
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


def resident_bytes() -> int:
    """Return the bytes of resident memory of this process on Linux; 0 on other systems."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _free_on_computer() -> int:
    """Return the computer's free memory, including file caches."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            text = Path("/proc/meminfo").read_text(encoding="ascii")
            found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
            if found:
                return int(found[1]) * 1024
    if sys.platform == "win32":
        return windows_memory()[1]
    return memory_bytes() // 2  # macOS compresses memory and names no such figure


def _free_in_container() -> int:
    """Return what a control group (version 2) leaves; sys.maxsize without a limit."""
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
    """Return what a limit on the address space leaves; sys.maxsize without a limit."""
    if sys.platform != "linux":
        return sys.maxsize
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return max(0, soft - pages * os.sysconf("SC_PAGE_SIZE"))


@dataclass(frozen=True, slots=True)
class Placement:
    """The device ("cuda", "mps" or "cpu") and dtype (a torch dtype's name) that a model uses."""

    device: str
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        """The torch dtype that `dtype` names."""
        return getattr(torch, self.dtype)


def choose_placement(wanted: str, *, exact: bool = False) -> Placement:
    """Return the device and precision to use: the wanted device, or the CPU if it is missing.

    Args:
        wanted: "auto" (an accelerator if there is one), "cpu", "cuda" or "mps".
        exact: Whether to use float32 everywhere (for small networks whose results are compared).
    """
    if wanted in ("auto", "cuda") and torch.cuda.is_available():
        half = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
        return Placement("cuda", "float32" if exact else half)
    if wanted in ("auto", "mps") and torch.backends.mps.is_available():
        return Placement("mps", "float32" if exact else "float16")
    return Placement("cpu", "float32")


def less_precise(placement: Placement) -> Placement | None:
    """Return the placement in 16-bit precision on the same device; None if it is that already."""
    if placement.dtype != "float32":
        return None
    if placement.device == "cpu" or (placement.device == "cuda" and torch.cuda.is_bf16_supported()):
        return Placement(placement.device, "bfloat16")
    return Placement(placement.device, "float16")
