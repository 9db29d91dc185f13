"""What the tools of the pack have alike: how a model is asked, and how a result is told."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from app.imaging.findings import Box
from app.imaging.types import ImageRef
from app.tools.api import ToolFailed, ToolRetry
from app.tools.chest.boxes import rounded_corners
from app.tools.chest.grounding import SPEC
from app.tools.chest.model_results import (
    call_model,
    labelled_findings,
    model_metadata,
    needs_of,
    numbered_warnings,
    required_model,
    with_warnings,
)
from app.tools.chest.questions import remove_control_signs, tokens_left
from app.tools.models.cards import card
from app.tools.models.store import InstalledModel
from tests.unit.tools.support import Bench

MODEL = InstalledModel(card("maira-2"), Path("/models/maira-2"), 64 * "a")


class Telling:
    """A model process that keeps how it was asked, and tells how far it is."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def call(self, entry: str, payload: Any, **how: Any) -> dict[str, Any]:
        self.asked = {"entry": entry, "payload": dict(payload), **how}
        how["progress"](0.5, "half")
        return {"text": "a"}


def test_a_model_is_asked_with_where_it_lies_and_the_run_s_own_cancel(bench: Bench):
    bench.host = host = Telling()
    context = bench.context()
    assert call_model("app.tools.chest.maira:entry", MODEL, {"phrase": "x"}, context, 7.0) == {
        "text": "a"
    }
    assert host.asked["payload"] == {**MODEL.payload("cpu"), "phrase": "x"}
    assert host.asked["cancel"] is bench.cancel
    assert host.asked["timeout_s"] == 7.0
    assert bench.progress == [(0.5, "half")]


def test_a_part_of_a_call_tells_its_own_progress(bench: Bench):
    bench.host = Telling()
    told: list[tuple[float, str]] = []
    call_model(
        "e:e", MODEL, {}, bench.context(), 1.0, lambda fraction, text: told.append((fraction, text))
    )
    assert told == [(0.5, "half")]
    assert bench.progress == []


def test_a_model_that_is_not_there_is_named_before_a_package_that_is_not(bench: Bench):
    with pytest.raises(ToolFailed, match="MAIRA-2"):
        required_model("maira-2", "It", ("no_such_package",), bench.context())
    with pytest.raises(ToolFailed, match="no_such_package"):
        required_model("thorax-net", "It", ("no_such_package",), bench.context())


def test_the_needs_are_the_packages_and_the_weights():
    needs = [(need.kind, need.name, need.optional) for need in needs_of("maira-2", ("torch",))]
    assert needs == [("package", "torch", False), ("weights", "maira-2", False)]


def test_warnings_stand_behind_a_summary_and_nothing_where_there_are_none():
    assert with_warnings("Seen.", ["blurred", "cut"]) == "Seen. Warnings: blurred; cut."
    assert with_warnings("Seen.", []) == "Seen."


def test_a_warning_says_which_image_it_is_about_where_there_are_several():
    assert numbered_warnings([["dark"]]) == ["dark"]
    assert numbered_warnings([["dark"], [], ["cut", "dark"]]) == [
        "image 1: dark",
        "image 3: cut",
        "image 3: dark",
    ]


def test_which_program_read_the_model_is_told_where_there_are_two():
    own = {"model": "MAIRA-2", "weights_sha256": 64 * "a", "device": "cuda"}
    assert model_metadata(MODEL, {"device": "cuda"}) == own
    assert model_metadata(MODEL, {"device": "cuda", "engine": "x"}) == {**own, "engine": "x"}


def test_boxes_become_findings_of_one_group_without_a_score(bench: Bench):
    image = ImageRef("1.2.3", 0, 64 * "0")
    boxes = [("a", Box(0, 1, 2, 3)), ("b", Box(4, 5, 6.126, 7))]
    first, second = labelled_findings(
        boxes, image, bench.context().provenance(SPEC), "what", "group-1"
    )
    assert (first.label, second.label) == ("a", "b")
    assert first.id != second.id
    assert first.image == image
    assert {first.score, second.score} == {None}
    assert {first.group, second.group} == {"group-1"}
    assert isinstance(second.geometry, Box)
    assert astuple(second.geometry) == (4, 5, 6.126, 7)
    assert rounded_corners(second.geometry) == [4, 5, 6.13, 7]


def test_no_sign_of_the_prompt_is_left_in_a_question_nor_made_by_taking_one_out():
    signs = ("<a b>", "<x>")
    assert remove_control_signs("what<x>is <a b>this", signs) == "what is  this"
    assert remove_control_signs("<a<x>b>", signs) == ""


def test_an_answer_has_the_room_that_the_prompt_leaves():
    words: dict[str, str] = {"images": "the image", "shorter": "ask it shorter"}
    assert tokens_left(100, 2048, 500, **words) == 500
    assert tokens_left(2000, 2048, 500, **words) == 48
    with pytest.raises(ToolRetry, match="with the image it takes 2040 of 2048 tokens; ask it"):
        tokens_left(2040, 2048, 500, **words)
