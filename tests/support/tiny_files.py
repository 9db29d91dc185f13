"""Writing of tiny models in the published layout: several weight files and JSON settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from app.tools.model_process.published_weights import uninitialised_modules

_PROGRAMS = Path(__file__).parent / "model_programs"


def randomised(network: Callable[[], dict[str, nn.Module]], *, full: bool) -> dict[str, nn.Module]:
    """Return a network's parts with random values from one seed, with norms near one.

    Args:
        network: Makes the parts by the prefix of their published names.
        full: At full size, in bfloat16, on a GPU where there is one.
    """
    device = "cuda" if full and torch.cuda.is_available() else "cpu"
    with uninitialised_modules(device, torch.bfloat16 if full else torch.float32):
        parts = network()
    randomise(parts.values(), 0.02 if full else 0.05)
    return parts


def randomise(modules: Iterable[nn.Module], spread: float) -> None:
    """Set random values with norms near one."""
    with torch.no_grad():
        for module in modules:
            for name, tensor in module.named_parameters():
                if tensor.dim() == 1 and name.endswith("weight"):
                    tensor.fill_(1.0)
                elif name.endswith("lambda1"):
                    tensor.fill_(0.5)
                else:
                    tensor.normal_(std=spread)


@contextmanager
def in_its_precision(*, full: bool) -> Generator[None]:
    """Create what the block makes in bfloat16 at full size, otherwise in float32."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if full else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def write_parts(
    folder: Path,
    parts: Mapping[str, nn.Module],
    *,
    full: bool = False,
    published: Callable[[str], str] = lambda name: name,
) -> None:
    """Write the parts' weights by their published names, in several files.

    Args:
        folder: The model's.
        parts: By the prefix of their published names.
        full: At full size, with files as large as published ones.
        published: The name of the class -> the name in the files.
    """
    most = 4_000_000_000 if full else 400_000
    shards: list[dict[str, Tensor]] = [{}]
    filled = 0
    for prefix, module in parts.items():
        for name, tensor in module.state_dict().items():
            taken = tensor.numel() * tensor.element_size()
            if shards[-1] and filled + taken > most:
                shards.append({})
                filled = 0
            shards[-1][published(prefix + name)] = tensor
            filled += taken
    write_shards(folder, shards)


def write_shards(folder: Path, shards: Sequence[Mapping[str, Tensor]]) -> None:
    """Write a safetensors file for each shard, and the index."""
    places: dict[str, str] = {}
    total = 0
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        tensors = {name: tensor.contiguous().cpu() for name, tensor in shard.items()}
        save_file(tensors, folder / file, {"format": "pt"})
        places |= dict.fromkeys(shard, file)
        total += sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": places}
    write_json(folder, {"model.safetensors.index.json": index})


def write_json(folder: Path, contents: Mapping[str, Any]) -> None:
    """Write JSON files by name into a folder."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def copy_program(name: str, folder: Path, more: str) -> None:
    """Copy the stand-in for a model's program into its folder, with `more` added to each file."""
    for path in (_PROGRAMS / name).glob("*.py"):
        (folder / path.name).write_text(path.read_text("utf-8") + more, encoding="utf-8")
