"""image_captioner: what it says was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tifffile

from app.tools.microscopy.image_captioner import ImageCaptioner
from app.tools.tables import table_of, write_table
from tests.unit.tools.support import Bench


@pytest.fixture
def ready(bench: Bench) -> Bench:
    pixels = np.zeros((30, 40), np.uint16)
    path: Path = bench.folder / "a.tif"
    tifffile.imwrite(path, pixels)
    bench.open(path)
    return bench


def test_the_file_is_described_and_the_source_named(ready: Bench):
    result = ready.run(ImageCaptioner(), image_path="image-1")
    assert "40 x 30 pixels" in result.output["caption"]
    assert "16 bits" in result.output["caption"]
    assert result.output["source"] == "measurements, not a look at the picture"
    assert "cell" not in result.output["caption"].lower()


def test_results_are_named_with_their_figures(ready: Bench):
    rows = [
        {"image": image, "label": n, "area_um2": 10.0 * n, "cluster": 1 + n % 2}
        for image in ("a.tif", "b.tif")
        for n in range(1, 6)
    ]
    write_table(ready.out / "cells.csv", table_of(rows), "Cells")
    result = ready.run(ImageCaptioner(), image_path="image-1", table_paths=["cells.csv"])
    caption = result.output["caption"]
    assert "5 objects were found in it." in caption
    assert "Median area 30 µm² (10 to 50)." in caption
    assert "cluster 2: 60%, cluster 1: 40%" in caption
