"""The request of a run: the question, the files it may use, and its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.agent.events import ApprovalRequested
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.tools.api import CancelToken, Images, ModelHost


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's answer to an approval request.

    Attributes:
        granted: Yes or no.
        scope: A yes for this call ("once"), or also for the same tool with the same arguments in
            this conversation until Sightline is closed ("session"). A no for "session" is one to
            the tool, whatever its arguments.
        reason: Why not, in the user's words, for the model.
    """

    granted: bool
    scope: Literal["once", "session"] = "once"
    reason: str = ""


Approve = Callable[[ApprovalRequested], Awaitable[Decision | bool]]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run. Reaching one ends it with a summary of what was found.

    Attributes:
        steps: Requests to the model.
        tool_calls: Calls of tools.
        calls_per_task: Calls during one step of the plan; further ones are refused with the advice
            to go on with the next step.
        same_call: The number of equal calls, with equal arguments, that ends the run.
        tokens: Tokens of requests and answers together; 0 for no limit.
        cost: US dollars, for models whose prices are known; 0 for no limit.
        wall_s: Seconds, without the time spent waiting for the user; 0 for no limit.
    """

    steps: int = 20
    tool_calls: int = 25
    calls_per_task: int = 5
    same_call: int = 3
    tokens: int = 500_000
    cost: float = 2.0
    wall_s: float = 900.0


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One question, with everything that answering it may touch.

    Attributes:
        run_id: Unique id of the run.
        thread: The conversation; the run appends to it.
        question: The user's text.
        images: The images that tools may read.
        image_notes: What is open, the current image first, as in `Message.images`.
        out_dir: The run's output folder; made if it is not there.
        host: The model process.
        models_dir: Where the user's weights lie.
        device: "cpu", "cuda", "mps" or "auto".
        cancel: Stops the run; set by the loop itself when its consumer goes away.
        stop_after_tool: Once set, the run ends as cancelled after the calls that run now.
        approve: Answers an approval request; an exception counts as no.
        identifiers: Names, ids and dates of the open patients, removed from all that a remote
            model gets, free text included.
    """

    run_id: str
    thread: Thread
    question: str
    images: Images
    image_notes: Sequence[Mapping[str, Any]]
    out_dir: Path
    host: ModelHost
    models_dir: Path
    device: str
    cancel: CancelToken
    approve: Approve
    identifiers: tuple[str, ...] = ()
    stop_after_tool: CancelToken = field(default_factory=CancelToken)


def make_folder(path: Path) -> None:
    """Make a run's output folder.

    Raises:
        FileProblem: It cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise FileProblem(
            f"the output folder cannot be made ({error.strerror or type(error).__name__})",
            subject=str(path),
            remedy="Choose a folder with free space that you may write to.",
        ) from error
