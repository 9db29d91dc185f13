"""image_captioner: what it says was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

from app.errors import Cancelled
from app.tools.api import ToolFailed, ToolResult
from app.tools.microscopy.image_captioner import CaptionerInput, ImageCaptioner
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
    assert caption.startswith("Of a.tif only, one of 2 images: Microscopy image")


@dataclass
class Model:
    """A language model with one answer, or one error."""

    answer: str | Exception
    sees: bool = True
    remote: bool = False
    name: str = "vision-1"
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def ask(self, prompt: str, *, system: str = "", images: Sequence[str] = ()) -> str:
        self.asked.append((prompt, list(images)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def captioned(bench: Bench, model: Model) -> ToolResult:
    args = CaptionerInput(image_path="image-1")
    return ImageCaptioner().run(args, replace(bench.context(), model=model))


def test_a_model_that_sees_is_shown_the_image_and_named_as_unchecked(ready: Bench):
    model = Model("Bright nuclei on a dark background.")
    result = captioned(ready, model)
    [(prompt, images)] = model.asked
    assert images == ["image-1"]
    assert "40 x 30 pixels" in prompt
    assert result.output["caption"].startswith("Bright nuclei on a dark background. Microscopy")
    assert result.output["source"] == (
        "measurements, and a look at the picture by vision-1, unchecked"
    )


def test_without_the_user_s_consent_the_measurements_are_told_alone(ready: Bench):
    result = captioned(ready, Model(ToolFailed("nothing may be sent")))
    assert result.output["source"] == "measurements, not a look at the picture"
    assert "vision-1 did not look at the picture: nothing may be sent." in result.summary


def test_a_model_that_sees_nothing_is_not_asked(ready: Bench):
    model = Model("?", sees=False)
    assert captioned(ready, model).output["source"] == "measurements, not a look at the picture"
    assert model.asked == []


def test_a_cancel_is_no_caption(ready: Bench):
    with pytest.raises(Cancelled):
        captioned(ready, Model(Cancelled()))
