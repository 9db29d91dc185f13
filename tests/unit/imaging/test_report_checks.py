"""What a report says against its findings is marked, and a true sentence is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.errors import SightlineError
from app.imaging.findings import Code, Finding
from app.imaging.reports.checks import Fault, check_report, rewording_fault
from app.imaging.reports.report_draft import Sentence, Signature
from app.imaging.reports.written_report import report_text, written_report
from tests.unit.imaging.report_cases import SUBJECT, drafted, own_length, ratio_lines, tool_finding

NODULE = tool_finding()
PAIR = ratio_lines()


def faults(text: str, *findings: Finding, linked: bool = True, language: str = "en") -> list[Fault]:
    """Return the faults of one sentence that rests on findings."""
    draft = drafted(*findings, language=language)
    ids = tuple(one.id for one in findings) if linked else ()
    draft = draft.with_sentences("lungs", [Sentence(text, ids)])
    draft = draft.with_sentences("heart", []).with_sentences("other", [])
    found = check_report(draft, SUBJECT, {one.id: one for one in findings})
    return [one.fault for one in found if one.section == "lungs"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_the_program_words_is_never_marked(language: str) -> None:
    site = Code("1", "SCT", "Left lung")
    many = (
        *(NODULE, *PAIR, own_length(0.456), own_length(1234.5, id="l2")),
        *(tool_finding("Mass", site=site), tool_finding("T2 lesion, segment 6", value=None)),
        *(tool_finding("Nodule", id=f"n{k}", value=k + 0.125) for k in range(3)),
    )
    draft = drafted(*many, language=language)
    assert check_report(draft, SUBJECT, {one.id: one for one in many}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Right nodule of 12 mm.",
        "Nodule on the right, 1.2 cm (series 3, image 45).",
        "Rechtsseitiger Nodulus, 12,3 mm.",
        "Right nodule, not calcified, 12.34 mm.",
        "Right nodule without change since 2023-04-05.",
        "1 nodule on the right.",
        "The nodule on the right is new (vom 05.04.2023 aus).",
        "Right nodule, unchanged since 2019 and 03/2021.",
        "Right nodule of 12 mm, control by CT in 6-12 months.",
        "Nodule re., 12 mm, Kontrolle in 3 Monaten.",
        "Rt nodule, 1.2x1.2 cm.",
        "Right nodule of 12 x 12 × 12.3 mm.",
    ],
)
def test_true_sentences_are_not_marked(text: str) -> None:
    assert faults(text, NODULE) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Left nodule of 12 mm.", Fault.SIDE),
        ("Nodules on both sides.", Fault.SIDE),
        ("Links gelegener Nodule.", Fault.SIDE),
        ("Right nodule of 13 mm.", Fault.NUMBER),
        ("Right nodule of 12x45 mm.", Fault.NUMBER),
        ("Right nodule of 2019 mm.", Fault.NUMBER),
        ("Right nodule in segment 6.", Fault.UNFOUNDED),
        ("Nodule li.", Fault.SIDE),
        ("Lt nodule.", Fault.SIDE),
        ("Right nodule unlikely.", Fault.NEGATION),
        ("Right nodule of 12.4 mm.", Fault.NUMBER),
        ("Right nodule of 12 cm.", Fault.UNIT),
        ("Right nodule (series 3, image 46).", Fault.NUMBER),
        ("No right nodule.", Fault.NEGATION),
        ("Right lung without nodule.", Fault.NEGATION),
        ("Right nodule: not seen.", Fault.NEGATION),
        ("Der Nodule rechts ist nicht mehr nachweisbar.", Fault.NEGATION),
        ("Kein Nodule rechts.", Fault.NEGATION),
        ("No abnormality.", Fault.NEGATION),
    ],
)
def test_contradictions_are_marked(text: str, fault: Fault) -> None:
    assert faults(text, NODULE) == [fault]


def test_a_number_of_no_finding_is_marked_and_that_of_another_is_not() -> None:
    assert faults("Spleen of 140 mm.", NODULE, linked=False) == [Fault.UNFOUNDED]
    assert faults("Nodule of 12.3 mm.", NODULE, linked=False) == []
    assert faults("Lungs clear otherwise.", NODULE, linked=False) == []
    bare = tool_finding("Pneumonia", value=None, units="")
    assert faults("Pneumonia of 4 cm.", bare) == [Fault.UNFOUNDED]


def test_a_ratio_may_be_told_in_percent() -> None:
    assert faults("Cardiothoracic ratio 52 %.", *PAIR) == []
    assert faults("Cardiothoracic ratio 0.52, heart 14.3 cm.", *PAIR) == []
    assert faults("Cardiothoracic ratio 0.62.", *PAIR) == [Fault.NUMBER]


def test_missing_struck_and_named_findings() -> None:
    draft = drafted(NODULE, own_length())
    other = tool_finding("Effusion")
    found = check_report(draft, SUBJECT, {NODULE.id: NODULE, other.id: other})
    assert [(one.fault, one.section, one.finding) for one in found] == [
        (Fault.STRUCK, "other", "length"),
        (Fault.MISSING, "", "effusion"),
    ]
    draft = draft.with_sentences("other", [Sentence("Small effusion."), Sentence("No effusion.")])
    found = check_report(draft, SUBJECT, {NODULE.id: NODULE}, [other])
    assert [(one.fault, one.place, one.told) for one in found] == [(Fault.NAMED, 0, "Effusion")]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Left-sided effusion.", True),
        ("Small effusion.", True),
        ("Linksseitiger Pleuraerguss.", True),
        ("Erguss links.", True),
        ("Right effusion.", False),
        ("No effusion.", False),
        ("Right nodule.", False),
    ],
)
def test_a_rejected_finding_is_noticed_in_other_words(text: str, named: bool) -> None:
    rejected = tool_finding("Left pleural effusion")
    language = "de" if "rguss" in text else "en"
    draft = drafted(NODULE, language=language).with_sentences("other", [Sentence(text)])
    found = check_report(draft, SUBJECT, {NODULE.id: NODULE}, [rejected])
    assert (Fault.NAMED in [one.fault for one in found]) is named


@pytest.mark.parametrize(
    ("text", "named"),
    [("Heart width about 12.3 mm.", False), ("Heart width about 12.3 mm, heart normal.", True)],
)
def test_a_longer_name_of_its_own_finding_names_no_rejected_one(text: str, named: bool) -> None:
    width = tool_finding("Heart width")
    rejected = tool_finding("Heart", value=None)
    draft = drafted(width).with_sentences("other", [Sentence(text, (width.id,))])
    found = check_report(draft, SUBJECT, {width.id: width}, [rejected])
    assert (Fault.NAMED in [one.fault for one in found]) is named


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Heart width 12.3 mm, thorax width 24.6 mm.", []),
        ("Heart width 24.6 mm.", ["24.6 mm"]),
        ("Heart width 24.6 mm, thorax width 12.3 mm.", ["24.6 mm", "12.3 mm"]),
        ("Heart width is half of 24.6 mm, the thorax width.", []),
        ("The heart width is about 24.6 mm.", ["24.6 mm"]),
        ("A length of 24.6 mm.", []),
    ],
)
def test_a_figure_of_another_finding_is_noticed_where_one_is_named(
    text: str, told: list[str]
) -> None:
    heart = tool_finding("Heart width", value=12.34)
    thorax = tool_finding("Thorax width", value=24.6)
    draft = drafted(heart, thorax).with_sentences("other", [Sentence(text)])
    found = check_report(draft, SUBJECT, {heart.id: heart, thorax.id: thorax})
    assert [one.told for one in found if one.fault is Fault.NUMBER] == told


SAID = "Right nodule: 12.3 mm (series 3, image 45)."


@pytest.mark.parametrize(
    ("after", "language"),
    [
        ("There is a nodule on the right measuring 12.3 mm (series 3, image 45).", "en"),
        ("On the right, a nodule of 12.3 mm is seen in image 45 of series 3 (image 45).", "en"),
    ],
)
def test_the_same_in_other_words(after: str, language: str) -> None:
    told = rewording_fault(SAID, after, language)
    assert told == ("the series or image differs" if after.count("45") == 2 else "")


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("", "empty"),
        ("Right nodule of 12.3 cm (series 3, image 45).", "number or unit"),
        ("Right nodule of 12 mm (series 3, image 45).", "number or unit"),
        ("Nodule of 12.3 mm (series 3, image 45).", "side"),
        ("Left nodule of 12.3 mm (series 3, image 45).", "side"),
        ("Right nodule not seen, 12.3 mm (series 3, image 45).", "negated"),
        ("Spiculated right nodule of 12.3 mm (series 3, image 45).", 'adds "spiculated"'),
        ("Right nodule of 12.3 mm, suspicious (series 3, image 45).", 'adds "suspicious"'),
        ("There is on the right a 12.3 mm (series 3, image 45).", 'leaves out "nodule"'),
    ],
)
def test_another_statement_is_no_rewording(after: str, reason: str) -> None:
    assert reason in rewording_fault(SAID, after, "en")


def test_german_rewordings() -> None:
    before = "Rundherd rechts: 12,3 mm (Serie 3, Bild 45)."
    same = "Rechts findet sich ein Rundherd von 12,3 mm (Serie 3, Bild 45)."
    assert rewording_fault(before, same, "de") == ""
    assert 'adds "malignom"' in rewording_fault(before, f"{same} Malignom.", "de")


TWO = "Right nodule: 12 mm, left mass: about 8 mm."


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("Nodule of 1.2 x 0.9 cm, 2019.", "Nodule of 0.9 x 1.2 cm, 2019.", "order"),
        ("Nodule since 2019.", "Nodule since 2018.", "number"),
        (TWO, "Right nodule: 8 mm, left mass: about 12 mm.", "order"),
        (TWO, "Left nodule: 12 mm, right mass: about 8 mm.", "order"),
        (TWO, "Right mass: 12 mm, left nodule: about 8 mm.", "order"),
        (TWO, "Right nodule: 12 mm, left mass: 8 mm.", "exact"),
        (TWO, "Right nodule: about 12 mm, left mass: about 8 mm.", "exact"),
        ("No nodule, mass on the right.", "Nodule, no mass on the right.", "order"),
        ("Nodule > 5 mm.", "Nodule < 5 mm.", '">"'),
        ("Nodule?", "Nodule.", '"?"'),
        ("Lesion of T12, bright in T2.", "Lesion of T11, bright in T2.", '"t12"'),
        ("Lesion in S6.", "Lesion in S7.", '"s6"'),
        ("Hyperdense lesion.", "Hyperechoic lesion.", 'adds "hyperechoic"'),
        ("Nodule and mass.", "Nodule or mass.", 'adds "or"'),
        ("Nodule (series 3, image 45).", "Nodule (series 45, image 3).", "series"),
    ],
)
def test_what_only_changes_places_is_another_statement(
    before: str, after: str, reason: str
) -> None:
    assert reason in rewording_fault(before, after, "en")
    assert rewording_fault(before, before, "en") == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("No nodule.", [Fault.DENIED]),
        ("No nodule on the right.", [Fault.DENIED]),
        ("Lungen rechts ohne Nodule.", [Fault.DENIED]),
        ("No nodule on the left.", []),
        ("No further nodule.", []),
        ("Kein weiterer Nodule.", []),
        ("No effusion.", []),
    ],
)
def test_a_sentence_of_its_own_that_denies_a_finding_is_pointed_out(
    text: str, wanted: list[Fault]
) -> None:
    assert faults(text, NODULE, linked=False) == wanted


def test_a_finding_told_by_a_struck_sentence_only_is_missing() -> None:
    draft = drafted(NODULE)
    both = [Sentence("Right nodule and effusion.", (NODULE.id, "effusion"))]
    for key in ("lungs", "impression"):
        draft = draft.with_sentences(key, both if key == "lungs" else [])
    found = check_report(draft, SUBJECT, {NODULE.id: NODULE})
    assert [one.fault for one in found] == [Fault.STRUCK, Fault.MISSING]


def test_what_has_changed_since_the_signature_is_told() -> None:
    mass = tool_finding("Mass")
    accepted = {one.id: one for one in (NODULE, mass)}
    signed = drafted(NODULE, mass).signed(
        Signature("Dr Roe", "2024-01-02T03:04:05+00:00"), accepted
    )
    assert check_report(signed, SUBJECT, accepted) == ()
    other = tool_finding("Effusion")
    now = {NODULE.id: replace(NODULE, value=15.0), mass.id: mass, other.id: other}
    found = check_report(signed, SUBJECT, now)
    assert [(one.fault, one.finding) for one in found if not one.section] == [
        (Fault.LATER, "effusion"),
        (Fault.CHANGED, NODULE.id),
    ]
    with pytest.raises(SightlineError, match="changed since"):
        written_report(signed, SUBJECT, now)
    later = written_report(signed, SUBJECT, {**accepted, other.id: other})
    assert "Effusion" not in report_text(later)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Lungs clear.", [Fault.UNNAMED]),
        ("Normal.", [Fault.UNNAMED]),
        ("Spiculated lesion of 12 mm.", []),
        ("Small nodules.", []),
    ],
)
def test_a_sentence_that_no_longer_speaks_of_its_finding_is_pointed_out(
    text: str, wanted: list[Fault]
) -> None:
    assert faults(text, NODULE) == wanted
