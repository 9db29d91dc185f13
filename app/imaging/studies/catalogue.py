"""Grouping of instances into studies and series in display order; nothing is dropped silently.

The result does not depend on the order in which files were found. Grouping takes linear time except
for sorting; `Catalogue` groups again only the studies that have grown.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from app.imaging.files.natural_order import natural_key
from app.imaging.openable import no_images_problem
from app.imaging.space.planes import parse_numbers
from app.imaging.space.stacks import NotAStackError, series_stack, stack_warnings
from app.imaging.studies.ordering import POSITION, display_order
from app.imaging.studies.splitting import SHARED_UID, Part, all_at_one_position, split
from app.imaging.types import Content, Instance, Problem, ScanResult, Series, Study

_MAX_COMPARED = 100
_LETTERS = str.maketrans({"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "'": "", "’": ""})
_UMLAUT = re.compile("([aou])e|(?<=a)a")


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """A patient's identity as given in one file, normalised; "" or () for missing fields.

    Attributes:
        patient_id: PatientID, ignoring case and spaces.
        issuer: IssuerOfPatientID, ignoring case and spaces.
        birth: Digits of PatientBirthDate.
        names: The component groups of PatientName (alphabetic, ideographic, phonetic). Each is a
            sorted list of words, ignoring case, accents and punctuation. An umlaut is reduced to
            its plain vowel, even if written as two letters ("ü", "ue" and "u" are equal).
    """

    patient_id: str = ""
    issuer: str = ""
    birth: str = ""
    names: tuple[tuple[str, ...], ...] = ()

    @property
    def filled(self) -> int:
        """Number of fields that are not missing."""
        return sum(bool(part) for part in (self.patient_id, self.issuer, self.birth, self.names))

    @property
    def digest(self) -> str:
        """A short hash (12 hex digits) that tells identities apart without revealing them."""
        return hashlib.sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def identity_of(instance: Instance) -> Identity:
    """Return the patient's identity as given in an instance."""
    return _identity(*_said_of_the_patient(instance))


def _said_of_the_patient(instance: Instance) -> tuple[str, str, str, str]:
    get = instance.get
    issuer = get("IssuerOfPatientID")
    return get("PatientID"), issuer, get("PatientBirthDate"), get("PatientName")


@lru_cache(maxsize=1024)
def _identity(patient_id: str, issuer: str, birth: str, name: str) -> Identity:
    groups = (_words(group) for group in name.split("="))
    return Identity(
        _plain(patient_id),
        _plain(issuer),
        "".join(char for char in birth if char.isdecimal()),
        tuple(sorted({group for group in groups if group})),
    )


def identity_of_study(study: Study) -> Identity:
    """Return a study's patient identity, taken from the series that states the most fields."""
    said = {_said_of_the_patient(one.instances[0]) for one in study.series}
    identities = [_identity(*one) for one in said]
    return min(identities, key=lambda one: (-one.filled, one))


def _plain(text: str) -> str:
    return "".join(text.casefold().split())


def _words(group: str) -> tuple[str, ...]:
    spread = unicodedata.normalize("NFKD", group.casefold()).translate(_LETTERS)
    kept = "".join(
        char if char.isalnum() else " " for char in spread if not unicodedata.combining(char)
    )
    return tuple(sorted(_UMLAUT.sub(r"\1", word) for word in kept.split()))


def conflict(first: Identity, second: Identity) -> bool:
    """Return whether two identities contradict each other in a field that both have."""
    pairs = (
        (first.patient_id, second.patient_id),
        (first.issuer, second.issuer),
        (first.birth, second.birth),
    )
    if any(a and b and a != b for a, b in pairs):
        return True
    return not _same_name(first.names, second.names)


def are_different_patients(first: Instance, second: Instance) -> bool:
    """Return whether two files name different patients: their identities or sexes contradict."""
    sexes = {one.get("PatientSex").strip().upper() for one in (first, second)}
    return sexes == {"F", "M"} or conflict(identity_of(first), identity_of(second))


_NOBODY = frozenset(("anon", "anonymous", "anonymised", "anonymized", "unknown", "removed", "test"))
"""Words in place of a name, which say nothing of who it is."""


def surely_same(first: Identity, second: Identity) -> bool:
    """Return whether two identities are surely of one patient.

    Their Patient IDs must be equal and not empty, both must give a birth date or a name, and
    nothing that both give may contradict. A changed name therefore counts as another person.
    """
    if not first.patient_id or first.patient_id != second.patient_id or conflict(first, second):
        return False
    named = all(any(not _NOBODY.issuperset(one) for one in who.names) for who in (first, second))
    return bool(first.birth and second.birth) or named


def _same_name(first: tuple[tuple[str, ...], ...], second: tuple[tuple[str, ...], ...]) -> bool:
    """Return whether two name components are equal, or one only lacks words of the other."""
    if not first or not second:
        return True
    return any(set(a) <= set(b) or set(b) <= set(a) for a in first for b in second)


def by_patient(instances: Iterable[Instance]) -> list[list[Instance]]:
    """Group the instances of one study by patient; their order does not matter.

    Files that give only part of an identity, or nothing of it, join the one group whose files they
    do not contradict; if there are several such groups, they form a group of their own. The first
    instance in each group is one with the most complete identity.
    """
    known: dict[Hashable, Identity] = {}
    members: dict[Identity, list[Instance]] = {}
    for instance in instances:
        raw = _said_of_the_patient(instance)
        identity = known.get(raw)
        if identity is None:
            identity = known[raw] = identity_of(instance)
        members.setdefault(identity, []).append(instance)
    if len(members) == 1:
        return list(members.values())
    identities = sorted(members, key=lambda one: (-one.filled, one))
    patients: list[list[Identity]] = []
    for identity in identities:
        # So many different patients in one study are an error, so stop comparing.
        fitting = [] if len(patients) > _MAX_COMPARED else _fitting(identity, patients)
        if len(fitting) == 1:
            fitting[0].append(identity)
        else:
            patients.append([identity])
    return [[one for identity in patient for one in members[identity]] for patient in patients]


def _fitting(identity: Identity, patients: list[list[Identity]]) -> list[list[Identity]]:
    return [patient for patient in patients if not any(conflict(identity, one) for one in patient)]


_MAX_TWINS = 16
_MOST_TWINS = 3
_PICTURES = frozenset({"picture", "tiff"})
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")
_SHARED_STUDY = "another patient has the same Study Instance UID: check whose images these are"
_SHARED_ID = (
    "another patient, with another name or date of birth, has the same Patient ID: check whose "
    "images these are"
)


def group(
    instances: Iterable[Instance], problems: Iterable[Problem], paths: Sequence[Path] = ()
) -> ScanResult:
    """Group instances, in any order, into studies and series in display order.

    Studies are listed in the order of the opened paths, then by file name. A `Problem` is added for
    duplicate images and, if there are no studies at all, for each opened folder.
    """
    catalogue = Catalogue()
    catalogue.add(instances)
    return catalogue.result(problems, paths)


@dataclass(frozen=True, slots=True)
class StudyGroup:
    """The studies that share one Study Instance UID: one per patient, so normally a single study.

    `problems` report copies that were left out; `first` is the file path that sorts first.
    """

    studies: tuple[Study, ...]
    problems: tuple[Problem, ...]
    first: Path


class Catalogue:
    """Groups a growing set of instances into studies; not thread-safe."""

    def __init__(self) -> None:
        self._instances: dict[str, list[Instance]] = defaultdict(list)
        self._built: dict[str, StudyGroup] = {}
        self._unseen: dict[str, None] = {}

    def add(self, instances: Iterable[Instance]) -> None:
        """Add instances, which the next `changed` or `result` groups into studies."""
        for instance in instances:
            uid = study_uid(instance)
            self._instances[uid].append(instance)
            self._built.pop(uid, None)
            self._unseen[uid] = None

    def changed(self, paths: Sequence[Path] = ()) -> tuple[Study, ...]:
        """Return the whole studies that have grown since the last call, in order of `paths`."""
        uids, self._unseen = set(self._unseen), {}
        return tuple(study for study in self._studies(paths) if study.uid in uids)

    def result(self, problems: Iterable[Problem] = (), paths: Sequence[Path] = ()) -> ScanResult:
        """Return what `group` returns for all instances added so far, with `problems`."""
        collected = list(problems)
        studies = self._studies(paths)
        for uid in sorted(self._built):
            collected += self._built[uid].problems
        if not studies:
            named = {problem.path for problem in collected}
            folders = (path for path in paths if path not in named and path.is_dir())
            collected += [no_images_problem(path) for path in folders]
        return ScanResult(tuple(studies), tuple(collected))

    def _studies(self, paths: Sequence[Path]) -> list[Study]:
        for uid, instances in self._instances.items():
            if uid not in self._built:
                self._built[uid] = build_study(uid, instances)
        ranks = {path: rank for rank, path in reversed(list(enumerate(paths)))}
        groups = sorted(self._built.values(), key=lambda one: _place(one.first, ranks))
        return with_shared_id_warnings([study for one in groups for study in one.studies])


def _place(path: Path, ranks: dict[Path, int]) -> tuple[int, list[tuple[int, int, str]], str]:
    found = [ranks[one] for one in (path, *path.parents) if one in ranks]
    return min(found, default=len(ranks)), natural_key(str(path)), str(path)


def study_uid(instance: Instance) -> str:
    """Return the Study Instance UID; if missing, a UID made from folder, patient and date."""
    uid = instance.get("StudyInstanceUID")
    if uid:
        return uid
    key = f"{instance.path.parent}\0{instance.get('PatientID')}\0{instance.get('StudyDate')}"
    return _made_uid(key)


def _series_uid(instance: Instance) -> str:
    uid = instance.get("SeriesInstanceUID")
    if uid:
        return uid
    place = str(instance.path if instance.kind == "volume" else instance.path.parent)
    if instance.kind in _PICTURES:
        # Pictures are one stack if their names count and their sizes agree.
        name = _LAST_NUMBER.sub("#", instance.path.name)
        place += f"\0{name}\0{instance.columns} x {instance.rows}"
    return _made_uid(f"{place}\0{instance.kind}\0{instance.get('Modality')}")


def _made_uid(key: str) -> str:
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
    return f"2.25.{int.from_bytes(digest[:16], 'big')}"


def build_study(uid: str, instances: Sequence[Instance]) -> StudyGroup:
    """Build the studies with one Study Instance UID: one for each patient named by the files."""
    problems: list[Problem] = []
    unique = _unique(sorted(instances, key=_path_key), problems)
    patients = by_patient(unique)
    studies: list[Study] = []
    for own in patients:
        study = _study(uid, own)
        if len(patients) > 1:
            # Not a count: with a third patient, data stored under the key would become another's.
            key = f"{uid}/{identity_of(own[0]).digest}"
            study = replace(study, key=key, warnings=(_SHARED_STUDY,))
        studies.append(study)
    first = min((one.path for one in unique), key=str)
    return StudyGroup(tuple(studies), tuple(problems), first)


def _path_key(instance: Instance) -> tuple[str, int]:
    return str(instance.path), instance.part


def _unique(instances: Iterable[Instance], problems: list[Problem]) -> list[Instance]:
    """Return each image once; report copies, and keep and note different images with one UID.

    Copies have the same size and attributes; pixels are not compared, since only headers are read.
    """
    shared: list[Problem] = []
    seen: dict[tuple[str, int], list[Instance]] = {}
    paths: set[tuple[Path, int]] = set()
    kept: list[Instance] = []
    for instance in instances:
        if (instance.path, instance.part) in paths:
            continue
        paths.add((instance.path, instance.part))
        twins = seen.setdefault((instance.sop_instance_uid, instance.part), [])
        same = next((twin for twin in twins if is_copy(instance, twin)), None)
        if same is not None:
            reason = f"it is a copy of {same.path.name} (same SOP Instance UID), which is listed"
            problems.append(Problem(instance.path, reason, "Nothing needs to be done", True))
            continue
        if twins:
            note = f"it has the {SHARED_UID} as {twins[0].path.name}, but is another image"
            text = "; ".join(part for part in (instance.note, note) if part)
            kept.append(replace(instance, note=text))
            shared.append(Problem(instance.path, note, "Check which of the two is right", True))
        else:
            kept.append(instance)
        if len(twins) < _MAX_TWINS:
            twins.append(instance)
    problems += _by_folder(shared)
    return kept


def _by_folder(shared: Sequence[Problem]) -> list[Problem]:
    """Replace many problems of one folder by a single one; each image keeps its own note."""
    counts = Counter(problem.path.parent for problem in shared)
    crowded = [folder for folder, count in counts.items() if count > _MOST_TWINS]
    # Without a count, which would make a new problem with each report of a growing scan.
    reason = "several of its images have the SOP Instance UIDs of others, but are other images"
    whole = [Problem(folder, reason, "Check which of them are right", True) for folder in crowded]
    return [one for one in shared if one.path.parent not in crowded] + whole


def is_copy(first: Instance, second: Instance) -> bool:
    """Return whether two images that share a SOP Instance UID look the same by their headers."""
    return (
        first.size_bytes == second.size_bytes
        and (first.rows, first.columns, first.frames)
        == (second.rows, second.columns, second.frames)
        and dict(first.attributes) == dict(second.attributes)
    )


def with_shared_id_warnings(studies: Sequence[Study]) -> list[Study]:
    """Return the studies, with a warning on each whose Patient ID also belongs to another patient.

    Patients within one study may have different IDs, so `build_study` reports them. Warnings added
    by earlier calls are updated or removed.
    """
    studies = [_without_shared_id(study) for study in studies if study.series]
    sharing: dict[str, list[int]] = defaultdict(list)
    identities = [identity_of_study(study) for study in studies]
    for place, identity in enumerate(identities):
        if identity.patient_id:
            sharing[identity.patient_id].append(place)
    doubtful: set[int] = set()
    for places in sharing.values():
        distinct = {identities[place] for place in places}
        if len(distinct) < 2:
            continue
        many = len(distinct) > _MAX_TWINS
        for place in places:
            if many or any(conflict(identities[place], other) for other in distinct):
                doubtful.add(place)
    return [
        replace(study, warnings=(*study.warnings, _SHARED_ID)) if place in doubtful else study
        for place, study in enumerate(studies)
    ]


def _without_shared_id(study: Study) -> Study:
    if _SHARED_ID not in study.warnings:
        return study
    return replace(study, warnings=tuple(one for one in study.warnings if one != _SHARED_ID))


def _study(uid: str, instances: Sequence[Instance]) -> Study:
    groups: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        groups[_series_uid(instance)].append(instance)
    series = [one for own, members in groups.items() for one in series_of(own, members)]
    series.sort(key=_series_key)
    first = series[0].instances[0]
    named = next((one for own in series for one in own.instances if one.get("PatientID")), first)
    return Study(
        uid=uid,
        title=_title(first, series),
        patient=named.get("PatientName") or _text_of(series, "PatientName"),
        patient_id=named.get("PatientID"),
        date=_text_of(series, "StudyDate"),
        series=tuple(series),
        key=uid,
    )


def _title(first: Instance, series: list[Series]) -> str:
    if first.kind != "dicom":
        files = {item.path for one in series for item in one.instances}
        return first.path.name if len(files) == 1 else first.path.parent.name
    shown = [one for one in series if one.content is Content.IMAGE] or series
    modalities = " ".join(dict.fromkeys(one.modality for one in shown if one.modality))
    parts = [modalities, first.get("BodyPartExamined").capitalize()]
    described = _text_of(series, "StudyDescription")
    return described or " ".join(part for part in parts if part) or "Study"


def _text_of(series: Sequence[Series], keyword: str) -> str:
    """Return an attribute of the study from the first series that has it."""
    texts = (own.instances[0].get(keyword) for own in series)
    return next((text for text in texts if text), "")


def _series_key(one: Series) -> tuple[bool, bool, int, list[tuple[int, int, str]], str, int]:
    """Sort images first, by series number; series without a number come last."""
    described = natural_key(one.description)
    other = one.content is not Content.IMAGE
    return other, not one.number, one.number, described, one.uid, one.part


def series_of(uid: str, instances: Sequence[Instance]) -> list[Series]:
    """Split instances with one Series Instance UID into series, each in display order."""
    return [_series(uid, part, number) for number, part in enumerate(split(instances))]


def _series(uid: str, part: Part, position: int) -> Series:
    members, order = display_order(part.instances)
    first = members[0]
    description = first.get("SeriesDescription") or first.get("ProtocolName")
    if first.kind in _PICTURES:
        names = dict.fromkeys(one.path.name for one in (first, members[-1]))
        description = " to ".join(names)
    number = first.get("SeriesNumber")
    return Series(
        uid=uid,
        description=description,
        modality=first.get("Modality"),
        number=int(number) if number.lstrip("-").isdecimal() else 0,
        instances=tuple(members),
        part=position,
        split=part.split,
        order=order,
        warnings=_warnings(members, order),
    )


def _warnings(members: Sequence[Instance], order: str) -> tuple[str, ...]:
    """Return the warnings of a series as a stack, and of images that share a UID."""
    found: list[str] = []
    twins = sum(SHARED_UID in one.note for one in members)
    if twins:
        noun = "image has" if twins == 1 else "images have"
        found.append(f"{twins} {noun} the SOP Instance UID of another one")
    if len(members) < 2 or members[0].content is not Content.IMAGE:
        return tuple(found)
    try:
        stack = series_stack(members)
    except NotAStackError as error:
        if "same position" in str(error) and not all_at_one_position(members):
            found.append("several images lie at the same position, and nothing distinguishes them")
        return tuple(found)
    descending = order == POSITION and stack.order[0] != 0
    widths = {parse_numbers(one.get("SliceThickness"))[:1] for one in members}
    thickness = next(iter(widths)) if len(widths) == 1 else ()
    found += stack_warnings(
        stack,
        descending=descending,
        tilt=members[0].get("GantryDetectorTilt"),
        thickness=thickness[0] if thickness else None,
    )
    return tuple(found)
