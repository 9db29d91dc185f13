"""Every word that identifies counts alone; coded fields go only by their lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.agent.context.model_messages import result_message
from app.agent.messages import Message
from app.agent.privacy.confidentiality_profile import is_code, is_coded
from app.agent.privacy.identifiers import folded, is_common
from app.agent.privacy.model_pictures import caption
from app.agent.privacy.redaction import REMOVED, Redactor
from app.agent.privacy.send_consent import known_of
from app.tools.registry import load_packs
from tests.unit.agent.test_pictures import opened


def cleaned(header: dict[str, str], path: str = "") -> Redactor:
    known = known_of(header.items())
    return Redactor([
        Message(
            role="user",
            identifiers=list(known.identifiers),
            texts=list(known.texts),
            images=[{"id": "image-1", "path": path}] if path else [],
        )
    ])  # fmt: skip


# -- coded fields ------------------------------------------------------------------------------

FREE = [
    ("BodyPartExamined", "CHEST HUBER"),
    ("BodyPartExamined", "HUBER"),
    ("body_part", "Huber's chest"),
    ("ViewPosition", "AP DR MAIER"),
    ("view", "PA, Dr. Maier"),
    ("WindowCenterWidthExplanation", "PROF HUBER LUNG"),
    ("WindowExplanation", "for Huber"),
    ("Modality", "CR HUBER"),
    ("modality", "Huber"),
    ("PatientPosition", "HFS HUBER"),
    ("ImageType", "DERIVED\\SECONDARY\\HUBER"),
    ("Laterality", "L HUBER"),
    ("PhotometricInterpretation", "HUBER"),
    ("Manufacturer", "Huber's clinic"),
    ("ManufacturerModelName", "Huber 2000"),
    ("SoftwareVersions", "huber build"),
    ("ConvolutionKernel", "HUBER SHARP"),
    ("SequenceName", "for_huber"),
    ("ContrastBolusAgent", "given to Huber"),
    ("ScheduledProcedureStepStatus", "huber"),
    ("(0018,0015)", "HUBER"),
    ("00185101", "HUBER"),
]


@pytest.mark.parametrize(("key", "value"), FREE)
def test_free_text_in_a_coded_field_is_not_sent(key: str, value: str):
    shapes: list[Any] = [
        {key: value},
        {key: [value]},
        {key: {"vr": "CS", "Value": [value]}},
        {"attributes": [{"keyword": key, "value": value}]},
        {"attributes": [[key, value]]},
    ]
    for shape in shapes:
        message = result_message("1", "t", {"output": shape, "summary": "ok"})
        sent = Redactor([message]).messages([message])[0].text.lower()
        assert "huber" not in sent, shape
        assert "maier" not in sent, shape


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("BodyPartExamined", "CHEST"),
        ("BodyPartExamined", "Chest Abdomen"),
        ("body_part", "Brain"),
        ("ViewPosition", "PA"),
        ("view", "left lateral"),
        ("WindowCenterWidthExplanation", "WINDOW1\\LUNG"),
        ("WindowExplanation", "Soft tissue"),
        ("Modality", "CT"),
        ("PatientPosition", "HFS"),
        ("PatientOrientation", "L\\F"),
        ("ImageType", "ORIGINAL\\PRIMARY\\AXIAL"),
        ("Laterality", "R"),
        ("PhotometricInterpretation", "MONOCHROME2"),
        ("Manufacturer", "GE MEDICAL SYSTEMS"),
        ("units", "mm"),
        ("label", "Left lung"),
        ("status", "completed"),
    ],
)
def test_a_code_of_the_standard_is_sent(key: str, value: str):
    message = result_message("1", "t", {"output": {key: value}, "summary": "ok"})
    assert Redactor([message]).messages([message])[0].data["output"] == {key: value}


def test_a_note_about_an_image_gives_codes_only():
    note = {"id": "image-1", "path": "/x/a.dcm", "modality": "CT HUBER", "view": "AP DR MAIER"}
    sent = Redactor([]).messages([Message(role="user", images=[note])])[0].images[0]
    assert (sent["modality"], sent["view"]) == (REMOVED, REMOVED)


def test_a_pictures_caption_gives_codes_only(tmp_path: Path):
    images, _ = opened(tmp_path, (8, 8), ViewPosition="AP MAIER", Modality="CT HUBER")
    said = caption("image-1", images.resolve("image-1"), 8, 8)
    assert "MAIER" not in said
    assert "HUBER" not in said


def test_free_text_of_a_coded_field_is_not_sent_in_other_words_either():
    redactor = cleaned({"BodyPartExamined": "THORAX OBERHUBER", "ViewPosition": "PA LEITGEB"})
    said = redactor.text("The thorax of Oberhuber, PA, by leitgeb.")
    assert said == f"The thorax of {REMOVED}, PA, by {REMOVED}."


def test_a_dump_of_a_coded_field_gives_codes_only():
    said = Redactor([]).text("(0018,0015) CS: 'CHEST'\n(0018,5101) CS: 'AP DR MAIER'")
    assert said == f"(0018,0015) CS: 'CHEST'\n(0018,5101) {REMOVED}"


def test_every_list_is_of_an_attribute_or_of_a_key_of_ours():
    assert is_coded("BodyPartExamined")
    assert is_coded("WindowExplanation")
    assert not is_coded("label")
    assert is_code("ViewPosition", "")


# -- words -------------------------------------------------------------------------------------

STREET = {
    "PatientAddress": "Rätikonstraße 14, 7000 Chur",
    "PatientName": "Schwarzenberger-Holl^Anna Lena",
}


@pytest.mark.parametrize(
    "written",
    ["Holl", "anna", "Lena Holl", "holl schwarzenberger", "annalena", "A. Holl", "Holl, A. L.",
     "Raetikonstrasse", "Rätikonstr", "chur", "7000 Chur", "HOLLS",
     "Schwarzenberger\u2011Holl"],
)  # fmt: skip
def test_a_word_of_a_name_or_an_address_counts_alone(written: str):
    said = cleaned(STREET).text(f"see {written}: left")
    assert said == f"see {REMOVED}: left"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("Does White have a mass?", f"Does {REMOVED} have a mass?"),
        ("does mrs white have a mass", f"does mrs {REMOVED} have a mass"),
        ("White: mass?", f"{REMOVED}: mass?"),
        ("White has a mass.", f"{REMOVED} has a mass."),
        ("white's mass", f"{REMOVED}'s mass"),
        ("rose white", REMOVED),
        ("White, Rose, mass", f"{REMOVED}, mass"),
        ("DR WHITE", f"DR {REMOVED}"),
        ("white matter lesions", "white matter lesions"),
        ("White lungs on both sides", "White lungs on both sides"),
        ("A rose. White lungs.", "A rose. White lungs."),
        ("MR white matter", "MR white matter"),
    ],
)
def test_a_name_that_is_a_word_counts_where_it_stands_as_a_name(said: str, sent: str):
    assert cleaned({"PatientName": "White^Rose"}).text(said) == sent


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("Mr. Oberhuber from ward 7", f"Mr. {REMOVED} from ward 7"),
        ("Frau Dr. Maier-Lenz fragt", f"Frau Dr. {REMOVED} fragt"),
        ("write to a.b@c.example", f"write to {REMOVED}"),
        ("MR Brain, MS Lesions, DR Chest", "MR Brain, MS Lesions, DR Chest"),
        ("Did I miss Kerley lines? 12 Fr catheter", "Did I miss Kerley lines? 12 Fr catheter"),
    ],
)
def test_who_is_called_by_a_title_is_not_sent_whoever_it_is(said: str, sent: str):
    assert Redactor([]).text(said) == sent


def test_the_words_of_a_remark_count_but_for_common_ones():
    redactor = cleaned({
        "PatientComments": "Follow-up of pneumonia, call Dr Bell ext 7741, lives in Blorptown",
        "StudyDescription": "CT chest for Quaxinger",
    })  # fmt: skip
    said = redactor.text("Follow-up of pneumonia: Bell? A bell. 7741 in blorptown, Quaxinger's")
    assert said == (
        f"Follow-up of pneumonia: {REMOVED}? A bell. {REMOVED} in {REMOVED}, {REMOVED}'s"
    )


@pytest.mark.parametrize(
    "written",
    ["subj Meili 2023", "meili", "Meili_subj", "2023 meili subj", "Cantlon", "trial Cantlon"],
)
def test_words_of_every_folder_count_in_any_order(written: str):
    redactor = cleaned({}, "/data/Cantlon trial/subj_Meili_2023/IM0001.dcm")
    sent = redactor.text(f"open {written}").lower()
    assert not re.search("meili|cantlon", sent)


def test_the_numbers_of_a_picture_stay():
    redactor = cleaned({"PatientID": "4711-1024-0815", "StudyID": "1500"})
    text = "1024 x 1024 pixels, window 1500, ratio 0.4711, in 2024"
    assert redactor.text(text) == text
    assert redactor.text("4711 1024 0815 or 4711 or 0815") == " or ".join([REMOVED] * 3)


@pytest.mark.parametrize("tool", load_packs().all(), ids=lambda tool: tool.spec.name)
def test_no_folder_is_called_by_what_tools_are_called(tool: Any):
    """A word of a tool's name or argument that identified somebody would make the tool unknown."""
    names = [tool.spec.name, *tool.spec.Input.model_fields, *tool.spec.Output.model_fields]
    words = re.findall(r"[a-z]{3,}", " ".join(names))
    assert [word for word in words if not is_common(folded(word))] == []
    redactor = cleaned({}, f"/data/{'_'.join(words)}/a.dcm")
    assert redactor.text(json.dumps(names)) == json.dumps(names)


def test_figures_in_private_attributes_and_descriptions_are_no_ids():
    redactor = cleaned({
        "(0029,1008)": "1001.234567\\-0.9998\\40961\\512 512",
        "SeriesDescription": "T1 mprage 512 512 2512",
        "ContentTime": "143507",
        "ImageComments": "7719034",
    })  # fmt: skip
    text = "a ratio of 0.9998, 1001 voxels of 512, 512 and 2512 mm, 40961, 143507"
    assert redactor.text(text) == text
    assert redactor.text("ring 771-9034") == f"ring {REMOVED}"


def test_numbers_are_found_as_people_type_them():
    redactor = cleaned({
        "PatientAddress": "27 Rosebery Gardens, NG7 2UH",
        "PatientTelephoneNumbers": "+44 7700 900123",
        "PatientBirthDate": "19871224",
        "(0009,0010)": "GEMS_IMAG_01",
    })  # fmt: skip
    for written in ("NG7 2UH", "ng72uh", "07700900123", "7700-900123", "24 Dec '87"):
        assert redactor.text(f"see {written}, left") == f"see {REMOVED}, left"
    text = "How many images of 12 mm at T12, L4/L5, in 2 series?"
    assert redactor.text(text) == text


TYPED = {
    "PatientName": "van den Broeck-Vermeulen^Liesbeth",
    "ReferringPhysicianName": "Tanriverdi^Guimarães",
    "PatientID": "HSL-00482913/7",
    "PatientBirthDate": "19720911",
    "PatientTelephoneNumbers": "0475/39 61 08",
    "PatientComments": "cell +55 11 98172-4460",
}


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Vandenbroeck L.", REMOVED),
        ("vermeulenliesbeth", REMOVED),
        ("Tanri Verdi", REMOVED),
        ("Liesbeth Ver meulen", REMOVED),
        ("Guima-raes", REMOVED),
        ("482.913-7", REMOVED),
        ("+32 475 39 61 08", f"+32 {REMOVED}"),
        ("98172 4460", REMOVED),
        ("(11) 98172.4460", f"({REMOVED}"),
        ("72-09-11", REMOVED),
        ("720911", REMOVED),
        ("1972年9月11日", f"{REMOVED}日"),
    ],
)
def test_a_word_or_a_number_counts_run_together_and_torn_apart(written: str, sent: str):
    assert cleaned(TYPED).text(f"film of {written}: left") == f"film of {sent}: left"


@pytest.mark.parametrize(
    ("name", "said", "sent"),
    [
        ("Bishop^Grace", "Bishop again: effusion?", f"{REMOVED} again: effusion?"),
        ("Goodman^Long", "a good man with a long neck", "a good man with a long neck"),
        ("Jabaquara do^Ana", "Do you see it? Do not cut.", "Do you see it? Do not cut."),
        ("Do^Hoa", "Is Do better? Do: left", f"Is {REMOVED} better? {REMOVED}: left"),
        ("Heart Lung Center", "heart-lung machine, left/right", "heart-lung machine, left/right"),
        ("Röntgen Nord", "Wie funktioniert Röntgen?", "Wie funktioniert Röntgen?"),
    ],
)
def test_what_only_looks_like_a_name_stays(name: str, said: str, sent: str):
    assert cleaned({"PatientName": name}).text(said) == sent


def test_the_rest_of_a_number_that_begins_with_the_date_of_birth_counts_alone():
    header = {"PatientID": "PESEL 48052217364", "PatientBirthDate": "19480522"}
    assert "17364" not in cleaned(header).text("pesel 480522 17364 - any consolidation?")


def test_a_word_of_a_comment_with_a_capital_inside_counts_in_small_letters():
    header = {"PatientComments": "mom LaShonda 208-555-0173"}
    assert cleaned(header).text("lashonda asks if normal") == f"{REMOVED} asks if normal"
