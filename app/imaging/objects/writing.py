"""Writes DICOM objects about open images with highdicom. Runs in a worker process.

Here is what the writers share: the sources, new UIDs, names of the equipment, codes and colours.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydicom.datadict import (
    dictionary_description,
    dictionary_has_tag,
    keyword_for_tag,
    tag_for_keyword,
)
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.coding import Code as DicomCode
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from pydicom.valuerep import DSfloat

from app import __version__
from app.errors import FileProblem, SightlineError
from app.imaging.dicom.dicom_file import read_header, value_of
from app.imaging.dicom.dicom_items import text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.exports import (
    KINDS,
    OTHER_PIXELS,
    SC,
    SEG,
    SR,
    DicomExport,
    WrittenObject,
    by_hand,
    reason_against,
)
from app.imaging.findings import Code, Finding
from app.imaging.label_colors import COLORS, LabelColors, rgb
from app.imaging.objects.report_findings import SCHEME
from app.imaging.types import Instance

MAKER = {
    "manufacturer": "Sightline",
    "manufacturer_model_name": "Sightline",
    "software_versions": __version__,
    "device_serial_number": "none",
}
CHARSET = "ISO_IR 192"

_WRITERS = {kind: f"app.imaging.objects.write_{kind}" for kind in KINDS}
_NAMES = {
    "sr": "Findings and measurements",
    "seg": "Segmentation",
    "gsps": "Presentation state",
    "ko": "Key images",
    "sc": "Secondary capture",
}
_NEEDED = ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID", "SOPClassUID")
_BLANK = (
    *("PatientID", "PatientName", "PatientBirthDate", "PatientSex", "AccessionNumber", "StudyID"),
    *("StudyDate", "StudyTime", "ReferringPhysicianName"),
)


_DECIMALS = (
    *("PixelSpacing", "ImagePositionPatient", "ImageOrientationPatient", "SliceThickness"),
    *("ImagerPixelSpacing", "SpacingBetweenSlices", "RescaleSlope", "RescaleIntercept"),
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The headers of the images that an object refers to, in the order of the export.

    Attributes:
        left_out: (label, reason) of findings that the writer leaves out.
    """

    export: DicomExport
    datasets: tuple[Dataset, ...]
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def leave_out(self, finding: Finding, reason: str) -> None:
        """Record that a finding is not in the object, and why."""
        self.left_out.append((finding.label, reason))

    def of(self, uid: str) -> Dataset:
        """Return the header of the image with this SOP Instance UID; KeyError if it is not here."""
        for one in self.datasets:
            if one.SOPInstanceUID == uid:
                return one
        raise KeyError(uid)

    @property
    def new(self) -> dict[str, Any]:
        """Arguments of every highdicom object: new UIDs, numbers and character set."""
        return {
            "series_instance_uid": generate_uid(prefix=None),
            "series_number": series_number(self.export.kind),
            "sop_instance_uid": generate_uid(prefix=None),
            "instance_number": 1,
            "specific_character_set": CHARSET,
        }


def series_number(kind: str) -> int:
    """Return a Series Number far above those of scanners."""
    return 9100 + KINDS.index(kind)


def write_object(export: DicomExport, stale: Collection[str] = ()) -> WrittenObject:
    """Return an object as a DICOM file; findings that it cannot hold are left out.

    Args:
        export: What is to be written.
        stale: Ids of findings that were made on other pixels than those of the image.

    Raises:
        FileProblem: highdicom is missing, the images are no DICOM, do not fit the object, or none
            of the findings does.
    """
    try:
        writer = importlib.import_module(_WRITERS[export.kind])
    except ImportError as error:
        raise FileProblem(
            "DICOM objects cannot be written, since the package highdicom is not installed",
            remedy="It is not available for Python 3.14 yet: use Python 3.11 to 3.13.",
            detail=str(error),
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they quote patients' names
        export, left_out = _fitting(export, stale)
        sources = Sources(export, _datasets(export))
        data = made_file(writer.make, sources)
        return WrittenObject(data, (*left_out, *sources.left_out))


def sources_of(export: DicomExport) -> Sources:
    """Return the headers of an export's images, mended; FileProblem if one lacks its UIDs."""
    return Sources(export, _datasets(export))


def made_file(make: Callable[[Sources], Dataset], sources: Sources) -> bytes:
    """Return the file of the object that `make` makes of headers.

    Raises:
        FileProblem: The headers do not allow it; it says which attribute is at fault.
    """
    export = sources.export
    try:
        return _file_bytes(make(sources), export)
    except SightlineError:
        raise
    except _HEADER_FAULTS as error:
        raise FileProblem(
            _fault_of(error, sources, make),
            subject=str(export.images[0].path),
            remedy="Have that attribute corrected in the image, or save the findings as a "
            "table (CSV), or the view as a picture.",
            detail=_places(error),
        ) from error


_HEADER_FAULTS = (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError)
_SEARCH_S = 10.0


def _fault_of(error: Exception, sources: Sources, make: Callable[[Sources], Dataset]) -> str:
    """Return which attribute of the images' headers does not allow the object, for the user.

    It is one that is missing, or one without which the object can be written.
    """
    found = re.search(r"no attribute '(\w+)'|^'(\w+)'$", str(error))
    keyword = next(filter(None, found.groups()), "") if found else ""
    tag = tag_for_keyword(keyword) if keyword else None
    if tag is not None and any(tag not in one for one in sources.datasets):
        return f"its header lacks {_named(tag)}, which this object needs"
    end = time.monotonic() + _SEARCH_S
    tags = dict.fromkeys(tag for one in sources.datasets for tag in one.keys())  # noqa: SIM118
    for tag in tags:
        if keyword_for_tag(tag) in _NEEDED or time.monotonic() > end:
            continue
        held = [(one, one.get_item(tag)) for one in sources.datasets if tag in one]
        for dataset, _ in held:
            del dataset[tag]
            if keyword_for_tag(tag) in _BLANK:
                setattr(dataset, keyword_for_tag(tag), "")
        try:
            _file_bytes(make(sources), sources.export)
        except (SightlineError, *_HEADER_FAULTS):
            pass
        else:
            return f"the value of {_named(tag)} in its header is not valid"
        finally:
            for dataset, element in held:
                dataset[tag] = element
    return "its header does not allow this DICOM object; the attribute could not be found"


def _named(tag: int) -> str:
    """Return an attribute's name and tag, e.g. "Pixel Spacing (0028,0030)"."""
    name = dictionary_description(tag) if dictionary_has_tag(tag) else "a private attribute"
    return f"{name} ({tag >> 16:04X},{tag & 0xFFFF:04X})"


def _places(error: BaseException) -> str:
    """Return the type of an error and where it arose; not its text, which may quote the patient."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = (f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames)
    return f"{type(error).__name__} at {'; '.join(places)}"


def _fitting(
    export: DicomExport, stale: Collection[str]
) -> tuple[DicomExport, list[tuple[str, str]]]:
    """Return the export with those findings that fit, and (label, reason) of the others."""
    images = {one.sop_instance_uid for one in export.images}
    kept: list[Finding] = []
    left_out: list[tuple[str, str]] = []
    for one in export.findings:
        reason = reason_against(export.kind, one, images)
        if one.id in stale:
            reason = OTHER_PIXELS
        if reason:
            left_out.append((one.label, reason))
        else:
            kept.append(one)
    if export.kind in (SR, SEG) and left_out and not kept:
        reasons = "; ".join(dict.fromkeys(reason for _, reason in left_out))
        raise FileProblem(
            f"none of the marks can be written: {reasons}",
            subject=str(export.images[0].path),
            remedy="Open the images on which they were made, or save a secondary capture.",
        )
    return replace(export, findings=tuple(kept)), left_out


def _datasets(export: DicomExport) -> tuple[Dataset, ...]:
    if export.kind == SC and any(one.kind != "dicom" for one in export.images):
        return ()
    return tuple(_dataset(one) for one in export.images)


def _dataset(image: Instance) -> Dataset:
    if image.kind != "dicom":
        raise FileProblem(
            "it is no DICOM image, so that no DICOM object can refer to it",
            subject=str(image.path),
            remedy="Save a secondary capture, a picture or a table (CSV) instead.",
        )
    header = read_header(image.path)
    dataset = header.dataset
    if missing := [name for name in _NEEDED if not dataset.get(name)]:
        names = ", ".join(dictionary_description(one) for one in missing)
        raise FileProblem(
            f"its header lacks {names}, to which an object would refer",
            subject=str(image.path),
            remedy="Save a secondary capture, a picture or a table (CSV) instead.",
        )
    for keyword in _BLANK:
        if keyword not in dataset or dataset.get(keyword) is None:
            setattr(dataset, keyword, "")
    # Files from before 1993 write 2001.02.03 and 11:20:00.
    for keyword, sign in (("StudyDate", "."), ("StudyTime", ":")):
        value = text_of(dataset, keyword)
        if sign in value and (sign == ":" or value.count(sign) == 2):
            setattr(dataset, keyword, value.replace(sign, ""))
    _mend(dataset)
    if not hasattr(dataset, "file_meta"):
        dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = header.syntax
    return dataset


def _mend(dataset: Dataset) -> None:
    """Mend what an image's header says against the standard, and the object would repeat."""
    if "PatientAge" in dataset and not re.fullmatch(r"\d{3}[DWMY]", text_of(dataset, "PatientAge")):
        del dataset.PatientAge  # "62" does not say of what
    removed = text_of(dataset, "PatientIdentityRemoved") == "YES"
    if removed and not (
        text_of(dataset, "DeidentificationMethod")
        or dataset.get("DeidentificationMethodCodeSequence")
    ):
        dataset.DeidentificationMethod = "not stated"
    for keyword in _DECIMALS:
        found = numbers(value_of(dataset, keyword))
        if found and len(found) == (dataset[keyword].VM or 0):
            made = [DSfloat(part, auto_format=True) for part in found]  # of at most 16 characters
            setattr(dataset, keyword, made if len(made) > 1 else made[0])


def _file_bytes(made: Dataset, export: DicomExport) -> bytes:
    made.SpecificCharacterSet = CHARSET
    if any(item.get("CodingSchemeDesignator") == SCHEME for item in _code_items(made)):
        scheme = Dataset()
        scheme.CodingSchemeDesignator = SCHEME
        scheme.CodingSchemeName = "Labels of Sightline without a published code"
        made.CodingSchemeIdentificationSequence = [scheme]
    made.SeriesDescription = made.get("SeriesDescription") or f"Sightline: {_NAMES[export.kind]}"
    made.Manufacturer = "Sightline"
    made.ManufacturerModelName = "Sightline"
    made.SoftwareVersions = __version__
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    stream = io.BytesIO()
    made.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


def _code_items(made: Dataset) -> Iterator[Dataset]:
    for element in made.iterall():
        if element.VR == "SQ":
            yield from element.value


def uid_of_id(finding_id: str) -> str:
    """Return the Tracking UID of a finding: always the same for an id.

    `report_findings` makes the id of it again where that is a UUID or a UID.
    """
    if re.fullmatch(r"[0-9a-f]{32}", finding_id):
        return f"2.25.{int(finding_id, 16)}"
    if len(finding_id) <= 64 and re.fullmatch(r"[0-2](\.(0|[1-9]\d*))+", finding_id):
        return finding_id
    return generate_uid(prefix="2.25.", entropy_srcs=["sightline finding", finding_id])[:64]


def label_code(finding: Finding) -> DicomCode:
    """Return the code of a finding's label, else a private one with the label as its meaning."""
    return coded(finding.code) if finding.code else private_code(finding.label or "Finding")


def coded(code: Code) -> DicomCode:
    """Return a code for pydicom and highdicom."""
    return DicomCode(code.value, code.scheme, code.meaning[:64] or code.value)


def private_code(meaning: str) -> DicomCode:
    """Return a private code of at most 16 characters, always the same for a meaning."""
    value = re.sub(r"[^A-Z0-9]+", "_", meaning.upper()).strip("_")
    if not value or len(value) > 16 or not meaning.isascii():
        digest = hashlib.sha256(meaning.encode()).hexdigest()[:8].upper()
        value = f"{value[:7]}_{digest}".strip("_")
    return DicomCode(value, SCHEME, meaning[:64])


def algorithm(finding: Finding) -> tuple[str, str] | None:
    """Return name and version of the tool that made a finding; None for marks by hand."""
    if by_hand(finding):
        return None
    origin = finding.provenance
    name = " / ".join(filter(None, (origin.tool, origin.model))) or "unknown tool"
    return name, origin.tool_version or origin.weights_sha256[:12] or "unknown"


def colors_of(findings: Sequence[Finding]) -> dict[str, tuple[int, int, int]]:
    """Return the colour of each label as RGB, as in the program's own lists."""
    known = LabelColors()
    return {one.label: rgb(COLORS[known.take(one.label)]) for one in findings}


def cielab(color: tuple[int, int, int]) -> Any:
    """Return a colour as highdicom's CIELab value."""
    from highdicom.color import CIELabColor

    return CIELabColor.from_rgb(*color)


def frame_numbers(dataset: Dataset, frame: int) -> list[int] | None:
    """Return the frame (from 0) as DICOM counts it; None for a single-frame image."""
    return [frame + 1] if int(dataset.get("NumberOfFrames") or 1) > 1 else None


def state_text(finding: Finding) -> str:
    """Return what a person has made of a finding, e.g. "proposed by a tool, not reviewed"."""
    if finding.state == "proposed":
        return "proposed by a tool, not reviewed by a person"
    who = f" by {finding.reviewer}" if finding.reviewer else ""
    when = f", {finding.reviewed}" if finding.reviewed else ""
    what = "marked by hand" if by_hand(finding) else finding.state.value
    return f"{what}{who}{when}"
