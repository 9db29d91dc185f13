"""The studies that are open."""

from __future__ import annotations

from pathlib import Path

from app.imaging.types import Instance, Problem, ScanResult, Series, Study
from app.workspace.signals import Signal


class Studies:
    """Open studies and what could not be opened. One study is listed once, however often opened."""

    def __init__(self) -> None:
        self._studies: dict[str, Study] = {}
        self._uids: frozenset[str] = frozenset()
        self._problems: list[Problem] = []
        self.changed: Signal[()] = Signal()

    @property
    def all(self) -> tuple[Study, ...]:
        """Open studies in order of opening."""
        return tuple(self._studies.values())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Files that could not be opened, in order; never dropped silently."""
        return tuple(self._problems)

    def add(self, result: ScanResult) -> None:
        """Add what a scan found; a study that is open already gains the new series and images."""
        for study in result.studies:
            known = self._studies.get(study.uid)
            self._studies[study.uid] = _merged(known, study) if known else study
        self._problems.extend(result.problems)
        self._list_uids()
        self.changed.emit()

    def close(self, study_uid: str) -> None:
        """Close a study; unknown ids are ignored."""
        if self._studies.pop(study_uid, None):
            self._list_uids()
            self.changed.emit()

    def clear_problems(self) -> None:
        """The user has read them."""
        self._problems.clear()
        self.changed.emit()

    def has_image(self, sop_instance_uid: str) -> bool:
        """Whether an image with that SOP Instance UID is open."""
        return sop_instance_uid in self._uids

    def _list_uids(self) -> None:
        self._uids = frozenset(item.sop_instance_uid for item in self.instances())

    def instances(self) -> tuple[Instance, ...]:
        """All open instances in list order."""
        return tuple(
            instance
            for study in self._studies.values()
            for series in study.series
            for instance in series.instances
        )

    def find(self, path: Path) -> Instance | None:
        """The open instance read from `path`, or None."""
        return next((item for item in self.instances() if item.path == path), None)

    def series_of(self, instance: Instance) -> Series | None:
        """The series that holds an instance, or None."""
        for study in self._studies.values():
            for series in study.series:
                if instance in series.instances:
                    return series
        return None

    def study_of(self, instance: Instance) -> Study | None:
        """The study that holds an instance, or None."""
        for study in self._studies.values():
            if any(instance in series.instances for series in study.series):
                return study
        return None


def uids_of(study: Study | None) -> frozenset[str]:
    """SOP Instance UIDs of a study's images; none without a study."""
    series = study.series if study else ()
    return frozenset(item.sop_instance_uid for one in series for item in one.instances)


def _merged(known: Study, new: Study) -> Study:
    series = {item.uid: item for item in known.series}
    for item in new.series:
        old = series.get(item.uid)
        if old:
            have = {instance.path for instance in old.instances}
            extra = tuple(i for i in item.instances if i.path not in have)
            instances = tuple(sorted(old.instances + extra, key=lambda i: i.number))
            item = Series(item.uid, item.description, item.modality, item.number, instances)
        series[item.uid] = item
    return Study(
        known.uid, known.title, known.patient, known.patient_id, known.date, tuple(series.values())
    )
