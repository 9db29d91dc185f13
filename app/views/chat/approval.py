"""A run's question to the user: may it do this? Yes and no are buttons, never text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QVBoxLayout

from app.agent.events import ApprovalRequested
from app.views.chat.text import one_line
from app.views.chat.textview import TextView
from app.views.chat.widgets import Elided, icon_label, label, row
from app.views.style import restyle
from app.views.theme import SPACE, THEME


class ApprovalCard(QFrame):
    """Title and detail as plain text, Allow and Deny. Answered once.

    Args:
        event: What is asked.
        answer: `answer(approval_id, granted)`.
    """

    def __init__(self, event: ApprovalRequested, answer: Callable[[str, bool], object]) -> None:
        super().__init__()
        self.approval_id = event.approval_id
        self.answered = False
        self._answer = answer
        self.setObjectName("chatCard")
        self.setProperty("state", "approval")
        self.setAccessibleName(f"Approval needed: {one_line(event.title)}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        body = QVBoxLayout(self)
        body.setContentsMargins(SPACE.m, 10, SPACE.m, 10)
        body.setSpacing(SPACE.s)
        self.title = TextView()
        self.title.set_plain(event.title)
        self.title.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        mark = icon_label("shield-check", THEME.warning, 18)
        head = row(mark, spacing=10)
        head.addWidget(self.title, 1)
        head.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        body.addLayout(head)
        self.detail = TextView(max_height=220)
        self.detail.setProperty("tone", "muted")
        self.detail.set_plain(event.detail)
        self.detail.setAccessibleName("What would be done")
        body.addWidget(self.detail)
        self.allow = QPushButton("Allow")
        self.allow.setProperty("primary", True)
        self.deny = QPushButton("Deny")
        self.allow.clicked.connect(lambda _checked=False: self._say(True))
        self.deny.clicked.connect(lambda _checked=False: self._say(False))
        self.state = Elided("", "caption")
        self.state.hide()
        self._waiting = label("The assistant waits for your answer.", "faint")
        body.addWidget(self._waiting)
        body.addLayout(row(self.allow, self.deny, 1))
        body.addWidget(self.state)

    def resolve(self, granted: bool, reason: str = "") -> None:
        """Show the answer that holds."""
        text = "Allowed" if granted else "Denied"
        self._close(f"{text}. {reason}".strip() if reason else text)

    def expire(self) -> None:
        """The run ended before there was an answer."""
        if not self.state.full:
            self._close("Not answered; nothing was done.")

    def _say(self, granted: bool) -> None:
        if self.answered:
            return
        self.answered = True
        self.allow.setEnabled(False)
        self.deny.setEnabled(False)
        self._answer(self.approval_id, granted)

    def _close(self, text: str) -> None:
        self.answered = True
        self.allow.hide()
        self.deny.hide()
        self._waiting.hide()
        self.setProperty("state", "")
        restyle(self)
        self.state.set_full(text)
        self.state.show()
