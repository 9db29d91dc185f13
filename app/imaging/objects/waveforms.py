"""Waveforms as pictures: each multiplex group is a frame. Runs in a worker process.

PS3.3 A.34 and C.10.9. The picture's regions carry seconds a column and units a row, so that a
distance on it can be measured in both.
"""

from __future__ import annotations

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import first_item, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.files.identity import content_uid, pixel_sha256
from app.imaging.objects.waveform_drawing import FOOTER_LINE, draw
from app.imaging.objects.waveform_layout import Layout, is_ecg, layout_of
from app.imaging.objects.waveform_values import Group, group_of, groups_of, values_of
from app.imaging.types import Frame, ImageRef, Spacing

MAX_ANNOTATIONS = 36
_ECG_SECONDS = 180


def extent(header: Header) -> tuple[int, int, int]:
    """(frames, rows, columns) of a waveform object's pictures; rows and columns of the first.

    Raises:
        FileProblem: It is damaged, or holds none.
    """
    group = group_of(header, 0)
    layout, _ = _arranged(header, group, 0)
    return len(groups_of(header)), layout.rows, layout.columns


def read_frame(header: Header, index: int) -> Frame:
    """The picture of a multiplex group.

    Raises:
        FileProblem: It is not there, damaged, or of an unknown form.
    """
    group = group_of(header, index)
    values = values_of(header, group)
    notes = annotations_of(header, index)
    layout = layout_of(group, values, _height(notes))
    stored = draw(group, values, layout, notes)
    path = str(header.path).encode("utf-8", "replace")
    uid = header.text("SOPInstanceUID") or content_uid(path)
    return Frame(
        stored=stored,
        ref=ImageRef(uid, index, pixel_sha256(stored)),
        photometric="RGB",
        spacing=Spacing(note="a plot has no patient scale: seconds and units instead"),
        regions=layout.regions,
        note=" ".join(group.label.split()),
    )


def _arranged(header: Header, group: Group, index: int) -> tuple[Layout, tuple[str, ...]]:
    """The layout of a group; its samples are read only where the layout depends on them."""
    notes = annotations_of(header, index)
    short = is_ecg(group) and group.duration_s <= _ECG_SECONDS
    values = values_of(header, group) if short else None
    return layout_of(group, values, _height(notes)), notes


def _height(notes: tuple[str, ...]) -> int:
    lines = (len(notes) + 2) // 3
    return lines * FOOTER_LINE + (FOOTER_LINE if lines else 0)


def annotations_of(header: Header, index: int) -> tuple[str, ...]:
    """What the object says of a group in words and figures; points of the trace are left out."""
    found: dict[str, None] = {}
    for item in items_of(header.dataset, "WaveformAnnotationSequence")[:2000]:
        if "ReferencedSamplePositions" in item:
            continue
        channels = numbers(value_of(item, "ReferencedWaveformChannels"))
        if channels and index + 1 not in channels[::2]:
            continue
        text = _annotation(item)
        if text:
            found[text] = None
        if len(found) >= MAX_ANNOTATIONS:
            break
    return tuple(found)


def _annotation(item: Dataset) -> str:
    """E.g. "QT interval: 360 ms"; "" for what is neither text nor figure."""
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
