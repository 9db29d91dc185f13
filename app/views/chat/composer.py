"""Where the question is written."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QIcon, QKeyEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.views.chat.widgets import Elided, icon_label, row, tool_button
from app.views.icons import pixmap
from app.views.style import restyle
from app.views.theme import SPACE, THEME

_LINES = 8  # grows to this many, then scrolls
QUESTION_CHARS = 20_000


class QuestionEdit(QPlainTextEdit):
    """Plain text that grows with its lines. Enter sends, Shift+Enter breaks the line."""

    sent = Signal()
    recalled = Signal()
    escaped = Signal(bool)  # whether Shift was held
    focused = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatInput")
        self.setAccessibleName("Question")
        self.setAccessibleDescription("Enter sends, Shift and Enter starts a new line")
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
        """Paste text only, and no more than a question may hold."""
        if source.hasText():
            room = max(0, QUESTION_CHARS - len(self.toPlainText()))
            self.insertPlainText(source.text()[:room])

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        # Files dropped here are for the window, which opens them.
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
        # A QPlainTextEdit's document measures its height in lines.
        lines = max(1, min(_LINES, round(self.document().size().height())))
        height = lines * self.fontMetrics().lineSpacing() + 4
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)


class Composer(QFrame):
    """The field, what it is about, and the buttons.

    Attributes:
        submitted: The question's text.
        stop_wanted: Stop the run at once.
        stop_after_wanted: Stop the run when the calls that run now have ended.
    """

    submitted = Signal(str)
    stop_wanted = Signal()
    stop_after_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatComposer")
        self._last = ""
        self._busy = False
        self.edit = QuestionEdit()
        self.about = Elided("", "faint", middle=True)
        self._about_icon = icon_label("image", THEME.text_faint, 13)
        self.send = self._button("chatSend", "arrow-up", THEME.accent_text, "Send the question")
        self.stop = self._button("chatStop", "square", THEME.text, "Stop (Esc)")
        self.stop_more = self._make_stop_more()
        self.stop.hide()
        self.stop_more.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE.m, 10, SPACE.s, SPACE.s)
        layout.setSpacing(6)
        layout.addWidget(self.edit)
        foot = row(self._about_icon, spacing=6)
        foot.addWidget(self.about, 1)
        foot.addLayout(row(self.stop, self.stop_more, spacing=0))
        foot.addWidget(self.send)
        layout.addLayout(foot)
        self.setFocusProxy(self.edit)
        self.edit.sent.connect(self.submit)
        self.edit.recalled.connect(self._recall)
        self.edit.escaped.connect(self._escape)
        self.edit.focused.connect(self._show_focus)
        self.edit.textChanged.connect(self._on_text)
        self.send.clicked.connect(lambda _checked=False: self.submit())
        self.stop.clicked.connect(lambda _checked=False: self.stop_wanted.emit())
        # Last: a menu that comes before the other parts takes them out of the order of focus.
        self.stop_menu = self._make_stop_menu()
        self._on_text()

    @property
    def text(self) -> str:
        """What is written."""
        return self.edit.toPlainText()

    def submit(self) -> None:
        """Send what is written; nothing happens while there is nothing but spaces."""
        text = self.text.strip()
        if text:
            self._last = text
            self._keep_focus(self.send)
            self.edit.clear()
            self.submitted.emit(text[:QUESTION_CHARS])

    def remember(self, text: str) -> None:
        """A question that was asked in another way; Up brings it back too."""
        self._last = text

    def set_text(self, text: str) -> None:
        """Write `text` into the field, the cursor at its end."""
        self.edit.setPlainText(text)
        cursor = self.edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.edit.setTextCursor(cursor)

    def set_busy(self, busy: bool, stopping: str) -> None:
        """While a run goes on, questions are queued and it can be stopped.

        Args:
            busy: Whether one goes on.
            stopping: How it was told to stop: "", "after_tool" (it may still be stopped at once)
                or "now".
        """
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
        now = "Stop at once (Esc)" if stopping else "Stop (Esc)"
        self.stop.setToolTip(now)
        self.stop.setAccessibleName(now)
        self.stop.setProperty("stopping", stopping)
        restyle(self.stop)
        tip = "Queue the question" if busy else "Send the question"
        self.send.setToolTip(f"{tip} (Enter)")
        self.send.setAccessibleName(tip)

    def set_about(self, text: str, placeholder: str) -> None:
        """What the question will be about."""
        self.about.set_full(text)
        self.edit.setPlaceholderText(placeholder)
        self.edit.viewport().update()  # Qt leaves an older placeholder on the screen

    def _keep_focus(self, *buttons: QWidget) -> None:
        """Buttons that go out give the focus back to the field, not to whatever comes next."""
        if self.window().focusWidget() in buttons:
            self.edit.setFocus()

    def _button(self, name: str, picture: str, tint: str, tip: str) -> QPushButton:
        button = QPushButton()
        button.setObjectName(name)
        picture_of = QIcon(pixmap(picture, 16, tint, 2.0))
        picture_of.addPixmap(pixmap(picture, 16, THEME.text_faint, 2.0), QIcon.Mode.Disabled)
        button.setIcon(picture_of)
        button.setIconSize(QSize(16, 16))
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        return button

    def _make_stop_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Stop now\tEsc", self.stop_wanted.emit)
        self._stop_after = menu.addAction(
            "Stop after this tool\tShift+Esc", self.stop_after_wanted.emit
        )
        return menu

    def _make_stop_more(self) -> QToolButton:
        button = tool_button("chevron-down", "More ways to stop")
        button.setObjectName("chatStopMore")
        button.setIconSize(QSize(12, 12))
        button.clicked.connect(lambda _checked=False: self._open_stop_menu())
        return button

    def _open_stop_menu(self) -> None:
        """Above the button: below it the window ends."""
        at = self.stop_more.mapToGlobal(self.stop_more.rect().topRight())
        size = self.stop_menu.sizeHint()
        self.stop_menu.setActiveAction(self._stop_after)
        self.stop_menu.popup(QPoint(at.x() - size.width(), at.y() - size.height()))

    def _recall(self) -> None:
        if self._last:
            self.set_text(self._last)

    def _escape(self, gently: bool) -> None:
        if self._busy:
            (self.stop_after_wanted if gently else self.stop_wanted).emit()

    def _on_text(self) -> None:
        self.send.setEnabled(bool(self.text.strip()))

    def _show_focus(self, focused: bool) -> None:
        self.setProperty("focused", focused)
        restyle(self)
