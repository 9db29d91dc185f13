"""What a viewport shows, kept for a picture: made on the GUI thread, drawn on another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.layers import Label, Layer, LayerFrame, layers_for
from app.imaging.presentation import PresentationState
from app.imaging.space import planes
from app.imaging.types import Frame, Instance, Series, Window
from app.views import wording
from app.views.canvas.annotated_render import Look, Marks, ScreenView, render_annotated
from app.views.canvas.canvas import Canvas
from app.views.canvas.rendering import can_colour
from app.views.canvas.scrolling import frame_duration, frames_of
from app.workspace import drawing, plane_marks
from app.workspace.annotations import Annotation
from app.workspace.layers import OVERLAYS, LayerStyle, overlay_layer
from app.workspace.viewport import REFORMAT, Display, prepared
from app.workspace.workspace import Workspace

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class PictureSource:
    """The shown image with its marks, and the series around it; nothing in it changes any more.

    Attributes:
        frames: (image, frame from 0) of the series in its order; of sections, those.
        place: Position of the shown frame in `frames`.
        shown: The shown frame with all that is drawn over it.
        view: The part that the viewport shows, at its size.
        risk: Why the image may hold burnt-in text, in English; "" if that is unlikely.
    """

    frames: tuple[tuple[Instance, int], ...]
    place: int
    shown: Frame
    view: ScreenView
    risk: str
    _decoder: Decoder
    _acquired: Instance
    _series: Series | None
    _display: Display
    _lent: Window | None
    _automatic: Mapping[int, Window]
    _state: PresentationState | None
    _marks: Marks
    _here: tuple[Annotation, ...]
    _drawn: tuple[tuple[Layer, LayerFrame], ...]
    _layers: tuple[tuple[Layer, LayerStyle], ...]
    _overlays: LayerStyle
    _opacity: float
    _step: float
    _rejection: Callable[[Instance], str]

    @property
    def turned(self) -> bool:
        """Whether the picture is turned by a quarter, so that rows are columns."""
        return self._display.quarter_turns % 2 == 1

    @property
    def has_texts(self) -> bool:
        return bool(self.shown.overlays) or any(
            isinstance(one.geometry, Label) for _, drawn in self._drawn for one in drawn.shapes
        )

    def with_labels(self, keep: Callable[[Annotation], bool]) -> PictureSource:
        """Return the same with the labels of those marks on the shown frame that `keep` names."""
        here = tuple(
            one if keep(one) else replace(one, finding=replace(one.finding, label=""))
            for one in self._here
        )
        return replace(self, _here=here)

    def duration_ms(self, place: int) -> float:
        """Return how long a movie shows the frame at a position: as in the file, else 100 ms."""
        return frame_duration(*self.frames[place])

    def draw(self, place: int, look: Look) -> Pixels:
        """Return the frame at a position drawn as `look` says: uint8 [rows, columns, 3] RGB.

        Takes tens of ms and waits for the frame, so it is not for the GUI thread.

        Raises:
            FileProblem: The frame cannot be read.
        """
        instance, index = self.frames[place]
        if place == self.place:
            frame, annotations, layers = self.shown, self._here, self._drawn
        else:
            frame = self._frame(instance, index)
            annotations = self._on(instance, frame)
            layers = self._layers_on(instance, index, frame) if look.marks else ()
        turn = self._display
        if not can_colour(frame):
            turn = replace(turn, colormap="")
        images = self._series.instances if self._series is not None else ()
        position = 0, 1
        if instance.kind != REFORMAT and self._series is not None and len(images) > 1:
            position = self._position(instance), len(images)
        return render_annotated(
            frame,
            instance,
            self._display.window,
            index,
            turn,
            self._series,
            layers,
            self._state if self._presented(instance, index) is not None else None,
            marks=replace(self._marks, annotations=annotations),
            look=replace(look, overlays=False),  # they are a layer here
            position=position,
            rejection=self._rejection(instance),
            opacity=self._opacity,
        )

    def _position(self, instance: Instance) -> int:
        seen = dict.fromkeys(one.sop_instance_uid for one, _index in self.frames)
        return list(seen).index(instance.sop_instance_uid)

    def _presented(self, instance: Instance, index: int) -> Any:
        return self._state.of(instance.sop_instance_uid, index) if self._state else None

    def _frame(self, instance: Instance, index: int) -> Frame:
        decoded = self._decoder.frame(instance, index).result()
        lent = self._lent if instance.kind == REFORMAT else None
        axes = instance.axes
        channel = axes.place(index)[0] if axes is not None else 0
        automatic = self._automatic.get(channel)
        frame = prepared(decoded, lent, automatic, self._presented(instance, index))
        if axes is None or not self._display.together:
            return frame
        asked = [
            (number, self._decoder.frame(instance, other))
            for number, other in enumerate(axes.beside(index))
            if self._display.channels[number].visible
        ]
        together = tuple(
            prepared(one.result(), None, self._automatic.get(number), None) for number, one in asked
        )
        return replace(frame, channels=together)

    def _on(self, instance: Instance, frame: Frame) -> tuple[Annotation, ...]:
        space = instance.get("FrameOfReferenceUID")
        plane = planes.frame_plane(frame, space) if space else None
        return plane_marks.shown_on(self._marks.annotations, frame, plane, self._step)

    def _layers_on(
        self, instance: Instance, index: int, frame: Frame
    ) -> tuple[tuple[Layer, LayerFrame], ...]:
        drawn: list[tuple[Layer, LayerFrame]] = []
        if frame.overlays:
            layer, shapes = overlay_layer(instance, frame)
            drawn.append((layer, visible(shapes, self._overlays)))
        acquired = self._acquired if instance.kind == REFORMAT else instance
        for layer, style in self._layers:
            item = layer.instance
            if item.kind == "volume" or layers_for(acquired, [item]):
                try:
                    shapes = self._decoder.layer_frame(item, instance, index).result()
                except FileProblem:
                    continue  # as on the canvas: told in the list of layers
                drawn.append((layer, visible(shapes, style)))
        presented = self._presented(instance, index)
        if presented is not None and self._state is not None:
            drawn.append((self._state.layer, LayerFrame(presented.shapes)))
        return tuple(drawn)


def visible(shapes: LayerFrame, style: LayerStyle) -> LayerFrame:
    """Return the shapes that a style shows."""
    if not style.visible:
        return LayerFrame(())
    kept = tuple(one for one in shapes.shapes if one.item not in style.hidden)
    return replace(shapes, shapes=kept)


def source_of(canvas: Canvas, workspace: Workspace, decoder: Decoder) -> PictureSource | None:
    """Return what a canvas shows; None if it shows no image. Quick, for the GUI thread."""
    picture, model = canvas.picture, canvas.model
    if picture is None:
        return None
    job = picture.job
    instance, index = job.instance, job.frame_index
    series = canvas.scroller.series_of(instance)
    stack: Sequence[Instance] = series.instances if series is not None else (instance,)
    acquired = instance
    if instance.kind == REFORMAT:
        stack, acquired = (instance,), model.acquired or instance
    frames = tuple((one, number) for one in stack for number in frames_of(one, index))
    here = (instance.sop_instance_uid, index)
    known = ((one.sop_instance_uid, number) for one, number in frames)
    place = next((at for at, one in enumerate(known) if one == here), 0)
    if (frames[place][0].sop_instance_uid, frames[place][1]) != here:
        frames, place = ((instance, index),), 0
    from app.agent.privacy.burnt_in_text import risk_of

    viewport = canvas.viewport()
    view = ScreenView(
        canvas.layer.sceneTransform() * canvas.viewportTransform(),
        (viewport.width(), viewport.height()),
        canvas.devicePixelRatioF(),
        canvas.layer.smooth,
    )
    entries = model.layers.entries
    every = workspace.annotations.all()
    makers = tuple(
        (one.finding.id, wording.maker_text(one.finding, workspace.title_of))
        for one in every
        if not drawing.by_hand(one.finding)
    )
    findings = canvas.findings_layer
    own = (OVERLAYS, "presentation", "report")
    return PictureSource(
        frames=frames,
        place=place,
        shown=canvas.scaled_frame or job.frame,
        view=view,
        risk=risk_of(acquired),
        _decoder=decoder,
        _acquired=acquired,
        _series=series,
        _display=job.display,
        _lent=model.lent_window,
        _automatic=model.automatic_windows,
        _state=job.presentation,
        _marks=Marks(every, makers, workspace.annotations.selected, findings.heat_strength),
        _here=findings.shown(),
        _drawn=tuple(
            (entry.layer, LayerFrame(entry.shapes()))
            for entry in entries
            if entry.layer is not None and entry.frame is not None
        ),
        _layers=tuple(
            (entry.layer, entry.style)
            for entry in entries
            if entry.layer is not None and entry.key.split("\0")[0] not in own
        ),
        _overlays=model.layers.style(OVERLAYS),
        _opacity=model.layers.opacity,
        _step=findings.slice_step,
        _rejection=workspace.rejection_of,
    )
