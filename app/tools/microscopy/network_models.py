"""Runs Cellpose, StarDist and InstanSeg on one image (model process only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress, ToolFailed
from app.tools.microscopy.classical import MIN_AREA, numbered
from app.tools.microscopy.image_kind import ImageKind
from app.tools.microscopy.measures import measured

_LOADED: dict[str, Any] = {}


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Segment one image with a network and measure its objects.

    `payload` is that of `classical.entry`, with "network", a key of `networks.PACKAGES`.

    Returns:
        As `classical.entry`, with "model", the network's name and its pretrained model.

    Raises:
        ToolFailed: The network's pretrained model cannot be loaded.
    """
    pixels, network = payload["pixels"], str(payload["network"])
    kind, target = ImageKind(payload["kind"]), str(payload["target"])
    progress(0.1, "Loading the network")
    run = {"cellpose": _cellpose, "stardist": _stardist, "instanseg": _instanseg}[network]
    found, model = run(pixels, kind, target, payload, progress)
    labels = np.asarray(found)
    if labels.shape != pixels.shape[:2]:
        raise ToolFailed(f"{model} answered with a mask of another size than the image")
    areas = np.bincount(labels.ravel().astype(np.int64))[1:]
    areas = areas[areas > 0]
    width = float(np.sqrt(4 * np.median(areas) / np.pi)) if len(areas) else 0.0
    least = payload["min_area"]
    least = float(max(4.0, round(MIN_AREA * width**2)) if least is None else least)
    numbers = numbered(labels.astype(np.int32), least)
    progress(0.9, "Measuring")
    return {
        "labels": numbers,
        "model": model,
        "method": "pretrained network",
        "diameter": payload["diameter"] or width,
        "min_area": least,
        "columns": measured(numbers, pixels),
    }


def _stretched(pixels: NDArray[Any]) -> NDArray[np.float32]:
    """Return pixels scaled so that the 1st and 99.8th percentiles are 0 and 1, as StarDist does."""
    low, high = np.percentile(pixels, (1, 99.8), axis=(0, 1), keepdims=True)
    return ((pixels - low) / np.maximum(high - low, 1e-6)).astype(np.float32)


def _loaded(name: str, load: Any) -> Any:
    if name not in _LOADED:
        try:
            _LOADED[name] = load()
        except Exception as error:  # each package raises its own
            raise ToolFailed(
                f"the pretrained model {name} cannot be loaded ({type(error).__name__})",
                remedy="Sightline fetches nothing by itself: put the model where its package looks "
                "for it, once with the network, or use model classical.",
                detail=str(error),
            ) from error
    return _LOADED[name]


def _cellpose(
    pixels: NDArray[Any], kind: ImageKind, target: str, payload: dict[str, Any], progress: Progress
) -> tuple[NDArray[Any], str]:
    """Cellpose 4 (Cellpose-SAM) or, with an older package, its model for nuclei or cells."""
    from cellpose import models  # pyright: ignore[reportMissingImports]

    device = str(payload.get("device") or "cpu")
    gpu = device != "cpu"
    if hasattr(models, "Cellpose"):  # up to version 3
        name = "nuclei" if target == "nuclei" else "cyto3"
        network = _loaded(f"Cellpose {name}", lambda: models.Cellpose(gpu=gpu, model_type=name))
        more: dict[str, Any] = {"channels": [0, 0]}
    else:
        name = "cpsam"
        network = _loaded("Cellpose cpsam", lambda: models.CellposeModel(gpu=gpu))
        more = {}
    progress(0.3, "Segmenting with Cellpose")
    found = network.eval(pixels, diameter=payload["diameter"], **more)[0]
    return np.asarray(found), f"Cellpose {name}"


def _stardist(
    pixels: NDArray[Any], kind: ImageKind, target: str, payload: dict[str, Any], progress: Progress
) -> tuple[NDArray[Any], str]:
    """StarDist's model for H&E or for fluorescence."""
    from stardist.models import StarDist2D  # pyright: ignore[reportMissingImports]

    stained = kind in (ImageKind.TISSUE, ImageKind.BLOOD) and pixels.ndim == 3
    name = "2D_versatile_he" if stained else "2D_versatile_fluo"
    network = _loaded(f"StarDist {name}", lambda: StarDist2D.from_pretrained(name))
    if network is None:
        _LOADED.pop(f"StarDist {name}", None)
        raise ToolFailed(
            f"the pretrained model StarDist {name} is not there",
            remedy="Load it once with stardist itself, or use model classical.",
        )
    grey = pixels if stained or pixels.ndim == 2 else pixels.max(axis=2)
    progress(0.3, "Segmenting with StarDist")
    found = network.predict_instances(_stretched(grey))[0]
    return np.asarray(found), f"StarDist {name}"


def _instanseg(
    pixels: NDArray[Any], kind: ImageKind, target: str, payload: dict[str, Any], progress: Progress
) -> tuple[NDArray[Any], str]:
    """InstanSeg's model for H&E or for fluorescence; its first output is nuclei, its last cells."""
    from instanseg import InstanSeg  # pyright: ignore[reportMissingImports]

    stained = kind in (ImageKind.TISSUE, ImageKind.BLOOD) and pixels.ndim == 3
    name = "brightfield_nuclei" if stained else "fluorescence_nuclei_and_cells"
    network = _loaded(f"InstanSeg {name}", lambda: InstanSeg(name, verbosity=0))
    image = pixels if pixels.ndim == 3 else pixels[..., None]
    progress(0.3, "Segmenting with InstanSeg")
    answer: Any = network.eval_small_image(image, payload.get("pixel_um"))
    found = answer[0] if isinstance(answer, tuple) else answer
    planes = np.asarray(found.cpu() if hasattr(found, "cpu") else found)
    planes = planes.reshape(-1, *planes.shape[-2:])
    return planes[0 if target == "nuclei" else -1], f"InstanSeg {name}"
