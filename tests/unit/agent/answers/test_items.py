"""A result's items have ids that stay the same, and answers cite them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.agent.answers.evidence import Evidence, unmarked
from app.agent.answers.items import cited_ids, items_of
from app.agent.context.model_messages import marked_result, result_message
from app.agent.events import RunFinished, ToolFinished
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.sessions import SessionStore
from app.agent.sessions.content import read
from app.agent.sessions.export import as_markdown
from app.imaging.findings import Finding, Mask, Polyline, Provenance
from app.imaging.types import ImageRef
from app.tools.registry import load_packs
from tests.support.fake_tools import collect, pack, request

REF = ImageRef("1.2.3", 0, "0" * 64)
MADE = Provenance("t", "1", "", "", "run", "call")
HEART = Finding("h", REF, Mask(np.ones((2, 2), bool)), "Heart", None, "", MADE)
WIDTH = Finding("w", REF, Polyline(((0, 0), (9, 0))), "Heart width", None, "px", MADE, value=843)
WIDTH = replace(WIDTH, ratio="Cardiothoracic ratio")
OUTPUT = {
    "ratio": 0.503,
    "reliable": True,
    "heart_width_px": 843.2,
    "metrics": {"Heart": {"area_pixels": 1200, "bbox": [1, 2, 3, 4]}},
    "rows": [{"entry": "Observation/a1"}, {"entry": "Observation/a1"}, {"entry": "Condition/b"}],
}


def numbered() -> Evidence:
    """Evidence with two results, of which the first has items."""
    made = Evidence()
    message = result_message("1", "t", {"summary": "s", "output": OUTPUT, "metadata": {}})
    made.take(message, items_of([HEART, WIDTH], OUTPUT))
    made.take(message)
    return made


def test_items_are_findings_then_numbers_then_entries():
    items = items_of([HEART, WIDTH], OUTPUT)
    assert [item.text for item in items] == [
        "Heart, mask",
        "Heart width, line, 843 px",
        "ratio 0.503",
        "heart width 843.2 px",
        "Heart area 1200 px",
        "Observation/a1",
        "Condition/b",
    ]
    assert [item.finding for item in items] == ["h", "w", "w", "w", "h", "", ""]
    assert [item.entry for item in items][-2:] == ["Observation/a1", "Condition/b"]


def test_a_ratio_belongs_to_both_of_its_lines():
    lines = replace(WIDTH, group="ctr-1"), replace(WIDTH, id="t", label="Thorax width", ratio="")
    other = replace(lines[1], id="x", label="Length")
    output = OUTPUT | {"ratio_spread": 0.07}
    items = items_of([lines[0], replace(lines[1], group="ctr-1"), other], output)
    assert {item.name: item.findings for item in items if item.value is not None} == {
        "Heart width": ("w",),
        "Thorax width": ("t",),
        "Length": ("x",),
        "ratio": ("w", "t"),
        "ratio spread": ("w", "t"),
        "heart width": ("w",),
        "Heart area": (),
    }


def test_the_model_is_told_them_in_the_data_and_how_to_cite_them_behind_it():
    message = result_message("1", "t", {"summary": "s", "output": OUTPUT, "metadata": {}})
    told = marked_result(Evidence().take(message, items_of([HEART], OUTPUT))).text
    data, _, behind = told.partition("</data>")
    assert '"1.1": "Heart, mask"' in data
    assert "[1.1]" in behind


@pytest.mark.parametrize(
    ("answer", "marked", "cited", "unknown"),
    [
        ("Large [1.2].", "Large [1.2].", (1,), ()),
        ("Large [1.2, 2].", "Large [1.2, 2].", (1, 2), ()),
        ("Large [1.1-1.3].", "Large [1.1-1.3].", (1,), ()),
        ("Large [1.8].", "Large [1.8: no such item].", (1,), ("1.8",)),
        ("Large [2.1].", "Large [2.1: no such item].", (2,), ("2.1",)),
        ("Large [5.1].", "Large [5.1: no such result].", (), (5,)),
        ("Large [1.8: no such item].", "Large [1.8: no such item].", (1,), ("1.8",)),
        ("LR 1.9 [1.2-2.4].", "LR 1.9 [1.2-2.4].", (), ()),
        ("At [0.14, 0.14] and [0.52].", "At [0.14, 0.14] and [0.52].", (), ()),
    ],
)
def test_a_wrong_item_is_marked_like_a_wrong_result(
    answer: str, marked: str, cited: tuple[int, ...], unknown: tuple[int | str, ...]
):
    checked = numbered().check(answer)
    assert (checked.text, checked.cited, checked.unknown) == (marked, cited, unknown)
    assert unmarked(marked) == unmarked(answer)


@pytest.mark.parametrize(
    ("sentence", "ids"),
    [
        ("The ratio is about 0.50.", "1.3"),
        ("Heart 843 px wide.", "1.2"),
        ("The heart was outlined.", "1.1"),
        ("Nothing of the kind, 7 times.", ""),
    ],
)
def test_rules_cite_the_items_that_a_sentence_tells(sentence: str, ids: str):
    texts = {f"1.{n}": i.text for n, i in enumerate(items_of([HEART, WIDTH], OUTPUT), 1)}
    assert cited_ids(sentence, texts) == ids


def test_a_number_that_two_items_share_cites_the_one_that_is_spoken_of():
    """Both lungs' confidence is 0.96, the heart's too; 44% of both lungs is no 43.8 cm²."""
    items = {
        "2.1": "metrics Left Lung area cm2 34.1 cm²",
        "2.2": "metrics Left Lung confidence score 0.96",
        "2.3": "metrics Right Lung area cm2 43.8 cm²",
        "2.4": "metrics Right Lung confidence score 0.96",
        "2.5": "metrics Heart confidence score 0.96",
    }
    left = "**Left lung:** area 34.1 cm² (44% of both lungs), confidence 0.96."
    assert cited_ids(left, items) == "2.1, 2.2"
    right = "**Right lung:** area 43.8 cm² (56% of both lungs), confidence 0.96."
    assert cited_ids(right, items) == "2.3, 2.4"
    assert cited_ids("**Heart:** confidence 0.96.", items) == "2.5"


def test_ids_stay_with_a_session_and_its_export(tmp_path: Path):
    plans, store = load_packs([]).plans, SessionStore(tmp_path / "sessions")
    thread = store.new_thread()
    asked = request(tmp_path, "Is the heart enlarged?", thread=thread)
    events = asyncio.run(collect(AgentLoop(OfflineModel(plans), pack(), plans=plans), asked))
    assert isinstance(events[-1], RunFinished)
    assert "[1.3]" in events[-1].answer
    made = next(event for event in events if isinstance(event, ToolFinished)).items
    thread.close()
    assert thread.folder is not None
    content = read(thread.folder / "thread.jsonl")
    again = [e for run in content.runs for e in run.events if isinstance(e, ToolFinished)]
    assert again[0].items == made
    result = next(message for message in content.messages if message.role == "tool")
    assert result.data["items"]["1.3"] == "ratio 0.4731"
    assert Evidence(content.messages).check("So [1.3], not [1.9].").unknown == ("1.9",)
    assert "\\[1.3\\] ratio 0.4731" in as_markdown(content)
