"""How the viewer's commands are read: what "it" means, reasons, and what is not to be done."""

from __future__ import annotations

import pytest

from app.agent.messages import for_people
from app.tools.pack_plan import SpokenCall
from app.tools.viewer.reading import read


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("I agree with the effusion, accept it", "effusion"),
        ("Der rechte Herd ist die Mamille, verwirf ihn", "rechte herd"),
        ("the effusion is not real, reject it", "effusion"),
        ("reject the nodule because it's a nipple", "nodule"),
        ("that is no effusion, reject it", "effusion"),
        ("that nodule's just a vessel, reject it", "nodule"),
        ("both lungs and the heart are fine, accept them", "both lungs and the heart"),
        ("accept everything except the nodule", "all except nodule"),
        ("alle Befunde akzeptieren außer dem Rundherd", "all except rundherd"),
        ("delete everything but the heart", "all except heart"),
        ("I agree with everything apart from the nodule, accept those", "all except nodule"),
        ("accept all five", "all 5"),
        ("no effusion there, that's just breast shadow, so reject it", "effusion"),
        ("accept the heart and both lungs, they're fine", "heart and both lungs"),
        ("Akzeptiere Erguss, Rundherd und Atelektase", "erguss and rundherd and atelektase"),
    ],
)
def test_it_is_the_finding_that_was_named_before(text: str, which: str):
    spoken = read(text)
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments["which"] == which


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("reject the rest", [("reject", "undecided")]),
        ("reject everything else", [("reject", "undecided")]),
        ("Rest verwerfen", [("reject", "undecided")]),
        ("accept the nodule and hide the rest", [("accept", "nodule"), ("only", "nodule")]),
        (
            "nimm den Rundherd an und blende den Rest aus",
            [("accept", "rundherd"), ("only", "rundherd")],
        ),
        ("lehne den Rest ab", [("reject", "undecided")]),
        (
            "accept the nodule and reject the others",
            [("accept", "nodule"), ("reject", "undecided except nodule")],
        ),
        (
            "nimm den Rundherd an, den Rest ablehnen",
            [("accept", "rundherd"), ("reject", "undecided except rundherd")],
        ),
        (
            "accept the heart and both lungs and reject the rest",
            [
                ("accept", "heart and both lungs"),
                ("reject", "undecided except heart and both lungs"),
            ],
        ),
    ],
)
def test_the_rest_is_what_is_undecided_and_was_not_named(text: str, decided: list[tuple[str, str]]):
    spoken = read(text)
    assert spoken is not None
    said = [(call.arguments["action"], call.arguments["which"]) for call in spoken.calls]
    assert said == decided


def test_the_same_said_twice_is_done_once():
    spoken = read("this is too dark, brighten it up a bit")
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments == {"change": "brighter"}
    assert spoken.rest == ""
    twice = read("brighter, brighter")
    assert twice is not None
    assert len(twice.calls) == 2


@pytest.mark.parametrize(
    "text",
    [
        "don't invert it",
        "bitte nicht zoomen",
        "Do not show the prior",
        "lösche den Herd nicht",
        # Whether, which and when a finding is to be accepted or rejected must be plain.
        "don't reject the effusion, accept it",
        "accept all findings, but not the nodule",
        "accept the left effusion and reject the right one",
        "reject the nodule unless it is growing",
        "falls der Rundherd verkalkt ist, lehne ihn ab",
        "if the nodule is calcified, reject it",
        "accept the nodule when I say so",
        "maybe reject the nodule",
        'he said "reject the nodule"',
        "before you reject the nodule, show it",
        "accept neither the nodule nor the mass",
        "there is a mass and a nodule. reject it.",
        "accept the nodule. no wait, reject it",
        "the nodule is a nipple shadow",
        "der Erguss ist echt",
        "that's no effusion, accept it",
        "accept or reject the nodule",
        "this looks like a mass, reject it",
        # One of two commands is none.
        "slice 14 or 15",
        "lung window or bone window?",
        "hide the nodule or the effusion",
    ],
)
def test_what_is_not_to_be_done_is_no_call(text: str):
    spoken = read(text)
    assert spoken is not None
    assert spoken.calls == ()


@pytest.mark.parametrize(
    "text",
    [
        "is it not inverted?",
        "why not zoom?",
        "not enlarged",
        "no effusion",
        "take me seriously",
        "what did the old film show on the right?",
        "old left rib fracture",
        "neue rechte Raumforderung",
        "zur Anamnese",
        "is there an old fracture? show it",
        "is the lung too dark?",
        "slice seven shows a nodule",
        "show both lungs",
        "the nodule is benign. remove it?",
        "should I accept the effusion?",
        "let the film speak",
        "lass die Lunge laufen",
    ],
)
def test_other_sentences_are_not_read(text: str):
    """Or only where nothing else is understood."""
    spoken = read(text)
    assert spoken is None or not spoken.sure or not spoken.calls


def test_what_is_meant_for_a_model_is_not_told_to_people():
    told = "Not allowed. Do not call it again like this. Go on without it, or say why."
    assert for_people(told) == "Not allowed."
    assert for_people("Go on without it.") == ""


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("fünf Schichten nach kranial", {"by": 5, "towards": "head"}),
        ("3 slices caudal", {"by": 3, "towards": "feet"}),
        ("10 images towards the feet", {"by": 10, "towards": "feet"}),
        ("show only the nodule", {"action": "only", "which": "nodule"}),
        ("hide everything except the heart", {"action": "only", "which": "heart"}),
        ("hide all findings but the nodule", {"action": "only", "which": "nodule"}),
        ("close all studies", {"command": "close all studies"}),
        ("2,5 cm nach oben", {"mm": 25.0, "towards": "head"}),
        ("go down another 15 mm", {"mm": 15.0, "towards": "feet"}),
        ("go to -85 mm", {"z": -85.0}),
        ("width 1200, level minus 500", {"width": 1200.0, "center": -500.0}),
        ("I'd like a window from -100 to 300", {"width": 400.0, "center": 100.0}),
        ("drop a point at row 300 column 120", {"shape": "point", "points": ((120.0, 300.0),)}),
        ("not a key image", {"command": "not a key image"}),
        ("kein Schlüsselbild mehr", {"command": "not a key image"}),
        ("I'm done with the prior, close it", {"layout": "current"}),
        ("go to frame 42 but don't start it", {"slice": 42}),
        ("reset the view", {"command": "reset view"}),
    ],
)
def test_which_way_what_alone_and_all(text: str, arguments: dict[str, object]):
    spoken = read(text)
    assert spoken is not None
    (call,) = spoken.calls
    assert call.arguments == arguments


@pytest.mark.parametrize("text", ["rotate 45 degrees", "raise the level by 50", "half a cm down"])
def test_what_the_viewer_cannot_do_is_not_done_otherwise(text: str):
    spoken = read(text)
    assert spoken is None or not spoken.calls


def test_all_but_one_are_shown():
    spoken = read("show everything except the nodule")
    assert spoken is not None
    assert [(call.arguments["action"], call.arguments["which"]) for call in spoken.calls] == [
        ("show", "all"),
        ("hide", "nodule"),
    ]


def calls(text: str) -> tuple[SpokenCall, ...]:
    spoken = read(text)
    assert spoken is not None
    return spoken.calls


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("show me slice twenty-five", 25),
        ("go to image thirty three", 33),
        ("zeig Schicht fünfundzwanzig", 25),
        ("zeige Bild zweiundzwanzig", 22),
    ],
)
def test_places_are_read_in_words(text: str, number: int):
    (call,) = calls(text)
    assert call.arguments == {"slice": number}


@pytest.mark.parametrize(
    ("text", "which"),
    [
        ("zoom to the right lung and hide the rest", "right lung"),
        ("zeig das Herz, blende alles andere aus", "herz"),
        ("hide the rest", "selected"),
    ],
)
def test_the_rest_is_what_was_not_named(text: str, which: str):
    assert calls(text)[-1].arguments == {"action": "only", "which": which}


def test_it_is_what_the_command_before_named():
    spoken = read("accept the effusion and then hide it")
    assert spoken is not None
    assert [one.arguments["which"] for one in spoken.calls] == ["effusion", "effusion"]


def test_two_planes_at_once_lie_beside_each_other():
    spoken = read("show coronal and sagittal side by side")
    assert spoken is not None
    assert [one.arguments for one in spoken.calls] == [
        {"layout": "1x2"},
        {"command": "plane coronal", "viewport": "1"},
        {"what": "this", "viewport": "2"},
        {"command": "plane sagittal", "viewport": "2"},
    ]
    in_turn = read("coronal, then sagittal")
    assert in_turn is not None
    assert [one.arguments["command"] for one in in_turn.calls] == [
        "plane coronal",
        "plane sagittal",
    ]


def test_what_dictation_parts_is_joined():
    spoken = read("in vert the image")
    assert spoken is not None
    assert [one.arguments for one in spoken.calls] == [{"command": "invert"}]
    name = read("geh mal zum Rund Herd")
    assert name is not None
    assert [one.arguments for one in name.calls] == [{"finding": "rundherd"}]


def read_as(text: str) -> list[tuple[str, str]]:
    """What each command of a text does, and in which viewport."""
    made: list[tuple[str, str]] = []
    for call in calls(text):
        said = {key: value for key, value in call.arguments.items() if key != "viewport"}
        does = " ".join(str(value) for _, value in sorted(said.items()))
        made.append((does, str(call.arguments.get("viewport", ""))))
    return made


@pytest.mark.parametrize(
    ("text", "done"),
    [
        (
            "invert the right one, zoom to 150 % there and flip the left",
            [("invert", "right"), ("150.0", "right"), ("flip left-right", "left")],
        ),
        (
            "flip the left and zoom the right to 150 %",
            [("flip left-right", "left"), ("1.5", "right")],
        ),
        (
            "spiegle links und zoome rechts auf 150 %",
            [("flip left-right", "left"), ("150.0", "right")],
        ),
        (
            "rechts invertieren, links spiegeln, beide auf 200 %",
            [("invert", "right"), ("flip left-right", "left"), ("200.0", "all")],
        ),
    ],
)
def test_a_percent_sign_may_stand_behind_a_space(text: str, done: list[tuple[str, str]]):
    assert read_as(text) == done


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("invert the other one", [("invert", "other")]),
        ("rotate the other one", [("rotate right", "other")]),
        ("flip the other", [("flip left-right", "other")]),
        ("zoom in on the other one", [("zoom in", "other")]),
        ("make the other one brighter", [("brighter", "other")]),
        ("das andere Bild invertieren", [("invert", "other")]),
        ("das andere invertieren", [("invert", "other")]),
        ("den anderen spiegeln", [("flip left-right", "other")]),
        (
            "invert the left one and flip the other one",
            [("invert", "left"), ("flip left-right", "right")],
        ),
        (
            "make the prior brighter and the other one darker",
            [("brighter", "prior"), ("darker", "current")],
        ),
        # Once it was inverted it is the active one.
        ("invert the other one and flip it", [("invert", "other"), ("flip left-right", "active")]),
        ("make the other one brighter and fit", [("brighter", "other"), ("fit", "other")]),
        ("hide the nodule on the other one", [("hide nodule", "other")]),
    ],
)
def test_the_other_one_is_not_the_active_one(text: str, done: list[tuple[str, str]]):
    assert read_as(text) == done


@pytest.mark.parametrize("text", ["invert the other two", "alle anderen invertieren"])
def test_what_is_not_done_to_the_active_one_instead_is_asked_back(text: str):
    spoken = read(text)
    assert spoken is not None
    assert spoken.calls == ()
    assert spoken.told == "Nothing was changed: say which of the two is meant."


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("das rechte spiegeln", [("flip left-right", "right")]),
        ("mach die rechte größer", [("zoom in", "right")]),
        ("links heller", [("brighter", "left")]),
        (
            "rechts invertieren, links spiegeln",
            [("invert", "right"), ("flip left-right", "left")],
        ),
        (
            "links Lungenfenster, rechts Knochenfenster",
            [("lungen", "left"), ("knochen", "right")],
        ),
        ("nach rechts drehen", [("rotate right", "")]),
        ("zoom auf den Erguss links", [("erguss links", "")]),
    ],
)
def test_german_words_for_sides_name_viewports(text: str, done: list[tuple[str, str]]):
    assert read_as(text) == done


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("window 1500 -600 right and 400 40 left", [(-600, 1500, "right"), (40, 400, "left")]),
        (
            "window 3000/2000 on the right and 4000/1500 on the left",
            [(2000, 3000, "right"), (1500, 4000, "left")],
        ),
        (
            "window -600 1500 on the right, 40 400 on the left",
            [(-600, 1500, "right"), (40, 400, "left")],
        ),
        ("Fenster 400 40 links und 1500 -600 rechts", [(40, 400, "left"), (-600, 1500, "right")]),
        ("W 400 L 40 links, W 1500 L -600 rechts", [(40, 400, "left"), (-600, 1500, "right")]),
    ],
)
def test_two_windows_are_those_of_their_viewports(text: str, windows: list[tuple[int, int, str]]):
    said = [one.arguments for one in calls(text)]
    assert [(one["center"], one["width"], one["viewport"]) for one in said] == windows


@pytest.mark.parametrize(
    "text",
    [
        "window 400 40 left and the right one 1500 -600",
        "lung window right, 400 40 left",
        "zoom left to 150 % and right to 200 %",
        "invert left and flip right",
    ],
)
def test_what_is_read_of_one_of_two_viewports_only_is_not_done(text: str):
    spoken = read(text)
    assert spoken is not None
    assert spoken.calls == ()
    assert spoken.told == "Nothing was changed: say it for one viewport after the other."


@pytest.mark.parametrize(
    ("text", "viewport"),
    [
        ("go to the left one", "left"),
        ("geh zum linken", "left"),
        ("activate viewport 2", "2"),
        ("go to viewport 2", "2"),
        ("click the right one", "right"),
        ("go to the other one", "other"),
        ("geh zur rechten Seite", "right"),
        ("select viewport 2", "2"),
    ],
)
def test_to_go_to_a_viewport_selects_no_finding(text: str, viewport: str):
    assert read_as(text) == [("active", viewport)]


@pytest.mark.parametrize(
    ("text", "done"),
    [
        (
            "put the current in viewport 3 and zoom to 200 % there",
            [("current", "3"), ("200.0", "3")],
        ),
        ("put the current in viewport 3 and invert it there", [("current", "3"), ("invert", "3")]),
        ("put the prior in viewport 3 and invert it", [("prior", "3"), ("invert", "3")]),
        (
            "leg die Voraufnahme in Ansicht 3 und invertiere sie",
            [("prior", "3"), ("invert", "3")],
        ),
    ],
)
def test_there_is_where_something_was_put(text: str, done: list[tuple[str, str]]):
    assert read_as(text) == done


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("show the 2022 film alone", ("maximised", "2022")),
        ("only the 2022 one", ("maximised", "2022")),
        ("show only the prior", ("maximised", "prior")),
        ("just the prior please, full screen", ("maximised", "prior")),
        ("nur die Voraufnahme zeigen", ("maximised", "prior")),
        ("die alte alleine", ("maximised", "prior")),
        ("only the right one", ("maximised", "right")),
        ("zeig nur 2022", ("maximised", "2022")),
        ("show just the current", ("current", "")),
    ],
)
def test_an_image_alone_swaps_nothing(text: str, done: tuple[str, str]):
    assert read_as(text) == [done]


@pytest.mark.parametrize(
    "text", ["now the other one", "and on the other one", "and the left", "the same for the prior"]
)
def test_a_follow_up_that_only_names_an_image_is_no_command(text: str):
    spoken = read(text)
    assert spoken is None or (spoken.calls == () and spoken.told)


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("abdomen window for the lung series", ("abdomen", "series lung")),
        ("lung window for series 3", ("lung", "series 3")),
        ("go to image 80 of series 3", ("80", "series 3")),
    ],
)
def test_a_series_is_meant_where_it_is_shown(text: str, done: tuple[str, str]):
    assert read_as(text) == [done]


def test_more_for_one_of_two_is_done_after_both():
    assert read_as("make both brighter, and the right one a bit more") == [
        ("brighter", "all"),
        ("brighter", "right"),
    ]
