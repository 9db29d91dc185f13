"""Draws results on grey images: translucent masks or boxes, outlines, a legend and a footer."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from app.imaging.label_colors import COLORS, LabelColors, rgb
from app.tools.chest import organs

RGB = tuple[int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Mask = NDArray[np.bool_]

_OPACITY = 0.28
_TEXT: RGB = (255, 255, 255)
_SHADOW: RGB = (0, 0, 0)


def footer(tool: str, model: str) -> str:
    """Return the text for the bottom of a picture, which names the tool and the model."""
    return f"{tool} · {model} · AI, not for diagnosis"


def draw(grey: NDArray[np.uint8], masks: Mapping[str, Mask], footer: str) -> NDArray[np.uint8]:
    """Return the grey image [rows, columns] as RGB with masks, a legend and a footer drawn in."""
    canvas = np.repeat(grey[..., None], 3, axis=2)
    unit = max(1, round(max(grey.shape) / 700))
    places = LabelColors(organs.COLOURED)
    colours = {name: rgb(COLORS[places.take(name)]) for name in masks}
    for name, mask in masks.items():
        _tint(canvas, mask, colours[name], unit)
    picture = Image.fromarray(canvas)
    pen = ImageDraw.Draw(picture, "RGBA")
    font = ImageFont.load_default(max(9, 14 * unit))
    letters = dict(zip(masks, string.ascii_uppercase, strict=False))
    for name, mask in masks.items():
        y, x = _inner_point(mask)
        pen.text((x, y), letters[name], _TEXT, font, "mm", stroke_width=unit, stroke_fill=_SHADOW)
    _legend(pen, font, [(letters[name], name, colours[name]) for name in masks])
    _write_footer(pen, footer, unit, grey.shape[0])
    return np.asarray(picture)


def draw_boxes(
    grey: NDArray[np.uint8],
    boxes: Sequence[tuple[str, tuple[float, float, float, float]]],
    footer: str,
) -> NDArray[np.uint8]:
    """Return a grey image as RGB [rows, columns, 3] with boxes, a legend and a footer drawn in.

    `boxes` are pairs (label, (x0, y0, x1, y1)); pixel centres are integers. Each label has a colour
    and a letter, which is drawn in its boxes and explained in the legend.
    """
    picture = Image.fromarray(np.repeat(grey[..., None], 3, axis=2))
    pen = ImageDraw.Draw(picture, "RGBA")
    unit = max(1, round(max(grey.shape) / 700))
    font = ImageFont.load_default(max(9, 14 * unit))
    marks: dict[str, tuple[str, RGB]] = {}
    places = LabelColors(organs.COLOURED)
    for label, (x0, y0, x1, y1) in boxes:
        place = len(marks)
        letter, colour = marks.setdefault(
            label, (string.ascii_uppercase[place % 26], rgb(COLORS[places.take(label)]))
        )
        # Draw the line outside the box so that it does not cover the content.
        pen.rectangle((x0 - unit, y0 - unit, x1 + unit, y1 + unit), None, colour, 2 * unit)
        spot = (x0 + 3 * unit, y0 + 3 * unit)
        pen.text(spot, letter, _TEXT, font, "lt", stroke_width=unit, stroke_fill=_SHADOW)
    room = grey.shape[1] - 4 * font.getbbox("M")[2] - 12 * unit
    lines = [(mark, _fitted(name, font, room), colour) for name, (mark, colour) in marks.items()]
    _legend(pen, font, lines)
    _write_footer(pen, footer, unit, grey.shape[0])
    return np.asarray(picture)


def _write_footer(pen: ImageDraw.ImageDraw, footer: str, unit: int, rows: int) -> None:
    font = ImageFont.load_default(max(8, 10 * unit))
    place = (4 * unit, rows - 4 * unit)
    pen.text(place, footer, _TEXT, font, "ls", stroke_width=unit, stroke_fill=_SHADOW)


def _fitted(text: str, font: Font, width: float) -> str:
    """Cut a text to a width in pixels, with an ellipsis: some labels are whole sentences."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _tint(canvas: NDArray[np.uint8], mask: Mask, colour: RGB, unit: int) -> None:
    """Colour a mask's inside lightly and its edge fully; work within its bounding box only."""
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return
    box = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    inside = mask[box]
    part = canvas[box]
    blended = part[inside] * (1 - _OPACITY) + np.array(colour) * _OPACITY
    part[inside] = np.rint(blended).astype(np.uint8)
    part[inside & ~_eroded(inside, unit)] = colour


def _eroded(mask: Mask, times: int) -> Mask:
    """Return the mask without its outermost pixels. Importing scipy.ndimage instead takes 0.3 s."""
    core = np.pad(mask, 1)
    for _ in range(times):
        inner = core.copy()
        inner[1:] &= core[:-1]
        inner[:-1] &= core[1:]
        inner[:, 1:] &= core[:, :-1]
        inner[:, :-1] &= core[:, 1:]
        core = inner
    return core[1:-1, 1:-1]


def _inner_point(mask: Mask) -> tuple[int, int]:
    y, x = np.nonzero(mask)
    nearest = int(np.argmin((y - y.mean()) ** 2 + (x - x.mean()) ** 2))
    return int(y[nearest]), int(x[nearest])


def _legend(pen: ImageDraw.ImageDraw, font: Font, lines: list[tuple[str, str, RGB]]) -> None:
    if not lines:
        return
    texts = [f"{letter}  {name}" for letter, name, _ in lines]
    step = int(pen.textbbox((0, 0), "Ag", font)[3] * 1.35)
    width = max(int(pen.textlength(text, font)) for text in texts)
    gap = step // 3
    pen.rectangle((0, 0, width + step + 3 * gap, step * len(lines) + 2 * gap), (0, 0, 0, 150))
    for number, (text, (_, _, colour)) in enumerate(zip(texts, lines, strict=True)):
        top = gap + number * step
        pen.rectangle((gap, top + gap // 2, gap + step - gap, top + step - gap), colour)
        pen.text((step + gap, top), text, _TEXT, font)
