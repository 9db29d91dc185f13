"""Boxes that language models write: read strictly, carried back to the original image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.imaging.findings import Box
from app.tools.chest.boxes import (
    GroundedPhrase,
    InputRectangle,
    centre_crop,
    finding_box,
    padded_square,
    read_chexagent,
    read_maira,
    read_medgemma,
    whole_image,
)
from app.tools.chest.model_pictures import ModelInput
from tests.unit.tools.support import Bench, write_dicom


def test_a_grounded_phrase_has_the_middle_of_each_bin():
    reading = read_maira("<obj>Small effusion.<box><x10><y20><x30><y40></box></obj>")
    assert reading.groups == (GroundedPhrase("Small effusion.", ((0.105, 0.205, 0.305, 0.405),)),)
    assert reading.text == "Small effusion."
    assert reading.refused == ()


def test_several_phrases_and_boxes_and_phrases_without_a_box_are_read():
    reading = read_maira(
        "<obj> a <box><x1><y2><x3><y4></box><box><x50><y60><x70><y80></box></obj><obj>b</obj>"
    )
    assert [group.phrase for group in reading.groups] == ["a", "b"]
    assert len(reading.groups[0].boxes) == 2
    assert reading.groups[1].boxes == ()


THREE = """The clavicle lies above.
Final Answer: ```json
[{"box_2d": [150, 300.5, 450, 800], "label": "right clavicle"},
 {"box_2d": [0, 0, 1000, 1000], "label": "film"}, {"box_2d": [10, 40, 30, 20], "label": "x"}]
```"""


def test_medgemmas_boxes_are_thousandths_with_y_first():
    reading = read_medgemma(THREE)
    assert reading.groups == (
        GroundedPhrase("right clavicle", ((0.3005, 0.15, 0.8, 0.45),)),
        GroundedPhrase("film", ((0.0, 0.0, 1.0, 1.0),)),
    )
    assert reading.text == "The clavicle lies above."
    assert len(reading.refused) == 1
    assert "exchanged" in reading.refused[0]


def test_only_medgemmas_last_list_counts_and_its_example_does_not():
    said = (
        '[{"box_2d": [1, 2, 3, 4], "label": "car"}] then [{"box_2d": [5, 6, 7, 8], "label": "b"}]'
    )
    assert [group.phrase for group in read_medgemma(said).groups] == ["b"]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ('[{"box_2d": [1, 2, 3], "label": "x"}]', "no four coordinates"),
        ('[{"box_2d": [1, 2, 3, "4"], "label": "x"}]', "no four coordinates"),
        ('[{"box_2d": "1 2 3 4"}]', "no four coordinates"),
        ('[{"label": "x"}]', "no four coordinates"),
        ('[{"box_2d": [-1, 2, 3, 4]}]', "outside 0 to 1000"),
        ('[{"box_2d": [1, 2, 3, 1001]}]', "outside 0 to 1000"),
        ('[{"box_2d": [NaN, 2, 3, 4]}]', "outside 0 to 1000"),
        ('[{"box_2d": [5, 2, 5, 4]}]', "no width or height"),
        ('[{"box_2d": [5, 2, 6', "cannot be read"),
    ],
)
def test_medgemmas_malformed_boxes_are_refused_and_said(written: str, why: str):
    reading = read_medgemma(f"Final Answer: {written}")
    assert reading.groups == ()
    assert why in " ".join(reading.refused)


def test_medgemmas_plain_answer_has_no_boxes():
    reading = read_medgemma("It is not on this film [2].")
    assert reading == (type(reading))((), "It is not on this film [2].", ())


@pytest.mark.parametrize(("rows", "columns"), [(240, 200), (200, 241), (7, 10), (5, 5)])
def test_the_padded_square_is_that_of_the_published_example(rows: int, columns: int):
    """Its function: (d // 2, d - d // 2) on the two sides of the shorter edge."""
    image, more = np.full((rows, columns), 9, np.uint8), abs(rows - columns)
    margin = (more // 2, more - more // 2)
    square = np.pad(image, (margin, (0, 0)) if rows < columns else ((0, 0), margin))
    inside = np.argwhere(square == 9)
    seen = padded_square(rows, columns)
    assert (-seen.top, -seen.left) == tuple(inside[0])
    assert (seen.right - seen.left, seen.bottom - seen.top) == square.shape


def test_text_without_marks_has_no_groups():
    reading = read_maira(" no finding ")
    assert (reading.groups, reading.text, reading.refused) == ((), "no finding", ())


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("<x30><y20><x10><y40>", "exchanged"),
        ("<x10><y40><x30><y20>", "exchanged"),
        ("<x10><y20><x10><y40>", "no width"),
        ("<x10><y20><x30><y20>", "no width"),
        ("<x10><y20><x100><y40>", "outside 0 to 99"),
        ("<x10><y20><x30>", "no four coordinates"),
        ("<y10><x20><y30><x40>", "no four coordinates"),
        ("<x10><y20><x30><y40><x50>", "no four coordinates"),
        ("<x-1><y20><x30><y40>", "no four coordinates"),
    ],
)
def test_a_malformed_box_is_refused_and_said(written: str, why: str):
    reading = read_maira(f"<obj>x<box>{written}</box></obj>")
    assert reading.groups == (GroundedPhrase("x", ()),)
    assert len(reading.refused) == 1
    assert why in reading.refused[0]


@pytest.mark.parametrize(
    "text",
    [
        "<obj>x<box><x10><y20><x30><y40>",
        "<obj>x<box><x10><y20><x3",
        "<obj>x<box>",
    ],
)
def test_a_box_that_breaks_off_is_not_used(text: str):
    reading = read_maira(text)
    assert all(group.boxes == () for group in reading.groups)
    assert any("breaks off" in reason for reason in reading.refused)


def test_a_box_without_a_phrase_is_said_and_not_drawn():
    reading = read_maira("<box><x10><y20><x30><y40></box>")
    assert reading.groups == ()
    assert reading.refused == ("boxes without a phrase",)


def test_one_bad_box_does_not_take_the_good_one_with_it():
    reading = read_maira("<obj>x<box><x9><y2><x3><y4></box><box><x10><y20><x30><y40></box></obj>")
    assert len(reading.groups[0].boxes) == 1
    assert len(reading.refused) == 1


def test_chexagents_boxes_are_hundredths_and_are_named_in_the_text():
    reading = read_chexagent(
        "There is a <|ref|>left effusion<|/ref|><|box|>(58,60),(84,100)<|/box|>."
    )
    assert reading.groups == (GroundedPhrase("left effusion", ((0.58, 0.6, 0.84, 1.0),)),)
    assert reading.text == "There is a left effusion [box 1]."


def test_spaces_around_marks_change_nothing_and_a_phrase_may_have_two_boxes():
    reading = read_chexagent(
        "<|ref|> nodules <|/ref|> <|box|> (1,2), (3,4) <|/box|> <|box|> ( 5, 6),(7,8)<|/box|>"
    )
    assert [group.phrase for group in reading.groups] == ["nodules", "nodules"]
    assert reading.groups[1].boxes == ((0.05, 0.06, 0.07, 0.08),)
    assert reading.text == "nodules [box 1] [box 2]"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("<|box|>(84,60),(58,88)<|/box|>", "exchanged"),
        ("<|box|>(1,2),(3,400)<|/box|>", "outside 0 to 100"),
        ("<|box|>(1,2),(1,4)<|/box|>", "no width"),
        ("<|box|>somewhere<|/box|>", "no four coordinates"),
        ("<|box|>(58,60),(8", "breaks off"),
    ],
)
def test_a_malformed_box_of_chexagent_is_refused_and_said(written: str, why: str):
    reading = read_chexagent(f"Here: {written}")
    assert reading.groups == ()
    assert len(reading.refused) == 1
    assert why in reading.refused[0]
    assert "[unusable box]" in reading.text
    assert "<|" not in reading.text


def test_paragraphs_stay():
    assert read_chexagent("one\ntwo<|endoftext|>").text == "one\ntwo"


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (518, 518, InputRectangle(0, 0, 518, 518)),
        (1036, 2072, InputRectangle(518, 0, 1554, 1036)),
        (2072, 1036, InputRectangle(0, 518, 1036, 1554)),
        # 701 x 500: 518 / 500 * 701 = 726.2, rounded down; the crop starts at (726 - 518) // 2.
        (701, 500, InputRectangle(0, 104 * 701 / 726, 500, 622 * 701 / 726)),
        # 622.6 is rounded down as well.
        (601, 500, InputRectangle(0, 52 * 601 / 622, 500, 570 * 601 / 622)),
        (500, 601, InputRectangle(52 * 601 / 622, 0, 570 * 601 / 622, 500)),
        # 500 x 702: 727.3, an odd rest of 209: the crop starts at 104, not at 105.
        (702, 500, InputRectangle(0, 104 * 702 / 727, 500, 622 * 702 / 727)),
    ],
)
def test_the_centre_crop_in_pixels_of_the_original(
    rows: int, columns: int, expected: InputRectangle
):
    found = centre_crop(rows, columns, 518, 518, 518)
    for side in ("left", "top", "right", "bottom"):
        assert getattr(found, side) == pytest.approx(getattr(expected, side))


def test_what_the_model_could_not_see_is_named():
    assert centre_crop(1000, 2000, 518, 518, 518).hidden(1000, 2000) == (
        "25 % at the left",
        "25 % at the right",
    )
    # A strip of one percent is told, and one of a tenth of that is not.
    assert InputRectangle(10, 0, 999, 1000).hidden(1000, 1000) == ("1 % at the left",)
    assert whole_image(1000, 2000).hidden(1000, 2000) == ()


def test_a_box_over_whole_pixels_lies_half_a_pixel_lower():
    assert finding_box((10.0, 20.0, 30.0, 40.0)) == Box(9.5, 19.5, 29.5, 39.5)


@pytest.mark.parametrize(
    ("orientation", "spacing"),
    [
        (["L", "F"], None),
        (["R", "F"], None),
        (["L", "H"], None),
        (["R", "H"], [0.2, 0.1]),
        (["L", "F"], [0.1, 0.25]),
    ],
)
def test_a_planted_block_is_found_where_it_was_whatever_the_image_s_turn_and_pixels(
    tmp_path: Path, orientation: list[str], spacing: list[float] | None
):
    pixels = np.zeros((301, 420), np.uint16)
    pixels[60:120, 250:330] = 4095
    more = {"PixelSpacing": spacing} if spacing else {}
    path = write_dicom(tmp_path / "a.dcm", pixels, PatientOrientation=orientation, **more)
    bench = Bench(tmp_path)
    bench.open(path)
    shown = ModelInput.of(bench.images.resolve("image-1"))
    rows = np.flatnonzero(shown.pixels.max(axis=1) > 127)
    columns = np.flatnonzero(shown.pixels.max(axis=0) > 127)
    corners = shown.original((columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    assert corners == pytest.approx((250, 60, 330, 120), abs=0.5)
