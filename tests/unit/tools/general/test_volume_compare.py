"""volume_compare: planted movements recovered, marks paired by place, and honest refusals.

The witness is a body drawn in mm (`tests.support.volume_pair`): where each sphere lies on either
series, and how long it is there, follows from its formula alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.agent.answers.german import in_german
from app.agent.llm.base import Text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.planning import Planner, Scene, schema_of
from app.imaging.decode import Decoder
from app.imaging.findings import (
    Ellipse,
    Finding,
    Geometry,
    Mask,
    Measurement,
    Polyline,
    Provenance,
    State,
    new_id,
)
from app.imaging.space.planes import instance_plane
from app.imaging.types import FramePlane, ImageRef
from app.tools.api import CancelToken, ToolContext, ToolFailed, ToolResult
from app.tools.general import volume_marks, volume_registration
from app.tools.general.volume_compare import VolumeCompare, VolumeCompareInput
from app.tools.general.volume_wording import WORDING, prior_open
from app.tools.images import OpenImage, RunImages
from app.tools.registry import load_packs
from app.tools.result_wording import AnswerContext
from app.workspace.studies import instances_of
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok, request
from tests.support.scripted_model import ScriptedModel, Turn, call
from tests.support.volume_pair import (
    CORONAL,
    Array,
    Grid,
    Sphere,
    at,
    rigid,
    skull,
    trunk,
    write_series,
)

pytestmark = pytest.mark.usefixtures("forked")

CURRENT = Grid((96, 70, 44), (2.5, 2.5, 4.0), (-120.0, -87.0, -90.0))
GROWN: Sphere = ((-50.0, 0.0, 10.0), 15.0)
NEW: Sphere = ((45.0, 20.0, -30.0), 12.0)
NOW = [GROWN, NEW]
BEFORE: Sphere = (GROWN[0], 10.0)
GONE: Sphere = ((48.0, -20.0, 40.0), 14.0)
THEN = [BEFORE, GONE]
SIDES = ("current", "prior")
MOVED = rigid((5, -4, 7), (14, -9, 22))


REGISTERED: dict[str, dict[str, Any]] = {}
"""Answers by the digest of what they answer: several tests compare the same two volumes."""


class Here:
    """A model host that runs the function in this process."""

    def call(self, entry: str, payload: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        assert entry == "app.tools.general.volume_registration:entry"
        sides = (np.asarray(payload[one][key]) for one in SIDES for key in ("voxels", "affine"))
        told = b"".join(part.tobytes() for part in sides) + str(payload["ct"]).encode()
        key = hashlib.sha256(told).hexdigest()
        if key not in REGISTERED:
            answer = volume_registration.entry(dict(payload), lambda _fraction, _text: None)
            REGISTERED[key] = answer
        return deepcopy(REGISTERED[key])


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    made = Decoder(workers=1)
    yield made
    made.close()


@dataclass
class Pair:
    """Both series as they are open, and the marks on them."""

    decoder: Decoder
    folder: Path
    images: list[OpenImage]

    def paths(self, name: str) -> list[OpenImage]:
        return sorted(
            (one for one in self.images if one.instance.path.parent.name == name),
            key=lambda one: one.instance.path.name,
        )

    def mark(
        self, name: str, number: int, shape: Geometry, label: str, tool: str = "", **more: Any
    ) -> Finding:
        """Draw a mark on a slice (from 0) of a series; by hand, or by a `tool`."""
        image = self.paths(name)[number]
        ref = self.decoder.frame(image.instance, 0).result(60).ref
        hand = "ruler" if isinstance(shape, Polyline) else "ellipse"
        made = Provenance(tool or hand, "1", "", "", "earlier" if tool else "", "call")
        state = State.PROPOSED if tool else State.ACCEPTED
        found = Finding(new_id(), ref, shape, label, None, "", made, state=state)
        found = replace(found, **more)
        place = self.images.index(image)
        key = "findings" if tool else "marks"
        marks = (*getattr(image, key), found)
        self.images[place] = replace(image, **{key: marks})
        return found

    def run(self, **arguments: Any) -> ToolResult:
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        context = ToolContext(
            "run",
            "call",
            RunImages(self.images, out, self.decoder),
            out,
            Here(),
            self.folder / "models",
            "cpu",
            CancelToken(),
            lambda _fraction, _text: None,
        )
        given: dict[str, Any] = {"image_path": self.paths("now")[20].id} | arguments
        return VolumeCompare().run(VolumeCompareInput(**given), context)


def opened(decoder: Decoder, folder: Path) -> Pair:
    studies = decoder.scan([folder / "now", folder / "then"]).result(60).studies
    found = [
        OpenImage(f"image-{number}", instance, series=series)
        for number, (instance, series) in enumerate(
            ((one, s) for study in studies for s in study.series for one in s.instances), start=1
        )
    ]
    assert len(found) == len(list(instances_of(studies)))
    return Pair(decoder, folder, found)


def make_pair(
    decoder: Decoder,
    folder: Path,
    prior: Grid,
    moved: Array = MOVED,
    body: Callable[[Array], Array] | None = None,
    **attributes: Any,
) -> Pair:
    write_series(folder / "now", CURRENT, partial(trunk, spheres=NOW), date="20240131")
    write_series(
        folder / "then",
        prior,
        body or partial(trunk, spheres=THEN),
        date="20230131",
        moved=moved,
        seed=1,
        **attributes,
    )
    return opened(decoder, folder)


def across(grid: Grid, centre: Sequence[float], diameter: float) -> tuple[int, Polyline]:
    """A line of a sphere's diameter through its middle along the rows, on the slice nearest."""
    x, y, z = grid.pixel(centre)
    half = diameter / 2 / grid.spacing[0]
    return round(z), Polyline(((x - half, y), (x + half, y)))


def around(grid: Grid, centre: Sequence[float], diameter: float) -> tuple[int, Ellipse]:
    x, y, z = grid.pixel(centre)
    wide, high = (diameter / 2 / step for step in grid.spacing[:2])
    return round(z), Ellipse(x - wide, y - high, x + wide, y + high)


def matrix_of(result: ToolResult) -> Array:
    (file,) = result.artifacts
    return np.array(json.loads(file.path.read_text())["matrix"])


def greatest_error(found: Array, true: Array) -> float:
    """mm between where two matrices take the corners of a box of the body."""
    corners = [(x, y, z) for x in (-70, 70) for y in (-50, 50) for z in (-70, 70)]
    return max(math.dist(at(found, one), at(true, one)) for one in corners)


PRIORS = {
    "thick slices, other pixels": (Grid((70, 56, 32), (3.2, 3.2, 6.0), (-105, -95, -75)), MOVED),
    "coronal": (Grid((80, 70, 36), (3.0, 3.0, 5.0), (-112, -95, 115), CORONAL), MOVED),
    "far away": (
        Grid((84, 64, 40), (2.8, 2.8, 4.5), (-310, 120, 410)),
        rigid((-4, 3, 5), (-195, 205, 500)),
    ),
}


@pytest.fixture(scope="module", params=list(PRIORS))
def result_of(
    request: pytest.FixtureRequest, decoder: Decoder, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Pair, ToolResult, Array]:
    """A pair with marks, compared."""
    grid, moved = PRIORS[request.param]
    folder = tmp_path_factory.mktemp("pair")
    pair = make_pair(decoder, folder, grid, moved)
    pair.mark("now", *across(CURRENT, GROWN[0], GROWN[1]), "Nodule")
    pair.mark("now", *around(CURRENT, NEW[0], NEW[1]), "Cyst")
    pair.mark("then", *across(grid, at(moved, BEFORE[0]), BEFORE[1]), "Nodule")
    pair.mark("then", *around(grid, at(moved, GONE[0]), GONE[1]), "Ellipse")
    return pair, pair.run(), moved


def test_a_planted_movement_is_recovered_to_a_millimetre(
    result_of: tuple[Pair, ToolResult, Array],
):
    _, result, moved = result_of
    laid = result.output["registration"]
    assert laid["accepted"]
    assert not laid["one_frame_of_reference"]
    assert greatest_error(matrix_of(result), moved) < 1.0
    cosine = (np.trace(moved[:3, :3]) - 1) / 2
    assert laid["rotation_degrees"] == pytest.approx(math.degrees(math.acos(cosine)), abs=0.5)
    assert laid["similarity"] > 0.8
    assert laid["two_way_mm"] < 2


def test_marks_are_paired_by_their_place_and_the_change_is_that_of_the_spheres(
    result_of: tuple[Pair, ToolResult, Array],
):
    output = result_of[1].output
    assert [(one["mark"], one["current"], one["prior"]) for one in output["pairs"]] == [
        ("Nodule 1", "Nodule", "Nodule")
    ]
    assert output["only_in_the_current"] == ["Cyst 2"]
    assert output["only_in_the_prior"] == ["Ellipse 3"]
    (length,) = [row for row in output["rows"] if row["what"] == "Length"]
    told = [length[key] for key in ("current", "prior", "change", "percent")]
    if "degrees apart" in length["why"]:  # axial now, coronal before: not one plane
        assert told == [15.0, 10.0, None, None]
    else:
        assert told == pytest.approx([15.0, 10.0, 5.0, 50.0], abs=0.01)
        assert output["measurements"]["Nodule 1"]["Length_change_mm"] == 5.0
    areas = {row["mark"]: row for row in output["rows"] if row["what"] == "Area"}
    assert areas["Cyst 2"]["current"] == pytest.approx(math.pi * 36, abs=0.01)
    assert areas["Cyst 2"]["change"] is None
    assert areas["Ellipse 3"]["prior"] == pytest.approx(math.pi * 49, abs=0.01)
    assert output["days_between"] == 365
    assert output["dates"] == {"current": "2024-01-31", "prior": "2023-01-31"}


def test_paired_marks_are_shown_on_both_studies_where_the_sphere_lies(
    result_of: tuple[Pair, ToolResult, Array],
):
    pair, result, moved = result_of
    by_label = {one.label: one for one in result.findings}
    assert {*by_label} == {*("Prior, Nodule 1", "Now, Nodule 1", "Now, Cyst 2", "Prior, Ellipse 3")}
    for label, place in (
        ("Prior, Nodule 1", GROWN[0]),
        ("Now, Nodule 1", at(moved, GROWN[0])),
        ("Now, Cyst 2", at(moved, NEW[0])),
        ("Prior, Ellipse 3", GONE[0]),
    ):
        found = by_label[label]
        (image,) = [
            one
            for one in pair.images
            if one.instance.sop_instance_uid == found.image.sop_instance_uid
        ]
        assert image.instance.path.parent.name == ("now" if label.startswith("Prior") else "then")
        plane = plane_of(image)
        middle = np.mean(volume_marks.outline_of(found.geometry), axis=0)
        there = np.array(plane.point(float(middle[0]), float(middle[1])))
        step = float(image.instance.get("SliceThickness"))
        assert np.linalg.norm(there - place) < step / 2 + 2
    marks = {mark.id: mark.label for image in pair.images for mark in image.marks}
    paired = [by_label[name].partners for name in ("Prior, Nodule 1", "Now, Nodule 1")]
    assert [[marks[key] for key in keys] for keys in paired] == [["Nodule"], ["Nodule"]]
    assert paired[0] != paired[1]
    assert by_label["Now, Cyst 2"].partners == by_label["Prior, Ellipse 3"].partners == ()
    then = next(one for one in by_label["Prior, Nodule 1"].measurements if one.date)
    assert (then.value, then.units, then.date) == (pytest.approx(10.0, abs=0.01), "mm", "20230131")


def plane_of(image: OpenImage) -> FramePlane:
    plane = instance_plane(image.instance)
    assert plane is not None
    return plane


def masks_of(grid: Grid, centre: Sequence[float], diameter: float) -> dict[int, Mask]:
    """The pixels of a sphere on each slice."""
    columns, rows, slices = grid.size
    k, j, i = np.mgrid[:slices, :rows, :columns]
    points = np.stack([i, j, k], -1) @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    inside = ((points - np.array(centre)) ** 2).sum(axis=-1) < (diameter / 2) ** 2
    return {n: Mask(one) for n, one in enumerate(inside) if one.any()}


def test_a_sphere_outlined_on_all_its_slices_has_its_volume_and_its_mean(
    decoder: Decoder, tmp_path: Path
):
    """30 mm now, 24 mm before: (30 / 24)³ - 1 = 95 % more."""
    now, then = ((-48.0, -5.0, 10.0), 30.0), ((-48.0, -5.0, 10.0), 24.0)
    prior = Grid((110, 84, 60), (2.2, 2.2, 3.0), (-125, -95, -80))
    moved = rigid((2, 3, -4), (6, 4, -8))
    write_series(tmp_path / "now", CURRENT, partial(trunk, spheres=[now]), date="20240131")
    body = partial(trunk, spheres=[then])
    write_series(tmp_path / "then", prior, body, date="20230731", moved=moved, seed=1)
    pair = opened(decoder, tmp_path)
    for name, grid, place, size in (
        ("now", CURRENT, now[0], 30.0),
        ("then", prior, at(moved, then[0]), 24.0),
    ):
        for number, mask in masks_of(grid, place, size).items():
            accepted = {"state": State.ACCEPTED, "reviewer": "me"}
            pair.mark(name, number, mask, "Mass", "segmenter", **accepted)
    pair.mark("now", 3, masks_of(CURRENT, now[0], 30.0).popitem()[1], "Ghost", "segmenter")
    output = pair.run().output
    assert len(output["pairs"]) == 1
    assert output["marks"]["proposed"] == 1
    rows = {row["what"]: row for row in output["rows"]}
    for what, before, after, within in (
        ("Volume", math.pi / 6 * 24**3, math.pi / 6 * 30**3, 0.04),
        ("Area", math.pi / 4 * 24**2, math.pi / 4 * 30**2, 0.05),
        ("Long axis", 24.0, 30.0, 0.12),
    ):
        assert rows[what]["prior"] == pytest.approx(before, rel=within)
        assert rows[what]["current"] == pytest.approx(after, rel=within)
        assert rows[what]["change"] == pytest.approx(
            rows[what]["current"] - rows[what]["prior"], abs=0.011
        )
    assert rows["Volume"]["percent"] == pytest.approx(95.3, abs=8)
    for key in ("prior", "current"):
        assert rows["Mean"][key] == pytest.approx(60, abs=2)
    assert rows["Mean"]["percent"] is None


def test_another_body_part_is_refused_and_nothing_is_paired(decoder: Decoder, tmp_path: Path):
    head = Grid((80, 80, 60), (3.0, 3.0, 3.5), (-120, -120, -100))
    pair = make_pair(decoder, tmp_path, head, np.eye(4), skull)
    pair.mark("now", *across(CURRENT, GROWN[0], 15), "Nodule")
    pair.mark("then", *across(head, (-50, 0, 10), 15), "Nodule")
    result = pair.run()
    laid = result.output["registration"]
    assert not laid["accepted"]
    assert laid["why"]
    assert (result.output["pairs"], result.output["rows"]) == ([], [])
    assert (result.findings, result.artifacts) == ((), ())
    assert "Not compared" in result.summary


def test_without_marks_it_says_that_there_is_none(decoder: Decoder, tmp_path: Path):
    pair = make_pair(decoder, tmp_path, PRIORS["thick slices, other pixels"][0])
    output = pair.run().output
    assert output["registration"]["accepted"]
    assert output["rows"] == []
    assert output["marks"] == {"current": 0, "prior": 0, "proposed": 0, "other_kinds": 0}


def test_two_patients_are_never_compared(decoder: Decoder, tmp_path: Path):
    grid = PRIORS["thick slices, other pixels"][0]
    other = {"PatientID": "9", "PatientName": "Roe^Ann"}
    pair = make_pair(decoder, tmp_path, grid, MOVED, None, **other)
    with pytest.raises(ToolFailed, match="no earlier CT series of this patient"):
        pair.run()
    with pytest.raises(ToolFailed, match="different patients"):
        pair.run(prior_path=pair.paths("then")[3].id)


def test_a_series_without_a_spacing_is_refused(decoder: Decoder, tmp_path: Path):
    pair = make_pair(
        decoder,
        tmp_path,
        PRIORS["thick slices, other pixels"][0],
        PixelSpacing=None,
    )
    with pytest.raises(ToolFailed, match="cannot be compared"):
        pair.run(prior_path=pair.paths("then")[3].id)


def test_the_order_follows_the_dates_whichever_is_shown(decoder: Decoder, tmp_path: Path):
    pair = make_pair(decoder, tmp_path, PRIORS["thick slices, other pixels"][0])
    result = pair.run(image_path=pair.paths("then")[10].id)
    assert result.output["dates"] == {"current": "2024-01-31", "prior": "2023-01-31"}
    assert "as the prior of the later one" in " ".join(result.metadata["warnings"])


# Marks alone


def line(x: float, y: float, z: float, label: str = "Length") -> volume_marks.Mark:
    plane = FramePlane((0, 0, z), (1, 0, 0), (0, 1, 0), (1, 1))
    made = Provenance("ruler", "", "", "", "", "")
    shape = Polyline(((x - 2, y), (x + 2, y)))
    length = (Measurement("Length", 4, "mm"),)
    finding = Finding(
        new_id(), ImageRef("1", 0, ""), shape, label, None, "", made, measurements=length
    )
    found = volume_marks.measured(finding, plane, label)
    assert found is not None
    return found


def test_only_marks_that_are_nearest_to_each_other_are_a_pair():
    now = [line(0, 0, 0), line(6, 0, 0)]
    then = [line(5, 0, 0)]
    pairs = volume_marks.pairs_of(now, then, np.eye(4), 15)
    assert pairs == [(1, 0, 1.0), (0, None, None)]


def test_marks_beyond_the_tolerance_are_no_pair():
    pairs = volume_marks.pairs_of([line(0, 0, 0)], [line(0, 0, 16)], np.eye(4), 15)
    assert pairs == [(0, None, None), (None, 0, None)]


def test_lengths_in_planes_that_cross_are_not_compared():
    now, then = line(0, 0, 0), line(0, 0, 0)
    turned = rigid((40, 0, 0), (0, 0, 0))
    (row,) = volume_marks.rows_of("Length 1", now, then, turned)
    assert (row.change, row.comparable) == (None, False)
    assert "40 degrees apart" in row.why


@pytest.mark.parametrize("rejected", ["current", "prior", "both"])
def test_a_rejected_mark_is_no_change_and_is_named_where_its_partner_stands(
    decoder: Decoder, tmp_path: Path, rejected: str
):
    grid = PRIORS["thick slices, other pixels"][0]
    pair = make_pair(decoder, tmp_path, grid)
    no = {"state": State.REJECTED}
    now = no if rejected in ("current", "both") else {}
    then = no if rejected in ("prior", "both") else {}
    pair.mark("now", *across(CURRENT, GROWN[0], 15), "Nodule", **now)
    pair.mark("then", *across(grid, at(MOVED, BEFORE[0]), 10), "Nodule", **then)
    result = pair.run()
    output = result.output
    assert output["pairs"] == []
    assert output["only_in_the_current"] == output["only_in_the_prior"] == []
    assert result.findings == ()
    if rejected == "both":
        assert (output["rejected"], output["rows"]) == ({}, [])
        return
    assert output["rejected"] == {"Nodule 1": rejected}
    (row,) = output["rows"]
    assert (row["change"], row["comparable"]) == (None, False)
    assert row["why"] == f"the mark on the {rejected} study was rejected"
    assert f"the mark on the {rejected} study was rejected" in result.summary
    said = spoken({**result.metadata, **output})
    assert f"Not compared: Nodule 1, Length: the mark on the {rejected} study was rejected." in said
    assert "Only in the" not in said
    assert "0 only now, 0 only before" in said
    german = in_german(said)
    assert "die Markierung in der " in german
    assert "wurde abgelehnt" in german


# What is said of it


def spoken(told: Mapping[str, Any], *named: str) -> str:
    """The lines of the answer to a question that names something."""
    assert WORDING.answer is not None
    lines = WORDING.answer(told, frozenset(f"marked: {one}" for one in named))
    return "\n".join(" ".join(one.text for one in line) for line in lines)


TOLD: dict[str, Any] = {
    "registration": {"accepted": True, "why": "", "similarity": 0.93, "two_way_mm": 0.4},
    "pairs": [{"mark": "Nodule 1", "current": "Nodule", "prior": "Nodule", "apart_mm": 0.7}],
    "rows": [
        {
            "mark": "Nodule 1",
            "what": "Long axis",
            "unit": "mm",
            "current": 15.2,
            "prior": 10.1,
            "change": 5.1,
            "percent": 50.5,
            "comparable": True,
            "why": "",
        }
    ],
    "measurements": {
        "Nodule 1": {
            "Long_axis_current_mm": 15.2,
            "Long_axis_prior_mm": 10.1,
            "Long_axis_change_mm": 5.1,
            "Long_axis_change_percent": 50.5,
        }
    },
    "days_between": 365,
}


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("The long axis of nodule 1 was 10.1 mm [1] and is 15.2 mm [1].", ""),
        ("Nodule 1: long axis +5.1 mm (50.5 %) in 365 days [1].", ""),
        ("The long axis of nodule 1 is 18.3 mm [1].", "18.3 mm [check:"),
        ("The long axis of nodule 1 changed by 80 % [1].", "80 % [check:"),
    ],
)
def test_the_numbers_of_a_model_s_answer_are_checked_against_it(
    tmp_path: Path, text: str, marked: str
):
    tool = FakeTool("volume_compare", ImageInput, ok("Registered with the prior series.", TOLD))
    note = {"id": "image-1", "path": "/a/1.dcm", "kind": "dicom", "modality": "CT"}
    turns: list[Turn] = [[call("volume_compare", image_path="image-1")], [Text(text)]]
    asked = request(tmp_path, "Has it grown?", notes=(note,))
    loop = AgentLoop(ScriptedModel(*turns), FakeRegistry(tool), plans=load_packs([]).plans)
    answer = asyncio.run(collect(loop, asked))[-1].answer
    assert marked in answer
    assert ("[check:" in answer) == bool(marked)


def marked(name: str, current: float | None, prior: float | None) -> dict[str, Any]:
    """What is told of one length, of a lone mark or of a pair."""
    both = current is not None and prior is not None
    row = TOLD["rows"][0] | {"mark": name, "current": current, "prior": prior, "comparable": both}
    if not both:
        row |= {"change": None, "percent": None}
    return TOLD | {"modality": "CT", "rows": [row], "pairs": TOLD["pairs"] if both else []}


@pytest.mark.parametrize(
    ("asked", "name", "current", "prior", "said"),
    [
        ("Effusion", "Nodule 1", 15.2, 10.1, "neither study has a mark or an accepted finding"),
        ("Effusion", "Length 1", 15.2, 10.1, "neither study has a mark or an accepted finding"),
        ("Heart", "Nodule 1", 15.2, 10.1, "neither study has a mark or an accepted finding"),
        ("Effusion", "Left pleural effusion 1", 15.2, None, "it is marked in the current study"),
        ("Effusion", "Pleuraerguss 1", None, 12.0, "it is marked in the prior study only"),
        ("Effusion", "Erguß links 1", 15.2, 10.1, ""),
        ("Nodule", "Nodule 1", 15.2, 10.1, ""),
        ("Nodule", "Length 1", 15.2, 10.1, ""),
        ("Nodule", "Effusion 1", 15.2, 10.1, "neither study has a mark or an accepted finding"),
        ("Lesion", "Mass 1", 15.2, 10.1, ""),
    ],
)
def test_what_the_question_names_is_compared_or_said_not_to_be(
    asked: str, name: str, current: float | None, prior: float | None, said: str
):
    text = spoken(marked(name, current, prior), asked)
    head = text.splitlines()[0]
    if not said:
        assert head.startswith("**Compared with the CT taken 365 days earlier:**")
        assert "not determined" not in text
        return
    assert head.startswith(f"**{asked}: change not determined:** {said}")
    assert "**Compared with the CT taken 365 days earlier:** " in text
    assert f"| {name}, Long axis |" in text
    german = in_german(text).splitlines()
    assert "Veränderung nicht bestimmt:** " in german[0]
    assert "untersuchung" in german[0].casefold()
    assert "**Verglichen mit dem CT 365 Tage zuvor:** " in "\n".join(german)
    assert "of marks" not in "\n".join(german)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Has the effusion changed?", {"Effusion"}),
        ("Hat sich der Pleuraerguss verändert?", {"Effusion"}),
        ("Is the lymph node larger than before?", {"Lymph node"}),
        ("Ist das Herz größer geworden?", {"Heart"}),
        ("Has it grown?", set[str]()),
        ("Compare with the prior", set[str]()),
    ],
)
def test_what_a_question_names_is_read_from_it(question: str, named: set[str]):
    packs = load_packs([])
    notes = ({"id": "image-1", "path": "/a/1.dcm", "kind": "dicom", "modality": "CT"},)
    intent = Planner(packs.plans).interpret(
        question, Scene(notes, {one.spec.name: schema_of(one) for one in packs.all()})
    )
    found = {one.removeprefix("marked: ") for one in intent.targets if "marked: " in one}
    assert found == named


def test_an_open_prior_scan_is_told_of_where_none_was_compared():
    now = {"id": "image-1", "modality": "CT"}
    then = {"id": "image-2", "modality": "CT", "days_before_current": 365}
    asked = frozenset({"disease"})
    told = AnswerContext(asked, frozenset(), frozenset(), images=(now, then))
    assert "365 days before" in prior_open(told)[0]
    assert prior_open(replace(told, ran=frozenset({"volume_compare"}))) == []
    assert prior_open(replace(told, known=frozenset({"volume_compare"}))) == []
    assert prior_open(replace(told, images=(now, {**then, "modality": "MR"}))) == []
    lesion = frozenset({"marked: Lesion"})  # "Is there a liver lesion?" is of no kind
    assert prior_open(replace(told, kinds=frozenset(), targets=lesion))
    assert prior_open(replace(told, kinds=frozenset({"viewer command"}), targets=lesion)) == []
    for kind in ("viewer command", "metadata", "show"):  # plain commands find nothing
        assert prior_open(replace(told, kinds=frozenset({kind}))) == []


@pytest.mark.parametrize(
    "question",
    [
        *("compare with the prior", "Has the nodule grown?", "has it grown?", "What has changed?"),
        *("vergleiche mit der Voraufnahme", "ist der Herd gewachsen?"),
        *("Ist der Rundherd größer geworden?", "Hat sich etwas verändert?"),
    ],
)
@pytest.mark.parametrize("modality", ["CT", "MR", "CR"])
def test_a_question_about_change_leads_to_it_on_scans_only(question: str, modality: str):
    packs = load_packs([]).without(["viewer"])
    note = {"id": "image-1", "path": "/a/1.dcm", "kind": "dicom", "modality": modality}
    calls = Planner(packs.plans).planned_calls(question, (note,), packs.all())
    assert [call.tool for call in calls] == ([] if modality == "CR" else ["volume_compare"])
