"""Planted identifiers, a study full of them, and a search that finds them in any notation.

Each is unlike any word or number of the program, so that wherever one turns up, it came from here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import DigitalXRayImageStorageForPresentation, ExplicitVRLittleEndian

_ROOT = "1.2.826.0.1.3680043.8.498"
_TEXT_SR = "1.2.840.10008.5.1.4.1.1.88.11"

ATTRIBUTES: dict[str, str] = {
    # People
    "PatientName": "Žůžková-O'Qwrtzell^Bríděna^Öyvind",
    "OtherPatientNames": "Vryxhalm^Tyldérox",
    "PatientBirthName": "Gnarzwick^Bríděna",
    "PatientMotherBirthName": "Plöngström^Xénaquir",
    "ReferringPhysicianName": "Håkklebrandt^Ñandúval",
    "PerformingPhysicianName": "Zwölferkogl^Iphigenza",
    "OperatorsName": "Mqabakazi^Thandekü",
    "NameOfPhysiciansReadingStudy": "Fjördlung^Søgaard",
    "PhysiciansOfRecord": "Wrzesniewskij^Głabik",
    "RequestingPhysician": "Trzcinowski^Jędrek",
    "ConsultingPhysicianName": "Nguyxenth^Vuôngthal",
    "ResponsiblePerson": "Oxenstjernae^Brünja",
    "ScheduledPerformingPhysicianName": "Kvartzholm^Ylvärique",
    "NamesOfIntendedRecipientsOfResults": "Ümlautinger^Sepperl",
    "OrderEnteredBy": "Jqxhausen^Dørthe",
    # Numbers and names of things
    "PatientID": "QX-7741903-Z",
    "OtherPatientIDs": "OTH88120457",
    "IssuerOfPatientID": "ISSUERWOLPERT",
    "AccessionNumber": "ACN5590218",
    "StudyID": "STUD90417Q",
    "AdmissionID": "ADM6613290",
    "DeviceSerialNumber": "SRLN40077123",
    "PlateID": "PLT3390817",
    "CassetteID": "CASS7710934",
    "DetectorID": "DETK5501928",
    "GantryID": "GNTR8830127",
    "RequestedProcedureID": "RQP2207719",
    "PerformedProcedureStepID": "PPS9904413",
    "ScheduledProcedureStepID": "SPS1187302",
    "FillerOrderNumberImagingServiceRequest": "FILL7702391",
    "PlacerOrderNumberImagingServiceRequest": "PLAC6618204",
    "MedicalRecordLocator": "SHELFQ9913KX",
    "ClinicalTrialSubjectID": "CTSUB4471902",
    "InsurancePlanIdentification": "INSPLAN77190Q",
    "StationAETitle": "AETQWIRBEL",
    "ServiceEpisodeID": "SVC3092281",
    # Dates
    "PatientBirthDate": "19431127",
    "StudyDate": "20190731",
    "AdmittingDate": "20190729",
    "LastMenstrualDate": "19880413",
    "ScheduledAdmissionDate": "20190728",
    # Places
    "InstitutionName": "Krankenhaus Zwurbelstein",
    "InstitutionAddress": "Am Quexenbichl 77, 9911 Zwurbelstein",
    "InstitutionalDepartmentName": "Abteilung Wolpertinger",
    "StationName": "THORAQUIRX",
    "PatientAddress": "Pfnüselgasse 4711, Hinterquarx",
    "CountryOfResidence": "Quarxistan",
    "RegionOfResidence": "Unterfnordland",
    "CurrentPatientLocation": "Zimmer Quaxel 9",
    "PatientInstitutionResidence": "Stift Gröbelquast",
    "RequestingService": "Ambulanz Fnirxwald",
    # Phones and mail
    "PatientTelephoneNumbers": "+43 660 7719034",
    "ReferringPhysicianTelephoneNumbers": "0316-8890217",
    "OrderCallbackPhoneNumber": "01 5513 9920",
    # Text
    "PatientComments": "Likes to be called Quaxinello by Nurse Fnordia every single day",
    "AdditionalPatientHistory": "Former lighthouse keeper of Schnurpsel since the great flood",
    "StudyDescription": "Follow-up for Qwrtzell as agreed with Håkklebrandt",
    "ImageComments": "Ring back at 7719034 and ask for Bríděna",
    # UIDs
    "StudyInstanceUID": f"{_ROOT}.86753.1",
    "SeriesInstanceUID": f"{_ROOT}.86753.2",
    "SOPInstanceUID": f"{_ROOT}.86753.3",
    "FrameOfReferenceUID": f"{_ROOT}.86753.4",
    "DeviceUID": f"{_ROOT}.86753.5",
}
PRIVATE = "Privately known as Gribblefax since nineteen ninety"
FOLDER, FILE = "ZUZKOVA_BRIDENA 27.11.1943", "Qwrtzell B thorax.dcm"

_ORDINARY = frozenset(
    {
        "called", "likes", "nurse", "every", "single", "former", "lighthouse", "keeper", "since",
        "great", "flood", "follow", "agreed", "with", "ring", "back", "zimmer", "stift", "ambulanz",
        "abteilung", "krankenhaus",
    }
)  # fmt: skip


def plain(text: str) -> str:
    """Return the text without accents and case, so that all spellings of a name compare equal."""
    for sign, other in (("ł", "l"), ("ø", "o"), ("å", "a"), ("Ø", "o"), ("Ł", "l"), ("æ", "ae")):
        text = text.replace(sign, other)
    parts = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()


def needles_of(value: str) -> set[str]:
    """Return the parts of an identifier that must not leak: words, digits, notations of dates."""
    if value.startswith(_ROOT):
        return {value, value[len(_ROOT) - 4 :]}
    if re.fullmatch(r"(19|20)\d{6}", value):
        y, m, d = value[:4], value[4:6], value[6:]
        return {value, f"{y}-{m}-{d}", f"{d}.{m}.{y}", f"{m}/{d}/{y}", f"{d}/{m}/{y}"}
    words = {word for word in re.split(r"[\s^,.;'-]+", plain(value)) if len(word) >= 4}
    digits = re.sub(r"\D", "", value)
    words |= {digits[-7:], value.casefold()} if len(digits) >= 7 else set()
    return {word for word in words - _ORDINARY if not re.fullmatch(r"\d{1,4}", word)}


IDENTIFIERS: dict[str, set[str]] = {
    **{keyword: needles_of(value) for keyword, value in ATTRIBUTES.items()},
    "private attribute": {"gribblefax"},
    "folder": {"zuzkova_bridena", "27.11.1943"},
    "file": {"qwrtzell b thorax"},
}


def prose() -> str:
    """Return a report that contains all identifiers in free text."""
    name = "Bríděna Žůžková-O'Qwrtzell"
    said = [f"{name} (born 27.11.1943, {ATTRIBUTES['PatientID']}), seen on 2019-07-31."]
    for keyword, value in ATTRIBUTES.items():
        text = " ".join(reversed(value.split("^"))) if "^" in value else value
        said.append(f"Concerning {keyword.lower()[-6:]}: {text}.")
    return " ".join(said)


def study(folder: Path) -> tuple[Path, Path]:
    """Write an image full of identifiers and a report; returns both."""
    place = folder / FOLDER
    place.mkdir()
    image = _object(DigitalXRayImageStorageForPresentation, ATTRIBUTES["SOPInstanceUID"], "DX")
    for keyword in ("PatientOrientation",):
        setattr(image, keyword, ["L", "F"])
    image.ViewPosition, image.BodyPartExamined, image.BurnedInAnnotation = "PA", "CHEST", "NO"
    image.Rows, image.Columns = 120, 100
    image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
    image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, 12, 11, 0
    image.WindowCenter, image.WindowWidth, image.PixelSpacing = 900, 1800, [0.2, 0.2]
    ramp = np.add.outer(np.arange(120), np.arange(100)) * 8
    image.PixelData = ramp.astype("<u2").tobytes()
    path = place / FILE
    image.save_as(path, enforce_file_format=True)
    return path, _report(place)


def _report(place: Path) -> Path:
    report = _object(_TEXT_SR, f"{_ROOT}.86753.9", "SR")
    report.SeriesInstanceUID = f"{_ROOT}.86753.8"
    report.CompletionFlag, report.VerificationFlag = "COMPLETE", "UNVERIFIED"
    report.ValueType, report.ContinuityOfContent = "CONTAINER", "SEPARATE"
    item = Dataset()
    item.RelationshipType, item.ValueType, item.TextValue = "CONTAINS", "TEXT", prose()
    report.ContentSequence = [item]
    path = place / "report Qwrtzell.dcm"
    report.save_as(path, enforce_file_format=True)
    return path


def _object(sop_class: str, uid: str, modality: str) -> Dataset:
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.SpecificCharacterSet = "ISO_IR 192"
    for keyword, value in ATTRIBUTES.items():
        setattr(dataset, keyword, value)
    dataset.SOPClassUID, dataset.SOPInstanceUID, dataset.Modality = sop_class, uid, modality
    block = dataset.private_block(0x0009, "CANARY", create=True)
    block.add_new(0x01, "LT", PRIVATE)
    return dataset


# What is written in other ways: each view is bytes in which a needle would stand as UTF-8.

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){8,}")
_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
_PNG = b"\x89PNG\r\n\x1a\n"


def found_in(data: bytes) -> set[str]:
    """Return the identifiers found in these bytes in any encoding."""
    text = "\n".join(plain(view) for view in dict.fromkeys(_texts(data)))
    return {name for name, needles in IDENTIFIERS.items() if any(n in text for n in needles)}


def found_below(folder: Path, *, without: Iterable[Path] = ()) -> dict[str, set[str]]:
    """Return the identifiers in the files below a folder or in their names, by path."""
    kept = tuple(without)
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*")):
        if any(path.is_relative_to(other) for other in kept):
            continue
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        held = found_in(data) | found_in(str(path.relative_to(folder)).encode())
        if held:
            found[str(path)] = held
    return found


def _texts(data: bytes) -> Iterator[str]:
    for view in _views(data, depth=2):
        yield view.decode("utf-8", "ignore")
        yield view.decode("latin-1")
        for codec in ("utf-16-le", "utf-16-be"):
            yield view.decode(codec, "ignore")
            yield view[1:].decode(codec, "ignore")


def _views(data: bytes, depth: int) -> Iterator[bytes]:
    yield data
    if depth == 0:
        return
    for derived in _derived(data):
        if derived and derived != data:
            yield from _views(derived, depth - 1)


def _derived(data: bytes) -> Iterator[bytes]:
    if b"%" in data:
        yield unquote_to_bytes(data)
    if b"\\" in data:
        yield _unescaped(data)
    for run in _BASE64.findall(data):
        yield _from_base64(run)
    for run in _HEX.findall(data):
        yield binascii.unhexlify(run)
    if data.startswith(_PNG):
        yield b"".join(_idat(data))
    for start in (match.start() for match in _ZLIB.finditer(data)):
        yield _inflated(data[start:], 15)
    if data.startswith(b"\x1f\x8b"):
        yield _inflated(data, 31)


def _unescaped(data: bytes) -> bytes:
    r"""Return the bytes with JSON escapes decoded."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), data.decode("latin-1"))
    return text.encode("utf-8", "surrogatepass")


def _from_base64(run: bytes) -> bytes:
    """Return the Base64 decodings at all four alignments, as the text may begin within the run."""
    made = bytearray()
    text = run.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    for start in range(4):
        part = text[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        try:
            made += base64.b64decode(part + b"=" * (-len(part) % 4)) + b"\n"
        except binascii.Error:
            continue
    return bytes(made)


def _idat(png: bytes) -> Iterator[bytes]:
    at = len(_PNG)
    joined = b""
    while at + 8 <= len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT":
            joined += png[at + 8 : at + 8 + length]
        at += 12 + length
    yield _inflated(joined, 15)


def _inflated(data: bytes, wbits: int) -> bytes:
    try:
        return zlib.decompressobj(wbits).decompress(data, 20_000_000)
    except zlib.error:
        return b""


def written_in_every_way(text: str) -> dict[str, bytes]:
    """Return the notations in which the search must find a text, by name."""
    data = text.encode()
    stored = zlib.compress(data)
    return {
        "UTF-8": data,
        "UTF-16": text.encode("utf-16-le"),
        "UTF-16 the other way": b"x" + text.encode("utf-16-be"),
        "Latin-1": text.encode("latin-1", "replace"),
        "decomposed": unicodedata.normalize("NFD", text).encode(),
        "capitals": text.upper().encode(),
        "base64": b"data:," + base64.b64encode(data),
        "base64 of URLs": b"xx" + base64.urlsafe_b64encode(b"a" + data),
        "hex": data.hex().encode(),
        "capital hex": data.hex().upper().encode(),
        "percent": "".join(f"%{byte:02X}" for byte in data).encode(),
        "JSON": json.dumps({"a": text}).encode(),
        "JSON in JSON": json.dumps({"a": json.dumps(text)}).encode(),
        "zlib": stored,
        "base64 of zlib": base64.b64encode(stored),
    }
