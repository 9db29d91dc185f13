"""The command `audit`: list and verify the audit log, find its entries about an image or a file."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.audit import Entry
from app.audit.entries import read_entries
from app.audit.entry_text import KINDS, entry_kind, line_text
from app.audit.exports import content_name
from app.audit.verification import Report, verify
from app.errors import SightlineError, UsageError, printable
from app.headless.common import open_program, print_json, scan_source
from app.imaging.types import Instance
from app.wiring import Program
from app.workspace.studies import instances_of

_UID = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_NO_LOG = "there is no audit log: nothing was recorded yet, or it was removed altogether"
_NOT_SEEN = (
    "A log that was removed altogether, or replaced by an older copy of the whole, cannot be told "
    "from this computer alone: keep a line of `sightline audit anchor` elsewhere."
)
_REMEDY = "Ask this computer's administrator for the right to read it."


def list_entries(*, kind: str = "", last: int | None = None, as_json: bool = False) -> int:
    """Print the audit log's entries, oldest first, without verifying them; return the exit code.

    `kind` is one of `KINDS`, in upper or lower case, or "" for all. `last` is the number of entries
    to print, from the end of the log; None for all.
    """
    if last is not None and last < 1:
        raise UsageError(f"--last: {last} is not a number of lines", remedy="Give 1 or more.")
    if kind and kind.lower() not in {name.lower() for name in KINDS}:
        known = ", ".join(KINDS).lower()
        raise UsageError(f"--kind: there is no kind {kind!r}", remedy=f"There are: {known}.")
    wanted = {name.lower() for name in KINDS} if not kind else {kind.lower()}
    with open_program() as program:
        found = [item for item in _entries(program) if entry_kind(item).lower() in wanted]
    for entry in found[-last:] if last else found:
        _print_entry(entry, as_json=as_json)
    if not found:
        what = f"nothing of the kind {kind.lower()}" if kind else "nothing"
        print(f"There is {what} in the audit log.", file=sys.stderr)
    return 0


def verify_log(*, anchor: str = "", as_json: bool = False) -> int:
    """Verify the audit log and print its problems; return the exit code, 1 if there are problems.

    `anchor` is an earlier output of `print_anchor`, whose line must still exist; "" for none.
    """
    report = _verified(anchor)
    if as_json:
        fields = {"ok": report.ok, **asdict(report)}
        fields["problems"] = [{**asdict(item), "text": item.text} for item in report.problems]
        print_json(fields)
    else:
        _print_report(report)
    return 0 if report.ok else 1


def print_anchor(*, as_json: bool = False) -> int:
    """Print the time, the number of lines and the log's end, which `verify_log` can check later.

    Returns the exit code; if the log has problems, prints these instead and returns 1.

    Raises:
        SightlineError: The log has no lines.
    """
    report = _verified()
    if not report.ok:
        _print_report(report)
        return 1
    if not report.lines:
        raise SightlineError(_NO_LOG, remedy="Ask again once something was done.")
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if as_json:
        print_json({"time": now, "lines": report.lines, "anchor": report.anchor})
    else:
        print(f"Sightline audit log {now} {report.lines} lines, end {report.anchor}")
    return 0


def _verified(anchor: str = "") -> Report:
    with open_program() as program:
        folder = program.audit.folder
        try:
            secret = program.audit_secret() if folder.exists() or anchor else b"\0" * 32
            return verify(folder, secret, anchor=anchor)
        except ValueError as error:
            raise UsageError(f"--anchor: {error}") from error
        except OSError as error:
            raise _unreadable(error) from error


def _print_report(report: Report) -> None:
    for problem in report.problems:
        print(problem.text)
    for note in report.notes:
        print(note)
    if not report.ok:
        where = report.problems[0].text.partition(": ")[0]
        print(
            f"sightline: the audit log is not as it was written, from {where} on.",
            file=sys.stderr,
        )
    elif report.lines:
        span = f"{report.first[:19]} to {report.last[:19]} UTC"
        print(f"{report.lines} lines, {span}: all as they were written.")
        print(_NOT_SEEN)
        print(f"The end, to be noted elsewhere for --anchor: {report.anchor}")
    else:
        print(f"{_NO_LOG[0].upper()}{_NO_LOG[1:]}. {_NOT_SEEN}")


def find(target: str, *, as_json: bool = False) -> int:
    """Print the entries about an image or file; return the exit code, 1 if there are no entries.

    `target` is a SOP Instance UID, or the path of an image, of a folder or archive of images, of a
    picture that was sent, or of an exported document.
    """
    with open_program() as program:
        names = set(_names(program, target))
        found = [entry for entry in _entries(program) if names & set(_hashes(entry.facts))]
    for entry in found:
        _print_entry(entry, as_json=as_json)
    summary = f"{_times(found, 'data_sent', 'sent')} {_times(found, 'exported', 'exported')}"
    if not found:
        summary = "The audit log does not mention it: it was neither read by a tool nor sent."
    print(summary, file=sys.stderr)
    return 0 if found else 1


def _times(found: list[Entry], action: str, done: str) -> str:
    count = sum(entry.action == action for entry in found)
    times = {0: "Never", 1: "Once"}.get(count, f"{count} times")
    return f"{times} {done}."


def _names(program: Program, target: str) -> Iterator[str]:
    path = Path(target)
    if not path.exists():
        if not _UID.fullmatch(target):
            raise UsageError(
                f"{target!r} is neither a file nor a UID",
                remedy="Give a SOP Instance UID such as 1.2.840.113619.2.5, or a file.",
            )
        yield program.audit.name("image", target)
        return
    if path.is_file():
        try:
            yield content_name(program.audit, path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise _unreadable(error) from error
        yield program.audit.name("picture", digest[:24])
    for instance in _instances(program, path):
        uid = instance.sop_instance_uid
        if not uid and instance.is_image:
            uid = program.decoder.frame(instance, 0).result().ref.sop_instance_uid
        if uid:
            yield program.audit.name("image", uid)


def _instances(program: Program, path: Path) -> Iterable[Instance]:
    try:
        studies = scan_source(program.decoder, path).studies
    except SightlineError:
        return ()  # no image: a document, or a picture that is named by its bytes alone
    return instances_of(studies)


def _hashes(facts: Any) -> Iterator[str]:
    for key in ("images", "pictures"):
        value = facts.get(key)
        yield from map(str, value if isinstance(value, list) else ())
    if facts.get("file"):
        yield str(facts["file"])


def _entries(program: Program) -> list[Entry]:
    try:
        return list(read_entries(program.audit.folder))
    except OSError as error:
        raise _unreadable(error) from error


def _print_entry(entry: Entry, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(entry))
    else:
        print(printable(line_text(entry)))


def _unreadable(error: OSError) -> SightlineError:
    reason = error.strerror or type(error).__name__
    return SightlineError(f"the audit log or the file cannot be read ({reason})", remedy=_REMEDY)
