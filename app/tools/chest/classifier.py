"""`chest_xray_classifier`: torchxrayvision's 18 scores."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, RootModel

from app.tools.api import Approval, Need, ToolContext, ToolResult, ToolSpec
from app.tools.chest import gate
from app.tools.chest.segmenter import model_pixels, other_weights
from app.tools.files import plain
from app.tools.needs import require_packages
from app.tools.weight_specs import DENSENET
from app.tools.weights import WeightStore, sha256_of

OPERATING_POINT = 0.5
NOTE = (
    "Scores, not probabilities: each label is scaled so that 0.5 is its operating point on the "
    "training data (torchxrayvision). Above 0.5 the model flags the label, below it does not; how "
    "far above says little. Not for diagnosis."
)
_TIMEOUT_S = 110.0


class ClassifierInput(BaseModel):
    """Arguments of `chest_xray_classifier`."""

    model_config = ConfigDict(extra="forbid")

    image_path: str = Field(description="The chest radiograph: the app's image id or its path.")


class ClassifierOutput(RootModel[dict[str, float]]):
    """Label -> score in 0..1; 0.5 is the operating point."""


SPEC = ToolSpec(
    name="chest_xray_classifier",
    description=(
        "Scores 18 findings on a frontal chest radiograph with torchxrayvision's DenseNet-121: "
        "Atelectasis, Consolidation, Infiltration, Pneumothorax, Edema, Emphysema, Fibrosis, "
        "Effusion, Pneumonia, Pleural_Thickening, Cardiomegaly, Nodule, Mass, Hernia, Lung Lesion, "
        "Fracture, Lung Opacity, Enlarged Cardiomediastinum. 0.5 is each label's operating point: "
        "the scores are not probabilities. It says nothing about where. Needs installed weights."
    ),
    Input=ClassifierInput,
    Output=ClassifierOutput,
    needs=(
        Need("package", "torch"),
        Need("package", "torchxrayvision"),
        Need("weights", DENSENET.name),
    ),
    approval=Approval.COMPUTE,
    timeout_s=120.0,
    pack="chest",
)


class ChestXRayClassifier:
    """The tool."""

    @property
    def spec(self) -> ToolSpec:
        """What it is."""
        return SPEC

    def run(self, args: ClassifierInput, context: ToolContext) -> ToolResult:
        """Classify; see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        admission = gate.admit(snapshot, context)
        store = WeightStore(context.models_dir)
        weights = store.require(DENSENET, "The chest classifier")
        require_packages("The chest classifier", "torch", "torchvision", "torchxrayvision")
        warnings = list(admission.warnings)
        if not store.is_published(DENSENET, weights):
            warnings.append(other_weights(weights))
        pixels = model_pixels(snapshot)
        payload = {"pixels": pixels, "weights": str(weights), "device": context.device}
        answer = context.host.call(
            "app.tools.chest.densenet:entry",
            payload,
            cancel=context.cancel,
            timeout_s=_TIMEOUT_S,
            progress=context.progress,
        )
        scores: dict[str, float] = {k: round(float(v), 6) for k, v in answer["scores"].items()}
        side = min(pixels.shape)
        if max(pixels.shape) > side:
            warnings.append("only the image's central square is looked at, as in training")
        metadata = {
            "image_path": args.image_path,
            "note": NOTE,
            "operating_point": OPERATING_POINT,
            "above_operating_point": _above(scores),
            "model": DENSENET.title,
            "weights_sha256": sha256_of(weights),
            "device": answer.get("device", ""),
            "warnings": warnings,
            "status": "completed",
        }
        return ToolResult(_summary(scores, warnings), plain(scores), plain(metadata))


def _above(scores: dict[str, float]) -> list[str]:
    """Labels above the operating point, the highest first."""
    above = [label for label, score in scores.items() if score > OPERATING_POINT]
    return sorted(above, key=lambda label: -scores[label])


def _summary(scores: dict[str, float], warnings: list[str]) -> str:
    above = [f"{label} {scores[label]:.2f}" for label in _above(scores)]
    text = (
        f"Above the operating point of 0.5: {', '.join(above)}."
        if above
        else "No label is above the operating point of 0.5."
    )
    text += " These are model scores, not probabilities."
    return f"{text} Warnings: {'; '.join(warnings)}." if warnings else text
