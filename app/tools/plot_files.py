"""Plots as files: PNG, SVG and PDF, drawn by matplotlib from the data that the window shows.

matplotlib is imported when a plot is drawn, in a process of its own or the model process.
"""

from __future__ import annotations

import io
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from app.errors import FileProblem
from app.tools import plot_data
from app.tools.plot_data import Bars, Distribution, Gallery, Histogram, Points
from app.tools.plots import Plot, pictures_of, read_plot
from app.tools.tables import read_table

FORMS = ("png", "svg", "pdf")
_SIZE = (7.0, 4.8)  # inches
_DPI = 200
_MOST_PICTURES = 100
_COLUMNS = 10
_WIDEST = 50  # letters of all names below an axis that fit beside each other


def drawn_apart(path: Path, form: str) -> bytes:
    """Return a plot as a file, drawn in a process of its own. Not for GUI threads.

    Args:
        path: The plot's JSON file.
        form: One of `FORMS`.

    Raises:
        FileProblem: The plot or its table cannot be read, or matplotlib is not installed.
    """
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            return pool.submit(drawn_plot, path, form).result()
    except BrokenProcessPool as error:
        raise FileProblem("the process that draws plots ended", remedy="Try again.") from error


def drawn_plot(path: Path, form: str) -> bytes:
    """Return a plot as a file, drawn by this process; see `drawn_apart`."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise FileProblem(
            "plots cannot be written as files, since matplotlib is not installed",
            remedy="Install Sightline with its AI packages.",
        ) from error
    plot = read_plot(path)
    table = read_table(path.with_name(plot.table))
    data = plot_data.data_of(plot, table)
    # Text stays text in SVG and PDF; no date, so that equal plots are equal files.
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "plot"}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        if isinstance(data, Gallery):
            _gallery(figure, data, path)
        else:
            axes: Any = figure.add_subplot()
            _draw(axes, plot, data)
            x_title, y_title = plot_data.titles_of(plot, table)
            axes.set_xlabel(x_title)
            axes.set_ylabel(y_title or ("Count" if isinstance(data, Histogram) else ""))
            axes.spines[["top", "right"]].set_visible(False)
        figure.suptitle(plot.title)
        if plot.note:
            figure.supxlabel(plot.note, fontsize="small")
        stream = io.BytesIO()
        dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, dpi=_DPI, metadata=dates.get(form))
    return stream.getvalue()


def _draw(axes: Any, plot: Plot, data: Any) -> None:
    match data:
        case Points():
            _points(axes, plot, data)
        case Bars():
            _bars(axes, plot, data)
        case Histogram():
            axes.stairs(data.counts, data.edges, fill=True, color=plot_data.PALETTE[0])
        case _:
            (_boxes if plot.kind == "box" else _violins)(axes, data)


def _points(axes: Any, plot: Plot, data: Points) -> None:
    for group in data.groups:
        if plot.kind == "line":
            axes.plot(group.x, group.y, color=group.color, label=group.name, linewidth=1.5)
        elif data.shade is not None:
            colored = axes.scatter(group.x, group.y, s=9, c=data.shade[group.rows])
            axes.figure.colorbar(colored, ax=axes, label=plot.color)
        else:
            axes.scatter(group.x, group.y, s=9, color=group.color, label=group.name)
        if group.error is not None:
            axes.errorbar(group.x, group.y, group.error, fmt="none", ecolor=group.color, capsize=3)
    for axis, names in ((axes.xaxis, data.x_names), (axes.yaxis, data.y_names)):
        if names:
            axis.set_ticks(range(len(names)), names)
    if len(data.groups) > 1:
        axes.legend(title=plot.color, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _bars(axes: Any, plot: Plot, data: Bars) -> None:
    below = np.zeros(len(data.names))
    for name, color, heights in data.parts:
        axes.bar(range(len(data.names)), heights, 0.7, bottom=below, color=color, label=name)
        below += heights
    if data.errors is not None:
        axes.errorbar(
            range(len(data.names)), below, data.errors, fmt="none", ecolor="black", capsize=3
        )
    _name_places(axes, data.names)
    if len(data.parts) > 1:
        axes.legend(title=plot.color, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _name_places(axes: Any, names: Sequence[str]) -> None:
    upright = sum(map(len, names)) <= _WIDEST
    axes.set_xticks(range(len(names)), names, rotation=0 if upright else 30)
    if not upright:
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")


def _boxes(axes: Any, data: tuple[Distribution, ...]) -> None:
    made = axes.bxp(
        [
            {
                "med": one.quartiles[1],
                "q1": one.quartiles[0],
                "q3": one.quartiles[2],
                "whislo": one.whiskers[0],
                "whishi": one.whiskers[1],
                "fliers": one.values[one.outliers],
            }
            for one in data
        ],
        positions=range(len(data)),
        patch_artist=True,
        medianprops={"color": "black"},
        flierprops={"markersize": 3},
    )
    for box, one in zip(made["boxes"], data, strict=True):
        box.set_facecolor(one.color)
    _name_places(axes, [one.name for one in data])


def _violins(axes: Any, data: tuple[Distribution, ...]) -> None:
    for place, one in enumerate(data):
        width = 0.4 * one.density
        axes.fill_betweenx(one.grid, place - width, place + width, color=one.color, alpha=0.6)
        axes.vlines(place, one.quartiles[0], one.quartiles[2], color="black", linewidth=3)
        axes.plot([place], [one.quartiles[1]], "o", color="white", markersize=4)
    _name_places(axes, [one.name for one in data])


def _gallery(figure: Any, data: Gallery, path: Path) -> None:
    found = pictures_of(path, data.pictures)
    shown = [(file, caption) for _, file, caption in found if file is not None][:_MOST_PICTURES]
    columns = min(_COLUMNS, max(len(shown), 1))
    rows = -(-len(shown) // columns) or 1
    figure.set_size_inches(columns, rows * 1.2 + 0.5)
    for number, (file, caption) in enumerate(shown, 1):
        axes: Any = figure.add_subplot(rows, columns, number)
        axes.set_axis_off()
        axes.set_title(caption, fontsize=6)
        try:
            with Image.open(file, formats=("PNG", "JPEG")) as image:
                pixels = np.asarray(image.convert("RGB"))
        except (OSError, ValueError, Image.DecompressionBombError):
            continue  # its place stays empty
        axes.imshow(pixels)
