"""The study list: studies, series with thumbnails, and files that could not be opened."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QMimeData,
    QModelIndex,
    QObject,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeySequence, QPixmap, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QStackedLayout,
    QWidget,
)

from app.imaging.types import Content, Instance
from app.views import icons, wording
from app.views.browser.problem_list import ProblemList
from app.views.browser.study_delegate import StudyDelegate
from app.views.browser.study_rows import (
    KEYS,
    ROW,
    Row,
    SeriesRow,
    StudyRow,
    WarningRow,
    matching,
    rows_of,
)
from app.views.canvas.image_layer import to_qimage
from app.views.layouts import column
from app.views.loader import Loader, Thumbnail
from app.views.theme import SPACE
from app.views.translation import tr, tr_n
from app.views.viewports.viewport_frame import SERIES_MIME
from app.views.widgets import EmptyState, Index, plain_tip, search_field
from app.workspace.priors import age_of, by_patient
from app.workspace.studies import key_of
from app.workspace.workspace import Workspace

PROBLEMS_SHARE = 0.35
LOWEST_PROBLEMS = 96  # px: the heading and one reason
_OVER_IMAGES = (Content.SEGMENTATION, Content.STRUCTURES, Content.PRESENTATION)


class StudyList(QWidget):
    """The study panel; click or Enter shows a series, Delete or the menu closes a study."""

    series_clicked = Signal()
    over_images = Signal(object)  # an Instance that is shown on the images it is about

    def __init__(
        self,
        workspace: Workspace,
        loader: Loader,
        close: Callable[..., object] | None = None,
        close_all: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._close = close or workspace.close_study
        self._close_all = close_all or workspace.close_all
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self._anchor: tuple[str, int] | None = None
        self.model = StudyModel(workspace, loader, self)
        self.view = self._make_view()
        self.empty = EmptyState(
            "layers", tr("No study open"), tr("Open files or drop them on the window.")
        )
        self.problems = ProblemList(workspace.studies.clear_problems)
        area = QWidget()
        self.setMinimumWidth(170)
        self._stack = QStackedLayout(area)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.view)
        self.view.viewport().installEventFilter(self)
        self.search = search_field(
            tr("Search patient, study or series"),
            tr("Search the open studies"),
            tr("List the studies and series that contain all words"),
        )
        self.search.textChanged.connect(self._search)
        holder = QWidget()
        column(self.search, margins=(SPACE.s, SPACE.xs, SPACE.s, SPACE.xs), parent=holder)
        self._search_row = holder
        column(holder, (area, 1), self.problems, spacing=0, parent=self)
        self.model.about_to_change.connect(self._keep_place)
        self.model.changed.connect(self._restore_place)
        workspace.studies.changed.connect(self.refresh)
        workspace.image_changed.connect(self._mark_shown)
        self.refresh()

    def _make_view(self) -> QListView:
        view = QListView()
        view.setModel(self.model)
        view.setItemDelegate(StudyDelegate(view))
        view.setUniformItemSizes(True)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setMouseTracking(True)
        view.setDragEnabled(True)
        view.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        view.setAccessibleName(tr("Studies and series"))
        view.clicked.connect(self._click)
        view.activated.connect(self._show)
        delete = QShortcut(QKeySequence(Qt.Key.Key_Delete), view)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self._close_current)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._menu)
        return view

    def close_models(self) -> None:
        self.model.close()

    def refresh(self) -> None:
        has_studies = bool(self._workspace.studies.all)
        self._stack.setCurrentIndex(1 if has_studies else 0)
        self._search_row.setVisible(has_studies)
        self.problems.show_problems(self._workspace.studies.problems)
        self._mark_shown(scroll=False)

    def _search(self, text: str) -> None:
        self.model.search(text)
        self._mark_shown()

    def _mark_shown(self, *, scroll: bool = True) -> None:
        """Select the series of the shown image; scroll to it if `scroll` is set."""
        index = self.model.index_of(self._workspace.acquired)
        if index == self.view.currentIndex():
            return
        # Qt scrolls to the current row, which must not happen while a scan adds rows.
        self.view.setAutoScroll(False)
        self.view.setCurrentIndex(index)
        self.view.setAutoScroll(True)
        if scroll and index.isValid():
            self.view.scrollTo(self.model.place_of(key_of(self.model.row(index).study)))
            self.view.scrollTo(index)

    def _keep_place(self) -> None:
        top = self.view.indexAt(QPoint(4, 0))
        if top.isValid():
            self._anchor = self.model.row(top).key, self.view.visualRect(top).top()

    def _restore_place(self) -> None:
        anchor, self._anchor = self._anchor, None
        if anchor is None:
            return
        key, y = anchor
        index = self.model.place_of(key)
        if index.isValid():
            self.view.doItemsLayout()
            bar = self.view.verticalScrollBar()
            bar.setValue(bar.value() + self.view.visualRect(index).top() - y)

    def _click(self, index: QModelIndex) -> None:
        self._show(index)
        if isinstance(self.model.row(index), SeriesRow):
            self.series_clicked.emit()

    def _show(self, index: QModelIndex) -> None:
        row = self.model.row(index)
        if not isinstance(row, SeriesRow) or row.first is None:
            return
        viewport, studies = self._workspace.viewport, self._workspace.studies
        wanted = row.first
        if row.series.content in _OVER_IMAGES:
            for item in row.series.instances:
                if self._workspace.image_of(item) is not None:
                    self.over_images.emit(item)
                    return
        shown = viewport.instance
        if shown is None or studies.series_of(shown) is not studies.series_of(wanted):
            viewport.show(wanted)

    def first_of(self, key: str) -> Instance | None:
        """Return the instance that a row's series is first shown with, by the row's key."""
        index = self.model.place_of(key)
        row = self.model.row(index) if index.isValid() else None
        return row.first if isinstance(row, SeriesRow) else None

    def step(self, steps: int) -> None:
        """Show the series `steps` further down (negative: up); skip series drawn over others."""
        model = self.model
        places = [
            number
            for number in range(model.rowCount())
            if self._stands_alone(model.row(model.index(number)))
        ]
        shown = self.view.currentIndex().row()
        before = sum(place < shown for place in places)
        if shown in places:
            target = before + steps
        else:
            target = before + (steps - 1 if steps > 0 else steps)
        if places and 0 <= target < len(places):
            self._show(model.index(places[target]))

    def _stands_alone(self, row: Row) -> bool:
        """Return whether a row is a series that is shown by itself."""
        if not isinstance(row, SeriesRow) or row.first is None:
            return False
        if row.series.content not in _OVER_IMAGES:
            return True
        return all(self._workspace.image_of(item) is None for item in row.series.instances)

    def _menu(self, position: QPoint) -> None:
        index = self.view.indexAt(position)
        if index.isValid():
            menu = QMenu(self)
            row = self.model.row(index)
            key, volume = key_of(row.study), row.first if isinstance(row, SeriesRow) else None
            if volume is not None and volume.kind == "volume" and self._workspace.acquired:
                menu.addAction(tr("Overlay on the image"), lambda: self.over_images.emit(volume))
            menu.addAction(icons.icon("x"), tr("Close study"), lambda: self._close(key))
            menu.addAction(tr("Close all studies"), self._close_all)
            menu.exec(self.view.viewport().mapToGlobal(position))
            menu.deleteLater()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Limit the problem list to a share of the panel's height."""
        share = round(event.size().height() * PROBLEMS_SHARE)
        self.problems.setMaximumHeight(max(LOWEST_PROBLEMS, share))
        super().resizeEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(event, QResizeEvent):
            self._keep_in_sight(event.oldSize().height(), event.size().height())
        return False

    def _keep_in_sight(self, before: int, after: int) -> None:
        """Keep the shown series visible when the list gets lower."""
        index = self.view.currentIndex()
        place = self.view.visualRect(index)
        seen = index.isValid() and 0 <= place.top() < before
        if seen and after < before and place.bottom() >= after:
            QTimer.singleShot(0, self, lambda: self.view.scrollTo(self.view.currentIndex()))

    def _close_current(self) -> None:
        index = self.view.currentIndex()
        if index.isValid():
            self._close(key_of(self.model.row(index).study))


THUMBNAIL_PX = 112  # twice the drawn size, for dense screens
KEPT = 400  # thumbnails in memory, 20 MB
AWAITED = 40  # thumbnails asked for at once; rows that were scrolled past make way


class StudyModel(QAbstractListModel):
    """The list model of the study list; a thumbnail is fetched when its row is first painted."""

    about_to_change = Signal()  # rows will come, go or move
    changed = Signal()  # they have

    def __init__(self, workspace: Workspace, loader: Loader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._loader = loader
        self._rows: list[Row] = []
        self._places: dict[str, int] = {}
        self._wanted = ""  # what is searched for
        self._blocks: dict[str, list[Row]] = {}
        self._thumbnails: OrderedDict[str, QPixmap | None] = OrderedDict()  # None: there is none
        self._pictured: dict[str, tuple[Path, int]] = {}  # path and part of each thumbnail
        self._awaited: OrderedDict[str, Future[Thumbnail]] = OrderedDict()
        self._keys: dict[str, int] = {}  # number of key images of the rows that have any
        workspace.studies.changed.connect(self.refresh)
        workspace.studies.changed.connect(self._count_keys)
        workspace.key_marks.changed.connect(self._count_keys)
        self.refresh()

    def close(self) -> None:
        for future in self._awaited.values():
            future.cancel()

    # Rows

    def search(self, text: str) -> None:
        """List only rows that contain the words of a text; "" lists all."""
        self._wanted = text
        self.refresh()

    def refresh(self) -> None:
        blocks: dict[str, list[Row]] = {}
        for group in by_patient(self._workspace.studies.all):
            for study in group:
                age = wording.age_text(age_of(study, group[0]))
                known = self._blocks.get(key_of(study))
                head = known[0] if known is not None else None
                same = isinstance(head, StudyRow) and head.study is study and head.age == age
                blocks[key_of(study)] = known if known and same else rows_of(study, age)
        if self._blocks.keys() - blocks.keys():
            self._forget_pictures({row.key for rows in blocks.values() for row in rows})
        self._blocks = blocks
        rows = list(chain.from_iterable(matching(one, self._wanted) for one in blocks.values()))
        if [row.key for row in rows] == [row.key for row in self._rows]:
            self._replace(rows)
            return
        self.about_to_change.emit()
        self.beginResetModel()
        self._take_rows(rows)
        self.endResetModel()
        self.changed.emit()

    def _count_keys(self) -> None:
        studies = self._workspace.studies
        counts: dict[str, int] = {}
        for uid in self._workspace.key_marks.images():
            image = studies.with_uid(uid)
            study = studies.study_of(image) if image is not None else None
            series = studies.series_of(image) if image is not None else None
            if study is not None and series is not None:
                key = SeriesRow(study, series).key
                counts[key] = counts.get(key, 0) + 1
        changed = {key for key in counts | self._keys if counts.get(key) != self._keys.get(key)}
        self._keys = counts
        for key in changed & self._places.keys():
            index = self.index(self._places[key])
            self.dataChanged.emit(index, index)

    def _take_rows(self, rows: list[Row]) -> None:
        self._rows = rows
        self._places = {row.key: number for number, row in enumerate(rows)}

    def _replace(self, rows: list[Row]) -> None:
        """Take rows with the same keys as before, and announce those that differ."""
        old = self._rows
        self._take_rows(rows)
        differing = [n for n, (a, b) in enumerate(zip(old, rows, strict=True)) if a is not b]
        if differing:
            self.dataChanged.emit(self.index(differing[0]), self.index(differing[-1]))

    def row(self, index: Index) -> Row:
        return self._rows[index.row()]

    def place_of(self, key: str) -> QModelIndex:
        """Return the index of the row that has this `key`; an invalid index if none has it."""
        number = self._places.get(key)
        return QModelIndex() if number is None else self.index(number)

    def index_of(self, instance: Instance | None) -> QModelIndex:
        """Return the index of the row for an instance's series; invalid if there is no such row."""
        studies = self._workspace.studies
        series = studies.series_of(instance) if instance else None
        study = studies.study_of(instance) if instance and series else None
        if study is None or series is None:
            return QModelIndex()
        return self.place_of(f"{key_of(study)}\0{series.key}")

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.row(index)
        if role == ROW:
            return row
        if role == KEYS:
            return self._keys.get(row.key, 0) if isinstance(row, SeriesRow) else 0
        if role == Qt.ItemDataRole.DisplayRole:
            if isinstance(row, WarningRow):
                return row.text
            return row.patient if isinstance(row, StudyRow) else row.title
        if role == Qt.ItemDataRole.DecorationRole and isinstance(row, SeriesRow):
            return self.thumbnail(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self._tip(row))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._tip(row).replace("\n", ", ")
        return None

    def _tip(self, row: Row) -> str:
        keys = self._keys.get(row.key, 0)
        return f"{row.tip}\n{tr_n('%n key image', '%n key images', keys)}" if keys else row.tip

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if isinstance(self.row(index), SeriesRow):
            selectable = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            return selectable | Qt.ItemFlag.ItemIsDragEnabled
        return Qt.ItemFlag.ItemIsEnabled

    def mimeTypes(self) -> list[str]:
        return [SERIES_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return the key of the dragged row, which a viewport takes."""
        data = QMimeData()
        data.setData(SERIES_MIME, self.row(indexes[0]).key.encode())
        return data

    # Thumbnails

    def thumbnail(self, row: SeriesRow) -> QPixmap | None:
        """Return a series' thumbnail, or None; the first call only starts to fetch it."""
        key, source = row.key, row.middle if row.content_name.thumbnail else None
        if key in self._thumbnails:
            self._thumbnails.move_to_end(key)
        place = (source.path, source.part) if source is not None else None
        known = self._pictured.get(key) if key in self._thumbnails else None
        if source is not None and place != known and key not in self._awaited:
            while len(self._awaited) >= AWAITED:
                self._awaited.popitem(last=False)[1].cancel()
            self._pictured[key] = source.path, source.part
            self._awaited[key] = self._loader.thumbnail(
                source, THUMBNAIL_PX, partial(self._take, key), lambda _error: self._put(key, None)
            )
        return self._thumbnails.get(key)

    def _take(self, key: str, pixels: Thumbnail) -> None:
        self._put(key, QPixmap.fromImage(to_qimage(pixels)))
        index = self.place_of(key)
        self.dataChanged.emit(index, index)

    def _forget_pictures(self, listed: set[str]) -> None:
        for key in self._awaited.keys() - listed:
            self._awaited.pop(key).cancel()
        for known in (self._thumbnails, self._pictured):
            for key in known.keys() - listed:
                del known[key]

    def _put(self, key: str, picture: QPixmap | None) -> None:
        self._awaited.pop(key, None)
        self._thumbnails[key] = picture
        while len(self._thumbnails) > KEPT:
            self._pictured.pop(self._thumbnails.popitem(last=False)[0], None)
