"""Choose the device and precision of a model (torch; model process only)."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Placement:
    """The device ("cuda", "mps" or "cpu") and precision (name of a torch dtype) of a model."""

    device: str
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        """The torch dtype."""
        return getattr(torch, self.dtype)


def place(wanted: str, *, exact: bool = False) -> Placement:
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
    """Return the same device with a dtype of half the size; None if it is not float32."""
    if placement.dtype != "float32":
        return None
    if placement.device == "cpu" or (placement.device == "cuda" and torch.cuda.is_bf16_supported()):
        return Placement(placement.device, "bfloat16")
    return Placement(placement.device, "float16")
