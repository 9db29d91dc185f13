"""Saves the shown study's report as a file: text, PDF, DICOM or FHIR."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from app.errors import SightlineError
from app.imaging.reports.report_bytes import report_bytes
from app.imaging.reports.written_report import (
    ENCAPSULATED,
    FHIR,
    PDF,
    SR,
    TEXT,
    ReportExport,
    WrittenReport,
)
from app.views.report.report_pdf import report_pdf
from app.views.report.report_pictures import all_drawn, pictures_of
from app.views.results.exporting import write_result
from app.views.translation import tr, tr_n, translatable

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

FORMS = {
    translatable("Text (*.txt)"): TEXT,
    translatable("PDF (*.pdf)"): PDF,
    translatable("PDF in DICOM (*.dcm)"): ENCAPSULATED,
    translatable("DICOM structured report (*.dcm)"): SR,
    translatable("FHIR DiagnosticReport (*.json)"): FHIR,
}
"""Filter of the file dialog and the form that it stands for."""


class ReportFiles:
    """The command that saves the report of the shown study."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def export(self) -> None:
        """Ask for a file and form for the report; it is drafted first if it has not been."""
        self._window.report.use()
        dialog = QFileDialog(self._window, tr("Export the report"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        forms = {tr(name): form for name, form in FORMS.items()}
        dialog.setNameFilters(list(forms))
        endings = {name: name.rpartition("*.")[2].rstrip(")") for name in forms}
        dialog.setDefaultSuffix(next(iter(endings.values())))
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix(endings[name]))
        dialog.selectFile(tr("Sightline report"))
        key = self._window.report.key

        def save() -> None:
            if self._window.report.key == key:
                self.save(Path(dialog.selectedFiles()[0]), forms[dialog.selectedNameFilter()])
            else:  # a run of the assistant may show another one meanwhile
                told = tr("Another study is shown now: nothing was saved")
                self._window.notices.show_notice("warning", told)

        dialog.accepted.connect(save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, path: Path, form: str) -> None:
        """Write the report in a form of FORMS, on a thread; the window tells how it ended."""
        window = self._window
        window.report.use()
        try:
            written = window.report.written()
        except SightlineError as error:
            window.notices.show_error(error)
            return
        if written is None:
            window.notices.show_notice("info", tr("There is no report yet"))
            return
        content = self._content(form, written)
        opened = list(window.workspace.opened_files())

        left = len(window.report.checks) if written.signature is None else 0

        def done(_none: object) -> None:
            told = tr("Saved in {path}").format(path=path.parent)
            if written.signature is None:
                told = f"{told}\n{tr('Draft, not signed')}"
            if left:
                told = f"{told}. {tr_n('%n thing to look at', '%n things to look at', left)}"
            window.notices.show_notice("info", tr("Exported"), told)

        def failed(error: SightlineError) -> None:
            window.notices.show_error(error)

        work = partial(write_result, content, path, "report", window.audit_log, opened)
        window.background.submit(work, done, failed)

    def _content(self, form: str, written: WrittenReport) -> Callable[[], bytes]:
        """Return what makes the file, on a background thread."""
        workspace, report = self._window.workspace, self._window.report
        found = workspace.studies.instances_with(
            one.image.sop_instance_uid for one in written.findings
        )
        shown = workspace.acquired
        images = found or ((shown,) if shown is not None else ())
        colors = {item.finding.id: item for item in workspace.annotations.all()}
        with_uid, decoder = workspace.studies.with_uid, self._window.decoder
        pictures = pictures_of(written.findings, with_uid, report.key_images(), colors)

        def pdf() -> bytes:
            return report_pdf(written, all_drawn(pictures, decoder, written.language))

        def write(job: ReportExport) -> bytes:
            return decoder.report_object(job).result()

        return partial(report_bytes, form, written, report.subject, images, write, pdf)
