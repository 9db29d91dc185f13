"""`python -m app render` against the standard's formulas: the PNG itself, within 1/255."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.cli import main
from tests.unit.imaging import oracle
from tests.unit.imaging.test_oracle import IMAGES, LARGE, SAME_AS, stretched

pytestmark = pytest.mark.e2e

QUICK = [name for name in IMAGES if name not in LARGE and name not in SAME_AS]
CHECKED = QUICK[:: len(QUICK) // 32]


def test_thirty_files_are_checked():
    assert len(CHECKED) >= 30


@pytest.mark.parametrize(
    "name",
    [
        *CHECKED[::8],
        *(pytest.param(one, marks=pytest.mark.slow) for one in CHECKED if one not in CHECKED[::8]),
    ],
)
def test_the_command_writes_what_the_standard_says(name: str, tmp_path: Path):
    source, out = IMAGES[name], tmp_path / "x.png"
    dataset = oracle.read(source)
    window = stretched(source, 0)
    arguments = ["render", str(source), "--out", str(out)]
    grey = dataset.SamplesPerPixel == 1 and dataset.PhotometricInterpretation != "PALETTE COLOR"
    if grey and oracle.own_window(dataset) is None and "VOILUTSequence" not in dataset:
        arguments += ["--window", f"{window[0]},{window[1]}"]
    assert main(arguments) == 0
    with Image.open(out) as picture:
        shown = np.asarray(picture).astype(np.float64)
    expected = oracle.expected(source, 0, window)
    assert shown.shape == expected.shape
    assert np.abs(shown - expected).max() <= 1.0
