"""image_visualizer: what is shown, and in which colours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.tools.api import ToolRetry
from app.tools.files import save_png
from app.tools.general.image_visualizer import (
    COLORMAPS,
    NO_COLORMAP,
    ImageVisualizer,
    colormap_table,
)
from tests.unit.tools.support import Bench, gradient, write_dicom


def test_a_picture_made_in_the_run_is_shown_as_it_is(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    made = save_png(np.zeros((40, 30, 3), np.uint8), bench.out, "segmentation")
    bench.images.add_derived(made, bench.images.resolve("image-1"))
    result = bench.run(
        ImageVisualizer(), image_path=str(made), title="Segmentation Overlay", description="Lungs"
    )
    assert result.output == {"image_path": str(made)}
    shown = result.artifacts[0]
    assert (shown.role, shown.path) == ("show", made)
    assert shown.title == "Assistant: \u201cSegmentation Overlay\u201d", "not the program's words"
    assert shown.description == "Assistant: \u201cLungs\u201d"
    assert shown.source == bench.images.resolve("image-1").ref
    assert shown.options == {"figsize": [10, 10], "cmap": "rgb", "sides": [""] * 4}
    assert {
        k: result.metadata[k] for k in ("title", "description", "figsize", "cmap", "status")
    } == {
        "title": "Segmentation Overlay",
        "description": "Lungs",
        "figsize": [10, 10],
        "cmap": "rgb",
        "status": "completed",
    }


def test_a_picture_that_a_model_drew_names_no_image_to_stand_beside(bench: Bench):
    # Its own UID is that of no open image: a pane that waited for it would never be seen.
    drawn = save_png(np.zeros((40, 30), np.uint8), bench.out, "synthetic")
    bench.images.add_derived(drawn, None)
    (shown,) = bench.run(ImageVisualizer(), image_path=str(drawn)).artifacts
    assert shown.path == drawn
    assert shown.source is None


def test_an_open_dicom_is_shown_as_a_picture_of_the_run(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    result = bench.run(ImageVisualizer(), image_path="image-1")
    path = Path(result.output["image_path"])
    assert path.parent == bench.out
    np.testing.assert_array_equal(
        np.asarray(Image.open(path)), bench.images.resolve("image-1").display
    )


@pytest.mark.parametrize("name", [n for n in COLORMAPS if n not in NO_COLORMAP])
def test_a_colour_map_runs_from_dark_to_bright_and_back_when_reversed(name: str):
    table, reverse = colormap_table(name), colormap_table(f"{name}_r")
    assert table is not None
    assert reverse is not None
    assert table.shape == (256, 3)
    np.testing.assert_array_equal(table[::-1], reverse)


def test_viridis_is_viridis():
    # Values that matplotlib documents for its map's ends and middle.
    table = colormap_table("viridis")
    assert table is not None
    for level, colour in ((0, (68, 1, 84)), (128, (33, 145, 140)), (255, (253, 231, 37))):
        assert np.abs(table[level].astype(int) - colour).max() <= 3


def test_a_grey_image_gets_its_colours_and_keeps_its_size(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    result = bench.run(ImageVisualizer(), image_path="image-1", cmap="viridis")
    picture = np.asarray(Image.open(result.output["image_path"]))
    table = colormap_table("viridis")
    assert table is not None
    np.testing.assert_array_equal(picture, table[bench.images.resolve("image-1").display])


def test_a_colour_image_stays_as_it_is(bench: Bench):
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[0, 0] = (9, 8, 7)
    made = save_png(pixels, bench.out, "x")
    result = bench.run(ImageVisualizer(), image_path=str(made), cmap="hot")
    assert result.output["image_path"] == str(made)
    assert "stays as it is" in result.metadata["note"]


def test_an_unknown_colour_map_is_sent_back_with_the_known_ones(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    with pytest.raises(ToolRetry, match="rgb, gray, viridis"):
        bench.run(ImageVisualizer(), image_path="image-1", cmap="rainbow9")


@pytest.mark.parametrize("figsize", [(0, 1), (-1, 2), (float("nan"), 1), (1e9, 1)])
def test_an_impossible_figsize_is_sent_back(bench: Bench, figsize: tuple[float, float]):
    bench.open(write_dicom(bench.folder / "a.dcm", gradient()))
    with pytest.raises(ToolRetry, match="figsize"):
        bench.run(ImageVisualizer(), image_path="image-1", figsize=figsize)
