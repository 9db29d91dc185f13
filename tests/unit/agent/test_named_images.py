"""Requests on two films side by side, as people type them: each is done on the film it names.

`two_films*.jsonl` were written without knowledge of the rules. Left, in viewport 1, is the current
film of 2024, right the prior of 2022. Nothing is drawn in the first file; in the others, a heart
and a nodule on each film, and an effusion on the prior. A line has the request and its steps: what
is done, with what, and on which film. Don't reword a request so that it passes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.agent.planning import ToolPlan
from app.agent.planning.placed_images import image_in
from app.agent.planning.plan import OpenImage, Step
from app.agent.repeated_calls import NAME as REPEATED
from tests.unit.agent.test_steps_of_packs import COMPARE, OUTLINE, RATIO, decided

FILMS = {"": "left", "image-1": "left", "image-2": "right"}
# The left one is the active one, and the other one is it once something was done to that.
VIEWPORTS = {
    "": "left",
    "1": "left",
    "left": "left",
    "current": "left",
    "2024": "left",
    "all": "both",
} | dict.fromkeys(("2", "right", "prior", "2022", "other", "active"), "right")
TOOLS = {RATIO: "measure", OUTLINE: "outline", COMPARE: "compare", "chest_xray_classifier": "look"}
VIEWS = {"viewer_zoom": "zoom", "viewer_window": "window", "viewer_go_to": "goto"}
MOST_MISSED = 12
"""Of 80. None is done on a wrong film; what is missed is refused, or left out and told."""


def done(step: Step) -> tuple[str, str]:
    """What a step does, and on which film: "" for none."""
    if step.tool == REPEATED:
        return TOOLS.get(str(step.arguments["tool"]), "look"), "both"
    if step.tool.startswith("viewer_"):
        where = VIEWPORTS[str(step.arguments.get("viewport") or "")]
        does = step.arguments.get("action") or step.arguments.get("command", "").split()
        name = VIEWS.get(step.tool) or (does if isinstance(does, str) else "".join(does[:1]))
        if step.tool == "viewer_zoom" and step.arguments.get("size") == "fit":
            name = "fit"
        return ("layout", "") if step.tool == "viewer_layout" else (name, where)
    films = {FILMS[one.id] for one in step.sources() if isinstance(one, OpenImage)}
    kind = TOOLS.get(step.tool, "any")
    return kind, "both" if len(films) > 1 else films.pop() if films else ""


def judged(line: str, drawn: Sequence[str]) -> str:
    """Whether a request is done as it is meant: "right", "missed", or "wrong film".

    `drawn` are the findings on both films.
    """
    wanted = json.loads(line)
    plan = decided(wanted["text"], *drawn, of_prior=drawn and (*drawn, "Pleural effusion"))
    steps = [done(one) for one in plan.steps if not one.skip] if isinstance(plan, ToolPlan) else []
    films = {film for _, _, film in wanted["steps"]}
    films |= {"left", "right", "both"} if {"left", "right"} <= films or "both" in films else set()
    if any(film and film not in films for _, film in steps):
        return "wrong film"
    left = list(steps)
    for kind, what, film in wanted["steps"]:
        alike = {kind}
        alike |= {"any"} if kind in ("outline", "look") else set()
        alike |= {"select"} if kind == "goto" else set()
        alike |= {"any"} if kind == "describe" else set()
        alike |= {"measure"} if what == "cardiomegaly" else set()
        alike |= {"compare"} if film == "both" or len(wanted["steps"]) > 1 else set()
        both = "both" if len(films) > 2 else film
        found = next((o for o in left if o[0] in alike and o[1] in (film, both)), None)
        if found is None:
            return "missed"
        if found[1] == film:
            left.remove(found)
    return "right"


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("two_films.jsonl", ()),
        ("two_films_2.jsonl", ("Heart", "Nodule")),
        ("two_films_3.jsonl", ("Heart", "Nodule")),
    ],
)
def test_each_request_is_done_on_the_film_that_it_names(name: str, drawn: tuple[str, ...]) -> None:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    assert len(lines) == 80
    results = {json.loads(line)["text"]: judged(line, drawn) for line in lines}
    assert [text for text, result in results.items() if result == "wrong film"] == []
    missed = [text for text, result in results.items() if result == "missed"]
    assert len(missed) <= MOST_MISSED, missed


def test_the_other_viewport_has_the_image_that_is_not_active():
    one, two = {"image": "image-1", "active": True}, {"image": "image-2", "active": False}
    assert image_in("other", {"viewports": [one, two]}) == "image-2"
    assert image_in("other", {"viewports": [one, two, two]}) == ""
    assert image_in("other", {"viewports": [one]}) == ""
