"""The patients' records that are open, and whose record is in use."""

from __future__ import annotations

from app.records.types import NoRecords, Patient, RecordMatch, Records
from app.workspace.signals import Signal


class OpenRecord:
    """The open records, the patient whose record is in use, and whether it is the shown study's.

    The patient is the one that the user has chosen, else the shown study's; the only one that is
    open if no study is shown. A study of which no record is surely its patient's leaves none in use
    until the user chooses. Tools and answers take it from here, so that all name the same patient.
    """

    def __init__(self) -> None:
        self.changed: Signal[()] = Signal()
        """Records were opened or closed, or another patient is in use."""
        self.entry_wanted: Signal[str] = Signal()
        """Somebody asks to see an entry, by its id."""
        self.records: Records = NoRecords()
        self._chosen = ""
        self._match: RecordMatch | None = None

    def open(self, records: Records) -> None:
        """Use other records; `NoRecords()` closes those that are open."""
        self.records = records
        self._chosen = ""
        self._match = None
        self.changed.emit()

    def choose(self, patient_id: str) -> None:
        """Use the record of a patient, whatever study is shown; "" leaves it to the study."""
        if patient_id != self._chosen:
            self._chosen = patient_id
            self.changed.emit()

    def set_match(self, match: RecordMatch | None) -> None:
        """Note whose record belongs to the shown study; None if no study is shown."""
        if match != self._match:
            self._match = match
            self.changed.emit()

    @property
    def is_open(self) -> bool:
        """Whether any record is open."""
        return self.records.count() > 0

    @property
    def patient_id(self) -> str:
        """The id of the patient whose record is in use; "" if none, or not sure which."""
        if self._chosen:
            return self._chosen
        if self._match is not None:
            return self._match.patient_id
        everyone = self.records.patients(limit=2)
        return everyone[0].id if len(everyone) == 1 else ""

    @property
    def patient(self) -> Patient | None:
        """The patient whose record is in use, or None."""
        return self.records.patient(self.patient_id) if self.patient_id else None

    @property
    def match(self) -> RecordMatch | None:
        """Whether the record in use is that of the shown study's patient; None without a study."""
        match = self._match
        if match is None or not self._chosen or self._chosen == match.patient_id:
            return match
        return RecordMatch("chosen", self._chosen, match.reason)

    @property
    def is_unlinked(self) -> bool:
        """Whether the user chose the record in use and it is not that of the shown study."""
        return self.match is not None and self.match.status == "chosen"
