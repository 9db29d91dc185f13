"""The tool `chest_xray_compare`: a chest radiograph next to an earlier one of the same patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.imaging.findings import (
    Box,
    ComparedRegion,
    Finding,
    Geometry,
    Mask,
    Measurement,
    Polygon,
    Provenance,
    Segments,
    State,
    new_id,
)
from app.imaging.space.geometry import edge_letters
from app.tools import prior_pair
from app.tools.api import (
    Artifact,
    ImageSnapshot,
    Need,
    RegistrationTarget,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.chest import comparison, ctr_geometry, image_suitability, organs
from app.tools.chest.cardiothoracic import own_points
from app.tools.chest.classifier import MODEL as CLASSIFIER
from app.tools.chest.classifier import ChestXRayClassifier, ClassifierInput
from app.tools.chest.comparison import Corners, Row, XRay
from app.tools.chest.contradictions import topics_in
from app.tools.chest.ctr_geometry import LEFT_LUNG, RIGHT_LUNG
from app.tools.chest.model_pictures import MIRRORED_NOTE, Hanging, model_pixels
from app.tools.chest.model_results import labelled_findings, with_warnings
from app.tools.chest.segmenter import Segmentation, Segmenter
from app.tools.files import plain, save_png
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed
from app.tools.result_wording import one_line

_REMEDY = "Open two frontal chest radiographs of one patient and name the current and the prior."


class CompareInput(ToolInput):
    """Arguments of `chest_xray_compare`."""

    image_path: str = takes(
        Resource.IMAGE, "The current radiograph: the app's image id or its path."
    )
    prior_path: str = takes(Resource.IMAGE, "The earlier radiograph of the same patient.")


class CompareOutput(BaseModel):
    """Output of `chest_xray_compare`: a table of changes, and how the prior image was aligned."""

    rows: list[Row]
    registered_image_path: str | None = Field(
        description="The prior laid on the current image; None where that failed."
    )
    registration: dict[str, Any]
    days_between: int | None


SPEC = ToolSpec(
    name="chest_xray_compare",
    title="Compare with a prior",
    icon="history",
    description=(
        "Compares a frontal chest radiograph with an earlier one of the same patient: lays the "
        "prior on the current image and shows it, and tables what has changed: cardiothoracic "
        "ratio, areas of lungs and heart, the classifier's scores where its weights are installed, "
        "and regions that the user or tools have marked, paired by place. Says for each figure "
        "whether it can be compared at all (view, spacing, rotation). Finds the order by the study "
        "dates."
    ),
    Input=CompareInput,
    Output=CompareOutput,
    needs=(Need("package", "torch"), Need("weights", CLASSIFIER, optional=True)),
    timeout_s=420.0,
    pack="chest",
)


TIMEOUT_S = 240.0
_WIDTH_MM = 400.0  # assumed width of a radiograph whose spacing is unknown
_MARGIN_MM = 5.0  # of the registration's error, by which regions are widened before they are paired


@dataclass(frozen=True, slots=True)
class ComparedImage:
    """One of the two compared images, with the results of its checks.

    `name` is the id or path in the call's arguments. The masks in `found` are as in the file; those
    in `xray` are upright, for the table. `scores_missing` says why there are no scores, or is "".
    """

    name: str
    snapshot: ImageSnapshot
    suitability: image_suitability.Suitability
    found: Segmentation
    hanging: Hanging
    xray: XRay
    scores_missing: str


@dataclass(frozen=True, slots=True)
class Alignment:
    """The prior image registered to the current one.

    Attributes:
        figures: Dice coefficients, rotation, scale and acceptance of the registration, as JSON.
        degrees: Clockwise rotation from the current image to the prior one, both upright.
        scale: Size of the chest on the prior image divided by that on the current one; None if a
            pixel spacing is unknown.
        problem: The reason that the registration cannot be trusted, or "".
        to_prior: Matrix [3, 3] from pixels (x, y, 1) of the current file to those of the prior.
        registered: The prior image resampled to the pixels of the current file.
    """

    figures: dict[str, Any]
    degrees: float
    scale: float | None
    problem: str
    to_prior: NDArray[np.float64]
    registered: NDArray[np.uint8]


class ChestXRayCompare:
    """The tool `chest_xray_compare`: compares a chest radiograph with a prior one."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    spec = SPEC

    def run(self, args: CompareInput, context: ToolContext) -> ToolResult:
        """Compare the current image with the prior one; for errors see `app.tools.api.Tool.run`."""
        context.progress(0.01, "Reading the images")
        named = [context.images.resolve(name) for name in (args.image_path, args.prior_path)]
        names = [args.image_path, args.prior_path]
        if named[0].ref == named[1].ref:
            raise ToolRetry("both names refer to the same image", remedy=_REMEDY)
        first, second = ((one.instance, one.ref) for one in named)
        warnings = prior_pair.check_patient(first, second, context, remedy=_REMEDY)
        swapped, order = prior_pair.wrong_order(named[0].instance, named[1].instance)
        if swapped:
            named.reverse()
            names.reverse()
        warnings += order
        current = self._image(names[0], named[0], _part_context(context, 0.02, 0.3, "Current"))
        prior = self._image(names[1], named[1], _part_context(context, 0.3, 0.58, "Prior"))
        alignment = _align(current, prior, _part_context(context, 0.58, 0.95, "Registering"))
        mirrored = _one_mirrored(current, prior)
        if mirrored:
            figures = {**alignment.figures, "accepted": False, "why": mirrored}
            alignment = replace(alignment, problem=mirrored, figures=figures)
        context.cancel.check()
        rows = comparison.change_table(
            current.xray,
            prior.xray,
            None if alignment.problem else alignment.degrees,
            None if alignment.problem else alignment.scale,
            [f"the films could not be aligned: {alignment.problem}"] if alignment.problem else [],
        )
        boxes, findings = _paired_regions(current, prior, alignment, context)
        if len(set(prior_pair.shown_images(context))) < 2:
            prior_pair.hang_beside(current.snapshot.ref, prior.snapshot.ref, context)
        findings += _ratio_finding(current, prior, rows[0], context)
        return _result(
            context, current, prior, alignment, [*rows, *boxes], findings, swapped, warnings
        )

    def _image(self, name: str, snapshot: ImageSnapshot, context: ToolContext) -> ComparedImage:
        """Segment one image and collect its data for the comparison."""
        suitability = image_suitability.check(snapshot, context)
        model = self._segmenter.choose(context)
        found = self._segmenter.segment(snapshot, model, organs.EMBEDDED, context)
        missing = [lung for lung in (RIGHT_LUNG, LEFT_LUNG) if lung not in found.masks]
        if missing:
            raise ToolFailed(
                f"{' and '.join(missing)} not found on {name}: the images cannot be aligned",
                remedy=_REMEDY,
            )
        scores, scores_missing = _scores(name, context)
        hanging = Hanging.of(snapshot.frame.orientation)
        side = XRay(
            suitability.position,
            {name: hanging.turned(mask) for name, mask in found.masks.items()},
            found.confidence,
            hanging.turned(model_pixels(snapshot)),
            snapshot.frame.spacing,
            scores,
            found.ratio_spread,
        )
        return ComparedImage(name, snapshot, suitability, found, hanging, side, scores_missing)


def _part_context(context: ToolContext, start: float, end: float, what: str) -> ToolContext:
    """Return a context whose progress from 0 to 1 is reported as `start` to `end` of the whole."""

    def report_share(fraction: float, text: str) -> None:
        context.progress(start + (end - start) * min(1.0, max(0.0, fraction)), f"{what}: {text}")

    return replace(context, progress=report_share)


def _scores(name: str, context: ToolContext) -> tuple[dict[str, float], str]:
    installed = all(map(is_installed, ("torch", "torchvision", "torchxrayvision")))
    if not installed or not ModelStore(context.models_dir).has(CLASSIFIER):
        return {}, "the classifier's weights are not installed: no scores are compared"
    try:
        result = ChestXRayClassifier().run(ClassifierInput(image_path=name), context)
    except ToolFailed as error:
        return {}, f"no scores are compared: {error.reason}"
    return {label: float(score) for label, score in result.output.items()}, ""


def _align(current: ComparedImage, prior: ComparedImage, context: ToolContext) -> Alignment:
    """Register the prior image to the current one in the model process."""
    known = current.xray.spacing.known and prior.xray.spacing.known
    images = {
        name: {
            "pixels": side.pixels,
            "lungs": (side.masks[RIGHT_LUNG] | side.masks[LEFT_LUNG]).astype(np.uint8),
            "spacing": _spacing(side, known),
        }
        for name, side in (("current", current.xray), ("prior", prior.xray))
    }
    answer = context.host.call(
        "app.tools.chest.registration:entry",
        {**images, "device": context.device},
        cancel=context.cancel,
        timeout_s=TIMEOUT_S,
        progress=context.progress,
    )
    degrees, scale = round(float(answer["degrees"]), 2), round(float(answer["scale"]), 4)
    overlap = round(float(answer["overlap"]), 3)
    problem = comparison.registration_problem(degrees, scale, overlap)
    figures: dict[str, Any] = {
        "dice_before": round(float(answer["before"]), 3),
        "dice_after": overlap,
        "degrees": degrees,
        "scale": scale,
        "by": str(answer["by"]),
        "accepted": not problem,
        "why": problem,
    }
    upright = np.array(answer["matrix"], float)
    to_prior = _flip(prior) @ upright @ _flip(current)
    registered: NDArray[np.uint8] = current.hanging.turned(answer["registered"])
    return Alignment(figures, degrees, scale if known else None, problem, to_prior, registered)


def _one_mirrored(current: ComparedImage, prior: ComparedImage) -> str:
    """Return why sides cannot be matched where only one of the films looks mirrored; else ""."""
    doubted = [
        name
        for image, name in ((current, "current"), (prior, "prior"))
        if MIRRORED_NOTE in (*image.suitability.warnings, *image.found.warnings)
    ]
    if len(doubted) != 1:
        return ""
    return f"only the {doubted[0]} film looks mirrored, so that left and right cannot be matched"


def _spacing(side: XRay, known: bool) -> list[float]:
    """Return (between columns, between rows) in mm; as if equally wide if a spacing is unknown."""
    across, down = side.spacing.column_mm, side.spacing.row_mm
    if known and across is not None and down is not None:
        return [across, down]
    across = _WIDTH_MM / side.pixels.shape[1]
    return [across, across * side.spacing.aspect]


def _flip(image: ComparedImage) -> NDArray[np.float64]:
    """Return the [3, 3] matrix from stored to upright pixels, which is its own inverse."""
    rows, columns = image.xray.pixels.shape
    flip = np.eye(3)
    if image.hanging.mirror:
        flip[0] = [-1, 0, columns - 1]
    if image.hanging.upside_down:
        flip[1] = [0, -1, rows - 1]
    return flip


@dataclass(frozen=True, slots=True)
class Region:
    """A marked region: what it is called, its box in pixels, what made it, and the finding's id."""

    name: str
    box: Corners
    made: str
    id: str


_ANATOMY = ("chest_xray_segmentation", "cardiothoracic_ratio", SPEC.name)
"""Tools whose findings are structures, or come of a comparison: they are in the table anyway."""


def _regions(image: ComparedImage, *, rejected: bool = False) -> list[Region]:
    """Return the user's boxes and the regions that tools found: those kept, or those `rejected`."""
    drawn = [
        Region(_name_of_drawn(one), (s.x0, s.y0, s.x1, s.y1), "as drawn by hand", one.id)
        for one in image.snapshot.drawn
        if isinstance(s := one.geometry, Box) and (one.state is State.REJECTED) == rejected
    ]
    found = (
        one
        for one in image.snapshot.found
        if (one.state is State.REJECTED) == rejected and one.provenance.tool not in _ANATOMY
    )
    boxes = ((one, _box_around(one.geometry)) for one in found)
    return [
        *drawn,
        *(
            Region(one_line(i.label, 60), box, f"by {i.provenance.tool}", i.id)
            for i, box in boxes
            if box
        ),
    ]


def _name_of_drawn(finding: Finding) -> str:
    """Return what the user called a box, or that it is one."""
    named = one_line(finding.label, 60)
    return "Marked box" if named in ("", "Box") else named


def _box_around(shape: Geometry) -> Corners | None:
    """Return the box around a box, an outline or a mask, in pixels; None for anything else."""
    if isinstance(shape, Box):
        return shape.x0, shape.y0, shape.x1, shape.y1
    if isinstance(shape, Polygon):
        return comparison.bounds(shape.points)
    if isinstance(shape, Mask) and shape.pixels.any():
        rows, columns = (np.nonzero(shape.pixels.any(axis=axis))[0] for axis in (1, 0))
        x0, y0, x1, y1 = (float(i) for i in (columns[0], rows[0], columns[-1], rows[-1]))
        return x0 - 0.5, y0 - 0.5, x1 + 0.5, y1 + 0.5
    return None


def _margin(image: ComparedImage) -> float:
    """Return the registration's error in pixels of an image, on each side of a region."""
    across = image.xray.spacing.column_mm
    return _MARGIN_MM / (across or _WIDTH_MM / image.xray.pixels.shape[1])


def _paired_regions(
    current: ComparedImage, prior: ComparedImage, alignment: Alignment, context: ToolContext
) -> tuple[list[Row], tuple[Finding, ...]]:
    """Return the rows of regions paired by their place, and each one's place on the other image.

    Regions of findings that are surely different ("nodule", "effusion") are no pair.
    """
    regions = _regions(current), _regions(prior)
    if alignment.problem or not any(regions):
        return [], ()
    now, then = ([one.box for one in side] for side in regions)
    to_current: NDArray[np.float64] = np.linalg.inv(alignment.to_prior).astype(np.float64)
    corners = [comparison.moved_box(box, to_current) for box in then]
    placed = [comparison.bounds(one) for one in corners]
    kinds = [[topics_in(one.name) for one in side] for side in regions]
    apart = {
        (i, j)
        for (i, one), (j, other) in product(enumerate(kinds[0]), enumerate(kinds[1]))
        if one and other and one.isdisjoint(other)
    }
    pairs = comparison.match_boxes(now, placed, _margin(current), apart)
    refused = [_regions(side, rejected=True) for side in (current, prior)]
    places_of = [
        [one.box for one in refused[0]],
        [comparison.bounds(comparison.moved_box(one.box, to_current)) for one in refused[1]],
    ]
    spacings = (current.snapshot.frame.spacing, prior.snapshot.frame.spacing)
    against = comparison.length_reasons(
        current.xray, prior.xray, alignment.degrees, alignment.scale
    )
    rows: list[Row] = []
    made_by, images = context.provenance(SPEC), (current.snapshot, prior.snapshot)
    places: list[Finding] = []
    for number, (i, j) in enumerate(pairs, 1):
        sides = [
            None if place is None else side[place]
            for place, side in zip((i, j), regions, strict=True)
        ]
        name, made = _told(sides)
        boxes = [None if side is None else side.box for side in sides]
        row = comparison.box_row(number, (boxes[0], boxes[1]), spacings, against, name, made)
        if i is None or j is None:
            own, side = (now[i], 1) if i is not None else (placed[j or 0], 0)
            if any(comparison.same_place(own, box, _margin(current)) for box in places_of[side]):
                film = ("current", "prior")[side]
                row = replace(row, state="", why=f"the mark on the {film} film was rejected")
                rows.append(row)
                continue
        rows.append(row)
        said = f"{name[:1].lower()}{name[1:]} {number}{f' ({row.state})' if row.state else ''}"
        compared = name, boxes, row.comparable
        if j is not None:
            place = Polygon(corners[j])
            own = () if i is None else (regions[0][i].id,)
            found = _place(f"Prior, {said}", place, images, compared, made_by)
            places.append(replace(found, partners=own))
        if i is not None:
            place = Polygon(comparison.moved_box(now[i], alignment.to_prior))
            own = () if j is None else (regions[1][j].id,)
            sides_back = (prior.snapshot, current.snapshot)
            found = _place(f"Now, {said}", place, sides_back, compared, made_by)
            places.append(replace(found, partners=own))
    return rows, tuple(places)


def _place(
    label: str,
    place: Polygon,
    images: tuple[ImageSnapshot, ImageSnapshot],
    compared: tuple[str, Sequence[Corners | None], bool],
    made_by: Provenance,
) -> Finding:
    """Return where a region that is marked on the other image lies on this one, with both sizes.

    `images` are this one and the other; `compared` is the region's name, its boxes (current,
    prior), and whether they are comparable.
    """
    name, boxes, comparable = compared
    prior = label.startswith("Prior")
    sizes: list[Measurement] = []
    marked: list[ComparedRegion] = []
    for box, image in zip(boxes if prior else boxes[::-1], images, strict=True):
        if box is not None:
            value, unit = comparison.longest_side(box, image.frame.spacing)
            basis = str(image.frame.spacing.source) if unit == "mm" else ""
            date = "" if image is images[0] else (image.instance.get("StudyDate") or "unknown")
            suffix = f", {'prior' if prior else 'current'}" if date else ""
            sizes.append(Measurement(f"Longer side{suffix}", value, unit, basis, date))
            marked.append(ComparedRegion(image.ref, box))
    found = labelled_findings(
        [(label, place)],
        images[0].ref,
        made_by,
        f"Where the region that was marked on the {'prior' if prior else 'current'} image lies on "
        "this one.",
        f"compare-{made_by.call_id}",
    )[0]
    uncertain = None not in boxes and not comparable
    return replace(
        found,
        measurements=tuple(sizes),
        rests_on=(name,),
        approximate=uncertain,
        compared=tuple(marked),
    )


def _ratio_finding(
    current: ComparedImage, prior: ComparedImage, row: Row, context: ToolContext
) -> tuple[Finding, ...]:
    """Return the two widths on the current film with the ratios of both, if they are comparable."""
    found = ctr_geometry.measure(current.xray.masks, confidence=current.xray.confidence)
    if not row.comparable or None in (row.current, row.prior, found.heart, found.thorax):
        return ()
    assert row.current is not None
    assert row.prior is not None
    frame = current.snapshot.frame
    points = [
        point
        for line in (found.heart, found.thorax)
        if line is not None
        for point in own_points(line, current.hanging, frame.rows, frame.columns)
    ]
    date = prior.snapshot.instance.get("StudyDate") or "unknown"
    ratio = Finding(
        id=new_id(),
        image=current.snapshot.ref,
        geometry=Segments(tuple(points)),
        label=row.what,
        score=None,
        units="ratio",
        value=row.current,
        provenance=context.provenance(SPEC, current.found.model, current.found.weights_sha256),
        description=f"Cardiothoracic ratio about {row.current:.2f}, on the prior film about "
        f"{row.prior:.2f} (not for diagnosis).",
        approximate=True,
        group=f"ratio-{context.call_id}",
        measurements=(
            Measurement(row.what, row.current, "ratio"),
            Measurement(f"{row.what}, prior", row.prior, "ratio", date=date),
        ),
    )
    return (ratio,)


def _told(sides: Sequence[Region | None]) -> tuple[str, str]:
    """Return what a pair's regions (current, prior) are called, and what made them."""
    known = [side for side in sides if side is not None]
    names = list(dict.fromkeys(side.name for side in known))
    name = names[0] if len(names) == 1 else f"{names[0]} (before: {names[1]})"
    return name, " and ".join(dict.fromkeys(side.made for side in known))


def _result(
    context: ToolContext,
    current: ComparedImage,
    prior: ComparedImage,
    alignment: Alignment,
    rows: Sequence[Row],
    findings: tuple[Finding, ...],
    swapped: bool,
    order: Sequence[str],
) -> ToolResult:
    picture = None if alignment.problem else _picture(current, prior, alignment, context)
    warnings = [*order]
    if alignment.problem:
        warnings.append(
            f"the films could not be aligned: {alignment.problem}. So areas and marked regions are "
            "not compared"
        )
    for image, name in ((current, "current"), (prior, "prior")):
        texts = (*image.suitability.warnings, *image.found.warnings)
        warnings += [f"{name} image: {text}" for text in texts]
    warnings += [image.scores_missing for image in (current, prior) if image.scores_missing]
    warnings = list(dict.fromkeys(warnings))
    output = {
        "rows": [asdict(row) for row in rows],
        "registered_image_path": None if picture is None else str(picture),
        "registration": alignment.figures,
        "days_between": prior_pair.days_between(current.snapshot.instance, prior.snapshot.instance),
    }
    metadata = {
        "image_path": current.name,
        "prior_path": prior.name,
        "swapped": swapped,
        "views": {"current": current.suitability.position, "prior": prior.suitability.position},
        "model": current.found.model,
        "weights_sha256": current.found.weights_sha256,
        "note": "Approximate: based on models' outlines and scores.",
        "warnings": warnings,
        "status": "completed",
    }
    opened = context.images.instances()
    on_screen = [opened[one] for one in prior_pair.shown_images(context) if one in opened]
    uid = prior.snapshot.ref.sop_instance_uid
    beside = any(one.sop_instance_uid == uid for one in on_screen)
    shown = (
        ()
        if picture is None
        else (_artifact(picture, alignment, current.snapshot, prior.snapshot, beside=beside),)
    )
    return ToolResult(
        _summary(rows, output, warnings), plain(output), plain(metadata), findings, shown
    )


def _picture(
    current: ComparedImage, prior: ComparedImage, alignment: Alignment, context: ToolContext
) -> Path:
    path = save_png(alignment.registered, context.out_dir, "registered_prior")
    # Findings on this picture belong to neither image: it shows the prior on the current grid.
    target = RegistrationTarget(current.snapshot, alignment.scale)
    context.images.add_derived(path, prior.snapshot, target=target)
    return path


def _artifact(
    path: Path, alignment: Alignment, current: ImageSnapshot, prior: ImageSnapshot, *, beside: bool
) -> Artifact:
    """Return the registered prior: a thumbnail that opens it, where the prior hangs `beside`."""
    figures = alignment.figures
    turn = round(figures["degrees"], 1) + 0.0  # no "-0.0"
    return Artifact(
        path,
        role="image" if beside else "show",
        title="Registered prior",
        description=f"The prior image, turned by {turn:.1f} degrees and scaled by "
        f"{figures['scale']:.2f} to lie on the current image; nothing is bent. Lungs overlap by "
        f"{figures['dice_after']:.2f} (Dice; {figures['dice_before']:.2f} before).",
        source=current.ref,  # the pane may only show beside images of the same patient
        options={
            "shows": prior.ref.sop_instance_uid,
            "sides": list(edge_letters(current.frame.orientation)),
        },
    )


def _summary(rows: Sequence[Row], output: dict[str, Any], warnings: Sequence[str]) -> str:
    days = output["days_between"]
    when = "" if days is None else f" ({days} days apart)"
    changed = [
        f"{row.what} {row.prior:g} -> {row.current:g} {row.unit}".strip()
        + (f" ({row.basis})" if row.basis else "")
        for row in rows
        if row.beyond_error
    ]
    compared = sum(row.comparable for row in rows)
    text = (
        f"Compared with the prior image{when}: {compared} of {len(rows)} figures can be compared. "
        + (
            f"Changes greater than the measurement error: {'; '.join(changed)}."
            if changed
            else "No change exceeds the measurement error."
        )
    )
    return with_warnings(text, warnings)
