"""Groups and replicates of images: read from a table, folders or names; where unclear, none."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.groups import grouping, is_condition
from tests.support.cells_pack import micrograph, open_pictures

Found = dict[str, tuple[str, str]]


def found(folder: Path, *names: str) -> Found:
    return {
        file.relative_to(folder).as_posix(): (one.group, one.replicate)
        for file, one in grouping([folder / name for name in names]).members.items()
    }


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (
            ["control_1.tif", "control_2.tif", "treated-rep1.tif", "treated-rep2.tif"],
            [("control", "1"), ("control", "2"), ("treated", "1"), ("treated", "2")],
        ),
        (
            ["DMSO_03.tif", "DMSO_04.tif", "drugA_1.tif"],
            [("DMSO", "3"), ("DMSO", "4"), ("drugA", "1")],
        ),
        (
            ["Control rep1 field2.tif", "treated rep1 field2.tif"],
            [("Control", "1"), ("treated", "1")],
        ),
        (["control1_dapi.tif", "treated1_dapi.tif"], [("control", "1"), ("treated", "1")]),
        (["day7_1.tif", "day14_1.tif"], [("day7", "1"), ("day14", "1")]),
        (["control_1_dapi.tif", "treated_1_dapi.tif"], [("control", "1"), ("treated", "1")]),
        (["control_1_2.tif", "treated_1_2.tif"], [("control", ""), ("treated", "")]),
        (["wt.tif", "ko.tif"], [("wt", ""), ("ko", "")]),
    ],
)
def test_groups_by_names(tmp_path: Path, names: list[str], groups: list[tuple[str, str]]):
    assert list(found(tmp_path, *names).values()) == groups


@pytest.mark.parametrize(
    "names",
    [
        ("image_1.tif", "scan_1.tif", "scan_2.tif"),
        ("IM1.tif", "IM2.tif"),
        ("A01_s1.tif", "A01_s2.tif", "B01_s1.tif"),
        ("lung.tif", "liver.tif"),
        ("a_1.tif", "b_1.tif", "overview.tif"),
        ("control_1.tif",),
        ("mueller_1.tif", "schmidt_1.tif"),
    ],
)
def test_what_is_not_clear_is_no_group_and_the_reason_is_told(tmp_path: Path, names: list[str]):
    made = grouping([tmp_path / name for name in names])
    assert not made.members
    assert made.why.endswith(".")


def test_groups_by_folders_and_a_contradiction(tmp_path: Path):
    names = ["control/rep1/a.tif", "control/rep2/b.tif", "treated/rep1/a.tif"]
    assert list(found(tmp_path, *names).values()) == [
        ("control", "1"),
        ("control", "2"),
        ("treated", "1"),
    ]
    # A mere number in a folder may be a field of one sample.
    assert list(found(tmp_path, "ctrl/1.tif", "ctrl/2.tif", "drug/1.tif").values()) == [
        ("ctrl", ""),
        ("ctrl", ""),
        ("drug", ""),
    ]
    crossed = ["control/treated_1.tif", "control/control_1.tif", "treated/control_2.tif"]
    assert "different groups" in grouping([tmp_path / name for name in crossed]).why


def test_a_table_beside_the_images_alone_counts(tmp_path: Path):
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    (tmp_path / "plate.csv").write_text(
        "\ufefffile;group;replicate\nA01.tif;DMSO;1\nA02.tif;drug;1\n", encoding="utf-8"
    )
    assert found(tmp_path, "A01.tif", "A02.tif", "A03.tif") == {
        "A01.tif": ("DMSO", "1"),
        "A02.tif": ("drug", "1"),
    }
    assert grouping([tmp_path / "A01.tif", tmp_path / "A02.tif"]).source == "the table plate.csv"


def test_open_images_know_their_group(tmp_path: Path):
    paths = [micrograph(tmp_path / f"{name}.png") for name in ("ctrl_1", "ctrl_2", "drug_1")]
    images, notes = open_pictures(tmp_path / "out", *paths)
    assert images.groups() == {"ctrl": ("image-1", "image-2"), "drug": ("image-3",)}
    assert [(note["group"], note["replicate"]) for note in notes][1:] == [
        ("ctrl", "2"),
        ("drug", "1"),
    ]
    shot = images.resolve("image-3")
    assert (shot.group, shot.replicate) == ("drug", "1")
    alone, notes = open_pictures(tmp_path / "out", paths[0])
    assert alone.groups() == {}
    assert "group" not in notes[0]


def test_a_condition_is_no_persons_name():
    assert is_condition("control")
    assert is_condition("DMSO high dose")
    assert not any(map(is_condition, ("Mueller", "control_Mueller", "1234567", "control1234567")))
    assert not is_condition("12")
