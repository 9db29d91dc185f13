"""The layers panel: segments, contours, overlays and presentation states for the shown image."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QMenu,
    QSlider,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from app.imaging.layers import LayerItem
from app.imaging.types import Content, Instance
from app.views import icons, theme, wording
from app.views.layer_loading import LayerLoading
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME
from app.views.translation import tr, tr_report, translatable
from app.views.widgets import EmptyState, label, plain_tip
from app.workspace.layers import LayerEntry
from app.workspace.workspace import Workspace

_KEY = Qt.ItemDataRole.UserRole
_NUMBER = Qt.ItemDataRole.UserRole + 1
SWATCH = 12
MOST_NOTES = 3
MOST_OPEN = 12  # parts of a layer that is unfolded at first
AS_ACQUIRED = translatable("None (as acquired)")

_ICONS = {
    Content.SEGMENTATION: "layers",
    Content.STRUCTURES: "spline",
    Content.PRESENTATION: "pen-line",
    Content.IMAGE: "image",
    Content.REPORT: "file-text",
}


class LayersPanel(QWidget):
    """A tree of layers and their items (e.g. segments) with check boxes, and the fills' opacity."""

    needed_changed = Signal(bool)  # whether there is anything to show

    def __init__(self, workspace: Workspace, loading: Callable[[], LayerLoading]) -> None:
        super().__init__()
        self._was_needed: bool | None = None  # before it was filled
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self._loading = loading
        self.tree = self._make_tree()
        self.opacity = QSlider(Qt.Orientation.Horizontal)
        self.opacity.setRange(0, 100)
        self.opacity.setAccessibleName(tr("Opacity of filled layers"))
        self.opacity.setToolTip(plain_tip(tr("Opacity of filled layers")))
        self.opacity.valueChanged.connect(self._set_opacity)
        self.states = QComboBox()
        self.states.setAccessibleName(tr("Presentation state"))
        self.states.setToolTip(plain_tip(tr("How the file says that the image is to be shown")))
        self.states.activated.connect(self._choose_state)
        self.notes = label("", "warning", wrap=True)
        self.notes.setAccessibleName(tr("What is not drawn, and why"))
        self._named: tuple[str, ...] = ()
        self._listed: tuple[tuple[str, tuple[LayerItem, ...]], ...] = ()
        self._folded: dict[str, bool] = {}
        self._state_row = self._row(tr("Presentation"), self.states)
        self._opacity_row = self._row(tr("Opacity"), self.opacity)
        hint = tr(
            "Segmentations, structure sets, presentation states and overlays of the shown image "
            "appear here."
        )
        self.empty = EmptyState("layers", tr("No layers"), hint)
        lists = (self._state_row, (self.tree, 1), (self.empty, 1), 0)
        margins = (SPACE.s, 0, SPACE.s, SPACE.s)
        foot = (self.notes, self._opacity_row)
        column(*lists, *foot, spacing=SPACE.xs, margins=margins, parent=self)
        workspace.layers_changed.connect(self.refresh)
        theme.changes().changed.connect(self.refresh)
        self.refresh()

    @property
    def needed(self) -> bool:
        """Whether the shown image has layers or presentation states."""
        return bool(self._workspace.layers.entries) or bool(self._loading().states)

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setHeaderHidden(True)
        tree.setIndentation(16)
        tree.setIconSize(QSize(SWATCH + 2, SWATCH + 2))
        tree.setUniformRowHeights(True)
        tree.setTextElideMode(Qt.TextElideMode.ElideRight)
        tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        tree.setAccessibleName(tr("Layers of the image"))
        tree.itemChanged.connect(self._checked)
        tree.itemExpanded.connect(self._fold)
        tree.itemCollapsed.connect(self._fold)
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._menu)
        return tree

    def _row(self, name: str, widget: QWidget) -> QWidget:
        holder = QWidget()
        row(label(name, "caption"), (widget, 1), margins=SPACE.xs, parent=holder)
        return holder

    def refresh(self) -> None:
        if self._was_needed is False and not self.needed:
            return
        entries = self._workspace.layers.entries
        self._show_states()
        self._fill(entries)
        self.tree.setVisible(bool(entries))
        self._show_notes(entries)
        self.empty.setVisible(not self.needed)
        self._opacity_row.setVisible(bool(entries))
        if self.needed != self._was_needed:
            self._was_needed = self.needed
            self.needed_changed.emit(self.needed)
        if entries:
            with QSignalBlocker(self.opacity):
                self.opacity.setValue(round(self._workspace.layers.opacity * 100))

    def _show_states(self) -> None:
        states = self._loading().states
        self._state_row.setVisible(bool(states))
        names = (tr(AS_ACQUIRED), *map(_state_name, states))
        with QSignalBlocker(self.states):
            if names != self._named:  # an open list must stay open
                self._named = names
                self.states.clear()
                self.states.addItems(names)
            applied = self._loading().applied
            self.states.setCurrentIndex(states.index(applied) + 1 if applied in states else 0)

    def _choose_state(self, index: int) -> None:
        states = self._loading().states
        self._loading().apply(states[index - 1] if 0 < index <= len(states) else None)

    def _show_notes(self, entries: tuple[LayerEntry, ...]) -> None:
        notes = [
            f"{wording.one_line(entry.title or tr('Layer'))}: {note}"
            for entry in entries
            if entry.style.visible
            for note in _notes(entry)
        ]
        shown = [wording.sentence(note) for note in notes[:MOST_NOTES]]
        if len(notes) > MOST_NOTES:
            shown.append(
                tr("{count} more: hover to read them").format(count=len(notes) - MOST_NOTES)
            )
        self.notes.setText("\n".join(shown))
        self.notes.setToolTip(plain_tip("\n".join(notes)))
        self.notes.setVisible(bool(notes))

    def _fill(self, entries: tuple[LayerEntry, ...]) -> None:
        """Update the tree; it is rebuilt only where items have changed, so that it stays open."""
        wanted = tuple((entry.key, entry.items) for entry in entries)
        with QSignalBlocker(self.tree):
            if wanted != self._listed:
                self._listed = wanted
                chosen = self._place_of(self.tree.currentItem())
                self.tree.clear()
                for entry in entries:
                    item = self._make_item(entry)
                    self.tree.addTopLevelItem(item)
                    long = len(entry.items) > MOST_OPEN and len(entries) > 1
                    item.setExpanded(not self._folded.get(entry.key, long))
                self._choose(chosen)
            for number, entry in enumerate(entries):
                item = self.tree.topLevelItem(number)
                if item is not None:
                    self._update(item, entry)

    def _place_of(self, item: QTreeWidgetItem | None) -> tuple[str, int | None] | None:
        return (item.data(0, _KEY), item.data(0, _NUMBER)) if item is not None else None

    def _choose(self, place: tuple[str, int | None] | None) -> None:
        """Make the row of a place current in a rebuilt tree."""
        if place is None:
            return
        for top in filter(None, map(self.tree.topLevelItem, range(self.tree.topLevelItemCount()))):
            for item in (top, *map(top.child, range(top.childCount()))):
                if item is not None and self._place_of(item) == place:
                    self.tree.setCurrentItem(item)
                    return

    def _fold(self, item: QTreeWidgetItem) -> None:
        self._folded[item.data(0, _KEY)] = not item.isExpanded()

    def _menu(self, position: QPoint) -> None:
        item = self.tree.itemAt(position) or self.tree.currentItem()
        if item is None:
            return
        menu = self.menu_of(item)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.tree.viewport().mapToGlobal(position))

    def menu_of(self, item: QTreeWidgetItem) -> QMenu:
        layers = self._workspace.layers
        key, number = item.data(0, _KEY), item.data(0, _NUMBER)
        menu = QMenu(self)
        if number is not None:
            menu.addAction(tr("Show only this"), lambda: layers.show_only(key, number))
        menu.addAction(tr("Show the whole layer"), lambda: layers.show_all(key))
        menu.addAction(tr("Hide this layer"), lambda: layers.set_visible(key, False))
        if any(entry.key == key and entry.laid for entry in layers.entries):
            menu.addAction(tr("Remove this layer"), lambda: self._workspace.lift(key))
        return menu

    def _make_item(self, entry: LayerEntry) -> QTreeWidgetItem:
        item = QTreeWidgetItem()
        item.setData(0, _KEY, entry.key)
        item.setIcon(0, icons.icon(_ICONS.get(entry.content, "layers")))
        for part in entry.items:
            child = QTreeWidgetItem(item)
            child.setText(
                0, wording.one_line(part.label or tr("Part {number}").format(number=part.number))
            )
            child.setData(0, Qt.ItemDataRole.DecorationRole, QColor(*part.color))
            child.setData(0, _KEY, entry.key)
            child.setData(0, _NUMBER, part.number)
            child.setToolTip(0, plain_tip("\n".join(filter(None, (part.label, part.detail)))))
        return item

    def _update(self, item: QTreeWidgetItem, entry: LayerEntry) -> None:
        item.setText(0, wording.one_line(entry.title or tr("Layer")))
        item.setCheckState(0, _check(entry.style.visible))
        notes = _notes(entry)
        item.setToolTip(0, plain_tip("\n".join([entry.title, *notes])))
        tint = THEME.error if entry.error else THEME.warning if notes else THEME.text
        item.setForeground(0, QColor(tint))
        for child in filter(None, map(item.child, range(item.childCount()))):
            shown = child.data(0, _NUMBER) not in entry.style.hidden
            child.setCheckState(0, _check(shown))
            faint = not (shown and entry.style.visible)
            child.setForeground(0, QColor(THEME.text_faint if faint else THEME.text))

    def _checked(self, item: QTreeWidgetItem) -> None:
        on = item.checkState(0) == Qt.CheckState.Checked
        key, number = item.data(0, _KEY), item.data(0, _NUMBER)
        if number is None:
            self._workspace.layers.set_visible(key, on)
        else:
            self._workspace.layers.set_item_visible(key, number, on)

    def _set_opacity(self, value: int) -> None:
        self._workspace.layers.set_opacity(value / 100)


def _state_name(state: Instance) -> str:
    name = state.get("ContentLabel") or state.get("SeriesDescription")
    return wording.one_line(name or tr("Presentation state"))


def _notes(entry: LayerEntry) -> list[str]:
    """Return why a layer cannot be read, and what of it is not drawn."""
    notes = [entry.error] if entry.error else []
    notes += entry.layer.warnings if entry.layer else ()
    notes += entry.frame.warnings if entry.frame else ()
    return [tr_report(note) for note in dict.fromkeys(notes)]


def _check(on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
