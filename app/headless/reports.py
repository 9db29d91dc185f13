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
from app.imaging.reports.report_draft import ReportSubject, Signature
from app.imaging.reports.report_subject import subject_of
from app.imaging.reports.sentences import LANGUAGES, draft_report
from app.imaging.reports.templates import template_for, templates
from app.imaging.reports.written_report import ReportExport, WrittenReport, written_report
from app.imaging.types import Instance, Series, Study
from app.wiring import Program
from app.workspace.priors import priors_of
from app.workspace.report import reportable


@dataclass(frozen=True, slots=True)
class ReportOfImages:
    """The parts from which a report is made.

    Attributes:
        studies: All studies of the source; those of one patient that are earlier are compared.
        shown: An image of the study that is reported.
        findings: Findings on the images; only accepted ones of the study are taken.
        form: One of REPORT_FORMS.
        signed_by: Who signs it; "" leaves it a draft.
    """

    program: Program
    studies: Sequence[Study]
    shown: Instance
    findings: Sequence[Finding]
    form: str
    signed_by: str
    organization: str = ""

    @property
    def study(self) -> Study:
        """The study that is reported."""
        return next(one for one in self.studies if self._is_in(one, self.shown.sop_instance_uid))

    @staticmethod
    def _is_in(study: Study, uid: str) -> bool:
        return any(one.sop_instance_uid == uid for s in study.series for one in s.instances)

    def place_of(self, uid: str) -> tuple[Series, int] | None:
        """Return the series of an image of the study and its index there, or None."""
        for series in self.study.series:
            for index, one in enumerate(series.instances):
                if one.sop_instance_uid == uid:
                    return series, index
        return None

    def written(self) -> tuple[ReportSubject, WrittenReport]:
        """Return the report and its study.

        Raises:
            FileProblem: No finding is one that a report may tell.
        """
        study = self.study
        kept = {
            one.id: one
            for one in self.findings
            if reportable(one) and self._is_in(study, one.image.sop_instance_uid)
        }
        tell_left_out({"not accepted, or not of the study": len(self.findings) - len(kept)})
        if self.findings and not kept:
            raise FileProblem(
                "there is no mark or accepted finding to report",
                subject=str(self.shown.path),
                remedy="Mark or accept a finding first.",
            )
        known, problems = templates()
        if problems:
            raise problems[0]
        images = dict.fromkeys(one.image.sop_instance_uid for one in kept.values())
        subject = subject_of(study, images, self.place_of, priors_of(study, self.studies))
        language = report_language(self.program.settings.language)
        draft = draft_report(subject, tuple(kept.values()), template_for(subject, known), language)
        if self.signed_by:
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            draft = draft.signed(Signature(self.signed_by, now), kept)
        return subject, written_report(draft, subject, kept)


def report_language(chosen: str) -> str:
    """Return the language of reports: that of the window, English where that is the computer's."""
    wanted = os.environ.get("SIGHTLINE_LANGUAGE") or chosen
    return wanted if wanted in LANGUAGES else "en"


def report_file(given: ReportOfImages) -> bytes:
    """Return the file of a report in its form.

    Raises:
        FileProblem: There is no accepted finding, or the images are no DICOM where it must be.
    """
    subject, report = given.written()
    images = tuple(
        one
        for series in given.study.series
        for one in series.instances
        if any(one.sop_instance_uid == other.image.sop_instance_uid for other in report.findings)
    ) or (given.shown,)

    def pdf() -> bytes:
        from app.views.report.report_pdf import report_pdf
        from app.views.report.report_pictures import all_drawn, pictures_of

        known = {one.sop_instance_uid: one for one in images}
        pictures = pictures_of(report.findings, known.get)
        return report_pdf(report, all_drawn(pictures, decoder, report.language))

    def write(job: ReportExport) -> bytes:
        return decoder.report_object(job).result()

    decoder = given.program.decoder
    return report_bytes(given.form, report, subject, images, write, pdf, given.organization)
