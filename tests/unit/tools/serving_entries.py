"""Models of one layer, which the tests of serving load in the model process."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from app.tools.model_process import memory, serving

Payload = dict[str, Any]
Progress = Callable[[float, str], None]

_loads: list[str] = []
_tries: list[str] = []


class Layer:
    """What a pack's load may return: no module itself, but something that holds one."""

    def __init__(self, size: int, dtype: torch.dtype) -> None:
        self.size = size
        self.itself = self  # as some packages' models: only the garbage collector lets them go
        self.net = nn.utils.skip_init(nn.Linear, size, size, dtype=dtype).eval()
        for parameter in self.net.parameters():
            parameter.data.fill_(0.5)  # written, so that the memory is really taken


def _load(payload: Payload) -> Callable[[Path, serving.Work], Layer]:
    def load(path: Path, doing: serving.Work) -> Layer:
        _loads.append(path.name)
        layer = Layer(int(payload.get("size", 64)), doing.placement.torch_dtype)
        for step in range(int(payload.get("load_steps", 1))):
            doing.progress(0.1 * step, "reading a shard")
            time.sleep(payload.get("load_s", 0.0))
        if payload.get("replaced"):  # what another program does in the middle
            Path(payload["replaced"]).replace(path)
        if payload.get("removed"):
            path.unlink()
        if payload.get("load_fails"):
            raise ValueError("a shard is missing")
        return layer

    return load


def run(payload: Payload, progress: Progress) -> Payload:
    """Multiply by a layer; what is in the payload may go wrong on the way."""
    before = len(_loads)
    _tries.clear()
    os.environ[memory.LIMIT] = str(payload.get("limit", ""))

    def work(layer: Layer, doing: serving.Work) -> Payload:
        _tries.append(doing.placement.dtype)
        others = len(serving.report({})["models"]) - 1
        if others > payload.get("fits_others", 99):
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
        if payload.get("fits_share") and doing.share > payload["fits_share"]:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        if payload.get("fits_dtype") and doing.placement.dtype != payload["fits_dtype"]:
            raise MemoryError
        with torch.inference_mode():
            batch = torch.ones(4, layer.size, dtype=doing.placement.torch_dtype)
            answer = layer.net(batch)
        for step in range(int(payload.get("steps", 0))):
            doing.progress(0.2 + 0.8 * step / payload["steps"], f"step {step}")
            time.sleep(0.02)
        return {"shape": list(answer.shape), "loads": len(_loads) - before, "tries": _tries}

    return serving.serve(
        payload, progress, load=_load(payload), work=work, exact=bool(payload.get("exact"))
    )


def cycles(payload: Payload, progress: Progress) -> Payload:
    """Load and unload a model again and again; memory that the process holds after each."""
    held: list[int] = []
    for _ in range(payload["count"]):
        run(payload, progress)
        serving.unload({}, progress)
        held.append(memory.resident_bytes())
    return {"held": held, "size": 4 * payload["size"] ** 2}


def looked_at(payload: Payload, progress: Progress) -> Payload:
    """How many objects the garbage collector goes through in a full round."""
    return {"count": len(gc.get_objects())}


def capped(payload: Payload, progress: Progress) -> Payload:
    """Work that needs more than the address space that is left; the cap is lifted afterwards."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + payload["left"], before[1]))
    try:
        return _hungry(payload, progress)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _hungry(payload: Payload, progress: Progress) -> Payload:
    def work(layer: Layer, doing: serving.Work) -> Payload:
        wanted = int(payload["wants"] * (doing.share if payload.get("parts") else 1))
        taken = torch.ones(wanted, dtype=torch.uint8)
        return {"taken": taken.numel()}

    return serving.serve(payload, progress, load=_load(payload), work=work, exact=True)


def hang(payload: Payload, progress: Progress) -> Payload:
    """Loads, and then never says anything again."""

    def work(layer: Layer, doing: serving.Work) -> Payload:
        while True:
            time.sleep(0.5)

    return serving.serve(payload, progress, load=_load(payload), work=work)
