"""Waveforms as pictures: each multiplex group is a frame. Runs in a worker process.

PS3.3 A.34 and C.10.9. An ECG is drawn on ECG paper, at 25 mm/s and 10 mm/mV if it fits: twelve
leads of about ten seconds as 3 x 4 with a rhythm strip, others below each other. Other waveforms
are stacked, each channel with its own scale. `Frame.regions` gives the seconds per column and units
per row, so that both can be measured. A millimetre of paper is `PX_PER_MM` pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import first_item, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.instance_attributes import uid_of
from app.imaging.files.identity import pixel_sha256
from app.imaging.objects.waveform_values import (
    Group,
    physical_values,
    waveform_group,
    waveform_groups,
)
from app.imaging.types import Frame, ImageRef, Region, Spacing
from app.paths import resources_dir

Floats = NDArray[np.float64]
RGB = tuple[int, int, int]

PX_PER_MM = 8
MARGIN = 3 * PX_PER_MM
HEADER = 9 * PX_PER_MM
PULSE_MM = 8
"""Width in mm of paper for the calibration pulse at the left of every row of an ECG."""

PULSE_S = 0.2
_AXIS = 6 * PX_PER_MM
_LEADS = ("I", "aVR", "V1", "V4", "II", "aVL", "V2", "V5", "III", "aVF", "V3", "V6")
"""Leads in their order on paper: three rows of four."""

_SPEEDS = (25.0, 12.5, 10.0, 5.0, 2.5)
_GAINS = (10.0, 5.0, 2.5, 1.0, 0.5, 0.2, 0.1)
_MAX_PAPER_MM = 450.0
_MAX_ROW_MM = 60.0
_PLOT = 2400
_NAMES = 360
_MAX_HEIGHT = 8000
_MAX_ECG_ROWS = 24

MAX_ANNOTATIONS = 36
_ECG_SECONDS = 180

SHEET: RGB = (255, 253, 251)
PAPER: RGB = (255, 247, 244)
FINE: RGB = (250, 223, 217)
BOLD: RGB = (240, 178, 168)
INK: RGB = (18, 22, 32)
FAINT: RGB = (104, 108, 118)
LINE: RGB = (226, 228, 232)
TRACE: RGB = (16, 62, 120)

_SCALE = 3
"""Subpixels per pixel in both directions."""

_PEN = 7
"""Width of a trace in subpixels."""

_SEPARATOR_MM = 2.5
FOOTER_LINE = 30


def extent(header: Header) -> tuple[int, int, int]:
    """Return the size of a waveform as drawn: frames (one per multiplex group), rows, columns.

    Rows and columns are the pixels of the first frame.

    Raises:
        FileProblem: The object is damaged, or does not contain a waveform.
    """
    group = waveform_group(header, 0)
    # The samples are read only if the layout depends on them.
    short = _is_ecg(group) and group.duration_s <= _ECG_SECONDS
    values = physical_values(header, group) if short else None
    layout = _trace_layout(group, values, group_annotations(header, 0))
    return len(waveform_groups(header)), layout.rows, layout.columns


def read_frame(header: Header, index: int) -> Frame:
    """Draw multiplex group `index` (from 0) as a frame.

    Raises:
        FileProblem: The group does not exist, is damaged, or is in an unknown format.
    """
    group = waveform_group(header, index)
    values = physical_values(header, group)
    notes = group_annotations(header, index)
    layout = _trace_layout(group, values, notes)
    stored = _draw(group, values, layout, notes)
    return Frame(
        stored=stored,
        ref=ImageRef(uid_of(header), index, pixel_sha256(stored)),
        photometric="RGB",
        spacing=Spacing(note="a plot has no patient scale: seconds and units instead"),
        regions=tuple(layout.regions),
        note=" ".join(group.label.split()),
    )


def group_annotations(header: Header, index: int) -> tuple[str, ...]:
    """Return the texts that annotate group `index` (from 0), without those for single samples."""
    found: dict[str, None] = {}
    for item in items_of(header.dataset, "WaveformAnnotationSequence")[:2000]:
        if "ReferencedSamplePositions" in item:
            continue
        channels = numbers(value_of(item, "ReferencedWaveformChannels"))
        if channels and index + 1 not in channels[::2]:
            continue
        text = _annotation_text(item)
        if text:
            found[text] = None
        if len(found) >= MAX_ANNOTATIONS:
            break
    return tuple(found)


def _annotation_text(item: Dataset) -> str:
    """Return e.g. "QT interval: 360 ms"; "" for an annotation without text or number."""
    name = text_of(first_item(item, "ConceptNameCodeSequence"), "CodeMeaning")
    text = text_of(item, "UnformattedTextValue")
    text = text or text_of(first_item(item, "ConceptCodeSequence"), "CodeMeaning")
    figures = numbers(value_of(item, "NumericValue"))
    if not text and figures:
        units = text_of(first_item(item, "MeasurementUnitsCodeSequence"), "CodeValue")
        text = f"{', '.join(f'{figure:g}' for figure in figures)} {units}".strip()
    if not text:
        return ""
    return " ".join((f"{name}: {text}" if name else text).split())[:200]


@dataclass(frozen=True, slots=True)
class _Cell:
    """Section of a channel from `start_s` to `end_s`: where it is drawn in the picture.

    `start_s` is drawn in column `x`, the value `zero` in row `y`; a second has `dx` columns, a unit
    `dy` rows.
    """

    channel: int
    start_s: float
    end_s: float
    x: float
    y: float
    zero: float
    dx: float
    dy: float


@dataclass(frozen=True, slots=True)
class _Layout:
    """Layout of a whole picture, in pixels.

    Attributes:
        footer: Row below which annotations are written.
        regions: Areas in which time and value can be measured.
        paper: Bounding box (x0, y0, x1, y1) of the ECG paper; None for a stacked plot.
        pulses: (x, y) at which each calibration pulse starts.
        speed: Paper speed in mm/s, for ECG paper.
        gain: Gain in mm/mV, for ECG paper.
    """

    rows: int
    columns: int
    footer: int
    cells: list[_Cell]
    regions: list[Region]
    paper: tuple[int, int, int, int] | None = None
    pulses: tuple[tuple[float, float], ...] = ()
    speed: float = 0.0
    gain: float = 0.0


def _trace_layout(group: Group, values: Floats | None, notes: tuple[str, ...]) -> _Layout:
    """Lay out [channels, samples] in physical units; None to stack the channels."""
    lines = math.ceil(len(notes) / 3)
    footer_px = (lines + 1) * FOOTER_LINE if lines else 0
    found = None
    if values is not None and _is_ecg(group) and group.duration_s * _SPEEDS[-1] <= _MAX_PAPER_MM:
        found = _ecg_layout(group, values, footer_px)
    return found or _stacked_layout(group, values, footer_px)


def _is_ecg(group: Group) -> bool:
    """Return whether all channels are in mV and at least one is an ECG lead."""
    names = {channel.name.lower() for channel in group.channels}
    leads = {lead.lower() for lead in _LEADS} | {"ecg", "ii", "mlii", "mcl1"}
    return all(channel.units == "mV" for channel in group.channels) and bool(names & leads)


def _ecg_layout(group: Group, values: Floats, footer_px: int) -> _Layout | None:
    """Return the layout on ECG paper, or None if the voltages are none of a heart."""
    rows = _ecg_rows(group)
    widest = max(sum(end - start for _, start, end in row) for row in rows)
    gaps = max(len(row) for row in rows) - 1 if rows[0][0][1] == rows[0][-1][1] else 0
    speed = next((s for s in _SPEEDS if widest * s <= _MAX_PAPER_MM), _SPEEDS[-1])
    zeros = [float(np.median(_finite(one))) if np.isfinite(one).any() else 0.0 for one in values]
    spans = [_row_extent(values, zeros, row) for row in rows]
    # The largest gain at which no row exceeds the paper.
    gain = next((g for g in _GAINS if all((u + d) * g <= _MAX_ROW_MM for u, d in spans)), None)
    if gain is None or len(rows) > _MAX_ECG_ROWS:
        return None
    dx, dy = speed * PX_PER_MM, gain * PX_PER_MM
    gap = 4 * PX_PER_MM
    left, top = MARGIN, MARGIN + HEADER
    x0 = left + PULSE_MM * PX_PER_MM
    cells: list[_Cell] = []
    pulses: list[tuple[float, float]] = []
    y = float(top)
    for row, (up, down) in zip(rows, spans, strict=True):
        y += max(math.ceil(up * gain) + 5, 15) * PX_PER_MM
        pulses.append((left + 1.5 * PX_PER_MM, y))
        x = float(x0)
        for channel, start, end in row:
            cells.append(_Cell(channel, start, end, x, y, zeros[channel], dx, dy))
            x += (end - start) * dx + (gap if gaps else 0)
        y += max(math.ceil(down * gain) + 1, 8) * PX_PER_MM
    # The paper ends with a whole square of 5 mm.
    square = 5 * PX_PER_MM
    width = math.ceil((x0 - left + widest * dx + gaps * gap + PX_PER_MM) / square) * square
    height = math.ceil((y - top) / square) * square
    paper = (left, top, left + width, top + height)
    region = Region(*paper, 1 / dx, -1 / dy, "s", "mV", kind="waveform")
    columns, bottom = left + width + MARGIN + 1, top + height + MARGIN + 1
    rows_px = bottom + footer_px
    return _Layout(rows_px, columns, bottom, cells, [region], paper, tuple(pulses), speed, gain)


def _ecg_rows(group: Group) -> list[list[tuple[int, float, float]]]:
    """Return rows of (channel, first second, last second)."""
    where = {channel.name.lower(): n for n, channel in enumerate(group.channels)}
    seconds = group.duration_s
    order = [where.get(lead.lower()) for lead in _LEADS]
    leads = [number for number in order if number is not None]
    twelve = len(leads) == len(_LEADS) == len(group.channels)
    if twelve and seconds <= 3:
        return [[(leads[4 * r + c], 0.0, seconds) for c in range(4)] for r in range(3)]
    if twelve and 8 <= seconds <= 12.5:
        step = seconds / 4
        rows = [[(leads[4 * r + c], c * step, (c + 1) * step) for c in range(4)] for r in range(3)]
        return [*rows, [(where["ii"], 0.0, seconds)]]
    return [[(number, 0.0, seconds)] for number in range(len(group.channels))]


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]


def _row_extent(
    values: Floats, zeros: list[float], row: list[tuple[int, float, float]]
) -> tuple[float, float]:
    """Return how far the row's traces go above and below their middle."""
    shown = _finite(np.concatenate([values[channel] - zeros[channel] for channel, _, _ in row]))
    return float(shown.max(initial=0.0)), -float(shown.min(initial=0.0))


def _stacked_layout(group: Group, values: Floats | None, footer_px: int) -> _Layout:
    count = len(group.channels)
    height = max(12, min(200, _MAX_HEIGHT // count))
    left, top = MARGIN + _NAMES, MARGIN + HEADER
    dx = _PLOT / group.duration_s
    cells: list[_Cell] = []
    regions: list[Region] = []
    for number, channel in enumerate(group.channels):
        y0 = top + number * height
        low, high = (0.0, 1.0) if values is None else _value_limits(values[number])
        # Leaves 8% above and below each trace.
        dy = 0.84 * height / (high - low)
        y = y0 + 0.92 * height
        cells.append(_Cell(number, 0.0, group.duration_s, left, y, low, dx, dy))
        box = (left, y0, left + _PLOT, y0 + height - 1)
        regions.append(Region(*box, 1 / dx, -1 / dy, "s", channel.units, "waveform"))
    footer = top + count * height + _AXIS + MARGIN
    return _Layout(footer + footer_px, left + _PLOT + MARGIN, footer, cells, regions)


def _value_limits(values: Floats) -> tuple[float, float]:
    """Return the values that a stacked channel's row spans."""
    finite = _finite(values)
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    # A range that is lost in rounding counts as constant.
    least = max(abs(low), abs(high)) * 1e-9
    return (low, high) if high - low > least else (low - 0.5 - least, low + 0.5 + least)


@lru_cache(maxsize=8)
def _font(size: int, bold: bool = False) -> Any:
    """Return the app's own font for drawing text, or Pillow's default if it is missing."""
    name = "Inter-SemiBold.otf" if bold else "Inter-Regular.otf"
    try:
        return ImageFont.truetype(str(resources_dir() / "fonts" / name), size)
    except OSError:
        return ImageFont.load_default(size)


def _draw(
    group: Group, values: Floats, layout: _Layout, notes: tuple[str, ...]
) -> NDArray[np.uint8]:
    """Draw [channels, samples] in physical units as uint8 [rows, columns, 3] RGB."""
    picture = Image.new("RGB", (layout.columns, layout.rows), SHEET)
    pen = ImageDraw.Draw(picture)
    _draw_ground(pen, group, layout)
    if layout.paper is not None:
        # Names are drawn below the traces: a name must not hide a wave.
        for cell in layout.cells:
            _write_lead(pen, group, cell, values[cell.channel])
    ink = INK if layout.paper else TRACE
    for cell in layout.cells:
        delay = group.channels[cell.channel].delay_s
        _draw_trace(picture, cell, values[cell.channel], group.rate, ink, delay)
    for x, y in layout.pulses:
        _draw_pulse(picture, x, y, layout)
    _write_titles(pen, group, layout)
    _write_notes(pen, layout, notes)
    return np.array(picture)


def _draw_ground(pen: ImageDraw.ImageDraw, group: Group, layout: _Layout) -> None:
    if layout.paper is not None:
        _draw_paper(pen, layout.paper)
        return
    for region in layout.regions:
        pen.rectangle((region.x0, region.y0, region.x1, region.y1), fill=(255, 255, 255))
    top, bottom = layout.regions[0].y0, layout.regions[-1].y1
    left, dx = layout.regions[0].x0, 1 / layout.regions[0].dx
    step = _nice_step(group.duration_s / 12)
    for number in range(math.floor(group.duration_s / step + 1e-9) + 1):
        x = round(left + number * step * dx)
        pen.line((x, top, x, bottom), fill=LINE)
        text = _axis_time(number * step, group.duration_s, step)
        pen.text((x, bottom + 10), text, fill=FAINT, font=_font(20), anchor="ma")
    for region, cell in zip(layout.regions, layout.cells, strict=True):
        pen.line((region.x0, region.y1, region.x1, region.y1), fill=LINE)
        _draw_scale(pen, group, region, cell)


def _draw_paper(pen: ImageDraw.ImageDraw, box: tuple[int, int, int, int]) -> None:
    x0, y0, x1, y1 = box
    pen.rectangle(box, fill=PAPER)
    for step, ink in ((PX_PER_MM, FINE), (5 * PX_PER_MM, BOLD)):
        for x in range(x0, x1 + 1, step):
            pen.line((x, y0, x, y1), fill=ink)
        for y in range(y0, y1 + 1, step):
            pen.line((x0, y, x1, y), fill=ink)


def _draw_scale(pen: ImageDraw.ImageDraw, group: Group, region: Region, cell: _Cell) -> None:
    """Draw two or three round values at the left of a stacked channel."""
    height = region.y1 - region.y0
    if height < 60:
        return
    span = height / cell.dy
    step = _nice_step(span / 4)
    low = cell.zero + (cell.y - region.y1) / cell.dy
    number = math.ceil(low / step)
    while number * step < low + span:
        y = round(cell.y - (number * step - cell.zero) * cell.dy)
        if region.y0 + 12 <= y <= region.y1 - 8:
            pen.line((region.x0, y, region.x1, y), fill=LINE)
            text = f"{number * step:.6g}"
            pen.text((region.x0 - 10, y), text, fill=FAINT, font=_font(18), anchor="rm")
        number += 1


def _nice_step(least: float) -> float:
    """Return the smallest number >= `least` that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * part for part in (1, 2, 5, 10) if power * part >= least * (1 - 1e-9))


def _axis_time(seconds: float, total: float, step: float) -> str:
    """Return a label on an axis of `total` s at `step`; h:mm:ss from two minutes on."""
    if total < 120:
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        return f"{seconds:.{digits}f} s"
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}"


def _draw_trace(
    picture: Image.Image, cell: _Cell, values: Floats, rate: float, ink: RGB, delay: float
) -> None:
    """Draw one channel's cell; sample n is at the time n / rate after the group's start."""
    first = max(0, math.floor((cell.start_s - delay) * rate))
    last = min(values.size, math.ceil((cell.end_s - delay) * rate) + 1)
    if last - first < 1:
        return
    times = np.arange(first, last) / rate + delay - cell.start_s
    x = cell.x + times * cell.dx
    y = cell.y - (values[first:last] - cell.zero) * cell.dy
    inside = x <= cell.x + (cell.end_s - cell.start_s) * cell.dx + 0.5
    _draw_line(picture, x[inside], y[inside], ink)


def _draw_pulse(picture: Image.Image, x: float, y: float, layout: _Layout) -> None:
    """Draw the calibration pulse: 1 mV for 0.2 s."""
    top, end = y - layout.gain * PX_PER_MM, x + PULSE_S * layout.speed * PX_PER_MM
    corners = ((x - 8, y), (x, y), (x, top), (end, top), (end, y), (end + 6, y))
    along, down = np.array(corners, np.float64).T
    _draw_line(picture, along, down, INK)


def _draw_line(picture: Image.Image, x: Floats, y: Floats, ink: RGB) -> None:
    """Draw an anti-aliased line through points with ascending x; NaN leaves a gap."""
    y = np.clip(y, -picture.height, 2 * picture.height)
    for run in np.ma.clump_unmasked(np.ma.masked_invalid(y)):
        xs, ys = x[run], y[run]
        # Of dense samples only the extremes of each subpixel count, so that no peak is lost.
        starts = np.flatnonzero(np.diff(np.floor(xs * _SCALE), prepend=-np.inf))
        if 4 * starts.size < xs.size:
            ends = np.minimum.reduceat(ys, starts), np.maximum.reduceat(ys, starts)
            xs, ys = np.repeat(xs[starts], 2), np.stack(ends, axis=1).ravel()
        left, top = math.floor(xs.min()) - 3, math.floor(ys.min()) - 3
        size = math.ceil(xs.max()) + 4 - left, math.ceil(ys.max()) + 4 - top
        mask = Image.new("L", (size[0] * _SCALE, size[1] * _SCALE))
        points = np.stack([xs + 0.5 - left, ys + 0.5 - top], axis=1) * _SCALE
        points = np.concatenate([points, points[-1:] + 0.1])  # a single sample is a dot
        pen = ImageDraw.Draw(mask)
        pen.line(points.ravel().tolist(), fill=255, width=_PEN, joint="curve")
        picture.paste(ink, (left, top), mask.reduce(_SCALE))


def _write_titles(pen: ImageDraw.ImageDraw, group: Group, layout: _Layout) -> None:
    """Write title, scale and channel names."""
    facts = [f"{len(group.channels)} channels" if len(group.channels) > 1 else ""]
    if layout.paper is not None:
        facts += [f"{layout.speed:g} mm/s", f"{layout.gain:g} mm/mV"]
    time = _axis_time(group.duration_s, group.duration_s, 0.1)
    facts += [f"{group.rate:g} Hz", time, _filters(group)]
    middle = MARGIN + HEADER // 2 - 4
    title = group.label or ("ECG" if layout.paper else "Waveform")
    pen.text((MARGIN, middle), title, fill=INK, font=_font(34, True), anchor="lm")
    text = "     ".join(fact for fact in facts if fact)
    pen.text((layout.columns - MARGIN, middle), text, fill=FAINT, font=_font(26), anchor="rm")
    if layout.paper is not None:
        return
    for cell in layout.cells:
        channel = group.channels[cell.channel]
        region = layout.regions[cell.channel]
        y = (region.y0 + region.y1) / 2
        size = max(12, min(26, round((region.y1 - region.y0) * 0.5)))
        name = channel.name if len(channel.name) <= 20 else f"{channel.name[:19]}…"
        text = f"{name}\n{channel.units}" if region.y1 - region.y0 > 60 else name
        pen.text((MARGIN, y), text, fill=INK, font=_font(size, True), anchor="lm")


def _write_lead(pen: ImageDraw.ImageDraw, group: Group, cell: _Cell, values: Floats) -> None:
    """Write a lead's name above the start of its trace, and a mark where it begins inside a row."""
    name = group.channels[cell.channel].name
    letters = _font(30, True)
    x, y = cell.x + 4, cell.y - 4.5 * PX_PER_MM
    first = max(0, int(cell.start_s * group.rate))
    last = first + int((letters.getlength(name) + 12) / cell.dx * group.rate) + 1
    near = _finite(values[first:last])
    if near.size:
        highest = cell.y - (float(near.max()) - cell.zero) * cell.dy
        y = max(min(y, highest - 8), MARGIN + HEADER + 30)
    pen.text((x, y), name, fill=INK, font=letters, anchor="ls")
    half = _SEPARATOR_MM * PX_PER_MM / 2
    if cell.start_s > 0:
        pen.line((cell.x, cell.y - half, cell.x, cell.y + half), fill=INK, width=2)


def _filters(group: Group) -> str:
    """Return the filters that all channels share."""
    pairs = {(channel.low_hz, channel.high_hz) for channel in group.channels}
    low, high = pairs.pop() if len(pairs) == 1 else (None, None)
    if low is None and high is None:
        return ""
    return f"filter {'' if low is None else f'{low:g}'}–{'' if high is None else f'{high:g}'} Hz"


def _write_notes(pen: ImageDraw.ImageDraw, layout: _Layout, notes: tuple[str, ...]) -> None:
    """Write annotations in three columns below the traces."""
    width = (layout.columns - 2 * MARGIN) // 3
    height = math.ceil(len(notes) / 3)
    for number, text in enumerate(notes):
        column, row = divmod(number, height)
        place = (MARGIN + column * width, layout.footer + row * FOOTER_LINE)
        pen.text(place, _shorten(text, width - 20), fill=INK, font=_font(22))


def _shorten(text: str, width: int) -> str:
    letters = _font(22)
    if letters.getlength(text) <= width:
        return text
    while text and letters.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"
