"""The file of a report in each of its forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from app.imaging.reports.diagnostic_report import diagnostic_report
from app.imaging.reports.report_draft import ReportSubject
from app.imaging.reports.written_report import (
    FHIR,
    PDF,
    SR,
    TEXT,
    ReportExport,
    WrittenReport,
    report_text,
)
from app.imaging.types import Instance


def report_bytes(
    form: str,
    report: WrittenReport,
    subject: ReportSubject,
    images: Sequence[Instance],
    write: Callable[[ReportExport], bytes],
    pdf: Callable[[], bytes],
    organization: str = "",
) -> bytes:
    """Return the bytes of a report's file; slow, so on a thread.

    `form` is one of REPORT_FORMS, `images` are those of its findings, at least one, `write`
    makes a DICOM object, `pdf` the PDF, and `organization` is that of the person who signed.

    Raises:
        FileProblem: The images are no DICOM where they must be, or cannot be read.
    """
    if form == TEXT:
        return report_text(report).encode()
    if form == FHIR:
        return diagnostic_report(report, subject, images)
    if form == PDF:
        return pdf()
    page = None if form == SR else np.frombuffer(pdf(), np.uint8)
    job = ReportExport(form, tuple(images), report, organization, page)
    return write(job)
