"""Hanging protocols: which one suits a study, what its viewports show, and broken files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.imaging.types import Instance, Series, Study
from app.paths import resources_dir
from app.workspace.hanging import (
    Arrangement,
    Protocol,
    Protocols,
    choose,
    parse_protocol,
    write_protocol,
)
from app.workspace.layout import LAYOUTS
from app.workspace.priors import age_of, is_same_person, priors_of
from tests.gui.viewer_support import instance


def image(uid: str, **attributes: str) -> Instance:
    attributes.setdefault("SeriesDescription", "")
    return instance(uid, 1, (80, 100), **attributes)


def series(number: int, description: str, modality: str, *images: Instance) -> Series:
    return Series(f"s.{number}", description, modality, number, images)


def study(
    *parts: Series,
    uid: str = "s",
    title: str = "",
    date: str = "20240131",
    patient: str = "Doe^Jane",
    ident: str = "4711",
) -> Study:
    return Study(uid, title, patient, ident, date, parts)


def shipped() -> list[Protocol]:
    protocols = Protocols()
    protocols.load()
    assert protocols.problems == []
    return protocols.all


def chosen(one: Study, *priors: Study) -> Arrangement | None:
    return choose(shipped(), one, priors)


def uids(arrangement: Arrangement | None) -> list[str]:
    assert arrangement is not None
    return [one.instance.sop_instance_uid if one.instance else "" for one in arrangement.hung]


def film(uid: str, view: str, **attributes: str) -> Instance:
    return image(uid, Modality="CR", BodyPartExamined="CHEST", ViewPosition=view, **attributes)


def test_every_shipped_protocol_is_read():
    files = sorted(one.stem for one in (resources_dir() / "hanging").glob("*.toml"))
    assert sorted(one.name for one in shipped()) == files
    assert len(files) >= 7


def test_a_frontal_and_a_lateral_film_of_the_chest_hang_side_by_side():
    one = study(series(1, "", "CR", film("lat", "LL")), series(2, "", "CR", film("pa", "PA")))
    found = chosen(one)
    assert uids(found) == ["pa", "lat"]
    assert found.protocol.name == "chest"
    assert found.why == "CR, chest"


def test_two_views_in_one_series_are_told_apart():
    one = study(series(1, "", "CR", film("a", "LATERAL"), film("b", "AP")))
    assert uids(chosen(one)) == ["b", "a"]


def test_a_view_by_its_code_counts():
    coded = image("pa", Modality="DX", BodyPartExamined="CHEST", ViewCodeSequence="SCT 272479007")
    side = image("l", Modality="DX", BodyPartExamined="CHEST", ViewCodeSequence="SCT 399173006")
    assert uids(chosen(study(series(1, "", "DX", side, coded)))) == ["pa", "l"]


def test_a_lone_film_keeps_its_one_viewport():
    assert chosen(study(series(1, "", "CR", film("pa", "PA")))) is None


def test_ct_of_the_chest_is_shown_in_three_windows():
    ct = series(1, "Thorax 5.0", "CT", image("ct1"), image("ct2"))
    found = chosen(study(ct))
    assert uids(found) == ["ct1", "ct1", "ct1"]
    windows = [(one.window.center, one.window.width) for one in found.hung if one.window]
    assert windows == [(40, 400), (-600, 1500), (400, 1800)]


def test_mr_sequences_hang_by_their_names():
    names = ["localizer", "AX FLAIR", "t2_tse_tra", "ep2d_diff_b1000", "T1 MPRAGE"]
    parts = [
        series(number, name, "MR", image(name, BodyPartExamined="BRAIN"))
        for number, name in enumerate(names, 1)
    ]
    assert uids(chosen(study(*parts))) == ["T1 MPRAGE", "t2_tse_tra", "AX FLAIR", "ep2d_diff_b1000"]


def breast(uid: str, side: str, view: str, across: str) -> Instance:
    return image(
        uid,
        Modality="MG",
        ViewPosition=view,
        ImageLaterality=side,
        PatientOrientation=f"{across}\\F",
    )


def test_mammograms_hang_with_their_chest_walls_in_the_middle():
    images = [
        breast("l-mlo", "L", "MLO", "A"),
        breast("r-cc", "R", "CC", "P"),
        breast("l-cc", "L", "CC", "P"),  # stored the wrong way round
        breast("r-mlo", "R", "MLO", "P"),
    ]
    parts = [series(number, "", "MG", one) for number, one in enumerate(images)]
    found = chosen(study(*parts))
    assert uids(found) == ["r-cc", "l-cc", "r-mlo", "l-mlo"]
    assert [one.flip for one in found.hung] == [False, True, False, False]


def test_the_current_study_hangs_beside_the_latest_prior_of_its_kind():
    def of(name: str, date: str, part: str = "ABDOMEN", modality: str = "CT") -> Study:
        one = series(1, "", modality, image(name, BodyPartExamined=part))
        return study(one, uid=name, date=date)

    now, mr = of("now", "20240131"), of("mr", "20231231", modality="MR")
    old, new = of("old", "20200101"), of("new", "20230101")
    head = of("head", "20231101", part="HEAD")
    every = [old, now, mr, head, new]
    assert uids(chosen(now, *priors_of(now, every))) == ["now", "new"]
    assert chosen(mr, *priors_of(mr, every)) is None


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"ident": "12"}, False),
        ({"ident": ""}, False),
        ({"patient": "DOE JANE"}, True),
        ({"patient": "Roe^Jane"}, False),
        ({"PatientSex": "M"}, True),
        ({"IssuerOfPatientID": "B"}, True),
    ],
)
def test_who_is_the_same_person(changes: dict[str, Any], same: bool):
    one = study(series(1, "", "CT", image("a")))
    said = {"patient": "PatientName", "ident": "PatientID"}
    named = {said.get(key, key): value for key, value in changes.items()}
    ident = str(changes.get("ident", "4711"))
    other = study(series(1, "", "CT", image("b", **named)), uid="o", ident=ident)
    assert is_same_person(one, other) is same


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"PatientBirthDate": "19600102"}, {"PatientBirthDate": "19710102"}),
        (
            {"PatientBirthDate": "19000101"},
            {"PatientBirthDate": "19000101", "PatientName": "Roe^R"},
        ),
        ({"PatientName": ""}, {"PatientName": ""}),
        ({"PatientName": "Anonymous"}, {"PatientName": "ANONYMOUS"}),
        ({"PatientSex": "F"}, {"PatientSex": "M"}),
        ({"IssuerOfPatientID": "A"}, {"IssuerOfPatientID": "B"}),
    ],
)
def test_what_contradicts_or_names_nobody_is_not_the_same_person(
    first: dict[str, str], second: dict[str, str]
):
    one = study(series(1, "", "CT", image("a", **first)))
    other = study(series(1, "", "CT", image("b", **second)), uid="o")
    assert not is_same_person(one, other)


def test_a_prior_of_another_part_of_the_body_is_not_hung():
    chest = study(series(1, "", "CR", film("pa", "PA")))
    knee = image("knee", Modality="CR", BodyPartExamined="KNEE", ViewPosition="AP")
    later = study(series(1, "", "CR", knee), uid="k", date="20230101")
    old = study(series(1, "", "CR", film("old", "PA")), uid="o", date="20220101")
    assert uids(chosen(chest, later, old)) == ["pa", "old"]
    assert chosen(chest, later) is None


def test_localizers_and_images_for_processing_are_not_hung():
    scout = series(
        1, "Topogram Thorax", "CT", image("scout", ImageType="ORIGINAL\\PRIMARY\\LOCALIZER")
    )
    ct = series(2, "Thorax 5.0", "CT", image("ct"))
    assert uids(chosen(study(scout, ct))) == ["ct", "ct", "ct"]
    raw = film("raw", "PA", SOPClassUID="1.2.840.10008.5.1.4.1.1.1.1.1")
    one = study(series(1, "", "DX", raw), series(2, "", "DX", film("pa", "PA"), film("l", "LL")))
    assert uids(chosen(one)) == ["pa", "l"]


def test_a_flair_is_not_taken_for_a_t2():
    names = ["T2 FLAIR", "t2_tse", "t1_mprage"]
    parts = [
        series(number, name, "MR", image(name, BodyPartExamined="HEAD"))
        for number, name in enumerate(names, 1)
    ]
    assert uids(chosen(study(*parts))) == ["t1_mprage", "t2_tse", "T2 FLAIR", ""]


@pytest.mark.parametrize(
    ("date", "age"),
    [
        ("20220130", (2, "years")),
        ("20230131", (1, "years")),
        ("20230201", (11, "months")),
        ("20240101", (30, "days")),
        ("20240130", (1, "days")),
        ("20240131", None),
        ("20250101", None),
        ("", None),
    ],
)
def test_a_prior_s_age(date: str, age: object):
    assert age_of(study(date=date), study(date="20240131")) == age


def test_a_user_s_own_protocol_goes_before_a_more_specific_shipped_one(tmp_path: Path):
    protocols = Protocols(tmp_path)
    rules = [{"modality": ["CT"]}, {"as": 1, "window": [300, 1500]}]
    protocols.save("own-ct", write_protocol("Mine", LAYOUTS["1x2"], {"modality": ["CT"]}, rules))
    found = choose(protocols.all, study(series(1, "Thorax", "CT", image("ct"))), [])
    assert found is not None
    assert (found.protocol.title, found.protocol.own) == ("Mine", True)
    assert found.hung[1].window.center == 300


def test_one_of_one_s_own_replaces_the_shipped_one_of_the_same_name(tmp_path: Path):
    text = (resources_dir() / "hanging" / "chest.toml").read_text("utf-8")
    (tmp_path / "chest.toml").write_text(text.replace("Chest: frontal", "Mine: frontal"), "utf-8")
    protocols = Protocols(tmp_path)
    protocols.load()
    assert [one.title for one in protocols.all if one.name == "chest"] == [
        "Mine: frontal and lateral"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "title = 3",
        "title = 'x'\nlayout = '9x9'\n[[viewport]]",
        "title = 'x'\nlayout = '1x2'\n[[viewport]]",
        "title = 'x'\nlayout = '1x1'\n[[viewport]]\nas = 1",
        "title = 'x'\nlayout = '1x1'\n[[viewport]]\nwindow = [40, 0]",
        "title = 'x'\nlayout = '1x1'\n[[viewport]]\nunknown = 1",
        "title = 'x'\nlayout = [[0, 0, 2, 1]]\n[[viewport]]",
        "title = 'x'\nlayout = [[0, 0, 0, 1]]\n[[viewport]]",
        "title = 'x'\nlayout = [[0.5, 0, 1, 1]]\n[[viewport]]",
        "title = 'x'\nlayout = '1x1'\n[[viewport]]\nwindow = [nan, 1]",
        "title = 'x'\nlayout = '1x1'\n[[viewport]]\nwindow = [1, inf]",
        "\x00\x01",
        "[" * 2000,
    ],
)
def test_a_broken_file_is_told_of_and_set_aside(tmp_path: Path, text: str):
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    protocols = Protocols(tmp_path)
    protocols.load()
    (problem,) = protocols.problems
    assert "not a hanging protocol" in problem.text
    assert str(tmp_path / "mine.toml") in problem.text
    assert not (tmp_path / "mine.toml").exists()
    assert (tmp_path / "mine.toml.broken").read_text("utf-8") == text
    assert len(protocols.all) == len(shipped())
    protocols.load()
    assert protocols.problems == []


def test_bytes_that_are_no_text_and_files_too_large_are_set_aside(tmp_path: Path):
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.toml").write_bytes(b"#" * 100_000)
    protocols = Protocols(tmp_path)
    protocols.load()
    assert len(protocols.problems) == 2


@given(st.text(max_size=60), st.sampled_from(list(LAYOUTS)))
def test_what_is_written_is_read_again(title: str, layout: str):
    slots = LAYOUTS[layout]
    rules = [{"words": [title]} for _ in slots]
    text = write_protocol(f"x{title}", slots, {"words": [title], "prior": True}, rules)
    back = parse_protocol(text, "x")
    assert back.slots == slots
    plain = "".join(one for one in title if one.isprintable())
    assert back.title == f"x{plain}"
    assert back.rules[0].words == ((plain,) if title else ("",))
