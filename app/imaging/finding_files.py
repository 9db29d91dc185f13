"""Reads findings from JSON files that `ask --json`, `tool --json` and `finding_json` write."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from app.errors import FileProblem
from app.imaging.findings import Finding
from app.imaging.processes.records import unpack

MAX_BYTES = 256 * 1024**2
_UINT16 = 65535
_REMEDY = "Give a file that `ask --json` or `tool --json` wrote, with its pictures beside it."


def read_findings(path: Path) -> list[Finding]:
    """Return the findings of a JSON file, each id once (the last one counts), in file order.

    The file holds a finding, a list of findings, an object with `findings`, or one such object a
    line (the events of `ask --json`). The picture of a mask, heat map or numbered objects is looked
    up by its path, else by its name beside the file.

    Raises:
        FileProblem: The file cannot be read, or is not in this form.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileProblem("it is too large for findings", subject=str(path), remedy=_REMEDY)
        found = [_finding(item, path) for value in _values(path) for item in _items(value)]
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or 'unknown reason'})"
        raise FileProblem(reason, subject=str(path), remedy=_REMEDY) from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise FileProblem(
            "it holds no findings in the known JSON form",
            subject=str(path),
            remedy=_REMEDY,
            detail=f"{type(error).__name__}",
        ) from error
    return list({one.id: one for one in found}.values())


def _values(path: Path) -> Iterator[Any]:
    text = path.read_text(encoding="utf-8")
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            if line.strip():
                yield json.loads(line)


def _items(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return value
    if "geometry" in value:
        return [value]
    return value.get("findings") or []


def _finding(item: Mapping[str, Any], file: Path) -> Finding:
    fields = dict(item)
    geometry = dict(fields["geometry"])
    kind = geometry.pop("type")
    if kind in ("Mask", "Heatmap"):
        values = _picture(Path(geometry["path"]), file)
        pixels = values >= 128 if kind == "Mask" else (values / 255).astype(np.float32)
        geometry = {"pixels" if kind == "Mask" else "values": pixels}
    elif kind == "Instances":
        geometry = {"labels": _labels(_beside(Path(geometry["path"]), file))}
    elif kind == "Point":
        geometry = dict(zip("xy", geometry["point"], strict=True))
    _check_finite(geometry)
    fields["geometry"] = {"$class": kind, **geometry}
    original: dict[str, Any] | None = fields.pop("original", None)
    finding = unpack(Finding, fields)
    if original and "type" in original["geometry"]:  # an older file has it without
        finding = replace(finding, original=_finding(original, file))
    return finding


def _beside(path: Path, file: Path) -> Path:
    return path if path.is_file() else file.parent / path.name


def _picture(path: Path, file: Path) -> Any:
    with Image.open(_beside(path, file)) as picture:
        return np.asarray(picture.convert("L"))


def _labels(path: Path) -> Any:
    """Return the numbers of objects in a TIFF or PNG: uint16 or uint32 [rows, columns]."""
    with Image.open(path) as picture:
        values = np.asarray(picture)
    if values.dtype == np.int32:
        values = values.view(np.uint32)  # as `tools.files.label_image` writes it
    if values.ndim != 2 or values.dtype.kind != "u":
        raise ValueError("no picture of numbered objects")
    return values.astype(np.uint16 if values.max(initial=0) <= _UINT16 else np.uint32)


def _check_finite(value: Any) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _check_finite(one)
    elif not isinstance(value, np.ndarray) and not math.isfinite(value):
        raise ValueError("a coordinate that is no number")
