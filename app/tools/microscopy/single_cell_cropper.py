"""The tool `single_cell_cropper`: cuts each segmented cell out of its image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.tools.api import (
    Artifact,
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain
from app.tools.microscopy.names import CROPPER, OTHER_NAMES
from app.tools.microscopy.run_files import Names, file_stem, image_name, links_of, own_file, plural
from app.tools.microscopy.segmentation import chosen_pixels
from app.tools.tables import Value, table_of, write_table

_TIMEOUT_S = 120.0
_MOST_IMAGES = 500


class CropperInput(ToolInput):
    """Arguments of `single_cell_cropper`."""

    image_paths: Annotated[Names, takes(Resource.IMAGES, "The image or images.", min_length=1)]
    mask_paths: Annotated[
        Names,
        takes(
            Resource.MASK,
            "The mask of each image, in the same order: mask_path from a segmenter.",
            min_length=1,
        ),
    ]
    margin: int = Field(default=4, ge=0, le=500, description="Pixels around each cell.")
    min_area: int = Field(
        default=20, ge=0, le=10_000_000, description="Cells of fewer pixels are dropped."
    )
    border: Literal["drop", "keep", "pad"] = Field(
        default="drop",
        description="Cells that touch the image's border: drop them, keep what is there, or pad "
        "their crops with 0 to full size.",
    )
    background: Literal["keep", "blank"] = Field(
        default="keep", description="Whether what is around a cell stays in its crop or is 0."
    )
    channel: Annotated[
        int | str | None,
        takes(
            Resource.CHANNEL,
            "One channel, by its number from 1 or its name; all channels if left out.",
        ),
    ] = None


class CropperOutput(BaseModel):
    """Where the crops are, and what was dropped."""

    count: int = Field(description="Cells that were cut out.")
    crops_path: str = Field(
        description="CSV: image, label, x0, y0, x1, y1 (pixels, x1 and y1 left out), area_px, "
        "centroid_x, centroid_y, group, replicate, crop_file, mask_file, index (page in both) "
        "and finding (id of the objects in the image)."
    )
    dropped: dict[str, int] = Field(description="Cells that were left out, by reason.")
    images: list[dict[str, Any]] = Field(description="For each image its count and dropped cells.")
    parameters: dict[str, Any]


SPEC = ToolSpec(
    name=CROPPER,
    title="Crop cells",
    icon="square-dashed",
    description=(
        "Cuts each cell that a segmenter has outlined out of its image, at the image's own bit "
        "depth, and returns a table of the crops. Needs the segmenter's mask. Use it before "
        "cell_state_analyzer; counting needs no crops."
    ),
    Input=CropperInput,
    Output=CropperOutput,
    timeout_s=600.0,
    pack="microscopy",
    paths={"mask_paths": "read"},
    other_names=OTHER_NAMES[CROPPER],
    phrases=("single cell crops", "crop cells"),
)


class SingleCellCropper:
    """The tool `single_cell_cropper`."""

    spec = SPEC

    def run(self, args: CropperInput, context: ToolContext) -> ToolResult:
        """Cut out the cells; for errors see `app.tools.api.Tool.run`."""
        names, masks = args.image_paths, args.mask_paths
        if max(len(names), len(masks)) > _MOST_IMAGES:
            raise ToolRetry(f"more than {_MOST_IMAGES} images", remedy="Give fewer at once.")
        pairs = _paired(names, masks, context)
        stem = file_stem("crops", context)
        rows: list[dict[str, Value]] = []
        images: list[dict[str, Any]] = []
        files: list[Artifact] = []
        for place, (name, mask, finding) in enumerate(pairs):
            context.cancel.check()
            context.progress(place / len(pairs), f"Image {place + 1} of {len(pairs)}")
            snapshot = context.images.resolve(name)
            shown = image_name(snapshot)
            if shown in {one["image"] for one in images}:
                shown = f"{shown} ({place + 1})"
            found = self._crop(args, context, name, snapshot, mask, f"{stem}-{place + 1}")
            crop_file, mask_file = f"{stem}-{place + 1}.tif", f"{stem}-{place + 1}-masks.tif"
            rows += [
                _row(shown, snapshot, cell, crop_file, mask_file, index, finding)
                for index, cell in enumerate(found["cells"])
            ]
            images.append(
                {"image": shown, "count": len(found["cells"]), "dropped": found["dropped"]}
            )
            if found["cells"]:
                title = f"Crops of {shown}"
                files.append(Artifact(context.out_dir / crop_file, role="file", title=title))
                title = f"Outlines in the crops of {shown}"
                files.append(Artifact(context.out_dir / mask_file, role="file", title=title))
        dropped: dict[str, int] = {}
        for one in images:
            for why, count in one["dropped"].items():
                dropped[why] = dropped.get(why, 0) + count
        if not rows:
            raise ToolFailed(
                f"no cell is left to cut out: {_dropped_text(dropped) or 'the mask is empty'}",
                remedy="Segment the image again, or lower min_area, or use border 'keep'.",
            )
        path = context.out_dir / f"{stem}.csv"
        cells = table_of(rows, {"area_px": "px"})
        table = write_table(path, cells, "Cropped cells", **links_of(cells))
        output = {
            "count": len(rows),
            "crops_path": str(path),
            "dropped": dropped,
            "images": images,
            "parameters": args.model_dump(exclude={"image_paths", "mask_paths"}),
        }
        return ToolResult(
            summary=_summary(len(rows), len(images), dropped),
            output=plain(output),
            metadata={"status": "completed"},
            artifacts=(table, *files),
        )

    def _crop(
        self,
        args: CropperInput,
        context: ToolContext,
        name: str,
        snapshot: ImageSnapshot,
        mask: str,
        stem: str,
    ) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "pixels": _pixels(args, context, name, snapshot),
            "margin": args.margin,
            "min_area": args.min_area,
            "border": args.border,
            "blank": args.background == "blank",
            "crops_file": str(context.out_dir / f"{stem}.tif"),
            "masks_file": str(context.out_dir / f"{stem}-masks.tif"),
            "device": "cpu",
        }
        file = _mask_file(mask, context)
        if file is not None:
            payload["labels_file"] = str(file)
        else:  # an open image may be a mask
            payload["labels"] = np.asarray(context.images.resolve(mask).frame.stored)
        return context.host.call(
            "app.tools.microscopy.cropping:entry",
            payload,
            cancel=context.cancel,
            timeout_s=_TIMEOUT_S,
        )


def _mask_file(mask: str, context: ToolContext) -> Path | None:
    """Return a mask's file in the run's folder; None if it is none of those."""
    try:
        return own_file(mask, context, "the mask of a segmenter")
    except ToolRetry:
        return None


def _paired(names: list[str], masks: list[str], context: ToolContext) -> list[tuple[str, str, str]]:
    """Return (image, mask, id of the finding with its objects or "") for each image with a mask.

    A mask that says of which image it is goes with that one, whatever the order: for many images
    they come in any. Other masks go with the image at the same place.

    Raises:
        ToolRetry: A mask is of none of the images, or the numbers differ.
    """
    files = [_mask_file(mask, context) for mask in masks]
    origins: list[dict[str, str]] = context.host.call(
        "app.tools.microscopy.cropping:origins",
        {"files": [str(file or "") for file in files], "device": "cpu"},
        cancel=context.cancel,
        timeout_s=_TIMEOUT_S,
    )["origins"]
    if len(names) != len(masks) and not all(origins):
        raise ToolRetry(
            f"{plural(len(names), 'image')} and {plural(len(masks), 'mask')} are given",
            remedy="Give one mask for each image, in the same order.",
        )
    uids = [context.images.resolve(name).ref.sop_instance_uid for name in names]
    pairs: dict[int, tuple[str, str, str]] = {}
    for place, (mask, origin) in enumerate(zip(masks, origins, strict=True)):
        found = place
        if origin:
            free = [n for n, uid in enumerate(uids) if uid == origin["image"] and n not in pairs]
            if not free:
                raise ToolRetry(
                    f"the mask {Path(mask).name} is of none of these images, or of one twice",
                    remedy="Give each image with the mask that a segmenter made of it.",
                )
            found = place if place in free else free[0]
        # Objects found in a projection are cut out of it.
        source = origin.get("projection") or names[found]
        pairs[found] = (source, mask, origin.get("finding", ""))
    return [pairs[place] for place in sorted(pairs)]


def _pixels(
    args: CropperInput, context: ToolContext, name: str, snapshot: ImageSnapshot
) -> NDArray[Any]:
    """Return an image's stored values [rows, columns], or [rows, columns, channels] of several."""
    count = len(snapshot.channel_names)
    one = args.channel is not None or count < 2 or snapshot.frame.is_color
    if one or snapshot.derived:  # what is made in a run has a single channel
        shown, values = chosen_pixels(name, args.channel, context)
        # Segmenters turn these greys around; crops are the file's own.
        negative = shown.frame.photometric == "MONOCHROME1" and not shown.derived
        return np.asarray(shown.frame.stored) if negative else values
    parts = [context.images.resolve(name, channel=number).frame.stored for number in range(count)]
    return np.stack([np.asarray(part) for part in parts], axis=-1)


def _row(
    image: str,
    snapshot: ImageSnapshot,
    cell: dict[str, Any],
    crop_file: str,
    mask_file: str,
    index: int,
    finding: str,
) -> dict[str, Value]:
    x0, y0, x1, y1 = cell["box"]
    return {
        "image": image,
        "label": cell["label"],
        "x0": x0,
        "y0": y0,
        "x1": x1,
        "y1": y1,
        "area_px": cell["area"],
        "centroid_x": round(cell["centroid"][0], 2),
        "centroid_y": round(cell["centroid"][1], 2),
        "group": getattr(snapshot, "group", ""),
        "replicate": getattr(snapshot, "replicate", ""),
        "crop_file": crop_file,
        "mask_file": mask_file,
        "index": index,
        "finding": finding,
    }


def _dropped_text(dropped: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in dropped.items())


def _summary(count: int, images: int, dropped: dict[str, int]) -> str:
    text = f"{plural(count, 'cell')} cut out of {plural(images, 'image')}, at full bit depth."
    if dropped:
        text += f" Left out: {_dropped_text(dropped)}."
    return text
