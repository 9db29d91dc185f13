"""Keeps the graphics items on the canvas in step with the workspace's annotations."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QPointF, QRectF, QSizeF, QTimer, Signal

from app.errors import SightlineError
from app.imaging.findings import Finding, Geometry, Heatmap, Instances, Mask, State
from app.imaging.space.planes import FramePlane
from app.imaging.types import Frame
from app.views import wording
from app.views.background import Background
from app.views.canvas import finding_shapes, heatmap_legend, label_chips
from app.views.canvas.finding_items import AnnotationItem, FindingStyle, ObjectsItem, item_kind
from app.views.canvas.image_view import ImageView
from app.views.canvas.label_chips import Chip
from app.views.theme import DARK
from app.workspace import drawing, mark_measures, plane_marks
from app.workspace.annotations import Annotation, Annotations

REACH = 8.0  # px on screen within which a click hits a line
CACHED_SHAPES = 64
AT_ONCE = 500_000
"""Pixels around a region up to which its statistics are computed on the GUI thread."""
PAUSE_MS = 20


class AnnotationLayer(QObject):
    """Draws the findings on the shown image as graphics items.

    Attributes:
        heat_strength: How strongly heatmaps are drawn over the image, 0 (hidden) to 1.
    """

    changed = Signal()

    def __init__(self, view: ImageView, annotations: Annotations, background: Background) -> None:
        super().__init__(view)
        self._view = view
        self._annotations = annotations
        self._background = background
        self._frame: Frame | None = None
        self._plane: FramePlane | None = None  # of the shown image
        self._step = 0.0  # mm from its slice to the next
        self._shown_with: tuple[object, ...] = (None, 0.0)
        self._projected: dict[str, tuple[Finding, Finding]] = {}
        self._counting: Geometry | None = None
        self._items: dict[str, AnnotationItem] = {}
        self._originals: dict[str, AnnotationItem] = {}  # of edited findings, beside them
        self._shapes: dict[str, tuple[Geometry, finding_shapes.Shape]] = {}
        self._offsets: dict[str, QPointF] = {}  # of labels that were moved
        self._hovered = ""
        self._hovered_object = 0
        self._draft: Finding | None = None
        self._draft_shape: finding_shapes.Shape | None = None
        self.heat_strength = self._seen = heatmap_legend.USUAL
        # One mask at a time, after a pause: a tool's result also makes a chat card and list rows,
        # and threads beside them would take turns at Python's lock and stall the window.
        self._queue: deque[Finding] = deque()
        self._building = False
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._build_next)
        annotations.changed.connect(self.sync)
        annotations.selection_changed.connect(lambda _id: self._restyle())
        annotations.object_changed.connect(lambda _id, _number: self._restyle())
        annotations.pointed_changed.connect(self._restyle)

    def close(self) -> None:
        self._pause.stop()

    @property
    def items(self) -> tuple[AnnotationItem, ...]:
        return tuple(self._items.values())

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(item.finding for item in self._items.values())

    @property
    def ready(self) -> bool:
        return all(item.ready for item in self._items.values())

    def set_heat_strength(self, strength: float) -> None:
        """Set how strongly heatmaps are drawn over the image, 0 to 1."""
        self._seen = strength or self._seen
        self.heat_strength = strength
        self._restyle()

    def toggle_heat(self) -> None:
        self.set_heat_strength(0.0 if self.heat_strength else self._seen)

    @property
    def legend(self) -> heatmap_legend.Legend | None:
        """The legend of the heatmap on the image; None if there is none, or heatmaps are hidden."""
        if not self.heat_strength:
            return None
        return heatmap_legend.legend_of(self.findings, self._annotations.selected)

    def set_draft(self, finding: Finding | None, shape: finding_shapes.Shape | None = None) -> None:
        """Draw an unfinished finding and hide the stored one with its id; None ends this.

        `shape` draws a mask that was made on a thread.
        """
        if finding is not self._draft:
            self._draft, self._draft_shape = finding, shape
            self.sync()

    def set_image(
        self, frame: Frame | None, plane: FramePlane | None = None, step: float = 0.0
    ) -> None:
        """Show the findings on a frame, and those in its plane; None shows no findings.

        Args:
            frame: The frame, with the scale of its marks.
            plane: Its plane, in which marks of sections are shown; None where there are none.
            step: Distance in mm from one slice to the next.
        """
        now = plane, step, *((frame.ref, frame.spacing) if frame is not None else ())
        if now != self._shown_with:
            other = frame is None or self._frame is None or not frame.shows(self._frame.ref)
            self._shown_with = now
            self._frame, self._plane, self._step = frame, plane, step
            self._projected.clear()
            if other:
                self._hovered = ""
            self.sync()

    def sync(self) -> None:
        rejected = self._annotations.rejected_shown
        wanted = {
            one.finding.id: one
            for one in self._shown()
            if one.visible and (rejected or one.finding.state is not State.REJECTED)
        }
        self._sync_originals(wanted.values())
        draft = self._draft
        if draft is not None and self._frame is not None and self._frame.shows(draft.image):
            known = wanted.get(draft.id)
            color = known.color if known else self._annotations.color_of(draft.label)
            wanted[draft.id] = Annotation(draft, color)
        for finding_id in [key for key in self._items if key not in wanted]:
            self._view.remove_item(self._items.pop(finding_id))
        for finding_id, annotation in wanted.items():
            item, finding = self._items.get(finding_id), annotation.finding
            if item is None:
                self._add(annotation)
            elif item.finding is not finding:
                changed = item.finding.geometry is not finding.geometry
                item.finding = finding
                if finding is self._draft and isinstance(finding.geometry, Mask):
                    self._shape_draft(item, finding.geometry)
                elif changed or item.drafted or finding_shapes.is_light(finding):
                    item.drafted = False
                    self._shape(item)
        self._restyle()

    @property
    def slice_step(self) -> float:
        """Distance in mm of the sections or slices, within which marks lie in the shown plane."""
        return self._step

    def shown(self) -> tuple[Annotation, ...]:
        return tuple(self._shown())

    def _sync_originals(self, shown: Iterable[Annotation]) -> None:
        """Draw the originals of edited findings, if the user wants to compare."""
        wanted = {
            item.finding.id: item
            for item in (shown if self._annotations.originals_shown else ())
            if item.finding.original is not None
        }
        for key in [*self._originals]:
            if (
                key not in wanted
                or self._originals[key].finding is not wanted[key].finding.original
            ):
                self._view.remove_item(self._originals.pop(key))
        for key in [key for key in wanted if key not in self._originals]:
            original = wanted[key].finding.original
            assert original is not None
            tint = DARK.annotation_color(wanted[key].color)
            item = item_kind(original)(original, FindingStyle(tint, original=True))
            self._originals[key] = item
            self._view.add_item(item)
            if finding_shapes.is_light(original):
                item.set_shape(finding_shapes.build(original.geometry))
            else:
                self._background.submit(
                    partial(finding_shapes.build, original.geometry),
                    partial(self._take_original, key, item),
                    lambda _error: None,
                )

    def _take_original(self, key: str, item: AnnotationItem, shape: finding_shapes.Shape) -> None:
        if self._originals.get(key) is item:
            item.set_shape(shape)

    @property
    def originals(self) -> tuple[AnnotationItem, ...]:
        return tuple(self._originals.values())

    def _shown(self) -> list[Annotation]:
        """Return the annotations on the shown image, and those of sections in its plane."""
        frame, plane = self._frame, self._plane
        if frame is None:
            return []
        ref = frame.ref
        shown: list[Annotation] = []
        for one in self._annotations.all():
            if frame.shows(one.finding.image):
                shown.append(one)
            elif plane is not None and one.finding.plane is not None:
                found = self._projected.get(one.finding.id)
                # The same object as long as nothing changes, so that its shape is built once.
                if found is None or found[0] is not one.finding:
                    there = plane_marks.on_plane(one.finding, ref, plane, self._step)
                    if there is None:
                        continue
                    there = plane_marks.measured_on(there, frame, AT_ONCE)
                    found = self._projected[one.finding.id] = (one.finding, there)
                shown.append(replace(one, finding=found[1]))
        return shown

    def _add(self, annotation: Annotation) -> None:
        finding = annotation.finding
        item = item_kind(finding)(finding, self._style_of(annotation))
        self._items[finding.id] = item
        self._view.add_item(item)
        if finding is self._draft and isinstance(finding.geometry, Mask):
            self._shape_draft(item, finding.geometry)
        else:
            self._shape(item)

    def _shape_draft(self, item: AnnotationItem, mask: Mask) -> None:
        """Draw an unfinished mask without its outline, which takes longer."""
        item.drafted = True
        item.set_shape(self._draft_shape or finding_shapes.bitmap(mask))

    def _shape(self, item: AnnotationItem) -> None:
        """Give an item the shape of its finding; until a mask's is built, it keeps the last one."""
        finding = item.finding
        known = self._shapes.get(finding.id)
        if known is not None and known[0] is finding.geometry:
            item.set_shape(known[1])
        elif finding_shapes.is_light(finding):
            item.set_shape(finding_shapes.build(finding.geometry))
        else:
            self._queue.append(finding)
            if not self._building:
                self._pause.start()

    def _build_next(self) -> None:
        while self._queue and self._is_gone(self._queue[0]):
            self._queue.popleft()  # removed or changed before its turn
        if self._building or not self._queue:
            return
        finding = self._queue.popleft()
        self._building = True
        self._background.submit(
            partial(finding_shapes.build, finding.geometry),
            partial(self._take_shape, finding),
            partial(self._give_up, finding),
        )

    def count(self, finding: Finding, frame: Frame) -> None:
        """Add the statistics of a large region once they have been computed on a thread."""
        if self._counting is finding.geometry:
            return
        self._counting = finding.geometry

        def take(counted: Finding) -> None:
            if any(one.name == "Mean" for one in counted.measurements):
                self._counting = None  # else there is nothing to count, however often it is asked
            known = self._annotations.get(finding.id)
            if known is not None and known.finding.geometry is finding.geometry:
                values = counted.measurements
                described = counted.description
                changed = replace(known.finding, measurements=values, description=described)
                self._annotations.refresh([changed])

        self._background.submit(
            partial(drawing.with_statistics, finding, frame), take, lambda _error: None
        )

    def _is_gone(self, finding: Finding) -> bool:
        item = self._items.get(finding.id)
        return item is None or item.finding.geometry is not finding.geometry

    def _give_up(self, finding: Finding, _error: SightlineError) -> None:
        self._take_shape(finding, finding_shapes.NOTHING)

    def _take_shape(self, finding: Finding, shape: finding_shapes.Shape) -> None:
        self._building = False
        self._pause.start()
        # Kept by id so that hiding, scrolling away and undo do not build it again.
        self._shapes[finding.id] = finding.geometry, shape
        while len(self._shapes) > CACHED_SHAPES:
            del self._shapes[next(iter(self._shapes))]
        if not self._is_gone(finding):
            self._items[finding.id].set_shape(shape)
            self.changed.emit()

    # Labels, selection and hover

    def move_label(self, finding_id: str, offset: QPointF) -> None:
        """Put the centre of a finding's label at its anchor plus `offset` (px of the view)."""
        self._offsets[finding_id] = offset
        self.changed.emit()

    def hit(self, at: QPointF) -> str:
        """Return the id of the topmost finding within 8 screen px of an image point; "" if none."""
        best, best_key = "", (math.inf, math.inf)
        scale = self._view.pixel_scale
        for finding_id, item in self._items.items():
            distance = item.distance(at, scale)
            key = (-item.z, distance)
            if distance <= REACH and key < best_key:
                best, best_key = finding_id, key
        return best

    def object_at(self, finding_id: str, at: QPointF) -> int:
        """Return the number of a finding's object at an image point; 0 if there is none."""
        item = self._items.get(finding_id)
        return item.object_at(at) if isinstance(item, ObjectsItem) else 0

    def hover(self, finding_id: str, number: int = 0) -> None:
        """Highlight the finding under the mouse, or its object with a number; "" for none."""
        if (finding_id, number) != (self._hovered, self._hovered_object):
            self._hovered, self._hovered_object = finding_id, number
            self._restyle()

    def bounds_of_object(self, finding_id: str, number: int) -> QRectF:
        """Return the edges of an object's pixels on the image; empty if it is not drawn here."""
        item = self._items.get(finding_id)
        objects = item.outline.objects if item is not None and item.outline else None
        return objects.bounds(number) if objects is not None else QRectF()

    def bounds(self, finding_id: str) -> QRectF:
        """Return the edges of a finding on the image; null if it is not drawn here, or not yet."""
        item = self._items.get(finding_id)
        if item is None or item.outline is None:
            return QRectF()
        bounds = item.outline.path.boundingRect()
        at = item.outline.anchor
        return QRectF(at, QSizeF(0, 0)) if bounds.isNull() else bounds

    def has(self, finding_id: str) -> bool:
        """Return whether a finding is drawn here, and its shape is known."""
        item = self._items.get(finding_id)
        return item is not None and item.outline is not None

    def _restyle(self) -> None:
        for finding_id, item in self._items.items():
            annotation = self._annotations.get(finding_id)
            if annotation is not None:
                item.set_style(self._style_of(annotation))
        self.changed.emit()

    def _style_of(self, annotation: Annotation) -> FindingStyle:
        finding_id = annotation.finding.id
        drawn = self._draft is not None and finding_id == self._draft.id
        marked = (self._annotations.selected, self._hovered)
        strong = drawn or finding_id in marked or finding_id in self._annotations.pointed
        handles = strong and self.has_handles(annotation.finding)
        strength = self._strength_of(annotation.finding)
        tint = annotation.tint or DARK.annotation_color(annotation.color)
        finding = annotation.finding
        state = State.ACCEPTED if drawing.by_hand(finding) else finding.state
        objects: tuple[int, ...] = ()
        if isinstance(finding.geometry, Instances):
            chosen = (
                self._annotations.selected_object if finding_id == self._annotations.selected else 0
            )
            hovered = self._hovered_object if finding_id == self._hovered else 0
            objects = tuple(dict.fromkeys(one for one in (hovered, chosen) if one))
            strong = strong and not objects
        return FindingStyle(
            tint, strong, handles=handles, strength=strength, state=state, objects=objects
        )

    def has_handles(self, finding: Finding) -> bool:
        """Return whether the user can move a finding's points now.

        A tool's finding must be selected first, so that a drag that is meant to change the
        intensity window does not move a point.
        """
        known = self._annotations.get(finding.id)
        if known is not None and known.locked:
            return False
        mine = drawing.by_hand(finding) or finding.id == self._annotations.selected
        return mine and bool(drawing.points_of(finding))

    def _strength_of(self, finding: Finding) -> float:
        """Return how strongly a finding is drawn; 0 for all heatmaps but one."""
        if not isinstance(finding.geometry, Heatmap):
            return 1.0
        seen = heatmap_legend.visible_heatmap(self.findings, self._annotations.selected)
        return self.heat_strength if seen is not None and seen.id == finding.id else 0.0

    def chips(self) -> list[Chip]:
        """Return visible findings' labels: highlighted ones, then points, lines, boxes, others."""
        result: list[Chip] = []
        for item in sorted(self._items.values(), key=lambda item: (-item.style.strong, -item.z)):
            shape, style = item.outline, item.style
            if shape is None or style.strength <= 0:
                continue
            to_view = item.sceneTransform() * self._view.viewportTransform()
            chip = label_chips.chip_of(item.finding, shape, to_view, style.color, style.strong)
            if chip.text:
                result.append(replace(chip, offset=self._offsets.get(chip.id)))
            for number in style.objects:
                if text := self._object_text(item.finding, shape, number):
                    top = shape.objects.bounds(number) if shape.objects else QRectF()
                    at = to_view.map(QPointF(top.center().x(), top.top()))
                    result.insert(0, Chip("", text, at, style.color, strong=True))
        return result

    def _object_text(self, finding: Finding, shape: finding_shapes.Shape, number: int) -> str:
        """Return an object's number and area; "" if there is no such object."""
        place = shape.objects.objects.place_of(number) if shape.objects is not None else None
        if shape.objects is None or place is None or self._frame is None:
            return ""
        area = mark_measures.object_area(self._frame, shape.objects.objects, place)
        size = f"{mark_measures.figure(area.value)} {mark_measures.with_source(area)}"
        return f"{wording.label_text(finding)} {number}{wording.DOT}{size}"
