"""The diagnosis pack: a differential diagnosis computed from published likelihood ratios."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.diagnosis import differential_tool, protocol
from app.tools.diagnosis.plan import PLAN


def register(registry: Registrar) -> None:
    """Add the diagnosis pack's tools and its plan to the registry."""
    for tool in (*differential_tool.TOOLS, *protocol.TOOLS):
        registry.register(tool)
    registry.plan(PLAN)
