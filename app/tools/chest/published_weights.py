"""Load published safetensors into our own modules, tensor by tensor (torch; model process only).

This is for checkpoints whose own program cannot run here. Every parameter must be in the files,
and every tensor in the files must be used; the program in the model's folder is not run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from app.tools.api import ToolFailed
from app.tools.needs import command

FractionCallback = Callable[[float], None]


class OtherLayout(Exception):
    """The layout of a model's folder differs from that of the published model."""


def read_config(folder: Path, name: str = "config.json") -> dict[str, Any]:
    """Return the JSON object in a file of a model's folder.

    Raises:
        ToolFailed: The file is missing or does not contain a JSON object.
    """
    path = folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, dict):
        raise _damaged(path, "no JSON object")
    return found


@contextmanager
def uninitialised_modules(device: str, dtype: torch.dtype) -> Generator[None]:
    """Inside this context, create modules on `device` in `dtype` with uninitialised parameters.

    Unlike torch's "meta" device, this computes the buffers that are in no file (rotary angles,
    position numbers).
    """
    from transformers.initialization import no_init_weights

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with no_init_weights(), torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def fill_parameters(
    parts: Mapping[str, nn.Module],
    folder: Path,
    *,
    rename: Callable[[str], str] = lambda name: name,
    tell: FractionCallback = lambda fraction: None,
) -> None:
    """Copy each tensor in a folder's safetensors files into the module for its prefix.

    Args:
        parts: Prefix of published weight names -> module whose parameters have the rest of the
            name.
        folder: The model's folder.
        rename: Converts a published name to the current name in transformers.
        tell: Called with the fraction copied so far, 0..1; may raise to stop.

    Raises:
        OtherLayout: Names or shapes in the files differ from those in the modules.
        ToolFailed: A file is missing or damaged.
    """
    wanted = {
        prefix + name: tensor
        for prefix, module in parts.items()
        for name, tensor in module.state_dict().items()
    }
    files = weight_files(folder)
    missing, strange = set(wanted), list[str]()
    for number, path in enumerate(files):
        for fraction, published, tensor in _tensors(path):
            name = rename(published)
            target = wanted.get(name)
            if target is None or target.shape != tensor.shape:
                strange.append(published)
                continue
            target.copy_(tensor)
            missing.discard(name)
            tell((number + fraction) / len(files))
    if missing or strange:
        raise OtherLayout(
            f"{len(missing)} tensors missing ({', '.join(sorted(missing)[:3])}), "
            f"{len(strange)} unknown ({', '.join(strange[:3])})"
        )


def check_weights(
    payload: Mapping[str, Any],
    build: Callable[[Path, str, torch.dtype], dict[str, nn.Module]],
    rename: Callable[[str], str] = lambda name: name,
) -> dict[str, Any]:
    """Check the names and shapes of the weights in a folder, by reading only the files' headers.

    Args:
        payload: Contains the model's folder as "weights".
        build: Creates the modules by prefix, as the argument `parts` of `fill_parameters`.
        rename: As for `fill_parameters`.

    Returns:
        "parameters", the number of parameters.

    Raises:
        ToolFailed: Names or shapes differ, or a file is missing or damaged.
    """
    folder = Path(str(payload["weights"]))
    try:
        parts = build(folder, "meta", torch.float32)
        wanted = {
            prefix + name: list(tensor.shape)
            for prefix, module in parts.items()
            for name, tensor in module.state_dict().items()
        }
        found = {
            rename(name): shape
            for path in weight_files(folder)
            for name, shape in tensor_shapes(path)
        }
    except OtherLayout as error:
        raise _damaged(folder, str(error)) from error
    if found != wanted:
        odd = [name for name in found | wanted if found.get(name) != wanted.get(name)]
        raise _damaged(folder, f"{len(odd)} tensors do not fit ({', '.join(odd[:3])})")
    return {"parameters": sum(math.prod(shape) for shape in wanted.values())}


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files in a folder: those named in its index, if it has one.

    Raises:
        ToolFailed: A file named in the index is missing, or there are no weights.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(read_config(folder, index.name).get("weight_map", {}).values()))
    else:
        names = ["model.safetensors"]
    # The names come from a file, so refuse paths that lead out of the folder.
    found = [folder / str(name) for name in names if Path(str(name)).name == name]
    for path in found:
        if not path.is_file():
            raise _damaged(path, "it is not there")
    if not found:
        raise _damaged(index, "it names no weights")
    return found


def _tensors(path: Path) -> Generator[tuple[float, str, torch.Tensor]]:
    try:
        with safe_open(path, framework="pt", device="cpu") as opened:
            names = list(opened.keys())
            for number, name in enumerate(names):
                yield (number + 1) / len(names), name, opened.get_tensor(name)
    except SafetensorError as error:
        raise _damaged(path, str(error)) from error


def tensor_shapes(path: Path) -> Generator[tuple[str, list[int]]]:
    """Yield the name and shape of each tensor in a safetensors file, reading only its header.

    Raises:
        ToolFailed: The file is damaged.
    """
    try:
        with safe_open(path, framework="pt", device="cpu") as opened:
            for name in opened.keys():  # noqa: SIM118  (no mapping)
                yield name, list(opened.get_slice(name).get_shape())
    except SafetensorError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, detail: str) -> ToolFailed:
    return ToolFailed(
        "a file of this model is missing or damaged",
        subject=path.name,
        remedy=f"Check it with `{command()} models verify`, then get or install the model again.",
        detail=detail,
    )
