"""`image_visualizer`: shows an image in a pane of the canvas."""

from __future__ import annotations

import math
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from app.tools.api import (
    Approval,
    Artifact,
    ImageSnapshot,
    ToolContext,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.files import plain, save_png
from app.tools.general import colormaps

_MAX_INCHES = 100.0
_MAX_TITLE = 200
_MAX_DESCRIPTION = 2000


class ImageVisualizerInput(BaseModel):
    """Arguments of `image_visualizer`."""

    model_config = ConfigDict(extra="forbid")

    image_path: str = Field(description="The image: the app's image id or a path a tool returned.")
    title: str | None = Field(default=None, description="Shown above it.")
    description: str | None = Field(default=None, description="Shown below it.")
    figsize: tuple[float, float] | None = Field(
        default=(10, 10), description="Width and height of the pane, as a proportion."
    )
    cmap: str | None = Field(
        default="rgb",
        description=f"Colour map for a grey image: {', '.join(colormaps.NAMES)}, or one with _r "
        "behind it to reverse it. Colour images stay as they are.",
    )


class ImageVisualizerOutput(BaseModel):
    """Output of `image_visualizer`."""

    image_path: str


SPEC = ToolSpec(
    name="image_visualizer",
    title="Show image",
    icon="image",
    description=(
        "Shows an image to the user in a pane of the viewer, with an optional title, description "
        "and colour map. Use it for pictures that other tools made, e.g. segmentation_image_path."
    ),
    Input=ImageVisualizerInput,
    Output=ImageVisualizerOutput,
    approval=Approval.READ,
    timeout_s=60.0,
    pack="general",
)


class ImageVisualizer:
    """The tool."""

    @property
    def spec(self) -> ToolSpec:
        """What it is."""
        return SPEC

    def run(self, args: ImageVisualizerInput, context: ToolContext) -> ToolResult:
        """Show; see `app.tools.api.Tool.run`."""
        figsize = _figsize(args.figsize)
        cmap = args.cmap or "rgb"
        try:
            table = colormaps.table(cmap)
        except KeyError:
            raise ToolRetry(
                f"there is no colour map {cmap!r}",
                remedy=f"Use one of: {', '.join(colormaps.NAMES)}, or one of them with _r.",
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
            title=title or "Image",
            description=description,
            source=snapshot.ref if _same_matrix(snapshot) and not _stands_alone(snapshot) else None,
            options={"figsize": list(figsize), "cmap": cmap},
        )
        return ToolResult(
            summary=f"Showing {title!r}." if title else "Showing the image.",
            output={"image_path": str(path)},
            metadata=plain(metadata),
            artifacts=(shown,),
        )


def _shown_file(snapshot: ImageSnapshot, context: ToolContext) -> Path:
    """The picture itself when this run made it, else a PNG of what the viewer shows."""
    if snapshot.derived:
        return snapshot.path
    path = save_png(snapshot.display, context.out_dir, "view")
    context.images.add_derived(path, snapshot)
    return path


def _same_matrix(snapshot: ImageSnapshot) -> bool:
    return snapshot.display.shape[:2] == (snapshot.frame.rows, snapshot.frame.columns)


def _stands_alone(snapshot: ImageSnapshot) -> bool:
    """Whether it was made from no open image, e.g. drawn by a model: its own UID names none."""
    return snapshot.derived and snapshot.instance.path == snapshot.path


def _figsize(asked: tuple[float, float] | None) -> tuple[float, float]:
    size = asked or (10.0, 10.0)
    if not all(math.isfinite(side) and 0 < side <= _MAX_INCHES for side in size):
        raise ToolRetry(f"figsize must be two numbers above 0 and up to {_MAX_INCHES:g}")
    return size
