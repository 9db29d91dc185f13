"""Questions that reach the diagnosis pack's tools offline, and those that must not."""

from __future__ import annotations

import pytest

from app.tools.registry import load_packs
from tests.support.intents import intent_of

REGISTRY = load_packs([])
NAMES = [tool.spec.name for tool in REGISTRY.all()]


def wanted(question: str) -> tuple[str, ...]:
    return tuple(intent_of(question, REGISTRY.plans, NAMES).wanted)


@pytest.mark.parametrize(
    "question",
    [
        "55 year old with crushing chest pain radiating to both arms, sweaty: differential?",
        "DDx of acute dyspnea with S3 gallop and BNP 900",
        "cough and fever. differential diagnosis?",
        "How likely is PE with a swollen calf and a D-dimer of 300 ug/L?",
        "is heart failure likely with orthopnea?",
        "probability of pneumonia with cough, fever and crackles?",
        "which test next?",
        "what would change my mind?",
        "suspected PE, legs symmetric: what should I ask next?",
        "post-test probability of appendicitis with rebound tenderness",
        "Wie wahrscheinlich ist eine Lungenembolie bei Wadenschwellung?",
        "Differentialdiagnose bei Fieber und Husten?",
        "Welche Untersuchung als nächstes?",
    ],
)
def test_a_question_with_a_complaint_computes_a_differential(question: str) -> None:
    assert wanted(question) == ("compute_differential",)


def test_the_tables_can_be_listed() -> None:
    assert wanted("which complaints do you have tables for?") == ("list_presentations",)


@pytest.mark.parametrize(
    "question",
    [
        "give me a differential",
        "differential for this film",
        "how likely is pneumonia?",
        "what is the probability of pneumonia on this x-ray?",
        "is there a pneumothorax?",
        "segment the lungs",
        "count the cells",
        "list the patients",
    ],
)
def test_a_question_about_the_image_or_the_record_does_not(question: str) -> None:
    assert "compute_differential" not in wanted(question)
    assert wanted(question)
