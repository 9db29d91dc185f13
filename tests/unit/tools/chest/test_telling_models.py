"""What an answer without a language model says of the large models' results."""

from __future__ import annotations

from typing import Any

import pytest

from app.agent.answers.german import in_german
from app.tools.chest.plan import PLAN
from app.tools.result_wording import ResultWording


def lines(tool: str, output: dict[str, Any], **metadata: Any) -> list[str]:
    wording: ResultWording = next(item for item in PLAN.wordings if item.tool == tool)
    assert wording.lines is not None
    return [item.text for item in wording.lines(output, metadata)]


@pytest.mark.parametrize(
    ("tool", "key"),
    [("chest_xray_expert", "response"), ("llava_med_qa", "answer"), ("medgemma_qa", "answer")],
)
def test_an_answer_is_told_once_in_the_models_own_words(tool: str, key: str):
    told = lines(tool, {key: "A small\neffusion."}, model="The model")
    assert told[0] == "The model answers: “A small effusion.”."
    assert "Unchecked text by a model" in told[1]
    assert lines(tool, {key: " "}) == []


def test_marks_of_an_answer_are_named():
    told = lines("chest_xray_expert", {"response": "x", "boxes": [{"label": "effusion"}]})
    assert "It marked on the image: effusion." in told


def test_a_change_is_told_with_what_it_rests_on_or_why_there_is_none():
    row = {"what": "Right Lung, area", "unit": "cm²", "current": 210.0, "prior": 200.0}
    rows_of_nothing = dict.fromkeys(("unit", "why"), "") | dict.fromkeys(
        ("prior", "change", "comparable", "beyond_error")
    )
    rows = [
        {**row, "change": 10.0, "comparable": True, "beyond_error": False, "why": ""},
        {**row, "change": None, "comparable": False, "beyond_error": None, "why": "other view."},
        {**rows_of_nothing, "what": "Ratio", "current": 0.5},
    ]
    assert lines("chest_xray_compare", {"rows": rows, "days_between": 30}) == [
        "30 days between the two images.",
        "Right Lung, area: 200 before, 210 now cm², change +10.00, within the method's error.",
        "Right Lung, area: not comparable (200 before, 210 now cm²): other view.",
        "Ratio: not comparable (nothing before, 0.50 now).",
    ]


def test_what_was_marked_is_told_with_its_area_where_there_is_a_spacing():
    found = {"found": True, "area_pixels": 1200, "area_cm2": None, "score": 0.9}
    (first, _) = lines("medsam2_segment", found)
    assert first == "Outlined what you marked: area 1,200 px, the model's own score 0.90."
    (first, _) = lines("medsam2_segment", {**found, "area_cm2": 4.25})
    assert "1,200 px = 4.25 cm²" in first
    assert lines("medsam2_segment", {"found": False}) == ["Nothing was found where it was marked."]


def test_a_boxs_coordinates_are_two_numbers_each_and_their_left_is_not_the_patients():
    box = {"image_coordinates": [[1113.0, 1078.0, 1574.0, 1686.0]]}
    output = {"predictions": [{"phrase": "effusion", "bounding_boxes": box}]}
    told, note = lines("xray_phrase_grounding", output)
    assert "box from (1113, 1078) to (1574, 1686) px" in told
    assert "not the patient's" in told
    assert "a box proves no finding" in note


@pytest.mark.parametrize(
    ("asked", "words", "told"),
    [
        ("cardiomegaly", "left pleural effusion", "“cardiomegaly” (the model's words: “left"),
        ("pleural effusion", "Left pleural effusion.", "“Left pleural effusion.”: box"),
    ],
)
def test_a_box_is_told_by_what_was_asked_where_the_models_words_differ(
    asked: str, words: str, told: str
):
    box = {"image_coordinates": [[60.0, 70.0, 79.0, 89.0]]}
    output = {"predictions": [{"phrase": words, "bounding_boxes": box}]}
    first, _ = lines("xray_phrase_grounding", output, phrase=asked, original_size=[100, 100])
    assert first.startswith(told)


def test_where_nothing_could_be_compared_no_absence_of_change_is_told():
    why = "the films could not be aligned: the images differ in scale by 0.53"
    known = {"unit": "cm²", "comparable": False, "why": why, "change": None, "state": ""}
    known |= {"prior": 31.4, "current": 110.9, "beyond_error": None}
    rows = [{**known, "what": what} for what in ("Left Lung, area", "Heart, area")]
    wording = next(item for item in PLAN.wordings if item.tool == "chest_xray_compare")
    assert wording.answer is not None
    told = wording.answer({"rows": rows, "days_between": 30}, frozenset())
    assert [" ".join(one.text for one in line) for line in told] == [
        "**Compared with the film taken 30 days earlier:** no figure could be compared.",
        f"- Not compared: Left Lung, area; Heart, area: {why}.",
    ]


def test_a_change_is_tabled_the_changed_first_with_figures_and_error():
    known = {"unit": "mm", "comparable": True, "why": ""}
    rows = [
        {**known, "what": "same 1", "prior": 20.0, "current": 22.0, "change": 2.0, "error": 5.0,
         "beyond_error": False, "state": "unchanged"},
        {**known, "what": "nodule 2", "prior": 12.0, "current": 24.0, "change": 12.0, "error": 5.0,
         "beyond_error": True, "state": "larger"},
        {**known, "what": "box 3", "prior": None, "current": 14.0, "change": None, "error": None,
         "beyond_error": None, "comparable": False, "state": "new"},
        {**known, "what": "Heart, area", "prior": 90.0, "current": 95.0, "change": None,
         "beyond_error": None, "comparable": False, "why": "the views differ"},
    ]  # fmt: skip
    wording = next(item for item in PLAN.wordings if item.tool == "chest_xray_compare")
    assert wording.answer is not None
    told = wording.answer({"rows": rows, "days_between": 30}, frozenset())
    assert [" ".join(one.text for one in line) for line in told] == [
        "**Compared with the film taken 30 days earlier:** 1 change beyond the method's error "
        "in the 2 of 3 figures that could be compared; 1 new, 0 gone.",
        "",
        "|  | before | now | change |",
        "| ------ | --- | --- | ----- |",
        "| box 3 |  | 14 mm | **new**: marked on the current film only |",
        "| nodule 2 | 12 mm | 24 mm | **larger**, +12.00 ± 5 mm |",
        "| same 1 | 20 mm | 22 mm | unchanged, +2.00 ± 5 mm |",
        "",
        "- Heart, area: not comparable (90 before, 95 now mm): the views differ.",
        "- New and gone say where a mark is missing, not that nothing was there.",
    ]


KNOWN = {"unit": "mm", "comparable": True, "why": "", "change": 0.0, "error": 5.0}
RATIO = {**KNOWN, "what": "Cardiothoracic ratio", "unit": "", "prior": 0.5, "current": 0.5,
         "beyond_error": False, "state": "unchanged"}  # fmt: skip
PAIR = {**RATIO, "what": "Nodule 1, longer side", "unit": "mm", "basis": "detector plane"}
HEAD = "compared with the film taken 30 days earlier: no changes beyond the method's error."


def compared(targets: set[str], *rows: dict[str, Any], **output: Any) -> list[str]:
    wording = next(item for item in PLAN.wordings if item.tool == "chest_xray_compare")
    assert wording.answer is not None
    told = wording.answer({"rows": rows, "days_between": 30, **output}, frozenset(targets))
    return [" ".join(one.text for one in line) for line in told]


@pytest.mark.parametrize(
    ("targets", "name"),
    [
        ({"Nodule", "lesion"}, "Nodule"),
        ({"Effusion"}, "Effusion"),
        ({"lesion", "unscored"}, "Lesion"),
        ({"finding", "unscored"}, "The finding that you named"),
    ],
)
def test_what_is_asked_for_and_not_marked_is_first_told_as_not_compared(
    targets: set[str], name: str
):
    """ "Has the nodule grown?" is not answered by lungs that are unchanged."""
    other = {**PAIR, "what": "Fracture 1, longer side"}
    told = compared(targets, RATIO, other)
    why = "none is marked or found on both films"
    assert told[0] == f"**{name}: not compared, because {why}.**"
    assert "draw a box around it on each" in told[1]
    assert told[2:4] == ["", f"Apart from that, {HEAD}"]
    german = in_german("\n".join(told)).split("\n")
    assert "nicht verglichen, weil" in german[0]
    assert "ziehen Sie auf jeder der beiden Aufnahmen" in german[1]
    assert german[3].startswith("Sonst, verglichen mit der Aufnahme 30 Tage zuvor: keine")


@pytest.mark.parametrize(
    ("targets", "what"),
    [
        ({"Nodule", "lesion"}, "Nodule 1, longer side"),
        ({"Nodule", "lesion"}, "Rundherd 1, longer side"),
        ({"Nodule", "lesion"}, "Marked box 1, longer side"),
        ({"Effusion"}, "Pleuraerguss 1, longer side"),
        ({"lesion"}, "Mass 1, longer side"),
        ({"Cardiomegaly"}, "Cardiothoracic ratio"),
        ({"unscored"}, "Heart, area"),  # "since the surgery" names no finding
        (set[str](), "Heart, area"),
    ],
)
def test_what_is_among_the_compared_pairs_is_not_told_as_missing(targets: set[str], what: str):
    assert compared(targets, {**PAIR, "what": what})[0] == f"**C{HEAD[1:]}".replace(":", ":**", 1)


def test_a_marked_finding_without_a_spacing_has_no_comparable_size_and_that_comes_first():
    box = {**PAIR, "what": "Marked box 1, longer side", "unit": "px", "comparable": False,
           "why": "the pixel spacing is unknown", "prior": 40.0, "current": 60.0, "change": None,
           "beyond_error": None, "state": "", "basis": ""}  # fmt: skip
    told = compared({"Nodule", "lesion"}, RATIO, box)
    assert told[0] == "**Nodule: its size could not be compared:** the pixel spacing is unknown."
    why = "der Pixelabstand ist unbekannt"
    assert in_german(told[0]) == f"**Rundherd: Die Größe ließ sich nicht vergleichen:** {why}."
    several = "- Not compared: Right Lung, area; Marked box 1, longer side: the pixel spacing is"
    german = "- Nicht verglichen: Rechte Lunge, Fläche; Markiertes Rechteck 1, längere Seite: "
    assert in_german(f"{several} unknown [1].") == f"{german}{why} [1]."
    assert told[2].startswith("Apart from that, ")


def test_marks_in_two_places_are_no_pair_and_that_comes_first():
    alone = {**PAIR, "comparable": False, "change": None, "beyond_error": None}
    came, went = {**alone, "prior": None, "state": "new"}, {**alone, "current": None}
    told = compared({"Nodule"}, RATIO, came, {**went, "state": "gone"})
    assert told[0] == (
        "**Nodule: not compared:** the marks on the two films do not lie in one place."
    )
    assert compared({"Nodule"}, RATIO, came)[0].endswith("marked or found on both films.**")


def test_films_that_are_not_aligned_have_no_pairs_and_that_is_the_reason():
    laid = {"accepted": False, "why": "the images differ in scale by 0.53"}
    told = compared({"Nodule"}, RATIO, registration=laid)
    assert told[0] == f"**Nodule: not compared:** the films could not be aligned: {laid['why']}."
    assert in_german(told[0]).startswith("**Rundherd: nicht verglichen:** die Aufnahmen")


def test_what_mm_and_areas_rest_on_is_told():
    area = {**PAIR, "what": "Heart, area", "unit": "cm²", "prior": 90.0, "current": 91.0}
    assert compared(set(), area)[4].startswith("| Heart, area (detector plane) | 90 cm² | 91 cm² |")
    assert "| Herz, Fläche (Detektorebene) | 90 cm²" in in_german(compared(set(), area)[4])
    (line,) = lines("chest_xray_compare", {"rows": [area]})
    assert line.startswith("Heart, area (detector plane): 90 before, 91 now cm²")


def test_a_heart_without_a_spacing_has_no_width_in_mm_and_that_is_told():
    found = {"ratio": 0.5, "heart_width_px": 794.0, "thorax_width_px": 1589.0, "judgement": "x"}
    note = "no figures in mm or cm²: the pixel spacing is unknown (not in the file)"
    (line,) = heart_told({**found, "heart_width_mm": None, "width_note": note})
    assert f"thorax 1,589 px. N{note[1:]}." in line
    assert "Keine Angaben in mm oder cm²: Der Pixelabstand ist" in in_german(line)
    (line,) = heart_told({**found, "heart_width_mm": 1, "thorax_width_mm": 2, "width_note": ""})
    assert "No width" not in line


def heart_told(output: dict[str, Any]) -> list[str]:
    wording = next(item for item in PLAN.wordings if item.tool == "cardiothoracic_ratio")
    assert wording.answer is not None
    return [" ".join(one.text for one in line) for line in wording.answer(output, frozenset())]
