"""Marks and findings as Comprehensive 3D SR, TID 1500 (PS3.16). Runs in a worker process."""

from __future__ import annotations

import math
from datetime import datetime
from functools import cache
from typing import Any

import highdicom as hd
import numpy as np
from highdicom import sr
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sr.coding import Code as DicomCode
from pydicom.uid import generate_uid

from app import __version__
from app.errors import FileProblem
from app.imaging.exports import by_hand
from app.imaging.findings import (
    XY,
    Box,
    Ellipse,
    Finding,
    Heatmap,
    Instances,
    Mask,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Segments,
)
from app.imaging.objects.graphics import PIXEL_CORNER
from app.imaging.objects.report_findings import QUANTITIES, mark_texts, shown_value
from app.imaging.objects.writing import (
    Sources,
    algorithm,
    coded,
    frame_numbers,
    label_code,
    private_code,
    state_text,
    uid_of_id,
)
from app.paths import shipped_table

_PROCEDURE = DicomCode("363679005", "SCT", "Imaging procedure")
_COMMENT = DicomCode("121106", "DCM", "Comment")
_UCUM = {"°": "deg", "mm²": "mm2", "cm²": "cm2", "mm³": "mm3", "cm³": "cm3", "ratio": "{ratio}"}
_KNOWN = frozenset({"mm", "cm", "s", "ms", "%", "ml", "Hz", "deg", "cm/s", "m/s", "mm/s"})


def make(sources: Sources) -> Dataset:
    """Return the report of an export's findings.

    Raises:
        FileProblem: No finding can be expressed in it.
    """
    export = sources.export
    if export.verifier and any(not by_hand(f) and f.state == "proposed" for f in export.findings):
        raise FileProblem(
            "findings that nobody has reviewed cannot be verified",
            remedy="Accept or reject them first, or leave them out.",
        )
    groups = [group for one in export.findings for group in _groups(one, sources)]
    if not groups:
        raise FileProblem(
            "there is no mark or accepted finding to report",
            subject=str(export.images[0].path),
            remedy="Mark or accept a finding, or choose to write what is only proposed, too.",
        )
    report = sr.MeasurementReport(
        observers(export.verifier),
        procedure_reported=_PROCEDURE,
        imaging_measurements=groups,
        title=DicomCode("126000", "DCM", "Imaging Measurement Report"),
    )
    made = document(sr.Comprehensive3DSR, report[0], sources, export.verifier, export.organization)
    if not export.verifier:
        made.CompletionFlagDescription = "Not verified by a person"
        made.SeriesDescription = "Sightline: Findings, unverified"
    return made


def observers(person: str) -> sr.ObservationContext:
    """Return who answers for a report: Sightline, and the person by that name, if there is one."""
    device = sr.ObserverContext(
        sr.CodedConcept("121007", "DCM", "Device"),
        sr.DeviceObserverIdentifyingAttributes(
            uid=generate_uid("2.25.", entropy_srcs=["sightline device", __version__]),
            name="Sightline",
            manufacturer_name="Sightline",
            model_name="Sightline",
        ),
    )
    context = None
    if person:
        attributes = sr.PersonObserverIdentifyingAttributes(_person_name(person))
        context = sr.ObserverContext(sr.CodedConcept("121006", "DCM", "Person"), attributes)
    return sr.ObservationContext(observer_person_context=context, observer_device_context=device)


def document(
    kind: Any, content: Any, sources: Sources, verifier: str, organization: str, **more: Any
) -> Any:
    """Return an SR document of a `kind` of highdicom's; complete and verified if someone did."""
    verified = bool(verifier)
    return kind(
        evidence=list(sources.datasets),
        content=content,
        is_complete=verified,
        is_final=verified,
        is_verified=verified,
        verifying_observer_name=_person_name(verifier) if verified else None,
        verifying_organization=(organization or "not stated") if verified else None,
        manufacturer="Sightline",
        transfer_syntax_uid=hd.UID("1.2.840.10008.1.2.1"),
        **(sources.new | more),
    )


def _person_name(name: str) -> str:
    """Return a name as a PN value (PS3.5 6.2), which has no backslash and 64 letters a part."""
    return name.replace("\\", "/").replace("=", "-")[:64]


def _groups(finding: Finding, sources: Sources) -> list[Any]:
    """Return the measurement groups of one finding: TID 1410 for regions, else TID 1501."""
    shape = finding.geometry
    if isinstance(shape, Heatmap):
        return []
    tool = algorithm(finding)
    common: dict[str, Any] = {
        "tracking_identifier": sr.TrackingIdentifier(
            uid=uid_of_id(finding.id), identifier=finding.label or "Finding"
        ),
        "finding_type": label_code(finding),
        "algorithm_id": sr.AlgorithmIdentification(*tool) if tool else None,
        "finding_sites": [sr.FindingSite(coded(finding.site))] if finding.site else None,
    }
    measured = _measurements(finding)
    made: list[Any]
    if isinstance(shape, Mask | Instances):
        image = reference(finding, sources, sr.SourceImageForMeasurementGroup)
        made = [
            sr.MeasurementsAndQualitativeEvaluations(
                measurements=[_number(one) for one in measured] or None,
                source_images=[image],
                **common,
            )
        ]
    else:
        lines = mark_graphics(finding)
        made = [
            sr.PlanarROIMeasurementsAndQualitativeEvaluations(
                referenced_region=_region(kind, points, finding, sources),
                measurements=[_number(one) for one in measured] or None if not place else None,
                **common,
            )
            for place, (kind, points) in enumerate(lines)
        ]
    created = _observed(finding)
    for place, group in enumerate(made):
        if created:
            group[0].ObservationDateTime = created
        for text in _texts(finding, measured if not place else []):
            item = sr.TextContentItem(_COMMENT, text, sr.RelationshipTypeValues.CONTAINS)
            group[0].ContentSequence.append(item)
    return made


def _texts(finding: Finding, measured: list[Measurement]) -> list[str]:
    basis = [f"{one.name}: on {one.rests_on}" for one in measured if one.rests_on]
    described = f"Description: {finding.description}" if finding.description else ""
    shown = shown_value(finding)
    if not shown and measured and finding.value is not None:
        shown = measured[0].name
    named = ": ".join(("Shown value", shown)) if shown else ""
    state = f"State: {state_text(finding)}"
    return [text for text in (state, described, *basis, named, *mark_texts(finding)) if text]


def _observed(finding: Finding) -> str:
    """Return when a finding was made as a DT value; "" if that is unknown."""
    try:
        made = datetime.fromisoformat(finding.provenance.created)
    except ValueError:
        return ""
    return made.strftime("%Y%m%d%H%M%S%z") if made.tzinfo is not None else ""


def _measurements(finding: Finding) -> list[Measurement]:
    found = list(finding.measurements)
    if not found and finding.value is not None:
        names = {"°": "Angle", "mm": "Length", "px": "Length", "ratio": "Ratio", "objects": "Count"}
        units, _, basis = finding.units.partition(" (")
        found = [Measurement(names.get(units, "Value"), finding.value, units, basis.rstrip(")"))]
    if finding.score is not None:
        found.append(Measurement("Score", finding.score, ""))
    return [one for one in found if math.isfinite(one.value)]


def _number(one: Measurement) -> sr.Measurement:
    return sr.Measurement(quantity_code(one.name), float(one.value), unit_code(one.units))


def quantity_code(name: str) -> DicomCode:
    """Return the code of a quantity, else a private one with the name as its meaning."""
    known = QUANTITIES.get(name.lower())
    return DicomCode(*known) if known else private_code(name)


@cache
def _shown_units() -> dict[str, str]:
    """Map the notation that the program shows to the UCUM code, as far as the table has it."""
    return {shown: code for code, shown in shipped_table("dicom", "ucum").items()}


def unit_code(units: str) -> DicomCode:
    """Return the UCUM code of units as the program shows them; others become an annotation."""
    if not units:
        return DicomCode("1", "UCUM", "no units")
    code = _UCUM.get(units) or _shown_units().get(units)
    if code is None:
        code = units if units in _KNOWN else f"{{{units}}}"
    if len(code) > 16 or not code.isascii():
        return private_code(units)
    return DicomCode(code, "UCUM", units)


def mark_graphics(finding: Finding) -> list[tuple[str, tuple[XY, ...]]]:
    """Return the graphic types and points (x, y), in pixels with integer centres."""
    match finding.geometry:
        case Point(x, y):
            return [("POINT", ((x, y),))]
        case Polyline(points) if len(points) > 1:
            return [("POLYLINE", points)]
        case Polyline(points):
            return [("POINT", points[:1])]
        case Segments(points):
            pairs = zip(points[0::2], points[1::2], strict=False)
            return [("POLYLINE", pair) for pair in pairs]
        case Polygon(points):
            return [("POLYLINE", (*points, points[0]))]
        case Box(x0, y0, x1, y1):
            corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))
            return [("POLYLINE", corners)]
        case Ellipse(x0, y0, x1, y1):
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            across, down = ((x0, y), (x1, y)), ((x, y0), (x, y1))
            wide = x1 - x0 >= y1 - y0
            return [("ELLIPSE", (*across, *down) if wide else (*down, *across))]
        case _:
            return []


def _region(kind: str, points: tuple[XY, ...], finding: Finding, sources: Sources) -> Any:
    plane = finding.plane
    if plane is not None and plane.frame_of_reference:
        placed = np.array([plane.point(*point) for point in points])
        if kind == "POLYLINE" and points[0] == points[-1] and len(points) > 3:
            kind = "POLYGON"
        return sr.ImageRegion3D(kind, placed, plane.frame_of_reference)
    image = reference(finding, sources, sr.SourceImageForRegion)
    dataset = sources.of(finding.image.sop_instance_uid)
    return sr.ImageRegion(kind, _from_corner(points, dataset), image)


def _from_corner(points: tuple[XY, ...], dataset: Dataset) -> NDArray[np.float64]:
    """Return points as SCOORD counts them: from the corner of the top left pixel (C.18.6.1.2)."""
    found = np.array(points, np.float64) + PIXEL_CORNER
    return np.clip(found, 0.0, (float(dataset.Columns), float(dataset.Rows)))


def reference(finding: Finding, sources: Sources, kind: Any) -> Any:
    """Return a `kind` of content item that refers to the frame a finding is on."""
    dataset = sources.of(finding.image.sop_instance_uid)
    frames = frame_numbers(dataset, finding.image.frame)
    return kind(dataset.SOPClassUID, dataset.SOPInstanceUID, frames)
