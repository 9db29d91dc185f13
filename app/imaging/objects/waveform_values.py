"""Samples of a waveform object in physical units (PS3.3 C.10.9). Runs in a worker process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.dicom_items import first_item, items_of, number_of, text_of, whole_number

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
"""UCUM code -> factor, and the units shown."""

_MILLIVOLTS = ("1.2.840.10008.5.1.4.1.1.9.1.", "1.2.840.10008.5.1.4.1.1.9.3.")
"""SOP Classes of ECG and electrophysiology; an EEG is usually given in microvolts."""


@dataclass(frozen=True, slots=True)
class Channel:
    """Name, scaling and filters of one channel of a multiplex group.

    Attributes:
        name: Label, e.g. "aVR" or "Aortic pressure".
        units: Units of the physical values: "mV", "mmHg", ...; "" if the file does not say.
        factor: Change of the physical value per step of the stored sample.
        offset: Physical value of a stored sample of 0.
        delay_s: Seconds from the start of the group to the channel's first sample.
        low_hz: Cut-off frequency of the high-pass filter in Hz; None if unknown.
        high_hz: Cut-off frequency of the low-pass filter in Hz; None if unknown.
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
    """Description of a multiplex group (channels recorded together), without samples.

    `rate` is the number of samples per second and `samples` the number of samples in each channel;
    `item` is the group's item in the Waveform Sequence.
    """

    label: str
    rate: float
    samples: int
    channels: tuple[Channel, ...]
    item: Dataset

    @property
    def duration_s(self) -> float:
        """Duration in seconds, from the first sample to the end of the last one."""
        return self.samples / self.rate


def waveform_groups(header: Header) -> list[Dataset]:
    """Return the items in the Waveform Sequence; raise FileProblem if there are none."""
    found = items_of(header.dataset, "WaveformSequence")
    if not found:
        raise guards.problem(header.path, "it contains no waveform", guards.COPY_AGAIN)
    return found


def waveform_group(header: Header, index: int) -> Group:
    """Return multiplex group `index` (from 0); raise FileProblem if it is missing or damaged."""
    items = waveform_groups(header)
    if not 0 <= index < len(items):
        raise guards.problem(header.path, f"it contains {len(items)} waveforms, not {index + 1}")
    item = items[index]
    count = whole_number(item, "NumberOfWaveformChannels") or 0
    samples = whole_number(item, "NumberOfWaveformSamples") or 0
    rate = number_of(item, "SamplingFrequency") or 0.0
    if not 0 < count <= MAX_CHANNELS or samples <= 0 or not 0 < rate <= 1e9:
        reason = "its header is damaged: channels, samples or sampling frequency are impossible"
        raise guards.problem(header.path, reason, guards.COPY_AGAIN)
    # Samples become float64: 16 million of them take 128 MB.
    if count * samples > MAX_SAMPLES:
        raise guards.problem(header.path, "the waveform is too long to be shown safely")
    listed = items_of(item, "ChannelDefinitionSequence")
    # Sensitivity is defined for linear samples only.
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


def _channel(
    item: Dataset, number: int, rate: float, known: dict[str, tuple[float, str]]
) -> Channel:
    source = first_item(item, "ChannelSourceSequence")
    name = value_text(value_of(item, "ChannelLabel")) or text_of(source, "CodeMeaning")
    # The skew may be given in seconds or in samples.
    skew = number_of(item, "ChannelTimeSkew")
    if skew is None:
        skew = (number_of(item, "ChannelSampleSkew") or 0.0) / rate
    factor, offset, units = 1.0, 0.0, ""
    sensitivity = number_of(item, "ChannelSensitivity")
    # DICOM does not say how sensitivity applies to companded samples.
    if sensitivity and known:
        correction = number_of(item, "ChannelSensitivityCorrectionFactor") or 1.0
        code = text_of(first_item(item, "ChannelSensitivityUnitsSequence"), "CodeValue")
        scale, units = known.get(code, (1.0, code[:16]))
        factor = sensitivity * correction * scale
        offset = (number_of(item, "ChannelBaseline") or 0.0) * scale
    return Channel(
        short_name(name or f"Channel {number + 1}"),
        units,
        factor,
        offset,
        skew if abs(skew) < 60 else 0.0,
        number_of(item, "FilterLowFrequency"),
        number_of(item, "FilterHighFrequency"),
    )


def short_name(name: str) -> str:
    """Return a short channel name: "I" for "Lead I (Einthoven)"; others cut to 40 characters."""
    words = name.split("(")[0].split()
    if len(words) == 2 and words[0].lower() == "lead":
        return words[1][:8]
    return " ".join(name.split())[:40]


def physical_values(header: Header, group: Group) -> Floats:
    """Return a group's samples as [channels, samples] in each channel's units; NaN for padding.

    Raises:
        FileProblem: The sample format is unknown, or samples are missing.
    """
    form = value_text(value_of(group.item, "WaveformSampleInterpretation")).upper()
    code = _FORMATS.get(form)
    bits = whole_number(group.item, "WaveformBitsAllocated") or 0
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
    values = _linear_samples(raw, form)
    missing = _padding_value(group, dtype)
    if missing is not None:
        values[raw == missing] = np.nan
    factors, offsets = np.array([(one.factor, one.offset) for one in group.channels]).T[..., None]
    return values * factors + offsets


def _padding_value(group: Group, dtype: np.dtype[Any]) -> Any:
    """Return the Waveform Padding Value, the stored sample that means none."""
    value = value_of(group.item, "WaveformPaddingValue")
    if isinstance(value, bytes) and len(value) >= dtype.itemsize:
        return np.frombuffer(value, dtype, 1)[0]
    return value if isinstance(value, int) else None


def _linear_samples(raw: NDArray[Any], form: str) -> Floats:
    """Return samples as linear numbers; mu-law and A-law by ITU-T G.711, tables 2a and 1a."""
    if form == "MB":
        # mu-law stores all bits inverted.
        codes = ~np.arange(256) & 0xFF
        steps = (((codes & 0x0F) << 1) + 33 << ((codes & 0x70) >> 4)) - 33
        return np.where(codes & 0x80, -steps, steps).astype(np.float64)[raw]
    if form == "AB":
        # A-law stores every other bit inverted.
        codes = np.arange(256) ^ 0x55
        segment = (codes & 0x70) >> 4
        mantissa = ((codes & 0x0F) << 1) + 1
        steps = np.where(segment == 0, mantissa, (mantissa + 32) << np.maximum(segment - 1, 0))
        return np.where(codes & 0x80, steps, -steps).astype(np.float64)[raw]
    return raw.astype(np.float64)
