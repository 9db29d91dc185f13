"""The tool `analysis_visualizer`: plots of cells, and what differs between groups of images."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from app.tools.api import (
    Artifact,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain, save_png
from app.tools.microscopy.names import ANALYZER, OTHER_NAMES, VISUALIZER
from app.tools.microscopy.run_files import (
    Names,
    file_stem,
    links_of,
    own_file,
    plural,
    read_tables,
    texts,
    units_of,
)
from app.tools.needs import is_installed
from app.tools.plots import Plot, write_plot
from app.tools.tables import Table, Value, table_of, write_table

_TIMEOUT_S = 300.0
_LEVEL = 0.05
_PER_CLUSTER = 10
_MOST_CLUSTERS = 20
_TOLD = 6  # comparisons that the summary names one by one
_FEATURES = ("area_um2", "area_px", "area", "eccentricity", "solidity", "mean_intensity")
_ONE_OF = ("area_um2", "area_px", "area")  # the same quantity: only the first that is there
_CONTROLS = (
    *("control", "ctrl", "ctl", "untreated", "vehicle", "dmso", "mock", "wt", "wildtype"),
    *("kontrolle", "unbehandelt"),
)
"""Names of groups that the others are compared with."""


class VisualizerInput(ToolInput):
    """Arguments of `analysis_visualizer`."""

    table_paths: Annotated[
        Names,
        takes(
            Resource.TABLE,
            "Tables with a row per cell: table_path of cell_state_analyzer, or of segmenters.",
        ),
    ]
    features: list[str] | None = Field(
        default=None, description="Columns to plot and compare; left out, area, form, intensity."
    )
    reference: str | None = Field(
        default=None,
        description="The group that the others are compared with; left out, one called control, "
        "untreated or the like, else each with each.",
    )
    color_by: Literal["cluster", "group"] = Field(
        default="cluster", description="What the points of the map are coloured by."
    )
    distribution: Literal["box", "violin"] = Field(
        default="box", description="How distributions of features are drawn."
    )


class VisualizerOutput(BaseModel):
    """The plots, and the comparisons of groups."""

    plots: list[str] = Field(description="Paths of the plots.")
    montage_path: str | None = Field(description="PNG with cells of each cluster, a row each.")
    clusters: list[dict[str, Any]] = Field(
        description="For each cluster and pair of groups: means of the replicates' shares, their "
        "difference with a 95% interval, Hedges g, p, and p adjusted (Benjamini and Hochberg)."
    )
    features: list[dict[str, Any]] = Field(description="The same for each feature.")
    statistics_path: str | None = Field(description="CSV with all comparisons.")
    unit: str = Field(description="What counts as one observation: replicates or images.")
    statistics_note: str = Field(description="How it was tested, or why it was not.")


SPEC = ToolSpec(
    name=VISUALIZER,
    title="Show cell analysis",
    icon="layout-grid",
    description=(
        "Draws the result of an analysis of cells: the UMAP, the share of each cluster per group "
        "and replicate, distributions of features and cells of each cluster. Compares groups with "
        "replicates (wells, images), never cells, as the unit, corrected for multiple testing. "
        "Works on the table of cell_state_analyzer or of a segmenter."
    ),
    Input=VisualizerInput,
    Output=VisualizerOutput,
    timeout_s=_TIMEOUT_S,
    pack="microscopy",
    paths={"table_paths": "read"},
    other_names=OTHER_NAMES[VISUALIZER],
    phrases=("plot the analysis", "show the umap"),
)


class AnalysisVisualizer:
    """The tool `analysis_visualizer`."""

    spec = SPEC

    def run(self, args: VisualizerInput, context: ToolContext) -> ToolResult:
        """Draw and compare; for errors see `app.tools.api.Tool.run`."""
        table, folders = read_tables(args.table_paths, context, ("image",), ANALYZER)
        if not table.rows:
            raise ToolRetry("the table has no rows", remedy="Segment or analyse an image first.")
        features = _features(args, table)
        groups, names = texts(table, "group"), sorted(set(texts(table, "group")) - {""})
        reference = _reference(args, names)
        context.progress(0.1, "Comparing")
        answer = self._compare(table, features, groups, reference, context) if names else _NOTHING
        context.cancel.check()
        draw = _Drawing(args, table, context)
        draw.cells(features, grouped=bool(names))
        draw.shares(answer["shares"])
        clusters, by_feature = answer["clusters"], answer["features"]
        statistics = draw.statistics(clusters, by_feature)
        context.progress(0.6, "Arranging cells")
        montage = _montage(table, folders, context)
        pictures = [montage] if montage else []
        unit = "replicate" if any(texts(table, "replicate")) else "image"
        note = _note(names, [*clusters, *by_feature], unit)
        output = {
            "plots": [str(one.path) for one in draw.made if one.role == "plot"],
            "montage_path": str(montage.path) if montage else None,
            "clusters": clusters,
            "features": by_feature,
            "statistics_path": str(statistics) if statistics else None,
            "unit": unit,
            "statistics_note": note,
        }
        return ToolResult(
            summary=_summary(table, clusters, by_feature, note, unit),
            output=plain(output),
            metadata={"status": "completed"},
            artifacts=(*draw.made, *pictures),
        )

    def _compare(
        self,
        table: Table,
        features: Sequence[str],
        groups: list[str],
        reference: str,
        context: ToolContext,
    ) -> dict[str, Any]:
        kept = [place for place, group in enumerate(groups) if group]
        units, clusters = units_of(table), texts(table, "cluster")
        columns = {name: table.column(name) for name in features}
        return context.host.call(
            "app.tools.microscopy.composition:entry",
            {
                "groups": [groups[place] for place in kept],
                "replicates": [units[place] for place in kept],
                "clusters": [clusters[place] for place in kept] if any(clusters) else [],
                "features": {
                    name: [_number(values[place]) for place in kept]
                    for name, values in columns.items()
                },
                "reference": reference,
                "device": "cpu",
            },
            cancel=context.cancel,
            timeout_s=_TIMEOUT_S,
        )


_NOTHING: dict[str, Any] = {"shares": [], "clusters": [], "features": []}


def _number(value: Value) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None  # pyright: ignore[reportArgumentType]


def _features(args: VisualizerInput, table: Table) -> list[str]:
    """Return columns to plot; raise ToolRetry for a missing one or one without numbers."""
    numeric = [
        name
        for name in table.columns
        if any(_number(value) is not None for value in table.column(name))
    ]
    if args.features is not None:
        wrong = [name for name in args.features if name not in numeric]
        if wrong:
            raise ToolRetry(
                f"the table has no numbers called {', '.join(wrong)}",
                remedy=f"It has: {', '.join(numeric)}.",
            )
        return list(dict.fromkeys(args.features))
    areas = [name for name in _ONE_OF if name in numeric][:1]
    found = [name for name in _FEATURES if name in numeric and name not in _ONE_OF]
    more = [name for name in numeric if name.startswith("mean_intensity_")][:4]
    return [*areas, *found, *more]


def _reference(args: VisualizerInput, names: Sequence[str]) -> str:
    """Return the reference group, "" for none; raise ToolRetry if there is no such group."""
    if args.reference:
        found = next((name for name in names if name.lower() == args.reference.lower()), None)
        if found is None:
            raise ToolRetry(
                f"there is no group {args.reference!r}",
                remedy=f"There are: {', '.join(names) or 'none'}.",
            )
        return found
    controls = [name for name in names if name.lower() in _CONTROLS]
    return controls[0] if len(controls) == 1 else ""


class _Drawing:
    """Writes the tables and plots of one call."""

    def __init__(self, args: VisualizerInput, table: Table, context: ToolContext) -> None:
        self._args, self._table, self._context = args, table, context
        self._stem = file_stem("figures", context)
        self.made: list[Artifact] = []
        self._plots = 0
        self._linked = links_of(table)
        if len(args.table_paths) == 1:
            self._cells = own_file(args.table_paths[0], context, "a table").name
            self._is_here = (context.out_dir / self._cells).is_file()
        else:
            self._is_here = False
        if not self._is_here:
            self._cells = f"{self._stem}-cells.csv"
            path = context.out_dir / self._cells
            self.made.append(write_table(path, table, "Cells", **self._linked))

    def _plot(self, **what: Any) -> None:
        self._plots += 1
        path = self._context.out_dir / f"{self._stem}-{self._plots}.json"
        self.made.append(write_plot(path, Plot(**what)))

    def cells(self, features: Sequence[str], *, grouped: bool) -> None:
        columns, cells = self._table.columns, self._cells
        if {"umap_1", "umap_2"} <= set(columns):
            color = self._args.color_by if self._args.color_by in columns else ""
            self._plot(
                kind="scatter",
                title="Map of the cells (UMAP)",
                table=cells,
                x="umap_1",
                y="umap_2",
                color=color,
                x_title="UMAP 1",
                y_title="UMAP 2",
                note="Near cells look alike; distances between far ones mean little.",
                **self._linked,
            )
        by = "group" if grouped else "cluster" if "cluster" in columns else "image"
        for name in features:
            self._plot(
                kind=self._args.distribution,
                title=f"{_title(name)} by {by}",
                table=cells,
                x=by,
                y=name,
                y_title=_title(name),
                color=by,
                **self._linked,
            )

    def shares(self, shares: Sequence[Mapping[str, Any]]) -> None:
        if not shares:
            return
        names = _sample_names([(str(one["group"]), str(one["replicate"])) for one in shares])
        records: list[dict[str, Value]] = [
            {
                "group": one["group"],
                "replicate": one["replicate"],
                "sample": names[str(one["group"]), str(one["replicate"])],
                "cluster": one["cluster"],
                "cells": one["cells"],
                "total": one["total"],
                "share": round(one["share"], 5),
            }
            for one in shares
        ]
        name = f"{self._stem}-shares.csv"
        path = self._context.out_dir / name
        self.made.append(write_table(path, table_of(records), "Clusters per replicate"))
        means: dict[tuple[str, str], list[float]] = {}
        for one in shares:
            means.setdefault((one["group"], one["cluster"]), []).append(one["share"])
        of_groups: list[dict[str, Value]] = [
            {"group": group, "cluster": cluster, "share": round(float(np.mean(values)), 5)}
            for (group, cluster), values in means.items()
        ]
        name_of_groups = f"{self._stem}-group-shares.csv"
        path = self._context.out_dir / name_of_groups
        self.made.append(write_table(path, table_of(of_groups), "Clusters per group"))
        share = {"kind": "bar", "y": "share", "color": "cluster", "y_title": "share of cells"}
        self._plot(
            title="Clusters per group",
            table=name_of_groups,
            x="group",
            note="Means of the replicates' shares.",
            **share,
        )
        self._plot(title="Clusters per replicate", table=name, x="sample", **share)

    def statistics(
        self, clusters: Sequence[Mapping[str, Any]], features: Sequence[Mapping[str, Any]]
    ) -> Path | None:
        rows = [
            *(_comparison_row("cluster", one) for one in clusters),
            *(_comparison_row("feature", one) for one in features),
        ]
        if not rows:
            return None
        path = self._context.out_dir / f"{self._stem}-statistics.csv"
        self.made.append(write_table(path, table_of(rows), "Comparison of groups"))
        return path


def _title(feature: str) -> str:
    """Return a feature's name for people: "Area (µm²)"."""
    for suffix, unit in (("_um2", " (µm²)"), ("_px", " (px)")):
        if feature.endswith(suffix):
            return feature.removesuffix(suffix).replace("_", " ").capitalize() + unit
    return feature.replace("_", " ").capitalize()


def _comparison_row(kind: str, one: Mapping[str, Any]) -> dict[str, Value]:
    low, high = one["interval"] or (None, None)
    return {
        "of": kind,
        "subject": one["subject"],
        "p_adjusted": one["p_adjusted"],
        "difference": one["difference"],
        "ci_low": low,
        "ci_high": high,
        "group": one["group"],
        "reference": one["reference"],
        "mean": one["means"][0],
        "reference_mean": one["means"][1],
        "replicates": one["replicates"][0],
        "reference_replicates": one["replicates"][1],
        "hedges_g": one["hedges_g"],
        "p": one["p"],
        "note": one["note"],
    }


def _montage(table: Table, folders: Sequence[Path], context: ToolContext) -> Artifact | None:
    """Return a picture with cells of each cluster; None if the table has no crops."""
    if not {"crop_file", "index", "cluster"} <= set(table.columns) or not is_installed("skimage"):
        return None
    clusters = texts(table, "cluster")
    names = sorted(set(clusters) - {""}, key=lambda name: (len(name), name))[:_MOST_CLUSTERS]
    chosen: list[tuple[int, int]] = []
    for row, name in enumerate(names):
        places = [place for place, cluster in enumerate(clusters) if cluster == name]
        # Spread over the table, and so over images and groups.
        picked = np.unique(np.linspace(0, len(places) - 1, _PER_CLUSTER).round().astype(int))
        chosen += [(row, places[place]) for place in picked]
    columns = {name: texts(table, name) for name in ("crop_file", "mask_file")}
    indexes = table.column("index")
    files = {
        name: [
            str(own_file(str(folders[place] / values[place]), context, "the file of crops"))
            if values[place]
            else ""
            for _row, place in chosen
        ]
        for name, values in columns.items()
    }
    answer = context.host.call(
        "app.tools.microscopy.montage:entry",
        {
            "crop_files": files["crop_file"],
            "mask_files": files["mask_file"],
            "indexes": [indexes[place] for _row, place in chosen],
            "rows": [row for row, _place in chosen],
            "device": "cpu",
        },
        cancel=context.cancel,
        timeout_s=_TIMEOUT_S,
    )
    path = save_png(answer["picture"], context.out_dir, "clusters")
    context.images.add_derived(path, None)
    rows = ", ".join(f"row {row + 1}: cluster {name}" for row, name in enumerate(names))
    return Artifact(path, "image", "Cells of each cluster", rows)


def _note(groups: Sequence[str], made: Sequence[Mapping[str, Any]], unit: str) -> str:
    if not groups:
        return (
            "No groups are known, so nothing was compared. Put the images into folders named by "
            "their group, or a table groups.csv (file, group, replicate) beside them."
        )
    if len(groups) < 2:
        return f"There is one group ({groups[0]}), so nothing was compared."
    refused = next((one["note"] for one in made if one["p"] is None and one["note"]), "")
    if not any(one["p"] is not None for one in made):
        return f"{refused[:1].upper()}{refused[1:]}." if refused else "Nothing to compare."
    return (
        f"The unit is the {unit}, not the cell. Welch's t test, of clusters on the logits of the "
        f"{unit}s' shares; p-values are corrected by Benjamini and Hochberg over all clusters, and "
        "over all features, with all pairs of groups."
        + (
            " No replicates are named, so each image counts as one: images of the same well or "
            "animal are not independent."
            if unit == "image"
            else ""
        )
    )


def _summary(
    table: Table,
    clusters: Sequence[Mapping[str, Any]],
    features: Sequence[Mapping[str, Any]],
    note: str,
    unit: str,
) -> str:
    counts = [plural(len(table.rows), "cell")]
    if "cluster" in table.columns:
        counts.append(plural(len(set(texts(table, "cluster")) - {""}), "cluster"))
    told = comparison_lines(clusters, features, unit)
    return " ".join([f"Drawn: {', '.join(counts)}.", *told, note])


def comparison_lines(
    clusters: Sequence[Mapping[str, Any]], features: Sequence[Mapping[str, Any]], unit: str
) -> list[str]:
    """Return a sentence on each difference between groups, or that there is none.

    `clusters`, `features` and `unit` are as in the tool's output.
    """
    lines: list[str] = []
    for made, text in ((clusters, _share_text), (features, _feature_text)):
        tested = sorted(
            (one for one in made if one["p_adjusted"] is not None), key=lambda o: o["p_adjusted"]
        )
        found = [one for one in tested if one["p_adjusted"] < _LEVEL]
        lines += [text(one, unit) for one in (found or tested[:1])[:_TOLD]]
        if tested and not found:
            what = "cluster's share" if made is clusters else "feature"
            lines.append(f"No {what} differs between groups (adjusted p at least 0.05).")
        if not tested and made is clusters:
            lines += [text(one, unit) for one in made[:_TOLD]]
    return lines


def _p_text(one: Mapping[str, Any], unit: str) -> str:
    count = f"{one['replicates'][0]} and {one['replicates'][1]} {unit}s"
    p = one["p_adjusted"]
    if p is None:
        return f"not tested; {count}"
    said = "adjusted p < 0.001" if p < 0.001 else f"adjusted p = {p:.2g}"
    g = one["hedges_g"]
    effect = f", Hedges g {g:.1f}" if g is not None else ""
    return f"{said}{effect}; {count}"


def _share_text(one: Mapping[str, Any], unit: str) -> str:
    mine, other = one["means"]
    interval = one["interval"]
    ci = f", 95% CI {interval[0] * 100:.0f} to {interval[1] * 100:.0f}" if interval else ""
    return (
        f"Cluster {one['subject']}: {mine:.0%} of cells in {one['group']}, {other:.0%} in "
        f"{one['reference']}; difference {one['difference'] * 100:+.0f} points{ci}, "
        f"{_p_text(one, unit)}."
    )


def _feature_text(one: Mapping[str, Any], unit: str) -> str:
    mine, other = one["means"]
    interval = one["interval"]
    ci = f", 95% CI {_figure(interval[0])} to {_figure(interval[1])}" if interval else ""
    return (
        f"{_title(str(one['subject']))}: {_figure(mine)} in {one['group']}, "
        f"{_figure(other)} in {one['reference']}; "
        f"difference {_figure(one['difference'], '+')}{ci}, "
        f"{_p_text(one, unit)}."
    )


def _figure(value: float, sign: str = "") -> str:
    """Return a number with 3 significant digits, all of those before the point."""
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def _sample_names(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return names of replicates in plots: with their group, unless that is in all their names."""
    names = {
        (group, replicate): re.sub(r"\.(tiff?|png|jpe?g)$", "", replicate, flags=re.IGNORECASE)
        for group, replicate in pairs
    }
    told = all(group.lower() in name.lower() for (group, _), name in names.items())
    if told and len(set(names.values())) == len(names):
        return names
    return {pair: f"{pair[0]}: {pair[1]}" for pair in names}
