"""Where the classifier looked, in the image's own pixels."""

from __future__ import annotations

import numpy as np
import pytest

from app.tools.api import ToolRetry
from app.tools.chest import classifier
from app.tools.chest.model_pictures import Hanging, ModelInput

SHAPES = [(224, 224), (500, 500), (512, 700), (701, 512), (333, 1001), (2048, 2500)]


def centre(values: np.ndarray) -> tuple[float, float]:
    """(x, y) of the middle of a map."""
    total = values.sum()
    rows, columns = np.indices(values.shape)
    return float((values * columns).sum() / total), float((values * rows).sum() / total)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cell", [(1, 1), (3, 3), (2, 5)])
def test_a_cell_lands_where_it_looked_to_half_a_pixel(
    shape: tuple[int, int], cell: tuple[int, int]
):
    cells = np.zeros((7, 7), np.float32)
    cells[cell] = 3.0
    found = classifier.map_to_image(cells, shape)
    row, column = cell
    first, apart = classifier.FIRST_CELL, classifier.CELL_STRIDE
    left, top, side = classifier.central_square(shape)
    scale = side / classifier.INPUT_SIZE
    wanted = (
        left + (first + apart * column + 0.5) * scale - 0.5,
        top + (first + apart * row + 0.5) * scale - 0.5,
    )
    assert centre(found) == pytest.approx(wanted, abs=0.5)
    assert found.shape == shape
    assert found.dtype == np.float32
    assert found.max() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_outside_the_central_square_it_is_zero(shape: tuple[int, int]):
    found = classifier.map_to_image(np.ones((7, 7), np.float32), shape)
    rows, columns = shape
    side = min(shape)
    seen = np.zeros(shape, bool)
    top, left = rows // 2 - side // 2, columns // 2 - side // 2
    seen[top : top + side, left : left + side] = True
    assert (found[~seen] == 0).all()
    np.testing.assert_allclose(found[seen], 1, atol=1e-6)


def test_the_square_is_the_one_that_torchxrayvision_crops():
    xrv = pytest.importorskip("torchxrayvision")
    for shape in SHAPES:
        image = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(1, *shape)
        left, top, side = classifier.central_square(shape)
        inside = image[:, top : top + side, left : left + side]
        np.testing.assert_array_equal(xrv.datasets.XRayCenterCrop()(image), inside)


def test_a_map_that_speaks_for_nothing_is_empty():
    assert not classifier.map_to_image(np.full((7, 7), -1.0), (300, 400)).any()


def test_labels_are_taken_however_they_are_written():
    asked = ["pleural thickening", "EFFUSIONS", "Lung opacity", "oedema", "Effusion"]
    wanted = ("Pleural_Thickening", "Effusion", "Lung Opacity", "Edema")
    assert classifier.match(asked) == wanted
    assert classifier.match(None) == classifier.match([]) == ()


@pytest.mark.parametrize(
    ("asked", "why"), [(["Scoliosis"], "no label"), (list(classifier.LABELS[:7]), "at most 6")]
)
def test_labels_that_cannot_be_drawn_are_sent_back_with_those_there_are(asked: list[str], why: str):
    with pytest.raises(ToolRetry, match=why) as caught:
        classifier.match(asked)
    assert caught.value.remedy


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ((0, 0), "on the patient's right, upper third of the film"),
        ((3, 3), "in the midline, middle third of the film"),
        ((6, 6), "on the patient's left, lower third of the film"),
    ],
)
def test_the_highest_place_is_told_as_it_lies_in_the_patient(
    shape: tuple[int, int], cell: tuple[int, int], words: str
):
    rows, columns = shape
    cells = np.zeros((7, 7), np.float32)
    cells[cell] = 1
    shown = ModelInput(np.zeros(shape, np.uint8), Hanging(), rows, columns)
    assert classifier.highest_places({"Mass": cells, "Nodule": cells * 0}, shown) == {"Mass": words}
