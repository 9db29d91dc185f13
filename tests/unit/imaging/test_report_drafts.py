"""Reports are drafted from accepted findings and headers alone; templates are files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import SightlineError
from app.imaging.findings import Code, Finding, Measurement, Segments, State
from app.imaging.reports.checks import Fault, check_report
from app.imaging.reports.report_draft import Addendum, Sentence, Signature
from app.imaging.reports.report_subject import subject_of
from app.imaging.reports.sentences import draft_report, figure, name_in
from app.imaging.reports.templates import parse_template, template_for, templates
from app.imaging.reports.written_report import report_text, written_report
from app.imaging.types import Instance, Series, Study
from tests.unit.imaging.report_cases import SUBJECT, drafted, own_length, ratio_lines, tool_finding


def lines(draft: object, key: str) -> list[str]:
    section = draft.section(key)  # type: ignore[attr-defined]
    assert section is not None, key
    return [one.text for one in section.sentences]


def test_each_sentence_holds_the_ids_of_its_findings_and_only_their_figures() -> None:
    nodule, length = tool_finding(), own_length()
    draft = drafted(nodule, length, *ratio_lines())
    assert draft.template == "ct-chest"
    assert draft.section("lungs").sentences == (
        Sentence("Right Nodule: 12.3 mm (series 3, image 45).", ("right-nodule",)),
    )
    assert draft.section("heart").sentences == (
        Sentence(
            "Cardiothoracic ratio: 0.52, heart width 143.0 mm (detector plane), "
            "thorax width 275.0 mm (detector plane) (series 3, image 45).",
            ("heart-width", "thorax-width"),
        ),
    )
    assert lines(draft, "other") == ["Length: 23.0 mm (detector plane) (series 3, image 45)."]
    assert lines(draft, "impression") == ["Right Nodule.", "Cardiothoracic ratio: 0.52."]
    assert lines(draft, "technique") == [
        "CT Thorax.",
        "Slice thickness: 1.25 mm.",
        "Tube voltage: 120 kV.",
    ]
    assert lines(draft, "comparison") == ["CT Thorax of 2023-04-05."]
    assert lines(draft, "clinical") == []
    assert draft.cited() == ["heart-width", "thorax-width", "right-nodule", "length"]


def test_a_score_of_a_model_is_no_figure_of_a_report() -> None:
    draft = drafted(tool_finding(value=None, units=""))
    assert lines(draft, "lungs") == ["Right Nodule (series 3, image 45)."]
    assert "0.87" not in str(draft)


def test_german_reports_have_german_words_and_commas() -> None:
    draft = drafted(tool_finding("Nodule"), own_length(), *ratio_lines(), language="de")
    assert draft.title == "CT-Thorax"
    assert lines(draft, "lungs") == ["Rundherd: 12,3 mm (Serie 3, Bild 45)."]
    assert lines(draft, "other") == ["Länge: 23,0 mm (Detektorebene) (Serie 3, Bild 45)."]
    assert lines(draft, "impression") == ["Rundherd.", "Herz-Thorax-Quotient: 0,52."]
    assert lines(draft, "comparison") == ["CT Thorax vom 05.04.2023."]
    assert [one.title for one in draft.sections][-1] == "Beurteilung"


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("Right Nodule", "Rundherd rechts"),
        ("left pleural effusion", "Pleuraerguss links"),
        ("Right Lung", "Rechte Lunge"),
        ("Right zebra", "Right zebra"),
    ],
)
def test_german_names_with_a_side(label: str, shown: str) -> None:
    assert name_in("de", label) == shown


def test_an_outlined_structure_and_a_bare_measurement_are_no_impression() -> None:
    draft = drafted(tool_finding("Left Lung"), own_length(), tool_finding("Pneumonia"))
    assert lines(draft, "impression") == ["Pneumonia."]


def test_equal_findings_are_one_line_of_the_impression() -> None:
    same = [tool_finding("Nodule", id=f"n{k}") for k in range(3)]
    draft = drafted(*same)
    assert draft.section("impression").sentences == (Sentence("Nodule (3).", ("n0", "n1", "n2")),)


def test_very_many_findings_of_a_kind_are_summed_up() -> None:
    many = [tool_finding("Nodule", id=f"n{k}", value=3.0 + k / 2) for k in range(40)]
    draft = drafted(*many, own_length())
    ids = tuple(one.id for one in many)
    assert draft.section("lungs").sentences == (
        Sentence("Nodule (40): minimum 3.00 mm, maximum 22.5 mm.", ids),
    )
    assert draft.section("impression").sentences == (Sentence("Nodule (40).", ids),)
    accepted = {one.id: one for one in (*many, own_length())}
    assert check_report(draft, SUBJECT, accepted) == ()
    [missing] = check_report(draft, SUBJECT, accepted | {"x": tool_finding("Nodule", id="x")})
    assert (missing.fault, missing.finding) == ("missing", "x")


def test_the_coded_site_is_told_and_chooses_the_section() -> None:
    site = Code("41224006", "SCT", "Structure of lower lobe of left lung")
    draft = drafted(tool_finding("Ground glass", site=site))
    assert lines(draft, "lungs") == [
        "Ground glass, Structure of lower lobe of left lung: 12.3 mm (series 3, image 45)."
    ]


@pytest.mark.parametrize(
    ("value", "units", "shown"),
    [
        (0.5234, "ratio", "0.52"),
        (9.527, "mm", "9.53"),
        (143.24, "mm", "143.2"),
        (1843.6, "mm²", "1844"),
        (4.0, "objects", "4"),
    ],
)
def test_figures(value: float, units: str, shown: str) -> None:
    assert figure(value, units) == shown


@pytest.mark.parametrize(
    ("modality", "words", "name"),
    [
        ("DX", "thorax pa", "chest-radiograph"),
        ("CR", "hand", "radiograph"),
        ("CT", "abdomen", "ct"),
        ("CT", "chest", "ct-chest"),
        ("MR", "knee", "mr"),
        ("MG", "screening", "mammography"),
        ("US", "abdomen", "ultrasound"),
        ("SM", "", "general"),
    ],
)
def test_each_modality_has_its_template(modality: str, words: str, name: str) -> None:
    known, problems = templates()
    assert problems == []
    found = template_for(replace(SUBJECT, modality=modality, words=words), known)
    assert found.name == name
    assert found.sections[-1].kind == "impression"
    for language in ("en", "de"):
        assert all(one.title(language) for one in found.sections)
    assert found.title("de") != found.title("en")


def test_a_template_of_the_site_replaces_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "ct.toml").write_text(
        'title = "Our CT"\nmodalities = ["CT"]\n[[section]]\nkey = "f"\nkind = "findings"\n'
        'title = "All"\n'
    )
    (tmp_path / "bad.toml").write_text('title = "x"\n[[section]]\nkey = "a"\nkind = "b"\n')
    known, [problem] = templates(tmp_path)
    [ours] = [one for one in known if one.name == "ct"]
    assert ours.title("de") == "Our CT"
    assert 'the kind of section "a" is none of' in problem.reason
    draft = draft_report(SUBJECT, (tool_finding(),), ours, "en")
    assert [one.key for one in draft.sections] == ["f"]
    assert len(draft.sections[0].sentences) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('title = "x"', r"no \[\[section\]\]"),
        ('[[section]]\nkey="a"\nkind="findings"\ntitle="A"', "the template has no title"),
        ('title="x"\n[[section]]\nkind="findings"\ntitle="A"', "a section has no key"),
        ('title="x"\nwords=3\n[[section]]\nkey="a"\nkind="findings"\ntitle="A"', "list of texts"),
    ],
)
def test_a_wrong_template_is_told(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_template(text, "x")


def test_technique_is_what_the_headers_say() -> None:
    common = {"Modality": "DX", "BodyPartExamined": "CHEST", "PatientID": "1"}
    images = tuple(
        Instance(
            Path(f"/{view}.dcm"), view, "dicom", 9, 9, attributes={**common, "ViewPosition": view}
        )
        for view in ("PA", "LL")
    )
    series = Series("1.1", "", "DX", 2, images)
    study = Study("1", "Thorax 2 views", "", "1", "20240101", (series,))
    subject = subject_of(study, images[1:], lambda _image: (series, 1))
    assert subject.technique == (("study", "Thorax 2 views"), ("views", "pa, lateral"))
    assert subject.places == {"LL": (2, 2)}
    draft = drafted(subject=subject)
    assert lines(draft, "technique") == ["Thorax 2 views.", "Views: PA, lateral."]
    assert lines(draft, "comparison") == ["No earlier study was compared."]


def test_text_of_a_draft_and_of_a_signed_report() -> None:
    nodule = tool_finding()
    draft = drafted(nodule, own_length())
    accepted = {one.id: one for one in (nodule, own_length())}
    text = report_text(written_report(draft, SUBJECT, accepted))
    assert text.count("Draft, not signed") == 2
    assert "Patient:       Müller, Änne" in text
    assert "LUNGS\nRight Nodule: 12.3 mm (series 3, image 45).\n" in text
    assert "Found by find nodules (net-1), accepted by Dr Roe: Right Nodule." in text
    assert "Measured or marked by hand: Length." in text
    signed = replace(draft, signature=Signature("Dr Jane Roe", "2024-03-04T10:11:12+01:00"))
    signed = replace(
        signed,
        addenda=(
            Addendum("Seen again.", Signature("Dr Kern", "2024-03-05T08:00:00+01:00")),
            Addendum("not yet signed"),
        ),
    )
    written = written_report(signed, SUBJECT, accepted)
    text = report_text(written)
    assert written.status == "appended"
    assert "Signed by Dr Jane Roe, 2024-03-04 10:11 (UTC+01:00)" in text
    assert "Draft" not in text
    assert "Seen again." in text
    assert "not yet signed" not in text


@pytest.mark.parametrize("state", [State.REJECTED, State.PROPOSED])
def test_what_is_no_longer_accepted_is_in_no_text(state: State) -> None:
    gone, stays = tool_finding("Left Mass"), tool_finding()
    draft = drafted(gone, stays)
    accepted = {one.id: one for one in (replace(gone, state=state), stays) if one.state != state}
    text = report_text(written_report(draft, SUBJECT, accepted))
    assert "Right Nodule" in text
    assert "Mass" not in text
    signed = replace(draft, signature=Signature("Dr Roe", "2024-03-04T10:11:12+01:00"))
    with pytest.raises(SightlineError, match="no longer accepted"):
        written_report(signed, SUBJECT, accepted)


def paired(label: str = "Prior, left nodule 1 (larger)", **fields: object) -> Finding:
    """Return a region of an earlier study that a comparison has paired, as the chest pack does."""
    now = Measurement("Longer side", 21.0, "mm", "detector plane")
    then = replace(now, name="Longer side, prior", value=16.0, date="20230405")
    known = {"measurements": (now, then), "rests_on": ("Left nodule",), "value": None, "units": ""}
    return tool_finding(label, **(known | fields))


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            "Left nodule: 21.0 mm (detector plane), 16.0 mm (detector plane) on 2023-04-05 "
            "(series 3, image 45).",
        ),
        (
            "de",
            "Rundherd links: 21,0 mm (Detektorebene), 16,0 mm (Detektorebene) am 05.04.2023 "
            "(Serie 3, Bild 45).",
        ),
    ],
)
def test_what_was_paired_with_an_earlier_study_is_comparison(language: str, told: str) -> None:
    pair, own = paired(), tool_finding("Left nodule", value=21.0)
    draft = drafted(own, pair, language=language)
    assert draft.section("comparison").sentences[1:] == (Sentence(told, (pair.id,)),)
    assert "Prior" not in str(draft.sections)
    accepted = {one.id: one for one in (own, pair)}
    assert check_report(draft, SUBJECT, accepted) == ()
    assert "Prior" not in report_text(written_report(draft, SUBJECT, accepted))
    wrong = draft.with_sentences("comparison", [Sentence(told.replace("16", "19"), (pair.id,))])
    found = [one for one in check_report(wrong, SUBJECT, accepted) if one.fault is Fault.NUMBER]
    assert [(one.section, one.finding) for one in found] == [("comparison", pair.id)]
    del accepted[pair.id]
    struck = [one for one in check_report(draft, SUBJECT, accepted) if one.fault is Fault.STRUCK]
    assert [one.section for one in struck] == ["comparison", "impression"]
    assert "16" not in report_text(written_report(draft, SUBJECT, accepted))


def test_the_impression_tells_a_change_once() -> None:
    change = "Left nodule: 21.0 mm (detector plane), 16.0 mm (detector plane) on 2023-04-05."
    pair, own = paired(), tool_finding("Left nodule", value=21.0)
    for findings in ((pair,), (own, pair)):
        draft = drafted(*findings)
        assert draft.section("impression").sentences == (
            Sentence(change, tuple(one.id for one in findings)),
        )
        assert check_report(draft, SUBJECT, {one.id: one for one in findings}) == ()
    several = drafted(own, replace(own, id="n2"), pair)
    assert lines(several, "impression") == ["Left nodule (2).", change]


def test_of_several_findings_the_paired_one_is_told_with_its_change_only() -> None:
    """Two nodules, of which one was there before, are two lines and no third nodule."""
    change = "Left nodule: 21.0 mm (detector plane), 16.0 mm (detector plane) on 2023-04-05."
    own, other = (tool_finding("Left nodule", id=key, value=21.0) for key in ("n1", "n2"))
    pair = paired(partners=("n1",))
    every = {one.id: one for one in (own, other, pair)}
    draft = drafted(*every.values())
    assert draft.section("impression").sentences == (
        Sentence("Left nodule.", ("n2",)),
        Sentence(change, ("n1", pair.id)),
    )
    assert check_report(draft, SUBJECT, every) == ()
    second = paired(id="p2", partners=("n2",))
    assert lines(drafted(own, other, pair, second), "impression") == [change, change]
    # Another name on the prior, and a change of what nobody has accepted here.
    named = replace(pair, rests_on=("Lesion",))
    assert lines(drafted(own, named), "impression") == [change.replace("Left nodule", "Lesion")]
    gone = paired(measurements=(paired().measurements[1],))
    assert lines(drafted(own, gone), "impression") == [
        "Left nodule.",
        "Left nodule: 16.0 mm (detector plane) on 2023-04-05, not marked on this study.",
    ]
    foreign = replace(pair, partners=("n9",))
    assert lines(drafted(own, foreign), "impression") == ["Left nodule.", change]
    many = [tool_finding("Left nodule", id=f"n{n}", value=21.0) for n in range(1, 15)]
    assert lines(drafted(*many, pair), "impression") == ["Left nodule (13).", change]


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (
            "en",
            "Cardiothoracic ratio: about 0.56 on 2024-01-02, about 0.48 on 2023-04-05 "
            "(series 3, image 45).",
        ),
        (
            "de",
            "Herz-Thorax-Quotient: ca. 0,56 am 02.01.2024, ca. 0,48 am 05.04.2023 "
            "(Serie 3, Bild 45).",
        ),
    ],
)
def test_a_ratio_with_its_earlier_value_is_told_once_among_the_findings(
    language: str, told: str
) -> None:
    now = Measurement("Cardiothoracic ratio", 0.56, "ratio")
    then = replace(now, name="Cardiothoracic ratio, prior", value=0.48, date="20230405")
    change = tool_finding(
        "Cardiothoracic ratio",
        geometry=Segments(((1.0, 1.0), (9.0, 1.0), (0.0, 2.0), (17.0, 2.0))),
        units="ratio",
        value=0.56,
        approximate=True,
        measurements=(now, then),
    )
    draft = drafted(change, language=language)
    findings = [one for each in draft.sections if each.kind == "findings" for one in each.sentences]
    assert findings == [Sentence(told, (change.id,))]
    assert len(draft.section("comparison").sentences) == 1
    assert len(draft.section("impression").sentences) == 1
    assert check_report(draft, SUBJECT, {change.id: change}) == ()
    small = replace(change, value=0.44, measurements=(replace(now, value=0.44), then))
    against = "Heart enlarged." if language == "en" else "Das Herz ist vergrößert."
    wrong = drafted(small).with_sentences("impression", [Sentence(against, (small.id,))])
    found = check_report(wrong, SUBJECT, {small.id: small})
    assert [one.fault for one in found] == [Fault.RATIO]
    # Where the ratio itself was accepted, too, its change stands under the comparison.
    own = ratio_lines(140.0, 250.0)
    both = drafted(*own, change, language=language)
    assert both.section("comparison").sentences[1:] == (Sentence(told, (change.id,)),)
    assert len(both.section("impression").sentences) == 1


def test_pairs_that_cannot_be_compared_or_are_gone_say_so() -> None:
    then = paired().measurements[1]
    gone = paired(measurements=(then,))
    assert lines(drafted(gone), "comparison")[1] == (
        "Left nodule: 16.0 mm (detector plane) on 2023-04-05, not marked on this study "
        "(series 3, image 45)."
    )
    undated = paired(approximate=True, measurements=(replace(then, date="unknown"),))
    assert (
        "about 16.0 mm (detector plane) before, not marked"
        in lines(drafted(undated), "comparison")[1]
    )
    for one in (gone, undated):
        assert check_report(drafted(one), SUBJECT, {one.id: one}) == ()


def test_an_earlier_study_that_is_opened_later_is_pointed_out() -> None:
    draft = drafted(tool_finding(), subject=replace(SUBJECT, priors=()))
    draft = draft.with_sentences("impression", [Sentence("Nodule.", (tool_finding().id,))])
    accepted = {one.id: one for one in (tool_finding(),)}
    [check] = check_report(draft, SUBJECT, accepted)
    assert (check.fault, check.told) == (Fault.UNCOMPARED, "CT Thorax of 2023-04-05.")
    named = draft.with_sentences("comparison", [Sentence("CT vom 05.04.2023.")])
    assert check_report(named, SUBJECT, accepted) == ()


def test_no_file_holds_what_is_no_text() -> None:
    said = Sentence("Line\x00 of\x1b[31m \ud800 Ümläut נץ.")
    draft = drafted().with_sentences("other", [said])
    written = written_report(draft, SUBJECT, {})
    assert "Line of [31m Ümläut נץ." in report_text(written).encode().decode()
