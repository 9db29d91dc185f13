"""Cleaning of one data set by the rules: what goes, what stays, what takes its place."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from pydicom._dicom_dict import DicomDictionary
from pydicom._uid_dict import UID_dictionary
from pydicom.charset import python_encoding
from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset
from pydicom.multival import MultiValue
from pydicom.sequence import Sequence as DicomSequence
from pydicom.sr._concepts_dict import concepts
from pydicom.tag import BaseTag, Tag
from pydicom.uid import RLELossless

from app.imaging.deidentify import code_streams, rules
from app.imaging.deidentify.rules import Option
from app.paths import shipped_table

REMOVED = "REMOVED"
_TEXTS = frozenset({"AE", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT"})
_WHOLE = frozenset({"US", "SS", "UL", "SL", "UV", "SV", "AT"})
_NUMBERS = _WHOLE | {"FL", "FD"}
_DATES = frozenset({"DA", "DT", "TM"})
_SYNTAX = {
    "DA": re.compile(r"\d{8}"),
    "TM": re.compile(r"\d{2}(\d{2}(\d{2}(\.\d{1,6})?)?)?"),
    "DT": re.compile(r"\d{4}(\d{2}){0,5}(\.\d{1,6})?([+-]\d{4})?"),
    "AS": re.compile(r"\d{3}[DWMY]"),
    "UI": re.compile(r"(?=.{3,64}$)[0-9]+(\.[0-9]+)+"),
    "DS": re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"),
    "IS": re.compile(r"[+-]?\d{1,12}"),
}
_DATE = "19000101"
_DUMMY = {
    "DA": _DATE,
    "DT": "19000101000000",
    "TM": "000000",
    "AS": "000Y",
    "DS": "0",
    "IS": "0",
    "UR": "urn:removed",
    "OB": b"\0\0",
}
_PIXELS = frozenset({0x7FE00010, 0x7FE00008, 0x7FE00009})
_TABLE = shipped_table("deidentify", "cleaning")
_BINARY = frozenset(_TABLE["binary"].split())
"""Binary attributes that stay: their values are arrays of numbers."""
_CLEANED_TEXTS = frozenset({"SegmentLabel", "LUTLabel", "LUTExplanation"})
"""Texts that an object must have: their common words stay under every option."""
_NEEDED = frozenset({"PresentationCreationDate", "PresentationCreationTime"})
"""Attributes that the table removes, but without which an object is not valid (Type 1)."""
_SCHEMES = frozenset(_TABLE["schemes"].split())
_SUBJECT = frozenset(_TABLE["subject"].split())
"""Concepts of a report's subject (TID 1007): name, id, birth date, age, size, weight, ..."""
_CONTENT_VALUES = {"TEXT": "TextValue", "PNAME": "PersonName", "UIDREF": "UID"}
_NAMED = frozenset(
    [
        "PatientID",
        "OtherPatientIDs",
        "PatientBirthName",
        "AccessionNumber",
        "InstitutionName",
        "StationName",
        "InstitutionalDepartmentName",
        "InstitutionAddress",
        "PatientAddress",
    ]
)
_PERSON_IDS = ("PatientID", "OtherPatientIDs", "PatientBirthName", "AccessionNumber")
_SPECTROSCOPY = "1.2.840.10008.5.1.4.1.1.4.2"
_LUTS = ("LUT", *(f"{one}PaletteColorLookupTable" for one in ("Red", "Green", "Blue", "Alpha")))
_NUMBER_WORD = re.compile(r"\d{1,2}([.,]\d)?(mm|cm|ms|s|kv|t)?|[a-z]\d?")


class Pseudonyms:
    """New UIDs, ids and shifts of dates; the same for the same secret, so no map is kept.

    Args:
        secret: At least 16 random bytes; whoever has them can test guesses of old values.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def digest(self, kind: str, value: str) -> bytes:
        """Return 32 bytes for a value, which say nothing of it without the secret."""
        text = f"{kind}\0{value}".encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, text, hashlib.sha256).digest()

    def uid(self, old: str) -> str:
        """Return the new UID: of the root 2.25, from 122 bits, as of a UUID (PS3.5 B.2)."""
        made = bytearray(self.digest("uid", old)[:16])
        made[6] = made[6] & 0x0F | 0x80
        made[8] = made[8] & 0x3F | 0x80
        return f"2.25.{int.from_bytes(made, 'big')}"

    def name(self, kind: str, value: str, length: int) -> str:
        """Return a name of capitals and digits."""
        return self.digest(kind, value).hex()[:length].upper()

    def days(self, patient: str) -> int:
        """Return by how many days a patient's dates are shifted back: 30 to 3,679."""
        return 30 + int.from_bytes(self.digest("days", patient)[:4], "big") % 3650


@cache
def _meanings() -> dict[tuple[str, str], list[str]]:
    """Return the standard's meanings of each code, the shortest first, by scheme and code value."""
    found: dict[tuple[str, str], list[str]] = {}
    for scheme, keywords in concepts.items():
        for codes in keywords.values():
            for code, (meaning, _) in codes.items():
                found.setdefault((scheme, code), []).append(meaning)
    return {key: sorted(meanings, key=len) for key, meanings in found.items()}


@cache
def _unit_words() -> frozenset[str]:
    """Return the runs of letters in the standard's codes of units."""
    return frozenset(
        word
        for scheme, code in _meanings()
        if scheme == "UCUM"
        for word in re.findall(r"[A-Za-z]+", code)
    )


def _values(value: Any) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, MultiValue | list | tuple) else [value]


def _most_values(multiplicity: str) -> int | None:
    """Return how many values an attribute may have at most; None if any number."""
    last = re.split(r"-| or ", multiplicity)[-1]
    return int(last) if last.isdigit() else None


class Cleaner:
    """Cleans data sets under some options.

    Args:
        options: The profile's options, without those that exclude each other.
        pseudonyms: Source of what takes the place of UIDs and ids.
        patient: What identifies the patient, for the shift of dates.
        words: Words of names, ids and places, in small letters, which do not stay in texts.
        person: Those of names and of the patient's ids, which do not stay in codes and technical
            texts either.
    """

    def __init__(
        self,
        options: Collection[Option],
        pseudonyms: Pseudonyms,
        patient: str,
        words: Iterable[str] = (),
        person: Iterable[str] = (),
    ) -> None:
        self._options = options
        self._pseudonyms = pseudonyms
        self._frames = 1, 0  # frames, and bytes of an RLE segment
        self._days = dt.timedelta(pseudonyms.days(patient))
        self._words = frozenset(words)
        # Of two letters are units and kernels as well.
        self._person = frozenset(one for one in person if len(one) > 2 or not one.isascii())

    def clean(self, dataset: Dataset, *, item: bool = False) -> None:
        """Clean a data set, or an item of a sequence, in place, with all items below it."""
        private = self._safe_private(dataset)
        self._mend_binary(dataset, item=item)
        for tag in sorted(dataset.keys()):
            element = private.get(tag) or self._cleaned(dataset, Tag(tag))
            if element is None:
                del dataset[tag]
            else:
                dataset[tag] = element
        self._mend_content(dataset)
        self._mend_code(dataset)

    def _cleaned(self, dataset: Dataset, tag: BaseTag) -> DataElement | None:
        """Return what takes an element's place; None if it goes."""
        if tag not in DicomDictionary or tag.group < 8 or tag.element == 0:
            return None  # private, unknown, repeating groups (50xx, 60xx), commands, lengths
        try:
            element = dataset[tag]
        except Exception:
            return None  # what cannot be read cannot be cleaned
        vrs, multiplicity, _, _, keyword = DicomDictionary[tag]
        allowed = [one for one in vrs.split(" or ") if len(one) == 2]
        both_texts = element.VR in _TEXTS and allowed[:1] and allowed[0] in _TEXTS
        if element.VR not in allowed and not both_texts:
            return None
        rule = rules.action(tag, self._options)
        if rule == "X" and keyword in _NEEDED:
            rule = "D"
        if keyword == "UnformattedTextValue" and Option.GRAPHICS in self._options:
            rule = "C"
        vr = element.VR
        if rule == "X" or (rule == "" and vr == "UN"):
            return None
        if vr == "SQ":
            return self._sequence(element, rule)
        if rule == "Z":
            return DataElement(tag, vr, "")
        if rule == "U*" or (rule == "U" and vr == "UI"):
            rule = "K"
        if rule in ("D", "U"):
            return self._dummy(tag, vr)
        value = self._value(element, keyword, rule)
        if value is None:
            return None
        most = _most_values(multiplicity)
        if vr not in ("OB", "OW") and most is not None and len(_values(value)) > most:
            return None
        made = DataElement(tag, vr, value)
        made.is_undefined_length = element.is_undefined_length
        return made

    def _sequence(self, element: DataElement, rule: str) -> DataElement | None:
        items = [] if rule == "Z" else list(element.value)
        if element.tag == 0x00700001 and Option.GRAPHICS not in self._options:
            return None
        if element.tag == 0x0040A730 and Option.PATIENT not in self._options:
            items = [item for item in items if _concept(item) not in _SUBJECT]
        if element.tag in (0x00400555, 0x00400610):  # acquisition context, specimen preparation
            items = items if Option.STRUCTURED in self._options else []
        for item in items:
            self.clean(item, item=True)
        return DataElement(element.tag, "SQ", DicomSequence(items))

    def _dummy(self, tag: BaseTag, vr: str) -> DataElement:
        value: Any = 0 if vr in _NUMBERS else _DUMMY.get(vr, REMOVED)
        if vr in ("OW", "OF", "OD", "OL", "OV", "UN"):
            value = bytes(8)
        if vr == "UI":
            value = self._pseudonyms.uid("")
        return DataElement(tag, vr, value)

    def _value(self, element: DataElement, keyword: str, rule: str) -> Any:
        """Return the value that stays; None if none may."""
        vr = element.VR
        if vr in _TEXTS:
            return self._text(element, keyword, rule)
        if vr[0] == "O":
            return self._binary(element, keyword)
        values = _values(element.value)
        if not values:
            return ""
        if vr in _NUMBERS:
            right = int if vr in _WHOLE else (int, float)
            return element.value if all(isinstance(one, right) for one in values) else None
        if vr == "CS":
            return self._codes(values, keyword, rule)
        texts = [str(one).strip(" \0") for one in values]
        if vr in ("DS", "IS"):
            # The text as it was written: a float would be written with other digits.
            texts = [str(getattr(one, "original_string", one)).strip(" \0") for one in values]
        if not all(not one or _SYNTAX[vr].fullmatch(one) for one in texts):
            return None
        if vr == "UI":
            return [self._uid(one) for one in texts]
        if vr == "AS" and rule != "K" and Option.PATIENT not in self._options:
            return None
        if vr in _DATES and rule != "K":
            return self._dates(vr, texts, rule)
        return texts if len(texts) > 1 else texts[0]

    def _uid(self, uid: str) -> str:
        if not uid or uid in UID_dictionary or Option.UIDS in self._options:
            return uid
        return self._pseudonyms.uid(uid)

    def _dates(self, vr: str, texts: list[str], rule: str) -> list[str] | None:
        """Return dates shifted; times stay. Without an option for dates None."""
        if Option.FULL_DATES in self._options and rule == "":
            return texts
        if rule != "shift" and (rule or Option.MODIFIED_DATES not in self._options):
            return None
        return texts if vr == "TM" else [self._shifted(one) for one in texts]

    def _shifted(self, text: str) -> str:
        full = text[:8] if text[:8].isdigit() else text[:6] + "01"
        try:
            date = dt.datetime.strptime(full.ljust(8, "0"), "%Y%m%d").date()  # noqa: DTZ007
            made = (date - self._days).strftime("%Y%m%d").rjust(8, "0")
        except (ValueError, OverflowError):
            return _DATE
        return made + text[8:] if text[:8].isdigit() else made

    def _codes(self, values: list[Any], keyword: str, rule: str) -> list[str] | str | None:
        if keyword == "SpecificCharacterSet":
            known = [str(one) for one in values if str(one) in python_encoding]
            return known or None
        kept: list[str] = []
        if keyword in ("TemplateIdentifier", "ContextIdentifier", "MappingResource"):
            fine = all(re.fullmatch(r"\d{1,5}|DCMR|99SDM", str(one)) for one in values)
            return [str(one) for one in values] if fine else ""
        for one in values:
            text = str(one).strip(" \0")
            words = re.split(r"[ _]+", text.upper())
            if keyword == "GraphicLayer":  # its name ties graphics to the layer
                kept.append(f"LAYER_{self._pseudonyms.name('layer', text, 8)}")
                continue
            fine = len(text) <= 16 and text.isascii()
            fine = fine and all(
                not word or word in rules.code_words() or re.fullmatch(r"\d{1,3}[A-Z]?", word)
                for word in words
            )
            kept.append(text if fine else "OTHER")
        typed = [str(one).strip(" \0") for one in values]
        if kept == ["OTHER"] != typed:
            return "OT" if keyword == "Modality" else ""
        return kept

    def _text(self, element: DataElement, keyword: str, rule: str) -> Any:
        if rule == "K" or element.tag in rules.technical_tags():
            texts = [str(one).strip(" \0") for one in _values(element.value)]
            if element.tag in rules.technical_tags():
                texts = [REMOVED if self._names_person(one) else one for one in texts]
            return texts
        if keyword in ("CodeValue", "LongCodeValue", "URNCodeValue", "CodeMeaning"):
            return str(element.value)  # judged together by `_mend_code`
        if keyword in _CLEANED_TEXTS:
            return self.common_words(element.value) or REMOVED
        if keyword == "TextValue":
            cleaned = Option.STRUCTURED in self._options
            return (self.common_words(element.value) if cleaned else "") or REMOVED
        if keyword == "UnformattedTextValue":
            return self.common_words(element.value) or REMOVED
        if rule == "C" and element.VR != "PN":
            return self.common_words(element.value)
        return ""  # the element stays, since an object may have to have it, if empty (Type 2)

    def _names_person(self, text: str) -> bool:
        return bool(self._person.intersection(re.findall(r"[^\W_]+", text.casefold())))

    def common_words(self, value: Any) -> str:
        """Return the words of a text that identify nobody, with small numbers, in their order."""
        text = " ".join(str(one) for one in _values(value))
        known = rules.common_words() - self._words
        return " ".join(
            word
            for word in re.findall(r"[^\W_]+(?:[.,]\d+)?", text)
            if word.casefold() in known
            or (_NUMBER_WORD.fullmatch(word.casefold()) and word.casefold() not in self._words)
        )[:64]

    def _binary(self, element: DataElement, keyword: str) -> bytes | None:
        value = element.value
        if keyword not in _BINARY or not isinstance(value, bytes):
            return None
        if keyword == "ICCProfile":
            return code_streams.clean_icc(value)
        if keyword == "PixelData" and element.is_undefined_length:
            return code_streams.clean_encapsulated(value, *self._frames)
        return value

    def _safe_private(self, dataset: Dataset) -> dict[int, DataElement]:
        """Return the private elements that stay, with their creators; none without the option."""
        kept: dict[int, DataElement] = {}
        if Option.SAFE_PRIVATE not in self._options:
            return kept
        for tag in [Tag(one) for one in dataset.keys()]:  # noqa: SIM118 - iterating decodes the elements
            if not tag.is_private or tag.element < 0x1000:
                continue
            place = tag.group << 16 | tag.element >> 8
            try:
                creator = str(dataset[place].value).strip() if place in dataset else ""
                element = dataset[tag]
            except Exception:  # an element that cannot be read is not kept
                continue
            safe = (creator, tag.group, tag.element & 0xFF) in rules.safe_private()
            numbers = element.VR in _NUMBERS or element.VR in ("DS", "IS")
            if not (safe and numbers) or len(_values(element.value)) > 4:
                continue
            value = self._value(element, "", "K")
            if value is not None:
                kept[tag] = DataElement(tag, element.VR, value)
                kept[place] = DataElement(place, "LO", creator)
        return kept

    def _mend_binary(self, dataset: Dataset, *, item: bool) -> None:
        """Remove arrays that stand where they do not belong, and what lies behind their end."""
        pixels = [one for one in (0x7FE00010, 0x7FE00008, 0x7FE00009) if one in dataset]
        own = [] if item else pixels[:1]  # in items stand only icons
        for tag in pixels:
            if tag not in own:
                del dataset[tag]
        if own:
            rle = str(dataset.file_meta.TransferSyntaxUID) == RLELossless
            size = int(dataset.get("Rows") or 0) * int(dataset.get("Columns") or 0)
            self._frames = int(dataset.get("NumberOfFrames") or 1), size if rle else 0
        if dataset.get("SOPClassUID") != _SPECTROSCOPY and "SpectroscopyData" in dataset:
            del dataset.SpectroscopyData
        for name in _LUTS:
            data, about = dataset.get(f"{name}Data"), dataset.get(f"{name}Descriptor")
            if isinstance(data, bytes) and about:
                count = int(about[0]) or 1 << 16
                most = 2 * count if len(data) >= 2 * count else count + count % 2
                setattr(dataset, f"{name}Data", data[:most])

    def _mend_content(self, item: Dataset) -> None:
        """Give an item of a report's tree the value that its type asks for (PS3.3 C.17.3.2)."""
        kind = str(item.get("ValueType", ""))
        keyword = _CONTENT_VALUES.get(kind)
        if keyword is not None and "RelationshipType" in item and not item.get(keyword):
            setattr(item, keyword, self._pseudonyms.uid("") if kind == "UIDREF" else REMOVED)

    def _mend_code(self, item: Dataset) -> None:
        """Replace a code's free parts: its meaning, and all of a code that no standard knows."""
        held = [one for one in ("CodeValue", "LongCodeValue", "URNCodeValue") if one in item]
        if not held and "CodeMeaning" not in item:
            return
        scheme = str(item.get("CodingSchemeDesignator", "")).strip()
        code = str(item[held[0]].value).strip() if held else ""
        known = _meanings().get((scheme, code), [])
        written = str(item.get("CodeMeaning", "")).strip()
        meaning = written if written in known else known[0] if known else None
        for one in ("LongCodeValue", "URNCodeValue", "CodingSchemeVersion"):
            if one in item:
                del item[one]
        if meaning is None:
            meaning = "Code without its meaning"
            shape = (
                r"[A-Za-z%\[\]'/.0-9]{1,8}" if scheme == "UCUM" else r"[A-Z]{0,3}-?[0-9A-F-]{2,14}"
            )
            fine = scheme in _SCHEMES and re.fullmatch(shape, code) is not None
            if scheme == "UCUM":
                fine = fine and _unit_words().issuperset(re.findall(r"[A-Za-z]+", code))
            if not fine or self._names_person(code):
                code = f"L{self._pseudonyms.name(f'code {scheme}', code, 12)}"
                scheme = "99REMOVED"
        item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = code, scheme, meaning[:64]


def person_words(dataset: Dataset) -> frozenset[str]:
    """Return the words of persons' names and of the patient's ids, in small letters."""
    return identity_words(dataset, _PERSON_IDS)


def _concept(item: Dataset) -> str:
    names = item.get("ConceptNameCodeSequence") or [Dataset()]
    return f"{names[0].get('CodingSchemeDesignator', '')}:{names[0].get('CodeValue', '')}"


def identity_words(dataset: Dataset, keywords: Collection[str] = _NAMED) -> frozenset[str]:
    """Return the words of names, ids and places in a data set, in small letters.

    `keywords` are the attributes that are looked at besides names of persons (VR PN).
    """
    found: set[str] = set()

    def look(_dataset: Dataset, element: DataElement) -> None:
        if element.VR == "PN" or element.keyword in keywords:
            for one in _values(element.value):
                found.update(re.findall(r"[^\W_]+", str(one).casefold()))

    for tag in list(dataset.keys()):
        try:
            element = dataset[tag]
            look(dataset, element)
            for item in element.value if element.VR == "SQ" else ():
                found |= identity_words(item, keywords)
        except Exception:  # an element that cannot be read goes, and has no word to look for
            continue
    return frozenset(found)
