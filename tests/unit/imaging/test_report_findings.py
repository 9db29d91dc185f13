"""Marks of structured reports come back as what they were, and lie where others say they lie."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import highdicom as hd
import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.sr.coding import Code as DicomCode
from pydicom.uid import UID

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.exports import KINDS, DicomExport, View, by_hand
from app.imaging.findings import (
    XY,
    Box,
    Code,
    Ellipse,
    Finding,
    Geometry,
    Mask,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
    new_id,
)
from app.imaging.objects.report_findings import id_of_uid, read_report_findings
from app.imaging.objects.writing import uid_of_id, write_object
from app.imaging.report import ReportMarks
from app.imaging.types import FramePlane, ImageRef, Instance
from tests.unit.imaging.export_sets import IMAGE_KINDS, random_findings, source_files
from tests.unit.imaging.test_dicom_exports import instances

pytestmark = pytest.mark.usefixtures("forked")

FLOAT32_PX = 2e-5
"""What 32-bit floats move a point of these small images by at most: up to 90 px they are apart by
7.6e-6, and half of that is lost in the report."""


def written(folder: Path, images: Sequence[Instance], findings: Sequence[Finding]) -> Instance:
    path = folder / "report.dcm"
    path.write_bytes(write_object(DicomExport("sr", tuple(images), tuple(findings))).data)
    return instances([path])[0]


def points_of(shape: Geometry) -> list[XY]:
    match shape:
        case Point(x, y):
            return [(x, y)]
        case Polyline(points) | Polygon(points) | Segments(points):
            return list(points)
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
            return [(x0, y0), (x1, y1)]
        case _:
            raise AssertionError(shape)


def same(found: Finding, wanted: Finding) -> None:
    """Check that a finding is what it was; pixels' hashes and runs are in no report."""
    assert type(found.geometry) is type(wanted.geometry)
    np.testing.assert_allclose(
        points_of(found.geometry), points_of(wanted.geometry), rtol=0, atol=FLOAT32_PX
    )
    made, origin = found.provenance, wanted.provenance
    assert (made.tool, made.model) == (origin.tool, origin.model)
    assert (made.tool_version, made.created) == (origin.tool_version, origin.created)
    assert found.image.sop_instance_uid == wanted.image.sop_instance_uid
    assert found.image.frame == wanted.image.frame
    assert found == replace(
        wanted, geometry=found.geometry, provenance=made, image=found.image, original=None
    )


@pytest.mark.parametrize("seed", range(10))
def test_random_marks_come_back_as_they_were(tmp_path: Path, seed: int) -> None:
    images = instances(source_files(tmp_path, IMAGE_KINDS[seed % 5], seed))
    refs = [ImageRef(one.sop_instance_uid, k, "") for one in images for k in range(one.frames)]
    rng = random.Random(seed)
    findings: list[Finding] = []
    for one in random_findings(seed, refs, images[0].rows, images[0].columns, masks=False):
        one = replace(
            one,
            id=new_id(),
            approximate=rng.random() < 0.5,
            group=rng.choice(("", "pair")),
            ratio=rng.choice(("", "Cardiothoracic ratio")),
            rests_on=rng.choice(((), ("Heart", "Right Lung"))),
            reviewer="" if one.state is State.PROPOSED else "Roe^Jane",
            reviewed="" if one.state is State.PROPOSED else "2026-03-04T05:06:07+00:00",
        )
        if one.measurements:
            shown = rng.choice(one.measurements)
            units = f"{shown.units} ({shown.rests_on})" if shown.rests_on else shown.units
            one = replace(one, value=shown.value, units=units)
        findings.append(one)
    marks = read_report_findings(written(tmp_path, images, findings), images)
    assert marks.left_out == ()
    assert len(marks.findings) == len(findings)
    for found, wanted in zip(marks.findings, findings, strict=True):
        same(found, wanted)


def test_a_polyline_that_ends_where_it_began_stays_a_line(tmp_path: Path) -> None:
    [image] = instances(source_files(tmp_path, "CR", 1))
    line = Polyline(((1.0, 2.0), (9.0, 2.0), (9.0, 8.0), (1.0, 2.0)))
    finding = mark(image, line, "polyline")
    [found] = read_report_findings(written(tmp_path, [image], [finding]), [image]).findings
    same(found, finding)


def mark(image: Instance, shape: Geometry, tool: str) -> Finding:
    origin = Provenance(tool, "", "", "", "", "")
    ref = ImageRef(image.sop_instance_uid, 0, "")
    return Finding(new_id(), ref, shape, "Mark", None, "", origin, state=State.ACCEPTED)


def oblique(space: str) -> FramePlane:
    turn = np.deg2rad(33.0)
    row, column = (float(np.cos(turn)), float(np.sin(turn)), 0.0), (0.0, 0.0, -1.0)
    return FramePlane((-31.25, 12.5, 88.0), row, column, (0.7, 1.1), space)


SHAPES: dict[str, Geometry] = {
    "ruler": Polyline(((2.25, 3.5), (20.125, 13.75))),
    "angle": Polyline(((2.25, 3.5), (20.125, 13.75), (4.0, 30.0))),
    "cobb": Segments(((1.5, 2.0), (20.0, 3.25), (2.0, 30.0), (21.0, 28.0))),
    "bidirectional": Segments(((1.5, 2.0), (20.0, 3.25), (9.0, 1.0), (8.5, 6.0))),
    "polygon": Polygon(((3.0, 4.0), (18.0, 6.0), (11.0, 25.5))),
    "mark_box": Box(2.5, 3.5, 15.5, 20.5),
    "ellipse": Ellipse(2.75, 3.5, 15.0, 40.25),
    "mark_point": Point(7.125, 9.75),
}


@pytest.mark.parametrize("tool", SHAPES)
def test_marks_on_sections_come_back_in_their_plane(tmp_path: Path, tool: str) -> None:
    images = instances(source_files(tmp_path, "CT", 3))
    space = images[0].get("FrameOfReferenceUID")
    plane = oblique(space)
    finding = mark(images[0], SHAPES[tool], tool)
    section = ImageRef("2.25.123456789", 12, "ab" * 32)
    finding = replace(finding, plane=plane, image=section)
    report = written(tmp_path, images[:1], [finding])
    [found] = read_report_findings(report, images).findings
    assert found.plane == plane
    assert (found.image.sop_instance_uid, found.image.frame) == ("2.25.123456789", 12)
    same(replace(found, image=section), finding)
    # Another reader finds the points in the patient, mm.
    placed = [
        one.value
        for group in hd.sr.srread(report.path).content.get_planar_roi_measurement_groups()  # pyright: ignore[reportAttributeAccessIssue]
        for one in [group.roi]
    ]
    middle = np.mean([plane.point(*point) for point in points_of(SHAPES[tool])], axis=0)
    every = np.concatenate(placed)
    if tool == "polygon":
        every = every[:-1]
    if tool not in ("mark_box", "ellipse"):
        np.testing.assert_allclose(every.mean(axis=0), middle, atol=1e-4)
    normal = np.asarray(plane.normal)
    np.testing.assert_allclose((every - plane.origin) @ normal, 0, atol=1e-4)


def test_the_program_reads_the_pixels_that_a_report_refers_to(tmp_path: Path) -> None:
    images = instances(source_files(tmp_path, "multi", 3))
    finding = mark(images[0], Box(2.5, 3.5, 15.5, 20.5), "mark_box")
    finding = replace(finding, image=replace(finding.image, frame=3))
    report = written(tmp_path, images, [finding])
    decoder = Decoder()
    try:
        marks = decoder.report_findings(report, images).result()
        frame = decoder.frame(images[0], 3).result()
        nobody = decoder.report_findings(report, []).result()
    finally:
        decoder.close()
    assert [one.image for one in marks.findings] == [frame.ref]
    assert nobody == ReportMarks((), (("Mark", "its image is not open"),))


def test_ids_come_back_from_tracking_uids() -> None:
    for one in (new_id(), "0" * 32, "0" * 31 + "1", "1.2.840.99"):
        uid = uid_of_id(one)
        assert UID(uid).is_valid
        assert id_of_uid(uid) == one


def cornerstone(
    image: Dataset, name: str, shape: str, points: list[list[XY]], *, person: bool = True
) -> Dataset:
    """Return a report with a group as OHIF's adapters write it: the tool in the identifier."""
    who = hd.sr.ObserverContext(
        hd.sr.CodedConcept("121006", "DCM", "Person"),
        hd.sr.PersonObserverIdentifyingAttributes("Roe^Jane"),
    )
    observer = hd.sr.DeviceObserverIdentifyingAttributes(uid=hd.UID(), name="viewer")
    reference = hd.sr.SourceImageForRegion(image.SOPClassUID, image.SOPInstanceUID)
    value = hd.sr.Measurement(
        DicomCode("42798000", "SCT", "Area"), 12.5, DicomCode("mm2", "UCUM", "mm2")
    )
    groups = [
        hd.sr.PlanarROIMeasurementsAndQualitativeEvaluations(
            tracking_identifier=hd.sr.TrackingIdentifier(
                hd.UID(), f"Cornerstone3DTools@^0.1.0:{name}"
            ),
            referenced_region=hd.sr.ImageRegion(shape, np.array(one, float), reference),
            finding_type=DicomCode("27550009", "SCT", "Vascular lesion"),
            measurements=[value],
        )
        for one in points
    ]
    report = hd.sr.MeasurementReport(
        hd.sr.ObservationContext(
            observer_person_context=who if person else None,
            observer_device_context=hd.sr.ObserverContext(
                hd.sr.CodedConcept("121007", "DCM", "Device"), observer
            ),
        ),
        procedure_reported=DicomCode("363679005", "SCT", "Imaging procedure"),
        imaging_measurements=groups,
        title=DicomCode("126000", "DCM", "Imaging Measurement Report"),
    )
    return hd.sr.Comprehensive3DSR(
        evidence=[image],
        content=report[0],
        series_instance_uid=hd.UID(),
        series_number=1,
        sop_instance_uid=hd.UID(),
        instance_number=1,
        manufacturer="Somebody",
    )


ROUND = Ellipse(5.5, 5.5, 11.5, 11.5)
LINE = Polyline(((2.5, 3.5), (15.5, 8.5)))


@pytest.mark.parametrize(
    ("name", "shape", "points", "wanted", "tool"),
    [
        (
            "RectangleROI",
            "POLYLINE",
            [(3.0, 4.0), (16.0, 4.0), (16.0, 21.0), (3.0, 21.0), (3.0, 4.0)],
            Box(2.5, 3.5, 15.5, 20.5),
            "mark_box",
        ),
        (
            "EllipticalROI",
            "ELLIPSE",
            [(9.0, 4.0), (9.0, 21.0), (3.0, 12.5), (15.0, 12.5)],
            Ellipse(2.5, 3.5, 14.5, 20.5),
            "ellipse",
        ),
        (
            "CircleROI",
            "CIRCLE",
            [(9.0, 9.0), (9.0, 12.0)],
            Ellipse(5.5, 5.5, 11.5, 11.5),
            "ellipse",
        ),
        (
            "Length",
            "POLYLINE",
            [(3.0, 4.0), (16.0, 9.0)],
            Polyline(((2.5, 3.5), (15.5, 8.5))),
            "ruler",
        ),
    ],
)
def test_marks_of_other_viewers_come_back_too(
    tmp_path: Path, name: str, shape: str, points: list[XY], wanted: Geometry, tool: str
) -> None:
    [path] = source_files(tmp_path, "CR", 1)
    report = tmp_path / "other.dcm"
    cornerstone(pydicom.dcmread(path), name, shape, [points]).save_as(report)
    [image, other] = instances([path, report])
    [found] = read_report_findings(other, [image]).findings
    assert found.geometry == wanted
    assert (found.provenance.tool, found.state) == (tool, State.ACCEPTED)
    assert found.code == Code("27550009", "SCT", "Vascular lesion")
    assert found.measurements == (Measurement("Area", 12.5, "mm²"),)


def test_what_lies_outside_its_image_is_left_out(tmp_path: Path) -> None:
    [path] = source_files(tmp_path, "CR", 1)
    report = tmp_path / "other.dcm"
    points: list[XY] = [(3.0, 4.0), (900.0, 9.0)]
    cornerstone(pydicom.dcmread(path), "Length", "POLYLINE", [points]).save_as(report)
    [image, other] = instances([path, report])
    marks = read_report_findings(other, [image])
    assert marks.findings == ()
    assert marks.left_out == (("Cornerstone3DTools@^0.1.0:Length", "it lies outside its image"),)


REFUSED = ("its header lacks", "the value of ", "its header does not allow")
FOREIGN = "Illegal root for UID"
"""An error about what a source is called, which an object that refers to it must repeat."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_objects_about_real_images_are_valid_and_come_back(
    tmp_path: Path, shared_data: Path, kind: str
) -> None:
    """Forty random images of other people's: written, or refused with a reason."""
    folders = [shared_data / name for name in ("dicom", "chest", "series")]
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    random.Random(16).shuffle(files)
    written_count, refused = 0, list[str]()
    for seed, path in enumerate(files):
        image = real_image(path)
        if image is None:
            continue
        refs = [ImageRef(image.sop_instance_uid, k, "") for k in range(min(image.frames, 4))]
        made = random_findings(seed, refs, image.rows, image.columns, masks=kind == "seg")
        made = tuple(replace(one, id=new_id(), state=State.ACCEPTED) for one in made)
        view = View(image.sop_instance_uid, 0, None)
        picture = np.full((20, 30, 3), 7, np.uint8)
        job = DicomExport(kind, (image,), made, views=(view,), picture=picture)
        try:
            data = write_object(job).data
        except FileProblem as error:
            refused.append(error.reason)
            continue
        out = tmp_path / "made.dcm"
        out.write_bytes(data)
        told = subprocess.run(["dciodvfy", str(out)], capture_output=True, check=False)
        lines = (told.stdout + told.stderr).decode("utf-8", "replace").splitlines()
        errors = [one for one in lines if one.startswith("Error") and FOREIGN not in one]
        assert errors == [], path.name
        [opened] = instances([out])
        if kind == "sr":
            marks = read_report_findings(opened, [image])
            if image.get("Modality") == "SM":
                continue  # positions in a whole slide are not read again
            assert marks.left_out == (), path.name
            for found, wanted in zip(marks.findings, made, strict=True):
                rough = max(image.rows, image.columns) * 2**-23
                np.testing.assert_allclose(
                    points_of(found.geometry), points_of(wanted.geometry), rtol=0, atol=rough
                )
                assert type(found.geometry) is type(wanted.geometry)
        elif kind == "seg":
            masks = [one.geometry.pixels for one in made if isinstance(one.geometry, Mask)]
            total = sum(int(one.sum()) for one in masks)
            assert total == int(hd.seg.segread(out).pixel_array.sum())  # pyright: ignore[reportAttributeAccessIssue]
        written_count += 1
        if written_count == 40:
            break
    assert written_count >= 30
    assert [one for one in refused if not one.startswith(REFUSED)] == []


def real_image(path: Path) -> Instance | None:
    """Return the DICOM image in a file, if it is large enough for marks and of moderate size."""
    try:
        found = instances([path])
    except Exception:
        return None
    image = next((one for one in found if one.kind == "dicom" and one.is_image), None)
    if image is None or not image.has_frames or min(image.rows, image.columns) < 24:
        return None
    return image if image.rows * image.columns * image.frames < 2e7 else None


def test_what_only_a_program_found_is_proposed(tmp_path: Path) -> None:
    """A report of a device alone may be the work of AI: it is not the user's own mark."""
    [path] = source_files(tmp_path, "CR", 1)
    report = tmp_path / "other.dcm"
    points: list[XY] = [(3.0, 4.0), (16.0, 9.0)]
    made = cornerstone(pydicom.dcmread(path), "Length", "POLYLINE", [points], person=False)
    made.save_as(report)
    [image, other] = instances([path, report])
    [found] = read_report_findings(other, [image]).findings
    assert (found.state, found.provenance.tool) == (State.PROPOSED, "viewer")
    assert not by_hand(found)
