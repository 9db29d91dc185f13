"""The open studies, and the files that could not be opened."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.imaging.files.identity import uid_hashes
from app.imaging.scanning.copies import CONTENT
from app.imaging.studies.catalogue import build_study, is_copy, study_uid, with_shared_id_warnings
from app.imaging.studies.instance_lists import StoredInstances, uid_hashes_of
from app.imaging.types import Instance, Problem, ScanResult, Series, Study
from app.workspace.signals import Signal

_Place = tuple[Path, int]
"""(file, number of an image within the file)."""
_MOST_FOUND = 64
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class Studies:
    """The open studies and the files that could not be opened.

    A study may have 100,000 images and grows while it is scanned. Images are therefore looked up in
    a table per study, which is made when it is first needed.
    """

    def __init__(self) -> None:
        self._studies: dict[str, Study] = {}
        self._tables: dict[str, _Table] = {}
        self._everywhere: _Table | None = None
        self._found: dict[int, tuple[Instance, tuple[Study, Series, int] | None]] = {}
        """Places that were looked up last: a step of the wheel asks for the same one ten times."""
        self._problems: list[Problem] = []
        self.changed: Signal[()] = Signal()

    @property
    def all(self) -> tuple[Study, ...]:
        """The open studies, in the order in which they were opened."""
        return tuple(self._studies.values())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The files that could not be opened, in the order in which they were found."""
        return tuple(self._problems)

    def add(self, result: ScanResult) -> None:
        """Add the result of a scan, or of the part of a scan that has been completed so far.

        A new study replaces the open study with the same UID if it contains all images of the open
        study, as is the case while a scan continues. Otherwise its images are added to the open
        study, which is grouped and ordered again.
        """
        found: dict[str, list[Study]] = {}
        for study in result.studies:
            found.setdefault(study.uid, []).append(study)
        self._put(found)
        self._problems.extend(result.problems)
        self.changed.emit()

    def _put(self, found: dict[str, list[Study]]) -> None:
        known: dict[str, list[Study]] = {uid: [] for uid in found}
        for study in self._studies.values():
            if study.uid in known:
                known[study.uid].append(study)
        merged: dict[str, Sequence[Study]] = {}
        for uid, studies in found.items():
            merged[uid], shared = _merged(uid, known[uid], studies)
            self._problems += [one for one in shared if one not in self._problems]
        placed: list[Study] = []
        for study in self._studies.values():
            if study.uid not in merged:
                placed.append(study)
            elif known[study.uid]:  # the first of its patients; all of them come in its place
                placed += merged[study.uid]
                known[study.uid] = []
                found.pop(study.uid)
        placed += [study for uid in found for study in merged[uid]]
        self._hold(placed)

    def close(self, *keys: str) -> None:
        """Close the studies with these keys (see `key_of`); unknown keys are ignored."""
        closed = [key for key in keys if self._studies.pop(key, None)]
        if closed:
            self._hold(self.all)
            self.changed.emit()

    def _hold(self, studies: Sequence[Study]) -> None:
        """Replace the open studies; keys may change when two studies share a UID."""
        self._studies = {key_of(one): one for one in with_shared_id_warnings(studies)}
        self._everywhere = None
        self._found.clear()
        for key in self._tables.keys() - self._studies.keys():
            del self._tables[key]

    def clear_problems(self) -> None:
        """Clear the list of files that could not be opened."""
        self._problems.clear()
        self.changed.emit()

    def with_uid(self, sop_instance_uid: str) -> Instance | None:
        """Return the first open instance with the given SOP Instance UID, or None."""
        if self._everywhere is None:
            self._everywhere = _Table(tuple(one for study in self.all for one in study.series))
        found = next(self._everywhere.places(sop_instance_uid), None)
        return found[0].instances[found[1]] if found else None

    def instances_with(self, uids: Iterable[str]) -> tuple[Instance, ...]:
        """Return the open images with these SOP Instance UIDs, each once."""
        found = map(self.with_uid, dict.fromkeys(uids))
        return tuple(one for one in found if one is not None)

    def instances(self) -> list[Sequence[Instance]]:
        """Return one sequence of instances per open series, in list order; works on any thread."""
        return [one.instances for study in self.all for one in study.series]

    def series_of(self, instance: Instance) -> Series | None:
        """Return the series that contains an instance, or None."""
        found = self._place_of(instance)
        return found[1] if found else None

    def place_of(self, instance: Instance) -> tuple[Series, int] | None:
        """Return an instance's series and its position in that series from 0; None if not open.

        Instances are compared by file and index in the file, since the shown one may be from an
        earlier stage of a scan.
        """
        found = self._place_of(instance)
        return found[1:] if found else None

    def study_of(self, instance: Instance) -> Study | None:
        """Return the study that contains an instance, or None."""
        found = self._place_of(instance)
        return found[0] if found else None

    def _place_of(self, instance: Instance) -> tuple[Study, Series, int] | None:
        known = self._found.get(id(instance))
        if known is None or known[0] is not instance:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            known = self._found[id(instance)] = instance, self._looked_up(instance)
        return known[1]

    def _looked_up(self, instance: Instance) -> tuple[Study, Series, int] | None:
        likely = study_uid(instance)
        for own in (True, False):
            for key, study in self._studies.items():
                if (study.uid == likely) is own:
                    found = self._table(key).place_of(instance)
                    if found is not None:
                        return study, *found
        return None

    def _table(self, key: str) -> _Table:
        study = self._studies[key]
        table = self._tables.get(key)
        if table is None or table.series is not study.series:
            table = self._tables[key] = _Table(study.series)
        return table


class _Table:
    """The places of the images of some series, by SOP Instance UID.

    It holds sorted hashes instead of UIDs: UIDs would take a tenth of the memory of the instances,
    and instances that are not made yet would have to be made.
    """

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series = series
        self._starts = np.cumsum([0, *(len(one.instances) for one in series)])
        self._marked = self._sorted(stored=True)
        self._hashed = self._sorted(stored=False)

    def places(self, uid: str) -> Iterator[tuple[Series, int]]:
        """Yield the series and place there of the images with a SOP Instance UID."""
        found: list[int] = []
        for numbers, at, number_of in (
            (*self._marked, lambda: uid_hashes((uid,))[0]),
            (*self._hashed, lambda: np.int64(hash(uid))),
        ):
            if len(numbers):
                number = number_of()
                first, last = (numbers.searchsorted(number, side) for side in _SIDES)
                found += at[first:last].tolist()
        for place in sorted(found):
            number = int(self._starts.searchsorted(place, "right")) - 1
            series, position = self.series[number], place - int(self._starts[number])
            if series.instances[position].sop_instance_uid == uid:
                yield series, position

    def place_of(self, instance: Instance) -> tuple[Series, int] | None:
        """Return the series and place of an instance's file and part, or None."""
        for series, position in self.places(instance.sop_instance_uid):
            other = series.instances[position]
            if other is instance or (other.path, other.part) == (instance.path, instance.part):
                return series, position
        return None

    def _sorted(self, *, stored: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return hashes of UIDs in ascending order, and the place of each among the images."""
        numbers: list[NDArray[Any]] = []
        places: list[NDArray[np.int64]] = []
        for start, one in zip(self._starts.tolist(), self.series, strict=False):
            if isinstance(one.instances, StoredInstances) is stored:
                numbers.append(uid_hashes_of(one.instances) if stored else _hashes(one.instances))
                places.append(np.arange(start, start + len(one.instances)))
        if not numbers:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        every = np.concatenate(numbers)
        order = np.argsort(every, kind="stable")
        return every[order], np.concatenate(places)[order]


def _hashes(instances: Sequence[Instance]) -> NDArray[np.int64]:
    return np.fromiter((hash(one.sop_instance_uid) for one in instances), np.int64, len(instances))


def key_of(study: Study) -> str:
    """Return a study's key: `Study.key`, or its UID if it has no key."""
    return study.key or study.uid


class StudyUids(Container[str]):
    """A container with the SOP Instance UIDs of a study's images; empty if there is no study."""

    def __init__(self, study: Study | None) -> None:
        self._series = study.series if study is not None else ()
        self._table: _Table | None = None

    def __contains__(self, uid: object) -> bool:
        if self._table is None:
            self._table = _Table(self._series)
        return isinstance(uid, str) and any(True for _ in self._table.places(uid))


def instances_of(studies: Iterable[Study]) -> Iterator[Instance]:
    """Yield all instances of the studies, in order."""
    return (item for study in studies for one in study.series for item in one.instances)


def _merged(
    uid: str, known: Sequence[Study], new: Sequence[Study]
) -> tuple[Sequence[Study], Sequence[Problem]]:
    """Return the studies of one Study Instance UID, and the images that share a UID with another.

    Copies of open images are left out. Scans detect copies by content; until a scan has finished,
    only headers can be compared.
    """
    lists = {id(one.instances) for study in new for one in study.series}
    if all(id(one.instances) in lists for study in known for one in study.series):
        return new, ()  # nothing was open, or the result is not new
    fresh = {id(item) for item in instances_of(new)}
    if all(id(item) in fresh for item in instances_of(known)):
        return new, ()  # a scan went on: the very same instances, and more
    old = {(item.path, item.part): item for item in instances_of(known)}
    late = {(item.path, item.part): item for item in instances_of(new)}
    if old.keys() <= late.keys():
        return new, ()
    late = _without_copies(late, old)
    if all(old.get(key) == item for key, item in late.items()):
        return known, ()
    both = build_study(uid, list((old | late).values()))
    return both.studies, both.problems


def _without_copies(
    late: dict[_Place, Instance], old: dict[_Place, Instance]
) -> dict[_Place, Instance]:
    """Return new instances that are no copies of open ones in other files.

    While a scan goes on nothing is compared yet: an image with the header of an open one then
    counts as its copy, even where that one is known to differ from a third.
    """
    by_uid: dict[tuple[str, int], list[Instance]] = {}
    for item in old.values():
        by_uid.setdefault((item.sop_instance_uid, item.part), []).append(item)
    kept: dict[_Place, Instance] = {}
    for key, item in late.items():
        bare = CONTENT not in item.attributes
        if key in old:
            kept[key] = old[key] if bare and _unmarked(old[key]) == item else item
            continue
        twins = by_uid.get((item.sop_instance_uid, item.part), ())
        if not any(is_copy(item, _unmarked(twin) if bare else twin) for twin in twins):
            kept[key] = item
    return kept


def _unmarked(instance: Instance) -> Instance:
    if CONTENT not in instance.attributes:
        return instance
    texts = {key: text for key, text in instance.attributes.items() if key != CONTENT}
    return replace(instance, attributes=texts)
