"""RoentGen, which generates chest radiographs from a description (torch; model process only).

A Stable Diffusion pipeline (Chambon et al., "RoentGen", arXiv 2211.12737) from a local folder in
diffusers' layout. Everything between prompt and pixels is the pipeline's own, including its safety
checker if the folder has one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import StableDiffusionPipeline
from diffusers.utils import logging as diffusers_logging
from numpy.typing import NDArray
from transformers.utils import logging as transformers_logging

from app.tools.api import Progress, ToolFailed
from app.tools.model_process import memory
from app.tools.model_process.serving import Work, serve
from app.tools.needs import command

_LIBRARIES = frozenset({"diffusers", "transformers", "stable_diffusion"})
_FIRST, _LAST = 0.1, 0.92  # progress before the first and after the last step


def load(path: Path, work: Work) -> Any:
    """Load the Stable Diffusion pipeline in a folder, on the device and in the precision of `work`.

    Raises:
        ToolFailed: The folder is damaged, or is not such a pipeline.
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
        if memory.is_exhausted(error):
            raise
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(work.placement.device)


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Generate one image.

    `payload` has "model" and "device" for `serve`; "prompt"; "height" and "width" in pixels
    (multiples of 8); "steps"; "guidance"; "seed" 0..2**63-1.

    Returns:
        "pixels" uint8 [height, width, 3]; "cut", the end of the prompt if it was too long for the
        model, otherwise ""; "refused", True if the safety checker blacked the image out; and
        "device", "dtype" and "notes" of `serve`.
    """

    def work(pipeline: Any, doing: Work) -> dict[str, Any]:
        return _draw(pipeline, payload, doing)

    # The authors use float32, so `exact` is set; less precision is used only if memory runs out.
    return serve(payload, progress, load=load, work=work, exact=True)


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Raise `ToolFailed` unless payload["weights"] is the folder of a Stable Diffusion pipeline.

    Its model_index.json must name that pipeline, and only the usual packages for the parts.
    """
    _check_index(Path(payload["weights"]))
    return {}


def _draw(pipeline: Any, payload: dict[str, Any], work: Work) -> dict[str, Any]:
    steps = int(payload["steps"])

    def report_step(_: Any, step: int, __: Any, given: dict[str, Any]) -> dict[str, Any]:
        share = min(1.0, (step + 1) / max(1, pipeline.num_timesteps))
        work.progress(_FIRST + (_LAST - _FIRST) * share, f"Step {min(step + 1, steps)} of {steps}")
        return given

    work.progress(_FIRST, "Reading the description")
    cut = _unread_prompt(pipeline, payload["prompt"])
    with torch.inference_mode():
        made = pipeline(
            payload["prompt"],
            height=int(payload["height"]),
            width=int(payload["width"]),
            num_inference_steps=steps,
            guidance_scale=float(payload["guidance"]),
            # Noise from the CPU, so that a seed gives the same image on all devices.
            generator=torch.Generator("cpu").manual_seed(int(payload["seed"])),
            output_type="np",
            callback_on_step_end=report_step,
        )
    work.progress(0.98, "Image decoded")
    flagged: list[bool] | None = made.nsfw_content_detected
    return {
        "pixels": _to_uint8(made.images[0]),
        "cut": cut,
        "refused": bool(flagged and flagged[0]),
    }


def _to_uint8(image: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return an image in 0..1 as uint8 0..255, rounded as in diffusers; NaN becomes 0."""
    values = np.nan_to_num(image.astype(np.float64), nan=0.0)
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)


def _unread_prompt(pipeline: Any, prompt: str) -> str:
    """Return the end of a prompt that is too long for the text encoder, or ""."""
    tokenizer = pipeline.tokenizer
    most = int(tokenizer.model_max_length)
    tokens: list[int] = tokenizer(prompt, truncation=False, verbose=False).input_ids
    if len(tokens) <= most:
        return ""
    return str(tokenizer.decode(tokens[most - 1 : -1])).strip()


def _check_index(path: Path) -> None:
    """Refuse a folder whose parts would be loaded by other packages than the usual ones.

    `model_index.json` names a Python module and a class for each part, which diffusers imports.

    Raises:
        ToolFailed: The folder has no valid index, or the index names another package.
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
        "this folder contains no Stable Diffusion pipeline that can be loaded",
        subject=path.name,
        remedy="It must be as diffusers saves one (model_index.json, text_encoder, tokenizer, "
        "unet, vae, scheduler). Install it again with "
        f"`{command()} models install PATH --name roentgen`.",
        detail=detail[:2000],
    )
