"""Reports for the command `export`, drafted from accepted findings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.errors import FileProblem
from app.headless.common import tell_left_out
from app.imaging.findings import Finding
from app.imaging.reports.report_bytes import report_bytes
from app.imaging.reports.report_draft import Signature
from app.imaging.reports.report_subject import subject_of
from app.imaging.reports.sentences import LANGUAGES, draft_report
from app.imaging.reports.templates import template_for, templates
from app.imaging.reports.written_report import ReportExport, written_report
from app.imaging.types import Instance, ScanResult
from app.wiring import Program
from app.workspace.priors import priors_of
from app.workspace.report import reportable
from app.workspace.studies import Studies, StudyUids


@dataclass(frozen=True, slots=True)
class ReportOfImages:
    """The parts from which a report is made.

    Attributes:
        result: All images of the source; earlier studies of the patient are compared.
        shown: An image of the study that is reported.
        findings: Findings on the images; only accepted ones of the study are taken.
        form: One of REPORT_FORMS.
        signed_by: Who signs it; "" leaves it a draft.
    """

    program: Program
    result: ScanResult
    shown: Instance
    findings: Sequence[Finding]
    form: str
    signed_by: str
    organization: str = ""


def report_language(chosen: str) -> str:
    """Return the language of reports: that of the window, English where that is the computer's."""
    wanted = os.environ.get("SIGHTLINE_LANGUAGE") or chosen
    return wanted if wanted in LANGUAGES else "en"


def report_file(given: ReportOfImages) -> bytes:
    """Return the file of a report in its form.

    Raises:
        FileProblem: There is no accepted finding, or the images are no DICOM where it must be.
    """
    studies = Studies()
    studies.add(given.result)
    study = studies.study_of(given.shown)
    assert study is not None
    uids = StudyUids(study)
    kept = {
        one.id: one
        for one in given.findings
        if reportable(one) and one.image.sop_instance_uid in uids
    }
    tell_left_out({"not accepted, or not of the study": len(given.findings) - len(kept)})
    if given.findings and not kept:
        raise FileProblem(
            "there is no mark or accepted finding to report",
            subject=str(given.shown.path),
            remedy="Mark or accept a finding first.",
        )
    known, problems = templates()
    if problems:
        raise problems[0]
    images = studies.instances_with(one.image.sop_instance_uid for one in kept.values())
    subject = subject_of(study, images, studies.place_of, priors_of(study, studies.all))
    language = report_language(given.program.settings.language)
    draft = draft_report(subject, tuple(kept.values()), template_for(subject, known), language)
    if given.signed_by:
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        draft = draft.signed(Signature(given.signed_by, now), kept)
    report = written_report(draft, subject, kept)
    images = studies.instances_with(one.image.sop_instance_uid for one in report.findings)
    images = images or (given.shown,)

    def pdf() -> bytes:
        from app.views.report.report_pdf import report_pdf
        from app.views.report.report_pictures import all_drawn, pictures_of

        pictures = pictures_of(report.findings, studies.with_uid)
        return report_pdf(report, all_drawn(pictures, decoder, report.language))

    def write(job: ReportExport) -> bytes:
        return decoder.report_object(job).result()

    decoder = given.program.decoder
    return report_bytes(given.form, report, subject, images, write, pdf, given.organization)
