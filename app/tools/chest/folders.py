"""Strict loading of transformers model folders (torch; model process only).

transformers fills weights that a folder lacks with random numbers and only logs it. Such a model
would still give confident answers, so missing or unexpected weights are an error here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers.utils import logging

from app.tools.api import ToolFailed
from app.tools.model_process import memory
from app.tools.model_process.placement import Placement
from app.tools.model_process.serving import Work
from app.tools.needs import command

# `_load_problems` finds problems and raises errors, so transformers stays silent.
logging.set_verbosity_error()
logging.disable_progress_bar()

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
        path: The model's folder.
        work: Provides the device and the precision.
        config: The model's configuration; None to read it from the folder.
        key_mapping: Patterns of weight names in the folder -> names in the class.
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
    wrong = _load_problems(info, unused)
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
    """Convert an older name of an image-text model's weight to the current name in transformers."""
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
