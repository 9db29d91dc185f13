"""What the planner plans for a row is what runs: real tools, real small pictures, the real loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.tools.pack_plan import Priority
from tests.routing.table import SCENES, Row, plan, registry_of, rows
from tests.support.cells_pack import micrograph, open_pictures
from tests.support.fake_tools import collect, request


def ran(row: Row, folder: Path, picture: Path) -> tuple[str, ...]:
    """The tools that gave a result."""
    registry = registry_of(row.packs)
    images, notes = open_pictures(folder, *([picture] if SCENES[row.scene] else []))
    loop = AgentLoop(OfflineModel(registry.plans), registry, plans=registry.plans)
    asked = request(folder, row.text, images=images, notes=notes)
    events = asyncio.run(collect(loop, asked))
    assert events[-1].kind == "run_finished", row.id
    return tuple(e.tool for e in events if e.kind == "tool_finished" and e.status == "ok")


def test_each_plan_of_the_microscopy_pack_runs_and_nothing_else(tmp_path: Path):
    picture = micrograph(tmp_path / "well.png")
    plans = registry_of("cells").plans
    # One row for each plan that there is: rows with the same plan run in the same way.
    by_plan = {(row.scene, plan(row).tools): row for row in rows() if row.packs == "cells"}
    assert len(by_plan) > 20
    wrong: list[str] = []
    for (_, planned), row in by_plan.items():
        folder = tmp_path / row.id
        folder.mkdir()
        may = tuple(t for t in planned if plans.rule(t).priority is not Priority.EXCLUDED)
        # Steps that wait for no other run together, and end in any order.
        if sorted(ran(row, folder, picture)) != sorted(may):
            wrong.append(row.id)
    assert not wrong
