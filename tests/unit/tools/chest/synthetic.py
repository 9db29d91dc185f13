"""A drawn chest: two dark lungs and a bright heart, and the masks it was drawn from."""

from __future__ import annotations

import numpy as np


def masks(rows: int = 240, columns: int = 200) -> dict[str, np.ndarray]:
    """Right lung on the viewer's left; heart 90 columns wide, thorax 160 at 200 columns."""
    y, x = np.mgrid[:rows, :columns] / np.array([rows, columns]).reshape(2, 1, 1)

    def ellipse(cx: float, cy: float, rx: float, ry: float) -> np.ndarray:
        return ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1

    heart = ellipse(0.54, 0.6, 0.2, 0.18)
    return {
        "Right Lung": ellipse(0.3, 0.5, 0.17, 0.35) & ~heart,
        "Left Lung": ellipse(0.72, 0.5, 0.17, 0.35) & ~heart,
        "Heart": heart,
    }


def radiograph(rows: int = 240, columns: int = 200) -> np.ndarray:
    """uint16 0..4095, bright = dense."""
    found = masks(rows, columns)
    image = np.full((rows, columns), 2600.0)
    image[found["Right Lung"] | found["Left Lung"]] = 700
    image[found["Heart"]] = 3500
    noise = np.random.default_rng(0).normal(0, 30, image.shape)
    return np.clip(image + noise, 0, 4095).astype(np.uint16)


def planted(names: tuple[str, ...] = ("Right Lung", "Left Lung", "Heart"), **changes: object):
    """A model process that answers with the drawn masks, turned as the pixels it was given."""

    def answer(payload: dict[str, object]) -> dict[str, object]:
        pixels = payload["pixels"]
        assert isinstance(pixels, np.ndarray)
        found = masks(*pixels.shape)
        return {
            "masks": {name: found[name].astype(np.uint8) for name in names},
            "confidence": {"Right Lung": 0.97, "Left Lung": 0.95, "Heart": 0.9},
            "inverted": False,
            "view": "frontal",
            "warnings": [],
            "refused": None,
            **changes,
        }

    return answer
