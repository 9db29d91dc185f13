"""`update_plan`: the loop's own tool by which a language model tells what it means to do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.agent.plan_state import PlanState, Written
from app.tools.api import Approval, ToolContext, ToolResult, ToolSpec

OWN = "sightline"  # the pack of the loop's own tools
CHECK = "check_answer"
"""A call that the loop itself makes, to tell the model why its answer does not count yet."""

State = Literal["pending", "running", "done", "failed", "skipped"]


class PlanStep(BaseModel):
    """A step of the plan."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=120, description="What is to be found")]
    state: State = "pending"


class PlanInput(BaseModel):
    """The whole plan; it replaces the one before."""

    model_config = ConfigDict(extra="forbid")

    steps: Annotated[list[PlanStep], Field(max_length=20, description="All steps, in order")]


class PlanOutput(BaseModel):
    """Nothing: the plan is shown to the user."""


SPEC = ToolSpec(
    name="update_plan",
    description=(
        "Show the user your plan. Call it first when a question needs several tools, and again "
        "whenever a step begins or ends. Send all steps each time; one at most is running. Each "
        "step has its own small budget of tool calls. Not for questions that need one tool or none."
    ),
    Input=PlanInput,
    Output=PlanOutput,
    approval=Approval.READ,
    timeout_s=10.0,
    pack=OWN,
    sequential=True,
)


class UpdatePlan:
    """The tool, for one run: it writes that run's plan, which the loop then shows."""

    spec = SPEC

    def __init__(self, plan: PlanState) -> None:
        self._plan = plan

    def run(self, args: PlanInput, context: ToolContext) -> ToolResult:
        """Take the plan."""
        self._plan.write(Written(step.title, step.state) for step in args.steps)
        done = sum(step.state in ("done", "failed", "skipped") for step in args.steps)
        told = f"The user sees the plan: {done} of {len(args.steps)} steps ended."
        return ToolResult(told, {}, {})
