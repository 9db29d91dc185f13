"""The command `render`: write what the canvas or a report page shows as PNG."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.audit.exports import record_export
from app.errors import FileProblem, UsageError, printable, writing
from app.headless.common import given_findings, open_program, scan_source, tell_left_out
from app.imaging.axes import MOST_TOGETHER, Axes
from app.imaging.decode import Decoder
from app.imaging.files import synthetic
from app.imaging.findings import Finding
from app.imaging.layers import Layer, LayerFrame, layers_for
from app.imaging.pixels import pipeline, presentation_pipeline, windows
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.space import planes
from app.imaging.types import (
    MISSING_ROWS,
    Content,
    Frame,
    Instance,
    Plane,
    ScanResult,
    Series,
    Window,
)
from app.tools.files import png_bytes
from app.user_files import write_atomic
from app.workspace import drawing, plane_marks
from app.workspace.annotations import Annotation
from app.workspace.studies import instances_of
from app.workspace.viewport import Display, own_looks, prepared
from app.workspace.workspace import first_to_show

if TYPE_CHECKING:
    from app.views.canvas.annotated_render import Marks

_READ = (Content.REPORT, Content.KEY_OBJECTS)
_OVER_IMAGES = (Content.SEGMENTATION, Content.STRUCTURES, Content.PRESENTATION)
_Drawn = tuple[Layer, LayerFrame]


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """The arguments of `render`.

    Attributes:
        src: The file, folder, zip archive or DICOMDIR to read.
        frame: Index from 0. With `plane`: of the section. With `series`: of the frame in the whole
            series or, if that is drawn over images, among the frames of all those images. Else: of
            the frame in the image.
        window: Intensity window to use; None for the image's own, or an automatic one.
        annotated: Whether to draw overlays, layers, corner text and side letters, in the picture's
            true shape: if pixels are not square, the picture is larger than the image's matrix.
        series: Number, UID or key of a series; "" for the first series that can be shown. For a
            presentation state, its image is shown with the state applied. For contours (and for a
            segmentation if `annotated`), the image over which they are drawn is shown.
        plane: Plane of the sections to show, or `ACQUIRED` for the images themselves.
        force: Whether `out` may replace an existing file.
        findings: JSON or structured report whose findings are drawn, if `annotated`.
    """

    src: Path
    out: Path
    frame: int = 0
    window: Window | None = None
    annotated: bool = False
    series: str = ""
    plane: Plane = Plane.ACQUIRED
    force: bool = False
    findings: Path | None = None


def render(request: RenderRequest) -> int:
    """Write one frame, or a report as a page, to the PNG `request.out`; return the exit code.

    The picture has the frame's native matrix size, unless `annotated`.

    Raises:
        FileProblem: The source cannot be read, decoded or shown, or `out` cannot be written.
        UsageError: The requested frame or series does not exist.
    """
    with open_program() as program:
        result = scan_source(program.decoder, request.src)
        findings = ()
        if request.findings is not None:
            findings = given_findings(program, request.findings, result)
        pixels, model, shown = _pixels(program.decoder, result, request, findings)
        opened = [request.src, *(item.path for item in instances_of(result.studies))]
        with record_export(
            program.audit,
            "picture",
            request.out,
            images=shown,
            opened=opened,
            replace=request.force,
            annotated=request.annotated,
        ):
            write_png(request.out, pixels)
            if model:
                _mark(request.out, model)
    return 0


def _mark(path: Path, model: str) -> None:
    """Write into the picture that a model generated the image it shows."""
    try:
        synthetic.mark(path, model)
    except OSError as error:
        raise FileProblem(
            "the picture could not be marked as synthetic",
            subject=str(path),
            remedy="Check the folder's permissions and the space on the disk",
        ) from error


def _pixels(
    decoder: Decoder,
    result: ScanResult,
    request: RenderRequest,
    findings: Sequence[Finding] = (),
) -> tuple[NDArray[Any], str, list[str]]:
    """Return the picture, the model that made the image or "", and the UIDs of what is shown."""
    series, instance = _select(result, request)
    if instance.content in _READ:
        return _page(decoder, result, instance), "", [instance.sop_instance_uid]
    index = request.frame
    state: Sequence[Instance] = ()
    under: list[Instance] = []
    over = bool(request.series) and series.content in _OVER_IMAGES
    if over and (request.annotated or not instance.has_frames):
        state = series.instances if series.content is Content.PRESENTATION else ()
        found = _images_under(result, series)
        if found is not None:
            series, under = found
            instance, index = under[0], request.frame
            if request.plane is Plane.ACQUIRED:
                instance, index = _frame_at(under, index)
    if not instance.has_frames:
        raise _not_shown(instance)
    whole = bool(request.series) and not over and request.plane is Plane.ACQUIRED
    acquired = instance
    if request.plane is not Plane.ACQUIRED:
        source = series if len(series.instances) > 1 else instance
        instance = decoder.reformat(source, request.plane).result()
    elif whole:
        instance, index = _frame_at(series.instances, index)
    if not 0 <= index < instance.frames:
        several = series.instances if whole else under
        counted = several if request.plane is Plane.ACQUIRED and several else [instance]
        last = sum(one.frames for one in counted) - 1
        raise UsageError(
            f"there is no frame {request.frame}",
            subject=str(request.src),
            remedy=f"Choose one from 0 to {last}." if last else "The image has a single frame, 0.",
        )
    frame = decoder.frame(instance, index).result()
    if instance.get(MISSING_ROWS):  # whoever converts many files must not take a part for a whole
        print(f"sightline: {printable(str(instance.path))}: {instance.note}", file=sys.stderr)
    shown = [frame.ref.sop_instance_uid]
    if request.plane is not Plane.ACQUIRED:  # a section has pixels of every slice
        shown = [one.sop_instance_uid for one in series.instances]
    turn, layers, applied = Display(), tuple[_Drawn, ...](), None
    if state:
        applied = _state_for(decoder, state, instance, index)
        presented = applied.of(instance.sop_instance_uid, index) or ImagePresentation()
        frame = presentation_pipeline.apply_presentation(frame, presented)
        flip, quarters = presentation_pipeline.rotation(presented)
        turn = Display(flip_h=flip, quarter_turns=quarters)
        layers = ((applied.layer, LayerFrame(presented.shapes)),)
    model = acquired.get(synthetic.ATTRIBUTE)
    channel = instance.axes.place(index)[0] if instance.axes is not None else 0
    window = request.window or _automatic_window(decoder, series, acquired, frame, channel)
    if not request.annotated:
        return _turned(pipeline.render(frame, window), turn), model, shown
    from app.views.canvas.annotated_render import render_annotated

    axes = instance.axes
    if axes is not None and len(axes.channels) > 1:
        frame, window = _with_channels(decoder, instance, axes, frame), request.window
        turn = replace(turn, channels=own_looks(axes), together=True)
    step = 0.0
    if request.plane is not Plane.ACQUIRED:
        plane = planes.frame_plane(frame)
        source = series if len(series.instances) > 1 else acquired
        step = plane_marks.slice_step(source, plane) if plane is not None else 0.0
    picture = render_annotated(
        frame,
        instance,
        window,
        frame_index=index,
        turn=turn,
        series=series,
        layers=(*_layers_on(decoder, result, instance, index, acquired), *layers),
        state=applied,
        marks=marks_on(findings, instance, frame, step),
    )
    return picture, model, shown


def _with_channels(decoder: Decoder, image: Instance, axes: Axes, frame: Frame) -> Frame:
    """Return a frame with the channels that the viewer shows together with it."""
    channels: list[Frame] = []
    for number, index in enumerate(axes.beside(frame.ref.frame)):
        if number < MOST_TOGETHER or index == frame.ref.frame:
            one = decoder.frame(image, index).result()
            automatic = _automatic_window(decoder, image, image, one, number)
            channels.append(prepared(one, None, automatic, None))
    own = next(one for one in channels if one.ref == frame.ref)
    return replace(own, channels=tuple(channels))


def marks_on(
    findings: Sequence[Finding], instance: Instance, frame: Frame, step: float = 0.0
) -> Marks:
    """Return the findings on a frame for its picture; stderr says which are of other pixels."""
    from app.views.canvas.annotated_render import Marks

    ref = frame.ref
    here = (ref.sop_instance_uid, ref.frame)
    stale = [
        one
        for one in findings
        if (one.image.sop_instance_uid, one.image.frame) == here
        and one.image != ref
        and one.plane is None
    ]
    tell_left_out({"on another version of the image, with other pixels": len(stale)})
    space = instance.get("FrameOfReferenceUID")
    plane = planes.frame_plane(frame, space) if space else None
    annotations = [Annotation(one, number) for number, one in enumerate(findings)]
    makers = tuple((one.id, one.provenance.tool) for one in findings if not drawing.by_hand(one))
    return Marks(plane_marks.shown_on(annotations, frame, plane, step), makers)


def _automatic_window(
    decoder: Decoder, series: Series | Instance, image: Instance, frame: Frame, channel: int = 0
) -> Window | None:
    """Return the automatic window of an image's series; None if the frame has one of its own."""
    if not windows.has_automatic_window(frame):
        return None
    samples: list[windows.GreySample] = []
    source = image if windows.has_own_scale(image) else series
    for one in windows.sample_frames(source, channel):
        with suppress(FileProblem):
            sampled = decoder.frame(*one).result()
            if windows.has_automatic_window(sampled):
                samples.append(windows.grey_sample(sampled))
    return windows.window_of(samples) if samples else None


def _turned(pixels: NDArray[Any], turn: Display) -> NDArray[Any]:
    if turn == Display():
        return pixels
    from app.views.canvas.orientation import orient_pixels

    return orient_pixels(pixels, turn)


def _select(result: ScanResult, request: RenderRequest) -> tuple[Series, Instance]:
    """Return the requested series and its first image."""
    every = [series for study in result.studies for series in study.series]
    if request.series:
        name = request.series
        found = [one for one in every if name in (one.key, one.uid)]
        found = found or [one for one in every if str(one.number) == name]
        if len(found) != 1:
            listed = ", ".join(one.key for one in (found or every)[:8])
            what = f"{len(found)} series are" if found else "no series is"
            raise UsageError(
                f"{what} called {name!r}",
                subject=str(request.src),
                remedy=f"Name one of: {listed}.",
            )
        return found[0], found[0].instances[0]
    instance = first_to_show(result)
    assert instance is not None  # a scanned study holds something
    series = next(one for one in every if any(item is instance for item in one.instances))
    return series, instance


def _frame_at(instances: Sequence[Instance], index: int) -> tuple[Instance, int]:
    """Return the image and frame at an index that counts through the frames of all images."""
    left = index
    for instance in instances:
        if 0 <= left < instance.frames:
            return instance, left
        left -= instance.frames
    return instances[0], -1


def _page(decoder: Decoder, result: ScanResult, instance: Instance) -> NDArray[np.uint8]:
    from app.views.documents.report_document import report_picture_offscreen

    return report_picture_offscreen(
        decoder.report(instance).result(),
        result,
        partial(_thumbnail, decoder),
        pictures=instance.content is Content.KEY_OBJECTS,
    )


def _thumbnail(decoder: Decoder, instance: Instance, size: int) -> NDArray[np.uint8] | None:
    try:
        return decoder.thumbnail(instance, size).result()
    except FileProblem:
        return None


def _not_shown(instance: Instance) -> FileProblem:
    if instance.content is Content.OTHER:
        return FileProblem(
            instance.note or "this object is not displayable",
            subject=str(instance.path),
            remedy="Its attributes can be read in the window.",
        )
    reason = "it contains a presentation state, which is applied to images"
    if instance.content is Content.STRUCTURES:
        reason = "it contains contours, which are drawn over images"
    return FileProblem(
        reason,
        subject=str(instance.path),
        remedy="Open it in the window together with its images.",
    )


def _images_under(result: ScanResult, series: Series) -> tuple[Series, list[Instance]] | None:
    """Return the images objects refer to, else of the same space, and series; or None."""
    every = [one for study in result.studies for one in study.series]
    named = {uid for item in series.instances for uid in item.references}
    for one in every:
        images = [item for item in one.instances if item.is_image]
        found = [item for item in images if item.sop_instance_uid in named]
        if found:
            return one, found
    for one in every:
        found = [i for i in one.instances if i.is_image and layers_for(i, series.instances)]
        if found:
            return one, found
    return None


def _layers_on(
    decoder: Decoder, result: ScanResult, instance: Instance, index: int, acquired: Instance
) -> tuple[_Drawn, ...]:
    """Return what the scanned segmentations and contours draw on a frame, without empty ones.

    `acquired` is the image as it was acquired, of which `instance` may be a section.
    """
    objects = [item for item in instances_of(result.studies) if item.content in _OVER_IMAGES]
    drawn: list[_Drawn] = []
    for item in layers_for(acquired, objects):
        frame = decoder.layer_frame(item, instance, index).result()
        if frame.shapes:
            drawn.append((decoder.layer(item).result(), frame))
    return tuple(drawn)


def _state_for(
    decoder: Decoder, states: Sequence[Instance], instance: Instance, index: int
) -> PresentationState:
    """Return the first presentation state about a frame; raise FileProblem without one."""
    for item in states:
        state = decoder.presentation(item).result()
        if state.of(instance.sop_instance_uid, index) is not None:
            return state
    raise FileProblem(
        "this presentation state does not apply to the chosen image",
        subject=str(states[0].path),
        remedy="Name another image with --frame.",
    )


def write_png(path: Path, pixels: NDArray[Any]) -> None:
    """Write uint8 or uint16 [rows, columns], or uint8 RGB [rows, columns, 3], as a PNG file.

    Raises:
        ValueError: The array is empty, or its type or shape is not supported.
        FileProblem: The file cannot be written.
    """
    grey = pixels.ndim == 2 and pixels.dtype.str in ("|u1", "<u2")
    colour = pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == np.uint8
    if not (grey or colour) or pixels.size == 0:
        raise ValueError(f"no PNG from {pixels.dtype} {pixels.shape}")
    with writing(path):
        write_atomic(path, png_bytes(pixels))
