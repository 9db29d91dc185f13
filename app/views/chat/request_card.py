"""What every question of a run to the user has: a head, what is asked, the answers, the outcome."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from app.agent.events import ApprovalRequested
from app.agent.request import Decision
from app.views.chat import names
from app.views.chat.text import one_line
from app.views.chat.textview import TextView
from app.views.chat.widgets import Wrapped, icon_label, label, link_button, row
from app.views.icons import icon, pixmap
from app.views.pack_texts import PackTexts
from app.views.style import restyle
from app.views.theme import SPACE, THEME

Answer = Callable[[str, Decision], object]


class RequestCard(QFrame):
    """A question of a run. Answered once; nothing here takes the focus by itself.

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
        super().__init__()
        self._texts = texts or PackTexts()
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
        self._add_head(event)
        self.what = QWidget()
        inside = QVBoxLayout(self.what)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(6)
        self._fill_what(inside, event)
        self._body.addWidget(self.what)
        self._choices = QWidget()
        choices = QVBoxLayout(self._choices)
        choices.setContentsMargins(0, 0, 0, 0)
        choices.setSpacing(SPACE.s)
        self._fill_choices(choices, event)
        self._body.addWidget(self._choices)
        self._choices.setVisible(live)
        self._add_outcome()

    def appear(self) -> None:
        """It has its place in the conversation."""

    def resolve(self, granted: bool, reason: str = "", scope: str = "once") -> None:
        """Show the answer that holds."""
        text = self._outcome(granted, scope)
        mark = ("circle-check", THEME.ok) if granted else ("ban", THEME.text_faint)
        self._close(f"{text}: {reason}" if reason else text, *mark)

    def expire(self) -> None:
        """The run ended before there was an answer."""
        if not self.state.full:
            self._close("Not answered; nothing was done.", "ban", THEME.text_faint)

    # -- what each kind of question has of its own

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        raise NotImplementedError

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        raise NotImplementedError

    def _outcome(self, granted: bool, scope: str) -> str:
        raise NotImplementedError

    def _lock(self) -> None:
        """An answer was given: no other one can be."""
        raise NotImplementedError

    # -- building

    def _add_head(self, event: ApprovalRequested) -> None:
        self.title = plain(event.title)
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

    def _add_outcome(self) -> None:
        self._show = link_button("What was asked", "chevron-right", self._toggle)
        self._show.hide()
        self._mark = icon_label("ban", THEME.text_faint, 14)
        self.state = Wrapped("caption")
        self._resolved = QWidget()
        line = row(self._mark, spacing=6)
        line.addWidget(self.state, 1)
        line.setAlignment(self._mark, Qt.AlignmentFlag.AlignTop)
        # Below it: beside it the button would take half of a narrow dock from the words.
        lines = QVBoxLayout(self._resolved)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(2)
        lines.addLayout(line)
        lines.addWidget(self._show, 0, Qt.AlignmentFlag.AlignLeft)
        self._resolved.hide()
        self._body.addWidget(self._resolved)

    # -- answering

    def _say(self, decision: Decision) -> None:
        if self.answered:
            return
        self.answered = True
        if self._has_focus():
            self.title.setFocus()  # until there is the button for what was asked
        self._lock()
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


def plain(text: str, max_height: int = 0) -> TextView:
    """Somebody else's text, literally."""
    view = TextView(max_height=max_height)
    view.set_plain(text)
    return view
