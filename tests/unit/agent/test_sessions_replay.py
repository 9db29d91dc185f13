"""A thread's tool calls made again: what differs is told, what writes is never made again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.agent.loop.agent_loop import AgentLoop
from app.agent.policy import Policy
from app.agent.sessions import SessionStore, Thread
from app.agent.sessions.replay import RecordedCall, Replay, ReplayedCall
from app.imaging.findings import Box, Finding, Mask
from app.imaging.types import ImageRef
from app.tools import picture_sources
from app.tools.api import Approval, Artifact, CancelToken, ToolContext, ToolResult
from app.tools.pack_plan import PackPlan, Plans, Priority, ToolRule
from tests.support.fake_tools import (
    FakeRegistry,
    FakeTool,
    ImageInput,
    NoHost,
    NoImages,
    Run,
    collect,
    finding,
    ok,
    request,
)
from tests.support.scripted_model import ScriptedModel, call, says

_names = itertools.count()


def draws(value: int = 7, *, corner: float = 1.0, pixel: tuple[int, int] = (1, 1)) -> Run:
    """A tool that draws a picture under a new name each time, and finds a box and a mask."""

    def run(args: Any, context: ToolContext) -> ToolResult:
        path = context.out_dir / f"drawn-{next(_names)}.png"
        Image.fromarray(np.full((4, 4), value, np.uint8)).save(path)
        mask = np.zeros((4, 4), bool)
        mask[pixel] = True
        found: tuple[Finding, ...] = (
            finding(context, Box(corner, 2.0, 3.5, 4.0), "Mass"),
            finding(context, Mask(mask), "Lung"),
        )
        output = {"image_path": str(path), "score": value / 10, "at": found[0].id}
        return ToolResult(f"Drawn to {path}", output, {"n": 1}, found, (Artifact(path),))

    return run


def reads(args: Any, context: ToolContext) -> ToolResult:
    """A tool that reads a file of the run."""
    with Image.open(args.image_path) as image:
        return ToolResult("read", {"mean": float(np.asarray(image).mean())}, {})


def recorded(root: Path, *tools: FakeTool, calls: Callable[[str], Any] | None = None) -> Thread:
    """A thread in which a picture was drawn and read."""
    thread = SessionStore(root).new_thread()
    model = ScriptedModel([call("draw", image_path="image-1")], says("Drawn."))
    asked = request(thread.files_dir(), "draw", thread=thread, run_id="first")
    asyncio.run(collect(AgentLoop(model, FakeRegistry(*tools)), asked))
    (drawn,) = thread.files_dir().glob("drawn-*.png")
    model = ScriptedModel([call("read", image_path=str(drawn))], says("Read."))
    asked = request(thread.files_dir(), "read", thread=thread, run_id="second")
    asyncio.run(collect(AgentLoop(model, FakeRegistry(*tools)), asked))
    thread.close()
    return SessionStore(root).read(thread.thread_id)


def pair(run: Run) -> tuple[FakeTool, FakeTool]:
    return FakeTool("draw", ImageInput, run), FakeTool("read", ImageInput, reads)


def replayed(
    thread: Thread, folder: Path, *tools: FakeTool, missing: str = ""
) -> list[ReplayedCall]:
    folder.mkdir()

    def context(asked: RecordedCall) -> ToolContext | str:
        if missing and missing in asked.arguments.values():
            return f"{missing} was not found"
        return ToolContext(
            run_id="again",
            call_id=asked.call_id,
            images=NoImages(),
            out_dir=folder,
            host=NoHost(),
            models_dir=folder,
            device="cpu",
            cancel=CancelToken(),
            progress=lambda fraction, text: None,
        )

    async def main() -> list[ReplayedCall]:
        again = Replay(FakeRegistry(*tools), context, thread.files_dir(), folder)
        return [call async for call in again.run(thread.content)]

    return asyncio.run(main())


def test_the_same_tools_give_the_same(tmp_path: Path):
    thread = recorded(tmp_path / "s", *pair(draws()))
    done = replayed(thread, tmp_path / "again", *pair(draws()))
    assert [(item.tool, item.status, item.reasons) for item in done] == [
        ("draw", "same", []),
        ("read", "same", []),
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (draws(8), ["output.image_path", "output.score: 0.7 then, 0.8 now (by 0.1)"]),
        (draws(corner=1.5), ["findings[0].geometry.x0: 1.0 then, 1.5 now (by 0.5)"]),
        (draws(pixel=(2, 2)), ["findings[1].geometry.path", "2 of 16 pixel values differ"]),
        (ok("drawn", {"score": 0.7}), ["findings: 2 then, 0 now", "image_path: missing now"]),
    ],
    ids=["number and picture", "box", "mask", "keys"],
)
def test_each_difference_is_named(tmp_path: Path, changed: Run, told: list[str]):
    thread = recorded(tmp_path / "s", *pair(draws()))
    first = replayed(thread, tmp_path / "again", *pair(changed))[0]
    assert first.status == "differs"
    for text in told:
        assert any(text in reason for reason in first.reasons), first.reasons


def test_a_call_that_reads_what_was_drawn_reads_what_is_drawn_now(tmp_path: Path):
    thread = recorded(tmp_path / "s", *pair(draws()))
    second = replayed(thread, tmp_path / "again", *pair(draws(9)))[1]
    # The picture of then is no longer made: the call reads the recorded one.
    assert second.status == "same"


def test_a_failure_now_is_a_difference(tmp_path: Path):
    thread = recorded(tmp_path / "s", *pair(draws()))

    def broken(args: Any, context: ToolContext) -> ToolResult:
        raise ZeroDivisionError

    tool = FakeTool("draw", ImageInput, broken)
    (first, _) = replayed(thread, tmp_path / "again", tool, FakeTool("read", ImageInput, reads))
    assert first.status == "differs"
    assert "status: ok then, failed now" in first.reasons[0]


def test_what_writes_or_sends_is_never_made_again(tmp_path: Path):
    thread = recorded(tmp_path / "s", *pair(draws()))
    tools = [
        FakeTool("draw", ImageInput, draws(), approval=Approval.SEND),
        FakeTool("read", ImageInput, reads),
    ]
    first = replayed(thread, tmp_path / "again", *tools)[0]
    assert first.status == "left out"
    assert first.harmless
    assert not tools[0].calls


def test_what_rules_refused_is_not_made_now_either(tmp_path: Path):
    root, tool = tmp_path / "s", FakeTool("never", ImageInput, ok())
    plan = PackPlan("p", tools=(ToolRule("never", priority=Priority.EXCLUDED),))
    thread = SessionStore(root).new_thread()
    model = ScriptedModel([call("never", image_path="image-1")], says("It may not."))
    asked = request(thread.files_dir(), "look", thread=thread)
    loop = AgentLoop(model, FakeRegistry(tool), plans=Plans((plan,)))
    asyncio.run(collect(loop, asked))
    thread.close()
    done = replayed(SessionStore(root).read(thread.thread_id), tmp_path / "again", tool)
    assert [(item.status, item.harmless) for item in done] == [("left out", True)]
    assert not tool.calls


def test_a_missing_tool_or_image_is_told(tmp_path: Path):
    thread = recorded(tmp_path / "s", *pair(draws()))
    only = replayed(thread, tmp_path / "a", FakeTool("read", ImageInput, reads))
    assert (only[0].status, only[0].harmless) == ("left out", False)
    without = replayed(thread, tmp_path / "b", *pair(draws()), missing="image-1")
    assert without[0].reasons == ["image-1 was not found"]
    assert not without[0].harmless


class Planted:
    """A session's file that somebody wrote, to have a file read that is not the session's."""

    def __init__(self, folder: Path, policy: Policy | None = None) -> None:
        self.old, self.new = folder / "old", folder / "new"
        self.old.mkdir()
        self.new.mkdir()
        self.tool = FakeTool("read", ImageInput, reads)
        self._policy = policy or Policy.standard()

    def read(self, path: Path, out_dir: Path | None = None) -> ReplayedCall:
        facts = {"out_dir": str(out_dir)} if out_dir else {}
        arguments = {"image_path": str(path)}
        planted = RecordedCall("1", "run", "read", arguments, {"status": "ok"}, facts)
        context = ToolContext(
            run_id="again",
            call_id="1",
            images=NoImages(),
            out_dir=self.new,
            host=NoHost(),
            models_dir=self.new,
            device="cpu",
            cancel=CancelToken(),
            progress=lambda _fraction, _text: None,
        )
        tools = FakeRegistry(self.tool)
        replay = Replay(tools, lambda _: context, self.old, self.new, policy=self._policy)
        return asyncio.run(replay.call(planted))


def drawn_at(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.new("L", (2, 2)).save(path)
    return path


def test_a_file_that_somebody_wrote_reads_nothing_outside(tmp_path: Path):
    planted = Planted(tmp_path)
    secret = drawn_at(tmp_path / "secret.png")
    assert planted.read(secret).status == "differs"
    assert planted.tool.calls == []


def test_nor_by_calling_another_folder_its_own(tmp_path: Path):
    planted = Planted(tmp_path)
    secret = drawn_at(tmp_path / "study" / "secret.png")
    planted.read(secret, out_dir=secret.parent)
    assert not (planted.new / "secret.png").exists()


def test_nor_by_a_link_in_its_own_folder(tmp_path: Path):
    planted = Planted(tmp_path)
    link = planted.old / "drawn.png"
    link.symlink_to(drawn_at(tmp_path / "secret.png"))
    planted.read(link)
    assert not (planted.new / "drawn.png").exists()


def test_a_folder_of_the_users_own_counts_where_sightline_noted_the_file(tmp_path: Path):
    planted = Planted(tmp_path)
    made = drawn_at(tmp_path / "out" / "drawn.png")
    picture_sources.record(
        made.parent, made.name, picture_sources.Origin(ImageRef("1.2", 0, "0" * 64), None)
    )
    planted.read(made, out_dir=made.parent)
    assert (planted.new / "drawn.png").is_file()


@pytest.mark.parametrize("rule", ["deny", "ask"])
def test_the_rules_of_now_hold_for_what_is_made_again(rule: str, tmp_path: Path):
    planted = Planted(tmp_path, Policy.from_data({"tools": {"read": rule}}))
    planted.read(drawn_at(planted.old / "drawn.png"))
    assert planted.tool.calls == []
