"""The tool `chest_xray_generator`: a synthetic chest radiograph from a description."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from pydantic import BaseModel, Field

from app.imaging.files import synthetic
from app.tools.api import Artifact, ToolContext, ToolFailed, ToolInput, ToolResult, ToolSpec
from app.tools.chest.boxes import Corners
from app.tools.chest.image_suitability import COLOUR_SPREAD, grey
from app.tools.chest.model_results import call_model, needs_of, required_model, with_warnings
from app.tools.files import plain, save_png
from app.tools.models.cards import card
from app.tools.models.store import InstalledModel
from app.tools.picture_sources import warning

WORDS = "SYNTHETIC - NOT A PATIENT"
_SHARE = 0.06  # width of a strip, as a share of the picture's shorter side
_LEAST = 20
_GREY = 200


def add_label_strips(picture: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], Corners]:
    """Add strips that say "synthetic" at both sides of a picture, or above and below a tall one.

    Args:
        picture: uint8 [rows, columns]; its pixels are copied unchanged.

    Returns:
        The picture with strips, and the outer edges (x0, y0, x1, y1) of the original picture within
        it, in pixels (pixel centres are integers).
    """
    rows, columns = picture.shape
    wide = max(_LEAST, round(_SHARE * min(rows, columns)))
    if rows > columns:
        strip = _strip(columns, wide)
        whole = np.concatenate([strip, picture, strip])
        return whole, (-0.5, wide - 0.5, columns - 0.5, wide + rows - 0.5)
    strip = _strip(rows, wide)
    whole = np.concatenate([np.rot90(strip), picture, np.rot90(strip, -1)], axis=1)
    return np.ascontiguousarray(whole), (wide - 0.5, -0.5, wide + columns - 0.5, rows - 0.5)


def _strip(length: int, wide: int) -> NDArray[np.uint8]:
    """Return a black strip [wide, length] with the label in the middle, as large as it fits."""
    strip = Image.new("L", (length, wide), 0)
    pen = ImageDraw.Draw(strip)
    size = max(8, round(wide * 0.66))
    font = ImageFont.load_default(size)
    while size > 6 and pen.textlength(WORDS, font) > 0.96 * length:
        size -= 1
        font = ImageFont.load_default(size)
    pen.text((length / 2, wide / 2), WORDS, _GREY, font, "mm")
    return np.asarray(strip)


CARD = "roentgen"
SMALLEST, LARGEST, STEP = 256, 1024, 8
NATIVE = 512
_PACKAGES = ("torch", "diffusers", "transformers")
_ENTRY = "app.tools.chest.roentgen:entry"
_TIMEOUT_S = 3600.0
_MAX_SEED = 2**31 - 1
_COLOURED = 0.02  # share of coloured pixels above which the user is warned


class GeneratorInput(ToolInput):
    """Arguments of `chest_xray_generator`."""

    prompt: str = Field(
        min_length=1,
        max_length=2000,
        description="In the words of a report.",
    )
    height: int = Field(
        default=NATIVE, ge=SMALLEST, le=LARGEST, multiple_of=STEP, description="Rows."
    )
    width: int = Field(
        default=NATIVE, ge=SMALLEST, le=LARGEST, multiple_of=STEP, description="Columns."
    )
    num_inference_steps: int = Field(
        default=75, ge=1, le=200, description="Steps of denoising: more are slower and finer."
    )
    guidance_scale: float = Field(
        default=4.0, ge=1.0, le=30.0, description="How closely it follows the words."
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=_MAX_SEED,
        description="To get the same image again; by chance when left out, and told.",
    )


class GeneratorOutput(BaseModel):
    """The path of the synthetic picture that `chest_xray_generator` made."""

    image_path: str


SPEC = ToolSpec(
    name="chest_xray_generator",
    title="Draw a synthetic radiograph",
    icon="sparkles",
    description=(
        "Makes a synthetic chest radiograph from a description (RoentGen, a diffusion model) and "
        "shows it in a pane of its own. The image is of no patient and proves nothing about one: "
        "it is marked as synthetic on the screen, in its pixels and in its file, and so is every "
        "result on it. For teaching and tests. Takes minutes without a GPU. Needs installed "
        "weights."
    ),
    Input=GeneratorInput,
    Output=GeneratorOutput,
    needs=needs_of(CARD, _PACKAGES),
    timeout_s=_TIMEOUT_S + 60,
    pack="chest",
    sequential=True,
)


class ChestXRayGenerator:
    """The tool `chest_xray_generator`: makes a synthetic chest radiograph from a description."""

    spec = SPEC

    def run(self, args: GeneratorInput, context: ToolContext) -> ToolResult:
        """Make a picture from the description in `args`; see `app.tools.api.Tool.run`."""
        context.progress(0.01, "Looking for the model")
        model = required_model(CARD, "The image generator", _PACKAGES, context)
        seed = secrets.randbelow(_MAX_SEED) if args.seed is None else args.seed
        payload = {
            "prompt": args.prompt.strip(),
            "height": args.height,
            "width": args.width,
            "steps": args.num_inference_steps,
            "guidance": args.guidance_scale,
            "seed": seed,
        }
        answer = call_model(_ENTRY, model, payload, context, _TIMEOUT_S)
        context.cancel.check()
        pixels: NDArray[np.uint8] = answer["pixels"]
        _check(answer, pixels)
        return _result(args, context, model, answer, pixels, seed)


def _check(answer: dict[str, Any], pixels: NDArray[np.uint8]) -> None:
    """Refuse an image that the model's safety checker blacked out, or that has one grey only."""
    if answer.get("refused"):
        raise ToolFailed(
            "the model's own safety checker rejected the image and blacked it out",
            remedy="Ask again with another seed or other words.",
        )
    if int(pixels.max()) - int(pixels.min()) < 2:
        raise ToolFailed(
            "the model drew an empty image",
            remedy="Ask again with more steps. If it happens again, its files may be damaged: see "
            "the model panel.",
        )


def _warnings(
    args: GeneratorInput, model: InstalledModel, answer: dict[str, Any], pixels: NDArray[np.uint8]
) -> list[str]:
    texts = [warning([model.card.title]), *model.warnings]
    if answer.get("cut"):
        texts.append(
            f"the description is too long for the model, which did not read: {answer['cut']}"
        )
    if (args.height, args.width) != (NATIVE, NATIVE):
        texts.append(
            f"the model was made for {NATIVE} x {NATIVE}: other sizes repeat or lose parts"
        )
    spread = pixels.max(axis=2).astype(np.int16) - pixels.min(axis=2)
    if float((spread > COLOUR_SPREAD).mean()) > _COLOURED:
        texts.append("the model drew in colour, which no radiograph has: it was made grey")
    return [*texts, *answer.get("notes", ())]


def _result(
    args: GeneratorInput,
    context: ToolContext,
    model: InstalledModel,
    answer: dict[str, Any],
    pixels: NDArray[np.uint8],
    seed: int,
) -> ToolResult:
    whole, inside = add_label_strips(grey(pixels))
    path = save_png(whole, context.out_dir, "generated_xray")
    _mark(path, args, model, seed)
    context.images.add_derived(path, None)
    warnings = _warnings(args, model, answer, pixels)
    metadata = {
        "prompt": args.prompt.strip(),
        "num_inference_steps": args.num_inference_steps,
        "guidance_scale": args.guidance_scale,
        "seed": seed,
        "device": answer.get("device", ""),
        "dtype": answer.get("dtype", ""),
        "image_size": [args.height, args.width],
        "picture_box": list(inside),
        "synthetic": True,
        "model": model.card.title,
        "weights_sha256": model.sha256,
        "note": f"Drawn by a model: it shows no patient. Outside picture_box it says {WORDS!r}.",
        "warnings": warnings,
        "status": "completed",
    }
    shown = Artifact(
        path,
        role="show",
        title="Synthetic image",
        description=f"Drawn by {model.card.title}, seed {seed}. Not a patient.",
        options={"synthetic": True, "model": model.card.title},
    )
    drew = f"Drew a synthetic chest radiograph ({args.width} x {args.height}, seed {seed})."
    return ToolResult(
        summary=with_warnings(drew, warnings),
        output={"image_path": str(path)},
        metadata=plain(metadata),
        artifacts=(shown,),
    )


def _mark(path: Path, args: GeneratorInput, model: InstalledModel, seed: int) -> None:
    """Write the "synthetic" mark with only a digest of the prompt, which may name a patient."""
    more = {
        "Sightline-Prompt-SHA256": hashlib.sha256(args.prompt.strip().encode()).hexdigest(),
        "Sightline-Weights-SHA256": model.sha256,
        "Sightline-Seed": str(seed),
    }
    synthetic.mark(path, card(CARD).title, more)
