"""Questions about many images: one call, one table, resumed, cancelled, judged image by image."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.agent.answers.result_summaries import write_summary
from app.agent.call_log import CallLog
from app.agent.context.model_messages import image_notes_text
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.messages import Message
from app.agent.planning import Scene, Step, resolve
from app.agent.planning.image_choice import image_choice
from app.agent.planning.plan import Output, ReadyStep
from app.agent.policy import Grants, Policy
from app.agent.policy.approvals import Gate
from app.agent.sessions import Thread
from app.imaging.findings import Finding, Mask, new_id
from app.imaging.reading.image_entries import read_instance
from app.imaging.types import Spacing, SpacingSource
from app.tools.api import (
    Approval,
    Artifact,
    CancelToken,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    takes,
)
from app.tools.files import save_png
from app.tools.general import for_each_image
from app.tools.general.for_each_image import NAME, ForEachImage
from app.tools.images import OpenImage, RunImages
from app.tools.pack_plan import Accepts, PackPlan, Plans, ToolRule
from app.tools.registry import Registry
from app.tools.tables import table_of, write_table
from tests.support import cells_pack as cells
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, request
from tests.support.scripted_model import ScriptedModel, call, says
from tests.unit.agent.test_enforcing import Played, check_transcript
from tests.unit.tools.support import Inline


def registry(*more: FakeTool) -> Registry:
    made = Registry()
    cells.register(made)
    made.register(ForEachImage())
    for tool in more:
        made.register(tool)
    return made


def micrographs(folder: Path, *counts: int, names: Sequence[str] = ()) -> list[Path]:
    folder.mkdir(exist_ok=True)
    titles = names or [f"well_{place}" for place in range(1, len(counts) + 1)]
    return [
        cells.micrograph(folder / f"{title}.png", count, seed=place)
        for place, (title, count) in enumerate(zip(titles, counts, strict=True))
    ]


def run(
    tmp_path: Path,
    question: str,
    pictures: Sequence[Path],
    *,
    model: Any = None,
    tools: Registry | None = None,
    thread: Thread | None = None,
    approvals: Gate | None = None,
    **changes: Any,
) -> Played:
    out = tmp_path / "out"
    images, notes = cells.open_pictures(out, *pictures)
    tools = tools or registry()
    thread = thread or Thread.in_memory()
    loop = AgentLoop(
        model or OfflineModel(tools.plans), tools, plans=tools.plans, approvals=approvals
    )
    asked = request(out, question, notes=notes, thread=thread, images=images, **changes)
    events = asyncio.run(collect(loop, asked))
    check_transcript(thread.history)
    return Played(events, thread, model)


def finished(played: Played) -> Any:
    return next(event for event in played.events if event.kind == "tool_finished")


def rows(played: Played) -> list[dict[str, str]]:
    with Path(finished(played).output["table_path"]).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    "question",
    [
        "How many cells in each image?",
        "count the cells in all images",
        "How many cells are there per image?",
        "Wie viele Zellen sind in jedem Bild?",
        "Zähle die Zellen in allen Bildern",
        "number of cells for every slide",
    ],
)
def test_how_many_cells_in_each_of_40_images_gives_one_table(tmp_path: Path, question: str):
    counts = [1 + place % 16 for place in range(40)]
    played = run(tmp_path, question, micrographs(tmp_path / "in", *counts))
    assert played.ran == [NAME]
    assert [int(row["count"]) for row in rows(played)] == counts
    assert rows(played)[0]["image"] == "well_1.png"
    told = played.events[-1].answer
    assert re.search("40 (of 40 images|von 40 Bildern)", told)
    assert re.search(f"{sum(counts)} (in all|insgesamt)", told)
    assert "[1]" in told
    tables = [item for item in finished(played).artifacts if item.role == "table"]
    assert [item.options["image_column"] for item in tables] == ["image"]
    assert played.plan[-1].goal == "done"


def test_a_group_that_is_named_is_counted_alone_and_each_group_has_totals(tmp_path: Path):
    names = ["control_1", "control_2", "treated_1", "treated_2"]
    pictures = micrographs(tmp_path / "in", 3, 5, 7, 9, names=names)
    of_one = run(tmp_path, "How many cells are in the treated group?", pictures)
    assert [row["image"] for row in rows(of_one)] == ["treated_1.png", "treated_2.png"]
    assert finished(of_one).output["groups"]["treated"]["totals"]["count"]["sum"] == 16
    of_all = run(tmp_path, "How many cells in each image?", pictures)
    assert {row["group"] for row in rows(of_all)} == {"control", "treated"}
    groups = finished(of_all).output["groups"]
    assert groups["control"]["totals"]["count"] == {"sum": 8, "mean": 4, "min": 3, "max": 5}
    assert groups["control"]["replicates"] == 2


def counting(stop_at: int = 0, fails_at: str = "") -> FakeTool:
    def count(args: Any, context: ToolContext) -> ToolResult:
        if stop_at and len(tool.calls) == stop_at:
            context.cancel.wait(10)
            context.cancel.check()
        snapshot = context.images.resolve(args.image_path)
        if fails_at and snapshot.path.name.startswith(fails_at):
            raise ToolFailed("the picture is empty", remedy="Choose another.")
        labels = snapshot.display[..., 1] > 100
        provenance = context.provenance(tool.spec)
        found = Finding(new_id(), snapshot.ref, Mask(labels), "Cells", None, "", provenance)
        return ToolResult(
            f"{int(labels.sum())} bright pixels.", {"pixels": int(labels.sum())}, {}, (found,)
        )

    tool = FakeTool("bright_pixels", ImageInput, count)
    return tool


def test_a_stopped_call_goes_on_where_it_stopped_and_ends_at_once(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", *range(1, 9))
    tool, thread, cancel = counting(stop_at=5), Thread.in_memory(), CancelToken()
    asked = {"tool": "bright_pixels"}
    stopped: list[float] = []

    def stop() -> None:
        while len(tool.calls) < 5:
            time.sleep(0.01)
        stopped.append(time.monotonic())
        cancel.cancel()

    threading.Thread(target=stop).start()
    with ScriptedModel([call(NAME, **asked)]) as model:
        first = run(
            tmp_path, "?", pictures, model=model, tools=registry(tool), thread=thread, cancel=cancel
        )
    assert time.monotonic() - stopped[0] < 1
    assert first.events[-1].kind == "run_cancelled"
    again = counting()
    with ScriptedModel([call(NAME, **asked)], says("Done.")) as model:
        second = run(
            tmp_path, "?", pictures, model=model, tools=registry(again), thread=thread, run_id="r2"
        )
    assert len(again.calls) == 4
    assert finished(second).output["reused"] == 4
    assert len(rows(second)) == 8
    # Proposed anew, by this call: what the user made of the first ones stays.
    with ScriptedModel([call(NAME, **asked)], says("Done.")) as model:
        third = run(
            tmp_path, "?", pictures, model=model, tools=registry(again), thread=thread, run_id="r3"
        )
    ids = [{item.id for item in finished(played).findings} for played in (second, third)]
    assert len(ids[0] | ids[1]) == 16
    assert {item.provenance.run_id for item in finished(third).findings} == {"r3"}


def test_one_images_failure_is_a_row_and_findings_are_of_their_own_images(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 4, 5)
    tool = counting(fails_at="well_2")
    with ScriptedModel([call(NAME, tool="bright_pixels")], says("Done.")) as model:
        played = run(tmp_path, "?", pictures, model=model, tools=registry(tool))
    errors = [row["error"] for row in rows(played)]
    assert errors == ["", "the picture is empty. Choose another.", ""]
    found = finished(played).findings
    images, _ = cells.open_pictures(tmp_path / "other", pictures[0], pictures[2])
    wanted = [images.resolve(f"image-{place}") for place in (1, 2)]
    assert [item.image for item in found] == [one.ref for one in wanted]
    for item, one in zip(found, wanted, strict=True):
        assert isinstance(item.geometry, Mask)
        assert np.array_equal(item.geometry.pixels, one.display[..., 1] > 100)
        assert item.provenance.call_id == finished(played).call_id
        assert isinstance(item.geometry.pixels, np.memmap)


def test_where_no_image_gives_a_result_the_call_fails_with_the_reason(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 4)
    tool = counting(fails_at="well")
    with ScriptedModel([call(NAME, tool="bright_pixels")], says("None.")) as model:
        played = run(tmp_path, "?", pictures, model=model, tools=registry(tool))
    assert "on any of the 2 images: the picture is empty" in played.failed(NAME)


def test_each_warning_is_told_once_and_names_the_image_that_it_concerns(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 4)

    def measure(args: ImageInput, context: ToolContext) -> ToolResult:
        own = context.images.resolve(args.image_path).path.stem
        warnings = ["the spacing is unknown", *(["it is blurred"] if own == "well_2" else [])]
        limit = "Above 9 is much."
        summary = f"Measured {own[-1]}. {limit} Warnings: {'; '.join(warnings)}."
        return ToolResult(summary, {"ratio": 0.5}, {"warnings": warnings})

    tool = FakeTool("measures", ImageInput, measure)
    with ScriptedModel([call(NAME, tool="measures")], says("Done.")) as model:
        result = finished(run(tmp_path, "?", pictures, model=model, tools=registry(tool)))
    assert result.metadata["warnings"] == ["the spacing is unknown", "well_2.png: it is blurred"]
    said = result.metadata["each"]
    assert said == ["well_1.png: Measured 1.", "well_2.png: Measured 2.", "Above 9 is much."]
    assert "Warnings" not in result.summary


@pytest.mark.parametrize("effect", [Approval.WRITE, Approval.SEND, Approval.EXECUTE])
def test_a_tool_that_acts_is_never_repeated(tmp_path: Path, effect: Approval):
    acts = FakeTool("acts", ImageInput, lambda *_: ToolResult("", {}, {}), approval=effect)
    with ScriptedModel([call(NAME, tool="acts")], says("No.")) as model:
        played = run(
            tmp_path, "?", micrographs(tmp_path / "in", 1, 2), model=model, tools=registry(acts)
        )
    assert "never run on many images at once" in played.failed(NAME)
    assert acts.calls == []
    with ScriptedModel([call(NAME, tool=NAME)], says("No.")) as model:
        played = run(tmp_path, "?", micrographs(tmp_path / "in", 1, 2), model=model)
    assert "it repeats others itself" in played.failed(NAME)


@pytest.mark.parametrize("rule", ["deny", "ask"])
def test_the_policy_judges_the_inner_tool(tmp_path: Path, rule: str):
    gate = Gate(Policy.from_data({"tools": {"bright_pixels": rule}}), Grants())
    tool = counting()
    with ScriptedModel([call(NAME, tool="bright_pixels")], says("No.")) as model:
        played = run(
            tmp_path,
            "?",
            micrographs(tmp_path / "in", 1, 2),
            model=model,
            tools=registry(tool),
            approvals=gate,
        )
    assert tool.calls == []
    assert "policy of this installation" in played.failed(NAME)


def test_a_file_elsewhere_is_refused_in_the_inner_arguments_too(tmp_path: Path):
    outside = tmp_path / "secret.json"
    outside.write_text("[]")
    nested = {"crops_path": str(outside)}
    with ScriptedModel([call(NAME, tool=cells.CELLS, arguments=nested)], says("No.")) as model:
        played = run(tmp_path, "?", micrographs(tmp_path / "in", 1, 2), model=model)
    assert "names neither an open image nor a file of this run" in played.failed(NAME)
    with ScriptedModel([call(NAME, tool=cells.CELLS, arguments={"x": 1})], says("No.")) as model:
        played = run(tmp_path, "?", micrographs(tmp_path / "in", 1, 2), model=model)
    assert "wrong arguments" in played.failed(NAME)


def test_what_the_inner_tool_needs_runs_first_on_the_same_images_and_feeds_each(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 4, 5)
    with ScriptedModel([call(NAME, tool=cells.CROPPER)], says("Cut.")) as model:
        played = run(tmp_path, "Crop the cells in each image", pictures, model=model)
    assert played.ran == [NAME, NAME]
    outputs = [e.output for e in played.events if e.kind == "tool_finished"]
    assert outputs[0]["tool"] == cells.CELLS
    assert [row["output"]["crops"] for row in outputs[1]["results"]] == [3, 4, 5]


def test_a_tool_that_the_question_leaves_out_is_not_repeated_either(tmp_path: Path):
    with ScriptedModel([call(NAME, tool=cells.NUCLEI)], says("No.")) as model:
        played = run(
            tmp_path,
            "Count the cells in each image, but don't use Nuclei_Segmenter_Tool",
            micrographs(tmp_path / "in", 1, 2),
            model=model,
        )
    assert ("left_out", cells.NUCLEI, "") in played.overrides


def test_a_later_call_on_one_image_takes_that_images_mask(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 4)
    thread = Thread.in_memory()
    run(tmp_path, "How many cells in each image?", pictures, thread=thread)
    with ScriptedModel([call(cells.CROPPER, image_path="image-2")], says("Cut.")) as model:
        later = run(tmp_path, "?", pictures, model=model, thread=thread, run_id="r2")
    assert later.ran == [cells.CROPPER]
    assert finished(later).output["crops"] == 4


def test_progress_counts_the_images(tmp_path: Path):
    played = run(tmp_path, "How many cells in each image?", micrographs(tmp_path / "in", 1, 2, 3))
    texts = [event.text for event in played.events if event.kind == "tool_progress"]
    assert texts
    assert texts[0] == "1 of 3"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which cell states differ between treated and control?", (1, 2, 3, 4)),
        ("Is the control out of focus?", ()),
        ("Compare both lungs", ()),
    ],
)
def test_a_question_that_names_groups_is_about_all_their_images(
    question: str, expected: tuple[int, ...]
):
    names = ["control", "control", "treated", "treated", "washout", ""]
    images = [{"id": f"image-{n}", "group": group} for n, group in enumerate(names, 1)]
    chosen = image_choice(question, images)
    assert chosen.many == tuple(f"image-{n}" for n in expected)


def test_what_each_of_many_images_gave_feeds_the_next_step():
    result = Message(
        role="tool",
        call_id="1",
        tool=NAME,
        ok=True,
        data={
            "output": {
                "tool": cells.CELLS,
                "results": [
                    {"image": "/a.tif", "output": {"mask_path": "/out/a.tif"}},
                    {"image": "/b.tif", "error": "it is blank"},
                    {"image": "/c.tif", "output": {"mask_path": "/out/c.tif"}},
                ],
            }
        },
    )
    steps = [Step(NAME, {"tool": cells.CELLS}), Step("crop", {"masks": Output(1, "mask_path")})]
    ready = resolve(steps[1], steps, {1: result}, Scene((), {}))
    assert isinstance(ready, ReadyStep)
    assert ready.arguments == {"masks": ["/out/a.tif", "/out/c.tif"]}


class TableInput(ToolInput):
    table: str = takes(Resource.TABLE)


def test_a_result_of_a_table_alone_is_bound_to_no_image_and_the_answer_names_its_files(
    tmp_path: Path,
):
    def sum_up(args: Any, context: ToolContext) -> ToolResult:
        table = write_table(context.out_dir / "sums.csv", table_of([{"a": 1}, {"a": 2}]), "Sums")
        return ToolResult("Summed up.", {"table_path": str(table.path)}, {}, (), (table,))

    given = tmp_path / "out" / "given.csv"
    given.parent.mkdir()
    given.write_text("a\n1\n")
    tool = FakeTool("sum_up", TableInput, sum_up)
    accepts = Accepts(modalities=("SM",), what="a micrograph")
    plans = Plans((PackPlan("p", tools=(ToolRule("sum_up", accepts=accepts),)),))
    images, notes = cells.open_pictures(tmp_path / "out", *micrographs(tmp_path / "in", 1))
    thread = Thread.in_memory()
    with ScriptedModel([call("sum_up", table=str(given))], says("Done.")) as model:
        loop = AgentLoop(model, FakeRegistry(tool), plans=plans)
        other = [{**notes[0], "kind": "dicom", "modality": "MR"}]
        asked = request(tmp_path / "out", "?", notes=other, thread=thread, images=images)
        played = Played(asyncio.run(collect(loop, asked)), thread, model)
    assert played.ran == ["sum_up"]
    log = CallLog(thread.history, other, tmp_path / "out")
    assert [item.images for item in log.all()] == [frozenset()]
    assert not list(log.on_other_images({"/somewhere/else.png"}))
    result = next(item for item in thread.history if item.role == "tool")
    assert [(item["kind"], item["title"], item["rows"]) for item in result.data["files"]] == [
        ("table", "Sums", 2)
    ]
    told = write_summary([result], (), (), ())
    assert "- Table “Sums”: 2 rows [1]" in told


def test_a_model_is_told_the_groups_in_one_line():
    notes = [
        {"id": f"image-{place}", "group": "ctrl" if place < 4 else "drug"} for place in range(6)
    ]
    assert "groups: ctrl: 4 images; drug: 2 images" in image_notes_text(notes, 1)


def test_rows_of_two_files_of_one_name_keep_their_own_images_and_findings(tmp_path: Path):
    pictures = [tmp_path / group / "img.png" for group in "ab"]
    for picture, count in zip(pictures, (3, 5), strict=True):
        picture.parent.mkdir()
        cells.micrograph(picture, count, seed=count)
    tool = counting()
    plain_run = tool.run

    def with_table(args: Any, context: ToolContext) -> ToolResult:
        result = plain_run(args, context)
        (finding,), path = result.findings, context.out_dir / f"t-{context.call_id}.csv"
        table = table_of([{"image": "img.png", "label": 1}])
        links = {"image_column": "image", "label_column": "label"}
        artifact = write_table(path, table, "Cells", **links, findings={"img.png": finding.id})
        return replace(result, artifacts=(artifact,))

    tool.run = with_table
    with ScriptedModel([call(NAME, tool="bright_pixels")], says("Done.")) as model:
        played = run(tmp_path, "?", pictures, model=model, tools=registry(tool))
    found = finished(played)
    objects = found.artifacts[1]
    with objects.path.open(newline="") as stream:
        named = [row["image"] for row in csv.DictReader(stream)]
    assert named == ["img.png", "img.png (image-2)"]
    assert objects.options["findings"] == {
        name: one.id for name, one in zip(named, found.findings, strict=True)
    }


def test_a_result_is_made_again_where_the_size_of_a_pixel_has_changed(tmp_path: Path):
    images, _ = cells.open_pictures(tmp_path / "out", *micrographs(tmp_path / "in", 3))
    spec, snapshot = counting().spec, images.resolve("image-1")
    spacing = Spacing(0.001, 0.001, SpacingSource.MANUAL)
    scaled = replace(snapshot, frame=replace(snapshot.frame, spacing=spacing))
    row = for_each_image.Row("image-1", "a", "a")
    assert for_each_image._key(spec, {}, row, snapshot) != for_each_image._key(
        spec, {}, row, scaled
    )


def test_the_row_of_a_file_that_cannot_be_read_has_its_name(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 4)
    out = tmp_path / "out"
    images, notes = cells.open_pictures(out, *pictures)
    pictures[1].write_bytes(pictures[1].read_bytes()[:60])
    loop = AgentLoop(OfflineModel(registry().plans), registry(), plans=registry().plans)
    asked = request(
        out, "How many cells in each image?", notes=notes, thread=Thread.in_memory(), images=images
    )
    model: Any = None
    played = Played(asyncio.run(collect(loop, asked)), Thread.in_memory(), model)
    assert [row["image"] for row in rows(played)] == [one.name for one in pictures]
    assert [bool(row["error"]) for row in rows(played)] == [False, True]


def test_rows_of_images_with_fewer_columns_are_kept(tmp_path: Path):
    made = for_each_image._ObjectsTable(tmp_path / "all.csv")
    grouped = table_of([{"image": "a", "group": "control", "label": 1}])
    for name, table in (("a", grouped), ("b", table_of([{"image": "b", "label": 7}]))):
        made.add(write_table(tmp_path / f"{name}.csv", table, "Cells", image_column="image"), name)
    artifact = made.artifact("Cells")
    assert artifact is not None
    assert artifact.options["rows"] == 2
    assert artifact.path.read_text().split() == [
        "image,group,label,replicate",
        "a,control,1,",
        "b,,7,",
    ]


def test_groups_of_later_images_are_kept_where_the_first_has_none(tmp_path: Path):
    joined = for_each_image._ObjectsTable(tmp_path / "all.csv")
    for name, more in (("a", {}), ("b", {"group": "drug", "replicate": "1"})):
        table = table_of([{"image": name, **more, "label": 1}])
        joined.add(
            write_table(tmp_path / f"{name}.csv", table, "Cells", image_column="image"), name
        )
    with (tmp_path / "all.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["image"], row["group"], row["replicate"]) for row in rows] == [
        ("a", "", ""),
        ("b", "drug", "1"),
    ]


def masked(out: Path) -> FakeTool:
    """A tool that makes a file and names it as its mask."""

    def made(args: Any, context: ToolContext) -> ToolResult:
        snapshot = context.images.resolve(args.image_path)
        path = save_png(snapshot.display, out, "mask")
        context.images.add_derived(path, snapshot)
        mask = Artifact(path, "mask", "Mask", "", snapshot.ref)
        return ToolResult("Made.", {"count": 1, "mask_path": str(path)}, {}, artifacts=(mask,))

    return FakeTool("masked", ImageInput, made)


def test_masks_kept_by_an_earlier_run_are_files_of_the_run_that_takes_them(tmp_path: Path):
    """An output folder of one's own may hold other files, which no run may read."""
    pictures, out = micrographs(tmp_path / "in", 3, 4), tmp_path / "out"
    tools = registry(masked(out))

    def play(images: RunImages) -> Any:
        notes = [dict(note) for note in images.notes(remote=False)]
        with ScriptedModel([call(NAME, tool="masked")], says("Done.")) as model:
            loop = AgentLoop(model, tools, plans=tools.plans)
            asked = request(out, "?", notes=notes, thread=Thread.in_memory(), images=images)
            events = asyncio.run(collect(loop, asked))
        return finished(Played(events, Thread.in_memory(), model))

    images, _ = cells.open_pictures(out, *pictures)
    first = play(images)
    masks = [Path(one["output"]["mask_path"]).resolve() for one in first.output["results"]]
    opened = [OpenImage(f"image-{n}", read_instance(path)) for n, path in enumerate(pictures, 1)]
    images = RunImages(opened, out, Inline(), out.iterdir())
    assert not any(images.is_made(mask) for mask in masks)
    again = play(images)
    assert again.output["reused"] == 2
    assert again.output["results"] == first.output["results"]
    assert all(images.is_made(mask) for mask in masks)

    (kept, _) = (out / NAME).glob("*.json")
    told = json.loads(kept.read_text())
    outside = tmp_path / "outside.tif"
    outside.write_bytes(b"")
    told["artifacts"][0]["path"] = str(outside)
    kept.write_text(json.dumps(told))
    assert play(images).output["reused"] == 1, "a kept result names no file elsewhere"


def test_a_line_about_an_image_cites_what_this_image_gave_alone(tmp_path: Path):
    pictures = micrographs(tmp_path / "in", 3, 3)
    tools = registry(counting(), measuring_lines())
    plans = Plans((PackPlan("general", wordings=(for_each_image.WORDING,)),))
    for name in ("bright_pixels", "lines"):
        with ScriptedModel([call(NAME, tool=name)], says("Done.")) as model:
            played = run(tmp_path, "?", pictures, model=model, tools=tools)
        result = next(item for item in played.thread.history if item.role == "tool")
        rows = result.data["items_of_each_image"]
        assert len(rows) == 2
        told = write_summary([result], (), (), (), plans=plans)
        lines = [line for line in told.splitlines() if ".png" in line]
        assert len(lines) == 2
        for line, own in zip(lines, rows, strict=True):
            cited = re.findall(r"\d+\.\d+", line.rpartition("[")[2])
            assert cited
            assert set(cited) <= set(own)
    items = result.data["items"]
    of_each = [[items[key] for key in own] for own in rows]
    assert of_each[0] == of_each[1], "the values of two images may be the same"


def measuring_lines() -> FakeTool:
    """A tool with a finding for each image, and the same value on all of them."""

    def measured(args: Any, context: ToolContext) -> ToolResult:
        snapshot = context.images.resolve(args.image_path)
        mask = Mask(np.zeros((4, 4), bool))
        made = context.provenance(tool.spec)
        found = Finding(new_id(), snapshot.ref, mask, "Heart", None, "", made)
        return ToolResult("Ratio 0.50 of the heart.", {"ratio": 0.5}, {}, (found,))

    tool = FakeTool("lines", ImageInput, measured)
    return tool
