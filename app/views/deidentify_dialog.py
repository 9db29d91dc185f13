"""The dialog that writes a de-identified copy of a study or series into a folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialog,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QWidget,
)
from shiboken6 import isValid

from app.audit.exports import record_export
from app.audit.log import AuditLog
from app.errors import CancelToken
from app.imaging.deidentify.options import Blank, Option, Summary, check_folder
from app.imaging.deidentify.process import deidentify_apart
from app.imaging.findings import Box
from app.imaging.types import Instance, Series, Study
from app.views.background import DaemonTasks, gui_calls
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import ProgressRow, label, plain_tip, push_button
from app.workspace import drawing
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

OPTION_TEXTS = {
    Option.PATIENT: translatable("Keep the patient's sex, age, size, weight and the like"),
    Option.FULL_DATES: translatable("Keep dates and times as they are"),
    Option.MODIFIED_DATES: translatable("Keep the time between dates: all of a patient move alike"),
    Option.DESCRIPTORS: translatable("Keep the common words of descriptions and comments"),
    Option.STRUCTURED: translatable("Keep the common words of reports"),
    Option.GRAPHICS: translatable("Keep drawn marks, with the common words of their texts"),
    Option.UIDS: translatable("Keep UIDs: whoever has the originals can find them by these"),
    Option.DEVICE: translatable("Keep station names and serial numbers of devices"),
    Option.INSTITUTION: translatable("Keep the institution's name and address"),
    Option.SAFE_PRIVATE: translatable("Keep private numbers that the standard lists as safe"),
}
"""One sentence for each option, in the order of the dialog."""

_LISTED = 200


class DeidentifyDialog(QDialog):
    """Asks what is copied, with which options and to where; copies; says what became of it.

    Args:
        parent: The window.
        study: The study to copy from.
        series: The series that is shown, or None.
        audit: Where the export is recorded; None to record nothing.
        blanks: The boxes that the user has marked on images of the study.
    """

    def __init__(
        self,
        parent: QWidget,
        study: Study,
        series: Series | None,
        audit: AuditLog | None = None,
        blanks: Sequence[Blank] = (),
    ) -> None:
        super().__init__(parent)
        self._study, self._series, self._audit = study, series, audit
        self._blanks = blanks
        self._tasks = DaemonTasks(self)
        self._token: CancelToken | None = None
        self.setWindowTitle(tr("De-identified copy"))
        self.setMinimumWidth(620)
        self.of_study = QRadioButton(tr("The whole study"))
        self.of_series = QRadioButton(tr("Only the series that is shown"))
        self.of_study.setChecked(True)
        self.of_series.setEnabled(series is not None)
        what = QButtonGroup(self)
        what.addButton(self.of_study)
        what.addButton(self.of_series)
        self.options = {one: QCheckBox(tr(text)) for one, text in OPTION_TEXTS.items()}
        full, modified = self.options[Option.FULL_DATES], self.options[Option.MODIFIED_DATES]
        full.toggled.connect(lambda on: modified.setChecked(modified.isChecked() and not on))
        modified.toggled.connect(lambda on: full.setChecked(full.isChecked() and not on))
        self.burnt_in = QCheckBox(tr("Copy also files that are declared to have burnt-in text"))
        self.blank = QCheckBox(
            tr_n(
                "Blank what lies in %n marked box, on all images of its series",
                "Blank what lies in %n marked boxes, on all images of their series",
                len(blanks),
            )
            if blanks
            else tr("Blank what lies in marked boxes: mark boxes over the text first (B)")
        )
        self.blank.setEnabled(bool(blanks))
        self.blank.setToolTip(
            plain_tip(
                tr(
                    "These pixels are overwritten in the copy, which is stored without compression "
                    "and says that no text is burnt in."
                )
            )
        )
        self.folder = QLineEdit()
        self.folder.setAccessibleName(tr("Folder for the copy"))
        self.folder.setPlaceholderText(tr("A folder outside of the originals"))
        self.folder.textChanged.connect(self._refresh)
        self.browse = push_button(tr("Browse…"), self._browse)
        self.copy_button = push_button(tr("Copy"), self._start, primary=True)
        self.close_button = push_button(tr("Close"), self.reject)
        self.stop_button = push_button(tr("Stop"), self._stop)
        self.progress = ProgressRow(self.stop_button, 160)
        self.report = QPlainTextEdit()
        self.report.setReadOnly(True)
        self.report.setAccessibleName(tr("What was copied and what was left out"))
        self.report.setMinimumHeight(150)
        self.report.hide()
        self.form = self._make_form()
        column(
            label(
                tr(
                    "Names, ids, dates, free texts, private attributes, overlays and UIDs are "
                    "removed or replaced by the Basic Profile of DICOM PS3.15. Tick what must stay."
                ),
                wrap=True,
            ),
            self.form,
            (self.report, 1),
            self.progress,
            row(1, self.close_button, self.copy_button),
            spacing=SPACE.m,
            margins=SPACE.xl,
            parent=self,
        )
        self._refresh()

    def _make_form(self) -> QWidget:
        form = QWidget()
        warning = tr(
            "Text that is burnt into pixels and faces in them stay, but for what you blank: look "
            "at each picture before you hand the copy on."
        )
        options = QWidget()
        column(*self.options.values(), spacing=SPACE.xs, parent=options)
        column(
            row(self.of_study, self.of_series, 1),
            options,
            label(warning, "warning", wrap=True),
            self.blank,
            self.burnt_in,
            row(label(tr("Folder")), (self.folder, 1), self.browse),
            spacing=SPACE.m,
            parent=form,
        )
        return form

    @property
    def running(self) -> bool:
        return self._token is not None

    def _refresh(self) -> None:
        self.copy_button.setEnabled(bool(self.folder.text().strip()) and not self.running)
        self.close_button.setEnabled(not self.running)
        self.form.setEnabled(not self.running)
        self.progress.setVisible(self.running)

    def _browse(self) -> None:
        name = QFileDialog.getExistingDirectory(self, tr("Folder for the copy"))
        if name:
            self.folder.setText(name)

    def _start(self) -> None:
        out = Path(self.folder.text().strip()).expanduser()
        chosen = [one for one, box in self.options.items() if box.isChecked()]
        only = self.of_series.isChecked() and self._series is not None
        series = (self._series,) if only and self._series is not None else self._study.series
        lists = [one.instances for one in series]
        burnt_in, audit = self.burnt_in.isChecked(), self._audit
        blanks = tuple(self._blanks) if self.blank.isChecked() else ()

        def work(token: CancelToken) -> Summary:
            instances: list[Instance] = [one for found in lists for one in found]
            files = list(dict.fromkeys(one.path for one in instances))
            folders = dict.fromkeys(path.parent for path in files)
            check_folder(out, [*folders, *files])
            uids = [one.sop_instance_uid for one in instances]
            with record_export(audit, "de-identified copy", out / "copy.dcm", images=uids):
                return deidentify_apart(
                    files,
                    out,
                    chosen,
                    burnt_in=burnt_in,
                    blanks=blanks,
                    progress=lambda done, of: gui_calls().send(partial(self._tell, done, of)),
                    cancelled=lambda: token.cancelled or stop.cancelled,
                )

        # A token of its own: after the task's is cancelled, its result would not arrive.
        stop = CancelToken()
        self._token = stop
        self.progress.set_progress(tr("Starting…"))
        self.report.hide()
        self._refresh()
        self._tasks.run(work, self._show, self._fail)

    def _tell(self, done: int, of: int) -> None:
        if isValid(self) and self.running:
            text = tr("{done} of {count} files").format(done=done, count=of)
            self.progress.set_progress(text, done, of)

    def _stop(self) -> None:
        if self._token is not None:
            self._token.cancel()

    def _show(self, summary: Summary) -> None:
        self._end("\n".join(summary_lines(summary)))

    def _fail(self, reason: str) -> None:
        self._end(tr("Nothing was copied: {reason}").format(reason=tr_report(reason)))

    def _end(self, text: str) -> None:
        self._token = None
        self.report.setPlainText(text)
        self.report.show()
        self._refresh()

    def reject(self) -> None:
        if not isValid(self):
            return  # the window closes, long after this dialog
        self._stop()
        self._tasks.close()
        super().reject()


def summary_lines(summary: Summary) -> list[str]:
    """Return what became of the files: numbers, what to look at, and each file left out."""
    lines = [tr_n("%n file copied.", "%n files copied.", len(summary.copied))]
    if summary.cancelled:
        lines.append(tr("Stopped before the last file; the copies that were made stay."))
    for text, count in sorted(summary.warnings.items()):
        files = tr_n("%n copy", "%n copies", count)
        lines.append(f"{files}: {tr_report(text)}.")
    if summary.left_out:
        lines.append(tr_n("%n file left out:", "%n files left out:", len(summary.left_out)))
    reasons = Counter((one.reason, one.remedy) for one in summary.left_out)
    for (reason, remedy), count in reasons.most_common():
        files = tr_n("%n file", "%n files", count)
        ending = f" {tr_report(remedy)}." if remedy else ""
        lines.append(f"{files}: {tr_report(reason)}.{ending}")
    lines += [f"  {one.path}: {tr_report(one.reason)}" for one in summary.left_out[:_LISTED]]
    return lines


def marked_boxes(workspace: Workspace, study: Study) -> tuple[Blank, ...]:
    """Return the boxes that the user has marked on acquired images of a study."""
    found: dict[Blank, None] = {}
    for item in workspace.annotations.all():
        one, shape = item.finding, item.finding.geometry
        image = workspace.studies.with_uid(one.image.sop_instance_uid)
        marked = drawing.by_hand(one) and one.provenance.tool == drawing.BOX and one.plane is None
        if not (marked and isinstance(shape, Box)) or image is None:
            continue
        if workspace.studies.study_of(image) is not study or not workspace.scales.is_of(one.image):
            continue
        box = (
            *(math.floor(shape.x0 + 0.5), math.floor(shape.y0 + 0.5)),
            *(math.ceil(shape.x1 + 0.5), math.ceil(shape.y1 + 0.5)),
        )
        found[Blank(image.get("SeriesInstanceUID"), image.rows, image.columns, box)] = None
    return tuple(found)


def open_dialog(window: MainWindow) -> None:
    """Open the dialog for the study that is shown, else the last of the open studies."""
    studies = window.workspace.studies
    shown = window.workspace.acquired
    study = studies.study_of(shown) if shown is not None else None
    series = studies.series_of(shown) if shown is not None else None
    if study is None:
        if not studies.all:
            return
        study = studies.all[-1]
    blanks = marked_boxes(window.workspace, study)
    dialog = DeidentifyDialog(window, study, series, window.audit_log, blanks)
    dialog.finished.connect(dialog.deleteLater)
    window.closing.connect(dialog.reject)
    dialog.open()
