"""Rules that interpret a question and plan the tool calls that answer it.

`Planner.interpret(question, scene)` is the only entry point: it returns an `Intent`, which contains
the plan of tool calls. Other packages import from here, not from the modules of this one.
"""

from app.agent.planning.patients import named_patients
from app.agent.planning.plan import (
    BlockedStep,
    Decision,
    EarlierOutput,
    Intent,
    MissingValue,
    NoRule,
    OpenImage,
    Output,
    Reply,
    Scene,
    Step,
    ToolPlan,
    resolve,
    typed_value,
)
from app.agent.planning.planner import PlannedCall, Planner, described, schema_of
from app.agent.planning.spelling import edit_distance, near_names
from app.agent.planning.vocabulary import Vocabulary, tokens_of

__all__ = [
    "BlockedStep",
    "Decision",
    "EarlierOutput",
    "Intent",
    "MissingValue",
    "NoRule",
    "OpenImage",
    "Output",
    "PlannedCall",
    "Planner",
    "Reply",
    "Scene",
    "Step",
    "ToolPlan",
    "Vocabulary",
    "described",
    "edit_distance",
    "named_patients",
    "near_names",
    "resolve",
    "schema_of",
    "tokens_of",
    "typed_value",
]
