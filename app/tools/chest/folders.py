"""Loading a transformers folder whole or not at all (torch; model process only).

transformers fills weights that a folder lacks with random numbers and only logs it. A model so
filled answers with confidence; here that is an error.
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
from app.tools.model_process.placement import Placement
from app.tools.model_process.serving import Work
from app.tools.needs import command

# What they say of a load is judged here (`_wrong`), and told by errors, not on the terminal.
logging.set_verbosity_error()
logging.disable_progress_bar()

_DERIVED = (".position_ids", ".inv_freq", ".relative_position_index", ".relative_coords_table")
"""Ends of names under which older versions wrote what follows from the configuration."""


def loaded_whole(
    kind: Any,
    path: Path,
    work: Work,
    *,
    config: Any = None,
    key_mapping: Mapping[str, str] | None = None,
    unused: tuple[str, ...] = (),
    dtype: torch.dtype | None = None,
) -> Any:
    """A model of a folder at its place, in its precision, ready to run.

    Args:
        kind: The transformers class.
        path: The folder.
        work: Where to, and how precise.
        config: Its configuration; None for the folder's own.
        key_mapping: Patterns of the folder's weight names -> the names of the class.
        unused: Starts of the names of weights that the work does not use: they may be missing.
        dtype: Instead of the precision of its place.

    Raises:
        ToolFailed: Weights are missing, left over or of other shapes; or it cannot be read.
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
        if "memory" in str(error).lower():
            raise
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    wrong = _wrong(info, unused)
    if wrong:
        raise _broken(path, wrong)
    return model.to(work.placement.device).eval()


_MODERN = (
    (r"^language_model\.lm_head\.", "lm_head."),
    (r"^language_model\.model\.", "model.language_model."),
    (r"^(?:model\.)?vision_tower\.(?:vision_model\.)?", "model.vision_tower."),
    (r"^multi_modal_projector\.", "model.multi_modal_projector."),
)


def modern(name: str) -> str:
    """The name that transformers' image and text models give a weight now, from an older one."""
    for pattern, now in _MODERN:
        name, count = re.subn(pattern, now, name)
        if count:
            break
    return name


def unplaced() -> Work:
    """For loading a model on the CPU only to see whether it can be loaded."""
    return Work(Placement("cpu", "float32"), lambda fraction, text: None)


def _wrong(info: Mapping[str, Any], unused: tuple[str, ...]) -> str:
    """What transformers found wrong with the weights, or ""."""
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
