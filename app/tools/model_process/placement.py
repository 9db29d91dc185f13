"""Where a model runs and how precisely (torch; model process only)."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Placement:
    """A device and a precision.

    Attributes:
        device: "cuda", "mps" or "cpu".
        dtype: Name of a torch dtype: "float32", "bfloat16" or "float16".
    """

    device: str
    dtype: str

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype itself."""
        return getattr(torch, self.dtype)


def place(wanted: str, *, exact: bool = False) -> Placement:
    """Where a model is run: "auto" takes an accelerator where there is one.

    Args:
        wanted: "auto", "cpu", "cuda" or "mps"; one that is not there becomes the CPU.
        exact: The model needs float32 everywhere (small networks, whose figures are compared).
    """
    if wanted in ("auto", "cuda") and torch.cuda.is_available():
        half = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
        return Placement("cuda", "float32" if exact else half)
    if wanted in ("auto", "mps") and torch.backends.mps.is_available():
        return Placement("mps", "float32" if exact else "float16")
    return Placement("cpu", "float32")


def less_precise(placement: Placement) -> Placement | None:
    """The same device at half the memory; None where it is at that already."""
    if placement.dtype != "float32":
        return None
    if placement.device == "cpu" or (placement.device == "cuda" and torch.cuda.is_bf16_supported()):
        return Placement(placement.device, "bfloat16")
    return Placement(placement.device, "float16")
