"""Keeps the marks of a window in the database, as the user works, and brings them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.processes.worker_pool import Priority
from app.imaging.studies.instance_lists import loaded_instances
from app.imaging.types import Frame, ImageRef, Instance, Study
from app.views.background import Background
from app.views.notices import Notices
from app.views.translation import tr, tr_n, tr_report
from app.views.widgets import confirm, label
from app.views.wording import day_text
from app.workspace.annotations import Annotation
from app.workspace.mark_scales import MarkScales
from app.workspace.mark_store import KeptStudy, MarkStore, key_id
from app.workspace.workspace import Workspace


class SavedMarksDialog(QDialog):
    """Lists studies with kept marks; those that are not open are known by their UID only."""

    def __init__(self, marks: MarkKeeping, workspace: Workspace, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Saved marks"))
        self.resize(760, 420)
        self._marks = marks
        self._workspace = workspace
        self._kept: list[KeptStudy] = []
        self.table = QTableWidget(0, 3, self)
        self.table.setHorizontalHeaderLabels([tr("Study"), tr("Marks"), tr("Last changed")])
        self.table.setAccessibleName(tr("Studies with saved marks"))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        self.table.itemSelectionChanged.connect(self._follow)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, parent=self)
        action = QDialogButtonBox.ButtonRole.ActionRole
        self.delete = buttons.addButton(tr("Delete the marks of the selected…"), action)
        self.delete.clicked.connect(self._ask)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        text = tr(
            "Marks are saved on this computer as you work. The file holds the numbers of studies "
            "and images, and no names of patients."
        )
        layout.addWidget(label(text, wrap=True))
        layout.addWidget(self.table, 1)
        layout.addWidget(buttons)
        self._follow()
        self.refresh()

    def refresh(self) -> None:
        self._marks.list_studies(self._show)

    def _show(self, kept: list[KeptStudy]) -> None:
        self._kept = kept
        titles = {study.uid: study.title for study in self._workspace.studies.all}
        self.table.setRowCount(len(kept))
        for row, one in enumerate(kept):
            title = titles.get(one.study)
            name = tr("{title} (open)").format(title=title) if title else one.study or tr("Unknown")
            for column, text in enumerate((name, str(one.marks), day_text(one.saved))):
                self.table.setItem(row, column, QTableWidgetItem(text))
        self._follow()

    def _chosen(self) -> list[KeptStudy]:
        rows = {index.row() for index in self.table.selectedIndexes()}
        return [self._kept[row] for row in sorted(rows) if row < len(self._kept)]

    def _follow(self) -> None:
        self.delete.setEnabled(bool(self._chosen()))

    def _ask(self) -> None:
        chosen = self._chosen()
        count = sum(one.marks for one in chosen)
        confirm(
            self,
            tr("Delete saved marks"),
            tr_n("Delete %n mark for good?", "Delete %n marks for good?", count),
            tr("They cannot be brought back, and what was done before cannot be undone any more."),
            tr("Delete"),
            lambda: self._marks.purge(chosen, self.refresh),
        )


class MarkReading(QObject):
    """Reads one wanted image after another for `MarkScales`, also ones nobody looked at."""

    def __init__(
        self, scales: MarkScales, decoder: Decoder, background: Background, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._scales, self._decoder, self._background = scales, decoder, background
        self._reading: Future[Frame] | None = None
        scales.wanted.connect(self._next)
        self._next()

    def _next(self) -> None:
        wanted = self._scales.next_wanted()
        if wanted is None or self._reading is not None:
            return
        # One at a time: what the user scrolls to must not wait behind hundreds.
        self._reading = self._decoder.frame(*wanted, Priority.PREFETCH)
        take = partial(self._take, *wanted)
        self._reading.add_done_callback(lambda done: self._background.call(partial(take, done)))

    def _take(self, instance: Instance, index: int, done: Future[Frame]) -> None:
        self._reading = None
        if done.cancelled() or done.exception() is not None:
            self._scales.cannot_read(instance, index)
        else:
            self._scales.learn(done.result())
            if self._scales.next_wanted() == (instance, index):  # it is another image by now
                self._scales.cannot_read(instance, index)
        self._next()


SAVE_MS = 300
"""Time from a change until it is being written; a crash loses at most 2 s."""

LOAD_MS = 50
"""Time from a change of what is open until the database is asked; a scan changes it often."""

RETRY_MS = 5000
_CLOSE_S = 5.0  # for which closing the window waits for the last write


class MarkKeeping(QObject):
    """Writes changed marks on a thread, and loads those of images that are opened.

    Attributes:
        failing: Whether the last write failed; it is tried again until it succeeds.
    """

    def __init__(
        self, workspace: Workspace, store: MarkStore, notices: Notices, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._store = store
        self._notices = notices
        self._work = Background(1, self)  # one thread: what is written later is also later there
        self._saved: dict[str, Annotation] = {}
        self._saved_keys: dict[str, ImageRef] = {}
        self._study_uids: dict[str, str] = {}  # of images, also of those that were closed since
        self._known: dict[str, str] = {}  # the study of each image with marks in the database
        self._asked: set[str] = set()
        self._purging: set[str] = set()  # SOP Instance UIDs whose marks are being deleted
        self._writing = False
        self._sent: set[str] = set()  # ids that are being written: what is kept of them is unknown
        self.failing = False
        self._told = ""
        self._pause = QTimer(self, singleShot=True)
        self._pause.timeout.connect(self._save)
        self._soon = QTimer(self, singleShot=True, interval=LOAD_MS)
        self._soon.timeout.connect(self._ask)
        self._connections = (
            workspace.annotations.changed.connect(self._changed),
            workspace.key_marks.changed.connect(self._changed),
            workspace.studies.changed.connect(self._studies_changed),
            workspace.closed.connect(self._studies_closed),
        )
        self._ask()

    @property
    def saved(self) -> bool:
        """Whether every mark is in the database."""
        return not (self._writing or self.failing or any(self._changes()))

    @property
    def loading(self) -> bool:
        """Whether marks are being loaded or written."""
        return self._work.pending > 0 or self._soon.isActive() or self._pause.isActive()

    def close(self) -> None:
        for disconnect in self._connections:
            disconnect()
        self._pause.stop()
        self._soon.stop()
        self.flush()
        self._work.close()

    def flush(self) -> bool:
        """Write what has changed and wait for it; return whether every mark is in the database."""
        changes = self._changes()
        if not any(changes):
            return True
        future = self._submit(*changes)
        try:
            self.failing = future is None or future.exception(_CLOSE_S) is not None
        except TimeoutError:  # another program holds the database
            self.failing = True
        if not self.failing:
            self._wrote(*changes)
        return not self.failing

    # Saving

    def _changed(self) -> None:
        # At once: a study may be closed before its marks are written.
        marked = (one.finding.image for one in self._workspace.annotations.all())
        for ref in (*marked, *self._workspace.key_marks.own):
            if not self._study_uids.get(ref.sop_instance_uid):
                self._study_of(ref.sop_instance_uid)
        if not self._pause.isActive() and not self._writing:
            self._pause.start(SAVE_MS)

    def _submit(
        self, changed: list[Annotation], removed: list[str], keys: list[ImageRef]
    ) -> Future[None] | None:
        by_study: dict[str, list[ImageRef]] = {}
        for ref in keys:
            by_study.setdefault(self._study_of(ref.sop_instance_uid), []).append(ref)
        return self._work.submit(
            partial(self._store.save, self._by_study(changed), removed, by_study),
            lambda _none: self._wrote(changed, removed, keys),
            self._fail_to_write,
        )

    def _changes(self) -> tuple[list[Annotation], list[str], list[ImageRef]]:
        """Return the marks to write, the ids to remove, and the key images to write."""
        items = {one.finding.id: one for one in self._workspace.annotations.all()}
        # What a mark measured is kept until it has been measured again.
        waiting = self._workspace.scales.is_waiting
        changed = [
            one
            for key, one in items.items()
            if (key in self._sent or not _alike(self._saved.get(key), one))
            and one.finding.image.sop_instance_uid not in self._purging
            and not (key in self._saved and waiting(one.finding))
        ]
        keys = {key_id(ref): ref for ref in self._workspace.key_marks.own}
        known = self._saved.keys() | self._saved_keys.keys() | self._sent
        fresh = [
            ref
            for key, ref in keys.items()
            if (key in self._sent or key not in self._saved_keys)
            and ref.sop_instance_uid not in self._purging
        ]
        return changed, [key for key in known if key not in items and key not in keys], fresh

    def _by_study(self, marks: Sequence[Annotation]) -> dict[str, list[Annotation]]:
        result: dict[str, list[Annotation]] = {}
        images = {one.finding.image.sop_instance_uid for one in marks}
        studies = {uid: self._study_of(uid) for uid in images}
        for one in marks:
            result.setdefault(studies[one.finding.image.sop_instance_uid], []).append(one)
        return result

    def _study_of(self, uid: str) -> str:
        if study := self._workspace.study_uid_of(uid):
            self._study_uids[uid] = study
        return self._study_uids.get(uid, "")

    def _save(self) -> None:
        changes = self._changes()
        if not any(changes) or self._writing:
            return
        self._writing = True
        changed, removed, keys = changes
        marks = (one.finding.id for one in changed)
        self._sent = {*removed, *marks, *map(key_id, keys)}
        self._submit(*changes)

    def _wrote(
        self, changed: Sequence[Annotation], removed: Sequence[str], keys: Sequence[ImageRef]
    ) -> None:
        self._writing = self.failing = False
        self._sent = set()
        self._told = ""
        for key in removed:
            self._saved.pop(key, None)
            self._saved_keys.pop(key, None)
        self._saved_keys |= {key_id(ref): ref for ref in keys}
        for one in changed:
            self._saved[one.finding.id] = one
        self._tell_problem()
        if any(self._changes()):
            self._pause.start(SAVE_MS)

    def _fail_to_write(self, error: SightlineError) -> None:
        self._writing, self.failing = False, True
        self._sent = set()
        if self._told != error.text:
            self._told = error.text
            self._notices.show_error(error)
        self._pause.start(RETRY_MS)

    def _fail_to_read(self, error: SightlineError) -> None:
        self._notices.show_error(error)

    def _tell_problem(self) -> None:
        problem, self._store.problem = self._store.problem, ""
        if problem:
            title = tr("The saved marks could not be read")
            self._notices.show_notice("warning", title, tr_report(problem))

    def _studies_closed(self, studies: Sequence[Study]) -> None:
        """Remember whose the images were: a tool's result may come after its study is closed."""

        def listed() -> dict[str, str]:
            return {
                image.sop_instance_uid: study.uid
                for study in studies
                for series in study.series
                for image in loaded_instances(series.instances)
            }

        self._work.submit(listed, self._study_uids.update)

    # Loading

    def _studies_changed(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _ask(self) -> None:
        self._work.submit(self._store.images, self._learn, self._fail_to_read, uses_qt=False)

    def _learn(self, images: dict[str, str]) -> None:
        self._known |= images
        for uid, study in images.items():  # of a section that is not shown nothing else tells it
            if study:
                self._study_uids.setdefault(uid, study)
        self._tell_problem()
        self._load()

    def _load(self) -> None:
        """Load the marks of images that were opened since."""
        for one in self._workspace.annotations.all():
            self._study_of(one.finding.image.sop_instance_uid)
        for ref in self._workspace.key_marks.own:
            self._study_of(ref.sop_instance_uid)
        studies = {study.uid for study in self._workspace.studies.all}
        fresh = [
            uid
            for uid, study in self._known.items()
            if uid not in self._asked
            # A section of a volume is of an open study without being listed in it.
            and (study in studies or self._workspace.instance_of(uid) is not None)
        ]
        if fresh:
            self._asked.update(fresh)
            self._work.submit(partial(self._store.load, fresh), self._take, self._fail_to_read)
            read_keys = partial(self._store.load_keys, fresh)
            self._work.submit(read_keys, self._take_keys, self._fail_to_read)

    def _take_keys(self, loaded: list[ImageRef]) -> None:
        fresh = {
            key: ref
            for ref in loaded
            if (key := key_id(ref)) not in self._saved_keys  # else it was unmarked here since
            and ref.sop_instance_uid not in self._purging
        }
        self._saved_keys |= fresh
        if fresh:
            self._workspace.key_marks.bring_back(fresh.values())

    def _take(self, loaded: tuple[list[Annotation], int]) -> None:
        marks, unreadable = loaded
        annotations = self._workspace.annotations
        # What is saved and not there was deleted here, which is not written yet.
        there = self._saved.keys() | {one.finding.id for one in annotations.all()}
        fresh = [
            one
            for one in marks
            if one.finding.id not in there
            and one.finding.image.sop_instance_uid not in self._purging
        ]
        # Those whose study was unknown when they were saved are written again, with it.
        self._saved.update(
            {
                one.finding.id: one
                for one in fresh
                if self._known.get(one.finding.image.sop_instance_uid)
            }
        )
        annotations.bring_back(fresh)
        if unreadable:
            self._notices.show_notice(
                "warning",
                tr_n("%n saved mark cannot be read", "%n saved marks cannot be read", unreadable),
                tr("They stay in the file, and a newer version of Sightline may read them."),
            )

    # Removing what is kept

    def list_studies(self, done: Callable[[list[KeptStudy]], object]) -> None:
        """Call `done` with a list of `KeptStudy`."""
        self._work.submit(self._store.studies, done, self._fail_to_read)

    def purge(self, studies: Sequence[KeptStudy], done: Callable[[], object]) -> None:
        """Delete all marks of studies, here and in the database, for good; then call `done`."""
        images = {image for one in studies for image in one.images}
        # What is written or loaded from now on until it is done must not bring them back.
        self._purging |= images

        def purged(_none: None) -> None:
            annotations = self._workspace.annotations
            gone = [
                one.finding.id
                for one in annotations.all()
                if one.finding.image.sop_instance_uid in images
            ]
            for key in gone:
                self._saved.pop(key, None)
            annotations.forget(gone)
            for key, ref in list(self._saved_keys.items()):
                if ref.sop_instance_uid in images:
                    del self._saved_keys[key]
            self._workspace.key_marks.forget(images)
            self._purging -= images
            done()

        def failed(error: SightlineError) -> None:
            self._purging -= images
            self._asked -= images
            self._fail_to_read(error)

        work = partial(self._store.purge, [one.study for one in studies], images)
        self._work.submit(work, purged, failed)


def _alike(saved: Annotation | None, now: Annotation) -> bool:
    """Return whether a mark is kept as is, but for being looked at and its label's colour."""
    if saved is None or saved is now:
        return saved is now
    return replace(saved, kept="", color=0) == replace(now, kept="", color=0)
