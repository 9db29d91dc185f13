"""Segmentation without weights on images that others outlined; figures by the bench's own code."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile

from tests.bench import bench_segmentation as bench
from tests.unit.tools.microscopy.pictures import f1


def test_nuclei_in_fluorescence():
    folder = bench.need("nuclei")
    truth = tifffile.imread(folder / "mask2d.tif")
    found, _, _ = bench.segment(bench.read(folder / "img2d.tif"), "nuclei")
    assert f1(truth, found) >= 0.9


def test_crowded_nuclei_in_slices_of_a_stack():
    folder = bench.need("nuclei")
    stack, truth = (tifffile.imread(folder / f"{name}3d.tif") for name in ("img", "mask"))
    scores = [
        f1(truth[z], bench.segment(stack[z], "nuclei", "fluorescence")[0]) for z in range(2, 31, 4)
    ]
    assert np.mean(scores) >= 0.65


def test_bacteria_in_phase_contrast():
    scores = [
        f1(truth, bench.segment(pixels, "cells")[0])
        for _, pixels, truth in bench.bacteria(bench.need("bacteria"))
    ]
    assert len(scores) == 4
    assert np.mean(scores) >= 0.75


@pytest.mark.slow
def test_red_cells_of_ten_smears():
    """Short of the 10% that was aimed at: docs/microscopy.md says why, and by how much."""
    errors: list[float] = []
    hits = boxed = 0
    for place, (_, pixels, boxes) in enumerate(bench.smears(bench.need("blood"))):
        if place % 4:
            continue
        found, _, _ = bench.segment(pixels, "cells")
        errors.append(abs(int(found.max()) - len(boxes)) / len(boxes))
        hits += bench.boxes_found(found, boxes)
        boxed += len(boxes)
    assert len(errors) == 10
    assert np.mean(errors) < 0.25
    assert hits / boxed > 0.6


def test_nuclei_in_tissue():
    pixels = bench.read(bench.need("nuclei") / "histo.jpg")
    found, answer, _ = bench.segment(pixels, "nuclei")
    assert 250 < found.max() < 380  # nobody outlined them; by eye some 300
    # Nuclei absorb more red than what is around them.
    assert np.median(answer["columns"]["mean_red"]) < np.median(pixels[found == 0, 0]) - 40
