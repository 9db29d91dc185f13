"""The study list: studies, series with thumbnails, and what could not be opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPainterPath, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QListView,
    QMenu,
    QScrollArea,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.imaging.types import Problem
from app.views import icons, wording
from app.views.browser.study_model import ROW, SeriesRow, StudyModel, StudyRow
from app.views.loader import Loader
from app.views.style import ui_font
from app.views.theme import SPACE, THEME, TYPE
from app.views.widgets import (
    ElidedLabel,
    EmptyState,
    IconLabel,
    label,
    plain_tip,
    rule,
    tool_button,
)
from app.workspace.workspace import Workspace

STUDY_HEIGHT, SERIES_HEIGHT, PICTURE = 66, 72, 56
SHOWN_PROBLEMS = 50
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def draw_line(painter: QPainter, rect: QRect, font: QFont, ink: str, text: str) -> None:
    """One elided line of plain text."""
    painter.setFont(font)
    painter.setPen(QColor(ink))
    elided = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, _LEFT | Qt.TextFlag.TextSingleLine, elided)


class StudyDelegate(QStyledItemDelegate):
    """Paints study headings and series cards."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        height = STUDY_HEIGHT if isinstance(index.data(ROW), StudyRow) else SERIES_HEIGHT
        return QSize(120, height)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row = index.data(ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, StudyRow):
            self._study(painter, option.rect, row)
        else:
            model = index.model()
            picture = model.thumbnail(row) if isinstance(model, StudyModel) else None
            self._card(painter, option)
            self._series(painter, option.rect, row, picture)
        painter.restore()

    def _study(self, painter: QPainter, rect: QRect, row: StudyRow) -> None:
        x, width = rect.left() + SPACE.m, rect.width() - 2 * SPACE.m
        y = rect.top() + SPACE.s + 2
        draw_line(
            painter,
            QRect(x, y, width, 20),
            ui_font(TYPE.body, QFont.Weight.DemiBold),
            THEME.text,
            row.patient,
        )
        draw_line(
            painter,
            QRect(x, y + 19, width, 17),
            ui_font(TYPE.caption),
            THEME.text_muted,
            row.detail,
        )
        draw_line(
            painter, QRect(x, y + 35, width, 17), ui_font(TYPE.caption), THEME.text_muted, row.title
        )

    def _card(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        card = QRectF(option.rect).adjusted(SPACE.s, 2, -SPACE.s, -2)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.setPen(QColor(THEME.accent) if selected else Qt.PenStyle.NoPen)
        fill = THEME.selected if selected else THEME.hover if hovered else THEME.raised
        painter.setBrush(QColor(fill))
        painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), SPACE.radius, SPACE.radius)

    def _series(
        self, painter: QPainter, rect: QRect, row: SeriesRow, picture: QPixmap | None
    ) -> None:
        box = QRect(rect.left() + SPACE.s + 6, rect.top() + 8, PICTURE, PICTURE)
        path = QPainterPath()
        path.addRoundedRect(QRectF(box), 5, 5)
        painter.fillPath(path, QColor(THEME.canvas))
        if picture is None:
            mark = QRect(0, 0, 20, 20)
            mark.moveCenter(box.center())
            icons.draw(painter, "image", mark, THEME.text_faint)
        else:
            size = picture.size().scaled(box.size(), Qt.AspectRatioMode.KeepAspectRatio)
            place = QRect(QPoint(), size)
            place.moveCenter(box.center())
            painter.setClipPath(path)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawPixmap(place, picture)
            painter.setClipping(False)
        x = box.right() + SPACE.m
        width = rect.right() - SPACE.l - x
        middle = rect.center().y()
        draw_line(
            painter,
            QRect(x, middle - 20, width, 20),
            ui_font(TYPE.body, QFont.Weight.Medium),
            THEME.text,
            row.title,
        )
        draw_line(
            painter,
            QRect(x, middle, width, 18),
            ui_font(TYPE.caption),
            THEME.text_muted,
            row.detail,
        )


class StudyList(QWidget):
    """The panel. Click or Enter shows a series; Delete or the menu closes its study."""

    def __init__(self, workspace: Workspace, loader: Loader) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self.model = StudyModel(workspace, loader, self)
        self.view = QListView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(StudyDelegate(self.view))
        self.view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.view.setMouseTracking(True)
        self.view.setAccessibleName("Studies and series")
        self.view.clicked.connect(self._show)
        self.view.activated.connect(self._show)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._menu)
        self.empty = EmptyState("layers", "No study open", "Open files or drop them on the window.")
        self.problems = ProblemList(workspace.studies.clear_problems)
        area = QWidget()
        self.setMinimumWidth(170)
        self._stack = QStackedLayout(area)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.view)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(area, 1)
        column.addWidget(self.problems)
        self._disconnects: list[Callable[[], None]] = [
            workspace.studies.changed.connect(self.refresh),
            workspace.viewport.image_changed.connect(self._mark_shown),
        ]
        self.refresh()

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
        self._mark_shown()

    def _mark_shown(self) -> None:
        self.view.setCurrentIndex(self.model.index_of(self._workspace.viewport.instance))

    def _show(self, index: QModelIndex) -> None:
        row = self.model.row(index)
        if isinstance(row, StudyRow):
            return
        shown = self._workspace.viewport.instance
        if row.first is not None and (shown is None or shown not in row.series.instances):
            self._workspace.viewport.show(row.first)

    def _menu(self, position: QPoint) -> None:
        index = self.view.indexAt(position)
        if index.isValid():
            menu = QMenu(self)
            uid = self.model.row(index).study.uid
            menu.addAction(icons.icon("x"), "Close study", lambda: self._workspace.close_study(uid))
            menu.exec(self.view.viewport().mapToGlobal(position))
            menu.deleteLater()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.view.currentIndex()
        if event.key() == Qt.Key.Key_Delete and index.isValid():
            self._workspace.close_study(self.model.row(index).study.uid)
        else:
            super().keyPressEvent(event)


class ProblemList(QFrame):
    """Files that could not be opened, with reason and remedy; hidden while there are none."""

    def __init__(self, clear: Callable[[], object]) -> None:
        super().__init__()
        self.heading = ElidedLabel("", "section")
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(SPACE.m, 0, SPACE.m, SPACE.m)
        self._rows.setSpacing(SPACE.m)
        self._shown: tuple[Problem, ...] = ()
        inner = QWidget()
        inner.setLayout(self._rows)
        self._scroll = QScrollArea()
        self._scroll.setWidget(inner)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        head = QHBoxLayout()
        head.setContentsMargins(SPACE.m, SPACE.s, SPACE.s, SPACE.xs)
        head.setSpacing(SPACE.s)
        head.addWidget(IconLabel("triangle-alert", 14, THEME.warning))
        head.addWidget(self.heading, 1)
        head.addWidget(tool_button("x", "Clear this list", clear, 14))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(rule())
        column.addLayout(head)
        column.addWidget(self._scroll)
        self.setMaximumHeight(220)
        self.hide()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is listed."""
        return self._shown

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """List these."""
        if tuple(problems) == self._shown:
            return
        self._shown = tuple(problems)
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for problem in islice(problems, SHOWN_PROBLEMS):
            self._rows.addWidget(_problem_row(problem))
        more = len(problems) - SHOWN_PROBLEMS
        if more > 0:
            self._rows.addWidget(label(f"and {more} more", "faint"))
        self._rows.addStretch(1)
        count = len(problems)
        self.heading.setText(f"{count} file{'' if count == 1 else 's'} not opened")
        self.setVisible(count > 0)


def _problem_row(problem: Problem) -> QWidget:
    row = QWidget()
    column = QVBoxLayout(row)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(1)
    name = ElidedLabel(problem.path.name or str(problem.path), "label")
    name.setToolTip(plain_tip(str(problem.path)))
    column.addWidget(name)
    column.addWidget(label(wording.one_line(problem.reason), "caption", wrap=True))
    if problem.remedy:
        column.addWidget(label(wording.one_line(problem.remedy), "faint", wrap=True))
    return row
