"""SR, SEG, GSPS, KO and SC from random images and findings: valid, and read back as written."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import highdicom as hd
import numpy as np
import pydicom
import pytest
from pydicom.dataelem import RawDataElement

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.exports import KINDS, DicomExport, View, chosen
from app.imaging.findings import (
    XY,
    Box,
    Code,
    Ellipse,
    Finding,
    Heatmap,
    Instances,
    Mask,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
)
from app.imaging.layers import Label, Shape
from app.imaging.objects.layer_reading import read_layer, read_layer_frame
from app.imaging.objects.presentation_states import read_presentation
from app.imaging.objects.report_reading import read_report
from app.imaging.objects.writing import uid_of_id, write_object
from app.imaging.reading.sniffing import reader_of
from app.imaging.report import key_images, nodes_of
from app.imaging.types import Frame, FramePlane, ImageRef, Instance, Window
from app.workspace import drawing
from app.workspace.threshold_fill import Filler
from tests.unit.imaging.export_sets import IMAGE_KINDS, random_findings, source_files

SOME, ALL = range(5), range(5, 40)
EXPLAINED = (
    "99SIGHTLINE",  # the designator of private codes, which begins with 99 (PS3.3 8.2)
    "<Laterality>",  # the source does not tell it
    "is only permitted to be empty when actually unknown",
)
"""Parts of `dciodvfy`'s warnings that app/imaging/README.md explains."""


@dataclass(frozen=True, slots=True)
class Written:
    """A random set: its images, findings, view, and the object written of them."""

    job: DicomExport
    path: Path

    @property
    def instance(self) -> Instance:
        """The object in the catalogue."""
        return instances([self.path])[0]


def instances(paths: Iterable[Path]) -> list[Instance]:
    """Return the catalogue's entries of files."""
    return [one for path in paths for one in reader_of(path).read_instances(path)]


def write(folder: Path, seed: int, kind: str) -> Written:
    """Write an object of `kind` about the random set `seed`."""
    images = instances(source_files(folder, IMAGE_KINDS[seed % 5], seed))
    refs = [ImageRef(one.sop_instance_uid, k, "") for one in images for k in range(one.frames)]
    first = images[0]
    findings = random_findings(seed, refs, first.rows, first.columns, masks=kind == "seg")
    if seed % 3 == 0:  # verified, which is only possible for what was reviewed
        findings = tuple(
            replace(one, state=State.ACCEPTED) if one.state is State.PROPOSED else one
            for one in findings
        )
    rng = np.random.default_rng(seed)
    color = IMAGE_KINDS[seed % 5] == "US"
    view = View(
        first.sop_instance_uid,
        seed % first.frames,
        None if color else Window(float(rng.integers(-200, 300)), float(rng.integers(1, 900))),
        area=(2.5, 3.5, 15.5, 20.5) if seed % 3 else None,
        flip_h=bool(seed % 2),
        quarter_turns=seed % 4,
    )
    job = DicomExport(
        kind,
        tuple(images[:1] if kind == "sc" else images),
        findings,
        verifier="Roe^Jane" if seed % 3 == 0 else "",
        organization="Städtisches Krankenhaus",
        description="Größe prüfen",
        title=("113000", "113004")[seed % 2],
        views=(view,),
        picture=rng.integers(0, 255, (20, 31, 3)).astype(np.uint8),
        marked=bool(seed % 2),
    )
    path = folder / f"{kind}.dcm"
    path.write_bytes(write_object(job).data)
    return Written(job, path)


def seeds() -> list[object]:
    """Return the seeds of the random sets; most run with --all."""
    return [*SOME, *(pytest.param(one, marks=pytest.mark.slow) for one in ALL)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", seeds())
def test_other_programs_find_no_error(tmp_path: Path, seed: int, kind: str) -> None:
    path = write(tmp_path, seed, kind).path
    made = pydicom.dcmread(path)
    source = pydicom.dcmread(next(tmp_path.glob("*-0.dcm")))
    for keyword in ("PatientName", "PatientID", "StudyInstanceUID", "StudyDate", "AccessionNumber"):
        assert made[keyword].value == source[keyword].value, keyword
    assert made.SeriesInstanceUID != source.SeriesInstanceUID
    assert (made.Manufacturer, bool(made.SoftwareVersions)) == ("Sightline", True)
    assert made.SeriesDescription.startswith("Sightline: ")
    for program in ("dcmdump", *(["dsrdump"] if kind in ("sr", "ko") else [])):
        if shutil.which(program):
            done = subprocess.run([program, str(path)], capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
            assert b"E: " not in done.stderr
    if not shutil.which("dciodvfy"):
        pytest.skip("dciodvfy (dicom3tools) is not installed")
    done = subprocess.run(["dciodvfy", str(path)], capture_output=True, check=False)
    told = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    assert [line for line in told if line.startswith("Error")] == []
    warnings = [line for line in told if line.startswith("Warning")]
    assert [line for line in warnings if not any(part in line for part in EXPLAINED)] == []


def drawn(finding: Finding) -> list[list[XY]]:
    """Return the lines and points of a finding, in pixels, as any reader is to find them."""
    match finding.geometry:
        case Point(x, y):
            return [[(x, y)]]
        case Segments(points):
            return [list(points[0:2]), list(points[2:4])]
        case Polyline(points) | Polygon(points):
            return [list(points)]
        case Box(x0, y0, x1, y1):
            return [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)]]
        case _:
            return []


def points_of(shape: Shape) -> list[XY]:
    """Return the points of a shape that was read."""
    geometry = shape.geometry
    if isinstance(geometry, Point):
        return [(geometry.x, geometry.y)]
    assert isinstance(geometry, Polyline | Polygon)
    return list(geometry.points)


def same_places(found: list[list[XY]], wanted: list[list[XY]]) -> None:
    """Check points: they are 32-bit floats in the file, so 1e-6 holds relative to the size."""
    assert list(map(len, found)) == list(map(len, wanted))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.array(one) + 0.5, np.array(other) + 0.5, rtol=1e-6, atol=1e-6)


def edges(finding: Finding) -> tuple[float, float, float, float]:
    """Return the edges of an ellipse."""
    assert isinstance(finding.geometry, Ellipse)
    one = finding.geometry
    return one.x0, one.y0, one.x1, one.y1


def box_of(points: list[XY]) -> tuple[float, float, float, float]:
    """Return the edges of points."""
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("seed", seeds())
def test_a_report_opens_as_what_was_marked(tmp_path: Path, seed: int) -> None:
    written = write(tmp_path, seed, "sr")
    report = read_report(written.instance)
    assert report.warnings == ()
    facts = dict(report.facts)
    verified = seed % 3 == 0
    assert facts["Verification"] == ("Verified" if verified else "Unverified")
    if verified:
        assert facts["Verified by"].startswith("Roe, Jane, Städtisches Krankenhaus")
    nodes = list(nodes_of(report.root))
    groups = [node for node in nodes if node.name == "Measurement Group"]
    findings = [one for one in written.job.findings for _ in drawn(one) or [[]]]
    assert len(groups) == len(findings)
    dataset = hd.sr.srread(written.path)
    assert len(dataset.content.get_planar_roi_measurement_groups()) == len(findings)  # pyright: ignore[reportAttributeAccessIssue]
    uids: dict[str, str] = {}
    for group, finding in zip(groups, findings, strict=True):
        texts = {(one.name, one.value) for one in group.children}
        assert ("Tracking Identifier", finding.label) in texts
        assert ("Finding", finding.code.meaning if finding.code else finding.label) in texts
        if finding.site:
            assert ("Finding Site", finding.site.meaning) in texts
        uid = next(one.value for one in group.children if one.name == "Tracking Unique Identifier")
        assert uids.setdefault(finding.id, uid) == uid
        [place] = [one for one in group.children if one.kind == "SCOORD"]
        assert place.links[0].sop_instance_uid == finding.image.sop_instance_uid
        assert place.links[0].frames in ((), (finding.image.frame,))
    assert len(set(uids.values())) == len(written.job.findings)
    places = [points_of(s) for node in nodes if node.kind == "SCOORD" for s in node.shapes]
    for finding in written.job.findings:
        if isinstance(finding.geometry, Ellipse):
            np.testing.assert_allclose(box_of(places.pop(0)), edges(finding), rtol=2e-6, atol=1e-4)
            continue
        wanted = drawn(finding)
        same_places([places.pop(0) for _ in wanted], wanted)
    check_values(written)


def check_values(written: Written) -> None:
    """Compare values, units, algorithms and states with pydicom's reading of the file."""
    dataset = pydicom.dcmread(written.path)
    numbers = [one for one in items(dataset) if one.get("ValueType") == "NUM"]
    wanted = [
        pair
        for one in written.job.findings
        for pair in (*((m.value, m.units) for m in one.measurements), *scores(one))
    ]
    assert [float(one.MeasuredValueSequence[0].FloatingPointValue) for one in numbers] == [
        value for value, _ in wanted
    ]
    units = {"mm²": "mm2", "HU": "[hnsf'U]", "px": "{pixels}", "°": "deg", "": "1"}
    for one, (_, unit) in zip(numbers, wanted, strict=True):
        code = one.MeasuredValueSequence[0].MeasurementUnitsCodeSequence[0]
        assert code.CodingSchemeDesignator == "UCUM"
        assert code.CodeValue in (units[unit], "{px}")
    texts = [one.TextValue for one in items(dataset) if one.get("ValueType") == "TEXT"]
    for finding in written.job.findings:
        if finding.description:
            assert f"Description: {finding.description}" in texts
        if finding.provenance.model:
            assert "chest_xray_segment / psp net" in texts
            if finding.state is State.PROPOSED:
                assert "State: proposed by a tool, not reviewed by a person" in texts


def scores(finding: Finding) -> list[tuple[float, str]]:
    """Return the score of a finding as a value without units."""
    return [] if finding.score is None else [(finding.score, "")]


def items(dataset: pydicom.Dataset) -> Iterator[pydicom.Dataset]:
    """Yield all content items in order."""
    for one in dataset.get("ContentSequence", ()):
        yield one
        yield from items(one)


@pytest.mark.parametrize("seed", seeds())
def test_masks_come_back_bit_for_bit(tmp_path: Path, seed: int) -> None:
    written = write(tmp_path, seed, "seg")
    masks = [one for one in written.job.findings if isinstance(one.geometry, Mask)]
    layer = read_layer(written.instance)
    assert {item.label for item in layer.items} == {one.label for one in masks}
    found: list[tuple[str, int, bytes]] = []
    for image in written.job.images:
        for frame in range(image.frames):
            shown = read_layer_frame(written.instance, image, frame)
            assert shown.warnings == ()
            for shape in shown.shapes:
                assert isinstance(shape.geometry, Mask)
                assert shape.by_reference
                pixels = shape.geometry.pixels.tobytes()
                found.append((image.sop_instance_uid, frame, pixels))
    wanted = [
        (one.image.sop_instance_uid, one.image.frame, one.geometry.pixels.tobytes())
        for one in masks
        if isinstance(one.geometry, Mask)
    ]
    assert sorted(found) == sorted(wanted)
    other = hd.seg.segread(written.path)
    assert sum(int(one.geometry.pixels.sum()) for one in masks) == int(other.pixel_array.sum())  # pyright: ignore[reportAttributeAccessIssue]
    for number, item in enumerate(layer.items, 1):
        described = other.get_segment_description(number)
        assert described.segment_label == item.label
        tool = described.SegmentAlgorithmType != "MANUAL"
        assert ("chest_xray_segment" in item.detail) == tool


def test_numbered_objects_become_a_label_map(tmp_path: Path) -> None:
    images = instances(source_files(tmp_path, "CT", 2))
    first = images[0]
    ref = ImageRef(first.sop_instance_uid, 0, "")
    (mask, *_) = random_findings(2, [ref], first.rows, first.columns, masks=True)
    labels = np.zeros((first.rows, first.columns), np.uint16)
    labels[2:5, 3:9], labels[8:11, 2:4] = 12, 500
    cells = replace(mask, id="cells", label="Nuclei", geometry=Instances(labels))
    path = tmp_path / "seg.dcm"
    path.write_bytes(write_object(DicomExport("seg", tuple(images), (cells,))).data)
    written = hd.seg.segread(path)
    assert written.SegmentationType == "LABELMAP"
    assert [written.get_segment_description(n).segment_label for n in (1, 2)] == [
        "Nuclei 12",
        "Nuclei 500",
    ]
    expected = np.select([labels == 12, labels == 500], [1, 2])
    assert any(
        np.array_equal(plane, expected)
        for plane in np.atleast_3d(pydicom.dcmread(path).pixel_array.reshape(-1, *labels.shape))
    )
    layer = instances([path])[0]
    shown = read_layer_frame(layer, first, 0).shapes
    assert sorted(int(one.geometry.pixels.sum()) for one in shown) == [6, 18]  # pyright: ignore

    both = write_object(DicomExport("seg", tuple(images), (cells, mask)))
    assert both.left_out == (("Nuclei", "numbered objects need a segmentation of their own"),)
    view = View(first.sop_instance_uid)
    state = write_object(DicomExport("gsps", tuple(images), (cells,), views=(view,)))
    assert state.left_out == (("Nuclei", "masks are written as a segmentation"),)


def test_numbered_objects_are_counted_in_a_report(tmp_path: Path) -> None:
    images = instances(source_files(tmp_path, "CT", 2))
    first = images[0]
    ref = ImageRef(first.sop_instance_uid, 0, "")
    (mask, *_) = random_findings(2, [ref], first.rows, first.columns, masks=True)
    labels = np.zeros((first.rows, first.columns), np.uint16)
    cells = replace(
        mask,
        label="Nuclei",
        geometry=Instances(labels),
        measurements=(),
        value=125.0,
        units="objects",
    )
    path = tmp_path / "sr.dcm"
    path.write_bytes(write_object(DicomExport("sr", tuple(images), (cells,))).data)
    counts = [
        one
        for one in items(pydicom.dcmread(path))
        if "MeasuredValueSequence" in one and one.ConceptNameCodeSequence[0].CodeMeaning == "Count"
    ]
    assert [float(one.MeasuredValueSequence[0].NumericValue) for one in counts] == [125.0]


@pytest.mark.parametrize("seed", seeds())
def test_a_presentation_state_shows_it_again(tmp_path: Path, seed: int) -> None:
    written = write(tmp_path, seed, "gsps")
    state = read_presentation(written.instance)
    assert all("grey window" not in one for one in state.warnings)
    view = written.job.views[0]
    presented = state.of(view.sop_instance_uid, view.frame)
    assert presented is not None
    assert (presented.flip_h, presented.quarter_turns) == (view.flip_h, view.quarter_turns)
    image = written.job.images[0]
    whole = (-0.5, -0.5, image.columns - 0.5, image.rows - 0.5)
    assert presented.displayed_area == (view.area or whole)
    if view.window is not None:
        assert presented.voi is not None
        [window] = presented.voi.windows
        assert (window.center, window.width) == (view.window.center, view.window.width)
        assert presented.inverse is False
    if IMAGE_KINDS[seed % 5] == "CT":
        assert presented.rescale is not None
        assert (presented.rescale.slope, presented.rescale.intercept) == (1, -1024)
    for reference in {one.image for one in written.job.findings}:
        here = state.of(reference.sop_instance_uid, reference.frame)
        assert here is not None
        marks = [one for one in written.job.findings if one.image == reference]
        labels = [s.geometry.text for s in here.shapes if isinstance(s.geometry, Label)]
        assert sorted(text.splitlines()[0] for text in labels) == sorted(m.label for m in marks)
        lines = [
            points_of(s) for s in here.shapes if not isinstance(s.geometry, Label) if s.geometry
        ]
        wanted = [line for mark in marks for line in drawn(mark)]
        round_ones = sum(isinstance(one.geometry, Ellipse) for one in marks)
        lines.sort()
        assert len(lines) == len(wanted) + round_ones
        for line in wanted:
            assert any(
                len(line) == len(one)
                and np.allclose(np.array(line) + 0.5, np.array(one) + 0.5, rtol=1e-6, atol=1e-6)
                for one in lines
            )


@pytest.mark.parametrize("seed", seeds())
def test_key_images_are_those_selected(tmp_path: Path, seed: int) -> None:
    written = write(tmp_path, seed, "ko")
    report = read_report(written.instance)
    assert report.title == ("Of Interest", "For Teaching")[seed % 2]
    assert any(node.value == "Größe prüfen" for node in nodes_of(report.root))
    view = written.job.views[0]
    wanted = {(view.sop_instance_uid, view.frame)}
    wanted |= {(one.image.sop_instance_uid, one.image.frame) for one in written.job.findings}
    several = written.job.images[0].frames > 1
    found = {
        (link.sop_instance_uid, frame)
        for link in key_images(report)
        for frame in (link.frames if several else (0,))
    }
    assert found == wanted


@pytest.mark.parametrize("seed", seeds())
def test_a_capture_holds_the_very_pixels(tmp_path: Path, seed: int) -> None:
    written = write(tmp_path, seed, "sc")
    made = pydicom.dcmread(written.path)
    assert np.array_equal(made.pixel_array, written.job.picture)  # pyright: ignore[reportArgumentType]
    assert made.ConversionType == "WSD"
    assert made.get("BurnedInAnnotation") == ("YES" if written.job.marked else None)
    source = made.SourceImageSequence[0]
    assert source.ReferencedSOPInstanceUID == written.job.images[0].sop_instance_uid


def test_a_picture_becomes_a_capture_but_no_report(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "picture.png"
    Image.fromarray(np.zeros((8, 9), np.uint8)).save(path)
    [image] = instances([path])
    job = DicomExport("sr", (image,))
    for kind in ("sr", "seg", "gsps", "ko"):
        with pytest.raises(FileProblem, match="it is no DICOM image") as told:
            write_object(replace(job, kind=kind))
        assert "secondary capture" in told.value.remedy
    pixels = np.full((8, 9, 3), 7, np.uint8)
    capture = tmp_path / "capture.dcm"
    capture.write_bytes(write_object(replace(job, kind="sc", picture=pixels)).data)
    assert np.array_equal(pydicom.dcmread(capture).pixel_array, pixels)


def test_a_section_of_a_volume_is_reported_in_space(tmp_path: Path) -> None:
    images = instances(source_files(tmp_path, "CT", 1))
    plane = FramePlane((1.5, 2, 3), (1, 0, 0), (0, 0, -1), (0.5, 0.25), "1.2.3")
    ref = ImageRef("1.9", 0, "")
    [finding, *_] = random_findings(1, [ref], 20, 20, masks=False)
    finding = replace(finding, geometry=Polyline(((1.0, 2.0), (3.5, 4.25))), plane=plane)
    path = tmp_path / "sr.dcm"
    path.write_bytes(write_object(DicomExport("sr", tuple(images), (finding,))).data)
    [place] = [one for one in items(pydicom.dcmread(path)) if one.get("ValueType") == "SCOORD3D"]
    wanted = [*plane.point(1, 2), *plane.point(3.5, 4.25)]
    np.testing.assert_allclose(place.GraphicData, wanted, rtol=1e-6)
    assert place.ReferencedFrameOfReferenceUID == "1.2.3"


def test_nobody_verifies_what_nobody_reviewed(tmp_path: Path) -> None:
    images = instances(source_files(tmp_path, "CR", 1))
    ref = ImageRef(images[0].sop_instance_uid, 0, "")
    found = random_findings(1, [ref], 20, 20, masks=False)
    origin = replace(found[0].provenance, model="net")
    found = (replace(found[0], state=State.PROPOSED, provenance=origin), *found[1:])
    with pytest.raises(FileProblem, match="nobody has reviewed"):
        write_object(DicomExport("sr", tuple(images), found, verifier="Roe^Jane"))


def test_rejected_findings_are_never_chosen() -> None:
    found = random_findings(3, [ImageRef("1", 0, "")], 30, 30, masks=False)
    rejected = tuple(replace(one, state=State.REJECTED) for one in found)
    assert chosen(rejected, proposed=True) == ()
    assert all(one.state is not State.PROPOSED or not one.provenance.model for one in chosen(found))


def test_the_worker_writes_the_same_kind_of_object(tmp_path: Path, decoder: Decoder) -> None:
    images = instances(source_files(tmp_path, "CT", 2))
    ref = ImageRef(images[0].sop_instance_uid, 0, "")
    findings = random_findings(2, [ref], images[0].rows, images[0].columns, masks=True)
    data = decoder.dicom_object(DicomExport("seg", tuple(images), findings)).result()
    path = tmp_path / "seg.dcm"
    path.write_bytes(data.data)
    assert pydicom.dcmread(path).Modality == "SEG"


def test_a_mark_made_on_other_pixels_is_left_out_and_told(tmp_path: Path, decoder: Decoder) -> None:
    images = instances(source_files(tmp_path, "CT", 2))
    uid = images[0].sop_instance_uid
    own = decoder.frame(images[0], 0).result().ref
    (first, *_) = random_findings(2, [own], images[0].rows, images[0].columns, masks=True)
    job = DicomExport("sr", tuple(images), (first,))
    assert decoder.dicom_object(job).result().left_out == ()
    other = replace(first, id="other", image=ImageRef(uid, 0, "0" * 64))
    made = decoder.dicom_object(replace(job, findings=(other, first))).result()
    reason = "it was made on another version of the image, with other pixels"
    assert made.left_out == ((other.label, reason),)
    path = tmp_path / "sr.dcm"
    path.write_bytes(made.data)
    uids = {one.UID for one in items(pydicom.dcmread(path)) if one.get("ValueType") == "UIDREF"}
    assert uid_of_id(first.id) in uids
    assert uid_of_id("other") not in uids
    with pytest.raises(FileProblem, match="none of the marks can be written: it was made on"):
        decoder.dicom_object(replace(job, findings=(other,))).result()


@pytest.mark.parametrize("kind", ["sr", "seg", "gsps", "ko"])
def test_what_an_object_cannot_hold_is_left_out_and_told(tmp_path: Path, kind: str) -> None:
    images = instances(source_files(tmp_path, "CT", 2))
    first = images[0]
    ref = ImageRef(first.sop_instance_uid, 0, "")
    found = random_findings(2, [ref], first.rows, first.columns, masks=True)
    kept = replace(found[0], id="kept", label="Kept")  # a mask
    if kind != "seg":
        kept = replace(kept, geometry=Polyline(((1.0, 2.0), (3.5, 4.25))))
    plane = FramePlane((1.5, 2, 3), (1, 0, 0), (0, 0, -1), (0.5, 0.25), "")
    line = Polyline(((1.0, 2.0), (3.5, 4.25)))
    heat = Heatmap(np.zeros((first.rows, first.columns), np.float32))
    odd = [
        replace(kept, id="section", label="Section", geometry=line, plane=plane),
        replace(kept, id="closed", label="Closed", image=ImageRef("1.2.3", 0, "")),
        replace(kept, id="heat", label="Heat", geometry=heat),
    ]
    job = DicomExport(kind, tuple(images), (*odd, kept), views=(View(first.sop_instance_uid),))
    made = write_object(job)
    assert [label for label, _ in made.left_out] == ["Section", "Closed", "Heat"]
    assert dict(made.left_out)["Closed"] == "its image is not open"
    path = tmp_path / "made.dcm"
    path.write_bytes(made.data)
    if kind in ("sr", "gsps"):
        assert "Kept" in str(pydicom.dcmread(path))


def test_what_is_proposed_is_not_by_hand_though_its_maker_is_unknown() -> None:
    (one, *_) = random_findings(3, [ImageRef("1", 0, "")], 30, 30, masks=False)
    unknown = replace(one, state=State.PROPOSED, provenance=Provenance("x", "", "", "", "", ""))
    assert chosen((unknown,)) == ()
    assert chosen((unknown,), proposed=True) == (unknown,)


def test_a_mark_made_on_other_pixels_is_not_written(tmp_path: Path, decoder: Decoder) -> None:
    images = instances(source_files(tmp_path, "CT", 2))
    uid = images[0].sop_instance_uid
    own = decoder.frame(images[0], 0).result().ref
    (first, *_) = random_findings(2, [own], images[0].rows, images[0].columns, masks=True)
    job = DicomExport("sr", tuple(images), (first,))
    assert decoder.dicom_object(job).result()
    other = replace(first, image=ImageRef(uid, 0, "0" * 64))
    with pytest.raises(FileProblem, match="another version of the image"):
        decoder.dicom_object(replace(job, findings=(other,))).result()


@pytest.mark.parametrize("kind", ["sr", "seg"])
def test_a_filled_mask_is_reported_with_its_statistics_and_a_radlex_code(
    tmp_path: Path, kind: str
) -> None:
    image = instances(source_files(tmp_path, "CT", 2))[0]
    pixels = pydicom.dcmread(next(tmp_path.glob("*-0.dcm"))).pixel_array
    frame = Frame(pixels.astype(np.int16), ImageRef(image.sop_instance_uid, 0, ""))
    middle = image.columns // 2, image.rows // 2
    found = Filler(frame).fill(middle, reach=float(np.ptp(pixels)) / 2)
    assert found is not None
    made = replace(
        drawing.filled_mask(frame, found.mask, "filled"),
        code=Code("RID50299", "RADLEX", "PI-RADS 4 - High (lesion)"),
    )
    path = tmp_path / f"{kind}.dcm"
    path.write_bytes(write_object(DicomExport(kind, (image,), (made,))).data)
    if shutil.which("dciodvfy"):
        checked = subprocess.run(["dciodvfy", path], capture_output=True, text=True, check=False)
        assert "Error" not in checked.stderr
    read = pydicom.dcmread(path)
    text = str(read)
    assert "RID50299" in text
    if kind == "sr":
        inside = pixels[found.mask.pixels]
        values = {
            item.ConceptNameCodeSequence[0].CodeMeaning: float(
                item.MeasuredValueSequence[0].NumericValue
            )
            for item in _items(read)
            if item.get("ValueType") == "NUM"
        }
        assert values["Mean"] == pytest.approx(inside.mean())
        assert values["Maximum"] == inside.max()


def _items(part: pydicom.Dataset) -> Iterator[pydicom.Dataset]:
    for item in part.get("ContentSequence", ()):
        yield item
        yield from _items(item)


@pytest.mark.parametrize(
    ("kind", "keyword", "value", "reason"),
    [
        ("seg", "PixelSpacing", None, "its header lacks Pixel Spacing (0028,0030)"),
        ("gsps", "SamplesPerPixel", None, "its header lacks Samples per Pixel (0028,0002)"),
        ("sr", "PatientSex", b"QUENTINZYX", "the value of Patient's Sex (0010,0040)"),
        ("ko", "PatientBirthDate", b"QUENTINZYX", "the value of Patient's Birth Date (0010,0030)"),
        ("sr", "SOPClassUID", None, "its header lacks SOP Class UID"),
    ],
)
def test_the_attribute_that_does_not_allow_an_object_is_named(
    tmp_path: Path, kind: str, keyword: str, value: bytes | None, reason: str
) -> None:
    paths = source_files(tmp_path, "CT", 3)
    for path in paths:
        dataset = pydicom.dcmread(path)
        tag = dataset[keyword].tag
        vr = dataset[keyword].VR
        del dataset[keyword]
        if value is not None:
            dataset[tag] = RawDataElement(tag, vr, len(value), value, 0, False, True)
        dataset.save_as(path)
    images = instances(paths)
    refs = [ImageRef(one.sop_instance_uid, 0, "") for one in images]
    rows, columns = images[0].rows, images[0].columns
    marks = random_findings(3, refs, rows, columns, masks=kind == "seg")
    with pytest.raises(FileProblem) as told:
        write_object(DicomExport(kind, tuple(images), marks))
    assert told.value.reason.startswith(reason)
    assert told.value.subject == str(images[0].path)
    assert "Save" in told.value.remedy or "save" in told.value.remedy
    assert "QUENTINZYX" not in f"{told.value.text} {told.value.detail}"
    if keyword != "SOPClassUID":
        assert "write_" in told.value.detail  # where it arose is in the log
