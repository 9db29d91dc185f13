"""Rigid registration of a volume to an earlier one of the same patient (model process only).

Shift and rotation are found in patient coordinates (LPS, mm) by SimpleITK: Mattes mutual
information, coarse to fine, from the best of several starts. Nothing is scaled or bent, so that
every distance stays what it was. The same is done once more with the two exchanged: how far the two
results are apart says how much they can be trusted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import SimpleITK as sitk  # noqa: N813 - the usual alias
from numpy.typing import NDArray

from app.tools.api import Progress

Matrix = NDArray[np.float64]

_BINS = 32
_ITERATIONS = 120
_COARSE_MM = 8.0  # voxels in which starts are compared
_STARTS = 3  # that are followed
_STEP_MM = 24.0  # between starts along the body
_LEAST_SHARED_MM = 40.0  # of the body's length that two volumes must share to be tried
_LEAST_SHARED = 0.25  # of the smaller body's voxels
_SAMPLES = 30_000
_MARGIN_MM = 10.0  # of air around the body
_WINDOW_MM = 15.0  # cubes in which the two are correlated
_SMOOTH_MM = 3.0
_CT_RANGE = (-1000.0, 600.0)
_SEED = 20
_OUTSIDE = -1e9  # value of what an image does not show
_TURN, _SHIFT = (0.05, -0.05, 0.05), (6.0, -5.0, 4.0)  # radians and mm


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a registration: where an earlier volume lies on the current one.

    Attributes:
        matrix: [4, 4], rigid: patient coordinates (mm) of the current volume to the prior's.
        similarity: Median squared local correlation (0 to 1) of the two where there is structure.
        overlap: Share of the smaller volume's body that both show.
        two_way_mm: How far apart (95th percentile in the body) a point lands that goes to the prior
            and back by the registration made the other way round.
    """

    matrix: list[list[float]]
    similarity: float
    overlap: float
    two_way_mm: float


@dataclass(frozen=True, slots=True)
class _Side:
    """A volume with what is needed of it; `body` is 1 in the patient and a little around."""

    image: Any
    body: Any
    coarse: Any
    coarse_body: Any


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Register `payload["prior"]` to `payload["current"]`; each has "voxels" and "affine"."""
    volumes = [
        (np.asarray(payload[name]["voxels"]), np.asarray(payload[name]["affine"], float))
        for name in ("current", "prior")
    ]
    return asdict(register(volumes[0], volumes[1], ct=bool(payload["ct"]), progress=progress))


def register(
    current: tuple[NDArray[Any], Matrix],
    prior: tuple[NDArray[Any], Matrix],
    *,
    ct: bool,
    progress: Progress = lambda _fraction, _text: None,
) -> Fit:
    """Return how the prior volume lies on the current one.

    Args:
        current: Values [z, y, x] and the [4, 4] matrix from (x, y, z, 1) of voxels to LPS mm.
        prior: The same of the earlier volume.
        ct: Whether values are Hounsfield units.
        progress: Told how far it is; what it raises ends the work.
    """
    progress(0.02, "Preparing the volumes")
    one, other = _side(*current, ct=ct), _side(*prior, ct=ct)
    there = _registered(one, other, progress, (0.05, 0.6))
    # From a little beside: only a place that is found again is one.
    moved = there @ _displacement(_body_points(one)[:, :3].mean(axis=0))
    beside: Matrix = np.linalg.inv(moved).astype(np.float64)
    back = _optimised(other, one, beside, (2, 1, 0), _reporter(progress, 0.6, 0.35))
    progress(0.96, "Checking the registration")
    similarity, overlap = _likeness(one, other, there)
    points = _body_points(one)
    away = np.linalg.norm((points @ (back @ there).T - points)[:, :3], axis=1)
    apart = float(np.percentile(away, 95))
    return Fit(there.tolist(), similarity, overlap, apart)


def _displacement(centre: Matrix) -> Matrix:
    """Return a shift of 9 mm with a turn of 5 degrees about `centre` (mm), as a [4, 4] matrix."""
    transform = sitk.Euler3DTransform([float(one) for one in centre], *_TURN, _SHIFT)
    return _matrix(transform)


def _side(voxels: NDArray[Any], affine: Matrix, *, ct: bool) -> _Side:
    values = voxels.astype(np.float32)
    low, high = _CT_RANGE if ct else (float(i) for i in np.percentile(values, (0.5, 99.5)))
    image = _even(_image(np.clip(values, low, high), affine))
    inside = image > -500 if ct else sitk.OtsuThreshold(image, 0, 1)
    radius = [max(1, round(_MARGIN_MM / step)) for step in image.GetSpacing()]
    body = sitk.BinaryDilate(sitk.BinaryMorphologicalOpening(inside, [1, 1, 1]), radius)
    if not _array(body).any():  # thinner than the opening
        body = sitk.Cast(image >= low, sitk.sitkUInt8)
    times = [max(1, round(_COARSE_MM / step)) for step in image.GetSpacing()]
    coarse = sitk.BinShrink(image, times)
    return _Side(image, body, coarse, _on_grid(body, coarse, np.eye(4), sitk.sitkNearestNeighbor))


def _image(values: NDArray[Any], affine: Matrix) -> Any:
    """Return an array [z, y, x] as a SimpleITK image that lies where `affine` places it."""
    steps = np.linalg.norm(affine[:3, :3], axis=0)
    made = sitk.GetImageFromArray(values)
    made.SetSpacing([float(one) for one in steps])
    made.SetOrigin([float(one) for one in affine[:3, 3]])
    made.SetDirection([float(one) for one in (affine[:3, :3] / steps).ravel()])
    return made


def _even(image: Any) -> Any:
    """Return an image with voxels about as long in each direction, for thick slices."""
    steps = image.GetSpacing()
    least = min(steps)
    times = [max(1, round(step / least)) for step in steps]
    if max(times) == 1:
        return image
    size = [(n - 1) * more + 1 for n, more in zip(image.GetSize(), times, strict=True)]
    spacing = [step / more for step, more in zip(steps, times, strict=True)]
    return sitk.Resample(
        *(image, size, sitk.Transform(), sitk.sitkLinear),
        *(image.GetOrigin(), spacing, image.GetDirection()),
    )


def _array(image: Any) -> NDArray[Any]:
    return sitk.GetArrayViewFromImage(image)


def _registered(
    fixed: _Side, moving: _Side, progress: Progress, part: tuple[float, float]
) -> Matrix:
    """Return the rigid [4, 4] matrix from points of `fixed` to those of `moving`."""
    start, end = part
    share = (end - start) / 4
    starts = _starts(fixed, moving)
    ranked = sorted(
        (score, number)
        for number, matrix in enumerate(starts)
        if (score := _score(fixed, moving, matrix)) is not None
    )
    chosen = [starts[number] for _, number in ranked[:_STARTS]] or [np.eye(4)]
    coarse: list[tuple[float, Matrix]] = []
    for number, matrix in enumerate(chosen):
        begin = start + 2 * share * number / len(chosen)
        progress(begin, "Registering the volumes")
        found = _optimised(fixed, moving, matrix, (2, 1), _reporter(progress, begin, 0.0))
        score = _score(fixed, moving, found)
        coarse.append((0.0 if score is None else score, found))
    best = min(coarse, key=lambda pair: pair[0])[1]
    middle = start + 2 * share
    return _optimised(fixed, moving, best, (1, 0), _reporter(progress, middle, 2 * share))


def _reporter(progress: Progress, start: float, share: float) -> Progress:
    return lambda done, text: progress(start + share * done, text)


def _starts(fixed: _Side, moving: _Side) -> list[Matrix]:
    """Return shifts to begin from: as the headers have it, and the bodies on each other.

    The bodies' middles are laid on each other across the body; along it, in steps, since the two
    need not show the same stretch.
    """
    one, other = (_body_points(side)[:, :3] for side in (fixed, moving))
    middle = other.mean(axis=0) - one.mean(axis=0)
    low, high = other[:, 2].min() - one[:, 2].max(), other[:, 2].max() - one[:, 2].min()
    along = np.arange(low + _LEAST_SHARED_MM, high - _LEAST_SHARED_MM + 1, _STEP_MM)
    shifts = [np.zeros(3), middle, *(np.array([middle[0], middle[1], z]) for z in along)]
    made: list[Matrix] = []
    for shift in shifts:
        matrix = np.eye(4)
        matrix[:3, 3] = shift
        made.append(matrix)
    return made


def _body_points(side: _Side) -> Matrix:
    """Return the places (mm) of the body's coarse voxels: [n, 4], with 1 as the last."""
    body = side.coarse_body
    places = np.argwhere(_array(body) > 0)[:, ::-1]
    steps = np.array(body.GetSpacing())
    turn = np.array(body.GetDirection()).reshape(3, 3)
    points = np.array(body.GetOrigin()) + (places * steps) @ turn.T
    return np.hstack((points, np.ones((len(points), 1)))).astype(np.float64)


def _score(fixed: _Side, moving: _Side, matrix: Matrix) -> float | None:
    """Return how badly the coarse volumes fit; None where too little is shared.

    It is minus the squared correlation times the share of the smaller body that both show: else a
    small part that fits by chance would count most.
    """
    here = _array(fixed.coarse_body) > 0
    values, known = _laid_on(moving.coarse, fixed.coarse, matrix)
    both = here & known
    least = min(int(here.sum()), int((_array(moving.coarse_body) > 0).sum()))
    if both.sum() < max(_LEAST_SHARED * least, 30):
        return None
    mine, theirs = _array(fixed.coarse)[both], values[both]
    if not (mine.std() and theirs.std()):
        return None
    return -(float(np.corrcoef(mine, theirs)[0, 1]) ** 2) * min(1.0, float(both.sum()) / least)


def _optimised(
    fixed: _Side, moving: _Side, start: Matrix, levels: Sequence[int], progress: Progress
) -> Matrix:
    """Return the matrix of greatest mutual information near `start`.

    `levels` are the powers of two by which the volumes are shrunk, the coarsest first.
    """
    transform = sitk.Euler3DTransform()
    centre = _body_points(fixed)[:, :3].mean(axis=0)
    transform.SetCenter([float(one) for one in centre])
    turn = start[:3, :3]
    transform.SetMatrix([float(one) for one in turn.ravel()], 1e-5)
    moved = turn @ centre + start[:3, 3] - centre
    transform.SetTranslation([float(one) for one in moved])
    method = sitk.ImageRegistrationMethod()
    method.SetMetricAsMattesMutualInformation(_BINS)
    method.SetMetricFixedMask(sitk.Cast(fixed.body, sitk.sitkUInt8))
    method.SetMetricSamplingStrategy(method.RANDOM)
    counts = [fixed.image.GetNumberOfPixels() / 8**level for level in levels]
    method.SetMetricSamplingPercentagePerLevel([min(1.0, _SAMPLES / n) for n in counts], _SEED)
    method.SetInterpolator(sitk.sitkLinear)
    method.SetOptimizerAsRegularStepGradientDescent(2.0, 0.01, _ITERATIONS, 0.6)
    method.SetOptimizerScalesFromPhysicalShift()
    method.SetShrinkFactorsPerLevel([2**level for level in levels])
    steps = max(fixed.image.GetSpacing())
    method.SetSmoothingSigmasPerLevel([steps * 2**level / 2 if level else 0 for level in levels])
    method.SmoothingSigmasAreSpecifiedInPhysicalUnitsOn()
    method.SetInitialTransform(transform, inPlace=True)
    stopped: list[BaseException] = []
    count_all = _ITERATIONS * len(levels)
    done = 0

    def iterated() -> None:
        nonlocal done
        done += 1
        if done % 5:
            return
        try:
            progress(min(1.0, done / count_all), "Registering the volumes")
        except BaseException as error:
            stopped.append(error)
            method.StopRegistration()

    method.AddCommand(sitk.sitkIterationEvent, iterated)
    with contextlib.suppress(RuntimeError):  # shares too little: it is judged where it stands
        method.Execute(fixed.image, moving.image)
    if stopped:
        raise stopped[0]
    return _matrix(transform)


def _matrix(transform: Any) -> Matrix:
    """Return a transform as a [4, 4] matrix."""
    matrix = np.eye(4)
    matrix[:3, :3] = np.array(transform.GetMatrix(), float).reshape(3, 3)
    matrix[:3, 3] = transform.TransformPoint((0.0, 0.0, 0.0))
    return matrix


def _on_grid(image: Any, grid: Any, matrix: Matrix, interpolator: int, outside: float = 0) -> Any:
    """Return an image on the voxels of `grid`, whose points `matrix` takes to those of `image`."""
    transform = sitk.AffineTransform(3)
    transform.SetMatrix([float(one) for one in matrix[:3, :3].ravel()])
    transform.SetTranslation([float(one) for one in matrix[:3, 3]])
    return sitk.Resample(image, grid, transform, interpolator, outside)


def _laid_on(image: Any, grid: Any, matrix: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the values of an image on a grid, and where it has any."""
    # A copy: `_array` is a view of an image, which ends with this line.
    values = sitk.GetArrayFromImage(_on_grid(image, grid, matrix, sitk.sitkLinear, _OUTSIDE))
    known = values > _OUTSIDE / 2
    values[~known] = 0
    return values, known


def _likeness(fixed: _Side, moving: _Side, matrix: Matrix) -> tuple[float, float]:
    """Return the median squared local correlation of the two, and the share that both show."""
    smooth = [
        sitk.SmoothingRecursiveGaussian(side.image, [_SMOOTH_MM] * 3) for side in (fixed, moving)
    ]
    theirs, known = _laid_on(smooth[1], smooth[0], matrix)
    here = _array(fixed.body) > 0
    both = here & known
    volumes = [float(np.prod(side.image.GetSpacing())) for side in (fixed, moving)]
    least = min(
        float((_array(side.body) > 0).sum()) * volume
        for side, volume in zip((fixed, moving), volumes, strict=True)
    )
    overlap = min(1.0, float(both.sum()) * volumes[0] / least) if least else 0.0
    mine = _array(smooth[0])
    radius = [max(1, round(_WINDOW_MM / step / 2)) for step in fixed.image.GetSpacing()]

    def mean(values: NDArray[Any]) -> NDArray[np.float64]:
        made = sitk.BoxMean(sitk.GetImageFromArray(values.astype(np.float64)), radius)
        return sitk.GetArrayFromImage(made)

    # Windows that lie within what both show.
    whole = mean(both.astype(float)) > 0.99
    one, other = mean(mine), mean(theirs)
    spread, theirs_spread = mean(mine.astype(float) ** 2) - one**2, mean(theirs**2) - other**2
    shared = mean(mine.astype(float) * theirs) - one * other
    if not whole.any():
        return 0.0, overlap
    structured = whole & (spread >= np.median(spread[whole])) & (spread > 0)
    if not structured.any():
        return 0.0, overlap
    product = spread * np.maximum(theirs_spread, 1e-6)
    found = shared[structured] ** 2 / product[structured]
    return float(np.clip(np.median(found), 0, 1)), overlap
