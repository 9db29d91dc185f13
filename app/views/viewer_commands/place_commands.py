"""Commands at a place that the user means: a region attached to the question, or the last click."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from app.imaging.findings import Box, State
from app.tools.api import JsonDict, ToolContext, ToolFailed, ToolRetry, ViewerAnswer
from app.tools.viewer import tools as named
from app.tools.viewer.places import region_in
from app.views.canvas.canvas import Canvas
from app.views.viewer_commands.finding_commands import (
    Area,
    acquired_canvas,
    in_hand,
    label_of,
    made_by,
    names_of,
    touches,
)
from app.views.viewer_commands.shown import ShownState, shown_canvas
from app.views.viewports.viewport_frame import ViewportFrame
from app.workspace import drawing, region_statistics
from app.workspace.region_statistics import Region

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_MARGIN = 0.2
"""Margin around a region that is zoomed to, as a fraction of its size."""
_TENTHS = 10
"""From this value on, statistics have tenths; smaller values have three figures."""
_ARROW = 0.12
"""Length of an arrow, along each axis, as a fraction of the image's shorter side."""
_TOOLS = {
    "point": drawing.POINT,
    "box": drawing.BOX,
    "ellipse": drawing.ELLIPSE,
    "arrow": drawing.ARROW,
}
_IN_HAND = {
    "value": "probe a value",
    "point": "mark a point",
    "box": "mark a box",
    "ellipse": "draw an ellipse",
    "arrow": "draw an arrow",
}
"""Commands of the menus by which the user shows the place instead."""

XY = tuple[float, float]


class PlaceCommands:
    """Each command returns its answer, or None for what is then shown."""

    def __init__(self, window: MainWindow, shown: ShownState) -> None:
        self._window, self._workspace, self._shown = window, window.workspace, shown
        self.by_name: dict[str, Callable[[JsonDict, ToolContext], ViewerAnswer | None]] = {
            named.PLACE: self._at_place,
        }

    def _at_place(self, arguments: JsonDict, context: ToolContext) -> ViewerAnswer | None:
        action = str(arguments["action"])
        line = str(arguments.get("region", ""))
        region = region_in(line)
        if line and region is None:
            raise ToolRetry(
                "this is not the line of a region", remedy="Copy it from below the question."
            )
        viewport = (
            self._window.viewports.active if region is None else self._shown.of_region(region)
        )
        canvas = shown_canvas(viewport)
        box = region.box if region is not None else None
        if box is not None:
            _check_inside(canvas, box)
        if action == "statistics" or (action == "value" and box is not None):
            told = _statistics(canvas, box or self._selected_region(canvas))
            return self._of_viewport(told, viewport)
        if action == "value":
            return self._value(canvas)
        if action in _TOOLS:
            return self._draw(action, viewport, box, arguments, context)
        if box is None:
            raise _no_region()
        if action == "measure":
            return self._of_viewport(_size(canvas, box), viewport)
        if action == "findings":
            return self._findings_in(canvas, box)
        area = (box.x0, box.y0, box.x1, box.y1)
        canvas.zoom_to(area, _MARGIN) if action == "zoom" else _centre(canvas, area)
        return None

    def _of_viewport(self, told: ViewerAnswer, viewport: ViewportFrame) -> ViewerAnswer:
        """Return an answer that names its viewport, if there are several."""
        every = self._workspace.layout.screen.viewports
        if len(every) == 1:
            return told
        number = every.index(viewport.viewport) + 1
        return replace(told, summary=f"Viewport {number}: {told.summary}")

    def _value(self, canvas: Canvas) -> ViewerAnswer:
        """Return the value of the pixel that was clicked last; without one, the probe is in hand.

        It is that of the image (HU), never of the screen; see `drawing.draw` of a probe.
        """
        if not canvas.clicked or canvas.frame is None:
            return in_hand(self._window, _IN_HAND["value"])
        probed = drawing.draw(drawing.PROBE, canvas.frame, canvas.clicked[-1:])
        text, _, place = probed.description.partition("; ")
        if not place:
            raise ToolFailed("the pixel that you clicked has no value")
        output = {"value": probed.value, "units": probed.units}
        return ViewerAnswer(f"Value at {place}: {text}.", output)

    def _selected_region(self, canvas: Canvas) -> Region:
        """Return the region of the selected mark, if it lies on the shown image."""
        item = self._workspace.annotations.get(self._workspace.annotations.selected)
        shape = region_statistics.region_of(item.finding) if item is not None else None
        if item is None or shape is None or canvas.frame is None:
            raise _no_region()
        if not canvas.frame.shows(item.finding.image):
            raise _no_region()
        return shape

    def _draw(
        self,
        action: str,
        viewport: ViewportFrame,
        box: Box | None,
        arguments: JsonDict,
        context: ToolContext,
    ) -> ViewerAnswer:
        canvas = acquired_canvas(viewport)
        frame = canvas.scaled_frame
        assert frame is not None
        points = _corners(box) if box is not None else canvas.clicked[-1:]
        if not points or (box is None and action in ("box", "ellipse")):
            return in_hand(self._window, _IN_HAND[action])
        if action in ("point", "arrow"):
            x, y = _middle(points)
            size = min(frame.columns, frame.rows) * _ARROW
            # From the roomier side, so that all of it is on the image.
            tail = x + (size if x < frame.columns / 2 else -size)
            foot = y + (size if y < frame.rows / 2 else -size)
            points = [(x, y)] if action == "point" else [(x, y), (tail, foot)]
        drawn = drawing.draw(_TOOLS[action], frame, points)
        label = label_of(arguments, drawn)
        finding = made_by(drawn, named.PLACE, context, label)
        return ViewerAnswer(f"Marked: {label}.", {"label": label}, (finding,))

    def _findings_in(self, canvas: Canvas, box: Box) -> ViewerAnswer:
        """Return which findings of the image lie in a region, at least in part."""
        frame = canvas.frame
        assert frame is not None
        there = [
            item.finding
            for item in self._workspace.annotations.all()
            if frame.shows(item.finding.image)
            and item.finding.state is not State.REJECTED
            and not drawing.is_mark(item.finding)
            and touches(item.finding, box)
        ]
        found = f"Drawn in the region: {names_of(there)}." if there else _NOTHING_DRAWN
        said = f"{_WHOLE_IMAGE} {found}"
        return ViewerAnswer(said, {"findings": [one.label for one in there]})


_WHOLE_IMAGE = "Tools look at the whole image, not only at the region."
_NOTHING_DRAWN = "No finding is drawn in the region."


def _statistics(canvas: Canvas, region: Region) -> ViewerAnswer:
    """Return the statistics of the image's own values in a region: mean, SD, range, count."""
    frame = canvas.frame
    assert frame is not None
    read = region_statistics.region_values(frame, region)
    if read is None:
        raise ToolFailed("a colour image has no values to average")
    found = region_statistics.statistics(*read)
    if found is None:
        raise ToolFailed("no pixel of the region has a value")
    form = ".1f" if max(abs(found.minimum), abs(found.maximum)) >= _TENTHS else ".3g"
    own = found.units in (region_statistics.STORED_UNITS, region_statistics.RESCALED_UNITS)
    units = f"({found.units})" if own else found.units
    said = (
        f"Mean {found.mean:{form}} {units}, SD {found.deviation:{form}}, "
        f"from {found.minimum:{form}} to {found.maximum:{form}}, {found.count} pixels."
    )
    if found.left_out:
        said += f" {found.left_out} pixels without a value are left out."
    output: JsonDict = {
        "mean": found.mean,
        "standard_deviation": found.deviation,
        "minimum": found.minimum,
        "maximum": found.maximum,
        "pixels": found.count,
        "units": found.units,
    }
    return ViewerAnswer(said, output)


def _size(canvas: Canvas, box: Box) -> ViewerAnswer:
    """Return width and height of a region, in mm where the scale of the image is known."""
    frame = canvas.scaled_frame
    assert frame is not None
    size = drawing.size_text(frame, box).partition(";")[0]
    said = f"Width × height of the region: {size}."
    if size.endswith("px"):
        said += " The scale of this image is not known, so this is in pixels."
    return ViewerAnswer(said, {"size": size})


def _centre(canvas: Canvas, area: Area) -> None:
    """Move the middle of an area to the middle of a viewport, at the same zoom."""
    shown = canvas.viewport().rect().toRectF()
    one, other = canvas.to_image(shown.topLeft()), canvas.to_image(shown.bottomRight())
    across, down = abs(other.x() - one.x()) / 2, abs(other.y() - one.y()) / 2
    x, y = (area[0] + area[2]) / 2, (area[1] + area[3]) / 2
    canvas.zoom_to((x - across, y - down, x + across, y + down))


def _corners(box: Box) -> list[XY]:
    return [(box.x0, box.y0), (box.x1, box.y1)]


def _middle(points: list[XY]) -> XY:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _check_inside(canvas: Canvas, box: Box) -> None:
    frame = canvas.frame
    if frame is None or box.x1 > frame.columns - 0.5 or box.y1 > frame.rows - 0.5:
        raise ToolRetry("the region is not within the image")


def _no_region() -> ToolRetry:
    return ToolRetry(
        "no region is attached to the question",
        remedy="Draw one with the dashed square below the question, then ask again.",
    )
