"""Plain JSON forms of events, findings and tool results, for `--json`, sessions and the model."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from app.agent import events
from app.agent.events import RunEvent
from app.agent.messages import for_people
from app.errors import writing
from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Geometry,
    Heatmap,
    Instances,
    Mask,
    Point,
    Polygon,
    Polyline,
    Segments,
)
from app.tools.files import label_image, png_bytes
from app.user_files import write_atomic


def event_json(event: RunEvent, out_dir: Path) -> dict[str, Any]:
    """Return an event as JSON data, in the form that the command line prints.

    Pictures of masks, heat maps and numbered objects are written to `out_dir`.

    Raises:
        FileProblem: A picture cannot be written to `out_dir`.
    """
    fields = {name: getattr(event, name) for name in type(event).model_fields}
    fields.pop("kind")
    if isinstance(event, events.ToolFinished):
        fields["findings"] = [finding_json(item, out_dir) for item in event.findings]
    return {"kind": event.kind, **plain(fields)}


def finding_json(finding: Finding, out_dir: Path) -> dict[str, Any]:
    """Return a finding's fields as JSON data; its mask or the like is written to `out_dir`.

    Raises:
        FileProblem: The picture cannot be written.
    """
    fields = {item.name: getattr(finding, item.name) for item in dataclasses.fields(finding)}
    fields["geometry"] = geometry_json(finding.geometry, out_dir, finding.id)
    original = finding.original
    if original is not None:
        fields["original"] = finding_json(replace(original, id=f"{finding.id}-original"), out_dir)
    return plain(fields)


def geometry_json(geometry: Geometry, out_dir: Path, name: str) -> dict[str, Any]:
    """Return a geometry as JSON-ready data, in image pixel coordinates (x, y).

    A Mask, Heatmap or Instances becomes a picture in `out_dir`, with `name` in its file name, at
    the image's own size: a Mask a PNG with the values 0 and 255, a Heatmap a PNG with its values
    0..1 scaled to 0..255, Instances a TIFF with the objects' numbers (uint16 or uint32).

    Raises:
        FileProblem: The picture cannot be written.
    """
    kind = type(geometry).__name__
    match geometry:
        case Point(x, y):
            return {"type": kind, "point": plain([x, y])}
        case Polyline(points) | Segments(points) | Polygon(points):
            return {"type": kind, "points": plain([list(point) for point in points])}
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
            return {"type": kind, **plain({"x0": x0, "y0": y0, "x1": x1, "y1": y1})}
        case Mask(pixels):
            values = np.where(pixels, 255, 0).astype(np.uint8)
        case Heatmap(heat):
            values = np.rint(np.clip(np.nan_to_num(heat), 0, 1) * 255).astype(np.uint8)
        case Instances(labels):
            path = _write(partial(label_image, labels), out_dir, f"instances-{name}.tif")
            return {"type": kind, "path": str(path)}
    path = _write(partial(png_bytes, values), out_dir, f"{kind.lower()}-{name}.png")
    return {"type": kind, "path": str(path)}


def plain(value: Any) -> Any:
    """Convert a value to JSON types: unwrap numpy scalars, turn NaN and infinity into null."""
    match value:
        case None | bool() | int() | str():
            # A str or int subclass (an Enum member) must not leak its own repr into the JSON.
            return value.value if isinstance(value, Enum) else value
        case float():
            return float(value) if math.isfinite(value) else None
        case np.generic():
            return plain(value.item())
        case np.ndarray():
            return plain(value.tolist())
        case Enum():
            return plain(value.value)
        case BaseModel():
            return plain(value.model_dump())
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case bytes() | bytearray() | memoryview():
            return f"({len(value)} bytes)"
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [item.name for item in dataclasses.fields(value)]
            return {name: plain(getattr(value, name)) for name in names}
        case Iterable():
            return [plain(item) for item in value]
        case _:
            return str(value)


def describe(event: RunEvent) -> str:
    """Return a short description of an event for a person; "" if there is nothing to say.

    Streamed text and the answer are not described, because they are printed by themselves.
    """
    match event:
        case events.RunStarted():
            return f"Model: {event.model}"
        case events.PlanUpdated() if event.goal:
            told = [f"Changed by a rule: {item.reason}" for item in event.overrides]
            missed = event.goal == "incomplete"
            return "\n".join([*told, *([f"Goal not reached: {event.goal_why}"] if missed else [])])
        case events.PlanUpdated():
            # Only the new plan: what becomes of each step is told by its own events.
            fresh = all(step.get("state") == "pending" for step in event.steps)
            names = ", ".join(str(step.get("tool", "")) for step in event.steps)
            return f"Plan: {names}" if event.steps and fresh else ""
        case events.ToolStarted():
            listed = ", ".join(f"{key}={value!r}" for key, value in event.arguments.items())
            return f"> {event.tool}({listed})"
        case events.ToolProgress():
            return f"  {event.tool}: {event.fraction:.0%} {event.text}".rstrip()
        case events.ToolFinished():
            if event.refused:
                return f"  {event.tool}: not run: {event.refused}"
            text = event.error if event.status != "ok" and event.error else event.summary
            text = for_people(text)
            number = f"[{event.evidence}] " if event.evidence else ""
            return f"  {number}{event.tool}: {event.status} in {event.duration_s:.1f} s: {text}"
        case events.ApprovalRequested():
            sent = [f"- {item}" for item in event.sent]
            model = [f"Model: {event.model}"] if event.model else []
            return "\n".join([event.title, *model, *sent, event.detail])
        case events.ApprovalResolved():
            return "Allowed." if event.granted else f"Denied. {event.reason}".rstrip()
        case events.Usage():
            return f"Tokens: {event.input_tokens} in, {event.output_tokens} out"
        case events.DataSent():
            count = f" and {len(event.pictures)} pictures" if event.pictures else ""
            return f"Sent to {event.host}: {event.characters} characters{count}"
        case events.RunFailed():
            stop = "" if event.error.endswith((".", "?", "!")) else "."
            return f"Failed: {event.error}{stop} {event.remedy}".rstrip()
        case events.RunCancelled():
            return "Stopped."
        case events.ModelRetry():
            return f"{event.reason}: asked again in {event.wait_s:.1f} s"
        case events.Noted():
            return event.text
        case events.RunFinished() | events.TextDelta() | events.ReasoningDelta():
            return ""


def _write(content: Callable[[], bytes], out_dir: Path, name: str) -> Path:
    path = out_dir / re.sub(r"[^A-Za-z0-9._-]", "_", name)
    if path.exists():
        return path
    with writing(path, "the mask"):
        out_dir.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content())  # also over a file that a twin just wrote
    return path
