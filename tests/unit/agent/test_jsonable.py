from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.agent.events import (
    Override,
    PlanUpdated,
    RunCancelled,
    RunFailed,
    ToolFinished,
    ToolProgress,
)
from app.agent.json_forms import describe, event_json, finding_json, geometry_json, plain
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.errors import FileProblem
from app.imaging.findings import Box, Finding, Heatmap, Mask, Point, Polygon, Polyline, Provenance
from app.tools.api import Artifact
from app.tools.registry import load_packs
from tests.support.fake_tools import REF, collect, pack, request


def made(geometry: Any, **changes: Any) -> Finding:
    provenance = Provenance("tool", "1", "net", "abc", "r", "c", "2024-01-01T00:00:00+00:00")
    return replace(Finding("f1", REF, geometry, "Heart", 0.5, "px", provenance), **changes)


def test_a_masks_geometry_is_a_png_of_the_images_rows_and_columns(tmp_path: Path):
    pixels = np.zeros((3, 5), dtype=bool)
    pixels[1, 2:4] = True
    fields = finding_json(made(Mask(pixels)), tmp_path / "new")
    assert fields["geometry"].keys() == {"type", "path"}
    path = Path(fields["geometry"]["path"])
    assert path.parent == tmp_path / "new"
    with Image.open(path) as image:
        read = np.asarray(image)
    assert read.dtype == np.uint8
    assert np.array_equal(read, pixels * 255)
    assert fields["image"] == {"sop_instance_uid": "1.2.3", "frame": 0, "pixel_sha256": "0" * 64}
    assert fields["provenance"]["weights_sha256"] == "abc"
    assert json.dumps(fields, allow_nan=False)


@pytest.mark.parametrize(
    ("geometry", "fields"),
    [
        (Box(1.0, 2.0, 3.5, 4.0), {"type": "Box", "x0": 1.0, "y0": 2.0, "x1": 3.5, "y1": 4.0}),
        (Point(1.0, 2.0), {"type": "Point", "point": [1.0, 2.0]}),
        (
            Polyline(((0.0, 1.0), (2.0, 3.0))),
            {"type": "Polyline", "points": [[0.0, 1.0], [2.0, 3.0]]},
        ),
        (
            Polygon(((np.float32(0), 1.0), (2.0, 3.0))),  # pyright: ignore[reportArgumentType]
            {"type": "Polygon", "points": [[0.0, 1.0], [2.0, 3.0]]},
        ),
    ],
)
def test_other_geometry(tmp_path: Path, geometry: Any, fields: dict[str, Any]):
    assert geometry_json(geometry, tmp_path, "x") == fields
    assert not list(tmp_path.iterdir())


def test_a_heatmap_is_a_png_too(tmp_path: Path):
    values = np.array([[0.0, 0.5], [1.0, float("nan")]], dtype=np.float32)
    path = geometry_json(Heatmap(values), tmp_path, "../../x/y")["path"]
    assert Path(path).parent == tmp_path
    with Image.open(path) as image:
        assert np.asarray(image).tolist() == [[0, 128], [255, 0]]


def test_a_folder_that_cannot_be_written_is_a_file_problem(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileProblem, match="cannot be written"):
        geometry_json(Mask(np.zeros((2, 2), dtype=bool)), tmp_path / "file" / "x", "m")


class Colour(Enum):
    RED = "red"


def test_plain_has_json_types_only():
    value = {
        "np": np.float64(1.5),
        "int": np.int32(3),
        "nan": float("nan"),
        "inf": np.float32("inf"),
        "array": np.zeros((1, 2)),
        "path": Path("a/b"),
        "enum": Colour.RED,
        "tuple": (1, None, True),
        "set": {1},
        7: b"abc",
        "odd": object,
    }
    read = json.loads(json.dumps(plain(value), allow_nan=False))
    assert read["np"] == 1.5
    assert read["nan"] is read["inf"] is None
    assert read["array"] == [[0.0, 0.0]]
    assert (read["path"], read["enum"], read["tuple"]) == (str(Path("a/b")), "red", [1, None, True])
    assert read["7"] == "(3 bytes)"


def test_a_whole_run_as_json_lines(tmp_path: Path):
    loop = AgentLoop(OfflineModel(load_packs([]).plans), pack())
    question = "Where are the lungs, and is the heart enlarged?"
    events = asyncio.run(collect(loop, request(tmp_path, question)))
    lines = [json.loads(json.dumps(event_json(e, tmp_path), allow_nan=False)) for e in events]
    started = next(line for line in lines if line["kind"] == "tool_started")
    assert {"call_id", "tool", "arguments", "run_id", "seq", "time"} <= started.keys()
    finished = [line for line in lines if line["kind"] == "tool_finished"]
    assert {"call_id", "tool", "status", "summary", "output", "metadata", "findings",
            "artifacts"} <= finished[0].keys()  # fmt: skip
    # They wait for no other, so either may end first.
    kinds = sorted([f["geometry"]["type"] for f in line["findings"]] for line in finished)
    assert kinds == [["Mask"] * 3, ["Polyline"] * 2]
    assert lines[-1]["answer"]
    assert all(isinstance(describe(event), str) for event in events)


def test_artifacts_have_their_paths(tmp_path: Path):
    event = ToolFinished(
        run_id="r", seq=1, time="t", call_id="c", tool="t", status="ok", summary="",
        artifacts=[Artifact(tmp_path / "a.png", "show", options={"cmap": "gray"})],
    )  # fmt: skip
    (artifact,) = event_json(event, tmp_path)["artifacts"]
    assert artifact["path"] == str(tmp_path / "a.png")
    assert artifact["options"] == {"cmap": "gray"}


def test_lines_for_people(tmp_path: Path):
    progress = ToolProgress(
        run_id="r", seq=1, time="t", call_id="c", tool="seg", fraction=0.5, text="half"
    )
    assert describe(progress) == "  seg: 50% half"
    failed = ToolFinished(
        run_id="r", seq=1, time="t", call_id="c", tool="seg", status="failed", summary="s",
        error="No weights. Get them.", duration_s=1.26,
    )  # fmt: skip
    assert describe(failed) == "  seg: failed in 1.3 s: No weights. Get them."
    done = ToolFinished(
        run_id="r", seq=1, time="t", call_id="c", tool="seg", status="ok", summary="3 organs.",
        evidence=2,
    )  # fmt: skip
    assert describe(done) == "  [2] seg: ok in 0.0 s: 3 organs."
    changed = Override(rule="dependency", tool="b", instead="a", reason="b needs a.")
    steps = [{"tool": "a", "why": "", "state": "done"}]
    plan = PlanUpdated(run_id="r", seq=1, time="t", steps=steps, overrides=[changed])
    assert describe(plan) == ""
    ended = plan.model_copy(update={"goal": "incomplete", "goal_why": "b is missing."})
    assert describe(ended) == "Changed by a rule: b needs a.\nGoal not reached: b is missing."
    assert describe(RunCancelled(run_id="r", seq=2, time="t")) == "Stopped."
    ended = RunFailed(run_id="r", seq=2, time="t", error="It cannot be reached", remedy="Start it.")
    assert describe(ended) == "Failed: It cannot be reached. Start it."
