"""A made-up microscopy pack with the seed's chain, and small micrographs for it.

The planner knows none of its tools: whatever it does with them it has from `cells_plan.PLAN`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from app.imaging.reading.image_entries import read_instance
from app.tools.api import Approval, Registrar
from app.tools.images import OpenImage, RunImages
from app.tools.registry import Registry
from tests.support import cells_tools as tools
from tests.support.cells_plan import (
    ANALYZER,
    CAPTIONER,
    CELLS,
    CHAIN,
    CROPPER,
    GENERALIST,
    INFO,
    NUCLEI,
    ORGANOIDS,
    PLAN,
    PREPROCESSOR,
    SEGMENTERS,
    THRESHOLD,
    VISUALIZER,
)
from tests.support.cells_tools import CellsTool
from tests.unit.tools.support import Inline

__all__ = [
    "ANALYZER",
    "CAPTIONER",
    "CELLS",
    "CHAIN",
    "CROPPER",
    "GENERALIST",
    "INFO",
    "NUCLEI",
    "ORGANOIDS",
    "PLAN",
    "PREPROCESSOR",
    "SEGMENTERS",
    "THRESHOLD",
    "VISUALIZER",
    "cells_registry",
    "micrograph",
    "open_pictures",
    "register",
]


def register(registry: Registrar) -> None:
    """Register the pack's tools and its plan."""
    for tool in _tools():
        registry.register(tool)
    registry.plan(PLAN)


def cells_registry() -> Registry:
    """Return a registry with this pack alone."""
    registry = Registry()
    register(registry)
    return registry


def micrograph(path: Path, cells: int = 6, *, grey: bool = False, seed: int = 0) -> Path:
    """Write a picture of 96 x 96 pixels with round cells that do not touch.

    Args:
        path: A .png file.
        cells: How many, up to 16. Every second one is larger and dimmer.
        grey: One channel; else colour, with the nuclei in blue and the bodies in green.
        seed: Of the noise.
    """
    rows, columns = np.mgrid[0:96, 0:96]
    body = np.zeros((96, 96))
    nucleus = np.zeros((96, 96))
    for index in range(cells):
        row, column = 12 + 24 * (index // 4), 12 + 24 * (index % 4)
        distance = np.hypot(rows - row, columns - column)
        body[distance < (9 if index % 2 else 6)] = 150 if index % 2 else 200
        nucleus[distance < 3] = 220
    noise = np.random.default_rng(seed).integers(0, 8, (96, 96))
    if grey:
        pixels = (body + noise).astype(np.uint8)
    else:
        pixels = np.stack([noise, body + noise, nucleus + noise], axis=2).astype(np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def open_pictures(out_dir: Path, *pictures: Path) -> tuple[RunImages, list[dict[str, Any]]]:
    """Return the run's open pictures, the first being the current one, and the notes on them."""
    opened = [
        OpenImage(f"image-{index}", read_instance(path))
        for index, path in enumerate(pictures, start=1)
    ]
    images = RunImages(opened, out_dir, Inline())
    return images, [dict(note) for note in images.notes(remote=False)]


def _tools() -> tuple[CellsTool, ...]:
    return (
        CellsTool(
            PREPROCESSOR,
            "Evens out the background of a micrograph and smooths its noise.",
            tools.PictureInput,
            tools.preprocess,
        ),
        CellsTool(
            CELLS,
            "Outlines each cell of a micrograph and counts them.",
            tools.SegmenterInput,
            tools.segmenter("cells", 20),
        ),
        CellsTool(
            NUCLEI,
            "Outlines each nucleus of a micrograph and counts them.",
            tools.SegmenterInput,
            tools.segmenter("nuclei", 8),
        ),
        CellsTool(
            ORGANOIDS,
            "Outlines each organoid of a micrograph and counts them.",
            tools.SegmenterInput,
            tools.segmenter("organoids", 150),
        ),
        CellsTool(
            THRESHOLD,
            "Outlines whatever is bright in a picture.",
            tools.SegmenterInput,
            tools.segmenter("bright things", 1),
        ),
        CellsTool(
            CROPPER,
            "Cuts out each cell that a segmenter has outlined.",
            tools.CropperInput,
            tools.crop,
        ),
        CellsTool(
            ANALYZER,
            "Groups cut-out cells into states by their form and brightness.",
            tools.AnalyzerInput,
            tools.analyze,
        ),
        CellsTool(
            VISUALIZER,
            "Draws the result of an analysis or of a segmentation.",
            tools.VisualizerInput,
            tools.visualize,
        ),
        CellsTool(
            CAPTIONER,
            "Describes a micrograph in a sentence.",
            tools.PictureInput,
            tools.caption,
        ),
        CellsTool(
            INFO,
            "Lists the channels and the size of a micrograph.",
            tools.PictureInput,
            tools.info,
            Approval.READ,
        ),
        CellsTool(
            GENERALIST,
            "Answers anything without looking.",
            tools.PictureInput,
            tools.guess,
        ),
    )
