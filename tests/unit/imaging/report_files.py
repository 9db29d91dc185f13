"""Structured reports that tests make with pydicom alone, and what dcmtk's dsrdump says of one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pydicom
import pytest
from pydicom.uid import generate_uid

from app.imaging.layers import Shape
from app.imaging.objects.report_reading import read_report
from app.imaging.reading.image_entries import read_instance
from app.imaging.report import REFERENCE, Report, ReportNode, nodes_of
from tests.unit.imaging.files import item, save_dicom

COMPREHENSIVE = "1.2.840.10008.5.1.4.1.1.88.33"
CT_IMAGE = "1.2.840.10008.5.1.4.1.1.2"


def code(value: str, scheme: str, meaning: str) -> pydicom.Dataset:
    """A coded entry."""
    return item(CodeValue=value, CodingSchemeDesignator=scheme, CodeMeaning=meaning)


def content(
    kind: str,
    name: str = "",
    *children: pydicom.Dataset,
    relationship: str = "CONTAINS",
    **values: Any,
) -> pydicom.Dataset:
    """A content item."""
    made = item(ValueType=kind, RelationshipType=relationship, **values)
    if name:
        made.ConceptNameCodeSequence = [code("1", "99TEST", name)]
    if children:
        made.ContentSequence = list(children)
    return made


def number(name: str, value: str, unit: tuple[str, str, str]) -> pydicom.Dataset:
    """A NUM item."""
    measured = item(NumericValue=value, MeasurementUnitsCodeSequence=[code(*unit)])
    return content("NUM", name, MeasuredValueSequence=[measured])


def image(
    uid: str, *frames: int, relationship: str = "CONTAINS", sop_class: str = CT_IMAGE
) -> pydicom.Dataset:
    """An IMAGE item; frames from 1."""
    reference = item(ReferencedSOPClassUID=sop_class, ReferencedSOPInstanceUID=uid)
    if frames:
        reference.ReferencedFrameNumber = list(frames)
    return content("IMAGE", relationship=relationship, ReferencedSOPSequence=[reference])


def make_report(path: Path, *children: pydicom.Dataset, **elements: Any) -> Path:
    """A comprehensive SR with these items below its root; None leaves an element out."""
    values: dict[str, Any] = {
        "SOPClassUID": COMPREHENSIVE,
        "SOPInstanceUID": generate_uid(),
        "StudyInstanceUID": "1.2.3",
        "SeriesInstanceUID": "1.2.3.9",
        "PatientName": "Doe^Jane",
        "PatientID": "P1",
        "Modality": "SR",
        "CompletionFlag": "COMPLETE",
        "VerificationFlag": "UNVERIFIED",
        "ContentDate": "20240102",
        "ContentTime": "101500",
        "ValueType": "CONTAINER",
        "ContinuityOfContent": "SEPARATE",
        "ConceptNameCodeSequence": [code("126000", "DCM", "Imaging Measurement Report")],
        "ContentSequence": list(children),
    }
    return save_dicom(path, values | elements)


class DumpedItem(NamedTuple):
    """A line of dsrdump."""

    position: str
    relationship: str
    kind: str
    name: str
    value: str


_LINE = re.compile(
    r"^(?P<position>[\d.]+)  <(?P<relationship>[a-z ]*?) ?(?P<kind>[A-Z0-9]+):"
    r"(?:\(,,\"(?P<name>.*?)\"\))?=(?P<value>.*)>(?: \{.*\})?$"
)
_REFERENCE = re.compile(r"^(?P<position>[\d.]+)  <(?P<relationship>[a-z ]+) (?P<value>[\d.]+)>$")


def dumped(path: Path) -> Iterator[DumpedItem]:
    """The content items as dcmtk's dsrdump prints them; skips where that is missing."""
    program = shutil.which("dsrdump")
    if program is None:
        pytest.skip("dsrdump of dcmtk is not installed")
    options = ("-q", "+Pn", "+Pl", "+Pu", "+U8", "-Ec", "-Ev", "-Er", "-Ee")
    run = subprocess.run(
        [program, *options, str(path)], capture_output=True, timeout=60, check=False
    )
    text = run.stdout.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if re.match(r"^[\d.]+  <", line)]
    assert lines, "dsrdump does not read it either"
    for line in lines:
        match = _LINE.match(line)
        if match is not None:
            yield DumpedItem(**{key: value or "" for key, value in match.groupdict().items()})
            continue
        match = _REFERENCE.match(line)
        assert match is not None, line
        yield DumpedItem(match["position"], match["relationship"], "REFERENCE", "", match["value"])


def read(path: Path) -> Report:
    return read_report(read_instance(path))


def made(folder: Path, *children: pydicom.Dataset, **elements: Any) -> Report:
    return read(make_report(folder / "report.dcm", *children, **elements))


def only(folder: Path, child: pydicom.Dataset) -> ReportNode:
    (node,) = made(folder, child).root.children
    return node


def scoord(kind: str, *data: float, on: pydicom.Dataset, **values: Any) -> pydicom.Dataset:
    return content("SCOORD", "Region", on, GraphicType=kind, GraphicData=list(data), **values)


Shapes = dict[tuple[str, int], list[Shape]]


def node_shapes(top: ReportNode, *, references: bool = True) -> Shapes:
    """The shapes in a node and below it by (SOP Instance UID, frame from 0, -1 for all)."""
    found: Shapes = {}
    for node in nodes_of(top):
        if node.shapes and (references or node.kind != REFERENCE):
            for link in node.links:
                for frame in link.frames or (-1,):
                    found.setdefault((link.sop_instance_uid, frame), []).extend(node.shapes)
    return found


def report_shapes(report: Report) -> Shapes:
    """The shapes of a report, each once."""
    return node_shapes(report.root, references=False)
