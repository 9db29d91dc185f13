from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.tools.api import ToolFailed, ToolResult
from app.tools.registry import Registry
from tests.support.cells_pack import (
    ANALYZER,
    CAPTIONER,
    CELLS,
    CROPPER,
    INFO,
    NUCLEI,
    ORGANOIDS,
    PLAN,
    PREPROCESSOR,
    SEGMENTERS,
    VISUALIZER,
    cells_registry,
    micrograph,
)
from tests.unit.tools.support import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.open(micrograph(tmp_path / "well.png", cells=7))
    return bench


def run(bench: Bench, tool: str, **arguments: Any) -> ToolResult:
    registry: Registry = cells_registry()
    found = registry.get(tool)
    assert found is not None
    return bench.run(found, **arguments)


def test_the_chain_computes_each_step_from_the_one_before(bench: Bench):
    cleaned = run(bench, PREPROCESSOR, image_path="image-1").output["image_path"]
    cells = run(bench, CELLS, image_path=cleaned)
    assert cells.output["count"] == 7
    cut = run(bench, CROPPER, image_path=cleaned, mask_path=cells.output["mask_path"])
    assert cut.output["crops"] == 7
    states = run(bench, ANALYZER, crops_path=cut.output["crops_path"])
    assert states.output["states"] == 2
    assert sorted(states.output["cells"]) == [3, 4]  # every second one is larger and dimmer
    drawn = run(bench, VISUALIZER, data_path=states.output["analysis_path"])
    assert bench.images.resolve(drawn.output["picture_path"]).display.shape == (64, 64, 3)
    assert "7 bright objects" in run(bench, CAPTIONER, image_path="image-1").output["caption"]


def test_a_channel_that_the_picture_has_not_gives_nothing(bench: Bench):
    channels = run(bench, INFO, image_path="image-1").output["channels"]
    assert run(bench, NUCLEI, image_path="image-1", channel="DAPI").output["count"] == 0
    assert "Hoechst" in channels
    assert run(bench, NUCLEI, image_path="image-1", channel="Hoechst").output["count"] == 7


def test_only_large_things_are_organoids(bench: Bench):
    assert run(bench, ORGANOIDS, image_path="image-1").output["count"] == 3


def test_a_file_of_another_folder_is_refused(bench: Bench, tmp_path: Path):
    elsewhere = tmp_path / "crops.json"
    elsewhere.write_text("[]")
    with pytest.raises(ToolFailed, match="no file of this run"):
        run(bench, ANALYZER, crops_path=str(elsewhere))


def test_the_plan_speaks_only_of_tools_arguments_and_kinds_that_exist():
    registry = cells_registry()
    for rule in PLAN.tools:
        tool = registry.get(rule.tool)
        assert tool is not None
        arguments = set(tool.spec.Input.model_fields)
        assert {feed.argument for feed in rule.feeds} <= arguments
        assert rule.discovery is None or rule.discovery.argument in arguments
    kinds = {kind.name for kind in PLAN.kinds}
    for kind in PLAN.kinds:
        assert set(kind.beats) <= kinds
    for item in PLAN.successors:
        assert set(item.kinds) <= kinds
        assert registry.get(item.then) is not None
    assert all(registry.get(name) for name in SEGMENTERS)
