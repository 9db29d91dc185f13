"""A question about groups, asked offline: the whole chain of tools, to the numbers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import tifffile

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.imaging.reading.image_entries import read_instance
from app.tools import general, microscopy
from app.tools.hosting.host import ProcessHost
from app.tools.images import OpenImage, RunImages
from app.tools.microscopy.plan import PLAN
from app.tools.needs import is_installed
from app.tools.registry import Registry
from tests.support.cell_states import experiment
from tests.support.fake_tools import collect, request
from tests.unit.tools.support import Inline

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("umap"), reason="umap-learn is not installed"),
]


def registry() -> Registry:
    made = Registry()
    general.register(made)
    microscopy.register(made)
    if PLAN not in made.plans.packs:
        made.plan(PLAN)
    return made


@pytest.mark.parametrize(
    "question",
    [
        "Analyze the cell states in all images",
        "Which cell states differ between treatment and control?",
    ],
)
def test_the_groups_are_compared_by_their_images(
    tmp_path: Path, model_process: ProcessHost, question: str
):
    opened: list[OpenImage] = []
    for number, image in enumerate(experiment(0, side=5), 1):
        folder = tmp_path / image.group
        folder.mkdir(exist_ok=True)
        path = folder / f"{image.replicate}.tif"
        tifffile.imwrite(path, image.pixels)
        opened.append(OpenImage(f"image-{number}", read_instance(path)))
    out = tmp_path / "out"
    out.mkdir()
    images = RunImages(opened, out, Inline())
    notes = [dict(note) for note in images.notes(remote=False)]
    tools = registry()
    loop = AgentLoop(OfflineModel(tools.plans), tools, plans=tools.plans)
    asked = request(out, question, notes=notes, images=images, host=model_process)
    events: list[Any] = asyncio.run(collect(loop, asked))
    ended = [event for event in events if event.kind == "tool_finished"]
    by_tool = {event.tool: event for event in ended}
    analysed = by_tool["cell_state_analyzer"]
    assert analysed.output["cells"] >= 100
    compared = by_tool["analysis_visualizer"].output
    assert compared["clusters"][0]["replicates"] == [3, 3]
    assert {one["group"] for one in compared["clusters"]} == {"treatment"}
    assert any(one["p_adjusted"] < 0.05 for one in compared["clusters"])
    answer = events[-1].answer
    assert "adjusted p" in answer
