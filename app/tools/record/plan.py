"""The record pack's plan: the words by which questions ask for its tools, and its texts."""

from __future__ import annotations

from app.tools.pack_plan import PackPlan

PLAN = PackPlan("record", title="Patient record", icon="file-text")
