"""What a run is given: the question, what it may touch, and how far it may go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.agent.events import ApprovalRequested
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.tools.api import CancelToken, Images, ModelHost

Approve = Callable[[ApprovalRequested], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go: questions to the model, and tool calls."""

    steps: int = 20
    tool_calls: int = 25


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
