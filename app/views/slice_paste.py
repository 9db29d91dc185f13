"""Pasting marks on several slices of a series: the dialog, and the work on its thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QProgressBar, QWidget

from app.errors import CancelToken, SightlineError
from app.imaging.decode import Decoder
from app.imaging.space import planes
from app.imaging.types import Frame, Instance
from app.views.background import DaemonTasks, gui_calls
from app.views.canvas.scrolling import frames_of
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr, tr_report
from app.views.widgets import label, number_field, push_button
from app.workspace import editing
from app.workspace.annotations import Annotation
from app.workspace.drawing import remeasured
from app.workspace.viewport import REFORMAT
from app.workspace.workspace import Workspace

Places = Sequence[tuple[Instance, int]]


def slices_of(
    workspace: Workspace, instance: Instance, shown: int = 0
) -> list[tuple[Instance, int]]:
    """Return each image and frame of the series that an image is of; of sections, the sections.

    Of several channels and times they are those of the frame `shown`.
    """
    series = None if instance.kind == REFORMAT else workspace.studies.series_of(instance)
    every = [one for one in series.instances if one.has_frames] if series else [instance]
    return [(one, index) for one in every for index in frames_of(one, shown)]


class SlicePasteDialog(QDialog):
    """Asks for the slices, and pastes marks on them as one step of undo.

    Each mark is measured on the pixels of its own slice. If one slice has another geometry, nothing
    is pasted.

    Args:
        places: The slices to choose from, in the order of the series.
    """

    def __init__(
        self,
        kept: editing.Copied,
        places: Places,
        decoder: Decoder,
        workspace: Workspace,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Paste on several slices"))
        self._kept, self._places = kept, places
        self._decoder, self._workspace = decoder, workspace
        self._tasks = DaemonTasks(self)
        count = len(places)
        self.first, self.last = number_field(tr("First slice")), number_field(tr("Last slice"))
        for field, value in ((self.first, 1), (self.last, count)):
            field.setDecimals(0)
            field.setRange(1, count)
            field.setValue(value)
            field.valueChanged.connect(lambda _value: self._check())
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.hide()
        self.note = label("", "warning", wrap=True)
        self.note.hide()
        self.paste = push_button(tr("Paste"), self._run, primary=True)
        self.paste.setDefault(True)
        cancel = push_button(tr("Cancel"), self.reject)
        cancel.setAutoDefault(False)
        about = tr(
            "The marks are pasted at the same place of each slice and measured there. Slices that "
            "have them already are left out."
        )
        column(
            label(about, "muted", wrap=True),
            row(
                label(tr("From slice")),
                self.first,
                label(tr("to")),
                self.last,
                label(tr("of {count}").format(count=count), "muted"),
                1,
            ),
            self.bar,
            self.note,
            row(1, cancel, self.paste),
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        self.resize(440, self.heightForWidth(440))
        self.first.setFocus()
        self.first.selectAll()

    def _check(self) -> None:
        self.paste.setEnabled(self.first.value() <= self.last.value())

    def _run(self) -> None:
        chosen = range(int(self.first.value()) - 1, int(self.last.value()))
        self._busy(True)
        self.bar.setRange(0, len(chosen))

        def told(number: int, frame: Frame, scaled: Frame, items: list[Annotation]) -> None:
            # Slice by slice, as all of them at once would take long.
            scales = self._workspace.scales
            scales.learn(frame)
            scales.trust_measured([one.finding for one in items], scaled)
            self.bar.setValue(number)

        work = partial(
            paste_on,
            self._kept,
            [(number + 1, *self._places[number]) for number in chosen],
            self._decoder,
            self._workspace,
            progress=lambda *made: gui_calls().send(partial(self._if_open, partial(told, *made))),
        )
        self._tasks.run(work, self._finish, self._fail)

    def _if_open(self, run: Callable[[], object]) -> None:
        if self._open:
            run()

    def _busy(self, busy: bool) -> None:
        self.bar.setVisible(busy)
        for one in (self.first, self.last, self.paste):
            one.setEnabled(not busy)
        if busy:
            self.note.hide()

    def _finish(self, items: list[Annotation]) -> None:
        self._workspace.annotations.put_all(items, "Paste marks on slices")
        if items:
            self.accept()
            return
        self._fail(tr("The chosen slices have the marks already."))

    def _fail(self, reason: str) -> None:
        self._busy(False)
        self.note.setText(reason)
        self.note.show()
        self.resize(self.width(), max(self.height(), self.heightForWidth(self.width())))

    _open = True

    def done(self, result: int) -> None:
        """Close the dialog; pasting that has not ended is given up, and nothing is pasted."""
        self._open = False
        self._tasks.close()
        super().done(result)


def paste_on(
    kept: editing.Copied,
    places: Sequence[tuple[int, Instance, int]],
    decoder: Decoder,
    workspace: Workspace,
    token: CancelToken,
    *,
    progress: Callable[[int, Frame, Frame, list[Annotation]], object],
) -> list[Annotation]:
    """Return copies of marks for slices, given as number, instance and frame; on a thread.

    `progress` is told how many slices are done, and of each the frame as it was read, with the
    scale of its marks, and its copies.

    Raises:
        SightlineError: A slice cannot be read, or has another geometry.
        Cancelled: `token` was cancelled.
    """
    made: list[Annotation] = []
    for done, (number, instance, index) in enumerate(places):
        token.check()
        frame = decoder.frame(instance, index).result()
        space = instance.get("FrameOfReferenceUID")
        plane = planes.frame_plane(frame, space) if space else None
        items, reason = editing.pasted_on_slice(
            kept, frame, plane, section=instance.kind == REFORMAT
        )
        if reason:
            raise SightlineError(
                tr("Nothing was pasted: on slice {number}, {reason}").format(
                    number=number, reason=tr_report(reason)
                ),
                remedy=tr("Choose a range of slices without it."),
            )
        scaled = workspace.scaled(instance, frame)
        if scaled is not frame:  # calibrated by a known length
            items = [replace(one, finding=remeasured(one.finding, scaled)) for one in items]
        made += items
        progress(done + 1, frame, scaled, items)
    return made
