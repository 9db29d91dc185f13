"""The question whether something may leave the machine: host, model, what kinds of data, pictures.

It opens as a dialogue of its own, so that nobody answers it in passing: No is the default, Escape
and closing the window mean No, and Yes works only once every picture is on the screen. The card in
the conversation says that it waits, and afterwards what was asked and answered.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QHideEvent, QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.agent.events import ApprovalRequested
from app.agent.request import Decision
from app.views.background import Background
from app.views.chat.consent_pictures import SIDE, SentPicture
from app.views.chat.request_card import Answer, RequestCard
from app.views.chat.style import sheet
from app.views.chat.text import one_line
from app.views.chat.textview import BULLET, TextView
from app.views.chat.widgets import Flow, icon_label, label, row
from app.views.theme import SPACE, THEME
from app.views.widgets import push_button

QUIET_MS = 600  # keys typed for what had the focus before answer nothing
_WIDTH = 620  # px
_PLAIN = 310  # px of height, without pictures
_WARNING = 56  # px of height
_PICTURE = 200  # px of height for one
_SMALL = 88  # px of a picture in the conversation
_YES = {
    "conversation": "Send",
    "pictures": "Send pictures",
    "risky_pictures": "Send all the same",
}


class ConsentView(QWidget):
    """What would be sent where.

    Args:
        event: The request.
        background: Reads the pictures.
        side: Of a small picture, px.

    Attributes:
        settled: Another picture is on screen, or cannot be shown.
    """

    settled = Signal()

    def __init__(self, event: ApprovalRequested, background: Background, side: int = SIDE) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.m)
        self.warning = TextView()
        self.warning.set_plain(event.warning)
        self.warning.setProperty("tone", "warning")
        self.warning.setAccessibleName("Warning")
        self.warning.setVisible(bool(event.warning))
        column.addWidget(self.warning)
        facts = QGridLayout()
        facts.setHorizontalSpacing(SPACE.l)
        facts.setVerticalSpacing(6)
        facts.setColumnStretch(1, 1)
        self.facts: dict[str, TextView] = {}
        sent = "\n".join(f"{BULLET}{item}" for item in event.sent)
        rows = (("Host", event.host, "place"), ("Model", event.model, ""), ("What", sent, ""))
        for number, (name, text, tone) in enumerate(rows):
            view = TextView()
            view.set_plain(text)
            view.setProperty("tone", tone)
            view.setAccessibleName(f"{name}: {one_line(text, 600)}")
            self.facts[name] = view
            facts.addWidget(label(name, "muted"), number, 0, Qt.AlignmentFlag.AlignTop)
            facts.addWidget(view, number, 1)
        column.addLayout(facts)
        self.pictures = [SentPicture(item, background, side) for item in event.pictures]
        for picture in self.pictures:
            picture.settled.connect(self.settled)
            column.addWidget(picture)
        self.detail = TextView()
        self.detail.set_plain(event.detail)
        self.detail.setProperty("tone", "muted")
        self.detail.setAccessibleName("In words")
        column.addWidget(self.detail)
        column.addStretch(1)

    @property
    def complete(self) -> bool:
        """Whether every picture could be read."""
        return all(picture.sent is not None for picture in self.pictures)

    @property
    def seen(self) -> bool:
        """Whether every picture was in view."""
        return all(picture.seen for picture in self.pictures)

    def look(self, viewport: QWidget) -> None:
        """Note which pictures are in view; only once all have their size and hence their place."""
        layout = self.layout()
        if self.complete and layout is not None:
            layout.activate()
            for picture in self.pictures:
                picture.look(viewport)

    @property
    def failed(self) -> bool:
        """Whether one cannot be shown."""
        return any(picture.failed for picture in self.pictures)


class ConsentDialog(QDialog):
    """Asks, and is answered once.

    Args:
        event: The request.
        background: Reads the pictures.
        say: Takes the answer.
        parent: The window that waits.
    """

    def __init__(
        self,
        event: ApprovalRequested,
        background: Background,
        say: Callable[[Decision], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("chatConsent")
        self.setStyleSheet(sheet())
        self.setWindowTitle("Send to another computer?")
        self._say = say
        self._answered = False
        self.view = ConsentView(event, background)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setAccessibleName("What would be sent; scroll with the arrow keys")
        self.view.setContentsMargins(0, 0, SPACE.m, 0)
        self.area.setWidget(self.view)
        # A moment later, when what has changed has moved the rest to its place.
        self._looking = QTimer(self, singleShot=True, interval=0)
        self._looking.timeout.connect(self._look)
        self.view.settled.connect(self._looking.start)
        bar = self.area.verticalScrollBar()
        bar.valueChanged.connect(self._look)
        bar.rangeChanged.connect(self._looking.start)
        self._state = label("", "warning", wrap=True)
        self.no = push_button("Don't send", self.reject, primary=True)
        self.no.setDefault(True)
        self.yes = push_button(_YES.get(event.about, "Send"), self._agree)
        self._lay_out(event)
        self._armed = False
        self._quiet = QTimer(self, singleShot=True, interval=QUIET_MS)
        self._quiet.timeout.connect(self._arm)
        self._quiet.start()
        self._looking.start()
        self._update()
        self.area.setFocus()

    def _lay_out(self, event: ApprovalRequested) -> None:
        mark = icon_label("shield-check", THEME.warning, 22)
        title = label("", "title", wrap=True)
        title.setText(event.title)
        self.setAccessibleName(event.title)
        head = row(mark, spacing=SPACE.m)
        head.addWidget(title, 1)
        head.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE.s)
        foot.addWidget(self._state, 1)
        foot.addWidget(self.no)
        foot.addWidget(self.yes)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
        column.setSpacing(SPACE.l)
        column.addLayout(head)
        column.addWidget(self.area, 1)
        column.addLayout(foot)
        room = self.screen().availableGeometry().size() * 0.9
        height = (
            _PLAIN + (_WARNING if event.warning else 0) + _PICTURE * min(2, len(event.pictures))
        )
        self.resize(QSize(_WIDTH, height).boundedTo(room))

    def dismiss(self) -> None:
        """Close without an answer: the run does not wait for one any more."""
        self._answered = True
        self.close()

    def reject(self) -> None:
        """Escape, No, or the window is closed."""
        self._answer(granted=False)
        super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._answer(granted=False)
        super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that were meant for the question field decide nothing, not even for No."""
        if not self._armed:
            self._quiet.start()
            return
        super().keyPressEvent(event)

    def _agree(self) -> None:
        self._answer(granted=True)
        self.accept()

    def _answer(self, *, granted: bool) -> None:
        if not self._answered:
            self._answered = True
            self._say(Decision(granted=granted))

    def _arm(self) -> None:
        self._armed = True
        self._look()

    def _look(self, _value: int = 0) -> None:
        """What was not in view cannot be allowed."""
        if self.isVisible():
            self.view.look(self.area.viewport())
        self._update()

    def _update(self) -> None:
        self.yes.setEnabled(self._armed and self.view.complete and self.view.seen)
        if self.view.failed:
            self._state.setText("A picture cannot be shown, so none can be sent.")
        elif not self.view.complete:
            self._state.setText("The pictures are being read…")
        elif not self.view.seen:
            self._state.setText("Scroll down: you have not seen every picture.")
        else:
            self._state.setText("")


class ConsentCard(RequestCard):
    """The question's place in the conversation.

    Args:
        event: What is asked.
        answer: `answer(approval_id, decision)`.
        background: Reads the pictures.
        live: Whether it can be answered; False for one read from the history.
    """

    def __init__(
        self, event: ApprovalRequested, answer: Answer, background: Background, *, live: bool = True
    ) -> None:
        self._event = event
        self._background = background
        self.dialog: ConsentDialog | None = None
        super().__init__(event, answer, live=live)

    def appear(self) -> None:
        """Ask, in a dialogue above the window."""
        if self.answered or not self._live:
            return
        if self.dialog is None or not isValid(self.dialog):
            self.dialog = ConsentDialog(self._event, self._background, self._say, self.window())
            dialog = self.dialog
            # A conversation that is left takes its questions with it.
            self.destroyed.connect(dialog.deleteLater)
        self.dialog.open()
        self.dialog.raise_()

    def resolve(self, granted: bool, reason: str = "", scope: str = "once") -> None:
        """Show the answer that holds."""
        self._dismiss()
        super().resolve(granted, reason, scope)

    def expire(self) -> None:
        """The run ended before there was an answer."""
        self._dismiss()
        super().expire()

    def hideEvent(self, event: QHideEvent) -> None:
        """Its window is closed, or the conversation is left: no question stays behind."""
        super().hideEvent(event)
        if not event.spontaneous():
            self._dismiss()

    def _dismiss(self) -> None:
        """Close the dialogue, whoever answered."""
        if self.dialog is not None and isValid(self.dialog):
            self.dialog.dismiss()
        self.dialog = None

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.view: ConsentView | None = None
        self.what.hide()

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        layout.addWidget(label("The question waits for your answer.", "faint", wrap=True))
        self.deny = push_button("Don't send", lambda: self._say(Decision(granted=False)))
        self.ask = push_button("Show the question", self.appear)
        buttons = Flow(SPACE.s)
        for button in (self.deny, self.ask):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        layout.addLayout(buttons)
        self.setFocusProxy(self.deny)

    def _outcome(self, granted: bool, scope: str) -> str:
        event = self._event
        if not granted:
            return "Not allowed"
        if event.about == "conversation":
            return f"The conversation may be sent to {event.host}"
        if event.about == "pictures" and any(item.get("risk") for item in event.pictures):
            return "Allowed; those that may show who the patient is are asked about once more"
        return f"Pictures may be sent to {event.host}"

    def _lock(self) -> None:
        self.deny.setEnabled(False)
        self.ask.setEnabled(False)
        self._dismiss()

    def _toggle(self) -> None:
        layout = self.what.layout()
        if self.view is None and layout is not None:
            # Its pictures are read only when somebody wants to see them.
            self.view = ConsentView(self._event, self._background, _SMALL)
            layout.addWidget(self.view)
        super()._toggle()
