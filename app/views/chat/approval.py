"""A run's question to the user: may it do this? Yes and no are buttons, never text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QLineEdit, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.agent.events import ApprovalRequested
from app.agent.request import Decision
from app.views.chat import names
from app.views.chat.arguments_view import ArgumentsView
from app.views.chat.text import one_line
from app.views.chat.textview import TextView
from app.views.chat.widgets import Elided, Flow, Wrapped, icon_label, label, link_button, row
from app.views.icons import icon, pixmap
from app.views.style import restyle
from app.views.theme import SPACE, THEME

REASON_CHARS = 500
ARM_MS = 300  # a click that was meant for what was here before must not allow anything
_MAX_HEIGHT = 240

Answer = Callable[[str, Decision], object]


class ApprovalCard(QFrame):
    """What would be done, with its exact arguments, and the answers. Answered once.

    Nothing here takes the focus by itself; the keyboard reaches the reason and "Deny" before the
    buttons that allow. These work once every argument is shown.

    Args:
        event: What is asked.
        answer: `answer(approval_id, decision)`.
        live: Whether it can be answered; False for one read from the history.
    """

    def __init__(self, event: ApprovalRequested, answer: Answer, *, live: bool = True) -> None:
        super().__init__()
        self.approval_id = event.approval_id
        self.call_id = event.call_id
        self.answered = False
        self._answer = answer
        self._live = live
        self.setObjectName("chatCard")
        self.setProperty("state", "approval")
        self.setAccessibleName(f"Approval needed: {one_line(event.title)}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(SPACE.m, 10, SPACE.m, 10)
        self._body.setSpacing(SPACE.s)
        self.arguments: ArgumentsView | None = None
        self._add_head(event)
        self._add_what(event)
        self._add_answers(event)
        self._arming = QTimer(self, singleShot=True, interval=ARM_MS)
        self._arming.timeout.connect(self._arm)
        if live:
            self._arming.start()

    def resolve(self, granted: bool, reason: str = "", scope: str = "once") -> None:
        """Show the answer that holds."""
        if granted:
            once = "Allowed once" if self.arguments is not None else "Allowed"
            text = "Allowed in this conversation" if scope == "session" else once
        else:
            text = "Denied"
        mark = ("circle-check", THEME.ok) if granted else ("ban", THEME.text_faint)
        self._close(f"{text}: {reason}" if reason else text, *mark)

    def expire(self) -> None:
        """The run ended before there was an answer."""
        if not self.state.full:
            self._close("Not answered; nothing was done.", "ban", THEME.text_faint)

    # -- building

    def _add_head(self, event: ApprovalRequested) -> None:
        self.title = _plain(event.title)
        self.title.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        mark = icon_label("shield-check", THEME.warning, 18)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.title)
        self.effect = label(names.effect(event.effect), "caption", wrap=True)
        self.effect.setVisible(bool(event.effect))
        texts.addWidget(self.effect)
        head = row(mark, spacing=10)
        head.addLayout(texts, 1)
        head.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        self._body.addLayout(head)

    def _add_what(self, event: ApprovalRequested) -> None:
        self.what = QWidget()
        layout = QVBoxLayout(self.what)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        if event.tool:
            self.tool = Elided(f"{names.title(event.tool)}  ·  {event.tool}", "label")
            self.tool.setAccessibleName(f"Tool: {one_line(event.tool)}")
            layout.addWidget(self.tool)
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
        self.detail = _plain(event.detail, max_height=_MAX_HEIGHT)
        self.detail.setProperty("tone", "muted")
        self.detail.setAccessibleName("What would be done")
        # The detail of a tool's request says its effect and arguments over again.
        self.detail.setVisible(bool(event.detail.strip()) and not (event.tool and event.effect))
        layout.addWidget(self.detail)
        self._body.addWidget(self.what)
        self._show = link_button("What was asked", "chevron-right", self._toggle)
        self._show.hide()

    def _add_answers(self, event: ApprovalRequested) -> None:
        self.reason = QLineEdit()
        self.reason.setMaxLength(REASON_CHARS)
        self.reason.setPlaceholderText("Reason for denying (optional)")
        self.reason.setAccessibleName("Reason for denying")
        self.reason.setAccessibleDescription("Enter denies; the assistant is told the reason")
        self.reason.setToolTip("The assistant is told the reason. Enter denies.")
        self.reason.returnPressed.connect(lambda: self._say(Decision(granted=False)))
        self.deny = self._button("Deny", Decision(granted=False))
        # A consent says itself how long it holds.
        self.allow = self._button("Allow once" if event.tool else "Allow", Decision(granted=True))
        self.allow_session = self._button("Allow in this conversation", Decision(True, "session"))
        self.allow_session.setToolTip("The same tool with the same arguments is not asked again")
        self._choices = QWidget()
        layout = QVBoxLayout(self._choices)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE.s)
        layout.addWidget(label("The assistant waits for your answer.", "faint"))
        layout.addWidget(self.reason)
        buttons = Flow(SPACE.s)
        for button in (self.deny, self.allow, self.allow_session):
            buttons.addWidget(button)
        layout.addLayout(buttons)
        self.allow_session.setVisible("session" in event.scopes)
        self._enable_allow(False)
        self.setFocusProxy(self.reason)
        self._body.addWidget(self._choices)
        self._choices.setVisible(self._live)
        self._mark = icon_label("ban", THEME.text_faint, 14)
        self.state = Wrapped("caption")
        self._resolved = QWidget()
        line = row(self._mark, spacing=6)
        line.addWidget(self.state, 1)
        line.setAlignment(self._mark, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self._show)
        self._resolved.setLayout(line)
        self._resolved.hide()
        self._body.addWidget(self._resolved)

    def _button(self, text: str, decision: Decision) -> QPushButton:
        button = QPushButton(text)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _checked=False: self._say(decision))
        return button

    # -- answering

    def _arm(self) -> None:
        """Let yes be said: it has been on screen, and all of it can be read."""
        if self.answered:
            return
        if self.arguments is not None and not self.arguments.complete:
            self._arming.start()
            return
        self._enable_allow(True)

    def _enable_allow(self, enabled: bool) -> None:
        self.allow.setEnabled(enabled)
        self.allow_session.setEnabled(enabled)

    def _on_filled(self) -> None:
        if self.arguments is not None:
            self._hidden.setVisible(self.arguments.hidden)

    def _say(self, decision: Decision) -> None:
        if self.answered:
            return
        self.answered = True
        if self._has_focus():
            self.title.setFocus()  # until there is the button for what was asked
        self._enable_allow(False)
        self.deny.setEnabled(False)
        self.reason.setEnabled(False)
        if not decision.granted:
            decision = Decision(False, reason=" ".join(self.reason.text().split()))
        self._answer(self.approval_id, decision)

    def _close(self, text: str, name: str, tint: str) -> None:
        self.answered = True
        self._show.show()
        if self._has_focus():
            self._show.setFocus()  # else Qt gives it to some button of the toolbar
        self._choices.hide()
        self.what.hide()
        self.setProperty("state", "")
        restyle(self)
        self._mark.setPixmap(pixmap(name, 14, tint, 2.0))
        self.state.set_full(text)
        self.setAccessibleName(f"{self.title.plain()} {self.state.full}")
        self._resolved.show()

    def _has_focus(self) -> bool:
        focused = self.window().focusWidget()
        return focused is self or (focused is not None and self.isAncestorOf(focused))

    def _toggle(self) -> None:
        opened = self.what.isHidden()
        self.what.setVisible(opened)
        self._show.setIcon(icon("chevron-down" if opened else "chevron-right"))
        self._show.setAccessibleDescription("open" if opened else "closed")


def _plain(text: str, max_height: int = 0) -> TextView:
    view = TextView(max_height=max_height)
    view.set_plain(text)
    return view
