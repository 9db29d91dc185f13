"""Compaction: shortens a transcript until it fits, in a fixed order and no further than needed.

`context_window` says what this promises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from app.agent.context.model_messages import NOTES, image_notes_text, marked_result
from app.agent.context.shortening import one_line, summary_line, to_text
from app.agent.messages import Message

LEAST_RESULT = 150
_RESULT_FRAME = 40  # tokens around a result
_STRIDE = 0.2  # of the room that is made at once where something has to give way
_TEXT_CHARS = 200
_QUESTION_CHARS = 120
_ARGUMENT_CHARS = 200

Tokens = Callable[[Message], float]


@dataclass(slots=True)
class _Entry:
    message: Message
    tokens: float
    group: int
    is_note: bool = False
    kept: bool = False
    reduced: bool = False


class Draft:
    """A transcript while it is shortened. Tokens are estimates before calibration.

    A group can only be left out as a whole: a question with its note about images, or an answer
    with the results of its calls.
    """

    def __init__(
        self,
        history: Iterable[tuple[Message, bool]],
        tokens: Tokens,
        limited: Callable[[Message, str, float], Message],
        ids: dict[str, str],
    ) -> None:
        self._tokens = tokens
        self._limited = limited
        self._ids = ids
        self._entries: list[_Entry] = []
        self._folded = 0
        group = 0
        for message, is_note in history:
            after_note = bool(self._entries) and self._entries[-1].is_note
            group += message.role != "tool" and not (message.role == "user" and after_note)
            self._entries.append(_Entry(message, tokens(message), group, is_note))
        self._keep()
        self.total = sum(entry.tokens for entry in self._entries)

    @property
    def shortened(self) -> int:
        """Return how many messages were shortened."""
        return self._folded + sum(entry.reduced for entry in self._entries)

    def messages(self) -> list[Message]:
        """Return the transcript as it is now."""
        made = [entry.message for entry in self._entries]
        return [self._fold_note(), *made] if self._folded else made

    def fit(self, room: float) -> bool:
        """Shorten it to at most `room` tokens; return False if that is impossible."""
        self._fit_kept(room)
        if self.total <= room:
            return True
        # In strides, so that what gives way stays the same for some requests: endpoints remember
        # the beginning that a request shares with the one before it.
        stride = room * _STRIDE
        wanted = self.total - math.ceil((self.total - room) / stride) * stride if room > 0 else room
        for step in (_summarised, _without_pictures, _fewer_notes, _short_text, _short_question):
            for entry in self._entries:
                if self.total <= wanted:
                    return True
                if not entry.kept or step is _fewer_notes:
                    self._replace(entry, step(entry, self._ids.get(entry.message.call_id, "")))
            if self.total <= room:
                return True
        return self._fold(room, wanted)

    def _keep(self) -> None:
        """Mark what stays: the question, the open images, and the calls not yet answered."""
        last = next((e for e in reversed(self._entries) if e.message.role != "tool"), None)
        note = next((e for e in reversed(self._entries) if e.is_note), None)
        question = next(
            (e for e in reversed(self._entries) if e.message.role == "user" and not e.is_note), None
        )
        for entry in self._entries:
            entry.kept = (
                entry is note or entry is question or entry.group == getattr(last, "group", 0)
            )

    def _fit_kept(self, room: float) -> None:
        """Give each unanswered result its share of the room, where these alone are too long."""
        kept = [entry for entry in self._entries if entry.kept]
        results = [entry for entry in kept if entry.message.role == "tool"]
        if sum(entry.tokens for entry in kept) <= room:
            return
        for entry in kept:
            self._replace(entry, _fewer_notes(entry, ""))
        left = room - sum(entry.tokens for entry in kept if entry.message.role != "tool")
        results.sort(key=lambda entry: entry.tokens)
        for number, entry in enumerate(results):
            share = left / (len(results) - number)
            if entry.tokens > share:
                limit = max(LEAST_RESULT, share - _RESULT_FRAME)
                ref = self._ids.get(entry.message.call_id, "")
                made = self._limited(entry.message, ref, limit)
                self._replace(entry, _as_shown(made))
            left -= entry.tokens

    def _replace(self, entry: _Entry, message: Message | None) -> None:
        if message is None or message == entry.message:
            return
        tokens = self._tokens(message)
        if tokens < entry.tokens:
            self.total += tokens - entry.tokens
            entry.message, entry.tokens, entry.reduced = message, tokens, True

    def _fold(self, room: float, wanted: float) -> bool:
        """Leave out whole groups, the oldest first, down to `wanted` tokens.

        A note replaces them.
        """
        self.total += self._tokens(self._fold_note())
        left: list[_Entry] = []
        folding = 0
        for entry in self._entries:
            if entry.kept or (self.total <= wanted and entry.group != folding):
                left.append(entry)
                continue
            folding = entry.group
            self._folded += 1
            self.total -= entry.tokens
        self._entries = left
        return self.total <= room

    def _fold_note(self) -> Message:
        text = f"(The {self._folded} oldest messages of this conversation are left out here.)"
        return Message(role="user", text=text)


def _summarised(entry: _Entry, ref: str) -> Message | None:
    message = entry.message
    if message.role != "tool":
        return None
    data: dict[str, Any] = message.data or {"summary": message.text}
    return _as_shown(retold(message, summary_line(data, ref), data))


def _without_pictures(entry: _Entry, _: str) -> Message | None:
    message = entry.message
    if not message.pictures:
        return None
    text = f"{message.text}\n(The pictures shown with this are left out here.)"
    return message.model_copy(update={"text": text, "pictures": []})


def _fewer_notes(entry: _Entry, _: str) -> Message | None:
    if not entry.is_note:
        return None
    text = image_notes_text(entry.message.images, NOTES)
    return entry.message.model_copy(update={"text": text})


def _short_text(entry: _Entry, _: str) -> Message | None:
    message = entry.message
    if message.role != "assistant":
        return None
    calls = [
        call.model_copy(
            update={
                "arguments": _short_strings(call.arguments),
                "raw": one_line(call.raw, _ARGUMENT_CHARS),
            }
        )
        for call in message.tool_calls
    ]
    text = one_line(message.text, _TEXT_CHARS)
    return message.model_copy(update={"text": text, "tool_calls": calls})


def _short_question(entry: _Entry, _: str) -> Message | None:
    message = entry.message
    if message.role != "user" or entry.is_note:
        return None
    return message.model_copy(update={"text": one_line(message.text, _QUESTION_CHARS)})


def _short_strings(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value, _ARGUMENT_CHARS) if len(value) > _ARGUMENT_CHARS else value
    if isinstance(value, dict):
        return {key: _short_strings(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short_strings(item) for item in value]
    return value


def retold(message: Message, made: dict[str, Any], data: dict[str, Any]) -> Message:
    """Return the message with another text for the model; programs still read the whole `data`."""
    return message.model_copy(update={"text": to_text(made), "data": data})


def _as_shown(message: Message) -> Message:
    return marked_result(message)
