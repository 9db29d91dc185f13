"""Fetches the layers of the shown image from the decode workers for `Layers`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from app.errors import FileProblem, SightlineError
from app.imaging.decode import Decoder
from app.imaging.layers import LayerFrame, layers_for, may_be_same_patient
from app.imaging.presentation import PresentationState
from app.imaging.types import Content, Instance, ScanResult
from app.views.background import Background, OnError
from app.views.canvas.canvas import Canvas
from app.views.translation import tr, tr_report
from app.views.wording import error_text
from app.workspace.layers import LayerRequest, Place, key_of
from app.workspace.studies import instances_of
from app.workspace.workspace import REFORMAT, Workspace


class LayerLoading(QObject):
    """Reads layers (e.g. segmentations) and presentation states for the image of a canvas."""

    def __init__(
        self,
        workspace: Workspace,
        canvas: Canvas,
        decoder: Decoder,
        background: Background,
        tell: Callable[[SightlineError], object],
    ) -> None:
        super().__init__(canvas)
        self._workspace = workspace
        self._canvas = canvas
        self._decoder = decoder
        self._background = background
        self._tell = tell
        self._applying: Instance | None = None
        self._reading: dict[Place, tuple[LayerRequest, Future[LayerFrame]]] = {}
        self.states: tuple[Instance, ...] = ()  # those that apply to the shown image
        self._image: Instance | None = None
        self._objects: list[Instance] = []
        self._all_states: list[Instance] = []
        viewport = self._viewport = canvas.model
        layers = self._layers = viewport.layers
        viewport.image_changed.connect(self._image_changed)
        workspace.studies.changed.connect(self._studies_changed)
        layers.wanted.connect(self._read)
        layers.frame_wanted.connect(self._read_frame)
        layers.laid_changed.connect(self._laid_changed)
        canvas.picture_changed.connect(self._picture_changed)
        self._learn()

    @property
    def applied(self) -> Instance | None:
        """The presentation state applied to the shown image or being read for it, or None."""
        state = self._viewport.presentation
        return self._applying or (state.layer.instance if state else None)

    def open_object(self, instance: Instance) -> bool:
        """Show a DICOM object, e.g. a SEG, on an open image it refers to; False if none is open."""
        if instance.kind == "volume":
            self.lay(instance)
            return True
        target = self._workspace.image_of(instance)
        if target is None:
            return False
        viewport = self._viewport
        shown = viewport.instance
        named = shown is not None and shown.sop_instance_uid in instance.references
        # A section stays shown if the object can be drawn on its slices.
        acquired = self._viewport.acquired
        over = acquired is not None and instance in layers_for(acquired, [instance])
        if not (over or (named and instance.content is Content.PRESENTATION)):
            viewport.show(target)
        if instance.content is Content.PRESENTATION:
            self.apply(instance)
        else:
            self._layers.set_visible(key_of(instance), True)
        return True

    def lay(self, labels: Instance, failed: OnError | None = None) -> None:
        """Lay a label volume over the shown images; on an error call `failed` or tell the user."""
        over = self._viewport.acquired
        if over is None or labels.sop_instance_uid == over.sop_instance_uid:
            reason = tr("a label volume needs an image to be overlaid on, and none is shown")
            self._tell(FileProblem(reason, subject=str(labels.path), remedy="Show its image first"))
            return
        source, key = self._workspace.scale_source(over), self._workspace.scale_key(over)
        self._background.submit(
            lambda: self._decoder.labels(labels, source).result(),
            partial(self._workspace.lay, key),
            failed or self._tell,
        )

    def lay_file(self, path: Path, failed: OnError | None = None) -> None:
        """Lay the label volume in a file over the shown images; errors are reported as by `lay`."""

        def found(result: ScanResult) -> None:
            every = instances_of(result.studies)
            labels = next((one for one in every if one.kind == "volume"), None)
            if labels is not None:
                self.lay(labels, failed)
                return
            problem = next(iter(result.problems), None)
            reason = (
                tr_report(problem.reason)
                if problem
                else tr("not an NRRD, NIfTI or MetaImage volume")
            )
            remedy = tr("Open a DICOM segmentation as you would an image")
            (failed or self._tell)(FileProblem(reason, subject=str(path), remedy=remedy))

        self._background.watch(self._decoder.scan([path]), found, failed or self._tell)

    def apply(self, instance: Instance | None) -> None:
        """Apply a presentation state to the shown image; None removes the applied one."""
        self._applying = instance
        if instance is None:
            self._viewport.present(None)
            return
        self._background.watch(
            self._decoder.presentation(instance),
            partial(self._present, instance),
            partial(self._fail_state, instance),
        )

    def _present(self, instance: Instance, state: PresentationState) -> None:
        if self._applying is not instance:
            return
        self._applying = None
        self._viewport.present(state)
        viewport = self._viewport
        if viewport.presentation is None:
            self._layers.changed.emit()
            reason = tr("this presentation state does not apply to the image shown")
            self._tell(
                FileProblem(reason, subject=str(instance.path), remedy="Its images may not be open")
            )
        elif viewport.presented(viewport.frame_index) is None and viewport.instance is not None:
            uid = viewport.instance.sop_instance_uid
            viewport.scroll_to(min(frame for named, frame in state.images if named == uid))

    def _fail_state(self, instance: Instance, error: SightlineError) -> None:
        if self._applying is instance:
            self._applying = None
        self._tell(error)
        self._layers.changed.emit()

    def _image_changed(self) -> None:
        self._applying = None
        self._image = self._viewport.instance
        self._find_objects()

    def _studies_changed(self) -> None:
        self._learn()
        if self._image is not None:
            self._find_objects()
            self._picture_changed()

    def _laid_changed(self) -> None:
        self._find_objects()
        self._picture_changed()

    def _learn(self) -> None:
        self._objects, self._all_states = [], []
        for study in self._workspace.studies.all:
            for series in study.series:
                if series.content in _DRAW:
                    self._objects += series.instances
                elif series.content is Content.PRESENTATION:
                    self._all_states += series.instances

    def _find_objects(self) -> None:
        """Find the objects of the shown image; called at every step of the wheel."""
        shown = self._image
        self.states = tuple(
            item
            for item in self._all_states
            if shown is not None
            and shown.sop_instance_uid in item.references
            and may_be_same_patient(item, shown)
        )
        # A section has the layers of the slices it was cut from.
        over = self._viewport.acquired if shown is not None and shown.kind == REFORMAT else shown
        found = layers_for(over, self._objects) if over is not None else []
        if over is not None:
            found += self._layers.laid_over(self._workspace.scale_key(over))
        self._layers.set_image([item for item in found if item is not shown])

    def _picture_changed(self) -> None:
        picture = self._canvas.picture
        if picture is None:
            self._layers.show_on(None, 0, None)
        else:
            job = picture.job
            self._layers.show_on(job.instance, job.frame_index, job.frame)
        self._drop_old()

    def _drop_old(self) -> None:
        place = self._layers.place
        for wanted, (request, future) in list(self._reading.items()):
            if wanted[1:] != place and future.cancel():
                del self._reading[wanted]
                self._layers.drop_frame(request)

    def _read(self, key: str, instance: Instance) -> None:
        layers = self._layers
        self._background.watch(
            self._decoder.layer(instance),
            partial(layers.take_layer, key),
            lambda error: layers.fail(key, error_text(error)),
        )

    def _read_frame(self, request: LayerRequest) -> None:
        future = self._decoder.layer_frame(request.source, request.target, request.index)
        self._reading[request.place] = (request, future)
        self._background.watch(
            future, partial(self._take_frame, request), partial(self._fail_frame, request)
        )

    def _take_frame(self, request: LayerRequest, frame: LayerFrame) -> None:
        self._reading.pop(request.place, None)
        self._layers.take_frame(request, frame)

    def _fail_frame(self, request: LayerRequest, error: SightlineError) -> None:
        self._reading.pop(request.place, None)
        self._layers.fail_frame(request, error_text(error))


_DRAW = frozenset({Content.SEGMENTATION, Content.STRUCTURES})
