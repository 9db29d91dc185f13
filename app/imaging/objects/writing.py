"""Writes DICOM objects about open images with highdicom. Runs in a worker process.

Here is what the writers share: the sources, new UIDs, names of the equipment, codes and colours.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sr.coding import Code as DicomCode
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from app import __version__
from app.errors import FileProblem, SightlineError
from app.imaging.dicom.dicom_file import read_header
from app.imaging.dicom.dicom_items import text_of
from app.imaging.exports import KINDS, SC, DicomExport, by_hand
from app.imaging.findings import Code, Finding
from app.imaging.label_colors import COLORS, LabelColors, rgb
from app.imaging.types import Instance

SCHEME = "99SIGHTLINE"
"""Coding scheme of labels and quantities that have no published code."""

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


@dataclass(frozen=True, slots=True)
class Sources:
    """The headers of the images that an object refers to, in the order of the export."""

    export: DicomExport
    datasets: tuple[Dataset, ...]

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


def write_object(export: DicomExport) -> bytes:
    """Return an object as a DICOM file.

    Raises:
        FileProblem: highdicom is missing, the images are no DICOM, or do not fit the object.
    """
    try:
        writer = importlib.import_module(_WRITERS[export.kind])
    except ImportError as error:
        raise FileProblem(
            "DICOM objects cannot be written, since the package highdicom is not installed",
            remedy="It is not available for Python 3.14 yet: use Python 3.11 to 3.13.",
            detail=str(error),
        ) from None
    path = str(export.images[0].path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they quote patients' names
            made: Dataset = writer.make(Sources(export, _datasets(export)))
            return _file_bytes(made, export)
    except SightlineError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise FileProblem(
            "its header does not allow this DICOM object",
            subject=path,
            remedy="Save the findings as a table (CSV), or the view as a picture.",
            detail=type(error).__name__,  # its text may quote the patient's data
        ) from error


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
        raise FileProblem(
            f"its header lacks {', '.join(missing)}, to which an object would refer",
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
    if not hasattr(dataset, "file_meta"):
        dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = header.syntax
    return dataset


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
    """Return the Tracking UID of a finding: always the same for an id."""
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
    if by_hand(finding):
        return "marked by hand"
    if finding.state == "proposed":
        return "proposed by a tool, not reviewed by a person"
    who = f" by {finding.reviewer}" if finding.reviewer else ""
    when = f", {finding.reviewed}" if finding.reviewed else ""
    return f"{finding.state.value}{who}{when}"
