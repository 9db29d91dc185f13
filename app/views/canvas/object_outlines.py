"""Outlines of thousands of numbered objects, quick enough to be drawn in each step of a pan.

As long as the lines in view are few, they are drawn as such; else, as in an overview of 5,000
cells, from a picture of the objects' borders, whose lines are a pixel wide at every reduction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPixmap, QTransform

from app.imaging.pixels.numbered_objects import Objects, measured_objects

MOST_LINES = 8_000
"""Lines in view above which outlines are drawn from a picture: in 10 ms on one core."""

_TILE = 64  # pixels of the image, at least: outlines out of view are passed over by tiles
_TILES = 32  # along the longer side, at most
_SMALLEST = 256  # pixels of the shorter side of the most reduced picture
_LARGEST = 16_000_000  # pixels of the least reduced one

# By direction of a step along pixel edges (right, down, left, up), with the object on the right:
# the step, and the middle of the pixel's edge along which it goes, as (x, y).
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_MIDDLES = np.array([(0.0, -0.5), (0.5, 0.0), (0.0, 0.5), (-0.5, 0.0)])


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """The closed outlines of objects.

    Attributes:
        points: [n, 2] corners (x, y) of all outlines, one after the other; none is repeated.
        starts: Position of each outline's first corner in `points`.
    """

    points: NDArray[np.float64]
    starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """The edges between objects' pixels and others, as steps along the outlines.

    Attributes:
        points: [n, 2] middle (x, y) of each edge.
        following: [n] position of the next step along the same outline.
        turns: [n] whether the outline changes its direction here.
        border: bool [rows, columns]: the objects' outermost pixels.
    """

    points: NDArray[np.float64]
    following: NDArray[np.int64]
    turns: NDArray[np.bool_]
    border: NDArray[np.bool_]


def _steps(labels: NDArray[Any]) -> _Steps:
    padded = np.pad(labels, 1)
    width = padded.shape[1]
    flat = padded.ravel()
    along = np.array([dx + dy * width for dx, dy in _STEPS])
    outward = np.array([along[3], along[0], along[1], along[2]])  # a quarter turn to the left
    inside = np.flatnonzero(flat)
    own = flat[inside]
    edges = np.sort(
        np.concatenate([inside[flat[inside + outward[way]] != own] * 4 + way for way in range(4)])
    )
    pixels, ways = np.divmod(edges, 4)
    border = np.zeros(flat.shape, np.bool_)
    border[pixels] = True
    own, ahead = flat[pixels], pixels + along[ways]
    beside = ahead + outward[ways]
    # To the right first, so that an outline keeps to its pixel where two touch at a corner.
    right, left = pixels * 4 + (ways + 1) % 4, beside * 4 + (ways + 3) % 4
    after = np.where(
        flat[ahead] != own, right, np.where(flat[beside] == own, left, ahead * 4 + ways)
    )
    following = np.searchsorted(edges, after)
    points = np.stack([pixels % width - 1, pixels // width - 1], axis=1) + _MIDDLES[ways]
    before = np.empty_like(following)
    before[following] = np.arange(len(following))
    come, go = points - points[before], points[following] - points
    turns = come[:, 0] * go[:, 1] != come[:, 1] * go[:, 0]
    return _Steps(points, following, turns, border.reshape(padded.shape)[1:-1, 1:-1])


def trace(labels: NDArray[Any]) -> Traced:
    """Return the outlines of a mask or of numbered objects, as marching squares would at 0.5.

    They go through the middles of the edges between an object's pixels and others, holes in the
    opposite direction; straight runs keep only their ends. Diagonal neighbours are kept apart.
    """
    steps = _steps(labels)
    order, starts = _cycles(steps.following)
    turns = steps.turns[order]
    return Traced(steps.points[order][turns], np.concatenate([[0], np.cumsum(turns)])[starts])


def _cycles(following: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of a permutation's cycles one after the other, and where each starts."""
    after: list[int] = following.tolist()
    left = bytearray(b"\1") * len(after)
    order: list[int] = []
    starts: list[int] = []
    for first in range(len(after)):
        if left[first]:
            starts.append(len(order))
            at = first
            while left[at]:
                left[at] = 0
                order.append(at)
                at = after[at]
    return np.array(order, np.int64), np.array(starts, np.int64)


def _lines(steps: _Steps) -> NDArray[np.float64]:
    """Return outlines as [n, 4] lines, unordered; with no Python loop that stalls the window."""
    ends = steps.following.copy()
    while (straight := np.flatnonzero(~steps.turns[ends])).size:
        ends[straight] = ends[ends[straight]]  # twice as far in each round
    corners = np.flatnonzero(steps.turns)
    return np.hstack([steps.points[corners], steps.points[ends[corners]]])


def path_of(traced: Traced) -> QPainterPath:
    """Return outlines as one closed path."""
    import pyqtgraph as pg  # after the first window

    points, starts = traced.points, traced.starts
    path = QPainterPath()
    if len(starts):
        ends = np.append(starts[1:], len(points))
        closed = np.insert(points, ends, points[starts], axis=0)
        connected: Any = np.ones(len(closed), np.int32)
        connected[ends + np.arange(len(ends))] = 0
        # Straight from the arrays: a QPointF per point would hold Python's lock for long.
        path = pg.arrayToQPath(*np.ascontiguousarray(closed.T), connect=connected)
    return path


@dataclass(slots=True, eq=False)
class ObjectOutlines:
    """What draws numbered objects.

    Attributes:
        tiles: The lines of the outlines that begin in one part of the image, with their bounds.
        lines: Number of all lines.
        levels: The objects' borders as indexed pictures, 1 where there is a line: the image, and
            reduced by 2, 4 and so on.
        reduced: Image pixels per pixel of the first level.
    """

    labels: NDArray[Any]
    objects: Objects
    tiles: tuple[tuple[QRectF, QPainterPath], ...]
    lines: int
    levels: tuple[QImage, ...]
    reduced: int = 1
    _tinted: dict[tuple[int, int], QImage] = field(default_factory=dict[tuple[int, int], QImage])
    _single: tuple[int, QPainterPath] = (0, QPainterPath())

    def path(self, number: int) -> QPainterPath:
        """Return the outline of one object; an empty path if there is none with this number."""
        place = self.objects.place_of(number)
        if self._single[0] != number and place is not None:
            x0, y0, x1, y1 = self.objects.boxes[place].tolist()
            part = trace(self.labels[y0 : y1 + 1, x0 : x1 + 1] == number)
            self._single = number, path_of(part).translated(x0, y0)
        return self._single[1] if place is not None else QPainterPath()

    def bounds(self, number: int) -> QRectF:
        """Return the outer edges of an object's pixels; an empty rectangle if there is none."""
        place = self.objects.place_of(number)
        if place is None:
            return QRectF()
        x0, y0, x1, y1 = self.objects.boxes[place].tolist()
        return QRectF(x0 - 0.5, y0 - 0.5, x1 - x0 + 1, y1 - y0 + 1)

    def draw(self, painter: QPainter, pen: QPen) -> None:
        """Draw the outlines in view, in image coordinates; the width of `pen` is in screen px."""
        rows, columns = self.labels.shape
        extent = QRectF(-0.5, -0.5, columns, rows)
        transform = painter.worldTransform()
        view = transform.inverted()[0].mapRect(_room(painter)).intersected(extent)
        in_view = self.lines * (view.width() * view.height()) / max(rows * columns, 1)
        painter.save()
        if in_view <= MOST_LINES:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setWorldTransform(QTransform())
            for bounds, path in self.tiles:
                if bounds.intersects(view):
                    painter.drawPath(transform.map(path))
        else:
            device = painter.deviceTransform()
            zoom = (abs(device.determinant()) ** 0.5) * self.reduced
            level = 0
            while level + 1 < len(self.levels) and zoom * 2 ** (level + 1) <= 1.0:
                level += 1
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, zoom < 1)
            picture = self._tint(level, pen.color())
            step = self.reduced * 2**level
            place = QRectF(-0.5, -0.5, picture.width() * step, picture.height() * step)
            painter.drawImage(place, picture)
        painter.restore()

    def _tint(self, level: int, color: QColor) -> QImage:
        """Return a level in a colour; an indexed picture would be drawn six times as slowly."""
        key = level, color.rgba()
        if key not in self._tinted:
            if any(rgba != key[1] for _, rgba in self._tinted):
                self._tinted.clear()
            picture = QImage(self.levels[level])
            picture.setColorTable([0, key[1]])
            form = QImage.Format.Format_ARGB32_Premultiplied
            self._tinted[key] = picture.convertToFormat(form)
        return self._tinted[key]


def _room(painter: QPainter) -> QRectF:
    """Return all of what is drawn on, in logical px: a picture tells its size in physical ones."""
    device = painter.device()
    picture = isinstance(device, QImage | QPixmap)
    density = device.devicePixelRatioF() if picture else 1.0
    return QRectF(0, 0, device.width() / density, device.height() / density)


def build(labels: NDArray[Any]) -> ObjectOutlines:
    """Return what draws numbered objects; about 1 s for 5,000 of them, so not on the GUI thread."""
    steps = _steps(labels)
    lines = _lines(steps)
    border = steps.border
    reduced = 1
    while border.size > _LARGEST:
        border, reduced = _halved(border), reduced * 2
    levels = [border]
    while min(levels[-1].shape) > _SMALLEST:
        levels.append(_halved(levels[-1]))
    return ObjectOutlines(
        labels,
        measured_objects(labels),
        _tiles(lines, max(labels.shape)),
        len(lines),
        tuple(indexed_image(one.astype(np.uint8)) for one in levels),
        reduced,
    )


def _tiles(lines: NDArray[np.float64], longest: int) -> tuple[tuple[QRectF, QPainterPath], ...]:
    import pyqtgraph as pg

    if not len(lines):
        return ()
    size = max(_TILE, longest / _TILES)
    across, down = (np.maximum(lines[:, :2], 0) // size).astype(np.int64).T
    tile = down * (_TILES + 1) + across
    order = np.argsort(tile, kind="stable")
    tiles: list[tuple[QRectF, QPainterPath]] = []
    for part in np.split(order, np.flatnonzero(np.diff(tile[order])) + 1):
        ends = np.ascontiguousarray(lines[part].reshape(-1, 2).T)
        # Separate lines: Qt takes five times as long for joined ones.
        path = pg.arrayToQPath(*ends, connect="pairs")
        tiles.append((path.boundingRect(), path))
    return tuple(tiles)


def _halved(lines: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a picture reduced by two; a pixel is set where any of its four was."""
    rows, columns = lines.shape
    even = np.pad(lines, ((0, rows % 2), (0, columns % 2)))
    return even[::2, ::2] | even[1::2, ::2] | even[::2, 1::2] | even[1::2, 1::2]


def indexed_image(levels: NDArray[np.uint8]) -> QImage:
    """Return [rows, columns] uint8 as an indexed image; the caller must set its colour table."""
    buffer = np.ascontiguousarray(levels)
    rows, columns = buffer.shape
    # copy(): the QImage then owns its pixels.
    return QImage(buffer.data, columns, rows, columns, QImage.Format.Format_Indexed8).copy()
