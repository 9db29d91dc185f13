"""Functions that the host tests call inside a model process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from app.tools.api import ToolRetry
from app.tools.hosting import protocol
from app.tools.hosting.protocol import OutOfMemory, ProcessorOutOfMemory

Payload = dict[str, Any]
Progress = Callable[[float, str], None]
_held: list[str] = []


def echo(payload: Payload) -> Payload:
    return {"value": payload["value"], "pid": os.getpid()}


def double(payload: Payload) -> Payload:
    return {"pixels": np.asarray(payload["pixels"]) * 2}


def environment(payload: Payload) -> Payload:
    """The variables of these names, as libraries that are imported here read them."""
    return {name: os.environ.get(name) for name in payload["names"]}


def hub_cache(payload: Payload) -> Payload:
    from huggingface_hub import constants

    return {"folder": constants.HF_HUB_CACHE, "offline": constants.HF_HUB_OFFLINE}


def hang(payload: Payload) -> Payload:
    time.sleep(600)
    return {}


def busy(payload: Payload) -> Payload:
    """Never gives the interpreter away for long: nothing but a kill ends it."""
    while True:
        sum(range(10_000_000))


def steps(payload: Payload, progress: Callable[[float, str], None]) -> Payload:
    for step in range(3):
        progress(step / 3, f"step {step}")
    return {"pid": os.getpid()}


def crash(payload: Payload) -> Payload:
    os.abort()


def fail(payload: Payload) -> Payload:
    raise ZeroDivisionError("planted")


def retry(payload: Payload) -> Payload:
    raise ToolRetry("name another organ", remedy="Use Heart.")


def no_torch(payload: Payload) -> Payload:
    raise ModuleNotFoundError("No module named 'torch'", name="torch")


def full_unless_cpu(payload: Payload) -> Payload:
    if payload["device"] != "cpu":
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
    return {"device": payload["device"]}


def too_small_unless_cpu(payload: Payload) -> Payload:
    if payload["device"] != "cpu":
        raise OutOfMemory("the accelerator's memory is too small for this model now")
    return {"device": payload["device"], "notes": ["a note of its own"]}


def too_small_on_the_processor(payload: Payload) -> Payload:
    raise ProcessorOutOfMemory("this computer's memory is too small for this model now")


def loads(payload: Payload, progress: Progress) -> Payload:
    """Tells what a process tells that loads a model and keeps those that it has."""
    _held.append(payload["model"]["name"])
    progress(0.1, protocol.event_text(protocol.LOADING))
    models = [{"model": name, "device": "cpu"} for name in dict.fromkeys(_held)]
    progress(0.2, protocol.event_text(protocol.LOADED, models=models))
    progress(0.3, protocol.event_text(protocol.WORKING))
    progress(0.4, "at work")
    return {"held": _held}


def loses_device(payload: Payload) -> Payload:
    raise RuntimeError("CUDA error: device-side assert triggered")


def threads(payload: Payload) -> Payload:
    import torch

    return {"threads": torch.get_num_threads(), "hub": os.environ.get("HF_HUB_OFFLINE")}
