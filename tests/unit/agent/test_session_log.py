from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.offline_model import OfflineModel
from app.agent.sessions import SessionStore, Thread
from app.tools.api import ToolContext, ToolResult
from app.tools.registry import load_packs
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    collect,
    pack,
    request,
)
from tests.support.scripted_model import ScriptedModel, call, says


def entries(thread: Thread) -> list[dict[str, Any]]:
    assert thread.folder is not None
    text = (thread.folder / "thread.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_call_is_logged_with_its_result_and_times(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    loop = AgentLoop(OfflineModel(load_packs([]).plans), pack())
    asked = request(
        thread.files_dir(), "Where are the lungs, and is the heart enlarged?", thread=thread
    )
    asyncio.run(collect(loop, asked))
    calls = [entry for entry in entries(thread) if entry["type"] == "tool_call"]
    named = {entry["name"]: entry for entry in calls}  # side by side: each is logged as it ends
    assert sorted(named) == ["cardiothoracic_ratio", "chest_xray_segmentation"]
    first = named["chest_xray_segmentation"]
    assert first["arguments"]["organs"] == ["Left Lung", "Right Lung", "Heart"]
    assert first["result"]["status"] == "ok"
    assert first["started"] <= first["ended"]
    mask = first["result"]["findings"][0]["geometry"]
    assert Path(mask["path"]).is_file()
    assert [m["message"]["role"] for m in entries(thread) if m["type"] == "message"] == [
        "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip


def test_two_sessions_at_once_keep_apart(tmp_path: Path):
    store = SessionStore(tmp_path)
    threads = [store.new_thread() for _ in range(2)]

    async def main() -> None:
        loop = AgentLoop(OfflineModel(load_packs([]).plans), pack())
        await asyncio.gather(
            *(
                collect(loop, request(thread.files_dir(), f"How big is heart {i}?", thread=thread))
                for i, thread in enumerate(threads)
            )
        )

    asyncio.run(main())
    for index, thread in enumerate(threads):
        messages = [e["message"] for e in entries(thread) if e["type"] == "message"]
        asked = [message["text"] for message in messages if message["role"] == "user"]
        assert asked[0] == f"How big is heart {index}?"
        assert len([text for text in asked if text.startswith("How big")]) == 1


def test_a_cancelled_call_is_logged(tmp_path: Path):
    thread = SessionStore(tmp_path).new_thread()
    asked = request(thread.files_dir(), thread=thread)

    def run(args: Any, context: ToolContext) -> ToolResult:
        asked.cancel.cancel()
        context.cancel.wait(60)
        raise AssertionError

    model = ScriptedModel([call("slow", image_path="a")])
    loop = AgentLoop(model, FakeRegistry(FakeTool("slow", ImageInput, run)))
    events = asyncio.run(collect(loop, asked))
    assert events[-1].kind == "run_cancelled"
    (logged,) = [entry for entry in entries(thread) if entry["type"] == "tool_call"]
    assert logged["result"]["status"] == "cancelled"


def test_a_session_that_cannot_be_written_does_not_break_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    thread = SessionStore(tmp_path / "s").new_thread()

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.agent.sessions.writer.os.write", full)
    monkeypatch.setattr("app.agent.json_forms.write_atomic", full)
    model = ScriptedModel([call("chest_xray_segmentation", image_path="a")], says("done"))
    asked = request(tmp_path / "out", "secret question", thread=thread)
    events = asyncio.run(collect(AgentLoop(model, pack()), asked))
    assert events[-1].kind == "run_finished"
    assert "secret" not in caplog.text
    assert not list((tmp_path / "out").rglob("*.png*"))
