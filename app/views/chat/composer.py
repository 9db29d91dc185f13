"""The field in which a question is written, and the list of queued questions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QMenu, QPlainTextEdit, QPushButton, QToolButton, QWidget

from app.views.agent_thread import Question
from app.views.chat.attachments import Attachments
from app.views.chat.widgets import ElidedText
from app.views.icons import icon
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME, restyle
from app.views.translation import tr
from app.views.widgets import IconLabel, label, tool_button

_LINES = 8  # to which the field grows before it scrolls
_QUEUED = 3  # queued questions that are shown
QUESTION_CHARS = 20_000


class QuestionEdit(QPlainTextEdit):
    """A field of plain text that grows with its lines; Enter sends, Shift+Enter breaks the line."""

    sent = Signal()
    recalled = Signal()  # Up was pressed in the empty field
    escaped = Signal(bool)  # whether Shift was held
    focused = Signal(bool)  # gained (True) or lost the keyboard focus

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatInput")
        self.setAccessibleName(tr("Question"))
        self.setAccessibleDescription(tr("Enter sends, Shift+Enter starts a new line"))
        self.setToolTip(tr("Enter sends, Shift+Enter starts a new line"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())
        self.textChanged.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if modifiers & Qt.KeyboardModifier.ShiftModifier:
                self.insertPlainText("\n")
                self.ensureCursorVisible()
            else:
                self.sent.emit()
        elif key == Qt.Key.Key_Escape:
            self.escaped.emit(bool(modifiers & Qt.KeyboardModifier.ShiftModifier))
        elif key == Qt.Key.Key_Up and not self.toPlainText():
            self.recalled.emit()
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste plain text, cut so that the question does not exceed its maximum length."""
        if source.hasText():
            room = max(0, QUESTION_CHARS - len(self.toPlainText()))
            self.insertPlainText(source.text()[:room])

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        # Dropped files are left to the window, which opens them.
        return source.hasText() and not source.hasUrls()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focused.emit(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        # The document of a QPlainTextEdit gives its height in lines.
        lines = max(1, min(_LINES, round(self.document().size().height())))
        height = lines * self.fontMetrics().lineSpacing() + 4
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)


class Composer(QFrame):
    """The question field with its buttons, and a line that names the image asked about."""

    submitted = Signal(str)
    file_wanted = Signal()
    region_wanted = Signal()
    stop_wanted = Signal()
    stop_after_wanted = Signal()

    def __init__(self, attachments: Attachments) -> None:
        super().__init__()
        self.setObjectName("chatComposer")
        self.attachments = attachments
        self._last = ""
        self._busy = False
        self.edit = QuestionEdit()
        self.about = ElidedText("", "faint", middle=True)
        self._about_icon = IconLabel("image", 13, THEME.text_faint)
        self.send = self._button("chatSend", "arrow-up", THEME.accent_text, tr("Send the question"))
        self.stop = self._button("chatStop", "square", THEME.text, tr("Stop (Esc)"))
        self.stop_more = self._make_stop_more()
        self.stop.hide()
        self.stop_more.hide()
        stop = row(self.stop, self.stop_more, spacing=0)
        self.file = tool_button(
            "paperclip", tr("Open a file, and name it in the question"), self.file_wanted.emit
        )
        self.region = tool_button(
            "square-dashed",
            tr("Draw a box on the image that the question is about"),
            self.region_wanted.emit,
        )
        parts = (self._about_icon, (self.about, 1), self.file, self.region, stop, self.send)
        foot = row(*parts, spacing=SPACE.xs)
        margins = (SPACE.m, 10, SPACE.s, SPACE.s)
        column(attachments, self.edit, foot, spacing=6, margins=margins, parent=self)
        self.setFocusProxy(self.edit)
        self.edit.sent.connect(self.submit)
        self.edit.recalled.connect(lambda: self.set_text(self._last))
        self.edit.escaped.connect(self._escape)
        self.edit.focused.connect(self._show_focus)
        self.edit.textChanged.connect(self._allow)
        attachments.changed.connect(self._allow)
        self.send.clicked.connect(lambda _checked=False: self.submit())
        self.stop.clicked.connect(lambda _checked=False: self.stop_wanted.emit())
        # Made last: a menu made before the other parts breaks the order of focus.
        self.stop_menu = self._make_stop_menu()
        self.send.setEnabled(False)

    @property
    def text(self) -> str:
        return self.edit.toPlainText()

    def submit(self) -> None:
        text = self.text.strip()
        if text and not self.attachments.opening:
            self._last = text
            self._keep_focus(self.send)
            self.edit.clear()
            attached = self.attachments.words()
            self.attachments.clear()
            self.submitted.emit("\n\n".join(filter(None, [text[:QUESTION_CHARS], attached])))

    def remember(self, text: str) -> None:
        """Store a question that was asked elsewhere, so that the Up key brings it back."""
        self._last = text

    def set_text(self, text: str) -> None:
        self.edit.setPlainText(text)
        cursor = self.edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.edit.setTextCursor(cursor)

    def set_busy(self, busy: bool, stopping: str) -> None:
        """Set whether a run is on: questions queue and Stop shows. See `AgentThread.stopping`."""
        if not busy or stopping == "now":
            self._keep_focus(self.stop, self.stop_more)
        elif stopping:
            self._keep_focus(self.stop_more)
        self._busy = busy
        self.stop.setVisible(busy)
        self.stop.setEnabled(stopping != "now")
        self.stop_more.setVisible(busy)
        self.stop_more.setEnabled(not stopping)
        self._stop_after.setEnabled(busy and not stopping)
        now = tr("Stop at once (Esc)") if stopping else tr("Stop (Esc)")
        self.stop.setToolTip(now)
        self.stop.setAccessibleName(now)
        self.stop.setProperty("stopping", stopping)
        restyle(self.stop)
        tip = tr("Queue the question") if busy else tr("Send the question")
        self.send.setToolTip(tr("{tip} (Enter)").format(tip=tip))
        self.send.setAccessibleName(tip)

    def set_can_mark(self, can: bool) -> None:
        """Set whether an image is shown, on which a box can be drawn."""
        self.region.setEnabled(can)

    def set_about(self, text: str, placeholder: str) -> None:
        self.about.set_full(text)
        if placeholder != self.edit.placeholderText():
            self.edit.setPlaceholderText(placeholder)
            self.edit.viewport().update()  # else Qt leaves the old placeholder on the screen

    def _allow(self) -> None:
        self.send.setEnabled(bool(self.text.strip()) and not self.attachments.opening)

    def _keep_focus(self, *buttons: QWidget) -> None:
        """Move the focus from buttons that will be disabled to the field."""
        if self.window().focusWidget() in buttons:
            self.edit.setFocus()

    def _button(self, name: str, picture: str, tint: str, tip: str) -> QPushButton:
        button = QPushButton()
        button.setObjectName(name)
        button.setIcon(icon(picture, tint, off_tint=THEME.text_faint))
        button.setIconSize(QSize(16, 16))
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        return button

    def _make_stop_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction(tr("Stop now") + "\tEsc", self.stop_wanted.emit)
        self._stop_after = menu.addAction(
            tr("Stop after this tool") + "\tShift+Esc", self.stop_after_wanted.emit
        )
        return menu

    def _make_stop_more(self) -> QToolButton:
        button = tool_button("chevron-down", tr("More ways to stop"))
        button.setObjectName("chatStopMore")
        button.setIconSize(QSize(12, 12))
        button.clicked.connect(lambda _checked=False: self._open_stop_menu())
        return button

    def _open_stop_menu(self) -> None:
        """Open the menu above the button, since the window ends below it."""
        at = self.stop_more.mapToGlobal(self.stop_more.rect().topRight())
        size = self.stop_menu.sizeHint()
        self.stop_menu.setActiveAction(self._stop_after)
        self.stop_menu.popup(QPoint(at.x() - size.width(), at.y() - size.height()))

    def _escape(self, gently: bool) -> None:
        if self._busy:
            (self.stop_after_wanted if gently else self.stop_wanted).emit()

    def _show_focus(self, focused: bool) -> None:
        self.setProperty("focused", focused)
        restyle(self)


class PendingList(QWidget):
    """The queued questions, one line each; hidden while there are none."""

    removed = Signal(int)  # number of the question

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Queued questions"))
        self.why = label(
            tr("Queued until the question about the other study is answered."), "caption", wrap=True
        )
        self.why.hide()
        self._layout = column(self.why, spacing=SPACE.xs, parent=self)
        self._numbers: list[int] = []
        self._rows: list[QWidget] = []
        self.hide()

    def tell(self, *, elsewhere: bool) -> None:
        """Tell that the questions wait for one about another study than the shown one."""
        self.why.setVisible(elsewhere)

    def show_questions(self, questions: Sequence[Question], *, elsewhere: bool = False) -> None:
        self.tell(elsewhere=elsewhere)
        numbers = [item.number for item in questions]
        if numbers == self._numbers:
            return
        self._numbers = numbers
        for part in self._rows:
            self._layout.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._rows = [self._row(item) for item in questions[:_QUEUED]]
        if len(questions) > _QUEUED:
            self._rows.append(
                label(tr("and {count} more queued").format(count=len(questions) - _QUEUED), "faint")
            )
        for part in self._rows:
            self._layout.addWidget(part)
        self.setVisible(bool(questions))

    def _row(self, question: Question) -> QWidget:
        frame = QFrame()
        frame.setObjectName("chatPending")
        number = question.number
        tip = tr("Remove this question from the queue")
        row(
            IconLabel("clock", 14, THEME.text_faint),
            label(tr("Queued"), "caption"),
            (ElidedText(question.text, "label"), 1),
            tool_button("x", tip, lambda: self.removed.emit(number)),
            margins=(SPACE.s, 2, 2, 2),
            parent=frame,
        )
        return frame
