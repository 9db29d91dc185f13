"""What the three segmenters share: arguments, the call, and the result with mask and table."""

from __future__ import annotations

import io
import json
import re
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.imaging.findings import Finding, Instances, new_id
from app.imaging.types import Frame, Spacing, SpacingSource
from app.tools.api import (
    Artifact,
    ImageSnapshot,
    Need,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain
from app.tools.microscopy import networks
from app.tools.microscopy.image_kind import (
    WORDS,
    ImageKind,
    KindGuess,
    guess_kind,
    suggested_target,
)
from app.tools.needs import require_packages
from app.tools.tables import Table, Value, read_table, write_table
from app.user_files import write_atomic

_TIMEOUT_S = 280.0
_ENTRY = "app.tools.microscopy.classical:entry"
_TRUE_SCALES = (
    SpacingSource.SPECIMEN,
    SpacingSource.MANUAL,
    SpacingSource.CALIBRATED,
    SpacingSource.PATIENT,
)
_UM2_PER_MM2 = 1e6
_OF_MICROSCOPES = ("", "SM", "GM", "XC", "OT", "OPT")

KindName = Literal["auto", "fluorescence", "phase", "tissue", "blood"]
ModelName = Literal["auto", "classical", "cellpose", "stardist", "instanseg"]
DepthName = Literal["shown", "maximum", "all"]
_MOST_STEPS = 200


class SegmentationInput(ToolInput):
    """Arguments of the segmenters."""

    image_path: Annotated[str, takes(Resource.IMAGE, "The image id or path.")]
    channel: Annotated[
        int | str | None, takes(Resource.CHANNEL, "Number from 1, or name; else the shown one.")
    ] = None
    diameter: float | None = Field(
        default=None,
        gt=0,
        description="Typical width of an object in `unit`; else from the image.",
    )
    min_area: float | None = Field(
        default=None,
        ge=0,
        description="Least area of an object, px or µm² by `unit`; else by the diameter.",
    )
    unit: Literal["px", "um"] = Field(
        default="px", description="Of diameter and min_area; um: µm and µm²."
    )
    image_type: KindName = Field(
        default="auto",
        description="phase: phase contrast, brightfield; tissue: H&E; blood: smear; auto: by the "
        "pixels.",
    )
    depth: DepthName = Field(
        default="shown",
        description="Of a stack: the shown depth, the maximum projection, or all depths (or "
        "time points), each on its own.",
    )
    model: ModelName = Field(
        default="auto",
        description="classical (auto) needs no weights; the others are networks whose packages "
        "are needed.",
    )


class CellSegmentationInput(SegmentationInput):
    """Arguments of `cell_segmenter`."""

    objects: Literal["cells", "auto"] = Field(
        default="cells",
        description="auto if nobody said what is to be outlined: nuclei where the image shows a "
        "nuclear stain or tissue, else cells.",
    )


class Areas(BaseModel):
    """Areas of the objects; None if there are none."""

    median: float | None
    mean: float | None
    units: str = Field(description="µm² if the image's pixel size is known, else px.")


class SegmentationOutput(BaseModel):
    """The number of objects, and the files of their mask and measures."""

    count: int = Field(description="Of several depths or time points, the sum of their counts.")
    touching_border: int = Field(description="How many of them the image's edge cuts.")
    mask_path: str = Field(
        description="TIFF whose values number the objects; 0 is background. Of several depths or "
        "time points, that of the shown one."
    )
    table_path: str = Field(description="CSV with a row of measures for each object.")
    areas: Areas
    model: str
    parameters: dict[str, Any]
    counts: list[int] = Field(description="The count at each depth or time point; [] for one.")


@dataclass(frozen=True, slots=True)
class Target:
    """What a segmenter finds: its key for the pipelines, and its words."""

    key: str
    one: str
    many: str

    def counted(self, count: int) -> str:
        """Return e.g. "1 nucleus", "12 nuclei"."""
        return f"{count:,} {self.one if count == 1 else self.many}"


NUCLEI_TARGET = Target("nuclei", "nucleus", "nuclei")
NEEDS = (
    Need("package", "skimage"),
    *(Need("package", name, optional=True) for name in networks.PACKAGES),
)
"""What each segmenter needs."""


class ObjectSegmenter:
    """A segmenter: a tool that numbers all objects of one kind in an image."""

    def __init__(self, spec: ToolSpec, target: Target) -> None:
        self._spec = spec
        self._target = target

    @property
    def spec(self) -> ToolSpec:
        """The tool's description."""
        return self._spec

    def run(self, args: SegmentationInput, context: ToolContext) -> ToolResult:
        """Number the objects in the image; for errors see `app.tools.api.Tool.run`."""
        if args.model in ("auto", "classical"):
            require_packages(self._spec.title, "skimage")
        else:
            networks.require(args.model)
        context.progress(0.02, "Reading the image")
        snapshot, pixels = chosen_pixels(args.image_path, args.channel, context)
        steps, step = _steps(snapshot, args.depth)
        if len(steps) > _MOST_STEPS:
            raise ToolRetry(
                f"{len(steps):,} {step}s are more than the {_MOST_STEPS} counted in one call",
                remedy="Use the maximum projection or the shown one.",
            )
        projected = bool(steps) and args.depth == "maximum"
        guess: KindGuess | None = None
        if steps and (projected or not snapshot.frame.is_color):
            pixels, guess = _projection(args, snapshot, steps, context)
        pixels, missing = _finite(pixels)
        guess = guess or guess_kind(pixels)
        if isinstance(args, CellSegmentationInput) and args.objects == "auto":
            return self._of_picture(args, snapshot, pixels, guess, context)
        if args.image_type != "auto":
            guess = KindGuess(ImageKind(args.image_type), True)
        notes = [*_plane(snapshot, step), *self._notes(guess, snapshot, pixels)]
        if args.depth != "shown" and not steps:
            notes.append("the image has one depth")
        if projected:
            notes.append(_projection_note(len(steps), guess))
        if missing:
            notes.append(f"{missing:,} values that are no numbers were taken as background")
        if modality := _other_modality(snapshot):
            notes.append(f"this is a {modality} image, not one of a microscope")
        context.cancel.check()
        answer = self._objects(args, pixels, guess, snapshot, context)
        if steps and not projected:
            return self._of_steps(args, snapshot, guess, answer, (steps, step), notes, context)
        context.progress(0.95, "Writing the mask and the table")
        notes += [str(note) for note in answer.get("notes", ())]
        projection = pixels if projected else None
        return self._result(args, snapshot, guess, answer, notes, context, projection)

    def _objects(
        self,
        args: SegmentationInput,
        pixels: NDArray[Any],
        guess: KindGuess,
        snapshot: ImageSnapshot,
        context: ToolContext,
        found: float | None = None,
    ) -> dict[str, Any]:
        """Return the model process's answer for one plane; `found` is a diameter in px."""
        if guess_kind(pixels).kind is ImageKind.BLANK:
            return _nothing(pixels)
        diameter, least = _in_pixels(args, snapshot.frame.spacing)
        entry, more = _ENTRY, {}
        if args.model not in ("auto", "classical"):
            entry, more = networks.ENTRY, {"network": args.model, "device": context.device}
        answer = context.host.call(
            entry,
            {
                "device": "cpu",
                "pixels": np.ascontiguousarray(pixels),
                "kind": guess.kind.value,
                "target": self._target.key,
                "diameter": diameter or found or None,
                "min_area": least,
                **more,
            },
            cancel=context.cancel,
            timeout_s=_TIMEOUT_S,
            progress=context.progress,
        )
        context.cancel.check()
        return answer

    def _of_steps(
        self,
        args: SegmentationInput,
        snapshot: ImageSnapshot,
        guess: KindGuess,
        whole: dict[str, Any],
        named: tuple[range, str],
        notes: list[str],
        context: ToolContext,
    ) -> ToolResult:
        """Count each depth or time point separately.

        Objects in all of them are as wide as those in the projection (`whole`), so that a depth out
        of focus gets no scale of its own.
        """
        steps, step = named
        host = replace(context, progress=lambda fraction, text: None)
        shown, results = 0, list[ToolResult]()
        for place, index in enumerate(steps):
            context.progress(0.1 + 0.85 * place / len(steps), f"{step} {place + 1} of {len(steps)}")
            plane, pixels = chosen_pixels(args.image_path, args.channel, context, index)
            shown = place if plane.ref.frame == snapshot.ref.frame else shown
            pixels, _ = _finite(pixels)
            answer = self._objects(args, pixels, guess, plane, host, whole["diameter"])
            told = notes + [str(note) for note in answer.get("notes", ())]
            results.append(self._result(args, plane, guess, answer, told, context))
        return _joined(self._target, results, shown, step, context)

    def _of_picture(
        self,
        args: CellSegmentationInput,
        snapshot: ImageSnapshot,
        pixels: NDArray[Any],
        guess: KindGuess,
        context: ToolContext,
    ) -> ToolResult:
        """Outline what the picture shows; raise ToolRetry if it does not tell."""
        target = suggested_target(guess.kind) if guess.sure else ""
        if target == "nuclei" and guess.kind is ImageKind.FLUORESCENCE:
            named = _is_nuclear(snapshot, pixels)
            target = "nuclei" if named or not snapshot.channel_names else "cells"
        if not target:
            raise ToolRetry(
                "the picture does not tell what is to be outlined",
                remedy="Say which: cells, nuclei or organoids.",
            )
        chosen = NUCLEI_TARGET if target == "nuclei" else self._target
        result = ObjectSegmenter(self._spec, chosen).run(
            args.model_copy(update={"objects": "cells"}), context
        )
        told = f"Taken for {target} by the picture ({WORDS[guess.kind]}). {result.summary}"
        return replace(result, summary=told)

    def _notes(self, guess: KindGuess, snapshot: ImageSnapshot, pixels: NDArray[Any]) -> list[str]:
        """Return what the user should know before trusting the count."""
        if guess.kind is ImageKind.BLANK:
            return ["every pixel has the same value"]
        notes: list[str] = []
        if not guess.sure:
            notes.append(
                f"taken for {WORDS[guess.kind]} by its pixels, which is not certain; name "
                "image_type if it is not"
            )
        if self._target.key == "nuclei" and guess.kind is ImageKind.PHASE:
            notes.append("phase contrast shows whole cells rather than nuclei")
        if self._target.key == "cells":
            if guess.kind is ImageKind.FLUORESCENCE and _is_nuclear(snapshot, pixels):
                notes.append("a nuclear stain shows nuclei only: each was counted as a cell")
            if guess.kind is ImageKind.TISSUE:
                notes.append("cells were counted by their nuclei; their outlines are estimates")
        return notes

    def _result(
        self,
        args: SegmentationInput,
        snapshot: ImageSnapshot,
        guess: KindGuess,
        answer: dict[str, Any],
        notes: list[str],
        context: ToolContext,
        projection: NDArray[Any] | None = None,
    ) -> ToolResult:
        labels, columns = answer["labels"], answer["columns"]
        count = len(columns["label"])
        pixel_um2 = pixel_area_um2(snapshot.frame.spacing)
        name = snapshot.path.name
        finding = self._finding(snapshot, labels, count, answer, context)
        drawn_from = ""
        if projection is not None:
            path = save_pixels(projection, context.out_dir, "projection")
            context.images.add_derived(path, snapshot)
            drawn_from = path.name
        mask = save_labels(labels, context.out_dir, self._target.key, finding, drawn_from)
        context.images.add_derived(mask, snapshot)
        table = _table(name, columns, pixel_um2, snapshot)
        csv = context.out_dir / f"{self._target.key}-{uuid.uuid4().hex[:8]}.csv"
        rows = write_table(
            csv,
            table,
            self._target.many.capitalize(),
            image_column="image",
            label_column="label",
            findings={name: finding.id},
        )
        areas = _areas(columns["area_px"], pixel_um2)
        cut = int(np.count_nonzero(columns["touches_border"]))
        parameters = {
            "image_type": guess.kind.value,
            "channel": snapshot.channel_names[snapshot.channel]
            if snapshot.channel_names
            else args.channel,
            "diameter_px": round(float(answer["diameter"]), 2),
            "diameter_from": "arguments" if args.diameter is not None else "the image",
            "min_area_px": answer["min_area"],
            "depth": "maximum" if projection is not None else "shown",
        }
        model = f"{answer.get('model', 'classical')}: {answer['method']}"
        output = {
            "count": count,
            "touching_border": cut,
            "mask_path": str(mask),
            "table_path": str(csv),
            "areas": areas,
            "model": model,
            "parameters": parameters,
            "counts": [],
        }
        metadata = {
            "image": name,
            "rows": int(labels.shape[0]),
            "columns": int(labels.shape[1]),
            "area_note": "" if pixel_um2 else _no_scale(snapshot.frame.spacing),
            "warnings": notes,
            "weights_sha256": answer.get("weights_sha256", ""),
            "status": "completed",
        }
        return ToolResult(
            summary=_summary(self._target, output, notes),
            output=plain(output),
            metadata=plain(metadata),
            findings=(finding,),
            artifacts=(
                Artifact(mask, "mask", self._target.many.capitalize(), model, snapshot.ref),
                rows,
            ),
        )

    def _finding(
        self,
        snapshot: ImageSnapshot,
        labels: NDArray[Any],
        count: int,
        answer: dict[str, Any],
        context: ToolContext,
    ) -> Finding:
        model = str(answer.get("model", "classical"))
        digest = str(answer.get("weights_sha256", ""))
        return Finding(
            id=new_id(),
            image=snapshot.ref,
            geometry=Instances(labels),
            label=self._target.many.capitalize(),
            score=None,
            units="objects",
            provenance=context.provenance(self._spec, model, digest),
            value=float(count),
            description=f"{self._target.counted(count)}, {model}: {answer['method']}.",
            group=f"objects-{context.call_id}",
        )


def chosen_pixels(
    name: str, channel: int | str | None, context: ToolContext, frame: int | None = None
) -> tuple[ImageSnapshot, NDArray[Any]]:
    """Return an image and the stored values of one of its channels at full bit depth.

    `channel` counts from 1 or is a name; None for the shown one. `frame` is the index of a
    frame whose depth and time are taken; None for those shown. The values are [rows, columns], or
    [rows, columns, 3] for colour; MONOCHROME1 is inverted, so that bright is high.

    Raises:
        ToolRetry: There is no such image or channel; the message names the channels.
    """
    snapshot = context.images.resolve(name, frame)
    names = snapshot.channel_names
    colour = snapshot.frame.is_color
    if channel is None:
        return snapshot, _values(snapshot)
    if not names:
        names = ("red", "green", "blue") if colour else ("grey",)
    number = _channel_number(channel, names)
    if snapshot.channel_names:
        axes = snapshot.instance.axes
        place: dict[str, int] = {}
        if axes is not None and frame is not None:
            _, place["z"], place["time"] = axes.place(frame)
        snapshot = context.images.resolve(name, channel=number, **place)
        return snapshot, _values(snapshot)
    values = _values(snapshot)
    return snapshot, values[..., number] if colour else values


def _channel_number(channel: int | str, names: tuple[str, ...]) -> int:
    """Return a channel's number from 0, by its number from 1 or its name."""
    wanted = str(channel).strip()
    folded = [name.casefold() for name in names]
    if wanted.casefold() in folded:
        return folded.index(wanted.casefold())
    if names == ("grey",) and not wanted.isdigit():
        return 0  # the file does not say what its only channel is
    words = [one for one in folded if wanted.casefold() in re.split(r"[^a-z0-9]+", one)]
    if len(words) == 1 and not wanted.isdigit():  # "GFP" of "Actin-GFP"
        return folded.index(words[0])
    if wanted.isdigit() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    listed = ", ".join(f"{number} ({name})" for number, name in enumerate(names, 1))
    if len(names) == 1:
        raise ToolRetry(
            f"the image has no channel {wanted}: it has a single one",
            remedy="Leave the channel out.",
        )
    raise ToolRetry(
        f"the image has no channel {wanted}: its channels are {listed}",
        remedy="Name one of them.",
    )


def _values(snapshot: ImageSnapshot) -> NDArray[Any]:
    frame: Frame = snapshot.frame
    if frame.palette is not None and not frame.supplemental and snapshot.own is None:
        return snapshot.display  # stored values are numbers of colours
    stored = np.asarray(snapshot.values)
    if frame.photometric == "MONOCHROME1" and stored.ndim == 2 and snapshot.own is None:
        return stored.max() - stored
    return stored


def _in_pixels(args: SegmentationInput, spacing: Spacing) -> tuple[float | None, float | None]:
    """Return the diameter in pixels and the least area in pixels, each None if not given."""
    if args.unit == "px" or (args.diameter is None and args.min_area is None):
        return args.diameter, args.min_area
    area = pixel_area_um2(spacing)
    if area is None:
        raise ToolRetry(
            f"the size of a pixel is unknown ({spacing.note or 'not in the file'}), so µm cannot "
            "be turned into pixels",
            remedy="Give diameter and min_area in px.",
        )
    diameter = None if args.diameter is None else args.diameter / area**0.5
    return diameter, None if args.min_area is None else args.min_area / area


def pixel_area_um2(spacing: Spacing) -> float | None:
    """Return the area of a pixel in µm², or None if the true scale is unknown."""
    if spacing.row_mm is None or spacing.column_mm is None or spacing.source not in _TRUE_SCALES:
        return None
    return spacing.row_mm * spacing.column_mm * _UM2_PER_MM2


def _no_scale(spacing: Spacing) -> str:
    return f"no areas in µm²: the size of a pixel is unknown ({spacing.note or 'not in the file'})"


def save_labels(
    labels: NDArray[Any], folder: Path, stem: str, finding: Finding, projection: str = ""
) -> Path:
    """Write numbered objects, uint16 or uint32 [rows, columns], as a TIFF; return its path.

    The file's description is JSON with the "finding" that has these objects and the "image" whose
    they are (SOPInstanceUID), so that cells cut out by it can be traced back; and with the
    "projection", a file beside it, if the objects were found in one.
    """
    origin = {"finding": finding.id, "image": finding.image.sop_instance_uid}
    origin |= {"projection": projection} if projection else {}
    return save_pixels(labels, folder, stem, json.dumps(origin))


def save_pixels(pixels: NDArray[Any], folder: Path, stem: str, description: str = "") -> Path:
    """Write an image, grey or RGB, as a TIFF with its own number of bits; return its path."""
    import tifffile

    path = folder / f"{stem}-{uuid.uuid4().hex[:8]}.tif"
    stream = io.BytesIO()
    tifffile.imwrite(
        stream,
        pixels,
        photometric="rgb" if pixels.ndim == 3 else "minisblack",
        compression="zlib",
        description=description,
        metadata=None,
    )
    write_atomic(path, stream.getvalue())
    return path


def _table(
    image: str, columns: dict[str, NDArray[Any]], pixel_um2: float | None, snapshot: ImageSnapshot
) -> Table:
    """Return the measures as a table, with areas in µm² if the scale is known."""
    made: dict[str, list[Value]] = {}
    for name, values in columns.items():
        made[name] = [value if value == value else None for value in values.tolist()]  # NaN
        if name == "area_px" and pixel_um2 is not None:
            made["area_um2"] = [round(float(value) * pixel_um2, 4) for value in values]
    count = len(columns["label"])
    heads: dict[str, list[Value]] = {"image": [image] * count}
    for name in ("group", "replicate"):
        if known := str(getattr(snapshot, name)):
            heads[name] = [known] * count
    every = {**heads, **made}
    units = {
        name: unit
        for name, unit in (
            ("area_px", "px"),
            ("area_um2", "µm²"),
            ("centroid_x", "px"),
            ("centroid_y", "px"),
            ("major_axis_px", "px"),
            ("minor_axis_px", "px"),
        )
        if name in every
    }
    return Table(tuple(every), tuple(zip(*every.values(), strict=True)), units)


def _areas(pixels: NDArray[Any], pixel_um2: float | None) -> dict[str, Any]:
    if not len(pixels):
        return {"median": None, "mean": None, "units": "µm²" if pixel_um2 else "px"}
    scale = pixel_um2 or 1.0
    return {
        "median": round(float(np.median(pixels)) * scale, 3),
        "mean": round(float(np.mean(pixels)) * scale, 3),
        "units": "µm²" if pixel_um2 else "px",
    }


def _finite(pixels: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return pixels with NaN and infinity replaced by the least value, and how many there were."""
    if pixels.dtype.kind != "f":
        return pixels, 0
    known = np.isfinite(pixels)
    missing = int(pixels.size - np.count_nonzero(known))
    if not missing:
        return pixels, 0
    least = pixels[known].min() if known.any() else pixels.dtype.type(0)
    return np.where(known, pixels, least), missing


def _steps(snapshot: ImageSnapshot, depth: str) -> tuple[range, str]:
    """Return the frames of all depths of the shown channel, or of all times, and the steps' name.

    They are empty for the shown depth, and if there is only one.
    """
    axes = snapshot.instance.axes
    if depth == "shown" or axes is None or snapshot.derived:
        return range(0), ""
    channel, z, time = axes.place(snapshot.ref.frame)
    along, count, step = ("depth", axes.depths, len(axes.channels))
    first = axes.index(channel, 0, time)
    if axes.depths == 1 and depth == "all":
        along, count = "time point", axes.times
        first = axes.index(channel, z, 0)
    if count == 1:
        return range(0), ""
    return range(first, first + count * step, step), along


def _projection(
    args: SegmentationInput, snapshot: ImageSnapshot, steps: range, context: ToolContext
) -> tuple[NDArray[Any], KindGuess]:
    """Return the largest of the values at all steps for each pixel, and the kind of image.

    The kind is that of most single planes: in a projection of many, little background is left.
    """
    if snapshot.frame.is_color:
        raise ToolRetry(
            "colours of several depths have no brightest value",
            remedy="Use the shown depth, or all depths.",
        )
    brightest: NDArray[Any] | None = None
    guesses: list[KindGuess] = []
    for frame in steps:
        context.cancel.check()
        _, plane = chosen_pixels(args.image_path, args.channel, context, frame)
        brightest = plane if brightest is None else np.fmax(brightest, plane)
        guesses.append(guess_kind(plane))
    assert brightest is not None
    kinds = [one.kind for one in guesses if one.kind is not ImageKind.BLANK]
    if not kinds:
        return brightest, guess_kind(brightest)
    kind = max(dict.fromkeys(kinds), key=kinds.count)
    return brightest, KindGuess(kind, all(one.sure for one in guesses if one.kind is kind))


def _projection_note(depths: int, guess: KindGuess) -> str:
    note = f"in the maximum projection of {depths} depths; outlines lie on the shown depth"
    if guess.kind is not ImageKind.FLUORESCENCE:
        note += ", and objects darker than the background are not seen best in it"
    return note


def _joined(
    target: Target, results: list[ToolResult], shown: int, step: str, context: ToolContext
) -> ToolResult:
    """Return the results of several depths or time points as one, with a table of their counts."""
    outputs = [result.output for result in results]
    counts = [int(output["count"]) for output in outputs]
    tables = [read_table(Path(output["table_path"])) for output in outputs]
    column = step.replace(" ", "_")
    named = (column, "finding", *tables[0].columns)
    rows = [
        (number, results[number - 1].findings[0].id, *row)
        for number, table in enumerate(tables, 1)
        for row in table.rows
    ]
    for output in outputs:
        Path(output["table_path"]).unlink()
    units = {
        name: unit
        for artifact in results[0].artifacts
        for name, unit in dict(artifact.options.get("units", {})).items()
    }
    objects = context.out_dir / f"{target.key}-{uuid.uuid4().hex[:8]}.csv"
    medians = [output["areas"]["median"] for output in outputs]
    unit = outputs[0]["areas"]["units"]
    summed = Table(
        (column, "count", "median_area"),
        tuple(zip(range(1, len(counts) + 1), counts, medians, strict=True)),
        {"median_area": unit},
    )
    title = target.many.capitalize()
    artifacts = (
        results[shown].artifacts[0],
        write_table(
            context.out_dir / f"{target.key}-counts-{uuid.uuid4().hex[:8]}.csv",
            summed,
            f"{title} by {step}",
        ),
        write_table(objects, Table(named, tuple(rows), units), title, label_column="label"),
    )
    place = named.index("area_um2" if "area_um2" in named else "area_px")
    areas = np.array([row[place] for row in rows], float)
    output = {
        **outputs[shown],
        "count": sum(counts),
        "counts": counts,
        "touching_border": sum(int(one["touching_border"]) for one in outputs),
        "table_path": str(objects),
        "areas": {**_areas(areas, None), "units": unit},
        "parameters": {**outputs[shown]["parameters"], "depth": "all"},
    }
    notes = list(dict.fromkeys(note for one in results for note in one.metadata["warnings"]))
    most = int(np.argmax(counts))
    each = str(min(counts)) if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
    named_most = "" if min(counts) == max(counts) else f", most at {step} {most + 1}"
    text = (
        f"{each} {target.one if each == '1' else target.many} at each of {len(counts)} {step}s"
        f"{named_most}, {sum(counts):,} in all ({outputs[most]['model']}). "
    )
    if step == "depth":
        text += "One that reaches over several depths is counted at each. "
    text += f"Note: {'; '.join(notes)}." if notes else ""
    return ToolResult(
        summary=text.strip(),
        output=plain(output),
        metadata={**results[shown].metadata, "warnings": notes},
        findings=tuple(finding for result in results for finding in result.findings),
        artifacts=artifacts,
    )


def _plane(snapshot: ImageSnapshot, every: str = "") -> list[str]:
    """Return the channel and plane that objects were looked for in; [] if there is one of each.

    `every` is the axis along which all planes were looked at: "depth", "time point" or "".
    """
    axes = snapshot.instance.axes
    if axes is None:
        return []
    _, z, time = axes.place(snapshot.ref.frame)
    places = ((z, axes.depths, "depth"), (time, axes.times, "time point"))
    names = snapshot.channel_names
    told = [f"channel {names[snapshot.channel]}"] if names else []
    told += [
        f"{what} {place + 1} of {count}"
        for place, count, what in places
        if count > 1 and what != every
    ]
    return [f"looked at {', '.join(told)} only"] if told else []


def _other_modality(snapshot: ImageSnapshot) -> str:
    """Return a DICOM image's modality ("CT") unless microscopes and cameras make it, else ""."""
    modality = str(snapshot.instance.get("Modality"))
    return "" if modality in _OF_MICROSCOPES else modality


def _area(value: float) -> str:
    """Return an area with 4 significant digits, all of those before the point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _nothing(pixels: NDArray[Any]) -> dict[str, Any]:
    """Return the answer for an image of one value."""
    names = (
        *("label", "area_px", "centroid_x", "centroid_y", "major_axis_px", "minor_axis_px"),
        *("eccentricity", "solidity", "mean_intensity", "touches_border"),
    )
    return {
        "labels": np.zeros(pixels.shape[:2], np.uint16),
        "method": "nothing to find",
        "diameter": 0.0,
        "min_area": 0.0,
        "columns": {name: np.zeros(0) for name in names},
    }


def _is_nuclear(snapshot: ImageSnapshot, pixels: NDArray[Any]) -> bool:
    """Return whether the channel is named after a nuclear stain, or is the blue of a colour one."""
    names = snapshot.channel_names
    name = names[snapshot.channel].casefold() if names else ""
    return any(stain in name for stain in ("dapi", "hoechst", "draq", "nucle", "h2b", "topro"))


def _summary(target: Target, output: dict[str, Any], notes: list[str]) -> str:
    count, parameters, areas = output["count"], output["parameters"], output["areas"]
    if not count:
        text = f"No {target.many} found ({output['model']})."
    else:
        origin = "" if parameters["diameter_from"] == "arguments" else " from the image"
        text = (
            f"{target.counted(count)} ({output['model']}; diameter "
            f"{parameters['diameter_px']:.0f} px{origin}, least area "
            f"{parameters['min_area_px']:.0f} px). Median area {_area(areas['median'])} "
            f"{areas['units']}."
        )
        if cut := output["touching_border"]:
            which = "1 touches" if cut == 1 else f"{cut:,} touch"
            text += f" {which} the image's border and {'is' if cut == 1 else 'are'} counted."
    return f"{text} Note: {'; '.join(notes)}." if notes else text
