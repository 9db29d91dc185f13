"""What a tool's result holds of patients' records, found out while the records are open.

`WatchedRecords` notes whose records a tool reads. `content_of` then says what a remote model may
not read in its result: the identifiers of those patients, and each word that is neither ordinary,
clinical, nor part of a coded term. The rest is of the record's own making, so everything that
nobody knows is taken to identify somebody. Kept with the message, it holds for later questions,
whatever is open then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.agent.messages import RecordContent
from app.agent.privacy.identifiers import folded, is_common, name_pattern
from app.paths import resources_dir
from app.records.fhir_entries import ACTORS
from app.records.types import (
    Code,
    Entry,
    EntryKind,
    Patient,
    RecordMatch,
    RecordProblem,
    Records,
    StudyIdentity,
)

ENTRY_ID = re.compile(
    r"\b(?:Patient|Observation|Condition|AllergyIntolerance|Medication|MedicationRequest|"
    r"MedicationStatement|MedicationAdministration|MedicationDispense|Procedure|Immunization|"
    r"Encounter|CarePlan|CareTeam|Goal|DocumentReference|ClinicalImpression|Composition|Media|"
    r"DiagnosticReport|ImagingStudy|Device|DeviceUseStatement|Claim|ExplanationOfBenefit|"
    r"Provenance|SupplyDelivery|FamilyMemberHistory|ServiceRequest|Specimen|Coverage|Account|"
    r"QuestionnaireResponse|Consent|RiskAssessment|Practitioner|PractitionerRole|Organization|"
    r"Location|Basic|Binary|Flag|Communication|Task|Appointment|EpisodeOfCare|RelatedPerson)"
    r"/[A-Za-z0-9._:\-]{1,80}[A-Za-z0-9]\b"
)
"""The id of an entry: type and id of a FHIR resource."""

_TERMINOLOGIES = (
    *("http://loinc.org", "http://snomed.info/", "http://www.nlm.nih.gov/research/umls/rxnorm"),
    *("http://hl7.org/fhir/", "http://terminology.hl7.org/", "http://unitsofmeasure.org"),
    *("http://fhir.de/CodeSystem/", "urn:oid:2.16.840.1.113883.6.", "http://dicom.nema.org/"),
)
_SNOMED = "http://snomed.info/"
_WORD = re.compile(r"(?<![\d.])[^\W_]+(?:['’][^\W_]+)*(?!\.\d)")
_GROUPED = re.compile(r"(?<![\w.])[A-Z\d]+(?:-[A-Z\d]+)+(?![\w.])")
"""Matches numbers in groups: 881-33-2077, ACC-5519-QV; a LOINC code is none (11341-5)."""
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_MANY = 50  # patients who are looked for by name in the result, rather than all taken
_SHORT_NUMBER = 4


class WatchedRecords:
    """Records as one tool's call reads them; implements `Records`, safe for threads."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.touched = False
        self.counted = False
        self.seen: dict[str, Patient] = {}

    def patients(
        self, text: str = "", *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Patient]:
        """Return patients; see `Records`."""
        found = self._records.patients(text, limit=limit, offset=offset)
        self._note(*found)
        return found

    def patient(self, patient_id: str) -> Patient | None:
        """Return a patient, or None."""
        found = self._records.patient(patient_id)
        if found is not None:
            self._note(found)
        return found

    def count(self) -> int:
        """Return the number of patients."""
        return self._records.count()

    def entries(
        self,
        patient_id: str,
        kinds: Sequence[EntryKind] = (),
        *,
        codes: Sequence[Code] = (),
        text: str = "",
        since: str = "",
        until: str = "",
        limit: int | None = None,
    ) -> Sequence[Entry]:
        """Return entries of a patient; see `Records`."""
        self.patient(patient_id)
        return self._records.entries(
            patient_id, kinds, codes=codes, text=text, since=since, until=until, limit=limit
        )

    def entry(self, patient_id: str, entry_id: str) -> Entry | None:
        """Return an entry, or None."""
        self.patient(patient_id)
        return self._records.entry(patient_id, entry_id)

    def condition_counts(
        self, text: str = "", *, codes: Sequence[Code] = (), patient_limit: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """Return how many patients have which condition; see `Records`."""
        self.touched = self.counted = True
        return self._records.condition_counts(text, codes=codes, patient_limit=patient_limit)

    def coded_terms(self, kind: EntryKind) -> Sequence[Code]:
        """Return the codes of all entries of a kind."""
        self.touched = True
        return self._records.coded_terms(kind)

    def problems(self) -> Sequence[RecordProblem]:
        """Return what could not be read."""
        self.touched = True
        return self._records.problems()

    def match(self, study: StudyIdentity) -> RecordMatch:
        """Return whether one of the patients is that of a study."""
        self.touched = True
        return self._records.match(study)

    def __getattr__(self, name: str) -> Any:
        """Return what only some records have; that counts as reading them."""
        if name.startswith("__"):
            raise AttributeError(name)
        self.touched = True
        return getattr(self._records, name)

    def _note(self, *patients: Patient) -> None:
        self.touched = True
        self.seen.update((one.id, one) for one in patients)

    def content(self, data: Any) -> RecordContent | None:
        """Return what a result, as JSON data, holds of the records; None if none was read."""
        return content_of(self, self._records, data) if self.touched else None


def content_of(watch: WatchedRecords, records: Records, data: Any) -> RecordContent:
    """Return what a remote model may not read in `data`, the result of a call that was watched."""
    texts = [*_texts(data)]
    words = {folded(word) for text in texts for word in _WORD.findall(text)}
    patients = [
        one for one in watch.seen.values() if len(watch.seen) <= _MANY or words & _parts(one)
    ]
    ids = {found for text in texts for found in ENTRY_ID.findall(text)}
    known = _known_words(_entries(records, patients, ids), watch, records)
    names = {one for patient in patients for one in identifiers_of(patient)}
    unknown = sorted({*_unknown(texts, known)})
    mixed = [word for word in unknown if not (word.isalpha() or word.isdigit())]
    return RecordContent(
        patients=[(one.id, one.name) for one in patients],
        identifiers=sorted({*names, *mixed}),
        words=[word for word in unknown if word not in mixed],
        terms=sorted(words & known),
    )


def identifiers_of(patient: Patient) -> Iterator[str]:
    """Yield what identifies a patient: names, numbers, addresses, dates of birth and death."""
    yield from (patient.id, patient.name, *patient.names, *patient.private)
    yield from (value for _, value in patient.identifiers)
    for date in (patient.birth_date, patient.deceased):
        if re.match(r"\d{4}-\d\d-\d\d", date):
            yield date[:10].replace("-", "")


def _parts(patient: Patient) -> set[str]:
    return {folded(word) for text in (patient.id, patient.name) for word in _WORD.findall(text)}


def _entries(records: Records, patients: Sequence[Patient], ids: Iterable[str]) -> Iterator[Entry]:
    for entry_id in ids:
        for patient in patients[:_MANY]:
            found = records.entry(patient.id, entry_id)
            if found is not None:
                yield found
                break


def _known_words(entries: Iterable[Entry], watch: WatchedRecords, records: Records) -> set[str]:
    """Return the words and codes of the coded terms that a result may be about, and its units."""
    codes: list[Code] = []
    known: set[str] = set()
    people: set[str] = set()
    for entry in entries:
        named = " ".join(entry.details.get(role, "") for role in ACTORS)
        people.update(folded(word) for word in _WORD.findall(named))
        codes += [*entry.codes, *(code for part in entry.components for code in part.codes)]
        values = (entry.value, *(part.value for part in entry.components))
        units = " ".join(value.unit for value in values if value is not None)
        known.update(folded(word) for word in _WORD.findall(units))
    if watch.counted:
        codes += records.coded_terms(EntryKind.CONDITION)
    for code in codes:
        if code.system.startswith(_TERMINOLOGIES):
            known.update(folded(word) for word in _WORD.findall(code.code))
            known |= _term_words(code) - people
    return known


def _term_words(code: Code) -> set[str]:
    """Return the words of a code's display, without those that look like somebody's name or number.

    Whoever wrote the file may have written anything there: "Diabetes, lives with Ottokar Finster".
    """
    text = name_pattern().sub(" . ", code.display)
    found: set[str] = set()
    capital, end, last = False, 0, ""
    for match in _WORD.finditer(text):
        word = match[0]
        unknown = not (is_common(folded(word)) or folded(word) in _own_words())
        named = unknown and word[0].isupper() and not word.isupper()
        beside = named and capital and text[end : match.start()] == " "
        if beside:  # two such words in a row are a name
            found.discard(last)
        # SNOMED CT writes only names with a capital inside a term.
        inside = named and end > 0 and code.system.startswith(_SNOMED)
        number = word.isdigit() and len(word) > _SHORT_NUMBER
        if not (beside or inside or number):
            found.add(folded(word))
        capital, end, last = named, match.end(), folded(word)
    return found


def _unknown(texts: Iterable[str], known: set[str]) -> Iterator[str]:
    """Yield the words of texts that nobody knows, and long numbers."""
    for text in texts:
        text = ENTRY_ID.sub(" ", text)
        yield from filter(_is_grouped_number, _GROUPED.findall(text))
        for word in _WORD.findall(text):
            plain = folded(word)
            if plain in known or plain in _own_words() or is_common(plain):
                continue
            if word.isdigit() and len(word) <= _SHORT_NUMBER:
                continue
            if len(word) > 1:
                yield word


def _is_grouped_number(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    parts = text.count("-") + 1
    if digits + parts - 1 == len(text):  # two groups of digits may be a range or a code
        return parts > 2 and digits > 5 and not re.match(r"\d{4}-\d\d-\d\d\Z", text)
    return digits >= _SHORT_NUMBER


_OWN = """
http https www org com info sct oid urn uuid CodeSystem StructureDefinition us core no et al doi
mL dL µL uL fL pg ng µg ug mg kg mmol µmol umol nmol pmol mol IU mIU mEq kPa mmHg Hg bpm sec
cystatin IDMS Chronic KDIGO Engl Lancet JAMA BMJ Circulation Chest Thromb Haemost Hepatology
"""
"""Units, and words of results that are Sightline's own."""
_words: frozenset[str] | None = None


def _own_words() -> frozenset[str]:
    """Return the words of the tables that Sightline itself brings for records: scores, drugs."""
    global _words
    if _words is None:
        files = [resources_dir() / "words" / "record.txt"]
        tables = resources_dir() / "tables"
        files += [tables / "drug_interactions.toml", tables / "critical_values.toml"]
        texts = (file.read_text("utf-8") for file in files if file.is_file())
        own = [*texts, *_TERMINOLOGIES, _OWN]
        _words = frozenset(folded(word) for text in own for word in _WORD.findall(text))
    return _words


def _texts(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if value and not key.endswith(("_path", "_paths")):
            yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if not _KEY.fullmatch(str(name)):
                yield str(name)
            yield from _texts(item, str(name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item, key)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > 99_999:
        yield str(value)
