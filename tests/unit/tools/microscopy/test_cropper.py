"""single_cell_cropper: crops are the source's own values, and what is left out is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from app.imaging.findings import Instances
from app.tools.api import ToolFailed, ToolResult, ToolRetry
from app.tools.hosting.host import ProcessHost
from app.tools.microscopy import cropping
from app.tools.microscopy.segmenters import nuclei_segmenter
from app.tools.microscopy.single_cell_cropper import SingleCellCropper
from app.tools.tables import read_table
from tests.support.cell_states import experiment
from tests.unit.tools.support import Bench

ROWS, COLUMNS = 60, 80


def scene(dtype: Any = np.uint16) -> tuple[np.ndarray, np.ndarray]:
    """An image of random values, and a mask: two cells inside, one at the border, one tiny."""
    pixels = np.random.default_rng(3).integers(0, 60_000, (ROWS, COLUMNS)).astype(dtype)
    labels = np.zeros((ROWS, COLUMNS), np.uint16)
    labels[10:20, 12:30] = 1
    labels[15:20, 12:14] = 0  # no rectangle
    labels[30:44, 40:52] = 2
    labels[0:8, 60:70] = 3
    labels[50:52, 20:22] = 7
    return pixels, labels


@pytest.fixture
def ready(bench: Bench, model_process: ProcessHost) -> Bench:
    bench.host = model_process
    return bench


def crop(bench: Bench, pixels: np.ndarray, labels: np.ndarray, **asked: Any) -> ToolResult:
    path = bench.folder / "a.tif"
    tifffile.imwrite(path, pixels, photometric="rgb" if pixels.ndim == 3 else "minisblack")
    bench.open(path)
    mask = bench.out / "mask.tif"
    tifffile.imwrite(mask, labels)
    return bench.run(SingleCellCropper(), image_paths="image-1", mask_paths=str(mask), **asked)


def rows_of(result: ToolResult) -> list[dict[str, Any]]:
    table = read_table(Path(result.output["crops_path"]))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("margin", [0, 5])
def test_crops_are_bit_equal_to_the_source(ready: Bench, dtype: Any, margin: int):
    pixels, labels = scene(dtype)
    if dtype == np.uint8:
        pixels = scene()[0].astype(np.uint8)
    result = crop(ready, pixels, labels, margin=margin)
    rows = rows_of(result)
    assert [row["label"] for row in rows] == [1, 2]
    for row in rows:
        page = tifffile.imread(ready.out / row["crop_file"], key=row["index"])
        source = pixels[row["y0"] : row["y1"], row["x0"] : row["x1"]]
        assert page.dtype == dtype
        np.testing.assert_array_equal(page, source)
        inside = tifffile.imread(ready.out / row["mask_file"], key=row["index"])
        own = labels[row["y0"] : row["y1"], row["x0"] : row["x1"]] == row["label"]
        np.testing.assert_array_equal(inside.astype(bool), own)
        assert row["area_px"] == int((labels == row["label"]).sum())
        assert row["image"] == "a.tif"
    assert (rows[0]["x0"], rows[0]["y0"]) == (12 - margin, 10 - margin)


def test_a_colour_image_keeps_its_channels(ready: Bench):
    pixels = np.random.default_rng(0).integers(0, 255, (ROWS, COLUMNS, 3)).astype(np.uint8)
    result = crop(ready, pixels, scene()[1])
    [first, _] = rows_of(result)
    page = tifffile.imread(ready.out / first["crop_file"], key=0)
    source = pixels[first["y0"] : first["y1"], first["x0"] : first["x1"]]
    np.testing.assert_array_equal(page, source)


def test_channels_are_stacked_and_one_can_be_asked_for(ready: Bench):
    planes = np.random.default_rng(0).integers(0, 60_000, (2, ROWS, COLUMNS)).astype(np.uint16)
    path = ready.folder / "a.ome.tif"
    tifffile.imwrite(path, planes, metadata={"axes": "CYX", "Channel": {"Name": ["DAPI", "GFP"]}})
    ready.open(path)
    mask = ready.out / "mask.tif"
    tifffile.imwrite(mask, scene()[1])
    for channel, expected in ((None, planes.transpose(1, 2, 0)), ("GFP", planes[1])):
        result = ready.run(
            SingleCellCropper(),
            image_paths=["image-1"],
            mask_paths=[str(mask)],
            channel=channel,
        )
        row = rows_of(result)[0]
        page = tifffile.imread(ready.out / row["crop_file"], key=0)
        source = expected[row["y0"] : row["y1"], row["x0"] : row["x1"]]
        np.testing.assert_array_equal(page, source)


def test_what_is_dropped_is_counted_with_its_reason(ready: Bench):
    result = crop(ready, *scene(), min_area=10)
    assert result.output["count"] == 2
    assert result.output["dropped"] == {
        "touch the border": 1,
        "smaller than the least area": 1,
    }
    assert "2 cells cut out of 1 image" in result.summary
    assert "1 touch the border" in result.summary


@pytest.mark.parametrize(("rule", "size"), [("keep", (8 + 6, 10 + 12)), ("pad", (20, 22))])
def test_cells_at_the_border_are_kept_or_padded(ready: Bench, rule: str, size: tuple[int, int]):
    pixels, labels = scene()
    result = crop(ready, pixels, labels, border=rule, margin=6)
    row = next(row for row in rows_of(result) if row["label"] == 3)
    page = tifffile.imread(ready.out / row["crop_file"], key=row["index"])
    assert page.shape == size
    if rule == "pad":
        assert not page[:6].any()
        np.testing.assert_array_equal(page[6:], pixels[0:14, 54:76])
        assert row["y0"] == -6


def test_the_background_can_be_blanked(ready: Bench):
    pixels, labels = scene()
    pixels += 1
    result = crop(ready, pixels, labels, background="blank")
    row = rows_of(result)[0]
    page = tifffile.imread(ready.out / row["crop_file"], key=0)
    assert int((page > 0).sum()) == row["area_px"]


def test_a_mask_of_another_size_is_refused_and_nothing_is_written(ready: Bench):
    pixels, labels = scene()
    with pytest.raises(ToolRetry, match=r"50 x 60 pixels and the image 80 x 60") as error:
        crop(ready, pixels, labels[:, :50])
    assert "own mask" in error.value.remedy
    assert not list(ready.out.glob("crops*"))


def test_a_picture_is_no_mask(ready: Bench):
    with pytest.raises(ToolRetry, match="not an image whose values number"):
        crop(ready, scene()[0], np.zeros((ROWS, COLUMNS, 3), np.uint8))


def test_an_empty_mask_is_a_clear_error(ready: Bench):
    with pytest.raises(ToolFailed, match="no cell is left"):
        crop(ready, scene()[0], np.zeros((ROWS, COLUMNS), np.uint16))


def test_a_file_outside_the_run_is_not_read(ready: Bench):
    pixels, labels = scene()
    crop(ready, pixels, labels)
    elsewhere = ready.folder / "mask.tif"
    tifffile.imwrite(elsewhere, labels)
    with pytest.raises(ToolRetry):
        ready.run(SingleCellCropper(), image_paths=["image-1"], mask_paths=[str(elsewhere)])


def test_an_open_image_can_be_the_mask(ready: Bench):
    pixels, labels = scene()
    for name, values in (("a.tif", pixels), ("b.tif", labels)):
        tifffile.imwrite(ready.folder / name, values)
        ready.open(ready.folder / name)
    result = ready.run(SingleCellCropper(), image_paths=["image-1"], mask_paths=["image-2"])
    assert result.output["count"] == 2


def test_each_image_needs_its_mask(ready: Bench):
    crop(ready, *scene())
    with pytest.raises(ToolRetry, match="2 images and 1 mask"):
        ready.run(
            SingleCellCropper(),
            image_paths=["image-1", "image-1"],
            mask_paths=[str(ready.out / "mask.tif")],
        )


def test_two_images_give_one_table(ready: Bench):
    pixels, labels = scene()
    crop(ready, pixels, labels)
    tifffile.imwrite(ready.folder / "b.tif", pixels[::-1].copy())
    tifffile.imwrite(ready.out / "mask2.tif", labels[::-1].copy())
    ready.open(ready.folder / "b.tif")
    result = ready.run(
        SingleCellCropper(),
        image_paths=["image-1", "image-2"],
        mask_paths=[str(ready.out / "mask.tif"), "mask2.tif"],
    )
    rows = rows_of(result)
    assert [(row["image"], row["label"], row["index"]) for row in rows] == [
        ("a.tif", 1, 0),
        ("a.tif", 2, 1),
        ("b.tif", 1, 0),
        ("b.tif", 2, 1),
    ]
    assert [one["count"] for one in result.output["images"]] == [2, 2]


def test_crops_of_a_segmenter_s_mask_lead_back_to_its_objects(ready: Bench):
    """A click on a point of a plot finds the cell by them."""
    pytest.importorskip("skimage")
    image = experiment(0, side=3, replicates=1)[0]
    tifffile.imwrite(ready.folder / "a.tif", image.pixels)
    ready.open(ready.folder / "a.tif")
    segmented = ready.run(nuclei_segmenter(), image_path="image-1")
    mask = segmented.output["mask_path"]
    result = ready.run(SingleCellCropper(), image_paths="image-1", mask_paths=mask)
    [table] = [one for one in result.artifacts if one.role == "table"]
    [finding] = segmented.findings
    assert table.options["findings"] == {"a.tif": finding.id}
    assert isinstance(finding.geometry, Instances)
    for row in rows_of(result):
        assert row["finding"] == finding.id
        inside = finding.geometry.labels[row["y0"] : row["y1"], row["x0"] : row["x1"]]
        page = tifffile.imread(ready.out / row["mask_file"], key=row["index"])
        np.testing.assert_array_equal(page > 0, inside == row["label"])
    assert len(rows_of(result)) >= 5


def test_masks_find_their_images_in_any_order_and_one_may_be_missing(ready: Bench):
    """The images have the same size: a wrong order would not be seen."""
    pytest.importorskip("skimage")
    images = experiment(0, side=3, replicates=2)[:3]
    masks: list[str] = []
    for number, image in enumerate(images, 1):
        tifffile.imwrite(ready.folder / f"{number}.tif", image.pixels)
        ready.open(ready.folder / f"{number}.tif")
        asked = {"image_path": f"image-{number}"}
        masks.append(ready.run(nuclei_segmenter(), **asked).output["mask_path"])
    names = ["image-1", "image-2", "image-3"]
    run = SingleCellCropper()
    right = rows_of(ready.run(run, image_paths=names, mask_paths=masks))
    turned = rows_of(ready.run(run, image_paths=names, mask_paths=masks[::-1]))
    assert turned == right
    two = rows_of(ready.run(run, image_paths=names, mask_paths=masks[1:]))
    assert two == [
        {**row, "crop_file": other["crop_file"], "mask_file": other["mask_file"]}
        for row, other in zip((r for r in right if r["image"] != "1.tif"), two, strict=True)
    ]
    with pytest.raises(ToolRetry, match="of none of these images"):
        ready.run(run, image_paths=names[:1], mask_paths=masks[1:2])


def test_a_micrograph_and_a_mask_of_two_values_number_no_objects(ready: Bench):
    pixels, labels = scene()
    noise = np.random.default_rng(3).integers(0, 200, labels.shape).astype(np.uint8)
    for wrong in (noise, (labels > 0).astype(np.uint8) * 255):
        with pytest.raises(ToolRetry, match="do not number the objects"):
            crop(ready, pixels, wrong)
    assert not list(ready.out.glob("crops*"))


def test_numbers_of_a_mask_may_be_as_large_as_its_type_allows(ready: Bench):
    pixels, labels = scene()
    far = np.where(labels > 0, np.uint32(2**32 - 1) - labels, 0).astype(np.uint32)
    near = rows_of(crop(ready, pixels, labels))
    found = {
        2**32 - 1 - int(row["label"]): row["area_px"] for row in rows_of(crop(ready, pixels, far))
    }
    assert found == {int(row["label"]): row["area_px"] for row in near}


def test_a_mask_of_true_and_false_with_one_area_is_one_cell():
    mask = np.zeros((20, 30), np.bool_)
    mask[5:12, 8:15] = True
    asked: dict[str, Any] = {"margin": 1, "min_area": 0, "border": "drop", "blank": False}
    (found,), _ = cropping.crops(np.zeros(mask.shape, np.uint8), mask, **asked)
    assert (found.label, found.area, found.box) == (1, 49, (7, 4, 16, 13))
