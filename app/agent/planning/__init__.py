"""Interpreting questions and planning the tool calls that answer them, by rules.

`Planner.interpret(question, scene)` is the one door: it reads a question once, and what it returns,
an `Intent` with its `ToolPlan`, is all that the other rooms know of the question. They import from
here, never from the modules behind it.
"""

from app.agent.planning.intent import Intent
from app.agent.planning.plan import (
    Absent,
    Blocked,
    Decision,
    Earlier,
    NoRule,
    OpenImage,
    Output,
    Reply,
    Scene,
    Step,
    ToolPlan,
    resolve,
)
from app.agent.planning.planner import PlannedCall, Planner, schema_of
from app.agent.planning.word_distance import edits, near_names

__all__ = [
    "Absent",
    "Blocked",
    "Decision",
    "Earlier",
    "Intent",
    "NoRule",
    "OpenImage",
    "Output",
    "PlannedCall",
    "Planner",
    "Reply",
    "Scene",
    "Step",
    "ToolPlan",
    "edits",
    "near_names",
    "resolve",
    "schema_of",
]
