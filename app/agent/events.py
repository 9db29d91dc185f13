"""The events of a run: a tagged union, numbered without gaps.

Exactly one terminal event (run_finished, run_failed, run_cancelled) ends a run, always last.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.agent.answers.items import Item
from app.imaging.findings import Finding
from app.tools.api import Artifact


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    run_id: str
    seq: int
    time: str  # ISO 8601, UTC, milliseconds


class RunStarted(_Event):
    """A run began. `model` is the language model's name, `images` the ids of the open images."""

    kind: Literal["run_started"] = "run_started"
    thread_id: str
    question: str
    model: str
    images: list[str] = []


class TextDelta(_Event):
    """A piece of streamed text: of the answer, or of what the model writes before tool calls."""

    kind: Literal["text_delta"] = "text_delta"
    text: str


class ReasoningDelta(_Event):
    """A piece of the model's reasoning before its answer.

    The reasoning is shown collapsed and is not part of the answer.
    """

    kind: Literal["reasoning_delta"] = "reasoning_delta"
    text: str


class ModelRetry(_Event):
    """The endpoint failed; the request will be repeated after `wait_s` seconds.

    The text and reasoning streamed since the last event of any other kind are void and must no
    longer be shown; `withdrawn` says whether there are any.
    """

    kind: Literal["model_retry"] = "model_retry"
    attempt: int  # the one that follows, from 2
    attempts: int
    wait_s: float
    reason: str
    withdrawn: bool = False


class Noted(_Event):
    """A notice to the user during a run, such as "a model is loading" or "results were shortened".

    A `passing` notice describes only the current moment; the next event makes it obsolete.
    """

    kind: Literal["notice"] = "notice"
    text: str
    passing: bool = False


class Override(BaseModel):
    """A change that the packs' rules made to a decision of the language model.

    Attributes:
        rule: The kind of rule: "dependency" or "successor" (another tool must run before or after),
            "excluded" (by the tool's pack), "left_out" (by the question), "low_priority" (there is
            a better tool), "unsuitable" (for the image), "incomplete" (a needed tool has not run)
            or "empty_result" (the call found nothing).
        tool: The tool that the model wanted to call; "" if the model wanted to answer.
        instead: The tool that runs instead of `tool` or before it; "" for none.
        reason: One sentence for the user.
        context: What had been found when the rule acted: the tools that gave results.
        sub_goal: What `instead` is to do; "" if no tool runs instead.
    """

    model_config = ConfigDict(frozen=True)

    rule: str
    tool: str
    instead: str = ""
    reason: str
    context: str = ""
    sub_goal: str = ""


class PlanUpdated(_Event):
    """The plan was made or changed: its steps with their states, and the changes made by rules.

    Each step has "tool" (or the title of a step that the model wrote itself), "why" and "state"
    (pending, running, done, incomplete, failed, skipped). Where applicable it also has "by" (who
    added the step: "rules", "model", or "enforced" for rules that overrode the model), "verdict"
    (the reason for its state) and "after" (the numbers, from 1, of the steps it waits for). `goal`
    is "" during the run, then "done" or "incomplete"; `goal_why` says what is missing. While a plan
    is `held` no step begins.
    """

    kind: Literal["plan_updated"] = "plan_updated"
    steps: list[dict[str, Any]]
    held: bool = False
    overrides: list[Override] = []
    goal: Literal["", "done", "incomplete"] = ""
    goal_why: str = ""


class ToolStarted(_Event):
    """A tool call begins. `own` says whether the tool is one of the agent's own, not a pack's."""

    kind: Literal["tool_started"] = "tool_started"
    call_id: str
    tool: str
    arguments: dict[str, Any]
    own: bool = False


class ToolProgress(_Event):
    """The progress of a call: a fraction from 0 to 1 and a text."""

    kind: Literal["tool_progress"] = "tool_progress"
    call_id: str
    tool: str
    fraction: float
    text: str


class ToolFinished(_Event):
    """A tool call ended. Findings and artifacts are objects; `json_forms` converts them to JSON.

    `evidence` is the number of the result in the conversation, from 1, which answers cite as [1]; 0
    if there is no result. `items` is what the result holds, cited as [1.1], [1.2]. If a rule, the
    policy or the user prevented the call, `refused` says why and `status` is "failed".
    """

    kind: Literal["tool_finished"] = "tool_finished"
    call_id: str
    tool: str
    status: Literal["ok", "failed", "cancelled"]
    summary: str
    output: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    findings: list[Finding] = []
    artifacts: list[Artifact] = []
    error: str = ""
    refused: str = ""
    duration_s: float = 0.0
    evidence: int = 0
    items: list[Item] = []


class ApprovalRequested(_Event):
    """The run waits for the user's yes or no. `title` and `detail` are plain text.

    For a tool call, `tool`, `arguments` and `effect` (a value of `app.tools.api.Approval`) say
    exactly what would be done; for the consent to a remote model they are empty. `scopes` lists the
    answers offered besides a plain no: "once", and "session" for the same tool with the same
    arguments; a no with the scope "session" covers the tool with any arguments. `touches` lists the
    files and hosts that the call would reach, each with the fields what ("writes" or "sends to"),
    argument, shown (the whole path with links followed, or the host in its plain spelling) and note
    (what is unusual, or "").

    `about` says what the question is about: a call ("tool"); several calls together ("plan": each
    of `calls` has the fields call_id, tool, arguments, effect and touches; a yes covers exactly
    these, a no all of them, and a no with the scope "each" has every one asked about alone);
    whether a running tool may use an unsuitable image, whose id is `image` ("override": the default
    is no, and a yes holds for this image in this conversation); whether a conversation may be sent
    ("conversation"); whether what a patient's record says may be sent with it ("record"); whether
    `pictures` may be sent ("pictures"), and once more whether those that may show who the patient
    is may be sent ("risky_pictures"). For the last four, `host` and `model` say where to, and
    `sent` names the kinds of data in plain words. `pictures` lists exactly the pictures that would
    be sent, each with its PNG's path, caption, image_id and risk (why it needs a second yes, or
    ""). `warning` says what is wrong with the connection; "" if nothing is.
    """

    kind: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    title: str
    detail: str
    call_id: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    effect: str = ""
    scopes: list[Literal["once", "session", "each"]] = ["once"]
    touches: list[dict[str, str]] = []
    about: Literal[
        "tool", "plan", "override", "conversation", "record", "pictures", "risky_pictures"
    ] = "tool"
    calls: list[dict[str, Any]] = []
    image: str = ""
    host: str = ""
    model: str = ""
    sent: list[str] = []
    pictures: list[dict[str, str]] = []
    warning: str = ""


class ApprovalResolved(_Event):
    """The approval request `approval_id` was answered; the other fields are as in `Decision`."""

    kind: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    granted: bool
    reason: str = ""
    scope: Literal["once", "session", "each"] = "once"


class DataSent(_Event):
    """A request is about to leave the machine; emitted before its first byte is sent.

    `pictures` names the PNG files sent with it, each by the first 24 hex digits of its SHA-256.
    """

    kind: Literal["data_sent"] = "data_sent"
    host: str
    model: str
    characters: int
    pictures: list[str] = []


class Usage(_Event):
    """The tokens used by one answer of the language model and by the run so far.

    `estimated` is True if the endpoint gave no counts, so that the numbers are Sightline's own
    estimate. `cost` is the cost of the run so far in US dollars, or None if the model's prices are
    unknown. `context` is the share of the model's context that the request took, from 0 to 1.
    """

    kind: Literal["usage"] = "usage"
    input_tokens: int
    output_tokens: int
    estimated: bool = False
    run_input_tokens: int = 0
    run_output_tokens: int = 0
    cost: float | None = None
    context: float = 0.0


class Side(BaseModel):
    """One side of a disagreement: a tool, what it says in a clause, and the result's number.

    `items` are the ids ("3.2") of the result's items that it rests on; [] for the whole result.
    """

    model_config = ConfigDict(frozen=True)

    tool: str
    says: str
    evidence: int
    items: list[str] = []


class ToolsDisagree(BaseModel):
    """Results that contradict each other `about` something; each side stands, there is no vote.

    `image` names the image if it is not the current one.
    """

    model_config = ConfigDict(frozen=True)

    about: str
    sides: list[Side]
    image: str = ""


class RunFinished(_Event):
    """The last event of a run that ended with an answer.

    `stopped_by` names the limit that ended the run ("steps", "tool_calls", "tokens", "cost",
    "wall_time", "repeated_call", "cycle"), or is "" if the model ended it. At a limit, the answer
    sums up what was found so far. `cited` lists the numbers of the results that the run's texts
    cite; `unknown` lists what they cite and there is not: numbers of results, and ids of items
    as texts. `by_rules` says that rules alone answered, without a language model. `missing` lists
    the models, by the names on their model cards, without which a tool that the question needs
    could not be called. `disagreements` are those that the answer tells behind its text.
    """

    kind: Literal["run_finished"] = "run_finished"
    answer: str
    stopped_by: str = ""
    cited: list[int] = []
    unknown: list[int | str] = []
    by_rules: bool = False
    missing: list[str] = []
    disagreements: list[ToolsDisagree] = []


class RunFailed(_Event):
    """The last event of a run that failed, with the reason and a remedy for the user."""

    kind: Literal["run_failed"] = "run_failed"
    error: str
    remedy: str = ""


class RunCancelled(_Event):
    """The last event of a run that the user stopped."""

    kind: Literal["run_cancelled"] = "run_cancelled"


RunEvent = Annotated[
    RunStarted
    | TextDelta
    | ReasoningDelta
    | ModelRetry
    | Noted
    | PlanUpdated
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | DataSent
    | Usage
    | RunFinished
    | RunFailed
    | RunCancelled,
    Field(discriminator="kind"),
]

TERMINAL = ("run_finished", "run_failed", "run_cancelled")
