"""Flattens, normalises and denoises microscopy images (model process only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.image_kind import ImageKind, finite, guess_kind
from app.tools.microscopy.untyped import ndimage, restoration

_FLAT = 0.02
"""Unevenness of the light, as a share of the values' range, up to which nothing is flattened."""
_LEAST_SIDE = 8
_QUIET = 0.004
"""Noise, as a share of the range, up to which nothing is denoised."""


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Process the images of one group together.

    `payload` has "images", a list of arrays [rows, columns] or [rows, columns, 3]; "steps", of
    "illumination", "brightness" and "denoise".

    Returns:
        "images", of the same shapes and types; and "done", for each a list of what was done or why
        it was not, in words.
    """
    steps = list(payload["steps"])
    given: list[NDArray[Any]] = list(payload["images"])
    made: list[NDArray[np.float32]] = []
    done: list[list[str]] = []
    for number, pixels in enumerate(given):
        progress(0.1 + 0.6 * number / len(given), f"Image {number + 1} of {len(given)}")
        values, told = finite(pixels).astype(np.float32), list[str]()
        kind = guess_kind(pixels).kind
        if min(pixels.shape[:2]) < _LEAST_SIDE:
            told.append("left as it is: too small")
        elif kind is ImageKind.BLANK:
            told.append("left as it is: every pixel has the same value")
        else:
            if "illumination" in steps:
                values = _even(values, kind, told)
            if "denoise" in steps:
                values = _denoised(values, told)
        made.append(values)
        done.append(told)
    if "brightness" in steps:
        _normalise(made, done)
    progress(0.9, "Rounding")
    kept = [
        _as_stored(values, pixels.dtype, told)
        for values, pixels, told in zip(made, given, done, strict=True)
    ]
    return {"images": kept, "done": done}


def light(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the light over an image [rows, columns]: a quadratic surface through its background.

    Objects are what differs most from the surface; they are left out of it in turns.
    """
    rows, columns = values.shape
    step = max(1, int(np.sqrt(values.size / 20_000)))
    y, x = np.mgrid[:rows, :columns].astype(np.float32) / max(rows, columns)
    terms = np.stack([np.ones_like(x), x, y, x * y, x * x, y * y])
    thin = values[::step, ::step].ravel().astype(np.float64)
    sample = terms[:, ::step, ::step].reshape(6, -1).T.astype(np.float64)
    kept = np.ones(len(thin), bool)
    weights = np.zeros(6)
    for _ in range(6):
        weights = np.linalg.lstsq(sample[kept], thin[kept], rcond=None)[0]
        rest = thin - sample @ weights
        middle = np.median(rest[kept])
        spread = 1.4826 * np.median(np.abs(rest[kept] - middle))
        kept = np.abs(rest - middle) <= 2 * spread + 1e-9
    return np.tensordot(weights.astype(np.float32), terms, axes=1)


def _even(values: NDArray[np.float32], kind: ImageKind, told: list[str]) -> NDArray[np.float32]:
    """Subtract the background's unevenness in fluorescence; divide by it where light passes."""
    grey = values.mean(axis=2) if values.ndim == 3 else values
    surface = light(grey)
    span = float(np.ptp(surface))
    extent = float(np.percentile(grey, 99.5) - np.percentile(grey, 0.5))
    if span <= _FLAT * extent:
        told.append("light even: not flattened")
        return values
    if values.ndim == 3:
        surface = surface[..., None]
    share = f"{100 * span / max(extent, 1e-6):.0f}% of the range"
    if kind is ImageKind.FLUORESCENCE:
        told.append(f"background flattened: its slope of {share} subtracted")
        return values - (surface - surface.min())
    told.append(f"light flattened: divided by its slope of {share}")
    return values * (surface.mean() / np.maximum(surface, max(float(surface.max()) / 20, 1e-6)))


def _denoised(values: NDArray[np.float32], told: list[str]) -> NDArray[np.float32]:
    """Denoise by non-local means (A. Buades, CVPR 2005), which keeps edges."""
    planes = [values] if values.ndim == 2 else [values[..., place] for place in range(3)]
    extent = float(np.percentile(values, 99.5) - np.percentile(values, 0.5))
    noise = float(np.mean([_noise(plane) for plane in planes]))
    if noise <= _QUIET * max(extent, 1e-6):
        told.append("noise low: not denoised")
        return values
    told.append(f"denoised: noise of {100 * noise / extent:.1f}% of the range, non-local means")
    cleaned = [
        restoration.denoise_nl_means(
            plane, patch_size=5, patch_distance=5, h=0.8 * noise, sigma=noise, fast_mode=True
        ).astype(np.float32)
        for plane in planes
    ]
    return cleaned[0] if values.ndim == 2 else np.stack(cleaned, axis=2)


def _noise(plane: NDArray[np.float32]) -> float:
    """Return the noise's deviation (J. Immerkær, Comput Vis Image Underst 64, 1996), by median."""
    kernel = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
    found = np.abs(ndimage.convolve(plane, kernel))
    return 1.4826 * float(np.median(found)) / 6


def _normalise(made: list[NDArray[np.float32]], done: list[list[str]]) -> None:
    if len(made) < 2:
        done[0].append("brightness kept: the group has one image")
        return
    low = [float(np.percentile(values, 5)) for values in made]
    high = [float(np.percentile(values, 99)) for values in made]
    wanted_low, wanted_high = float(np.median(low)), float(np.median(high))
    for place, told in enumerate(done):
        extent = high[place] - low[place]
        if extent <= 0 or wanted_high <= wanted_low:
            told.append("brightness kept: nothing to go by")
            continue
        gain = (wanted_high - wanted_low) / extent
        made[place] = (made[place] - low[place]) * gain + wanted_low
        told.append(f"brightness: background {low[place]:.0f} to {wanted_low:.0f}, gain {gain:.2f}")


def _as_stored(values: NDArray[np.float32], dtype: np.dtype[Any], told: list[str]) -> NDArray[Any]:
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    rounded = np.rint(values)
    out = float(np.mean((rounded < limits.min) | (rounded > limits.max)))
    if out > 1e-4:
        told.append(f"{100 * out:.2f}% of the values cut off at the limits of {dtype}")
    return np.clip(rounded, limits.min, limits.max).astype(dtype)
