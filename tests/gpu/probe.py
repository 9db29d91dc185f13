"""What the trials ask of the model process itself (torch)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional

from app.tools.api import Progress
from app.tools.model_process import memory, serving


def limit(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Set the memory that models may take together; "" for what is free."""
    os.environ[memory.LIMIT] = str(payload.get("limit", ""))
    return {}


def used(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes on the accelerator, now and at most since last asked; what is loaded; host memory."""
    del payload
    answer: dict[str, Any] = {**serving.report({}), "now": 0, "most": 0, "name": "processor"}
    answer["tf32"] = torch.backends.cudnn.allow_tf32
    answer["parameters"] = sum(
        parameter.numel()
        for model, _size in serving._cache._models.values()
        for module in memory._modules(model, memory._DEEP, set())
        for parameter in module.parameters()
    )
    if torch.cuda.is_available():
        answer["name"] = torch.cuda.get_device_name()
        answer["now"] = torch.cuda.memory_allocated()
        answer["most"] = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    return answer


def convolution(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The largest error of a convolution by a model that is computed exactly, to its spread.

    It is compared with float64 on the processor.
    """

    def work(given: tuple[torch.Tensor, torch.Tensor], doing: serving.Work) -> dict[str, Any]:
        picture, kernel = (one.to(doing.placement.device, torch.float32) for one in given)
        found, true = functional.conv2d(picture, kernel), functional.conv2d(*given)
        return {"error": float((found.cpu().double() - true).abs().max() / true.std())}

    def load(*_: Any) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        picture, kernel = torch.randn(1, 64, 56, 56), torch.randn(64, 64, 3, 3)
        return picture.double(), kernel.double()

    return serving.serve(payload, progress, load=load, work=work, exact=True)
