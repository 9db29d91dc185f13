"""Which letter an answer chooses: a loose reader once mis-scored a quarter of the answers."""

from __future__ import annotations

import pytest

from app.headless.eval_chestagentbench import read_letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("C", "C"),
        ("c", "C"),
        (" C. ", "C"),
        ("(C)", "C"),
        ("**C**", "C"),
        ("C)", "C"),
        ("C:", "C"),
        ("[D]", "D"),
        ("C) Pleural effusion", "C"),
        ("C. Pleural effusion", "C"),
        ("**C) Pleural effusion**", "C"),
        ("C - Pleural effusion", "C"),
        ("The answer is C", "C"),
        ("The answer is (C).", "C"),
        ("The answer is **C**.", "C"),
        ("Answer: C", "C"),
        ("answer: C) Pleural effusion", "C"),
        ("The correct answer is option C.", "C"),
        ("The best choice is C because of the meniscus.", "C"),
        ("I would choose D.", "D"),
        ("I select option B", "B"),
        ("Final answer: F", "F"),
        ("At first answer B seems right. Final answer: E", "E"),
        ("The answer is not A but C. The answer is C.", "C"),
        ("The opacity lies left.\n\nAnswer: A", "A"),
        ("The correct option is A) Pneumonia.", "A"),
        ("The answer is A.", "A"),
        ("A chest X-ray shows an effusion.", None),
        ("A", "A"),
        ("a large effusion is seen", None),
        ("I would choose a conservative reading.", None),
        ("I would choose between B and D.", None),
        ("The answer is B or D.", None),
        ("It is not C.", None),
        ("The answer is not C.", None),
        ("Neither option A nor option B fits.", None),
        ("Effusion", None),
        ("", None),
        ("Vitamin D deficiency", None),
        ("G", None),
        ("A) Pneumonia\nB) Effusion\nC) Mass", None),
        ("The answer is pleural effusion.", None),
        ("I cannot tell.", None),
        ("Option B was my first answer, but the answer is D; so the answer is D.", "D"),
        ("Both A and C could be right.", None),
    ],
)
def test_the_letter_that_an_answer_chooses(text: str, letter: str | None) -> None:
    assert read_letter(text) == letter
