"""What a picture itself looks like, asked of the embedded network in the model process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from app.tools.api import ToolFailed
from app.tools.chest import image_suitability
from app.tools.chest.image_suitability import PictureJudgement, judge_picture
from app.tools.hosting.host import ProcessHost
from tests.unit.tools.support import Bench, write_dicom

if TYPE_CHECKING:
    from training.thorax.shapes import ShapeModel


class Looker:
    """A model host that answers as it is told, and notes what it was given."""

    def __init__(self, answer: dict[str, Any] | ToolFailed) -> None:
        self.answer = answer
        self.given: list[np.ndarray] = []

    def call(self, entry: str, payload: dict[str, Any], **_: Any) -> dict[str, Any]:
        assert entry == "app.tools.chest.thorax_net:look_entry"
        self.given.append(payload["pixels"])
        if isinstance(self.answer, ToolFailed):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look of another test is remembered."""
    monkeypatch.setattr(image_suitability, "_judgements", type(image_suitability._judgements)())


def looked(bench: Bench, host: Any, pixels: np.ndarray, **attributes: Any) -> PictureJudgement:
    bench.host = host
    name = f"{len(bench.opened)}.dcm"
    image = bench.open(write_dicom(bench.folder / name, pixels, **attributes))
    return judge_picture(bench.images.resolve(image.id), bench.context())


def stored(attenuation: np.ndarray) -> np.ndarray:
    low, high = np.percentile(attenuation, (1, 99))
    return (np.clip((attenuation - low) / (high - low), 0, 1) * 4095).astype(np.uint16)


@pytest.fixture(scope="module")
def frontal(shape_model: ShapeModel) -> np.ndarray:
    """A synthetic patient that training never drew, stored values."""
    from training.thorax import render

    return stored(render.frontal(np.random.default_rng([71, 0]), shape_model)[0])


def test_a_frontal_film_has_nothing_against_it(
    bench: Bench, model_process: ProcessHost, frontal: np.ndarray
):
    found = looked(bench, model_process, frontal)
    assert (found.view, found.why) == ("frontal", "")
    assert found.certainty > 0.9


def test_a_negative_is_told_from_the_film(
    bench: Bench, model_process: ProcessHost, frontal: np.ndarray
):
    found = looked(bench, model_process, 4095 - frontal)
    assert found.view == "inverted"
    assert "air is bright" in found.why


def test_a_mirrored_film_is_told(bench: Bench, model_process: ProcessHost, frontal: np.ndarray):
    mirrored = np.ascontiguousarray(frontal[:, ::-1])
    assert looked(bench, model_process, frontal).mirrored < 0.5
    found = looked(bench, model_process, mirrored)
    assert (found.view, found.why) == ("frontal", "")
    assert found.mirrored > 0.5
    # The file states it: the picture is hung the usual way before anybody looks.
    assert looked(bench, model_process, mirrored, PatientOrientation=["R", "F"]).mirrored < 0.5


def test_a_film_that_lies_on_its_side_is_no_upright_one(
    bench: Bench, model_process: ProcessHost, frontal: np.ndarray
):
    found = looked(bench, model_process, np.ascontiguousarray(np.rot90(frontal)))
    assert found.view == "other"
    assert "upright" in found.why


def test_a_film_stored_upside_down_is_looked_at_as_it_hangs(
    bench: Bench, model_process: ProcessHost, frontal: np.ndarray
):
    turned = np.ascontiguousarray(frontal[::-1])
    assert looked(bench, model_process, turned, PatientOrientation=["L", "H"]).view == "frontal"


def test_laterals_and_other_pictures_are_told(bench: Bench, model_process: ProcessHost):
    from training.thorax import negatives

    for i in range(3):
        film = stored(negatives.lateral(np.random.default_rng([72, i])))
        side = looked(bench, model_process, film)
        assert side.view == "lateral"
        assert "lateral" in side.why
        noise = stored(negatives.other(np.random.default_rng([73, i])) + 1e-3)
        assert looked(bench, model_process, noise).view in ("other", "lateral")


def test_a_large_film_is_made_small_before_it_is_sent(bench: Bench):
    host = Looker({"view": "frontal", "certainty": 0.99})
    pixels = np.random.default_rng(0).integers(0, 4095, (2100, 1700)).astype(np.uint16)
    looked(bench, host, pixels)
    (given,) = host.given
    assert given.shape == (525, 425)


def test_the_same_picture_is_looked_at_once(bench: Bench):
    host = Looker({"view": "lateral", "certainty": 0.97})
    pixels = np.arange(10_000, dtype=np.uint16).reshape(100, 100)
    first, again = looked(bench, host, pixels), looked(bench, host, pixels)
    assert (
        first
        == again
        == PictureJudgement("lateral", 0.97, image_suitability._PICTURE_OBJECTIONS["lateral"])
    )
    assert len(host.given) == 1
    looked(bench, host, pixels[:, ::-1].copy())
    assert len(host.given) == 2


def test_where_nobody_can_look_the_view_is_unknown_and_says_why(bench: Bench):
    host = Looker(ToolFailed("the model process ended"))
    found = looked(bench, host, np.arange(10_000, dtype=np.uint16).reshape(100, 100))
    assert (found.view, found.certainty) == ("unknown", 0.0)
    assert "the model process ended" in found.why


def test_no_more_looks_than_are_needed_are_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(image_suitability, "_CACHE_SIZE", 2)
    host = Looker({"view": "frontal", "certainty": 0.9})
    for i in range(4):
        looked(bench, host, np.arange(i, i + 10_000, dtype=np.uint16).reshape(100, 100) ** (i + 1))
    assert len(image_suitability._judgements) == 2
