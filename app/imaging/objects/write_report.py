"""Reports as DICOM objects: Enhanced SR (TID 2000) and Encapsulated PDF. Runs in a worker."""

from __future__ import annotations

import warnings
from datetime import datetime
from functools import partial
from typing import Any

from highdicom import sr
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.coding import Code as DicomCode
from pydicom.uid import EncapsulatedPDFStorage

from app.imaging.exports import SR as MARKS
from app.imaging.exports import DicomExport
from app.imaging.findings import Measurement
from app.imaging.objects.write_sr import (
    document,
    observers,
    quantity_code,
    reference,
    unit_code,
)
from app.imaging.objects.writing import Sources, made_file, private_code, sources_of
from app.imaging.reports.report_draft import Section, Sentence
from app.imaging.reports.sentences import Statement, basis_of, rounded, statements, text
from app.imaging.reports.written_report import ENCAPSULATED, ReportExport, WrittenReport

_TITLE = DicomCode("18748-4", "LN", "Diagnostic Imaging Report")
_SECTIONS = {
    "information": (
        DicomCode("55752-0", "LN", "Clinical Information"),
        DicomCode("11329-0", "LN", "History"),
    ),
    "technique": (
        DicomCode("55111-9", "LN", "Current Procedure Descriptions"),
        DicomCode("121065", "DCM", "Procedure Description"),
    ),
    "comparison": (
        DicomCode("55114-3", "LN", "Prior Procedure Descriptions"),
        DicomCode("121065", "DCM", "Procedure Description"),
    ),
    "findings": (
        DicomCode("59776-5", "LN", "Findings"),
        DicomCode("121071", "DCM", "Finding"),
    ),
    "impression": (
        DicomCode("19005-8", "LN", "Impressions"),
        DicomCode("121073", "DCM", "Impression"),
    ),
}
"""Headings (CID 7001) and their content (CID 7002) by the kind of section."""

_ADDENDUM = DicomCode("55107-7", "LN", "Addendum")
_SUMMARY = DicomCode("55112-7", "LN", "Summary")
_ILLUSTRATION = DicomCode("121080", "DCM", "Best illustration of finding")
_METHOD = DicomCode("370129005", "SCT", "Measurement Method")
_STUDY_DATE = DicomCode("111060", "DCM", "Study Date")
_CONTAINS = sr.RelationshipTypeValues.CONTAINS
_INFERRED = sr.RelationshipTypeValues.INFERRED_FROM
_QUALIFIES = sr.RelationshipTypeValues.HAS_CONCEPT_MOD
_CONTEXT = sr.RelationshipTypeValues.HAS_OBS_CONTEXT
_SERIES_NUMBER = 9190
_SHARED = (
    *("PatientName", "PatientID", "IssuerOfPatientID", "PatientBirthDate", "PatientSex"),
    *("PatientAge", "PatientIdentityRemoved", "DeidentificationMethod"),
    *("DeidentificationMethodCodeSequence", "StudyInstanceUID", "StudyDate", "StudyTime"),
    *("StudyID", "StudyDescription", "AccessionNumber", "ReferringPhysicianName"),
)
"""Attributes of patient and study that a PDF has from the images."""


def write_report(export: ReportExport) -> bytes:
    """Return the DICOM file of a report.

    Raises:
        FileProblem: The images are no DICOM, or their headers do not allow it.
    """
    make = _encapsulated if export.form == ENCAPSULATED else _structured
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they quote patients' names
        sources = sources_of(DicomExport(MARKS, export.images, export.report.findings))
        return made_file(partial(make, export), sources)


# Structured report


def _structured(export: ReportExport, sources: Sources) -> Dataset:
    report = export.report
    name = report.signature.name if report.signature else ""
    root = sr.ContainerContentItem(_TITLE, template_id="2000")
    language = DicomCode(
        report.language, "RFC5646", {"de": "German"}.get(report.language, "English")
    )
    items: list[Any] = [
        *sr.LanguageOfContentItemAndDescendants(sr.CodedConcept.from_code(language)),
        *observers(name),
    ]
    told = {key: one for one in statements(report.findings) for key in one.ids}
    for kind, (heading, element) in _SECTIONS.items():
        sections = [one for one in report.sections if one.kind == kind]
        if sections:
            section = sr.ContainerContentItem(heading, relationship_type=_CONTAINS)
            section.ContentSequence = sr.ContentSequence(
                [
                    _sentence(sentence, element, title, told, sources)
                    for one in sections
                    for title in [_region(one, sections)]
                    for sentence in one.sentences
                ]
            )
            items.append(section)
    for signature, added in report.addenda:
        section = sr.ContainerContentItem(_ADDENDUM, relationship_type=_CONTAINS)
        who = f"{added}\n{signature.name}, {signature.signed}"
        section.ContentSequence = sr.ContentSequence([sr.TextContentItem(_SUMMARY, who, _CONTAINS)])
        items.append(section)
    root.ContentSequence = sr.ContentSequence(items)
    made = document(
        *(sr.EnhancedSR, root, sources, name, export.organization), series_number=_SERIES_NUMBER
    )
    if report.signature is not None:
        when = datetime.fromisoformat(report.signature.signed)
        made.VerifyingObserverSequence[0].VerificationDateTime = _moment(when)
    else:
        made.CompletionFlagDescription = text("draft", "en")
    made.SeriesDescription = _description(report)
    return made


def _description(report: WrittenReport) -> str:
    return "Sightline: Report" if report.signature else "Sightline: Report, draft, not signed"


def _moment(when: datetime) -> str:
    return when.strftime("%Y%m%d%H%M%S%z")


def _region(section: Section, same: list[Section]) -> str:
    """Return the title of a region, where a report has findings of several."""
    return f"{section.title}: " if section.kind == "findings" and len(same) > 1 else ""


def _sentence(
    sentence: Sentence, name: DicomCode, region: str, told: dict[str, Statement], sources: Sources
) -> Any:
    """Return a sentence as TEXT, inferred from figures and images of its findings."""
    item = sr.TextContentItem(name, f"{region}{sentence.text}", _CONTAINS)
    grounds: list[Any] = []
    found = {id(told[key]): told[key] for key in sentence.findings if key in told}
    for statement in found.values():
        grounds += [_number(one, statement.label) for one in statement.measurements]
    images = {
        (one.image.sop_instance_uid, one.image.frame): one
        for statement in found.values()
        for one in statement.findings
        if one.plane is None
    }
    grounds += [reference(one, sources, _illustration) for one in images.values()]
    if grounds:
        item.ContentSequence = sr.ContentSequence(grounds)
    return item


def _number(one: Measurement, label: str) -> Any:
    """Return a figure as the text rounds it, with the plane of a length and its other date."""
    item = sr.NumContentItem(
        *(quantity_code(one.name or label), rounded(one), unit_code(one.units)),
        relationship_type=_INFERRED,
    )
    more: list[Any] = []
    if basis := basis_of(one):  # TID 300 (PS3.16): how it was measured
        more.append(sr.CodeContentItem(_METHOD, private_code(basis), _QUALIFIES))
    if one.date.isdecimal():
        more.append(sr.DateContentItem(_STUDY_DATE, one.date, _CONTEXT))
    if more:
        item.ContentSequence = sr.ContentSequence(more)
    return item


def _illustration(kind: str, uid: str, frames: list[int] | None) -> Any:
    return sr.ImageContentItem(
        _ILLUSTRATION, kind, uid, referenced_frame_numbers=frames, relationship_type=_INFERRED
    )


# Encapsulated PDF


def _encapsulated(export: ReportExport, sources: Sources) -> Dataset:
    """Return an Encapsulated PDF object (PS3.3 A.45.1)."""
    report, first, now = export.report, sources.datasets[0], datetime.now().astimezone()
    made = Dataset()
    made.file_meta = FileMetaDataset()
    for keyword in _SHARED:
        if keyword in first:
            made[keyword] = first[keyword]
    new = sources.new
    made.SOPClassUID = EncapsulatedPDFStorage
    made.SOPInstanceUID = new["sop_instance_uid"]
    made.SeriesInstanceUID, made.SeriesNumber = new["series_instance_uid"], _SERIES_NUMBER
    made.Modality, made.ConversionType, made.InstanceNumber = "DOC", "WSD", 1
    made.SeriesDescription = _description(report)
    made.ContentDate, made.ContentTime = now.strftime("%Y%m%d"), now.strftime("%H%M%S")
    made.InstanceCreationDate, made.InstanceCreationTime = made.ContentDate, made.ContentTime
    made.AcquisitionDateTime = ""
    made.BurnedInAnnotation = "YES"  # the page names the patient
    made.DocumentTitle = report.title[:64]
    code = Dataset()
    code.CodeValue, code.CodingSchemeDesignator, code.CodeMeaning = (
        *(_TITLE.value, _TITLE.scheme_designator, _TITLE.meaning),
    )
    made.ConceptNameCodeSequence = [code]
    made.VerificationFlag = "VERIFIED" if report.signature else "UNVERIFIED"
    made.SourceInstanceSequence = [_source(one) for one in sources.datasets]
    made.MIMETypeOfEncapsulatedDocument = "application/pdf"
    data = export.pdf.tobytes() if export.pdf is not None else b""
    made.EncapsulatedDocumentLength = len(data)
    made.EncapsulatedDocument = data + b"\0" * (len(data) % 2)
    return made


def _source(dataset: Dataset) -> Dataset:
    item = Dataset()
    item.ReferencedSOPClassUID = dataset.SOPClassUID
    item.ReferencedSOPInstanceUID = dataset.SOPInstanceUID
    return item
