"""A tool's question whether to use an image although something speaks against it: usually no."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout

from app.agent.events import ApprovalRequested
from app.agent.request import Decision
from app.views.chat.approval import ARM_MS
from app.views.chat.request_card import Answer, RequestCard, plain
from app.views.chat.text import one_line
from app.views.chat.widgets import Elided, Flow, label
from app.views.pack_texts import PackTexts
from app.views.theme import SPACE
from app.views.widgets import push_button

_MAX_HEIGHT = 240
_DOUBT = (
    "What a tool says of an image that it was not made for may mean nothing. Your yes holds for "
    "this image in this conversation, and every result on it says so."
)
_SCROLL = "Scroll up to see what is asked; then it can be used."


class OverrideCard(RequestCard):
    """What speaks against the image, and two answers; the first that the keyboard reaches is no.

    Args:
        event: What is asked.
        answer: `answer(approval_id, decision)`.
        texts: Titles of the tools.
        live: Whether it can be answered; False for one read from the history.
    """

    def __init__(
        self,
        event: ApprovalRequested,
        answer: Answer,
        texts: PackTexts | None = None,
        *,
        live: bool = True,
    ) -> None:
        super().__init__(event, answer, texts, live=live)
        self._unseen = [self.title, self.detail]
        self._arming = QTimer(self, singleShot=True, interval=ARM_MS)
        self._arming.timeout.connect(self._arm)
        if live:
            self._arming.start()

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.detail = plain(event.detail, max_height=_MAX_HEIGHT)
        self.detail.setAccessibleName("What speaks against it")
        layout.addWidget(self.detail)
        about = [self._texts.title(event.tool) if event.tool else "", one_line(event.image)]
        self.about = Elided("  ·  ".join(part for part in about if part), "caption")
        self.about.setVisible(bool(self.about.full))
        layout.addWidget(self.about)
        layout.addWidget(label(_DOUBT, "caption", wrap=True))

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self._hint = label("", "faint", wrap=True)
        self._hint.hide()
        layout.addWidget(self._hint)
        self.deny = push_button("Don't use it", lambda: self._say(Decision(False)), primary=True)
        self.allow = push_button("Use it anyway", lambda: self._say(Decision(True)))
        buttons = Flow(SPACE.s)
        for button in (self.deny, self.allow):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        layout.addLayout(buttons)
        self.allow.setEnabled(False)
        self.setFocusProxy(self.deny)

    def _outcome(self, granted: bool, scope: str) -> str:
        return "Used although it is not suitable" if granted else "Not used"

    def _arm(self) -> None:
        """Let yes be said: what speaks against it has been on the screen."""
        if self.answered:
            return
        self._unseen = [part for part in self._unseen if part.visibleRegion().isEmpty()]
        self._hint.setText(_SCROLL)
        self._hint.setVisible(bool(self._unseen))
        if self._unseen:
            self._arming.start()
        else:
            self.allow.setEnabled(True)

    def _lock(self) -> None:
        self.deny.setEnabled(False)
        self.allow.setEnabled(False)
