"""The tool `chest_xray_classifier`: 18 scores, and maps of where the model looked for them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field, RootModel

from app.imaging.findings import Finding, Heatmap, Provenance, new_id
from app.imaging.types import ImageRef
from app.paths import shipped_table
from app.tools.api import (
    Need,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.chest import image_suitability
from app.tools.chest.boxes import place_on_film
from app.tools.chest.model_pictures import ModelInput
from app.tools.chest.model_results import call_model, model_metadata, required_model, with_warnings
from app.tools.chest.organs import name_key
from app.tools.files import plain

LABELS: tuple[str, ...] = tuple(shipped_table("chest", "labels")["all"])
"""The labels of torchxrayvision's densenet121-res224-all, in the order of its outputs."""

MOST_LABELS = 6
"""Largest number of labels with heat maps in one call: each map is as large as the image."""

FLAGGED = "flagged"
"""In place of a label: those with a score above 0.5, the highest first."""

_OTHER_NAMES: dict[str, str] = shipped_table("chest", "labels")["other_names"]


def match(requested: Sequence[str] | None) -> tuple[str, ...]:
    """Return the classifier's labels for the requested names, without repeats; () for no names.

    Raises:
        ToolRetry: A name is unknown, and the message lists the known labels; or more than
            `MOST_LABELS` labels are requested.
    """
    known = {name_key(label): label for label in LABELS}
    found: list[str] = []
    for name in requested or ():
        key = name_key(name)
        label = known.get(key) or _OTHER_NAMES.get(key) or known.get(key.removesuffix("s"))
        if label is None:
            near = difflib.get_close_matches(key, known, n=2, cutoff=0.7)
            hint = f" Did you mean {' or '.join(known[item] for item in near)}?" if near else ""
            raise ToolRetry(
                f"the classifier has no label {name[:60]!r}.{hint}",
                remedy=f"Its labels: {', '.join(LABELS)}.",
            )
        found.append(label)
    found = list(dict.fromkeys(found))
    if len(found) > MOST_LABELS:
        raise ToolRetry(
            f"maps of at most {MOST_LABELS} labels are drawn at once, not of {len(found)}",
            remedy="Name fewer labels; the scores of all 18 are given anyway.",
        )
    return tuple(found)


INPUT_SIZE = 224
CELL_STRIDE = 32.0
"""Stride of the last layer's cells, in input pixels."""
FIRST_CELL = 14.0
"""Input pixel at the centre of the first cell.

It follows from the network's layers, from the last to the first: three 2 x 2 average poolings (each
x -> 2x + 0.5), the 3 x 3 maximum and the 7 x 7 convolution (each x -> 2x) give 32x + 14.
"""


def central_square(shape: tuple[int, int]) -> tuple[int, int, int]:
    """Return (left, top, side), in pixels, of the central square that torchxrayvision looks at.

    `shape` is the image's [rows, columns]. torchxrayvision's function is `XRayCenterCrop`.
    """
    rows, columns = shape
    side = min(rows, columns)
    return columns // 2 - side // 2, rows // 2 - side // 2, side


def map_to_image(cells: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Enlarge an activation map [7, 7] of the network to the size of the image, `shape`.

    Returns:
        float32 [rows, columns], scaled to a maximum of 1; 0 outside `central_square`.
    """
    left, top, side = central_square(shape)
    wide = np.maximum(np.asarray(cells, np.float32), 0)
    highest = float(wide.max())
    found = np.zeros(shape, np.float32)
    if highest > 0:
        down, across = (_weights(side, count) for count in wide.shape)
        inside = found[top : top + side, left : left + side]
        np.matmul(down @ (wide / highest), across.T, out=inside)
    return found


def _weights(side: int, cells: int) -> NDArray[np.float32]:
    """Return the linear interpolation weights [side, cells] of each cell for each pixel."""
    at = ((np.arange(side) + 0.5) * (INPUT_SIZE / side) - 0.5 - FIRST_CELL) / CELL_STRIDE
    at = np.clip(at, 0, cells - 1)
    first = np.minimum(at.astype(int), cells - 2)
    share = (at - first).astype(np.float32)
    found = np.zeros((side, cells), np.float32)
    rows = np.arange(side)
    found[rows, first] = 1 - share
    found[rows, first + 1] = share
    return found


MODEL = "densenet121-res224-all"
OPERATING_POINT = 0.5
NOTE = (
    "Scores, not probabilities: each label is scaled so that 0.5 is its operating point on the "
    "training data (torchxrayvision). Above 0.5 the model flags the label, below it does not; how "
    "far above says little."
)
NEAR_MARGIN = 0.05
"""Distance from the operating point within which a score decides nothing."""
SPREAD_NOTE = (
    "Spread: standard deviation of the score over six views of the same picture (as it is, "
    "mirrored, its four corners); range: lowest and highest; stable: all on one side of 0.5."
)
MAP_NOTE = (
    "Where the model looked for {label} (score {score:.2f}; class activation, relative, no "
    "outline of a disease). It saw the central square only. Not for diagnosis."
)
_PACKAGES = ("torch", "torchvision", "torchxrayvision")
_ENTRY = "app.tools.chest.densenet:entry"
_TIMEOUT_S = 110.0


class ClassifierInput(ToolInput):
    """Arguments of `chest_xray_classifier`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")
    labels: list[str] | None = Field(
        default=None,
        description="At most 6 that the question is about: for each a heatmap of where the model "
        "looked is drawn. `flagged` means those with a score above 0.5.",
    )


class ClassifierOutput(RootModel[dict[str, float]]):
    """The classifier's scores: label -> 0..1; the model reports a finding above 0.5."""


SPEC = ToolSpec(
    name="chest_xray_classifier",
    title="Score chest findings",
    icon="stethoscope",
    description=(
        "Scores 18 findings on a frontal chest radiograph with torchxrayvision's DenseNet-121: "
        "Atelectasis, Consolidation, Infiltration, Pneumothorax, Edema, Emphysema, Fibrosis, "
        "Effusion, Pneumonia, Pleural_Thickening, Cardiomegaly, Nodule, Mass, Hernia, Lung Lesion, "
        "Fracture, Lung Opacity, Enlarged Cardiomediastinum. 0.5 is each label's operating point: "
        "the scores are not probabilities. A heatmap does not outline a disease. Needs installed "
        "weights."
    ),
    Input=ClassifierInput,
    Output=ClassifierOutput,
    needs=(Need("package", "torch"), Need("package", "torchxrayvision"), Need("weights", MODEL)),
    pack="chest",
)


class ChestXRayClassifier:
    """The tool `chest_xray_classifier`: scores 18 findings on a chest radiograph."""

    spec = SPEC

    def run(self, args: ClassifierInput, context: ToolContext) -> ToolResult:
        """Score the findings on the image in `args`; for errors see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        named = args.labels or ()
        flagged = FLAGGED in named
        requested = match([name for name in named if name != FLAGGED])
        snapshot = context.images.resolve(args.image_path)
        suitability = image_suitability.check(snapshot, context, needs=(MODEL,))
        model = required_model(MODEL, "The chest classifier", _PACKAGES, context)
        shown = ModelInput.of(snapshot)
        payload = {
            "pixels": shown.pixels,
            "labels": list(requested),
            "flagged": MOST_LABELS - len(requested) if flagged else 0,
            "spread": flagged or bool(requested),
        }
        answer = call_model(_ENTRY, model, payload, context, _TIMEOUT_S)
        scores: dict[str, float] = {k: round(float(v), 6) for k, v in answer["scores"].items()}
        warnings = [*suitability.warnings, *shown.hanging.warnings, *model.warnings]
        if max(shown.pixels.shape) > min(shown.pixels.shape):
            warnings.append("only the image's central square is looked at, as in training")
        warnings = list(dict.fromkeys([*warnings, *answer.get("notes", ())]))
        maps = {
            label: _heatmap(cells, shown)
            for label, cells in answer.get("cells", {}).items()
            if label in scores
        }
        above = [label for label in _above(scores) if label in maps] if flagged else []
        requested = tuple(dict.fromkeys([*requested, *above]))
        places = {} if shown.hanging.on_its_side else highest_places(answer.get("cells", {}), shown)
        uncertainty = _uncertainty(scores, answer.get("spread", {}))
        metadata = {
            "image_path": args.image_path,
            "note": NOTE,
            "operating_point": OPERATING_POINT,
            "above_operating_point": _above(scores),
            "uncertainty": uncertainty,
            **_label_metadata(requested, maps),
            **({"looked_at": places} if places else {}),
            **model_metadata(model, answer),
            "warnings": warnings,
            "status": "completed",
        }
        provenance = context.provenance(SPEC, model.card.title, model.sha256)
        return ToolResult(
            _summary(scores, warnings, uncertainty, requested),
            plain(scores),
            plain(metadata),
            _findings(maps, scores, snapshot.ref, provenance),
        )


def _findings(
    maps: Mapping[str, NDArray[np.float32]],
    scores: Mapping[str, float],
    image: ImageRef,
    provenance: Provenance,
) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            id=new_id(),
            image=image,
            geometry=Heatmap(values),
            label=label,
            score=scores[label],
            units="",
            provenance=provenance,
            description=MAP_NOTE.format(label=label, score=scores[label]),
        )
        for label, values in maps.items()
        if values.any()
    )


def _heatmap(cells: NDArray[np.float32], shown: ModelInput) -> NDArray[np.float32]:
    """Return the heat map in the original image's pixels; the model received square pixels."""
    rows, columns = shown.pixels.shape
    found = shown.hanging.turned(map_to_image(cells, (rows, columns)))
    if (rows, columns) == (shown.rows, shown.columns):
        return found
    size = (shown.columns, shown.rows)
    resized = Image.fromarray(found).resize(size, Image.Resampling.BILINEAR)
    return np.clip(np.asarray(resized, np.float32), 0, 1)


def highest_places(cells: Mapping[str, NDArray[np.float32]], shown: ModelInput) -> dict[str, str]:
    """Return in words where each label's map is highest on the upright film."""
    rows, columns = shown.pixels.shape
    left, top, side = central_square((rows, columns))
    found: dict[str, str] = {}
    for label, values in cells.items():
        if not values.any():
            continue
        peak = np.unravel_index(int(np.argmax(values)), values.shape)
        y, x = ((FIRST_CELL + CELL_STRIDE * at + 0.5) / INPUT_SIZE * side for at in map(int, peak))
        found[label] = place_on_film((left + x) / columns, (top + y) / rows)
    return found


def _uncertainty(
    scores: Mapping[str, float], spread: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, Any]]:
    """Return each label's score, distance from the operating point and, if known, spread."""
    found: dict[str, dict[str, Any]] = {}
    for label, score in scores.items():
        distance = round(score - OPERATING_POINT, 6)
        found[label] = {"score": score, "distance": distance, "near": abs(distance) < NEAR_MARGIN}
        if label in spread:
            deviation, lowest, highest = (round(float(value), 6) for value in spread[label])
            found[label] |= {
                "spread": deviation,
                "range": [lowest, highest],
                "stable": (lowest > OPERATING_POINT) == (highest > OPERATING_POINT),
            }
    return found


def _label_metadata(
    requested: Sequence[str], maps: Mapping[str, NDArray[np.float32]]
) -> dict[str, Any]:
    """Return the metadata about the requested labels, or {} when none was requested."""
    if not requested:
        return {}
    empty = [label for label, values in maps.items() if not values.any()]
    return {
        "labels": list(requested),
        "spread_note": SPREAD_NOTE,
        "heatmap_note": "Relative to the highest place of the same map; zero outside the central "
        "square, which is all that the model saw.",
        "without_heatmap": empty,
    }


def _above(scores: Mapping[str, float]) -> list[str]:
    above = [label for label, score in scores.items() if score > OPERATING_POINT]
    return sorted(above, key=lambda label: -scores[label])


def _summary(
    scores: Mapping[str, float],
    warnings: Sequence[str],
    uncertainty: Mapping[str, Mapping[str, Any]],
    requested: Sequence[str],
) -> str:
    above = [f"{label} {scores[label]:.2f}" for label in _above(scores)]
    text = (
        f"Above the operating point of 0.5: {', '.join(above)}."
        if above
        else "No label is above the operating point of 0.5."
    )
    for label in requested:
        lowest, highest = uncertainty[label].get("range", (scores[label], scores[label]))
        turns = "" if uncertainty[label].get("stable", True) else ", on both sides of 0.5"
        text += (
            f" {label}: {scores[label]:.2f} ({lowest:.2f} to {highest:.2f} where the picture is "
            f"mirrored or cropped{turns})."
        )
    text += " These are model scores, not probabilities."
    return with_warnings(text, warnings)
