"""Names of structures."""

from __future__ import annotations

import pytest

from app.tools.api import ToolRetry
from app.tools.chest import organs


def test_nothing_asked_is_everything_available():
    assert organs.match(None, organs.EMBEDDED) == organs.EMBEDDED
    assert organs.match([], organs.ALL) == organs.ALL


@pytest.mark.parametrize("name", ["Left Lung", "left lung", " LEFT_LUNG ", "leftlung", "Left-Lung"])
def test_case_and_spaces_do_not_matter(name: str):
    assert organs.match([name], organs.ALL) == ("Left Lung",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lungs", ("Left Lung", "Right Lung")),
        ("Spinal Cord", ("Spine",)),
        ("esophagus", ("Weasand",)),
        ("diaphragm", ("Facies Diaphragmatica",)),
    ],
)
def test_common_names_are_understood(name: str, meant: tuple[str, ...]):
    assert organs.match([name], organs.ALL) == meant


def test_each_structure_comes_once_in_the_order_asked():
    assert organs.match(["Heart", "lungs", "left lung", "heart"], organs.ALL) == (
        "Heart",
        "Left Lung",
        "Right Lung",
    )


def test_a_near_name_is_offered():
    with pytest.raises(ToolRetry, match="Did you mean Left Clavicle"):
        organs.match(["left clavicl"], organs.ALL)


def test_a_strange_name_gets_the_whole_list():
    with pytest.raises(ToolRetry, match="Known structures: Left Clavicle"):
        organs.match(["xyzzy"], organs.ALL)


def test_the_names_are_the_networks_own():
    pytest.importorskip("torchxrayvision")
    from app.tools.chest.psp_net import STRUCTURES

    assert STRUCTURES == organs.ALL
