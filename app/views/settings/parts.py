"""Fields of the settings window. All of their text is plain text."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QCompleter,
    QDoubleSpinBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSizePolicy,
    QSpacerItem,
    QSpinBox,
    QStyle,
    QStyleOptionButton,
    QVBoxLayout,
    QWidget,
)

from app.views import icons
from app.views.chat.widgets import row
from app.views.theme import SPACE, THEME
from app.views.widgets import label

LABEL_WIDTH = 118
FIELD_HEIGHT = 32


def wrapped(text: str, role: str = "") -> QLabel:
    """A label of several lines, as narrow as it must be: one long name must not widen the page."""
    made = label(text, role, wrap=True)
    made.setMinimumWidth(1)
    return made


def tab_fields(box: QWidget) -> list[QWidget]:
    """The fields in a widget, in the order in which they were made."""
    return [
        field
        for field in box.findChildren(QWidget)
        if field.focusPolicy() & Qt.FocusPolicy.TabFocus
        and field.focusProxy() is None
        and field.window() is box.window()  # the list of a combo box is a window of its own
    ]


class Column(QScrollArea):
    """A page: a column that scrolls where the window is too low for it."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside = QWidget()
        inside.setObjectName("settingsPage")
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
        self.column.setSpacing(SPACE.s)
        self.setWidget(inside)

    def heading(self, text: str, hint: str = "") -> None:
        """A title, and below it what it is about."""
        self.column.addWidget(label(text, "title"))
        if hint:
            self.column.addWidget(wrapped(hint, "muted"))
        self.column.addSpacing(SPACE.xs)

    def tab_fields(self) -> list[QWidget]:
        """What the Tab key goes through, in order."""
        return tab_fields(self)

    def section(self, text: str) -> QLabel:
        """The title of a group."""
        self.column.addSpacing(SPACE.m)
        made = label(text, "section")
        self.column.addWidget(made)
        return made


class Form(QGridLayout):
    """Names on the left, fields on the right; each field is named for screen readers."""

    def __init__(self) -> None:
        super().__init__()
        self.setContentsMargins(0, 0, 0, 0)
        self.setHorizontalSpacing(SPACE.m)
        self.setVerticalSpacing(SPACE.xs)
        self.setColumnMinimumWidth(0, LABEL_WIDTH)
        self.setColumnStretch(1, 1)

    def put(self, name: str, field: QWidget, beside: QWidget | None = None) -> None:
        """A row.

        Args:
            name: Its name.
            field: What is named.
            beside: What stands in the row instead of the field alone, and holds it.
        """
        field.setAccessibleName(name)
        title = label(name, "muted")
        title.setBuddy(field)
        # As high as a field, so that both have one line of text where the field has notes below.
        title.setMinimumHeight(FIELD_HEIGHT)
        self.addItem(QSpacerItem(0, 2), self.rowCount(), 0)
        at = self.rowCount()
        self.addWidget(title, at, 0, Qt.AlignmentFlag.AlignTop)
        if beside is None and field.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Fixed:
            beside = QWidget()  # else the names would take the room that the field leaves
            beside.setLayout(row(field, 1))
        self.addWidget(beside or field, at, 1)

    def note(self, text: str, field: QWidget | None = None) -> QLabel:
        """A line of help below the last field; also told to screen readers."""
        made = wrapped(text, "caption")
        self.addWidget(made, self.rowCount(), 1)
        if field is not None:
            field.setAccessibleDescription(text)
        return made


class Check(QCheckBox):
    """A check box whose mark is seen on the dark background."""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.isChecked():
            option = QStyleOptionButton()
            self.initStyleOption(option)
            part = QStyle.SubElement.SE_CheckBoxIndicator
            box = self.style().subElementRect(part, option, self)
            painter = QPainter(self)
            icons.draw(painter, "check", box.adjusted(2, 2, -2, -2), THEME.accent_text)
            painter.end()


class Choice(QComboBox):
    """A list to choose from; each item has a value. The wheel scrolls the page, not the choice."""

    def __init__(self, items: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for value, text in items:
            self.addItem(text, value)

    @property
    def value(self) -> str:
        """The value of the chosen item."""
        return str(self.currentData())

    def choose(self, value: str) -> None:
        """Choose the item with that value."""
        self.setCurrentIndex(max(0, self.findData(value)))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        _paint_arrow(self)


class NameField(QComboBox):
    """A name to type, or to choose from those an endpoint listed.

    Attributes:
        edited: The text changed, by typing or choosing.
    """

    edited = Signal()

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumContentsLength(12)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        # Never inline: a longer name that begins alike must not slip in unseen.
        finder = self.completer() or QCompleter(self)
        finder.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        finder.setFilterMode(Qt.MatchFlag.MatchContains)
        self.setCompleter(finder)
        edit = self.lineEdit()
        assert edit is not None
        edit.setPlaceholderText(placeholder)
        edit.setMaxLength(300)
        self.editTextChanged.connect(lambda _text: self.edited.emit())

    @property
    def text(self) -> str:
        """The name."""
        return self.currentText().strip()

    def set_text(self, text: str) -> None:
        """Show a name."""
        self.setEditText(text)

    def offer(self, names: tuple[str, ...]) -> None:
        """Offer names; what is typed stays."""
        typed = self.currentText()
        self.blockSignals(True)
        self.clear()
        self.addItems(list(names))
        self.setEditText(typed)
        self.blockSignals(False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.count():
            _paint_arrow(self)


class Count(QSpinBox):
    """A whole number with its unit."""

    def __init__(self, least: float, greatest: float, unit: str, *, step: int = 1) -> None:
        super().__init__()
        self.setRange(int(least), int(greatest))
        self.setSingleStep(step)
        self.setSuffix(f" {unit}")
        self.setGroupSeparatorShown(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(170, FIELD_HEIGHT)
        # The style sheet's padding does not reach the text of a spin box.
        self.lineEdit().setTextMargins(SPACE.s, 0, 0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if least == 0:
            self.setSpecialValueText("no limit")

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        _paint_steps(self)


class Amount(QDoubleSpinBox):
    """A number with a unit before or behind it."""

    def __init__(
        self, least: float, greatest: float, *, before: str = "", behind: str = "", step: float = 1
    ) -> None:
        super().__init__()
        self.setRange(least, greatest)
        self.setSingleStep(step)
        self.setPrefix(before)
        self.setSuffix(behind)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(170, FIELD_HEIGHT)
        # The style sheet's padding does not reach the text of a spin box.
        self.lineEdit().setTextMargins(SPACE.s, 0, 0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if least == 0:
            self.setSpecialValueText("no limit")

    def textFromValue(self, value: float) -> str:
        return f"{value:.2f}" if self.prefix() else f"{value:g}"

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        _paint_steps(self)


class PriceField(QLineEdit):
    """US dollars for a million tokens; empty where not known."""

    def __init__(self, greatest: float) -> None:
        super().__init__()
        self._greatest = greatest
        self.setPlaceholderText("not known")
        self.setMaxLength(20)

    @property
    def price(self) -> float | None:
        """The price; None where it is not known.

        Raises:
            ValueError: It is no price.
        """
        text = self.text().strip().removeprefix("$").replace(",", ".")
        if not text:
            return None
        value = float(text)
        if not 0 <= value <= self._greatest:
            raise ValueError("not a price")
        return value

    def show_price(self, price: float | None) -> None:
        """Show a price."""
        self.setText("" if price is None else f"{price:g}")


def _paint_arrow(box: QComboBox) -> None:
    """The theme's style sheet leaves the arrow out: a file's colour could not follow the theme."""
    side = SPACE.m
    at = QRect(box.width() - side - SPACE.s, (box.height() - side) // 2, side, side)
    painter = QPainter(box)
    icons.draw(painter, "chevron-down", at, THEME.text_muted)
    painter.end()


def _paint_steps(box: QAbstractSpinBox) -> None:
    side, right = 10, box.width() - 18
    painter = QPainter(box)
    for name, middle in (("chevron-up", 0.3), ("chevron-down", 0.7)):
        top = round(box.height() * middle - side / 2)
        icons.draw(painter, name, QRect(right, top, side, side), THEME.text_muted)
    painter.end()
