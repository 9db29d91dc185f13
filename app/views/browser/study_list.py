"""The study list: studies, series with thumbnails, and what could not be opened."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from app.imaging.types import Content
from app.views import icons
from app.views.browser.problem_list import ProblemList
from app.views.browser.study_delegate import StudyDelegate
from app.views.browser.study_model import StudyModel
from app.views.browser.study_rows import Row, SeriesRow
from app.views.loader import Loader
from app.views.widgets import EmptyState
from app.workspace.studies import key_of
from app.workspace.workspace import Workspace

PROBLEMS_SHARE = 0.35
LOWEST_PROBLEMS = 96  # px: the heading and one reason
_OVER_IMAGES = (Content.SEGMENTATION, Content.STRUCTURES, Content.PRESENTATION)


class StudyList(QWidget):
    """The panel. Click or Enter shows a series; Delete or the menu closes its study."""

    over_images = Signal(object)  # an Instance that is shown on the images it is about

    def __init__(
        self, workspace: Workspace, loader: Loader, close_all: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self._close_all = close_all or workspace.close_all
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self._anchor: tuple[QPersistentModelIndex, str, int] | None = None
        self.model = StudyModel(workspace, loader, self)
        self.view = self._make_view()
        self.empty = EmptyState("layers", "No study open", "Open files or drop them on the window.")
        self.problems = ProblemList(workspace.studies.clear_problems)
        area = QWidget()
        self.setMinimumWidth(170)
        self._stack = QStackedLayout(area)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.view)
        self.view.viewport().installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(area, 1)
        column.addWidget(self.problems)
        self.model.about_to_change.connect(self._keep_place)
        self.model.changed.connect(self._restore_place)
        self._disconnects: list[Callable[[], None]] = [
            workspace.studies.changed.connect(self.refresh),
            workspace.viewport.image_changed.connect(self._mark_shown),
        ]
        self.refresh()

    def _make_view(self) -> QListView:
        view = QListView()
        view.setModel(self.model)
        view.setItemDelegate(StudyDelegate(view))
        view.setUniformItemSizes(True)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setMouseTracking(True)
        view.setAccessibleName("Studies and series")
        view.clicked.connect(self._show)
        view.activated.connect(self._show)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._menu)
        return view

    def close_models(self) -> None:
        """Stop listening to the workspace."""
        for disconnect in self._disconnects:
            disconnect()
        self._disconnects.clear()
        self.model.close()

    def refresh(self) -> None:
        """Follow the workspace."""
        self._stack.setCurrentIndex(1 if self._workspace.studies.all else 0)
        self.problems.show_problems(self._workspace.studies.problems)
        self._mark_shown(scroll=False)

    def _mark_shown(self, *, scroll: bool = True) -> None:
        """Select the series of the shown image, and bring it into view unless told not to."""
        index = self.model.index_of(self._workspace.acquired)
        if index == self.view.currentIndex():
            return
        # Qt scrolls to what becomes current, which must not happen while a scan adds rows.
        self.view.setAutoScroll(False)
        self.view.setCurrentIndex(index)
        self.view.setAutoScroll(True)
        if scroll and index.isValid():
            self.view.scrollTo(self.model.place_of(key_of(self.model.row(index).study)))
            self.view.scrollTo(index)

    def _keep_place(self) -> None:
        """Remember which row stands where, before others are put in above it."""
        top = self.view.indexAt(QPoint(4, 0))
        if top.isValid():
            key, y = self.model.row(top).key, self.view.visualRect(top).top()
            self._anchor = (QPersistentModelIndex(top), key, y)

    def _restore_place(self) -> None:
        anchor, self._anchor = self._anchor, None
        if anchor is None:
            return
        kept, key, y = anchor
        index = self.model.index(kept.row()) if kept.isValid() else self.model.place_of(key)
        if index.isValid():
            self.view.doItemsLayout()
            bar = self.view.verticalScrollBar()
            bar.setValue(bar.value() + self.view.visualRect(index).top() - y)

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

    def step(self, steps: int) -> None:
        """Show the series `steps` places on in the list; stays at the ends.

        What is drawn over the images of another series is passed over: the layers list has it.
        """
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
        """Whether a row is a series that is shown by itself."""
        if not isinstance(row, SeriesRow) or row.first is None:
            return False
        if row.series.content not in _OVER_IMAGES:
            return True
        return all(self._workspace.image_of(item) is None for item in row.series.instances)

    def _menu(self, position: QPoint) -> None:
        index = self.view.indexAt(position)
        if index.isValid():
            menu = QMenu(self)
            key = key_of(self.model.row(index).study)
            menu.addAction(icons.icon("x"), "Close study", lambda: self._workspace.close_study(key))
            menu.addAction("Close all studies", self._close_all)
            menu.exec(self.view.viewport().mapToGlobal(position))
            menu.deleteLater()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What was not opened never crowds out what was."""
        share = round(event.size().height() * PROBLEMS_SHARE)
        self.problems.setMaximumHeight(max(LOWEST_PROBLEMS, share))
        super().resizeEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(event, QResizeEvent):
            self._keep_in_sight(event.oldSize().height(), event.size().height())
        return False

    def _keep_in_sight(self, before: int, after: int) -> None:
        """What opens below, another panel or the problems, must not hide the shown series."""
        index = self.view.currentIndex()
        place = self.view.visualRect(index)
        seen = index.isValid() and 0 <= place.top() < before
        if seen and after < before and place.bottom() >= after:
            QTimer.singleShot(0, self, self._show_current)

    def _show_current(self) -> None:
        self.view.scrollTo(self.view.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.view.currentIndex()
        if event.key() == Qt.Key.Key_Delete and index.isValid():
            self._workspace.close_study(key_of(self.model.row(index).study))
        else:
            super().keyPressEvent(event)
