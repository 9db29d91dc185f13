"""What a run does stands in the audit log before it happens, and nothing of the patient does."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from app.agent.events import ApprovalRequested, ApprovalResolved, DataSent, RunEvent
from app.agent.llm.base import ModelInfo
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.audit_trail import UNKNOWN, AuditTrail
from app.agent.messages import Message, Picture
from app.agent.policy import Grants, Policy
from app.agent.policy.approvals import Gate
from app.agent.privacy.consents import Consents
from app.agent.request import Decision
from app.audit import AuditLog, Entry
from app.audit.entries import read_entries
from app.audit.verification import verify
from app.tools.api import Approval, ToolContext, ToolResult
from tests.support.fake_tools import FakeRegistry, FakeTool, ImageInput, collect, ok, request
from tests.support.scripted_model import ScriptedModel, Turn, call, says
from tests.unit.agent.test_pictures import opened

SECRET = b"s" * 32
QUESTION = "Has Jane Doe, born 1950-02-03, a pneumothorax?"


class Log(AuditLog):
    """A log that can be made unwritable."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SECRET)
        self.folder = folder

    def entries(self) -> list[Entry]:
        return list(read_entries(self.folder))

    def actions(self) -> list[str]:
        return [entry.action for entry in self.entries()]

    def of(self, action: str) -> list[dict[str, Any]]:
        return [dict(entry.facts) for entry in self.entries() if entry.action == action]

    def break_(self) -> None:
        self.folder.rename(self.folder.with_name("away"))
        self.folder.write_text("no folder any more")

    def mend(self) -> None:
        self.folder.unlink()
        self.folder.with_name("away").rename(self.folder)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "audit")


def play(
    tmp_path: Path, log: AuditLog, *turns: Turn, tools: FakeRegistry, remote: str = "", **more: Any
) -> list[RunEvent]:
    with ScriptedModel(*turns, remote_host=remote) as model:
        loop = AgentLoop(
            model,
            tools,
            approvals=Gate(Policy.standard(), Grants()),
            consents=more.pop("consents", Consents()),
            audit=AuditTrail(log, tools),
        )
        return asyncio.run(collect(loop, request(tmp_path / "out", question=QUESTION, **more)))


async def yes(_event: ApprovalRequested) -> Decision:
    return Decision(granted=True, scope="once")


async def no(_event: ApprovalRequested) -> Decision:
    return Decision(granted=False, reason="Jane Doe said no")


def acting(name: str, approval: Approval, done: list[str]) -> FakeTool:
    def run(_args: Any, _context: ToolContext) -> ToolResult:
        done.append(name)
        return ok("done by Jane Doe")(_args, _context)

    return FakeTool(name, ImageInput, run, approval=approval)


def test_calls_approvals_and_ends_are_recorded_in_order(tmp_path: Path, log: Log):
    done: list[str] = []
    tools = FakeRegistry(
        FakeTool("look", ImageInput, ok("seen")), acting("save", Approval.WRITE, done)
    )
    turn = [call("look", image_path="image-1"), call("save", image_path="image-1")]
    play(tmp_path, log, turn, says("done"), tools=tools, approve=yes)
    assert done == ["save"]
    assert log.actions() == [
        "segment",
        "run_started",
        "tool_started",
        "tool_finished",
        "tool_started",
        "approval_asked",
        "approval_answered",
        "tool_finished",
        "run_finished",
    ]
    look, save = log.of("tool_started")
    assert (look["tool"], look["effect"]) == ("look", "compute")
    assert (save["tool"], save["effect"]) == ("save", "write")
    assert look["arguments"] == save["arguments"] != ""
    (answered,) = log.of("approval_answered")
    assert (answered["granted"], answered["about"], answered["tool"]) == (True, "tool", "save")
    assert [facts["status"] for facts in log.of("tool_finished")] == ["ok", "ok"]
    assert verify(log.folder, SECRET).ok


def test_a_no_and_a_stopped_call_are_recorded_too(tmp_path: Path, log: Log):
    done: list[str] = []
    tools = FakeRegistry(acting("save", Approval.WRITE, done))
    play(tmp_path, log, [call("save", image_path="image-1")], says("no"), tools=tools, approve=no)
    assert not done
    assert log.of("approval_answered")[0]["granted"] is False
    assert log.of("tool_finished")[0]["status"] == "not_run"


def test_nothing_of_the_patient_stands_in_the_log(tmp_path: Path, log: Log):
    done: list[str] = []
    tools = FakeRegistry(acting("save", Approval.WRITE, done))
    turn = [
        call("save", image_path="/home/Jane Doe/1950-02-03.dcm"),
        call("Jane Doe", patient="Jane Doe"),
    ]
    play(tmp_path, log, turn, says("Jane Doe is well"), tools=tools, approve=no)
    whole = b"".join(path.read_bytes() for path in log.folder.iterdir()).lower()
    for text in (b"jane", b"doe", b"1950-02", b"pneumo", b"/home"):
        assert text not in whole, text
    assert [facts["tool"] for facts in log.of("tool_started")] == ["save", UNKNOWN]


def test_what_acts_is_on_the_disk_before_it_goes_on(
    tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
):
    order: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _handle: order.append("fsync"))
    tools = FakeRegistry(
        FakeTool("look", ImageInput, ok("seen")), acting("save", Approval.EXECUTE, order)
    )
    play(tmp_path, log, [call("look", image_path="image-1")], says("ok"), tools=tools)
    quiet = list(order)
    play(tmp_path, log, [call("save", image_path="image-1")], says("ok"), tools=tools, approve=yes)
    assert not quiet, "what only reads need not wait for the disk"
    assert "fsync" in order[: order.index("save")]


@pytest.mark.parametrize("approval", list(Approval))
def test_a_call_that_acts_waits_for_the_disk_also_where_nobody_is_asked(
    tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch, approval: Approval
):
    """By a yes for the conversation: no answer of this run's is written before it."""
    order: list[str] = []
    tools = FakeRegistry(acting("act", approval, order))

    async def for_all(_event: ApprovalRequested) -> Decision:
        return Decision(granted=True, scope="session")

    turns: list[Turn] = [[call("act", image_path="image-1")] for _ in range(2)]
    monkeypatch.setattr(os, "fsync", lambda _handle: order.append("fsync"))
    play(tmp_path, log, *turns, says("ok"), tools=tools, approve=for_all)
    acts = approval not in (Approval.READ, Approval.COMPUTE)
    assert len(log.of("approval_asked")) == acts
    first, second = (place for place, what in enumerate(order) if what == "act")
    waited = "fsync" in order[first:second]
    assert waited == acts
    assert ("fsync" in order[second:]) == acts, "how it ended, too"


@pytest.mark.parametrize("approval", [Approval.WRITE, Approval.SEND, Approval.EXECUTE])
def test_without_the_log_nothing_acts_but_reads_go_on_with_a_warning(
    tmp_path: Path, log: Log, approval: Approval
):
    done: list[str] = []
    look = FakeTool("look", ImageInput, ok("seen"))
    tools = FakeRegistry(look, acting("act", approval, done))
    log.record("before")
    log.break_()
    turn = [call("look", image_path="image-1"), call("act", image_path="image-1")]
    events = play(tmp_path, log, turn, says("done"), tools=tools, approve=yes)
    assert not done
    assert len(look.calls) == 1
    assert events[-1].kind == "run_finished"
    notices = [event.text for event in events if event.kind == "notice"]
    assert len(notices) == 1
    assert "audit log cannot be written" in notices[0]
    (failed,) = [e for e in events if e.kind == "tool_finished" and e.status == "failed"]
    assert "was not run" in failed.error
    assert [event.seq for event in events] == list(range(len(events)))
    log.mend()
    log.record("after")
    assert log.actions()[-1] == "after"
    assert "tool_started" in log.actions()  # told late, but told
    assert verify(log.folder, SECRET).ok


def test_without_the_log_nothing_is_sent(tmp_path: Path, log: Log):
    log.record("before")
    log.break_()
    model = ScriptedModel(says("never"), remote_host="cloud.example")
    loop = AgentLoop(model, FakeRegistry(), audit=AuditTrail(log, FakeRegistry()))
    events = asyncio.run(collect(loop, request(tmp_path / "out", approve=yes)))
    assert not model.requests
    assert events[-1].kind == "run_failed"
    assert "Nothing was sent" in events[-1].error
    assert "audit log" in events[-1].remedy


def test_consent_and_each_request_to_a_remote_model_are_recorded_before_it_goes(
    tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
):
    seen: list[list[str]] = []
    safe: list[int] = []  # lines that were there at each fsync
    monkeypatch.setattr(os, "fsync", lambda _handle: safe.append(len(log.actions())))
    model = ScriptedModel(
        says("one"),
        remote_host="cloud.example",
        before=lambda _messages: seen.append(log.actions()),
    )
    loop = AgentLoop(model, FakeRegistry(), audit=AuditTrail(log, FakeRegistry()))
    asyncio.run(collect(loop, request(tmp_path / "out", approve=yes)))
    assert seen[0][-3:] == ["approval_asked", "approval_answered", "data_sent"]
    assert len(seen[0]) in safe, "on the disk, not only in the file"
    asked, sent = log.of("approval_asked")[0], log.of("data_sent")[0]
    assert (asked["about"], asked["host"]) == ("conversation", "cloud.example")
    assert sent["host"] == "cloud.example"
    assert sent["characters"] > 0
    assert sent["pictures"] == []


class UsedImages:
    """Images of which one was read."""

    def used(self) -> list[dict[str, Any]]:
        return [{"id": "image-1", "sop_instance_uid": "1.2.840.1", "frame": 0}]

    def names(self) -> tuple[str, ...]:
        return ("image-1",)


def test_pictures_that_are_sent_name_their_images_also_with_later_questions(
    tmp_path: Path, log: Log
):
    audit = AuditTrail(log, FakeRegistry())
    asked = request(tmp_path / "out", images=UsedImages())
    picture = Picture(path="/out/seen/0123456789abcdef01234567.png", caption="", image_id="image-1")
    asked.thread.append(Message(role="user", text="?", pictures=[picture]))
    sent: dict[str, Any] = {"run_id": "r", "seq": 0, "time": "t"}
    sent |= {"host": "h", "model": "m", "characters": 1}
    event = DataSent(pictures=["0123456789abcdef01234567"], **sent)
    assert audit.of(asked)(event) == ""
    later = request(tmp_path / "out", thread=asked.thread)
    asked.thread.append(Message(role="user", text="and?"))
    assert audit.of(later)(event) == ""
    expected = [log.name("image", "1.2.840.1")]
    assert [facts["images"] for facts in log.of("data_sent")] == [expected, expected]
    assert log.of("data_sent")[0]["pictures"] == [log.name("picture", "0123456789abcdef01234567")]


def test_many_pictures_are_recorded_in_several_lines_and_none_is_left_out(tmp_path: Path, log: Log):
    audit = AuditTrail(log, FakeRegistry())
    stems = [f"{number:024x}" for number in range(300)]
    sent: dict[str, Any] = {"run_id": "r", "seq": 0, "time": "t"}
    sent |= {"host": "h", "model": "m", "characters": 1}
    audit.of(request(tmp_path / "out"))(DataSent(pictures=stems, **sent))
    told = [name for facts in log.of("data_sent") for name in facts["pictures"]]
    assert told == [log.name("picture", stem) for stem in stems]


def test_an_image_whose_picture_was_really_made_and_sent_is_found_by_its_uid(
    tmp_path: Path, log: Log
):
    images, _source = opened(tmp_path, (40, 60), (30, 30))
    model = ScriptedModel(says("a lung"), remote_host="cloud.example", info=ModelInfo(images=True))
    loop = AgentLoop(model, FakeRegistry(), audit=AuditTrail(log, FakeRegistry()))
    asked = request(tmp_path / "out", "What is it?", images=images, approve=yes)
    asyncio.run(collect(loop, asked))
    (used,) = images.used()
    sent = log.of("data_sent")[0]
    assert sent["images"] == [log.name("image", used["sop_instance_uid"])]
    (file,) = (tmp_path / "out").rglob("*.png")
    assert sent["pictures"] == [log.name("picture", file.stem)]
    shown = [facts["images"] for facts in log.of("approval_asked") if facts["about"] != "tool"]
    assert sent["images"] in shown


def test_a_call_tells_which_images_were_read_and_the_end_only_of_others(tmp_path: Path, log: Log):
    images, _source = opened(tmp_path, (40, 60), (30, 30))

    def look(args: Any, context: ToolContext) -> ToolResult:
        context.images.resolve(args.image_path)
        return ok("seen")(args, context)

    tools = FakeRegistry(FakeTool("look", ImageInput, look))
    turns = [[call("look", image_path=f"image-{number}")] for number in (1, 1, 2)]
    play(tmp_path, log, *turns, says("done"), tools=tools, images=images)
    first, second = (fact["sop_instance_uid"] for fact in images.used())
    names = [[log.name("image", first)], [], [log.name("image", second)]]
    assert [facts["images"] for facts in log.of("tool_finished")] == names
    assert not log.of("images_read")


def asked_and_answered(tmp_path: Path, log: Log, *, granted: bool) -> None:
    """A tool that sends asks, as the policy puts it, and is answered."""
    told = AuditTrail(log, FakeRegistry(acting("send", Approval.SEND, []))).of(request(tmp_path))
    at: dict[str, Any] = {"run_id": "r", "seq": 0, "time": "t", "approval_id": "a"}
    touches = [
        {"what": "sends to", "argument": "url", "shown": "jane-doe.example:443", "note": ""},
        {"what": "writes", "argument": "path", "shown": "/home/Jane Doe/x", "note": ""},
    ]
    call_of: dict[str, Any] = {
        "tool": "send",
        "call_id": "jane-doe",
        "title": "",
        "detail": "",
        "touches": touches,
    }
    assert told(ApprovalRequested(**at, **call_of)) == ""
    assert told(ApprovalResolved(**at, granted=granted)) == ""


def test_the_host_that_the_user_let_a_tool_send_to_is_named(tmp_path: Path, log: Log):
    asked_and_answered(tmp_path, log, granted=True)
    assert log.of("approval_answered")[0]["hosts"] == ["jane-doe.example:443"]
    assert len(log.of("approval_asked")[0]["reaches"]) == 2


def test_a_host_that_was_refused_is_only_a_hash_and_so_is_a_call_id(tmp_path: Path, log: Log):
    asked_and_answered(tmp_path, log, granted=False)
    whole = b"".join(path.read_bytes() for path in log.folder.iterdir()).lower()
    assert b"jane" not in whole


def test_a_local_model_is_named_by_a_hash_since_its_name_is_that_of_a_file(
    tmp_path: Path, log: Log
):
    for name in ("Doe Jane 1950.q4 (this computer)", "gpt-x"):
        with ScriptedModel(says("done")) as model:
            model.name = name
            loop = AgentLoop(model, FakeRegistry(), audit=AuditTrail(log, FakeRegistry()))
            asyncio.run(collect(loop, request(tmp_path / "out", question=QUESTION)))
    told = [
        entry.facts["model"] for entry in read_entries(log.folder) if entry.action == "run_started"
    ]
    assert told == [f"local {log.name('model', 'Doe Jane 1950.q4 (this computer)')}", "gpt-x"]
    assert "Jane" not in repr(list(read_entries(log.folder)))
