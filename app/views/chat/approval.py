"""A run's question to the user: may it do this? Yes and no are buttons, never text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.agent.events import ApprovalRequested
from app.agent.request import Decision
from app.views.chat.arguments import visible
from app.views.chat.arguments_view import ArgumentsView
from app.views.chat.request_card import Answer, RequestCard, plain
from app.views.chat.text import one_line
from app.views.chat.widgets import Elided, Flow, Wrapped, label
from app.views.pack_texts import PackTexts
from app.views.theme import SPACE

REASON_CHARS = 500
ARM_MS = 300  # a click that was meant for what was here before must not allow anything
_MAX_HEIGHT = 240
_WAITS = "The assistant waits for your answer."
_SCROLL = "Scroll up to see what is asked; then it can be allowed."


class ApprovalCard(RequestCard):
    """What would be done, with its exact arguments, and the answers.

    The keyboard reaches the reason and "Don't allow" before the buttons that allow. These work once
    every argument is shown.

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
        self.arguments: ArgumentsView | None = None
        super().__init__(event, answer, texts, live=live)
        self._unseen: list[QWidget] = [self.title, *self.touched]
        self._arming = QTimer(self, singleShot=True, interval=ARM_MS)
        self._arming.timeout.connect(self._arm)
        if live:
            self._arming.start()

    # -- building

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.touched: list[_Touched] = []
        if event.tool:
            self.tool = Elided(f"{self._texts.title(event.tool)}  ·  {event.tool}", "label")
            self.tool.setAccessibleName(f"Tool: {one_line(event.tool)}")
            layout.addWidget(self.tool)
            self.touched = [_Touched(item) for item in event.touches]
            for item in self.touched:
                layout.addWidget(item)
            self.arguments = ArgumentsView(_MAX_HEIGHT)
            self.arguments.setAccessibleName("The exact arguments")
            layout.addWidget(self.arguments)
            self._hidden = label(
                "Characters that cannot be seen are shown as their codes.", "warning", wrap=True
            )
            layout.addWidget(self._hidden)
            self.arguments.filled.connect(self._on_filled)
            self.arguments.show_arguments(event.arguments)
            self._on_filled()
        self.detail = plain(event.detail, max_height=_MAX_HEIGHT)
        self.detail.setProperty("tone", "muted")
        self.detail.setAccessibleName("What would be done")
        # The detail of a tool's request says its effect and arguments over again.
        self.detail.setVisible(bool(event.detail.strip()) and not (event.tool and event.effect))
        layout.addWidget(self.detail)

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.reason = QLineEdit()
        self.reason.setMaxLength(REASON_CHARS)
        self.reason.setPlaceholderText("Reason for not allowing it (optional)")
        self.reason.setAccessibleName("Reason for not allowing it")
        self.reason.setAccessibleDescription("Enter refuses; the assistant is told the reason")
        self.reason.setToolTip("The assistant is told the reason. Enter refuses.")
        self.reason.returnPressed.connect(lambda: self._refuse("once"))
        self.deny = self._button("Don't allow", Decision(granted=False))
        self.deny_session = self._button("Not in this conversation", Decision(False, "session"))
        self.deny_session.setToolTip(
            "The tool is refused, whatever its arguments, until Sightline is closed"
        )
        # A consent says itself how long it holds.
        self.allow = self._button("Allow once" if event.tool else "Allow", Decision(granted=True))
        self.allow_session = self._button("Allow in this conversation", Decision(True, "session"))
        self.allow_session.setToolTip("The same tool with the same arguments is not asked again")
        self._waits = label(_WAITS, "faint", wrap=True)
        layout.addWidget(self._waits)
        layout.addWidget(self.reason)
        for pair in ((self.deny, self.allow), (self.deny_session, self.allow_session)):
            buttons = Flow(SPACE.s)
            for button in pair:
                buttons.addWidget(button)
            layout.addLayout(buttons)
        for button in (self.deny_session, self.allow_session):
            button.setVisible("session" in event.scopes)
        self._enable_allow(False)
        self.setFocusProxy(self.reason)

    def _button(self, text: str, decision: Decision) -> QPushButton:
        button = QPushButton(text)
        button.setAutoDefault(False)
        if decision.granted:
            button.clicked.connect(lambda _checked=False: self._say(decision))
        else:
            button.clicked.connect(lambda _checked=False: self._refuse(decision.scope))
        return button

    # -- answering

    def _outcome(self, granted: bool, scope: str) -> str:
        text = "Allowed" if granted else "Not allowed"
        if scope == "session":
            return f"{text} in this conversation"
        return "Allowed once" if granted and self.arguments is not None else text

    def _refuse(self, scope: str) -> None:
        reason = " ".join(self.reason.text().split())
        decision = Decision(granted=False, reason=reason)
        self._say(replace(decision, scope="session") if scope == "session" else decision)

    def _arm(self) -> None:
        """Let yes be said: it has been on screen, and all of it can be read."""
        if self.answered:
            return
        if self.arguments is not None and not self.arguments.complete:
            self._arming.start()
            return
        if not self._seen():
            self._waits.setText(_SCROLL)
            self._arming.start()
            return
        self._waits.setText(_WAITS)
        self._enable_allow(True)

    def _seen(self) -> bool:
        """Whether the question, and each file and host that it reaches, was on the screen."""
        self._unseen = [part for part in self._unseen if part.visibleRegion().isEmpty()]
        return not self._unseen

    def _enable_allow(self, enabled: bool) -> None:
        self.allow.setEnabled(enabled)
        self.allow_session.setEnabled(enabled)

    def _lock(self) -> None:
        self._enable_allow(False)
        for part in (self.deny, self.deny_session, self.reason):
            part.setEnabled(False)

    def _on_filled(self) -> None:
        if self.arguments is not None:
            self._hidden.setVisible(self.arguments.hidden)


class _Touched(QFrame):
    """A file that would be written, or a host that would be sent to: as it will really be reached.

    Args:
        touched: As in `ApprovalRequested.touches`.
    """

    def __init__(self, touched: Mapping[str, str]) -> None:
        super().__init__()
        self.setObjectName("chatTouched")
        shown = "".join(part.text for part in visible(touched.get("shown", "")))
        what, note = touched.get("what", ""), touched.get("note", "")
        self.setAccessibleName(f"{one_line(what)} {one_line(shown, 600)}")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE.s, 6, SPACE.s, 6)
        layout.setSpacing(2)
        named = touched.get("argument", "")
        head = Wrapped("caption")
        head.set_full(f"{what[:1].upper()}{what[1:]}" + (f" ({named})" if named else ""))
        layout.addWidget(head)
        self.place = plain(shown)
        self.place.setProperty("tone", "place")
        self.place.setAccessibleName(self.accessibleName())
        layout.addWidget(self.place)
        if note:
            odd = Wrapped("warning")
            odd.set_full(note)
            layout.addWidget(odd)
