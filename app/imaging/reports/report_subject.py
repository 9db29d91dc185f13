"""What the headers of a study's images say for its report: technique, earlier studies, heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from app.imaging.reports.report_draft import ReportSubject
from app.imaging.types import Content, Instance, Series, Study

_HEADING = (
    *("PatientName", "PatientID", "PatientBirthDate", "PatientSex"),
    *("StudyDescription", "StudyDate", "AccessionNumber", "ReferringPhysicianName"),
)
_FLAT = ("CR", "DX", "RG", "MG", "PX", "IO")
_MOST_SERIES = 8
_MOST_VIEWS = 12

Place = Callable[[Instance], tuple[Series, int] | None]
"""Returns the series of an image and its index there, or None."""


def subject_of(
    study: Study, images: Iterable[Instance], place_of: Place, priors: Sequence[Study] = ()
) -> ReportSubject:
    """Return what is known of a study.

    Args:
        study: The study.
        images: The images that findings are on.
        place_of: Where an image is.
        priors: The open earlier studies of the patient.
    """
    series = [one for one in study.series if one.content is Content.IMAGE and one.instances]
    first = series[0].instances[0] if series else None
    several = sum(len(one.instances) * one.instances[0].frames for one in series) > 1
    places: dict[str, tuple[int, int]] = {}
    for image in images if several else ():
        found = place_of(image)
        if found is not None:
            places[image.sop_instance_uid] = found[0].number, found[1] + 1
    words = [study.title]
    words += [f"{one.description} {_text(one, 'BodyPartExamined')}" for one in series]
    return ReportSubject(
        study.uid,
        _clean(study.title),
        study.date,
        series[0].modality.upper() if series else "",
        " ".join(words).lower(),
        tuple(_technique(study, series)),
        tuple((_clean(one.title), one.date) for one in priors),
        places,
        tuple(_heading(first)) if first is not None else (),
    )


def _text(series: Series, keyword: str) -> str:
    return _clean(series.instances[0].get(keyword)) if series.instances else ""


def _clean(text: str) -> str:
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())[:200]


def _heading(first: Instance) -> Iterable[tuple[str, str]]:
    for keyword in _HEADING:
        if value := _clean(first.get(keyword)):
            yield keyword, value


def _technique(study: Study, series: Sequence[Series]) -> Iterable[tuple[str, str]]:
    if not series:
        return
    modality = series[0].modality.upper()
    if modality:  # else it is a picture, whose title is its file's name
        yield "study", _clean(study.title) or modality
    if modality in _FLAT:
        images = islice((item for one in series for item in one.instances), _MOST_VIEWS)
        if views := list(dict.fromkeys(filter(None, map(_view, images)))):
            yield "views", ", ".join(views)
    elif modality in ("CT", "MR", "PT", "NM"):
        names = list(dict.fromkeys(filter(None, (_clean(one.description) for one in series))))
        if names:
            more = f" +{len(names) - _MOST_SERIES}" if len(names) > _MOST_SERIES else ""
            yield "series", "; ".join(names[:_MOST_SERIES]) + more
        thick = sorted({float(one) for one in _numbers(series, "SliceThickness")})
        if thick:
            yield "slice", " / ".join(f"{one:g}" for one in thick[:4])
    for key, keyword in (("tube", "KVP"), ("field", "MagneticFieldStrength")):
        values = sorted({float(one) for one in _numbers(series, keyword)})
        if values:
            yield key, " / ".join(f"{one:g}" for one in values[:4])
    agents = dict.fromkeys(filter(None, (_text(one, "ContrastBolusAgent") for one in series)))
    if agents:
        yield "contrast", ", ".join(agents)


def _numbers(series: Iterable[Series], keyword: str) -> Iterable[str]:
    for one in series:
        value = _text(one, keyword)
        if re.fullmatch(r"\d+(\.\d+)?", value) and float(value) > 0:
            yield value


def _view(image: Instance) -> str:
    position = {"LL": "lateral", "RL": "lateral", "LATERAL": "lateral"}.get(
        image.get("ViewPosition").strip().upper(), image.get("ViewPosition").strip()
    )
    side = (image.get("ImageLaterality") or image.get("Laterality")).strip().upper()
    side = {"R": "right", "L": "left"}.get(side, "")
    return _clean(" ".join(filter(None, (side, position.lower()))))
