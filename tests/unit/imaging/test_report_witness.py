"""Reports as dcmtk dumps them, and reports that highdicom makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.data import get_testdata_file

from app.imaging.findings import Polygon
from app.imaging.reading.image_entries import read_instance
from app.imaging.report import (
    ReportNode,
    key_images,
    report_text,
)
from app.imaging.types import Content
from tests.unit.imaging.report_files import (
    DumpedItem,
    dumped,
    read,
    report_shapes,
)

SHARED = (
    "dicom/sr/dcmqi-sr.dcm",
    "dicom/objects/sr_document.dcm",
    "dicom/objects/sr_document_with_multiple_groups.dcm",
)
PYDICOM = ("test-SR.dcm", "reportsi_with_empty_number_tags.dcm")
"""Not reportsi.dcm: dsrdump refuses its image reference without a class."""


def positions(node: ReportNode, position: str = "1") -> Iterator[tuple[str, ReportNode]]:
    yield position, node
    for ordinal, child in enumerate(node.children, start=1):
        yield from positions(child, f"{position}.{ordinal}")


def numbers_in(text: str) -> list[float]:
    return [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)]


def lines_of(text: str) -> list[str]:
    return [
        line
        for line in re.split(r"[\r\n]+", text.replace("\\r", "\r").replace("\\n", "\n"))
        if line
    ]


def assert_says(node: ReportNode, line: DumpedItem) -> None:
    """Our item says what dsrdump's line says."""
    said, value = node.value, line.value
    if line.kind == "CONTAINER":
        assert node.continuous == (value == "CONTINUOUS")
    elif line.kind == "NUM":
        assert said.startswith(value.split('"')[1])
    elif line.kind == "CODE":
        assert said == value.rsplit('"', 2)[1]
    elif line.kind in ("TEXT", "UIDREF"):
        assert said.split(" [observed")[0].split("\n") == lines_of(value.strip('"'))
    elif line.kind == "PNAME":
        assert said == ", ".join(part for part in value.strip('"').split("^") if part)
    elif line.kind in ("DATE", "TIME", "DATETIME"):
        digits, expected = re.sub(r"\D", "", said), re.sub(r"\D", "", value)
        assert expected.rstrip("0") == digits.rstrip("0")
    elif line.kind in ("SCOORD", "SCOORD3D", "TCOORD"):
        ours = numbers_in(re.sub(r" … .*| seconds", "", said))
        theirs = numbers_in(re.sub(r'"[\d.]*"', "", value))  # a frame of reference
        assert ours == pytest.approx(theirs[: len(ours)], rel=1e-5)
        assert len(ours) == len(theirs) or f"{len(theirs) // 2} points" in said
        assert said.lower().startswith(value[1:].split(",")[0].lower())
    elif line.kind == "REFERENCE":
        assert f"see {value} " in said
    else:
        assert_refers(node, value)


def assert_refers(node: ReportNode, value: str) -> None:
    uids = re.findall(r'\([^,()]*,"([\d.]+)"', value)
    assert [link.sop_instance_uid for link in node.links] == uids
    rest = value.split(")")[0].split('"')[-1]
    if node.kind == "WAVEFORM":
        channels = rest.strip(",").replace(",", ", ")
        assert f"channels {channels}" in node.value if channels else "channel" not in node.value
    elif value.startswith("(SG image"):
        assert node.value.endswith(f"segment {rest.strip(',')}")
        assert not node.links[0].frames
    elif node.links:
        frames = tuple(int(part) - 1 for part in numbers_in(rest))
        assert node.links[0].frames == frames
        assert all(str(frame + 1) in node.value for frame in frames)


@pytest.mark.parametrize("name", SHARED + PYDICOM)
def test_every_value_that_dsrdump_prints_is_in_the_tree_at_its_place(
    request: pytest.FixtureRequest, name: str
):
    if name in PYDICOM:
        path = Path(str(get_testdata_file(name)))
    else:
        path = request.getfixturevalue("shared_data") / name
    ours = dict(positions(read(path).root))
    printed = list(dumped(path))
    assert list(ours) == [line.position for line in printed], "the same items in the same order"
    for line in printed:
        node = ours[line.position]
        assert (node.kind, node.name) == (line.kind, line.name)
        assert node.relationship.lower() == line.relationship
        assert_says(node, line)


def test_what_dsrdump_refuses_is_still_readable():
    text = report_text(read(Path(str(get_testdata_file("reportsi.dcm")))))
    for part in ("Recording Observer's Name: Enter text", "Report Text: Enter text"):
        assert part in text


def test_highdicoms_measurement_report_reads_well(shared_data: Path, tmp_path: Path):
    sr = pytest.importorskip("highdicom").sr
    source = pydicom.dcmread(shared_data / "dicom" / "objects" / "ct_image.dcm")
    codes = pytest.importorskip("pydicom.sr.codedict").codes
    group = sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(identifier="Nodule 1", uid="1.2.3.77"),
        referenced_region=sr.ImageRegion(
            graphic_type=sr.GraphicTypeValues.POLYLINE,
            graphic_data=np.array([[10.0, 20.0], [30.0, 20.0], [30.0, 40.0], [10.0, 20.0]]),
            source_image=sr.SourceImageForRegion.from_source_image(source),
        ),
        finding_type=codes.SCT.Nodule,
        measurements=[
            sr.Measurement(name=codes.SCT.Diameter, value=8.5, unit=codes.UCUM.Millimeter),
            sr.Measurement(name=codes.SCT.Area, value=56.7, unit=codes.UCUM.SquareMillimeter),
        ],
    )
    document = sr.Comprehensive3DSR(
        evidence=[source],
        content=sr.MeasurementReport(
            observation_context=sr.ObservationContext(
                observer_person_context=sr.ObserverContext(
                    observer_type=codes.DCM.Person,
                    observer_identifying_attributes=sr.PersonObserverIdentifyingAttributes(
                        name="Reader^Ann"
                    ),
                )
            ),
            procedure_reported=codes.LN.CTUnspecifiedBodyRegion,
            imaging_measurements=[group],
        )[0],
        series_instance_uid="1.2.3.5",
        series_number=1,
        sop_instance_uid="1.2.3.6",
        instance_number=1,
        manufacturer="M",
    )
    path = tmp_path / "sr.dcm"
    document.save_as(path)
    report = read(path)
    lines = [line.strip() for line in report_text(report).split("\n")]
    start = lines.index("Measurement Group")
    assert lines[start + 1] == "Tracking Identifier: Nodule 1"
    assert {"Finding: Nodule", "Diameter: 8.5 mm", "Area: 56.7 mm²"} <= set(lines[start:])
    (shapes,) = report_shapes(report).values()
    assert [shape.geometry for shape in shapes] == [
        Polygon(((9.5, 19.5), (29.5, 19.5), (29.5, 39.5)))
    ]
    assert ("Person Observer Name", "Reader, Ann") in report.facts


def test_highdicoms_key_objects(shared_data: Path, tmp_path: Path):
    ko = pytest.importorskip("highdicom").ko
    codes = pytest.importorskip("pydicom.sr.codedict").codes
    folder = shared_data / "dicom" / "objects" / "ct-3slice"
    sources = [pydicom.dcmread(path) for path in sorted(folder.iterdir()) if path.is_file()]
    for source in sources:
        # highdicom refuses a name of one component, and an empty character set.
        source.PatientName = "Doe^Jane"
        source.SpecificCharacterSet = "ISO_IR 100"
    document = ko.KeyObjectSelectionDocument(
        evidence=sources,
        content=ko.KeyObjectSelection(
            document_title=codes.DCM.ForTeaching,
            referenced_objects=sources[:2],
            description="the nodule and its feeding vessel",
        ),
        series_instance_uid="1.2.3.5",
        series_number=1,
        sop_instance_uid="1.2.3.6",
        instance_number=1,
        manufacturer="M",
    )
    path = tmp_path / "ko.dcm"
    document.save_as(path)
    report = read(path)
    assert read_instance(path).content is Content.KEY_OBJECTS
    assert report.title == "For Teaching"
    assert "Key Object Description: the nodule and its feeding vessel" in report_text(report)
    expected = [str(source.SOPInstanceUID) for source in sources[:2]]
    assert [link.sop_instance_uid for link in key_images(report)] == expected
    assert not report.warnings
