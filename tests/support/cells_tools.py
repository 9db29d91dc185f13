"""Tools of the made-up microscopy pack, which compute their results on real pixels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict
from scipy import ndimage
from scipy.cluster.vq import kmeans2

from app.tools.api import Approval, Artifact, ToolContext, ToolFailed, ToolResult, ToolSpec
from app.tools.files import save_png

Grey = NDArray[np.float64]
CHANNELS = ("Tubulin", "Actin", "Hoechst")
"""Stains of the red, green and blue channel of a colour picture."""
_SIDE = 16  # rows and columns of a cropped cell


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PictureInput(_Strict):
    """The arguments of a tool for one picture."""

    image_path: str


class SegmenterInput(_Strict):
    """A picture and a colour channel; without a channel the brightest value of all is used."""

    image_path: str
    channel: str = ""


class CropperInput(_Strict):
    """A picture and the labels of the objects to cut out."""

    image_path: str
    mask_path: str


class AnalyzerInput(_Strict):
    """The cropped cells to analyse."""

    crops_path: str


class VisualizerInput(_Strict):
    """Any result of another tool of the pack."""

    data_path: str


class Anything(BaseModel):
    """Output that is not checked."""


Run = Callable[[Any, ToolContext], ToolResult]


class CellsTool:
    """A tool whose `run` is a given function, with a record of its calls.

    Args:
        name: Its name.
        does: A sentence for the user and the model.
        arguments: Type of its arguments.
        run: What it does.
        approval: What it does to the world.
    """

    def __init__(
        self,
        name: str,
        does: str,
        arguments: type[BaseModel],
        run: Run,
        approval: Approval = Approval.COMPUTE,
    ) -> None:
        self.spec = ToolSpec(
            name=name,
            description=does,
            Input=arguments,
            Output=Anything,
            approval=approval,
            timeout_s=30.0,
            pack="cells",
        )
        self.calls: list[Any] = []
        self._run = run

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Record the call and run the function."""
        self.calls.append(args)
        return self._run(args, context)


def preprocess(args: PictureInput, context: ToolContext) -> ToolResult:
    """Subtract the slow background and smooth the noise."""
    snapshot = context.images.resolve(args.image_path)
    pixels = snapshot.display.astype(np.float64)
    sigma = (20.0, 20.0, 0.0)[: pixels.ndim]
    flat = pixels - ndimage.gaussian_filter(pixels, sigma)
    smooth = ndimage.gaussian_filter(flat, tuple(s / 20 for s in sigma))
    low, high = float(smooth.min()), float(smooth.max())
    scaled = (smooth - low) / max(high - low, 1e-9) * 255
    path = save_png(scaled.astype(np.uint8), context.out_dir, "preprocessed")
    context.images.add_derived(path, snapshot)
    return ToolResult("Evened out the background.", {"image_path": str(path)}, {})


def segmenter(what: str, least_px: int) -> Run:
    """Return a tool that outlines bright objects of at least `least_px` pixels."""

    def run(args: SegmenterInput, context: ToolContext) -> ToolResult:
        context.progress(0.2, "Looking for edges")
        pixels = context.images.resolve(args.image_path).display
        grey = _channel(pixels, args.channel)
        labels, count = _bright_things(grey, least_px)
        context.cancel.check()
        path = save_png(labels.astype(np.uint8), context.out_dir, "labels")
        areas = ndimage.sum_labels(labels > 0, labels, range(1, count + 1))
        output = {
            "count": count,
            "mask_path": str(path),
            "mean_area_px": round(float(np.mean(areas)), 1) if count else None,
        }
        return ToolResult(f"Found {count} {what}.", output, {"channel": args.channel})

    return run


def crop(args: CropperInput, context: ToolContext) -> ToolResult:
    """Cut a square around each label and keep its area."""
    grey = _channel(context.images.resolve(args.image_path).display, "")
    labels = _labels(args.mask_path, context)
    boxes = ndimage.find_objects(labels)
    areas = ndimage.sum_labels(labels > 0, labels, range(1, len(boxes) + 1))
    crops = [_square(grey[box]) for box in boxes if box is not None]
    path = context.out_dir / f"crops-{context.call_id}.json"
    cells = [
        {"area": float(area), "pixels": cut.round(2).tolist()}
        for area, cut in zip(areas, crops, strict=True)
    ]
    path.write_text(json.dumps(cells))
    return ToolResult(
        f"Cut out {len(crops)} cells.", {"crops": len(crops), "crops_path": str(path)}, {}
    )


def analyze(args: AnalyzerInput, context: ToolContext) -> ToolResult:
    """Group cells by area, brightness and texture into two states."""
    cells = json.loads(_own(args.crops_path, context).read_text())
    if len(cells) < 2:
        raise ToolFailed("fewer than two cells were cut out", remedy="Choose another picture.")
    features = np.array([[c["area"], np.mean(c["pixels"]), np.std(c["pixels"])] for c in cells])
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    _, states = kmeans2(scaled, 2, minit="++", rng=np.random.default_rng(0))
    sizes = np.bincount(states, minlength=2)
    path = context.out_dir / f"analysis-{context.call_id}.json"
    path.write_text(json.dumps({"points": scaled[:, :2].tolist(), "states": states.tolist()}))
    found = int(np.count_nonzero(sizes))
    return ToolResult(
        f"Found {found} states: {', '.join(f'{n} cells' for n in sizes if n)}.",
        {"states": found, "cells": sizes.tolist(), "analysis_path": str(path)},
        {},
    )


def visualize(args: VisualizerInput, context: ToolContext) -> ToolResult:
    """Draw the states of an analysis, or the labels of a segmentation."""
    path = _own(args.data_path, context)
    if path.suffix == ".json":
        picture = _scatter(json.loads(path.read_text()))
    else:
        labels = np.asarray(Image.open(path), dtype=np.int64)
        picture = ((labels * 47) % 256).astype(np.uint8)
    made = save_png(picture, context.out_dir, "analysis")
    context.images.add_derived(made, None)
    shown = Artifact(made, role="image", title="Analysis")
    return ToolResult("Drew the analysis.", {"picture_path": str(made)}, {}, artifacts=(shown,))


def caption(args: PictureInput, context: ToolContext) -> ToolResult:
    """Return a caption with the brightness and the number of objects."""
    grey = _channel(context.images.resolve(args.image_path).display, "")
    _, count = _bright_things(grey, 4)
    tone = "dark" if grey.mean() < 85 else "grey" if grey.mean() < 170 else "bright"
    text = f"A {tone} field with {count} bright objects."
    return ToolResult(text, {"caption": text}, {})


def info(args: PictureInput, context: ToolContext) -> ToolResult:
    """List the channels of a picture."""
    pixels = context.images.resolve(args.image_path).display
    channels = list(CHANNELS) if pixels.ndim == 3 else ["Grey"]
    output = {"channels": channels, "rows": len(pixels), "columns": len(pixels[0])}
    return ToolResult(f"Channels: {', '.join(channels)}.", output, {})


def guess(args: PictureInput, context: ToolContext) -> ToolResult:
    """Return the result of the excluded tool, which no test may reach."""
    return ToolResult("It may be anything.", {"response": "It may be anything."}, {})


def _channel(pixels: NDArray[np.uint8], name: str) -> Grey:
    """Return one channel as grey; zeros if the picture lacks it."""
    if pixels.ndim == 2:
        known = name in ("", "Grey")
        return pixels.astype(np.float64) if known else np.zeros(pixels.shape)
    if not name:
        return pixels.max(axis=2).astype(np.float64)
    if name not in CHANNELS:
        return np.zeros(pixels.shape[:2])
    return pixels[:, :, CHANNELS.index(name)].astype(np.float64)


def _bright_things(grey: Grey, least_px: int) -> tuple[NDArray[np.int64], int]:
    """Return labels 1..n of the bright objects, and n."""
    middle = (float(grey.min()) + float(grey.max())) / 2
    bright = grey > max(middle, 1.0)
    labels = np.zeros(grey.shape, dtype=np.int64)
    count = int(ndimage.label(bright, output=labels))  # pyright: ignore[reportArgumentType]
    sizes = ndimage.sum_labels(bright, labels, range(1, count + 1))
    kept = [index + 1 for index, size in enumerate(sizes) if size >= least_px]
    renumbered = np.zeros(grey.shape, dtype=np.int64)
    for new, old in enumerate(kept, start=1):
        renumbered[labels == old] = new
    return renumbered, len(kept)


def _square(grey: Grey) -> Grey:
    factors = [_SIDE / length for length in grey.shape]
    return np.asarray(ndimage.zoom(grey, factors, order=1))


def _own(name: str, context: ToolContext) -> Path:
    """Return the path of a file in this run's folder.

    Raises:
        ToolFailed: It lies elsewhere or is not there.
    """
    path = Path(name).resolve()
    if not path.is_relative_to(context.out_dir.resolve()) or not path.is_file():
        raise ToolFailed("that is no file of this run", remedy="Name what another tool returned.")
    return path


def _labels(name: str, context: ToolContext) -> NDArray[np.int64]:
    return np.asarray(Image.open(_own(name, context)), dtype=np.int64)


def _scatter(analysis: dict[str, Any]) -> NDArray[np.uint8]:
    """Return a square with a point for each cell, coloured by its state."""
    canvas = np.full((64, 64, 3), 255, dtype=np.uint8)
    colours = ((200, 40, 40), (40, 80, 200))
    for (x, y), state in zip(analysis["points"], analysis["states"], strict=True):
        column = int(np.clip(32 + 10 * x, 1, 62))
        row = int(np.clip(32 - 10 * y, 1, 62))
        canvas[row - 1 : row + 2, column - 1 : column + 2] = colours[state]
    return canvas
