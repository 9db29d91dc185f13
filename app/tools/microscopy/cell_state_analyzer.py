"""The tool `cell_state_analyzer`: groups cropped cells into states by how they look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from app.tools.api import (
    Artifact,
    Need,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain
from app.tools.microscopy.names import ANALYZER, CROPPER, OTHER_NAMES
from app.tools.microscopy.run_files import (
    Names,
    file_stem,
    links_of,
    own_file,
    plural,
    read_tables,
    texts,
)
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed, require_packages
from app.tools.plots import Plot, write_plot
from app.tools.tables import Table, Value, table_of, write_table

DINOV3 = "dinov3-vits16"
LEAST_CELLS = 20
_MOST_CELLS = 100_000
_TIMEOUT_S = 3_600.0
_PACKAGES = ("sklearn", "skimage", "umap", "anndata", "graspologic_native")
_NEEDED = ("crop_file", "index", "image", "label")
_APART = 0.25
"""Mean silhouette from which clusters count as apart (Kaufman & Rousseeuw 1990)."""

_METHODS = {
    "dinov3": "DINOv3, fine-tuned on these cells without labels (contrastive learning)",
    "network": "a small network trained here on these cells without labels (contrastive learning) "
    "together with measured form, intensity and texture; no DINOv3 weights",
    "features": "measured form, intensity and texture (scikit-image), not a trained network",
}


class AnalyzerInput(ToolInput):
    """Arguments of `cell_state_analyzer`."""

    crops_paths: Annotated[
        Names,
        takes(Resource.TABLE, "The table of crops: crops_path of single_cell_cropper."),
    ]
    method: Literal["auto", "dinov3", "network", "features"] = Field(
        default="auto",
        description="What cells are compared by: DINOv3 (needs its weights), a small network "
        "trained here with measured features, or these alone. auto: the first of these that can "
        "be had.",
    )
    resolution: float | None = Field(
        default=None,
        gt=0,
        le=10,
        description="Resolution of the clustering: higher gives more clusters. Left out, the "
        "clustering whose clusters are the most distinct is taken.",
    )
    neighbours: int = Field(
        default=15, ge=2, le=200, description="Nearest cells that a cell is joined with."
    )
    epochs: int | None = Field(
        default=None, ge=0, le=500, description="Rounds of training; left out, by number of cells."
    )
    seed: int = Field(
        default=0, ge=0, le=2**31 - 1, description="The same seed gives the same result."
    )


class AnalyzerOutput(BaseModel):
    """The clusters, and the files with the cells."""

    analysis_path: str = Field(
        description="AnnData (.h5ad): X what cells were compared by, obs the cells, "
        "obsm['X_umap'], uns['parameters'], uns['loss']."
    )
    table_path: str = Field(
        description="CSV: the rows of the crops with umap_1, umap_2, cluster and features."
    )
    cells: int
    clusters: list[dict[str, Any]] = Field(
        description="cluster, cells and share, the largest first."
    )
    method: str
    silhouette: float | None = Field(description="How distinct the clusters are, -1..1.")
    epochs: int
    loss: list[float] = Field(description="Mean loss of each epoch.")
    parameters: dict[str, Any]


SPEC = ToolSpec(
    name=ANALYZER,
    title="Find cell states",
    icon="sparkles",
    description=(
        "Groups cropped cells into states by their look, without labels: an embedding (DINOv3 if "
        "its weights are installed, else a small network trained on these cells with measured "
        "features), clusters (Leiden) and a map (UMAP). Needs the table of single_cell_cropper and "
        f"at least {LEAST_CELLS} cells. Compare groups with analysis_visualizer afterwards."
    ),
    Input=AnalyzerInput,
    Output=AnalyzerOutput,
    needs=(
        *(Need("package", name) for name in _PACKAGES),
        Need("package", "torch", optional=True),
        Need("weights", DINOV3, optional=True),
    ),
    timeout_s=_TIMEOUT_S,
    pack="microscopy",
    paths={"crops_paths": "read"},
    other_names=OTHER_NAMES[ANALYZER],
    phrases=("cell states", "cluster the cells"),
)


class CellStateAnalyzer:
    """The tool `cell_state_analyzer`."""

    spec = SPEC

    def run(self, args: AnalyzerInput, context: ToolContext) -> ToolResult:
        """Group the cells; for errors see `app.tools.api.Tool.run`."""
        require_packages("The analysis of cell states", *_PACKAGES)
        table, folders = read_tables(args.crops_paths, context, _NEEDED, CROPPER)
        count = len(table.rows)
        if count < LEAST_CELLS:
            raise ToolFailed(
                f"{plural(count, 'cell')} cannot be grouped into states: at least {LEAST_CELLS} "
                "are needed",
                remedy="Open more images of the same kind, or segment them so that more cells are "
                "found; a few cells are better looked at and measured one by one.",
            )
        if count > _MOST_CELLS:
            raise ToolRetry(f"more than {_MOST_CELLS:,} cells", remedy="Give fewer images.")
        method, dinov3 = _method(args, context)
        stem = file_stem("states", context)
        payload = _payload(args, table, context, folders, method, f"{stem}.h5ad")
        module = "dinov3_net" if dinov3 else "cell_states"
        answer = context.host.call(
            f"app.tools.microscopy.{module}:entry",
            {**payload, **dinov3} if dinov3 else {**payload, "device": "cpu"},
            cancel=context.cancel,
            timeout_s=_TIMEOUT_S,
            progress=context.progress,
        )
        return _result(args, table, answer, context, stem)


def _method(args: AnalyzerInput, context: ToolContext) -> tuple[str, dict[str, Any]]:
    """Return the method and DINOv3's payload; raise ToolFailed if not installed."""
    store = ModelStore(context.models_dir)
    if args.method == "dinov3" or (args.method == "auto" and store.has(DINOV3)):
        require_packages("DINOv3", "torch", "transformers")
        return "dinov3", store.require(DINOV3, "DINOv3").payload(context.device)
    if args.method == "network":
        require_packages("Training a network", "torch")
    if args.method == "features" or not is_installed("torch"):
        return "features", {}
    return "network", {}


def _payload(
    args: AnalyzerInput,
    table: Table,
    context: ToolContext,
    folders: list[Any],
    method: str,
    h5ad: str,
) -> dict[str, Any]:
    def files(column: str, what: str) -> list[str]:
        known: dict[str, str] = {}
        found: list[str] = []
        for folder, name in zip(folders, texts(table, column), strict=True):
            path = str(folder / name) if name else ""
            if path and path not in known:
                known[path] = str(own_file(path, context, what))
            found.append(known.get(path, ""))
        return found

    indexes = table.column("index")
    if not all(isinstance(index, int) for index in indexes):
        raise ToolRetry("the table's column index has no whole numbers")
    return {
        "crop_files": files("crop_file", "the file of crops"),
        "mask_files": files("mask_file", "the file of outlines"),
        "indexes": indexes,
        "method": method,
        "seed": args.seed,
        "neighbours": args.neighbours,
        "resolution": args.resolution,
        "epochs": args.epochs,
        "h5ad_file": str(context.out_dir / h5ad),
        "obs": {name: texts(table, name) for name in ("image", "label", "group", "replicate")},
        "parameters": args.model_dump(exclude={"crops_paths", "resolution"}),
    }


def _result(
    args: AnalyzerInput, table: Table, answer: Mapping[str, Any], context: ToolContext, stem: str
) -> ToolResult:
    labels, places = np.asarray(answer["clusters"]), np.asarray(answer["umap"])
    measured: Mapping[str, Any] = answer["features"]
    rows = [
        {
            **dict(zip(table.columns, row, strict=True)),
            "umap_1": round(float(places[number, 0]), 4),
            "umap_2": round(float(places[number, 1]), 4),
            "cluster": int(labels[number]),
            **{name: round(float(values[number]), 4) for name, values in measured.items()},
        }
        for number, row in enumerate(table.rows)
    ]
    path = context.out_dir / f"{stem}.csv"
    made = table_of(rows, {"area": "px", "area_px": "px"})
    cells = write_table(path, made, "Cell states", **links_of(table))
    analysis = context.out_dir / f"{stem}.h5ad"
    artifacts = [cells, Artifact(analysis, role="file", title="Analysis (AnnData)")]
    losses = [round(float(loss), 5) for loss in answer["losses"]]
    if losses:
        artifacts += _loss_plot(losses, context, stem)
    clusters = [
        {"cluster": number, "cells": size, "share": round(size / len(rows), 4)}
        for number, size in enumerate(np.bincount(labels)[1:].tolist(), 1)
    ]
    method = str(answer["method"])
    silhouette = answer["silhouette"]
    output = {
        "analysis_path": str(analysis),
        "table_path": str(cells.path),
        "cells": len(rows),
        "clusters": clusters,
        "method": _METHODS[method],
        "silhouette": silhouette if silhouette is None else round(float(silhouette), 3),
        "epochs": len(losses),
        "loss": losses,
        "parameters": {
            **args.model_dump(exclude={"crops_paths"}),
            "method": method,
            "resolution": answer["resolution"],
            "components": answer["components"],
        },
    }
    warnings = [*answer.get("notes", ())]
    if not has_fallen(losses):
        warnings.append(
            f"the loss of the training did not fall ({losses[0]:.2f} in the first epoch, "
            f"{losses[-1]:.2f} in the last), so the network may have learned nothing: compare with "
            'method "features", or train for more epochs'
        )
    if len(clusters) == 1:
        warnings.append("the cells form a single cluster: no distinct states were found")
    elif silhouette is not None and silhouette < _APART:
        warnings.append(
            f"the clusters overlap (mean silhouette {silhouette:.2f}): their borders are arbitrary"
        )
    return ToolResult(
        summary=_summary(len(rows), clusters, method, losses, warnings),
        output=plain(output),
        metadata={
            "status": "completed",
            "warnings": warnings,
            "note": "Clusters are groups of cells that look alike; what they mean biologically is "
            "for you to judge.",
        },
        artifacts=tuple(artifacts),
    )


def has_fallen(losses: Sequence[float]) -> bool:
    """Return whether a loss is lower in the last quarter of the epochs than in the first quarter.

    True if there were fewer than two epochs, of which nothing can be said.
    """
    if len(losses) < 2:
        return True
    part = max(1, len(losses) // 4)
    return sum(losses[-part:]) < sum(losses[:part])


def _loss_plot(losses: list[float], context: ToolContext, stem: str) -> list[Artifact]:
    records: list[dict[str, Value]] = [
        {"epoch": number, "loss": loss} for number, loss in enumerate(losses, 1)
    ]
    name = f"{stem}-loss.csv"
    title = "Loss of the training"
    table = write_table(context.out_dir / name, table_of(records), title)
    plot = Plot(kind="line", title=title, table=name, x="epoch", y="loss")
    return [table, write_plot(context.out_dir / f"{stem}-loss.json", plot)]


def _summary(
    cells: int,
    clusters: list[dict[str, Any]],
    method: str,
    losses: list[float],
    warnings: list[str],
) -> str:
    sizes = ", ".join(
        f"cluster {one['cluster']}: {one['cells']:,} ({one['share']:.0%})" for one in clusters[:12]
    )
    trained = (
        f" Trained for {plural(len(losses), 'epoch')}; loss {losses[0]:.2f} to {losses[-1]:.2f}."
        if losses
        else ""
    )
    text = (
        f"{plural(cells, 'cell')} in {plural(len(clusters), 'cluster')} ({sizes}), compared by "
        f"{_METHODS[method]}.{trained}"
    )
    return f"{text} Warnings: {'; '.join(warnings)}." if warnings else text
