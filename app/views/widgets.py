"""Small widgets for every panel; all of their text is plain text."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QDockWidget,
    QDoubleSpinBox,
    QFrame,
    QGridLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.views import icons
from app.views.layouts import column, row
from app.views.plain_text import clean
from app.views.theme import SPACE, THEME
from app.views.translation import tr

Index = QModelIndex | QPersistentModelIndex


def plain_tip(text: str) -> str:
    """Return a tooltip that shows `text` literally; Qt would treat text with tags as rich text."""
    safe = html.escape(clean(text))
    return f'<span style="white-space: pre-wrap">{safe}</span>' if text else ""


def label(text: str = "", role: str = "", *, wrap: bool = False) -> QLabel:
    """Return a label that is never rich text; `role`: heading, title, muted, caption, ..."""
    result = QLabel()
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setText(text)
    result.setWordWrap(wrap)
    if role:
        result.setProperty("role", role)
    return result


class ElidedLabel(QLabel):
    """One line of plain text, elided if it does not fit; the tooltip shows the whole text."""

    _mode = Qt.TextElideMode.ElideRight

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        if role:
            self.setProperty("role", role)
        super().setText(" ")  # as high as any line
        self._text = ""
        self.setText(text)

    def setText(self, text: str) -> None:
        # Not as the text of Qt's label: its layout and all above would be made anew, which takes
        # longer than to draw it, though its size stays.
        self._text = text
        self.setToolTip(plain_tip(text))
        self.setAccessibleName(text)
        self.update()

    def text(self) -> str:
        return self._text

    def minimumSizeHint(self) -> QSize:
        return QSize(20, super().minimumSizeHint().height())

    def shown_text(self) -> str:
        """Return the text as it is currently painted, elided if it does not fit."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(
            self.contentsRect(),
            int(self.alignment()) | int(Qt.TextFlag.TextSingleLine),
            self.shown_text(),
        )
        painter.end()


def tool_button(
    icon_name: str, tip: str, action: Callable[[], object] | None = None, size: int = 16
) -> QToolButton:
    """Return a small button with an icon; `tip` is its tooltip and accessible name."""
    button = QToolButton()
    button.setIcon(icons.icon(icon_name))
    button.setIconSize(QSize(size, size))
    button.setToolTip(plain_tip(tip))
    button.setAccessibleName(tip)
    button.setAutoRaise(True)
    if action is not None:
        button.clicked.connect(lambda: action())
    return button


def push_button(
    text: str, action: Callable[[], object], *, primary: bool = False, icon_name: str = ""
) -> QPushButton:
    """Return a button that calls `action`; a view should have at most one `primary` button."""
    button = QPushButton(text)
    if icon_name:
        tint = THEME.accent_text if primary else THEME.text_muted
        button.setIcon(icons.icon(icon_name, tint))
    button.setProperty("primary", primary)
    button.setCursor(Qt.CursorShape.PointingHandCursor)
    button.clicked.connect(lambda: action())
    return button


def search_field(prompt: str, name: str = "", tip: str = "") -> QLineEdit:
    """Return a field to search by; `name`, by default `prompt`, is its accessible name."""
    field = QLineEdit()
    field.setPlaceholderText(prompt)
    field.setAccessibleName(name or prompt)
    field.setToolTip(plain_tip(tip or prompt))
    field.setClearButtonEnabled(True)
    field.addAction(icons.icon("search"), QLineEdit.ActionPosition.LeadingPosition)
    return field


def number_field(name: str) -> QDoubleSpinBox:
    """Return a field for a number, without arrows; `name` is its accessible name."""
    field = QDoubleSpinBox()
    field.setAccessibleName(name)
    # With Qt's `NoButtons` and a style sheet, the text has a width of 1 px.
    no_room = "{ width: 0px; height: 0px; border: none; }"
    field.setStyleSheet(f"QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {no_room}")
    field.lineEdit().setTextMargins(SPACE.s, 0, SPACE.s, 0)
    return field


class RowModel(QAbstractTableModel):
    """A table model that stores rows.

    Subclasses set `columns`, marked as `translatable`, and return cells from `data`.
    """

    columns: tuple[str, ...] = ()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: Sequence[Any] = ()

    def show_rows(self, rows: Sequence[Any]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return tr(self.columns[section])
        return None


class RowTable(QTableView):
    """A table of selectable one-line rows that Tab leaves; `row_height`, `widths` in px."""

    def __init__(
        self, model: QAbstractItemModel, name: str, *, row_height: int, widths: Mapping[int, int]
    ) -> None:
        super().__init__()
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(row_height)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(name)
        self.setTabKeyNavigation(False)  # Tab would never leave a table of thousands of cells
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        for number, width in widths.items():
            self.setColumnWidth(number, width)


def rule() -> QFrame:
    """Return a thin line that separates parts of a page."""
    line = QFrame()
    line.setProperty("rule", True)
    return line


class IconLabel(QLabel):
    """A label that shows an icon, sharp at any pixel density."""

    def __init__(self, name: str, size: int = SPACE.icon, tint: str = THEME.text_muted) -> None:
        super().__init__()
        self._name, self._tint = name, tint
        self.setFixedSize(size, size)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def set_icon(self, name: str, tint: str = "") -> None:
        """Show another icon; its colour is `tint`, or stays the same if that is ""."""
        self._name, self._tint = name, tint or self._tint
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = min(self.width(), self.height())
        place = QRect(0, 0, side, side)
        place.moveCenter(self.rect().center())
        icons.draw(painter, self._name, place, self._tint)
        painter.end()


class EmptyState(QWidget):
    """The message of an empty panel: icon, title, and what to do."""

    def __init__(self, icon_name: str, title: str, text: str) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = label(title, "strong", wrap=True)
        self.text = label(text, "muted", wrap=True)
        for part in (self.title, self.text):
            part.setAlignment(Qt.AlignmentFlag.AlignCenter)
        mark = row(1, IconLabel(icon_name, 30, THEME.text_faint), 1)
        column(1, mark, self.title, self.text, 2, margins=SPACE.xl, parent=self)


def center_page(page: QWidget, parts: Sequence[QWidget], max_width: int) -> QVBoxLayout:
    """Stack widgets in the middle of a page, and return their layout.

    The text of labels is centred; `max_width` is in px.
    """
    inner = QWidget()
    inner.setMaximumWidth(max_width)
    for part in parts:
        if isinstance(part, QLabel):
            part.setAlignment(Qt.AlignmentFlag.AlignCenter)
    margins = (SPACE.xl, 0, SPACE.xl, 0)
    stack = column(*parts, spacing=SPACE.m, margins=margins, parent=inner)
    if isinstance(parts[0], IconLabel):  # a text would be as high as its widest form needs
        stack.setAlignment(parts[0], Qt.AlignmentFlag.AlignHCenter)
    outer = QGridLayout(page)
    outer.addWidget(inner, 1, 1)
    for side in (0, 2):
        outer.setRowStretch(side, 1)
        outer.setColumnStretch(side, 1)
    outer.setColumnStretch(1, 4)
    return stack


class ProgressRow(QFrame):
    """A row with a text, a progress bar and a cancel button; hidden while nothing is running."""

    def __init__(self, cancel_button: QAbstractButton, bar_width: int, role: str = "") -> None:
        super().__init__()
        self.text = label("", role)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(bar_width)
        row(self.text, self._bar, cancel_button, margins=(SPACE.s, 0, SPACE.s, 0), parent=self)
        self.hide()

    def set_progress(self, text: str, done: int = 0, total: int = 0) -> None:
        self.text.setText(text)
        self._bar.setRange(0, total)
        self._bar.setValue(done)


def confirm(
    parent: QWidget, title: str, text: str, details: str, yes: str, then: Callable[[], object]
) -> None:
    """Ask in a dialog with the buttons `yes` and Cancel, the default; call `then` after `yes`."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(details)
    agree = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    box.finished.connect(lambda _result: then() if box.clickedButton() is agree else None)
    box.open()


class PanelTitle(QWidget):
    """The title bar of a dock: name, optional count, and close button."""

    def __init__(self, title: str, dock: QDockWidget) -> None:
        super().__init__(dock)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self.count = label("", "count")
        self.count.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.count.hide()
        close = tool_button("x", tr("Hide this panel"), dock.close, 14)
        margins = (SPACE.m, SPACE.s, SPACE.s, SPACE.xs)
        row(label(title, "section"), self.count, 1, close, margins=margins, parent=self)

    def set_count(self, count: int) -> None:
        self.count.setText(str(count))
        self.count.setVisible(count > 0)
