"""A thread as Markdown, HTML and JSON."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from PIL import Image

from app.agent.events import Override, PlanUpdated, RunFinished, RunStarted
from app.agent.loop.agent_loop import AgentLoop
from app.agent.sessions import SessionStore, Thread
from app.agent.sessions.export import DISCLAIMER, WARNING, Form, export
from app.errors import FileProblem
from app.imaging.findings import Box, Finding, Provenance, new_id
from app.tools import picture_sources
from app.tools.api import Artifact, ToolContext, ToolFailed, ToolResult
from tests.support.fake_tools import REF, FakeRegistry, FakeTool, ImageInput, collect, ok, request
from tests.support.scripted_model import ScriptedModel, call, says

NASTY = "<script>alert(1)</script> ![x](http://far.example/p.png) </pre> & [a](javascript:b)"
WEIGHTS = "ab" * 32


def found(args: Any, context: ToolContext) -> ToolResult:
    made = Provenance("find", "1", "net", WEIGHTS, context.run_id, context.call_id)
    item = Finding(new_id(), REF, Box(1.0, 2.0, 3.5, 4.0), NASTY, 0.9, "", made)
    path = context.out_dir / "overlay.png"
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(path)
    return ToolResult(NASTY, {"text": NASTY}, {}, (item,), (Artifact(path, title=NASTY),))


@pytest.fixture
def thread(tmp_path: Path) -> Thread:
    made = SessionStore(tmp_path / "s").new_thread()
    model = ScriptedModel([call("find", image_path="image-1")], says(f"It says {NASTY}"))
    loop = AgentLoop(model, FakeRegistry(FakeTool("find", ImageInput, found)))
    asyncio.run(collect(loop, request(made.files_dir(), f"What? {NASTY}", thread=made)))
    return made


def exported(thread: Thread, folder: Path, form: Form) -> str:
    target = folder / f"out.{form}"
    export(thread.content, form, target)
    return target.read_text(encoding="utf-8")


class Tags(HTMLParser):
    """Collects tags, and every address that something would be loaded from."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on")]


def test_html_holds_everything_and_runs_and_loads_nothing(thread: Thread, tmp_path: Path):
    text = exported(thread, tmp_path, "html")
    tags = Tags()
    tags.feed(text)
    assert "script" not in tags.tags
    assert tags.addresses
    assert all(address.startswith("data:image/png;base64,") for address in tags.addresses)
    for wanted in (DISCLAIMER, WARNING, WEIGHTS, "Language model: scripted", "net (find 1)"):
        assert wanted in text
    assert "&lt;script&gt;" in text


def test_markdown_makes_no_markup_of_what_the_thread_says(thread: Thread, tmp_path: Path):
    text = exported(thread, tmp_path, "md")
    outside = re.sub(r"(?s)^(`{3,})json\n.*?\n\1$", "", text, flags=re.MULTILINE)
    assert "<script" not in outside
    assert re.findall(r"(?<!\\)!\[", outside) == ["!["], "our own picture only"
    assert "](http" not in outside.replace("\\]", "")
    for wanted in (DISCLAIMER, WARNING, WEIGHTS):
        assert wanted in text


def test_json_holds_all_of_it(thread: Thread, tmp_path: Path):
    read = json.loads(exported(thread, tmp_path, "json"))
    assert read["disclaimer"] == DISCLAIMER
    (run,) = read["runs"]
    assert run["state"] == "finished"
    assert [event["kind"] for event in run["events"]][-1] == "run_finished"
    (made,) = read["tool_calls"]
    assert made["weights"] == [WEIGHTS]
    assert made["result"]["output"] == {"text": NASTY}
    assert made["started"] <= made["ended"]
    assert read["messages"][0]["text"].startswith("What?")


def test_calls_have_the_keys_of_the_seeds_log(tmp_path: Path):
    """Document 001: tool_calls_<timestamp>.json, its content read as JSON and not by `eval`."""
    made = SessionStore(tmp_path / "s").new_thread()
    model = ScriptedModel(
        [call("find", image_path="image-1")], [call("fail", image_path="image-1")], says("Done.")
    )

    def fail(args: Any, context: ToolContext) -> ToolResult:
        raise ToolFailed("the file is damaged", remedy="Copy it again.")

    tools = FakeRegistry(FakeTool("find", ImageInput, found), FakeTool("fail", ImageInput, fail))
    asyncio.run(collect(AgentLoop(model, tools), request(made.files_dir(), "What?", thread=made)))
    first, second = json.loads(exported(made, tmp_path, "calls"))
    assert list(first) == ["tool_call_id", "name", "args", "content", "timestamp"]
    assert (first["name"], first["args"]) == ("find", {"image_path": "image-1"})
    assert json.loads(first["content"])[0] == {"text": NASTY}
    answered = [message.call_id for message in made.history if message.role == "tool"]
    assert [first["tool_call_id"], second["tool_call_id"]] == answered
    error, status = json.loads(second["content"])
    assert "the file is damaged" in error["error"]
    assert status == {"status": "failed"}
    assert first["timestamp"] <= second["timestamp"]


@pytest.mark.parametrize("form", ["md", "html"])
def test_citations_stay_readable_and_what_cites_nothing_is_said(tmp_path: Path, form: Form):
    made = SessionStore(tmp_path / "s").new_thread()
    model = ScriptedModel([call("find", image_path="a")], says("A mass [1]. It is large [7]."))
    loop = AgentLoop(model, FakeRegistry(FakeTool("find", ImageInput, ok("One mass."))))
    asyncio.run(collect(loop, request(made.files_dir(), "What?", thread=made)))
    text = exported(made, tmp_path, form).replace("\\", "")
    assert "[1] find: ok" in text
    assert "A mass [1]. It is large [7: no such result]." in text
    assert text.count("It is large") == 1
    assert "the answer cites result 7" in text


def test_the_plan_is_told_as_it_stood_at_the_end(tmp_path: Path):
    made = SessionStore(tmp_path / "s").new_thread()
    step = {"tool": "cropper", "why": "", "state": "incomplete", "by": "enforced"}
    reason = "The analyser needs cells, so they are cropped first."
    override = Override(rule="dependency", tool="analyser", instead="cropper", reason=reason)
    head: Any = {"run_id": "r", "time": "2026-01-01T00:00:00.000+00:00"}
    for event in (
        RunStarted(seq=0, thread_id=made.thread_id, question="q", model="m", **head),
        PlanUpdated(seq=1, steps=[{**step, "state": "running"}], **head),
        PlanUpdated(
            seq=2,
            steps=[{**step, "verdict": "no cell was found"}],
            overrides=[override],
            goal="incomplete",
            goal_why="No cells.",
            **head,
        ),
        RunFinished(seq=3, answer="", **head),
    ):
        made.record(event)
    text = exported(made, tmp_path, "html")
    assert text.count("Plan, step 1") == 1
    assert "cropper (incomplete, by enforced) no cell was found" in text
    assert f"Changed by rule (dependency): {reason}" in text
    assert "Goal: incomplete. No cells." in text


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("tool_call", {"weights": 7}),
        ("tool_call", {"weights": [7]}),
        ("tool_call", {"result": {"status": "ok", "findings": ["x"], "artifacts": {"a": 1}}}),
        ("tool_call", {"result": {"status": "ok", "artifacts": [{"path": "\ud800.png"}]}}),
        ("run", {"studies": True, "used": ["x"]}),
        ("header", {"branched_from": {"question": "x"}}),
    ],
)
def test_a_file_with_something_else_in_its_lists_is_exported_all_the_same(
    thread: Thread, tmp_path: Path, form: Form, kind: str, damage: dict[str, Any]
):
    thread.close()
    assert thread.folder is not None
    path = thread.folder / "thread.jsonl"
    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text(
        "".join(
            json.dumps({**one, **damage} if one["type"] == kind else one) + "\n" for one in entries
        )
    )
    again = SessionStore(thread.folder.parent).open(thread.thread_id)
    assert "find" in exported(again, tmp_path, form)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_an_export_is_for_the_user_alone(thread: Thread, tmp_path: Path):
    exported(thread, tmp_path, "md")
    assert stat.S_IMODE((tmp_path / "out.md").stat().st_mode) == 0o600


def test_an_export_that_cannot_be_written_leaves_the_old_one(
    thread: Thread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "out.md").write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.user_files.os.fsync", full)
    with pytest.raises(FileProblem, match=r"out\.md.*No space left.*Choose"):
        exported(thread, tmp_path, "md")
    assert (tmp_path / "out.md").read_text() == "old"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("form", ["html", "md"])
def test_only_the_conversations_own_pictures_go_into_a_document(
    tmp_path: Path, form: Form, noted: bool
):
    other = tmp_path / "other" / "patient.png"
    other.parent.mkdir()
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(other)
    link = tmp_path / "link.png"
    link.symlink_to(other)

    def names_it(args: Any, context: ToolContext) -> ToolResult:
        inside = context.out_dir / "linked.png"
        inside.symlink_to(other)
        return ToolResult("x", {}, {}, (), (Artifact(other), Artifact(link), Artifact(inside)))

    made = SessionStore(tmp_path / "s").new_thread()
    model = ScriptedModel([call("find", image_path="image-1")], says("done"))
    loop = AgentLoop(model, FakeRegistry(FakeTool("find", ImageInput, names_it)))
    out = other.parent if noted else made.files_dir()
    if noted:  # a folder that the user gave with --out
        picture_sources.record(out, other.name, picture_sources.Origin(REF, None))
    asyncio.run(collect(loop, request(out, "What?", thread=made)))
    assert ("data:image" in exported(made, tmp_path, form)) is noted


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_picture_that_a_model_made_is_called_synthetic(tmp_path: Path, form: Form):
    def drawn(args: Any, context: ToolContext) -> ToolResult:
        path = context.out_dir / "made.png"
        Image.fromarray(np.zeros((2, 2), np.uint8)).save(path)
        told = {"synthetic": True, "model": "RoentGen"}
        return ToolResult("Made.", {}, {}, (), (Artifact(path, title="Effusion", options=told),))

    made = SessionStore(tmp_path / "s").new_thread()
    model = ScriptedModel([call("find", image_path="image-1")], says("There it is."))
    loop = AgentLoop(model, FakeRegistry(FakeTool("find", ImageInput, drawn)))
    asyncio.run(collect(loop, request(made.files_dir(), "Draw it", thread=made)))
    text = exported(made, tmp_path, form)
    assert "SYNTHETIC, made by RoentGen: not a patient. Effusion" in text


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_a_copy_says_what_the_user_made_of_a_finding_since(
    thread: Thread, tmp_path: Path, form: Form
):
    calls = thread.content.calls
    (item,) = [one for call in calls.values() for one in call["result"]["findings"]]
    made = {"state": "rejected", "reviewer": "Dr Roe", "reviewed": "2026-11-28T05:36:38+00:00"}
    target = tmp_path / f"reviewed.{form}"
    export(thread.content, form, target, {item["id"]: made})
    text = target.read_text(encoding="utf-8")
    assert "rejected" in text
    assert "Dr Roe" in text
    assert item["state"] == "proposed"  # the conversation itself is as it was
