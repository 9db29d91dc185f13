from __future__ import annotations

import pytest

from app.agent.planning import Intent, spelling
from app.agent.planning.question_text import masked, normalised
from app.agent.planning.vocabulary import tokens_of
from app.tools.pack_plan import (
    AnyOf,
    PackPlan,
    Plans,
    Priority,
    QuestionKind,
    Successor,
    ToolRule,
    ValueWords,
)
from app.tools.registry import load_packs
from tests.support.intents import intent_of

SEED, LEAF = AnyOf(("seed_counter", "leaf_counter")), AnyOf(("leaf_counter", "seed_counter"))
GARDEN = PackPlan(
    "garden",
    kinds=(
        QuestionKind(
            "counting",
            ("count", "how many", "number of", "zaehl*", "wie viele"),
            tools=(SEED,),
            certain=True,
        ),
        QuestionKind(
            "comparison",
            ("compar*", "difference*", "vergleich*"),
            beats=("counting",),
            tools=(SEED, "growth_meter"),
        ),
        QuestionKind("planting", ("plant", "pflanz*"), tools=("robot",), unless=("power plant",)),
        QuestionKind("weeds", ("weed*",)),
        QuestionKind("place", ("where", "wo")),
        QuestionKind("weeds_place", with_kinds=("weeds", "place"), tools=("weed_finder",)),
        QuestionKind("big leaf", ("leaf .. big", "big leaf"), tools=("growth_meter",)),
        QuestionKind("drawing", ("draw*",), tools=("plain_drawer",)),
    ),
    tools=(
        ToolRule(
            "seed_counter",
            words=("seed*", "samen*"),
            leave_out=("count*", "zaehl*"),
            empty=("count",),
        ),
        ToolRule("leaf_counter", words=("leaf", "leaves", "blatt", "blaett*", "leaf seed*")),
        ToolRule(
            "growth_meter",
            leave_out=("measur*", "growth", "*messung", "*messen"),
            values=(ValueWords("part", "stem", ("stem", "stems", "stengel")),),
        ),
        ToolRule("plain_drawer", priority=Priority.LOW),
        ToolRule("fine_drawer", priority=Priority.HIGH),
        ToolRule("burner", priority=Priority.EXCLUDED),
    ),
    alternatives=(AnyOf(("plain_drawer", "fine_drawer", "burner")),),
    successors=(Successor(("growth_meter",), "plain_drawer", reason="to be seen"),),
)
PLANS = Plans((GARDEN,))
TOOLS = ("seed_counter", "leaf_counter", "growth_meter", "weed_finder", "plain_drawer")
TOOLS = (*TOOLS, "fine_drawer", "burner")


def asked(question: str, tools: tuple[str, ...] = TOOLS) -> Intent:
    return intent_of(question, PLANS, tools)


def wanted(question: str) -> tuple[str, ...]:
    return asked(question).wanted


@pytest.mark.parametrize(
    "question",
    [
        "What is in my account?",
        "The countess left.",
        "discount",
        "recount_everything",
        "/home/count/seeds.png",
        "mail count@example.org",
        "",
        "\x00\u202e?!",
    ],
)
def test_words_count_only_as_words(question: str):
    assert asked(question).kinds == ()
    assert wanted(question) == ()


@pytest.mark.parametrize(
    "question",
    [
        "count the seeds",
        "COUNT THE SEEDS!",
        "How many seeds are there?",
        "number of all these seeds",
        "Zähle die Samen",
        "Zaehle die Samen",
        "Zahle die Samen",
        "Zähle die Sämen",
        "# of seeds",
    ],
)
def test_a_kind_is_recognised_by_words_stems_and_phrases_in_any_spelling_of_umlauts(question: str):
    assert asked(question).kinds == ("counting",)
    assert wanted(question) == ("seed_counter",)


@pytest.mark.parametrize(
    ("question", "said", "read"),
    [
        ("coutn the seeds", "coutn", "count"),
        ("how many seads", "seads", "seeds"),
        ("hwo many seeds", "hwo", "how"),
        ("numbre of seeds", "numbre", "number"),
        ("vergliech der Samen", "vergliech", "vergleich"),
        ("the diference of the seeds", "diference", "difference"),
    ],
)
def test_a_misspelt_word_is_read_and_told(question: str, said: str, read: str):
    found = dict(asked(question).corrections)
    assert found.get(said, "") == read


@pytest.mark.parametrize(
    "question",
    [
        "I can hear you",
        "a long time",
        "a massage please",
        "an account",
        "the court",
        "eine lange Zeit",
    ],
)
def test_an_english_or_common_german_word_is_never_corrected(question: str):
    plans = load_packs([]).plans
    found = intent_of(question, plans, ["chest_xray_segmentation", "chest_xray_classifier"])
    assert found.corrections == ()
    assert found.wanted == ()


def test_without_the_list_of_words_nothing_is_corrected(monkeypatch: pytest.MonkeyPatch):
    speller = spelling.Speller([("count", False, False)])
    monkeypatch.setattr(spelling, "english", frozenset[str])
    assert speller.nearest("coutn") == ""


@pytest.mark.parametrize(
    ("word", "read"),
    [
        ("pneumotorax", "pneumothorax"),
        ("pleuraergus", "pleuraerguss"),
        ("segemntation", "segmentation"),
        ("lnug", "lung"),
        ("hwo", "how"),
        ("who", ""),
        ("bag", ""),
        ("xq", ""),
        ("l3ng", ""),
        ("massage", ""),
    ],
)
def test_stems_parts_of_compounds_and_short_words(word: str, read: str):
    literals = [
        *(("pneumothora", False, True), ("erguss", True, False), ("segment", False, True)),
        *(("lung", False, False), ("how", False, False), ("mass", False, True)),
    ]
    assert spelling.Speller(literals).nearest(word) == read


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("Find where the weeds are, then count the seeds", ("weed_finder", "seed_counter")),
        ("Before counting how many seeds there are, compare", ("seed_counter", "growth_meter")),
        ("Count the seeds after you drew the bed, draw", ("seed_counter", "fine_drawer")),
        ("Draw after you count the seeds", ("seed_counter", "fine_drawer")),
        ("Before you draw, count the seeds", ("seed_counter", "fine_drawer")),
    ],
)
def test_tools_stand_in_the_order_in_which_they_are_asked_for(
    question: str, tools: tuple[str, ...]
):
    assert wanted(question) == tools


def test_a_misspelt_word_on_which_nothing_rests_is_not_told():
    assert asked("my pwoer, how many seeds?").corrections == ()
    assert asked("how mnay sedes?").corrections != ()


def test_comparison_wins_over_counting():
    found = asked("Count the seeds and compare both groups")
    assert found.kinds == ("comparison",)
    assert found.wanted == ("seed_counter", "growth_meter")


def test_kinds_that_must_be_there_together():
    assert wanted("Where are the weeds?") == ("weed_finder",)
    assert wanted("Weeds!") == ()
    assert wanted("Where?") == ()
    assert asked("Where are the weeds?").kinds[0] in ("weeds", "place", "weeds_place")


def test_a_longer_phrase_takes_its_words():
    assert asked("Is the leaf too big?").kinds == ("big leaf",)
    assert asked("Is that leaf, by the way, big?").kinds == ()


def test_a_kind_that_is_not_meant_beside_other_words():
    assert asked("Plant it", (*TOOLS, "robot")).wanted == ("robot",)
    assert asked("Plant it near the power plant", (*TOOLS, "robot")).wanted == ()


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("Count it", ("seed_counter",)),
        ("Count the leaves", ("leaf_counter",)),
        ("Count the seeds of the leaves", ("seed_counter",)),
        ("Count the leaf seeds", ("leaf_counter",)),
        ("Count seeds and leaves", ("seed_counter", "leaf_counter")),
        ("How many leaves, and how many seeds?", ("leaf_counter", "seed_counter")),
        ("Zähle die Blätter", ("leaf_counter",)),
    ],
)
def test_the_alternative_is_the_one_whose_words_the_question_has(
    question: str, tools: tuple[str, ...]
):
    assert wanted(question) == tools


def test_a_better_alternative_is_taken_unless_the_other_is_named_or_alone():
    assert wanted("draw it") == ("fine_drawer",)
    assert wanted("draw it with plain_drawer") == ("plain_drawer",)
    assert asked("draw it", ("plain_drawer",)).wanted == ("plain_drawer",)
    assert asked("draw it", ("burner",)).wanted == ()
    assert asked("draw it", ("seed_counter",)).absent == ("plain_drawer",)


@pytest.mark.parametrize(
    ("question", "out", "tools"),
    [
        ("Compare them, don't measure growth", {"growth_meter"}, ("seed_counter",)),
        ("Compare them without growth", {"growth_meter"}, ("seed_counter",)),
        ("Compare the seeds but no measurement", {"growth_meter"}, ("seed_counter",)),
        ("Compare the seeds, no need for a measurement", {"growth_meter"}, ("seed_counter",)),
        ("Compare them. Measuring is not needed.", {"growth_meter"}, ("seed_counter",)),
        ("Vergleiche sie ohne Wachstumsmessung", {"growth_meter"}, ("seed_counter",)),
        ("Vergleiche sie, aber nicht vermessen", {"growth_meter"}, ("seed_counter",)),
        ("Vergleiche sie, Wachstumsmessung brauche ich nicht", {"growth_meter"}, ("seed_counter",)),
        ("No comparison, only count the seeds", set(), ("seed_counter",)),
        ("I don't want a comparison, just the number of leaves", set(), ("leaf_counter",)),
        ("Keinen Vergleich, nur zählen", set(), ("seed_counter",)),
        ("Don't you see how many seeds there are?", set(), ("seed_counter",)),
        ("I don't know how many seeds there are", set(), ("seed_counter",)),
        ("Not only count the seeds", set(), ("seed_counter",)),
        ("Are there no weeds, and where?", set(), ("weed_finder",)),
        ("Leave the seeds out, count the leaves", set(), ("leaf_counter",)),
        ("compar them, dont mesure groth", {"growth_meter"}, ("seed_counter",)),
        ("compar them, dont measure", {"growth_meter"}, ("seed_counter",)),
        ("Skip everything except the count", set(), ("seed_counter",)),
        ("Compare but do not measure the leaves", {"growth_meter"}, ("leaf_counter",)),
        ("Compare without growth_meter", {"growth_meter"}, ("seed_counter",)),
    ],
)
def test_what_a_question_leaves_out(question: str, out: set[str], tools: tuple[str, ...]):
    found = asked(question)
    assert set(found.left_out) == out
    assert found.wanted == tools


def test_the_words_that_leave_a_tool_out_are_told():
    assert asked("Compare them, don't measure growth").left_out == {"growth_meter": "don't measure"}


@pytest.mark.parametrize(
    "question",
    [
        'The note says "count the seeds"',
        "What does “count the seeds” mean?",
        "The count reads 'compare the leaves'",
        "What is a weed, and where?",
        "How do you treat weeds, where they grow?",
        "Email me the number of seeds",
    ],
)
def test_what_is_quoted_asked_of_a_textbook_or_an_errand_runs_nothing(question: str):
    assert wanted(question) == ()


@pytest.mark.parametrize(
    ("question", "certain"),
    [
        ("Count the seeds", True),
        ("How many leaves are there in this image, please?", True),
        ("Wie viele Samen sind das?", True),
        ("Count the seeds that the rain washed away", False),
        ("Count the seeds and draw them", False),
        ("Compare the seeds", False),
        ("Count the seeds, and does that matter?", False),
    ],
)
def test_only_what_is_understood_whole_is_certain(question: str, certain: bool):
    assert asked(question).certain is certain


def test_named_tools_and_what_the_kinds_say():
    found = asked("Run growth_meter, then count the seeds")
    assert found.named == {"growth_meter"}
    assert found.expects_data
    assert found.needs_image
    assert not asked("hello").needs_image


def test_another_packs_words_are_not_borrowed():
    other = PackPlan(
        "stars",
        kinds=(QuestionKind("counting", ("count",), tools=("star_counter",)),),
        tools=(ToolRule("star_counter", words=("star*",)),),
    )
    both, tools = Plans((GARDEN, other)), (*TOOLS, "star_counter")
    assert intent_of("count the stars", both, tools).wanted == ("star_counter",)
    assert intent_of("count the seeds", both, tools).wanted == ("seed_counter",)


def test_tokens_know_their_place_in_the_question():
    text = masked(normalised('Größe, 3 cells? "count"'))
    tokens = tokens_of(text)
    assert [token.text for token in tokens] == ["groesse", "3", "cells"]
    assert [text[token.start : token.end] for token in tokens] == ["Größe", "3", "cells"]
    assert tokens[0].clause != tokens[2].clause
    assert all(token.in_question for token in tokens)


def test_a_kind_whose_tools_are_all_left_out_takes_no_other_kinds_place():
    plans = load_packs([]).plans
    tools = tuple(rule.tool for rule in plans.rules())
    heart = intent_of("Analyse the heart and show it, but do not classify", plans, tools)
    assert heart.wanted == ("chest_xray_segmentation", "image_visualizer")
    assert intent_of("Analyse the heart", plans, tools).wanted == ("chest_xray_classifier",)


def test_what_eyes_suffice_for_is_not_wanted_of_a_model_that_sees():
    plans = load_packs([]).plans
    tools = tuple(rule.tool for rule in plans.rules())
    assert intent_of("What do you see?", plans, tools).with_eyes().wanted == ()
    both = intent_of("What do you see? Measure the cardiothoracic ratio.", plans, tools)
    assert both.with_eyes().wanted == ("cardiothoracic_ratio",)
    every = intent_of("Run a complete analysis of the film.", plans, tools)
    assert every.with_eyes().wanted == every.wanted != ()


def on_chest(question: str) -> Intent:
    registry = load_packs([])
    return intent_of(question, registry.plans, [tool.spec.name for tool in registry.all()])


@pytest.mark.parametrize(
    "question",
    [
        "How did you compute the ratio?",
        "Why is the heart enlarged?",
        "Why did you say pneumonia?",
        "Warum ist das Herz so groß?",
        "Can I give him amoxicillin for the pneumonia?",
        "How much furosemide for cardiomegaly?",
        "Kann ich ihm etwas geben bei der Pneumonie?",
        "Did yesterday's patient have pneumonia?",
        "Does the patient in room 4 have an effusion?",
        "Hat der Patient von gestern auch einen Erguss?",
        "Call the radiologist about the pneumothorax",
        "Rufe den Radiologen an wegen des Pneumothorax",
        "danke für die Segmentierung",
    ],
)
def test_what_was_said_what_to_give_and_whom_else_to_ask_is_for_no_tool(question: str):
    found = on_chest(question)
    assert (found.wanted, found.certain) == ((), False)


@pytest.mark.parametrize(
    "question",
    [
        "Patient on furosemide. Is there still congestion?",
        "Is the pneumonia better after amoxicillin?",
        "Called the ward already. Is there a pneumothorax?",
        "Patient from the emergency room, rib fracture?",
        "Wie viel Erguss ist bei dem Patienten zu sehen?",
        "How much pleural effusion is there for this patient?",
        "Use the classifier and no other tools: effusion?",
    ],
)
def test_what_is_told_beside_a_question_does_not_hide_it(question: str):
    assert on_chest(question).wanted == ("chest_xray_classifier",)


@pytest.mark.parametrize(
    "question",
    [
        "Without any tools: is the heart big?",
        "No tools please. Is there an effusion?",
        "Answer without running tools: any pneumothorax?",
        "Don't run anything, is there an effusion?",
        "Bitte ohne Werkzeuge: Ist das Herz groß?",
    ],
)
def test_who_wants_no_tools_gets_none(question: str):
    found = on_chest(question)
    assert found.wanted == ()
    assert {"chest_xray_classifier", "cardiothoracic_ratio"} <= set(found.left_out)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Known cardiomegaly. Outline the lungs.", "chest_xray_segmentation"),
        ("History of tuberculosis, outline the lungs", "chest_xray_segmentation"),
        ("Bekannte Kardiomegalie, bitte Lunge segmentieren", "chest_xray_segmentation"),
        ("Z.n. Pneumonie. Bitte Herz vermessen", "cardiothoracic_ratio"),
        ("Known effusion. AP chest.", "chest_xray_classifier"),
        ("Known pneumothorax, is it still there?", "chest_xray_classifier"),
    ],
)
def test_what_is_known_already_is_asked_for_only_where_nothing_else_is(question: str, wanted: str):
    assert on_chest(question).wanted == (wanted,)
