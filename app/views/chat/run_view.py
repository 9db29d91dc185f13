"""One question and all that came of it: turns the events of a run into widgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    DataSent,
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
from app.agent.sessions import PastRun
from app.views.chat import missing, names
from app.views.chat.approval import ApprovalCard
from app.views.chat.card import CardTools, ToolCard
from app.views.chat.consent import ConsentCard
from app.views.chat.going_on import GoingOn
from app.views.chat.message import AnswerView, Notice, QuestionMenu, UserBubble
from app.views.chat.notes import NoteLine
from app.views.chat.override import OverrideCard
from app.views.chat.plan import PlanView
from app.views.chat.reasoning import ReasoningView
from app.views.chat.request_card import Answer, RequestCard
from app.views.chat.stream import Stream
from app.views.chat.widgets import Elided
from app.views.theme import SPACE

GO_ON = "Go on."


@dataclass(frozen=True, slots=True)
class RunActions:
    """What a run's widgets can ask of the dock.

    Attributes:
        answer: `answer(approval_id, decision)`.
        ask_again: Ask a question once more, or another one in the same thread.
        branch: Go on in a new thread from before a question: `branch(run)`.
        limits: Open the settings of the limits.
        cards: What cards need.
        result: The card of a number, of any question that is shown; None where there is none.
        show_result: Go to the card of a number and select what it found.
    """

    answer: Answer
    ask_again: Callable[[str], object]
    branch: Callable[[RunView], object]
    limits: Callable[[], object]
    cards: CardTools
    result: Callable[[int], ToolCard | None]
    show_result: Callable[[int], object]


class RunView(QWidget):
    """A question, its cards and its answer, in the order in which they came.

    Args:
        question: The user's text.
        actions: What buttons do.
        past: The run that it shows again, of a thread's file; None for one that runs now.
        place: Of that run among the thread's questions, from 0.
    """

    def __init__(
        self, question: str, actions: RunActions, past: PastRun | None = None, place: int = -1
    ) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.question = question
        self.run_id = past.run_id if past is not None else ""
        self.ended = ""  # kind of the terminal event
        self.past = past
        self.place = place
        self.cards: dict[str, ToolCard] = {}
        self.approvals: dict[str, RequestCard] = {}
        self._unseen: set[str] = set()  # calls that have no card: the plan shows what they do
        self.plan: PlanView | None = None
        self.notice: Notice | None = None
        self.missing: Notice | None = None  # which models were not there
        self._actions = actions
        self._live = live = past is None
        self._model = ""
        self._usage = ""
        self._tokens = (0, 0)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, SPACE.s)
        self._layout.setSpacing(10)
        menu = QuestionMenu(
            lambda: actions.ask_again(self.question),
            lambda: actions.branch(self),
        )
        self.bubble = UserBubble(question, menu)
        self._layout.addWidget(self.bubble)
        self._no = False  # the user's last answer was that nothing may be sent
        self._cited: Sequence[int] = ()  # by the answer, once it is there
        self._stream = Stream(
            self._insert, actions.cards.links, self._results, actions.show_result, live=live
        )
        self._going_on = GoingOn(self._insert, live=live)
        if self._going_on.sign is not None:
            self._layout.addWidget(self._going_on.sign)

    @property
    def answers(self) -> list[AnswerView]:
        """The texts of the model, one a turn."""
        return self._stream.answers

    @property
    def thoughts(self) -> list[ReasoningView]:
        """What the model thought, one a turn."""
        return self._stream.thoughts

    @property
    def note(self) -> NoteLine | None:
        """The quiet line that is shown now."""
        return self._going_on.line

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._live and not self.ended

    @property
    def reading(self) -> QWidget | None:
        """The answer that is being written or was written last; what a reader wants to see."""
        return self._stream.open

    @property
    def state_text(self) -> str:
        """What the sign that it goes on says, "" while there is none."""
        return self._going_on.text

    def tick(self) -> None:
        """Move what moves while it runs."""
        self._going_on.tick()
        self._stream.tick()
        for card in self.cards.values():
            if card.running:
                card.tick()

    def stopping(self, how: str) -> None:
        """The user pressed stop and the run has not answered yet: "now" or "after_tool"."""
        if not self.running:
            return
        running = [card for card in self.cards.values() if card.running]
        after = "Stopping after this tool…" if len(running) < 2 else "Stopping after these tools…"
        for card in running if how == "now" else ():
            card.stopping()
        self._going_on.stopping("Stopping…" if how == "now" else after)

    def handle(self, event: RunEvent) -> None:
        """Show an event."""
        if isinstance(event, DataSent):
            return  # the status bar tells of it
        if isinstance(event, ModelRetry):
            self._stream.withdraw()
        if not isinstance(event, (TextDelta, ReasoningDelta)):
            self._stream.mark()
        self._going_on.put_away(event)
        match event:
            case RunStarted():
                self.run_id, self._model = event.run_id, event.model
            case TextDelta():
                self._write(event.text)
            case ReasoningDelta():
                self._stream.think(event.text)
                self._going_on.say("")
            case ModelRetry() | Noted():
                self._going_on.note(event)
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
                self._resolve(event)
            case Usage():
                self._count(event)
            case RunFinished() | RunFailed() | RunCancelled():
                self._end(event)

    # -- the model

    def _insert(self, widget: QWidget, before: QWidget | None = None) -> None:
        """Add before `before`, or at the end, but above the sign that it goes on."""
        before = before if before is not None else self._going_on.sign
        at = self._layout.count() if before is None else self._layout.indexOf(before)
        self._layout.insertWidget(at, widget)

    def _write(self, text: str) -> None:
        if self._stream.write(text):
            self._going_on.say("")

    def _count(self, event: Usage) -> None:
        if event.run_input_tokens or event.run_output_tokens:
            sent, got = event.run_input_tokens, event.run_output_tokens
        else:
            sent, got = self._tokens[0] + event.input_tokens, self._tokens[1] + event.output_tokens
        self._tokens = (sent, got)
        self._usage = names.usage(sent, got, event.cost, estimated=event.estimated)

    def _results(self) -> dict[int, str]:
        """The results that the answer may cite: this run's and, of earlier ones, those it does."""
        found = {card.evidence: card.evidence_text for card in self.cards.values() if card.evidence}
        for number in self._cited:
            if number not in found:
                card = self._actions.result(number)
                found[number] = card.evidence_text if card else f"Result {number}, from earlier"
        return found

    # -- tools

    def _show_plan(self, event: PlanUpdated) -> None:
        if self.plan is None and not (event.steps or event.overrides or event.goal_why):
            return
        if self.plan is None:
            self.plan = PlanView(self._actions.cards.texts)
            # Above all that is done: it may come late, where no plan foresaw the first call.
            self._layout.insertWidget(self._layout.indexOf(self.bubble) + 1, self.plan)
        self.plan.show_plan(event)

    def _start(self, event: ToolStarted) -> None:
        if event.call_id in self.cards:
            return
        if event.own and names.is_housekeeping(event.tool):
            self._stream.close()
            self._unseen.add(event.call_id)
            return
        self._stream.close()
        card = ToolCard(event, self._actions.cards, live=self._live)
        self.cards[event.call_id] = card
        self._insert(card)
        self._going_on.say("")  # the card itself says that it goes on

    def _finish(self, event: ToolFinished) -> None:
        card = self.cards.get(event.call_id)
        if event.call_id in self._unseen:
            return
        if card is None:
            head = event.model_dump(include={"run_id", "seq", "time", "call_id", "tool"})
            self._start(ToolStarted(**head, arguments={}))
            card = self.cards[event.call_id]
        if not card.running:
            return
        card.finish(event)
        self._stream.take(event.findings)
        if not any(item.running for item in self.cards.values()):
            self._going_on.say("Thinking…")

    def _request(self, event: ApprovalRequested) -> None:
        self._stream.close()
        card = self._card_of(event)
        self.approvals[event.approval_id] = card
        self._insert(card)
        card.appear()
        if event.call_id in self.cards:
            self.cards[event.call_id].waiting(True)
        self._going_on.say("")

    def _card_of(self, event: ApprovalRequested) -> RequestCard:
        answer, live, texts = self._actions.answer, self._live, self._actions.cards.texts
        if event.about == "tool":
            return ApprovalCard(event, answer, texts, live=live)
        if event.about == "override":
            return OverrideCard(event, answer, texts, live=live)
        return ConsentCard(event, answer, self._actions.cards.background, live=live)

    def _resolve(self, event: ApprovalResolved) -> None:
        request = self.approvals.get(event.approval_id)
        if request is not None:
            request.resolve(event.granted, event.reason, event.scope)
            # A run that ends because nothing may be sent did as it was told: nothing failed.
            self._no = not event.granted and isinstance(request, ConsentCard) and not self.cards
            if request.call_id in self.cards:
                self.cards[request.call_id].waiting(False)
            if not any(card.running for card in self.cards.values()):
                self._going_on.say("Thinking…")

    # -- the end

    def _end(self, event: RunFinished | RunFailed | RunCancelled) -> None:
        if self.ended:
            return
        self.ended = event.kind
        self._going_on.end()
        for request in self.approvals.values():
            request.expire()
        if self.plan is not None:
            self.plan.fold(True)
        if isinstance(event, RunFinished):
            self._cited = event.cited
            self._model = names.BY_RULES if event.by_rules else self._model
            self._stream.complete(event.answer, event.unknown)
        self._sign()
        self._name_missing()
        self.notice = self._ending(event)
        if self.notice is not None:
            self._insert(self.notice)
        for thought in self.thoughts:
            thought.finish()

    def _name_missing(self) -> None:
        """Where several calls lacked models: one line that names each once."""
        lacking = [card for card in self.cards.values() if card.missing]
        if len(lacking) < 2:
            return  # its card says it, and has the way to it
        lacked = [name for card in lacking for name in card.missing]
        self.missing = Notice(missing.line(lacked), tone="muted")
        open_models = self._actions.cards.open_models
        self.missing.add_action("Models…", "cpu", lambda: open_models(lacked[0]))
        self._insert(self.missing)

    def _ending(self, event: RunFinished | RunFailed | RunCancelled) -> Notice | None:
        """How it ended, where the answer does not say that."""
        if isinstance(event, RunFinished):
            return self._stopped(event.stopped_by) if event.stopped_by else None
        if self.past is not None and self.past.state == "interrupted":
            text = "Sightline was closed before this was finished."
            notice = Notice(text, "What was found until then is kept.", tone="warning")
        elif isinstance(event, RunFailed):
            notice = Notice(event.error, event.remedy, tone="muted" if self._no else "error")
        else:
            # A transcript of the first version holds no end, so it cannot say which one it was.
            known = self.past is None or self.past.run_id
            notice = Notice("Stopped" if known else "No answer was recorded.")
        notice.add_action("Ask again", "rotate-ccw", self._ask_again)
        return notice

    def _stopped(self, stopped_by: str) -> Notice:
        limit = names.limit(stopped_by)
        notice = Notice(limit.text, limit.advice, tone="warning")
        notice.add_action("Continue", "play", lambda: self._actions.ask_again(GO_ON))
        if names.in_settings(stopped_by):
            notice.add_action("Limits…", "", self._actions.limits)
        return notice

    def _ask_again(self) -> None:
        self._actions.ask_again(self.question)

    def _sign(self) -> None:
        model = names.model_title(self._model) if self._model else "Assistant"
        if self._stream.open is not None:
            self._stream.open.finish(model, self._usage)
        elif self._usage:
            self._insert(Elided(f"{model} · {self._usage}", "faint"))
