"""What "here" means: the line of an attached region, and what a text does there."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from app.imaging.findings import Box
from app.paths import resources_dir
from app.tools.pack_plan import SpokenCall
from app.tools.viewer.places import region_in, without_regions
from app.tools.viewer.reading import read
from tests.unit.tools.test_viewer_decisions import UNDECIDED, decided

ENGLISH = "Region: x 300 to 699, y 210 to 399 px of chest.dcm"
SOURCE = "Region: x {x0:.0f} to {x1:.0f}, y {y0:.0f} to {y1:.0f} px of {name}"


def lines() -> list[str]:
    """The line in English and as each translation has it."""
    forms = [SOURCE]
    for path in sorted((resources_dir() / "translations").glob("sightline_*.ts")):
        messages = ET.parse(path).getroot().iter("message")
        forms += [
            m.findtext("translation") or "" for m in messages if m.findtext("source") == SOURCE
        ]
    assert len(forms) > 1
    return [one.format(x0=300, x1=699, y0=210, y1=399, name="a scan (2) of 1.dcm") for one in forms]


@pytest.mark.parametrize("line", lines())
def test_the_line_of_a_region_is_read_in_each_language(line: str):
    region = region_in(line)
    assert region is not None
    # The edges lie half a pixel outside the first and last pixel, whose centres are integers.
    assert region.box == Box(299.5, 209.5, 699.5, 399.5)
    assert region.is_of("a scan (2) of 1.dcm", 0, 1)
    assert not region.is_of("other.dcm", 0, 1)


def test_a_frame_of_several_is_told_apart_from_a_name_in_brackets():
    region = region_in(f"{ENGLISH} (frame 3)")
    assert region is not None
    assert region.is_of("chest.dcm", 2, 60)
    assert not region.is_of("chest.dcm", 1, 60)
    assert region.is_of("chest.dcm (frame 3)", 0, 1)
    assert not region.is_of("chest.dcm", 0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "zoom here",
        "Region: the chest",
        "Region: x 9 to 3, y 1 to 2 px of a.png",
        f"he said {ENGLISH}",
    ],
)
def test_other_lines_are_no_regions(text: str):
    assert without_regions(text) == (text, ())


def calls(text: str) -> list[SpokenCall]:
    found = read(f"{text}\n\n{ENGLISH}")
    return list(found.calls) if found is not None else []


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("zoom to this region", ["zoom"]),
        ("Vergrößere diese Region", ["zoom"]),
        ("Mittelwert hier?", ["statistics"]),
        ("welcher HU-Wert ist in diesem Bereich?", ["statistics"]),
        ("setz hier einen Kasten", ["box"]),
        ("setz hier einen Pfeil", ["arrow"]),
        ("center on this region", ["center"]),
        ("diesen Bereich ausmessen", ["measure"]),
        ("zoom here, mark this as nodule and measure it", ["zoom", "box", "measure"]),
        ("Zoom here.\n\nWhat is the mean HU? How big is this?", ["zoom", "statistics", "measure"]),
    ],
)
def test_what_is_done_here_is_done_in_the_region(text: str, actions: list[str]):
    found = calls(text)
    assert [one.arguments["action"] for one in found] == actions
    assert {one.arguments["region"] for one in found} == {ENGLISH}


def test_each_of_two_regions_is_measured_and_none_of_them_zoomed_to():
    other = ENGLISH.replace("300", "310")
    found = read(f"mean HU here\n\n{ENGLISH}\n{other}")
    assert found is not None
    assert [one.arguments["region"] for one in found.calls] == [ENGLISH, other]
    found = read(f"zoom here\n\n{ENGLISH}\n{other}")
    assert found is not None
    assert not found.calls
    assert "several regions" in found.told


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("zoom to the nodule", {"to": "nodule"}),
        ("slice 12", {"slice": 12}),
        ("mark at 50,60", {"points": ((50.0, 60.0),), "shape": "point"}),
    ],
)
def test_what_is_named_is_not_the_region(text: str, arguments: dict[str, Any]):
    (call,) = calls(text)
    assert call.arguments == arguments


def test_a_command_on_this_image_is_for_the_viewport_of_the_region_but_not_to_close_it():
    (call,) = calls("invert this")
    assert call.arguments == {"command": "invert", "viewport": ENGLISH}
    assert all("viewport" not in one.arguments for one in calls("close this study"))


def test_what_else_is_asked_is_asked_of_the_image_of_the_region():
    found = read(f"zoom here. Is there a nodule here?\n\n{ENGLISH}")
    assert found is not None
    assert [one.arguments["action"] for one in found.calls] == ["zoom", "findings"]
    assert found.rest == f"is there a nodule here\n\n{ENGLISH}"
    found = read(f"what is here?\n\n{ENGLISH}")
    assert found is not None
    assert found.beside
    assert found.rest == f"what is abnormal?\n\n{ENGLISH}"


PLAIN = ["accept the nodule", "reject it", "delete this", "akzeptiere den Rundherd", "accept both"]


def test_nothing_is_decided_in_a_message_with_a_region():
    texts = [f"{text}\n\n{ENGLISH}" for text in (*PLAIN, *UNDECIDED)]
    texts += [f"{text}, zoom here\n\n{ENGLISH}" for text in PLAIN]
    texts += [f"{ENGLISH}\n{text}" for text in PLAIN]
    assert {text: found for text in texts if (found := decided(text))} == {}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("what is the HU value here?", "value"),
        ("Wie ist der HU-Wert hier?", "value"),
        ("put an arrow here", "arrow"),
        ("draw an arrow", ""),
        ("probe tool", ""),
    ],
)
def test_without_a_region_here_is_the_place_that_was_clicked(text: str, wanted: str):
    found = read(text)
    assert found is not None
    (call,) = found.calls
    assert call.arguments.get("action", "") == wanted
    assert "region" not in call.arguments


def test_the_patterns_of_values_take_no_question_about_a_patient():
    for text in ("what is the value of this test here?", "how dense is the bone", "is he here?"):
        found = read(text)
        assert found is None or not any(one.tool == "viewer_place" for one in found.calls), text
