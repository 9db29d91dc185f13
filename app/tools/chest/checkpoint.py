"""Reading weights safely: tensors only, whatever the file says (torch; model process only).

Three kinds of file are met: safetensors, a state dict written by `torch.save`, and a whole pickled
module, as torchxrayvision publishes its DenseNets. None of them is unpickled by Python's pickle.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from app.tools.api import ToolFailed
from app.tools.chest import legacy_checkpoint
from app.tools.needs import command

State = dict[str, Tensor]

_LAYERS: tuple[type[nn.Module], ...] = (
    nn.Conv2d,
    nn.BatchNorm2d,
    nn.ReLU,
    nn.MaxPool2d,
    nn.AvgPool2d,
    nn.Linear,
    nn.Sequential,
)


def load_state(path: Path, classes: Iterable[type[nn.Module]] = ()) -> State:
    """The tensors of a weights file by name, on the CPU.

    Args:
        path: A .safetensors file or one that `torch.save` wrote.
        classes: Module classes that a pickled module of this model consists of, besides torch's
            own layers. They are allowed by name; anything else in the file is refused.

    Raises:
        ToolFailed: It is no such file, is damaged, or holds something else than weights.
    """
    try:
        return _without_prefix(_load(path, classes))
    except ToolFailed:
        raise
    except Exception as error:  # torch raises anything from EOFError to RuntimeError here
        raise ToolFailed(
            "this weights file cannot be read: it is damaged or no weights file",
            subject=str(path),
            remedy=f"Get it again and install it with `{command()} models install PATH`.",
            detail=f"{type(error).__name__}: {error}",
        ) from error


def load_into(model: nn.Module, state: State, path: Path) -> None:
    """Put a state into a model; every name and shape must agree.

    Raises:
        ToolFailed: They do not: the file belongs to another model.
    """
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ToolFailed(
            f"these are weights of another model than {type(model).__name__}",
            subject=str(path),
            remedy=f"See `{command()} models list` for the file that is needed.",
            detail=str(error)[:2000],
        ) from error


def _load(path: Path, classes: Iterable[type[nn.Module]]) -> State:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    module = legacy_checkpoint.read_module(path)
    if module is not None:
        return module
    with torch.serialization.safe_globals([*_LAYERS, *classes, set]):
        loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    if isinstance(loaded, nn.Module):
        return _tensors_of(loaded)
    if isinstance(loaded, dict):
        # Where training scripts put the weights beside the optimiser's state.
        for inner in ("state_dict", "model"):
            if isinstance(loaded.get(inner), dict):
                loaded = loaded[inner]
        state = {str(key): value for key, value in loaded.items() if isinstance(value, Tensor)}
        if state:
            return state
    raise ValueError("it holds no weights")


def _tensors_of(module: nn.Module, prefix: str = "") -> State:
    """Parameters and buffers read from the module's own tables: no method of it is called."""
    state: State = {}
    tables: dict[str, Any] = module.__dict__
    for table in ("_parameters", "_buffers"):
        for name, tensor in tables[table].items():
            if isinstance(tensor, Tensor):
                state[prefix + name] = tensor.detach()
    for name, child in tables["_modules"].items():
        if isinstance(child, nn.Module):
            state |= _tensors_of(child, f"{prefix}{name}.")
    return state


def _without_prefix(state: State) -> State:
    """Names as without the `module.` that DataParallel puts before each."""
    if state and all(name.startswith("module.") for name in state):
        return {name.removeprefix("module."): tensor for name, tensor in state.items()}
    return state
