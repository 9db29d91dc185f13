"""What is written down when the user accepts a model's terms, its files as they are, or its code.

A folder that was copied into place by hand is written down by this too.
"""

from __future__ import annotations

from datetime import UTC, datetime

from app.tools.api import CancelToken
from app.tools.models.digests import read_sha256, sha256_of
from app.tools.models.places import Place, is_program
from app.tools.models.records import Record, RecordedFile


def accepted_record(place: Place, *, code: bool, cancel: CancelToken | None) -> Record:
    """The record of a model that is there, after the user's yes to its terms.

    Args:
        place: Where it lies.
        code: The user also allows the code among its files to run.
        cancel: Stops it; files that nobody has read yet are read.

    Raises:
        Cancelled: `cancel` was set.
        OSError: A file cannot be read.
    """
    card, record, now = place.card, place.record(), now_text()
    names = {*place.names(record), *place.strange(record), *(place.programs() if code else ())}
    files = tuple(place.recorded(n, _now_sha256(place, n, cancel)) for n in sorted(names))
    if not code:  # a yes to the code stays one to the code that it was given for
        files = tuple(_kept(record, file) for file in files)
    return Record(
        name=card.name,
        revision=record.revision if record else "",
        source=record.source if record else "the models folder",
        installed=record.installed if record else now,
        files=files,
        terms_sha256=card.terms_sha256,
        terms_accepted=now if card.terms else "",
        code_allowed=now if code else record.code_allowed if record else "",
    )


def now_text() -> str:
    """The time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _kept(record: Record | None, file: RecordedFile) -> RecordedFile:
    """A program as it was when it was allowed; anything else as it is."""
    noted = record.file(file.name) if record and record.code_allowed else None
    return noted if noted is not None and is_program(file.name) else file


def _now_sha256(place: Place, name: str, cancel: CancelToken | None) -> str:
    """Of a file as it is; programs are read whatever is remembered of them."""
    if is_program(name):
        return read_sha256(place.file(name), cancel=cancel)
    return sha256_of(place.file(name), cancel=cancel)
