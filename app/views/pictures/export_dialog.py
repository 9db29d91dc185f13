"""The dialogs that save what a viewport shows as a picture or movie, and print it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QProgressBar,
    QSpinBox,
    QWidget,
)

from app.audit.exports import record_export
from app.audit.log import AuditLog
from app.errors import Cancelled, CancelToken, SightlineError
from app.imaging.decode import Decoder
from app.views.background import DaemonTasks, gui_calls
from app.views.canvas.annotated_render import Look
from app.views.canvas.corner_text import Detail
from app.views.canvas.image_layer import to_qimage
from app.views.layouts import column, row
from app.views.pictures import printing
from app.views.pictures.picture_files import (
    MOVIES,
    QUALITY,
    SUFFIXES,
    Form,
    check_files,
    open_writer,
)
from app.views.pictures.picture_source import PictureSource, Pixels, source_of
from app.views.theme import SPACE
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import label, push_button

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_TITLES = {
    Form.PNG: translatable("PNG (exact)"),
    Form.JPEG: translatable("JPEG (smaller, not exact)"),
    Form.TIFF: translatable("TIFF (exact; a page for each image)"),
    Form.GIF: translatable("GIF (256 colours; moves)"),
    Form.MP4: translatable("MP4 movie"),
}
_DETAILS: tuple[tuple[str, Detail | None], ...] = (
    (translatable("Without names and dates"), Detail.NO_NAMES),
    (translatable("With names"), Detail.ALL),
    (translatable("Warnings and sides only"), Detail.NONE),
    (translatable("No texts"), None),
)
_LEFT_OUT = translatable(
    "Without names, texts and overlays that files draw on the image are left out too, and labels "
    "with the patient's name or ID."
)
_SCALE = (10, 400)  # per cent


def _encoder_problem() -> str:
    from app.views.pictures import movie_file

    return movie_file.encoder_problem()


class PictureOptions(QWidget):
    """What is drawn over the pixels, and the warning about text that the pixels may hold."""

    def __init__(self, source: PictureSource) -> None:
        super().__init__()
        self.marks = QCheckBox(tr("Marks, findings and layers"))
        self.marks.setChecked(True)
        self.texts = QComboBox()
        self.texts.setAccessibleName(tr("Texts"))
        for title, _detail in _DETAILS:
            self.texts.addItem(tr(title))
        burnt = ""
        if source.risk:
            burnt = tr("Check the picture before you hand it on. {risk}").format(
                risk=tr_report(source.risk)
            )
        self.warning = label(burnt, "warning", wrap=True)
        self.warning.setVisible(bool(burnt))
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow(tr("Draw"), self.marks)
        form.addRow(tr("Texts"), self.texts)
        form.addRow(self.warning)
        self.left_out = label(tr(_LEFT_OUT), "caption", wrap=True)
        form.addRow(self.left_out)
        self.marks.toggled.connect(self._refresh)
        self.texts.currentIndexChanged.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        look = self.look
        self.left_out.setVisible(look.marks and look.detail is not Detail.ALL)

    @property
    def look(self) -> Look:
        return Look(marks=self.marks.isChecked(), detail=_DETAILS[self.texts.currentIndex()][1])


class ExportDialog(QDialog):
    """Asks for what is saved and how, and saves it; it stays open until the files are written."""

    def __init__(
        self,
        parent: QWidget,
        source: PictureSource,
        *,
        movie: bool,
        audit: AuditLog | None,
        opened: Callable[[], Sequence[Path]],
        done: Callable[[str], object],
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Export a movie") if movie else tr("Export a picture"))
        self._source, self._audit, self._opened, self._done = source, audit, opened, done
        self._tasks = DaemonTasks(self)
        self._token: CancelToken | None = None
        count = len(source.frames)
        self.what = QComboBox()
        self.what.addItem(tr("The image as shown"), False)
        if count > 1:
            self.what.addItem(tr_n("The series: %n image", "The series: %n images", count), True)
        self.form = QComboBox()
        self.extent = QComboBox()
        self.extent.addItem(tr("Whole image, its own pixels"), False)
        self.extent.addItem(tr("As on the screen"), True)
        self.scale = QSpinBox(minimum=_SCALE[0], maximum=_SCALE[1], value=100, suffix=" %")
        self.scale.setSingleStep(25)
        self.quality = QSpinBox(minimum=1, maximum=100, value=QUALITY)
        self.options = PictureOptions(source)
        self.problem = label("", "error", wrap=True)
        self.problem.hide()
        self.bar = QProgressBar()
        self.bar.hide()
        self.save_button = push_button(tr("Export…"), self.choose_file, primary=True)
        self.cancel_button = push_button(tr("Cancel"), self.reject)
        form = QFormLayout()
        for title, field in (
            (tr("What"), self.what),
            (tr("Form"), self.form),
            (tr("Size"), self.extent),
            (tr("Scale"), self.scale),
            (tr("JPEG quality"), self.quality),
        ):
            field.setAccessibleName(title)
            form.addRow(title, field)
        column(
            form,
            self.options,
            self.problem,
            self.bar,
            row(1, self.cancel_button, self.save_button),
            spacing=SPACE.m,
            margins=SPACE.xl,
            parent=self,
        )
        self.what.currentIndexChanged.connect(self._fill_forms)
        self.form.currentIndexChanged.connect(self._follow_form)
        if movie and count > 1:
            self.what.setCurrentIndex(1)
        self._fill_forms()
        if movie and count > 1:
            self.form.setCurrentIndex(self.form.findData(Form.MP4.value))

    @property
    def busy(self) -> bool:
        return self._token is not None

    def _fill_forms(self) -> None:
        """Offer the forms for one picture or for a series; keep the chosen one if it is among."""
        chosen, series = self.form.currentData(), self.what.currentData()
        self.form.blockSignals(True)
        self.form.clear()
        for form, title in _TITLES.items():
            if series or form not in MOVIES:
                self.form.addItem(tr(title), form.value)
        self.form.setCurrentIndex(max(self.form.findData(chosen), 0))
        self.form.blockSignals(False)
        self._follow_form()

    def _follow_form(self) -> None:
        form = Form(self.form.currentData())
        self.quality.setEnabled(form is Form.JPEG)
        self._tell("")
        self.save_button.setEnabled(form is not Form.MP4)
        if form is Form.MP4:
            # On a thread: Qt's movie library takes 60 to 110 ms to load.
            self._tasks.run(lambda _token: _encoder_problem(), self._take_encoder, self._tell)

    def _take_encoder(self, reason: str) -> None:
        if Form(self.form.currentData()) is Form.MP4 and not self.busy:
            if reason:
                self._tell(tr("{reason}. GIF movies can be saved.").format(reason=reason))
            self.save_button.setEnabled(not reason)

    def _tell(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    @property
    def look(self) -> Look:
        chosen = self.options.look
        view = self._source.view if self.extent.currentData() else None
        return Look(chosen.marks, chosen.detail, self.scale.value() / 100, view)

    def choose_file(self) -> None:
        form = Form(self.form.currentData())
        dialog = QFileDialog(self, self.windowTitle())
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([f"{form.name} (*.{form.value})"])
        dialog.setDefaultSuffix(form.value)
        # Nothing of the patient: names of files are seen by others.
        name = tr("Sightline series") if self.what.currentData() else tr("Sightline picture")
        dialog.selectFile(name)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self.save(Path(dialog.selectedFiles()[0])))
        dialog.open()

    def save(self, path: Path) -> None:
        """Write the chosen pictures to `path`, or to numbered files beside it."""
        form = Form(self.form.currentData())
        if SUFFIXES.get(path.suffix.lower().lstrip(".")) is not form:
            path = path.with_name(f"{path.name}.{form.value}")
        series = bool(self.what.currentData())
        places = range(len(self._source.frames)) if series else [self._source.place]
        self._tell("")
        for field in (self.save_button, self.options, self.what, self.form, self.extent):
            field.setEnabled(False)
        self.bar.setRange(0, len(places))
        self.bar.setValue(0)
        self.bar.show()

        def progress(number: int) -> None:
            if self._token is not None:
                self.bar.setValue(number)

        work = partial(
            write_pictures,
            self._source,
            places,
            self.look,
            form,
            path,
            quality=self.quality.value(),
            audit=self._audit,
            opened=self._opened(),
            progress=lambda number: gui_calls().send(partial(progress, number)),
        )
        self._token = self._tasks.run(work, partial(self._finish, path), self._fail)

    def _finish(self, path: Path, _count: object) -> None:
        self._token = None
        self._done(tr("Saved in {path}").format(path=path.parent))
        self.accept()

    def _fail(self, reason: str) -> None:
        self._token = None
        self.bar.hide()
        for field in (self.save_button, self.options, self.what, self.form, self.extent):
            field.setEnabled(True)
        self._tell(reason)

    def done(self, result: int) -> None:
        """Close the dialog; what is being written is given up and deleted."""
        self._token = None
        self._tasks.close()
        super().done(result)


def write_pictures(
    source: PictureSource,
    places: Sequence[int],
    look: Look,
    form: Form,
    path: Path,
    token: CancelToken,
    *,
    quality: int = QUALITY,
    audit: AuditLog | None = None,
    opened: Sequence[Path] = (),
    progress: Callable[[int], object] = lambda _number: None,
) -> int:
    """Draw and write the frames at `places` of a source; return their number. Not for GUI threads.

    One frame is in memory at a time. The user has been asked whether to replace `path`.

    Raises:
        FileProblem: A frame cannot be read or a file not written; nothing is left of it then.
        Cancelled: `token` was cancelled; likewise.
    """
    check_files(path, form, len(places), opened, replace=True)
    images = dict.fromkeys(source.frames[place][0].sop_instance_uid for place in places)
    with (
        record_export(
            audit,
            "picture",
            path,
            images=images,
            replace=True,
            frames=len(places),
            annotated=look.marks,
            named=look.detail is Detail.ALL,
        ),
        open_writer(path, form, len(places), quality) as writer,
    ):
        for number, place in enumerate(places, 1):
            if token.cancelled:
                raise Cancelled
            writer.write(source.draw(place, look), source.duration_ms(place))
            progress(number)
        if token.cancelled:
            raise Cancelled
    return len(places)


class PrintDialog(QDialog):
    """Asks what is printed of the shown image, and opens the preview."""

    def __init__(
        self, parent: QWidget, source: PictureSource, preview: Callable[..., object]
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Print the image"))
        self._source, self._preview = source, preview
        self.options = PictureOptions(source)
        self.true_size = QCheckBox(tr("True size"))
        reason = printing.true_size_problem(source.shown.spacing)
        self.true_size.setEnabled(not reason)
        basis = reason or printing.true_size_text(source.shown.spacing)
        self.basis = label(basis, "caption", wrap=True)
        self.preview_button = push_button(tr("Preview…"), self._go, primary=True)
        column(
            self.options,
            self.true_size,
            self.basis,
            row(1, push_button(tr("Cancel"), self.reject), self.preview_button),
            spacing=SPACE.m,
            margins=SPACE.xl,
            parent=self,
        )

    def _go(self) -> None:
        self._preview(self._source, self.options.look, true_size=self.true_size.isChecked())
        self.accept()


class PictureCommands:
    """The commands that save, copy and print what the active viewport shows.

    Attributes:
        audit: The log in which exports are recorded; None for none.
    """

    def __init__(self, window: MainWindow, decoder: Decoder) -> None:
        self._window = window
        self._decoder = decoder
        self.audit: AuditLog | None = None

    def _source(self) -> PictureSource | None:
        window = self._window
        return source_of(window.canvas, window.workspace, self._decoder)

    def export(self, *, movie: bool = False) -> None:
        """Open the dialog that saves the shown image or its series."""
        if (source := self._source()) is None:
            return
        window = self._window
        ExportDialog(
            window,
            source,
            movie=movie,
            audit=self.audit,
            opened=lambda: list(window.workspace.opened_files()),
            done=lambda text: window.notices.show_notice("info", tr("Exported"), text),
        ).open()

    def copy(self) -> None:
        if (source := self._source()) is None:
            return
        look = Look(detail=Detail.NO_NAMES, view=source.view)

        def done(pixels: Pixels) -> None:
            QGuiApplication.clipboard().setImage(to_qimage(pixels).copy())
            text = tr("It is copied without the patient's name and dates.")
            if source.has_texts:
                text += " " + tr("Texts and overlays that files draw on it are left out.")
            if source.risk:
                risk = tr_report(source.risk)
                text += " " + tr("Check the picture before you hand it on. {risk}").format(
                    risk=risk
                )
            self._window.notices.show_notice("info", tr("The picture is on the clipboard"), text)

        self._draw(source, look, done)

    def print(self) -> None:
        if (source := self._source()) is not None:
            PrintDialog(self._window, source, self._preview).open()

    def _preview(self, source: PictureSource, look: Look, *, true_size: bool) -> None:
        spacing = source.shown.spacing if true_size else None

        def done(pixels: Pixels) -> None:
            width = printing.width_mm(source.shown, source.turned) if true_size else None
            picture: QImage = to_qimage(pixels).copy()
            caption = printing.caption(look, spacing)
            printing.PrintPreview(self._window, printing.Page(picture, caption, width)).open()

        self._draw(source, look, done)

    def _draw(self, source: PictureSource, look: Look, done: Callable[[Pixels], object]) -> None:
        def failed(error: SightlineError) -> None:
            self._window.notices.show_error(error)

        self._window.background.submit(partial(source.draw, source.place, look), done, failed)
