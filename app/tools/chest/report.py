"""The tool `chest_xray_report_generator`: models draft the findings and the impression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from app.imaging.findings import Box
from app.tools.api import (
    Need,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolSpec,
    takes,
)
from app.tools.chest import image_suitability
from app.tools.chest.grounding import located_phrases
from app.tools.chest.model_pictures import ModelInput
from app.tools.chest.model_results import (
    NOTE,
    call_model,
    check_text,
    labelled_findings,
    with_warnings,
)
from app.tools.files import plain
from app.tools.models.cards import card
from app.tools.models.store import InstalledModel, ModelStore
from app.tools.needs import command, require_packages

FINDINGS = "chexpert-mimic-cxr-findings"
IMPRESSION = "chexpert-mimic-cxr-impression"
SECTIONS: Mapping[str, str] = {"findings": FINDINGS, "impression": IMPRESSION}
"""Section -> the card of its model, in the order of a report."""
BETTER = "maira-2"
"""The card of the model that writes the findings in place of the usual one, if it is installed."""

_ENTRY = "app.tools.chest.report_net:entry"
_FEATURE = "The report generator"
_BETTER_ENTRY = "app.tools.chest.maira:entry"
_TIMEOUT_S = 590.0
_TOKENS = {True: 450, False: 300}
"""Length of MAIRA-2's findings at most, with boxes and without, as its authors set it."""
_NO_PRIOR = (
    "findings: the model was given neither an earlier film nor the clinical question; what it says "
    "of either is invented"
)


class ReportInput(ToolInput):
    """Arguments of `chest_xray_report_generator`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")
    grounded: bool = Field(default=True, description="Boxes for sentences (MAIRA-2).")


class ReportOutput(BaseModel):
    """The two drafted sections; None if a section's model is missing or wrote no usable text."""

    findings: str | None = None
    impression: str | None = None


SPEC = ToolSpec(
    name="chest_xray_report_generator",
    title="Draft a report",
    icon="file-text",
    description=(
        "Drafts findings and impression of a report on a frontal chest radiograph (MAIRA-2 where "
        "it is installed, else two small models). A draft that nobody has checked: it may invent, "
        "overlook, or speak of a prior film it has not seen. Needs installed weights."
    ),
    Input=ReportInput,
    Output=ReportOutput,
    needs=(
        Need("package", "torch"),
        Need("package", "transformers"),
        Need("weights", FINDINGS),
        Need("weights", IMPRESSION),
    ),
    timeout_s=900.0,
    pack="chest",
    phrases=("draft report", "radiology report", "findings and impression"),
)


class ChestXRayReportGenerator:
    """The tool `chest_xray_report_generator`: drafts the findings and impression of a report."""

    spec = SPEC

    def run(self, args: ReportInput, context: ToolContext) -> ToolResult:
        """Draft both sections for the image in `args`; for errors see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        suitability = image_suitability.check(snapshot, context, needs=(*SECTIONS.values(), BETTER))
        models = _installed(ModelStore(context.models_dir))
        require_packages(_FEATURE, "torch", "transformers")
        # Turn the film first: a mirrored one would be reported with left and right exchanged.
        shown = ModelInput.of(snapshot)
        answers = {
            name: _write(name, model, shown, args, context, (place / len(models), 1 / len(models)))
            for place, (name, model) in enumerate(models.items())
        }
        located: list[dict[str, Any]] = []
        boxes: list[tuple[str, Box]] = []
        written = {name: check_text(answer) for name, answer in answers.items()}
        texts = {name: checked.text for name, checked in written.items() if checked.text}
        doubts: list[str] = []
        for name, model in models.items():
            doubts += [f"{name}: {fault}" for fault in written[name].faults]
            doubts += [*model.warnings, *(str(note) for note in answers[name].get("notes", ()))]
            if model.card.name == BETTER:
                located, boxes, more = located_phrases({**answers[name], "cut": False}, shown, name)
                doubts += [_NO_PRIOR, *more]
        warnings = [
            *suitability.warnings,
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
            "models": {name: model.card.title for name, model in models.items()},
            "weights_sha256": {name: model.sha256 for name, model in models.items()},
            "located": located,
            "device": str(next(iter(answers.values())).get("device", "")),
            "note": NOTE,
            "warnings": warnings,
            "status": "completed",
        }
        output = {name: texts.get(name) for name in SECTIONS}
        wrote = next(iter(models.values()))  # boxes are of the first section
        findings = labelled_findings(
            boxes,
            snapshot.ref,
            context.provenance(SPEC, wrote.card.title, wrote.sha256),
            f"Marked for this sentence of a draft report. {NOTE}",
            f"report-{context.call_id}",
        )
        return ToolResult(
            _summary(texts, models, warnings), plain(output), plain(metadata), findings
        )


def _installed(store: ModelStore) -> dict[str, InstalledModel]:
    """Return the installed models by section; raise `ToolFailed` without any."""
    found = {name: store.find(card(wanted)) for name, wanted in SECTIONS.items()}
    better = store.find(card(BETTER))
    if better is not None and (better.accepted or not any(found.values())):
        found["findings"] = store.require(BETTER, _FEATURE)
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
    shown: ModelInput,
    args: ReportInput,
    context: ToolContext,
    share: tuple[float, float],
) -> dict[str, Any]:
    """Write one section; `share` is the start and the length of its part of the progress."""

    def report_progress(fraction: float, text: str) -> None:
        context.progress(share[0] + share[1] * fraction, f"{name.capitalize()}: {text}")

    context.cancel.check()
    if model.card.name != BETTER:
        given = {"pixels": shown.pixels}
        return call_model(_ENTRY, model, given, context, _TIMEOUT_S, report_progress)
    most = _TOKENS[args.grounded]
    given = {"grey": shown.pixels, "grounded": args.grounded, "max_new_tokens": most}
    answer = call_model(_BETTER_ENTRY, model, given, context, _TIMEOUT_S, report_progress)
    return {**answer, "finished": not answer["cut"], "most": most}


def _left_out(models: Mapping[str, InstalledModel]) -> list[str]:
    return [
        f"{name}: not written, since {card(wanted).title} is not installed "
        f"(`{command()} models get {wanted}`)"
        for name, wanted in SECTIONS.items()
        if name not in models
    ]


def _summary(
    texts: Mapping[str, str], models: Mapping[str, InstalledModel], warnings: list[str]
) -> str:
    """Return the draft as text, with the models that wrote it and the warnings."""
    draft = "\n\n".join(f"{name.upper()}:\n{text}" for name, text in texts.items())
    wrote = "; ".join(f"{name} by {models[name].card.title}" for name in texts)
    return with_warnings(f"{draft}\n\nWritten: {wrote}. {NOTE}", warnings)
