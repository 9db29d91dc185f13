"""What the trials ask of the model process itself (torch)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch

from app.tools.model_process import memory, serving


def limit(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Set the memory that models may take together; "" for what is free."""
    os.environ[memory.LIMIT] = str(payload.get("limit", ""))
    return {}


def used(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes on the accelerator now and at most since last asked; what is loaded; host memory."""
    del payload
    answer: dict[str, Any] = {**serving.report({}), "now": 0, "most": 0, "name": "processor"}
    if torch.cuda.is_available():
        answer["name"] = torch.cuda.get_device_name()
        answer["now"] = torch.cuda.memory_allocated()
        answer["most"] = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    return answer
