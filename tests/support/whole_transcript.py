"""The messages for a model when nothing has to be shortened."""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.context.model_messages import marked
from app.agent.messages import Message


def build_messages(system: str, history: Sequence[Message]) -> list[Message]:
    """The whole transcript as a model receives it."""
    return [Message(role="system", text=system), *(message for message, _ in marked(history))]
