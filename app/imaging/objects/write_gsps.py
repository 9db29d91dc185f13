"""Softcopy presentation states (PS3.3 A.33): windows, layout and marks. Runs in a worker process.

Grey images get a Grayscale, colour images a Color Softcopy Presentation State.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from highdicom import ModalityLUTTransformation, PresentationLUTTransformation, pr
from highdicom.content import ReferencedImageSequence
from PIL import ImageCms
from pydicom.dataset import Dataset

from app.errors import FileProblem
from app.imaging.exports import View, by_hand
from app.imaging.findings import XY, Finding
from app.imaging.objects.graphics import PIXEL_CORNER
from app.imaging.objects.write_sr import mark_graphics
from app.imaging.objects.writing import (
    MAKER,
    Sources,
    cielab,
    colors_of,
    frame_numbers,
    state_text,
    uid_of_id,
)


def make(sources: Sources) -> Dataset:
    """Return a presentation state of an export's views and findings.

    Raises:
        FileProblem: The images are of several series, or grey and colour are mixed.
    """
    export, images = sources.export, list(sources.datasets)
    if len({(one.SeriesInstanceUID, one.SamplesPerPixel) for one in images}) > 1:
        raise FileProblem(
            "a presentation state holds images of one series, all grey or all colour",
            subject=str(export.images[0].path),
            remedy="Write one presentation state for each series.",
        )
    images = [one for one in images if _scale(one) == _scale(images[0])]
    grey = images[0].SamplesPerPixel == 1 and "PALETTE" not in images[0].PhotometricInterpretation
    annotations, layers = _annotations(sources, {one.SOPInstanceUID for one in images})
    common: dict[str, Any] = {
        "referenced_images": images,
        "content_label": "SIGHTLINE",
        "content_description": (export.description or "As shown in Sightline")[:64],
        "graphic_annotations": annotations or None,
        "graphic_layers": layers or None,
        **MAKER,
        **sources.new,
    }
    for one in images:
        # highdicom takes every multi-frame image for one with functional groups.
        if int(one.get("NumberOfFrames") or 1) > 1:
            for keyword in ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"):
                if keyword not in one:
                    setattr(one, keyword, [Dataset()])
    if grey:
        inverse = any(view.inverse for view in export.views[:1])
        dark = images[0].PhotometricInterpretation == "MONOCHROME1"
        dark = dark or images[0].get("PresentationLUTShape") == "INVERSE"
        shape = "INVERSE" if inverse != dark else "IDENTITY"
        made: Any = pr.GrayscaleSoftcopyPresentationState(
            modality_lut_transformation=_modality(images[0]),
            voi_lut_transformations=_windows(sources) or None,
            presentation_lut_transformation=PresentationLUTTransformation(
                presentation_lut_shape=shape
            ),
            **common,
        )
    else:
        made = pr.ColorSoftcopyPresentationState(icc_profile=_icc_profile(images[0]), **common)
    if "Laterality" not in made and images[0].get("Modality") != "SM":
        made.Laterality = images[0].get("Laterality") or ""
    _place(made, sources)
    return made


def _scale(dataset: Dataset) -> tuple[Any, ...]:
    """Return what images of one state must share: it holds one rescale and one area for all."""
    rescale = (dataset.get("RescaleSlope"), dataset.get("RescaleIntercept"))
    return (*rescale, dataset.get("PhotometricInterpretation"), dataset.Rows, dataset.Columns)


def _modality(dataset: Dataset) -> ModalityLUTTransformation | None:
    """Return the image's own rescale; None for one that highdicom copies, or for none."""
    if "RescaleSlope" not in dataset or "RescaleIntercept" not in dataset:
        return None
    return ModalityLUTTransformation(
        rescale_intercept=float(dataset.RescaleIntercept),
        rescale_slope=float(dataset.RescaleSlope),
        rescale_type=dataset.get("RescaleType") or "US",
    )


def _icc_profile(dataset: Dataset) -> bytes:
    """Return the image's own profile, else that of sRGB."""
    if profile := dataset.get("ICCProfile"):
        return profile
    made = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    # DICOM wants the class of an input device (C.11.15.1.1), which has the same tables.
    return made[:12] + b"scnr" + made[16:]


def _windows(sources: Sources) -> list[Any]:
    """Return a window for each view that has one; the same for all images if it is the only one."""
    given = [(one, one.window) for one in sources.export.views if one.window is not None]
    made: list[Any] = []
    for view, window in given:
        dataset = sources.of(view.sop_instance_uid)
        if window.lut >= 0:
            continue  # the image's own table, which is copied from it
        numbers = frame_numbers(dataset, view.frame)
        only = len(given) == 1
        made.append(
            pr.SoftcopyVOILUTTransformation(
                window_center=float(window.center),
                window_width=float(window.width),
                window_explanation=(window.explanation or "as shown")[:64],
                voi_lut_function=window.function.value,
                referenced_images=None
                if only
                else ReferencedImageSequence([dataset], referenced_frame_number=numbers),
            )
        )
    return made


def _place(made: Dataset, sources: Sources) -> None:
    """Set displayed areas, flip and rotation (C.10.4, C.10.6)."""
    first = sources.datasets[0]
    views = list(sources.export.views) or [View(first.SOPInstanceUID)]
    items: list[Dataset] = []
    for view in views:
        dataset = sources.of(view.sop_instance_uid)
        columns, rows = int(dataset.Columns), int(dataset.Rows)
        x0, y0, x1, y1 = view.area or (-0.5, -0.5, columns - 0.5, rows - 0.5)
        item = Dataset()
        if len(views) > 1:
            numbers = frame_numbers(dataset, view.frame)
            item.ReferencedImageSequence = ReferencedImageSequence(
                [dataset], referenced_frame_number=numbers
            )
        # Outer edges -> the pixels at the corners, counted from 1, as they lie when shown.
        left, top, right, bottom = (round(v) for v in (x0 + 1.5, y0 + 1.5, x1 + 0.5, y1 + 0.5))
        corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
        if views[0].flip_h:
            corners = [corners[place] for place in (1, 0, 3, 2)]
        turned = -views[0].quarter_turns % 4
        corners = corners[turned:] + corners[:turned]
        item.DisplayedAreaTopLeftHandCorner = corners[0]
        item.DisplayedAreaBottomRightHandCorner = corners[2]
        item.PresentationSizeMode = "SCALE TO FIT"
        spacing = dataset.get("PixelSpacing") or dataset.get("ImagerPixelSpacing")
        if spacing and len(spacing) == 2 and all(float(part) > 0 for part in spacing):
            item.PresentationPixelSpacing = list(spacing)
        else:
            item.PresentationPixelAspectRatio = list(dataset.get("PixelAspectRatio") or [1, 1])
        items.append(item)
    made.DisplayedAreaSelectionSequence = items
    flip, turns = views[0].flip_h, views[0].quarter_turns % 4
    # The standard turns before it flips, so a flip reverses the turns.
    made.ImageHorizontalFlip = "Y" if flip else "N"
    made.ImageRotation = (-turns % 4 if flip else turns) * 90


def _annotations(sources: Sources, images: set[str]) -> tuple[list[Any], list[Any]]:
    """Return the graphic annotations on images, by UID, and their layers: one a label."""
    marks = [one for one in sources.export.findings if one.image.sop_instance_uid in images]
    for one in sources.export.findings:
        if one.image.sop_instance_uid not in images:
            sources.leave_out(one, "its image has another size or scale of greys")
    colors = colors_of(sources.export.findings)
    layers: dict[tuple[str, bool], Any] = {}
    made: list[Any] = []
    for one in marks:
        proposed = not by_hand(one) and one.state == "proposed"
        key = (one.label, proposed)
        if key not in layers:
            number = len(layers) + 1
            note = one.label[:50] + (", unverified" if proposed else "")
            layers[key] = pr.GraphicLayer(
                layer_name=f"MARKS{number}",
                order=number,
                description=note[:64] or None,
                display_color=cielab(colors[one.label]),
            )
        made.append(_annotation(one, layers[key], sources))
    return made, list(layers.values())


def _annotation(finding: Finding, layer: Any, sources: Sources) -> Any:
    dataset = sources.of(finding.image.sop_instance_uid)
    size = float(dataset.Columns), float(dataset.Rows)
    tracking: dict[str, Any] = {
        "tracking_id": finding.label[:64] or "Mark",
        "tracking_uid": uid_of_id(finding.id),
    }
    graphics = mark_graphics(finding)
    objects = [
        pr.GraphicObject(
            graphic_type=kind,
            graphic_data=np.array([_placed(point, size) for point in points]),
            units="PIXEL",
            **tracking,
        )
        for kind, points in graphics
    ]
    anchor = _placed(graphics[0][1][0], size)
    text = pr.TextObject(
        text_value=_text(finding),
        units="PIXEL",
        anchor_point=anchor,
        anchor_point_visible=False,
        **tracking,
    )
    return pr.GraphicAnnotation(
        referenced_images=[dataset],
        graphic_layer=layer,
        referenced_frame_number=(frame_numbers(dataset, finding.image.frame) or [None])[0],
        graphic_objects=objects,
        text_objects=[text],
    )


def _text(finding: Finding) -> str:
    parts = [finding.label or "Mark"]
    if finding.measurements:
        parts += [f"{m.name}: {m.value:.4g} {m.units}".strip() for m in finding.measurements]
    elif finding.value is not None:
        parts.append(f"{finding.value:.4g} {finding.units}".strip())
    if not by_hand(finding):
        parts.append(state_text(finding))
    return "\r\n".join(parts)[:1024]


def _placed(point: XY, size: tuple[float, float]) -> XY:
    """Return a point from the corner of the top left pixel (C.10.5.1.2), within the image."""
    x, y = (
        min(max(value + PIXEL_CORNER, 0.0), most) for value, most in zip(point, size, strict=True)
    )
    return x, y
