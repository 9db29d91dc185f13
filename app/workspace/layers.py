"""The layers drawn over the shown image: segmentations, contours, graphics and overlays.

`Layers` knows which layers the image has and how each is shown. Its signal `wanted` requests an
object, and `frame_wanted` requests its shapes on one frame. Shapes are shown only on the frame they
belong to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.imaging.findings import Heatmap, Mask, Polygon, Polyline
from app.imaging.layers import Layer, LayerFrame, LayerItem, Shape, may_be_same_patient
from app.imaging.pixels.pipeline import draw_overlay
from app.imaging.presentation import PresentationState
from app.imaging.types import Content, Frame, Instance
from app.workspace.signals import Signal

OVERLAYS = "overlays"
"""Key of the layer that holds the image's own overlays (groups 60xx)."""

PRESENTATION = "presentation"
"""Prefix of the key of the layer that holds a presentation state's graphics."""

REPORT = "report"
"""Prefix of the key of the layer that holds a report's regions."""

CACHE_BYTES = 256 * 2**20
"""Limit of memory for shapes on frames that are not shown; 40 masks of 512 x 512 take 10 MiB."""

OPACITY = 0.35
"""Opacity of fills unless the user has set another; outlines are always opaque."""

_OVERLAY_COLOR = (255, 214, 10)

ScaleKey = tuple[str, str]
"""Key of a series, or of an image, whose frames are shown in the same window."""

Place = tuple[str, str, int]
"""(key of a layer, key of an image, frame number in the image)."""

ReportShapes = Mapping[tuple[str, int], tuple[Shape, ...]]
"""Maps (SOP Instance UID, frame from 0 or -1 for all frames) to a report's shapes."""


@dataclass(frozen=True, slots=True)
class LayerStyle:
    """How a layer is drawn.

    Attributes:
        hidden: Numbers of the items that are not drawn.
    """

    visible: bool = True
    hidden: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """A row in the list of layers.

    Attributes:
        key: Key that is unique among the image's layers.
        content: Kind of object that the layer comes from; IMAGE for the image's own overlays.
        layer: The layer with its items; None until it has been read.
        frame: The layer's shapes on the shown frame; None until they have been read.
        error: Why the layer cannot be read, or "".
    """

    key: str
    content: Content
    title: str
    style: LayerStyle
    layer: Layer | None = None
    frame: LayerFrame | None = None
    error: str = ""

    @property
    def laid(self) -> bool:
        """Whether the layer is a label volume that the user has laid over the image."""
        return self.layer is not None and self.layer.instance.kind == "volume" and bool(self.items)

    def label_id(self, item: LayerItem) -> str:
        """Return an id for an item that no other item or finding on the image has."""
        return f"{self.key}\0{item.number}"

    @property
    def items(self) -> tuple[LayerItem, ...]:
        """The layer's items; () until they have been read."""
        return self.layer.items if self.layer else ()

    def shapes(self) -> tuple[Shape, ...]:
        """Return the shapes that are visible; () if the layer is hidden or not read yet."""
        if self.frame is None or not self.style.visible:
            return ()
        return tuple(s for s in self.frame.shapes if s.item not in self.style.hidden)


@dataclass(frozen=True, slots=True)
class LayerRequest:
    """A request for the shapes of object `source` on frame `index` (from 0) of image `target`."""

    key: str
    source: Instance
    target: Instance
    index: int

    @property
    def place(self) -> Place:
        """(key of the object, key of the image, frame from 0) under which the shapes are stored."""
        return self.key, key_of(self.target), self.index


class LayerStore:
    """What all viewports know of layers: objects that were read, their shapes and their styles."""

    def __init__(self) -> None:
        self.styles: dict[str, LayerStyle] = {}
        self.layers: dict[str, Layer] = {}
        self.errors: dict[str, str] = {}
        self.asked: set[str] = set()
        self.report: tuple[Layer, ReportShapes] | None = None
        self.frames: OrderedDict[Place, LayerFrame] = OrderedDict()
        self.bytes = 0
        self.opacity = OPACITY
        self.laid: dict[ScaleKey, dict[str, Instance]] = {}
        self.views: list[Layers] = []  # those of the viewports
        self.laid_changed: Signal[()] = Signal()

    def changed(self) -> None:
        """Tell every viewport that its layers may be drawn differently."""
        for view in tuple(self.views):
            view.changed.emit()


class Layers:
    """The layers of the image in one viewport. All methods are called on the GUI thread.

    Styles, and what was read, are those of all viewports that share `store`.
    """

    def __init__(self, store: LayerStore | None = None) -> None:
        self._store = store or LayerStore()
        self._store.views.append(self)
        self._objects: dict[str, Instance] = {}
        self._target: tuple[Instance, int] | None = None
        self._frame: Frame | None = None
        self._state: PresentationState | None = None
        self._pending: set[Place] = set()
        self._own: tuple[Frame, LayerEntry] | None = None
        self.changed: Signal[()] = Signal()
        self.wanted: Signal[str, Instance] = Signal()
        self.frame_wanted: Signal[LayerRequest] = Signal()

    @property
    def opacity(self) -> float:
        """Opacity of all fills, 0 to 1."""
        return self._store.opacity

    @property
    def laid_changed(self) -> Signal[()]:
        """Emitted when a label volume is laid over images, or lifted."""
        return self._store.laid_changed

    # Layers

    def lay(self, over: ScaleKey, layer: Layer) -> None:
        """Draw a label volume over the images with this `Workspace.scale_key`, e.g. of a series."""
        key = key_of(layer.instance)
        self._store.asked.add(key)
        self._store.layers[key] = layer
        self._store.laid.setdefault(over, {})[key] = layer.instance
        self._store.laid_changed.emit()

    def lift(self, over: ScaleKey, layer: Layer) -> None:
        """Remove a label volume from the images whose `Workspace.scale_key` is `over`."""
        self._store.laid.get(over, {}).pop(key_of(layer.instance), None)
        self._store.laid_changed.emit()

    def laid_over(self, over: ScaleKey) -> tuple[Instance, ...]:
        """Return the label volumes over the images whose `Workspace.scale_key` is `over`."""
        return tuple(self._store.laid.get(over, {}).values())

    @property
    def laid(self) -> frozenset[str]:
        """Keys of the label volumes laid over any images, including images that are not shown."""
        return frozenset(key for volumes in self._store.laid.values() for key in volumes)

    @property
    def entries(self) -> tuple[LayerEntry, ...]:
        """Layers of the shown image: overlays, presentation graphics, report regions, SEGs etc."""
        made = (self._overlays(), self._graphics(), self._regions())
        own = [entry for entry in made if entry is not None]
        return (*own, *(self._entry(key, item) for key, item in self._objects.items()))

    @property
    def place(self) -> tuple[str, int] | None:
        """(image key, frame from 0) of the shapes in `entries`, or None if no image is shown."""
        return (key_of(self._target[0]), self._target[1]) if self._target else None

    def set_image(self, objects: Sequence[Instance]) -> None:
        """Set the objects, e.g. segmentations, that have shapes for the image to be shown next.

        Until `show_on` is called, the previous image stays on the canvas with its shapes.
        """
        if not objects and not self._objects:
            return
        self._objects = {key_of(item): item for item in objects}
        for key, item in self._objects.items():
            if key not in self._store.asked:
                self._store.asked.add(key)
                self.wanted.emit(key, item)
        self.changed.emit()

    def show_on(self, instance: Instance | None, index: int, frame: Frame | None) -> None:
        """Set the image, frame (index from 0, and pixels) that the canvas shows; None for none."""
        if instance is None or frame is None:
            self._target, self._frame = None, None
        else:
            self._target, self._frame = (instance, index), frame
            self._ask()
        self.changed.emit()

    def set_presentation(self, state: PresentationState | None) -> None:
        """Set the applied presentation state, whose graphics become a layer; None for no state."""
        if state is not self._state:
            self._state = state
            self.changed.emit()

    def set_report(self, layer: Layer | None, shapes: ReportShapes) -> None:
        """Set the report whose regions are drawn on its images; None for no report."""
        self._store.report = (layer, shapes) if layer is not None else None
        self._store.changed()

    def forget(self, instances: Iterable[Instance]) -> None:
        """Discard all data from files that were closed."""
        closed = {key_of(instance) for instance in instances}
        self._store.asked -= closed
        store = self._store
        own = [view._objects for view in store.views]
        for known in (*own, store.layers, store.styles, store.errors):
            for key in closed.intersection(known):
                del known[key]
        for place in [one for one in self._store.frames if not closed.isdisjoint(one[:2])]:
            self._drop(place)
        if self._store.report is not None and key_of(self._store.report[0].instance) in closed:
            self._store.report = None
        self._store.changed()

    # Answers

    def take_layer(self, key: str, layer: Layer) -> None:
        """Store the items of an object that has been read."""
        if key in self._store.asked:  # else it was closed meanwhile
            self._store.layers[key] = layer
            self._store.errors.pop(key, None)
            self._store.changed()

    def take_frame(self, request: LayerRequest, frame: LayerFrame) -> None:
        """Store an object's shapes on one frame; they appear if that frame is shown."""
        place = request.place
        self._pending.discard(place)
        if request.key not in self._store.asked:
            return
        self._drop(place)
        self._store.frames[place] = frame
        self._store.bytes += bytes_of(frame)
        for old in list(self._store.frames):
            if self._store.bytes <= CACHE_BYTES:
                break
            if old != place and all(old[1:] != view.place for view in self._store.views):
                self._drop(old)
        for view in tuple(self._store.views):
            if place[1:] == view.place:
                view.changed.emit()

    def fail_frame(self, request: LayerRequest, error: str) -> None:
        """Record that an object's shapes on one frame cannot be read, and why."""
        self.take_frame(request, LayerFrame((), (f"not drawn on this image: {error}",)))

    def drop_frame(self, request: LayerRequest) -> None:
        """Record that a request was cancelled, so that it can be made again."""
        self._pending.discard(request.place)

    def _drop(self, place: Place) -> None:
        frame = self._store.frames.pop(place, None)
        if frame is not None:
            self._store.bytes -= bytes_of(frame)

    def fail(self, key: str, error: str) -> None:
        """Record that an object cannot be read, and why."""
        self._store.errors[key] = error
        self._store.changed()

    # Display

    def style(self, key: str) -> LayerStyle:
        """Return the style in which a layer is drawn."""
        return self._store.styles.get(key) or LayerStyle()

    def set_visible(self, key: str, visible: bool) -> None:
        """Show or hide a layer."""
        self._set_style(key, replace(self.style(key), visible=visible))
        if visible:
            self._ask_all()

    def set_item_visible(self, key: str, item: int, visible: bool) -> None:
        """Show or hide one item of a layer."""
        style = self.style(key)
        hidden = style.hidden - {item} if visible else style.hidden | {item}
        self._set_style(key, replace(style, hidden=hidden))

    def place_of_label(self, label_id: str) -> tuple[float, float, float] | None:
        """Return the patient position (mm, LPS) of the label with this `label_id`, or None."""
        every = ((entry, item) for entry in self.entries for item in entry.items)
        return next((item.at for entry, item in every if entry.label_id(item) == label_id), None)

    def toggle_items(self, key: str, items: Sequence[int]) -> None:
        """Hide items of a layer if any of them is visible, otherwise show them."""
        style = self.style(key)
        on = style.visible and not style.hidden.issuperset(items)
        hidden = style.hidden.union(items) if on else style.hidden.difference(items)
        self._set_style(key, replace(style, visible=True, hidden=hidden))
        self._ask_all()

    def set_laid_visible(self, visible: bool) -> None:
        """Show or hide every label of every label volume laid over an image."""
        for key in self.laid:
            items = () if visible else self._store.layers[key].items
            hidden = frozenset(item.number for item in items)
            self._set_style(key, replace(self.style(key), visible=True, hidden=hidden))
        self._ask_all()

    def show_only(self, key: str, item: int) -> None:
        """Show only one item of a layer and hide all others."""
        layer = next((entry.layer for entry in self.entries if entry.key == key), None)
        others = frozenset(one.number for one in layer.items) if layer else frozenset[int]()
        self._set_style(key, replace(self.style(key), visible=True, hidden=others - {item}))
        self._ask_all()

    def show_all(self, key: str) -> None:
        """Show every item of a layer."""
        self._set_style(key, replace(self.style(key), visible=True, hidden=frozenset()))
        self._ask_all()

    def set_opacity(self, opacity: float) -> None:
        """Set the opacity of all fills, 0 to 1, including fills in layers added later."""
        self._store.opacity = min(max(opacity, 0.0), 1.0)
        self._store.changed()

    def _set_style(self, key: str, style: LayerStyle) -> None:
        if style != self.style(key):
            self._store.styles[key] = style
            self._store.changed()

    def _ask_all(self) -> None:
        for view in self._store.views:
            view._ask()

    def _ask(self) -> None:
        """Request the missing shapes of visible layers on the shown frame."""
        if self._target is None:
            return
        target, index = self._target
        for key, item in self._objects.items():
            request = LayerRequest(key, item, target, index)
            place = request.place
            known = place in self._store.frames or place in self._pending
            if self.style(key).visible and not known and key not in self._store.errors:
                self._pending.add(place)
                self.frame_wanted.emit(request)

    def _entry(self, key: str, item: Instance) -> LayerEntry:
        layer, error, style = (
            self._store.layers.get(key),
            self._store.errors.get(key, ""),
            self.style(key),
        )
        title = layer.title if layer else item.get("SeriesDescription")
        frame = self._store.frames.get((key, *self.place)) if self.place is not None else None
        title = title or item.get("Modality")
        return LayerEntry(key, item.content, title, style, layer, frame, error)

    def _own_entry(
        self, key: str, content: Content, layer: Layer, shapes: Sequence[Shape]
    ) -> LayerEntry:
        """Return the entry of a layer that is not read from an object."""
        frame = LayerFrame(tuple(shapes))
        return LayerEntry(key, content, layer.title, self.style(key), layer, frame)

    def _overlays(self) -> LayerEntry | None:
        if self._target is None or self._frame is None or not self._frame.overlays:
            return None
        instance, _ = self._target
        frame = self._frame
        if self._own is not None and self._own[0] is frame:
            return replace(self._own[1], style=self.style(OVERLAYS))
        layer, shown = overlay_layer(instance, frame)
        entry = self._own_entry(OVERLAYS, Content.IMAGE, layer, shown.shapes)
        self._own = (frame, entry)
        return entry

    def _graphics(self) -> LayerEntry | None:
        if self._target is None or self._state is None:
            return None
        instance, index = self._target
        image = self._state.of(instance.sop_instance_uid, index)
        if image is None or not (image.shapes or self._state.warnings):
            return None
        layer = self._state.layer
        # A key per state, so that items hidden in one are not hidden in another.
        key = f"{PRESENTATION}\0{key_of(layer.instance)}"
        return self._own_entry(key, Content.PRESENTATION, layer, image.shapes)

    def _regions(self) -> LayerEntry | None:
        if self._target is None or self._store.report is None:
            return None
        (instance, index), (layer, known) = self._target, self._store.report
        uid = instance.sop_instance_uid
        shapes = known.get((uid, -1), ()) + known.get((uid, index), ())
        if not shapes or not may_be_same_patient(layer.instance, instance):
            return None
        key = f"{REPORT}\0{key_of(layer.instance)}"
        here = {shape.item for shape in shapes}
        layer = replace(layer, items=tuple(one for one in layer.items if one.number in here))
        return self._own_entry(key, Content.REPORT, layer, shapes)


def overlay_layer(instance: Instance, frame: Frame) -> tuple[Layer, LayerFrame]:
    """Return the layer of a frame's own overlays (groups 60xx), and its shapes on the frame."""
    items, shapes = list[LayerItem](), list[Shape]()
    for number, overlay in enumerate(frame.overlays, start=1):
        label = overlay.label or f"Overlay {overlay.group:04X}"
        kind = "region of interest" if overlay.kind == "R" else "graphics"
        items.append(LayerItem(number, label, _OVERLAY_COLOR, kind))
        pixels = np.zeros((frame.rows, frame.columns), np.bool_)
        draw_overlay(pixels, overlay, True)
        shapes.append(Shape(number, Mask(pixels)))
    return Layer(instance, "Image overlays", tuple(items)), LayerFrame(tuple(shapes))


def bytes_of(frame: LayerFrame) -> int:
    """Return approximately how many bytes a frame's shapes take."""
    total = 256
    for shape in frame.shapes:
        geometry = shape.geometry
        total += 128
        if isinstance(geometry, Mask):
            total += geometry.pixels.nbytes
        elif isinstance(geometry, Heatmap):
            total += geometry.values.nbytes
        elif isinstance(geometry, Polygon | Polyline):
            total += 112 * len(geometry.points)  # a tuple of two floats each
    return total


def key_of(instance: Instance) -> str:
    """Return a key that is unique among all open objects and images."""
    return f"{instance.sop_instance_uid}\0{instance.path}\0{instance.part}"
