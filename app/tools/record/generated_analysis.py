"""The tool `generate_and_run_analysis`: runs code that the model wrote, in a sandbox.

The code defines `analyze()` over read-only functions (`analysis_primitives`). What it returns,
prints and raises is its own word; only the app says whether it ran, and why it was stopped.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from app.errors import SightlineError
from app.tools.api import (
    Approval,
    JsonDict,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.record.analysis_data import GivenData, write_data
from app.tools.record.analysis_primitives import FUNCTIONS, KINDS
from app.tools.record.patient_results import UNLINKED
from app.tools.sandbox.backends import Backend
from app.tools.sandbox.jobs import Job, Limits, Outcome, make_job, remove_job
from app.tools.sandbox.sandbox import find_sandbox, run_job

_log = logging.getLogger(__name__)

NAME = "generate_and_run_analysis"
LIMITS = Limits()
MOST_CODE = 40_000
"""Characters: what can be shown whole when it is asked whether the code may run."""
_PRINTED = 8_000
_FOLDER = "generated-analysis-"


class AnalysisInput(ToolInput):
    """Arguments of `generate_and_run_analysis`."""

    code: str = Field(
        max_length=MOST_CODE,
        description="Python code that defines analyze(), without arguments, which returns a dict.",
    )
    description: str = Field(default="", description="What the analysis finds out, for the user.")
    patient_limit: int | None = Field(
        default=None, ge=1, description="Give the code only so many patients, the first by name."
    )


class AnalysisOutput(BaseModel):
    """Output of `generate_and_run_analysis`.

    Attributes:
        result: What `analyze()` returned; a picture in it is {"picture": name of the image}.
        printed: What the code printed.
        notes: What the code was not given.
    """

    result: JsonDict
    printed: str = ""
    notes: list[str] = []


def _functions() -> str:
    """Return the functions that the code may call, each with its arguments and what it returns."""
    lines: list[str] = []
    for name, function in FUNCTIONS.items():
        if name not in KINDS:
            given = [
                one.name if one.default is one.empty else f"{one.name}={one.default!r}"
                for one in inspect.signature(function).parameters.values()
            ]
            about = (function.__doc__ or "").splitlines()[0]
            lines.append(f"{name}({', '.join(given)}): {about}")
    lines.append(f"{', '.join(KINDS)}: as get_entries, of one kind.")
    return "\n".join(lines)


SPEC = ToolSpec(
    name=NAME,
    title="Run a generated analysis",
    icon="cpu",
    description=(
        "Runs Python code that you write, for questions over many patients or entries that no "
        "other tool answers. The code defines analyze(), which returns a dict; it runs once in a "
        "sandbox without network or files, for at most a minute, after the user has read and "
        "allowed it. numpy is np, pandas is pd. An entry is a dict with id, kind, name, codes "
        "(system, code, display), start, end, status, value (number, text, unit, low, high), "
        "components (name, codes, value), text, details. To have a picture looked at, return "
        "what load_dicom_image gave: the result has its id, for another tool. Functions:\n"
        + _functions()
    ),
    Input=AnalysisInput,
    Output=AnalysisOutput,
    approval=Approval.EXECUTE,
    timeout_s=LIMITS.seconds + 120.0,
    pack="record",
    phrases=("run an analysis", "generated analysis", "write code", "custom analysis"),
    paths={"code": "text", "description": "text"},
)


class GeneratedAnalysis:
    """The tool `generate_and_run_analysis`."""

    spec = SPEC

    def run(self, args: AnalysisInput, context: ToolContext) -> ToolResult:
        """Run the code; for errors see `app.tools.api.Tool.run`."""
        context.progress(0.0, "Testing the sandbox")
        sandbox = find_sandbox()
        started = time.monotonic()
        # In the conversation's own folder, which nobody else can read.
        for left in context.out_dir.glob(f"{_FOLDER}*"):  # by a program that was killed
            _remove(left)
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=context.out_dir))
        try:
            (folder / "input" / "data").mkdir(parents=True)
            context.progress(0.1, "Gathering the data")
            given = write_data(folder / "input" / "data", args.code, context, args.patient_limit)
            job = make_job(folder, args.code, primitives="app.tools.record.analysis_primitives")
            context.progress(0.3, "Running the code")
            outcome = _run(sandbox, job, context)
        finally:
            _remove(folder)
        if outcome.kind != "returned":
            raise _problem(outcome)
        output = AnalysisOutput(
            result=dict(outcome.value), printed=_cut(outcome.printed), notes=list(given.notes)
        )
        metadata: dict[str, Any] = {
            "sandbox": sandbox.name,
            "seconds": round(time.monotonic() - started, 2),
            "code_sha256": hashlib.sha256(args.code.encode()).hexdigest(),
            "patients": given.patients,
            "entries": given.entries,
        }
        text = _summary(outcome, given)
        # An analysis reads all records that are open, the chosen one among them.
        link = f"{UNLINKED} " if context.record_unlinked and given.patients else ""
        return ToolResult(f"{link}{text}", output.model_dump(), metadata)


def _remove(folder: Path) -> None:
    try:
        remove_job(folder)
    except OSError as error:  # the result stands; the next call tries again
        _log.warning("the folder of an analysis stays: %s", type(error).__name__)


def _run(sandbox: Backend, job: Job, context: ToolContext) -> Outcome:
    try:
        return run_job(sandbox, job, LIMITS, context.cancel)
    except OSError as error:
        raise ToolFailed("the sandbox could not be started", detail=type(error).__name__) from error


def _problem(outcome: Outcome) -> SightlineError:
    printed = f"\nIt printed:\n{_cut(outcome.printed)}" if outcome.printed.strip() else ""
    if outcome.kind == "raised":
        return ToolRetry(f"The analysis raised an error:\n{outcome.error}{printed}")
    return ToolRetry(
        f"The analysis was stopped: {outcome.reason}{printed}",
        remedy="Look at fewer patients, entries or images at once, and return less.",
    )


def _summary(outcome: Outcome, given: GivenData) -> str:
    keys = len(outcome.value)
    over = f"{given.patients:,} patients and {given.entries:,} entries"
    return f"The analysis ran over {over}, and returned {keys} values."


def _cut(text: str) -> str:
    return (
        text if len(text) <= _PRINTED else f"{text[:_PRINTED]}\n[cut after {_PRINTED:,} characters]"
    )
