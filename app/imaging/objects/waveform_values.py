"""The samples of a waveform object in physical units. Runs in a worker process (PS3.3 C.10.9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.dicom_items import first_item, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers

Floats = NDArray[np.float64]

MAX_CHANNELS = 512
MAX_SAMPLES = 2**24
_FORMATS = {
    "SB": "i1", "UB": "u1", "MB": "u1", "AB": "u1", "SS": "i2", "US": "u2", "SL": "i4", "UL": "u4",
    "SV": "i8", "UV": "u8",
}  # fmt: skip
_UNITS = {
    "uV": (1e-3, "mV"), "nV": (1e-6, "mV"), "mV": (1.0, "mV"), "V": (1e3, "mV"),
    "mm[Hg]": (1.0, "mmHg"), "kPa": (1.0, "kPa"), "1": (1.0, ""), "{}": (1.0, ""),
}  # fmt: skip
"""UCUM code -> factor and the units that we show."""

_MILLIVOLTS = ("1.2.840.10008.5.1.4.1.1.9.1.", "1.2.840.10008.5.1.4.1.1.9.3.")
"""SOP Classes of ECGs and electrophysiology; a brain's waves are told in microvolts."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of a multiplex group.

    Attributes:
        name: E.g. "aVR", "Aortic pressure".
        units: Of its values: "mV", "mmHg", ...; "" when the file does not say.
        factor: Physical value of a step of one, in `units`.
        offset: Physical value of a sample of 0.
        delay_s: Its first sample after the group's start.
        low_hz: Its high-pass filter, Hz; None when unknown.
        high_hz: Its low-pass filter, Hz; None when unknown.
    """

    name: str
    units: str
    factor: float
    offset: float
    delay_s: float = 0.0
    low_hz: float | None = None
    high_hz: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A multiplex group without its samples.

    Attributes:
        label: Multiplex Group Label, or "".
        rate: Samples per second of every channel.
        samples: Samples of every channel.
        channels: In the file's order.
        item: Its item of the Waveform Sequence.
    """

    label: str
    rate: float
    samples: int
    channels: tuple[Channel, ...]
    item: Dataset

    @property
    def duration_s(self) -> float:
        """Seconds from the first sample to the end of the last."""
        return self.samples / self.rate


def groups_of(header: Header) -> list[Dataset]:
    """The items of the Waveform Sequence.

    Raises:
        FileProblem: There is none.
    """
    found = items_of(header.dataset, "WaveformSequence")
    if not found:
        raise guards.problem(header.path, "it holds no waveform", guards.COPY_AGAIN)
    return found


def group_of(header: Header, index: int) -> Group:
    """A multiplex group.

    Raises:
        FileProblem: It is not there, or its header is damaged.
    """
    items = groups_of(header)
    if not 0 <= index < len(items):
        raise guards.problem(header.path, f"it holds {len(items)} waveforms, not {index + 1}")
    item = items[index]
    count, samples = (
        _whole(item, keyword) for keyword in ("NumberOfWaveformChannels", "NumberOfWaveformSamples")
    )
    rate = _number(item, "SamplingFrequency") or 0.0
    if not 0 < count <= MAX_CHANNELS or samples <= 0 or not 0 < rate <= 1e9:
        reason = "its header is damaged: channels, samples or sampling frequency are impossible"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN)
    if count * samples > MAX_SAMPLES:
        raise guards.problem(header.path, "the waveform is too long to be shown safely")
    listed = items_of(item, "ChannelDefinitionSequence")
    companded = value_text(value_of(item, "WaveformSampleInterpretation")) in ("MB", "AB")
    units = dict(_UNITS)
    if not header.text("SOPClassUID").startswith(_MILLIVOLTS):
        units["uV"] = (1.0, "µV")
    channels = tuple(
        _channel(listed[n] if n < len(listed) else Dataset(), n, rate, {} if companded else units)
        for n in range(count)
    )
    label = value_text(value_of(item, "MultiplexGroupLabel"))[:64]
    return Group(label, rate, samples, channels, item)


def _whole(item: Dataset, keyword: str) -> int:
    number = _number(item, keyword)
    return int(number) if number is not None and abs(number) < 2**40 else 0


def _number(item: Dataset, keyword: str) -> float | None:
    values = numbers(value_of(item, keyword))
    return values[0] if values and math.isfinite(values[0]) else None


def _code(item: Dataset, keyword: str, part: str) -> str:
    """A part of the first item of a code sequence."""
    return text_of(first_item(item, keyword), part)


def _channel(
    item: Dataset, number: int, rate: float, known: dict[str, tuple[float, str]]
) -> Channel:
    name = value_text(value_of(item, "ChannelLabel"))
    name = name or _code(item, "ChannelSourceSequence", "CodeMeaning") or f"Channel {number + 1}"
    skew = _number(item, "ChannelTimeSkew")
    if skew is None:
        skew = (_number(item, "ChannelSampleSkew") or 0.0) / rate
    factor, offset, units = 1.0, 0.0, ""
    sensitivity = _number(item, "ChannelSensitivity")
    # No standard says how sensitivity applies to samples that are no linear numbers.
    if sensitivity and known:
        correction = _number(item, "ChannelSensitivityCorrectionFactor") or 1.0
        code = _code(item, "ChannelSensitivityUnitsSequence", "CodeValue")
        scale, units = known.get(code, (1.0, code[:16]))
        factor = sensitivity * correction * scale
        offset = (_number(item, "ChannelBaseline") or 0.0) * scale
    return Channel(
        short_name(name),
        units,
        factor,
        offset,
        skew if abs(skew) < 60 else 0.0,
        _number(item, "FilterLowFrequency"),
        _number(item, "FilterHighFrequency"),
    )


def short_name(name: str) -> str:
    """A lead's usual name: "Lead I (Einthoven)" is I; others as they are."""
    words = name.split("(")[0].split()
    if len(words) == 2 and words[0].lower() == "lead":
        return words[1][:8]
    return " ".join(name.split())[:40]


def values_of(header: Header, group: Group) -> Floats:
    """Physical values of a group.

    Returns:
        [channels, samples] in each channel's units; NaN where the file says that there is none.

    Raises:
        FileProblem: The samples are of an unknown form, or cut short.
    """
    form = value_text(value_of(group.item, "WaveformSampleInterpretation")).upper()
    code = _FORMATS.get(form)
    bits = _whole(group.item, "WaveformBitsAllocated")
    if code is None or bits != 8 * int(code[1]):
        reason = f"its samples are of an unknown form ({form[:8] or 'none'}, {bits} bits)"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN)
    dtype = np.dtype(f"{'<' if header.little_endian else '>'}{code}")
    data = value_of(group.item, "WaveformData")
    count = len(group.channels) * group.samples
    if not isinstance(data, bytes) or len(data) < count * dtype.itemsize:
        there = len(data) if isinstance(data, bytes) else 0
        reason = f"the file is cut short: {there:,} of {count * dtype.itemsize:,} bytes of samples"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN)
    raw = np.frombuffer(data, dtype, count).reshape(group.samples, len(group.channels)).T
    values = _linear(raw, form)
    missing = _padding(group, dtype)
    if missing is not None:
        values[raw == missing] = np.nan
    for number, channel in enumerate(group.channels):
        values[number] = values[number] * channel.factor + channel.offset
    return values


def _padding(group: Group, dtype: np.dtype[Any]) -> Any:
    """Waveform Padding Value: the stored sample that means none."""
    value = value_of(group.item, "WaveformPaddingValue")
    if isinstance(value, bytes) and len(value) >= dtype.itemsize:
        return np.frombuffer(value, dtype, 1)[0]
    return value if isinstance(value, int) else None


def _linear(raw: NDArray[Any], form: str) -> Floats:
    """Samples as linear numbers; mu-law and A-law by ITU-T G.711, tables 2a and 1a."""
    if form == "MB":
        codes = ~np.arange(256) & 0xFF
        steps = (((codes & 0x0F) << 1) + 33 << ((codes & 0x70) >> 4)) - 33
        return np.where(codes & 0x80, -steps, steps).astype(np.float64)[raw]
    if form == "AB":
        codes = np.arange(256) ^ 0x55
        segment = (codes & 0x70) >> 4
        mantissa = ((codes & 0x0F) << 1) + 1
        steps = np.where(segment == 0, mantissa, (mantissa + 32) << np.maximum(segment - 1, 0))
        return np.where(codes & 0x80, steps, -steps).astype(np.float64)[raw]
    return raw.astype(np.float64)
