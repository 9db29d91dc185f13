"""Patients' records for the commands: opened, printed, and removed from what leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.agent.messages import Message, RecordContent
from app.agent.privacy.record_content import WatchedRecords, identifiers_of
from app.agent.privacy.redaction import Redactor
from app.agent.privacy.send_consent import known_of
from app.errors import FileProblem, SightlineError, printable
from app.headless.common import is_agreed
from app.records.fhir_server import ServerQuery, is_server, server_query
from app.records.matching import study_identity
from app.records.record_library import OpenedRecord
from app.records.types import RecordProblem, data_paths
from app.tools.images import OpenImage, RunImages
from app.wiring import Program
from app.wiring.program import identifiers

ALLOW_FHIR = "SIGHTLINE_ALLOW_FHIR"
"""Environment variable that lists the hosts of FHIR servers that may be asked for records."""
_TOLD = 5
"""Problems that are printed one by one."""


def open_records(program: Program, sources: Sequence[str], images: Sequence[OpenImage]) -> None:
    """Open records for a run, and use that of the first image's patient or the only one.

    Without `sources`, the folder of COHERENT_DATA_PATH is opened, if there is one. What could not
    be read is told on stderr.

    Raises:
        FileProblem: A source is not there, or nothing of it can be read.
    """
    places = [Path(one) for one in sources if not is_server(one)]
    servers = [server_query(one) for one in sources if is_server(one)]
    if not sources:
        folder = data_paths(os.environ).get("fhir")
        if folder is None or not folder.is_dir():
            return
        places = [folder]
    for place in places:
        if not place.exists():
            raise FileProblem("there is no such file or folder", subject=str(place))
    opened = [program.record_library.open(places)] if places else []
    opened += [_ask_server(program, query) for query in servers]
    for one in opened:
        _tell_problems(one)
        if not one.patients:
            problem = one.problems[0] if one.problems else None
            raise FileProblem(
                problem.reason if problem else "there is no patient's record in it",
                subject=problem.path if problem else str(places[0]),
                remedy="Open FHIR R4 in JSON or NDJSON, with the Patient resource.",
            )
    program.record.open(program.record_library)
    if images:
        match = program.record_library.match(study_identity(images[0].instance))
        program.record.set_match(match)
        if not match.patient_id:
            print(f"sightline: record: {printable(match.reason)}", file=sys.stderr)


def _ask_server(program: Program, query: ServerQuery) -> OpenedRecord:
    """Read a record from a server, if the user allows it."""
    if not query.is_here:
        allowed = {one.strip().lower() for one in os.environ.get(ALLOW_FHIR, "").split(",")}
        question = f"Ask {query.host} for the record of this patient?"
        if query.host not in allowed and not is_agreed(question):
            raise SightlineError(
                "the server was not asked: nobody said yes",
                subject=query.host,
                remedy=f"Set {ALLOW_FHIR}={query.host} to allow it.",
            )
    return program.open_server(query)


def redactor_for(
    program: Program, images: RunImages, conversation: str, told: object = None
) -> Redactor:
    """Return what removes the identifiers of open images and of the record in use.

    `told` is JSON data that is to be cleaned. It may say anything of the open records, so it is
    cleaned like a result that was read from them: also of the other patients that it names, and of
    words that nobody knows.
    """
    known, record = known_of(images.headers()), program.record
    people = [record.patient] if record.patient is not None else []
    found = RecordContent()
    if told is not None and record.is_open:
        watch = WatchedRecords(record.records)
        watch.patients()
        found = watch.content(told) or found
    content = None
    if people or found != RecordContent():
        named = {*found.identifiers, *(one for each in people for one in identifiers_of(each))}
        content = found.model_copy(
            update={
                "patients": [*((one.id, one.name) for one in people), *found.patients],
                "identifiers": sorted(named),
            }
        )
    message = Message(
        role="user",
        images=images.notes(remote=False),
        identifiers=[*identifiers(images.instances().values()), *known.identifiers],
        texts=list(known.texts),
        record=content,
    )
    return Redactor([message], conversation=conversation)


def _tell_problems(opened: OpenedRecord) -> None:
    for one in opened.problems[:_TOLD]:
        print(f"sightline: record: {printable(problem_text(one))}", file=sys.stderr)
    more = len(opened.problems) - _TOLD
    if more > 0:
        print(f"sightline: record: {more} more; `info` lists them", file=sys.stderr)


def problem_text(problem: RecordProblem) -> str:
    """Return a problem as one line: file, place, reason."""
    where = f" ({problem.where})" if problem.where else ""
    return f"{problem.path}{where}: {problem.reason}"


def print_record(opened: OpenedRecord) -> None:
    """Print what a record holds: its resources by type, and each problem."""
    files = "1 file" if opened.files == 1 else f"{opened.files} files"
    people = "1 patient" if opened.patients == 1 else f"{opened.patients} patients"
    print(f"Patients' record (FHIR R4): {people}, {files}")
    for kind, count in opened.counts.items():
        print(printable(f"  {count:7}  {kind}"))
    for one in opened.problems:
        print(printable(f"{'Note' if one.note else 'Problem'}: {problem_text(one)}"))
