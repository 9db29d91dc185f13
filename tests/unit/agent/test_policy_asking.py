"""What is asked, what is remembered of the answers, and tools that lie about themselves."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from app.agent.events import ApprovalRequested
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.emitter import Emitter
from app.agent.messages import ToolCall
from app.agent.policy import Grants, Policy, Rule, Scope
from app.agent.policy.approvals import Gate, PolicyVerdict, tool_request
from app.agent.request import Decision
from app.tools.api import Approval, ToolContext, ToolResult, ToolSpec
from tests.support.fake_tools import FakeRegistry, FakeTool, collect, ok, request
from tests.support.policy_scope import SENDER, WRITER, Free, open_scope, spec
from tests.support.scripted_model import ScriptedModel, call, says


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return open_scope(tmp_path)


# -- asking, and what is remembered -----------------------------------------------------------


class Case:
    """A gate that asks somebody who may do something meanwhile."""

    def __init__(self, *answers: Any, policy: Policy | None = None) -> None:
        self.gate = Gate(policy or Policy.standard(), Grants())
        self.answers = list(answers)
        self.asked: list[ApprovalRequested] = []

    def admit(
        self, wanted: ToolSpec, scope: Scope, /, thread: str = "t", **given: Any
    ) -> PolicyVerdict:
        args = wanted.Input.model_validate(given)

        async def approve(event: ApprovalRequested) -> Any:
            self.asked.append(event)
            answer = self.answers.pop(0)
            return answer() if callable(answer) else answer

        return asyncio.run(
            self.gate.admit(
                wanted,
                ToolCall(id="c", name=wanted.name, arguments=given),
                args,
                thread_id=thread,
                emitter=Emitter("run", lambda event: None),
                approve=approve,
                scope=scope,
            )
        )


def test_the_question_shows_the_real_path_and_the_real_host(scope: Scope, tmp_path: Path):
    case = Case(True, True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert case.admit(WRITER, scope, path=f"{tmp_path}/link/a\u202egnp.exe").granted
    (asked,) = case.asked
    real = f"{tmp_path}/real/a\\u202egnp.exe"
    assert [item["shown"] for item in asked.touches] == [real]
    assert f"It writes {real} (a link leads there; a new file)." in asked.detail
    assert json.loads(asked.detail.split("Arguments: ", 1)[1]) == asked.arguments
    assert case.admit(SENDER, scope, url="https://a@2130706433:1/").granted
    assert case.asked[1].touches[0]["shown"] == "127.0.0.1:1"
    assert "It sends to 127.0.0.1:1 (" in case.asked[1].detail


def test_a_send_that_names_no_host_says_so():
    judged = Policy.standard().judge(SENDER, {"text": "x"})
    wanted = tool_request(SENDER, ToolCall(id="1", name="tool", arguments={}), {}, judged)
    assert "It does not say to which host." in wanted["detail"]


def test_a_link_that_changes_while_the_user_thinks_voids_the_yes(scope: Scope, tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")

    def turn() -> bool:
        link.unlink()
        link.symlink_to("/etc")
        return True

    case = Case(turn)
    verdict = case.admit(WRITER, scope, path=str(link / "passwd"))
    assert not verdict.granted
    assert "changed while the user was asked" in verdict.error


def test_a_yes_for_the_conversation_does_not_follow_a_link_that_was_turned(
    scope: Scope, tmp_path: Path
):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    case = Case(Decision(True, "session"), False)
    assert case.admit(WRITER, scope, path=str(link / "a.png")).granted
    assert case.admit(WRITER, scope, path=str(link / "a.png")).granted
    assert len(case.asked) == 1
    link.unlink()
    link.symlink_to("/etc")
    assert not case.admit(WRITER, scope, path=str(link / "a.png")).granted
    assert len(case.asked) == 2


def test_a_no_for_the_conversation_holds_for_the_tool_in_this_thread(scope: Scope):
    case = Case(Decision(True, "session"), Decision(False, "session", "no need"), True, True)
    assert case.admit(WRITER, scope, note="a").granted
    verdict = case.admit(WRITER, scope, note="b")
    assert verdict.error == 'The user did not allow tool in this conversation and said: "no need".'
    for note in ("a", "b", "c"):
        again = case.admit(WRITER, scope, note=note)
        assert not again.granted
        assert "does not want tool to be used" in again.error
    assert len(case.asked) == 2
    assert case.gate.grants.active_grants() == (), "what was allowed before does not hold any more"
    assert case.admit(WRITER, scope, thread="other", note="b").granted
    case.gate.grants.ask_again(thread_id="t")
    assert case.admit(WRITER, scope, note="b").granted


def test_a_no_for_the_conversation_stops_a_tool_that_otherwise_runs_freely(scope: Scope):
    case = Case()
    case.gate.grants.refuse("t", "tool")
    assert not case.admit(spec(), scope, note="a").granted
    assert case.admit(spec(), scope, thread="other", note="a").granted


def test_the_session_can_be_made_stricter_and_no_earlier_yes_counts(scope: Scope):
    case = Case(Decision(True, "session"), False, False)
    assert case.admit(WRITER, scope, note="a").granted
    case.gate.grants.strict = "ask"
    assert not case.admit(WRITER, scope, note="a").granted
    assert case.asked[-1].scopes == ["once"], "what would not hold is not offered"
    assert not case.admit(spec(), scope, note="a").granted, "reads ask as well"
    case.gate.grants.strict = "deny"
    verdict = case.admit(WRITER, scope, note="a")
    assert "switched off all tools that act" in verdict.error
    assert case.gate.needs_question(spec(), Free(), "t", scope), "and reads still ask"
    case.gate.grants.strict = ""
    assert case.admit(WRITER, scope, note="a").granted, "what was allowed is not forgotten"


def test_a_site_takes_the_yes_for_the_conversation_away(scope: Scope):
    case = Case(Decision(True, "session"), False, policy=Policy.from_data({"remember": False}))
    assert case.admit(WRITER, scope, note="a").granted
    assert case.asked[0].scopes == ["once"]
    assert not case.admit(WRITER, scope, note="a").granted


# -- tools that lie ---------------------------------------------------------------------------


class Hiding(BaseModel):
    """Goes round its own fields without the one that matters."""

    shown: str = ""
    target: str = ""

    def __iter__(self) -> Any:
        yield "shown", self.shown

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"shown": self.shown}


def test_arguments_that_hide_from_iteration_are_judged_and_shown(scope: Scope):
    args = Hiding(shown="a", target="/etc/passwd")
    assert Policy.standard().judge(spec(given=Hiding), args, scope).rule is Rule.DENY
    wanted = tool_request(spec(), ToolCall(id="1", name="tool", arguments={}), args)
    assert wanted["arguments"] == {"shown": "a", "target": "/etc/passwd"}


def test_a_spec_that_answers_twice_differently_does_not_pass_what_it_was_not_asked_for(
    scope: Scope,
):
    wavering = spec(Approval.EXECUTE)
    case = Case()
    verdict = case.admit(replace(wavering, approval=Approval.COMPUTE), scope)
    assert verdict.granted
    assert not verdict.covers(wavering, Free()), "the effect is part of what was allowed"


def test_a_call_whose_arguments_changed_while_the_user_thought_does_not_run(tmp_path: Path):
    """A pack's own type may keep hold of what was validated, and change it behind the question."""
    held: list[list[float]] = []

    class Held(BaseModel):
        numbers: list[float]

        def model_post_init(self, _context: Any) -> None:
            held.append(self.numbers)

    ran: list[list[float]] = []

    def run(args: Held, context: ToolContext) -> ToolResult:
        ran.append(args.numbers)
        return ok()(args, context)

    async def approve(event: ApprovalRequested) -> Decision:
        assert event.arguments == {"numbers": [1.0]}
        for numbers in held:
            numbers.append(2.0)
        return Decision(granted=True, scope="once")

    tools = FakeRegistry(FakeTool("save", Held, run, approval=Approval.WRITE))
    with ScriptedModel([call("save", numbers=[1.0])], says("done")) as model:
        loop = AgentLoop(model, tools)
        events = asyncio.run(collect(loop, request(tmp_path, approve=approve)))
    assert not ran
    (ended,) = (event for event in events if event.kind == "tool_finished")
    assert "changed after the user was asked" in ended.error
