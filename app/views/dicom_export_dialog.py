"""The dialog that writes findings, masks, views and key images as DICOM objects into a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QFileDialog, QLineEdit, QWidget

from app.audit.exports import record_export
from app.errors import SightlineError, unexpected, writing
from app.imaging.exports import GSPS, KO, SC, SEG, SR, TITLES, DicomExport, View, chosen
from app.imaging.findings import Finding, Instances, Mask
from app.imaging.types import Instance
from app.log import get_logger
from app.user_files import write_atomic
from app.views import wording
from app.views.background import Background
from app.views.canvas.canvas import Canvas
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import confirm, label, push_button
from app.workspace.annotations import Annotations

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_KIND_TEXTS = {
    SR: translatable("Structured report: marks, measurements and findings"),
    SEG: translatable("Segmentations: masks"),
    GSPS: translatable("Presentation states: window, visible part, turns and marks of each pane"),
    KO: translatable("Key images; if none is marked as one, this image and those with marks"),
    SC: translatable("Secondary capture: the pane as it is shown"),
}
_LISTED = 6  # names of marks that are left out
MOST_IMAGES = 2000
"""Images of a series to which a presentation state refers at most."""

_TITLE_TEXTS = {
    "113000": translatable("Of interest"),
    "113002": translatable("For the referring provider"),
    "113003": translatable("For surgery"),
    "113004": translatable("For teaching"),
    "113005": translatable("For a conference"),
    "113006": translatable("For therapy"),
    "113007": translatable("For the patient"),
    "113008": translatable("For peer review"),
    "113009": translatable("For research"),
    "113013": translatable("Best in set"),
}


class DicomExportDialog(QDialog):
    """Asks which objects are written of which findings and to where; writes them; says how it went.

    Args:
        window: The main window, whose shown image and its study are exported.
        image: The acquired image that is shown.
    """

    def __init__(self, window: MainWindow, image: Instance) -> None:
        super().__init__(window)
        self._window, self._image = window, image
        self._background = Background(1, self)
        self._busy = False
        self.setWindowTitle(tr("Export as DICOM"))
        self.setMinimumWidth(760)
        self.kinds = {kind: QCheckBox(tr(text)) for kind, text in _KIND_TEXTS.items()}
        self.kinds[SR].setChecked(True)
        self.hand = QCheckBox(tr("Marks by hand"))
        self.reviewed = QCheckBox(tr("Findings that were accepted or edited"))
        self.proposed = QCheckBox(tr("Also what is only proposed; it is labelled as not reviewed"))
        self.hand.setChecked(True)
        self.reviewed.setChecked(True)
        self.verifier = _field(tr("Name of who verifies the report; empty: it stays unverified"))
        self.organization = _field(tr("Organisation of who verifies"))
        self.organization.setText(image.get("InstitutionName"))
        self.title = QComboBox()
        for code in TITLES:
            self.title.addItem(tr(_TITLE_TEXTS[code]), code)
        self.title.setAccessibleName(tr("Title of the key images"))
        self.description = _field(tr("Description"))
        self.folder = _field(tr("Folder for the files"))
        self.browse = push_button(tr("Browse…"), self._browse)
        self.export_button = push_button(tr("Export"), self._start, primary=True)
        self.close_button = push_button(tr("Close"), self.reject)
        self.report = label("", wrap=True)
        self.report.hide()
        column(
            *self.kinds.values(),
            label(tr("Which findings of this study"), "caption"),
            *(self.hand, self.reviewed, self.proposed),
            row(label(tr("Verified by")), (self.verifier, 2), (self.organization, 1)),
            row(label(tr("Key images")), self.title, (self.description, 1)),
            row(label(tr("Folder")), (self.folder, 1), self.browse),
            self.report,
            row(1, self.close_button, self.export_button),
            spacing=SPACE.s,
            margins=SPACE.xl,
            parent=self,
        )
        for box in (*self.kinds.values(), self.proposed):
            box.toggled.connect(self._refresh)
        self.folder.textChanged.connect(self._refresh)
        self.finished.connect(lambda _code: self._background.close())
        self._refresh()

    @property
    def running(self) -> bool:
        return self._busy

    def _refresh(self) -> None:
        any_kind = any(box.isChecked() for box in self.kinds.values())
        ready = any_kind and bool(self.folder.text().strip()) and not self._busy
        self.export_button.setEnabled(ready)
        # Nobody answers for what nobody has looked at.
        can_verify = self.kinds[SR].isChecked() and not self.proposed.isChecked()
        for field in (self.verifier, self.organization):
            field.setEnabled(can_verify)
        for field in (self.title, self.description):
            field.setEnabled(self.kinds[KO].isChecked())

    def _browse(self) -> None:
        name = QFileDialog.getExistingDirectory(self, tr("Folder for the files"))
        if name:
            self.folder.setText(name)

    def _start(self) -> None:
        if unread := self._unmeasured():
            text = tr_n(
                "%n mark is being measured again. Nothing is written; try again in a moment.",
                "%n marks are being measured again. Nothing is written; try again in a moment.",
                unread,
            )
            self._tell([text])
            return
        folder = Path(self.folder.text().strip()).expanduser()
        targets = self._targets(folder)
        if not targets:
            self._tell([tr("There is nothing to write: no such mark or finding in this study.")])
            return
        there = [path.name for path, _ in targets if path.exists()]
        if there:
            confirm(
                self,
                tr("Replace files"),
                tr("The folder has files of these names"),
                ", ".join(there),
                tr("Replace"),
                partial(self._write, targets, replace_files=True),
            )
            return
        self._write(targets)

    def _without(self, targets: Sequence[tuple[Path, DicomExport]]) -> list[str]:
        """Return a line for each chosen kind of which there is nothing to write."""
        made = {job.kind for _, job in targets}
        return [
            tr("{kind}: there is nothing to write").format(kind=tr(_KIND_TEXTS[kind]))
            for kind, box in self.kinds.items()
            if box.isChecked() and kind not in made
        ]

    def _targets(self, folder: Path) -> list[tuple[Path, DicomExport]]:
        """Return what is to be written, each with its file."""
        jobs = [
            job for kind, box in self.kinds.items() if box.isChecked() for job in self._jobs(kind)
        ]
        counted: dict[str, int] = {}
        targets: list[tuple[Path, DicomExport]] = []
        for job in jobs:
            number = counted[job.kind] = counted.get(job.kind, 0) + 1
            targets.append((folder / f"sightline-{job.kind}-{number}.dcm", job))
        return targets

    def _unmeasured(self) -> int:
        """Return how many of the chosen findings wait for their image to be read."""
        scales = self._window.workspace.scales
        return sum(
            scales.is_waiting(one) or (one.plane is None and scales.is_unread(one.image))
            for one in self._findings()
        )

    def _findings(self) -> tuple[Finding, ...]:
        """Return the chosen findings on the images of the shown study."""
        studies = self._window.workspace.studies
        study = studies.study_of(self._image)
        kept = chosen(
            tuple(item.finding for item in self._window.workspace.annotations.all()),
            hand=self.hand.isChecked(),
            accepted=self.reviewed.isChecked(),
            proposed=self.proposed.isChecked(),
        )
        found: list[Finding] = []
        for one in kept:
            image = self._window.workspace.instance_of(one.image.sop_instance_uid)
            if (image is not None and studies.study_of(image) is study) or (
                one.plane is not None
                and one.plane.frame_of_reference == self._image.get("FrameOfReferenceUID")
            ):
                found.append(one)
        return tuple(found)

    def _jobs(self, kind: str) -> list[DicomExport]:
        findings = self._findings()
        view = _view(self._window.canvas, self._image)
        verifier = self.verifier.text().strip() if self.verifier.isEnabled() else ""
        job = DicomExport(
            kind,
            (self._image,),
            findings,
            verifier=verifier,
            organization=self.organization.text().strip(),
            description=self.description.text().strip(),
            title=self.title.currentData(),
            views=(view,),
        )
        if kind == SC:
            picture = pane_pixels(self._window.canvas, self._window.workspace.annotations)
            return [replace(job, findings=(), picture=picture)]
        if kind == KO:
            if keys := self._keys():
                images = (self._window.workspace.instance_of(one.sop_instance_uid) for one in keys)
                found = _unique(one for one in images if one is not None)
                return [replace(job, images=found, findings=(), views=keys)]
            return [replace(job, images=_unique((self._image, *self._images(findings))))]
        if kind == GSPS:
            return [replace(job, **state) for state in self._states(findings)]
        if kind == SR:
            images = _unique(self._images(findings)) or (self._image,)
            return [replace(job, images=images)] if findings else []
        groups: dict[object, list[Finding]] = {}
        for one in findings:
            if isinstance(one.geometry, Instances):
                groups[one.id] = [one]  # a label map holds the objects of one finding
            elif isinstance(one.geometry, Mask):
                image = self._window.workspace.instance_of(one.image.sop_instance_uid)
                several = image is not None and image.frames > 1
                own = one.image.sop_instance_uid if several and one.plane is None else ""
                # What no segmentation can hold goes with the first, whose writer says so.
                key = (self._key(one), own) if one.plane is None else next(iter(groups), "")
                groups.setdefault(key, []).append(one)
        return [
            replace(
                job, images=_unique(self._images(group)) or (self._image,), findings=tuple(group)
            )
            for group in groups.values()
        ]

    def _keys(self) -> tuple[View, ...]:
        """Return the images of the shown study that the user has marked as key images."""
        workspace = self._window.workspace
        study = workspace.studies.study_of(self._image)
        found: list[View] = []
        for ref in workspace.key_marks.own:
            image = workspace.studies.with_uid(ref.sop_instance_uid)
            if image is not None and workspace.studies.study_of(image) is study:
                uid, pixels = ref.sop_instance_uid, ref.pixel_sha256
                found.append(View(uid, ref.frame, pixel_sha256=pixels))
        return tuple(found)

    def _states(self, findings: Sequence[Finding]) -> list[dict[str, Any]]:
        """Return images, findings and view of a presentation state for each pane.

        A state is about all images of the shown series that have the size of the shown one.
        """
        workspace = self._window.workspace
        made: list[dict[str, Any]] = []
        for viewport in workspace.layout.visible:
            shown, acquired = viewport.instance, viewport.acquired
            if acquired is None or not acquired.has_frames or acquired.kind != "dicom":
                continue
            if not workspace.is_same_patient(acquired, self._image):
                continue
            if shown is not acquired:  # a section, to which no state can refer
                continue
            series = workspace.studies.series_of(acquired)
            key = self._key_of(acquired)
            every = series.instances if series is not None else ()
            images = _unique((acquired, *(one for one in every if self._key_of(one) == key)))
            images = images[:MOST_IMAGES]
            uids = {one.sop_instance_uid for one in images}
            on_section = [one for one in findings if one.plane is not None] if not made else []
            here = [one for one in findings if one.image.sop_instance_uid in uids]
            made.append(
                {
                    "images": images,
                    "findings": tuple(dict.fromkeys((*here, *on_section))),
                    "views": (_view(self._window.viewports.frame_of(viewport).canvas, acquired),),
                }
            )
        return made

    def _images(self, findings: Iterable[Finding]) -> list[Instance]:
        instance_of = self._window.workspace.instance_of
        found = (instance_of(one.image.sop_instance_uid) for one in findings)
        return [one for one in found if one is not None]

    def _key(self, finding: Finding) -> object:
        image = self._window.workspace.instance_of(finding.image.sop_instance_uid)
        return self._key_of(image) if image is not None else None

    def _key_of(self, image: Instance) -> object:
        """Return what images of one object share: series and size."""
        series = self._window.workspace.studies.series_of(image)
        return series.uid if series is not None else "", image.rows, image.columns

    def _write(
        self, targets: Sequence[tuple[Path, DicomExport]], *, replace_files: bool = False
    ) -> None:
        window, opened = self._window, self._window.workspace.opened_files()
        missing = self._without(targets)

        def work() -> list[_Done]:
            done: list[_Done] = []
            for path, job in targets:
                try:
                    made = window.decoder.dicom_object(job).result()
                    uids = [one.sop_instance_uid for one in job.images]
                    with record_export(
                        window.audit_log,
                        "findings",
                        path,
                        images=uids,
                        opened=opened,
                        replace=replace_files,
                    ):
                        _save(path, made.data)
                    done.append(_Done(path.name, made.left_out))
                except SightlineError as error:
                    if error.detail:
                        get_logger(__name__).info("%s", error.detail)
                    done.append(_Done(path.name, error=error))
                except Exception as error:
                    done.append(_Done(path.name, error=unexpected(error)))
            return done

        self._busy = True
        self._refresh()
        self._background.submit(work, partial(self._show, missing))

    def _show(self, missing: Sequence[str], done: Sequence[_Done]) -> None:
        self._busy = False
        self._refresh()
        self._tell([*(line for one in done for line in one.lines()), *missing])

    def _tell(self, lines: Sequence[str]) -> None:
        self.report.setText("\n".join(lines))
        self.report.show()


@dataclass(frozen=True, slots=True)
class _Done:
    """How the writing of one file ended: what is not in it, or why there is none."""

    name: str
    left_out: tuple[tuple[str, str], ...] = ()
    error: SightlineError | None = None

    def lines(self) -> list[str]:
        if self.error is not None:
            reason = tr_report(self.error.text)
            return [tr("{file}: not written. {reason}").format(file=self.name, reason=reason)]
        labels: dict[str, list[str]] = {}
        for label_, reason in self.left_out:
            labels.setdefault(reason, []).append(label_)
        return [
            tr("{file}: written").format(file=self.name),
            *(
                tr("    left out: {marks}: {reason}").format(
                    marks=_listed(named), reason=tr_report(reason)
                )
                for reason, named in labels.items()
            ),
        ]


def _listed(labels: Sequence[str]) -> str:
    counted = Counter(wording.one_line(one) for one in labels)
    named = [f"{one} ({count})" if count > 1 else one for one, count in counted.items()]
    return ", ".join(named[:_LISTED]) + (f" +{len(named) - _LISTED}" if named[_LISTED:] else "")


def _save(path: Path, data: bytes) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, data)


def _field(name: str) -> QLineEdit:
    field = QLineEdit()
    field.setAccessibleName(name)
    field.setPlaceholderText(name)
    return field


def _unique(images: Iterable[Instance]) -> tuple[Instance, ...]:
    return tuple({one.sop_instance_uid: one for one in images}.values())


def _view(canvas: Canvas, image: Instance) -> View:
    """Return how the canvas shows the image: frame, window, polarity, part, flip and turns."""
    picture = canvas.picture
    if picture is None or picture.job.instance.sop_instance_uid != image.sop_instance_uid:
        return View(image.sop_instance_uid)
    display = canvas.model.display
    flip, turns = display.flip_h != display.flip_v, display.quarter_turns
    if display.flip_v:  # the same as the other flip and half a turn
        turns += 2
    window = canvas.shown_window if not picture.job.frame.is_color else None
    return View(
        image.sop_instance_uid,
        picture.job.frame_index,
        window,
        inverse=display.invert,
        area=_shown_area(canvas),
        flip_h=flip,
        quarter_turns=turns % 4,
    )


def _shown_area(canvas: Canvas) -> tuple[float, float, float, float] | None:
    """Return the outer edges of the whole pixels that are in sight."""
    columns, rows = canvas.image_size
    corners = QRectF(canvas.viewport().rect())
    one, other = canvas.to_image(corners.topLeft()), canvas.to_image(corners.bottomRight())
    xs, ys = sorted((one.x(), other.x())), sorted((one.y(), other.y()))
    left, top = max(round(xs[0] + 0.5), 0), max(round(ys[0] + 0.5), 0)
    right, bottom = min(round(xs[1] + 0.5), columns), min(round(ys[1] + 0.5), rows)
    if left >= right or top >= bottom:
        return None
    return left - 0.5, top - 0.5, right - 0.5, bottom - 0.5


def pane_pixels(canvas: QWidget, annotations: Annotations) -> NDArray[np.uint8]:
    """Return what a pane shows, without rejected findings: uint8 RGB [rows, columns, 3]."""
    shown = annotations.rejected_shown
    annotations.show_rejected(False)
    try:
        grabbed = canvas.grab()
    finally:
        annotations.show_rejected(shown)
    picture = grabbed.toImage().convertToFormat(QImage.Format.Format_RGB888)
    data = np.frombuffer(picture.constBits(), np.uint8)
    rows = data.reshape(picture.height(), picture.bytesPerLine())
    wide = rows[:, : picture.width() * 3]
    return wide.reshape(picture.height(), picture.width(), 3).copy()


def open_dialog(window: MainWindow) -> None:
    """Open the dialog for the image that is shown; without one, nothing happens."""
    image = window.workspace.acquired
    if image is None or not image.has_frames:
        return
    dialog = DicomExportDialog(window, image)
    dialog.finished.connect(dialog.deleteLater)
    window.closing.connect(dialog.reject)
    dialog.open()
