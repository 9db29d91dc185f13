"""The record pack of tools: what a patient's record says, and scores computed from it."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.record.clinical_score import ClinicalScore
from app.tools.record.plan import PLAN


def register(registry: Registrar) -> None:
    """Add the record pack's tools and its plan to the registry."""
    registry.register(ClinicalScore())
    registry.plan(PLAN)
