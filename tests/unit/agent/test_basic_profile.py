"""The Basic Profile's table is whole, and whatever it names is removed under each of its names."""

from __future__ import annotations

import json
import re

import pytest
from pydicom._dicom_dict import DicomDictionary
from pydicom.datadict import dictionary_description, tag_for_keyword

from app.agent.context.model_messages import result_message
from app.agent.privacy.confidentiality_profile import PROFILE
from app.agent.privacy.identifiers import is_identifying
from app.agent.privacy.redaction import REMOVED, Redactor

REPEATING = {"CurveData": 0x50003000, "OverlayData": 0x60003000, "OverlayComments": 0x60004000}
TAGS = {keyword: REPEATING.get(keyword) or tag_for_keyword(keyword) for keyword in PROFILE}
CLINICAL = [
    "Modality", "Rows", "Columns", "BodyPartExamined", "ViewPosition", "Laterality", "PixelSpacing",
    "ImageLaterality", "PatientOrientation", "PatientPosition", "SliceThickness", "KVP", "EchoTime",
    "ImageType", "PhotometricInterpretation", "BitsStored", "WindowCenter", "RescaleSlope", "Units",
    "SpacingBetweenSlices", "SliceLocation", "ExposureTime", "FlipAngle", "ConvolutionKernel",
]  # fmt: skip


def test_every_attribute_of_the_table_is_one_of_the_dictionarys():
    # 617 rows with a tag of their own, and the three of repeating groups.
    assert len(PROFILE) == 620
    assert [keyword for keyword, tag in TAGS.items() if tag is None] == []


def names_of(keyword: str) -> list[str]:
    tag = TAGS[keyword]
    assert tag is not None
    group, element = f"{tag >> 16:04X}", f"{tag & 0xFFFF:04x}"
    described = f"({group}, {element}) {dictionary_description(tag)}"
    return [keyword, f"({group},{element})", f"{group}{element}", described]


def test_each_identifies_by_keyword_by_tag_and_as_the_standard_writes_it():
    names = [name for keyword in PROFILE for name in names_of(keyword)]
    assert [name for name in names if not is_identifying(name)] == []


def test_an_attribute_of_every_kind_of_value_is_removed_from_a_result():
    values = ["text", 4711, 1.5, ["a", "b"], {"Value": "x"}, [{"PersonName": "x"}]]
    for keyword in PROFILE:
        for value in values:
            message = result_message("1", "t", {"output": {keyword: value, "Modality": "CT"}})
            (cleaned,) = Redactor([message]).messages([message])
            assert json.loads(cleaned.text)["output"] == {keyword: REMOVED, "Modality": "CT"}


@pytest.mark.parametrize("vr", ["PN", "DA", "AS"])
def test_no_name_date_or_age_of_the_dictionary_is_left_even_where_the_table_has_none(vr: str):
    named = [entry[4] for entry in DicomDictionary.values() if entry[0] == vr]
    assert named
    assert [keyword for keyword in named if keyword and not is_identifying(keyword)] == []


@pytest.mark.parametrize("keyword", CLINICAL)
def test_what_a_model_needs_to_know_of_an_image_stays(keyword: str):
    assert not is_identifying(keyword)


@pytest.mark.parametrize("tag", ["(0009,1001)", "(0043,1027)", "0019,100A", "(0099,0010) Creator"])
def test_private_attributes_go_whatever_they_hold(tag: str):
    message = result_message("1", "t", {"output": {tag: "Zyxwv Quentin, ward 7"}, "summary": "ok"})
    (cleaned,) = Redactor([message]).messages([message])
    assert not re.search("zyxwv|ward", cleaned.text, re.IGNORECASE)


def test_a_word_of_the_clinic_is_not_hunted_for_because_an_attribute_holds_it():
    facts = {"ROIName": "Heart", "TreatmentSite": "Lung", "ContrastBolusAgent": "Iodine"}
    message = result_message("1", "t", {"summary": "Heart and lung, iodine.", "output": facts})
    (cleaned,) = Redactor([message]).messages([message])
    assert cleaned.data["summary"] == "Heart and lung, iodine."
    assert set(cleaned.data["output"].values()) == {REMOVED}


def test_what_a_place_or_a_number_is_called_is_found_elsewhere_too():
    facts = {
        "CurrentPatientLocation": "Ward 7 East",
        "MedicalRecordLocator": "Shelf 12B",
        "PatientTelephoneNumbers": "0171-5556667",
        "VisitComments": "Call her at 9988771 after six",
    }
    told = "On Ward 7 East, SHELF 12B; phone 01715556667 or 9988771; the ward is in the east."
    message = result_message("1", "t", {"summary": told, "metadata": facts})
    (cleaned,) = Redactor([message]).messages([message])
    assert cleaned.data["summary"] == (
        f"On {REMOVED}, {REMOVED}; phone {REMOVED} or {REMOVED}; the ward is in the east."
    )
