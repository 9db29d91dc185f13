"""German in, German out, also by rules: what is said, and that figures and citations stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from app.agent.answers.evidence import NOT_LOOKED_FOR
from app.agent.answers.german import german_names, in_german, is_german
from app.agent.planning import Scene, schema_of
from app.agent.planning.plain_questions import help_text
from app.paths import resources_dir
from app.tools.diagnosis.table import presentations
from app.tools.registry import load_packs


@pytest.mark.parametrize(
    ("question", "german"),
    [
        ("Wo liegen die Lungen?", True),
        ("Was siehst du?", True),
        ("Herzgröße", True),
        ("Laborwerte", True),
        ("Zellkerne", True),
        ("Ist das Herz groß, und gibt es einen pneumothorax?", True),
        ("Zeig mir den Befund", True),
        ("Is there a nodule?", False),
        ("Describe this image", False),
        ("What does Müller's report say of the heart?", False),
        ("Pneumothorax?", False),
        ("", False),
    ],
)
def test_the_language_of_a_question(question: str, german: bool):
    assert is_german([question]) is german


def test_a_question_of_one_name_is_in_the_language_of_the_one_before():
    assert is_german(["Wo ist das Herz?", "Pneumothorax?"])
    assert not is_german(["Wo ist das Herz?", "And where is the aorta?", "Pneumothorax?"])
    assert not is_german(["Compare this with it\n\nAngehängte Datei: größe.png"])


ANSWER = """\
**Cardiothoracic ratio about 0.50**, varies by 0.07 when the image is cropped or rotated slightly: \
too close to 0.5 to decide whether the heart is enlarged [1.3]. Heart 794 px, thorax 1,589 px, \
PA film [1.1, 1.2].

**Chest segmentation**
- **Left lung:** area 609,998 px (48% of both lungs), confidence 0.97, agreement 1.00 [2.4, 2.10].
- MedGemma answers: “No area in 1,200 cm². The heart is enlarged.” [3].
- A sentence that nobody has translated [2].

**Models not installed** (Tools > Models)
- torchxrayvision DenseNet-121, 18 findings, for Chest findings

**Not looked for**
- Nodule: that needs the model torchxrayvision DenseNet-121 (Tools > Models)."""

GERMAN = """\
**Herz-Thorax-Quotient etwa 0,50**, schwankt um 0,07, wenn das Bild leicht beschnitten oder \
gedreht wird: zu nahe an 0,5, um zu entscheiden, ob das Herz vergrößert ist [1.3]. \
Herz 794 px, Thorax 1589 px, PA-Aufnahme [1.1, 1.2].

**Segmentierung des Thorax**
- **Linke Lunge:** Fläche 609998 px (48% beider Lungen), Sicherheit 0,97, Übereinstimmung 1,00 \
[2.4, 2.10].
- MedGemma antwortet: „No area in 1,200 cm². The heart is enlarged.“ [3].
- A sentence that nobody has translated [2].

**Nicht installierte Modelle** (Tools > Models)
- torchxrayvision DenseNet-121, 18 Befunde, für Befunde des Thorax

**Wonach nicht gesucht wurde**
- Rundherd: Dafür ist das Modell torchxrayvision DenseNet-121 nötig (Tools > Models)."""


def test_an_answer_of_rules_in_german():
    assert in_german(ANSWER).split("\n") == GERMAN.split("\n")


def test_figures_and_citations_are_taken_over():
    """Decimals have a comma in German, and thousands none: 1,589 px would be 1.6 px."""
    figures = re.compile(r"\d[\d.,]*\d|\d")
    english, german = (figures.findall(text) for text in (ANSWER, in_german(ANSWER)))
    digits = [[re.sub(r"[.,]", "", one) for one in each] for each in (english, german)]
    assert digits[0] == digits[1]
    assert [one for one in german if "," in one] == [
        *("0,50", "0,07", "0,5", "0,97", "1,00"),
        "1,200",  # a quotation stays
    ]
    assert [one for one in german if "." in one] == ["1.3", "1.1", "1.2", "2.4", "2.10"]


@pytest.mark.parametrize("english", ["Above", "In", "1) Above", "```\nNo result.\n```"])
def test_what_is_no_text_of_the_table_stays(english: str):
    assert in_german(english) == english


def test_every_text_of_the_tables_keeps_its_slots():
    files = sorted((resources_dir() / "words").glob("answers_german*.toml"))
    assert len(files) > 3
    for file in files:
        for name, part in tomllib.loads(file.read_text("utf-8")).items():
            for english, german in part.items() if name != "phrases" else ():
                slots = [sorted(re.findall(r"\{[=*#!]?\d\}", text)) for text in (english, german)]
                assert slots[0] == slots[1], english
                assert not english.endswith("."), f"{english}: the stop is added"


def test_what_each_tool_does_and_how_to_ask_for_it_is_told_in_german():
    """ "What can you do?" in German is the same list, with examples that are understood."""
    registry = load_packs([])
    tools = {tool.spec.name: schema_of(tool) for tool in registry.all()}
    told = in_german(help_text(Scene((), tools, plans=registry.plans))).split("\n")
    lines = [line for line in told if line.startswith("- **")]
    assert len(lines) == len(tools) > 50
    english = {"the", "of", "and", "with", "from", "that", "you", "which", "its", "where", "each"}
    for line in lines:
        assert not english & set(re.findall(r"[a-z_]+", line.casefold())), line


@pytest.mark.parametrize(
    ("english", "german"),
    [
        (
            "- Record of Ann Lee (born 1950-02-03): 2 current medications: Heart Pill, oral, "
            "active, 2020-01-02 [MedicationRequest/a1]; Edema Drops, active, no date "
            "[MedicationRequest/b]. 1 past medication [1.2].",
            "- Akte von Ann Lee (geboren 1950-02-03): 2 aktuelle Medikamente: Heart Pill, oral, "
            "aktiv, 2020-01-02 [MedicationRequest/a1]; Edema Drops, aktiv, ohne Datum "
            "[MedicationRequest/b]. 1 früheres Medikament [1.2].",
        ),
        (
            "- 121 cells (classical: dark ridges, watershed, pieces joined; diameter 23 px from "
            "the image, least area 32 px). Median area 390 px. 18 touch the image's border and "
            "are counted [1].",
            "- 121 Zellen (klassisch: dunkle Grate, Wasserscheide, Stücke verbunden; Durchmesser "
            "23 px nach dem Bild, kleinste Fläche 32 px). Mittlere Fläche (Median) 390 px. 18 "
            "berühren den Bildrand und sind mitgezählt [1].",
        ),
        (
            "- **Cell states:** 16 cells cannot be grouped into states: at least 20 are needed.",
            "- **Zellzustände:** 16 Zellen lassen sich nicht in Zustände gruppieren: mindestens 20 "
            "sind nötig.",
        ),
        (
            "**I cannot say whether this image shows a nodule:** 2-019.dcm is CT, not a chest "
            "radiograph (CR, DX).",
            "**Ich kann nicht sagen, ob dieses Bild einen Rundherd zeigt:** 2-019.dcm ist CT, "
            "keine Thoraxaufnahme (CR, DX).",
        ),
        (
            "**I cannot say whether this image shows a pleural effusion or atelectasis:** the "
            "model that scores findings is not installed.",
            "**Ich kann nicht sagen, ob dieses Bild einen Pleuraerguss oder eine Atelektase zeigt:"
            "** Das Modell, das Befunde bewertet, ist nicht installiert.",
        ),
        (
            "- **Remember note:** The user did not allow remember_note.",
            "- **Notiz merken:** Sie haben remember_note nicht erlaubt.",
        ),
        (
            "Goal not reached: medsam2_segment: nothing is marked on this image.",
            "Ziel nicht erreicht: medsam2_segment: auf diesem Bild ist nichts markiert.",
        ),
        (
            "The chest classifier needs a model that is not installed: DenseNet.",
            "Die Bewertung der Thoraxbefunde braucht ein Modell, das nicht installiert ist: "
            "DenseNet.",
        ),
        (
            "- “cardiomegaly” (the model's words: “left pleural effusion”): box on the patient's "
            "left, lower third of the film, from (10, 20) to (110, 220) px [3.1].",
            "- „eine Kardiomegalie“ (Worte des Modells: „Pleuraerguss links“): Rechteck auf der "
            "linken Seite des Patienten, unteres Drittel der Aufnahme, von (10, 20) bis "
            "(110, 220) px [3.1].",
        ),
        (  # a reason that the window's translation has, made a sentence
            "- **DICOM files:** No patient's record is open.",
            "- **DICOM-Dateien:** Keine Patientenakte ist offen.",
        ),
        (
            "- Heart failure: 44% (range 42% to 47%), before any finding 10%; Fever x2 (1.5 to 3), "
            "Cough absent x0.5 [1].",
            "- Herzinsuffizienz: 44% (Bereich 42% bis 47%), vor jedem Befund 10%; Fieber x2 (1,5 "
            "bis 3), Husten fehlt x0,5 [1].",
        ),
    ],
)
def test_what_packs_say_in_german(english: str, german: str):
    assert in_german(english) == german


def test_the_tables_of_likelihood_ratios_have_german_names():
    known = dict(_german_names_of_tables())
    missing = [
        name
        for one in presentations().values()
        for name in (one.title, one.population, *_named(one.hypotheses), *_named(one.findings))
        if name not in known
    ]
    assert missing == []


def _german_names_of_tables() -> dict[str, str]:
    file = resources_dir() / "words" / "answers_german_diseases.toml"
    return tomllib.loads(file.read_text("utf-8"))["diagnosis"]


def _named(parts: Mapping[str, Any]) -> list[str]:
    return [part.name for part in parts.values()]


def test_a_name_of_the_record_is_no_name_of_a_finding():
    """What a record says is quoted: "Edema" of an entry stays, that of a finding is German."""
    assert in_german("Latest: Edema (2020-01-01) [Condition/1].").startswith("Zuletzt: Edema ")


def test_names_of_findings_have_german_ones():
    assert german_names(["Left Lung", "Something"]) == {"Left Lung": "Linke Lunge"}


def test_the_list_of_what_was_not_looked_for_is_known_by_its_heading_in_either_language():
    english, german = NOT_LOOKED_FOR
    assert in_german(english) == german


def test_why_a_plan_has_a_step_is_in_german_for_every_tool():
    whys = {rule.why for pack in load_packs().plans.packs for rule in pack.tools if rule.why}
    same = [why for why in whys if in_german(why) == why]
    assert not same


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Rejected: Left pleural effusion [1].", "Abgelehnt: Pleuraerguss links [1]."),
        ("Accepted: Right Nodule, Left lung.", "Angenommen: Rundherd rechts, Linke Lunge."),
        ("Accepted: Nodule (viewport 1).", "Angenommen: Rundherd (Ansicht 1)."),
        ("Hidden already: Heart.", "Schon ausgeblendet: Herz."),
        ("Undone: “Add findings” [2].", "Rückgängig gemacht: „Befunde hinzufügen“ [2]."),
        ("Undone: “Accept nodule”.", "Rückgängig gemacht: „Rundherd annehmen“."),
        ("Done again: “Reject 3 findings”.", "Wiederholt: „3 Befunde ablehnen“."),
        ("Nothing changed in the view.", "An der Ansicht hat sich nichts geändert."),
        ("Viewport 2: now a key image.", "Ansicht 2: jetzt ein Schlüsselbild."),
    ],
)
def test_what_the_viewer_did_is_german_throughout(english: str, german: str):
    assert in_german(english) == german
