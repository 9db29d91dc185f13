"""chest_xray_compare: planted shifts and turns recovered, what is comparable and what is not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from app.agent.answers.german import in_german
from app.errors import Cancelled
from app.imaging.findings import Box, Finding, Mask, Polygon, Provenance, Segments, State, new_id
from app.imaging.space.geometry import edge_letters
from app.imaging.types import Spacing, SpacingSource
from app.tools.api import (
    CancelToken,
    ModelHost,
    ToolContext,
    ToolFailed,
    ToolResult,
    ToolRetry,
)
from app.tools.chest import comparison, image_suitability, registration
from app.tools.chest.compare import ChestXRayCompare, CompareInput
from app.tools.chest.comparison import XRay
from app.tools.chest.model_pictures import MIRRORED_NOTE
from app.tools.chest.registration import View, register, resample
from app.tools.chest.result_wording import WORDINGS
from app.tools.chest.segmenter import Segmenter
from app.tools.models.cards import card
from tests.unit.tools.chest.synthetic import masks
from tests.unit.tools.support import Bench, write_dicom

ROWS, COLUMNS = 240, 200
LUNGS = ("Right Lung", "Left Lung")


def chest(rows: int = ROWS, columns: int = COLUMNS, heart: float = 1.0) -> dict[str, np.ndarray]:
    """A drawn chest with the ribs' and vessels' texture ("pixels", float 0..255) and its masks."""
    found = masks(rows, columns)
    y, x = np.mgrid[:rows, :columns] / np.array([rows, columns]).reshape(2, 1, 1)
    wide = ((x - 0.54) / (0.2 * heart)) ** 2 + ((y - 0.6) / 0.18) ** 2 < 1
    lungs = {name: (found[name] | found["Heart"]) & ~wide & _side(name, x) for name in LUNGS}
    pixels = np.full((rows, columns), 150.0)
    pixels[lungs["Right Lung"] | lungs["Left Lung"]] = 60
    pixels[wide] = 210
    texture = np.random.default_rng(4).normal(0, 70, (rows, columns))
    pixels = ndimage.gaussian_filter(pixels, 1) + ndimage.gaussian_filter(texture, 4)
    return {"pixels": pixels, "Heart": wide, **lungs}


def _side(name: str, x: np.ndarray) -> np.ndarray:
    return x < 0.5 if name == "Right Lung" else x >= 0.5


def planted(degrees: float, scale: float, shift: tuple[float, float]) -> np.ndarray:
    """[3, 3]: pixels of the current image to those of the prior, about the image's middle."""
    turn = math.radians(degrees)
    linear = scale * np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    middle = np.array([(COLUMNS - 1) / 2, (ROWS - 1) / 2])
    matrix = np.eye(3)
    matrix[:2, :2] = linear
    matrix[:2, 2] = middle + shift - linear @ middle
    return matrix


def moved(image: np.ndarray, matrix: np.ndarray, order: int = 3) -> np.ndarray:
    """The prior image: what lies at p in the current one lies at `matrix` p in it (scipy)."""
    back = np.linalg.inv(matrix)
    swap = np.array([[0, 1], [1, 0]])
    linear, offset = swap @ back[:2, :2] @ swap, swap @ back[:2, 2]
    turned: Any = ndimage.affine_transform
    return turned(image, linear, offset, order=order, mode="nearest")


def pair(degrees: float, scale: float, shift: tuple[float, float]) -> tuple[View, View, np.ndarray]:
    """Current and prior view; the prior darker, noisier, and moved."""
    now = chest()
    matrix = planted(degrees, scale, shift)
    lungs = now["Right Lung"] | now["Left Lung"]
    noise = np.random.default_rng(5).normal(0, 3, lungs.shape)
    then = moved(now["pixels"], matrix) * 0.8 + 15 + noise
    old_lungs = moved(lungs.astype(float), matrix, 1) > 0.5
    return (
        View(_bytes(now["pixels"]), lungs, (1.0, 1.0)),
        View(_bytes(then), old_lungs, (1.0, 1.0)),
        matrix,
    )


def _bytes(pixels: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("degrees", "scale", "shift"),
    [
        (0, 1, (0, 0)),
        (0, 1, (7.3, -4.6)),
        (6, 1, (0, 0)),
        (-8, 1.08, (9.5, 6.25)),
        (3, 0.92, (-12, 4)),
    ],
)
def test_a_planted_movement_is_recovered_to_half_a_pixel(
    degrees: float, scale: float, shift: tuple[float, float]
):
    current, prior, matrix = pair(degrees, scale, shift)
    fit = register(current, prior)
    y, x = np.nonzero(current.lungs)
    points = np.stack([x, y, np.ones_like(x)])
    error = np.hypot(*((fit.matrix - matrix) @ points)[:2])
    assert error.max() < 0.5
    assert fit.degrees == pytest.approx(degrees, abs=0.2)
    assert fit.scale == pytest.approx(scale, abs=0.005)
    assert fit.overlap > 0.98
    assert fit.overlap >= fit.before - 0.001


def test_with_spacings_that_differ_pixels_are_recovered_all_the_same():
    """The prior has pixels of half the size in each direction: four times as many."""
    current, prior, _ = pair(0, 1, (5, -3))
    fine = View(
        np.repeat(np.repeat(prior.pixels, 2, 0), 2, 1),
        np.repeat(np.repeat(prior.lungs, 2, 0), 2, 1),
        (0.5, 0.5),
    )
    fit = register(current, fine)
    assert fit.scale == pytest.approx(1.0, abs=0.01)
    # Pixel (x, y) of the coarse image has its centre at (2 x + 0.5, 2 y + 0.5) of the fine one.
    assert np.allclose(fit.matrix[:2, :2], 2 * np.eye(2), atol=0.02)
    assert np.allclose(fit.matrix @ [100, 120, 1], [2 * 105 + 0.5, 2 * 117 + 0.5, 1], atol=1)


def test_an_image_is_drawn_through_a_transform_as_scipy_draws_it():
    current, _, matrix = pair(5, 1.05, (3, 4))
    ours = resample(current.pixels, np.linalg.inv(matrix), current.pixels.shape)
    theirs = moved(current.pixels.astype(float), matrix, 1)
    inside = (slice(30, -30), slice(30, -30))
    assert np.abs(ours[inside] - theirs[inside]).max() <= 1


def test_where_greys_lead_astray_the_outlines_are_taken():
    """The prior's greys are another picture's; its lungs are right."""
    current, prior, _ = pair(0, 1, (6, 0))
    other = np.random.default_rng(9).integers(0, 255, prior.pixels.shape).astype(np.uint8)
    fit = register(current, replace(prior, pixels=ndimage.uniform_filter(other, 25)))
    assert fit.overlap > 0.9


def test_a_cancel_stops_the_registration_where_it_is():
    current, prior, _ = pair(4, 1, (5, 5))
    told: list[float] = []

    def progress(fraction: float, text: str) -> None:
        told.append(fraction)
        if len(told) == 5:
            raise Cancelled

    payload = {
        name: {"pixels": view.pixels, "lungs": view.lungs.astype(np.uint8), "spacing": [1, 1]}
        for name, view in (("current", current), ("prior", prior))
    }
    with pytest.raises(Cancelled):
        registration.entry(payload, progress)
    assert len(told) == 5


def test_it_runs_in_the_model_process(model_process: ModelHost):
    current, prior, matrix = pair(0, 1, (7.3, -4.6))
    payload = {
        name: {"pixels": view.pixels, "lungs": view.lungs.astype(np.uint8), "spacing": [1, 1]}
        for name, view in (("current", current), ("prior", prior))
    }
    answer = model_process.call(
        "app.tools.chest.registration:entry",
        {**payload, "device": "cpu"},
        cancel=CancelToken(),
        timeout_s=60,
    )
    assert np.allclose(np.array(answer["matrix"])[:2, 2], matrix[:2, 2], atol=0.5)
    assert answer["registered"].shape == (ROWS, COLUMNS)


class Chests:
    """The model process: outlines as drawn; the registration itself, or an answer as planted."""

    def __init__(self) -> None:
        self.known: list[tuple[np.ndarray, dict[str, np.ndarray]]] = []
        self.calls: list[str] = []
        self.registers = False
        self.changes: dict[str, Any] = {}
        self.fails = ""

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        self.calls.append(entry)
        if self.fails and self.fails in entry:
            raise ToolFailed("it broke")
        if "registration" in entry:
            return self.laid(payload)
        pixels = payload["pixels"]
        if entry.endswith(":look_entry"):
            return {"view": "frontal", "certainty": 1.0}
        drawn = min(self.known, key=lambda one: _distance(one[0], pixels))[1]
        return {
            "masks": {name: drawn[name].astype(np.uint8) for name in (*LUNGS, "Heart")},
            "confidence": dict.fromkeys((*LUNGS, "Heart"), 0.95),
            "warnings": [],
            "refused": None,
            "view": "frontal",
        }

    def laid(self, payload: Any) -> dict[str, Any]:
        if self.registers:
            return registration.entry(dict(payload), lambda fraction, text: None)
        return {
            "matrix": np.eye(3).tolist(),
            "degrees": 0.0,
            "scale": 1.0,
            "overlap": 0.97,
            "before": 0.95,
            "by": "greys",
            "registered": payload["prior"]["pixels"],
            **self.changes,
        }


def _distance(known: np.ndarray, seen: np.ndarray) -> float:
    if known.shape != seen.shape:
        return math.inf
    return float(np.abs(known.astype(float) - seen).mean())


class Pair:
    """Two radiographs open in a bench; the first is the current one."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.host = Chests()
        bench.host = self.host
        self.asked: list[str] = []
        self.kept: list[Any] = []
        self.yes = False

    def open(self, drawn: dict[str, np.ndarray], **attributes: Any) -> None:
        pixels = _bytes(drawn["pixels"])
        self.host.known.append((pixels, drawn))
        attributes = {
            "PixelSpacing": [1.0, 1.0],
            "StudyDate": f"2021010{len(self.bench.opened) + 1}",
            "WindowCenter": 128,
            "WindowWidth": 256,
            **attributes,
        }
        name = f"{len(self.bench.opened)}.dcm"
        self.bench.open(write_dicom(self.bench.folder / name, pixels, **attributes))

    def run(self, current: str = "image-2", prior: str = "image-1") -> ToolResult:
        def confirm(title: str, detail: str, *, image: Any = None) -> bool:
            self.asked.append(detail)
            self.kept.append(image)
            return self.yes

        context: ToolContext = replace(self.bench.context(), confirm=confirm)
        arguments = CompareInput(image_path=current, prior_path=prior)
        return ChestXRayCompare(Segmenter()).run(arguments, context)


@pytest.fixture
def two(bench: Bench) -> Pair:
    if find_spec("torch") is None:
        pytest.skip("the segmenter asks for torch")
    return Pair(bench)


def regions_in(result: ToolResult) -> tuple[Finding, ...]:
    """The places of marked regions, without the ratio's change."""
    return tuple(one for one in result.findings if one.label != "Cardiothoracic ratio")


def rows_of(result: ToolResult) -> dict[str, dict[str, Any]]:
    return {row["what"]: row for row in result.output["rows"]}


def test_a_heart_that_has_grown_is_told_with_its_figures(two: Pair):
    two.open(chest())
    two.open(chest(heart=1.25))
    result = two.run()
    ratio = rows_of(result)["Cardiothoracic ratio"]
    assert ratio["comparable"] is True
    assert ratio["beyond_error"] is True
    assert ratio["change"] == pytest.approx(ratio["current"] - ratio["prior"], abs=0.002)
    assert ratio["change"] > 0.08
    area = rows_of(result)["Heart, area"]
    assert (area["unit"], area["comparable"]) == ("cm²", True)
    assert "Cardiothoracic ratio" in result.summary
    assert result.output["days_between"] == 1
    json.dumps([result.output, result.metadata])


def test_the_ratio_s_change_is_a_finding_that_can_be_accepted(two: Pair):
    """Both widths as drawn on the current film, with both ratios and the prior's date."""
    two.open(chest(heart=0.8))
    now = chest(heart=1.2)
    two.open(now)
    result = two.run()
    row = rows_of(result)["Cardiothoracic ratio"]
    (ratio,) = [one for one in result.findings if one.label == "Cardiothoracic ratio"]
    assert ratio.image == two.bench.images.resolve("image-2").ref
    assert (ratio.state, ratio.approximate) == (State.PROPOSED, True)
    told = [(one.value, one.units, one.date) for one in ratio.measurements]
    date = two.bench.images.resolve("image-1").instance.get("StudyDate")
    assert date
    assert told == [(row["current"], "ratio", ""), (row["prior"], "ratio", date)]
    assert row["current"] > row["prior"]
    assert isinstance(ratio.geometry, Segments)
    (a, b, c, d) = ratio.geometry.points
    assert math.dist(a, b) / math.dist(c, d) == pytest.approx(row["current"], abs=0.001)
    columns = np.nonzero(now["Heart"].any(axis=0))[0]
    assert sorted((a[0], b[0])) == pytest.approx([columns[0], columns[-1]], abs=1.5)


def test_a_ratio_that_cannot_be_compared_is_no_finding(two: Pair):
    two.open(chest(), ViewPosition="AP")
    two.open(chest())
    result = two.run()
    assert not rows_of(result)["Cardiothoracic ratio"]["comparable"]
    assert result.findings == ()


def test_two_images_of_one_state_have_no_change(two: Pair):
    two.open({**chest(), "pixels": moved(chest()["pixels"], planted(0, 1, (0.3, 0)))})
    two.open(chest())
    result = two.run()
    assert "No change exceeds the measurement error" in result.summary
    assert not any(row["beyond_error"] for row in result.output["rows"])


def test_the_prior_is_shown_lying_on_the_current_image(two: Pair):
    two.host.registers = True
    now, matrix = chest(), planted(4, 1, (8, -6))
    then = {name: moved(value.astype(float), matrix, 1) > 0.5 for name, value in now.items()}
    two.open({**then, "pixels": moved(now["pixels"], matrix)})
    two.open(now)
    result = two.run()
    (shown,) = result.artifacts
    assert shown.role == "show"
    current = two.bench.images.resolve(result.metadata["image_path"])
    assert shown.source == current.ref, "it stands beside this patient alone"
    prior = two.bench.images.resolve(result.metadata["prior_path"])
    assert shown.options["shows"] == prior.ref.sop_instance_uid, "whose name and date it bears"
    assert shown.options["sides"] == list(edge_letters(current.frame.orientation))
    assert str(shown.path) == result.output["registered_image_path"]
    registered = np.asarray(Image.open(shown.path)).astype(float)
    inside = (slice(40, -40), slice(40, -40))
    assert registered.shape == now["pixels"].shape
    assert np.abs(registered[inside] - now["pixels"][inside]).mean() < 2
    told = result.output["registration"]
    assert told["dice_after"] > 0.97
    assert told["dice_after"] > told["dice_before"]
    assert told["degrees"] == pytest.approx(4, abs=0.3)


def test_an_image_that_is_stored_mirrored_is_compared_all_the_same(two: Pair):
    """The registered prior comes in the current image's own pixels."""
    two.host.registers = True
    now = chest()
    two.open(now)
    mirrored = {name: value[:, ::-1] for name, value in now.items()}
    two.open({**mirrored, "pixels": mirrored["pixels"] + 1}, PatientOrientation=["R", "F"])
    two.host.known[1] = (_bytes(now["pixels"] + 1), now)  # the network sees it turned
    result = two.run()
    registered = np.asarray(Image.open(result.artifacts[0].path)).astype(float)
    inside = (slice(30, -30), slice(30, -30))
    assert np.abs(registered[inside] - mirrored["pixels"][inside]).mean() < 2


def test_what_is_asked_about_the_registered_prior_knows_its_patient_and_its_sides(two: Pair):
    two.open(chest(), PatientOrientation=["L", "F"], ViewPosition="AP")
    mirrored = {name: value[:, ::-1] for name, value in chest().items()}
    two.open(mirrored, PatientOrientation=["R", "F"], PixelSpacing=[1.1, 1.1])
    two.host.registers = True
    result = two.run()
    assert result.artifacts[0].options["sides"] == ["L", "R", "H", "F"]
    shown = two.bench.images.resolve(result.output["registered_image_path"])
    assert shown.instance.get("StudyDate") == "20210101"
    assert shown.instance.get("ViewPosition") == "AP"
    assert shown.frame.orientation.row == "R"
    # The prior's pixels are 1 mm; drawn on as many of 1.1 mm, its own are 1 mm still.
    assert shown.frame.spacing.column_mm == pytest.approx(1.0, abs=0.01)


def test_named_the_wrong_way_round_they_are_exchanged_by_date(two: Pair):
    two.open(chest(heart=1.25), StudyDate="20220601")
    two.open(chest(), StudyDate="20220501")
    result = two.run(current="image-2", prior="image-1")
    assert result.metadata["swapped"] is True
    assert result.metadata["image_path"] == "image-1"
    assert rows_of(result)["Cardiothoracic ratio"]["change"] > 0
    assert any("they were swapped" in text for text in result.metadata["warnings"])
    assert result.output["days_between"] == 31


@pytest.mark.parametrize(
    ("first", "second", "swapped", "told"),
    [
        ({"StudyDate": "20220601"}, {"StudyDate": "20220601"}, False, "do not say which is older"),
        ({"StudyDate": None}, {"StudyDate": "20220601"}, False, "do not say which is older"),
        ({"StudyDate": "2022"}, {"StudyDate": "20220601"}, False, "do not say which is older"),
        (
            {"StudyDate": "20220601", "StudyTime": "120000"},
            {"StudyDate": "20220601", "StudyTime": "080000"},
            True,
            "they were swapped",
        ),
    ],
)
def test_the_order_rests_on_date_and_time_and_says_where_it_cannot(
    two: Pair, first: dict[str, Any], second: dict[str, Any], swapped: bool, told: str
):
    two.open(chest(), **first)
    two.open(chest(heart=1.1), **second)
    result = two.run()
    assert result.metadata["swapped"] is swapped
    assert any(told in text for text in result.metadata["warnings"])


@pytest.mark.parametrize(
    "other",
    [
        {"PatientID": "SOMEBODY-ELSE"},
        {"PatientName": "SOMEBODY^ELSE"},
        {"PatientBirthDate": "19600101"},
        {"PatientSex": "M"},
        {"PatientID": "SOMEBODY-ELSE", "PatientName": None},
    ],
    ids=["another ID", "another name", "another birth date", "another sex", "no name"],
)
def test_another_patients_film_is_never_compared_whatever_the_user_says(
    two: Pair, other: dict[str, Any]
):
    """Not even one of the same name: a wrong pair shows a change that nobody has."""
    who = {"PatientID": "p1", "PatientName": "DOE^JANE", "PatientSex": "F"}
    who["PatientBirthDate"] = "19500101"
    two.open(chest(), **{**who, **other})
    two.open(chest(heart=1.1), **who)
    two.yes = True
    with pytest.raises(ToolFailed, match="name different patients") as failed:
        two.run()
    assert "SOMEBODY" not in f"{failed.value} {failed.value.remedy}"
    assert (two.asked, two.host.calls) == ([], [])


def test_files_that_name_nobody_are_compared_only_when_the_user_says_so(two: Pair):
    told = "do not say whether both images are of the same"
    two.open(chest(), PatientID=None, PatientName=None)
    two.open(chest(heart=1.1))
    with pytest.raises(ToolFailed, match=told):
        two.run()
    assert told in two.asked[0]
    assert two.host.calls == []
    two.yes = True
    warnings = two.run().metadata["warnings"]
    assert any(told in text and "at your request" in text for text in warnings)


@pytest.mark.parametrize("said", ["ANONYMOUS", "anon 1", "0000", "Unknown", "DE-IDENTIFIED", None])
def test_what_anonymising_writes_into_every_file_names_nobody(two: Pair, said: str | None):
    born = {"PatientBirthDate": "19500101"} if said is None else {}
    name = None if said is None else "Anonymous"
    two.open(chest(), PatientID=said, PatientName=name, **born)
    two.open(chest(heart=1.1), PatientID=said, PatientName="Doe" if born else name, **born)
    with pytest.raises(ToolFailed, match="do not say whether both images are of the same"):
        two.run()


def test_a_yes_to_two_images_is_none_to_another_prior(two: Pair):
    """What a yes is kept under names both images."""
    for number in range(3):
        two.open(chest(heart=1.0 + number / 50), PatientID=None, PatientName=None)
    two.yes = True
    two.run("image-3", "image-1")
    two.run("image-3", "image-2")
    two.run("image-3", "image-1")
    first, second, again = two.kept
    assert first != second
    assert first == again
    assert first.sop_instance_uid == two.bench.images.resolve("image-3").ref.sop_instance_uid


def test_one_patient_is_not_asked_about(two: Pair):
    two.open(chest())
    two.open(chest(heart=1.1))
    two.run()
    assert two.asked == []


def test_an_image_is_not_compared_with_itself(two: Pair):
    two.open(chest())
    with pytest.raises(ToolRetry, match="the same image"):
        two.run("image-1", "image-1")


@pytest.mark.parametrize(
    ("prior", "what", "why"),
    [
        ({"ViewPosition": "AP"}, "Cardiothoracic ratio", "the views differ (AP before, PA now)"),
        ({"ViewPosition": "AP"}, "Heart, area", "the views differ"),
        ({"ViewPosition": None}, "Cardiothoracic ratio", "one of the views is unknown"),
        ({"PixelSpacing": None}, "Heart, area", "the pixel spacing is unknown"),
        (
            {"PixelSpacing": None, "ImagerPixelSpacing": [1.0, 1.0]},
            "Heart, area",
            "have different origins",
        ),
    ],
)
def test_what_cannot_be_compared_is_shown_and_not_subtracted(
    two: Pair, prior: dict[str, Any], what: str, why: str
):
    two.open(chest(), **prior)
    two.open(chest(heart=1.2))
    row = rows_of(two.run())[what]
    assert row["comparable"] is False
    assert row["change"] is None
    assert row["beyond_error"] is None
    assert why in row["why"]
    assert row["current"] is not None
    assert row["prior"] is not None


def test_images_that_are_turned_against_each_other_have_no_comparable_widths(two: Pair):
    two.host.changes = {"degrees": -9.0}
    two.open(chest())
    two.open(chest(heart=1.2))
    found = rows_of(two.run())
    assert "rotated against each other by 9 degrees" in found["Cardiothoracic ratio"]["why"]
    assert found["Right lung's share of both lungs' area"]["comparable"] is True


@pytest.mark.parametrize(
    "bad", [{"overlap": 0.5}, {"degrees": 40.0}, {"scale": 2.0}, {"degrees": math.nan}]
)
def test_a_bad_registration_is_refused_and_no_picture_is_shown(two: Pair, bad: dict[str, Any]):
    two.host.changes = bad
    two.open(chest())
    two.open(chest(heart=1.2))
    result = two.run()
    assert result.artifacts == ()
    assert result.output["registered_image_path"] is None
    assert result.output["registration"]["accepted"] is False
    assert any("could not be aligned" in text for text in result.metadata["warnings"])
    rows = rows_of(result)
    assert rows["Cardiothoracic ratio"]["comparable"] is True
    for what in ("Right Lung, area", "Left Lung, area", "Heart, area"):
        assert (rows[what]["comparable"], rows[what]["state"]) == (False, ""), what
        assert "could not be aligned" in rows[what]["why"]
    assert "Heart, area" not in result.summary, "no change of a size that nobody knows"


@pytest.mark.parametrize("doubted", [("0",), ("1",), ("0", "1"), ()])
def test_a_film_that_alone_looks_mirrored_is_not_laid_on_the_other(
    two: Pair, monkeypatch: pytest.MonkeyPatch, doubted: tuple[str, ...]
):
    """Else a region of one lung would be paired with one of the other, and called the same."""
    two.open(chest())
    two.open(chest(heart=1.2))
    found_on(two.bench, 0, ("nodule", square((60.0, 60.0), 12.0)))
    found_on(two.bench, 1, ("nodule", square((60.0, 60.0), 24.0)))
    check = image_suitability.check

    def with_doubt(snapshot: Any, *given: Any, **more: Any) -> Any:
        seen = check(snapshot, *given, **more)
        if snapshot.instance.path.stem in doubted:
            seen = replace(seen, warnings=(*seen.warnings, MIRRORED_NOTE))
        return seen

    monkeypatch.setattr(image_suitability, "check", with_doubt)
    result = two.run()
    rows = rows_of(result)
    paired = "nodule 1, longer side" in rows
    assert paired == (len(doubted) != 1)
    assert result.output["registration"]["accepted"] == paired
    assert rows["Right Lung, area"]["comparable"] == paired
    assert rows["Right lung's share of both lungs' area"]["comparable"] == paired
    assert rows["Cardiothoracic ratio"]["comparable"] is True, "the same on either side"
    if not paired:
        which = "prior" if doubted == ("0",) else "current"
        told = f"could not be aligned: only the {which} film looks mirrored"
        assert any(told in text for text in result.metadata["warnings"])
        assert regions_in(result) == ()
        assert result.artifacts == ()


def boxed(bench: Bench, number: int, *boxes: Box) -> None:
    image = bench.opened[number]
    ref = bench.images.resolve(image.id).ref
    made = Provenance("mark_box", "", "", "", "", "")
    drawn = tuple(Finding(new_id(), ref, box, "Box", None, "", made) for box in boxes)
    bench.opened[number] = replace(image, drawn=drawn)
    bench._images = None  # pyright: ignore[reportPrivateUsage]


def test_boxes_on_both_images_are_paired_where_they_lie_on_each_other(two: Pair):
    """The prior is shifted; its box lies on the current one's, and is shown there."""
    two.host.registers = True
    now, matrix = chest(), planted(0, 1, (10, -8))
    then = {name: moved(value.astype(float), matrix, 1) > 0.5 for name, value in now.items()}
    two.open({**then, "pixels": moved(now["pixels"], matrix)})
    two.open(now)
    boxed(two.bench, 0, Box(59.5, 91.5, 79.5, 121.5))
    boxed(two.bench, 1, Box(149.5, 19.5, 159.5, 29.5), Box(49.5, 99.5, 69.5, 139.5))
    result = two.run()
    found = rows_of(result)
    both = found["Marked box 1, longer side"]
    assert (both["prior"], both["current"], both["unit"]) == (30.0, 40.0, "mm")
    assert both["change"] == 10.0
    alone = found["Marked box 2, longer side"]
    assert alone["comparable"] is False
    assert "marked on the current image only" in alone["why"]
    here = two.bench.images.resolve("image-2").ref
    (finding,) = [one for one in regions_in(result) if one.image == here]
    assert isinstance(finding.geometry, Polygon)
    expected = [(49.5, 99.5), (69.5, 99.5), (69.5, 129.5), (49.5, 129.5)]
    assert np.allclose(finding.geometry.points, expected, atol=0.5)


def found_on(bench: Bench, number: int, *regions: tuple[str, Any], state: Any = None) -> None:
    """Findings of a tool on an open image, as they were before the run."""
    image = bench.opened[number]
    ref = bench.images.resolve(image.id).ref
    made = Provenance("xray_phrase_grounding", "1", "MAIRA-2", "", "r", "c")
    findings = tuple(Finding(new_id(), ref, shape, name, None, "", made) for name, shape in regions)
    if state is not None:
        findings = tuple(replace(one, state=state) for one in findings)
    bench.opened[number] = replace(image, findings=(*image.findings, *findings))
    bench._images = None  # pyright: ignore[reportPrivateUsage]


def disc(middle: tuple[float, float], across: float) -> np.ndarray:
    y, x = np.mgrid[:ROWS, :COLUMNS]
    return np.hypot(x - middle[0], y - middle[1]) <= across / 2


def square(middle: tuple[float, float], side: float) -> Box:
    (x, y), half = middle, side / 2
    return Box(x - half, y - half, x + half, y + half)


@pytest.mark.parametrize(
    ("degrees", "scale", "shift"), [(0, 1, (0, 0)), (0, 1, (10, -8)), (3, 1.04, (-12, 4))]
)
def test_regions_of_tools_are_paired_by_place_and_the_change_is_told(
    two: Pair, degrees: float, scale: float, shift: tuple[float, float]
):
    """Planted movement and sizes: each region has the state that it was given (1 px = 1 mm)."""
    two.host.registers = True
    now, matrix = chest(), planted(degrees, scale, shift)
    then = {name: moved(value.astype(float), matrix, 1) > 0.5 for name, value in now.items()}
    two.open({**then, "pixels": moved(now["pixels"], matrix)})
    two.open(now)
    # name: place on the current film, side before and now in mm
    regions = {
        "grown": ((60.0, 60.0), 12.0, 24.0),
        "shrunk": ((140.0, 70.0), 30.0, 16.0),
        "same": ((62.0, 120.0), 20.0, 22.0),
        "came": ((150.0, 120.0), 0.0, 14.0),
        "went": ((100.0, 40.0), 14.0, 0.0),
    }

    def on_prior(place: tuple[float, float]) -> tuple[float, float]:
        x, y, _ = matrix @ (*place, 1.0)
        return float(x), float(y)

    before = [(n, square(on_prior(p), old)) for n, (p, old, _) in regions.items() if old]
    after = [(n, square(p, new)) for n, (p, _, new) in regions.items() if new]
    found_on(two.bench, 0, *before)
    found_on(two.bench, 1, *after)
    rejected = (("mistaken", square((60.0, 60.0), 90.0)),)
    found_on(two.bench, 1, *rejected, state=State.REJECTED)
    result = two.run()
    rows = {row["what"].split()[0]: row for row in result.output["rows"] if "longer" in row["what"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "grown": "larger",
        "shrunk": "smaller",
        "same": "unchanged",
        "came": "new",
        "went": "gone",
    }
    for name, (_, old, new) in regions.items():
        assert (rows[name]["prior"] or 0, rows[name]["current"] or 0) == (old, new)
        if old and new:
            assert rows[name]["change"] == new - old
            # RECIST 1.1: 20 %, and at least 5 mm.
            assert rows[name]["error"] == pytest.approx(max(0.2 * max(old, new), 5.0))
    refs = [two.bench.images.resolve(f"image-{number}").ref for number in (2, 1)]
    here, there = (
        {one.label.split(", ")[1].split()[0]: one for one in regions_in(result) if one.image == ref}
        for ref in refs
    )
    assert set(here) == {"grown", "shrunk", "same", "went"}
    assert set(there) == {"grown", "shrunk", "same", "came"}
    for name, finding in there.items():
        assert isinstance(finding.geometry, Polygon)
        middle = np.mean(finding.geometry.points, axis=0)
        assert np.allclose(middle, on_prior(regions[name][0]), atol=0.6)
    for name, finding in here.items():
        assert isinstance(finding.geometry, Polygon)
        assert np.allclose(np.mean(finding.geometry.points, axis=0), regions[name][0], atol=0.6)
        assert finding.rests_on == (name,)
        own_ids = [one.id for one in two.bench.opened[1].findings if one.label == name]
        assert list(finding.partners) == own_ids[: bool(regions[name][2])]
        middle, old, new = regions[name]
        boxes = {one.image: Box(*one.box) for one in finding.compared}
        places = ((refs[0], middle, new), (refs[1], on_prior(middle), old))
        assert boxes == {ref: square(place, size) for ref, place, size in places if size}
        own, earlier = [], [("Longer side, prior", old, "mm")]
        if new:
            own = [("Longer side", new, "mm")]
        told = [(one.name, one.value, one.units) for one in finding.measurements]
        assert told == [*own, *earlier]
        assert [bool(one.date) for one in finding.measurements] == [False] * len(own) + [True]


@pytest.mark.parametrize(
    ("before", "now", "states"),
    [
        ("left pleural effusion", "nodule", ["gone", "new"]),
        ("left pleural effusion", "Effusion", ["smaller"]),
        ("Marked region", "nodule", ["smaller"]),  # what nobody has named may be the same
    ],
)
def test_different_findings_in_one_place_are_no_pair(
    two: Pair, before: str, now: str, states: list[str]
):
    """A new nodule in the place of an old effusion is new, and no effusion that shrank."""
    drawn = chest()
    two.open(drawn)
    two.open(drawn)
    found_on(two.bench, 0, (before, square((60.0, 60.0), 40.0)))
    found_on(two.bench, 1, (now, square((60.0, 60.0), 20.0)))
    rows = [row for row in two.run().output["rows"] if "longer" in row["what"]]
    assert sorted(row["state"] for row in rows) == states


@pytest.mark.parametrize("rejected", ["current", "prior", "both"])
def test_a_rejected_mark_is_no_change_and_is_named_where_its_partner_stands(
    two: Pair, rejected: str
):
    drawn = chest()
    two.open(drawn)
    two.open(drawn)
    for number, film in enumerate(("prior", "current")):
        state = State.REJECTED if rejected in (film, "both") else State.ACCEPTED
        found_on(two.bench, number, ("nodule", square((60.0, 60.0), 30.0)), state=state)
    result = two.run()
    rows = [row for row in result.output["rows"] if "longer" in row["what"]]
    assert regions_in(result) == ()
    if rejected == "both":
        assert rows == []
        return
    (row,) = rows
    assert (row["state"], row["comparable"], row["change"]) == ("", False, None)
    assert row["why"] == f"the mark on the {rejected} film was rejected"
    said = spoken(result, "Nodule")
    assert said.startswith(f"**Nodule: not compared:** the mark on the {rejected} film was rej")
    assert "**new**" not in said
    assert "**gone**" not in said
    assert "wurde abgelehnt" in in_german(said).splitlines()[0]


def spoken(result: ToolResult, *targets: str) -> str:
    """The lines of the answer to a question that names something."""
    (wording,) = [one for one in WORDINGS if one.tool == "chest_xray_compare"]
    assert wording.answer is not None
    lines = wording.answer({**result.metadata, **result.output}, frozenset(targets))
    return "\n".join(" ".join(one.text for one in line) for line in lines)


def test_asked_for_the_heart_a_ratio_that_cannot_be_compared_is_said_first(two: Pair):
    two.open(chest(), ViewPosition="AP")
    two.open(chest())
    assert spoken(two.run(), "heart").startswith(
        "**Heart: its size could not be compared:** the views differ (AP before, PA now)."
    )


def test_a_mask_is_compared_by_the_box_around_it(two: Pair):
    now = chest()
    two.open(now)
    two.open(now)
    found_on(two.bench, 0, ("nodule", Mask(disc((60, 60), 10))))
    found_on(two.bench, 1, ("nodule", Mask(disc((61, 60), 30))))
    (row,) = [row for row in two.run().output["rows"] if "longer" in row["what"]]
    assert (row["prior"], row["current"], row["state"]) == (11.0, 31.0, "larger")


class Window:
    """The viewer, which shows some images and is told to hang the prior."""

    def __init__(self, *images: str) -> None:
        self.images = images
        self.done: list[Any] = []

    def state(self) -> dict[str, Any]:
        return {"viewports": [{"image": image} for image in self.images]}

    def do(self, command: str, arguments: Any, context: Any) -> Any:
        self.done.append((command, arguments))
        if command == "viewer_layout":
            self.images = ("image-2", "image-1")


@pytest.mark.parametrize("shown", [("image-1",), ("image-1", "image-2")])
def test_the_two_films_are_hung_side_by_side_where_one_image_is_shown(
    two: Pair, monkeypatch: pytest.MonkeyPatch, shown: tuple[str, ...]
):
    """Those that were compared, not the latest prior."""
    two.open(chest())
    two.open(chest())
    window, context = Window(*shown), two.bench.context
    monkeypatch.setattr(two.bench, "context", lambda: replace(context(), viewer=window))
    (picture,) = two.run().artifacts
    assert picture.role == "image", "the prior is on the screen once; its thumbnail opens this one"
    prior, current = (
        two.bench.images.resolve(f"image-{one}").ref.sop_instance_uid for one in (1, 2)
    )
    hung = [
        ("viewer_layout", {"layout": "1x2"}),
        ("viewer_show", {"what": current, "viewport": "left"}),
        ("viewer_show", {"what": prior, "viewport": "right"}),
    ]
    assert window.done == (hung if len(shown) == 1 else [])


def test_beside_something_else_the_registered_prior_is_shown(
    two: Pair, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(3):
        two.open(chest())
    window, context = Window("image-2", "image-3"), two.bench.context
    monkeypatch.setattr(two.bench, "context", lambda: replace(context(), viewer=window))
    (picture,) = two.run().artifacts
    assert (picture.role, window.done) == ("show", [])


@pytest.mark.parametrize(
    ("changes", "days"),
    [
        ({}, 1),
        ({"PatientID": "other"}, None),
        ({"PatientName": "ROE^RICHARD"}, None),
        ({"PatientID": ""}, None),
        ({"StudyDate": "20220101"}, None),
    ],
)
def test_only_an_earlier_film_of_surely_the_same_patient_is_called_a_prior(
    two: Pair, changes: dict[str, str], days: int | None
):
    who = {"PatientID": "p1", "PatientName": "DOE^JANE"}
    two.open(chest(), **who, StudyDate="20210110")
    two.open(chest(), **{**who, "StudyDate": "20210109", **changes})
    current, other = two.bench.images.notes(remote=True)
    assert "days_before_current" not in current
    assert other.get("days_before_current") == days


BOXES = ((10.0, 10.0, 40.0, 30.0), (12.0, 9.0, 32.0, 27.0))


def spaced(row_mm: float | None, column_mm: float | None, source: Any = SpacingSource.DETECTOR):
    return Spacing(row_mm, column_mm, source)


def test_a_boxs_longer_side_is_the_longer_one_in_mm():
    """30 columns of 0.5 mm and 20 rows of 1 mm: the rows are longer."""
    row = comparison.box_row(1, BOXES, (spaced(1.0, 0.5), spaced(1.0, 1.0)))
    assert (row.current, row.prior, row.change, row.unit) == (20.0, 20.0, 0.0, "mm")
    assert "detector" in row.why  # what the mm rest on


@pytest.mark.parametrize(
    ("spacings", "unit", "why"),
    [
        ((spaced(1, 1), spaced(1, 1, SpacingSource.PATIENT)), "mm", "have different origins"),
        ((spaced(None, None), spaced(1, 1)), "", "spacing is unknown"),
        ((spaced(None, None), spaced(None, None)), "px", "spacing is unknown"),
    ],
)
def test_boxes_in_units_that_are_not_the_same_are_not_subtracted(
    spacings: tuple[Spacing, Spacing], unit: str, why: str
):
    row = comparison.box_row(1, BOXES, spacings)
    assert (row.comparable, row.change, row.unit) == (False, None, unit)
    assert why in row.why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"scale": 1.2}, "20% larger on the prior film"),
        ({"degrees": 9.0}, "rotated against each other by 9 degrees"),
    ],
)
def test_boxes_are_not_subtracted_where_lengths_are_not_the_same_lengths(
    two: Pair, changes: dict[str, Any], why: str
):
    two.host.changes = changes
    two.open(chest())
    two.open(chest(heart=1.1))
    for number in (0, 1):
        boxed(two.bench, number, Box(59.5, 91.5, 79.5, 121.5))
    row = rows_of(two.run())["Marked box 1, longer side"]
    assert (row["comparable"], row["change"]) == (False, None)
    assert why in row["why"]


def test_boxes_that_hardly_touch_are_no_pair():
    here, there = (0.0, 0.0, 10.0, 10.0), (9.0, 9.0, 19.0, 19.0)
    assert comparison.match_boxes([here], [there]) == [(0, None), (None, 0)]


def side(scores: dict[str, float], position: Any = "PA") -> XRay:
    drawn = chest()
    return XRay(
        position,
        {name: drawn[name] for name in (*LUNGS, "Heart")},
        {},
        _bytes(drawn["pixels"]),
        Spacing(1.0, 1.0, SpacingSource.DETECTOR),
        scores,
    )


def test_the_ratios_own_variation_is_its_error_where_that_is_larger():
    steady, shaky = side({}), replace(side({}), ratio_spread=0.07)
    errors = [
        comparison.change_table(now, then, 0.0)[0].error
        for now, then in ((steady, steady), (shaky, steady), (steady, shaky))
    ]
    assert errors == [comparison.CTR_ERROR, 0.07, 0.07]
    row = comparison.change_table(shaky, steady, 0.0)[0]
    assert row.why == "differences below 0.07 are within the measurement error"


def test_areas_and_lengths_say_what_their_spacing_is_of():
    rows = {row.what: row for row in comparison.change_table(side({}), side({}), 0.0)}
    assert rows["Heart, area"].basis == "detector plane"
    assert rows["Cardiothoracic ratio"].basis == ""
    mm, none = spaced(0.2, 0.1), spaced(None, None, SpacingSource.NONE)
    box = (0.0, 0.0, 10.0, 10.0)
    assert comparison.box_row(1, (box, box), (mm, mm)).basis == "detector plane"
    assert comparison.box_row(1, (None, box), (none, mm)).basis == "detector plane"
    assert comparison.box_row(1, (box, box), (none, none)).basis == ""
    patient = spaced(0.2, 0.1, SpacingSource.PATIENT)
    assert comparison.box_row(1, (box, box), (mm, patient)).basis == ""


def test_a_box_that_the_user_has_named_bears_that_name(two: Pair):
    two.open(chest())
    two.open(chest())
    for number in (0, 1):
        boxed(two.bench, number, Box(59.5, 91.5, 79.5, 121.5))
        image = two.bench.opened[number]
        drawn = tuple(replace(one, label="Nodule") for one in image.drawn)
        two.bench.opened[number] = replace(image, drawn=drawn)
    assert rows_of(two.run())["Nodule 1, longer side"]["comparable"] is True


@pytest.mark.parametrize(
    ("current", "other", "later"),
    [
        ({}, {"StudyDate": "20210111"}, True),
        ({}, {"StudyDate": "20210109"}, None),
        ({}, {}, None),
        ({"StudyTime": "080000"}, {"StudyTime": "120000"}, True),
        ({"StudyTime": "120000"}, {"StudyTime": "080000"}, None),
        ({}, {"StudyDate": "20210111", "PatientID": "other"}, None),
    ],
)
def test_a_film_that_was_taken_later_is_noted_as_that(
    two: Pair, current: dict[str, str], other: dict[str, str], later: bool | None
):
    common = {"PatientID": "p1", "PatientName": "DOE^JANE", "StudyDate": "20210110"}
    two.open(chest(), **{**common, **current})
    two.open(chest(), **{**common, **other})
    first, second = two.bench.images.notes(remote=True)
    assert "later_than_current" not in first
    assert second.get("later_than_current") is later


def test_scores_are_compared_and_a_change_is_one_that_crosses_the_operating_point():
    now = side({"Effusion": 0.62, "Mass": 0.3, "Lung Lesion": 0.9})
    then = side({"Effusion": 0.41, "Mass": 0.1, "Lung Lesion": 0.55})
    rows = {row.what: row for row in comparison.change_table(now, then, 0.0)}
    assert rows["Effusion, score"].change == pytest.approx(0.21)
    assert rows["Effusion, score"].beyond_error is True
    assert rows["Mass, score"].beyond_error is False
    assert rows["Lung Lesion, score"].beyond_error is False


def test_scores_of_two_views_are_not_compared():
    rows = comparison.change_table(side({"Mass": 0.9}), side({"Mass": 0.1}, "AP"), 0.0)
    assert next(row for row in rows if row.what == "Mass, score").comparable is False


def test_what_was_not_found_on_one_image_is_said():
    now, then = side({}), side({})
    del then.masks["Heart"]  # type: ignore[attr-defined]
    rows = {row.what: row for row in comparison.change_table(now, then, 0.0)}
    assert "not measured on one of the images" in rows["Heart, area"].why
    assert rows["Cardiothoracic ratio"].comparable is False


def test_a_chest_that_is_larger_as_a_whole_has_no_comparable_areas():
    """Its spacing or magnification is another; a ratio of two widths does not mind."""
    rows = {row.what: row for row in comparison.change_table(side({}), side({}), 0.0, 1.2)}
    assert "20% larger on the prior film" in rows["Heart, area"].why
    assert rows["Heart, area"].comparable is False
    assert rows["Cardiothoracic ratio"].comparable is True


def test_a_size_that_the_whole_chest_shares_is_no_change_of_the_heart():
    """7 % larger on the prior film: 14 % of area, in which the heart shares."""
    drawn = chest()
    masks_ = {name: drawn[name] for name in (*LUNGS, "Heart")}
    now, then = (
        XRay("PA", masks_, dict.fromkeys(masks_, 0.95), _bytes(drawn["pixels"]), spaced(s, s), {})
        for s in (1.0, 1.07)
    )
    rows = {
        scale: {row.what: row for row in comparison.change_table(now, then, 0.0, scale)}
        for scale in (1.07, 1.0)
    }
    for name in (*LUNGS, "Heart"):
        assert rows[1.07][f"{name}, area"].state == "unchanged", name
        assert rows[1.0][f"{name}, area"].state == "smaller", name


def test_a_rotated_patient_makes_the_ratio_incomparable():
    now, then = side({}), side({})
    then.masks["Right Lung"][:, :62] = False  # type: ignore[index]
    row = comparison.change_table(now, then, 0.0)[0]
    assert row.comparable is False
    assert "on the prior image the patient may be rotated" in row.why


def test_without_the_classifiers_weights_that_is_said_once(two: Pair):
    two.open(chest())
    two.open(chest(heart=1.1))
    warnings = two.run().metadata["warnings"]
    assert sum("classifier's weights" in text for text in warnings) == 1


def test_a_classifier_that_fails_costs_its_scores_only(two: Pair):
    weights = card("densenet121-res224-all").files[0].name
    (two.bench.models / weights).write_bytes(b"no weights")
    two.open(chest())
    two.open(chest(heart=1.25))
    two.host.fails = "densenet"
    result = two.run()
    assert rows_of(result)["Cardiothoracic ratio"]["beyond_error"] is True
    assert "no scores are compared: it broke" in result.metadata["warnings"]


def test_nothing_of_the_patient_is_in_the_result(two: Pair, tmp_path: Path):
    two.open(chest())
    two.open(chest(heart=1.1))
    result = two.run()
    text = repr(result.output) + repr(result.metadata) + result.summary
    assert "SECRET" not in text.upper()
    assert "2021010" not in text
