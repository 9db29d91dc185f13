"""Plots that tools return: what to draw, with the table that holds the data beside it.

A plot is a JSON file of the run that names columns of a CSV table. The window draws it with
pyqtgraph, so that a click on a point selects its object in the image; files are drawn with
matplotlib, from the same data.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import FileProblem, writing
from app.tools.api import Artifact
from app.user_files import read_regular, write_atomic


class Plot(BaseModel):
    """What a plot shows.

    Attributes:
        kind: "scatter" (`y` over `x`), "line" (`y` over `x`, joined), "bar" (`y` by the categories
            in `x`, stacked by `color`), "box" or "violin" (the distribution of `y` by `x`),
            "histogram" (of `x`) or "gallery" (pictures whose paths are in `x`).
        title: Title above the plot.
        table: Name of the CSV file with the data, in the same folder.
        x, y: Columns of the table; "" where the kind needs none.
        color: Column by whose values points or bars are coloured; "" for none.
        error: Column with half the length of an error bar; "" for none.
        x_title, y_title: Titles of the axes with units; "" to use the columns' names.
        image_column, label_column, findings: As in `app.tools.tables.write_table`; a point with
            them selects its object.
        note: A sentence below the plot, such as what a test found.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["scatter", "line", "bar", "box", "violin", "histogram", "gallery"]
    title: str
    table: str
    x: str
    y: str = ""
    color: str = ""
    error: str = ""
    x_title: str = ""
    y_title: str = ""
    image_column: str = ""
    label_column: str = ""
    findings: dict[str, str] = {}
    note: str = ""


def write_plot(path: Path, plot: Plot) -> Artifact:
    """Write a plot as JSON and return its artifact, with role "plot".

    Raises:
        FileProblem: The file cannot be written.
    """
    with writing(path, "the plot"):
        write_atomic(path, plot.model_dump_json(indent=1).encode())
    return Artifact(path, role="plot", title=plot.title, description=plot.note)


def read_plot(path: Path) -> Plot:
    """Return the plot in a JSON file of the run.

    Raises:
        FileProblem: The file is not a plot, names a table elsewhere, or cannot be read.
    """
    try:
        plot = Plot.model_validate_json(read_regular(path))
    except (OSError, ValidationError) as error:
        raise FileProblem(
            "the plot cannot be read",
            subject=str(path),
            remedy="Ask for it again.",
            detail=type(error).__name__,
        ) from error
    if Path(plot.table).name != plot.table:
        raise FileProblem("the plot names a table elsewhere", subject=str(path))
    return plot


def pictures_of(
    path: Path, pictures: Iterable[tuple[int, str, str]]
) -> list[tuple[int, Path | None, str]]:
    """Return a gallery's pictures (row, file, caption) by their paths in the table.

    The file is None where it is not in the plot's folder: a table may name any file.
    """
    folder = path.parent
    found: list[tuple[int, Path | None, str]] = []
    for row, name, caption in pictures:
        file = folder / name
        inside = ".." not in file.parts and file.is_relative_to(folder)
        found.append((row, file if inside else None, caption))
    return found
