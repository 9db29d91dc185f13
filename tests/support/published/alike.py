"""Weights and pictures that a published program and ours are given alike, and their numbers.

Nothing here depends on the version of torch or transformers: values are drawn by NumPy's frozen
`RandomState`, each tensor's by its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

ROWS, COLUMNS = 90, 70
_MOST = 400  # numbers of an array that are kept


def picture(colour: bool = False, rows: int = ROWS, columns: int = COLUMNS) -> NDArray[np.uint8]:
    """Return a smooth picture with noise: uint8 [rows, columns], or [rows, columns, 3]."""
    down, across = np.mgrid[0:rows, 0:columns]
    waves = np.sin(down / rows * 10) * 40 + np.cos(across / columns * 10) * 40 + 110
    noise = np.random.RandomState(3).uniform(-30, 30, (rows, columns, 3))
    found = np.clip(waves[..., None] + noise, 0, 255).astype(np.uint8)
    return found if colour else np.ascontiguousarray(found[..., 0])


def drawn(name: str, tensor: Tensor) -> Tensor:
    """Return values for a tensor of that name, of a size that neither grows nor vanishes."""
    if not tensor.is_floating_point() or tensor.dim() == 0:
        return tensor
    shape = tuple(tensor.shape)
    values = np.random.RandomState(crc32(name.encode())).standard_normal(shape)
    if len(shape) > 1:
        values /= np.sqrt(np.prod(shape[1:]))
    elif name.endswith("running_var"):
        values = 1 + 0.1 * np.abs(values)
    else:
        values = 0.1 * values + name.endswith("weight")
    return torch.from_numpy(values.astype(np.float32))


def redraw(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state with the values of `drawn`."""
    return {name: drawn(name, tensor) for name, tensor in state.items()}


def redraw_files(folder: Path, begin: tuple[str, str] = ("", "")) -> None:
    """Give all safetensors files in a folder the values of `drawn`.

    Names that begin with `begin[0]` begin with `begin[1]` afterwards.
    """
    for path in sorted(folder.glob("*.safetensors")):
        state = {
            begin[1] + name.removeprefix(begin[0]) if name.startswith(begin[0]) else name: tensor
            for name, tensor in load_file(path).items()
        }
        save_file(redraw(state), path, {"format": "pt"})


def kept(array: Any) -> dict[str, Any]:
    """Return what is kept of an array: its shape, spread, and 400 of its values at most."""
    flat = np.asarray(array).ravel()
    at = np.linspace(0, flat.size - 1, min(flat.size, _MOST)).astype(int)
    if flat.dtype.kind in "biu":
        return {"shape": list(np.shape(array)), "values": [int(flat[place]) for place in at]}
    return {
        "shape": list(np.shape(array)),
        "mean": float(f"{flat.mean():.6g}"),
        "spread": float(f"{flat.std():.6g}"),
        "values": [float(f"{flat[place]:.6g}") for place in at],
    }


def apart(theirs: Mapping[str, Any], ours: Any) -> float:
    """Return the largest difference between what was kept of an array and ours, in its spread.

    Whole numbers are 0.0 apart, or infinitely far. So are arrays of other shapes.
    """
    mine = kept(ours)
    if mine["shape"] != theirs["shape"]:
        return float("inf")
    if "spread" not in theirs:
        return 0.0 if mine["values"] == theirs["values"] else float("inf")
    names = ("mean", "spread")
    first = np.array([*theirs["values"], *(theirs[name] for name in names)])
    second = np.array([*mine["values"], *(mine[name] for name in names)])
    size = theirs["spread"] if len(theirs["values"]) > 1 else abs(theirs["mean"])
    return float(np.abs(first - second).max() / max(size, 1e-9))
