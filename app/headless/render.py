"""`render`: what the canvas or the page of a report shows, as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.audit.exports import record_export
from app.errors import FileProblem, UsageError
from app.headless.common import program_of, scanned
from app.headless.over_images import OVER_IMAGES, Drawn, images_under, layers_on, state_for
from app.imaging.decode import Decoder
from app.imaging.export import write_png
from app.imaging.files import synthetic
from app.imaging.layers import LayerFrame
from app.imaging.pixels import pipeline, presentation_pipeline
from app.imaging.presentation import ImagePresentation
from app.imaging.types import Content, Frame, Instance, ScanResult, Series, Window
from app.imaging.volume import Plane
from app.workspace.viewport import Display
from app.workspace.workspace import first_to_show

_READ = (Content.REPORT, Content.KEY_OBJECTS)


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """What `render` was given.

    Attributes:
        src: A file, folder, zip archive or DICOMDIR.
        out: The PNG.
        frame: From 0: of the image or, where series or plane are named, of the whole series; of
            an object that is drawn over images, of all that it names.
        window: Instead of the image's own.
        annotated: With overlays, layers, corner text and side letters, and in true shape: where
            pixels are not square the picture is larger than the matrix.
        series: Number, UID or key of a series; "" for the first that can be shown. That of a
            presentation state stands for its image as the state shows it; that of contours, and
            with `annotated` that of a segmentation, for the image they are drawn over.
        plane: Sections through its volume, or the images as they were acquired.
    """

    src: Path
    out: Path
    frame: int = 0
    window: Window | None = None
    annotated: bool = False
    series: str = ""
    plane: Plane = Plane.ACQUIRED


def render(request: RenderRequest) -> int:
    """Write one frame at native matrix size (`annotated`: in true shape), or a report as a page.

    Raises:
        FileProblem: It cannot be read, decoded or shown, or `out` cannot be written.
        UsageError: There is no such frame or series.
    """
    with program_of() as program:
        result = scanned(program.decoder, request.src)
        pixels, model = _pixels(program.decoder, result, request)
        with record_export(program.audit, "picture", request.out, annotated=request.annotated):
            write_png(request.out, pixels)
            if model:
                _mark(request.out, model)
    return 0


def _mark(path: Path, model: str) -> None:
    """A picture of what a model made says so itself."""
    try:
        synthetic.mark(path, model)
    except OSError as error:
        raise FileProblem(
            "the picture could not be marked as synthetic",
            subject=str(path),
            remedy="Check the folder's permissions and the space on the disk",
        ) from error


def _pixels(
    decoder: Decoder, result: ScanResult, request: RenderRequest
) -> tuple[NDArray[Any], str]:
    """What is to be written, and the model that made the image where one did."""
    series, instance = _chosen(result, request)
    if instance.content in _READ:
        return _page(decoder, result, instance), ""
    index = request.frame
    state: Sequence[Instance] = ()
    under: list[Instance] = []
    over = bool(request.series) and series.content in OVER_IMAGES
    if over and (request.annotated or not instance.has_frames):
        state = series.instances if series.content is Content.PRESENTATION else ()
        found = images_under(result, series)
        if found is not None:
            series, under = found
            instance, index = under[0], request.frame
            if request.plane is Plane.ACQUIRED:
                instance, index = _counted_through(under, index)
    if not instance.has_frames:
        raise _not_shown(instance)
    whole = bool(request.series) and not over and request.plane is Plane.ACQUIRED
    acquired = instance
    if request.plane is not Plane.ACQUIRED:
        instance = _sections(decoder, series, instance, request.plane)
    elif whole:
        instance, index = _counted_through(series.instances, index)
    if not 0 <= index < instance.frames:
        several = series.instances if whole else under
        counted = several if request.plane is Plane.ACQUIRED and several else [instance]
        raise UsageError(
            f"there is no frame {request.frame}",
            subject=str(request.src),
            remedy=_frames_text(counted),
        )
    frame = decoder.frame(instance, index).result()
    chosen = _Chosen(series, instance, index, frame, state, acquired)
    model = acquired.get(synthetic.ATTRIBUTE)
    return _picture(decoder, result, request, chosen), model


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A frame to be shown, the states one of which is to be applied, and the acquired image."""

    series: Series
    instance: Instance
    index: int
    frame: Frame
    states: Sequence[Instance]
    acquired: Instance


def _picture(
    decoder: Decoder, result: ScanResult, request: RenderRequest, chosen: _Chosen
) -> NDArray[Any]:
    """The frame as PNG shows it; a presentation state changes greys, turn and graphics."""
    instance, index, frame = chosen.instance, chosen.index, chosen.frame
    turn, layers, state = Display(), tuple[Drawn, ...](), None
    if chosen.states:
        state = state_for(decoder, chosen.states, instance, index)
        presented = state.of(instance.sop_instance_uid, index) or ImagePresentation()
        frame = presentation_pipeline.apply_presentation(frame, presented)
        flip, quarters = presentation_pipeline.rotation(presented)
        turn = Display(flip_h=flip, quarter_turns=quarters)
        layers = ((state.layer, LayerFrame(presented.shapes)),)
    if not request.annotated and turn == Display():
        return pipeline.render(frame, request.window)
    from app.views.canvas.annotated_render import render_annotated_offscreen
    from app.views.canvas.orientation import turned

    if not request.annotated:
        return turned(pipeline.render(frame, request.window), turn)
    return render_annotated_offscreen(
        frame,
        instance,
        request.window,
        frame_index=index,
        turn=turn,
        series=chosen.series,
        layers=(*layers_on(decoder, result, instance, index, chosen.acquired), *layers),
        state=state,
    )


def _chosen(result: ScanResult, request: RenderRequest) -> tuple[Series, Instance]:
    """The series and the image that it begins with."""
    every = [series for study in result.studies for series in study.series]
    if request.series:
        keys = (request.series,)
        found = [one for one in every if one.key in keys or one.uid in keys]
        found = found or [one for one in every if str(one.number) in keys]
        if len(found) != 1:
            listed = ", ".join(one.key for one in (found or every)[:8])
            what = f"{len(found)} series are" if found else "no series is"
            raise UsageError(
                f"{what} called {request.series!r}",
                subject=str(request.src),
                remedy=f"Name one of: {listed}.",
            )
        return found[0], found[0].instances[0]
    instance = first_to_show(result)
    assert instance is not None  # a scanned study holds something
    series = next(one for one in every if any(item is instance for item in one.instances))
    return series, instance


def _counted_through(instances: Sequence[Instance], index: int) -> tuple[Instance, int]:
    """The image and its frame at a place that counts through all of them."""
    left = index
    for instance in instances:
        if 0 <= left < instance.frames:
            return instance, left
        left -= instance.frames
    return instances[0], -1


def _sections(decoder: Decoder, series: Series, instance: Instance, plane: Plane) -> Instance:
    source = series if len(series.instances) > 1 else instance
    return decoder.reformat(source, plane).result()


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
    what = "contours" if instance.content is Content.STRUCTURES else "a presentation state"
    return FileProblem(
        f"it holds {what}, which are drawn over images"
        if instance.content is Content.STRUCTURES
        else f"it holds {what}, which is applied to images",
        subject=str(instance.path),
        remedy="Open it in the window together with its images.",
    )


def _frames_text(instances: Sequence[Instance]) -> str:
    count = sum(one.frames for one in instances)
    if count == 1:
        return "The image has a single frame, 0."
    return f"Choose one from 0 to {count - 1}."
