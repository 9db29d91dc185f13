"""The diagnosis pack: a differential diagnosis computed from published likelihood ratios."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.diagnosis import protocol


def register(registry: Registrar) -> None:
    """Add the diagnosis pack's tools to the registry."""
    for tool in protocol.TOOLS:
        registry.register(tool)
