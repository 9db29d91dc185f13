"""A doctor without a language model: asks by expected information, says when it cannot know.

It knows the tables of likelihood ratios and nothing else. A complaint without a table, evidence
that leaves all diseases unlikely, or none for the likeliest, ends without a diagnosis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from app.tools.diagnosis.differential import Differential, Evidence, Probability
from app.tools.diagnosis.differential_tool import percent
from app.tools.diagnosis.evidence_sources import text_evidence
from app.tools.diagnosis.table import Presentation, presentations
from app.tools.diagnosis.table_matching import find_presentation

SURE = 0.9
"""Probability from which the doctor names the disease without further questions."""
LIKELY = 0.5
"""Probability below which it names none."""
_LEAST_BITS = 0.005
_YES = re.compile(r"\W*(yes|yeah|yep|i do|i have|i did|ja)\b", re.IGNORECASE)
_NO = re.compile(r"\W*(no|nope|not|never|i don't|i do not|i haven't|nein)\b", re.IGNORECASE)
OPENING = "What brings you here, and what have you noticed?"
CANNOT = "I CANNOT TELL: "
"""Start of the text with which the doctor ends without a diagnosis."""


@dataclass(slots=True)
class OfflineDoctor:
    """One consultation.

    Attributes:
        complaint: What is known before the first question.
        differential: The diseases and evidence so far; None until a table fits.
    """

    complaint: str
    differential: Differential | None = None
    _told: list[str] = field(default_factory=list[str])
    _asked: set[str] = field(default_factory=set[str])
    _waiting: str = ""
    _opened: bool = False

    def turn(self, heard: str, left: int) -> str:
        """Return the next question, request or diagnosis.

        Args:
            heard: What patient or ward said to the turn before; "" at the start.
            left: Turns left, this one included.
        """
        self._told.append(heard)
        self._take(heard)
        if not self._opened and left > 1:
            self._opened = True
            return OPENING
        if self.differential is None:
            return f"{CANNOT}there is no table of published ratios for this complaint."
        best = self.differential.probabilities[0]
        if (best.value >= SURE and _is_moved(best)) or left <= 1:
            return self._end()
        for gain in self.differential.next_findings():
            if gain.bits < _LEAST_BITS:
                break
            finding = self.differential.presentation.findings[gain.finding]
            if gain.finding in self._asked or finding.request in self._asked:
                continue
            self._waiting = gain.finding
            self._asked.add(gain.finding)
            if finding.question:
                return finding.question
            self._asked.add(finding.request)
            return f"REQUEST TEST: {finding.request}"
        return self._end()

    def _take(self, heard: str) -> None:
        """Add what was heard to the evidence, and choose the table as soon as one fits."""
        if self.differential is None:
            table = self._table(f"{self.complaint}\n{heard}")
            if table is None:
                return
            self.differential = Differential(table)
            heard = "\n".join([self.complaint, *self._told])
        known = {item.finding for item in self.differential.evidence}
        found = [
            item
            for item in text_evidence(self.differential.presentation, heard, "heard").evidence
            if item.finding not in known
        ]
        waiting, self._waiting = self._waiting, ""
        if waiting and waiting not in {*known, *(item.finding for item in found)}:
            asked = self.differential.presentation.findings[waiting].question
            if asked and (_YES.match(heard) or _NO.match(heard)):
                found.append(Evidence(waiting, bool(_YES.match(heard)), "heard"))
        self.differential = self.differential.add(*found)

    def _table(self, text: str) -> Presentation | None:
        fitting = find_presentation(text, presentations())
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        return max(fitting, key=lambda table: len(text_evidence(table, text).evidence))

    def _end(self) -> str:
        assert self.differential is not None
        best = self.differential.probabilities[0]
        name = self.differential.presentation.hypotheses[best.hypothesis].name
        if best.value < LIKELY or not _is_moved(best):
            return f"{CANNOT}the likeliest is {name}, at {percent(best.value)}."
        return f"DIAGNOSIS READY: {name}"


def _is_moved(item: Probability) -> bool:
    """Return whether anything found speaks for a disease: a prior alone is no diagnosis."""
    return any(not weight.stronger and weight.ratio.value > 1 for weight in item.weights)
