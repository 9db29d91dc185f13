"""What a running tool is given of its conversation: store, earlier results, the language model."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import ModelInfo, Text, Tokens
from app.agent.loop.agent_loop import Limits
from app.agent.sessions import Thread
from app.tools.api import (
    Artifact,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    takes,
)
from app.tools.kept_values import KeptValues
from app.tools.tables import table_of, write_table
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, Strict
from tests.support.scripted_model import ScriptedModel, call, says
from tests.unit.agent.test_enforcing import Played
from tests.unit.agent.test_many_images import micrographs


def play(tmp_path: Path, *turns: Any, tools: list[FakeTool], **more: Any) -> Played:
    import asyncio

    from app.agent.loop.agent_loop import AgentLoop
    from tests.support import cells_pack as cells
    from tests.support.fake_tools import collect, request

    images, notes = cells.open_pictures(tmp_path / "out", *micrographs(tmp_path / "in", 2))
    thread = more.pop("thread", None) or Thread.in_memory()
    limits, host = more.pop("limits", None), more.pop("remote_host", "")
    info = more.pop("info", ModelInfo(own_tools=False))
    with ScriptedModel(*turns, info=info, remote_host=host) as model:
        loop = AgentLoop(model, FakeRegistry(*tools), limits=limits)
        asked = request(
            tmp_path / "out", more.pop("question", "?"), notes=notes, images=images,
            thread=thread, **more,
        )  # fmt: skip
        events = asyncio.run(collect(loop, asked))
    return Played(events, thread, model)


class Nothing(Strict):
    pass


def test_values_last_as_long_as_the_conversation_and_no_longer(tmp_path: Path):
    store = KeptValues(tmp_path)
    store.put("model", {"epochs": 3})
    store.put("other", 1)
    store.put("other", None)
    again = KeptValues(tmp_path)
    assert (again.get("model"), again.keys()) == ({"epochs": 3}, ("model",))
    again.get("model")["epochs"] = 9
    assert again.get("model") == {"epochs": 3}
    for wrong in (object(), float("nan"), "x" * 2_000_000):
        with pytest.raises(ToolFailed):
            again.put("x", wrong)
    assert KeptValues(tmp_path).keys() == ("model",)
    (tmp_path / "kept_values.json").write_text("{")
    assert KeptValues(tmp_path).get("model", 5) == 5


def test_a_tool_sees_its_conversation_and_what_came_before(tmp_path: Path):
    seen: list[Any] = []

    def make(args: Any, context: ToolContext) -> ToolResult:
        table = write_table(context.out_dir / "t.csv", table_of([{"a": 1}]), "Things")
        context.store.put("made", 1)
        return ToolResult("Made.", {"table_path": str(table.path)}, {"x": 2}, (), (table,))

    def look(args: Any, context: ToolContext) -> ToolResult:
        seen.append((context.conversation_id, context.store.get("made"), context.results))
        return ToolResult("Looked.", {}, {})

    thread = Thread.in_memory()
    tools = [FakeTool("make", ImageInput, make), FakeTool("look", Nothing, look)]
    play(tmp_path, [call("make", image_path="image-1")], says("Ok."), tools=tools, thread=thread)
    play(tmp_path, [call("look")], says("Ok."), tools=tools, thread=thread, run_id="r2")
    name, kept, results = seen[0]
    assert (name, kept) == (thread.thread_id, 1)
    made = results.latest("make")
    assert made.output == {"table_path": str(tmp_path / "out" / "t.csv")}
    assert made.metadata == {"x": 2}
    assert [(item.role, item.title) for item in made.artifacts] == [("table", "Things")]
    assert results.by_id(made.call_id) == made
    assert [item.tool for item in results.all()][:1] == ["make"]
    assert results.latest("nothing") is None


class MaskInput(ToolInput):
    mask_path: str = takes(Resource.MASK)
    table: str | None = takes(Resource.TABLE, default=None)


def test_a_mask_that_is_none_is_refused_with_the_reason(tmp_path: Path):
    def make(args: Any, context: ToolContext) -> ToolResult:
        mask = context.out_dir / "m.tif"
        mask.write_bytes(b"II*\0")
        table = write_table(context.out_dir / "t.csv", table_of([{"a": 1}]), "Things")
        files = (Artifact(mask, role="mask"), table)
        return ToolResult("Made.", {"mask_path": str(mask)}, {}, (), files)

    grow = FakeTool("grow", MaskInput, lambda *_: ToolResult("Grown.", {}, {}))
    tools = [FakeTool("make", ImageInput, make), grow, FakeTool("see", ImageInput, make)]
    mask, table = (str(tmp_path / "out" / name) for name in ("m.tif", "t.csv"))
    played = play(
        tmp_path,
        [call("make", image_path="image-1")],
        [call("grow", mask_path="image-1")],
        [call("grow", mask_path=table)],
        [call("grow", mask_path=mask, table=mask)],
        [call("see", image_path=table)],
        [call("grow", mask_path=mask, table=table)],
        says("Done."),
        tools=tools,
    )
    errors = [e.error for e in played.events if e.kind == "tool_finished" and e.status == "failed"]
    assert (
        "mask_path takes a mask; an earlier tool makes one, and this is an open image" in errors[0]
    )
    assert "and this is a table of make" in errors[1]
    assert "table takes a table; an earlier tool makes one, and this is a mask of make" in errors[2]
    assert len(errors) == 3 or "this is a table" in errors[3]
    assert len(grow.calls) == 1


def asking(prompts: list[str], **how: Any) -> FakeTool:
    def run(args: Any, context: ToolContext) -> ToolResult:
        assert context.model is not None
        return ToolResult(context.model.ask(prompts[0], **how), {}, {"model": context.model.name})

    return FakeTool("asks", Nothing, run)


def test_a_tool_asks_the_chosen_model_and_its_tokens_count(tmp_path: Path):
    tool = asking(["What is this?"], system="Be brief.")
    played = play(
        tmp_path,
        [call("asks"), Tokens(10, 5)],
        [Text("A cell."), Tokens(100, 50)],
        [*says("Done."), Tokens(10, 5)],
        tools=[tool],
    )
    finished = next(e for e in played.events if e.kind == "tool_finished")
    assert (finished.status, finished.summary) == ("ok", "A cell.")
    usage = [e.run_input_tokens for e in played.events if e.kind == "usage"]
    assert usage == [10, 110, 120]
    asked = played.model.requests[1]
    assert [(m.role, m.text) for m in asked] == [("system", "Be brief."), ("user", "What is this?")]
    spoken = "".join(e.text for e in played.events if e.kind == "text_delta")
    assert "A cell" not in spoken


def test_a_tool_may_not_ask_beyond_the_limit(tmp_path: Path):
    played = play(
        tmp_path,
        [call("asks"), Tokens(900, 90)],
        tools=[asking(["x" * 4000])],
        limits=Limits(tokens=1000),
    )
    finished = next(e for e in played.events if e.kind == "tool_finished")
    assert "the limit of 1,000 tokens is reached" in finished.error
    assert played.events[-1].stopped_by == "tokens"


@pytest.mark.parametrize("host", ["", "llm.example"])
def test_a_tool_knows_whether_results_leave_this_machine(tmp_path: Path, host: str):
    seen: list[bool] = []

    def run(args: Any, context: ToolContext) -> ToolResult:
        assert context.model is not None
        seen.append(context.model.remote)
        return ToolResult("", {}, {})

    tools = [FakeTool("asks", Nothing, run)]
    play(tmp_path, [call("asks")], says("Done."), tools=tools, remote_host=host)
    assert seen == [bool(host)]


def test_names_are_removed_from_what_a_tool_sends_and_it_is_told(tmp_path: Path):
    sent = "The patient is Zbigniewska, in /data/Zbigniewska/x.dcm"
    played = play(
        tmp_path,
        [call("asks")],
        says("Fine."),
        says("Done."),
        tools=[asking([sent])],
        remote_host="llm.example",
        identifiers=("Zbigniewska",),
    )
    assert len([e for e in played.events if e.kind == "data_sent"]) == 3
    assert all("Zbigniewska" not in m.text for asked in played.model.requests for m in asked)


def test_a_model_without_eyes_is_shown_nothing(tmp_path: Path):
    played = play(
        tmp_path, [call("asks")], says("Done."), tools=[asking(["?"], images=["image-1"])]
    )
    finished = next(e for e in played.events if e.kind == "tool_finished")
    assert "accepts no pictures" in finished.error


def test_a_model_with_eyes_is_shown_the_picture_that_is_named(tmp_path: Path):
    played = play(
        tmp_path,
        [call("asks")],
        says("Six cells."),
        says("Done."),
        tools=[asking(["Describe it."], images=["image-1"])],
        info=ModelInfo(own_tools=False, images=True),
    )
    asked = played.model.requests[1][-1]
    assert [item.image_id for item in asked.pictures] == ["image-1"]


def test_what_a_tool_asks_ends_with_its_call(tmp_path: Path):
    from tests.support.scripted_model import Stall

    done = threading.Event()

    def run(args: Any, context: ToolContext) -> ToolResult:
        assert context.model is not None
        threading.Timer(0.1, context.cancel.cancel).start()
        try:
            context.model.ask("?")
        finally:
            done.set()
        return ToolResult("", {}, {})

    played = play(
        tmp_path, [call("asks")], [Stall()], says("Done."), tools=[FakeTool("asks", Nothing, run)]
    )
    finished = next(e for e in played.events if e.kind == "tool_finished")
    assert done.wait(2)
    assert finished.status == "cancelled"
