"""The viewer pack: commands with which the assistant works the window as a user does."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.viewer.plan import PLAN
from app.tools.viewer.tools import TOOLS


def register(registry: Registrar) -> None:
    """Add the viewer pack's tools and its plan to the registry."""
    for tool in TOOLS:
        registry.register(tool)
    registry.plan(PLAN)
