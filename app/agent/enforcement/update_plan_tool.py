"""`update_plan`: the loop's own tool by which a language model writes its plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.agent.enforcement.plan_checklist import PlannedStep, PlanState
from app.tools.api import Approval, ToolContext, ToolResult, ToolSpec

OWN = "sightline"  # the pack of the loop's own tools


class PlanInput(BaseModel):
    """The arguments of `update_plan`: the whole plan, which replaces the previous one."""

    model_config = ConfigDict(extra="forbid")

    steps: Annotated[list[PlannedStep], Field(max_length=20, description="All steps, in order")]


class PlanOutput(BaseModel):
    """The empty output of `update_plan`; the plan is shown to the user instead."""


SPEC = ToolSpec(
    name="update_plan",
    description=(
        "Show the user your plan. Call it first when a question needs several tools, and again "
        "whenever a step begins or ends. Send all steps each time; one at most is running. Name "
        "in each step the tools it needs, and the steps whose results it waits for. Each step has "
        "its own small budget of tool calls. Not for questions that need one tool or none."
    ),
    Input=PlanInput,
    Output=PlanOutput,
    approval=Approval.READ,
    timeout_s=10.0,
    pack=OWN,
    sequential=True,
)

Check = Callable[[Sequence[PlannedStep]], tuple[list[PlannedStep], list[str]]]
"""Checks a plan against the packs' rules; returns the corrected plan and notes on corrections."""


class UpdatePlan:
    """The tool `update_plan`, with which a language model writes its plan for one run."""

    spec = SPEC

    def __init__(self, plan: PlanState, check: Check | None = None) -> None:
        self._plan = plan
        self._check = check

    def run(self, args: PlanInput, context: ToolContext) -> ToolResult:
        """Check the model's plan and make it the run's plan.

        Raises:
            ToolRetry: The plan names unknown tools, or its steps wait for each other in a circle.
        """
        steps, notes = args.steps, list[str]()
        if self._check is not None:
            steps, notes = self._check(steps)
        self._plan.write(steps)
        done = sum(step.state in ("done", "failed", "skipped") for step in args.steps)
        told = f"The user sees the plan: {done} of {len(args.steps)} steps ended."
        return ToolResult(" ".join([told, *notes]), {}, {})
