"""The differential of the shown study: what a person says, has accepted, and the record holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from app.errors import FileProblem, SightlineError
from app.imaging.findings import Finding
from app.workspace.record import OpenRecord
from app.workspace.signals import Signal

if TYPE_CHECKING:
    # Imported when they are needed, since the window is shown before.
    from app.tools.diagnosis.differential import Differential, Evidence
    from app.tools.diagnosis.table import Presentation
    from app.tools.models.cards import ModelCard

    _Read = tuple[Mapping[str, Presentation], Mapping[str, ModelCard], SightlineError | None]

BY_HAND = "set by hand"
"""Origin of a finding that the user set in the panel."""

_OF_RECORD = "record "  # before a patient's id: key of a differential without a study

Submit = Callable[[Callable[[], Any], Callable[[Any], object]], object]
"""`submit(work, done)` calls `done(work())`, maybe later, on the thread of the caller."""


def _at_once(work: Callable[[], Any], done: Callable[[Any], object]) -> None:
    done(work())


@dataclass(slots=True)
class _Statements:
    """Findings and priors that a person told of one study and presentation.

    `hand` goes before what was `said` in the chat; None in it leaves a finding out. `order` has the
    findings in the order in which they became known.
    """

    said: dict[str, Evidence] = field(default_factory=dict[str, "Evidence"])
    hand: dict[str, bool | None] = field(default_factory=dict[str, bool | None])
    priors: dict[str, float] = field(default_factory=dict[str, float])
    order: list[str] = field(default_factory=list[str])


class OpenDiagnosis:
    """The differential of the shown study; each study keeps its own, so that no patients mix.

    Without a study, it is that of the patient whose record is in use. Findings count once a person
    has accepted them on an image of the study, and no longer when they are rejected. The chat's
    `compute_differential` fills it (`take`), and the user sets findings and priors.

    Args:
        study: Returns the key of the shown study; "" for none.
        accepted_in: Returns the findings that a person accepted on a study's images, by its key.
        record: The open records.

    Attributes:
        submit: Runs what reads files; by default at once.
        tables: The presentations by id; empty until `load` has read them.
        problem: Why a site's table could not be used, or None.
        differential: The one that is shown; None without a presentation, or with an `error`.
        error: Why the evidence cannot be weighed, or None.
        evidence: All that counts, in the order in which it became known.
        unused: What images or the record say, against what a person has told.
        record_used: Whether values of the record count.
    """

    def __init__(
        self,
        study: Callable[[], str],
        accepted_in: Callable[[str], Iterable[Finding]],
        record: OpenRecord,
    ) -> None:
        self.changed: Signal[()] = Signal()
        """Another differential is shown, or it has other figures."""
        self.filled: Signal[()] = Signal()
        """The chat has computed a differential of the shown study."""
        self.submit: Submit = _at_once
        self.tables: Mapping[str, Presentation] = {}
        self.problem: SightlineError | None = None
        self._cards: Mapping[str, ModelCard] = {}
        self._study, self._accepted_in, self._record = study, accepted_in, record
        self._presentations: dict[str, str] = {}
        self._told: dict[tuple[str, str], _Statements] = {}
        self._key = ""
        self._accepted: tuple[Evidence, ...] = ()
        self._measured: tuple[Evidence, ...] = ()
        self._asked = 0
        self._waiting: list[Callable[[], object]] = []
        self._loading = False
        self._clear()
        record.changed.connect(self.follow_record)

    def _clear(self) -> None:
        self.differential: Differential | None = None
        self.error: SightlineError | None = None
        self.evidence: tuple[Evidence, ...] = ()
        self.unused: tuple[Evidence, ...] = ()
        self.record_used = False

    # Tables

    def load(self, then: Callable[[], object] = lambda: None) -> None:
        """Read the tables, the site's anew each time, and call `then`."""
        self._waiting.append(then)
        if not self._loading:
            self._loading = True
            self.submit(_read, self._take_tables)

    def _take_tables(self, read: _Read) -> None:
        self._loading = False
        self.tables, self._cards, self.problem = read
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()
        self._read_sources()

    @property
    def loading(self) -> bool:
        """Whether the tables are being read."""
        return self._loading

    # Whose differential

    def follow_study(self) -> None:
        """Show the differential of the study that is shown now."""
        if self._now() != self._key:
            self._read_sources()

    def follow_record(self) -> None:
        """Take the values of the record in use, and no longer those of another patient."""
        if not self._record.is_open:
            self.close([key for key in self._presentations if key.startswith(_OF_RECORD)])
        if self.presentation is not None or self._now() != self._key:
            self._read_sources()

    def follow_findings(self) -> None:
        """Take the findings that are accepted now, and no others."""
        if self.presentation is not None:
            before = self._accepted
            self._accepted = self._accepted_now()
            if self._accepted != before:
                self._weigh()

    def close(self, keys: Iterable[str]) -> None:
        """Forget the differentials of studies that were closed."""
        for key in keys:
            self._presentations.pop(key, None)
            self._told = {pair: told for pair, told in self._told.items() if pair[0] != key}

    @property
    def place(self) -> str:
        """Key of the study, or of the patient, whose differential is shown."""
        return self._now()

    def _now(self) -> str:
        return self._study() or self._without_study()

    def _without_study(self) -> str:
        patient = self._record.patient_id
        return f"{_OF_RECORD}{patient}" if patient else "nobody"

    @property
    def presentation(self) -> Presentation | None:
        """The presentation that is shown, or None."""
        return self.tables.get(self._presentations.get(self._now(), ""))

    @property
    def told(self) -> bool:
        """Whether the user or the chat has told anything of it."""
        told = self._of_presentation()
        return bool(told.said or told.hand or told.priors)

    def is_set(self, finding: str) -> bool:
        """Return whether the user set a finding by hand, against or for other sources."""
        return finding in self._of_presentation().hand

    def _of_presentation(self) -> _Statements:
        key = self._now()
        return self._told.setdefault((key, self._presentations.get(key, "")), _Statements())

    # What a person tells

    def choose(self, presentation_id: str) -> None:
        """Show another presentation; what was told of the one before is kept."""
        self._presentations[self._now()] = presentation_id
        self._read_sources()

    def set_finding(self, finding: str, present: bool | None) -> None:
        """Set a finding present, absent, or (None) unknown, whatever other sources say of it."""
        told = self._of_presentation()
        told.hand[finding] = present
        if present is None and finding not in self._sources(told):
            told.hand.pop(finding)
        self._weigh()

    def forget_setting(self, finding: str) -> None:
        """Take back what was set by hand, so that other sources count again."""
        self._of_presentation().hand.pop(finding, None)
        self._weigh()

    def set_prior(self, hypothesis: str, value: float | None) -> None:
        """Replace the table's prior of a disease, a probability in (0, 1); None takes it back."""
        priors = self._of_presentation().priors
        priors.pop(hypothesis, None)
        if value is not None:
            priors[hypothesis] = value
        self._weigh()

    def own_prior(self, hypothesis: str) -> bool:
        """Return whether the prior of a disease is not the table's."""
        return hypothesis in self._of_presentation().priors

    def start_over(self) -> None:
        """Forget what was told; what images and the record say stays."""
        key = self._now()
        self._told.pop((key, self._presentations.get(key, "")), None)
        self._weigh()

    def take(self, output: Mapping[str, Any], study: str | None) -> None:
        """Take a result of `compute_differential`.

        What it says of images and the record is not taken over: these are asked here.

        Args:
            output: `DifferentialOutput` as JSON.
            study: Key of the study that it is about; "" if that is closed, None for no study.
        """
        if study != "":
            key = study or self._without_study()
            self._when_loaded(partial(self._fill, key, output))

    def _when_loaded(self, then: Callable[[], object]) -> None:
        if self.tables and not self._loading:
            then()
        else:
            self.load(then)

    def _fill(self, key: str, output: Mapping[str, Any]) -> None:
        name = str(output["presentation"]["id"])
        table = self.tables.get(name)
        if table is None:
            return
        from app.tools.diagnosis.differential import Evidence

        told = self._told.setdefault((key, name), _Statements())
        said = {
            item["finding"]: Evidence(item["finding"], item["present"], item["origin"])
            for item in output["evidence"]
            if not item["link"]
        }
        for finding, item in said.items():  # what is told later counts
            if told.said.get(finding) != item:
                told.hand.pop(finding, None)
        told.said = said
        for item in output["hypotheses"]:
            prior = item["prior"]
            if item["id"] in table.hypotheses and prior != table.hypotheses[item["id"]].prior.value:
                told.priors[item["id"]] = prior
        self._presentations[key] = name
        if key == self._now():
            self._read_sources()
            self.filled.emit()

    # What images and the record say

    def is_of_image(self, link: str) -> bool:
        """Return whether the link of evidence is the id of a finding on an image."""
        return any(item.link == link for item in self._accepted)

    def _accepted_now(self) -> tuple[Evidence, ...]:
        table, study = self.presentation, self._study()
        if table is None or not study:
            return ()
        from app.tools.diagnosis.evidence_sources import image_evidence

        return image_evidence(table, self._accepted_in(study), self._cards)

    def _read_sources(self) -> None:
        """Ask images and the record; whatever was known of them counts no longer."""
        self._key = self._now()
        self._accepted = self._accepted_now()
        self._measured = ()
        self._asked += 1
        table, patient = self.presentation, self._record.patient_id
        self._weigh()
        if table is not None and patient:
            from app.tools.diagnosis.evidence_sources import record_evidence

            asked, records = self._asked, self._record.records

            def take(found: tuple[Evidence, ...]) -> None:
                if asked == self._asked and found:
                    self._measured = found
                    self._weigh()

            self.submit(partial(record_evidence, table, records, patient), take)

    def _sources(self, told: _Statements) -> dict[str, Evidence]:
        """Return what others than the user's hand say: the chat, images, and the record."""
        found: dict[str, Evidence] = {}
        for item in (*told.said.values(), *self._accepted, *self._measured):
            found.setdefault(item.finding, item)
        return found

    def _weigh(self) -> None:
        self._clear()
        table = self.presentation
        if table is not None:
            from app.tools.diagnosis.differential import Differential, Evidence

            told = self._of_presentation()
            known = self._sources(told)
            for finding, present in told.hand.items():
                known.pop(finding, None)
                if present is not None:
                    known[finding] = Evidence(finding, present, BY_HAND)
            told.order = list(dict.fromkeys((*(k for k in told.order if k in known), *known)))
            self.evidence = tuple(known[finding] for finding in told.order)
            others = (*told.said.values(), *self._accepted, *self._measured)
            self.unused = tuple(item for item in others if _is_against(item, known))
            self.record_used = any(item in self._measured for item in self.evidence)
            try:
                self.differential = Differential(table, self.evidence, dict(told.priors))
            except SightlineError as error:
                self.error = error
        self.changed.emit()


def _is_against(item: Evidence, known: Mapping[str, Evidence]) -> bool:
    counted = known.get(item.finding)
    return counted is None or counted.present != item.present


def _read() -> _Read:
    """Return all tables and cards; the shipped tables alone if a site's is wrong."""
    from app.tools.diagnosis.table import presentations
    from app.tools.models.cards import cards

    try:
        return presentations(), cards(), None
    except FileProblem as error:
        return presentations(()), cards(), error
