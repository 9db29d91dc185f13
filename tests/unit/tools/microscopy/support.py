"""Synthetic experiments as files, with the masks that a segmenter would have made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tifffile
from scipy import stats

from app.tools.microscopy.single_cell_cropper import SingleCellCropper
from app.tools.tables import Table, read_table, write_table
from tests.support.cell_states import Micrograph
from tests.unit.tools.support import Bench


def opened(bench: Bench, images: list[Micrograph]) -> list[str]:
    """Open the images from folders named by group, and return the masks' paths in the run."""
    masks: list[str] = []
    for number, image in enumerate(images, 1):
        folder = bench.folder / image.group
        folder.mkdir(exist_ok=True)
        path = folder / f"{image.replicate}.tif"
        tifffile.imwrite(path, image.pixels)
        bench.open(path)
        mask = bench.out / f"mask-{number}.tif"
        tifffile.imwrite(mask, image.labels)
        masks.append(str(mask))
    return masks


def grouped(path: Path, images: list[Micrograph]) -> None:
    """Write each image's group and replicate into a table of crops."""
    table = read_table(path)
    known = {f"{image.replicate}.tif": image for image in images}
    columns = table.columns
    rows: list[tuple[object, ...]] = []
    for row in table.rows:
        cells = dict(zip(columns, row, strict=True))
        image = known[str(cells["image"])]
        cells |= {"group": image.group, "replicate": image.replicate}
        rows.append(tuple(cells[name] for name in columns))
    write_table(path, Table(columns, tuple(rows)), "Cropped cells")  # pyright: ignore


def cropped(bench: Bench, images: list[Micrograph]) -> str:
    """Crop an experiment's cells and return the path of their table, with groups."""
    masks = opened(bench, images)
    names = [f"image-{number}" for number in range(1, len(images) + 1)]
    made = bench.run(
        SingleCellCropper(), image_paths=names, mask_paths=masks, border="keep", min_area=1
    )
    path = made.output["crops_path"]
    grouped(Path(path), images)
    return path


def truth(table: Table, images: list[Micrograph]) -> list[str]:
    """Return the true state of each row of a table of cells."""
    known = {f"{image.replicate}.tif": image for image in images}
    return [
        known[str(image)].states[int(str(label)) - 1]
        for image, label in zip(table.column("image"), table.column("label"), strict=True)
    ]


def welch_p(one: Any, other: Any) -> float:
    """Return scipy's p-value of Welch's t test."""
    found: Any = stats.ttest_ind(one, other, equal_var=False)
    return float(found.pvalue)
