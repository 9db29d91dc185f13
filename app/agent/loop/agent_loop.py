"""The agent loop: `process` asks the model, `execute` runs its tool calls, until there are none.

    question -> interpret -> process -> execute -> process -> ... -> answer

A run keeps these promises. Every event is on disk before anybody sees it, except streamed text,
which follows. Exactly one terminal event ends the run. The transcript is valid wherever the run
ends. At a limit, the run ends with what was found so far. `process` is in the module `model_turn`,
`execute` in `tool_calls`; `offline_model` answers without a language model.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app import __version__
from app.agent.answers.answer_footer import answer_footer, told_disagreements
from app.agent.answers.claims import Claims, StreamedMarks
from app.agent.answers.evidence import MARK, Evidence, texts_beside_calls
from app.agent.answers.german import in_german
from app.agent.answers.result_summaries import summarise
from app.agent.context.context_window import ContextWindow
from app.agent.context.model_messages import (
    NOTES,
    image_notes_text,
    memory_text,
    planning_text,
)
from app.agent.context.read_result_tool import ReadResult
from app.agent.enforcement.director import Director
from app.agent.enforcement.plan_checklist import PlanState
from app.agent.enforcement.update_plan_tool import UpdatePlan
from app.agent.events import TERMINAL, Noted, RunEvent, RunFinished, RunStarted, TextDelta
from app.agent.image_reference import with_image_names
from app.agent.llm.base import LanguageModel, ModelFailed, ModelInfo, Plan, ToolSchema, model_info
from app.agent.loop.audit_trail import AuditTrail
from app.agent.loop.available_tools import (
    AvailableTools,
    OfferedTools,
    may_need,
    missing_needs,
    related_tools,
    that_fit,
    without_record,
)
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Meter, Stop, WallClock
from app.agent.loop.model_turn import CANCEL_GRACE_S, ModelTurns, Reply
from app.agent.loop.offline_model import OfflineModel, RuleAnswers, reason
from app.agent.loop.retry import Retry
from app.agent.loop.tool_calls import NOT_RUN, ToolCalls
from app.agent.loop.tool_execution import Tools, log_unexpected
from app.agent.loop.tool_model import ToolModelOf
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, ToolCall
from app.agent.planning import Intent, Planner, ToolPlan, typed_value
from app.agent.policy import Grants, Policy
from app.agent.policy.approvals import Gate
from app.agent.privacy.consents import Consents
from app.agent.privacy.record_content import WatchedRecords
from app.agent.privacy.send_consent import SendConsent
from app.agent.profiles import AgentProfile
from app.agent.repeated_calls import NAME as REPEATED
from app.agent.request import Approve, Limits, PlanEdit, RunRequest
from app.errors import Cancelled, SightlineError, unexpected
from app.tools.api import CancelToken, Tool
from app.tools.memory import ABOUT as ABOUT_NOTES
from app.tools.pack_plan import NO_PLANS, Plans

_LONGEST_PROMPT = 4_000  # characters of a pack's own instructions

__all__ = ["AgentLoop", "Approve", "Limits", "RunRequest"]


class AgentLoop:
    """Answers questions with a language model and tools.

    Args:
        tools: The packs' tools, which the model may call.
        consents: The user's consents to remote models; shared by all loops of the program.
        approvals: Decides which calls may run; shared by all loops of the program.
        retry: Decides when a failed request to the model is repeated.
        plans: The packs' rules, which are enforced whether or not a language model plans.
        rules_first: Whether to answer without the model where the packs' rules are certain.
        plan_first: Whether a plan of several steps, made for a question in the window, is held
            until the user lets it go on.
        audit: Writes the events of every run to the audit log, each before it is shown.
        tool_texts: The user's own texts, added to the descriptions of tools, by the tool's name.
        clean_notes: Whether a remote model gets the free text of patients' records, cleaned;
            otherwise that is held back.
        profile: How many turns there are, and which tools end the run; None for the usual way.
        tool_model: The model that tools ask; None for `model`.
        memory: Returns the user's notes as a language model is told them.
    """

    def __init__(
        self,
        model: LanguageModel,
        tools: Tools,
        *,
        system: str = "",
        limits: Limits | None = None,
        consents: Consents | None = None,
        approvals: Gate | None = None,
        retry: Retry | None = None,
        plans: Plans = NO_PLANS,
        rules_first: bool = False,
        plan_first: bool = False,
        audit: AuditTrail | None = None,
        tool_texts: Mapping[str, str] | None = None,
        clean_notes: bool = False,
        profile: AgentProfile | None = None,
        tool_model: LanguageModel | None = None,
        memory: Callable[[], str] = str,
    ) -> None:
        self.profile = profile
        self.tool_model = tool_model
        self.model = model
        self.tools = tools
        self.system = system
        self.limits = limits or Limits()
        self.consents = consents or Consents()
        self.approvals = approvals or Gate(Policy.standard(), Grants())
        self.retry = retry or Retry()
        self.plans = plans
        self.planner = Planner(plans)
        self.rules_first = rules_first
        self.plan_first = plan_first
        self.audit = audit
        self.tool_texts = dict(tool_texts or {})
        self.clean_notes = clean_notes
        self.memory = memory
        self.told: set[tuple[str, str]] = set()
        """The conversations that were told something that is told once, and what that is about."""
        self._window = ContextWindow(model_info(model))

    @property
    def window(self) -> ContextWindow:
        """Return the object that fits requests into the current model's context.

        It is replaced only if the model changes, because it learns how the model counts tokens.
        """
        info = model_info(self.model)
        if self._window.info != info:
            self._window = ContextWindow(info)
        return self._window

    async def run(self, request: RunRequest) -> AsyncIterator[RunEvent]:
        """Answer one question, and yield the run's events.

        The last event is always the only terminal one: run_finished, run_failed or run_cancelled.
        """
        emitter = Emitter(
            request.run_id,
            self._recorder(request),
            lambda text: with_image_names(text, request.image_notes),
        )
        run = _Run(self, request, emitter)
        task = asyncio.create_task(run.drive())
        loop = asyncio.get_running_loop()
        request.cancel.on_cancel(lambda: _soon(loop, task.cancel))
        request.stop_after_tool.on_cancel(lambda: _soon(loop, run.stop_after_tool, task))
        try:
            while True:
                event = await emitter.next()
                yield event
                emitter.taken()
                if event.kind in TERMINAL:
                    break
        finally:
            if not emitter.closed:
                # The consumer left early: nothing goes on behind its back.
                request.cancel.cancel()
            await asyncio.wait({task}, timeout=2 * CANCEL_GRACE_S)

    def _recorder(self, request: RunRequest) -> Callable[[RunEvent], str | None]:
        """Return the function that writes each event to the session's file and the audit log."""
        thread = request.thread
        if self.audit is None:
            return thread.record
        tell = self.audit.of(request)

        def record(event: RunEvent) -> str:
            thread.record(event)
            return tell(event)

        return record


def _soon(loop: asyncio.AbstractEventLoop, work: Any, *arguments: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: the run ended long ago
        loop.call_soon_threadsafe(work, *arguments)


class _Run:
    """One run: its parts, and the way from the question to the terminal event."""

    def __init__(self, agent: AgentLoop, request: RunRequest, emitter: Emitter) -> None:
        self.agent = agent
        self.request = request
        self.emitter = emitter
        window = agent.window
        self.plan = PlanState(live=bool(agent.plans))
        self.director = Director(agent.plans, request, agent.tools, self.plan)
        self.director.by_rules = window.info.rules
        self.ruled = False
        self.free = asyncio.Event()  # cleared while the user edits the plan
        self.free.set()
        request.edits.take = self._edit_plan
        self.turns = 0
        self.said_by_tool = False
        self.plain = agent.profile is not None and agent.profile.max_turns > 0
        self.written = ""  # the answer, as far as the model wrote it
        self.meter = Meter(agent.limits, window.info)
        self.clock = WallClock(agent.limits.wall_s)
        self.transcript = Transcript(request.thread)
        self.own: tuple[Tool, ...] = ()
        if window.info.own_tools and not self.plain:
            self.own = (
                UpdatePlan(self.plan, self.director.check_plan),
                ReadResult(request.thread, window.page_chars),
            )
        self.calls = ToolCalls(
            request=request,
            tools=OfferedTools(agent.tools, self.own),
            approvals=agent.approvals,
            emitter=emitter,
            transcript=self.transcript,
            plan=self.plan,
            meter=self.meter,
            clock=self.clock,
            director=self.director,
            evidence=Evidence(request.thread.history),
        )
        self.rules = RuleAnswers(
            director=self.director,
            work=self._work,
            ask=self._ask_together,
            announce=self._set_plan,
            ready=self._while_held,
            order=self.plan.order,
            alone=self._runs_alone,
            emitter=emitter,
            transcript=self.transcript,
        )
        self.asking = SendConsent(
            request=request,
            model=agent.model,
            eyes=window.info.images,
            consents=agent.consents,
            emitter=emitter,
            clock=self.clock,
            transcript=self.transcript,
        )
        self.answers = ModelTurns(
            request=request,
            model=agent.model,
            window=window,
            retry=agent.retry,
            emitter=emitter,
            meter=self.meter,
            set_plan=self._set_plan,
            consents=agent.consents,
            asking=self.asking,
            clean_notes=agent.clean_notes,
        )
        self.calls.model_for = self._model_for
        if not (window.info.rules or self.plain):
            self.answers.marks = self._streamed_marks

    def _model_for(self, token: CancelToken, records: WatchedRecords) -> ToolModelOf | None:
        if self.answers.window.info.rules:
            return None
        loop, other = asyncio.get_running_loop(), self.agent.tool_model
        if other is None:
            return ToolModelOf(self.answers, self.asking, token, loop, records)
        window = ContextWindow(model_info(other))
        asking = replace(self.asking, model=other, eyes=window.info.images)
        turns = replace(self.answers, model=other, window=window, asking=asking)
        return ToolModelOf(turns, asking, token, loop, records)

    async def drive(self) -> None:
        """Run to the terminal event. Never raises an ordinary exception."""
        try:
            answer, stop = await self._within_time()
            if self.said_by_tool or (self.plain and stop is None):
                self._end_plan(ok=True)
                self.emitter.emit(RunFinished, answer=answer)
                return
            said = [*self.answers.refused, *texts_beside_calls(self.request.thread.history)]
            marked, early = self._marked(answer, said)
            uncited = self.director.by_rules and not self.calls.evidence.cites(answer)
            self.director.finish(
                stop.text if stop else "", doubted=marked != answer, uncited=uncited
            )
            checked = self.calls.evidence.check(
                marked,
                said,
                lambda cited: (
                    early
                    + answer_footer(self.director, self.request, self.agent.plans, cited, marked)
                ),
            )
            closing = self._localised(checked.closing)
            if closing:
                self.emitter.emit(TextDelta, text=closing)
            self._end_plan(ok=stop is None)
            self.emitter.emit(
                RunFinished,
                answer=checked.text + closing,
                stopped_by=stop.by if stop else "",
                cited=list(checked.cited),
                unknown=list(checked.unknown),
                by_rules=self.ruled,
                missing=self._missing_models(),
                disagreements=told_disagreements(
                    self.director, self.request, self.agent.plans, checked.cited
                ),
            )
        except (asyncio.CancelledError, Cancelled):
            self._cut()
            self.emitter.cancel()
        except SightlineError as error:
            self._cut()
            reason = f"{error.subject}: {error.reason}" if error.subject else error.reason
            self.emitter.fail(reason, error.remedy)
        except Exception as error:
            log_unexpected("A run failed", error)
            self._cut()
            told = unexpected(error)
            self.emitter.fail(f"{told.reason}.", told.remedy)

    def _localised(self, text: str) -> str:
        """Return what the program adds to an answer in the language of the question."""
        return in_german(text) if self.director.asked_in_german else text

    def _marked(self, answer: str, said: Sequence[str]) -> tuple[str, str]:
        """Mark what no result supports in the answer and in `said`; only the model's own words."""
        if self.director.by_rules:
            return answer, ""
        claims = Claims(self.director, self.request.thread.history, self.agent.plans)
        lines = dict.fromkeys(line for text in said for line in claims.marked(text).splitlines())
        early = [f"\n- {line.strip().removeprefix('- ')}" for line in lines if MARK.search(line)]
        own = claims.answer(self.written) if self.written else ""
        listed = self.answers.claims if self.written else ()
        wrong = claims.wrong_claims(listed, own, self.calls.evidence.marked)
        early += [f"\n- {line}" for line in wrong]
        head = "\n\n**No result supports:**" if early else ""
        return own + answer[len(self.written) :], head + "".join(early)

    def _streamed_marks(self) -> StreamedMarks | None:
        """Return what marks the answer that begins now, by the results that there are by now."""
        made: list[Claims] = []

        def claims() -> Claims:
            if not made:
                made.append(Claims(self.director, self.request.thread.history, self.agent.plans))
            return made[0]

        return StreamedMarks(
            lambda text: self.calls.evidence.marked(claims().marked(text, goes_on=True)),
            lambda text: bool(text) and claims().may_mark(text),
        )

    def stop_after_tool(self, task: asyncio.Task[None]) -> None:
        """Let the running calls end, then stop; stop at once if none is running."""
        self.calls.stop_after = True
        if not self.calls.running:
            task.cancel()

    async def _within_time(self) -> tuple[str, Stop | None]:
        """Return the answer; at a limit, one that says what was found so far."""
        try:
            async with self.clock.running():
                answer = await self._converse()
        except TimeoutError:
            if not self.clock.over:
                raise
            answer = self.clock.stop()
        if isinstance(answer, Stop):
            return self._closing(f"Stopped: {answer.text}."), answer
        return answer, None

    async def _converse(self) -> str | Stop:
        """Go from the question to the answer, or to a limit."""
        self._start()
        self.request.cancel.check()
        model, schemas = self.agent.model, OfferedTools(self.agent.tools).schemas()
        offline = isinstance(model, OfflineModel)
        planner = model.planner if offline else self.agent.planner
        intent = self.director.begin(planner, schemas, self._lacks)
        self._offer_tools(intent)
        self.answers.refit = lambda: self._offer_tools(intent)
        if offline:
            await self.asking.ask(intent.images)
            answer = await self.rules.answer(certain=False)
            assert answer is not None
            return answer
        if not self.plain and (
            self.rules.own_text or (self.agent.rules_first and self.rules.begin())
        ):
            await self.asking.keep(intent.images, of_view=intent.of_view)
            answer = await self.rules.answer()
            if answer is not None:
                self.ruled = True
                return answer
            self.director.model_sees = await self.asking.go_on()
        else:
            self.director.model_sees = await self.asking.ask(intent.images, of_view=intent.of_view)
        while True:
            await self._while_held()
            try:
                message = await self.answers.process()
            except ModelFailed as error:
                answer = await self._without_model(error)
                if answer is None:
                    raise
                return answer
            if isinstance(message, Stop):
                return message
            calls = message.tool_calls or self.director.before_answer()
            if isinstance(calls, str):
                self.answers.urge(message.text, calls)
                continue
            if not calls and self.director.model_declined_call:
                answer = await self.rules.stand_in(message.text)
                if answer is not None:
                    return answer
            if not calls:
                self.transcript.say(message)
                return self._answer(message.text)
            calls = self._of_profile(calls)
            stop = await self._work(message.text, calls)
            if stop is not None:
                return stop
            if self._ends_after(calls):
                return self._tool_text()

    def _of_profile(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        """Return the calls of a turn that the profile lets run: one, where it limits the turns."""
        profile = self.agent.profile
        if profile is None or not profile.max_turns or len(calls) == 1:
            return calls
        text = f"Only the first of {len(calls)} calls was made: this agent makes one a turn."
        self.emitter.emit(Noted, text=text)
        return calls[:1]

    def _ends_after(self, calls: Sequence[ToolCall]) -> bool:
        """Return whether the profile ends the run after these calls."""
        profile = self.agent.profile
        if profile is None:
            return False
        self.turns += 1
        ended = any(call.name in profile.terminal_tools for call in calls)
        return ended or self.turns == profile.max_turns

    def _tool_text(self) -> str:
        """Return the text of the last result as the answer, which no check of answers changes."""
        told = self.request.thread.history
        data = next(one for one in reversed(told) if one.role == "tool").data
        text = str(data.get("summary") or data.get("error") or "")
        self.said_by_tool = True
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=text))
        return text

    async def _without_model(self, error: ModelFailed) -> str | Stop | None:
        """Return the rules' answer after the model failed; None if rules have no plan to go on."""
        half = self.answers.reply.text
        if half.strip() or self.plain:
            return None  # the user has read it: an answer by others behind it would confuse
        answer = await self.rules.stand_in("", failed=error)
        if answer is not None:
            self.ruled = True
        return answer

    def _missing_models(self) -> list[str]:
        tools = (self.agent.tools.get(name) for name, _ in self.director.unmet())
        needs = [need for tool in tools if tool is not None for need in tool.spec.needs]
        return [need.name for need in needs if need.kind == "weights"]

    def _lacks(self, name: str) -> bool:
        tool = self.agent.tools.get(name)
        return tool is not None and missing_needs(self.request.models_dir)(tool.spec)

    def _offer_tools(self, intent: Intent) -> None:
        agent, info = self.agent, self.answers.window.info
        # The rule planner reads no description, and names what is missing by planning it.
        lacks = (lambda _: False) if info.rules else missing_needs(self.request.models_dir)
        ready = AvailableTools(agent.tools, intent.named, lacks)
        self.calls.tools = OfferedTools(ready, self.own)
        several = len(self.request.image_notes) > 1
        idle = without_record(intent) | (set() if several else {REPEATED})
        if agent.profile is None:
            notes = info.rules or ABOUT_NOTES.search(self.request.question)
            specs = [tool.spec for tool in agent.tools.all()]
            idle |= {one.name for one in specs if one.for_profiles} - set(intent.named)
            idle |= {one.name for one in specs if one.memory and not notes}
        schemas = [s for s in self.calls.tools.schemas() if s.name not in idle]
        # A model on this computer has a small context, since it reads it slowly.
        fast = info.context_tokens >= ModelInfo().context_tokens
        schemas = schemas if info.rules else may_need(intent, schemas, fast=fast)
        texts = agent.tool_texts
        schemas = [
            replace(s, description=f"{s.description} {texts[s.name]}") if s.name in texts else s
            for s in schemas
        ]
        related = related_tools(intent)

        def prompt(offered: Sequence[ToolSchema]) -> str:
            names = {item.name for item in offered}
            parts = [agent.system, *(() if info.rules else self._pack_prompts(names))]
            if self.own:
                parts.append(planning_text(agent.plans, names, related and intent.kinds))
            return ready.told_after("\n\n".join(filter(None, parts)).strip(), related)

        if not info.rules:
            self.answers.memory = agent.memory()
            kept = memory_text(self.answers.memory)
            notes = self.request.image_notes
            asked = f"{intent.question}\n{image_notes_text(notes, NOTES) if notes else ''}"
            window, number = self.answers.window, len(schemas)
            schemas = that_fit(
                intent, schemas, lambda some: window.leaves_room(prompt(some) + kept, some, asked)
            )
            if left_out := number - len(schemas):
                text = f"{left_out} of {number} tools are left out"
                self._tell_once("tools", f"{text}: they do not fit into the model's context.")
            if self.answers.memory:
                count = self.answers.memory.count("\n") + 1
                notes = f"{count} kept notes" if count > 1 else "one kept note"
                text = f"The model is told {notes}: see Settings > Assistant memory."
                self._tell_once("notes", text)
        self.director.offered = frozenset(item.name for item in schemas)
        self.answers.offer(prompt(schemas), schemas)

    def _tell_once(self, about: str, text: str) -> None:
        """Tell the user something once per conversation."""
        told = self.request.thread.thread_id, about
        if told not in self.agent.told:
            self.agent.told.add(told)
            self.emitter.emit(Noted, text=self._localised(text))

    def _pack_prompts(self, offered: Collection[str]) -> list[str]:
        """Return the own instructions of the packs of which the model is offered a tool."""
        tools = map(self.agent.tools.get, offered)
        packs = {tool.spec.pack for tool in tools if tool is not None}
        plans = self.agent.plans.packs
        return [p.prompt[:_LONGEST_PROMPT] for p in plans if p.prompt and p.pack in packs]

    async def _work(self, text: str, calls: Sequence[ToolCall]) -> Stop | None:
        """Make the calls of one message of the model, and those that rules insert.

        Each turn of calls is a message of its own, so that every result follows its call.
        """
        waiting = deque(calls)
        stop: Stop | None = None
        try:
            await self._ask_together(calls)
            while waiting and stop is None:
                await self._while_held()
                turn = self.director.turn(waiting)
                self.transcript.say(Message(role="assistant", text=text, tool_calls=turn))
                text = ""
                stop = self.meter.spent() or await self.calls.execute(turn)
                waiting.extendleft(reversed(self.director.follow_ups()))
        finally:
            if waiting:  # the model asked for them: they get their results, as every call does
                self.transcript.end_calls(f"Not run: {stop.text}." if stop else NOT_RUN)
                rest = Message(role="assistant", text=text, tool_calls=list(waiting))
                self.transcript.say(rest)
        if stop is not None:
            self.transcript.end_calls(f"Not run: {stop.text}.")
        return stop

    async def _ask_together(self, calls: Sequence[ToolCall]) -> None:
        await self.calls.ask_together([c for c in calls if not self.director.bars(c)])

    def _start(self) -> None:
        request, model = self.request, self.agent.model
        images = [str(note.get("id", "")) for note in request.image_notes]
        facts: dict[str, Any] = {
            "model": model.name,
            "host": model.remote_host,
            "version": __version__,
        }
        facts |= {"images": images, "out_dir": str(request.out_dir)}
        request.thread.note_run(request.run_id, facts, request.images)
        self.emitter.emit(
            RunStarted,
            thread_id=request.thread.thread_id,
            question=request.question,
            model=model.name,
            images=images,
        )

    def _answer(self, text: str) -> str:
        if text.strip():
            self.written = text
            return text
        if not self.calls.results:
            raise ModelFailed(
                f"{self.agent.model.name} ended without an answer",
                remedy="Ask again, or choose another model.",
            )
        return self._closing("The model ended without an answer.")

    def _closing(self, head: str) -> str:
        """Return the answer of a run that the model did not end: what was found so far."""
        self.answers.flush()
        partial, self.answers.reply = self.answers.reply.text, Reply()
        self.written = partial
        self.transcript.end_calls(NOT_RUN)
        undone = [*self.transcript.not_run, *self.plan.open()]
        summary = summarise(self.calls.results, undone, self.agent.plans)
        found = f"What was found so far:\n\n{summary}"
        text = f"{head} {found if self.calls.results else 'Nothing was found so far.'}"
        text = self._localised(text)
        text = f"\n\n{text}" if partial else text
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=partial + text))
        return partial + text

    def _cut(self) -> None:
        """End early. Half an answer is kept, every call gets a result, and nothing follows."""
        half = self.answers.reply.text
        self.answers.flush()
        if half.strip():
            self._say_behind(half)
        self.transcript.cut(half, NOT_RUN)
        self._end_plan(ok=False)

    def _say_behind(self, half: str) -> None:
        """Add the footer to half an answer, since the user has read that half."""
        try:
            cited = self.calls.evidence.check(half).cited
            footer = self._marked("", [half])[1]
            footer += answer_footer(self.director, self.request, self.agent.plans, cited, half)
            footer = self._localised(footer)
        except Exception as error:  # the run is to end whatever happens
            log_unexpected("What stands behind half an answer could not be told", error)
            return
        if footer:
            self.emitter.emit(TextDelta, text=footer)

    def _set_plan(self, plan: Plan) -> None:
        self.director.by_rules = True
        by = "rules" if self.agent.plans else ""
        self.plan.set(plan.steps, by=by, after=plan.after, arguments=plan.arguments)
        made = self.director.intent.plan
        runs = sum(not step.skip for step in made.steps) if isinstance(made, ToolPlan) else 0
        if self.agent.plan_first and self.request.viewer is not None and runs > 1:
            self.free.clear()
            self.plan.held = True
        self.calls.tell_plan()

    def _runs_alone(self, name: str) -> bool:
        tool = self.agent.tools.get(name)
        return tool is not None and tool.spec.sequential

    def _edit_plan(self, edit: PlanEdit) -> None:
        if edit.kind == "hold":
            self.free.clear()
        elif edit.kind == "go":
            self.plan.held = False
            self.free.set()
        elif edit.kind == "change":
            self._change_argument(edit)
            self.calls.tell_plan()
        elif self.plan.edit(edit.kind, edit.index, edit.tool):
            self.calls.tell_plan()

    def _change_argument(self, edit: PlanEdit) -> None:
        """Give a step of the rules' plan what the user typed for one of its arguments."""
        number = self.plan.number_of(edit.index, edit.tool)
        tool, intent = self.agent.tools.get(edit.tool), self.director.intent
        if not number or tool is None or not isinstance(intent.plan, ToolPlan):
            return
        steps = list(intent.plan.steps)
        step = steps[number - 1]
        if edit.argument not in step.settable():
            return
        value, problem = typed_value(tool.spec.Input, edit.argument, edit.value)
        if not problem:
            arguments = {**step.arguments, edit.argument: value}
            steps[number - 1] = step = replace(step, arguments=arguments)
            self.director.intent = replace(intent, plan=replace(intent.plan, steps=tuple(steps)))
        self.plan.change(edit.index, edit.argument, value, reason(step), problem)

    async def _while_held(self) -> None:
        """Let nothing more begin while the user edits the plan."""
        if not self.free.is_set():
            with self.clock.paused():
                await self.free.wait()

    def _end_plan(self, *, ok: bool) -> None:
        self.plan.close(ok)
        self.calls.tell_plan()
