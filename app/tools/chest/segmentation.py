"""The tool `chest_xray_segmentation`: masks of chest structures, measurements and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from app.imaging.findings import Finding, Mask, new_id
from app.tools.api import (
    Artifact,
    ImageSnapshot,
    Need,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolSpec,
    takes,
)
from app.tools.chest import image_suitability, organs, overlay
from app.tools.chest.ctr_geometry import LEFT_LUNG, RIGHT_LUNG
from app.tools.chest.mask_figures import area_note, area_text, organ_metrics, spacing_mm
from app.tools.chest.model_results import with_warnings
from app.tools.chest.segmenter import PSPNET, Segmentation, Segmenter, organs_of
from app.tools.files import plain, save_png
from app.tools.models.cards import card
from app.tools.models.store import InstalledModel, ModelStore


class SegmentationInput(ToolInput):
    """Arguments of `chest_xray_segmentation`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")
    organs: list[str] | None = Field(
        default=None,
        description="All that can be had when left out. Facies Diaphragmatica is the diaphragm, "
        "Weasand the oesophagus. Known: " + ", ".join(organs.ALL) + ".",
    )


class OrganMetrics(BaseModel):
    """Measurements of one structure; see `app.tools.chest.mask_figures.organ_metrics`."""

    area_pixels: int
    area_cm2: float | None = Field(description="None unless the real pixel spacing is known.")
    centroid: tuple[float, float] = Field(description="(y, x) in pixels.")
    bbox: tuple[int, int, int, int] = Field(description="(min_y, min_x, max_y, max_x).")
    width: int
    height: int
    aspect_ratio: float = Field(description="Height / width.")
    relative_position: dict[str, float]
    mean_intensity: float | None = Field(description="Of the file's values, after rescale.")
    std_intensity: float | None
    confidence_score: float = Field(description="Mean probability inside this structure's mask.")
    agreement: float | None = Field(
        default=None, description="Dice of the masks of four slightly changed copies."
    )
    share_of_both_lungs_percent: float | None = Field(
        default=None, description="Of a lung: its share of both lungs' area."
    )


class SegmentationOutput(BaseModel):
    """The path of a picture with the masks drawn in, and the measurements of each structure."""

    segmentation_image_path: str
    metrics: dict[str, OrganMetrics]


SPEC = ToolSpec(
    name="chest_xray_segmentation",
    title="Outline chest organs",
    icon="scan",
    labels=organs.COLOURED,
    description=(
        "Segments structures of a frontal chest radiograph (PA or AP) and draws them on the "
        "image. Right Lung, Left Lung and Heart (the cardiac silhouette) are always available, the "
        "others with PSPNet's weights. Returns for each area, centroid, box, size, intensity and "
        "confidence, and segmentation_image_path, a picture of the masks. It finds anatomy, not "
        "disease."
    ),
    Input=SegmentationInput,
    Output=SegmentationOutput,
    needs=(Need("package", "torch"), Need("weights", PSPNET, optional=True)),
    pack="chest",
)


class ChestXRaySegmentation:
    """The tool `chest_xray_segmentation`: outlines structures on a chest radiograph."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    spec = SPEC

    def run(self, args: SegmentationInput, context: ToolContext) -> ToolResult:
        """Outline the structures that `args` names; for errors see `app.tools.api.Tool.run`."""
        wanted = organs.match(args.organs, organs.ALL)
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        suitability = image_suitability.check(snapshot, context)
        model = self._segmenter.choose(context)
        able = tuple(organ for organ in wanted if organ in organs_of(model))
        unavailable = tuple(organ for organ in wanted if organ not in able)
        how_to_get = ModelStore(context.models_dir).how_to_get(card(PSPNET))
        lacking = (
            f"found only by PSPNet, whose weights are not installed ({card(PSPNET).files[0].name})"
        )
        if not able:
            raise ToolFailed(f"{', '.join(unavailable)}: {lacking}", remedy=how_to_get)
        found = self._segmenter.segment(snapshot, model, able, context)
        context.cancel.check()
        if not found.masks:
            raise ToolFailed(
                f"the model found none of these on this image: {', '.join(able)}",
                remedy="Check that it is a frontal chest radiograph.",
            )
        context.progress(0.9, "Measuring")
        notes = list(dict.fromkeys([*suitability.warnings, *found.warnings]))
        # Without PSPNet "all" means the embedded network's three structures, so no warning.
        if unavailable and args.organs:
            notes.append(f"{', '.join(unavailable)} left out: {lacking}")
        unavailable_note = how_to_get if unavailable else ""
        return _result(args, snapshot, model, found, context, notes, unavailable, unavailable_note)


def _result(
    args: SegmentationInput,
    snapshot: ImageSnapshot,
    model: InstalledModel,
    found: Segmentation,
    context: ToolContext,
    warnings: list[str],
    unavailable: tuple[str, ...],
    unavailable_note: str,
) -> ToolResult:
    frame = snapshot.frame
    pixels = image_suitability.grey(snapshot.display)
    metrics = {
        name: organ_metrics(mask, frame, found.confidence[name])
        for name, mask in found.masks.items()
    }
    for name, share in _shares(metrics).items():
        metrics[name]["share_of_both_lungs_percent"] = share
    for name, agreement in found.agreement.items():
        if name in metrics:
            metrics[name]["agreement"] = round(agreement, 4)
    context.cancel.check()
    drawn = overlay.draw(pixels, found.masks, overlay.footer(SPEC.name, found.model))
    picture = save_png(drawn, context.out_dir, "segmentation")
    context.images.add_derived(picture, snapshot)
    output = {"segmentation_image_path": str(picture), "metrics": metrics}
    metadata = {
        "original_size": [frame.rows, frame.columns],
        "model_size": list(found.model_size),
        "pixel_spacing_mm": spacing_mm(frame.spacing),
        "area_note": area_note(frame.spacing),
        "processed_organs": list(found.masks),
        "not_found": list(found.missing),
        "model": model.card.title,
        "weights_sha256": found.weights_sha256,
        "agreement_of_looks": found.agreement,
        "note": "Outlines by a model. It finds anatomy, not disease.",
        "image_path": args.image_path,
        "segmentation_image_path": str(picture),
        "requested_organs": list(args.organs or organs.ALL),
        "unavailable_organs": list(unavailable),
        "unavailable_note": unavailable_note,
        "warnings": warnings,
        "status": "completed",
    }
    return ToolResult(
        summary=_summary(found, warnings),
        output=plain(output),
        metadata=plain(metadata),
        findings=_findings(snapshot, found, metrics, context),
        artifacts=(
            Artifact(picture, "image", "Segmentation", ", ".join(found.masks), snapshot.ref),
        ),
    )


def _shares(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return each lung's share of both lungs' area in percent; {} unless both were found."""
    lungs = (LEFT_LUNG, RIGHT_LUNG)
    areas = {name: metrics[name]["area_pixels"] for name in lungs if name in metrics}
    both = sum(areas.values())
    if len(areas) < len(lungs) or not both:
        return {}
    return {name: round(100 * area / both, 1) for name, area in areas.items()}


def _findings(
    snapshot: ImageSnapshot, found: Segmentation, metrics: dict[str, Any], context: ToolContext
) -> tuple[Finding, ...]:
    provenance = context.provenance(SPEC, found.model, found.weights_sha256)
    return tuple(
        Finding(
            id=new_id(),
            image=snapshot.ref,
            geometry=Mask(mask),
            label=name,
            score=round(found.confidence[name], 4),
            units="",
            provenance=provenance,
            description=(
                f"{name}: {area_text(metrics[name], 1)}; mean probability inside the mask "
                f"{found.confidence[name]:.2f}. Model outline, not for diagnosis."
            ),
            group=f"segmentation-{context.call_id}",
        )
        for name, mask in found.masks.items()
    )


def _summary(found: Segmentation, warnings: list[str]) -> str:
    parts = [f"{name} ({found.confidence[name]:.2f})" for name in found.masks]
    text = f"Segmented with {found.model}: {', '.join(parts)} (mean probability inside each mask)."
    if found.missing:
        text += f" Not found: {', '.join(found.missing)}."
    return with_warnings(text, warnings)
