"""Writing of a run's messages, so that the transcript is valid wherever the run ends.

Endpoints refuse a transcript in which a call has no result. Therefore every call gets exactly one
result, in the order of the calls, however the call ends.
"""

from __future__ import annotations

from collections import deque

from app.agent.context.model_messages import error_message
from app.agent.messages import Message, ToolCall
from app.agent.sessions import Thread

INTERRUPTED_ANSWER = "[This answer was interrupted.]"


class Transcript:
    """Writes the messages of one run into its conversation, a `Thread`.

    Attributes:
        not_run: The names of the tools whose calls were not run.
        answered: The ids of the calls with results, in the order of the calls.
    """

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._waiting: deque[ToolCall] = deque()
        self._results: dict[str, Message] = {}
        self.not_run: list[str] = []
        self.answered: list[str] = []

    def say(self, message: Message) -> None:
        """Add a message; if it contains calls, their results are expected next."""
        self._thread.append(message)
        self._waiting.extend(message.tool_calls)

    def answer(self, call: ToolCall, result: Message) -> None:
        """Record a call's result, and add it to the thread once all earlier calls have results."""
        self._results[call.id] = result
        while self._waiting and self._waiting[0].id in self._results:
            self.answered.append(self._waiting[0].id)
            self._thread.append(self._results.pop(self._waiting.popleft().id))

    def end_calls(self, why: str) -> None:
        """Give every call that has no result yet an error result: not run, for the reason `why`."""
        for call in [call for call in self._waiting if call.id not in self._results]:
            self.not_run.append(call.name)
            self.answer(call, error_message(call.id, call.name, why))

    def cut(self, partial: str, why: str) -> None:
        """Call `end_calls`, then add the unfinished answer `partial`, marked as interrupted."""
        self.end_calls(why)
        if partial:
            text = f"{partial.rstrip()}\n\n{INTERRUPTED_ANSWER}"
            self.say(Message(role="assistant", text=text))
