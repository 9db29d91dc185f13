"""German in, German out, also by rules: what is said, and that figures and citations stay."""

from __future__ import annotations

import re
import tomllib

import pytest

from app.agent.answers.german import german_names, in_german, is_german
from app.paths import resources_dir


@pytest.mark.parametrize(
    ("question", "german"),
    [
        ("Wo liegen die Lungen?", True),
        ("Was siehst du?", True),
        ("Herzgröße", True),
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
**Herz-Thorax-Quotient etwa 0.50**, schwankt um 0.07, wenn das Bild leicht beschnitten oder \
gedreht wird: zu nahe an 0.5, um zu entscheiden, ob das Herz vergrößert ist [1.3]. \
Herz 794 px, Thorax 1589 px, PA-Aufnahme [1.1, 1.2].

**Segmentierung des Thorax**
- **Linke Lunge:** Fläche 609998 px (48% beider Lungen), Sicherheit 0.97, Übereinstimmung 1.00 \
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
    """But for the comma of thousands, which would be a decimal one: 1,589 px is no 1.6 px."""
    figures = re.compile(r"\d[\d.,]*\d|\d")
    english, german = (figures.findall(text) for text in (ANSWER, in_german(ANSWER)))
    assert [one.replace(",", "") for one in german] == [one.replace(",", "") for one in english]
    assert [one for one in german if "," in one] == ["1,200"], "a quotation stays"


@pytest.mark.parametrize("english", ["Above", "In", "1) Above 0.5", "```\nNo result.\n```"])
def test_what_is_no_text_of_the_table_stays(english: str):
    assert in_german(english) == english


def test_every_text_of_the_table_keeps_its_slots():
    read = tomllib.loads((resources_dir() / "words" / "answers_german.toml").read_text("utf-8"))
    for part in (part for name, part in read.items() if name not in ("words", "names")):
        for english, german in part.items():
            slots = [sorted(re.findall(r"\{\d\}", text)) for text in (english, german)]
            assert slots[0] == slots[1], english
            assert not english.endswith("."), f"{english}: the stop is added"


def test_names_of_findings_have_german_ones():
    assert german_names(["Left Lung", "Something"]) == {"Left Lung": "Linke Lunge"}
