"""Structured reports and key object selections as a tree (PS3.3 C.17.3, PS3.16)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.findings import Point, Polygon, Polyline
from app.imaging.objects.report_reading import MAX_DEPTH, read_report
from app.imaging.processes.records import pack, unpack
from app.imaging.reading.image_entries import read_instance
from app.imaging.report import (
    ImageLink,
    Report,
    key_images,
    nodes_of,
    report_text,
)
from app.imaging.types import Content
from tests.unit.imaging.files import item
from tests.unit.imaging.report_files import (
    code,
    content,
    image,
    made,
    make_report,
    node_shapes,
    number,
    only,
    read,
    report_shapes,
    scoord,
)

MM = ("mm", "UCUM", "millimeter")


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        (MM, "12.40 mm"),
        (("mm2", "UCUM", "square millimeter"), "12.40 mm²"),
        (("cm3", "UCUM", "cubic centimeter"), "12.40 cm³"),
        (("1", "UCUM", "no units"), "12.40"),
        (("{ratio}", "UCUM", "ratio"), "12.40"),
        (("{counts}", "UCUM", "counts"), "12.40 counts"),
        (("[hnsf'U]", "UCUM", "Hounsfield unit"), "12.40 HU"),
        (("deg", "UCUM", "degrees"), "12.40°"),
        (("Cel", "UCUM", "degrees Celsius"), "12.40 °C"),
        (("ug", "UCUM", "microgram"), "12.40 µg"),
        (("um", "UCUM", "micrometer"), "12.40 µm"),
        (("um2/s", "UCUM", "square micrometer per second"), "12.40 µm²/s"),
        (("Gy.m2", "UCUM", "Gy.m2"), "12.40 Gy·m²"),
        (("dGy.cm2", "UCUM", "dGy.cm2"), "12.40 dGy·cm²"),
        (("mGy.cm", "UCUM", "mGy.cm"), "12.40 mGy·cm"),
        (("mm[Hg]", "UCUM", "mmHg"), "12.40 mmHg"),
        (("%", "UCUM", "percent"), "12.40 %"),
        (("{SUVbw}g/ml", "UCUM", "SUV body weight"), "12.40 g/ml (SUVbw)"),
        (("/min", "UCUM", "per minute"), "12.40 /min"),
        (("R-00339", "SRT", "No units given"), "12.40 No units given"),
    ],
)
def test_units_are_written_as_people_write_them(
    tmp_path: Path, unit: tuple[str, str, str], shown: str
):
    assert only(tmp_path, number("Diameter", "12.40", unit)).value == shown


def test_numbers_with_qualifiers(tmp_path: Path):
    over = content(
        "NUM",
        "Score",
        MeasuredValueSequence=[],
        NumericValueQualifierCodeSequence=[code("114000", "DCM", "Not a number")],
    )
    assert only(tmp_path, over).value == "(no value): Not a number"
    both = number("Score", "3", MM)
    both.NumericValueQualifierCodeSequence = [code("114001", "DCM", "Negative Infinity")]
    assert only(tmp_path, both).value == "3 mm (Negative Infinity)"


@pytest.mark.parametrize(
    ("kind", "values", "shown"),
    [
        ("TEXT", {"TextValue": "one\r\ntwo"}, "one\ntwo"),
        ("CODE", {"ConceptCodeSequence": [code("1", "SCT", "Liver")]}, "Liver"),
        (
            "CODE",
            {"ConceptCodeSequence": [item(CodeValue="7", CodingSchemeDesignator="X")]},
            "7 (X)",
        ),
        ("CODE", {"ConceptCodeSequence": [item(URNCodeValue="urn:a:b")]}, "urn:a:b"),
        ("DATE", {"Date": "20240229"}, "2024-02-29"),
        ("TIME", {"Time": "101502.500000"}, "10:15:02.5"),
        ("DATETIME", {"DateTime": "20240229101502+0100"}, "2024-02-29 10:15:02 +0100"),
        ("UIDREF", {"UID": "1.2.3"}, "1.2.3"),
        ("PNAME", {"PersonName": "Doe^Jane^^Dr"}, "Doe, Jane, Dr"),
        (
            "SCOORD3D",
            {"GraphicType": "POINT", "GraphicData": [1.5, -2.0, 3.0]},
            "point (1.5, -2, 3)",
        ),
        (
            "TCOORD",
            {"TemporalRangeType": "POINT", "ReferencedSamplePositions": [5, 9]},
            "point 5, 9 samples",
        ),
        (
            "TCOORD",
            {"TemporalRangeType": "BEGIN", "ReferencedDateTime": "20240229"},
            "begin 2024-02-29",
        ),
        ("TEXT", {}, "(no value)"),
        ("NUM", {}, "(no value)"),
        ("CODE", {}, "(no value)"),
        ("IMAGE", {}, "(no value)"),
        ("SCOORD", {}, "(no value)"),
        ("HOLOGRAM", {}, "(content of the unknown type HOLOGRAM)"),
    ],
)
def test_each_value_type_and_none_that_vanishes(
    tmp_path: Path, kind: str, values: dict[str, Any], shown: str
):
    node = only(tmp_path, content(kind, "Name", **values))
    assert (node.kind, node.name, node.value) == (kind, "Name", shown)


def test_a_table_shows_its_cells(tmp_path: Path):
    def cell(row: int, column: int, **values: Any) -> pydicom.Dataset:
        return item(TableRowNumber=row, TableColumnNumber=column, **values)

    table = content(
        "TABLE",
        "Doses",
        NumberOfTableRows=2,
        NumberOfTableColumns=2,
        TableColumnDefinitionSequence=[
            item(TableColumnNumber=1, ConceptNameCodeSequence=[code("1", "X", "Organ")]),
            item(
                TableColumnNumber=2,
                ConceptNameCodeSequence=[code("2", "X", "Dose")],
                MeasurementUnitsCodeSequence=[code("mGy", "UCUM", "mGy")],
            ),
        ],
        CellValuesSequence=[
            cell(1, 1, TextValue="Liver"),
            cell(1, 2, SelectorDSValue="4.5"),
            cell(2, 2, SelectorDSValue="6"),
            cell(2, 1, TextValue="Lung"),
        ],
    )
    assert only(tmp_path, table).value.split("\n") == [
        "2 rows, 2 columns",
        "Organ | Dose (mGy)",
        "Liver | 4.5",
        "Lung | 6",
    ]


def test_control_characters_are_not_passed_on(tmp_path: Path):
    node = only(tmp_path, content("TEXT", "Name", TextValue="a\x07\x00\x08b\tc"))
    assert node.value == "ab\tc"


def test_coordinates_start_at_the_corner_of_the_first_pixel(tmp_path: Path):
    """C.18.6: its corner is 0.0\\0.0, its far one 1.0\\1.0, so its centre 0.5\\0.5 is our 0, 0."""
    picture = image("1.2.3.4", 3, relationship="SELECTED FROM")
    report = made(
        tmp_path,
        scoord("POINT", 0.5, 0.5, on=picture),
        scoord("MULTIPOINT", 1, 1, 2, 2, on=picture),
        scoord("POLYLINE", 0, 0, 4, 4, on=image("1.2.3.5", relationship="SELECTED FROM")),
        scoord("POLYLINE", 1, 1, 4, 1, 4, 3, 1, 1, on=picture),
    )
    found = report_shapes(report)
    assert [shape.geometry for shape in found["1.2.3.4", 2]] == [
        Point(0, 0),
        Point(0.5, 0.5),
        Point(1.5, 1.5),
        Polygon(((0.5, 0.5), (3.5, 0.5), (3.5, 2.5))),
    ]
    assert [shape.geometry for shape in found["1.2.3.5", -1]] == [
        Polyline(((-0.5, -0.5), (3.5, 3.5)))
    ]
    assert len(found) == 2


def test_circles_and_ellipses(tmp_path: Path):
    picture = image("1.2.3.4", relationship="SELECTED FROM")
    report = made(
        tmp_path,
        scoord("CIRCLE", 45, 55, 45, 65, on=picture),
        scoord("ELLIPSE", 10, 20, 30, 20, 20, 16, 20, 24, on=picture),
    )
    circle, ellipse = (shape.geometry for shape in report_shapes(report)["1.2.3.4", -1])
    assert isinstance(circle, Polygon)
    assert isinstance(ellipse, Polygon)
    assert all(math.dist(p, (44.5, 54.5)) == pytest.approx(10) for p in circle.points)
    for x, y in ellipse.points:
        assert ((x - 19.5) / 10) ** 2 + ((y - 19.5) / 4) ** 2 == pytest.approx(1)


def test_pixels_of_a_whole_slide_are_drawn_on_no_frame(tmp_path: Path):
    slide = image("1.2", relationship="SELECTED FROM", sop_class="1.2.840.10008.5.1.4.1.1.77.1.6")
    plain = image("1.3", relationship="SELECTED FROM")
    report = made(
        tmp_path,
        scoord("POINT", 5, 5, on=slide, PixelOriginInterpretation="VOLUME"),
        scoord("POINT", 5, 5, on=plain, PixelOriginInterpretation="VOLUME"),
    )
    assert list(report_shapes(report)) == [("1.3", -1)]
    assert report.root.children[0].value == "point (5, 5), in pixels of the whole slide"


def test_an_item_by_reference_names_what_it_means_and_enters_no_cycle(tmp_path: Path):
    picture = image("1.2.3.4", relationship="SELECTED FROM")
    to_region = item(RelationshipType="INFERRED FROM", ReferencedContentItemIdentifier=[1, 1])
    to_itself = item(RelationshipType="INFERRED FROM", ReferencedContentItemIdentifier=[1, 2])
    lost = item(RelationshipType="INFERRED FROM", ReferencedContentItemIdentifier=[1, 9, 9])
    diameter = number("Diameter", "3", MM)
    diameter.ContentSequence = [to_region, to_itself, lost]
    report = made(tmp_path, scoord("POINT", 5, 5, on=picture), diameter)
    node = report.root.children[1]
    assert [child.value for child in node.children] == [
        "see 1.1 (Region: point (5, 5))",
        "see 1.2 (Diameter: 3 mm)",
        "see 1.9.9 (not in this document)",
    ]
    assert any("not in the document" in warning for warning in report.warnings)
    assert list(node_shapes(node)) == [("1.2.3.4", -1)], "a measurement shows where it was taken"
    assert len(report_shapes(report)["1.2.3.4", -1]) == 1, "and the region is drawn once"


def test_coordinates_on_an_image_of_the_library_as_cad_reports_have_them(tmp_path: Path):
    """PS3.16 TID 4000: SELECTED FROM refers to an image that stands once, at the beginning."""
    by_reference = item(RelationshipType="SELECTED FROM", ReferencedContentItemIdentifier=[1, 1, 1])
    finding = content("CODE", "Finding", ConceptCodeSequence=[code("1", "SCT", "Mass")])
    finding.ContentSequence = [
        item(RelationshipType="HAS PROPERTIES", ReferencedContentItemIdentifier=[1, 2])
    ]
    report = made(
        tmp_path,
        content("CONTAINER", "Image Library", image("1.2.3.4", 7)),
        scoord("POINT", 5, 5, on=by_reference),
        finding,
    )
    assert list(report_shapes(report)) == [("1.2.3.4", 6)]
    assert list(node_shapes(report.root.children[2])) == [("1.2.3.4", 6)]


def test_an_image_with_frames_and_the_state_it_is_to_be_seen_in(tmp_path: Path):
    picture = image("1.2.3.4", 2, 5)
    picture.ReferencedSOPSequence[0].ReferencedSOPSequence = [
        item(ReferencedSOPClassUID="1.2.840.10008.5.1.4.1.1.11.1", ReferencedSOPInstanceUID="1.2.9")
    ]
    report = made(tmp_path, picture)
    (node,) = report.root.children
    assert node.value == "CT Image, frames 2, 5, with Grayscale Softcopy Presentation State"
    assert node.links == (ImageLink("1.2.3.4", (1, 4)), ImageLink("1.2.9"))
    assert key_images(report) == (ImageLink("1.2.3.4", (1, 4)),)


def test_the_facts_of_the_header(tmp_path: Path):
    observer = item(
        VerifyingObserverName="Reader^Ann",
        VerifyingOrganization="Hospital",
        VerificationDateTime="20240103120000",
    )
    person = content(
        "PNAME", "Person Observer Name", relationship="HAS OBS CONTEXT", PersonName="A^B"
    )
    report = made(
        tmp_path, person, VerificationFlag="VERIFIED", VerifyingObserverSequence=[observer]
    )
    assert report.title == "Imaging Measurement Report"
    assert report.facts == (
        ("Completion", "Complete"),
        ("Verification", "Verified"),
        ("Verified by", "Reader, Ann, Hospital, 2024-01-03 12:00:00"),
        ("Content date", "2024-01-02 10:15:00"),
        ("Person Observer Name", "A, B"),
    )


@pytest.mark.parametrize(
    ("value", "meaning", "withdrawn"),
    [
        ("113001", "Rejected for Quality Reasons", True),
        ("113037", "Rejected for Patient Safety Reasons", True),
        ("113038", "Incorrect Modality Worklist Entry", True),
        ("113039", "Data Retention Policy Expired", True),
        ("113000", "Of Interest", False),
    ],
)
def test_rejection_notes_warn(tmp_path: Path, value: str, meaning: str, withdrawn: bool):
    report = made(
        tmp_path,
        image("1.2.3.4", 1),
        SOPClassUID="1.2.840.10008.5.1.4.1.1.88.59",
        ConceptNameCodeSequence=[code(value, "DCM", meaning)],
    )
    assert report.title == meaning
    assert key_images(report) == (ImageLink("1.2.3.4", (0,)),)
    assert [warning.startswith(f"{meaning}: ") for warning in report.warnings] == [True] * withdrawn


def test_deep_and_wide_documents_are_cut_visibly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    deep = content("TEXT", "Leaf", TextValue="x")
    for _ in range(MAX_DEPTH + 5):
        deep = content("CONTAINER", "Box", deep)
    report = made(tmp_path, deep)
    assert any(f"level {MAX_DEPTH}" in warning for warning in report.warnings)
    assert unpack(Report, pack(report)) == report, "as deep as that it passes to the window"
    assert "more items below are not shown" in report_text(report)
    monkeypatch.setattr("app.imaging.objects.report_reading.MAX_ITEMS", 5)
    report = made(tmp_path, *(content("TEXT", str(n), TextValue=str(n)) for n in range(9)))
    assert [node.value for node in report.root.children][-2:] == [
        "3",
        "(5 more items are not shown)",
    ]
    assert any("first 5 content items" in warning for warning in report.warnings)


def test_a_document_without_content_is_a_file_problem(tmp_path: Path):
    path = make_report(tmp_path / "r.dcm", ContentSequence=None, ValueType=None)
    with pytest.raises(FileProblem, match="without any content"):
        read(path)


def test_coordinates_that_do_not_fit_are_text_and_a_warning(tmp_path: Path):
    picture = image("1.2.3.4", relationship="SELECTED FROM")
    report = made(tmp_path, scoord("CIRCLE", 1, 2, 3, 4, 5, 6, on=picture))
    assert report.root.children[0].value == "circle (1, 2) (3, 4) (5, 6)"
    assert not report_shapes(report)
    assert any("cannot be drawn" in warning for warning in report.warnings)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(noise=st.binary(min_size=1, max_size=30), at=st.floats(0, 1), cut=st.floats(0.3, 1))
def test_mutated_reports_never_raise_what_is_no_file_problem(
    tmp_path: Path, noise: bytes, at: float, cut: float
):
    picture = image("1.2.3.4", 2, relationship="SELECTED FROM")
    path = make_report(
        tmp_path / "r.dcm", scoord("POINT", 5, 5, on=picture), number("Diameter", "3", MM)
    )
    instance = read_instance(path)
    data = path.read_bytes()
    data = data[: int(len(data) * cut)]
    start = 132 + int(at * max(len(data) - 132, 0))
    path.write_bytes(data[:start] + noise + data[start + len(noise) :])
    try:
        report = read_report(instance)
    except FileProblem:
        return
    assert report_text(report)
    assert len(list(nodes_of(report.root))) >= 1


def test_through_the_worker_processes(decoder: Decoder, tmp_path: Path):
    picture = image("1.2.3.4", 2, relationship="SELECTED FROM")
    path = make_report(
        tmp_path / "r.dcm", scoord("POINT", 5.5, 5.5, on=picture), number("Diameter", "3", MM)
    )
    (study,) = decoder.scan([path]).result(timeout=60).studies
    (instance,) = study.series[0].instances
    assert instance.content is Content.REPORT
    report = decoder.report(instance).result(timeout=60)
    assert report_text(report) == report_text(read(path))
    assert [s.geometry for s in report_shapes(report)["1.2.3.4", 1]] == [Point(5, 5)]
