"""What a person makes of a tool's findings: accepted, edited, rejected, or proposed again."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from app.imaging.findings import Finding, State
from app.workspace import drawing

_LABELS = {
    State.PROPOSED: "Set back",
    State.ACCEPTED: "Accept",
    State.EDITED: "Accept",
    State.REJECTED: "Reject",
}


def login() -> str:
    """Return the name with which the user is logged in; "" if the system has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return ""


def decided(finding: Finding, state: State, reviewer: str) -> Finding:
    """Return a tool's finding with the state that a person gives it now.

    A finding that was changed is edited, not accepted. One set back to proposed has no reviewer.
    """
    if state is State.PROPOSED:
        return replace(finding, state=state, reviewer="", reviewed="")
    accepted = State.EDITED if finding.original is not None else State.ACCEPTED
    state = state if state is State.REJECTED else accepted
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return replace(finding, state=state, reviewer=reviewer, reviewed=now)


def by_person(finding: Finding, before: Finding | None, reviewer: str) -> Finding:
    """Return a finding that a person drew or changed, with its state and who did it.

    Args:
        finding: The finding as it is now.
        before: The same finding before the change; None for a new one.
        reviewer: The person.
    """
    if drawing.by_hand(finding):
        return decided(replace(finding, original=None), State.ACCEPTED, reviewer)
    if before is None or _content(finding) == _content(before):
        return finding
    return decided(replace(finding, original=before.original or before), State.EDITED, reviewer)


def restored(finding: Finding) -> Finding:
    """Return the finding as its tool made it, proposed; itself if nobody has changed it."""
    return finding if finding.original is None else finding.original


def step_label(state: State, findings: Iterable[Finding]) -> str:
    """Return how the menu names the step that gives findings a state."""
    labels = [finding.label.lower() for finding in findings]
    what = labels[0] if len(labels) == 1 else f"{len(labels)} findings"
    return f"{_LABELS[state]} {what}"


def counts(finding: Finding) -> bool:
    """Return whether reports, exports and later questions may rest on a finding."""
    return finding.state is not State.REJECTED


def unverified(finding: Finding) -> bool:
    """Return whether a finding is a tool's that nobody has accepted or rejected."""
    return finding.state is State.PROPOSED and not drawing.by_hand(finding)


def _content(finding: Finding) -> tuple[object, ...]:
    return finding.geometry, finding.label, finding.code, finding.site
