"""The run's language model for a tool that needs one; implements `app.tools.api.ToolModel`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, cast

from app.agent.loop.model_turn import ModelTurns
from app.agent.loop.tool_execution import in_thread, log_unexpected
from app.agent.messages import Message
from app.agent.privacy.model_pictures import make_pictures, may_send
from app.agent.privacy.record_content import WatchedRecords
from app.agent.privacy.send_consent import SendConsent
from app.errors import Cancelled
from app.tools.api import CancelToken, ToolFailed


def _end(answer: Future[str]) -> None:
    answer.cancel()


class ToolModelOf:
    """Asks the model on the loop's thread, for a tool in its own.

    Args:
        turns: Sends requests, counts and cleans them.
        consent: Asks the user whether the conversation may be sent.
        token: Cancels the request with the call.
        loop: The loop of the run.
        records: The records as the call reads them.
    """

    def __init__(
        self,
        turns: ModelTurns,
        consent: SendConsent,
        token: CancelToken,
        loop: asyncio.AbstractEventLoop,
        records: WatchedRecords,
    ) -> None:
        self._turns = turns
        self._consent = consent
        self._token = token
        self._loop = loop
        self._records = records

    @property
    def name(self) -> str:
        """The model's name."""
        return self._turns.model.name

    @property
    def sees(self) -> bool:
        """Return whether the model accepts pictures."""
        return self._turns.window.info.images

    @property
    def remote(self) -> bool:
        """Return whether the model runs on another machine."""
        return bool(self._turns.model.remote_host)

    def ask(self, prompt: str, *, system: str = "", images: Sequence[str] = ()) -> str:
        """Return the model's answer; see `app.tools.api.ToolModel`."""
        self._token.check()
        if images and not self.sees:
            raise ToolFailed(
                f"{self.name} accepts no pictures", remedy="Choose a model with vision."
            )
        return self._on_loop(self._answer(prompt, system, images))

    async def _answer(self, prompt: str, system: str, images: Sequence[str]) -> str:
        await self._consent.may_send()
        turns = self._turns
        asked = [item for item in turns.request.thread.history if item.role == "user"]
        known = asked[-1] if asked else Message(role="user")
        record = known.record
        if self._records.touched:
            content, error = await in_thread(lambda: self._records.content(prompt), "record")
            if content is None:
                log_unexpected("A prompt could not be cleaned", cast("BaseException", error))
                raise ToolFailed("what identifies the patient could not be told: nothing was sent")
            record = content
        message = Message(
            role="user",
            text=prompt,
            identifiers=known.identifiers,
            texts=known.texts,
            record=record,
        )
        if images:
            message = message.model_copy(update={"pictures": await self._pictures(images)})
        return await turns.ask(message, system, of_record=self._records.touched)

    async def _pictures(self, images: Sequence[str]) -> list[Any]:
        request, model = self._turns.request, self._turns.model
        ids = {str(note.get("path")): str(note.get("id")) for note in request.image_notes}
        wanted = [ids.get(name, name) for name in images]
        look = await make_pictures(request, wanted, exact=True)
        with self._consent.clock.paused():
            allowed = await may_send(
                request,
                look,
                model.name,
                model.remote_host,
                consents=self._turns.consents,
                emitter=self._turns.emitter,
            )
        if len(allowed) < len(set(wanted)):
            raise ToolFailed(f"not every picture may be shown to {model.name}, or can be made")
        return list(allowed)

    def _on_loop(self, work: Coroutine[Any, Any, str]) -> str:
        try:
            answer = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop has ended: nobody can be asked any more
            work.close()
            raise Cancelled from None
        self._token.on_cancel(partial(_end, answer))
        try:
            return answer.result()
        except CancelledError:
            raise Cancelled from None
