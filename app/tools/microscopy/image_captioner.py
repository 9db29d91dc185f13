"""The tool `image_captioner`: says in words what a microscopy image and its results show."""

from __future__ import annotations

import statistics
from typing import Annotated

from pydantic import BaseModel, Field

from app.errors import Cancelled, SightlineError
from app.tools.api import (
    Approval,
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolSpec,
    takes,
)
from app.tools.microscopy.image_info import info_of, info_text
from app.tools.microscopy.names import CAPTIONER, OTHER_NAMES
from app.tools.microscopy.run_files import Names, image_name, plural, read_tables, texts

_AREAS = (("area_um2", "µm²"), ("area_px", "pixels"), ("area", "pixels"))


_MEASURED = "measurements, not a look at the picture"
_ASKED = (
    "Describe this microscopy image in two or three sentences for a figure's caption: the kind of "
    "microscopy, what is seen, its arrangement and quality. Say nothing that is not visible, give "
    "no diagnosis, and count nothing: the figures below were measured and will follow your text."
)


class CaptionerInput(ToolInput):
    """Arguments of `image_captioner`."""

    image_path: Annotated[str, takes(Resource.IMAGE, "The image.")]
    table_paths: Annotated[
        Names | None,
        takes(Resource.TABLE, "Tables of earlier results on its cells, to be named too."),
    ] = None


class CaptionerOutput(BaseModel):
    """The caption, and where it comes from."""

    caption: str
    source: str = Field(description="What it rests on: measurements, or a vision model.")


SPEC = ToolSpec(
    name=CAPTIONER,
    title="Caption the image",
    icon="message-square",
    description=(
        "Writes a caption of a microscopy image from what was measured: its size, channels and "
        "pixel size, and with tables of earlier results the number of objects, their areas and "
        "clusters. If the chosen language model accepts pictures, it looks at the image as well."
    ),
    Input=CaptionerInput,
    Output=CaptionerOutput,
    approval=Approval.READ,
    timeout_s=60.0,
    pack="microscopy",
    paths={"table_paths": "read"},
    other_names=OTHER_NAMES[CAPTIONER],
    phrases=("caption", "describe the micrograph"),
)


class ImageCaptioner:
    """The tool `image_captioner`."""

    spec = SPEC

    def run(self, args: CaptionerInput, context: ToolContext) -> ToolResult:
        """Write a caption; for errors see `app.tools.api.Tool.run`."""
        snapshot = context.images.resolve(args.image_path)
        parts = [f"Microscopy image: {info_text(info_of(snapshot), snapshot.frame.spacing.note)}"]
        group = getattr(snapshot, "group", "")
        if group:
            parts.append(f"It is of the group {group}.")
        if args.table_paths:
            parts += _results(args.table_paths, snapshot, context)
        caption, source, warnings = " ".join(parts), _MEASURED, list[str]()
        others = _other_images(args.table_paths or [], snapshot, context)
        model = context.model
        if model is not None and model.sees:
            try:
                seen = model.ask(f"{_ASKED} {caption}", images=[args.image_path]).strip()
            except Cancelled:
                raise
            except SightlineError as error:  # the user said no, or the model failed
                warnings.append(f"{model.name} did not look at the picture: {error.reason}")
            else:
                if seen:
                    source = f"measurements, and a look at the picture by {model.name}, unchecked"
                    caption = f"{seen} {caption}"
        if others:  # not told to the model that looks at the picture
            caption = (
                f"Of {snapshot.path.name} only, one of {plural(others + 1, 'image')}: {caption}"
            )
        return ToolResult(
            summary=f"{caption} (From {source}.){''.join(f' {text}.' for text in warnings)}",
            output={"caption": caption, "source": source},
            metadata={"status": "completed", "warnings": warnings},
        )


def _other_images(names: list[str], snapshot: ImageSnapshot, context: ToolContext) -> int:
    """Return how many more images than this one the tables are about."""
    if not names:
        return 0
    table, _folders = read_tables(names, context, (), "a segmenter or cell_state_analyzer")
    return len({*texts(table, "image")} - {image_name(snapshot), ""})


def _results(names: list[str], snapshot: ImageSnapshot, context: ToolContext) -> list[str]:
    """Return sentences on the rows of tables: those of the image, or all if it has none there."""
    table, _folders = read_tables(names, context, (), "a segmenter or cell_state_analyzer")
    images = texts(table, "image")
    own = [place for place, image in enumerate(images) if image == image_name(snapshot)]
    rows = own or list(range(len(table.rows)))
    where = "in it" if own else f"in {plural(len(set(images)), 'image')} together"
    if not rows:
        return ["No objects were found."]
    found = [f"{plural(len(rows), 'object')} {'was' if len(rows) == 1 else 'were'} found {where}."]
    for column, unit in _AREAS:
        if column in table.columns:
            values = table.column(column)
            areas = [v for v in (values[row] for row in rows) if isinstance(v, int | float)]
            if areas:
                found.append(
                    f"Median area {statistics.median(areas):,.4g} {unit} "
                    f"({min(areas):,.4g} to {max(areas):,.4g})."
                )
            break
    clusters = texts(table, "cluster")
    counts: dict[str, int] = {}
    for row in rows:
        if clusters[row]:
            counts[clusters[row]] = counts.get(clusters[row], 0) + 1
    if counts:
        ranked = sorted(counts.items(), key=lambda item: -item[1])
        each = ", ".join(f"cluster {name}: {count / len(rows):.0%}" for name, count in ranked[:8])
        found.append(f"Cell states: {each}.")
    return found
