"""The dialog in which the window presets of a modality are edited."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from app.imaging.pixels.windows import presets
from app.imaging.types import Window
from app.views.layouts import column, row
from app.views.theme import SPACE, restyle
from app.views.translation import tr
from app.views.widgets import label, push_button
from app.workspace.window_presets import LONGEST, MOST, WindowPresets, checked

NAME, CENTER, WIDTH = range(3)


class PresetDialog(QDialog):
    """A table of names, centres and widths; the first nine rows have the keys 1 to 9.

    Args:
        shown: The window of the shown image, which "Add" takes; None for none.
    """

    def __init__(
        self, store: WindowPresets, modality: str, shown: Window | None, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Window presets for {modality}").format(modality=modality))
        self._store = store
        self._modality = modality
        self._shown = shown
        about = tr(
            "For every {modality} image. The keys 1 to 9 choose them in this order; the windows in "
            "the image's file follow."
        ).format(modality=modality)
        self.table = QTableWidget(0, 3)
        self.table.setHorizontalHeaderLabels([tr("Name"), tr("Centre"), tr("Width")])
        self.table.horizontalHeader().setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setTabKeyNavigation(False)
        self.table.setAccessibleName(tr("Presets: name, centre and width"))
        self.table.itemChanged.connect(lambda _item: self._check())
        self.table.itemSelectionChanged.connect(self._check)
        self.note = label("", "warning", wrap=True)
        self.add = push_button(tr("Add"), self._add)
        self.remove = push_button(tr("Remove"), self._remove)
        self.up = push_button(tr("Up"), lambda: self._move(-1))
        self.down = push_button(tr("Down"), lambda: self._move(1))
        self.shipped = push_button(tr("Shipped ones"), self._take_shipped)
        self.save = push_button(tr("Save"), self._save, primary=True)
        cancel = push_button(tr("Cancel"), self.reject)
        for button in (self.add, self.remove, self.up, self.down, self.shipped, cancel):
            button.setAutoDefault(False)
        self.save.setAutoDefault(False)  # Enter ends the editing of a cell
        buttons = row(self.add, self.remove, self.up, self.down, self.shipped, 1)
        foot = row(1, cancel, self.save)
        column(
            label(about, "muted", wrap=True),
            (self.table, 1),
            buttons,
            self.note,
            foot,
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        self.resize(520, 460)
        self._fill(store.of(modality))

    def _fill(self, windows: Sequence[Window]) -> None:
        self.table.setRowCount(0)
        for window in windows:
            self._append(window.explanation, window.center, window.width)
        self._check()

    def _append(self, name: str, center: float, width: float) -> None:
        at = self.table.rowCount()
        self.table.insertRow(at)
        for column_, text in enumerate((name, f"{center:.9g}", f"{width:.9g}")):
            self.table.setItem(at, column_, QTableWidgetItem(text))

    def _texts(self, at: int) -> list[str]:
        cells = (self.table.item(at, column_) for column_ in range(3))
        return [cell.text().strip() if cell is not None else "" for cell in cells]

    def _windows(self) -> list[Window]:
        """Return what is entered; raise ValueError saying which row is no window, and why."""
        found: list[Window] = []
        for at in range(self.table.rowCount()):
            name, center, width = self._texts(at)
            try:
                if not 0 < len(name) <= LONGEST:
                    raise ValueError(tr("A name has 1 to {most} characters.").format(most=LONGEST))
                found.append(_window(name, _number(center), _number(width)))
            except ValueError as error:
                text = tr("Row {number}: {problem}").format(number=at + 1, problem=error)
                raise ValueError(text) from error
        return found

    def _check(self) -> None:
        """Say what is wrong, and enable what can be done."""
        try:
            self._windows()
            text = ""
        except ValueError as error:
            text = str(error)
        self.note.setText(text)
        restyle(self.note)
        self.save.setEnabled(not text)
        self.save.setAccessibleDescription(text)
        at, count = self.table.currentRow(), self.table.rowCount()
        self.add.setEnabled(count < MOST)
        self.remove.setEnabled(at >= 0)
        self.up.setEnabled(at > 0)
        self.down.setEnabled(0 <= at < count - 1)

    def _add(self) -> None:
        shown = self._shown
        center, width = (shown.center, shown.width) if shown is not None else (40.0, 400.0)
        self._append(tr("Preset {number}").format(number=self.table.rowCount() + 1), center, width)
        self.table.setCurrentCell(self.table.rowCount() - 1, NAME)
        if (item := self.table.item(self.table.rowCount() - 1, NAME)) is not None:
            self.table.editItem(item)

    def _remove(self) -> None:
        self.table.removeRow(self.table.currentRow())
        self._check()

    def _move(self, by: int) -> None:
        at = self.table.currentRow()
        rows = [self._texts(one) for one in range(self.table.rowCount())]
        rows[at], rows[at + by] = rows[at + by], rows[at]
        for place, texts in ((at, rows[at]), (at + by, rows[at + by])):
            for column_, text in enumerate(texts):
                self.table.setItem(place, column_, QTableWidgetItem(text))
        self.table.setCurrentCell(at + by, NAME)
        self._check()

    def _take_shipped(self) -> None:
        self._fill(presets(self._modality))

    def _save(self) -> None:
        wanted = self._windows()
        same = wanted == list(presets(self._modality))
        try:
            self._store.save(self._modality, None if same else wanted)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            text = tr(
                "They cannot be saved ({reason}): they hold until Sightline is closed."
            ).format(reason=reason)
            self.note.setText(text)
            return
        self.accept()


def _window(name: str, center: float, width: float) -> Window:
    try:
        return checked(name, center, width)
    except ValueError as error:
        problem = tr("The width must be above 0, and both numbers below 100 billion.")
        raise ValueError(problem) from error


def _number(text: str) -> float:
    try:
        return float(text)  # "1,500" is refused: it is 1500 to some and 1.5 to others
    except ValueError as error:
        problem = tr("“{text}” is not a number. Write it as 1500 or 0.5.").format(text=text)
        raise ValueError(problem) from error
