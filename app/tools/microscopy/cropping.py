"""Cuts objects out of an image by their mask (model process only)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import tifffile
from numpy.typing import NDArray
from scipy import ndimage
from skimage import measure

from app.tools.api import ToolRetry

AT_BORDER, TOO_SMALL = "touch the border", "smaller than the least area"
_BIG = 3 * 1024**3
_CHECKED = 4096  # rows and columns that are looked at, for the sake of memory
_MOST_PIECES = 2
"""Separate areas of one number, in the mean, up to which an image counts as a mask."""


@dataclass(frozen=True, slots=True)
class Crop:
    """One object: its number, its box (x1, y1 left out; may lie outside with "pad"), its pixels."""

    label: int
    box: tuple[int, int, int, int]
    area: int
    centroid: tuple[float, float]
    pixels: NDArray[Any]
    mask: NDArray[np.uint8]


def crops(
    pixels: NDArray[Any],
    labels: NDArray[Any],
    *,
    margin: int,
    min_area: int,
    border: str,
    blank: bool,
) -> tuple[list[Crop], dict[str, int]]:
    """Return the objects of an image [rows, columns] or [rows, columns, channels].

    Args:
        pixels: The image; its crops have the same values and type.
        labels: Integers [rows, columns] that number the objects from 1.
        margin: Pixels around an object's box.
        min_area: Objects of fewer pixels are dropped.
        border: For objects that touch the border: "drop" them; "keep" what is there, as of boxes
            whose margin crosses it; "pad" the crop with 0 to its full size.
        blank: Whether pixels outside the object are 0.

    Returns:
        The crops, and how many objects were dropped, by reason.
    """
    dropped = {AT_BORDER: 0, TOO_SMALL: 0}
    made: list[Crop] = []
    rows, columns = labels.shape
    numbers = None
    dense = labels.astype(np.uint8) if labels.dtype.kind == "b" else labels
    if labels.size and int(labels.max()) > labels.size:
        # SciPy makes a list as long as the largest number.
        numbers, places = np.unique(np.maximum(labels, 0), return_inverse=True)
        dense = places.reshape(labels.shape) + (1 if numbers[0] else 0)
        numbers = numbers if numbers[0] else numbers[1:]
    for order, place in enumerate(ndimage.find_objects(dense)):
        if place is None:
            continue
        number = order + 1 if numbers is None else int(numbers[order])
        (top, bottom), (left, right) = ((one.start, one.stop) for one in place)
        inside = labels[place] == number
        area = int(inside.sum())
        if area < min_area:
            dropped[TOO_SMALL] += 1
            continue
        if border == "drop" and (top == 0 or left == 0 or bottom == rows or right == columns):
            dropped[AT_BORDER] += 1
            continue
        down, across = (float(axis.mean()) for axis in np.nonzero(inside))
        box = left - margin, top - margin, right + margin, bottom + margin
        if border != "pad":
            box = max(box[0], 0), max(box[1], 0), min(box[2], columns), min(box[3], rows)
        mask = _cut(labels, box) == number
        grey = _cut(pixels, box)
        if blank:
            grey = np.where(mask if grey.ndim == 2 else mask[..., np.newaxis], grey, 0)
        centroid = (left + across, top + down)
        made.append(
            Crop(number, box, area, centroid, grey.astype(pixels.dtype), mask.astype(np.uint8))
        )
    return made, {why: count for why, count in dropped.items() if count}


def _cut(pixels: NDArray[Any], box: tuple[int, int, int, int]) -> NDArray[Any]:
    """Return the part of an image in a box, with 0 where the box is outside the image."""
    x0, y0, x1, y1 = box
    rows, columns = pixels.shape[:2]
    inner = pixels[max(y0, 0) : min(y1, rows), max(x0, 0) : min(x1, columns)]
    if inner.shape[:2] == (y1 - y0, x1 - x0):
        return inner
    before_after = [(max(-y0, 0), max(y1 - rows, 0)), (max(-x0, 0), max(x1 - columns, 0))]
    return np.pad(inner, [*before_after, *[(0, 0)] * (pixels.ndim - 2)])


def write_pages(path: Path, pages: list[NDArray[Any]]) -> None:
    """Write images as the pages of a TIFF file, uncompressed, each with its own size."""
    part = path.with_name(f"{path.name}.part")
    color = pages[0].ndim == 3 and pages[0].shape[2] == 3 and pages[0].dtype.kind == "u"
    try:
        with tifffile.TiffWriter(part, bigtiff=sum(page.nbytes for page in pages) > _BIG) as tiff:
            for page in pages:
                tiff.write(
                    np.ascontiguousarray(page),
                    photometric="rgb" if color else "minisblack",
                    planarconfig="contig" if page.ndim == 3 else None,
                    contiguous=False,
                    metadata=None,
                )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def entry(payload: Mapping[str, Any], progress: Callable[[float, str], None]) -> dict[str, Any]:
    """Cut the objects out of an image and write them; the host calls this in the model process.

    `payload` has "pixels", "labels" or "labels_file" (a TIFF), the arguments of `crops`, and the
    paths "crops_file" and "masks_file" to write.

    Returns:
        "cells": for each crop its "label", "box", "area" and "centroid"; "dropped".

    Raises:
        ToolRetry: The mask does not fit the image, or is none.
    """
    pixels: NDArray[Any] = payload["pixels"]
    labels = payload.get("labels")
    if labels is None:
        try:
            labels = tifffile.imread(payload["labels_file"], key=0)
        except (OSError, ValueError, tifffile.TiffFileError) as error:
            raise ToolRetry(
                "the mask cannot be read", remedy="Give the mask_path that a segmenter returned."
            ) from error
    check_mask(labels, (pixels.shape[0], pixels.shape[1]))
    progress(0.1, "Cutting out cells")
    found, dropped = crops(
        pixels,
        labels.astype(np.int64) if labels.dtype.kind == "u" and labels.itemsize > 2 else labels,
        margin=int(payload["margin"]),
        min_area=int(payload["min_area"]),
        border=str(payload["border"]),
        blank=bool(payload["blank"]),
    )
    progress(0.6, "Writing cells")
    if found:
        write_pages(Path(payload["crops_file"]), [one.pixels for one in found])
        write_pages(Path(payload["masks_file"]), [one.mask for one in found])
    cells = [
        {"label": c.label, "box": list(c.box), "area": c.area, "centroid": list(c.centroid)}
        for c in found
    ]
    return {"cells": cells, "dropped": dropped}


def origins(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return where masks come from; the host calls this in the model process.

    Returns:
        "origins": for each of payload["files"], its "finding", "image" and "projection" (a path or
        "") as written by `segmentation.save_labels`; {} if the file does not say.
    """
    return {"origins": [_origin(Path(file)) for file in payload["files"]]}


def _origin(path: Path) -> dict[str, str]:
    try:
        with tifffile.TiffFile(path) as tiff:
            told = json.loads(tiff.pages.first.description)
        beside = Path(str(told.get("projection", ""))).name
        return {
            **{key: str(told[key]) for key in ("finding", "image")},
            "projection": str(path.parent / beside) if beside else "",
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, tifffile.TiffFileError):
        return {}


def check_mask(labels: NDArray[Any], shape: tuple[int, int]) -> None:
    """Raise `ToolRetry` if an array is no mask of an image with this (rows, columns)."""
    if labels.ndim != 2 or labels.dtype.kind not in "iub":
        raise ToolRetry(
            "the mask is a picture, not an image whose values number the objects",
            remedy="Give the mask_path that a segmenter returned.",
        )
    if labels.shape != shape:
        raise ToolRetry(
            f"the mask has {labels.shape[1]} x {labels.shape[0]} pixels and the image "
            f"{shape[1]} x {shape[0]}: it is the mask of another image",
            remedy="Give each image with its own mask, in the same order.",
        )
    part = labels[:_CHECKED, :_CHECKED]
    numbers = int(np.count_nonzero(np.unique(part)))
    pieces = int(np.max(cast("Any", measure.label(part, background=0, connectivity=2))))
    if pieces > _MOST_PIECES * max(numbers, 1):
        raise ToolRetry(
            f"the mask has {pieces:,} separate areas but only {numbers:,} numbers, so its values "
            "do not number the objects: it is a picture, or a mask of two values",
            remedy="Give the mask_path that a segmenter returned.",
        )
