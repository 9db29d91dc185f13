"""Waveforms: pydicom agrees on the values, and the picture can be measured in s and mV."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from pydicom.data import get_testdata_file
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRBigEndian, ExplicitVRLittleEndian, generate_uid

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import read_header
from app.imaging.objects.waveform_values import physical_values, short_name, waveform_group
from app.imaging.objects.waveforms import MARGIN, PX_PER_MM, group_annotations
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.space.geometry import length
from app.imaging.types import Content, Frame, Region
from tests.unit.imaging.mutations import assert_only_problems, assert_refused

Floats = NDArray[Any]

ECG_CLASS = UID("1.2.840.10008.5.1.4.1.1.9.1.2")
PRESSURE_CLASS = UID("1.2.840.10008.5.1.4.1.1.9.2.1")


def code(value: str, meaning: str = "") -> list[Dataset]:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "UCUM", meaning or value
    return [item]


def channel(name: str, units: str = "mV", sensitivity: Any = "0.001", **more: Any) -> Dataset:
    item = Dataset()
    item.ChannelLabel = name
    if sensitivity is not None:
        item.ChannelSensitivity = sensitivity
        item.ChannelSensitivityUnitsSequence = code(units)
    for keyword, value in more.items():
        setattr(item, keyword, value)
    return item


def group(
    samples: Floats, channels: list[Dataset], rate: float = 500.0, form: str = "SS"
) -> Dataset:
    """A multiplex group of [channels, samples] stored values."""
    item = Dataset()
    item.NumberOfWaveformChannels, item.NumberOfWaveformSamples = samples.shape
    item.SamplingFrequency = str(rate)
    item.WaveformOriginality = "ORIGINAL"
    item.ChannelDefinitionSequence = channels
    item.WaveformBitsAllocated = 8 * samples.dtype.itemsize
    item.WaveformSampleInterpretation = form
    data = np.ascontiguousarray(samples.T).tobytes()
    item.add_new("WaveformData", "OB" if samples.dtype.itemsize == 1 else "OW", data)
    return item


def waveform(path: Path, *groups: Dataset, big: bool = False, sop_class: UID = ECG_CLASS) -> Path:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = sop_class
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRBigEndian if big else ExplicitVRLittleEndian
    ds = FileDataset(
        str(path), {}, file_meta=meta, preamble=b"\0" * 128, is_little_endian=not big,
        is_implicit_VR=False,
    )  # fmt: skip
    ds.SOPClassUID, ds.SOPInstanceUID = sop_class, meta.MediaStorageSOPInstanceUID
    ds.Modality = "ECG"
    ds.WaveformSequence = list(groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds.save_as(path, enforce_file_format=True)
    return path


def read_values(path: Path, index: int = 0) -> Floats:
    header = read_header(path)
    return physical_values(header, waveform_group(header, index))


@pytest.fixture(scope="module")
def ecg() -> Path:
    found = get_testdata_file("waveform_ecg.dcm")
    assert isinstance(found, str)
    return Path(found)


@pytest.mark.parametrize("index", [0, 1])
def test_pydicom_agrees_on_every_value(ecg: Path, index: int):
    expected = pydicom.dcmread(ecg).waveform_array(index).T / 1000  # its units are microvolts
    np.testing.assert_allclose(read_values(ecg, index), expected, atol=1e-9)


FORMATS = [("SB", "i1"), ("UB", "u1"), ("SS", "<i2"), ("US", "<u2")]


@pytest.mark.parametrize(("form", "dtype"), FORMATS)
def test_pydicom_agrees_on_every_form_of_sample(tmp_path: Path, form: str, dtype: str):
    limits = np.iinfo(dtype)
    raw = np.linspace(limits.min, limits.max, 40).astype(dtype).reshape(2, 20)
    channels = [
        channel("II", "uV", "2.5", ChannelSensitivityCorrectionFactor="1.5", ChannelBaseline="7"),
        channel("V1", "uV", "1"),
    ]
    path = waveform(tmp_path / "a.dcm", group(raw, channels, form=form))
    expected = pydicom.dcmread(path).waveform_array(0).T / 1000
    np.testing.assert_allclose(read_values(path), expected, atol=1e-12)


def test_big_endian_samples(tmp_path: Path):
    raw = np.array([[1, -2, 300]], ">i2")
    path = waveform(tmp_path / "a.dcm", group(raw, [channel("II", "mV", "1")]), big=True)
    assert read_values(path).tolist() == [[1, -2, 300]]


@pytest.mark.parametrize("form", ["MB", "AB"])
def test_companded_samples_as_g711_says(tmp_path: Path, form: str):
    """Python's own audioop is the witness, where it still exists (until 3.12)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audioop: Any = pytest.importorskip("audioop")
    raw = np.arange(256, dtype=np.uint8).reshape(1, 256)
    path = waveform(tmp_path / "a.dcm", group(raw, [channel("sound")], form=form))
    convert, scale = (audioop.ulaw2lin, 4) if form == "MB" else (audioop.alaw2lin, 8)
    expected = np.frombuffer(convert(raw.tobytes(), 2), np.int16) / scale
    np.testing.assert_array_equal(read_values(path)[0], expected)
    # What a step of it is worth is not said, so it has no units.
    assert read_frame(path, 0).regions[0].y_units == ""


def test_padding_is_no_value(tmp_path: Path):
    item = group(np.array([[5, -32768, 6]], np.int16), [channel("II", "mV", "1")])
    item.add_new("WaveformPaddingValue", "OW", np.int16(-32768).tobytes())
    values = read_values(waveform(tmp_path / "a.dcm", item))[0]
    assert np.isnan(values[1])
    assert values[[0, 2]].tolist() == [5, 6]


def dark(frame: Frame, region: Region) -> Floats:
    """Where ink lies in a region: [rows, columns] bool."""
    part = frame.stored[region.y0 : region.y1 + 1, region.x0 : region.x1 + 1]
    return part.max(axis=2) < 140


def test_the_calibration_pulse_measures_one_millivolt_and_a_fifth_of_a_second(ecg: Path):
    frame = read_frame(ecg, 0)
    region = frame.regions[0]
    assert (region.x_units, region.y_units) == ("s", "mV")
    ink = dark(frame, region)[: 25 * PX_PER_MM, : 7 * PX_PER_MM]
    uprights = np.flatnonzero(ink.sum(axis=0) > 40)
    left, right = uprights[uprights < 35].mean(), uprights[uprights > 35].mean()
    assert (right - left) * region.dx == pytest.approx(0.2, abs=region.dx)
    between = ink[:, int(left) + 8 : int(right) - 8].all(axis=1)
    top = np.flatnonzero(between).mean()
    feet = np.flatnonzero(ink[:, :10].any(axis=1)).mean()
    assert (feet - top) * -region.dy == pytest.approx(1.0, abs=1.5 * -region.dy)


def test_the_paper_has_its_squares(ecg: Path):
    """1 mm of paper is 0.04 s and 0.1 mV (25 mm/s, 10 mm/mV)."""
    frame = read_frame(ecg, 0)
    region = frame.regions[0]
    assert region.dx * PX_PER_MM == pytest.approx(0.04)
    assert region.dy * PX_PER_MM == pytest.approx(-0.1)
    bottom = frame.stored[region.y1 - 3, region.x0 : region.x1 + 1].astype(int)
    bold = np.flatnonzero(bottom[:, 1] < 200)
    assert set(np.diff(bold)) == {5 * PX_PER_MM}


@pytest.mark.parametrize(("amplitude", "hertz", "rate"), [(1.0, 1.0, 500.0), (0.4, 2.5, 1000.0)])
def test_a_drawn_wave_measures_as_it_was(
    tmp_path: Path, amplitude: float, hertz: float, rate: float
):
    """A triangle wave: its highest and lowest ink, and the way between its peaks."""
    times = np.arange(int(6 * rate)) / rate
    phase = times * hertz % 1
    wave = amplitude * (4 * np.abs(phase - 0.5) - 1)
    raw = np.round(wave * 1000).astype(np.int16)[None]
    path = waveform(tmp_path / "a.dcm", group(raw, [channel("II")], rate))
    frame = read_frame(path, 0)
    region = frame.regions[0]
    # Right of the pulse and of the lead's name.
    ink = dark(frame, region)[:, 30 * PX_PER_MM :]
    middle = np.array([rows.mean() if rows.size else np.nan
                       for rows in map(np.flatnonzero, ink.T)])  # fmt: skip
    height = (np.nanmax(middle) - np.nanmin(middle)) * -region.dy
    assert height == pytest.approx(2 * amplitude, abs=4 * -region.dy)
    crossing = np.nanmean(middle)
    falls = np.flatnonzero((middle[:-1] < crossing) & (middle[1:] >= crossing))
    assert np.diff(falls).mean() * region.dx == pytest.approx(1 / hertz, rel=0.01)


def test_no_peak_is_lost_however_dense_the_samples_are(tmp_path: Path):
    raw = np.zeros((1, 200_000), np.int16)
    raw[0, 137_001] = 1000
    path = waveform(tmp_path / "a.dcm", group(raw, [channel("II")], 20_000.0))
    frame = read_frame(path, 0)
    region = frame.regions[0]
    ink = dark(frame, region)[:, 20 * PX_PER_MM :]
    height = np.flatnonzero(ink.any(axis=1))
    assert (height.max() - height.min()) * -region.dy == pytest.approx(1.0, abs=4 * -region.dy)


def test_twelve_leads_of_ten_seconds_are_three_rows_of_four_and_a_rhythm_strip(ecg: Path):
    instance = read_instance(ecg)
    assert instance.content is Content.WAVEFORM
    assert instance.frames == 2
    frame = read_frame(ecg, 0)
    assert frame.stored.shape == (instance.rows, instance.columns, 3)
    assert frame.note == "RHYTHM"
    assert frame.photometric == "RGB"
    assert not frame.spacing.known
    # Ten seconds, the pulse, a margin on each side: paper of 260 mm.
    assert instance.columns == 260 * PX_PER_MM + 2 * MARGIN + 1


def test_a_large_wave_lowers_the_gain_and_says_so(tmp_path: Path):
    raw = (np.sin(np.arange(5000) / 50) * 9000).astype(np.int16)[None]
    frame = read_frame(waveform(tmp_path / "a.dcm", group(raw, [channel("II")])), 0)
    assert frame.regions[0].dy == pytest.approx(-1 / (2.5 * PX_PER_MM))


def test_pressures_have_their_own_scales(tmp_path: Path):
    times = np.arange(4000) / 250
    raw = np.stack((80 + 40 * np.sin(times * 7), 10 + 5 * np.sin(times * 7))).astype(np.int16)
    channels = [channel("Aorta", "mm[Hg]", "1"), channel("PA", "mm[Hg]", "1")]
    path = waveform(tmp_path / "a.dcm", group(raw, channels, 250.0), sop_class=PRESSURE_CLASS)
    frame = read_frame(path, 0)
    instance = read_instance(path)
    assert (instance.rows, instance.columns) == frame.stored.shape[:2]
    assert [region.y_units for region in frame.regions] == ["mmHg", "mmHg"]
    for region, values in zip(frame.regions, raw, strict=True):
        part = frame.stored[region.y0 : region.y1 + 1, region.x0 + 4 : region.x1 - 4].astype(int)
        ink = np.flatnonzero((part[..., 0] < 90).any(axis=1))
        # The line's own width is about two pixels.
        height = (ink.max() - ink.min() - 2) * -region.dy
        assert height == pytest.approx(np.ptp(values), rel=0.03)
        width = (region.x1 - region.x0) * region.dx
        assert width == pytest.approx(16.0, rel=0.01)


def test_a_day_of_ecg_is_one_picture(tmp_path: Path):
    raw = np.random.default_rng(0).normal(0, 300, (2, 3600 * 50)).astype(np.int16)
    path = waveform(tmp_path / "a.dcm", group(raw, [channel("II"), channel("V1")], 50.0))
    frame = read_frame(path, 0)
    assert max(frame.stored.shape) < 4000
    assert len(frame.regions) == 2
    assert frame.regions[0].dx * 2400 == pytest.approx(3600)


def test_annotations_stand_below(ecg: Path):
    found = group_annotations(read_header(ecg), 0)
    assert "QT Interval: 368 ms" in found
    assert "ECG NORMALE" in found
    assert group_annotations(read_header(ecg), 1) == ()


def test_names_of_leads():
    assert short_name("Lead aVR") == "aVR"
    assert short_name("Lead I (Einthoven)") == "I"
    assert short_name("Aortic pressure") == "Aortic pressure"


@pytest.mark.parametrize(
    "change",
    [
        {"SamplingFrequency": "0"},
        {"NumberOfWaveformChannels": 0},
        {"NumberOfWaveformSamples": 2**31},
        {"WaveformSampleInterpretation": "XX"},
        {"WaveformBitsAllocated": 8},
        {"NumberOfWaveformSamples": 5000},
    ],
)
def test_a_damaged_waveform_is_listed_and_refused(tmp_path: Path, change: dict[str, Any]):
    item = group(np.zeros((1, 100), np.int16), [channel("II")])
    for keyword, value in change.items():
        setattr(item, keyword, value)
    path = waveform(tmp_path / "a.dcm", item)
    instance = read_instance(path)
    assert instance.content is Content.OTHER
    assert "not displayable" in instance.note
    with pytest.raises(FileProblem):
        read_frame(path, 0)


def test_a_frame_that_is_not_there(ecg: Path):
    assert_refused(lambda: read_frame(ecg, 2), "2 waveforms")


@pytest.mark.parametrize("sensitivity", ["1E30", "1E-30", "0", "-1E12"])
def test_absurd_sensitivities_draw_a_plot_of_bounded_size(tmp_path: Path, sensitivity: str):
    raw = np.arange(100, dtype=np.int16)[None]
    path = waveform(tmp_path / "a.dcm", group(raw, [channel("II", "mV", sensitivity)]))
    frame = read_frame(path, 0)
    assert max(frame.stored.shape) < 4000
    assert all(np.isfinite(region.dy) and region.dy != 0 for region in frame.regions)


def test_damage_never_gives_anything_but_a_named_problem(tmp_path: Path):
    raw = np.arange(2000, dtype=np.int16).reshape(2, 1000)
    good = waveform(tmp_path / "good.dcm", group(raw, [channel("II"), channel("V1")]))
    assert_only_problems(good.read_bytes(), tmp_path / "bad.dcm", 900)


def test_the_ruler_measures_seconds_and_millivolts(ecg: Path):
    """Two large squares along and three up: 0.4 s and 1.5 mV on paper of 25 mm/s, 10 mm/mV."""
    frame = read_frame(ecg, 0)
    square = 5 * PX_PER_MM
    start = (frame.regions[0].x0 + 7 * square, frame.regions[0].y0 + 9 * square)
    end = (start[0] + 2 * square, start[1] - 3 * square)
    assert length(frame, start, end).text == "0.40 s, 1.50 mV (region)"
