"""The menu of layouts and links: a grid picker, named layouts, and what is linked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QToolButton, QWidget, QWidgetAction

from app.views.layouts import column
from app.views.theme import SPACE, THEME
from app.views.translation import tr, translatable
from app.views.viewports.linking import ViewportLinks
from app.views.viewports.study_hanging import StudyHanging
from app.views.viewports.viewport_area import ViewportArea
from app.views.widgets import label
from app.views.wording import one_line
from app.workspace.layout import LARGEST, Layout

_CELL = 26  # px
LAYOUT_KEYS = {
    "1x1": (translatable("One viewport"), "Ctrl+Alt+1"),
    "1x2": (translatable("Two side by side"), "Ctrl+Alt+2"),
    "1x3": (translatable("Three side by side"), "Ctrl+Alt+3"),
    "2x2": (translatable("Two by two"), "Ctrl+Alt+4"),
    "1+2": (translatable("One large, two small"), "Ctrl+Alt+5"),
    "1+3": (translatable("One large, three small"), "Ctrl+Alt+6"),
}
"""Layouts with a name and a key; the grid picker has the others."""

LINKS = {
    "scroll": (translatable("Link scrolling"), "Ctrl+Alt+S"),
    "window": (translatable("Link window"), "Ctrl+Alt+W"),
    "view": (translatable("Link zoom and pan"), "Ctrl+Alt+Z"),
    "lines": (translatable("Reference lines"), "Ctrl+Alt+R"),
}

MakeAction = Callable[..., QAction]


class GridPicker(QWidget):
    """A grid of cells; a click on one chooses the layout with so many rows and columns."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(QSize(LARGEST * _CELL, LARGEST * _CELL))
        self.setAccessibleName(tr("Rows and columns of viewports"))
        self.rows = self.columns = 1

    def cell_center(self, row: int, column: int) -> QPointF:
        """Return the middle of a cell in the widget (px); rows and columns count from 1."""
        return QPointF((column - 0.5) * _CELL, (row - 0.5) * _CELL)

    @property
    def layout_name(self) -> str:
        return f"{self.rows}x{self.columns}"

    def _mark(self, rows: int, columns: int) -> None:
        self.rows = min(max(rows, 1), LARGEST)
        self.columns = min(max(columns, 1), LARGEST)
        self.setAccessibleDescription(
            tr("{rows} rows, {columns} columns").format(rows=self.rows, columns=self.columns)
        )
        self.setToolTip(f"{self.rows} x {self.columns}")
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        self._mark(int(at.y() // _CELL) + 1, int(at.x() // _CELL) + 1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.mouseMoveEvent(event)
        self.chosen.emit(self.layout_name)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        down, across = moves.get(Qt.Key(event.key()), (0, 0))
        if down or across:
            self._mark(self.rows + down, self.columns + across)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(self.layout_name)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for row in range(LARGEST):
            for number in range(LARGEST):
                marked = row < self.rows and number < self.columns
                cell = QRectF(number * _CELL + 2, row * _CELL + 2, _CELL - 4, _CELL - 4)
                painter.setPen(QColor(THEME.accent if marked else THEME.border))
                painter.setBrush(QColor(THEME.selected if marked else THEME.raised))
                painter.drawRoundedRect(cell, 3, 3)
        painter.end()


class LayoutMenu(QMenu):
    """The menu of layouts: the grid picker, named layouts, and actions on the active viewport."""

    def __init__(
        self,
        area: ViewportArea,
        layout: Layout,
        hanging: StudyHanging,
        make_action: MakeAction,
        parent: QWidget,
    ) -> None:
        super().__init__(tr("Layout"), parent)
        self._layout = layout
        self._hanging = hanging
        self.picker = GridPicker()
        self.picker.chosen.connect(area.show_layout)
        self.picker.chosen.connect(lambda _name: self._close_menus())
        holder = QWidget()
        column(
            label(tr("Rows and columns"), "caption"),
            self.picker,
            margins=(SPACE.m, SPACE.s, SPACE.m, SPACE.s),
            spacing=SPACE.xs,
            parent=holder,
        )
        grid = QWidgetAction(self)
        grid.setDefaultWidget(holder)
        self.addAction(grid)
        self.addSeparator()
        self.choices: dict[str, QAction] = {}
        for name, (text, key) in LAYOUT_KEYS.items():
            action = make_action(tr(text), partial(area.show_layout, name), key, checkable=True)
            action.triggered.connect(self.refresh)
            self.choices[name] = action
            self.addAction(action)
        self.addSeparator()
        self.maximise = make_action(
            tr("Maximise viewport"),
            lambda: layout.maximise(not layout.maximised),
            "X",
            "maximize-2",
            checkable=True,
        )
        self.maximise.triggered.connect(self.refresh)
        self.close_one = make_action(tr("Close viewport"), lambda: layout.close(layout.active))
        self.next = make_action(tr("Next viewport"), lambda: layout.step(1), "F6")
        self.previous = make_action(tr("Previous viewport"), lambda: layout.step(-1), "Shift+F6")
        self.second = make_action(
            tr("Second window"),
            lambda: layout.open_second() if layout.second is None else layout.close_second(),
            "Ctrl+Alt+N",
            "monitor",
            checkable=True,
        )
        self.second.triggered.connect(self.refresh)
        self.addActions([self.maximise, self.close_one, self.next, self.previous, self.second])
        self.addSeparator()
        self.protocols = self.addMenu(tr("Hanging protocols"))
        self.protocols.aboutToShow.connect(self._list_protocols)
        self.arrange = make_action(tr("Arrange by protocol"), hanging.arrange, "Ctrl+Alt+A")
        self.keep = make_action(tr("Keep this layout for studies like this"), hanging.keep)
        self.manage = make_action(tr("Manage hanging protocols…"), hanging.manage)
        self.folder = make_action(tr("Folder of my hanging protocols…"), hanging.open_folder)
        self._list_protocols()
        layout.changed.connect(self.refresh)
        layout.active_changed.connect(self.refresh)
        self.refresh()

    def _list_protocols(self) -> None:
        """List the protocols that the shown study can fill."""
        self.protocols.clear()
        for one in self._hanging.choices():
            name = one_line(tr(one.protocol.title)).replace("&", "&&")
            self.protocols.addAction(name, partial(self._hanging.hang, one))
        if self.protocols.isEmpty():
            self.protocols.addAction(tr("None for this study")).setEnabled(False)
        self.protocols.addSeparator()
        self.protocols.addActions([self.arrange, self.keep, self.manage, self.folder])

    def _close_menus(self) -> None:
        self.close()

    def refresh(self) -> None:
        """Check the layout that is shown, and enable what needs several viewports."""
        for name, action in self.choices.items():
            action.setChecked(name == self._layout.name)
        second = self._layout.second is not None
        several = len(self._layout.screen.viewports) > 1
        self.maximise.setEnabled(several)
        self.close_one.setEnabled(several or self._layout.screen is self._layout.second)
        for action in (self.next, self.previous):
            action.setEnabled(several or second)
        self.second.setChecked(second)
        self.maximise.setChecked(self._layout.maximised)


class LinkMenu(QMenu):
    """The menu of what is linked among viewports."""

    def __init__(
        self,
        links: ViewportLinks,
        layout: Layout,
        make_action: MakeAction,
        parent: QWidget,
    ) -> None:
        super().__init__(tr("Link"), parent)
        self._links = links
        self._layout = layout
        self.choices: dict[str, QAction] = {}
        for name, (text, key) in LINKS.items():
            action = make_action(tr(text), partial(self._toggle, name), key, checkable=True)
            self.choices[name] = action
            self.addAction(action)
        self.addSeparator()
        self.member = make_action(
            tr("Link the active viewport"), self._toggle_member, "Ctrl+Alt+L", checkable=True
        )
        self.addAction(self.member)
        self._button: QToolButton | None = None
        links.changed.connect(self.refresh)
        layout.active_changed.connect(self.refresh)
        layout.changed.connect(self.refresh)
        self.refresh()

    def _toggle(self, name: str) -> None:
        self._links.set_link(name, not getattr(self._links, name))

    def _toggle_member(self) -> None:
        active = self._layout.active
        self._links.leave(active, active not in self._links.left_out)

    def refresh(self) -> None:
        several = len(self._layout.viewports) > 1
        for name, action in self.choices.items():
            action.setChecked(bool(getattr(self._links, name)))
            action.setEnabled(several)
        self.member.setChecked(self._layout.active not in self._links.left_out)
        self.member.setEnabled(several)
