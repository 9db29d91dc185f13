"""Lung outlines as a statistical shape model.

The only anatomy taken from real patients: 2-D lung outlines drawn by annotators of V7 Labs,
shipped inside the torchxrayvision wheel as ``data/semantic_masks_v7labs_lungs.zip`` (terms in
``resources/models/thorax-net/CARD.md``). No pixel of a film is read.  Outlines are brought into
correspondence by three landmarks a lung (apex, costophrenic corner, medial base), so that they can
be blended and varied along their principal components.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage import measure

FloatArray = NDArray[np.float64]

ARCHIVE = "semantic_masks_v7labs_lungs.zip"
LATERAL, BASE, MEDIAL = 24, 12, 20  # points on each arc of one lung
POINTS = LATERAL + BASE + MEDIAL
COMPONENTS = 24
_WORK_SIZE = 384  # masks are reduced to this long side before contours are traced


def archive_path() -> Path:
    """Returns where the installed torchxrayvision keeps the outlines, without importing torch.

    Raises:
        FileNotFoundError: torchxrayvision is not installed or has no such archive.
    """
    spec = importlib.util.find_spec("torchxrayvision")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("torchxrayvision is not installed: pip install torchxrayvision")
    path = Path(spec.origin).parent / "data" / ARCHIVE
    if not path.is_file():
        raise FileNotFoundError(f"{path}: not in this torchxrayvision wheel")
    return path


def _resample(arc: FloatArray, count: int) -> FloatArray:
    """Returns `count` points evenly spaced by arc length on `arc` [n, 2], its end left out."""
    step = np.hypot(*np.diff(arc, axis=0).T)
    length = np.concatenate([[0.0], np.cumsum(step)])
    at = np.linspace(0.0, length[-1], count + 1)[:-1]
    return np.stack([np.interp(at, length, arc[:, i]) for i in (0, 1)], axis=1)


def _landmarked(mask: NDArray[np.bool_], outward: int) -> FloatArray:
    """Returns the outline [POINTS, 2] of one lung in (x, y), starting at the apex.

    Down the lateral side.
    """
    smooth = ndimage.gaussian_filter(np.pad(mask, 2).astype(np.float32), 1.5)
    contour = max(measure.find_contours(smooth, 0.5), key=len)[:-1, ::-1] - 2.0
    x, y = contour[:, 0] * outward, contour[:, 1]
    apex, corner, medial = np.argmin(y), np.argmax(y + x), np.argmax(y - x)
    ring = np.roll(contour, -apex, axis=0)
    corner, medial = (corner - apex) % len(ring), (medial - apex) % len(ring)
    if corner > medial:
        ring = np.roll(ring[::-1], 1, axis=0)
        corner, medial = len(ring) - corner, len(ring) - medial
    ring = np.concatenate([ring, ring[:1]])
    if min(corner, medial - corner, len(ring) - 1 - medial) < 5:
        raise ValueError("landmarks coincide")
    arcs = (ring[: corner + 1], ring[corner : medial + 1], ring[medial:])
    counts = (LATERAL, BASE, MEDIAL)
    return np.concatenate([_resample(a, n) for a, n in zip(arcs, counts, strict=True)])


def _filled(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return cast("NDArray[np.bool_]", ndimage.binary_fill_holes(mask))


def outline_pair(mask: NDArray[np.bool_]) -> FloatArray | None:
    """Returns both lungs' outlines [2 * POINTS, 2] in pixels (viewer's left lung first).

    Or None if unusable.

    Laterals (empty masks), single lungs, and lungs cut off by the border are unusable.
    """
    labels, count = cast("tuple[NDArray[np.int32], int]", ndimage.label(mask))
    if count < 2:
        return None
    areas = np.bincount(labels.ravel())[1:]
    first, second = (np.argsort(areas)[::-1][:2] + 1).tolist()
    if areas[second - 1] < 0.03 * mask.size or areas[second - 1] < 0.4 * areas[first - 1]:
        return None
    lungs = sorted(
        (_filled(labels == i) for i in (first, second)),
        key=lambda m: float(np.nonzero(m)[1].mean()),
    )
    if any(m[[0, -1]].any() or m[:, [0, -1]].any() for m in lungs):
        return None
    try:
        return np.concatenate([_landmarked(m, s) for m, s in zip(lungs, (-1, 1), strict=True)])
    except ValueError:
        return None


def _normalised(pair: FloatArray) -> FloatArray:
    """Returns the pair centred on its box, with a box width of 1."""
    low, high = pair.min(axis=0), pair.max(axis=0)
    return (pair - (low + high) / 2) / (high[0] - low[0])


@dataclass(frozen=True)
class ShapeModel:
    """Real outline pairs and their principal variation.

    Attributes:
        pairs: [n, 2 * POINTS, 2], (x, y), centred, thoracic width 1.
        modes: [COMPONENTS, 2 * POINTS, 2], each scaled to one standard deviation.
    """

    pairs: FloatArray
    modes: FloatArray

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Returns a new outline pair [2 * POINTS, 2]: a blend of two real ones.

        Varied along the modes.
        """
        first, second = rng.integers(len(self.pairs), size=2)
        share = rng.uniform(0.5, 1.0)
        blend = share * self.pairs[first] + (1 - share) * self.pairs[second]
        weights = rng.normal(0.0, 0.35, len(self.modes))
        pair = blend + np.tensordot(weights, self.modes, axes=1)
        pair[:, 1] *= rng.uniform(0.88, 1.22)  # covers deep inspiration, rare among the sick
        return _normalised(pair)


def load(archive: Path | None = None, limit: int | None = None) -> ShapeModel:
    """Builds the shape model from the archive (about 6 s), or from its first `limit` outlines.

    Raises:
        FileNotFoundError: there is no archive.
        ValueError: fewer than 50 usable outlines.
    """
    pairs: list[FloatArray] = []
    with zipfile.ZipFile(archive or archive_path()) as bundle:
        names = sorted(n for n in bundle.namelist() if not n.endswith("/"))
        for name in names[:limit]:
            image = Image.open(io.BytesIO(bundle.read(name))).convert("L")
            image.thumbnail((_WORK_SIZE, _WORK_SIZE), Image.Resampling.NEAREST)
            pair = outline_pair(np.asarray(image) == 255)
            if pair is not None:
                pairs.append(_normalised(pair))
    if len(pairs) < 50:
        raise ValueError(f"only {len(pairs)} usable outlines")
    stack = np.stack(pairs)
    flat = (stack - stack.mean(axis=0)).reshape(len(stack), -1)
    _, scale, axes = np.linalg.svd(flat, full_matrices=False)
    deviations = scale[:COMPONENTS, None] / np.sqrt(len(stack) - 1)
    return ShapeModel(stack, (deviations * axes[:COMPONENTS]).reshape(-1, *stack.shape[1:]))
