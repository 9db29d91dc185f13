"""The differential of the shown study, without a window: whose evidence counts, and when."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from app.imaging.findings import Box, Finding, State
from app.paths import config_dir
from app.records.types import NoRecords, StudyIdentity
from app.tools.diagnosis.bayes import ImpossibleEvidence
from app.tools.diagnosis.differential import Differential, Evidence
from app.tools.diagnosis.differential_tool import COMPUTE, differential_json
from app.workspace.diagnosis import BY_HAND, OpenDiagnosis
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import finding, found, frame, instance, study
from tests.support.made_record import MadeRecords
from tests.unit.tools.diagnosis.small_table import TABLE, small_table, small_toml

PRIORS = {"flu": Fraction(1, 5), "cold": Fraction(1, 2)}


def table_with_links() -> dict[str, Any]:
    """The small table; its swab is a nodule on an image, its CRP the creatinine of the record."""
    table = deepcopy(TABLE)
    table["findings"]["swab"]["labels"] = ["nodule"]
    table["hypotheses"]["flu"]["test_threshold"] = {"value": 0.05, "source": "us"}
    table["hypotheses"]["flu"]["treatment_threshold"] = {"value": 0.75, "source": "us"}
    table["findings"]["crp"] |= {"loinc": ["2160-0"], "above": 1.2, "unit": "mg/dL"}
    return table


@pytest.fixture
def site() -> Iterator[Path]:
    """The table as a site's own file."""
    folder = config_dir() / "diagnosis"
    folder.mkdir(exist_ok=True)
    file = folder / "made-up.toml"
    file.write_text(small_toml(table_with_links()), "utf-8")
    yield file
    file.unlink()


@pytest.fixture
def workspace(site: Path) -> Workspace:
    """Two studies of two patients, the first shown, with a finding on an image of each."""
    made = Workspace()
    other = study(instance("2.1", PatientID="0815"), uid="t", patient="Kern^Bert")
    made.add(found(study(instance("1.1")), replace(other, patient_id="0815")))
    made.annotations.add([nodule("1.1"), nodule("2.1")])
    made.diagnosis.load()
    made.diagnosis.choose("made-up")
    return made


def nodule(uid: str) -> Finding:
    return finding(frame(uid).ref, Box(1, 1, 9, 9), "Nodule", id=f"nodule-{uid}")


def show(workspace: Workspace, uid: str) -> None:
    workspace.viewport.show(workspace.studies.with_uid(uid))


def by_fractions(prior: Fraction, *ratios: Fraction) -> float:
    odds = prior / (1 - prior)
    for ratio in ratios:
        odds *= ratio
    return float(odds / (1 + odds))


def value(diagnosis: OpenDiagnosis, hypothesis: str = "flu") -> float:
    assert diagnosis.differential is not None
    return diagnosis.differential.probability(hypothesis).value


def told(diagnosis: OpenDiagnosis) -> dict[str, bool]:
    return {one.finding: one.present for one in diagnosis.evidence}


def test_what_is_set_by_hand_counts_and_can_be_taken_back(workspace: Workspace):
    diagnosis = workspace.diagnosis
    diagnosis.set_finding("fever", True)
    diagnosis.set_finding("cough", False)
    expected = by_fractions(PRIORS["flu"], Fraction(2), Fraction(1, 2))
    assert value(diagnosis) == pytest.approx(expected, abs=1e-12)
    assert [one.origin for one in diagnosis.evidence] == [BY_HAND] * 2
    diagnosis.set_finding("fever", None)
    assert told(diagnosis) == {"cough": False}
    diagnosis.start_over()
    assert value(diagnosis) == 0.2
    assert not diagnosis.told


def test_a_prior_can_be_replaced_and_taken_back(workspace: Workspace):
    diagnosis = workspace.diagnosis
    diagnosis.set_prior("flu", 0.6)
    diagnosis.set_finding("fever", True)
    assert value(diagnosis) == pytest.approx(by_fractions(Fraction(3, 5), Fraction(2)), abs=1e-12)
    assert diagnosis.own_prior("flu")
    diagnosis.set_prior("flu", None)
    assert value(diagnosis) == pytest.approx(by_fractions(PRIORS["flu"], Fraction(2)), abs=1e-12)


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        (State.PROPOSED, False),
        (State.ACCEPTED, True),
        (State.REJECTED, False),
    ],
)
def test_only_accepted_findings_count(workspace: Workspace, state: State, counts: bool):
    annotations, diagnosis = workspace.annotations, workspace.diagnosis
    annotations.decide(["nodule-1.1"], State.ACCEPTED)
    annotations.decide(["nodule-1.1"], state)
    assert ("swab" in told(diagnosis)) is counts
    if counts:
        assert diagnosis.evidence[0].link == "nodule-1.1"
        assert diagnosis.is_of_image("nodule-1.1")
        # Sensitivity 0.8 and specificity 0.9: a ratio of 8.
        assert value(diagnosis) == pytest.approx(by_fractions(PRIORS["flu"], Fraction(8)))
    annotations.remove(["nodule-1.1"])
    assert told(diagnosis) == {}


def test_a_finding_on_another_study_never_counts(workspace: Workspace):
    workspace.annotations.decide(["nodule-2.1"], State.ACCEPTED)
    assert told(workspace.diagnosis) == {}


def test_each_study_keeps_its_own_until_it_is_closed(workspace: Workspace):
    diagnosis = workspace.diagnosis
    diagnosis.set_finding("fever", True)
    diagnosis.set_prior("flu", 0.5)
    show(workspace, "2.1")
    assert diagnosis.presentation is None
    assert diagnosis.evidence == ()
    diagnosis.choose("made-up")
    assert told(diagnosis) == {}
    assert value(diagnosis) == 0.2
    show(workspace, "1.1")
    assert told(diagnosis) == {"fever": True}
    assert value(diagnosis) == pytest.approx(2 / 3)
    workspace.close_study("s")
    workspace.add(found(study(instance("1.1"))))
    show(workspace, "1.1")
    assert diagnosis.presentation is None


def test_the_linked_record_adds_its_values_and_takes_them_along(workspace: Workspace):
    diagnosis, records = workspace.diagnosis, MadeRecords()
    workspace.record.open(records)
    assert told(diagnosis) == {}, "nobody knows yet whose it is"
    workspace.record.set_match(records.match(StudyIdentity("4711")))
    assert told(diagnosis) == {"crp": True}, "1.4 mg/dL, above 1.2"
    assert diagnosis.evidence[0].link == "Observation/creatinine-2026-03-02"
    assert not diagnosis.is_of_image(diagnosis.evidence[0].link)
    assert diagnosis.record_used
    assert value(diagnosis) == pytest.approx(by_fractions(PRIORS["flu"], Fraction(3, 2)))
    workspace.record.set_match(records.match(StudyIdentity("9999")))
    assert told(diagnosis) == {}
    assert not diagnosis.record_used
    workspace.record.choose("anna")
    assert told(diagnosis) == {"crp": True}
    workspace.record.open(NoRecords())
    assert told(diagnosis) == {}


def test_a_late_answer_about_another_patient_s_record_is_dropped(workspace: Workspace):
    waiting: list[Callable[[], object]] = []
    workspace.diagnosis.submit = lambda work, done: waiting.append(lambda: done(work()))
    records = MadeRecords()
    workspace.record.open(records)
    workspace.record.set_match(records.match(StudyIdentity("4711")))
    workspace.record.set_match(records.match(StudyIdentity("9999")))
    for answer in waiting:
        answer()
    assert told(workspace.diagnosis) == {}


def test_what_the_user_sets_goes_before_images_and_the_record(workspace: Workspace):
    diagnosis = workspace.diagnosis
    workspace.annotations.decide(["nodule-1.1"], State.ACCEPTED)
    diagnosis.set_finding("swab", False)
    assert told(diagnosis) == {"swab": False}
    assert [one.link for one in diagnosis.unused] == ["nodule-1.1"]
    diagnosis.set_finding("swab", None)
    assert told(diagnosis) == {}
    assert [one.link for one in diagnosis.unused] == ["nodule-1.1"]
    assert diagnosis.is_set("swab")
    diagnosis.forget_setting("swab")
    assert told(diagnosis) == {"swab": True}
    assert diagnosis.unused == ()


def result(*evidence: Evidence, **priors: float) -> dict[str, Any]:
    """What `compute_differential` says."""
    return differential_json(Differential(small_table(), evidence, priors))


def test_a_result_of_the_chat_fills_it(workspace: Workspace):
    diagnosis, seen = workspace.diagnosis, list[str]()
    diagnosis.filled.connect(lambda: seen.append(diagnosis.place))
    said = (Evidence("fever", True, "said"), Evidence("rash", True, "said"))
    image = Evidence("swab", True, "Nodule, accepted", "nodule-of-another-study")
    workspace.take_results(COMPUTE, (), (), "1.1", result(*said, image, cold=0.25))
    assert seen == ["s"]
    assert told(diagnosis) == {"fever": True, "rash": True}, "images are asked here"
    assert value(diagnosis, "cold") == 0.25
    diagnosis.set_finding("fever", False)
    workspace.take_results(COMPUTE, (), (), "1.1", result(*said))
    assert told(diagnosis)["fever"] is False, "nothing new was said of it"
    later = (Evidence("fever", False, "said"), Evidence("cough", True, "said"))
    diagnosis.set_finding("fever", True)
    workspace.take_results(COMPUTE, (), (), "1.1", result(*later))
    assert told(diagnosis) == {"fever": False, "cough": True}, "what is told later counts"


def test_a_result_is_that_of_the_study_it_was_asked_about(workspace: Workspace):
    diagnosis, seen = workspace.diagnosis, list[str]()
    diagnosis.filled.connect(lambda: seen.append(diagnosis.place))
    output = result(Evidence("fever", True, "said"))
    workspace.take_results(COMPUTE, (), (), "2.1", output)
    workspace.take_results(COMPUTE, (), (), "closed meanwhile", output)
    assert (seen, told(diagnosis)) == ([], {})
    show(workspace, "2.1")
    assert told(diagnosis) == {"fever": True}


def test_evidence_that_cannot_be_is_told_and_can_be_taken_back(site: Path):
    table = table_with_links()
    table["ratios"][4] |= {"specificity": [1]}
    table["ratios"][3] |= {"hypothesis": "flu", "finding": "crp", "positive": [0]}
    del table["ratios"][5]
    site.write_text(small_toml(table), "utf-8")
    diagnosis = Workspace().diagnosis
    diagnosis.load()
    diagnosis.choose("made-up")
    diagnosis.set_finding("swab", True)
    assert value(diagnosis) == 1
    diagnosis.set_finding("crp", True)
    assert diagnosis.differential is None
    assert isinstance(diagnosis.error, ImpossibleEvidence)
    assert told(diagnosis) == {"swab": True, "crp": True}
    diagnosis.set_finding("swab", None)
    assert diagnosis.error is None
    assert value(diagnosis) == 0


def test_a_wrong_table_of_the_site_leaves_the_shipped_ones(site: Path):
    site.write_text("title = 1\n", "utf-8")
    diagnosis = Workspace().diagnosis
    diagnosis.load()
    assert diagnosis.problem is not None
    assert str(site) in diagnosis.problem.text
    assert "suspected-pneumonia" in diagnosis.tables
    site.write_text(small_toml(table_with_links()), "utf-8")
    diagnosis.load()
    assert diagnosis.problem is None
    assert "made-up" in diagnosis.tables


def test_steps_keep_the_order_in_which_things_became_known(workspace: Workspace):
    diagnosis = workspace.diagnosis
    diagnosis.set_finding("cough", True)
    workspace.annotations.decide(["nodule-1.1"], State.ACCEPTED)
    diagnosis.set_finding("fever", True)
    diagnosis.set_finding("cough", False)
    assert [*told(diagnosis)] == ["cough", "swab", "fever"]
    assert diagnosis.differential is not None
    expected = [
        by_fractions(PRIORS["flu"], *ratios)
        for ratios in (
            (),
            (Fraction(1, 2),),
            (Fraction(1, 2), Fraction(8)),
            (Fraction(1, 2), Fraction(8), Fraction(2)),
        )
    ]
    steps = [step["flu"] for step in diagnosis.differential.steps()]
    assert steps == pytest.approx(expected, abs=1e-12)


RATIOS = {
    ("fever", True): {"flu": Fraction(2)},
    ("fever", False): {"flu": Fraction(1, 2)},
    ("high_fever", True): {"flu": Fraction(3)},
    ("cough", True): {"flu": Fraction(2), "cold": Fraction(4)},
    ("cough", False): {"flu": Fraction(1, 2)},
    ("swab", True): {"flu": Fraction(8)},
    ("swab", False): {"flu": Fraction(2, 9)},
    ("crp", True): {"flu": Fraction(3, 2)},
    ("crp", False): {"flu": Fraction(4, 5)},
}
"""The table again, by hand."""


def test_whatever_is_done_the_figures_are_those_of_plain_fractions(workspace: Workspace):
    dice, diagnosis, annotations = random.Random(19), workspace.diagnosis, workspace.annotations
    hand: dict[str, bool | None] = {}
    priors, accepted = dict(PRIORS), False
    for _ in range(300):
        action = dice.choice(("set", "set", "set", "back", "review", "prior", "over"))
        finding = dice.choice(("fever", "high_fever", "cough", "swab", "crp", "rash"))
        if action == "set":
            present = dice.choice((True, False, None))
            diagnosis.set_finding(finding, present)
            hand[finding] = present
            if present is None and not (finding == "swab" and accepted):
                del hand[finding]
        elif action == "back":
            diagnosis.forget_setting(finding)
            hand.pop(finding, None)
        elif action == "review":
            accepted = not accepted
            state = State.ACCEPTED if accepted else State.REJECTED
            annotations.decide(["nodule-1.1"], state)
        elif action == "prior":
            priors["flu"] = Fraction(dice.randint(1, 99), 100)
            diagnosis.set_prior("flu", float(priors["flu"]))
        elif dice.random() < 0.3:
            diagnosis.start_over()
            hand, priors = {}, dict(PRIORS)
        known = {"swab": True} if accepted else {}
        known = {key: one for key, one in (known | hand).items() if one is not None}
        assert told(diagnosis) == known
        for disease in ("flu", "cold"):
            found = {key: RATIOS.get((key, one), {}).get(disease) for key, one in known.items()}
            if found.get("fever") == 2 and found.get("high_fever"):
                del found["fever"]  # of one group, the stronger one counts
            ratios = [ratio for ratio in found.values() if ratio is not None]
            expected = by_fractions(priors[disease], *ratios)
            assert value(diagnosis, disease) == pytest.approx(expected, abs=1e-12)
