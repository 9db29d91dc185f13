"""Layout of the traces of a waveform on its picture. Runs in a worker process.

An ECG stands on ECG paper, at 25 mm/s and 10 mm/mV if it fits: twelve leads of about ten seconds
as 3 x 4 with a rhythm strip, others below each other. Other waveforms are stacked, each channel
with a scale of its own. A millimetre of paper is `PX_PER_MM` pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.objects.waveform_values import Group
from app.imaging.types import Region

Floats = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a section of one channel is drawn in the picture.

    Attributes:
        channel: Index of the channel.
        start_s: Start of the section in seconds.
        end_s: End of the section in seconds.
        x: Column at which `start_s` is drawn.
        y: Row at which the value `zero` is drawn.
        zero: The channel's value at row `y`.
        dx: Columns per second.
        dy: Rows per unit.
        name: Whether the channel's name is written at the start.
    """

    channel: int
    start_s: float
    end_s: float
    x: float
    y: float
    zero: float
    dx: float
    dy: float
    name: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a whole picture.

    Attributes:
        rows: Height of the picture in pixels.
        columns: Width of the picture in pixels.
        cells: Sections of the traces and where they are drawn.
        regions: Areas in which time and value can be measured.
        paper: Bounding box (x0, y0, x1, y1) of the ECG paper; None for a stacked plot.
        pulses: (x, y) at which each calibration pulse starts.
        speed: Paper speed in mm/s, for ECG paper.
        gain: Gain in mm/mV, for ECG paper.
        footer: Row below which annotations may be written.
    """

    rows: int
    columns: int
    cells: tuple[Cell, ...]
    regions: tuple[Region, ...]
    paper: tuple[int, int, int, int] | None = None
    pulses: tuple[tuple[float, float], ...] = ()
    speed: float = 0.0
    gain: float = 0.0
    footer: int = 0


def trace_layout(group: Group, values: Floats | None, footer_px: int) -> Layout:
    """Lay out the traces of a multiplex group.

    Args:
        group: Header of the group.
        values: [channels, samples] in physical units; None to stack the channels.
        footer_px: Height in pixels needed for annotations.
    """
    seconds = group.duration_s
    if values is not None and is_ecg(group) and seconds * _SPEEDS[-1] <= _MAX_PAPER_MM:
        found = _ecg_layout(group, values, footer_px)
        if found is not None:
            return found
    return _stacked_layout(group, values, footer_px)


def is_ecg(group: Group) -> bool:
    """Return whether all channels are in mV and at least one is an ECG lead."""
    names = {channel.name.lower() for channel in group.channels}
    leads = {lead.lower() for lead in _LEADS} | {"ecg", "ii", "mlii", "mcl1"}
    return all(channel.units == "mV" for channel in group.channels) and bool(names & leads)


def _ecg_layout(group: Group, values: Floats, footer_px: int) -> Layout | None:
    """Return the layout on ECG paper, or None if the voltages are none of a heart."""
    rows = _ecg_rows(group)
    widest = max(sum(end - start for _, start, end in row) for row in rows)
    gaps = max(len(row) for row in rows) - 1 if rows[0][0][1] == rows[0][-1][1] else 0
    speed = next((s for s in _SPEEDS if widest * s <= _MAX_PAPER_MM), _SPEEDS[-1])
    zeros = np.array([_middle(one) for one in values])
    spans = [_row_extent(values, zeros, row) for row in rows]
    # The largest gain at which no row exceeds the paper.
    gain = next((g for g in _GAINS if all((u + d) * g <= _MAX_ROW_MM for u, d in spans)), None)
    if gain is None or len(rows) > _MAX_ECG_ROWS:
        return None
    dx, dy = speed * PX_PER_MM, gain * PX_PER_MM
    gap = 4 * PX_PER_MM
    left, top = MARGIN, MARGIN + HEADER
    x0 = left + PULSE_MM * PX_PER_MM
    cells: list[Cell] = []
    pulses: list[tuple[float, float]] = []
    y = float(top)
    for row, (up, down) in zip(rows, spans, strict=True):
        y += max(math.ceil(up * gain) + 5, 15) * PX_PER_MM
        pulses.append((left + 1.5 * PX_PER_MM, y))
        x = float(x0)
        for channel, start, end in row:
            cells.append(Cell(channel, start, end, x, y, float(zeros[channel]), dx, dy))
            x += (end - start) * dx + (gap if gaps else 0)
        y += max(math.ceil(down * gain) + 1, 8) * PX_PER_MM
    # The paper ends with a whole square of 5 mm.
    square = 5 * PX_PER_MM
    width = math.ceil((x0 - left + widest * dx + gaps * gap + PX_PER_MM) / square) * square
    height = math.ceil((y - top) / square) * square
    region = Region(
        left, top, left + width, top + height, 1 / dx, -1 / dy, "s", "mV", kind="waveform"
    )
    columns, bottom = left + width + MARGIN + 1, top + height + MARGIN + 1
    box = (left, top, left + width, top + height)
    return Layout(
        bottom + footer_px,
        columns,
        tuple(cells),
        (region,),
        box,
        tuple(pulses),
        speed,
        gain,
        bottom,
    )


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


def _middle(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else 0.0


def _row_extent(
    values: Floats, zeros: Floats, row: list[tuple[int, float, float]]
) -> tuple[float, float]:
    """Return how far the row's traces go above and below their middle."""
    up = down = 0.0
    for channel, _, _ in row:
        finite = values[channel][np.isfinite(values[channel])] - zeros[channel]
        if finite.size:
            up, down = max(up, float(finite.max())), max(down, -float(finite.min()))
    return up, down


def _stacked_layout(group: Group, values: Floats | None, footer_px: int) -> Layout:
    count = len(group.channels)
    height = max(12, min(200, _MAX_HEIGHT // count))
    left, top = MARGIN + _NAMES, MARGIN + HEADER
    dx = _PLOT / group.duration_s
    cells: list[Cell] = []
    regions: list[Region] = []
    for number, channel in enumerate(group.channels):
        y0 = top + number * height
        low, high = (0.0, 1.0) if values is None else _value_limits(values[number])
        # Leaves 8% above and below each trace.
        dy = 0.84 * height / (high - low)
        y = y0 + 0.92 * height
        cells.append(Cell(number, 0.0, group.duration_s, left, y, low, dx, dy))
        bottom = y0 + height - 1
        regions.append(
            Region(left, y0, left + _PLOT, bottom, 1 / dx, -1 / dy, "s", channel.units, "waveform")
        )
    bottom = top + count * height + _AXIS
    rows, columns = bottom + MARGIN + footer_px, left + _PLOT + MARGIN
    return Layout(rows, columns, tuple(cells), tuple(regions), footer=bottom + MARGIN)


def _value_limits(values: Floats) -> tuple[float, float]:
    """Return the values that a stacked channel's row spans."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    # A range that is lost in rounding counts as constant.
    least = max(abs(low), abs(high)) * 1e-9
    return (low, high) if high - low > least else (low - 0.5 - least, low + 0.5 + least)
