"""`execute`: runs the tool calls in one message of the model, in parallel where allowed.

Each call gets exactly one result in the transcript, in the order of the calls, and each started
call gets its `tool_finished`. No call is ever repeated here.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from pydantic import BaseModel

from app.agent.answers.evidence import Evidence
from app.agent.answers.german import in_german
from app.agent.answers.items import Item, items_of
from app.agent.context.model_messages import with_note
from app.agent.enforcement.director import Director
from app.agent.enforcement.plan_checklist import PlanState
from app.agent.enforcement.rulings import PLAIN, CallOrder
from app.agent.enforcement.update_plan_tool import OWN
from app.agent.events import PlanUpdated, ToolFinished, ToolStarted
from app.agent.json_forms import finding_json, plain
from app.agent.llm.base import ModelFailed
from app.agent.loop.audit_trail import ACTING
from app.agent.loop.available_tools import READ_RESULT
from app.agent.loop.emitter import Emitter, ProgressGate, utc_now
from app.agent.loop.inner_calls import InnerCallRunner
from app.agent.loop.limits import Meter, Stop, WaitClock, WallClock
from app.agent.loop.offline_model import step_number
from app.agent.loop.tool_execution import (
    Outcome,
    Tools,
    failed,
    find_tool,
    half_done,
    in_thread,
    log_unexpected,
    not_run,
    own_limit_s,
    parse_arguments,
    run_tool,
    schema_of,
)
from app.agent.loop.transcript import Transcript
from app.agent.messages import Message, RecordContent, ToolCall
from app.agent.past_results import PastResults, wrong_kind
from app.agent.policy import Grants, Scope
from app.agent.policy.approvals import Gate, PlanAnswers, WantedCall, ask
from app.agent.policy.judgements import Judgement
from app.agent.privacy.kept_notes import REFUSED, told_in, without_patients
from app.agent.privacy.record_content import WatchedRecords
from app.agent.privacy.redaction import clean_arguments
from app.agent.privacy.send_consent import known_to
from app.agent.request import RunRequest
from app.errors import Cancelled
from app.imaging.types import ImageRef
from app.tools.api import (
    CancelToken,
    Confirm,
    Tool,
    ToolContext,
    ToolModel,
    ToolResult,
    ToolSpec,
)
from app.tools.kept_values import KeptValues


@dataclass(slots=True)
class ImageConfirmations:
    """Asks the user whether a tool may use an unsuitable image, and remembers the answers of a run.

    Use an instance on the loop's thread only, except for the function that `of` returns.

    Attributes:
        clock: The run's clock; paused while waiting for the user.
        grants: Remembers a yes for the conversation.
    """

    request: RunRequest
    emitter: Emitter
    clock: WallClock
    grants: Grants
    _no: set[tuple[ImageRef, str]] = field(default_factory=set[tuple[ImageRef, str]])
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def of(self, call_id: str, tool: str, token: CancelToken, waited: WaitClock) -> Confirm:
        """Return a function by which a tool, in its own thread, asks about an unsuitable image.

        `waited` measures the waiting; if `token` is cancelled, the function raises Cancelled.
        """
        loop = asyncio.get_running_loop()

        def confirm(title: str, detail: str, *, image: ImageRef | None = None) -> bool:
            token.check()
            wanted = {"title": title, "detail": detail, "call_id": call_id, "tool": tool}
            asking = self._ask(wanted, image, waited)
            try:
                answer = asyncio.run_coroutine_threadsafe(asking, loop)
            except RuntimeError:  # the loop has ended: nobody can be asked any more
                asking.close()
                raise Cancelled from None
            token.on_cancel(partial(_end, answer))
            try:
                return answer.result()
            except CancelledError:
                raise Cancelled from None

        return confirm

    async def _ask(self, wanted: dict[str, Any], image: ImageRef | None, waited: WaitClock) -> bool:
        objection = f"{wanted['title']}\n{wanted['detail']}"
        thread_id = self.request.thread.thread_id
        with waited.waiting():
            async with self._one:  # the answer to the first may be that to the next
                if image is not None and self.grants.is_objection_accepted(
                    thread_id, image, objection
                ):
                    return True
                if image is not None and (image, objection) in self._no:
                    return False
                wanted |= {"about": "override", "image": self._named(image)}
                with self.clock.paused():
                    decision = await ask(self.emitter, self.request.approve, wanted)
        if image is None:
            return decision.granted
        if decision.granted:
            self.grants.accept_objection(thread_id, image, objection)
        else:
            self._no.add((image, objection))
        return decision.granted

    def _named(self, image: ImageRef | None) -> str:
        used = getattr(self.request.images, "used", None)
        facts: list[dict[str, Any]] = used() if used is not None and image is not None else []
        wanted = (image.sop_instance_uid, image.frame) if image is not None else ()
        same = (f for f in facts if (f.get("sop_instance_uid"), f.get("frame")) == wanted)
        return str(next(same, {}).get("id", ""))


def _end(answer: Future[bool]) -> None:
    answer.cancel()


async def with_record(outcome: Outcome, watch: WatchedRecords) -> Outcome:
    """Return the outcome with what it holds of patients' records, as far as the tool read any.

    If that cannot be found out, the call fails: nobody would know what identifies a patient.
    """
    if not watch.touched:
        return outcome
    data = [outcome.summary, outcome.output, outcome.metadata, outcome.error, outcome.remedy]
    content, error = await in_thread(lambda: watch.content(data), "record")
    if content is None:
        if isinstance(error, BaseException):
            log_unexpected("What a result holds of a record could not be told", error)
        return failed("What the result holds of the record could not be told.", "Ask again.")
    return replace(outcome, record=content)


TOGETHER = 4
"""Maximum number of calls that run at the same time."""
STOPPED = "Stopped before it finished."
NOT_RUN = "Not run: stopped before it began."


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that is ready to run, or that already has an outcome.

    Attributes:
        tool: The tool to run; None only if there is an `outcome`.
        args: The validated arguments; None only if there is an `outcome`.
        outcome: The outcome of a call that will not run, with the reason; otherwise None.
        alone: Whether the call must not run at the same time as another.
        order: How the rules want the call to be made.
    """

    call: ToolCall
    tool: Tool | None = None
    args: BaseModel | None = None
    outcome: Outcome | None = None
    alone: bool = False
    order: CallOrder = PLAIN

    @property
    def own(self) -> bool:
        """Return whether the call is to one of the loop's own tools, such as `update_plan`."""
        return self.tool is not None and self.tool.spec.pack == OWN


PlannedCall = tuple[str, dict[str, Any]]
"""A tool's name, and the arguments of a call."""


@dataclass(slots=True)
class ToolCalls:
    """Runs the tool calls of one run. Only the tools themselves work outside the loop's thread.

    Attributes:
        running: The cancel token of each running call, by call id.
        director: Decides how each call is made, and judges its result.
        begun: The ids of the calls whose tool was started.
        results: The results so far, without those of the loop's own tools.
        stop_after: Whether to start no more calls; running calls may still end.
        scope: The files that arguments may name, as last determined; None before that.
        confirmations: Asks the user on behalf of running tools.
        answers: The user's answers about several calls together.
        unclean: Why calls may not be made, by call id: nobody knows what in them identifies a
            patient.
        model_for: Returns the run's language model for a call with this cancel token, or None.
        past: The earlier results of the conversation.
        store: Values that tools keep for the conversation.
        together: The calls of the message or plan at hand, by their ids.
    """

    request: RunRequest
    tools: Tools
    approvals: Gate
    emitter: Emitter
    transcript: Transcript
    plan: PlanState
    meter: Meter
    clock: WallClock
    director: Director
    evidence: Evidence = field(default_factory=Evidence)
    running: dict[str, CancelToken] = field(default_factory=dict[str, CancelToken])
    begun: set[str] = field(default_factory=set[str])
    results: list[Message] = field(default_factory=list[Message])
    stop_after: bool = False
    scope: Scope | None = None
    model_for: Callable[[CancelToken, WatchedRecords], ToolModel | None] = lambda _, __: None
    answers: PlanAnswers = field(default_factory=PlanAnswers)
    unclean: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    together: dict[str, PlannedCall] = field(default_factory=dict[str, PlannedCall])
    confirmations: ImageConfirmations = field(init=False)
    past: PastResults = field(init=False)
    store: KeptValues = field(init=False)

    def __post_init__(self) -> None:
        grants = self.approvals.grants
        self.past = PastResults(self.request.thread, self.request.rejected_calls)
        self.store = KeptValues(self.request.out_dir)
        self.confirmations = ImageConfirmations(self.request, self.emitter, self.clock, grants)

    async def ask_together(self, calls: Sequence[ToolCall]) -> None:
        """Ask the user once where several of a message's calls need a yes.

        A call whose arguments are changed afterwards, by a rule, is asked about alone.
        """
        if len(calls) < 2 or all(call.id in self.together for call in calls):
            return
        looked = [self._look_at(await self._cleaned(call), beside=False) for call in calls]
        wanted = [
            WantedCall(item.tool.spec, item.call, item.args)
            for item in looked
            if item.tool is not None and item.args is not None
        ]
        self.together = {
            one.call.id: (one.spec.name, one.arguments.model_dump(exclude_defaults=True))
            for one in wanted
        }
        with self.clock.paused():
            await self.approvals.ask_together(
                wanted,
                self.answers,
                thread_id=self.request.thread.thread_id,
                emitter=self.emitter,
                approve=self.request.approve,
                scope=self._scope(),
            )

    async def execute(self, calls: Sequence[ToolCall]) -> Stop | None:
        """Run the calls in one message; return the limit that was reached, or None.

        Raises:
            Cancelled: The user stopped the run; finished results are kept.
        """
        waiting = deque([await self._cleaned(call) for call in calls])
        while waiting:
            group, stop = self._group(waiting)
            if len(group) == 1:
                await self._one(group[0], 1)
            elif group:
                await self._together(group)
            self.request.cancel.check()
            if self.stop_after:
                raise Cancelled
            if stop is not None:
                return stop
        return None

    async def _cleaned(self, call: ToolCall) -> ToolCall:
        """Return a call without identifiers if it leaves this machine, before the user is asked.

        A call whose text would be kept for all conversations is not changed: it is not made if
        there are any.
        """
        tool = self.tools.get(call.name)
        keeps = tool is not None and tool.spec.memory == "keeps"
        if tool is None or not (tool.spec.cleaned or keeps):
            return call
        try:
            known = await known_to(self.request, "a remote tool")
            asked = Message(
                role="user", identifiers=list(known.identifiers), texts=list(known.texts)
            )
            history = [*self.request.thread.history, asked]
            thread_id, known_ids = self.request.thread.thread_id, self.request.identifiers
            if keeps:
                work = partial(self._without_patients, history, call.arguments)
            else:
                work = partial(clean_arguments, history, known_ids, call.arguments, thread_id)
            arguments, error = await in_thread(work, "redaction")
        except ModelFailed as failure:
            self.unclean[call.id] = not_run(failure.text)
            return call
        if arguments is None:
            log_unexpected("Arguments could not be cleaned", cast("BaseException", error))
            self.unclean[call.id] = not_run("Its arguments could not be cleaned: nothing was sent.")
            return call
        if keeps:
            if arguments != call.arguments:
                self.unclean[call.id] = not_run(f"{REFUSED.format(arguments.get('text', ''))}.")
            return call
        return call.model_copy(update={"arguments": arguments})

    def _without_patients(
        self, history: Sequence[Message], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        identifiers, texts = told_in(history)
        known = [*identifiers, *self.request.identifiers]
        return {
            name: without_patients(value, known, texts, self.request.records)
            if isinstance(value, str)
            else value
            for name, value in arguments.items()
        }

    def tell_plan(self) -> None:
        """Emit the plan if it has changed."""
        if self.plan.changed:
            plan = self.plan
            steps = plan.event_steps()
            if self.director.asked_in_german:
                for step in steps:
                    why, colon, given = step["why"].partition(": ")
                    names = ", ".join(map(in_german, given.split(", ")))
                    step["why"] = f"{in_german(why)}{colon}{names}"
            self.emitter.emit(
                PlanUpdated,
                steps=steps,
                held=plan.held,
                overrides=list(plan.overrides),
                goal=plan.goal,
                goal_why=plan.goal_why,
            )

    def _group(self, waiting: deque[ToolCall]) -> tuple[list[Ready], Stop | None]:
        """Take from `waiting` the next calls that may run at the same time."""
        group: list[Ready] = []
        while waiting:
            ready = self._look_at(waiting[0], beside=len(group) + len(waiting) > 1)
            if group and ready.alone:
                break
            stop = self.meter.call(ready.call, counted=not ready.own)
            if stop is not None:
                return group, stop
            waiting.popleft()
            group.append(self._within_task(ready))
            if ready.alone:
                break
        return group, None

    def _look_at(self, call: ToolCall, *, beside: bool) -> Ready:
        """Prepare a call.

        `beside`: other calls came with it. A call that asks the user is made alone; for a single
        call this need not be found out beforehand.
        """
        order = self.director.order(call)
        if self._is_taken_out(call):
            why = "The user took this step out of the plan."
            outcome = not_run(why, "Go on without it.", "You took it out of the plan.")
            return Ready(call, outcome=outcome, order=order)
        if call.id in self.unclean:
            return Ready(call, outcome=self.unclean[call.id], order=order)
        if order.outcome is not None:
            return Ready(call, outcome=order.outcome, order=order)
        tool = find_tool(self.tools, call)
        if isinstance(tool, Outcome):
            return Ready(call, outcome=tool, order=order)
        args = parse_arguments(tool.spec, call)
        if isinstance(args, Outcome):
            return Ready(call, outcome=args, order=order)
        spec, thread_id = tool.spec, self.request.thread.thread_id
        wrong = self._wrong_kind(spec, args)
        if wrong:
            return Ready(call, outcome=failed(f"{spec.name} was not run: {wrong}."), order=order)
        asks = beside and self.approvals.needs_question(spec, args, thread_id, self._scope())
        return Ready(call, tool, args, alone=spec.sequential or asks, order=order)

    def _is_taken_out(self, call: ToolCall) -> bool:
        return self.plan.is_taken_out(step_number(call.id), call.name)

    def _wrong_kind(self, spec: ToolSpec, args: BaseModel) -> str:
        notes = self.request.image_notes
        names = [str(note.get(key)) for note in notes for key in ("id", "path")]
        schema = schema_of(spec.Input)
        return wrong_kind(spec, schema, args, self.past, names, self.director.plans)

    def _within_task(self, ready: Ready) -> Ready:
        call = ready.call
        if ready.own or self._is_taken_out(call):
            return ready
        refusal = self.meter.task_call(self.plan.start(call.id, call.name, ready.order.made))
        if not refusal:
            return ready
        advice = "Go on with the next step, or answer with what is there."
        return replace(ready, outcome=not_run(refusal, advice))

    async def _together(self, group: Sequence[Ready]) -> None:
        gate = asyncio.Semaphore(TOGETHER)
        if self.director.by_rules:  # the same question gets the same answer
            self.evidence.reserve(one.call.id for one in group if one.outcome is None)

        async def one(ready: Ready) -> None:
            async with gate:
                if not self.stop_after:
                    # They may take turns in the model process: waiting there is not their fault.
                    await self._one(ready, min(len(group), TOGETHER))

        tasks = [asyncio.create_task(one(ready)) for ready in group]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)  # at once: none of them waits for its tool any more
            raise
        for task in tasks:
            task.result()

    async def _one(self, ready: Ready, patience: int) -> None:
        call = ready.call
        arguments = call.arguments if not call.raw else {"(not JSON)": call.raw[:500]}
        started, clock = utc_now(), time.monotonic()
        self.emitter.emit(
            ToolStarted, call_id=call.id, tool=call.name, arguments=arguments, own=ready.own
        )
        self.tell_plan()
        try:
            if ready.tool is not None and ready.tool.spec.sequential:
                # It may work on what the calls before it gave, in the window.
                await self.emitter.delivered()
            outcome = ready.outcome or await self._outcome(ready, patience)
        except asyncio.CancelledError:
            self._finish(ready, self._stopped(ready), started, time.monotonic() - clock)
            raise
        self._finish(ready, outcome, started, time.monotonic() - clock)

    async def _outcome(self, ready: Ready, patience: int) -> Outcome:
        call, tool, args = ready.call, ready.tool, ready.args
        assert tool is not None
        assert args is not None
        refused = await self._refused(tool, args, call)
        if refused is not None:
            return refused
        gate = ProgressGate(asyncio.get_running_loop(), self.emitter, call.id, tool.spec.name)
        token = self.running[call.id] = CancelToken()
        waited = WaitClock()
        self.begun.add(call.id)
        try:
            confirm = self.confirmations.of(call.id, tool.spec.name, token, waited)
            watch = WatchedRecords(self.request.records)
            context = self._context(call, gate, token, confirm, watch)
            own_s = own_limit_s(tool, args, context)
            if own_s is None:
                timeout_s = tool.spec.timeout_s * patience
                outcome = await run_tool(tool, args, context, timeout_s, self._keep, waited)
            else:
                # It was asked to work on many images: its own limit counts, not that of the run.
                with self.clock.paused():
                    outcome = await run_tool(tool, args, context, own_s, self._keep, waited)
            return await with_record(outcome, watch)
        except asyncio.CancelledError:
            token.cancel()
            raise
        finally:
            # The token of an ended call is not touched any more: what hangs on it (killing the
            # model process) would hit work that it does not belong to.
            del self.running[call.id]
            gate.close()

    async def _refused(self, tool: Tool, args: BaseModel, call: ToolCall) -> Outcome | None:
        """Return why the policy or the user refuses a call; None if it may run."""
        with self.clock.paused():
            verdict = await self.approvals.admit(
                tool.spec,
                call,
                args,
                thread_id=self.request.thread.thread_id,
                emitter=self.emitter,
                approve=self.request.approve,
                scope=self._scope(),
                answers=self.answers,
            )
        if not verdict.granted:
            return not_run(verdict.error, verdict.remedy, verdict.told)
        if not verdict.covers(tool.spec, args):
            return not_run(f"The arguments of {tool.spec.name} changed after the user was asked.")
        if self.emitter.unaudited and tool.spec.approval in ACTING:
            return not_run(
                f"{tool.spec.name} was not run: {self.emitter.unaudited}", "Go on without."
            )
        return None

    def _scope(self) -> Scope:
        """Return the files that arguments may name now; calls may have made new pictures."""
        request = self.request
        images, notes = request.images, request.image_notes
        if self.scope is None:  # once: it looks for folders on the disk
            self.scope = Scope.for_run(images, notes, request.out_dir)
        self.scope = self.scope.refreshed(images, notes)
        return self.scope

    def _stopped(self, ready: Ready) -> Outcome:
        error = f"Stopped: {self.clock.stop().text}." if self.clock.over else STOPPED
        tool = ready.tool if ready.call.id in self.begun else None
        remedy = half_done(tool.spec) if tool is not None else ""
        return Outcome("cancelled", "Stopped.", error=error, remedy=remedy)

    def _finish(self, ready: Ready, outcome: Outcome, started: str, duration_s: float) -> None:
        call = ready.call
        message, items = outcome.message(call), list[Item]()
        if not ready.own:
            items = items_of(outcome.findings, outcome.output) if message.ok else []
            message = self.evidence.take(message, items)
        elif call.name == READ_RESULT and self._reads_record():
            # A page of a result may be of one that holds a patient's record.
            message = message.model_copy(update={"record": RecordContent()})
        judged = self.director.judge_result(call, message)
        edited = "" if self.director.by_rules else self.plan.take_notes()
        if judged.note or judged.advice or edited:
            advice = " ".join(filter(None, (judged.advice, edited)))
            message = with_note(message, judged.note, advice)
        if not ready.own:
            self.results.append(message)
        # On disk before anything is told: a crash in between loses nothing.
        self._log(ready, outcome, started)
        self.transcript.answer(call, message)
        self.emitter.emit(
            ToolFinished,
            call_id=call.id,
            tool=call.name,
            status=outcome.status,
            summary=outcome.summary,
            output=outcome.output,
            metadata=outcome.metadata,
            findings=list(outcome.findings),
            artifacts=list(outcome.artifacts),
            error=outcome.error_text,
            refused=outcome.refused,
            duration_s=round(duration_s, 3),
            evidence=message.evidence,
            items=items,
        )
        self.plan.finish(call.id, outcome.status == "ok", judged.state, judged.verdict)
        self.tell_plan()

    def _reads_record(self) -> bool:
        history = self.request.thread.history
        return any(item.role == "tool" and item.record is not None for item in history)

    def _keep(self, result: ToolResult) -> dict[str, Any]:
        """Return findings and artifacts for the session file; called in the tool's thread."""
        try:
            return {
                "findings": [finding_json(item, self.request.out_dir) for item in result.findings],
                "artifacts": [plain(item) for item in result.artifacts],
            }
        except Exception as error:  # logging never breaks a run
            log_unexpected("A call's result could not be logged", error)
            return {}

    def _log(self, ready: Ready, outcome: Outcome, started: str) -> None:
        call = ready.call
        result: dict[str, Any] = {
            "status": outcome.status,
            "summary": outcome.summary,
            "output": outcome.output,
            "metadata": outcome.metadata,
            "error": outcome.error_text,
            "findings": [],
            "artifacts": [],
            **outcome.kept,
        }
        if ready.order.outcome is not None:
            result["refused"] = True
        if outcome.refused:
            result["not_run"] = outcome.refused
        request = self.request
        request.thread.log_call(
            call.id, call.name, call.arguments, result, started, utc_now(), request.images
        )

    def _context(
        self,
        call: ToolCall,
        gate: ProgressGate,
        cancel: CancelToken,
        confirm: Confirm,
        records: WatchedRecords,
    ) -> ToolContext:
        request = self.request
        ids = [*self.together]
        after = ids[ids.index(call.id) + 1 :] if call.id in ids else []
        return ToolContext(
            run_id=request.run_id,
            call_id=call.id,
            images=request.images,
            out_dir=request.out_dir,
            host=request.host,
            models_dir=request.models_dir,
            device=request.device,
            cancel=cancel,
            progress=gate,
            confirm=confirm,
            calls=InnerCallRunner(self.tools, self._judge_inner, self.director.bind),
            conversation_id=request.thread.thread_id,
            store=self.store,
            results=self.past,
            model=self.model_for(cancel, records),
            records=records,
            record_patient=request.record_patient,
            record_unlinked=request.record_unlinked,
            viewer=request.viewer,
            ahead=tuple(self.together[one] for one in after),
        )

    def _judge_inner(self, spec: ToolSpec, args: BaseModel) -> Judgement:
        return self.approvals.judge(spec, args, self.request.thread.thread_id, self._scope())
