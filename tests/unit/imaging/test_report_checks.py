"""What a report says against its findings is marked, and a true sentence is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from app.errors import SightlineError
from app.imaging.findings import Code, Finding, Measurement
from app.imaging.reports.checks import UNDECIDED, Fault, check_report, rewording_fault
from app.imaging.reports.report_draft import Sentence, Signature
from app.imaging.reports.written_report import report_text, written_report
from tests.unit.imaging.report_cases import SUBJECT, drafted, own_length, ratio_lines, tool_finding

NODULE = tool_finding()
PAIR = ratio_lines()


def faults(text: str, *findings: Finding, linked: bool = True, language: str = "en") -> list[Fault]:
    """Return the faults of one sentence that rests on findings, or on none."""
    draft = drafted(*findings, language=language)
    ids = tuple(one.id for one in findings) if linked else ()
    draft = draft.with_sentences("lungs", [Sentence(text, ids)])
    draft = draft.with_sentences("heart", []).with_sentences("other", [])
    found = check_report(draft, SUBJECT, {one.id: one for one in findings})
    faults = [one.fault for one in found if one.section == "lungs"]
    return [one for one in faults if linked or one is not Fault.OWN]


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
        "The nodule on the right, unchanged (vom 05.04.2023 aus).",
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


EFFUSION = tool_finding("Left pleural effusion", value=None, units="")
CONSOLIDATION = tool_finding("Right lower lobe consolidation", value=None, units="")
PLAIN = tool_finding("Nodule")


@pytest.mark.parametrize(
    ("text", "finding", "told"),
    [
        (
            "Large left pleural effusion with mediastinal shift and rib fracture.",
            EFFUSION,
            "Large, mediastinal, shift, rib, fracture",
        ),
        (
            "Small left pleural effusion with compressive atelectasis.",
            EFFUSION,
            "Small, atelectasis",
        ),
        ("Left pleural effusion; the heart is enlarged.", EFFUSION, "heart, enlarged"),
        ("New left pleural effusion.", EFFUSION, "New"),
        ("Left pleural effusion, new.", EFFUSION, "new"),
        ("Left pleural effusion, new since 2019.", EFFUSION, "new"),
        ("Large left pleural effusion with normal heart.", EFFUSION, "Large"),
        ("Left effusion, no pneumothorax but a rib fracture.", EFFUSION, "rib, fracture"),
        ("Left effusion without pneumothorax and a fracture.", EFFUSION, "fracture"),
        ("Left effusion, no doubt cancer.", EFFUSION, "cancer"),
        ("Left effusion, pneumonia not unlikely.", EFFUSION, "pneumonia"),
        ("Left pleural effusion, two rib fractures.", EFFUSION, "two, rib, fractures"),
        ("Left pleural effusion; the heart is not normal.", EFFUSION, "heart"),
        ("Large right nodule.", NODULE, "Large"),
        ("Right nodule of 12 mm, larger than in 2019.", NODULE, "larger"),
        ("Linksseitiger Pleuraerguss, Rippenfraktur.", EFFUSION, "Rippenfraktur"),
        ("Großer Pleuraerguss links, basale Atelektase.", EFFUSION, "Großer, basale, Atelektase"),
        ("Nodule, suspicious for carcinoma.", PLAIN, "carcinoma"),
        ("Two nodules.", PLAIN, "Two"),
        ("Mehrere Rundherde.", PLAIN, "Mehrere"),
        (
            "Spiculated nodule in the left upper lobe, grown since the prior.",
            PLAIN,
            "left, upper, lobe, grown",
        ),
        ("Neuer Rundherd im rechten Oberlappen.", PLAIN, "Neuer, rechten, Oberlappen"),
        ("Nodule, unchanged.", PLAIN, "unchanged"),
        ("Nodule at T11.", PLAIN, "T11"),
    ],
)
def test_what_a_finding_does_not_say_is_told(text: str, finding: Finding, told: str) -> None:
    language = "de" if re.search("[äöüß]|herd", text) else "en"
    draft = drafted(finding, language=language)
    draft = draft.with_sentences("other", [Sentence(text, (finding.id,))])
    found = check_report(draft, SUBJECT, {finding.id: finding})
    assert [one.told for one in found if one.fault is Fault.ADDED] == [told]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Left pleural effusion.", EFFUSION),
        ("There is a left-sided pleural effusion.", EFFUSION),
        ("Pleural fluid on the left.", EFFUSION),
        ("Pleuraerguss links.", EFFUSION),
        ("A 12 mm large nodule.", PLAIN),
        ("Ein 12,3 mm großer Rundherd.", PLAIN),
        ("Spiculated nodule, seen in two planes, control in three months.", PLAIN),
        ("One nodule of 12.3 mm (series 3, image 45).", PLAIN),
        ("The heart is enlarged.", tool_finding("Cardiomegaly", value=None)),
        ("Herz vergrößert.", tool_finding("Cardiomegaly", value=None)),
        ("Widened cardiac silhouette and mediastinum.", tool_finding("Enlarged cardiomediastinum")),
        ("Carcinoma of 23 mm in the upper lobe.", own_length()),
        ("Left pleural effusion, no pneumothorax.", EFFUSION),
        ("Left pleural effusion without pneumothorax.", EFFUSION),
        ("Pleuraerguss links, kein Pneumothorax.", EFFUSION),
        ("Left pleural effusion, no shift of the mediastinum.", EFFUSION),
        ("Left pleural effusion; a new film is recommended.", EFFUSION),
        ("Pleuraerguss links; neue Aufnahme empfohlen.", EFFUSION),
        ("Left pleural effusion; compare with the new film.", EFFUSION),
        ("Left pleural effusion, otherwise normal heart and lungs.", EFFUSION),
        ("Left pleural effusion; two films were read.", EFFUSION),
        ("Left pleural effusion, costophrenic angle blunted.", EFFUSION),
        ("Linker Randwinkel verschattet, Pleuraerguss.", EFFUSION),
        ("Right nodule of 12 mm, no new finding.", NODULE),
        ("Right nodule of 12 mm, no calcification.", NODULE),
        ("Right nodule of 12 mm; malignancy cannot be excluded.", NODULE),
        ("Right nodule, 12 mm; not enlarged nodes.", NODULE),
        ("Small right nodule of 12 mm.", NODULE),
        ("Round opacity on the right, 12 mm.", NODULE),
        ("Right nodule, 12 mm; smaller than 3 cm.", NODULE),
        ("Right lower lobe consolidation, airspace opacity.", CONSOLIDATION),
        ("Right basal consolidation.", CONSOLIDATION),
        ("Bony rib fracture.", tool_finding("Rib fracture", value=None)),
        ("One rib fractured; bones otherwise intact.", tool_finding("Rib fracture", value=None)),
        ("Cardiomegaly; heart larger than normal.", tool_finding("Cardiomegaly", value=None)),
        ("A mass, tumour-like.", tool_finding("Mass", value=None)),
        ("Left lung without new findings.", tool_finding("Left lung", value=None)),
    ],
)
def test_a_finding_in_plain_other_words_says_no_more(text: str, finding: Finding) -> None:
    language = "de" if re.search("[äöüß]|herd", text) else "en"
    draft = drafted(finding, language=language)
    draft = draft.with_sentences("other", [Sentence(text, (finding.id,))])
    found = check_report(draft, SUBJECT, {finding.id: finding})
    wrong = {Fault.ADDED, Fault.SIDE, Fault.NUMBER, Fault.NEGATION, Fault.CHANGE}
    assert [one.told for one in found if one.fault in wrong] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Left pleural effusion on both views.", False),
        ("Left pleural effusion; the right lung is clear.", False),
        ("Left pleural effusion; the right side is free.", False),
        ("Pleuraerguss links, in beiden Ebenen.", False),
        ("Left pleural effusion on both sides.", True),
        ("Left pleural effusion on both views, right as well.", True),
        ("Pleuraerguss beider Seiten.", True),
        ("Pleural effusion; the right lung is affected.", True),
    ],
)
def test_both_views_and_a_clear_other_side_are_no_wrong_side(text: str, wrong: bool) -> None:
    assert (Fault.SIDE in faults(text, EFFUSION)) is wrong


def test_a_limit_that_a_length_is_below_is_no_other_length() -> None:
    assert faults("Right nodule smaller than 3 cm.", NODULE) == []
    assert faults("Right nodule smaller than 10 mm.", NODULE) == [Fault.NUMBER]
    assert Fault.NUMBER in faults("Right nodule, 12 mm, previously less than 15 mm.", NODULE)


def test_the_name_of_another_accepted_finding_is_more_than_its_own_says() -> None:
    other = tool_finding("Brand artefact", value=None, units="")
    draft = drafted(PLAIN, other)
    draft = draft.with_sentences("lungs", [Sentence("Nodule with brand artefact.", (PLAIN.id,))])
    found = check_report(draft, SUBJECT, {one.id: one for one in (PLAIN, other)})
    assert [one.told for one in found if one.fault is Fault.ADDED] == ["brand artefact"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Right pleural effusion.", Fault.OPPOSITE),
        ("Erguss rechts.", Fault.OPPOSITE),
        ("Bilateral effusions.", Fault.OPPOSITE),
        ("Kein Erguss links.", Fault.DENIED),
        ("No effusion.", Fault.DENIED),
        ("Kein Pleuraerguss.", Fault.DENIED),
        ("Left effusion.", Fault.OWN),
        ("No effusion on the right.", Fault.OWN),
        ("No pericardial effusion.", Fault.OWN),
        ("Kein Perikarderguss.", Fault.OWN),
        ("Further effusion on the right.", Fault.OWN),
        ("The right lung is clear.", Fault.OWN),
        ("Right effusion because of heart failure.", Fault.OPPOSITE),
        ("Suspicious for effusion on the right.", Fault.OPPOSITE),
        ("Patient lies on the right side because of the effusion.", Fault.OWN),
        ("Is there an effusion on the right?", Fault.OWN),
        ("Drain on the right for effusion removed.", Fault.OWN),
        ("Both lungs were searched for effusions.", Fault.OWN),
        ("Beide Lungen wurden nach Ergüssen abgesucht.", Fault.OWN),
    ],
)
def test_a_sentence_of_its_own_against_an_accepted_side_is_pointed_out(
    text: str, fault: Fault
) -> None:
    draft = drafted(EFFUSION).with_sentences("pleura", [Sentence(text)])
    found = check_report(draft, SUBJECT, {EFFUSION.id: EFFUSION})
    assert [one.fault for one in found if one.place >= 0 and one.section == "pleura"] == [fault]


def test_a_segment_that_no_finding_has_is_a_number_and_a_place() -> None:
    assert faults("Right nodule in segment 6.", NODULE) == [Fault.UNFOUNDED, Fault.ADDED]


def test_a_ratio_may_be_told_in_percent() -> None:
    assert faults("Cardiothoracic ratio 52 %.", *PAIR) == []
    assert faults("Cardiothoracic ratio 0.52, heart 14.3 cm (detector plane).", *PAIR) == []
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
    assert [(one.fault, one.place, one.told) for one in found] == [
        (Fault.NAMED, 0, "Effusion"),
        (Fault.OWN, 1, ""),
    ]


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
        ("Nodules.", []),
    ],
)
def test_a_sentence_that_no_longer_speaks_of_its_finding_is_pointed_out(
    text: str, wanted: list[Fault]
) -> None:
    assert faults(text, NODULE) == wanted


NOW = Measurement("Longer side", 42.2, "mm", "detector plane")
THEN = replace(NOW, name="Longer side, prior", value=31.6, date="20230405")
GROWN = tool_finding(
    "Prior, marked box 1 (larger)",
    measurements=(NOW, THEN),
    rests_on=("Marked box",),
    value=None,
    units="",
)
PLANE = "(detector plane)"
DE = "(Detektorebene)"


@pytest.mark.parametrize(
    "text",
    [
        f"Marked box: 42.2 mm {PLANE}, 31.6 mm {PLANE} on 2023-04-05.",
        f"Marked box: 42.2 mm {PLANE}, 31.6 mm {PLANE} in 2023.",
        f"Marked box larger since 2023-04-05, now 42.2 mm, before 31.6 mm (both {PLANE[1:-1]}).",
        f"Marked box larger than on 2023-04-05: 42.2 mm {PLANE}.",
        f"Marked box grown from 31.6 mm to 42.2 mm {PLANE}.",
        f"On 2023-04-05: 31.6 mm {PLANE}, now 42.2 mm {PLANE}: the marked box is bigger.",
        f"Marked box 31.6 mm {PLANE} on 2023-04-05, 42.2 mm {PLANE} on 2024-01-02, not stable.",
        f"Marked box, 42.2 mm {PLANE}; was smaller on 2023-04-05, 31.6 mm {PLANE}.",
        f"Marked box increased in size, 42 mm {PLANE} compared with 32 mm {PLANE} before.",
        f"Marked box: 42,2 mm {DE}, 31,6 mm {DE} am 05.04.2023, größer.",
        f"Marked box von 31,6 mm auf 42,2 mm {DE} gewachsen, keine Abnahme.",
    ],
)
def test_true_sentences_on_a_change_are_not_marked(text: str) -> None:
    assert faults(text, GROWN) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"Marked box: 31.6 mm {PLANE}, 42.2 mm {PLANE} on 2023-04-05.", ["42.2 mm"]),
        (f"Marked box: 42.2 mm {PLANE}, 31.6 mm {PLANE} on 2022-04-05.", ["2022-04-05"]),
        (f"Marked box: 42.2 mm {PLANE} since 2021.", ["2021"]),
        (f"Marked box: 31.6 mm {PLANE}.", ["31.6 mm"]),
        (f"Marked box, now 31.6 mm {PLANE}, before 42.2 mm {PLANE}.", ["31.6 mm", "42.2 mm"]),
        (f"Marked box from 42.2 mm to 31.6 mm {PLANE}.", ["42.2 mm", "31.6 mm"]),
        (f"2023-04-05: marked box, 31.6 mm {PLANE}; 2024-01-02: 31.6 mm {PLANE}.", ["31.6 mm"]),
        (f"Marked box: 31,6 mm {DE}, 42,2 mm {DE} am 05.04.2023.", ["42,2 mm"]),
        (f"Marked box: 42,2 mm {DE}, 31,6 mm {DE} am 05.04.2022.", ["05.04.2022"]),
        (f"Marked box jetzt 31,6 mm {DE}, zuvor 42,2 mm {DE}.", ["31,6 mm", "42,2 mm"]),
    ],
)
def test_figures_and_dates_of_two_studies_are_not_exchanged(text: str, told: list[str]) -> None:
    draft = drafted(GROWN).with_sentences("comparison", [Sentence(text, (GROWN.id,))])
    found = [one for one in check_report(draft, SUBJECT, {GROWN.id: GROWN}) if one.place >= 0]
    assert {one.fault for one in found} == {Fault.NUMBER}
    assert [one.told for one in found] == told


HEART = f"143.0 mm {PLANE}"
THORAX = f"275.0 mm {PLANE}"
AXES = tool_finding(
    measurements=(Measurement("Long axis", 12.0, "mm"), Measurement("Short axis", 8.0, "mm"))
)
LEFT = tool_finding("Left Nodule", value=8.0)


@pytest.mark.parametrize(
    ("text", "findings", "wrong"),
    [
        (f"Cardiothoracic ratio 0.52, heart width {THORAX}, thorax width {HEART}.", PAIR, True),
        (f"Heart {THORAX}, thorax {HEART}.", PAIR, True),
        (f"Heart {HEART}, thorax {THORAX}.", PAIR, False),
        (f"{HEART} heart width, {THORAX} thorax width.", PAIR, False),
        (f"{THORAX} heart width, {HEART} thorax width.", PAIR, True),
        (f"Heart width is half of {THORAX}, the thorax width.", PAIR, False),
        (f"The cardiothoracic ratio is {HEART} to {THORAX}.", PAIR, False),
        ("Herzbreite ca. 275,0 mm (Detektorebene), Quotient 0,52.", PAIR, True),
        ("Thoraxbreite ca. 143,0 mm (Detektorebene), Quotient 0,52.", PAIR, True),
        ("Right nodule, long axis 12 mm, short axis 8 mm.", (AXES,), False),
        ("Right nodule, long axis 8 mm, short axis 12 mm.", (AXES,), True),
        ("Right nodule of 12.3 mm and left nodule of 8 mm.", (NODULE, LEFT), False),
        ("Right nodule of 8 mm and left nodule of 12.3 mm.", (NODULE, LEFT), True),
    ],
)
def test_figures_of_two_names_are_not_exchanged(
    text: str, findings: tuple[Finding, ...], wrong: bool
) -> None:
    language = "de" if "Quotient" in text else "en"
    assert set(faults(text, *findings, language=language)) == ({Fault.NUMBER} if wrong else set())


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"Marked box is smaller, 42.2 mm {PLANE}, 31.6 mm {PLANE} on 2023-04-05.", "larger"),
        (f"Unchanged since 2023-04-05, marked box 42.2 mm {PLANE}.", "larger"),
        ("No change of the marked box.", "larger"),
        ("Marked box: no growth.", "larger"),
        ("Marked box kleiner.", "larger"),
        ("Marked box ohne wesentliche Größenänderung.", "larger"),
        ("Marked box nicht größer.", "larger"),
        ("Marked box larger.", "unchanged"),
        ("Marked box is not stable.", "unchanged"),
        ("Marked box increased.", "smaller"),
    ],
)
def test_another_change_than_was_found_is_marked(text: str, state: str) -> None:
    assert Fault.CHANGE in faults(text, replace(GROWN, label=f"Prior, marked box 1 ({state})"))
    assert Fault.CHANGE not in faults(text, replace(GROWN, label="Prior, marked box 1"))


@pytest.mark.parametrize(
    ("text", "ratio", "told"),
    [
        ("Heart enlarged, cardiothoracic ratio about 0.50.", 0.5, "enlarged"),
        ("No cardiomegaly, cardiothoracic ratio 0.5.", 0.5, "No cardiomegaly"),
        ("Cardiothoracic ratio above 0.50.", 0.5, "above 0.50"),
        ("Cardiothoracic ratio > 50 %.", 0.5, "> 50 %"),
        ("Heart size normal, cardiothoracic ratio 0.50.", 0.5, "size normal"),
        ("Herz vergrößert, Herz-Thorax-Quotient 0,50.", 0.5, "vergrößert"),
        ("Keine Kardiomegalie, Herz-Thorax-Quotient 0,50.", 0.5, "Keine Kardiomegalie"),
        ("Herz-Thorax-Quotient über 0,50.", 0.5, "über 0,50"),
        ("Cardiothoracic ratio 0.50, borderline.", 0.5, ""),
        ("Whether the heart is enlarged cannot be decided, ratio 0.50.", 0.5, ""),
        ("Heart enlarged, cardiothoracic ratio 0.45.", 0.45, "enlarged"),
        ("Heart not enlarged, cardiothoracic ratio 0.45, below 0.50.", 0.45, ""),
        ("Heart enlarged, cardiothoracic ratio 0.60, above 0.5.", 0.6, ""),
        ("Heart not enlarged on AP, cardiothoracic ratio 0.60.", 0.6, ""),
        ("Cardiothoracic ratio 0.60, below 0.50.", 0.6, "below 0.50"),
    ],
)
def test_the_heart_is_not_called_enlarged_or_normal_against_its_ratio(
    text: str, ratio: float, told: str
) -> None:
    pair = ratio_lines(1000 * ratio, 1000)
    draft = drafted(*pair).with_sentences("heart", [Sentence(text, tuple(one.id for one in pair))])
    found = check_report(draft, SUBJECT, {one.id: one for one in pair})
    assert [one.told for one in found if one.fault is Fault.RATIO] == ([told] if told else [])


def test_a_ratio_that_the_tool_could_not_decide_is_undecided_farther_from_the_cutoff() -> None:
    unsure = f"Heart width; cardiothoracic ratio about 0.54, {UNDECIDED} whether it is enlarged."
    heart, thorax = ratio_lines(540, 1000)
    text = "Cardiothoracic ratio 0.54, heart enlarged."
    assert faults(text, heart, thorax) == []
    assert faults(text, replace(heart, description=unsure), thorax) == [Fault.RATIO]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (f"Heart width 143.0 mm, thorax width {THORAX}.", True),
        ("Heart width 14.3 cm.", True),
        ("Herzbreite 143,0 mm, Thoraxbreite 275,0 mm.", True),
        (f"Heart width {HEART}.", False),
        ("In the detector plane: heart width 143.0 mm, thorax width 275.0 mm.", False),
        ("Heart width 143 mm, thorax width 275 mm, both in the detector plane.", False),
        (f"Heart and thorax measure 143 and 275 mm {PLANE}.", False),
        ("Herzbreite 143,0 mm in Detektorebene.", False),
    ],
)
def test_a_length_in_the_detector_plane_keeps_its_note(text: str, wrong: bool) -> None:
    assert set(faults(text, *PAIR)) == ({Fault.UNIT} if wrong else set())
    patient = [replace(one, units="mm (patient)") for one in PAIR]
    assert faults(text, *patient) == []


def test_sentences_that_rest_on_no_finding_are_listed() -> None:
    draft = drafted(NODULE)
    assert check_report(draft, SUBJECT, {NODULE.id: NODULE}) == ()
    for key, text in (
        *(("clinical", "Cough."), ("technique", "Supine."), ("lungs", "No nodules or masses.")),
        *(("pleura", "Small left pneumothorax."), ("comparison", "No change.")),
    ):
        section = draft.section(key)
        if section is not None:
            draft = draft.with_sentences(key, (*section.sentences, Sentence(text)))
    found = [one for one in check_report(draft, SUBJECT, {}) if one.fault is Fault.OWN]
    told = [draft.section(one.section).sentences[one.place].text for one in found]
    assert told == ["No change.", "Small left pneumothorax.", "No nodules or masses."]
