"""Functions that the worker tests call inside a worker process."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from app.errors import FileProblem

Payload = dict[str, Any]


def echo(payload: Payload) -> Payload:
    return payload


def abort(payload: Payload) -> Payload:
    os.abort()


def note_and_abort(payload: Payload) -> Payload:
    with Path(payload["log"]).open("a") as log:
        log.write("once\n")
    os.abort()


def hang(payload: Payload) -> Payload:
    while True:
        time.sleep(1)


def hang_holding_a_large_array(payload: Payload) -> Payload:
    return {"array": np.ones(payload["size"], np.uint8), "bad": object()}


def refuse(payload: Payload) -> Payload:
    raise FileProblem("it is empty", subject="/tmp/a.dcm", remedy="Copy it again.", detail="0 B")


def fail(payload: Payload) -> Payload:
    raise ZeroDivisionError("planted")


class Panic(BaseException):
    """Like the panics of a Rust codec: no Exception."""


def panic(payload: Payload) -> Payload:
    raise Panic


def devour(payload: Payload) -> Payload:
    blocks = [np.ones(2**26, np.uint8) for _ in range(64)]
    return {"count": len(blocks)}


def steps(payload: Payload, progress: Callable[[float, str], None]) -> Payload:
    for step in range(payload["count"]):
        progress(step / payload["count"], f"step {step}")
        time.sleep(payload["pause_s"])
    return {"pid": os.getpid()}


def pid(payload: Payload) -> Payload:
    return {"pid": os.getpid()}


def modules(payload: Payload) -> Payload:
    return {"names": sorted(sys.modules), "nice": os.nice(0) if hasattr(os, "nice") else 0}


def environment(payload: Payload) -> Payload:
    return {"value": os.environ.get(payload["name"], "")}


def note(payload: Payload) -> Payload:
    time.sleep(payload.get("pause_s", 0))
    return {"name": payload["name"], "at": time.monotonic()}


def chatter(payload: Payload) -> Payload:
    print("codec says hello")  # noqa: T201 - what C libraries do
    return {}


def speak(payload: Payload) -> Payload:
    """What a file that took the process over may say: raw bytes on the pipe, some of them late."""
    links = {int(one.name): os.path.realpath(one) for one in Path("/proc/self/fd").iterdir()}
    (pipe,) = (number for number, target in links.items() if "socket:" in target)
    body = str(payload["text"]).encode()
    os.write(pipe, struct.pack("!i", payload.get("length", len(body))) + body)
    while payload.get("drip"):
        os.write(pipe, b" ")
        time.sleep(0.05)
    return hang(payload)


def flood(payload: Payload) -> Payload:
    """An answer of 60 MB that would take two gigabytes."""
    return speak({"text": '{"body": {"id": 0}, "arrays": [' + "[]," * 20_000_000 + "0]}"})
