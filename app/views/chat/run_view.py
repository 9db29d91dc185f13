"""One question with its answer and the cards of its tool calls, made from the events of a run."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.agent.answers.german import german_names
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
from app.views.chat.disagreement import DisagreementCard
from app.views.chat.markdown import CitedResult, plain_text
from app.views.chat.message import Notice, UserBubble, copy_text
from app.views.chat.plan_view import PlanView
from app.views.chat.tool_card import ChatServices, ToolCard
from app.views.chat.widgets import ElidedText, ThinProgress, link_button
from app.views.icons import icon
from app.views.layouts import column, icon_row, row
from app.views.plain_text import one_line
from app.views.theme import SPACE, THEME
from app.views.translation import tr, tr_report
from app.views.widgets import IconLabel, label, tool_button
from app.views.wording import sentence

_CHARS = 400
_ITEM = re.compile(r"(?<=[\[ ])(\d{1,3})\.(\d{1,3})(?=[,\]])")  # cited, "[3.2]" or "[3.1, 3.2]"


class NoteLine(QWidget):
    """A line of grey text with an icon that stays in the conversation, unlike an activity bar."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = one_line(text, _CHARS)
        self.setAccessibleName(self.text)
        words = label(self.text, "caption", wrap=True)
        line = icon_row(IconLabel("info", 14, THEME.text_faint), words, 8)
        column(line, margins=(2, 0, 2, 0), parent=self)


class ActivityBar(QWidget):
    """A moving bar with a text beside it, shown while a run has nothing new to show."""

    def __init__(self, *, live: bool) -> None:
        super().__init__()
        self._live = live
        if not live:
            self.hide()  # shown without a parent it would be a window for a moment
        bar = ThinProgress()
        bar.setFixedWidth(36)
        self._label = label(tr("Thinking…"), "caption", wrap=True)
        row(bar, (self._label, 1), margins=(2, 0, 2, 0), parent=self)
        self.stopping = ""  # the text from the moment the user pressed stop
        self.passing = False  # whether the text is of this moment only
        self._retry: tuple[str, str, float] | None = None

    @property
    def text(self) -> str:
        """The text beside the bar; "" while it is hidden."""
        return "" if self.isHidden() else self._label.text()

    def say(self, text: str, *, passing: bool = False) -> None:
        """Show `text`, or `stopping`; a `passing` one until the next event; "" hides the bar."""
        self._retry, self.passing = None, passing
        self._show(self.stopping or text)

    def count_down(self, event: ModelRetry) -> None:
        """Count down to the next request to an endpoint, and say why the last one failed."""
        reason = sentence(event.reason)[:_CHARS].rstrip(".:; ") or tr("The endpoint failed")
        count = tr("({attempt} of {attempts})").format(
            attempt=event.attempt, attempts=event.attempts
        )
        self._retry = reason, count, time.monotonic() + max(0.0, event.wait_s)
        self.passing = True
        self.tick()

    def tick(self) -> None:
        if self._retry is not None:
            reason, count, until = self._retry
            left = math.ceil(until - time.monotonic())
            when = (
                tr("asking again in {left} s").format(left=left)
                if left > 0
                else tr("asking again now")
            )
            self._show(self.stopping or f"{reason}: {when} {count}")

    def _show(self, text: str) -> None:
        self.setVisible(self._live and bool(text))
        self._label.setText(text)


class AnswerMenu(QToolButton):
    """The button below an answer with the menu of what can be done with it."""

    def __init__(self, text: Callable[[], str], pin: Callable[[bool], object]) -> None:
        super().__init__()
        self._text = text
        self._pin = pin
        self.pinned = False
        self.setAutoRaise(True)
        self.setIconSize(QSize(14, 14))
        self.setAccessibleName(tr("What can be done with this answer"))
        self.setToolTip(tr("What can be done with this answer"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.clicked.connect(self._open)
        self.setIcon(icon("ellipsis"))

    def set_pinned(self, pinned: bool) -> None:
        if pinned == self.pinned:
            return  # each of forty runs is told after every question
        self.pinned = pinned
        self.setIcon(icon("pin", THEME.accent) if pinned else icon("ellipsis"))
        self.setAccessibleDescription(tr("pinned") if pinned else "")

    def _open(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        plain, marked = tr("Copy as plain text"), tr("Copy as Markdown")
        menu.addAction(icon("copy"), plain, lambda: copy_text(plain_text(self._text())))
        menu.addAction(icon("copy"), marked, lambda: copy_text(self._text()))
        pin = menu.addAction(tr("Pin this answer"))
        pin.setCheckable(True)
        pin.setChecked(self.pinned)
        pin.triggered.connect(self._pin_it)
        menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    def _pin_it(self, pinned: bool) -> None:
        self.set_pinned(pinned)
        self._pin(pinned)


# Calls of the loop that the checklist shows; the second stands in earlier conversations only.
_PLAN_TOOLS = ("update_plan", "check_answer")


class RunView(QWidget):
    """Shows a run: question, cards, answer; `past` is a recorded one at `place`, or None."""

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
        self.disagreements: list[DisagreementCard] = []
        self.missing: Notice | None = None  # names models that several calls lacked
        self._actions = actions
        self._live = live = past is None
        self._model = ""
        self._usage = ""
        self._ask_again = lambda: actions.ask_again(question)
        self.bubble = UserBubble(
            question,
            self._ask_again,
            lambda: actions.branch(self),
            lambda text: actions.edit(self, text),
            lambda step: actions.step(self, step),
        )
        self.more: AnswerMenu | None = None  # below the answer, once it has ended
        self._layout = column(self.bubble, spacing=10, margins=(0, 0, 0, SPACE.s), parent=self)
        self._consent_denied = False
        self._cited: Sequence[int] = ()  # numbers that the answer cites
        self._stream = AnswerStream(
            self._insert,
            actions.links,
            self._results,
            actions.follow,
            actions.point_at,
            live=live,
        )
        self.answers = self._stream.answers
        self.thoughts = self._stream.thoughts
        self.activity = ActivityBar(live=live)
        self._layout.addWidget(self.activity)
        self._sent = False  # whether anything left this computer
        if past is not None:
            actions.dress(self)

    @property
    def running(self) -> bool:
        return self._live and not self.ended

    @property
    def open_answer(self) -> QWidget | None:
        """The answer streamed last, to which the conversation scrolls; None if there is none."""
        return self._stream.open

    def tick(self) -> None:
        self.activity.tick()
        self._stream.tick()
        for card in self.cards.values():
            if card.running:
                card.tick()

    def stopping(self, how: str) -> None:
        if not self.running:
            return
        running = [card for card in self.cards.values() if card.running]
        after = (
            tr("Stopping after this tool…")
            if len(running) < 2
            else tr("Stopping after these tools…")
        )
        for card in running if how == "now" else ():
            card.stopping()
        self.activity.stopping = tr("Stopping…") if how == "now" else after
        self.activity.say("")

    def handle(self, event: RunEvent) -> None:
        if isinstance(event, DataSent):
            self._sent = True
            return  # the status bar shows it
        if isinstance(event, ModelRetry):
            self._stream.withdraw()
        if not isinstance(event, (TextDelta, ReasoningDelta)):
            self._stream.mark()
        if self.activity.passing and not isinstance(event, (Usage, ToolProgress, Noted)):
            self.activity.say(tr("Thinking…"))
        match event:
            case RunStarted():
                self.run_id, self._model = event.run_id, event.model
                if self._live:
                    self._actions.dress(self)
            case TextDelta():
                if self._stream.write(event.text):
                    self.activity.say("")
            case ReasoningDelta():
                self._stream.think(event.text)
                self.activity.say("")
            case ModelRetry():
                self.activity.count_down(event)
            case Noted():
                self._note(event)
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
                self._usage = run_wording.usage(event, local=not self._sent)
            case RunFinished() | RunFailed() | RunCancelled():
                self._end(event)

    # -- the model

    def _insert(self, widget: QWidget, before: QWidget | None = None) -> None:
        self._layout.insertWidget(self._layout.indexOf(before or self.activity), widget)

    def _note(self, event: Noted) -> None:
        if not event.text.strip():
            return
        if not event.passing:
            self._insert(NoteLine(event.text))
        text = one_line(event.text, _CHARS) if event.passing else tr("Thinking…")
        self.activity.say(text, passing=event.passing)

    def _results(self) -> dict[int, CitedResult]:
        found = {card.evidence: card.cited for card in self.cards.values() if card.evidence}
        for number in self._cited:
            if number not in found:
                card = self._actions.result(number)
                earlier = tr("Result {number}, from earlier").format(number=number)
                found[number] = card.cited if card else CitedResult(earlier, shown=False)
        return found

    # -- tools

    def _show_plan(self, event: PlanUpdated) -> None:
        if self.plan is None and not (event.steps or event.overrides or event.goal_why):
            return
        if self.plan is None:
            edit = self._actions.edit_plan if self._live else None
            self.plan = PlanView(self._actions.texts, edit)
            self.plan.edit.clicked.connect(self._say_thinking)
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
        self.activity.say("")  # the card itself moves

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
            held = self.plan is not None and self.plan.editing
            self.activity.say(tr("The plan waits for you.") if held else tr("Thinking…"))

    def _request(self, event: ApprovalRequested) -> None:
        self._stream.close()
        card = self._card_of(event)
        self.approvals[event.approval_id] = card
        self._insert(card)
        card.appear()
        if event.call_id in self.cards:
            self.cards[event.call_id].waiting(True)
        self.activity.say("")

    def _card_of(self, event: ApprovalRequested) -> RequestCard:
        answer, live, texts = self._actions.answer, self._live, self._actions.texts
        if event.about in ("tool", "plan"):
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
        self.activity.hide()
        for request in self.approvals.values():
            request.expire()
        if self.plan is not None:
            self.plan.end_editing()
            self.plan.fold(True)
        if isinstance(event, RunFinished):
            self._cited = event.cited
            if event.by_rules or self._model == "offline":
                for card in self.cards.values():
                    if card.evidence in event.cited:
                        card.fold(event.answer)
            self._model = tr(run_wording.BY_RULES) if event.by_rules else self._model
            self._stream.complete(event.answer, event.unknown)
        if isinstance(event, RunFinished):
            self._add_crops(event)
            for found in event.disagreements:
                self.disagreements.append(
                    DisagreementCard(found, self._actions, self.card_of_result)
                )
                self._insert(self.disagreements[-1])
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

    def _add_crops(self, event: RunFinished) -> None:
        """Show where findings of cited results lie that the answer names or cites, in its order."""
        cards = (self.card_of_result(number) for number in event.cited)
        findings = [one for card in cards if card is not None for one in card.findings]
        text = event.answer.casefold()
        german = german_names([one.label for one in findings])
        places: dict[str, int] = {}
        for one in findings:
            names = filter(None, (one.label, german.get(one.label)))
            places[one.id] = max(text.find(name.casefold()) for name in names) if one.label else -1
        for found in _ITEM.finditer(event.answer):  # the first items of a result are its findings
            card = self.card_of_result(int(found[1]))
            if card is not None and 0 < int(found[2]) <= len(card.findings):
                cited = card.findings[int(found[2]) - 1].id
                if places.get(cited, 0) < 0:
                    places[cited] = found.start()
        named = [one for one in findings if places[one.id] >= 0]
        crops = self._actions.crops(sorted(named, key=lambda one: places[one.id]))
        if crops is not None and self._stream.open is not None:
            self._stream.open.add(crops)

    def card_of_result(self, number: int) -> ToolCard | None:
        """Return the card of a result that the run cites, of this or an earlier run."""
        own = (card for card in self.cards.values() if card.evidence == number)
        return next(own, None) or self._actions.result(number)

    def _add_missing(self, named: Sequence[str], said: bool) -> None:
        """Name models that calls lacked once, in one line; if `said`, only their button."""
        cards = [card for card in self.cards.values() if card.missing]
        if len(cards) < 2 and not named:
            return  # the single card says it
        models = [*(name for card in cards for name in card.missing), *named]
        open_models = self._actions.open_models
        if said:
            button = link_button(tr("Models…"), "cpu", lambda: open_models(models[0]))
            button.setAccessibleName(tr("Open the models"))
            self._insert(button)
            return
        self.missing = Notice(missing_models.summary(models), tone="muted")
        self.missing.add_action(tr("Models…"), "cpu", lambda: open_models(models[0]))
        self._insert(self.missing)

    def _ending(self, event: RunFinished | RunFailed | RunCancelled) -> Notice | None:
        """Return a notice on how the run ended, unless its answer says that."""
        if isinstance(event, RunFinished):
            return self._stopped(event.stopped_by) if event.stopped_by else None
        if self.past is not None and self.past.state == "interrupted":
            text = tr("Sightline was closed before this was finished.")
            notice = Notice(text, tr("What was found until then is kept."), tone="warning")
        elif isinstance(event, RunFailed):
            tone = "muted" if self._consent_denied else "error"
            notice = Notice(tr_report(event.error), tr_report(event.remedy), tone=tone)
        else:
            notice = Notice(tr("Stopped"))
        notice.add_action(tr("Ask again"), "rotate-ccw", self._ask_again)
        return notice

    def _stopped(self, stopped_by: str) -> Notice:
        text, advice, in_settings = run_wording.limit(stopped_by)
        notice = Notice(text, advice, tone="warning")
        notice.add_action(tr("Continue"), "play", self._go_on)
        if in_settings:
            notice.add_action(tr("Limits…"), "", self._actions.open_limits)
        return notice

    def _go_on(self) -> None:
        self._actions.ask_again(tr("Go on with this answer."))

    def _sign(self) -> None:
        model = run_wording.model_title(self._model) if self._model else tr("Assistant")
        answer = self._stream.open
        if answer is not None:
            again = tool_button(
                "rotate-ccw",
                tr("Answer again; this answer stays as an earlier version"),
                lambda: self._actions.edit(self, self.question),
                14,
            )
            again.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.more = AnswerMenu(
                lambda: answer.text, lambda pinned: self._actions.pin(self, pinned)
            )
            answer.sign(model, self._usage, again, self.more)
            self._actions.dress(self)
        elif self._usage:
            self._insert(ElidedText(f"{model} · {self._usage}", "faint"))
