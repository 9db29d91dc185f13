"""One question with its cards and its answer: turns the events of a run into widgets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget

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
from app.views.chat import missing_models, run_wording
from app.views.chat.answer import AnswerStream
from app.views.chat.approval import ApprovalCard, OverrideCard, RequestCard
from app.views.chat.consent import ConsentCard
from app.views.chat.message import Notice, UserBubble
from app.views.chat.plan_view import PlanView
from app.views.chat.tool_card import ChatServices, ToolCard
from app.views.chat.widgets import ElidedText, ThinProgress, icon_label, link_button
from app.views.layouts import column, icon_row, row
from app.views.plain_text import one_line
from app.views.theme import SPACE, THEME
from app.views.widgets import label
from app.views.wording import sentence

_CHARS = 400


class NoteLine(QWidget):
    """A wrapped line of plain grey text with an icon."""

    passing = False  # whether it is of this moment only: rewritten in place, removed afterwards

    def __init__(self, icon: str = "info", tint: str = THEME.text_faint) -> None:
        super().__init__()
        self._label = label("", "caption", wrap=True)
        line = icon_row(icon_label(icon, tint, 14), self._label, 8)
        column(line, margins=(2, 0, 2, 0), parent=self)

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self._label.text()

    def say(self, event: Noted) -> None:
        """Show a notice."""
        self.passing = event.passing
        self._show(one_line(event.text, _CHARS))

    def tick(self) -> None:
        """Update a text that depends on the time; does nothing by default."""

    def _show(self, text: str) -> None:
        if text != self.text:
            self._label.setText(text)
            self.setAccessibleName(text)


class RetryLine(NoteLine):
    """A line that counts down to the next request to an endpoint and says why the last failed."""

    passing = True

    def __init__(self, event: ModelRetry) -> None:
        super().__init__("clock", THEME.warning)
        self.show_retry(event)

    def show_retry(self, event: ModelRetry) -> None:
        """Count down to the attempt that the event announces."""
        self._reason = sentence(event.reason)[:_CHARS].rstrip(".:; ") or "The endpoint failed"
        self._count = f"({event.attempt}\u00a0of\u00a0{event.attempts})"
        self._until = time.monotonic() + max(0.0, event.wait_s)
        self.tick()

    def tick(self) -> None:
        """Show the number of seconds that are left."""
        left = math.ceil(self._until - time.monotonic())
        when = f"asking again in {left}\u00a0s" if left > 0 else "asking again now"
        self._show(f"{self._reason}: {when} {self._count}")


class ActivityBar(QWidget):
    """A moving bar with a text beside it, shown while a run has nothing new to show."""

    def __init__(self) -> None:
        super().__init__()
        bar = ThinProgress()
        bar.setFixedWidth(36)
        self._label = label("Thinking…", "caption")
        row(bar, (self._label, 1), margins=(2, 0, 2, 0), parent=self)

    @property
    def text(self) -> str:
        """The text beside the bar; "" while it is hidden."""
        return "" if self.isHidden() else self._label.text()

    def say(self, text: str) -> None:
        """Show the bar with `text`; hide the bar if `text` is empty."""
        self.setVisible(bool(text))
        self._label.setText(text)


class RunStatus:
    """The activity bar at the end of a run in progress, with at most one grey line above it."""

    def __init__(self, insert: Callable[[QWidget], object], *, live: bool) -> None:
        self.line: NoteLine | None = None
        self.bar = ActivityBar() if live else None
        self._insert = insert
        self._live = live
        self.stopping = ""  # the text from the moment the user pressed stop

    def say(self, text: str) -> None:
        """Show the bar with `text`, or `stopping` if that is set; hide the bar if both are ""."""
        if self.bar is not None:
            self.bar.say(self.stopping or text)

    def note(self, event: ModelRetry | Noted) -> None:
        """Show a notice or a retry; a temporary line is replaced, any other line stays above it."""
        line = self.line
        if isinstance(event, ModelRetry):
            if isinstance(line, RetryLine):
                line.show_retry(event)
            elif self._live:
                self._put(RetryLine(event))
                self.say("")  # the countdown moves by itself
        elif event.text.strip():
            if line is None or isinstance(line, RetryLine) or not line.passing:
                line = NoteLine()
                self._put(line)
            line.say(event)
            self.say("Waiting…" if event.passing else "Thinking…")

    def clear_line(self, event: RunEvent) -> None:
        """Remove a temporary line if `event` makes it outdated; other lines stay in place."""
        if self.line is None or isinstance(event, (Usage, ToolProgress, Noted)):
            return
        if not (isinstance(event, ModelRetry) and self.line.passing):
            self._drop()

    def end(self) -> None:
        """Remove the bar and a temporary line, because the run has ended."""
        self._drop()
        if self.bar is not None:
            _remove(self.bar)
            self.bar = None

    def _put(self, line: NoteLine) -> None:
        self._drop()
        self.line = line
        self._insert(line)

    def _drop(self) -> None:
        if self.line is not None and self.line.passing:
            _remove(self.line)
        self.line = None


def _remove(widget: QWidget) -> None:
    """Take a widget out of its layout at once; Qt deletes it later."""
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()


CONTINUE = "Go on."
# Calls of the loop that the checklist shows; the second stands in earlier conversations only.
_PLAN_TOOLS = ("update_plan", "check_answer")


class RunView(QWidget):
    """Shows one run: the question, its cards and its answer, in order of arrival.

    `past` is the recorded run to show, at index `place` of its thread; None for a new run.
    """

    def __init__(
        self, question: str, actions: ChatServices, past: PastRun | None = None, place: int = -1
    ) -> None:
        super().__init__()
        self.question = question
        self.run_id = past.run_id if past is not None else ""
        self.ended = ""  # kind of the terminal event
        self.past = past
        self.place = place
        self.cards: dict[str, ToolCard] = {}
        self.approvals: dict[str, RequestCard] = {}
        self._without_card: set[str] = set()  # calls that the plan shows instead
        self.plan: PlanView | None = None
        self.notice: Notice | None = None  # how it ended, unless its answer says so
        self.missing: Notice | None = None  # names models that several calls lacked
        self._actions = actions
        self._live = live = past is None
        self._model = ""
        self._usage = ""
        self._ask_again = lambda: actions.ask_again(question)
        self.bubble = UserBubble(question, self._ask_again, lambda: actions.branch(self))
        self._layout = column(self.bubble, spacing=10, margins=(0, 0, 0, SPACE.s), parent=self)
        self._consent_denied = False
        self._cited: Sequence[int] = ()  # numbers that the answer cites
        self._stream = AnswerStream(
            self._insert, actions.links, self._results, actions.show_result, live=live
        )
        self.answers = self._stream.answers
        self.thoughts = self._stream.thoughts
        self._status = RunStatus(self._insert, live=live)
        if self._status.bar is not None:
            self._layout.addWidget(self._status.bar)

    @property
    def note(self) -> NoteLine | None:
        """The notice or retry line currently shown; None if there is none."""
        return self._status.line

    @property
    def running(self) -> bool:
        """Whether the run is still in progress."""
        return self._live and not self.ended

    @property
    def open_answer(self) -> QWidget | None:
        """The answer streamed last, to which the conversation scrolls; None if there is none."""
        return self._stream.open

    @property
    def state_text(self) -> str:
        """The text beside the activity bar; "" while there is no bar."""
        return self._status.bar.text if self._status.bar is not None else ""

    def tick(self) -> None:
        """Update elapsed times and activity bars."""
        if self.note is not None:
            self.note.tick()
        self._stream.tick()
        for card in self.cards.values():
            if card.running:
                card.tick()

    def stopping(self, how: str) -> None:
        """Show that the run is being stopped: `how` is "now" or "after_tool"."""
        if not self.running:
            return
        running = [card for card in self.cards.values() if card.running]
        after = "Stopping after this tool…" if len(running) < 2 else "Stopping after these tools…"
        for card in running if how == "now" else ():
            card.stopping()
        self._status.stopping = "Stopping…" if how == "now" else after
        self._status.say("")

    def handle(self, event: RunEvent) -> None:
        """Show an event of the run."""
        if isinstance(event, DataSent):
            return  # the status bar shows it
        if isinstance(event, ModelRetry):
            self._stream.withdraw()
        if not isinstance(event, (TextDelta, ReasoningDelta)):
            self._stream.mark()
        self._status.clear_line(event)
        match event:
            case RunStarted():
                self.run_id, self._model = event.run_id, event.model
            case TextDelta():
                if self._stream.write(event.text):
                    self._status.say("")
            case ReasoningDelta():
                self._stream.think(event.text)
                self._status.say("")
            case ModelRetry() | Noted():
                self._status.note(event)
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
                self._usage = run_wording.usage(event)
            case RunFinished() | RunFailed() | RunCancelled():
                self._end(event)

    # -- the model

    def _insert(self, widget: QWidget, before: QWidget | None = None) -> None:
        """Insert a widget before another one, or at the end, above the moving bar."""
        before = before if before is not None else self._status.bar
        at = self._layout.count() if before is None else self._layout.indexOf(before)
        self._layout.insertWidget(at, widget)

    def _results(self) -> dict[int, str]:
        """Return the results that the answer may cite, including cited ones of earlier runs."""
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
            self.plan = PlanView(self._actions.texts)
            # Above the cards, even if the plan comes after the first call.
            self._layout.insertWidget(self._layout.indexOf(self.bubble) + 1, self.plan)
        self.plan.show_plan(event)

    def _start(self, event: ToolStarted) -> None:
        if event.call_id in self.cards:
            return
        self._stream.close()
        if event.own and event.tool in _PLAN_TOOLS:
            self._without_card.add(event.call_id)
            return
        card = ToolCard(event, self._actions, live=self._live)
        self.cards[event.call_id] = card
        self._insert(card)
        self._status.say("")  # the card itself moves

    def _finish(self, event: ToolFinished) -> None:
        card = self.cards.get(event.call_id)
        if event.call_id in self._without_card:
            return
        if card is None:
            head = event.model_dump(include={"run_id", "seq", "time", "call_id", "tool"})
            self._start(ToolStarted(**head, arguments={}))
            card = self.cards[event.call_id]
        if not card.running:
            return
        card.finish(event)
        self._stream.add_findings(event.findings)
        self._say_thinking()

    def _say_thinking(self) -> None:
        if not any(card.running for card in self.cards.values()):
            self._status.say("Thinking…")

    def _request(self, event: ApprovalRequested) -> None:
        self._stream.close()
        card = self._card_of(event)
        self.approvals[event.approval_id] = card
        self._insert(card)
        card.appear()
        if event.call_id in self.cards:
            self.cards[event.call_id].waiting(True)
        self._status.say("")

    def _card_of(self, event: ApprovalRequested) -> RequestCard:
        answer, live, texts = self._actions.answer, self._live, self._actions.texts
        if event.about == "tool":
            return ApprovalCard(event, answer, texts, live=live)
        if event.about == "override":
            return OverrideCard(event, answer, texts, live=live)
        return ConsentCard(event, answer, self._actions.background, live=live)

    def _resolve(self, event: ApprovalResolved) -> None:
        request = self.approvals.get(event.approval_id)
        if request is not None:
            request.resolve(event.granted, event.reason, event.scope)
            # A run that ends because the user denied consent is no error.
            denied = isinstance(request, ConsentCard) and not event.granted
            self._consent_denied = denied and not self.cards
            if request.call_id in self.cards:
                self.cards[request.call_id].waiting(False)
            self._say_thinking()

    # -- the end

    def _end(self, event: RunFinished | RunFailed | RunCancelled) -> None:
        if self.ended:
            return
        self.ended = event.kind
        self._status.end()
        for request in self.approvals.values():
            request.expire()
        if self.plan is not None:
            self.plan.fold(True)
        if isinstance(event, RunFinished):
            self._cited = event.cited
            if event.by_rules or self._model == "offline":
                for card in self.cards.values():
                    if card.evidence in event.cited:
                        card.fold(event.answer)
            self._model = run_wording.BY_RULES if event.by_rules else self._model
            self._stream.complete(event.answer, event.unknown)
        self._sign()
        if isinstance(event, RunFinished):
            self._add_missing(event.missing, "Tools > Models" in event.answer)
        else:
            self._add_missing((), False)
        self.notice = self._ending(event)
        if self.notice is not None:
            self._insert(self.notice)
        for thought in self.thoughts:
            thought.finish()

    def _add_missing(self, named: Sequence[str], said: bool) -> None:
        """Name once, in one line, the models that several calls lacked or that the answer names.

        If the answer has `said` which, only the button to them is added.
        """
        cards = [card for card in self.cards.values() if card.missing]
        if len(cards) < 2 and not named:
            return  # the single card says it
        models = [*(name for card in cards for name in card.missing), *named]
        open_models = self._actions.open_models
        if said:
            button = link_button("Models…", "cpu", lambda: open_models(models[0]))
            button.setAccessibleName("Open the models")
            self._insert(button)
            return
        self.missing = Notice(missing_models.summary(models), tone="muted")
        self.missing.add_action("Models…", "cpu", lambda: open_models(models[0]))
        self._insert(self.missing)

    def _ending(self, event: RunFinished | RunFailed | RunCancelled) -> Notice | None:
        """Return a notice on how the run ended, unless its answer says that."""
        if isinstance(event, RunFinished):
            return self._stopped(event.stopped_by) if event.stopped_by else None
        if self.past is not None and self.past.state == "interrupted":
            text = "Sightline was closed before this was finished."
            notice = Notice(text, "What was found until then is kept.", tone="warning")
        elif isinstance(event, RunFailed):
            tone = "muted" if self._consent_denied else "error"
            notice = Notice(event.error, event.remedy, tone=tone)
        else:
            notice = Notice("Stopped")
        notice.add_action("Ask again", "rotate-ccw", self._ask_again)
        return notice

    def _stopped(self, stopped_by: str) -> Notice:
        limit = run_wording.limit(stopped_by)
        notice = Notice(limit.text, limit.advice, tone="warning")
        notice.add_action("Continue", "play", lambda: self._actions.ask_again(CONTINUE))
        if limit.in_settings:
            notice.add_action("Limits…", "", self._actions.open_limits)
        return notice

    def _sign(self) -> None:
        model = run_wording.model_title(self._model) if self._model else "Assistant"
        if self._stream.open is not None:
            self._stream.open.sign(model, self._usage)
        elif self._usage:
            self._insert(ElidedText(f"{model} · {self._usage}", "faint"))
