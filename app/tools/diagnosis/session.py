"""The session of a diagnosis: its steps, in a file `{session_id}.json` that others can read.

The session's id is the conversation's: whoever runs the assistant holds it, no language model sees
it, and sessions side by side cannot mix.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import FileProblem
from app.paths import data_dir
from app.user_files import read_regular, write_atomic

_MAX_BYTES = 16 * 2**20
_LOCK = threading.Lock()
_REMEDY = "Move the file away to begin a new session under this id."


class Step(BaseModel):
    """One step: what was learned, the differential then, and what was done next."""

    model_config = ConfigDict(extra="forbid")

    step_number: int
    new_information: str
    current_uncertainties: list[str]
    next_step_action: str


class FinalDiagnosis(BaseModel):
    """The end of a session: the diagnosis, and how it was made from the steps.

    `model` wrote it from `synthesis_prompt`; both are "" if it is the leading disease of the last
    differential, because no language model was there.
    """

    model_config = ConfigDict(extra="forbid")

    reason_ready: str
    diagnosis: str
    synthesis_prompt: str = ""
    model: str = ""


class DiagnosisSession(BaseModel):
    """A session as its file has it."""

    model_config = ConfigDict(extra="forbid")

    session_id: str
    steps: list[Step] = []
    accumulated_notes: str = ""
    current_uncertainties: list[str] = []
    final_diagnosis: FinalDiagnosis | None = None

    @property
    def end(self) -> FinalDiagnosis | None:
        """The final diagnosis, or None; `final_diagnosis` is what the file calls it."""
        return self.final_diagnosis


def session_file(session_id: str) -> Path:
    """Return the path of a session's file.

    Raises:
        ValueError: The id is no plain name.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}", session_id):
        raise ValueError(f"not the id of a session: {session_id!r}")
    return data_dir() / "diagnosis_sessions" / f"{session_id}.json"


def session_ids() -> list[str]:
    """Return the ids of all sessions with a file, the latest first."""
    found: list[tuple[float, str]] = []
    for path in (data_dir() / "diagnosis_sessions").glob("*.json"):
        try:
            found.append((path.stat().st_mtime, path.stem))
        except OSError:
            continue  # deleted meanwhile
    return [name for _time, name in sorted(found, reverse=True)]


def load_session(session_id: str) -> DiagnosisSession:
    """Return a session; an empty one if it has no file yet.

    Raises:
        FileProblem: Its file cannot be read.
    """
    path = session_file(session_id)
    try:
        return DiagnosisSession.model_validate_json(read_regular(path, _MAX_BYTES))
    except FileNotFoundError:
        return DiagnosisSession(session_id=session_id)
    except OSError as error:
        reason = f"the diagnosis session cannot be read ({error.strerror})"
        raise FileProblem(reason, subject=str(path), remedy=_REMEDY) from error
    except ValidationError as error:
        reason = "this is not the file of a diagnosis session"
        raise FileProblem(reason, subject=str(path), remedy=_REMEDY) from error


def append_step(
    session_id: str, new_information: str, uncertainties: list[str], next_step_action: str
) -> DiagnosisSession:
    """Add a step to a session's file, and return the session.

    A final diagnosis that was written without it is taken back.

    Raises:
        FileProblem: The file cannot be read or written.
    """
    with _LOCK:
        session = load_session(session_id)
        step = Step(
            step_number=len(session.steps) + 1,
            new_information=new_information,
            current_uncertainties=uncertainties,
            next_step_action=next_step_action,
        )
        session.steps.append(step)
        session.accumulated_notes = "\n\n".join(map(_note, session.steps))
        session.current_uncertainties = uncertainties
        session.final_diagnosis = None
        _write(session)
    return session


def close_session(session_id: str, final: FinalDiagnosis) -> DiagnosisSession:
    """Add the final diagnosis to a session's file, and return the session.

    Raises:
        FileProblem: The file cannot be read or written.
    """
    with _LOCK:
        session = load_session(session_id)
        session.final_diagnosis = final
        _write(session)
    return session


def get_accumulated_notes(session_id: str) -> str:
    """Return the notes of all steps so far, for the next prompt; "" before the first."""
    return load_session(session_id).accumulated_notes


def clear_session(session_id: str) -> None:
    """Delete a session's file, if there is one."""
    with _LOCK:
        session_file(session_id).unlink(missing_ok=True)


def _note(step: Step) -> str:
    differential = ", ".join(step.current_uncertainties)
    return (
        f"[Step {step.step_number}]\nNew Info: {step.new_information}\n"
        f"Differential: {differential}\nAction: {step.next_step_action}"
    )


def _write(session: DiagnosisSession) -> None:
    path = session_file(session.session_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, session.model_dump_json(indent=2, exclude_none=True).encode())
    except OSError as error:
        reason = f"the diagnosis session cannot be written ({error.strerror})"
        remedy = "Make room on the disk, or allow writing there; then try again."
        raise FileProblem(reason, subject=str(path), remedy=remedy) from error
