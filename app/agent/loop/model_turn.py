"""`process`: asks the model for its next message and streams it.

An answer counts only when it is complete: only then does `tool_calls` make its calls. A stream that
breaks has therefore had no effect, and the request may be repeated.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from app.agent.answers.claims import StreamedMarks
from app.agent.context.context_window import ContextWindow, Prompt
from app.agent.context.model_messages import OWN_WORDS, memory_text
from app.agent.context.shortening import text_tokens
from app.agent.events import DataSent, ModelRetry, Noted, ReasoningDelta, TextDelta, Usage
from app.agent.llm.base import (
    Call,
    Claimed,
    LanguageModel,
    ModelEvent,
    ModelFailed,
    Note,
    Plan,
    Reasoning,
    StatedClaim,
    Text,
    Tokens,
    ToolSchema,
    set_resend_check,
)
from app.agent.loop.available_tools import READ_RESULT
from app.agent.loop.available_tools import cleaned as without_paths
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import Meter, Stop
from app.agent.loop.retry import Retry
from app.agent.loop.tool_execution import in_thread
from app.agent.messages import Message, Picture, ToolCall
from app.agent.privacy.consents import Consents, Target
from app.agent.privacy.record_placeholders import RULES, RestoredStream
from app.agent.privacy.redaction import Redactor
from app.agent.privacy.send_consent import SendConsent
from app.agent.request import RunRequest
from app.tools.api import ToolFailed

CANCEL_GRACE_S = 0.4
"""Seconds that a model may take to end its stream when told to; then it is abandoned."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_SPEAKER = re.compile(r"\A\s*([*_]{0,3})sightline\s*(?::\s*\1|\1\s*:)\s*", re.IGNORECASE)
"""The program's name as the speaker, with which small models begin an answer of theirs."""
_LABEL_CHARS = 40
_SHORTENED = f"{READ_RESULT}(id="
"""A part of the notice in a result that was shortened."""
SMALLER = 2
"""Maximum number of times a request is shortened because the endpoint found it too long."""


@dataclass(slots=True)
class Reply:
    """The model's answer to one request, as received so far.

    Attributes:
        calls: The tool calls received completely; they do not run before the stream has ended.
        later: Notes and plans to emit once the answer is complete.
        tokens: The token counts reported by the endpoint; None if it has reported none.
        over: Whether the stream has ended or was abandoned, so that anything more is ignored.
        held: The first characters of the text, held back while they may be the label "Sightline:",
            which is removed because it stands for the program.
        quiet: Whether it answers a tool, so that nobody is shown it while it comes.
        stream: Puts the record's dates and names back into the text.
        marks: Marks what no result supports before it is shown; None for no marks.
        claims: The statements of the text as the model lists them, if it was asked to.
    """

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    later: list[Note | Plan] = field(default_factory=list[Note | Plan])
    tokens: Tokens | None = None
    over: bool = False
    held: str = ""
    quiet: bool = False
    stream: RestoredStream | None = None
    marks: StreamedMarks | None = None
    claims: tuple[StatedClaim, ...] = ()

    @property
    def streamed(self) -> bool:
        """Return whether any text or reasoning was streamed, so that the user has seen it."""
        return bool(self.text or self.reasoning)


@dataclass(slots=True)
class ModelTurns:
    """Requests the messages of one run, one after another, from one model.

    Attributes:
        clean_notes: Whether free text of records is sent, cleaned, rather than held back.
        marks: Returns what marks the text of one answer before it is shown; None for nothing.
        refit: Offers anew the tools that fit, after the context turned out to be smaller.
        told_shortened: Whether the user has been told that the context was shortened.
        redactor: Removes identifiers for a remote model; None until the first request.
        offered: The tool schemas as they are sent, with identifiers removed for a remote model.
        claims: The statements of the last answer as the model listed them.
        refused: Answers of this run that were not accepted, which the user has read.
        memory: The user's notes, a line each; identifiers in them are removed for a remote model.
    """

    request: RunRequest
    model: LanguageModel
    window: ContextWindow
    retry: Retry
    emitter: Emitter
    meter: Meter
    set_plan: Callable[[Plan], None]
    consents: Consents
    asking: SendConsent
    clean_notes: bool = False
    refit: Callable[[], None] = lambda: None
    marks: Callable[[], StreamedMarks | None] = lambda: None
    reply: Reply = field(default_factory=Reply)
    told_shortened: bool = False
    redactor: Redactor | None = None
    system: str = ""
    offered: list[ToolSchema] = field(default_factory=list[ToolSchema])
    refused: list[str] = field(default_factory=list[str])
    memory: str = ""
    claims: tuple[StatedClaim, ...] = ()
    _urged: list[Message] = field(default_factory=list[Message])
    _record_allowed: bool = True
    _told_full: bool = False
    _reader: list[ToolSchema] = field(default_factory=list[ToolSchema])
    """The tool that reads results which were shortened, until there is one."""

    def offer(self, system: str, schemas: list[ToolSchema]) -> None:
        """Set the system prompt and the tools of the run."""
        self.system = system
        if self.model.remote_host:
            # By no patient's name: what is missing in a text that others know would tell it.
            schemas = without_paths(schemas, Redactor([]).text)
        self.offered = [item for item in schemas if item.name != READ_RESULT]
        self._reader = [item for item in schemas if item.name == READ_RESULT]

    def urge(self, text: str, why: str) -> None:
        """Tell the model in the next request, by `why`, that its answer `text` is not accepted.

        `why` gives the reason and what to do. Nothing of this is stored in the conversation.
        """
        asked = next(item for item in reversed(self.request.thread.history) if item.role == "user")
        told = asked.model_copy(update={"text": f"{OWN_WORDS} {why}", "pictures": []})
        self._urged = [Message(role="assistant", text=text.strip() or "(no answer)"), told]
        self.refused.append(text)

    async def process(self) -> Message | Stop:
        """Ask for the next message, retrying; return it, or the limit that forbids asking."""
        prompt = await self._prompt()
        stop = self.meter.step(prompt.tokens)
        if stop is not None:
            return stop
        smaller = 0
        for attempt in count(1):
            self._may_send()
            self.reply = reply = Reply()
            try:
                self._tell_sent(prompt)
                await self._listen(prompt, reply)
                break
            except ModelFailed as error:
                if error.too_long and not reply.streamed and smaller < SMALLER:
                    smaller += 1
                    self.window.overflowed(prompt, error.too_long)
                    self.refit()
                    prompt = await self._prompt()
                    continue
                wait_s = self.retry.wait_s(attempt, error)
                if wait_s is None:
                    raise self.retry.given_up(attempt, error) from error
                self._withdraw(reply, error, attempt + 1, wait_s)
                if reply.streamed:
                    self._account(reply, prompt)
                await self.retry.sleep(wait_s)
        self._account(self.reply, prompt)
        return self._accepted(self.reply)

    async def ask(self, message: Message, system: str, *, of_record: bool = False) -> str:
        """Return the model's answer to one message of a tool, outside the conversation.

        `of_record`: whether the tool has read patients' records.

        Raises:
            ToolFailed: The user does not allow the record to be sent, a limit of the run is
                reached, or the model gave no text.
            ModelFailed: The model failed for good, or may not be sent anything.
        """
        redactor = None
        if self.model.remote_host:
            history = [*self.request.thread.history, message]
            if of_record and not await self.asking.may_send_record(notes=self.clean_notes):
                raise ToolFailed("the user does not allow the patient's record to be sent")
            cleaned, error = await in_thread(lambda: self._clean(history), "redaction")
            if isinstance(error, BaseException):
                raise error
            redactor = self.redactor = cleaned
        prompt = self.window.build(
            redactor.text(system) if redactor else system,
            [message],
            redactor=redactor,
            pictures=self._may_see,
        )
        reply = Reply(quiet=True)
        for attempt in count(1):
            stop = self.meter.spent(prompt.tokens)
            if stop is not None:
                raise ToolFailed(f"the language model was not asked: {stop.text}")
            self._may_send()
            reply = Reply(quiet=True)
            try:
                self._tell_sent(prompt)
                await self._listen(prompt, reply, ())
                break
            except ModelFailed as error:
                wait_s = self.retry.wait_s(attempt, error)
                if wait_s is None:
                    raise self.retry.given_up(attempt, error) from error
                await self.retry.sleep(wait_s)
        self._account(reply, prompt)
        if redactor is not None and redactor.placeholders is not None:
            reply.text = redactor.placeholders.restored(reply.text, names=True)
        if not reply.text.strip():
            raise ToolFailed(f"{self.model.name} gave no answer", remedy="Ask again.")
        return reply.text.strip()

    async def _prompt(self) -> Prompt:
        """Return the request: all of the thread that fits, without what identifies a patient."""
        history = [*self.request.thread.history, *self._urged]
        if self.model.remote_host:
            of_record = any(item.role == "tool" and item.record is not None for item in history)
            allowed = not of_record or await self.asking.may_send_record(notes=self.clean_notes)
            if self.redactor is not None:
                self.redactor.allow_record(allowed)
            self._record_allowed = allowed
            # A second for each megabyte that is new: on the loop it would hold up a cancel.
            cleaned, error = await in_thread(lambda: self._clean(history), "redaction")
            if isinstance(error, BaseException):
                raise error
            self.redactor = cleaned
        prompt = self._built(history)
        if self._reader and any(_SHORTENED in item.text for item in prompt.messages):
            self.offered, self._reader = [*self.offered, *self._reader], []
            prompt = self._built(history)
        if prompt.notice and not self.told_shortened:
            self.told_shortened = True
            self.emitter.emit(Noted, text=prompt.notice)
        full = prompt.use.warning and not (self.window.info.rules or self.told_shortened)
        if full and not self._told_full:
            self._told_full = True
            self.emitter.emit(Noted, text=prompt.use.warning)
        return prompt

    def _built(self, history: Sequence[Message]) -> Prompt:
        told = self.redactor is not None and self.redactor.placeholders is not None
        notes = self.redactor.text(self.memory) if self.redactor else self.memory
        system = "\n\n".join(filter(None, (self.system, memory_text(notes), RULES if told else "")))
        return self.window.build(
            system, history, self.offered, redactor=self.redactor, pictures=self._may_see
        )

    def _clean(self, history: list[Message]) -> Redactor:
        """Return the run's redactor after it has cleaned all of the thread."""
        redactor = self.redactor or Redactor(
            history,
            self.request.identifiers,
            conversation=self.request.thread.thread_id,
            notes=self.clean_notes,
        )
        redactor.allow_record(self._record_allowed)
        redactor.messages(history)
        return redactor

    def _may_send(self) -> None:
        """Check that the consent to send still holds; raise ModelFailed if withdrawn."""
        host, thread_id = self.model.remote_host, self.request.thread.thread_id
        if not host:
            return
        if not self.consents.given(thread_id, host, self.model.name):
            raise ModelFailed(
                f"You withdrew what {host} was allowed. Nothing more was sent",
                remedy="Ask again and allow it, or choose a model on this machine.",
            )

    def _may_see(self, picture: Picture) -> bool:
        """Return whether the model may get this picture: it runs here, or the user allowed it."""
        host, thread_id = self.model.remote_host, self.request.thread.thread_id
        return not host or self.consents.sees(Target(thread_id, host, self.model.name), picture)

    def _tell_sent(self, prompt: Prompt) -> None:
        """Record and show that a request leaves the machine, before it does.

        Raises:
            ModelFailed: The audit log cannot be written.
        """
        if not self.model.remote_host:
            return
        sent = [picture.path for message in prompt.messages for picture in message.pictures]
        self.emitter.emit(
            DataSent,
            host=self.model.remote_host,
            model=self.model.name,
            characters=sum(len(message.text) for message in prompt.messages),
            pictures=[Path(path).stem for path in sent],
        )
        if self.emitter.unaudited:
            raise ModelFailed("Nothing was sent", remedy=self.emitter.unaudited)

    def _tell_again(self, prompt: Prompt) -> None:
        """Record that a request is sent again; raise ModelFailed without consent or log."""
        self._may_send()
        self._tell_sent(prompt)

    async def _listen(
        self, prompt: Prompt, reply: Reply, tools: Sequence[ToolSchema] | None = None
    ) -> None:
        """Read one stream to its end, in a task that can be abandoned if it ignores a cancel."""
        offered = self.offered if tools is None else tools
        pump = asyncio.create_task(self._pump(prompt, reply, offered))
        pump.add_done_callback(_look)
        try:
            await asyncio.wait({pump})
        finally:
            reply.over = True
            if not pump.done():
                pump.cancel()
                await asyncio.wait({pump}, timeout=CANCEL_GRACE_S)
        if pump.cancelled():
            raise ModelFailed(f"{self.model.name} broke off", remedy="Ask again.")
        pump.result()

    async def _pump(self, prompt: Prompt, reply: Reply, tools: Sequence[ToolSchema]) -> None:
        set_resend_check(lambda: self._tell_again(prompt))
        stream = self.model.stream(prompt.messages, tools)
        try:
            async for event in stream:
                if reply.over:
                    return
                self._hear(event, reply)
            self._say("", reply, whole=True)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _hear(self, event: ModelEvent, reply: Reply) -> None:
        match event:
            case Text(text):
                self._say(text, reply)
            case Reasoning(text):
                if text:
                    reply.reasoning += text
                if text and not reply.quiet:
                    self.emitter.emit(ReasoningDelta, text=text)
            case Call(call):
                reply.calls.append(call)
            case Tokens():
                reply.tokens = event
            case Claimed(claims):
                # What stands for a record's dates and names is put back into the text alone.
                reply.claims = claims if reply.stream is None else ()
            case Note(text, passing) if not reply.streamed:
                self.emitter.emit(Noted, text=text, passing=passing)
            case Note(passing=True):
                pass  # the answer has begun: nothing is waited for any more
            case Note() | Plan():
                # Not between pieces of text: they stay together, so that they can be withdrawn.
                reply.later.append(event)

    def _say(self, text: str, reply: Reply, *, whole: bool = False) -> None:
        redactor = self.redactor
        if redactor is not None and redactor.placeholders is not None and not reply.quiet:
            reply.stream = reply.stream or RestoredStream(redactor.placeholders)
            text = reply.stream.take(text, whole=whole)
        if not reply.text:
            reply.held += text
            letters = re.sub(r"[\s*_]", "", reply.held).casefold()
            if not whole and "sightline:".startswith(letters) and len(reply.held) < _LABEL_CHARS:
                return
            text, reply.held = _SPEAKER.sub("", reply.held), ""
        if text and not reply.text and not reply.quiet:
            reply.marks = self.marks()
        reply.text += text
        if reply.marks is not None:
            text = reply.marks.take(text, whole=whole)
        if text and not reply.quiet:
            self.emitter.emit(TextDelta, text=text)

    def flush(self) -> None:
        """Show what is held back of the answer that streams now, because it goes on no more."""
        if self.reply.marks is not None and (text := self.reply.marks.take("", whole=True)):
            self.emitter.emit(TextDelta, text=text)

    def _withdraw(self, reply: Reply, error: ModelFailed, attempt: int, wait_s: float) -> None:
        """Withdraw the half that was streamed, so that the transcript never holds both."""
        self.reply = Reply()
        self.emitter.emit(
            ModelRetry,
            attempt=attempt,
            attempts=self.retry.attempts,
            wait_s=round(wait_s, 3),
            reason=error.reason,
            withdrawn=reply.streamed,
        )

    def _account(self, reply: Reply, prompt: Prompt) -> None:
        """Count the tokens of an answer, by our own estimate where the endpoint gave no count."""
        counted = reply.tokens
        if counted is not None:
            self.window.learn(prompt, counted.input_tokens)
        elif not self.window.info.metered:
            return
        else:
            said = " ".join(f"{call.name} {call.raw or call.arguments}" for call in reply.calls)
            said = f"{reply.reasoning} {reply.text} {said}"
            answer = text_tokens(said, self.window.info.chars_per_token)
            counted = Tokens(prompt.tokens, round(answer))
        self.meter.used(counted.input_tokens, counted.output_tokens)
        self.emitter.emit(
            Usage,
            input_tokens=counted.input_tokens,
            output_tokens=counted.output_tokens,
            estimated=reply.tokens is None,
            run_input_tokens=self.meter.input_tokens,
            run_output_tokens=self.meter.output_tokens,
            cost=self.meter.cost,
            context=round(prompt.use.share, 3),
        )

    def _accepted(self, reply: Reply) -> Message:
        """Return the message of a complete answer, to be added to the transcript at once."""
        for event in reply.later:
            if isinstance(event, Note):
                self.emitter.emit(Noted, text=event.text)
            else:
                self.set_plan(event)
        known = {item.call_id for item in self.request.thread.history}
        calls = [_named(call, known, self.redactor) for call in reply.calls]
        message = Message(role="assistant", text=reply.text, tool_calls=calls)
        self.claims = reply.claims
        self.reply, self._urged = Reply(), []
        return message


def _named(call: ToolCall, known: set[str], redactor: Redactor | None) -> ToolCall:
    """Return the call with a valid id and, from a remote model, with real paths again.

    An id that another endpoint could refuse is replaced (OpenAI takes at most 40 characters, vLLM
    makes 46).
    """
    changed: dict[str, Any] = {}
    if not _CALL_ID.fullmatch(call.id) or call.id in known:
        changed["id"] = f"call-{uuid4().hex}"
    if redactor is not None:
        changed["arguments"] = redactor.restored(call.arguments)
    named = call.model_copy(update=changed) if changed else call
    known.add(named.id)
    return named


def _look(task: asyncio.Task[None]) -> None:
    """Read the result of an abandoned task, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()
