"""The agent loop: `process` asks the model, `execute` runs its tool calls, until there are none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from app.agent.approvals import Consents, ask, consent_request, tool_request
from app.agent.context import build_messages, error_message
from app.agent.emitter import Emitter, ProgressGate, utc_now
from app.agent.events import (
    TERMINAL,
    PlanUpdated,
    RunEvent,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from app.agent.execute import (
    Outcome,
    Tools,
    failed,
    find_tool,
    log_unexpected,
    parse_arguments,
    run_tool,
)
from app.agent.jsonable import artifact_json, finding_json, plain
from app.agent.llm.base import Call, LanguageModel, ModelFailed, Plan, Text, Tokens, ToolSchema
from app.agent.messages import Message, ToolCall
from app.agent.plan_state import PlanState
from app.agent.redact import Redactor
from app.agent.request import Approve, Limits, RunRequest, make_folder
from app.agent.summary import summarise
from app.errors import Cancelled, SightlineError
from app.tools.api import Approval, CancelToken, Tool, ToolContext

__all__ = ["AgentLoop", "Approve", "Limits", "RunRequest"]

CANCEL_GRACE_S = 0.4
CANCELLED = Outcome("cancelled", "Stopped.", error="Stopped before it finished.")


class AgentLoop:
    """Answers questions with a language model and tools.

    Args:
        model: The language model.
        tools: The tools it may call.
        system: The system prompt.
        limits: How far a run may go.
        consents: Remembers consent to a remote model, a thread; shared by loops of one program.
    """

    def __init__(
        self,
        model: LanguageModel,
        tools: Tools,
        *,
        system: str = "",
        limits: Limits | None = None,
        consents: Consents | None = None,
    ) -> None:
        self.model = model
        self.tools = tools
        self.system = system
        self.limits = limits or Limits()
        self.consents = consents or Consents()

    async def run(self, request: RunRequest) -> AsyncIterator[RunEvent]:
        """Answer one question; ends after exactly one terminal event, whatever happens."""
        emitter = Emitter(request.run_id)
        run = _Run(self, request, emitter)
        task = asyncio.create_task(run.drive())
        loop = asyncio.get_running_loop()
        request.cancel.on_cancel(run.cancel_call)
        request.cancel.on_cancel(lambda: _stop_soon(loop, task, emitter))
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
            await asyncio.wait({task}, timeout=CANCEL_GRACE_S)


def _stop_soon(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None], emitter: Emitter) -> None:
    def stop() -> None:
        task.cancel()
        # A model that swallows the cancellation must not keep the user waiting.
        loop.call_later(CANCEL_GRACE_S, emitter.cancel)

    try:
        loop.call_soon_threadsafe(stop)
    except RuntimeError:  # the loop is closed: the run ended long ago
        return


@dataclass(slots=True)
class _Run:
    """The state of one run."""

    agent: AgentLoop
    request: RunRequest
    emitter: Emitter
    results: list[Message] = field(default_factory=list[Message])
    partial: str = ""
    pending: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    plan: PlanState = field(default_factory=PlanState)
    calls: int = 0
    running: CancelToken | None = None

    def cancel_call(self) -> None:
        """Stop the call that runs now, if any; from any thread.

        The token of an ended call is not touched: what hangs on it (killing the model process)
        would hit work that it does not belong to.
        """
        running = self.running
        if running is not None:
            running.cancel()

    async def drive(self) -> None:
        """Run to the terminal event. Never raises an ordinary exception."""
        try:
            answer = await self._converse()
            self._plan_done()
            self.emitter.emit(RunFinished, answer=answer)
        except (asyncio.CancelledError, Cancelled):
            self._close_transcript()
            self.emitter.cancel()
        except SightlineError as error:
            self._close_transcript()
            reason = f"{error.subject}: {error.reason}" if error.subject else error.reason
            self.emitter.fail(reason, error.remedy)
        except Exception as error:
            log_unexpected("A run failed", error)
            self._close_transcript()
            reason = f"Something unexpected went wrong ({type(error).__name__})."
            self.emitter.fail(reason, "The log says where. Please try again, or report it.")

    async def _converse(self) -> str:
        request, model = self.request, self.agent.model
        self.emitter.emit(
            RunStarted,
            thread_id=request.thread.thread_id,
            question=request.question,
            model=model.name,
            images=[str(note.get("id", "")) for note in request.image_notes],
        )
        request.cancel.check()
        notes = [plain(note) for note in request.image_notes]
        request.thread.append(Message(role="user", text=request.question, images=notes))
        await self._consent()
        make_folder(request.out_dir)
        limits = self.agent.limits
        for _ in range(limits.steps):
            reply = await self.process()
            if not reply.tool_calls:
                return self._answer(reply.text)
            if not await self.execute(reply.tool_calls):
                return self._limit(f"{limits.tool_calls} tool calls")
        return self._limit(f"{limits.steps} steps")

    async def process(self) -> Message:
        """Ask the model; stream its text; return its message."""
        calls: list[ToolCall] = []
        self.partial = ""
        messages, redactor = self._messages()
        stream = self.agent.model.stream(messages, self._schemas())
        try:
            async for event in stream:
                match event:
                    case Text(text):
                        if text:
                            self.partial += text
                            self.emitter.emit(TextDelta, text=text)
                    case Call(call):
                        calls.append(self._accepted(call, calls, redactor))
                    case Plan(steps):
                        self.plan.set(steps)
                        self._emit_plan()
                    case Tokens(input_tokens, output_tokens):
                        self.emitter.emit(
                            Usage, input_tokens=input_tokens, output_tokens=output_tokens
                        )
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        message = Message(role="assistant", text=self.partial, tool_calls=calls)
        self.partial = ""
        self.request.thread.append(message)
        self.pending = {call.id: call for call in calls}
        return message

    async def execute(self, calls: Sequence[ToolCall]) -> bool:
        """Run the calls in order; False when the limit of calls was reached."""
        within = True
        for call in calls:
            if self.calls >= self.agent.limits.tool_calls:
                within = False
                self._record(call, error_message(call.id, call.name, "Not run: limit reached."))
                continue
            self.calls += 1
            await self._call(call)
        return within

    async def _call(self, call: ToolCall) -> None:
        arguments = call.arguments if not call.raw else {"(not JSON)": call.raw[:500]}
        started, clock = utc_now(), time.monotonic()
        self.emitter.emit(ToolStarted, call_id=call.id, tool=call.name, arguments=arguments)
        if self.plan.start(call.name):
            self._emit_plan()
        try:
            outcome = await self._outcome(call)
        except asyncio.CancelledError:
            self._finish(call, CANCELLED, started, time.monotonic() - clock)
            raise
        if outcome.status == "failed" and self.request.cancel.cancelled:
            # What a call says that was stopped half-way is no failure to report.
            outcome = CANCELLED
        self._finish(call, outcome, started, time.monotonic() - clock)
        self.request.cancel.check()

    def _finish(self, call: ToolCall, outcome: Outcome, started: str, duration_s: float) -> None:
        message = outcome.message(call)
        self.results.append(message)
        self._record(call, message)
        self._log_call(call, outcome, started)
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
            duration_s=round(duration_s, 3),
        )
        if self.plan.finish(call.name, outcome.status == "ok"):
            self._emit_plan()

    async def _outcome(self, call: ToolCall) -> Outcome:
        tool = find_tool(self.agent.tools, call)
        if isinstance(tool, Outcome):
            return tool
        args = parse_arguments(tool.spec, call)
        if isinstance(args, Outcome):
            return args
        if not await self._allowed(tool, call):
            return failed(f"The user did not allow {tool.spec.name}.", "Ask again to be asked.")
        gate = ProgressGate(asyncio.get_running_loop(), self.emitter, call.id, tool.spec.name)
        self.running = CancelToken()
        try:
            # Set in between: cancel_call has seen no token and would be lost.
            self.request.cancel.check()
            return await run_tool(tool, args, self._context(call, gate, self.running))
        finally:
            self.running = None
            gate.close()

    async def _allowed(self, tool: Tool, call: ToolCall) -> bool:
        if tool.spec.approval in (Approval.READ, Approval.COMPUTE):
            return True
        wanted = tool_request(tool.spec, call)
        return (await ask(self.emitter, self.request.approve, wanted)).granted

    async def _consent(self) -> None:
        model, consents = self.agent.model, self.agent.consents
        thread_id = self.request.thread.thread_id
        if not model.remote_host or consents.given(thread_id, model.remote_host):
            return
        wanted = consent_request(model.name, model.remote_host)
        if not (await ask(self.emitter, self.request.approve, wanted)).granted:
            raise ModelFailed(
                f"You did not allow anything to be sent to {model.remote_host}. Nothing was sent",
                remedy="Ask again and allow it, or choose a model on this machine.",
            )
        consents.give(thread_id, model.remote_host)

    def _context(self, call: ToolCall, gate: ProgressGate, cancel: CancelToken) -> ToolContext:
        request = self.request
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
        )

    def _messages(self) -> tuple[list[Message], Redactor | None]:
        messages = build_messages(self.agent.system, self.request.thread.history)
        if not self.agent.model.remote_host:
            return messages, None
        redactor = Redactor(messages, self.request.identifiers)
        return redactor.messages(messages), redactor

    def _schemas(self) -> list[ToolSchema]:
        specs = [tool.spec for tool in self.agent.tools.all()]
        return [
            ToolSchema(spec.name, spec.description, spec.Input.model_json_schema())
            for spec in specs
        ]

    def _accepted(
        self, call: ToolCall, siblings: Sequence[ToolCall], redactor: Redactor | None
    ) -> ToolCall:
        """The call with an id of its own and, from a remote model, with real paths again."""
        known = {item.call_id for item in self.request.thread.history}
        known.update(item.id for item in siblings)
        changed: dict[str, Any] = {}
        if not call.id or call.id in known:
            changed["id"] = f"call-{uuid4().hex}"
        if redactor is not None:
            changed["arguments"] = redactor.restored(call.arguments)
        return call.model_copy(update=changed)

    def _record(self, call: ToolCall, message: Message) -> None:
        self.pending.pop(call.id, None)
        self.request.thread.append(message)

    def _log_call(self, call: ToolCall, outcome: Outcome, started: str) -> None:
        try:
            result: dict[str, Any] = {
                "status": outcome.status,
                "summary": outcome.summary,
                "output": outcome.output,
                "metadata": outcome.metadata,
                "error": outcome.error_text,
                "findings": [finding_json(item, self.request.out_dir) for item in outcome.findings],
                "artifacts": [artifact_json(item) for item in outcome.artifacts],
            }
        except Exception as error:  # logging never breaks a run
            log_unexpected("A call's result could not be logged", error)
            result = {"status": outcome.status, "summary": outcome.summary}
        self.request.thread.log_call(call.id, call.name, call.arguments, result, started, utc_now())

    def _answer(self, text: str) -> str:
        if text.strip():
            return text
        if not self.results:
            raise ModelFailed(
                f"{self.agent.model.name} ended without an answer",
                remedy="Ask again, or choose another model.",
            )
        return self._closing("The model ended without an answer. What the tools found:")

    def _limit(self, what: str) -> str:
        return self._closing(
            f"Stopped at the limit of {what} a question. What was found so far is kept:"
        )

    def _closing(self, head: str) -> str:
        text = f"{head}\n\n{summarise(self.results)}"
        self.emitter.emit(TextDelta, text=text)
        self.request.thread.append(Message(role="assistant", text=text))
        return text

    def _close_transcript(self) -> None:
        """Give every call that has no result one, so that the thread can go on."""
        if self.partial:
            self.request.thread.append(Message(role="assistant", text=self.partial))
            self.partial = ""
        for call in list(self.pending.values()):
            self._record(call, error_message(call.id, call.name, "Stopped before it finished."))

    def _plan_done(self) -> None:
        if self.plan.close():
            self._emit_plan()

    def _emit_plan(self) -> None:
        self.emitter.emit(PlanUpdated, steps=self.plan.steps())
