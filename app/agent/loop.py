"""The agent loop: `process` asks the model, `execute` runs its tool calls, until there are none.

    question -> process -> execute -> process -> ... -> answer

Around these two stand the promises of a run: every event is on disk before anybody sees it; one
terminal event ends it; the transcript is valid wherever it is cut; a limit ends it with what was
found so far. `calls.py` is `execute`, `limits.py` counts, `retry.py` says when to ask again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import uuid4

from app import __version__
from app.agent.approvals import Consents, Gate, ask, consent_request
from app.agent.calls import NOT_RUN, Calls
from app.agent.context import build_messages
from app.agent.emitter import Emitter
from app.agent.events import (
    TERMINAL,
    ModelRetry,
    Noted,
    ReasoningDelta,
    RunEvent,
    RunFinished,
    RunStarted,
    TextDelta,
    Usage,
)
from app.agent.execute import Tools, log_unexpected
from app.agent.jsonable import plain
from app.agent.limits import Meter, Stop, WallClock
from app.agent.llm.base import (
    Call,
    LanguageModel,
    ModelEvent,
    ModelFailed,
    Note,
    Plan,
    Reasoning,
    Text,
    Tokens,
    info_of,
)
from app.agent.messages import Message, ToolCall
from app.agent.offered import Offered
from app.agent.plan_state import PlanState
from app.agent.plan_tool import UpdatePlan
from app.agent.policy import Grants, Policy
from app.agent.redact import Redactor
from app.agent.request import Approve, Limits, RunRequest, make_folder
from app.agent.retry import Retry
from app.agent.summary import summarise
from app.agent.transcript import Transcript
from app.errors import Cancelled, SightlineError
from app.tools.api import Tool

__all__ = ["AgentLoop", "Approve", "Limits", "RunRequest"]

CANCEL_GRACE_S = 0.4
"""How long a model may take to end its stream once it was told to; then it is left behind."""


class AgentLoop:
    """Answers questions with a language model and tools.

    Args:
        model: The language model.
        tools: The tools it may call.
        system: The system prompt.
        limits: How far a run may go.
        consents: Remembers consent to a remote model, a thread; shared by loops of one program.
        approvals: Decides which calls may run; shared in the same way.
        retry: When a failed request to the model is made again.
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
    ) -> None:
        self.model = model
        self.tools = tools
        self.system = system
        self.limits = limits or Limits()
        self.consents = consents or Consents()
        self.approvals = approvals or Gate(Policy.standard(), Grants())
        self.retry = retry or Retry()

    async def run(self, request: RunRequest) -> AsyncIterator[RunEvent]:
        """Answer one question; ends after exactly one terminal event, whatever happens."""
        emitter = Emitter(request.run_id, request.thread.record)
        run = _Run(self, request, emitter)
        task = asyncio.create_task(run.drive())
        loop = asyncio.get_running_loop()
        request.cancel.on_cancel(lambda: _soon(loop, task.cancel))
        request.stop_after_tool.on_cancel(lambda: _soon(loop, run.stop_after_tool, task))
        try:
            while True:
                event = await emitter.next()
                yield event
                if event.kind in TERMINAL:
                    break
        finally:
            if not emitter.closed:
                # The consumer left early: nothing goes on behind its back.
                request.cancel.cancel()
                task.cancel()
            await asyncio.wait({task}, timeout=2 * CANCEL_GRACE_S)


def _soon(loop: asyncio.AbstractEventLoop, work: Any, *arguments: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: the run ended long ago
        loop.call_soon_threadsafe(work, *arguments)


@dataclass(slots=True)
class _Reply:
    """What the model has said so far in answer to one request."""

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    later: list[Note | Plan] = field(default_factory=list[Note | Plan])
    tokens: Tokens | None = None
    over: bool = False

    @property
    def streamed(self) -> bool:
        """Whether the user saw any of it."""
        return bool(self.text or self.reasoning)


class _Run:
    """One run: its state, and the way from the question to the terminal event."""

    def __init__(self, agent: AgentLoop, request: RunRequest, emitter: Emitter) -> None:
        self.agent = agent
        self.request = request
        self.emitter = emitter
        self.info = info_of(agent.model)
        self.plan = PlanState()
        self.meter = Meter(agent.limits, self.info)
        self.clock = WallClock(agent.limits.wall_s)
        self.transcript = Transcript(request.thread)
        self.tools = Offered(agent.tools, self._own_tools())
        self.calls = Calls(
            request,
            self.tools,
            agent.approvals,
            emitter,
            self.transcript,
            self.plan,
            self.meter,
            self.clock,
        )
        self.schemas = self.tools.schemas()
        self.reply = _Reply()

    def _own_tools(self) -> list[Tool]:
        return [UpdatePlan(self.plan)] if self.info.own_tools else []

    # -- from start to end -------------------------------------------------------------------

    async def drive(self) -> None:
        """Run to the terminal event. Never raises an ordinary exception."""
        try:
            stop, answer = await self._within_time()
            self._end_plan(ok=stop is None)
            by = stop.by if stop else ""
            self.emitter.emit(RunFinished, answer=answer, stopped_by=by)
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
            reason = f"Something unexpected went wrong ({type(error).__name__})."
            self.emitter.fail(reason, "The log says where. Please try again, or report it.")

    def stop_after_tool(self, task: asyncio.Task[None]) -> None:
        """Let the calls that run now end, then stop; at once when none does."""
        self.calls.stop_after = True
        if not self.calls.running:
            task.cancel()

    async def _within_time(self) -> tuple[Stop | None, str]:
        try:
            async with self.clock.running():
                stop, answer = await self._converse()
        except TimeoutError:
            if not self.clock.over:
                raise
            stop, answer = self.clock.stop(), ""
        return stop, answer if stop is None else self._closing(f"Stopped: {stop.text}.")

    async def _converse(self) -> tuple[Stop | None, str]:
        """Question, process, execute, process, ...; the answer, or the limit that was reached."""
        self._start()
        self.request.cancel.check()
        notes = [plain(note) for note in self.request.image_notes]
        self.transcript.say(Message(role="user", text=self.request.question, images=notes))
        await self._consent()
        make_folder(self.request.out_dir)
        while True:
            message = await self.process()
            if isinstance(message, Stop):
                return message, ""
            if not message.tool_calls:
                return None, self._answer(message.text)
            stop = self.meter.spent()
            if stop is not None:
                self.transcript.refuse(message.tool_calls, f"Not run: {stop.text}.")
                return stop, ""
            stop = await self.execute(message.tool_calls)
            if stop is not None:
                return stop, ""

    def _start(self) -> None:
        request, model = self.request, self.agent.model
        images = [str(note.get("id", "")) for note in request.image_notes]
        facts = {"model": model.name, "host": model.remote_host, "version": __version__}
        request.thread.note_run(request.run_id, {**facts, "images": images})
        self.emitter.emit(
            RunStarted,
            thread_id=request.thread.thread_id,
            question=request.question,
            model=model.name,
            images=images,
        )

    async def _consent(self) -> None:
        model, consents = self.agent.model, self.agent.consents
        thread_id = self.request.thread.thread_id
        if not model.remote_host or consents.given(thread_id, model.remote_host):
            return
        wanted = consent_request(model.name, model.remote_host, pictures=self.info.images)
        with self.clock.paused():
            decision = await ask(self.emitter, self.request.approve, wanted)
        if not decision.granted:
            raise ModelFailed(
                f"You did not allow anything to be sent to {model.remote_host}. Nothing was sent",
                remedy="Ask again and allow it, or choose a model on this machine.",
            )
        consents.give(thread_id, model.remote_host)

    # -- process: one answer of the model ----------------------------------------------------

    async def process(self) -> Message | Stop:
        """Ask the model, again where its endpoint fails in passing; return its message."""
        messages, redactor = self._messages()
        prompt_tokens = self._estimate(messages)
        stop = self.meter.step(prompt_tokens)
        if stop is not None:
            return stop
        retry = self.agent.retry
        for attempt in count(1):
            self.reply = reply = _Reply()
            try:
                await self._listen(messages, reply)
                break
            except ModelFailed as error:
                wait_s = retry.wait_s(attempt, error)
                if wait_s is None:
                    raise retry.given_up(attempt, error) from error
                # The half that was streamed is void: the transcript never holds both.
                self.reply = _Reply()
                self.emitter.emit(
                    ModelRetry,
                    attempt=attempt + 1,
                    attempts=retry.attempts,
                    wait_s=round(wait_s, 3),
                    reason=error.reason,
                    withdrawn=reply.streamed,
                )
                if reply.streamed:
                    self._account(reply, prompt_tokens)
                await retry.sleep(wait_s)
        self._account(self.reply, prompt_tokens)
        return self._accepted(self.reply, redactor)

    async def _listen(self, messages: list[Message], reply: _Reply) -> None:
        """Take one stream to its end, in a task that can be left behind if it heeds no cancel."""
        pump = asyncio.create_task(self._pump(messages, reply))
        pump.add_done_callback(_look)
        try:
            await asyncio.wait({pump})
        finally:
            reply.over = True
            if not pump.done():
                pump.cancel()
                await asyncio.wait({pump}, timeout=CANCEL_GRACE_S)
        if pump.cancelled():
            raise ModelFailed(f"{self.agent.model.name} broke off", remedy="Ask again.")
        pump.result()

    async def _pump(self, messages: list[Message], reply: _Reply) -> None:
        stream = self.agent.model.stream(messages, self.schemas)
        try:
            async for event in stream:
                if reply.over:
                    return
                self._hear(event, reply)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _hear(self, event: ModelEvent, reply: _Reply) -> None:
        match event:
            case Text(text):
                if text:
                    reply.text += text
                    self.emitter.emit(TextDelta, text=text)
            case Reasoning(text):
                if text:
                    reply.reasoning += text
                    self.emitter.emit(ReasoningDelta, text=text)
            case Call(call):
                reply.calls.append(call)
            case Tokens():
                reply.tokens = event
            case Note(text):
                # In between pieces of text it waits: those must stay together to be withdrawn.
                if reply.streamed:
                    reply.later.append(event)
                else:
                    self.emitter.emit(Noted, text=text)
            case Plan():
                reply.later.append(event)

    def _accepted(self, reply: _Reply, redactor: Redactor | None) -> Message:
        """The message of a complete answer, in the transcript."""
        for event in reply.later:
            if isinstance(event, Note):
                self.emitter.emit(Noted, text=event.text)
            else:
                self.plan.set(event.steps)
                self.calls.tell_plan()
        known = {item.call_id for item in self.request.thread.history}
        calls = [self._named(call, known, redactor) for call in reply.calls]
        message = Message(role="assistant", text=reply.text, tool_calls=calls)
        self.reply = _Reply()
        self.transcript.say(message)
        return message

    def _named(self, call: ToolCall, known: set[str], redactor: Redactor | None) -> ToolCall:
        """The call with an id of its own and, from a remote model, with real paths again."""
        changed: dict[str, Any] = {}
        if not call.id or call.id in known:
            changed["id"] = f"call-{uuid4().hex}"
        if redactor is not None:
            changed["arguments"] = redactor.restored(call.arguments)
        named = call.model_copy(update=changed) if changed else call
        known.add(named.id)
        return named

    def _messages(self) -> tuple[list[Message], Redactor | None]:
        messages = build_messages(self.agent.system, self.request.thread.history)
        if not self.agent.model.remote_host:
            return messages, None
        redactor = Redactor(messages, self.request.identifiers)
        return redactor.messages(messages), redactor

    def _estimate(self, messages: list[Message]) -> int:
        return int(sum(len(item.text) for item in messages) / self.info.chars_per_token)

    def _account(self, reply: _Reply, prompt_tokens: int) -> None:
        """Count what an answer cost; where the endpoint did not, by our own estimate."""
        counted = reply.tokens
        if counted is None and not self.info.metered:
            return
        if counted is None:
            said = len(reply.text) + len(reply.reasoning)
            said += sum(len(call.name) + len(str(call.arguments)) for call in reply.calls)
            counted = Tokens(prompt_tokens, int(said / self.info.chars_per_token) + 1)
        self.meter.used(counted.input_tokens, counted.output_tokens)
        self.emitter.emit(
            Usage,
            input_tokens=counted.input_tokens,
            output_tokens=counted.output_tokens,
            estimated=reply.tokens is None,
            run_input_tokens=self.meter.input_tokens,
            run_output_tokens=self.meter.output_tokens,
            cost=self.meter.cost,
        )

    # -- execute: the calls of one message ---------------------------------------------------

    async def execute(self, calls: list[ToolCall]) -> Stop | None:
        """Run the calls; see `calls.py`."""
        return await self.calls.execute(calls)

    # -- the end -----------------------------------------------------------------------------

    def _answer(self, text: str) -> str:
        if text.strip():
            return text
        if not self.calls.results:
            raise ModelFailed(
                f"{self.agent.model.name} ended without an answer",
                remedy="Ask again, or choose another model.",
            )
        return self._closing("The model ended without an answer.")

    def _closing(self, head: str) -> str:
        """The answer of a run that the model did not end: what was found so far."""
        partial, self.reply = self.reply.text, _Reply()
        self.transcript.end_calls(NOT_RUN)
        found = f"What was found so far:\n\n{summarise(self.calls.results)}"
        text = f"{head} {found if self.calls.results else 'Nothing was found so far.'}"
        text = f"\n\n{text}" if partial else text
        self.emitter.emit(TextDelta, text=text)
        self.transcript.say(Message(role="assistant", text=partial + text))
        return partial + text

    def _cut(self) -> None:
        """End early: half an answer is kept, every call gets a result, nothing comes behind it."""
        self.transcript.cut(self.reply.text, NOT_RUN)
        self._end_plan(ok=False)

    def _end_plan(self, *, ok: bool) -> None:
        self.plan.close(ok)
        self.calls.tell_plan()


def _look(task: asyncio.Task[None]) -> None:
    """Take note of the end of a task that nobody may be waiting for any more."""
    if not task.cancelled():
        task.exception()
