"""Which view a file says that it is, by any of the three attributes that may say it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.tools.api import ToolFailed
from app.tools.chest import image_suitability
from app.tools.chest.image_suitability import Position
from tests.unit.imaging.files import item
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, write_dicom

PA, AP = "272479007", "399348003"
LEFT_LATERAL, FORMER_LATERAL = "399173006", "R-10236"
LEFT_OBLIQUE, AXIAL, OCCLUSAL = "399184004", "399061009", "260499007"
NOTHING: dict[str, Any] = {"ViewPosition": None}


def coded(value: str, scheme: str = "SCT") -> dict[str, Any]:
    code = item(CodeValue=value, CodingSchemeDesignator=scheme, CodeMeaning="of no matter")
    return {"ViewCodeSequence": [code]}


def admit(bench: Bench, **attributes: Any) -> image_suitability.Suitability:
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **(NOTHING | attributes)))
    return image_suitability.check(bench.images.resolve("image-1"))


@pytest.mark.parametrize(
    ("attributes", "position"),
    [
        ({"ViewPosition": "PA"}, "PA"),
        ({"ViewPosition": "AP"}, "AP"),
        (coded(PA), "PA"),
        (coded(AP), "AP"),
        (coded("R-40888", "SRT"), "PA"),
        (coded("R-10206", "SNM3"), "AP"),
        ({"PatientOrientation": ["L", "F"]}, "unknown"),
        ({"PatientOrientation": ["L", "F"], **coded(PA)}, "PA"),
        ({"ViewPosition": "AP", "PatientOrientation": ["R", "F"], **coded(AP)}, "AP"),
        (coded("399033003"), "unknown"),
        (coded(PA, "99MAKER"), "unknown"),
    ],
)
def test_a_frontal_view_is_known_by_whichever_attribute_says_it(
    bench: Bench, attributes: dict[str, Any], position: Position
):
    assert admit(bench, **attributes) == image_suitability.Suitability(position, ())


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        (coded(LEFT_LATERAL), "this is a lateral view"),
        (coded(FORMER_LATERAL, "SRT"), "this is a lateral view"),
        ({"PatientOrientation": ["P", "F"]}, "this is a lateral view"),
        ({"ViewPosition": "L LAT"}, "this is a lateral view"),
        (coded(LEFT_OBLIQUE), "this is an oblique view"),
        ({"ViewPosition": "AP OBLIQUE"}, "this is an oblique view"),
        (coded(AXIAL), "taken along the body"),
        (coded(OCCLUSAL), "view is not from the front"),
    ],
)
def test_any_other_view_is_refused_by_whichever_attribute_says_it(
    bench: Bench, attributes: dict[str, Any], why: str
):
    with pytest.raises(ToolFailed, match=why) as caught:
        admit(bench, **attributes)
    assert "contradicts" not in caught.value.reason


TERMS = [
    "LATERAL LEFT",
    "LAT UPRIGHT",
    "AP/LAT",
    "PA LATERAL",
    "LLAT",
    "SEITLICH",
    "AP_LAT",
    "LAT.",
]


@pytest.mark.parametrize("term", TERMS)
def test_a_lateral_is_one_however_its_term_goes_on(bench: Bench, term: str):
    """The orientation is often one preset for all films: it does not make a frontal film of it."""
    with pytest.raises(ToolFailed, match="this is a lateral view"):
        admit(bench, ViewPosition=term, PatientOrientation=["L", "F"])


@pytest.mark.parametrize(
    ("term", "position"),
    [("PA UPRIGHT", "PA"), ("PA_ERECT", "PA"), ("AP SUPINE", "AP"), ("AP-PORTABLE", "AP")],
)
def test_what_stands_behind_pa_and_ap_changes_nothing(bench: Bench, term: str, position: Position):
    assert admit(bench, ViewPosition=term) == image_suitability.Suitability(position, ())


@pytest.mark.parametrize("term", ["LAT DECUBITUS", "AP DECUB", "LLD"])
def test_a_lateral_decubitus_film_is_no_lateral(bench: Bench, term: str):
    (warning,) = admit(bench, ViewPosition=term).warnings
    assert warning.startswith("a decubitus view")


@pytest.mark.parametrize("term", ["BILATERAL", "PANORAMA", "PLATE", "FLAT"])
def test_a_term_that_only_has_the_letters_says_nothing(bench: Bench, term: str):
    assert admit(bench, ViewPosition=term).position == "unknown"


@pytest.mark.parametrize(
    ("attributes", "sides"),
    [
        (
            {"ViewPosition": "PA", **coded(LEFT_LATERAL)},
            ("view code says lateral", "ViewPosition says PA"),
        ),
        (
            {"ViewPosition": "LL", **coded(AP)},
            ("ViewPosition says lateral", "view code says AP"),
        ),
        (
            {"ViewPosition": "PA", "PatientOrientation": ["A", "F"]},
            ("orientation says lateral", "ViewPosition says PA"),
        ),
        (
            {"PatientOrientation": ["L", "F"], **coded(LEFT_LATERAL)},
            ("view code says lateral", "orientation says frontal"),
        ),
        ({"ViewPosition": "RAO", **coded(PA)}, ("ViewPosition says oblique", "view code says PA")),
    ],
)
def test_what_is_called_frontal_and_something_else_is_asked_about_with_both(
    bench: Bench, attributes: dict[str, Any], sides: tuple[str, str]
):
    with pytest.raises(ToolFailed, match="it contradicts itself") as caught:
        admit(bench, **attributes)
    assert all(side in caught.value.reason for side in sides)


def test_an_oblique_films_rows_contradict_nothing(bench: Bench):
    with pytest.raises(ToolFailed, match="oblique") as caught:
        admit(bench, PatientOrientation=["L", "F"], **coded(LEFT_OBLIQUE))
    assert "contradicts" not in caught.value.reason


@pytest.mark.parametrize("codes", [(PA, LEFT_LATERAL), ("", PA, LEFT_LATERAL)])
def test_no_item_of_several_view_codes_is_passed_over(bench: Bench, codes: tuple[str, ...]):
    items = [coded(code)["ViewCodeSequence"][0] for code in codes]
    with pytest.raises(ToolFailed, match="this is a lateral view"):
        admit(bench, ViewCodeSequence=items)


def test_an_empty_item_before_the_view_code_hides_nothing(bench: Bench):
    items = [coded(code)["ViewCodeSequence"][0] for code in ("", PA)]
    assert admit(bench, ViewCodeSequence=items).position == "PA"


def test_a_film_called_both_pa_and_ap_is_of_unknown_view_with_a_warning(bench: Bench):
    suitability = admit(bench, ViewPosition="PA", **coded(AP))
    assert suitability.position == "unknown"
    (warning,) = suitability.warnings
    assert warning.endswith("contradicts itself: its ViewPosition says PA, its view code says AP")


def test_a_decubitus_film_taken_from_the_front_is_no_contradiction(bench: Bench):
    suitability = admit(bench, ViewPosition="LLD", **coded(AP))
    assert suitability.position == "unknown"
    (warning,) = suitability.warnings
    assert warning.startswith("a decubitus view")


@pytest.mark.parametrize(
    ("attributes", "stopped"),
    [
        ({}, True),
        ({"ViewPosition": "PA"}, False),
        (coded(PA), False),
        ({"PatientOrientation": ["L", "F"]}, False),
        (coded(PA, "99MAKER"), True),
    ],
)
def test_a_chest_film_of_no_stated_view_that_looks_like_a_lateral_is_asked_about(
    bench: Bench, attributes: dict[str, Any], stopped: bool
):
    # Looks are kept for each picture: another one for each case.
    pixels = radiograph(200 + len(str(attributes)), 240 + 2 * stopped)
    bench.open(write_dicom(bench.folder / "a.dcm", pixels, **(NOTHING | attributes)))
    host = Lateral()
    context = replace(bench.context(), host=host)
    snapshot = bench.images.resolve("image-1")
    if stopped:
        with pytest.raises(ToolFailed, match="looks like a lateral view"):
            image_suitability.check(snapshot, context)
    else:
        assert (
            "looks like a lateral view" in image_suitability.check(snapshot, context).warnings[-1]
        )
    assert host.looked


class Lateral:
    """A model process whose network sees a lateral."""

    looked = 0

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        self.looked += 1
        return {"view": "lateral", "certainty": 0.97}
