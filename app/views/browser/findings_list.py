"""The findings list: what was measured by hand apart from what AI found, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPoint,
    QRect,
    QRectF,
    QSignalBlocker,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QShortcut,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QListView,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.imaging.findings import Finding, Point, Provenance, State
from app.imaging.layers import LayerItem
from app.imaging.types import Frame, ImageRef, Instance
from app.views import icons, wording
from app.views.browser.findings_filter import Filter, FilterLine
from app.views.browser.study_delegate import draw_line
from app.views.layouts import column
from app.views.theme import SPACE, THEME, TYPE, ui_font
from app.views.translation import tr, translatable
from app.views.widgets import EmptyState, Index, plain_tip
from app.workspace import drawing, review
from app.workspace.annotations import Annotation
from app.workspace.layers import LayerEntry
from app.workspace.workspace import Workspace

_FROM_FILE = translatable("Labels from a file, overlaid on the image")
BY_HAND, BY_AI = translatable("Made by hand"), translatable("AI findings")
_NOTES = {BY_HAND: "", BY_AI: translatable("not for diagnosis")}
STATE_ICONS = {
    State.PROPOSED: "sparkles",
    State.ACCEPTED: "check",
    State.EDITED: "pen-line",
    State.REJECTED: "ban",
}
LONGEST_NAME = 200
_LEAST_NAME = 36  # px: of a shorter name of an image nothing could be read
GROUP_HEIGHT, MAKER_HEIGHT, NOTED_HEIGHT, FINDING_HEIGHT, BUTTON = 34, 26, 44, 30, 16


def button_rects(row: QRect) -> tuple[QRect, QRect]:
    """Return where a row (a rectangle in px) has its show/hide button and its delete button."""
    y = row.center().y() - BUTTON // 2
    right = row.right() - SPACE.l - BUTTON
    return QRect(right - BUTTON - SPACE.s, y, BUTTON, BUTTON), QRect(right, y, BUTTON, BUTTON)


def value_beside(row: FindingRow, width: int, font: QFont) -> str:
    """Return a value that fits `width` px beside its name, never cut, a third for the name."""
    metrics = QFontMetrics(font)
    room = width - SPACE.s - min(metrics.horizontalAdvance(row.title), width // 3)
    if row.finding.value is None:  # words, of which a part cannot be mistaken
        return metrics.elidedText(row.value, Qt.TextElideMode.ElideRight, room)
    # That a length is in the patient goes without saying; what else it may be never does.
    short = row.value.removesuffix(" (patient)").replace(" (detector plane)", " (detector)")
    short = short.replace(" (calibrated by hand)", " (by hand)")
    forms = [row.value, short]
    if row.finding.provenance.tool == drawing.PROBE:  # of "11010 Bq/ml (3.216 SUVbw)" the SUV
        forms.append(wording.value_text(row.finding))
    return next((form for form in forms if metrics.horizontalAdvance(form) <= room), "")


class FindingsDelegate(QStyledItemDelegate):
    """Paints the rows of the findings list and handles clicks on their buttons."""

    toggled = Signal(list)  # finding ids
    deleted = Signal(list)
    folded = Signal(str)  # title of a group
    renamed = Signal(str, str)  # finding id, the new name
    locked = Signal(str)  # finding id: it was to be renamed
    edited = Signal(bool)  # whether a name is being typed

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row = index.data(ROW)
        if isinstance(row, GroupRow):
            return QSize(120, NOTED_HEIGHT if row.note else GROUP_HEIGHT)
        if isinstance(row, MakerRow):
            return QSize(120, NOTED_HEIGHT if row.note else MAKER_HEIGHT)
        return QSize(120, FINDING_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, GroupRow):
            self._group(painter, option, row)
        elif isinstance(row, MakerRow):
            self._maker(painter, option.rect, row)
        else:
            self._finding(painter, option, row)
        painter.restore()

    def _group(self, painter: QPainter, option: QStyleOptionViewItem, row: GroupRow) -> None:
        rect = option.rect
        eye, _delete = button_rects(rect)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(THEME.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            frame = QRectF(rect).adjusted(SPACE.xs, 2, -SPACE.xs, -2)
            painter.drawRoundedRect(frame, SPACE.radius_small, SPACE.radius_small)
        mark = QRect(rect.left() + SPACE.s, rect.center().y() - 6, 13, 13)
        icons.draw(painter, "chevron-right" if row.folded else "chevron-down", mark)
        top = rect.center().y() - (17 if row.note else 8)
        line = QRect(mark.right() + 6, top, eye.left() - mark.right() - 12, 18)
        strong, small = ui_font(TYPE.label, QFont.Weight.DemiBold), ui_font(TYPE.caption)
        draw_line(painter, line.translated(0, 17), small, THEME.warning, tr(row.note))
        draw_line(painter, line, strong, THEME.text, tr(row.title))
        line.setLeft(line.left() + QFontMetrics(strong).horizontalAdvance(tr(row.title)) + SPACE.s)
        draw_line(painter, line, small, THEME.text_muted, str(row.count))
        icons.draw(painter, "eye" if row.visible else "eye-off", eye, self._tint(row.visible))

    def _maker(self, painter: QPainter, rect: QRect, row: MakerRow) -> None:
        eye, _delete = button_rects(rect)
        left = SPACE.l if not row.note else SPACE.m
        width = eye.left() - rect.left() - left - SPACE.s
        line = QRect(rect.left() + left, rect.top() + (8 if row.note else 5), width, 16)
        font = ui_font(TYPE.caption, QFont.Weight.DemiBold)
        draw_line(painter, line, font, THEME.text_muted, row.maker)
        line.translate(0, 16)
        draw_line(painter, line, ui_font(TYPE.caption), THEME.text_muted, row.note)
        self._icons(painter, rect, row.visible)

    def _finding(self, painter: QPainter, option: QStyleOptionViewItem, row: FindingRow) -> None:
        card = QRectF(option.rect).adjusted(SPACE.s, 1, -SPACE.s, -1)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if selected or hovered:
            painter.setPen(QColor(THEME.accent) if selected else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(THEME.selected if selected else THEME.raised))
            painter.drawRoundedRect(card, SPACE.radius_small, SPACE.radius_small)
        rejected = bool(row.state) and row.finding.state is State.REJECTED
        drawn = row.annotation.visible and row.here and not rejected
        rect = option.rect
        eye, _delete = button_rects(rect)
        left = rect.left() + SPACE.l
        tint = QColor(
            row.tint or row.annotation.tint or THEME.annotation_color(row.annotation.color)
        )
        swatch = QRectF(left, rect.center().y() - 5, 11, 11)
        painter.setPen(tint)
        painter.setBrush(tint if drawn else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(swatch, 3, 3)
        text_left = left + 11 + SPACE.s
        if row.state:
            mark = QRect(text_left, rect.center().y() - 6, 13, 13)
            icons.draw(painter, STATE_ICONS[row.finding.state], mark)
            text_left = mark.right() + SPACE.s
        # The buttons need room only where they are wanted: names must be readable.
        buttons = selected or hovered or not row.annotation.visible
        end = eye.left() - SPACE.s if buttons else rect.right() - SPACE.l
        text_width = end - text_left
        ink = THEME.text if drawn else THEME.text_faint
        if row.annotation.locked:
            icons.draw(painter, "lock", QRect(text_left, rect.center().y() - 6, 12, 12))
            text_left += 12 + SPACE.xs
            text_width -= 12 + SPACE.xs
        strong = ui_font(TYPE.body, QFont.Weight.Medium)
        beside = value_beside(row, text_width, strong)
        value_width = QFontMetrics(strong).horizontalAdvance(beside)
        top = rect.center().y() - 9
        name = QRect(text_left, top, text_width - value_width - SPACE.s, 19)
        draw_line(painter, name, strong, ink, row.title)
        name.setLeft(name.left() + QFontMetrics(strong).horizontalAdvance(row.title) + SPACE.s)
        if row.image and name.width() >= _LEAST_NAME:
            muted = THEME.text_muted if drawn else THEME.text_faint
            draw_line(painter, name, ui_font(TYPE.caption), muted, row.image)
        if beside:
            value = QRect(text_left + text_width - value_width, top, value_width + 1, 19)
            draw_line(painter, value, strong, ink, beside)
        if buttons:
            self._icons(painter, rect, row.annotation.visible)

    def _tint(self, visible: bool) -> str:
        return THEME.text_muted if visible else THEME.text_faint

    def _icons(self, painter: QPainter, row: QRect, visible: bool) -> None:
        eye, delete = button_rects(row)
        icons.draw(painter, "eye" if visible else "eye-off", eye, self._tint(visible))
        icons.draw(painter, "trash-2", delete)

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QWidget | None:
        row = index.data(ROW)
        if not isinstance(row, FindingRow) or row.tint:
            return None
        if row.annotation.locked:
            self.locked.emit(row.finding.id)
            return None
        editor = QLineEdit(parent)
        editor.setAccessibleName(tr("Name"))
        editor.setMaxLength(LONGEST_NAME)
        self.edited.emit(True)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        if not editor.isModified():
            editor.setText(index.data(ROW).finding.label)

    def setModelData(self, editor: QWidget, model: object, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        self.renamed.emit(index.data(ROW).finding.id, editor.text().strip())

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        editor.setGeometry(option.rect.adjusted(SPACE.s, 0, -SPACE.s, 0))

    def destroyEditor(self, editor: QWidget, index: Index) -> None:
        super().destroyEditor(editor, index)
        self.edited.emit(False)

    def editorEvent(
        self, event: QEvent, model: QObject, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        if not isinstance(event, QMouseEvent) or event.button() != Qt.MouseButton.LeftButton:
            return False
        eye, delete = button_rects(option.rect)
        row = index.data(ROW)
        group = isinstance(row, GroupRow)
        ids = [row.finding.id] if isinstance(row, FindingRow) else list(row.ids)
        released = event.type() == QEvent.Type.MouseButtonRelease
        buttons = ((eye, self.toggled), *(() if group else ((delete, self.deleted),)))
        for rect, signal in buttons:
            if rect.adjusted(-4, -8, 4, 8).contains(event.position().toPoint()):
                if released:
                    signal.emit(ids)
                return True
        if group and released:
            self.folded.emit(row.title)
        return group


class FindingsView(QListView):
    """The list's rows; F2 renames a finding here, whatever else it does in the window."""

    def event(self, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F2:
            event.accept()
            return True
        return super().event(event)


class FindingsList(QWidget):
    """The findings panel; choosing a finding selects it and shows it on the canvas."""

    count_changed = Signal(int)
    menu_wanted = Signal(list, QPoint)  # ids of a row's findings; a place on the screen
    removed = Signal(int)  # how many; the window offers to undo it
    shown = Signal(str)  # finding id: bring it into view

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self.model = FindingsModel(workspace, self)
        self.delegate = FindingsDelegate(self)
        self.view = FindingsView()
        self.view.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        self.view.setModel(self.model)
        self.view.setItemDelegate(self.delegate)
        self.view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.view.setMouseTracking(True)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.setAccessibleName(tr("Findings"))
        hint = tr("Ask the assistant about the image. What its tools find is listed here.")
        self.empty = EmptyState("scan-search", tr("No findings yet"), hint)
        self.no_match = EmptyState(
            "list-filter", tr("No finding matches"), tr("Change the words or the filter above.")
        )
        self.filter_line = FilterLine()
        self.filter_line.changed.connect(self.model.set_filter)
        self._stack = QStackedLayout()
        for page in (self.empty, self.view, self.no_match):
            self._stack.addWidget(page)
        column(
            self.filter_line, (self._stack, 1), spacing=0, margins=(0, 0, 0, SPACE.xs), parent=self
        )
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._ask_for_menu)
        self.view.clicked.connect(self._choose)
        self.view.selectionModel().currentChanged.connect(lambda now, _was: self._choose(now))
        self.delegate.toggled.connect(self.toggle)
        self.delegate.deleted.connect(self.remove)
        self.delegate.folded.connect(self.model.fold)
        self.delegate.renamed.connect(self._rename)
        self.delegate.locked.connect(workspace.annotations.is_locked)
        self.delegate.edited.connect(self.model.hold)
        for key, run in (
            (Qt.Key.Key_Space, self.toggle),
            (Qt.Key.Key_Delete, self.remove),
            (Qt.Key.Key_Backspace, self.remove),
        ):
            shortcut = QShortcut(QKeySequence(key), self.view)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(lambda run=run: run(self.chosen_ids()))
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            shortcut = QShortcut(QKeySequence(key), self.view)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(self._rename_current)
        for key, folded in ((Qt.Key.Key_Left, True), (Qt.Key.Key_Right, False)):
            shortcut = QShortcut(QKeySequence(key), self.view)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(partial(self._fold, folded))
        self._listed: set[str] = set()
        self._scrolled = 0
        self._new: list[int] = []  # rows to bring into view
        # In a later turn of the event loop, since laying out a long list takes one already.
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._bring_new)
        self.model.modelAboutToBeReset.connect(self._keep_place)
        self.model.modelReset.connect(self._reset)
        workspace.annotations.selection_changed.connect(self._mark)
        self._reset()

    def close_models(self) -> None:
        """Stop the timers of list and Qt model, so that none fires after the window has closed."""
        self._soon.stop()
        self.model.close()

    def toggle(self, finding_ids: list[str]) -> None:
        """Hide these findings or labels if any of them is visible, otherwise show them."""
        annotations = self._workspace.annotations
        if labels := [_label_of(finding_id) for finding_id in finding_ids if "\0" in finding_id]:
            self._workspace.layers.toggle_items(labels[0][0], [number for _, number in labels])
        found = [annotations.get(finding_id) for finding_id in finding_ids]
        visible = any(item.visible for item in found if item is not None)
        annotations.set_visible(finding_ids, not visible)

    def remove(self, finding_ids: list[str]) -> None:
        """Delete findings as one undoable step; if the first is a label, its label volume."""
        if finding_ids and "\0" in finding_ids[0]:
            self._workspace.lift(_label_of(finding_ids[0])[0])
        elif finding_ids and (gone := self._workspace.annotations.remove(finding_ids)):
            self.removed.emit(gone)

    def _rename_current(self) -> None:
        index = self.view.currentIndex()
        row = self.model.row(index) if index.isValid() else None
        if not isinstance(row, FindingRow) or row.tint:
            return
        if not self._workspace.annotations.is_locked(row.finding.id):
            self.view.edit(index)

    def _rename(self, finding_id: str, name: str) -> None:
        item = self._workspace.annotations.get(finding_id)
        if item is not None and name and name != item.finding.label:
            self._workspace.annotations.put(replace(item.finding, label=name), "Rename mark")

    def _ask_for_menu(self, place: QPoint) -> None:
        index = self.view.indexAt(place)
        row = self.model.row(index) if index.isValid() else None
        ids = [row.finding.id] if isinstance(row, FindingRow) else list(row.ids) if row else []
        if ids and "\0" not in ids[0]:
            self.menu_wanted.emit(ids, self.view.viewport().mapToGlobal(place))

    def chosen_ids(self) -> list[str]:
        selected = self._workspace.annotations.selected
        rows = [self.model.row(index) for index in self.view.selectedIndexes()]
        ids = [one.finding.id for one in rows if isinstance(one, FindingRow)]
        return ids if selected in ids else [selected] if selected else []

    def _choose(self, index: QModelIndex) -> None:
        if not index.isValid():
            return
        row = self.model.row(index)
        if isinstance(row, FindingRow):
            self._workspace.annotations.select(row.finding.id)
            self.shown.emit(row.finding.id)

    def _fold(self, folded: bool) -> None:
        """Fold or unfold the group of the current row; its heading then is the current row."""
        index = self.view.currentIndex()
        title = self.model.group_of(index) if index.isValid() else ""
        if title and folded != (title in self.model.folded):
            self.model.fold(title)
            with QSignalBlocker(self.view.selectionModel()):
                self.view.setCurrentIndex(self.model.heading(title))
            self.view.viewport().update()

    def _mark(self, finding_id: str) -> None:
        index = self.model.index_of(finding_id) if finding_id else QModelIndex()
        with QSignalBlocker(self.view.selectionModel()):
            if not index.isValid():
                self.view.clearSelection()
            if not index.isValid() or index != self.view.currentIndex():
                self.view.setCurrentIndex(index)  # else several stay selected
        self.view.viewport().update()

    def _keep_place(self) -> None:
        self._scrolled = self.view.verticalScrollBar().value()

    def _reset(self) -> None:
        count, shown = self.model.count, self.model.shown
        self.filter_line.setVisible(bool(count) or self.filter_line.filter.active)
        self.filter_line.tell(shown, count)
        self._stack.setCurrentIndex((1 if shown else 2) if count else 0)
        self._mark(self._workspace.annotations.selected)
        ids = self.model.finding_ids
        new = [number for number, key in ids.items() if key not in self._listed]
        self._listed = self.model.known
        if new:
            self._new = [new[-1], new[0] - (new[0] - 1 not in ids)]  # with the heading above it
        else:
            self._new = [number for number in self._new if number < self.model.rowCount()]
        self._soon.start()
        self.count_changed.emit(count)

    def _bring_new(self) -> None:
        """Scroll to new findings; without any, keep the scroll position."""
        if not self._new:
            self.view.verticalScrollBar().setValue(self._scrolled)
        for number in self._new:
            self.view.scrollTo(self.model.index(number))
        self._new = []


ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A heading above all that was measured by hand, or that AI found, which folds them away."""

    title: str
    ids: tuple[str, ...]
    visible: bool
    folded: bool
    unverified: bool = True  # some finding is one of a tool's that nobody has accepted

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def note(self) -> str:
        """The warning that holds for every finding of the group; "" for none."""
        return _NOTES[self.title] if self.unverified else ""


@dataclass(frozen=True, slots=True)
class MakerRow:
    """A heading above the findings of one tool or file; `note` is "" for an AI's findings."""

    maker: str
    ids: tuple[str, ...]
    visible: bool
    note: str = ""  # who made them if no AI did
    details: str = ""  # code names of the tool and the model


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A row that shows a finding, or a label of a label volume laid over the image.

    `here`: whether it is on the shown frame. `frame`: the number (from 1) of its frame in the shown
    image; 0 if it is on another image or a label. `tint`: a label's colour (#rrggbb), else "".
    `image`: the name of its image, and its depth or time, where the list has several of them.
    """

    annotation: Annotation
    here: bool  # it belongs to the image that is shown
    frame: int = 0  # counted from 1: where the shown image has it; 0 where it does not
    tint: str = ""  # of a label laid over the image: #rrggbb
    outdated: bool = False  # its image has other pixels now
    image: str = ""

    @property
    def finding(self) -> Finding:
        return self.annotation.finding

    @property
    def title(self) -> str:
        """The finding's label, with the day if it is from an earlier session."""
        name = wording.label_text(self.finding)
        if self.outdated:
            return tr("{name} (other image version)").format(name=name)
        if self.annotation.kept:
            day = wording.day_text(self.annotation.kept)
            return tr("{name} from {day}").format(name=name, day=day)
        return name

    @property
    def state(self) -> str:
        """What a person has made of a tool's finding, as a word; "" for a drawing or a label."""
        by_tool = not self.tint and not drawing.by_hand(self.finding)
        return wording.state_name(self.finding.state) if by_tool else ""

    @property
    def value(self) -> str:
        """The finding's measurement, the size of a box, or a score; "" if it has none."""
        measured = wording.value_text(self.finding)
        if head := drawing.headline(self.finding):
            measured = head.partition(wording.DOT)[0]
        if measured:
            return measured
        score = self.finding.score
        return "" if score is None else tr("score {score:.2f}").format(score=score)

    @property
    def detail(self) -> str:
        """The tooltip: where it is (unless on the shown frame), description, score."""
        finding = self.finding
        # Do not repeat the title: "Left Lung: 31%" below "Left Lung".
        described = wording.one_line(finding.description)
        label = wording.one_line(finding.label)
        parts = [described.removeprefix(f"{label}:").removeprefix(f"{label};").strip()]
        parts.append(drawing.statistics_text(finding))
        if finding.value is not None and finding.score is not None:
            parts.append(tr("score {score:.2f}").format(score=finding.score))
        if self.annotation.kept:
            day = wording.day_text(self.annotation.kept)
            parts.insert(0, tr("from {day}").format(day=day))
        if self.outdated:
            parts.insert(0, tr("made on another version of this image; not drawn"))
        elif not self.here:
            parts.insert(
                0,
                tr("on frame {number}").format(number=self.frame)
                if self.frame
                else tr("on another image"),
            )
        return "  ·  ".join(part for part in parts if part)


Row = GroupRow | MakerRow | FindingRow


class FindingsModel(QAbstractListModel):
    """The list model of the findings: by hand, then by AI, each maker's in order of arrival.

    Attributes:
        folded: Titles of the groups whose findings are not listed.
        known: Ids of all findings, listed, folded or filtered away.
        shown: How many of them the filter lets through.
    """

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._rows: list[Row] = []
        self.folded: set[str] = set()
        self.known: set[str] = set()
        self.shown = 0
        self._filter = Filter()
        self._held = False
        # In a later turn of the event loop: a tool's results also make a chat card and items on the
        # canvas, and all at once would stall the window.
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self.refresh)
        workspace.annotations.changed.connect(self._soon.start)
        workspace.frame_changed.connect(self._soon.start)
        workspace.studies.changed.connect(self._soon.start)
        workspace.layers_changed.connect(self._soon.start)
        self.refresh()

    def close(self) -> None:
        """Stop the timer that updates the rows after a change."""
        self._soon.stop()

    def refresh(self) -> None:
        if self._held:
            return
        rows = self._made_rows()
        if rows != self._rows:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def set_filter(self, wanted: Filter) -> None:
        self._filter = wanted
        self.refresh()

    def hold(self, held: bool) -> None:
        """Leave the rows as they are while one of them is being edited, then catch up."""
        self._held = held
        if not held:
            self._soon.start()

    def fold(self, title: str) -> None:
        self.folded ^= {title}
        self.refresh()

    def group_of(self, index: Index) -> str:
        """Return the title of the group that a row is in, "" for the labels of a file."""
        found = ""
        for row in self._rows[: index.row() + 1]:
            if isinstance(row, GroupRow):
                found = row.title
            elif isinstance(row, MakerRow) and row.note:
                found = ""
        return found

    def heading(self, title: str) -> QModelIndex:
        """Return the index of a group's heading; an invalid index if there is none."""
        for number, row in enumerate(self._rows):
            if isinstance(row, GroupRow) and row.title == title:
                return self.index(number)
        return QModelIndex()

    def _made_rows(self) -> list[Row]:
        frame = self._workspace.viewport.frame
        made: dict[str, dict[tuple[str, str], list[Annotation]]] = {BY_HAND: {}, BY_AI: {}}
        self.known = set()
        listed: dict[str, bool] = {}  # by image, as there may be thousands of findings on one
        places: set[tuple[str, int]] = set()
        for annotation in self._workspace.annotations.all():
            uid = annotation.finding.image.sop_instance_uid
            if uid not in listed:
                listed[uid] = self._is_listed(uid)
            if not listed[uid]:
                continue
            finding = annotation.finding
            self.known.add(finding.id)
            places.add((uid, finding.image.frame))
            if not self._filter.passes(
                annotation, here=frame is not None and frame.shows(finding.image)
            ):
                continue
            by_hand = drawing.by_hand(finding)
            maker = "" if by_hand else wording.maker_text(finding, self._workspace.title_of)
            if annotation.folder:  # a group of the user's, whoever made its marks
                maker = f"{annotation.folder} · {maker}" if maker else annotation.folder
            key = (maker, wording.maker_details(finding))
            made[BY_HAND if by_hand else BY_AI].setdefault(key, []).append(annotation)
        rows: list[Row] = []
        names = self._place_names(places)
        self.shown = 0
        for title, makers in made.items():
            every = [one for members in makers.values() for one in members]
            ids = tuple(one.finding.id for one in every)
            self.shown += len(ids)
            if every:
                seen = any(one.visible for one in every)
                open_ = any(review.unverified(one.finding) for one in every)
                rows.append(GroupRow(title, ids, seen, title in self.folded, open_))
            for (maker, details), members in makers.items() if title not in self.folded else ():
                if maker:
                    ids = tuple(item.finding.id for item in members)
                    seen = any(item.visible for item in members)
                    rows.append(MakerRow(maker, ids, seen, "", details))
                rows.extend(_row(item, frame, names) for item in members)
        for entry in self._workspace.layers.entries:
            if frame is not None and entry.laid:
                labels = [_label_row(entry, item, frame.ref) for item in entry.items]
                self.known.update(row.finding.id for row in labels)
                labels = [one for one in labels if self._filter.says((one.title, entry.title))]
                if self._filter.narrow or not labels:
                    continue
                ids = tuple(row.finding.id for row in labels)
                self.shown += len(ids)
                seen = any(row.annotation.visible for row in labels)
                rows += [MakerRow(entry.title, ids, seen, tr(_FROM_FILE)), *labels]
        return rows

    def _place_names(self, places: set[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the names of images, and of depths and times, by UID and frame; {} for one."""
        images = {uid: self._workspace.instance_of(uid) for uid, _ in places}
        series = {_series(image) for image in images.values() if image is not None}
        named: dict[tuple[str, int], str] = {}
        for uid, frame in places if len(places) > 1 else ():
            image = images[uid]
            if image is None:
                continue
            parts = [_image_name(image, len(series) > 1)] if len(images) > 1 else []
            if image.axes is not None and image.axes.frames > 1:
                parts.append(image.axes.text(frame, channel=False))
            named[uid, frame] = ", ".join(part for part in parts if part)
        return named

    def _is_listed(self, uid: str) -> bool:
        """Return whether an image is open and of the shown patient."""
        # Findings of closed studies are kept but not listed until the study is open again. Those
        # of another patient must not be taken for the shown one's.
        image, shown = self._workspace.instance_of(uid), self._workspace.acquired
        same = image and (shown is None or self._workspace.is_same_patient(image, shown))
        return bool(same)

    @property
    def count(self) -> int:
        return len(self.known)

    @property
    def finding_ids(self) -> dict[int, str]:
        """The id of the finding in each row, by row number."""
        return {
            number: row.finding.id
            for number, row in enumerate(self._rows)
            if isinstance(row, FindingRow)
        }

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def row(self, index: Index) -> Row:
        return self._rows[index.row()]

    def index_of(self, finding_id: str) -> QModelIndex:
        """Return the index of a finding's row; an invalid index if the finding is not listed."""
        for number, row in enumerate(self._rows):
            if isinstance(row, FindingRow) and row.finding.id == finding_id:
                return self.index(number)
        return QModelIndex()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if role == ROW:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            if isinstance(row, GroupRow):
                return f"{tr(row.title)}: {row.count}"
            return row.maker if isinstance(row, MakerRow) else f"{row.title}  {row.value}".strip()
        if role == Qt.ItemDataRole.AccessibleTextRole and isinstance(row, FindingRow):
            parts = (row.title, row.value, row.image, row.state)
            return ", ".join(part for part in parts if part)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(_tip(row))
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row(index)
        if isinstance(row, FindingRow):
            flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            return flags if row.tint else flags | Qt.ItemFlag.ItemIsEditable
        return Qt.ItemFlag.ItemIsEnabled


def _label_of(finding_id: str) -> tuple[str, int]:
    """Return the layer and the number of the label that a row is about."""
    key, _, number = finding_id.rpartition("\0")
    return key, int(number)


def _series(image: Instance) -> str:
    return image.get("SeriesNumber") or image.get("SeriesDescription")


def _image_name(image: Instance, of_several_series: bool) -> str:
    if image.kind != "dicom" or not image.number:
        return wording.one_line(image.path.name)
    text = tr("image {number}").format(number=image.number)
    if of_several_series and (series := wording.one_line(_series(image))):
        text = tr("series {series}, {image}").format(series=series, image=text)
    return text


def _row(
    annotation: Annotation, frame: Frame | None, names: Mapping[tuple[str, int], str]
) -> FindingRow:
    image = annotation.finding.image
    shown = frame.ref if frame is not None else None
    here = frame is not None and frame.shows(image)
    same = shown is not None and image.sop_instance_uid == shown.sop_instance_uid
    outdated = same and shown is not None and image.frame == shown.frame and image != shown
    name = names.get((image.sop_instance_uid, image.frame), "")
    number = image.frame + 1 if same else 0
    return FindingRow(annotation, here, number, outdated=outdated, image=name)


def _label_row(entry: LayerEntry, item: LayerItem, shown: ImageRef) -> FindingRow:
    finding = Finding(
        id=entry.label_id(item),
        image=shown,
        geometry=Point(0, 0),
        label=item.label,
        score=None,
        units="ml",
        provenance=Provenance(entry.title, "", "", "", "", "", ""),
        value=item.volume_ml,
        description=item.detail,
    )
    visible = entry.style.visible and item.number not in entry.style.hidden
    tint = "#{:02x}{:02x}{:02x}".format(*item.color)
    return FindingRow(Annotation(finding, 0, visible), here=True, tint=tint)


def _tip(row: Row) -> str:
    if isinstance(row, GroupRow):
        how = tr("Click, Left or Right to fold or unfold")
        lines = [f"{tr(row.title)}: {row.count}", tr(row.note), how]
    elif isinstance(row, MakerRow):
        lines = [row.maker, row.details, "" if row.note else tr(wording.NOT_FOR_DIAGNOSIS)]
    else:
        details = wording.maker_details(row.finding)
        state = wording.state_text(row.finding) if row.state else ""
        lines = [f"{row.title}  {row.value}".strip(), row.image, row.detail, state, details]
    return "\n".join(line for line in lines if line)
