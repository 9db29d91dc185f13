"""image_preprocessor on generated images with known light, noise and brightness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from app.tools.api import ToolRetry
from app.tools.hosting.host import ProcessHost
from app.tools.microscopy.image_preprocessor import ImagePreprocessor
from app.tools.microscopy.segmenters import nuclei_segmenter
from tests.unit.tools.microscopy.pictures import discs, f1, fluorescence, grid, phase, write_tiff
from tests.unit.tools.support import Bench

TRUTH = discs(grid(20, 36, (200, 240), 1), 9)


def prepare(bench: Bench, host: ProcessHost, *images: np.ndarray, **given: Any) -> Any:
    bench.host = host
    for number, pixels in enumerate(images, 1):
        bench.open(write_tiff(bench.folder / f"{number}.tif", pixels))
    more = [f"image-{number}" for number in range(2, len(images) + 1)]
    return bench.run(ImagePreprocessor(), image_path="image-1", image_paths=more or None, **given)


def made(result: Any) -> list[np.ndarray]:
    return [tifffile.imread(one["image_path"]) for one in result.output["images"]]


def slope(pixels: np.ndarray) -> float:
    """How much the background rises from left to right, by the dark pixels outside objects."""
    outside = np.where(TRUTH == 0, pixels.astype(float), np.nan)
    return abs(float(np.nanmedian(outside[:, -30:]) - np.nanmedian(outside[:, :30])))


@pytest.mark.parametrize("bits", [8, 16])
def test_uneven_light_is_flattened_and_the_bits_are_kept(
    bench: Bench, model_process: ProcessHost, bits: int
):
    uneven = fluorescence(TRUTH, bits=bits, light=0.3)
    result = prepare(bench, model_process, uneven, steps=["illumination"])
    (even,) = made(result)
    assert even.dtype == uneven.dtype
    assert slope(even) < 0.1 * slope(uneven)
    assert "flattened" in result.output["images"][0]["done"][0]


def test_light_that_passes_is_divided_out(bench: Bench, model_process: ProcessHost):
    shade = np.linspace(0.6, 1.3, TRUTH.shape[1])
    uneven = np.clip(phase(TRUTH) * shade, 0, 255).astype(np.uint8)
    result = prepare(bench, model_process, uneven, steps=["illumination"])
    assert slope(made(result)[0]) < 0.15 * slope(uneven)
    assert "divided" in result.output["images"][0]["done"][0]


def test_noise_is_removed_and_edges_stay(bench: Bench, model_process: ProcessHost):
    clean, noisy = fluorescence(TRUTH, noise=0), fluorescence(TRUTH, noise=0.05)
    (quiet,) = made(prepare(bench, model_process, noisy, steps=["denoise"]))

    def error(pixels: np.ndarray) -> float:
        return float(np.sqrt(np.mean((pixels.astype(float) - clean) ** 2)))

    assert error(quiet) < 0.4 * error(noisy)


def test_images_of_a_group_get_the_same_brightness(bench: Bench, model_process: ProcessHost):
    images = [fluorescence(TRUTH, contrast=height, noise=0.01) for height in (0.2, 0.4, 0.5)]
    result = prepare(bench, model_process, *images, steps=["brightness"])
    levels = [np.percentile(pixels, 99) for pixels in made(result)]
    assert np.ptp(levels) < 0.03 * np.mean(levels)
    assert all("gain" in one["done"][0] for one in result.output["images"])
    assert result.summary.startswith("Prepared 3 images")


def test_one_image_keeps_its_brightness_and_a_blank_one_everything(
    bench: Bench, model_process: ProcessHost
):
    blank = np.full((40, 50), 7, np.uint16)
    result = prepare(bench, model_process, blank)
    np.testing.assert_array_equal(made(result)[0], blank)
    assert "every pixel has the same value" in result.summary


def test_the_segmenter_takes_the_prepared_image_at_full_depth(
    bench: Bench, model_process: ProcessHost
):
    result = prepare(bench, model_process, fluorescence(TRUTH, light=0.3, contrast=0.3))
    path = result.output["image_path"]
    counted = bench.run(nuclei_segmenter(), image_path=path)
    found = tifffile.imread(counted.output["mask_path"])
    assert f1(TRUTH, found) >= 0.95
    means = Path(counted.output["table_path"]).read_text().splitlines()[1].split(",")
    assert max(float(value) for value in means[2:-1]) > 255  # stored values of 16 bits
    assert counted.findings[0].image == bench.images.resolve("image-1").ref


def test_a_wrong_channel_is_named(bench: Bench, model_process: ProcessHost):
    with pytest.raises(ToolRetry, match="single one"):
        prepare(bench, model_process, fluorescence(TRUTH), channel=2)
