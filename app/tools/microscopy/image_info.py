"""The tool `image_info`: says what an image file holds, without looking at what it shows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel

from app.tools.api import (
    Approval,
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolSpec,
    takes,
)
from app.tools.microscopy.names import INFO, OTHER_NAMES


class ImageInfoInput(ToolInput):
    """Arguments of `image_info`."""

    image_path: Annotated[str, takes(Resource.IMAGE, "The image id or path.")]


class ImageInfoOutput(BaseModel):
    """What the file holds.

    Attributes:
        channels: Names of its channels, in order; ["grey"] or ["red", "green", "blue"] if it has
            one plane of them.
        bits: Bits of a stored value.
        depths: Number of depths (z).
        times: Number of time points.
        pixel_size_um: Height and width of a pixel in µm; None if the file gives none.
        z_step_um: Distance between depths in µm; None if unknown or if there is one depth.
    """

    rows: int
    columns: int
    channels: list[str]
    bits: int
    depths: int
    times: int
    pixel_size_um: list[float] | None
    z_step_um: float | None


SPEC = ToolSpec(
    name=INFO,
    other_names=OTHER_NAMES[INFO],
    title="Describe the image file",
    icon="info",
    description=(
        "Says what an image file holds: rows and columns, its channels by name, bit depth, number "
        "of depths and time points, and the size of a pixel if the file gives it."
    ),
    Input=ImageInfoInput,
    Output=ImageInfoOutput,
    approval=Approval.READ,
    timeout_s=60.0,
    pack="microscopy",
    phrases=("image info", "which channels"),
)


class ImageInfo:
    """The tool `image_info`."""

    spec = SPEC

    def run(self, args: ImageInfoInput, context: ToolContext) -> ToolResult:
        """Return what the file of the image holds; for errors see `app.tools.api.Tool.run`."""
        snapshot = context.images.resolve(args.image_path)
        output = info_of(snapshot)
        spacing = snapshot.frame.spacing
        return ToolResult(
            info_text(output, spacing.note),
            output.model_dump(),
            {"image_path": args.image_path, "format": snapshot.instance.get("Format") or None},
        )


def info_of(snapshot: ImageSnapshot) -> ImageInfoOutput:
    """Return what the file of an image holds."""
    frame, axes = snapshot.frame, snapshot.instance.axes
    spacing, step = frame.spacing, axes.z_step_mm if axes is not None else None
    sizes = (spacing.row_mm, spacing.column_mm)
    return ImageInfoOutput(
        rows=frame.rows,
        columns=frame.columns,
        channels=list(snapshot.channel_names)
        or (["red", "green", "blue"] if frame.is_color else ["grey"]),
        bits=frame.bits or frame.stored.dtype.itemsize * 8,
        depths=axes.depths if axes is not None else 1,
        times=axes.times if axes is not None else 1,
        pixel_size_um=[round(mm * 1000, 6) for mm in sizes if mm is not None]
        if spacing.known
        else None,
        z_step_um=None if step is None else round(step * 1000, 6),
    )


def info_text(found: ImageInfoOutput, note: str) -> str:
    """Return a sentence on what a file holds; `note` says why its pixel size is unknown, or ""."""
    parts = [f"{found.columns} x {found.rows} pixels (columns x rows), {found.bits} bits"]
    many = len(found.channels)
    parts.append(f"{many} channel{'s' if many > 1 else ''}: {', '.join(found.channels)}")
    counts: dict[str, Any] = {"depths": found.depths, "time points": found.times}
    parts += [f"{count} {what}" for what, count in counts.items() if count > 1]
    if found.pixel_size_um is None:
        parts.append(f"pixel size unknown{f' ({note})' if note else ''}")
    else:
        row, column = found.pixel_size_um
        parts.append(f"a pixel is {row:.4g} x {column:.4g} µm (height x width)")
    if found.z_step_um:
        parts.append(f"{found.z_step_um:.4g} µm between depths")
    return f"{'; '.join(parts)}."
