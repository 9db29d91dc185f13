"""What a model with eyes is shown is what `python -m app render` writes, reduced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.agent.privacy.model_pictures import picture_of, reduced_size
from app.cli import main
from app.headless.common import scan_source
from app.imaging.decode import Decoder
from app.imaging.types import Window
from app.tools.images import OpenImage, RunImages
from tests.unit.imaging import oracle
from tests.unit.imaging.test_oracle import IMAGES, LARGE

BOX = Image.Resampling.BOX
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore::UserWarning"),  # pydicom, of files that are not well-formed
]

KINDS: dict[str, Callable[[Any], bool]] = {
    "MONOCHROME1": lambda file: file.PhotometricInterpretation == "MONOCHROME1",
    "colour": lambda file: file.SamplesPerPixel == 3,
    "palette": lambda file: file.PhotometricInterpretation == "PALETTE COLOR",
    "several frames": lambda file: int(file.get("NumberOfFrames", 1) or 1) > 1,
    "a window": lambda file: "WindowCenter" in file and file.SamplesPerPixel == 1,
}


@pytest.fixture(scope="module")
def decoder() -> Any:
    made = Decoder()
    yield made
    made.close()


def first_of(kind: str) -> Path:
    quick = (path for name, path in IMAGES.items() if name not in LARGE)
    return next(path for path in quick if KINDS[kind](oracle.read(path)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_picture_is_the_rendered_image(kind: str, tmp_path: Path, decoder: Decoder):
    source, out = first_of(kind), tmp_path / "x.png"
    instance = scan_source(decoder, source).studies[0].series[0].instances[0]
    last = instance.frames - 1
    window = Window(100.0, 300.0) if kind == "a window" else None
    shown = OpenImage("image-1", instance, last, window)
    snapshot = RunImages([shown], tmp_path, decoder).resolve("image-1")
    picture = picture_of("image-1", snapshot, tmp_path / "seen")
    arguments = ["render", str(source), "--out", str(out), "--frame", str(last)]
    assert main(arguments + (["--window", "100,300"] if window else [])) == 0
    with Image.open(out) as rendered, Image.open(picture.path) as sent:
        columns, rows = rendered.size
        wanted = reduced_size(columns, rows, snapshot.frame.spacing.aspect)
        assert sent.size == wanted
        expected = rendered if wanted == rendered.size else rendered.resize(wanted, BOX)
        assert np.array_equal(np.asarray(sent), np.asarray(expected.convert(sent.mode)))
        assert sent.info == {}
    assert ("window center 100 width 300" in picture.caption) == bool(window)
    assert (f"frame {last} of {last + 1}" in picture.caption) == (last > 0)
