"""The record pack of tools: what a patient's record says, and scores computed from it."""

from __future__ import annotations

from app.tools.api import Registrar
from app.tools.mcp.server_tools import AnalyzeMedicalDocument
from app.tools.record import clinical_notes, ecg, history, imaging, medications, patient_data
from app.tools.record.clinical_score import ClinicalScore
from app.tools.record.generated_analysis import GeneratedAnalysis
from app.tools.record.patient_score import CALCULATE_PATIENT_SCORE
from app.tools.record.plan import PLAN


def register(registry: Registrar) -> None:
    """Add the record pack's tools and its plan to the registry."""
    groups = (patient_data, history, clinical_notes, medications, imaging, ecg)
    for tool in (tool for group in groups for tool in group.TOOLS):
        registry.register(tool)
    registry.register(ClinicalScore())
    registry.register(CALCULATE_PATIENT_SCORE)
    registry.register(GeneratedAnalysis())
    registry.register(AnalyzeMedicalDocument())
    registry.plan(PLAN)
