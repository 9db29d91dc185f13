"""Messages over the canvas: notices about errors and actions, and the page without an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QPushButton, QStackedLayout, QWidget

from app.errors import SightlineError
from app.imaging.openable import CONTAINERS, OPENABLE
from app.imaging.types import Problem
from app.views import wording
from app.views.browser.problem_list import by_reason, problems_text
from app.views.canvas.canvas import Canvas
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME
from app.views.translation import tr, tr_n
from app.views.widgets import (
    ElidedLabel,
    IconLabel,
    center_page,
    label,
    plain_tip,
    push_button,
    tool_button,
)
from app.workspace.workspace import Workspace

MOST = 3  # shown at once; older ones make way
MOST_REASONS = 2  # in one notice; the study list has all
WIDTH = 420
CLEARANCE = 104  # px above the bottom: clear of the canvas's corner text
SHORT_MS = 8000  # time until an information disappears
LISTED_MS = 15000  # a notice of problems that stay in the study list
_TONES = {
    "error": ("circle-alert", THEME.error),
    "warning": ("triangle-alert", THEME.warning),
    "info": ("info", THEME.accent),
    "done": ("circle-check", THEME.ok),
}


Action = tuple[str, Callable[[], object]]
"""Text of a button, and what it does."""


class Notice(QFrame):
    """A message in plain text with an optional button; `tone` is a key of `_TONES`."""

    def __init__(self, tone: str, title: str, text: str, action: Action | None = None) -> None:
        super().__init__()
        self.setProperty("notice", True)
        self.setProperty("tone", tone)
        self._said = None if action else (tone, title, text)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.dismissed = False
        self.title = ElidedLabel(title, "strong")
        self.text = label(text, "muted", wrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        name, tint = _TONES[tone]
        if not text:
            self.text.hide()
        mark = IconLabel(name, 18, tint)
        away = tool_button("x", tr("Dismiss"), self.dismiss, 14)
        buttons = [push_button(action[0], lambda: self._act(action[1]))] if action else []
        words = column(self.title, self.text, spacing=2)
        margins = (SPACE.m, SPACE.m, SPACE.s, SPACE.m)
        line = row(mark, (words, 1), *buttons, away, spacing=SPACE.m, margins=margins, parent=self)
        for part in (mark, away):
            line.setAlignment(part, Qt.AlignmentFlag.AlignTop)

    def says(self, tone: str, title: str, text: str) -> bool:
        """Return whether it says just this, and has no button."""
        return self._said == (tone, wording.one_line(title), text)

    def _act(self, run: Callable[[], object]) -> None:
        run()
        self.dismiss()

    def dismiss(self) -> None:
        self.dismissed = True
        self.hide()
        self.deleteLater()


class Notices(QWidget):
    """A column of notices at the bottom of `host`; the newest is last."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self._column = column(parent=self)
        self._shown: list[Notice] = []
        host.installEventFilter(self)
        self.hide()

    def all(self) -> list[Notice]:
        # Never by `QLayout.itemAt`: what it returns outlives the item that Qt deletes, and stands
        # for whatever Qt makes at the same address later (AttributeError, or a crash).
        self._shown = [notice for notice in self._shown if not notice.dismissed]
        return list(self._shown)

    def show_notice(
        self, tone: str, title: str, text: str = "", action: Action | None = None
    ) -> Notice:
        """Show a notice, with a button (text, callback), in place of its like; "info" goes."""
        for old in self.all():
            if action is None and old.says(tone, title, text):
                old.dismiss()
        for old in self.all()[: 1 - MOST]:
            old.dismiss()
        notice = Notice(tone, wording.one_line(title), text, action)
        notice.installEventFilter(self)
        self._column.addWidget(notice)
        self._shown.append(notice)
        notice.show()  # else the layout would show it later, and leave it out of the height now
        if tone == "info":
            _leave_after(notice, SHORT_MS)
        self._place()
        return notice

    def show_error(self, error: SightlineError) -> Notice:
        text = wording.error_text(SightlineError(error.reason, remedy=error.remedy))
        return self.show_notice("error", error.subject or tr("Something went wrong"), text)

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        lost = [problem for problem in problems if not problem.remark]
        if len(problems) == 1:
            problem = problems[0]
            text = wording.error_text(SightlineError(problem.reason, remedy=problem.remedy))
            tone = "error" if lost else "info"
            notice = self.show_notice(tone, problem.path.name or str(problem.path), text)
            notice.title.setToolTip(plain_tip(str(problem.path)))
        elif problems:
            reasons = by_reason(problems)
            lines = [f"{reason.heading}: {reason.text}." for reason in reasons[:MOST_REASONS]]
            more = len(reasons) - MOST_REASONS
            if more > 0:
                lines.append(tr_n("%n other reason.", "%n other reasons.", more))
            notice = self.show_notice(
                "warning" if lost else "info",
                problems_text(problems),
                " ".join([*lines, tr("See the study list for what to do.")]),
            )
            _leave_after(notice, LISTED_MS)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        on_host = watched is self._host
        kinds = (QEvent.Type.Resize,) if on_host else (QEvent.Type.Hide, QEvent.Type.LayoutRequest)
        if kind in kinds:
            self._place()
        return False

    def _place(self) -> None:
        if not self.all():
            self.hide()
            return
        room = self._host.rect()
        width = min(WIDTH, room.width() - 2 * SPACE.l)
        height = self._column.totalHeightForWidth(width)
        if height <= 0:
            height = self.sizeHint().height()
        left = room.left() + (room.width() - width) // 2
        self.setGeometry(left, room.bottom() - CLEARANCE - height, width, height)
        self.show()
        self.raise_()


def _leave_after(notice: Notice, delay_ms: int) -> None:
    """Remove a notice after a delay, since it covers the image."""
    timer = QTimer(notice, singleShot=True, interval=delay_ms)
    timer.timeout.connect(notice.dismiss)
    timer.start()


LOW = 380  # px of the canvas below which the start page has no picture
PATIENCE_MS = 200  # a wait shorter than this is not worth a flicker


class Placeholder(QWidget):
    """The page that covers a canvas without image: start page, progress, error, or a hint."""

    begun = Signal()  # the start page is made

    def __init__(
        self,
        canvas: Canvas,
        workspace: Workspace,
        actions: list[Action],
        recent: Sequence[Action] = (),
    ) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._workspace = workspace
        self._wait = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._wait.timeout.connect(self.refresh)
        self._waited = False
        self.error_text = label("", "muted", wrap=True)
        self._mark: QWidget | None = None
        self._pages = QStackedLayout(self)
        self._made: dict[int, QWidget] = {}
        self._make: tuple[Callable[[], QWidget], ...] = (
            lambda: self._begin_page(actions, recent),
            lambda: _page(
                IconLabel("loader-circle", 28, THEME.text_faint), label(tr("Loading…"), "muted")
            ),
            lambda: _page(
                IconLabel("image-off", 36, THEME.error),
                label(tr("This image cannot be shown"), "title"),
                self.error_text,
            ),
            lambda: _page(
                label(tr("Drag a series here from the list of studies"), "muted", wrap=True)
            ),
        )
        canvas.installEventFilter(self)
        canvas.status_changed.connect(self.refresh)
        workspace.studies.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        page = self._wanted_page()
        if page == 1 and not self._waited:
            self._waited = True
            self._wait.start()
            self.hide()
            return
        if page != 1:
            self._waited = False
            self._wait.stop()
        self.setVisible(page >= 0)
        if page >= 0:
            self._pages.setCurrentWidget(self._page(page))
            self.setGeometry(self._canvas.rect())
            self.raise_()

    def _page(self, number: int) -> QWidget:
        """Return a page, which is made when it is first shown."""
        if number not in self._made:
            self._made[number] = self._make[number]()
            self._pages.addWidget(self._made[number])
            if number == 0:
                self.begun.emit()
        return self._made[number]

    def _begin_page(self, actions: list[Action], recent: Sequence[Action]) -> QWidget:
        self._mark = IconLabel("sightline", 72)
        if self._canvas.height() < LOW:
            self._mark.hide()
        page = _begin_page(self._mark, actions, recent)
        page.setProperty("surface", "start")
        return page

    def _wanted_page(self) -> int:
        if self._canvas.model.instance is None:
            several = len(self._workspace.layout.viewports) > 1
            return 3 if self._workspace.studies.all and several else 0
        if self._canvas.error:
            self.error_text.setText(self._canvas.error)
            return 2
        return 1 if self._canvas.picture is None else -1

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._canvas and event.type() == QEvent.Type.Resize:
            self.setGeometry(self._canvas.rect())
            if self._mark is not None:
                self._mark.setVisible(self.height() >= LOW)  # the buttons need the room
        return False


def _page(*parts: QWidget) -> QWidget:
    page = QWidget()
    page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    page.setProperty("surface", "canvas")
    center_page(page, parts, 460)
    return page


def _begin_page(mark: QWidget, actions: list[Action], recent: Sequence[Action]) -> QWidget:
    buttons = _Buttons(
        [
            push_button(text, run, primary=number == 0, icon_name="" if number else "folder-open")
            for number, (text, run) in enumerate(actions)
        ]
    )
    buttons.setContentsMargins(0, SPACE.s, 0, 0)
    hint = tr(
        "Drop {openable} files, or {containers} of them, anywhere on this "
        "window. Images stay on this computer."
    ).format(openable=tr(OPENABLE), containers=tr(CONTAINERS))
    again = [push_button(text, run, icon_name="history") for text, run in recent]
    title = [label(tr("Open again"), "section")] if again else []
    return _page(
        mark,
        label(tr("Open a study to begin"), "heading"),
        label(hint, "muted", wrap=True),
        buttons,
        *title,
        *again,
    )


class _Buttons(QWidget):
    """Buttons in a row, or in a column where a row would cut their texts."""

    def __init__(self, buttons: list[QPushButton]) -> None:
        super().__init__()
        self._row = row(1, *buttons, 1, parent=self)
        self._buttons = buttons

    def minimumSizeHint(self) -> QSize:
        # That of the column: the row's minimum would keep the page too wide to become narrow.
        return QSize(max(button.sizeHint().width() for button in self._buttons), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        widths = [button.sizeHint().width() for button in self._buttons]
        needed = sum(widths) + SPACE.s * (len(widths) + 1)
        directions = QBoxLayout.Direction
        fits = needed <= event.size().width()
        self._row.setDirection(directions.LeftToRight if fits else directions.TopToBottom)
