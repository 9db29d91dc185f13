"""Saves the shown study's report as a file: text, PDF, DICOM or FHIR."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.reports.written_report import WrittenReport, report_text
from app.views.report.report_pdf import report_pdf
from app.views.report.report_pictures import ReportPicture, all_drawn, pictures_of
from app.views.results.exporting import write_result
from app.views.translation import tr, translatable

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

FORMS = {
    translatable("Text (*.txt)"): "report-text",
    translatable("PDF (*.pdf)"): "report-pdf",
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
        dialog.accepted.connect(
            lambda: self.save(Path(dialog.selectedFiles()[0]), forms[dialog.selectedNameFilter()])
        )
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, path: Path, form: str) -> None:
        """Write the report in a form of FORMS, on a thread; the window tells how it ended."""
        window = self._window
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

        def done(_none: object) -> None:
            told = tr("Saved in {path}").format(path=path.parent)
            if written.signature is None:
                told = f"{told}\n{tr('Draft, not signed')}"
            window.notices.show_notice("info", tr("Exported"), told)

        def failed(error: SightlineError) -> None:
            window.notices.show_error(error)

        work = partial(write_result, content, path, "report", window.audit_log, opened)
        window.background.submit(work, done, failed)

    def _content(self, form: str, written: WrittenReport) -> Callable[[], bytes]:
        if form == "report-text":
            return lambda: report_text(written).encode()
        workspace = self._window.workspace
        colors = {item.finding.id: item for item in workspace.annotations.all()}
        pictures = pictures_of(
            written.findings, workspace.studies.with_uid, self._window.report.key_images(), colors
        )
        return partial(pdf_of, written, pictures, self._window.decoder)


def pdf_of(written: WrittenReport, pictures: list[ReportPicture], decoder: Decoder) -> bytes:
    """Return the report's PDF with its pictures; call this on a background thread."""
    return report_pdf(written, all_drawn(pictures, decoder))
