"""The tool `image_visualizer`: shows an image in a pane of the canvas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.imaging.space.geometry import edge_letters
from app.paths import shipped_table
from app.tools.api import (
    Approval,
    Artifact,
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain, save_png

Table = NDArray[np.uint8]

NO_COLORMAP = ("rgb", "gray", "grey")
"""Names of colour maps that leave the image as it is."""

# Evenly spaced colours of matplotlib's published maps (CC0), linear in between: matplotlib itself
# would be a large dependency for seven tables.
_ANCHORS: dict[str, list[int]] = shipped_table("colors", "matplotlib_maps")

COLORMAPS = ("rgb", "gray", *_ANCHORS)
"""Names of colour maps that can be requested; all but "rgb" also reversed, with "_r" appended."""


@lru_cache(maxsize=16)
def colormap_table(name: str) -> Table | None:
    """Return a colour map's RGB colours, uint8 [256, 3], or None if `name` means no colour map.

    Raises:
        KeyError: There is no colour map with that name.
    """
    key = name.strip().lower()
    if key in NO_COLORMAP or not key:
        return None
    base = key.removesuffix("_r")
    if base in NO_COLORMAP[1:]:
        grey = np.arange(256, dtype=np.uint8)
        made = np.stack([grey, grey, grey], axis=1)
    else:
        made = _spread(_ANCHORS[base])
    made = made[::-1].copy() if key.endswith("_r") else made
    made.setflags(write=False)
    return made


def _spread(anchors: Sequence[int]) -> Table:
    points = np.linspace(0, 255, len(anchors))
    levels = np.arange(256)
    channels = [
        np.interp(levels, points, [(anchor >> shift) & 0xFF for anchor in anchors])
        for shift in (16, 8, 0)
    ]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)


_MAX_INCHES = 100.0
_MAX_TITLE = 200
_MAX_DESCRIPTION = 2000


class ImageVisualizerInput(ToolInput):
    """Arguments of `image_visualizer`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")
    title: str | None = Field(default=None, description="Shown above it.")
    description: str | None = Field(default=None, description="Shown below it.")
    figsize: tuple[float, float] | None = Field(
        default=(10, 10), description="Proportions of the pane."
    )
    cmap: str | None = Field(
        default="rgb",
        description=f"Colour map for a grey image: {', '.join(COLORMAPS)}, or one with _r "
        "behind it to reverse it.",
    )


class ImageVisualizerOutput(BaseModel):
    """The path of the image that `image_visualizer` shows."""

    image_path: str


SPEC = ToolSpec(
    name="image_visualizer",
    title="Show image",
    icon="image",
    description=(
        "Shows an image to the user in a pane of the viewer. Use it for pictures that other tools "
        "made, e.g. segmentation_image_path."
    ),
    Input=ImageVisualizerInput,
    Output=ImageVisualizerOutput,
    approval=Approval.READ,
    timeout_s=60.0,
    pack="general",
)


class ImageVisualizer:
    """The tool `image_visualizer`: shows an image in a pane of the canvas."""

    spec = SPEC

    def run(self, args: ImageVisualizerInput, context: ToolContext) -> ToolResult:
        """Return the image as an artifact to show; for errors see `app.tools.api.Tool.run`."""
        figsize = _figsize(args.figsize)
        cmap = args.cmap or "rgb"
        try:
            table = colormap_table(cmap)
        except KeyError:
            raise ToolRetry(
                f"there is no colour map {cmap!r}",
                remedy=f"Use one of: {', '.join(COLORMAPS)}, or one of them with _r.",
            ) from None
        context.progress(0.1, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        context.cancel.check()
        mapped = table is not None and snapshot.display.ndim == 2
        if mapped and table is not None:
            path = save_png(table[snapshot.display], context.out_dir, "view")
            context.images.add_derived(path, snapshot)
        else:
            path = _shown_file(snapshot, context)
        title = (args.title or "").strip()[:_MAX_TITLE]
        description = (args.description or "").strip()[:_MAX_DESCRIPTION]
        metadata = {
            "title": title or None,
            "description": description or None,
            "figsize": list(figsize),
            "cmap": cmap,
            "note": None if mapped or table is None else "a colour image stays as it is",
            "status": "completed",
        }
        shown = Artifact(
            path=path,
            role="show",
            title=_quoted(title) or "Image",
            description=_quoted(description),
            source=snapshot.ref if _same_matrix(snapshot) and not _stands_alone(snapshot) else None,
            options={
                "figsize": list(figsize),
                "cmap": cmap,
                "sides": list(edge_letters(snapshot.frame.orientation)),
            },
        )
        return ToolResult(
            summary=f"Showing {title!r}." if title else "Showing the image.",
            output={"image_path": str(path)},
            metadata=plain(metadata),
            artifacts=(shown,),
        )


def _quoted(words: str) -> str:
    """Return a caller's words so that nobody takes them for the program's; "" for none."""
    return f"Assistant: \u201c{words}\u201d" if words else ""


def _shown_file(snapshot: ImageSnapshot, context: ToolContext) -> Path:
    """Return the picture itself if this run made it, else a PNG of what the viewer shows."""
    if snapshot.derived:
        return snapshot.path
    path = save_png(snapshot.display, context.out_dir, "view")
    context.images.add_derived(path, snapshot)
    return path


def _same_matrix(snapshot: ImageSnapshot) -> bool:
    return snapshot.display.shape[:2] == (snapshot.frame.rows, snapshot.frame.columns)


def _stands_alone(snapshot: ImageSnapshot) -> bool:
    """Return True for a picture without a source image, e.g. drawn by a model."""
    return snapshot.derived and snapshot.instance.path == snapshot.path


def _figsize(asked: tuple[float, float] | None) -> tuple[float, float]:
    size = asked or (10.0, 10.0)
    if not all(math.isfinite(side) and 0 < side <= _MAX_INCHES for side in size):
        raise ToolRetry(f"figsize must be two numbers above 0 and up to {_MAX_INCHES:g}")
    return size
