"""Strict loading of the weights in a model's folder (torch; model process only).

`load_model` lets transformers load them. transformers fills weights that a folder lacks with random
numbers and only logs it; such a model would still give confident answers, so it is an error here.
`fill_parameters` copies safetensors into modules that our own code builds, for models whose own
program does not run: every parameter must be in the files, and every tensor in them must be used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers.utils import logging

from app.tools.api import ToolFailed
from app.tools.model_process import memory
from app.tools.model_process.memory import Placement
from app.tools.model_process.serving import Work
from app.tools.needs import command

# Problems are found and raised here, so transformers stays silent.
logging.set_verbosity_error()
logging.disable_progress_bar()

FractionCallback = Callable[[float], None]


class OtherLayout(Exception):
    """The error for a model folder whose layout differs from that of the published model."""


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
    """Create the modules in the `with` block on `device`, in `dtype`, without initialising them.

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


@contextmanager
def marked_memory() -> Generator[None]:
    """Let torch fill uninitialised memory in the `with` block with NaN or the largest integer.

    transformers creates a model with uninitialised memory and copies the files' tensors into it.
    Buffers that are in no file (rotary tables, position ids) keep that memory, without any message,
    unless the model's class computes them again. The NaN lets `unset_buffers` find such buffers.
    """
    before = torch.are_deterministic_algorithms_enabled()
    only_warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=only_warned)


def unset_buffers(model: nn.Module) -> list[str]:
    """Return the names of buffers that got no value while `model` was loaded in `marked_memory`."""
    return sorted(name for name, buffer in model.named_buffers() if _is_marked(buffer))


def altered_weights(model: nn.Module, folder: Path) -> list[str]:
    """Return the names of weights whose values in a loaded model differ from those in its files.

    If a buffer of a module is in no file, transformers may initialise the whole module again with
    the model's own code, and so overwrite weights that it has already loaded.
    """
    state = model.state_dict()
    altered = list[str]()
    for path in weight_files(folder):
        with _opened(path) as weights:
            for name in state.keys() & set(weights.keys()):
                if not torch.equal(state[name], weights.get_tensor(name).to(state[name].dtype)):
                    altered.append(name)
    return sorted(altered)


def _is_marked(buffer: torch.Tensor) -> bool:
    if buffer.is_floating_point():
        return bool(buffer.isnan().any())
    mark = True if buffer.dtype == torch.bool else torch.iinfo(buffer.dtype).max
    return buffer.numel() > 0 and bool((buffer == mark).all())


def fill_parameters(
    parts: Mapping[str, nn.Module],
    folder: Path,
    *,
    rename: Callable[[str], str] = lambda name: name,
    tell: FractionCallback = lambda fraction: None,
) -> None:
    """Copy each tensor in a folder's safetensors files into the module that needs it.

    Args:
        parts: Prefix of published weight names -> the module with these weights.
        folder: The model's folder.
        rename: Converts a published name to the current name in transformers.
        tell: Called with the fraction copied so far, 0..1; may raise to stop.

    Raises:
        OtherLayout: Names or shapes in the files differ from those in the modules.
        ToolFailed: A file is missing or damaged.
    """
    wanted = _state(parts)
    files = weight_files(folder)
    missing, strange = set(wanted), list[str]()
    for number, path in enumerate(files):
        with _opened(path) as weights:
            names = list(weights.keys())
            for place, published in enumerate(names, 1):
                name, tensor = rename(published), weights.get_tensor(published)
                target = wanted.get(name)
                if target is None or target.shape != tensor.shape:
                    strange.append(published)
                    continue
                target.copy_(tensor)
                missing.discard(name)
                tell((number + place / len(names)) / len(files))
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
    """Check the weights in payload["weights"]; return {"parameters": their number}.

    Names and shapes in the files' headers are compared with those of the modules that `build`
    returns. `rename` is as for `fill_parameters`.

    Raises:
        ToolFailed: Names or shapes differ, or a file is missing or damaged.
    """
    folder = Path(str(payload["weights"]))
    try:
        parts = _state(build(folder, "meta", torch.float32))
        wanted = {name: list(tensor.shape) for name, tensor in parts.items()}
        found = {
            rename(name): shape
            for path in weight_files(folder)
            for name, shape in tensor_shapes(path).items()
        }
    except OtherLayout as error:
        raise _damaged(folder, str(error)) from error
    if found != wanted:
        odd = [name for name in found | wanted if found.get(name) != wanted.get(name)]
        raise _damaged(folder, f"{len(odd)} tensors do not fit ({', '.join(odd[:3])})")
    return {"parameters": sum(math.prod(shape) for shape in wanted.values())}


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files in model.safetensors.index.json; without it, model.safetensors.

    Raises:
        ToolFailed: One of these files is missing, or the index names none.
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
            raise _damaged(path, "it is missing")
    if not found:
        raise _damaged(index, "it lists no weights")
    return found


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """Return the shape of each tensor in a safetensors file by name, reading only its header.

    Raises:
        ToolFailed: The file is damaged.
    """
    with _opened(path) as weights:
        return {name: list(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    try:
        with safe_open(path, framework="pt", device="cpu") as weights:
            yield weights
    except SafetensorError as error:
        raise _damaged(path, str(error)) from error


def _state(parts: Mapping[str, nn.Module]) -> dict[str, torch.Tensor]:
    """Return the modules' parameters and buffers by their published names."""
    return {
        prefix + name: tensor
        for prefix, module in parts.items()
        for name, tensor in module.state_dict().items()
    }


def _damaged(path: Path, detail: str) -> ToolFailed:
    return ToolFailed(
        "a file of this model is missing or damaged",
        subject=path.name,
        remedy=f"Check it with `{command()} models verify`, then get or install the model again.",
        detail=detail,
    )


_DERIVED = (".position_ids", ".inv_freq", ".relative_position_index", ".relative_coords_table")
"""Endings of tensors that older versions saved although they follow from the configuration."""


def load_model(
    kind: Any,
    path: Path,
    work: Work,
    *,
    config: Any = None,
    key_mapping: Mapping[str, str] | None = None,
    unused: tuple[str, ...] = (),
    dtype: torch.dtype | None = None,
) -> Any:
    """Load the model in a folder onto its device, and check that all its weights were loaded.

    Args:
        kind: The model's class in transformers.
        path: The folder.
        work: Provides the device and the precision.
        config: The model's configuration; None to read it from the folder.
        key_mapping: Regular expressions for weight names in the folder -> names in the class.
        unused: Prefixes of weights that are not needed and may be missing.
        dtype: Data type to use instead of the one in `work.placement`.

    Raises:
        ToolFailed: Weights are missing, unexpected or of the wrong shape; or a file cannot be read.
    """
    work.progress(0.04, "Loading the model")
    options: dict[str, Any] = {} if config is None else {"config": config}
    if key_mapping is not None:
        options["key_mapping"] = dict(key_mapping)
    try:
        with marked_memory():
            model, info = kind.from_pretrained(
                path,
                dtype=dtype or work.placement.torch_dtype,
                local_files_only=True,
                trust_remote_code=False,
                weights_only=True,
                output_loading_info=True,
                **options,
            )
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, SafetensorError) as error:
        if memory.is_exhausted(error):
            raise
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    wrong = _load_problems(info, unused) or ", ".join(unset_buffers(model))
    if wrong:
        raise _broken(path, wrong)
    return model.to(work.placement.device).eval()


_CURRENT_NAMES = (
    (r"^language_model\.lm_head\.", "lm_head."),
    (r"^language_model\.model\.", "model.language_model."),
    (r"^(?:model\.)?vision_tower\.(?:vision_model\.)?", "model.vision_tower."),
    (r"^multi_modal_projector\.", "model.multi_modal_projector."),
)


def current_name(name: str) -> str:
    """Return the name that transformers now gives to a weight of an image-text model."""
    for pattern, now in _CURRENT_NAMES:
        name, count = re.subn(pattern, now, name)
        if count:
            break
    return name


def cpu_work() -> Work:
    """Return a `Work` on the CPU without progress, for loading a model as a check."""
    return Work(Placement("cpu", "float32"), lambda fraction, text: None)


def _load_problems(info: Mapping[str, Any], unused: tuple[str, ...]) -> str:
    """Return a description of the problems that transformers found with the weights, or ""."""
    found: list[str] = []
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        names = [str(item) for item in info.get(what) or ()]
        names = [n for n in names if not n.startswith(unused) and not n.endswith(_DERIVED)]
        if names:
            found.append(f"{what}: {', '.join(sorted(names)[:5])}")
    return "; ".join(found)


def _broken(path: Path, detail: str) -> ToolFailed:
    return ToolFailed(
        "this model's files cannot be loaded: they are damaged, incomplete or of another model",
        subject=path.name,
        remedy=f"Run `{command()} models verify {path.name}`, and install it again.",
        detail=detail[:2000],
    )
