"""One question and all that came of it: turns the events of a run into widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    ModelRetry,
    Noted,
    PlanUpdated,
    ReasoningDelta,
    RunCancelled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    Usage,
)
from app.imaging.findings import Finding
from app.views.chat import names
from app.views.chat.approval import ApprovalCard
from app.views.chat.card import CardTools, ToolCard
from app.views.chat.facts import number
from app.views.chat.message import AnswerView, Notice, UserBubble
from app.views.chat.plan import PlanView
from app.views.chat.widgets import ThinProgress, label
from app.views.theme import SPACE


@dataclass(frozen=True, slots=True)
class RunActions:
    """What a run's widgets can ask of the dock.

    Attributes:
        answer: `answer(approval_id, granted)`.
        ask_again: Ask a question once more.
        cards: What cards need.
    """

    answer: Callable[[str, bool], object]
    ask_again: Callable[[str], object]
    cards: CardTools


class RunView(QWidget):
    """A question, its cards and its answer, in the order in which they came.

    Args:
        question: The user's text.
        actions: What buttons do.
        live: Whether it runs now; False for one read from the history.
    """

    def __init__(self, question: str, actions: RunActions, *, live: bool = True) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.question = question
        self.run_id = ""
        self.ended = ""  # kind of the terminal event
        self.cards: dict[str, ToolCard] = {}
        self.approvals: dict[str, ApprovalCard] = {}
        self.answers: list[AnswerView] = []
        self.plan: PlanView | None = None
        self.notice: Notice | None = None
        self._actions = actions
        self._live = live
        self._model = ""
        self._tokens = [0, 0]
        self._findings: list[Finding] = []
        self._open: AnswerView | None = None  # the answer that streamed text goes to
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, SPACE.s)
        self._layout.setSpacing(10)
        self.bubble = UserBubble(question)
        self._layout.addWidget(self.bubble)
        self._thinking = _Thinking() if live else None
        if self._thinking is not None:
            self._layout.addWidget(self._thinking)

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._live and not self.ended

    @property
    def reading(self) -> QWidget | None:
        """The answer that is being written or was written last; what a reader wants to see."""
        return self._open

    def tick(self) -> None:
        """Move what moves while it runs."""
        if self._thinking is not None:
            self._thinking.bar.tick()
        for card in self.cards.values():
            if card.running:
                card.tick()

    def stopping(self) -> None:
        """The user pressed stop; the run has not answered yet."""
        if self._thinking is not None:
            self._thinking.text.setText("Stopping…")

    def handle(self, event: RunEvent) -> None:
        """Show an event."""
        match event:
            case RunStarted():
                self.run_id, self._model = event.run_id, event.model
            case TextDelta():
                self._write(event.text)
            case PlanUpdated():
                self._show_plan(event)
            case ToolStarted():
                self._start(event)
            case ToolProgress():
                card = self.cards.get(event.call_id)
                if card is not None:
                    card.set_progress(event)
            case ToolFinished():
                self._finish(event)
            case ApprovalRequested():
                self._request(event)
            case ApprovalResolved():
                request = self.approvals.get(event.approval_id)
                if request is not None:
                    request.resolve(event.granted, event.reason)
            case ModelRetry() | Noted():
                pass
            case ReasoningDelta():
                pass
            case Usage():
                self._tokens[0] += event.input_tokens
                self._tokens[1] += event.output_tokens
            case RunFinished() | RunFailed() | RunCancelled():
                self._end(event)

    def _add(self, widget: QWidget) -> None:
        """Add at the end, before the sign that it goes on."""
        at = self._layout.count() - (1 if self._thinking is not None else 0)
        self._layout.insertWidget(at, widget)

    def _write(self, text: str) -> None:
        if self._open is None:
            if not text.strip():
                return
            self._open = AnswerView(self._actions.cards.links.select)
            self._open.writer.set_links(self._actions.cards.links.targets(self._findings))
            self.answers.append(self._open)
            self._add(self._open)
        self._open.writer.append(text)
        self._say("")

    def _show_plan(self, event: PlanUpdated) -> None:
        if not event.steps and self.plan is None:
            return
        if self.plan is None:
            self.plan = PlanView()
            self._add(self.plan)
        self.plan.set_steps(event.steps)

    def _start(self, event: ToolStarted) -> None:
        if event.call_id in self.cards:
            return
        self._open = None
        card = ToolCard(event, self._actions.cards, live=self._live)
        self.cards[event.call_id] = card
        self._add(card)
        self._say("")  # the card itself says that it goes on

    def _finish(self, event: ToolFinished) -> None:
        card = self.cards.get(event.call_id)
        if card is None:
            self._start(
                ToolStarted(
                    run_id=event.run_id,
                    seq=event.seq,
                    time=event.time,
                    call_id=event.call_id,
                    tool=event.tool,
                    arguments={},
                )
            )
            card = self.cards[event.call_id]
        if not card.running:
            return
        card.finish(event)
        self._findings.extend(event.findings)
        self._say("Thinking…")

    def _request(self, event: ApprovalRequested) -> None:
        self._open = None
        card = ApprovalCard(event, self._actions.answer)
        self.approvals[event.approval_id] = card
        self._add(card)
        if self._thinking is not None:
            self._thinking.hide()

    def _say(self, text: str) -> None:
        if self._thinking is not None:
            self._thinking.setVisible(bool(text))
            self._thinking.text.setText(text)

    def _end(self, event: RunFinished | RunFailed | RunCancelled) -> None:
        if self.ended:
            return
        self.ended = event.kind
        if self._thinking is not None:
            self._layout.removeWidget(self._thinking)
            self._thinking.deleteLater()
            self._thinking = None
        for request in self.approvals.values():
            request.expire()
        if self.plan is not None:
            self.plan.fold(True)
        match event:
            case RunFinished():
                self._complete(event.answer)
            case RunFailed():
                self.notice = Notice(event.error, event.remedy, error=True)
            case RunCancelled():
                # A transcript holds no end of a run, so the history cannot say which one it was.
                self.notice = Notice("Stopped" if self._live else "No answer was recorded.")
        if self.notice is not None:
            if self._live:
                again = self._actions.ask_again
                self.notice.add_action("Ask again", "rotate-ccw", lambda: again(self.question))
            self._add(self.notice)
        if self._open is not None:
            self._open.finish(self._signature())

    def _complete(self, answer: str) -> None:
        """Show the answer where it was not streamed, and link what it names."""
        shown = "".join("".join(view.text.split()) for view in self.answers)
        if "".join(answer.split()) not in shown:
            if self._open is None:
                self._write(answer)
            else:
                self._open.writer.set_text(answer)
        if self._open is not None:
            self._open.writer.set_links(self._actions.cards.links.targets(self._findings))

    def _signature(self) -> str:
        parts = [names.model_title(self._model) if self._model else "Assistant"]
        if any(self._tokens):
            sent, got = self._tokens
            parts.append(f"{number(sent)} tokens in, {number(got)} out")
        return " · ".join(parts)


class _Thinking(QWidget):
    """The sign that a run goes on and has nothing new to show."""

    def __init__(self) -> None:
        super().__init__()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 0)
        layout.setSpacing(SPACE.s)
        self.bar = ThinProgress()
        self.bar.setFixedWidth(36)
        self.text = label("Thinking…", "caption")
        layout.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.text, 1)
