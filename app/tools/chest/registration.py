"""Registration of one chest radiograph to another by a similarity transform (model process only).

First the centres and areas of the lungs are matched, then the grey levels within the thorax
(SimpleITK: correlation, coarse to fine). A similarity (shift, rotation, one scale) does not deform
the image, so changes of shape stay visible. Coordinates are (x, y) in pixels of each image, with
pixel centres at integers.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import SimpleITK as sitk  # noqa: N813 - the usual alias
from numpy.typing import NDArray
from PIL import Image

from app.tools.api import Progress

Matrix = NDArray[np.float64]

_WORKING_SIDE = 768  # maximum pixels of the longer side when comparing grey levels
_COARSEST = 48
_MARGIN = 0.05  # around the lungs, as a fraction of the longer side; includes ribs and diaphragm
_ITERATIONS = 150
_PROGRESS_STEP = 0.01  # least progress to report: a few iterations, about 0.1 s
_OVERLAP_LOSS = 0.05  # loss of overlap from which the result of the grey levels is discarded


@dataclass(frozen=True, slots=True)
class View:
    """An image to register, with the mask of its lungs.

    Attributes:
        pixels: uint8 [rows, columns], upright.
        lungs: bool [rows, columns]; not empty.
        spacing: (between columns, between rows), in mm or another unit shared by both images.
        origin: Position (x, y) of the centre of pixel (0, 0), in the unit of `spacing`.
    """

    pixels: NDArray[np.uint8]
    lungs: NDArray[np.bool_]
    spacing: tuple[float, float]
    origin: tuple[float, float] = (0.0, 0.0)

    def image(self, values: NDArray[Any]) -> Any:
        """Return an array [rows, columns] as a SimpleITK image with this spacing and origin."""
        made = sitk.GetImageFromArray(values)
        made.SetSpacing(self.spacing)
        made.SetOrigin(self.origin)
        return made

    def reduced(self) -> View:
        """Return the view, averaged over blocks of pixels to at most 768 pixels a side."""
        times = math.ceil(max(self.pixels.shape) / _WORKING_SIDE)
        if times <= 1:
            return self
        across, down = self.spacing
        # The centre of the first block of n pixels lies at pixel (n - 1) / 2.
        first = (times - 1) / 2
        greys = Image.fromarray(self.pixels).reduce(times)
        lungs = Image.fromarray(self.lungs.astype(np.uint8) * 255).reduce(times)
        return View(
            np.asarray(greys),
            np.asarray(lungs) > 127,
            (across * times, down * times),
            (across * first, down * first),
        )

    @property
    def to_physical(self) -> Matrix:
        """Matrix [3, 3] that maps (x, y, 1) in pixels to the unit that both images share."""
        return np.diag([self.spacing[0], self.spacing[1], 1.0])


@dataclass(frozen=True, slots=True)
class Fit:
    """The registration of the prior image to the current one.

    Attributes:
        matrix: [3, 3], from pixels of the current image to pixels of the prior.
        degrees: Clockwise rotation on screen from the current image to the prior one.
        scale: Size of structures in the prior image divided by their size in the current one, both
            in the unit of `View.spacing`.
        overlap: Dice coefficient of the lungs after registration.
        before: Dice coefficient of the lungs when only the images' centres are matched.
        by: "greys" if the grey levels determined the transform; "outlines" if only the lungs' masks
            did, because matching the grey levels made the overlap worse.
    """

    matrix: Matrix
    degrees: float
    scale: float
    overlap: float
    before: float
    by: str


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Register the prior image to the current one.

    `payload` has "current" and "prior", each with "pixels" uint8 [rows, columns], "lungs" uint8 of
    the same size, and "spacing" [between columns, between rows].

    Returns:
        The attributes of `Fit`, and "registered", the prior resampled to the current image: uint8
        [rows, columns], 0 outside the prior.
    """
    # Use the host's limit of threads; ITK would take all cores.
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    current, prior = (_view(payload[name]) for name in ("current", "prior"))
    fit = register(current, prior, progress)
    progress(0.95, "Redrawing the prior image")
    registered = resample(prior.pixels, fit.matrix, current.pixels.shape)
    return {**asdict(fit), "matrix": fit.matrix.tolist(), "registered": registered}


def register(current: View, prior: View, progress: Progress = lambda fraction, text: None) -> Fit:
    """Return the transform that registers `prior` to `current`; both lung masks are not empty."""
    progress(0.05, "Aligning the lungs' outlines")
    start = _outline_transform(current, prior)
    progress(0.2, "Comparing the greys")
    refined = _grey_level_transform(current, prior, start, progress)
    laid = [_overlap(current, prior, _matrix(current, prior, t)) for t in (start, refined)]
    by_greys = laid[1] >= laid[0] - _OVERLAP_LOSS
    chosen = refined if by_greys else start
    return Fit(
        matrix=_matrix(current, prior, chosen),
        degrees=math.degrees(chosen.GetAngle()),
        scale=float(chosen.GetScale()),
        overlap=laid[int(by_greys)],
        before=_overlap(current, prior, _centre_shift(current, prior)),
        by="greys" if by_greys else "outlines",
    )


def resample(
    pixels: NDArray[np.uint8], matrix: Matrix, shape: tuple[int, ...], *, nearest: bool = False
) -> NDArray[np.uint8]:
    """Resample an image uint8 [rows, columns] by a matrix [3, 3] to the [rows, columns] of `shape`.

    The matrix maps pixels (x, y, 1) of the result to pixels of the image. Interpolation is
    bilinear, or by the nearest pixel if `nearest`.
    """
    transform = sitk.AffineTransform(2)
    transform.SetMatrix(matrix[:2, :2].ravel().tolist())
    transform.SetTranslation(matrix[:2, 2].tolist())
    how = sitk.sitkNearestNeighbor if nearest else sitk.sitkLinear
    size = [int(shape[1]), int(shape[0])]
    one, zero, identity = [1.0, 1.0], [0.0, 0.0], [1.0, 0.0, 0.0, 1.0]
    source = sitk.GetImageFromArray(pixels)
    made = sitk.Resample(source, size, transform, how, zero, one, identity, 0.0, sitk.sitkUInt8)
    return sitk.GetArrayFromImage(made)


def dice(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return the Dice coefficient of two masks of equal shape, 0..1; 0 if both are empty."""
    total = int(first.sum()) + int(second.sum())
    return 2 * int((first & second).sum()) / total if total else 0.0


def _view(given: dict[str, Any]) -> View:
    across, down = given["spacing"]
    return View(given["pixels"], given["lungs"].astype(bool), (float(across), float(down)))


def _outline_transform(current: View, prior: View) -> Any:
    """Return the transform that matches the lungs' centres and areas."""
    transform = sitk.Similarity2DTransform()
    centre = _centre(current)
    transform.SetCenter(centre)
    transform.SetTranslation([b - a for a, b in zip(centre, _centre(prior), strict=True)])
    transform.SetScale(math.sqrt(_area(prior) / _area(current)))
    return transform


def _centre(view: View) -> tuple[float, float]:
    y, x = np.nonzero(view.lungs)
    return float(x.mean() * view.spacing[0]), float(y.mean() * view.spacing[1])


def _area(view: View) -> float:
    return float(view.lungs.sum()) * view.spacing[0] * view.spacing[1]


def _grey_level_transform(current: View, prior: View, start: Any, progress: Progress) -> Any:
    """Return the start transform refined by the correlation of grey levels within the thorax."""
    current, prior = current.reduced(), prior.reduced()
    coarsest = max(1, max(current.pixels.shape) // _COARSEST)
    shrinks = sorted({coarsest, max(1, coarsest // 3), 1}, reverse=True)
    fixed, moving = (view.image(view.pixels.astype(np.float32)) for view in (current, prior))
    transform = start
    for number, shrink in enumerate(shrinks):
        method = sitk.ImageRegistrationMethod()
        method.SetMetricAsCorrelation()
        method.SetMetricFixedMask(_thorax_mask(current))
        method.SetInterpolator(sitk.sitkLinear)
        method.SetShrinkFactorsPerLevel([shrink])
        method.SetSmoothingSigmasPerLevel([shrink / 2 if shrink > 1 else 0])
        method.SmoothingSigmasAreSpecifiedInPhysicalUnitsOff()
        method.SetOptimizerAsRegularStepGradientDescent(
            learningRate=2.0 * shrink * min(current.spacing),
            minStep=0.002 * min(current.spacing),
            relaxationFactor=0.75,
            numberOfIterations=_ITERATIONS,
            gradientMagnitudeTolerance=1e-9,
        )
        method.SetOptimizerScalesFromPhysicalShift()
        method.SetInitialTransform(sitk.Similarity2DTransform(transform), inPlace=False)
        share = 0.7 / len(shrinks)
        found = _run(method, fixed, moving, progress, (0.2 + share * number, share))
        transform = sitk.Similarity2DTransform(_single_transform(found))
    return transform


def _run(
    method: Any, fixed: Any, moving: Any, progress: Progress, part: tuple[float, float]
) -> Any:
    """Run a registration method and return its transform; `part` is (start, share) of the progress.

    A cancel is held back while C++ code runs, through which it may not pass.

    Raises:
        Cancelled: The user has stopped it.
    """
    start, share = part
    stopped: list[BaseException] = []
    reported = -1.0

    def iterated() -> None:
        nonlocal reported
        done = share * min(1.0, method.GetOptimizerIteration() / _ITERATIONS)
        if done - reported < _PROGRESS_STEP:
            return
        reported = done
        try:
            progress(start + done, "Comparing the greys")
        except BaseException as error:
            stopped.append(error)
            method.StopRegistration()

    method.AddCommand(sitk.sitkIterationEvent, iterated)
    found: Any = None
    try:
        found = method.Execute(fixed, moving)
    except RuntimeError:
        if not stopped:
            raise
    if stopped:
        raise stopped[0]
    return found


def _single_transform(transform: Any) -> Any:
    """Return the transform itself if SimpleITK returns it in a list of one."""
    if isinstance(transform, sitk.CompositeTransform):
        return transform.GetNthTransform(0)
    return transform


def _thorax_mask(view: View) -> Any:
    """Return a mask of the lungs and their surroundings, without letters and collimator edges."""
    lungs = view.image(view.lungs.astype(np.uint8))
    away = sitk.SignedMaurerDistanceMap(lungs, squaredDistance=False, useImageSpacing=True)
    sides = [count * step for count, step in zip(lungs.GetSize(), view.spacing, strict=True)]
    return sitk.Cast(away <= _MARGIN * max(sides), sitk.sitkUInt8)


def _matrix(current: View, prior: View, transform: Any) -> Matrix:
    """Return the matrix [3, 3] from pixels of the current image to pixels of the prior."""
    linear = np.array(transform.GetMatrix(), float).reshape(2, 2)
    centre = np.array(transform.GetCenter(), float)
    physical = np.eye(3)
    physical[:2, :2] = linear
    physical[:2, 2] = np.array(transform.GetTranslation(), float) + centre - linear @ centre
    return np.linalg.inv(prior.to_physical) @ physical @ current.to_physical


def _centre_shift(current: View, prior: View) -> Matrix:
    """Return the matrix [3, 3] that matches the images' centres by a shift in the shared unit."""
    middles = [
        np.array([(s - 1) / 2 for s in reversed(view.pixels.shape)]) * view.spacing
        for view in (current, prior)
    ]
    shift = np.eye(3)
    shift[:2, 2] = middles[1] - middles[0]
    return np.linalg.inv(prior.to_physical) @ shift @ current.to_physical


def _overlap(current: View, prior: View, matrix: Matrix) -> float:
    moved = resample(prior.lungs.astype(np.uint8), matrix, current.lungs.shape, nearest=True)
    return dice(current.lungs, moved.astype(bool))
