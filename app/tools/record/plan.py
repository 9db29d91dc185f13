"""The record pack's plan: the words by which questions ask for its tools, and its texts."""

from __future__ import annotations

from app.tools.pack_plan import PackPlan, ToolRule

PLAN = PackPlan(
    "record",
    title="Patient record",
    icon="file-text",
    tools=(ToolRule("calculate_clinical_score", why="computes the score from given values"),),
)
