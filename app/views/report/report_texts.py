"""What the pane says of a report: its status, its checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.imaging.reports.checks import Check, Fault
from app.imaging.reports.report_draft import ReportDraft, Signature
from app.imaging.reports.written_report import moment_text
from app.views.diagnosis.lists import Row
from app.views.translation import tr, translatable

_TOLD = {
    Fault.MISSING: translatable("Not in the text: {told}"),
    Fault.STRUCK: translatable("Struck: its finding is no longer accepted"),
    Fault.NAMED: translatable("Names what was rejected: {told}"),
    Fault.SIDE: translatable("Side: the text says {told}, the finding {true}"),
    Fault.NUMBER: translatable("Number: the text says {told}, the finding {true}"),
    Fault.UNIT: translatable("Unit: the text says {told}, the finding is in {true}"),
    Fault.NEGATION: translatable('Negated by "{told}", though it was accepted'),
    Fault.CHANGE: translatable("Change: the text says “{told}”, the comparison found: {true}"),
    Fault.RATIO: translatable("Ratio: the text says “{told}”, it is {true}"),
    Fault.UNFOUNDED: translatable("No finding has this number: {told}"),
    Fault.UNNAMED: translatable("Says nothing of what it rests on: {told}"),
    Fault.ADDED: translatable("Its finding does not say: {told}"),
    Fault.OPPOSITE: translatable("Side: the text says {told}, accepted is: {true}"),
    Fault.DENIED: translatable("Denies what was accepted: {told}"),
    Fault.CHANGED: translatable("Changed after the signature: {told}"),
    Fault.LATER: translatable("Accepted after the signature: {told}"),
    Fault.UNCOMPARED: translatable("Earlier study, not named: {told}"),
    Fault.OWN: translatable("Your own sentence: it rests on no finding"),
}
_STATES = {
    "larger": translatable("larger"),
    "smaller": translatable("smaller"),
    "unchanged": translatable("unchanged"),
    "new": translatable("new"),
    "gone": translatable("gone"),
}
_SIDES = {"left": translatable("left"), "right": translatable("right")}


def check_text(check: Check) -> str:
    """Return a check in words."""
    told, true = check.told, check.true
    if check.fault is Fault.SIDE:
        told, true = (
            " + ".join(tr(_SIDES[one]) for one in text.split(" + ")) for text in (told, true)
        )
    elif check.fault is Fault.OPPOSITE:
        told = " + ".join(tr(_SIDES[one]) for one in told.split(" + "))
    elif check.fault is Fault.CHANGE:
        true = tr(_STATES[true])
    elif check.fault is Fault.RATIO:
        true = true or tr("too close to 0.5 to decide")
    quoted = check.fault in (Fault.CHANGE, Fault.RATIO, Fault.ADDED, Fault.OPPOSITE)
    return tr(_TOLD[check.fault]).format(told=told if quoted else tr(told), true=true)


def own_sentences(draft: ReportDraft, checks: Iterable[Check]) -> list[str]:
    """Return the sentences that rest on no finding, of which nothing else is to be said."""
    own = ((draft.section(one.section), one.place) for one in checks if one.fault is Fault.OWN)
    return [section.sentences[place].text for section, place in own if section is not None]


def check_rows(draft: ReportDraft, checks: Iterable[Check]) -> list[Row]:
    """Return the rows of the list of checks; their keys are their numbers."""
    rows: list[Row] = []
    for number, one in enumerate(checks):
        section = draft.section(one.section)
        about = ""
        if section is not None:
            about = f"{section.title}: {section.sentences[one.place].text}"
        rows.append(Row(str(number), check_text(one), about))
    return rows


def faults_in(checks: Iterable[Check], section: str) -> Mapping[int, str]:
    """Return what is wrong with the sentences of a section, by their place."""
    found: dict[int, str] = {}
    for one in checks:
        if one.section == section and one.fault is not Fault.STRUCK:
            known = found.get(one.place)
            found[one.place] = "\n".join(filter(None, (known, check_text(one))))
    return found


def status_text(draft: ReportDraft) -> str:
    """Return whether a report is signed, by whom and when."""
    if draft.signature is None:
        return tr("Draft, not signed")
    return signature_text(draft.signature, draft.language)


def signature_text(signature: Signature, language: str) -> str:
    """Return by whom and when something was signed."""
    when = moment_text(signature.signed, language)
    return tr("Signed by {name}, {when}").format(name=signature.name, when=when)
