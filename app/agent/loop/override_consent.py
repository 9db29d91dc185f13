"""Asks the user whether a tool may use an image that is not suitable for it.

The question consists of the tool's own fixed words and of what the file says; a language model
neither phrases nor answers it. A yes holds for this image and this objection in this conversation,
a no until the run ends, so that three tools on one image ask once.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.agent.approvals import ask
from app.agent.loop.emitter import Emitter
from app.agent.loop.limits import WaitClock, WallClock
from app.agent.policy import Grants
from app.agent.request import RunRequest
from app.errors import Cancelled
from app.imaging.types import ImageRef
from app.tools.api import CancelToken, Confirm


@dataclass(slots=True)
class Overrides:
    """The override questions of one run. Used on the loop's thread, except for the result of `of`.

    Attributes:
        request: The run.
        emitter: Emits each question.
        clock: Stopped while the user is waited for.
        grants: Remembers a yes for the conversation.
    """

    request: RunRequest
    emitter: Emitter
    clock: WallClock
    grants: Grants
    _no: set[tuple[ImageRef, str]] = field(default_factory=set[tuple[ImageRef, str]])
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def of(self, call_id: str, tool: str, token: CancelToken, waited: WaitClock) -> Confirm:
        """Return the function by which a call asks, from its own thread.

        Args:
            call_id: The call.
            tool: The tool's name.
            token: Ends the waiting when cancelled.
            waited: Measures the waiting.
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
        """Return the app's id of an image; "" if it is not open."""
        used = getattr(self.request.images, "used", None)
        facts: list[dict[str, Any]] = used() if used is not None and image is not None else []
        wanted = (image.sop_instance_uid, image.frame) if image is not None else ()
        same = (f for f in facts if (f.get("sop_instance_uid"), f.get("frame")) == wanted)
        return str(next(same, {}).get("id", ""))


def _end(answer: Future[bool]) -> None:
    answer.cancel()
