"""The command `export`: findings and images as DICOM objects, tables, pictures or reports."""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.audit.exports import record_export
from app.errors import FileProblem, UsageError, writing
from app.headless.common import given_findings, open_program, scan_source, tell_left_out
from app.headless.render import marks_on
from app.headless.reports import ReportOfImages, report_file
from app.imaging.exports import KINDS, DicomExport, View, chosen
from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Heatmap,
    Instances,
    Mask,
    Point,
    Polygon,
    Polyline,
    Segments,
)
from app.imaging.pixels import pipeline
from app.imaging.pixels.numbered_objects import measured_objects
from app.imaging.reports.written_report import REPORT_FORMS
from app.imaging.types import Instance, ScanResult, Window
from app.tools.tables import plain_cell
from app.user_files import write_atomic
from app.wiring import Program
from app.workspace.studies import instances_of
from app.workspace.workspace import first_to_show


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The arguments of `export`.

    Attributes:
        findings: JSON file of findings; None for none.
        image: File, folder or archive with the images.
        form: One of `FORMS`.
        frame: Frame from 0 for forms about one frame; None for that of the first finding.
        proposed: Whether findings that nobody has accepted are written, too.
        verified_by: Who verifies a report; "" leaves it unverified.
    """

    image: Path
    form: str
    out: Path
    findings: Path | None = None
    frame: int | None = None
    window: Window | None = None
    force: bool = False
    proposed: bool = False
    verified_by: str = ""
    organization: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is exported: the scanned images, the chosen findings and the image they are on."""

    program: Program
    request: ExportRequest
    result: ScanResult
    findings: tuple[Finding, ...]
    shown: Instance
    frame: int

    @property
    def report(self) -> ReportOfImages:
        """The report of the shown study; it takes no finding that is only proposed."""
        request, result = self.request, self.result
        return ReportOfImages(
            self.program,
            result,
            self.shown,
            self.findings,
            request.form,
            request.verified_by,
            request.organization,
        )

    @property
    def images(self) -> tuple[Instance, ...]:
        """The images with findings; without any, the one that is shown."""
        uids = {one.image.sop_instance_uid for one in self.findings}
        found = [one for one in instances_of(self.result.studies) if one.sop_instance_uid in uids]
        return tuple({one.sop_instance_uid: one for one in found}.values()) or (self.shown,)


def export(request: ExportRequest) -> int:
    """Write one file and return the exit code.

    Raises:
        FileProblem: Something cannot be read, written, or expressed in the form.
        UsageError: The arguments do not fit together.
    """
    with open_program() as program:
        subject = _subject(program, request)
        make = _WRITERS.get(request.form)
        data = make(subject) if make is not None else None
        opened = [request.image, *(one.path for one in instances_of(subject.result.studies))]
        with record_export(
            program.audit,
            "findings",
            request.out,
            images=[one.sop_instance_uid for one in subject.images],
            opened=opened,
            replace=request.force,
        ):
            if data is not None:
                write_file(request.out, data)
            else:
                _write_picture(subject)
    return 0


def write_file(path: Path, data: bytes) -> None:
    """Write a file, complete or not at all; raise FileProblem where that fails."""
    with writing(path):
        write_atomic(path, data)


def _subject(program: Program, request: ExportRequest) -> Subject:
    result = scan_source(program.decoder, request.image)
    given = ()
    if request.findings is not None:
        given = given_findings(program, request.findings, result)
    images = [one for one in instances_of(result.studies) if one.has_frames]
    uids = {one.sop_instance_uid for one in images}
    spaces = {one.get("FrameOfReferenceUID") for one in images} - {""}
    here = tuple(
        one
        for one in given
        if one.image.sop_instance_uid in uids
        or (one.plane is not None and one.plane.frame_of_reference in spaces)
    )
    if given and not here:
        raise FileProblem(
            "none of the findings is on these images",
            subject=str(request.findings),
            remedy="Give with --image the images on which the findings were made.",
        )
    same = _on_these_pixels(program, result, here)
    kept = chosen(same, proposed=request.proposed)
    for one in here:
        if one not in same:
            place = f"{one.image.sop_instance_uid}, frame {one.image.frame + 1}"
            print(f"sightline: made on other pixels: {one.label} ({place})", file=sys.stderr)
    tell_left_out(
        {
            "on other images": len(given) - len(here),
            "made on other pixels than these images have": len(here) - len(same),
            "not accepted; --proposed takes what is only proposed, too": len(same) - len(kept),
        }
    )
    first = first_to_show(result)
    if kept:
        wanted = {one.image.sop_instance_uid for one in kept[:1]}
        space = kept[0].plane.frame_of_reference if kept[0].plane is not None else None
        first = next(
            one
            for one in images
            if one.sop_instance_uid in wanted or one.get("FrameOfReferenceUID") == space
        )
    if first is None or not first.has_frames:
        raise FileProblem(
            "there is no image in it", subject=str(request.image), remedy="Give images."
        )
    flat = [one for one in kept if one.plane is None]
    frame = request.frame if request.frame is not None else flat[0].image.frame if flat else 0
    if not 0 <= frame < first.frames:
        remedy = f"Choose one from 0 to {first.frames - 1}."
        raise UsageError(f"there is no frame {frame}", subject=str(request.image), remedy=remedy)
    return Subject(program, request, result, kept, first, frame)


def _on_these_pixels(
    program: Program, result: ScanResult, findings: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Return the findings that were made on the very pixels of the images.

    Raises:
        FileProblem: None of them was, or an image cannot be read.
    """
    images = {one.sop_instance_uid: one for one in instances_of(result.studies) if one.has_frames}
    flat = [one for one in findings if one.plane is None]
    places = dict.fromkeys((one.image.sop_instance_uid, one.image.frame) for one in flat)
    refs = {
        (uid, index): program.decoder.frame(images[uid], index).result().ref
        for uid, index in places
        if index < images[uid].frames
    }
    same = tuple(
        one
        for one in findings
        if one.plane is not None
        or refs.get((one.image.sop_instance_uid, one.image.frame)) == one.image
    )
    if findings and not same:
        raise FileProblem(
            "the findings were made on other pixels than these images have",
            subject=findings[0].image.sop_instance_uid,
            remedy="Give with --image the files on which the findings were made.",
        )
    return same


def _dicom(subject: Subject) -> bytes:
    request = subject.request
    view = View(subject.shown.sop_instance_uid, subject.frame, request.window)
    picture = None
    if request.form == "sc":
        frame = subject.program.decoder.frame(subject.shown, subject.frame).result()
        grey = pipeline.render(frame, request.window)
        picture = grey if grey.ndim == 3 else np.repeat(grey[..., None], 3, axis=2)
    job = DicomExport(
        request.form,
        (subject.shown,) if request.form == "sc" else subject.images,
        subject.findings,
        verifier=request.verified_by,
        organization=request.organization,
        views=(view,),
        picture=picture,
        marked=False,
    )
    made = subject.program.decoder.dicom_object(job).result()
    tell_left_out(Counter(reason for _, reason in made.left_out))
    return made.data


_COLUMNS = (
    *("id", "label", "code", "coding_scheme", "site", "state", "reviewer", "reviewed", "tool"),
    *("model", "score", "sop_instance_uid", "frame", "geometry", "points"),
    *("measurement", "value", "units", "rests_on", "object"),
)


def findings_csv(findings: tuple[Finding, ...]) -> bytes:
    """Return a table with a line for each measurement, or for each finding without any.

    Numbered objects have a line each, with its area and, as its point, its centroid.
    """
    stream = io.StringIO(newline="")
    table = csv.writer(stream)
    table.writerow(_COLUMNS)
    for one in findings:
        code, site = one.code, one.site
        about = (
            *(one.id, one.label, code.value if code else "", code.scheme if code else ""),
            *(site.meaning if site else "", one.state.value, one.reviewer, one.reviewed),
            *(one.provenance.tool, one.provenance.model, "" if one.score is None else one.score),
            *(one.image.sop_instance_uid, one.image.frame, type(one.geometry).__name__),
            _points(one),
        )
        rows = [(m.name, m.value, m.units, m.rests_on, "") for m in one.measurements]
        if not rows:
            rows = [("", "" if one.value is None else one.value, one.units, "", "")]
        for row in rows:
            table.writerow([plain_cell(cell) for cell in (*about, *row)])
        if isinstance(one.geometry, Instances):
            found = measured_objects(one.geometry.labels)
            cells = [plain_cell(cell) for cell in about[:-1]]
            for number, area, (x, y) in zip(
                found.numbers.tolist(), found.areas.tolist(), found.centroids.tolist(), strict=True
            ):
                table.writerow((*cells, f"{x!r},{y!r}", "Area", area, "px²", "", number))
    return ("\ufeff" + stream.getvalue()).encode()


def _points(finding: Finding) -> str:
    match finding.geometry:
        case Point(x, y):
            return f"{x!r},{y!r}"
        case Polyline(points) | Segments(points) | Polygon(points):
            return " ".join(f"{x!r},{y!r}" for x, y in points)
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
            return f"{x0!r},{y0!r} {x1!r},{y1!r}"
        case Mask() | Heatmap() | Instances():
            return ""


_PICTURES = {"png": "png", "jpeg": "jpg", "tiff": "tiff", "gif": "gif", "mp4": "mp4"}
_SERIES = ("tiff", "gif", "mp4")  # forms that hold every frame of the image


def _write_picture(subject: Subject) -> None:
    """Write a picture or movie without names, into a temporary folder moved when whole."""
    from app.views.canvas.annotated_render import Look, render_annotated
    from app.views.canvas.corner_text import Detail
    from app.views.canvas.scrolling import frame_duration
    from app.views.pictures.picture_files import Form, open_writer

    form, image = Form(_PICTURES[subject.request.form]), subject.shown
    every = subject.request.form in _SERIES and subject.request.frame is None
    indices = range(image.frames) if every else (subject.frame,)
    out = subject.request.out
    try:
        with (
            writing(out),
            tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".sightline-") as folder,
        ):
            path = Path(folder) / f"picture.{form.value}"
            with open_writer(path, form, len(indices)) as writer:
                for index in indices:
                    frame = subject.program.decoder.frame(image, index).result()
                    pixels = render_annotated(
                        frame,
                        image,
                        subject.request.window,
                        index,
                        marks=marks_on(subject.findings, image, frame),
                        look=Look(detail=Detail.NO_NAMES),
                    )
                    writer.write(pixels, frame_duration(image, index))
            path.replace(out)
    except FileProblem as problem:  # it may name the file in the folder
        name = problem.subject if ".sightline-" not in problem.subject else str(out)
        raise FileProblem(problem.reason, subject=name, remedy=problem.remedy) from problem


_WRITERS: dict[str, Callable[[Subject], bytes]] = {
    **dict.fromkeys(KINDS, _dicom),
    "csv": lambda subject: findings_csv(subject.findings),
    **dict.fromkeys(REPORT_FORMS, lambda subject: report_file(subject.report)),
}
"""The content of the file, by the form; pictures are too large to be held as bytes."""

FORMS = (*_WRITERS, *_PICTURES)
