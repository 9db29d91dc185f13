"""The tool `for_each_image`: runs another tool on each of many images; one table is the result.

What each image gave is kept in the run's folder, by tool, version, arguments and pixels. A call
that was stopped goes on where it stopped when it is made again, and an image that failed is tried
again. Arrays of findings are read from these files, so that memory does not grow with the images.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
import math
import re
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import BaseModel, Field

from app.errors import Cancelled, SightlineError
from app.imaging.findings import Finding, new_id
from app.imaging.processes.records import pack, unpack
from app.tools import picture_sources
from app.tools.api import (
    REPEATING_TOOL,
    Approval,
    Artifact,
    CancelToken,
    Images,
    ImageSnapshot,
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
from app.tools.result_wording import Data, ResultWording, Sentence, cited, number
from app.tools.tables import Value, plain_cell, table_of, write_table
from app.user_files import write_atomic

_log = logging.getLogger(__name__)

NAME = REPEATING_TOOL
MOST_IMAGES = 2_000
_FOLDER = "for_each_image"
_TOLD_EACH = 12  # images that a text names one by one
_NAMED, _TOLD_WARNINGS = 3, 12  # images that a warning names, and warnings that are told
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_LONGEST_CELL = 200
_SPARE_S = 60.0
_ARRAY = "$array"
_MOST_MAPPED = 400
"""Most arrays that are mapped from their files; each holds a file open."""


class ForEachInput(ToolInput):
    """Arguments of `for_each_image`."""

    tool: str = Field(description="The tool to run on each image.")
    images: list[str] | None = takes(
        Resource.IMAGES, "The images; all that are open if left out.", default=None
    )
    group: str | None = takes(
        Resource.GROUP, "Only the images of this group.", default=None, max_length=200
    )
    arguments: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description="The tool's other arguments, the same for every image.",
    )


class ForEachOutput(BaseModel):
    """Output of `for_each_image`: totals, and what the tool gave for each image."""

    tool: str
    images: int
    failed: int
    reused: int = Field(description="Images whose result was there from an earlier call.")
    table_path: str = Field(description="CSV: a row per image.")
    objects_table_path: str | None = Field(
        description="CSV: the rows of all images' own tables, one below the other."
    )
    totals: dict[str, dict[str, float]] = Field(
        description="Sum, mean, least and greatest value over the images, by output."
    )
    groups: dict[str, dict[str, Any]] = Field(description="The same for each group of images.")
    results: list[dict[str, Any]] = Field(
        description="For each image its output, or why there is none."
    )


SPEC = ToolSpec(
    name=NAME,
    title="For each image",
    icon="layers",
    description=(
        "Runs another tool on each of many open images and returns one table with a row per "
        "image, and totals per group. Use it whenever a question is about several images: all of "
        "them, each, or those of a group. One image's failure does not stop the others; a call "
        "that was stopped goes on where it stopped."
    ),
    Input=ForEachInput,
    Output=ForEachOutput,
    approval=Approval.COMPUTE,
    pack="general",
    sequential=True,
)


@dataclass(slots=True)
class Row:
    """The result of the repeated tool on one image.

    Attributes:
        image: The app's id of the image, or the path by which it was named.
        name: Its file name, with the id if another image has the same.
        reference: Its file, by which calls name it.
        error: Why there is no result; "" if there is one.
        kept: Whether the result was there from an earlier call.
        findings: How many findings it has; they stand in the order of the rows.
    """

    image: str
    name: str
    reference: str
    group: str = ""
    replicate: str = ""
    summary: str = ""
    output: dict[str, Any] = field(default_factory=dict[str, Any])
    warnings: list[str] = field(default_factory=list[str])
    error: str = ""
    kept: bool = False
    findings: int = 0


class ForEachImage:
    """The tool `for_each_image`."""

    spec = SPEC

    def time_limit_s(self, args: ForEachInput, context: ToolContext) -> float:
        """Return the time limit of a call: that of the inner tool for each image."""
        try:
            each_s = context.calls.check(args.tool).timeout_s
            return each_s * len(_chosen(args, context.images)) + _SPARE_S
        except SightlineError:
            return SPEC.timeout_s  # `run` says what is wrong

    def run(self, args: ForEachInput, context: ToolContext) -> ToolResult:
        """Run the tool on each image; for errors see `app.tools.api.Tool.run`."""
        spec = context.calls.check(args.tool)
        names = _chosen(args, context.images)
        batch = _Batch(spec, args, context, len(names))
        for number_, name in enumerate(names):
            context.cancel.check()
            context.progress(number_ / len(names), f"{number_ + 1} of {len(names)}")
            batch.one(name, number_)
        return batch.result()


def _chosen(args: ForEachInput, images: Images) -> list[str]:
    """Return the wanted names once each; raise ToolRetry for none, too many, no group."""
    if args.images:
        names = list(dict.fromkeys(args.images))
    else:
        names = [name for name in images.names() if not Path(name).is_absolute()]
    if args.group:
        found = images.groups()
        members = next(
            (ids for name, ids in found.items() if name.lower() == args.group.strip().lower()), None
        )
        if members is None:
            there = ", ".join(found) or "none"
            raise ToolRetry(
                f"there is no group {args.group!r}",
                remedy=f"Groups are read from file names, folders or a table beside the images; "
                f"there are: {there}.",
            )
        names = [name for name in names if name in members] if args.images else list(members)
    if not names:
        raise ToolRetry("no image is open", remedy="Ask the user to open the images.")
    if len(names) > MOST_IMAGES:
        raise ToolRetry(f"more than {MOST_IMAGES:,} images", remedy="Name fewer.")
    return names


class _Batch:
    """The rows, findings and files of one call, gathered image by image."""

    def __init__(
        self, spec: ToolSpec, args: ForEachInput, context: ToolContext, count: int
    ) -> None:
        self._spec, self._args, self._context, self._count = spec, args, context, count
        self._store = _Store(context.out_dir / _FOLDER)
        self._objects = _ObjectsTable(context.out_dir / f"objects-{_safe(context.call_id)}.csv")
        self._rows: list[Row] = []
        self._findings: list[Finding] = []
        self._masks: list[Artifact] = []
        self._instances: dict[str, str] = {}
        self._names: dict[str, int] = {}

    def one(self, name: str, place: int) -> None:
        """Work on one image; whatever goes wrong with it becomes its row."""
        row = Row(name, name, name)
        self._rows.append(row)
        try:
            snapshot = self._context.images.resolve(name)
            self._describe(row, snapshot)
            kept = self._result(row, snapshot, place)
        except Cancelled:
            if self._context.cancel.cancelled:
                raise
            row.error = f"it did not finish within {self._spec.timeout_s:g} s"
            return
        except SightlineError as error:
            if row.name == name and error.subject:  # its file could not even be read
                row.name = Path(error.subject).name
            row.error = " ".join(f"{error.reason}. {error.remedy}".split()).strip()
            return
        except Exception as error:  # a pack's own code, on one of many images
            _log.error("%s failed on one of many images (%s)", self._spec.name, type(error))
            row.error = f"it failed unexpectedly ({type(error).__name__})"
            return
        row.output, row.findings = kept.output, len(kept.findings)
        row.warnings = _texts(kept.output.get("warnings"), kept.metadata.get("warnings"))
        ending = f"Warnings: {'; '.join(row.warnings)}."  # told apart, see `_warned`
        row.summary = kept.summary.removesuffix(ending).rstrip() if row.warnings else kept.summary
        self._findings += kept.findings
        self._masks += [item for item in kept.artifacts if item.role == "mask"]
        for table in (item for item in kept.artifacts if item.role == "table"):
            self._objects.add(table, row.name)

    def result(self) -> ToolResult:
        """Return the result of all images; raise ToolFailed if none gave one."""
        good = [row for row in self._rows if not row.error]
        title = self._spec.title or self._spec.name.replace("_", " ")
        if not good:
            whys = list(dict.fromkeys(row.error.rstrip(".") for row in self._rows))
            why = "; ".join(whys[:_NAMED])
            raise ToolFailed(f"no result from “{title}” on any of the {self._count} images: {why}")
        records = [_record(row) for row in self._rows]
        path = self._context.out_dir / f"images-{_safe(self._context.call_id)}.csv"
        table = write_table(path, table_of(records), title, image_column="image")
        objects = self._objects.artifact(title)
        groups = {row.group: None for row in self._rows if row.group}
        output = {
            "tool": self._spec.name,
            "images": self._count,
            "failed": self._count - len(good),
            "reused": sum(row.kept for row in good),
            "table_path": str(path),
            "objects_table_path": str(objects.path) if objects is not None else None,
            "totals": _totals(good),
            "groups": {
                name: {
                    "images": sum(row.group == name for row in good),
                    "replicates": len({r.replicate for r in good if r.group == name} - {""}),
                    "totals": _totals([row for row in good if row.group == name]),
                }
                for name in groups
            },
            "results": [_told(row) for row in self._rows],
        }
        each = {"each": _told_each(self._rows[:_TOLD_EACH])}
        metadata = {
            "title": title,
            "arguments": self._args.arguments,
            "version": self._spec.version,
            "status": "completed",
            "warnings": _warned(self._rows),
            **(each if self._count <= _TOLD_EACH else {}),
        }
        artifacts = [table, *([objects] if objects is not None else []), *self._masks]
        output, metadata = cast("dict[str, Any]", plain(output)), plain(metadata)
        summary = " ".join(line.text for line in _lines(output, {**metadata, "each": []}))
        return ToolResult(summary, output, metadata, tuple(self._findings), tuple(artifacts))

    def _describe(self, row: Row, snapshot: ImageSnapshot) -> None:
        own = snapshot.path.name
        self._names[own] = self._names.get(own, 0) + 1
        row.name = own if self._names[own] == 1 else f"{own} ({row.image})"
        row.reference = str(snapshot.path)
        row.group, row.replicate = snapshot.group, snapshot.replicate

    def _result(self, row: Row, snapshot: ImageSnapshot, place: int) -> ToolResult:
        context = self._context
        arguments = context.calls.bind(self._spec.name, self._args.arguments, row.image)
        key = _key(self._spec, arguments, row, snapshot)
        found = self._store.get(key)
        row.kept = found is not None
        if found is None:
            with _limited(context.cancel, self._spec.timeout_s) as cancel:
                inner = replace(
                    context,
                    # Tools name their files by it.
                    call_id=f"{context.call_id}-{place + 1}",
                    cancel=cancel,
                    progress=self._progress(place),
                )
                result = context.calls.run(self._spec.name, arguments, inner)
            self._store.put(key, result)
            # Read back, so that only what is drawn is ever in memory.
            found = self._store.get(key) or result
        # Kept ones are proposed anew: the user may have edited or rejected those of the first call.
        ids = {item.id: new_id() for item in found.findings} if row.kept else {}
        run_id, call_id = context.run_id, context.call_id
        findings = tuple(
            replace(
                item,
                id=ids.get(item.id, item.id),
                provenance=replace(item.provenance, run_id=run_id, call_id=call_id),
            )
            for item in found.findings
        )
        artifacts = tuple(_with_ids(item, ids) for item in found.artifacts)
        if row.kept:  # the folder may hold files of others, so the run must be told of its own
            for item in found.artifacts:
                if item.path.suffix.lower() in (".tif", ".tiff", ".png"):
                    context.images.add_derived(item.path, snapshot)
        return replace(found, findings=findings, artifacts=artifacts)

    def _progress(self, place: int) -> Any:
        count = self._count

        def tell(fraction: float, text: str) -> None:
            del text
            done = (place + min(max(fraction, 0.0), 1.0)) / count
            self._context.progress(done, f"{place + 1} of {count}")

        return tell


def _with_ids(artifact: Artifact, ids: Mapping[str, str]) -> Artifact:
    """Return a table that links its rows to findings by their new ids."""
    told = artifact.options.get("findings")
    if not ids or not isinstance(told, dict):
        return artifact
    linked = {name: ids.get(one, one) for name, one in cast("dict[str, str]", told).items()}
    return replace(artifact, options={**artifact.options, "findings": linked})


@contextmanager
def _limited(parent: CancelToken, limit_s: float) -> Generator[CancelToken]:
    """Give a token that is cancelled with `parent`, or when the time is up."""
    token = CancelToken()
    timer = threading.Timer(limit_s, token.cancel)
    timer.daemon = True
    parent.on_cancel(token.cancel)
    timer.start()
    try:
        yield token
    finally:
        timer.cancel()


def _key(spec: ToolSpec, arguments: Mapping[str, Any], row: Row, snapshot: ImageSnapshot) -> str:
    """Return the name under which an image's result is kept."""
    own = (row.image, row.reference)
    # An image may have another id tomorrow: its pixels say which it is.
    others = {
        name: value
        for name, value in arguments.items()
        if value not in own and value not in [[one] for one in own]
    }
    ref = snapshot.ref
    parts = [
        *(spec.name, spec.version, others, row.group, row.replicate),
        *(ref.sop_instance_uid, ref.frame, ref.pixel_sha256, snapshot.inverted),
        picture_sources.window_json(snapshot.window),
        asdict(snapshot.frame.spacing),  # the user may have calibrated the image since
        [finding.id for finding in snapshot.drawn],
    ]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60]


# -- what is kept -----------------------------------------------------------------------------


class _Store:
    """Results of single images in the run's folder; a damaged one counts as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mapped = 0

    def get(self, key: str) -> ToolResult | None:
        """Return a result that was kept and whose files are all there, or None."""
        path = self._folder / f"{key}.json"
        try:
            kept = json.loads(path.read_text("utf-8"))
            artifacts = tuple(
                Artifact(Path(item.pop("path")), **item) for item in kept["artifacts"]
            )
            own = self._folder.parent.resolve()
            real = [item.path.resolve() for item in artifacts]
            if not all(one.is_relative_to(own) and one.is_file() for one in real):
                return None
            findings = tuple(unpack(Finding, self._with_arrays(item)) for item in kept["findings"])
            return ToolResult(
                kept["summary"], kept["output"], kept["metadata"], findings, artifacts
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, key: str, result: ToolResult) -> None:
        """Keep a result; where the disk is full it is simply computed again."""
        arrays: list[np.ndarray] = []
        kept = {
            "summary": result.summary,
            "output": plain(result.output),
            "metadata": plain(result.metadata),
            "findings": [_without_arrays(pack(item), key, arrays) for item in result.findings],
            "artifacts": [
                {
                    "path": str(item.path),
                    "role": item.role,
                    "title": item.title,
                    "description": item.description,
                    "options": plain(item.options),
                }
                for item in result.artifacts
                if item.role in ("mask", "table", "plot", "file")
            ],
        }
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for place, array in enumerate(arrays):
                stream = io.BytesIO()
                np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
                write_atomic(self._folder / _array_name(key, place), stream.getvalue())
            write_atomic(self._folder / f"{key}.json", json.dumps(kept).encode())
        except (OSError, TypeError, ValueError) as error:
            _log.warning("A result of one image could not be kept (%s)", type(error).__name__)

    def _with_arrays(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._with_arrays(item) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        table = cast("dict[str, Any]", value)
        if _ARRAY in table:
            self._mapped += 1
            mode = "r" if self._mapped <= _MOST_MAPPED else None
            path = self._folder / Path(table[_ARRAY]).name
            return np.load(path, mmap_mode=mode, allow_pickle=False)
        return {key: self._with_arrays(item) for key, item in table.items()}


def _without_arrays(value: Any, key: str, arrays: list[np.ndarray]) -> Any:
    """Return a packed value as JSON; its arrays are appended to `arrays` and named."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY: _array_name(key, len(arrays) - 1)}
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {name: _without_arrays(item, key, arrays) for name, item in table.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(item, key, arrays) for item in cast("Iterable[Any]", value)]
    return plain(value)


def _array_name(key: str, place: int) -> str:
    return f"{key}-{place}.npy"


class _ObjectsTable:
    """One table of the rows of all images' own tables, written as they come."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: tuple[str, ...] = ()
        self._options: dict[str, Any] = {}
        self._findings: dict[str, str] = {}
        self._rows = 0

    def add(self, table: Artifact, image: str) -> None:
        with table.path.open(newline="", encoding="utf-8") as stream:
            lines = csv.reader(stream)
            columns = tuple(next(lines, ()))
            first = not self._columns
            if not columns or (not first and not set(columns) & set(self._columns)):
                return
            with self._path.open("w" if first else "a", newline="", encoding="utf-8") as out:
                writer = csv.writer(out)
                if first:
                    # The first image may have no group where later ones have.
                    more = (name for name in ("group", "replicate") if name not in columns)
                    self._columns, self._options = (*columns, *more), dict(table.options)
                    writer.writerow(self._columns)
                named = str(table.options.get("image_column") or "")
                place = columns.index(named) if named in columns else None
                for line in lines:
                    if place is not None:  # files of two folders may have the same name
                        line[place] = str(plain_cell(image))
                    cells = dict(zip(columns, line, strict=False))
                    writer.writerow([cells.get(name, "") for name in self._columns])
                    self._rows += 1
        told = table.options.get("findings")
        ids = cast("dict[str, str]", told) if isinstance(told, dict) else {}
        self._findings |= dict.fromkeys([image], next(iter(ids.values()))) if ids else {}

    def artifact(self, title: str) -> Artifact | None:
        """Return the table as an artifact; None if no image has one."""
        if not self._columns:
            return None
        options = {**self._options, "findings": self._findings, "rows": self._rows}
        return Artifact(self._path, role="table", title=f"{title}: all objects", options=options)


# -- what is told -----------------------------------------------------------------------------


def _scalars(output: Mapping[str, Any]) -> dict[str, Value]:
    """Return the plain values of an output: numbers, short texts, those of tables in it."""
    found: dict[str, Value] = {}
    for name, value in output.items():
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            told = {f"{name}_{key}": item for key, item in inner.items()}
        else:
            told = {name: value}
        for key, item in told.items():
            text = isinstance(item, str) and len(item) <= _LONGEST_CELL
            if isinstance(item, bool | int | float) or (text and not key.endswith("path")):
                found[key] = item
    return found


def _record(row: Row) -> dict[str, Value]:
    head: dict[str, Value] = {"image": row.name, "group": row.group, "replicate": row.replicate}
    head = {key: value for key, value in head.items() if value or key == "image"}
    return {**head, **_scalars(row.output), "error": row.error or None}


def _told(row: Row) -> dict[str, Any]:
    named = {"image": row.image if Path(row.image).is_absolute() else row.reference}
    grouped = {"group": row.group} if row.group else {}
    if row.error:
        return {**named, **grouped, "error": row.error}
    return {**named, **grouped, "output": row.output, "findings": row.findings}


def _texts(*values: Any) -> list[str]:
    """Return the texts in lists, each once."""
    lists = [cast("list[Any]", value) for value in values if isinstance(value, list)]
    return list(dict.fromkeys(text for items in lists for text in items if isinstance(text, str)))


def _warned(rows: Sequence[Row]) -> list[str]:
    """Return the warnings of all images, each once; one of some of them names these."""
    by_text: dict[str, list[str]] = {}
    for row in rows:
        for text in row.warnings:
            by_text.setdefault(text, []).append(row.name)
    told: list[str] = []
    for text, names in by_text.items():
        some = ", ".join(names) if len(names) <= _NAMED else f"{len(names)} of {len(rows)} images"
        told.append(text if len(names) == len(rows) else f"{some}: {text}")
    rest = len(told) - _TOLD_WARNINGS
    return told if rest <= 0 else [*told[:_TOLD_WARNINGS], f"and {rest} more warnings"]


def _told_each(rows: Sequence[Row]) -> list[str]:
    """Return a line per image, then what was said of all of them alike."""
    said = [_SENTENCE.split(row.error or row.summary or "done") for row in rows]
    alike = [
        text
        for text in (said[0][1:] if len(said) > 1 else ())
        if all(text in one[1:] for one in said)
    ]
    own = [[one[0], *(text for text in one[1:] if text not in alike)] for one in said]
    lines = [f"{row.name}: {' '.join(texts)}" for row, texts in zip(rows, own, strict=True)]
    return [*lines, *([" ".join(alike)] if alike else [])]


def _totals(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return sum, mean, least and greatest value of each number that the rows' outputs have."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in _scalars(row.output).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, []).append(float(value))
    return {
        name: {
            "sum": math.fsum(found),
            "mean": math.fsum(found) / len(found),
            "min": min(found),
            "max": max(found),
        }
        for name, found in values.items()
        if all(map(math.isfinite, found))
    }


def _lines(output: Data, metadata: Data) -> list[Sentence]:
    """Return what the answer says: how many images, the main figure, groups, what failed."""
    images, failed = int(output["images"]), int(output["failed"])
    lines = [f"{metadata['title']}: {images - failed} of {images} images gave a result."]
    main = _main(output["totals"])
    # Of a few images each is told, and the mean of two ratios of one patient says nothing.
    if main and (main == "count" or not metadata.get("each")):
        lines.append(f"All images: {_figure(main, output['totals'][main])}.")
    for name, group in output["groups"].items():
        of = _figure(main, group["totals"][main]) if main in group["totals"] else ""
        count = f"{group['images']} image{'' if group['images'] == 1 else 's'}"
        samples = f", {group['replicates']} replicates" if group["replicates"] > 1 else ""
        lines.append(f"{name} ({count}{samples}){f': {of}' if of else ''}.")
    each = [line.replace("..", ".") for line in metadata.get("each") or ()]
    if failed and not metadata.get("each"):
        first = next(row for row in output["results"] if "error" in row)
        lines.append(f"{Path(first['image']).name} gave none: {first['error']}.")
    told = cited([line.replace("..", ".") for line in lines])
    return [
        *told,
        *(Sentence(line, row=row) for row, line in enumerate(each[:images])),
        *cited(each[images:]),
    ]


def _main(totals: Data) -> str:
    """Return the output that answers best for many images: a count, else the first number."""
    return "count" if "count" in totals else next(iter(totals), "")


def _figure(name: str, total: Mapping[str, float]) -> str:
    mean, least, most = (_number(total[key]) for key in ("mean", "min", "max"))
    span = f"{mean} on average ({least} to {most})"
    if name == "count":
        return f"{number(total['sum'])} in all, {span}"
    return f"{name.replace('_', ' ')} {span}"


def _number(value: float) -> str:
    whole = float(value).is_integer()
    return f"{value:,.0f}" if whole else f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


WORDING = ResultWording(NAME, title="For each image", lines=_lines)
