"""The record panel: whose record is in use, what it holds, and an entry with its trend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QSplitter,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from app.records.types import Entry, Patient, RecordMatch, Records
from app.views import theme
from app.views.background import Background
from app.views.layouts import column, icon_row, row
from app.views.record.record_sections import (
    Line,
    RecordContents,
    contents_of,
    details_of,
    filtered,
    trend_of,
    who_text,
)
from app.views.record.trend_chart import TrendChart
from app.views.text_view import PlainTextBrowser
from app.views.theme import SPACE, THEME, TYPE, ui_font
from app.views.translation import tr, tr_report
from app.views.widgets import (
    ElidedLabel,
    EmptyState,
    IconLabel,
    label,
    plain_tip,
    push_button,
    search_field,
    tool_button,
)
from app.workspace.record import OpenRecord

_SEARCH_MS = 150
_MIN_WIDTH = 260
_MOST_PEOPLE = 200
_MOST_LINES = 2000  # of a section; the rest is found by the filter
_LINES_AT_ONCE = 150  # rows made in one turn of the event loop
_LINE = Qt.ItemDataRole.UserRole
_NAME, _VALUE, _DATE = range(3)
_TREE_SHARE = 52  # per cent of the height beside an entry
_FLAGS = {"high": "↑", "low": "↓"}


class RecordPanel(QWidget):
    """Shows the record; asks to show a study (UID) or where an entry (id) is mentioned."""

    study_wanted = Signal(str)
    mention_wanted = Signal(str)

    def __init__(self, record: OpenRecord, background: Background) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self.setMinimumWidth(_MIN_WIDTH)
        self._record, self._background = record, background
        self._loading: tuple[Records, str] | None = None
        self._wanted = ""  # the entry to be shown once the record is read
        self.contents: RecordContents | None = None
        self.shown: Entry | None = None
        self.pages = QStackedWidget()
        text = tr("Open a patient's record (FHIR) from the File menu, or drop it on the window.")
        self.empty = EmptyState("user", tr("No record is open"), text)
        self.people = _People(record, background)
        self._page = self._make_page()
        for page in (self.empty, self.people, self._page):
            self.pages.addWidget(page)
        column((self.pages, 1), parent=self)
        record.changed.connect(self.refresh)
        record.entry_wanted.connect(self.show_entry)
        theme.changes().changed.connect(self._restyle)
        self.refresh()

    # Parts

    def _make_page(self) -> QWidget:
        page = QWidget()
        self.name = ElidedLabel("", "title")
        self.who = label("", "muted", wrap=True)
        self.other = tool_button(
            "user", tr("Use the record of another patient…"), self.choose_other
        )
        self._mark = IconLabel("circle-check", 14)
        self.belongs = label("", "caption", wrap=True)
        self.search = search_field(
            tr("Search the record"), tip=tr("List the entries that contain all words")
        )
        self._soon = QTimer(self, singleShot=True, interval=_SEARCH_MS)
        self._soon.timeout.connect(self._fill)
        self.search.textChanged.connect(lambda _text: self._soon.start())
        self.tree = self._make_tree()
        self._unfinished: list[tuple[QTreeWidgetItem, list[Line]]] = []
        self._lines: list[Line] = []  # of the rows, which hold their places here
        self._folded: dict[int, Sequence[Line]] = {}  # rows that are not made yet, by place
        self._next = QTimer(self, singleShot=True, interval=0)
        self._next.timeout.connect(self._add_next)
        self._detail = self._make_detail()
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.tree)
        parts.addWidget(self._detail)
        self._parts = parts
        self._detail.hide()
        head = row((self.name, 1), self.other)
        about = icon_row(self._mark, self.belongs, SPACE.xs)
        margins = (SPACE.s, SPACE.xs, SPACE.s, SPACE.s)
        column(head, self.who, about, self.search, (parts, 1), margins=margins, parent=page)
        return page

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setColumnCount(3)
        tree.setHeaderLabels([tr("Name"), tr("Value"), tr("Date")])
        tree.setAccessibleName(tr("The record's entries"))
        tree.setIndentation(14)
        tree.setUniformRowHeights(True)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        tree.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        for place, width in ((_VALUE, 104), (_DATE, 86)):
            header.setSectionResizeMode(place, QHeaderView.ResizeMode.Interactive)
            tree.setColumnWidth(place, width)
        tree.itemExpanded.connect(self._unfold)
        tree.currentItemChanged.connect(self._choose)
        tree.itemActivated.connect(self._activate)
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._open_menu)
        return tree

    def _make_detail(self) -> QWidget:
        detail = QWidget()
        self.entry_name = label("", "strong", wrap=True)
        close = tool_button("x", tr("Close the entry"), self._close_entry, 14)
        self.text = PlainTextBrowser()
        self.text.setAccessibleName(tr("The entry"))
        self.chart = TrendChart()
        self.chart.entry_clicked.connect(self.show_entry)
        head = row((self.entry_name, 1), close)
        head.setAlignment(close, Qt.AlignmentFlag.AlignTop)
        parts = (head, (self.chart, 3), (self.text, 2))
        column(*parts, spacing=SPACE.xs, margins=(0, SPACE.s, 0, 0), parent=detail)
        return detail

    @property
    def busy(self) -> bool:
        return self._loading is not None or bool(self._unfinished) or self._soon.isActive()

    # Whose record

    def refresh(self) -> None:
        record = self._record
        if not record.is_open:
            self._forget()
            self.pages.setCurrentWidget(self.empty)
            return
        patient = record.patient
        if patient is None:
            self._forget()
            self.people.start(record.match, can_cancel=False)
            self.pages.setCurrentWidget(self.people)
            return
        self.pages.setCurrentWidget(self._page)
        self._show_match(record.match)
        if self.contents is None or self.contents.patient != patient:
            self._forget()
            self._read(record.records, patient)

    def _forget(self) -> None:
        """Drop what is shown: nothing of another patient may stay."""
        self.contents = None
        self.shown = None
        self._clear_rows()
        self._close_entry()

    def _clear_rows(self) -> None:
        self._unfinished.clear()
        self.tree.clear()
        self._lines.clear()
        self._folded.clear()

    def _read(self, records: Records, patient: Patient) -> None:
        self.name.setText(patient.name or tr("No name"))
        self.who.setText(who_text(patient, datetime.now(UTC).date()))
        self._loading = records, patient.id

        def work() -> RecordContents:
            return contents_of(patient, records.entries(patient.id))

        def take(contents: RecordContents) -> None:
            if self._loading == (records, patient.id):
                self._loading = None
                self.contents = contents
                self._fill()
                if self._wanted:
                    self.show_entry(self._wanted)

        def failed(error: object) -> None:
            if self._loading == (records, patient.id):
                self._loading = None
                self.belongs.setText(tr_report(str(error)))

        self._background.submit(work, take, failed)

    def _show_match(self, match: RecordMatch | None) -> None:
        """Say whether this is the record of the shown study's patient."""
        if match is None:
            icon, tint, text = "info", THEME.text_muted, tr("No study is shown.")
        elif match.status == "matched":
            icon, tint = "circle-check", THEME.ok
            text = tr("The record of the shown study's patient.")
        else:
            icon, tint = "triangle-alert", THEME.warning
            text = tr("You chose this record; it is not linked to the shown study.")
        self._mark.set_icon(icon, tint)
        reason = tr_report(match.reason) if match is not None else ""
        self.belongs.setText(" ".join(part for part in (text, reason) if part))

    def choose_other(self) -> None:
        """Let the user choose the patient whose record is used."""
        self.people.start(self._record.match, can_cancel=self._record.patient is not None)
        self.people.cancelled = lambda: self.pages.setCurrentWidget(self._page)
        self.pages.setCurrentWidget(self.people)
        self.people.search.setFocus()

    # Entries

    def _fill(self) -> None:
        self._soon.stop()
        if self.contents is None:
            return
        text = self.search.text().strip()
        open_ones = {
            self._line_of(item).name for item in self._top_items() if item.isExpanded() and not text
        }
        self.tree.blockSignals(True)
        self._clear_rows()
        for section in filtered(self.contents.sections, text):
            item = QTreeWidgetItem([f"{section.title}  {section.count:,}", "", ""])
            font = item.font(_NAME)
            font.setBold(True)
            item.setFont(_NAME, font)
            self._keep(item, Line(section.title, below=section.lines))
            self.tree.addTopLevelItem(item)
            item.setFirstColumnSpanned(True)
        self.tree.blockSignals(False)
        for item in self._top_items():
            if text or self._line_of(item).name in open_ones:
                item.setExpanded(True)
        if self.shown is not None:
            self._select(self.shown.id)

    def _top_items(self) -> list[QTreeWidgetItem]:
        found = (self.tree.topLevelItem(place) for place in range(self.tree.topLevelItemCount()))
        return [item for item in found if item is not None]

    def _keep(self, item: QTreeWidgetItem, line: Line) -> None:
        """Note the line of a row, and the rows below it until it is unfolded."""
        place = len(self._lines)
        self._lines.append(line)
        item.setData(_NAME, _LINE, place)
        if line.below:
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
            self._folded[place] = line.below

    def _line_of(self, item: QTreeWidgetItem) -> Line:
        return self._lines[item.data(_NAME, _LINE)]

    def _unfold(self, item: QTreeWidgetItem) -> None:
        lines = self._folded.pop(item.data(_NAME, _LINE), ())
        if lines:
            self._unfinished.append((item, list(lines[:_MOST_LINES])))
            if len(lines) > _MOST_LINES:
                more = tr("{count} more: search for them").format(count=len(lines) - _MOST_LINES)
                self._unfinished.append((item, [Line(more)]))
            self._add_next()

    def _add_next(self) -> None:
        """Add the next rows, in a turn of the event loop of their own."""
        room = _LINES_AT_ONCE
        while self._unfinished and room > 0:
            item, lines = self._unfinished[0]
            part, rest = lines[:room], lines[room:]
            room -= len(part)
            item.addChildren([self._item(line) for line in part])
            if rest:
                self._unfinished[0] = item, rest
            else:
                self._unfinished.pop(0)
        if self._unfinished:
            self._next.start()

    def _item(self, line: Line) -> QTreeWidgetItem:
        mark = _FLAGS.get(line.flag, "")
        item = QTreeWidgetItem([line.name, f"{line.value} {mark}".strip(), line.date])
        self._keep(item, line)
        item.setFont(_DATE, ui_font(TYPE.caption))
        if line.entry is not None and line.name == line.entry.start[: len(line.name)]:
            item.setFont(_NAME, ui_font(TYPE.caption))  # a value of a test, named by its date
        for place, text in ((_NAME, line.name), (_VALUE, line.value), (_DATE, line.date)):
            item.setToolTip(place, plain_tip(text))
        if mark:
            item.setForeground(_VALUE, QColor(THEME.warning))
            far = (
                tr("Above the reference range")
                if line.flag == "high"
                else tr("Below the reference range")
            )
            item.setToolTip(_VALUE, plain_tip(f"{line.value}\n{far}"))
        return item

    def _choose(self, item: QTreeWidgetItem | None, _before: object = None) -> None:
        entry = self._line_of(item).entry if item is not None else None
        if entry is not None:
            self._show(entry)

    def _activate(self, item: QTreeWidgetItem, _column: int) -> None:
        entry = self._line_of(item).entry
        uid = entry.details.get("study_instance_uid", "") if entry is not None else ""
        if uid:
            self.study_wanted.emit(uid)

    def show_entry(self, entry_id: str) -> None:
        """Show an entry's row whatever is searched; of another record, ask the user first."""
        entry = self.contents.entries.get(entry_id) if self.contents is not None else None
        self._wanted = "" if entry is not None else entry_id
        if entry is None:
            if self._loading is None:
                records = self._record.records
                self._background.submit(partial(_owner_of, records, entry_id), self._offer)
            return
        if self.search.text():
            self.search.clear()
            self._fill()
        self._show(entry)
        self._select(entry_id)

    def _offer(self, owner: Patient | None) -> None:
        if owner is None:
            self._wanted = ""
            self.belongs.setText(tr("No open record has this entry."))
            return
        self.choose_other()
        self.people.offer(owner)

    def _select(self, entry_id: str) -> None:
        for top in self._top_items():
            path = _path_to(entry_id, self._line_of(top).below)
            if path is None:
                continue
            item = top
            for place in path:
                item.setExpanded(True)
                while self._unfinished:
                    self._add_next()
                item = _children(item)[place]
            self.tree.blockSignals(True)
            self.tree.setCurrentItem(item)
            self.tree.blockSignals(False)
            QTimer.singleShot(0, self.tree, self._scroll_to_current)  # once it has its height
            return

    def _scroll_to_current(self) -> None:
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        item = self.tree.currentItem()
        if item is not None:
            self.tree.scrollToItem(item, QAbstractItemView.ScrollHint.PositionAtCenter)

    def _show(self, entry: Entry) -> None:
        if self.contents is None:
            return
        self.shown = entry
        self.entry_name.setText(entry.name)
        self.text.setPlainText(details_of(entry, self.contents.entries))
        self._draw(entry)
        if self._detail.isHidden():
            self._detail.show()
            height = self._parts.height()
            self._parts.setSizes([height * _TREE_SHARE // 100, height * (100 - _TREE_SHARE) // 100])

    def _close_entry(self) -> None:
        self.shown = None
        self._detail.hide()
        self.text.clear()
        self.chart.clear()

    # Trend

    def _draw(self, entry: Entry) -> None:
        """Draw the values of the entry's test over time, if there are several."""
        assert self.contents is not None
        points = trend_of(entry, self.contents.entries.values())
        several = len({when for when, *_ in points}) > 1
        self.chart.setVisible(several)
        if several:
            own = (entry.value, *(part.value for part in entry.components))
            values = [value for value in own if value is not None]
            unit = next((value.unit for value in values if value.unit), "")
            limits = [one for value in values for one in (value.low, value.high) if one is not None]
            self.chart.show_points(points, unit, limits, entry.id)

    def _restyle(self) -> None:
        self.chart.restyle()
        self._show_match(self._record.match)
        self._fill()

    def close_models(self) -> None:
        """Delete the chart; call before the window is destroyed."""
        self.chart.close_models()

    # Menu

    def _open_menu(self, place: QPoint) -> None:
        item = self.tree.itemAt(place)
        menu = self.menu_of(item) if item is not None else None
        if menu is not None:
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.tree.viewport().mapToGlobal(place))

    def menu_of(self, item: QTreeWidgetItem) -> QMenu | None:
        """Return the menu of a row, or None for a row without an entry."""
        entry = self._line_of(item).entry
        if entry is None:
            return None
        menu = QMenu(self)
        menu.addAction(tr("Where it is mentioned"), partial(self.mention_wanted.emit, entry.id))
        uid = entry.details.get("study_instance_uid", "")
        if uid:
            menu.addAction(tr("Show the study"), partial(self.study_wanted.emit, uid))
        menu.addAction(tr("Copy"), partial(self._copy, entry))
        return menu

    def _copy(self, entry: Entry) -> None:
        if self.contents is not None:
            text = f"{entry.name}\n{details_of(entry, self.contents.entries)}"
            QGuiApplication.clipboard().setText(text)


class _People(QWidget):
    """The page on which the user chooses the patient whose record is used."""

    def __init__(self, record: OpenRecord, background: Background) -> None:
        super().__init__()
        self._record, self._background = record, background
        self._asked = 0
        self.cancelled = lambda: None
        self.reason = label("", "warning", wrap=True)
        self.search = search_field(tr("Search name or ID"), tr("Search the patients"))
        self._soon = QTimer(self, singleShot=True, interval=_SEARCH_MS)
        self._soon.timeout.connect(self._list)
        self.search.textChanged.connect(lambda _text: self._soon.start())
        self.list = QTreeWidget()
        self.list.setColumnCount(2)
        self.list.setHeaderLabels([tr("Patient"), tr("Born")])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setAccessibleName(tr("Patients whose records are open"))
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.setColumnWidth(1, 96)
        self.list.itemActivated.connect(self._choose)
        self.list.currentItemChanged.connect(lambda now, _before: self.use.setEnabled(bool(now)))
        self.note = label("", "caption", wrap=True)
        self.use = push_button(tr("Use this record"), self._choose_current, primary=True)
        self.cancel = push_button(tr("Cancel"), lambda: self.cancelled())
        title = label(tr("Whose record?"), "strong")
        margins = (SPACE.s, SPACE.s, SPACE.s, SPACE.s)
        buttons = row(1, self.cancel, self.use)
        parts = (title, self.reason, self.search, (self.list, 1), self.note, buttons)
        column(*parts, margins=margins, parent=self)

    def start(self, match: RecordMatch | None, *, can_cancel: bool) -> None:
        """List the patients; say why none of them was taken by itself."""
        refused = match is not None and match.status in ("none", "ambiguous", "contradicted")
        self.reason.setText(tr_report(match.reason) if match is not None and refused else "")
        self.reason.setVisible(bool(self.reason.text()))
        self.cancel.setVisible(can_cancel)
        self.use.setEnabled(False)
        self._list()

    def offer(self, patient: Patient) -> None:
        """List one patient, whose record has an entry that the user wants to see."""
        text = tr("The entry is in the record of {name}.").format(name=patient.name or patient.id)
        self.reason.setText(text)
        self.reason.show()
        self.search.setText(patient.name)

    def _list(self) -> None:
        self._asked += 1
        asked, records, text = self._asked, self._record.records, self.search.text().strip()

        def take(found: Sequence[Patient]) -> None:
            if asked == self._asked:
                self._show(found, text)

        self._background.submit(partial(records.patients, text, limit=_MOST_PEOPLE + 1), take)

    def _show(self, found: Iterable[Patient], text: str) -> None:
        people = list(found)
        self.list.clear()
        for patient in people[:_MOST_PEOPLE]:
            item = QTreeWidgetItem([patient.name or patient.id, patient.birth_date])
            item.setData(0, _LINE, patient.id)
            item.setToolTip(0, plain_tip(f"{patient.name}\n{patient.id}"))
            self.list.addTopLevelItem(item)
            if len(people) == 1:
                self.list.setCurrentItem(item)
        if len(people) > _MOST_PEOPLE:
            note = tr("The first {count} are listed: search for others.").format(count=_MOST_PEOPLE)
        else:
            note = "" if people else tr("No patient fits “{text}”.").format(text=text)
        self.note.setText(note)
        self.note.setVisible(bool(note))

    def _choose_current(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self._choose(item)

    def _choose(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        chosen = str(item.data(0, _LINE))
        if chosen == self._record.patient_id:
            self.cancelled()
        self._record.choose(chosen)


def _owner_of(records: Records, entry_id: str) -> Patient | None:
    """Return the only patient who has an entry, or None."""
    owners = [one for one in records.patients() if records.entry(one.id, entry_id) is not None]
    return owners[0] if len(owners) == 1 else None


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    return [child for place in range(item.childCount()) if (child := item.child(place)) is not None]


def _path_to(entry_id: str, lines: Sequence[Line]) -> list[int] | None:
    """Return the places that lead from a section's rows to an entry's own row, or None."""
    for place, line in enumerate(lines[:_MOST_LINES]):
        if line.entry is not None and line.entry.id == entry_id:
            return [place]
        below = _path_to(entry_id, line.below)
        if below is not None:
            return [place, *below]
    return None
