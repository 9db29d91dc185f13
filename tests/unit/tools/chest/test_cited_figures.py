"""Each number that a sentence on a chest result tells stands in an item that it cites."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.agent.answers.evidence import Evidence
from app.agent.answers.items import items_of, untold
from app.agent.answers.result_summaries import render_result
from app.agent.context.model_messages import result_message
from app.tools.api import ToolResult
from app.tools.chest.cardiothoracic import CardiothoracicRatio
from app.tools.chest.segmentation import ChestXRaySegmentation
from app.tools.chest.segmenter import Segmenter
from app.tools.registry import load_packs
from tests.unit.tools.chest.synthetic import planted, radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom

LOOKS = {"agreement": {"Left Lung": 0.9971, "Right Lung": 0.986, "Heart": 0.941}, "ratio": 0.067}
SPACED = {"ImagerPixelSpacing": [0.7, 0.7]}
_CUTOFF = {"0.5"}


def lines(name: str, result: ToolResult) -> tuple[list[str], dict[str, str]]:
    """Return the lines that cite a result without a language model, and its items by their ids."""
    told = {"summary": result.summary, "output": result.output, "metadata": result.metadata}
    made = Evidence().take(
        result_message("1", name, told), items_of(result.findings, result.output)
    )
    shown = render_result(made, load_packs([]).plans, set())
    return [one for one in shown if re.search(r"\[\d", one)], made.data["items"]


@pytest.mark.parametrize("attributes", [{}, SPACED])
@pytest.mark.parametrize("tool", [CardiothoracicRatio, ChestXRaySegmentation])
def test_each_number_stands_in_a_cited_item(bench: Bench, tool: Any, attributes: dict[str, Any]):
    bench.host = FakeHost(planted(spread=LOOKS))
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    result = bench.run(tool(Segmenter()), image_path="image-1")
    told, items = lines(tool.spec.name, result)
    assert len(told) > 1
    for line in told:
        text, ids = re.findall(r"^(.*) \[([\d., ]+)\]", line)[0]
        cited = [items[key] for key in ids.split(", ") if key in items]
        assert set(untold(text, cited)) <= _CUTOFF, line


def test_a_result_with_more_numbers_than_items_is_cited_as_a_whole_too(bench: Bench):
    bench.host = FakeHost(planted())
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    result = bench.run(ChestXRaySegmentation(Segmenter()), image_path="image-1")
    many = {f"Organ {n}": dict(result.output["metrics"]["Heart"]) for n in range(9)}
    told, _ = lines("chest_xray_segmentation", _with(result, many))
    assert [line[-4:] for line in told if "**Organ 8:**" in line] == [" 1]."]


def _with(result: ToolResult, metrics: dict[str, Any]) -> ToolResult:
    return ToolResult(
        result.summary, {**result.output, "metrics": metrics}, result.metadata, result.findings
    )
