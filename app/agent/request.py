"""The request of a run: the question, the files it may use, and its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

from app.agent.events import ApprovalRequested
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.records.types import NoRecords, Records
from app.tools.api import CancelToken, Images, ModelHost, Viewer, ViewPicture


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's answer to an approval request.

    Attributes:
        granted: Whether the user said yes.
        scope: "once" if the answer is for this call only. With "session", a yes also covers the
            same tool with the same arguments in this conversation until Sightline is closed; a no
            covers the tool with any arguments. A no with "each" decides nothing: the calls of a
            plan are asked about one by one.
        reason: Why the user said no, in their own words, for the model.
    """

    granted: bool
    scope: Literal["once", "session", "each"] = "once"
    reason: str = ""


Approve = Callable[[ApprovalRequested], Awaitable[Decision | bool]]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run. Reaching one ends the run with a summary of what was found.

    Attributes:
        steps: Maximum number of requests to the model.
        tool_calls: Maximum number of tool calls.
        calls_per_task: Maximum number of calls during one step of the plan; further calls are
            refused with the advice to continue with the next step.
        same_call: How many calls to the same tool with equal arguments end the run.
        tokens: Maximum number of tokens in requests and answers together; 0 for no limit.
        cost: Maximum cost in US dollars, for models whose prices are known; 0 for no limit.
        wall_s: Maximum duration in seconds, not counting time spent waiting for the user; 0 for no
            limit.
    """

    steps: int = 20
    tool_calls: int = 25
    calls_per_task: int = 5
    same_call: int = 3
    tokens: int = 500_000
    cost: float = 2.0
    wall_s: float = 900.0


class ImageNotes(Sequence[Mapping[str, Any]]):
    """Notes on images that are made when they are first read, in the thread of the run.

    Making them reads the tables of groups beside the images, which must not hold up the window.
    """

    def __init__(self, make: Callable[[], Sequence[Mapping[str, Any]]]) -> None:
        self._make = make

    @cached_property
    def _notes(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        """Return the number of notes."""
        return len(self._notes)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._notes[index]


@dataclass(frozen=True, slots=True)
class PlanEdit:
    """The user's changes to the plan of a running run.

    Attributes:
        kind: "hold" lets no further step begin, "go" ends that; "remove", "up", "down" and
            "change" are for a step that has not begun.
        index: The place of that step in the latest `PlanUpdated`, from 0.
        tool: Its tool or title, so that a plan that has changed meanwhile is left alone.
        argument: For "change": the name of one of the step's arguments.
        value: For "change": what the user typed for it.
    """

    kind: Literal["hold", "go", "remove", "up", "down", "change"]
    index: int = -1
    tool: str = ""
    argument: str = ""
    value: str = ""


class PlanEdits:
    """Hands the user's edits to the run; to be used on the thread of its loop."""

    def __init__(self) -> None:
        self.take: Callable[[PlanEdit], object] = lambda _edit: None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One question, with everything that may be used to answer it.

    Attributes:
        thread: The conversation, to which the run adds its messages.
        images: The images that tools may read.
        image_notes: Notes on the open images, the current one first, as in `Message.images`.
        out_dir: The run's output folder; created if it does not exist.
        host: Runs the tools' networks in processes of their own.
        models_dir: The folder that contains the user's model weights.
        device: "cpu", "cuda", "mps" or "auto".
        cancel: Stops the run; the loop also sets it when nobody reads its events any more.
        stop_after_tool: When set, the run ends as cancelled once the running calls have ended.
        approve: Answers an approval request; an exception counts as no.
        identifiers: Names, ids and dates of the patients whose images are open; removed from
            everything that a remote model receives, including free text.
        rejected_calls: Ids of earlier tool calls all of whose findings the user has rejected; they
            do not count as results.
        records: The patients' records that are open.
        record_patient: The id of the patient whose record is in use; "" for none.
        record_unlinked: Whether the user chose that record though it is not the shown study's.
        viewer: The window that the viewer's tools work; None if there is none.
        shown: What the window showed when the question was asked (`Viewer.state`).
        views: The same as pictures (`Viewer.pictures`), for a model with eyes.
        edits: Where the user's edits of the plan arrive.
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
    rejected_calls: tuple[str, ...] = ()
    records: Records = field(default_factory=NoRecords)
    record_patient: str = ""
    record_unlinked: bool = False
    viewer: Viewer | None = None
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    views: Sequence[ViewPicture] = ()
    stop_after_tool: CancelToken = field(default_factory=CancelToken)
    edits: PlanEdits = field(default_factory=PlanEdits)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its context: a `RunRequest` without run id, cancel token and approvals.

    The context is recorded on asking: a queued question is about the images open at that moment.
    """

    text: str
    thread: Thread
    images: Images
    image_notes: Sequence[Mapping[str, Any]]
    out_dir: Path
    host: ModelHost
    models_dir: Path
    device: str = "auto"
    identifiers: tuple[str, ...] = ()
    rejected_calls: tuple[str, ...] = ()
    records: Records = field(default_factory=NoRecords)
    record_patient: str = ""
    record_unlinked: bool = False
    viewer: Viewer | None = None
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    views: Sequence[ViewPicture] = ()

    def request(
        self,
        run_id: str,
        approve: Approve,
        cancel: CancelToken | None = None,
        stop_after_tool: CancelToken | None = None,
        edits: PlanEdits | None = None,
    ) -> RunRequest:
        """Return the request of the run that answers this question."""
        context: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(self)}
        return RunRequest(
            run_id=run_id,
            question=context.pop("text"),
            approve=approve,
            cancel=cancel or CancelToken(),
            stop_after_tool=stop_after_tool or CancelToken(),
            edits=edits or PlanEdits(),
            **context,
        )


def make_folder(path: Path) -> Path:
    """Create a run's output folder and return its absolute path.

    Raises:
        FileProblem: The folder cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise FileProblem(
            f"the output folder cannot be made ({error.strerror or type(error).__name__})",
            subject=str(path),
            remedy="Choose a folder with free space that you may write to.",
        ) from error
    return path.absolute()
