"""Figures of a mask, checked against shapes whose figures are known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from app.imaging.types import Frame, ImageRef, Rescale, Spacing, SpacingSource
from app.tools.chest.mask_figures import area_note, organ_metrics, spacing_mm
from app.tools.files import plain


def a_frame(stored: np.ndarray, **figures: Any) -> Frame:
    return Frame(stored, ImageRef("1", 0, ""), **figures)


def rectangle() -> tuple[np.ndarray, np.ndarray]:
    mask = np.zeros((100, 200), bool)
    mask[20:60, 50:150] = True
    pixels = np.where(mask, 120, 7).astype(np.uint8)
    pixels[20:40, 50:150] = 80
    return mask, pixels


def test_the_figures_of_a_rectangle():
    mask, pixels = rectangle()
    figures = organ_metrics(mask, a_frame(pixels), 0.875)
    assert figures == {
        "area_pixels": 4000,
        "area_cm2": None,
        "centroid": [39.5, 99.5],
        "bbox": [20, 50, 60, 150],
        "width": 100,
        "height": 40,
        "aspect_ratio": 0.4,
        "relative_position": {"top": 0.4, "left": 0.5, "center_dist": 0.1},
        "mean_intensity": 100.0,
        "std_intensity": 20.0,
        "confidence_score": 0.875,
    }
    assert json.loads(json.dumps(plain(figures))) == figures


def test_the_mean_is_of_the_files_values_without_padding_and_colours_have_none():
    mask, pixels = rectangle()
    stored = pixels.astype(np.int16)
    stored[20:30, 50:150] = -2000
    frame = a_frame(stored, rescale=Rescale(2, -1000, "HU"), padding=(-2000, -2000))
    figures = organ_metrics(mask, frame, 1)
    assert figures["mean_intensity"] == round((1000 * -840 + 2000 * -760) / 3000, 2)
    colours = organ_metrics(mask, a_frame(np.stack([pixels] * 3, 2), photometric="RGB"), 1)
    assert colours["mean_intensity"] is colours["std_intensity"] is None


def test_an_area_uses_both_spacings_of_the_image():
    mask, pixels = rectangle()
    spacing = Spacing(0.5, 0.2, SpacingSource.DETECTOR, 2.5)
    figures = organ_metrics(mask, a_frame(pixels, spacing=spacing), 1)
    assert figures["area_cm2"] == pytest.approx(4000 * 0.1 / 100)
    assert spacing_mm(spacing) == [0.5, 0.2]
    assert "detector plane" in area_note(spacing)


def test_without_spacing_there_is_no_area_and_it_says_why():
    note = area_note(Spacing(note="PixelSpacing of 0 ignored"))
    assert (
        note == "no figures in mm or cm²: the pixel spacing is unknown (PixelSpacing of 0 ignored)"
    )
    assert spacing_mm(Spacing()) is None


def test_a_single_pixel():
    mask = np.zeros((3, 3), bool)
    mask[1, 1] = True
    figures = organ_metrics(mask, a_frame(mask.astype(np.uint8)), 0.5)
    assert (figures["width"], figures["height"], figures["std_intensity"]) == (1, 1, 0)
    assert figures["relative_position"] == {"top": 0.5, "left": 0.5, "center_dist": 0.0}
