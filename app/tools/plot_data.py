"""The numbers behind a plot, as the window and the files draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.tools.plots import Plot
from app.tools.tables import Table, Value, titled

Floats = NDArray[np.float64]

PALETTE = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#a08a00", "#8c6bb1"),
    *("#7f7f7f", "#17a2a2", "#b2182b", "#4d9221"),
)
"""Colours of categories; the first seven are those of Okabe and Ito, told apart by all eyes."""

MOST_COLORS = 24
"""Categories that have a colour each; numbers of more values are coloured by a scale."""

MOST_CATEGORIES = 200
"""Categories along an axis."""

MOST_BINS = 200
_GRID = 128  # points along a violin


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Points of one colour.

    Attributes:
        name: What they have in common; "" where nothing is coloured.
        color: #rrggbb.
        rows: [n] row of the table of each point.
        x, y: [n] their places.
        error: [n] half the length of each error bar, or None.
    """

    name: str
    color: str
    rows: NDArray[np.int64]
    x: Floats
    y: Floats
    error: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """What a scatter or line plot shows.

    Attributes:
        x_names, y_names: Names of the values 0, 1, ... along an axis of words; () of numbers.
        shade: By row, the value that colours a point by a scale, in place of the groups' colours.
    """

    groups: tuple[Group, ...]
    x_names: tuple[str, ...] = ()
    y_names: tuple[str, ...] = ()
    shade: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars side by side, each of stacked parts.

    Attributes:
        names: [n] below the bars.
        parts: Name, colour and [n] heights of each part of the bars, from below.
        errors: [n] half the length of error bars at the top; None without.
    """

    names: tuple[str, ...]
    parts: tuple[tuple[str, str, Floats], ...]
    errors: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The values of one category, for a box or a violin.

    Attributes:
        values: [n], in the order of the table.
        rows: [n] row of the table of each.
        quartiles: 25%, 50% and 75% (linear between values).
        whiskers: The outermost values within 1.5 times the distance of the quartiles from them.
        grid, density: [m] values and their estimated density (Gaussian kernel, Scott's rule), 1 at
            its maximum; empty with fewer than two different values.
    """

    name: str
    color: str
    values: Floats
    rows: NDArray[np.int64]
    quartiles: tuple[float, float, float]
    whiskers: tuple[float, float]
    grid: Floats
    density: Floats

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Which values lie beyond the whiskers."""
        low, high = self.whiskers
        return (self.values < low) | (self.values > high)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts between edges, with one more edge than counts."""

    edges: Floats
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures by their path as the table has it, with row and caption."""

    pictures: tuple[tuple[int, str, str], ...]


Drawn = Points | Bars | tuple[Distribution, ...] | Histogram | Gallery


def data_of(plot: Plot, table: Table) -> Drawn:
    """Return what a plot draws of its table; rows without a value are left out.

    Raises:
        FileProblem: The table lacks a column, or has words in place of numbers.
    """
    match plot.kind:
        case "scatter" | "line":
            return _points(plot, table)
        case "bar":
            return _bars(plot, table)
        case "box" | "violin":
            return _distributions(plot, table)
        case "histogram":
            values = _numbers(table, plot.x)
            counts, edges = _counted(values[np.isfinite(values)])
            return Histogram(edges, counts)
        case "gallery":
            captions = _column(table, plot.color or plot.label_column or plot.x)
            return Gallery(
                tuple(
                    (row, str(path), text_of(caption))
                    for row, (path, caption) in enumerate(
                        zip(_column(table, plot.x), captions, strict=True)
                    )
                    if path is not None
                )
            )


def titles_of(plot: Plot, table: Table) -> tuple[str, str]:
    """Return the titles of both axes, with the units that the table has."""
    if plot.kind == "histogram":
        return plot.x_title or titled(table, plot.x), plot.y_title
    return plot.x_title or titled(table, plot.x), plot.y_title or titled(table, plot.y)


def text_of(value: Value) -> str:
    """Return a value of a table as short text."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e9 else f"{value:.0f}"
    return str(value)


def _points(plot: Plot, table: Table) -> Points:
    x, x_names = _placed(table, plot.x)
    y, y_names = _placed(table, plot.y)
    error = _numbers(table, plot.error) if plot.error else None
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    colors = _column(table, plot.color) if plot.color else [None] * len(x)
    names = _categories([colors[row] for row in kept.tolist()])
    shade = None
    if plot.color and len(names) > MOST_COLORS and all(map(_is_number, names)):
        shade, colors, names = _numbers(table, plot.color), [None] * len(x), [None]
    groups: list[Group] = []
    for number, name in enumerate(names):
        rows = np.array([row for row in kept.tolist() if colors[row] == name], np.int64)
        if plot.kind == "line":
            rows = rows[np.argsort(x[rows], kind="stable")]
        groups.append(
            Group(
                text_of(name),
                PALETTE[number % len(PALETTE)],
                rows,
                x[rows],
                y[rows],
                None if error is None else np.nan_to_num(error[rows]),
            )
        )
    return Points(tuple(groups), x_names, y_names, shade)


def _bars(plot: Plot, table: Table) -> Bars:
    categories, heights = _column(table, plot.x), np.nan_to_num(_numbers(table, plot.y))
    names = _limited(_categories(categories))
    place = {name: number for number, name in enumerate(names)}
    colors = _column(table, plot.color) if plot.color else [None] * len(categories)
    parts: list[tuple[str, str, Floats]] = []
    for number, part in enumerate(_categories(colors)):
        summed = np.zeros(len(names))
        for category, color, height in zip(categories, colors, heights.tolist(), strict=True):
            if color == part and category in place:
                summed[place[category]] += height
        parts.append((text_of(part), PALETTE[number % len(PALETTE)], summed))
    errors = None
    if plot.error:
        errors = np.zeros(len(names))
        given = np.nan_to_num(_numbers(table, plot.error)).tolist()
        for category, error in zip(categories, given, strict=True):
            if category in place:
                errors[place[category]] = max(errors[place[category]], error)
    return Bars(tuple(map(text_of, names)), tuple(parts), errors)


def _distributions(plot: Plot, table: Table) -> tuple[Distribution, ...]:
    values = _numbers(table, plot.y)
    categories = _column(table, plot.x) if plot.x else [None] * len(values)
    found: list[Distribution] = []
    for number, name in enumerate(_limited(_categories(categories))):
        same = np.array([one == name for one in categories])
        rows = np.flatnonzero(same & np.isfinite(values))
        if len(rows):
            color = PALETTE[number % len(PALETTE)]
            found.append(distribution(text_of(name), color, values[rows], rows))
    return tuple(found)


def distribution(name: str, color: str, values: Floats, rows: NDArray[np.int64]) -> Distribution:
    """Return what a box or violin shows of values, of which there is at least one."""
    low, middle, high = np.percentile(values, (25, 50, 75)).tolist()
    reach = 1.5 * (high - low)
    within = values[(values >= low - reach) & (values <= high + reach)]
    grid = density = np.zeros(0)
    if np.ptp(values) > 0:
        grid = np.linspace(values.min(), values.max(), _GRID)
        width = values.std(ddof=1) * len(values) ** -0.2
        away = (grid[:, None] - values[None, :]) / width
        density = np.exp(-(away**2) / 2).mean(axis=1)
        density = density / density.max()
    whiskers = float(within.min()), float(within.max())
    return Distribution(name, color, values, rows, (low, middle, high), whiskers, grid, density)


def _counted(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    if not len(values):
        return np.zeros(1, np.int64), np.array([0.0, 1.0])
    edges = np.histogram_bin_edges(values, "auto")
    if len(edges) - 1 > MOST_BINS:
        edges = np.histogram_bin_edges(values, MOST_BINS)
    counts, edges = np.histogram(values, edges)
    return counts.astype(np.int64), edges.astype(np.float64)


def _placed(table: Table, name: str) -> tuple[Floats, tuple[str, ...]]:
    """Return a column along an axis; words are numbered from 0, and their names are returned."""
    values = _column(table, name)
    if not any(isinstance(one, str) for one in values):
        return _numbers(table, name), ()
    names = _limited(_categories([one for one in values if one is not None]))
    place = {one: float(number) for number, one in enumerate(names)}
    places = [math.nan if one is None else place.get(one, math.nan) for one in values]
    return np.array(places), tuple(map(text_of, names))


def _column(table: Table, name: str) -> list[Value]:
    if name not in table.columns:
        raise FileProblem(f"the plot's table has no column {name!r}", remedy="Ask for it again.")
    return table.column(name)


def _numbers(table: Table, name: str) -> Floats:
    values = _column(table, name)
    if any(isinstance(one, str) for one in values):
        raise FileProblem(
            f"the column {name!r} of the plot's table has words in place of numbers",
            remedy="Ask for it again.",
        )
    return np.array([math.nan if one is None else float(one) for one in values])


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _categories(values: Sequence[Value]) -> list[Value]:
    """Return the different values: numbers by size, words in order of appearance."""
    names = list(dict.fromkeys(values))
    numbers = [one for one in names if isinstance(one, int | float)]
    return [*sorted(numbers), *(one for one in names if not isinstance(one, int | float))]


def _limited(names: list[Value]) -> list[Value]:
    if len(names) > MOST_CATEGORIES:
        raise FileProblem(
            f"{len(names):,} categories are too many for a plot",
            remedy="Ask for a plot by a column of fewer different values.",
        )
    return names
