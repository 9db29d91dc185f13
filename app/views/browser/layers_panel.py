"""The layers of the shown image: segments, contours, overlays, and how it is presented."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QSlider,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.imaging.layers import RGB
from app.imaging.types import Content
from app.views import icons, wording
from app.views.layer_loading import LayerLoading
from app.views.theme import SPACE, THEME
from app.views.widgets import EmptyState, label, plain_tip
from app.workspace.layers import LayerEntry
from app.workspace.workspace import Workspace

_KEY = Qt.ItemDataRole.UserRole
_NUMBER = Qt.ItemDataRole.UserRole + 1
SWATCH = 12
AS_ACQUIRED = "As the image says"

_ICONS = {
    Content.SEGMENTATION: "layers",
    Content.STRUCTURES: "spline",
    Content.PRESENTATION: "pen-line",
    Content.IMAGE: "image",
}


class LayersPanel(QWidget):
    """The panel: a tree of layers and their parts with check boxes, and the opacity of fills."""

    needed_changed = Signal(bool)  # whether there is anything to show

    def __init__(self, workspace: Workspace, loading: LayerLoading) -> None:
        super().__init__()
        self._was_needed = False
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self._loading = loading
        self.tree = self._make_tree()
        self.opacity = QSlider(Qt.Orientation.Horizontal)
        self.opacity.setRange(0, 100)
        self.opacity.setAccessibleName("Opacity of filled layers")
        self.opacity.valueChanged.connect(self._set_opacity)
        self.states = QComboBox()
        self.states.setAccessibleName("Presentation state")
        self.states.activated.connect(self._choose_state)
        self._state_row = self._row("Presentation", self.states)
        self._opacity_row = self._row("Opacity", self.opacity)
        self.empty = EmptyState(
            "layers",
            "No layers",
            "Segmentations, structure sets, presentation states and overlays of the shown image "
            "appear here.",
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE.s, 0, SPACE.s, SPACE.s)
        column.setSpacing(SPACE.xs)
        column.addWidget(self._state_row)
        column.addWidget(self.tree, 1)
        column.addWidget(self.empty, 1)
        column.addStretch(0)
        column.addWidget(self._opacity_row)
        self._disconnect = workspace.layers.changed.connect(self.refresh)
        self.refresh()

    def close_models(self) -> None:
        """Stop listening to the workspace."""
        self._disconnect()

    @property
    def needed(self) -> bool:
        """Whether there is anything to show."""
        return bool(self._workspace.layers.entries) or bool(self._loading.states)

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setHeaderHidden(True)
        tree.setIndentation(16)
        tree.setIconSize(QSize(SWATCH + 2, SWATCH + 2))
        tree.setUniformRowHeights(True)
        tree.setTextElideMode(Qt.TextElideMode.ElideRight)
        tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        tree.setAccessibleName("Layers of the image")
        tree.itemChanged.connect(self._checked)
        return tree

    def _row(self, name: str, widget: QWidget) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(SPACE.xs, SPACE.xs, SPACE.xs, SPACE.xs)
        row.setSpacing(SPACE.s)
        row.addWidget(label(name, "caption"))
        row.addWidget(widget, 1)
        return holder

    def refresh(self) -> None:
        """Show what the workspace holds."""
        entries = self._workspace.layers.entries
        self._show_states()
        self._fill(entries)
        self.tree.setVisible(bool(entries))
        self.empty.setVisible(not self.needed)
        self._opacity_row.setVisible(bool(entries))
        if self.needed != self._was_needed:
            self._was_needed = self.needed
            self.needed_changed.emit(self.needed)
        if entries:
            with QSignalBlocker(self.opacity):
                self.opacity.setValue(round(entries[0].look.opacity * 100))

    def _show_states(self) -> None:
        states = self._loading.states
        self._state_row.setVisible(bool(states))
        with QSignalBlocker(self.states):
            self.states.clear()
            self.states.addItem(AS_ACQUIRED)
            for state in states:
                name = state.get("ContentLabel") or state.get("SeriesDescription")
                self.states.addItem(wording.one_line(name or "Presentation state"))
            applied = self._loading.applied
            self.states.setCurrentIndex(states.index(applied) + 1 if applied in states else 0)

    def _choose_state(self, index: int) -> None:
        states = self._loading.states
        self._loading.apply(states[index - 1] if 0 < index <= len(states) else None)

    def _fill(self, entries: tuple[LayerEntry, ...]) -> None:
        """Rebuild only when the parts have changed: an open tree must stay open."""
        wanted = [(entry.key, len(entry.items)) for entry in entries]
        shown = [
            (item.data(0, _KEY), item.childCount())
            for item in map(self.tree.topLevelItem, range(self.tree.topLevelItemCount()))
            if item is not None
        ]
        with QSignalBlocker(self.tree):
            if wanted != shown:
                self.tree.clear()
                for entry in entries:
                    self.tree.addTopLevelItem(self._make_item(entry))
                    last = self.tree.topLevelItem(self.tree.topLevelItemCount() - 1)
                    if last is not None:
                        last.setExpanded(len(entry.items) <= 12)
            for number, entry in enumerate(entries):
                item = self.tree.topLevelItem(number)
                if item is not None:
                    self._update(item, entry)

    def _make_item(self, entry: LayerEntry) -> QTreeWidgetItem:
        item = QTreeWidgetItem()
        item.setData(0, _KEY, entry.key)
        item.setIcon(0, icons.icon(_ICONS.get(entry.content, "layers")))
        for part in entry.items:
            child = QTreeWidgetItem(item)
            child.setText(0, wording.one_line(part.label or f"Part {part.number}"))
            child.setIcon(0, swatch(part.color))
            child.setData(0, _KEY, entry.key)
            child.setData(0, _NUMBER, part.number)
            child.setToolTip(0, plain_tip(part.detail or part.label))
        return item

    def _update(self, item: QTreeWidgetItem, entry: LayerEntry) -> None:
        item.setText(0, wording.one_line(entry.title or "Layer"))
        item.setCheckState(0, _check(entry.look.visible))
        notes = [*(entry.layer.warnings if entry.layer else ())]
        notes += [*(entry.frame.warnings if entry.frame else ())]
        if entry.error:
            notes.insert(0, entry.error)
        item.setToolTip(0, plain_tip("\n".join([entry.title, *notes])))
        tint = THEME.error if entry.error else THEME.warning if notes else THEME.text
        item.setForeground(0, QColor(tint))
        for number in range(item.childCount()):
            child = item.child(number)
            if child is None:
                continue
            shown = child.data(0, _NUMBER) not in entry.look.hidden
            child.setCheckState(0, _check(shown))
            faint = not (shown and entry.look.visible)
            child.setForeground(0, QColor(THEME.text_faint if faint else THEME.text))

    def _checked(self, item: QTreeWidgetItem) -> None:
        on = item.checkState(0) == Qt.CheckState.Checked
        key, number = item.data(0, _KEY), item.data(0, _NUMBER)
        if number is None:
            self._workspace.layers.set_visible(key, on)
        else:
            self._workspace.layers.set_item_visible(key, number, on)

    def _set_opacity(self, value: int) -> None:
        for entry in self._workspace.layers.entries:
            self._workspace.layers.set_opacity(entry.key, value / 100)


def _check(on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked


def swatch(color: RGB) -> QIcon:
    """A small square of a part's colour."""
    pixmap = QPixmap(SWATCH * 2, SWATCH * 2)
    pixmap.setDevicePixelRatio(2.0)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(THEME.border))
    painter.setBrush(QColor(*color))
    painter.drawRoundedRect(QRectF(0.5, 0.5, SWATCH - 1.0, SWATCH - 1.0), 3.0, 3.0)
    painter.end()
    return QIcon(pixmap)
