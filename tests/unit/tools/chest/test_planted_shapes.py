"""A block planted in odd films comes back where it lies, through every tool that draws.

The stand-in for the model process looks for the block in the pixels that a model is shown, and
answers in the model's own coordinates: what is tested is the way there and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from app.imaging.findings import Box, Finding, Heatmap, Mask
from app.tools.api import ToolRetry
from app.tools.chest.boxes import centre_crop
from app.tools.chest.classifier import ChestXRayClassifier, central_square
from app.tools.chest.expert import ChestXRayExpert
from app.tools.chest.grounding import XRayPhraseGrounding
from app.tools.chest.medsam2_segment import MedSam2Segment
from app.tools.chest.segmentation import ChestXRaySegmentation
from app.tools.chest.segmenter import PSPNET, Segmenter
from app.tools.general.dicom_processor import DicomProcessor
from app.tools.models.cards import card
from app.tools.models.status import InstalledModel
from app.tools.models.store import ModelStore
from tests.unit.tools.support import Bench, FakeHost, write_dicom

Edges = tuple[float, float, float, float]


@dataclass(frozen=True)
class Film:
    """An odd film: its block lies off the middle on every axis.

    Attributes:
        rows: Of the stored image.
        columns: The same.
        letters: PatientOrientation.
        aspect: PixelAspectRatio, height by width, or None for a spacing of 0.4 mm.
        negative: MONOCHROME1.
        frames: In how many frames; the block lies in the last one.
    """

    rows: int
    columns: int
    letters: tuple[str, str] = ("L", "F")
    aspect: tuple[str, str] | None = None
    negative: bool = False
    frames: int = 1

    @property
    def edges(self) -> Edges:
        """x0, y0, x1, y1 of the block, outer edges of pixels, in the findings' coordinates."""
        x0, x1 = round(self.columns * 0.55), round(self.columns * 0.68)
        y0, y1 = round(self.rows * 0.35), round(self.rows * 0.45)
        return x0 - 0.5, y0 - 0.5, x1 - 0.5, y1 - 0.5

    def open(self, bench: Bench) -> None:
        """12 stored bits, the block bright on the screen."""
        stored = np.random.default_rng(0).integers(200, 1800, (self.rows, self.columns))
        stored = np.broadcast_to(stored, (self.frames, *stored.shape)).copy()
        x0, y0, x1, y1 = (round(edge + 0.5) for edge in self.edges)
        stored[-1, y0:y1, x0:x1] = 4095
        stored = (4095 - stored if self.negative else stored).astype(np.uint16)
        spacing: dict[str, Any] = {"PixelSpacing": [0.4, 0.4]}
        if self.aspect is not None:
            spacing = {"PixelSpacing": None, "PixelAspectRatio": list(self.aspect)}
        path = write_dicom(
            bench.folder / "film.dcm",
            stored if self.frames > 1 else stored[0],
            PatientOrientation=list(self.letters),
            PhotometricInterpretation="MONOCHROME1" if self.negative else "MONOCHROME2",
            BitsStored=12,
            HighBit=11,
            WindowCenter=2048,
            WindowWidth=4096,
            **spacing,
        )
        bench.open(path, frame_index=self.frames - 1)


FILMS = {
    "portrait": Film(301, 233),
    "landscape": Film(233, 301),
    "negative": Film(257, 250, negative=True),
    "mirrored": Film(301, 233, letters=("R", "F")),
    "upside down": Film(233, 301, letters=("L", "H")),
    "turned round": Film(255, 302, letters=("R", "H"), negative=True),
    "tall pixels": Film(151, 233, aspect=("2", "1")),
    "wide pixels, mirrored": Film(301, 151, letters=("R", "F"), aspect=("1", "2")),
    "last of three frames": Film(241, 233, letters=("R", "F"), frames=3),
}


def block(pixels: np.ndarray) -> np.ndarray:
    """Where the model sees the block."""
    grey = pixels if pixels.ndim == 2 else pixels.mean(2)
    return grey > 185


def edges(mask: np.ndarray) -> Edges:
    """Outer edges in pixels from the corner: x0, y0, x1, y1."""
    y, x = np.nonzero(mask)
    return float(x.min()), float(y.min()), float(x.max() + 1), float(y.max() + 1)


def grounds(payload: dict[str, Any]) -> dict[str, Any]:
    grey = payload["grey"]
    rows, columns = grey.shape
    seen = centre_crop(rows, columns, 518, 518, 518)
    x0, y0, x1, y1 = edges(block(grey))
    across, down = seen.right - seen.left, seen.bottom - seen.top
    box = [(x0 - seen.left) / across, (y0 - seen.top) / down]
    box += [(x1 - seen.left) / across, (y1 - seen.top) / down]
    said: dict[str, Any] = {"groups": [["block", [box]]], "text": "block", "refused": []}
    said["seen"] = [seen.left, seen.top, seen.right, seen.bottom]
    return {**said, "input_size": [518, 518], "cut": False, "engine": ""}


def answers(payload: dict[str, Any]) -> dict[str, Any]:
    from PIL import Image

    with Image.open(payload["paths"][0]) as picture:
        shown = np.asarray(picture)
    x0, y0, x1, y1 = edges(block(shown))
    rows, columns = shown.shape
    marks = [round(100 * v) for v in (x0 / columns, y0 / rows, x1 / columns, y1 / rows)]
    text = "<|ref|>block<|/ref|><|box|>({},{}),({},{})<|/box|>".format(*marks)
    return {"text": text, "cut": False, "engine": "", "too_long": False, "context": 2048}


def segments(payload: dict[str, Any]) -> dict[str, Any]:
    mask = block(payload["pixels"]).astype(np.uint8)
    said: dict[str, Any] = {"masks": {"Heart": mask}, "confidence": {"Heart": 0.9}}
    return {**said, "warnings": [], "refused": None, "view": "frontal"}


def outlines(payload: dict[str, Any]) -> dict[str, Any]:
    mask = block(payload["pixels"]).astype(np.uint8)
    return {"mask": mask, "scores": [0.9, 0.1, 0.1], "chosen": 0, "object": 0.9}


def classifies(payload: dict[str, Any]) -> dict[str, Any]:
    """The cell of the network under the middle of the block."""
    x0, y0, x1, y1 = edges(block(payload["pixels"]))
    left, top, side = central_square(payload["pixels"].shape)
    cells = np.zeros((7, 7), np.float32)
    at = [
        ((v - o) / side * 224 - 14.5) / 32 for v, o in (((y0 + y1) / 2, top), ((x0 + x1) / 2, left))
    ]
    (row, down), (column, across) = ((int(v), v - int(v)) for v in at)
    cells[row : row + 2, column : column + 2] = np.outer((1 - down, down), (1 - across, across))
    return {"scores": {"Mass": 0.8}, "cells": {"Mass": cells}, "spread": {}}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> Bench:
    def require(store: ModelStore, name: str, feature: str) -> InstalledModel:
        del store, feature
        return InstalledModel(card(name), bench.models / name, 64 * "0")

    monkeypatch.setattr(ModelStore, "require", require)
    monkeypatch.setattr(ModelStore, "has", lambda store, name: name != PSPNET)
    for module in ("model_results", "segmenter"):
        name = f"app.tools.chest.{module}.require_packages"
        monkeypatch.setattr(name, lambda *_: None)
    return bench


def named(bench: Bench, converted: bool) -> str:
    if not converted:
        return "image-1"
    return bench.run(DicomProcessor(), dicom_path="image-1").output["image_path"]


def placed(finding: Finding) -> Edges:
    """A finding's outer edges in the image's pixels."""
    shape = finding.geometry
    if isinstance(shape, Box):
        return shape.x0, shape.y0, shape.x1, shape.y1
    assert isinstance(shape, Mask)
    x0, y0, x1, y1 = edges(shape.pixels)
    return x0 - 0.5, y0 - 0.5, x1 - 0.5, y1 - 0.5


@pytest.mark.parametrize("converted", [False, True], ids=["film", "its PNG"])
@pytest.mark.parametrize("kind", FILMS)
def test_every_tool_draws_the_block_where_it_lies(installed: Bench, kind: str, converted: bool):
    film = FILMS[kind]
    film.open(installed)
    name = named(installed, converted)
    wanted = pytest.approx(film.edges, abs=0.51)
    installed.host = FakeHost(grounds)
    (box,) = installed.run(XRayPhraseGrounding(), image_path=name, phrase="block").findings
    assert placed(box) == wanted
    installed.host = FakeHost(segments)
    (mask,) = installed.run(ChestXRaySegmentation(Segmenter()), image_path=name).findings
    assert placed(mask) == wanted
    installed.host = FakeHost(outlines)
    around = [edge + step for edge, step in zip(film.edges, (-9, -9, 9, 9), strict=True)]
    (outline,) = installed.run(MedSam2Segment(), image_path=name, box=around).findings
    assert placed(outline) == wanted
    # CheXagent writes hundredths of the image: half of one is the best that it can say.
    installed.host = FakeHost(answers)
    (said,) = installed.run(ChestXRayExpert(), image_paths=[name], prompt="Where?").findings
    coarse = 0.005 * max(film.rows, film.columns) + 0.51
    assert placed(said) == pytest.approx(film.edges, abs=coarse)
    for finding in (box, mask, outline, said):
        assert finding.image == installed.images.resolve("image-1").ref


@pytest.mark.parametrize("converted", [False, True], ids=["film", "its PNG"])
@pytest.mark.parametrize("kind", FILMS)
def test_the_heatmap_is_highest_on_the_block(installed: Bench, kind: str, converted: bool):
    film = FILMS[kind]
    film.open(installed)
    installed.host = FakeHost(classifies)
    name = named(installed, converted)
    result = installed.run(ChestXRayClassifier(), image_path=name, labels=["Mass"])
    (found,) = result.findings
    assert isinstance(found.geometry, Heatmap)
    values = found.geometry.values
    assert values.shape == (film.rows, film.columns)
    y, x = (
        float(at @ values.ravel() / values.sum()) for at in np.indices(values.shape).reshape(2, -1)
    )
    x0, y0, x1, y1 = film.edges
    assert (x, y) == pytest.approx(((x0 + x1) / 2, (y0 + y1) / 2), abs=0.75)


@pytest.mark.parametrize("converted", [False, True], ids=["film", "its PNG"])
@pytest.mark.parametrize(("kind", "known"), [("mirrored", True), ("tall pixels", False)])
def test_square_centimetres_are_the_films_own_or_none(
    installed: Bench, kind: str, known: bool, converted: bool
):
    film = FILMS[kind]
    film.open(installed)
    installed.host = FakeHost(segments)
    tool = ChestXRaySegmentation(Segmenter())
    figures = installed.run(tool, image_path=named(installed, converted)).output["metrics"]["Heart"]
    x0, y0, x1, y1 = film.edges
    area = (x1 - x0) * (y1 - y0) * 0.0016 if known else None
    assert figures["area_cm2"] == (None if area is None else pytest.approx(area, abs=0.005))


def test_what_a_tool_drew_is_not_outlined(installed: Bench):
    FILMS["portrait"].open(installed)
    installed.host = FakeHost(segments)
    made = installed.run(ChestXRaySegmentation(Segmenter()), image_path="image-1")
    drawn = made.output["segmentation_image_path"]
    installed.host = FakeHost(outlines)
    with pytest.raises(ToolRetry, match="name the original image"):
        installed.run(MedSam2Segment(), image_path=drawn, box=[9.0, 9.0, 90.0, 90.0])
