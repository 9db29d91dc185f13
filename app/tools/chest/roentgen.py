"""RoentGen, run in the model process (torch, diffusers): chest radiographs from a description.

A Stable Diffusion pipeline (Chambon et al., "RoentGen", arXiv 2211.12737) from a local folder in
diffusers' layout. Everything between the prompt and the pixels is the pipeline's own, its safety
checker included where the folder has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import (
    StableDiffusionPipeline,
)
from diffusers.utils import logging as diffusers_logging
from numpy.typing import NDArray
from transformers.utils import logging as transformers_logging

from app.tools.api import ToolFailed
from app.tools.model_process.serving import Work, serve
from app.tools.needs import command

Progress = Callable[[float, str], None]

_LIBRARIES = frozenset({"diffusers", "transformers", "stable_diffusion"})
_FIRST, _LAST = 0.1, 0.92  # fractions between which the steps lie


def load(path: Path, work: Work) -> Any:
    """The pipeline of a folder, where and as precise as `work` says.

    Raises:
        ToolFailed: The folder is no Stable Diffusion pipeline, or is damaged.
    """
    _check_index(path)
    diffusers_logging.set_verbosity_error()
    diffusers_logging.disable_progress_bar()
    transformers_logging.disable_progress_bar()
    try:
        pipeline: Any = StableDiffusionPipeline.from_pretrained(
            str(path), dtype=work.placement.torch_dtype, local_files_only=True
        )
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        if _is_memory(error):
            raise
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(work.placement.device)


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """One image.

    Args:
        payload: "model" and "device" (see `serving.serve`); "prompt"; "height", "width" (multiples
            of 8); "steps"; "guidance"; "seed" 0..2**63-1.
        progress: Told after each step; a cancel is raised through it.

    Returns:
        "pixels" uint8 [height, width, 3]; "cut": the part of the prompt that the model did not
        read; "refused": whether its safety checker blacked the image out; and `serve`'s own.
    """

    def work(pipeline: Any, doing: Work) -> dict[str, Any]:
        return _draw(pipeline, payload, doing)

    # Its authors run it in float32; so is the placement unless memory forbids.
    return serve(payload, progress, load=load, work=work, exact=True)


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Look whether a folder can be loaded, without loading its weights."""
    _check_index(Path(payload["weights"]))
    return {}


def _draw(pipeline: Any, payload: dict[str, Any], work: Work) -> dict[str, Any]:
    steps = int(payload["steps"])

    def told(_: Any, step: int, __: Any, given: dict[str, Any]) -> dict[str, Any]:
        share = min(1.0, (step + 1) / max(1, pipeline.num_timesteps))
        work.progress(_FIRST + (_LAST - _FIRST) * share, f"Step {min(step + 1, steps)} of {steps}")
        return given

    work.progress(_FIRST, "Reading the description")
    cut = _cut_off(pipeline, payload["prompt"])
    with torch.inference_mode():
        made = pipeline(
            payload["prompt"],
            height=int(payload["height"]),
            width=int(payload["width"]),
            num_inference_steps=steps,
            guidance_scale=float(payload["guidance"]),
            # On the CPU, so that a seed gives the same image on every device.
            generator=torch.Generator("cpu").manual_seed(int(payload["seed"])),
            output_type="np",
            callback_on_step_end=told,
        )
    work.progress(0.98, "Image decoded")
    flagged: list[bool] | None = made.nsfw_content_detected
    return {"pixels": _bytes(made.images[0]), "cut": cut, "refused": bool(flagged and flagged[0])}


def _bytes(image: NDArray[np.float32]) -> NDArray[np.uint8]:
    """0..1 as 0..255, as diffusers' own conversion to a picture does; not a number is black."""
    values = np.nan_to_num(image.astype(np.float64), nan=0.0)
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)


def _cut_off(pipeline: Any, prompt: str) -> str:
    """What the text encoder does not read of a prompt that is too long for it."""
    tokenizer = pipeline.tokenizer
    most = int(tokenizer.model_max_length)
    tokens: list[int] = tokenizer(prompt, truncation=False, verbose=False).input_ids
    if len(tokens) <= most:
        return ""
    return str(tokenizer.decode(tokens[most - 1 : -1])).strip()


def _check_index(path: Path) -> None:
    """Refuse a folder whose parts are to be loaded by other packages than we know.

    `model_index.json` names a Python module and a class for each part; diffusers imports what it
    finds there.

    Raises:
        ToolFailed: It is no such folder, or names something else.
    """
    try:
        index: Any = json.loads((path / "model_index.json").read_text("utf-8"))
        parts = {
            name: tuple(value)
            for name, value in index.items()
            if not name.startswith("_") and isinstance(value, list)
        }
        kind = str(index["_class_name"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    if kind != "StableDiffusionPipeline":
        raise _broken(path, f"a {kind}, not a StableDiffusionPipeline")
    for name, part in parts.items():
        if len(part) != 2 or part[0] not in {*_LIBRARIES, None}:
            raise _broken(path, f"{name} is to be loaded by {part[:1]}")


def _broken(path: Path, detail: str) -> ToolFailed:
    return ToolFailed(
        "this folder holds no Stable Diffusion pipeline that can be loaded",
        subject=path.name,
        remedy="It must be as diffusers saves one (model_index.json, text_encoder, tokenizer, "
        "unet, vae, scheduler). Install it again with "
        f"`{command()} models install PATH --name roentgen`.",
        detail=detail[:2000],
    )


def _is_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text
