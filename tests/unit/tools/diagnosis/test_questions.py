"""Questions that reach the diagnosis pack's tools offline, and those that must not."""

from __future__ import annotations

import pytest

from app.agent.llm.base import ToolSchema
from app.agent.messages import Message
from app.agent.planning import Planner, Scene
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


@pytest.mark.parametrize(
    "question",
    [
        "72 yo F, sudden dyspnoea after flight, swollen left calf, HR 110: PE?",
        "55M crushing chest pain, diaphoretic, troponin not done yet. MI?",
        "Pt denies chest pain. Fever 39, cough with sputum, crackles RLL. Pneumonia?",
        "headache worst of her life, sudden onset, neck stiffness - SAH?",
        "painful swollen calf, recent surgery, D-dimer 250 ng/mL. DVT?",
        "suspected pulmonray embolsim, tachycardic, hemoptysis, no leg sweling",
        "mother had PE last year; patient has cough only. How likely is pneumonia?",
        "Kind mit Bauchschmerzen rechts unten, Loslassschmerz, kein Fieber. Appendizitis?",
        "Verdacht auf Pneumonie: Husten, Fieber 39,2 °C, Rasselgeräusche",
        "Patient verneint Thoraxschmerz, D-Dimer 0,3 mg/l. Lungenembolie ausgeschlossen?",
        "Verdacht auf TVT, Wade geschwollen",
    ],
)
def test_a_case_as_it_is_told_computes_a_differential(question: str) -> None:
    """With neither an image nor a record open, it can only be about the disease's probability."""
    assert wanted(question) == ("compute_differential",)


def test_with_a_film_open_a_case_is_about_the_film() -> None:
    schemas = {name: ToolSchema(name, "", {}) for name in NAMES}
    film = {"id": "image-1", "kind": "dicom", "modality": "CR", "path": "a.dcm"}
    intent = Planner(REGISTRY.plans).interpret(
        "Cough and fever, pneumonia?", Scene((film,), schemas)
    )
    assert intent.wanted == ("chest_xray_classifier",)


@pytest.mark.parametrize(
    "told", ["and D-dimer 300 ug/L", "no fever, but the calf is swollen", "actually the HR is 80"]
)
def test_what_is_told_later_counts_after_a_differential_only(told: str) -> None:
    schemas = {name: ToolSchema(name, "", {}) for name in NAMES}
    ran = Message(role="tool", tool="compute_differential", ok=True)
    planner = Planner(REGISTRY.plans)
    after = planner.interpret(told, Scene((), schemas, earlier=(ran,)))
    assert after.wanted == ("compute_differential",)
    assert planner.interpret(told, Scene((), schemas)).wanted == ()


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
