"""Transformations of chest radiographs and their masks, and real pictures of other subjects.

Pixels are float32 [rows, columns] in 0..1, bright = dense; masks bool of the same shape.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from app.tools.chest.thorax_masks import label

FloatImage = NDArray[np.float32]
BoolImage = NDArray[np.bool_]
Masks = dict[str, BoolImage]
Change = Callable[[FloatImage, Masks], tuple[FloatImage, Masks]]

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
RIGHT, LEFT = "Right Lung", "Left Lung"


def rotated(degrees: float) -> Change:
    """Return a rotation within the same frame, with black corners."""

    def turn(image: FloatImage) -> FloatImage:
        whole = ndimage.rotate(image, degrees, reshape=False, order=1, mode="constant", cval=0.0)
        return np.clip(whole, 0, 1).astype(np.float32)

    return lambda pixels, masks: (
        turn(pixels),
        {name: turn(mask.astype(np.float32)) > 0.5 for name, mask in masks.items()},
    )


def padded(share: float, value: float = 0.0) -> Change:
    """Return a border on all sides, as a fraction of the long side."""

    def pad(pixels: FloatImage, masks: Masks) -> tuple[FloatImage, Masks]:
        wide = round(share * max(pixels.shape))
        framed = np.pad(pixels, wide, constant_values=value)
        return framed, {name: np.pad(mask, wide) for name, mask in masks.items()}

    return pad


def cropped(share: float) -> Change:
    """Return a crop by a fraction of height and width on each side."""

    def cut(pixels: FloatImage, masks: Masks) -> tuple[FloatImage, Masks]:
        rows, columns = (round(share * n) for n in pixels.shape)
        part = slice(rows, pixels.shape[0] - rows), slice(columns, pixels.shape[1] - columns)
        return pixels[part].copy(), {name: mask[part].copy() for name, mask in masks.items()}

    return cut


def gamma(exponent: float) -> Change:
    """Return another tone curve."""
    return lambda pixels, masks: ((pixels**exponent).astype(np.float32), masks)


def noisy(deviation: float) -> Change:
    """Return Gaussian noise with a deviation given as a fraction of the full range."""

    def add(pixels: FloatImage, masks: Masks) -> tuple[FloatImage, Masks]:
        grain = np.random.default_rng(0).normal(0, deviation, pixels.shape)
        return np.clip(pixels + grain, 0, 1).astype(np.float32), masks

    return add


def mirrored(pixels: FloatImage, masks: Masks) -> tuple[FloatImage, Masks]:
    """Mirror the image; masks are renamed, so that the viewer's left lung stays the right one."""
    turned = {name: mask[:, ::-1].copy() for name, mask in masks.items()}
    if RIGHT in turned and LEFT in turned:
        turned[RIGHT], turned[LEFT] = turned[LEFT], turned[RIGHT]
    return pixels[:, ::-1].copy(), turned


def together(*changes: Change) -> Change:
    """Return a change that applies several in sequence."""

    def all_of(pixels: FloatImage, masks: Masks) -> tuple[FloatImage, Masks]:
        for change in changes:
            pixels, masks = change(pixels, masks)
        return pixels, masks

    return all_of


CHANGES: dict[str, Change] = {
    "turned by 8": rotated(8),
    "turned by -8": rotated(-8),
    "padded 15 %": padded(0.15),
    "padded 30 %": padded(0.3),
    "white border": padded(0.15, 1.0),
    "cropped 5 %": cropped(0.05),
    "cropped 10 %": cropped(0.1),
    "gamma 0.5": gamma(0.5),
    "gamma 2": gamma(2.0),
    "noise 5 %": noisy(0.05),
    "noise 10 %": noisy(0.1),
    "mirrored": mirrored,
    "mirrored, turned 8": together(mirrored, rotated(8)),
    "mirrored, turned -8": together(mirrored, rotated(-8)),
}
"""Changes that a model must tolerate individually."""

TOGETHER: dict[str, Change] = {
    "turned 8, padded, gamma, noise": together(rotated(8), padded(0.15), gamma(0.6), noisy(0.05)),
    "turned -8, cropped, gamma, noise": together(
        rotated(-8), cropped(0.05), gamma(1.6), noisy(0.05)
    ),
    "mirrored, turned 12": together(mirrored, rotated(12)),
    "mirrored, turned -12": together(mirrored, rotated(-12)),
}
"""Combined changes, which are only measured."""


def split(lungs: BoolImage) -> Masks:
    """Split a mask of both lungs by its two largest parts; the viewer's left is the right lung.

    Raises:
        ValueError: There are not two.
    """
    labels, count = label(lungs)
    if count < 2:
        raise ValueError("the mask has one part only")
    areas = np.bincount(labels.ravel())[1:]
    first, second = (labels == 1 + int(i) for i in np.argsort(areas)[::-1][:2])
    if np.nonzero(first)[1].mean() > np.nonzero(second)[1].mean():
        first, second = second, first
    return {RIGHT: first, LEFT: second}


def real_frontals() -> Iterator[tuple[str, FloatImage]]:
    """Yield the frontal films of the shared data except the four with masks."""
    folder = SHARED / "chest"
    for path in sorted([*folder.glob("*.*"), *folder.glob("tbx11k/imgs/*/*.png")]):
        # normal2 is a lateral; cr-mono1 is cr-mono2 under another interpretation.
        if path.stem not in ("normal2", "cr-mono1-jpeg"):
            yield path.name, decoded(path)


def real_lateral() -> FloatImage | None:
    """Return the only lateral film of the shared data, or None."""
    path = SHARED / "chest" / "normal2.jpg"
    return decoded(path) if path.is_file() else None


def no_chests() -> Iterator[tuple[str, FloatImage]]:
    """Yield CT, MR, ultrasound, angiography, mammograms, microscopy and pictures, as decoded.

    From the shared data and from packages (pydicom, pydicom-data, scikit-image); each once.
    """
    seen: set[int] = set()
    for path in _no_chest_paths():
        try:
            pixels = decoded(path)
        except Exception:
            continue  # reports, plans and broken files are no pictures
        key = hash((pixels.shape, pixels.tobytes()))
        if key not in seen:
            seen.add(key)
            yield path.name, pixels


def _no_chest_paths() -> Iterator[Path]:
    import pydicom
    import skimage

    folders = [SHARED / "dicom", SHARED / "series", SHARED / "microscopy"]
    folders += [Path(pydicom.__file__).parent / "data" / "test_files"]
    folders += [Path(skimage.__file__).parent / "data"]
    try:
        import data_store  # pydicom-data
    except ImportError:
        pass
    else:
        folders.append(Path(str(data_store.__file__)).parent / "data")
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            # RG1 is a chest film; of long series every eighth image will do.
            series = folder.name == "series" and int(path.stem[-2:], 36) % 8
            if path.is_file() and not path.name.startswith("RG1") and not series:
                yield path


def decoded(path: Path) -> FloatImage:
    """Return a file's first image in the form given to a chest model."""
    from app.imaging.pixels import pipeline, windows
    from app.imaging.reading.image_entries import read_frame, read_instance
    from app.tools.chest.model_pictures import grey

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = read_frame(read_instance(path).path, 0)
    shown = grey(pipeline.render(frame, windows.default_window(frame)))
    return shown.astype(np.float32) / np.float32(255)
