"""The key facts of a tool's output: the few figures a reader wants without opening the JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from app.views.chat.text import one_line
from app.views.pack_texts import words_of

ROWS = 6
JSON_CHARS = 20_000
_COLUMNS = (
    ("area_cm2", "Area cm²"),
    ("area_pixels", "Area px"),
    ("confidence_score", "Confidence"),
    ("mean_intensity", "Mean grey"),
    ("width", "Width px"),
    ("height", "Height px"),
)
_UNINTERESTING = ("path", "uid", "sha256", "status", "note", "warning", "judgement", "cutoff")


@dataclass(frozen=True, slots=True)
class Facts:
    """A small table.

    Attributes:
        header: Column titles, the first one empty; () where rows are pairs of name and value.
        rows: Cells as text, the first one the row's name.
        more: How many rows were left out.
    """

    rows: tuple[tuple[str, ...], ...] = ()
    header: tuple[str, ...] = ()
    more: int = 0


def facts(output: Mapping[str, Any]) -> Facts:
    """What of `output` is worth a table; empty when nothing is."""
    for value in output.values():
        if _is_matrix(value):
            return _matrix(value)
    for value in (output, *output.values()):
        if isinstance(value, Mapping) and _is_scores(value):
            return _scores(value)
    return _pairs(output)


def warnings(*parts: Mapping[str, Any]) -> list[str]:
    """What a tool warns of in its output or metadata: texts under "warning" or "warnings"."""
    found: list[str] = []
    for part in parts:
        for key in ("warnings", "warning"):
            value = part.get(key)
            items = value if isinstance(value, list) else [value]
            found += [text for text in items if isinstance(text, str) and text.strip()]
    return list(dict.fromkeys(found))


def without_warnings(summary: str, warned: Sequence[str]) -> str:
    """A summary without the warnings at its end, where these are told by themselves."""
    return summary.removesuffix(f"Warnings: {'; '.join(warned)}.").rstrip() if warned else summary


def named_images(arguments: Mapping[str, Any]) -> str:
    """The images that a call is about, as its arguments name them; "" where they name none."""
    found: list[str] = []
    for key, value in arguments.items():
        if "image" in str(key).casefold() or str(key).endswith("path"):
            items = value if isinstance(value, list) else [value]
            found += [PurePath(item).name for item in items if isinstance(item, str) and item]
    shown = [one_line(item, 60) for item in dict.fromkeys(found)]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more


def number(value: float) -> str:
    """A figure as people write it: no noise digits, thousands apart."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", "\u2009")
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u2009")
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def as_json(value: Any) -> str:
    """`value` as indented JSON, cut with a notice where it is long."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    if len(text) <= JSON_CHARS:
        return text
    left = len(text) - JSON_CHARS
    return f"{text[:JSON_CHARS]}\n… {left} more characters; the session file holds them all."


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_matrix(value: Any) -> bool:
    if not isinstance(value, Mapping) or not value:
        return False
    rows = list(value.values())
    return all(isinstance(item, Mapping) for item in rows) and bool(_columns(rows))


def _columns(rows: list[Any]) -> list[tuple[str, str]]:
    known = [
        (key, title) for key, title in _COLUMNS if any(_is_number(item.get(key)) for item in rows)
    ]
    if any(key == "area_cm2" for key, _ in known):
        known = [item for item in known if item[0] != "area_pixels"]
    return known[:3]


def _matrix(value: Mapping[str, Any]) -> Facts:
    columns = _columns(list(value.values()))
    rows = [
        (
            words_of(str(key)),
            *(number(item[k]) if _is_number(item.get(k)) else "–" for k, _ in columns),
        )
        for key, item in value.items()
    ]
    header = ("", *(title for _, title in columns))
    return Facts(tuple(rows[:ROWS]), header, max(0, len(rows) - ROWS))


def _is_scores(value: Mapping[str, Any]) -> bool:
    return len(value) >= 4 and all(isinstance(item, float) for item in value.values())


def _scores(value: Mapping[str, Any]) -> Facts:
    ranked = sorted(value.items(), key=lambda item: item[1], reverse=True)
    rows = tuple((words_of(str(key)), f"{score:.2f}") for key, score in ranked[:ROWS])
    return Facts(rows, (), max(0, len(ranked) - ROWS))


def _pairs(output: Mapping[str, Any]) -> Facts:
    rows: list[tuple[str, ...]] = []
    for key, value in output.items():
        if any(part in str(key).casefold() for part in _UNINTERESTING):
            continue
        if _is_number(value):
            rows.append((words_of(str(key)), number(value)))
        elif value is False:  # that something is as it should be is no news
            rows.append((words_of(str(key)), "no"))
        elif isinstance(value, str) and 0 < len(value) <= 60:
            rows.append((words_of(str(key)), one_line(value)))
    return Facts(tuple(rows[:ROWS]), (), max(0, len(rows) - ROWS))
