"""The audit window: what was done and sent, filtered, checked, saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.audit import AuditLog, Report, verify, words
from app.errors import SightlineError
from app.tools.api import CancelToken
from app.views import icons
from app.views.audit.model import (
    ACTION,
    LINE,
    OUTCOME,
    TIME,
    WHAT,
    AuditModel,
    Loaded,
    details,
    load,
    local_time,
    matching,
)
from app.views.audit.saving import FILTERS, save
from app.views.settings.aside import Aside
from app.views.settings.parts import Choice
from app.views.style import restyle
from app.views.theme import SPACE, THEME
from app.views.widgets import EmptyState, RowTable, label, push_button

_SIZE = QSize(920, 640)
_WIDTHS = {TIME: 176, ACTION: 140, WHAT: 340, OUTCOME: 96, LINE: 84}
_DETAILS_HEIGHT = 132
_SEARCH_DELAY_MS = 150
_SHEET = f"""
#auditWindow {{ background: {THEME.panel}; }}
#auditWindow QComboBox {{ padding-right: 26px; }}
#auditWindow QLabel[tone="muted"] {{ color: {THEME.text_muted}; }}
#auditWindow QLabel[tone="ok"] {{ color: {THEME.ok}; }}
#auditWindow QLabel[tone="warning"] {{ color: {THEME.warning}; }}
#auditWindow QLabel[tone="error"] {{ color: {THEME.error}; }}
"""


class AuditWindow(QDialog):
    """Lists the audit log, the newest line first. Reading and checking go on in threads.

    Args:
        log: The log.
        parent: Qt parent.
    """

    def __init__(self, log: AuditLog, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("auditWindow")
        self.setWindowTitle("Audit log")
        self.setStyleSheet(_SHEET)
        self._log = log
        self._aside = Aside(self)
        self._filtering: CancelToken | None = None
        self._loaded = Loaded()
        self._wanted: Report | None = None  # whose first damaged line is shown with the next list
        self._pressed: QPushButton | None = None  # had the focus, and gets it back
        self.model = AuditModel(self)
        self._make_top()
        self.table = self._make_table()
        self._make_below()
        self._arrange()
        self.finished.connect(self._aside.close)
        room = self.screen().availableGeometry().size() - QSize(40, 60)
        self.resize(_SIZE.boundedTo(room))
        self.refresh()

    # Parts

    def _make_top(self) -> None:
        self.kind = Choice((("", "All kinds"), *((kind, kind) for kind in words.KINDS)))
        self.kind.setAccessibleName("Kind of action")
        self.kind.currentIndexChanged.connect(lambda _index: self._filter())
        self.search = QLineEdit()
        self.search.setPlaceholderText(
            "Search: a tool, a host, or the SOP Instance UID of an image"
        )
        self.search.setAccessibleName("Search the audit log")
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icons.icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self._typed = QTimer(self, singleShot=True, interval=_SEARCH_DELAY_MS)
        self._typed.timeout.connect(self._filter)
        self.search.textChanged.connect(lambda _text: self._typed.start())
        self.refresh_button = _button(push_button("Refresh", self.refresh))
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.search.setFocus)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Refresh), self, self.refresh)

    def _make_table(self) -> QTableView:
        name = "Lines of the audit log, the newest first"
        table = RowTable(self.model, name, row_height=26, widths=_WIDTHS)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = table.horizontalHeader()
        header.setSectionResizeMode(WHAT, QHeaderView.ResizeMode.Stretch)
        table.selectionModel().currentRowChanged.connect(lambda now, _old: self._tell(now.row()))
        return table

    def _make_below(self) -> None:
        self.empty = EmptyState("shield-check", "Reading the audit log", "")
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setTabChangesFocus(True)
        self.details.setFixedHeight(_DETAILS_HEIGHT)
        self.details.setAccessibleName("All that the chosen line says")
        self.details.setPlaceholderText("Choose a line to see all that it says")
        self.verdict_icon = label()
        self.verdict = label("", wrap=True)
        self._told("Not checked yet. Verify checks every line.", "muted", "shield-check")
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.count = label("", "faint")
        self.verify_button = push_button("Verify", self.verify, primary=True)
        self.verify_button.setToolTip("Check every line against the log's key")
        self.export_button = push_button("Export…", self.export)
        self.close_button = push_button("Close", self.reject)
        for button in (self.verify_button, self.export_button, self.close_button):
            _button(button)

    def _arrange(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(SPACE.s)
        top.addWidget(self.kind)
        top.addWidget(self.search, 1)
        top.addWidget(self.refresh_button)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        told = QHBoxLayout()
        told.setSpacing(SPACE.s)
        told.addWidget(self.verdict_icon, 0, Qt.AlignmentFlag.AlignTop)
        told.addWidget(self.verdict, 1)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE.s)
        foot.addWidget(self.count, 1)
        for button in (self.verify_button, self.export_button, self.close_button):
            foot.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE.l, SPACE.l, SPACE.l, SPACE.l)
        column.setSpacing(SPACE.m)
        column.addLayout(top)
        column.addLayout(self._stack, 1)
        column.addWidget(self.details)
        column.addLayout(told)
        column.addLayout(foot)
        self.search.setFocus()

    # While something is under way a button rests. Qt would give its focus to the next one, where
    # the key that pressed this one would do something else.

    def _rest(self, button: QPushButton) -> None:
        if self.focusWidget() is button:
            self._pressed = button
            self.table.setFocus()
        button.setEnabled(False)

    def _wake(self, button: QPushButton) -> None:
        button.setEnabled(True)
        if self._pressed is button and self.focusWidget() is self.table:
            button.setFocus()
        self._pressed = None if self._pressed is button else self._pressed

    # Reading

    def refresh(self) -> None:
        """Read the log again."""
        folder = self._log.folder
        self._rest(self.refresh_button)
        self.count.setText("Reading…")
        self._aside.run(lambda cancel: load(folder, cancel), self._take, self._cannot_read)

    def _take(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._wake(self.refresh_button)
        self._filter()

    def _cannot_read(self, reason: str) -> None:
        self._wake(self.refresh_button)
        self.count.setText("")
        self._say("The audit log cannot be read", reason)

    def _filter(self) -> None:
        """Show what matches; an earlier search that still goes on is dropped."""
        self._typed.stop()
        if self._filtering is not None:
            self._filtering.cancel()
        loaded, log = self._loaded, self._log
        kind, text = self.kind.value, self.search.text()

        def work(cancel: CancelToken) -> list[int]:
            return matching(log, loaded, kind, text, cancel)

        self._filtering = self._aside.run(work, lambda found: self._show(loaded, found), self._fail)

    def _show(self, loaded: Loaded, numbers: Sequence[int]) -> None:
        self.model.show(loaded, numbers)
        self._tell(-1)
        total = len(loaded.lines)
        self.count.setText(
            f"{len(numbers):,} of {total:,} lines" if len(numbers) != total else f"{total:,} lines"
        )
        self.export_button.setEnabled(bool(numbers))
        if numbers:
            self._stack.setCurrentIndex(1)
        elif total:
            self._say("No line matches", "Choose another kind, or search for something else.")
        else:
            self._say("The audit log is empty", "What tools do and what is sent is listed here.")
        wanted, self._wanted = self._wanted, None
        if wanted is not None and not self._jump(wanted) and len(numbers) != total:
            self._show_all_for(wanted)

    def _say(self, title: str, text: str) -> None:
        self.empty.title.setText(title)
        self.empty.text.setText(text)
        self._stack.setCurrentIndex(0)

    def _tell(self, number: int) -> None:
        if number < 0:
            self.details.clear()
            return
        model = self.model
        text = details(model.row(number), model.entry(number), model.problem(number))
        self.details.setPlainText(text)

    # Checking

    def verify(self) -> None:
        """Check the log as it is on the disk now."""
        log = self._log
        self._rest(self.verify_button)
        self._told("Checking every line…", "muted", "shield-check")

        def work(cancel: CancelToken) -> tuple[Report, Loaded | None]:
            try:
                report = verify(log.folder, log.secret)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise SightlineError(f"the audit log cannot be read ({reason})") from error
            return report, None if report.ok else _read_again(log.folder, cancel)

        self._aside.run(work, lambda found: self._verified(*found), self._not_verified)

    def _verified(self, report: Report, loaded: Loaded | None) -> None:
        self._wake(self.verify_button)
        self.model.mark({(item.segment, item.line): item.why for item in report.problems})
        if report.ok:
            self._told(_in_order(report), "ok", "circle-check")
            return
        count = len(report.problems)
        more = f" {count - 1} more below it are marked." if count > 1 else ""
        self._told(
            f"The log is NOT as it was written. {report.problems[0].text}.{more} Keep a copy of "
            "its folder and tell whoever looks after this computer.",
            "error",
            "circle-alert",
        )
        if loaded is not None:  # what was listed may be older than the change
            self._loaded = loaded
        self._show_for(report)

    def _show_for(self, report: Report) -> None:
        """List what matches, and then choose the first damaged line."""
        self._wanted = report
        self._filter()

    def _show_all_for(self, report: Report) -> None:
        """A filter hides what is wrong: show every line, and then that one."""
        self.search.clear()
        with QSignalBlocker(self.kind):  # one search is enough
            self.kind.setCurrentIndex(0)
        self._show_for(report)

    def _not_verified(self, reason: str) -> None:
        self._wake(self.verify_button)
        self._told(f"Not checked: {reason}", "warning", "triangle-alert")

    def _jump(self, report: Report) -> bool:
        """Choose the first damaged line that is listed; False where none is."""
        for problem in report.problems:
            number = self.model.find(problem.segment, problem.line)
            if number >= 0:
                index = self.model.index(number, 0)
                flags = QItemSelectionModel.SelectionFlag
                self.table.selectionModel().setCurrentIndex(
                    index, flags.ClearAndSelect | flags.Rows
                )
                self.table.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
                return True
        return False

    def _told(self, text: str, tone: str, icon: str) -> None:
        self.verdict.setProperty("tone", tone)
        self.verdict.setText(text)
        self.verdict.setAccessibleName(text)
        restyle(self.verdict)
        tints = {"ok": THEME.ok, "warning": THEME.warning, "error": THEME.error}
        tint = tints.get(tone, THEME.text_muted)
        self.verdict_icon.setPixmap(icons.icon(icon, tint).pixmap(QSize(SPACE.icon, SPACE.icon)))

    # Saving

    def export(self) -> None:
        """Ask where to, and save what is listed there."""
        dialog = QFileDialog(self, "Export the audit log")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(FILTERS))
        dialog.setDefaultSuffix("csv")
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix(FILTERS[name]))
        dialog.selectFile("Sightline audit log")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self.save(Path(dialog.selectedFiles()[0])))
        dialog.open()

    def save(self, path: Path) -> None:
        """Save what is listed."""
        log, loaded, shown = self._log, self.model.loaded, self.model.shown
        self._aside.run(
            lambda _cancel: save(log, [loaded.row(number) for number in shown], path),
            lambda count: self._told(f"Saved {count:,} lines to {path}.", "ok", "circle-check"),
            self._fail,
        )

    def _fail(self, reason: str) -> None:
        self._told(reason, "warning", "triangle-alert")


def show_audit(log: AuditLog, window: QWidget) -> AuditWindow:
    """Open the audit window above whatever is in front."""
    dialog = AuditWindow(log, QApplication.activeModalWidget() or window)
    dialog.show()
    return dialog


def _read_again(folder: Path, cancel: CancelToken) -> Loaded | None:
    """The log as it is now; None where it cannot be read: the verdict stands all the same."""
    try:
        return load(folder, cancel)
    except SightlineError:
        return None


def _in_order(report: Report) -> str:
    if not report.lines:
        return "There is nothing in the log yet, so there is nothing to check."
    notes = " ".join(report.notes)
    first, last = local_time(report.first), local_time(report.last)
    return (
        f"All {report.lines:,} lines are as they were written, from {first} to {last}. {notes}"
    ).rstrip()


def _button(button: QPushButton) -> QPushButton:
    button.setAutoDefault(False)  # Enter in the search is no click
    return button
