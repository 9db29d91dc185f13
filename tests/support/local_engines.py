"""Engines for a local model's process with one behaviour each: crash, hang, or serve nothing."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time

from app.agent.llm.local.server_main import EngineFailed, ServerConfig, Serving, Stage

SECRET = "SECRET^PATIENT"


def serving(config: ServerConfig, stage: Stage) -> Serving:
    """Be ready at once; from then on the process prints the model's path endlessly."""
    stage("reading")

    def print_for_ever() -> None:
        while True:
            os.write(1, config.path.encode())
            os.write(2, config.path.encode())
            time.sleep(0.01)

    threading.Thread(target=print_for_ever, daemon=True).start()
    return Serving("http://127.0.0.1:9/v1", 512, False, True, (config.key,))


def aborting(config: ServerConfig, stage: Stage) -> Serving:
    """End the process as native code does after a fault."""
    stage("reading")
    os.abort()


def refusing(config: ServerConfig, stage: Stage) -> Serving:
    """Fail with a reason."""
    os.write(2, f"native code met {config.path}\n".encode())
    raise EngineFailed("it is no model", "Choose another.")


def out_of_memory(config: ServerConfig, stage: Stage) -> Serving:
    """Raise Python's memory error."""
    raise MemoryError


def lacking(config: ServerConfig, stage: Stage) -> Serving:
    """Import a package that is not installed."""
    raise ModuleNotFoundError("No module named 'xllamacpp'", name="xllamacpp")


def hanging(config: ServerConfig, stage: Stage) -> Serving:
    """Load for ever, holding Python's lock as llama.cpp does."""
    stage("reading")
    if sys.platform == "win32":
        ctypes.PyDLL("kernel32").Sleep(3_600_000)
    else:
        ctypes.PyDLL(None).sleep(3600)
    raise AssertionError("an hour has passed")
