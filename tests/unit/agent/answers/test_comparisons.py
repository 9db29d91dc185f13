"""Sentences on the demo film's real results: what is given to the wrong organ, side or measure.

Result 1 is the cardiothoracic ratio, which calls itself unreliable: heart 794 px [1.1], thorax
1589 px [1.2], ratio 0.5 [1.3]. Result 2 outlines lungs and heart; the right lung is the larger and
the wider one, the left one is taller.
"""

from __future__ import annotations

import pytest

from app.agent.answers.comparisons import compared_wrongly
from tests.unit.agent.answers.test_blind_answers import checked

WRONG = {
    "wrong organ": (
        "The heart is 1,589 px wide [1.2].",
        "The heart measures 1,589 px [1.2].",
        "The heart width is 1589 px [1.2].",
        "The thorax is 794 px wide [1.1].",
        "794 px is the width of the thorax [1.1].",
        "At 794 px, the thorax is narrow [1.1].",
        "The heart is 1,589 px wide [1].",
        "The heart is 1,589 px wide.",
        "Das Herz ist 1589 px breit [1.2].",
        "Das Herz misst 1.589 px [1.2].",
        "The cardiac silhouette spans 1,589 px [1.2].",
        "The chest is 794 px wide [1.1].",
        "Der Brustkorb ist 794 px breit [1.1].",
        "The heart has a width of 1589 px and the thorax of 794 px [1].",
        "Der Thorax ist 794 px breit [1.1].",
    ),
    "judged by an unreliable result": (
        "The heart is enlarged, 794 px wide [1.1].",
        "The heart is 794 px wide [1.1] and enlarged.",
        "The heart, at 794 px [1.1], is enlarged.",
        "The heart (794 px [1.1]) is enlarged.",
        "With 794 px the heart is enlarged [1.4].",
        "The heart is of normal size, 794 px [1.1].",
        "The heart is not enlarged: 794 px [1.1].",
        "Cardiomegaly with a ratio of 0.5 [1.3].",
        "Das Herz ist vergrößert, 794 px breit [1.1].",
        "Das Herz ist mit 794 px vergrößert [1.1].",
    ),
    "compared the wrong way": (
        "The left lung is larger than the right [2].",
        "The left lung is larger than the right lung [2.4, 2.11].",
        "The left lung is larger than the right lung [2.4, 2.13].",
        "The left lung is larger than the right.",
        "The right lung is smaller than the left [2].",
        "The left lung is the larger one [2].",
        "The left lung is wider than the right [2].",
        "The right lung is taller than the left [2].",
        "The heart is larger than the right lung [2].",
        "The left lung is bigger than the right one [2].",
        "The left lung has a larger area than the right [2].",
        "The left lung is larger in area than the right [2].",
        "The area of the left lung is larger than that of the right [2].",
        "The larger lung is the left one [2].",
        "The right lung is smaller [2].",
        "Compared with the right lung, the left lung is larger [2].",
        "The heart is wider than the thorax [1].",
        "Die Fläche der linken Lunge ist größer als die der rechten [2].",
        "Die größere Lunge ist die linke [2].",
        "The heart is a third as wide as the thorax [1.3].",
        "The heart is twice as wide as the thorax [1.3].",
        "The heart takes up two thirds of the width of the thorax [1.3].",
        "Die linke Lunge ist größer als die rechte [2].",
        "Die rechte Lunge ist kleiner als die linke [2].",
        "Die linke Lunge ist die größere [2].",
        "Das Herz ist ein Drittel so breit wie der Thorax [1.3].",
    ),
    "not shown": (
        "The mediastinum is shifted to the right [2].",
        "The trachea is deviated to the left [2].",
        "The heart is shifted to the left [2].",
        "Das Mediastinum ist nach rechts verlagert [2].",
        "Das Herz ist nach links verschoben [2].",
    ),
}
TRUE = (
    "The heart is 794 px wide [1.1].",
    "The thorax is 1,589 px wide [1.2].",
    "The heart measures 794 px [1.1], the thorax 1,589 px [1.2].",
    "Heart 794 px, thorax 1,589 px [1].",
    "The heart is 794 px wide, and the thorax is 1,589 px wide [1].",
    "The heart width is 794 px and the thorax width 1,589 px.",
    "The widest part of the thorax measures 1,589 px [1.2].",
    "The heart spans half of the 1,589 px of the thorax [1.2].",
    "The heart takes up 794 of the 1,589 px of the thorax [1.1, 1.2].",
    "The ratio of heart to thorax is 0.5 [1.3].",
    "The heart's width of 794 px [1.1] against the thorax's 1,589 px [1.2] gives 0.5 [1.3].",
    "The heart is half as wide as the thorax [1.3].",
    "The heart is about half as wide as the thorax [1.3].",
    "The heart takes up half the width of the thorax [1.3].",
    "The thorax is twice as wide as the heart [1.3].",
    "Das Herz ist halb so breit wie der Thorax [1.3].",
    "Das Herz ist 794 px breit [1.1], der Thorax 1.589 px [1.2].",
    "Der Thorax hat eine Breite von 1589 px [1.2].",
    "Whether the heart is enlarged cannot be decided [1].",
    "It cannot be decided whether the heart is enlarged, 794 px [1.1].",
    "The heart is neither clearly enlarged nor clearly normal [1].",
    "The ratio of 0.5 [1.3] is at the limit above which the heart counts as enlarged.",
    "With a ratio of 0.5 [1.3] the heart is at the upper limit of normal.",
    "The heart is 794 px wide [1.1]; the tool does not call it enlarged or normal.",
    "Mit einem Quotienten von 0,5 [1.3] liegt das Herz an der Grenze zur Vergrößerung.",
    "The right lung is larger than the left [2].",
    "The right lung looks slightly larger than the left lung [2.11, 2.4].",
    "The right lung is the larger one [2].",
    "The right lung is wider than the left [2].",
    "The left lung is smaller than the right [2].",
    "The right lung has a larger area than the left [2].",
    "The area of the right lung is larger than that of the left [2].",
    "The left lung is narrower than the right [2].",
    "The heart is narrower than the thorax [1].",
    "Both lungs are larger than the heart [2].",
    "A larger heart than 794 px would be needed [1.1].",
    "The chest is 1,589 px wide [1.2].",
    "The width of the heart is half that of the thorax [1.3].",
    "Das Herz nimmt die halbe Breite des Thorax ein [1.3].",
    "The left lung is taller than the right [2].",
    "The left lung is not larger than the right [2].",
    "The left lung area is 609,998 px [2.4], smaller than the right with 672,131 px [2.11].",
    "Die rechte Lunge ist größer als die linke [2].",
    "Die linke Lunge ist schmaler als die rechte [2].",
    "Das Herz nimmt die Hälfte der Thoraxbreite von 1.589 px ein [1].",
    "Ein vergrößertes Herz ist nicht auszuschließen, 0,5 [1.3].",
    "The heart is at the border to being enlarged, 794 of 1,589 px [1].",
)


@pytest.mark.parametrize("text", [text for texts in WRONG.values() for text in texts])
def test_false_sentences_on_real_results_are_marked(text: str):
    assert checked("real", text) != text


@pytest.mark.parametrize("text", TRUE)
def test_true_sentences_on_real_results_have_no_mark(text: str):
    assert checked("real", text) == text


SIZES = {"2.1": "Left Lung area 600 px", "2.2": "Right Lung area 700 px", "2.3": "Heart width 9 px"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The left lung is larger than the right", "Left Lung area 600 px; Right Lung area 700 px"),
        ("The right lung is larger than the left", ""),
        ("The left lung is larger than normal", None),
        ("The left lung base is larger than the right", None),
        ("The heart is larger than the left lung", None),  # its area is not known
        ("The left nodule is larger than the right", None),
    ],
)
def test_only_sizes_that_items_give_are_compared(text: str, told: str | None):
    assert compared_wrongly(text, SIZES) == told
