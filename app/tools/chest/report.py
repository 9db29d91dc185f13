"""The tool `chest_xray_report_generator`: two models draft the findings and the impression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.tools.api import Need, ToolContext, ToolFailed, ToolInput, ToolResult, ToolSpec
from app.tools.chest import image_suitability
from app.tools.chest.model_pictures import ModelInput
from app.tools.chest.model_results import NOTE, call_model, check_text, with_warnings
from app.tools.files import plain
from app.tools.models.cards import card
from app.tools.models.store import InstalledModel, ModelStore
from app.tools.needs import command, require_packages

FINDINGS = "chexpert-mimic-cxr-findings"
IMPRESSION = "chexpert-mimic-cxr-impression"
SECTIONS: Mapping[str, str] = {"findings": FINDINGS, "impression": IMPRESSION}
"""Section -> the card of its model, in the order of a report."""

_ENTRY = "app.tools.chest.report_net:entry"
_FEATURE = "The report generator"
_TIMEOUT_S = 290.0


class ReportInput(ToolInput):
    """Arguments of `chest_xray_report_generator`."""

    image_path: str = Field(description="The chest radiograph: the app's image id or its path.")


class ReportOutput(BaseModel):
    """The two drafted sections; None if a section's model is missing or wrote no usable text."""

    findings: str | None = None
    impression: str | None = None


SPEC = ToolSpec(
    name="chest_xray_report_generator",
    title="Draft a report",
    icon="file-text",
    description=(
        "Drafts the findings and the impression of a report on a frontal chest radiograph, with "
        "two small models trained on CheXpert and MIMIC-CXR. A draft that nobody has checked: it "
        "may invent, overlook, or speak of a prior film it has not seen. Needs installed weights "
        "for each section; with one model it writes that section."
    ),
    Input=ReportInput,
    Output=ReportOutput,
    needs=(
        Need("package", "torch"),
        Need("package", "transformers"),
        Need("weights", FINDINGS),
        Need("weights", IMPRESSION),
    ),
    timeout_s=300.0,
    pack="chest",
    phrases=("draft report", "radiology report", "findings and impression"),
)


class ChestXRayReportGenerator:
    """The tool `chest_xray_report_generator`: drafts the findings and impression of a report."""

    spec = SPEC

    def run(self, args: ReportInput, context: ToolContext) -> ToolResult:
        """Write both sections; see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        admission = image_suitability.admit(snapshot, context, needs=tuple(SECTIONS.values()))
        models = _installed(ModelStore(context.models_dir))
        require_packages(_FEATURE, "torch", "transformers")
        # Turn the film first: a mirrored one would be reported with left and right exchanged.
        shown = ModelInput.of(snapshot)
        answers = {
            name: _write(name, model, shown.pixels, context, (place / len(models), 1 / len(models)))
            for place, (name, model) in enumerate(models.items())
        }
        written = {name: check_text(answer) for name, answer in answers.items()}
        texts = {name: checked.text for name, checked in written.items() if checked.text}
        doubts: list[str] = []
        for name, model in models.items():
            doubts += [f"{name}: {fault}" for fault in written[name].faults]
            doubts += [*model.warnings, *(str(note) for note in answers[name].get("notes", ()))]
        warnings = [
            *admission.warnings,
            *shown.hanging.warnings,
            *dict.fromkeys(doubts),
            *_left_out(models),
        ]
        if not texts:
            raise ToolFailed(
                f"the report generator wrote no usable text: {'; '.join(warnings)}",
                remedy="Look at the image yourself; other tools may still help.",
            )
        metadata = {
            "image_path": args.image_path,
            "sections_generated": list(texts),
            "model": "; ".join(model.card.title for model in models.values()),
            "weights_sha256": {name: model.sha256 for name, model in models.items()},
            "device": str(next(iter(answers.values())).get("device", "")),
            "note": NOTE,
            "warnings": warnings,
            "status": "completed",
        }
        output = {name: texts.get(name) for name in SECTIONS}
        return ToolResult(_summary(texts, warnings), plain(output), plain(metadata))


def _installed(store: ModelStore) -> dict[str, InstalledModel]:
    """Return the installed models by section; raise `ToolFailed` without any."""
    found = {name: store.find(card(wanted)) for name, wanted in SECTIONS.items()}
    models = {name: model for name, model in found.items() if model is not None}
    if not models:
        wanted = [card(name) for name in SECTIONS.values()]
        raise ToolFailed(
            f"{_FEATURE} needs models that are not installed: "
            f"{' and '.join(item.title for item in wanted)}",
            remedy=" ".join(store.how_to_get(item) for item in wanted),
        )
    return models


def _write(
    name: str,
    model: InstalledModel,
    pixels: NDArray[np.uint8],
    context: ToolContext,
    share: tuple[float, float],
) -> dict[str, Any]:
    """Write one section; `share` is the start and the length of its part of the progress."""

    def report_progress(fraction: float, text: str) -> None:
        context.progress(share[0] + share[1] * fraction, f"{name.capitalize()}: {text}")

    context.cancel.check()
    return call_model(_ENTRY, model, {"pixels": pixels}, context, _TIMEOUT_S, report_progress)


def _left_out(models: Mapping[str, InstalledModel]) -> list[str]:
    return [
        f"{name}: not written, since {card(wanted).title} is not installed "
        f"(`{command()} models get {wanted}`)"
        for name, wanted in SECTIONS.items()
        if name not in models
    ]


def _summary(texts: Mapping[str, str], warnings: list[str]) -> str:
    """Return the draft as text, with the warnings."""
    draft = "\n\n".join(f"{name.upper()}:\n{text}" for name, text in texts.items())
    return with_warnings(f"{draft}\n\n{NOTE}", warnings)
