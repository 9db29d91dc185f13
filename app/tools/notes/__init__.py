"""The pack of the user's notes for all conversations: keep, list and delete them."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.notes.remember import PLAN, Forget, Remember, Remembered


def register(registry: Registrar) -> None:
    """Add the pack's tools and its plan to the registry."""
    for tool in (Remember(), Remembered(), Forget()):
        registry.register(tool)
    registry.plan(PLAN)
