"""De-identified copies of DICOM files: which files, to where, what is told, what is left out.

`Copier.copy` treats one file; `deidentify` all files of some sources. Originals are only read, and
a copy is written under another name and then renamed, so that a break leaves no half file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import struct
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from pydicom._uid_dict import UID_dictionary
from pydicom.dataelem import RawDataElement
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRLittleEndian

from app import paths
from app.errors import FileProblem, SightlineError, is_memory_text
from app.imaging import guards
from app.imaging.deidentify import rules
from app.imaging.deidentify.cleaning import Cleaner, Pseudonyms, identity_words, person_words
from app.imaging.deidentify.code_streams import fragment_count
from app.imaging.deidentify.options import BURNT_IN, Blank, Option, Outcome, Summary, check_options
from app.imaging.dicom.codecs import decode_words, stored_values
from app.imaging.dicom.dicom_file import read_header, silence_pydicom
from app.imaging.dicom.header_walk import raw_elements
from app.imaging.dicom.pixel_layout import Layout, layout_of
from app.imaging.files import sources
from app.imaging.scanning import listing
from app.imaging.types import Problem
from app.paths import shipped_table

LIKELY = "look at it before you hand it on: text may be burnt into its pixels"
FACE = "it is declared to show features by which the patient may be recognised"
VIDEO = "its video stream was copied as it is; text between its pictures cannot be removed"
HIDDEN_OVERLAY = "an overlay is embedded in its compressed pixels and cannot be removed"
BLANKED = (
    "the marked boxes were blanked in its pixels, and it says that no text is burnt in: look at it"
)
HIGH_BITS = (
    "bits beyond the stored ones were cleared in its pixels: compare its picture with the original"
)
_CLEAN_PIXELS = ("113101", "Clean Pixel Data Option")
_MOST_BYTES = 2**31 - 2
_LIKELY = frozenset(shipped_table("deidentify", "cleaning")["burnt_in"].split())
_PICTURES = ("1.2.840.10008.5.1.4.1.1.7", "1.2.840.10008.5.1.4.1.1.77.1")
_LEFT_OUT = {
    "Encapsulated": "a document inside it may name the patient, and cannot be cleaned",
    "Raw Data": "raw data of a scanner, whose content no standard describes",
    "Audio": "a voice may be recorded in it",
    "Hanging Protocol": "it is no part of a study",
    "Color Palette": "it is no part of a study",
    "Implant": "it is no part of a study",
    "Inventory": "it lists studies by name",
    "Private": "its kind is not one of the standard, so that nobody knows what is in it",
    "Patient Contrast": "",
}
_VIDEO_SYNTAXES = tuple(f"1.2.840.10008.1.2.4.{number}" for number in range(100, 110))
_IMPLEMENTATION = "2.25.231408124713961726583071240716309325"


class Copier:
    """Makes de-identified copies in one folder.

    Args:
        out: The output folder, which exists.
        secret: From `folder_secret`.
        options: The profile's options.
        burnt_in: Whether files that are declared to have burnt-in text are copied all the same.
        blanks: Boxes that are overwritten in pixels.
    """

    def __init__(
        self,
        out: Path,
        secret: bytes,
        options: Collection[Option] = (),
        *,
        burnt_in: bool = False,
        blanks: Sequence[Blank] = (),
    ) -> None:
        self._out = out
        self._options = check_options(options)
        self._pseudonyms = Pseudonyms(secret)
        self._burnt_in = burnt_in
        self._blanks = blanks
        self._seen: dict[str, bytes] = {}

    def copy(self, path: Path) -> Outcome:
        """Copy one file; whatever is wrong with it is in the outcome.

        Raises:
            FileProblem: The output folder cannot be written to.
        """
        try:
            dataset, digest = _read(path)
            name, warnings = self._clean(path, dataset)
            if self._seen.setdefault(name, digest) != digest:
                raise _LeftOut(
                    path, "another file with the same SOP Instance UID was copied, this one differs"
                )
            content = _encoded(dataset)
        except _LeftOut as error:
            return Outcome(path, reason=error.reason, remedy=error.remedy)
        except SightlineError as error:
            return Outcome(path, reason=error.reason, remedy=error.remedy, fault=True)
        except Exception as error:
            reason = "its content is damaged"
            if isinstance(error, MemoryError) or is_memory_text(str(error)):
                reason = "this computer has too little free memory for it"
            return Outcome(path, reason=reason, remedy=guards.COPY_AGAIN, fault=True)
        self._write(name, content)
        return Outcome(path, copy=name, warnings=warnings)

    def _clean(self, path: Path, dataset: Dataset) -> tuple[str, tuple[str, ...]]:
        """Clean a data set; return the copy's path below the folder and what cannot be removed."""
        sop_class = str(dataset.get("SOPClassUID", ""))
        instance = str(dataset.get("SOPInstanceUID", ""))
        if not instance or not sop_class:
            raise _problem(path, "it has no SOP Class UID or SOP Instance UID")
        _check_kind(path, sop_class)
        boxes = self._boxes(dataset)
        if boxes:
            _blank(path, dataset, boxes)
        warnings = _unremovable(dataset)
        notes = (BLANKED,) if boxes else ()
        if BURNT_IN in warnings and not self._burnt_in:
            raise _LeftOut(path, BURNT_IN, "Look at it, and allow burnt-in text if nobody is named")
        patient = "\0".join(str(dataset.get(one, "")) for one in ("PatientID", "IssuerOfPatientID"))
        study, series = (
            str(dataset.get(one, "")) for one in ("StudyInstanceUID", "SeriesInstanceUID")
        )
        if not patient.strip("\0"):
            patient = str(dataset.get("PatientName", "")) or study
        if _trim_pixels(path, dataset):
            notes = (*notes, HIGH_BITS)
        cleaner = Cleaner(
            self._options,
            self._pseudonyms,
            patient,
            identity_words(dataset),
            person_words(dataset),
        )
        cleaner.clean(dataset)
        pseudonym = f"DEID-{self._pseudonyms.name('patient', patient, 12)}"
        self._declare(dataset, pseudonym, pixels_clean=not warnings, blanked=bool(boxes))
        dataset.file_meta = _meta(dataset)
        folders = (
            pseudonym,
            self._pseudonyms.name("study", study, 8),
            self._pseudonyms.name("series", series, 8),
            f"{self._pseudonyms.name('instance', instance, 16)}.dcm",
        )
        return "/".join(folders), (*warnings, *notes)

    def _boxes(self, dataset: Dataset) -> list[tuple[int, int, int, int]]:
        """Return the boxes to overwrite in a data set's pixels."""
        if _pixel_element(dataset) is None:
            return []
        series = str(dataset.get("SeriesInstanceUID", ""))
        size = (int(dataset.get("Rows") or 0), int(dataset.get("Columns") or 0))
        return [
            one.box
            for one in self._blanks
            if one.series == series and (one.rows, one.columns) == size
        ]

    def _declare(
        self, dataset: Dataset, pseudonym: str, *, pixels_clean: bool, blanked: bool
    ) -> None:
        """Say in the copy what was done to it (PS3.15 E.1.1)."""
        dataset.PatientName = dataset.PatientID = pseudonym
        # YES says that nobody is named in the pixels either, which burnt-in text may do.
        dataset.PatientIdentityRemoved = "YES" if pixels_clean else "NO"
        dataset.DeidentificationMethod = "DICOM PS3.15 Basic Profile, Sightline"
        codes = [rules.BASIC_CODE]
        codes += [
            (rules.FACTS[one].code, rules.FACTS[one].meaning)
            for one in Option
            if one in self._options
        ]
        if blanked:
            codes.append(_CLEAN_PIXELS)
        dataset.DeidentificationMethodCodeSequence = [_code(*one) for one in codes]
        dates = "REMOVED"
        if Option.FULL_DATES in self._options:
            dates = "UNMODIFIED"
        elif Option.MODIFIED_DATES in self._options:
            dates = "MODIFIED"
        dataset.LongitudinalTemporalInformationModified = dates

    def _write(self, name: str, content: bytes) -> None:
        target = self._out / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.parent.resolve().is_relative_to(self._out.resolve()):
                raise _problem(target.parent, "it is a link that leads out of the output folder")
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".deid-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                Path(temporary).replace(target)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
                raise
        except OSError as error:
            raise FileProblem(
                f"it cannot be written ({error.strerror or 'unknown reason'})",
                subject=str(self._out),
                remedy="Make room on the disk, or choose another folder.",
            ) from None


class _LeftOut(FileProblem):
    """Raised for a file that a rule leaves out."""

    def __init__(self, path: Path, reason: str, remedy: str = "") -> None:
        super().__init__(reason, subject=str(path), remedy=remedy)


def _problem(path: Path, reason: str) -> FileProblem:
    return guards.problem(path, reason, guards.COPY_AGAIN)


def _read(path: Path) -> tuple[Dataset, bytes]:
    """Return a file's data set and SHA-256; raise FileProblem for a damaged one or DICOMDIR."""
    silence_pydicom()
    header = read_header(path)
    with sources.open_file(path) as file:
        data = file.read()
    if listing.is_directory_file(data[:1024]):
        raise _LeftOut(path, "a DICOMDIR, which names files; the copy has other names")
    if header.note:
        raise _problem(path, "its header is damaged")
    dataset = pydicom.dcmread(io.BytesIO(data), force=True)
    for element in raw_elements(dataset).values():
        if isinstance(element, RawDataElement):
            undefined = element.length == 0xFFFFFFFF
            if not undefined and element.value is not None and len(element.value) < element.length:
                raise _problem(path, "it is cut off")
    if "TransferSyntaxUID" not in getattr(dataset, "file_meta", Dataset()):
        dataset.file_meta = FileMetaDataset()
        dataset.file_meta.TransferSyntaxUID = header.syntax
    return dataset, hashlib.sha256(data).digest()


def _check_kind(path: Path, sop_class: str) -> None:
    """Raise `_LeftOut` for an object that is no part of a study, or that cannot be cleaned."""
    name, kind = (UID_dictionary.get(UID(sop_class)) or ("Private", ""))[:2]
    if kind != "SOP Class" or "Storage" not in name:
        name = "Private"
    for word, reason in _LEFT_OUT.items():
        if word in name and reason:
            raise _LeftOut(path, reason)


def _unremovable(dataset: Dataset) -> tuple[str, ...]:
    found: list[str] = []
    if _pixel_element(dataset) is not None:
        declared = str(dataset.get("BurnedInAnnotation", "")).strip().upper()
        modality = str(dataset.get("Modality", "")).strip().upper()
        picture = str(dataset.get("SOPClassUID", "")).startswith(_PICTURES)
        if declared == "YES":
            found.append(BURNT_IN)
        elif declared != "NO" and (modality in _LIKELY or picture):
            found.append(LIKELY)
    if str(dataset.get("RecognizableVisualFeatures", "")).strip().upper() == "YES":
        found.append(FACE)
    syntax = str(dataset.file_meta.TransferSyntaxUID)
    if syntax.startswith(_VIDEO_SYNTAXES):
        found.append(VIDEO)
    if syntax and UID(syntax).is_compressed and _embedded_overlays(dataset):
        found.append(HIDDEN_OVERLAY)
    return tuple(found)


def _pixel_element(dataset: Dataset) -> int | None:
    return next((one for one in (0x7FE00010, 0x7FE00008, 0x7FE00009) if one in dataset), None)


def _embedded_overlays(dataset: Dataset) -> bool:
    return any(
        0x6000 <= tag >> 16 <= 0x60FF and tag & 0xFFFF == 0x0102 and dataset[tag].value
        for tag in dataset.keys()  # noqa: SIM118 - iterating decodes the elements
    )


def _blank(path: Path, dataset: Dataset, boxes: Sequence[tuple[int, int, int, int]]) -> None:
    """Overwrite boxes in all frames with black, and store the pixels without compression.

    All other pixels stay as they were decoded.

    Raises:
        _LeftOut: The pixels cannot be stored without compression, or overwritten.
        FileProblem: They are damaged.
    """
    header = read_header(path)
    layout = layout_of(header)
    if _pixel_element(dataset) != 0x7FE00010 or int(dataset.get("BitsAllocated", 0)) < 8:
        raise _LeftOut(path, "boxes cannot be blanked in pixels of its kind")
    if layout.subsampled and layout.photometric != "YBR_FULL_422":
        raise _LeftOut(path, "boxes cannot be blanked in pixels of its kind")
    if not header.little_endian:
        raise _LeftOut(path, "boxes cannot be blanked in pixels of its byte order (big endian)")
    frames: list[bytes] = []
    size = 0
    fill: Any = None
    for index in range(layout.frames):
        decoded, photometric = decode_words(header, layout, index)
        words = np.array(decoded)  # a copy, which can be written to
        size += words.nbytes
        if size > _MOST_BYTES:
            raise _LeftOut(path, "its pixels take too much room without compression")
        if fill is None:
            fill = _black(layout, words, photometric)
        for x0, y0, x1, y1 in boxes:
            words[max(y0, 0) : y1, max(x0, 0) : x1] = fill
        frames.append(words.astype(words.dtype.newbyteorder("<"), copy=False).tobytes())
        # Chrominance that two pixels shared has been given to each.
        dataset.PhotometricInterpretation = "YBR_FULL" if layout.subsampled else photometric
        dataset.BitsAllocated = 8 * words.dtype.itemsize
    data = b"".join(frames)
    dataset.PixelData = data + b"\0" * (len(data) % 2)
    dataset["PixelData"].VR = "OB" if dataset.BitsAllocated == 8 else "OW"
    dataset["PixelData"].is_undefined_length = False
    for keyword in ("ExtendedOffsetTable", "ExtendedOffsetTableLengths"):
        dataset.pop(keyword, None)
    if int(dataset.get("SamplesPerPixel", 1)) > 1:
        dataset.PlanarConfiguration = 0
    dataset.BurnedInAnnotation = "NO"
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian


def _black(layout: Layout, words: Any, photometric: str) -> Any:
    """Return the word or words of a pixel of the darkest grey that there is, or of black."""
    if words.ndim == 3:
        return (0, 128, 128) if photometric.startswith("YBR") else 0
    if photometric == "PALETTE COLOR":
        return 0
    values = stored_values(layout, words)
    place = values.argmax() if photometric == "MONOCHROME1" else values.argmin()
    return words.flat[int(place)]


def _trim_pixels(path: Path, dataset: Dataset) -> bool:
    """Cut what lies behind the last pixel, and clear the unused bits of pixels.

    Overlays lie there, declared or not. Unused bits above a signed value repeat its sign. Returns
    whether something stood in them that no overlay declares.

    Raises:
        FileProblem: There are fewer pixels than the header says.
    """
    tag = _pixel_element(dataset)
    if tag is None:
        return False
    element = dataset[tag]
    frames = int(dataset.get("NumberOfFrames", 1) or 1)
    if element.is_undefined_length:
        if fragment_count(element.value) < 1:
            raise _problem(path, "its pixels are missing")
        return False
    allocated = int(dataset.get("BitsAllocated", 0))
    bits = int(dataset.Rows) * int(dataset.Columns) * frames * allocated
    bits *= int(dataset.get("SamplesPerPixel", 1))
    if str(dataset.get("PhotometricInterpretation", "")) == "YBR_FULL_422":
        bits = bits * 2 // 3
    expected = (bits + 7) // 8
    if len(element.value) < expected:
        raise _problem(path, "its pixels are cut off")
    value = element.value[:expected] + b"\0" * (expected % 2)
    stored, high = int(dataset.get("BitsStored", 0)), int(dataset.get("HighBit", 0))
    told = False
    if tag == 0x7FE00010 and allocated in (8, 16, 32) and 0 < stored < allocated:
        low = max(0, high + 1 - stored)
        if low + stored <= allocated:
            order = "<" if dataset.file_meta.TransferSyntaxUID.is_little_endian else ">"
            words = np.frombuffer(value, f"{order}u{allocated // 8}")
            kept = words & (((1 << stored) - 1) << low)
            if int(dataset.get("PixelRepresentation", 0) or 0) == 1:
                above = ((1 << allocated) - 1) & ~((1 << (low + stored)) - 1)
                kept = np.where(kept >> (low + stored - 1) & 1, kept | above, kept)
            padding = dataset.get("PixelPaddingValue")
            if isinstance(padding, int):  # outside of the stored bits in some files
                kept = np.where(words == padding & ((1 << allocated) - 1), words, kept)
            cleaned = kept.astype(words.dtype).tobytes()
            told = cleaned != value and not _embedded_overlays(dataset)
            value = cleaned
    element.value = value
    return told


def _code(value: str, meaning: str) -> Dataset:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, "DCM", meaning
    return item


def _meta(dataset: Dataset) -> FileMetaDataset:
    """Return new file meta information: nothing of the old but the transfer syntax."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = dataset.SOPClassUID
    meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
    meta.TransferSyntaxUID = dataset.file_meta.TransferSyntaxUID
    meta.ImplementationClassUID = UID(_IMPLEMENTATION)
    meta.ImplementationVersionName = "SIGHTLINE"
    return meta


def _encoded(dataset: Dataset) -> bytes:
    """Return the bytes of the copy: in its old transfer syntax, with an empty preamble."""
    dataset.preamble = bytes(128)
    buffer = io.BytesIO()
    syntax = UID(dataset.file_meta.TransferSyntaxUID)
    if not (syntax.is_transfer_syntax and syntax in UID_dictionary):
        raise struct.error("unknown transfer syntax")
    pydicom.dcmwrite(buffer, dataset, enforce_file_format=True)
    return buffer.getvalue()


def folder_secret(out: Path) -> bytes:
    """Return the secret of an output folder, made at the first call; it is not kept in the folder.

    The same secret gives the same UIDs, ids and dates, so that a later run goes on with a study.
    It lies in the data folder, readable by this user alone, by a hash of the folder's path.
    """
    name = hashlib.sha256(str(out.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    folder = paths.data_dir() / "deidentified"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    for _ in range(2):
        try:
            kept = file.read_bytes()
            if len(kept) == 32:
                return kept
            file.unlink()
        except FileNotFoundError:
            pass
        made = secrets.token_bytes(32)
        handle, temporary = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as written:
            written.write(made)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, file)
        Path(temporary).unlink()
    return file.read_bytes()


def list_files(opened: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """Return the files behind files, folders and archives, each once, and what is not listed."""
    todo = [["path", str(one), root, 0] for root, one in enumerate(opened)][::-1]
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    while todo:
        found = listing.step(todo)
        todo = found.todo
        for _, folder, names in found.files:
            files.update(dict.fromkeys(folder / name for name in names))
        problems += [problem for _, problem in found.problems]
    return list(files), problems


def deidentify(
    files: Sequence[Path],
    copy: Callable[[Path], Outcome],
    progress: Callable[[int, Outcome], object] = lambda _number, _outcome: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Summary:
    """Copy files one after the other with `Copier.copy`, and return what became of each.

    Args:
        files: Files or members of archives.
        copy: Copies one of them.
        progress: Called after each with the number done and its outcome.
        cancelled: Asked before each; copies that were made stay.
    """
    summary = Summary()
    for number, path in enumerate(files, 1):
        if cancelled():
            summary.cancelled = True
            break
        outcome = copy(path)
        summary.outcomes.append(outcome)
        progress(number, outcome)
    return summary
